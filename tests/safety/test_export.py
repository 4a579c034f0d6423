"""What leaves is read-only or a copy: every door by which others see an array's memory, and attempts to write through it."""
from __future__ import annotations

import copy
import ctypes
import gc
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native

COUNT = 1 << 18  # floats: as large as what runs on the queue
REFUSED = (ValueError, TypeError, BufferError, AttributeError)


class Plain(np.ndarray):
    """A subclass."""


VIEWS: dict[str, Callable[[Any], np.ndarray]] = {
    "asarray": np.asarray,
    "array_without_copy": lambda x: np.array(x, copy=False),
    "__array__": lambda x: x.__array__(),
    "from_dlpack": np.from_dlpack,
    "from_memoryview": lambda x: np.asarray(memoryview(x)),
    "frombuffer": lambda x: np.frombuffer(x, np.float32),
    "over_buffer": lambda x: np.ndarray(x.shape, np.float32, buffer=x),
    "slice": lambda x: np.asarray(x)[2:],
    "turned": lambda x: np.asarray(x).reshape(4, -1).T,
    "other_dtype": lambda x: np.asarray(x).view(np.int32),
    "real": lambda x: np.asarray(x).real,
    "strided": lambda x: np.lib.stride_tricks.as_strided(np.asarray(x), writeable=True),
    "subclass": lambda x: np.asarray(x).view(Plain),
    "record": lambda x: np.asarray(x).view([("a", "f4")]),
    "pickled": lambda x: by_pickle(np.asarray(x)),
    "of_reshaped": lambda x: np.asarray(jnp.reshape(x, (4, -1))),
    "of_transposed": lambda x: np.asarray(jnp.reshape(x, (4, -1)).T),
    "of_identity": lambda x: np.asarray(nj.jit(lambda a: a)(x)),
    "of_result": lambda x: np.asarray(nj.jit(lambda a: (a, a + 1))(x)[0]),
}

WRITERS: dict[str, Callable[[np.ndarray], Any]] = {
    "flag": lambda v: setattr(v.flags, "writeable", True),
    "setflags": lambda v: v.setflags(write=True),
    "setflags_of_view": lambda v: v.view().setflags(write=True),
    "assign": lambda v: v.__setitem__(0, 7),
    "fill": lambda v: v.fill(7),
    "sort": lambda v: v.sort(),
    "out": lambda v: np.negative(v, out=v),
    "in_place": lambda v: v.__iadd__(1),
    "copyto": lambda v: np.copyto(v, 7),
    "put": lambda v: np.put(v, [0], 7),
    "putmask": lambda v: np.putmask(v, v == v, 7),
    "byteswap": lambda v: v.byteswap(inplace=True),
    "shuffle": lambda v: np.random.default_rng(0).shuffle(v),
    "nditer": lambda v: np.nditer(v, op_flags=["readwrite"]),
    "memoryview": lambda v: memoryview(v).cast("B").__setitem__(0, 7),
    "readinto": lambda v: io.BytesIO(b"abcdefgh").readinto(v),
    "ctypes": lambda v: ctypes.c_float.from_buffer(v),
    "legacy_dlpack": lambda v: v.__dlpack__(),
    "data": lambda v: setattr(v, "data", bytearray(v.nbytes)),
    "bytes": lambda v: np.frombuffer(v, np.uint8).__setitem__(0, 7),
    "dtype_and_flag": lambda v: v.view(np.uint8).setflags(write=True),
    "base": lambda v: v.base.__setitem__(0, 7),
}


def by_pickle(view: np.ndarray) -> np.ndarray:
    found: list[pickle.PickleBuffer] = []
    text = pickle.dumps(view, protocol=5, buffer_callback=found.append)
    return pickle.loads(text, buffers=found)


def numbers(count: int) -> Any:
    return nj.jit(lambda: jnp.arange(count, dtype=jnp.float32))()


def intact(x: Any) -> bool:
    return bool((np.array(x) == np.arange(x.size, dtype=np.float32)).all())


@pytest.mark.parametrize("count", [8, COUNT])
@pytest.mark.parametrize("door", VIEWS)
def test_no_view_can_be_written(door, count):
    x = numbers(count)
    for name, write in WRITERS.items():
        view = VIEWS[door](x)
        try:
            write(view)
        except REFUSED:
            assert not view.flags.writeable, name
        except RecursionError:
            pytest.fail(name)
        else:  # what was written was a copy
            assert not np.shares_memory(view, np.asarray(x)) or not view.flags.writeable, name
        assert intact(x), name


