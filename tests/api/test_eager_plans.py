"""Tapes of eager calls give the same bits, dtypes, errors and warnings as the functions, and need no Python."""
from __future__ import annotations

import copy
import functools
import gc
import inspect
import pickle
import sys
import threading
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.api import eager_plans
from numjet.core.trace import Tracer
from numjet.foundation.config import debug_key_reuse, debug_nans, enable_x64, transfer_guard
from numjet.lax.elementwise.convert import convert_values
from numjet.numpy.indexing.subscript import scatter_update

EAGER = _native.EagerFunction


def raw(fun: Any) -> Callable[..., Any]:
    """The function behind the tapes."""
    fun = fun._call if isinstance(fun, jnp.ufunc) else fun
    return fun.__wrapped__ if type(fun) is EAGER else fun


def arrays(dtype: str) -> list[Any]:
    """Arrays of a dtype, with special values among them."""
    rng = np.random.default_rng(0)
    values = rng.standard_normal(24) * 3
    if dtype == "bool":
        values = values > 0
    elif dtype.startswith("float"):
        values[:6] = [0.0, -0.0, np.inf, -np.inf, np.nan, 1e-40]
    elif dtype.startswith("complex"):
        values = values + 1j * rng.standard_normal(24)
    x = np.asarray(values).astype(dtype)
    return [jnp.asarray(x.reshape(shape)) for shape in ((24,), (4, 6), (2, 3, 4))] + [jnp.asarray(x[5:6].reshape(()))]


def same(x: Any, y: Any) -> None:
    assert nj.tree.structure(x) == nj.tree.structure(y)
    for a, b in zip(nj.tree.leaves(x), nj.tree.leaves(y), strict=True):
        assert a.aval == b.aval and a.committed == b.committed
        assert np.asarray(a).tobytes() == np.asarray(b).tobytes()


def check(fun: Any, *args: Any, **kwargs: Any) -> bool:
    """Compares calls one to four with the function itself; whether there is a tape."""
    function = fun._call if isinstance(fun, jnp.ufunc) else fun
    if type(function) is not EAGER:  # it runs as one compiled program
        return False
    try:
        expected = raw(fun)(*args, **kwargs)
    except Exception as error:
        for _ in range(3):
            with pytest.raises(type(error)):
                fun(*args, **kwargs)
        return False
    before = function._tape_count()
    for _ in range(4):
        same(fun(*args, **kwargs), expected)
    return function._tape_count() > before


UNARY = ("sin cos tan arcsin arccos arctan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 log1p "
         "sqrt cbrt "
         "square abs fabs negative positive sign floor ceil rint trunc reciprocal isnan isinf isfinite logical_not "
         "invert signbit "
         "deg2rad rad2deg conj real imag nan_to_num sum prod max min mean any all argmax argmin count_nonzero ptp "
         "cumsum cumprod "
         "ravel transpose squeeze zeros_like ones_like copy sort argsort asarray flip").split()
BINARY = ("add subtract multiply divide floor_divide mod fmod power maximum minimum arctan2 logaddexp logaddexp2 "
         "copysign equal "
          "not_equal less less_equal greater greater_equal logical_and logical_or logical_xor bitwise_and bitwise_or").split()
DTYPES = ("float32", "int32", "bool", "complex64", "float16", "uint8")


@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_functions(dtype):
    taped = {name for name in UNARY for x in arrays(dtype)[1:3] if check(getattr(jnp, name), x)}
    assert len(taped) > (20 if dtype in ("float32", "float16") else 8), taped


@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_functions(dtype):
    _, x, _, scalar = arrays(dtype)
    y = jnp.flip(x)
    numbers = {"float32": (2, 0.1, True), "int32": (2, -3, 0.5), "bool": (True, 2)}.get(dtype, (2,))
    for name in BINARY:
        fun = getattr(jnp, name)
        check(fun, x, y)
        check(fun, x, scalar)
        check(fun, x, x[:1])
        for number in numbers:
            check(fun, x, number)
            check(fun, number, x)


def test_float64(x64):
    _, x, _, scalar = arrays("float64")
    for name in UNARY:
        check(getattr(jnp, name), x)
    for name in BINARY:
        check(getattr(jnp, name), x, jnp.flip(x))
        check(getattr(jnp, name), x, 0.1)
        check(getattr(jnp, name), x.astype("float32"), 0.1)
        check(getattr(jnp, name), x.astype("float32"), scalar)
        check(getattr(jnp, name), x.astype("int32"), 2**31)


