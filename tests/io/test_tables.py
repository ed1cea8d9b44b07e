"""Tables come back as they were written by somebody else, and every column has its role."""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import lzma

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import lowd
from lowd import backend
from lowd.errors import ColumnTypeError, DataError, NotEnoughMemoryError, ParameterError

FLOWERS = "id,length,width,species\na,5.1,3.5,setosa\nb,7.0,3.2,virginica\nc,6.4,3.1,setosa\n"


@pytest.fixture
def read(tmp_path):
    """Write text or bytes to a file of that name, and read it."""

    def run(name, content, **options):
        path = tmp_path / name
        path.write_bytes(content.encode() if isinstance(content, str) else content)
        return lowd.io.read(path, **options)

    return run


@settings(max_examples=25, deadline=None)
@given(
    rows=st.lists(
        st.lists(st.floats(allow_nan=False, allow_infinity=False), min_size=3, max_size=3),
        min_size=1,
        max_size=6,
    ),
    names=st.lists(st.text("abc \"',;|\n", min_size=1), min_size=3, max_size=3),
    delimiter=st.sampled_from([",", ";", "\t", "|"]),
)
def test_what_csv_writes_is_read(rows, names, delimiter, tmp_path_factory):
    # Words, all different, without commas, which would separate patterns.
    names = [f"{name.strip()}{j}x".replace(",", "_") for j, name in enumerate(names)]
    path = tmp_path_factory.mktemp("csv") / "t.csv"
    with path.open("w", newline="") as file:
        writer = csv.writer(file, delimiter=delimiter)
        writer.writerows([names, *rows])
    table = lowd.io.read(path, delimiter=delimiter, distances=False, columns=names)
    assert table.columns == tuple(names)
    np.testing.assert_array_equal(table.X, np.array(rows))


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|", " ", "   "])
@pytest.mark.parametrize("header", [True, False])
def test_delimiter_and_header_are_found(read, delimiter, header, rng):
    X = rng.normal(size=(30, 4)).round(6)
    lines = [delimiter.join(map(str, row)) for row in X.tolist()]
    names = delimiter.join(["alpha", "beta", "gamma", "delta"])
    table = read("t.txt", "\n".join([names] * header + lines) + "\n")
    np.testing.assert_array_equal(table.X, X)
    assert table.columns[0] == ("alpha" if header else "x0")


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("1,2,3\n4,5,6\n", ("x0", "x1", "x2")),  # a row that counts up is a row
        (",0,1\n5,1.5,2\n6,3,4\n", ("0", "1")),  # a frame's index has no name
        (",434,445\n434,0,1\n445,1,0\n", ("434", "445")),  # colors by their wavelength
        (",434.5,445\n0,3,1\n1,2,2\n2,1,9\n", ("434.5", "445")),
        (",3,4\n5,3,1\n2,2,2\n", ("3", "4")),  # each row has another name
        (",0\n" + "".join(f"{1900 + i},{i * i}\n" for i in range(9)), ("0",)),
        (",3,4\n5.5,3,1\n2.5,2,2\n", ("x0", "x1", "x2")),  # a value may be missing
        (",u,u\n,W,D\nTeam,,\n" + "a,1,7\nb,5,3\n" * 4, ("u W", "u D")),  # pandas, two levels
        ("a\tb\tkind\nc\tc\tu v\n\t\tclass\n1\t2\tu\n4\t3\tv\n5\t5\tu\n", ("a", "b")),
        (",".join(map(str, range(12))) + "\n" + ",".join(["7"] * 12) + "\n", tuple("0123")),
        ('"a" "b"\n"r1" 1 2\n"r2" 3 4\n', ("a", "b")),  # R names no column of row names
        ("# made by hand\n# twice\na,b\n1,2\n", ("a", "b")),
    ],
)
def test_headers_in_the_wild(read, text, columns):
    assert read("t.csv", text, missing="keep").columns[:4] == columns


