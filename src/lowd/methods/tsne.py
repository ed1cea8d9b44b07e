"""t-SNE (van der Maaten and Hinton, 2008)."""

from __future__ import annotations

from typing import Any, Literal, Self

import numpy as np
from scipy.sparse import csr_array

from ..core.declarations import Conflict, Ignored
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.graph_method import GraphMethod
from ..core.parameters import Count, Metric, Positive, Seed, accepts, check_count
from ..distances.precomputed import NeighborListDistances
from ..distances.protocol import DistanceRelation
from ..errors import ParameterError, RankWarning, warn
from ..graph.given import select_listed
from ..input.validation import Data
from ..maps.kl import NeighborMap
from ..relations.perplexity import (
    PerplexityProbabilities,
    PrecomputedProbabilities,
    ProbabilityRelation,
)
from ..relations.perplexity_graph import (
    find_perplexity_neighbors,
)
from ..solvers.initialization import initialize_embedding
from ..solvers.kl import Callback, descend, evaluate_embedding, plan_phases, warn_of_long_work
from ..solvers.memory_plans import plan_tsne


@reducer
class TSNE(GraphMethod):
    """t-SNE: t-distributed stochastic neighbor embedding.

    Use it to see clusters and their neighborhoods: it preserves local neighborhoods, while sizes of
    clusters and distances between them are not meaningful. To unroll a manifold take Isomap or
    LTSA; where distances count take PCA or MDS.

    Cost: 3 · perplexity nearest neighbors, then n operations per iteration in up to three
    dimensions (particle mesh); n² per iteration with few rows and in more dimensions. New points
    are optimized with the training embedding held fixed, row by row; a training point returns to
    its own coordinates.

    Parameters
    ----------
    n_components
        Dimension of the embedding.
    perplexity
        Effective number of neighbors. A list of several preserves near and far ones: their
        conditional probabilities are averaged.
    affinity
        "perplexity"; "uniform": equal weights of the `n_neighbors` nearest; or "precomputed": `fit`
        takes the square matrix of affinities (dense or sparse), `transform` those from new to
        training points.
    n_neighbors
        For affinity="uniform" only, where it must be set.
    early_exaggeration
        Factor of the attractive forces in the first 250 iterations (at most half of all).
    exaggeration
        The same for the iterations that follow; about 4 shows whole clusters of large data.
    learning_rate
        "auto" is n / exaggeration in each phase, for forces without the gradient's factor 4; it is
        4 times scikit-learn's `learning_rate`.
    max_iter
        Iterations in all. The descent ends before if nothing moves any more.
    init
        "pca" (of distances without rows: classical MDS), "spectral", "random", each with standard
        deviation 1e-4; or an array of coordinates, taken as it is.
    metric, metric_params
        As in ClassicalMDS: a name, a callable, or "precomputed": a square matrix of distances, or
        the sparse graph of a KNeighborsTransformer.
    random_state
        Seed of a random start. None is 0.

    Attributes
    ----------
    embedding_
    kl_divergence_ : KL divergence of the joint probabilities, in nats, over all pairs; comparable
        for the same data and perplexity only
    n_iter_, converged_ : iterations, and whether the points had stopped moving
    learning_rate_, early_learning_rate_, init_used_ : as used
    affinity_, betas_ : joint probabilities of the distinct rows, and 1/2σ² of each row
    force_error_ : of the repulsive forces, relative, root mean square over a sample; 0 if exact
    n_distinct_ : rows that are not duplicates

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

    ignored = (
        Ignored(
            ("perplexity",),
            "affinity={model.affinity!r} has none",
            lambda model: model.affinity != "perplexity",
        ),
        Ignored(
            ("n_neighbors",),
            "the perplexity determines the number of neighbors",
            lambda model: model.affinity == "perplexity",
        ),
        Ignored(
            ("n_neighbors", "metric", "metric_params"),
            "affinity='precomputed' holds the neighbors",
            lambda model: model.affinity == "precomputed",
        ),
    )
    conflicts = (
        Conflict(
            "affinity='uniform' needs n_neighbors; 15 is a good start.",
            lambda model: model.affinity == "uniform" and model.n_neighbors is None,
        ),
    )
    ignored_with_neighbors = ()
    accepts_sparse_graph = True
    memory_plan = plan_tsne

    def fit(
        self,
        X: Any,
        y: Any = None,  # noqa: ARG002 - scikit-learn's signature
        *,
        neighbors: Any = None,
        callback: Callback | None = None,
    ) -> Self:
        """Learn the map.

        `neighbors` is a neighbor graph of these rows (see `lowd.neighbors`).
        `callback(iteration, embedding)` is called every ten iterations; an exception that it raises
        cancels the fit.
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
        """Learn the map and return the embedding of the training rows."""
        return self._learn(X, embed=True, neighbors=neighbors, callback=callback)

    def _fit(
        self, data: Data, ctx: Context, neighbors: Any = None, callback: Callback | None = None
    ) -> Fit:
        n, k = data.shape[0], self.n_components
        check_count(k, n, f"n_samples={n}")
        perplexities, kernel = self._perplexities(), self._kernel()
        relation: ProbabilityRelation
        if self.affinity == "precomputed":
            base: DistanceRelation = NeighborListDistances(n)
            first_row = point_of_row = np.arange(n)
            relation = PrecomputedProbabilities.of(data.items, kernel == "rows")
        else:
            near = self._neighborhoods(data, ctx, neighbors)
            given, count = near.given, self.n_neighbors
            given = select_listed(given, count, None) if given is not None and count else given
            graph = find_perplexity_neighbors(near.base, perplexities, count, ctx.ops, given)
            base, edges, first_row, point_of_row, count = graph
            relation = PerplexityProbabilities(base, perplexities, count, edges, kernel == "rows")
            del graph, edges, near, given
        joint = relation.among(ctx.ops) if len(first_row) > 1 else None
        relation = relation.freeze()  # the edges of a million rows are gigabytes
        report: dict[str, Any] = {"n_components": k, "n_distinct": len(first_row)}
        if len(first_row) < n:
            report["distinct"] = point_of_row
        if joint is None:
            warn("all rows are equal, so the embedding is 0.", RankWarning)
            Y = np.zeros((1, k), ctx.dtype)
            return Fit(Y[point_of_row], NeighborMap(relation, Y, kernel, None), report)
        start, used = initialize_embedding(self.init, data.items, base, joint.P, k, first_row, ctx)
        warn_of_long_work(kernel, k, len(first_row), self.max_iter)
        plan = ctx.ops.kl_plan(joint.P, kernel)
        rate = None if self.learning_rate == "auto" else self.learning_rate
        schedule = plan_phases(
            len(first_row), self.early_exaggeration, self.exaggeration, rate, self.max_iter
        )
        Y, found = descend(plan, start, schedule, callback)
        Y = Y.astype(ctx.dtype)
        report |= found | evaluate_embedding(plan, joint, Y, kernel, ctx.seed)
        report |= {"init_used": used, "affinity": joint.P, "betas": joint.beta[point_of_row]}
        # With Gaussian tails a new point's own partition function leaves no room for exaggeration.
        exaggeration = float(self.exaggeration) if kernel == "student" else 1.0
        grid = plan.interpolation_grid(Y)
        return Fit(Y[point_of_row], NeighborMap(relation, Y, kernel, grid, exaggeration), report)

    @property
    def affinity_(self) -> csr_array:
        """Joint probabilities of the distinct rows; columns are sorted at the first access.

        The descent does not need that, but SciPy would sort in place, in a read-only array.
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

    def _perplexities(self) -> tuple[float, ...]:
        """As numbers; none where the affinities are not those of a perplexity."""
        if self.affinity != "perplexity":
            return ()
        given = self.perplexity if isinstance(self.perplexity, list | tuple) else [self.perplexity]
        if not given or not all(accepts(Positive, one) for one in given):
            raise ParameterError(
                f"{type(self).__name__}(perplexity={self.perplexity!r}): expected numbers > 0."
            )
        return tuple(float(one) for one in given)
