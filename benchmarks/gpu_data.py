"""Rows on a GPU and on the host, a clock, and the file of results: what its benchmarks share."""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import torch

from gpu_report import RESULTS
from lowd.backends.torch import arrays

DEVICE = arrays.default_device()
SMALL = DEVICE.type == "cpu"  # for trying
N, M = (3000, 6000) if SMALL else (70_000, 1_000_000)


def sync() -> None:
    if DEVICE.type == "cuda":
        torch.cuda.synchronize()


@cache
def mixture(n: int, d: int, decay: float = 0.5) -> torch.Tensor:
    """Rows on the device; decay 0 is isotropic: all distances are nearly equal."""
    g = torch.Generator(DEVICE).manual_seed(0)
    options: Any = {"generator": g, "device": DEVICE}
    scale = (1 + torch.arange(d, device=DEVICE)).float() ** -decay
    centers = 1.2 * torch.randn(30, d, **options) * scale.square().mean().sqrt()
    label = torch.randint(30, (n,), **options)
    X = torch.randn(n, d, **options) * scale
    for c in range(30):
        basis = torch.linalg.qr(torch.randn(d, d, **options))[0]
        X[label == c] = X[label == c] @ basis + centers[c]
    return X


@cache
def host(n: int, d: int) -> Any:
    return mixture(n, d).cpu().numpy()


@cache
def mnist() -> Any:
    path = Path(os.environ.get("LOWD_DATA", ".")) / "mnist.npz"
    if not path.exists():
        return None
    return np.load(path)["X"].reshape(-1, 784)[:N].astype(np.float32) / 255


def timed(call: Callable[[], object], repeats: int = 5) -> tuple[float, float, Any]:
    """Seconds of the first call, the median of later ones, and the last result."""
    times, result = [], None
    for _ in range(repeats + 1):
        result = None
        sync()
        start = time.perf_counter()
        result = call()
        sync()
        times.append(time.perf_counter() - start)
        if sum(times) > 40:
            break
    return times[0], statistics.median(times[1:] or times), result


Row = dict[str, Any]
Cases = dict[str, tuple[float | None, Callable[[], Row]]]  # name -> (bar, what is timed)


def keep(part: str, name: str, row: Row) -> None:
    """Store a row, beside those of earlier runs."""
    held = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    device = torch.cuda.get_device_name() if DEVICE.type == "cuda" else "CPU"
    held["machine"] = f"{device}, torch {torch.__version__}"
    held.setdefault(part, {})[name] = row
    RESULTS.parent.mkdir(exist_ok=True)
    RESULTS.write_text(json.dumps(held, indent=1, default=str) + "\n")


def run_cases(part: str, cases: Cases, pattern: str) -> None:
    """Run those cases whose name holds the pattern, and keep what they find."""
    for name, (bar, case) in cases.items():
        if pattern not in name:
            continue
        try:
            row = case()
        except Exception as error:  # the others are still worth their time
            row = {"error": f"{type(error).__name__}: {error}"[:400]}
        row["bar"] = bar
        keep(part, name, row)
        print(name, json.dumps(row, default=str), flush=True)
        if DEVICE.type == "cuda":
            torch.cuda.empty_cache()
