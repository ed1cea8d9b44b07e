"""The checks of the built site find what they are for."""

from __future__ import annotations

import json
import re

import pytest

import lowd
from scripts import ROOT, load_script

DOCS = ROOT / "docs"


check_site = load_script("docs/check_site.py")


def make_site(folder, **pages):
    """Pages by name, as the checks read them."""
    found = {}
    for name, text in pages.items():
        path = (folder / f"{name}.html").resolve()
        path.write_text(text, encoding="utf-8")
        found[path] = check_site.Page(text)
    return found


@pytest.mark.parametrize(
    "tag",
    [
        '<script src="https://cdn.example/a.js"></script>',
        '<script src="//cdn.example/a.js"></script>',
        '<link rel="stylesheet" href="https://fonts.example/css">',
        '<link rel="preload" as="font" href="https://fonts.example/a.woff2">',
        '<img src="http://example.org/a.png">',
        '<iframe src="https://example.org"></iframe>',
        '<div style="background: url(https://example.org/a.png)"></div>',
    ],
)
def test_a_page_that_fetches_from_another_host_is_found(tmp_path, tag):
    pages = make_site(tmp_path, index=f"<p>{tag}</p>")
    assert len(list(check_site.find_foreign(tmp_path.resolve(), pages))) == 1


def test_a_style_that_fetches_a_font_from_another_host_is_found(tmp_path):
    (tmp_path / "a.css").write_text("@font-face { src: url('https://fonts.example/a.woff2') }")
    (tmp_path / "b.css").write_text("@import '//example.org/c.css'; a { background: url(d.png) }")
    assert len(list(check_site.find_foreign(tmp_path, {}))) == 2


def test_links_to_other_hosts_and_own_files_are_no_fetches(tmp_path):
    text = '<a href="https://example.org">x</a><script src="_static/a.js"></script>'
    text += '<link rel="canonical" href="https://example.org"><img src="data:image/png;base64,AA">'
    assert list(check_site.find_foreign(tmp_path, make_site(tmp_path, index=text))) == []


def test_broken_links_and_anchors_are_found(tmp_path):
    pages = make_site(
        tmp_path,
        index='<a href="other.html#there">1</a><a href="other.html#gone">2</a>'
        '<a href="gone.html">3</a><a href="#gone">4</a><a href="mailto:a@b.c">5</a>',
        other='<h1 id="there">x</h1>',
    )
    found = list(check_site.find_broken(tmp_path.resolve(), pages))
    assert [line.partition(": ")[2] for line in found] == [
        "no such anchor other.html#gone",
        "broken link gone.html",
        "no such anchor #gone",
    ]


def test_a_name_without_an_entry_is_found(tmp_path):
    (tmp_path / "reference").mkdir()
    pages = make_site(tmp_path / "reference", index='<dt id="lowd.PCA">PCA</dt>')
    missing = list(check_site.find_missing(["lowd.PCA", "lowd.TSNE"], pages))
    assert missing == ["reference: lowd.TSNE has no entry"]


def test_a_search_without_an_answer_is_found(tmp_path):
    index = {"docnames": ["a", "b"], "indexentries": {"umap": [[0, "", True], [1, "", False]]}}
    (tmp_path / "searchindex.js").write_text(f"Search.setIndex({json.dumps(index)})")
    assert list(check_site.find_unanswered(tmp_path, {"UMAP": "a"})) == []
    for query, page in (("UMAP", "b"), ("t-SNE", "a")):  # not a main entry; no entry at all
        missing = list(check_site.find_unanswered(tmp_path, {query: page}))
        assert missing == [f"search: {query!r} does not lead to {page}"]


def test_the_reference_lists_every_public_name():
    """Without a build: names of the index are those that the built site is checked for."""
    module, listed = "", set()
    for line in (DOCS / "reference" / "index.md").read_text(encoding="utf-8").splitlines():
        if found := re.match(r"\.\. (?:auto|current)module:: (\S+)", line):
            module = found[1]
            listed.add(f"module-{module}")
        elif found := re.match(r"   (\w+)$", line):
            listed.add(f"{module}.{found[1]}")
        elif found := re.match(r"   :members: (.+)", line):
            listed |= {f"{module}.{name}" for name in found[1].split(", ")}
    names = set(check_site.list_names())
    assert {f"lowd.{name}" for name in lowd.methods.METHODS} <= names
    assert names - listed == set()
