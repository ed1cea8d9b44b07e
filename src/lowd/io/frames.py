"""Data frames by polars, which only this module imports.

Elsewhere a frame is used by its own methods only, and its types are named `Frame`, `LazyFrame`,
`Series` and `DataType`.
"""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import ModuleType
from typing import IO, TYPE_CHECKING, Any, NamedTuple, TypeAlias, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import progress
from ..errors import FileFormatError, MissingPackageError
from ..input.entries import LargeInteger, list_large_integers
from .source import MAX_COMPRESSION_RATIO, Source
from .words import MISSING

if TYPE_CHECKING:
    import polars

    Frame: TypeAlias = polars.DataFrame
    LazyFrame: TypeAlias = polars.LazyFrame
    Series: TypeAlias = polars.Series
    DataType: TypeAlias = polars.DataType

_INFERENCE_ROWS = 1000  # Rows from which the types of JSON lines are inferred.
MATRIX_PARTS = 16  # A matrix is read in this many parts, so that a frame is 1/16 of it.
_MIN_PART_COLUMNS = 4  # Parts of fewer columns would mean too many passes over the file.
_ARRAY_BYTES_PER_CHARACTER = 4  # in NumPy's arrays of text
_TRANSPOSED_ROWS = 8192  # Rows copied at a time: a block of a few columns stays in the cache.
_FLOAT32_TYPES = {
    "Float32",
    "Int8",
    "Int16",
    "UInt8",
    "UInt16",
    "Boolean",
}  # float32 holds all values of these types exactly

# Dates with four-digit years, with or without a time of day and a time zone.
_DATE_TEXT = re.compile(
    r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})"
    r"(?:[T ]\s*(\d{1,2}):(\d{2})(?::(\d{2}(?:\.\d+)?))?)?\s*(?:Z|UTC|([+-]\d{2}):?(\d{2}))?$"
)
_DATE_FORMATS = (
    *("%Y-%m-%d", "%Y/%m/%d", "%Y.%m.%d", "%d.%m.%Y"),
    *("%m/%d/%Y", "%d/%m/%Y", "%m-%d-%Y", "%d-%m-%Y"),  # ambiguous where both match
)
# Other forms are recognized, but not turned into days: Jan 2000, 3-Feb-99, 1/2/99, 1990Q1, 12:30.
_MONTHS = "(jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)[a-z]*"
_OTHER_DATES = (
    rf"(?i)^\s*((\d{{1,2}}[- ])?{_MONTHS}[-. ,]+(\d{{1,2}},? )?\d{{2,4}}"
    rf"|\d{{4}}[- ]?{_MONTHS}([- ]\d{{1,2}})?|\d{{1,2}}/\d{{1,2}}/\d{{2,4}}"
    r"|\d{4}[-/]\d{1,2}(-\d{1,2})?|\d{4}[ :-]?[qmw]\d{1,2}|q\d[ -]?\d{4}|\d{1,2}:\d{2}"
    r")(([T ] *|:)\d{1,2}(:\d{2})*(\.\d+)?)? ?([ap]m)?( ?(Z|UTC|[+-]\d\d:?\d\d))?\s*$"
)
MOST_DATES = 0.9
MICROSECONDS_PER_DAY = 86_400_000_000

T = TypeVar("T")
F = TypeVar("F", "Frame", "LazyFrame")


def import_polars() -> ModuleType:
    try:
        import polars
    except ImportError:
        raise MissingPackageError(
            "reading and writing tables needs polars: pip install 'lowd[app]'."
        ) from None
    return polars


def scan(source: Source, kind: str) -> LazyFrame:
    """A Parquet, Arrow or JSON lines file; only its schema is read."""
    pl = import_polars()

    def scan_file() -> LazyFrame:
        if kind == "parquet":
            lazy: LazyFrame = pl.scan_parquet(_get_input(source), glob=False)
        elif kind == "arrow":
            lazy = pl.scan_ipc(_get_input(source, glob=True))
        else:
            lazy = pl.scan_ndjson(
                _get_input(source, glob=True), infer_schema_length=_INFERENCE_ROWS
            )
        lazy.collect_schema()
        return lazy

    return _translate_errors(source, scan_file)


def is_number(dtype: DataType) -> bool:
    """Whether a type holds numbers, as of truth values."""
    return dtype.is_numeric() or str(dtype) == "Boolean"


def count_rows(source: Source, lazy: LazyFrame) -> int:
    """The number of rows in a file."""
    pl = import_polars()
    return int(_translate_errors(source, lambda: lazy.select(pl.len()).collect().item()))


