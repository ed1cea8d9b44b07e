"""How many components? By cross-validated likelihood, by Minka's rule, by explained variance."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import cross_val_score

rng = np.random.RandomState(42)
n_samples, n_features, rank = 3000, 50, 10
U = np.linalg.qr(rng.randn(n_features, n_features))[0]
X = rng.randn(n_samples, rank) @ U[:, :rank].T + 0.3 * rng.randn(n_samples, n_features)

candidates = range(5, 20, 5)
scores = [np.mean(cross_val_score(PCA(n_components=k), X, cv=3)) for k in candidates]
print("scores:", *scores)
print("best by cross-validation:", candidates[int(np.argmax(scores))])
print("by maximum likelihood:", PCA(n_components="mle", svd_solver="full").fit(X).n_components_)
print("for 90 % of the variance:", PCA(n_components=0.9).fit(X).n_components_)
