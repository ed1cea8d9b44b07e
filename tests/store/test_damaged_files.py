"""Model files that are damaged, foreign or hostile are refused."""

from __future__ import annotations

import contextlib
import io
import json
import pickle
import struct
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import lowd
from case_data import rows_like
from lowd import store
from lowd.errors import StoreError
from mutations import forge, npy

relaxed = settings(
    max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _refused_or_the_same(path, model, Q):
    """A damaged file is refused with its name in the sentence, or the damage was of no matter."""
    try:
        twin = lowd.load(path)
    except StoreError as error:
        return str(path) in str(error)
    return np.array_equal(twin.transform(Q), model.transform(Q))


def _rewritten(data, change):
    """The bytes of a file whose tree was changed, all else in order: its digest, too."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        tree = json.loads(archive.read("model.json"))
        parts = [archive.read(f"{number}.npy") for number in range(len(archive.namelist()) - 1)]
    changed = change(tree)
    return forge(tree if changed is None else changed, parts)


def _with_member(data, number, content):
    """The bytes of a file in which one array was replaced, and the digest with it."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        tree = json.loads(archive.read("model.json"))
        parts = [archive.read(f"{n}.npy") for n in range(len(archive.namelist()) - 1)]
    parts[number] = content
    return forge(tree, parts)


def _zipped(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return out.getvalue()


def test_truncated_files(stored, tmp_path):
    _, _, path = stored
    data = path.read_bytes()
    cut = tmp_path / "cut"
    for length in sorted({*range(40), *np.linspace(0, len(data) - 1, 60, dtype=int)}):
        cut.write_bytes(data[:length])
        with pytest.raises(StoreError, match="cut"):
            lowd.load(cut)


def test_every_flipped_byte_of_a_small_file(saved):
    model, data, path = saved
    Q = rows_like(3, 3)
    for position in range(0, len(data), max(1, len(data) // 300)):
        damaged = bytearray(data)
        damaged[position] ^= 1 << (position % 8)
        path.write_bytes(damaged)
        assert _refused_or_the_same(path, model, Q), position


def test_flipped_bytes(stored, tmp_path):
    model, Q, path = stored
    data = path.read_bytes()
    for position in np.random.default_rng(0).integers(0, len(data), 60):
        damaged = bytearray(data)
        damaged[position] ^= 0x55
        (tmp_path / "flipped").write_bytes(damaged)
        assert _refused_or_the_same(tmp_path / "flipped", model, Q), position


@relaxed
@given(st.binary(max_size=300))
def test_any_bytes(tmp_path, content):
    for data in (content, b"PK\x03\x04" + content, _zipped({"model.json": content})):
        (tmp_path / "any").write_bytes(data)
        with pytest.raises(StoreError):
            lowd.load(tmp_path / "any")


@relaxed
@given(st.data())
def test_spliced_bytes(saved, data):
    """Parts of a file repeated, dropped or replaced."""
    model, content, path = saved
    start = data.draw(st.integers(0, len(content)))
    end = data.draw(st.integers(start, min(len(content), start + 200)))
    part = data.draw(st.one_of(st.binary(max_size=60), st.just(content[start:end] * 2)))
    path.write_bytes(content[:start] + part + content[end:])
    assert _refused_or_the_same(path, model, rows_like(3, 3))


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.sampled_from(["0.npy", "PCA", "Rows", "_space", "__class__", "array", "state"]),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["array", "state", "fields", "tuple", "dict", "csr", "shape", "names", "X", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)


def _paths(tree, path=()):
    yield path
    if isinstance(tree, dict):
        for key, part in tree.items():
            yield from _paths(part, (*path, key))
    elif isinstance(tree, list):
        for index, part in enumerate(tree):
            yield from _paths(part, (*path, index))


@relaxed
@given(st.data())
def test_any_tree(saved, data):
    """Whatever stands in the tree: a refusal, or a model of a known class."""
    _, content, path = saved

    def change(tree):
        key_path = data.draw(st.sampled_from(sorted(_paths(tree), key=str)))
        branch = tree
        for key in key_path[:-1]:
            branch = branch[key]
        new = data.draw(JSON)
        if not key_path:
            return new
        if data.draw(st.booleans()):
            branch[key_path[-1]] = new
        elif isinstance(branch, dict):
            branch[data.draw(st.sampled_from(["extra", "extra_", "__dict__", "fit", "_space"]))] = (
                new
            )
        else:
            del branch[key_path[-1]]
        return None

    path.write_bytes(_rewritten(content, change))
    with contextlib.suppress(StoreError):
        model = lowd.load(path)
        assert isinstance(model, lowd.PCA)
        assert callable(model.fit)


def test_files_of_others(tmp_path):
    path = tmp_path / "other"
    for content in (
        b"",
        b"not a model",
        b"\x80\x04K\x01.",
        b"\x89HDF\r\n\x1a\n" + bytes(100),
        _zipped({}),
        _zipped({"word/document.xml": b"<a/>"}),
        _zipped({"model.json": b"{}"}),
        _zipped({"model.json": b"[" * 100_000}),
        _zipped({"model.json": b"[]"}),
        _zipped({"model.json": b"\xff\xfe"}),
        _zipped(
            {
                "model.json": b'{"format": %d, "lowd": "1", "class": "os.system", "params": {}, '
                b'"learned": {}}' % store.FORMAT
            }
        ),
    ):
        path.write_bytes(content)
        with pytest.raises(StoreError, match="other"):
            lowd.load(path)
    np.savez(path.with_suffix(".npz"), a=np.ones(3))
    with pytest.raises(StoreError, match="not a lowd model"):
        lowd.load(path.with_suffix(".npz"))


@pytest.mark.parametrize(("step", "remedy"), [(1, "upgrade lowd"), (-1, "fit the model again")])
def test_another_format_names_its_version_and_the_remedy(saved, step, remedy):
    _, data, path = saved
    other = {"format": store.FORMAT + step, "lowd": "9.9"}
    path.write_bytes(_rewritten(data, lambda tree: tree.update(other)))
    with pytest.raises(StoreError, match=rf"lowd 9\.9 wrote it in format.*{remedy}"):
        lowd.load(path)


def test_a_format_that_never_was(saved):
    _, data, path = saved
    for number in ("1", None, -1, 0, [1], 1.5, True):
        path.write_bytes(_rewritten(data, lambda tree, number=number: tree.update(format=number)))
        with pytest.raises(StoreError):
            lowd.load(path)


def test_attributes_that_are_not_learned(saved):
    _, data, path = saved
    for name in ("fit", "__class__", "__dict__", "__reduce__"):
        path.write_bytes(
            _rewritten(data, lambda tree, name=name: tree["learned"].update({name: 1}))
        )
        with pytest.raises(StoreError, match=name):
            lowd.load(path)


def test_parameters_that_do_not_exist_or_fit(saved):
    _, data, path = saved
    for bad in ({"speed": 3}, {"n_components": "many"}, {"n_components": -1}, {"backend": 7}):
        path.write_bytes(_rewritten(data, lambda tree, bad=bad: tree["params"].update(bad)))
        with pytest.raises(StoreError):
            lowd.load(path)


class _Payload:
    """Leaves a trace when unpickled."""

    def __init__(self, trace):
        self.trace = trace

    def __reduce__(self):
        return (open, (str(self.trace), "w"))


def test_no_code_is_ever_run(tmp_path, saved):
    _, data, path = saved
    trace = tmp_path / "trace"
    payload = pickle.dumps(_Payload(trace))
    objects = io.BytesIO()
    np.save(objects, np.array([_Payload(trace)], object), allow_pickle=True)
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    for content in (
        payload,
        objects.getvalue(),
        _with_member(data, 0, objects.getvalue()),
        _with_member(data, 0, payload),
        _zipped({**members, "model.json": payload}),
        _zipped({**members, "more.pkl": payload}),
    ):
        path.write_bytes(content)
        with pytest.raises(StoreError):
            lowd.load(path)
        assert not trace.exists()
    pickle.loads(payload).close()
    assert trace.exists()  # the payload would have worked


def _header(shape, descr="<f8"):
    text = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode()


@pytest.mark.parametrize(
    "member",
    [
        _header((10**12,)),
        _header((10**12,)) + bytes(800),
        _header((2**62, 2**62)),
        _header((-1, -8)) + bytes(64),
        _header((3,)),
        _header((3,), "|O") + bytes(24),
        _header((3,), "|S8") + bytes(24),
        _header((10**9,), "<f0"),
        _header("(1,) * 10**9"),
        _header("__import__('os').getpid()"),
        _header("(3,").replace(b"}", b"{"),  # no end, for the tokenizer of Python
        b"\x93NUMPY\x03\x00" + b"\xff" * 200,
        b"\x93NUMPY\x02\x00\xff\xff\xff\xff",
    ],
    ids=lambda member: str(member[10:80]),
)
def test_claims_of_arrays(saved, member):
    """A header may claim anything; what is allocated is what the file holds."""
    _, data, path = saved
    path.write_bytes(_with_member(data, 0, member))
    _refused_within(path, 2**20)


def _peak_of(path):
    """Bytes that are held at most while a file is loaded, or refused."""
    lowd.PCA(1).fit(np.ones((2, 2)) * [[1], [2]])  # imports are done
    tracemalloc.start()
    try:
        with contextlib.suppress(StoreError):
            lowd.load(path)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def _refused_within(path, limit):
    assert _peak_of(path) < limit
    with pytest.raises(StoreError):
        lowd.load(path)


@pytest.mark.parametrize("field", ["x_", "prepared_", "params"])
@pytest.mark.parametrize(("used", "indptr"), [(10**5, "i4"), (10**5, "i8"), (4 * 10**4, "i4")])
def test_matrices_that_share_their_arrays(saved, field, used, indptr):
    """SciPy copies indices of two types, and entries of which a matrix uses less than half."""
    _, data, path = saved
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        tree = json.loads(archive.read("model.json"))
        parts = [archive.read(f"{n}.npy") for n in range(len(archive.namelist()) - 1)]
    first = len(parts)
    arrays = np.zeros(10**5, "u1"), np.zeros(10**5, "i4"), np.array([0, used], indptr)
    numbers = [{"array": first + i} for i in range(3)]
    matrix = {"csr": numbers, "shape": [1, 5]}
    owner = tree["params"] if field == "params" else tree["learned"]
    owner[field] = {"dict": {str(i): matrix for i in range(200)}}
    path.write_bytes(forge(tree, [*parts, *map(npy, arrays)]))
    assert _peak_of(path) < 4 * path.stat().st_size


def test_compressed_claims(saved):
    """A bomb: a kilobyte that would unpack to twenty megabytes."""
    _, data, path = saved
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    content = _header((2 * 10**7,)) + bytes(2 * 10**7)
    path.write_bytes(_zipped({**members, "0.npy": content}, zipfile.ZIP_DEFLATED))
    del content
    _refused_within(path, 2**20)
    members["model.json"] = b'{"format": 3, "x": "' + b" " * 2 * 10**7 + b'"}'
    path.write_bytes(_zipped(members, zipfile.ZIP_DEFLATED))
    members.clear()
    _refused_within(path, 2**20)


def test_overlapping_members(saved):
    """Five hundred members that share one megabyte would be half a gigabyte.

    Each local header skips the following ones as its 'extra field', so all have the same content.
    """
    _, data, path = saved
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        tree = archive.read("model.json")
    content = _header((2**17,)) + bytes(2**20)
    names = [f"{i:04d}.npy".encode() for i in range(500)]
    sizes = _sizes(content)
    start, step = len(_local(b"model.json", 0, _sizes(tree))) + len(tree), 30 + 8
    local, directory = [_local(b"model.json", 0, _sizes(tree)) + tree], []
    directory.append(_central(b"model.json", 0, _sizes(tree)))
    for i, name in enumerate(names):
        local.append(_local(name, (len(names) - 1 - i) * step, sizes))
        directory.append(_central(name, start + i * step, sizes))
    body, entries = b"".join(local) + content, b"".join(directory)
    count = len(directory)
    end = struct.pack("<4s4HIIH", b"PK\5\6", 0, 0, count, count, len(entries), len(body), 0)
    path.write_bytes(body + entries + end)
    with zipfile.ZipFile(path) as archive:
        assert len(archive.namelist()) == count
    _refused_within(path, 2**25)


def _sizes(content):
    return struct.pack("<III", zlib.crc32(content), len(content), len(content))


def _local(name, extra, sizes):
    return (
        struct.pack("<4s5H", b"PK\3\4", 20, 0, 0, 0, 0)
        + sizes
        + struct.pack("<HH", len(name), extra)
        + name
    )


def _central(name, offset, sizes):
    head = struct.pack("<4s6H", b"PK\1\2", 20, 20, 0, 0, 0, 0) + sizes
    return head + struct.pack("<5H2I", len(name), 0, 0, 0, 0, 0, offset) + name


def test_sparse_arrays_that_point_outside(tmp_path):
    """Indices are checked before native code may follow them."""
    model = lowd.SparseRandomProjection(3, density=0.9, random_state=0).fit(rows_like(9, 5))
    lowd.save(model, tmp_path / "model")
    data = (tmp_path / "model").read_bytes()
    with zipfile.ZipFile(tmp_path / "model") as archive:
        tree = json.loads(archive.read("model.json"))
        indices = tree["learned"]["components_"]["csr"][1]["array"]
        array = np.load(io.BytesIO(archive.read(f"{indices}.npy")))
    for bad in (10**6, -5, 5):
        array[2] = bad
        (tmp_path / "bad").write_bytes(_with_member(data, indices, npy(array)))
        with pytest.raises(StoreError):
            lowd.load(tmp_path / "bad")


def test_a_digest_detects_what_no_check_of_a_field_can(saved):
    """A changed digit is no error of an array: the model would be another one."""
    model, data, path = saved
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    path.write_bytes(_zipped({**members, "0.npy": npy(model.components_ + 1e-9)}))
    with pytest.raises(StoreError, match="digest"):
        lowd.load(path)