def select_columns(frame: F, names: Sequence[str]) -> F:
    """Columns with exactly these names: `select` would take a name such as '*' as a pattern."""
    selected: F = frame.select(import_polars().selectors.by_name(*names) if names else [])
    return selected


def collect_columns(
    source: Source, lazy: LazyFrame, names: Sequence[str] | None, every: int
) -> Frame:
    """The named columns of each `every`-th row."""
    chosen = lazy if names is None else select_columns(lazy, names)
    thin = chosen if every == 1 else chosen.gather_every(every)
    return _translate_errors(source, thin.collect)


def number_columns(source: Source, frame: Frame) -> tuple[Frame, list[str]]:
    """The frame with numbers for names, which no function takes as a pattern, and its names."""
    names = list(frame.columns)
    frame = frame.clone()
    frame.columns = [str(number) for number in range(len(names))]
    _check_texts(source, frame, names)
    return frame, names


def _check_texts(source: Source, frame: Frame, names: Sequence[str]) -> None:
    """Refuse texts that are out of proportion to the file.

    A text that stands in many rows is in the file, and in polars' memory, once; an array has each
    entry as wide as the longest.
    """
    size = 0
    for column, name in zip(frame.iter_columns(), names, strict=True):
        longest = _measure_longest_text(column)
        size += _ARRAY_BYTES_PER_CHARACTER * longest * len(column)
        if size > source.max_bytes:
            raise FileFormatError(
                f"{source.name} claims to grow to more than {MAX_COMPRESSION_RATIO} times its "
                f"size: column {name!r} has {len(column)} rows and a text of {longest} "
                f"characters. Leave it out (drop={name!r})."
            )


def _measure_longest_text(column: Series) -> int:
    """Upper bound of the characters in entries that become text; 0 for numbers."""
    pl = import_polars()
    kind = column.dtype
    if kind == pl.String:
        return _get_largest(column.str.len_bytes())
    if kind == pl.Binary:  # bytes are written as b'\x00'
        return 4 * _get_largest(column.bin.size())
    if kind in (pl.Categorical, pl.Enum):  # every row holds only a code
        return _measure_longest_text(column.unique().cast(pl.String))
    if kind == pl.Array:
        column = column.arr.to_list()
    if kind in (pl.List, pl.Array):
        return _get_largest(column.list.len()) * _measure_longest_text(column.explode())
    if kind == pl.Struct:
        return sum(_measure_longest_text(part) for part in column.struct.unnest().iter_columns())
    return 0


def read_text(
    source: Source,
    names: Sequence[str],
    chosen: Sequence[str],
    every: int,
    *,
    separator: str,
    skip_lines: int,
) -> Frame:
    """The rows of a delimited file as text, exactly as written; an empty cell is null."""
    pl = import_polars()

    def scan_file() -> LazyFrame:
        lazy: LazyFrame = pl.scan_csv(
            _get_input(source),
            has_header=False,
            glob=False,
            schema=dict.fromkeys(names, pl.String),
            separator=separator,
            skip_lines=skip_lines,
        )
        return lazy

    return collect_columns(source, _translate_errors(source, scan_file), chosen, every)


class TextFacts(NamedTuple):
    """What is known of all cells of a column of text."""

    filled: int  # cells that are not empty
    numbers: int  # cells that hold a plain number
    distinct: int
    shortest: int
    longest: int
    padded: int
    infinite: int


def measure_texts(frame: Frame) -> tuple[list[TextFacts], Frame]:
    """Facts of columns of text, and the plain numbers in them (null where there is none)."""
    pl = import_polars()
    every = pl.all()
    numbers = frame.select(every.str.strip_chars().cast(pl.Float64, strict=False))
    finite = numbers.select(every.is_finite().sum()).row(0)
    lengths = frame.select(every.str.len_bytes())
    filled = frame.select(every.count()).row(0)
    measured = zip(
        filled,
        finite,
        frame.select(every.n_unique()).row(0),
        lengths.min().row(0),
        lengths.max().row(0),
        frame.select(((every >= "00") & (every < "0:")).sum()).row(0),
        numbers.select(every.is_infinite().sum()).row(0),
        strict=True,
    )
    facts = [
        TextFacts(count, number, unique - (count < len(frame)), least or 0, most or 0, *others)
        for count, number, unique, least, most, *others in measured
    ]
    return facts, numbers


