"""scikit-learn's own tests of the replaced classes pass with acceleration on."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

MODULES = {
    "decomposition": [
        "sklearn.decomposition.tests.test_pca",
        "sklearn.decomposition.tests.test_incremental_pca",
        "sklearn.decomposition.tests.test_kernel_pca",
        "sklearn.decomposition.tests.test_truncated_svd",
    ],
    "manifold": ["sklearn.manifold.tests"],
    "neighbors": [
        "sklearn.tests.test_random_projection",
        "sklearn.neighbors.tests.test_graph",
        "sklearn.neighbors.tests.test_neighbors_pipeline",
    ],
}
# What must be served at least once, and the least share of all calls that are: no hollow proof.
SERVED = {
    "decomposition": (
        0.8,
        {
            "PCA.fit",
            "PCA.fit_transform",
            "IncrementalPCA.fit",
            "IncrementalPCA.partial_fit",
            "TruncatedSVD.fit",
            "TruncatedSVD.fit_transform",
            "KernelPCA.fit",
            "KernelPCA.fit_transform",
            "KernelPCA.transform",
        },
    ),
    "manifold": (
        0.5,
        {
            "Isomap.fit",
            "Isomap.transform",
            "TSNE.fit_transform",
            "ClassicalMDS.fit_transform",
            "smacof",
            "spectral_embedding",
            "locally_linear_embedding",
            "trustworthiness",
        },
    ),
    "neighbors": (
        0.5,
        {
            "KNeighborsTransformer.transform",
            "kneighbors_graph",
            "SparseRandomProjection.transform",
            "GaussianRandomProjection.fit_transform",
        },
    ),
}
# Tests that fail with acceleration on purpose.
EXCEPTIONS = {
    f"test_spectral_eigen_tol_auto[{container}-{solver}]": "expects a call of SciPy's solver"
    for container in ("csr_matrix", "csr_array")
    for solver in ("arpack", "lobpcg")
}
# Of some thousand tests that pass without acceleration; one percent may differ.
MAX_EXCEPTIONS = 9


def _run(folder, modules, *options):
    record = folder / "record.json"
    paths = [str(Path(__file__).parent), *sys.path]
    environment = {
        **os.environ,
        "LOWD_SUITE_RECORD": str(record),
        "PYTHONPATH": os.pathsep.join(filter(None, paths)),
        "PYTEST_ADDOPTS": "",
        "OMP_NUM_THREADS": "1",  # the matrices are small, and other tests run beside these
    }
    command = [sys.executable, "-m", "pytest", "-q", "-c", os.devnull, f"--rootdir={folder}"]
    command += ["-p", "no:cacheprovider", "-p", "no:xdist", *options, "--pyargs", *modules]
    made = subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)
    return made, record


def _fails_without(test, folder, modules):
    made, _ = _run(folder, modules, "-k", test.split("[")[0])
    return f"::{test}" in made.stdout


@pytest.mark.parametrize("group", MODULES)
def test_the_suite_of_scikit_learn_passes(group, tmp_path):
    made, record = _run(tmp_path, MODULES[group], "-p", "accelerated_suite", "--tb=short")
    assert record.exists(), made.stdout[-3000:] + made.stderr[-3000:]
    found = json.loads(record.read_text())
    assert found["passed"] > 90, made.stdout[-3000:]
    lost = [test for test in found["failed"] if test not in EXCEPTIONS]
    lost = [test for test in lost if not _fails_without(test, tmp_path, MODULES[group])]
    assert not lost, made.stdout[-6000:]
    assert not [reason for reason in found["reasons"] if "unexpected" in reason]
    share, names = SERVED[group]
    counts = Counter()
    for label, count in found["served"].items():
        name, ran = label.split()
        counts[ran] += count
        names = names - ({name} if ran == "lowd" else set())
    assert not names, f"never served by lowd: {names}"
    assert counts["lowd"] >= share * counts.total(), (counts, found["reasons"])


def test_exceptions_are_few_and_have_reasons():
    assert len(EXCEPTIONS) <= MAX_EXCEPTIONS
    assert all(EXCEPTIONS.values())
