"""Short-circuit edges across a bent sheet are reported, and nothing else is."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from sklearn import datasets as sklearn_datasets

import lowd
from lowd.errors import ShortcutWarning
from lowd.spaces import Rows, connected_graph
from lowd.spaces.graph import find_short_circuits

RNG = np.random.default_rng(0)


def found(X, k, d=2):
    X = np.ascontiguousarray(X, np.float64)
    graph = connected_graph(Rows(X), k, None)
    return graph.first_row[find_short_circuits(graph.space.X, graph.joined, d)]


@pytest.mark.parametrize(("n", "k", "true"), [(1000, 10, 5), (1000, 12, 11), (600, 16, 13)])
def test_what_is_found_on_a_roll_is_true(n, k, true):
    roll = lowd.datasets.roll_with_hole(n, seed=2)
    pairs = found(roll.X, k)
    along = roll.truth[pairs, 0]
    assert len(pairs) >= true
    assert (np.abs(along[:, 0] - along[:, 1]) > 15).all()


@pytest.mark.parametrize("method", [lowd.Isomap, lowd.LocallyLinearEmbedding, lowd.LTSA])
def test_a_short_circuited_roll_is_warned_of(method):
    roll = lowd.datasets.roll_with_hole(1000, seed=2)
    with pytest.warns(ShortcutWarning, match="11 edges .*short circuits.* rows 388 and 442"):
        method(2, n_neighbors=12).fit(roll.X)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        method(2, n_neighbors=7).fit(roll.X)


def sheet(u, v):
    return np.column_stack([u, v, np.sin(3 * u)])


SILENT = {
    "iris": sklearn_datasets.load_iris().data,
    "digits": sklearn_datasets.load_digits().data[:400],
    "cloud": RNG.normal(size=(400, 3)),
    "wide cloud": RNG.normal(size=(400, 10)),
    "wave": sheet(*RNG.uniform(size=(2, 500)) * 2),
    "noisy plane": np.column_stack([RNG.uniform(size=(500, 2)), 0.03 * RNG.normal(size=500)]),
    "roll": lowd.datasets.swiss_roll(1500, seed=1).X,
    "noisy S": lowd.datasets.s_curve(600, noise=0.1).X,
    "faces": np.repeat(RNG.random((40, 256)), 10, 0) + 0.1 * RNG.random((400, 256)),
    "groups": sklearn_datasets.make_blobs(300, 3, random_state=0)[0],
}


@pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")
@pytest.mark.parametrize("name", SILENT)
def test_nothing_is_said_where_nothing_cuts_across(name):
    for k in (6, 10, 15, 20):
        assert not len(found(SILENT[name], k))


@pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")
def test_the_only_edge_between_two_sheets_is_not_a_shortcut():
    flat = RNG.uniform(size=(300, 2))
    sheets = np.vstack([np.column_stack([flat, np.full(300, height)]) for height in (0, 1)])
    assert not len(found(sheets, 8))


def test_diagnose_says_how_many_neighbors_do_not_cut_across():
    finding = lowd.diagnose(lowd.datasets.roll_with_hole(1000, seed=2).X).about("short circuits")[0]
    assert "n_neighbors=7 or fewer" in finding.remedy
    assert not lowd.diagnose(lowd.datasets.s_curve(500).X).about("short circuits")
