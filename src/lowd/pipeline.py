"""`Pipeline`: preprocessing and a method as one model, saved and loaded as one file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import field
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.sparse import csr_array, issparse

from . import confidence, random
from .backend import chunks
from .errors import DataError, ParameterError, UnsupportedError
from .input.entries import column_kinds, drop_columns, is_table
from .input.validation import describe_entry
from .methods.pca import PCA
from .parameters import Count, Held, Indices, Reals, check_count, state
from .reducer import Reducer
from .spaces import space_of

# Parameters that are steps, in the order in which they run.
STEP_PARAMETERS = ("drop", "impute", "normalize", "log1p", "scale", "pca", "correct_shrinkage")


class Step(Held):
    """A step of preprocessing, learned from the training rows. It takes each row by itself."""

    def apply(self, X: Any) -> Any:
        """Rows after this step."""
        raise NotImplementedError

    def invert(self, X: Reals) -> Reals:
        """Rows before it, as far as they are determined."""
        raise NotImplementedError


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
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    method_ : Reducer
        The fitted method.
    preparation_ : Preparation
        All steps with what they have learned: `preparation_.apply(X)` prepares rows.
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

    method_: Reducer = state()
    preparation_: Preparation = state()
    text_columns_: tuple[str, ...] = state()

    def get_steps(self) -> dict[str, Any]:
        """The steps that are on, by parameter."""
        return {name: value for name in STEP_PARAMETERS if (value := getattr(self, name))}

    def prepare(self, X: ArrayLike, *, training: bool = False) -> Any:
        """The rows as the method takes them: after all steps, before the method.

        `training` leaves out the correction for shrinkage, which is for new points.
        """
        with self._running(self.backend):
            return self._prepare(self._read(X, False), training)

    @property
    def steps_(self) -> tuple[Step, ...]:
        """The steps before PCA with what they have learned."""
        return self.preparation_.steps

    @property
    def pca_(self) -> PCA | None:
        """The fitted PCA, or None."""
        return self.preparation_.pca

    @property
    def shrinkage_slopes_(self) -> Reals | None:
        """Size of left-out scores relative to fitted ones, by component, if that is corrected."""
        return self.preparation_.slopes

    def get_feature_names_out(self, input_features: ArrayLike | None = None) -> NDArray[np.object_]:
        """The names of the method's coordinates: tsne0, tsne1."""
        names: NDArray[np.object_] = self.method_.get_feature_names_out(input_features)
        return names

    # -- the fit -------------------------------------------------------------------------------

    def _read(
        self, X: Any, fitting: bool, neighbors: object = None, *, check_values: bool = True
    ) -> Any:
        """Rows without the columns of text that are left out; NaN stays where it is imputed."""
        if fitting:
            columns = column_kinds(X) if is_table(X) and self.drop else {}
            text = (name for name in self.drop or () if columns.get(name, "number") != "number")
            self.text_columns_ = tuple(text)
        if is_table(X):
            X = drop_columns(X, self.text_columns_)
        checked = check_values and self.impute is None
        rows = super()._read(X, fitting, neighbors, check_values=checked)
        if self.impute is not None and (infinite := np.isinf(rows)).any():
            row, column = map(int, np.argwhere(infinite)[0])
            raise DataError(describe_entry(self, rows, (row, column)))
        return rows

    def _fit(self, X: Any, y: Any, seed: int) -> Reals:  # noqa: ARG002
        kind = self.method._kind()
        if kind not in ("rows", "objects"):
            raise UnsupportedError(
                f"Pipeline prepares rows, and {type(self.method).__name__} takes {kind} here; fit "
                "it alone."
            )
        if self.correct_shrinkage and self.pca is None:
            raise ParameterError(
                "Pipeline(correct_shrinkage=True) needs pca=..., whose components it corrects.",
                "correct_shrinkage",
            )
        self.preparation_ = Preparation.learn(
            X, **self._index_columns(X), backend=self.backend, n_jobs=self.n_jobs
        )
        self.method_ = type(self.method)(**self.method.get_params(deep=False))
        return np.asarray(self.method_._learn(self._prepare(X, training=True), embed=True))

    def _index_columns(self, X: Any) -> dict[str, Any]:
        """The parameters that are steps, with columns by index."""
        names, d = getattr(self, "feature_names_in_", None), X.shape[1]
        numeric = [column for column in self.drop or () if column not in self.text_columns_]
        log1p = self.log1p
        if not isinstance(log1p, bool):
            log1p = find_columns(log1p, names, d, "log1p")
        steps = {name: getattr(self, name) for name in STEP_PARAMETERS}
        return steps | {"drop": find_columns(numeric, names, d, "drop"), "log1p": log1p}

    # -- new points ----------------------------------------------------------------------------

    def _prepare(self, X: Any, training: bool = False) -> Any:
        """Rows after all steps, in the type of the training rows."""
        dtype = np.dtype(np.float32 if self._float32 else np.float64)
        return self.preparation_.apply(X, dtype, training=training)

    def _transform(self, Q: Any) -> tuple[Reals, Any]:
        prepared = self._prepare(Q).astype(self.method_._computed, copy=False)
        Y, used = self.method_._transform(prepared)
        return Y, (prepared, used)

    def _rate(self, Q: Any, Y: Reals, used: Any) -> Reals:  # noqa: ARG002
        prepared, found = used
        return self.method_._rate(prepared, Y, found)

    def calibrate_confidence(self, X: ArrayLike, y: object = None) -> Pipeline:
        """As of the method, on the prepared rows: the steps stay as they are."""
        self.method_.calibrate_confidence(self.prepare(X), y)
        return self

    @property
    def confidence_basis_(self) -> str:
        """What the confidence of new points is calibrated by."""
        return self.method_.confidence_basis_

    def _inverse_transform(self, Y: Reals) -> Reals:
        if self.normalize:
            raise UnsupportedError(
                "this Pipeline has no inverse: normalize=True takes away the totals of the rows."
            )
        return self.preparation_.invert(np.asarray(self.method_.inverse_transform(Y), np.float64))

    # -- what it takes, and what it costs ------------------------------------------------------

    def _takes_sparse(self) -> bool:
        return self.impute is None and (self.pca is not None or self.method._takes_sparse())

    def _plan(self, n: int, d: int, itemsize: int) -> dict[str, int]:
        plan = {"prepared rows": n * d * 8} if set(self.get_steps()) - {"pca"} else {}
        if self.pca is not None:
            k = min(self.pca, n, d)
            plan |= PCA(k)._plan(n, d, itemsize)
            d = k
        inner = self.method._plan(n, d, itemsize)
        return {**plan, **{f"{name} of the method": size for name, size in inner.items()}}


