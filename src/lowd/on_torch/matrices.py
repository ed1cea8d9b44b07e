"""Matrices on the device, dense or sparse, and iterations whose vectors stay there.

Also shortest paths, and the stress of metric MDS: what reads a whole matrix in each step.
"""

from __future__ import annotations

from abc import abstractmethod
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import DTypeLike, NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import reverse_cuthill_mckee

from .. import progress
from ..backend import allocate
from ..linalg.centered import Centered, centered_product, half_squares, products_of
from ..linalg.eigen import Host, place_of
from ..linalg.laplacian import complement_of
from ..linalg.smallest import cost_of_product, filtered, ritz_pairs, shifted
from ..methods.kernel_pca import kernel_matrix
from ..methods.mds import Step, Stress, metric_stress
from ..methods.umap import diffuse
from ..parameters import Graph, Indices, Product, Reals
from ..spaces.graph import path_products, paths_through
from ..spaces.neighbors import Neighbors
from .arrays import (
    Tensor,
    device,
    explaining_memory,
    has_kernels,
    has_room,
    is_worth,
    kernels,
    remembered,
    resident,
    rows_per_block,
    to_device,
    to_numpy,
    torch,
)
from .rows import fill

# -- dense matrices --------------------------------------------------------------------------------


class DeviceProduct:
    """Products with a symmetric matrix on the device: of tensors that are there, or of arrays."""

    @abstractmethod
    def multiply(self, V: Tensor) -> Tensor:
        """The product with vectors in float64."""

    def __call__(self, V: Any) -> Any:
        with explaining_memory(f"products with {V.shape[1]} vectors"):
            if isinstance(V, np.ndarray):
                return to_numpy(self.multiply(to_device(V, torch.float64)))
            return self.multiply(V)


class Dense(DeviceProduct):
    """Products with a matrix A, or with -A∘A/2, in float64."""

    def __init__(self, A: Tensor, half_square: bool = False) -> None:
        self.A, self.half_square = A, half_square

    def multiply(self, V: Tensor) -> Tensor:
        out = V.new_empty(len(self.A), V.shape[1])
        for some in torch.arange(len(self.A)).split(rows_per_block(4 * self.A.shape[1])):
            rows = slice(int(some[0]), int(some[-1]) + 1)
            part = self.A[rows].double()
            if self.half_square:
                part = part.square().mul_(-0.5)
            torch.matmul(part, V, out=out[rows])
        return out

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.dtype(str(self.A.dtype).removeprefix("torch."))

    def __getitem__(self, some: Indices) -> Reals:
        return to_numpy(self.A[to_device(some)])

    def __array__(self, dtype: DTypeLike | None = None, copy: bool | None = None) -> Reals:
        return np.asarray(to_numpy(self.A), dtype)


class DeviceCentered(DeviceProduct, Centered):
    """Products with HMH on the device."""

    def __init__(self, product: DeviceProduct, n: int) -> None:
        Centered.__init__(self, product, n)
        self.inner = product

    __call__ = DeviceProduct.__call__

    def multiply(self, V: Tensor) -> Tensor:
        V, n = V - V.mean(0), len(V)
        if len(self.means):
            image = self.inner.multiply(V)
        else:
            image = self.inner.multiply(torch.cat([V, V.new_full((n, 1), 1 / n)], 1))
            self.means = to_numpy(image[:, -1])
            image = image[:, :-1]
        return image - image.mean(0)


class Complement(DeviceProduct):
    """Products with norm - A, A = diagonal - root W root, where its null vector is taken out."""

    def __init__(
        self, product: DeviceProduct, root: Reals, diagonal: Reals, null: Reals, norm: float
    ) -> None:
        self.inner = product
        self.root, self.rest = to_device(root)[:, None], to_device(norm - diagonal)[:, None]
        self.null = to_device(null)

    def multiply(self, V: Tensor) -> Tensor:
        V = V - self.null @ (self.null.T @ V)
        out = self.rest * V + self.root * self.inner.multiply(self.root * V)
        return out - self.null @ (self.null.T @ out)


