"""Majorization, whatever is proposed; and what does not depend on how rows are written."""

from __future__ import annotations

import numpy as np

from lowd.methods.mds import AndersonMixing, Step, majorize


class Parabola:
    """Half of Y is the best next iterate of a longer step; the value is |Y|²."""

    def step(self, Y):
        value = float((Y**2).sum())
        return Step(value, 1.0, 1.0, Y * (1 - 0.5 / 1.8))


def test_mixing_that_would_raise_the_value_is_not_taken(monkeypatch):
    """Whatever is proposed, the path only goes down."""
    monkeypatch.setattr(AndersonMixing, "extrapolate", lambda self, Y, reached: -10 * reached)  # noqa: ARG005
    path = majorize(Parabola(), lambda BY: BY, np.ones(1), np.array([[4.0]]), 10, 1e-3)
    assert (np.diff(path.history) < 0).all()
    np.testing.assert_allclose(path.Y, 4 / 2**10)
    assert not path.converged
