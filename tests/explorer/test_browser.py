"""The explorer in a real browser: what a person sees, selects, adds, runs and saves."""

from __future__ import annotations

import json
import os
import signal
from io import BytesIO

import numpy as np
import polars as pl
import pytest
from scipy.spatial import procrustes
from scipy.spatial.distance import cdist

import browser
import lowd
from explorers import (
    export,
    find_isolated,
    get_paths,
    get_spots,
    lasso,
    open_tab,
    run_method,
    select_left_half,
    wait_until_drawn,
)

pytestmark = browser.needed


def test_all_points_of_both_panels_are_drawn(page):
    assert page.title() == "ninety rows"
    drawn = page.locator("canvas.points").evaluate_all("all => all.map(one => one.dataset.drawn)")
    assert drawn == ["90", "90"]
    assert "token" not in page.url


def get_saturation(page, panel, spots):
    """How colored the points at some pixels are, 0 to 255."""
    box = page.locator(f"canvas.points[data-panel={panel}]").bounding_box()
    pixels = np.rint(spots - [box["x"], box["y"]]).astype(int).tolist()
    colors = page.locator(f"canvas.points[data-panel={panel}]").evaluate(
        "(canvas, pixels) => pixels.map(([x, y]) =>"
        " [...canvas.getContext('2d').getImageData(x, y, 1, 1).data].slice(0, 3))",
        pixels,
    )
    return np.ptp(np.array(colors, int), axis=1)


def test_a_lasso_selects_its_rows_in_all_panels_and_the_files_hold_them(page, explorer, rows, maps):
    inside = select_left_half(page, maps["PCA"].transform(rows))
    selected = np.isin(np.arange(90), inside)
    page.wait_for_timeout(50)  # the next frame, which fades the other points
    for key, Y in (("p0", maps["PCA"].transform(rows)), ("p1", maps["t-SNE"].embedding_)):
        spots = get_spots(page, key, Y)
        gaps = cdist(spots, spots) + 1e9 * np.eye(90)
        free = gaps.min(1) > 9  # pixels: no other point covers it
        colored = get_saturation(page, key, spots)
        assert min(free[selected].sum(), free[~selected].sum()) > 4
        assert colored[selected & free].min() > 2 * colored[~selected & free].max()
    csv = pl.read_csv(BytesIO(export(page, "selected rows as CSV")))
    assert csv["row"].to_list() == inside.tolist()
    assert csv["id"].to_list() == [f"row-{i}" for i in inside]
    parquet = pl.read_parquet(BytesIO(export(page, "selected rows as Parquet")))
    known = maps["t-SNE"].embedding_[inside]
    np.testing.assert_allclose(parquet.select("t-SNE 1", "t-SNE 2").to_numpy(), known, rtol=1e-6)
    np.testing.assert_array_equal(parquet.select("x0", "x4").to_numpy(), rows[inside][:, [0, 4]])
    assert explorer.selection.tolist() == inside.tolist()


def test_legend_search_and_ranges_filter(page, rows):
    page.locator(".legend li button").filter(has_text="green").click()
    page.wait_for_selector("[data-shown='60']")
    page.get_by_label("search rows").fill("row-1")
    page.wait_for_selector("[data-shown='6']")  # of row-1 and row-10 to row-19, two thirds
    page.get_by_role("button", name="Clear all filters").click()
    page.wait_for_selector("[data-shown='90']")
    page.get_by_label("add a filter").select_option(label="x0")
    low = page.get_by_label("x0 from")
    low.evaluate("e => { e.value = 2; e.dispatchEvent(new Event('input', { bubbles: true })); }")
    count = int((rows[:, 0] >= float(low.input_value())).sum())
    page.wait_for_selector(f"[data-shown='{count}']")
    assert 0 < count < 90


