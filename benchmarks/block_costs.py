"""What a pass over rows in blocks costs on many workers: measured tasks, a formula, a simulation.

    python benchmarks/block_costs.py                # measures here, then goes to 1,000 workers
    python benchmarks/block_costs.py --check 1.0    # and runs a pass over so many GB by 1 and 2

The costs of one task (read, reduce, merge, embed and write a block), of one decision of the
scheduler, and of a pass over next to nothing (building its graph, first contact with the workers,
the eigenproblem) are measured on this machine, on files in the page cache. The formula says which
of three resources is the bottleneck; the simulation runs every task of the pass through a queue of
the scheduler, a worker, the storage and the network, as dask does. Bandwidths of a cluster cannot
be measured here: they are options.
"""

from __future__ import annotations

import argparse
import heapq
import math
import tempfile
import time
from pathlib import Path
from typing import NamedTuple

import numpy as np

COLUMNS = 250  # 10⁹ rows of 250 float32 are one terabyte
BLOCK_BYTES = 2**26
N_COMPONENTS = 2


class Costs(NamedTuple):
    """Seconds of one task on one core, and bytes that move."""

    reduce: float  # a block of a file to its moments
    merge: float  # of two moments
    embed: float  # a block, and writing its file
    schedule: float  # a task, by the scheduler
    start: float  # of a pass, whatever its rows
    moments_bytes: float
    block_bytes: float
    rows: int


class Cluster(NamedTuple):
    """Workers of one core each, with bytes per second."""

    workers: int
    storage: float  # of all together
    disk: float  # that one worker reads at most
    network: float  # of each worker