def _hold(A: Reals, half_square: bool) -> DeviceProduct | None:
    """A matrix on the device; None where the core is done before, or there is no room."""
    if not is_worth(A.size, 2**22) or not has_room(A.nbytes):
        return None
    with explaining_memory(f"a matrix of shape {A.shape}"):
        return Dense(resident(A), half_square)


@half_squares.register("torch")
def _(D: Reals) -> Product:
    return _hold(D, half_square=True) or half_squares.function(D)


@kernel_matrix.register("torch")
def _(X: Any, measure: str, params: tuple[float, ...], center: Reals | None) -> Any:
    """It stays on the device if it has room there, and only what is made of it goes to the host."""
    n = X.shape[0]
    fits = is_worth(n * n, 2**22) and has_room(n * n * X.dtype.itemsize)
    if not fits or not isinstance(X, np.ndarray):  # Sparse rows are compared by the core.
        return kernel_matrix.function(X, measure, params, center)
    with explaining_memory(f"a kernel of {n} rows"):
        x = resident(X)
        return Dense(fill(x.new_empty(n, n), x, x, measure, params, center))


@products_of.register(Dense)
def _(A: Dense) -> Product:
    return A


@products_of.register("torch")
def _(A: Reals) -> Product:
    return _hold(A, half_square=False) or products_of.function(A)


@centered_product.register(DeviceProduct)
def _(product: DeviceProduct, n: int) -> Centered:
    return DeviceCentered(product, n)


@complement_of.register("torch")
def _(W: Reals, root: Reals, diagonal: Reals, null: Reals, norm: float) -> Product:
    product = products_of(W)
    if isinstance(product, DeviceProduct):
        return Complement(product, root, diagonal, null, norm)
    return complement_of.function(W, root, diagonal, null, norm)


class OnDevice(Host):
    """The vectors of an iteration as tensors in float64."""

    def put(self, V: Reals) -> Any:
        return to_device(V, torch.float64)

    def get(self, V: Any) -> Reals:
        return to_numpy(V)

    def empty(self, n: int, k: int) -> Any:
        return torch.empty(n, k, dtype=torch.float64, device=device())


@place_of.register(DeviceProduct)
def _(product: DeviceProduct) -> Host:  # noqa: ARG001
    return OnDevice()


# -- sparse matrices -------------------------------------------------------------------------------


