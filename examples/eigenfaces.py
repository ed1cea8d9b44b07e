"""Portraits: their principal axes are portraits, and a few rebuild a new face.

Needs olivetti_faces.npz in the folder that LOWD_DATA names.
"""

import lowd
from lowd import datasets, plot

faces = datasets.load("olivetti_faces")
X, shape = faces.X.astype(float), tuple(faces.extra["image_shape"])
old, new = X[:390], X[390:]

pca = lowd.PCA(0.95).fit(old)  # as many axes as hold 95 % of the variance
rebuilt = pca.inverse_transform(pca.transform(new))
print(f"{pca.n_components_} axes miss {abs(rebuilt - new).mean():.1f} of 255 gray levels")
plot.save(plot.eigenimages(pca, shape), "eigenfaces.png")
