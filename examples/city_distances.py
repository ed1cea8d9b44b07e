"""Cities from their distances alone, and one more city from its distances to the others."""

import warnings

import numpy as np

import lowd
from lowd import plot
from lowd.demos import tables

cities = tables.united_states()
D, names = cities.distances, np.array(cities.names)
old, new = np.delete(np.arange(10), 2), 2  # all but Denver

warnings.simplefilter("ignore", lowd.errors.IndefiniteWarning)  # the Earth is round
model = lowd.ClassicalMDS(2, metric="precomputed").fit(D[np.ix_(old, old)])
denver = model.transform(D[new : new + 1, old])
print("miles from Denver, in the map:")
for name, place, miles in zip(names[old], model.embedding_, D[new, old], strict=True):
    print(f"{name:>15}{np.linalg.norm(place - denver):6.0f} (true: {miles:.0f})")

places = np.insert(model.embedding_, new, denver, axis=0)
plot.save(plot.scatter(places, text=names), "city_distances.png")
