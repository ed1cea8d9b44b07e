"""The benchmark runs at tiny sizes, and its page says what the numbers say. No time is judged."""

from __future__ import annotations

import csv
import os
import subprocess
import sys

import numpy as np
import pytest
from numpy.testing import assert_allclose

import lowd
from scripts import ROOT, load_script

report = load_script("benchmarks/report.py")
run = load_script("benchmarks/run.py")
quality = sys.modules["quality"]
CONTEXT = {
    "version": "1.0", "commit": "abc", "date": "2026-11-20", "machine": "CPU, 2 cores, 24 GB",
    "threads": "2", "busy": "0.00", "data": "MNIST",
}  # fmt: skip


def make_records(row, tool, seconds, first=9.0, size=0.0, error="", **qualities):
    found = [("error", error)] if error else [("first seconds", first), ("bytes", size)]
    found += [("seconds", value) for value in seconds]
    found += [(name.replace("_", " "), value) for name, value in qualities.items()]
    common = {"row": row, "tool": tool, "call": "0", **CONTEXT}
    return [common | {"quantity": name, "value": str(value)} for name, value in found]


def find_behind(records):
    ((name, tools),) = report.collect(records).items()
    return list(report.find_behind(name, tools))


def run_script(script, *options):
    paths = [str(ROOT / "src"), os.environ.get("PYTHONPATH", "")]
    env = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, paths)), "MPLBACKEND": "Agg"}
    command = [sys.executable, str(ROOT / "benchmarks" / script), "--smoke", *map(str, options)]
    done = subprocess.run(command, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_a_smoke_run_measures_time_memory_and_quality(tmp_path):
    out = tmp_path / "smoke.csv"
    run_script("run.py", "--rows", "kernel-pca", "--data", tmp_path, "--out", out)
    with out.open(encoding="utf-8", newline="") as file:
        records = list(csv.DictReader(file))
    results = report.collect(records)
    assert list(results) == ["kernel-pca"]
    assert list(results["kernel-pca"]) == ["lowd", "scikit-learn"]
    for result in results["kernel-pca"].values():
        assert not result.error
        assert len(result.seconds) == 2
        assert min(*result.seconds, result.first) > 0
        assert 0 <= result.quality["kernel angle"] < 1e-3
        assert (result.bytes is not None) == sys.platform.startswith("linux")
    assert {record["data"] for record in records} == {"drawn images (mnist.npz is not there)"}
    assert "| **lowd** |" in report.make_page(records, [])


def test_rows_that_are_measured_again_replace_their_own_only(tmp_path):
    out = tmp_path / "results.csv"
    run.write(out, "mds", make_records("mds", "lowd", [1.0]))
    run.write(out, "tsne", make_records("tsne", "lowd", [2.0]))
    run.write(out, "mds", make_records("mds", "lowd", [3.0]))
    results = report.collect(run.read_records(out))
    assert {name: tools["lowd"].seconds for name, tools in results.items()} == {
        "tsne": [2.0],
        "mds": [3.0],
    }


def test_the_shortest_call_and_the_spread_are_shown_without_the_first():
    records = make_records("mds", "lowd", [0.2, 0.1, 0.15], first=7.0, size=3e6, stress=0.25)
    records += make_records("mds", "scikit-learn", [0.5, 0.3], first=8.0, size=4e6, stress=0.25)
    lines = report.make_page(records, []).splitlines()
    ours, theirs = (
        [cell.strip() for cell in line.split("|")[1:-1]]
        for line in lines
        if line.startswith("|") and ("**lowd**" in line or "| scikit-learn |" in line)
    )
    assert ours[2:7] == ["100 ms", "2.00", "1", "3 MB", "stress 0.250"]
    assert theirs[2:7] == ["300 ms", "1.67", "3", "4 MB", "stress 0.250"]
    assert ours[7] == ""
    assert theirs[7] == "n_init=1, init=classical_mds"
    assert any("scikit-learn: 8 s instead of 300 ms" in line for line in lines)


@pytest.mark.parametrize(
    ("ours", "theirs", "words"),
    [
        ({}, {}, None),
        ({}, {"seconds": [1.9, 0.9]}, "time 900 ms, lowd 1 s"),
        ({}, {"size": 79e6}, "memory 79 MB, lowd 100 MB"),
        ({}, {"size": 81e6}, None),
        ({"size": 1e6}, {"size": 0.1e6}, None),  # less than a mebibyte apart
        ({"stress": 0.3}, {"stress": 0.29}, "stress 0.290, lowd 0.300"),
        ({"stress": 0.3}, {"stress": 0.296}, None),  # 2 % matter
        ({"stress": 0.3}, {"stress": 0.4}, None),
    ],
)
def test_where_lowd_is_not_ahead(ours, theirs, words):
    same = {"seconds": [1.0, 2.0], "size": 100e6, "stress": 0.3}
    records = make_records("mds", "lowd", **same | ours)
    records += make_records("mds", "scikit-learn", **same | theirs)
    found = find_behind(records)
    assert found == (
        [] if words is None else [f"- metric MDS of 2,000 × 50 – scikit-learn: {words}"]
    )


def test_more_is_better_of_recall_and_less_of_errors():
    assert report.is_better("recall", 0.999, 0.99)
    assert not report.is_better("recall", 0.99, 0.999)
    assert not report.is_better("recall", 0.999, 0.998)
    assert report.is_better("affine error", 0.01, 0.02)
    assert not report.is_better("angle", 1e-9, 5e-5)  # rounding of float32 data


def test_a_failure_is_shown_and_counts_only_against_its_tool():
    records = make_records("mds", "lowd", [1.0], stress=0.3)
    records += make_records("mds", "scikit-learn", [], error="out of memory")
    assert find_behind(records) == []
    assert "failed: out of memory" in report.make_page(records, [])
    records = make_records("mds", "lowd", [], error="out of memory")
    records += make_records("mds", "scikit-learn", [1.0], stress=0.3)
    assert find_behind(records) == ["- metric MDS of 2,000 × 50: lowd failed (out of memory)"]


def test_other_methods_are_not_compared():
    records = make_records("methods", "lowd, t-SNE", [5.0])
    records += make_records("methods", "PaCMAP", [1.0])
    assert find_behind(records) == []
    assert "different methods" in report.make_page(records, [])


def test_the_commit_and_day_of_each_row_are_named():
    records = make_records("mds", "lowd", [1.0])
    records += [r | {"commit": "def", "busy": "1.5"} for r in make_records("tsne", "lowd", [1.0])]
    page = report.make_page(records, [])
    assert "commit abc, 2026-11-20, CPU, 2 cores, 24 GB, 2 threads: mds\n" in page
    assert "commit def, 2026-11-20, CPU, 2 cores, 24 GB, 2 threads: tsne\n" in page
    assert "busy before: tsne (1.5 CPUs)" in page


def test_no_result_is_claimed_where_none_was_measured():
    page = report.make_page([], [])
    assert "not measured yet" in page
    assert "not ahead" not in page


def test_speed_against_cores_is_that_of_the_shortest_calls():
    lines = [
        CONTEXT | {"row": row, "threads": str(threads), "seconds": str(seconds)}
        for row, threads, seconds in (
            ("mds", 1, 8.0),
            ("mds", 2, 4.0),
            ("mds", 4, 2.5),
            ("mds", 4, 3.0),
        )
    ]
    page = report.make_page(make_records("mds", "lowd", [1.0]), lines)
    assert "with 4 threads as with one: mds 3.2." in page
    (axes,) = report.draw_cores(lines).axes
    assert np.allclose(axes.lines[0].get_xydata(), [[1, 1], [2, 2], [4, 3.2]])


def test_every_result_is_drawn_once():
    records = make_records("mds", "lowd", [0.2, 0.1], size=2e6)
    records += make_records("mds", "scikit-learn", [], error="out of memory")
    records += make_records("tsne", "lowd", [3.0], size=5e6)
    seconds, memory = report.draw_rows(report.collect(records)).axes
    drawn = [
        [tuple(line.get_xydata()[0]) for line in axes.lines if len(line.get_xydata())]
        for axes in (seconds, memory)
    ]
    assert drawn == [[(3.0, 0), (0.1, 1)], [(5.0, 0), (2.0, 1)]]


def test_calls_in_turn_are_five_or_three_of_slow_tools():
    worker = object.__new__(run.Worker)
    worker.error = ""
    for seconds, wanted in ((9.9, 5), (10.1, 3)):
        worker.calls = [(60.0, 0), (seconds, 0)]
        assert [turn for turn in range(9) if worker.wants(turn, 5)] == list(range(wanted))
        assert [turn for turn in range(9) if worker.wants(turn, 2)] == [0, 1]
    worker.error = "failed"
    assert not worker.wants(0, 5)


def test_recall_is_the_share_of_true_neighbors_and_ties_count():
    X = np.array([[0.0], [1], [2], [3], [10], [11]], np.float32)
    rows = np.arange(6)
    nearest = quality.find_nearest(X, rows, 6, 2)
    assert [set(near.tolist()) for near in nearest[[0, 3, 5]]] == [{1, 2}, {1, 2}, {3, 4}]
    assert quality.measure_recall(X, rows, nearest, nearest) == 1
    wrong = np.where(nearest == nearest[:, :1], 5 - rows[:, None], nearest)
    assert quality.measure_recall(X, rows, wrong, nearest) < 1
    assert quality.measure_recall(X, rows[1:2], np.array([[0, 2, 1]]), nearest[1:2]) == 1


def test_the_divergence_is_that_of_the_definition():
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(4, 10)) * 20, 50, axis=0) + rng.normal(size=(200, 10))
    X = X.astype(np.float32)
    model = lowd.TSNE().fit(X)
    found = quality.measure_divergence(X, model.embedding_.astype(float), 0)
    assert_allclose(found, model.kl_divergence_, rtol=1e-3)


def test_neighbors_are_kept_by_the_data_and_not_by_noise():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 2)).astype(np.float32)
    assert quality.measure_kept(X, X.astype(float), 0) == 1
    assert quality.measure_kept(X, X.astype(float), 20) == 1
    assert quality.measure_kept(X, rng.normal(size=(300, 2)), 0) < 0.2


@pytest.mark.parametrize("name", list(report.ROWS))
def test_every_row_has_lowd_known_measures_and_no_setting_twice(name):
    row = report.ROWS[name]
    assert next(iter(row.tools)) == ("lowd" if row.same_answer else "lowd, t-SNE")
    assert len(row.tools) > 1
    assert set(row.measures) <= set(quality.MEASURES)
    for tool in row.tools.values():
        assert not set(tool.task) & set(tool.changed)


def test_twelve_rows_are_the_headline_and_all_are_about_25():
    assert len(report.HEADLINE) == 12
    assert 20 <= len(report.ROWS) <= 28
