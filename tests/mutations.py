"""Mutations of stored models.

A mutated file is a valid archive with right checksums and the right digest: what an attacker would
write, not what a damaged disk leaves.
"""

from __future__ import annotations

import copy
import io
import json
import zipfile

import numpy as np

from lowd import store
from lowd.parameters import Held

TREE = "model.json"


class Model:
    """The parts of a file: the JSON tree and the arrays that it names."""

    def __init__(self, data, others=None):
        self.others = others or {}  # bytes of other models, by name
        with zipfile.ZipFile(io.BytesIO(data)) as archive:
            self.tree = json.loads(archive.read(TREE))
            count = len(archive.namelist()) - 1
            parts = [archive.read(f"{number}.npy") for number in range(count)]
            self.arrays = dict(enumerate(np.load(io.BytesIO(part)) for part in parts))

    def to_bytes(self):
        return forge(self.tree, [npy(array) for array in self.arrays.values()])

    def add(self, array):
        """The number of a new array of the file."""
        name = len(self.arrays)
        self.arrays[name] = np.asarray(array)
        return name

    def entries(self):
        """(container, key) of every entry of parameters and learned attributes, at any depth."""
        found = []

        def visit(container):
            items = container.items() if isinstance(container, dict) else enumerate(container)
            for key, part in list(items):
                if key in ("state", "array"):
                    continue
                found.append((container, key))
                if isinstance(part, dict | list):
                    visit(part)

        visit(self.tree["params"])
        visit(self.tree["learned"])
        return found


def npy(array):
    """An array as a member of a file."""
    member = io.BytesIO()
    np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    return member.getvalue()


def forge(tree, parts):
    """The bytes of a file of this tree and these members, with the digest of both."""
    if isinstance(tree, dict):
        tree = {key: part for key, part in tree.items() if key != "digest"}
        tree["digest"] = store._digest(tree, parts)
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_STORED) as archive:
        archive.writestr(TREE, json.dumps(tree))
        for number, part in enumerate(parts):
            archive.writestr(f"{number}.npy", part)
    return out.getvalue()


# A mutation found nothing to change in what is left of a file, or nested it too deep for JSON.
IMPOSSIBLE = (LookupError, TypeError, ValueError, ArithmeticError, RecursionError)


def mutate(data, others, seed):
    """The bytes of a file with one to three mutations, and their names."""
    rng = np.random.default_rng(seed)
    model = Model(data, others)
    done = []
    for n in range(1 + rng.binomial(2, 0.25)):
        mutation = MUTATIONS[rng.integers(len(MUTATIONS))]
        before = json.dumps(model.tree)
        try:
            done.append(f"{mutation.__name__}: {mutation(model, rng)}")
            json.dumps(model.tree)
        except IMPOSSIBLE:
            model.tree = json.loads(before)
            done[n:] = [f"{mutation.__name__}: nothing"]
    return model.to_bytes(), done


def _choose(rng, options):
    return options[rng.integers(len(options))] if len(options) else None


def _some_array(model, rng):
    return _choose(rng, sorted(model.arrays))


def _resize(array, axis, size, rng):
    """More rows repeat old ones, in any order; fewer are the first."""
    old = array.shape[axis]
    if size <= old:
        return np.take(array, np.arange(size), axis)
    if old == 0:
        shape = [*array.shape[:axis], size, *array.shape[axis + 1 :]]
        return np.zeros(shape, array.dtype)
    return np.take(array, np.concatenate([np.arange(old), rng.integers(0, old, size - old)]), axis)


def _new_size(rng, old):
    return int(_choose(rng, [0, 1, 2, old - 1, old + 1, old + 1, 2 * old, 10 * old, 1000]) or 0)


def resize_axis(model, rng):
    """One array along one axis."""
    name = _some_array(model, rng)
    array = model.arrays[name]
    if array.ndim == 0:
        return None
    axis = int(rng.integers(array.ndim))
    size = min(_new_size(rng, array.shape[axis]), 5000)
    model.arrays[name] = _resize(array, axis, max(size, 0), rng)
    return f"{name} {array.shape} -> {model.arrays[name].shape}"


def resize_together(model, rng):
    """All axes of one length, or most of them."""
    lengths = sorted({length for array in model.arrays.values() for length in array.shape})
    old = _choose(rng, lengths)
    if old is None:
        return None
    new, share = max(0, min(_new_size(rng, old), 500)), rng.choice([1.0, 0.8, 0.5])
    for name, array in model.arrays.items():
        for axis, length in enumerate(array.shape):
            if length == old and rng.random() < share:
                model.arrays[name] = _resize(model.arrays[name], axis, new, rng)
    if rng.random() < 0.5:  # numbers of the tree that say the same
        for container, key in model.entries():
            if type(container[key]) is int and container[key] == old and rng.random() < share:
                container[key] = new
    return f"{old} -> {new} in {share}"


