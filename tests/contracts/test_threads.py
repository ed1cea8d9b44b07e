"""Threads: how many, the same bits for any number, many callers at once, and after a fork."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
import warnings
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pytest
from sklearn.base import clone
from threadpoolctl import threadpool_info, threadpool_limits

import lowd
from case_data import rows_like
from cases import FIRST, each, fit, same_bits
from lowd import threads
from lowd.backend import current, using
from lowd.errors import ParameterError

# More blocks of rows than the cases of real sizes have (test_fits.py tries these with threads).
SEEDED = {"random_state": 0}
RBF = {"kernel": "rbf", "gamma": 0.05}
BACK = {"fit_inverse_transform": True, "preimage": "fixed_point"}
LARGE = {
    "PCA by covariance": (lowd.PCA(5), (30_000, 120)),
    "PCA by products": (lowd.PCA(2), (3_000, 900)),
    "Gaussian": (lowd.GaussianRandomProjection(70, **SEEDED), (4_000, 301)),
    "Sparse": (lowd.SparseRandomProjection(70, **SEEDED), (4_000, 301)),
    "Hadamard": (lowd.HadamardRandomProjection(70, **SEEDED), (4_000, 301)),
    "MDS": (lowd.ClassicalMDS(2), (6_000, 200)),
    "MDS manhattan": (lowd.ClassicalMDS(2, metric="manhattan"), (1_500, 33)),
    "MDS landmarks": (lowd.ClassicalMDS(2, metric="chebyshev", n_landmarks=150), (6_000, 33)),
    "KernelPCA": (lowd.KernelPCA(2, **RBF), (1_500, 33)),
    "KernelPCA landmarks": (lowd.KernelPCA(2, **RBF, n_landmarks=150), (6_000, 33)),
    "LTSA, filtered": (lowd.LTSA(7, n_neighbors=20), (6_000, 9)),
    "ModifiedLLE landmarks": (lowd.ModifiedLLE(2, n_landmarks=800), (3_000, 3)),
    "Isomap landmarks": (lowd.Isomap(2, n_neighbors=8, n_landmarks=150), (3_000, 33)),
    "pre-images": (lowd.KernelPCA(3, **RBF, **BACK), (300, 33)),
}


def _made(name, n_jobs):
    return clone(LARGE[name][0]).set_params(n_jobs=n_jobs)


@pytest.mark.parametrize("name", LARGE)
@pytest.mark.usefixtures("many_cpus")
def test_the_same_bits_for_any_number_of_threads(name):
    shape = LARGE[name][1]
    X, Q = rows_like(*shape, seed=1), rows_like(500, shape[1], seed=2)
    models = [fit(_made(name, n), X) for n in (1, 5)]
    one = models[0]
    for model in models[1:]:
        for learned, value in vars(one).items():
            if isinstance(value, np.ndarray):
                same_bits(getattr(model, learned), value)
        same_bits(model.transform(Q), one.transform(Q))
        same_bits(model.set_params(n_jobs=1).transform(Q), one.transform(Q))
    route = {"covariance": "covariance", "products": "krylov"}
    if name.startswith("PCA"):
        assert one.solver_ == route[name.split()[-1]]


def test_n_jobs_reaches_the_backend(monkeypatch):
    monkeypatch.setattr(threads, "available", lambda: 6)
    monkeypatch.delenv("LOWD_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def count(n_jobs):
        with using("auto", n_jobs):
            return current().threads

    assert [count(n) for n in (None, 1, 4, 99, -1, -2, -99)] == [6, 1, 4, 6, 6, 5, 1]


@pytest.mark.parametrize(
    ("lowd_threads", "omp_threads", "n_jobs", "expected"),
    [
        (None, None, None, 4),
        ("2", None, None, 2),
        (None, "3", None, 3),
        ("2", "3", None, 2),
        ("64", None, None, 4),
        (None, "2,4,1", None, 2),
        (None, "nonsense", None, 4),
        ("", "", None, 4),
        ("2", None, 3, 3),
        ("3", None, -1, 3),
        (None, "2", -2, 1),
        (None, None, 99, 4),
        (None, None, -4, 1),
    ],
)
def test_how_many(monkeypatch, lowd_threads, omp_threads, n_jobs, expected):
    monkeypatch.setattr(threads, "available", lambda: 4)
    for name, value in (("LOWD_NUM_THREADS", lowd_threads), ("OMP_NUM_THREADS", omp_threads)):
        if value is None:
            monkeypatch.delenv(name, raising=False)
        else:
            monkeypatch.setenv(name, value)
    assert threads.count(n_jobs) == expected


@pytest.mark.parametrize("bad", ["two", "0", "-1", "1.5"])
def test_a_wrong_environment_is_named(monkeypatch, bad):
    monkeypatch.setenv("LOWD_NUM_THREADS", bad)
    with pytest.raises(ParameterError, match=f"LOWD_NUM_THREADS='{bad}'"):
        lowd.PCA(1).fit(rows_like(5))


@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity here")
def test_affinity_is_respected(monkeypatch):
    monkeypatch.setattr(threads, "_read_container_quota", lambda: 2**31)
    for allowed in ({0}, {0, 3, 7}):
        monkeypatch.setattr(os, "sched_getaffinity", lambda _, allowed=allowed: allowed)
        assert threads.available() == len(allowed)


@pytest.mark.parametrize(
    ("files", "quota"),
    [
        ({"cpu.max": "200000 100000"}, 2),
        ({"cpu.max": "150000 100000"}, 2),
        ({"cpu.max": "50000 100000"}, 1),
        ({"cpu.max": "max 100000"}, 2**31),
        ({"cpu.max": "what is this"}, 2**31),
        ({"cpu/cpu.cfs_quota_us": "300000", "cpu/cpu.cfs_period_us": "100000"}, 3),
        ({"cpu/cpu.cfs_quota_us": "-1", "cpu/cpu.cfs_period_us": "100000"}, 2**31),
        ({}, 2**31),
    ],
)
def test_read_container_quota(monkeypatch, tmp_path, files, quota):
    for name, text in files.items():
        file = tmp_path / "sys/fs/cgroup" / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text + "\n")
    monkeypatch.setattr(threads, "Path", lambda path: tmp_path / path.lstrip("/"))
    threads._read_container_quota.cache_clear()
    try:
        assert threads._read_container_quota() == quota
        monkeypatch.setattr(os, "sched_getaffinity", lambda _: set(range(8)), raising=False)
        assert threads.available() == min(8, quota)
    finally:
        threads._read_container_quota.cache_clear()


def test_joblib_workers_share_the_machine(monkeypatch):
    """Inside two loky workers each may use its part of the CPUs, as joblib says."""
    monkeypatch.delenv("LOWD_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    cpus = joblib.cpu_count()
    with joblib.parallel_config("loky", n_jobs=2, inner_max_num_threads=1):
        inside = joblib.Parallel()(joblib.delayed(threads.count)(None) for _ in range(2))
    assert inside == [1, 1]
    inside = joblib.Parallel(n_jobs=2)(joblib.delayed(threads.count)(None) for _ in range(2))
    assert inside == [max(1, min(cpus // 2, threads.available()))] * 2


def test_fit_inside_joblib_workers():
    X = rows_like(500, 20)
    model = lowd.PCA(2)
    found = joblib.Parallel(n_jobs=2)(joblib.delayed(model.fit_transform)(X) for _ in range(4))
    for Y in found:
        np.testing.assert_allclose(Y, model.fit_transform(X), atol=1e-12)


@pytest.mark.parametrize("name", ["PCA by products", "MDS manhattan", "Hadamard", "KernelPCA"])
@pytest.mark.usefixtures("many_cpus")
def test_eight_threads_with_several_blocks_each(name):
    shape = LARGE[name][1]
    X, Q = rows_like(*shape, seed=1)[:2000], rows_like(3000, shape[1], seed=2)
    model = fit(_made(name, 2), X)
    expected = model.transform(Q)
    with ThreadPoolExecutor(8) as pool:
        for Y in pool.map(lambda _: model.transform(Q), range(8)):
            same_bits(Y, expected)


def test_eight_threads_fit_at_once():
    """Fits share nothing but the pool."""
    data = [rows_like(400, 12, seed=seed) for seed in range(8)]
    models = [lowd.KernelPCA(2, kernel="rbf", n_landmarks=40) for _ in data]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda pair: pair[0].fit(pair[1]), zip(models, data, strict=True)))
    for model, X in zip(models, data, strict=True):
        alone = lowd.KernelPCA(2, kernel="rbf", n_landmarks=40).fit(X)
        same_bits(model.embedding_, alone.embedding_)


_FORK = """
    import os, sys
    import numpy as np
    import lowd
    from lowd import threads

    threads.available = lambda: 4
    X = np.random.default_rng(0).normal(size=(3000, 64))
    models = [
        lowd.PCA(5), lowd.GaussianRandomProjection(40, random_state=0),
        lowd.KernelPCA(2, kernel="rbf", gamma=0.01, n_landmarks=100),
    ]
    before = [model.fit(X).transform(X) for model in models]  # the pool is running

    def same():
        return all(
            (model.transform(X) == Y).all() and (model.fit(X).transform(X) == Y).all()
            for model, Y in zip(models, before, strict=True)
        )

    for _ in range(3):
        child = os.fork()
        if not child:
            grandchild = os.fork()
            if not grandchild:
                os._exit(0 if same() else 1)
            ok = os.waitstatus_to_exitcode(os.waitpid(grandchild, 0)[1]) == 0
            os._exit(0 if ok and same() else 1)
        if os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]):
            sys.exit("the child's bits differ")
    print("same" if same() else "the parent's bits differ")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_children_of_a_fork_work_on():
    script = textwrap.dedent(_FORK)
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        env=environment,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert run.stdout.strip() == "same", run.stderr


