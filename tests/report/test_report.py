"""The page without a browser: complete, closed and safe."""

from __future__ import annotations

import base64
import hashlib
import html.parser
import json
import re
import sys
from types import SimpleNamespace

import numpy as np
import pytest

import lowd
from lowd import report
from lowd.evidence.diagnosis import Finding
from lowd.io import Table
from lowd.plot.canvas import load_matplotlib
from lowd.report import page as page_of_report

EVIL = '</script><img src=x onerror="window.hacked=1"><b>&amp;'


@pytest.fixture(scope="module")
def data():
    X = np.random.default_rng(0).normal(size=(80, 6))
    return Table(
        X,
        columns=tuple(f"x{i}" for i in range(6)),
        ids=np.array([f"{EVIL}{i}" for i in range(80)]),
        labels=np.array(["calm", EVIL])[np.arange(80) % 2],
        extra={EVIL: np.arange(80.0)},
        source=f"{EVIL}.csv",
    )


def write(path, table, method="PCA", **more):
    model = getattr(lowd, method)(2)
    Y = model.fit_transform(table.X)
    evaluation = lowd.evaluate(table.X, Y, labels=table.labels, n_neighbors=5)
    report.write(
        path, model=model, X=table.X, embedding=Y, evaluation=evaluation, table=table, **more
    )
    return path.read_text(), model, Y, evaluation


def held(page):
    """What the script gets."""
    return json.loads(re.search(r'id="points">(.*?)</script>', page, re.S)[1])


