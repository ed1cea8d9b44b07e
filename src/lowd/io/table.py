"""`Table`: the rows of a file with identifiers and labels, as read and as written."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import DataError

if TYPE_CHECKING:
    from .genotypes import Alleles

Column: TypeAlias = NDArray[Any]  # numbers or text
Data: TypeAlias = Any  # an array, a sparse matrix, a list of strings, or a frame
Kind: TypeAlias = Literal["rows", "distances", "strings", "images", "genotypes", "table"]


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

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def __repr__(self) -> str:
        size = "×".join(map(str, self.X.shape)) if hasattr(self.X, "shape") else len(self.X)
        parts = [f"{self.kind} {size}"]
        parts += ["ids"] if self.ids is not None else []
        parts += ["labels"] if self.labels is not None else []
        return f"Table({self.source!r}: {', '.join(parts)})"

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
