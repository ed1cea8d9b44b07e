"""Locally linear embedding of a film of one face: neighbors have similar expressions.

Needs frey_faces.npz in the folder that LOWD_DATA names.
"""

import lowd
from lowd import datasets, plot

film = datasets.load("frey_faces")
model = lowd.LocallyLinearEmbedding(2, n_neighbors=12).fit(film.X.astype(float))
images = film.X.reshape(-1, *film.extra["image_shape"])
plot.save(plot.scatter(model.embedding_, images=images), "face_expression.png")
