"""Messages in the words of the command line: `missing='mean'` becomes `--missing mean`.

The library names parameters as Python does; what was typed, and can be typed, are flags. The
Python in a message is found word by word and read by Python's own parser.
"""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable, Sequence
from functools import cache

from ..methods import COMMANDS, METHODS, get_parameter_texts
from .options import FLAGS, READING, WRITING

# Flags that are spelled differently from the parameter, with a value or with any.
OTHER_SPELLINGS = {
    "metric='gower'": "--gower",
    "metric='precomputed'": "--distances",
    "random_state": "--seed",
}
# Advice that names another package in Python.
OTHER_REMEDIES = {
    "sklearn.preprocessing.StandardScaler": "scale=True",
    "drop such rows or fill them (sklearn.impute)": (
        "drop such rows (missing='drop') or fill them (missing='mean')"
    ),
}
COMMANDS_TOO = ("lowd.diagnose", "lowd.dimension", "lowd.evaluate", "lowd.compare")
FUNCTIONS = ("read", "write", "Pipeline")  # their parameters are flags of several commands
CLOSING = ".,;:)`"  # what follows Python in a sentence


class Wording:
    """How a command words messages: its own flags, and the class that it fits.

    >>> word = Wording(["missing", "perplexity"], "TSNE")
    >>> word("Drop such rows (missing='drop').")
    'Drop such rows (--missing drop).'
    >>> word("TSNE(perplexity=-1): expected float > 0.")
    '--perplexity -1: expected float > 0.'
    >>> word("perplexity must be below 30.", parameter="perplexity")
    '--perplexity must be below 30.'
    >>> word("standardize them: PCA(scale=True); see lowd.dimension")
    'standardize them: lowd pca --scale; see lowd dimension'
    >>> word("1. Pipeline(TSNE(n_components=2), scale=True, pca=30)")
    '1. --n-components 2 --standardize --pca 30'
    >>> word("say what it is (kind={'grade': 'code'})")
    'say what it is (--kind grade=code)'
    >>> word("column 1 dominates", columns=["age", "income"])
    "column 'income' dominates"
    """

    def __init__(self, options: Iterable[str], method: str | None) -> None:
        self.own, self.method = set(options), method
        self.known = self.own | _list_parameters()

    def __call__(self, message: str, parameter: str = "", columns: Sequence[str] = ()) -> str:
        """Name flags, and columns whose numbers alone a method knows.

        `parameter` is the one that an error is about.
        """
        for advice, remedy in OTHER_REMEDIES.items():
            message = message.replace(advice, remedy)
        lines = []
        for line in message.split("\n"):
            words, worded = line.split(" "), [""]
            if words[0] == parameter and parameter in self.known:
                words[0] += "="
            while words:
                if worded[-1] == "column" and words[0].rstrip(CLOSING).isdecimal() and columns:
                    number = words[0].rstrip(CLOSING)
                    words[0] = words[0].replace(number, repr(columns[int(number)]))
                text, n_words = self._read(words)
                worded.append(text)
                del words[:n_words]
            lines.append(" ".join(worded[1:]))
        return "\n".join(lines)

    def _read(self, words: list[str]) -> tuple[str, int]:
        """The text of the next words, as many as belong together."""
        core = words[0].lstrip("(`")
        before, name = words[0].removesuffix(core), core.replace("(", "=").partition("=")[0]
        bare = core.rstrip(CLOSING)
        is_call = core.startswith(f"{name}(") and (name in METHODS or name in FUNCTIONS)
        if is_call or (core.startswith(f"{name}=") and name in self.known):
            for n_words in range(1, len(words) + 1):
                text = " ".join([core, *words[1:n_words]])
                for end in range(len(text.rstrip(CLOSING)), len(text) + 1):
                    spelled = self._translate(text[:end] if is_call else f"read({text[:end]})")
                    if spelled:
                        return before + spelled + text[end:], n_words
        if bare == f"{name}=" and name in self.known:
            return before + self._spell(name) + core.removeprefix(bare), 1
        if "_" in bare and bare in self.known:  # shorter names cannot be told from plain words
            return f"{before}{self._spell(bare)}{core.removeprefix(bare)}".replace("`", ""), 1
        if bare in COMMANDS_TOO:
            return before + core.replace(".", " ", 1), 1
        return words[0], 1

    def _translate(self, python: str) -> str:
        """The flags for a call with keywords, or nothing if the text is not one."""
        try:
            call = ast.parse(python, mode="eval").body
        except (SyntaxError, ValueError):
            return ""
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Name):
            return ""
        name = call.func.id
        if (call.args and name != "Pipeline") or name not in (*METHODS, *FUNCTIONS):
            return ""
        typed = [self._translate(ast.unparse(method)) for method in call.args]
        if not all(typed):
            return ""
        if name != self.method and name not in FUNCTIONS:
            typed.append(f"lowd {COMMANDS[name]}")
        for one in call.keywords:
            word, step = one.arg or "", FLAGS.get(one.arg or "", "")
            chosen = name in FUNCTIONS and word not in self.own and step in self.own
            if step and (chosen or name == "Pipeline"):
                word = step.replace("-", "_")
            typed.append(self._spell(word, one.value))
        return " ".join(typed)

    def _spell(self, name: str, value: ast.expr | None = None) -> str:
        """Write a parameter and its value as flags; leave it unchanged if there is no such flag."""
        python = "" if value is None else ast.unparse(value)
        if f"{name}={python}" in OTHER_SPELLINGS:
            return OTHER_SPELLINGS[f"{name}={python}"]
        if name not in self.known:
            return f"{name}={python}"
        flag = OTHER_SPELLINGS.get(name, "--" + name.replace("_", "-"))
        if value is None or python in ("...", "[...]", "True"):
            return flag
        if python == "False":
            return flag.replace("--", "--no-", 1)
        if isinstance(value, ast.List | ast.Tuple):
            joint = "," if isinstance(value, ast.List) else "x"
            python = joint.join(map(_type, value.elts))
        elif isinstance(value, ast.Dict) and name == "kind":
            pairs = zip(map(_type, filter(None, value.keys)), map(_type, value.values), strict=True)
            python = ",".join(f"{key}={kind}".replace("Ellipsis", "KIND") for key, kind in pairs)
        elif isinstance(value, ast.Dict | ast.Set):  # JSON
            python = python.replace("'", '"')
        else:
            python = _type(value)
        return f"{flag} {shlex.quote(python)}"


def _type(value: ast.expr) -> str:
    """Write a Python value as it is typed, but for quotes."""
    if not isinstance(value, ast.Constant):
        return ast.unparse(value)
    return "none" if value.value is None else str(value.value)


@cache
def _list_parameters() -> frozenset[str]:
    """Names of the parameters of all methods, of reading and of writing."""
    names = {name for method in METHODS for name in get_parameter_texts(method)}
    names |= {flag.replace("-", "_") for flag in FLAGS.values()}
    return frozenset(names | {option.name for option in (*READING, *WRITING)} | {"random_state"})
