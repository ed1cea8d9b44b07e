"""A parameter of another library gives an error that says what lowd does instead."""

from __future__ import annotations

import inspect
import re

import pytest
import sklearn.decomposition
import sklearn.manifold
import sklearn.neighbors
import sklearn.random_projection

import lowd
from cases import LLE_METHODS, fit
from lowd.errors import LowdError, UnknownParameterError
from lowd.methods import METHODS
from lowd.other_libraries import INSTEAD
from lowd.parameters import parameters_of

#: A class of lowd, and those of scikit-learn that people come from.
PEERS = [
    ("PCA", sklearn.decomposition.PCA),
    ("PCA", sklearn.decomposition.IncrementalPCA),
    ("PCA", sklearn.decomposition.TruncatedSVD),
    ("KernelPCA", sklearn.decomposition.KernelPCA),
    ("Isomap", sklearn.manifold.Isomap),
    *[(name, sklearn.manifold.LocallyLinearEmbedding) for name in LLE_METHODS],
    ("MDS", sklearn.manifold.MDS),
    ("NonMetricMDS", sklearn.manifold.MDS),
    ("TSNE", sklearn.manifold.TSNE),
    ("LaplacianEigenmaps", sklearn.manifold.SpectralEmbedding),
    ("GaussianRandomProjection", sklearn.random_projection.GaussianRandomProjection),
    ("SparseRandomProjection", sklearn.random_projection.SparseRandomProjection),
    ("NeighborsTransformer", sklearn.neighbors.KNeighborsTransformer),
]
if hasattr(sklearn.manifold, "ClassicalMDS"):  # new in scikit-learn 1.8
    PEERS.append(("ClassicalMDS", sklearn.manifold.ClassicalMDS))
# All of openTSNE.TSNE (1.0) and umap.UMAP (0.5), which need not be installed.
OPEN_TSNE = """
    n_components perplexity learning_rate early_exaggeration_iter early_exaggeration n_iter
    exaggeration dof theta n_interpolation_points min_num_intervals ints_in_interval initialization
    metric metric_params initial_momentum final_momentum max_grad_norm max_step_norm n_jobs
    neighbors knn_kwargs negative_gradient_method callbacks callbacks_every_iters random_state
    verbose
"""
UMAP_LEARN = """
    n_neighbors n_components metric metric_kwds output_metric output_metric_kwds n_epochs
    learning_rate init min_dist spread low_memory n_jobs set_op_mix_ratio local_connectivity
    repulsion_strength negative_sample_rate transform_queue_size a b random_state angular_rp_forest
    target_n_neighbors target_metric target_metric_kwds target_weight transform_seed transform_mode
    force_approximation_algorithm verbose tqdm_kwds unique densmap dens_lambda dens_frac
    dens_var_shift output_dens disconnection_distance precomputed_knn
"""


def _foreign():
    """Class, and a parameter that its peers have and it has not."""
    named = [(name, set(inspect.signature(peer).parameters)) for name, peer in PEERS]
    named += [("TSNE", set(OPEN_TSNE.split())), ("UMAP", set(UMAP_LEARN.split()))]
    pairs = {(name, one) for name, names in named for one in names}
    return sorted(pair for pair in pairs if pair[1] not in parameters_of(getattr(lowd, pair[0])))


@pytest.mark.parametrize("name", sorted({name for name, _ in _foreign()}))
def test_every_parameter_of_a_peer_is_explained_by_what_the_class_has(name, rng):
    """Learned attributes and parameters that an explanation points to are there."""
    cls = getattr(lowd, name)
    given = {"n_components": 2} if "n_components" in parameters_of(cls) else {}
    model = fit(cls(**given), rng.normal(size=(60, 7)))
    # Of densMAP, which is asked for by dens_lambda.
    elsewhere = {"rad_orig_", "rad_emb_"}
    for parameter in (parameter for other, parameter in _foreign() if other == name):
        with pytest.raises(UnknownParameterError) as refusal:
            cls(**{parameter: 1})
        message = str(refusal.value)
        assert message.startswith(f"{name} has no parameter '{parameter}': ")
        for attribute in set(re.findall(r"\b[a-z]\w*_\b", message)) - elsewhere:
            assert hasattr(model, attribute), message
        for field in re.findall(r"\b([a-z_]+)=", message.partition(": ")[2]):
            assert field in {*parameters_of(cls), "neighbors", "callback"}, message


def test_messages():
    with pytest.raises(TypeError, match="LTSA"):
        lowd.LocallyLinearEmbedding(method="ltsa")
    with pytest.raises(LowdError, match="did you mean 'n_neighbors'"):
        lowd.Isomap(n_neigbors=3)
    with pytest.raises(TypeError, match=r"it has .*n_components, whiten"):
        lowd.PCA(zzz=3)
    with pytest.raises(TypeError, match="positional"):
        lowd.PCA(1, 2)
    assert issubclass(UnknownParameterError, TypeError)


def test_no_parameter_is_explained_away():
    """What a class has is not searched for."""
    for cls in (getattr(lowd, name) for name in METHODS):
        for parameter in set(parameters_of(cls)) & set(INSTEAD):
            default = inspect.signature(cls).parameters[parameter].default
            assert getattr(cls(**{parameter: default}), parameter) is default
