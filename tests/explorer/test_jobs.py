"""Jobs: fits in other processes, which report, are cancelled, fail and crash without harm."""

from __future__ import annotations

import json
import os
import signal
import threading
import time

import numpy as np
import pytest

import lowd
from explorers import read_arrow, wait_for
from lowd import progress
from lowd.explorer import evidence
from lowd.explorer.api import make_session
from lowd.explorer.routes import Request, Routes

ENDED = ("done", "failed", "cancelled")


def start(ask, method, parameters=None, **more):
    asked = {"method": method, "parameters": parameters or {}, **more}
    return f"/api/jobs/{ask('POST', '/api/jobs', asked, 201)['id']}"


def test_a_job_becomes_a_panel(ask, data):
    job = start(ask, "Isomap", {"n_neighbors": 8})
    ended = wait_for(ask, job, ENDED)
    assert ended["state"] == "done", ended
    view = ask("GET", "/api/view")
    panel = view["panels"][-1]
    assert (panel["key"], panel["method"], panel["has_model"]) == (ended["panel"], "Isomap", True)
    assert panel["parameters"]["n_neighbors"] == 8
    points = read_arrow(ask("GET", f"/api/panels/{ended['panel']}/points").body)
    with pytest.warns(lowd.errors.DisconnectedGraphWarning) as warned:
        known = lowd.Isomap(2, n_neighbors=8).fit_transform(data.X)
    assert panel["notes"] == [str(warned[0].message)]
    np.testing.assert_allclose(np.column_stack([points["x"], points["y"]]), known, rtol=1e-4)
    moved = ask("POST", "/api/move", {"row": 1, "changes": {}})
    assert ended["panel"] in moved["panels"]


def test_tsne_shows_itself_while_it_iterates_and_some_rows_are_embedded_alone(ask):
    rows = list(range(0, 60, 2))
    job = start(ask, "TSNE", {"perplexity": 5, "max_iter": 400}, rows=rows)
    ended = wait_for(ask, job, ENDED)
    assert ended["state"] == "done", ended
    assert ended["name"] == "TSNE of 30 rows"
    assert ended["frame"] >= 1
    live = read_arrow(ask("GET", f"{job}/points").body)
    assert np.flatnonzero(np.isfinite(live["x"])).tolist() == rows
    panel = ask("GET", "/api/view")["panels"][-1]
    assert panel["rows"] == 30
    quality = wait_for(ask, f"/api/panels/{panel['key']}/quality")
    assert quality["state"] == "ready"
    evidence = read_arrow(ask("GET", f"/api/panels/{panel['key']}/evidence").body)
    assert np.flatnonzero(np.isfinite(evidence["stretch"])).tolist() == rows
    near = ask("GET", "/api/neighbors?row=2&k=3")["panels"][panel["key"]]
    assert set(near) <= set(rows)
    assert panel["key"] not in ask("GET", "/api/neighbors?row=1&k=3")["panels"]


@pytest.mark.parametrize(
    ("method", "parameters", "words"),
    [
        ("TSNE", {"perplexity": -1}, "perplexity=-1"),
        ("TSNE", {"perplexity": "many"}, "many"),
        ("PCA", {"verbose": True}, "verbose"),
        ("PCA", {"__class__": 1}, "__class__"),
        ("os.system", {}, "os.system"),
        (None, {}, "None"),
    ],
)
def test_a_wrong_form_names_the_field(ask, method, parameters, words):
    fault = ask("POST", "/api/jobs", {"method": method, "parameters": parameters}, 422)
    assert words in fault["message"]


def test_text_in_a_form_is_read_as_the_parameter_needs_it(ask):
    job = start(ask, "PCA", {"n_components": "3"})
    assert wait_for(ask, job, ENDED)["state"] == "done"
    assert ask("GET", "/api/view")["panels"][-1]["dimensions"] == 3


def test_a_fit_that_fails_is_a_message(ask):
    ended = wait_for(ask, start(ask, "Isomap", {"n_neighbors": 70}), ENDED)
    assert ended["state"] == "failed"
    assert "n_neighbors=70" in ended["fault"]["message"]
    assert len(ask("GET", "/api/view")["panels"]) == 2


@pytest.fixture
def slow():
    """Data on which t-SNE takes minutes."""
    X = np.random.default_rng(0).normal(size=(3000, 10))
    routes = Routes(make_session(X, {"PCA": lowd.PCA(2).fit(X)}))

    def ask(method, target, body=None, status=200):
        body = b"" if body is None else json.dumps(body).encode()
        reply = routes.answer(Request.parse(method, target, body))
        assert reply.status == status, reply.body
        return json.loads(reply.body)

    yield routes, ask
    routes.close()


def begin(ask):
    job = start(ask, "TSNE", {"max_iter": 100_000})
    wait_for(ask, job, ("running", *ENDED))
    for _ in range(2400):
        if ask("GET", job)["frame"]:
            return job
        time.sleep(0.05)
    raise AssertionError(ask("GET", job))


def test_a_cancelled_job_ends_its_process_and_the_next_one_runs(slow):
    routes, ask = slow
    job = begin(ask)
    process = routes.jobs.get(job.rpartition("/")[2]).process
    waiting = start(ask, "PCA")
    third = start(ask, "PCA")
    assert ask("GET", waiting)["state"] == "queued"
    assert ask("DELETE", third)["state"] == "cancelled"
    ask("DELETE", job)
    ended = wait_for(ask, job, ENDED)
    assert (ended["state"], ended["fault"]["code"]) == ("cancelled", "cancelled")
    assert process.poll() is not None
    assert wait_for(ask, waiting, ENDED)["state"] == "done"
    assert [one["state"] for one in ask("GET", "/api/jobs")["jobs"]] == [
        "cancelled",
        "done",
        "cancelled",
    ]


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_the_server_survives_a_killed_job(slow):
    routes, ask = slow
    job = begin(ask)
    os.kill(routes.jobs.get(job.rpartition("/")[2]).process.pid, signal.SIGKILL)
    ended = wait_for(ask, job, ENDED)
    assert (ended["state"], ended["fault"]["code"]) == ("failed", "crashed")
    assert "SIGKILL" in ended["fault"]["message"]
    assert ended["fault"]["remedy"]
    assert ask("GET", "/api/view")["n"] == 3000
    assert wait_for(ask, start(ask, "PCA"), ENDED)["state"] == "done"


def test_closing_ends_the_jobs(slow):
    routes, ask = slow
    job = begin(ask)
    process = routes.jobs.get(job.rpartition("/")[2]).process
    routes.close()
    assert process.wait(20) is not None


def test_closing_waits_until_the_evaluation_has_stopped(session, monkeypatch):
    """Python must not end while a thread is inside native code."""
    begun, ended = threading.Event(), []

    def evaluate(*_):
        try:
            while True:
                begun.set()
                time.sleep(0.2)
                progress.report("neighbors", 0, 1)
        finally:
            ended.append(True)

    monkeypatch.setattr(evidence, "_evaluate", evaluate)
    routes = Routes(session)
    routes.evaluations.get(next(iter(session.panels)))
    begun.wait()
    routes.close()
    assert ended