CALLS: list[tuple[str, Callable[..., Any]]] = [
    ("where", lambda f, x: f(x > 0, x, 0.0)), ("where", lambda f, x: f(x > 0, x, jnp.flip(x))), ("clip",
    lambda f, x: f(x, -1, 1)),
    ("clip", lambda f, x: f(x, None, 0.5)), ("sum", lambda f, x: f(x, 0)), ("sum", lambda f, x: f(x, axis=(0, 1))),
    ("sum", lambda f, x: f(x, axis=-1, keepdims=True)), ("max", lambda f, x: f(x, 1)), ("stack", lambda f, x: f([x, x * 2])),
    ("stack", lambda f, x: f((x, x), axis=-1)), ("concatenate", lambda f, x: f([x, x, x], axis=1)), ("vstack",
    lambda f, x: f([x, x])),
    ("hstack", lambda f, x: f([x, x])), ("reshape", lambda f, x: f(x, (6, -1))), ("transpose", lambda f, x: f(x, (1, 0))),
    ("swapaxes", lambda f, x: f(x, 0, 1)), ("moveaxis", lambda f, x: f(x, 0, -1)), ("expand_dims", lambda f, x: f(x, 1)),
    ("broadcast_to", lambda f, x: f(x[0], (3, 6))), ("flip", lambda f, x: f(x, 1)), ("roll", lambda f, x: f(x, 2, 1)),
    ("tile", lambda f, x: f(x, 2)), ("repeat", lambda f, x: f(x, 2, 1)), ("astype", lambda f, x: f(x, jnp.int32)),
    ("astype", lambda f, x: f(x, "bool")), ("dot", lambda f, x: f(x, x.T)), ("dot", lambda f, x: f(x[0], x[0])),
    ("matmul", lambda f, x: f(x.T, x)), ("matmul", lambda f, x: f(x, x[0])), ("outer", lambda f, x: f(x[0], x[1])),
    ("tensordot", lambda f, x: f(x, x, ((0, 1), (0, 1)))), ("power", lambda f, x: f(x, 2)), ("power", lambda f, x: f(x, 3)),
    ("power", lambda f, x: f(x, 0.5)), ("zeros", lambda f, x: f((2, 3))), ("ones", lambda f, x: f(3, "int32")),
    ("full", lambda f, x: f((2,), 1.5)), ("arange", lambda f, x: f(5)), ("arange", lambda f, x: f(0.0, 1.0, 0.25)),
    ("eye", lambda f, x: f(3)), ("diff", lambda f, x: f(x)), ("std", lambda f, x: f(x, 0)), ("var", lambda f, x: f(x))]


@pytest.mark.parametrize("dtype", ["float32", "int32", "float16"])
def test_functions_with_parameters(dtype):
    x = arrays(dtype)[1]
    for name, call in CALLS:
        fun = getattr(jnp, name)
        if type(fun) is EAGER:
            call(lambda *a, _f=fun, **k: check(_f, *a, **k), x)


def test_operators_and_methods():
    x, v = arrays("float32")[1], jnp.arange(3.0)
    calls = [lambda: x + v[0], lambda: x - x[0], lambda: 2 / (x + 9), lambda: x ** 2, lambda: x ** 3, lambda: 2.0 ** v,
             lambda: x // 2,
             lambda: x % 2, lambda: abs(x), lambda: -x, lambda: x > x[0], lambda: (x > 0) & (x < 1), lambda: ~(x > 0),
             lambda: x.sum(0),
             lambda: x.mean(), lambda: x.T, lambda: x.reshape(6, 4), lambda: x.reshape(-1), lambda: x.astype("int32"),
             lambda: x.max(),
             lambda: x.transpose(1, 0), lambda: x.clip(0, 1), lambda: x.ravel(), lambda: x @ x.T, lambda: x.T @ x,
             lambda: x.copy()]
    with np.errstate(all="ignore"):
        for call in calls:
            first = call()
            for _ in range(3):
                same(call(), first)


INDICES = (0, -1, slice(1, 3), slice(None, None, -1), slice(3, 0, -2), slice(5, 2), None, ..., (1, 2), (slice(None), 2),
(..., 1),
           (None, 1), (slice(1, None, 2), slice(None, None, 3)), (1, ..., None), (), slice(-100, 100))


