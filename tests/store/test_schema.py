"""What a file holds is checked against declarations, and every stored class has one."""

from __future__ import annotations

import dataclasses
import io
import re
import zipfile
from typing import Annotated, TypeVar

import numpy as np
import pytest
import typing_extensions

import lowd
from case_data import rows_like
from cases import fit
from fuzz import FUZZED
from lowd.errors import StoreError
from lowd.store import annotations, schema
from lowd.values import VALUE_CLASSES
from mutations import Model

# They hold a callable, or the user's own objects: never in a file.
NEVER_STORED = {"CallableDistances", "CallableKernel", "KernelDistances", "Sample"}


def _values(held):
    """All values that a model holds, at any depth."""
    if dataclasses.is_dataclass(held):
        for field in dataclasses.fields(held):
            yield from _values(getattr(held, field.name, None))
        if type(held).__name__ in VALUE_CLASSES:
            yield held
        else:
            for learned in vars(held).values():
                yield from _values(learned)
    elif isinstance(held, tuple):
        for item in held:
            yield from _values(item)


def _save(model, path):
    lowd.save(model, path)
    return Model(path.read_bytes())


def _refusal(model, path):
    path.write_bytes(model.to_bytes())
    with pytest.raises(StoreError) as caught:
        lowd.load(path)
    assert str(path) in str(caught.value)
    assert "save the model again" in str(caught.value)
    return str(caught.value)


def test_every_class_that_can_be_stored_is_declared():
    import lowd.pipeline  # noqa: F401 - registers its values

    declared = {cls.__name__ for cls in schema.storable_classes()}
    assert {*VALUE_CLASSES} - declared == NEVER_STORED & {*VALUE_CLASSES}


def test_every_value_of_a_model_is_of_a_declared_class():
    held = {type(v) for case in FUZZED.values() for v in _values(fit(case.model(), case.data()[0]))}
    assert held <= {*schema.storable_classes()}
    assert len(held) > 20


def test_an_undeclared_field_is_found():
    @dataclasses.dataclass
    class Undeclared:
        rows: np.ndarray

    with pytest.raises(annotations.NotDeclaredError, match="rows"):
        annotations.declared_fields(Undeclared)


def test_lle_with_more_rows_than_coordinates_is_refused(tmp_path):
    """It read coordinates beyond the end of their array: whatever the heap held."""
    path = tmp_path / "lle.lowd"
    model = _save(lowd.LocallyLinearEmbedding(2, n_neighbors=8).fit(rows_like(60)), path)
    local = model.tree["learned"]["map_"]["fields"]["then"]["fields"]
    X = model.arrays[local["base"]["fields"]["X"]["array"]]
    local["base"]["fields"]["X"] = {"array": model.add(np.vstack([X, X + 100]))}
    message = _refusal(model, path)
    assert "base.X has n = 120" in message
    assert "has 60" in message


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
        ("PCA", _learned("map_", "W"), np.full((7, 2), np.nan), "holds nan"),
        (
            "PCA",
            _learned("map_", "W"),
            np.ones((7, 2), ">f8"),
            "map_.W holds .* float32 or float64",
        ),
        ("PCA", _learned("map_", "W"), np.ones((8, 2)), "map_.W has d = 8|d = 7, but map_.W has 8"),
        ("PCA", _learned("map_", "W"), np.ones((7, 3)), "k = "),
        ("PCA", _learned("n_features_in_"), 0, "n_features_in_ holds 0"),
        ("PCA", _learned("_n_features_out"), 2**70, "no integer type"),
        ("PCA", _learned("support_", "relation", "measure"), "rbf", "goes with preparation"),
        ("PCA", _learned("support_", "seen"), True, "seen holds True"),
        ("PCA", _learned("map_"), {"tuple": []}, r"map_ holds \(\), but must be a value"),
        ("PCA", _learned("rank_"), {"dict": {}}, "rank_ holds {}"),
        ("Isomap", _learned("map_", "centered", "relation", "first_row"), np.arange(60) - 1, "-1"),
        ("Isomap", _learned("map_", "centered", "relation", "graph"), None, "landmark_distances"),
        ("TSNE", _learned("map_", "kernel"), "cauchy", "'student' or 'gauss' or 'rows'"),
        ("LLE", _learned("map_", "keys"), np.arange(60, dtype="u8")[::-1], "increasing"),
        ("LLE", _learned("map_", "then", "n_neighbors"), 61, "from 1 to 60"),
        ("Hadamard", _learned("map_", "padded"), 2**40, "next power of two"),
        ("MDS-precomputed", _learned("n_features_in_"), 61, "61"),
    ],
)
def test_fields_that_do_not_agree(tmp_path, name, where, new, message):
    case = FUZZED[name]
    model = _save(fit(case.model(), case.data()[0]), tmp_path / "model.lowd")
    part, key = where(model)
    part[key] = {"array": model.add(new)} if isinstance(new, np.ndarray) else new
    found = _refusal(model, tmp_path / "model.lowd")
    assert re.search(message, found), found


def test_parameters_and_map_agree(tmp_path):
    """The metric decides how new rows are validated, so it must be that of the map."""
    path = tmp_path / "model.lowd"
    model = _save(lowd.Isomap(2, metric="manhattan").fit(rows_like(60)), path)
    model.tree["params"]["metric"] = "cosine"
    found = _refusal(model, path)
    assert "'manhattan'" in found
    assert "'cosine'" in found


def test_values_nested_without_end(tmp_path):
    path = tmp_path / "model.lowd"
    model = _save(fit(FUZZED["MDS-manhattan"].model(), rows_like(30)), path)
    relation = model.tree["learned"]["map_"]["fields"]["relation"]["fields"]
    for _ in range(50):
        fields = {"base": relation["base"], "constant": 0.0, "squared": False}
        relation["base"] = {"value": "CorrectedDistances", "fields": fields}
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


def test_type_aliases_are_what_they_stand_for(monkeypatch):
    """NumPy 2.5 writes NDArray as a type alias of Python 3.12."""
    scalar = TypeVar("scalar", bound=np.generic)
    array = np.ndarray[tuple[int, ...], np.dtype[scalar]]
    alias = typing_extensions.TypeAliasType("alias", array, type_params=(scalar,))
    monkeypatch.setattr(annotations, "TYPE_ALIASES", (typing_extensions.TypeAliasType,))
    domain, rules = annotations.split_rules(Annotated[alias[np.float32], "rule"])
    assert annotations.find_kind(domain) == "array"
    assert annotations.list_dtypes(domain) == {np.dtype(np.float32)}
    assert rules == ("rule",)
