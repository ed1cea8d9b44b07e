"""The steps from a file to a model's rows (columns, levels, alleles), kept for new points."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np

from ..errors import DataError
from .edit_distance import edit_distances, levenshtein
from .genotypes import Alleles
from .table import Column, Data, Table

if TYPE_CHECKING:
    from ..reducer import Reducer


@dataclasses.dataclass(frozen=True)
class Preparation:
    """The steps from a file to a model's rows, saved with the model for new points."""

    kind: str
    columns: tuple[str, ...] = ()
    reading: dict[str, Any] = dataclasses.field(default_factory=dict)
    strings: Column | None = None
    alleles: dict[str, Column] | None = None
    levels: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def get_read_options(self) -> dict[str, Any]:
        """Keywords of `lowd.io.read` for new points: the columns are known, text is encoded."""
        same = ("gower", "dates", "vector", "size", "missing", "kind")
        kept = {n: v for n, v in self.reading.items() if n in same}
        if self.alleles is not None:
            return kept | {"alleles": Alleles(**self.alleles)}
        if self.kind not in ("rows", "table") or "vector" in kept or not self.columns:
            return kept
        made = {f"{name}={level}" for name, levels in self.levels.items() for level in levels}
        names = [*(name for name in self.columns if name not in made), *self.levels]
        return kept | {"columns": names} | ({"encode": self.levels} if self.levels else {})

    def apply(self, table: Table) -> Data:
        """Read new points in the form that the model takes."""
        if self.strings is not None:
            words = _get_strings(table)
            return np.array([[levenshtein(a, str(b)) for b in self.strings] for a in words], float)
        return table.X if self.kind in ("distances", "table") else self._select_columns(table)

    def _select_columns(self, table: Table) -> Data:
        """Select the model's columns in its order, whatever else the file holds."""
        names = list(table.columns or ())
        if not self.columns or not names or names == list(self.columns):
            return table.X
        missing = [name for name in self.columns if name not in names]
        if missing:
            raise DataError(
                f"{table.source}: column {missing[0]!r}, which the model needs, is missing; "
                f"there are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}."
            )
        return table.X[:, [names.index(name) for name in self.columns]]

    def to_dict(self) -> dict[str, object]:
        """Return the fields that are set, in the form that the store takes."""
        fields: dict[str, object] = {"kind": self.kind, "reading": self.reading}
        fields["columns"] = np.array(self.columns, object)
        fields["strings"], fields["alleles"] = self.strings, self.alleles
        fields["levels"] = self.levels or None
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def of_model(cls, model: Reducer) -> Preparation:
        """The preparation saved with a model, or None if the model was saved from Python."""
        saved = getattr(model, "prepared_", None)
        if saved is None:
            distances = getattr(model, "metric", None) == "precomputed"
            names = getattr(model, "feature_names_in_", ())
            return cls("distances" if distances else "rows", tuple(names))
        return cls(**{**saved, "columns": tuple(saved["columns"])})


class Prepared(NamedTuple):
    """Read the rows of a file for a model, and the preparation for new points."""

    X: Data
    preparation: Preparation


class _Learned(TypedDict):
    alleles: dict[str, Column] | None
    levels: dict[str, list[str]]


def prepare(table: Table, reading: dict[str, Any]) -> Prepared:
    """Convert the rows of a table for a model: strings become distances."""
    if table.kind == "strings":
        words = _get_strings(table)
        preparation = Preparation("strings", strings=np.array(words, object))
        return Prepared(edit_distances(words), preparation)
    columns = tuple(str(name) for name in table.columns or ())
    if table.reading is not None:  # new rows alone may not show what their columns are
        plain = () if table.kind == "table" else ("quantity", "count")
        held = [c for c in table.reading.columns if c.role == "feature" and c.kind not in plain]
        reading = {
            **reading,
            "gower": table.kind == "table",
            "kind": {c.name: c.kind for c in held},
        }
    learned = _Learned(
        alleles=None if table.alleles is None else table.alleles.select(columns)._asdict(),
        levels={name: list(levels) for name, levels in table.levels.items()},
    )
    return Prepared(table.X, Preparation(table.kind, columns, reading, **learned))


def _get_strings(table: Table) -> list[str]:
    if table.kind != "strings":
        raise DataError(f"{table.source}: the model was fitted on strings; this file holds none.")
    return [str(word) for word in table.X]