def parse_numbers(
    cells: Series, decimal: str = ".", thousands: str = "", affix: str = ""
) -> Series:
    """The numbers in cells that are written so; null where there is none, or it is not finite."""
    pl = import_polars()
    core = pl.first().str.strip_chars().str.replace_all("[\u2212\u2013]", "-")
    if affix:
        core = core.str.replace(affix, "", literal=True).str.replace("(", "-", literal=True)
        core = core.str.replace(")", "", literal=True).str.strip_chars()
    plain = core
    if (decimal, thousands, affix) != (".", "", ""):
        groups = rf"[1-9]\d{{0,2}}([{thousands}]\d{{3}})+|" if thousands else ""
        form = rf"^[+-]?\s*({groups}\d*)([{decimal}]\d*)?([eE][+-]?\d+)?$"
        plain = core.str.replace_all(rf"[\s{thousands}]", "")
        plain = plain.str.replace(decimal, ".", literal=True)
        plain = pl.when(core.str.contains(form)).then(plain)
    numbers = plain.cast(pl.Float64, strict=False)
    return cells.to_frame().select(pl.when(numbers.is_finite()).then(numbers)).to_series()


def find_missing(cells: Series) -> Series:
    """Which cells are empty, or hold a word for a missing value."""
    return cells.is_null() | cells.str.strip_chars().str.to_lowercase().is_in(list(MISSING))


def count_levels(cells: Series, most: int) -> dict[str, int]:
    """The most frequent different texts, and how often they occur."""
    found = cells.drop_nulls().alias("text").value_counts(sort=True, name="count").head(most)
    return dict(zip(found["text"].to_list(), found["count"].to_list(), strict=True))


def _get_largest(sizes: Series) -> int:
    return 0 if sizes.null_count() == len(sizes) else int(sizes.drop_nulls().to_numpy().max())


def to_matrix(columns: Mapping[str, Series | NDArray[Any]]) -> NDArray[np.floating[Any]]:
    """All columns as one array: float32 where that holds every value exactly."""
    frame = import_polars().DataFrame(dict(columns))
    kind = _choose_dtype(frame.dtypes)
    if any(array != kind for array in frame.dtypes):
        frame = frame.cast(kind)
    return np.asarray(frame.to_numpy(order="c"))


