"""Progress reports, listeners and callbacks; an exception cancels and leaves nothing half-done."""

# ruff: noqa: ARG002 - a callback has its protocol's signature

from __future__ import annotations

import contextlib
import itertools
import re
from types import SimpleNamespace

import numpy as np
import pytest

import lowd
from case_data import rows_like
from cases import BY_NAME, fingerprint, fit, same_bits
from lowd import progress
from lowd.errors import Cancelled

# Work of every kind that reports: Python loops, an iterative solver, pivoting, native kernels.
LONG = {
    "words": lambda: (BY_NAME["MDS-words"].model(), BY_NAME["MDS-words"].data()[0]),
    "axes": lambda: (lowd.PCA(2), rows_like(2500, 600)),
    "pivots": lambda: (
        lowd.KernelPCA(2, kernel="rbf", n_landmarks=50),
        rows_like(200),
    ),
    "spectrum": lambda: (
        lowd.KernelPCA(2, kernel="rbf"),
        rows_like(1200, 5),
    ),
}
long_work = pytest.mark.parametrize("work", LONG)


@long_work
def test_every_stage_is_reported_to_listeners(work):
    model, X = LONG[work]()
    reports = []
    with progress.listening(lambda *step: reports.append(step)):
        fit(model, X)
    assert reports
    for stage, done, total in reports:
        assert isinstance(stage, str)
        assert 0 < done <= total
    for stage in {step[0] for step in reports}:
        steps = [done for name, done, _ in reports if name == stage]
        assert steps == sorted(steps)
    count = len(reports)
    fit(model, X)
    assert len(reports) == count  # outside the block nobody listens


def test_listeners_nest_and_leave_in_order():
    inner, outer = [], []
    with progress.listening(lambda *step: outer.append(step)):
        with progress.listening(lambda *step: inner.append(step)):
            progress.report("a", 1, 2)
        progress.report("b", 1, 2)
    progress.report("c", 1, 2)
    assert inner == [("a", 1, 2)]
    assert outer == [("a", 1, 2), ("b", 1, 2)]


def test_listeners_belong_to_their_thread():
    """Two fits at once do not report to each other."""
    from concurrent.futures import ThreadPoolExecutor

    def totals_of(n):
        totals = set()
        model = lowd.ClassicalMDS(1, metric=lambda a, b: abs(a - b))
        with progress.listening(lambda *step: totals.add((step[0], step[2]))):
            model.fit(list(range(n)))
        return {total for stage, total in totals if stage == "distances"}

    with ThreadPoolExecutor(2) as pool:
        assert list(pool.map(totals_of, [40, 50])) == [{40}, {50}]


class _StopError(Exception):
    pass


@long_work
@pytest.mark.parametrize("at", [1, 3])
def test_an_exception_cancels_and_leaves_the_model_as_it_was(work, at):
    model, X = LONG[work]()
    steps = []

    def listener(*step):
        steps.append(step)
        if len(steps) == at:
            raise _StopError

    with progress.listening(listener), pytest.raises(_StopError):
        fit(model, X)
    assert len(steps) == at
    assert not any(name.endswith("_") for name in vars(model))
    fit(model, X)
    before, Y = fingerprint(model), model.transform(X[:5])
    steps.clear()
    with progress.listening(listener), pytest.raises(_StopError):
        fit(model, X[:-1])
    assert fingerprint(model) == before
    same_bits(model.transform(X[:5]), Y)


def test_a_cancelled_partial_fit_can_go_on():
    X = rows_like(200, 6)
    model = lowd.PCA(2).partial_fit(X[:100])
    before = fingerprint(model)
    X_bad = X[100:].copy()
    X_bad[3, 2] = np.nan
    with pytest.raises(lowd.errors.DataError):
        model.partial_fit(X_bad)
    assert fingerprint(model) == before
    model.partial_fit(X[100:])
    np.testing.assert_allclose(model.mean_, X.mean(0))


@pytest.mark.parametrize("verbose", [True, 1])  # as scikit-learn's
def test_verbose_shows_a_bar_on_standard_error(verbose, capfd):
    case = BY_NAME["MDS-words"]
    X, Q = case.data()
    model = fit(case.model(verbose=verbose), X)
    out, err = capfd.readouterr()
    assert out == ""
    assert "distances" in err
    assert "60/60" in err
    assert " 0 s left" not in err
    assert err.endswith("\n")
    model.transform(Q)
    assert "distances" in capfd.readouterr().err
    fit(case.model(), X).transform(Q)
    assert capfd.readouterr() == ("", "")


def test_the_bar_is_closed_after_an_error(capfd):
    def metric(a, b):
        return -1.0 if a == "stop" or b == "stop" else 1.0

    with pytest.raises(lowd.errors.DataError):
        lowd.ClassicalMDS(1, metric=metric, verbose=True).fit(["a", "b", "c", "stop"])
    assert capfd.readouterr().err.endswith("\n")


