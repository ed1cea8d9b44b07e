"""Neighbors of rows in blocks: the graph of memory, whatever the blocks."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.sparse import csr_array

import lowd
from case_data import rows_like
from cases import close, fit, same_bits
from lowd.blocks import RowBlocks
from lowd.errors import DataError, ParameterError, UnsupportedError
from lowd.spaces import blocked

dask = pytest.importorskip("dask", reason="the extra 'dask' is not installed")
pytest.importorskip("dask.array")  # which `import dask` does not import


@pytest.fixture(autouse=True)
def _one_thread():
    """And few rows are a run, so that groups of them are merged."""
    with pytest.MonkeyPatch.context() as patch, dask.config.set(scheduler="sync"):
        patch.setattr(blocked, "RUN_BYTES", 2000)
        yield


@settings(max_examples=15, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 30), min_size=1, max_size=5).filter(lambda n: sum(n) > 6),
    single=st.booleans(),
    sparse=st.booleans(),
    metric=st.sampled_from(["euclidean", "manhattan", "cosine"]),
)
def test_any_blocks_have_the_graph_of_memory(lengths, single, sparse, metric):
    """Also blocks of fewer rows than neighbors, and duplicates, which tie."""
    sparse = sparse and metric != "manhattan"
    rows = rows_like(sum(lengths), 4, dtype=np.float32 if single else np.float64)
    rows[-3:] = rows[0]
    parts = np.split(rows, np.cumsum(lengths)[:-1])
    blocks = lowd.open_blocks([csr_array(part) if sparse else part for part in parts])
    found = lowd.neighbors(blocks, 5, metric=metric)
    expected = lowd.neighbors(csr_array(rows) if sparse else rows, 5, metric=metric)
    close(found.distances, expected.distances, rows.dtype)
    # Of rows that tie but for rounding either may come first.
    swapped = found.indices != expected.indices
    gaps = np.abs(np.diff(np.pad(expected.distances, ((0, 0), (1, 1)), mode="edge"), axis=1))
    tied = np.minimum(gaps[:, 1:], gaps[:, :-1]) < 1e-5
    inner = swapped[:, :-1]
    assert not (inner & ~tied[:, :-1]).any()
    assert found.recall == 1
    assert (found.indices != np.arange(len(rows))[:, None]).all()


def test_files_and_unknown_lengths(tmp_path):
    X = rows_like(120, 5)
    np.save(tmp_path / "x.npy", X)
    expected = lowd.neighbors(X, 4)
    lazy = dask.array.from_array(X, chunks=(40, 2))
    unknown = lazy[dask.array.ones(120, chunks=40, dtype=bool)]
    for source in (lowd.open_blocks(tmp_path / "x.npy", block_rows=33), lazy, unknown):
        found = lowd.neighbors(source, 4)
        same_bits(found.indices, expected.indices)
        close(found.distances, expected.distances)


def test_small_blocks_are_compared_in_runs(monkeypatch):
    """Six blocks, two to a run, are three pairs of runs; a run may be one larger block."""
    monkeypatch.setattr(blocked, "RUN_BYTES", 2 * 10 * 4 * 8)
    X = rows_like(80, 4)
    for lengths, expected in (
        ([10] * 6, [[10] * 4] * 3),
        ([30, 10, 10, 30], [[30, 10, 10], [30, 30], [10, 10, 30]]),
    ):
        blocks = lowd.open_blocks(np.split(X[: sum(lengths)], np.cumsum(lengths)[:-1]))
        groups = blocked.pairs_of_runs(RowBlocks.of(blocks))
        assert sorted([len(part.numbers) for part in group] for group in groups) == sorted(expected)


def test_cells_overlap_as_much_as_neighbors_need():
    """Two centers of one cell each, far apart: only rows between them need both."""
    centers = np.array([[0.0], [1.0], [10.0], [11.0]])
    how = blocked.How("euclidean", None)
    partition = blocked.Partition(centers, np.array([0, 0, 1, 1]), how)
    inside = np.array([[0.2], [9.9], [0.4]])
    found = partition.with_least_overlap(inside, inside + 0.1)
    assert found.n_nearest == 1
    across = np.array([[5.4]])  # 5.6 is nearest to the other cell
    found = partition.with_least_overlap(across, across + 0.2)
    assert found.n_nearest == 2
    assert sorted(found.find_cells(across)[0]) == [0, 1]


def _connect(found):
    """Symmetric affinities: 1 where either row has the other as a neighbor."""
    edges = found.edges()
    edges.data[:] = 1
    return csr_array(edges.maximum(edges.T))


@pytest.mark.parametrize(
    ("model", "take"),
    [
        (lowd.LaplacianEigenmaps(2, affinity="precomputed"), _connect),
        (lowd.Isomap(2, metric="precomputed", n_landmarks=60), lowd.NeighborGraph.graph),
        (lowd.TSNE(2, perplexity=5, metric="precomputed", max_iter=30), lowd.NeighborGraph.graph),
    ],
    ids=["LaplacianEigenmaps", "Isomap", "TSNE"],
)
def test_methods_run_on_the_graph_of_blocks(model, take):
    """The rows are on the workers only: the fit is that of the graph of memory."""
    X = rows_like(150, 3)
    there = take(lowd.neighbors(lowd.open_blocks([X[:70], X[70:]]), 15))
    here = take(lowd.neighbors(X, 15))
    close(fit(model, there).embedding_, fit(model, here).embedding_, factor=1e3)


def test_what_cannot_be_searched_is_said():
    X = rows_like(20, 3)
    blocks = lowd.open_blocks([X[:9], X[9:]])
    with pytest.raises(ParameterError, match="n_neighbors=20 needs at least 21 rows"):
        lowd.neighbors(blocks, 20)
    with pytest.raises(UnsupportedError, match="precomputed"):
        lowd.neighbors(blocks, 3, metric="precomputed")
    X[12, 1] = np.nan
    with pytest.raises(DataError, match=r"NaN at row 12, column 1 \(block 1"):
        lowd.neighbors(lowd.open_blocks([X[:9], X[9:]]), 3)
