"""Word vectors: nearest neighbors by cosine distance, and MDS of some words.

Needs glove6b_100d_top20k.npz in the folder that LOWD_DATA names.
"""

import numpy as np

import lowd
from lowd import datasets, plot

glove = datasets.load("glove")
words = glove.extra["words"]

near = lowd.NeighborsTransformer(n_neighbors=5, metric="cosine").fit(glove.X)
frog = glove.X[words == "frog"]
print("nearest to frog:", *words[near.transform(frog).indices])

chosen = "cat dog horse frog snake one two three four paris london berlin rome".split()  # noqa: SIM905
rows = glove.X[[np.flatnonzero(words == word)[0] for word in chosen]]
Y = lowd.MDS(2, metric="cosine").fit_transform(rows)
plot.save(plot.scatter(Y, text=chosen), "words.png")
