"""Every command on real files, as a user types it."""

from __future__ import annotations

import csv
import html
import io
import json
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

import lowd
from lowd.cli.options import METHOD_COMMANDS, build_model, make_flags
from lowd.methods import find_class_name
from lowd.parameters import parameters_of

pytestmark = pytest.mark.usefixtures("folder")
OTHER_FLAGS = {"random_state", "backend", "n_jobs", "verbose"}


def columns(path):
    """Column -> list of texts."""
    rows = list(csv.DictReader(io.StringIO(Path(path).read_text())))
    return {name: [row[name] for row in rows] for name in rows[0]}


def coordinates(path, stem):
    found = columns(path)
    names = [name for name in found if re.fullmatch(stem + r"\d+", name)]
    return np.array([[float(value) for value in found[name]] for name in names]).T


def numbers():
    table = columns("data.csv")
    return np.array([[float(v) for v in table[f"x{i}"]] for i in range(5)]).T


def only(*names):
    """Nothing else was written, hidden files included."""
    assert sorted(os.listdir()) == sorted(["data.csv", *names])


@pytest.mark.parametrize("word", METHOD_COMMANDS)
def test_a_file_alone_gives_a_map(word, lowd_command):
    ended = lowd_command(word, "data.csv")
    assert ended.code == 0, ended.err
    only(f"data-{word}.csv")
    found = columns(f"data-{word}.csv")
    assert found["id"] == columns("data.csv")["id"]
    assert found["class"] == columns("data.csv")["class"]
    assert coordinates(f"data-{word}.csv", METHOD_COMMANDS[word].lower()).shape == (90, 2)
    assert all(0 <= float(v) <= 1 for v in found["trustworthiness"])


def test_every_field_is_a_flag_with_help():
    for name in METHOD_COMMANDS.values():
        made = {flag.name: flag for flag in make_flags(name)}
        assert set(made) == set(parameters_of(getattr(lowd, name))) - OTHER_FLAGS
        for flag in made.values():
            assert not flag.help.startswith("Default"), (name, flag.name)


def test_flags_set_the_parameters_of_the_model(lowd_command):
    ended = lowd_command(
        *("isomap", "data.csv", "--n-neighbors", 7, "--map", "regression", "--seed", 3),
        *("--metric", "minkowski", "--metric-params", '{"p": 3}', "--n-landmarks", "none"),
        *("--model", "m.lowd", "-o", "map.csv", "--backend", "native"),
    )
    assert ended.code == 0, ended.err
    model = lowd.load("m.lowd")
    assert (model.n_neighbors, model.map, model.random_state) == (7, "regression", 3)
    assert (model.metric, model.metric_params) == ("minkowski", {"p": 3})
    assert (model.n_landmarks, model.backend) == (None, "native")


def test_the_map_is_that_of_the_library(lowd_command):
    assert lowd_command("kernel-pca", "data.csv", "--kernel", "rbf", "--gamma", 0.1).code == 0
    Y = lowd.KernelPCA(2, kernel="rbf", gamma=0.1).fit_transform(numbers())
    np.testing.assert_allclose(coordinates("data-kernel-pca.csv", "kernelpca"), Y, atol=1e-12)


def test_lists_and_switches():
    made = build_model("TSNE", {"perplexity": "5,15", "seed": 4})
    assert (made.perplexity, made.random_state) == ([5, 15], 4)
    assert build_model("PCA", {"whiten": True}).whiten is True
    np.save("start.npy", np.zeros((3, 2)))
    assert build_model("TSNE", {"init": "start.npy"}).init.shape == (3, 2)


def test_names_of_methods():
    for word in ("lle", "LocallyLinearEmbedding", "locallylinearembedding"):
        assert find_class_name(word) == "LocallyLinearEmbedding"
    assert find_class_name("kernel_pca") == "KernelPCA"
    assert find_class_name("t-SNE") == "TSNE"
    assert find_class_name("spectral embedding") == "LaplacianEigenmaps"
    with pytest.raises(lowd.errors.ParameterError, match="no method 'phate'; there are pca"):
        find_class_name("phate")


