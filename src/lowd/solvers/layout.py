"""UMAP's embedding of a fuzzy graph: full-batch descent of the forces that its sampling expects."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from .. import progress, random
from ..backends.protocol import Array, Float64, LayoutCurve, LayoutPlan
from ..core.fit import Context, Fit
from ..distances.protocol import DistanceRelation
from ..errors import RankWarning, warn
from ..graph.components import rank_by_size
from ..input.sample import Items
from ..maps.layout import LayoutMap
from ..relations.fuzzy_sets import FuzzySets, compute_log_radii
from .canonical import sign_flips
from .initialization import find_initial_scores, validate_init
from .kl import Callback, center
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
    unit: float  # the length in which forces are computed: the spread
    curve: LayoutCurve  # in that unit
    n_epochs: int
    learning_rate: float
    repulsion: float  # negative samples per edge times their weight
    dens_lambda: float
    dens_frac: float
    dens_var_shift: float


class GraphPoints(NamedTuple):
    """The points of a fuzzy graph, and where they come from."""

    relation: FuzzySets  # frozen
    base: DistanceRelation
    first_row: NDArray[np.int64]
    point_of_row: NDArray[np.int64]
    W: csr_array | None  # None of a single point
    log_radii: Float64 | None  # of densMAP


def fit_curve(min_dist: float, spread: float) -> tuple[float, float]:
    """a and b: 1 / (1 + a d^2b) is nearest to 1 up to `min_dist`, then exp(-(d - min_dist)/spread).

    Least squares on 300 points up to three spreads, as in umap-learn.
    """
    from scipy.optimize import curve_fit  # 0.1 s to import

    d = np.linspace(0, 3 * spread, 300)
    wanted = np.where(d < min_dist, 1.0, np.exp(-(d - min_dist) / spread))

    def similarity(d: Float64, a: float, b: float) -> Float64:
        return np.asarray(1.0 / (1.0 + a * d ** (2 * b)))

    (a, b), _ = curve_fit(similarity, d, wanted)
    return float(a), float(b)


def soften(a: float, b: float, unit: float) -> LayoutCurve:
    """The curve in units of a length, with repulsion softened at small distances."""
    return LayoutCurve(a * unit ** (2 * b), b, SOFTENING)


def embed_fuzzy_graph(
    points: GraphPoints, X: Items, how: LayoutDescent, ctx: Context, callback: Callback | None
) -> Fit:
    """The embedding of the rows X by descent, and the map that holds it fixed."""
    k, m, W = how.n_components, len(points.first_row), points.W
    report: dict[str, Any] = {"n_components": k, "n_distinct": m}
    report["distinct"] = points.point_of_row
    curve, weight = how.curve, REPULSION_WEIGHT * how.repulsion
    given = points.relation, how.unit, *curve, weight
    if W is None:
        warn("all rows are equal, so the embedding is 0.", RankWarning)
        Y = np.zeros((1, k), ctx.dtype)
        return Fit(Y[points.point_of_row], _map(Y, given, None, None), report)
    start, used = _start(points, X, how, ctx)
    radii = None if points.log_radii is None else _standardize(points.log_radii)
    plan = ctx.ops.layout_plan(W, curve, ctx.seed, radii, how.dens_var_shift)
    as_given = np.argsort(np.unique(points.point_of_row, return_index=True)[1])
    show = None if callback is None else lambda step, Y: callback(step, how.unit * Y[as_given])
    Y, n_iter = descend_layout(plan, start, how, weight, show)
    Y = (how.unit * Y).astype(ctx.dtype)
    inside = Y.astype(np.float64) / how.unit
    report |= {"n_iter": n_iter, "init_used": used}
    report |= evaluate_layout(plan, inside, weight, ctx.seed)
    components = rank_by_size(connected_components(W, directed=False)[1])
    report |= {
        "graph": csr_array(W[as_given][:, as_given]),
        "n_graph_components": int(components.max()) + 1,
        "graph_components": components[points.point_of_row],
    }
    if points.log_radii is not None:
        report |= _report_radii(points, W, inside, how)
    grid = plan.interpolation_grid(inside)
    summed = grid is not None or m <= MAX_SUMMED_POINTS
    sample = None if summed else random.subset(ctx.seed, "repulsion", m, MAX_SUMMED_POINTS)
    return Fit(Y[points.point_of_row], _map(Y, given, grid, sample), report)


def descend_layout(
    plan: LayoutPlan,
    start: Float64,
    how: LayoutDescent,
    weight: float,
    callback: Callable[[int, Array], object] | None,
) -> tuple[Float64, int]:
    """The centered embedding after all epochs, or when the callback asks to stop; and how many.

    The step size falls linearly to 0. Repulsion grows geometrically over the first epochs: at full
    strength from the start it tears clusters apart.
    """
    t = np.arange(how.n_epochs) / how.n_epochs
    rates = LAYOUT_RATE * how.learning_rate * (1 - t)
    repulsions = weight * RAMP_START ** np.maximum(1 - t / RAMP_SHARE, 0)
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


def _start(points: GraphPoints, X: Items, how: LayoutDescent, ctx: Context) -> tuple[Float64, str]:
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
    Y = random.normals(ctx.seed, "start", (len(scores), k))
    spread = scores.std(0, dtype=np.float64)
    real = np.flatnonzero(spread > MIN_RELATIVE_STD * spread.max(initial=0))
    if len(real):
        held = scores[:, real].astype(np.float64)
        Y[:, real] = (held - held.mean(0)) * (sign_flips(held) / spread[real])
    return Y


def diffuse(W: csr_array, Y: Float64, ctx: Context) -> Float64:
    """Coordinates after some lazy steps of the random walk, (I + P) / 2, kept orthogonal.

    Power iterations toward the spectral embedding, which stop while the start still shows.
    """
    degrees = np.bincount(np.repeat(np.arange(len(Y)), np.diff(W.indptr)), W.data, len(Y))
    walk = W.data / np.repeat(np.where(degrees > 0, degrees, 1), np.diff(W.indptr))
    P = csr_array((walk, W.indices, W.indptr), W.shape)
    mass = degrees / degrees.sum()
    for step in range(1, DIFFUSION_STEPS + 1):
        Y = ctx.ops.matmul(P, Y, alpha=0.5, beta=0.5)
        if step % STEPS_PER_ORTHOGONALIZATION == 0:
            Y = _orthogonalize(Y - mass @ Y, mass)
    return Y


def _orthogonalize(Y: Float64, mass: Float64) -> Float64:
    """Gram-Schmidt with weights; a column that others explain keeps its rounding only."""
    Y = Y.copy()
    for c in range(Y.shape[1]):
        for earlier in Y.T[:c]:
            Y[:, c] -= (mass * earlier) @ Y[:, c] * earlier
        length = np.sqrt(mass @ Y[:, c] ** 2)
        Y[:, c] /= length if length > 0 else 1
    return Y


def _map(
    Y: Array, given: tuple[Any, ...], grid: Any, sample: NDArray[np.int64] | None
) -> LayoutMap:
    relation, unit, a, b, softening, weight = given
    return LayoutMap(relation, Y, unit, a, b, softening, weight, grid, sample)


def _standardize(radii: Float64) -> Float64:
    std = radii.std()
    return np.asarray((radii - radii.mean()) / (std if std > 0 else 1))


def _report_radii(
    points: GraphPoints, W: csr_array, Y: Float64, how: LayoutDescent
) -> dict[str, Any]:
    """densMAP's local radii in the data and in the embedding, of each row."""
    rows = np.repeat(np.arange(len(Y)), np.diff(W.indptr))
    s = ((Y[rows] - Y[W.indices]) ** 2).sum(1)
    phi = 1 / (1 + how.curve.a * s**how.curve.b)
    r = compute_log_radii(rows, phi, s * how.unit**2, len(Y))
    assert points.log_radii is not None
    of_row = points.point_of_row
    return {"rad_orig": points.log_radii[of_row], "rad_emb": r[of_row]}
