"""Isomap of rendered faces: its three dimensions are the light and the two angles of the head.

Needs isomap_faces_32x32.npz in the folder that LOWD_DATA names.
"""

import numpy as np

import lowd
from lowd import datasets, plot

faces = datasets.load("isomap_faces")
model = lowd.Isomap(3, n_neighbors=6).fit(faces.X)

design = np.column_stack([np.ones(len(faces.X)), model.embedding_])
for name, angle in zip(("light", "left-right", "up-down"), faces.truth.T, strict=True):
    guess = design @ np.linalg.lstsq(design, angle, rcond=None)[0]
    print(f"R² of {name}: {1 - np.var(angle - guess) / np.var(angle):.3f}")

images = faces.X.reshape(-1, 32, 32)
plot.save(plot.scatter(model.embedding_[:, :2], images=images), "face_pose.png")