@pytest.mark.parametrize("dtype", ["float32", "int8", "complex64", "bool", "bfloat16"])
def test_basic_indices(dtype):
    x = jnp.asarray(np.random.default_rng(0).integers(0, 2, (4, 6)), dtype)
    for index in INDICES:
        part = x[index]
        assert part.dtype == x.dtype and part.weak_type == x.weak_type
        np.testing.assert_array_equal(np.asarray(part), np.asarray(x)[index], strict=True)


@pytest.mark.parametrize("index", [4, -5, (0, 6), (0, 0, 0), "a", (..., ...)], ids=repr)
def test_wrong_indices_raise_as_before(index):
    x = jnp.ones((4, 6))
    with pytest.raises((IndexError, TypeError)):
        if np.shape(x[index]) is not None:  # out of bounds is clamped where it is not known to be
            raise IndexError


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool", "uint8", "float16"])
def test_updates(dtype):
    """As the general path, which scatters."""
    x = jnp.asarray(np.random.default_rng(0).integers(0, 2, (4, 6)), dtype)
    for name, op in (("set", "set"), ("add", "add"), ("subtract", "subtract"), ("multiply", "mul")):
        for index in INDICES:
            for values in (1, 1.5, True, x[index], x[0, 0], 2**26 + 1):
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    found = _outcome(functools.partial(getattr(x.at[index], name), values))
                    expected = _outcome(functools.partial(scatter_update, x, index, values, op))
                if isinstance(expected, type):
                    assert found is expected
                else:
                    same(found, expected)


def _outcome(fun: Callable[[], Any]) -> Any:
    try:
        return fun()
    except Exception as error:
        return type(error)


def python_calls(fun: Callable[[], Any]) -> int:
    """How many Python functions a call enters. A garbage collection would call what others left to be called."""
    count = 0

    def see(frame: Any, event: str, arg: Any) -> None:
        nonlocal count
        count += event == "call"
    for _ in range(3):
        fun()
    gc.disable()
    sys.setprofile(see)
    try:
        fun()
    finally:
        sys.setprofile(None)
        gc.enable()
    return count - 1   # fun itself


def test_no_python():
    x, m = jnp.arange(8.0), jnp.ones((4, 4))
    two = [x, x]
    calls = [lambda: jnp.sin(x), lambda: jnp.where(x > 3, x, 0.0), lambda: jnp.clip(x, 0.0, 1.0), lambda: jnp.stack(two),
             lambda: jnp.reshape(x, (2, 4)), lambda: x.reshape(2, 4), lambda: x[1:3], lambda: x[2], lambda: jnp.dot(m, m),
             lambda: m.T, lambda: jnp.zeros(8), lambda: jnp.arange(8), lambda: x / 3 - 1, lambda: x > 2.0, lambda: abs(x),
             lambda: float(x[1]), lambda: jnp.concatenate(two), lambda: jnp.exp(x), lambda: jnp.equal(x, x), lambda: -x]
    assert [python_calls(fun) for fun in calls] == [0] * len(calls)
    assert python_calls(lambda: x.at[2].set(1.0)) <= 4 and python_calls(lambda: jnp.add(x, x)) <= 1
    assert python_calls(lambda: jnp.sum(x)) <= 2


def test_debugging_flags_are_heeded():
    x = jnp.asarray([0.0, 1.0])
    for _ in range(3):
        jnp.log(x)
    with debug_nans(True), pytest.raises(FloatingPointError):
        jnp.log(x - 1)
    with transfer_guard("disallow"), pytest.raises(Exception, match="Disallowed host-to-device"):
        jnp.maximum(x, np.ones(2, np.float32))
    for _ in range(3):
        jnp.maximum(x, np.ones(2, np.float32))
    with transfer_guard("disallow"), pytest.raises(Exception, match="Disallowed host-to-device"):
        jnp.maximum(x, np.ones(2, np.float32))
    with debug_key_reuse(True):
        same(jnp.log(x), jnp.log(x))


def test_transformations_see_operations():
    x = jnp.arange(4.0)
    for _ in range(3):
        jnp.sin(x)
    assert "sin" in str(nj.make_jaxpr(jnp.sin)(x))
    np.testing.assert_allclose(nj.grad(lambda x: jnp.sin(x).sum())(x), np.cos(x), rtol=1e-6)
    same(nj.vmap(jnp.sin)(x), jnp.sin(x))
    with nj.disable_jit():
        same(nj.jit(jnp.sin)(x), jnp.sin(x))


