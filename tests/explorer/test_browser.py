"""The explorer in a real browser: what a person sees, selects, adds, runs and saves."""

from __future__ import annotations

import json
import os
import signal
from io import BytesIO

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist

import browser
import lowd

playwright = pytest.importorskip("playwright.sync_api")
pytestmark = pytest.mark.skipif(
    browser.found() is None,
    reason="no Chromium is installed (on Debian: apt-get install chromium)",
)
SIZE = {"width": 1280, "height": 800}
SECONDS = 1000


@pytest.fixture(scope="module")
def chromium():
    with playwright.sync_playwright() as driver:
        found = driver.chromium.launch(executable_path=browser.found(), args=["--no-sandbox"])
        yield found
        found.close()


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return rng.normal(size=(90, 5)) + 6 * np.eye(3, 5)[np.arange(90) % 3]


@pytest.fixture(scope="module")
def maps(rows):
    return {"PCA": lowd.PCA(2).fit(rows), "t-SNE": lowd.TSNE(2, perplexity=8).fit(rows)}


@pytest.fixture
def explorer(rows, maps):
    found = lowd.view(
        rows,
        maps,
        labels=np.array(["red", "green", "blue"])[np.arange(90) % 3],
        ids=[f"row-{i}" for i in range(90)],
        title="ninety rows",
        browser=False,
        block=False,
        inline=False,
    )
    yield found
    found.close()


@pytest.fixture
def context(chromium):
    with chromium.new_context(viewport=SIZE, accept_downloads=True) as found:
        found.set_default_timeout(40 * SECONDS)
        yield found


@pytest.fixture
def page(context, explorer):
    """The page, drawn; at the end it must not have complained, nor asked anyone else."""
    tab = context.new_page()
    errors, urls = [], []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    tab.on("console", lambda message: message.type == "error" and errors.append(message.text))
    tab.on("request", lambda request: urls.append(request.url))
    tab.goto(explorer.url)
    wait_until_drawn(tab, 2)
    yield tab
    home = explorer.url.partition("?")[0]
    assert [url for url in urls if not url.startswith((home, "blob:", "data:"))] == []
    refused = "Failed to load resource: the server responded"  # what tests of refusals provoke
    assert [error for error in errors if not error.startswith(refused)] == []


def wait_until_drawn(page, panels):
    page.wait_for_function(
        "n => document.querySelectorAll('canvas.points[data-complete]').length === n", arg=panels
    )


def get_spots(page, panel, Y):
    """Where each row is on the screen while a panel shows all points."""
    box = page.locator(f"canvas.points[data-panel={panel}]").bounding_box()
    low, high = Y.min(0), Y.max(0)
    scale = 0.9 * min(box["width"] / (high - low)[0], box["height"] / (high - low)[1])
    middle = np.array([box["x"] + box["width"] / 2, box["y"] + box["height"] / 2])
    return middle + (Y - (low + high) / 2) * scale * [1, -1]


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


def test_all_points_of_both_panels_are_drawn(page):
    assert page.title() == "ninety rows"
    drawn = page.locator("canvas.points").evaluate_all("all => all.map(one => one.dataset.drawn)")
    assert drawn == ["90", "90"]
    assert "token" not in page.url


def test_a_lasso_selects_its_rows_everywhere_and_the_files_hold_them(page, rows, maps):
    inside = select_left_half(page, maps["PCA"].transform(rows))
    csv = pl.read_csv(BytesIO(export(page, "selected rows as CSV")))
    assert csv["row"].to_list() == inside.tolist()
    assert csv["id"].to_list() == [f"row-{i}" for i in inside]
    parquet = pl.read_parquet(BytesIO(export(page, "selected rows as Parquet")))
    known = maps["t-SNE"].embedding_[inside]
    np.testing.assert_allclose(parquet.select("t-SNE 1", "t-SNE 2").to_numpy(), known, rtol=1e-6)
    np.testing.assert_array_equal(parquet.select("x0", "x4").to_numpy(), rows[inside][:, [0, 4]])


def test_a_click_in_the_legend_filters_a_class(page):
    page.locator(".legend li button").filter(has_text="green").click()
    page.wait_for_selector("[data-shown='30'], [data-shown='60']")


