"""Models stored by earlier versions: they load, and transform new points as they did."""

from __future__ import annotations

import dataclasses
import json
import zipfile
from importlib import import_module
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowd
from cases import close
from lowd.methods import METHODS
from lowd.store import FORMAT
from lowd.store.migrations import FROM_FORMAT, migrate
from lowd.values import VALUE_CLASSES

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*.lowd"))
# Classes that a model of that format can hold, with the names of their fields.
STORED = {1: json.loads((HERE / "format_1.json").read_text())}


def _new_rows(held):
    if held.dtype.kind != "U":
        return held
    table = json.loads(str(held))
    return pd.DataFrame(table["data"], columns=table["columns"])


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_stored_model(path):
    version, name = path.stem.split("-", 1)
    model = lowd.load(path)
    with np.load(path.with_name(f"{version}.npz"), allow_pickle=False) as kept:
        what = "places" if version == "0.1.0" else "coordinates"
        new, expected = _new_rows(kept[f"{name}-new"]), kept[f"{name}-{what}"]
    Y = model.transform(new)
    assert Y.dtype == expected.dtype
    close(Y, expected, Y.dtype)  # the machine that wrote them may round otherwise
    assert model.get_feature_names_out().shape == (Y.shape[1],)


def test_there_is_a_file_of_every_method():
    old = [path for path in FILES if path.stem.startswith("0.1.0")]
    assert {type(lowd.load(path)).__name__ for path in old} == set(METHODS) - {"UMAP"}  # of 0.2.0


def test_files_are_of_the_format_that_they_are_named_after():
    for path in FILES:
        with zipfile.ZipFile(path) as archive:
            found = json.loads(archive.read("model.json"))["format"]
        prefix = path.stem.split("-", 1)[0]
        assert prefix == ("0.1.0" if found == 1 else f"format{found}")


def test_there_is_a_list_of_names_for_every_older_format():
    assert set(STORED) == set(FROM_FORMAT) == set(range(1, FORMAT))


@pytest.mark.parametrize(
    ("number", "name"), [(number, name) for number, names in STORED.items() for name in names]
)
def test_every_stored_class_is_known(number, name):
    """Whatever a class and its fields were called, there is a class that takes them now."""
    for home in set(METHODS.values()):
        import_module(f"lowd.methods.{home}")
    part = {"value": name, "fields": dict.fromkeys(STORED[number][name])}
    tree = {"format": number, "params": {}, "learned": {"map_": {"tuple": [part]}}}
    (found,) = migrate(tree, FORMAT)["learned"]["map_"]["tuple"]
    fields = dataclasses.fields(VALUE_CLASSES[found["value"]])
    required = {field.name for field in fields if field.default is dataclasses.MISSING}
    assert required <= set(found["fields"]) <= {field.name for field in fields}


@pytest.mark.parametrize("number", FROM_FORMAT)
def test_the_table_names_stored_classes_only(number):
    classes = FROM_FORMAT[number].classes
    assert set(classes) <= set(STORED[number])
    for name, change in classes.items():
        assert set(change.fields) <= set(STORED[number][name])


def test_a_dictionary_of_the_user_is_not_taken_for_a_value():
    part = {"dict": {"value": "Given", "fields": "reach_"}}
    tree = {"format": 1, "params": {"metric_params": part}, "learned": {}}
    assert migrate(tree, FORMAT)["params"] == {"metric_params": part}
