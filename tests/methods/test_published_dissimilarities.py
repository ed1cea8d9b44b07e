"""What scaling makes of dissimilarities that people published."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.spatial.distance import pdist

import lowd
from dissimilarities import given, shared


@pytest.mark.parametrize(("name", "most"), [("eurodist", 0.0724), ("UScitiesD", 0.0017)])
def test_cities(name, most):
    D, _ = shared(name)
    model = given("MDS", D)
    assert model.stress1_ < most
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", lowd.errors.LowdWarning)
        classical = lowd.ClassicalMDS(2, metric="precomputed").fit_transform(D)
    d, delta = pdist(classical), D[np.triu_indices(len(D), 1)]
    assert model.stress1_ < np.sqrt(((delta - d) ** 2).sum() / (d**2).sum())
    assert given("NonMetricMDS", D).stress1_ < model.stress1_


@pytest.mark.parametrize("name", ["guerry", "stardist"])
def test_flat_distances_are_recovered(name):
    """Points of a plane, whose distances were rounded when they were published."""
    D, _ = shared(name)
    assert given("MDS", D).stress1_ < 3e-4


def test_colors_are_a_circle_in_the_order_of_wavelength():
    """Ekman (1954): non-metric scaling of similarities bends the spectrum to a circle."""
    D, names = shared("ekman")
    wavelengths = names.astype(int)
    model = given("NonMetricMDS", D)
    assert model.stress1_ < 0.03
    Y = model.embedding_ - model.embedding_.mean(0)
    radius = np.linalg.norm(Y, axis=1)
    assert radius.std() < 0.1 * radius.mean()
    angles = np.unwrap(np.arctan2(*Y[np.argsort(wavelengths)].T))
    assert (np.diff(angles) > 0).all() or (np.diff(angles) < 0).all()
    assert np.ptp(angles) < 2 * np.pi


def test_morse_code():
    """Rothkopf (1957): one axis is the length of the code."""
    D, names = shared("morse")
    model = given("NonMetricMDS", D)
    assert model.stress1_ < 0.19
    lengths = [len(code) for code in names]
    correlation = np.linalg.lstsq(
        np.column_stack([model.embedding_, np.ones(len(D))]), np.array(lengths, float), rcond=None
    )[1] / np.sum((lengths - np.mean(lengths)) ** 2)
    assert 1 - correlation[0] > 0.8
