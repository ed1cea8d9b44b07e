"""Eigenfaces: PCA of portraits, and the reconstruction of new faces from few components.

Needs olivetti_faces.npz in the folder that LOWD_DATA names.
"""

import lowd
from lowd import datasets, plot

faces = datasets.load("olivetti_faces")
X, shape = faces.X.astype(float), tuple(faces.extra["image_shape"])
old, new = X[:390], X[390:]

pca = lowd.PCA(0.95).fit(old)  # as many components as explain 95 % of the variance
reconstructed = pca.inverse_transform(pca.transform(new))
error = abs(reconstructed - new).mean()
print(f"{pca.n_components_} components: mean error of {error:.1f} of 255 gray levels")
plot.save(plot.eigenimages(pca, shape), "eigenfaces.png")
