"""Models that earlier versions have written: they load, and place new rows where they did."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import lowd
from cases import close
from lowd.methods import METHODS

FILES = sorted(Path(__file__).parent.glob("*.lowd"))


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
        new, expected = _new_rows(kept[f"{name}-new"]), kept[f"{name}-places"]
    places = model.transform(new)
    assert places.dtype == expected.dtype
    close(places, expected, places.dtype)  # the machine that wrote them may round otherwise
    assert model.get_feature_names_out().shape == (places.shape[1],)


def test_there_is_a_file_of_every_method():
    assert {type(lowd.load(path)).__name__ for path in FILES} == set(METHODS)
