"""Native operations of affinities: bandwidths of rows, and their symmetrization."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ... import _native
from ...progress import step
from ..protocol import CalibratedRows, Float64, FuzzySum, Perplexity
from ..reference.affinities import AffinityOperations
from .arrays import csr_parts


class NativeAffinities(AffinityOperations):
    """Conditional probabilities and fuzzy memberships of neighbors, and both directions in one."""

    threads: int

    def calibrate_rows(
        self, indptr: NDArray[np.int64], distances: Float64, rule: Perplexity | FuzzySum
    ) -> CalibratedRows:
        n = len(indptr) - 1
        rows = CalibratedRows(np.empty(len(distances)), np.empty(n), np.zeros(n))
        a, scales, offsets = rows
        how = self.threads, step("affinities")
        if isinstance(rule, Perplexity):
            given = indptr, distances, rule.perplexity
            _native.conditional_probabilities(*given, a, scales, *how)
        else:
            _native.fuzzy_memberships(indptr, distances, *rule, a, offsets, scales, *how)
        return rows

    def _symmetrize(self, rows: csr_array, union: float | None = None) -> csr_array:
        poll = step("affinities")
        indptr, indices, p = _native.symmetrize(*csr_parts(rows), union, self.threads, poll)
        return csr_array((p, indices, indptr.astype(rows.indptr.dtype)), rows.shape)
