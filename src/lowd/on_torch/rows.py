"""Dense rows on the device: projections, scatter matrices, distances and kernels.

Most statistics of columns are left to the core: it reads each number once, which takes no longer
than to copy it to a device.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from .. import progress
from ..backend import allocate
from ..linalg.eigen import dense_eigenpairs
from ..linalg.principal import (
    EPS,
    Axes,
    Seen,
    by_gram,
    normalized,
    project,
    project_exactly,
    scatter,
    scatter_product,
)
from ..parameters import Indices, Reals
from ..spaces.matrices import column_range, places
from ..spaces.space import PAIRED, copied, measure_rows, picked
from .arrays import (
    STAGED,
    Tensor,
    TensorType,
    copy_by_threads,
    explaining_memory,
    has_room,
    is_worth,
    keep,
    resident,
    rows_per_block,
    to_device,
    to_numpy,
    torch,
)

# -- sums over rows --------------------------------------------------------------------------------


def centered_blocks(
    X: Reals, mean: Reals, weights: Reals | None
) -> Iterator[tuple[Tensor, Tensor]]:
    """Rows less their mean in float64, a block at a time, and the same times their weights."""
    with explaining_memory(f"rows of shape {X.shape}"):
        rows, middle = resident(X), to_device(mean, torch.float64)
        for i in range(0, len(X), step := rows_per_block(2 * X.shape[1])):
            Z = rows[i : i + step].double() - middle
            if weights is None:
                yield Z, Z
            else:
                yield Z, Z * to_device(weights[i : i + step], torch.float64)[:, None]


@scatter.register("torch")
def _(X: Reals, mean: Reals, weights: Reals | None = None) -> Reals:
    d = X.shape[1]
    if not is_worth(X.size * d, 2**26):
        return scatter.function(X, mean, weights)
    out = to_device(np.zeros((d, d)))
    for Z, weighted in centered_blocks(X, mean, weights):
        out.addmm_(Z.T, weighted)
    return to_numpy((out + out.T) / 2)


@scatter_product.register("torch")
def _(X: Reals, mean: Reals, V: Reals, weights: Reals | None = None) -> tuple[Reals, float]:
    if not is_worth(X.size * X.shape[1], 2**26):
        return scatter_product.function(X, mean, V, weights)
    v = to_device(V, torch.float64)
    out, trace = torch.zeros_like(v), v.new_zeros(())
    for Z, weighted in centered_blocks(X, mean, weights):
        out.addmm_(weighted.T, Z @ v)
        trace += (weighted * Z).sum()
    return to_numpy(out), float(trace)


@project.register("torch")
def _(X: Reals, mean: Reals | None, W: Reals, bias: Reals | None = None) -> Reals:
    if not is_worth(X.size * W.shape[1], 2**26):
        return project.function(X, mean, W, bias)
    return projected(X, mean, W, bias, resident(X).dtype)


@project_exactly.register("torch")
def _(X: Any, mean: Reals, W: Reals) -> Reals:
    if not isinstance(X, np.ndarray) or not is_worth(X.size, 2**22) or not has_room(X.nbytes):
        return project_exactly.function(X, mean, W)
    return projected(X, mean, W, None, torch.float64)


def projected(
    X: Reals, mean: Reals | None, W: Reals, bias: Reals | None, dtype: TensorType
) -> Reals:
    """(X - mean) W + bias, computed in float64."""
    with explaining_memory(f"a projection of rows of shape {X.shape}"):
        rows, w = resident(X), to_device(W, torch.float64)
        offset = w.new_zeros(w.shape[1]) if bias is None else to_device(bias, torch.float64)
        shift = w.new_zeros(len(w)) if mean is None else to_device(mean, torch.float64)
        out = w.new_empty(len(X), w.shape[1], dtype=dtype)
        for i in range(0, len(X), step := rows_per_block(2 * max(X.shape[1], w.shape[1]))):
            out[i : i + step] = torch.addmm(offset, rows[i : i + step].double() - shift, w)
        return to_numpy(out)


def is_light(X: Reals) -> bool:
    """Whether rows are worth a copy that takes no memory from the search that may follow."""
    return is_worth(X.size, 2**22) and has_room(X.nbytes, 0.05)


@column_range.register("torch")
def _(X: Reals) -> tuple[Reals, Reals]:
    if not is_light(X):
        return column_range.function(X)
    rows = resident(X)
    return to_numpy(rows.amin(0)), to_numpy(rows.amax(0))


@places.register("torch")
def _(X: Reals, least: Reals, factors: Reals) -> Reals:
    """Sums by halves, as rows must have the same place wherever they are in a matrix."""
    if not is_light(X):
        return places.function(X, least, factors)
    with explaining_memory(f"rows of shape {X.shape}"):
        rows, w = resident(X), to_device(factors)
        low, out = to_device(least, torch.float64), w.new_empty(len(X))
        for i in range(0, len(X), step := rows_per_block(4 * X.shape[1])):
            out[i : i + step] = fold_sum((rows[i : i + step].double() - low) * w)
        return to_numpy(out)


@by_gram.register("torch")
def _(X: Reals, seen: Seen, k: int) -> Axes:
    n, d = X.shape
    if not is_worth(X.size * n, 2**26) or not has_room(24 * X.size + 16 * n * n):
        return by_gram.function(X, seen, k)
    with explaining_memory(f"the inner products of {n} rows"):
        A = (resident(X).double() - to_device(seen.mean)) * to_device(seen.inverse)
        if seen.weights is not None:
            A *= to_device(seen.weights, torch.float64).sqrt()[:, None]
        G = to_numpy(A @ A.T)
        values, U, *_ = dense_eigenpairs(G, k)
        V = to_numpy(A.T @ to_device(U))
    total = float(np.trace(G))
    return Axes(np.maximum(values, 0), normalized(V), total, "gram", 0.0, max(n, d) * EPS)


@copied.register("torch")
def _(X: Reals) -> Reals:
    return copied.function(X) if X.nbytes < STAGED else copy_by_threads(np.empty_like(X), X)


@picked.register("torch")
def _(X: Reals, points: Indices) -> Reals:
    """The device gathers them sooner than the host, and has them for the search that follows."""
    if not is_worth(len(points) * X.shape[1], 2**22) or not is_light(X):
        return picked.function(X, points)
    tensor = resident(X)[to_device(points)]
    keep(found := to_numpy(tensor), tensor)
    return found


# -- distances and kernels -------------------------------------------------------------------------


@measure_rows.register("torch")
def _(
    Q: Reals, X: Reals, measure: str, params: tuple[float, ...], center: Reals | None = None
) -> Reals:
    if measure in PAIRED or not is_worth(len(Q) * len(X), 2**22):
        return measure_rows.function(Q, X, measure, params, center)
    what = f"the distances of {len(Q)} to {len(X)} rows"
    out = allocate((len(Q), len(X)), X.dtype, what, "use landmarks")
    with explaining_memory(what):
        x = resident(X)
        q = x if Q is X else to_device(Q)
        # All pairs of a fit stay on the device for what is made of them, if that leaves room.
        whole = (
            torch.empty(out.shape, dtype=x.dtype, device=x.device)
            if (Q is X and x.device.type == "cuda" and has_room(out.nbytes, 0.4))
            else None
        )
        fill(out if whole is None else whole, q, x, measure, params, center)
        if whole is not None:
            keep(to_numpy(whole, out), whole)
    return out


def fill(
    out: Any, q: Tensor, x: Tensor, measure: str, params: tuple[float, ...], center: Reals | None
) -> Any:
    """A matrix of the measures of rows q to rows x, on the device or the host; in place."""
    compute = measure_of(x, measure, params, center)
    for i in range(0, len(q), step := rows_per_block(8 * len(x))):
        part = compute(q[i : i + step]).to(x.dtype)
        if isinstance(out, np.ndarray):
            to_numpy(part, out[i : i + step])
        else:
            out[i : i + step] = part
        progress.report("distances", min(i + step, len(q)), len(q))
    return out


def measure_of(
    x: Tensor, measure: str, params: tuple[float, ...], center: Reals | None
) -> Callable[[Tensor], Tensor]:
    """The function that measures, in float64, from some rows to all rows x."""
    x, p = x.double(), params
    middle = None if center is None else to_device(center, torch.float64)
    if measure in ("dot", "poly", "sigmoid"):
        if measure != "dot" or middle is None:
            middle = x.new_zeros(x.shape[1])
        z = x - middle

        def products(q: Tensor) -> Tensor:
            B = (q.double() - middle) @ z.T
            if measure == "poly":
                return (p[0] * B + p[1]) ** p[2]
            return torch.tanh(p[0] * B + p[1]) if measure == "sigmoid" else p[0] * B

        return products
    if measure in ("sqeuclidean", "euclidean", "rbf", "rbfm1"):
        middle = x.mean(0) if middle is None else middle
        z = x - middle
        squares = fold_sum(z.square())

        def of_squares(q: Tensor) -> Tensor:
            B = squared_distances(q.double() - middle, z, squares)
            if measure == "euclidean":
                return p[0] * B.sqrt()
            if measure == "rbf":
                return torch.exp(-p[0] * B)
            return torch.expm1(-p[0] * B) if measure == "rbfm1" else p[0] * B

        return of_squares
    if measure in ("hamming", "jaccard"):
        return lambda q: shares_of_columns(q, x, measure)
    order = {"manhattan": 1.0, "laplacian": 1.0, "chebyshev": np.inf}.get(measure)
    order = float(p[0]) if order is None else order
    exact = "donot_use_mm_for_euclid_dist"
    if measure == "laplacian":
        return lambda q: torch.exp(-p[0] * torch.cdist(q.double(), x, p=order))
    return lambda q: torch.cdist(q.double(), x, p=order, compute_mode=exact)


def squared_distances(q: Tensor, z: Tensor, squares: Tensor, least: float = 1e-4) -> Tensor:
    """Squared distances of centered rows; of close pairs from differences.

    Those below this share of the norms lose more than 4 of 16 digits in a product.
    """
    norms = fold_sum(q.square())[:, None] + squares
    D = torch.addmm(norms, q, z.T, alpha=-2).clamp_min_(0)
    close = torch.nonzero(norms.mul_(least) >= D)
    for pairs in close.split(100_000):
        i, j = pairs.unbind(1)
        D[i, j] = fold_sum((q[i] - z[j]).square())
    return D


def shares_of_columns(q: Tensor, x: Tensor, measure: str) -> Tensor:
    """The share of the columns in which rows differ, of all or of those that either has."""
    if measure == "jaccard":
        q, x = q != 0, x != 0
    differ = torch.zeros(len(q), len(x), dtype=torch.float64, device=x.device)
    either = torch.zeros_like(differ)
    for c in range(x.shape[1]):
        differ += q[:, c, None] != x[:, c]
        either += (q[:, c, None] | x[:, c]) if measure == "jaccard" else 1
    return torch.where(either > 0, differ / either, 0.0)


def fold_sum(A: Tensor) -> Tensor:
    """Sums over the last axis by halves: one order of additions, whatever the other axes are."""
    while A.shape[-1] > 1:
        half = (A.shape[-1] + 1) // 2
        folded = A[..., :half].clone()
        folded[..., : A.shape[-1] - half] += A[..., half:]
        A = folded
    return A[..., 0] if A.shape[-1] else A.new_zeros(A.shape[:-1])
