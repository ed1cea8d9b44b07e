"""Compare the measures of `lowd.evaluate` with those of other tools, on one small embedding.

Usage: python benchmarks/parity.py   (tools that are not installed are left out)
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import lowd

N, K = 120, 7
Numbers = dict[str, float]


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, 6)) * [5, 4, 1, 1, 1, 1]
    Y = X[:, :2] + rng.normal(size=(N, 2))
    labels = np.arange(N) % 3
    found = lowd.evaluate(X, Y, labels=labels, n_neighbors=K)
    ours = {name: float(value) for name, value in found.measures.items()}
    for tool, measure in PEERS.items():
        try:
            theirs = measure(X, Y, labels)
        except ImportError as error:
            print(f"{tool}: not installed ({error})")
            continue
        for name, value in theirs.items():
            gap = abs(value - ours[name])
            print(f"{tool:<14}{name:<26}{value:.12f}  lowd {ours[name]:.12f}  difference {gap:.1e}")


def scikit_learn(X: Any, Y: Any, labels: Any) -> Numbers:
    from sklearn.manifold import trustworthiness
    from sklearn.metrics import silhouette_score

    return {
        "trustworthiness": trustworthiness(X, Y, n_neighbors=K),
        "continuity": trustworthiness(Y, X, n_neighbors=K),
        "silhouette": silhouette_score(Y, labels),
    }


def zadu(X: Any, Y: Any, labels: Any) -> Numbers:
    """Its rank errors are 1 less the error, over a maximum that no embedding attains."""
    from zadu.zadu import ZADU

    local, whole = {"params": {"k": K}}, {"params": {}}
    asked = [{"id": name, **local} for name in ("tnc", "mrre", "lcmc", "nh")]
    others = ("srho", "pr", "scale_normalized_stress", "non_metric_stress")
    asked += [{"id": name, **whole} for name in others]
    parts = ZADU(asked, X).measure(Y, labels)
    found = {name: float(value) for part in parts for name, value in part.items()}
    ranks = np.arange(1, K + 1)
    ratio = (abs(N - 2 * ranks + 1) / ranks).sum() / (abs(N - 2 * ranks) / ranks).sum()
    return {
        "trustworthiness": found["trustworthiness"],
        "continuity": found["continuity"],
        "mrre_false": (1 - found["mrre_false"]) * ratio,
        "mrre_missing": (1 - found["mrre_missing"]) * ratio,
        "lcmc": found["lcmc"],
        "neighborhood_hit": found["neighborhood_hit"],
        "spearman": found["spearman_rho"],
        "pearson": found["pearson_r"],
        "scale_normalized_stress": found["scale_normalized_stress"],
        "nonmetric_stress": found["non_metric_stress"],
    }


def dr_metrics(X: Any, Y: Any, labels: Any) -> Numbers:  # noqa: ARG001 - it has no measures by labels
    """Its co-ranking matrix; its own measures divide by other numbers."""
    from pyDRMetrics.coranking_matrix import coranking_matrix, ranking_matrix
    from scipy.spatial.distance import pdist, squareform

    Q = coranking_matrix(*(ranking_matrix(squareform(pdist(Z))) for Z in (X, Y)))
    Q = Q[-(N - 1) :, -(N - 1) :]  # without the point itself
    sizes = np.arange(1, N - 1)
    kept = np.array([Q[:k, :k].sum() / (k * N) for k in sizes])
    curve = ((N - 1) * kept - sizes) / (N - 1 - sizes)
    return {
        "neighbor_recall": kept[K - 1],
        "rnx_auc": float((curve / sizes).sum() / (1 / sizes).sum()),
    }


PEERS: dict[str, Callable[[Any, Any, Any], Numbers]] = {
    "scikit-learn": scikit_learn,
    "ZADU": zadu,
    "pyDRMetrics": dr_metrics,
}

if __name__ == "__main__":
    main()
