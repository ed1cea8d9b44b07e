"""What the page says of panels and rows: quality, neighbors, how a selection differs."""

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
from ..evidence.quality.metric_spaces import nearest_others
from ..evidence.quality.result import MEASURE_GROUPS
from ..plot.canvas import is_continuous
from ..report.figures import choose_spectrum
from ..spaces import count_rows, take_rows
from .replies import Fault, RequestError, describe_error, encode_columns, list_or_none
from .session import MAX_CATEGORY_NUMBERS, PageColumn, Panel, Session

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation

# -- quality of panels ---------------------------------------------------------------------------


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
            # The next progress report, which ends it, mostly takes a fraction of a second.
            self._thread.join(30)

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
    # As many neighbors as in `lowd.evaluate`.
    k = min(15, max(1, (len(rows) - 1) // 2))
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
        # The mean of three evaluated rows stands for a row that was not evaluated.
        near = tree.query(panel.coordinates[others], min(3, len(found.rows)))[1]
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
    # A panel is not wider than 512 points.
    at = np.unique(np.geomspace(1, len(k), 512).astype(int)) - 1
    return {"k": k[at].tolist(), "value": list_or_none(values[at])}


def _describe_shepard(found: Evaluation) -> dict[str, object] | None:
    if found.shepard is None:
        return None
    data, embedding = found.shepard
    step = -(-len(data) // 2000)
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
        "values": list_or_none(values[:50]),
        "share": ratio is not None,
        "description": spectrum.description,
    }


# -- nearest neighbors ---------------------------------------------------------------------------

# Most rows of a page without a server, with ten neighbors each: 1.6 MB. Finding all neighbors of
# more rows takes minutes.
MAX_TABLE_ROWS = 20_000


def find_neighbors(session: Session, row: int, k: int) -> dict[str, object]:
    """The nearest rows in the data with their distances, and the nearest ones in each panel."""
    if session.space is None:
        raise RequestError(
            409,
            "unavailable",
            "only coordinates are known, not the data.",
            "Start with the data: lowd view MAP --data FILE.",
        )
    k = min(k, session.n - 1, 200)
    found = nearest_others(session.space, np.array([row], np.int64), k) if k else None
    in_panels = {
        key: find_in_panel(panel.coordinates, row, k)
        for key, panel in list(session.panels.items())
        if np.isfinite(panel.coordinates[row, 0])
    }
    metric = session.metric
    return {
        "row": row,
        "metric": metric if isinstance(metric, str) else getattr(metric, "__name__", "callable"),
        "rows": [] if found is None else found.indices[0].tolist(),
        "distances": [] if found is None else list_or_none(found.distances[0]),
        "panels": in_panels,
    }


def find_in_panel(Y: NDArray[np.float32], row: int, k: int) -> list[int]:
    """The nearest other rows that an embedding holds, nearest first.

    >>> find_in_panel(np.array([[0.0], [5.0], [1.0], [np.nan]], np.float32), 0, 3)
    [2, 1]
    """
    squares = np.square(Y - Y[row], dtype=np.float64).sum(1)
    squares[row] = np.nan
    held = np.isfinite(squares)
    k = min(k, int(held.sum()))
    if not k:
        return []
    squares[~held] = np.inf
    near = np.argpartition(squares, k - 1)[:k]
    order: list[int] = near[np.lexsort((near, squares[near]))].tolist()
    return order


def encode_table(session: Session) -> bytes | None:
    """The nearest neighbors of all rows as Arrow, or None if there are too many rows."""
    k = min(10, session.n - 1)
    if session.space is None or session.n > MAX_TABLE_ROWS or not k:
        return None
    found = nearest_others(session.space, None, k)
    columns = {f"n{j}": np.ascontiguousarray(found.indices[:, j], np.int32) for j in range(k)}
    distances = {f"d{j}": np.ascontiguousarray(found.distances[:, j], np.float32) for j in range(k)}
    return encode_columns(columns | distances)


# -- selected rows and the others ----------------------------------------------------------------

# Rows of each side: the standard error is then 0.002 standard deviations.
MAX_COMPARED_ROWS = 200_000


def compare_selection(session: Session, rows: NDArray[np.int64]) -> dict[str, object]:
    """Effect sizes of all columns: Cohen's d for numbers, difference of shares for categories."""
    is_selected = np.zeros(session.n, bool)
    is_selected[rows] = True
    others = np.flatnonzero(~is_selected)
    found = []
    if len(others):
        inside, outside = _thin(rows), _thin(others)
        for column in session.columns:
            entry = None
            if column.kind == "number":
                entry = _compare_numbers(column, inside, outside)
            elif column.kind == "category":
                entry = _compare_shares(column, inside, outside)
            if entry is not None:
                found.append(entry)
    found.sort(key=lambda entry: -abs(entry["effect"]))  # type: ignore[arg-type]
    return {
        "selected": len(rows),
        "rest": len(others),
        "columns": found[:50],
    }


def _thin(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[:: -(-len(rows) // MAX_COMPARED_ROWS)]


def compute_cohens_d(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Difference of the means in units of the pooled standard deviation.

    >>> round(compute_cohens_d(np.array([2.0, 4.0]), np.array([1.0, 3.0])), 4)
    0.7071
    """
    gap = float(inside.mean() - outside.mean())
    a, b = len(inside), len(outside)
    squares = np.square(inside - inside.mean()).sum() + np.square(outside - outside.mean()).sum()
    pooled = float(np.sqrt(squares / max(a + b - 2, 1)))
    if pooled == 0:
        return 0.0 if gap == 0 else float(np.copysign(np.finfo(np.float32).max, gap))
    return gap / pooled


def _compare_numbers(
    column: PageColumn, inside: NDArray[np.int64], outside: NDArray[np.int64]
) -> dict[str, object] | None:
    a, b = (np.asarray(column.values[rows], np.float64) for rows in (inside, outside))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if not len(a) or not len(b):
        return None
    effect = compute_cohens_d(a, b)
    word = "higher" if effect > 0 else "lower" if effect < 0 else "equal"
    return {
        "column": column.key,
        "name": column.name,
        "kind": "number",
        "effect": effect,
        "text": f"{column.name} is {word}: {a.mean():.4g} against {b.mean():.4g}",
        "selected": float(a.mean()),
        "rest": float(b.mean()),
        "category": None,
        "measure": "Cohen's d",
    }


def _compare_shares(
    column: PageColumn, inside: NDArray[np.int64], outside: NDArray[np.int64]
) -> dict[str, object] | None:
    """The category whose share differs most."""
    size = len(column.categories)
    if not size:
        return None
    # Code 0 then stands for missing values.
    both = (column.values[rows] + 1 for rows in (inside, outside))
    counts = [np.bincount(codes, minlength=size + 1) for codes in both]
    shares = [count[1:] / max(count.sum(), 1) for count in counts]
    gap = shares[0] - shares[1]
    most = int(np.abs(gap).argmax())
    name = column.categories[most]
    a, b = float(shares[0][most]), float(shares[1][most])
    return {
        "column": column.key,
        "name": column.name,
        "kind": "category",
        "effect": float(gap[most]),
        "text": f"{column.name} is {name!r} in {a:.0%} against {b:.0%}",
        "selected": a,
        "rest": b,
        "category": name,
        "measure": "difference of shares",
    }
