"""Draw the badges of the README from pyproject.toml: python docs/_site/badges.py

They are files of the repository, so that no reader's browser asks another host for them, and a test
compares them with pyproject.toml, so that they stay true.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
FOLDER = ROOT / "docs" / "images" / "badges"
LETTER = 6.4  # pixels of a letter, of 11 in height
MARGIN = 6
BADGE = """\
<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="20" role="img" \
aria-label="{name}: {value}">
<clipPath id="r"><rect width="{width}" height="20" rx="3"/></clipPath>
<g clip-path="url(#r)"><rect width="{left}" height="20" fill="#4a4f57"/>\
<rect x="{left}" width="{right}" height="20" fill="#2f6f8f"/></g>
<g fill="#fff" font-family="Verdana,DejaVu Sans,sans-serif" font-size="11">
<text x="{margin}" y="14" textLength="{name_length}">{name}</text>
<text x="{value_at}" y="14" textLength="{value_length}">{value}</text>
</g>
</svg>
"""


def draw_badges() -> dict[str, str]:
    """The text of each SVG file, by its name."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    oldest = project["requires-python"].removeprefix(">=")
    return {
        "python.svg": draw_badge("python", f"{oldest} or newer"),
        "license.svg": draw_badge("license", project["license"]),
    }


def draw_badge(name: str, value: str) -> str:
    name_length, value_length = round(LETTER * len(name)), round(LETTER * len(value))
    left, right = name_length + 2 * MARGIN, value_length + 2 * MARGIN
    return BADGE.format(
        name=name,
        value=value,
        margin=MARGIN,
        left=left,
        right=right,
        width=left + right,
        name_length=name_length,
        value_at=left + MARGIN,
        value_length=value_length,
    )


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for file, text in draw_badges().items():
        (FOLDER / file).write_text(text, encoding="utf-8")
