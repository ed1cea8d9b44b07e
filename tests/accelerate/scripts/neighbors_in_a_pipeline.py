"""Neighbors once, manifolds many: a precomputed graph for Isomap, t-SNE and spectral embedding."""

import numpy as np
from sklearn.datasets import make_swiss_roll
from sklearn.manifold import Isomap, SpectralEmbedding, trustworthiness
from sklearn.neighbors import KNeighborsTransformer, kneighbors_graph
from sklearn.pipeline import make_pipeline
from sklearn.random_projection import SparseRandomProjection

X, t = make_swiss_roll(1600, random_state=0)
wide = X @ np.random.default_rng(0).normal(size=(3, 400))
projected = SparseRandomProjection(100, random_state=0).fit_transform(wide)
print("squared lengths kept:", (projected**2).sum() / (wide**2).sum())
chain = make_pipeline(
    KNeighborsTransformer(n_neighbors=10), Isomap(n_neighbors=10, metric="precomputed")
)
print("chain:", trustworthiness(X, chain.fit_transform(X)))
direct = Isomap(n_neighbors=10).fit(X)
print("direct:", trustworthiness(X, direct.embedding_))
print("new points:", np.abs(direct.transform(X[:50] + 0.01) - direct.embedding_[:50]).max())
graph = kneighbors_graph(X, 10, include_self=True)
spectral = SpectralEmbedding(2, affinity="precomputed", random_state=0)
Y = spectral.fit_transform(0.5 * (graph + graph.T))
print("order along the roll:", abs(np.corrcoef(np.argsort(np.argsort(Y[:, 0])), t)[0, 1]))
