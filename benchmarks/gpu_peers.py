"""Other libraries on the same GPU, in the same run: TorchDR for t-SNE, FAISS for neighbors."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

import lowd
from gpu_data import DEVICE, SMALL, Cases, M, N, Row, host, mixture, run_cases, timed
from gpu_parity import quality
from lowd.backends.torch.row_index import DeviceRowIndex


def tsne_of_torchdr(n: int, d: int, max_iter: int) -> Row:
    """As many iterations, or TorchDR's default of 2000; from the array to the embedding."""
    import torchdr

    X = host(n, d)

    def ours() -> Any:
        return lowd.TSNE(backend="torch", max_iter=max_iter).fit_transform(X)

    def theirs() -> Any:
        model = torchdr.TSNE(perplexity=30, max_iter=max_iter, device=DEVICE.type, random_state=0)
        return model.fit_transform(X)

    first, warm, Y = timed(ours, 3)
    peer_first, peer, Z = timed(theirs, 1)
    row: Row = {"seconds": warm, "first": first, "peer": peer, "peer first": peer_first}
    for name, E in (("", Y), ("peer ", np.asarray(Z))):
        row |= {name + measure: value for measure, value in quality(X, E).items()}
    return row


def neighbors_of_faiss(n: int, d: int, k: int) -> Row:
    """Exact search of all rows among all, rows on the device; FAISS finds each row itself."""
    import faiss
    import faiss.contrib.torch_utils

    X = mixture(n, d)
    resources = faiss.StandardGpuResources()

    def ours() -> Any:
        return DeviceRowIndex(X, "euclidean", 1.0, None).search(X, k, among=True)

    def theirs() -> Any:
        index = faiss.GpuIndexFlatL2(resources, d)
        index.add(X)
        return index.search(X, k + 1)

    first, warm, (indices, _) = timed(ours, 3)
    peer_first, peer, (_, found) = timed(theirs, 1)
    rows = torch.arange(0, n, max(1, n // 1000), device=DEVICE)
    same = sum(
        len(set(a) - set(b)) == 0
        for a, b in zip(indices[rows].tolist(), found[rows].tolist(), strict=True)
    )
    row: Row = {"seconds": warm, "first": first, "peer": peer, "peer first": peer_first}
    return row | {"rows with the same neighbors": f"{same} of {len(rows)}"}


def peer_cases() -> Cases:
    """The bar is how many times as fast it should be."""
    few = 1000 if SMALL else 10_000
    return {
        f"t-SNE {few} x 50, 750 iterations, beside TorchDR": (
            20.0, lambda: tsne_of_torchdr(few, 50, 750)),
        f"t-SNE {few} x 50, 2000 iterations, beside TorchDR": (
            20.0, lambda: tsne_of_torchdr(few, 50, 2000)),
        f"neighbors {N} x 784, k = 15, beside FAISS": (
            None, lambda: neighbors_of_faiss(N, 784, 15)),
        f"neighbors {M} x 50, k = 15, beside FAISS": (None, lambda: neighbors_of_faiss(M, 50, 15)),
    }  # fmt: skip


def peers(pattern: str = "") -> None:
    run_cases("peers", peer_cases(), pattern)
