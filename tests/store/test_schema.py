"""What a file holds is checked by the declared fields of the classes, and every class has them."""

from __future__ import annotations

import io
import re
import zipfile

import numpy as np
import pytest
from scipy.sparse import issparse

import lowd
from case_data import rows_like
from cases import fit
from fuzz import FUZZED
from lowd.errors import StoreError
from lowd.parameters import Held, state_of
from lowd.reducer import Reducer
from mutations import Model

PLAIN = bool | int | float | str | None
# What only helps to compute: a fit and a load make it anew.
TRANSIENT = {"_statistics"}


def _undeclared(owner):
    """Fields of a model, or of what it holds, that no class declares."""
    declared = state_of(type(owner))
    for name, held in vars(owner).items():
        is_parameter = isinstance(owner, Reducer) and name in owner.get_params(deep=False)
        if name not in declared and not is_parameter and name not in TRANSIENT:
            yield f"{type(owner).__name__}.{name}"
        for part in held if isinstance(held, tuple | list) else [held]:
            if isinstance(part, Held | Reducer) and name in declared:
                yield from _undeclared(part)


@pytest.mark.parametrize("name", FUZZED)
def test_all_that_a_model_holds_is_declared_and_stored(name, tmp_path):
    case = FUZZED[name]
    model = fit(case.model(), case.data()[0])
    lowd.save(model, tmp_path / "model.lowd")
    twin = lowd.load(tmp_path / "model.lowd")
    assert set(_undeclared(twin)) == set()
    lost = set(vars(model)) - set(vars(twin)) - TRANSIENT
    assert not lost, "no class declares them, so that no file holds them"
    for attribute, held in vars(model).items():
        if isinstance(held, np.ndarray) and attribute not in TRANSIENT:
            np.testing.assert_array_equal(getattr(twin, attribute), held)
        elif issparse(held):
            assert (getattr(twin, attribute) != held).nnz == 0
        elif isinstance(held, PLAIN) and attribute not in TRANSIENT:
            assert getattr(twin, attribute) == held or held != held


def _save(model, path):
    lowd.save(model, path)
    return Model(path.read_bytes())


def _refusal(model, path):
    path.write_bytes(model.to_bytes())
    with pytest.raises(StoreError) as caught:
        lowd.load(path)
    assert str(path) in str(caught.value)
    assert re.search("save (the model|it) again", str(caught.value))
    return str(caught.value)


def test_lle_with_more_rows_than_coordinates_is_refused(tmp_path):
    """It read coordinates beyond the end of their array: whatever the heap held."""
    path = tmp_path / "lle.lowd"
    model = _save(lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(rows_like(60)), path)
    rows = _learned("_space", "base", "X")(model)
    X = model.arrays[rows[0]["X"]["array"]]
    rows[0]["X"] = {"array": model.add(np.vstack([X, X + 100]))}
    message = _refusal(model, path)
    assert "120" in message
    assert "60" in message


def _learned(*keys):
    def find(model):
        part = model.tree["learned"]
        for key in keys[:-1]:
            part = part[key]["fields"]
        return part, keys[-1]

    return find


@pytest.mark.parametrize(
    ("name", "where", "new", "message"),
    [
        ("PCA", _learned("components_"), np.ones((2, 8)), r"has the shape \(2, 8\), but must be"),
        ("PCA", _learned("components_"), np.ones((3, 7)), "shape"),
        ("PCA", _learned("components_"), np.full((2, 7), "x"), "not numbers"),
        ("PCA", _learned("n_features_in_"), 0, "shape"),
        ("MDS-euclidean", _learned("_n_features_out"), 4, "shape"),
        ("PCA", _learned("_n_features_out"), 2**70, "no integer type"),
        ("PCA", _learned("mean_"), {"tuple": []}, r"mean_ holds \(\), but must be"),
        ("PCA", _learned("rank_"), {"dict": {}}, "rank_ holds {}"),
        ("Isomap", _learned("_space", "lists", "points"), np.arange(60) - 1, "below"),
        ("Isomap", _learned("_space", "base", "metric"), 3, "metric"),
        ("Isomap", _learned("_embedded", "X"), np.ones((61, 2)), "shape"),
        ("TSNE", _learned("init_used_"), 3, "init_used_ holds 3"),
        ("Hadamard", _learned("_rows"), np.arange(4) * 7, "below"),
        ("MDS-gower", _learned("_space", "codes"), np.full((60, 2), 9), ""),
    ],
)
def test_fields_that_do_not_agree(tmp_path, name, where, new, message):
    case = FUZZED[name]
    model = _save(fit(case.model(), case.data()[0]), tmp_path / "model.lowd")
    part, key = where(model)
    part[key] = {"array": model.add(new)} if isinstance(new, np.ndarray) else new
    found = _refusal(model, tmp_path / "model.lowd")
    assert re.search(message, found), found


def test_values_nested_without_end(tmp_path):
    path = tmp_path / "model.lowd"
    model = _save(fit(FUZZED["Isomap"].model(), rows_like(30)), path)
    space = model.tree["learned"]["_space"]
    for _ in range(50):
        fields = {"base": dict(space), "lists": space["fields"]["lists"]}
        space = {"state": "Listed", "fields": fields}
    model.tree["learned"]["_space"] = space
    assert "nested" in _refusal(model, path)


@pytest.mark.parametrize(
    "shape", ["(10000000000, 10000000)", "(4611686018427387904, 8)", "(-1, 2)"]
)
def test_a_header_that_claims_a_huge_array(tmp_path, shape):
    path = tmp_path / "model.lowd"
    lowd.save(lowd.PCA(2).fit(rows_like(9, 3)), path)
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    text = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}".encode()
    padded = text + b" " * (117 - len(text)) + b"\n"
    members["0.npy"] = b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + bytes(64)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    path.write_bytes(out.getvalue())
    with pytest.raises(StoreError, match=r"model\.lowd"):
        lowd.load(path)