def best(function, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        function()
        times.append(time.perf_counter() - start)
    return min(times)


def measure() -> Costs:
    import lowd
    from lowd.core.block_maps import transform_block
    from lowd.input.block_reader import Where
    from lowd.io.writing import write
    from lowd.solvers.streamed_pca import _merge_moments, _moments_of_block

    rows = BLOCK_BYTES // (4 * COLUMNS)
    X = np.random.default_rng(0).standard_normal((rows, COLUMNS), np.float32)
    where = Where(0, 0)
    moments = _moments_of_block(X, where, "auto", 1)
    model = lowd.PCA(N_COMPONENTS, n_jobs=1).fit(X[:5000])
    schedule, start = measure_cluster(X[:1000])
    with tempfile.TemporaryDirectory() as folder:
        np.save(f"{folder}/x.npy", X)
        read = lowd.open_blocks(f"{folder}/x.npy", block_rows=rows).readers[0].read

        def embed():
            Y = transform_block(read(), where, model)
            columns = {"row": np.arange(rows), "a": Y[:, 0], "b": Y[:, 1]}
            write(Path(folder) / "part.parquet", columns, force=True)

        embed()
        return Costs(
            best(lambda: _moments_of_block(read(), where, "auto", 1)),
            best(lambda: _merge_moments(moments, moments)),
            best(embed),
            schedule,
            start,
            moments[0].scatter.nbytes,
            float(X.nbytes),
            rows,
        )


def measure_cluster(X: np.ndarray, n_tasks: int = 2000) -> tuple[float, float]:
    """Seconds of a task that does nothing, by a scheduler and two workers; of a fit of few rows."""
    import dask
    from distributed import Client, LocalCluster

    import lowd

    how = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    nothing = dask.delayed(abs, pure=False)
    few = lowd.open_blocks([X[:500], X[500:]])
    with LocalCluster(**how) as cluster, Client(cluster):
        dask.compute(*[nothing(1) for _ in range(100)])
        lowd.PCA(N_COMPONENTS, n_jobs=1).fit(few)  # workers import
        start = time.perf_counter()
        dask.compute(*[nothing(1) for _ in range(n_tasks)])
        schedule = (time.perf_counter() - start) / n_tasks
        return schedule, best(lambda: lowd.PCA(N_COMPONENTS, n_jobs=1).fit(few))


# -- the formula --------------------------------------------------------------------------------


def predict(
    n_blocks: int, task: float, costs: Costs, on: Cluster, merges: bool
) -> dict[str, float]:
    """Seconds that a pass would take if only one resource were limited, its start included."""
    n_tasks = n_blocks * (2 if merges else 1)
    merge_seconds = (costs.merge + costs.moments_bytes / on.network) if merges else 0.0
    read = costs.block_bytes / on.disk
    parts = {
        "workers": math.ceil(n_blocks / on.workers) * (task + read)
        + merge_seconds * (n_blocks / on.workers + math.log2(max(on.workers, 2))),
        "storage": n_blocks * costs.block_bytes / on.storage,
        "scheduler": n_tasks * costs.schedule,
    }
    return {name: costs.start + seconds for name, seconds in parts.items()}


# -- the simulation -----------------------------------------------------------------------------


def simulate(n_blocks: int, task: float, costs: Costs, on: Cluster, merges: bool) -> float:
    """Seconds until the last task of a pass: every task goes through all queues."""
    sizes = level_sizes(n_blocks)  # of the tree of merges
    running: list[tuple[float, int, int]] = []  # (done, level, number)
    ready: list[tuple[int, int]] = []  # merges whose parts are there
    half_ready: set[tuple[int, int]] = set()
    idle, next_block, now = on.workers, 0, 0.0
    scheduler = storage = 0.0  # when each is free again
    while True:
        while idle and (ready or next_block < n_blocks):
            idle -= 1
            scheduler = max(scheduler, now) + costs.schedule
            if ready:
                level, number = ready.pop()
                done = scheduler + costs.moments_bytes / on.network + costs.merge
            else:
                level, number, next_block = 0, next_block, next_block + 1
                storage = max(storage, scheduler) + costs.block_bytes / on.storage
                done = max(storage, scheduler + costs.block_bytes / on.disk) + task
            heapq.heappush(running, (done, level, number))
        if not running:
            return now + costs.start
        now, level, number = heapq.heappop(running)
        idle += 1
        # A node without a partner moves up the tree as it is.
        while merges and sizes[level] > 1 and number == sizes[level] - 1 and sizes[level] % 2:
            level, number = level + 1, number // 2
        if merges and sizes[level] > 1:
            parent = level + 1, number // 2
            if parent in half_ready:
                ready.append(parent)
            half_ready ^= {parent}


def level_sizes(n: int) -> list[int]:
    sizes = [n]
    while sizes[-1] > 1:
        sizes.append((sizes[-1] + 1) // 2)
    return sizes


# -- what is printed ----------------------------------------------------------------------------


def check(costs: Costs, gigabytes: float) -> None:
    """The simulation beside a real pass over a file, by one and by two workers."""
    from distributed import Client, LocalCluster

    import lowd

    n_blocks = max(4, round(gigabytes * 1e9 / costs.block_bytes))
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/x.npy"
        out = np.lib.format.open_memmap(path, "w+", np.float32, (n_blocks * costs.rows, COLUMNS))
        rng = np.random.default_rng(0)
        for i in range(n_blocks):
            rows = out[i * costs.rows : (i + 1) * costs.rows]
            rows[:] = rng.standard_normal(rows.shape, np.float32)
        out.flush()
        for workers in (1, 2):
            how = {"threads_per_worker": 1, "dashboard_address": ":0"}
            with LocalCluster(n_workers=workers, **how) as cluster, Client(cluster):
                blocks = lowd.open_blocks(path, block_rows=costs.rows)
                model = lowd.PCA(N_COMPONENTS, n_jobs=1)
                model.fit(lowd.open_blocks(out[:100], block_rows=50))  # workers import
                real = best(lambda blocks=blocks, model=model: model.fit(blocks), 2)
            on = Cluster(workers, 1e12, 1e12, 1e9)  # the file lies in the page cache
            simulated = simulate(n_blocks, costs.reduce, costs, on, merges=True)
            print(
                f"{n_blocks} blocks, {workers} workers: {real:.2f} s, simulated {simulated:.2f} s"
            )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=float, default=1e9)
    parser.add_argument("--storage", type=float, default=20, help="GB/s of all workers together")
    parser.add_argument("--disk", type=float, default=0.5, help="GB/s that one worker reads")
    parser.add_argument("--network", type=float, default=1, help="GB/s of each worker")
    parser.add_argument("--check", type=float, help="GB of a file to compare with")
    given = parser.parse_args()
    costs = measure()
    print(
        f"a block of {costs.rows} x {COLUMNS} float32 ({costs.block_bytes / 2**20:.0f} MiB): "
        f"moments {costs.reduce:.3f} s, merge {costs.merge * 1e3:.1f} ms "
        f"({costs.moments_bytes / 2**20:.1f} MiB), embed and write {costs.embed:.3f} s; "
        f"a task of the scheduler {costs.schedule * 1e3:.2f} ms, a pass {costs.start:.2f} s"
    )
    n_blocks = math.ceil(given.rows / costs.rows)
    print(
        f"{given.rows:.0e} rows, {n_blocks * costs.block_bytes / 1e12:.2f} TB, {n_blocks} blocks; "
        f"the moments that move: {n_blocks * costs.moments_bytes / 1e9:.0f} GB"
    )
    for name, task, merges in (("fit", costs.reduce, True), ("transform", costs.embed, False)):
        for workers in (1, 10, 100, 1000):
            on = Cluster(workers, given.storage * 1e9, given.disk * 1e9, given.network * 1e9)
            parts = predict(n_blocks, task, costs, on, merges)
            bottleneck = max(parts, key=lambda part: parts[part])
            simulated = simulate(n_blocks, task, costs, on, merges)
            print(
                f"{name:9s} {workers:5d} workers: formula {parts[bottleneck]:8.0f} s by the "
                f"{bottleneck:9s} simulated {simulated:8.0f} s"
            )
    if given.check:
        check(costs, given.check)


if __name__ == "__main__":
    main()
