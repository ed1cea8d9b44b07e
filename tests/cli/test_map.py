"""`lowd map FILE` with no flag: it acts on what `lowd diagnose` finds, and says so."""

from __future__ import annotations

import csv
import json
import re

import numpy as np
import pytest

import lowd

pytestmark = pytest.mark.usefixtures("folder")


def write(path, table):
    with open(path, "w", newline="") as file:
        csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])


def customers(n=240, seed=0):
    """Two groups by age and visits; zip and identifiers are larger than all else."""
    rng = np.random.default_rng(seed)
    group = np.arange(n) % 2
    return {
        "customer_id": 100_000 + rng.permutation(n),
        "name": [f"customer {i}" for i in range(n)],
        "zip": rng.integers(10_000, 99_999, n),
        "age": np.round(25 + 30 * group + 3 * rng.normal(size=n), 1),
        "visits": np.round(2 + 8 * group + rng.normal(size=n), 2),
        "income": np.round(rng.lognormal(10, 1.2, n)),
        "country": ["DE"] * n,
        "one": np.ones(n),
        "years": (years := np.round(5 + rng.normal(size=n), 2)),
        "years_again": years,
        "segment": np.array(["low", "high"])[group],
    }, group


def read_rows(path):
    with open(path, newline="") as file:
        return list(csv.DictReader(file))


def coordinates(row):
    return [float(value) for name, value in row.items() if re.fullmatch(r"\D+[01]", name)]


def run_map(lowd_command, *args):
    ended = lowd_command("map", *args, "--json", "--model", "m.lowd", "-o", "map.csv", "--force")
    assert ended.code == 0, ended.err
    return json.loads(ended.out), ended.err


def test_customers_are_not_mapped_by_their_zip_code(lowd_command):
    table, group = customers()
    write("customers.csv", table)
    found, err = run_map(lowd_command, "customers.csv")
    assert found["n_features"] == 4  # age, visits, income, years
    assert found["steps"]["scale"] is True
    assert found["steps"]["log1p"] == [2]
    assert re.search("Kept beside: .*'zip' .identifier.*'country', 'one' .constant", err)
    assert "left out (--keep years_again" in err
    assert "--no-standardize undoes it" in err
    assert "--no-log1p undoes it" in err
    rows = read_rows("map.csv")
    assert rows[0]["customer_id"] == str(table["customer_id"][0])
    assert "zip" in rows[0]  # beside the map
    Y = np.array([coordinates(row) for row in rows])
    means = np.array([Y[group == g].mean(0) for g in (0, 1)])
    within = np.mean([Y[group == g].std(0).mean() for g in (0, 1)])
    assert np.linalg.norm(means[0] - means[1]) > 1.5 * within


def test_rows_are_not_to_be_dropped_if_most_have_a_missing_value(lowd_command):
    table, _ = customers()
    row = np.arange(len(table["age"]))
    for part, name in enumerate(("age", "visits", "years")):
        table[name] = np.where(row % 4 == part, np.nan, table[name])
    write("customers.csv", table)
    assert "--missing error undoes it" in run_map(lowd_command, "customers.csv")[1]
    columns = ("--columns", "age,visits,years", "--missing", "error")
    ended = lowd_command("pca", "customers.csv", *columns)
    assert "Fill them with the column's mean (--missing mean)" in ended.err
    assert "--missing drop" not in ended.err


def test_the_saved_chain_takes_raw_rows(lowd_command):
    table, _ = customers()
    table["age"][3] = np.nan
    write("customers.csv", table)
    _, err = run_map(lowd_command, "customers.csv")
    assert "--missing drop undoes it" in err
    new = {n: v[:5] for n, v in table.items() if n not in ("zip", "one", "years_again", "name")}
    write("new.csv", new)
    ended = lowd_command("transform", "new.csv", "--model", "m.lowd", "-o", "new-map.csv")
    assert ended.code == 0, ended.err
    for row, mapped in zip(read_rows("map.csv"), read_rows("new-map.csv"), strict=False):
        np.testing.assert_allclose(coordinates(mapped), coordinates(row), atol=1e-9)
    model = lowd.load("m.lowd")
    assert model.impute == "mean"
    assert list(model.prepared_["columns"]) == ["age", "visits", "income", "years"]


def test_the_saved_model_has_learned_its_confidence(lowd_command):
    """From rows that one more fit leaves out; of many rows a general curve is said to be used."""
    write("customers.csv", customers()[0])
    run_map(lowd_command, "customers.csv")
    model = lowd.load("m.lowd")
    assert "each left out of one more fit" in model.method_.confidence_basis_


