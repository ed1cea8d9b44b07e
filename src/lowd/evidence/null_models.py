"""Is there structure to see, and is it more than linear? Two null models, without a fit.

The statistic is the mean logarithm of the distance to the tenth neighbor. Structure brings
neighbors nearer together than they are under a null model:

- independent columns, each with its own values: rows without any relation between columns;
- normal rows with the covariance of the data: linear relations, and nothing else.

Parallel analysis compares eigenvalues of the data with those of independently permuted columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.linalg import eigvalsh

from .. import progress, random
from ..linalg import scree
from ..parameters import Reals
from ..spaces import hash_rows
from ..threads import single_threaded_blas


class NullTest(NamedTuple):
    """The neighbor distances of the data relative to those of rows drawn from a null model.

    ratio : geometric mean of the distances over that of the draws; below 1 if neighbors are nearer
    p_value : share of the draws and the data themselves whose neighbors are as near as in the data
    """

    ratio: float
    p_value: float

    def holds(self, level: float = 0.03) -> bool:
        """Can the data not be told from the null model?

        The ratio alone says little: where many columns make all distances alike, populations are
        told by a ratio of .98.
        """
        return self.p_value > level


class Structure(NamedTuple):
    """What two null models say about rows: of independent columns, and of linear relations."""

    independent: NullTest
    linear: NullTest
    components: bool = False  # are the columns principal components, so that none are related?

    @property
    def kind(self) -> str:
        """The simplest that the rows cannot be told from: "noise", "linear" or "structure"."""
        if self.independent.holds() and not self.components:
            return "noise"
        return "linear" if self.linear.holds() else "structure"

    @property
    def claim(self) -> str:
        """What that means for a map; nothing where there is more than linear relations."""
        ratio, p = (self.independent, self.linear)[self.kind == "linear"]
        numbers = f"{ratio:.2f} times the distance, p = {p:.2f}"
        if self.kind == "noise":
            return (
                "There is no structure to see: neighbors are as far apart as in rows of "
                f"independent columns ({numbers})."
            )
        if self.kind == "linear":
            return (
                "Linear relations are all there is, and PCA shows them: neighbors are as far apart "
                f"as in normal rows of the same covariance ({numbers})."
            )
        return ""

    def to_dict(self) -> dict[str, object]:
        """Plain values for JSON."""
        tests = {"independent": self.independent, "linear": self.linear}
        return {
            "kind": self.kind,
            "principal_components": self.components,
            **{name: test._asdict() for name, test in tests.items()},
        }


def compare_with_nulls(
    X: Reals,
    seed: int,
    n_draws: int = 39,
    n_anchors: int = 200,
    max_samples: int = 2000,
    max_columns: int = 1000,
    max_entries: int = 2**16,
) -> Structure | None:
    """Compare a sample of the rows with both null models; None if it has too little to compare.

    With 39 draws p is .025 at least. Rows, columns and anchors bound the time: .2 s on one core.
    """
    n, d = X.shape
    if n < 20 or d < 2:
        return None
    columns = random.subset(seed, "null columns", d, min(d, max_columns))
    size = min(n, max_samples, max(200, max_entries // len(columns)))
    # By content, so that the result does not depend on their order.
    order = np.argsort(hash_rows(X), kind="stable")
    rows = order[np.argsort(random.bits(seed, "null rows", np.arange(n)))[:size]]
    part = X[rows][:, columns]
    Z = np.asarray(part.toarray() if hasattr(part, "toarray") else part, np.float64)
    Z = Z - Z.mean(0)
    largest = np.abs(Z).max()
    if not 0 < largest < np.inf:
        return None
    Z /= largest
    index, width = np.arange(size)[:, None], np.arange(len(columns))

    def shift_columns(draw: int) -> Reals:
        """Each column shifted by its own number of rows: a group, so the test is exact."""
        shift = random.bits(seed, f"null shifts {draw}", width) % np.uint64(size)
        return np.asarray(Z[(index + shift.astype(np.int64)) % size, width])

    def rotate_rows(draw: int) -> Reals:
        """Scores on principal axes, turned to random directions among all with their covariance."""
        G = random.normals(seed, f"null rotation {draw}", (size, len(scale)))
        return np.asarray(np.linalg.qr(G - G.mean(0))[0] * scale)

    with single_threaded_blas():
        scale = np.linalg.svd(Z, compute_uv=False)
        scale = scale[: size - 1][scale[: size - 1] > 1e-9 * scale[0]]
        found = _mean_log_distance(Z, n_anchors)

        def test(draw: Callable[[int], Reals]) -> NullTest:
            values = np.array([_mean_log_distance(draw(i), n_anchors) for i in range(n_draws)])
            p = (1 + int((values <= found).sum())) / (n_draws + 1)
            return NullTest(float(np.exp(found - values.mean())), p)

        return Structure(test(shift_columns), test(rotate_rows), are_components(X))


def are_components(X: Reals, least: int = 3, most: int = 100, tolerance: float = 1e-3) -> bool:
    """Are the columns principal components: uncorrelated, the largest variance first?

    The tolerance is that of numbers in a text file; `most` columns decide.
    """
    n, d = X.shape
    if d < least or n <= d:
        return False
    part = X[:, :most]
    Z = np.asarray(part.toarray() if hasattr(part, "toarray") else part, np.float64)
    Z = Z - Z.mean(0)
    variance = (Z * Z).mean(0)
    if not (variance > 0).all() or not (np.diff(variance) <= 0).all():
        return False
    Z /= np.sqrt(variance)
    R = Z.T @ Z / n
    np.fill_diagonal(R, 0)
    return bool(np.abs(R).max() < tolerance)


def _mean_log_distance(Z: Reals, anchors: int, k: int = 10, least: float = 1e-3) -> float:
    """Mean logarithm of the distance from some rows to their k-th neighbor.

    Distances below a thousandth of the spread count as that, since a duplicate has no logarithm.
    """
    squares = (Z * Z).sum(1)
    D = squares[:anchors, None] + squares - 2 * Z[:anchors] @ Z.T
    k = min(k, len(Z) // 10)
    nearest = np.partition(D, k, axis=1)[:, k]  # the row itself is the first
    return float(0.5 * np.log(np.maximum(nearest, least * least * squares.mean())).mean())


def compute_eigenvalues(A: Reals) -> Reals:
    """Eigenvalues of a positive semi-definite matrix, the largest first."""
    values: Reals = np.maximum(eigvalsh(A)[::-1], 0)
    return values


def analyze_parallel(X: Reals, repeats: int, seed: int) -> tuple[int, Reals, Reals]:
    """Parallel analysis: components above those of independently permuted columns (Horn, 1965).

    Permutation preserves the values of every column and removes correlation. Returns the number of
    leading eigenvalues above the 95th percentile of the permuted ones, and both as shares of the
    variance.
    """
    Z = X - X.mean(0)
    observed = _variance_shares(Z)
    permuted = np.empty((repeats, len(observed)))
    for r in range(repeats):
        order = random.bits(seed, f"shuffle {r}", np.arange(Z.size)).reshape(Z.shape).argsort(0)
        permuted[r] = _variance_shares(np.take_along_axis(Z, order, 0))
        progress.report("parallel analysis", r + 1, repeats)
    limit = np.quantile(permuted, 0.95, axis=0)
    return scree.count_leading(observed > limit), observed, limit


def _variance_shares(Z: Reals) -> Reals:
    values = compute_eigenvalues(Z.T @ Z if Z.shape[1] <= len(Z) else Z @ Z.T)
    return np.asarray(values / max(values.sum(), np.finfo(float).tiny))
