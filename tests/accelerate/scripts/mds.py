"""Metric and non-metric MDS recover noisy coordinates from distances."""

import numpy as np
from scipy.spatial import procrustes
from sklearn import manifold
from sklearn.decomposition import PCA
from sklearn.metrics import euclidean_distances

rng = np.random.RandomState(42)
X_true = rng.randint(0, 20, 2 * 60).astype(float).reshape((60, 2))
X_true -= X_true.mean()
D = euclidean_distances(X_true)
noise = np.abs(rng.normal(size=D.shape))
noise = np.triu(noise, 1) + np.triu(noise, 1).T
D += noise
np.fill_diagonal(D, 0)

mds = manifold.MDS(
    n_components=2,
    max_iter=3000,
    eps=1e-9,
    n_init=1,
    random_state=42,
    metric="precomputed",
    init="classical_mds",
)
nonmetric = manifold.MDS(
    n_components=2,
    metric_mds=False,
    max_iter=3000,
    eps=1e-12,
    metric="precomputed",
    random_state=42,
    n_init=1,
    init="classical_mds",
)
classical = manifold.ClassicalMDS(n_components=2, metric="precomputed")
for name, method in {"metric": mds, "non-metric": nonmetric, "classical": classical}.items():
    Y = PCA(n_components=2).fit_transform(method.fit_transform(D))
    print(f"{name} closeness:", 1 - procrustes(X_true, Y)[2])
print("stress:", mds.stress_)
