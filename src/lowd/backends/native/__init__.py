"""The native backend: C++, fused and threaded, the same bits for any number of threads.

CSR rows and dense eigenproblems are left to the reference, since SciPy does them well. All
else is a call into `lowd._native`, which checks for Ctrl-C and reports progress while it runs.
"""

from __future__ import annotations

from dataclasses import dataclass

from ..reference import Reference
from .affinities import NativeAffinities
from .graphs import NativeGraphs
from .kl import NativeKL
from .layout import NativeLayout
from .local_fits import NativeLocalFits
from .neighbors import NativeNeighbors
from .stress import NativeStress


@dataclass(frozen=True)
class Native(
    NativeNeighbors,
    NativeGraphs,
    NativeLocalFits,
    NativeStress,
    NativeAffinities,
    NativeKL,
    NativeLayout,
    Reference,
):
    """Every operation of the protocol, on `threads` threads."""
