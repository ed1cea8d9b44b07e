"""Validation of X: what the user gives becomes data of one kind, or a clear error.

Kinds: "rows" (numbers, dense or sparse), "distances", "kernel" and "affinity" (square matrices when
fitting, new x training afterwards; affinities may be sparse), "table" (columns of numbers and
categories) and "objects" (anything a callable metric understands).
"""

from __future__ import annotations

from typing import Any, Literal, NamedTuple, NoReturn, Protocol, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, issparse
from sklearn import get_config
from sklearn.utils.validation import check_array, validate_data

from .. import _native, progress, random
from ..backend import threads
from ..errors import ColumnTypeError, DataError, MetricWarning, UnsupportedError, warn
from ..parameters import Indices, Reals
from .arguments import Input
from .entries import (
    Frame,
    Table,
    column_kinds,
    is_table,
    list_types,
    refuse_containers,
    refuse_large_integers,
    refuse_non_numbers,
)

Kind: TypeAlias = Literal["rows", "distances", "kernel", "affinity", "table", "objects"]


class Estimator(Protocol):
    """What validation reads from an estimator and, when fitting, sets on it."""

    n_features_in_: int
    feature_names_in_: NDArray[np.object_]
    columns_: Table


class Data(NamedTuple):
    """Validated input: rows, a Table or a list of objects; `dtype` is that of the result."""

    items: Any
    dtype: np.dtype[Any]
    statistics: ColumnStatistics | None = None


class ColumnStatistics(NamedTuple):
    """What the search for NaN finds of dense rows by the way."""

    mean: Reals
    priorities: Indices | None = None  # hashes of the rows, where they are asked for


def validate(
    model: Estimator,
    X: Input,
    kind: Kind,
    *,
    fitting: bool,
    sparse: bool,
    check_values: bool = True,
    reads_entries: bool = True,
    priorities: bool = False,
) -> Data:
    """Validate `X` for `model`, whose feature names and number are set when fitting.

    Without `check_values` rows are not searched for NaN. Where a fit does not read the entries, few
    rows are not widened. With `priorities` rows are hashed as well.
    """
    refuse_containers(X, type(model).__name__)
    if kind == "table":
        return _validate_table(model, X, fitting)
    if kind == "objects" and not _is_numeric_2d(X):
        return _validate_objects(model, X)
    rows = _validate_rows(model, X, fitting, sparse and kind in ("rows", "distances", "affinity"))
    if issparse(rows) and kind == "distances":  # a neighbor graph: validated where it is used
        return Data(rows, rows.dtype)
    if issparse(rows) and kind == "affinity":
        return Data(validate_sparse_affinity(rows, fitting), rows.dtype)
    if kind in ("distances", "kernel", "affinity"):
        gaps = kind == "distances" and getattr(model, "allows_missing", False)
        square = (validate_with_missing if gaps else validate_square)(rows, kind, fitting)
        if kind == "distances" and fitting and not getattr(model, "is_ordinal", False):
            check_triangle_inequality(square)
        return Data(square, rows.dtype)
    if not check_values:
        return Data(rows, rows.dtype)
    largest, statistics = check_finite(model, rows, priorities)
    if kind == "objects":
        return Data(rows, rows.dtype)
    safe = to_safe_dtype(rows, largest, fitting and reads_entries)
    return Data(safe, rows.dtype, statistics)


def check_finite(
    model: Estimator, rows: Any, priorities: bool = False
) -> tuple[float, ColumnStatistics | None]:
    """The largest absolute entry of the rows, which are refused if any is NaN or infinite."""
    if issparse(rows):
        if not np.isfinite(rows.data).all():
            at = int(np.argmin(np.isfinite(rows.data)))
            row = int(np.searchsorted(rows.indptr, at, side="right") - 1)
            raise DataError(describe_entry(model, rows, (row, int(rows.indices[at]))))
        return float(np.abs(rows.data).max(initial=0)), None
    (n, d), hashes = rows.shape, None
    sums, poll = np.empty(d), progress.step("reading")
    how: tuple[Indices | None, int, Indices | None] = None, 0, None
    if priorities:
        hashes = np.empty(n, np.uint64)
        how = random.factors(0, "columns", d), random.stream_key(0, "rows"), hashes
    largest = _native.column_sums(rows, None, sums, *how, threads(rows.size), poll)
    if np.isfinite(largest) and np.isfinite(sums).all():
        return largest, ColumnStatistics(sums / n, hashes)
    if (position := first_nonfinite(rows)) is not None:
        raise DataError(describe_entry(model, rows, position))
    return np.inf, None  # sums of finite numbers may overflow: then these are only too large