def test_decimal_commas(read):
    table = read("t.csv", "a;b\n" + "1,5;2\n-3,25;4\n" * 5)
    np.testing.assert_array_equal(table.X[:2], [[1.5, 2], [-3.25, 4]])
    assert "semicolon-separated, header in line 1, decimal comma" in table.describe()[0]


def test_integers_that_become_floats_late(read):
    """The first thousand rows decide nothing for good."""
    table = read("t.csv", "a,b\n" + "1,2\n3,2\n" * 1500 + "1,2.5\n")
    assert table.X[-1].tolist() == [1, 2.5]


@pytest.mark.parametrize(
    ("suffix", "pack"),
    [("gz", gzip.compress), ("bz2", bz2.compress), ("xz", lzma.compress)],
)
def test_packed_files(read, suffix, pack):
    table = read(f"t.csv.{suffix}", pack(FLOWERS.encode()))
    np.testing.assert_array_equal(table.X, [[5.1, 3.5], [7, 3.2], [6.4, 3.1]])


def test_zstandard(read):
    zstandard = pytest.importorskip("zstandard")
    table = read("t.csv.zst", zstandard.ZstdCompressor().compress(FLOWERS.encode()))
    assert table.X.shape == (3, 2)


@pytest.mark.parametrize("name", ["t.parquet", "t.feather", "t.arrow", "t.jsonl", "t.csv", "t"])
def test_columnar_files_of_pandas(tmp_path, name, rng):
    frame = pd.DataFrame(rng.normal(size=(20, 3)), columns=list("abc"))
    frame["label"] = ["u", "v"] * 10
    frame.insert(0, "id", [f"r{i}" for i in range(20)])
    path = tmp_path / name
    kind = name.partition(".")[2] or "parquet"  # without a suffix the first bytes tell
    if kind == "csv":
        frame.to_csv(path, index=False)
    elif kind == "jsonl":
        frame.to_json(path, orient="records", lines=True, double_precision=15)
    else:
        getattr(frame, "to_parquet" if kind == "parquet" else "to_feather")(path)
    table = lowd.io.read(path)
    np.testing.assert_allclose(table.X, frame[list("abc")], rtol=1e-13)
    assert table.columns == ("a", "b", "c")
    assert table.ids.tolist() == frame["id"].tolist()
    assert table.labels.tolist() == frame["label"].tolist()


@pytest.mark.parametrize("packed", [False, True])
def test_columns_read_in_parts(tmp_path, packed, rng, monkeypatch):
    """Numbers are turned into rows some columns and a block of rows at a time."""
    monkeypatch.setattr("lowd.io.frames._TRANSPOSED_ROWS", 10)
    names = [f"c{j}" for j in range(70)]
    frame = pl.DataFrame(rng.normal(size=(100, 70)), schema=names)
    frame = frame.with_columns(id=pl.int_range(100), kind=pl.Series(["u", "v"] * 50), c7=7)
    frame = frame.select("c9", "id", "c3", "kind", pl.exclude("c9", "id", "c3", "kind"))
    path = tmp_path / ("t.parquet.gz" if packed else "t.parquet")
    frame.write_parquet(tmp_path / "raw", row_group_size=33)
    raw = (tmp_path / "raw").read_bytes()
    path.write_bytes(gzip.compress(raw) if packed else raw)
    for options, first in (
        ({}, "c9"),
        ({"every": 3}, "c9"),
        ({"columns": "c1*"}, "c1"),
        ({"columns": "id,c3"}, "id"),
        ({"encode": True, "label": "id"}, "c9"),
    ):
        table = lowd.io.read(path, **options)
        held = [name for name in table.columns if name in frame.columns]
        assert held[0] == first
        expected = frame.select(held).to_numpy()[:: options.get("every", 1)]
        np.testing.assert_array_equal(table.X[:, : len(held)], expected)
    damaged = frame.with_columns(pl.when(pl.col("id") != 5).then(pl.col("c8")).alias("c8"))
    damaged.write_parquet(path)
    with pytest.raises(DataError, match="row 5, column 'c8': the value is missing"):
        lowd.io.read(path, format="parquet")


