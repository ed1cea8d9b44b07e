"""Read Matrix Market files (.mtx).

Read here and not by SciPy, whose reader (1.17) can end the process: it aborts on an open file, and
a damaged one made it write outside of its arrays.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import IO, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from .. import progress
from ..errors import FileFormatError, UnsupportedError
from ..input.entries import MAX_EXACT_INTEGER
from .arrays import check_sparse_size, name_columns, to_floats
from .options import Options, describe_rounding
from .source import Source, require_memory
from .table import Table

_CHUNK_BYTES = 2**24  # Bytes of text parsed at a time.
_MAX_HEADER_LINE_BYTES = 2**16  # A longer line is not a header.
_FIELDS = ("real", "double", "integer", "unsigned-integer", "pattern")
_SYMMETRIES = ("general", "symmetric", "skew-symmetric")


class _Header(NamedTuple):
    sparse: bool
    pattern: bool
    integer: bool
    symmetry: str
    rows: int
    columns: int
    entries: int

    @property
    def width(self) -> int:
        """How many numbers a line holds."""
        return 1 if not self.sparse else 2 if self.pattern else 3


def read(source: Source, _: Options) -> Table:
    with source.open() as file:
        header = _read_header(file, source)
        count = header.entries * header.width
        if 2 * count > source.size + 2:  # every number takes at least a digit and a space
            raise FileFormatError(
                f"{source.name} is cut off: it claims {header.entries} entries of a "
                f"{header.rows} × {header.columns} matrix, more than its {source.size} bytes hold."
            )
        full = 0 if header.sparse else header.rows * header.columns
        if header.sparse:
            stored = header.entries if header.symmetry == "general" else 2 * header.entries
            check_sparse_size(header.rows, header.columns, stored, source)
        require_memory(source, {"numbers": 16 * count, "matrix": 8 * full}, "Use fewer rows.")
        numbers = np.concatenate([np.empty(0), *_read_numbers(file, source)])
    if len(numbers) != count:
        raise FileFormatError(
            f"{source.name} is damaged: it claims {count} numbers and holds {len(numbers)}."
        )
    X = (
        _make_sparse(numbers, header, source.name)
        if header.sparse
        else _make_dense(numbers, header)
    )
    names, notes = name_columns(header.columns), []
    large = np.unique((abs(X) >= MAX_EXACT_INTEGER).nonzero()[1]) if header.integer else ()
    if len(large):
        notes.append(describe_rounding(names[j] if names else str(j) for j in large))
    floats = to_floats(X, source.name)
    return Table(floats, "rows", names, source=source.name, notes=tuple(notes))


def _read_header(file: IO[bytes], source: Source) -> _Header:
    words = file.readline(_MAX_HEADER_LINE_BYTES).decode("ascii", "replace").lower().split()
    if len(words) != 5 or words[:2] != ["%%matrixmarket", "matrix"]:
        raise FileFormatError(f"{source.name} is not a Matrix Market file: unexpected first line.")
    _, _, layout, field, symmetry = words
    if layout not in ("coordinate", "array") or (layout == "array" and field == "pattern"):
        raise FileFormatError(f"{source.name} is damaged: there is no {field} matrix as {layout}.")
    if field not in _FIELDS or symmetry not in _SYMMETRIES:
        raise UnsupportedError(f"{source.name} holds a {field} {symmetry} matrix; make it real.")
    line = file.readline(_MAX_HEADER_LINE_BYTES)
    while line.startswith(b"%") or line == b"\n" or line == b"\r\n":
        line = file.readline(_MAX_HEADER_LINE_BYTES)
    sparse = layout == "coordinate"
    sizes = [int(word) if word.isdigit() and len(word) < 19 else -1 for word in line.split()]
    if len(sizes) != 2 + sparse or min(sizes) < 0:
        raise FileFormatError(
            f"{source.name} is damaged: {line[:40]!r} is not the size of a matrix."
        )
    rows, columns = sizes[:2]
    if min(rows, columns) < 1 or (symmetry != "general" and rows != columns):
        raise FileFormatError(f"{source.name} holds a {rows} × {columns} {symmetry} matrix.")
    entries = sizes[2] if sparse else _packed_size(rows, columns, symmetry)
    return _Header(sparse, field == "pattern", "integer" in field, symmetry, rows, columns, entries)


def _packed_size(rows: int, columns: int, symmetry: str) -> int:
    if symmetry == "general":
        return rows * columns
    return rows * (rows + 1) // 2 if symmetry == "symmetric" else rows * (rows - 1) // 2


def _read_numbers(file: IO[bytes], source: Source) -> Iterator[NDArray[np.float64]]:
    """Parse all numbers that follow, some lines at a time."""
    partial_line = b""
    while chunk := file.read(_CHUNK_BYTES):
        complete, _, last = (partial_line + chunk).rpartition(b"\n")
        partial_line = last if complete else partial_line + chunk
        if len(partial_line) > _CHUNK_BYTES:
            raise FileFormatError(f"{source.name} is damaged: a line does not end.")
        yield _parse(complete if complete else b"", source.name)
        progress.report("reading numbers", min(file.tell(), source.size), source.size)
    yield _parse(partial_line, source.name)


def _parse(text: bytes, where: str) -> NDArray[np.float64]:
    if not text.strip():
        return np.empty(0)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # NumPy warns of texts that are not numbers
        try:
            return np.fromstring(text.decode("ascii"), sep=" ")
        except (DeprecationWarning, ValueError):
            bad = next((word for word in text.split() if not _is_number(word)), b"?")
            raise FileFormatError(f"{where} is damaged: {bad[:40]!r} is not a number.") from None


def _is_number(word: bytes) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def _make_sparse(numbers: NDArray[np.float64], header: _Header, where: str) -> csr_array:
    table = numbers.reshape(header.entries, header.width)
    indices = table[:, :2] - 1
    good = (
        (indices >= 0) & (indices < (header.rows, header.columns)) & (indices == np.floor(indices))
    )
    if not good.all():
        entry = int(np.argmin(good.all(1)))
        raise FileFormatError(
            f"{where} is damaged: its entry {entry + 1} is at {table[entry, 0]:g}, "
            f"{table[entry, 1]:g} of a {header.rows} × {header.columns} matrix."
        )
    i, j = indices.astype(np.int64).T
    values = np.ones(header.entries) if header.pattern else table[:, 2]
    if header.symmetry != "general":  # add the other triangle
        off = i != j
        sign = 1.0 if header.symmetry == "symmetric" else -1.0
        i, j = np.concatenate([i, j[off]]), np.concatenate([j, i[off]])
        values = np.concatenate([values, sign * values[off]])
    return csr_array(coo_array((values, (i, j)), shape=(header.rows, header.columns)))


def _make_dense(numbers: NDArray[np.float64], header: _Header) -> NDArray[np.float64]:
    """Read column by column; a symmetric matrix stores only its lower triangle."""
    if header.symmetry == "general":
        return np.ascontiguousarray(numbers.reshape(header.columns, header.rows).T)
    X = np.zeros((header.rows, header.rows))
    skew = header.symmetry == "skew-symmetric"
    j, i = np.triu_indices(header.rows, int(skew))  # lower triangle, column by column
    X[i, j] = numbers
    X[j, i] = -numbers if skew else numbers
    return X
