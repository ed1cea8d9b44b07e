"""PCA in six steps: data, centered, scaled, components, projection, reconstruction."""

import numpy as np

import lowd
from lowd import plot

rng = np.random.default_rng(0)
X = rng.normal(size=(60, 2)) @ [[2.0, 9.0], [0.0, 5.0]] + [20, 100]

pca = lowd.PCA(1, scale=True).fit(X)
print(f"the first component explains {pca.explained_variance_ratio_[0]:.0%} of the variance")
plot.save(plot.pca_steps(X), "pca_steps.png")
