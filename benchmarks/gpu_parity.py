"""Embeddings of the CPU and of a GPU, method by method: how alike, and how good each is."""

from __future__ import annotations

import json
import time
import warnings
from typing import Any

import numpy as np
from scipy.spatial import procrustes

import lowd
from gpu_data import N, Row, host, keep, mnist
from lowd.evidence.quality import trustworthiness

N_STARTS = 3
STARTS = f"TSNE, {N_STARTS} starts"


def parity_models() -> dict[str, Any]:
    few = {"n_components": 2}
    return {
        "PCA": (N, few), "ClassicalMDS": (6000, {**few, "metric": "manhattan"}),
        "KernelPCA": (6000, {**few, "kernel": "rbf"}), "MDS": (5000, few), "Isomap": (10_000, few),
        "LaplacianEigenmaps": (10_000, few), "DiffusionMaps": (6000, few),
        "LocallyLinearEmbedding": (10_000, few), "LTSA": (10_000, few), "SNE": (4000, few),
        "TSNE": (N, few), "UMAP": (N, few),
    }  # fmt: skip


def parity(pattern: str = "") -> None:
    warnings.simplefilter("ignore")
    for name, (rows, parameters) in parity_models().items():
        if pattern not in name:
            continue
        X = np.ascontiguousarray((mnist() if mnist() is not None else host(N, 784))[:rows])
        try:
            row = compare(name, X, parameters)
        except Exception as error:
            row = {"error": f"{type(error).__name__}: {error}"[:400]}
        keep("parity", name, row)
        print(name, json.dumps(row, default=str), flush=True)
    if pattern in STARTS:
        row = compare_starts(mnist() if mnist() is not None else host(N, 784))
        keep("parity", STARTS, row)
        print(STARTS, json.dumps(row, default=str), flush=True)


def compare_starts(X: Any) -> Row:
    """t-SNE from starts that differ by a thousandth: how much of a difference is chance."""
    rng, start = np.random.default_rng(0), lowd.PCA(2).fit_transform(X).astype(np.float64)
    start *= 1e-4 / start[:, 0].std()
    found: dict[str, list[float]] = {}
    for _ in range(N_STARTS):
        init = start * (1 + 1e-3 * rng.standard_normal(start.shape))
        for backend in ("native", "torch"):
            model = lowd.TSNE(init=init, backend=backend).fit(X)
            found.setdefault(f"kl_divergence {backend}", []).append(model.kl_divergence_)
            how = {"n_neighbors": 15, "anchors": "all", "backend": "torch"}
            value = float(trustworthiness(X, model.embedding_, **how))
            found.setdefault(f"trustworthiness {backend}", []).append(value)
    row: Row = {"rows": len(X)}
    for key, values in found.items():
        name, backend = key.rsplit(" ", 1)
        row[f"{name} from {backend}"] = min(values)
        row[f"{name} to {backend}"] = max(values)
    return row


def compare(name: str, X: Any, parameters: dict[str, Any]) -> Row:
    """An embedding of the CPU and one of the GPU: how alike, and how good each is."""
    models: dict[str, Any] = {}
    embeddings: dict[str, Any] = {}
    row: Row = {"rows": len(X)}
    held_out = X[:: max(1, len(X) // 500)] * np.float32(0.99)
    for backend in ("native", "torch"):
        start = time.perf_counter()
        models[backend] = model = getattr(lowd, name)(**parameters, backend=backend).fit(X)
        row[f"seconds {backend}"] = time.perf_counter() - start
        for fact in ("kl_divergence_", "loss_", "stress_", "force_error_"):
            if hasattr(model, fact):
                row[f"{fact.rstrip('_')} {backend}"] = float(getattr(model, fact))
        embeddings[backend] = Y = getattr(model, "embedding_", None)
        if Y is None:  # a linear map keeps none
            embeddings[backend] = Y = model.transform(X)
        row |= {f"{k} {backend}": v for k, v in quality(X, Y).items()}
    cpu, gpu = (embeddings[backend].astype(np.float64) for backend in ("native", "torch"))
    row["Procrustes"] = float(procrustes(cpu, gpu)[2])
    portable = models["torch"].set_params(backend="native").transform(held_out)
    row["maps on a CPU"] = bool(np.isfinite(portable).all())
    return row


def quality(X: Any, Y: Any) -> dict[str, float]:
    """Trustworthiness and the share of the 15 nearest neighbors, of all rows."""
    found = lowd.evaluate(X, Y, n_neighbors=15, anchors="all", backend="torch").measures
    return {name: float(found[name]) for name in ("trustworthiness", "neighbor_recall")}
