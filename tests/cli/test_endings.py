"""How a command ends: exit codes, files, interrupts, help."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import threading
from pathlib import Path

import numpy as np
import pytest

import lowd
from lowd.cli.console import ExitCode, format_error, get_exit_code, to_json
from lowd.cli.running import BackgroundCall
from lowd.methods import get_parameter_texts

pytestmark = pytest.mark.usefixtures("folder")


def python(*args, **more):
    return subprocess.run(
        [sys.executable, *args], capture_output=True, text=True, timeout=60, check=False, **more
    )


CASES = {
    "no such flag": (
        ["tsne", "data.csv", "--perplexit", "3"],
        ExitCode.USAGE,
        "there is no option --perplexit; did you mean --perplexity?",
    ),
    "no such command": (["isomp", "data.csv"], ExitCode.USAGE, "did you mean isomap?"),
    "no data": (["pca"], ExitCode.USAGE, "required: DATA"),
    "a bad value": (["pca", "data.csv", "--n-components", "0"], ExitCode.USAGE, "n-components"),
    "does not fit": (
        ["isomap", "data.csv", "--n-neighbors", "90"],
        ExitCode.USAGE,
        "use --n-neighbors 89 or less",
    ),
    "no such file": (["pca", "nothing.csv"], ExitCode.DATA, "nothing.csv"),
    "bad cell": (["pca", "bad.csv", "--missing", "error"], ExitCode.DATA, "bad.csv, line 3"),
    "no model": (["info", "data.csv"], ExitCode.DATA, "not a lowd model"),
    "no such model": (
        ["transform", "data.csv", "--model", "m.lowd"],
        ExitCode.DATA,
        "lowd: there is no model file",
    ),
    "no folder": (["pca", "data.csv", "-o", "no/map.csv"], ExitCode.DATA, "create it first"),
    "exists": (["pca", "data.csv", "-o", "old.csv"], ExitCode.EXISTS, "--force"),
    "two outputs": (["pca", "data.csv", "-o", "a", "--model", "a"], ExitCode.USAGE, "two outputs"),
    "no such backend": (["pca", "data.csv", "--backend", "abacus"], ExitCode.USAGE, "abacus"),
}


@pytest.mark.parametrize("name", CASES)
def test_errors_are_one_sentence_and_leave_nothing(name, lowd_command):
    args, code, words = CASES[name]
    Path("bad.csv").write_text("a,b\n1,2\n3,\n5,7\n")
    Path("old.csv").write_text("mine")
    before = sorted(os.listdir())
    ended = lowd_command(*args)
    assert ended.code == code, ended.err
    assert words in ended.err
    assert "Traceback" not in ended.err
    assert ended.out == ""
    assert sorted(os.listdir()) == before
    assert Path("old.csv").read_text() == "mine"


def test_verbose_shows_where(lowd_command):
    ended = lowd_command("pca", "nothing.csv", "--verbose")
    assert "Traceback" in ended.err
    assert ended.err.splitlines()[-1].startswith("lowd: ")


def test_force_replaces(lowd_command):
    Path("old.csv").write_text("mine")
    assert lowd_command("pca", "data.csv", "-o", "old.csv", "--force").code == 0
    assert "pca0" in Path("old.csv").read_text()


def test_not_enough_memory_has_its_own_code(lowd_command, monkeypatch):
    from lowd import backend

    monkeypatch.setattr(backend, "free_memory", lambda: 2**20)
    np.savetxt("many.csv", np.random.default_rng(0).normal(size=(2000, 2)), delimiter=",")
    ended = lowd_command("kernel-pca", "many.csv", "--kernel", "rbf")
    assert ended.code == ExitCode.MEMORY, ended.err


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (lowd.errors.BackendUnavailableError("x"), ExitCode.MISSING_PACKAGE),
        (lowd.errors.MissingPackageError("x"), ExitCode.MISSING_PACKAGE),
        (lowd.errors.FileFormatError("x"), ExitCode.DATA),
        (lowd.errors.ExistingFileError("x"), ExitCode.EXISTS),
        (lowd.errors.Cancelled("x"), ExitCode.INTERRUPTED),
        (KeyboardInterrupt(), ExitCode.INTERRUPTED),
        (MemoryError(), ExitCode.MEMORY),
        (PermissionError(13, "Permission denied", "f"), ExitCode.DATA),
        (ZeroDivisionError("x"), ExitCode.FAILED),
    ],
)
def test_codes(error, code):
    assert get_exit_code(error) == code
    assert format_error(error)


def test_a_failing_report_takes_the_map_with_it(lowd_command, monkeypatch):
    """All files of a run appear, or none."""
    from lowd import report

    def broken(*_, **__):
        raise OSError(28, "No space left on device", "r.html")

    monkeypatch.setattr(report, "write", broken)
    ended = lowd_command("pca", "data.csv", "--report", "r.html", "--model", "m.lowd")
    assert ended.code == ExitCode.DATA
    assert "no space left" in ended.err
    assert os.listdir() == ["data.csv"]


# A background job of a shell begins with Ctrl-C ignored; a command in a terminal does not.
STUCK = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
from lowd.methods.pca import PCA
from lowd import progress
def fit(*_, **__):
    print("fitting", flush=True)
    while True:
        {work}
        progress.report("axes", 0, 1)
PCA._fit = fit
from lowd.cli import main
sys.argv = ["lowd", "pca", "data.csv", "-o", "map.csv", "--plot", "map.png"]
sys.exit(main())
"""
WORK = {
    "that reports progress": "time.sleep(0.01)",
    "that reports nothing": "time.sleep(600)",
    "that keeps Python's lock": "sum(range(10**11))",
}


