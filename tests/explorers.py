"""What tests of the explorer share: the address of its server, readers of its answers, and hands
that use its page."""

from __future__ import annotations

import time
from io import BytesIO

import numpy as np
import pytest

TOKEN, PORT = "a-secret-token", 8765
BASE = f"http://127.0.0.1:{PORT}"

# Keeps the lines that were drawn above the points since the canvas was cleared.
RECORD_PATHS = """
(() => {
  const proto = CanvasRenderingContext2D.prototype;
  const wrap = (name, before) => {
    const original = proto[name];
    proto[name] = function (...given) {
      if (this.canvas.classList.contains('overlay')) before(this.canvas, this, ...given);
      return original.apply(this, given);
    };
  };
  wrap('clearRect', (canvas) => { canvas.paths = []; });
  wrap('beginPath', (canvas) => { canvas.corners = []; });
  wrap('moveTo', (canvas, _, x, y) => { canvas.corners = [[x, y]]; });
  wrap('lineTo', (canvas, _, x, y) => { canvas.corners.push([x, y]); });
  wrap('stroke', (canvas, context) => {
    canvas.paths.push({ corners: canvas.corners, dashed: context.getLineDash().length > 0 });
  });
})();
"""


def read_arrow(data):
    """Column -> array."""
    pyarrow = pytest.importorskip("pyarrow")
    table = pyarrow.ipc.open_stream(BytesIO(data)).read_all()
    return {name: table[name].to_numpy(zero_copy_only=False) for name in table.column_names}


def wait_for(ask, target, states=("ready", "failed")):
    """Ask until the answer is in one of the states."""
    for _ in range(2400):
        found = ask("GET", target)
        if found["state"] in states:
            return found
        time.sleep(0.05)
    raise AssertionError(found)


def wait_until_drawn(page, panels):
    """Wait for a complete picture in each panel; the first may come before the points do."""
    page.wait_for_function(
        "n => [...document.querySelectorAll('canvas.points[data-complete]')]"
        ".filter(one => one.dataset.drawn !== '0').length === n",
        arg=panels,
    )


def get_spots(page, panel, Y, shown=None):
    """Where coordinates (those of all rows) are on the screen while a panel shows all points."""
    box = page.locator(f"canvas.points[data-panel={panel}]").bounding_box()
    low, high = Y.min(0), Y.max(0)
    scale = 0.9 * min(box["width"] / (high - low)[0], box["height"] / (high - low)[1])
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    return middle + ((Y if shown is None else shown) - (low + high) / 2) * scale * [1, -1]


def lasso(page, corners):
    page.get_by_role("button", name="Lasso").click()
    page.mouse.move(*corners[0])
    page.mouse.down()
    for corner in [*corners[1:], corners[0]]:
        page.mouse.move(*corner, steps=8)
    page.mouse.up()


def select_left_half(page, Y):
    """Lasso what is left of a gap in the first panel; the rows that lie there."""
    x = np.sort(Y[:, 0])
    middle = slice(len(x) // 4, 3 * len(x) // 4)
    gap = int(np.argmax(np.diff(x)[middle])) + len(x) // 4
    edge = (x[gap] + x[gap + 1]) / 2
    spots = get_spots(page, "p0", Y)
    inside = np.flatnonzero(Y[:, 0] < edge)
    right = (spots[inside, 0].max() + spots[Y[:, 0] > edge, 0].min()) / 2
    left, top, bottom = spots[:, 0].min() - 8, spots[:, 1].min() - 8, spots[:, 1].max() + 8
    lasso(page, [(left, top), (right, top), (right, bottom), (left, bottom)])
    page.wait_for_selector(f"[data-selected='{len(inside)}']")
    return inside


def open_tab(page, name):
    page.locator(f".tabs [data-tab={name}]").click()


def export(page, name):
    page.locator("details.menu summary").click()
    with page.expect_download() as download:
        page.get_by_role("button", name=name).click()
    return download.value.path().read_bytes()


def get_paths(page, panel, corners):
    """Lines above the points with so many corners, in pixels of the page; which are dashed."""
    box = page.locator(f"canvas.points[data-panel={panel}]").bounding_box()
    paths = page.locator(f"canvas.points[data-panel={panel}] + canvas.overlay").evaluate(
        "canvas => canvas.paths"
    )
    found = [path for path in paths if len(path["corners"]) == corners]
    positions = np.array([path["corners"] for path in found]).reshape(-1, corners, 2)
    corner = np.array([box["x"], box["y"]])
    return positions + corner, np.array([path["dashed"] for path in found], bool)


def find_isolated(spots):
    """The row that is farthest from all others on the screen: no other covers it."""
    gaps = np.linalg.norm(spots[:, None] - spots, axis=2) + 1e9 * np.eye(len(spots))
    return int(gaps.min(1).argmax())


def run_method(page, name, **parameters):
    open_tab(page, "run")
    page.locator(".box select").first.select_option(name)
    page.wait_for_selector("form.method")
    for parameter, value in parameters.items():
        field = page.locator(f"#parameter-{parameter}")
        if not field.is_visible():
            page.locator("form.method details summary").click()
        field.fill(str(value))
    page.locator("form.method button[type=submit]").click()
