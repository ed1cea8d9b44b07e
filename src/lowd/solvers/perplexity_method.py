"""What t-SNE and SNE share: neighbor probabilities of any input, of a given perplexity."""

from __future__ import annotations

import numpy as np

from ..core.declarations import Conflict, Ignored, unless, when
from ..core.estimator import reducer
from ..core.fit import Context
from ..core.parameters import read_positive
from ..distances.order import order_points
from ..graph.duplicates import DistinctPoints
from ..input.row_order import order_rows
from ..input.validation import Data
from ..relations.perplexity import PerplexityProbabilities as Probabilities
from ..relations.perplexity import PrecomputedProbabilities, Similarities
from ..relations.perplexity_neighbors import count_needed_neighbors
from .neighbor_embedding import NeighborEmbedding


@reducer
class PerplexityMethod(NeighborEmbedding):
    """Base of t-SNE and SNE: neighbor probabilities by perplexity, uniform or precomputed."""

    ignored = (
        Ignored(
            ("perplexity",), "affinity={model.affinity!r} has none", unless(affinity="perplexity")
        ),
        Ignored(("n_neighbors",), "the perplexity determines it", when(affinity="perplexity")),
        Ignored(
            ("n_neighbors", "metric", "metric_params"),
            "affinity='precomputed' holds the neighbors",
            when(affinity="precomputed"),
        ),
    )
    conflicts = (
        Conflict(
            "affinity='uniform' needs n_neighbors; 15 is a good start.",
            when(affinity="uniform", n_neighbors=None),
        ),
    )

    def _kernel(self) -> str:
        """The kernel of the similarities in the embedding, as of `Backend.kl_objective`."""
        raise NotImplementedError

    def _similarities(self, data: Data, ctx: Context, neighbors: object) -> Similarities:
        """Joint probabilities p_ij of the distinct rows, in the canonical order of the rows.

        Rounding grows during the descent; in this order it grows alike however the rows come.
        """
        n = data.shape[0]
        start = [self.init] if isinstance(self.init, np.ndarray) and len(self.init) == n else []
        perplexities, per_row = self._perplexities(), self._kernel() == "rows"
        if self._kind() == "affinity":
            self._refuse_neighbors(neighbors)
            order = order_rows(square=[data.items], attached=start)
            affinities = PrecomputedProbabilities.of(data.items, order, per_row)
            return Similarities.of(affinities, DistinctPoints.unmerged(n), order, ctx.ops)
        near = self._neighborhoods(data, ctx, neighbors)
        order = order_points(near.base, [] if near.given is None else [near.given], start)
        near = near.reorder(order)
        points = self._points(near, ctx, self._count_neighbors)
        given = near.given is not None
        k = self.n_neighbors
        P = Probabilities.of(points, perplexities, k, per_row, is_given=given)
        return Similarities.of(P, points, order, ctx.ops)

    def _count_neighbors(self, n: int) -> int:
        return count_needed_neighbors(n, self._perplexities(), self.n_neighbors)

    def _perplexities(self) -> tuple[float, ...]:
        """As numbers; none where the affinities are not those of a perplexity."""
        return read_positive(self, "perplexity") if self.affinity == "perplexity" else ()
