"""The one list of methods. The package, model files, the command line and the tests read it."""

from __future__ import annotations

import re
import textwrap
from functools import cache
from pathlib import Path

from ..errors import ParameterError

# Class -> the file of its family.
METHODS = {
    "PCA": "pca",
    "GaussianRandomProjection": "random_projection",
    "SparseRandomProjection": "random_projection",
    "HadamardRandomProjection": "random_projection",
    "ClassicalMDS": "classical_mds",
    "MDS": "mds",
    "NonMetricMDS": "mds",
    "KernelPCA": "kernel_pca",
    "LaplacianEigenmaps": "spectral",
    "DiffusionMaps": "spectral",
    "Isomap": "isomap",
    "LocallyLinearEmbedding": "lle",
    "ModifiedLLE": "lle",
    "HessianLLE": "lle",
    "LTSA": "lle",
    "SNE": "tsne",
    "TSNE": "tsne",
    "UMAP": "umap",
}
# Class -> its command: the name in words, but for one that everybody abbreviates.
COMMANDS = {
    name: re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", "-", name).lower()
    for name in METHODS
} | {"LocallyLinearEmbedding": "lle", "NonMetricMDS": "nonmetric-mds"}
# Other names that people know a method by.
_SYNONYMS = {"SpectralEmbedding": "LaplacianEigenmaps", "MetricMDS": "MDS", "PCoA": "ClassicalMDS"}


def find_class_name(word: str) -> str:
    """The class name for "pca", "t-SNE", "kernel_pca", "lle" or "LocallyLinearEmbedding".

    >>> find_class_name("t-sne"), find_class_name("Kernel PCA")
    ('TSNE', 'KernelPCA')
    """
    name = _SPELLINGS.get(simplify_name(word))
    if name is None:
        raise ParameterError(
            f"there is no method {word!r}; there are {', '.join(COMMANDS.values())}."
        )
    return name


def simplify_name(word: str) -> str:
    """A name without case, hyphens and spaces."""
    return "".join(letter for letter in word.lower() if letter.isalnum())


_SPELLINGS = {simplify_name(word): name for name, word in COMMANDS.items()}
_SPELLINGS |= {simplify_name(name): name for name in METHODS}
_SPELLINGS |= {simplify_name(other): name for other, name in _SYNONYMS.items()}


# -- what the docstring of a method says, for the command line and the explorer -------------------


@cache
def read_docstring(name: str) -> str:
    """The docstring of a method's class, read from its file: importing all takes a second."""
    source = Path(__file__).with_name(f"{METHODS[name]}.py").read_text("utf-8")
    found = re.search(rf'^class {name}\b[^\n]*:\n    """(.*?)"""', source, re.S | re.M)
    return textwrap.dedent("    " + found[1]) if found else ""


def get_summary(name: str) -> str:
    """The first line of a method's docstring."""
    return read_docstring(name).partition("\n")[0]


def get_advice(name: str) -> tuple[str, str]:
    """When to use a method, and what it costs: the text before and after "Cost:"."""
    text = read_docstring(name).partition("Parameters\n")[0].removeprefix(get_summary(name))
    use, _, cost = " ".join(text.split()).partition("Cost: ")
    return use.strip(), re.split(r" New (?:rows|points)", cost)[0]


def get_parameter_texts(name: str) -> dict[str, str]:
    """Parameter -> its description in the method's docstring; entries in a row may share one."""
    section = read_docstring(name).partition("Parameters\n----------\n")[2].partition("\n\n")[0]
    found: dict[str, str] = {}
    for entries, text in re.findall(r"((?:^\w.* : .*\n)+)((?:    .*\n?)+)", section, re.M):
        for names in re.findall(r"^(\w[\w, ]*) : ", entries, re.M):
            found |= dict.fromkeys(names.split(", "), " ".join(text.split()))
    return found