def test_exit_with_a_running_pool_is_clean():
    script = "import numpy as np, lowd; lowd.PCA(3).fit_transform(np.random.rand(30000, 100))"
    run = subprocess.run(
        [sys.executable, "-X", "dev", "-c", script], capture_output=True, text=True, timeout=60
    )
    assert (run.returncode, run.stdout) == (0, "")


def _blas_threads():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.mark.skipif(os.cpu_count() == 1, reason="BLAS has one thread here anyway")
def test_blas_gets_its_threads_back_whoever_leaves_last():
    with threadpool_limits(2, user_api="blas"):
        before = _blas_threads()
        first, second = threads.single_threaded_blas(), threads.single_threaded_blas()
        with first:
            second.__enter__()
            assert set(_blas_threads()) == {1}
        assert set(_blas_threads()) == {1}  # the other one is still inside
        second.__exit__(None, None, None)
        assert _blas_threads() == before
        with pytest.raises(KeyError), threads.single_threaded_blas():
            raise KeyError
        assert _blas_threads() == before


@each(FIRST)
def test_fits_in_other_threads_have_the_same_bits(case):
    """At 200 rows the eigenproblems are LAPACK's, whose bits depend on the threads of BLAS."""
    X = rows_like(200, seed=7)
    model = case.model()
    expected = fit(clone(model), X).transform(X[:20])
    with warnings.catch_warnings():  # filters belong to the process
        warnings.simplefilter("ignore")
        with ThreadPoolExecutor(3) as pool:
            found = [pool.submit(lambda: clone(model).fit(X).transform(X[:20])) for _ in range(6)]
            other = fit(lowd.LTSA(2), X)  # beside them, in this thread
            for result in found:
                same_bits(result.result(), expected)
    same_bits(other.embedding_, lowd.LTSA(2).fit(X).embedding_)


