"""The map's contract: row by row, pure, consistent with the fit, finite far from the data."""

from __future__ import annotations

import copy
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import joblib
import numpy as np
import pandas as pd
import pytest
from scipy.sparse import issparse
from scipy.spatial.distance import cdist

import lowd
from case_data import input_of, rows_like
from cases import (
    BY_NAME,
    CASES,
    FIRST,
    FIRST_LARGE,
    LARGE,
    ROUNDING,
    attempt,
    close,
    each,
    fingerprint,
    fit_once,
    fitted,
    invertible,
    same_bits,
    stack,
    take,
)

ALL = [*CASES, *LARGE]
FIRST_OF_ALL = [*FIRST, *FIRST_LARGE]
# A point far from all others may have no neighbor among them, of which there is a warning.
pytestmark = pytest.mark.filterwarnings("ignore::lowd.errors.DisconnectedGraphWarning")


def n_rows(Q):
    return Q.shape[0] if hasattr(Q, "shape") else len(Q)


@each(ALL, float32=FIRST_OF_ALL)
def test_row_by_row(case, dtype):
    """Coordinates do not depend on the batch, to the bit: its order, its parts, its size."""
    X, Q = case.data(dtype)
    model, n = fitted(case, dtype), n_rows(Q)
    whole = model.transform(Q)
    assert whole.dtype == dtype
    for order in (np.arange(n)[::-1], np.random.default_rng(0).permutation(n)):
        same_bits(model.transform(take(Q, order)), whole[order])
    for part in (np.arange(9), np.arange(9, n), *np.arange(n)[::4, None]):
        same_bits(model.transform(take(Q, part)), whole[part])
    # Of many new rows the neighbors are found by another search than of few.
    if case.source != "words":
        same_bits(model.transform(stack(Q, take(X, np.arange(n_rows(X)) % 160)))[:n], whole)


@each(ALL, float32=FIRST_OF_ALL)
def test_training_rows_return_to_their_embedding(case, dtype):
    X, _ = case.data(dtype)
    model, _, Y = fit_once(case, dtype)
    assert Y.dtype == dtype
    # Residuals of Krylov iteration are as large as rounding, or ten times that.
    factor = 10 if case.is_large else 1
    close(model.transform(X), Y, dtype, factor)
    if hasattr(model, "embedding_"):
        same_bits(model.embedding_, Y)
    close(model.transform(take(X, [31, 2, 2])), Y[[31, 2, 2]], dtype, factor)


def _content(X):
    """Changes with any entry; a sparse matrix also keeps notes on itself, such as its order."""
    return joblib.hash((X.shape, X.data, X.indices, X.indptr) if issparse(X) else X)


def _spoil(X):
    """Overwrite what was given to a fit."""
    if isinstance(X, list):
        X[:] = ["spoiled"] * len(X)
    elif isinstance(X, pd.DataFrame):
        X.loc[:, "length"] = 0.0
    else:
        X = X.data if issparse(X) else X
        X.setflags(write=True)
        X[...] = 0


@each(ALL)
def test_pure(case):
    """Neither fit nor the map change their input, and nobody changes the model from outside."""
    X, Q = case.data()
    model, given, Y = fit_once(case)
    before, new = fingerprint(model), _content(Q)
    assert _content(given) == _content(X)
    first = model.transform(Q)
    expected = first.copy()
    inputs = given, Y, first
    kept = copy.deepcopy(Y)
    _spoil(given)
    for result in inputs[1:]:
        result[...] = np.nan
    assert fingerprint(model) == before
    same_bits(model.transform(Q), expected)
    assert _content(Q) == new
    for name, learned in vars(model).items():
        if name.endswith("_") and isinstance(learned, np.ndarray) and name != "feature_names_in_":
            assert not learned.flags.writeable, name
    Y[...] = kept  # other tests compare it


def _far(case, Q, size):
    if case.source == "words":
        return [word * int(np.log10(size)) for word in Q]
    if case.source == "table":
        return Q.assign(length=size)
    return np.zeros_like(Q) if case.source == "kernel" else (Q * size).astype(Q.dtype)


@each(ALL, float32=FIRST_OF_ALL)
def test_far_points_are_finite_and_do_not_disturb_near_ones(case, dtype):
    _, Q = case.data(dtype)
    model, n = fitted(case, dtype), n_rows(Q)
    near = model.transform(Q)
    for size in (1e3, 1e9, 1e30):
        far = _far(case, Q, size)
        Y, refusal = attempt(model.transform, stack(Q, far))
        if refusal:
            assert size > 1e3
            assert int(re.search(r"row (\d+)", refusal)[1]) >= n
        else:
            assert np.isfinite(Y).all()
            assert Y.dtype == dtype
            same_bits(Y[:n], near)


