"""Comparison of methods: runs are kept, sharing neighbors changes nothing, ranks are right."""

from __future__ import annotations

import json
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.spatial import procrustes

import lowd
from lowd import progress
from lowd.errors import DataError, ParameterError
from lowd.evidence.compare import comparison, result
from lowd.evidence.compare.comparison import SharedParams, clone
from lowd.evidence.procrustes import align, disparity
from lowd.spaces import Rows
from manifolds import lattice, roll


class Broken(lowd.PCA):
    """Fails in its fit."""

    def fit_transform(self, *_):
        raise ArithmeticError("the axes fell off")


class Interrupted(lowd.PCA):
    def fit_transform(self, *_):
        raise KeyboardInterrupt


@pytest.fixture(scope="module")
def rolled():
    return roll(300)


def quick(X, methods, grid=None, **more):
    return lowd.compare(X, methods, grid, **({"subsamples": 0} | more))


# -- what is run -----------------------------------------------------------------------------------


def test_names_classes_models_and_grids(rolled):
    X, _ = rolled
    mine = lowd.Isomap(n_neighbors=7)
    found = quick(
        X,
        ["PCA", lowd.ClassicalMDS, mine],
        {"PCA": {"scale": [False, True], "whiten": [True]}},
    )
    assert [run.name for run in found.runs] == [
        "PCA(scale=False, whiten=True)",
        "PCA(scale=True, whiten=True)",
        "ClassicalMDS",
        "Isomap(n_neighbors=7)",
    ]
    assert found["PCA(scale=True, whiten=True)"].params == {"scale": True, "whiten": True}
    assert all(run.embedding.shape == (300, 2) for run in found.runs)
    assert not hasattr(mine, "map_")  # a clone was fitted
    np.testing.assert_array_equal(
        found["PCA(scale=True, whiten=True)"].embedding,
        lowd.PCA(2, scale=True, whiten=True).fit_transform(X),
    )


def test_names_are_spelled_as_on_the_command_line(rolled):
    X, _ = rolled
    runs = lowd.compare(X, ["pca", "Laplacian-Eigenmaps"], {"PCA": {"scale": [True]}}).runs
    assert [run.name for run in runs] == ["PCA(scale=True)", "LaplacianEigenmaps"]


def test_one_method_needs_no_name_in_the_grid(rolled):
    found = quick(rolled[0], "KernelPCA", {"kernel": ["linear", "rbf"]})
    assert [run.name for run in found.runs] == [
        "KernelPCA(kernel='linear')",
        "KernelPCA(kernel='rbf')",
    ]
    own = quick(rolled[0], {"mine": lowd.PCA(2), "again": lowd.PCA(2)})
    assert [run.name for run in own.runs] == ["mine", "again"]
    twice = quick(rolled[0], ["PCA", "PCA"])
    assert [run.name for run in twice.runs] == ["PCA", "PCA #2"]


def test_mistakes_are_found_before_anything_runs(rolled, monkeypatch):
    monkeypatch.setattr(lowd.PCA, "fit_transform", lambda *_: pytest.fail("it ran"))
    for methods, options, words in (
        (["PCAA"], {}, "'PCAA'"),
        ([], {}, "empty"),
        ([3], {}, "neither a name nor a model"),
        (["PCA"], {"grid": {"PCA": {"scales": [1]}}}, "no parameter 'scales'"),
        (["PCA"], {"grid": {"PCA": {"scale": True}}}, "is one value"),
        (["PCA"], {"grid": {"PCA": {"scale": ["often"]}}}, "PCA"),
        (["PCA", "MDS"], {"grid": {"TSNE": {}}}, "not among methods"),
        (["PCA"], {"criteria": ["beauty"]}, "criteria"),
        (["PCA"], {"criteria": ["silhouette"]}, "criteria"),
        (["PCA"], {"n_neighbors": 299}, "n_neighbors=299"),
        (["PCA"], {"seeds": 0}, "seeds=0"),
        (["PCA"], {"subsamples": -1}, "subsamples=-1"),
        (["PCA"], {"labels": np.linspace(0, 1, 300)}, "no classes"),
        (["PCA"], {"truth": np.ones((7, 2))}, "truth has 7 rows"),
    ):
        with pytest.raises((ParameterError, DataError), match=words):
            lowd.compare(rolled[0], methods, **options)


