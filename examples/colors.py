"""Non-metric MDS of similarities between 14 colors, as people judged them: the color circle."""

import numpy as np

import lowd
from demonstrations import tables
from lowd import plot

names, similarity = tables.ekman()
D = 1 - similarity
np.fill_diagonal(D, 0)
model = lowd.NonMetricMDS(2, metric="precomputed").fit(D)
print(f"Stress-1 {model.stress1_:.3f}")
plot.save(plot.scatter(model.embedding_, text=[f"{name} nm" for name in names]), "colors.png")
