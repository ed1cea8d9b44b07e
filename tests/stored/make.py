"""Write a small model of every case, and where it puts new rows: `python tests/stored/make.py`.

The files are named after the version that wrote them and are never overwritten: what one version
has written, every later one must read.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE.parent))


def make() -> None:
    import lowd
    from cases import CASES, fit, take

    answers = HERE / f"{lowd.__version__}.npz"
    if answers.exists():
        raise SystemExit(f"{answers.name} is there; stored models are never written again.")
    rows, kept, seen = list(range(25)), {}, set()
    for case in CASES:
        if any(map(callable, case.params.values())):
            continue  # code is not stored
        for dtype in case.dtypes if case.method not in seen else case.dtypes[:1]:
            X, Q = (take(A, rows[:size]) for A, size in zip(case.data(dtype), (25, 4), strict=True))
            if case.source in ("distances", "kernel"):
                X, Q = X[:, rows], Q[:, rows]
            model, name = fit(case.model(), X), f"{case.name}-{np.dtype(dtype)}"
            lowd.save(model, HERE / f"{lowd.__version__}-{name}.lowd")
            kept[f"{name}-new"] = Q.to_json(orient="split") if case.source == "table" else Q
            kept[f"{name}-places"] = model.transform(Q)
        seen.add(case.method)
    np.savez_compressed(answers, **kept)


if __name__ == "__main__":
    make()
