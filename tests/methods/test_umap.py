"""UMAP: its quality beside umap-learn's, targets, densities, starts, and what its map promises."""

from __future__ import annotations

import re
from functools import cache

import numpy as np
import pytest
from scipy.stats import spearmanr
from sklearn.datasets import load_digits
from sklearn.metrics import silhouette_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsTransformer

import lowd
from case_data import rows_like
from cases import fit, same_bits
from lowd.errors import DisconnectedGraphWarning, ParameterError

# Of umap-learn 0.5.12 on digits, the mean of three runs, and what a map may have less.
PEER = {"neighbor_recall": 0.533, "trustworthiness": 0.987, "triplet_accuracy": 0.629}
PEER_KNN_ACCURACY = 0.988
TOLERANCE = 0.003


@cache
def digits():
    return load_digits(return_X_y=True)


@cache
def fitted_digits():
    return lowd.UMAP().fit(digits()[0])


def torn_weight(model, longest):
    """The share of the graph's weight on edges that are longer than this."""
    W, Y = model.graph_.tocoo(), model.embedding_
    d = np.linalg.norm(Y[W.row] - Y[W.col], axis=1)
    return float(W.data[d > longest].sum() / W.data.sum())


def test_digits_are_as_well_preserved_as_by_umap_learn():
    X, y = digits()
    model = fitted_digits()
    found = lowd.evaluate(X, model.embedding_, labels=y)
    for name, peer in PEER.items():
        assert getattr(found, name) >= peer - TOLERANCE, name
    assert found.neighbor_recall >= PEER["neighbor_recall"] + 0.01
    accuracy = np.mean(
        KNeighborsClassifier(11).fit(model.embedding_, y).predict(model.embedding_) == y
    )
    assert accuracy >= PEER_KNN_ACCURACY - TOLERANCE
    assert torn_weight(model, 4.0) < 0.035  # umap-learn: 0.025
    assert 0 < model.force_error_ < 0.05
    assert model.init_used_ == "pca"


def test_held_out_digits_lie_with_their_class():
    X, y = digits()
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[:1400], order[1400:]
    model = lowd.UMAP().fit(X[train])
    by_map = KNeighborsClassifier(10).fit(model.embedding_, y[train])
    in_data = KNeighborsClassifier(10).fit(X[train], y[train]).score(X[new], y[new])
    assert by_map.score(model.transform(X[new]), y[new]) >= in_data - 0.02


def test_rows_of_unequal_noise_are_mapped_to_their_group():
    """Plain distances rank training rows by their noise; 0.84 of the rows are right by them."""
    rng = np.random.default_rng(0)
    group = np.arange(900) % 6
    noise = rng.normal(size=(900, 3000)) * (0.6 + 1.2 * rng.random((900, 1)))
    X = 0.16 * rng.normal(size=(6, 3000))[group] + noise
    order = rng.permutation(900)
    train, new = order[:720], order[720:]
    model = lowd.UMAP().fit(X[train])
    by_map = KNeighborsClassifier(5).fit(model.embedding_, group[train])
    assert by_map.score(model.transform(X[new]), group[new]) > 0.88


def test_the_map_is_continuous_where_neighbors_change():
    """Along a line between two rows of digits: halving the steps halves the largest move."""
    X = digits()[0]
    model = fitted_digits()
    moves = []
    for count in (2_000, 4_000, 8_000):
        t = np.linspace(0.1, 0.9, count)[:, None]
        Y = model.transform((1 - t) * X[0] + t * X[10])
        moves.append(np.linalg.norm(np.diff(Y, axis=0), axis=1).max())
    assert moves[2] < 0.6 * moves[0]


def test_permuted_rows_and_targets_give_permuted_bits():
    X, y = rows_like(70, 5), np.arange(70) % 3
    order = np.random.default_rng(3).permutation(70)
    for target in (y, y + 0.5):
        how = "categorical" if target is y else "euclidean"
        model = lowd.UMAP(n_neighbors=8, n_epochs=30, target_metric=how)
        same_bits(
            model.fit_transform(X, target)[order], model.fit_transform(X[order], target[order])
        )