def test_the_buffer_protocol_gives_no_writable_memory():
    x = numbers(8)
    assert memoryview(x).readonly
    for write in (lambda: (ctypes.c_float * 8).from_buffer(x), lambda: memoryview(x).__setitem__(0, 7.0),
                  lambda: io.BytesIO(b"abcdefgh").readinto(x), lambda: x.__setitem__(0, 7.0), lambda: np.add(x, 1, out=x),
                  lambda: memoryview(x).cast("B").__setitem__(0, 7)):
        with pytest.raises(TypeError):
            write()
    assert intact(x)
    assert not hasattr(x, "__array_interface__") and not hasattr(x, "__array_struct__")


@pytest.mark.parametrize("export", [
    np.array, lambda x: np.array(x, copy=True), lambda x: x.__array__(copy=True), nj.device_get, lambda x: np.asarray(x).copy(),
    lambda x: np.from_dlpack(x, copy=True), lambda x: np.asarray(x, np.float64), lambda x: np.require(x, requirements=["W"]),
    lambda x: np.array(memoryview(x)), lambda x: np.frombuffer(bytearray(x.tobytes()), np.float32),
])
def test_copies_can_be_written_and_are_copies(export):
    x = numbers(8)
    taken = export(x)
    taken[:] = 7
    assert intact(x)


# ------------------------------------------------------------------------------------------------ DLPack

def capsule_memory(capsule: Any, name: bytes) -> Any:
    """The floats that a legacy capsule shows, as a consumer of that time sees them."""
    ctypes.pythonapi.PyCapsule_GetPointer.restype = ctypes.c_void_p
    address = ctypes.pythonapi.PyCapsule_GetPointer(ctypes.py_object(capsule), ctypes.c_char_p(name))
    data = ctypes.c_void_p.from_address(address).value
    return (ctypes.c_float * 8).from_address(data)


class Legacy:
    """Exports an array as producers did before version 1.0."""

    def __init__(self, x: Any, **options: Any):
        self.x, self.options = x, options

    def __dlpack__(self, **ignored: Any) -> Any:
        return self.x.__dlpack__(**self.options)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.x.__dlpack_device__()


@pytest.mark.parametrize("options", [{}, {"max_version": None}, {"max_version": (0, 8)}, {"copy": None}, {"copy": True}])
def test_capsules_that_cannot_say_read_only_hold_copies(options):
    x = numbers(8)
    capsule = x.__dlpack__(**options)
    memory = capsule_memory(capsule, b"dltensor")
    assert list(memory) == list(range(8))
    memory[0] = 7.0
    assert intact(x)
    del capsule
    gc.collect()
    view = np.from_dlpack(Legacy(x, **options))
    assert view.tolist() == list(range(8)) and not np.shares_memory(view, np.asarray(x))
    with pytest.raises(BufferError, match="immutable"):
        x.__dlpack__(**{**options, "copy": False})


def test_capsules_that_say_read_only_show_the_memory():
    x = numbers(8)
    view = np.from_dlpack(x)
    assert np.shares_memory(view, np.asarray(x)) and not view.flags.writeable
    assert np.shares_memory(np.from_dlpack(x, copy=False), view)
    del x
    gc.collect()
    assert view.tolist() == list(range(8))


# ------------------------------------------------------------------------------------------------ copies of arrays

@pytest.mark.parametrize("again", [
    copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x)), jnp.copy, jnp.array,
    lambda x: jnp.asarray(np.asarray(x)), lambda x: jnp.from_dlpack(x), lambda x: nj.device_put(np.asarray(x)), _native.rewrap,
])
def test_a_copy_outlives_its_original_and_the_donation_of_it(again):
    for count in (8, COUNT):
        for first in (0, 1):
            pair = [numbers(count)]
            pair.append(again(pair[0]))
            given, kept = pair[first], pair[1 - first]
            nj.jit(lambda a: a * 0 - 1, donate_argnums=0)(given).block_until_ready()
            assert intact(kept) or kept is given


def test_pickles_do_not_share_the_buffers_that_they_are_read_from():
    x = numbers(8)
    found: list[pickle.PickleBuffer] = []
    text = pickle.dumps(x, protocol=5, buffer_callback=found.append)
    given = [bytearray(b.raw()) for b in found]
    y = pickle.loads(text, buffers=given)
    for b in given:
        b[:] = bytes(len(b))
    assert intact(y) and intact(x)
    with pytest.raises(TypeError):
        found[0].raw()[0] = 7


# ------------------------------------------------------------------------------------------------ donation

@pytest.mark.parametrize("door", VIEWS)
def test_donation_leaves_live_views_alone(door):
    for count in (8, COUNT):
        x = numbers(count)
        view = VIEWS[door](x)
        before = view.copy()
        out = nj.jit(lambda a: a * 0 - 1, donate_argnums=0)(x)
        assert x.is_deleted() and float(out[0]) == -1
        assert view.tobytes() == before.tobytes()


