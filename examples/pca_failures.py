"""Where PCA fails, and what helps."""

import warnings

import numpy as np

import lowd

rng = np.random.default_rng(0)

warnings.simplefilter("ignore", lowd.errors.ScaleWarning)  # lowd warns of the first case

# One column in grams, one in kilograms: the column with the larger variance dominates.
X = rng.normal(size=(300, 2)) @ [[1.0, 0.9], [0.0, 0.44]] * [1, 1000]
print("first component:", lowd.PCA(1).fit(X).components_[0].round(4))
print("scaled:         ", lowd.PCA(1, scale=True).fit(X).components_[0].round(4))

# Two rings: no linear component separates them, kernel PCA does.
t, outer = rng.uniform(0, 2 * np.pi, 300), np.arange(300) % 2 == 1
rings = np.c_[np.cos(t), np.sin(t)] * np.where(outer, 1.0, 0.35)[:, None]
first = lowd.KernelPCA(1, kernel="rbf", gamma=3.0).fit_transform(rings)[:, 0]
separated = max(first[outer]) < min(first[~outer]) or max(first[~outer]) < min(first[outer])
print("rings separated:", separated)

# Sources 45 degrees apart: orthogonal components cannot match both.
mixed = rng.normal(size=(5000, 2)) * np.sqrt([2, 0.72]) @ [[1, 0], [np.sqrt(0.5), np.sqrt(0.5)]]
print("components:     ", *lowd.PCA(2).fit(mixed).components_.round(2))
