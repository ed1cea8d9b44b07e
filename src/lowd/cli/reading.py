"""From a file to what a method takes, and the same preparation again for new rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from scipy.sparse import issparse

from .. import progress
from ..errors import DataError, ParameterError, UnsupportedError
from .talk import Talk

# Flags that `lowd.io.read` takes as they are.
_TEXTS = (
    *("columns", "drop", "label", "id", "vector", "format"),
    *("missing", "every", "delimiter", "encoding"),
)


def read(given: dict[str, Any], talk: Talk, path: str | None = None, **more: Any) -> Any:
    """The table in a file (see `lowd.io.read`), and its notes said."""
    from .. import io

    path = given["data"] if path is None else path
    progress.report(f"read {path}", 0, 1)
    table = io.read(path, **(options_of(given) | more))
    progress.report(f"read {path}", 1, 1)
    talk.note(*table.notes)
    return table


def options_of(given: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `lowd.io.read` that were typed."""
    options = {name: given.get(name) for name in _TEXTS}
    options |= {name: given.get(name) or None for name in ("encode", "gower", "distances")}
    options["size"] = _size(given.get("size"))
    return {name: value for name, value in options.items() if value is not None}


def _size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise ParameterError(f"--size {text!r}: expected WIDTHxHEIGHT, as 64x64.") from None
    return width, height


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What stands between a file and a model; saved with it, so that new rows get the same."""

    kind: str
    columns: tuple[str, ...] = ()
    reading: dict[str, Any] = dataclasses.field(default_factory=dict)
    mean: Any = None
    scale: Any = None
    strings: Any = None
    alleles: Any = None
    levels: dict[str, Any] = dataclasses.field(default_factory=dict)

    def options(self) -> dict[str, Any]:
        """Keywords of `lowd.io.read` for new rows: text is treated as it was, columns are known."""
        kept = {n: v for n, v in self.reading.items() if n in ("gower", "vector", "size")}
        if self.alleles is not None:
            from ..io import Alleles

            return kept | {"alleles": Alleles(**self.alleles)}
        if self.kind not in ("rows", "table") or "vector" in kept or not self.columns:
            return kept
        made = {f"{name}={level}" for name, levels in self.levels.items() for level in levels}
        names = [*(name for name in self.columns if name not in made), *self.levels]
        return kept | {"columns": names} | ({"encode": self.levels} if self.levels else {})

    def __call__(self, table: Any) -> Any:
        """New rows as the model takes them."""
        if self.strings is not None:
            from ..io import levenshtein

            words = _strings(table)
            return np.array([[levenshtein(a, str(b)) for b in self.strings] for a in words], float)
        X = table.X if self.kind in ("distances", "table") else self._columns(table)
        return X if self.mean is None else (X - self.mean) / self.scale

    def _columns(self, table: Any) -> Any:
        """The model's columns in the model's order, whatever else the file holds."""
        names = list(table.columns or ())
        if not self.columns or not names or names == list(self.columns):
            return table.X
        missing = [name for name in self.columns if name not in names]
        if missing:
            raise DataError(
                f"{table.source}: the model needs column {missing[0]!r}, which is not there; "
                f"there are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}."
            )
        return table.X[:, [names.index(name) for name in self.columns]]

    def saved(self) -> dict[str, Any]:
        """The fields that say something, as the store takes them."""
        fields: dict[str, Any] = {"kind": self.kind, "mean": self.mean, "scale": self.scale}
        fields["reading"] = self.reading
        fields["columns"] = np.array(self.columns, object)
        fields["strings"], fields["alleles"] = self.strings, self.alleles
        fields["levels"] = {name: list(levels) for name, levels in self.levels.items()} or None
        return {name: value for name, value in fields.items() if value is not None}


def prepared_of(model: Any) -> Prepared:
    """How the rows of a saved model were prepared; not at all if it was saved from Python."""
    saved = getattr(model, "prepared_", None)
    if saved is None:
        distances = getattr(model, "metric", None) == "precomputed"
        names = getattr(model, "feature_names_in_", ())
        return Prepared("distances" if distances else "rows", tuple(names))
    return Prepared(**{**saved, "columns": tuple(saved["columns"])})


def prepare(table: Any, given: dict[str, Any]) -> tuple[Any, Prepared]:
    """What is fitted, and how new rows become the same."""
    reading = options_of(given)
    if table.kind == "strings":
        from ..io import edit_distances

        words = _strings(table)
        return edit_distances(words), Prepared("strings", strings=np.array(words, object))
    columns = tuple(str(name) for name in table.columns or ())
    alleles = None if table.alleles is None else table.alleles.of(columns)._asdict()
    learned: dict[str, Any] = {"alleles": alleles, "levels": dict(table.levels)}
    if not given["standardize"]:
        return table.X, Prepared(table.kind, columns, reading, **learned)
    if table.kind == "distances" or not isinstance(table.X, np.ndarray):
        raise UnsupportedError(
            f"--standardize needs a dense table of numbers; {table.source} holds {table.kind}"
            f"{', sparse' if issparse(table.X) else ''}."
        )
    mean, scale = table.X.mean(0, dtype=np.float64), table.X.std(0, dtype=np.float64)
    scale[scale == 0] = 1.0  # a constant column is 0 afterwards
    done = Prepared(table.kind, columns, reading, mean, scale, **learned)
    return (table.X - mean) / scale, done


def suited(model: Any, table: Any) -> Any:
    """The model, told that it gets distances, or a table with text, if it does."""
    metric = metric_of(table)
    if metric == "euclidean":
        return model
    if "metric" not in model.get_params():
        raise UnsupportedError(
            f"{type(model).__name__} takes rows, and {table.source} holds {table.kind}; take a "
            "method of distances: classical-mds, mds, nonmetric-mds, isomap, tsne."
        )
    return model.set_params(metric=metric)


def metric_of(table: Any) -> str:
    """The metric that a kind of file asks for."""
    given = {"distances": "precomputed", "strings": "precomputed", "table": "gower"}
    return given.get(table.kind, "euclidean")


def classes_of(table: Any) -> Any:
    """The labels, if they are classes: measures by labels cannot use other numbers."""
    from ..plot.colors import Values, coloring

    if table.labels is None or isinstance(coloring(table.labels, len(table)), Values):
        return None
    return table.labels


def _strings(table: Any) -> list[str]:
    if table.kind != "strings":
        raise DataError(f"{table.source}: the model was made from strings; this file holds none.")
    return [str(word) for word in table.X]
