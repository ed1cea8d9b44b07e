"""Input bytes: a file or standard input, decompressed within limits."""

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
from types import ModuleType
from typing import IO

from .. import backend as memory
from .. import progress
from ..errors import FileFormatError, MissingFileError, MissingPackageError, NotEnoughMemoryError

# A compressed file may grow by this factor beyond a size that does no harm. Tables of numbers
# compress to a half or a tenth; only repetitive text compresses more.
MAX_COMPRESSION_RATIO = 200
SAFE_BYTES = 2**26  # Decompressed whatever the ratio.
CHUNK_BYTES = 2**22  # Decompressed between two progress reports.
_STANDARD_COMPRESSION = {".gz": gzip, ".bz2": bz2, ".xz": lzma}
COMPRESSED_SUFFIXES = (*_STANDARD_COMPRESSION, ".zst")
_COMPRESSION_MAGIC = {
    b"\x1f\x8b": ".gz",
    b"BZh": ".bz2",
    b"\xfd7zXZ\x00": ".xz",
    b"\x28\xb5\x2f\xfd": ".zst",
}


@dataclass(frozen=True)
class Source:
    """A regular file, or bytes that are in memory already; `name` is for messages."""

    name: str
    path: Path | None = None
    data: bytes = b""
    compressed_size: int = 0  # size of the file on disk if it was compressed

    @classmethod
    def from_path(cls, path: str | os.PathLike[str]) -> Source:
        if os.fspath(path) == "-":
            return cls("standard input", data=_read_stdin())
        file, name = Path(path), os.fspath(path)
        try:
            found, regular = file.exists(), file.is_file()
        except OSError as error:  # links in a circle, or names that are too long
            raise MissingFileError(f"{name} cannot be opened: {error.strerror}.") from None
        if not found:
            link = f" (a link to {os.readlink(file)}, which is missing)" if _is_link(file) else ""
            raise MissingFileError(f"there is no file {name}{link}; check the name and the folder.")
        if not regular:
            raise FileFormatError(f"{name} is not a regular file, so its size is unknown; copy it.")
        if not file.stat().st_size:
            raise FileFormatError(f"{name} is empty.")
        return cls(name, file)

    @property
    def size(self) -> int:
        return len(self.data) if self.path is None else self.path.stat().st_size

    @property
    def max_bytes(self) -> int:
        """Most bytes that the contents may take once read; more would be out of proportion."""
        return max(SAFE_BYTES, MAX_COMPRESSION_RATIO * (self.compressed_size or self.size))

    @property
    def suffix(self) -> str:
        """The last suffix, ignoring that of the compression; empty if there is no name."""
        if self.path is None and self.name == "standard input":
            return ""
        stem = self.name.lower()
        for suffix in COMPRESSED_SUFFIXES:
            stem = stem.removesuffix(suffix)
        return Path(stem).suffix

    def open(self) -> IO[bytes]:
        if self.path is None:
            return io.BytesIO(self.data)
        try:
            return self.path.open("rb")
        except OSError as error:
            raise MissingFileError(f"{self.name} cannot be opened: {error.strerror}.") from None

    def read_head(self, count: int) -> bytes:
        with self.open() as file:
            return file.read(count)

    def read_all(self) -> bytes:
        return self.data if self.path is None else self.path.read_bytes()

    @property
    def compression(self) -> str | None:
        """The suffix of the compression (.gz, ...) found in the first bytes, or None."""
        head = self.read_head(6)
        found = (kind for magic, kind in _COMPRESSION_MAGIC.items() if head.startswith(magic))
        return next(found, None)

    def decompress(self) -> Source:
        """Return the decompressed contents of a gzip, bzip2, xz or zstandard file, or itself."""
        kind = self.compression
        if kind is None:
            return self
        return Source(self.name, data=_decompress(self, kind), compressed_size=self.size)

    def replace_data(self, data: bytes) -> Source:
        """Return the same file with other bytes, such as another encoding."""
        return Source(self.name, data=data, compressed_size=self.compressed_size or self.size)


def fits_memory(size: int) -> bool:
    """Whether so many bytes of memory are free."""
    free = memory.free_memory() if size > 2**24 else None
    return free is None or size <= free


def require_memory(source: Source, parts: dict[str, int], remedy: str) -> None:
    """Raise if a file needs more memory than is free, before it is read."""
    plan = memory.Plan(parts)
    free = memory.free_memory() if plan.bytes > 2**24 else None
    if free is not None and plan.bytes > free:
        size = f" ({memory.readable(source.size)})" if source.size else ""
        raise NotEnoughMemoryError(
            f"{source.name}{size} needs {plan} in memory, but only {memory.readable(free)} are "
            f"available. {remedy}"
        )


def _is_link(path: Path) -> bool:
    try:
        return path.is_symlink()
    except OSError:
        return False


def _get_text_limit() -> int:
    """Bytes that raw text may take: the frame and the matrix need as much each."""
    free = memory.free_memory()
    return 2**62 if free is None else free // 3


def _read_stdin() -> bytes:
    limit = max(SAFE_BYTES, _get_text_limit())
    data = sys.stdin.buffer.read(limit + 1)
    if len(data) > limit:
        raise NotEnoughMemoryError(
            f"standard input holds more than {memory.readable(limit)}, a third of free memory; "
            "write it to a file and name that."
        )
    if not data:
        raise FileFormatError("standard input is empty.")
    return data


def _decompress(source: Source, kind: str) -> bytes:
    size = source.size
    limit = max(SAFE_BYTES, min(_get_text_limit(), MAX_COMPRESSION_RATIO * size))
    chunks, total = [], 0
    with source.open() as compressed:
        for chunk in _decompress_chunks(compressed, kind, source.name):
            chunks.append(chunk)
            total += len(chunk)
            if total > limit:
                raise NotEnoughMemoryError(
                    f"{source.name} ({memory.readable(size)}) decompresses to more than "
                    f"{memory.readable(limit)}: {MAX_COMPRESSION_RATIO} times its size, or a third "
                    "of free memory. If it can be trusted, decompress it to a file and read that."
                )
            progress.report("decompressing", min(compressed.tell(), size), size)
    return b"".join(chunks)


def _decompress_chunks(compressed: IO[bytes], kind: str, name: str) -> Iterator[bytes]:
    module = import_compression(kind)
    try:
        with module.open(compressed) as file:
            while chunk := file.read(CHUNK_BYTES):
                yield chunk
    except Exception as error:  # every library raises errors of its own
        raise FileFormatError(
            f"{name} is damaged or cut off: it cannot be decompressed ({error})."
        ) from None


def import_compression(suffix: str) -> ModuleType:
    """The module for a suffix; for .zst it is Python's own (3.14) or one of two packages."""
    if suffix in _STANDARD_COMPRESSION:
        return _STANDARD_COMPRESSION[suffix]
    for name in ("compression.zstd", "backports.zstd", "zstandard"):
        package = name.partition(".")[0]
        if find_spec(package) and find_spec(name):
            return import_module(name)
    raise MissingPackageError("reading .zst needs zstandard: pip install 'lowd[app]'.")
