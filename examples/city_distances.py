"""Classical MDS of the distances between cities; one more city is embedded by `transform`."""

import warnings

import numpy as np

import lowd
from demonstrations import tables
from lowd import plot

cities = tables.united_states()
D, names = cities.distances, np.array(cities.names)
old, new = np.delete(np.arange(10), 2), 2  # all but Denver

warnings.simplefilter("ignore", lowd.errors.IndefiniteWarning)  # the Earth is round
model = lowd.ClassicalMDS(2, metric="precomputed").fit(D[np.ix_(old, old)])
denver = model.transform(D[new : new + 1, old])
print("miles from Denver, in the embedding:")
for name, y, miles in zip(names[old], model.embedding_, D[new, old], strict=True):
    print(f"{name:>15}{np.linalg.norm(y - denver):6.0f} (true: {miles:.0f})")

Y = np.insert(model.embedding_, new, denver, axis=0)
plot.save(plot.scatter(Y, text=names), "city_distances.png")