# -- nothing is lost -------------------------------------------------------------------------------


def test_a_failing_method_costs_no_other(rolled):
    found = quick(rolled[0], ["PCA", Broken(2), lowd.Isomap(n_neighbors=400), "ClassicalMDS"])
    assert [run.error is None for run in found.runs] == [True, False, False, True]
    assert found["Broken"].error == "ArithmeticError: the axes fell off"
    assert "n_neighbors=400" in found["Isomap(n_neighbors=400)"].error
    assert set(found.ranking) == {"PCA", "ClassicalMDS"}
    assert "the axes fell off" in repr(found)
    frame = found.to_frame()
    assert list(frame.index[2:]) == ["Broken", "Isomap(n_neighbors=400)"]
    assert "fell off" in frame["error"].iloc[2]
    nothing = quick(rolled[0], [Broken(2)])
    with pytest.raises(DataError, match="no run"):
        _ = nothing.best


class Enough(Exception):  # noqa: N818 - the listener's own class
    pass


def test_cancel_keeps_what_is_finished(rolled):
    def stop(stage, done, _):
        if stage == "compare" and done == 2:
            raise Enough

    with progress.listening(stop):
        found = quick(rolled[0], ["PCA", "ClassicalMDS", "Isomap", "LTSA"])
    assert [run.name for run in found.runs] == ["PCA", "ClassicalMDS"]
    assert found.cancelled
    assert set(found.ranking) == {"PCA", "ClassicalMDS"}
    assert any("2 of 4 runs are missing" in note for note in found.notes)


def test_cancel_inside_a_fit_is_no_failure_of_the_method(rolled):
    def stop(stage, done, _):
        if stage not in ("compare", "evaluate") and finished[-1:] == [1]:
            raise Enough
        if stage == "compare":
            finished.append(done)

    finished = []
    with progress.listening(stop):
        found = quick(rolled[0], ["PCA", lowd.MDS(2), "ClassicalMDS"])
    assert [run.name for run in found.runs] == ["PCA"]
    assert found.cancelled


def test_ctrl_c_keeps_too_and_a_cancel_at_once_raises(rolled):
    found = quick(rolled[0], ["PCA", Interrupted(2), "ClassicalMDS"])
    assert [run.name for run in found.runs] == ["PCA"]
    assert found.cancelled
    with pytest.raises(KeyboardInterrupt):
        quick(rolled[0], [Interrupted(2), "PCA"])


def test_progress_counts_the_runs(rolled):
    reports = []
    with progress.listening(lambda *report: reports.append(report)):
        quick(rolled[0], ["PCA", "ClassicalMDS"])
    assert [report for report in reports if report[0] == "compare"] == [
        ("compare", 0, 2),
        ("compare", 1, 2),
        ("compare", 2, 2),
    ]


# -- one search for all ----------------------------------------------------------------------------

SHARED = [
    lowd.Isomap(n_neighbors=8),
    lowd.LTSA(n_neighbors=12),
    lowd.LocallyLinearEmbedding(n_neighbors=9),
    lowd.LaplacianEigenmaps(n_neighbors=10),
    lowd.TSNE(affinity="uniform", n_neighbors=9, max_iter=60),
]


def test_neighbors_are_searched_once_and_change_nothing(rolled, monkeypatch):
    X, _ = rolled
    searches, parts = [], []
    search, select = comparison.neighbors, comparison.SharedNeighbors.select

    def count_search(*given, **options):
        searches.append(given[1])
        return search(*given, **options)

    def record_part(self, model):
        parts.append(select(self, model))
        return parts[-1]

    monkeypatch.setattr(comparison, "neighbors", count_search)
    monkeypatch.setattr(comparison.SharedNeighbors, "select", record_part)
    found = quick(X, [*SHARED, "PCA"])
    assert searches == [13]  # of the longest list, and one more
    assert [None if one is None else one.n_neighbors for one in parts] == [8, 12, 9, 10, 9, None]
    for model, run in zip(SHARED, found.runs, strict=False):
        alone = clone(model).fit(X)
        np.testing.assert_allclose(run.embedding, alone.embedding_, atol=1e-8)
        assert run.model.n_neighbors == model.n_neighbors
        np.testing.assert_allclose(run.model.transform(X[:3] + 0.1), alone.transform(X[:3] + 0.1))


