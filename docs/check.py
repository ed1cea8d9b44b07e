"""Do the documents tell the truth? Runs every ```python block, and follows every link to a file.

Usage: python docs/check.py [--pictures] [PAGE ...]   (all pages by default)

Blocks of a page share their names. A block with `>>>` must print what the page shows. With
--pictures the PNG files that a page saves are kept in docs/images/pages, where it shows them.
"""

from __future__ import annotations

import doctest
import os
import re
import shutil
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\]\((?!https?:|#)([^)#]+)")
PICTURES = ROOT / "docs" / "images" / "pages"
sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))  # of the demonstrations
FLAGS = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS


def main(pages: list[Path], keep_pictures: bool) -> int:
    failures = 0
    for page in pages:
        text = page.read_text(encoding="utf-8")
        missing = [link for link in LINK.findall(text) if not (page.parent / link).exists()]
        for link in missing:
            print(f"{page.relative_to(ROOT)}: broken link {link}")
        failures += len(missing) + run_blocks(page, text, keep_pictures)
    print(f"{len(pages)} pages, {failures} failures")
    return int(failures > 0)


def run_blocks(page: Path, text: str, keep_pictures: bool) -> int:
    """Number of blocks that fail."""
    names: dict[str, Any] = {"__name__": "__main__"}
    failed = 0
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        os.chdir(folder)  # what a snippet saves is not kept
        for block in FENCE.finditer(text):
            line = text[: block.start()].count("\n") + 1
            failed += not run(block[1], names, f"{page.relative_to(ROOT)}:{line}", line)
        os.chdir(ROOT)
        for picture in Path(folder).glob("*.png") if keep_pictures else ():
            if f"/{PICTURES.name}/{picture.name}" in text:
                shutil.copy(picture, PICTURES)
    return failed


def run(code: str, names: dict[str, Any], where: str, line: int) -> bool:
    if ">>>" not in code:
        try:
            exec(compile(code, where, "exec", dont_inherit=True), names)
        except Exception:
            print(f"{where}:\n{traceback.format_exc()}")
            return False
        return True
    test = doctest.DocTestParser().get_doctest(code, names, where, where, line)
    result = doctest.DocTestRunner(optionflags=FLAGS).run(test, clear_globs=False)
    names.update(test.globs)
    return result.failed == 0


if __name__ == "__main__":
    keep = "--pictures" in sys.argv
    given = [Path(name).resolve() for name in sys.argv[1:] if not name.startswith("--")]
    every = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]
    sys.exit(main(given or every, keep))
