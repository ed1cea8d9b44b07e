"""A Parquet dataset that is written block by block and can be continued after an interruption."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import progress
from ..blocks import RowBlocks, Where
from ..errors import ExistingFileError, FileFormatError, MissingFileError, check_folder
from ..parameters import Reals
from ..reducer import Reducer, place_block
from .frames import count_rows, scan
from .source import Source
from .writing import write, write_completely

MANIFEST, MODEL_FILE, FORMAT_VERSION = "manifest.json", "model.lowd", 1


@dataclass(frozen=True)
class BlockDataset:
    """A folder with a manifest, the fitted model, and one Parquet file for each block of rows.

    Files appear by renaming, so that a process that is killed leaves whole ones; those that were
    damaged later are written again. The manifest says of what the dataset is made: the same run
    again continues it, another one is refused.
    """

    folder: Path
    run: dict[str, Any]

    @classmethod
    def start(cls, folder: Path, run: dict[str, Any], force: bool) -> BlockDataset:
        """Begin a dataset, or continue one that the same run began."""
        dataset = cls(folder, json.loads(json.dumps(run, default=str)))
        known = dataset._read_manifest()
        if known is None:
            if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
                raise ExistingFileError(
                    f"{folder} exists and holds no {MANIFEST} of lowd; name a new folder."
                )
        elif known["run"] != dataset.run:
            changed = [name for name in dataset.run if known["run"].get(name) != dataset.run[name]]
            if not force:
                raise ExistingFileError(
                    f"{folder} holds the embedding of another run ({', '.join(changed)} differ); "
                    "name another folder, or replace it with force=True."
                )
            dataset._remove()
        check_folder(folder)
        folder.mkdir(exist_ok=True)
        # Left behind by a process that was killed while it wrote.
        for left in folder.glob(".*.parquet"):
            left.unlink()
        dataset._write_manifest(is_complete=False)
        return dataset

    @property
    def model_path(self) -> Path:
        return self.folder / MODEL_FILE

    def part(self, number: int) -> Path:
        """The file of a block."""
        return self.folder / f"part-{number:06d}.parquet"

    def list_missing(self, lengths: Iterable[float]) -> list[int]:
        """The numbers of the blocks whose file is not there, or does not hold all rows of them.

        A length that is not known is NaN.
        """
        return [number for number, n in enumerate(lengths) if not _holds(self.part(number), n)]

    def write(
        self, X: RowBlocks, model: Reducer, confidence: bool = False, *, fitted: bool = False
    ) -> int:
        """Embed and write the missing blocks; return how many there were.

        A model that was `fitted` to these rows may hold their coordinates.
        """
        X.check_width(model)
        missing = self.list_missing(X.array.chunks[0])
        folder = str(self.folder.absolute())
        if missing and fitted and len(getattr(model, "embedding_", ())) == X.n_rows:
            names, lengths = model.get_feature_names_out(), np.array(X.array.chunks[0], int)
            for done, number in enumerate(missing):
                start = int(lengths[:number].sum())
                Y = model.embedding_[start : start + lengths[number]]
                _write_rows(Y, names, start, number, folder)
                progress.report("write", done + 1, len(missing))
        elif missing:
            X.write(_write_block, missing, model._without_names(), folder, confidence)
        self._write_manifest(is_complete=True)
        return len(missing)

    def _remove(self) -> None:
        for path in self._list_own_files():
            path.unlink(missing_ok=True)

    def _list_own_files(self) -> Iterator[Path]:
        yield from self.folder.glob("part-*.parquet")
        yield self.model_path
        yield self.folder / MANIFEST

    def _read_manifest(self) -> dict[str, Any] | None:
        path = self.folder / MANIFEST
        if not path.is_file():
            return None
        try:
            known = json.loads(path.read_text(encoding="utf-8"))
            if known["version"] != FORMAT_VERSION or not isinstance(known["run"], dict):
                raise ValueError(f"version {known['version']}")
        except (ValueError, KeyError, TypeError) as error:
            raise FileFormatError(
                f"{path} is damaged or was written by another version ({error}); name a new folder."
            ) from None
        return dict(known)

    def _write_manifest(self, *, is_complete: bool) -> None:
        text = json.dumps(
            {"version": FORMAT_VERSION, "complete": is_complete, "run": self.run},
            indent=1,
            default=str,
        )

        def write_file(path: Path) -> None:
            path.write_text(text, encoding="utf-8")

        write_completely(self.folder / MANIFEST, write_file)


def _holds(path: Path, n_rows: float) -> bool:
    """Whether there is a Parquet file of so many rows: a truncated one has lost its footer."""
    try:
        source = Source.from_path(path)
        found = count_rows(source, scan(source, "parquet"))
    except (MissingFileError, FileFormatError):
        return False
    return bool(np.isnan(n_rows)) or found == n_rows


def _write_block(rows: Any, where: Where, model: Reducer, folder: str, confidence: bool) -> int:
    """Write the coordinates of a block, with the numbers of its rows; a task of a worker."""
    names = model.get_feature_names_out()
    Y, rated = np.split(place_block(rows, where, model, confidence), [len(names)], axis=1)
    Y = Y.astype(rows.dtype, copy=False)
    _write_rows(Y, names, where.start, where.number, folder, rated if confidence else None)
    return len(Y)


def _write_rows(
    Y: Reals,
    names: NDArray[np.object_],
    start: int | None,
    number: int,
    folder: str,
    rated: Reals | None = None,
) -> None:
    columns: dict[str, Any] = {}
    if start is not None:
        columns["row"] = np.arange(start, start + len(Y))
    columns |= {str(name): np.ascontiguousarray(y) for name, y in zip(names, Y.T, strict=True)}
    if rated is not None:
        columns["confidence"] = np.ascontiguousarray(rated[:, 0])
    write(Path(folder) / f"part-{number:06d}.parquet", columns, force=True)
