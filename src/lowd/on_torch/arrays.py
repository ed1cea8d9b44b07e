"""torch and Triton, arrays between the host and the device, and whether it has room for them.

This is the one file that imports them.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import cache, update_wrapper
from importlib import import_module
from typing import Any, NamedTuple, TypeAlias, TypeVar, cast
from weakref import ref

import numpy as np
import torch as torch  # The other files import it from here.
from numpy.typing import NDArray

from ..backend import Backend, current
from ..errors import NotEnoughMemoryError

Tensor: TypeAlias = torch.Tensor
Device: TypeAlias = torch.device
TensorType: TypeAlias = torch.dtype
# A module or a class of Triton, which has no types; without Triton it is None.
OfTriton: TypeAlias = Any
triton: OfTriton = None
tl: OfTriton = None
TensorDescriptor: OfTriton = None
try:
    TensorDescriptor = import_module("triton.tools.tensor_descriptor").TensorDescriptor
    triton, tl = import_module("triton"), import_module("triton.language")
except ImportError:  # Triton is missing or older than 3.4, and plain torch computes.
    pass

T = TypeVar("T")
R = TypeVar("R")


@cache
def device() -> Device:
    """The first GPU, or the CPU of a build of torch without one."""
    if not torch.cuda.is_available():
        return torch.device("cpu")
    return torch.device("cuda", torch.cuda.current_device())  # Tensors name it so.


def has_kernels(where: Device) -> bool:
    """Whether operations run as Triton kernels there, else as plain torch."""
    return triton is not None and where.type == "cuda"


@cache
def kernels() -> OfTriton:
    """The kernels, whose file needs Triton."""
    return import_module(".kernels", __package__)


# Tests of few rows on a GPU set this share of the least work to 0.
smallest_share = 1.0


def is_worth(work: float, least: float) -> bool:
    """Whether there is so much work that the native core is not done before a GPU has begun.

    A build without a GPU computes everything.
    """
    return device().type == "cpu" or work >= smallest_share * least


def rows_per_block(columns: int) -> int:
    """Rows of a matrix of so many columns that are computed at a time.

    A block of 1 GiB in float64 fills any GPU; a CPU has smaller caches.
    """
    return max(1, (2**27 if device().type == "cuda" else 2**22) // max(columns, 1))


# -- copies ----------------------------------------------------------------------------------------


#: So many bytes of a large array are copied at a time.
STAGED = 2**25


def to_device(A: NDArray[Any], dtype: TensorType | None = None) -> Tensor:
    """A tensor of the same numbers; on a CPU it shares the array's memory where it can."""
    A = np.ascontiguousarray(A)
    if not A.flags.writeable and A.size:  # torch warns of read-only memory.
        memory = (ctypes.c_char * A.nbytes).from_address(A.ctypes.data)
        memory._array = A  # type: ignore[attr-defined] # as long as the tensor lives
        A = np.ndarray(A.shape, A.dtype, cast(Any, memory))
    host = torch.from_numpy(A)
    if device().type != "cuda" or A.nbytes < STAGED:
        return host.to(device=device(), dtype=dtype)
    found = torch.empty(A.shape, dtype=host.dtype, device=device())
    flat, bytes_of = found.view(-1).view(torch.uint8), A.reshape(-1).view(np.uint8)
    stage = Staging()
    for i in range(0, A.nbytes, STAGED):
        part = bytes_of[i : i + STAGED]
        staging, page = stage.next()
        copy_by_threads(page[: len(part)], part)
        flat[i : i + len(part)].copy_(staging[: len(part)], non_blocking=True)
        stage.mark()
    torch.cuda.synchronize()
    return found.to(dtype=dtype)


def to_numpy(A: Tensor, out: NDArray[Any] | None = None) -> NDArray[Any]:
    """An array of its own on the host, or a contiguous one of the same type that is given."""
    A = A.detach().contiguous()
    size = A.numel() * A.element_size()
    found: NDArray[Any]
    if A.device.type != "cuda" or size < STAGED:
        found = A.cpu().numpy()
        if out is None:
            return found
        out[...] = found
        return out
    found = np.empty(tuple(A.shape), str(A.dtype).removeprefix("torch.")) if out is None else out
    flat, bytes_of = A.view(-1).view(torch.uint8), found.reshape(-1).view(np.uint8)
    stage, waiting = Staging(), None
    for i in [*range(0, size, STAGED), size]:
        on_the_way = waiting
        if i < size:  # The device copies the next part while the host copies the last one.
            part = bytes_of[i : i + STAGED]
            staging, page = stage.next()
            staging[: len(part)].copy_(flat[i : i + len(part)], non_blocking=True)
            waiting = part, page, stage.mark()
        if on_the_way is not None:
            part, page, done = on_the_way
            done.synchronize()
            copy_by_threads(part, page[: len(part)])
    return found


class Staging:
    """Two parts of the host's memory that the device copies to and from at full speed, in turn."""

    def __init__(self) -> None:
        tensors = [torch.empty(STAGED, dtype=torch.uint8, pin_memory=True) for _ in "ab"]
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


