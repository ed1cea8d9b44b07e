"""The map's contract: row by row, pure, consistent with the fit, finite far from the data."""

from __future__ import annotations

import copy
import pickle
import re

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.spatial.distance import cdist
from sklearn.base import clone

import lowd
from case_data import input_of, rows_like
from cases import (
    ROUNDING,
    attempt,
    cases,
    close,
    fingerprint,
    first_of_method,
    fit,
    fit_transform,
    fitted,
    invertible,
    same_bits,
    take,
)

# A point far from all others may have no neighbor among them, of which there is a warning.
isolated = pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")


@cases(other_backends=first_of_method)
def test_row_by_row(case, backend, dtype):
    """Coordinates do not depend on the batch: native to the bit, reference to rounding."""
    _, Q = case.data(dtype)
    model = fitted(case, backend, dtype)
    whole = model.transform(Q)
    same = same_bits if backend == "native" else lambda a, b: close(a, b, dtype)
    for order in (np.arange(len(Q))[::-1], np.random.default_rng(0).permutation(len(Q))):
        same(model.transform(take(Q, order)), whole[order])
    for parts in ([9, 14], [1] * len(Q)):
        cuts = np.split(np.arange(len(Q)), np.cumsum(parts)[:-1])
        same(np.vstack([model.transform(take(Q, part)) for part in cuts]), whole)


def test_training_points_map_to_their_embedding(case, backend, dtype):
    X, _ = case.data(dtype)
    model = case.model(backend)
    Y = fit_transform(model, X)
    close(model.transform(X), Y, dtype)
    if hasattr(model, "embedding_"):
        same_bits(model.embedding_, Y)
    close(model.transform(take(X, [31, 2, 2])), Y[[31, 2, 2]], dtype)


def _beside(case, X, step, dtype):
    """The rows X moved by a share of their distances to the next ones, as input of the case."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    direction = np.random.default_rng(0).normal(size=X.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    moved = X + step * D.min(1)[:, None] * direction
    return input_of(case.source, moved, X, dtype), np.linalg.norm(moved - X, axis=1)


def _stretches(X, Y):
    """The Lipschitz constant of the embedding Y at each row: how far others go, by distance."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    return (cdist(Y, Y) / D).max(1)


def _is_continuous(case):
    """Counts and words cannot be moved a little."""
    return case.source not in ("counts", "words")


@cases(_is_continuous, float32=first_of_method, other_backends=first_of_method)
def test_no_jump_beside_a_training_point(case, backend, dtype):
    """A training point moved a little has nearly its coordinates, as far as others explain it.

    Along other directions than those of its neighbors it may move more: at most ten times here,
    where kernel PCA has 59 components, and a row that is no landmark minimizes its own stress.
    """
    X, model = rows_like(60, seed=1, dtype=dtype).astype(np.float64), fitted(case, backend, dtype)
    Y = np.asarray(model.transform(case.data(dtype)[0]), np.float64)
    rounding = ROUNDING[np.dtype(dtype)] * np.abs(Y).max()
    # At 1e-3 a row crosses the radius of another, where shortest paths change on purpose.
    steps = (1e-9, 1e-6) if case.name == "Isomap-radius" else (1e-9, 1e-6, 1e-3)
    for step in steps if dtype == np.float64 else (1e-3,):
        Q, lengths = _beside(case, X, step, dtype)
        gaps = np.linalg.norm(model.transform(Q) - Y, axis=1)
        assert (gaps <= 10 * _stretches(X, Y) * lengths + rounding).all(), step
        if backend == "native":
            alone = np.vstack([model.transform(take(Q, [i])) for i in range(5)])
            same_bits(alone, model.transform(Q)[:5])


