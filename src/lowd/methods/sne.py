"""Stochastic neighbor embedding (Hinton and Roweis, 2002)."""

from __future__ import annotations

from ..confidence.placement import PlacementCurve
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
    n_components, perplexity, affinity, n_neighbors, early_exaggeration, exaggeration
        As in TSNE.
    learning_rate, max_iter, init, metric, metric_params, random_state
        As in TSNE.
    symmetric
        False: as first published, every row has its own conditional probabilities, and the sum of
        the rows' KL divergences is minimized. True: joint probabilities, as in t-SNE.

    Attributes
    ----------
    embedding_
    kl_divergence_ : the sum of the rows' divergences; of all pairs' if symmetric
    n_iter_, converged_, learning_rate_, early_learning_rate_, init_used_ : as in TSNE
    affinity_ : conditional probabilities p_j|i, rows of sum 1; joint ones if symmetric
    betas_, n_distinct_ : as in TSNE

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
    placement_curve = PlacementCurve(0.8, 1.5)

    def _kernel(self) -> str:
        return "gauss" if self.symmetric else "rows"
