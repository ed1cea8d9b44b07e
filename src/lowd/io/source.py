"""Where bytes come from: a file or standard input, unpacked within limits."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any

from .. import progress
from ..core import memory
from ..errors import FileFormatError, MissingFileError, MissingPackageError, NotEnoughMemoryError

# A packed file may grow so many times, beyond a size that does no harm. Tables of numbers shrink
# to a half or a tenth; only text that repeats itself shrinks more.
MOST_TIMES = 200
HARMLESS = 2**26
PACKED = (".gz", ".bz2", ".xz", ".zst")
_MAGIC = {b"\x1f\x8b": ".gz", b"BZh": ".bz2", b"\xfd7zXZ\x00": ".xz", b"\x28\xb5\x2f\xfd": ".zst"}


@dataclass(frozen=True)
class Source:
    """A regular file, or bytes that are in memory already; `name` is for messages."""

    name: str
    path: Path | None = None
    data: bytes = b""

    @classmethod
    def of(cls, path: str | os.PathLike[str]) -> Source:
        if os.fspath(path) == "-":
            return cls("standard input", data=_piped())
        place = Path(path)
        name = os.fspath(path)
        try:
            found, regular = place.exists(), place.is_file()
        except OSError as error:  # links in a circle, names that are too long
            raise MissingFileError(f"{name} cannot be opened: {error.strerror}.") from None
        if not found:
            link = f" (a link to {os.readlink(place)}, which is missing)" if _is_link(place) else ""
            raise MissingFileError(f"there is no file {name}{link}; check the name and the folder.")
        if not regular:
            raise FileFormatError(f"{name} is not a regular file, so its size is unknown; copy it.")
        if not place.stat().st_size:
            raise FileFormatError(f"{name} is empty.")
        return cls(name, place)

    @property
    def size(self) -> int:
        return len(self.data) if self.path is None else self.path.stat().st_size

    @property
    def suffix(self) -> str:
        """The last suffix, without that of the packing; empty where there is no name."""
        if self.path is None and self.name == "standard input":
            return ""
        stem = self.name.lower()
        for packed in PACKED:
            stem = stem.removesuffix(packed)
        return Path(stem).suffix

    def open(self) -> IO[bytes]:
        if self.path is None:
            return io.BytesIO(self.data)
        try:
            return self.path.open("rb")
        except OSError as error:
            raise MissingFileError(f"{self.name} cannot be opened: {error.strerror}.") from None

    def head(self, count: int) -> bytes:
        with self.open() as file:
            return file.read(count)

    def everything(self) -> bytes:
        return self.data if self.path is None else self.path.read_bytes()

    def unpacked(self) -> Source:
        """Itself, or what a gzip, bzip2, xz or zstandard file holds."""
        head = self.head(6)
        kind = next((kind for magic, kind in _MAGIC.items() if head.startswith(magic)), None)
        if kind is None:
            return self
        return Source(self.name, data=_unpack(self, kind))


def fits(size: int) -> bool:
    """Can so many bytes be had?"""
    free = memory.available() if size > memory.NEGLIGIBLE else None
    return free is None or size <= free


def require(source: Source, parts: dict[str, int], ways: str) -> None:
    """Refuse what is larger than free memory, before it is read."""
    plan = memory.Plan(parts)
    free = memory.available() if plan.bytes > memory.NEGLIGIBLE else None
    if free is not None and plan.bytes > free:
        size = f" ({memory.readable(source.size)})" if source.size else ""
        raise NotEnoughMemoryError(
            f"{source.name}{size} needs {plan} in memory, but only {memory.readable(free)} are "
            f"available. {ways}"
        )


def _is_link(place: Path) -> bool:
    try:
        return place.is_symlink()
    except OSError:
        return False


def _room() -> int:
    """Bytes that raw text may take: the frame and the matrix need as much again."""
    free = memory.available()
    return 2**62 if free is None else free // 3


def _piped() -> bytes:
    room = max(HARMLESS, _room())
    data = sys.stdin.buffer.read(room + 1)
    if len(data) > room:
        raise NotEnoughMemoryError(
            f"standard input holds more than {memory.readable(room)}, a third of free memory; "
            "write it to a file and name that."
        )
    if not data:
        raise FileFormatError("standard input is empty.")
    return data


def _unpack(source: Source, kind: str) -> bytes:
    size = source.size
    limit = max(HARMLESS, min(_room(), MOST_TIMES * size))
    parts, total = [], 0
    with source.open() as packed:
        for part in _parts(packed, kind, source.name):
            parts.append(part)
            total += len(part)
            if total > limit:
                raise NotEnoughMemoryError(
                    f"{source.name} ({memory.readable(size)}) unpacks to more than "
                    f"{memory.readable(limit)}: {MOST_TIMES} times its size, or a third of free "
                    "memory. If it can be trusted, unpack it to a file and read that."
                )
            progress.report("unpacking", min(packed.tell(), size), size)
    return b"".join(parts)


def _parts(packed: IO[bytes], kind: str, name: str) -> Iterator[bytes]:
    module = zstandard() if kind == ".zst" else {".gz": gzip, ".bz2": bz2, ".xz": lzma}[kind]
    try:
        with module.open(packed) as file:
            while part := file.read(2**22):
                yield part
    except Exception as error:  # each library has its own
        raise FileFormatError(
            f"{name} is damaged or cut off: it cannot be unpacked ({error})."
        ) from None


def zstandard() -> Any:
    """Python 3.14 has the module; before, one of two packages has it."""
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        package = name.partition(".")[0]
        if find_spec(package) and find_spec(name):
            return import_module(name)
    raise MissingPackageError("reading .zst needs zstandard: pip install 'lowd[app]'.")
