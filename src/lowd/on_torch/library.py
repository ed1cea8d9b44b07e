"""torch, and Triton where torch ships it: the one file that imports them."""

from __future__ import annotations

from importlib import import_module
from typing import Any, TypeAlias

import torch

Tensor: TypeAlias = torch.Tensor
Device: TypeAlias = torch.device
TensorType: TypeAlias = torch.dtype
# A module of Triton or a class of it, which has no types; None without it.
OfTriton: TypeAlias = Any
# Kernels name them; without Triton no module of kernels is imported.
triton: OfTriton = None
tl: OfTriton = None
TensorDescriptor: OfTriton = None
try:
    TensorDescriptor = import_module("triton.tools.tensor_descriptor").TensorDescriptor
    triton, tl = import_module("triton"), import_module("triton.language")
except ImportError:  # not there, or older than 3.4: plain torch
    pass
HAS_TRITON = triton is not None

__all__ = [
    "HAS_TRITON",
    "Device",
    "OfTriton",
    "Tensor",
    "TensorDescriptor",
    "TensorType",
    "tl",
    "torch",
    "triton",
]
