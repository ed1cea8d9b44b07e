"""Latent semantic analysis: truncated SVD of sparse counts, then distances between documents."""

import numpy as np
from scipy.sparse import csr_matrix
from sklearn.decomposition import TruncatedSVD
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

rng = np.random.default_rng(1)
topics = rng.dirichlet(np.full(2000, 0.05), size=5)
labels = np.repeat(np.arange(5), 80)
counts = np.array([rng.multinomial(200, topics[label]) for label in labels])
X = csr_matrix(np.log1p(counts))

lsa = make_pipeline(TruncatedSVD(5, algorithm="arpack", random_state=0), Normalizer(copy=False))
Y = lsa.fit_transform(X)
similarity = Y @ Y.T
same = labels[:, None] == labels
print("within topics:", similarity[same].mean())
print("between topics:", similarity[~same].mean())
print("explained variance:", lsa[0].explained_variance_ratio_.sum())
