"""What leaves the explorer, in a real browser: pictures, links and the page as one file."""

from __future__ import annotations

import re
from io import BytesIO
from xml.etree import ElementTree

import numpy as np
from PIL import Image
from scipy.spatial.distance import cdist

import browser
import lowd
from explorers import (
    export,
    find_isolated,
    get_spots,
    open_tab,
    select_left_half,
    wait_until_drawn,
)

pytestmark = browser.needed


def test_pictures_show_the_points_where_they_are(page, rows, maps):
    spots = get_spots(page, "p0", maps["PCA"].transform(rows))
    box = page.locator("canvas.points[data-panel=p0]").bounding_box()
    row = find_isolated(spots)
    x, y = np.rint(spots[row] - [box["x"], box["y"]]).astype(int).tolist()
    seen = page.locator("canvas.points[data-panel=p0]").evaluate(
        "(canvas, [x, y]) => [...canvas.getContext('2d').getImageData(x, y, 1, 1).data]", [x, y]
    )
    svg = ElementTree.fromstring(export(page, "Picture as SVG"))
    circles = svg.findall(".//{*}circle")
    assert len(circles) == 180
    centers = np.array([[float(circle.get("cx")), float(circle.get("cy"))] for circle in circles])
    gaps = cdist(spots - [box["x"], box["y"]], centers)
    assert gaps.min(1).max() < 0.5  # pixels
    words = [text.text for text in svg.findall(".//{*}text")]
    assert {"PCA", "t-SNE", "red", "green", "blue"} <= set(words)
    picture = Image.open(BytesIO(export(page, "Picture as PNG"))).convert("RGB")
    assert picture.size == (int(float(svg.get("width"))), int(float(svg.get("height"))))
    shift = re.search(r"translate\((\S+) (\S+)\)", svg.find("{*}g").get("transform"))
    inner = svg.find("{*}g").find("{*}g").get("transform")
    below = float(re.search(r"translate\(0 (\S+)\)", inner)[1])
    at = int(float(shift[1]) + x), int(float(shift[2]) + below + y)
    assert picture.getpixel(at) == tuple(seen[:3])


def test_the_link_of_a_state_opens_it_again(page, context, rows, maps):
    inside = select_left_half(page, maps["PCA"].transform(rows))
    page.locator(".toolbar select").first.select_option(label="x3")
    page.get_by_label("search rows").fill("row-2")
    page.wait_for_selector("[data-shown='11']")
    page.get_by_label("close panel t-SNE").click()
    page.locator("details.menu summary").click()
    page.get_by_role("button", name="Copy a link").click()
    page.wait_for_function("() => location.hash.length > 4")
    again = context.new_page()
    again.goto(page.url)
    # The state is read after the first drawing.
    again.wait_for_function(
        "() => document.querySelector('.toolbar select')?.selectedOptions[0].label === 'x3'"
    )
    again.wait_for_selector(f"[data-shown='11'][data-selected='{len(inside)}']")
    assert again.locator("canvas.points").evaluate_all("all => all.map(c => c.dataset.panel)") == [
        "p0"
    ]


def test_the_saved_page_works_offline(page, context, tmp_path, rows, maps):
    path = tmp_path / "view.html"
    path.write_bytes(export(page, "one HTML file"))
    tab, urls, errors = context.new_page(), [], []
    context.set_offline(True)
    tab.on("request", lambda request: urls.append(request.url))
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: message.type == "error" and errors.append(message.text))
    tab.goto(path.as_uri())
    wait_until_drawn(tab, 2)
    Y = maps["PCA"].transform(rows)
    assert len(select_left_half(tab, Y))
    tab.get_by_role("button", name="Clear", exact=True).click()
    spots = get_spots(tab, "p0", Y)
    row = find_isolated(spots)
    tab.get_by_role("button", name="Move", exact=True).click()
    tab.mouse.click(*spots[row])
    tab.wait_for_selector("table.neighbors tbody tr")
    names = tab.locator("table.neighbors tbody button").all_inner_texts()
    order = np.argsort(cdist(rows[[row]], rows)[0])[1 : len(names) + 1]
    assert [name.strip() for name in names] == [f"row-{i}" for i in order]
    open_tab(tab, "evidence")
    verdict = lowd.evaluate(rows, Y.astype(np.float32)).verdict
    tab.wait_for_function("text => document.body.innerText.includes(text)", arg=verdict[:60])
    tab.get_by_label("search rows").fill("row-1")
    tab.wait_for_selector("[data-shown='11']")
    assert [url for url in urls if not url.startswith(("file:", "blob:", "data:"))] == []
    assert errors == []
