"""The page in a real browser: drawn, moved, pointed at, clicked."""

from __future__ import annotations

import json

import numpy as np
import pytest

import browser
import lowd
from lowd import report
from lowd.io import Table

pytestmark = browser.needed
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


def element(selector):
    """JavaScript for an element of the plot, which is in a shadow tree."""
    return f"document.getElementById('lowd').shadowRoot.querySelector({selector!r})"


def spot(chromium, Y, row):
    """Where a row is when all points are shown: centered, on 90 % of the window."""
    box = json.loads(
        chromium(f"JSON.stringify({element('canvas.points')}.getBoundingClientRect())")
    )
    low, high = Y.min(0), Y.max(0)
    scale = 0.9 * min(box["width"] / (high - low)[0], box["height"] / (high - low)[1])
    middle = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    shift = (Y[row] - (low + high) / 2) * scale
    return middle[0] + shift[0], middle[1] - shift[1]


def pixel(chromium, x, y):
    return chromium(
        f"(() => {{ const c = {element('canvas.points')}, b = c.getBoundingClientRect();"
        "return [...c.getContext('2d').getImageData("
        f"{x} - b.left, {y} - b.top, 1, 1).data].slice(0, 3).join() }})()"
    )


def drawn(chromium):
    chromium.frame()
    return int(chromium(f"{element('canvas.points')}.dataset.drawn"))


def ink(chromium, left, top, width, height):
    """Pixels of the overlay in a box of the window that something is written on."""
    return chromium(
        f"(() => {{ const c = {element('canvas.overlay')}, b = c.getBoundingClientRect();"
        f"const box = [{left} - b.left, {top} - b.top, {width}, {height}];"
        "return c.getContext('2d').getImageData(...box).data"
        ".filter((value, i) => i % 4 === 3 && value > 80).length })()"
    )


def test_the_axes_are_named(chromium, page):
    """Ink below the points, in the middle, and none to the left of it."""
    chromium.open(page[0])
    chromium.frame()
    box = json.loads(
        chromium(f"JSON.stringify({element('canvas.overlay')}.getBoundingClientRect())")
    )
    strip = box["bottom"] - 14, box["width"] / 5, 13
    assert ink(chromium, box["left"] + 0.4 * box["width"], *strip) > 30
    assert ink(chromium, box["left"] + 0.1 * box["width"], *strip) == 0


def test_few_points_are_named(chromium, page):
    """Beside each, but for those where the name of a class is."""
    path, Y = page
    chromium.open(path)
    chromium.frame()
    for row in (0, 1, 2, 6, 7, 8):
        x, y = spot(chromium, Y, row)
        assert ink(chromium, x - 50, y - 24, 100, 48) > 100, row


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
    tip = chromium(f"{element('.tip')}.textContent")
    assert tip.startswith(f"row4{EVIL}")
    assert "label: two" in tip
    chromium.click(*spot(chromium, Y, 5))
    facts = chromium(f"{element('.tab-body')}.innerText")
    assert f"row5{EVIL}" in facts
    assert "trustworthiness" in facts
    assert chromium("window.hacked") is None


def test_the_legend_hides_classes(chromium, page):
    path, _ = page
    chromium.open(path)
    first = element(".legend li button")
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
        f"(() => {{ const m = {element('.toolbar select')};"
        "m.value = [...m.options].find(o => o.text === 'up').value;"
        "m.dispatchEvent(new Event('change', {bubbles: true})) })()"
    )
    chromium.frame()
    up = [pixel(chromium, *spot(chromium, Y, row)) for row in (0, 3, 1, 2)]
    assert up[0] == up[1]
    assert not set(up) & set(before)
    assert len(set(up)) == 3
    assert chromium(f"{element('.legend .ramp')} !== null")


def test_wheel_drag_and_keys_move_the_map(chromium, page):
    path, Y = page
    chromium.open(path)
    there = spot(chromium, Y, 4)
    chromium.mouse("mouseWheel", *there, deltaX=0, deltaY=-600)
    assert drawn(chromium) < 9
    assert pixel(chromium, *there) != "255,255,255"  # the point under the mouse stays
    chromium(f"{element('.zooms button:last-child')}.click()")
    assert drawn(chromium) == 9
    chromium.drag((there[0] + 20, there[1] + 20), (there[0] + 80, there[1] + 60))
    assert pixel(chromium, *there) == "255,255,255"
    assert pixel(chromium, there[0] + 60, there[1] + 40) != "255,255,255"
    chromium(f"{element('canvas.overlay')}.focus()")
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


def test_lasso_and_search(chromium, page):
    """Around the first column of the lattice, then by a name."""
    path, Y = page
    chromium.open(path)
    chromium(f"{element('.toolbar .group button:last-child')}.click()")
    left, right = (
        np.array([spot(chromium, Y, row) for row in rows]) for rows in ((0, 1, 2), (3, 4, 5))
    )
    step = (right - left)[0] / 2
    corners = [left[0] - step, left[0] + step, left[2] + step, left[2] - step]
    along = (left[0] - left[2]) / 30
    corners = [c + (along if i < 2 else -along) for i, c in enumerate(corners)]
    chromium.mouse("mousePressed", *corners[0], button="left", clickCount=1)
    for corner in corners[1:]:
        chromium.mouse("mouseMoved", *corner, button="left", buttons=1)
    chromium.mouse("mouseReleased", *corners[-1], button="left", clickCount=1)
    chromium.frame()
    count = element(".toolbar [data-selected]")
    assert chromium(f"{count}.dataset.selected") == "3"
    chromium(
        f"(() => {{ const s = {element('.search input')}; s.value = 'row7';"
        "s.dispatchEvent(new Event('input', {bubbles: true})) })()"
    )
    chromium("new Promise(done => setTimeout(done, 400))")
    assert drawn(chromium) == 1


def test_it_follows_the_dark_theme(chromium, page):
    path, Y = page
    features = [{"name": "prefers-color-scheme", "value": "dark"}]
    chromium.call("Emulation.setEmulatedMedia", features=features)
    try:
        chromium.open(path)
        between = np.mean([spot(chromium, Y, 0), spot(chromium, Y, 4)], 0)
        assert pixel(chromium, *between) == "20,23,28"
        assert chromium("getComputedStyle(document.body).backgroundColor") == "rgb(14, 16, 19)"
    finally:
        chromium.call("Emulation.setEmulatedMedia", features=[])