@pytest.mark.parametrize("name", WORK)
def test_interrupt_ends_work(name):
    with subprocess.Popen(
        [sys.executable, "-c", STUCK.format(work=WORK[name])], stdout=-1, stderr=-1, text=True
    ) as process:
        assert process.stdout.readline() == "fitting\n"
        process.send_signal(signal.SIGTERM if "progress" in name else signal.SIGINT)
        _, err = process.communicate(timeout=300)
    assert process.returncode in (ExitCode.INTERRUPTED, -signal.SIGKILL)
    assert "stopped; nothing was written." in err
    assert "Traceback" not in err
    assert os.listdir() == ["data.csv"]


def test_a_reader_that_went_away():
    """As in `lowd methods | head`, seen from the side of lowd."""
    with subprocess.Popen(
        [sys.executable, "-m", "lowd", "methods", "--json"], stdout=-1, stderr=-1
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
    assert process.returncode == ExitCode.BROKEN_PIPE


def test_long_work_shows_a_bar(monkeypatch):
    from lowd import progress

    seen, shown = [], threading.Event()

    class Bar:
        def __enter__(self):
            return lambda *what: (seen.append(what), shown.set())

        def __exit__(self, *_):
            return None

    monkeypatch.setattr(progress, "bar", Bar)

    def call():
        progress.report("axes", 1, 3)
        shown.wait(300)
        return 5

    assert BackgroundCall(call).wait(True, lambda: None, bar_after=0.0) == 5
    assert seen[0] == ("axes", 1, 3)


def test_help_imports_no_method_and_lists_all():
    script = """
import sys
from lowd.cli import main
from lowd.cli.options import COMMANDS, METHOD_COMMANDS
main(["--help"])
print(*COMMANDS, *METHOD_COMMANDS)
print({"numpy", "scipy", "sklearn", "polars", "matplotlib"} & set(sys.modules), len(sys.modules))
"""
    *shown, words, imported = python("-c", script).stdout.splitlines()
    listed = [line.split()[0] for line in shown if re.match(r"  \w", line)]
    assert [word for word in listed if not word.startswith("-")] == words.split()
    assert {"isomap", "tsne", "map", "transform", "diagnose"} < set(listed)
    assert imported.startswith("set()")
    assert int(imported.split()[1]) < 200  # Python's own start has 60, NumPy 200 more


def test_help_of_a_method_has_its_words(lowd_command):
    ended = lowd_command("isomap", "--help")
    assert ended.code == 0
    description = " ".join(get_parameter_texts("Isomap")["n_neighbors"].split()[:2])
    for words in ("--n-neighbors", description, "geodesic|regression", "--standardize"):
        assert words in ended.out


def test_completion():
    def completed(words, number):
        env = {
            **os.environ,
            "_LOWD_WORDS": "\n".join(words.split(" ")),
            "_LOWD_WORD": str(number),
        }
        return python("-m", "lowd", env=env).stdout.split()

    assert completed("lowd iso", 1) == ["isomap"]
    assert "correlation" in completed("lowd isomap data.csv --metric co", 4)
    assert "--n-neighbors" in completed("lowd isomap data.csv --n", 3)
    assert completed("lowd isomap ", 2) == []  # files, which the shell completes


@pytest.mark.skipif(not shutil.which("bash"), reason="needs bash")
def test_the_completion_of_bash():
    """The script as bash runs it."""
    folder = sysconfig.get_path("scripts")
    script = python("-m", "lowd", "--show-completion").stdout
    script += "COMP_WORDS=(lowd pca data.csv --stand) COMP_CWORD=3 && _lowd && echo ${COMPREPLY[@]}"
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-c", script], env=env, capture_output=True, text=True, check=True
    )
    assert run.stdout.split() == ["--standardize"]


def test_the_installed_command():
    path = Path(sysconfig.get_path("scripts")) / "lowd"
    run = subprocess.run([path, "--version"], capture_output=True, text=True, check=True)
    assert run.stdout == f"lowd {lowd.__version__}\n"


def test_without_the_extra_it_names_the_extra():
    script = (
        "import sys; sys.modules['polars'] = None; "
        "from lowd.cli import main; sys.exit(main(['pca', 'data.csv']))"
    )
    run = python("-c", script)
    assert run.returncode == ExitCode.MISSING_PACKAGE
    assert "pip install 'lowd[app]'" in run.stderr


def test_json_has_no_infinities():
    given = {"a": np.float32(1), "b": [np.nan, np.inf], "c": np.arange(2), 3: Path("x"), "d": None}
    assert to_json(given) == {"a": 1.0, "b": [None, None], "c": [0, 1], "3": "x", "d": None}