def read_matrix(
    source: Source, lazy: LazyFrame, names: Sequence[str], rows: int, every: int
) -> tuple[NDArray[np.floating[Any]], list[LargeInteger]]:
    """Read the named columns as one array without a frame of all; also return what it rounds.

    Some columns at a time, and of these a block that stays in the cache: at 200 MB a third faster
    than all at once, in half the memory.
    """
    schema = lazy.collect_schema()
    kind = _choose_dtype([schema[name] for name in names])
    X = np.empty((rows, len(names)), choose_array_dtype([schema[name] for name in names]))
    rounded: list[LargeInteger] = []
    step = max(_MIN_PART_COLUMNS, -(-len(names) // MATRIX_PARTS))
    for first in range(0, len(names), step):
        frame = collect_columns(source, lazy, names[first : first + step], every)
        if len(frame) != rows:
            raise FileFormatError(f"{source.name} is damaged: its columns differ in length.")
        rounded += list_large_integers(frame)
        _transpose_into(frame.cast(kind), X[:, first : first + step])
        progress.report("reading columns", min(first + step, len(names)), len(names))
    return X, rounded


def _transpose_into(frame: Frame, X: NDArray[np.floating[Any]]) -> None:
    """Copy columns into a row-major array, a block that stays in the cache at a time."""
    end = 0
    for length in frame.to_series(0).chunk_lengths():  # slices within a chunk are not copied
        start, end = end, end + length
        columns = [column.to_numpy() for column in frame.slice(start, length).iter_columns()]
        for first in range(0, length, _TRANSPOSED_ROWS):
            rows = X[start + first : min(start + first + _TRANSPOSED_ROWS, end)]
            for j, column in enumerate(columns):
                rows[:, j] = column[first : first + len(rows)]


def has_dates(cells: Series) -> bool:
    """Whether nearly every text is a date or a time of day in some usual form."""
    known = cells.drop_nulls()
    if not len(known) or not known.head(20).str.contains(_OTHER_DATES).all():
        return False
    return int(known.str.contains(_OTHER_DATES).sum()) > MOST_DATES * len(known)


def read_dates(column: Series) -> list[Series]:
    """Ways to read a column as dates or durations: none, one, or two if 3/4/2020 is ambiguous."""
    pl = import_polars()
    if column.dtype in (pl.Date, pl.Datetime):
        return [column.cast(pl.Datetime("us"))]
    if column.dtype == pl.Duration:
        return [column.cast(pl.Duration("us"))]
    if column.dtype != pl.String or (first := column.drop_nulls().head(1)).is_empty():
        return []
    if re.fullmatch(r"\d{4}-\d{1,2}", first.item().strip()):  # a month, which begins on its first
        column, first = (part.str.strip_chars() + "-01" for part in (column, first))
    if not _DATE_TEXT.match(first.item().strip()):
        return []
    parts = [column.str.strip_chars().str.extract(_DATE_TEXT.pattern, g) for g in range(1, 7)]
    hours, minutes, seconds, zone_hours, zone_minutes = (
        part.cast(pl.Float64).fill_null(0) for part in parts[1:]
    )
    sign = parts[4].str.starts_with("-").fill_null(value=False).cast(pl.Float64) * -2 + 1
    zone = zone_hours * 3600 + sign * zone_minutes * 60
    of_day = ((hours * 3600 + minutes * 60 + seconds - zone) * 1e6).cast(pl.Int64)
    readings: list[Series] = []
    for form in _DATE_FORMATS:
        days = parts[0].str.to_date(form, strict=False)
        if days.null_count() > column.null_count():
            continue
        found = (days.cast(pl.Datetime("us")) + of_day.cast(pl.Duration("us"))).alias(column.name)
        if not any(found.equals(other) for other in readings):
            readings.append(found)
    return readings


def to_days(dates: Series) -> Series:
    """Convert dates to days since 1970, and durations to days."""
    pl = import_polars()
    return dates.cast(pl.Int64).cast(pl.Float64) / MICROSECONDS_PER_DAY


def make_frame(columns: Mapping[str, ArrayLike]) -> Frame:
    """Make a frame of named columns."""
    pl = import_polars()
    arrays = {name: np.asarray(array) for name, array in columns.items()}
    plain = {
        n: array.tolist() if array.dtype.kind in "OU" else array for n, array in arrays.items()
    }
    frame: Frame = pl.DataFrame(plain)
    return frame


def make_columns(columns: Mapping[str, Series | NDArray[Any] | list[str | None]]) -> Frame:
    """Make a frame of columns in which missing values are null; lists are text."""
    pl = import_polars()
    made = {
        name: pl.Series(column, dtype=pl.String, strict=False).alias(name)
        if isinstance(column, list)
        else pl.Series(column).fill_nan(None).alias(name)
        if isinstance(column, np.ndarray)
        else column.alias(name)
        for name, column in columns.items()
    }
    frame: Frame = pl.DataFrame(list(made.values()))
    return frame


def write(frame: Frame, file: IO[bytes], kind: str) -> None:
    """Write a frame in one of the tabular formats."""
    if kind in ("csv", "tsv"):
        frame.write_csv(file, separator="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        frame.write_parquet(file)
    elif kind == "arrow":
        frame.write_ipc(file)
    elif kind == "arrow stream":  # uses types that every reader of Arrow knows
        oldest = import_polars().CompatLevel.oldest()
        frame.write_ipc_stream(file, compression="uncompressed", compat_level=oldest)
    else:
        frame.write_ndjson(file)


def _choose_dtype(kinds: Sequence[DataType]) -> type[DataType]:
    """float32 where that holds every value exactly."""
    pl = import_polars()
    exact = all(str(kind) in _FLOAT32_TYPES for kind in kinds)
    dtype: type[DataType] = pl.Float32 if exact else pl.Float64
    return dtype


def choose_array_dtype(kinds: Sequence[DataType]) -> np.dtype[Any]:
    """The type of an array that holds such columns."""
    single = _choose_dtype(kinds) == import_polars().Float32
    return np.dtype(np.float32 if single else np.float64)


def _get_input(source: Source, glob: bool = False) -> Path | IO[bytes]:
    """Return a path, or a buffer where polars would take the path as a pattern."""
    if source.path is None or (glob and set("*?[") & set(str(source.path))):
        return io.BytesIO(source.read_all())
    return source.path


def _translate_errors(source: Source, call: Callable[[], T]) -> T:
    """Call polars; whatever it cannot read raises `FileFormatError`, exception or panic."""
    pl = import_polars()
    try:
        return call()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        # The text of a panic is meant for the authors of polars.
        panic = isinstance(error, pl.exceptions.PanicException)
        reason = "polars gave up" if panic else str(error).strip().partition("\n")[0].rstrip(".")
        raise FileFormatError(
            f"{source.name} is damaged or is not what its name says ({reason})."
        ) from None
