"""Gate 2: whatever the user gave becomes checked data of one kind, or a clear error.

Kinds: "rows" (numbers, dense or sparse), "distances", "kernel" and "affinity" (square matrices when
fitting, new x training afterwards; affinities may be sparse), "table" (columns of numbers and
categories) and "objects" (anything a callable metric understands).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, NoReturn, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array, issparse
from sklearn.utils.validation import check_array, validate_data

from ..backends.protocol import Array, Backend, ColumnStatistics, Rows
from ..errors import ColumnTypeError, DataError, UnsupportedError
from .precomputed import as_sparse_square, as_square, check_triangles, with_gaps
from .ranges import in_range, named
from .tables import Table, column_kinds, is_table

Kind: TypeAlias = Literal["rows", "distances", "kernel", "affinity", "table", "objects"]


class Data(NamedTuple):
    """Validated input; `dtype` is that of the result, `statistics` exists for rows only."""

    items: Any
    dtype: np.dtype[Any]
    statistics: ColumnStatistics | None = None

    @property
    def shape(self) -> tuple[int, int]:
        items = self.items
        return items.shape if hasattr(items, "shape") else (len(items), 1)


def validate(
    model: Any,
    X: Any,
    kind: Kind,
    *,
    fitting: bool,
    sparse: bool,
    ops: Backend,
    look: bool = True,
) -> Data:
    """Check `X` for `model`, which learns names and widths from it when fitting.

    Without a `look` dense rows are not searched for NaN: the caller finds them in the places.
    """
    if kind == "table":
        return _as_table(model, X, fitting)
    if kind == "objects" and not _numeric_2d(X):
        return _as_objects(model, X)
    rows = _as_rows(model, X, fitting, sparse and kind in ("rows", "distances", "affinity"))
    if issparse(rows) and kind == "distances":  # a neighbor graph, which checks itself
        return Data(rows, rows.dtype)
    if issparse(rows) and kind == "affinity":
        return Data(as_sparse_square(rows, fitting), rows.dtype)
    if kind in ("distances", "kernel", "affinity"):
        gaps = kind == "distances" and getattr(model, "allows_missing", False)
        checked = with_gaps if gaps else as_square
        square, statistics = checked(rows, kind, fitting, ops)
        if kind == "distances" and fitting and not getattr(model, "is_ordinal", False):
            check_triangles(square)
        return Data(square, rows.dtype, statistics)
    if not look and not issparse(rows):
        return Data(rows, rows.dtype)
    statistics = check_finite(model, rows, ops)
    if kind == "objects":
        return Data(rows, rows.dtype)
    return Data(in_range(rows, statistics.max_abs, fitting), rows.dtype, statistics)


def check_finite(model: Any, rows: Rows, ops: Backend) -> ColumnStatistics:
    """ColumnStatistics of the rows, all of whose entries are finite."""
    statistics = ops.column_statistics(rows)
    if statistics.first_nonfinite is not None:
        raise DataError(_not_finite(model, rows, statistics.first_nonfinite))
    return statistics


def validate_embedding(Y: Any, k: int, ops: Backend) -> Array:
    """Checked places in the map, for an inverse."""
    places = Y
    if not _plain(Y):
        places = check_array(Y, dtype=[np.float64, np.float32], order="C", ensure_all_finite=False)
    if places.shape[1] != k:
        raise DataError(f"X has {places.shape[1]} columns, but the map has {k} components.")
    if (bad := ops.column_statistics(places).first_nonfinite) is not None:
        raise DataError(f"{named(places, bad)}; a place in the map is finite.")
    return np.asarray(places)


def validate_weights(weights: Any, n: int) -> NDArray[np.float64] | None:
    """Checked sample weights: one finite number >= 0 per row, not all zero."""
    if weights is None:
        return None
    w = np.asarray(weights, np.float64)
    w = np.full(n, w) if w.ndim == 0 else np.ascontiguousarray(w)
    if w.shape != (n,):
        raise DataError(f"sample_weight needs one number per row: expected ({n},), got {w.shape}.")
    good = np.isfinite(w) & (w >= 0)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"sample_weight of row {row} is {w[row]}; weights are finite and >= 0.")
    if not w.any():
        raise DataError("sample_weight: all weights are zero; at least one must be positive.")
    return w


def _as_rows(model: Any, X: Any, fitting: bool, sparse: bool) -> Rows:
    name = type(model).__name__
    if issparse(X) and not sparse:
        raise UnsupportedError(
            f"{name} cannot use a sparse matrix with these parameters; "
            "pass X.toarray() if it fits in memory, or reduce it by PCA first."
        )
    if _as_it_should_be(model, X, fitting):
        if fitting:
            model.n_features_in_ = X.shape[1]
        return X
    if is_table(X):
        _refuse_categories(name, X)
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.is_masked(X):
            hidden = np.argwhere(np.ma.getmaskarray(X))[0]
            raise DataError(
                f"{name}: X hides entries behind a mask, the first at row {hidden[0]}, column "
                f"{hidden[-1]}; fill them (X.filled) or drop their rows."
            )
        X = X.data
    if isinstance(X, np.ndarray) and X.dtype.kind in "iu":
        _refuse_long_integers(X)
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        X = X.astype(X.dtype.newbyteorder("="), copy=False)
    try:
        checked = validate_data(
            model,
            X,
            reset=fitting,
            accept_sparse="csr" if sparse else False,
            dtype=[np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except (ValueError, TypeError) as error:
        _explain(name, X, error)
    if issparse(checked):
        # Sorting and merging happen in place: never in the caller's matrix.
        tidy = checked.has_canonical_format
        checked = csr_array(checked, copy=not tidy)
        try:
            checked.check_format(full_check=True)  # products would read beyond their arrays
        except ValueError as error:
            raise DataError(f"{name}: the sparse matrix is broken: {error}.") from error
        checked.sum_duplicates()
    return checked


def _as_it_should_be(model: Any, X: Any, fitting: bool) -> bool:
    """Rows that scikit-learn's checks would pass as they are; they take 100 µs to say so."""
    return (
        _plain(X)
        and not hasattr(model, "feature_names_in_")
        and (fitting or X.shape[1] == getattr(model, "n_features_in_", None))
    )


