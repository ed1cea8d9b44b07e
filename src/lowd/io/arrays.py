"""Read NumPy's .npy and .npz and SciPy's sparse .npz. Nothing is unpickled.

Headers are read first: an array must have the size it claims, and all of it must fit.
"""

from __future__ import annotations

import math
import zipfile
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csc_array, csr_array

from ..errors import ColumnTypeError, DataError, FileFormatError, NotEnoughMemoryError
from ..input.entries import list_large_integers
from .genotypes import MAX_ALLELE_COUNT, MISSING_GENOTYPE
from .images import THUMBNAIL_PIXELS
from .options import Options, describe_rounding
from .source import MAX_COMPRESSION_RATIO, Source, require_memory
from .table import Column, Data, Table
from .words import quote_names

_ARRAY_REMEDY = "Read it in blocks: lowd.open_blocks(path)."
_ROW_ARRAYS = ("X", "data", "embeddings", "embedding", "arr_0")
_LABEL_ARRAYS = ("y", "labels", "label", "target")
_ID_ARRAYS = ("ids", "id", "names", "words", "sample", "index")
# Largest number of rows or columns: SciPy's index arithmetic overflows beyond it.
MAX_SPARSE_EXTENT = 2**40
MAX_EMPTY_ROWS = 10**7  # Most empty rows of a sparse matrix; more point to a damaged size.
MAX_NAMED_COLUMNS = 10**6  # More names would take more memory than a sparse matrix itself.
_READ_ERRORS = (
    ValueError,
    EOFError,
    OSError,
    KeyError,
    SyntaxError,
    zipfile.BadZipFile,
    RuntimeError,
)


def read_npy(source: Source, options: Options) -> Table:
    with source.open() as file:
        array = _read_array(file, source.size, source.name, source)
    return _make_table(array, {}, options, source.name)


def read_npz(source: Source, options: Options) -> Table:
    arrays = read_members(source)
    if {"format", "shape", "data"} <= set(arrays):
        return _make_table(_make_sparse(arrays, source), {}, options, source.name)
    name = options.array or _find_rows(arrays, source.name)
    if name not in arrays:
        raise DataError(f"{source.name}: no array {name!r}; it holds {quote_names(arrays)}.")
    others = {key: array for key, array in arrays.items() if key != name}
    return _make_table(arrays[name], others, options, source.name)


def read_members(source: Source) -> dict[str, Column]:
    """Return all arrays of an .npz file by name."""
    try:
        with source.open() as file, zipfile.ZipFile(file) as archive:
            infos = archive.infolist()
            _check_members(infos, source)
            arrays = {}
            for info in infos:
                with archive.open(info) as member:
                    label = f"{source.name}, array {info.filename!r}"
                    arrays[info.filename.removesuffix(".npy")] = _read_array(
                        member, info.file_size, label, None
                    )
            return arrays
    except (DataError, NotEnoughMemoryError):
        raise
    except _READ_ERRORS as error:
        raise FileFormatError(
            f"{source.name} is damaged or is not an .npz file ({type(error).__name__}: {error})."
        ) from None


def _check_members(infos: list[zipfile.ZipInfo], source: Source) -> None:
    for info in infos:
        name = info.filename
        if not name.endswith(".npy") or "/" in name or "\\" in name or name.startswith("."):
            raise FileFormatError(
                f"{source.name} holds {name!r}, which numpy.savez does not write; an .npz file "
                "holds arrays (NAME.npy) and nothing else."
            )
    total = sum(info.file_size for info in infos)
    if total > source.max_bytes:
        raise FileFormatError(
            f"{source.name} claims to decompress to more than {MAX_COMPRESSION_RATIO} times its "
            "size; if it can be trusted, store it uncompressed (numpy.savez)."
        )
    require_memory(source, {"arrays": total, "matrix": total}, _ARRAY_REMEDY)


