"""The requests of the page: panels, columns, evidence, neighbors, rows, new points, files."""

from __future__ import annotations

import json
import threading
from io import BytesIO

import numpy as np
import polars as pl
import pytest
from scipy.spatial.distance import cdist

import lowd
from explorers import read_arrow, wait_for
from lowd.explorer.api import make_session
from lowd.explorer.routes import MAX_CHUNK_ROWS, Request, Routes
from lowd.methods import METHODS


def test_the_view_lists_panels_columns_and_what_it_can_do(ask):
    view = ask("GET", "/api/view")
    assert (view["n"], view["title"], view["mode"]) == (60, "sixty <rows>", "server")
    assert [panel["name"] for panel in view["panels"]] == ["PCA", "t-SNE"]
    assert [panel["method"] for panel in view["panels"]] == ["PCA", "TSNE"]
    kinds = {column["name"]: (column["role"], column["kind"]) for column in view["columns"]}
    assert kinds["label"] == ("label", "category")
    assert kinds["id"] == ("id", "text")
    assert kinds["text"] == ("other", "text")
    assert kinds["age"] == ("other", "number")
    assert kinds["w"] == ("feature", "number")
    label = view["columns"][0]
    assert (label["categories"], label["counts"]) == (["blue", "green", "red"], [20, 20, 20])
    assert view["thumbnails"] == {"width": 5, "height": 6}
    assert all(view["can"].values())


def test_points_are_the_embedding_in_chunks(ask, data, models):
    whole = read_arrow(ask("GET", "/api/panels/p0/points").body)
    Y = models["PCA"].transform(data.X)
    np.testing.assert_allclose(np.column_stack([whole["x"], whole["y"]]), Y, rtol=1e-6)
    parts = [
        read_arrow(ask("GET", f"/api/panels/p1/points?start={a}&stop={a + 25}").body)["x"]
        for a in (0, 25, 50)
    ]
    assert [len(part) for part in parts] == [25, 25, 10]
    np.testing.assert_allclose(np.concatenate(parts), models["t-SNE"].embedding_[:, 0], rtol=1e-6)


def test_a_chunk_is_never_longer_than_its_limit():
    n = MAX_CHUNK_ROWS + 5
    routes = Routes(make_session(None, {"map": np.zeros((n, 2))}))
    for query, count in (
        ("", MAX_CHUNK_ROWS),
        (f"?start={MAX_CHUNK_ROWS}", 5),
        ("?stop=9e9", None),
    ):
        reply = routes.answer(Request.parse("GET", f"/api/panels/p0/points{query}"))
        if count is None:
            assert reply.status == 400
        else:
            assert len(read_arrow(reply.body)["x"]) == count


def test_columns_as_the_list_describes_them(ask, data):
    view = ask("GET", "/api/view")
    key = {column["name"]: column["key"] for column in view["columns"]}
    codes = read_arrow(ask("GET", f"/api/columns/{view['columns'][0]['key']}").body)["value"]
    assert codes.dtype == np.int16
    assert [view["columns"][0]["categories"][code] for code in codes] == data.group.tolist()
    features = read_arrow(ask("GET", f"/api/columns/{key['y']}").body)["value"]
    np.testing.assert_array_equal(features, data.X[:, 2].astype(np.float32))
    words = read_arrow(ask("GET", f"/api/columns/{key['text']}?start=3&stop=5").body)["value"]
    assert words.tolist() == ["a long text about 3", "a long text about 4"]


def test_evidence_is_refused_until_it_is_computed(ask, monkeypatch):
    from lowd.explorer import evidence

    may_end, evaluate = threading.Event(), evidence.evaluate

    def wait_and_evaluate(*args, **options):
        may_end.wait(60)
        return evaluate(*args, **options)

    monkeypatch.setattr(evidence, "evaluate", wait_and_evaluate)
    assert ask("GET", "/api/panels/p1/evidence", status=409)["code"] == "not_ready"
    may_end.set()
    wait_for(ask, "/api/panels/p1/quality")
    assert ask("GET", "/api/panels/p1/evidence").status == 200


