"""Pages of the site for documents outside docs/, and the links between both.

The Markdown is read on the site and in the repository: a link to `../benchmarks/RESULTS.md` is
right there, and leads to the page `benchmarks` here. The pages of `PAGES` show those files.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent.parent
DOCS = ROOT / "docs"
PAGES = {  # page of the site -> file of the repository
    "benchmarks": "benchmarks/RESULTS.md",
    "benchmarks-blocks": "benchmarks/BLOCKS.md",
    "benchmarks-explorer": "benchmarks/EXPLORER.md",
    "benchmarks-gpu": "benchmarks/GPU.md",
    "benchmarks-memory": "benchmarks/MEMORY.md",
    "benchmarks-thresholds": "benchmarks/THRESHOLDS.md",
    "changes": "CHANGELOG.md",
    "contributing": "CONTRIBUTING.md",
}
PAGE_OF_FILE = {(ROOT / file): DOCS / f"{page}.md" for page, file in PAGES.items()} | {
    ROOT / "README.md": DOCS / "index.md",
    DOCS / "decisions": DOCS / "decisions" / "README.md",
}
LINK = re.compile(r"(\]\()(?!https?:|#)([^)#\s]+)(#[^)\s]*)?\)")


def rewrite(text: str, read_at: Path, shown_at: Path) -> str:
    """Links of a text that stands in folder `read_at`, for a page in the folder `shown_at`."""

    def replace(link: re.Match[str]) -> str:
        target = Path(os.path.normpath(read_at / link[2]))
        target = PAGE_OF_FILE.get(target, target)
        return f"{link[1]}{Path(os.path.relpath(target, shown_at)).as_posix()}{link[3] or ''})"

    return LINK.sub(replace, text)


def read_source(app: Any, page: str, source: list[str]) -> None:
    path = Path(app.env.doc2path(page))
    if path.suffix != ".md":
        return
    if page in PAGES:
        file = ROOT / PAGES[page]
        app.env.note_dependency(str(file))
        source[0] = rewrite(file.read_text(encoding="utf-8"), file.parent, path.parent)
    else:
        source[0] = rewrite(source[0], path.parent, path.parent)


def setup(app: Any) -> dict[str, bool]:
    app.connect("source-read", read_source)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
