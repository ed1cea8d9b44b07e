"""How rows were prepared before the fit, and which findings on the data that settles."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias

from ..methods.pca import PCA
from ..pipeline import Pipeline
from ..reducer import Reducer

if TYPE_CHECKING:
    from ..evidence.diagnosis import Finding

Columns: TypeAlias = Sequence[str] | None  # the names of the columns that were fitted

MAX_LISTED_COLUMNS = 5  # Most columns of a step named in a sentence.
# The step that a finding calls for when the user has decided it, so that it has no action.
STEP_OF_TOPIC = {
    "scale": "scale",
    "missing": "impute",
    "counts": "log1p",
    "skewness": "log1p",
    "noise": "pca",
    "hubness": "pca",
}


def list_steps(model: Reducer, standardized: bool = False) -> dict[str, object]:
    """Steps of preprocessing that were applied, by the names that `lowd.Pipeline` gives them.

    >>> import lowd
    >>> list_steps(lowd.Pipeline(lowd.TSNE(2), scale=True, pca=30))
    {'scale': True, 'pca': 30}
    """
    is_chain = isinstance(model, Pipeline)
    steps: dict[str, object] = dict(model.get_steps()) if is_chain else {}
    method = model.method if is_chain else model
    if standardized or (isinstance(method, PCA) and method.scale):
        steps["scale"] = True
    return steps


def describe_steps(steps: Mapping[str, object]) -> str:
    """Describe the steps in a sentence that stands below the title.

    >>> describe_steps({"drop": ("id",), "scale": True, "pca": 30})
    ' Prepared: id left out, columns standardized, 30 principal components.'
    """
    parts = [_describe(name, value) for name, value in steps.items()]
    return f" Prepared: {', '.join(parts)}." if parts else ""


def _describe(name: str, value: object) -> str:
    columns = _list_some(value) if isinstance(value, tuple | list) else "all columns"
    return {
        "drop": f"{columns} left out",
        "impute": f"missing values filled with the {value}",
        "normalize": "rows divided by their totals",
        "log1p": f"logarithm of {columns}",
        "scale": "columns standardized",
        "pca": f"{value} principal components",
        "correct_shrinkage": "shrinkage of new points corrected",
    }[name]


def _list_some(columns: tuple[object, ...] | list[object]) -> str:
    names = [str(column) for column in columns]
    more = len(names) - MAX_LISTED_COLUMNS
    return ", ".join(names[:MAX_LISTED_COLUMNS]) + (f" and {more} more" if more > 0 else "")


def describe_remedy(finding: Finding, steps: Mapping[str, object], columns: Columns) -> str | None:
    """Describe what the preparation did about a finding, or None if it did not address it."""
    if finding.severity == "fine":
        return None
    if finding.action is None:
        step = STEP_OF_TOPIC.get(finding.topic)
        done = _describe(step, steps[step]) if step is not None and steps.get(step) else None
        return None if done is None else f"Done: {done}."
    wanted = set(finding.action.params)
    left_out = columns is not None and not {f"column {c!r}" for c in columns} & set(
        finding.affected
    )
    taken = {name for name in wanted if steps.get(name) or (name == "drop" and left_out)}
    return f"Done: {finding.action.description}." if taken == wanted else None