def test_memory_that_was_shown_lives_as_long_as_its_array():
    x = numbers(8)
    view = np.ndarray(x.shape, np.float32, buffer=x)   # NumPy gives its view back at once, and reads on
    x.delete()
    others = [numbers(8) * 0 - 1 for _ in range(64)]
    assert view.tolist() == list(range(8)) and len(others) == 64


def test_donation_while_queued_programs_and_constants_read_the_array():
    for _ in range(5):
        x = numbers(COUNT)
        g = nj.jit(lambda a, x=x: a + x)
        first, moved = g(1.0), jnp.reshape(x, (512, -1)).T
        slow = nj.jit(lambda a: jnp.cumsum(jnp.sin(a)))(x)
        expected = np.cumsum(np.sin(np.arange(COUNT, dtype=np.float32), dtype=np.float64))
        nj.jit(lambda a: a * 0 - 1, donate_argnums=0)(x)
        np.testing.assert_array_equal(np.asarray(first), np.arange(COUNT, dtype=np.float32) + 1)
        np.testing.assert_array_equal(np.asarray(g(1.0)), np.asarray(first))
        np.testing.assert_array_equal(np.asarray(moved).T.reshape(-1), np.arange(COUNT, dtype=np.float32))
        np.testing.assert_allclose(np.asarray(slow), expected, atol=0.5)


@pytest.fixture(scope="module")
def other() -> Any:
    pytest.importorskip("jaxlib")
    return nj.devices("xla_cpu")[0]


SHARING: dict[str, Callable[[Any], Any]] = {
    "handle": _native.rewrap,
    "handle_of_handle": lambda x: _native.rewrap(_native.rewrap(x)),
    "identity": lambda x: nj.jit(lambda a: a)(x),
    "twice": lambda x: nj.jit(lambda a: (lambda b: (b, b))(a * 1))(x)[1],
    "copy": lambda x: jnp.array(x, copy=True),
    "fetched_before": lambda x: (np.asarray(x), _native.rewrap(x))[1],
    "fetched_after": lambda x: (lambda y: (np.asarray(y), y)[1])(_native.rewrap(x)),
}


@pytest.mark.parametrize("how", SHARING)
@pytest.mark.parametrize("first", [0, 1])
def test_donation_elsewhere_leaves_other_handles_alone(other, how, first):
    for count in (8, COUNT):
        pair = [nj.device_put(np.arange(count, dtype=np.float32), other)]
        pair.append(SHARING[how](pair[0]))
        given, kept = pair[first], pair[1 - first]
        out = nj.jit(lambda a: a * 0 - 1, donate_argnums=0)(given)
        assert given.is_deleted() and not kept.is_deleted() and float(out[0]) == -1
        assert intact(kept) and float(nj.jit(jnp.sum)(kept)) == float(np.arange(count, dtype=np.float64).sum())


@pytest.mark.filterwarnings("ignore:Some donated buffers")
def test_donation_elsewhere_with_and_without_another_handle(other):
    x = nj.device_put(np.arange(8, dtype=np.float32), other)
    y = _native.rewrap(x)
    assert nj.jit(lambda a, b: a + b, donate_argnums=0)(x, y).tolist() == [2.0 * k for k in range(8)]
    z = _native.rewrap(y)
    assert nj.jit(lambda a, b: a + b, donate_argnums=(0, 1))(y, z).tolist() == [2.0 * k for k in range(8)]
    assert x.is_deleted() and y.is_deleted() and z.tolist() == list(range(8))   # there is one result to take over memory


def test_an_array_alone_is_donated_elsewhere_without_a_copy(other):
    x = nj.device_put(np.arange(COUNT, dtype=np.float32), other)
    assert not _native.shares_remote(x)
    where = x.unsafe_buffer_pointer()
    assert nj.jit(lambda a: a + 1, donate_argnums=0)(x).unsafe_buffer_pointer() == where


def test_what_is_put_elsewhere_and_comes_back_shares_nothing(other):
    mine = np.arange(COUNT, dtype=np.float32)
    x = nj.device_put(mine, other)
    g = nj.jit(lambda a: a + mine, device=other)
    first = np.array(g(jnp.zeros(COUNT)))
    mine[:] = 7
    assert intact(x) and intact(g(jnp.zeros(COUNT))) and (first == np.arange(COUNT)).all()
    view = np.asarray(x)
    with pytest.raises(ValueError, match="WRITEABLE"):
        view.setflags(write=True)
