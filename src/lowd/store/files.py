"""Files of fitted estimators: arrays and one JSON tree in a zip archive. No pickle, no code.

A file is read defensively: members are stored uncompressed, so nothing can claim to be larger
than the file itself; every array's header must match its member's size; classes are those
of the list of methods and registered values, never an import path.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import zipfile
from importlib import import_module
from pathlib import Path
from typing import IO, Any, TypeAlias

import numpy as np
from scipy.sparse import csr_array, issparse

from .. import __version__
from ..core.estimator import Reducer
from ..core.parameters import check_params
from ..errors import MissingFileError, StoreError, UnsupportedError, check_folder
from ..methods import METHODS
from ..values import VALUE_CLASSES
from .annotations import declared_fields
from .checks import Item
from .schema import check_model

Tree: TypeAlias = Any  # what JSON holds: a dict, a list, a str, a number, a bool or None
FORMAT = 2  # whoever changes a stored class, field or attribute raises it
# Class -> its module: what can be stored as a model.
_MODEL_MODULES = {name: f"lowd.methods.{module}" for name, module in METHODS.items()}
_MODEL_MODULES["Pipeline"] = "lowd.pipeline.pipeline"
_TREE = "model.json"
_PRIVATE_ATTRIBUTES = ("_n_features_out",)
# What a damaged archive, header or tree makes the standard library raise.
_BROKEN = (
    *(zipfile.BadZipFile, EOFError, OSError, ValueError, KeyError, TypeError, IndexError),
    *(AttributeError, RecursionError, RuntimeError, SyntaxError, ArithmeticError, MemoryError),
)


def save(model: Reducer, path: str | os.PathLike[str]) -> None:
    """Write a fitted model to one file; an existing file is replaced only when all is written.

    Parameters
    ----------
    model : Reducer
        A fitted method or pipeline.
    path : str or PathLike

    Examples
    --------
    >>> import lowd, tempfile, os
    >>> model = lowd.PCA(1).fit([[1.0, 2.0], [3.0, 5.0], [4.0, 4.0]])
    >>> path = os.path.join(tempfile.mkdtemp(), "pca.lowd")
    >>> lowd.save(model, path)
    >>> bool((lowd.load(path).transform([[2.0, 2.0]]) == model.transform([[2.0, 2.0]])).all())
    True
    """
    if type(model).__name__ not in _MODEL_MODULES or not hasattr(model, "map_"):
        raise UnsupportedError(
            f"only a fitted lowd model can be saved, got {model!r}; call fit first."
        )
    check_folder(path)
    arrays: dict[int, np.ndarray[Any, Any]] = {}
    tree = {"format": FORMAT, "lowd": __version__, **_pack_model(model, arrays)}
    target = Path(path)
    name = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with name.open("xb") as file:
            _write(file, tree, arrays)
            file.flush()
            os.fsync(file.fileno())
        os.replace(name, target)
    except BaseException:
        name.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Reducer:
    """Read a model from a file that `save` wrote.

    Parameters
    ----------
    path : str or PathLike

    Returns
    -------
    Reducer
    """
    if not Path(path).is_file():
        raise MissingFileError(f"there is no model file at {os.fspath(path)!r}.")
    try:
        with zipfile.ZipFile(path) as archive:
            return _read(archive, Path(path).stat().st_size)
    except StoreError as error:
        raise StoreError(
            f"{os.fspath(path)!r}: {str(error).rstrip('.')}. If the file should be a model of this "
            "version, it is damaged or was altered: save the model again or use a copy."
        ) from None
    except _BROKEN as error:
        raise StoreError(
            f"{os.fspath(path)!r} is not a lowd model, or is damaged "
            f"({type(error).__name__}: {error}); save it again or use a copy."
        ) from None


def class_of(name: str) -> type[Reducer]:
    """The class of that name: a method, or the pipeline."""
    found: type[Reducer] = getattr(import_module(_MODEL_MODULES[name]), name)
    return found


def _write(file: IO[bytes], tree: dict[str, Any], arrays: dict[int, np.ndarray[Any, Any]]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(_TREE, json.dumps(tree))
        for number, array in enumerate(arrays.values()):
            with archive.open(f"{number}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, array, allow_pickle=False)


def _read(archive: zipfile.ZipFile, size: int) -> Reducer:
    members = {info.filename: info for info in archive.infolist()}
    if _TREE not in members:
        raise StoreError("this is not a lowd model.")
    packed = any(info.compress_type != zipfile.ZIP_STORED for info in members.values())
    if packed or sum(info.file_size for info in archive.infolist()) > size:
        raise StoreError("members of a lowd model are stored uncompressed; this file was altered.")
    tree = json.loads(archive.read(_TREE))
    if type(tree["format"]) is not int or tree["format"] < 1:
        raise StoreError(f"there is no format {tree['format']!r}.")
    if tree["format"] != FORMAT:
        remedy = "upgrade lowd" if tree["format"] > FORMAT else "fit the model again"
        raise StoreError(
            f"lowd {tree['lowd']} wrote it in format {tree['format']}, and lowd {__version__} "
            f"reads format {FORMAT}: {remedy}."
        )
    arrays = {name: _array(archive, info) for name, info in members.items() if name != _TREE}
    model = _unpack_model(tree, arrays)
    if not hasattr(model, "map_"):
        raise StoreError("map_ is missing")
    return model


def _pack_model(model: Reducer, arrays: dict[int, np.ndarray[Any, Any]]) -> dict[str, Any]:
    """Class, parameters and what was learned of a model, which may be part of another one."""
    params = model.get_params(deep=False)
    if "random_state" in params and not isinstance(params["random_state"], int | None):
        # A generator's state is not part of the model; what it drew is.
        params["random_state"] = getattr(model, "seed_", None)
    state = model.__getstate__()
    learned = {n: v for n, v in state.items() if n.endswith("_") or n in _PRIVATE_ATTRIBUTES}
    return {
        "class": type(model).__name__,
        "params": {name: _pack(value, arrays) for name, value in params.items()},
        "learned": {name: _pack(value, arrays) for name, value in learned.items()},
    }


def _unpack_model(tree: dict[str, Any], arrays: dict[str, np.ndarray[Any, Any]]) -> Reducer:
    if tree["class"] not in _MODEL_MODULES:
        raise StoreError(f"unknown method {tree['class']!r}.")
    cls = class_of(tree["class"])
    params, learned = (
        {name: _unpack(part, arrays) for name, part in tree[kind].items()}
        for kind in ("params", "learned")
    )
    for name in learned:
        if not (name.endswith("_") or name in _PRIVATE_ATTRIBUTES) or name.startswith("__"):
            raise StoreError(f"unexpected attribute {name!r}.")
    model = cls(**params)
    check_params(model)
    model.__dict__.update(learned)
    if learned:
        check_model(model)
    return model


def _array(archive: zipfile.ZipFile, info: zipfile.ZipInfo) -> np.ndarray[Any, Any]:
    with archive.open(info) as member:
        version = np.lib.format.read_magic(member)
        header = {
            (1, 0): np.lib.format.read_array_header_1_0,
            (2, 0): np.lib.format.read_array_header_2_0,
        }
        shape, fortran, dtype = header[version](member)
        count = int(np.prod(shape, dtype=object)) if shape else 1
        if dtype.kind not in "fiub" or any(extent < 0 for extent in shape):
            raise StoreError(f"{info.filename} holds {dtype}, not numbers.")
        if count * dtype.itemsize != info.file_size - member.tell():
            raise StoreError(f"{info.filename} does not have the size it claims.")
        array = np.frombuffer(member.read(), dtype, count)
    if fortran:
        return array.reshape(shape[::-1]).T
    return array.reshape(shape)


def _pack(item: Item, arrays: dict[int, np.ndarray[Any, Any]]) -> Tree:
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, np.generic):
        return item.item()
    if isinstance(item, np.ndarray) and item.dtype == object:
        return {"names": [str(name) for name in item]}
    if isinstance(item, np.ndarray):
        arrays.setdefault(id(item), item)
        return {"array": f"{list(arrays).index(id(item))}.npy"}
    if issparse(item):
        parts = [_pack(part, arrays) for part in (item.data, item.indices, item.indptr)]
        return {"csr": parts, "shape": list(item.shape)}
    if isinstance(item, tuple | list):
        return {"tuple": [_pack(part, arrays) for part in item]}
    if isinstance(item, dict) and all(isinstance(key, str) for key in item):
        return {"dict": {key: _pack(part, arrays) for key, part in item.items()}}
    if type(item).__name__ in _MODEL_MODULES:
        return {"model": _pack_model(item, arrays)}
    if type(item).__name__ in VALUE_CLASSES:
        names = [field.name for field in dataclasses.fields(item)]
        held = {name: _pack(getattr(item, name), arrays) for name in names}
        return {"value": type(item).__name__, "fields": held}
    raise UnsupportedError(
        f"a {type(item).__name__} cannot be stored without code ({item!r}); use a named metric or "
        "kernel or 'precomputed', or pickle the model within one version."
    )


def _unpack(part: Tree, arrays: dict[str, np.ndarray[Any, Any]]) -> Item:
    if not isinstance(part, dict):
        if isinstance(part, list):
            raise StoreError("a bare list in the tree.")
        return part
    if "array" in part:
        return arrays[part["array"]]
    if "names" in part:
        return np.array([str(name) for name in part["names"]], object)
    if "csr" in part:
        data, indices, indptr = (_unpack(item, arrays) for item in part["csr"])
        matrix = csr_array((data, indices, indptr), shape=tuple(part["shape"]))
        matrix.check_format(full_check=True)
        return matrix
    if "tuple" in part:
        return tuple(_unpack(item, arrays) for item in part["tuple"])
    if "dict" in part:
        return {str(key): _unpack(item, arrays) for key, item in part["dict"].items()}
    if "model" in part:
        return _unpack_model(part["model"], arrays)
    fields = {name: _unpack(item, arrays) for name, item in part["fields"].items()}
    cls = VALUE_CLASSES[part["value"]]
    if unknown := sorted(fields.keys() - declared_fields(cls).keys()):
        raise StoreError(f"a {part['value']} has no field {unknown[0]!r}")
    return cls(**fields)
