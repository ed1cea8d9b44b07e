"""Matrix Market files (.mtx)."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from scipy.io import mminfo, mmread
from scipy.sparse import csr_array, issparse

from ..errors import FileFormatError, UnsupportedError
from .arrays import as_numbers
from .options import Options
from .source import Source, require
from .table import Table


def read(source: Source, _: Options) -> Table:
    try:
        rows, columns, entries, layout, field, _symmetry = mminfo(_target(source))
    except Exception as error:  # SciPy's parsers have several
        raise FileFormatError(
            f"{source.name} is damaged, or no Matrix Market file ({error})."
        ) from None
    if field == "complex":
        raise UnsupportedError(f"{source.name} holds complex numbers; take their real part first.")
    if min(rows, columns) < 1:
        raise FileFormatError(f"{source.name} holds a {rows} × {columns} matrix without entries.")
    least = 2 if layout == "array" or field == "pattern" else 3  # bytes of an entry's line
    if (rows * columns if layout == "array" else entries) * least > 4 * source.size:
        raise FileFormatError(
            f"{source.name} is cut off: it claims {entries} entries of a {rows} × {columns} "
            f"matrix, more than its {source.size} bytes can hold."
        )
    require(source, {"entries": 32 * entries, "rows": 8 * rows}, "Use fewer rows.")
    X = _parsed(source)
    numbers = csr_array(X) if issparse(X) else np.asarray(X)
    names = tuple(f"x{j}" for j in range(columns)) if columns <= 10**6 else ()
    return Table(as_numbers(numbers, source.name), "rows", names, source=source.name)


def _parsed(source: Source) -> Any:
    try:
        return mmread(_target(source))
    except Exception as error:
        raise FileFormatError(f"{source.name} is damaged ({error}).") from None


def _target(source: Source) -> Any:
    """A name or a buffer: from an open file SciPy 1.17 steps back too far, and aborts."""
    return io.BytesIO(source.data) if source.path is None else str(source.path)