def first_nonfinite(A: Any) -> tuple[int, int] | None:
    """The first entry, row by row, that is NaN or infinite."""
    for row, entries in enumerate(A):
        if not (finite := np.isfinite(entries)).all():
            return row, int(finite.argmin())
    return None


def refuse_table_output(model: Estimator) -> None:
    """Raise an error where `set_output` asks for tables, which lazy arrays cannot become."""
    chosen = getattr(model, "_sklearn_output_config", get_config()).get("transform")
    if (chosen or get_config()["transform_output"]) != "default":
        raise UnsupportedError(
            "a lazy dask array cannot come back as a table; set_output(transform='default')."
        )


def validate_embedding(Y: Input, k: int) -> Reals:
    """Valid coordinates in the embedding, for an inverse transform."""
    if not _is_plain_array(Y):
        refuse_containers(Y, "inverse_transform")
        refuse_non_numbers(Y, "inverse_transform")
        refuse_large_integers(Y, "inverse_transform")
        Y = check_array(Y, dtype=[np.float64, np.float32], order="C", ensure_all_finite=False)
    if Y.shape[1] != k:
        raise DataError(f"X has {Y.shape[1]} columns, but the map has {k} components.")
    if not np.isfinite(Y).all():
        row, column = map(int, np.argwhere(~np.isfinite(Y))[0])
        raise DataError(f"{describe_nonfinite(Y, (row, column))}; coordinates must be finite.")
    return np.asarray(Y)


def validate_weights(weights: ArrayLike | None, n: int) -> NDArray[np.float64] | None:
    """Valid sample weights: one finite number >= 0 per row, not all zero."""
    if weights is None:
        return None
    refuse_non_numbers(weights, "sample_weight")
    refuse_large_integers(weights, "sample_weight")
    w = np.asarray(weights, np.float64)
    w = np.full(n, w) if w.ndim == 0 else np.ascontiguousarray(w)
    if w.shape != (n,):
        raise DataError(f"sample_weight needs one number per row: expected ({n},), got {w.shape}.")
    valid = np.isfinite(w) & (w >= 0)
    if not valid.all():
        row = int(np.argmin(valid))
        raise DataError(f"sample_weight of row {row} is {w[row]}; weights are finite and >= 0.")
    if not w.any():
        raise DataError("sample_weight: all weights are zero; at least one must be positive.")
    return w


def _validate_rows(model: Estimator, X: Input, fitting: bool, sparse: bool) -> Any:
    name = type(model).__name__
    if issparse(X) and not sparse:
        raise UnsupportedError(
            f"{name} cannot use a sparse matrix with these parameters; "
            "pass X.toarray() if it fits in memory, or reduce it by PCA first."
        )
    if _is_valid_already(model, X, fitting):
        if fitting:
            model.n_features_in_ = X.shape[1]
        return X
    if is_table(X):
        _refuse_categories(name, X)
    else:
        refuse_non_numbers(X, name)
    if isinstance(X, np.ma.MaskedArray):
        if np.ma.is_masked(X):
            masked = np.argwhere(np.ma.getmaskarray(X))[0]
            raise DataError(
                f"{name}: X hides entries behind a mask, the first at row {masked[0]}, column "
                f"{masked[-1]}; fill them (X.filled) or drop their rows."
            )
        X = X.data
    # A pipeline has `drop`: what is left out need not be a number that floats can hold.
    refuse_large_integers(X, name, getattr(model, "drop", None) or ())
    if isinstance(X, np.ndarray) and X.dtype.kind == "f":
        X = X.astype(X.dtype.newbyteorder("="), copy=False)
    try:
        rows = validate_data(
            model,
            X,
            reset=fitting,
            accept_sparse="csr" if sparse else False,
            dtype=np.float32 if _is_single(X) else [np.float64, np.float32],
            order="C",
            ensure_all_finite=False,
        )
    except (ValueError, TypeError) as error:
        _raise_explained(name, X, error)
    return to_canonical_csr(rows, name) if issparse(rows) else rows


