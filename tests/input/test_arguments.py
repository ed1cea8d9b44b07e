"""Arrays of other libraries by DLPack: rows come to the host, results go back to their library."""

from __future__ import annotations

import sys
from types import ModuleType

import numpy as np
import pytest

import lowd
from case_data import rows_like
from cases import same_bits
from lowd.input import arguments


class Exchanged:
    """An array that NumPy can only read by DLPack, as the array API has it."""

    __module__ = "stand_in.arrays"

    def __init__(self, A, device=(1, 0)):
        self.A, self.ndim, self.on = A, A.ndim, device

    def __dlpack__(self, **options):
        return self.A.__dlpack__(**options)

    def __dlpack_device__(self):
        return self.on

    def __array_namespace__(self):
        return sys.modules["stand_in"]


class OfJAX(Exchanged):
    """With a device that is no context, and a conversion."""

    __module__ = "stand_in.arrays"
    device = "cpu:0"

    def __array__(self, dtype=None, copy=None):
        return np.array(self.A, dtype=dtype)


class OfCuPy(Exchanged):
    """Without a namespace or a conversion; its device is a context, where new arrays are made."""

    __module__ = "stand_in.arrays"
    __array_namespace__ = property()  # there is none

    def __array__(self, dtype=None, copy=None):
        raise TypeError("Implicit conversion to a NumPy array is not allowed.")

    def get(self):
        return self.A

    @property
    def device(self):
        return Device()


class Device:
    entered = 0

    def __enter__(self):
        Device.entered += 1

    def __exit__(self, *error):
        Device.entered -= 1


@pytest.fixture(params=[Exchanged, OfJAX, OfCuPy])
def library(request, monkeypatch):
    """A library whose arrays are of a class; those that it makes know where they were made."""
    module = ModuleType("stand_in")

    def asarray(Y):
        made = request.param(Y)
        made.made_on_device = Device.entered
        return made

    module.asarray = asarray
    monkeypatch.setitem(sys.modules, "stand_in", module)
    return request.param


def test_results_are_arrays_of_the_library_of_the_rows(library):
    X = rows_like(60)
    model = lowd.PCA(2)
    Y = model.fit_transform(library(X))
    assert type(Y) is library
    assert Y.made_on_device == (library is OfCuPy)
    same_bits(Y.A, lowd.PCA(2).fit_transform(X))
    mapped, confidence = model.transform(library(X[:5]), return_confidence=True)
    assert type(mapped) is type(confidence) is library
    assert type(model.inverse_transform(Y)) is library
    assert isinstance(lowd.TSNE(max_iter=20).fit(library(X)).embedding_, np.ndarray)
    assert isinstance(model.transform(X), np.ndarray)


@pytest.mark.parametrize("device", [(1, 0), (2, 0), (13, 1)])
def test_auto_takes_the_backend_of_the_device(device, monkeypatch):
    monkeypatch.setattr(arguments, "backends", lambda: ["native", "torch"])
    X = Exchanged(rows_like(6), device)
    assert arguments.choose_backend("auto", X) == ("auto" if device == (1, 0) else "torch")
    assert arguments.choose_backend("native", X) == "native"
    assert arguments.choose_backend("auto", rows_like(6)) == "auto"
    monkeypatch.setattr(arguments, "backends", lambda: ["native"])
    assert arguments.choose_backend("auto", X) == "auto"
