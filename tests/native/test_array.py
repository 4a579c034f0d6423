"""The Array type: making, looking, converting, deleting, exporting."""
from __future__ import annotations

import copy
import ctypes
import gc
import operator
import pickle
import weakref
from types import SimpleNamespace

import ml_dtypes
import numpy as np
import pytest

from numjet import _native
from numjet.errors import DeletedArrayError

DTYPES = "bool int8 int32 int64 uint8 uint64 float16 float32 float64 complex64 complex128".split()
OTHER_AVALS = [((4,), "float32"), ((3, 1), "float32"), ((3,), "int32"), ((3,), "float64"), ((), "float32")]


def test_type_has_the_names_users_know(array):
    x = array([1.0], "float32")
    assert type(x) is _native.Array
    assert _native.Array.__name__ == "ArrayImpl"
    assert _native.Array.__module__ == "numjet"
    with pytest.raises(TypeError, match="cannot create"):   # the hook does: tests/api/test_sharding.py
        _native.Array()


def test_properties(aval, device):
    data = np.zeros((2, 3), np.float32)
    x = _native.from_numpy(data, aval((2, 3), "float32", True), device, True)
    assert (x.shape, x.ndim, x.size, x.nbytes, x.itemsize) == ((2, 3), 2, 6, 24, 4)
    assert x.dtype == np.float32 and x.weak_type is True and x.committed is True
    assert x.aval is aval((2, 3), "float32", True)
    assert x.device is device and x.devices() == {device}
    assert x.on_device_size_in_bytes() == 24
    assert len(x) == 2 and x.__array_priority__ == 100
    assert x._sharding is None
    x._sharding = "somewhere"
    assert x._sharding == "somewhere"
    del x._sharding
    assert x._sharding is None


def test_from_numpy_does_not_copy_and_keeps_the_ndarray(aval, device):
    data = np.arange(6, dtype=np.float32)
    owner = weakref.ref(data)
    x = _native.from_numpy(data, aval((6,), "float32"), device)
    assert x.unsafe_buffer_pointer() == data.ctypes.data
    del data
    assert owner() is not None
    np.testing.assert_array_equal(x._value, np.arange(6))
    del x
    assert owner() is None


@pytest.mark.parametrize("data", [np.arange(12.0).reshape(3, 4).T, np.arange(12.0)[::-2], np.broadcast_to(3.0, (2, 2))])
def test_from_numpy_copies_what_is_not_contiguous(data, aval, device):
    x = _native.from_numpy(data, aval(data.shape, "float64"), device)
    assert x.unsafe_buffer_pointer() != data.ctypes.data
    assert x.unsafe_buffer_pointer() % 64 == 0
    np.testing.assert_array_equal(x._value, data)


@pytest.mark.parametrize("dtype", ["int8", "float16", "int32", "complex64", "complex128"])
@pytest.mark.parametrize("shape, axes", [
    ((300, 1000), (1, 0)), ((70, 9, 530), (2, 1, 0)), ((70, 9, 530), (0, 2, 1)), ((5, 70, 9, 130), (0, 3, 2, 1)),
    ((4, 90_001), (1, 0)), ((90_001, 4), (1, 0))], ids=str)
def test_large_transposed_arrays_are_copied_by_tiles(dtype, shape, axes, aval, device):
    data = np.random.default_rng(0).integers(-100, 100, shape).astype(dtype)
    for view in (data.transpose(axes), data[::-1].transpose(axes), data[..., ::2].transpose(axes)):
        made = aval(view.shape, dtype)
        np.testing.assert_array_equal(np.asarray(_native.from_numpy(view, made, device)), view)
        np.testing.assert_array_equal(np.asarray(_native.to_array(view, made, device)), view)


def test_from_numpy_copies_what_is_not_aligned(aval, device):
    data = np.frombuffer(b"x" + np.arange(3.0).tobytes(), np.float64, offset=1)
    x = _native.from_numpy(data, aval((3,), "float64"), device)
    assert x.unsafe_buffer_pointer() % 8 == 0
    np.testing.assert_array_equal(x._value, [0, 1, 2])


@pytest.mark.parametrize("wrong", OTHER_AVALS)
def test_from_numpy_refuses_another_aval(wrong, aval, device):
    with pytest.raises(TypeError, match=r"expected an ndarray like the aval .*got dtype .*and shape \(3,\)"):
        _native.from_numpy(np.zeros(3, np.float32), aval(*wrong), device)


