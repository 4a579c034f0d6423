"""Elementwise functions against NumPy: values and dtypes over tables, special points, derivatives, errors."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.numpy.helpers import assert_same, check, check_grad

RNG = np.random.default_rng(0)
SPECIAL = np.array([-2.5, -1.5, -0.5, -0.0, 0.0, 0.5, 1.5, 2.5, np.nan, np.inf, -np.inf], np.float32)
UNIT = RNG.uniform(-0.9, 0.9, (2, 3)).astype(np.float32)
ABOVE = RNG.uniform(1.1, 3, (3,)).astype(np.float32)
REAL = RNG.uniform(-3, 3, (2, 3)).astype(np.float32)
INTS = np.array([-7, -3, -1, 0, 1, 3, 7], np.int32)
COMPLEX = np.array([1 + 2j, -1 + 0.5j, 3 - 4j, 0.5], np.complex64)

UNARY = [(name, REAL) for name in (
    "sin cos tan arctan sinh cosh tanh arcsinh exp exp2 expm1 square absolute abs fabs sign floor ceil trunc rint negative "
    "positive deg2rad rad2deg degrees radians cbrt reciprocal sinc isnan isfinite isinf signbit logical_not isreal iscomplex "
    "isposinf isneginf conj real imag angle spacing fix").split()]
UNARY += [(name, UNIT) for name in "arcsin arccos arctanh asin acos atan asinh atanh".split()]
UNARY += [(name, ABOVE) for name in "log log2 log10 log1p sqrt arccosh acosh i0".split()]
UNARY += [(name, SPECIAL) for name in (
    "floor ceil trunc rint round sign absolute isnan isinf isfinite isposinf isneginf signbit nan_to_num sqrt log "
    "sinc").split()]
UNARY += [(name, INTS) for name in (
    "absolute sign square negative invert bitwise_not floor ceil trunc isnan signbit conj").split()]
UNARY += [(name, COMPLEX) for name in "exp log sqrt sin cos tanh absolute angle conj real imag square sign isfinite".split()]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, x", UNARY, ids=[f"{n}-{x.dtype}-{x.size}" for n, x in UNARY])
def test_unary(name, x):
    want = getattr(np, name)(x)
    if name in ("floor", "ceil", "trunc") and x.dtype == np.int32:
        want = want.astype(np.int32)
    check(getattr(jnp, name), want, x, rtol=2e-5 if name in ("i0", "spacing") else None)


PAIRS = [(name, REAL, UNIT) for name in (
    "add subtract multiply divide true_divide floor_divide remainder mod fmod maximum minimum fmax fmin arctan2 hypot "
    "copysign heaviside logaddexp logaddexp2 nextafter equal not_equal less less_equal greater greater_equal logical_and "
    "logical_or logical_xor").split()]
PAIRS += [(name, INTS, np.array([3, -3, 2, 5, -2, 4, 1], np.int32)) for name in (
    "add subtract multiply floor_divide remainder fmod maximum minimum gcd lcm bitwise_and bitwise_or bitwise_xor equal less "
    "true_divide arctan2").split()]
PAIRS += [(name, np.abs(REAL), UNIT) for name in ("power", "float_power", "pow")]
PAIRS += [(name, COMPLEX, COMPLEX[::-1].copy()) for name in "add subtract multiply divide power equal maximum".split()]
PAIRS += [("left_shift", INTS, np.abs(INTS)), ("right_shift", INTS, np.abs(INTS)),
          ("bitwise_left_shift", INTS, np.abs(INTS)), ("bitwise_right_shift", INTS, np.abs(INTS)),
          ("add", np.array([True, False]), np.array([True, True])),
          ("multiply", np.array([True, False]), np.array([True, True])),
          ("add", REAL, UNIT[0]), ("multiply", REAL[:, :1], UNIT[0]), ("maximum", SPECIAL, SPECIAL[::-1].copy()),
          ("fmax", SPECIAL, SPECIAL[::-1].copy()), ("copysign", SPECIAL, SPECIAL[::-1].copy()),
          ("hypot", SPECIAL, SPECIAL[::-1].copy()), ("logaddexp", SPECIAL, SPECIAL[::-1].copy()),
          ("heaviside", SPECIAL, np.float32(0.25)), ("floor_divide", SPECIAL, np.float32(1.5)),
          ("remainder", SPECIAL, np.float32(-1.5)), ("remainder", INTS, np.int32(3)), ("floor_divide", INTS, np.int32(-2))]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name, x, y", PAIRS, ids=[f"{n}-{x.dtype}-{x.shape}-{k}" for k, (n, x, y) in enumerate(PAIRS)])
def test_binary(name, x, y):
    if name == "float_power":
        want = np.power(x, y)
    elif name in ("true_divide", "arctan2") and x.dtype == np.int32:
        want = getattr(np, name)(x.astype(np.float32), y.astype(np.float32))
    else:
        want = getattr(np, name)(x, y)
    if name == "floor_divide" and x is SPECIAL:
        want = np.where(np.isinf(x), np.nan, want).astype(np.float32)  # XLA's: inf // y has no value
        got = np.asarray(jnp.floor_divide(x, y))
        assert_same(got[np.isfinite(x)], want[np.isfinite(x)])
        return
    check(getattr(jnp, name), want, x, y)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "int8", "uint8", "uint32", "bool"])
def test_small_dtypes_keep_their_width(dtype):
    x = jnp.array([0, 1, 2, 3]).astype(dtype)
    assert (x + x).dtype == dtype and (x * 2 if dtype != "bool" else x | x).dtype == dtype
    assert jnp.sin(x).dtype == (dtype if "float" in dtype else "float32")
    assert_same(jnp.maximum(x, x), np.asarray(x))


def test_integer_division_by_zero_is_defined():
    assert jnp.remainder(INTS, 0).tolist() == [0] * 7
    assert jnp.fmod(INTS, 0).tolist() == [0] * 7
    assert jnp.floor_divide(jnp.int32(1), 0).tolist() == -2  # XLA: 1 / 0 = -1, then rounded down


def test_constant_divisors_agree_with_arrays():
    for divisor in (3, -3):
        for fn in (jnp.floor_divide, jnp.remainder, jnp.divmod):
            assert_same(fn(INTS, divisor), fn(INTS, jnp.full(7, divisor)))
            assert_same(fn(REAL, float(divisor)), fn(REAL, jnp.full((2, 3), float(divisor))))


def test_powers():
    assert_same(jnp.power(INTS, 3), INTS ** 3)
    assert_same(jnp.power(INTS, jnp.array([0, 1, 2, 3, 4, 5, 2])), INTS ** np.array([0, 1, 2, 3, 4, 5, 2], np.int32))
    assert str(nj.make_jaxpr(lambda x: x ** 2)(1.0)).count("integer_pow[y=2]") == 1
    assert str(nj.make_jaxpr(lambda x: x ** 0.5)(1.0)).count(" pow ") == 1
    assert jnp.power(jnp.uint8(3), jnp.uint8(2)).dtype == "uint8"
    with pytest.raises(TypeError, match="negative powers"):
        jnp.power(INTS, -1)


def test_rounding():
    x = np.array([0.125, 2.5, -3.5, 1234.567], np.float32)
    for decimals in (0, 1, 2, -2):
        check(lambda v, d=decimals: jnp.round(v, d), np.round(x, decimals), x)
    check(jnp.round, np.round(COMPLEX), COMPLEX)
    whole = np.array([-15, -5, -4, 0, 5, 15, 25, 44, 46, 12345, 67890, -67855], np.int32)
    for decimals in (-1, -2, -10):
        check(lambda v, d=decimals: jnp.round(v, d), np.round(whole, decimals), whole)
    check(lambda v: jnp.round(v, -1), np.array([0, 0, 20, 250], np.uint8), np.array([3, 5, 15, 251], np.uint8))
    with pytest.raises(NotImplementedError, match="out"):
        jnp.round(REAL, out=REAL)


def test_parts_of_floats():
    x = np.array([6.0, -0.75, 0.0, np.inf, 1e-3, 3e38], np.float32)
    for got, want in zip(jnp.frexp(x), np.frexp(x), strict=True):
        assert_same(got, want)
    check(lambda a, n: jnp.ldexp(a, n), np.ldexp(np.float32(0.75), [3, -100, 120]), np.float32(0.75),
          np.array([3, -100, 120], np.int32))
    for got, want in zip(jnp.modf(SPECIAL), np.modf(SPECIAL), strict=True):
        assert_same(got, want)
    check_grad(lambda v: jnp.frexp(v)[0], [6.0, 0.75, 1.2])
    check_grad(lambda v: jnp.ldexp(v, np.array([1, 2, 3])), [6.0, 0.75, 1.2])
    assert jnp.frexp(jnp.float16(6))[0].dtype == "float16"


def test_greatest_common_divisors_of_zero_and_minima():
    assert jnp.gcd(0, 0).tolist() == 0 and jnp.lcm(0, 5).tolist() == 0
    assert nj.jit(jnp.gcd)(jnp.array([[12], [18]]), jnp.array([8, 27])).tolist() == [[4, 3], [2, 9]]
    with pytest.raises(ValueError, match="integers"):
        jnp.gcd(1.5, 2)


def test_nan_to_num_with_values():
    x = np.array([np.nan, np.inf, -np.inf, 1], np.float32)
    check(lambda v: jnp.nan_to_num(v, nan=1, posinf=2, neginf=3), np.nan_to_num(x, nan=1, posinf=2, neginf=3), x)
    z = np.array([complex(np.nan, np.inf)], np.complex64)
    assert_same(jnp.nan_to_num(z), np.nan_to_num(z))
    assert_same(jnp.nan_to_num(INTS), INTS)


@pytest.mark.parametrize("name, args", [
    *[(n, [REAL]) for n in "sin tanh exp square sinc arctan sinh cbrt".split()],
    *[(n, [ABOVE]) for n in "log log2 log1p sqrt i0 reciprocal arccosh".split()],
    *[(n, [REAL, UNIT + 2]) for n in "add multiply divide maximum minimum hypot arctan2 logaddexp logaddexp2".split()],
    ("power", [np.abs(REAL) + 0.5, UNIT]), ("fmax", [REAL, UNIT]), ("copysign", [REAL, UNIT]),
])
def test_derivatives(name, args):
    check_grad(getattr(jnp, name), *args)


def test_derivatives_at_special_points():
    grad = nj.grad
    assert [float(grad(jnp.maximum, k)(1.0, 1.0)) for k in (0, 1)] == [0.5, 0.5]
    assert [float(grad(jnp.abs)(x)) for x in (0.0, -0.0, 2.0, -2.0)] == [1, 1, 1, -1]
    assert float(grad(lambda x: jnp.sqrt(jnp.abs(x)))(0.0)) == np.inf
    assert float(grad(jnp.i0)(0.0)) == 0
    assert [float(grad(jnp.cbrt)(x)) for x in (0.0, np.inf)] == [np.inf, 0]
    assert np.isnan([float(grad(jnp.logaddexp, k)(np.nan, 1.0)) for k in (0, 1)]).all()
    assert float(grad(jnp.sinc)(0.0)) == 0
    np.testing.assert_allclose(grad(grad(jnp.sinc))(0.0), -np.pi ** 2 / 3, rtol=1e-5)
    np.testing.assert_allclose(grad(grad(grad(grad(jnp.sinc))))(0.0), np.pi ** 4 / 5, rtol=1e-5)
    for value in (-np.inf, 0.0, np.inf):
        assert [float(grad(jnp.logaddexp, k)(value, value)) for k in (0, 1)] == [0.5, 0.5]
    assert [float(grad(jnp.logaddexp, k)(-np.inf, 1.0)) for k in (0, 1)] == [0, 1]
    np.testing.assert_array_equal(nj.hessian(lambda v: jnp.logaddexp(*v))(jnp.zeros(2)), [[0.25, -0.25], [-0.25, 0.25]])
    np.testing.assert_allclose(grad(grad(jnp.logaddexp2))(1.0, 1.0), np.log(2) / 4, rtol=1e-6)
    assert float(grad(lambda x: jnp.power(x, 0))(0.0)) == 0
    assert float(grad(lambda x: x ** 2)(0.0)) == 0
    assert np.isinf(grad(jnp.sqrt)(0.0))
    assert float(grad(lambda x: jnp.where(x > 0, x, 0.0) ** 2)(-1.0)) == 0


@pytest.mark.parametrize("mode", [nj.jacrev, nj.jacfwd])
def test_slopes_of_lengths_that_end_overflow_or_underflow(mode):
    """The limits: 1/2 at (0, 0), the shares of each operand elsewhere."""
    half = np.sqrt(0.5)
    rows = {(0, 0): (0.5, 0.5), (0, 1e-45): (0, 1), (1e-45, 1e-45): (half, half), (0, 1e-30): (0, 1), (-3, 4): (-0.6, 0.8),
            (np.inf, 1): (1, 0), (0, -np.inf): (0, -1), (-np.inf, np.inf): (-half, half), (3e38, 3e38): (half, half),
            (1, np.nan): (np.nan, np.nan), (1e10, 1): (1, 1e-10)}
    points = np.array(list(rows), np.float32)
    slopes = nj.vmap(lambda v: (mode(lambda v: jnp.hypot(*v))(v), mode(nj.grad(lambda v: jnp.hypot(*v)))(v)))
    for call in (slopes, nj.jit(slopes)):
        first, second = map(np.asarray, call(points))
        np.testing.assert_allclose(first, list(rows.values()), rtol=1e-6)
        assert not second[[0, 5, 6, 7]].any()
        np.testing.assert_allclose(second[3], [[1e30, 0], [0, 0]], rtol=1e-5)
        np.testing.assert_allclose(second[10, 0, 0], 1e-30, rtol=1e-5)     # y^2 / hypot^3, whose terms do not cancel
        assert not np.isnan(second[:9]).any()


def test_vmap_of_scalars_and_arrays():
    out = nj.vmap(lambda a, b: jnp.floor_divide(a, b) + jnp.power(a, 2) % b, in_axes=(0, None))(INTS, jnp.int32(3))
    assert_same(out, INTS // 3 + INTS ** 2 % 3)


@pytest.mark.parametrize("call, error, text", [
    (lambda: jnp.add([1], 2), TypeError, r"add requires ndarray or scalar arguments, got <class 'list'> at position 0\."),
    (lambda: jnp.sin(None), TypeError, "sin requires ndarray or scalar"),
    (lambda: jnp.add(np.ones(3), np.ones(4)), TypeError, "add got incompatible shapes for broadcasting"),
    (lambda: jnp.add(np.ones(3), np.ones((2, 4))), ValueError, "Incompatible shapes for broadcasting"),
    (lambda: jnp.subtract(True, False), TypeError, "bool"),
    (lambda: jnp.floor_divide(1j, 2), TypeError, "complex"),
    (lambda: jnp.floor(1j), TypeError, "complex"),
    (lambda: jnp.invert(1.0), TypeError, "float32"),
    (lambda: jnp.isposinf(1j), ValueError, "complex"),
    (lambda: jnp.bitwise_and(jnp.ones(2), 1), TypeError, "float32"),
    (lambda: jnp.int32(1) + 2 ** 40, OverflowError, "1099511627776"),
    (lambda: jnp.add(1, 2, out=3), NotImplementedError, "out"),
    (lambda: jnp.add(1), TypeError, "missing 1 required"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_python_numbers_take_the_dtype_of_arrays():
    assert str(nj.make_jaxpr(lambda x: jnp.add(x, 1))(jnp.ones(3))).split("let")[1].strip() == \
        "b:f32[3] = add a 1.0:f32[] in (b,) }"
    assert int(jnp.uint32(5) * -1) == 2 ** 32 - 5
    assert jnp.full(2, 300, "int8").tolist() == [44, 44]
    assert jnp.ones(2, "int8").at[0].set(300).tolist() == [44, 1]
    assert (jnp.ones(2, "int8") + 300).tolist() == [45, 45]
    for wrong in (lambda: jnp.full(2, 2 ** 70, "int8"), lambda: jnp.ones(2, "int8").at[0].set(2 ** 31),
                  lambda: jnp.ones(2, "int8") + 2 ** 31):
        with pytest.raises(OverflowError, match="out of bounds for int"):
            wrong()
    assert (jnp.arange(3, dtype="int8") + 1).dtype == "int8"
    out = jnp.add(1, 2.0)
    assert out.weak_type and out.dtype == "float32"


def test_flags_of_promotion():
    with nj.numpy_rank_promotion("raise"), pytest.raises(ValueError, match="rank_promotion"):
        jnp.add(jnp.ones(3), jnp.ones((2, 3)))
    with nj.numpy_rank_promotion("warn"), pytest.warns(UserWarning, match="rank promotion"):
        jnp.add(jnp.ones(3), jnp.ones((2, 3)))
    with nj.numpy_dtype_promotion("strict"):
        assert (jnp.ones(3) + 1).dtype == "float32"
        with pytest.raises(nj.dtypes.TypePromotionError, match="strict"):
            jnp.ones(3) + jnp.arange(3)
    with nj.enable_x64(True):
        assert jnp.add(np.float64(1), 1).dtype == "float64" and jnp.sin(np.int64(1)).dtype == "float64"


def test_interpolation():
    x, xp, fp = np.array([-1, 0.5, 1.5, 9], np.float32), np.arange(3, dtype=np.float32), np.array([0, 10, 5], np.float32)
    check(jnp.interp, np.interp(x, xp, fp), x, xp, fp)
    check(lambda a: jnp.interp(a, xp, fp, left=-5, right=7), np.interp(x, xp, fp, left=-5, right=7), x)
    check(lambda a: jnp.interp(a, xp, fp, period=4.0), np.interp(x, xp, fp, period=4.0), x)
    knots = np.sort(RNG.uniform(0, 9, 100)).astype(np.float32)
    check(jnp.interp, np.interp(x, knots, knots ** 2), x, knots, knots ** 2, rtol=1e-5)
    assert jnp.interp(4.0, xp, fp, right="extrapolate") == -5
    check_grad(lambda v, f: jnp.interp(v, xp, f), [0.5, 1.5], fp)
    with pytest.raises(ValueError, match="one-dimensional"):
        jnp.interp(x, xp, fp[:2])
    with pytest.raises(ValueError, match="extrapolate"):
        jnp.interp(x, xp, fp, left="nearest")


@pytest.mark.parametrize("p, kwargs", [
    (np.array([0, 3.5, 7, -3], np.float32), {}), (np.array([0, 3, 4, 1], np.int32), {"period": 4}),
    (RNG.uniform(-9, 9, (3, 4)).astype(np.float32), {"axis": 0}), (np.array([0, 3, 6, 9], np.float32), {"discont": 4.0})])
def test_unwrap(p, kwargs):
    check(lambda v: jnp.unwrap(v, **kwargs), np.unwrap(p, **kwargs), p)


def test_unwrap_leaves_small_jumps_as_they_are():
    x = jnp.array([0, 1, 2, 3, 1, 2], "bfloat16")   # half a period, and so the jumps behind it, are rounded
    assert jnp.unwrap(x).tolist() == x.tolist()


def test_choosing():
    check(jnp.where, np.where(REAL > 0, REAL, UNIT[0]), REAL > 0, REAL, UNIT[0])
    check(jnp.where, np.where(INTS, INTS, 9), INTS, INTS, 9)
    check(lambda x: jnp.select([x < 0, x > 1], [x, x * 2], -1), np.select([REAL < 0, REAL > 1], [REAL, REAL * 2], -1), REAL,
          dtype=False)
    check(lambda x: jnp.piecewise(x, [x < 0, x > 1], [-1, lambda v: v * 2, 7]),
          np.piecewise(REAL, [REAL < 0, REAL > 1], [-1, lambda v: v * 2, 7]), REAL)
    check(lambda x: jnp.clip(x, -1, UNIT[0]), np.clip(REAL, -1, UNIT[0]), REAL)
    assert jnp.clip(jnp.array([5, 300]).astype("uint8"), 1, 6).tolist() == [5, 6]
    assert jnp.clip(jnp.array([5, 300]).astype("uint8"), -1, 6).tolist() == [6, 6]  # -1 is 255, as in JAX
    with pytest.raises(ValueError, match="complex"):
        jnp.clip(1j, 0, 1)
    with pytest.raises(ValueError, match="length"):
        jnp.select([REAL > 0], [], 0)
    with pytest.raises(TypeError, match="position 2"):
        jnp.where(REAL > 0, REAL)


def test_nan_to_num_replaces_what_it_put_there():
    """As in JAX: NaN first, then inf, then -inf."""
    x = jnp.array([np.nan, np.inf, -np.inf, 1.0], jnp.float32)
    lowest, highest = np.finfo(np.float32).min, np.finfo(np.float32).max
    assert jnp.nan_to_num(x, nan=-np.inf).tolist() == [lowest, highest, lowest, 1]
    assert nj.jit(lambda x: jnp.nan_to_num(x, nan=np.inf, posinf=-np.inf, neginf=3.0))(x).tolist() == [3, 3, 3, 1]


@pytest.mark.parametrize("name, a, b, want", [
    ("maximum", np.array([1, 2], np.int8), 300, [300, 300]), ("minimum", np.array([1, 2]), 0.5, [0.5, 0.5]),
    ("logaddexp", np.array([1, 2]), 2, np.logaddexp([1, 2], 2)), ("add", np.array([True, False]), True, [True, True]),
    ("multiply", np.array([True, False]), True, [True, False])])
def test_at_gives_the_dtype_of_the_function(name, a, b, want):
    want = np.asarray(want)
    b = np.int32(b) if name == "maximum" else b
    found = getattr(jnp, name).at(a, np.array([0, 1]), b, inplace=False)
    np.testing.assert_allclose(found, want, rtol=1e-6)
    assert found.dtype.kind == want.dtype.kind and not found.weak_type


def test_ufuncs_of_one_function_are_equal():
    f = lambda x, y: x + y
    one, two = (jnp.frompyfunc(f, 2, 1, identity=0) for _ in range(2))
    assert one == two and hash(one) == hash(two) and one._func is f
    assert one != jnp.frompyfunc(f, 2, 1, identity=1) and one != jnp.frompyfunc(jnp.add, 2, 1, identity=0) and one != f
    assert jnp.add == jnp.add and jnp.add != jnp.multiply and len({jnp.add, jnp.multiply, one, two}) == 3
    for name in ("nin", "nout", "nargs", "identity", "_func"):
        with pytest.raises(AttributeError):
            setattr(jnp.add, name, None)


def test_derivatives_of_powers_of_0_with_integer_exponents():
    f = lambda x, n: x ** n
    for gradient in (nj.grad(f), nj.jit(nj.grad(f)), nj.grad(nj.jit(f))):
        assert [float(gradient(0.0, n)) for n in (0, 1, 2)] == [0, 1, 0] and float(gradient(3.0, 2)) == 6
    exponents = jnp.arange(3)
    slopes = nj.vmap(nj.grad(f), (None, 0))(0.0, exponents)
    assert slopes.tolist() == [0, 1, 0] and (jnp.zeros((2, 1)) ** exponents).shape == (2, 3)
    assert nj.grad(lambda x: (x ** exponents).sum())(jnp.float16(0)) == 1 and (jnp.float16(2) ** exponents).dtype == "float16"
    with nj.numpy_dtype_promotion("strict"), pytest.raises(nj.errors.TypePromotionError):
        jnp.ones(3) ** exponents
    with nj.numpy_dtype_promotion("strict"):
        assert nj.grad(nj.jit(f))(0.0, 0) == 0


@pytest.mark.parametrize("dtype", [np.float16, jnp.bfloat16])
def test_quotients_of_halves_are_rounded_once(dtype):
    """A quotient rounded to 11 bits and lowered by 1 would be off by one."""
    rng = np.random.default_rng(0)
    x, y = (50 * rng.standard_normal(4000)).astype(dtype), rng.uniform(0.01, 2, 4000).astype(dtype)
    x[:3], y[:3] = [-46.03, 1, -1], [0.04617, np.inf, -np.inf]
    wide = np.floor_divide(x.astype(np.float32), y.astype(np.float32)).astype(dtype)
    for f in (jnp.floor_divide, nj.jit(jnp.floor_divide), nj.vmap(jnp.floor_divide), lambda a, b: jnp.divmod(a, b)[0]):
        got = f(x, y)
        assert got.dtype == dtype
        np.testing.assert_array_equal(got, wide)
    scalar = jnp.asarray(x) // 0.3
    assert scalar.dtype == dtype
    np.testing.assert_array_equal(scalar, np.floor_divide(x.astype("f"), np.asarray(0.3, dtype).astype("f")).astype(dtype))


@pytest.mark.parametrize("dtype", [np.float32, bool])
def test_accumulate_along_all_axes_is_that_of_the_flattened_array(dtype):
    x = np.array([[1, 2, 0], [3, 1, 2]]).astype(dtype)
    for f in (jnp.add, jnp.multiply):
        np.testing.assert_array_equal(f.accumulate(x, axis=None), f.accumulate(x.reshape(-1)))
    for f, axis in [(jnp.subtract, None), (jnp.logical_and, (0, 1)), (jnp.frompyfunc(lambda a, b: a + b, 2, 1), None)]:
        with pytest.raises(ValueError, match="does not allow multiple axes"):
            f.accumulate(x, axis=axis)


@pytest.mark.parametrize("x", [REAL, REAL > 0, INTS])
def test_pythons_float_is_the_default_float(x):
    for f in (jnp.minimum, jnp.maximum, jnp.logaddexp, jnp.logaddexp2, jnp.add, jnp.logical_and, jnp.subtract):
        assert f.reduce(x, dtype=float).dtype == np.float32
    for f in (jnp.bitwise_and, jnp.bitwise_xor):
        assert f.reduce(x, dtype=int).dtype == np.int32


def test_vectorized_functions_take_lists():
    assert jnp.vectorize(lambda x: x + 1)([1.0, 2.0]).tolist() == [2.0, 3.0]
    assert jnp.vectorize(jnp.dot, signature="(n),(n)->()")([[1, 2], [3, 4]], (5, 6)).tolist() == [17, 39]
    assert jnp.vectorize(lambda x, names: x * len(names), excluded={1})([1, 2], ["a", "b"]).tolist() == [2, 4]


@pytest.mark.parametrize(("shape", "index"), [((0,), np.arange(0)), ((2, 0, 3), np.array([0, -1, 0])), ((2,), np.arange(0))])
def test_at_no_elements_returns_the_array(shape, index):
    x = np.ones(shape, np.float32)
    np.testing.assert_array_equal(jnp.logaddexp.at(x, index, np.float32(1), inplace=False), x)