def test_what_was_undone_is_not_done(lowd_command):
    table, _ = customers()
    write("customers.csv", table)
    flags = ("--keep", "zip,one,years_again,customer_id", "--no-standardize", "--no-log1p")
    found, err = run_map(lowd_command, "customers.csv", *flags)
    assert found["steps"] == {}
    assert found["n_features"] == 8
    assert "undoes it" not in err


def test_measurements_in_different_units_are_scaled(lowd_command):
    rng = np.random.default_rng(0)
    radius = rng.normal(14, 3, 200)
    table = {"radius": radius, "texture": rng.normal(19, 4, 200), "area": 3.14 * radius**2}
    table |= {"smoothness": rng.normal(0.1, 0.01, 200), "worst_area": 4 * radius**2}
    table |= {"symmetry": rng.normal(0.2, 0.03, 200)}
    write("cells.csv", table)
    found, err = run_map(lowd_command, "cells.csv")
    assert found["steps"] == {"scale": True}
    assert "columns scaled to standard deviation 1 (--no-standardize undoes it)" in err
    assert found["quality"]["measures"]["trustworthiness"]["value"] > 0.8


def test_quantities_that_would_hardly_count_are_scaled(lowd_command):
    """A clinical table: no column dominates, and three of ten are next to nothing."""
    rng = np.random.default_rng(0)
    spreads = {"age": 13, "sex": 0.5, "mass": 4.4, "pressure": 14, "lipids": 35, "fat": 30}
    spreads |= {"salt": 13, "ratio": 1.3, "log": 0.5, "glucose": 11}
    table = {name: spread * rng.normal(size=200) for name, spread in spreads.items()}
    write("clinic.csv", table)
    found, err = run_map(lowd_command, "clinic.csv")
    assert found["steps"] == {"scale": True}
    assert re.search(r"column 'lipids' is \d+ times that of column '(sex|log)'", err)


def test_an_outcome_is_no_feature(lowd_command):
    rng = np.random.default_rng(0)
    table = {"age": rng.normal(size=90), "weight": rng.normal(size=90)}
    write("named.csv", {**table, "progression": rng.integers(25, 346, 90)})
    _, err = run_map(lowd_command, "named.csv")
    assert "Label: 'progression'." in err
    assert read_rows("map.csv")[0]["progression"]
    assert "No column was taken as the label" not in err
    write("unknown.csv", {**table, "price": rng.integers(25, 346, 90)})
    _, err = run_map(lowd_command, "unknown.csv")
    assert "No column was taken as the label: all of them count." in err
    assert "name it (--label)" in err


def test_persons_are_classes_and_not_a_scale(lowd_command):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(25), 4)
    np.savez("faces.npz", X=rng.normal(size=(25, 8))[y] + 0.1 * rng.normal(size=(100, 8)), y=y)
    found, _ = run_map(lowd_command, "faces.npz")
    assert "knn_accuracy" in found["quality"]["measures"], found["quality"]["measures"].keys()


def test_pixels_have_one_unit(lowd_command):
    rng = np.random.default_rng(0)
    names = [f"px{j}" for j in range(30)]
    X = rng.integers(0, 256, size=(80, 30)) * np.r_[np.full(2, 1.0), np.full(28, 0.05)]
    write("pixels.csv", dict(zip(names, X.T, strict=True)))
    found, err = run_map(lowd_command, "pixels.csv")
    assert "scale" not in found["steps"]
    assert "undoes it" not in err


def counts(n=150, d=300):
    rng = np.random.default_rng(0)
    group = np.arange(n) % 3
    rates = rng.gamma(0.2, size=d) * np.where(rng.random((3, d)) < 0.1, 8, 1)
    totals = rng.uniform(0.2, 5, size=(n, 1))
    return rng.poisson(rates[group] * totals), group


def test_counts_are_normalized_and_reduced_first(lowd_command):
    X, group = counts()
    np.save("cells.npy", X)
    found, err = run_map(lowd_command, "cells.npy")
    steps = found["steps"]
    assert steps["normalize"]
    assert steps["log1p"]
    assert 10 <= steps["pca"] <= 50
    assert "--no-normalize --no-log1p undoes it" in err
    assert "--pca none undoes it" in err
    Y = lowd.load("m.lowd").transform(X.astype(float))  # raw counts
    near = np.argsort(((Y[:, None] - Y) ** 2).sum(-1), 1)[:, 1:6]
    assert (group[near] == group[:, None]).mean() > 0.9