def _plain(X: Any) -> bool:
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float32, np.float64)
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.size > 0
    )


def _as_table(model: Any, X: Any, fitting: bool) -> Data:
    if issparse(X):
        raise UnsupportedError("metric='gower' takes tables or rows; pass X.toarray().")
    table = Table.of(X) if fitting else Table.of(X, like=model.columns_)
    if fitting:
        model.columns_ = table.at(np.empty(0, np.int64))
        model.n_features_in_ = len(table.names)
        model.feature_names_in_ = np.array(table.names, object)
    return Data(table, np.dtype(np.float64))


def _as_objects(model: Any, X: Any) -> Data:
    if not isinstance(X, Sequence | np.ndarray) and not hasattr(X, "__len__"):
        raise DataError(
            f"{type(model).__name__} needs a sequence of objects, got {type(X).__name__}."
        )
    if isinstance(X, str | bytes):
        raise DataError("X is one string; pass a list of strings, one per sample.")
    items = list(X)
    if not items:
        raise DataError("X has 0 objects, while a minimum of 1 is required.")
    return Data(items, np.dtype(np.float64))


def _numeric_2d(X: Any) -> bool:
    if is_table(X) or issparse(X):
        return True
    try:
        array = np.asarray(X)
    except ValueError:  # ragged
        return False
    return array.ndim == 2 and array.dtype.kind in "fiub"


def _not_finite(model: Any, rows: Rows, place: tuple[int, int]) -> str:
    names = getattr(model, "feature_names_in_", None)
    found = named(rows, place, None if names is None else names[place[1]])
    return f"{type(model).__name__}: {found}; drop such rows or fill them (sklearn.impute)."


def _refuse_categories(name: str, X: Any) -> None:
    odd = [str(column) for column, kind in column_kinds(X).items() if kind != "number"]
    if odd:
        shown = ", ".join(map(repr, odd[:8])) + (f" and {len(odd) - 8} more" if odd[8:] else "")
        raise ColumnTypeError(
            f"{name} needs numeric columns, but {shown} hold text or categories; drop them, encode "
            "them (sklearn.preprocessing.OneHotEncoder), or use a distance for mixed tables: "
            "ClassicalMDS(metric='gower')."
        )


def _refuse_long_integers(X: NDArray[Any]) -> None:
    if X.dtype.itemsize == 8 and X.size and max(int(X.max()), -int(X.min())) > 2**53:
        row = int(np.argmax(np.abs(X.astype(np.float64)).reshape(len(X), -1).max(1)))
        raise DataError(
            f"row {row} holds integers beyond 2**53, which floating point cannot tell apart; "
            "subtract an offset first."
        )


def _explain(name: str, X: Any, error: Exception) -> NoReturn:
    """Name the entry that is not a number, or pass scikit-learn's sentence on."""
    if isinstance(X, dict):
        raise DataError(f"{name} needs rows, but got a dict; pass pandas.DataFrame(X).") from None
    if str(error).startswith("Complex data"):  # and all of the data after it
        raise DataError(
            f"Complex data not supported: {name} needs real numbers; pass X.real, or "
            "numpy.hstack([X.real, X.imag])."
        ) from None
    array = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
    if isinstance(array, np.ndarray) and array.dtype.kind in "OUS" and array.ndim == 2:
        for (row, column), entry in np.ndenumerate(array):
            try:
                float(entry)
            except (ValueError, TypeError) as reason:
                raise ColumnTypeError(
                    f"{name} needs numbers, but row {row}, column {column} holds {entry!r} "
                    f"({reason}); drop or encode that column, or use ClassicalMDS(metric='gower')."
                ) from None
    if isinstance(error, TypeError):
        raise error
    rows = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.ndim == 2
    if rows and not np.isfinite(array).all():  # to be mended first, whatever else is wrong
        row, column = map(int, np.unravel_index(np.argmin(np.isfinite(array)), array.shape))
        raise DataError(f"{name}: {named(array, (row, column))}.") from None
    raise DataError(str(error)) from error
