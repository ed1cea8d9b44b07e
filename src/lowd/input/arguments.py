"""What users pass and get: its types, and arrays of other libraries (torch, CuPy, JAX).

Rows of these come to the host, and results go back to them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import nullcontext
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..backend import backends

# X: an array, a sparse matrix, a table (pandas, polars, pyarrow), a dask array, or objects.
Input: TypeAlias = Any
# Coordinates: an array, a table where `set_output` asks for one, or a lazy dask array.
Output: TypeAlias = Any
# One number per row: how often it counts.
Weights: TypeAlias = ArrayLike | None
# Embeddings to look at: an array, or arrays and models by name.
Embeddings: TypeAlias = Any
# A metric by its name, or a callable.
MetricName: TypeAlias = Any
# What another library or another process hands over.
Foreign: TypeAlias = Any
# A table of pandas, which is optional.
DataFrame: TypeAlias = Any


CUDA_DEVICES = (2, 13)  # DLPack's numbers of memory of a GPU, and of managed memory
# From a result on the host to an array of the library that the rows came from, on their device.
Back: TypeAlias = Callable[[Output], Output]


def receive(X: Input) -> tuple[Input, Back]:
    """The rows on the host and the way back; what is no matrix of another library, as it is."""
    if not _is_foreign(X):
        return X, lambda Y: Y
    return _to_host(X), lambda Y: _send(Y, X) if isinstance(Y, np.ndarray) else Y


def choose_backend(name: str, X: Input) -> str:
    """The backend for these rows: of "auto", the one that computes where they are."""
    if name != "auto" or not _is_foreign(X) or "torch" not in backends():
        return name
    return "torch" if X.__dlpack_device__()[0] in CUDA_DEVICES else name


def _is_foreign(X: Input) -> bool:
    """A matrix with DLPack's protocol that is not NumPy's own."""
    if isinstance(X, (np.ndarray, np.generic)) or not hasattr(type(X), "__dlpack__"):
        return False
    return getattr(X, "ndim", None) == 2


def _to_host(X: Foreign) -> Input:
    if _is_of_torch(X):
        return X.detach().cpu().numpy()
    if hasattr(X, "get"):  # CuPy, which has no conversion without asking
        return X.get()
    return np.asarray(X) if hasattr(X, "__array__") else np.from_dlpack(X)


def _send(Y: Output, X: Foreign) -> Foreign:
    if _is_of_torch(X):
        return sys.modules["torch"].from_numpy(Y if Y.flags.writeable else Y.copy()).to(X.device)
    # CuPy's arrays do not name their namespace.
    named = hasattr(X, "__array_namespace__")
    library: Foreign = X.__array_namespace__() if named else sys.modules[_root_module(X)]
    device: Foreign = getattr(X, "device", None)
    with device if hasattr(device, "__enter__") else nullcontext():
        return library.asarray(Y)


def _is_of_torch(X: Foreign) -> bool:
    return _root_module(X) == "torch"


def _root_module(X: Foreign) -> str:
    return type(X).__module__.partition(".")[0]
