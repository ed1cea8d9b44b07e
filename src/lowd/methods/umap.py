"""UMAP (McInnes, Healy and Melville, 2018)."""

from __future__ import annotations

from typing import Literal

from ..confidence.calibration import ConfidenceCurve
from ..core.declarations import LandmarkPolicy
from ..core.estimator import reducer
from ..core.fit import ArrangedOnAccess, Context, Fit
from ..core.parameters import Count, Fraction, Metric, MetricParams, NonNegative, Positive, Seed
from ..input.validation import Data
from ..solvers.fuzzy_method import FuzzyMethod, NeighborsAndItself
from ..solvers.initialization import Init
from ..solvers.kl import Callback
from ..solvers.layout import embed_fuzzy_graph
from ..solvers.memory_plans import plan_umap


@reducer
class UMAP(FuzzyMethod):
    """UMAP: uniform manifold approximation and projection.

    Use it to see clusters and how they are connected, of many rows in little time: it preserves
    local neighborhoods, with more empty space between clusters than t-SNE. Sizes of clusters and
    distances between them are not meaningful; `dens_lambda` makes sizes show densities. To unroll a
    manifold take Isomap or LTSA; where distances count take PCA or MDS.

    Cost: `n_neighbors` nearest neighbors, then n operations per epoch. New points are optimized
    with the training embedding held fixed, row by row. Names and defaults are those of umap-learn
    where they mean the same; the forces are what its sampling expects, summed over all pairs.

    Parameters
    ----------
    n_components : int, default=2
    n_neighbors : int, default=15
        Neighbors of each row, itself counted, as in umap-learn. More show larger structure.
    min_dist : float, default=0.1
    spread : float, default=1.0
        Distance up to which points of the embedding count as equally near, and its unit of length.
    a, b : float or None, default=None
        Of the similarity 1 / (1 + a d^2b) in the embedding, instead of `min_dist` and `spread`.
    metric : str or callable, default="euclidean"
        As in ClassicalMDS; or "precomputed" is the sparse graph of a KNeighborsTransformer.
    metric_params : dict or None, default=None
    local_connectivity : float, default=1.0
        Neighbors of each row that surely belong to it, with membership 1.
    set_op_mix_ratio : float, default=1.0
        From 1, the fuzzy union of both directions of an edge, to 0, their intersection.
    n_epochs : int or None, default=None
        Iterations. None is 200.
    learning_rate : float, default=1.0
        Factor of the step size, which falls to 0.
    init : {"pca", "spectral", "random"} or ndarray, default="pca"
        "pca" (of distances: classical MDS) after some steps of the random walk on the graph,
        "spectral", "random"; or an array of coordinates, taken as it is.
    repulsion_strength : float, default=1.0
    negative_sample_rate : float, default=5
        Their product weighs the repulsion of all pairs against the attraction along edges.
    target_metric : {"categorical", "euclidean", "manhattan", "chebyshev"}, default="categorical"
        What `y` of `fit(X, y)` is: classes (-1: not known), or numbers and their distance.
    target_weight : float, default=0.5
        From 0, the data decide, to 1, the targets do.
    dens_lambda : float, default=0.0
    dens_frac : float, default=0.3
    dens_var_shift : float, default=0.1
        densMAP: weight of the correlation of local radii, which makes dense clusters small (2 is
        umap-learn's default of `densmap=True`); the share of the epochs, the last, in which it
        counts; what is added to the variance of the embedding's radii.
    n_landmarks : int or None, default=None
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    graph_ : csr_array of shape (n_distinct, n_distinct)
        The fuzzy graph: memberships of the edges between distinct rows.
    a_, b_, loss_, force_error_ : float
        Of the similarity, as used; mean attraction of a row along its edges plus its repulsion;
        relative error of the repulsive forces, root mean square over a sample, 0 if exact.
    n_iter_, n_distinct_, n_graph_components_ : int
    init_used_ : str
    graph_components_ : ndarray of shape (n_samples,)
    rad_orig_, rad_emb_ : ndarray of shape (n_samples,)
        With `dens_lambda`: log mean squared distance to the neighbors, in the data and embedding.
    target_ : ndarray of shape (n_samples,) or (n_samples, n_targets)
        With `y`: classes by number, or numbers.
    reconstruction_error_ : float
        Share of the variance that the inverse misses on samples left out; dense rows only.
    landmarks_ : ndarray of shape (n_landmarks,)

    References
    ----------
    McInnes, Healy and Melville (2018), arXiv:1802.03426; Damrich and Hamprecht (2021), NeurIPS,
    what its sampling optimizes; Narayan, Berger and Cho (2021), Nature Biotechnology 39, densMAP.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 5)) + 9 * np.repeat([0, 1, 2], 20)[:, None]
    >>> model = lowd.UMAP(n_neighbors=10).fit(X)
    >>> model.embedding_.shape, model.n_graph_components_
    ((60, 2), 3)
    >>> new = model.transform(X[:20].mean(0)[None])
    >>> bool(np.abs(new - model.embedding_[:20].mean(0)).max() < 2)
    True
    """

    n_components: Count = 2
    n_neighbors: NeighborsAndItself = 15
    min_dist: NonNegative = 0.1
    spread: Positive = 1.0
    a: Positive | None = None
    b: Positive | None = None
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    local_connectivity: Positive = 1.0
    set_op_mix_ratio: Fraction = 1.0
    n_epochs: Count | None = None
    learning_rate: Positive = 1.0
    init: Init = "pca"
    repulsion_strength: NonNegative = 1.0
    negative_sample_rate: NonNegative = 5
    target_metric: Literal["categorical", "euclidean", "manhattan", "chebyshev"] = "categorical"
    target_weight: Fraction = 0.5
    dens_lambda: NonNegative = 0.0
    dens_frac: Fraction = 0.3
    dens_var_shift: NonNegative = 0.1
    n_landmarks: Count | None = None
    random_state: Seed = None

    landmark_policy = LandmarkPolicy(20_000)
    memory_plan = plan_umap
    no_inverse = "distances alone determine no rows; it needs dense rows and a named metric."
    graph_ = ArrangedOnAccess("graph_ is there after a fit of two distinct rows or more.")
    confidence_curve = ConfidenceCurve(2.4, 0.9)

    def _fit(
        self,
        data: Data,
        ctx: Context,
        neighbors: object = None,
        callback: Callback | None = None,
        target: object = None,
    ) -> Fit:
        y, how = self._read_target(target, data.shape[0]), self._descent()
        points, landmarks = self._fuzzy_points(self._neighborhoods(data, ctx, neighbors), y, ctx)
        fit = embed_fuzzy_graph(points, data.items, how, ctx, callback)
        targets = {} if y is None else {"target": y.values}
        fit = fit.with_report(a=how.a, b=how.b, **targets)
        return self._map_others(fit, data, landmarks, ctx)