def change_dtype(model, rng):
    name = _some_array(model, rng)
    array = model.arrays[name]
    dtypes = ["f4", "f8", ">f8", "f2", "i4", "i8", ">i8", "u1", "u8", "i1", "?", "g"]
    dtype = np.dtype(_choose(rng, dtypes))
    with np.errstate(all="ignore"):
        model.arrays[name] = array.astype(dtype)
    return f"{name} {array.dtype} -> {dtype}"


EXTREMES = {
    "f": [np.nan, np.inf, -np.inf, 0.0, -1.0, 1e308, -1e308, 1e-308, 1e150, 1e20, -0.0],
    "i": [-1, -2, 10**6, 2**31 - 1, 2**31, -(2**31), 2**62, -(2**63), 0],
    "u": [0, 2**32, 2**63, 2**64 - 1],
    "b": [True, False],
}


def set_entries(model, rng):
    """One entry, one row or all entries become an extreme value."""
    name = _some_array(model, rng)
    array = model.arrays[name].copy()
    if not array.size:
        return None
    value = _choose(rng, EXTREMES[array.dtype.kind])
    where = rng.integers(4)
    with np.errstate(all="ignore"):
        flat = array.reshape(-1)
        new = np.array(value).astype(array.dtype)
        if where <= 1:
            flat[rng.integers(flat.size)] = new
        elif where == 2:
            flat[: max(1, array.shape[-1] if array.ndim else 1)] = new
        else:
            flat[:] = new
        model.arrays[name] = flat.reshape(array.shape)
    return f"{name}[{('one', 'one', 'row', 'all')[where]}] = {value}"


def scale_entries(model, rng):
    name = _some_array(model, rng)
    array = model.arrays[name]
    if array.dtype.kind != "f":
        return None
    factor = _choose(rng, [-1.0, 1e-3, 1e3, 1e100, 1e-100, 1e200, 1e-200])
    with np.errstate(all="ignore"):
        model.arrays[name] = array * array.dtype.type(factor)
    return f"{name} * {factor}"


def reorder_entries(model, rng):
    name = _some_array(model, rng)
    array = model.arrays[name]
    kind = rng.integers(4)
    if kind == 0:
        array = array.reshape(-1)
    elif kind == 1:
        array = array[..., None] if rng.random() < 0.5 else array[None]
    elif kind == 2:
        array = np.asfortranarray(array.T)
    else:
        array = rng.permutation(array.reshape(-1)).reshape(array.shape)
    model.arrays[name] = array
    return f"{name} {('ravel', 'axis', 'transpose', 'shuffle')[kind]}"


def swap_arrays(model, rng):
    """Exchange two arrays, most often of one shape."""
    name = _some_array(model, rng)
    same = [n for n in sorted(model.arrays) if model.arrays[n].shape == model.arrays[name].shape]
    other = _choose(rng, same if len(same) > 1 and rng.random() < 0.7 else sorted(model.arrays))
    model.arrays[name], model.arrays[other] = model.arrays[other], model.arrays[name]
    return f"{name} <-> {other}"


def replace_array(model, rng):
    """An entry of the tree names another array, or one of no size or of many axes."""
    entries = [(c, k) for c, k in model.entries() if isinstance(c[k], dict) and "array" in c[k]]
    container, key = _choose(rng, entries)
    made = [np.zeros(0), np.zeros((0, 0)), np.float64(1), np.zeros((2, 3, 4)), np.zeros(7, "i8")]
    if rng.random() < 0.5:
        container[key] = {"array": _some_array(model, rng)}
    else:
        container[key] = {"array": model.add(_choose(rng, made))}
    return f"{key} = {model.arrays[container[key]['array']].shape}"


SCALARS = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 60, 1000, 2**31, 2**63, 10**30, 0.0, -1.5, 0.5, 1e308),
    *(1e-308, float("nan"), float("inf"), -float("inf"), "", "x", "rows", "precomputed", "exact"),
]

TEXTS = [
    *("euclidean", "sqeuclidean", "manhattan", "minkowski", "hamming", "jaccard", "dot", "rbf"),
    *("rbfm1", "poly", "sigmoid", "laplacian", "cosine", "chebyshev", "student", "gaussian"),
    *("as they are", "unit length", "centered, unit length", "random_walk", "symmetric", "none"),
    *("distances", "kernel", "affinity", "number", "order", "category", "precomputed", "gower"),
]