def test_quality_is_that_of_evaluate(ask, data, models):
    found = wait_for(ask, "/api/panels/p1/quality")
    known = lowd.evaluate(data.X, models["t-SNE"].embedding_.astype(np.float32), labels=data.group)
    assert found["verdict"] == known.verdict
    values = {measure["name"]: measure["value"] for measure in found["measures"]}
    assert values["trustworthiness"] == pytest.approx(known.trustworthiness)
    assert found["rnx"]["k"][0] == 1
    assert found["scree"]["share"] is True
    columns = read_arrow(ask("GET", "/api/panels/p1/evidence").body)
    false = 1 - known.pointwise["trustworthiness"]
    np.testing.assert_allclose(columns["false_neighbors"], false, atol=1e-6)
    missed = 1 - known.pointwise["continuity"]
    np.testing.assert_allclose(columns["missed_neighbors"], missed, atol=1e-6)
    assert columns["evaluated"].all()


def test_rows_that_were_not_evaluated_are_estimated(rng, monkeypatch):
    from lowd.evidence.quality import evaluation

    monkeypatch.setattr(evaluation, "MAX_EXACT_SAMPLES", 100)
    monkeypatch.setattr(evaluation, "DEFAULT_ANCHORS", 40)
    X = rng.normal(size=(200, 3))
    routes = Routes(make_session(X, {"PCA": lowd.PCA(2).fit(X)}))
    evidence = routes.evaluations.wait("p0")
    assert evidence.columns["evaluated"].sum() == 40
    assert np.isfinite(evidence.columns["stretch"]).all()
    assert evidence.describe()["evaluated"] == 40
    assert not evidence.describe()["exact"]


def test_an_evaluation_that_fails_is_a_message():
    routes = Routes(make_session(np.zeros((2, 3)), {"a": np.zeros((2, 2))}))
    fault = routes.evaluations.wait("p0").describe()["fault"]
    assert "rows" in fault["message"]


def test_neighbors_are_the_true_ones(ask, data, models):
    found = ask("GET", "/api/neighbors?row=7&k=5")
    D = cdist(data.X, data.X)
    assert found["rows"] == np.argsort(D[7])[1:6].tolist()
    np.testing.assert_allclose(found["distances"], np.sort(D[7])[1:6])
    inside = cdist(models["t-SNE"].embedding_, models["t-SNE"].embedding_)
    assert found["panels"]["p1"] == np.argsort(inside[7])[1:6].tolist()


def test_coordinates_alone_have_no_evidence():
    routes = Routes(make_session(None, {"map": np.arange(8.0).reshape(4, 2)}, labels=list("aabb")))
    view = routes.describe_view()
    assert view["can"]["neighbors"] == "none"
    assert not view["can"]["run"]
    assert not view["can"]["move"]
    for path in ("/api/neighbors?row=1", "/api/panels/p0/quality", "/api/features?row=0"):
        reply = routes.answer(Request.parse("GET", path))
        assert (reply.status, json.loads(reply.body)["code"]) == (409, "unavailable"), path


def test_details_of_a_row_and_its_image(ask, data):
    values = {one["name"]: one["value"] for one in ask("GET", "/api/rows/4")["values"]}
    assert values["id"] == "row-4"
    assert values["w"] == data.X[4, 0]
    reply = ask("GET", "/api/thumbnails/4")
    assert reply.type == "image/png"
    from PIL import Image

    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(reply.body))), data.images[4])
    assert ask("GET", "/api/rows/60", status=404)["code"] == "not_found"


def test_search_in_text_and_categories(ask):
    assert ask("GET", "/api/search?q=ABOUT%207") == {"total": 1, "rows": [7]}
    assert ask("GET", "/api/search?q=row-1")["rows"] == [1, *range(10, 20)]
    label = ask("GET", "/api/view")["columns"][0]["key"]
    assert ask("GET", f"/api/search?q=gree&column={label}&limit=3") == {
        "total": 20,
        "rows": [1, 4, 7],
    }
    assert ask("GET", "/api/search?q=")["total"] == 0


