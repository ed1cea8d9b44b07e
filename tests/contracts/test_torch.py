"""Contracts of the torch backend: the embeddings of the core, arrays of torch in and out, files.

On a GPU or on torch's CPU build; a selection, since most of what a fit does is not the backend's.
"""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install 'lowd[gpu]')")

import torch

import lowd
from case_data import rows_like
from cases import FIRST, FIRST_LARGE, close, each, fit, fitted, same_bits
from lowd.errors import NotEnoughMemoryError
from lowd.on_torch import arrays
from torch_operands import on_a_gpu

# Their descents take the rounding of every step to the next.
ITERATED = ("TSNE", "SNE", "UMAP", "MDS", "NonMetricMDS")
# Forces on two meshes differ by a percent, and steps amplify that. These descents end after 60 of
# them, where what is minimized still falls: there it differed by 1.3 %.
ON_A_MESH = {"TSNE-mesh": "kl_divergence_", "UMAP-mesh": "loss_"}
# Paths between 1200 points are found on a GPU; on torch's CPU build they take a minute.
LARGE = [case for case in FIRST_LARGE if case.method != "Isomap"]


@pytest.fixture(autouse=True)
def _all_sizes_on_the_device(monkeypatch):
    """Also few rows, which the core would take."""
    monkeypatch.setattr(arrays, "smallest_share", 0.0)


@each([*FIRST, *LARGE])
def test_embeddings_and_maps_are_those_of_the_core(case):
    X, new = case.data()
    ours, theirs = fit(case.model("torch"), X), fitted(case)
    if case.name in ON_A_MESH:
        found, expected = (getattr(model, ON_A_MESH[case.name]) for model in (ours, theirs))
        assert abs(found - expected) < 0.03 * expected
        assert np.isfinite(ours.transform(new)).all()
    else:
        factor = 1e6 if case.method in ITERATED else 1e4
        if hasattr(theirs, "embedding_"):
            close(ours.embedding_, theirs.embedding_, factor=factor)
        close(ours.transform(new), theirs.transform(new), factor=factor)


@each(FIRST)
def test_torch_in_torch_out(case):
    X, new = (torch.from_numpy(np.array(part)).to(arrays.device()) for part in case.data())
    model = case.model("torch")
    Y = fit(model, X).transform(new)
    assert isinstance(Y, torch.Tensor)
    assert Y.device == X.device
    assert Y.dtype == X.dtype
    same_bits(Y.cpu().numpy(), model.transform(new.cpu().numpy()))
    if hasattr(model, "embedding_"):
        assert isinstance(model.embedding_, np.ndarray)


def test_auto_computes_where_the_rows_are():
    X = torch.from_numpy(rows_like(80))
    model = lowd.PCA(2)
    Y = model.fit_transform(X)
    assert isinstance(Y, torch.Tensor)
    same_bits(Y.numpy(), lowd.PCA(2, backend="native").fit_transform(X.numpy()))
    back = model.inverse_transform(Y)
    assert isinstance(back, torch.Tensor)
    _, confidence = model.transform(X, return_confidence=True)
    assert isinstance(confidence, torch.Tensor)
    assert model.backend == "auto"


@on_a_gpu
@pytest.mark.parametrize("method", [lowd.PCA, lowd.TSNE, lowd.UMAP])
def test_auto_computes_on_the_gpu_where_a_tensor_is(method):
    X = torch.from_numpy(rows_like(2000).astype(np.float32)).cuda()
    model = method(2)
    Y = model.fit_transform(X)
    assert Y.device == X.device
    assert model.transform(X[:5]).device == X.device
    assert model.backend == "auto"
    expected = method(2, backend="torch").fit_transform(X.cpu().numpy())
    same_bits(Y.cpu().numpy(), expected)
    assert isinstance(method(2).fit_transform(X.cpu().numpy()), np.ndarray)


def test_rows_that_need_gradients_and_integers_are_taken():
    X = rows_like(60)
    expected = lowd.PCA(2).fit_transform(X)
    same_bits(lowd.PCA(2).fit_transform(torch.tensor(X, requires_grad=True)).numpy(), expected)
    Y = lowd.PCA(2).fit_transform(torch.arange(60).reshape(20, 3) ** 2)
    assert Y.dtype == torch.float64


def test_a_model_of_the_device_maps_without_torch(tmp_path):
    X = np.vstack([rows_like(300), rows_like(300, seed=1) + 9])
    model = lowd.TSNE(max_iter=50, backend="torch").fit(X)
    lowd.save(model, tmp_path / "model.lowd")
    np.save(tmp_path / "new.npy", X[:5] + 0.01)
    script = """
import sys
from importlib import util
find = util.find_spec
util.find_spec = lambda name, *where: None if name == "torch" else find(name, *where)
import numpy as np, lowd
model = lowd.load("model.lowd").set_params(backend="auto")
np.save("found.npy", model.transform(np.load("new.npy")))
assert "torch" not in sys.modules
assert lowd.backend.backends() == ["native"]
"""
    subprocess.run([sys.executable, "-c", script], check=True, timeout=120, cwd=tmp_path)
    found = np.load(tmp_path / "found.npy")
    close(found, model.transform(X[:5] + 0.01), factor=1e4)


def test_too_little_memory_leaves_the_model_as_it_was(monkeypatch):
    X = rows_like(900)
    model = lowd.TSNE(max_iter=20, backend="torch").fit(X)
    before = model.embedding_
    monkeypatch.setattr(arrays, "free_bytes", lambda: 2**16)
    with pytest.raises(NotEnoughMemoryError, match="backend='native' computes it"):
        model.fit(X)
    assert model.embedding_ is before


@on_a_gpu
@pytest.mark.parametrize("method", [lowd.TSNE, lowd.UMAP, lowd.Isomap])
def test_a_gpu_that_is_full(method):
    """Its allocator refuses more while an operation runs: an error that says what to do."""
    X = rows_like(20_000).astype(np.float32)
    model = method(2, backend="torch")
    torch.cuda.empty_cache()
    total = torch.cuda.get_device_properties(0).total_memory
    torch.cuda.set_per_process_memory_fraction(2**24 / total)
    try:
        with pytest.raises(NotEnoughMemoryError, match="backend='native' computes it"):
            model.fit(X)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert not hasattr(model, "embedding_")
    assert np.isfinite(model.fit(X[:3000]).embedding_).all()
