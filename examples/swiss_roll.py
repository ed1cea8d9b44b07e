"""The Swiss roll by PCA, which projects it, and by Isomap, which unrolls it."""

import numpy as np

import lowd
from lowd import datasets, plot

roll = datasets.swiss_roll(1000)  # .truth: length along the roll, and height

for model in (lowd.PCA(2), lowd.Isomap(2, n_neighbors=10)):
    Y = model.fit_transform(roll.X)
    name = type(model).__name__
    correlation = abs(np.corrcoef(Y[:, 0], roll.truth[:, 0])[0, 1])
    print(f"{name}: correlation of the first axis with the length {correlation:.3f}")
    plot.save(plot.scatter(Y, roll.color), f"swiss_roll_{name.lower()}.png")
