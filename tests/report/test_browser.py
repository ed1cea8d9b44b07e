"""The page in a real browser: drawn, moved, pointed at, clicked."""

from __future__ import annotations

import json

import numpy as np
import pytest

import browser
import lowd
from lowd import report
from lowd.io import Table

pytestmark = pytest.mark.skipif(browser.found() is None, reason="no Chromium is installed")
EVIL = '</script><img src=x onerror="window.hacked=1">'


@pytest.fixture(scope="module")
def chromium():
    tab = browser.Browser()
    yield tab
    tab.close()


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    """Nine rows on a lattice, far from each other, in three classes; one of them is nasty."""
    X = np.array([[x, y] for x in (0.0, 1.0, 2.0) for y in (0.0, 1.0, 2.0)]) * 10.25
    table = Table(
        X,
        columns=("across", "up"),
        ids=np.array([f"row{i}{EVIL}" for i in range(9)]),
        labels=np.array(["one", "two", EVIL])[np.arange(9) % 3],
        source=f"{EVIL}.csv",
    )
    model = lowd.PCA(2)
    Y = model.fit_transform(X)
    path = tmp_path_factory.mktemp("report") / "r.html"
    found = lowd.evaluate(X, Y, labels=table.labels, n_neighbors=3)
    report.write(path, model=model, X=X, embedding=Y, evaluation=found, table=table)
    return path, Y


def spot(chromium, Y, row):
    """Where a row is when all points are shown: centered, on 90 % of the window."""
    box = json.loads(
        chromium("JSON.stringify(document.getElementById('map').getBoundingClientRect())")
    )
    low, high = Y.min(0), Y.max(0)
    scale = 0.9 * min((box["width"] - 2) / (high - low)[0], (box["height"] - 2) / (high - low)[1])
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    shift = (Y[row] - (low + high) / 2) * scale
    return middle[0] + shift[0], middle[1] - shift[1]


def pixel(chromium, x, y):
    return chromium(
        "(() => { const c = document.getElementById('map'), b = c.getBoundingClientRect();"
        "return [...c.getContext('2d').getImageData("
        f"{x} - b.left, {y} - b.top, 1, 1).data].slice(0, 3).join() }})()"
    )


def drawn(chromium):
    chromium.frame()
    return int(chromium("document.getElementById('map').dataset.drawn"))


def test_the_axes_are_named(chromium, page):
    """Ink below the points, in the middle, and none to the left of it."""
    chromium.open(page[0])
    chromium.frame()
    count = (
        "(() => { const c = document.getElementById('map'), x = c.getContext('2d');"
        "const ink = x.getImageData(c.width * FROM, c.height - 20, c.width / 5, 19).data;"
        "return ink.filter((value, i) => i % 4 === 0 && value < 180).length })()"
    )
    assert chromium(count.replace("FROM", "0.4")) > 30
    assert chromium(count.replace("FROM", "0.1")) == 0


def test_it_draws_every_point_where_it_is(chromium, page):
    path, Y = page
    chromium.open(path)
    assert drawn(chromium) == 9
    for row in range(9):
        assert pixel(chromium, *spot(chromium, Y, row)) != "255,255,255"
    assert pixel(chromium, *np.mean([spot(chromium, Y, 0), spot(chromium, Y, 4)], 0)) == (
        "255,255,255"
    )


def test_it_is_silent_and_safe(chromium, page):
    path, _ = page
    chromium.open(path)
    chromium.frame()
    assert chromium.errors == []
    assert [url[:5] for url in chromium.requests if not url.startswith(("file:", "data:"))] == []
    assert chromium("window.hacked") is None
    assert chromium("document.title") == f"PCA of {EVIL.rpartition('/')[2]}.csv"


def test_pointing_and_clicking_tell_what_a_point_is(chromium, page):
    path, Y = page
    chromium.open(path)
    chromium.mouse("mouseMoved", *spot(chromium, Y, 4))
    chromium.frame()
    tip = chromium("document.getElementById('tip').textContent")
    assert tip.startswith(f"row4{EVIL}")
    assert "label: two" in tip
    chromium.click(*spot(chromium, Y, 5))
    facts = chromium("document.getElementById('point').innerText")
    assert f"row5{EVIL}" in facts
    assert "trustworthiness" in facts
    assert chromium("window.hacked") is None


def test_the_legend_hides_classes(chromium, page):
    path, _ = page
    chromium.open(path)
    first = "document.querySelector('#legend button')"
    assert chromium(f"{first}.getAttribute('aria-pressed')") == "true"
    hidden = chromium(f"{first}.textContent")
    chromium(f"{first}.click()")
    assert drawn(chromium) == 6, hidden
    assert chromium(f"{first}.getAttribute('aria-pressed')") == "false"
    chromium(f"{first}.click()")
    assert drawn(chromium) == 9


def test_color_follows_the_chosen_column(chromium, page):
    path, Y = page
    chromium.open(path)
    before = [pixel(chromium, *spot(chromium, Y, row)) for row in (0, 3, 1, 2)]
    chromium(
        "(() => { const m = document.getElementById('color');"
        "m.value = [...m.options].find(o => o.text === 'up').value;"
        "m.dispatchEvent(new Event('change')) })()"
    )
    chromium.frame()
    up = [pixel(chromium, *spot(chromium, Y, row)) for row in (0, 3, 1, 2)]
    assert up[0] == up[1]
    assert not set(up) & set(before)
    assert len(set(up)) == 3
    assert "ramp" in chromium("document.getElementById('legend').innerHTML")


def test_wheel_drag_and_keys_move_the_map(chromium, page):
    path, Y = page
    chromium.open(path)
    there = spot(chromium, Y, 4)
    chromium.mouse("mouseWheel", *there, deltaX=0, deltaY=-600)
    assert drawn(chromium) < 9
    assert pixel(chromium, *there) != "255,255,255"  # the point under the mouse stays
    chromium("document.getElementById('whole').click()")
    assert drawn(chromium) == 9
    chromium.drag((there[0] + 20, there[1] + 20), (there[0] + 80, there[1] + 60))
    assert pixel(chromium, *there) == "255,255,255"
    assert pixel(chromium, there[0] + 60, there[1] + 40) != "255,255,255"
    chromium("document.getElementById('map').focus()")
    chromium.call("Input.dispatchKeyEvent", type="keyDown", key="0")
    chromium.frame()
    assert pixel(chromium, *there) != "255,255,255"


def test_a_narrow_window_needs_no_sideways_scrolling(chromium, page):
    path, _ = page
    chromium.resize(360, 700)
    try:
        chromium.open(path)
        assert chromium("document.scrollingElement.scrollWidth") <= 360
        assert drawn(chromium) == 9
    finally:
        chromium.resize(1100, 800)


def test_a_hundred_thousand_points(chromium, tmp_path, rng):
    Y = rng.normal(size=(100_000, 2))
    model = lowd.PCA(2).fit(Y[:100])
    report.write(tmp_path / "r.html", model=model, embedding=Y)
    chromium.open(tmp_path / "r.html")
    assert drawn(chromium) == 100_000
    chromium.mouse("mouseWheel", 400, 400, deltaX=0, deltaY=-900)
    assert 0 < drawn(chromium) < 100_000
