"""Charts of results/latest.json: time against the number of rows, and quality against time.

Usage: python benchmarks/charts.py docs/images/benchmarks
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from statistics import median
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import NullFormatter

HERE = Path(__file__).parent
# Cases of one task in growing size. Sizes differ in more than rows only where the title says so.
GROWTH = {
    "t-SNE (50 columns)": ("small-tsne", "tsne-10k", "tsne-70k", "tsne-million"),
    "UMAP (50 columns)": ("umap-10k", "umap-70k", "umap-million"),
    "Laplacian eigenmaps (50 columns)": (
        "small-laplacian",
        "laplacian",
        "laplacian-70k",
        "laplacian-million",
    ),
    "neighbors, k = 15 (50 columns)": ("neighbors-50-15", "neighbors-million"),
    "Isomap (Swiss roll)": ("small-isomap", "isomap-roll"),
    "LTSA (Swiss roll)": ("small-ltsa", "ltsa"),
}
# Case -> the measure that is drawn; 0 is perfect.
QUALITY = {
    "tsne-70k": "KL",
    "umap-mnist": "1 - recall",
    "neighbors-784-15": "1 - recall",
    "pca-50": "angle",
    "kpca-rbf": "angle",
    "ltsa": "affine error",
}
LEAST = 1e-12  # an error below is drawn here: a logarithmic axis has no 0
# The tool, not its variant, has the color; Paul Tol's "muted" colors.
COLORS = {
    "lowd": "#332288",
    "scikit-learn-intelex": "#88CCEE",
    "scikit-learn": "#CC6677",
    "openTSNE": "#117733",
    "umap-learn": "#AA4499",
    "scranpy": "#999933",
    "Tapkee": "#DDCC77",
    "faiss": "#44AA99",
    "TorchDR": "#882255",
    "pynndescent": "#661100",
    "hnswlib": "#6699CC",
}
OTHER = "#888888"
MARKERS = "osD^v"  # of the variants of one tool
WIDE = 10  # ratio of errors from which their axis is logarithmic

Entry = dict[str, Any]


def main(out: Path) -> None:
    record = json.loads((HERE / "results" / "latest.json").read_text())
    out.mkdir(parents=True, exist_ok=True)
    for name, draw in (("time", draw_growth), ("quality", draw_quality)):
        draw(record["cases"]).savefig(out / f"{name}.svg", metadata={"Date": None})
    plt.close("all")


def draw_growth(cases: dict[str, Entry]) -> Any:
    """Seconds against rows, a line per tool."""
    figure, grid = make_panels()
    for axes, (title, names) in zip(grid.flat, GROWTH.items(), strict=True):
        lines: dict[str, list[tuple[int, float]]] = {}
        for name in names:
            for tool, runs in list_runs(cases.get(name)):
                lines.setdefault(tool, []).append((cases[name]["shape"][0], take_seconds(runs)))
        for tool, points in lines.items():
            axes.plot(*zip(*points, strict=True), "o-", **style(tool), markersize=5)
        finish(axes, title, "rows", "seconds")
    return figure


def draw_quality(cases: dict[str, Entry]) -> Any:
    """Error against seconds, a point per tool: the best is at the lower left."""
    figure, grid = make_panels()
    for axes, (name, measure) in zip(grid.flat, QUALITY.items(), strict=True):
        errors = []
        for tool, runs in list_runs(cases.get(name)):
            error = runs.get("quality", {}).get(measure)
            if error is not None:
                errors.append(max(error, LEAST))
                drawn = [line.get_color() for line in axes.lines]
                marker = MARKERS[drawn.count(style(tool)["color"]) % len(MARKERS)]
                axes.plot(take_seconds(runs), errors[-1], marker, **style(tool), markersize=8)
        finish(axes, cases[name]["task"] if name in cases else name, "seconds", measure)
        if errors and max(errors) < WIDE * min(
            errors
        ):  # a logarithm would enlarge small differences
            axes.set(yscale="linear", ylim=(0, 1.1 * max(errors)))
    return figure


def make_panels() -> Any:
    plt.rcParams |= {
        "axes.spines.top": False,
        "axes.spines.right": False,
        "font.size": 9,
        "svg.hashsalt": "lowd",  # the same file from the same numbers
    }
    return plt.subplots(2, 3, figsize=(12, 9), layout="constrained")


def list_runs(case: Entry | None) -> list[tuple[str, Entry]]:
    tools = case["tools"] if case else {}
    return [(tool, runs) for tool, runs in tools.items() if "error" not in runs]


def take_seconds(runs: Entry) -> float:
    return median(runs["warm"] or runs["first"])


def style(tool: str) -> dict[str, Any]:
    color = next((color for name, color in COLORS.items() if tool.startswith(name)), OTHER)
    first = tool == "lowd"
    return {"label": tool, "color": color, "zorder": 3 if first else 2, "lw": 2.4 if first else 1.4}


def finish(axes: Any, title: str, xlabel: str, ylabel: str) -> None:
    axes.set(xscale="log", yscale="log", xlabel=xlabel, ylabel=ylabel)
    axes.set_title(title, fontsize=10)
    axes.grid(True, which="major", alpha=0.25)
    axes.xaxis.set_minor_formatter(NullFormatter())
    if axes.lines:  # a partial run measures some cases only
        below = {"loc": "upper center", "bbox_to_anchor": (0.5, -0.17)}
        axes.legend(fontsize=7, frameon=False, ncols=2, **below)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
