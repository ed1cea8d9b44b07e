"""What methods on neighbor graphs have besides: ready neighbors, for fitting and for new rows."""

from __future__ import annotations

from typing import Any, Self

from scipy.sparse import csr_array

from ..backends import resolve
from ..errors import ParameterError, UnsupportedError
from ..graph.given import check_lists_toward, merge_listed_duplicates, select_listed
from .estimator import Reducer, cast_clipped


class GraphMethod(Reducer):
    """A method that starts from the neighbors of each row, which may be given."""

    def fit(self, X: Any, y: Any = None, *, neighbors: Any = None) -> Self:  # noqa: ARG002
        """Learn the map; `neighbors` is a ready graph of these rows (see `lowd.neighbors`)."""
        self._learn(X, neighbors=neighbors)
        return self

    def fit_transform(self, X: Any, y: Any = None, *, neighbors: Any = None) -> Any:  # noqa: ARG002
        """Learn the map and return the training rows' places."""
        return self._learn(X, embed=True, neighbors=neighbors)

    def transform(self, X: Any, *, neighbors: Any = None, return_confidence: bool = False) -> Any:
        """Places of new rows; `neighbors` are their ready (indices, distances) of training rows."""
        if neighbors is None or not hasattr(self, "map_"):
            return super().transform(X, return_confidence=return_confidence)
        if return_confidence:
            self._check_support()
        if not hasattr(self.map_, "from_neighbors"):
            raise ParameterError(f"neighbors= would be ignored: map={self.map!r} needs none.")
        ops = resolve(self.backend, self.n_jobs)
        with self._watched():
            data = self._checked(X, ops)
            lists = check_lists_toward(neighbors, data.shape[0], self.n_samples_)
            near = self._of_points(select_listed(lists, None, float("inf")))
            Y = cast_clipped(self.map_.from_neighbors(data.items, near, ops), data.dtype)
            return (Y, self._confidence(data, ops)) if return_confidence else Y

    def _of_points(self, near: csr_array) -> csr_array:
        """From rows to the distinct points that the map knows."""
        if hasattr(self, "landmarks_"):
            raise UnsupportedError(
                "neighbors= of new rows may be any training rows, but with landmarks the map knows "
                "no others; leave it out, or fit without landmarks."
            )
        place = getattr(self, "distinct_", None)
        return near if place is None else merge_listed_duplicates(near, place)
