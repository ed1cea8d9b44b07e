"""The core of the library, while it is moved: `pytest --house` runs the suite on it."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from .methods import METHODS

_HOME = {name: f".methods.{module}" for name, module in METHODS.items()}
_HOME |= {"SpectralEmbedding": ".methods.spectral", "jl_min_dim": ".methods.random_projection"}
_HOME |= dict.fromkeys(("neighbors", "NeighborGraph", "NeighborsTransformer"), ".neighbors")
_HOME |= {"save": ".store", "load": ".store", "RowBlocks": ".blocks", "Pipeline": ".pipeline"}


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'lowd.house' has no attribute {name!r}")
    return getattr(import_module(_HOME[name], __name__), name)
