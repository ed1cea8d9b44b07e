"""Cases of metric and non-metric MDS (SMACOF)."""

from __future__ import annotations

from typing import Any

from cases import Case, Target, Tool, lowd


def smacof(**params: Any) -> dict[str, Tool]:
    """scikit-learn's, with the same initialization as lowd's."""
    options = {"n_components": 2, "n_init": 1, "init": "classical_mds", **params}
    return {"scikit-learn": Tool("sklearn.manifold:MDS", options)}


MDS_CASES: dict[str, Case] = {
    "smacof": Case(
        "MDS, 2000×50 of images",
        "components",
        2_000,
        2,
        "stress",
        lowd("MDS", 2) | smacof(),
        targets=(Target("scikit-learn", 50),),
    ),
    "nonmetric-mds": Case(
        "NonMetricMDS, 1000×50 of images",
        "components",
        1_000,
        2,
        "nonmetric_stress",
        lowd("NonMetricMDS", 2) | smacof(metric_mds=False),
        targets=(Target("scikit-learn", 50),),
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