def test_a_selection_differs_by_its_group(ask, data):
    rows = [int(row) for row in np.flatnonzero(data.group == "red")]
    found = ask("POST", "/api/compare", {"rows": rows})
    assert (found["selected"], found["rest"]) == (20, 40)
    by_name = {entry["name"]: entry for entry in found["columns"]}
    a, b = data.X[data.group == "red", 0], data.X[data.group != "red", 0]
    pooled = np.sqrt((a.var(ddof=1) * 19 + b.var(ddof=1) * 39) / 58)
    assert by_name["w"]["effect"] == pytest.approx((a.mean() - b.mean()) / pooled)
    label = next(entry for entry in found["columns"] if entry["kind"] == "category")
    assert (label["category"], label["selected"], label["rest"]) == ("red", 1, 0)
    assert found["columns"][0]["name"] == "w"
    assert ask("POST", "/api/compare", {"rows": []}, 422)["remedy"] == "Select 1 or more."
    for bad in ([60], [-1], [2**63], [-(10**30)]):
        for path in ("/api/compare", "/api/selection", "/api/export"):
            refusal = ask("POST", path, {"rows": bad, "format": "csv"}, 422)
            assert refusal["message"] == "rows: expected 0 to 59."


def test_new_points_land_where_transform_puts_them(ask, data, models):
    Q = data.X[:3] + 0.1
    text = "z,y,x,w\n" + "\n".join(",".join(repr(float(v)) for v in row[::-1]) for row in Q)
    found = ask("POST", "/api/new-points?name=../../etc/new.csv", text.encode())
    assert found["n"] == 3
    for key, name in (("p0", "PCA"), ("p1", "t-SNE")):
        Y, confidence = models[name].transform(Q, return_confidence=True)
        np.testing.assert_allclose(found["panels"][key]["coordinates"], Y)
        np.testing.assert_allclose(found["panels"][key]["confidence"], confidence)
    reply = ask("GET", f"/api/new-points/{found['key']}/file?format=csv")
    frame = pl.read_csv(BytesIO(reply.body))
    np.testing.assert_allclose(frame["PCA 1"], models["PCA"].transform(Q)[:, 0])
    ask("DELETE", f"/api/new-points/{found['key']}")
    ask("GET", f"/api/new-points/{found['key']}/file", status=404)


@pytest.mark.parametrize("kind", ["parquet", "arrow", "jsonl"])
def test_new_points_of_other_formats(ask, data, models, kind):
    frame, file = pl.DataFrame(data.X[:2], schema=["w", "x", "y", "z"]), BytesIO()
    writers = {"parquet": "write_parquet", "arrow": "write_ipc", "jsonl": "write_ndjson"}
    getattr(frame, writers[kind])(file)
    found = ask("POST", f"/api/new-points?name=new.{kind}", file.getvalue())
    np.testing.assert_allclose(
        found["panels"]["p0"]["coordinates"], models["PCA"].transform(data.X[:2]), atol=1e-12
    )


