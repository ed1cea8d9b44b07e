"""Is a given square matrix one of distances?"""

from __future__ import annotations

import numpy as np

from ...backends.protocol import Backend, Float64
from ...input.precomputed import ASYMMETRY
from .result import Finding


def distance_findings(D: Float64, ops: Backend) -> tuple[list[Finding], bool]:
    """What is wrong with the matrix, and whether it can be used."""
    bad = ~np.isfinite(D)
    if bad.any():
        row, column = map(int, np.argwhere(bad)[0])
        return [
            Finding(
                "error",
                "missing",
                f"{int(bad.sum())} distances are missing or infinite; the first is at row {row}, "
                f"column {column}.",
                "Only MDS and NonMetricMDS take missing distances (NaN).",
            )
        ], False
    seen = ops.check_symmetry(np.ascontiguousarray(D))
    found = []
    if seen.asymmetry > ASYMMETRY * seen.max_abs:
        i, j = seen.asymmetry_at
        found.append(
            Finding(
                "error",
                "symmetry",
                f"Entry ({i}, {j}) is {D[i, j]:.6g}, but ({j}, {i}) is {D[j, i]:.6g}.",
                "Distances are the same both ways; pass (D + D.T) / 2 if the mean is meant.",
            )
        )
    if seen.smallest < 0:
        i, j = seen.smallest_at
        found.append(
            Finding(
                "error",
                "sign",
                f"The distance at row {i}, column {j} is {seen.smallest:.6g}.",
                "Distances are not negative; of similarities s take sqrt(s_ii + s_jj - 2 s_ij).",
            )
        )
    if seen.diagonal > ASYMMETRY * max(seen.max_abs, 0):
        found.append(
            Finding(
                "error",
                "diagonal",
                f"Row {seen.diagonal_at} is {seen.diagonal:.6g} away from itself.",
                "Are these similarities s? Then pass sqrt(s_ii + s_jj - 2 s_ij).",
            )
        )
    if found:
        return found, False
    return [Finding("fine", "missing", "Every distance is a finite number >= 0, both ways.")], True
