"""The page of a report: sections of HTML in which every text of the data is escaped."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Iterable, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__

_HERE = Path(__file__).parent
_DIRECTIONS = {"higher": "higher is better", "lower": "lower is better"}
_HINT = (
    "Drag to move, turn the wheel or pinch to zoom, point at a dot to see what it is, click it to "
    "keep it. With the keyboard: arrows, + and -, 0 for the whole map."
)


def page(title: str, lead: str, sections: Iterable[str], points: str | None) -> str:
    """The whole document. Its policy lets nothing run but the script below, and loads nothing."""
    style = (_HERE / "page.css").read_text("utf-8")
    script = (_HERE / "map.js").read_text("utf-8") if points is not None else ""
    data = f'<script type="application/json" id="points">{points}</script>' if points else ""
    run = f"<script>{script}</script>" if script else ""
    policy = f"default-src 'none'; img-src data:; style-src '{_hash(style)}'" + (
        f"; script-src '{_hash(script)}'" if script else ""
    )
    return f"""<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="generator" content="lowd {__version__}">
<title>{escape(title)}</title>
<style>{style}</style>
</head>
<body>
<a class="skip" href="#quality">To the numbers</a>
<header>
<h1>{escape(title)}</h1>
<p class="soft">{escape(lead)}</p>
</header>
<main>
{"".join(section for section in sections if section)}
</main>
{data}
{run}
</body>
</html>
"""


def _hash(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def section(name: str, title: str, *parts: str) -> str:
    body = "".join(parts)
    return f'<section id="{name}"><h2>{escape(title)}</h2>\n{body}</section>\n' if body else ""


def interactive(n: int, line: bool, described: str) -> str:
    """The canvas with its tools; the script fills them."""
    scale = (
        "The map has one dimension: only the place across counts, the height spreads points apart."
        if line
        else "Distances have one scale in all directions."
    )
    return f"""<div class="tools">
<label>color <select id="color"></select></label>
<label>across <select id="first"></select></label>
<label>up <select id="second"></select></label>
<span><button type="button" id="closer" aria-label="zoom in">+</button>
<button type="button" id="farther" aria-label="zoom out">−</button>
<button type="button" id="whole">whole map</button></span>
</div>
<div class="stage">
<div class="picture">
<canvas id="map" tabindex="0" role="img" aria-label="{escape(described)}"></canvas>
<div id="tip" role="status" hidden></div>
</div>
<div class="side"><div id="legend"></div><div id="point" aria-live="polite" hidden></div></div>
</div>
<p class="soft">{n} points. {escape(_HINT)} {scale}</p>
<noscript><p>The map needs JavaScript; the numbers below do not.</p></noscript>
"""


def still(address: str, described: str, caption: str) -> str:
    """A picture that does not move."""
    return (
        f'<figure><img class="density" src="{address}" alt="{escape(described)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>\n"
    )


def charts(pictures: Sequence[tuple[str, str, str]]) -> str:
    """(address, what it is, how to read it) side by side."""
    figures = "".join(
        f'<figure><img src="{address}" alt="{escape(title)}">'
        f"<figcaption><b>{escape(title)}.</b> {escape(text)}</figcaption></figure>\n"
        for address, title, text in pictures
    )
    return f'<div class="charts">{figures}</div>\n' if figures else ""


def quality(evaluation: Any) -> str:
    """Every measure with its value, its interval, its direction and the question it answers."""
    rows = "".join(_measure(name, value) for name, value in evaluation.measures.items())
    how = (
        "Over all rows."
        if evaluation.exact
        else f"Over {len(evaluation.rows)} rows drawn at random, with 95 % intervals."
    )
    notes = "".join(f"<p>{escape(str(note))}</p>" for note in evaluation.notes)
    return (
        f"<p>{how} Neighborhoods are the {evaluation.n_neighbors} nearest rows.</p>"
        '<div class="wide"><table class="quality"><thead><tr><th>measure</th><th>value</th>'
        '<th class="bar"></th><th class="meaning">what it answers</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{notes}"
    )


def _measure(name: str, value: Any) -> str:
    number = float(value)
    interval = getattr(value, "interval", None)
    span = f" <small>{interval[0]:.3f} to {interval[1]:.3f}</small>" if interval else ""
    better = getattr(value, "better", "")
    # A bar only where more is better and 1 is the most: others would mislead.
    bar = (
        f'<meter min="0" max="1" value="{number:.4f}">{number:.3f}</meter>'
        if better == "higher" and 0 <= number <= 1
        else ""
    )
    question = str(getattr(value, "question", "") or getattr(value, "formula", ""))
    question = question[:1].upper() + question[1:]
    direction = _DIRECTIONS.get(better, better)
    return (
        f'<tr><td>{escape(name.replace("_", " "))}</td><td class="number">{number:.3f}{span}</td>'
        f'<td class="bar">{bar}</td><td class="meaning">{escape(question)} '
        f"<small>{escape(direction)}</small></td></tr>\n"
    )


def diagnosis(found: Any) -> str:
    """What was seen in the data before the fit, and which methods suit them."""
    findings = "".join(
        f'<li class="{escape(item.severity)}"><b>{escape(item.severity)}</b> '
        f"{escape(item.sentence)} <i>{escape(item.remedy)}</i></li>\n"
        for item in found.findings
    )
    advice = "".join(
        f"<li><b>{escape(item.method)}</b>: {escape(item.reason)}</li>\n"
        for item in found.recommendations
    )
    text = f'<ul class="findings">{findings}</ul>' if findings else ""
    return text + (f"<h3>Methods that suit these data</h3><ol>{advice}</ol>" if advice else "")


def lists(tables: dict[str, list[tuple[str, Any]]]) -> str:
    """Tables of names and values, side by side where there is room."""
    parts = "".join(
        f"<div><h3>{escape(title)}</h3>{_pairs(rows)}</div>\n"
        for title, rows in tables.items()
        if rows
    )
    return f'<div class="charts">{parts}</div>\n'


def _pairs(rows: Iterable[tuple[str, Any]]) -> str:
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th><td class="value">{escape(_short(value))}</td>'
        "</tr>\n"
        for name, value in rows
    )
    return f'<div class="wide"><table><tbody>{cells}</tbody></table></div>'


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"array of shape {value.shape}"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 300 else f"{text[:300]}…"


def code(title: str, text: str) -> str:
    return f"<h3>{escape(title)}</h3><pre><code>{escape(text)}</code></pre>\n"


def versions() -> list[tuple[str, str]]:
    """What computed this."""
    found = [("lowd", __version__), ("Python", platform.python_version())]
    for package in ("numpy", "scipy", "scikit-learn"):
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return [*found, ("system", f"{platform.system()} {platform.machine()}")]
