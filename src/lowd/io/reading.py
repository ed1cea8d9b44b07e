"""`lowd.io.read`: read a data file, whose format is known by its suffix or its first bytes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..errors import (
    DataError,
    FileFormatError,
    MissingFileError,
    ParameterError,
    TooManyRowsError,
)
from . import frames
from .features import ReadFrame, detect_distances, handle_missing, make_table
from .kinds import Kind
from .options import Missing, Names, Options, match_columns
from .source import Source
from .table import Table

if TYPE_CHECKING:
    from .genotypes import Alleles

# Format -> the function that reads it, and its suffixes.
_READERS = {
    "csv": ("delimited.read", (".csv", ".tsv", ".tab", ".dat")),
    "parquet": ("columnar.read_parquet", (".parquet", ".pq")),
    "arrow": ("columnar.read_arrow", (".arrow", ".feather", ".ipc")),
    "jsonl": ("columnar.read_jsonl", (".jsonl", ".ndjson")),
    "json": ("columnar.read_json", (".json",)),
    "npy": ("arrays.read_npy", (".npy",)),
    "npz": ("arrays.read_npz", (".npz",)),
    "mtx": ("matrix_market.read", (".mtx",)),
    "h5ad": ("h5ad.read", (".h5ad",)),
    "xlsx": ("spreadsheet.read", (".xlsx", ".xlsm")),
    "strings": ("delimited.read_strings", ()),
}
_MULTI_FILE_READERS = {"images": "images.read", "plink": "genotypes.read"}
_PLINK_SUFFIXES = (".bed", ".bim", ".fam")
_FORMAT_MAGIC = {
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"\x89HDF\r\n\x1a\n": "h5ad",
    b"%%MatrixMarket": "mtx",
}
# A zip archive names its first member from byte 30 on.
_FIRST_PARTS_OF_WORKBOOKS = (b"[Content_Types]", b"_rels/", b"docProps/", b"xl/")
_OTHER_SPREADSHEET = "of spreadsheets, only .xlsx is read; save the sheet as that, or as CSV"
_REFUSED = {
    ".pkl": "a pickle can run any code when it is read; save the array by numpy.save",
    ".pickle": "a pickle can run any code when it is read; save the array by numpy.save",
    ".xls": _OTHER_SPREADSHEET,
    ".xlsb": _OTHER_SPREADSHEET,
    ".ods": _OTHER_SPREADSHEET,
    ".zip": "archives are not read; unpack it and name the file or folder",
    ".tar": "archives are not read; unpack it and name the file or folder",
    ".lowd": "this is a model; read it by lowd.load",
}
FORMATS = (*_READERS, *_MULTI_FILE_READERS)
KINDS = tuple(str(kind) for kind in Kind)


def read(
    path: str | os.PathLike[str],
    *,
    columns: Names = None,
    drop: Names = None,
    label: str | None = None,
    id: str | None = None,  # noqa: A002 - the word that users know
    keep: Names = None,
    kind: Mapping[str, str] | None = None,
    vector: str | None = None,
    format: str | None = None,  # noqa: A002
    header: bool | None = None,
    skip: int | None = None,
    delimiter: str | None = None,
    decimal: str | None = None,
    encoding: str | None = None,
    missing: Missing = "error",
    encode: bool | Mapping[str, Sequence[str]] = False,
    gower: bool | None = None,
    dates: bool = False,
    distances: bool | None = None,
    every: int = 1,
    array: str | None = None,
    size: tuple[int, int] | None = None,
    color: bool | None = None,
    alleles: Alleles | None = None,
) -> Table:
    """Read a file, or a folder of images, into rows that a method can take.

    Parameters
    ----------
    path : str or PathLike
        CSV or TSV (also compressed by gzip, bzip2, xz or zstandard), Parquet, Arrow or Feather,
        JSON (lines, or a list of records), .xlsx, .npy, .npz (dense, or sparse by SciPy), Matrix
        Market, .h5ad, a text file of strings, PLINK genotypes (any of the three files), or a folder
        of images. "-" is standard input.
    columns, drop : str, sequence of str or None, default=None
        Columns to use, columns to leave out: names or patterns such as "px*".
    label, id : str or None, default=None
        The column with each row's class, and the one with its name. Without them, columns are
        recognized by name and content; `Table.describe` says which, and why.
    keep : str, sequence of str or None, default=None
        Columns that are features although they look like codes, years or identifiers.
    kind : dict or None, default=None
        What columns are, where that is not recognized: {"grade": "category", "site": "code"}.
        Kinds are those of `lowd.io.KINDS`.
    vector : str or None, default=None
        A column that holds a list of numbers in each row, which become the row.
    format : str or None, default=None
        One of FORMATS, where the suffix does not say it.
    header : bool or None, default=None
    skip : int or None, default=None
    delimiter, decimal, encoding : str or None, default=None
        Of a text file: whether a line names the columns, how many lines are above it, what
        separates columns (one character, or "  " for two blanks and more), "." or ",", and how
        characters are encoded; all are recognized.
    missing : {"error", "drop", "mean", "keep"}, default="error"
        "error" names the first missing value; "drop" leaves out such rows, "mean" fills them,
        "keep" leaves NaN there, for `lowd.diagnose` and `lowd.Pipeline(impute=...)`. Rows without
        any value are left out and listed in every case.
    encode : bool or dict, default=False
        One-hot encode text; it may be the `levels` of another table, to get its columns. A value
        that it does not have is 0 in all of them, and noted.
    gower : bool or None, default=None
        Whether to keep text and numbers in a table for Gower's distance. None does so where there
        are more columns of words than of numbers; otherwise text is kept beside the features.
    dates : bool, default=False
        What to do with columns of dates (ISO 8601, 31.12.2020, 12/31/2020): without it they are
        kept as extra columns, with it they are features, in days since 1970. With `gower=True` they
        are part of the table.
    distances : bool or None, default=None
        Whether a square or condensed matrix holds distances; None detects it.
    every : int, default=1
        Read each `every`-th row only.
    array : str or None, default=None
        The array of an .npz file that holds the rows.
    size : (int, int) or None, default=None
    color : bool or None, default=None
        Of images: resize all to (width, height); color or gray, whatever they are.
    alleles : Alleles or None, default=None
        Of genotypes: the `alleles` of the training table, whose SNPs and frequencies are used
        instead of those of this file.

    Returns
    -------
    Table

    Examples
    --------
    >>> import pathlib, tempfile, lowd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "flowers.csv"
    >>> _ = path.write_text("id,length,width,species\\na,5.1,3.5,setosa\\nb,7.0,3.2,virginica\\n")
    >>> table = lowd.io.read(path)
    >>> table.X.shape, table.columns, table.ids.tolist(), table.labels.tolist()
    ((2, 2), ('length', 'width'), ['a', 'b'], ['setosa', 'virginica'])
    """
    options = Options(
        columns=columns,
        drop=drop,
        label=label,
        id=id,
        keep=keep,
        kind=kind,
        vector=vector,
        header=header,
        skip=skip,
        delimiter="\t" if delimiter in ("\\t", "tab") else delimiter,
        decimal=decimal,
        encoding=encoding,
        missing=missing,
        encode=encode,
        gower=gower,
        dates=dates,
        distances=distances,
        every=every,
        array=array,
        size=size,
        color=color,
        alleles=alleles,
    )
    if format is not None and format not in FORMATS:
        raise ParameterError(f"read(format={format!r}): expected one of {', '.join(FORMATS)}.")
    folder = Path(path)
    multi_file = format if format in _MULTI_FILE_READERS else _detect_multi_file(folder, format)
    if alleles is not None and multi_file != "plink":
        raise ParameterError(
            f"{os.fspath(path)} holds no PLINK genotypes, which alleles= (or the model) is for; "
            "name one of the three files .bed, .bim, .fam."
        )
    if multi_file is not None:
        if os.fspath(path) == "-":
            raise ParameterError(
                f"read('-', format={multi_file!r}): this is not one file; name it."
            )
        read_files = _import_reader(_MULTI_FILE_READERS[multi_file])
        return _finish(read_files(_find_multi_file(folder, multi_file), options), options)
    return _read_source(Source.from_path(path).decompress(), format, options)


def read_bytes(
    data: bytes, name: str, formats: Sequence[str], max_rows: int, **options: Any
) -> Table:
    """Read an untrusted file in one of these formats, with at most `max_rows` rows.

    The suffix of `name` gives the format; the file itself is never opened. Compressed
    data are refused, since a few bytes may stand for gigabytes.

    >>> read_bytes(b"a,b\\n1,2\\n3,4\\n", "x.csv", ("csv",), 10).X.tolist()
    [[1.0, 2.0], [3.0, 4.0]]
    """
    if not data:
        raise FileFormatError(f"{name} is empty.")
    source = Source(name, data=data)
    if source.compression is not None:
        raise FileFormatError(f"{name} is compressed; send it decompressed.")
    kind = _detect_format(source)
    if kind not in formats:
        raise FileFormatError(f"{name}: expected {', '.join(formats)}, not {kind}.")
    count = (
        frames.count_rows(source, frames.scan(source, kind))
        if kind in ("parquet", "arrow")
        else data.count(b"\n")
    )
    if count > max_rows + 1:
        raise TooManyRowsError(f"{name} has more than {max_rows} rows, the most that are taken.")
    table = _read_source(source, kind, Options(**options))
    if len(table) > max_rows:
        raise TooManyRowsError(f"{name} has more than {max_rows} rows, the most that are taken.")
    return table


def _read_source(source: Source, kind: str | None, options: Options) -> Table:
    read_file = _import_reader(_READERS[kind or _detect_format(source)][0])
    table = _finish(read_file(source, options), options)
    return detect_distances(table, options.distances)


def _finish(found: Table | ReadFrame, options: Options) -> Table:
    return make_table(found, options) if isinstance(found, ReadFrame) else _select(found, options)


def _detect_multi_file(folder: Path, format_: str | None) -> str | None:
    """The format of inputs other than one file: a folder of images, or PLINK's three files."""
    if format_ is None and folder.is_dir():
        return "images"
    if format_ is None and folder.suffix.lower() in _PLINK_SUFFIXES:
        return "plink"
    return None