class Columns(Reducer):
    """The columns themselves as coordinates, for data of one or two columns.

    Such data need no map: they are drawn as they are, and new rows beside them.

    Parameters
    ----------
    backend : {"auto", "native", "torch"}, default="auto"
        What computes: the native core, or torch, on a GPU if there is one. "auto" is the native
        core, unless X is a tensor on a GPU.
    n_jobs : int or None, default=None
        Number of threads, which does not change the result. None and -1 are all CPUs.
    verbose : bool or int, default=False
        Show a progress bar on standard error.

    Attributes
    ----------
    embedding_ : ndarray of shape (n_samples, n_features)
        The training rows.

    Examples
    --------
    >>> import lowd
    >>> X = [[1.0, 8.0], [2.0, 9.0], [4.0, 3.0]]
    >>> lowd.Columns().fit_transform(X).tolist() == X
    True
    """

    _sampled: confidence.SampledRows = state()

    def _fit(self, X: Any, y: Any, seed: int) -> Reals:  # noqa: ARG002
        self._sampled = confidence.SampledRows.of(X)
        return np.asarray(X)

    def _transform(self, Q: Any) -> tuple[Reals, None]:
        return np.asarray(Q), None

    def _inverse_transform(self, Y: Reals) -> Reals:
        return Y

    def _familiarity(self, Q: Any, used: None) -> Reals:  # noqa: ARG002
        return self._sampled.familiarity(Q)


