"""The table of contracts tells tools that keep a contract from tools that break it."""

from __future__ import annotations

import itertools
import sys
import warnings

import numpy as np
import pytest

from scripts import load_script

contracts = load_script("benchmarks/contracts.py")


class Plane:
    """The first two columns, centered: keeps every contract."""

    def __init__(self, _, jobs):
        self.jobs = jobs

    def fit_transform(self, X):
        self.mean = np.mean(X, axis=0, dtype=float)
        return Plane.transform(self, X)

    def transform(self, X):
        return (X - self.mean)[:, :2]


class Unmapped:
    def __init__(self, seed, jobs):
        pass

    def fit_transform(self, X):
        return X[:, :2]


class BatchCentered(Plane):
    def transform(self, X):
        return (X - X.mean(0))[:, :2]


class Moved(Plane):
    def transform(self, X):
        return super().transform(X) + 1


class Writing(Plane):
    def transform(self, X):
        X *= 2
        return super().transform(X)


class Drifting(Plane):
    def transform(self, X):
        self.mean = self.mean + 1e-9
        return super().transform(X)


class Remembering(Plane):
    """A batch of larger values changes what later ones get."""

    largest = 0.0

    def transform(self, X):
        self.largest = max(self.largest, np.abs(X).max())
        return super().transform(X) / self.largest


class Unseeded(Plane):
    calls = itertools.count()

    def fit_transform(self, X):
        return super().fit_transform(X) + 1e-12 * next(self.calls)


class Threaded(Plane):
    def fit_transform(self, X):
        return super().fit_transform(X) * (1 + 1e-12 * self.jobs)


class Ordered(Plane):
    def fit_transform(self, X):
        return super().fit_transform(X) + np.arange(len(X))[:, None]


class Uncentered(Plane):
    def fit_transform(self, X):
        return super().fit_transform(X / np.linalg.norm(X, axis=1, keepdims=True))


class Overflowing(Plane):
    def transform(self, X):
        with np.errstate(over="ignore"):
            return np.exp(super().transform(X) ** 2)


class Refusing(Plane):
    def transform(self, _):
        raise ValueError("far from the training points")


class Warner(Plane):
    def fit_transform(self, X):
        warnings.warn("the graph has 2 connected components", UserWarning, stacklevel=2)
        return super().fit_transform(X)


def make_tool(cls, method="PCA"):
    return contracts.Tool("lowd", method, cls)


@pytest.mark.parametrize("name", [name for name in contracts.CONTRACTS if "graph" not in name])
def test_a_tool_that_keeps_every_contract(name):
    assert contracts.CONTRACTS[name](make_tool(Plane)) == contracts.YES


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("maps new points", Unmapped),
        ("new points do not depend on their batch", BatchCentered),
        ("training points get their coordinates", Moved),
        ("`transform` changes nothing", Writing),
        ("`transform` changes nothing", Drifting),
        ("`transform` changes nothing", Remembering),
        ("two fits give the same bits", Unseeded),
        ("threads do not change the bits", Threaded),
        ("the order of rows does not matter", Ordered),
        ("a large offset does not matter", Uncentered),
        ("far points stay finite", Overflowing),
    ],
)
def test_a_tool_that_breaks_one(name, cls):
    assert contracts.CONTRACTS[name](make_tool(cls)) == contracts.NO


def test_a_far_point_may_be_refused():
    assert contracts.stays_finite(make_tool(Refusing)) == contracts.YES


def test_a_tool_without_transform_is_not_judged_by_it():
    for check in (contracts.is_batch_independent, contracts.returns_training_points,
                  contracts.is_pure, contracts.stays_finite):  # fmt: skip
        assert check(make_tool(Unmapped)) == contracts.NONE


def test_a_disconnected_graph_must_be_reported_by_graph_methods():
    assert contracts.reports_disconnection(make_tool(Warner, "Isomap")) == contracts.YES
    assert contracts.reports_disconnection(make_tool(Plane, "Isomap")) == contracts.NO
    assert contracts.reports_disconnection(make_tool(Plane, "PCA")) == contracts.NONE


def test_the_table_names_errors_and_replaces_the_one_of_the_page(tmp_path, monkeypatch):
    class Broken(Plane):
        def transform(self, _):
            raise TypeError

    page = tmp_path / "page.md"
    page.write_text(f"before\n{contracts.BEGIN}\nold\n{contracts.END}\nafter\n", encoding="utf-8")
    monkeypatch.setattr(contracts, "list_tools", lambda: [make_tool(Broken), make_tool(Plane)])
    monkeypatch.setattr(sys, "argv", ["contracts.py", "--write", str(page)])
    contracts.main()
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert text.startswith("before\n")
    assert text.endswith("after\n")
    first, second = (line for line in text.splitlines() if "| lowd |" in line)
    assert "**no (TypeError)**" in first
    assert "no" not in second
    assert text.count("| PCA |") == 1  # the second row of a method leaves its name out