def _read_array(file: IO[bytes], size: int, name: str, source: Source | None) -> Column:
    """Return the array of an open .npy file of `size` bytes."""
    shape, fortran, dtype, start = _read_header(file, name)
    count = math.prod(shape)
    if dtype.hasobject:
        raise ColumnTypeError(
            f"{name} holds Python objects, which only pickle can read, and pickle can run any "
            "code; save numbers: numpy.save(path, array.astype(float))."
        )
    if dtype.kind not in "fiubUS":
        raise ColumnTypeError(f"{name} holds {dtype}; expected numbers.")
    if count * dtype.itemsize != size - start:
        raise FileFormatError(
            f"{name} is cut off or damaged: its header claims {count * dtype.itemsize} bytes of "
            f"data, but there are {size - start}."
        )
    if source is not None:
        require_memory(source, {"matrix": count * max(8, dtype.itemsize)}, _ARRAY_REMEDY)
    raw = np.empty(size - start, np.uint8)
    if file.readinto(raw.data) != len(raw):  # type: ignore[attr-defined]
        raise FileFormatError(f"{name} is cut off.")
    array = raw.view(dtype)
    return array.reshape(shape[::-1]).T if fortran else array.reshape(shape)


def _read_header(file: IO[bytes], name: str) -> tuple[tuple[int, ...], bool, np.dtype[Any], int]:
    readers = {
        (1, 0): np.lib.format.read_array_header_1_0,
        (2, 0): np.lib.format.read_array_header_2_0,
    }
    try:
        version = np.lib.format.read_magic(file)
        shape, fortran, dtype = readers[version](file)
    except Exception as error:
        # NumPy tokenizes the header, which can fail with many kinds of errors
        raise FileFormatError(f"{name} is damaged or is not an .npy file ({error}).") from None
    if any(extent < 0 for extent in shape):
        raise FileFormatError(f"{name} is damaged: it claims the shape {shape}.")
    return shape, fortran, dtype, file.tell()


def _find_rows(arrays: dict[str, Column], where: str) -> str:
    """The array that holds the rows: by its name, else the only matrix of numbers, or images."""
    numbers = {name: a.ndim for name, a in arrays.items() if a.dtype.kind in "fiub"}
    matrices = [name for name, ndim in numbers.items() if ndim == 2]
    matrices = matrices or [name for name, ndim in numbers.items() if ndim > 2]
    for name in _ROW_ARRAYS:
        if name in arrays and (name in matrices or len(arrays) == 1):
            return name
    if len(matrices) == 1:
        return matrices[0]
    raise DataError(
        f"{where} holds the arrays {quote_names(arrays)}, of which {len(matrices)} could be the "
        "rows; name one by array=... ."
    )


def _make_table(X: Data, others: dict[str, Column], options: Options, where: str) -> Table:
    notes = []
    if X.ndim > 2:
        notes.append(f"{where}: each {' × '.join(map(str, X.shape[1:]))} block became one row.")
        X = X.reshape(len(X), -1)
    n = X.shape[0] if X.ndim else 0
    per_row = {name: a for name, a in others.items() if a.shape == (n,)}
    X = _mark_missing_genotypes(X, where, notes)
    names = tuple(map(str, others.get("columns", ())))
    width = X.shape[1] if X.ndim == 2 else 0
    names = names if len(names) == width else name_columns(width)
    if rounded := [found.column for found in list_large_integers(X)]:
        notes.append(describe_rounding(names[j] if names else str(j) for j in rounded))
    label = _find_role("label", options.label, _LABEL_ARRAYS, per_row, where, notes)
    ids = _find_role("id", options.id, _ID_ARRAYS, per_row, where, notes)
    return Table(
        to_floats(X, where),
        "rows",
        names,
        None if ids is None else per_row[ids],
        None if label is None else _name_labels(per_row[label], others.get("label_names")),
        {name: a for name, a in per_row.items() if name not in (label, ids)},
        thumbnails=_make_thumbnails(X, others.get("image_shape")),
        source=where,
        notes=tuple(notes),
        id_name=ids or "id",
        label_name=label or "label",
    )