def test_units_of_the_data_do_not_matter():
    """Powers of 2 to the bit; others to the tolerance of umap-learn's bisection, which σ has."""
    X = rows_like(60, 5)
    Y = lowd.UMAP(n_neighbors=8, n_epochs=30).fit_transform(X)
    same_bits(lowd.UMAP(n_neighbors=8, n_epochs=30).fit_transform(2.0**40 * X), Y)
    other = lowd.UMAP(n_neighbors=8, n_epochs=30).fit_transform(1000 * X)
    np.testing.assert_allclose(other, Y, atol=1e-2)


def test_spread_is_the_unit_of_length():
    X = rows_like(60, 5)
    one = lowd.UMAP(n_neighbors=8, n_epochs=30, min_dist=0.1).fit(X)
    two = lowd.UMAP(n_neighbors=8, n_epochs=30, min_dist=0.4, spread=4.0).fit(X)
    np.testing.assert_allclose(two.embedding_, 4 * one.embedding_, atol=1e-4)
    Q = X[:9] + 0.1
    np.testing.assert_allclose(two.transform(Q), 4 * one.transform(Q), atol=1e-3)


def test_strength_and_rate_count_as_a_product():
    X = rows_like(60, 5)
    three = lowd.UMAP(n_neighbors=8, n_epochs=20, repulsion_strength=3.0).fit_transform(X)
    rate = lowd.UMAP(n_neighbors=8, n_epochs=20, negative_sample_rate=15).fit_transform(X)
    same_bits(three, rate)
    assert np.ptp(three) > np.ptp(lowd.UMAP(n_neighbors=8, n_epochs=20).fit_transform(X))


def test_labels_separate_classes_and_unknown_ones_follow():
    X, y = digits()
    X, y = X[:900] + np.random.default_rng(0).normal(size=(900, 64)) * 6, y[:900]
    plain = lowd.UMAP(n_epochs=100).fit(X)
    half = np.where(np.arange(900) % 2, y, -1)
    guided = lowd.UMAP(n_epochs=100).fit(X, half)
    hidden = half == -1

    def accuracy(model):
        known = KNeighborsClassifier(10).fit(model.embedding_[~hidden], y[~hidden])
        return known.score(model.embedding_[hidden], y[hidden])

    assert accuracy(guided) >= accuracy(plain) - 0.01
    hits = [lowd.evaluate(X, m.embedding_, labels=y).neighborhood_hit for m in (plain, guided)]
    assert hits[1] > hits[0]
    assert guided.target_.shape == (900,)
    assert guided.calibrate_confidence(X).confidence_basis_.endswith("one more fit")


def score_knn(Y, y, Z, wanted):
    return KNeighborsClassifier(10).fit(Y, y).score(Z, wanted)


@cache
def overlapping_digits():
    """Six components of digits, in which classes overlap."""
    X, y = digits()
    return lowd.PCA(6).fit_transform(X), y


def test_labels_guide_the_map_as_those_of_umap_learn():
    """Accuracy of new rows, which have no labels: umap-learn 0.5.12, mean of 3 runs, .929.

    Without labels in the fit its accuracy is .903. Silhouettes of the classes rise from .44 to .76,
    of clusters that it packs more tightly.
    """
    X, y = overlapping_digits()
    order = np.random.default_rng(0).permutation(len(X))
    train, new = order[:1400], order[1400:]

    def learn(target):
        model = lowd.UMAP().fit(X[train], target)
        Y, Z = model.embedding_, model.transform(X[new])
        return score_knn(Y, y[train], Z, y[new]), silhouette_score(Y, y[train])

    plain, guided = learn(None), learn(y[train])
    assert guided[0] > max(0.929 - TOLERANCE, plain[0] + 0.01)
    assert guided[1] > plain[1] + 0.15


def test_rows_without_labels_follow_as_those_of_umap_learn():
    """Every second label is hidden; accuracy of these rows in umap-learn .916, .908 without any."""
    X, y = overlapping_digits()
    known = np.arange(len(y)) % 2 == 1

    def learn(target):
        Y = lowd.UMAP().fit_transform(X, target)
        return score_knn(Y[known], y[known], Y[~known], y[~known])

    plain, guided = learn(None), learn(np.where(known, y, -1))
    assert guided > max(0.916 - TOLERANCE, plain + 0.003)


