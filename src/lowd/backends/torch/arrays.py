"""Arrays between the host and the device, and whether the device has room for them."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import NotEnoughMemoryError
from .library import HAS_TRITON, Device, Tensor, TensorType, torch

# Of a block of distances in float64 on the device: 1 GiB fills any GPU; a CPU has smaller caches.
BLOCK_ENTRIES_BY_DEVICE = {"cuda": 2**27, "cpu": 2**22}

STAGING_BYTES, COPY_THREADS = 2**24, 8  # copies between the host and a GPU, of 16 MiB each


@cache
def default_device() -> Device:
    """The first GPU, or the CPU of a build of torch without one."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


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
    if device.type != "cuda" or A.nbytes < STAGING_BYTES:
        return host.to(device=device, dtype=dtype)
    found = torch.empty(A.shape, dtype=host.dtype, device=device)
    flat, bytes_of = found.view(-1).view(torch.uint8), A.reshape(-1).view(np.uint8)
    staging, page = _staging()
    for i in range(0, A.nbytes, STAGING_BYTES):
        part = bytes_of[i : i + STAGING_BYTES]
        _copy(page[: len(part)], part)
        flat[i : i + len(part)].copy_(staging[: len(part)])
    return found.to(dtype=dtype)


def to_numpy(T: Tensor, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """An array of its own on the host, or a contiguous one of the same type that is given."""
    T = T.detach()
    found: NDArray[Any]
    size = T.numel() * T.element_size()
    if T.device.type != "cuda" or size < STAGING_BYTES:
        found = T.cpu().numpy()
        if out is None:
            return found
        out[...] = found
        return out
    T = T.contiguous()
    found = np.empty(tuple(T.shape), str(T.dtype).removeprefix("torch.")) if out is None else out
    flat, bytes_of = T.view(-1).view(torch.uint8), found.reshape(-1).view(np.uint8)
    staging, page = _staging()
    for i in range(0, size, STAGING_BYTES):
        part = bytes_of[i : i + STAGING_BYTES]
        staging[: len(part)].copy_(flat[i : i + len(part)])
        _copy(part, page[: len(part)])
    return found


def _staging() -> tuple[Tensor, NDArray[np.uint8]]:
    """Memory of the host that the device copies to at full speed, as a tensor and as an array."""
    staging = torch.empty(STAGING_BYTES, dtype=torch.uint8, pin_memory=True)
    return staging, staging.numpy()


def _copy(to: NDArray[np.uint8], start: NDArray[np.uint8]) -> None:
    """Copy by several threads: one alone is slower than the device where pages are new."""
    parts = zip(np.array_split(to, COPY_THREADS), np.array_split(start, COPY_THREADS), strict=True)
    list(_copiers().map(lambda part: np.copyto(*part), parts))


@cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(COPY_THREADS)


def rows_per_block(columns: int, device: Device) -> int:
    """Rows of a matrix of so many columns that are computed at a time."""
    return max(1, BLOCK_ENTRIES_BY_DEVICE[device.type] // max(columns, 1))


def free_bytes(device: Device) -> int | None:
    """Bytes that the device can still hold; None on a CPU, whose memory the plans of fits check."""
    if device.type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device)
    reserved = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return int(free) + int(reserved)


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
