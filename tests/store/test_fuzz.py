"""Crafted files: whatever loads maps new points to finite coordinates, or says why not.

The jobs run in a process of their own, so that a crash is seen and counted like any other fault.
`LOWD_FUZZ_MUTATIONS` sets how many files are made of each model; many take a while.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import lowd
from cases import fit
from fuzz import FUZZED
from mutations import mutate, nest_deeply

N_MUTATIONS = int(os.environ.get("LOWD_FUZZ_MUTATIONS", "2"))  # of each model
MAX_SECONDS = 60  # of one file of a few kilobytes: longer is a hang
FUZZER = Path(__file__).parents[1] / "fuzz.py"


class Worker:
    """A process that answers jobs, and is replaced when it dies."""

    def __init__(self, folder):
        self._folder = folder
        self._start()

    def _start(self):
        command = [sys.executable, str(FUZZER), str(self._folder)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        self._process = subprocess.Popen(command, **pipes)
        assert json.loads(self._process.stdout.readline()) == "ready"

    def judge(self, name, seed):
        self._process.stdin.write(f"{name} {seed}\n")
        self._process.stdin.flush()
        guard = threading.Timer(MAX_SECONDS, self._process.kill)
        guard.start()
        answer = self._process.stdout.readline()
        guard.cancel()
        if answer:
            return json.loads(answer)
        status = self._process.wait()
        self._start()
        return [name, seed, f"FAULT the process ended with status {status}", []]

    def close(self):
        self._process.stdin.close()
        self._process.wait()
        self._process.stdout.close()


@pytest.fixture(scope="module")
def worker(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for case in FUZZED.values():
        lowd.save(fit(case.model(), case.data()[0]), folder / f"{case.name}.lowd")
    worker = Worker(folder)
    yield worker
    worker.close()


def test_whatever_loads_maps_without_a_crash(worker):
    found = [worker.judge(name, seed) for seed in range(N_MUTATIONS) for name in FUZZED]
    faults = [answer for answer in found if answer[2].startswith("FAULT")]
    assert not faults, "\n".join(
        f"{name} {seed}: {what} after {how}" for name, seed, what, how in faults
    )
    outcomes = {answer[2] for answer in found}
    assert {"refused", "same", "changed"} <= outcomes  # else the mutations change nothing


def test_a_mutation_that_json_cannot_write_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setattr("mutations.MUTATIONS", [nest_deeply])
    path = tmp_path / "model"
    lowd.save(lowd.PCA(1).fit([[0.0, 1.0], [2.0, 5.0], [3.0, 4.0]]), path)
    done = [name for seed in range(100) for name in mutate(path.read_bytes(), {}, seed)[1]]
    assert "nest_deeply: nothing" in done
    assert any(name != "nest_deeply: nothing" for name in done)
