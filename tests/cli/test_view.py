"""`lowd view` and `--view`: each way into the explorer, by its server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import browser
import lowd
from explorers import wait_until_drawn

pytest.importorskip("starlette", reason="the extra 'view' is not installed")
httpx2 = pytest.importorskip("httpx2")
pytestmark = pytest.mark.usefixtures("folder")


class Opened(NamedTuple):
    view: dict
    url: str
    session: object


@pytest.fixture
def opened(monkeypatch):
    """What explorers showed when the command waited for Ctrl-C; the links given to browsers."""
    from lowd.explorer import api, server

    found, links = [], []

    def wait(self):
        with httpx2.Client(follow_redirects=True) as client:
            assert client.get(self.url).status_code == 200
            home = self.url.partition("?")[0]
            found.append(Opened(client.get(f"{home}api/view").json(), self.url, self.session))
        self.close()

    monkeypatch.setattr(api.Explorer, "wait", wait)
    monkeypatch.setattr(server.webbrowser, "open", links.append)
    return found, links


def names(view):
    return [panel["name"] for panel in view["panels"]]


def test_data_are_embedded_first(lowd_command, opened):
    ended = lowd_command("view", "data.csv", "-m", "pca,isomap", "--no-browser", "--json")
    assert ended.code == 0, ended.err
    (only,), links = opened
    assert json.loads(ended.out)["url"] == only.url
    assert names(only.view) == ["PCA", "Isomap"]
    assert all(panel["has_model"] for panel in only.view["panels"])
    assert only.view["can"]["new_points"]
    assert only.view["title"] == "data.csv"
    assert [column["name"] for column in only.view["columns"]][:3] == ["class", "id", "x0"]
    assert links == []


def test_units_do_not_make_the_first_view(lowd_command, opened):
    """Of wine the amount of proline alone was shown, with a perfect quality."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [1, 1, 1, 300]
    np.savetxt("wine.csv", X, delimiter=",", header="ash,hue,phenols,proline", comments="")
    ended = lowd_command("view", "wine.csv", "-m", "pca", "--no-browser")
    assert ended.code == 0, ended.err
    session = opened[0][-1].session
    Y = session.panels["p0"].coordinates
    assert np.ptp(Y[:, 0]) < 3 * np.ptp(Y[:, 1])
    np.testing.assert_allclose(np.asarray(session.compared).std(0), 1, rtol=1e-6)
    assert session.steps == {"scale": True}
    lowd_command("pca", "wine.csv", "-o", "map.csv")
    ended = lowd_command("view", "map.csv", "--data", "wine.csv", "--no-browser")
    assert ended.code == 0, ended.err
    np.testing.assert_allclose(np.asarray(opened[0][-1].session.compared).std(0), 1, rtol=1e-6)


def test_without_methods_data_get_a_first_embedding_and_a_browser(lowd_command, opened):
    ended = lowd_command("view", "data.csv")
    assert ended.code == 0, ended.err
    (only,), links = opened
    assert names(only.view) == ["PCA"]
    assert links == [only.url]
    assert only.url in ended.out


def test_an_embedding_alone_and_with_its_data(lowd_command, opened):
    assert lowd_command("isomap", "data.csv", "-o", "map.csv").code == 0
    ended = lowd_command("view", "map.csv", "--no-browser")
    assert ended.code == 0, ended.err
    alone = opened[0][-1].view
    assert names(alone) == ["isomap"]
    assert not alone["can"]["quality"]
    columns = [column["name"] for column in alone["columns"]]
    assert {"class", "id", "trustworthiness"} <= set(columns)
    assert not {"isomap0", "isomap1"} & set(columns)
    ended = lowd_command("view", "map.csv", "--data", "data.csv", "--no-browser")
    assert ended.code == 0, ended.err
    both = opened[0][-1]
    assert both.view["can"]["quality"]
    table = lowd.io.read("map.csv")
    np.testing.assert_allclose(
        both.session.panels["p0"].coordinates, table.X[:, :2].astype(np.float32)
    )