def test_float32_stays_and_integers_widen(tmp_path):
    path = tmp_path / "t.parquet"
    pl.DataFrame(
        {"a": [1, 2], "b": [0.5, 1.5]}, schema={"a": pl.Int8, "b": pl.Float32}
    ).write_parquet(path)
    assert lowd.io.read(path).X.dtype == np.float32
    pl.DataFrame({"a": [2**40, 2], "b": [True, False]}).write_parquet(path)
    table = lowd.io.read(path)
    assert table.X.dtype == np.float64
    assert table.X.tolist() == [[2**40, 1], [2, 0]]


def test_roles_are_recognized_and_reported(read):
    table = read("t.csv", FLOWERS)
    assert table.columns == ("length", "width")
    assert table.ids.tolist() == ["a", "b", "c"]
    assert table.labels.tolist() == ["setosa", "virginica", "setosa"]
    assert table.describe()[1] == (
        "Features: 2 quantities ('length', 'width'). Label: 'species'. Identifier: 'id'."
    )


@pytest.mark.parametrize(
    ("text", "id_", "label"),
    [
        ("code,a\nx1,1\nx2,2\nx3,3\nx4,4\n", "code", None),  # another text in every row
        ("kind,a\nu,1\nv,2\nu,3\nv,4\n", None, "kind"),  # few texts
        ("id,a\n1,1\n1,2\n", None, None),  # not different in every row: a feature
        ("x,y\n1,2\n3,4\n", None, None),  # coordinates
        ("patient_id,a,target\n7,1,0\n8,2,1\n", "patient_id", "target"),
        ("a,trust,continuity\n1,0.5,1\n2,0.7,1\n", None, None),
    ],
)
def test_roles_by_name_and_content(read, text, id_, label):
    table = read("t.csv", text)
    assert (table.ids is None) == (id_ is None)
    assert (table.labels is None) == (label is None)
    assert table.id_name == (id_ or "id")
    assert table.label_name == (label or "label")
    assert not {"trust", "continuity"} & set(table.columns)


def test_columns_are_chosen_by_patterns(read):
    text = "label,px0,px1,age,note\n1,2,3,40,7\n0,5,6,50,8\n"
    table = read("t.csv", text, columns="px*")
    assert table.columns == ("px0", "px1")
    assert table.labels.tolist() == [1, 0]
    assert table.extra["age"].tolist() == [40, 50]
    assert read("t.csv", text, drop=["px*", "note"]).columns == ("age",)
    assert read("t.csv", text, columns="px*,age", drop="px1").columns == ("px0", "age")
    assert read("t.csv", text, label="age", id="note").ids.tolist() == ["7", "8"]  # as they came
    assert read("t.csv", text, columns="label,px0").columns == ("label", "px0")
    with pytest.raises(DataError, match=r"columns='py\*' matches no column"):
        read("t.csv", text, columns="py*")
    with pytest.raises(DataError, match="label='lable'; did you mean 'label'"):
        read("t.csv", text, label="lable")


@pytest.mark.parametrize("name", ["t.csv", "t.parquet"])
def test_a_name_is_no_pattern(tmp_path, name):
    """polars takes '*' and '^...$' as patterns; in a file they are names."""
    frame = pl.DataFrame([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]], schema=["*", "^a.*$", "ab"])
    getattr(frame, f"write_{name[2:]}")(tmp_path / name)
    table = lowd.io.read(tmp_path / name)
    assert table.columns == ("*", "^a.*$", "ab")
    assert table.X.tolist() == [[1, 3, 5], [2, 4, 6]]
    assert lowd.io.read(tmp_path / name, columns="ab").X.tolist() == [[5], [6]]
    assert lowd.io.read(tmp_path / name, gower=True).X.columns == ["*", "^a.*$", "ab"]


