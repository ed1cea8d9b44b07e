"""Values: frozen dataclasses of arrays and plain data, which `store` can write.

Relations and maps are values. They hold no device, no index and no cache, so a model
fitted on one machine loads on any other.
"""

from __future__ import annotations

from dataclasses import dataclass, is_dataclass
from typing import Any, TypeAlias, TypeVar, cast, dataclass_transform

import numpy as np
from scipy.sparse import issparse

VALUE_CLASSES: dict[str, type[Any]] = {}  # by name

C = TypeVar("C")
Copied: TypeAlias = Any  # an array or a sparse matrix: scipy's classes have no types


@dataclass_transform(frozen_default=True, eq_default=False)
def value(cls: type[C]) -> type[C]:
    """Freeze a class of fields and make it known to the store by its name."""
    cls = dataclass(frozen=True, eq=False)(cls)
    VALUE_CLASSES[cls.__name__] = cls
    return cls


def frozen_copy(rows: Copied) -> Copied:
    """A read-only copy: what the caller does to the data afterwards cannot change the model."""
    copied = rows.copy()
    (copied if isinstance(copied, np.ndarray) else copied.data).setflags(write=False)
    return copied


def freeze(learned: C) -> C:
    """Fitted arrays are read-only: nothing a caller does can change the model."""
    if isinstance(learned, np.ndarray):
        learned.setflags(write=False)
    elif issparse(learned):
        cast(Copied, learned).data.setflags(write=False)
    return learned


def freeze_all(held: object) -> None:
    """Make every array within a learned attribute read-only, as a fit left them."""
    if isinstance(held, np.ndarray) or issparse(held):
        freeze(held)
    elif isinstance(held, dict):
        for part in held.values():
            freeze_all(part)
    elif isinstance(held, list | tuple):
        for part in held:
            freeze_all(part)
    elif is_dataclass(held):
        for part in vars(held).values():
            freeze_all(part)
