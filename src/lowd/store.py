"""Model files: a zip of .npy arrays and one JSON text. No pickle, no code.

A class declares its learned fields once, with the named sizes of arrays (see `parameters`). The
same lines say what is saved and check what is loaded: types, sizes that must agree, and indices
that must be in range, as native code trusts them. A digest of everything detects a file that was
altered by accident; one that was altered on purpose is still either a consistent model or an error.
Members are stored uncompressed, so none of them can claim to be larger than the file itself.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import secrets
import tokenize
import zipfile
from importlib import import_module
from pathlib import Path
from types import UnionType
from typing import IO, Any, Literal, Union, get_args, get_origin

import numpy as np
from scipy.sparse import csr_array, issparse

from . import __version__
from .errors import LowdError, MissingFileError, StoreError, UnsupportedError, check_folder
from .methods import METHODS
from .parameters import (
    Held,
    accepts,
    check_parameters,
    describe,
    in_full,
    parameters_of,
    state_of,
)
from .reducer import Reducer
from .spaces import BlockRows, Space

FORMAT = 5  # whoever changes the state of a class raises it
# What a damaged archive, header or text makes the standard library raise.
_BROKEN = (
    *(zipfile.BadZipFile, EOFError, OSError, ValueError, KeyError, TypeError, IndexError),
    *(AttributeError, RecursionError, RuntimeError, SyntaxError, ArithmeticError, MemoryError),
    tokenize.TokenError,  # of a header of .npy
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
    name = type(model).__name__
    if name not in _model_modules() or type(model) is not class_of(name):
        raise UnsupportedError(
            f"only a model of lowd can be saved, got a {name} of {type(model).__module__}; pickle "
            "it, or build preparation and method as one model by lowd.Pipeline."
        )
    if not model.__sklearn_is_fitted__():
        raise UnsupportedError(f"only a fitted model can be saved, got {model!r}; call fit first.")
    check_folder(path)
    members: dict[str, Any] = {}
    tree = {"format": FORMAT, "lowd": __version__, **_pack_model(model, members)}
    files = [_npy(array) for array in members.values()]
    tree["digest"] = _digest(tree, files)
    target = Path(path)
    begun = target.with_name(f".{target.name}.{secrets.token_hex(8)}")
    try:
        with begun.open("xb") as file:
            _write(file, tree, files)
            file.flush()
            os.fsync(file.fileno())
        os.replace(begun, target)
    except BaseException:
        begun.unlink(missing_ok=True)
        raise


def load(path: str | os.PathLike[str]) -> Any:
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
    except (LowdError, *_BROKEN) as error:
        raise StoreError(
            f"{os.fspath(path)!r} is not a lowd model, or is damaged "
            f"({type(error).__name__}: {error}); save it again or use a copy."
        ) from None


def class_of(name: str) -> type[Reducer]:
    """The class of that name: a method, or the pipeline."""
    found: type[Reducer] = getattr(import_module(_model_modules()[name]), name)
    return found


def _model_modules() -> dict[str, str]:
    package = __name__.rpartition(".")[0]
    methods = {name: f"{package}.methods.{module}" for name, module in METHODS.items()}
    others = {"Pipeline": "pipeline", "Columns": "pipeline"}
    others["NeighborsTransformer"] = "neighbor_graph"
    return methods | {name: f"{package}.{module}" for name, module in others.items()}


def _write(file: IO[bytes], tree: dict[str, Any], files: list[bytes]) -> None:
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr("model.json", json.dumps(tree))
        for number, content in enumerate(files):
            archive.writestr(f"{number}.npy", content)


def _read(archive: zipfile.ZipFile, size: int) -> Reducer:
    members = {info.filename: info for info in archive.infolist()}
    if "model.json" not in members:
        raise StoreError("this is not a lowd model.")
    packed = any(info.compress_type != zipfile.ZIP_STORED for info in members.values())
    if packed or sum(info.file_size for info in archive.infolist()) > size:
        raise StoreError("members of a lowd model are stored uncompressed; this file was altered.")
    tree = json.loads(archive.read("model.json"))
    if type(tree["format"]) is not int or tree["format"] < 1:
        raise StoreError(f"there is no format {tree['format']!r}.")
    if tree["format"] != FORMAT:
        remedy = "upgrade lowd" if tree["format"] > FORMAT else "fit the model again"
        raise StoreError(
            f"lowd {tree['lowd']} wrote it in format {tree['format']}, and lowd {__version__} "
            f"reads format {FORMAT}: {remedy}."
        )
    files = [archive.read(f"{number}.npy") for number in range(len(members) - 1)]
    if tree.pop("digest") != _digest(tree, files):
        raise StoreError("its digest is not that of its content")
    model = _restore_model(tree, [_array(content) for content in files])
    for name in ("_n_features_out", "n_features_in_", "_float32", "_widened"):
        if name not in vars(model):
            raise StoreError(f"{name} is missing")
    return model


def _digest(tree: dict[str, Any], files: list[bytes]) -> str:
    whole = hashlib.sha256(json.dumps(tree, sort_keys=True).encode())
    for content in files:
        whole.update(hashlib.sha256(content).digest())
    return whole.hexdigest()


def _npy(array: np.ndarray) -> bytes:
    buffer = io.BytesIO()
    np.lib.format.write_array(buffer, array, allow_pickle=False)
    return buffer.getvalue()


def _array(content: bytes) -> np.ndarray:
    """A member as an array, which shares its bytes; it cannot claim to be larger than they are."""
    buffer = io.BytesIO(content)
    if np.lib.format.read_magic(buffer) != (1, 0):
        raise StoreError("an array is in an unknown version of its format.")
    shape, by_columns, dtype = np.lib.format.read_array_header_1_0(buffer)
    if dtype.kind not in "fiub" or not dtype.isnative:
        raise StoreError(f"an array holds {dtype}, not numbers of this machine.")
    start = buffer.tell()
    if min(shape, default=0) < 0 or len(content) - start != math.prod(shape) * dtype.itemsize:
        raise StoreError(f"an array claims the shape {shape}, which is not what the file holds.")
    array = np.frombuffer(content, dtype, offset=start)  # read-only, as the bytes are
    return array.reshape(shape, order="F" if by_columns else "C")


# -- a model as JSON and arrays -------------------------------------------------------------------


def _pack_model(model: Reducer, arrays: dict[str, Any]) -> dict[str, Any]:
    """Class, parameters and what was learned of a model, which may be part of another one."""
    params = model.get_params(deep=False)
    if "random_state" in params and not isinstance(params["random_state"], int | None):
        # A generator's state is not part of the model; what it drew is.
        params["random_state"] = getattr(model, "seed_", None)
    return {
        "class": type(model).__name__,
        "params": {name: _pack(value, arrays) for name, value in params.items()},
        "learned": _pack_state(model, arrays),
    }


def _pack_state(owner: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    held = vars(owner)
    return {name: _pack(held[name], arrays) for name in state_of(type(owner)) if name in held}


def _pack(item: Any, arrays: dict[str, Any]) -> Any:
    """A value as JSON; its arrays are put aside, each once."""
    if item is None or isinstance(item, bool | int | float | str):
        return item
    if isinstance(item, np.generic):
        return item.item()
    if isinstance(item, np.ndarray) and item.dtype == object:
        return {"names": [str(name) for name in item]}
    if isinstance(item, np.ndarray):
        arrays.setdefault(str(id(item)), item)
        return {"array": list(arrays).index(str(id(item)))}
    if issparse(item):
        parts = [_pack(part, arrays) for part in (item.data, item.indices, item.indptr)]
        return {"csr": parts, "shape": [int(size) for size in item.shape]}
    if isinstance(item, list | tuple):
        kind = "list" if isinstance(item, list) else "tuple"
        return {kind: [_pack(part, arrays) for part in item]}
    if isinstance(item, dict) and all(isinstance(key, str) for key in item):
        return {"dict": {key: _pack(part, arrays) for key, part in item.items()}}
    if isinstance(item, Reducer):
        return {"model": _pack_model(item, arrays)}
    if isinstance(item, BlockRows):  # which a pickle refers to, and a file holds
        item = item.in_memory()
    if isinstance(item, Held):
        return {"state": type(item).__name__, "fields": _pack_state(item, arrays)}
    raise UnsupportedError(
        f"a {type(item).__name__} cannot be stored without code ({item!r}); use a named metric or "
        "kernel or 'precomputed', or pickle the model within one version."
    )


# -- and back, with a check of each field ---------------------------------------------------------


def _restore_model(tree: dict[str, Any], arrays: list[np.ndarray]) -> Reducer:
    if tree["class"] not in _model_modules():
        raise StoreError(f"unknown method {tree['class']!r}.")
    cls = class_of(tree["class"])
    params = {name: _unpack(part, arrays) for name, part in tree["params"].items()}
    if set(params) != set(parameters_of(cls)):
        raise StoreError(f"its parameters are not those of {cls.__name__}")
    model = cls(**params)
    check_parameters(model)
    _restore(model, tree["learned"], arrays)
    return model


def _restore(owner: Any, packed: dict[str, Any], arrays: list[np.ndarray], depth: int = 0) -> None:
    """Set the fields of a model or of what it holds, after a check of each."""
    if depth > 8:
        raise StoreError("its values are nested more than 8 deep")
    declared, sizes, bounded = state_of(type(owner)), dict[str, int](), []
    for name, part in packed.items():
        if name not in declared:
            raise StoreError(f"unexpected attribute {name!r}.")
        hint, spec = declared[name]
        held = _unpack(part, arrays, depth)
        if not _fits(hint, held):
            raise StoreError(f"{name} holds {_show(held)}, but must be {describe(hint)}")
        if type(held) is int and not -(2**63) <= held < 2**63:
            raise StoreError(f"{name} holds {held}, which no integer type can hold")
        object.__setattr__(owner, name, held)
        if type(held) is int:
            _agree(name, (held,), name, sizes)
        if name == "_n_features_out":
            _agree(name, (held,), "n_components", sizes)
        if not spec or held is None:
            continue
        names, _, bound = spec.partition(" of ")
        matrix = held.rows if isinstance(held, Space) and " " in names else held
        _agree(name, (held.n,) if isinstance(matrix, Space) else matrix.shape, names, sizes)
        if bound:
            bounded.append((name, held, bound))
    for name, held, bound in bounded:  # all sizes are known by now
        size = int(bound) if bound.isdigit() else sizes.get(bound.strip("_"), 0)
        if held.size and not 0 <= held.min() <= held.max() < size:
            raise StoreError(f"{name} holds numbers that are not below {bound} = {size}")


def _agree(name: str, shape: tuple[int, ...], spec: str, sizes: dict[str, int]) -> None:
    """Named sizes are the same wherever they occur in a model; a size may also be a number.

    A field such as `n_samples_` holds the size of its name.
    """
    names = [word.strip("_") for word in spec.split()]
    known = {word: int(word) for word in names if word.isdigit()} | sizes
    agrees = len(names) == len(shape)
    if not agrees or any(known.get(w, s) != s for w, s in zip(names, shape, strict=True)):
        there = {word: known[word] for word in names if word in known}
        raise StoreError(f"{name} has the shape {shape}, but must be ({spec}), with {there}")
    sizes.update(zip(names, shape, strict=True))


def _unpack(part: Any, arrays: list[np.ndarray], depth: int = 0) -> Any:
    if not isinstance(part, dict):
        if isinstance(part, list):
            raise StoreError("a bare list in the text.")
        return part
    if "array" in part:
        return arrays[part["array"]]
    if "names" in part:
        return np.array([str(name) for name in part["names"]], object)
    if "csr" in part:
        data, indices, indptr = (_unpack(item, arrays) for item in part["csr"])
        if not len(data) == len(indices) == indptr[-1]:
            raise StoreError("the parts of a sparse matrix are of different lengths.")
        matrix = csr_array((data, indices, indptr), shape=tuple(part["shape"]))
        if matrix.indices.dtype != indices.dtype or matrix.indptr.dtype != indptr.dtype:
            # SciPy has copied them, and would do so for each matrix that claims these arrays.
            raise StoreError("the indices of a sparse matrix are of two types or too small a one.")
        matrix.check_format(full_check=True)
        return matrix
    if "list" in part or "tuple" in part:
        items = [_unpack(item, arrays) for item in next(iter(part.values()))]
        return items if "list" in part else tuple(items)
    if "dict" in part:
        return {str(key): _unpack(item, arrays) for key, item in part["dict"].items()}
    if "model" in part:
        return _restore_model(part["model"], arrays)
    held = object.__new__(Held.classes[part["state"]])
    _restore(held, part["fields"], arrays, depth + 1)
    return held


def _fits(hint: Any, held: Any) -> bool:
    """Whether a value is of the type that its field declares."""
    hint = in_full(hint)
    kind: Any = get_origin(hint)
    inside = get_args(hint)
    if kind in (Union, UnionType):
        return any(_fits(part, held) for part in inside)
    if kind is tuple:
        each = [inside[0]] * len(held) if inside[-1] is Ellipsis else list(inside)
        if not isinstance(held, tuple) or len(each) != len(held):
            return False
        return all(_fits(part, item) for part, item in zip(each, held, strict=True))
    if kind is np.ndarray and isinstance(held, np.ndarray):
        return bool(np.issubdtype(held.dtype, get_args(inside[1])[0]))
    return accepts(hint if kind in (None, Literal) else kind, held)


def _show(held: Any) -> str:
    if isinstance(held, np.ndarray) or issparse(held):
        sparse = "sparse " if issparse(held) else ""
        return f"a {sparse}{held.dtype} array of shape {held.shape}"
    shown = repr(held)
    return shown if len(shown) <= 60 else f"{shown[:57]}..."
