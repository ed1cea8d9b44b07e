"""HTML of a report, and its points as JSON; every text of the data is escaped."""

from __future__ import annotations

import base64
import hashlib
import json
import platform
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from html import escape
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..evidence.compare.comparison import MAX_STABILITY_ROWS
from ..methods.pca import PCA
from ..pipeline import Pipeline
from ..plot.canvas import COLORS, Classes, choose_coloring
from ..reducer import Reducer

if TYPE_CHECKING:
    from ..evidence.compare import Stability
    from ..evidence.diagnosis import Diagnosis, Finding
    from ..evidence.quality import Evaluation, Measure
    from ..io.table import Column, Table
    from .figures import Figure

# A canvas draws this many fluently; beyond, a density plot is shown.
MAX_INTERACTIVE_POINTS = 100_000
MAX_COLUMN_VALUES = 2_000_000  # Entries of further columns in one page: 8 MB, or 11 MB as text.


def make_page(title: str, lead: str, sections: Iterable[str], points: str | None) -> str:
    """Make the document, whose security policy runs only the script below and loads nothing."""
    style = (Path(__file__).parent / "page.css").read_text("utf-8")
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
    built = Path(__file__).parents[1] / "explorer" / "static"  # from web/
    return (built / name).read_text("utf-8")


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
    usage = (
        "Drag to move, scroll or pinch to zoom, point at a dot to see its values, click it to "
        "keep them, draw around points with Shift to select them. With the keyboard: arrows, + "
        "and -, 0 for all points."
    )
    return f"""<div id="lowd" data-name="{escape(name)}"></div>
<p class="soft">{n} points. <span class="screen">{escape(usage)}</span> {scale}</p>
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
    direction = f"{better} is better" if better in ("higher", "lower") else better
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


Columns: TypeAlias = Sequence[str] | None  # the names of the columns that were fitted


def list_steps(model: Reducer, standardized: bool = False) -> dict[str, object]:
    """Steps of preprocessing that were applied, by the names that `lowd.Pipeline` gives them.

    >>> import lowd
    >>> list_steps(lowd.Pipeline(lowd.TSNE(2), scale=True, pca=30))
    {'scale': True, 'pca': 30}
    """
    is_chain = isinstance(model, Pipeline)
    steps: dict[str, object] = dict(model.get_steps()) if is_chain else {}
    method = model.method if is_chain else model
    if standardized or (isinstance(method, PCA) and method.scale):
        steps["scale"] = True
    return steps


def describe_steps(steps: Mapping[str, object]) -> str:
    """Describe the steps in a sentence that stands below the title.

    >>> describe_steps({"drop": ("id",), "scale": True, "pca": 30})
    ' Prepared: id left out, columns standardized, 30 principal components.'
    """
    parts = [_describe(name, value) for name, value in steps.items()]
    return f" Prepared: {', '.join(parts)}." if parts else ""


def _describe(name: str, value: object) -> str:
    columns = _list_some(value) if isinstance(value, tuple | list) else "all columns"
    return {
        "drop": f"{columns} left out",
        "impute": f"missing values filled with the {value}",
        "normalize": "rows divided by their totals",
        "log1p": f"logarithm of {columns}",
        "scale": "columns standardized",
        "pca": f"{value} principal components",
        "correct_shrinkage": "shrinkage of new points corrected",
    }[name]


def _list_some(columns: tuple[object, ...] | list[object], most: int = 5) -> str:
    names = [str(column) for column in columns]
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more} more" if more > 0 else "")


def describe_remedy(finding: Finding, steps: Mapping[str, object], columns: Columns) -> str | None:
    """Describe what the preparation did about a finding, or None if it did not address it."""
    if finding.severity == "fine":
        return None
    if finding.action is None:
        # The step that a finding calls for when the user has decided it.
        step = {
            "scale": "scale",
            "missing": "impute",
            "counts": "log1p",
            "skewness": "log1p",
            "noise": "pca",
            "hubness": "pca",
        }.get(finding.topic)
        done = _describe(step, steps[step]) if step is not None and steps.get(step) else None
        return None if done is None else f"Done: {done}."
    wanted = set(finding.action.params)
    left_out = columns is not None and not {f"column {c!r}" for c in columns} & set(
        finding.affected
    )
    taken = {name for name in wanted if steps.get(name) or (name == "drop" and left_out)}
    return f"Done: {finding.action.description}." if taken == wanted else None


def encode_points(
    Y: Column, names: list[str], evaluation: Evaluation | None, table: Table | None
) -> tuple[str, list[str]]:
    """Return the JSON for the page, and notes on what was left out."""
    n, notes = len(Y), list[str]()
    palette = [[int(color[i : i + 2], 16) for i in (1, 3, 5)] for color in COLORS]
    axes = [
        {"name": name, "values": _encode_array(column, np.float32)}
        for name, column in zip(names[:10], Y.T[:10], strict=True)
    ]
    columns, free = [], MAX_COLUMN_VALUES
    for name, values, main, is_measure in _list_columns(evaluation, table, n):
        if free < n and not main:
            notes.append(f"The page holds as many columns as fit; {name!r} and later ones do not.")
            break
        columns.append(_encode_column(name, values, is_measure) | {"main": main})
        free -= n
    ids = None if table is None or table.ids is None else [str(name) for name in table.ids]
    if ids is not None and sum(map(len, ids)) > 4_000_000:  # of 4 MB
        ids = None
        notes.append("The identifiers are too long for one page; points have their row number.")
    value = {
        "n": n,
        "palette": palette,
        "axes": axes,
        "columns": columns,
        "ids": ids,
        "thumbnails": _encode_thumbnails(table, n),
    }
    return encode_json(value), notes


def encode_json(value: object) -> str:
    """Encode JSON for a script element, such that no text of the data can end the element."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


