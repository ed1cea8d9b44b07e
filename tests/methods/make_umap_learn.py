"""Record what umap-learn computes on small data, for tests/methods/test_umap_sets.py.

Usage: python tests/methods/make_umap_learn.py   (with umap-learn 0.5.12 installed)

Recorded rather than computed in the tests: numba takes longer to compile than they take in all.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.neighbors import NearestNeighbors

N_NEIGHBORS = 15
CURVES = ((0.1, 1.0), (0.0, 1.0), (0.5, 1.0), (0.99, 1.0), (0.001, 0.5), (0.3, 3.0), (1.0, 1.0))


def make_rows() -> dict[str, NDArray[Any]]:
    """Digits; the same with duplicates; and whole numbers, where distances tie."""
    X, y = load_digits(return_X_y=True)
    X, y = X[:120], y[:120]
    twice = X.copy()
    twice[90:] = X[:30]
    ties = np.random.default_rng(0).integers(0, 3, size=(120, 4)).astype(np.float64)
    return {"digits": X, "duplicates": twice, "ties": ties, "y": y}


def find_neighbors(X: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """The nearest of each row, itself first, in float32 as umap-learn takes them."""
    d, i = NearestNeighbors(n_neighbors=N_NEIGHBORS + 1).fit(X).kneighbors(X)
    for row in range(len(X)):  # itself first, also among duplicates
        own = np.flatnonzero(i[row] == row)
        last = own[0] if len(own) else N_NEIGHBORS
        i[row, 1 : last + 1], d[row, 1 : last + 1] = i[row, :last].copy(), d[row, :last].copy()
        i[row, 0], d[row, 0] = row, 0.0
    return i[:, :N_NEIGHBORS], d[:, :N_NEIGHBORS].astype(np.float32)


def record(kept: dict[str, Any], name: str, W: Any) -> None:
    W = W.tocsr()
    W.sort_indices()
    kept[f"{name}-data"], kept[f"{name}-indices"], kept[f"{name}-indptr"] = (
        W.data,
        W.indices,
        W.indptr,
    )


def main() -> None:
    import umap
    from umap import umap_

    kept: dict[str, Any] = {"curves": np.array(CURVES)}
    kept["ab"] = np.array([umap_.find_ab_params(spread, near) for near, spread in CURVES])
    rows = make_rows()
    y = kept["y"] = rows.pop("y")
    seed = np.random.RandomState(0)
    for name, X in rows.items():
        i, d = find_neighbors(X)
        kept[f"{name}-neighbors"], kept[f"{name}-distances"] = i, d
        for L, mix in ((1.0, 1.0), (1.0, 0.5), (1.0, 0.0), (0.5, 1.0), (2.0, 1.0)):
            W, sigma, rho = umap_.fuzzy_simplicial_set(
                X, N_NEIGHBORS, seed, "euclidean", {}, i, d, False, mix, L
            )
            record(kept, f"{name}-{L}-{mix}", W)
            kept[f"{name}-{L}-{mix}-rho"], kept[f"{name}-{L}-{mix}-sigma"] = rho, sigma
    X = rows["digits"]
    i, d = find_neighbors(X)
    W = umap_.fuzzy_simplicial_set(X, N_NEIGHBORS, seed, "euclidean", {}, i, d)[0]
    partly = np.where(np.arange(len(y)) % 3 == 0, -1, y)
    for weight in (0.5, 0.8):
        far = 2.5 / (1 - weight)
        labeled = umap_.discrete_metric_simplicial_set_intersection(W.copy(), partly, far_dist=far)
        record(kept, f"labels-{weight}", labeled)
    numbers = X.mean(1) + np.random.default_rng(1).random(len(X))  # no two are equal
    gaps = np.abs(numbers[:, None] - numbers)
    near = np.argsort(gaps, axis=1)[:, :N_NEIGHBORS]
    target = umap_.fuzzy_simplicial_set(  # as in UMAP.fit
        gaps,
        N_NEIGHBORS,
        seed,
        "precomputed",
        {},
        near,
        np.take_along_axis(gaps, near, axis=1),
        apply_set_operations=False,
    )[0]
    for weight in (0.3, 0.5, 0.7):
        both = umap_.general_simplicial_set_intersection(W, target, weight)
        record(kept, f"numbers-{weight}", umap_.reset_local_connectivity(both))
    kept["numbers"] = numbers
    dense = umap.UMAP(
        n_neighbors=N_NEIGHBORS,
        densmap=True,
        output_dens=True,
        n_epochs=20_000,  # weights below the largest over this many are dropped
        random_state=0,
        precomputed_knn=(i, d),
    )
    dense.fit(X)
    kept["rad_orig"] = dense.rad_orig_
    np.savez_compressed(Path(__file__).with_name("umap_learn.npz"), **kept)


if __name__ == "__main__":
    main()
