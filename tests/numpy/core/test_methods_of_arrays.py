"""Every method and property of arrays does what the function of its name does, or NumPy's: for arrays of all kinds, and for the
tracers of jit and vmap. The functions have tables of their own."""
from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.operands import KINDS, leaves, quietly, wide

# The arguments of methods that are functions of numjet.numpy, too.
METHODS: dict[str, list[tuple[tuple[Any, ...], dict[str, Any]]]] = {
    **{name: [((), {}), ((0,), {"keepdims": True})]
       for name in "all any argmax argmin max mean min prod ptp std sum var".split()},
    **{name: [((), {}), ((0,), {})] for name in ("cumprod", "cumsum", "sort", "argsort")},
    "argpartition": [((0,), {}), ((0, 0), {})], "astype": [((np.complex64,), {}), ((np.int8,), {"copy": True})],
    "choose": [(([7, 8, 9, 10, 11, 12],), {"mode": "wrap"})], "clip": [((0, 1), {}), ((None, 1), {})],
    "compress": [(([True],), {"axis": 0}), (([False, True],), {})], "copy": [((), {})],
    **{name: [((), {})] for name in ("conj", "conjugate", "nonzero", "ravel", "squeeze", "transpose")},
    "diagonal": [((), {}), ((), {"offset": 1, "axis1": 1, "axis2": 0})], "dot": [((2,), {})],
    "repeat": [((2,), {}), ((2,), {"axis": 0})], "reshape": [((-1,), {}), ((-1,), {"order": "F"})],
    "round": [((), {}), ((1,), {})],
    "searchsorted": [((1,), {}), (([0, 2],), {"side": "right"})], "swapaxes": [((0, -1), {})],
    "take": [(([0, -1],), {}), ((0,), {"axis": -1})], "trace": [((), {}), ((), {"offset": 1})]}
# Definitions of the others: what NumPy's attribute of the name is.
PROPERTIES = "T dtype imag itemsize nbytes ndim real shape size".split()
DEFINED: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "flatten": (lambda x: x.flatten(), jnp.ravel), "mT": (lambda x: x.mT, jnp.matrix_transpose),
    "view": (lambda x: x.view(np.uint8), lambda x: jnp.asarray(np.asarray(x).view(np.uint8))),
    "at": (lambda x: x.at[...].set(1), jnp.ones_like)}
_NOT_TRACED = ("compress", "nonzero", "view")  # shapes that depend on values, and a reference of NumPy's arrays
# Files that test what is about devices, memory and Python's values.
ELSEWHERE = {
    "sharding/eight_devices/arrays.py":
        "addressable_data addressable_shards committed devices global_shards is_fully_addressable is_fully_replicated sharding",
    "native/test_array.py": "aval delete device is_deleted item unsafe_buffer_pointer weak_type",
    "native/test_queue.py": "block_until_ready is_ready", "native/test_sort.py": "tobytes", "random/test_keys.py": "clone",
    "numpy/core/test_methods.py": "byteswap to_device tolist", "api/test_sharding.py": "format",
    "xla/test_devices.py": "platform",
    "numpy/core/test_methods_of_arrays.py": "copy_to_host_async flat on_device_size_in_bytes"}
EVERY_KIND = pytest.mark.parametrize("kind", KINDS)


def _outcome(call: Callable[[], Any]) -> list[np.ndarray] | type[Exception]:
    with quietly():
        try:
            return leaves(call())
        except Exception as error:
            return type(error)


def _calls() -> list[tuple[str, Callable[[Any], Any], Callable[[Any], Any]]]:
    """Names, methods, and functions."""
    found = [(name, lambda x, a=args, k=keywords, name=name: getattr(x, name)(*a, **k),
              lambda x, a=args, k=keywords, name=name: getattr(jnp, name)(x, *a, **k))
             for name, many in METHODS.items() for args, keywords in many]
    return [*found, *((name, *pair) for name, pair in DEFINED.items())]


def _assert_equal(found: Any, want: Any, where: str) -> None:
    if isinstance(want, type):
        assert found is want, (where, found, want)
        return
    for got, expected in zip(found, want, strict=True):
        assert (got.shape, got.dtype) == (expected.shape, expected.dtype), where
        np.testing.assert_array_equal(got, expected, err_msg=where)


@EVERY_KIND
def test_methods_do_what_functions_do(kind):
    x = KINDS[kind]
    with wide(x):
        for name, method, function in _calls():
            array = jnp.asarray(x)
            _assert_equal(_outcome(lambda method=method, array=array: method(array)),
                          _outcome(lambda function=function, array=array: function(array)), f"{name} {kind}")


@EVERY_KIND
def test_properties_are_those_of_numpy(kind):
    x = KINDS[kind]
    with wide(x):
        for name in PROPERTIES:
            ours, theirs = getattr(jnp.asarray(x), name), getattr(x, name)
            if isinstance(theirs, np.ndarray):
                np.testing.assert_array_equal(ours, theirs)
            else:
                assert ours == theirs and type(ours) is type(theirs), name


@pytest.mark.parametrize("kind", ["float16", "int32 of rank 4", "complex64", "bool", "rank 0", "empty of rank 3"])
@pytest.mark.parametrize("batched", [False, True], ids=["jit", "vmap"])
def test_tracers_have_the_methods(kind, batched):
    x = KINDS[kind]
    calls = {f"{name} {k}": method for k, (name, method, _) in enumerate(_calls()) if name not in _NOT_TRACED}
    want = {name: found for name, method in calls.items()
            if not isinstance(found := _outcome(lambda method=method: method(jnp.asarray(x))), type)}
    with quietly():
        transform, operand = (nj.vmap, np.stack([x, x])) if batched else (nj.jit, x)
        found = transform(lambda x: {name: calls[name](x) for name in want})(operand)
    for name, outs in want.items():
        for got, expected in zip(leaves(found[name]), outs, strict=True):
            np.testing.assert_allclose(np.asarray(got[0] if batched else got, expected.dtype), expected, rtol=1e-6,
                                       err_msg=f"{name} {kind}")
            assert got.dtype == expected.dtype, name


def test_flat_and_sizes_in_memory():
    with pytest.raises(NotImplementedError, match=r"use arr\.ravel\(\)"):
        _ = jnp.ones(2).flat
    assert jnp.ones(3).on_device_size_in_bytes() == 12 and jnp.ones(2).copy_to_host_async() is None


def test_every_method_stands_in_a_table():
    public = {name for name in dir(jnp.ones(1)) if not name.startswith("_")}
    elsewhere = {name: file for file, names in ELSEWHERE.items() for name in names.split()}
    assert public - {*METHODS, *PROPERTIES, *DEFINED} == {*elsewhere}
    root = Path(__file__).parents[2]
    assert [name for name, file in elsewhere.items() if name not in (root / file).read_text(encoding="utf8")] == []