def test_text_is_named_with_three_remedies(read):
    text = "a,island,sex\n1,u,m\n2,v,f\n3,u,\n4,v,m\n"
    with pytest.raises(ColumnTypeError, match=r"'island', 'sex'.*drop=.*encode=True.*gower=True"):
        read("t.csv", text, columns=["a", "island", "sex"])
    assert read("t.csv", text, gower=False).labels.tolist() == ["m", "f", "", "m"]
    assert read("t.csv", text).kind == "table"  # as there are no more numbers than words
    encoded = read("t.csv", text, encode=True, columns="*")
    assert encoded.columns == ("a", "island=u", "island=v", "sex=f", "sex=m")
    assert encoded.X[2].tolist() == [3, 1, 0, 0, 0]
    kept = read("t.csv", text, gower=True)
    assert kept.kind == "table"
    Y = lowd.MDS(1, metric="gower").fit_transform(kept.X)
    assert Y.shape == (4, 1)


@pytest.mark.parametrize(
    ("forms", "days"),
    [
        (("2020-01-02", "2020-01-13", ""), [18263, 18274, np.nan]),
        (("2020-01-02T12:00:00Z", "2020-01-13 06:00:00+06:00", ""), [18263.5, 18274, np.nan]),
        (("2020-01", "2020-02", ""), [18262, 18293, np.nan]),
        (("2.1.2020", "13.1.2020 06:00", ""), [18263, 18274.25, np.nan]),
        (("1/2/2020", "1/13/2020", ""), [18263, 18274, np.nan]),
        (("2/1/2020", "13/1/2020", ""), [18263, 18274, np.nan]),
    ],
    ids=["ISO", "times", "months", "dots", "month first", "day first"],
)
def test_dates_are_kept_beside_the_rows_or_count_in_days(read, forms, days):
    text = "when,a\n" + "".join(f"{form},{j}\n" for j, form in enumerate(forms))
    table = read("t.csv", text)
    assert table.columns == ("a",)
    assert list(table.extra["when"]) == list(forms)
    assert "Kept beside: 'when' (date)." in table.describe()[1]
    used = read("t.csv", text, dates=True, missing="mean")
    assert used.columns == ("when", "a")
    np.testing.assert_allclose(used.X[:2, 0], days[:2])
    assert any("'when' count in days" in note for note in used.notes)
    mixed = read("t.csv", text, gower=True)
    assert mixed.X["when"].dtype == pl.Datetime
    with pytest.raises(ColumnTypeError, match=r"'when' holds dates.*dates=True.*drop='when'"):
        read("t.csv", text, columns=["when", "a"])


def test_dates_with_two_readings_are_not_used(read):
    text = "when,a\n3/4/2020,1\n5/6/2020,2\n"
    table = read("t.csv", text, dates=True)
    assert table.columns == ("a",)
    assert "day and month could be either way round" in table.describe()[-1]
    with pytest.raises(ColumnTypeError, match=r"'when'.*ambiguous order of day and month"):
        read("t.csv", text, dates=True, columns="*")
    assert read("t.csv", "when,a\n3/3/2020,1\n5/5/2020,2\n", dates=True).X.shape == (2, 2)


def test_dates_of_columnar_files(tmp_path):
    when = pd.to_datetime(["2020-01-02 00:00", "2020-01-13 12:00"])
    frame = pd.DataFrame({"when": when, "since": when - when[0], "a": [1.0, 2.0]})
    frame.to_parquet(tmp_path / "t.parquet")
    assert lowd.io.read(tmp_path / "t.parquet").columns == ("a",)
    used = lowd.io.read(tmp_path / "t.parquet", dates=True)
    np.testing.assert_allclose(used.X, [[18263, 0, 1], [18274.5, 11.5, 2]])


