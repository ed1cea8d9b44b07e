"""Rows that several operations of a fit read stay on the device: they are copied there once."""

from __future__ import annotations

from typing import Any
from weakref import ref

import numpy as np
from numpy.typing import NDArray

from .arrays import require_memory, to_device
from .library import Device, Tensor

MAX_RESIDENT_ARRAYS = 2  # the rows as given, and in canonical order
MIN_RESIDENT_BYTES = 2**20  # smaller ones are copied sooner than looked up
FINGERPRINT_ENTRIES = 4096


class ResidentRows:
    """The tensors of the last arrays of rows.

    An array that was changed in place since is copied again: some of its entries, spread over all
    of it, are compared.
    """

    def __init__(self) -> None:
        self._held: list[tuple[Any, bytes, Device, Tensor]] = []

    def get(self, X: NDArray[Any], device: Device) -> Tensor:
        if X.nbytes < MIN_RESIDENT_BYTES or device.type == "cpu":
            return to_device(X, device)
        print_of_x = _fingerprint(X)
        self._held = [entry for entry in self._held if entry[0]() is not None]
        for entry in self._held:
            if entry[0]() is X and entry[1] == print_of_x and entry[2] == device:
                return entry[3]
        require_memory(X.nbytes, f"rows of shape {X.shape}", device)
        tensor = to_device(X, device)
        self._held = [entry for entry in self._held if entry[0]() is not X]
        self._held = [*self._held[1 - MAX_RESIDENT_ARRAYS :], (ref(X), print_of_x, device, tensor)]
        return tensor


def _fingerprint(X: NDArray[Any]) -> bytes:
    flat = X.reshape(-1) if X.flags.c_contiguous else X.ravel()
    step = max(1, flat.size // FINGERPRINT_ENTRIES) | 1  # odd: all columns are met
    return np.ascontiguousarray(flat[::step]).tobytes()
