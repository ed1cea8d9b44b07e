"""The parts of scikit-learn that proxies need: validation, its neighbors, what it stores."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.linalg import pinv
from scipy.sparse import csr_array, csr_matrix, issparse
from sklearn import __version__ as sklearn_version
from sklearn import config_context, get_config
from sklearn.decomposition import KernelPCA
from sklearn.metrics import euclidean_distances as euclidean_distances
from sklearn.metrics import pairwise_distances as pairwise_distances
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import KernelCenterer
from sklearn.random_projection import johnson_lindenstrauss_min_dim
from sklearn.utils import check_array as check_array
from sklearn.utils import check_random_state as check_random_state
from sklearn.utils._param_validation import validate_parameter_constraints
from sklearn.utils.sparsefuncs import mean_variance_axis
from sklearn.utils.validation import check_symmetric as check_symmetric
from sklearn.utils.validation import validate_data

from ..neighbor_graph import neighbors
from ..parameters import Indices, Reals
from .calls import Refused, require

FLOATS = [np.float64, np.float32]
# Two numbers distinguish releases.
SKLEARN_VERSION = tuple(int(number) for number in sklearn_version.split(".")[:2])
# Up to this size dense rows are as fast as sparse ones, and the solver is exact to rounding.
MAX_DENSE_BYTES = 2**25


def validate(model: Any, X: Any, **how: Any) -> Any:
    """Check parameters and rows as the original does, and keep the names of features."""
    model._validate_params()
    require(not hasattr(X, "__array_namespace__") or isinstance(X, np.ndarray), "not a NumPy array")
    return validate_data(model, X, **how)


def read_arguments(function: Callable[..., Any], *args: Any, **kwargs: Any) -> dict[str, Any]:
    """Return all arguments by name, including defaults, checked as the original function does."""
    bound = inspect.signature(function).bind(*args, **kwargs)
    constraints = getattr(function, "_skl_parameter_constraints", {})
    validate_parameter_constraints(constraints, bound.arguments, caller_name=function.__name__)
    bound.apply_defaults()
    return bound.arguments


def return_arrays() -> Any:
    """A context in which transformers return arrays whatever `set_output` says globally."""
    return config_context(transform_output="default")


def densify_small(X: Any) -> Any:
    """Make small sparse data dense, so that the solver is a direct one."""
    small = issparse(X) and X.shape[0] * X.shape[1] * X.dtype.itemsize <= MAX_DENSE_BYTES
    return X.toarray() if small else X


def copy_writable(learned: Any, dtype: Any = None) -> Reals:
    """An array of a lowd model as scikit-learn keeps them: writable, and of the data's type."""
    return np.array(learned, dtype=dtype)


def column_variances(X: Any) -> Reals:
    """Variances of the columns, divided by n."""
    return np.asarray(mean_variance_axis(X, axis=0)[1] if issparse(X) else np.var(X, axis=0))


def count_seen(n: int) -> Any:
    """The number of rows that IncrementalPCA has seen: a float since scikit-learn 1.8."""
    return np.float64(n) if SKLEARN_VERSION >= (1, 8) else np.int64(n)


def read_rows(X: Any) -> Reals:
    """The rows of an array, or of a fitted NearestNeighbors."""
    return np.asarray(check_array(getattr(X, "_fit_X", X), dtype=FLOATS))


def build_csr(weights: Reals, indices: Indices, n_columns: int) -> Any:
    """Neighbors as a sparse matrix, of the interface that scikit-learn is set to."""
    n, k = indices.shape
    columns = indices.ravel().astype(np.int64)
    parts = weights.ravel(), columns, np.arange(0, n * k + 1, k, dtype=np.int64)
    graph = csr_array(parts, shape=(n, n_columns))
    return graph if get_config().get("sparse_interface") == "sparray" else csr_matrix(graph)


def count_projected(model: Any, n: int) -> Any:
    """The dimension that a random projection of n rows asks for."""
    if model.n_components != "auto":
        return model.n_components
    return johnson_lindenstrauss_min_dim(n_samples=n, eps=model.eps)


