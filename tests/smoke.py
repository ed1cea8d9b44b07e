"""Does an installed lowd work? Fits, maps, saves and loads every method, with no test framework."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from sklearn.datasets import load_digits

import lowd
from lowd.backend import resolve
from lowd.methods import METHODS
from lowd.reducer import Reducer

MODELS = [
    lowd.PCA(2),
    lowd.GaussianRandomProjection(16, random_state=0),
    lowd.SparseRandomProjection(16, random_state=0),
    lowd.HadamardRandomProjection(16, random_state=0),
    lowd.ClassicalMDS(2),
    lowd.MDS(2, n_landmarks=300),
    lowd.NonMetricMDS(2, n_landmarks=300),
    lowd.KernelPCA(2, kernel="rbf", gamma="median"),
    lowd.LaplacianEigenmaps(2),
    lowd.DiffusionMaps(2),
    lowd.Isomap(2, n_neighbors=10),
    lowd.LocallyLinearEmbedding(2, n_neighbors=12),
    lowd.ModifiedLLE(2, n_neighbors=12),
    lowd.HessianLLE(2, n_neighbors=12),
    lowd.LTSA(2, n_neighbors=12),
    lowd.SNE(2, max_iter=60),
    lowd.TSNE(2, max_iter=300),
    lowd.UMAP(),
]


def main() -> None:
    assert {type(model).__name__ for model in MODELS} == set(METHODS), "a method is not tried"
    backend = resolve("auto")
    assert backend == "native", f"the native core was not found: {backend} is used"
    X = load_digits().data
    train, new = X[:1500], X[1500:]
    with tempfile.TemporaryDirectory() as folder:
        for model in MODELS:
            check(model, train, new, Path(folder) / "model.lowd")
        page = Path(folder) / "report.html"
        lowd.report.write(page, model=MODELS[0], X=train, embedding=MODELS[0].transform(train))
        assert 'id="points"' in page.read_text("utf-8"), "the report has no embedding"
    print(f"lowd {lowd.__version__}: {len(MODELS)} methods fit, map, save and load ({backend}).")


def check(model: Reducer, train: np.ndarray, new: np.ndarray, path: Path) -> None:
    name = type(model).__name__
    coordinates = model.fit(train).transform(new)
    assert coordinates.shape == (len(new), model.n_components), f"{name}: shape {coordinates.shape}"
    assert np.isfinite(coordinates).all(), f"{name}: a coordinate is not finite"
    assert (model.transform(new[7:8]) == coordinates[7:8]).all(), (
        f"{name}: a row depends on its batch"
    )
    lowd.save(model, path)
    assert (lowd.load(path).transform(new) == coordinates).all(), (
        f"{name}: changed by save and load"
    )


if __name__ == "__main__":
    main()
