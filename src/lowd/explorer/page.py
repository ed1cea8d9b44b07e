"""The page: from a server, or as one file that works offline; and its rows as a table."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ..io.table import Column
from ..report.page import encode_json, encode_png, tile_images
from .evidence import encode_table
from .replies import ARROW_TYPE, RequestError, encode_columns, encode_points
from .session import Session

if TYPE_CHECKING:
    from .routes import Routes

# -- the page around the bundle of scripts -------------------------------------------------------

STATIC_TYPES = {
    "app.js": "text/javascript; charset=utf-8",
    "app.css": "text/css; charset=utf-8",
    "licenses.txt": "text/plain; charset=utf-8",
}

# Nothing is loaded from elsewhere, nothing inline runs, no other page may frame this one.
CONTENT_SECURITY_POLICY = "; ".join(
    [
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data: blob:",
        "connect-src 'self'",
        "worker-src 'self' blob:",
        "font-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    ]
)


@cache
def read_static(name: str) -> bytes:
    """Read a file of the bundle."""
    return (files("lowd.explorer") / "static" / name).read_bytes()


def make_served_page(title: str) -> str:
    """Make the page that a server sends; it loads the bundle from the same server."""
    head = '<link rel="stylesheet" href="/static/app.css">'
    return _wrap(title, head, '<script src="/static/app.js" defer></script>')


def make_offline_page(title: str, data: Mapping[str, object], state: str = "") -> str:
    """Make one file with the bundle and all data in it; its policy allows no request at all."""
    script, style = (read_static(name).decode("utf-8") for name in ("app.js", "app.css"))
    script = script.replace("</script", "<\\/script").replace("<!--", "<\\!--")
    policy = "; ".join(
        [
            "default-src 'none'",
            f"script-src '{_hash(script)}'",
            f"style-src '{_hash(style)}'",
            "img-src data: blob:",
            "worker-src blob:",
            "base-uri 'none'",
            "form-action 'none'",
        ]
    )
    head = (
        f'<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">'
        f"<style>{style}</style>"
    )
    json_type = 'type="application/json"'
    body = (
        f'<script {json_type} id="lowd-data">{encode_json(data)}</script>'
        f'<script {json_type} id="lowd-state">{encode_json(state)}</script>'
        f"<script>{script}</script>"
    )
    return _wrap(title, head, body)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _wrap(title: str, head: str, body: str) -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">{head}</head><body>'
        '<div id="lowd"></div><noscript>The explorer needs JavaScript; it loads nothing from '
        f"elsewhere.</noscript>{body}</body></html>"
    )


# -- exports -------------------------------------------------------------------------------------

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
