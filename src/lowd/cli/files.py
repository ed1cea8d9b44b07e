"""Output files of a command: all of them appear together at the end, or none does."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from ..errors import ParameterError
from .options import Arguments, is_streamed

STDOUT = "-"
# Beginning of the names of hidden folders with unfinished files.
TEMPORARY_PREFIX = f".lowd-{os.getpid()}-"
NOTHING_WRITTEN = "stopped; nothing was written."


def plan_outputs(arguments: Arguments, word: str, roles: tuple[str, ...]) -> Outputs:
    """The files that a command will write.

    Without -o an embedding goes to NAME-METHOD.csv, or to standard output if the data come from
    standard input.
    """
    if is_streamed(arguments):  # writes into a folder that can be continued, with the model in it
        stopped = "stopped; complete files are kept, and the same command continues."
        return Outputs({}, bool(arguments.get("force")), stopped)
    paths = {role: arguments.get(role) for role in roles}
    if "output" in roles and paths["output"] is None:
        name = Path(arguments["data"]).name.partition(".")[0] or "map"
        paths["output"] = STDOUT if arguments["data"] == STDOUT else f"{name}-{word}.csv"
    if STDOUT in (path for role, path in paths.items() if role != "output"):
        raise ParameterError("only the embedding can go to standard output; name a file.")
    if arguments.get("json") and paths.get("output") == STDOUT:
        raise ParameterError(
            "--json takes standard output; write the embedding to a file with -o FILE."
        )
    inputs = [arguments.get(name) for name in ("data", "file", "map", "model") if name not in roles]
    for role, path in paths.items():
        if path and any(_is_same_file(path, given) for given in inputs if given):
            raise ParameterError(f"{path} is what is read; name another file for the {role}.")
    return Outputs(paths, bool(arguments.get("force")))


def _is_same_file(path: str, other: str) -> bool:
    return Path(path).exists() and Path(other).exists() and os.path.samefile(path, other)


class Outputs:
    """Files written in a hidden folder next to their targets, and renamed when complete.

    Names are checked before the work begins.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> outputs = Outputs({"output": str(folder / "map.csv")}, force=False)
    >>> _ = outputs.temporary("output").write_text("x")
    >>> (folder / "map.csv").exists()
    False
    >>> outputs.publish()
    >>> [path.name for path in folder.iterdir()]
    ['map.csv']
    """

    def __init__(
        self, paths: dict[str, str | None], force: bool, stopped: str = NOTHING_WRITTEN
    ) -> None:
        self.stopped = stopped  # what is left after Ctrl-C
        self.paths = {role: path for role, path in paths.items() if path is not None}
        self._force = force
        self._temporary_folders: dict[Path, Path] = {}
        self._temporary_files: dict[Path, Path] = {}
        targets = [Path(path).absolute() for path in self.paths.values() if path != STDOUT]
        for target in targets:
            self._check(target)
            if targets.count(target) > 1:
                raise ParameterError(f"{target.name} is named for two outputs; name two files.")

    def __contains__(self, role: str) -> bool:
        return role in self.paths

    @property
    def folders(self) -> set[Path]:
        """The folders that may hold unfinished files."""
        return {_get_folder(path) for path in self.paths.values()}

    def temporary(self, role: str) -> Path:
        """The path to write to for now: the final name, in a hidden folder."""
        path = self.paths[role]
        target = Path("stdout.csv" if path == STDOUT else path).absolute()
        folder = _get_folder(path)
        if folder not in self._temporary_folders:
            hidden = tempfile.mkdtemp(prefix=TEMPORARY_PREFIX, dir=folder)
            self._temporary_folders[folder] = Path(hidden)
        temporary = self._temporary_folders[folder] / target.name
        self._temporary_files[Path(STDOUT) if path == STDOUT else target] = temporary
        return temporary

    def publish(self) -> None:
        """Give every file its final name."""
        for target, temporary in self._temporary_files.items():
            if str(target) == STDOUT:
                with temporary.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                self._check(target)  # the file may have appeared meanwhile
                os.replace(temporary, target)
        self.discard()

    def discard(self) -> None:
        """Remove what has not been published."""
        for folder in self._temporary_folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._temporary_folders.clear()
        self._temporary_files.clear()

    def check_writable(self) -> None:
        """Raise now whatever would go wrong after hours of work: names, folders, packages."""
        from .. import io
        from ..plot.canvas import IMAGE_FORMATS

        if "output" in self:
            io.write(self.temporary("output"), {"pca0": [0.0]}, force=True)
            self.temporary("output").unlink()
        kind = Path(self.paths.get("plot", "x.png")).suffix.removeprefix(".").lower()
        if kind not in IMAGE_FORMATS:
            raise ParameterError(
                f"--plot {self.paths['plot']}: end the name in .{', .'.join(IMAGE_FORMATS)}."
            )

    def _check(self, target: Path) -> None:
        from ..io import check_target

        check_target(os.path.relpath(target), self._force)


def _get_folder(path: str) -> Path:
    return Path(tempfile.gettempdir()) if path == STDOUT else Path(path).absolute().parent