def test_an_embedding_in_another_order_is_matched_by_identifier(lowd_command, opened):
    assert lowd_command("pca", "data.csv", "-o", "map.csv").code == 0
    lines = Path("map.csv").read_text().splitlines()
    Path("map.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    ended = lowd_command("view", "map.csv", "--data", "data.csv", "--no-browser")
    assert ended.code == 0, ended.err
    session = opened[0][-1].session
    X = lowd.io.read("data.csv").X
    Y = lowd.PCA(2).fit_transform(X)
    np.testing.assert_allclose(session.panels["p0"].coordinates, Y, atol=1e-4)


@pytest.mark.parametrize(
    ("text", "more", "axes"),
    [
        ("x,y,size\n0,1,5\n2,3,6\n4,4,7\n", [], ["x", "y"]),
        ("a,b\n0,1\n2,3\n4,4\n", [], ["a", "b"]),
        ("a,b,c,d\n0,1,5,1\n2,3,6,1\n4,4,7,1\n", ["--coordinates", "b,d"], ["b", "d"]),
        ("UMAP_1,UMAP_2,n\n0,1,5\n2,3,6\n4,4,7\n", [], ["UMAP_1", "UMAP_2"]),
    ],
)
def test_coordinates_are_recognized(lowd_command, opened, text, more, axes):
    Path("some.csv").write_text(text)
    ended = lowd_command("view", "some.csv", "--no-browser", *more)
    assert ended.code == 0, ended.err
    assert opened[0][-1].view["panels"][0]["axes"] == axes


def test_a_model_with_its_data(lowd_command, opened):
    assert lowd_command("tsne", "data.csv", "--perplexity", "5", "--model", "m.lowd").code == 0
    ended = lowd_command("view", "m.lowd", "--data", "data.csv", "--no-browser")
    assert ended.code == 0, ended.err
    only = opened[0][-1]
    assert names(only.view) == ["TSNE"]
    model = lowd.load("m.lowd")
    np.testing.assert_allclose(only.session.panels["p0"].coordinates, model.embedding_, rtol=1e-6)
    assert lowd_command("view", "m.lowd").code == 2


@pytest.mark.parametrize("word", ["pca", "map"])
def test_a_fit_opens_the_explorer(lowd_command, opened, word):
    ended = lowd_command(word, "data.csv", "-o", "out.csv", "--standardize", "--view")
    assert ended.code == 0, ended.err
    (only,), links = opened
    assert len(only.view["panels"]) == 1
    assert links == [only.url]
    assert lowd.io.read("out.csv").X.shape[0] == 90  # the file is written as without --view
    assert only.session.steps["scale"] is True
    compared = np.asarray(only.session.compared)
    np.testing.assert_allclose(compared.mean(0), 0, atol=1e-6)


@browser.needed
@pytest.mark.parametrize(
    ("arguments", "panels"),
    [
        (["view", "map.csv"], 1),
        (["view", "data.csv", "-m", "pca,isomap"], 2),
        (["view", "m.lowd", "--data", "data.csv"], 1),
        (["pca", "data.csv", "-o", "again.csv", "--view"], 1),
    ],
)
def test_a_browser_draws_what_each_way_in_opens(
    lowd_command, monkeypatch, chromium, arguments, panels
):
    from lowd.explorer import api, server

    ended = lowd_command("pca", "data.csv", "-o", "map.csv", "--model", "m.lowd")
    assert ended.code == 0, ended.err
    drawn = []

    def wait(self):
        with chromium.new_page() as tab:
            tab.goto(self.url)
            wait_until_drawn(tab, panels)
            canvases = tab.locator("canvas.points")
            drawn.extend(canvases.evaluate_all("all => all.map(one => one.dataset.drawn)"))
        self.close()

    monkeypatch.setattr(api.Explorer, "wait", wait)
    monkeypatch.setattr(server.webbrowser, "open", lambda _: None)
    ended = lowd_command(*arguments)
    assert ended.code == 0, ended.err
    assert drawn == ["90"] * panels


def test_one_offline_file(lowd_command, opened, tmp_path):
    ended = lowd_command("view", "data.csv", "-m", "pca", "--html", "view.html")
    assert ended.code == 0, ended.err
    page = (tmp_path / "view.html").read_text()
    assert 'id="lowd-data"' in page
    assert "GET /api/panels/p0/evidence" in page
    assert opened == ([], [])
    assert lowd_command("view", "data.csv", "--html", "view.html").code == 5


def test_missing_values_and_text_are_no_obstacle(lowd_command, opened):
    lines = Path("data.csv").read_text().splitlines()
    rows = [line.split(",") for line in lines]
    rows[3][4] = ""
    rows = [[*row, "comment" if i == 0 else f"said {i}"] for i, row in enumerate(rows)]
    Path("data.csv").write_text("\n".join(",".join(row) for row in rows) + "\n")
    ended = lowd_command("view", "data.csv", "-m", "pca", "--no-browser")
    assert ended.code == 0, ended.err
    assert "missing values filled with the mean" in ended.err
    columns = {column["name"]: column["kind"] for column in opened[0][-1].view["columns"]}
    assert columns["comment"] == "text"


@pytest.mark.parametrize(
    ("flags", "words"),
    [
        (["--host", "0.0.0.0"], "--token"),
        (["-m", "nothing"], "nothing"),
        (["--data", "data.csv"], "--coordinates"),
    ],
)
def test_mistakes_are_named(lowd_command, opened, flags, words):
    ended = lowd_command("view", "data.csv", "--no-browser", *flags)
    assert ended.code == 2
    assert words in ended.err
    assert opened == ([], [])
