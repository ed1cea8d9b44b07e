"""SNE and t-SNE: the embedding whose similarities have the least KL divergence from those given."""

from __future__ import annotations

from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..backends.protocol import Array, to_csr
from ..core.estimator import reducer
from ..core.fit import Context, Fit, PointGraph, order_by_rows
from ..core.graph_method import GraphMethod
from ..errors import RankWarning, warn
from ..input.arguments import Input, Output
from ..input.sample import Items
from ..maps.kl import NeighborMap
from ..relations.perplexity import Similarities
from .initialization import initialize_embedding
from .kl import Callback, descend, evaluate_embedding, plan_phases, warn_of_long_work


class Descent(NamedTuple):
    """How the KL divergence is minimized; fields as the parameters of t-SNE."""

    n_components: int
    kernel: str  # of the similarities in the embedding, as of `Backend.kl_objective`
    init: str | NDArray[Any]
    early_exaggeration: float
    exaggeration: float
    learning_rate: float | None  # None: n / exaggeration
    max_iter: int


@reducer
class NeighborEmbedding(GraphMethod):
    """Base of t-SNE and SNE: gradient descent, which a callback can follow.

    The neighbor graph need not be connected, and each point has as many neighbors as any other.
    """

    ignored_with_neighbors = ()
    includes_ties = False
    accepts_sparse_graph = True

    def fit(
        self,
        X: Input,
        y: object = None,  # noqa: ARG002 - scikit-learn's signature
        *,
        neighbors: object = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the map.

        `neighbors` is a neighbor graph of these rows (see `lowd.neighbors`).
        `callback(iteration, embedding)` is called every ten iterations: if it returns True the fit
        stops there and keeps that embedding; an exception that it raises cancels the fit, as
        Ctrl-C does, and the model is as before.
        """
        self._learn(X, neighbors=neighbors, callback=callback)
        return self

    def fit_transform(
        self,
        X: Input,
        y: object = None,  # noqa: ARG002
        *,
        neighbors: object = None,
        callback: Callback | None = None,
    ) -> Output:
        """Learn the map and return the embedding of the training rows."""
        return self._learn(X, embed=True, neighbors=neighbors, callback=callback)


def embed_similarities(
    similarities: Similarities,
    X: Items,
    how: Descent,
    ctx: Context,
    callback: Callback | None = None,
) -> Fit:
    """The embedding of the rows X by gradient descent, and the map that holds it fixed."""
    joint, relation, _, first_row, point_of_row = similarities
    k, kernel, m = how.n_components, how.kernel, len(first_row)
    report: dict[str, Any] = {"n_components": k, "n_distinct": m}
    report["distinct"] = point_of_row
    if joint is None:
        warn("all rows are equal, so the embedding is 0.", RankWarning)
        Y = np.zeros((1, k), ctx.dtype)
        return Fit(Y[point_of_row], NeighborMap(relation, Y, kernel, None), report)
    start, used = initialize_embedding(how.init, X, similarities, k, ctx)
    warn_of_long_work(kernel, k, m, how.max_iter)
    plan = ctx.ops.kl_objective(kernel).plan(joint.P)
    phases = plan_phases(
        m, how.early_exaggeration, how.exaggeration, how.learning_rate, how.max_iter
    )
    as_given = None if callback is None else order_by_rows(point_of_row)

    def show(step: int, Y: Array) -> object:
        progress.report_embedding(Y[point_of_row])
        return None if callback is None else callback(step, Y[as_given])

    is_followed = callback is not None or progress.is_watched()
    Y, found = descend(plan, start, phases, show if is_followed else None)
    Y = Y.astype(ctx.dtype)
    report |= found | evaluate_embedding(plan, joint, Y, kernel, ctx.seed)
    grid = plan.interpolation_grid(Y)
    del plan  # whose graph is as large as the one that is kept
    P = joint.P if joint.conditional is None else joint.conditional
    affinity = PointGraph(to_csr(P), point_of_row)
    report |= {"init_used": used, "affinity": affinity, "betas": joint.beta[point_of_row]}
    # With Gaussian tails a new point's own partition function leaves no room for exaggeration.
    exaggeration = float(how.exaggeration) if kernel == "student" else 1.0
    return Fit(Y[point_of_row], NeighborMap(relation, Y, kernel, grid, exaggeration), report)
