"""Errors of each tool's result, by one float64 evaluator against an exact reference.

An evaluator takes the data and k, computes the reference once, and returns a function that scores a
tool's arrays (`Y`, and `components`, `landmarks`, ... where it has them): measures by name, the
most important first, 0 the best (1 for a cosine).
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import scipy.linalg
from scipy.optimize import isotonic_regression
from scipy.spatial.distance import pdist

import data
from quality_peers import embed
from spectral_evaluators import (
    Arrays,
    Score,
    classical_mds,
    kernel,
    kernel_trace,
    pairs,
    principal_axes,
    principal_subspace,
)


def distance_ratios(X: Any, k: int) -> Score:  # noqa: ARG001
    """Relative change of squared distances: the largest of the sampled pairs, and the mean."""
    i, j = pairs(len(X))
    before = np.square(X[i].astype(np.float64) - X[j]).sum(1)
    i, j, before = (values[before > 0] for values in (i, j, before))

    def score(found: Arrays) -> dict[str, float]:
        Y = found["Y"].astype(np.float64) * found.get("scale", 1.0)
        change = np.square(Y[i] - Y[j]).sum(1) / before - 1
        return {"max distortion": np.abs(change).max(), "mean distortion": abs(change.mean())}

    return score


def stress(X: Any, k: int) -> Score:  # noqa: ARG001
    """Stress-1 over all pairs of Euclidean distances, as embedded and at the best scale."""
    wanted = pdist(X.astype(np.float64))

    def score(found: Arrays) -> dict[str, float]:
        got = pdist(found["Y"].astype(np.float64))
        residual = 1 - (wanted @ got) ** 2 / (wanted @ wanted) / (got @ got)
        return {
            "stress-1": np.linalg.norm(got - wanted) / np.linalg.norm(got),
            "scaled stress-1": np.sqrt(max(residual, 0)),
        }

    return score


def nonmetric_stress(X: Any, k: int) -> Score:  # noqa: ARG001
    """Stress-1 against the isotonic regression on Euclidean distances."""
    order = np.argsort(pdist(X.astype(np.float64)), kind="stable")

    def score(found: Arrays) -> dict[str, float]:
        got = pdist(found["Y"].astype(np.float64))[order]
        disparities = isotonic_regression(got).x
        return {"stress-1": np.linalg.norm(got - disparities) / np.linalg.norm(got)}

    return score


def sampled_stress(X: Any, k: int) -> Score:  # noqa: ARG001
    """Stress-1 at the best scale, over a sample of pairs."""
    i, j = pairs(len(X))
    wanted = np.linalg.norm(X[i].astype(np.float64) - X[j], axis=1)

    def score(found: Arrays) -> dict[str, float]:
        got = np.linalg.norm(found["Y"][i].astype(np.float64) - found["Y"][j], axis=1)
        residual = 1 - (wanted @ got) ** 2 / (wanted @ wanted) / (got @ got)
        return {"scaled stress-1": np.sqrt(max(residual, 0))}

    return score


def swiss_roll(X: Any, k: int) -> Score:  # noqa: ARG001
    """Relative error of the true coordinates after the best affine map, and the best similarity.

    The LLE family finds the coordinates up to an affine map; Isomap up to a similarity.
    """
    truth = data.unrolled(len(X))
    truth -= truth.mean(0)

    def score(found: Arrays) -> dict[str, float]:
        Y = found["Y"].astype(np.float64)
        Y -= Y.mean(0)
        fit = Y @ np.linalg.lstsq(Y, truth, rcond=None)[0]
        rotation, scale = scipy.linalg.orthogonal_procrustes(Y, truth)
        similar = Y @ rotation * (scale / np.square(Y).sum())
        size = np.linalg.norm(truth)
        return {
            "affine error": np.linalg.norm(fit - truth) / size,
            "similarity error": np.linalg.norm(similar - truth) / size,
        }

    return score


def class_errors(X: Any, k: int) -> Score:  # noqa: ARG001
    """Error rate of a 15-nearest-neighbor classifier in the embedding (on 5,000 samples)."""
    from scipy.spatial import cKDTree

    known = data.labels(len(X))
    rows = np.random.default_rng(1).permutation(len(X))[:5000]

    def score(found: Arrays) -> dict[str, float]:
        if known is None:
            return {}
        Y = found["Y"].astype(np.float64)
        near = cKDTree(Y).query(Y[rows], 16)[1][:, 1:]
        votes = np.apply_along_axis(np.bincount, 1, known[near], minlength=10)
        return {"15-NN error": float((votes.argmax(1) != known[rows]).mean())}

    return score


def held_out(X: Any, k: int) -> Score:  # noqa: ARG001
    """The same for new points, and for training points left out of their own vote."""
    from scipy.spatial import cKDTree

    known = data.labels(len(X))

    def score(found: Arrays) -> dict[str, float]:
        if known is None:
            return {}
        tree, n = cKDTree(found["known"].astype(np.float64)), len(found["known"])
        errors = {}
        for name, Y, own in (("new", found["Y"], 0), ("training", found["known"][::9], 1)):
            near = tree.query(Y.astype(np.float64), 15 + own)[1][:, own:]
            votes = np.apply_along_axis(np.bincount, 1, known[near], minlength=10)
            truth = known[n:] if name == "new" else known[:n:9]
            errors[f"15-NN error, {name}"] = float((votes.argmax(1) != truth).mean())
        return errors

    return score


def embedding_quality(X: Any, k: int) -> Score:  # noqa: ARG001
    """Neighbors lost, trustworthiness, class errors and triplets, as differences from 1."""
    known = data.labels_of(X)

    def score(found: Arrays) -> dict[str, float]:
        measures = embedding_scores(X, found["Y"], known)
        return {f"1 - {name}": 1 - value for name, value in measures.items()}

    return score


def embedding_scores(X: Any, Y: Any, known: Any) -> dict[str, float]:
    """15-NN recall, trustworthiness (15), 10-NN accuracy and random triplets, by samples.

    Recall and accuracy are of 5000 rows among all; trustworthiness is that of these rows alone;
    of 200,000 triplets the share is counted whose nearer pair is also nearer in the embedding.
    """
    from scipy.spatial import cKDTree
    from sklearn.manifold import trustworthiness as sklearn_trustworthiness

    Y = Y.astype(np.float64)
    n = len(X)
    rng = np.random.default_rng(1)
    rows = rng.permutation(n)[:5000]
    squares = np.square(X).sum(1)
    near = np.empty((len(rows), 15), int)
    for part in np.array_split(np.arange(len(rows)), max(1, len(rows) * n // 2**25)):
        D = squares - 2 * (X[rows[part]] @ X.T)
        D[np.arange(len(part)), rows[part]] = np.inf
        near[part] = np.argpartition(D, 14, axis=1)[:, :15]
    mapped = cKDTree(Y).query(Y[rows], 16)[1]
    mapped = np.array([list_[list_ != row][:15] for list_, row in zip(mapped, rows, strict=True)])
    shared = [len(np.intersect1d(a, b)) for a, b in zip(near, mapped, strict=True)]
    scores = {"recall": float(np.mean(shared)) / 15}
    scores["trustworthiness"] = float(sklearn_trustworthiness(X[rows], Y[rows], n_neighbors=15))
    if known is not None:
        votes = np.apply_along_axis(np.bincount, 1, known[mapped[:, :10]], minlength=10)
        scores["accuracy"] = float((votes.argmax(1) == known[rows]).mean())
    i, j, h = rng.integers(n, size=(3, 200_000))
    kept = [(np.square(Z[i] - Z[j]).sum(1) < np.square(Z[i] - Z[h]).sum(1)) for Z in (X, Y)]
    scores["triplets"] = float((kept[0] == kept[1]).mean())
    return scores


def self_reported(X: Any, k: int) -> Score:  # noqa: ARG001
    """Measures that the tool reports, where an evaluator would take longer than the fit."""

    def score(found: Arrays) -> dict[str, float]:
        bad = float((~np.isfinite(found["Y"])).any(1).sum())
        own = {"KL": "divergence", "force error": "force_error"}
        known = {name: float(found[key]) for name, key in own.items() if key in found}
        return {"non-finite rows": bad, **known}

    return score


def missed_neighbors(X: Any, k: int) -> Score:
    """Share of the true neighbors of 500 rows that were missed; ties count as found."""
    rows = np.random.default_rng(0).choice(len(X), min(500, len(X)), replace=False)
    mean = X.mean(0)
    lengths = np.square(X - mean).sum(1)
    radii = np.empty(len(rows))  # squared distances to the k-th neighbor
    for i, row in enumerate(rows):  # candidates by products, then differences in float64
        gaps = lengths - 2 * ((X @ (X[row] - mean)) - mean @ (X[row] - mean))
        near = np.argpartition(gaps, 2 * k + 50)[: 2 * k + 50]
        near = near[near != row]
        exact = np.square(X[near].astype(np.float64) - X[row].astype(np.float64)).sum(1)
        radii[i] = np.partition(exact, k - 1)[k - 1]

    def score(found: Arrays) -> dict[str, float]:
        chosen = X[found["Y"][rows]].astype(np.float64) - X[rows, None].astype(np.float64)
        hits = np.square(chosen).sum(2) <= radii[:, None] * (1 + 1e-12)
        return {"1 - recall": 1 - float(hits.mean())}

    return score


def kl_divergence(X: Any, k: int) -> Score:
    """KL divergence of one P (perplexity 30) from each embedding, with the exact Z."""
    import lowd

    P = lowd.TSNE(k, max_iter=1).fit(X).affinity_
    rows = np.repeat(np.arange(P.shape[0]), np.diff(P.indptr))
    classes = class_errors(X, k)

    def score(found: Arrays) -> dict[str, float]:
        Y = found["Y"].astype(np.float64)
        squared = ((Y[rows] - Y[P.indices]) ** 2).sum(1)
        Z = 0.0
        for i in range(0, len(Y), 500):
            squares = sum(np.subtract.outer(y[i : i + 500], y) ** 2 for y in Y.T)
            Z += (1 / (1 + squares)).sum()
        kl = P.data @ (np.log(P.data) + np.log1p(squared)) + np.log(Z - len(Y))
        return {"KL": float(kl), **classes(found)}

    return score


def non_finite(X: Any, k: int) -> Score:  # noqa: ARG001
    """Number of rows whose coordinates are not finite."""
    return lambda found: {"non-finite rows": float((~np.isfinite(found["Y"])).any(1).sum())}


def batch_difference(X: Any, k: int) -> Score:  # noqa: ARG001
    """Relative difference between rows transformed one at a time and in one batch."""

    def score(found: Arrays) -> dict[str, float]:
        batch = found["batch"].astype(np.float64)
        return {"batch difference": np.abs(found["Y"] - batch).max() / np.abs(batch).max()}

    return score


def intrinsic_dimension(X: Any, k: int) -> Score:  # noqa: ARG001
    """Relative error of the two-NN dimension, against 2000 rows compared with all."""
    rows = np.random.default_rng(0).choice(len(X), min(len(X), 2000), replace=False)
    all_rows = X - X.mean(0, dtype=np.float64)
    squares = np.square(all_rows).sum(1)
    logs = []
    for part in np.array_split(rows, 50):
        D = squares[part, None] + squares - 2 * (all_rows[part] @ all_rows.T)
        D[np.arange(len(part)), part] = np.inf
        one, two = np.partition(D, 1, axis=1)[:, :2].T
        logs.append(np.log(two / one) / 2)
    ratios = np.sort(np.concatenate(logs))
    kept = int(0.9 * len(ratios))  # the largest tenth is censored
    wanted = kept / (ratios[:kept].sum() + (len(ratios) - kept) * ratios[kept - 1])
    return lambda found: {"dimension error": float(abs(found["Y"][0] / wanted - 1))}


def trustworthiness(X: Any, k: int) -> Score:
    """Error of the trustworthiness against 500 rows by sorting, less two standard errors."""
    Y = embed(X).astype(np.float64)
    n = len(X)
    rows = np.random.default_rng(0).choice(n, min(500, n), replace=False)
    worst = k * (2 * n - 3 * k - 1) / 2
    values = np.empty(len(rows))
    for i, row in enumerate(rows):
        near, far = (np.square(Z - Z[row], dtype=np.float64).sum(1) for Z in (X, Y))
        near[row] = far[row] = -1
        ranks = np.empty(n, int)
        ranks[np.argsort(near, kind="stable")] = np.arange(n)
        listed = np.argsort(far, kind="stable")[1 : k + 1]
        values[i] = 1 - np.maximum(ranks[listed] - k, 0).sum() / worst
    error = 2 * values.std() * np.sqrt((1 - len(rows) / n) / len(rows))
    truth = values.mean()

    def score(found: Arrays) -> dict[str, float]:
        return {"error": max(abs(float(found["Y"].ravel()[0]) - truth) - error, 0)}

    return score


EVALUATORS: dict[str, Callable[[Any, int], Score]] = {
    evaluator.__name__: evaluator
    for evaluator in (
        principal_subspace,
        principal_axes,
        classical_mds,
        kernel_trace,
        distance_ratios,
        swiss_roll,
        class_errors,
        held_out,
        embedding_quality,
        self_reported,
        missed_neighbors,
        intrinsic_dimension,
        kl_divergence,
        non_finite,
        batch_difference,
        stress,
        nonmetric_stress,
        sampled_stress,
        trustworthiness,
    )
} | {name: partial(kernel, name) for name in ("rbf", "poly", "cosine", "linear")}