@cases(other_backends=first_of_method)
def test_learned_arrays_are_read_only_and_results_are_not(case, backend):
    X, Q = case.data()
    model = case.model(backend)
    Y = fit_transform(model, X)
    before = fingerprint(model)
    Y[...] = np.nan
    model.transform(Q)[...] = np.nan
    assert fingerprint(model) == before
    for name, learned in vars(model).items():
        if name.endswith("_") and isinstance(learned, np.ndarray) and name != "feature_names_in_":
            assert not learned.flags.writeable, name


def test_pure(case, backend, dtype):
    """Neither fit nor the maps change their input, and the maps do not change the model."""
    X, Q = case.data(dtype)
    inputs = joblib.hash((X, Q))
    model = fit(case.model(backend), X)
    before = fingerprint(model)
    Y = model.transform(Q)
    same_bits(model.transform(Q), Y)
    if invertible(case):
        model.inverse_transform(Y)
    assert fingerprint(model) == before
    assert joblib.hash((X, Q)) == inputs


def test_the_model_shares_no_memory_with_its_input(case, backend, dtype):
    """Overwriting X after the fit does not change the model."""
    X, Q = (copy.deepcopy(A) for A in case.data(dtype))
    if isinstance(X, np.ndarray):
        X.setflags(write=True)
    model = fit(case.model(backend), X)
    before, Y = fingerprint(model), model.transform(Q)
    if isinstance(X, list):
        X[:] = ["spoiled"] * len(X)
    elif isinstance(X, pd.DataFrame):
        X.loc[:, "length"] = 0.0
    else:
        X[...] = 0
    assert fingerprint(model) == before
    same_bits(model.transform(Q), Y)


@isolated
def test_far_points_are_finite(case, backend, dtype):
    """Or refused by row, where not even their type could hold the coordinates."""
    _, Q = case.data(dtype)
    model = fitted(case, backend, dtype)
    for size in (1e3, 1e9, 1e30):
        far = _far(case, Q, size)
        Y, refusal = attempt(model.transform, far)
        if refusal:
            assert size > 1e3
            assert re.search(r"row \d+", refusal)
        else:
            assert np.isfinite(Y).all()
            assert Y.dtype == dtype


@isolated
@cases(lambda case: case.source == "rows")
def test_far_points_are_where_float64_puts_them(case, backend):
    """Far points have the same coordinates in float32 and float64, up to float32's largest."""
    _, Q = case.data(np.float32)
    model = fitted(case, backend, np.float32)
    limit = np.finfo(np.float32).max
    for size in (1e9, 1e18):
        far = Q * np.float32(size)
        expected = np.clip(model.transform(far.astype(np.float64)), -limit, limit)
        close(model.transform(far), expected, np.float32)


def _far(case, Q, size):
    if case.source == "words":
        return [word * int(np.log10(size)) for word in Q]
    if case.source == "table":
        return Q.assign(length=size)
    return np.zeros_like(Q) if case.source == "kernel" else (Q * size).astype(Q.dtype)


@isolated
@cases(lambda case: case.source == "rows")
def test_far_points_do_not_disturb_near_ones(case, backend, dtype):
    _, Q = case.data(dtype)
    model = fitted(case, backend, dtype)
    mixed = np.vstack([Q, Q[:1] * dtype(1e18)])
    same = same_bits if backend == "native" else lambda a, b: close(a, b, dtype)
    Y, refusal = attempt(model.transform, mixed)
    if refusal:
        assert f"row {len(Q)}" in refusal
    else:
        same(Y[:-1], model.transform(Q))


@cases(invertible)
def test_inverse_row_by_row(case, backend, dtype):
    _, Q = case.data(dtype)
    model = fitted(case, backend, dtype)
    Y = model.transform(Q)
    back = model.inverse_transform(Y)
    assert back.shape == Q.shape
    assert back.dtype == dtype
    close(np.vstack([model.inverse_transform(y[None]) for y in Y]), back, dtype)


