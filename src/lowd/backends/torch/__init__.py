"""The torch backend: heavy operations on an NVIDIA GPU, or on the CPU of a build without one.

What has no file here is left to the native core. Where torch has Triton, kernels replace plain
torch for the search for neighbors, affinities and descents.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from ..native import Native
from .affinities import DeviceAffinities
from .arrays import default_device
from .graphs import DeviceGraphs
from .kl import DeviceKL
from .layout import DeviceLayout
from .library import Device
from .neighbors import DeviceNeighbors
from .resident import ResidentArrays
from .stress import DeviceStress


@dataclass(frozen=True)
class Torch(
    DeviceNeighbors,
    DeviceGraphs,
    DeviceStress,
    DeviceAffinities,
    DeviceKL,
    DeviceLayout,
    Native,
):
    """Every operation of the protocol; arrays come from the host and go back to it."""

    device: Device = field(default_factory=default_device)
    resident: ResidentArrays = field(default_factory=ResidentArrays, compare=False, repr=False)
