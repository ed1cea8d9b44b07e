"""What is timed of each tool: `run`. What comes before it (`prepare`) and after it is not timed."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from importlib import import_module
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np

import data
from rows import Row, Tool


class Job:
    """A task of a tool; `found` are settings that it found, `peak` its memory where it knows it."""

    peak: int | None = None

    def __init__(self, threads: int, task: Mapping[str, Any], changed: Mapping[str, Any]) -> None:
        self.threads, self.task, self.changed = threads, dict(task), dict(changed)
        self.found: dict[str, float] = {}

    def prepare(self, X: Any) -> None:
        pass

    def run(self, X: Any) -> Any:
        raise NotImplementedError

    def finish(self, Y: Any) -> Any:
        """What the measures of quality take: by default an embedding."""
        return np.asarray(Y)


class Estimator(Job):
    """`fit_transform` of a class with scikit-learn's methods, of a new instance each time."""

    def __init__(self, path: str, threads: int, task: Mapping[str, Any], changed: Any) -> None:
        super().__init__(threads, task, changed)
        module, name = path.split(":")
        self.cls = getattr(import_module(module), name)

    def make(self) -> Any:
        settings = self.task | self.changed
        if "n_jobs" in signature(self.cls).parameters:
            settings["n_jobs"] = self.threads
        return self.cls(**settings)

    def run(self, X: Any) -> Any:
        return self.make().fit_transform(X)


class Transform(Job):
    """`transform` of the last rows by a model of the others; then both embeddings in one array."""

    def __init__(self, job: Any, new_rows: int) -> None:
        super().__init__(job.threads, job.task, job.changed)
        self.job, self.new_rows = job, new_rows

    def prepare(self, X: Any) -> None:
        self.model = self.job.make()
        self.known = np.asarray(self.model.fit_transform(X[: -self.new_rows]))

    def run(self, X: Any) -> Any:
        return self.model.transform(X[-self.new_rows :])

    def finish(self, Y: Any) -> Any:
        return np.vstack([self.known, np.asarray(Y)])


class OneByOne(Transform):
    def __init__(self, threads: int, task: Any, changed: Any, new_rows: int) -> None:
        path = task["path"]
        own = {name: value for name, value in task.items() if name != "path"}
        super().__init__(Estimator(path, threads, own, changed), new_rows)

    def run(self, X: Any) -> Any:
        transform = self.model.transform
        return np.vstack([transform(X[i : i + 1]) for i in range(len(X) - self.new_rows, len(X))])


class OpenTSNE(Job):
    """Its defaults: 250 + 500 iterations, approximate neighbors and FFT for many rows."""

    def make(self) -> OpenTSNE:
        return OpenTSNE(self.threads, self.task, self.changed)

    def run(self, X: Any) -> Any:
        return self.fit_transform(X)

    def fit_transform(self, X: Any) -> Any:
        from openTSNE import TSNE

        self.embedding = TSNE(**self.task, **self.changed, n_jobs=self.threads).fit(X)
        return np.asarray(self.embedding)

    def transform(self, X: Any) -> Any:
        return np.asarray(self.embedding.transform(X))


class Tapkee(Job):
    """It takes float64 with a sample in each column; the conversion is part of its time."""

    def run(self, X: Any) -> Any:
        import tapkee

        return tapkee.embed(
            X.astype(np.float64).T,
            target_dimension=self.task["n_components"],
            num_neighbors=self.task["n_neighbors"],
            **self.changed,
        )


class Pydiffmap(Job):
    def run(self, X: Any) -> Any:
        from pydiffmap.diffusion_map import DiffusionMap

        k, n_evecs = self.task["n_neighbors"], self.task["n_components"]
        params = {"n_jobs": self.threads}
        model = DiffusionMap.from_sklearn(
            k=k, n_evecs=n_evecs, neighbor_params=params, **self.changed
        )
        return model.fit_transform(X)


class FaissPCA:
    """An estimator, for `Estimator` and for `OneByOne`; by default it learns from a sample."""

    def __init__(self, n_components: int, max_points_per_d: str | None = None) -> None:
        self.n_components, self.max_points_per_d = n_components, max_points_per_d

    def fit_transform(self, X: Any) -> Any:
        import faiss

        self.matrix = faiss.PCAMatrix(X.shape[1], self.n_components)
        if self.max_points_per_d == "all rows":
            self.matrix.max_points_per_d = len(X)
        self.matrix.train(X)
        return self.matrix.apply(X)

    def transform(self, X: Any) -> Any:
        return self.matrix.apply(X)


class FaissRotation(Job):
    """Orthonormal directions, which shrink distances by √(k/d); the factor undoes it, untimed."""

    def run(self, X: Any) -> Any:
        import faiss

        self.scale = np.sqrt(X.shape[1] / self.task["n_components"])
        matrix = faiss.RandomRotationMatrix(X.shape[1], self.task["n_components"])
        matrix.init(0)
        return matrix.apply(X)

    def finish(self, Y: Any) -> Any:
        return np.asarray(Y) * self.scale


