"""t-SNE (van der Maaten and Hinton, 2008)."""

from __future__ import annotations

from typing import Any, Literal

from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.fit import ArrangedOnAccess, Context, Fit
from ..core.parameters import Count, Metric, MetricParams, Positive, Seed, check_count
from ..input.validation import Data
from ..solvers.initialization import Init
from ..solvers.kl import Callback
from ..solvers.memory_plans import plan_tsne
from ..solvers.neighbor_embedding import Descent, embed_similarities
from ..solvers.perplexity_method import PerplexityMethod


@reducer
class TSNE(PerplexityMethod):
    """t-SNE: t-distributed stochastic neighbor embedding.

    Use it to see clusters and their neighborhoods: it preserves local neighborhoods, while sizes of
    clusters and distances between them are not meaningful. To unroll a manifold take Isomap or
    LTSA; where distances count take PCA or MDS.

    Cost: 3 · perplexity nearest neighbors, then n operations per iteration in up to three
    dimensions (particle mesh), n² with few rows and in more dimensions. New points are optimized
    with the training embedding held fixed, row by row; a training point returns to its own
    coordinates.

    Parameters
    ----------
    n_components : int, default=2
    perplexity : float, list or tuple, default=30.0
        Effective number of neighbors. Of a list the conditional probabilities are averaged, which
        preserves near and far neighbors.
    affinity : {"perplexity", "uniform", "precomputed"}, default="perplexity"
    n_neighbors : int or None, default=None
        "uniform": equal weights of the `n_neighbors` nearest; "precomputed": `fit` takes the square
        matrix of affinities (dense or sparse), `transform` those from new to training points.
    early_exaggeration : float, default=12.0
    exaggeration : float, default=1.0
        Factors of the attractive forces in the first 250 iterations (at most half of all), and in
        those that follow, where about 4 shows whole clusters of large data.
    learning_rate : float or "auto", default="auto"
        "auto" is n / exaggeration in each phase, for forces without the gradient's factor 4; it is
        4 times scikit-learn's `learning_rate`.
    max_iter : int, default=750
        Iterations in all; fewer if nothing moves any more.
    init : {"pca", "spectral", "random"} or ndarray, default="pca"
        "pca" (of distances without rows: classical MDS), "spectral", "random", each with standard
        deviation 1e-4; or an array of coordinates, taken as it is.
    metric : str or callable, default="euclidean"
        As in ClassicalMDS; or "precomputed" is the sparse graph of a KNeighborsTransformer.
    metric_params : dict or None, default=None
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    kl_divergence_, force_error_ : float
        KL divergence of the joint probabilities, in nats, over all pairs, comparable for the same
        data and perplexity only; relative RMS error of repulsive forces in a sample, 0 if exact.
    n_iter_, n_distinct_ : int
    converged_ : bool
    learning_rate_, early_learning_rate_ : float
    init_used_ : str
    affinity_ : csr_array of shape (n_distinct, n_distinct)
    betas_ : ndarray of shape (n_distinct, n_perplexities)
        Joint probabilities of the distinct rows, and 1/2σ² of each row.

    References
    ----------
    van der Maaten and Hinton (2008), JMLR 9; Linderman et al. (2019), Nature Methods 16; Kobak and
    Berens (2019), Nature Communications 10; Böhm, Berens and Kobak (2022), JMLR 23.

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
    init: Init = "pca"
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    random_state: Seed = None

    memory_plan = plan_tsne
    affinity_ = ArrangedOnAccess("affinity_ is there after a fit of two distinct rows or more.")
    confidence_curve = ConfidenceCurve(0.8, 1.7)

    def _fit(
        self, data: Data, ctx: Context, neighbors: object = None, callback: Callback | None = None
    ) -> Fit:
        check_count(self.n_components, data.shape[0], f"n_samples={data.shape[0]}")
        P = self._similarities(data, ctx, neighbors)
        descent = Descent(
            self.n_components,
            self._kernel(),
            self.init,
            self.early_exaggeration,
            self.exaggeration,
            None if self.learning_rate == "auto" else self.learning_rate,
            self.max_iter,
        )
        return embed_similarities(P, data.items, descent, ctx, callback)

    def _kernel(self) -> str:
        return "student"