@pytest.mark.parametrize("suffix", ["parquet", "tsv", "jsonl", "feather", "csv.gz"])
def test_formats_in_and_out(suffix, lowd_command):
    """The embedding is written in a format, and read again as data."""
    assert lowd_command("pca", "data.csv", "-o", f"map.{suffix}").code == 0
    ended = lowd_command("pca", f"map.{suffix}", "--columns", "pca*", "-o", "again.csv")
    assert ended.code == 0, ended.err
    first = lowd.PCA(2).fit_transform(numbers())
    np.testing.assert_allclose(np.abs(coordinates("again.csv", "pca")), np.abs(first), atol=1e-6)


def test_arrays_and_distances(lowd_command):
    np.save("rows.npy", numbers())
    assert lowd_command("pca", "rows.npy", "-o", "a.csv").code == 0
    np.testing.assert_allclose(
        coordinates("a.csv", "pca"), lowd.PCA(2).fit_transform(numbers()), atol=1e-12
    )
    D = np.sqrt(((numbers()[:, None] - numbers()[None]) ** 2).sum(-1))
    np.save("d.npy", D)
    assert lowd_command("classical-mds", "d.npy", "--distances", "-o", "b.csv").code == 0
    np.testing.assert_allclose(
        np.abs(coordinates("b.csv", "classicalmds")), np.abs(coordinates("a.csv", "pca")), atol=1e-8
    )
    refused = lowd_command("pca", "d.npy", "--distances", "-o", "c.csv")
    assert refused.code == 2
    assert "PCA takes rows" in refused.err


def test_labels_that_are_no_classes_color_the_map_only(lowd_command):
    ended = lowd_command("pca", "data.csv", "--label", "x4", "--drop", "class", "--json")
    assert ended.code == 0, ended.err
    measures = json.loads(ended.out)["quality"]["measures"]
    assert "trustworthiness" in measures
    assert "knn_accuracy" not in measures


def test_strings_by_edit_distance(lowd_command):
    words = ["cat", "cats", "cut", "cast", "dogma", "dogmas", "digma", "dogman"]
    Path("words.txt").write_text("\n".join(words))
    ended = lowd_command("classical-mds", "words.txt", "--model", "m.lowd", "-o", "map.csv")
    assert ended.code == 0, ended.err
    Y = coordinates("map.csv", "classicalmds")
    near = ((Y[:, None] - Y[None]) ** 2).sum(-1) + 1e9 * np.eye(8)
    assert all((near[i].argmin() < 4) == (i < 4) for i in range(8))
    Path("new.txt").write_text("cat\ndogma\n")
    assert lowd_command("transform", "new.txt", "--model", "m.lowd", "-o", "n.csv").code == 0
    np.testing.assert_allclose(coordinates("n.csv", "classicalmds"), Y[[0, 4]], atol=1e-8)


def test_standard_input_and_output(lowd_command, monkeypatch):
    class In:
        buffer = io.BytesIO(Path("data.csv").read_bytes())

    monkeypatch.setattr(sys, "stdin", In)
    ended = lowd_command("pca", "-", "--format", "csv")
    assert ended.code == 0, ended.err
    only()
    rows = list(csv.DictReader(io.StringIO(ended.out)))
    assert len(rows) == 90
    assert "pca1" in rows[0]
    assert (
        "--json takes standard output" in lowd_command("pca", "data.csv", "--json", "-o", "-").err
    )


def test_json_is_one_document_and_all_else_is_on_standard_error(lowd_command):
    ended = lowd_command("pca", "data.csv", "--json", "-o", "map.csv")
    document = json.loads(ended.out)
    assert document["method"] == "PCA"
    assert (document["n_samples"], document["n_components"]) == (90, 2)
    assert document["files"] == {"output": "map.csv"}
    assert 0.5 < document["quality"]["measures"]["trustworthiness"]["value"] <= 1
    assert document["notes"]
    assert all(note in ended.err for note in document["notes"])


