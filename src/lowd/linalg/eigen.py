"""Leading eigenpairs of symmetric operators, and one fixed answer where several are right."""

from __future__ import annotations

from typing import Any, NamedTuple, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike

from .. import progress, random
from ..backend import overridable
from ..parameters import Product, Reals

#: Axes with equal eigenvalues, of which any rotation is as good an answer.
Groups: TypeAlias = tuple[tuple[int, ...], ...]


class Eigenpairs(NamedTuple):
    """The leading eigenpairs, largest first, and their largest residual |Av - λv| / |A|.

    `quadrature` holds all Ritz values of an iteration and their weights in its first block, which
    estimate sums over the whole spectrum (Lanczos quadrature). `following` is the next eigenvalue,
    where it is known.
    """

    values: Reals
    vectors: Reals
    residual: float
    quadrature: tuple[Reals, Reals] | None = None
    following: float = -np.inf


def leading_eigenpairs(
    product: Product,
    n: int,
    k: int,
    seed: int,
    dtype: DTypeLike,
    *,
    tolerance: float | None = None,
    fall_back: int = 1000,
) -> Eigenpairs:
    """The k leading eigenpairs of a symmetric operator of size n, known by its products.

    For few rows the products with all unit vectors are the matrix, which LAPACK decomposes. It also
    does where the iteration does not converge, up to `fall_back` rows.
    """
    tolerance = krylov_tolerance(dtype) if tolerance is None else tolerance
    if not is_dense(n, k):
        start = random.normals(seed, "start", (n, block_width(k)))
        found = block_krylov(product, start, k, tolerance)
        if found.residual <= tolerance or n > fall_back:
            return found
    A = product(np.eye(n))
    return dense_eigenpairs((A + A.T) / 2, k)


def is_dense(n: int, k: int) -> bool:
    """Whether LAPACK finds k eigenpairs of n rows sooner than products with blocks do."""
    return n <= 140 + 20 * block_width(k)


def dense_eigenpairs(A: Reals, k: int) -> Eigenpairs:
    """The k leading eigenpairs of a symmetric matrix, by LAPACK."""
    n = len(A)
    values = V = np.empty(0)
    if 2 * k < n:  # otherwise all vectors come sooner than some
        values, V = scipy.linalg.eigh(A, subset_by_index=(n - k - 1, n - 1), check_finite=False)
    if len(values) <= k:  # LAPACK may find fewer than it was asked for where they are equal
        values, V = np.linalg.eigh(A)
    values, V = values[::-1], V[:, ::-1]
    return Eigenpairs(values[:k], V[:, :k], 0.0, None, next_of(values, k))