def find_columns(
    wanted: Sequence[Any], names: NDArray[np.object_] | None, d: int, what: str
) -> list[int]:
    """Indices of columns that are given by name or by index."""
    index = {} if names is None else {name: j for j, name in enumerate(names)}
    found = []
    for column in wanted:
        if isinstance(column, str):
            if names is None:
                raise ParameterError(
                    f"Pipeline({what}=...): the rows have no column names, so name {column!r} by "
                    "its index.",
                    what,
                )
            if column not in index:
                raise ParameterError(f"Pipeline({what}=...): there is no column {column!r}.", what)
            found.append(index[column])
        elif isinstance(column, int | np.integer) and 0 <= column < d:
            found.append(int(column))
        else:
            raise ParameterError(
                f"Pipeline({what}=...): {column!r} is not a name, nor an index below {d}.", what
            )
    return found


# -- preparation ----------------------------------------------------------------------------------


class Preparation(Held):
    """All that happens to rows before a method, as it was learned from the training rows.

    >>> import numpy as np
    >>> X = np.array([[1.0, 100.0], [2.0, 300.0], [3.0, np.nan]])
    >>> Preparation.learn(X, impute="mean", scale=True).apply(X).round(2).tolist()
    [[-1.22, -1.22], [0.0, 1.22], [1.22, 0.0]]
    """

    steps: tuple[Step, ...] = state()
    pca: PCA | None = state()
    slopes: Reals | None = state("n_axes")

    @classmethod
    def learn(
        cls,
        X: Any,
        *,
        pca: int | None = None,
        correct_shrinkage: bool = False,
        backend: str = "auto",
        n_jobs: int | None = None,
        **steps: Any,
    ) -> Preparation:
        """Learn from training rows; columns are given by index."""
        X = X if issparse(X) else np.ascontiguousarray(X)  # sums depend on the order in memory
        made = cls()
        made.steps, made.pca, made.slopes = learn_steps(X, **steps), None, None
        if pca is not None:
            Z = made.apply(X, np.dtype(np.float32 if X.dtype == np.float32 else np.float64))
            most = f"n_samples={Z.shape[0]}, {Z.shape[1]} prepared columns"
            check_count(pca, min(Z.shape), "pca", most)
            made.pca = PCA(pca, backend=backend, n_jobs=n_jobs)
            made.pca._learn(Z, alone=True)
            if correct_shrinkage:
                made.slopes = shrinkage_slopes(Z, made.pca)
        return made

    def apply(self, X: Any, dtype: DTypeLike = np.float64, *, training: bool = False) -> Any:
        """Rows after all steps, and on the components if there are any.

        `training` leaves out the correction for shrinkage, which is for new points.
        """
        for step in self.steps:
            X = step.apply(X)
        X = X.astype(dtype) if issparse(X) else np.ascontiguousarray(X, dtype)
        if self.pca is None:
            return X
        scores = self.pca.transform(X)
        if self.slopes is None or training:
            return scores
        # A component whose left-out scores are smaller than a tenth is noise, and stays as it is.
        stretched = (self.slopes > 0.1) & (self.slopes < 1)
        return np.asarray(scores / np.where(stretched, self.slopes, 1.0), dtype)

    def invert(self, X: Reals) -> Reals:
        """Rows before all steps, as far as they are determined."""
        if self.pca is not None:
            X = np.asarray(self.pca.inverse_transform(X), np.float64)
        for step in reversed(self.steps):
            X = step.invert(X)
        return X


