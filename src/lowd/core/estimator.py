"""The estimator base class: scikit-learn's fit, transform and inverse_transform, once for all."""

from __future__ import annotations

from collections.abc import Hashable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from importlib import import_module
from typing import Annotated, Any, Self, TypeAlias, TypeVar, cast, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted

from .. import progress, random
from ..backends import Backend, resolve
from ..backends.planned import with_plans
from ..backends.protocol import Array, DType
from ..confidence.support import RowSupport, Support, build_support
from ..errors import UnsupportedError
from ..input.arguments import Input, Output
from ..input.blocks import RowBlocks, is_blocks
from ..input.exchange import choose_backend, receive
from ..input.precomputed import MATRIX_KINDS
from ..input.validation import Data, refuse_table_output, validate, validate_embedding
from ..threads import granting, single_threaded_blas
from ..values import freeze, freeze_all
from . import callbacks, memory
from .block_maps import invert_blocks, rate_blocks, transform_blocks
from .block_memory import plan_sample
from .confidence import check_support, compute_confidence, describe_basis, leave_rows_out
from .coordinates import apply_map, cast_checked, require_finite
from .declarations import check_declarations
from .docstrings import complete_docstring
from .fit import Context, Fit, PointGraph
from .method import Method
from .parameters import AtLeast, Jobs, Seed, check_params, checks, domains
from .sampled_fit import HELD_OUT_ROWS, fit_sample
from .unknown_parameters import explain_unknown_parameters

C = TypeVar("C")
LearnedMap: TypeAlias = Any  # a Map; a method knows of which class
Evaluation: TypeAlias = Any  # a result of `lowd.evidence`, which is above this package

_INPUT_ATTRIBUTES = ("n_features_in_", "feature_names_in_")
# What scikit-learn keeps on an estimator beside parameters and learned attributes.
_SKLEARN_STATE_PREFIXES = ("_skl", "_parent_callback", "_callback", "_sklearn_output", "_metadata")


@dataclass_transform(kw_only_default=True, eq_default=False)
def reducer(cls: type[C]) -> type[C]:
    """Fields become the constructor: n_components by position, the others by name."""
    if "n_components" in cls.__annotations__:
        cls.n_components = field(default=cls.n_components, kw_only=False)  # type: ignore[attr-defined]
    made = dataclass(kw_only=True, eq=False, repr=False)(cls)
    known = list(domains(cast(Hashable, made)))
    cast(Any, made).__init__ = explain_unknown_parameters(cast(Any, made).__init__, known)
    if made.__doc__ is not None:
        made.__doc__ = complete_docstring(made.__doc__)
    checks(cast(Hashable, made))  # made now: the first fit takes no longer than the second
    return made


