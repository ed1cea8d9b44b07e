"""Tools that evaluate an embedding, behind `fit_transform`: they return an array of measures.

The first measure is trustworthiness, wherever there are several.
"""

from __future__ import annotations

from typing import Any

import numpy as np

import data

K = 15


def embed(X: Any) -> Any:
    """The embedding that is evaluated: two principal components of images, or two columns."""
    if X.shape[1] == 784:
        return np.ascontiguousarray(data.load("components", len(X))[:, :2])
    return np.ascontiguousarray(X[:, :2])


class LowdTrustworthiness:
    def fit_transform(self, X: Any) -> Any:
        from lowd.evidence.quality import trustworthiness

        return np.array([trustworthiness(X, embed(X), n_neighbors=K)])


class SklearnTrustworthiness:
    def fit_transform(self, X: Any) -> Any:
        from sklearn.manifold import trustworthiness

        return np.array([trustworthiness(X, embed(X), n_neighbors=K)])


class LowdEvaluate:
    def fit_transform(self, X: Any) -> Any:
        import lowd

        return np.array(list(lowd.evaluate(X, embed(X), n_neighbors=K).measures.values()))


class Zadu:
    """The measures of ZADU that `lowd.evaluate` has too."""

    MEASURES = ("tnc", "mrre", "lcmc", "stress", "srho", "pr")

    def fit_transform(self, X: Any) -> Any:
        from zadu import zadu

        local = {"params": {"k": K}}
        asked = [
            {"id": m, **(local if m in ("tnc", "mrre", "lcmc") else {"params": {}})}
            for m in self.MEASURES
        ]
        found = zadu.ZADU(asked, X).measure(embed(X))
        return np.array([value for part in found for value in part.values()])
