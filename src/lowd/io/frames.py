"""Columns by polars: the one file that knows it.

Elsewhere a frame is asked by its own methods only, so that nothing else imports the package.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import FileFormatError, MissingPackageError
from .source import Source

if TYPE_CHECKING:
    import polars

# What people write where a number is missing.
NOTHING = ["", "NA", "N/A", "n/a", "NULL", "null", "None", "?", "#N/A"]
_LOOK = 1000  # rows from which the types of a text file are guessed
PARTS = 16  # in which columns that become a matrix are read
_FEWEST = 4  # columns of a part
_BLOCK = 8192  # rows turned at a time
_NARROW = {"Float32", "Int8", "Int16", "UInt8", "UInt16", "Boolean"}  # float32 holds them exactly


def package() -> Any:
    try:
        import polars
    except ImportError:
        raise MissingPackageError(
            "reading and writing tables needs polars: pip install 'lowd[app]'."
        ) from None
    return polars


def scan(source: Source, kind: str) -> polars.LazyFrame:
    """A Parquet, Arrow or JSON lines file, of which nothing but the schema is read."""
    pl = package()

    def opened() -> Any:
        if kind == "parquet":
            lazy = pl.scan_parquet(_target(source), glob=False)
        elif kind == "arrow":
            lazy = pl.scan_ipc(_target(source, glob=True))
        else:
            lazy = pl.scan_ndjson(_target(source, glob=True), infer_schema_length=_LOOK)
        lazy.collect_schema()
        return lazy

    frame: polars.LazyFrame = _guarded(source, opened)
    return frame


def height(source: Source, lazy: polars.LazyFrame) -> int:
    pl = package()
    return int(_guarded(source, lambda: lazy.select(pl.len()).collect().item()))


def picked(frame: Any, names: Sequence[str]) -> Any:
    """The columns of exactly these names: in `select` a name may be a pattern, such as '*'."""
    return frame.select(package().selectors.by_name(*names) if names else [])


def collected(
    source: Source, lazy: polars.LazyFrame, names: Sequence[str] | None, every: int
) -> polars.DataFrame:
    """The named columns of each `every`-th row."""
    chosen = lazy if names is None else picked(lazy, names)
    thin = chosen if every == 1 else chosen.gather_every(every)
    frame: polars.DataFrame = _guarded(source, thin.collect)
    return frame


def from_text(
    source: Source,
    names: Sequence[str],
    chosen: Sequence[str],
    exact: Sequence[str],
    every: int,
    **layout: Any,
) -> polars.DataFrame:
    """A delimited file without its header; integers become floats but in the `exact` columns.

    Types are guessed from the first rows. A guess that fails later on is made good by looking for
    words that mean nothing, which costs a quarter more, and then by reading text only: what is no
    number is found, and named, from there.
    """
    pl = package()

    def lazy(**types: Any) -> Any:
        settings = {"has_header": False, "glob": False, "new_columns": list(names), **layout}
        return pl.scan_csv(_target(source), **settings, **types)

    look = {"infer_schema_length": _LOOK, "null_values": NOTHING}
    first = _guarded(source, lambda: lazy(**look).collect_schema())
    if len(first) != len(names):
        raise FileFormatError(
            f"{source.name}: {len(first)} columns where {len(names)} are expected."
        )
    types = {
        name: pl.Float64 if kind.is_integer() and name not in exact else kind
        for name, kind in first.items()
    }
    for attempt in ({"schema": types}, {"schema": types, "null_values": NOTHING}):
        with suppress(FileFormatError):
            return _without_words(collected(source, lazy(**attempt), chosen, every))
    return _without_words(collected(source, lazy(infer_schema=False), chosen, every))


def _without_words(frame: polars.DataFrame) -> polars.DataFrame:
    """Words that mean nothing, in columns of text."""
    pl = package()
    text = pl.col(pl.String)
    cleared: polars.DataFrame = frame.with_columns(pl.when(~text.is_in(NOTHING)).then(text))
    return cleared


def matrix(frame: polars.DataFrame) -> NDArray[np.floating[Any]]:
    """All columns as one array."""
    kind = _common(frame.dtypes)
    if any(held != kind for held in frame.dtypes):
        frame = frame.cast(kind)
    return np.asarray(frame.to_numpy(order="c"))


def filled(
    source: Source, lazy: polars.LazyFrame, names: Sequence[str], rows: int, every: int
) -> NDArray[np.floating[Any]]:
    """The named columns of a file as one array, without a frame of them all.

    Some columns at a time, and of these a block that stays in the cache: at 200 MB a third faster
    than all at once, in half the memory.
    """
    schema: Any = lazy.collect_schema()
    kind = _common([schema[name] for name in names])
    X = np.empty((rows, len(names)), np.float32 if kind == package().Float32 else np.float64)
    step = max(_FEWEST, -(-len(names) // PARTS))
    for first in range(0, len(names), step):
        frame = collected(source, lazy, names[first : first + step], every)
        if len(frame) != rows:
            raise FileFormatError(f"{source.name} is damaged: its columns differ in length.")
        _turn(frame.cast(kind), X[:, first : first + step])
        progress.report("reading columns", min(first + step, len(names)), len(names))
    return X


def _turn(frame: polars.DataFrame, X: NDArray[Any]) -> None:
    """Columns become rows, a block that stays in the cache at a time."""
    end = 0
    for length in frame.to_series(0).chunk_lengths():  # a slice within a chunk is not copied
        start, end = end, end + length
        columns = [column.to_numpy() for column in frame.slice(start, length).iter_columns()]
        for first in range(0, length, _BLOCK):
            rows = X[start + first : min(start + first + _BLOCK, end)]
            for j, column in enumerate(columns):
                rows[:, j] = column[first : first + len(rows)]


def made(columns: Mapping[str, Any]) -> polars.DataFrame:
    """A frame of named columns."""
    pl = package()
    arrays = {name: np.asarray(held) for name, held in columns.items()}
    plain = {n: held.tolist() if held.dtype.kind in "OU" else held for n, held in arrays.items()}
    frame: polars.DataFrame = pl.DataFrame(plain)
    return frame


def put(frame: polars.DataFrame, file: IO[bytes], kind: str) -> None:
    """Write a frame in one of the tabular formats."""
    if kind in ("csv", "tsv"):
        frame.write_csv(file, separator="\t" if kind == "tsv" else ",")
    elif kind == "parquet":
        frame.write_parquet(file)
    elif kind == "arrow":
        frame.write_ipc(file)
    else:
        frame.write_ndjson(file)


def _common(kinds: Sequence[Any]) -> Any:
    """float32 where that holds every value exactly."""
    pl = package()
    return pl.Float32 if all(str(kind) in _NARROW for kind in kinds) else pl.Float64


def _target(source: Source, glob: bool = False) -> Any:
    """A name or a buffer; a name that would be taken as a pattern is a buffer, too."""
    if source.path is None or (glob and set("*?[") & set(str(source.path))):
        return io.BytesIO(source.everything())
    return source.path


def _guarded(source: Source, work: Any) -> Any:
    """Run it; what polars cannot read is our error, be it an exception or a panic."""
    pl = package()
    try:
        return work()
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException, OSError, ValueError) as error:
        panic = isinstance(error, pl.exceptions.PanicException)  # its text is for polars' authors
        reason = "polars gave up" if panic else str(error).strip().partition("\n")[0].rstrip(".")
        raise FileFormatError(
            f"{source.name} is damaged, or not what its name says ({reason})."
        ) from None
