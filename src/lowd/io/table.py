"""What a file becomes, and what is written back."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError

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
        Small pictures of the rows, or None.
    source
        The file as the caller named it.
    notes
        Sentences for the user: what was recognized, left out or changed.
    alleles
        Of genotypes: SNPs, their alleles and frequencies, for `read(alleles=...)` of new people.
    levels
        Of columns that became columns of 0 and 1: their values, for `read(encode=...)` of new rows.
    """

    X: Any
    kind: Kind = "rows"
    columns: tuple[str, ...] = ()
    ids: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)
    thumbnails: NDArray[np.uint8] | None = None
    source: str = ""
    notes: tuple[str, ...] = ()
    id_name: str = "id"
    label_name: str = "label"
    alleles: Any = None
    levels: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def __len__(self) -> int:
        return int(self.X.shape[0]) if hasattr(self.X, "shape") else len(self.X)

    def __repr__(self) -> str:
        size = "×".join(map(str, self.X.shape)) if hasattr(self.X, "shape") else len(self.X)
        parts = [f"{self.kind} {size}"]
        parts += ["ids"] if self.ids is not None else []
        parts += ["labels"] if self.labels is not None else []
        return f"Table({self.source!r}: {', '.join(parts)})"

    def with_report(self, *sentences: str) -> Table:
        return dataclasses.replace(self, notes=(*self.notes, *sentences))

    def mapped(
        self,
        Y: Any,
        names: Sequence[str],
        extra: Mapping[str, Any] | None = None,
    ) -> Table:
        """The same rows at their places in a map, ready to be written.

        `names` are the coordinates' names, as `model.get_feature_names_out()` has them; `extra`
        holds further columns, such as how far each point can be trusted.

        >>> import numpy as np
        >>> from lowd.io import Table
        >>> data = Table(np.eye(3), ids=np.array(["a", "b", "c"]))
        >>> data.mapped(np.zeros((3, 1)), ["pca0"], {"trust": [1.0, 1.0, 0.5]}).columns
        ('pca0',)
        """
        places = np.asarray(Y)
        others = {name: np.asarray(column) for name, column in (extra or {}).items()}
        for name, held in {"the map": places, **others}.items():
            if len(held) != len(self):
                raise DataError(f"{name} has {len(held)} rows, but the data have {len(self)}.")
        return dataclasses.replace(
            self, X=places, kind="rows", columns=tuple(names), extra=others, thumbnails=None
        )