class Parts(NamedTuple):
    """CSR on the device: int64 starts of rows, int32 columns, float64 values."""

    starts: Tensor
    columns: Tensor
    values: Tensor

    @property
    def size(self) -> int:
        return len(self.starts) - 1

    def spread(self, of_rows: Tensor) -> Tensor:
        """For each entry what its row has."""
        return torch.repeat_interleave(of_rows, self.starts[1:] - self.starts[:-1])

    def row_numbers(self) -> Tensor:
        return self.spread(torch.arange(self.size, device=self.starts.device))

    def sum_rows(self, entries: Tensor) -> Tensor:
        """Sums over the entries of each row, in their order."""
        return torch.segment_reduce(entries, "sum", offsets=self.starts, axis=0, initial=0)

    def random_walk(self) -> tuple[Parts, Tensor]:
        """D^-1 times this graph, and its degrees D; a point without edges has none."""
        degrees = self.sum_rows(self.values)
        steps = self.values / self.spread(torch.where(degrees > 0, degrees, 1.0))
        return self._replace(values=steps), degrees

    def multiply(
        self, V: Tensor, a: float = 1.0, b: float = 0.0, less: Tensor | None = None
    ) -> Tensor:
        """a A V + b V - less, in float64."""
        if not has_kernels(V.device):
            out = a * self.sum_rows(self.values[:, None] * V[self.columns.long()]) + b * V
            return out if less is None else out - less
        V, k = V.contiguous(), V.shape[1]
        out, other = torch.empty_like(V), V if less is None else less.contiguous()
        factors = _hold_factors(a, b, 0.0 if less is None else -1.0)
        # A program adds so many entries of a row at a time, for a block of so many columns.
        edges, width = 8, min(16, max(2, 1 << (k - 1).bit_length()))
        kernels().multiply[(self.size, -(-k // width))](
            *self, V, other, out, factors, k, edges, width, num_warps=1
        )
        return out


shifted.register(Parts)(Parts.multiply)


@lru_cache(64)
def _hold_factors(*factors: float) -> Tensor:
    """Factors in float64, in which Triton takes none; those of a recurrence are used many times."""
    return torch.tensor(factors, dtype=torch.float64, device=device())


@remembered
def parts_of(W: Graph) -> Parts:
    """A sparse matrix on the device."""
    with explaining_memory(f"a sparse matrix of {W.nnz} entries"):
        return Parts(
            resident(W.indptr).to(torch.int64),
            resident(W.indices).to(torch.int32),
            resident(W.data).to(torch.float64),
        )


@cost_of_product.register("torch")
def _(A: Graph, launch: float = 5e4) -> float:
    """Two processors multiply 5e4 entries while a kernel begins, and 2 % of what it does then."""
    on_a_gpu = device().type == "cuda" and is_worth(float(A.nnz), 2**19)
    return min(1.0, 0.02 + launch / A.nnz) if on_a_gpu else 1.0


@filtered.register("torch")
def _(A: Graph, X: Reals, degree: int, middle: float, half: float) -> Reals:
    if not is_worth(float(A.nnz) * X.shape[1] * degree, 2**26):
        return filtered.function(A, X, degree, middle, half)
    parts: Any = parts_of(A)
    with explaining_memory(f"{X.shape[1]} vectors of {len(X)} numbers"):
        start: Any = to_device(X, torch.float64)
        return to_numpy(filtered.function(parts, start, degree, middle, half))


@ritz_pairs.register("torch")
def _(A: Graph, null: Reals, X: Reals, k: int) -> tuple[Reals, Reals, float]:
    if not is_worth(float(A.nnz) * X.shape[1], 2**22):
        return ritz_pairs.function(A, null, X, k)
    parts, kernel = parts_of(A), to_device(null, torch.float64)
    with explaining_memory(f"{X.shape[1]} vectors of {len(X)} numbers"):
        Q = to_device(X, torch.float64)
        Q = Q - kernel @ (kernel.T @ Q)
        Q = Q / torch.linalg.vector_norm(Q, dim=0).clamp_min(torch.finfo(torch.float64).tiny)
        Q = torch.linalg.qr(Q)[0]
        Q = Q - kernel @ (kernel.T @ Q)
        image = parts.multiply(Q)
        values, Z = scipy.linalg.eigh(to_numpy(Q.T @ image))
        turn, lead = to_device(Z), to_device(values[:k])
        V = Q @ turn
        missed = (image @ turn)[:, :k] - V[:, :k] * lead
        return values, to_numpy(V), float(torch.linalg.vector_norm(missed, dim=0).max())


@diffuse.register("torch")
def _(W: Graph, Y: Reals, steps: int = 80) -> Reals:
    if not is_worth(float(W.nnz) * Y.shape[1] * steps, 2**26):
        return diffuse.function(W, Y, steps)
    walk, degrees = parts_of(W).random_walk()
    stationary = degrees / degrees.sum()
    y: Any = to_device(Y, torch.float64)
    for step in range(steps):
        y = walk.multiply(y, 0.5, 0.5)
        if step % 10 == 9:  # Gram and Schmidt begin with the constant.
            y = y - stationary @ y
            for c in range(y.shape[1]):
                for earlier in y.T[:c]:
                    y[:, c] -= (stationary * earlier) @ y[:, c] * earlier
                length = (stationary @ y[:, c].square()).sqrt()
                y[:, c] /= torch.where(length > 0, length, 1.0)
    return to_numpy(y)


# -- shortest paths: edges are relaxed for many sources at a time ----------------------------------


SOURCES_AT_ONCE = 1024


@paths_through.register("torch")
def _(edges: Graph | None, marks: Reals | None, first: Neighbors, inside: bool = False) -> Reals:
    if marks is not None or edges is None or not is_worth(edges.shape[0], 4096):
        return paths_through.function(edges, marks, first, inside)
    n, m = edges.shape[0], len(first.counts)
    out = allocate((m, n), edges.dtype, f"the paths from {m} points", "use landmarks")
    lengths = np.zeros(len(first.indices)) if inside else first.distances
    with explaining_memory(f"shortest paths between {n} points"):
        graph = paths_of(edges)
        for i in range(0, m, SOURCES_AT_ONCE):
            part = first.take(slice(i, min(i + SOURCES_AT_ONCE, m)))
            some = slice(first.indptr[i], first.indptr[i] + len(part.indices))
            found = graph.relaxed(part.indices, part.owners, lengths[some], len(part.counts))
            out[i : i + SOURCES_AT_ONCE] = to_numpy(found[:, : len(part.counts)].T)
            progress.report("shortest paths", min(i + SOURCES_AT_ONCE, m), m)
    return out


@path_products.register("torch")
def _(edges: Graph) -> Product:
    n = edges.shape[0]
    need = n * n * edges.dtype.itemsize + 32 * n * SOURCES_AT_ONCE
    if not is_worth(n, 4096) or not has_room(need, 1.0):
        return path_products.function(edges)
    with explaining_memory(f"the geodesic distances of {n} points"):
        return Dense(paths_of(edges).between_all(), half_square=True)


@remembered
def paths_of(edges: Graph) -> DevicePaths:
    return DevicePaths(edges)


class DevicePaths:
    """The edges of a graph on the device, in an order in which neighbors are near."""

    def __init__(self, edges: Graph) -> None:
        lists = (np.ascontiguousarray(part) for part in (edges.indices, edges.indptr))
        pattern = csr_array((np.ones(edges.nnz), *lists), edges.shape)
        order = np.asarray(reverse_cuthill_mckee(pattern, symmetric_mode=True), np.int64)
        slot = np.empty_like(order)
        slot[order] = np.arange(len(order))
        counts = np.diff(edges.indptr)[order]
        starts = np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])
        entries = np.repeat(edges.indptr[:-1][order] - starts[:-1], counts) + np.arange(edges.nnz)
        self.n, self.order, self.slot = len(order), order, to_device(slot)
        self.start, self.length = to_device(starts), to_device(edges.data[entries])
        self.column = self.slot[to_device(edges.indices[entries], torch.int64)].int()

    def between_all(self) -> Tensor:
        """The lengths of the paths between all points, of both directions the smaller."""
        n = self.n
        G = torch.empty(n, n, dtype=self.length.dtype, device=device())
        for i in range(0, n, SOURCES_AT_ONCE):
            nodes = self.order[i : i + SOURCES_AT_ONCE]
            found = self.relaxed(nodes, np.arange(len(nodes)), np.zeros(len(nodes)), len(nodes))
            G[to_device(nodes)] = found[:, : len(nodes)].T
            progress.report("shortest paths", i + len(nodes), n)
        for i in range(0, n, SOURCES_AT_ONCE):
            for j in range(i, n, SOURCES_AT_ONCE):
                a, b = slice(i, i + SOURCES_AT_ONCE), slice(j, j + SOURCES_AT_ONCE)
                least = torch.minimum(G[a, b], G[b, a].T)
                G[a, b] = least
                G[b, a] = least.T
        return G

    def relaxed(
        self, nodes: NDArray[Any], columns: NDArray[Any], first: Reals, count: int
    ) -> Tensor:
        """Distances (nodes x sources) from some nodes, each of a source, after its offset."""
        width = max(128, 1 << (count - 1).bit_length())
        dist = torch.full((self.n, width), torch.inf, dtype=self.length.dtype, device=device())
        at = self.slot[to_device(np.asarray(nodes, np.int64))]
        source = to_device(np.asarray(columns, np.int64))
        offset = to_device(first).to(dist.dtype)
        flat = at * width + source
        dist.view(-1).scatter_reduce_(0, flat, offset, "amin")
        now = torch.zeros(self.n, dtype=torch.int32, device=device())
        now[at] = 1
        sweep = 0
        while True:
            later = torch.zeros_like(now)
            if has_kernels(device()):
                self._launch(dist, now, later, width)
            else:
                dist = self._sweep(dist, later)
            now, sweep = later, sweep + 1
            plain = not has_kernels(device())
            if (plain or sweep % 4 == 0) and not bool(now.any()):
                return dist[self.slot]

    def _launch(self, dist: Tensor, now: Tensor, later: Tensor, width: int) -> None:
        block = min(width, 1024)
        kernels().relax[(len(now), width // block)](
            self.start, self.column, self.length, dist, now, later, width, block, num_warps=4
        )

    def _sweep(self, dist: Tensor, later: Tensor) -> Tensor:
        """All edges at once: the least of each node's own and its neighbors' with the edge."""
        through = dist[self.column.long()] + self.length[:, None]
        counts = self.start[1:] - self.start[:-1]
        rows = torch.repeat_interleave(torch.arange(len(counts), device=device()), counts)
        new = dist.clone()
        new.scatter_reduce_(0, rows[:, None].expand_as(through), through, "amin")
        later.copy_((new < dist).any(1).int())
        return new


# -- stress: dissimilarities are read once in each step --------------------------------------------


# A kernel sums tiles of so many rows and columns, of each of so many parts of the columns.
COLUMN_PARTS, STRESS_TILE = 8, (32, 128)


@metric_stress.register("torch")
def _(D: Reals, W: Reals | None) -> Stress:
    if not is_worth(len(D), 2048) or not has_room(D.nbytes * (1 if W is None else 2)):
        return metric_stress.function(D, W)
    with explaining_memory(f"the stress of {len(D)} points"):
        return DeviceStress(D, W)


class DeviceStress(Stress):
    """Dissimilarities and weights, which are on the device as well."""

    def __init__(self, D: Reals, W: Reals | None) -> None:
        super().__init__(D, W)
        self._delta = resident(self.D)
        self._weights = None if W is None else to_device(np.asarray(W, D.dtype))
        self._total = 0.0  # The sum of w δ² over the pairs.
        for i in range(0, len(D), step := rows_per_block(8 * len(D))):
            delta, w = self._known(slice(i, i + step))
            self._total += float((w * delta.square()).sum()) / 2

    def step(self, Y: Reals) -> Step:
        y = to_device(Y, torch.float64)
        single = self._delta.dtype == torch.float32
        with_kernel = has_kernels(y.device) and single and y.shape[1] <= 3
        sums = self._launch(y) if with_kernel else self._sum(y)
        stress, eta2 = (float(part.sum()) / 2 for part in sums[:2])
        rho = (self._total + eta2 - stress) / 2  # since w (δ - d)² = w δ² - 2 w δ d + w d²
        return Step(stress, eta2, rho, to_numpy(sums[2:].T))

    def _launch(self, y: Tensor) -> Tensor:
        n, k = y.shape
        # Differences of float32 keep their digits around the center.
        flat = (y - y.mean(0)).T.float().contiguous()
        out = y.new_empty(COLUMN_PARTS, k + 2, n)
        span = -(-n // (COLUMN_PARTS * STRESS_TILE[1])) * STRESS_TILE[1]
        weights = self._delta if self._weights is None else self._weights
        kernels().guttman[(-(-n // STRESS_TILE[0]), COLUMN_PARTS)](
            self._delta, weights, flat, out, n, span, k, self._weights is not None, *STRESS_TILE,
            num_warps=4,
        )  # fmt: skip
        return out.sum(0)

    def _sum(self, y: Tensor) -> Tensor:
        n, k = y.shape
        out = y.new_empty(k + 2, n)
        for i in range(0, n, step := rows_per_block(8 * n)):
            part = slice(i, i + step)
            (delta, w), here = self._known(part), y[part]
            square = torch.zeros_like(delta)
            for c in range(k):
                square += (here[:, c, None] - y[:, c]).square()
            d = square.sqrt()
            ratio = torch.where(d > 0, w * delta / d, 0.0)
            out[0, part] = (w * (delta - d).square()).sum(1)
            out[1, part] = (w * square).sum(1)
            out[2:, part] = (ratio.sum(1)[:, None] * here - ratio @ y).T
        return out

    def _known(self, part: slice) -> tuple[Tensor, Tensor]:
        """Dissimilarities and weights of some rows in float64; of a missing pair both are 0."""
        delta = self._delta[part].double()
        known = ~torch.isnan(delta)
        w = known.double()
        if self._weights is not None:
            w = torch.where(known, self._weights[part].double(), 0.0)
        return torch.where(known, delta, 0.0), w
