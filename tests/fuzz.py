"""A process that loads mutated models and maps new points with what loads.

`python fuzz.py FOLDER` reads jobs from its standard input and answers each by one line of JSON, so
that whoever started it sees at which job it died.
"""

from __future__ import annotations

import faulthandler
import json
import sys
import warnings
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))  # the tests share `cases`, which is no package

import lowd
from cases import CASES, Case, take
from lowd.errors import LowdError, StoreError
from mutations import mutate

MAX_ADDRESS_SPACE = 6 * 2**30  # a model of a few kilobytes that takes more has been believed
REFUSALS = (ValueError, TypeError, AttributeError, LookupError, ArithmeticError)
PIPELINE = Case(
    "Pipeline",
    "Pipeline",
    {
        "method": lowd.KernelPCA(2, kernel="rbf"),
        "drop": [1],
        "impute": "mean",
        "log1p": [2, 3],
        "scale": True,
        "pca": 3,
        "correct_shrinkage": True,
    },
)
# A callable is code, which is never stored.
FUZZED = {
    case.name: case
    for case in [*CASES, PIPELINE]
    if not any(map(callable, (case.params.get("metric"), case.params.get("kernel"))))
}


def judge(path, case, expected):
    """What became of a file: refused, mapped (the same or changed), or the fault that it caused."""
    X, Q = case.data()
    try:
        model = lowd.load(path)
    except StoreError as error:
        return "refused" if str(path) in str(error) else f"FAULT refusal without a name: {error}"
    except BaseException as error:
        return f"FAULT load raises {type(error).__name__}: {error}"
    outcomes = [
        _attempt(lambda: model.transform(Q, return_confidence=True), model),
        _attempt(lambda: model.transform(take(X, [0, 1, 2])), model),
        _attempt(lambda: model.inverse_transform(expected), model, inverse=True),
    ]
    if hasattr(model, "partial_fit"):
        outcomes.append(_attempt(lambda: model.partial_fit(X).transform(Q), model))
    faults = [outcome for outcome in outcomes if isinstance(outcome, str) and outcome != "error"]
    if faults:
        return faults[0]
    first = outcomes[0]
    if isinstance(first, str):
        return "an error of lowd at transform"
    return "same" if np.array_equal(first, expected) else "changed"


def _attempt(call, model, *, inverse=False):
    """A finite result, "error" if lowd, the core or NumPy refused, or a fault in words.

    The digest tells accidents. A file that was forged need not be refused in a good sentence, but
    it must neither crash nor give a wrong result.
    """
    try:
        found = call()
    except (LowdError, *REFUSALS):
        return "error"
    except BaseException as error:
        return f"FAULT {type(error).__name__}: {error}"
    Y, confidence = found if isinstance(found, tuple) else (found, np.zeros(0))
    if not inverse and Y.shape[1:] != (model._n_features_out,):
        return f"FAULT shape {Y.shape}"
    if not np.isfinite(Y).all():
        return "FAULT NaN or infinity"
    if not ((confidence >= 0) & (confidence <= 1)).all():
        return "FAULT confidence outside [0, 1]"
    return np.asarray(Y)


def serve(folder):
    """Answer jobs "case seed" from standard input."""
    warnings.simplefilter("ignore")
    faulthandler.disable()
    try:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MAX_ADDRESS_SPACE, MAX_ADDRESS_SPACE))
    except ImportError:  # Windows
        pass
    files = {path.stem: path.read_bytes() for path in sorted(Path(folder).glob("*.lowd"))}
    expected = {name: lowd.load(Path(folder) / f"{name}.lowd") for name in files}
    expected = {name: m.transform(FUZZED[name].data()[1]) for name, m in expected.items()}
    target = Path(folder) / f"mutated-{id(files)}-{np.random.default_rng().integers(2**62)}"
    print(json.dumps("ready"), flush=True)
    for line in sys.stdin:
        name, seed = line.split()
        data, done = mutate(files[name], files, (sorted(FUZZED).index(name), int(seed)))
        target.write_bytes(data)
        outcome = judge(target, FUZZED[name], expected[name])
        print(json.dumps([name, int(seed), outcome, done]), flush=True)
    target.unlink(missing_ok=True)


if __name__ == "__main__":
    serve(sys.argv[1])