class Neighbors(Job):
    """Indices of the nearest other rows; peers count the row itself, which is removed untimed."""

    def finish(self, Y: Any) -> Any:
        found = np.asarray(Y)
        if found.shape[1] == self.task["n_neighbors"]:
            return found
        other = found != np.arange(len(found))[:, None]
        other[other.all(1), -1] = False
        return found[other].reshape(len(found), -1)


class LowdNeighbors(Neighbors):
    def run(self, X: Any) -> Any:
        import lowd

        return lowd.neighbors(X, self.task["n_neighbors"]).indices


class FaissFlat(Neighbors):
    def run(self, X: Any) -> Any:
        import faiss

        index = faiss.IndexFlatL2(X.shape[1])
        index.add(X)
        return index.search(X, self.task["n_neighbors"] + 1)[1]


class Pynndescent(Neighbors):
    def run(self, X: Any) -> Any:
        from pynndescent import NNDescent

        k = self.task["n_neighbors"] + 1
        return NNDescent(X, n_neighbors=k, n_jobs=self.threads).neighbor_graph[0]


class Hnswlib(Neighbors):
    """M = 16 and ef_construction = 200, its defaults, and the least ef for a recall of .99."""

    recall, ef = 0.99, 0

    def prepare(self, X: Any) -> None:
        from quality import find_nearest, measure_recall

        index, k, rows = self.build(X), self.task["n_neighbors"], sample(len(X), 1000)
        nearest = find_nearest(X, rows, len(X), k)
        for self.ef in (k + 1, *range(20, 600, 4)):
            index.set_ef(self.ef)
            found = index.knn_query(X[rows], k + 1)[0].astype(np.int64)
            if measure_recall(X, rows, found, nearest) >= self.recall:
                break
        self.found["ef"] = self.ef

    def build(self, X: Any) -> Any:
        import hnswlib

        index = hnswlib.Index("l2", X.shape[1])
        index.init_index(len(X), M=16, ef_construction=200)
        index.add_items(X, num_threads=self.threads)
        return index

    def run(self, X: Any) -> Any:
        index = self.build(X)
        index.set_ef(self.ef)
        return index.knn_query(X, self.task["n_neighbors"] + 1, num_threads=self.threads)[0]

    def finish(self, Y: Any) -> Any:
        return super().finish(np.asarray(Y, np.int64))


class Process(Job):
    """A command from a CSV file to a picture and a CSV file of coordinates, in a new process."""

    def command(self, table: Path, picture: Path, coordinates: Path) -> list[str]:
        raise NotImplementedError

    def run(self, X: Any) -> Any:  # noqa: ARG002 - the command reads the file
        stem = data.CACHE / f"wine-{type(self).__name__}"
        self.picture, self.coordinates = stem.with_suffix(".png"), stem.with_suffix(".csv")
        command = self.command(data.CACHE / "wine.csv", self.picture, self.coordinates)
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        if process.returncode:
            raise RuntimeError(f"{command} ends with exit status {process.returncode}")
        self.peak = usage.ru_maxrss * 1024

    def prepare(self, X: Any) -> None:  # noqa: ARG002
        data.write_wine()

    def finish(self, Y: Any) -> Any:  # noqa: ARG002
        """The coordinates, which stand beside labels in both files."""
        if not self.picture.read_bytes().startswith(b"\x89PNG"):
            raise RuntimeError(f"{self.picture} holds no picture")
        table = np.genfromtxt(self.coordinates, delimiter=",", names=True)
        return np.column_stack([table["isomap0"], table["isomap1"]])


class LowdMap(Process):
    def command(self, table: Path, picture: Path, coordinates: Path) -> list[str]:
        map_ = [sys.executable, "-m", "lowd", "map", str(table), "--force"]
        return [*map_, "--plot", str(picture), "--output", str(coordinates)]


class MapScript(Process):
    def command(self, table: Path, picture: Path, coordinates: Path) -> list[str]:
        script = Path(__file__).with_name("map_wine.py")
        return [sys.executable, str(script), str(table), str(picture), str(coordinates)]


def sample(n: int, size: int) -> Any:
    return np.sort(np.random.default_rng(0).choice(n, min(size, n), replace=False))


def make_job(row: Row, tool: Tool, threads: int, new_rows: int) -> Job:
    if tool.job == "OneByOne":
        return OneByOne(threads, tool.task, tool.changed, new_rows)
    own = globals().get(tool.job)
    if own is FaissPCA:
        job: Any = Estimator("jobs:FaissPCA", threads, tool.task, tool.changed)
    elif own is not None:
        job = own(threads, tool.task, tool.changed)
    else:
        job = Estimator(tool.job, threads, tool.task, tool.changed)
    return Transform(job, new_rows) if row.new_rows else job
