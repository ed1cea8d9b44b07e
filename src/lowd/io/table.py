"""`Table`: the rows of a file with identifiers and labels, as read and as written."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError
from .words import pluralize, quote, quote_names

if TYPE_CHECKING:
    from .genotypes import Alleles

Column: TypeAlias = NDArray[Any]  # numbers or text
Data: TypeAlias = Any  # an array, a sparse matrix, a list of strings, or a frame
Kind: TypeAlias = Literal["rows", "distances", "strings", "images", "genotypes", "table"]

_PLURALS = {"quantity": "quantities", "yes or no": "yes-or-no columns", "category": "categories"}
SHOWN_NOTES = 4  # of a line that is read at a glance


class ColumnReading(NamedTuple):
    """How a column was read: its kind and role, why, and the flag that changes it."""

    name: str
    kind: str
    role: str
    why: str
    doubt: str
    flag: str
    examples: tuple[str, ...]
    missing: int = 0  # cells without a value, of rows that are not left out
    infinite: int = 0  # those of them that hold infinity


@dataclass(frozen=True)
class Reading:
    """How a table was read, to be said before anything is made of it."""

    form: str  # separator, header, decimal mark
    rows: int
    columns: tuple[ColumnReading, ...]
    notes: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    doubts: tuple[str, ...] = ()
    trouble: str = ""  # why these rows make no map

    def describe(self, source: str) -> list[str]:
        """Three lines at most: the page, the roles of the columns, what is left out or doubtful."""
        size = f"{pluralize(self.rows, 'row')}, {pluralize(len(self.columns), 'column')}"
        first = f"{source}: {size}{', ' if self.form else ''}{self.form}."
        third = []
        if missing := self._list_missing():
            third.append(f"Missing: {', '.join(_cut(missing))}.")
        if self.left_out:
            third.append(f"Left out: {'; '.join(_cut(self.left_out))}.")
        if self.doubts:
            third.append(f"Doubtful: {'; '.join(_cut(self.doubts))}.")
        lines = [" ".join([first, *_cut(self.notes)]), self._describe_roles(), " ".join(third)]
        return [line for line in lines if line]

    def to_dict(self) -> dict[str, object]:
        """The same for programs."""
        columns = [{**column._asdict(), "examples": [*column.examples]} for column in self.columns]
        return {**{n: value for n, value in vars(self).items() if value}, "columns": columns}

    def _list_missing(self) -> list[str]:
        """Columns with missing values, those with most first, and how many."""
        found = sorted((c for c in self.columns if c.missing), key=lambda c: -c.missing)
        listed = []
        for c in found:
            about = f" ({c.missing / self.rows:.0%})" if c.missing > 0.005 * self.rows else ""
            about += f", {c.infinite:,} of them infinite" if c.infinite else ""
            listed.append(f"{quote(c.name)} {c.missing:,}{about}")
        return listed

    def _describe_roles(self) -> str:
        features: dict[str, list[str]] = {}
        beside: dict[str, list[str]] = {}
        for column in self.columns:
            if column.role in ("feature", "vector"):
                features.setdefault(column.kind, []).append(column.name)
            elif column.role == "beside":
                beside.setdefault(column.why, []).append(column.name)
        used = ", ".join(
            f"{pluralize(len(names), kind, _PLURALS.get(kind, ''))} ({quote_names(names, 4)})"
            for kind, names in features.items()
        )
        parts = [f"Features: {used or 'none'}."]
        for role in ("label", "identifier"):
            names = [column.name for column in self.columns if column.role == role]
            parts += [f"{role.capitalize()}: {quote(names[0])}."] if names else []
        if beside:
            kept = [f"{quote_names(names, 4)} ({why})" for why, names in beside.items()]
            parts.append(f"Kept beside: {', '.join(_cut(kept))}.")
        return " ".join(parts)


def _cut(parts: Sequence[str]) -> list[str]:
    more = len(parts) - SHOWN_NOTES
    return [*parts[:SHOWN_NOTES], *([f"and {more:,} more (`lowd read`)"] if more > 0 else [])]


@dataclass(frozen=True, eq=False)
class Table:
    """The rows of a file, and what belongs to them.

    X
        A 2-D float array, a sparse matrix, a list of strings, or a square matrix of distances.
        With `gower=True` it is the frame of the columns, numbers and text alike.
    kind
        "rows", "distances", "strings", "images", "genotypes" or "table" (for Gower's distance).
    columns
        The names of X's columns.
    ids, labels
        One identifier and one class per row, or None.
    extra
        Other columns by name.
    thumbnails
        Small images of the rows, or None.
    source
        The file as the caller named it.
    notes
        Messages for the user: what was recognized, left out or changed.
    alleles
        Of genotypes: SNPs, their alleles and frequencies, for `read(alleles=...)` of new points.
    levels
        Of one-hot encoded columns: their levels, for `read(encode=...)` of new points.
    reading
        Of a table with columns: how it was read, and why; `describe` says it in three lines.
    """

    X: Data
    kind: Kind = "rows"
    columns: tuple[str, ...] = ()
    ids: Column | None = None
    labels: Column | None = None
    extra: Mapping[str, Column] = field(default_factory=dict)
    thumbnails: NDArray[np.uint8] | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    id_name: str = "id"
    label_name: str = "label"
    alleles: Alleles | None = None
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)
    reading: Reading | None = None

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def __repr__(self) -> str:
        size = "×".join(map(str, self.X.shape)) if hasattr(self.X, "shape") else len(self.X)
        parts = [f"{self.kind} {size}"]
        parts += ["ids"] if self.ids is not None else []
        parts += ["labels"] if self.labels is not None else []
        return f"Table({self.source!r}: {', '.join(parts)})"

    def describe(self) -> list[str]:
        """How the file was read, in three lines at most.

        >>> import pathlib, tempfile, lowd
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "t.csv"
        >>> _ = path.write_text("kind;a;b\\nu;1,5;2\\nv;2,5;3\\nu;3,5;4\\nv;1;1\\n")
        >>> print(*lowd.io.read(path).describe()[1:], sep="\\n")
        Features: 2 quantities ('a', 'b'). Label: 'kind'.
        """
        if self.reading is not None:
            return self.reading.describe(self.source)
        size = "×".join(map(str, self.X.shape)) if hasattr(self.X, "shape") else len(self.X)
        return [" ".join([f"{self.source}: {self.kind} {size}.", *self.notes])]

    def add_notes(self, *notes: str) -> Table:
        return dataclasses.replace(self, notes=(*self.notes, *notes))

    def with_embedding(
        self,
        Y: ArrayLike,
        names: Sequence[str],
        extra: Mapping[str, ArrayLike] | None = None,
    ) -> Table:
        """Return the same rows with the coordinates of an embedding as columns, ready for writing.

        `names` are the coordinates' names, as `model.get_feature_names_out()` has them; `extra`
        holds further columns, such as the trustworthiness of each point.

        >>> import numpy as np
        >>> from lowd.io import Table
        >>> data = Table(np.eye(3), ids=np.array(["a", "b", "c"]))
        >>> data.with_embedding(np.zeros((3, 1)), ["pca0"], {"trust": [1.0, 1.0, 0.5]}).columns
        ('pca0',)
        """
        coordinates = np.asarray(Y)
        others = {name: np.asarray(column) for name, column in (extra or {}).items()}
        for name, column in {"the embedding": coordinates, **others}.items():
            if len(column) != len(self):
                raise DataError(f"{name} has {len(column)} rows, but the data have {len(self)}.")
        return dataclasses.replace(
            self, X=coordinates, kind="rows", columns=tuple(names), extra=others, thumbnails=None
        )
