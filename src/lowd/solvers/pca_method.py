"""What PCA needs besides its axes: weights, batches, rows in blocks and its standardization."""

from __future__ import annotations

from typing import Self

from ..confidence.support import SupportMetric
from ..core.estimator import reducer
from ..core.fit import Context, Fit
from ..core.memory import Sizes
from ..errors import UnsupportedError
from ..input.arguments import Input, Output, Weights
from ..input.blocks import RowBlocks
from .principal_components import Batch, Standardization
from .probabilistic_pca import ProbabilisticPCA
from .streamed_pca import fit_blocks, plan_streamed


@reducer
class PCAMethod(ProbabilisticPCA):
    """Base of PCA: weighted rows in memory, in batches or in blocks."""

    takes_batches = True

    def fit(self, X: Input, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Learn the axes; `sample_weight` counts a row that many times."""
        self._learn(X, weights=sample_weight)
        return self

    def fit_transform(self, X: Input, y: object = None, sample_weight: Weights = None) -> Output:  # noqa: ARG002
        """Learn the axes and return the coordinates of the rows on them."""
        return self._learn(X, embed=True, weights=sample_weight)

    def partial_fit(self, X: Input, y: object = None, sample_weight: Weights = None) -> Self:  # noqa: ARG002
        """Add a batch of rows: as one fit to all batches, once they have `n_components` rows."""
        batch = Batch.after(self)
        self._learn(X, continuing=batch.so_far is not None, weights=sample_weight, batch=batch)
        return self

    def _fit_blocks(
        self, X: RowBlocks, ctx: Context, weights: Weights = None, **given: object
    ) -> Fit:
        if given:
            raise UnsupportedError("partial_fit takes batches in memory; fit takes all blocks.")
        if weights is not None:
            raise UnsupportedError("sample_weight of rows in blocks: repeat or scale rows instead.")
        return fit_blocks(X, self._standardization(), ctx, self.backend, self.n_jobs)

    def _plan_blocks(self, sizes: Sizes, n_threads: int) -> dict[str, int]:
        return plan_streamed(self._standardization(), sizes, n_threads)

    def _standardization(self) -> Standardization:
        how = self.n_components, self.center, self.scale, self.ddof, self.whiten
        return Standardization(*how, getattr(self, "feature_names_in_", None))

    def _support_metric(self) -> SupportMetric:
        return SupportMetric(scaling=self.scale_ if self.scale else None)
