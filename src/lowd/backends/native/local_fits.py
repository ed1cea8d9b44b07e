"""Native operations of small local fits: barycentric weights and alignment matrices."""

from __future__ import annotations

from typing import cast

import numpy as np
from scipy.sparse import csr_array

from ... import _native
from ...progress import step
from ..protocol import Array, Float64, PatchKind, Ragged
from ..reference.local_fits import LocalFitOperations
from .arrays import as_rows


class NativeLocalFits(LocalFitOperations):
    """Weights and matrices made of a small dense problem per neighborhood."""

    threads: int

    def barycentric_weights(self, Q: Array, X: Array, near: Ragged, reg: float) -> Float64:
        dtype = np.result_type(Q.dtype, X.dtype)
        out = np.empty(len(near.indices))
        Q, X = as_rows(Q, dtype), as_rows(X, dtype)
        _native.barycentric_weights(Q, X, *near, reg, out, self.threads, step("local weights"))
        return out

    def alignment_matrix(
        self, X: Array, near: Ragged, kind: str, k: int, reg: float, counts: Float64
    ) -> csr_array:
        n = len(X)
        if kind == "modified":  # a patch ends with its own row
            own = np.insert(near.indices, near.indptr[1:], np.arange(n, dtype=np.int32))
            near = Ragged(near.indptr + np.arange(n + 1), own)
        indptr = np.empty(n + 1, np.int64)
        _native.alignment_indptr(*near, indptr, self.threads)
        indices, data = np.empty(indptr[-1], np.int32), np.empty(indptr[-1])
        given = as_rows(X, X.dtype), *near, cast(PatchKind, kind), k, reg, counts
        out, poll = (indptr, indices, data), step("local patches")
        _native.alignment_matrix(*given, *out, self.threads, poll)
        return csr_array((data, indices, indptr), shape=(n, n))
