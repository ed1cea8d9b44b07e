"""Arrays between the host and the device, and whether the device has room for them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import NotEnoughMemoryError
from .library import HAS_TRITON, Device, Tensor, TensorType, torch

# Of a block of distances in float64 on the device: 1 GiB fills any GPU; a CPU has smaller caches.
BLOCK_ENTRIES_BY_DEVICE = {"cuda": 2**27, "cpu": 2**22}

MIN_STAGED_BYTES = 2**24  # smaller arrays are copied at once
STAGING_BYTES, COPY_THREADS = 2**25, 8  # of the others 32 MiB at a time


@cache
def default_device() -> Device:
    """The first GPU, or the CPU of a build of torch without one."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())  # as tensors name theirs


def has_kernels(device: Device) -> bool:
    """Whether operations run as Triton kernels there, else as plain torch."""
    return HAS_TRITON and device.type == "cuda"


def to_device(A: NDArray[Any], device: Device, dtype: TensorType | None = None) -> Tensor:
    """A tensor of the same numbers; on a CPU it shares the array's memory where it can."""
    A = np.ascontiguousarray(A)
    if not A.flags.writeable and A.size:  # torch warns of such memory, which nobody writes here
        memory = (ctypes.c_char * A.nbytes).from_address(A.ctypes.data)
        memory._array = A  # type: ignore[attr-defined] # as long as the tensor lives
        A = np.ndarray(A.shape, A.dtype, cast(Any, memory))
    host = torch.from_numpy(A)
    if device.type != "cuda" or A.nbytes < MIN_STAGED_BYTES:
        return host.to(device=device, dtype=dtype)
    found = torch.empty(A.shape, dtype=host.dtype, device=device)
    flat, bytes_of = found.view(-1).view(torch.uint8), A.reshape(-1).view(np.uint8)
    stage = Staging()
    for i in range(0, A.nbytes, STAGING_BYTES):
        part = bytes_of[i : i + STAGING_BYTES]
        staging, page = stage.next()
        _copy(page[: len(part)], part)
        flat[i : i + len(part)].copy_(staging[: len(part)], non_blocking=True)
        stage.mark()
    stage.wait()
    return found.to(dtype=dtype)


def to_numpy(T: Tensor, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """An array of its own on the host, or a contiguous one of the same type that is given."""
    T = T.detach()
    found: NDArray[Any]
    size = T.numel() * T.element_size()
    if T.device.type != "cuda" or size < MIN_STAGED_BYTES:
        found = T.cpu().numpy()
        if out is None:
            return found
        out[...] = found
        return out
    T = T.contiguous()
    found = np.empty(tuple(T.shape), str(T.dtype).removeprefix("torch.")) if out is None else out
    flat, bytes_of = T.view(-1).view(torch.uint8), found.reshape(-1).view(np.uint8)
    stage, waiting = Staging(), None
    for i in [*range(0, size, STAGING_BYTES), size]:
        on_the_way = waiting
        if i < size:  # the next part is copied by the device while the host copies the last one
            part = bytes_of[i : i + STAGING_BYTES]
            staging, page = stage.next()
            staging[: len(part)].copy_(flat[i : i + len(part)], non_blocking=True)
            waiting = part, page, stage.mark()
        if on_the_way is not None:
            part, page, done = on_the_way
            done.synchronize()
            _copy(part, page[: len(part)])
    return found


class Staging:
    """Two parts of the host's memory that the device copies to and from at full speed, in turn."""

    def __init__(self) -> None:
        tensors = [torch.empty(STAGING_BYTES, dtype=torch.uint8, pin_memory=True) for _ in "ab"]
        self._parts = [(tensor, tensor.numpy()) for tensor in tensors]
        self._done = [torch.cuda.Event() for _ in "ab"]
        self._turn = 1

    def next(self) -> tuple[Tensor, NDArray[np.uint8]]:
        """The other part, as a tensor and as an array, when its last copy is done."""
        self._turn = 1 - self._turn
        self._done[self._turn].synchronize()
        return self._parts[self._turn]

    def mark(self) -> torch.cuda.Event:
        """An event after the copy that was just begun."""
        self._done[self._turn].record()
        return self._done[self._turn]

    def wait(self) -> None:
        for event in self._done:
            event.synchronize()


def _copy(to: NDArray[np.uint8], start: NDArray[np.uint8]) -> None:
    """Copy by several threads: one alone is slower than the device where pages are new."""
    parts = zip(np.array_split(to, COPY_THREADS), np.array_split(start, COPY_THREADS), strict=True)
    list(_copiers().map(lambda part: np.copyto(*part), parts))


@cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COPY_THREADS)


class Fetch:
    """Copies of tensors to the host, made by a thread while the device goes on.

    The tensors must not change until the result has been asked for.
    """

    def __init__(
        self, tensors: Sequence[Tensor], out: Sequence[NDArray[Any]] | None = None
    ) -> None:
        given = [None] * len(tensors) if out is None else list(out)
        self._pairs = list(zip(tensors, given, strict=True))
        device = tensors[0].device
        self._future: Future[list[NDArray[Any]]] | None = None
        if device.type == "cuda":
            self._ready = torch.cuda.Event()
            self._ready.record(torch.cuda.current_stream(device))
            self._future = _fetchers().submit(self._copy, device)

    def result(self) -> list[NDArray[Any]]:
        if self._future is not None:
            return self._future.result()
        return [to_numpy(*pair) for pair in self._pairs]

    def _copy(self, device: Device) -> list[NDArray[Any]]:
        with torch.cuda.stream(torch.cuda.Stream(device)):
            self._ready.wait()
            return [to_numpy(*pair) for pair in self._pairs]


@cache
def _fetchers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2)


def rows_per_block(columns: int, device: Device) -> int:
    """Rows of a matrix of so many columns that are computed at a time."""
    return max(1, BLOCK_ENTRIES_BY_DEVICE[device.type] // max(columns, 1))


def free_bytes(device: Device) -> int | None:
    """Bytes that the device can still hold; None on a CPU, whose memory the plans of fits check."""
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    held = torch.cuda.memory_stats_as_nested_dict(device)
    reserved, allocated = (
        held[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes")
    )
    return int(free) + int(reserved) - int(allocated)


def require_memory(needed: int, what: str, device: Device) -> None:
    """Raise an error before anything is allocated, if the device has no room for it."""
    free = free_bytes(device)
    if free is not None and needed > free:
        raise NotEnoughMemoryError(_describe(what, needed, free))


@contextmanager
def explaining_memory(what: str, device: Device) -> Iterator[None]:
    """Turn torch's error of an allocation into the library's; what was allocated is freed."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise NotEnoughMemoryError(_describe(what, None, free_bytes(device) or 0)) from error


def _describe(what: str, needed: int | None, free: int) -> str:
    amount = "more memory than there is" if needed is None else f"{needed / 2**30:.3g} GiB"
    return (
        f"backend='torch': {what} needs {amount} on the device, of which {free / 2**30:.3g} GiB "
        "are free. backend='native' computes it in the machine's own memory; or fit a sample "
        "(X[::10]) and transform the others."
    )
