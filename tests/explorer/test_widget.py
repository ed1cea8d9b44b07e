"""The explorer in a notebook: requests are messages, the selection is a trait."""

from __future__ import annotations

import json

import numpy as np
import pytest

import lowd

pytest.importorskip("anywidget", reason="the extra 'notebook' is not installed")


def test_messages_are_answered_by_the_same_routes(routes, monkeypatch):
    from lowd.explorer.widget import ExplorerWidget, make_widget

    sent = []
    monkeypatch.setattr(
        ExplorerWidget, "send", lambda _, content, buffers=None: sent.append((content, buffers))
    )
    widget = make_widget(routes)
    asked = [
        ({"id": 1, "method": "GET", "path": "/api/neighbors?row=2&k=3"}, []),
        ({"id": 2, "method": "POST", "path": "/api/compare", "body": '{"rows": [1, 2]}'}, []),
        ({"id": 3, "method": "POST", "path": "/api/compare"}, [memoryview(b'{"rows": [3]}')]),
        ({"id": 4, "method": "GET", "path": "/api/nothing"}, []),
    ]
    for content, buffers in asked:
        widget._handle_custom_msg(content, buffers)
    assert [content["id"] for content, _ in sent] == [1, 2, 3, 4]
    assert [content["status"] for content, _ in sent] == [200, 200, 200, 404]
    assert len(json.loads(sent[0][1][0])["rows"]) == 3
    assert [json.loads(sent[i][1][0])["selected"] for i in (1, 2)] == [2, 1]
    widget.close()


def test_the_module_holds_the_script_and_the_style_of_the_page(routes):
    from lowd.explorer.page import read_static
    from lowd.explorer.widget import make_widget

    widget = make_widget(routes)
    script, style = (read_static(name).decode() for name in ("app.js", "app.css"))
    assert widget._esm.startswith(script)
    assert json.dumps(style) in widget._esm
    widget.close()


def test_the_selection_is_readable_back(data):
    explorer = lowd.view(data.X, inline=True)
    assert explorer.url is None
    explorer._widget.selection = [7, 3]
    assert explorer.selection.tolist() == [3, 7]
    assert "application/vnd.jupyter.widget-view+json" in explorer._repr_mimebundle_()[0]
    explorer._widget.close()
    explorer.close()


@pytest.mark.parametrize("method", ["TSNE", "SNE", "UMAP"])
def test_live_methods_report_every_row_while_they_iterate(data, method):
    """Duplicates too, which are one point in the descent; the last report is near the result."""
    X, seen = np.vstack([data.X, data.X[:5]]), []
    model = getattr(lowd, method)(n_components=2)
    with lowd.progress.watching(lambda Y: seen.append(np.array(Y))):
        Y = lowd.Pipeline(model, scale=True).fit_transform(X)
    assert len(seen) > 1
    assert {frame.shape for frame in seen} == {(65, 2)}
    np.testing.assert_array_equal(seen[-1][60:], seen[-1][:5])
    gap = (seen[-1] - seen[-1].mean(0)) - (Y - Y.mean(0))
    assert np.abs(gap).max() < 0.05 * np.abs(Y).max()