def test_ties_and_duplicates_are_not_shared():
    """Methods then need more than k neighbors, which a list of k does not have."""
    grid = lattice(12, 10) * [1.0, 1.3]
    duplicated = np.vstack([roll(100)[0], [[30.0, 10.0, 30.0]] * 2])  # in no list but each other's
    for X in (grid, duplicated):
        models = [lowd.Isomap(n_neighbors=8), lowd.Isomap(n_neighbors=12)]
        found = quick(X, models, n_neighbors=5)
        for model, run in zip(models, found.runs, strict=True):
            alone = clone(model).fit_transform(X)
            assert disparity(run.embedding, alone) < 1e-9


def test_tsne_takes_three_times_its_perplexity():
    shared = SharedParams(2, 0, "auto", None, "euclidean", None)
    count = comparison.count_neighbors
    assert count(lowd.TSNE(perplexity=20), 1000, shared) == 60
    assert count(lowd.TSNE(perplexity=20), 400, shared) is None  # there all are neighbors
    assert count(lowd.Isomap(n_neighbors=5, metric="cosine"), 1000, shared) is None
    assert count(lowd.Isomap(n_neighbors=None, radius=1.0), 1000, shared) is None
    assert count(lowd.PCA(2), 1000, shared) is None


# -- judging ---------------------------------------------------------------------------------------


def test_isomap_is_above_pca_by_the_true_distances():
    X, truth = roll(500)
    found = quick(X, ["PCA", lowd.Isomap(n_neighbors=7)], truth=truth)
    assert found.ranking == ["Isomap(n_neighbors=7)", "PCA"]
    assert found.best.evaluation.scale_normalized_stress < 0.05
    assert found["PCA"].evaluation.scale_normalized_stress > 0.5
    np.testing.assert_allclose(
        found["PCA"].evaluation.rnx_auc, lowd.evaluate(truth, found["PCA"].embedding).rnx_auc
    )


def judged(**values):
    return result.Run(values.pop("name"), {}, None, evaluation=SimpleNamespace(measures=values))


def test_mean_ranks_by_hand():
    runs = [
        judged(name="a", trustworthiness=0.9, stress1=0.5, bnx=-0.1),
        judged(name="b", trustworthiness=0.9, stress1=0.1, bnx=0.3),
        judged(name="c", trustworthiness=0.2, stress1=0.3, bnx=0.0),
        result.Run("failed", {}, None, error="x"),
    ]
    ranks = result.compute_mean_ranks(runs, ("trustworthiness", "stress1", "bnx"))
    # trustworthiness: 1.5 1.5 3; stress: 3 1 2; bnx, nearer 0: 2 3 1
    assert ranks == pytest.approx({"a": 6.5 / 3, "b": 5.5 / 3, "c": 2.0})


def test_the_same_seed_gives_the_same_result(rolled):
    methods = ["PCA", lowd.TSNE(init="random", max_iter=50), "GaussianRandomProjection"]
    once, again, other = (
        quick(rolled[0], methods, random_state=seed, subsamples=1) for seed in (3, 3, 4)
    )
    for a, b in zip(once.runs, again.runs, strict=True):
        np.testing.assert_array_equal(a.embedding, b.embedding)
        assert a.stability == b.stability
    assert once.scores == again.scores
    third = "GaussianRandomProjection"
    assert (once[third].embedding != other[third].embedding).any()


def test_stability_separates_noise_from_structure(rolled):
    X, _ = rolled
    found = lowd.compare(X, ["PCA", "GaussianRandomProjection"], seeds=3, subsamples=2)
    pca, drawn = (run.stability for run in found.runs)
    assert pca.seeds is None  # nothing is drawn
    assert pca.subsamples < 0.01
    assert pca.verdict.startswith("stable")
    assert drawn.seeds > 0.1
    Y = lowd.PCA(2).fit_transform(X)
    order = Rows(Y).order()
    rows = [order[lowd.random.subset(0, f"subsample {i}", 300, 240)] for i in (0, 1)]
    expected = [procrustes(Y[part], lowd.PCA(2).fit_transform(X[part]))[2] for part in rows]
    assert pca.subsamples == pytest.approx(np.mean(expected))