def test_a_chosen_point_shows_its_true_neighbors(page, rows, maps):
    embeddings = {"p0": maps["PCA"].transform(rows), "p1": maps["t-SNE"].embedding_}
    spots = {key: get_spots(page, key, Y) for key, Y in embeddings.items()}
    row = find_isolated(spots["p1"])
    page.mouse.click(*spots["p1"][row])
    page.wait_for_selector("table.neighbors tbody tr")
    assert f"row-{row}" in page.locator("#point h2").inner_text()
    order = np.argsort(cdist(rows[[row]], rows)[0])[1:]
    names = page.locator("table.neighbors tbody button").all_inner_texts()
    near = order[: len(names)]
    assert [name.strip() for name in names] == [f"row-{i}" for i in near]
    assert len(names) >= 10
    page.wait_for_function(
        "n => [...document.querySelectorAll('canvas.overlay')].every("
        "canvas => canvas.paths.filter(path => path.corners.length === 2).length === n)",
        arg=len(near),
    )
    for key, Y in embeddings.items():
        lines, dashed = get_paths(page, key, 2)
        np.testing.assert_allclose(lines[:, 0], spots[key][[row] * len(near)], atol=0.6)
        np.testing.assert_allclose(lines[:, 1], spots[key][near], atol=0.6)
        here = np.argsort(cdist(Y[[row]], Y)[0])[1 : len(near) + 1]
        assert dashed.tolist() == (~np.isin(near, here)).tolist()


def test_a_slider_moves_the_point(page, rows, maps):
    spots = get_spots(page, "p0", maps["PCA"].transform(rows))
    row = find_isolated(spots)
    page.mouse.click(*spots[row])
    with page.expect_response("**/api/move") as answer:
        page.locator(".slider input").nth(1).fill("0.25")
    asked = json.loads(answer.value.request.post_data)
    changed = rows[row].copy()
    for index, value in asked["changes"].items():
        changed[int(index)] = value
    assert changed.tolist() != rows[row].tolist()
    page.wait_for_function("() => document.querySelector('#point .notes')")
    page.wait_for_function(
        "() => [...document.querySelectorAll('canvas.overlay')].every("
        "canvas => canvas.paths.some(path => path.corners.length === 4))"
    )
    for key, name in (("p0", "PCA"), ("p1", "t-SNE")):
        drawn = get_paths(page, key, 4)[0].mean(1)
        known = maps[name].transform(changed[None])
        Y = maps[name].transform(rows) if key == "p0" else maps[name].embedding_
        np.testing.assert_allclose(drawn, get_spots(page, key, Y, known), atol=0.6)


DROP = """
(target, { name, bytes }) => {
  const data = new DataTransfer();
  data.items.add(new File([Uint8Array.from(bytes)], name));
  for (const kind of ['dragenter', 'dragover', 'drop'])
    target.dispatchEvent(
      new DragEvent(kind, { bubbles: true, cancelable: true, dataTransfer: data }));
}
"""


@pytest.mark.parametrize("way", ["dropped", "chosen", "pasted"])
def test_new_points_land_where_transform_puts_them(page, rows, maps, way):
    """The last of them is unlike all training points, and drawn hollow."""
    Q = np.vstack([rows[:2] + 0.05, np.full(5, 60.0)])
    frame = pl.DataFrame(Q, [f"x{j}" for j in range(5)])
    if way == "dropped":
        content = list(frame.write_csv().encode())
        page.locator(".explorer").evaluate(DROP, {"name": "new.csv", "bytes": content})
    elif way == "chosen":
        with BytesIO() as file:
            frame.write_parquet(file)
            sent = {"name": "q.parquet", "mimeType": "", "buffer": file.getvalue()}
        open_tab(page, "add")
        page.locator("input[type=file]").set_input_files(sent)
    else:
        open_tab(page, "add")
        page.locator("textarea").fill(frame.write_csv())
        page.get_by_role("button", name="Add pasted rows").click()
    page.wait_for_selector(".added tbody tr")
    assert page.locator(".added tbody tr").count() == 3
    assert page.locator(".added tr.doubtful").count() == 1
    page.wait_for_function(
        "() => [...document.querySelectorAll('canvas.overlay')].every("
        "canvas => canvas.paths.filter(path => path.corners.length === 4).length === 3)"
    )
    mapped = {}
    for key, name in (("p0", "PCA"), ("p1", "t-SNE")):
        mapped[name] = maps[name].transform(Q)
        Y = maps[name].transform(rows) if key == "p0" else maps[name].embedding_
        drawn = get_paths(page, key, 4)[0].mean(1)
        np.testing.assert_allclose(drawn, get_spots(page, key, Y, mapped[name]), atol=0.6)
    with page.expect_download() as download:
        page.get_by_role("button", name="Save as CSV").click()
    saved = pl.read_csv(download.value.path())
    for name, Y in mapped.items():
        found = saved.select(f"{name} 1", f"{name} 2").to_numpy()
        np.testing.assert_allclose(found, Y, rtol=1e-5, atol=1e-6)