def test_every_column_is_shown_with_what_changes_it(lowd_command):
    rows = "".join(f"{i % 5},{2000 + i},{i / 7}\n" for i in range(20))
    Path("t.csv").write_text("firm,year,a\n" + rows)
    ended = lowd_command("read", "t.csv")
    assert ended.code == 0, ended.err
    assert ended.err.startswith("t.csv: 20 rows, 3 columns, comma-separated, header in line 1")
    assert "firm=KIND" in ended.out
    Path("i.csv").write_text("id,a,b\n" + "".join(f"{i % 15},{i / 7},{i % 9}\n" for i in range(30)))
    assert "id=KIND" in lowd_command("read", "i.csv").out.replace("\n", "")  # a name, no parameter
    ended = lowd_command("read", "t.csv", "--drop", "firm")
    assert "No map: one feature is left, 'a'" in ended.out
    found = json.loads(lowd_command("read", "t.csv", "--json").out)
    assert next(iter(found)) == "reading"
    assert [c["kind"] for c in found["reading"]["columns"]] == ["code", "year", "quantity"]
    assert lowd_command("map", "t.csv", "--drop", "firm", "-o", "m.csv").code == 3
    assert lowd_command("map", "t.csv", "--kind", "firm=quantity", "-o", "m.csv").code == 0
    ended = lowd_command("pca", "t.csv", "--gower", "-o", "p.csv")
    assert "words beside the rows (--no-gower)" in ended.err
    args = ("pca", "t.csv", "--encode", "--report", "r.html", "-o", "p.csv")
    assert lowd_command(*args).code == 0
    assert "How the file was read" in Path("r.html").read_text()


@pytest.mark.parametrize("word", ["pca", "map"])
def test_what_is_read_is_not_replaced(lowd_command, word):
    before = Path("data.csv").read_bytes()
    ended = lowd_command(word, "data.csv", "-o", "./data.csv", "--force")
    assert ended.code == 2
    assert "is what is read; name another file" in ended.err
    assert Path("data.csv").read_bytes() == before


def test_quiet_says_nothing(lowd_command):
    assert lowd_command("pca", "data.csv", "-q") == (0, "", "")


def test_warnings_of_the_library_are_sentences(lowd_command):
    ended = lowd_command("isomap", "data.csv", "--n-neighbors", 4, "--json")
    assert ended.code == 0
    assert "warning: " in ended.err
    assert any("components" in sentence for sentence in json.loads(ended.out)["warnings"])


