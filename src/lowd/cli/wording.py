"""Messages in the words of the command line: `missing='mean'` becomes `--missing mean`.

The library names parameters as Python does; what was typed, and can be typed, are flags.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable
from functools import cache

from ..methods import METHODS, get_parameter_texts
from .flags import METHOD_COMMANDS
from .options import FLAGS, READING, WRITING

_VALUE = r"'[^']*'|\"[^\"]*\"|\[[^\]]*\]|\([^)]*\)|\{[^}]*\}|\.\.\.|-?\w(?:[\w.+-]*\w)?"
# A parameter with its value that is not part of a longer word, a path or a quoted name.
_PARAMETER = re.compile(rf"(?<![\w./'\"-])([a-z]\w*)=({_VALUE}|)(?![\w=])")
_CALL = re.compile(rf"\b([A-Za-z]\w*)\(((?:[a-z]\w*=(?:{_VALUE})(?:, )?)+)\)")
_PIPELINE = re.compile(rf"\bPipeline\((\w+)\(([^()]*)\)((?:, [a-z]\w*=(?:{_VALUE}))+)\)")
# Advice that names another package in Python.
_OTHER_REMEDIES = {
    "sklearn.preprocessing.StandardScaler": "scale=True",
    "drop such rows or fill them (sklearn.impute)": (
        "drop such rows (missing='drop') or fill them (missing='mean')"
    ),
}
# Functions of the library that are commands as well.
_FUNCTION = re.compile(r"\blowd\.(diagnose|dimension|evaluate|compare)\b(?!\()")
# Only names of several words can be distinguished from plain text.
_NAME = re.compile(r"(?<![\w./'\"=-])(`?)([a-z]+(?:_[a-z]+)+)\1(?![\w='\"(]|\.\w)")
# Flags that are spelled differently from the parameter.
_OTHER_SPELLINGS: dict[tuple[str, str | None], str] = {
    ("metric", "'gower'"): "--gower",
    ("metric", "'precomputed'"): "--distances",
    ("random_state", None): "--seed",
}
_FUNCTIONS = ("read", "write", "Pipeline")  # their parameters are flags of several commands


def name_flags(message: str, options: Iterable[str], method: str | None) -> str:
    """Replace parameters in a message by flags.

    `options` are the names of the command's own flags, `method` is the class that it fits.

    >>> name_flags("Drop such rows (missing='drop').", ["missing"], None)
    'Drop such rows (--missing drop).'
    >>> name_flags("TSNE(perplexity=-1): expected float > 0.", ["perplexity"], "TSNE")
    '--perplexity -1: expected float > 0.'
    >>> name_flags("standardize them: PCA(scale=True)", [], None)
    'standardize them: lowd pca --scale'
    >>> name_flags("drop such rows or fill them (sklearn.impute).", ["missing"], None)
    'drop such rows (--missing drop) or fill them (--missing mean).'
    >>> name_flags("see lowd.dimension", [], None)
    'see lowd dimension'
    >>> name_flags("1. Pipeline(TSNE(n_components=2), scale=True, pca=30)", [], None)
    '1. lowd tsne --n-components 2 --standardize --pca 30'
    """
    own = set(options)
    known = own | _list_parameters()
    words = {name: word for word, name in METHOD_COMMANDS.items()}

    def translate_call(found: re.Match[str]) -> str:
        name, parameters = found.groups()
        if name not in words and name not in _FUNCTIONS:
            return found[0]
        rename = FLAGS if name == "Pipeline" else {}
        flags = [
            _spell(rename.get(each[1], each[1]).replace("-", "_"), each[2], known)
            for each in _PARAMETER.finditer(parameters)
        ]
        own = name == method or name in _FUNCTIONS
        return " ".join(flags if own else ["lowd", words[name], *flags])

    def translate_parameter(found: re.Match[str]) -> str:
        name, value = found.groups()
        is_step = name not in own and FLAGS.get(name) in own
        return _spell(FLAGS[name] if is_step else name, value, known)

    for advice, parameters in _OTHER_REMEDIES.items():
        message = message.replace(advice, parameters)
    message = _FUNCTION.sub(r"lowd \1", message)
    message = _PIPELINE.sub(_merge_steps, message)
    message = _CALL.sub(translate_call, message)
    message = _PARAMETER.sub(translate_parameter, message)
    return _NAME.sub(lambda found: _spell(found[2], "", known, found[0]), message)


def _merge_steps(found: re.Match[str]) -> str:
    """Write a pipeline as a command does: a method whose parameters include the steps."""
    method, parameters, steps = found.groups()
    for step, flag in FLAGS.items():
        steps = steps.replace(f", {step}=", f", {flag.replace('-', '_')}=")
    return f"{method}({parameters}{steps if parameters else steps[2:]})"


def _spell(name: str, value: str, known: set[str], as_is: str = "") -> str:
    """Write a parameter and its value as flags; leave it unchanged if there is no such flag."""
    if (name, value) in _OTHER_SPELLINGS:
        return _OTHER_SPELLINGS[name, value]
    flag = _OTHER_SPELLINGS.get((name, None), "--" + name.replace("_", "-"))
    if name not in known:
        return as_is or f"{name}={value}"
    if value in ("", "...", "True"):
        return flag
    if value == "False":
        return flag.replace("--", "--no-", 1)
    return f"{flag} {_type(value)}"


def _type(value: str) -> str:
    """Write a Python value as it is typed in a shell."""
    if value[0] in "[(":
        parts = [part.strip().strip("'\"") for part in value[1:-1].split(",")]
        return shlex.quote(("x" if value[0] == "(" else ",").join(parts))
    if value[0] == "{":
        return shlex.quote(value.replace("'", '"'))  # JSON
    if value[0] in "'\"":
        return shlex.quote(value[1:-1])
    return "none" if value == "None" else shlex.quote(value)


@cache
def _list_parameters() -> frozenset[str]:
    """Names of the parameters of all methods, of reading and of writing."""
    names = {name for method in METHODS for name in get_parameter_texts(method)}
    names |= {flag.replace("-", "_") for flag in FLAGS.values()}
    return frozenset(names | {option.name for option in (*READING, *WRITING)} | {"random_state"})
