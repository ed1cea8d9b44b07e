"""Findings on a precomputed matrix: is it one of distances?"""

from __future__ import annotations

import numpy as np

from ...input.validation import symmetry_of
from ...parameters import Reals
from .result import Finding


def check_distances(D: Reals, tolerance: float = 1e-6) -> list[Finding]:
    """What is wrong with the matrix; a single finding that is fine if it can be used."""
    nonfinite = ~np.isfinite(D)
    if nonfinite.any():
        row, column = map(int, np.argwhere(nonfinite)[0])
        return [
            Finding(
                "error",
                "missing",
                f"{int(nonfinite.sum())} distances are missing or infinite; the first is at row "
                f"{row}, column {column}.",
                "Only MDS and NonMetricMDS take missing distances (NaN).",
            )
        ]
    symmetry = symmetry_of(D)
    found = []
    if symmetry.asymmetry > tolerance * symmetry.largest:
        i, j = symmetry.asymmetry_at
        found.append(
            Finding(
                "error",
                "symmetry",
                f"Entry ({i}, {j}) is {D[i, j]:.6g}, but ({j}, {i}) is {D[j, i]:.6g}.",
                "Distances are symmetric; pass (D + D.T) / 2 if the mean is meant.",
            )
        )
    if symmetry.smallest < 0:
        i, j = symmetry.smallest_at
        found.append(
            Finding(
                "error",
                "sign",
                f"The distance at row {i}, column {j} is {symmetry.smallest:.6g}.",
                "Distances are not negative; of similarities s take sqrt(s_ii + s_jj - 2 s_ij).",
            )
        )
    if symmetry.diagonal > tolerance * max(symmetry.largest, 0):
        found.append(
            Finding(
                "error",
                "diagonal",
                f"Row {symmetry.diagonal_at} is {symmetry.diagonal:.6g} away from itself.",
                "Are these similarities s? Then pass sqrt(s_ii + s_jj - 2 s_ij).",
            )
        )
    fine = Finding("fine", "missing", "Every distance is a finite number >= 0, and symmetric.")
    return found or [fine]
