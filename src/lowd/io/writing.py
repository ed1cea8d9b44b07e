"""`lowd.io.write`: write a table of coordinates to a file, completely or not at all."""

from __future__ import annotations

import io
import os
import secrets
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import ArrayLike

from ..errors import (
    DataError,
    ExistingFileError,
    ParameterError,
    UnsupportedError,
    check_folder,
)
from . import frames, h5ad
from .source import COMPRESSED_SUFFIXES, import_compression
from .table import Column, Table

_FORMAT_OF_SUFFIX = {
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
    table: Table | Mapping[str, ArrayLike],
    force: bool = False,
    *,
    format: str | None = None,  # noqa: A002 - the word that users know
) -> None:
    """Write a table: identifiers, labels, columns of X and extra columns, in this order.

    Parameters
    ----------
    path : str or PathLike
        CSV, TSV (also compressed: .csv.gz, ...), Parquet, Arrow or Feather, JSON lines, .npy (X
        alone), .npz or .h5ad (X as an embedding in `obsm`), by its suffix. "-" is standard output,
        whose format must be given.
    table : Table or dict
        A `Table` (`Table.with_embedding` makes one of an embedding), or a mapping from names to
        columns.
    force : bool, default=False
        Replace a file that is there. It stays as it was until all of the new one is written.

    Examples
    --------
    >>> import numpy as np, pathlib, tempfile, lowd
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "map.csv"
    >>> lowd.io.write(path, {"id": ["a", "b"], "pca0": np.array([0.5, -0.5])})
    >>> path.read_text()
    'id,pca0\\na,0.5\\nb,-0.5\\n'
    """
    kind, compression = _choose_format(path, format)
    if isinstance(table, Mapping):
        columns = {str(name): np.asarray(column) for name, column in table.items()}
        table = Table(np.empty((len(next(iter(columns.values()), ())), 0)), extra=columns)
    if not isinstance(table, Table):
        raise ParameterError(f"write: expected a Table or a mapping, got {type(table).__name__}.")
    if not isinstance(table.X, np.ndarray) or table.X.ndim != 2:
        raise UnsupportedError(
            f"write: only dense rows are written, not {table.kind} of {type(table.X).__name__}; "
            "Table.with_embedding makes a table of an embedding."
        )
    if os.fspath(path) == "-":
        if kind == "h5ad":
            raise UnsupportedError("an .h5ad file cannot be written to standard output; name it.")
        sys.stdout.buffer.write(_encode(table, kind))
        sys.stdout.buffer.flush()
        return
    if kind == "h5ad":
        replace_file(path, lambda temporary: h5ad.write(temporary, table), force)
        return

    def write_file(temporary: Path) -> None:
        with _open(temporary, compression) as file:
            _write(table, file, kind)

    replace_file(path, write_file, force)


def replace_file(
    path: str | os.PathLike[str], write_file: Callable[[Path], None], force: bool
) -> None:
    """Let `write_file` write a temporary file, then rename it; leave nothing after a failure.

    A file that is there already is kept unless `force` is given, whenever it appeared.
    """
    check_target(path, force)
    write_completely(path, write_file, overwrite=force)


def write_completely(
    path: str | os.PathLike[str], write_file: Callable[[Path], None], *, overwrite: bool = True
) -> None:
    """Let `write_file` write a temporary file beside `path`, then rename it; or leave nothing."""
    check_folder(path)
    target = Path(path)
    temporary = target.with_name(f".{secrets.token_hex(8)}{target.name[-64:]}")
    try:
        write_file(temporary)
        with temporary.open("rb") as file:
            os.fsync(file.fileno())
        if overwrite:
            os.replace(temporary, target)
        else:
            _rename_new(temporary, target)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def check_target(path: str | os.PathLike[str], force: bool) -> None:
    """Raise if `path` cannot be written, before hours of work rather than after them."""
    target = Path(path)
    check_folder(target)
    if target.is_symlink():
        raise ExistingFileError(
            f"{target} is a link to {os.readlink(target)}; name the file itself."
        )
    if target.is_dir():
        raise ExistingFileError(f"{target} is a folder; name a file in it.")
    if target.exists() and not force:
        raise ExistingFileError(
            f"{target} already exists; choose another name, or replace it with force=True."
        )


def _rename_new(temporary: Path, target: Path) -> None:
    """Rename without replacing what another process may have written meanwhile."""
    try:
        os.link(temporary, target)
    except FileExistsError:
        check_target(target, False)
    except OSError:  # this file system has no hard links
        check_target(target, False)
        os.replace(temporary, target)
        return
    temporary.unlink()


def _choose_format(path: str | os.PathLike[str], given: str | None) -> tuple[str, str]:
    name = Path(path).name.lower()
    compression = next((suffix for suffix in COMPRESSED_SUFFIXES if name.endswith(suffix)), "")
    suffix = Path(name.removesuffix(compression)).suffix
    kinds = dict.fromkeys(_FORMAT_OF_SUFFIX.values())
    if given is not None and given not in kinds:
        raise ParameterError(f"write(format={given!r}): expected one of {', '.join(kinds)}.")
    kind = given or _FORMAT_OF_SUFFIX.get(suffix)
    if kind is None:
        raise ParameterError(
            f"{os.fspath(path)!r}: no format is known by that name; end it in "
            f"{', '.join(_FORMAT_OF_SUFFIX)}, or say format=... ."
        )
    if compression and kind not in ("csv", "tsv", "jsonl"):
        raise ParameterError(
            f"{os.fspath(path)!r}: only text is compressed; leave out {compression!r}."
        )
    return kind, compression


def _open(path: Path, compression: str) -> IO[bytes]:
    if not compression:
        return path.open("xb")
    file: IO[bytes] = import_compression(compression).open(path, "xb")
    return file


def _write(table: Table, file: IO[bytes], kind: str) -> None:
    if kind == "npy":
        np.lib.format.write_array(file, np.asarray(table.X), allow_pickle=False)
    elif kind == "npz":
        np.savez(file, allow_pickle=False, **_collect_arrays(table))
    else:
        frames.write(frames.make_frame(_collect_columns(table)), file, kind)


def _encode(table: Table, kind: str) -> bytes:
    with io.BytesIO() as file:
        _write(table, file, kind)
        return file.getvalue()


def _collect_columns(table: Table) -> dict[str, Column]:
    columns: dict[str, Column] = {}
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


def _collect_arrays(table: Table) -> dict[str, Column]:
    """The arrays of an .npz file; one holds the column names so that they can be read back."""
    arrays = {"X": np.asarray(table.X), "columns": np.array(table.columns, np.str_)}
    arrays |= {} if table.ids is None else {"ids": table.ids}
    arrays |= {} if table.labels is None else {"labels": table.labels}
    return arrays | dict(table.extra)