@pytest.mark.parametrize(
    ("name", "body", "words"),
    [
        ("new.csv", b"w,x,y\n1,2,3\n4,5,6\n", "1 column that the model needs is missing: 'z'"),
        ("new.csv", b"", "empty"),
        ("new.pkl", b"\x80\x04.", "pickle"),
        ("new.parquet", b"PAR1 no", "damaged"),
        ("new.csv.gz", b"\x1f\x8b\x08\x00\x00\x00\x00\x00", "compressed"),
        ("new.xlsx", b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", "expected csv"),
    ],
)
def test_bad_uploads_are_messages(ask, name, body, words):
    fault = ask("POST", f"/api/new-points?name={name}", body, 422)
    assert words in fault["message"]
    assert fault["remedy"]


def test_too_many_rows_are_refused_in_whichever_bytes(ask):
    file = BytesIO()
    pl.DataFrame({name: np.zeros(10**6) for name in "wxyz"}).write_parquet(file)
    assert len(file.getvalue()) < 10**5
    text = b"w,x,y,z\n" + b"1,2,3,4\n" * 20_001
    for name, body in (("a.parquet", file.getvalue()), ("a.csv", text)):
        fault = ask("POST", f"/api/new-points?name={name}", body, 413)
        assert f"{name} has more than 20000 rows" in fault["message"]
        assert "Split it" in fault["remedy"]


def test_a_moved_feature_moves_the_point(ask, data, models):
    sliders = ask("GET", "/api/features?row=5")["features"]
    assert [slider["name"] for slider in sliders] == ["w", "x", "y", "z"]
    assert sliders[1]["value"] == data.X[5, 1]
    assert sliders[1]["high"] == data.X[:, 1].max()
    found = ask("POST", "/api/move", {"row": 5, "changes": {"1": 9.5}})
    changed = data.X[5].copy()
    changed[1] = 9.5
    for key, name in (("p0", "PCA"), ("p1", "t-SNE")):
        np.testing.assert_allclose(
            found["panels"][key]["coordinates"], models[name].transform(changed[None])
        )
    same = ask("POST", "/api/move", {"row": 5, "changes": {}})
    np.testing.assert_allclose(
        same["panels"]["p1"]["coordinates"][0], models["t-SNE"].embedding_[5]
    )
    ask("POST", "/api/move", {"row": 5, "changes": {"4": 1.0}}, 422)
    for changes in ({"1": 10**400}, {"1": -(10**400)}, {"9" * 5000: 1.0}):
        ask("POST", "/api/move", {"row": 5, "changes": changes}, 422)
    ask("POST", "/api/move", {"row": 60, "changes": {}}, 422)


def test_exported_rows_equal_the_selection(ask, data, models):
    reply = ask("POST", "/api/export", {"rows": [3, 9, 4], "format": "parquet"})
    frame = pl.read_parquet(BytesIO(reply.body))
    assert frame["row"].to_list() == [3, 4, 9]
    assert frame["id"].to_list() == ["row-3", "row-4", "row-9"]
    np.testing.assert_allclose(
        frame["t-SNE 1"], models["t-SNE"].embedding_[[3, 4, 9], 0], rtol=1e-6
    )
    np.testing.assert_array_equal(frame["w"], data.X[[3, 4, 9], 0])
    whole = ask("POST", "/api/export", {"rows": None, "format": "csv"})
    assert len(pl.read_csv(BytesIO(whole.body))) == 60
    assert whole.headers["Content-Disposition"] == 'attachment; filename="lowd-selection.csv"'
    ask("POST", "/api/export", {"rows": [1], "format": "exe"}, 422)


def test_a_panel_can_be_closed(ask):
    before = ask("GET", "/api/view")["revision"]
    ask("DELETE", "/api/panels/p0")
    after = ask("GET", "/api/view")
    assert [panel["key"] for panel in after["panels"]] == ["p1"]
    assert after["revision"] > before
    ask("GET", "/api/panels/p0/points", status=404)


def test_the_selection_comes_back(ask, session):
    ask("POST", "/api/selection", {"rows": [5, 2, 2]})
    assert session.selection.tolist() == [2, 5]


@pytest.mark.parametrize("body", [b"", b"[1]", b"{", b"[" * 100_000])
def test_a_body_that_is_no_object_is_refused(ask, body):
    ask("POST", "/api/compare", body, 400)


def test_every_method_has_a_form(ask):
    forms = {form["name"]: form for form in ask("GET", "/api/methods")["methods"]}
    assert list(forms) == list(METHODS)
    assert forms["TSNE"]["live"]
    assert not forms["PCA"]["live"]
    perplexity = next(p for p in forms["TSNE"]["parameters"] if p["name"] == "perplexity")
    assert (perplexity["kind"], perplexity["low"], perplexity["low_open"]) == ("number", 0, True)
    assert "neighbors" in perplexity["help"]
    rate = next(p for p in forms["TSNE"]["parameters"] if p["name"] == "learning_rate")
    assert (rate["choices"], rate["default"]) == (["auto"], "auto")
    for form in forms.values():
        names = [parameter["name"] for parameter in form["parameters"]]
        assert "n_components" in names
        assert not {"backend", "n_jobs", "verbose"} & set(names)
        for parameter in form["parameters"]:
            assert parameter["help"], (form["name"], parameter["name"])