def _find_multi_file(folder: Path, multi_file: str) -> Path:
    if multi_file == "images" and not folder.is_dir():
        raise MissingFileError(f"{folder} is not a folder of images.")
    if multi_file == "plink" and folder.suffix.lower() not in _PLINK_SUFFIXES:
        return folder.with_name(f"{folder.name}.bed")  # plink --bfile names genotypes in this way
    return folder


def _detect_format(source: Source) -> str:
    suffix = source.suffix
    if suffix in _REFUSED:
        raise FileFormatError(f"{source.name}: {_REFUSED[suffix]}.")
    for name, (_, suffixes) in _READERS.items():
        if suffix in suffixes:
            return name
    head = source.read_head(64)
    if head.startswith(b"PK\x03\x04") and head[30:].startswith(_FIRST_PARTS_OF_WORKBOOKS):
        return "xlsx"
    for magic, name in _FORMAT_MAGIC.items():
        if head.startswith(magic):
            return name
    if head.startswith(b"FEA1"):
        raise FileFormatError(f"{source.name} is Feather of version 1; write it again as Arrow.")
    if head.lstrip().startswith(b"{"):
        return "jsonl"
    if head.lstrip()[:1] == b"[" and head.lstrip()[1:].lstrip()[:1] == b"{":
        return "json"
    from .delimited import looks_like_table

    return "csv" if looks_like_table(source) else "strings"