def test_missing_values_are_named_dropped_or_filled(read):
    text = "label,a,b\nu,1,2\nv,NA,6\nu,5,\nv,,\n"
    with pytest.raises(
        DataError, match=r"t\.csv, line 3, column 'a'.*missing \(2 such values in 2"
    ):
        read("t.csv", text)
    dropped = read("t.csv", text, missing="drop")
    assert dropped.X.tolist() == [[1, 2]]
    assert dropped.labels.tolist() == ["u"]
    assert read("t.csv", text, missing="mean").X.tolist() == [[1, 2], [3, 6], [5, 4]]
    with pytest.raises(DataError, match="line 3, column 'b': the value is missing"):
        read("t.csv", "a,b\n1,2\n3,inf\n5,4\n")


@pytest.mark.parametrize("gower", [None, True])
def test_missing_values_are_said_in_every_role(read, gower):
    text = "name,class,age,fare,kin\n" + "".join(
        f"p{i},{'uv*'[i % 3]},{i * i if i % 2 else 'NA'},{0.5 * i},{i % 2 if i % 4 else ''}\n"
        for i in range(12)
    )
    told = read("t.csv", text, gower=gower, missing="keep").reading
    assert {c.name: c.missing for c in told.columns if c.missing} == {
        "class": 4,
        "age": 6,
        "kin": 3,
    }
    assert "Missing: 'age' 6 (50%), 'class' 4 (33%), 'kin' 3 (25%)." in told.describe("t.csv")[-1]


def test_measured_columns_are_not_doubted(read, rng):
    X = np.column_stack([rng.permutation(60) + 20_000, rng.permutation(60) * 700 + 10_000])
    rows = "".join(
        f"1949-{1 + i % 12:02},{x},{y},{i % 9 / 7}\n" for i, (x, y) in enumerate(X.tolist())
    )
    for names in ("income,rent", "x_coord,y_coord"):
        table = read("t.csv", f"month,{names},long.jump\n{rows}")
        assert len(table.columns) == 3
        assert not table.reading.doubts


def test_what_repeats_the_label_is_no_feature(read, rng):
    rows = [(i % 3, (2000, 2010, 0)[i % 3], i % 2, *rng.normal(size=2)) for i in range(40)]
    text = "group,first,odd,a,b\n" + "".join(
        f"{'uvw'[g]},{y},{o},{a},{b}\n" for g, y, o, a, b in rows
    )
    table = read("t.csv", text.replace("first", "rank"))
    assert table.columns == ("odd", "a", "b")
    assert read("t.csv", text.replace("2000", "1").replace("2010", "2")).columns == (
        "odd",
        "a",
        "b",
    )
    assert (
        "'first' (one-to-one with the label 'group')"
        in read("t.csv", text.replace("2000", "1").replace("2010", "2")).describe()[1]
    )


def test_zero_among_years_is_missing(read):
    text = "year,a,b\n" + "".join(
        f"{1950 + i if i % 4 else 0},{i / 4},{i % 3}\n" for i in range(24)
    )
    table = read("t.csv", text)
    assert table.columns == ("a", "b")
    assert "'year': 0 (6 times) was taken as missing" in table.describe()[0]
    rows = "".join(f"{i % 5},{9999 if i % 9 == 8 else i}\n" for i in range(30))
    assert "'b': 9999 (3 times)" in read("t.csv", f"a,b\n{rows}", missing="keep").describe()[0]


def test_a_code_is_no_feature_for_want_of_others(read):
    text = "fish,station,seen\n" + "".join(f"{i // 3},{'abc'[i % 3]},1\n" for i in range(30))
    with pytest.raises(DataError, match=r"'fish': code; .*keep=.*pivot it first"):
        read("t.csv", text)
    assert read("t.csv", text, gower=True, keep="station").X.columns == ["fish", "station"]


@pytest.mark.parametrize("words", [1, 2])
def test_what_is_compared_is_said(read, words):
    rows = "".join(
        f"{i * i},{i % 4},{'uv'[i % 2]},{'abcd'[i % 4]},{'xyz'[i % 3]}\n" for i in range(12)
    )
    table = read("t.csv", "n,m,u,v,class\n" + rows, drop=["m", "n"][: words - 1])
    assert ("compared together (gower=False" in table.notes[0]) == (words == 2)


