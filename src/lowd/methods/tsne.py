"""t-SNE (van der Maaten and Hinton, 2008)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array, issparse

from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import GraphMethod
from ..core.parameters import Count, Metric, Positive, Seed, accepts, refuse_unused
from ..distances.metrics import data_kind, distances_of
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import LongWorkWarning, ParameterError, RankWarning, UnsupportedError, warn
from ..graph.given import NeighborGraph, select_listed
from ..input.validation import Data
from ..maps.kl import NeighborMap
from ..relations.perplexity import (
    PerplexityProbabilities,
    PrecomputedProbabilities,
    ProbabilityRelation,
)
from ..relations.perplexity_graph import (
    MAX_FULL_POINTS,
    NEIGHBORS_PER_PERPLEXITY,
    PerplexityGraph,
    find_perplexity_neighbors,
)
from ..solvers.centered import check_count
from ..solvers.initialization import start_of
from ..solvers.kl import Callback, descend, judged, phases

# Seconds of one core for a pair of points, in a step over all of them; beyond LONG we warn.
PAIR, LONG = {"student": 0.7e-9, "gauss": 1.5e-9, "rows": 3e-9}, 600.0


@reducer
class TSNE(GraphMethod):
    """Each point keeps its neighbors; the rest may drift apart.

    Use it to see clusters and their neighborhoods: who is near whom is kept, while sizes of
    clusters and distances between them mean little. For a sheet that is to be unrolled take Isomap
    or LTSA; for distances that count take PCA or MDS.

    Cost: finding 3 · perplexity neighbors, then n per step in up to three dimensions; n² per step
    with few rows and in more dimensions. New rows descend among the training rows, which stay;
    row by row. A training row returns to its own place.

    Parameters
    ----------
    n_components
        Dimensions of the map.
    perplexity
        About how many neighbors a row has. A list of several keeps near and far ones: their
        affinities are averaged.
    affinity
        "perplexity"; "uniform": a row's `n_neighbors` nearest count alike; or "precomputed": `fit`
        takes the square matrix of affinities (dense or sparse), `transform` those from new to
        training rows.
    n_neighbors
        For affinity="uniform" only, where it must be set.
    early_exaggeration
        So many times the attraction, for the first 250 steps (at most half of them all).
    exaggeration
        The same for the steps that follow; about 4 shows whole clusters of large data.
    learning_rate
        "auto" is n / exaggeration in each phase, for forces without the gradient's factor 4; it is
        4 times scikit-learn's `learning_rate`.
    max_iter
        Steps in all. The descent ends before if nothing moves any more.
    init
        "pca" (of distances without rows: classical scaling), "spectral", "random", each 1e-4 wide;
        or an array of places, taken as it is.
    metric, metric_params
        As in ClassicalMDS: a name, a callable, or "precomputed": a square matrix of distances, or
        the sparse graph of a KNeighborsTransformer.
    random_state
        Seed of a random start. None is 0.

    Attributes
    ----------
    embedding_
    kl_divergence_ : of the affinities from those of the map, in nats, over all pairs; comparable
        for the same data and perplexity only
    n_iter_, converged_ : steps, and whether the points came to rest
    learning_rate_, early_learning_rate_, init_used_ : as used
    affinity_, betas_ : symmetric affinities of the distinct rows, and 1/2σ² of each row
    force_error_ : of the repulsion, relative, root mean square over a sample; 0 if it is exact
    n_distinct_ : rows that are not copies of others

    References
    ----------
    van der Maaten and Hinton (2008), JMLR 9; Linderman et al. (2019), Nature Methods 16;
    Belkina et al. (2019) and Kobak and Berens (2019), Nature Communications 10; Böhm, Berens and
    Kobak (2022), JMLR 23.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)) + 9 * np.repeat([0, 1, 2], 20)[:, None]
    >>> model = lowd.TSNE(perplexity=5).fit(X)
    >>> model.embedding_.shape
    (60, 2)
    >>> new = model.transform(X[:20].mean(0)[None])
    >>> bool(np.abs(new - model.embedding_[:20].mean(0)).max() < 20)
    True
    """

    n_components: Count = 2
    perplexity: Positive | list[Any] | tuple[Any, ...] = 30.0
    affinity: Literal["perplexity", "uniform", "precomputed"] = "perplexity"
    n_neighbors: Count | None = None
    early_exaggeration: Positive = 12.0
    exaggeration: Positive = 1.0
    learning_rate: Positive | Literal["auto"] = "auto"
    max_iter: Count = 750
    init: Literal["pca", "spectral", "random"] | np.ndarray = "pca"
    metric: Metric = "euclidean"
    metric_params: dict[str, Any] | None = None
    random_state: Seed = None

    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's signature
        *,
        neighbors: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the map.

        `neighbors` is a ready graph of these rows (see `lowd.neighbors`). `callback(step, places)`
        is called every ten steps; an exception that it raises cancels the fit.
        """
        self._learn(X, neighbors=neighbors, callback=callback)
        return self

    def fit_transform(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002
        *,
        neighbors: Any = None,
        callback: Callback | None = None,
    ) -> Any:
        """Learn the map and return the training rows' places."""
        return self._learn(X, embed=True, neighbors=neighbors, callback=callback)

    def _fit(
        self, data: Data, ctx: Context, neighbors: Any = None, callback: Callback | None = None
    ) -> Fit:
        X, n = data.items, data.shape[0]
        check_count(self.n_components, n, f"n_samples={n}")
        perplexities = self._perplexities()
        per_row = self._kernel() == "rows"
        relation: ProbabilityRelation
        if self.affinity == "precomputed":
            base: DistanceRelation = NeighborListDistances(n)
            first = place = np.arange(n)
            relation = PrecomputedProbabilities.of(X, per_row)
        else:
            base, edges, first, place, k = self._points(data, ctx, neighbors, perplexities)
            relation = PerplexityProbabilities(base, perplexities, k, edges, per_row)
            del edges
        joint = relation.among(ctx.ops) if len(first) > 1 else None
        relation = relation.freeze()  # the edges of a million rows are gigabytes
        report: dict[str, Any] = {"n_components": self.n_components, "n_distinct": len(first)}
        if len(first) < n:
            report["distinct"] = place
        if joint is None:
            warn("all rows are one point, so there is nothing to see: it is at 0.", RankWarning)
            Y = np.zeros((1, self.n_components), ctx.dtype)
            return Fit(Y[place], NeighborMap(relation, Y, self._kernel(), None), report)
        start, used = start_of(self.init, X, base, joint.P, self.n_components, first, ctx)
        self._warn_of_pairs(len(first))
        forces = ctx.ops.kl_plan(joint.P, self._kernel())
        rate = None if self.learning_rate == "auto" else self.learning_rate
        plan = phases(len(first), self.early_exaggeration, self.exaggeration, rate, self.max_iter)
        Y, found = descend(forces, start, plan, callback)
        Y = Y.astype(ctx.dtype)
        report |= found | judged(forces, joint, Y, self._kernel(), ctx.seed)
        report |= {"init_used": used, "affinity": joint.P, "betas": joint.beta[place]}
        # With thin tails a new row's own normalizer leaves no room for exaggeration.
        pull = float(self.exaggeration) if self._kernel() == "student" else 1.0
        where = NeighborMap(relation, Y, self._kernel(), forces.interpolation_grid(Y), pull)
        return Fit(Y[place], where, report)

    @property
    def affinity_(self) -> csr_array:
        """In the order of columns, which the descent does not need: sorted when first asked for.

        Unsorted it could not be summed: SciPy sorts in place, and what was learned is read-only.
        """
        P = self.__dict__.get("affinity_")
        if P is None:
            raise AttributeError("affinity_ is there after a fit of two distinct rows or more.")
        if not P.has_sorted_indices:
            self.affinity_ = P = P.sorted_indices()
            P.data.setflags(write=False)
        return P

    @affinity_.setter
    def affinity_(self, learned: csr_array) -> None:
        self.__dict__["affinity_"] = learned

    @affinity_.deleter
    def affinity_(self) -> None:
        del self.__dict__["affinity_"]

    def _kernel(self) -> str:
        return "student"

    def _warn_of_pairs(self, n: int) -> None:
        """Only the heavy tails of up to three dimensions have a mesh; all else is n² per step."""
        kernel, pairs = self._kernel(), float(n) * n * self.max_iter
        seconds = pairs * PAIR[kernel]
        if seconds < LONG or (kernel == "student" and self.n_components <= 3):
            return
        why = "SNE" if kernel != "student" else f"n_components={self.n_components}"
        warn(
            f"{why} pushes all pairs of {n} rows in every step, {pairs:.0e} in all: about "
            f"{seconds / 60:.0f} minutes of one core. Fit a sample (X[::10]) and transform "
            "the rest, lower max_iter, or take TSNE with up to three dimensions, which has a mesh.",
            LongWorkWarning,
        )

    def _points(
        self, data: Data, ctx: Context, neighbors: Any, perplexities: tuple[float, ...]
    ) -> PerplexityGraph:
        """The distinct rows and their neighbors, found or given."""
        X, n, k = data.items, data.shape[0], self.n_neighbors
        if issparse(X) and self.metric == "precomputed":
            if neighbors is not None:
                raise UnsupportedError("a sparse precomputed graph is the graph of neighbors.")
            ready = NeighborGraph.of(X).edges()
            ready = select_listed(ready, k, None) if k else ready
            return find_perplexity_neighbors(
                NeighborListDistances(n), perplexities, k, ctx.ops, ready
            )
        base = distances_of(data, self.metric, self.metric_params)
        if neighbors is None:
            return find_perplexity_neighbors(base, perplexities, k, ctx.ops, None)
        ready = NeighborGraph.of(neighbors, n).edges()
        ready = select_listed(ready, k, None) if k else ready
        return find_perplexity_neighbors(base, perplexities, k, ctx.ops, ready)

    def _perplexities(self) -> tuple[float, ...]:
        """As numbers, or none; parameters that this affinity does not use are refused."""
        if self.affinity != "perplexity":
            refuse_unused(self, ["perplexity"], f"affinity={self.affinity!r} has none")
            if self.affinity == "precomputed":
                why = "affinity='precomputed' says who is a neighbor"
                refuse_unused(self, ["n_neighbors", "metric", "metric_params"], why)
            elif self.n_neighbors is None:
                raise ParameterError("affinity='uniform' needs n_neighbors; 15 is a good start.")
            return ()
        refuse_unused(self, ["n_neighbors"], "the perplexity says how many neighbors count")
        given = self.perplexity if isinstance(self.perplexity, list | tuple) else [self.perplexity]
        if not given or not all(accepts(Positive, one) for one in given):
            raise ParameterError(
                f"{type(self).__name__}(perplexity={self.perplexity!r}): expected numbers > 0."
            )
        return tuple(float(one) for one in given)

    accepts_sparse_graph = True

    def _memory(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        most = max(self._perplexities(), default=self.n_neighbors or 30)
        k = (
            n
            if n <= MAX_FULL_POINTS
            else min(n, self.n_neighbors or int(NEIGHBORS_PER_PERPLEXITY * most) + 1)
        )
        given = "precomputed" in (self.metric, self.affinity)
        by_index = data_kind(self.metric) == "rows"
        in_space = self.n_components == 3 and self._kernel() == "student"
        return {
            "rows": 0 if given else 3 * n * d * 8,
            "neighbors": n * k * 20 + (0 if by_index else 3 * min(2**23, n * n) * 8),
            "affinities": n * k * 60,
            "map": 20 * n * self.n_components * 8,
            "mesh": min(1500 * n, 340_000_000) if in_space else 0,
        }