def learn_steps(
    X: Any,
    *,
    drop: Sequence[int] = (),
    impute: str | None = None,
    normalize: bool = False,
    log1p: bool | Sequence[int] = False,
    scale: bool = False,
) -> tuple[Step, ...]:
    """Each step from the rows as the steps before it leave them; columns are those of X."""
    kept = np.setdiff1d(np.arange(X.shape[1]), drop)
    if not len(kept):
        raise DataError("Pipeline(drop=...) leaves no column.")
    learning: list[Callable[[Any], Step]] = []
    if len(kept) < X.shape[1]:
        learning.append(lambda X: SelectColumns(X, kept))
    if impute is not None:
        learning.append(lambda X: FillMissing(X, impute))
    if normalize:
        learning.append(NormalizeTotals)
    if log1p is True:
        learning.append(lambda X: LogColumns(X, None))
    elif log1p:
        columns = np.searchsorted(kept, [j for j in log1p if j in kept])
        learning.append(lambda X: LogColumns(X, columns))
    if scale:
        learning.append(StandardizeColumns)
    steps: list[Step] = []
    for learn in learning:
        steps.append(learn(X))
        X = steps[-1].apply(X)
    return tuple(steps)


class SelectColumns(Step):
    """Leave columns out; the inverse gives these their means."""

    kept: Indices = state("n_kept of n_columns")
    means: Reals = state("n_columns")

    def __init__(self, X: Any, kept: Indices) -> None:
        with np.errstate(invalid="ignore"):
            means = column_means(X)
        self.kept, self.means = kept, np.where(np.isfinite(means), means, 0.0)

    def apply(self, X: Any) -> Any:
        return X[:, self.kept]

    def invert(self, X: Reals) -> Reals:
        whole = np.tile(self.means, (len(X), 1))
        whole[:, self.kept] = X
        return whole


class FillMissing(Step):
    """Replace NaN by the mean or the median of the training column."""

    values: Reals = state("n_columns")

    def __init__(self, X: Reals, by: str) -> None:
        known = (~np.isnan(X)).any(0)
        if not known.all():
            column = int(np.argmin(known))
            raise DataError(f"column {column} has no value at all; leave it out (drop=[{column}]).")
        values = np.nanmedian(X, 0) if by == "median" else np.nanmean(X, 0)
        self.values = np.asarray(values, np.float64)

    def apply(self, X: Any) -> Any:
        return np.where(np.isnan(X), self.values, X)

    def invert(self, X: Reals) -> Reals:
        return X


class NormalizeTotals(Step):
    """Divide each row of counts by its total (library size), times the median training total."""

    total: float = state()

    def __init__(self, X: Any) -> None:
        totals = row_totals(X)
        if not (totals > 0).any():
            raise DataError("normalize=True: no row has a positive total; are these counts?")
        self.total = float(np.median(totals[totals > 0]))

    def apply(self, X: Any) -> Any:
        totals = row_totals(X)
        factor = np.divide(self.total, totals, out=np.ones(len(totals)), where=totals > 0)
        if not issparse(X):
            return X * factor[:, None]
        scaled = X.data * np.repeat(factor, np.diff(X.indptr))
        return csr_array((scaled, X.indices, X.indptr), shape=X.shape)


class LogColumns(Step):
    """log(1 + x / unit) of some columns, or of all; x below 0 counts as 0.

    The unit of a column is the median of its positive entries, as the logarithm must not depend on
    a table's units; of counts, which are all columns, it is 1.
    """

    columns: Indices | None = state("n_logged")
    units: Reals = state("n_units")

    def __init__(self, X: Any, columns: Indices | None) -> None:
        self.columns, self.units = columns, np.ones(1)
        if columns is not None:
            part = X[:, columns].toarray() if issparse(X) else X[:, columns]
            medians = (np.median(x[x > 0]) if (x > 0).any() else 1.0 for x in part.T)
            self.units = np.array([float(median) for median in medians])

    def apply(self, X: Any) -> Any:
        if issparse(X) and self.columns is None:
            logs = np.log1p(np.maximum(X.data.astype(np.float64), 0))
            return csr_array((logs, X.indices, X.indptr), shape=X.shape)
        Z = np.array(X.toarray() if issparse(X) else X, np.float64)
        where = slice(None) if self.columns is None else self.columns
        Z[:, where] = np.log1p(np.maximum(Z[:, where], 0) / self.units)
        return Z

    def invert(self, X: Reals) -> Reals:
        Z = np.array(X, np.float64)
        where = slice(None) if self.columns is None else self.columns
        Z[:, where] = np.expm1(Z[:, where]) * self.units
        return Z


