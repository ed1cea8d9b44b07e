"""`Pipeline`: preprocessing and a method as one estimator, saved and loaded as one file."""

from __future__ import annotations

from dataclasses import field
from typing import Annotated, Any, Literal, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..backends import resolve
from ..backends.protocol import Array, Backend, DType, Float64, Rows
from ..core.estimator import Reducer, reducer
from ..core.fit import Context, Fit, Map
from ..core.memory import Sizes
from ..core.parameters import Count, check_count
from ..domains import Facts, Renamed, Shape
from ..errors import DataError, ParameterError, UnsupportedError
from ..input.arguments import Input, Output
from ..input.tables import column_kinds, drop_columns, is_table
from ..input.validation import Data, describe_entry
from ..methods.pca import PCA
from ..values import value
from .shrinkage import estimate_slopes, to_factors
from .steps import SelectColumns, Step, apply_steps, learn_steps

# Parameters that are steps, in the order in which they run.
STEP_PARAMETERS = ("drop", "impute", "normalize", "log1p", "scale", "pca", "correct_shrinkage")


@value
class PipelineMap:
    """Steps, principal components and a fitted method, one after the other."""

    steps: tuple[Step, ...]
    pca: Annotated[PCA, Renamed(d="kept", k="components")] | None
    # Of the components of new points, against their shrinkage.
    factors: Annotated[Float64, Shape("components")] | None
    model: Annotated[Reducer, Renamed(d="components")]

    def state_facts(self, facts: Facts) -> None:
        if self.pca is None:
            facts.equate("kept", "components")
            facts.require(self.factors is None, "factors", "None without pca")
        selects = [i for i, step in enumerate(self.steps) if isinstance(step, SelectColumns)]
        facts.require(selects in ([], [0]), "steps", "begun by the one that selects columns")
        if not selects:
            facts.equate("d", "kept")

    def __call__(self, Q: Rows, ops: Backend) -> Array:  # noqa: ARG002 - the method has its own
        return np.asarray(self.model._transform(self.prepare(Q, np.dtype(Q.dtype))))

    def prepare(self, Q: Rows, dtype: DType, is_new: bool = True) -> Rows:
        """The rows as the method takes them."""
        Z = apply_steps(self.steps, Q, dtype)
        if self.pca is None:
            return Z
        scores = np.asarray(self.pca._transform(Z))
        if self.factors is None or not is_new:
            return scores
        return np.asarray(scores * self.factors, dtype)


@value
class PipelineInverse:
    """From coordinates back through the method, the components and the steps."""

    forward: Annotated[PipelineMap, Renamed(d="k", k="d")]

    def __call__(self, Y: Array, ops: Backend) -> Array:  # noqa: ARG002
        X = np.asarray(self.forward.model.inverse_transform(Y), np.float64)
        if self.forward.pca is not None:
            X = np.asarray(self.forward.pca.inverse_transform(X), np.float64)
        for step in reversed(self.forward.steps):
            X = step.invert(X)
        return X