def test_arguments_of_the_wrong_kind(aval, device):
    with pytest.raises(TypeError):
        _native.from_numpy([1.0], aval((1,), "float32"), device)
    with pytest.raises(AttributeError, match="shape"):
        _native.from_numpy(np.zeros(1), object(), device)
    with pytest.raises(TypeError, match="expected an aval"):
        _native.empty(SimpleNamespace(shape=[2], dtype=np.dtype("float32"), weak_type=False), device)

    class Negative:
        shape, dtype, weak_type = (-1,), np.dtype("float32"), False

    with pytest.raises(ValueError, match="negative"):
        _native.empty(Negative(), device)
    Negative.shape = (2**40, 2**40)
    with pytest.raises(OverflowError, match="more elements"):
        _native.empty(Negative(), device)
    Negative.shape = (2**61,)
    with pytest.raises(OverflowError, match="more bytes"):
        _native.empty(Negative(), device)
    Negative.shape = (2**58,)
    with pytest.raises(MemoryError, match="could not allocate"):
        _native.empty(Negative(), device)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 0, 5), (4, 5)])
def test_empty_is_aligned_and_of_the_aval(shape, aval, device):
    x = _native.empty(aval(shape, "float32"), device)
    assert x.shape == shape and x.unsafe_buffer_pointer() % 64 == 0
    assert not x.committed and x._value.shape == shape


def test_value_is_read_only_for_good(array):
    value = array([1, 2, 3], "int32")._value
    with pytest.raises(ValueError, match="read-only"):
        value[0] = 5
    with pytest.raises(ValueError, match="WRITEABLE"):
        value.flags.writeable = True


def test_value_outlives_the_array(aval, device):
    x = _native.to_array(np.arange(1000.0), aval((1000,), "float64"), device)
    value = x._value
    x.delete()
    del x
    for _ in range(3):
        _native.empty(aval((1000,), "float64"), device)
    np.testing.assert_array_equal(value, np.arange(1000.0))


def test_numpy_protocol(array):
    x = array([1.5, 2.5], "float32")
    assert np.asarray(x).flags.writeable is False
    assert np.asarray(x).ctypes.data == x.unsafe_buffer_pointer()
    assert np.array(x).flags.writeable is True
    np.testing.assert_array_equal(x.__array__(), [1.5, 2.5])
    assert x.__array__(np.float64).dtype == np.float64
    assert x.__array__(dtype="float32", copy=None).flags.writeable is False
    copied = x.__array__(copy=True)
    copied[0] = 7
    assert x.item(0) == 1.5
    assert x.__array__(copy=False).dtype == np.float32
    with pytest.raises(ValueError, match="Unable to avoid copy"):
        x.__array__(np.int32, copy=False)
    with pytest.raises(TypeError):
        x.__array__("no such dtype")


def test_bfloat16_through_the_numpy_protocol(array):
    x = array([1.5, -2.0], ml_dtypes.bfloat16)
    assert np.asarray(x).dtype == ml_dtypes.bfloat16
    with pytest.raises(BufferError, match=r"of type BF16 are not supported by the Python buffer protocol.*numpy\.asarray"):
        memoryview(x)
    assert float(array(1.5, ml_dtypes.bfloat16)) == 1.5


@pytest.mark.parametrize("dtype", DTYPES)
def test_buffer_protocol(dtype, array):
    data = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    x = array(data)
    view = memoryview(x)
    assert view.readonly and view.shape == (2, 3) and view.nbytes == data.nbytes and view.c_contiguous
    np.testing.assert_array_equal(np.asarray(view), data)
    assert np.asarray(view).dtype == data.dtype
    assert bytes(view) == data.tobytes()


def test_buffer_is_never_writable(array):
    view, writable = ctypes.create_string_buffer(256), 1
    with pytest.raises(BufferError, match="immutable"):
        ctypes.pythonapi.PyObject_GetBuffer(ctypes.py_object(array([1.0])), view, writable)
    with pytest.raises(TypeError, match="not writable"):
        ctypes.c_char.from_buffer(array([1.0]))


def test_buffer_outlives_delete(aval, device):
    x = _native.to_array(np.arange(100.0), aval((100,), "float64"), device)
    view = memoryview(x)
    x.delete()
    _native.empty(aval((100,), "float64"), device)
    assert view[7] == 7.0
    with pytest.raises(RuntimeError, match="deleted"):
        memoryview(x)


@pytest.mark.parametrize("dtype", DTYPES)
def test_dlpack_round_trip(dtype, array):
    data = np.array([[0, 1, 1], [1, 0, 1]]).astype(dtype)
    x = array(data)
    assert x.__dlpack_device__() == (1, 0)
    back = np.from_dlpack(x)
    np.testing.assert_array_equal(back, data)
    assert back.dtype == data.dtype and back.ctypes.data == x.unsafe_buffer_pointer()
    assert not back.flags.writeable
    del x
    np.testing.assert_array_equal(back, data)
    copied = np.from_dlpack(array(data), copy=True)
    np.testing.assert_array_equal(copied, data)


