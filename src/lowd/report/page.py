"""HTML of a report; every text of the data is escaped."""

from __future__ import annotations

import base64
import hashlib
import platform
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from .. import __version__
from ..evidence.compare.stability import MAX_STABILITY_ROWS
from .points import encode_json
from .preparation import Columns, describe_remedy

if TYPE_CHECKING:
    from ..evidence.compare import Stability
    from ..evidence.diagnosis import Diagnosis, Finding
    from ..evidence.quality import Evaluation, Measure
    from .figures import Figure

_FOLDER = Path(__file__).parent
_BUNDLE = _FOLDER.parent / "explorer" / "static"  # built from web/
_DIRECTIONS = {"higher": "higher is better", "lower": "lower is better"}
_HELP = (
    "Drag to move, scroll or pinch to zoom, point at a dot to see its values, click it to keep "
    "them, draw around points with Shift to select them. With the keyboard: arrows, + and -, 0 for "
    "all points."
)


def make_page(title: str, lead: str, sections: Iterable[str], points: str | None) -> str:
    """Make the document, whose security policy runs only the script below and loads nothing."""
    style = (_FOLDER / "page.css").read_text("utf-8")
    policy = f"default-src 'none'; img-src data: blob:; style-src '{_hash_source(style)}'"
    data = run = ""
    if points is not None:
        script = _read_bundle("app.js").replace("</script", "<\\/script").replace("<!--", "<\\!--")
        data = _make_json("points", points) + _make_json(
            "lowd-style", encode_json(_read_bundle("app.css"))
        )
        run = f"<script>{script}</script>"
        policy += f"; script-src '{_hash_source(script)}'"
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
<a class="skip" href="#quality">Skip to the quality measures</a>
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


def _hash_source(text: str) -> str:
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode('ascii')}"


def _read_bundle(name: str) -> str:
    """Read a file of the explorer's page, whose panel is the plot of the report."""
    return (_BUNDLE / name).read_text("utf-8")


def _make_json(name: str, text: str) -> str:
    return f'<script type="application/json" id="{name}">{text}</script>'


def make_section(name: str, title: str, *parts: str) -> str:
    body = "".join(parts)
    return f'<section id="{name}"><h2>{escape(title)}</h2>\n{body}</section>\n' if body else ""


def make_paragraph(text: str) -> str:
    return f"<p>{escape(text)}</p>\n"


def make_plot(n: int, name: str, one_dimension: bool) -> str:
    """The container of the interactive scatter plot, which the script fills."""
    scale = (
        "The embedding has one dimension: the height is arbitrary and spreads the points."
        if one_dimension
        else "Both axes have the same scale."
    )
    return f"""<div id="lowd" data-name="{escape(name)}"></div>
<p class="soft">{n} points. <span class="screen">{escape(_HELP)}</span> {scale}</p>
<noscript><p>The plot needs JavaScript; the measures below do not.</p></noscript>
"""


def make_image(url: str, description: str, caption: str) -> str:
    """Make a static image."""
    return (
        f'<figure><img class="density" src="{url}" alt="{escape(description)}">'
        f"<figcaption>{escape(caption)}</figcaption></figure>\n"
    )


def make_figures(figures: Sequence[Figure]) -> str:
    """Place figures side by side."""
    body = "".join(
        f"<figure>{figure.svg}<figcaption><b>{escape(figure.title)}.</b> {escape(figure.text)}"
        "</figcaption></figure>\n"
        for figure in figures
    )
    return f'<div class="charts">{body}</div>\n' if body else ""


def make_quality(evaluation: Evaluation) -> str:
    """Make the table of measures with value, interval, direction and question."""
    rows = "".join(_make_measure(value) for value in evaluation.measures.values())
    how = (
        "Over all rows."
        if evaluation.exact
        else f"Over {len(evaluation.rows)} random rows, with 95 % confidence intervals."
    )
    notes, measures = "", evaluation.measures.values()
    for note in map(str, evaluation.notes):
        for measure in sorted(measures, key=lambda one: -len(one.name)):  # one may end in another
            if "_" in measure.name:  # other names are words of the sentence
                note = note.replace(measure.name, measure.title)
        notes += f"<p>{escape(note)}</p>"
    return (
        f"<p><b>{escape(evaluation.verdict)}</b></p>"
        f"<p>{how} Neighborhoods are the {evaluation.n_neighbors} nearest rows.</p>"
        '<div class="wide"><table class="quality"><thead><tr><th>measure</th><th>value</th>'
        '<th class="bar"></th><th class="meaning">what it answers</th></tr></thead>'
        f"<tbody>{rows}</tbody></table></div>{notes}"
    )


