"""The command of each method, and `lowd map`, which chooses one."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from .. import progress
from ..errors import DataError, LowdError
from .fields import COMMANDS, build
from .files import STDOUT, Outputs
from .reading import Prepared, metric_of, prepare, read, suited
from .talk import Talk


def fit(given: dict[str, Any], talk: Talk, outputs: Outputs) -> tuple[dict[str, Any], str]:
    """`lowd METHOD data`."""
    model = build(given["method"], given)  # a wrong flag is found before a large file is read
    table = read(given, talk)
    return _mapped(model, table, given, talk, outputs, None, "")


def choose(given: dict[str, Any], talk: Talk, outputs: Outputs) -> tuple[dict[str, Any], str]:
    """`lowd map data`: diagnose, take the best method, say why."""
    table = read(given, talk)
    diagnosis = diagnosed(table, given)
    for finding in diagnosis.findings:
        if finding.severity in ("error", "warning"):
            talk.note(f"{finding.sentence} {finding.remedy}".strip())
    if not diagnosis.recommendations:
        raise DataError(f"{table.source}: no method suits these data; see `lowd diagnose`.")
    best = diagnosis.recommendations[0]
    talk.say(f"{best.method}: {best.reason}")
    model = build(best.method, {**given, **best.params})
    return _mapped(model, table, given, talk, outputs, diagnosis, best.reason)


def diagnosed(table: Any, given: dict[str, Any]) -> Any:
    from ..diagnosis import diagnose

    X, _ = prepare(table, bool(given.get("standardize")))
    return diagnose(
        X,
        metric=metric_of(table),
        columns=table.columns if isinstance(X, np.ndarray) and table.columns else None,
        random_state=given.get("seed"),
    )


def _mapped(
    model: Any,
    table: Any,
    given: dict[str, Any],
    talk: Talk,
    outputs: Outputs,
    diagnosis: Any,
    reason: str,
) -> tuple[dict[str, Any], str]:
    """Fit, judge, write."""
    X, prepared = prepare(table, bool(given.get("standardize")))
    model = suited(model, table)
    start = time.perf_counter()
    Y = np.asarray(model.fit_transform(X))
    seconds = time.perf_counter() - start
    evaluation = _judged(X, Y, model, table, given, talk) if given["evaluate"] else None
    if "report" in outputs and diagnosis is None:
        diagnosis = diagnosed(table, given)
    _write(model, X, Y, prepared, table, evaluation, diagnosis, given, outputs)
    document = {
        "method": type(model).__name__,
        "reason": reason or None,
        "parameters": {n: v for n, v in model.get_params(deep=False).items() if n != "verbose"},
        "n_samples": len(Y),
        "n_features": X.shape[1],
        "n_components": Y.shape[1],
        "seconds": seconds,
        "seed": getattr(model, "seed_", None),
        "quality": evaluation.to_dict() if evaluation is not None else None,
        "files": dict(outputs.paths),
    }
    return document, _text(document, evaluation)


def _judged(X: Any, Y: Any, model: Any, table: Any, given: dict[str, Any], talk: Talk) -> Any:
    from ..quality import evaluate

    params = model.get_params(deep=False)
    try:
        return evaluate(
            X,
            Y,
            labels=table.labels,
            metric=params.get("metric", "euclidean"),
            metric_params=params.get("metric_params"),
            n_neighbors=min(15, max(1, (len(Y) - 1) // 2)),
            random_state=given.get("seed"),
            backend=model.backend,
            n_jobs=model.n_jobs,
        )
    except LowdError as error:
        if isinstance(error, MemoryError):
            raise
        talk.note(f"the map was not evaluated: {error}")
        return None


def _write(
    model: Any,
    X: Any,
    Y: Any,
    prepared: Prepared,
    table: Any,
    evaluation: Any,
    diagnosis: Any,
    given: dict[str, Any],
    outputs: Outputs,
) -> None:
    progress.report("write", 0, 1)
    write_map(outputs, table, Y, list(model.get_feature_names_out()), trust_of(evaluation, len(Y)))
    if "model" in outputs:
        from ..store import save

        model.prepared_ = prepared.saved()
        save(model, outputs.part("model"))
    if "plot" in outputs:
        from .. import plot

        plot.save(plot.scatter(Y, table.labels), outputs.part("plot"))
    if "report" in outputs:
        from .. import report

        report.write(
            outputs.part("report"),
            model=model,
            X=X,
            embedding=Y,
            evaluation=evaluation,
            diagnosis=diagnosis,
            table=table,
            command=given["command"],
            standardized=prepared.mean is not None,
        )
    progress.report("write", 1, 1)


def trust_of(evaluation: Any, n: int) -> dict[str, Any]:
    """Per-point trust as columns; rows that were not sampled have none."""
    columns = {}
    for name in ("trustworthiness", "continuity"):
        if evaluation is not None and name in evaluation.pointwise:
            column = np.full(n, np.nan)
            column[evaluation.rows] = evaluation.pointwise[name]
            columns[name] = column
    return columns


def write_map(outputs: Outputs, table: Any, Y: Any, names: list[str], more: dict[str, Any]) -> None:
    """Identifiers, labels, coordinates and what is known of each row."""
    from .. import io

    made = table.mapped(Y, names, {**table.extra, **more})
    io.write(outputs.part("output"), made, force=True)


def _text(document: dict[str, Any], evaluation: Any) -> str:
    """The outcome for people."""
    word = next(word for word, name in COMMANDS.items() if name == document["method"])
    lines = [
        f"{document['method']} ({word}): {document['n_samples']} rows of {document['n_features']} "
        f"columns in {document['n_components']} dimensions, {document['seconds']:.2g} s"
    ]
    if evaluation is not None:
        lines.append(str(evaluation))
    lines += [f"{role}: {path}" for role, path in document["files"].items() if path != STDOUT]
    return "\n".join(lines)
