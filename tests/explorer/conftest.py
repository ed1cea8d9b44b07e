"""A small session with data, columns, images and two models, and a client of its server; a browser
with a page of ninety rows."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest
from numpy.typing import NDArray

pytest.importorskip("starlette", reason="the extra 'view' is not installed")

from starlette.testclient import TestClient

import lowd
from explorers import BASE, PORT, RECORD_PATHS, TOKEN, wait_until_drawn
from lowd.explorer.api import make_session
from lowd.explorer.routes import Request, Routes
from lowd.explorer.server import make_app

SIZE = {"width": 1280, "height": 800}
SECONDS = 1000  # of Playwright, in milliseconds


class Data(NamedTuple):
    X: NDArray[np.float64]
    group: NDArray[np.str_]
    images: NDArray[np.uint8]


@pytest.fixture(scope="session")
def data():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 4)) + 6 * np.eye(3, 4)[np.arange(60) % 3]
    images = rng.integers(0, 255, (60, 6, 5)).astype(np.uint8)
    return Data(X, np.array(["red", "green", "blue"])[np.arange(60) % 3], images)


@pytest.fixture(scope="session")
def models(data):
    return {"PCA": lowd.PCA(2).fit(data.X), "t-SNE": lowd.TSNE(2, perplexity=8).fit(data.X)}


@pytest.fixture
def session(data, models):
    return make_session(
        data.X,
        models,
        labels=data.group,
        ids=np.array([f"row-{i}" for i in range(60)]),
        columns={
            "text": np.array([f"a long text about {i}" for i in range(60)]),
            "age": np.arange(60.0),
        },
        images=data.images,
        feature_names=["w", "x", "y", "z"],
        title="sixty <rows>",
    )


@pytest.fixture
def routes(session):
    found = Routes(session)
    yield found
    found.close()


@pytest.fixture
def ask(routes):
    """Ask a route without a server; the reply's content if it is JSON."""
    import json

    def call(method, target, body=b"", status=200):
        body = json.dumps(body).encode() if isinstance(body, dict) else body
        reply = routes.answer(Request.parse(method, target, body))
        assert reply.status == status, reply.body[:500]
        return json.loads(reply.body) if reply.type == "application/json" else reply

    return call


@pytest.fixture
def client(routes):
    app = make_app(routes, TOKEN, "127.0.0.1", PORT)
    headers = {"Authorization": f"Bearer {TOKEN}"}
    return TestClient(app, base_url=BASE, headers=headers, follow_redirects=False)


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
    tab.add_init_script(RECORD_PATHS)
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