def make_stability(stability: Stability, n: int) -> str:
    """How much the embedding changes with the sample of the rows, in words."""
    if stability.subsamples is None:
        return ""
    of = "the rows" if n <= MAX_STABILITY_ROWS else f"{MAX_STABILITY_ROWS} random rows"
    name, consequence = stability.verdict.split(": ", 1)
    return (
        f"<p><b>Stability {stability.subsamples:.3f}, {escape(name)}:</b> {escape(consequence)}. "
        f"The share of the embedding's variance that fits to random 80 % of {of} move "
        "(Procrustes disparity): 0 none, 1 all.</p>"
    )


def _make_measure(value: Measure) -> str:
    number = float(value)
    interval = getattr(value, "interval", None)
    span = f" <small>{interval[0]:.3f} to {interval[1]:.3f}</small>" if interval else ""
    better = getattr(value, "better", "")
    # A bar would mislead unless more is better and 1 is the maximum.
    bar = (
        f'<meter min="0" max="1" value="{number:.4f}">{number:.3f}</meter>'
        if better == "higher" and 0 <= number <= 1
        else ""
    )
    question = str(getattr(value, "question", "") or getattr(value, "formula", ""))
    question = question[:1].upper() + question[1:]
    direction = _DIRECTIONS.get(better, better)
    return (
        f'<tr><td>{escape(value.title)}</td><td class="number">{number:.3f}{span}</td>'
        f'<td class="bar">{bar}</td><td class="meaning">{escape(question)} '
        f"<small>{escape(direction)}</small></td></tr>\n"
    )


def make_diagnosis(diagnosis: Diagnosis, steps: Mapping[str, object], columns: Columns) -> str:
    """Findings on the data before the fit, what was done about them, and recommended methods."""
    findings = "".join(_make_finding(item, steps, columns) for item in diagnosis.findings)
    advice = "".join(
        f"<li><b>{escape(item.method)}</b>: {escape(item.reason)}</li>\n"
        for item in diagnosis.recommendations
    )
    text = f'<ul class="findings">{findings}</ul>' if findings else ""
    return text + (f"<h3>Recommended methods</h3><ol>{advice}</ol>" if advice else "")


def _make_finding(finding: Finding, steps: Mapping[str, object], columns: Columns) -> str:
    done = describe_remedy(finding, steps, columns)
    severity, remedy = ("done", done) if done else (finding.severity, finding.remedy)
    return (
        f'<li class="{escape(severity)}"><b>{escape(severity)}</b> '
        f"{escape(finding.sentence)} <i>{escape(remedy)}</i></li>\n"
    )


def make_tables(tables: Mapping[str, Sequence[tuple[str, object]]]) -> str:
    """Place tables of names and values side by side where they fit."""
    parts = "".join(
        f"<div><h3>{escape(title)}</h3>{_make_table(rows)}</div>\n"
        for title, rows in tables.items()
        if rows
    )
    return f'<div class="charts">{parts}</div>\n'


def _make_table(rows: Iterable[tuple[str, object]]) -> str:
    cells = "".join(
        f'<tr><th scope="row">{escape(name)}</th>'
        f'<td class="value">{escape(_format_value(value))}</td></tr>\n'
        for name, value in rows
    )
    return f'<div class="wide"><table><tbody>{cells}</tbody></table></div>'


def _format_value(value: object) -> str:
    if isinstance(value, np.ndarray) and value.size > 8:
        return f"array of shape {value.shape}"
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 300 else f"{text[:300]}…"


def make_code_block(title: str, text: str) -> str:
    return f"<h3>{escape(title)}</h3><pre><code>{escape(text)}</code></pre>\n"


def list_versions() -> list[tuple[str, str]]:
    """Versions of the packages that computed the embedding."""
    found = [("lowd", __version__), ("Python", platform.python_version())]
    for package in ("numpy", "scipy", "scikit-learn"):
        try:
            found.append((package, version(package)))
        except PackageNotFoundError:
            continue
    return [*found, ("system", f"{platform.system()} {platform.machine()}")]