def block_width(k: int) -> int:
    """How many vectors are iterated for k wanted ones: at least four more, a multiple of 8."""
    return -(-(k + 4) // 8) * 8


def krylov_tolerance(dtype: DTypeLike) -> float:
    """The residual to iterate to; float32 products leave errors of their own size."""
    return 1e-10 if np.dtype(dtype) == np.float64 else 2e-6


class Host:
    """Where an iteration has its vectors: in the memory of the host, as arrays of NumPy."""

    def put(self, V: Reals) -> Any:
        """Vectors, or a small matrix that is multiplied with them."""
        return V

    def get(self, V: Any) -> Reals:
        """What becomes of them, as an array."""
        return np.asarray(V)

    def empty(self, n: int, k: int) -> Any:
        return np.empty((n, k))


@overridable
def place_of(product: Product) -> Host:  # noqa: ARG001
    """Where the products of an operator are computed; it takes and returns what lies there."""
    return Host()


def block_krylov(
    product: Product,
    start: Reals,
    k: int,
    tolerance: float,
    *,
    basis: int | None = None,
    max_products: int = 60,
    check_every: int = 1,
    patience: float = np.inf,
) -> Eigenpairs:
    """Block Lanczos iteration with full reorthogonalization and thick restarts.

    Each step multiplies the operator with one block. A basis of 12 blocks, or of `basis` vectors,
    is restarted from its best Ritz vectors. Where another route would take as long as `patience`
    products, the iteration gives up once it is expected to need more. Every decision is made in
    float64 on the Rayleigh quotient, so a rounded product costs accuracy, but it never leads to a
    wrong pair.
    """
    n, width = start.shape
    room = basis or 12 * width
    place = place_of(product)
    Q, AQ = place.empty(n, room), place.empty(n, room)
    T = np.zeros((room, room))
    block, m, restarted = orthonormalize(place.put(start), 0.0, place=place), 0, False
    quadrature: tuple[Reals, Reals] | None = None
    history: list[tuple[int, float]] = []
    unit = 0.0
    for step in range(1, max_products + 1):
        image = product(block)
        # In units of a power of 2, which no digit notices: squares of products may overflow.
        unit = unit or 2.0 ** np.frexp(float(abs(image).max()))[1]
        image = image / unit
        new = slice(m, m + block.shape[1])
        Q[:, new], AQ[:, new], m = block, image, new.stop
        # Transposed twice: BLAS takes the wide factor as it lies in memory, in half the time.
        products = (image.T @ Q[:, :m]).T
        inside = place.get(products)
        T[:m, new], T[new, :m] = inside, inside.T
        T[new, new] = (inside[new] + inside[new].T) / 2
        outside = image - Q[:, :m] @ products
        full, last = m + width > room, step == max_products
        size = max(float(np.abs(np.diagonal(T)[:m]).max()), np.finfo(float).tiny)
        block = orthonormalize(outside, 1e-13 * size, 1, place)
        block = orthonormalize(block - Q[:, :m] @ (Q[:, :m].T @ block), 0.5, 1, place)[:, : n - m]
        progress.report("eigenvectors", step, max_products)
        # A check costs m³ operations; it can wait while that is more than a product.
        if step % (3 if m > 128 else check_every) and not (full or last) and block.shape[1]:
            continue
        values, S = np.linalg.eigh(T[:m, :m])
        values, S = values[::-1], S[:, ::-1]
        size = max(abs(values[0]), abs(values[-1]), np.finfo(float).tiny)
        if not restarted:
            quadrature = values, np.square(S[:width]).sum(0)
        # Only the last image leaves the basis, so what it leaves behind is the residual.
        residual = longest(outside @ place.put(S[new, :k])) / size
        history.append((step, residual))
        hopeless = products_left(history, tolerance) > patience
        if residual <= tolerance or not block.shape[1] or hopeless or last:
            break
        if full:
            # Ritz vectors beyond the wanted ones that have nearly converged speed these up.
            kept = min(k + max(width, (room - k) // 3), m)
            turn = place.put(S[:, :kept])
            Q[:, :kept], AQ[:, :kept] = Q[:, :m] @ turn, AQ[:, :m] @ turn
            T[:kept, :kept] = np.diag(values[:kept])
            m, restarted = kept, True
    turn = place.put(S[:, :k])
    V = Q[:, :m] @ turn
    residual = longest(AQ[:, :m] @ turn - V * place.put(values[:k])) / size
    values = values * unit
    if quadrature is not None:
        quadrature = quadrature[0] * unit, quadrature[1]
    return Eigenpairs(values[:k], place.get(V), residual, quadrature, next_of(values, k))


def longest(V: Any) -> float:
    """The length of the longest column."""
    return float(np.sqrt(float((V * V).sum(0).max())))


def products_left(history: list[tuple[int, float]], tolerance: float) -> float:
    """Products until the residual is down to the tolerance, if it goes on to fall as it did.

    The first ones say little: residuals rise until the block has found its directions.

    >>> round(products_left([(step, 0.5**step) for step in range(1, 9)], 0.5**15))
    7
    """
    recent = [one for one in history if one[0] >= history[-1][0] - 3]
    (first, before), (last, now) = recent[0], recent[-1]
    if last < 5 or last == first or now <= tolerance:
        return 0.0
    fall = np.log(before / now) / (last - first)
    return float(np.log(now / tolerance) / fall) if fall > 0 else np.inf


def orthonormalize(B: Any, shortest: float, times: int = 2, place: Host | None = None) -> Any:
    """An orthonormal basis of the columns, without directions shorter than `shortest`.

    From the eigenvectors of B'B, twice (Stathopoulos and Wu, 2002): these are products and a tiny
    eigenproblem, where a QR factorization of a tall block is a chain of small steps. After the
    first time, what is left of the angles is the square of how dependent the columns were.
    """
    place = place or Host()
    for floor in (shortest, 0.5)[:times]:
        values, U = np.linalg.eigh(place.get(B.T @ B))
        length = np.sqrt(np.maximum(values, 0))
        some = length > max(floor, 1e-7 * length.max(initial=0))
        B = B @ place.put(U[:, some] / length[some])
    return B


# -- one answer -----------------------------------------------------------------------------------


def numerical_rank(values: Reals, noise: float | Reals) -> int:
    """How many eigenvalues there are up to the last one that is not rounding, largest first.

    `noise` is relative to the largest, one for all of them or one for each.
    """
    real = np.flatnonzero(values > noise * np.maximum(values[:1], 0))
    return int(real[-1]) + 1 if len(real) else 0


def next_of(values: Reals, k: int, otherwise: float = -np.inf) -> float:
    """The value after the first k."""
    return float(values[k]) if k < len(values) else otherwise


def canonical(
    values: Reals, V: Reals, dtype: DTypeLike = np.float64, *, groups: Groups | None = None
) -> Reals:
    """Eigenvectors with fixed signs, and a fixed basis where eigenvalues repeat.

    Any rotation within a group of equal eigenvalues is as good an answer. The canonical one is
    triangular on rows of the group that are chosen by their length, so that it depends on the
    space only, and not on the solver that found it.
    """
    V = V.copy()
    for group in equal_groups(values, dtype) if groups is None else groups:
        part = V[:, list(group)]
        rows, left = [], part.copy()
        for _ in group:  # the row that is longest beyond those before; near ties go to the first
            size = np.einsum("ij,ij->i", left, left)
            rows.append(int(np.argmax(size >= (1 - 1e-6) * size.max())))
            direction = left[rows[-1]] / np.sqrt(size[rows[-1]])
            left -= np.outer(left @ direction, direction)
        V[:, list(group)] = part @ scipy.linalg.qr(part[np.sort(rows)].T)[0]
    return V * signs(V)


def equal_groups(
    values: Reals,
    dtype: DTypeLike = np.float64,
    *,
    precision: float | None = None,
    floor: float = 0.0,
    following: float = -np.inf,
) -> Groups:
    """Groups of two or more consecutive eigenvalues that are equal, in either order.

    They are if they differ by no more than `precision` of their size, which is about what solvers
    reach, or by no more than `floor`. The last group may go on with the value `following` the last
    one, and then have only one axis here.

    >>> equal_groups(np.array([3.0, 2.0, 2.0, 2.0, 1.0])), equal_groups(np.ones(1), following=1.0)
    (((1, 2, 3),), ((0,),))
    """
    n, values = len(values), np.append(values, following)
    if precision is None:
        precision = 1e-10 if np.dtype(dtype) == np.float64 else 1e-5
    limit = precision * np.minimum(np.abs(values[1:]), np.abs(values[:-1])) + floor
    apart = np.flatnonzero((np.abs(np.diff(values)) > limit) | (limit == 0)) + 1
    groups = np.split(np.arange(len(values)), apart)
    return tuple(tuple(int(j) for j in group if j < n) for group in groups if len(group) > 1)


def signs(V: Reals) -> Reals:
    """+1 or -1 per column, to make its largest entry positive; near ties go to the first row."""
    if not V.size:
        return np.ones(V.shape[1])
    size = np.abs(V)
    pivot = (size >= (1 - 1e-6) * size.max(0)).argmax(0)
    return np.where(V[pivot, np.arange(V.shape[1])] < 0, -1.0, 1.0)