def set_scalar(model, rng):
    """A number, text, switch or None becomes another one."""
    entries = [(c, k) for c, k in model.entries() if not isinstance(c[k], dict | list)]
    container, key = _choose(rng, entries)
    old = container[key]
    new = _choose(rng, SCALARS)
    if isinstance(old, str) and rng.random() < 0.7:
        new = _choose(rng, TEXTS)
    elif type(old) is int and rng.random() < 0.5:
        new = old + _choose(rng, [-1, 1, -2, 2, 10, 100])
    elif type(old) is float and rng.random() < 0.5:
        new = _choose(rng, [-old, old * 1e6, old * 1e-6, old * 1e100, 0.0, int(old)])
    elif type(old) is bool and rng.random() < 0.5:
        new = not old
    container[key] = new
    return f"{key} = {old!r} -> {new!r}"


def drop_entry(model, rng):
    container, key = _choose(rng, model.entries())
    del container[key]
    return f"{key}"


def add_entry(model, rng):
    """A field, an attribute, a parameter or an item too many."""
    container, key = _choose(rng, model.entries())
    new = _choose(rng, SCALARS)
    if isinstance(container, dict):
        container[
            _choose(rng, ["extra", "extra_", "embedding_", "rows", "_space", "_reach", "x"])
        ] = new
    else:
        container.append(copy.deepcopy(container[key]) if rng.random() < 0.7 else new)
    return f"beside {key}"


def rename_class(model, rng):
    """A value becomes one of another class, or the model one of another method."""
    values = [(c, k) for c, k in model.entries() if isinstance(c[k], dict) and "state" in c[k]]
    if rng.random() < 0.15 or not values:
        from lowd.methods import METHODS

        model.tree["class"] = _choose(rng, sorted(METHODS))
        if rng.random() < 0.7:
            model.tree["params"] = {}
        return f"class {model.tree['class']}"
    container, key = _choose(rng, values)
    old, new = container[key]["state"], _choose(rng, sorted(Held.classes))
    container[key]["state"] = new
    return f"{key}: {old} -> {new}"


def graft_own(model, rng):
    """A part of the tree stands elsewhere too."""
    (container, key), (source, name) = (_choose(rng, model.entries()) for _ in range(2))
    container[key] = copy.deepcopy(source[name])
    return f"{key} = {name}"


def graft_other(model, rng):
    """A part of another model, most often one of the same name."""
    other = Model(model.others[_choose(rng, sorted(model.others))])
    entries = other.entries()
    container, key = _choose(rng, model.entries())
    same = [(c, k) for c, k in entries if k == key]
    source, name = _choose(rng, same) if same and rng.random() < 0.8 else _choose(rng, entries)

    def import_part(part):
        if isinstance(part, list):
            return [import_part(item) for item in part]
        if not isinstance(part, dict):
            return part
        if isinstance(part.get("array"), int):
            return {"array": model.add(other.arrays[part["array"]])}
        return {k: import_part(item) for k, item in part.items()}

    container[key] = import_part(source[name])
    return f"{key} = {other.tree['class']}.{name}"


def nest_deeply(model, rng):
    container, key = _choose(rng, model.entries())
    for _ in range(int(_choose(rng, [1, 3, 100, 400]))):
        container[key] = {"tuple": [container[key]]}
    return f"{key}"


def claim_shape(model, rng):
    """The shape of a sparse matrix, one of its arrays, or a width of the model."""
    entries = [(c, k) for c, k in model.entries() if k == "shape"]
    if entries and rng.random() < 0.7:
        container, key = _choose(rng, entries)
        axis, new = int(rng.integers(2)), int(_choose(rng, [0, 1, 59, 61, 10**6, 2**40, -1]))
        container[key] = [new if i == axis else n for i, n in enumerate(container[key])]
        return f"csr {container[key]}"
    learned = model.tree["learned"]
    widths = ["n_features_in_", "_n_features_out", "n_samples_", "n_components_"]
    present = [name for name in widths if name in learned]
    name = _choose(rng, present)
    learned[name] = _choose(rng, [0, 1, -1, 2, 3, 6, 8, 60, 10**9, 2**62, 2.0, True])
    return f"{name} = {learned[name]}"


MUTATIONS = [
    *(resize_axis, resize_axis, resize_together, resize_together, change_dtype, set_entries),
    *(set_entries, scale_entries, reorder_entries, swap_arrays, replace_array, set_scalar),
    *(set_scalar, set_scalar, drop_entry, add_entry, rename_class, graft_own, graft_other),
    *(graft_other, nest_deeply, claim_shape),
]
