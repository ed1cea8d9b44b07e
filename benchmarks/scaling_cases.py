"""Scaling by majorization: what is measured, with which tools."""

from __future__ import annotations

from typing import Any

from cases import Bar, Case, Tool, lowd


def smacof(**params: Any) -> dict[str, Tool]:
    """scikit-learn's, from the same start as lowd's."""
    options = {"n_components": 2, "n_init": 1, "init": "classical_mds", **params}
    return {"scikit-learn": Tool("sklearn.manifold:MDS", options)}


SCALING_CASES: dict[str, Case] = {
    "smacof": Case(
        "MDS, 2000×50 of images",
        "components",
        2_000,
        2,
        "stress",
        lowd("MDS", 2) | smacof(),
        bars=(Bar("scikit-learn", 50),),
    ),
    "nonmetric-mds": Case(
        "NonMetricMDS, 1000×50 of images",
        "components",
        1_000,
        2,
        "order",
        lowd("NonMetricMDS", 2) | smacof(metric_mds=False),
        bars=(Bar("scikit-learn", 50),),
    ),
    "smacof-landmarks": Case(
        "MDS, 70000×50 of images, 2000 landmarks",
        "components",
        70_000,
        2,
        "sampled_stress",
        lowd("MDS", 2, n_landmarks=2000),
    ),
}
