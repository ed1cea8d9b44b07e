"""Which library keeps which promise? Every contract is tried on every tool that is installed.

Usage: python benchmarks/contracts.py [--write docs/comparison.md]

Each contract is a function of a fitted-model factory that says yes, no, or that the tool has no
such function. Tools run with their defaults, besides sizes, a seed and the number of threads. With
--write the table between the markers of the page is replaced.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable
from importlib import metadata
from importlib.util import find_spec
from inspect import signature
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.spatial.distance import pdist

BEGIN, END = "<!-- contracts: begin -->", "<!-- contracts: end -->"
YES, NO, NONE = "yes", "no", "–"
N_TRAIN, N_NEW = 300, 40


class Tool(NamedTuple):
    """A method of a library: `make(seed, jobs)` returns an estimator that is not fitted."""

    library: str
    method: str
    make: Callable[[int, int], Any]


class OpenTSNEModel:
    """openTSNE returns the embedding instead of keeping it."""

    def __init__(self, seed: int, jobs: int) -> None:
        from openTSNE import TSNE

        self.tsne = TSNE(random_state=seed, n_jobs=jobs, n_iter=250, early_exaggeration_iter=100)

    def fit_transform(self, X: Any) -> Any:
        self.embedding = self.tsne.fit(X)
        return np.asarray(self.embedding)

    def transform(self, X: Any) -> Any:
        return np.asarray(self.embedding.transform(X))


def take(library: str, method: str, cls: Any, **parameters: Any) -> Tool:
    """A class with scikit-learn's conventions; a seed and threads where it has such parameters."""
    known = signature(cls).parameters

    def make(seed: int, jobs: int) -> Any:
        given = {"random_state": seed, "n_jobs": jobs}
        given = {name: value for name, value in given.items() if name in known}
        return cls(n_components=2, **parameters, **given)

    return Tool(library, method, make)


def list_tools() -> list[Tool]:
    """Every tool that is installed, grouped by method."""
    import sklearn.decomposition as sd
    import sklearn.manifold as sm

    import lowd

    k: dict[str, Any] = {"n_neighbors": 10}
    rbf: dict[str, Any] = {"kernel": "rbf", "gamma": 1e-3}
    start: dict[str, Any] = {"n_init": 1, "init": "random"}
    nearest: dict[str, Any] = {"affinity": "nearest_neighbors", **k}
    tools = [
        take("lowd", "PCA", lowd.PCA),
        take("scikit-learn", "PCA", sd.PCA),
        take("lowd", "KernelPCA", lowd.KernelPCA, **rbf),
        take("scikit-learn", "KernelPCA", sd.KernelPCA, **rbf),
        take("lowd", "Isomap", lowd.Isomap, **k),
        take("scikit-learn", "Isomap", sm.Isomap, **k),
        take("lowd", "LLE", lowd.LocallyLinearEmbedding, **k),
        take("scikit-learn", "LLE", sm.LocallyLinearEmbedding, **k),
        take("lowd", "Laplacian eigenmaps", lowd.LaplacianEigenmaps, **k),
        take("scikit-learn", "Laplacian eigenmaps", sm.SpectralEmbedding, **nearest),
        take("lowd", "MDS", lowd.MDS),
        take("scikit-learn", "MDS", sm.MDS, **start),
        take("lowd", "t-SNE", lowd.TSNE),
        take("scikit-learn", "t-SNE", sm.TSNE),
    ]
    if find_spec("openTSNE"):
        tools.append(Tool("openTSNE", "t-SNE", OpenTSNEModel))
    tools.append(take("lowd", "UMAP", lowd.UMAP))
    if find_spec("umap"):
        from umap import UMAP

        tools.append(take("umap-learn", "UMAP", UMAP))
    return tools


# Contracts


def maps_new_points(tool: Tool) -> str:
    model, _ = fit(tool)
    return YES if hasattr(model, "transform") else NO


def is_batch_independent(tool: Tool) -> str:
    """The coordinates of a new point do not depend on the other rows of the call."""
    model, _ = fit(tool)
    if not hasattr(model, "transform"):
        return NONE
    new = rows()[N_TRAIN:]
    together = np.asarray(model.transform(new))
    alone = np.vstack([model.transform(row[None]) for row in new])
    return judge(np.allclose(together, alone, atol=1e-3 * together.std()))


def returns_training_points(tool: Tool) -> str:
    """`transform` of the training rows gives the embedding."""
    model, Y = fit(tool)
    if not hasattr(model, "transform"):
        return NONE
    again = np.asarray(model.transform(rows()[:N_TRAIN]))
    return judge(np.abs(again - Y).max() < 0.01 * Y.std())


def is_pure(tool: Tool) -> str:
    """`transform` changes neither the model nor its input."""
    model, _ = fit(tool)
    if not hasattr(model, "transform"):
        return NONE
    new = rows()[N_TRAIN:]
    before, first = new.copy(), np.asarray(model.transform(new)).copy()
    model.transform(new[:3] * 2)
    same = np.array_equal(np.asarray(model.transform(new)), first)
    return judge(same and np.array_equal(new, before))