@pytest.mark.parametrize("is_terminal", [False, True])
def test_a_stage_that_is_over_is_shown_as_done(is_terminal, capfd, monkeypatch):
    """Kernels report now and then, so that the last report is seldom of the end."""
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: is_terminal)
    for broken in (False, True):
        with contextlib.suppress(ZeroDivisionError), progress.bar() as show:
            show("neighbors", 3, 8)
            show("descent", 5, 8)
            assert not broken or 1 / 0
        lines = capfd.readouterr().err.split("descent")
        assert "8/8" in lines[0]
        assert ("8/8" in lines[-1]) is not broken


def test_the_time_left_of_an_outer_stage_counts_from_its_beginning(monkeypatch):
    """Products of matrices between the iterations do not make these look finished."""
    seconds = itertools.count(0, 10)
    monkeypatch.setattr(progress, "time", SimpleNamespace(monotonic=lambda: float(next(seconds))))
    show, left = progress._Bar(), []
    monkeypatch.setattr(progress, "_readable_time", lambda left_: left.append(left_) or "")
    for done in range(1, 5):
        show("matrix product", 8, 8)
        show("eigenvectors", done, 10)
    show("eigenvectors", 1, 10)  # begins again
    show.close()
    # Of a stage that is done no time is reported: what follows it is not known.
    assert [seconds for seconds in left if seconds is not None] == [160, 140, 120]


def test_a_terminal_has_a_line_for_each_stage(capfd, monkeypatch):
    """Stages within one another take turns, and do not fill the screen."""
    monkeypatch.setattr(progress.sys.stderr, "isatty", lambda: True)
    with progress.bar() as show:
        for done in range(1, 9):
            show("inner", 2, 2)
            show("outer", done, 8)
    rows, at = {}, 0
    for part in re.split(r"(\x1b\[\dF|\n)", capfd.readouterr().err):
        at += 1 if part == "\n" else -int(part[2]) if part.startswith("\x1b[") else 0
        if part.endswith("\x1b[K"):
            rows[at] = part.removesuffix("\x1b[K").split()
    assert [(row[0], row[2]) for row in rows.values()] == [("inner", "2/2"), ("outer", "8/8")]
    assert sorted(rows) == [0, 1]


class Recorder:
    """A scikit-learn callback that records its events, and may ask to stop."""

    def __init__(self, stop_at=None):
        self.events, self.stop_at = [], stop_at

    def setup(self, estimator, context):
        self.events.append(("setup", context.task_name))

    def teardown(self, estimator, context):
        self.events.append(("teardown", context.task_name))

    def on_fit_task_begin(self, estimator, context, **_):
        self.events.append(("begin", context.task_name))

    def on_fit_task_end(self, estimator, context, **_):
        self.events.append(("end", context.task_name))
        return self.stop_at is not None and self.count("end") >= self.stop_at

    def count(self, kind):
        return sum(event[0] == kind for event in self.events)


callback = pytest.importorskip(
    "sklearn.callback", reason="scikit-learn before 1.9 has no callbacks"
)


@long_work
def test_scikit_learn_callbacks_see_begin_and_end(work):
    model, X = LONG[work]()
    recorder = Recorder()
    fit(model.set_callbacks(recorder), X)
    events = recorder.events
    assert recorder.count("setup") == recorder.count("teardown") == 1
    assert events[0][0] == "setup"
    assert events[-1][0] == "teardown"
    assert events[1] == ("begin", "fit")
    assert events[-2] == ("end", "fit")
    assert recorder.count("begin") == recorder.count("end") > 1
    fit(model, X)  # and again: the callback stays on the model
    assert recorder.count("setup") == 2


def test_scikit_learn_callback_without_steps():
    recorder = Recorder()
    lowd.PCA(1).set_callbacks(recorder).fit(rows_like(10))
    assert [event[0] for event in recorder.events] == ["setup", "begin", "end", "teardown"]


@long_work
def test_a_callback_can_stop(work):
    model, X = LONG[work]()
    recorder = Recorder(stop_at=1)
    with pytest.raises(Cancelled, match=type(model).__name__):
        fit(model.set_callbacks(recorder), X)
    assert not hasattr(model, "n_components_")
    assert recorder.events[-1][0] == "teardown"
    assert issubclass(Cancelled, lowd.errors.LowdError)


def test_a_callback_sees_the_end_of_a_failed_fit():
    recorder = Recorder()
    X = rows_like(10)
    X[2, 1] = np.nan
    with pytest.raises(lowd.errors.DataError):
        lowd.PCA(1).set_callbacks(recorder).fit(X)
    assert recorder.events[-1][0] == "teardown"


def test_scikit_learns_progress_bar(capfd):
    case = BY_NAME["MDS-words"]
    model = case.model().set_callbacks(callback.ProgressBar())
    fit(model, case.data()[0])
    assert hasattr(model, "n_components_")
    assert "ClassicalMDS" in "".join(capfd.readouterr())


def test_callbacks_do_not_travel_with_a_saved_model(tmp_path):
    model = lowd.PCA(1).set_callbacks(Recorder()).fit(rows_like(10))
    lowd.save(model, tmp_path / "model")
    assert not getattr(lowd.load(tmp_path / "model"), "_skl_callbacks", None)
