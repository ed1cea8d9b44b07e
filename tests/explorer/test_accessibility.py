"""Rules of accessibility, checked by axe in every state of the page, themes and widths."""

from __future__ import annotations

import numpy as np
import pytest

import browser
from explorers import (
    find_isolated,
    get_spots,
    open_tab,
    run_method,
    select_left_half,
    wait_until_drawn,
)

pytestmark = browser.needed
SIZES = {1280: {"width": 1280, "height": 800}, 400: {"width": 400, "height": 800}}


@pytest.fixture(scope="module")
def axe():
    return pytest.importorskip("axe_playwright_python.sync_playwright").Axe()


@pytest.fixture(params=[(1280, "light"), (400, "dark")], ids=["1280-light", "400-dark"])
def screen(request, chromium):
    """Contrast depends on the theme and layout on the width, each on one of them alone."""
    width, theme = request.param
    with chromium.new_context(viewport=SIZES[width], color_scheme=theme) as context:
        yield context


@pytest.fixture
def check(axe):
    def run(tab, state):
        found = axe.run(tab)
        assert found.violations_count == 0, f"{state}: {found.generate_report()}"
        wide = tab.evaluate("document.documentElement.scrollWidth")
        assert wide <= tab.viewport_size["width"], f"{state}: {wide} pixels wide"

    return run


def test_every_state_is_accessible(screen, explorer, check, rows, maps):
    tab = screen.new_page()
    tab.goto(explorer.url)
    wait_until_drawn(tab, 2)
    check(tab, "first")
    Y = maps["PCA"].transform(rows)
    select_left_half(tab, Y)
    tab.wait_for_selector("table.compare")
    check(tab, "selection")
    tab.locator("details.menu summary").click()
    check(tab, "export")
    tab.keyboard.press("Escape")
    tab.get_by_role("button", name="help").click()
    check(tab, "help")
    tab.keyboard.press("Escape")
    tab.get_by_label("add a filter").select_option(label="x0")
    tab.locator(".toolbar select").first.select_option(label="x3")
    check(tab, "filter and scale")
    tab.get_by_role("button", name="Move", exact=True).click()
    spots = get_spots(tab, "p0", Y)
    tab.mouse.click(*spots[find_isolated(spots)])
    tab.wait_for_selector("table.neighbors tbody tr")
    tab.wait_for_selector(".slider")
    check(tab, "chosen point")
    open_tab(tab, "evidence")
    tab.wait_for_selector(".quality tbody tr")
    check(tab, "evidence")
    tab.locator(".toolbar select").first.select_option("evidence:stretch")
    tab.wait_for_function("() => document.querySelectorAll('.legend, .chip.verdict').length")
    check(tab, "error at each point")
    open_tab(tab, "add")
    tab.locator("textarea").fill("x0,x1,x2,x3,x4\n" + ",".join(map(repr, rows[0].tolist())))
    tab.get_by_role("button", name="Add pasted rows").click()
    tab.wait_for_selector(".added tbody tr")
    check(tab, "new points")
    run_method(tab, "TSNE", perplexity="many")
    tab.wait_for_selector("[aria-invalid=true]")
    check(tab, "wrong form")
    run_method(tab, "TSNE", perplexity=8, max_iter=1_000_000)
    tab.wait_for_selector("ul.jobs li.running progress[value]")
    check(tab, "running")
    tab.get_by_role("button", name="Cancel").click()
    tab.wait_for_selector("ul.jobs li.cancelled")
    check(tab, "cancelled")


def answer(change):
    """A route whose answer is changed on the way to the page."""

    def handle(route):
        reply = route.fetch()
        route.fulfill(response=reply, json=change(reply.json()))

    return handle


def test_pages_without_points_are_accessible(screen, explorer, check):
    tab = screen.new_page()
    tab.route("**/api/view", answer(lambda view: {**view, "panels": []}))
    tab.goto(explorer.url)
    tab.wait_for_selector(".panels .empty")
    check(tab, "empty")
    tab.unroute("**/api/view")
    fault = {"code": "internal", "message": "it failed.", "remedy": "See the terminal."}
    tab.route("**/api/view", lambda route: route.fulfill(status=500, json=fault))
    tab.reload()
    tab.wait_for_selector("[role=alert]")
    assert "See the terminal." in tab.inner_text("main")
    check(tab, "failed")
    tab.unroute("**/api/view")
    waiting = []
    tab.route("**/api/view", lambda route: waiting.append(route))
    tab.reload()
    tab.wait_for_selector("[role=status]")
    check(tab, "loading")
    for route in waiting:
        route.abort()


def test_coordinates_alone_say_what_to_do(screen, check):
    import lowd

    Y = np.random.default_rng(0).normal(size=(40, 2))
    explorer = lowd.view(None, {"map": Y}, browser=False, block=False, inline=False)
    try:
        tab = screen.new_page()
        tab.goto(explorer.url)
        wait_until_drawn(tab, 1)
        check(tab, "no columns")
        open_tab(tab, "evidence")
        assert "lowd view data.parquet" in tab.inner_text("#tab-body")
        check(tab, "no data")
    finally:
        explorer.close()
