"""`lowd.io.write`: a table of coordinates becomes a file, all of it or nothing."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import (
    DataError,
    ExistingFileError,
    MissingFileError,
    ParameterError,
    UnsupportedError,
)
from . import annotated, frames
from .source import PACKED, zstandard
from .table import Table

_FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".npy": "npy",
    ".npz": "npz",
    ".h5ad": "h5ad",
}


def write(
    path: str | os.PathLike[str],
    table: Any,
    force: bool = False,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> None:
    """Write a table: identifiers, labels, columns of X and extra columns, in this order.

    Parameters
    ----------
    path
        CSV, TSV (also packed: .csv.gz, ...), Parquet, Arrow or Feather, JSON lines, .npy (X
        alone), .npz or .h5ad (X as a map in `obsm`), by its suffix. "-" is standard output, whose
        format must be said.
    table
        A `Table` (`Table.mapped` makes one of a map), or a mapping from names to columns.
    force
        Replace a file that is there. It stays as it was until all of the new one is written.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, lowd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "map.csv"
    >>> lowd.io.write(path, {"id": ["a", "b"], "pca0": np.array([0.5, -0.5])})
    >>> path.read_text()
    'id,pca0\\na,0.5\\nb,-0.5\\n'
    """
    kind, packing = _kind(path, format)
    if isinstance(table, Mapping):
        table = Table(
            np.empty((len(next(iter(table.values()), ())), 0)),
            extra={str(name): np.asarray(column) for name, column in table.items()},
        )
    if not isinstance(table, Table):
        raise ParameterError(f"write: expected a Table or a mapping, got {type(table).__name__}.")
    if not isinstance(table.X, np.ndarray) or table.X.ndim != 2:
        raise UnsupportedError(
            f"write: only dense rows are written, not {table.kind} of {type(table.X).__name__}; "
            "Table.mapped puts a map in their place."
        )
    if os.fspath(path) == "-":
        if kind == "h5ad":
            raise UnsupportedError("an .h5ad file cannot be written to standard output; name it.")
        sys.stdout.buffer.write(_bytes(table, kind))
        sys.stdout.buffer.flush()
        return
    if kind == "h5ad":
        replaced(path, lambda beside: annotated.put(beside, table), force)
        return

    def put(beside: Path) -> None:
        with _opened(beside, packing) as file:
            _put(table, file, kind)

    replaced(path, put, force)


def replaced(path: str | os.PathLike[str], put: Callable[[Path], None], force: bool) -> None:
    """Let `put` write a file beside `path`, then give it that name; on any failure leave nothing.

    A file that is there already is kept unless `force` is given, whenever it appeared.
    """
    target = Path(path)
    check_target(target, force)
    beside = target.with_name(f".{secrets.token_hex(8)}{target.name[-64:]}")
    try:
        put(beside)
        with beside.open("rb") as file:
            os.fsync(file.fileno())
        if force:
            os.replace(beside, target)
        else:
            _renamed(beside, target)
    except BaseException:
        beside.unlink(missing_ok=True)
        raise


def check_target(path: str | os.PathLike[str], force: bool) -> None:
    """Raise now what `replaced` would raise after hours of work."""
    target = Path(path)
    if not target.parent.is_dir():
        raise MissingFileError(f"the folder {target.parent} is not there; create it first.")
    if target.is_symlink():
        raise ExistingFileError(
            f"{target} is a link to {os.readlink(target)}; name the file itself."
        )
    if target.is_dir():
        raise ExistingFileError(f"{target} is a folder; name a file in it.")
    if target.exists() and not force:
        raise ExistingFileError(
            f"{target} is there already; choose another name, or replace it with force=True "
            "(--force)."
        )


def _renamed(beside: Path, target: Path) -> None:
    """Rename without replacing what another process may have written meanwhile."""
    try:
        os.link(beside, target)
    except FileExistsError:
        check_target(target, False)
    except OSError:  # no hard links on this file system
        check_target(target, False)
        os.replace(beside, target)
        return
    beside.unlink()


def _kind(path: str | os.PathLike[str], given: str | None) -> tuple[str, str]:
    name = Path(path).name.lower()
    packing = next((suffix for suffix in PACKED if name.endswith(suffix)), "")
    suffix = Path(name.removesuffix(packing)).suffix
    kinds = dict.fromkeys(_FORMATS.values())
    if given is not None and given not in kinds:
        raise ParameterError(f"write(format={given!r}): expected one of {', '.join(kinds)}.")
    kind = given or _FORMATS.get(suffix)
    if kind is None:
        raise ParameterError(
            f"{os.fspath(path)!r}: no format is known by that name; end it in "
            f"{', '.join(_FORMATS)}, or say format=... ."
        )
    if packing and kind not in ("csv", "tsv", "jsonl"):
        raise ParameterError(f"{os.fspath(path)!r}: only text is packed; leave out {packing!r}.")
    return kind, packing


def _opened(path: Path, packing: str) -> Any:
    if not packing:
        return path.open("xb")
    if packing == ".zst":
        return zstandard().open(path, "xb")
    module: Any = {".gz": gzip, ".bz2": bz2, ".xz": lzma}[packing]
    return module.open(path, "xb")


def _put(table: Table, file: IO[bytes], kind: str) -> None:
    if kind == "npy":
        np.lib.format.write_array(file, np.asarray(table.X), allow_pickle=False)
    elif kind == "npz":
        np.savez(file, allow_pickle=False, **_arrays(table))
    else:
        frames.put(frames.made(_columns(table)), file, kind)


def _bytes(table: Table, kind: str) -> bytes:
    with io.BytesIO() as file:
        _put(table, file, kind)
        return file.getvalue()


def _columns(table: Table) -> dict[str, NDArray[Any]]:
    columns: dict[str, NDArray[Any]] = {}
    if table.ids is not None:
        columns[table.id_name] = table.ids
    if table.labels is not None:
        columns[table.label_name] = table.labels
    X = np.asarray(table.X)
    for j, name in enumerate(table.columns):
        columns[name] = X[:, j]
    for name, column in table.extra.items():
        if name in columns:
            raise DataError(f"two columns are named {name!r}; rename one of them.")
        columns[name] = column
    return columns


def _arrays(table: Table) -> dict[str, NDArray[Any]]:
    """Columns are named by an array of their own, so that they can be read back."""
    arrays = {"X": np.asarray(table.X), "columns": np.array(table.columns, np.str_)}
    arrays |= {} if table.ids is None else {"ids": table.ids}
    arrays |= {} if table.labels is None else {"labels": table.labels}
    return arrays | dict(table.extra)
