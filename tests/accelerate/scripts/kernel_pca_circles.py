"""Kernel PCA separates circles that no line separates, and maps new points and back."""

import numpy as np
from sklearn.datasets import make_circles
from sklearn.decomposition import KernelPCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split

X, y = make_circles(n_samples=1600, factor=0.3, noise=0.05, random_state=0)
X_train, X_test, y_train, y_test = train_test_split(X, y, stratify=y, random_state=0)
kernel_pca = KernelPCA(
    n_components=3, kernel="rbf", gamma=10, fit_inverse_transform=True, alpha=0.1
)
Y_train = kernel_pca.fit_transform(X_train)
Y_test = kernel_pca.transform(X_test)
classifier = LogisticRegression().fit(Y_train, y_train)
print("accuracy:", classifier.score(Y_test, y_test))
print("eigenvalues:", *kernel_pca.eigenvalues_)
back = kernel_pca.inverse_transform(Y_test)
print("distance of the pre-images:", np.linalg.norm(back - X_test, axis=1).mean())