def test_dlpack_options(array, aval, device):
    x = array([1.0, 2.0], "float32")
    assert "dltensor_versioned" in repr(x.__dlpack__(max_version=(1, 0)))
    assert '"dltensor"' in repr(x.__dlpack__())
    assert x.__dlpack__(dl_device=(1, 0), copy=False, max_version=(1, 0))
    with pytest.raises(BufferError, match="immutable"):  # such a capsule cannot say that its memory is read-only
        x.__dlpack__(copy=False)
    with pytest.raises(BufferError, match="device"):
        x.__dlpack__(dl_device=(2, 0))
    with pytest.raises(BufferError, match="stream"):
        x.__dlpack__(stream=3)
    with pytest.raises(BufferError, match="no code"):
        array([1], ml_dtypes.float8_e4m3fn).__dlpack__()
    with pytest.raises(TypeError):
        x.__dlpack__(None)
    assert array([1.0], ml_dtypes.bfloat16).__dlpack__()


@pytest.mark.parametrize("dtype", DTYPES)
def test_python_scalars(dtype, array):
    one = array(1, dtype)
    assert bool(one) is True and complex(one) == 1
    if "complex" in dtype:
        for convert in (float, int):
            with pytest.raises(TypeError, match="complex"):
                convert(one)
    else:
        assert float(one) == 1.0 and int(one) == 1 and isinstance(int(one), int)
    if "int" in dtype:
        assert operator.index(one) == 1
        assert [10, 20][one] == 20
    else:
        with pytest.raises(TypeError, match="Only integer scalar arrays"):
            operator.index(one)


def test_extreme_integers(array):
    assert int(array(-(2**31), "int32")) == -(2**31)
    assert int(array(2**64 - 1, "uint64")) == 2**64 - 1
    assert int(array(-(2**63), "int64")) == -(2**63)
    with pytest.raises(ValueError, match="NaN"):
        int(array(np.nan, "float32"))


@pytest.mark.parametrize("convert", [float, int, complex, operator.index])
def test_only_scalars_convert(convert, array):
    with pytest.raises(TypeError, match=r"Only (integer )?scalar arrays can be converted"):
        convert(array([1], "int32"))


def test_truth_values(array):
    assert bool(array([[3]], "int32")) and not bool(array([[0.0]], "float32")) and not array(False)
    with pytest.raises(ValueError, match=r"truth value of an array with more than one element is ambiguous. Use a.any"):
        bool(array([1, 2], "int32"))
    with pytest.raises(ValueError, match=r"truth value of an empty array is ambiguous. Use `array.size > 0`"):
        bool(array([], "float32"))


def test_len_hash_item_tolist(array):
    x = array([[1, 2], [3, 4]], "int32")
    with pytest.raises(TypeError, match="len\\(\\) of unsized object"):
        len(array(1.0))
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)
    assert type(x).__hash__ is None
    assert x.item(1, 0) == 3 and x.item(3) == 4 and array([2.5]).item() == 2.5
    with pytest.raises(ValueError):
        x.item()
    assert x.tolist() == [[1, 2], [3, 4]] and array(2.5).tolist() == 2.5


def test_format(array):
    assert f"{array(1.5, 'float32'):.3f}" == "1.500"
    assert f"{array(7, 'int32'):>4}" == "   7"
    assert f"{array([1.0, 2.0])}" == "[1. 2.]"
    with pytest.raises(TypeError, match="unsupported format string"):
        format(array([1.0, 2.0]), ".2f")


def test_delete(array):
    x = array([1.0, 2.0, 3.0], "float32")
    assert not x.is_deleted()
    x.delete()
    x.delete()
    assert x.is_deleted() and x.shape == (3,) and x.dtype == np.float32
    looks = [lambda: x._value, x.block_until_ready, x.is_ready, x.unsafe_buffer_pointer, x.tolist, x.item, x.__array__,
             lambda: np.asarray(x), x.__dlpack__, lambda: copy.copy(x), lambda: _native.rewrap(x)]
    for look in looks:
        with pytest.raises(DeletedArrayError, match=r"deleted with shape=float32\[3\]\. Buffer has been deleted or donated"):
            look()
    scalar = array(1.0, "float32")
    scalar.delete()
    for convert in (float, int, bool, complex):
        with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[\]\."):
            convert(scalar)


def test_copy_is_a_handle_of_its_own(array):
    x = array([1.0, 2.0])
    for duplicate in (copy.copy, copy.deepcopy):
        y = duplicate(x)
        assert y is not x and y.unsafe_buffer_pointer() == x.unsafe_buffer_pointer() and y.aval is x.aval
        y.delete()
        assert x.tolist() == [1.0, 2.0]


