"""Principal components of images: eigenimages, and what they keep of the variance."""

import numpy as np
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split

side, n = 32, 300
rng = np.random.default_rng(0)
grid = np.linspace(-1, 1, side)
x, y = np.meshgrid(grid, grid)
centers = rng.uniform(-0.5, 0.5, size=(n, 2))
widths = rng.uniform(0.1, 0.4, size=n)
squares = (x - centers[:, 0, None, None]) ** 2 + (y - centers[:, 1, None, None]) ** 2
images = np.exp(-squares / widths[:, None, None] ** 2).reshape(n, -1)
images += 0.05 * rng.normal(size=images.shape)

train, test = train_test_split(images, random_state=0)
pca = PCA(n_components=20, svd_solver="randomized", whiten=True, random_state=0).fit(train)
rebuilt = pca.inverse_transform(pca.transform(test))
print("variance explained:", pca.explained_variance_ratio_.sum())
print("first eigenimage:", pca.components_[0][:5])
print("error of reconstruction:", np.mean((rebuilt - test) ** 2))
print("noise variance:", pca.noise_variance_)
