"""LAPACK's dsyevr, called without the interpreter lock: other threads of Python run meanwhile.

SciPy's wrapper holds the lock, so that a decomposition of seconds could not be interrupted. The
routine is taken from the table of C functions by which SciPy offers LAPACK to compiled code.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import cache
from typing import Any, TypeAlias

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from ..backends.protocol import Float64

Held: TypeAlias = Any  # an array or a number of ctypes, which have no class in common
N_ARGUMENTS = 21  # of dsyevr, all of them pointers


def dsyevr(A: Float64, start: int, stop: int) -> tuple[Float64, Float64]:
    """Eigenpairs start, ..., stop - 1 of those of a symmetric matrix, smallest first.

    The same bits as of `scipy.linalg.eigh`, and like there fewer where LAPACK finds no more among
    equal eigenvalues.
    """
    n, k = len(A), stop - start
    a = np.array(A, np.float64, order="F")  # is overwritten
    values, vectors = np.empty(n), np.empty((n, k), order="F")
    support, found = np.empty(2 * n, np.int32), np.zeros(1, np.int32)

    def solve(work: Float64, lwork: int, iwork: NDArray[np.int32], liwork: int) -> None:
        info = _call(
            b"V", b"I", b"L", n, a, n, 0.0, 0.0, start + 1, stop, 0.0, found, values, vectors, n,
            support, work, lwork, iwork, liwork, 0,
        )  # fmt: skip
        if info:
            raise np.linalg.LinAlgError(f"dsyevr of {n} rows has not converged (info={info}).")

    asked, also_asked = np.empty(1), np.empty(1, np.int32)
    solve(asked, -1, also_asked, -1)  # a query of how much work space it needs
    work, iwork = np.empty(int(asked[0])), np.empty(int(also_asked[0]), np.int32)
    solve(work, len(work), iwork, len(iwork))
    return values[: found[0]], vectors[:, : found[0]]


def _call(*arguments: bytes | int | float | NDArray[Any]) -> int:
    """Call the routine with references to its arguments; the last one is LAPACK's `info`."""
    held = [_hold(argument) for argument in arguments]
    references = [
        one.ctypes.data_as(ctypes.c_void_p) if isinstance(one, np.ndarray) else ctypes.byref(one)
        for one in held
    ]
    _find_routine()(*references)
    return int(held[-1].value)


def _hold(argument: bytes | int | float | NDArray[Any]) -> Held:
    """The argument in memory, as C has it."""
    if isinstance(argument, np.ndarray):
        return argument
    if isinstance(argument, bytes):
        return ctypes.c_char(argument)
    return ctypes.c_int(argument) if isinstance(argument, int) else ctypes.c_double(argument)


@cache
def _find_routine() -> Callable[..., None]:
    capsule = scipy.linalg.cython_lapack.__pyx_capi__["dsyevr"]
    api = ctypes.pythonapi
    name = ctypes.PYFUNCTYPE(ctypes.c_char_p, ctypes.py_object)(("PyCapsule_GetName", api))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(
        ("PyCapsule_GetPointer", api)
    )
    address = pointer(capsule, name(capsule))
    return ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * N_ARGUMENTS)(address)