@each([*FIRST_OF_ALL, BY_NAME["Eigenmaps-radius-blocks"]])
def test_far_points_are_where_float64_puts_them(case):
    """Far points have the same coordinates in float32 and float64, up to float32's largest."""
    _, Q = case.data(np.float32)
    model, limit = fitted(case, np.float32), np.finfo(np.float32).max
    for size in (1e9, 1e18):
        far = Q * np.float32(size)
        expected = np.clip(model.transform(far.astype(np.float64)), -limit, limit)
        close(model.transform(far), expected, np.float32)


def _beside(case, X, step):
    """The rows X moved by a share of their distances to the next ones, as input of the case."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    direction = np.random.default_rng(0).normal(size=X.shape)
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    moved = X + step * D.min(1)[:, None] * direction
    return input_of(case.source, moved, X, np.float64), np.linalg.norm(moved - X, axis=1)


def _stretches(X, Y):
    """The Lipschitz constant of the embedding Y at each row: how far others go, by distance."""
    D = cdist(X, X)
    np.fill_diagonal(D, np.inf)
    return (cdist(Y, Y) / D).max(1)


@each([case for case in CASES if case.source not in ("counts", "words")])
def test_no_jump_beside_a_training_point(case):
    """A training point moved a little has nearly its coordinates, as far as others explain it.

    Along other directions than those of its neighbors it may move more: at most ten times here,
    where kernel PCA has 59 components, and a row that is no landmark minimizes its own stress.
    """
    X, model = rows_like(60, seed=1), fitted(case)
    Y = model.transform(case.data()[0])
    rounding = ROUNDING[np.dtype(np.float64)] * np.abs(Y).max()
    # At 1e-3 a row crosses the radius of another, where shortest paths change on purpose.
    for step in (1e-9, 1e-6) if case.name == "Isomap-radius" else (1e-9, 1e-6, 1e-3):
        Q, lengths = _beside(case, X, step)
        found = model.transform(Q)
        gaps = np.linalg.norm(found - Y, axis=1)
        assert (gaps <= 10 * _stretches(X, Y) * lengths + rounding).all(), step
        alone = np.vstack([model.transform(take(Q, [i])) for i in range(5)])
        same_bits(alone, found[:5])


@each([case for case in FIRST if not invertible(case)])
def test_maps_without_an_inverse_say_so(case):
    with pytest.raises(lowd.errors.UnsupportedError, match="no inverse"):
        fitted(case).inverse_transform(np.zeros((2, 2)))


@each([case for case in ALL if invertible(case)], float32=FIRST)
def test_inverse_row_by_row(case, dtype):
    _, Q = case.data(dtype)
    model = fitted(case, dtype)
    Y = model.transform(Q)
    before, given = fingerprint(model), Y.copy()
    back = model.inverse_transform(Y)
    assert back.shape == Q.shape
    assert back.dtype == dtype
    close(np.vstack([model.inverse_transform(y[None]) for y in Y[::3]]), back[::3], dtype)
    assert fingerprint(model) == before
    same_bits(Y, given)


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


@each(ALL)
def test_saved_and_loaded(case, tmp_path):
    model, Q = fitted(case), case.data()[1]
    if any(map(callable, case.params.values())):
        with pytest.raises(lowd.errors.UnsupportedError, match="pickle the model"):
            _by_store(model, tmp_path / "stored")
        assert not (tmp_path / "stored").exists()
        _same_model(_by_pickle(model, tmp_path / "model"), model, Q)
    else:
        _same_model(_by_store(model, tmp_path / "model"), model, Q)


@each(FIRST)
def test_copies_keep_every_bit(case, tmp_path):
    model, Q = fitted(case), case.data()[1]
    for trip in (_by_pickle, _by_joblib, _by_copy):
        _same_model(trip(model, tmp_path / "model"), model, Q)


def _same_model(twin, model, Q):
    assert type(twin) is type(model)
    same_bits(twin.transform(Q), model.transform(Q))
    learned = {name for name in vars(model) if name.endswith("_")}
    assert {name for name in vars(twin) if name.endswith("_")} == learned
    Y = model.transform(Q)
    back, refusal = attempt(model.inverse_transform, Y)
    if not refusal:
        same_bits(twin.inverse_transform(Y), back)
    assert joblib.hash(twin.get_params()) == joblib.hash(model.get_params())


@pytest.mark.usefixtures("many_cpus")
@each(FIRST_OF_ALL)
def test_eight_threads_transform_at_once(case):
    Q = case.data()[1]
    model = copy.deepcopy(fitted(case)).set_params(n_jobs=2)
    expected = model.transform(Q)
    with ThreadPoolExecutor(8) as pool:
        for Y in pool.map(lambda _: model.transform(Q), range(16)):
            same_bits(Y, expected)