def test_a_method_unfolds_while_it_runs_and_is_cancelled(page, explorer):
    run_method(page, "TSNE", max_iter=1_000_000, perplexity=8)
    page.wait_for_selector("ul.jobs li.running progress[value]")
    live = page.locator("canvas.points[data-panel^=live]")
    live.wait_for()
    page.wait_for_selector("canvas.points[data-panel^=live][data-complete]")
    first = live.evaluate("canvas => canvas.toDataURL()")
    page.wait_for_function(
        "before => document.querySelector('canvas[data-panel^=live]')?.toDataURL() !== before",
        arg=first,
    )
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("ul.jobs li.cancelled")
    live.wait_for(state="detached")
    assert list(explorer.session.panels) == ["p0", "p1"]


def test_a_selection_is_embedded_alone(page, explorer, rows, maps):
    inside = select_left_half(page, maps["PCA"].transform(rows))
    page.get_by_role("button", name="Embed these").click()
    run_method(page, "PCA")
    page.wait_for_selector("ul.jobs li.done")
    wait_until_drawn(page, 3)
    page.wait_for_selector(f"canvas.points[data-panel=p2][data-drawn='{len(inside)}']")
    found = explorer.session.panels["p2"].coordinates
    np.testing.assert_allclose(found[inside], lowd.PCA(2).fit_transform(rows[inside]), rtol=1e-5)
    assert np.isnan(np.delete(found, inside, 0)).all()


def test_a_change_of_embedding_shows_what_moved_most(page, rows, maps):
    page.get_by_label("embedding of this panel").first.select_option(label="t-SNE")
    page.get_by_role("button", name="Select them").click()
    page.wait_for_selector("[data-selected='50']")
    csv = pl.read_csv(BytesIO(export(page, "50 selected rows as CSV")))
    one, other, _ = procrustes(maps["t-SNE"].embedding_, maps["PCA"].transform(rows))
    far = np.linalg.norm(one - other, axis=1)
    assert csv["row"].to_list() == sorted(np.argsort(-far)[:50].tolist())


def test_three_dimensions_turn(context, rows):
    explorer = lowd.view(
        rows, {"PCA": lowd.PCA(3).fit(rows)}, browser=False, block=False, inline=False
    )
    try:
        tab = context.new_page()
        tab.goto(explorer.url)
        wait_until_drawn(tab, 1)
        tab.get_by_role("button", name="3-D").click()
        tab.wait_for_selector("canvas.points[data-drawn='90']")
        canvas = tab.locator("canvas.points")
        before, box = canvas.evaluate("canvas => canvas.toDataURL()"), canvas.bounding_box()
        tab.mouse.move(box["x"] + 200, box["y"] + 200)
        tab.mouse.down()
        tab.mouse.move(box["x"] + 300, box["y"] + 230, steps=4)
        tab.mouse.up()
        tab.wait_for_function(
            "before => document.querySelector('canvas.points').toDataURL() !== before", arg=before
        )
        assert canvas.get_attribute("data-drawn") == "90"
    finally:
        explorer.close()