def to_canonical_csr(A: csr_array, name: str) -> csr_array:
    """CSR with sorted indices and no duplicates; the caller's matrix is never changed."""
    A = csr_array(A)  # another object of the same entries, on which SciPy notes what it finds
    if not A.has_canonical_format:
        A = A.copy()
    try:
        A.check_format(full_check=True)  # products would read beyond their arrays
    except ValueError as error:
        raise DataError(f"{name}: the sparse matrix is broken: {error}.") from error
    A.sum_duplicates()
    return A


def _is_valid_already(model: Estimator, X: Input, fitting: bool) -> bool:
    """Whether scikit-learn's checks, which take 100 µs, would return X as it is."""
    return (
        _is_plain_array(X)
        and not hasattr(model, "feature_names_in_")
        and (fitting or X.shape[1] == getattr(model, "n_features_in_", None))
    )


def _is_plain_array(X: object) -> bool:
    return (
        type(X) is np.ndarray
        and X.dtype in (np.float32, np.float64)
        and X.ndim == 2
        and X.flags.c_contiguous
        and X.size > 0
    )


def _is_single(X: Input) -> bool:
    """Whether all columns of a frame are of float32, by whichever name its library has for it."""
    names = {"float32", "Float32", "float", "float[pyarrow]"}
    return is_table(X) and bool(X.shape[1]) and list_types(X) <= names


def _validate_table(model: Estimator, X: Frame, fitting: bool) -> Data:
    if issparse(X):
        raise UnsupportedError("metric='gower' takes tables or rows; pass X.toarray().")
    refuse_large_integers(X, type(model).__name__)
    table = Table.read(X) if fitting else Table.read(X, like=model.columns_)
    if fitting:
        model.columns_ = table.take(np.empty(0, np.int64))
        model.n_features_in_ = len(table.names)
        model.feature_names_in_ = np.array(table.names, object)
    return Data(table, np.dtype(np.float64))


def _validate_objects(model: Estimator, X: Input) -> Data:
    if not hasattr(X, "__len__"):
        raise DataError(
            f"{type(model).__name__} needs a sequence of objects, got {type(X).__name__}."
        )
    if isinstance(X, str | bytes):
        raise DataError("X is one string; pass a list of strings, one per sample.")
    items = list(X)
    if not items:
        raise DataError("X has 0 objects, while a minimum of 1 is required.")
    return Data(items, np.dtype(np.float64))


def _is_numeric_2d(X: object) -> bool:
    if is_table(X) or issparse(X):
        return True
    try:
        array = np.asarray(X)
    except ValueError:  # ragged
        return False
    return array.ndim == 2 and array.dtype.kind in "fiub"


def describe_entry(model: Estimator, rows: Any, position: tuple[int, int]) -> str:
    """What is wrong with an entry that is not finite, where it is, and what to do."""
    names = getattr(model, "feature_names_in_", None)
    entry = describe_nonfinite(rows, position, None if names is None else names[position[1]])
    return f"{type(model).__name__}: {entry}; drop such rows or fill them (sklearn.impute)."


def _refuse_categories(name: str, X: Frame) -> None:
    kinds = column_kinds(X)
    dates = [column for column, kind in kinds.items() if kind in ("date", "duration")]
    text = [column for column, kind in kinds.items() if kind in ("order", "category")]
    if dates:
        raise ColumnTypeError(
            f"{name} needs numeric columns, but {_quote(dates)} hold dates or times; drop them, "
            "choose a unit to make them numbers ((t - t.min()).dt.total_seconds() / 86400), or "
            "use a distance for mixed tables, which takes dates: ClassicalMDS(metric='gower')."
        )
    if text:
        raise ColumnTypeError(
            f"{name} needs numeric columns, but {_quote(text)} hold text or categories; drop "
            "them, encode them (sklearn.preprocessing.OneHotEncoder), or use a distance for "
            "mixed tables: ClassicalMDS(metric='gower')."
        )


