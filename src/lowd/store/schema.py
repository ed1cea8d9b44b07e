"""Checks of a loaded model against the declared domains of its values, before anything uses it.

A map hands its arrays to compiled code, so what a file says must agree with itself: types, shapes,
ranges of indices, finite numbers, and the sizes that values share (the rows of an embedding are as
many as the points that distances are measured to). Every field is declared where its class is, by
its annotation (`domains`), which `annotations` reads; here stand those of learned attributes.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Annotated

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from ..backends.protocol import Array, Float64, Moments, Rows
from ..confidence.calibration import LeftOutRows
from ..confidence.support import MatrixSupport, RowSupport
from ..core.estimator import Reducer
from ..domains import Above, AtLeast, Count, Domain, Fact, Index, OneOf, Positive, Renamed, Shape
from ..errors import StoreError
from ..input.tables import Table
from ..maps.protocol import Map
from ..values import VALUE_CLASSES
from .annotations import NotDeclaredError, declared_fields
from .checks import check_fields, show
from .facts import state_model_facts

# Learned attributes that maps, inverses and further fits read.
LEARNED: dict[str, Domain] = {
    "map_": Annotated[Map, Renamed(n=None)],
    "inverse_": Annotated[
        Map,
        OneOf(
            "LinearMap",
            "BarycentricMap",
            "RidgePreimage",
            "FixedPointPreimage",
            "PipelineInverse",
            "AwaitingRows",
        ),
        Renamed(d="k", k="d", n=None, input=None, metric=None, kernel=None),
    ],
    "support_": Annotated[RowSupport | MatrixSupport, Renamed(n=None, rows=None, seen="rows")],
    "left_out_": LeftOutRows,
    "moments_": Moments,
    "columns_": Annotated[Table, Renamed(rows=None)],
    "_n_features_out": Count,
    "n_features_in_": Count,
    "feature_names_in_": Annotated[NDArray[np.object_], Shape("d")],
    "n_samples_": Positive,
    "n_components_": Annotated[int, Fact("k")],
    "embedding_": Annotated[Array, Shape("rows", "k")],
    "components_": Annotated[Rows, Shape("k", "d")],
    "inverse_components_": Annotated[Array, Shape("d", "k")],
    "mean_": Annotated[Float64, Shape("d")],
    "scale_": Annotated[Float64, Shape("d"), Above(0)],
    "graph_": Annotated[csr_array, Shape("rows", "rows"), AtLeast(0)],
    "landmarks_": Annotated[NDArray[np.int64], Shape("landmarks"), Index("rows")],
    "target_": Annotated[Float64, Shape("rows")] | Annotated[Float64, Shape("rows", "targets")],
    "distinct_": Annotated[NDArray[np.int64], Shape("rows"), AtLeast(0)],
    "d2_grand_mean_": float,
    "seed_": Annotated[int, AtLeast(0)],
    "text_columns_": tuple[str, ...],
}
_REQUIRED = ("map_", "_n_features_out", "n_features_in_")
# What an inverse is computed from when it is asked for.
_REQUIRED_BY_METHOD = {
    "GaussianRandomProjection": ("components_",),
    "SparseRandomProjection": ("components_",),
}
_MAPS_BY_METHOD: dict[str, dict[str, Domain]] = {
    "HadamardRandomProjection": {"map_": Annotated[Map, OneOf("HadamardMap")]},
    "SparseRandomProjection": {"components_": Annotated[csr_array, Shape("k", "d")]},
    "GaussianRandomProjection": {"components_": Annotated[Array, Shape("k", "d")]},
    "Pipeline": {"map_": Annotated[Map, OneOf("PipelineMap")]},
    "UMAP": {"graph_": Annotated[csr_array, Shape("distinct", "distinct"), AtLeast(0)]},
}


def check_model(model: Reducer) -> None:
    """Raise StoreError where what a fitted model has learned does not agree with itself."""
    learned = model.__dict__
    for name in _REQUIRED + _REQUIRED_BY_METHOD.get(type(model).__name__, ()):
        if name not in learned:
            raise StoreError(f"{name} is missing")
    if model._kind() == "table" and "columns_" not in learned:
        raise StoreError("columns_ is missing")
    declared = {name: LEARNED[name] for name in learned if name in LEARNED}
    node = check_fields(learned, {**declared, **_MAPS_BY_METHOD.get(type(model).__name__, {})}, "")
    state_model_facts(model, node)
    node.resolve()
    parameters = {entry.name for entry in dataclasses.fields(model)}
    for name in learned.keys() - parameters - LEARNED.keys():
        _require_plain(learned[name], name)


PREPARED = "prepared_"


def _require_plain(held: object, where: str) -> None:
    """An attribute that no map reads is data: numbers, texts, arrays, tuples of these.

    How a file was read (`prepared_`, of the command line) is a dict of them.
    """
    if isinstance(held, tuple) or (isinstance(held, dict) and where == PREPARED):
        for item in held.values() if isinstance(held, dict) else held:
            _require_plain(item, where)
    elif not (held is None or isinstance(held, bool | int | float | str | np.ndarray | csr_array)):
        raise StoreError(f"{where} holds {show(held)}, but must be numbers or text")


def storable_classes() -> Iterator[type]:
    """The value classes whose fields are all declared."""
    for cls in VALUE_CLASSES.values():
        try:
            declared_fields(cls)
        except NotDeclaredError:
            continue
        yield cls