class StandardizeColumns(Step):
    """Subtract the mean (of dense rows) and divide by the standard deviation of each column."""

    means: Reals | None = state("n_columns")
    deviations: Reals = state("n_columns")

    def __init__(self, X: Any) -> None:
        means = column_means(X)
        deviations = np.sqrt(column_variances(X, means))
        varies = deviations > 1e-13 * np.abs(means)  # and not by rounding alone
        self.deviations = np.where(varies, deviations, 1.0)
        self.means = None if issparse(X) else means

    def apply(self, X: Any) -> Any:
        if self.means is not None:
            return ((X.toarray() if issparse(X) else X) - self.means) / self.deviations
        if not issparse(X):
            return X / self.deviations
        scaled = X.data / self.deviations[X.indices]
        return csr_array((scaled, X.indices, X.indptr), shape=X.shape)

    def invert(self, X: Reals) -> Reals:
        scaled = X * self.deviations
        return scaled if self.means is None else scaled + self.means


def column_means(X: Any) -> Reals:
    """The mean of each column, of sparse rows too."""
    sums = X.sum(0, dtype=np.float64) if issparse(X) else column_sums(X)
    return np.asarray(np.asarray(sums, np.float64).ravel() / X.shape[0])


def column_sums(X: Reals, few: int = 2**24) -> Reals:
    """The sum of each column: of few entries in the order of their size, whatever that of rows."""
    if X.size > few:
        return np.asarray(X.sum(0, dtype=np.float64))
    return np.asarray(np.sort(X, 0).sum(0, dtype=np.float64))


def column_variances(X: Any, means: Reals) -> Reals:
    """The variance of each column around its mean, so that an offset does not take the digits."""
    n, d = X.shape
    if issparse(X):
        gaps = X.data.astype(np.float64) - means[X.indices]
        held = np.bincount(X.indices, np.square(gaps), minlength=d)
        stored = np.bincount(X.indices, minlength=d)
        return np.asarray((held + (n - stored) * np.square(means)) / n)
    total = np.zeros(d)
    for some in chunks(n, d, 2**24):
        total += column_sums(np.square(X[some].astype(np.float64) - means))
    return np.asarray(total / n)


def row_totals(X: Any) -> Reals:
    """The sum of each row."""
    return np.asarray(X.sum(1, dtype=np.float64)).ravel()


def shrinkage_slopes(X: Any, pca: PCA, folds: int = 10) -> Reals:
    """Left-out scores relative to fitted ones, for each component (Lee, Zou and Wright, 2010).

    Components that are fitted to few rows of many columns also fit their noise: the scores of the
    training rows are too large, and those of new rows are smaller by a slope that falls with the
    eigenvalue. Components of the other rows are rotated to those of all rows before they are
    compared, since components with similar eigenvalues mix.
    """
    n, k = X.shape[0], int(pca.n_components_)
    scores = np.asarray(pca.transform(X), np.float64)
    order = space_of(X).order()[random.bits(0, "shrinkage", np.arange(n)).argsort()]
    covered = np.zeros(k)
    for fold in range(min(folds, n)):
        left_out = np.sort(order[fold::folds])
        others = np.setdiff1d(np.arange(n), left_out)
        part = PCA(min(k, len(others) - 1), backend=pca.backend, n_jobs=pca.n_jobs)
        part._learn(X[others], alone=True)
        inner = np.asarray(part.transform(X[others]), np.float64)
        U, _, V = np.linalg.svd(inner.T @ scores[others], full_matrices=False)
        projected = np.asarray(part.transform(X[left_out]), np.float64) @ (U @ V)
        covered += (projected * scores[left_out]).sum(0)
    total = np.square(scores).sum(0)
    return np.asarray(np.divide(covered, total, out=np.ones(k), where=total > 0))
