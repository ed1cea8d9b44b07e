"""Write a small model of every case, and where it puts new rows.

Usage: python tests/stored/make.py [METHOD ...]   (all methods by default)

The files are named after the version that wrote them and are never overwritten, only added to:
what one version has written, every later one must read.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))


def make(methods: list[str]) -> None:
    import lowd
    from cases import CASES, fit, take
    from lowd.errors import ParameterError

    answers = HERE / f"{lowd.__version__}.npz"
    kept, seen = {}, set()
    if answers.exists():
        with np.load(answers, allow_pickle=False) as held:
            kept = dict(held)
    for case in CASES:
        if any(map(callable, case.params.values())) or (methods and case.method not in methods):
            continue  # code is not stored
        for dtype in case.dtypes if case.method not in seen else case.dtypes[:1]:
            name = f"{case.name}-{np.dtype(dtype)}"
            path = HERE / f"{lowd.__version__}-{name}.lowd"
            if path.exists():
                continue
            try:
                X, Q = _some(case, dtype, take, 25)
                model = fit(case.model(), X)
            except ParameterError:  # more neighbors than that
                X, Q = _some(case, dtype, take, 60)
                model = fit(case.model(), X)
            lowd.save(model, path)
            kept[f"{name}-new"] = Q.to_json(orient="split") if case.source == "table" else Q
            kept[f"{name}-places"] = model.transform(Q)
        seen.add(case.method)
    np.savez_compressed(answers, **kept)


def _some(case: Any, dtype: Any, take: Any, size: int) -> tuple[Any, Any]:
    rows = list(range(size))
    X, Q = (take(A, part) for A, part in zip(case.data(dtype), (rows, rows[:4]), strict=True))
    return (X[:, rows], Q[:, rows]) if case.source in ("distances", "kernel") else (X, Q)


if __name__ == "__main__":
    make(sys.argv[1:])
