"""What kernel PCA needs before its eigenproblem: the kernel of any input, and its parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

from ..confidence.support import SupportMetric
from ..core.declarations import Ignored, unless, unless_callable, when
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit
from ..core.memory import Sizes
from ..input.blocks import RowBlocks
from ..input.validation import Data, Kind
from ..relations.kernels import KernelRelation, kernel_of
from .centered import with_kernel_means
from .kernel_scale import resolve_gamma
from .streamed_kernel import count_candidates, embed_blocks, plan_streamed

KernelName = Literal["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian", "precomputed"]
KernelChoice = KernelName | Callable[..., Any]
SCALED_KERNELS = ("rbf", "laplacian", "sigmoid", "poly")  # that have a gamma
NO_SUCH_PARAMETER = "kernel={model.kernel!r} has no such parameter"
PREIMAGE = ("alpha", "preimage")


@reducer
class KernelMethod(Reducer):
    """Base of kernel PCA: a kernel by name, callable or precomputed, of rows or blocks of rows."""

    ignored = (
        Ignored(("gamma",), NO_SUCH_PARAMETER, unless(kernel=SCALED_KERNELS)),
        Ignored(("degree",), NO_SUCH_PARAMETER, unless(kernel="poly")),
        Ignored(("coef0",), NO_SUCH_PARAMETER, unless(kernel=("poly", "sigmoid"))),
        Ignored(("kernel_params",), "only a callable kernel takes them", unless_callable("kernel")),
        Ignored(PREIMAGE, "the inverse of kernel='linear' is exact", when(kernel="linear")),
        Ignored(PREIMAGE, "fit_inverse_transform is False", when(fit_inverse_transform=False)),
    )

    def _gamma(self, data: Data, ctx: Context) -> float | None:
        """The scale of the kernel, where it has one."""
        scaled = self.kernel in SCALED_KERNELS
        return resolve_gamma(self.gamma, data.items, ctx) if scaled else None

    def _kernel(self, data: Data, gamma: float | None) -> KernelRelation:
        return kernel_of(data, self.kernel, gamma, self.degree, self.coef0, self.kernel_params)

    def _fit_blocks(self, X: RowBlocks, ctx: Context, **given: Any) -> Fit:
        """With landmarks by two passes over all rows; else a sample is fitted."""
        m, k = self.n_landmarks, self.n_components
        if m is None or self.fit_inverse_transform or self._kind() != "rows":
            return super()._fit_blocks(X, ctx, **given)
        sample = X.draw(count_candidates(m))
        data = self._validate(sample.items, ctx.ops, fitting=True)
        gamma = self._gamma(data, ctx)
        inner = Context(ctx.ops, ctx.seed, data.dtype, data.statistics)
        kernel = self._kernel(data, gamma)
        fit = embed_blocks(X, sample, kernel, k, m, inner, self.backend, self.n_jobs)
        return with_kernel_means(fit).with_report(gamma=gamma)

    def _plan_blocks(self, sizes: Sizes, n_threads: int) -> dict[str, int]:
        if self.n_landmarks is None or self.fit_inverse_transform or self._kind() != "rows":
            return super()._plan_blocks(sizes, n_threads)
        return plan_streamed(self.n_landmarks, sizes, n_threads)

    def _is_pca(self) -> bool:
        """Kernel PCA of inner products is PCA, and computed as that."""
        return self.kernel == "linear" and self.n_landmarks is None

    def _kind(self) -> Kind:
        if callable(self.kernel):
            return "objects"
        return "kernel" if self.kernel == "precomputed" else "rows"

    def _support_metric(self) -> SupportMetric:
        return SupportMetric.of_kernel(self.kernel, self.kernel_params)

    def _takes_sparse(self) -> bool:
        return not callable(self.kernel) and self.kernel not in ("precomputed", "laplacian")