def test_rewrap(array, aval):
    x = array(np.arange(6), "int32")
    y = _native.rewrap(x, aval((2, 3), "int32", True), committed=True)
    assert y.tolist() == [[0, 1, 2], [3, 4, 5]] and y.weak_type and y.committed and y.device is x.device
    x.delete()
    assert y.tolist() == [[0, 1, 2], [3, 4, 5]]
    other = object()
    z = _native.rewrap(y, device=other)
    assert z.device is other and z.aval is y.aval and z.committed
    with pytest.raises(TypeError, match=r"float64\[6\] has not as many bytes as int32\[2,3\]"):
        _native.rewrap(y, aval((6,), "float64"))
    with pytest.raises(TypeError):
        _native.rewrap(np.zeros(3))


def test_pickling_goes_through_the_hook(array):
    x = array([1.0, 2.0], "float32")
    with pytest.raises(TypeError, match="have no reduce"):
        pickle.dumps(x)
    _native.set_hook("reduce", lambda a: (tuple, ((a.tolist(), str(a.dtype)),)))
    assert pickle.loads(pickle.dumps(x)) == ([1.0, 2.0], "float32")


def test_to_array(aval, device):
    def convert(value, dtype, shape=()):
        x = _native.to_array(value, aval(shape, dtype), device)
        assert x.dtype == dtype and x.shape == shape and not x.committed
        return x.tolist()

    assert convert(3, "int32") == 3 and convert(3, "float32") == 3.0 and convert(3, "int8") == 3
    assert convert(2.5, "float32") == 2.5 and convert(2.5, "float16") == 2.5 and convert(1j, "complex64") == 1j
    assert convert(True, "bool") is True and convert(True, "int32") == 1 and convert(-1, "int64") == -1
    assert convert(2.5, ml_dtypes.bfloat16) == 2.5
    assert convert(np.float64(2.5), "float32") == 2.5 and convert(np.int8(-3), "int32") == -3
    assert convert(np.array([1.0, 2.0]), "float32", (2,)) == [1.0, 2.0]
    assert convert(np.arange(6.0).reshape(2, 3).T, "float64", (3, 2)) == [[0, 3], [1, 4], [2, 5]]
    assert convert(np.arange(3, dtype=">i4"), "int32", (3,)) == [0, 1, 2]


@pytest.mark.parametrize("value", [2**31, -(2**31) - 1, 2**63, 10**30])
def test_to_array_names_what_does_not_fit(value, aval, device):
    with pytest.raises(OverflowError, match=f"Python int {value} too large to convert to int32"):
        _native.to_array(value, aval((), "int32"), device)
    with pytest.raises(OverflowError, match="300"):
        _native.to_array(300, aval((), "uint8"), device)


@pytest.mark.parametrize("value", ["text", None, [1.0], object(), {}])
def test_to_array_takes_numbers_only(value, aval, device):
    with pytest.raises(TypeError, match="expected a number or an ndarray"):
        _native.to_array(value, aval((), "float32"), device)


def test_to_array_refuses_other_shapes(aval, device):
    with pytest.raises(TypeError, match=r"expected an ndarray of shape \(2,\), got \(3,\)"):
        _native.to_array(np.zeros(3), aval((2,), "float32"), device)
    with pytest.raises(TypeError, match="has no shape"):
        _native.to_array(1.0, aval((2,), "float32"), device)


def test_live_arrays(array):
    gc.collect()
    before = len(_native.live_arrays())
    x, y = array([1.0]), array([2.0])
    live = _native.live_arrays()
    assert len(live) == before + 2 and live[0] is y and live[1] is x
    del live
    x.delete()
    assert len(_native.live_arrays()) == before + 1
    del y
    assert len(_native.live_arrays()) == before


def test_weak_references_and_methods_from_python(array):
    x = array([1.0])
    ref = weakref.ref(x)
    _native.Array.answer = lambda self: (self, 42)
    try:
        assert x.answer()[0] is x and x.answer()[1] == 42
    finally:
        del _native.Array.answer
    assert not hasattr(x, "answer")
    del x
    assert ref() is None


def test_arrays_do_not_leak(array):
    gc.collect()
    stats = _native.pool_stats()["live_bytes"]
    for _ in range(100):
        x = array([1.0, 2.0], "float32")
        memoryview(x), np.asarray(x), np.from_dlpack(x), x + x, x._value, copy.copy(x)
    del x
    gc.collect()
    assert _native.pool_stats()["live_bytes"] == stats
