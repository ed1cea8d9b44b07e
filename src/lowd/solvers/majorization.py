"""Embeddings of least stress: SMACOF from several starts, and the map that holds the best one."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import Float64, Ties
from ..core.fit import Context, Fit
from ..distances.nearest import group_duplicates_in_matrix
from ..distances.protocol import DistanceRelation
from ..maps.stress import StressMap
from .initialization import initial_configurations
from .smacof import run_smacof
from .stress import check_connected, gower_projection, pair_weights, report_stress


class Majorization(NamedTuple):
    """How the stress is minimized; fields as the parameters of MDS, and of nonmetric MDS."""

    n_components: int
    init: Float64 | str
    n_init: int
    max_iter: int
    eps: float
    weights: Float64 | str | None
    ties: Ties | None  # None: the disparities are the dissimilarities


def minimize_stress(
    base: DistanceRelation, rows: NDArray[np.int64], how: Majorization, ctx: Context
) -> Fit:
    """The embedding of the points of `base`, which are these rows of the data, in their order."""
    D, k = base.among(ctx.ops), how.n_components
    W = pair_weights(how.weights, D, rows)
    if W is not None:
        check_connected(W, rows)
    plan = ctx.ops.stress_objective(how.ties).plan(D, W)
    starts = initial_configurations(how.init, how.n_init, D, k, rows, ctx)
    path = run_smacof(plan, W, len(D), starts, how.max_iter, how.eps)
    Y = path.Y.astype(ctx.dtype).astype(np.float64)  # as it is returned
    point_of_row = group_duplicates_in_matrix(D)
    Y = Y if point_of_row is None else Y[point_of_row]  # duplicates coincide to the last bit
    curve = plan.disparities(Y)
    sammon = isinstance(how.weights, str)
    extension = *gower_projection(Y), curve, sammon, how.max_iter, point_of_row
    report = report_stress(plan.step(Y), path, curve, how.ties is not None)
    return Fit(Y, StressMap(base.freeze(), Y, *extension), report)
