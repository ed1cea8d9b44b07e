"""Quality of panels, computed one after the other in a thread while the page goes on."""

from __future__ import annotations

import queue
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from .. import progress
from ..errors import Cancelled, LowdError
from ..evidence.quality import evaluate
from ..evidence.quality.measures import DEFINITIONS, encode_labels
from ..evidence.quality.result import MEASURE_GROUPS
from ..plot.colors import is_continuous
from ..report.figures import choose_spectrum
from ..spaces import count_rows, take_rows
from .arrow import list_or_none
from .columns import MAX_CATEGORY_NUMBERS
from .faults import Fault, RequestError, describe_error
from .session import Panel, Session

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation

MAX_NEIGHBORS = 15  # Neighbors of the measures, as in `lowd.evaluate`.
MAX_CURVE_POINTS = 512  # Points of an R_NX curve; a panel is not wider.
MAX_SHEPARD_PAIRS = 2000
# Longest wait for the next progress report, which mostly takes a fraction of a second.
MAX_REPORT_SECONDS = 30
MAX_SCREE_VALUES = 50
# Number of evaluated rows whose mean stands for a row that was not evaluated.
ESTIMATE_NEIGHBORS = 3


@dataclass(eq=False)
class Evidence:
    """The state of a panel's evaluation, and finally its result."""

    stage: str = "waiting"
    done: int = 0
    total: int = 1
    document: dict[str, object] | None = None
    columns: dict[str, NDArray[np.float32] | NDArray[np.bool_]] | None = None
    fault: Fault | None = None

    def describe(self) -> dict[str, object]:
        if self.fault is not None:
            return {"state": "failed", "fault": self.fault._asdict()}
        if self.document is not None:
            return {"state": "ready", **self.document}
        return {
            "state": "computing",
            "stage": self.stage,
            "done": self.done,
            "total": self.total,
        }


