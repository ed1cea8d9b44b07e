"""Stochastic neighbor embedding (Hinton and Roweis, 2002)."""

from __future__ import annotations

from ..confidence.calibration import ConfidenceCurve
from ..core.estimator import reducer
from ..core.parameters import Positive
from .tsne import TSNE


@reducer
class SNE(TSNE):
    """SNE: stochastic neighbor embedding with Gaussian similarities.

    The predecessor of t-SNE. Gaussian tails are light, so moderate distances must be kept and
    clusters crowd: use it to see what t-SNE's heavy tails change, or where distances between
    clusters should still mean something.

    Cost: n² per iteration. Everything else is as in TSNE, whose parameters and attributes it has.
    New points: their objective is convex, so it has one minimum.

    Parameters
    ----------
    n_components : int, default=2
    perplexity : float, list or tuple, default=30.0
    affinity : {"perplexity", "uniform", "precomputed"}, default="perplexity"
    n_neighbors : int or None, default=None
    early_exaggeration : float, default=4.0
    exaggeration : float, default=1.0
        As in TSNE.
    learning_rate : float or "auto", default="auto"
    max_iter : int, default=750
    init : {"pca", "spectral", "random"} or ndarray, default="pca"
    metric : str or callable, default="euclidean"
    metric_params : dict or None, default=None
    random_state : int, RandomState, Generator or None, default=None
        As in TSNE.
    symmetric : bool, default=False
        False: as first published, every row has its own conditional probabilities, and the sum of
        the rows' KL divergences is minimized. True: joint probabilities, as in t-SNE.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_components)
    kl_divergence_ : float
        The sum of the rows' divergences; of all pairs' if symmetric.
    n_iter_ : int
    converged_ : bool
    learning_rate_, early_learning_rate_ : float
    init_used_ : str
        As in TSNE.
    affinity_ : csr_array of shape (n_distinct, n_distinct)
        Conditional probabilities p_j|i, rows of sum 1; joint ones if symmetric.
    betas_ : ndarray of shape (n_distinct, n_perplexities)
    n_distinct_ : int
        As in TSNE.

    References
    ----------
    Hinton and Roweis (2002), NIPS 15; Cook et al. (2007), AISTATS, the symmetric form.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> model = lowd.SNE(1, perplexity=2).fit([[0.0], [1.0], [3.0], [7.0]])
    >>> order = np.argsort(model.embedding_[:, 0])
    >>> bool((order == [0, 1, 2, 3]).all() or (order == [3, 2, 1, 0]).all())
    True
    """

    early_exaggeration: Positive = 4.0
    symmetric: bool = False
    confidence_curve = ConfidenceCurve(2.2, 1.1)

    def _kernel(self) -> str:
        return "gauss" if self.symmetric else "rows"
