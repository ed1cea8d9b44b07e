"""What a user of scikit-learn writes where lowd's user says `lowd map wine.csv --plot wine.png`.

Usage: python map_wine.py TABLE PICTURE COORDINATES
"""

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import pandas as pd
from sklearn.manifold import Isomap, trustworthiness
from sklearn.preprocessing import StandardScaler

table, picture, coordinates = sys.argv[1:]
frame = pd.read_csv(table)
labels = frame.pop("target")
X = StandardScaler().fit_transform(frame)
Y = Isomap(n_neighbors=5).fit_transform(X)
print("trustworthiness", trustworthiness(X, Y, n_neighbors=15))
print("continuity", trustworthiness(Y, X, n_neighbors=15))

figure, axes = plt.subplots()
for label in labels.unique():
    axes.scatter(*Y[labels == label].T, s=12, label=f"class {label}")
axes.legend()
figure.savefig(picture, dpi=150)
out = pd.DataFrame(Y, columns=["isomap0", "isomap1"])
out.insert(0, "target", labels)
out.to_csv(coordinates, index=False)
