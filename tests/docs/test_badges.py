"""The badges of the README say what pyproject.toml says, and are files of the repository."""

from __future__ import annotations

import re

from scripts import ROOT, load_script

badges = load_script("docs/_site/badges.py")


def test_badges_are_true():
    drawn = {path.name: path.read_text(encoding="utf-8") for path in badges.FOLDER.iterdir()}
    assert drawn == badges.draw_badges(), "python docs/_site/badges.py draws them again"


def test_the_readme_shows_each_badge_and_asks_no_other_host():
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    assert set(re.findall(r"docs/images/badges/([\w.]+)", readme)) == set(badges.draw_badges())
    assert not re.findall(r"!\[[^]]*\]\(https?:|<img[^>]*https?:", readme)
