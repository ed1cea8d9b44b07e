"""Properties of affinities for any distances: probabilities, entropies and symmetry."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as numbers

import lowd
from lowd.spaces import Neighbors, conditional_probabilities, joint_probabilities

many = settings(max_examples=60, deadline=None)
# Squared distances of one point to its neighbors, of any length and unit; ties in some.
LISTS = st.tuples(
    st.lists(st.integers(1, 1000), min_size=2, max_size=12), st.sampled_from([1e-9, 1.0, 1e9])
).map(lambda drawn: np.sort(np.array(drawn[0], float)) * drawn[1])


def near_of(lists):
    """Lists of points at squared distances."""
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    return Neighbors(indptr, np.zeros(indptr[-1], np.int32), np.sqrt(np.concatenate(lists)))


def perplexities(p, indptr):
    """exp(entropy) of each row."""
    logs = p * np.log(p, out=np.zeros_like(p), where=p > 0)
    return np.exp(-np.add.reduceat(logs, indptr[:-1]))


@many
@given(st.lists(LISTS, min_size=1, max_size=6), st.floats(0.05, 0.95))
def test_conditional_probabilities_sum_to_one_and_have_their_perplexity(lists, share):
    counts = np.array([len(one) for one in lists])
    indptr = np.concatenate([[0], np.cumsum(counts)])
    target = 1 + share * (counts.min() - 1)
    p, beta = conditional_probabilities(near_of(lists), target, np.concatenate(lists))
    assert (p >= 0).all()
    assert (beta >= 0).all()
    np.testing.assert_allclose(np.add.reduceat(p, indptr[:-1]), 1, rtol=1e-12)
    # As many as are at the least distance count alike, however narrow the kernel.
    ties = np.array([(one == one[0]).sum() for one in lists])
    np.testing.assert_allclose(perplexities(p, indptr), np.maximum(target, ties), rtol=1e-6)


@many
@example([np.array([2.2, 2.2, 2.9, 2.9, 3, 3.1, 3.3, 3.6, 3.7, 4.3]) * 1e-8])
@given(st.lists(LISTS, min_size=1, max_size=6))
def test_nearer_neighbors_are_more_probable(lists):
    indptr = np.concatenate([[0], np.cumsum([len(one) for one in lists])])
    p, _ = conditional_probabilities(near_of(lists), 1.5, np.concatenate(lists))
    for begin, end in itertools.pairwise(indptr):
        assert (np.diff(p[begin:end]) <= 1e-15).all()


@many
@given(
    st.integers(2, 9).flatmap(
        lambda n: numbers.arrays(np.float64, (n, n), elements=st.integers(0, 4).map(float))
    ),
)
def test_joint_probabilities_are_symmetric_and_sum_to_one(weights):
    n = len(weights)
    np.fill_diagonal(weights, 0)
    weights[np.arange(n), np.roll(np.arange(n), 1)] += 1  # every row has a neighbor
    rows = weights / weights.sum(1, keepdims=True)
    owners, indices = np.nonzero(rows)
    near = Neighbors.of_entries(n, owners, indices, np.zeros(len(owners)))
    P = joint_probabilities(near, rows[near.owners, near.indices]).toarray()
    np.testing.assert_array_equal(P, P.T)
    np.testing.assert_allclose(P, (rows + rows.T) / (2 * n), rtol=1e-14)
    assert np.isclose(P.sum(), 1, rtol=1e-12)


@settings(max_examples=30, deadline=None)
@given(
    numbers.arrays(np.float64, (12, 2), elements=st.floats(-100, 100, width=16), unique=True),
    st.floats(1.5, 10),
)
def test_affinities_of_t_sne_are_joint_probabilities(X, perplexity):
    model = lowd.TSNE(1, perplexity=perplexity, max_iter=1).fit(X)
    P = model.affinity_.toarray()
    np.testing.assert_array_equal(P, P.T)
    assert (P >= 0).all()
    assert (np.diagonal(P) == 0).all()
    assert np.isclose(P.sum(), 1, rtol=1e-12)
