"""Diffusion maps (Coifman and Lafon, 2006)."""

from __future__ import annotations

import numpy as np

from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.parameters import Count, Fraction, Metric, MetricParams, NonNegative, Positive, Seed
from ..graph.components import OnDisconnected
from ..maps.laplacian import NystroemMap
from ..relations.affinity_graph import AffinityGraph
from ..solvers.canonical import sign_flips
from ..solvers.diffusion_method import DiffusionMethod
from ..solvers.laplacian import pad_columns, raise_eigenvalues, transition_spectrum


@reducer
class DiffusionMaps(DiffusionMethod):
    """Diffusion maps: Euclidean distances in the embedding are diffusion distances.

    Use it for data with branches, noise and uneven density: a diffusion distance sums over all
    paths, so a few short circuits change little. With `alpha=1` the sampling density is divided
    out.

    Cost: n²·d for the kernel up to 5,000 rows, beyond that 60 neighbors of each row and a sparse
    eigenproblem. New points (Nyström): the mean of ψ over one step of the random walk, over λ.

    Parameters
    ----------
    n_components : int, default=2
    alpha : float, default=1.0
        How much of the sampling density is divided out: 0 nothing (random walk on the graph),
        ½ Fokker-Planck, 1 all of it (Laplace-Beltrami, the geometry alone).
    time : float, default=1
        Steps t of the random walk: y = λ^t ψ. 0 gives ψ itself; more steps keep slower modes.
    sigma : float or None, default=None
        σ of the kernel exp(-d²/2σ²). None is the median distance to the third neighbor, and about
        three times that for rows along a curve.
    n_neighbors : int or None, default=None
        Edges to so many neighbors of each sample; None takes all pairs up to 5,000 rows, and 60
        neighbors beyond (`n_neighbors_` says which).
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
    n_landmarks : int or None, default=None
    on_disconnected : {"join", "error"}, default="join"
    random_state : int, RandomState, Generator or None, default=None

    Attributes
    ----------
    embedding_, psi_ : ndarray of shape (n_samples, n_components)
    eigenvalues_ : ndarray of shape (n_components + 1,)
        Eigenvectors ψ of the transition matrix, of mean 0 and mean square 1 under `stationary_`;
        its eigenvalues λ, descending, with the leading 1.
    density_, degrees_, stationary_ : ndarray of shape (n_samples,)
        q, the degrees after normalization, and the stationary distribution of the random walk.
    sigma_ : float
    n_neighbors_ : int or None
        The scale and the neighbors that were used (None: all pairs).
    scales_, scale_dimensions_ : ndarray of shape (n_scales,)
        Other scales s, and d log Σ exp(-d²/2s²) / d log s, which is the dimension that the rows
        seem to have at that scale.
    n_graph_components_, n_distinct_ : int
    graph_components_ : ndarray of shape (n_samples,)
    bridges_ : ndarray of shape (n_bridges, 2)
    residuals_, participation_ : ndarray of shape (n_components,)
    solver_ : str
    degenerate_axes_ : tuple of tuple of int
    landmarks_ : ndarray of shape (n_landmarks,)

    References
    ----------
    Coifman and Lafon (2006), Applied and Computational Harmonic Analysis 21.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> t = np.linspace(0, 1, 40) ** 2  # a bent line, unevenly sampled
    >>> model = lowd.DiffusionMaps(1, sigma=0.1).fit(np.c_[t, t**2])
    >>> order = np.argsort(model.embedding_[:, 0])
    >>> bool((np.diff(order) == 1).all() or (np.diff(order) == -1).all())
    True
    """

    n_components: Count = 2
    alpha: Fraction = 1.0
    time: NonNegative = 1
    sigma: Positive | None = None
    n_neighbors: Count | None = None
    metric: Metric = "euclidean"
    metric_params: MetricParams = None
    n_landmarks: Count | None = None
    on_disconnected: OnDisconnected = "join"
    random_state: Seed = None

    def _embed_affinities(self, graph: AffinityGraph, ctx: Context) -> Fit:
        growth = graph.dimension_by_scale()
        graph, density = graph.divide_by_density(self.alpha, ctx.ops)
        spectrum = transition_spectrum(graph, self.n_components, ctx)
        k, degrees, counts = self.n_components, spectrum.degrees, graph.counts
        stationary = degrees / float(counts @ degrees)
        psi = spectrum.vectors / np.sqrt(counts * stationary)[:, None]
        psi = pad_columns(psi * sign_flips(psi), k)
        lam = np.pad(1 - spectrum.values, (0, k - len(spectrum.values)))
        powers = raise_eigenvalues(lam, self.time, len(counts))
        gain = np.divide(1, lam, out=np.zeros(k), where=powers != 0)
        Y = psi * powers
        weights = counts * density**-self.alpha
        nystroem = NystroemMap(graph.relation.freeze(), weights, Y, Y, "random_walk", gain)
        learned = {"psi": psi, "density": density, "degrees": degrees, "stationary": stationary}
        report = {
            **self._report_graph(graph, **learned),
            "eigenvalues": np.concatenate([[1.0], lam[: len(spectrum.values)]]),
            **spectrum.report,
            **growth,
        }
        return Fit(Y[graph.point_of_row], nystroem, report)
