"""Small files, and the command as a function."""

from __future__ import annotations

import csv
from typing import NamedTuple

import numpy as np
import pytest


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def lowd_command(capfd):
    """Run `lowd ...` in this process: an import of all its packages takes a second."""
    from lowd.cli import main

    def run(*args):
        capfd.readouterr()
        code = main([str(arg) for arg in args])
        return Ended(code, *capfd.readouterr())

    return run


def three_groups(n=90, d=5):
    """Rows in three groups, which anything can tell apart."""
    rng = np.random.default_rng(0)
    group = np.arange(n) % 3
    return rng.normal(size=(n, d)) + 6.0 * np.eye(3, d)[group], group


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder to work in, with `data.csv`: identifiers, a class, and five numbers."""
    monkeypatch.chdir(tmp_path)
    X, group = three_groups()
    with (tmp_path / "data.csv").open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["id", "class", *(f"x{i}" for i in range(X.shape[1]))])
        for i, row in enumerate(X):
            writer.writerow([f"row{i}", "abc"[group[i]], *(repr(float(v)) for v in row)])
    return tmp_path


def read_csv(path):
    """Column -> list of texts."""
    with open(path, newline="") as file:
        rows = list(csv.DictReader(file))
    return {name: [row[name] for row in rows] for name in rows[0]}
