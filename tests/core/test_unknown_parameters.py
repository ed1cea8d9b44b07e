"""A parameter of another library gives an error that says what lowd does instead."""

from __future__ import annotations

import inspect

import pytest
import sklearn.decomposition
import sklearn.manifold
import sklearn.random_projection

import lowd
from lowd.core.parameters import domains
from lowd.core.unknown_parameters import INSTEAD
from lowd.errors import LowdError, UnknownParameterError
from lowd.methods import METHODS

PEERS = {
    "PCA": sklearn.decomposition.PCA,
    "KernelPCA": sklearn.decomposition.KernelPCA,
    "Isomap": sklearn.manifold.Isomap,
    "LocallyLinearEmbedding": sklearn.manifold.LocallyLinearEmbedding,
    "MDS": sklearn.manifold.MDS,
    "TSNE": sklearn.manifold.TSNE,
    "LaplacianEigenmaps": sklearn.manifold.SpectralEmbedding,
    "GaussianRandomProjection": sklearn.random_projection.GaussianRandomProjection,
    "SparseRandomProjection": sklearn.random_projection.SparseRandomProjection,
}
OPEN_TSNE = """
    n_iter early_exaggeration_iter initialization theta negative_gradient_method dof
    n_interpolation_points min_num_intervals ints_in_interval initial_momentum final_momentum
    max_grad_norm max_step_norm callbacks callbacks_every_iters neighbors
"""
UMAP_LEARN = """
    metric_kwds output_metric output_metric_kwds low_memory transform_queue_size angular_rp_forest
    target_n_neighbors target_metric_kwds transform_seed transform_mode tqdm_kwds unique densmap
    force_approximation_algorithm output_dens disconnection_distance precomputed_knn
"""


def _foreign(name, peer):
    return set(inspect.signature(peer).parameters) - set(domains(getattr(lowd, name)))


@pytest.mark.parametrize(
    ("name", "parameter"),
    [(name, one) for name, peer in PEERS.items() for one in sorted(_foreign(name, peer))]
    + [("TSNE", one) for one in OPEN_TSNE.split()]
    + [("UMAP", one) for one in UMAP_LEARN.split()],
)
def test_every_parameter_of_a_peer_is_explained(name, parameter):
    with pytest.raises(UnknownParameterError, match=f"^{name} has no parameter '{parameter}': "):
        getattr(lowd, name)(**{parameter: 1})


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


@pytest.mark.parametrize("name", METHODS)
def test_no_parameter_is_explained_away(name):
    """What a class has is not searched for, and its signature is that of its fields."""
    cls = getattr(lowd, name)
    assert list(inspect.signature(cls).parameters) == list(cls().get_params(deep=False)) or set(
        inspect.signature(cls).parameters
    ) == set(domains(cls))
    for parameter in set(domains(cls)) & set(INSTEAD):
        default = inspect.signature(cls).parameters[parameter].default
        assert getattr(cls(**{parameter: default}), parameter) is default