def _make_thumbnails(X: Data, shape: Column | None) -> NDArray[np.uint8] | None:
    """Rows of pixels as small gray images, where an array `image_shape` says how high and wide."""
    if shape is None or shape.shape != (2,) or shape.dtype.kind not in "iu":
        return None
    if not isinstance(X, np.ndarray):
        return None
    height, width = map(int, shape)
    if X.ndim != 2 or height < 1 or X.shape[1] != height * width or not np.isfinite(X).all():
        return None
    step = -(-max(height, width) // THUMBNAIL_PIXELS)
    images = X.reshape(-1, height, width)[:, ::step, ::step].astype(np.float64)
    low, extent = images.min(initial=np.inf), np.ptp(images) if images.size else 0.0
    return np.asarray((images - low) * (255 / (extent or 1.0)), np.uint8)


def _mark_missing_genotypes(X: Data, where: str, notes: list[str]) -> Data:
    """Allele counts 0, 1, 2 with -1 for missing ones: these become NaN."""
    if not isinstance(X, np.ndarray) or X.dtype.kind != "i" or X.ndim != 2 or not X.size:
        return X
    missing = X == MISSING_GENOTYPE
    if X.min() != MISSING_GENOTYPE or X.max() != MAX_ALLELE_COUNT or missing.mean() > 0.5:
        return X
    notes.append(f"{where}: -1 beside 0, 1 and 2 was taken as a missing genotype.")
    return np.where(missing, np.float32(np.nan), X.astype(np.float32))


def _find_role(
    what: str,
    given: str | None,
    usual: tuple[str, ...],
    per_row: dict[str, Column],
    where: str,
    notes: list[str],
) -> str | None:
    """The array of labels or identifiers: the one that was asked for, or one with a usual name."""
    if given is not None and given not in per_row:
        raise DataError(
            f"{where}: no array {what}={given!r} with one entry per row; such arrays are "
            f"{quote_names(per_row) or 'not there'}."
        )
    found = given or next((name for name in usual if name in per_row), None)
    if found is not None and given is None:
        notes.append(f"{where}: array {found!r} was taken as the {what} (another one: {what}=...).")
    return found


def _name_labels(codes: Column, names: Column | None) -> Column:
    """Classes by their names, where the file has them."""
    if names is None or names.ndim != 1 or codes.dtype.kind not in "iu" or not len(codes):
        return codes
    known = codes.min() >= 0 and codes.max() < len(names)
    return names[codes] if known else codes


def to_floats(X: Data, where: str) -> Data:
    """Convert to floats in native byte order: float32 where that is exact, else float64."""
    if X.dtype.kind not in "fiub":
        raise ColumnTypeError(
            f"{where} holds {X.dtype}; expected numbers. Save columns of text as CSV or Parquet."
        )
    narrow = X.dtype.itemsize <= 2 or X.dtype == np.float32
    return X.astype(np.float32 if narrow else np.float64, copy=False)


def name_columns(width: int) -> tuple[str, ...]:
    """Return x0, x1, ..., or no names where there would be too many."""
    return tuple(f"x{j}" for j in range(width)) if width <= MAX_NAMED_COLUMNS else ()


def check_sparse_size(rows: int, columns: int, entries: int, source: Source) -> None:
    """Refuse a sparse matrix whose shape alone would take too much memory."""
    if rows - entries > MAX_EMPTY_ROWS:
        raise FileFormatError(
            f"{source.name} claims a matrix of {rows} × {columns} with {entries} entries, so at "
            f"least {rows - entries} of its rows are empty; write the rows that hold something."
        )
    # Every method computes the row pointers and one statistic of each column.
    needs = {"rows": 8 * rows, "columns": 8 * columns}
    require_memory(source, needs, "Leave out rows and columns that are empty.")


def _make_sparse(arrays: dict[str, Column], source: Source) -> csr_array:
    """The matrix that scipy.sparse.save_npz wrote."""
    try:
        kind = arrays["format"].item()
        word = kind.decode() if isinstance(kind, bytes) else str(kind)
        rows, columns = (int(extent) for extent in arrays["shape"])
        check_sparse_size(rows, columns, len(arrays["data"]), source)
        if word == "coo":
            indices = arrays["row"], arrays["col"]
            if max(rows, columns) > MAX_SPARSE_EXTENT or min(rows, columns) < 0:
                raise ValueError(f"shape {(rows, columns)}")
            matrix = coo_array((arrays["data"], indices), shape=(rows, columns))
        else:
            make = {"csr": csr_array, "csc": csc_array}[word]
            parts = arrays["data"], arrays["indices"], arrays["indptr"]
            matrix = make(parts, shape=(rows, columns))
            matrix.check_format(full_check=True)
        return csr_array(matrix)
    except (KeyError, ValueError, TypeError, IndexError) as error:
        raise FileFormatError(
            f"{source.name} is damaged or is not a sparse matrix ({error})."
        ) from None
