"""`lowd.neighbors`, its graph and its transformer: rows in blocks, model files, confidence."""

from __future__ import annotations

import pickle

import numpy as np
import pytest

from case_data import make_data, rows_like
from cases import same_bits
from lowd import store
from lowd.errors import ParameterError, UnsupportedError
from lowd.neighbor_graph import NeighborGraph, NeighborsTransformer, neighbors


def test_rows_in_blocks_have_the_neighbors_of_rows_in_memory():
    dask = pytest.importorskip("dask.array")
    X = rows_like(500, 6)
    blocks = dask.from_array(X, chunks=((90, 210, 200), 6))
    for metric in ("euclidean", "cosine", "manhattan"):
        expected = neighbors(X, 7, metric=metric)
        found = neighbors(blocks, 7, metric=metric)
        same_bits(found.indices, expected.indices)
        np.testing.assert_allclose(found.distances, expected.distances, rtol=1e-12)
    with pytest.raises(UnsupportedError):
        neighbors(blocks, 7, metric="gower")


@pytest.mark.parametrize("source", ["rows", "sparse", "table", "distances"])
def test_a_model_file_and_a_pickle(source, tmp_path):
    X, Q = make_data(source, np.dtype(np.float64), "cloud", 60, 23)
    metric = {"table": "gower", "distances": "precomputed"}.get(source, "euclidean")
    model = NeighborsTransformer(n_neighbors=4, metric=metric).fit(X)
    expected, confidence = model.transform(Q, return_confidence=True)
    assert expected.shape == (23, 60)
    assert np.diff(expected.indptr).tolist() == [5] * 23
    path = tmp_path / "model.lowd"
    store.save(model, path)
    for again in (store.load(path), pickle.loads(pickle.dumps(model))):
        found, same = again.transform(Q, return_confidence=True)
        same_bits(found.indices, expected.indices)
        same_bits(found.data, expected.data)
        same_bits(same, confidence)
    known = model.transform(X, return_confidence=True)[1]
    assert (known == 1).all()
    assert (confidence >= 0).all()


def test_confidence_falls_outside_of_the_data():
    X = rows_like(200, 3)
    model = NeighborsTransformer().fit(X)
    near, far = model.transform(np.vstack([X[:1] + 1e-3, X[:1] + 50]), return_confidence=True)[1]
    assert near == 1
    assert far < 1e-3
    with pytest.raises(UnsupportedError, match="no coordinates"):
        model.calibrate_confidence(X)


def test_a_model_of_objects_is_not_stored_but_pickled(tmp_path):
    model = NeighborsTransformer(n_neighbors=1, metric=_gap).fit([1, 5, 6, 2])
    assert model.transform([4]).indices.tolist() == [1, 2]
    with pytest.raises(UnsupportedError, match="cannot be stored"):
        store.save(model, tmp_path / "model.lowd")
    again = pickle.loads(pickle.dumps(model))
    assert again.transform([4]).data.tolist() == [1.0, 2.0]


def _gap(a, b):
    return abs(a - b)


def test_the_transformer_checks_as_the_function_does():
    for call in (neighbors, lambda X: NeighborsTransformer(n_neighbors=15).fit(X)):
        with pytest.raises(ParameterError, match=r"n_neighbors=15 needs .* use n_neighbors=9"):
            call(rows_like(10))
    assert NeighborGraph.of(neighbors(rows_like(10), 3), 10).recall == 1