@cases(lambda case: not invertible(case), other_backends=first_of_method)
def test_maps_without_an_inverse_say_so(case, backend):
    model = fitted(case, backend)
    with pytest.raises(lowd.errors.UnsupportedError, match="no inverse"):
        model.inverse_transform(model.transform(case.data()[1]))


def _by_pickle(model, path):
    path.write_bytes(pickle.dumps(model))
    return pickle.loads(path.read_bytes())


def _by_joblib(model, path):
    joblib.dump(model, path)
    return joblib.load(path)


def _by_store(model, path):
    lowd.save(model, path)
    return lowd.load(path)


def _by_copy(model, path):  # noqa: ARG001 - the others' signature
    return copy.deepcopy(model)


@cases(other_backends=first_of_method)
def test_round_trips_keep_every_bit(case, backend, dtype, tmp_path):
    model = fitted(case, backend, dtype)
    for trip in (_by_pickle, _by_joblib, _by_store, _by_copy):
        if trip is _by_store and any(map(callable, case.params.values())):
            with pytest.raises(lowd.errors.UnsupportedError, match="pickle the model"):
                trip(model, tmp_path / "stored")
            assert not (tmp_path / "stored").exists()
        else:
            _same_model(trip(model, tmp_path / "model"), model, case.data(dtype)[1])


def _same_model(twin, model, Q):
    assert type(twin) is type(model)
    same_bits(twin.transform(Q), model.transform(Q))
    learned = {name for name in vars(model) if name.endswith("_")}
    assert {name for name in vars(twin) if name.endswith("_")} == learned
    if hasattr(model, "inverse_"):
        Y = model.transform(Q)
        same_bits(twin.inverse_transform(Y), model.inverse_transform(Y))
    assert joblib.hash(twin.get_params()) == joblib.hash(model.get_params())


@cases(other_backends=first_of_method)
def test_clone_and_refit_give_the_same_bits(case, backend, dtype):
    X, Q = case.data(dtype)
    model = fit(case.model(backend), X)
    twin = clone(model)
    assert not hasattr(twin, "map_")
    same_bits(fit(twin, X).transform(Q), model.transform(Q))
    same_bits(fit(model, X).transform(Q), twin.transform(Q))


@cases(other_backends=first_of_method)
def test_refit_forgets_the_earlier_fit(case, backend):
    """Nothing learned from the first data shows after the second fit."""
    X, Q = case.data()
    other = take(X, range(10, 60))
    if case.source in ("distances", "kernel"):
        other, Q = other[:, 10:], Q[:, 10:]
    fresh = fit(case.model(backend), other)
    again = fit(fit(case.model(backend), X), other)
    assert vars(again).keys() == vars(fresh).keys()
    same_bits(again.transform(Q), fresh.transform(Q))


def test_nothing_stale_is_left_after_a_change_of_mind():
    X = rows_like(40, 5)
    named = pd.DataFrame(X, columns=list("abcde"))
    model = lowd.PCA(2).partial_fit(named)
    model.fit(X)
    assert not {"moments_", "feature_names_in_"} & set(vars(model))
    model = lowd.KernelPCA(2, kernel="rbf", n_landmarks=20, fit_inverse_transform=True).fit(X)
    assert {"inverse_", "landmarks_", "reconstruction_error_"} <= set(vars(model))
    model.set_params(n_landmarks=None, fit_inverse_transform=False).fit(X)
    assert not {"inverse_", "landmarks_", "reconstruction_error_"} & set(vars(model))


def test_backends_agree(case, dtype):
    """Every backend gives the reference's coordinates of new points, signs included."""
    X, Q = case.data(dtype)
    expected = fit(case.model("reference"), X)
    model = fit(case.model("auto"), X)
    close(model.transform(Q), expected.transform(Q), dtype)
    for name in ("eigenvalues_", "explained_variance_", "components_", "mean_"):
        if hasattr(expected, name) and isinstance(getattr(expected, name), np.ndarray):
            close(getattr(model, name), getattr(expected, name), dtype)
