"""How rows were prepared before the fit, and which findings on the data that settles."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from ..core.estimator import Reducer
from ..methods.pca import PCA
from ..pipeline import Pipeline

if TYPE_CHECKING:
    from ..evidence.diagnosis import Finding

MAX_LISTED_COLUMNS = 5  # of a step, in a sentence


def list_steps(model: Reducer, standardized: bool = False) -> dict[str, object]:
    """Steps of preprocessing that were applied, by the names that `lowd.Pipeline` gives them.

    >>> import lowd
    >>> list_steps(lowd.Pipeline(lowd.TSNE(2), scale=True, pca=30))
    {'scale': True, 'pca': 30}
    """
    steps: dict[str, object] = {}
    method = model
    if isinstance(model, Pipeline):
        params = model.get_params(deep=False)
        names = ("drop", "impute", "normalize", "log1p", "scale", "pca", "correct_shrinkage")
        steps = {name: params[name] for name in names if params[name]}
        method = model.method
    if standardized or (isinstance(method, PCA) and method.scale):
        steps["scale"] = True
    return steps


def describe_steps(steps: Mapping[str, object]) -> str:
    """The steps in a sentence, for below the title.

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


def describe_remedy(finding: Finding, steps: Mapping[str, object]) -> str | None:
    """What the preparation has done about a finding; None if that is not what it calls for."""
    if finding.severity == "fine" or finding.topic != "scale" or not steps.get("scale"):
        return None
    return "Done: columns were standardized before the fit."
