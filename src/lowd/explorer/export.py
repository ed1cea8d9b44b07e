"""Export: rows with their coordinates as columns, and the whole view as one offline page."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..io.table import Column
from ..report.points import encode_png, tile_images
from .arrow import ARROW_TYPE, encode_columns, encode_points
from .faults import RequestError
from .neighbors import encode_table
from .session import Session
from .shell import make_offline_page

if TYPE_CHECKING:
    from .routes import Routes

# Size of all data before base64; a browser opens 350 MB of text in seconds.
MAX_OFFLINE_BYTES = 2**28
MAX_OFFLINE_VALUES = 2**25  # Entries of all columns; features beyond are left out.
MAX_SHEET_PIXELS = 2**25  # Pixels of all thumbnails in one picture that a browser can show.


def collect_columns(session: Session, rows: slice | NDArray[np.int64]) -> dict[str, Column]:
    """Collect row numbers, all columns, and the coordinates in every panel."""
    columns: dict[str, Column] = {"row": np.arange(session.n)[rows]}
    for column in session.columns:
        name = column.name if column.name not in columns else f"{column.name} ({column.key})"
        columns[name] = column.get_words(rows)
    for panel in list(session.panels.values()):
        Y = panel.coordinates[rows]
        for j in range(Y.shape[1]):
            name = f"{panel.name} {j + 1}"
            name = name if name not in columns else f"{name} ({panel.key})"
            columns[name] = Y[:, j]
    return columns


def make_page(routes: Routes, state: str = "") -> str:
    """Make one HTML file with everything that can be shown without a server."""
    session = routes.session
    view = routes.describe_view()
    data: dict[str, object] = {}
    size = 0

    def add(path: str, kind: str, content: bytes) -> None:
        nonlocal size
        size += len(content)
        if size > MAX_OFFLINE_BYTES:
            raise RequestError(
                413,
                "too_large",
                f"one file would hold more than {MAX_OFFLINE_BYTES // 2**20} MB.",
                "Close panels, or export a selection as a table.",
            )
        text = base64.b64encode(content).decode("ascii")
        data[f"GET {path}"] = {"type": kind, "base64": text}

    panels = list(session.panels.values())
    for panel in panels:
        add(f"/api/panels/{panel.key}/points", ARROW_TYPE, encode_points(panel.coordinates))
        if session.compared is None:
            continue
        evidence = routes.evaluations.wait(panel.key)
        quality = {"type": "application/json", "json": evidence.describe()}
        data[f"GET /api/panels/{panel.key}/quality"] = quality
        if evidence.columns is not None:
            path = f"/api/panels/{panel.key}/evidence"
            add(path, ARROW_TYPE, encode_columns(evidence.columns))
    count = max(1, MAX_OFFLINE_VALUES // session.n)
    columns = session.columns[:count]
    for column in columns:
        values = column.select(slice(None))
        add(f"/api/columns/{column.key}", ARROW_TYPE, encode_columns({"value": values}))
    table = encode_table(session)
    if table is not None:
        add("/api/neighbors", ARROW_TYPE, table)
    images = session.thumbnails
    sheet = None
    if images is not None and images.size <= MAX_SHEET_PIXELS:
        sheet = tile_images(images)
        add("/api/thumbnails", "image/png", encode_png(sheet[0]))
    shown = {panel.key for panel in panels}
    view |= {
        "mode": "static",
        "panels": [entry for entry in view["panels"] if entry["key"] in shown],  # type: ignore[attr-defined]
        "columns": [column.describe() for column in columns],
        "thumbnails": None if sheet is None else {**view["thumbnails"], "across": sheet[1]},  # type: ignore[dict-item]
        "can": {
            **dict.fromkeys(view["can"], False),  # type: ignore[call-overload]
            "neighbors": "none" if table is None else "table",
            "quality": session.compared is not None,
        },
    }
    data["GET /api/view"] = {"type": "application/json", "json": json.loads(json.dumps(view))}
    return make_offline_page(session.title, data, state)