def test_two_blanks_separate_cells_that_hold_one(read):
    rows = "".join(f"{i:5}    {('< 12', '12-15')[i % 2]} years   {i / 8:6}\n" for i in range(9))
    table = read("t.dat", f"   id    education     share\n{rows}")
    assert "blank-separated, header in line 1" in table.describe()[0]
    assert table.columns == ("share",)
    assert table.labels.tolist()[:2] == ["< 12 years", "12-15 years"]
    assert read("t.dat", rows, delimiter="  ").columns[-1] == "x2"
    with pytest.raises(DataError, match="line 11: 2 fields where 3 are expected"):
        read("t.dat", f"   id    education     share\n{rows}   9     1.5\n")


def test_remarks_below_a_table_are_left_out(read):
    names = ",".join(f"c{j}" for j in range(9))
    rows = "".join(",".join(str(i * j % 7) for j in range(9)) + "\n" for i in range(9))
    table = read("t.csv", f"{names}\n{rows}Source: an office\nsee,a page\n'October'\n")
    assert len(table) == 9
    assert "3 lines below the table left out: 'Source: an office'." in table.describe()[0]
    with pytest.raises(DataError, match=r"line 11: 2 fields.*remarks below it"):
        read("t.csv", f"{names}\n{rows}3,4\n")


def test_types_and_roles_of_orange(read):
    rows = "".join(f"{i * i}\t{i % 3}\tn{i % 4}\t{'uv'[i % 2]}\t{i % 5}\n" for i in range(12))
    table = read("t.tab", f"size\tgrade\tnote\tkind\tn\nc\td\ts\tu v\tc\n\t\tm\tclass\t\n{rows}")
    assert table.columns == ("size", "n")
    assert (len(table), table.label_name, table.id_name) == (12, "kind", "id")
    kinds = {c.name: c.kind for c in table.reading.columns}
    assert (kinds["grade"], kinds["note"]) == ("category", "text")
    assert "types and roles" in table.describe()[0]


def test_letters_within_a_number_make_a_code(read):
    text = "area,n,m\n" + "".join(f"05000US060{i:02},{i * i},{i % 7}\n" for i in range(30))
    table = read("t.csv", text)
    assert (table.columns, table.id_name, table.ids[1]) == (("n", "m"), "area", "05000US06001")


@pytest.mark.parametrize("word", ["", "NA", "n/a", "-"])
def test_words_for_missing_values_are_no_values(read, word):
    cells = ["1", "0", word, "1", "0", "1"] * 5
    text = "a,b,flag,zip\n" + "".join(
        f"{i},{i / 4},{cell},{f'00{i}' if i % 7 else word}\n" for i, cell in enumerate(cells)
    )
    kinds = {c.name: c.kind for c in read("t.csv", text, missing="keep").reading.columns}
    assert kinds["flag"] == "yes or no"
    assert kinds["zip"] == "identifier"


def test_infinite_values_are_said_and_kept_beside(read):
    text = "a,b,since\n" + "".join(
        f"{i / 4},{i % 7},{i - 9 if i % 3 else 'Inf'}\n" for i in range(30)
    )
    table = read("t.csv", text)
    assert table.columns == ("a", "b")
    assert "'since' (10 infinite values)" in table.describe()[1]
    assert "'since' 10 (33%), 10 of them infinite" in table.describe()[2]
    assert np.isnan(read("t.csv", text, keep="since", missing="keep").X[:, 2]).sum() == 10
    file = io.BytesIO()
    np.save(file, np.array([[1, np.inf], [np.nan, 2], [3, 4], [5, 6]]))
    assert "1 of them infinite" in read("t.npy", file.getvalue(), missing="mean").notes[-1]


