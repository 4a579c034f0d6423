"""The public test helpers: comparison in ulps, counts of events, generators of arrays."""
import re

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import testing

F32 = np.float32


def step(x, n=1):
    for _ in range(n):
        x = np.nextafter(x, np.inf, dtype=x.dtype)
    return x


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_ulps_count_numbers_between(dtype):
    for x in (0.0, 1.0, -1.0, 3e-5, float(np.finfo(dtype).smallest_subnormal), float(np.finfo(dtype).tiny)):
        x = dtype(x)
        assert testing.ulps(x, step(x, 3)) == 3 == testing.ulps(step(x, 3), x)
    assert testing.ulps(dtype(-0.0), dtype(0)) == 0 and testing.ulps(dtype(np.inf), dtype(np.inf)) == 0
    assert np.isinf(testing.ulps(dtype(np.finfo(dtype).max), dtype(np.inf)))
    tiny = np.finfo(dtype).smallest_subnormal
    assert testing.ulps(-tiny, tiny) == 2
    assert testing.ulps(-np.finfo(dtype).max, np.finfo(dtype).max) > 2**15


@pytest.mark.parametrize("dtype", [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2, ml_dtypes.float4_e2m1fn])
def test_ulps_of_small_floats(dtype):
    bits = 16 if dtype is ml_dtypes.bfloat16 else 4 if dtype is ml_dtypes.float4_e2m1fn else 8
    numbers = np.arange(2 ** (bits - 1), dtype=f"u{(bits + 7) // 8}").view(dtype)
    numbers = numbers[np.isfinite(numbers.astype(F32))]
    assert (testing.ulps(numbers[:-1], numbers[1:]) == 1).all() and (testing.ulps(-numbers[1:], numbers[1:]) % 2 == 0).all()


def test_ulps_of_complex_numbers():
    x = np.complex64(1 + 1e-9j)
    assert testing.ulps(x, np.complex64(1 + 2e-9j)) < 1 and testing.ulps(x, np.complex64(1 + 2 ** -20 + 1e-9j)) == 8
    assert np.isinf(testing.ulps(x, np.complex64(complex(np.nan, 0)))) and np.isinf(testing.ulps(x, np.complex64(np.inf)))


@pytest.mark.parametrize("args", [(F32(1), np.float64(1)), (np.int32(1), np.int32(1))])
def test_ulps_refuse_other_dtypes(args):
    with pytest.raises(TypeError, match="floats or complex numbers of one dtype"):
        testing.ulps(*args)


@pytest.mark.parametrize("actual, desired, options", [
    (F32(1), step(F32(1), 4), {}), (F32(1), 1, {}), (F32([np.nan, np.inf, 0]), F32([np.nan, np.inf, -0.0]), {}),
    (F32(1), F32(1.01), {"rtol": 0.02}), (F32(0), F32(0.01), {"atol": 0.02}), (F32(1), 1.0000001, {"ulps": 1}),
    (np.int8([1, 2]), np.int8([1, 2]), {}), ({"a": (jnp.ones(2), 1)}, {"a": (np.ones(2, F32), 1)}, {}),
    (np.ones((0, 3), F32), np.ones((0, 3), F32), {}), (F32(1), np.float64(1), {"check_dtypes": False}),
    (np.bool_(True), True, {}), (jnp.ones(2, "bfloat16"), np.ones(2, ml_dtypes.bfloat16), {}), ("name", "name", {})])
def test_close_values_pass(actual, desired, options):
    testing.assert_allclose(actual, desired, **options)


@pytest.mark.parametrize("actual, desired, options, message", [
    (F32(1), step(F32(1), 5), {}, r"1 of 1 .*tolerance: 4 ulps.*worst at \(\): expected 1.0000\d+, got 1.0 \(5 ulps"),
    (F32([0, 1, 3]), F32([0, 1.5, 9]), {"rtol": 0.1}, r"2 of 3 .*rtol=0.1.*worst at \(\d,\)"),
    (F32([1, np.nan]), F32([1, 2]), {"atol": 9.0}, r"worst at \(1,\): expected 2.0, got nan \(NaN\)"),
    (F32(np.nan), F32(np.nan), {"equal_nan": False}, "got nan"),
    (F32(np.inf), F32(np.finfo(F32).max), {"rtol": 1.0}, r"got inf \(infinite\)"),
    (F32(np.inf), F32(-np.inf), {"atol": np.inf}, "expected -inf, got inf"),
    (np.int8([1, 2]), np.int8([1, 3]), {"rtol": 1.0}, r"tolerance: equality\)\n  worst at \(1,\): expected 3, got 2$"),
    (F32([1]), F32([[1]]), {}, r"expected the shape \(1, 1\), got \(1,\)"),
    (F32(1), np.float64(1), {}, "expected the dtype float64, got float32"),
    ({"a": 1.0}, {"b": 1.0}, {}, "expected the structure"),
    ({"a": F32(1), "b": [F32(1), F32(2)]}, {"a": F32(1), "b": [F32(1), F32(3)]}, {}, r"^leaf \['b'\]\[1\]: 1 of 1"),
    (np.zeros(20, F32), np.ones(20, F32), {"err_msg": "weights"}, r"^weights: 20 of 20.*and 15 more"),
    ("name", "other", {}, "expected 'other', got 'name'")])
