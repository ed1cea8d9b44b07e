"""The HTML page around the bundle of scripts: from a server, or one file that works offline."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from html import escape
from importlib.resources import files

from ..report.points import encode_json

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
    return _make_page(title, head, '<script src="/static/app.js" defer></script>')


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
    return _make_page(title, head, body)


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _make_page(title: str, head: str, body: str) -> str:
    return (
        '<!DOCTYPE html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<title>{escape(title)}</title><link rel="icon" href="data:,">{head}</head><body>'
        '<div id="lowd"></div><noscript>The explorer needs JavaScript; it loads nothing from '
        f"elsewhere.</noscript>{body}</body></html>"
    )