def test_empty_lines_and_columns_are_left_out(read):
    table = read("t.csv", "a,b,c\n1,,2\n\n3,,4\n\n")
    assert table.X.tolist() == [[1, 2], [3, 4]]
    assert "Kept beside: 'b' (empty)." in table.describe()[1]
    with pytest.raises(DataError, match="line 4, column 'b'"):
        read("t.csv", "a,b\n1,2\n\n3,\n5,6\n")


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet", "t.csv"])
def test_vectors_become_rows(tmp_path, name):
    path = tmp_path / name
    lists = [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]
    if name == "t.csv":
        path.write_text('id,emb\na,"[1, 2, 3]"\nb,"[4, 5, 6]"\n')
    else:
        frame = pl.DataFrame({"id": ["a", "b"], "emb": lists})
        (frame.write_ndjson if name == "t.jsonl" else frame.write_parquet)(path)
    table = lowd.io.read(path, vector="emb")
    assert table.X.tolist() == lists
    assert table.columns == ("emb0", "emb1", "emb2")
    assert table.ids.tolist() == ["a", "b"]


def test_lists_of_different_lengths_are_named(read):
    with pytest.raises(DataError, match=r"line 2, column 'emb'.*list of 2 numbers"):
        read("t.jsonl", '{"emb": [1, 2]}\n{"emb": [1]}\n')


def test_every_tenth_row(read):
    text = "label,a,b\n" + "".join(f"{i % 3},{i},{i * i}\n" for i in range(30))
    table = read("t.csv", text, every=10)
    assert table.X[:, 0].tolist() == [0, 10, 20]
    assert table.labels.tolist() == [0, 1, 2]
    with pytest.raises(DataError, match="line 32"):
        read("t.csv", text + "1,,3\n", every=10)


def test_standard_input(monkeypatch):
    class Pipe:
        buffer = io.BytesIO(FLOWERS.encode())

    monkeypatch.setattr("sys.stdin", Pipe)
    table = lowd.io.read("-", format="csv")
    assert table.X.shape == (3, 2)
    assert table.source == "standard input"
    with pytest.raises(DataError, match="standard input is empty"):
        lowd.io.read("-", format="csv")


@pytest.mark.parametrize("kind", ["csv", "parquet", "npy"])
def test_a_file_beyond_memory_is_refused_early(tmp_path, monkeypatch, kind):
    path = tmp_path / f"t.{kind}"
    X = np.random.default_rng(0).integers(0, 10**6, (250_000, 10)).astype(float)
    frame = pl.DataFrame(X, schema=[f"c{j}" for j in range(10)])
    if kind == "npy":
        np.save(path, frame.to_numpy())
    else:
        getattr(frame, f"write_{kind}")(path)
    monkeypatch.setattr(backend, "free_memory", lambda: 50_000)
    with pytest.raises(NotEnoughMemoryError, match=r"48\.8 KiB are available.*(dask|open_blocks)"):
        lowd.io.read(path)
    if kind != "npy":
        assert lowd.io.read(path, columns="c0").X.shape == (250_000, 1)
        assert lowd.io.read(path, every=20).X.shape == (12_500, 10)


@pytest.mark.parametrize(
    "options",
    [
        {"missing": "no"},
        {"every": 0},
        {"encode": True, "gower": True},
        {"delimiter": ",,"},
        {"size": (0, 3)},
        {"kind": {"a": "number"}},
        {"decimal": "'"},
        {"skip": -1},
        {"format": "excel"},
    ],
)
def test_impossible_options(read, options):
    with pytest.raises(ParameterError, match="read"):
        read("t.csv", FLOWERS, **options)


def test_a_word_that_is_read_as_missing_does_not_hide_the_names(read):
    words = [f"word{i}" for i in range(150)] + ["null"]
    table = read("t.csv", "word,a\n" + "".join(f"{w},{i / 7}\n" for i, w in enumerate(words)))
    assert list(table.ids[:2]) == ["word0", "word1"]
    text = "a,word\n" + "".join(f"{i / 7},w{i % 120}\n" for i in range(150))
    assert read("t.csv", text).ids is None