def _quote(columns: list[str]) -> str:
    more = f" and {len(columns) - 8} more" if columns[8:] else ""
    return ", ".join(map(repr, columns[:8])) + more


def _raise_explained(name: str, X: Input, error: Exception) -> NoReturn:
    """Raise an error that names the entry that is not a number, or scikit-learn's own message."""
    if isinstance(X, dict) and not issparse(X):  # as a sparse matrix of keys is
        raise DataError(f"{name} needs rows, but got a dict; pass pandas.DataFrame(X).") from None
    array = np.asarray(X, dtype=object) if isinstance(X, list | tuple) else X
    is_object = isinstance(array, np.ndarray) and array.dtype.kind == "O"
    # The message of an array goes on with all of the data.
    if str(error).startswith("Complex data") or (
        is_object and any(isinstance(entry, complex | np.complexfloating) for entry in array.flat)
    ):
        raise DataError(
            f"Complex data not supported: {name} needs real numbers; pass X.real, or "
            "numpy.hstack([X.real, X.imag])."
        ) from None
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
    numeric = isinstance(array, np.ndarray) and array.dtype.kind == "f" and array.ndim == 2
    if numeric and not np.isfinite(array).all():  # to be fixed first, whatever else is wrong
        row, column = map(int, np.unravel_index(np.argmin(np.isfinite(array)), array.shape))
        raise DataError(f"{name}: {describe_nonfinite(array, (row, column))}.") from None
    raise DataError(str(error)) from error


# -- precomputed matrices: distances, kernels and affinities --------------------------------------

MatrixKind: TypeAlias = Literal["distances", "kernel", "affinity"]
MAX_ASYMMETRY = 1e-6  # relative; rounding passes, another matrix does not
SAMPLED_TRIPLES = 2000  # of which the triangle inequality is checked
MAX_BROKEN_TRIPLES = 0.05  # share; squared distances break it far more often


def validate_square(A: Reals, kind: MatrixKind, fitting: bool) -> Reals:
    """A valid training matrix (made exactly symmetric), or valid rows of new points toward it."""
    parameter = f"{'metric' if kind == 'distances' else kind}='precomputed'"
    if fitting and A.shape[0] != A.shape[1]:
        raise DataError(
            f"{parameter} needs a square matrix of n_samples x n_samples, got shape {A.shape}; "
            "for data rows name a metric or kernel instead."
        )
    if not fitting:
        if not np.isfinite(A).all():
            row, column = map(int, np.argwhere(~np.isfinite(A))[0])
            entry = describe_nonfinite(A, (row, column))
            raise DataError(f"{parameter}: {entry}; every entry must be a number.")
        row, column = map(int, np.unravel_index(A.argmin(), A.shape))
        _refuse_negative(kind, float(A[row, column]), row, column)
        return np.asarray(to_safe_dtype(A, float(np.abs(A).max()), fitting))
    if (position := first_nonfinite(A)) is not None:
        entry = describe_nonfinite(A, position)
        raise DataError(f"{parameter}: {entry}; every entry must be a number.")
    found = symmetry_of(A)
    if found.asymmetry > MAX_ASYMMETRY * found.largest:
        i, j = found.asymmetry_at
        raise DataError(_describe_asymmetry(parameter, i, j, A[i, j], A[j, i]))
    _refuse_negative(kind, found.smallest, *found.smallest_at)
    if kind == "distances":
        _check_diagonal(A, found.diagonal, found.diagonal_at)
    A = (A + A.T) / 2 if found.asymmetry > 0 else A
    return np.asarray(to_safe_dtype(A, found.largest, fitting))


class Symmetry(NamedTuple):
    """Extremes of a square matrix, with positions (row, column)."""

    asymmetry: float  # max |a_ij - a_ji|
    asymmetry_at: tuple[int, int]
    largest: float  # max |a_ij|
    smallest: float
    smallest_at: tuple[int, int]
    diagonal: float  # max |a_ii|
    diagonal_at: int


