"""GPU.md from the results of the other benchmarks of a GPU."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results" / "gpu.json"

EXPLANATION = """\
Medians of warm calls, the first call of a case beside them (of a new process with kernels to
compile, the first one takes seconds more). "On the device": rows and results stay there. t-SNE,
UMAP, Isomap and kernel PCA are whole fits, from a NumPy array to a fitted model.

What limits the fits by profile (`GPU_PROFILE=1` prints it):

- t-SNE of a million rows: neighbors 0.5 s, 750 iterations 0.95 s, the exact sum over all pairs for
  the divergence 0.12 s; then the host's canonical order, sample for confidence and copies of rows.
  The host's part varies: on another machine, each case in a process of its own, it took 2.38 s, and
  70,000 rows 0.335 s, 8 and 12 % over the targets.
- t-SNE of MNIST's pixels, which misses the target of other rows of this size: many columns are
  equal in most rows, and the host sorts them into the canonical order for a third of the fit.
- trustworthiness of a million rows: products in float64 for the 10^12 squared distances (50 columns
  are filled up to 64), and four comparisons with limits for each.
- Laplacian eigenmaps of a million rows: graph, connected components, aggregation and coarse
  matrices are the host's; iterations on the device take 0.3 s.

Tests of the torch backend on this kind of machine: `results/gpu_tests.txt`."""


PEERS = """\
The same rows on the same GPU in the same run, warm; from the array to the embedding. FAISS and cuML
are not there: the machine has no CUDA 12, which FAISS's wheel needs, and cuML's libraries are too
large to bring."""


def report() -> None:
    held = json.loads(RESULTS.read_text())
    lines = ["# The torch backend on a GPU", "", f"{held['machine']}. Made by `benchmarks/gpu.py`."]
    lines += ["", EXPLANATION, "", *speed_table(held.get("speed", {}))]
    lines += ["", "## Beside other libraries", "", PEERS, "", *peer_table(held.get("peers", {}))]
    lines += ["", "## Agreement with the CPU", "", *parity_table(held.get("parity", {}))]
    (HERE / "GPU.md").write_text("\n".join(lines) + "\n")


def speed_table(rows: dict[str, Any]) -> list[str]:
    lines = [
        "| work | target | time | holds | first call | also |",
        "|---|--:|--:|---|--:|---|",
    ]
    for name, row in rows.items():
        bar, seconds = row.get("bar"), row.get("seconds")
        skipped = ("bar", "seconds", "first", "calls")
        also = "; ".join(f"{k} {_short(v)}" for k, v in row.items() if k not in skipped)
        holds = "" if bar is None or seconds is None else "yes" if seconds <= bar else "**no**"
        if "error" in row:
            holds = "failed"
        cells = [name, _time(bar), _time(seconds), holds, _time(row.get("first")), also]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def peer_table(rows: dict[str, Any]) -> list[str]:
    lines = [
        "| work | lowd | first call | peer | first call | times as fast | also |",
        "|---|--:|--:|--:|--:|--:|---|",
    ]
    for name, row in rows.items():
        skipped = ("bar", "seconds", "first", "peer", "peer first")
        also = "; ".join(f"{k} {_short(v)}" for k, v in row.items() if k not in skipped)
        ours, peer = row.get("seconds"), row.get("peer")
        factor = f"{peer / ours:.3g}" if ours and peer else ""
        times = [_time(row.get(part)) for part in ("seconds", "first", "peer", "peer first")]
        lines.append("| " + " | ".join([name, *times, factor, also]) + " |")
    return lines


def parity_table(rows: dict[str, Any]) -> list[str]:
    lines = ["| method | rows | Procrustes | CPU | GPU |", "|---|--:|--:|---|---|"]
    for name, row in rows.items():
        sides = [
            ", ".join(f"{k.removesuffix(' ' + b)} {_short(v)}" for k, v in row.items()
                      if k.endswith(" " + b))
            for b in ("native", "torch")
        ]  # fmt: skip
        cells = [name, str(row.get("rows", "")), _short(row.get("Procrustes", "")), *sides]
        lines.append("| " + " | ".join(cells) + " |")
    return lines


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    return f"{seconds * 1000:.3g} ms" if seconds < 1 else f"{seconds:.3g} s"


def _short(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
