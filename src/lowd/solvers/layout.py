"""UMAP's embedding of a fuzzy graph: full-batch descent of the forces that its sampling expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from scipy.sparse.csgraph import connected_components

from .. import progress, random
from ..backends.protocol import (
    Array,
    Float64,
    Graph,
    InterpolationGrid,
    LayoutCurve,
    LayoutPlan,
    Terms,
    random_walk,
    to_csr,
)
from ..core.fit import Context, Fit, PointGraph, order_by_rows
from ..distances.metrics import Distances
from ..errors import RankWarning, warn
from ..graph.components import rank_by_size
from ..input.sample import Items
from ..maps.layout import LayoutMap
from ..relations.fuzzy_sets import FuzzyPoints, compute_log_radii
from ..values import frozen_copy
from .canonical import sign_flips
from .initialization import find_initial_scores, validate_init
from .kl import Callback, center
from .preimage import fit_barycentric_inverse
from .thresholds import (
    DIFFUSION_STEPS,
    FORCE_SAMPLE,
    INITIAL_JITTER,
    INITIAL_WIDTH,
    LAYOUT_RATE,
    MAX_SUMMED_POINTS,
    MIN_RELATIVE_STD,
    RAMP_SHARE,
    RAMP_START,
    REPULSION_WEIGHT,
    SOFTENING,
    STEPS_PER_ORTHOGONALIZATION,
    STEPS_PER_REPORT,
)


class LayoutDescent(NamedTuple):
    """How an embedding is found; fields as the parameters of UMAP."""

    n_components: int
    init: str | NDArray[Any]
    a: float
    b: float
    unit: float  # the length in which forces are computed: the spread
    n_epochs: int
    learning_rate: float
    repulsion: float  # negative samples per edge times their weight
    dens_lambda: float
    dens_frac: float
    dens_var_shift: float

    @property
    def curve(self) -> LayoutCurve:
        """Of distances in units, with repulsion softened at small ones."""
        return LayoutCurve(self.a * self.unit ** (2 * self.b), self.b, SOFTENING)

    @property
    def repulsion_weight(self) -> float:
        return REPULSION_WEIGHT * self.repulsion


def fit_curve(min_dist: float, spread: float) -> tuple[float, float]:
    """a and b: 1 / (1 + a d^2b) is nearest to 1 up to `min_dist`, then exp(-(d - min_dist)/spread).

    Least squares on 300 points up to three spreads, as in umap-learn.
    """
    from scipy.optimize import curve_fit  # 0.1 s to import

    d, near = np.linspace(0, 3, 300), min_dist / spread  # in spreads: the fit starts at a = b = 1
    wanted = np.where(d < near, 1.0, np.exp(near - d))

    def similarity(d: Float64, a: float, b: float) -> Float64:
        return np.asarray(1.0 / (1.0 + a * d ** (2 * b)))

    (a, b), _ = curve_fit(similarity, d, wanted)
    return float(a * spread ** (-2 * b)), float(b)


def embed_fuzzy_graph(
    points: FuzzyPoints, X: Items, how: LayoutDescent, ctx: Context, callback: Callback | None
) -> Fit:
    """The embedding of the rows X by descent, and the map that holds it fixed."""
    k, m, W, point_of_row = how.n_components, points.n_points, points.W, points.point_of_row
    report: dict[str, Any] = {"n_components": k, "n_distinct": m}
    report["distinct"] = point_of_row  # also without duplicates: points are in canonical order
    if W is None:
        warn("all rows are equal, so the embedding is 0.", RankWarning)
        Y = np.zeros((1, k), ctx.dtype)
        return Fit(Y[point_of_row], _build_map(points, Y, how, None, ctx), report)
    start, used = _start(points, X, how, ctx)
    radii = None if points.log_radii is None else _standardize(points.log_radii)
    plan = ctx.ops.layout_objective(how.curve).plan(W, ctx.seed, radii, how.dens_var_shift)
    as_given = None if callback is None else order_by_rows(point_of_row)

    def show(step: int, Y: Array) -> object:
        progress.report_embedding(how.unit * Y[point_of_row])
        return None if callback is None else callback(step, how.unit * Y[as_given])

    is_followed = callback is not None or progress.is_watched()
    Y, report["n_iter"] = descend_layout(plan, start, how, show if is_followed else None)
    Y = (how.unit * Y).astype(ctx.dtype)
    inside = Y.astype(np.float64) / how.unit
    # Of a symmetric graph the same as the weak ones, without a transpose of it.
    W = to_csr(W)
    components = rank_by_size(connected_components(W, connection="strong")[1])
    report |= evaluate_layout(plan, inside, how.repulsion_weight, ctx.seed)
    grid = plan.interpolation_grid(inside)
    del plan  # whose graph is as large as the one that is kept
    report |= {
        "init_used": used,
        "graph": PointGraph(W, point_of_row),
        "n_graph_components": int(components.max()) + 1,
        "graph_components": components[point_of_row],
    }
    if points.log_radii is not None:
        radii = _compute_radii(W, inside, how)
        report |= {"rad_orig": points.log_radii[point_of_row], "rad_emb": radii[point_of_row]}
    fit = Fit(Y[point_of_row], _build_map(points, Y, how, grid, ctx), report)
    return _add_inverse(fit, points, Y, X, ctx)


def descend_layout(
    plan: LayoutPlan,
    start: Float64,
    how: LayoutDescent,
    callback: Callable[[int, Array], object] | None,
) -> tuple[Float64, int]:
    """The centered embedding after all epochs, or when the callback asks to stop; and how many.

    The step size falls linearly to 0. Repulsion grows geometrically over the first epochs: at full
    strength from the start it tears clusters apart.
    """
    t = np.arange(how.n_epochs) / how.n_epochs
    rates = LAYOUT_RATE * how.learning_rate * (1 - t)
    repulsions = how.repulsion_weight * RAMP_START ** np.maximum(1 - t / RAMP_SHARE, 0)
    densities = None
    if how.dens_lambda:
        densities = np.where(t >= 1 - how.dens_frac, how.dens_lambda, 0.0)
    plan.start(start)
    done = 0
    while done < how.n_epochs:
        part = slice(done, min(done + STEPS_PER_REPORT, how.n_epochs))
        density = None if densities is None else densities[part]
        plan.advance(rates[part], repulsions[part], density)
        done = part.stop
        progress.report("descent", done, how.n_epochs)
        if callback is not None and callback(done, center(plan.embedding())) is True:
            break
    return center(plan.embedding()), done


def evaluate_layout(plan: LayoutPlan, Y: Float64, weight: float, seed: int) -> dict[str, Any]:
    """The objective, and the relative error of repulsive forces on a sample."""
    attractive, repulsive = plan.loss_terms(Y)
    report = {"loss": attractive + weight * repulsive, "force_error": 0.0}
    if plan.uses_interpolation(Y):
        some = random.subset(seed, "forces", len(Y), min(len(Y), FORCE_SAMPLE))
        exact = plan.repulsion_of(Y, some)
        gap = plan.forces(Y)[1][some] - exact
        report["force_error"] = float(np.sqrt((gap**2).sum() / (exact**2).sum()))
    return report


def _start(points: FuzzyPoints, X: Items, how: LayoutDescent, ctx: Context) -> tuple[Float64, str]:
    """Initial coordinates in units: smooth along the graph, or as given."""
    k, W, first = how.n_components, points.W, points.first_row
    if not isinstance(how.init, str):
        return validate_init(how.init, k, first, X) / how.unit, "given"
    assert W is not None
    if how.init == "random":
        drawn = random.uniforms(ctx.seed, "start", np.arange(len(first) * k))
        return INITIAL_WIDTH * drawn.reshape(-1, k), "random"
    scores, used = find_initial_scores(how.init, X, W, points.base, first, k, ctx)
    Y = _fill_columns(scores, k, ctx)
    if used != "spectral":
        Y = diffuse(W, Y, ctx)
    width = Y.max(0) - Y.min(0)
    Y = (Y - Y.min(0)) * (INITIAL_WIDTH / np.where(width > 0, width, 1))
    return Y + INITIAL_JITTER * random.normals(ctx.seed, "jitter", Y.shape), used


def _fill_columns(scores: Array, k: int, ctx: Context) -> Float64:
    """k columns of deviation 1 with canonical signs; those that the data do not have are random."""
    spread = scores.std(0, dtype=np.float64)
    real = np.flatnonzero(spread > MIN_RELATIVE_STD * spread.max(initial=0))
    Y = np.empty((len(scores), k))
    if len(real) < k:
        Y[:] = random.normals(ctx.seed, "start", Y.shape)
    if len(real):
        held = scores[:, real].astype(np.float64)
        Y[:, real] = (held - held.mean(0)) * (sign_flips(held) / spread[real])
    return Y


def diffuse(W: Graph, Y: Float64, ctx: Context) -> Float64:
    """Coordinates after some lazy steps of the random walk, (I + P) / 2, kept orthogonal.

    Power iterations toward the spectral embedding, which stop while the start still shows.
    """
    walk, degrees = random_walk(W)
    P, stationary = ctx.ops.matrix_plan(walk), degrees / degrees.sum()
    for _ in range(DIFFUSION_STEPS // STEPS_PER_ORTHOGONALIZATION):
        held = P.hold(Y)
        for _ in range(STEPS_PER_ORTHOGONALIZATION):
            held = P.matmul(held, Terms(alpha=0.5, beta=0.5))
        Y = P.fetch(held)
        Y = _orthogonalize(Y - stationary @ Y, stationary)
    return Y


def _orthogonalize(Y: Float64, stationary: Float64) -> Float64:
    """Gram-Schmidt with weights; a column that others explain keeps its rounding only."""
    Y = Y.copy()
    for c in range(Y.shape[1]):
        for earlier in Y.T[:c]:
            Y[:, c] -= (stationary * earlier) @ Y[:, c] * earlier
        length = np.sqrt(stationary @ Y[:, c] ** 2)
        Y[:, c] /= length if length > 0 else 1
    return Y


def _build_map(
    points: FuzzyPoints, Y: Array, how: LayoutDescent, grid: InterpolationGrid | None, ctx: Context
) -> LayoutMap:
    """The map of new points, which repel all training points, or a sample of them."""
    m, sample = points.n_points, None
    if grid is None and m > MAX_SUMMED_POINTS:
        sample = random.subset(ctx.seed, "repulsion", m, MAX_SUMMED_POINTS)
    weight = how.repulsion_weight
    return LayoutMap(points.relation, Y, how.unit, *how.curve, weight, grid, sample)


def _add_inverse(fit: Fit, points: FuzzyPoints, Y: Array, X: Items, ctx: Context) -> Fit:
    """The fit with the barycentric inverse, where the points are dense rows."""
    base = points.base
    if not isinstance(base, Distances) or issparse(X):
        return fit
    rows = base.X if base.preparation == "as they are" else frozen_copy(X[points.first_row])
    inverse, error = fit_barycentric_inverse(rows, Y, 2 * Y.shape[1] + 2, ctx)
    return fit._replace(inverse=inverse).with_report(reconstruction_error=error)


def _standardize(radii: Float64) -> Float64:
    std = radii.std()
    return np.asarray((radii - radii.mean()) / (std if std > 0 else 1))


def _compute_radii(W: csr_array, Y: Float64, how: LayoutDescent) -> Float64:
    """densMAP's local radii in the embedding."""
    rows = np.repeat(np.arange(len(Y)), np.diff(W.indptr))
    s = ((Y[rows] - Y[W.indices]) ** 2).sum(1)
    phi = 1 / (1 + how.curve.a * s**how.curve.b)
    return compute_log_radii(rows, phi, s * how.unit**2, len(Y))
