"""Jobs: fits in processes of their own, with forms, progress, unfinished embeddings and an end."""

from __future__ import annotations

import contextlib
import dataclasses
import itertools
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from functools import cache
from typing import (
    TYPE_CHECKING,
    Annotated,
    Any,
    Literal,
    NamedTuple,
    TypeAlias,
    get_args,
    get_origin,
)

import numpy as np
from numpy.typing import NDArray

from ..errors import ParameterError
from ..input.arguments import Foreign
from ..methods import METHODS, get_advice, get_parameter_texts, get_summary
from ..parameters import (
    Limit,
    accepts,
    check_parameters,
    list_literals,
    parameters_of,
    read,
    split_union,
)
from ..pipeline import Pipeline
from ..progress import Clock
from ..spaces import take_rows
from ..store import class_of
from . import worker
from .replies import Fault, RequestError, describe_error
from .session import Session, to_coordinates

if TYPE_CHECKING:
    from ..reducer import Reducer

# -- forms of the methods ------------------------------------------------------------------------

# The page already has the rows, and shows two or three dimensions.
_HIDDEN = {"backend", "n_jobs", "verbose", "metric_params"}
_OTHER_INPUT = {"precomputed", "gower"}
_FIRST = {
    *("n_components", "n_neighbors", "perplexity", "min_dist", "metric", "kernel", "gamma"),
    *("scale", "n_landmarks", "alpha", "t", "max_iter"),
}
DEFAULT_DIMENSIONS = 2


class Limits(NamedTuple):
    """The range of a number; None where there is no limit."""

    low: float | None = None
    high: float | None = None
    low_open: bool = False
    high_open: bool = False


@cache
def list_methods() -> list[dict[str, object]]:
    """Every method with its form."""
    return [make_form(name) for name in METHODS]


def make_form(name: str) -> dict[str, object]:
    """Describe a method, and its parameters with types, limits, defaults and help."""
    cls = class_of(name)
    texts = get_parameter_texts(name)
    fields = [describe_field(cls, field, texts) for field in dataclasses.fields(cls) if field.init]
    return {
        "name": name,
        "title": get_summary(name).partition(":")[0].rstrip("."),
        "summary": f"{get_summary(name)} {get_advice(name)[0]}".strip(),
        "live": name in ("SNE", "TSNE", "UMAP"),
        "parameters": [field for field in fields if field is not None],
    }


def describe_field(
    cls: type[Any], field: dataclasses.Field[Any], texts: Mapping[str, str]
) -> dict[str, object] | None:
    """A field of the form; None for what a form cannot ask for."""
    domain = parameters_of(cls)[field.name]
    parts = split_union(domain)
    words = [word for word in list_literals(domain) if word not in _OTHER_INPUT]
    number = float if float in parts else int if int in parts else None
    if field.name in _HIDDEN or not (number or bool in parts or words or str in parts):
        return None
    kind = "text"
    if number is not None:
        kind = "number" if number is float else "integer"
    elif bool in parts:
        kind = "boolean"
    elif words:
        kind = "choice"
    default = DEFAULT_DIMENSIONS if field.name == "n_components" else field.default
    plain = isinstance(default, bool | int | float | str | None)
    return {
        "name": field.name,
        "help": texts.get(field.name, ""),
        "default": default if plain else None,
        "kind": kind,
        "optional": type(None) in parts,
        **get_limits(domain)._asdict(),
        "choices": words or None,
        "advanced": field.name not in _FIRST,
    }


def get_limits(domain: Foreign) -> Limits:
    """The limits of the first number in a domain.

    >>> from lowd.parameters import Share
    >>> get_limits(Share | None)
    Limits(low=0, high=1, low_open=True, high_open=True)
    """
    origin: object = get_origin(domain)
    if origin is not Annotated:
        found = [get_limits(part) for part in get_args(domain)]
        return next((limits for limits in found if limits != Limits()), Limits())
    limits = Limits()
    for rule in get_args(domain)[1:]:
        if isinstance(rule, Limit) and rule.sign in (">", ">="):
            limits = limits._replace(low=rule.bound, low_open=rule.sign == ">")
        elif isinstance(rule, Limit) and rule.sign in ("<", "<="):
            limits = limits._replace(high=rule.bound, high_open=rule.sign == "<")
    return limits


