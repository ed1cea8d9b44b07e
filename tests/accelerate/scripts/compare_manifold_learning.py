"""Comparison of manifold learning methods on an S-curve."""

import warnings

import numpy as np
from scipy.stats import spearmanr
from sklearn import manifold
from sklearn.datasets import make_s_curve

X, t = make_s_curve(500, random_state=0)
params = {"n_neighbors": 12, "n_components": 2}
methods = {
    "LLE": manifold.LocallyLinearEmbedding(method="standard", eigen_solver="dense", **params),
    "modified LLE": manifold.LocallyLinearEmbedding(method="modified", **params, random_state=0),
    "Isomap": manifold.Isomap(p=1, **params),
    "MDS": manifold.MDS(n_components=2, max_iter=50, n_init=1, random_state=0, init="random"),
    "spectral": manifold.SpectralEmbedding(n_components=2, n_neighbors=12, random_state=42),
    "t-SNE": manifold.TSNE(perplexity=30, init="random", max_iter=500, random_state=0),
}
for name, method in methods.items():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Y = method.fit_transform(X)
    print(f"{name} trustworthiness:", manifold.trustworthiness(X, Y, n_neighbors=12))
    if name == "Isomap":
        print("position along the curve:", np.abs(spearmanr(Y[:, 0], t).statistic))
        print("reconstruction error:", method.reconstruction_error())