def test_numbers_as_targets_order_the_embedding():
    rng = np.random.default_rng(0)
    X, target = rng.normal(size=(600, 10)), rng.random(600)
    X[:, 0] += target
    plain = lowd.UMAP(n_epochs=100).fit(X)
    guided = lowd.UMAP(n_epochs=100, target_metric="euclidean", target_weight=0.6).fit(X, target)

    def smoothness(model):
        near = lowd.neighbors(model.embedding_, 10).indices
        return np.corrcoef(target[near].mean(1), target)[0, 1]

    assert smoothness(plain) < 0.2  # umap-learn: 0.05
    assert smoothness(guided) > 0.99  # umap-learn: 1.00
    little = lowd.UMAP(n_epochs=100, target_metric="euclidean", target_weight=0.2).fit(X, target)
    assert smoothness(little) < 0.2  # umap-learn: 0.05


def test_densities_are_preserved_if_asked():
    """A dense and a sparse cluster: their radii correlate, as with umap-learn's densmap=True."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, 8)) * np.repeat([0.2, 1.0, 3.0], 400)[:, None]
    X += 40 * np.repeat(np.eye(8)[:3], 400, axis=0)
    plain = lowd.UMAP().fit(X)
    dense = lowd.UMAP(dens_lambda=2.0).fit(X)

    def widths(model):
        return [model.embedding_[i : i + 400].std(0).mean() for i in (0, 400, 800)]

    assert spearmanr(dense.rad_orig_, dense.rad_emb_)[0] > 0.8
    assert not hasattr(plain, "rad_orig_")
    small, middle, large = widths(dense)
    assert small < 0.7 * middle
    assert middle < 0.7 * large  # umap-learn: 0.41, 0.88, 1.33
    assert widths(plain)[0] > 0.6 * widths(plain)[2]


def test_densities_of_digits_are_preserved_as_by_umap_learn():
    """Correlations of local radii grow with the strength, and neighborhoods stay.

    Correlation and trustworthiness beside those of umap-learn 0.5.12, mean of two runs.
    """
    X = digits()[0]
    for strength, correlation, trust in ((0.5, 0.917, 0.982), (2, 0.967, 0.967), (5, 0.979, 0.945)):
        model = lowd.UMAP(dens_lambda=strength).fit(X)
        found = np.corrcoef(model.rad_orig_, model.rad_emb_)[0, 1]
        assert abs(found - correlation) < 0.005
        assert lowd.evaluate(X, model.embedding_).trustworthiness > trust - TOLERANCE
        assert torn_weight(model, 4.0) < 0.035


@pytest.mark.parametrize("init", ["pca", "spectral", "random"])
def test_starts(init):
    X = rows_like(80, 5)
    model = lowd.UMAP(n_neighbors=10, n_epochs=60, init=init).fit(X)
    assert model.init_used_ == init
    still = {"n_epochs": 1, "learning_rate": 1e-9, "spread": 2.0, "init": model.embedding_}
    again = lowd.UMAP(n_neighbors=10, **still).fit(X)
    assert again.init_used_ == "given"
    np.testing.assert_allclose(again.embedding_, model.embedding_, atol=1e-6)


def test_principal_components_are_smoothed_along_the_graph_before_the_descent():
    """Two of them alone keep a third of the neighbors of digits."""
    X = digits()[0][:500]
    model = lowd.UMAP(n_neighbors=10, n_epochs=1, learning_rate=1e-9, init="pca").fit(X)
    start = lowd.evaluate(X, model.embedding_).neighbor_recall
    assert start > lowd.evaluate(X, lowd.PCA(2).fit_transform(X)).neighbor_recall + 0.2


def test_a_graph_in_components_is_embedded_and_said():
    X = np.vstack([rows_like(30, 4, seed=seed) + 100 * seed for seed in range(3)])
    model = lowd.UMAP(n_neighbors=6).fit(X)
    assert model.n_graph_components_ == 3
    assert len({*map(tuple, model.graph_components_.reshape(3, 30))}) == 3
    assert np.isfinite(model.embedding_).all()
    assert np.ptp(model.embedding_) < 60
    with pytest.warns(DisconnectedGraphWarning, match="3 connected components.*init='pca'"):
        spectral = lowd.UMAP(n_neighbors=6, init="spectral").fit(X)
    assert spectral.init_used_ == "pca"
    same_bits(spectral.embedding_, model.embedding_)
    neighbors = KNeighborsTransformer(n_neighbors=6).fit_transform(X)
    graph = lowd.UMAP(n_neighbors=6, init="spectral", n_epochs=20, metric="precomputed")
    with pytest.warns(DisconnectedGraphWarning, match="init='random'"):
        graph.fit(neighbors)
    assert graph.init_used_ == "random"


def test_callback_and_its_end():
    X = rows_like(60, 5)
    seen = []

    def stop(epoch, Y):
        seen.append((epoch, Y.shape))
        return epoch >= 30

    model = lowd.UMAP(n_neighbors=8).fit(X, callback=stop)
    assert seen == [(10, (60, 2)), (20, (60, 2)), (30, (60, 2))]
    assert model.n_iter_ == 30


def test_the_loss_falls():
    X = rows_like(90, 5)
    start = lowd.UMAP(n_neighbors=8, n_epochs=1).fit(X).loss_
    assert lowd.UMAP(n_neighbors=8).fit(X).loss_ < start


@pytest.mark.parametrize(
    ("params", "sentence"),
    [
        ({"n_neighbors": 31}, "n_neighbors=31 counts the row itself"),
        ({"a": 1.0}, "a and b go together"),
        ({"min_dist": 2.0}, "min_dist exceeds spread"),
        ({"a": 1.0, "b": 1.0, "min_dist": 0.2}, "a and b are set"),
        ({"dens_frac": 0.5}, "dens_lambda=0"),
    ],
)
def test_parameters_that_do_not_fit(params, sentence):
    with pytest.raises(ParameterError, match=re.escape(sentence)):
        lowd.UMAP(**params).fit(rows_like(30, 4))


def test_a_given_graph_of_too_few_neighbors():
    X = rows_like(30, 4)
    with pytest.raises(ParameterError, match="n_neighbors=15, but row 0 of the graph holds 10"):
        lowd.UMAP().fit(X, neighbors=lowd.neighbors(X, 10))
    own = lowd.UMAP(n_neighbors=11, n_epochs=10).fit(X)
    given = lowd.UMAP(n_neighbors=11, n_epochs=10).fit(X, neighbors=lowd.neighbors(X, 20))
    same_bits(given.embedding_, own.embedding_)


def test_duplicates_share_their_coordinates():
    X = np.vstack([rows_like(40, 4), rows_like(40, 4)[:10]])
    model = fit(lowd.UMAP(n_neighbors=8, n_epochs=30), X)
    assert model.n_distinct_ == 40
    same_bits(model.embedding_[40:], model.embedding_[:10])


def test_landmarks_and_the_inverse():
    X = digits()[0]
    model = lowd.UMAP(n_landmarks=600, n_epochs=100).fit(X)
    assert model.embedding_.shape == (1797, 2)
    assert len(model.landmarks_) == 600
    assert lowd.evaluate(X, model.embedding_).trustworthiness > 0.95
    assert model.reconstruction_error_ < 0.7
    assert model.inverse_transform(model.embedding_[:5]).shape == (5, 64)


def test_new_points_do_not_depend_on_the_unit_of_length():
    X, Q = rows_like(200, 5), rows_like(20, 5, seed=1)
    expected = lowd.UMAP(n_epochs=20).fit(X).transform(Q)
    for unit in (2**-10, 2**10):
        found = lowd.UMAP(n_epochs=20).fit(X * unit).transform(Q * unit)
        np.testing.assert_allclose(found, expected, atol=1e-6)


def test_a_start_of_too_few_principal_components_is_filled_up(monkeypatch):
    """One column has one; the other columns of the start are not what happens to be in memory."""
    empty = np.empty

    def spoiled(*args, **kwargs):
        made = empty(*args, **kwargs)
        if made.dtype.kind == "f":
            made.fill(np.nan)
        return made

    monkeypatch.setattr(np, "empty", spoiled)
    model = lowd.UMAP(n_neighbors=10, n_epochs=5, init="pca").fit(rows_like(60, 1))
    assert np.isfinite(model.embedding_).all()
    assert (model.embedding_.std(0) > 0).all()