def symmetry_of(A: Reals, side: int = 512) -> Symmetry:
    """The extremes of finite entries; a tile and its mirror image stay in the cache."""
    n, poll = len(A), progress.step("checking the matrix")
    gap, gap_at, largest, smallest, smallest_at = -1.0, (0, 0), 0.0, np.inf, (0, 0)
    for i in range(0, n, side):
        for j in range(i, n, side):
            tile, mirrored = A[i : i + side, j : j + side], A[j : j + side, i : i + side]
            with np.errstate(over="ignore"):
                gaps = np.abs(tile - mirrored.T)
            if gaps.max() > gap:
                row, column = divmod(int(gaps.argmax()), gaps.shape[1])
                gap, gap_at = float(gaps[row, column]), (i + row, j + column)
            for part, top, left in ((tile, i, j), (mirrored, j, i)):
                largest = max(largest, float(part.max()), -float(part.min()))
                if part.min() < smallest:
                    row, column = divmod(int(part.argmin()), part.shape[1])
                    smallest, smallest_at = float(part[row, column]), (top + row, left + column)
        poll(min(i + side, n), n)
    diagonal = np.abs(np.diagonal(A))
    at = int(diagonal.argmax())
    return Symmetry(gap, gap_at, largest, smallest, smallest_at, float(diagonal[at]), at)


def validate_with_missing(A: Reals, kind: MatrixKind, fitting: bool) -> Reals:
    """`validate_square` of distances where NaN means missing; in training in both triangles."""
    missing = np.isnan(A)
    if not missing.any() or (fitting and A.shape[0] != A.shape[1]):
        return validate_square(A, kind, fitting)
    if fitting:
        if (diagonal := np.diagonal(missing)).any():
            at = int(diagonal.argmax())
            entry = describe_nonfinite(A, (at, at))
            raise DataError(f"metric='precomputed': {entry}; the distance to oneself is 0.")
        if (one_sided := missing & ~missing.T).any():
            i, j = map(int, np.argwhere(one_sided)[0])
            raise DataError(
                f"metric='precomputed': {describe_nonfinite(A, (i, j))}, but entry ({j}, {i}) is "
                f"{A[j, i]:.6g}; a distance is missing in both entries or in neither."
            )
    filled = validate_square(np.where(missing, 0, A), kind, fitting)
    return np.where(missing, np.nan, filled).astype(filled.dtype)


def validate_sparse_affinity(A: csr_array, fitting: bool) -> csr_array:
    """Valid sparse affinities; entries that are not stored are 0."""
    parameter = "affinity='precomputed'"
    rows = np.repeat(np.arange(A.shape[0]), np.diff(A.indptr))
    finite = np.isfinite(A.data)
    if not finite.all():
        at = int(np.argmin(finite))
        raise DataError(
            f"{parameter}: row {rows[at]}, column {A.indices[at]} is {A.data[at]}; every entry "
            "must be a number."
        )
    if A.data.min(initial=0) < 0:
        at = int(np.argmin(A.data))
        _refuse_negative("affinity", float(A.data[at]), int(rows[at]), int(A.indices[at]))
    if not fitting:
        return A
    if A.shape[0] != A.shape[1]:
        raise DataError(
            f"{parameter} needs a square matrix of n_samples x n_samples, got {A.shape}."
        )
    gap = abs(A - A.T)
    if gap.nnz and gap.max() > MAX_ASYMMETRY * A.data.max(initial=0):
        at = int(np.argmax(gap.data))
        i = int(np.searchsorted(gap.indptr, at, side="right") - 1)
        j = int(gap.indices[at])
        raise DataError(_describe_asymmetry(parameter, i, j, A[i, j], A[j, i]))
    return csr_array((A + A.T) / 2, dtype=np.float64) if gap.nnz else A.astype(np.float64)


