"""Tables as people have them: what was misread without a word is read, and said."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pandas as pd
import pytest

import lowd
from lowd.errors import ColumnTypeError, DataError
from lowd.io.layout import count_footer_lines, find_layout

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(60, 3)).round(3)


@pytest.fixture
def read(tmp_path):
    """Write text, or columns by name as CSV, and read it as `lowd map` does."""

    def run(content, name="t.csv", **options):
        path = tmp_path / name
        if not isinstance(content, str):
            content = pd.DataFrame(content).to_csv(index=False)
        path.write_text(content, encoding="utf-8")
        return lowd.io.read(path, **{"missing": "keep", **options})

    return run


def with_numbers(rows=60, **columns):
    """Three columns of measurements beside those that matter."""
    numbers = dict(zip("xyz", RNG.normal(size=(rows, 3)).round(3).T, strict=True))
    return {**columns, **numbers}


def kinds(table):
    return {c.name: c.kind for c in table.reading.columns}


def roles(table):
    return {c.name: c.role for c in table.reading.columns}


# -- the page --------------------------------------------------------------------------------------

ROWS = "x,1.5,2\ny,2.5,3\nz,3.5,4\n"
NAMES = ("name", "a", "b")
PAGES = {
    "sep": ("sep=;\nname;a;b\nx;1,5;2\ny;2,5;3\nz;3,5;4\n", NAMES, 3),
    "titles": ("Measurements of the summer\nby A. Person, 2020\n\nname,a,b\n" + ROWS, NAMES, 5),
    "titles with commas": ("Measurements,,\n,,\nname,a,b\n" + ROWS, NAMES, 4),
    "units": ("name,a,b\n,(mm),(kg)\n" + ROWS, NAMES, 3),
    "ruler": ("name,a,b\n---,---,---\n" + ROWS, NAMES, 3),
    "trailing delimiter": ("name,a,b\nx,1.5,2,\ny,2.5,3,\nz,3.5,4,\n", NAMES, 2),
    "trailing delimiter in header": ("name,a,b,\n" + ROWS, NAMES, 2),
    "equal names": ("name,a,a\n" + ROWS, ("name", "a", "a (2)"), 2),
    "years": ("country,1990,1991\nA,1,2\nB,2,3\nC,4,3\n", ("country", "1990", "1991"), 2),
    "numbered": ("0,1,2\n1.5,2.5,.1\n1.3,2,4.2\n1,2,3\n", ("0", "1", "2"), 2),
    "numbered and a label": ("0,1,label\n1.5,2.5,0\n1.3,2,1\n1,2,1\n", ("0", "1", "label"), 2),
    "a word that could be one": ("inf,gdp\n1.5,2.5\n1.3,2\n1,2\n", ("inf", "gdp"), 2),
    "no header": ("1.2,1,2\n1.5,2.5,.1\n1.3,2,4.2\n", ("x0", "x1", "x2"), 1),
    "two lines of names": (
        "name,2019,,2020,\n,men,women,men,women\nx,1,2,4,5\ny,2,3,5,6\nz,3,4,6,7\n",
        ("name", "2019 men", "2019 women", "2020 men", "2020 women"),
        3,
    ),
    "aligned": ("  a     b    c\n 1.5  22.5   3\n 11.5  2.5   3\n 1  2   3\n", ("a", "b", "c"), 2),
    "R": ('"a" "b"\n"1" 1 2\n"2" 2 2\n"3" 4 5\n', ("row", "a", "b"), 2),
    "comment header": ("# made today\n#id\ta\tb\nx\t1\t0\ny\t0\t4\n", ("id", "a", "b"), 3),
    "comments": ("# made by me\n# today\na,b\n1,2\n4,5\n", ("a", "b"), 4),
    "semicolons in text": ("name,a,b\nA,x; y; z,5\nB,x; y; z,6\nC,x; z; z,7\n", NAMES, 2),
    "pipes": ("name|a|b\nx|1.5|2\ny|2.5|3\n", NAMES, 2),
}


@pytest.mark.parametrize("page", PAGES)
def test_the_table_on_a_page_is_found(page):
    text, names, first = PAGES[page]
    layout = find_layout(text)
    assert (layout.names, layout.first) == (names, first)


def test_remarks_below_a_table_are_no_rows():
    rows = [["a", "1", "2"], ["b", "3", "4"], ["c", "", ""], ["c", "5", "6"]]
    assert count_footer_lines([*rows, ["Source: the office", "", None], ["", None, None]]) == 2
    assert count_footer_lines([*rows, ["c", None, None]]) == 0  # a row without values
    assert count_footer_lines(rows) == 0


def test_lines_above_can_be_named(read):
    text = "1,2,3\n4,5,6\nname,a,b\n" + ROWS
    assert read(text, skip=2).columns == ("a", "b")
    with pytest.raises(DataError, match="line 5: 2 fields where 3"):
        read("name,a,b\n" + ROWS + "u,v\n" + "w,7,8\n" + ROWS)


# -- columns ---------------------------------------------------------------------------------------

CELLS = {
    "decimal comma": (["1,5", "2,25", "3,75"], [1.5, 2.25, 3.75]),
    "thousands": (["3,283", "557", "12,345"], [3283, 557, 12345]),
    "thousandths": (["0,283", "0,557", "0,345"], [0.283, 0.557, 0.345]),
    "German": (["1.065,00", "557,10", "12.345,5"], [1065, 557.1, 12345.5]),
    "Swiss": (["1'065", "557", "12'345.5"], [1065, 557, 12345.5]),
    "dollars": (["$52,000", "$1,200.50", "$7"], [52000, 1200.5, 7]),
    "euros": (["5,20 €", "1,25 €", "7 €"], [5.2, 1.25, 7]),
    "percent": (["12 %", "3.5%", "-1%"], [12, 3.5, -1]),
    "units": (["12 kg", "3.5 kg", "1 kg"], [12, 3.5, 1]),
    "minus sign": (["−1.5", "2", "−3"], [-1.5, 2, -3]),
    "in parentheses": (["$5.5", "($2)", "$3"], [5.5, -2, 3]),
}


@pytest.mark.parametrize("form", CELLS)
def test_numbers_in_every_notation(read, form):
    cells, numbers = CELLS[form]
    table = read("value\tb\n" + "".join(f"{cell}\t{j}.5\n" for j, cell in enumerate(cells)))
    np.testing.assert_allclose(table.X[:, 0], numbers)


def test_a_mark_of_thousands_is_said_and_can_be_a_decimal_mark(read):
    text = "value\tb\n3,283\t1.5\n557\t2\n1,345\t3\n"
    assert "mark of thousands (decimal=',')" in read(text).describe()[0]
    assert read(text, decimal=",").X[0, 0] == 3.283


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([f"{j:06}" for j in range(1, 420, 7)], "identifier"),  # leading zeros
        ([str(10**20 + j * 7919**4) for j in range(60)], "identifier"),  # 21 digits
        (np.arange(60), "row number"),
        (1609459200 + 420 * np.arange(60), "time"),  # seconds since 1970
        (pd.date_range("2020-01-01", periods=60).strftime("%Y%m%d"), "date"),
        (pd.date_range("2020-01-01", periods=60).strftime("%b %Y"), "date"),
        (1950 + np.arange(60), "year"),
        (np.tile([2007, 2008, 2009], 20), "code"),  # says nothing of years without their name
        ([True, False] * 30, "yes or no"),
        (["yes", "no", "no"] * 20, "yes or no"),
        (np.full(60, 3.5), "constant"),
        ([None] * 60, "empty"),
        (["a", "b", "c"] * 20, "category"),
        ([f"person {j}" for j in range(60)], "name"),
        ([f"this is the long remark of row {j % 50}" for j in range(60)], "text"),
        (np.tile([0, 1, 2, 3], 15), "count"),
    ],
)
def test_kinds_by_content(read, cells, kind):
    found = kinds(read(with_numbers(w=cells)))["w"]
    assert found == kind or (kind == "code" and found == "quantity")


@pytest.mark.parametrize(
    ("name", "cells", "kind"),
    [
        ("year", np.tile([2007, 2008, 2009], 20), "year"),
        ("year", RNG.normal(size=60), "quantity"),  # a name alone decides nothing
        ("state", RNG.integers(1, 50, 60), "code"),
        ("state", RNG.normal(size=60).round(2), "quantity"),
        ("dcode", np.repeat(1010 * np.arange(1, 31), 2), "identifier"),
        ("schid", RNG.permutation(900)[:60] + 100, "identifier"),
        ("paid", RNG.permutation(900)[:60] + 100, "quantity"),
        ("population", RNG.integers(10_000, 9_000_000, 60), "quantity"),
        ("month", np.tile(np.arange(1, 13), 5), "time"),
        ("no", RNG.integers(5, 90, 60), "quantity"),  # no means number only if all differ
        ("lat", RNG.uniform(40, 50, 60).round(3), "quantity"),  # a latitude without its partner
    ],
)
def test_kinds_by_name_and_content(read, name, cells, kind):
    assert kinds(read(with_numbers(**{name: cells})))[name] == kind


def test_latitude_and_longitude_belong_together(read):
    table = read(with_numbers(lat=RNG.uniform(40, 50, 60), long=RNG.uniform(0, 9, 60)))
    assert kinds(table)["lat"] == "latitude"
    assert kinds(table)["long"] == "longitude"


def test_a_panel_names_whom_its_rows_belong_to(read):
    firm, year = 7 + np.repeat(np.arange(6), 10) * 13, np.tile(1990 + np.arange(10), 6)
    table = read(with_numbers(plane=firm, year=year))
    assert (kinds(table)["plane"], kinds(table)["year"]) == ("code", "year")


def test_few_odd_cells_are_missing_and_many_are_an_error(read):
    table = with_numbers()
    table["x"] = [*map(str, table["x"][:-3]), "broken", "-", "n.a."]
    found = read(table)
    assert "'x': 'broken' in line 59 is no number, and taken as missing." in found.describe()[0]
    assert np.isnan(found.X[-3:, 0]).all()
    table["x"] = ["bad" if j % 4 == 0 else str(j / 7) for j in range(60)]
    with pytest.raises(ColumnTypeError, match=r"line 2, column 'x': 'bad' is not a number.*kind="):
        read(table)
    assert read(table, kind={"x": "category"}).columns == ("y", "z")
    assert np.isnan(read(table, kind={"x": "quantity"}).X[0, 0])
    table["x"] = [f"A/{j}" if j % 4 == 0 else str(j) for j in range(60)]  # tickets are codes
    assert kinds(read(table))["x"] == "name"


def test_sentinels_are_missing(read):
    table = with_numbers(age=RNG.integers(20, 80, 60))
    table["age"][::9] = 9999
    table["x"][::7] = -999
    found = read(table)
    assert np.isnan(found.X).sum() == 7 + 9
    assert "'age': 9999 (7 times) was taken as missing, as the others end at" in found.describe()[0]
    assert not np.isnan(read(with_numbers(score=np.arange(60) % 8 + 92)).X).any()  # 99 is a score


# -- roles -----------------------------------------------------------------------------------------


def test_identifiers_come_back_as_they_came(read):
    for cells in ([f"{j:06}" for j in range(60)], [str(10**20 + j * 7919**4) for j in range(60)]):
        assert read(with_numbers(id=cells)).ids.tolist() == cells
    beside = read(
        with_numbers(id=[f"r{j}" for j in range(60)], zip=[f"0{j:04}" for j in range(60)])
    )
    assert beside.extra["zip"][1] == "00001"


def test_a_name_is_a_better_identifier_than_a_number(read):
    table = read(with_numbers(row=np.arange(1, 61), name=[f"city {j}" for j in range(60)]))
    assert table.id_name == "name"


def test_labels_are_found_and_outcomes_are_no_features(read):
    assert read(with_numbers(**{"class": ["u", "v"] * 30})).label_name == "class"
    assert read(with_numbers(progression=RNG.uniform(20, 300, 60))).label_name == "progression"
    assert read(with_numbers(population=RNG.integers(10**4, 10**6, 60))).labels is None
    rows = "".join(f"{a},{b},{c},{j % 3}\n" for j, (a, b, c) in enumerate(NUMBERS.tolist()))
    table = read(rows)  # a class in a file without a header
    assert table.labels[:4].tolist() == [0, 1, 2, 0]
    assert "'x3' was taken as the label (label=...)" in table.describe()[-1]


def test_what_was_computed_from_others_is_kept_beside(read):
    age, year = RNG.integers(20, 70, 60), np.repeat([72, 74, 76], 20)
    table = read(with_numbers(year=year, age=age, agesq=age**2, y74=(year == 74) * 1))
    why = {c.name: c.why for c in table.reading.columns}
    assert why["agesq"] == "square of 'age'"
    assert why["y74"] == "marks one value of 'year'"
    assert table.columns == ("age", "x", "y", "z")


def test_words_are_compared_where_there_are_few_numbers(read):
    rows = {"grade": ["1st", "2nd", "3rd"] * 20, "sex": ["male", "female"] * 30}
    table = read({**rows, "age": RNG.uniform(1, 70, 60), "survived": [0, 1, 1] * 20})
    assert table.kind == "table"
    assert table.columns == ("grade", "sex", "age")
    assert table.label_name == "survived"


def test_rows_without_any_value_are_left_out_and_listed(read):
    table = with_numbers(40, type=["A", "B"] * 20)
    for name in "xyz":
        table[name][[3, 7]] = np.nan
    found = read(table)
    assert len(found) == 38
    assert found.describe()[-1] == "Left out: 2 rows without any value (lines 5, 9)."
    assert found.ids[:5].tolist() == [2, 3, 4, 6, 7]  # the lines tell the rows apart
    assert found.id_name == "line"
    table["x"][5] = np.nan
    dropped = read(table, missing="drop")
    assert dropped.ids[:5].tolist() == [2, 3, 4, 6, 8]
    assert "1 row with missing values (line 7)" in dropped.describe()[-1]


@pytest.mark.parametrize("part", ["whole", "lower"])
def test_correlations_are_recognized(read, part):
    R = np.corrcoef(RNG.normal(size=(6, 40))).round(3)
    np.fill_diagonal(R, 1)
    names = [f"length {j}" for j in range(6)]
    text = pd.DataFrame(R, index=names, columns=names)
    text = text if part == "whole" else text.where(np.tri(6, dtype=bool))
    table = read(text.to_csv())
    assert table.kind == "distances"
    assert table.ids.tolist() == names
    np.testing.assert_allclose(table.X, np.sqrt(2 - 2 * R), atol=1e-9)
    assert read(text.to_csv(), distances=False).kind == "rows"


def test_why_there_is_no_map_is_said(read):
    year = 1950 + np.arange(60)
    trouble = read({"year": year, "gdp": RNG.normal(size=60)}).reading.trouble
    assert "one feature is left, 'gdp'" in trouble
    assert "draw it against 'year'" in trouble
    assert "at least 4 rows; this table has 3" in read("a,b\n1,2\n3,1\n2,5\n").reading.trouble
    pairs = {"source": RNG.integers(0, 9, 60), "target": RNG.integers(0, 9, 60)}
    assert "edges of a graph" in read(pairs).reading.trouble
    with pytest.raises(DataError, match=r"'when': date.*keep="):
        read({"when": pd.date_range("2020-01-01", periods=9), "note": [f"n{j}" for j in range(9)]})


def test_what_a_person_says_counts(read):
    table = with_numbers(site=np.tile([1, 2, 3], 20), year=np.tile([7, 8], 30) + 2000)
    assert "site" not in read(table).columns
    assert "site" in read(table, keep="site").columns
    assert "site" in read(table, kind={"site": "quantity"}).columns
    assert read(table, label="year").labels[:2].tolist() == [2007, 2008]


def test_how_it_was_read_is_the_same_for_programs(read):
    table = read(with_numbers(site=np.tile([1, 2, 3], 20)))
    assert len(table.describe()) <= 3
    found = json.loads(json.dumps(table.reading.to_dict()))
    assert found["form"] == "comma-separated, header in line 1, decimal point"
    site = found["columns"][0]
    assert (site["name"], site["kind"], site["role"]) == ("site", "code", "beside")
    assert site["flag"] == "--keep site, --kind site=KIND"


# -- other files -----------------------------------------------------------------------------------


def test_a_sheet_is_read_whole_whatever_size_it_claims(tmp_path):
    """Rows beyond the size in the file were lost without a word."""
    pytest.importorskip("openpyxl", reason="the extra 'excel' is not installed")
    pd.DataFrame(NUMBERS, columns=list("abc")).to_excel(tmp_path / "whole.xlsx", index=False)
    with (
        zipfile.ZipFile(tmp_path / "whole.xlsx") as whole,
        zipfile.ZipFile(tmp_path / "small.xlsx", "w") as small,
    ):
        for name in whole.namelist():
            data = whole.read(name)
            if name.endswith("sheet1.xml"):
                assert b'ref="A1:C61"' in data
                data = data.replace(b'ref="A1:C61"', b'ref="A1:B9"')
            small.writestr(name, data)
    np.testing.assert_array_equal(lowd.io.read(tmp_path / "small.xlsx").X, NUMBERS)


@pytest.mark.parametrize("orient", ["records", "list", "dict", "wrapped", "lines"])
def test_records_in_json(tmp_path, orient):
    rows = [
        {"id": f"r{j}", "a": a, "b": b, "size": {"c": c}} for j, (a, b, c) in enumerate(NUMBERS)
    ]
    columns = {name: [row[name] for row in rows] for name in ("id", "a", "b")}
    made = {
        "records": rows,
        "list": columns,
        "dict": {name: dict(enumerate(column)) for name, column in columns.items()},
        "wrapped": {"info": "made by me", "data": rows},
    }
    text = "\n".join(map(json.dumps, rows)) if orient == "lines" else json.dumps(made[orient])
    (tmp_path / "t.json").write_text(text)
    table = lowd.io.read(tmp_path / "t.json")
    np.testing.assert_array_equal(table.X[:, :2], NUMBERS[:, :2])
    assert table.ids[:2].tolist() == ["r0", "r1"]
    assert table.columns in (("a", "b", "size.c"), ("a", "b"))


def test_json_lines_whose_types_differ(tmp_path):
    lines = [json.dumps({"title": j if j % 9 == 5 else f"film {j}", "a": j / 7}) for j in range(30)]
    (tmp_path / "t.jsonl").write_text("\n".join(lines))
    assert lowd.io.read(tmp_path / "t.jsonl").ids[:2].tolist() == ["film 0", "film 1"]
