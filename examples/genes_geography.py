"""PCA of genotypes: two principal components show where people come from.

Needs genotypes_hgdp_europe.npz in the folder that LOWD_DATA names.
"""

import numpy as np

import lowd
from lowd import datasets, plot

people = datasets.load("genotypes_europe")
counts = people.X.astype(np.float32)  # allele counts: 0, 1 or 2
counts[people.X < 0] = np.nan
p = np.nanmean(counts, axis=0) / 2
varies = (p > 0) & (p < 1)
Z = (counts - 2 * p)[:, varies] / np.sqrt(2 * p * (1 - p))[varies]
Y = lowd.PCA(2).fit_transform(np.nan_to_num(Z))  # missing: the mean, which is 0 now
plot.save(plot.scatter(Y, people.labels), "genes_geography.png")