def build_model(name: object, parameters: object) -> Foreign:
    """Make the unfitted model of a filled form; an error names the parameter."""
    if not isinstance(name, str) or name not in METHODS:
        raise ParameterError(f"there is no method {name!r}.")
    if not isinstance(parameters, dict):
        raise ParameterError("parameters: expected an object.")
    cls: type[Any] = class_of(name)
    known = parameters_of(cls)
    asked = {entry["name"] for entry in make_form(name)["parameters"]}  # type: ignore[attr-defined]
    values: dict[str, Any] = {}
    if "n_components" in known:
        values["n_components"] = DEFAULT_DIMENSIONS
    for parameter, value in parameters.items():
        if parameter not in asked:
            raise ParameterError(f"{name} has no parameter {parameter!r} that can be set here.")
        if isinstance(value, str) and not accepts(known[parameter], value):
            value = read(known[parameter], value)
        if value is None and not accepts(known[parameter], None):
            continue
        values[parameter] = value
    model = cls(**values)
    check_parameters(model)
    return model


# -- jobs ----------------------------------------------------------------------------------------

State: TypeAlias = Literal["queued", "running", "done", "failed", "cancelled"]

MAX_KEPT_JOBS = 100  # Finished jobs that the page can still ask for.
_COMMAND = [sys.executable, "-P", "-c", "from lowd.explorer.worker import main; main()"]


class Job:
    """One fit. The threads that answer the page read its fields."""

    def __init__(self, key: str, name: str, model: Reducer, rows: NDArray[np.int64] | None) -> None:
        self.key, self.name, self.model, self.rows = key, name, model, rows
        self.method = type(model.method if isinstance(model, Pipeline) else model).__name__
        self.state: State = "queued"
        self.stage, self.done, self.total = "waiting", 0, 1
        self.seconds_left: float | None = None
        self.started: float | None = None
        self.seconds = 0.0
        self.frame = 0
        self.coordinates: NDArray[np.float32] | None = None
        self.panel: str | None = None
        self.fault: Fault | None = None
        self.process: subprocess.Popen[bytes] | None = None
        self.is_cancelled = False

    def describe(self) -> dict[str, object]:
        running = self.started is not None and self.state == "running"
        seconds = time.monotonic() - (self.started or 0) if running else self.seconds
        return {
            "id": self.key,
            "method": self.method,
            "name": self.name,
            "state": self.state,
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
            "seconds": seconds,
            "seconds_left": self.seconds_left,
            "frame": self.frame,
            "panel": self.panel,
            "fault": None if self.fault is None else self.fault._asdict(),
        }


