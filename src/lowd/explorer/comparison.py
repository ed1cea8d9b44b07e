"""Compare a selection with the other rows: which columns differ most, by effect size."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from .columns import PageColumn
from .session import Session

MAX_COMPARED_COLUMNS = 50
# Rows of each side: the standard error is then 0.002 standard deviations.
MAX_COMPARED_ROWS = 200_000


def compare_selection(session: Session, rows: NDArray[np.int64]) -> dict[str, object]:
    """Effect sizes of all columns: Cohen's d for numbers, difference of shares for categories."""
    is_selected = np.zeros(session.n, bool)
    is_selected[rows] = True
    others = np.flatnonzero(~is_selected)
    found = []
    if len(others):
        inside, outside = _thin(rows), _thin(others)
        for column in session.columns:
            entry = None
            if column.kind == "number":
                entry = _compare_numbers(column, inside, outside)
            elif column.kind == "category":
                entry = _compare_shares(column, inside, outside)
            if entry is not None:
                found.append(entry)
    found.sort(key=lambda entry: -abs(entry["effect"]))  # type: ignore[arg-type]
    return {
        "selected": len(rows),
        "rest": len(others),
        "columns": found[:MAX_COMPARED_COLUMNS],
    }


def _thin(rows: NDArray[np.int64]) -> NDArray[np.int64]:
    return rows[:: -(-len(rows) // MAX_COMPARED_ROWS)]


def compute_cohens_d(inside: NDArray[np.float64], outside: NDArray[np.float64]) -> float:
    """Difference of the means in units of the pooled standard deviation.

    >>> round(compute_cohens_d(np.array([2.0, 4.0]), np.array([1.0, 3.0])), 4)
    0.7071
    """
    gap = float(inside.mean() - outside.mean())
    a, b = len(inside), len(outside)
    squares = np.square(inside - inside.mean()).sum() + np.square(outside - outside.mean()).sum()
    pooled = float(np.sqrt(squares / max(a + b - 2, 1)))
    if pooled == 0:
        return 0.0 if gap == 0 else float(np.copysign(np.finfo(np.float32).max, gap))
    return gap / pooled


def _compare_numbers(
    column: PageColumn, inside: NDArray[np.int64], outside: NDArray[np.int64]
) -> dict[str, object] | None:
    a, b = (np.asarray(column.values[rows], np.float64) for rows in (inside, outside))
    a, b = a[np.isfinite(a)], b[np.isfinite(b)]
    if not len(a) or not len(b):
        return None
    effect = compute_cohens_d(a, b)
    word = "higher" if effect > 0 else "lower" if effect < 0 else "equal"
    return {
        "column": column.key,
        "name": column.name,
        "kind": "number",
        "effect": effect,
        "text": f"{column.name} is {word}: {a.mean():.4g} against {b.mean():.4g}",
        "selected": float(a.mean()),
        "rest": float(b.mean()),
        "category": None,
        "measure": "Cohen's d",
    }


def _compare_shares(
    column: PageColumn, inside: NDArray[np.int64], outside: NDArray[np.int64]
) -> dict[str, object] | None:
    """The category whose share differs most."""
    size = len(column.categories)
    if not size:
        return None
    # Code 0 then stands for missing values.
    both = (column.values[rows] + 1 for rows in (inside, outside))
    counts = [np.bincount(codes, minlength=size + 1) for codes in both]
    shares = [count[1:] / max(count.sum(), 1) for count in counts]
    gap = shares[0] - shares[1]
    most = int(np.abs(gap).argmax())
    name = column.categories[most]
    a, b = float(shares[0][most]), float(shares[1][most])
    return {
        "column": column.key,
        "name": column.name,
        "kind": "category",
        "effect": float(gap[most]),
        "text": f"{column.name} is {name!r} in {a:.0%} against {b:.0%}",
        "selected": a,
        "rest": b,
        "category": name,
        "measure": "difference of shares",
    }