def test_numbers_that_do_not_fit():
    x = jnp.arange(3)
    for _ in range(3):
        jnp.add(x, 2)
    with pytest.raises(OverflowError):
        jnp.add(x, 2**40)
    u = jnp.arange(3, dtype="uint8")
    for value in (1, 1, 1, 300, -1):
        try:
            expected = raw(jnp.add)(u, value)
        except Exception as error:
            with pytest.raises(type(error)):
                jnp.add(u, value)
        else:
            same(jnp.add(u, value), expected)


def test_exponents_choose_the_operation():
    x = jnp.asarray([1.1, 2.3, 3.7])
    for exponent in (2, 2, 2, 3, 0.5, 2.0, -1):
        same(jnp.power(x, exponent), raw(jnp.power)(x, exponent))


def test_warnings_are_given_every_time():
    x = jnp.arange(3.0)
    for _ in range(4):
        with pytest.warns(UserWarning, match="float64"):
            jnp.astype(x, "float64")


def test_large_committed_and_deleted_arrays():
    large = jnp.zeros(1 << 17)
    before = jnp.sin._tape_count()
    for _ in range(3):
        jnp.sin(large)
    assert jnp.sin._tape_count() == before
    committed = nj.device_put(jnp.arange(3.0), nj.devices()[0])
    for _ in range(4):
        assert jnp.sin(committed).committed == raw(jnp.sin)(committed).committed
    gone = jnp.arange(3.0)
    for _ in range(3):
        jnp.sin(gone)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        jnp.sin(gone)


def test_constants_are_not_shared_by_deletion_and_donation():
    for _ in range(4):
        x = jnp.zeros(5)
        x.delete()
    same(jnp.zeros(5), raw(jnp.zeros)(5))
    double = nj.jit(lambda x: x + 1, donate_argnums=0)
    for _ in range(4):
        double(jnp.zeros(5))
    np.testing.assert_array_equal(jnp.zeros(5), np.zeros(5))


def test_results_that_are_the_argument_itself_stay_so():
    """What jnp.asarray(x) gives is x, in the first call as in later ones; what jnp.ravel(x) gives is not."""
    for fun, handed in ((jnp.asarray, True), (lambda x: x.astype(x.dtype), True), (jnp.positive, None), (jnp.squeeze, None)):
        x = jnp.arange(3.0)
        first = handed if handed is not None else fun(x) is x
        assert [fun(x) is x for _ in range(5)] == [first] * 5
    a, b = jnp.arange(3.0), jnp.arange(3.0) + 1
    for _ in range(4):
        found = jnp.broadcast_arrays(a, b)
        assert [x is y for x, y in zip(found, (a, b), strict=True)] == [found[0] is a] * 2
        c = jnp.asarray(jnp.arange(3.0))
        d = jnp.asarray(c)
        c.delete()
        assert d.is_deleted()


def test_numpy_arrays_are_copied():
    mine = np.arange(4, dtype=np.float32)
    for _ in range(4):
        taken = jnp.asarray(mine)
    mine[:] = 7
    np.testing.assert_array_equal(taken, np.arange(4))


def test_flags_change_the_results():
    for _ in range(3):
        assert jnp.zeros(2).dtype == "float32" and jnp.asarray(np.ones(2)).dtype == "float32"
    with enable_x64():
        for _ in range(3):
            assert jnp.zeros(2).dtype == "float64" and jnp.asarray(np.ones(2)).dtype == "float64"
    assert jnp.zeros(2).dtype == "float32"


def test_caches_are_cleared():
    x = jnp.arange(5.0)
    for _ in range(3):
        jnp.cosh(x)
    assert jnp.cosh._tape_count()
    nj.clear_caches()
    assert not jnp.cosh._tape_count()
    same(jnp.cosh(x), raw(jnp.cosh)(x))


def test_threads():
    x = jnp.arange(100.0)
    expected, wrong = np.asarray(raw(jnp.sinh)(x / 50)), []

    def work() -> None:
        for _ in range(200):
            if not np.array_equal(jnp.sinh(x / 50), expected):
                wrong.append(1)
    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    nj.clear_caches()
    for t in threads:
        t.join()
    assert not wrong


