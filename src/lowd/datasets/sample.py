"""`Dataset`: rows with their true coordinates, colors and labels."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Column: TypeAlias = NDArray[Any]  # numbers or text


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows of a data set with true coordinates, colors and labels.

    `truth` holds the true coordinates of each row, `color` one number per row to color a
    plot by, `labels` the class of each row; each is None if there are none. `extra` holds
    further data by name. `kind` is "rows", "genotypes" (allele counts, -1 where
    missing), "distances" or "similarities" (square matrices).
    """

    name: str
    X: Column
    truth: NDArray[np.floating] | None = None
    color: Column | None = None
    labels: Column | None = None
    kind: str = "rows"
    extra: Mapping[str, Column] = field(default_factory=dict)

    def __repr__(self) -> str:
        n, p = self.X.shape
        return f"Dataset({self.name!r}, {n} × {p} {self.X.dtype}, {self.kind})"