def test_small_fits_do_not_depend_on_the_threads_of_blas():
    X = rows_like(3_000, 300, seed=1, dtype=np.float64)
    fits = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            fits.append([fit(lowd.PCA(k), X) for k in (2, 60)])
    for one, two in zip(*fits, strict=True):
        same_bits(one.components_, two.components_)


@pytest.mark.parametrize(
    "model",
    [
        lowd.KernelPCA(None, kernel="rbf"),
        lowd.KernelPCA(60, kernel="rbf"),
        lowd.LaplacianEigenmaps(200, n_neighbors=10),
        lowd.ClassicalMDS(metric="manhattan", correction="lingoes"),
    ],
    ids=["all", "some", "smallest", "values"],
)
def test_large_decompositions_do_not_depend_on_the_threads_of_blas(model):
    X = rows_like(1_100, 5, seed=2)
    fits = []
    for count in (1, 2):
        with threadpool_limits(count, user_api="blas"):
            fits.append(fit(clone(model), X).embedding_)
    same_bits(*fits)


def test_tasks_beside_each_other_share_the_cpus(monkeypatch):
    """Those of a pool, not the main thread; and only while they run."""
    monkeypatch.setattr(threads, "available", lambda: 8)
    monkeypatch.delenv("LOWD_NUM_THREADS", raising=False)
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)

    def count_in_pool():
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(threads.count, None).result(), pool.submit(threads.count, 4).result()

    with threads.sharing_among_tasks(4):
        assert count_in_pool() == (2, 1)
        assert threads.count(None) == 8
    with threads.sharing_among_tasks(100):
        assert count_in_pool() == (1, 1)
    with threads.sharing_among_tasks(1):
        assert count_in_pool() == (8, 4)
    assert count_in_pool() == (8, 4)
