"""Charts of the benchmarks draw what was measured, and nothing else."""

from __future__ import annotations

import json

import matplotlib.pyplot as plt
import numpy as np
import pytest

from scripts import ROOT, load_script

charts = load_script("benchmarks/charts.py")


@pytest.fixture(autouse=True)
def closed_figures():
    with plt.rc_context():
        yield
    plt.close("all")


def make_case(rows, **tools):
    return {"shape": [rows, 50], "task": "a task", "tools": tools}


def runs(*warm, **quality):
    return {"first": [9.0], "warm": list(warm), "quality": quality}


def test_seconds_are_drawn_against_rows_without_tools_that_failed():
    cases = {
        "tsne-10k": make_case(10_000, lowd=runs(1.0, 2.0, 30.0), peer={"error": "out of memory"}),
        "tsne-70k": make_case(70_000, lowd=runs(), peer=runs(5.0)),
    }
    panel = charts.draw_growth(cases).axes[0]
    drawn = {line.get_label(): np.asarray(line.get_xydata()).tolist() for line in panel.lines}
    assert drawn == {"lowd": [[10_000, 2.0], [70_000, 9.0]], "peer": [[70_000, 5.0]]}
    assert (panel.get_xscale(), panel.get_yscale()) == ("log", "log")


@pytest.mark.parametrize(("errors", "scale"), [((1.0, 1.2), "linear"), ((0.0, 1.0), "log")])
def test_errors_are_drawn_against_seconds(errors, scale):
    ours, theirs = (
        runs(seconds, KL=error) for seconds, error in zip((1.0, 2.0), errors, strict=True)
    )
    cases = {"tsne-70k": make_case(70_000, lowd=ours, peer=theirs, unmeasured=runs(3.0))}
    panel = charts.draw_quality(cases).axes[0]
    drawn = [np.asarray(line.get_xydata()).ravel().tolist() for line in panel.lines]
    assert drawn == [[1.0, max(errors[0], charts.LEAST)], [2.0, errors[1]]]
    assert panel.get_yscale() == scale


def test_every_case_of_the_charts_was_measured():
    record = json.loads((ROOT / "benchmarks" / "results" / "latest.json").read_text())
    grown = [name for names in charts.GROWTH.values() for name in names]
    assert [name for name in (*grown, *charts.QUALITY) if name not in record["cases"]] == []
    for name, measure in charts.QUALITY.items():
        found = charts.list_runs(record["cases"][name])
        assert any(measure in runs.get("quality", {}) for _, runs in found), name
