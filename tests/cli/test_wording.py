"""Messages of the command name flags, columns, values and files as the user knows them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from lowd.cli.wording import Wording

pytestmark = pytest.mark.usefixtures("folder")


WORDED = [
    ("fill them (missing='mean')", "fill them (--missing mean)"),
    ("leave it out (drop='x 1')", "leave it out (--drop 'x 1')"),
    ("see columns= and drop=.", "see --columns and --drop."),
    ("(another one: id=...).", "(another one: --id)."),
    ("n_neighbors=9 exceeds n_samples=5.", "--n-neighbors 9 exceeds n_samples=5."),
    ("Isomap(n_neighbors=None) needs", "--n-neighbors none needs"),
    ("Lower n_neighbors, or", "Lower --n-neighbors, or"),
    ("use a smaller n_neighbors.", "use a smaller --n-neighbors."),
    ("metric_params={'p': 0}: no", "--metric-params '{\"p\": 0}': no"),
    ("distances=False reads rows", "--no-distances reads rows"),
    ("resize them: size=(32, 32).", "resize them: --size 32x32."),
    ("try PCA(n_components=3, scale=True)", "try lowd pca --n-components 3 --scale"),
    ("Pipeline(scale=True, pca=...)", "--standardize --pca"),
    (
        "Pipeline(TSNE(n_components=2), scale=True): x",
        "lowd tsne --n-components 2 --standardize: x",
    ),
    ("Pipeline(PCA(), impute='mean')", "lowd pca --missing mean"),
    ("by ClassicalMDS(metric='gower').", "by lowd classical-mds --gower."),
    ("random_state=3 is", "--seed 3 is"),
    ("smaller (size=(width, height)) or", "smaller (--size widthxheight) or"),
    ("pass text by columns={...}.", "pass text by --columns '{...}'."),
    ("Take logarithms: Pipeline(log1p=[...]).", "Take logarithms: --log1p."),
    ("lowd.evaluate(X, model) takes rows", "lowd.evaluate(X, model) takes rows"),
    ("an open call Isomap(n_neighbors=", "an open call Isomap(n_neighbors="),
    ("PCA(2) of a\0b=(missing='mean\0')", "PCA(2) of a\0b=(missing='mean\0')"),
    ("column 'n_neighbors' in a/max_iter=3.csv", "column 'n_neighbors' in a/max_iter=3.csv"),
    ("explained_variance_ratio_ of n_features=3", "explained_variance_ratio_ of n_features=3"),
]


def test_parameters_become_flags():
    word = Wording(["missing"], "Isomap")
    for message, expected in WORDED:
        worded = word(message)
        assert worded == expected
        assert word(worded) == expected


def test_errors_and_notes_name_flags(lowd_command):
    Path("gap.csv").write_text("a,b\n1,2\n3,\n5,7\n")
    ended = lowd_command("pca", "gap.csv", "--missing", "error")
    assert "--missing mean" in ended.err
    assert "missing='mean'" not in ended.err
    ended = lowd_command("isomap", "data.csv", "--n-neighbors", 90)
    assert "use --n-neighbors 89 or less" in ended.err


def test_a_diagnosis_names_flags(lowd_command):
    rows = np.random.default_rng(0).normal(size=(90, 3)) * [1.0, 1.0, 1e4]
    np.savetxt("units.csv", rows, delimiter=",", header="a,b,large", comments="")
    shown = lowd_command("diagnose", "units.csv").out
    assert "lowd pca --scale" in shown
    assert "lowd pca --n-components 2 --standardize" in shown
    plain = lowd_command("dimension", "units.csv", "--no-standardize")
    assert "set --standardize" in plain.out


def test_warnings_name_flags(lowd_command):
    rows = np.arange(90.0)[:, None] * [0.1, 1e4]
    np.savetxt("units.csv", rows, delimiter=",", header="small,large", comments="")
    ended = lowd_command("pca", "units.csv", "--no-standardize")
    assert "set --scale" in ended.err, ended.err


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["tsne", "--perplexity", "abc"], "--perplexity 'abc': expected float > 0"),
        (["tsne", "--perplexity", "5,-1"], "--perplexity 5,-1: expected numbers > 0"),
        (["isomap", "--n-neighbors", "1.5"], "--n-neighbors '1.5': expected int >= 1"),
        (["compare", "--n-neighbors", "1.5"], "'1.5' is not a whole number"),
        (["pca", "--every", "x"], "'x' is not a whole number"),
    ],
)
def test_a_wrong_value_is_named(args, words, lowd_command):
    ended = lowd_command(args[0], "data.csv", *args[1:])
    assert ended.code == 2
    assert words in ended.err


def test_a_column_that_is_missing_is_called_missing(lowd_command):
    lowd_command("pca", "data.csv", "--model", "m.lowd", "-o", "map.csv")
    lines = Path("data.csv").read_text().splitlines()
    fewer = "\n".join(line.rpartition(",")[0] for line in lines)
    Path("fewer.csv").write_text(fewer)
    ended = lowd_command("transform", "fewer.csv", "--model", "m.lowd")
    assert ended.code == 3
    assert "fewer.csv: 1 column that the model needs is missing: 'x4'" in ended.err


def test_what_messages_name_can_be_typed(lowd_command):
    """--no-distances and --array: notes and errors of reading advise them."""
    D = np.abs(np.subtract.outer(np.arange(9.0), np.arange(9.0) ** 2))
    np.savez("two.npz", first=D + D.T, second=np.random.default_rng(0).normal(size=(30, 3)))
    assert "--array" in lowd_command("pca", "two.npz").err
    assert lowd_command("pca", "two.npz", "--array", "second").code == 0
    np.savetxt("plain.csv", np.random.default_rng(0).normal(size=(30, 3)), delimiter=",")
    assert lowd_command("pca", "plain.csv", "--no-header", "--no-distances").code == 0
