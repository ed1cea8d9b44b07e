"""The requests of the page and their answers, independent of the transport.

A server, a notebook and an offline file share these routes: `Routes.answer` takes a method, a path,
a query and a body, and gives a status, a content type and bytes.
"""

from __future__ import annotations

import re
import traceback
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ..report.page import encode_png
from . import page
from .evidence import Evaluations, compare_selection, find_neighbors
from .jobs import Jobs, list_methods
from .new_points import MAX_NEW_ROWS, Uploads, list_sliders, move_row
from .replies import (
    ARROW_TYPE,
    HTML_TYPE,
    PNG_TYPE,
    Reply,
    Request,
    RequestError,
    attach,
    describe_error,
    encode_columns,
    encode_points,
    to_arrow,
    to_file,
    to_json,
)
from .session import Session

MAX_CHUNK_ROWS = 2**18  # Rows of one response: 2 MB of coordinates.
MAX_UPLOAD_BYTES = 2**25  # Size of one file of new points.
MAX_REQUEST_BYTES = 2**26  # Size of any other body: a selection of 5 million rows as text.


Handler: TypeAlias = Callable[..., Reply]


class Routes:
    """The answers of one session."""

    def __init__(self, session: Session, mode: str = "server") -> None:
        self.session, self.mode = session, mode
        self.evaluations, self.jobs = Evaluations(session), Jobs(session)
        self.uploads = Uploads(session)
        self._routes = [
            (method, re.compile(pattern), getattr(self, handler))
            for method, pattern, handler in _ROUTES
        ]

    def answer(self, request: Request) -> Reply:
        """Return the reply to a request; errors become replies as well."""
        try:
            known = False
            for method, pattern, handler in self._routes:
                if found := pattern.fullmatch(request.path):
                    known = True
                    if method == request.method:
                        reply: Reply = handler(request, *found.groups())
                        return reply
            if known:
                raise RequestError(405, "bad_request", f"{request.method} is not for this path.")
            raise RequestError(404, "not_found", "there is no such page.", "Reload the page.")
        except Exception as error:
            status, fault = describe_error(error)
            if status == 500:
                traceback.print_exc()
            return to_json(fault._asdict(), status)

    def close(self) -> None:
        """End the jobs and the evaluations."""
        self.jobs.close()
        self.evaluations.close()

    def get_limit(self, path: str) -> int:
        """The largest number of bytes that a body may have."""
        return MAX_UPLOAD_BYTES if path == "/api/new-points" else MAX_REQUEST_BYTES

    # -- what is shown -----------------------------------------------------------------------

    def get_view(self, _: Request) -> Reply:
        return to_json(self.describe_view())

    def describe_view(self) -> dict[str, object]:
        session = self.session
        with session.lock:
            panels = [panel.describe() for panel in session.panels.values()]
            revision = session.revision
        images, has_data = session.thumbnails, session.X is not None
        has_rows = has_data and getattr(session.X, "dtype", None) is not None
        can = {
            "neighbors": "server" if session.compared is not None else "none",
            "quality": session.compared is not None,
            "rows": True,
            "search": True,
            "compare": True,
            "new_points": session.preparation is not None
            or any(panel.preparation for panel in session.panels.values()),
            "move": has_rows and session.metric != "precomputed",
            "run": has_data,
            "export": True,
            "export_html": True,
        }
        return {
            "version": 1,
            "mode": self.mode,
            "title": session.title,
            "n": session.n,
            "revision": revision,
            "panels": panels,
            "columns": [column.describe() for column in session.columns],
            "thumbnails": None
            if images is None
            else {"width": images.shape[2], "height": images.shape[1]},
            "can": can,
            "limits": {
                "chunk_rows": MAX_CHUNK_ROWS,
                "upload_bytes": MAX_UPLOAD_BYTES,
                "new_rows": MAX_NEW_ROWS,
            },
        }

    def get_points(self, request: Request, key: str) -> Reply:
        panel = self.session.get_panel(key)
        return to_arrow(encode_points(panel.coordinates[self._get_chunk(request)]))

    def remove_panel(self, _: Request, key: str) -> Reply:
        self.session.remove_panel(key)
        return to_json({})

    def get_column(self, request: Request, key: str) -> Reply:
        column = self.session.get_column(key)
        return to_arrow(encode_columns({"value": column.select(self._get_chunk(request))}))

    def _get_chunk(self, request: Request) -> slice:
        n = self.session.n
        start = request.read_int("start", 0, 0, n)
        stop = request.read_int("stop", min(n, start + MAX_CHUNK_ROWS), start, 10**12)
        return slice(start, min(stop, n, start + MAX_CHUNK_ROWS))

    # -- evidence ------------------------------------------------------------------------------

    def get_quality(self, _: Request, key: str) -> Reply:
        return to_json(self.evaluations.get(key).describe())

    def get_evidence(self, request: Request, key: str) -> Reply:
        columns = self.evaluations.get(key).columns
        if columns is None:
            raise RequestError(409, "not_ready", "the quality is not computed yet.", "Wait for it.")
        chunk = self._get_chunk(request)
        return to_arrow(encode_columns({name: column[chunk] for name, column in columns.items()}))

    def get_neighbors(self, request: Request) -> Reply:
        row = request.read_int("row", -1, 0, self.session.n - 1)
        return to_json(find_neighbors(self.session, row, request.read_int("k", 15, 1, 10**6)))

    # -- rows ------------------------------------------------------------------------------------

    def get_row(self, _: Request, text: str) -> Reply:
        row = self._check_row(text)
        values = [
            {"column": column.key, "name": column.name, "value": column.get_value(row)}
            for column in self.session.columns
        ]
        return to_json({"row": row, "values": values})

    def get_thumbnail(self, _: Request, text: str) -> Reply:
        row = self._check_row(text)
        if self.session.thumbnails is None:
            raise RequestError(404, "not_found", "the rows have no images.")
        return Reply(200, PNG_TYPE, encode_png(self.session.thumbnails[row]))

    def _check_row(self, text: str) -> int:
        row = int(text)
        if row >= self.session.n:
            raise RequestError(404, "not_found", f"there is no row {row}.")
        return row

    def search(self, request: Request) -> Reply:
        text = request.query.get("q", "")
        limit = request.read_int("limit", 1000, 1, 100_000)
        columns = [column for column in self.session.columns if column.kind != "number"]
        if key := request.query.get("column"):
            columns = [self.session.get_column(key)]
        hits = np.zeros(self.session.n, bool)
        if text:
            for column in columns:
                hits |= column.find(text)
        rows = np.flatnonzero(hits)
        return to_json({"total": len(rows), "rows": rows[:limit].tolist()})

    def compare(self, request: Request) -> Reply:
        rows = self.session.check_rows(request.read_json().get("rows"))
        return to_json(compare_selection(self.session, rows))

    def set_selection(self, request: Request) -> Reply:
        self.session.selection = self.session.check_rows(request.read_json().get("rows"), 0)
        return to_json({})

    # -- new points --------------------------------------------------------------------------

    def get_features(self, request: Request) -> Reply:
        row = request.read_int("row", -1, 0, self.session.n - 1)
        return to_json({"features": list_sliders(self.session, row)})

    def move(self, request: Request) -> Reply:
        asked = request.read_json()
        row, changes = asked.get("row"), asked.get("changes")
        if type(row) is not int or not 0 <= row < self.session.n or not isinstance(changes, dict):
            raise RequestError(422, "bad_request", "expected a row and changes of its features.")
        return to_json(move_row(self.session, row, changes))

    def add_points(self, request: Request) -> Reply:
        # Only the suffix matters: the name is never used for a file here.
        name = re.sub(r"[^\w.-]", "_", request.query.get("name", "pasted.csv"))[-64:]
        return to_json(self.uploads.add(request.body, name))

    def get_points_file(self, request: Request, key: str) -> Reply:
        columns = self.uploads.get(key).make_columns(self.session)
        return to_file(columns, request.query.get("format", "csv"), "new-points")

    def remove_points(self, _: Request, key: str) -> Reply:
        self.uploads.remove(key)
        return to_json({})

    # -- jobs ----------------------------------------------------------------------------------

    def get_methods(self, _: Request) -> Reply:
        return to_json({"methods": list_methods()})

    def start_job(self, request: Request) -> Reply:
        return to_json(self.jobs.start(request.read_json()).describe(), 201)

    def list_jobs(self, _: Request) -> Reply:
        return to_json({"jobs": [job.describe() for job in self.jobs.list()]})

    def get_job(self, _: Request, key: str) -> Reply:
        return to_json(self.jobs.get(key).describe())

    def cancel_job(self, _: Request, key: str) -> Reply:
        return to_json(self.jobs.cancel(key).describe())

    def get_job_points(self, request: Request, key: str) -> Reply:
        job = self.jobs.get(key)
        frame, Y = job.frame, job.coordinates
        if Y is None:
            raise RequestError(409, "not_ready", "there is no embedding yet.", "Wait for it.")
        points = encode_points(Y[self._get_chunk(request)])
        return Reply(200, ARROW_TYPE, points, {"X-Frame": str(frame)})

    # -- files ---------------------------------------------------------------------------------

    def export_rows(self, request: Request) -> Reply:
        asked = request.read_json()
        rows: NDArray[np.int64] | slice = slice(None)
        if asked.get("rows") is not None:
            rows = self.session.check_rows(asked["rows"])
        columns = page.collect_columns(self.session, rows)
        return to_file(columns, asked.get("format", "csv"), "selection")

    def export_page(self, request: Request) -> Reply:
        state = request.read_json().get("state", "")
        if not isinstance(state, str):
            raise RequestError(422, "bad_request", "state: expected a text.")
        text = page.make_page(self, state)
        return Reply(200, HTML_TYPE, text.encode("utf-8"), attach("explorer.html"))