@reducer
class Reducer(
    Method, callbacks.Support, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator
):
    """Base of every method: validates parameters and data, fits, and maps new points.

    A method is a subclass under `@reducer`: annotated fields are its parameters, class variables
    declare what it needs (`Method`), and `_fit` returns the embedding, the map and what is learned.
    """

    backend: str = "auto"
    n_jobs: Jobs | None = None
    verbose: bool | Annotated[int, AtLeast(0)] = False

    def fit(self, X: Input, y: object = None) -> Self:  # noqa: ARG002 - scikit-learn's signature
        """Learn the map from the rows of X."""
        self._learn(X)
        return self

    def fit_transform(self, X: Input, y: object = None) -> Output:  # noqa: ARG002
        """Learn the map and return the embedding of the training rows."""
        return self._learn(X, embed=True)

    def transform(self, X: Input, *, return_confidence: bool = False) -> Output:
        """Coordinates of new points, row by row: the same alone or in any batch.

        With `return_confidence` also one number per row between 0 and 1: the probability that the
        point is mapped correctly, that is near those training points near which a fit that includes
        it would have it; lower outside the training data. By a general curve of the method, or of
        these data after `calibrate_confidence`.
        """
        self._check_fitted()
        if return_confidence:
            self._check_support()
        if not is_blocks(X):
            held, back = receive(X)
            found = self._computing_where(X)._transform(held, return_confidence)
            return (back(found[0]), back(found[1])) if return_confidence else back(found)
        refuse_table_output(self)
        rows = RowBlocks.of(X)
        Y = transform_blocks(self, rows)
        return (Y, rate_blocks(self, rows)) if return_confidence else Y

    def calibrate_confidence(self, X: Input) -> Self:
        """Learn from one more fit how likely new points of these data are mapped correctly.

        A part of the training rows X is left out of a fit of the others, mapped as new points and
        compared with their coordinates in this model. Confidence is then by the curve of these
        data, and `evaluate` shows how promises and findings agree (`reliability`).

        >>> import numpy as np, lowd
        >>> X = np.random.default_rng(0).normal(size=(200, 4))
        >>> model = lowd.TSNE(max_iter=50).fit(X).calibrate_confidence(X)
        >>> bool((model.transform(X[:5] + 0.1, return_confidence=True)[1] <= 1).all())
        True
        """
        self._check_fitted()
        self._check_support()
        ops = resolve(self.backend, self.n_jobs)
        with self._reporting():
            data = self._validate(X, ops)
            self.left_out_ = leave_rows_out(self, data, ops)
        return self

    @property
    def confidence_basis_(self) -> str:
        """What the confidence of new points is calibrated by."""
        return describe_basis(self)

    def inverse_transform(self, X: Input) -> Output:
        """Rows of the original space for points of the embedding, where there is an inverse."""
        self._check_fitted()
        inverse = self._inverse_map()
        if inverse is None:
            raise UnsupportedError(f"this {type(self).__name__} has no inverse: {self.no_inverse}")
        if is_blocks(X):
            return invert_blocks(self, RowBlocks.of(X))
        ops = with_plans(resolve(choose_backend(self.backend, X), self.n_jobs), inverse)
        X, back = receive(X)
        Y = validate_embedding(X, self._n_features_out, ops)
        with self._reporting():
            return back(require_finite(np.asarray(inverse(Y, ops), Y.dtype)))

    def estimate(
        self,
        n_samples: int,
        n_features: int,
        dtype: DTypeLike = np.float64,
        *,
        n_entries: int | None = None,
    ) -> memory.Plan:
        """The memory a fit would allocate beside its input, before anything is allocated.

        `n_entries` are those that a sparse X stores; without it X is dense.

        >>> import lowd
        >>> lowd.ClassicalMDS(metric="manhattan").estimate(10_000, 50).bytes >= 10_000**2 * 8
        True
        """
        check_params(self)
        return memory.plan_fit(self, memory.Sizes.of(n_samples, n_features, dtype, n_entries))

    def evaluate(
        self,
        X: Input,
        labels: ArrayLike | None = None,
        *,
        n_neighbors: int = 15,
        anchors: ArrayLike | None = None,
        random_state: Seed = None,
        verbose: bool | None = None,
    ) -> Evaluation:
        """Quality measures of the embedding of X, training rows or others: a `lowd.evaluate`.

        Distances in the data are those of this model's metric. The answer also holds what the model
        says of itself (`.model`: explained variance, stress, self-map error, ...).

        >>> import lowd, numpy as np
        >>> X = np.random.default_rng(0).normal(size=(99, 3))
        >>> sorted(lowd.PCA(2).fit(X).evaluate(X).model)
        ['explained_variance_ratio']
        """
        self._check_fitted()
        how = {"n_neighbors": n_neighbors, "anchors": anchors, "random_state": random_state}
        how["verbose"] = self.verbose if verbose is None else verbose
        # By name, when it is called: evidence stands above the methods and uses them.
        return import_module("lowd.evidence.quality").evaluate_model(self, X, labels, **how)

    def measure_stability(self, X: Input) -> Evaluation:
        """How much the embedding of the training rows X changes with the sample of the rows.

        Random 80 % of the rows are fitted again, twice, and compared on the rows that both
        embeddings have: 0 no change, 1 nothing in common. Of more than 1000 rows a random 1000
        stand for all.

        >>> import lowd, numpy as np
        >>> X = np.random.default_rng(0).normal(size=(99, 3)) * [9, 3, 1]
        >>> lowd.PCA(2).fit(X).measure_stability(X).verdict
        'stable: a sample of the rows gives the same embedding'
        """
        self._check_fitted()
        return import_module("lowd.evidence.compare").measure_stability(self, X)

    # -- how -------------------------------------------------------------------------------

    @callbacks.with_callbacks
    def _learn(
        self, X: Input, *, embed: bool = False, continuing: bool = False, **given: Any
    ) -> Output:
        """Validate, then `_fit`; the model changes only when all of it has succeeded.

        Returns the embedding of the training rows if `embed`. `continuing` keeps the names and the
        width of earlier batches, which the new one must then have.
        """
        check_params(self)
        check_declarations(self)
        ops = resolve(choose_backend(self.backend, X), self.n_jobs)
        X, back = receive(X)
        seed = self._seed()
        listener = callbacks.listener(self)
        earlier = getattr(self, "support_", None)
        draft = self._blank(*(_INPUT_ATTRIBUTES if continuing else ()))
        with draft._reporting(listener), single_threaded_blas(), granting(ops.threads):
            if is_blocks(X):
                rows = RowBlocks.of(X)
                dtype = rows.dtype
                rows.check_width(draft)
                fit = draft._fit_blocks(rows, Context(ops, seed, dtype), **given)
                rows.name_columns(draft)  # which a validation of plain rows removes
                data = fit.fitted
            else:
                data = draft._validate(
                    X, ops, fitting=not continuing, priorities=self.takes_batches
                )
                dtype = data.dtype
                memory.check_fit(draft, data)
                fit = draft._fit(data, Context(ops, seed, dtype, data.statistics), **given)
            draft._keep(fit, data, dtype, seed)
            if not continuing or earlier is not None:
                draft._keep_support(fit, data, earlier if continuing else None)
            Y = None
            if embed and data is not None and not is_blocks(X):  # of blocks it is lazy
                known = fit.embedding is not None
                Y = draft.embedding_.copy() if known else draft._apply_map(data, ops)
        self.__dict__.clear()
        self.__dict__.update(draft.__dict__)
        callbacks.report_end(self)
        return back(self.transform(X) if embed and Y is None else Y)

    def _seed(self) -> int:
        """No seed given: a fixed one, unless the draw itself is the method."""
        state = getattr(self, "random_state", None)
        return 0 if state is None and not self.is_random else random.as_seed(state)

    def _computing_where(self, X: Input) -> Self:
        """This model, or a shallow copy with the backend that computes where X is."""
        backend = choose_backend(self.backend, X)
        if backend == self.backend:
            return self
        other = object.__new__(type(self))
        other.__dict__.update(self.__dict__, backend=backend)
        return other

    def _transform(self, X: Input, confident: bool = False) -> Output:
        """`transform` of rows in memory, as a plain array."""
        ops = with_plans(resolve(self.backend, self.n_jobs), self.map_)
        with self._reporting():
            data = self._validate(X, ops, check_values=not getattr(self.map_, "spreads", False))
            Y = self._apply_map(data, ops)
            return (Y, self._confidence(data, ops, Y)) if confident else Y

    def _check_fitted(self) -> None:
        if not hasattr(self, "map_"):
            check_is_fitted(self)  # says so; of a fitted model it takes 5 µs to say nothing

    def _validate(
        self,
        X: Input,
        ops: Backend,
        *,
        fitting: bool = False,
        check_values: bool = True,
        priorities: bool = False,
    ) -> Data:
        """Validated data of the kind that this method takes."""
        return validate(
            self,
            X,
            self._kind(),
            fitting=fitting,
            sparse=self._takes_sparse(),
            ops=ops,
            check_values=check_values,
            priorities=priorities,
        )

    def _confidence(self, data: Data, ops: Backend, Y: Array | None = None) -> Array:
        """Confidence of rows whose coordinates are Y; None: they are computed if needed."""
        return compute_confidence(self, data, Y, ops)

    def _check_support(self) -> None:
        check_support(self)

    def _fit_blocks(self, X: RowBlocks, ctx: Context, **given: Any) -> Fit:
        """Fit a sample of all rows; methods that can do more with blocks override it."""
        return fit_sample(self, X, ctx, **given)

    def _plan_blocks(self, sizes: memory.Sizes, n_threads: int) -> dict[str, int]:  # noqa: ARG002
        """Bytes of a fit of blocks, beside those of the blocks; `sizes` are of a sample."""
        sample = plan_sample(sizes, sizes.n + HELD_OUT_ROWS)
        return {"sample": sample, **memory.plan_fit(self, sizes).parts}

    def _blank(self, *kept: str) -> Self:
        """This model with its parameters (and callbacks), and nothing learned but `kept`."""
        draft = object.__new__(type(self))
        names = {*domains(cast(Hashable, type(self))), *kept}
        for name, held in vars(self).items():
            if name in names or name.startswith(_SKLEARN_STATE_PREFIXES):
                draft.__dict__[name] = held
        return draft

    def _keep(self, fit: Fit, data: Data | None, dtype: DType, seed: int) -> None:
        self.map_: LearnedMap = fit.map
        if fit.inverse is not None:
            self.inverse_ = fit.inverse
        if fit.embedding is not None:
            self.embedding_ = freeze(cast_checked(fit.embedding, dtype))
        if hasattr(self, "random_state"):
            self.seed_ = seed
        for name, learned in fit.report.items():
            setattr(self, f"{name}_", freeze(learned))
        if data is not None and not hasattr(self, "n_samples_"):
            self.n_samples_ = data.shape[0]
        self._n_features_out = int(fit.report["n_components"])

    def _keep_support(self, fit: Fit, data: Data | None, earlier: RowSupport | None) -> None:
        """Keep what confidence needs; blocks that nobody reads leave nothing."""
        metric = self._support_metric()
        if data is not None:
            self.support_: Support = build_support(
                data, self._kind(), metric, earlier, in_batches=self.takes_batches
            )
        elif fit.sample is not None:
            self.support_ = RowSupport.of(fit.sample, metric)

    def _apply_map(self, data: Data, ops: Backend) -> Array:
        """Coordinates of validated rows, in their type and finite."""
        return apply_map(self, data, ops)

    def _reporting(self, *listeners: progress.Listener | None) -> AbstractContextManager[None]:
        """Progress of long work inside goes to the listeners, and is shown if `verbose`."""
        present = [listener for listener in listeners if listener is not None]
        if not present and not self.verbose:
            return nullcontext()
        return progress.showing(*present) if self.verbose else progress.listening(*present)

    def __getstate__(self) -> dict[str, Any]:
        """What is stored, pickled and copied: graphs are in the order of the rows."""
        state: dict[str, Any] = super().__getstate__()
        arranged = {n: getattr(self, n) for n, v in state.items() if isinstance(v, PointGraph)}
        return {**state, **arranged}

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Restore a pickled or copied model; its arrays are read-only, as those of a fitted one."""
        super().__setstate__(state)
        parameters = domains(cast(Hashable, type(self)))
        for name, held in vars(self).items():
            if name.endswith("_") and name not in parameters:
                freeze_all(held)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        kind = self._kind()
        tags.input_tags.pairwise = kind in MATRIX_KINDS
        tags.input_tags.positive_only = kind in ("distances", "affinity")
        tags.input_tags.sparse = self._takes_sparse()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
