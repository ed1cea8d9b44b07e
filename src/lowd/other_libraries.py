"""Parameters of other libraries that lowd does not have, and what it does instead."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any

from .errors import UnknownParameterError

_SOLVER = "the solver is chosen by cost and iterates to a residual norm"
_FORCES = "repulsive forces are exact, or by an interpolation grid (learned: force_error_)"
_STOP = "the descent ends when no point moves any more, or after max_iter iterations"
_INDEX = "the search for neighbors is chosen by the data"
_SEARCH = "the search is chosen by the data; fit(X, neighbors=...) takes neighbors found elsewhere"
_MOMENTUM = "it is 0.5 during early exaggeration and 0.8 after it"
_VARIANTS = "the variants are classes: LocallyLinearEmbedding, ModifiedLLE, HessianLLE and LTSA"
_GRAPH = "the graph of neighbors is fit(X, neighbors=...)"
_ROW_BY_ROW = "transform maps each row alone, and the same in any batch"

# Of scikit-learn, openTSNE and umap-learn, by name; by class where a name means several things.
INSTEAD: dict[str, str] = {
    **dict.fromkeys(("svd_solver", "eigen_solver", "eigen_tol", "tol", "iterated_power"), _SOLVER),
    **dict.fromkeys(("n_oversamples", "power_iteration_normalizer", "algorithm"), _SOLVER),
    **dict.fromkeys(("copy", "copy_X"), "input arrays are never written to"),
    **dict.fromkeys(("neighbors_algorithm", "neighbors", "knn_kwargs"), _SEARCH),
    "path_method": "shortest paths are by Dijkstra's algorithm from every point, in parallel",
    **dict.fromkeys(("angle", "theta", "negative_gradient_method", "method"), _FORCES),
    **dict.fromkeys(("n_interpolation_points", "min_num_intervals", "ints_in_interval"), _FORCES),
    **dict.fromkeys(("n_iter_without_progress", "min_grad_norm"), _STOP),
    **dict.fromkeys(("initial_momentum", "final_momentum"), _MOMENTUM),
    "n_iter": "that is max_iter, which counts the iterations of early exaggeration, too",
    "early_exaggeration_iter": "early exaggeration takes 250 iterations, at most half of max_iter",
    "initialization": "that is init",
    "dof": "the similarity is Student's t with one degree of freedom",
    **dict.fromkeys(("max_step_norm", "max_grad_norm"), "learning_rate='auto' keeps steps stable"),
    "callbacks": "fit(X, callback=...) and lowd.progress show and stop a descent",
    "callbacks_every_iters": "fit(X, callback=...) is called every ten iterations",
    "metric_mds": "metric and non-metric MDS are two classes: MDS and NonMetricMDS",
    "dissimilarity": "that is metric='precomputed'",
    "normalized_stress": "stress_, stress1_ and normalized_stress_ are all learned",
    **dict.fromkeys(("hessian_tol", "modified_tol"), "reg is the ridge of all four variants"),
    "remove_zero_eig": "components of eigenvalue 0 are 0, with a RankWarning",
    "dense_output": "the result is always dense",
    "batch_size": "partial_fit takes batches of any size, and fit takes dask arrays",
    "metric_kwds": "that is metric_params",
    **dict.fromkeys(("densmap", "output_dens"), "dens_lambda=2 is densMAP (rad_orig_, rad_emb_)"),
    "precomputed_knn": _GRAPH,
    **dict.fromkeys(("transform_seed", "transform_queue_size", "transform_mode"), _ROW_BY_ROW),
    **dict.fromkeys(("low_memory", "force_approximation_algorithm"), _SEARCH),
    "angular_rp_forest": _SEARCH,
    "unique": "duplicate rows always share their coordinates",
    "tqdm_kwds": "verbose=True shows a progress bar, and lowd.progress takes listeners",
    **dict.fromkeys(("output_metric", "output_metric_kwds"), "the embedding is Euclidean"),
    "target_n_neighbors": "the targets of the neighbors in the data count",
    "target_metric_kwds": "the metrics of targets have no parameters",
    "disconnection_distance": "components are found and reported (learned: graph_components_)",
    "gamma": "the width of the heat kernel is sigma = (2 * gamma) ** -0.5",
    "norm_laplacian": "that is normalization='none' or 'random_walk'",
    "max_iter": _SOLVER,
}
_LOCALLY_LINEAR = ("LocallyLinearEmbedding", "ModifiedLLE", "HessianLLE", "LTSA")
_NEIGHBORS = "NeighborsTransformer"
BY_CLASS: dict[tuple[str, str], str] = {
    **dict.fromkeys(((name, "method") for name in _LOCALLY_LINEAR), _VARIANTS),
    ("PCA", "n_iter"): _SOLVER,
    **dict.fromkeys(((_NEIGHBORS, name) for name in ("algorithm", "leaf_size")), _INDEX),
    (_NEIGHBORS, "mode"): "the graph holds distances; those that are stored are the neighbors",
    (_NEIGHBORS, "p"): "that is metric='minkowski' with metric_params={'p': ...}",
}


def explain_unknown(name: str, cls: str, known: Collection[str]) -> str:
    """What to do about a parameter that a class does not have.

    >>> explain_unknown("n_neigbors", "Isomap", ["n_components", "n_neighbors"])
    "Isomap has no parameter 'n_neigbors'; did you mean 'n_neighbors'?"
    """
    instead = BY_CLASS.get((cls, name)) or INSTEAD.get(name)
    if instead is not None:
        return f"{cls} has no parameter {name!r}: {instead}."
    close = get_close_matches(name, known, 1)
    advice = f"did you mean {close[0]!r}?" if close else f"it has {', '.join(known)}."
    return f"{cls} has no parameter {name!r}; {advice}"


def explain_unknown_parameters(
    init: Callable[..., None], known: Collection[str]
) -> Callable[..., None]:
    """The constructor, with an explanation of parameters that it does not have."""

    @functools.wraps(init)
    def construct(self: object, *args: Any, **given: Any) -> None:
        try:
            init(self, *args, **given)
        except TypeError:
            for name in given:
                if name not in known:
                    message = explain_unknown(name, type(self).__name__, known)
                    raise UnknownParameterError(message) from None
            if args and type(self).__name__ == "UMAP":
                raise UnknownParameterError(
                    "UMAP takes no positional arguments, as umap-learn's first one is n_neighbors "
                    "and that of other methods n_components; write UMAP(n_components=2, ...)."
                ) from None
            raise

    return construct