class Jobs:
    """The jobs of a session: one runs, the others wait."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._jobs: dict[str, Job] = {}
        self._numbers = itertools.count()
        # One job at a time, since a fit uses all cores.
        self._lock, self._turn = threading.Lock(), threading.Semaphore(1)

    def start(self, asked: Mapping[str, Any]) -> Job:
        """Start the fit that a form asks for: a method, its parameters, perhaps some rows only."""
        session = self._session
        if session.X is None:
            raise RequestError(
                409,
                "unavailable",
                "only coordinates are known, not the data.",
                "Start with the data: lowd view DATA.",
            )
        method = build_model(asked.get("method"), asked.get("parameters") or {})
        rows = None
        if asked.get("rows") is not None:
            rows = session.check_rows(asked["rows"], 4)
        name = str(asked.get("name") or "")[:80] or type(method).__name__
        if not asked.get("name") and rows is not None:
            name += f" of {len(rows)} rows"
        model = add_steps(_set_metric(method, session), session.steps)
        with self._lock:
            waiting = [job for job in self._jobs.values() if job.state in ("queued", "running")]
            if len(waiting) > 16:
                raise RequestError(
                    409, "conflict", f"{len(waiting)} jobs wait already.", "Wait, or cancel some."
                )
            job = Job(f"j{next(self._numbers)}", name, model, rows)
            self._jobs[job.key] = job
            finished = [key for key, one in self._jobs.items() if one not in waiting]
            for key in finished[: -MAX_KEPT_JOBS or None]:
                del self._jobs[key]
        threading.Thread(target=self._run, args=(job,), daemon=True).start()
        return job

    def list(self) -> list[Job]:
        return list(self._jobs.values())

    def get(self, key: str) -> Job:
        if key not in self._jobs:
            raise RequestError(404, "not_found", f"there is no job {key!r}.")
        return self._jobs[key]

    def cancel(self, key: str) -> Job:
        """End the process of a job; a finished one stays as it is."""
        job = self.get(key)
        with self._lock:
            job.is_cancelled = True
            if job.state == "queued":
                job.state = "cancelled"
            if job.process is not None:
                job.process.kill()
        return job

    def close(self) -> None:
        for job in self.list():
            self.cancel(job.key)

    def _run(self, job: Job) -> None:
        with self._turn:
            with self._lock:
                if job.is_cancelled:
                    job.state = "cancelled"
                    return
                job.state, job.started = "running", time.monotonic()
                job.process = subprocess.Popen(
                    _COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=_get_environment()
                )
            try:
                self._follow(job, job.process)
            except Exception as error:
                job.fault = describe_error(error)[1]
            finally:
                _end(job.process)
            job.seconds = time.monotonic() - job.started
            if job.is_cancelled and job.panel is None:
                job.fault = Fault("cancelled", f"{job.name} was cancelled.")
                job.state = "cancelled"
            else:
                job.state = "failed" if job.panel is None else "done"
            job.process = None

    def _follow(self, job: Job, process: subprocess.Popen[bytes]) -> None:
        """Send the model and the rows, then receive messages up to the model or an error."""
        assert process.stdin is not None
        assert process.stdout is not None
        X = self._session.X
        if job.rows is not None:
            X = _select_rows(self._session, job.rows)
        clock = Clock()
        try:
            worker.send(process.stdin, (job.model, X))
            process.stdin.close()
            while True:
                kind, content = worker.receive(process.stdout)
                if kind == "progress":
                    stage, done, total = content
                    job.stage, job.done, job.total = stage, done, total
                    job.seconds_left = clock.seconds_left(stage, done, total, time.monotonic())
                elif kind == "embedding":
                    job.coordinates = self._session.spread(
                        to_coordinates(content, job.name), job.rows
                    )
                    job.frame += 1
                elif kind == "error":
                    job.fault = describe_error(content)[1]
                    return
                else:
                    model, Y, notes = content
                    job.panel = self._session.add_panel(
                        job.name, Y, model=model, rows=job.rows, notes=notes
                    ).key
                    return
        except (EOFError, OSError):
            if not job.is_cancelled:
                job.fault = _describe_crash(process.wait())


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process if it still runs, and close its pipes."""
    process.kill()
    for pipe in (process.stdin, process.stdout):
        if pipe is not None:
            # The process is gone: what was not sent has nowhere to go.
            with contextlib.suppress(OSError):
                pipe.close()
    process.wait()


def _describe_crash(code: int) -> Fault:
    """Explain why a process ended without a result."""
    if code < 0:
        name = signal.Signals(-code).name
        cause = "; there may be too little memory" if name == "SIGKILL" else ""
        return Fault(
            "crashed",
            f"the process of the job was ended by {name}{cause}.",
            "The other panels are as they were. Take fewer rows, or another method.",
        )
    return Fault(
        "crashed",
        f"the process of the job ended with code {code}.",
        "The other panels are as they were; the terminal shows why.",
    )


def _get_environment() -> dict[str, str]:
    """Let the process find the package that this one uses, wherever it was imported from."""
    home = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    paths = [home, *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def _select_rows(session: Session, rows: NDArray[np.int64]) -> Foreign:
    if session.metric == "precomputed":
        return session.X[np.ix_(rows, rows)]
    return take_rows(session.X, rows)


def add_steps(model: Reducer, steps: Mapping[str, Any]) -> Reducer:
    """Make the model, in a pipeline if there are steps before it."""
    return Pipeline(model, **steps) if steps else model


def _set_metric(model: Reducer, session: Session) -> Reducer:
    """Set the metric of the data where they are not rows of numbers."""
    if session.metric in ("precomputed", "gower"):
        if not hasattr(model, "metric"):
            raise RequestError(
                422,
                "bad_request",
                f"{type(model).__name__} takes rows, and these are distances.",
                "Take a method of distances: ClassicalMDS, MDS, Isomap, TSNE.",
            )
        model.set_params(metric=session.metric)
    return model