_ROUTES = [
    ("GET", "/api/view", "get_view"),
    ("GET", r"/api/panels/(p\d+)/points", "get_points"),
    ("GET", r"/api/panels/(p\d+)/quality", "get_quality"),
    ("GET", r"/api/panels/(p\d+)/evidence", "get_evidence"),
    ("DELETE", r"/api/panels/(p\d+)", "remove_panel"),
    ("GET", r"/api/columns/(c\d+)", "get_column"),
    ("GET", "/api/neighbors", "get_neighbors"),
    ("GET", r"/api/rows/(\d{1,12})", "get_row"),
    ("GET", r"/api/thumbnails/(\d{1,12})", "get_thumbnail"),
    ("GET", "/api/search", "search"),
    ("POST", "/api/compare", "compare"),
    ("POST", "/api/selection", "set_selection"),
    ("GET", "/api/features", "get_features"),
    ("POST", "/api/move", "move"),
    ("POST", "/api/new-points", "add_points"),
    ("GET", r"/api/new-points/(q\w+)/file", "get_points_file"),
    ("DELETE", r"/api/new-points/(q\w+)", "remove_points"),
    ("GET", "/api/methods", "get_methods"),
    ("POST", "/api/jobs", "start_job"),
    ("GET", "/api/jobs", "list_jobs"),
    ("GET", r"/api/jobs/(j\d+)", "get_job"),
    ("DELETE", r"/api/jobs/(j\d+)", "cancel_job"),
    ("GET", r"/api/jobs/(j\d+)/points", "get_job_points"),
    ("POST", "/api/export", "export_rows"),
    ("POST", "/api/export/html", "export_page"),
]