def test_seeds_that_change_nothing_are_no_sign_of_stability(rolled):
    start = {"perplexity": 20, "max_iter": 100, "random_state": 0}
    methods = {"pca": lowd.TSNE(**start), "random": lowd.TSNE(init="random", **start)}
    found = lowd.compare(rolled[0][:150], methods, seeds=2, subsamples=1)
    assert found["pca"].stability.seeds is None
    assert found["random"].stability.seeds > 0.01
    assert found["pca"].stability.subsamples > 0.01
    assert "stability  seeds" in repr(found)


def test_the_verdict_says_what_a_disparity_means():
    words = [result.Stability(None, value).verdict for value in (None, 0.01, 0.2, 0.5)]
    assert [text.split(":")[0] for text in words] == [
        *("not measured", "stable", "similar", "unstable")
    ]


def test_disparity_is_that_of_scipy():
    rng = np.random.default_rng(0)
    A, B = rng.normal(size=(20, 2)), rng.normal(size=(20, 2))
    assert disparity(A, B) == pytest.approx(procrustes(A, B)[2])
    assert disparity(A, B[:, :1]) == pytest.approx(procrustes(A, B * [1, 0])[2])
    aligned = align(3 * A @ [[0.8, -0.6], [0.6, 0.8]] * [1, -1] + 5, A)
    np.testing.assert_allclose(aligned, A)
    with pytest.raises(DataError, match="coincide"):
        disparity(A, np.zeros((20, 2)))


def test_distances_are_not_taken_for_rows(rolled):
    X = rolled[0][:120]
    D = np.linalg.norm(X[:, None] - X, axis=2)
    found = lowd.compare(D, ["PCA", "ClassicalMDS", "Isomap"], metric="precomputed", subsamples=1)
    assert "takes rows" in found["PCA"].error
    assert found["ClassicalMDS"].error is None
    assert found["Isomap"].error is None
    Y = found["ClassicalMDS"].embedding
    part = Rows(Y).order()[lowd.random.subset(0, "subsample 0", 120, 96)]
    expected = disparity(Y[part], lowd.ClassicalMDS(2).fit(X[part]).embedding_)
    assert found["ClassicalMDS"].stability.subsamples == pytest.approx(expected)
    rows = quick(X, ["PCA", lowd.ClassicalMDS(metric="precomputed")])
    assert "takes distances" in rows.runs[1].error


# -- tables and plots ------------------------------------------------------------------------------


def test_tables_and_files(rolled):
    found = quick(rolled[0], {"<b>bold": lowd.PCA(2), "kernel": lowd.KernelPCA(2)})
    kept = json.loads(json.dumps(found.to_dict()))
    assert kept["ranking"] == found.ranking
    assert kept["runs"][0]["measures"]["trustworthiness"]["value"] == pytest.approx(
        found["<b>bold"].evaluation.trustworthiness
    )
    assert "&lt;b&gt;bold" in found._repr_html_()
    assert "<b>" not in found._repr_html_()
    frame = found.to_frame()
    assert list(frame.index) == found.ranking
    assert frame.loc["kernel", "rnx_auc"] == pytest.approx(found["kernel"].evaluation.rnx_auc)
    for criterion in found.criteria:
        assert criterion in found.notes[0]
    with pytest.raises(ParameterError, match="no run is named"):
        found["nobody"]


def test_warnings_stay_with_their_run(recwarn):
    rng = np.random.default_rng(0)
    separated = rng.normal(size=(60, 3)) + 100 * np.repeat([0, 1], 30)[:, None]
    found = quick(separated, ["PCA", "Isomap"])
    assert any("components" in text for text in found["Isomap"].warnings)
    assert not found["PCA"].warnings
    assert not recwarn.list


def test_the_plot_has_a_panel_for_each_embedding(rolled):
    pytest.importorskip("matplotlib")
    found = quick(rolled[0], ["PCA", "ClassicalMDS", Broken(2)], labels=np.arange(300) % 3)
    axes = found.plot()
    assert [ax.get_title() for ax in axes] == found.ranking
    assert len(axes[-1].get_legend().get_texts()) == 3
