"""Commands on data larger than memory: `--memory` and `--cluster` read, fit and write by blocks."""

from __future__ import annotations

import os
import time
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..blocks import RowBlocks, connect
from ..errors import ExistingFileError, ParameterError, UnsupportedError
from ..io.block_dataset import BlockDataset
from ..io.block_files import BlockSize, MemoryPlan, open_sized, parse_bytes
from .console import Console
from .options import READING, Arguments, Result

if TYPE_CHECKING:
    from ..evidence.quality import Evaluation
    from ..reducer import Reducer


def fit_blocks(model: Reducer, arguments: Arguments, console: Console, word: str) -> Result:
    """Fit a model to the blocks of a source, and write the embedding of each."""
    typed = arguments.get("sample")
    m = 5000 if typed is None else int(typed)  # rows that a method learns from; 0 is all
    X = _open(arguments, partial(_plan_fit, model, m, bool(arguments["evaluate"])))
    X.sample_size = None if model.adds_rows_up else m or None
    params = {n: v for n, v in model.get_params(deep=False).items() if n != "verbose"}
    method = type(model).__name__
    sampled = {"sample": X.sample_size}
    run = {"method": method, "parameters": params, **sampled, **_describe(X, arguments)}
    dataset = BlockDataset.start(_get_folder(arguments, word), run, bool(arguments.get("force")))
    from ..store import load, save

    start = time.perf_counter()
    with connect(arguments.get("cluster")):
        if dataset.model_path.exists():
            model = load(dataset.model_path)
            console.note(f"{dataset.model_path} is the model of this run; it is not fitted again.")
        else:
            model.fit(X)
            save(model, dataset.model_path)
        n_written = dataset.write(X, model, fitted=True)
        evaluation = model.evaluate(X) if arguments["evaluate"] else None
    return _summarize(model, X, dataset, n_written, time.perf_counter() - start, evaluation)


def transform_blocks(arguments: Arguments) -> Result:
    """Embed the blocks of a source by a saved model."""
    from ..store import load

    model = load(arguments["model"])
    names = list(getattr(model, "feature_names_in_", ())) or None
    X = _open({**arguments, "columns": arguments.get("columns") or names}, _plan_map)
    file = Path(arguments["model"])
    run = {
        "model": str(file.absolute()),
        "model_size": file.stat().st_size,
        "confidence": bool(arguments.get("confidence")),
        **_describe(X, arguments),
    }
    folder = _get_folder(arguments, "transform")
    dataset = BlockDataset.start(folder, run, bool(arguments.get("force")))
    start = time.perf_counter()
    with connect(arguments.get("cluster")):
        n_written = dataset.write(X, model, bool(arguments.get("confidence")))
    return _summarize(model, X, dataset, n_written, time.perf_counter() - start, None)


def _plan_fit(
    model: Reducer, m: int, evaluates: bool, d: int, itemsize: int, n_threads: int
) -> dict[str, int]:
    """Bytes that a fit, its map and its evaluation take in addition to the blocks."""
    from ..evidence.quality.evaluation import plan_evaluation

    n = 1 if model.adds_rows_up else m or 1
    fit = {"fit": 3 * n * d * 8 + sum(model._plan(n, d, itemsize).values())}
    evaluation = {"evaluation": plan_evaluation(d, itemsize)} if evaluates else {}
    return {**fit, **_plan_map(n_threads=n_threads), **evaluation}


def _plan_map(d: int = 0, itemsize: int = 8, n_threads: int = 1) -> dict[str, int]:  # noqa: ARG001
    """Bytes that the map of a model takes, whatever the blocks: distances of some rows."""
    return {"map": n_threads * 4 * 2**24}


def _open(arguments: Arguments, plan: MemoryPlan) -> RowBlocks:
    for option in READING:
        typed = arguments.get(option.name)
        if option.name != "columns" and typed not in (None, [], option.default):
            raise UnsupportedError(
                f"{option.flag} is not possible with --memory or --cluster, which read numbers in "
                "blocks: Parquet files, .npy or .zarr; --columns selects those of Parquet files."
            )
    for role in ("plot", "report"):
        if arguments.get(role):
            raise UnsupportedError(
                f"--{role} needs all rows in memory: leave out --memory and --cluster, and read "
                "every N-th row only (--every N) if there are too many."
            )
    columns = [name for typed in arguments.get("columns") or () for name in typed.split(",")]
    memory = arguments.get("memory")
    size = BlockSize(None, None if memory is None else parse_bytes(memory), plan)
    X = open_sized(arguments["data"], columns or None, size)
    if X.n_rows is None:
        raise UnsupportedError(f"{arguments['data']}: the number of rows is unknown.")
    return X


def _describe(X: RowBlocks, arguments: Arguments) -> dict[str, object]:
    """Describe the rows of a run: files with sizes and times, columns, blocks."""
    files = dict.fromkeys(source for source, _ in X.sources if source)
    described = []
    for name in files:
        state = os.stat(name)
        described.append([str(Path(name).absolute()), state.st_size, state.st_mtime_ns])
    return {
        "files": described,
        "columns": None if X.names is None else list(X.names),
        "rows": X.n_rows,
        "blocks": list(map(int, X.array.chunks[0])),
        "seed": arguments.get("seed"),
    }


def _get_folder(arguments: Arguments, word: str) -> Path:
    """The folder for the dataset: from -o, or NAME-METHOD in the current folder."""
    if arguments.get("output") is None:
        name = Path(arguments["data"].rstrip("/*")).name.partition(".")[0].strip("*") or "map"
        return Path(f"{name}-{word}")
    folder = Path(arguments["output"])
    if str(folder) == "-":
        raise ParameterError("-o - is one stream; --memory and --cluster write a folder: -o out/.")
    if folder.is_file():
        raise ExistingFileError(f"{folder} is a file; name a folder for the blocks: -o out/.")
    return folder


def _summarize(
    model: Reducer,
    X: RowBlocks,
    dataset: BlockDataset,
    n_written: int,
    seconds: float,
    evaluation: Evaluation | None,
) -> Result:
    method = type(getattr(model, "method_", model)).__name__
    document: dict[str, object] = {
        "method": method,
        "n_samples": X.n_rows,
        "n_features": X.n_features,
        "n_components": model._n_features_out,
        "n_blocks": X.n_blocks,
        "n_written": n_written,
        "seconds": seconds,
        "quality": None if evaluation is None else evaluation.to_dict(),
        "files": {"output": str(dataset.folder)},
    }
    there = X.n_blocks - n_written
    kept = f" ({there} were there already)" if there else ""
    lines = [
        f"{method}: {X.n_rows} rows of {X.n_features} columns in {model._n_features_out} "
        f"dimensions, {X.n_blocks} blocks{kept}, {seconds:.2g} s"
    ]
    if evaluation is not None:
        lines.append(str(evaluation))
    lines.append(f"output: {dataset.folder}")
    return Result(document, "\n".join(lines))
