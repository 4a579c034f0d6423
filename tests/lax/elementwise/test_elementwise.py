"""Values, dtypes, errors and derivatives of arithmetic, comparisons, bit operations, conversions and constants."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.aval import ShapedArray
from numjet.core.op import Zero
from numjet.core.stage import trace_to_closed
from numjet.foundation import dtypes
from numjet.lax.elementwise.numpy_scalars import NumpyScalars
from numjet.lax.tangent import add_any, instantiate, is_zero, zero_tangent
from numjet.transforms.jvp import jvp_flat

INT_MIN = -(2**31)
F32 = np.float32


def value(x):
    return np.asarray(x)


def tangent(fn, x, t=1.0):
    x = np.asarray(x)
    (_,), (out,) = jvp_flat(lambda a: [fn(a)], [x], [np.full(x.shape, t, x.dtype)])
    return value(instantiate(out))


# ------------------------------------------------------------------------------------------------ arithmetic

def test_integer_division_is_total():
    x = np.array([7, -7, 5, INT_MIN, INT_MIN], np.int32)
    y = np.array([2, 2, 0, -1, 0], np.int32)
    assert value(lax.div(x, y)).tolist() == [3, -3, -1, INT_MIN, -1]
    assert value(lax.rem(x, y)).tolist() == [1, -1, 5, 0, INT_MIN]
    u = np.array([7, 7], np.uint8)
    assert value(lax.div(u, np.array([0, 2], np.uint8))).tolist() == [255, 3]


def test_four_bit_integers():
    x = np.array([7, -8, 3], dtypes.int4)
    assert value(lax.add(x, x)).dtype == dtypes.int4
    assert value(lax.div(x, np.array([0, -1, 2], dtypes.int4))).astype(int).tolist() == [-1, -8, 1]
    assert value(lax.population_count(x)).astype(int).tolist() == [3, 1, 2]
    assert value(lax.clz(np.array([1, -1], dtypes.int4))).astype(int).tolist() == [3, 0]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int32", "uint32", "int64", "uint64"])
def test_mulhi(dtype, x64, rng):
    info = np.iinfo(dtype)
    x, y = (rng.integers(info.min, info.max, 50, dtype=dtype, endpoint=True) for _ in range(2))
    expected = [(int(a) * int(b)) >> info.bits for a, b in zip(x, y, strict=True)]
    assert value(lax.mulhi(x, y)).tolist() == expected


def test_axes_of_size_one_broadcast_but_ranks_do_not():
    assert lax.add(np.ones((3, 1), F32), np.ones((1, 4), F32)).shape == (3, 4)
    with pytest.raises(TypeError, match="same number of dimensions, got 1 and 2"):
        lax.add(np.ones(3, F32), np.ones((2, 3), F32))
    with pytest.raises(TypeError, match=r"incompatible shapes for broadcasting: \(3,\), \(4,\)"):
        lax.mul(np.ones(3, F32), np.ones(4, F32))


def test_dtypes_must_agree():
    with pytest.raises(TypeError, match="same dtypes, got float32, int32"):
        lax.add(np.ones(3, F32), np.ones(3, np.int32))
    for op in (lax.add, lax.mul, lax.lt, lax.eq):
        with pytest.raises(TypeError, match="same dtypes, got int32, float32"):
            op(0, 0.0)
    with pytest.raises(TypeError, match="neg does not accept dtype bool"):
        lax.neg(True)
    with pytest.raises(TypeError, match="sin does not accept dtype int32"):
        lax.sin(1)


def test_weak_types():
    assert lax.add(1, 2).weak_type and lax.add(1, 2).dtype == np.int32
    assert not lax.add(np.ones(2, F32), 1.0).weak_type
    assert lax.eq(1, 1).weak_type is False


@pytest.mark.parametrize("method, expected", [(0, [-3, -2, -1, 1, 2, 3]), (1, [-2, -2, 0, 0, 2, 2])])
def test_round(method, expected):
    x = np.array([-2.5, -1.5, -0.5, 0.5, 1.5, 2.5], F32)
    assert value(lax.round(x, lax.RoundingMethod(method))).tolist() == expected
    with pytest.raises(ValueError):
        lax.round(x, 7)


def test_sign_keeps_zeros_and_nan():
    out = value(lax.sign(np.array([-0.0, 0.0, -3.0, np.nan], F32)))
    assert np.signbit(out).tolist()[:3] == [True, False, True] and np.isnan(out[3])


def test_powers():
    assert value(lax.integer_pow(np.array([2, 3], np.int32), 3)).tolist() == [8, 27]
    with pytest.raises(TypeError, match="negative powers"):
        lax.integer_pow(np.array([2], np.int32), -1)
    with pytest.raises(TypeError, match="pow does not accept dtype int32 at position 0"):
        lax.pow(np.int32(2), 1.5)
    assert value(lax.pow(np.array([2.0], F32), np.array([3], np.int32))).tolist() == [8]
    powers = lax.pow(2.5, np.array([3, -1], np.int32))
    assert value(powers).tolist() == [15.625, F32(0.4)] and powers.dtype == F32
    assert tangent(lambda x: lax.pow(x, 0.0), F32(2)) == 0 and np.isnan(tangent(lambda x: lax.pow(x, 0.0), F32(0)))  # 0 / 0
    assert tangent(lambda x: lax.pow(x, np.int32(0)), F32(0)) == 0


@pytest.mark.parametrize("jacobian", [nj.jacfwd, nj.jacrev])
def test_second_derivatives_of_powers_at_exponent_0(jacobian):
    (xx, xy), (yx, yy) = jacobian(jacobian(lax.pow, (0, 1)), (0, 1))(4.0, 0.0)
    np.testing.assert_allclose([xx, xy, yx, yy], [0, 0.25, 0.25, np.log(4) ** 2], rtol=1e-6)
    assert tangent(lambda x: lax.pow(x, 2), F32(3)) == 6


def test_complex_abs_derivative_is_that_of_the_length():
    assert np.allclose(tangent(lax.abs, np.complex64(3 + 4j), 1j), 0.8)
    assert tangent(lax.abs, np.complex64(0)) == 0


# ------------------------------------------------------------------------------------------------ comparisons

def test_ties_share_the_derivative():
    x = np.array([1.0, 2.0, 3.0], F32)
    for fn, expected in ((lax.max, [0, 0.5, 1]), (lax.min, [1, 0.5, 0])):
        assert tangent(lambda a, fn=fn: fn(a, np.array([2.0, 2.0, 2.0], F32)), x).tolist() == expected


def test_nan_propagates_through_extrema():
    assert np.isnan(value(lax.max(F32(np.nan), F32(1)))) and np.isnan(value(lax.min(F32(1), F32(np.nan))))


def test_total_order():
    x = np.array([-np.inf, -1, -0.0, 0.0, 1, np.inf, np.nan], F32)
    from_left = value(lax.lt_to_p.bind(x[:-1], x[1:]))
    assert from_left.all() and value(lax.eq_to_p.bind(x, x)).all()


def test_clamp_of_complex_numbers():
    x = np.array([1 + 1j, 2 - 3j, -1 + 9j, 1 - 5j], np.complex64)
    for call in (lax.clamp, nj.jit(lax.clamp)):
        assert value(call(np.complex64(0), x, np.complex64(1 + 1j))).tolist() == [1 + 1j, 1 + 1j, 0, 1 - 5j]


def test_clamp():
    x = np.array([-1, 0.5, 2, np.nan], F32)
    out = value(lax.clamp(0.0, x, 1.0))
    assert out[:3].tolist() == [0, 0.5, 1] and np.isnan(out[3])
    assert value(lax.clamp(2.0, F32(3), 1.0)) == 1
    assert tangent(lambda a: lax.clamp(0.0, a, 1.0), x[:3]).tolist() == [0, 1, 0]
    with pytest.raises(TypeError, match=r"clamp requires min\.shape"):
        lax.clamp(x, F32(0), 1.0)


@pytest.mark.parametrize("x", [0.1, 0.3, 0.5, 0.8, 0.9])
@pytest.mark.parametrize("shape", [(), (2,)])
def test_clamp_of_crossing_limits_has_the_derivative_of_the_upper_one(x, shape):
    """The upper limit is the result, whatever the operand is."""
    low, x, high = F32(0.8), np.full(shape, x, F32), F32(0.3)
    assert (value(lax.clamp(low, x, high)) == high).all()
    got = nj.grad(lambda *args: nj.numpy.sum(lax.clamp(*args)), (0, 1, 2))(low, x, high)
    assert [float(np.sum(g)) for g in got] == [0, 0, x.size]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint32", "int64", "uint64"])
@pytest.mark.parametrize("count", [1, 3, 130])
def test_select_n_by_integers_of_every_dtype(dtype, count):
    """Numbers are clamped in their own dtype, whatever they would be in another one."""
    with nj.enable_x64():
        info = np.iinfo(dtype)
        which = np.array([0, 1, 2, info.max, info.min], dtype)
        cases = [np.full(5, i, F32) for i in range(count)]
        want = [min(max(int(w), 0), count - 1) for w in which]
        select = lambda w: lax.select_n(w, *cases)
        assert value(select(which)).tolist() == want
        assert nj.jit(select)(which).tolist() == want
        assert nj.vmap(lambda w, *cases: lax.select_n(w, *cases))(which, *cases).tolist() == want
        slopes = nj.grad(lambda last: jnp.sum(lax.select_n(which, *cases[:-1], last)))(cases[-1])
        assert slopes.tolist() == [float(w == count - 1) for w in want]


def test_select_n():
    cases = [np.full(5, i, F32) for i in range(3)]
    assert value(lax.select_n(np.array([-1, 0, 1, 2, 5], np.int32), *cases)).tolist() == [0, 0, 1, 2, 2]
    assert value(lax.select(np.array([True, False]), np.ones(2, F32), np.zeros(2, F32))).tolist() == [1, 0]
    with pytest.raises(TypeError, match="cannot have > 2 cases"):
        lax.select_n(np.ones(5, bool), *cases)
    with pytest.raises(TypeError, match="same shapes"):
        lax.select(True, np.ones(2, F32), np.ones(3, F32))
    with pytest.raises(TypeError, match="scalar or have the same shape"):
        lax.select(np.ones(2, bool), np.ones(3, F32), np.ones(3, F32))
    with pytest.raises(TypeError, match="boolean or of integers"):
        lax.select(1.5, 1, 2)
    with pytest.raises(ValueError, match="at least one case"):
        lax.select_n(True)


def test_keys_are_compared_and_selected():
    keys = np.arange(4, dtype=np.uint32).reshape(2, 2).view(dtypes.key_dtype)[:, 0]
    assert value(lax.eq(keys, keys)).tolist() == [True, True]
    assert value(lax.ne(keys, keys[::-1].copy())).tolist() == [True, True]
    chosen = lax.select(np.array([True, False]), keys, keys[::-1].copy())._value
    assert chosen.view(np.uint32).tolist() == [0, 1, 0, 1]


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_nextafter_of_halves_on_bits(dtype):
    x = np.array([0, -0.0, 1, -1, 1, 3, np.inf, np.nan], dtypes.as_dtype(dtype))
    y = np.array([1, -1, 2, 0, 0, 3, 0, 1], x.dtype)
    with np.errstate(invalid="ignore"):
        got = lax.nextafter_p.cpu(NumpyScalars(), x, y)
    assert np.array_equal(got.astype(F32), np.nextafter(x, y).astype(F32), equal_nan=True)


# ------------------------------------------------------------------------------------------------ bits

@pytest.mark.parametrize("distance", [-1, 0, 3, 31, 32, 100])
def test_shifts_of_any_distance(distance):
    x = np.array([-5, 5], np.int32)
    inside = 0 <= distance < 32
    y = np.full(2, distance, np.int32)
    left = [int(np.int64(v << distance).astype(np.int32)) if inside else 0 for v in (-5, 5)]
    logical = [(v % 2**32) >> distance if inside else 0 for v in (-5, 5)]
    assert value(lax.shift_left(x, y)).tolist() == left
    assert value(lax.shift_right_logical(x, y)).view(np.uint32).tolist() == logical
    assert value(lax.shift_right_arithmetic(x, y)).tolist() == [v >> distance if inside else v >> 31 for v in (-5, 5)]


def test_counts():
    x = np.array([0, 1, -1, 255], np.int32)
    assert value(lax.population_count(x)).tolist() == [0, 1, 32, 8]
    assert value(lax.clz(x)).tolist() == [32, 31, 0, 24]


def test_bitcast_splits_and_merges():
    x = np.array([1.0, -2.0], F32)
    halves = lax.bitcast_convert_type(x, "uint16")
    assert halves.shape == (2, 2) and np.array_equal(value(halves), x.view(np.uint16).reshape(2, 2))
    assert value(lax.bitcast_convert_type(halves, "float32")).tolist() == [1, -2]
    words = np.arange(4, dtype=np.uint32).reshape(2, 2)
    keys = lax.bitcast_convert_type_p.bind(words, new_dtype=dtypes.key_dtype)
    assert keys.shape == (2,) and keys.dtype == dtypes.key_dtype
    assert value(lax.bitcast_convert_type_p.bind(keys, new_dtype=dtypes.uint32)).tolist() == words.tolist()
    with pytest.raises(ValueError, match=r"but 3 \* 16 != 32"):
        lax.bitcast_convert_type(np.zeros(3, np.int16), "int32")
    with pytest.raises(TypeError, match="does not support bool or complex"):
        lax.bitcast_convert_type(x, bool)


@pytest.mark.parametrize("wide, narrow", [("int32", "int4"), ("float32", "uint2"), ("uint8", "int4"),
                                          ("float16", "float4_e2m1fn"), ("int4", "uint2")])
def test_bitcast_of_numbers_below_a_byte(wide, narrow, rng):
    """Each number of 2 or 4 bits is a part of the wide one, the lowest bits first."""
    wide, narrow = jnp.dtype(wide), jnp.dtype(narrow)
    x = rng.integers(0, 256, (3, 2 * wide.itemsize), np.uint8).view(wide)
    bits = dtypes.itemsize_bits(narrow)
    bytes_of = np.unpackbits(x.view(np.uint8), bitorder="little").reshape(*x.shape, wide.itemsize * 8)
    bytes_of = bytes_of[..., :dtypes.itemsize_bits(wide)].reshape(*x.shape, -1, bits)
    want = (bytes_of * 2**np.arange(bits)).sum(-1)
    for cast in (lax.bitcast_convert_type, nj.jit(lax.bitcast_convert_type, static_argnums=1)):
        parts = cast(x, narrow)
        assert parts.dtype == narrow and np.array_equal(value(cast(parts, f"uint{bits}")).astype(int), want)
        again = value(cast(parts, wide))
        assert again.dtype == wide and again.shape == x.shape
        assert np.array_equal(again.view(np.uint8) & (2**min(8, dtypes.itemsize_bits(wide)) - 1),
                              x.view(np.uint8) & (2**min(8, dtypes.itemsize_bits(wide)) - 1))


def test_the_derivative_of_expm1_is_accurate_far_from_zero():
    for x in (-80.0, -20.0, 1e-5, 3.0, 80.0):
        np.testing.assert_allclose(nj.grad(lax.expm1)(x), np.exp(np.float64(x)), rtol=1e-6)


def test_products_of_a_dtype_that_is_narrowed():
    assert lax.mul(F32(2), F32(3), out_dtype=np.float64).dtype == np.float32


@pytest.mark.parametrize("exponent, mantissa, dtype", [(5, 10, np.float16), (8, 7, dtypes.bfloat16)])
def test_reduce_precision_agrees_with_the_dtype(exponent, mantissa, dtype, rng):
    x = np.concatenate([rng.normal(size=200) * 10.0 ** rng.uniform(-3, 6, 200), [np.nan, np.inf, -0.0]]).astype(F32)
    with np.errstate(over="ignore"):
        expected = x.astype(dtype).astype(F32)
    assert np.array_equal(value(lax.reduce_precision(x, exponent, mantissa)), expected, equal_nan=True)
    with pytest.raises(ValueError, match="exponent_bits must be positive"):
        lax.reduce_precision(x, 0, 3)
    with pytest.raises(ValueError, match="mantissa_bits must be non-negative"):
        lax.reduce_precision(x, 3, -1)


def test_stop_gradient():
    assert tangent(lambda x: lax.mul(x, lax.stop_gradient(x)), F32(3)) == 3
    assert lax.stop_gradient({"a": 1})["a"] == 1
    x = lax.full((3,), 1.0)
    assert lax.stop_gradient({"a": x})["a"] is x


# ------------------------------------------------------------------------------------------------ conversions

@pytest.mark.parametrize("dtype, expected", [
    ("int32", [0, 2**31 - 1, INT_MIN, -1, 300]), ("uint8", [0, 255, 0, 0, 255]), ("int8", [0, 127, -128, -1, 127]),
    ("bool", [True, True, True, True, True])])
def test_floats_to_integers_saturate(dtype, expected):
    x = np.array([np.nan, np.inf, -np.inf, -1.5, 300], F32)
    assert value(lax.convert_element_type(x, dtype)).tolist() == expected


def test_int64_limits(x64):
    x = np.array([2.0**63, -(2.0**63), 1e300])
    limits = np.iinfo(np.int64)
    assert value(lax.convert_element_type(x, "int64")).tolist() == [limits.max, limits.min, limits.max]


def test_complex_to_real_warns():
    with pytest.warns(np.exceptions.ComplexWarning):
        assert value(lax.convert_element_type(np.complex64(3 + 4j), "float32")) == 3
    with pytest.warns(np.exceptions.ComplexWarning):
        assert not value(lax.convert_element_type(np.complex64(1j), bool))   # of its real part, as in JAX
    with pytest.raises(ValueError, match=r"Cannot convert_element_type from .* random keys hold no numbers"):
        lax.convert_element_type(np.zeros(2, dtypes.key_dtype), "float32")


def test_parts_and_their_transposes():
    z = np.complex64(1 + 2j)
    assert (value(lax.real(z)), value(lax.imag(z)), value(lax.conj(z))) == (1, 2, 1 - 2j)
    assert lax.conj(F32(1)).dtype == np.complex64
    assert tangent(lax.imag, z, 1j) == 1
    with pytest.raises(TypeError, match="complex does not accept dtype bfloat16"):
        lax.complex(np.zeros(1, dtypes.bfloat16), np.zeros(1, dtypes.bfloat16))
    with pytest.raises(TypeError, match="real does not accept dtype float32"):
        lax.real(F32(1))


def test_full():
    x = lax.full((2, 3), 1.5)
    assert x.shape == (2, 3) and x.dtype == np.float32 and x.weak_type and (value(x) == 1.5).all()
    assert lax.full((), 2, "int8").dtype == np.int8
    assert not lax.full_like(np.zeros(2, np.int32), 7).weak_type
    with pytest.raises(TypeError, match="scalar fill_value"):
        lax.full((2,), np.ones(2))
    with pytest.raises(TypeError, match="nonnegative"):
        lax.full((2, -1), 0)


def test_full_is_one_broadcast_of_a_literal():
    closed = trace_to_closed(lambda: [lax.full((3,), 2.0), lax.full((), 2.0)], [])
    assert [e.primitive.name for e in closed.eqns] == ["broadcast_in_dim"] and not closed.consts


def test_iota():
    assert value(lax.broadcasted_iota("float32", (2, 3), 1)).tolist() == [[0, 1, 2], [0, 1, 2]]
    assert value(lax.iota("complex64", 2)).tolist() == [0, 1]
    with pytest.raises(TypeError, match="iota does not accept dtype bool"):
        lax.iota(bool, 3)
    with pytest.raises(ValueError, match="iota dimension must be between"):
        lax.broadcasted_iota("int32", (2,), 1)
    with pytest.raises(TypeError, match="integer type"):
        lax.iota("int32", 3.5)


def test_zero_tangents():
    zero = zero_tangent(ShapedArray((2,), np.dtype("float32")))
    assert is_zero(zero) and value(instantiate(zero)).tolist() == [0, 0]
    none = zero_tangent(ShapedArray((2,), np.dtype("int32")))
    assert instantiate(none).dtype == dtypes.float0
    x = np.ones(2, F32)
    assert add_any(zero, x) is x and add_any(x, Zero(zero.aval)) is x
    assert value(add_any(x, x)).tolist() == [2, 2]
