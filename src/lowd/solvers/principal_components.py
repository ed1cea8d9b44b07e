"""From principal axes to components: how many, their variances, the map and its inverse."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Float64, Moments, Rows
from ..core.estimator import Reducer
from ..core.fit import Context, Fit
from ..core.parameters import check_count
from ..errors import DataError, RankWarning, RestartWarning, ScaleWarning, warn
from ..maps.linear import AwaitingRows, LinearMap
from . import scree
from .canonical import canonical_basis
from .centered import count_real
from .centered_rows import standard_deviations
from .pca import Axes, axes_from_moments
from .thresholds import EQUAL_EIGENVALUES

# Share of the variance from which one column is the first axis, whatever the others do.
DOMINANT_COLUMN_SHARE = 0.99


class Standardization(NamedTuple):
    """How rows are centered and scaled, and how many axes are kept: parameters of PCA."""

    n_components: int | float | str | None
    center: bool
    scale: bool
    ddof: int
    whiten: bool
    column_names: NDArray[np.object_] | None = None

    @property
    def known_count(self) -> int | None:
        """The number of components if it is known before the spectrum."""
        k = self.n_components
        return int(k) if isinstance(k, int | np.integer) else None


class Table(NamedTuple):
    """The rows that axes are those of: what was subtracted and divided by, and their sizes."""

    mean: Float64
    units: Float64 | None  # of the columns
    n: float  # rows, or the sum of their weights
    max_components: int


def total_weight(w: Float64 | None, n: int, ddof: int) -> float:
    """The number of rows, or the sum of their weights, which must leave a degree of freedom."""
    total = float(n if w is None else w.sum())
    if w is not None and n > 1 and total <= ddof:
        raise DataError(
            f"sample_weight sums to {total:g}, but weights count rows; multiply them "
            f"by n_samples={n}, or set ddof=0."
        )
    return total


def average_rows(X: Rows, w: Float64 | None, ddof: int, ctx: Context) -> tuple[Float64, float, int]:
    """The mean of the rows, their total weight, and how many rows they count as."""
    n = X.shape[0]
    total = total_weight(w, n, ddof)
    known = ctx.statistics if w is None else None
    mean = (known or ctx.ops.column_statistics(X, w)).mean
    counted = n if w is None else int(max((w > 0).sum(), np.ceil(total)))
    return mean, total, counted


def choose_components(
    asked: int | float | str | None, values: Float64, total: float, most: int, n: float, d: int
) -> int:
    """The number of components: a count, a share of the variance, or a rule for the spectrum."""
    if asked is None:
        return most
    if isinstance(asked, int | np.integer):
        return int(asked)
    if total <= 0:
        return 1
    if isinstance(asked, str):
        return max(1, scree.choose_by_rule(asked, values, n, d))  # type: ignore[arg-type]
    return min(scree.count_for_variance(values, asked, total), most)


class Batch(NamedTuple):
    """A batch of `partial_fit`: the moments of all batches before it, if there are any."""

    so_far: Moments | None

    @classmethod
    def after(cls, model: Reducer) -> Batch:
        """The next batch of a model; a warning says if a `fit` of it is lost."""
        so_far: Moments | None = getattr(model, "moments_", None)
        if so_far is None and hasattr(model, "map_"):
            warn(
                "this PCA was fitted by fit, which keeps no moments to add to; partial_fit begins "
                "anew. Feed every batch to partial_fit to learn from all of them.",
                RestartWarning,
            )
        return cls(so_far)

    def add(self, new: Moments) -> Moments:
        """The moments of all batches, of which the last one has these."""
        return new if self.so_far is None else self.so_far.merge(new)


def fit_batches(moments: Moments, how: Standardization, ctx: Context) -> Fit:
    """Principal components of all batches, whose moments are kept to be continued from.

    While there are fewer rows than components, a map that waits for more.
    """
    needed = how.known_count or 1
    if moments.weight < needed <= len(moments.mean):
        waiting = AwaitingRows(moments.weight, needed)
        report = {"moments": moments, "n_components": needed, "n_samples": moments.weight}
        return Fit(None, waiting, report, inverse=waiting)
    return fit_moments(moments, how, ctx).with_report(moments=moments)


def fit_moments(moments: Moments, how: Standardization, ctx: Context) -> Fit:
    """Principal components from the mean and the scatter matrix of all rows."""
    n, d = moments.weight, len(moments.mean)
    most = int(min(np.ceil(n), d))
    check_count(how.known_count, most, f"n_samples={n:g}, n_features={d}")
    mean, scatter = moments.mean, moments.scatter
    if not how.center:
        mean, scatter = np.zeros(d), scatter + n * np.outer(mean, mean)
    units = None
    if how.scale:
        units = standard_deviations(np.diagonal(scatter), n, how.ddof)
        scatter = scatter / np.outer(units, units)
    standard = mean if units is None else mean / units
    axes = axes_from_moments(Moments(n, standard, scatter), how.known_count or most, ctx.dtype)
    return fit_components(axes, how, Table(mean, units, n, most), ctx)


def fit_components(axes: Axes, how: Standardization, table: Table, ctx: Context) -> Fit:
    """Variances, map and inverse from the eigenpairs of the scatter matrix."""
    mean, units, n, most = table
    asked, d = how.n_components, len(mean)
    rank = count_real(axes.values, axes.noise)
    values = np.where(np.arange(len(axes.values)) < rank, axes.values, 0)
    k = choose_components(asked, values, axes.total, most, n, d)
    if isinstance(asked, int | np.integer) and k > rank:
        warn(
            f"n_components={k}, but the data have rank {rank}; the other coordinates are 0.",
            RankWarning,
        )
    top = min(k, rank)
    precision = EQUAL_EIGENVALUES[ctx.dtype]
    V, groups = canonical_basis(values[:top], axes.vectors[:, :top], precision)
    if top < k:
        V = np.pad(V, ((0, 0), (0, k - top)))
    kept = np.zeros(k)
    kept[:top] = values[:top]
    freedom = max(n - how.ddof, 0)
    variance = kept / freedom if freedom else kept * 0
    scale = np.ones(d) if units is None else units
    unexplained = max(axes.total - kept.sum(), 0)
    ratio = kept / axes.total if axes.total > 0 else kept * 0
    report = {
        "n_components": k,
        "components": np.ascontiguousarray(V.T, ctx.dtype),
        "mean": mean,
        "scale": scale,
        "explained_variance": variance,
        "explained_variance_ratio": ratio,
        "singular_values": np.sqrt(kept),
        "scatter_eigenvalues": kept,
        "total_variance": axes.total / freedom if freedom else 0.0,
        "noise_variance": unexplained / (most - k) / freedom if most > k and freedom else 0.0,
        "rank": rank,
        "solver": axes.route,
        "residual": axes.residual,
        "degenerate_axes": groups,
        "n_samples": int(n) if float(n).is_integer() else n,
    }
    there, back = V, V.T
    if units is not None or how.whiten:
        spread = np.sqrt(variance) if how.whiten else np.ones(k)
        shrink = np.divide(1, spread, out=np.zeros(k), where=spread > 0)
        there, back = V / scale[:, None] * shrink, (V * scale[:, None] * spread).T
    forward = LinearMap(mean, np.ascontiguousarray(there, ctx.dtype))
    inverse = LinearMap(None, np.ascontiguousarray(back, ctx.dtype), mean)
    if not how.scale:
        _warn_of_dominant_column(V, ratio, how.column_names)
    return Fit(None, forward, report, inverse)


def _warn_of_dominant_column(
    V: Float64, ratios: Float64, names: NDArray[np.object_] | None
) -> None:
    """Warn if one column has nearly all of the variance: the first axis is that column."""
    if len(V) < 2 or not ratios.any():
        return
    share = V**2 @ ratios
    column = int(share.argmax())
    if share[column] > DOMINANT_COLUMN_SHARE:
        name = f"column {column}" if names is None else f"column {names[column]!r}"
        warn(
            f"{name} has {share[column]:.1%} of the variance, so the first axis is that column; "
            "if columns have different units, set scale=True.",
            ScaleWarning,
        )