def test_genotypes_get_components_first_and_a_caution(lowd_command):
    rng = np.random.default_rng(0)
    p = np.clip(rng.uniform(0.1, 0.9, 800) + 0.1 * rng.normal(size=(3, 800)), 0.05, 0.95)
    X = rng.binomial(2, p[np.arange(90) % 3]).astype(np.int8)
    X[rng.random(X.shape) < 0.02] = -1
    np.save("people.npy", X)
    found, err = run_map(lowd_command, "people.npy", "--correct-shrinkage")
    assert found["steps"] == {
        "impute": "mean",
        "scale": True,
        "pca": 2,
        "correct_shrinkage": True,
    }
    assert "Tracy and Widom" in err
    assert "missing genotype" in err
    ended = lowd_command("diagnose", "people.npy")
    assert "shrink toward 0" in ended.out
    slopes = lowd.load("m.lowd").shrinkage_slopes_
    assert ((slopes > 0.2) & (slopes < 1)).all()


def test_steps_of_a_method_of_choice(lowd_command):
    X, _ = counts()
    np.save("cells.npy", X)
    args = ("--normalize", "--log1p", "--pca", 12, "--model", "m.lowd", "-o", "map.csv")
    ended = lowd_command("isomap", "cells.npy", *args)
    assert ended.code == 0, ended.err
    model = lowd.load("m.lowd")
    assert model.get_steps() == {"normalize": True, "log1p": True, "pca": 12}
    ended = lowd_command("isomap", "cells.npy", "--pca", "many", "--force")
    assert ended.code == 2
    assert "--pca many: expected a number of components, or none" in ended.err


def test_missing_values_are_diagnosed_and_the_remedy_fits(lowd_command):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100, 30))
    X[rng.random(X.shape) < 0.1] = np.nan  # 4 rows are complete
    X[:80, 7] = np.nan
    write("gaps.csv", {f"gene {j} of": X[:, j] for j in range(30)})
    ended = lowd_command("diagnose", "gaps.csv")
    assert ended.code == 0, ended.err
    assert "missing (NaN), in" in ended.out
    assert "Kept beside: 'gene 7 of' (83% missing)." in ended.err
    X[:, 7] = 0.5 * X[:, 6]
    X[:, 6] = np.nan_to_num(X[:, 6])
    found = lowd.diagnose(np.where(np.isnan(X[:, 7:8]), np.nan, X))
    left = int(np.isfinite(X).all(1).sum())
    assert f"would leave {left} of 100" in found.about("missing")[0].remedy
    found, err = run_map(lowd_command, "gaps.csv")
    assert found["n_samples"] == 100
    assert found["n_features"] == 29
    assert "filled with the mean" in err


def test_text_alone_is_compared_by_gower(lowd_command):
    words = np.array(["red", "green", "blue"])
    table = {f"w{j}": words[(np.arange(60) * (j + 3)) % 3] for j in range(3)}
    table["kind"] = np.array(["a", "b"])[np.arange(60) % 2]
    write("words.csv", table)
    ended = lowd_command("map", "words.csv", "-o", "map.csv")
    assert ended.code == 0, ended.err


