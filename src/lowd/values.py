"""Values: frozen dataclasses of arrays and plain data, which `store` can write.

Relations and maps are values. They hold no device, no index and no cache, so a model
fitted on one machine loads on any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeVar, dataclass_transform

import numpy as np

VALUE_CLASSES: dict[str, type[Any]] = {}  # by name

C = TypeVar("C")


@dataclass_transform(frozen_default=True, eq_default=False)
def value(cls: type[C]) -> type[C]:
    """Freeze a class of fields and make it known to the store by its name."""
    cls = dataclass(frozen=True, eq=False)(cls)
    VALUE_CLASSES[cls.__name__] = cls
    return cls


def frozen_copy(rows: Any) -> Any:
    """A read-only copy: what the caller does to the data afterwards cannot change the model."""
    copied = rows.copy()
    (copied if isinstance(copied, np.ndarray) else copied.data).setflags(write=False)
    return copied