def check_triangle_inequality(D: Reals) -> None:
    """Warn if many sampled triples break it; a missing side breaks nothing."""
    n, number = len(D), np.arange(SAMPLED_TRIPLES)
    i, j, k = (random.bits(0, "triangle" + c, number) % np.uint64(n) for c in "ijk")
    excess = D[i, k] - D[i, j] - D[j, k]
    broken = float(np.mean(excess > MAX_ASYMMETRY * D[i, k]))
    if broken > MAX_BROKEN_TRIPLES:
        warn(
            f"metric='precomputed': {broken:.0%} of sampled triples break the triangle inequality; "
            "are these squared distances? Then pass their square root.",
            MetricWarning,
        )


def _check_diagonal(D: Reals, largest: float, row: int) -> None:
    if largest > MAX_ASYMMETRY * np.abs(D[0]).max(initial=0) and largest > 0:
        raise DataError(
            f"metric='precomputed': the distance of row {row} to itself is {largest:.6g}, not "
            "0; are these similarities s? Then pass sqrt(s_ii + s_jj - 2 s_ij)."
        )


def _refuse_negative(kind: MatrixKind, smallest: float, row: int, column: int) -> None:
    """The same words as scikit-learn's check of nonnegative input, with the entry."""
    if kind == "distances" and smallest < 0:
        raise DataError(
            f"metric='precomputed': Negative values in data: the distance at row {row}, column "
            f"{column} is {smallest:.6g} (for similarities s use sqrt(s_ii + s_jj - 2 s_ij))."
        )
    if kind == "affinity" and smallest < 0:
        raise DataError(
            f"affinity='precomputed': Negative values in data: the weight at row {row}, column "
            f"{column} is {smallest:.6g}; an edge weight is 0 or more."
        )


def _describe_asymmetry(parameter: str, i: int, j: int, a_ij: float, a_ji: float) -> str:
    return (
        f"{parameter} needs a symmetric matrix: entry ({i}, {j}) is {a_ij:.6g} but ({j}, {i}) is "
        f"{a_ji:.6g}; pass (A + A.T) / 2 if the mean is what you want."
    )


# -- ranges of numbers ----------------------------------------------------------------------------

# Smallest and largest absolute entry whose squares, and sums of them, are in the type's range.
SAFE_RANGE = {np.dtype(np.float32): (1e-15, 1e15), np.dtype(np.float64): (1e-140, 1e140)}
# Up to so many training rows and entries float32 is computed in float64 at no noticeable cost.
MAX_WIDENED_ROWS = 1000
MAX_WIDENED_ENTRIES = 10**7


def to_safe_dtype(rows: Any, max_abs: float, fitting: bool) -> Any:
    """Rows in a type whose squares neither overflow nor vanish; few training rows in float64."""
    n, d = rows.shape
    low, high = SAFE_RANGE[rows.dtype]
    few = fitting and n <= MAX_WIDENED_ROWS and n * d <= MAX_WIDENED_ENTRIES
    if few and rows.dtype == np.float32:
        return rows.astype(np.float64)
    if max_abs <= high and (max_abs >= low or max_abs == 0 or not fitting):
        return rows
    if rows.dtype == np.float32:
        return rows.astype(np.float64)
    raise DataError(
        f"X has entries of size {max_abs:.3g}, whose squares float64 cannot hold; "
        f"multiply X by {1 / max_abs:.0e} and the embedding by its inverse."
    )


def find_extreme_rows(rows: Any) -> NDArray[np.bool_]:
    """Which rows are too large for squares in their type: they are mapped alone, in float64."""
    high = SAFE_RANGE[rows.dtype][1]
    if issparse(rows):
        largest = np.zeros(rows.shape[0])
        row_of_entry = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        np.maximum.at(largest, row_of_entry, np.abs(rows.data))
        return largest > high
    return np.asarray(np.abs(rows).max(1) > high)


def describe_nonfinite(A: Any, position: tuple[int, int], column_name: object = None) -> str:
    """NaN or infinity in words, with its row and column."""
    row, column = position
    value = A[row, column]
    word = "NaN" if np.isnan(value) else "infinity (inf)" if value > 0 else "-infinity (-inf)"
    name = "" if column_name is None else f" ({column_name!r})"
    return f"{word} at row {row}, column {column}{name}"