def invert_components(C: Reals) -> Reals:
    """The pseudo-inverse of the components, as a random projection keeps it."""
    return np.asarray(pinv(C, check_finite=False))


def build_centerer(means: Reals, grand_mean: float, n: int) -> Any:
    """A KernelCenterer that was fitted to a kernel matrix with these means."""
    centerer = KernelCenterer().set_output(transform="default")
    centerer.K_fit_rows_ = means
    centerer.K_fit_all_ = grand_mean
    centerer.n_features_in_ = n
    return centerer


def build_neighbors(X: Any, **parameters: Any) -> Any:
    """Make a fitted NearestNeighbors."""
    return NearestNeighbors(**parameters).fit(X)


def build_kernel_pca(K: Reals, eigenvalues: Reals, eigenvectors: Reals, **parameters: Any) -> Any:
    """A KernelPCA that was fitted to this precomputed kernel matrix."""
    fitted = KernelPCA(kernel="precomputed", **parameters).set_output(transform="default")
    means = K.mean(0)
    fitted.eigenvalues_, fitted.eigenvectors_ = eigenvalues, eigenvectors
    fitted._centerer = build_centerer(means, means.mean(), len(K))
    fitted.gamma_, fitted.X_fit_, fitted.n_features_in_ = 1 / len(K), K, len(K)
    return fitted


# -- metrics and neighbors ------------------------------------------------------------------------

# Names of metrics that mean the same in both libraries. Others ("hamming", "jaccard", callables,
# ...) treat some values differently or gain nothing.
SAME_METRICS = {
    **dict.fromkeys(("euclidean", "l2"), "euclidean"),
    **dict.fromkeys(("manhattan", "cityblock", "l1"), "manhattan"),
    **{name: name for name in ("chebyshev", "cosine", "precomputed")},
}


def translate_metric(metric: Any, p: float = 2, metric_params: Any = None) -> dict[str, Any]:
    """lowd's parameters `metric` and `metric_params` for a scikit-learn metric."""
    require(not metric_params, "metric_params")
    if metric == "minkowski":
        named = {1.0: "manhattan", 2.0: "euclidean"}.get(float(p))
        return {"metric": named} if named else {"metric": "minkowski", "metric_params": {"p": p}}
    if not isinstance(metric, str) or metric not in SAME_METRICS:
        name = metric if isinstance(metric, str) else "callable"
        raise Refused(f"metric={name!r} is the original's")
    return {"metric": SAME_METRICS[metric]}


def find_neighbors(
    rows: Any, k: int, how: dict[str, Any], n_jobs: Any = None, original: Any = None
) -> tuple[Indices, Reals]:
    """The k nearest other rows of each, which are those that scikit-learn finds.

    Where several rows are equally far as the last of them, scikit-learn takes those that its heap
    happens to hold. Then the search is by `original()`, a fitted NearestNeighbors, or refused.
    """
    more = min(k + 1, rows.shape[0] - 1)
    found = neighbors(rows, more, n_jobs=n_jobs, **how)
    require(found.recall == 1, "approximate neighbors of many rows")
    if more > k and has_ties(rows, found.distances[:, k - 1 :], how["metric"]):
        require(original is not None, "several rows are equally far as the last neighbor")
        distances, indices = original().kneighbors(n_neighbors=k)
        return indices, distances
    return found.indices[:, :k], found.distances[:, :k]


def has_ties(rows: Any, last: Reals, metric: str) -> bool:
    """Whether the last distance and the next are equal but for rounding, of x'y or of sums."""
    size = {"euclidean": float(np.abs(rows.data if issparse(rows) else rows).max()), "cosine": 1.0}
    near, far = np.square(last, dtype=np.float64).T
    products = size.get(metric, 0.0) ** 2 * (rows.shape[1] if metric == "euclidean" else 1)
    return bool((far - near <= 32 * np.finfo(np.float64).eps * (far + products)).any())
