"""Every number of `evaluate` against its definition, written out plainly, and against peers."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import pdist, squareform
from scipy.stats import pearsonr, spearmanr
from sklearn.isotonic import IsotonicRegression
from sklearn.manifold import trustworthiness as peer_trustworthiness
from sklearn.metrics import silhouette_samples

import lowd
from lowd.evidence.quality import continuity, measures, trustworthiness
from lowd.evidence.quality.measures import compute_separation

PERFECT = {
    "trustworthiness": 1,
    "continuity": 1,
    "neighbor_recall": 1,
    "rnx_auc": 1,
    "mrre_false": 0,
    "mrre_missing": 0,
    "bnx": 0,
    "stress1": 0,
    "scale_normalized_stress": 0,
    "triplet_accuracy": 1,
}


def blob(n=60, d=6, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * (1 + np.arange(d)[::-1])


def ranks(Z):
    """Rank of j as seen from i, by (distance, index), from 1."""
    D = squareform(pdist(Z))
    n = len(D)
    out = np.zeros((n, n), int)
    for i in range(n):
        order = sorted((j for j in range(n) if j != i), key=lambda j: (D[i, j], j))
        for rank, j in enumerate(order, 1):
            out[i, j] = rank
    return out


def coranking(X, Y):
    """q[k - 1, l - 1]: pairs of rank k in data, l in embedding (Lee & Verleysen, 2009)."""
    n = len(X)
    q = np.zeros((n - 1, n - 1), int)
    rho, r = ranks(X), ranks(Y)
    for i in range(n):
        for j in range(n):
            if i != j:
                q[rho[i, j] - 1, r[i, j] - 1] += 1
    return q


def from_coranking(q, K):
    """The measures at K from the matrix alone."""
    n = len(q) + 1
    k, l = np.indices(q.shape) + 1  # noqa: E741 - the letters of the definition
    worst = n * K * (2 * n - 3 * K - 1) / 2 if n / 2 > K else n * (n - K) * (n - K - 1) / 2
    scale = n * sum(abs(n - 2 * s) / s for s in range(1, K + 1))
    recall = q[:K, :K].sum() / (K * n)
    corner = (k <= K) & (l <= K)
    return {
        "trustworthiness": 1 - (q * (k - K))[(l <= K) & (k > K)].sum() / worst,
        "continuity": 1 - (q * (l - K))[(k <= K) & (l > K)].sum() / worst,
        "neighbor_recall": recall,
        "lcmc": recall - K / (n - 1),
        "mrre_false": (q * abs(k - l) / l)[l <= K].sum() / scale,
        "mrre_missing": (q * abs(k - l) / k)[k <= K].sum() / scale,
        "bnx": (q[corner & (l < k)].sum() - q[corner & (l > k)].sum()) / (K * n),
    }


@pytest.mark.parametrize("k", [1, 4, 19, 20, 38])
def test_neighborhoods_from_the_coranking_matrix(k):
    X = blob(40)
    Y = X[:, :2] + np.random.default_rng(1).normal(size=(40, 2))
    found = lowd.evaluate(X, Y, n_neighbors=k)
    for name, expected in from_coranking(coranking(X, Y), k).items():
        assert getattr(found, name) == pytest.approx(expected, abs=1e-12), name
        assert found.measures[name].interval is None


def test_the_curve_and_its_area():
    X = blob(50)
    Y = X[:, :2]
    q, n = coranking(X, Y), 50
    K = np.arange(1, n - 1)
    Q = np.array([q[:k, :k].sum() / (k * n) for k in K])
    R = ((n - 1) * Q - K) / (n - 1 - K)
    found = lowd.evaluate(X, Y, n_neighbors=5)
    np.testing.assert_array_equal(found.rnx_curve[0], K)
    np.testing.assert_allclose(found.rnx_curve[1], R, atol=1e-12)
    assert found.rnx_auc == pytest.approx((R / K).sum() / (1 / K).sum())
    assert found.pointwise["rnx_auc"].mean() == pytest.approx(found.rnx_auc)


@pytest.mark.parametrize("k", [1, 5, 30, 99])
def test_trustworthiness_of_scikit_learn(k):
    X = blob(200, 20)
    Y = lowd.PCA(2).fit_transform(X)
    expected = peer_trustworthiness(X, Y, n_neighbors=k)
    assert trustworthiness(X, Y, n_neighbors=k) == pytest.approx(expected, abs=1e-12)
    assert continuity(X, Y, n_neighbors=k) == pytest.approx(
        peer_trustworthiness(Y, X, n_neighbors=k), abs=1e-12
    )


AWKWARD = {
    "blob": blob,
    "duplicates": lambda: np.repeat(blob(20), 4, axis=0),
    "lattice": lambda: np.indices((9, 9)).reshape(2, -1).T.astype(float),
    "pixels": lambda: np.random.default_rng(0).integers(0, 3, (90, 12)).astype(np.float32),
    "many columns": lambda: np.random.default_rng(0).normal(size=(70, 300)).astype(np.float32),
}


@pytest.mark.parametrize("name", list(AWKWARD))
def test_a_perfect_embedding_is_perfect_to_the_last_bit(name):
    X = AWKWARD[name]()
    found = lowd.evaluate(X, X.copy(), n_neighbors=7)
    for measure, best in PERFECT.items():
        assert float(getattr(found, measure)) == best, measure
    assert found.spearman == pytest.approx(1)
    assert (found.rnx_curve[1] == 1).all()


def test_more_than_a_thousand_rows_of_float32_are_perfect_too():
    X = np.random.default_rng(0).integers(0, 256, (1500, 80)).astype(np.float32)
    found = lowd.evaluate(X, X.copy(), n_neighbors=5)
    for measure, best in PERFECT.items():
        assert float(getattr(found, measure)) == best, measure


def reversed_embedding(n):
    """Distances, and an embedding in which the nearest of each row is the farthest."""
    s = np.random.default_rng(0).random((n, n))
    s = np.triu(s, 1) + np.triu(s, 1).T
    D, E = 1 + 0.01 * s, 1.01 - 0.01 * s
    np.fill_diagonal(D, 0)
    np.fill_diagonal(E, 0)
    J = np.eye(n) - 1 / n
    values, V = np.linalg.eigh(-0.5 * J @ (E * E) @ J)
    return D, V * np.sqrt(np.maximum(values, 0))


@pytest.mark.parametrize("k", [1, 5, 14, 15, 16, 28])
def test_reversed_ranks_are_the_worst_on_both_sides_of_the_middle(k):
    D, Y = reversed_embedding(30)
    found = lowd.evaluate(D, Y, metric="precomputed", n_neighbors=k)
    assert found.trustworthiness == pytest.approx(0, abs=1e-12)
    assert found.continuity == pytest.approx(0, abs=1e-12)
    assert found.mrre_false == pytest.approx(1) or k > 14
    assert found.triplet_accuracy == 0


def test_a_random_embedding_has_the_expected_values():
    n, k, rng = 300, 5, np.random.default_rng(0)
    X = rng.normal(size=(n, 10))
    maps = [lowd.evaluate(X, rng.normal(size=(n, 2)), n_neighbors=k) for _ in range(8)]
    expected = {
        "trustworthiness": 1 - (n - k) * (n - k - 1) / ((n - 1) * (2 * n - 3 * k - 1)),
        "neighbor_recall": k / (n - 1),
        "lcmc": 0,
        "rnx_auc": 0,
        "triplet_accuracy": 0.5,
        "spearman": 0,
    }
    assert expected["trustworthiness"] == pytest.approx(0.503, abs=5e-4)
    for name, value in expected.items():
        values = np.array([float(found.measures[name]) for found in maps])
        error = max(values.std(ddof=1) / np.sqrt(len(values)), 1e-4)
        assert abs(values.mean() - value) < 4 * error, name


def test_continuity_is_trustworthiness_the_other_way():
    X = blob(80)
    Y = X[:, :2] ** 3
    there, back = lowd.evaluate(X, Y, n_neighbors=6), lowd.evaluate(Y, X, n_neighbors=6)
    assert there.continuity == back.trustworthiness
    assert there.mrre_missing == back.mrre_false
    assert there.bnx == -back.bnx


@pytest.mark.parametrize("at_once", [7, 2**16])
def test_distances_against_their_formulas(at_once, monkeypatch):
    monkeypatch.setattr(measures, "MAX_CACHED_ENTRIES", at_once)
    X, Y = blob(90), blob(90)[:, :2] * 1.3 + np.random.default_rng(1).normal(size=(90, 2))
    delta, d = pdist(X), pdist(Y)
    found = lowd.evaluate(X, Y)
    assert found.stress1 == pytest.approx(np.sqrt(((delta - d) ** 2).sum() / (d**2).sum()))
    cosine = delta @ d / np.sqrt((delta @ delta) * (d @ d))
    assert found.scale_normalized_stress == pytest.approx(np.sqrt(1 - cosine**2))
    assert found.spearman == pytest.approx(spearmanr(delta, d).statistic)
    assert found.pearson == pytest.approx(pearsonr(delta, d).statistic)
    fitted = IsotonicRegression().fit_transform(delta, d)
    assert found.nonmetric_stress == pytest.approx(np.sqrt(((fitted - d) ** 2).sum() / (d @ d)))
    assert sorted(found.shepard[0]) == pytest.approx(sorted(delta))


def test_rotation_shift_and_units_do_not_matter():
    X, Y = blob(70), blob(70)[:, :2] ** 3 / 20
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
    labels = np.arange(70) % 3
    plain = lowd.evaluate(X, Y, labels=labels)
    for other, kept in ((Y @ turn + [5, -3], True), (1000 * Y, False), (Y / 77, False)):
        found = lowd.evaluate(X, other, labels=labels)
        for name, value in plain.measures.items():
            if kept or name != "stress1":
                assert found.measures[name] == pytest.approx(value, abs=1e-9), name
    for name, value in lowd.evaluate(100 * X, Y).measures.items():
        if name not in ("stress1", "triplet_accuracy"):  # triplets are drawn by the rows' content
            assert plain.measures[name] == pytest.approx(value, abs=1e-9), name


def test_order_of_rows_does_not_matter_without_ties():
    X = blob(60)
    order = np.random.default_rng(0).permutation(60)
    plain, turned = lowd.evaluate(X, X[:, :2]), lowd.evaluate(X[order], X[order, :2])
    for name in set(plain.measures) - {"triplet_accuracy"}:
        assert plain.measures[name] == pytest.approx(turned.measures[name], abs=1e-12), name
    np.testing.assert_allclose(
        plain.pointwise["trustworthiness"][order], turned.pointwise["trustworthiness"]
    )


def test_labels_against_peers_and_by_hand():
    X = blob(120)
    labels = np.array(["a", "b", "c", "d"])[(X[:, 0] > 0) * 2 + (X[:, 1] > 0)]
    Y = X[:, 1:3]
    found = lowd.evaluate(X, Y, labels=labels, n_neighbors=4)
    np.testing.assert_allclose(found.pointwise["silhouette"], silhouette_samples(Y, labels))
    near = lowd.neighbors(Y, 4).indices
    hit = np.mean([(labels[near[i]] == labels[i]).mean() for i in range(120)])
    assert found.neighborhood_hit == pytest.approx(hit)

    def voted(lists):
        right = 0
        for i, row in enumerate(lists):
            counts = {label: list(labels[row]).count(label) for label in labels[row]}
            most = [label for label in labels[row] if counts[label] == max(counts.values())]
            right += most[0] == labels[i]  # the nearest of the tied voters
        return right / len(lists)

    assert found.knn_accuracy == pytest.approx(voted(near))
    assert found.knn_accuracy_data == pytest.approx(voted(lowd.neighbors(X, 4).indices))
    means = [np.array([Z[labels == c].mean(0) for c in "abcd"]) for Z in (X, Y)]
    D, E = (squareform(pdist(M)) for M in means)
    triples = [(i, j, k) for i in range(4) for j in range(4) for k in range(j) if i not in (j, k)]
    same = [np.sign(D[i, j] - D[i, k]) == np.sign(E[i, j] - E[i, k]) for i, j, k in triples]
    assert found.centroid_triplet_accuracy == pytest.approx(np.mean(same))


def test_classes_that_the_embedding_merges_or_separates():
    X = blob(90)
    codes = np.digitize(X[:, 0], [-3, 3])
    Y = X[:, 1:3]

    def separation(Z, a, b):
        pair = [c in (a, b) for c in codes]
        means = {c: Z[codes == c].mean(0) for c in (a, b)}
        own = [np.linalg.norm(z - means[c]) for z, c in zip(Z[pair], codes[pair], strict=True)]
        other = [
            np.linalg.norm(z - means[a + b - c]) for z, c in zip(Z[pair], codes[pair], strict=True)
        ]
        return 2 * (np.mean(np.less(own, other)) - 0.5)

    gaps = [separation(X, a, b) - separation(Y, a, b) for a, b in ((0, 1), (0, 2), (1, 2))]
    found = lowd.evaluate(X, Y, labels=codes, n_neighbors=4)
    assert found.label_trustworthiness == pytest.approx(1 - np.mean(np.maximum(gaps, 0)))
    assert found.label_continuity == pytest.approx(1 - np.mean(np.maximum(np.negative(gaps), 0)))
    back = lowd.evaluate(Y, X, labels=codes, n_neighbors=4)
    assert back.label_continuity == found.label_trustworthiness < 0.8
    separation_of_ties = compute_separation(np.array([[1.0, 1.0], [0.0, 3.0]]), np.array([0, 1]))
    assert separation_of_ties[0, 1] == -0.5  # a row between both means is half right
    two = lowd.evaluate(X, X, labels=codes > 0, n_neighbors=4)
    assert two.label_trustworthiness == 1
    assert two.centroid_triplet_accuracy is None


def test_a_class_of_one_row_has_no_silhouette():
    labels = np.zeros(30, int)
    labels[3] = 1
    labels[4:9] = 2
    X = blob(30)
    found = lowd.evaluate(X, X, labels=labels, n_neighbors=3)
    np.testing.assert_allclose(found.pointwise["silhouette"], silhouette_samples(X, labels))
    assert found.pointwise["silhouette"][3] == 0


def test_triplets_by_counting_all_of_them():
    X, Y = blob(25), blob(25)[:, 3:5]
    D, E = squareform(pdist(X)), squareform(pdist(Y))
    right = [
        np.sign(D[i, j] - D[i, k]) == np.sign(E[i, j] - E[i, k])
        for i in range(25)
        for j in range(25)
        for k in range(25)
        if len({i, j, k}) == 3
    ]
    drawn = [lowd.evaluate(X, Y, random_state=s).triplet_accuracy for s in range(30)]
    inside = sum(m.interval[0] <= np.mean(right) <= m.interval[1] for m in drawn)
    assert inside >= 26
    assert np.mean(drawn) == pytest.approx(np.mean(right), abs=0.03)


def test_ties_in_the_embedding_count_one_half():
    X = blob(40)
    Y = np.zeros((40, 1))
    Y[0] = 1  # all others coincide
    found = lowd.evaluate(X, Y)
    assert found.pointwise["triplet_accuracy"][1:].mean() == pytest.approx(0.5, abs=0.1)
    assert found.pointwise["triplet_accuracy"][0] == 0.5


def test_every_mean_is_the_mean_of_its_points():
    X = blob(60)
    found = lowd.evaluate(X, X[:, :2], labels=np.arange(60) % 2)
    for name in set(found.pointwise) & set(found.measures):
        assert found.measures[name] == pytest.approx(found.pointwise[name].mean()), name
    assert {"trustworthiness", "continuity", "stretch", "stress"} <= set(found.pointwise)


def test_stretch_shows_where_the_embedding_expands():
    X = np.random.default_rng(0).random((400, 1))
    Y = np.where(X < 0.5, X, 0.5 + 4 * (X - 0.5))
    stretch = lowd.evaluate(X, Y).pointwise["stretch"]
    gap = np.median(stretch[X[:, 0] > 0.6]) - np.median(stretch[X[:, 0] < 0.4])
    assert gap == pytest.approx(2, abs=0.01)  # a factor of 4
    assert np.median(stretch) == pytest.approx(0)