def test_functions_are_like_functions():
    assert jnp.sin.__name__ == "sin" and "x" in inspect.signature(jnp.sin).parameters and jnp.sin.__doc__
    assert pickle.loads(pickle.dumps(jnp.sin)) is jnp.sin and copy.deepcopy(jnp.sin) is jnp.sin
    assert "function sin" in repr(jnp.sin)


def test_a_tape_that_differs_is_not_kept():
    """What a function returns decides: one that is traced otherwise than it runs has no tape."""
    fun = eager_plans.taped(lambda x: x + (1 if isinstance(x, Tracer) else 2), ("x",))
    x = jnp.arange(3.0)
    for _ in range(4):
        np.testing.assert_array_equal(fun(x), np.arange(3.0) + 2)
    assert fun._tape_count() == 0


_NUMBERS = ("bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64", "float32", "float64")


@pytest.mark.parametrize("old", _NUMBERS)
def test_conversions(x64, old):
    """The tape's conversions are those of the operation, at the ends of every range, too."""
    values = np.array([0, 1, -1, 2, 127, 128, -129, 255, 256, 32767, 65536, 2**31 - 1, 2**31, -2**31 - 1, 2**32, 2**53 + 1,
                       2**62, -2**62], object)
    if old.startswith("float"):
        values = np.array([*values, 0.5, -0.5, -0.0, 1e-40, 2.0**63, -2.0**63, 2.0**64, 1e30, -1e30, np.inf, -np.inf, np.nan])
        x = values.astype(old)
    elif old == "bool":
        x = values.astype(bool)
    else:
        x = np.array([int(v) % 2**(8 * np.dtype(old).itemsize) for v in values], "uint64").astype(old)
    a = jnp.asarray(x)
    for new in _NUMBERS:
        expected = convert_values(x, np.dtype(new))
        for _ in range(4):
            found = jnp.astype(a, new)
        assert found.dtype == new and np.asarray(found).tobytes() == expected.tobytes(), (old, new)


def test_steps_of_composed_operations(rng):
    """Signs, roundings, powers, copies and broadcasts are steps without Python."""
    special = np.array([0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, np.inf, -np.inf, np.nan, 1e-40])
    for values in (rng.standard_normal(24) * 3, special):
        x = jnp.asarray(values.astype("float32"))
        assert python_calls(lambda: jnp.power(x, x)) <= 3  # noqa: B023
        for fun in (lambda x: jnp.sign(x), lambda x: jnp.rint(x), lambda x: jnp.reciprocal(x), lambda x: jnp.signbit(x),
                    lambda x: jnp.floor_divide(x, x), lambda x: jnp.mod(x, x + 1), lambda x: jnp.copy(x),
                    lambda x: jnp.expm1(x), lambda x: jnp.arctan2(x, x), lambda x: jnp.repeat(x, 3), lambda x: jnp.outer(x, x),
                    lambda x: x.astype(int)):
            for _ in range(3):
                fun(x)
            assert python_calls(lambda: fun(x)) == 1, fun  # noqa: B023


def test_host_arrays_are_put(rng):
    x = rng.standard_normal(5)
    for _ in range(4):
        y = nj.device_put(x)
        np.testing.assert_array_equal(y, x.astype("float32"))
        assert not y.committed
        x[:] = 0
        assert float(y[0]) != 0
        x[:] = 1
    assert python_calls(lambda: nj.device_put(x)) == 1
    with pytest.raises(TypeError):
        nj.device_put(np.array(["a"]))
    with nj.transfer_guard("disallow"):   # explicit transfers are allowed
        nj.device_put(np.ones(5))


def test_exponents_of_rank_0_choose_the_operation():
    x = jnp.asarray([1.1, -2.0, 3.0])
    for n in (2, 3, -1, 5):
        for _ in range(4):
            same(jnp.power(x, jnp.asarray(n)), jnp.power(x, n))


def test_fill_values_are_operands():
    """Numbers and arrays: another value needs no other tape."""
    fill = jnp.arange(3.0)
    check(jnp.full, (2, 3), fill)
    before = jnp.full._tape_count()
    check(jnp.full, (2, 3), fill + 1)
    assert jnp.full._tape_count() == before
    for number in (2.5, 7, True):
        check(jnp.full, (3,), number)
        check(jnp.full, (3,), number, jnp.int32)
        check(jnp.full_like, fill, number)
    check(jnp.full_like, fill, fill[1])