def test_new_rows_get_the_preparation_of_the_old_ones(lowd_command):
    """Columns by name in any order, standardized by the training rows' numbers."""
    lowd_command("isomap", "data.csv", "--standardize", "--model", "m.lowd", "-o", "map.csv")
    rows = columns("data.csv")
    with open("new.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["x4", "x3", "noise", "x2", "x1", "x0"])
        for i in range(5):
            writer.writerow(
                [rows["x4"][i], rows["x3"][i], 7, *(rows[f"x{j}"][i] for j in (2, 1, 0))]
            )
    ended = lowd_command("transform", "new.csv", "--model", "m.lowd", "-o", "new-map.csv")
    assert ended.code == 0, ended.err
    np.testing.assert_allclose(
        coordinates("new-map.csv", "isomap"), coordinates("map.csv", "isomap")[:5], atol=1e-9
    )
    with open("short.csv", "w") as file:
        file.write("x0,x1\n1,2\n3,4\n")
    ended = lowd_command("transform", "short.csv", "--model", "m.lowd", "-o", "s.csv")
    assert ended.code == 3
    assert "x2" in ended.err


def test_confidence_of_new_rows(lowd_command):
    lowd_command("pca", "data.csv", "--model", "m.lowd", "-o", "map.csv")
    near = [columns("data.csv")[f"x{i}"][0] for i in range(5)]
    Path("new.csv").write_text("x0,x1,x2,x3,x4\n" + ",".join(near) + "\n" + "900,900,900,900,900\n")
    ended = lowd_command("transform", "new.csv", "--model", "m.lowd", "--confidence", "--json")
    assert ended.code == 0, ended.err
    inside, outside = map(float, columns("new-transform.csv")["confidence"])
    assert inside > 0.5 > 0.01 > outside
    assert json.loads(ended.out)["doubtful_rows"] == 1


def test_map_chooses_and_says_why(lowd_command):
    ended = lowd_command("map", "data.csv", "--json")
    document = json.loads(ended.out)
    assert document["method"] in lowd.methods.METHODS
    assert document["reason"] in ended.err
    assert coordinates("data-map.csv", document["method"].lower()).shape == (90, 2)


def test_diagnose(lowd_command):
    ended = lowd_command("diagnose", "data.csv", "--json")
    assert json.loads(ended.out)["recommendations"]
    assert "Recommended" in lowd_command("diagnose", "data.csv").out
    only()


def test_evaluate_finds_the_coordinates_and_the_rows(lowd_command):
    """The file of the embedding has identifiers, classes and trust too; its rows are shuffled."""
    lowd_command("pca", "data.csv", "-o", "map.csv")
    lines = Path("map.csv").read_text().splitlines()
    Path("shuffled.csv").write_text("\n".join([lines[0], *lines[:0:-1]]) + "\n")
    direct = lowd.evaluate(numbers(), lowd.PCA(2).fit_transform(numbers()), n_neighbors=15)
    for name in ("map.csv", "shuffled.csv"):
        found = json.loads(lowd_command("evaluate", "data.csv", name, "--json").out)
        for measure in ("trustworthiness", "continuity", "scale_normalized_stress"):
            value = found["measures"][measure]["value"]
            assert value == pytest.approx(float(direct.measures[measure]), abs=1e-9)
    short = Path("short.csv")
    short.write_text("\n".join(lines[:30]) + "\n")
    ended = lowd_command("evaluate", "data.csv", short)
    assert ended.code == 3
    assert "29 rows" in ended.err


def test_compare(lowd_command):
    ended = lowd_command("compare", "data.csv", "--methods", "pca,lle", "--json", "--plot", "c.png")
    assert ended.code == 0, ended.err
    assert {"PCA", "LocallyLinearEmbedding"} <= set(re.findall(r"\w+", ended.out))
    assert Path("c.png").read_bytes()[1:4] == b"PNG"
    assert lowd_command("compare", "data.csv", "--methods", "pca,phate").code == 2


def test_dimension(lowd_command):
    found = json.loads(lowd_command("dimension", "data.csv", "--json").out)
    assert found["suggestions"]


@pytest.mark.parametrize("command", ["dimension", "compare", "evaluate"])
def test_notes_name_columns_and_flags(lowd_command, command):
    """The measures know numbers of columns and Python; the file has names, and a command flags."""
    X = np.random.default_rng(0).normal(size=(60, 4)) * [1, 1, 1, 500]
    np.savetxt("wide.csv", X, delimiter=",", header="age,hue,ash,proline", comments="")
    more = {"compare": ["--methods", "pca,mds"], "evaluate": ["map.csv"]}.get(command, [])
    lowd_command("pca", "wide.csv", "--no-standardize", "-o", "map.csv")
    out = lowd_command(command, "wide.csv", *more, "--no-standardize").out
    assert "column 'proline'" in out
    assert "--standardize" in out
    assert not re.search(r"column 3|scale=True|StandardScaler", out)


def test_methods_and_info(lowd_command):
    found = json.loads(lowd_command("methods", "--json").out)["methods"]
    assert [row["command"] for row in found] == list(METHOD_COMMANDS)
    assert all(row["summary"] and row["use"] and row["cost"] for row in found)
    lowd_command("pca", "data.csv", "--standardize", "--model", "m.lowd", "-o", "map.csv")
    made = json.loads(lowd_command("info", "m.lowd", "--json").out)
    assert (made["method"], made["n_samples"], made["standardized"]) == ("PCA", 90, True)
    assert made["columns"] == [f"x{i}" for i in range(5)]


def test_the_python_of_a_report_makes_the_same_map(lowd_command):
    ended = lowd_command(
        *("isomap", "data.csv", "--columns", "x*", "--drop", "x1", "--every", 2, "--standardize"),
        *("--n-neighbors", 12, "--seed", 3, "--report", "r.html", "-o", "map.npy"),
    )
    assert ended.code == 0, ended.err
    page = Path("r.html").read_text()
    code = html.unescape(re.search(r"<h3>Python</h3><pre><code>(.*?)</code>", page, re.S)[1])
    names = {}
    exec(code.replace("print(", "("), names)
    assert names["X"].shape == (45, 4)
    np.testing.assert_allclose(names["Y"], np.load("map.npy"), atol=1e-9)


@pytest.fixture
def drawn(monkeypatch):
    """The axes that are saved."""
    from lowd import plot

    saved = []
    save = plot.save
    monkeypatch.setattr(plot, "save", lambda ax, *options: saved.append(ax) or save(ax, *options))
    return saved


def test_the_plot_says_what_it_shows(lowd_command, folder, drawn):
    assert lowd_command("pca", "data.csv", "--label", "class", "--plot", "map.svg").code == 0
    (ax,) = drawn
    assert ax.get_title() == "PCA of data.csv"
    assert re.fullmatch(r"PC1 \(\d+ %\)", ax.get_xlabel())
    assert re.fullmatch(r"PC2 \(\d+ %\)", ax.get_ylabel())
    assert ax.get_legend().get_title().get_text() == "class"
    assert not ax.texts  # 90 names do not fit
    lines = (folder / "data.csv").read_text().splitlines()[:13]
    (folder / "few.csv").write_text("\n".join(lines))
    few = ("few.csv", "--id", "id", "--label", "class", "--plot", "few.svg", "-o", "few.npy")
    assert lowd_command("pca", *few).code == 0
    assert {text.get_text() for text in drawn[1].texts} >= {"row0", "row11"}


def test_the_plot_of_images_shows_them(lowd_command, folder, drawn):
    Image = pytest.importorskip("PIL.Image")
    (folder / "images").mkdir()
    rng = np.random.default_rng(0)
    for i in range(12):
        pixels = rng.integers(0, 256, (8, 8), np.uint8)
        Image.fromarray(pixels).save(folder / "images" / f"{i:02}.png")
    assert lowd_command("pca", "images", "--plot", "map.png").code == 0
    assert len(drawn[0].images) > 6


def test_plot_and_report(lowd_command):
    ended = lowd_command("pca", "data.csv", "--plot", "map.svg", "--report", "r.html")
    assert ended.code == 0, ended.err
    only("data-pca.csv", "map.svg", "r.html")
    page = Path("r.html").read_text()
    assert "lowd pca data.csv --plot map.svg --report r.html" in page
    assert "row89" in page


def test_columns_are_called_by_their_names_and_scaled_maps_are_judged_so(lowd_command):
    """A method sees numbers of columns; whoever has a file sees their names."""
    table = columns("data.csv")
    table["x3"] = [str(1e4 * float(value)) for value in table["x3"]]
    with open("units.csv", "w", newline="") as file:
        csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])
    ended = lowd_command("pca", "units.csv", "--no-standardize")
    assert "warning: column 'x3' has 100.0% of the variance" in ended.err
    assert "* column 'x3' accounts for 100.0% of the variance" in ended.out
    ended = lowd_command("pca", "units.csv", "--no-standardize", "--scale", "--force", "--json")
    assert json.loads(ended.out)["quality"]["measures"]["trustworthiness"]["value"] > 0.9
    assert "of the variance" not in ended.err
