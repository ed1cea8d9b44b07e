"""What UMAP needs before its layout: the fuzzy graph of any input, with or without targets."""

from __future__ import annotations

from typing import Annotated, Self

import numpy as np
from numpy.typing import NDArray

from ..backends.protocol import to_csr
from ..core.declarations import Conflict, Ignored, unless, when
from ..core.estimator import reducer
from ..core.fit import Context
from ..core.graph_method import Neighborhoods
from ..core.parameters import check_count
from ..distances.order import order_points
from ..domains import AtLeast, advise_at_most
from ..errors import ParameterError
from ..input.arguments import Input, Output
from ..relations.fuzzy_sets import FuzzyPoints, FuzzySets
from ..relations.targets import Target, intersect_with_target, read_target
from .kl import Callback
from .layout import LayoutDescent, fit_curve
from .neighbor_embedding import NeighborEmbedding
from .thresholds import LAYOUT_EPOCHS

#: Neighbors of a row, of which it is itself the first.
NeighborsAndItself = Annotated[int, AtLeast(2)]


@reducer
class FuzzyMethod(NeighborEmbedding):
    """Base of UMAP: a fuzzy neighbor graph, whose points targets may draw together."""

    ignored = (
        Ignored(("min_dist", "spread"), "a and b are set", unless(a=None)),
        Ignored(("dens_frac", "dens_var_shift"), "dens_lambda=0", when(dens_lambda=0)),
    )
    conflicts = (
        Conflict(
            "a and b go together: set both, or neither and min_dist and spread.",
            lambda model: (model.a is None) != (model.b is None),
        ),
        Conflict(
            "min_dist exceeds spread, the unit in which similarities fall beyond it; lower min_dist"
            " or raise spread.",
            lambda model: model.min_dist > model.spread,
        ),
    )
    counts_itself = True

    def fit(
        self,
        X: Input,
        y: object = None,
        *,
        neighbors: object = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the map; with targets `y` it is supervised (see `target_metric`).

        `neighbors` and `callback` are as in TSNE.
        """
        self._learn(X, neighbors=neighbors, callback=callback, target=y)
        return self

    def fit_transform(
        self,
        X: Input,
        y: object = None,
        *,
        neighbors: object = None,
        callback: Callback | None = None,
    ) -> Output:
        """Learn the map, as `fit` does, and return the embedding of the training rows."""
        return self._learn(X, embed=True, neighbors=neighbors, callback=callback, target=y)

    def _fuzzy_points(
        self, near: Neighborhoods, y: Target | None, ctx: Context
    ) -> tuple[FuzzyPoints, NDArray[np.int64] | None]:
        """The fuzzy graph of the distinct rows, in the canonical order of the rows; landmarks.

        Rounding grows during the descent; in this order it grows alike however the rows come.
        """
        rows = np.arange(near.n_rows) if near.landmarks is None else near.landmarks
        y = None if y is None else y.take(rows)
        attached = [] if y is None else [y.values]
        if isinstance(self.init, np.ndarray) and len(self.init) > rows.max():
            attached.append(self.init[rows])
        order = order_points(near.base, [] if near.given is None else [near.given], attached)
        near = near.reorder(order)  # a given graph is not held in both orders
        points = self._points(near, ctx, self._count_neighbors)
        sets = FuzzySets.of(points, self.local_connectivity, self.set_op_mix_ratio)
        W, radii, scales = None, None, None
        if points.n_points > 1:
            W, scales = sets.among(ctx.ops)
            if y is not None:
                y = y.take(order).merge(points.point_of_row, points.n_points)
                W = intersect_with_target(
                    to_csr(W), y, self.target_weight, self.n_neighbors - 1, ctx.ops
                )
            radii = sets.log_radii(to_csr(W)) if self.dens_lambda else None
        found = FuzzyPoints.of(sets.freeze(scales), W, radii, points, order, rows)
        return found, near.landmarks

    def _count_neighbors(self, n: int) -> int:
        if n == 1:
            return 0
        if self.n_neighbors > n:
            raise ParameterError(
                f"n_neighbors={self.n_neighbors} counts the row itself, so it needs as many "
                f"distinct rows, but there are {n}; use {advise_at_most('n_neighbors', n)}."
            )
        others: int = self.n_neighbors - 1
        return others

    def _read_target(self, target: object, n: int) -> Target | None:
        check_count(self.n_components, n, f"n_samples={n}")
        return None if target is None else read_target(target, n, self.target_metric)

    def _descent(self) -> LayoutDescent:
        given = self.a is not None and self.b is not None
        a, b = (self.a, self.b) if given else fit_curve(self.min_dist, self.spread)
        return LayoutDescent(
            self.n_components,
            self.init,
            a,
            b,
            self.spread if self.a is None else 1.0,
            self.n_epochs or LAYOUT_EPOCHS,
            self.learning_rate,
            self.repulsion_strength * self.negative_sample_rate,
            self.dens_lambda,
            self.dens_frac,
            self.dens_var_shift,
        )