class _PointColumn(NamedTuple):
    name: str
    values: Column
    main: bool = False  # shown next to a point under the mouse
    is_measure: bool = False


def _list_columns(
    evaluation: Evaluation | None, table: Table | None, n: int
) -> Iterator[_PointColumn]:
    """Yield labels first, then pointwise measures of quality, then all other columns."""
    if table is not None and table.labels is not None:
        yield _PointColumn(table.label_name, table.labels, main=True)
    if evaluation is not None:
        for name, values in evaluation.pointwise.items():
            full = np.full(n, np.nan)
            full[evaluation.rows] = values
            main = name == "trustworthiness"
            yield _PointColumn(name.replace("_", " "), full, main, is_measure=True)
    if table is not None:
        yield from (_PointColumn(name, values) for name, values in table.extra.items())
        if table.kind in ("rows", "genotypes") and isinstance(table.X, np.ndarray):
            names = map(str, table.columns)
            yield from (_PointColumn(name, table.X[:, i]) for i, name in enumerate(names))


def _encode_column(name: str, values: Column, is_measure: bool) -> dict[str, object]:
    values = np.asarray(values)
    many = max(40, len(values) // 2)  # more distinct words are text
    if values.dtype.kind not in "iufb" and len(set(map(str, values))) > many:
        texts = [str(text)[:200] for text in values]
        return {"name": name, "kind": "text", "values": texts}
    colors = choose_coloring(values, len(values), "values" if is_measure else "auto", name)
    if isinstance(colors, Classes):
        return {
            "name": name,
            "kind": "class",
            "names": _get_full_names(colors, values),
            "others": colors.has_others,
            "counts": np.bincount(colors.codes, minlength=len(colors.names)).tolist(),
            "values": _encode_array(colors.codes, np.uint16),
        }
    numbers = np.where(np.isfinite(values), values, np.nan).astype(np.float64)
    known = numbers[np.isfinite(numbers)]
    low, high = (float(known.min()), float(known.max())) if len(known) else (0.0, 1.0)
    return {
        "name": name,
        "kind": "number",
        "low": low,
        "high": high,
        "values": _encode_array(numbers, np.float32),
    }


def _get_full_names(classes: Classes, values: Column) -> list[str]:
    """The full names of classes, which the legend of a plot shortens."""
    first = {int(code): row for row, code in reversed(list(enumerate(classes.codes)))}
    return [
        str(values[first[code]]) if name.endswith("…") and code in first else name
        for code, name in enumerate(classes.names)
    ]


def _encode_array(values: Column, dtype: type[np.generic]) -> str:
    """Encode the little-endian bytes of an array in base64."""
    kind = np.dtype(dtype).newbyteorder("<")
    with np.errstate(over="ignore"):
        return base64.b64encode(np.ascontiguousarray(values, kind).tobytes()).decode("ascii")


def _encode_thumbnails(table: Table | None, n: int) -> dict[str, object] | None:
    """Put all thumbnails into one image; the page shows a part of it for each row."""
    images = None if table is None else table.thumbnails
    if images is None or len(images) != n or np.asarray(images).size > 12_000_000:
        return None
    images = np.asarray(images, np.uint8)
    if images.ndim == 3:
        images = images[..., None]
    image, across = tile_images(images)
    return {
        "width": images.shape[2],
        "height": images.shape[1],
        "across": across,
        "sheet": f"data:image/png;base64,{base64.b64encode(encode_png(image)).decode('ascii')}",
    }


def tile_images(images: NDArray[np.uint8]) -> tuple[NDArray[np.uint8], int]:
    """Tile all images into one in reading order; return it and how many are in a line.

    >>> tile_images(np.zeros((5, 8, 8, 1), np.uint8))[0].shape
    (16, 24, 1)
    """
    n, height, width, depth = images.shape
    across = int(np.ceil(np.sqrt(n * height / width)))
    down = -(-n // across)
    sheet = np.zeros((down * across, height, width, depth), np.uint8)
    sheet[:n] = images
    lines = sheet.reshape(down, across, height, width, depth).swapaxes(1, 2)
    return lines.reshape(down * height, across * width, depth), across


def encode_png(image: NDArray[np.uint8]) -> bytes:
    """Encode an image as PNG: gray (1 channel), RGB (3) or RGBA (4).

    >>> encode_png(np.zeros((2, 3, 1), np.uint8))[1:4]
    b'PNG'
    """
    height, width, depth = image.shape

    def make_chunk(name: bytes, body: bytes) -> bytes:
        check = struct.pack(">I", zlib.crc32(name + body))
        return struct.pack(">I", len(body)) + name + body + check

    kind = {1: 0, 3: 2, 4: 6}[depth]
    # Each line begins with the number of its filter: 0.
    lines = np.zeros((height, 1 + width * depth), np.uint8)
    lines[:, 1:] = image.reshape(height, -1)
    return (
        b"\x89PNG\r\n\x1a\n"
        + make_chunk(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, kind, 0, 0, 0))
        + make_chunk(b"IDAT", zlib.compress(lines.tobytes(), 6))
        + make_chunk(b"IEND", b"")
    )