def test_a_dropped_file_that_cannot_be_read_says_why(page):
    open_tab(page, "add")
    file = {"name": "new.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
    page.locator("input[type=file]").set_input_files(file)
    page.wait_for_selector(".toast")
    assert "x0" in page.locator(".toast").first.inner_text()


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_a_killed_job_is_a_message(page, explorer):
    run_method(page, "TSNE", max_iter=1_000_000, perplexity=8)
    page.wait_for_selector("ul.jobs li.running")
    os.kill(explorer._routes.jobs.list()[0].process.pid, signal.SIGKILL)
    page.wait_for_selector("ul.jobs li.failed")
    assert "SIGKILL" in page.locator("ul.jobs li.failed").inner_text()
    open_tab(page, "evidence")
    page.wait_for_function("() => document.body.innerText.includes('trustworthiness')")


def test_evidence_is_shown_with_its_verdict(page, rows, maps):
    open_tab(page, "evidence")
    verdict = lowd.evaluate(rows, maps["PCA"].transform(rows).astype(np.float32)).verdict
    page.wait_for_function("text => document.body.innerText.includes(text)", arg=verdict[:60])


def test_all_rows_have_none_to_be_compared_with(page, maps, rows):
    spots = get_spots(page, "p0", maps["PCA"].transform(rows))
    (left, top), (right, bottom) = spots.min(0) - 9, spots.max(0) + 9
    lasso(page, [(left, top), (right, top), (right, bottom), (left, bottom)])
    page.wait_for_selector("[data-selected='90']")
    assert "These are all rows" in page.locator(".selection").inner_text()


def test_a_dark_page_prints_light(chromium, explorer):
    with chromium.new_context(color_scheme="dark") as context:
        tab = context.new_page()
        tab.goto(explorer.url)
        wait_until_drawn(tab, 2)
        look = "canvas => [...canvas.getContext('2d').getImageData(2, 2, 1, 1).data].slice(0, 3)"
        assert max(tab.locator("canvas.points").first.evaluate(look)) < 60
        seen = f"({look})(document.querySelector('canvas.points'))"
        tab.evaluate(f"() => {{ window.print = () => {{ window.printed = {seen}; }}; }}")
        tab.locator("details.menu summary").click()
        tab.get_by_role("button", name="Print").click()
        tab.wait_for_function("() => window.printed")
        assert min(tab.evaluate("window.printed")) > 200
        tab.wait_for_function(f"() => Math.max(...{seen}) < 60")  # afterward it is dark again
        tab.emulate_media(media="print", color_scheme="dark")
        assert not tab.get_by_role("button", name="help").is_visible()
        assert tab.locator("h1").is_visible()
        tab.emulate_media(media="screen")
        run_method(tab, "TSNE", perplexity="many")
        assert not tab.locator(".legend").is_visible()
        tab.emulate_media(media="print")  # forms are for the screen, legends for paper
        assert not tab.locator("form.method").is_visible()
        assert tab.locator(".legend").is_visible()


def test_without_the_token_there_is_no_page(context, explorer):
    tab = context.new_page()
    for url in (explorer.url.partition("?")[0], explorer.url + "x"):
        assert tab.goto(url).status == 401
        assert "link that the terminal shows" in tab.inner_text("body")


@pytest.mark.usefixtures("page")
def test_another_page_cannot_read_the_data(context, explorer):
    """Not even in the browser that holds the cookie."""
    home = explorer.url.partition("?")[0]
    other = lowd.view(
        [[0.0, 1.0], [2.0, 3.0], [1.0, 1.0]], browser=False, block=False, inline=False
    )
    try:
        tab = context.new_page()
        tab.goto(other.url)
        fetched = "url => fetch(url, {credentials: 'include'}).then(() => 'read', () => 'refused')"
        assert tab.evaluate(fetched, f"{home}api/view") == "refused"
    finally:
        other.close()


def test_a_phone_shows_it_without_scrolling_sideways(chromium, explorer):
    with chromium.new_context(viewport={"width": 400, "height": 800}) as context:
        tab = context.new_page()
        tab.goto(explorer.url)
        tab.wait_for_selector("canvas.points[data-complete]")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
