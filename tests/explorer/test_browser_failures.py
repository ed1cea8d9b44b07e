"""The explorer in a real browser: requests that fail, answers of another shape, a notebook."""

from __future__ import annotations

import base64
import json
import re

import pytest

import browser
from explorers import wait_until_drawn
from lowd.explorer.routes import Request

pytestmark = browser.needed


@pytest.fixture
def tab(context):
    return context.new_page()


def test_points_that_do_not_come_are_loaded_by_another_attempt(tab, explorer):
    broken = re.compile(r"/api/panels/p1/points")
    tab.route(broken, lambda route: route.abort())
    tab.goto(explorer.url)
    wait_until_drawn(tab, 1)  # the other panel, and the page around both
    alert = tab.locator(".stage .waiting[role=alert]")
    assert "The coordinates could not be loaded." in alert.inner_text()
    assert "Start `lowd view` again" in alert.inner_text()
    alert.get_by_role("button", name="Try again").click()
    alert.get_by_role("button", name="Try again").wait_for()  # still broken: it says so again
    tab.unroute(broken)
    alert.get_by_role("button", name="Try again").click()
    wait_until_drawn(tab, 2)
    assert alert.count() == 0


def test_a_column_that_does_not_come_can_be_chosen_again(tab, explorer):
    broken = re.compile(r"/api/columns/c\d+")
    tab.route(broken, lambda route: route.abort())
    tab.goto(explorer.url)
    wait_until_drawn(tab, 2)
    choice = tab.locator(".toolbar select").first
    assert choice.input_value() == ""  # one color, since the labels did not come
    tab.unroute(broken)
    choice.select_option(label="label")
    tab.locator(".legend").get_by_text("green").wait_for()
    assert choice.input_value() != ""


def test_an_answer_of_another_shape_is_named(tab, explorer):
    def change(route):
        reply = route.fetch()
        view = reply.json()
        view["panels"][0]["axes"] = "xy"
        route.fulfill(response=reply, body=json.dumps(view))

    tab.route(re.compile(r"/api/view$"), change)
    tab.goto(explorer.url)
    message = tab.get_by_role("alert").inner_text()
    assert "/api/view is not what this page expects: answer.panels[0].axes is not a list" in message


NOTEBOOK = """
async module => {
  const { default: widget } = await import(URL.createObjectURL(
    new Blob([module], { type: "text/javascript" })));
  const listeners = [];
  const model = {
    selection: [],
    on: (_, listener) => listeners.push(listener),
    off: () => undefined,
    set(name, value) { this[name] = value; },
    save_changes: () => undefined,
    async send(message) {
      const { status, type, body } = await answer(message);
      const bytes = Uint8Array.from(atob(body), c => c.charCodeAt(0));
      for (const listener of listeners)
        listener({ id: message.id, status, type }, [new DataView(bytes.buffer)]);
    },
  };
  window.model = model;
  window.close_widget = widget.render({ model, el: document.getElementById("cell") });
}
"""


def test_a_notebook_imports_the_script_of_the_page(tab, routes):
    """Beside a heading that has the name of the page's own element."""
    pytest.importorskip("anywidget", reason="the extra 'notebook' is not installed")
    from lowd.explorer.widget import make_module

    errors = []
    tab.on("pageerror", lambda error: errors.append(str(error)))

    def answer(message):
        body = (message.get("body") or "").encode()
        reply = routes.answer(Request.parse(message["method"], message["path"], body))
        text = base64.b64encode(reply.body).decode()
        return {"status": reply.status, "type": reply.type, "body": text}

    tab.expose_function("answer", answer)
    tab.set_content('<h1 id="lowd">A heading</h1><div id="cell" style="height: 700px"></div>')
    tab.evaluate(NOTEBOOK, make_module())
    tab.get_by_text("60 rows", exact=True).first.wait_for()
    assert tab.locator("canvas.points").count() == 2
    tab.locator("canvas.points[data-complete]").nth(1).wait_for()
    assert tab.locator("h1#lowd").inner_text() == "A heading"
    style = "getComputedStyle(document.getElementById('cell').shadowRoot.querySelector('.stage'))"
    assert tab.evaluate(f"{style}.position") == "relative"  # the style came along
    tab.evaluate("window.close_widget()")
    assert tab.locator("canvas.points").count() == 0
    assert errors == []