@reducer
class Pipeline(Reducer):
    """Preprocessing and a method as one model: `transform` takes rows as they are in the file.

    Use it where rows need preparation before they can be compared: columns in different units,
    counts, missing values, many noisy columns. What a step learns from the training rows (means,
    medians, components) is applied to new ones, and the whole is saved as one file.
    `lowd.diagnose(X).pipeline()` makes the one that suits the data.

    Steps run in this order; a parameter at its default skips its step.

    Cost: that of the method on `pca` columns, and of PCA. New points: prepared row by row, then
    mapped by the method.

    Parameters
    ----------
    method : Reducer
        The method, not fitted: `lowd.TSNE(2)`.
    drop : sequence of str or int, or None, default=None
        Columns to leave out, by name or index: identifiers, codes, constants. In a table these
        may hold text.
    impute : {"mean", "median"} or None, default=None
        Replace missing values (NaN) by the "mean" or the "median" of the training column.
    normalize : bool, default=False
        Divide each row by its total, times the median total: for counts whose totals are an effect
        of the measurement (library size of a cell, length of a text).
    log1p : bool or sequence of str or int, default=False
        True: log(1 + x) of all columns, for counts. Or the columns, by name or index, that become
        log(1 + x / m), with m the median of the positive training entries: for heavy tails.
    scale : bool, default=False
        Subtract each column's mean and divide by its standard deviation: for different units.
    pca : int or None, default=None
        Reduce to so many principal components first: for many noisy columns.
    correct_shrinkage : bool, default=False
        Divide the components of new points by slopes that left-out training rows show: with fewer
        rows than columns new points come too close to the middle. A training row that is
        transformed is then a new point, too; its own coordinates are in `embedding_`.

    Attributes
    ----------
    method_ : Reducer
        The fitted method.
    pca_ : PCA or None
        The fitted PCA, or None.
    steps_ : tuple
        The other steps with what they have learned.
    shrinkage_slopes_ : ndarray of shape (pca,) or None
        Size of left-out scores relative to fitted ones, by component; None unless
        `correct_shrinkage`.
    text_columns_ : tuple
        Columns of text among those left out.
    embedding_ : ndarray of shape (n_samples, n_components)
        Coordinates of the training rows.

    References
    ----------
    Lee, Zou and Wright (2010), Annals of Statistics 38: shrinkage of principal component scores.

    Examples
    --------
    >>> import numpy as np, lowd
    >>> X = np.random.default_rng(0).poisson(3, size=(60, 200))
    >>> model = lowd.Pipeline(lowd.PCA(2), normalize=True, log1p=True, pca=10).fit(X)
    >>> bool(np.allclose(model.transform(X), model.embedding_))
    True
    """

    method: Reducer = field(kw_only=False)
    drop: tuple[Any, ...] | list[Any] | None = None
    impute: Literal["mean", "median"] | None = None
    normalize: bool = False
    log1p: bool | tuple[Any, ...] | list[Any] = False
    scale: bool = False
    pca: Count | None = None
    correct_shrinkage: bool = False

    def get_steps(self) -> dict[str, Any]:
        """The steps that are on, by parameter."""
        return {name: value for name in STEP_PARAMETERS if (value := getattr(self, name))}

    # -- what was fitted ------------------------------------------------------------------

    @property
    def method_(self) -> Reducer:
        model: Reducer = self.map_.model
        return model

    @property
    def pca_(self) -> PCA | None:
        pca: PCA | None = self.map_.pca
        return pca

    @property
    def steps_(self) -> tuple[Step, ...]:
        steps: tuple[Step, ...] = self.map_.steps
        return steps

    def prepare(self, X: Input, *, training: bool = False) -> Output:
        """The rows as the method takes them: after all steps, before the method.

        `training` leaves out the correction for shrinkage, which is for new points.
        """
        self._check_fitted()
        ops = resolve(self.backend, self.n_jobs)
        data = self._validate(X, ops)
        return self.map_.prepare(_as_dtype(data), data.dtype, is_new=not training)

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """The names of the method's coordinates: tsne0, tsne1."""
        self._check_fitted()
        names: NDArray[np.object_] = self.method_.get_feature_names_out(input_features)
        return names

    # -- how -------------------------------------------------------------------------------

    def _takes_sparse(self) -> bool:
        return self.impute is None and (self.pca is not None or self.method._takes_sparse())

    def memory_plan(self, sizes: Sizes, /) -> dict[str, int]:
        """The prepared rows, the components, and what the method plans for its columns."""
        plan: dict[str, int] = {}
        if self._has_steps() and not sizes.is_sparse:
            plan["prepared rows"] = sizes.n * sizes.d * 8
        if self.pca is not None:
            k = min(self.pca, sizes.n, sizes.d)
            plan |= PCA(k).memory_plan(sizes)
            sizes = sizes._replace(d=k, n_entries=None)
        inner = self.method.memory_plan(sizes)
        return {**plan, **{f"{name} of the method": size for name, size in inner.items()}}

    def _has_steps(self) -> bool:
        return bool(self.drop or self.impute or self.normalize or self.log1p or self.scale)

    def _validate(
        self,
        X: Input,
        ops: Backend,
        *,
        fitting: bool = False,
        check_values: bool = True,
        priorities: bool = False,
    ) -> Data:
        if fitting:  # text can be left out, too, but not validated as rows
            kinds = column_kinds(X) if is_table(X) and self.drop else {}
            text = (name for name in self.drop or () if kinds.get(name, "number") != "number")
            self.text_columns_ = tuple(text)
        if is_table(X):
            X = drop_columns(X, self.text_columns_)
        data = super()._validate(
            X,
            ops,
            fitting=fitting,
            check_values=check_values and self.impute is None,
            priorities=priorities,
        )
        if self.impute is not None:
            infinite = np.isinf(data.items)
            if infinite.any():
                row, column = map(int, np.argwhere(infinite)[0])
                raise DataError(describe_entry(self, data.items, (row, column)))
        return data

    def _fit(self, data: Data, ctx: Context) -> Fit:  # noqa: ARG002 - steps need no operations
        kind = self.method._kind()
        if kind not in ("rows", "objects"):
            raise UnsupportedError(
                f"Pipeline prepares rows, and {type(self.method).__name__} takes {kind} here; fit "
                "it alone."
            )
        if self.correct_shrinkage and self.pca is None:
            raise ParameterError(
                "Pipeline(correct_shrinkage=True) needs pca=..., whose components it corrects."
            )
        X = _as_dtype(data)
        steps = self._learn_steps(X)
        Z = apply_steps(steps, X, data.dtype)
        pca, factors, slopes = None, None, None
        if self.pca is not None:
            most = min(Z.shape)
            check_count(self.pca, most, f"n_samples={Z.shape[0]}, {Z.shape[1]} prepared columns")
            pca = PCA(self.pca, backend=self.backend, n_jobs=self.n_jobs).fit(Z)
            if self.correct_shrinkage:
                slopes = estimate_slopes(Z, pca)
                factors = to_factors(slopes)
        inner = self.method._blank()
        forward = PipelineMap(steps, pca, factors, inner)
        Z = Z if pca is None else np.asarray(pca._transform(Z))
        Y = np.asarray(inner._learn(Z, embed=True))
        report = {"n_components": inner._n_features_out, "shrinkage_slopes": slopes}
        return Fit(Y, forward, report)

    def _learn_steps(self, X: Rows) -> tuple[Step, ...]:
        """The steps before PCA, with columns by index."""
        names, d = getattr(self, "feature_names_in_", None), X.shape[1]
        numeric = [column for column in self.drop or () if column not in self.text_columns_]
        log1p = self.log1p
        if not isinstance(log1p, bool):
            log1p = _find_columns(log1p, names, d, "log1p")
        return learn_steps(
            X,
            drop=_find_columns(numeric, names, d, "drop"),
            impute=self.impute,
            normalize=self.normalize,
            log1p=log1p,
            scale=self.scale,
        )

    def _transform(self, X: Input, confident: bool = False) -> Output:
        ops = resolve(self.backend, self.n_jobs)
        with self._reporting():
            data = self._validate(X, ops)
            return self.method_._transform(
                self.map_.prepare(_as_dtype(data), data.dtype), confident
            )

    def _confidence(self, data: Data, ops: Backend, Y: Array | None = None) -> Array:  # noqa: ARG002
        rows = self.map_.prepare(_as_dtype(data), data.dtype)
        return np.asarray(self.method_._transform(rows, True)[1])

    def calibrate_confidence(self, X: Input) -> Self:
        """As of the method, on the prepared rows: the steps stay as they are."""
        self._check_fitted()
        ops = resolve(self.backend, self.n_jobs)
        data = self._validate(X, ops)
        self.method_.calibrate_confidence(self.map_.prepare(_as_dtype(data), data.dtype, False))
        return self

    @property
    def confidence_basis_(self) -> str:
        """What the confidence of new points is calibrated by."""
        return self.method_.confidence_basis_

    def _keep_support(self, *_: object) -> None:
        """Confidence is the method's, among the prepared rows."""

    def _check_support(self) -> None:
        self.method_._check_support()

    def _inverse_map(self) -> Map | None:
        possible = all(step.is_invertible for step in self.steps_)
        if not possible or self.method_._inverse_map() is None:
            return None
        return PipelineInverse(self.map_)

    @property
    def no_inverse(self) -> str:  # type: ignore[override]
        """Why there is no `inverse_transform`."""
        if self.normalize:
            return "normalize=True takes away the totals of the rows."
        return self.method.no_inverse


def _as_dtype(data: Data) -> Rows:
    """The rows in the type that they came in: a fit may have widened them, a transform does not."""
    if data.items.dtype == data.dtype:
        return data.items
    return data.items.astype(data.dtype)


def _find_columns(
    wanted: tuple[Any, ...] | list[Any], names: NDArray[np.object_] | None, d: int, what: str
) -> list[int]:
    """Indices of columns that are given by name or by index."""
    index = {} if names is None else {name: j for j, name in enumerate(names)}
    found = []
    for column in wanted:
        if isinstance(column, str):
            if names is None:
                raise ParameterError(
                    f"Pipeline({what}=...): the rows have no column names, so name {column!r} by "
                    "its index."
                )
            if column not in index:
                raise ParameterError(f"Pipeline({what}=...): there is no column {column!r}.")
            found.append(index[column])
        elif isinstance(column, int | np.integer) and 0 <= column < d:
            found.append(int(column))
        else:
            raise ParameterError(
                f"Pipeline({what}=...): {column!r} is no name and no index below {d}."
            )
    return found
