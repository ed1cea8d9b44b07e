"""Read the data of a command, and prepare new points as the training points were prepared."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any, NamedTuple, TypedDict

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..errors import DataError, ParameterError, UnsupportedError
from ..io.table import Column, Data, Table
from .console import Console
from .options import FLAGS, Arguments

if TYPE_CHECKING:
    from ..core.estimator import Reducer

# Flags that `lowd.io.read` takes as they are.
_PASSED_ON = (
    *("columns", "drop", "label", "id", "vector", "format"),
    *("missing", "every", "delimiter", "encoding", "header", "distances", "array"),
)
MAX_LABEL_CLASSES = 20  # of whole numbers: a plot shows fewer of them as classes, not as values
_METRIC_OF_CONTENT = {"distances": "precomputed", "strings": "precomputed", "table": "gower"}


def read(arguments: Arguments, console: Console, path: str | None = None, **more: Any) -> Table:
    """Read a file (see `lowd.io.read`) and print its notes."""
    from .. import io

    path = arguments["data"] if path is None else path
    progress.report(f"read {path}", 0, 1)
    table = io.read(path, **(get_read_options(arguments) | more))
    progress.report(f"read {path}", 1, 1)
    console.note(*table.notes)
    return table


def get_read_options(arguments: Arguments) -> Arguments:
    """The keywords of `lowd.io.read` that were typed."""
    options = {name: arguments.get(name) for name in _PASSED_ON}
    switches = ("encode", "gower", "dates")
    options |= {name: arguments.get(name) or None for name in switches}
    options["size"] = _parse_size(arguments.get("size"))
    return {name: value for name, value in options.items() if value is not None}


def _parse_size(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        width, height = (int(part) for part in text.lower().split("x"))
    except ValueError:
        raise ParameterError(f"--size {text!r}: expected WIDTHxHEIGHT, as 64x64.") from None
    return width, height


@dataclasses.dataclass(frozen=True)
class Preparation:
    """What is between a file and a model, saved with the model for new points.

    `mean` and `scale` are those of 0.1.0; since then the model itself is a pipeline.
    """

    kind: str
    columns: tuple[str, ...] = ()
    reading: Arguments = dataclasses.field(default_factory=dict)
    mean: NDArray[np.float64] | None = None
    scale: NDArray[np.float64] | None = None
    strings: Column | None = None
    alleles: dict[str, Column] | None = None
    levels: dict[str, list[str]] = dataclasses.field(default_factory=dict)

    def get_read_options(self) -> Arguments:
        """Keywords of `lowd.io.read` for new points: the columns are known, text is encoded."""
        same = ("gower", "dates", "vector", "size", "missing")
        kept = {n: v for n, v in self.reading.items() if n in same}
        if self.alleles is not None:
            from ..io import Alleles

            return kept | {"alleles": Alleles(**self.alleles)}
        if self.kind not in ("rows", "table") or "vector" in kept or not self.columns:
            return kept
        made = {f"{name}={level}" for name, levels in self.levels.items() for level in levels}
        names = [*(name for name in self.columns if name not in made), *self.levels]
        return kept | {"columns": names} | ({"encode": self.levels} if self.levels else {})

    def apply(self, table: Table) -> Data:
        """New points as the model takes them."""
        if self.strings is not None:
            from ..io import levenshtein

            words = _get_strings(table)
            return np.array([[levenshtein(a, str(b)) for b in self.strings] for a in words], float)
        X = table.X if self.kind in ("distances", "table") else self._select_columns(table)
        return X if self.mean is None else (X - self.mean) / self.scale

    def _select_columns(self, table: Table) -> Data:
        """The model's columns in the model's order, whatever else the file holds."""
        names = list(table.columns or ())
        if not self.columns or not names or names == list(self.columns):
            return table.X
        missing = [name for name in self.columns if name not in names]
        if missing:
            raise DataError(
                f"{table.source}: column {missing[0]!r}, which the model needs, is missing; "
                f"there are {', '.join(names[:10])}{', ...' if len(names) > 10 else ''}."
            )
        return table.X[:, [names.index(name) for name in self.columns]]

    def to_dict(self) -> dict[str, object]:
        """The fields that are set, as the store takes them."""
        fields: dict[str, object] = {"kind": self.kind, "mean": self.mean, "scale": self.scale}
        fields["reading"] = self.reading
        fields["columns"] = np.array(self.columns, object)
        fields["strings"], fields["alleles"] = self.strings, self.alleles
        fields["levels"] = self.levels or None
        return {name: value for name, value in fields.items() if value is not None}

    @classmethod
    def of_model(cls, model: Reducer) -> Preparation:
        """The preparation saved with a model; none if the model was saved from Python."""
        saved = getattr(model, "prepared_", None)
        if saved is None:
            distances = getattr(model, "metric", None) == "precomputed"
            names = getattr(model, "feature_names_in_", ())
            return cls("distances" if distances else "rows", tuple(names))
        return cls(**{**saved, "columns": tuple(saved["columns"])})


class Prepared(NamedTuple):
    """The rows of a file as a model takes them, and how new points become the same."""

    X: Data
    preparation: Preparation


class _Learned(TypedDict):
    alleles: dict[str, Column] | None
    levels: dict[str, list[str]]


def prepare(table: Table, reading: Arguments) -> Prepared:
    """The rows of a table as a model takes them: strings become distances."""
    if table.kind == "strings":
        from ..io import edit_distances

        words = _get_strings(table)
        preparation = Preparation("strings", strings=np.array(words, object))
        return Prepared(edit_distances(words), preparation)
    columns = tuple(str(name) for name in table.columns or ())
    learned = _Learned(
        alleles=None if table.alleles is None else table.alleles.select(columns)._asdict(),
        levels={name: list(levels) for name, levels in table.levels.items()},
    )
    return Prepared(table.X, Preparation(table.kind, columns, reading, **learned))


def get_steps(arguments: Arguments) -> Arguments:
    """The steps of a pipeline that were typed, also those that were switched off."""
    names = {"scale": "standardize", "normalize": "normalize", "log1p": "log1p"}
    typed = {step: arguments.get(flag) for step, flag in names.items()}
    typed |= {"correct_shrinkage": arguments.get("correct_shrinkage") or None}
    typed |= {"impute": "mean" if arguments.get("missing") == "mean" else None}
    steps = {step: value for step, value in typed.items() if value is not None}
    if (count := arguments.get("pca")) is not None:
        steps["pca"] = _parse_components(count)
    return steps


def _parse_components(text: str) -> int | None:
    if text.lower() == "none":
        return None
    if not text.isdecimal() or not int(text):
        raise ParameterError(f"--pca {text}: expected a number of components, or none.")
    return int(text)


def apply_typed_steps(table: Table, arguments: Arguments) -> Data:
    """The rows after the steps that were typed, where no model is fitted to hold them."""
    X = prepare(table, {}).X
    if not arguments.get("standardize"):
        return X
    check_steps(table, {"scale": True})
    from ..pipeline.steps import apply_steps, learn_steps

    return apply_steps(learn_steps(X, scale=True), X, np.dtype(X.dtype))


def check_steps(table: Table, steps: Arguments) -> None:
    """Raise if rows are to be prepared and there are none."""
    if any(steps.values()) and (table.kind in ("distances", "strings", "table")):
        raise UnsupportedError(
            f"--{FLAGS[next(iter(steps))]} needs a table of numbers; {table.source} holds "
            f"{table.kind}."
        )


def set_metric(model: Reducer, table: Table) -> Reducer:
    """The model with the metric that the table needs: precomputed distances, or Gower's."""
    metric = choose_metric(table)
    if metric == "euclidean" or "method" in model.get_params(deep=False):
        return model
    if "metric" not in model.get_params():
        raise UnsupportedError(
            f"{type(model).__name__} takes rows, and {table.source} holds {table.kind}; take a "
            "method of distances: classical-mds, mds, nonmetric-mds, isomap, tsne."
        )
    changed: Reducer = model.set_params(metric=metric)
    return changed


def choose_metric(table: Table) -> str:
    """The metric that a kind of file needs."""
    return _METRIC_OF_CONTENT.get(table.kind, "euclidean")


def get_classes(table: Table) -> Column | None:
    """The labels, if they are classes: class measures cannot use other numbers."""
    from ..plot.colors import is_continuous

    if table.labels is None or is_continuous(np.asarray(table.labels), MAX_LABEL_CLASSES):
        return None
    return table.labels


def _get_strings(table: Table) -> list[str]:
    if table.kind != "strings":
        raise DataError(f"{table.source}: the model was fitted on strings; this file holds none.")
    return [str(word) for word in table.X]
