"""Kernel functions: inner products in a feature space that is never formed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Annotated, Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from ..backends.protocol import (
    MEASURES,
    Array,
    Backend,
    DType,
    Float64,
    MatrixPlan,
    PairwiseMatrix,
    Rows,
)
from ..backends.sparse_rows import subtract_columns
from ..distances.callables import name_callable
from ..distances.metrics import find_center, normalize_rows
from ..domains import Facts, Index, NotStored, Shape
from ..errors import DataError, UnsupportedError
from ..input.validation import Data
from ..values import frozen_copy, value
from .matrices import N_PROBED_ROWS, DenseMatrix

# Of a callable kernel, relative to its largest value: rounding of float32 passes.
MAX_ASYMMETRY = 1e-6


def kernel_of(
    data: Data,
    kernel: str | Callable[..., Any],
    gamma: float | None,
    degree: float,
    coef0: float,
    params: dict[str, Any] | None,
) -> KernelRelation:
    """The kernel of a name, callable or matrix on the training data, with its parameters."""
    if callable(kernel):
        return CallableKernel.of(data.items, kernel, dict(params or {}))
    if kernel == "precomputed":
        return PrecomputedKernel(data.items)
    X = normalize_rows(data.items, None) if kernel == "cosine" else data.items
    assert gamma is not None or kernel in ("linear", "cosine")
    measures: dict[str, tuple[str, tuple[float, ...]]] = {
        "linear": ("dot", (1.0,)),
        "cosine": ("dot", (1.0,)),
        "rbf": ("rbf", (gamma or 0.0,)),
        "laplacian": ("laplacian", (gamma or 0.0,)),
        "poly": ("poly", (gamma or 0.0, float(coef0), float(degree))),
        "sigmoid": ("sigmoid", (gamma or 0.0, float(coef0))),
    }
    measure, numbers = measures[kernel]
    mean = None if data.statistics is None else data.statistics.mean
    center = find_center(X, mean) if measure == "rbf" else None
    return Kernel(X, kernel == "cosine", measure, numbers, center)


@value
class Kernel:
    """A named kernel (linear, RBF, polynomial, sigmoid, Laplacian, cosine) on rows of numbers."""

    X: Annotated[Rows, Shape("n", "d")]
    unit_length: bool
    measure: str  # of `ops.pairwise`
    params: tuple[float, ...]
    center: Annotated[Float64, Shape("d")] | None

    def among(self, ops: Backend) -> KernelMatrix:  # noqa: ARG002 - a relation's signature
        return KernelMatrix(self)

    def toward(self, Q: Rows, ops: Backend) -> Array:
        Q = normalize_rows(Q, None) if self.unit_length else Q
        return ops.pairwise(Q, self.X, self.measure, self.params, self.center)

    def take(self, rows: NDArray[np.int64]) -> Kernel:
        """The same kernel toward some of the training rows."""
        return replace(self, X=frozen_copy(self.X[rows]))

    def columns(self, rows: NDArray[np.int64], ops: Backend) -> Array:
        """Those columns of the kernel matrix."""
        return ops.pairwise(self.X, self.X[rows], self.measure, self.params, self.center)

    def block(self, rows: NDArray[np.int64], ops: Backend) -> Array:
        """Those rows and columns of the kernel matrix."""
        part = self.X[rows]
        return ops.pairwise(part, part, self.measure, self.params, self.center)

    def diagonal(self) -> Float64:
        """k(x, x) for every training row."""
        if self.measure in ("rbf", "rbfm1", "laplacian"):
            return np.full(self.X.shape[0], 0.0 if self.measure == "rbfm1" else 1.0)
        origin = np.zeros(self.X.shape[1]) if self.center is None else self.center
        if issparse(self.X):
            dots = np.asarray(subtract_columns(self.X, origin).power(2).sum(1)).ravel()
        else:
            dots = np.square(self.X - origin, dtype=np.float64).sum(1)
        if self.measure == "poly":
            gamma, coef0, degree = self.params
            return np.asarray((gamma * dots + coef0) ** degree)
        if self.measure == "sigmoid":
            gamma, coef0 = self.params
            return np.asarray(np.tanh(gamma * dots + coef0))
        return np.asarray(self.params[0] * dots)

    @property
    def positive(self) -> bool:
        """Has its matrix no negative eigenvalues, whatever the rows?"""
        if self.measure == "poly":
            _, coef0, degree = self.params
            return coef0 >= 0 and degree == int(degree)
        return self.measure != "sigmoid"

    def shifted(self) -> Kernel:
        """The kernel less 1, where that keeps digits: centering removes the constant anyway.

        With a small γ all rbf values are close to 1, and float32 would keep little else.
        """
        return replace(self, measure="rbfm1") if self.measure == "rbf" else self

    def center_at(self, rows: NDArray[np.int64]) -> Kernel:
        """The same kernel, up to what centering removes, with the mean of some rows as the center.

        Inner products of rows that are far from the origin have no digits of their differences.
        """
        centered = self.center is not None or (self.measure == "dot" and not self.unit_length)
        return replace(self, center=find_center(self.X[rows])) if centered else self

    def freeze(self) -> Kernel:
        return replace(self, X=frozen_copy(self.X))

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "rows")
        linear = "cosine" if self.unit_length else "linear"
        facts.set("kernel", {"dot": linear, "rbfm1": "rbf"}.get(self.measure, self.measure))
        known = self.measure in ("dot", "rbf", "rbfm1", "laplacian", "poly", "sigmoid")
        facts.require(known, "measure", "a kernel")
        facts.require(self.measure == "dot" or not self.unit_length, "unit_length", "False")
        count = {"poly": 3, "sigmoid": 2}.get(self.measure, 1)
        facts.require(len(self.params) == count, "params", f"{count} numbers for {self.measure}")
        facts.require(self.params[0] > 0, "params", "of a scale > 0")
        facts.require(self.measure != "poly" or self.params[2] >= 0, "params", "of a degree >= 0")
        dots = self.measure == "dot" and not self.unit_length
        centered = MEASURES[self.measure] == "square" or dots
        facts.require(centered or self.center is None, "center", "None for this kernel")
        sparse = MEASURES[self.measure] != "difference" or not issparse(self.X)
        facts.require(sparse, "X", "dense for this kernel")


class KernelMatrix(NamedTuple):
    """The values of a named kernel between all training rows, for a solver."""

    kernel: Kernel

    @property
    def size(self) -> int:
        return int(self.kernel.X.shape[0])

    @property
    def dtype(self) -> DType:
        found: DType = self.kernel.X.dtype
        return found

    def plan(self, ops: Backend) -> MatrixPlan:
        k = self.kernel
        return ops.matrix_plan(PairwiseMatrix(k.X, k.measure, k.params, k.center))

    def to_dense(self, ops: Backend) -> DenseMatrix:
        k = self.kernel
        return DenseMatrix(ops.pairwise(k.X, k.X, k.measure, k.params, k.center))

    def max_abs(self, ops: Backend) -> float:
        probed = np.arange(min(N_PROBED_ROWS, self.size))
        return float(np.abs(self.kernel.columns(probed, ops)).max(initial=0))

    def trace(self) -> float:
        return float(self.kernel.diagonal().sum())


@value
class PrecomputedKernel:
    """A precomputed kernel matrix; new points come as rows of kernel values."""

    K: Annotated[Array | None, NotStored()]
    rows: Annotated[NDArray[np.int64], Shape("n"), Index("d")] | None = None

    def among(self, ops: Backend) -> DenseMatrix:  # noqa: ARG002 - a relation's signature
        assert self.K is not None
        return DenseMatrix(self.K)

    def toward(self, Q: Array, ops: Backend) -> Array:  # noqa: ARG002
        return Q if self.rows is None else np.ascontiguousarray(Q[:, self.rows])

    def take(self, rows: NDArray[np.int64]) -> PrecomputedKernel:
        return PrecomputedKernel(None, rows)

    def columns(self, rows: NDArray[np.int64], ops: Backend) -> Array:  # noqa: ARG002
        assert self.K is not None
        return np.ascontiguousarray(self.K[:, rows])

    def block(self, rows: NDArray[np.int64], ops: Backend) -> Array:  # noqa: ARG002
        assert self.K is not None
        return self.K[np.ix_(rows, rows)]

    def diagonal(self) -> Float64:
        assert self.K is not None
        return np.diagonal(self.K).astype(np.float64)

    def center_at(self, rows: NDArray[np.int64]) -> PrecomputedKernel:  # noqa: ARG002
        """The same: there are no rows to compute differences of."""
        return self

    def freeze(self) -> PrecomputedKernel:
        return PrecomputedKernel(None, self.rows)

    def state_facts(self, facts: Facts) -> None:
        facts.set("input", "kernel")
        facts.set("kernel", "precomputed")
        if self.rows is None:
            facts.equate("n", "d")


@value
class CallableKernel:
    """A callable kernel: f(A, B) -> matrix of rows of numbers, or f(a, b) -> number of objects."""

    items: Sequence[Any]
    kernel: Callable[..., Any]
    params: dict[str, Any]
    whole: bool
    parameter: str = "kernel"  # that messages name

    @classmethod
    def of(
        cls,
        items: Sequence[Any],
        function: Callable[..., Any],
        params: dict[str, Any],
        parameter: str = "kernel",
    ) -> CallableKernel:
        return cls(items, function, params, _takes_matrices(function, params, items), parameter)

    def among(self, ops: Backend) -> DenseMatrix:
        K = self.toward(self.items, ops)
        largest = np.abs(K).max()
        i, j = map(int, np.unravel_index(np.abs(K - K.T).argmax(), K.shape))
        if abs(K[i, j] - K[j, i]) > MAX_ASYMMETRY * largest:
            raise DataError(
                f"{self.parameter}={name_callable(self.kernel)} is not symmetric: {K[i, j]:.6g} "
                f"for ({i}, {j}) but {K[j, i]:.6g} for ({j}, {i})."
            )
        return DenseMatrix((K + K.T) / 2)

    def toward(self, Q: Sequence[Any], ops: Backend) -> Array:  # noqa: ARG002
        name = name_callable(self.kernel)
        try:
            given = (
                self.kernel(Q, self.items, **self.params)
                if self.whole
                else [[self.kernel(q, x, **self.params) for x in self.items] for q in Q]
            )
        except Exception as error:
            error.add_note(f"raised by {self.parameter}={name}")
            raise
        try:
            K = np.asarray(given, np.float64)
        except (TypeError, ValueError):
            K = np.empty(0)
        if K.shape != (len(Q), len(self.items)):
            raise DataError(
                f"{self.parameter}={name} gave no numbers of shape "
                f"{(len(Q), len(self.items))}: one per pair."
            )
        if not np.isfinite(K).all():
            i, j = map(int, np.argwhere(~np.isfinite(K))[0])
            raise DataError(f"{self.parameter}={name} gave {K[i, j]} for objects {i} and {j}.")
        return K

    def freeze(self) -> CallableKernel:
        items = frozen_copy(self.items) if isinstance(self.items, np.ndarray) else tuple(self.items)
        return replace(self, items=items)


def require_positive(kernel: KernelRelation) -> Kernel | PrecomputedKernel:
    """The kernel, unless it may have negative eigenvalues: landmarks assume that it has none."""
    if isinstance(kernel, CallableKernel) or (
        isinstance(kernel, Kernel) and kernel.measure == "sigmoid"
    ):
        name = kernel.kernel if isinstance(kernel, CallableKernel) else kernel.measure
        raise UnsupportedError(
            f"n_landmarks needs a kernel that is known to be positive semi-definite, which "
            f"{name!r} is not; use 'rbf', or n_landmarks=None."
        )
    return kernel


def _takes_matrices(
    kernel: Callable[..., Any], params: dict[str, Any], items: Sequence[Any]
) -> bool:
    """Does the callable compute f(A, B) -> matrix? Decided once, on unequal shapes."""
    if not isinstance(items, np.ndarray):
        return False
    try:
        return bool(np.shape(kernel(items[[0, 0]], items[[0, 0, 0]], **params)) == (2, 3))
    except Exception:  # a function of two rows may fail on matrices in any way
        return False


KernelRelation: TypeAlias = Kernel | PrecomputedKernel | CallableKernel