def repeats(tool: Tool) -> str:
    """Two fits, with one seed where there is one, give the same bits."""
    return judge(np.array_equal(fit(tool)[1], fit(tool)[1]))


def ignores_threads(tool: Tool) -> str:
    """One and two threads give the same bits."""
    return judge(np.array_equal(fit(tool, jobs=1)[1], fit(tool, jobs=2)[1]))


def ignores_row_order(tool: Tool) -> str:
    """Permuted rows give the permuted embedding, up to rotation: distances are compared."""
    order = np.random.default_rng(1).permutation(N_TRAIN)
    Y, permuted = fit(tool)[1], fit(tool, rows()[:N_TRAIN][order])[1]
    back = np.empty_like(permuted)
    back[order] = permuted
    return judge(np.allclose(pdist(Y), pdist(back), atol=1e-3 * pdist(Y).mean()))


def ignores_offset(tool: Tool) -> str:
    """float32 rows moved by 1000 have the same embedding, within 1 % of its distances.

    Entries are multiples of 1/64, so that the sum is exact and distances are the same numbers.
    """
    X = (np.round(64 * rows()[:N_TRAIN]) / 64).astype(np.float32)
    Y, moved = fit(tool, X)[1], fit(tool, X + np.float32(1000))[1]
    return judge(np.abs(pdist(Y) - pdist(moved)).max() < 0.01 * pdist(Y).max())


def stays_finite(tool: Tool) -> str:
    """A far point has finite coordinates, or is refused with an error."""
    model, _ = fit(tool)
    if not hasattr(model, "transform"):
        return NONE
    try:
        return judge(np.isfinite(np.asarray(model.transform(rows()[:3] * 1e6))).all())
    except ValueError:
        return YES


def reports_disconnection(tool: Tool) -> str:
    """Two groups that no neighbor connects give a warning or an error."""
    if tool.method not in ("Isomap", "LLE", "Laplacian eigenmaps"):
        return NONE
    X = rows()[:N_TRAIN].copy()
    X[: N_TRAIN // 2] += 1e4
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            tool.make(0, 1).fit_transform(X)
        except ValueError:
            return YES
    words = " ".join(str(warning.message).lower() for warning in caught)
    return judge("component" in words or "connected" in words)


CONTRACTS: dict[str, Callable[[Tool], str]] = {
    "maps new points": maps_new_points,
    "new points do not depend on their batch": is_batch_independent,
    "training points get their coordinates": returns_training_points,
    "`transform` changes nothing": is_pure,
    "two fits give the same bits": repeats,
    "threads do not change the bits": ignores_threads,
    "the order of rows does not matter": ignores_row_order,
    "a large offset does not matter": ignores_offset,
    "far points stay finite": stays_finite,
    "a disconnected graph is reported": reports_disconnection,
}


def rows() -> Any:
    """A curved sheet in ten dimensions with a little noise, in the units of a ten."""
    rng = np.random.default_rng(0)
    u, v = rng.random((2, N_TRAIN + N_NEW))
    bend = np.column_stack([np.cos(4 * u), np.sin(4 * u), 2 * v, u * v])
    return 10 * (bend @ rng.normal(size=(4, 10)) + 0.02 * rng.normal(size=(len(u), 10)))


def fit(tool: Tool, X: Any = None, jobs: int = 1) -> tuple[Any, Any]:
    model = tool.make(0, jobs)
    Y = np.asarray(model.fit_transform(rows()[:N_TRAIN] if X is None else X))
    return model, Y.copy()


def judge(holds: Any) -> str:
    return YES if bool(holds) else NO


def try_contract(check: Callable[[Tool], str], tool: Tool) -> str:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return check(tool)
        except Exception as error:
            return f"{NO} ({type(error).__name__})"


def make_table(tools: list[Tool]) -> str:
    """A row per tool, a column per contract."""
    heads = ["method", "library", *CONTRACTS]
    lines = [f"| {' | '.join(heads)} |", f"|{'---|' * len(heads)}"]
    previous = ""
    for tool in tools:
        cells = [try_contract(check, tool) for check in CONTRACTS.values()]
        cells = [f"**{cell}**" if cell.startswith(NO) else cell for cell in cells]
        method = "" if tool.method == previous else tool.method
        lines.append(f"| {method} | {tool.library} | {' | '.join(cells)} |")
        print(lines[-1], flush=True)
        previous = tool.method
    return "\n".join(lines)


def describe_versions(tools: list[Tool]) -> str:
    import lowd

    versions = {"lowd": lowd.__version__}  # which may be a source tree
    for tool in tools:
        if tool.library not in versions:
            versions[tool.library] = metadata.version(tool.library)
    return ", ".join(f"{name} {version}" for name, version in versions.items())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--write", type=Path, help="the page whose table is replaced")
    page = parser.parse_args().write
    tools = list_tools()
    text = f"{make_table(tools)}\n\n{describe_versions(tools)}."
    if page is not None:
        before, _, after = page.read_text(encoding="utf-8").partition(BEGIN)
        after = after.partition(END)[2]
        page.write_text(f"{before}{BEGIN}\n\n{text}\n\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
