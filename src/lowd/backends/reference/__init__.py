"""The reference backend: plain NumPy and SciPy, against which every other backend is tested."""

from __future__ import annotations

from dataclasses import dataclass

from .affinities import AffinityOperations
from .graphs import GraphOperations
from .kl import KLOperations
from .layout import LayoutOperations
from .linear_algebra import LinearAlgebraOperations
from .local_fits import LocalFitOperations
from .neighbors import NeighborOperations
from .stress import StressOperations


@dataclass(frozen=True)
class Reference(
    LinearAlgebraOperations,
    NeighborOperations,
    GraphOperations,
    LocalFitOperations,
    StressOperations,
    AffinityOperations,
    KLOperations,
    LayoutOperations,
):
    """Every operation of the protocol; `threads` is taken and not used."""

    threads: int = 1
