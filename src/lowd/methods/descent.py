"""What t-SNE and UMAP share: where a descent starts, who follows it, and its forces on a mesh."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

import numpy as np
from scipy.sparse.csgraph import connected_components

from .. import progress, random
from ..backend import threads
from ..errors import DataError, DisconnectedGraphWarning, warn
from ..linalg import principal_scores, signs
from ..linalg.laplacian import laplacian_eigenpairs
from ..parameters import Graph, Held, Indices, Reals, state
from ..spaces import Listed, Lists, Space
from ..spaces.known import check_listed

# What is called every ten steps with their number and the embedding, and may ask to stop by True.
Callback = Callable[[int, Reals], Any]


def check_given(space: Space, k: int, counts_itself: bool = False) -> None:
    """Raise an error if neighbors are given, and fewer than k of some row."""
    lists = space.lists if isinstance(space, Listed) else space
    if isinstance(lists, Lists) and lists.near is not None:
        check_listed(lists.near, k, counts_itself)


# -- the start ------------------------------------------------------------------------------------


def initial_scores(
    init: str, space: Space, W: Graph, k: int, seed: int, has_distances: bool = True
) -> tuple[Reals, str]:
    """Coordinates of the points to start from, of any size, and how they were found.

    They are by name: "spectral" of the graph W, "pca" of the rows, or "random". Where there are
    distances only, "pca" is classical scaling, and spectral where there is a graph only. The
    spectral coordinates of a graph in several components tell nothing but these apart, so "pca"
    replaces them, or "random" where there is a graph only.
    """
    n, has_distances = space.n, has_distances and not isinstance(space, Lists)
    if init == "spectral" or (init == "pca" and not has_distances):
        components = connected_components(W, directed=False)[0]
        if components == 1 and n > k + 1:
            found = laplacian_eigenpairs(W, np.arange(n), k, seed)
            return found.vectors / np.sqrt(found.degrees)[:, None], "spectral"
        instead = "pca" if has_distances else "random"
        if init == "spectral":
            why = f"{components} connected components" if components > 1 else f"only {n} points"
            warn(
                f"init='spectral': the neighbor graph has {why}, so its smoothest functions say "
                f"nothing; the start is that of init='{instead}' instead.",
                DisconnectedGraphWarning,
            )
        init = instead
    if init == "random":
        return random.normals(seed, "start", (n, k)), "random"
    used = "classical scaling" if space.rows is None else "pca"
    return principal_scores(space, k, seed), used


def fill_columns(scores: Reals, k: int, seed: int) -> tuple[Reals, Indices, Reals]:
    """k columns of scores around 0 with fixed signs, which of them are real, and their deviations.

    The data may have fewer dimensions than k; the other columns are random numbers.
    """
    spread = scores.std(0, dtype=np.float64)
    real = np.flatnonzero(spread > 1e-8 * spread.max(initial=0))  # of eigenvalues, √eps
    Y = np.empty((len(scores), k))
    if len(real) < k:
        Y[:] = random.normals(seed, "start", Y.shape)
    held = scores[:, real].astype(np.float64)
    Y[:, real] = (held - held.mean(0)) * signs(held)
    return Y, real, spread[real]


def check_coordinates(init: np.ndarray, n: int, k: int) -> Reals:
    """Given coordinates of n rows to start from, where forces do not vanish."""
    if init.shape != (n, k) or init.dtype.kind not in "fiu" or not np.isfinite(init).all():
        raise DataError(
            f"init: expected finite numbers of shape ({n}, {k}), got {init.dtype} {init.shape}."
        )
    largest = np.abs(init).max()
    if largest > 1e5:  # forces fall with the third power of distances, to 1e-15
        raise DataError(
            f"init: coordinates are up to {largest:.1e} large, where forces between points vanish; "
            "divide them, to at most 100000."
        )
    return init.astype(np.float64)


# -- on the way -----------------------------------------------------------------------------------


def follower(
    callback: Callback | None, rows: Indices, unit: float = 1.0
) -> Callable[[int, Reals], bool] | None:
    """What shows the embedding of the rows to everybody who follows a descent of the points.

    It answers whether the callback asks to stop; None where nobody follows.
    """
    if callback is None and not progress.is_watched():
        return None

    def show(step: int, Y: Reals) -> bool:
        progress.report_embedding(unit * Y[rows])
        return callback is not None and callback(step, unit * Y[rows]) is True

    return show


def centered(Y: Reals) -> Reals:
    """Points around their mean; sums along contiguous numbers are ten times as fast."""
    Z = np.array(Y.T, np.float64, order="C")
    return np.ascontiguousarray((Z - Z.mean(1, keepdims=True)).T)


def relative_error(found: Reals, exact: Reals) -> float:
    """How far forces are from the exact ones, root mean square, as a share of these."""
    return float(np.sqrt(np.square(found - exact).sum() / np.square(exact).sum()))


# -- repulsive forces on new points ---------------------------------------------------------------


class Interpolated(Protocol):
    """A descent whose repulsive forces are interpolated: the native core's, or torch's."""

    def interpolation_grid(
        self, Y: Reals, threads: int
    ) -> tuple[Reals, list[int], list[float], float]: ...


class Mesh(Held):
    """The potential of the repulsive forces of the training points, at the nodes of a mesh."""

    potential: Reals = state("n_nodes n_columns")
    origin: Reals = state("n_axes")
    spacing: float = state()

    @classmethod
    def of(cls, descent: Interpolated, Y: Reals) -> Mesh | None:
        """That of a descent; there is none beyond the plane."""
        k = Y.shape[1]
        if k > 2:
            return None
        potential, nodes, origin, spacing = descent.interpolation_grid(Y, threads())
        if not len(potential):
            return None
        mesh = cls()
        mesh.potential, mesh.spacing = potential.reshape(nodes[0], -1), float(spacing)
        mesh.origin = np.array(origin[:k], np.float64)
        return mesh


def mesh_parts(mesh: Mesh | None) -> tuple[Reals | None, list[int], list[float], float]:
    """A mesh as the native core takes it: potential, nodes, origin and spacing."""
    if mesh is None:
        return None, [0, 0], [0.0, 0.0], 1.0
    nodes = mesh.potential.shape if len(mesh.origin) == 2 else (len(mesh.potential), 0)
    origin = [*map(float, mesh.origin), 0.0][:2]
    return mesh.potential.ravel(), list(nodes), origin, float(mesh.spacing)