class Reader(html.parser.HTMLParser):
    """All elements with their attributes, and all texts outside of scripts."""

    def __init__(self, page):
        super().__init__()
        self.tags, self.texts, self.open = [], [], []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in ("meta", "img", "br", "link"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open and self.open[-1] not in ("script", "style"):
            self.texts.append(data)


def test_the_points_are_those_of_the_map(tmp_path, data):
    page, model, Y, evaluation = write(tmp_path / "r.html", data)
    made = held(page)
    shares = 100 * model.explained_variance_ratio_
    for j, (axis, column) in enumerate(zip(made["axes"], Y.T, strict=True)):
        assert axis["name"] == f"PC{j + 1} ({shares[j]:.0f} %)"
        values = np.frombuffer(base64.b64decode(axis["values"]), "<f4")
        np.testing.assert_allclose(values, column, rtol=1e-6)
    assert made["ids"] == data.ids.tolist()
    columns = {column["name"]: column for column in made["columns"]}
    label = columns["label"]
    codes = np.frombuffer(base64.b64decode(label["values"]), "<u2")
    assert [label["names"][code] for code in codes] == data.labels.tolist()
    trust = np.frombuffer(base64.b64decode(columns["trustworthiness"]["values"]), "<f4")
    np.testing.assert_allclose(trust, evaluation.pointwise["trustworthiness"], rtol=1e-6)
    assert {EVIL, "x0", "x5"} <= set(columns)


def test_nothing_of_the_data_becomes_markup(tmp_path, data):
    page, *_ = write(tmp_path / "r.html", data, command=f"lowd pca '{EVIL}.csv'")
    reader = Reader(page)
    assert reader.open == []
    assert [attrs for tag, attrs in reader.tags if "onerror" in attrs] == []
    assert all(attrs["src"].startswith("data:") for tag, attrs in reader.tags if tag == "img")
    assert [tag for tag, _ in reader.tags].count("script") == 3  # points, style, page
    assert f"PCA of {EVIL.rpartition('/')[2]}.csv" in reader.texts
    script = re.search(r"<script>(.*?)</script>", page, re.S)[1]
    policy = next(a["content"] for _, a in reader.tags if "content" in a and "http-equiv" in a)
    assert base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() in policy
    assert "default-src 'none'" in policy


@pytest.fixture(scope="module")
def full(tmp_path_factory, data):
    """A page with all there is."""
    found = SimpleNamespace(
        findings=[Finding("warning", "shape", "A < B.", "Do & be.")],
        recommendations=[SimpleNamespace(method="PCA", reason="It is <flat>.")],
    )
    path = tmp_path_factory.mktemp("report") / "r.html"
    page, _, _, evaluation = write(path, data, diagnosis=found, command="lowd pca x")
    return page, evaluation


def test_the_page_needs_no_network(full):
    page, _ = full
    for _, attrs in Reader(page).tags:
        for name in ("src", "href", "action", "srcset"):
            assert re.match(r"data:|#|$", attrs.get(name, "")), attrs
    outside = re.sub(r"data:[\w/+;,=]+", "", page)
    assert not re.search(r"(url\(|@import|fetch\(|import\()['\"]?(https?:)?//", outside)


def test_numbers_diagnosis_and_versions_are_there(full):
    page, evaluation = full
    text = " ".join(" ".join(Reader(page).texts).split())
    assert "B_NX" in {measure.title for measure in evaluation.measures.values()}
    for measure in evaluation.measures.values():
        assert f"{measure.title} {float(measure):.3f}" in text
        assert measure.question[1:] in text
    assert "compare k-NN accuracy with k-NN accuracy in the data" in text
    for words in ("A < B.", "Do & be.", "It is <flat>.", lowd.__version__, np.__version__):
        assert words in text
    assert "lowd pca x" in text
    titles = re.findall(r"</svg><figcaption><b>(.*?)\.</b>", page)
    assert titles == ["R_NX curve", "Shepard diagram", "Scree plot"]


def test_the_charts_show_the_numbers(full):
    """Pixels of the page, back in the units of the axes by the ticks beside them."""
    page, evaluation = full
    curve, pairs, scree = re.findall(r'<svg class="chart".*?</svg>', page, re.S)
    across, up = (read_axis(curve, look) for look in ("center", "end"))
    line = re.search(r'class="main" d="M(.*?)"', curve)[1]
    x, y = np.array([point.split() for point in line.split("L")], float).T
    sizes, shares = evaluation.rnx_curve
    np.testing.assert_allclose(
        np.exp(np.polyval(np.polyfit(across[0], np.log(across[1]), 1), x)), sizes, rtol=0.01
    )
    np.testing.assert_allclose(np.polyval(np.polyfit(*up, 1), y), shares, atol=0.003)
    across, up = (read_axis(scree, look) for look in ("center", "end"))
    tops = np.array(re.findall(r'<rect class="main full" x="\S+" y="(\S+)"', scree), float)
    model = lowd.PCA(6).fit(np.random.default_rng(0).normal(size=(80, 6)))
    shares = 100 * model.explained_variance_ratio_
    np.testing.assert_allclose(np.polyval(np.polyfit(*up, 1), tops), shares, atol=0.1)
    across, up = (read_axis(pairs, look) for look in ("center", "end"))
    place = re.search(r'<image x="(\S+)" y="(\S+)" width="(\S+)" height="(\S+)"', pairs)
    left, top, width, height = map(float, place.groups())
    for axis, ends, distances in ((across, (left, left + width), 0), (up, (top + height, top), 1)):
        known = evaluation.shepard[distances]
        found = np.polyval(np.polyfit(*axis, 1), ends)
        np.testing.assert_allclose(found, [known.min(), known.max()], atol=0.03 * known.max())


def read_axis(chart, look):
    """Pixels and values of the ticks of an axis."""
    found = re.findall(
        rf'<text class="{look}" transform="translate\((\S+) (\S+)\)">([^<]+)<', chart
    )
    numbers = [
        (float(x) if look == "center" else float(y) - 4, float(v))
        for x, y, v in found
        if re.fullmatch(r"[-\d.e+]+", v)
    ]
    return np.array(numbers, float).T


def test_a_report_needs_no_matplotlib(tmp_path, data, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    load_matplotlib.cache_clear()
    page, *_ = write(tmp_path / "r.html", data)
    assert page.count("</svg><figcaption>") == 3


def test_the_python_in_the_page_makes_the_same_map(tmp_path, rng, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.save("rows.npy", rng.normal(size=(40, 4)))
    table = lowd.io.read("rows.npy")
    model = lowd.KernelPCA(2, kernel="rbf", gamma=0.3, random_state=5)
    Y = model.fit_transform(table.X)
    report.write("r.html", model=model, embedding=Y, table=table)
    page = (tmp_path / "r.html").read_text()
    code = re.search(r"<h3>Python</h3><pre><code>(.*?)</code>", page, re.S)[1]
    names = {}
    exec(html.unescape(code).replace("print(", "("), names)
    np.testing.assert_array_equal(names["Y"], Y)


def test_very_many_points_are_a_picture(tmp_path, data, monkeypatch):
    monkeypatch.setattr(report, "MAX_INTERACTIVE_POINTS", 79)
    page, *_ = write(tmp_path / "r.html", data)
    tags = Reader(page).tags
    assert not [tag for tag, _ in tags if tag in ("canvas", "script")]
    assert any(attrs.get("class") == "density" for _, attrs in tags)


def test_columns_beyond_the_room_are_left_out_with_a_sentence(tmp_path, data, monkeypatch):
    monkeypatch.setattr(page_of_report, "MAX_COLUMN_VALUES", 80 * 4)
    page, *_ = write(tmp_path / "r.html", data)
    assert len(held(page)["columns"]) == 4
    assert "as many columns as fit" in page


def test_thumbnails_are_on_one_sheet(tmp_path, data):
    pictures = np.zeros((80, 4, 6), np.uint8)
    pictures[:, 0, 0] = np.arange(80)
    table = Table(data.X, "images", data.columns, thumbnails=pictures)
    made = held(write(tmp_path / "r.html", table)[0])["thumbnails"]
    Image = pytest.importorskip("PIL.Image")
    from io import BytesIO

    sheet = np.asarray(Image.open(BytesIO(base64.b64decode(made["sheet"].partition(",")[2]))))
    across, width, height = made["across"], made["width"], made["height"]
    assert (width, height) == (6, 4)
    for row in (0, 1, across, 79):
        assert sheet[row // across * height, row % across * width] == row


def test_one_and_many_dimensions_and_rows_that_were_not_measured(tmp_path, data):
    for d in (1, 5):
        model = lowd.PCA(d)
        Y = model.fit_transform(data.X)
        seen = SimpleNamespace(
            pointwise={"trustworthiness": np.ones(3)},
            rows=np.array([1, 5, 7]),
            measures={},
            verdict="",
            notes=[],
            exact=False,
            n_neighbors=5,
            rnx_curve=None,
            shepard=None,
            random_state=None,
        )
        report.write(tmp_path / "r.html", model=model, embedding=Y, evaluation=seen)
        made = held((tmp_path / "r.html").read_text())
        assert len(made["axes"]) == d
        trust = np.frombuffer(base64.b64decode(made["columns"][0]["values"]), "<f4")
        assert np.flatnonzero(np.isfinite(trust)).tolist() == [1, 5, 7]


def test_a_failed_write_leaves_nothing(tmp_path, data, monkeypatch):
    import os

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(os, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        write(tmp_path / "r.html", data)
    assert os.listdir(tmp_path) == []


def test_a_map_that_is_none():
    with pytest.raises(lowd.errors.DataError, match="one row of coordinates"):
        report.write("r.html", model=lowd.PCA(2).fit(np.eye(3)), embedding=np.zeros(3))


def test_write_names_the_folder_that_is_missing(tmp_path):
    model = lowd.PCA(1).fit([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    with pytest.raises(lowd.errors.MissingFileError, match=r"the folder .*none does not exist"):
        report.write(tmp_path / "none" / "r.html", model=model, embedding=[[0.0], [1.0]])
