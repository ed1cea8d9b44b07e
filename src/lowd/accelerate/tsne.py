"""TSNE by `lowd.TSNE`."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.sparse import issparse

from ..errors import ConvergenceWarning, ScaleWarning
from ..methods.pca import PCA
from ..methods.tsne import TSNE
from ..parameters import Reals
from .metrics import translate_metric
from .originals import SKLEARN_VERSION, check_random_state, copy_writable, validate
from .proxy import Learned
from .refusal import require

TSNE_WARNINGS = (ConvergenceWarning, ScaleWarning)
# scikit-learn exaggerates in the first 250 iterations, lowd in at most half of all iterations.
MIN_TSNE_ITERATIONS = 500
# Before 1.7 scikit-learn's default is None, which stands for this and is resolved in a fit.
DEFAULT_ITERATIONS = 1000
DEFAULT_MIN_GRADIENT_NORM = 1e-7
INITIAL_DEVIATION = 1e-4


def learn_tsne(model: Any, X: Any, embed: bool) -> Learned:
    """`sklearn.manifold.TSNE.fit`."""
    floats = [np.float32, np.float64]
    X = validate(model, X, dtype=floats, accept_sparse="csr", ensure_min_samples=2)
    n, k = X.shape[0], model.n_components
    require(model.perplexity < n, "perplexity of n_samples or more")
    require(k <= 2, "n_components > 2: Student's t with other degrees of freedom there")
    require(getattr(model, "n_iter", "deprecated") == "deprecated", "n_iter was renamed")
    max_iter = DEFAULT_ITERATIONS if model.max_iter is None else model.max_iter
    require(max_iter >= MIN_TSNE_ITERATIONS, f"max_iter < {MIN_TSNE_ITERATIONS}")
    require(model.verbose < 2, "verbose=2 prints the original's iterations")
    require(
        model.min_grad_norm == DEFAULT_MIN_GRADIENT_NORM and model.n_iter_without_progress >= 300,
        "a stopping rule of the original",
    )
    how = translate_metric(model.metric, 2, model.metric_params)
    is_given = how["metric"] == "precomputed"
    require(not (is_given and isinstance(model.init, str) and model.init == "pca"), "init='pca'")
    if is_given and issparse(X):
        require(model.method != "exact", "method='exact' of a sparse graph")
        require((np.diff(X.indptr) == n).all(), "distances to some others only")
        X = X.toarray()
    automatic = model.learning_rate == "auto"
    rate = np.maximum(n / model.early_exaggeration / 4, 50) if automatic else model.learning_rate
    start = _start(model, X)
    ours = TSNE(
        k,
        perplexity=model.perplexity,
        early_exaggeration=model.early_exaggeration,
        # scikit-learn's gradient has a factor of 4.
        learning_rate="auto" if automatic else 4 * rate,
        max_iter=max_iter,
        init=start.astype(np.float64),
        n_jobs=model.n_jobs,
        verbose=bool(model.verbose),
        **how,
    ).fit(X)
    require(hasattr(ours, "kl_divergence_"), "fewer than two distinct rows")
    Y = copy_writable(ours.embedding_, start.dtype)
    learned = {
        "embedding_": Y,
        "kl_divergence_": ours.kl_divergence_,
        "learning_rate_": rate,
        # scikit-learn reports the zero-based index of the last iteration.
        "n_iter_": ours.n_iter_ - 1,
    }
    if SKLEARN_VERSION < (1, 7):
        learned["_max_iter"] = max_iter
    return Learned(learned, Y if embed else None)


def _start(model: Any, X: Reals) -> Reals:
    """The initial coordinates, which are scikit-learn's."""
    if isinstance(model.init, np.ndarray):
        return model.init
    if model.init == "random":
        rng = check_random_state(model.random_state)
        drawn = rng.standard_normal(size=(X.shape[0], model.n_components)).astype(np.float32)
        return np.asarray(INITIAL_DEVIATION * drawn)
    Y = PCA(model.n_components).fit_transform(X).astype(np.float32)
    return np.asarray(Y / np.std(Y[:, 0]) * INITIAL_DEVIATION)