def copy_by_threads(to: NDArray[Any], start: NDArray[Any]) -> NDArray[Any]:
    """Copy by several threads: one alone is slower than the device where pages are new."""
    parts = zip(np.array_split(to, 8), np.array_split(start, 8), strict=True)
    list(_copiers().map(lambda part: np.copyto(*part), parts))
    return to


@cache
def _copiers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(8)


# -- what stays on the device ----------------------------------------------------------------------


class Held(NamedTuple):
    """A tensor, and the array of which it is a copy as long as that lives and has these entries."""

    owner: ref[NDArray[Any]]
    print: bytes
    tensor: Tensor
    call: Backend | None  # in which it was copied


_held: list[Held] = []


def resident(X: NDArray[Any], least: int = 2**20) -> Tensor:
    """The tensor of an array, which is copied once if several steps of a fit read it.

    Between calls users may change what they own, so that only the read-only arrays of models stay.
    One that was changed in place within a call is copied again: some of its entries, spread over
    all of it, are compared. Arrays of fewer than `least` bytes are copied sooner than looked up.
    """
    if X.nbytes < least or device().type == "cpu":
        return to_device(X)
    for held in _held:
        may_differ = X.flags.writeable and held.call is not current()
        if not may_differ and _is_same(held.owner(), X) and held.print == _fingerprint(X):
            return held.tensor.reshape(X.shape)
    require_memory(X.nbytes, f"an array of shape {X.shape}")
    tensor = to_device(X)
    keep(X, tensor)
    return tensor


def keep(X: NDArray[Any], tensor: Tensor, least: int = 2**20, most: int = 6) -> None:
    """Remember the tensor that an array is a copy of, and of others the last ones."""
    if X.nbytes < least or tensor.device.type == "cpu":
        return
    others = [held for held in _held if not _is_same(held.owner(), X)]
    _held[:] = [*others[1 - most :], Held(ref(X, _forget), _fingerprint(X), tensor, current())]


def _forget(owner: ref[NDArray[Any]]) -> None:
    _held[:] = [held for held in _held if held.owner is not owner]


def _is_same(owner: NDArray[Any] | None, X: NDArray[Any]) -> bool:
    """Is X the array, or a view of all of it?"""
    if owner is None or not X.flags.c_contiguous or not owner.flags.c_contiguous:
        return owner is X
    return (owner.ctypes.data, owner.nbytes, owner.dtype) == (X.ctypes.data, X.nbytes, X.dtype)


def _fingerprint(X: NDArray[Any], entries: int = 4096) -> bytes:
    flat = X.reshape(-1) if X.flags.c_contiguous else X.ravel()
    step = max(1, flat.size // entries) | 1  # An odd step meets all columns.
    return np.ascontiguousarray(flat[::step]).tobytes()


def remembered(make: Callable[[T], R]) -> Callable[[T], R]:
    """The function, which knows its last result as long as what it was made of lives."""
    last: tuple[ref[T], R] | None = None

    def forget(owner: ref[T]) -> None:
        nonlocal last
        if last is not None and last[0] is owner:
            last = None

    def look_up(given: T) -> R:
        nonlocal last
        known = last
        if known is not None and known[0]() is given:
            return known[1]
        last = known = None  # Otherwise there would be two for a moment.
        found = make(given)
        last = ref(given, forget), found
        return found

    return update_wrapper(look_up, make)


# -- memory ----------------------------------------------------------------------------------------


def free_bytes() -> int | None:
    """Bytes that the device can still hold; None on a CPU, whose memory the plans of fits check."""
    if device().type != "cuda":
        return None
    free, _ = torch.cuda.mem_get_info(device())
    held = torch.cuda.memory_stats_as_nested_dict(device())
    reserved, allocated = (
        held[name]["all"]["current"] for name in ("reserved_bytes", "allocated_bytes")
    )
    return int(free) + int(reserved) - int(allocated)


def has_room(size: float, share: float = 0.8) -> bool:
    """Whether so many bytes are a share of the free memory of the device at most."""
    free = free_bytes()
    return free is None or size <= share * free


def require_memory(needed: int, what: str) -> None:
    """Raise an error before anything is allocated, if the device has no room for it."""
    free = free_bytes()
    if free is not None and needed > free:
        raise NotEnoughMemoryError(_describe(what, f"{needed / 2**30:.3g} GiB", free))


@contextmanager
def explaining_memory(what: str) -> Iterator[None]:
    """Turn torch's error of an allocation into the library's; what was allocated is freed."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        text = _describe(what, "more memory than there is", free_bytes() or 0)
        raise NotEnoughMemoryError(text) from error


def _describe(what: str, amount: str, free: int) -> str:
    return (
        f"backend='torch': {what} needs {amount} on the device, of which {free / 2**30:.3g} GiB "
        "are free. backend='native' computes it in the machine's own memory; or fit a sample "
        "(X[::10]) and transform the others."
    )