def _import_reader(name: str) -> Callable[[Source | Path, Options], Table | ReadFrame]:
    module, _, function = name.partition(".")
    reader: Callable[[Source | Path, Options], Table | ReadFrame]
    reader = getattr(import_module(f".{module}", __package__), function)
    return reader


def _select(table: Table, options: Options) -> Table:
    """Select columns and each `every`-th row of a table that has no frame."""
    for what, name, held in (
        ("label", options.label, table.label_name),
        ("id", options.id, table.id_name),
    ):
        if name is not None and name != held:
            raise DataError(f"{table.source} has no named columns, so no {what}={name!r}.")
    if table.kind == "strings" or table.X.ndim != 2:
        return table
    names = table.columns
    if options.columns is not None or options.drop is not None:
        wanted = (
            names
            if options.columns is None
            else match_columns(options.columns, names, table.source, "columns")
        )
        away = (
            set(match_columns(options.drop, names, table.source, "drop")) if options.drop else set()
        )
        kept = [j for j, name in enumerate(names) if name in set(wanted) - away]
        if not kept:
            raise DataError(f"{table.source}: no column is left; see columns= and drop=.")
        table = dataclasses.replace(
            table, X=table.X[:, kept], columns=tuple(names[j] for j in kept)
        )
    if options.every > 1:
        table = _take_rows(table, slice(None, None, options.every))
    return _fill_missing(table, options)


def _take_rows(table: Table, rows: slice | NDArray[np.intp]) -> Table:
    return dataclasses.replace(
        table,
        X=table.X.tocsr()[rows] if issparse(table.X) else table.X[rows],
        ids=None if table.ids is None else table.ids[rows],
        labels=None if table.labels is None else table.labels[rows],
        extra={name: column[rows] for name, column in table.extra.items()},
        thumbnails=None if table.thumbnails is None else table.thumbnails[rows],
    )


def _fill_missing(table: Table, options: Options) -> Table:
    """Drop or fill, if asked for: NaN in an array may be a missing distance."""
    X, names = table.X, table.columns
    if options.missing not in ("drop", "mean") or options.distances or table.kind != "rows":
        return table
    if issparse(X):
        return table
    notes: list[str] = []
    names = names or tuple(map(str, range(X.shape[1])))
    X, kept = handle_missing(X, names, table.source, "row {}".format, options.missing, notes)
    table = dataclasses.replace(table, X=X) if kept is None else _take_rows(table, kept)
    return table.add_notes(*notes)
