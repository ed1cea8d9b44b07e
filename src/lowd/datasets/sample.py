"""What a data set is: its rows, and what is known about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows, and what is known about them.

    `truth` holds the true coordinates of each row, `color` one number per row to paint a map
    with, `labels` the class of each row; each is None where there is none. `extra` holds what
    else came with the data, by name. `kind` is "rows", "genotypes" (allele counts, -1 where
    missing), "distances" or "similarities" (square matrices).
    """

    name: str
    X: NDArray[Any]
    truth: NDArray[np.floating[Any]] | None = None
    color: NDArray[Any] | None = None
    labels: NDArray[Any] | None = None
    kind: str = "rows"
    extra: Mapping[str, NDArray[Any]] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, p = self.X.shape
        return f"Dataset({self.name!r}, {n} × {p} {self.X.dtype}, {self.kind})"
