"""From a file to what a method takes, and the same preparation again for new rows."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np

from .. import progress
from ..errors import DataError, UnsupportedError
from .talk import Talk


def read(given: dict[str, Any], talk: Talk, path: str | None = None, **more: Any) -> Any:
    """The table in a file (see `lowd.io.read`), and its notes said."""
    from .. import io

    path = given["data"] if path is None else path
    options = {
        "columns": _list(given.get("columns")),
        "drop": _list(given.get("drop")),
        "label": given.get("label"),
        "id": given.get("id"),
        "vector": given.get("vector"),
        "format": given.get("format"),
        "encode": given.get("encode") or None,
        "distances": given.get("distances") or None,
    } | more
    progress.report(f"read {path}", 0, 1)
    table = io.read(path, **{name: value for name, value in options.items() if value is not None})
    progress.report(f"read {path}", 1, 1)
    talk.note(*table.notes)
    return table


def _list(text: str | None) -> list[str] | None:
    return None if text is None else [part.strip() for part in text.split(",") if part.strip()]


@dataclasses.dataclass(frozen=True)
class Prepared:
    """What stands between a file and a model; saved with it, so that new rows get the same."""

    kind: str
    columns: tuple[str, ...] = ()
    mean: Any = None
    scale: Any = None
    strings: Any = None

    def __call__(self, table: Any) -> Any:
        """New rows as the model takes them."""
        if self.strings is not None:
            from ..io import edit_distances

            return edit_distances(_strings(table), [str(word) for word in self.strings])
        X = table.X if self.kind == "distances" else self._columns(table)
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
        fields = {"kind": self.kind, "mean": self.mean, "scale": self.scale}
        fields["columns"] = np.array(self.columns, object)
        fields["strings"] = self.strings
        return {name: value for name, value in fields.items() if value is not None}


def prepared_of(model: Any) -> Prepared:
    """How the rows of a saved model were prepared; not at all if it was saved from Python."""
    saved = getattr(model, "prepared_", None)
    if saved is None:
        distances = getattr(model, "metric", None) == "precomputed"
        names = getattr(model, "feature_names_in_", ())
        return Prepared("distances" if distances else "rows", tuple(names))
    return Prepared(**{**saved, "columns": tuple(saved["columns"])})


def prepare(table: Any, standardize: bool) -> tuple[Any, Prepared]:
    """What is fitted, and how new rows become the same."""
    if table.kind == "strings":
        from ..io import edit_distances

        words = np.array(_strings(table), object)
        return edit_distances(list(words), list(words)), Prepared("strings", strings=words)
    columns = tuple(str(name) for name in table.columns or ())
    if not standardize:
        return table.X, Prepared(table.kind, columns)
    if table.kind == "distances" or not isinstance(table.X, np.ndarray):
        what = "distances" if table.kind == "distances" else "a sparse matrix"
        raise UnsupportedError(f"--standardize needs a dense table of rows, and this is {what}.")
    mean, scale = table.X.mean(0, dtype=np.float64), table.X.std(0, dtype=np.float64)
    scale[scale == 0] = 1.0  # a constant column is 0 afterwards
    return (table.X - mean) / scale, Prepared(table.kind, columns, mean, scale)


def suited(model: Any, table: Any) -> Any:
    """The model, told that it gets distances if it does."""
    if table.kind not in ("distances", "strings"):
        return model
    if "metric" not in model.get_params():
        raise UnsupportedError(
            f"{type(model).__name__} takes rows, and {table.source} holds {table.kind}; take a "
            "method of distances: classical-mds, mds, nonmetric-mds, isomap, tsne."
        )
    return model.set_params(metric="precomputed")


def _strings(table: Any) -> list[str]:
    if table.kind != "strings":
        raise DataError(f"{table.source}: the model was made from strings; this file holds none.")
    return [str(word) for word in table.X]