def test_messages_name_the_worst_element(actual, desired, options, message):
    with pytest.raises(AssertionError) as caught:
        testing.assert_allclose(actual, desired, **options)
    assert re.search(message, str(caught.value), re.DOTALL), str(caught.value)


@pytest.mark.parametrize("options", [{"ulps": -1}, {"rtol": np.nan}, {"atol": -1e-9}])
def test_wrong_tolerances_are_refused(options):
    with pytest.raises(ValueError, match=r"expected .* >= 0"):
        testing.assert_allclose(1.0, 1.0, **options)


def test_counts_of_a_jitted_function():
    f = nj.jit(lambda x: jnp.sin(x) + 1)
    x, y = jnp.ones(1000), np.ones(1000, F32)
    with testing.counting() as first:
        f(x)
        assert first.traces == 1
    assert (first.traces, first.compiles, first.executions, first.copies) == (1, 1, 1, 0)
    with testing.counting() as again:
        f(x)
    assert (again.traces, again.compiles, again.executions) == (0, 0, 1) and again.allocations == 1
    with testing.counting() as given:
        f(y)
    assert given.copies == 1 and given.copied_bytes == 4000 and given.compiles == 0
    assert first.traces == 1 and "executions=1" in repr(again)


def test_counts_of_donated_inputs():
    f = nj.jit(lambda x: x.at[3].set(1.0), donate_argnums=0)
    f(jnp.zeros(1000))
    x = jnp.zeros(1000) + 0
    with testing.assert_counts(copies=0, executions=1):
        y = f(x)
    kept = y + 0
    alias = [kept]
    g = nj.jit(lambda x: x.at[3].set(1.0))
    g(alias[0])
    with testing.assert_counts(executions=1, compiles=0):
        g(alias[0])


def test_wrong_counts_are_reported():
    f = nj.jit(lambda x: x * 3)
    f(jnp.ones(3))
    with pytest.raises(AssertionError, match=r"expected traces=0, got 1\n  all counts: Counts\(traces=1"), \
            testing.assert_counts(traces=0):
        f(jnp.ones(4))
    with pytest.raises(TypeError, match="expected names among traces, compiles"), testing.assert_counts(tracings=0):
        pass
    with pytest.raises(KeyError), testing.assert_counts(traces=7):
        raise KeyError


def test_arrays_have_every_shape_and_special_values():
    found = list(testing.arrays("floating", [(), (2, 3)]))
    assert [testing.label(x) for x in found[:3]] == ["bfloat16[]", "bfloat16[2,3]", "bfloat16[15]"]
    assert {x.dtype.name for x in testing.arrays("all")} == {"bool", "int8", "int32", "uint8", "uint32", "bfloat16", "float16",
                                                             "float32", "complex64"}
    with nj.enable_x64(True):
        assert {"float64", "int64", "uint64", "complex128"} <= {x.dtype.name for x in testing.arrays("all")}
    assert all(np.array_equal(a, b) for a, b in zip(testing.arrays("int32"), testing.arrays("int32"), strict=True))
    assert [x.shape for x in testing.arrays(["int8"], special=False)] == list(testing.SHAPES)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float8_e4m3fn", "complex64", "int8", "uint8", "bool"])
def test_special_values(dtype):
    values = testing.special_values(dtype)
    assert values.dtype == jnp.dtype(dtype)
    wide = values.astype(np.complex128)
    if dtype in ("float32", "bfloat16", "complex64"):
        assert np.isnan(wide).any() and np.isinf(wide).any() and np.signbit(values.real.astype(F32)).any()
