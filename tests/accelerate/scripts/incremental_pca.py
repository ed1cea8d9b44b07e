"""IncrementalPCA beside PCA: batches give nearly the components of all rows."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA, IncrementalPCA

X = load_digits().data
ipca = IncrementalPCA(n_components=10, batch_size=200)
Y = ipca.fit_transform(X)
pca = PCA(n_components=10, svd_solver="full").fit(X)
angle = np.linalg.norm(ipca.components_ @ pca.components_.T, axis=1).mean()
print("agreement with PCA:", angle)
print("variance:", ipca.explained_variance_ratio_.sum())
print("shape:", *Y.shape)
