"""Files a command writes: all of them appear together at the end, or none does."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from .watch import PREFIX

STDOUT = "-"


def planned(given: dict[str, Any], word: str, roles: tuple[str, ...]) -> Outputs:
    """The files a command will write. Without -o a map goes to NAME-METHOD.csv, or into a pipe."""
    paths = {role: given.get(role) for role in roles}
    if "output" in roles and paths["output"] is None:
        name = Path(given["data"]).name.partition(".")[0] or "map"
        paths["output"] = STDOUT if given["data"] == STDOUT else f"{name}-{word}.csv"
    if STDOUT in (path for role, path in paths.items() if role != "output"):
        raise ParameterError("only the map can go to standard output; name a file.")
    if given.get("json") and paths.get("output") == STDOUT:
        raise ParameterError("--json takes standard output; write the map to a file with -o FILE.")
    return Outputs(paths, bool(given.get("force")))


class Outputs:
    """Checked before the work begins; written in a hidden folder beside; renamed when all is done.

    >>> import tempfile, pathlib
    >>> folder = pathlib.Path(tempfile.mkdtemp())
    >>> outputs = Outputs({"map": str(folder / "map.csv")}, force=False)
    >>> _ = outputs.part("map").write_text("x")
    >>> (folder / "map.csv").exists()
    False
    >>> outputs.publish()
    >>> [path.name for path in folder.iterdir()]
    ['map.csv']
    """

    def __init__(self, paths: dict[str, str | None], force: bool) -> None:
        self.paths = {role: path for role, path in paths.items() if path is not None}
        self._force = force
        self._folders: dict[Path, Path] = {}
        self._parts: dict[Path, Path] = {}
        targets = [Path(path).absolute() for path in self.paths.values() if path != STDOUT]
        for target in targets:
            self._check(target)
            if targets.count(target) > 1:
                raise ParameterError(f"{target.name} is named for two outputs; name two files.")

    def __contains__(self, role: str) -> bool:
        return role in self.paths

    @property
    def homes(self) -> set[Path]:
        """The folders in which unfinished files may lie."""
        return {_home(path) for path in self.paths.values()}

    def part(self, role: str) -> Path:
        """The place to write this output to for now; it has the final name, in another folder."""
        return self.beside(self.paths[role])

    def beside(self, path: str) -> Path:
        """The same for any path, known by now."""
        target = Path("stdout.csv" if path == STDOUT else path).absolute()
        home = _home(path)
        if home not in self._folders:
            self._folders[home] = Path(tempfile.mkdtemp(prefix=PREFIX, dir=home))
        part = self._folders[home] / target.name
        self._parts[Path(STDOUT) if path == STDOUT else target] = part
        return part

    def publish(self) -> None:
        """Give every part its place."""
        for target, part in self._parts.items():
            if str(target) == STDOUT:
                with part.open("rb") as file:
                    shutil.copyfileobj(file, sys.stdout.buffer)
                sys.stdout.buffer.flush()
            else:
                self._check(target)  # it may have appeared meanwhile
                os.replace(part, target)
        self.abandon()

    def abandon(self) -> None:
        """Remove what is not published."""
        for folder in self._folders.values():
            shutil.rmtree(folder, ignore_errors=True)
        self._folders.clear()
        self._parts.clear()

    def rehearse(self) -> None:
        """Find out now what would go wrong after hours of work: names, folders, packages."""
        from .. import io
        from ..plot.canvas import FORMATS

        if "output" in self:
            io.write(self.part("output"), {"pca0": [0.0]}, force=True)
            self.part("output").unlink()
        kind = Path(self.paths.get("plot", "x.png")).suffix.removeprefix(".").lower()
        if kind not in FORMATS:
            raise ParameterError(
                f"--plot {self.paths['plot']}: end the name in .{', .'.join(FORMATS)}."
            )

    def _check(self, target: Path) -> None:
        from ..io import check_target

        check_target(os.path.relpath(target), self._force)


def _home(path: str) -> Path:
    return Path(tempfile.gettempdir()) if path == STDOUT else Path(path).absolute().parent