class Evaluations:
    """Evaluates the requested panels in a thread of its own."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._found: dict[str, Evidence] = {}
        self._waiting: queue.Queue[Panel | None] = queue.Queue()  # None is the end
        self._lock, self._closed = threading.Lock(), threading.Event()
        self._changed = threading.Condition()
        self._thread: threading.Thread | None = None

    def get(self, key: str) -> Evidence:
        """The evaluation of a panel in its present state; the first call starts it."""
        panel = self._session.get_panel(key)
        if self._session.compared is None:
            raise RequestError(
                409,
                "unavailable",
                "only coordinates are known, not the data.",
                "Start with the data: lowd view MAP --data FILE.",
            )
        with self._lock:
            if key not in self._found:
                self._found[key] = Evidence()
                self._waiting.put(panel)
                if self._thread is None:
                    self._thread = threading.Thread(target=self._work, daemon=True)
                    self._thread.start()
        return self._found[key]

    def wait(self, key: str) -> Evidence:
        """The finished evaluation of a panel."""
        evidence = self.get(key)
        with self._changed:
            self._changed.wait_for(
                lambda: evidence.document or evidence.fault or self._closed.is_set()
            )
        return evidence

    def close(self) -> None:
        """Stop at the next progress report, and wait for it.

        A thread that is inside native code while Python ends would abort the process.
        """
        self._closed.set()
        self._waiting.put(None)
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join(MAX_REPORT_SECONDS)

    def _work(self) -> None:
        while not self._closed.is_set():
            panel = self._waiting.get()
            if panel is None:
                return
            evidence = self._found[panel.key]

            def record(stage: str, done: int, total: int, state: Evidence = evidence) -> None:
                if self._closed.is_set():
                    raise Cancelled("the explorer was closed.")
                state.stage, state.done, state.total = stage, done, total

            try:
                with progress.listening(record):
                    found = _evaluate(self._session, panel)
                    evidence.columns = make_evidence_columns(panel, found)
                    evidence.document = describe_quality(self._session, panel, found)
            except Exception as error:
                evidence.fault = describe_error(error)[1]
            with self._changed:
                self._changed.notify_all()


def _evaluate(session: Session, panel: Panel) -> Evaluation:
    rows = panel.held_rows
    X = session.compared if panel.rows is None else take_panel_rows(session, panel.rows)
    k = min(MAX_NEIGHBORS, max(1, (len(rows) - 1) // 2))
    return evaluate(
        X,
        panel.coordinates[rows],
        labels=_get_classes(session, rows),
        metric=session.metric,
        metric_params=session.metric_params,
        n_neighbors=k,
    )


def take_panel_rows(session: Session, rows: NDArray[np.int64]) -> object:
    """The data of some rows; for a matrix of distances their columns are selected too."""
    if session.metric == "precomputed":
        return session.compared[np.ix_(rows, rows)]
    X = session.compared
    return take_rows(X, rows) if count_rows(X) != len(rows) else X


def _get_classes(session: Session, rows: NDArray[np.int64]) -> NDArray[np.int64] | None:
    """The labels of the rows if they are classes and none is missing."""
    labels = session.labels
    if labels is None or is_continuous(labels, MAX_CATEGORY_NUMBERS, session.label_name):
        return None
    try:
        codes = encode_labels(labels, session.n)[rows]
    except LowdError:  # some labels are missing
        return None
    return codes if len(np.unique(codes)) > 1 else None


def make_evidence_columns(
    panel: Panel, found: Evaluation
) -> dict[str, NDArray[np.float32] | NDArray[np.bool_]]:
    """False neighbors, missed neighbors and stretch of every row.

    Rows that were not evaluated have the mean of the evaluated rows next to them in the embedding.
    """
    n, held = len(panel.coordinates), panel.held_rows
    evaluated = np.zeros(n, bool)
    evaluated[held[found.rows]] = True
    point = found.pointwise
    measures = {
        "false_neighbors": 1 - point["trustworthiness"],
        "missed_neighbors": 1 - point["continuity"],
        "stretch": np.nan_to_num(point["stretch"]),
    }
    near = None
    others = held[~evaluated[held]]
    if len(others):
        tree = cKDTree(panel.coordinates[held[found.rows]])
        near = tree.query(panel.coordinates[others], min(ESTIMATE_NEIGHBORS, len(found.rows)))[1]
        near = near.reshape(len(others), -1)
    columns: dict[str, NDArray[np.float32] | NDArray[np.bool_]] = {}
    for name, values in measures.items():
        column = np.full(n, np.nan, np.float32)
        column[held[found.rows]] = values
        if near is not None:
            column[others] = values[near].mean(1)
        columns[name] = column
    return columns | {"evaluated": evaluated}


def describe_quality(session: Session, panel: Panel, found: Evaluation) -> dict[str, object]:
    """Measures, verdict and curves of an evaluation, for the page."""
    group_of = {name: group for group, names in MEASURE_GROUPS.items() for name in names}
    measures = [
        {
            "name": name,
            "title": value.title,
            "value": float(value),
            "interval": None if value.interval is None else list_or_none(value.interval),
            "better": value.better,
            "question": DEFINITIONS[name].question,
            "group": group_of.get(name, ""),
        }
        for name, value in found.measures.items()
        if np.isfinite(value)
    ]
    return {
        "verdict": found.verdict,
        "notes": found.notes,
        "n_neighbors": found.n_neighbors,
        "exact": found.exact,
        "evaluated": len(found.rows),
        "measures": measures,
        "rnx": _describe_rnx(found),
        "shepard": _describe_shepard(found),
        "scree": _describe_scree(session, panel),
    }


def _describe_rnx(found: Evaluation) -> dict[str, object] | None:
    if found.rnx_curve is None:
        return None
    k, values = found.rnx_curve
    at = np.unique(np.geomspace(1, len(k), MAX_CURVE_POINTS).astype(int)) - 1
    return {"k": k[at].tolist(), "value": list_or_none(values[at])}


def _describe_shepard(found: Evaluation) -> dict[str, object] | None:
    if found.shepard is None:
        return None
    data, embedding = found.shepard
    step = -(-len(data) // MAX_SHEPARD_PAIRS)
    return {"data": list_or_none(data[::step]), "embedding": list_or_none(embedding[::step])}


def _describe_scree(session: Session, panel: Panel) -> dict[str, object] | None:
    if panel.model is None or panel.rows is not None:
        return None
    spectrum = choose_spectrum(panel.model, session.X)
    if spectrum is None:
        return None
    ratio = getattr(spectrum.model, "explained_variance_ratio_", None)
    values = np.ravel(ratio if ratio is not None else spectrum.model.eigenvalues_)
    return {
        "name": "explained variance" if ratio is not None else "eigenvalues",
        "values": list_or_none(values[:MAX_SCREE_VALUES]),
        "share": ratio is not None,
        "description": spectrum.description,
    }
