"""The base class of all methods: what scikit-learn, the user and a model file see of a method.

A method is a class with parameters, `_fit`, `_transform` and, where there is one,
`_inverse_transform`. Everything else that an estimator needs is here.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import Field, dataclass, field
from importlib import import_module
from typing import Annotated, Any, ClassVar, Self, dataclass_transform

import numpy as np
from numpy.typing import ArrayLike, DTypeLike
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from . import callbacks, confidence, progress, random
from .backend import Plan, check_memory, chunks, threads, using
from .blocks import RowBlocks, Where, is_blocks
from .confidence import LeadingShare, LeftOutRows
from .errors import ApproximationWarning, DataError, ParameterError, UnsupportedError, warn
from .input.arguments import choose_backend, receive
from .input.entries import Table
from .input.validation import (
    SAFE_RANGE,
    Kind,
    find_extreme_rows,
    refuse_table_output,
    validate,
    validate_embedding,
)
from .other_libraries import explain_unknown_parameters
from .parameters import (
    Held,
    Indices,
    Jobs,
    Limit,
    Metric,
    Reals,
    Seed,
    check_parameters,
    defaults_of,
    resolve_annotations,
    state,
    state_of,
)
from .spaces import (
    BlockRows,
    Known,
    Listed,
    Neighbors,
    Rows,
    Space,
    blocked,
    hash_rows,
    kept_neighbors,
    space_of,
    take_rows,
    takes_sparse,
    with_neighbors,
)
from .spaces.matrices import hash_symmetric
from .threads import granting, single_threaded_blas


@dataclass_transform(eq_default=False, kw_only_default=True, field_specifiers=(field, state))
@dataclass(eq=False, repr=False, kw_only=True)
class Reducer(callbacks.Support, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A method of dimension reduction, as a scikit-learn transformer.

    A subclass declares its parameters and its state, one field a line (see `parameters`), and
    defines:

    `_fit(X, y, seed)`
        Learn from validated training data, and return the coordinates of the training rows; or None
        if `_transform` gives them.
    `_transform(Q)`
        The coordinates of new rows, each by itself, and what was measured on the way: for most
        methods the neighbors by which the rows were placed. It changes nothing.
    `_inverse_transform(Y)`
        Rows of the original space for points of the embedding.
    `_familiarity(Q, used)`
        How familiar new rows are (see `confidence`), where no neighbors place them.
    `_plan(n, d, itemsize)`
        Bytes of the arrays of a fit that grow with the square of the rows, by name.
    """

    backend: str = "auto"
    n_jobs: Jobs | None = None
    verbose: bool | Annotated[int, Limit(">=", 0)] = False

    embedding_: Reals = state("n_samples n_components")
    n_components_: int = state()
    n_samples_: int = state()
    n_features_in_: int = state()
    feature_names_in_: np.ndarray = state("n_features_in_")
    seed_: int = state()
    columns_: Table = state()  # of a table with columns of several kinds, without its rows
    prepared_: dict[str, Any] = state()  # how the command line has read the file
    left_out_: LeftOutRows = state()  # after calibrate_confidence, or a fit that needs it
    # After a fit of a sample of rows in blocks:
    n_rows_: int = state()
    sampled_rows_: Indices = state("n_samples of n_rows_")
    extension_recall_: float = state()
    sampled_recall_: float = state()
    _n_features_out: int = state()
    _float32: bool = state()  # whether the training rows were; then so are coordinates
    _widened: bool = state()  # whether they were few, and computed in float64 all the same
    # What maps that place new points by their neighbors keep:
    _space: Space = state("n_points")  # the distinct training points in the data
    _embedded: Rows = state("n_points n_components")  # and in the embedding
    _reach: Reals = state("2")  # see `confidence`
    _scope: Reals = state("n_points")
    _mean_kept: float = state()
    _leading: LeadingShare | None = state()

    #: How likely a new point is placed well: intercept of a logistic curve, and its slopes by the
    #: share of its neighborhood that the embedding keeps, by its familiarity, and by the mean of
    #: that share over the training points; measured on many data sets. A map without neighbors has
    #: no such shares.
    confidence_curve: ClassVar[tuple[float, float, float, float]] = (5.5, 0.0, 0.3, 0.0)
    #: The kinds of data that a method takes besides rows in memory, of "sparse", "blocks",
    #: "neighbors", "targets" and "missing" (distances that are NaN).
    takes: ClassVar[frozenset[str]] = frozenset()
    #: Why there is no inverse, to complete an error sentence.
    no_inverse: ClassVar[str] = "a point of the embedding does not determine a row of the data."
    #: Whether a random draw is the method itself, rather than a help to a solver.
    is_random: ClassVar[bool] = False
    #: Whether only the order of distances counts, so that the triangle inequality may be broken.
    is_ordinal: ClassVar[bool] = False
    #: Whether a fit reads no entry of the data.
    is_data_independent: ClassVar[bool] = False
    #: Whether a fit adds rows up and compares none with each other, so that it takes all of very
    #: many as soon as a sample of them.
    adds_rows_up: ClassVar[bool] = False
    #: Whether an entry that is not finite makes the coordinates so, as in a linear map: then new
    #: rows need not be searched for one.
    spreads: ClassVar[bool] = False
    #: Whether `_fit` is given what the check of the rows has found: means, and hashes of many rows.
    takes_statistics: ClassVar[bool] = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "n_components" in cls.__annotations__ and not isinstance(cls.n_components, Field):
            # The one parameter that is given by position.
            cls.n_components = field(default=cls.n_components, kw_only=False)
        dataclass(eq=False, repr=False, kw_only=True)(cls)
        resolve_annotations(cls)
        cls.__init__ = explain_unknown_parameters(cls.__init__, list(defaults_of(cls)))  # type: ignore[method-assign]

    # -- what a method defines -----------------------------------------------------------------

    def _fit(self, X: Any, y: Any, seed: int) -> Reals | None:
        raise NotImplementedError

    def _transform(self, Q: Any) -> tuple[Reals, Any]:
        raise NotImplementedError

    def _inverse_transform(self, Y: Reals) -> Reals:  # noqa: ARG002
        raise UnsupportedError(f"this {type(self).__name__} has no inverse: {self.no_inverse}")

    def _familiarity(self, Q: Any, used: Any) -> Reals:
        raise NotImplementedError

    def _own_share(self) -> float:
        """How much of the coordinates of a training row, on average, only it has brought about."""
        return 0.0

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:  # noqa: ARG002
        return {}

    def _remember(self, space: Space, Y: Reals, near: Neighbors | Reals, close: int) -> None:
        """Keep what places new points, and what their confidence needs.

        These are the distinct training points, in the data and in the embedding; `near` holds their
        neighbors, or the distance of each one to its nearest other, and so many as `close` are near
        it in the embedding.
        """
        self._space, self._embedded = space.kept(), Rows(Y)
        self._reach = confidence.reach(near.nearest if isinstance(near, Neighbors) else near)
        self._scope = confidence.scope(self._embedded, close)
        if isinstance(near, Neighbors) and near.counts.all():
            self._mean_kept = confidence.mean_kept(near, self._embedded.X, self._scope)

    # -- what everyone calls -------------------------------------------------------------------

    def fit(self, X: ArrayLike, y: object = None, *, neighbors: object = None) -> Self:
        """Learn from the rows of X. If that fails, an earlier fit stays as it was.

        `neighbors`, where they are known, are not searched: a `lowd.neighbors` graph of these rows,
        the graph of a KNeighborsTransformer, or (indices, distances). `y` are targets, for a method
        that takes them; others ignore it.
        """
        self._learn(X, y, neighbors=neighbors)
        return self

    def fit_transform(self, X: ArrayLike, y: object = None, *, neighbors: object = None) -> Any:
        """Learn from the rows of X, and return their coordinates."""
        return self._learn(X, y, neighbors=neighbors, embed=True)

    def transform(
        self, X: ArrayLike, *, neighbors: object = None, return_confidence: bool = False
    ) -> Any:
        """Coordinates of new rows, each the same alone or in any batch.

        With `return_confidence` also a number from 0 to 1 per row: the probability that the row is
        placed near those training points near which a fit that includes it would have it; lower
        outside the training data. It is by a general curve of the method, or of these data after
        `calibrate_confidence`. A training row returns to its own coordinates. `neighbors` are as in
        the fit, which was given some as well: training rows of each new one.
        """
        if not self.__sklearn_is_fitted__():
            check_is_fitted(self)  # which says so; of a fitted model it takes 2 µs to say nothing
        if is_blocks(X):
            return self._transform_blocks(RowBlocks.of(X), return_confidence)
        backend, (X, back) = choose_backend(self.backend, X), receive(X)
        with self._running(backend):
            rows = self._read(X, False, neighbors, check_values=not self.spreads)
            try:
                Y, rated = self._place(rows, return_confidence)
            except DataError:
                self._read(X, False, neighbors)  # which names an entry that is not finite
                raise
        return (back(Y), back(rated)) if return_confidence else back(Y)

    def inverse_transform(self, X: ArrayLike) -> Any:
        """Rows of the original space for points of the embedding, where there is an inverse."""
        check_is_fitted(self)
        if is_blocks(X):
            return self._invert_blocks(RowBlocks.of(X))
        backend, (X, back) = choose_backend(self.backend, X), receive(X)
        with self._running(backend):
            Y = validate_embedding(X, self._n_features_out)
            rows = self._inverse_transform(Y.astype(self._computed, copy=False))
        return back(finite(np.asarray(rows, Y.dtype)))

    def calibrate_confidence(self, X: ArrayLike, y: object = None) -> Self:
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
        check_is_fitted(self)
        with self._running(self.backend):
            self.left_out_ = self._leave_rows_out(self._read(X, False), y)
        return self

    @property
    def confidence_basis_(self) -> str:
        """What the confidence of new points is calibrated by."""
        if hasattr(self, "left_out_"):
            return f"{len(self.left_out_.kept)} training rows, each left out of one more fit"
        return f"general curve of {type(self).__name__}; calibrate_confidence learns that of X"

    def estimate(
        self,
        n_samples: int,
        n_features: int,
        dtype: DTypeLike = np.float64,
        *,
        n_entries: int | None = None,
    ) -> Plan:
        """The memory of the arrays of a fit that grow with the square of its rows.

        They are the same for a sparse X, of which `n_entries` are stored, but for affinities, of
        which nothing dense is made.

        >>> import lowd
        >>> lowd.ClassicalMDS(metric="manhattan").estimate(10_000, 50).bytes >= 10_000**2 * 8
        True
        """
        check_parameters(self)
        for name, size in (("n_samples", n_samples), ("n_features", n_features)):
            if size < 1:
                raise ParameterError(f"{name}={size}: expected a whole number >= 1.", name)
        plan = self._plan(n_samples, n_features, np.dtype(dtype).itemsize)
        if n_entries is not None and self._kind() == "affinity":
            plan = {"affinities": 12 * n_entries}
        k = getattr(self, "n_components", None)
        plan["embedding"] = 8 * n_samples * (k if isinstance(k, int) else n_features)
        return Plan(plan)

    def evaluate(
        self,
        X: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        n_neighbors: int = 15,
        anchors: ArrayLike | None = None,
        random_state: Seed = None,
        verbose: bool | None = None,
    ) -> Any:
        """Quality measures of the embedding of X, training rows or others: a `lowd.evaluate`.

        Distances in the data are those of this model's metric. The answer also holds what the model
        says of itself (`.model`: explained variance, stress, self-map error, ...).

        >>> import lowd, numpy as np
        >>> X = np.random.default_rng(0).normal(size=(99, 3))
        >>> sorted(lowd.PCA(2).fit(X).evaluate(X).model)
        ['explained_variance_ratio']
        """
        check_is_fitted(self)
        how = {"n_neighbors": n_neighbors, "anchors": anchors, "random_state": random_state}
        how["verbose"] = self.verbose if verbose is None else verbose
        # By name, when it is called: evidence stands above the methods and uses them.
        return import_module("lowd.evidence.quality").evaluate_model(self, X, labels, **how)

    def measure_stability(self, X: ArrayLike) -> Any:
        """How much the embedding of the training rows X changes with the sample of the rows.

        Random 80 % of the rows are fitted again, twice, and compared on the rows that both
        embeddings have: 0 no change, 1 nothing in common. Of more than 1000 rows a random 1000
        stand for all.

        >>> import lowd, numpy as np
        >>> X = np.random.default_rng(0).normal(size=(99, 3)) * [9, 3, 1]
        >>> lowd.PCA(2).fit(X).measure_stability(X).verdict
        'stable: a sample of the rows gives the same embedding'
        """
        check_is_fitted(self)
        return import_module("lowd.evidence.compare").measure_stability(self, X)

    # -- a fit ---------------------------------------------------------------------------------

    @callbacks.with_callbacks
    def _learn(
        self,
        X: Any,
        y: object = None,
        *,
        neighbors: object = None,
        embed: bool = False,
        continuing: bool = False,
        alone: bool = False,
        **given: Any,
    ) -> Any:
        """Validate and `_fit`; the learned attributes of an earlier fit stay if that fails.

        Returns the coordinates of the training rows if `embed`. `given` goes to `_fit`. A fit that
        is `alone` leaves no rows out of others to learn how far its map can be trusted.
        `continuing` keeps what earlier batches have learned, whose columns the new one must have.
        """
        check_parameters(self)
        continuing = continuing and hasattr(self, "n_features_in_")
        backend, (X, back) = choose_backend(self.backend, X), receive(X)
        listener = callbacks.listener(self)
        earlier = dict(self.__dict__)
        if not continuing:
            for name in state_of(type(self)):
                self.__dict__.pop(name, None)
        try:
            with self._running(backend, listener), single_threaded_blas():
                Y = self._fit_validated(X, y, neighbors, embed, continuing, alone, given)
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(earlier)
            raise
        callbacks.report_end(self)
        return back(Y)

    def _fit_validated(
        self,
        X: Any,
        y: object,
        neighbors: object,
        embed: bool,
        continuing: bool,
        alone: bool,
        given: dict[str, Any],
    ) -> Any:
        blocks = RowBlocks.of(X) if is_blocks(X) else None
        if blocks is not None and embed:
            refuse_table_output(self)
        sample = self._draw_sample(blocks, y, neighbors) if blocks is not None else None
        rows = self._read(X if sample is None else sample[0], not continuing, neighbors)
        if blocks is None or not self.is_data_independent:  # which may never read how many
            self.n_samples_ = len(rows) if isinstance(rows, list) else rows.shape[0]
            self._check_memory(rows)
        random_state = getattr(self, "random_state", None)
        seed = 0 if random_state is None and not self.is_random else random.as_seed(random_state)
        if hasattr(self, "random_state"):
            self.seed_ = seed
        targets = np.asarray(y) if y is not None and "targets" in self.takes else None
        if self.takes_statistics:
            given = {**given, "statistics": self.__dict__.pop("_statistics", None)}
        Y = self._fit(rows, targets, seed, **given)
        if Y is not None:
            self.embedding_ = self._cast(Y)
            self.n_components_ = self._n_features_out = Y.shape[1]
        if blocks is not None:
            blocks.name_columns(self)
        if sample is not None:
            self._measure_extension(*sample)
        in_memory = (isinstance(rows, np.ndarray) or issparse(rows)) and sample is None
        plain = not given.get("batch") and given.get("weights") is None
        if in_memory and plain and self._kind() == "rows" and not self.is_data_independent:
            self._judge(rows, y, alone)
        for name in state_of(type(self)):
            freeze(self.__dict__.get(name))
        if not embed:
            return None
        if blocks is not None:
            known = Y is not None and sample is None
            return blocks.like(self.embedding_) if known else self.transform(blocks)
        return self._cast(self._place(rows)[0]) if Y is None else self.embedding_.copy()

    def _draw_sample(
        self, X: RowBlocks, y: object, neighbors: object, held: int = 1000
    ) -> tuple[Any, Any, Indices, int] | None:
        """Rows that a fit learns from and others, if blocks were opened with `sample`."""
        m = X.sample_size
        if m is None or self.adds_rows_up or len(X) <= m:
            return None
        if neighbors is not None or y is not None:
            raise UnsupportedError(
                "neighbors and y are of all rows, and only a sample of them is fitted; leave them "
                "out, or open the blocks without sample=."
            )
        drawn = X.draw(m + held)
        out = random.subset(0, "held out", len(drawn.row_indices), len(drawn.row_indices) - m)
        kept = np.setdiff1d(np.arange(len(drawn.row_indices)), out)
        return drawn.items[kept], drawn.items[out], drawn.row_indices[kept], drawn.n_seen

    def _measure_extension(self, rows: Any, others: Any, numbers: Indices, n: int) -> None:
        """How well the map of a sample places other rows, and how well the fit its own."""
        self.n_rows_, self.sampled_rows_ = n, numbers
        metric: Metric = getattr(self, "metric", "euclidean")
        params = getattr(self, "metric_params", None)
        model = self._without_names()
        self.extension_recall_, self.sampled_recall_ = kept_neighbors(
            space_of(model._read(rows, False), metric, params),
            model.transform(rows),
            model._read(others, False),
            model.transform(others),
        )
        warn(
            f"{type(self).__name__} of {n} rows in blocks is computed from {len(numbers)} of them "
            "(sampled_rows_), and the others are mapped; new rows keep "
            f"{self.extension_recall_:.0%} of their nearest sampled rows, sampled rows "
            f"{self.sampled_recall_:.0%} (extension_recall_, sampled_recall_).",
            ApproximationWarning,
        )

    def _cast(self, Y: Reals) -> Reals:
        """Coordinates in the type of the training data, if that can hold them."""
        dtype: np.dtype[Any] = np.dtype(np.float32 if self._float32 else np.float64)
        largest = np.abs(Y).max(initial=0)
        if not largest <= float(np.finfo(dtype).max):
            raise DataError(
                f"the embedding has coordinates of size {largest:.1e}, beyond {dtype}; "
                "pass X.astype('float64') or other units."
            )
        return np.ascontiguousarray(Y, dtype)

    def _check_memory(self, rows: Any) -> None:
        """Raise an error if a fit needs more than there is, naming what would fit."""
        if issparse(rows) and self._kind() == "affinity":
            return
        n, d = getattr(rows, "shape", (len(rows) if isinstance(rows, list) else 0, 1))
        parts = self._plan(n, d, np.dtype(self._computed).itemsize)
        remedy = "use fewer rows or a larger machine"
        if getattr(self, "n_landmarks", 0) in (None, "auto"):
            remedy = "set n_landmarks=1000, or use fewer rows"
        elif self._computed == np.float64:
            remedy = "X.astype('float32') halves them; or use fewer rows"
        check_memory(parts, remedy)

    # -- new points ----------------------------------------------------------------------------

    def _place(self, rows: Any, rate: bool = False) -> tuple[Reals, Reals | None]:
        """Coordinates of validated rows in their own type, and their confidence if wanted.

        Few rows whose squares float32 cannot hold are placed alone, in float64.
        """
        if isinstance(rows, RowBlocks):
            both = rows.gather(place_block, self._without_names(), rate)
            k = self._n_features_out
            return (both[:, :k].astype(rows.dtype), both[:, k]) if rate else (both, None)
        if not isinstance(rows, np.ndarray) and not issparse(rows):
            return self._place_alike(rows, np.dtype(np.float64), rate)
        dtype = rows.dtype
        Q = rows.astype(self._computed, copy=False)
        if dtype == np.float32 == Q.dtype and self._kind() == "rows":
            if issparse(rows):
                largest = np.abs(rows.data).max(initial=0)
            else:
                largest = max(rows.max(initial=0), -rows.min(initial=0))
            if largest > SAFE_RANGE[np.dtype(np.float32)][1]:
                far = find_extreme_rows(rows)
                Y, rated = np.empty((rows.shape[0], self._n_features_out), dtype), None
                rated = np.empty(rows.shape[0]) if rate else None
                for some, part in ((far, rows[far].astype(np.float64)), (~far, Q[~far])):
                    if some.any():
                        Y[some], found = self._place_alike(part, dtype, rate)
                        if rated is not None:
                            rated[some] = found
                return Y, rated
        return self._place_alike(Q, dtype, rate)

    @np.errstate(over="ignore", invalid="ignore")
    def _place_alike(self, Q: Any, dtype: np.dtype[Any], rate: bool) -> tuple[Reals, Reals | None]:
        Y, used = self._transform(Q)
        placed = Y
        if Y.dtype != dtype:  # beyond the range of its type the largest number, not infinity
            limit = np.finfo(dtype).max
            placed = np.where(np.isfinite(Y), np.clip(Y, -limit, limit), Y).astype(dtype)
        return finite(placed), self._rate(Q, Y, used) if rate else None

    def _rate(self, Q: Any, Y: Reals, used: Any) -> Reals:
        """Confidence of rows at Y, by the curve of the method or of the data."""
        curve = self.left_out_.curve if hasattr(self, "left_out_") else self._general_curve()
        rated = confidence.by_curve(*self._signs(Q, Y, used), curve)
        is_known = used.nearest == 0 if isinstance(used, Neighbors) else False
        return np.where(is_known, 1.0, rated)  # a row that coincides with a training point

    def _general_curve(self) -> confidence.Curve:
        """That of the method, at the mean share of neighbors that this embedding keeps."""
        intercept, by_share, by_familiarity, by_mean = self.confidence_curve
        kept = getattr(self, "_mean_kept", 1.0)
        return intercept + by_mean * confidence.logit(kept), by_share, by_familiarity

    def _signs(self, Q: Any, Y: Reals, used: Any) -> tuple[Reals, Reals]:
        """The kept share of the neighborhood of each row, and how familiar the row is."""
        if isinstance(used, Neighbors):
            kept = confidence.kept_share(used, Y, self._embedded.X, self._scope)
            familiar = confidence.familiarity(used.nearest, self._reach)
        else:
            kept, familiar = np.ones(len(Y)), self._familiarity(Q, used)
        leading: LeadingShare | None = getattr(self, "_leading", None)
        if leading is not None and not isinstance(Q, Known):
            familiar = familiar + np.fmin(leading.familiarity(Q), 0)  # which is NaN of huge rows
        return kept, familiar

    def _leave_rows_out(self, rows: Any, y: object, wanted: int = 150) -> LeftOutRows:
        """Place parts of the training rows by fits of the others, and judge where they lie."""
        n = len(rows) if isinstance(rows, list) else rows.shape[0]
        if n < 25 or n != self.n_samples_:
            raise DataError(
                f"X has {n} rows; calibrate_confidence needs the rows of the fit, and at least 25."
            )
        # A tenth is left out, so that the fit of the others is like that of all; but at least 200,
        # if these are no more than a fifth. A share of 2000 is known to within 0.02. Where a fifth
        # is too few to know a share, up to five parts are left out of a fit each.
        count = min(n // 5, max(n // 10, 200), 2000)
        folds = min(5, -(-wanted // count))
        order = self._by_content(rows)[random.bits(0, "left out", np.arange(n)).argsort()]
        own = getattr(self, "embedding_", None)
        own = self._place(rows)[0] if own is None else own
        parts = np.array_split(order[: folds * count], folds)
        found = [self._leave_out(rows, y, own, np.sort(part)) for part in parts]
        kept, familiar, correct = map(np.concatenate, zip(*found, strict=True))
        return LeftOutRows.of(kept, familiar, correct, self._general_curve())

    def _leave_out(
        self, rows: Any, y: object, own: Reals, out: Indices
    ) -> tuple[Reals, Reals, np.ndarray]:
        """Signs of some rows that a fit of the others has not seen, and which it places well."""
        others = np.setdiff1d(np.arange(self.n_samples_), out)
        other = type(self)(**self.get_params(deep=False))
        if hasattr(self, "seed_"):  # another draw may be another map
            other.random_state = self.seed_
        for name, held in self.get_params(deep=False).items():
            if isinstance(held, np.ndarray) and held.shape[:1] == (len(own),):  # a start, weights
                part = held[others]
                setattr(other, name, part[:, others] if held.shape == (len(own),) * 2 else part)
        X, new = (take_rows(rows, some) for some in (others, out))
        if self._kind() in ("distances", "kernel", "affinity"):
            X, new = X[:, others], new[:, others]
        targets = getattr(self, "target_", None if y is None else np.asarray(y))
        other._learn(X, None if targets is None else targets[others], alone=True)
        placed = other._read(new, False)
        Y, used = other._transform(placed)
        fitted = getattr(other, "embedding_", None)
        fitted = other._place(other._read(X, False))[0] if fitted is None else fitted
        correct = confidence.placed_well(own[others], own[out], fitted, Y)
        return *other._signs(placed, Y, used), correct

    def _by_content(self, rows: Any) -> Indices:
        """Numbers of the rows, the same row in a place in whichever order they come."""
        kind, metric = self._kind(), getattr(self, "metric", "euclidean")
        if isinstance(rows, RowBlocks):
            content = rows.gather(hash_rows)
        elif kind in ("distances", "kernel", "affinity"):
            content = hash_symmetric(rows)
        else:
            named: Any = metric if kind in ("table", "objects") else "euclidean"
            content = space_of(rows, named).fingerprint()
        return np.argsort(content, kind="stable")

    def _judge(self, rows: Any, y: object, alone: bool) -> None:
        """Learn what confidence needs beyond the map, where columns are many.

        There all rows are about equally far from each other, and what a training row itself brings
        to the axes makes its coordinates larger than those of a new one. How many rows are placed
        well nonetheless is no property of the method: it is measured, where fits are short.
        """
        n, d = rows.shape
        self._leading = LeadingShare.of(rows, getattr(self, "scale_", None))
        if alone or not 50 <= n <= min(10 * d, 1500) or n * d > 2e7:
            return
        if self._own_share() > 0.015:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # the fit of all rows has said it
                self.left_out_ = self._leave_rows_out(rows, y)

    # -- rows in blocks ------------------------------------------------------------------------

    def _extend(self, X: Any) -> Reals:
        """Coordinates by the map of the training rows X, of which a fit has used some."""
        if isinstance(X, RowBlocks):
            return X.gather(_extend_to_block, self)
        return self._transform(X)[0]

    def _transform_blocks(self, X: RowBlocks, rate: bool) -> Any:
        """Arrays of Dask, whose blocks are computed when they are asked for."""
        refuse_table_output(self)
        X.check_width(self)
        k, model = self._n_features_out, self._without_names()
        if not rate:
            return X.lazy(place_block, k, X.dtype, model, False)
        both = X.lazy(place_block, k + 1, np.float64, model, True)  # so that work is done once
        return both[:, :k].astype(X.dtype), both[:, k]

    def _invert_blocks(self, Y: RowBlocks) -> Any:
        if type(self)._inverse_transform is Reducer._inverse_transform:
            self._inverse_transform(np.empty((0, self._n_features_out)))
        if Y.n_features != self._n_features_out:
            raise DataError(
                f"X has {Y.n_features} columns, but the map has {self._n_features_out} components."
            )
        return Y.lazy(_invert_block, self.n_features_in_, Y.dtype, self)

    def _read_blocks(self, X: RowBlocks, fitting: bool) -> Any:
        """Rows in blocks as they are, or in memory if they are few or a method needs them all."""
        if self._kind() not in ("rows", "objects"):
            raise UnsupportedError(
                f"{type(self).__name__} takes {self._kind()} here, and blocks hold rows; compute "
                "them, or compare rows by a metric."
            )
        X.check_width(self)
        if self.is_data_independent:
            self._float32, self._widened = X.dtype == np.float32, False
            return X
        if not len(X):
            raise DataError("the data have 0 rows, while a minimum of 1 is required.")
        if "blocks" not in self.takes or X.nbytes <= blocked.RUN_BYTES:
            rows = X.in_memory()
            return self._read(rows, True) if fitting else self._without_names()._read(rows, False)
        if fitting:
            self._float32, self._widened = X.dtype == np.float32, False
        return X

    def _without_names(self) -> Self:
        """This model without names of columns: blocks have none, and theirs were compared."""
        nameless = copy(self)
        nameless.__dict__.pop("feature_names_in_", None)
        return nameless

    # -- how -----------------------------------------------------------------------------------

    def _read(
        self, X: Any, fitting: bool, neighbors: object = None, *, check_values: bool = True
    ) -> Any:
        """Validated data of the kind that the metric means; with neighbors if given."""
        if neighbors is not None:
            return self._read_with_neighbors(X, fitting, neighbors)
        if is_blocks(X):
            return self._read_blocks(RowBlocks.of(X), fitting)
        data = validate(
            self,
            X,
            self._kind(),
            fitting=fitting,
            sparse=issparse(X) and self._takes_sparse(),
            check_values=check_values,
            reads_entries=not self.is_data_independent,
            priorities=fitting and self.takes_statistics,
        )
        dtype = getattr(data.items, "dtype", data.dtype)
        if fitting and self.takes_statistics:
            self._statistics = data.statistics
        if fitting:
            self._float32 = data.dtype == np.float32
            self._widened = dtype != data.dtype
        return data.items.astype(data.dtype) if dtype != data.dtype and not fitting else data.items

    def _read_with_neighbors(self, X: Any, fitting: bool, neighbors: object) -> Known:
        if "neighbors" not in self.takes:
            raise UnsupportedError(
                f"{type(self).__name__} does not take neighbors; leave them out."
            )
        rows = self._read(X, fitting)
        n = rows.shape[0] if fitting else self.n_samples_
        space = self.__dict__.get("_space")
        if not fitting and not isinstance(space, Listed):
            raise ParameterError(
                f"neighbors= would be ignored: this {type(self).__name__} places new rows without "
                "a search for neighbors; leave them out."
            )
        return with_neighbors(rows, neighbors, n)

    def _kind(self) -> Kind:
        """The kind of input: named by the metric or the kernel, or given affinities."""
        if getattr(self, "affinity", None) == "precomputed":
            return "affinity"
        if hasattr(self, "kernel"):
            if callable(self.kernel):
                return "objects"
            return "kernel" if self.kernel == "precomputed" else "rows"
        metric = getattr(self, "metric", "euclidean")
        if callable(metric):
            return "objects"
        kinds: dict[str, Kind] = {"precomputed": "distances", "gower": "table"}
        return kinds.get(metric, "rows")

    def _takes_sparse(self) -> bool:
        """Whether sparse rows, or a sparse matrix of what is precomputed, are taken."""
        kind = self._kind()
        if kind == "affinity":
            return True
        if kind == "distances":  # the graph of a KNeighborsTransformer
            return "neighbors" in self.takes
        named = kind == "rows" and takes_sparse(getattr(self, "metric", "euclidean"))
        return "sparse" in self.takes and named

    @contextmanager
    def _running(self, backend: str, listener: progress.Listener | None = None) -> Iterator[None]:
        """What holds for a call: its backend, its threads, and who hears of its progress."""
        with using(backend, self.n_jobs), granting(threads()):
            if listener is None and not self.verbose:
                yield
                return
            listeners = [] if listener is None else [listener]
            shown = progress.showing if self.verbose else progress.listening
            with shown(*listeners):
                yield

    @property
    def _computed(self) -> type[np.floating[Any]]:
        """The type in which the map computes."""
        return np.float32 if self._float32 and not self._widened else np.float64

    @property
    def allows_missing(self) -> bool:
        """Whether distances may be missing (NaN) from a precomputed matrix."""
        return "missing" in self.takes

    def __sklearn_is_fitted__(self) -> bool:
        return "_n_features_out" in self.__dict__

    def __setstate__(self, held: dict[str, Any]) -> None:
        """Restore a pickled or copied model; its arrays are read-only, as those of a fitted one."""
        super().__setstate__(held)
        for name in state_of(type(self)):
            freeze(self.__dict__.get(name))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kind = self._kind()
        tags.input_tags.pairwise = kind in ("distances", "kernel", "affinity")
        tags.input_tags.positive_only = kind in ("distances", "affinity")
        tags.input_tags.sparse = self._takes_sparse()
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _extend_to_block(rows: Any, model: Reducer) -> Reals:
    """A task: coordinates of training rows, in float64 or the type in which the map computes."""
    return model._transform(rows.astype(model._computed, copy=False))[0]


def place_block(rows: Any, *given: Any) -> Reals:
    """A task: coordinates of a block, and with `rate` their confidence as one more column.

    Few rows are compared with the points of a model at a time, so that their distances are small.
    """
    model, rate = given[-2:]
    held = (part for part in vars(model).values() if isinstance(part, Space))
    points = max((part.n for part in held if not isinstance(part, BlockRows)), default=1)
    found = []
    for some in chunks(rows.shape[0], points, 2**21):
        Y = model.transform(rows[some], return_confidence=rate)
        found.append(np.column_stack(Y) if rate else Y)
    return np.concatenate(found)


def _invert_block(Y: Reals, where: Where, model: Reducer) -> Reals:  # noqa: ARG001
    return np.asarray(model.inverse_transform(Y))


def freeze(held: Any) -> None:
    """Make every array within a learned attribute read-only, so that nobody changes the model."""
    if isinstance(held, np.ndarray):
        held.setflags(write=False)
    elif issparse(held):
        held.data.setflags(write=False)
    elif isinstance(held, Held):
        freeze(list(vars(held).values()))
    elif isinstance(held, dict | list | tuple):
        for part in held.values() if isinstance(held, dict) else held:
            freeze(part)


def finite(Y: Reals) -> Reals:
    """The result of a map, which is finite for any point that the model can hold."""
    bounded = np.isfinite(Y)
    if not bounded.all():
        row = int(np.argmin(bounded.all(1)))
        raise DataError(
            f"the coordinates of row {row} are beyond the range of {Y.dtype}; look whether the row "
            "is in the units of the training data, and whether the model is as it was saved."
        )
    return Y
