"""Columns by polars: the one file that knows it.

Elsewhere a frame is asked by its own methods only, so that nothing else imports the package.
"""

from __future__ import annotations

import io
from collections.abc import Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import FileFormatError, MissingPackageError
from .source import Source

if TYPE_CHECKING:
    import polars

# What people write where a number is missing.
NOTHING = ["", "NA", "N/A", "n/a", "NULL", "null", "None", "?", "#N/A"]
_LOOK = 1000  # rows from which the types of a text file are guessed
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
            lazy = pl.scan_ipc(_target(source), glob=False)
        else:
            lazy = pl.scan_ndjson(_target(source, glob=True), infer_schema_length=_LOOK)
        lazy.collect_schema()
        return lazy

    frame: polars.LazyFrame = _guarded(source, opened)
    return frame


def height(source: Source, lazy: polars.LazyFrame) -> int:
    pl = package()
    return int(_guarded(source, lambda: lazy.select(pl.len()).collect().item()))


def collected(
    source: Source, lazy: polars.LazyFrame, names: Sequence[str] | None, every: int
) -> polars.DataFrame:
    """The named columns of each `every`-th row."""
    chosen = lazy if names is None else lazy.select(names)
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

    A guess from the first rows that fails later on is made good by reading text only: what is no
    number is found, and named, from there.
    """
    pl = package()
    settings = {"has_header": False, "null_values": NOTHING, "glob": False, **layout}

    def lazy(**types: Any) -> Any:
        return pl.scan_csv(_target(source), new_columns=list(names), **types, **settings)

    first = _guarded(source, lambda: lazy(infer_schema_length=_LOOK).collect_schema())
    if len(first) != len(names):
        raise FileFormatError(
            f"{source.name}: {len(first)} columns where {len(names)} are expected."
        )
    types = {
        name: pl.Float64 if kind.is_integer() and name not in exact else kind
        for name, kind in first.items()
    }
    try:
        return collected(source, lazy(schema=types), chosen, every)
    except FileFormatError:
        return collected(source, lazy(infer_schema=False), chosen, every)


def matrix(frame: polars.DataFrame) -> NDArray[np.floating[Any]]:
    """All columns as one array, in float32 where that holds every value exactly."""
    pl = package()
    narrow = all(str(kind) in _NARROW for kind in frame.dtypes)
    kind = pl.Float32 if narrow else pl.Float64
    return np.asarray(frame.cast(kind).to_numpy(order="c"))


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
        reason = str(error).strip().partition("\n")[0].rstrip(".")
        raise FileFormatError(
            f"{source.name} is damaged, or not what its name says ({reason})."
        ) from None