def test_a_chosen_point_shows_its_true_neighbors(page, rows, maps):
    spots = get_spots(page, "p1", maps["t-SNE"].embedding_)
    D = cdist(spots, spots) + 1e9 * np.eye(len(spots))
    row = int(D.min(1).argmax())  # the loneliest point, which no other covers
    page.mouse.click(*spots[row])
    open_tab(page, "point")
    page.wait_for_selector("table.neighbors tbody tr")
    assert f"row-{row}" in page.locator("#point h2").inner_text()
    order = np.argsort(cdist(rows[[row]], rows)[0])
    names = page.locator("table.neighbors tbody button").all_inner_texts()
    assert [name.strip() for name in names] == [f"row-{i}" for i in order[1 : len(names) + 1]]
    assert len(names) >= 10


def test_a_slider_moves_the_point(page, rows, maps):
    spots = get_spots(page, "p0", maps["PCA"].transform(rows))
    D = cdist(spots, spots) + 1e9 * np.eye(len(spots))
    row = int(D.min(1).argmax())
    page.mouse.click(*spots[row])
    open_tab(page, "point")
    with page.expect_response("**/api/move") as answer:
        page.locator(".slider input").nth(1).fill("0.25")
    asked = json.loads(answer.value.request.post_data)
    changed = rows[row].copy()
    for index, value in asked["changes"].items():
        changed[int(index)] = value
    mapped = answer.value.json()["panels"]["p0"]["coordinates"]
    np.testing.assert_allclose(mapped, maps["PCA"].transform(changed[None]))
    assert changed.tolist() != rows[row].tolist()


def test_pasted_points_land_where_transform_puts_them(page, rows, maps):
    Q = rows[:2] + 0.05
    text = "x0,x1,x2,x3,x4\n" + "\n".join(",".join(map(repr, row.tolist())) for row in Q)
    open_tab(page, "add")
    page.locator("textarea").fill(text)
    with page.expect_response("**/api/new-points*") as answer:
        page.get_by_role("button", name="Add pasted rows").click()
    for key, name in (("p0", "PCA"), ("p1", "t-SNE")):
        mapped = answer.value.json()["panels"][key]["coordinates"]
        np.testing.assert_allclose(mapped, maps[name].transform(Q))
    page.wait_for_selector(".added tbody tr")
    assert page.locator(".added tbody tr").count() == 2


def test_a_dropped_file_that_cannot_be_read_says_why(page):
    open_tab(page, "add")
    file = {"name": "new.csv", "mimeType": "text/csv", "buffer": b"a,b\n1,2\n"}
    page.locator("input[type=file]").set_input_files(file)
    page.wait_for_selector(".toast")
    assert "x0" in page.locator(".toast").first.inner_text()


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


def test_a_method_runs_is_cancelled_and_becomes_a_panel(page, explorer):
    run_method(page, "TSNE", max_iter=1_000_000, perplexity=8)
    page.wait_for_selector("ul.jobs li.running")
    page.get_by_role("button", name="Cancel").click()
    page.wait_for_selector("ul.jobs li.cancelled")
    run_method(page, "PCA")
    page.wait_for_selector("ul.jobs li.done")
    wait_until_drawn(page, 3)
    assert list(explorer.session.panels) == ["p0", "p1", "p2"]


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


def test_the_link_of_a_state_opens_it_again(page, context):
    page.locator(".toolbar select").first.select_option(label="x3")
    page.locator("details.menu summary").click()
    page.get_by_role("button", name="Copy a link").click()
    page.wait_for_function("() => location.hash.length > 4")
    again = context.new_page()
    again.goto(page.url)
    wait_until_drawn(again, 2)
    # The state is read after the first drawing.
    again.wait_for_function(
        "() => document.querySelector('.toolbar select').selectedOptions[0].label === 'x3'"
    )


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
    inside = select_left_half(tab, maps["PCA"].transform(rows))
    assert len(inside)
    tab.keyboard.press("Escape")
    assert [url for url in urls if not url.startswith(("file:", "blob:", "data:"))] == []
    assert errors == []


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


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_page_is_accessible(chromium, explorer, theme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    with chromium.new_context(viewport=SIZE, color_scheme=theme) as context:
        tab = context.new_page()
        tab.goto(explorer.url)
        wait_until_drawn(tab, 2)
        for name in ("explore", "evidence", "add", "run"):
            open_tab(tab, name)
            found = axe.run(tab)
            assert found.violations_count == 0, found.generate_report()


def test_a_phone_shows_it_without_scrolling_sideways(chromium, explorer):
    with chromium.new_context(viewport={"width": 400, "height": 800}) as context:
        tab = context.new_page()
        tab.goto(explorer.url)
        tab.wait_for_selector("canvas.points[data-complete]")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 400
