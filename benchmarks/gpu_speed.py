"""What is timed on a GPU, beside its bar."""

from __future__ import annotations

import os
import time
from functools import cache, lru_cache
from typing import Any

import numpy as np
import torch
from scipy.sparse import csr_array

import lowd
from gpu_data import DEVICE, SMALL, Cases, M, N, Row, host, mixture, mnist, run_cases, sync, timed
from lowd.backends.native import Native
from lowd.backends.protocol import LayoutCurve, Perplexity, Ragged, multiply, to_csr
from lowd.backends.torch import Torch
from lowd.backends.torch import affinities as device_affinities
from lowd.backends.torch.kl import DeviceKLPlan
from lowd.backends.torch.plane_sums import sum_pairs
from lowd.backends.torch.ranking import rank_exactly
from lowd.backends.torch.row_index import DeviceRowIndex
from lowd.backends.torch.stress import DeviceStressPlan
from lowd.backends.traced import Traced
from lowd.evidence.quality import trustworthiness


def neighbors_on_device(n: int, d: int, k: int, decay: float = 0.5) -> Row:
    X = mixture(n, d, decay)

    def search() -> Any:
        return DeviceRowIndex(X, "euclidean", 1.0, None).search(X, k, among=True)

    first, warm, (indices, distances) = timed(search, 3)
    again = search()
    same = bool(torch.equal(indices, again[0]) and torch.equal(distances, again[1]))
    rows = torch.arange(0, n, max(1, n // 200), device=DEVICE)
    wrong = 0
    for row in rows.tolist():
        D = (X.double() - X[row].double()).square().sum(1)
        D[row] = torch.inf
        best = torch.sort(D, stable=True).indices[:k]
        wrong += not torch.equal(best.sort().values, indices[row].long().sort().values)
    return {"first": first, "seconds": warm, "same bits": same, "wrong rows of 200": wrong}


def neighbors_from_arrays(n: int, d: int, k: int) -> Row:
    X = host(n, d)
    first, warm, _ = timed(lambda: lowd.neighbors(X, k, backend="torch"), 3)
    return {"first": first, "seconds": warm}


def cdist_and_topk(n: int, d: int, k: int) -> Row:
    X, rows = mixture(n, d), min(n, 8192)

    def search() -> None:
        for i in range(0, rows, 4096):
            D = torch.cdist(X[i : i + 4096], X)
            torch.topk(D, k + 1, largest=False)

    first, warm, _ = timed(search, 2)
    return {"first": first, "seconds": warm * n / rows, "note": f"from {rows} rows"}


def perplexity(n: int) -> Row:
    g = torch.Generator(DEVICE).manual_seed(0)
    D = torch.rand(n, 90, generator=g, device=DEVICE, dtype=torch.float64).cumsum(1)
    first, warm, (p, _) = timed(lambda: device_affinities.fit_perplexities(D, 30.0))
    entropy = -(p * p.clamp_min(1e-300).log()).sum(1)
    off = float((entropy.exp() - 30).abs().max())
    return {"first": first, "seconds": warm, "largest error of the perplexity": off}


def exact_repulsion(n: int) -> Row:
    y = 20 * torch.randn(n, 2, device=DEVICE, generator=torch.Generator(DEVICE).manual_seed(0))
    first, warm, (repel, _) = timed(lambda: sum_pairs(y), 9)
    rows = torch.arange(0, n, max(1, n // 200), device=DEVICE)
    gap = y[rows, None].double() - y.double()
    w = 1 / (1 + gap.square().sum(2))
    exact = (w.square()[..., None] * gap).sum(1)
    error = float((repel.T[rows] - exact).norm() / exact.norm())
    return {"first": first, "seconds": warm, "force error": error}


@lru_cache(maxsize=1)
def probabilities(n: int, d: int) -> Any:
    """Joint probabilities of a mixture, with everything on the way to them timed."""
    ops, X = Torch(threads=os.cpu_count() or 1), host(n, d)
    near = ops.index(X, "euclidean", (1.0,), None).others(90)
    indptr = np.arange(0, 90 * n + 1, 90)
    p = ops.calibrate_rows(indptr, near.distances.ravel() ** 2, Perplexity(30.0)).affinities
    rows = csr_array((p, near.indices.ravel(), indptr), (n, n))
    return to_csr(ops.similarity_graph(rows, None).graph)


def mesh_iteration(n: int, d: int) -> Row:
    """An iteration late in a descent: of 50, between the host's looks at them."""
    P, n_steps = probabilities(n, d), 50
    plan = DeviceKLPlan(P, "student", 1, DEVICE)
    Y = 1e-4 * np.random.default_rng(0).standard_normal((n, 2))
    plan.start(Y)
    sync()
    start = time.perf_counter()
    plan.advance(250, 12.0, 0.5, n / 12)
    plan.advance(500, 1.0, 0.8, float(n))
    sync()
    whole = time.perf_counter() - start
    plan.start(Y)
    start = time.perf_counter()
    plan.advance(250, 12.0, 0.5, n / 12)
    plan.advance(500, 1.0, 0.8, float(n))
    sync()
    warm = time.perf_counter() - start
    plan.advance(1, 1.0, 0.8, 0.0)
    inner: Any = plan.inner
    inner.schedule.zero_()  # nothing moves
    mesh = inner._mesh_for(1.08 * float(inner.box[2]), 1.0)

    def iterate() -> None:
        inner.counter.zero_()
        inner._run(mesh, n_steps)

    first, later, _ = timed(iterate, 5)
    E = plan.embedding()
    rows = np.arange(0, n, max(1, n // 200))
    exact = plan.pair_sums(E, rows)[1] / plan.partition_function(E)
    gap = plan.forces(E)[1][rows] - exact
    error = float(np.sqrt((gap**2).sum() / (exact**2).sum()))
    KL = plan.cross_term(E) + float(np.log(plan.partition_function(E)))
    return {
        "first": first / n_steps, "seconds": later / n_steps, "750 iterations": warm,
        "750 iterations, first": whole, "force error": error, "KL": KL,
        "span": float(np.ptp(E, axis=0).max()),
    }  # fmt: skip


def layout_iteration(n: int, d: int) -> Row:
    from lowd.solvers.layout import fit_curve

    a, b = fit_curve(0.1, 1.0)
    W = probabilities(n, d) * n
    ops = Torch(threads=1)
    plan = ops.layout_objective(LayoutCurve(a, b, 0.02)).plan(W, 0)
    Y = 10 * np.random.default_rng(0).random((n, 2))
    plan.start(Y)
    plan.advance(np.full(100, 0.5), np.full(100, 1.0), None)
    steps = np.zeros(50), np.ones(50)
    first, later, _ = timed(lambda: plan.advance(*steps, None))
    return {"first": first / 50, "seconds": later / 50}


def whole_fit(method: str, X: Any, repeats: int = 2, **parameters: Any) -> Row:
    """From the NumPy array to the NumPy embedding, with the operations' share of the time."""
    from lowd.core import estimator

    traces: list[Traced] = []
    resolve = estimator.resolve

    def traced(name: str, n_jobs: int | None) -> Any:
        traces.append(Traced(resolve(name, n_jobs)))
        return traces[-1]

    cls = getattr(lowd, method)
    first, warm, model = timed(lambda: cls(backend="torch", **parameters).fit(X), repeats)
    row = {"first": first, "seconds": warm}
    for name in ("kl_divergence_", "force_error_", "loss_", "knn_recall_"):
        if hasattr(model, name):
            row[name.rstrip("_")] = float(getattr(model, name))
    estimator.resolve = traced  # type: ignore[assignment]
    try:
        again = cls(backend="torch", **parameters).fit(X)
    finally:
        estimator.resolve = resolve
    row["same bits"] = bool(np.array_equal(again.embedding_, model.embedding_))
    spent: dict[str, float] = {}
    for trace in traces:
        for name, seconds in trace.calls:
            spent[name] = spent.get(name, 0.0) + seconds
    row["calls"] = {name: round(seconds, 4) for name, seconds in spent.items()}
    if "GPU_PROFILE" in os.environ:
        import cProfile
        import pstats

        profile = cProfile.Profile()
        profile.enable()
        cls(backend="torch", **parameters).fit(X)
        profile.disable()
        pstats.Stats(profile).sort_stats("tottime").print_stats(28)
    return row


@cache
def roll(n: int) -> Any:
    """A Swiss roll of width 21."""
    rng = np.random.default_rng(0)
    t, height = 1.5 * np.pi * (1 + 2 * rng.random(n)), 21 * rng.random(n)
    return np.column_stack([t * np.cos(t), height, t * np.sin(t)]).astype(np.float32)


def shortest_paths(n: int, sources: int | None) -> Row:
    """From some nodes of the graph of a Swiss roll, or between all, which stay on the device."""
    from lowd.graph.neighbor_graph import symmetrize_edges
    from lowd.graph.search import to_csr

    ops, X = Torch(threads=os.cpu_count() or 1), roll(n)
    near = ops.index(X, "euclidean", (1.0,), None).others(10)
    graph = symmetrize_edges(to_csr(near, n)).astype(np.float32)
    if sources is None:
        V = np.random.default_rng(0).normal(size=(n, 4))
        first, warm, _ = timed(lambda: multiply(ops.geodesics(graph).half_squares(), V), 1)
        return {"first": first, "seconds": warm, "note": "with one product"}
    some = Ragged.singletons(np.arange(0, n, n // sources)[:sources])
    first, warm, found = timed(lambda: ops.geodesics(graph).distances(some), 2)
    few = Ragged.singletons(some.indices[:20])
    exact = Native(threads=os.cpu_count() or 1).geodesics(graph).distances(few)
    same = float(np.abs(found[:20] - exact).max() / exact.max())
    return {"first": first, "seconds": warm, "largest difference from the CPU": same}


def guttman_step(n: int, d: int) -> Row:
    """A step with the dissimilarities on the device."""
    X = mixture(n, d)
    D = torch.cdist(X, X)
    D.fill_diagonal_(0)
    Y = X[:, :2].double().cpu().numpy()
    plan = DeviceStressPlan(D, None)
    first, warm, step = timed(lambda: plan.step(Y), 5)
    y, some = torch.from_numpy(Y).to(DEVICE), torch.arange(0, n, max(1, n // 50), device=DEVICE)
    gap = y[some, None] - y
    distance = gap.norm(dim=2)
    ratio = torch.where(distance > 0, D[some].double() / distance, 0.0)
    exact = (ratio[..., None] * gap).sum(1).cpu().numpy()
    error = float(np.linalg.norm(step.BY[some.cpu().numpy()] - exact) / np.linalg.norm(exact))
    return {"first": first, "seconds": warm, "relative error": error}


def ranks(n: int, d: int, rows: int) -> Row:
    """Ranks of 15 random rows among all rows, of some rows: no list is nearer than another."""
    X = mixture(n, d)
    index = DeviceRowIndex(X, "euclidean", 1.0, None)
    listed = np.random.default_rng(0).integers(0, n, (rows, 15)).astype(np.int32)
    asked = np.arange(0, n, n // rows)[:rows]
    listed[listed == asked[:, None]] = -1
    first, warm, found = timed(lambda: index.ranks(asked, listed), 1)
    some = torch.arange(0, rows, max(1, rows // 100), device=DEVICE)
    exact = rank_exactly(
        index,
        torch.from_numpy(asked).to(DEVICE)[some],
        torch.from_numpy(listed).to(DEVICE)[some].long(),
    )
    return {
        "first": first * n / rows, "seconds": warm * n / rows, "note": f"from {rows} rows",
        "wrong ranks of 1500": int((exact.cpu().numpy() != found[some.cpu().numpy()]).sum()),
    }  # fmt: skip


def exact_trustworthiness(n: int, d: int) -> Row:
    """Of all rows of a t-SNE embedding, from NumPy arrays to the number."""
    X = host(n, d)
    Y = lowd.TSNE(backend="torch").fit(X).embedding_
    first, warm, found = timed(
        lambda: trustworthiness(X, Y, n_neighbors=15, backend="torch", anchors="all"), 1
    )
    near = DeviceRowIndex(torch.from_numpy(Y).to(DEVICE), "euclidean", 1.0, None)
    search = timed(lambda: near.search(near.rows, 15, among=True), 1)[1]
    return {
        "first": first, "seconds": warm, "trustworthiness": float(found),
        "neighbors in the plane": search,
    }  # fmt: skip


def speed_cases() -> Cases:
    """Bars are in seconds."""
    images = mnist()
    cases: Cases = {
        f"neighbors {N} x 784, k = 15, on the device": (
            0.025, lambda: neighbors_on_device(N, 784, 15)),
        f"neighbors {N} x 784, k = 90, on the device": (
            0.035, lambda: neighbors_on_device(N, 784, 90)),
        f"neighbors {N} x 784, k = 15, isotropic": (
            None, lambda: neighbors_on_device(N, 784, 15, 0.0)),
        f"neighbors {M} x 50, k = 15, on the device": (
            0.35, lambda: neighbors_on_device(M, 50, 15)),
        f"neighbors {M} x 50, k = 90, on the device": (
            0.75, lambda: neighbors_on_device(M, 50, 90)),
        f"neighbors {N} x 784, k = 15, from arrays": (
            None, lambda: neighbors_from_arrays(N, 784, 15)),
        f"neighbors {M} x 50, k = 15, from arrays": (
            None, lambda: neighbors_from_arrays(M, 50, 15)),
        f"cdist and topk {N} x 784, k = 15": (None, lambda: cdist_and_topk(N, 784, 15)),
        f"cdist and topk {M} x 50, k = 15": (None, lambda: cdist_and_topk(M, 50, 15)),
        f"perplexity {M} x 90": (0.010, lambda: perplexity(M)),
        f"exact repulsion {N}": (0.002, lambda: exact_repulsion(N)),
        f"mesh iteration {N}": (0.00015, lambda: mesh_iteration(N, 50)),
        f"mesh iteration {M}": (0.0012, lambda: mesh_iteration(M, 50)),
        f"UMAP iteration {M}": (None, lambda: layout_iteration(M, 50)),
        f"t-SNE {N} x 784": (0.3, lambda: whole_fit("TSNE", host(N, 784))),
        f"t-SNE {M} x 50": (2.2, lambda: whole_fit("TSNE", host(M, 50), 1)),
        f"UMAP {N} x 784": (None, lambda: whole_fit("UMAP", host(N, 784), 1)),
        f"UMAP {M} x 50": (3.0, lambda: whole_fit("UMAP", host(M, 50), 1)),
        f"SMACOF step {N} x 50": (0.012, lambda: guttman_step(N, 50)),
        f"shortest paths {N}, 1000 sources": (None, lambda: shortest_paths(N, 1000)),
        f"shortest paths {N}, all pairs": (8.0, lambda: shortest_paths(N, None)),
        f"Isomap {N} x 3, all pairs": (
            8.0, lambda: whole_fit("Isomap", roll(N), 1, n_neighbors=10, n_landmarks=None)),
        f"kernel PCA {N} x 784": (
            3.0, lambda: whole_fit("KernelPCA", host(N, 784), 1, n_components=2, kernel="rbf")),
        f"Laplacian eigenmaps {N} x 3": (
            None, lambda: whole_fit("LaplacianEigenmaps", roll(N), 1, n_neighbors=15)),
        f"Laplacian eigenmaps {M} x 3": (
            None, lambda: whole_fit("LaplacianEigenmaps", roll(M), 1, n_neighbors=15)),
        f"trustworthiness {M} x 50": (6.0, lambda: exact_trustworthiness(M, 50)),
        f"ranks of random lists {M} x 50": (None, lambda: ranks(M, 50, 200 if SMALL else 2**16)),
    }  # fmt: skip
    if images is not None:
        cases["t-SNE MNIST 70000 x 784"] = 0.3, lambda: whole_fit("TSNE", images)
        cases["UMAP MNIST 70000 x 784"] = None, lambda: whole_fit("UMAP", images, 1)
    return cases


def speed(pattern: str = "") -> None:
    run_cases("speed", speed_cases(), pattern)