def test_missing_values_of_new_rows_are_filled_by_the_training_rows(lowd_command):
    """`--missing mean` filled new rows with the means of their own file."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 3))
    X[5, 1] = np.nan
    write("gaps.csv", {f"m{j}": X[:, j] for j in range(3)})
    args = ("--missing", "mean", "--model", "m.lowd", "-o", "map.csv")
    assert lowd_command("pca", "gaps.csv", *args).code == 0
    write("new.csv", {f"m{j}": X[5:7, j] + [0, 100] for j in range(3)})
    args = ("--missing", "mean", "--model", "m.lowd", "-o", "new-map.csv")
    assert lowd_command("transform", "new.csv", *args).code == 0
    mapped = coordinates(read_rows("new-map.csv")[0])
    np.testing.assert_allclose(mapped, coordinates(read_rows("map.csv")[5]), atol=1e-9)
    ended = lowd_command("evaluate", "gaps.csv", "map.csv", "--missing", "mean")
    assert ended.code == 0, ended.err


def penguins(n=150):
    """Four measurements with gaps, classes, text and the year of the study."""
    rng = np.random.default_rng(0)
    kind = np.arange(n) % 3
    table = {"species": np.array(["Adelie", "Chinstrap", "Gentoo"])[kind]}
    table["island"] = np.array(["Biscoe", "Dream"])[rng.integers(0, 2, n)]
    for name, middle, step, spread in (
        ("bill_length_mm", 38, 5, 2.5),
        ("bill_depth_mm", 18, -1.5, 1),
        ("flipper_length_mm", 190, 12, 6),
        ("body_mass_g", 3700, 600, 400),
    ):
        table[name] = np.round(middle + step * kind + spread * rng.normal(size=n), 1)
    table["body_mass_g"][3] = np.nan
    table["sex"] = np.array(["male", "female"])[rng.integers(0, 2, n)]
    return table


def quality(document):
    return {name: found["value"] for name, found in document["measures"].items()}


@pytest.mark.parametrize("word", ["map", "isomap", "pca"])
def test_a_map_is_evaluated_as_it_was_when_it_was_made(lowd_command, word):
    """The same file, the same preparation: .90 had become .74."""
    write("penguins.csv", penguins())
    made = lowd_command(word, "penguins.csv", "-o", "map.csv", "--json")
    assert made.code == 0, made.err
    again = lowd_command("evaluate", "penguins.csv", "map.csv", "--json")
    assert again.code == 0, again.err
    assert quality(json.loads(again.out)) == pytest.approx(
        quality(json.loads(made.out)["quality"]), abs=1e-6
    )


def test_what_map_takes_every_command_takes(lowd_command):
    write("penguins.csv", penguins())
    found = json.loads(lowd_command("dimension", "penguins.csv", "--json").out)
    assert found["suggestions"]["variance_90"] > 1  # as of mass alone
    ended = lowd_command("compare", "penguins.csv", "--methods", "pca,isomap", "--json")
    runs = {run["name"]: run for run in json.loads(ended.out)["runs"]}
    made = json.loads(lowd_command("pca", "penguins.csv", "-o", "map.csv", "--json").out)
    ours, theirs = quality(made["quality"]), quality(runs["PCA"])
    assert ours["trustworthiness"] == pytest.approx(theirs["trustworthiness"], abs=1e-6)
    assert ours["trustworthiness"] < 0.999


def test_text_alone_is_taken_by_every_command(lowd_command):
    rng = np.random.default_rng(0)
    colors = np.array(["red", "green", "blue", "gray"])
    table = {f"answer{j}": colors[rng.integers(0, 4, 70)] for j in range(5)}
    write("answers.csv", table)
    assert lowd_command("map", "answers.csv", "-o", "map.csv").code == 0
    for command in (
        ["evaluate", "answers.csv", "map.csv"],
        ["compare", "answers.csv", "--methods", "isomap,classical-mds"],
        ["dimension", "answers.csv"],
    ):
        ended = lowd_command(*command)
        assert ended.code == 0, ended.err


def test_it_says_what_was_chosen_and_by_how_much(lowd_command):
    write("penguins.csv", penguins())
    ended = lowd_command("map", "penguins.csv", "-o", "map.csv")
    (line,) = (line for line in ended.err.splitlines() if line.startswith("Chosen: "))
    assert re.match(r"Chosen: [\w-]+\. It keeps \d+ % of the neighborhoods", line)


def test_two_columns_are_the_map(lowd_command):
    rng = np.random.default_rng(0)
    table = {"age": rng.normal(40, 9, 80), "fare": rng.lognormal(3, 0.4, 80)}
    write("two.csv", table)
    found, err = run_map(lowd_command, "two.csv", "--plot", "two.svg")
    assert found["method"] == "Columns"
    assert found["quality"]["measures"]["trustworthiness"]["value"] == 1
    assert "Two columns need no map" in err
    Y = np.array([coordinates(row) for row in read_rows("map.csv")])
    assert abs(np.corrcoef(Y[:, 0], table["age"])[0, 1]) == pytest.approx(1)
    write("new.csv", {name: column[:4] for name, column in table.items()})
    ended = lowd_command("transform", "new.csv", "--model", "m.lowd", "-o", "new-map.csv")
    assert ended.code == 0, ended.err
    np.testing.assert_allclose([coordinates(row) for row in read_rows("new-map.csv")], Y[:4])


def test_ties_are_broken_alike_when_a_map_is_evaluated(lowd_command):
    """Sums of columns in another order of memory changed neighbors at equal distances."""
    rng = np.random.default_rng(0)
    table = {"rate": rng.integers(0, 9, 90), "wage": 37 * rng.integers(0, 7, 90)}
    table |= {"gap": rng.integers(0, 5, 90) / 3, "one": ["same"] * 90, "key": [5] * 90}
    write("ties.csv", table)
    made = lowd_command("pca", "ties.csv", "--label", "one", "-o", "map.csv", "--json")
    again = lowd_command("evaluate", "ties.csv", "map.csv", "--label", "one", "--json")
    assert again.code == 0, again.err
    assert quality(json.loads(again.out)) == quality(json.loads(made.out)["quality"])


def test_places_keep_their_scale(lowd_command):
    """Latitude and longitude are one thing: degrees."""
    rng = np.random.default_rng(0)
    table = {"longitude": rng.uniform(5, 40, 60), "latitude": rng.uniform(50, 54, 60)}
    write("towns.csv", table)
    found, _ = run_map(lowd_command, "towns.csv")
    assert found["method"] == "Columns"
    assert found["steps"] == {}
    Y = np.array([coordinates(row) for row in read_rows("map.csv")])
    np.testing.assert_allclose(np.sort(Y.std(0)), np.sort([table[n].std() for n in table]))
