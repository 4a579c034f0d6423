"""The short ways of eager operations give what the long ways give; flags and tracing never take them."""
from __future__ import annotations

import operator
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, lax
from numjet.foundation.config import config, debug_nans, disable_jit, enable_x64, index_checks
from numjet.numpy.core import creation
from numjet.numpy.fastpath import divide, index as quick_index
from numjet.runtime import eager

DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "float16", "bfloat16", "float32", "complex64")
SHAPES = ((), (5,), (0,), (2, 3))
UNARY: dict[str, Callable[[Any], Any]] = {
    "sin": jnp.sin, "sqrt": jnp.sqrt, "negative": jnp.negative, "abs": jnp.abs, "square": jnp.square, "cube": lambda x: x ** 3,
    "isnan": jnp.isnan, "sum": jnp.sum, "prod": jnp.prod, "mean": jnp.mean, "any": jnp.any, "max": jnp.max,
    "cumsum": jnp.cumsum, "sort": lambda x: jnp.sort(x, axis=None), "astype": lambda x: x.astype(jnp.int8),
    "reshape": lambda x: x.reshape(-1, 1), "transpose": jnp.transpose, "zeros_like": jnp.zeros_like,
    "ones_like": jnp.ones_like, "full_like": lambda x: jnp.full_like(x, 3), "stack": lambda x: jnp.stack([x, x]),
    "top": lambda x: lax.top_k(jnp.ravel(x), 1), "iterate": list,
    "var": jnp.var, "std": lambda x: jnp.std(x, ddof=1), "mean_last": lambda x: jnp.mean(x, -1),
    "var_0": lambda x: jnp.var(x, 0),
    "argsort": lambda x: jnp.argsort(x, axis=None), "argsort_last": jnp.argsort, "cumprod": lambda x: jnp.cumprod(x, 0),
    "gram": lambda x: x @ x.T, "length": lambda x: jnp.dot(jnp.ravel(x), jnp.ravel(x)), "outer": lambda x: jnp.outer(x, x),
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    "add": jnp.add, "subtract": jnp.subtract, "multiply": jnp.multiply, "divide": jnp.divide,
    "floor_divide": jnp.floor_divide, "remainder": jnp.remainder, "divmod": jnp.divmod, "maximum": jnp.maximum,
    "less": jnp.less, "equal": jnp.equal, "logical_and": jnp.logical_and, "bitwise_or": jnp.bitwise_or,
    "power": jnp.power, "where": lambda x, y: jnp.where(x > y, x, y), "clip": lambda x, y: jnp.clip(x, y, y),
}
SCALARS = (2, -3, 0, 1.5, -0.0, float("inf"), float("nan"), True, 1j)


def values(shape: tuple[int, ...], dtype: str, low: int = -3) -> Any:
    numbers = np.arange(low, low + int(np.prod(shape))).reshape(shape)
    return jnp.asarray(numbers.astype(np.float32) * (0.75 if "float" in dtype else 1)).astype(dtype)


def seen(f: Callable[..., Any], *args: Any) -> Any:
    """The leaves of the result: type, aval and bits (NaN: that it is one); or the class and text of the error."""
    try:
        leaves = nj.tree.leaves(f(*args))
    except (TypeError, ValueError, IndexError, ArithmeticError, NotImplementedError, AttributeError) as error:
        return type(error), str(error)
    return [(type(x), x.aval, [str(v) for v in np.ravel(np.asarray(x))]) for x in leaves]


def agree(f: Callable[..., Any], *args: Any) -> None:
    with disable_jit():
        expected = seen(f, *args)
    for _ in range(2):  # the second call finds what the first one kept
        assert seen(f, *args) == expected


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", UNARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_unary_operations_agree(name: str, dtype: str) -> None:
    for shape in SHAPES:
        agree(UNARY[name], values(shape, dtype))
    agree(UNARY[name], jnp.asarray(2.5 if "float" in dtype else 2))  # weakly typed


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", BINARY)
@pytest.mark.parametrize("dtype", DTYPES)
def test_binary_operations_agree(name: str, dtype: str) -> None:
    for shape in SHAPES:
        x = values(shape, dtype)
        agree(BINARY[name], x, values(shape, dtype, 1))
        agree(BINARY[name], x, values((), dtype, 2))
    x = values((7,), dtype)
    for scalar in SCALARS:
        agree(BINARY[name], x, scalar)
        agree(BINARY[name], scalar, x)
        agree(BINARY[name], jnp.asarray(scalar), x)
    agree(BINARY[name], x, x[::-1])


@pytest.mark.parametrize("shapes", [((3, 4), (4, 5)), ((4,), (4, 5)), ((3, 4), (4,)), ((4,), (4,)), ((3, 4), (3, 4)),
                                    ((2, 3, 4), (4,)), ((2, 3, 4), (4, 5)), ((2, 3, 4), (2, 4, 5)),
                                    ((1, 2, 3, 4), (1, 2, 4, 1)), ((2, 3, 4), (2, 3, 4)), ((2, 3, 4), (1, 4, 5)),
                                    ((3, 4), (2, 4, 5)), ((0, 3, 4), (0, 4, 5)),
                                    ((), (4,)), ((0, 4), (4, 2))], ids=str)
@pytest.mark.parametrize("name", ["matmul", "dot", "outer"])
def test_products_agree(name: str, shapes: tuple[tuple[int, ...], ...]) -> None:
    rng = np.random.default_rng(0)
    for dtype in (np.float32, np.int32):
        x, y = (jnp.asarray((rng.normal(size=shape) * 9).astype(dtype)) for shape in shapes)
        agree(getattr(jnp, name), x, y)
    agree(getattr(jnp, name), x, y.astype(jnp.float32))


@pytest.mark.parametrize("name", ["matmul", "dot", "outer"])
def test_products_of_weakly_typed_arrays_agree(name: str) -> None:
    weak, strong = jnp.arange(1, 5) * 0.5, jnp.ones(4)
    assert weak.weak_type and not strong.weak_type
    for x, y in ((weak, weak), (weak, strong), (strong, weak)):
        agree(getattr(jnp, name), x, y)
    for one in (jnp.mean, jnp.var, jnp.std, jnp.cumsum, jnp.cumprod, jnp.argsort):
        agree(one, weak)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", ["mean", "var", "std", "cumsum", "cumprod", "argsort", "sort", "max", "min", "sum"])
def test_special_values_agree(name: str) -> None:
    x = jnp.asarray(np.array([*SPECIAL, -np.nan, 0.0, -0.0], np.float32))
    agree(getattr(jnp, name), x)
    agree(getattr(jnp, name), x[:6].reshape(2, 3))


SPECIAL = [0.0, -0.0, 0.5, -0.5, 1.0, -1.0, 2.5, -7.25, 1e30, -1e-30, 3e38, np.inf, -np.inf, np.nan]


@pytest.mark.parametrize("dtype", ["float32", "float64", "int8", "int32", "int64"])
@pytest.mark.parametrize("op", [operator.floordiv, operator.mod])
def test_divisions_agree_on_special_values(op: Callable[[Any, Any], Any], dtype: str) -> None:
    with enable_x64(True):
        if dtype.startswith("float"):
            numbers = np.asarray(SPECIAL, dtype)
        else:
            limits = np.iinfo(dtype)
            numbers = np.asarray([0, 1, -1, 2, -2, 7, -7, limits.min, limits.max, limits.min + 1], dtype)
        x, y = (jnp.asarray(np.ravel(v)) for v in np.meshgrid(numbers, numbers))
        agree(op, x, y)
        for number in numbers.tolist():
            agree(op, x, number)
            agree(op, number, x)


@pytest.mark.parametrize("dtype", ["int8", "int16", "int32"])
def test_remainders_of_many_numbers_agree(dtype: str) -> None:
    limits = np.iinfo(dtype)
    x = jnp.asarray(np.random.default_rng(0).integers(limits.min, limits.max, 5000, dtype, endpoint=True))
    for divisor in (1, 3, 100, int(limits.max)):
        agree(lambda v, by=divisor: v % by, x)
        assert (x % divisor).tolist() == (np.asarray(x).astype(int) % divisor).tolist()


INDICES = (0, -1, 2, 5, -9, slice(None), slice(1, 3), slice(None, None, -1), slice(9, None), slice(-2, None, 2), slice(3, 1),
           None, Ellipsis, (), (0, 0), (-1, slice(None, None, 2)), (Ellipsis, 0), (0, Ellipsis, None),
           (None, 1, Ellipsis, None),
           (Ellipsis, Ellipsis), (0, 0, 0), (slice(0, 2), None, -1), True, (False, 0), np.int32(1), np.array([0, 1]), "a", 1.5,
           slice(None, None, 0), slice(np.int64(1), None), [0, 1], np.array([[0, -1, 0]]), np.array([2, 0, 2], np.int8),
           np.array([0, 9]), np.array([-5, 0]), np.array([], int), np.array(1), np.array([0, 1], np.uint8), np.array([0.5]),
           np.array([True, False, True]), np.zeros(4, bool), np.ones((3, 4), bool), np.array(True), (np.array([0, 1]), 0),
           (slice(None), slice(None)), 1 << 70, slice(1 << 70))


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("shape", [(), (4,), (3, 4), (0, 2), (1, 1)])
@pytest.mark.filterwarnings("ignore")
def test_reads_agree(index: Any, shape: tuple[int, ...]) -> None:
    for dtype in ("bool", "int32", "bfloat16", "complex64"):
        agree(lambda x: x[index], values(shape, dtype))
    agree(lambda x: x[index], jnp.full(shape, 2.0))
    if isinstance(index, np.ndarray):
        agree(lambda x, i: x[i], values(shape, "int32"), jnp.asarray(index))
    agree(lambda x: nj.random.key_data(x[index]), nj.random.split(nj.random.key(0), shape))


SEVERAL = [([0, 2, 1], [3, -1, 0]), ([-3, 2, 0], [1, 1, -4]), ([0, 3, 1], [0, 0, 0]), ([0, -4, 1], [0, 0, 0]),
           ([[0], [1]], [[2], [3]]), ([[0], [1]], [2, 3]), ([], []), ([0, 2, 1],), ([0], [0], [0])]


@pytest.mark.parametrize("index", SEVERAL, ids=repr)
@pytest.mark.parametrize("shape", [(3, 4), (3, 4, 2), (3,)])
@pytest.mark.parametrize("checks", ["off", "eager"])
def test_reads_at_several_arrays_agree(index: Any, shape: tuple[int, ...], checks: str) -> None:
    with index_checks(checks):
        for dtype in ("int8", "int32"):
            entries = tuple(jnp.asarray(np.asarray(e, dtype)) for e in index)
            agree(lambda x, e=entries: x[e], values(shape, "float32"))
    agree(lambda x: x[tuple(jnp.asarray(e, int) for e in index)], jnp.full(shape, 2.0))


@pytest.mark.parametrize("index", INDICES, ids=repr)
@pytest.mark.parametrize("method", ["set", "add", "subtract", "multiply", "min", "divide"])
@pytest.mark.filterwarnings("ignore")
def test_updates_agree(index: Any, method: str) -> None:
    for shape in ((), (4,), (3, 4), (0, 2)):
        for dtype in ("bool", "uint8", "int32", "float32"):
            x = values(shape, dtype)
            for value in (2, True, -0.0, 1e300, 1 << 40, values((), dtype), values((4,), dtype), [1], np.float32(2), None):
                agree(lambda x, v: getattr(x.at[index], method)(v), x, value)
        agree(lambda x: getattr(x.at[index], method)(3), jnp.full(shape, 2))


@pytest.mark.parametrize("options", [
    {"mode": "clip"}, {"mode": "fill"}, {"mode": "nonsense"}, {"wrap_negative_indices": False}])
def test_updates_with_options_agree(options: dict[str, Any]) -> None:
    for index in (0, -1, 7, slice(1, 3)):
        agree(lambda x, i: x.at[i].set(9, **options), values((4,), "float32"), index)
        agree(lambda x, i: x.at[i].get(**options), values((4,), "float32"), index)


@pytest.mark.parametrize("shape", [(), 3, (2, 0), (2, 3), [2], -1, (1.5,), "a", None, np.array([2, 2])], ids=repr)
@pytest.mark.filterwarnings("ignore")
def test_constants_agree(shape: Any) -> None:
    for dtype in (None, int, bool, "bfloat16", "float8_e4m3fn", "int4", "complex64", "float64", "U1"):
        for make in (jnp.zeros, jnp.ones, jnp.empty):
            agree(make, shape, dtype)
        for value in (0, -0.0, 2.5, True, 300, -1, 1j, np.float16(2), jnp.ones(()), "x"):
            agree(jnp.full, shape, value, dtype)


@pytest.mark.parametrize("limits", [(5,), (-3,), (2, 9, 3), (9, 2, -2), (0,), (5, 5), (2.5,), (True,), (np.int64(4),), (3, 1),
                                    (-(1 << 31), 5 - (1 << 31)), ((1 << 31) - 3, (1 << 31) - 1), (1 << 31, (1 << 31) + 2),
                                    (0, 5, 1 << 40), (0, 5, 0), (0, 4, 0.5), ("a",)], ids=repr)
def test_ranges_agree(limits: tuple[Any, ...]) -> None:
    for dtype in (None, int, "int8", "uint32", float, "float16"):
        agree(lambda d: jnp.arange(*limits, dtype=d), dtype)
        with enable_x64(True):
            agree(lambda d: jnp.arange(*limits, dtype=d), dtype)


def test_updated_and_read_arrays_own_their_memory() -> None:
    x = jnp.arange(6.0)
    y, z = x[1:3], x.at[0].set(9.0)
    assert not np.shares_memory(np.asarray(x), np.asarray(y)) and not np.shares_memory(np.asarray(x), np.asarray(z))
    assert x[0] == 0 and x[:] is x


def _refuse(*args: Any) -> Any:
    raise AssertionError("the short way was taken")


def _everything(x: Any) -> Any:
    return x[0] + x.at[1].set(2.0)[-1] + (x // 2.0).sum() + (x % 3.0).sum() + jnp.zeros(3).sum() + jnp.full((2,), 1.0).sum()


@pytest.mark.parametrize("flag", [debug_nans, disable_jit])
def test_flags_take_the_long_way(flag: Callable[[bool], Any], monkeypatch: pytest.MonkeyPatch) -> None:
    x = jnp.arange(4.0)
    expected = _everything(x)
    for module, name in ((quick_index, "_basic"), (divide, "_value"), (creation, "_repeated"), (eager, "_array")):
        monkeypatch.setattr(module, name, _refuse)
    with flag(True):
        assert float(_everything(x)) == float(expected)
    with pytest.raises(AssertionError, match="the short way"):
        x[np.array([0])]


def test_debug_nans_names_the_operation_although_its_result_type_is_known() -> None:
    x = jnp.asarray([-1.0, 4.0])
    jnp.sqrt(x), jnp.sqrt(x)
    with debug_nans(True), pytest.raises(FloatingPointError, match="sqrt"):
        jnp.sqrt(x)


def test_tracing_takes_the_long_way(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((quick_index, "_basic"), (divide, "_value"), (creation, "_repeated")):
        monkeypatch.setattr(module, name, _refuse)
    x = np.arange(4, dtype=np.float32)
    names = {str(e.primitive) for e in nj.make_jaxpr(_everything)(x).eqns}
    assert {"slice", "scatter", "rem", "broadcast_in_dim"} <= names
    assert nj.vmap(_everything)(np.stack([x, x])).shape == (2,)
    assert nj.grad(_everything)(x).shape == (4,)


def test_constants_under_a_trace_are_part_of_the_program() -> None:
    x = jnp.arange(3.0)
    assert "slice" in str(nj.make_jaxpr(lambda: x[1:])())
    assert "scatter" in str(nj.make_jaxpr(lambda: x.at[0].set(1.0))())


def test_deleted_arrays_are_refused() -> None:
    for use in (lambda x: x[0], lambda x: x.at[0].set(1.0), lambda x: x // 2.0, jnp.sin):
        x = jnp.arange(3.0)
        use(x)
        x.delete()
        with pytest.raises(RuntimeError, match="deleted"):
            use(x)


def test_warnings_of_numpy_come_back_after_an_operation() -> None:
    before = np.geterr()
    assert np.isinf(jnp.asarray(1.0) / jnp.zeros(3)).all() and np.geterr() == before
    with pytest.raises(TypeError):
        lax.sin(jnp.arange(3))
    assert np.geterr() == before
    with np.errstate(divide="raise"):
        jnp.divide(jnp.ones(3), jnp.zeros(3))
        with pytest.raises(FloatingPointError):
            np.divide(np.ones(3), np.zeros(3))


def test_threads_do_not_see_each_others_error_state() -> None:
    found: list[Any] = []

    def work() -> None:
        for _ in range(50):
            jnp.log(jnp.zeros(3))[0]
        found.append(np.geterr())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == [np.geterr()] * 4


def test_what_is_kept_depends_on_the_width_of_numbers() -> None:
    x = jnp.asarray(np.arange(3, dtype=np.int32))
    assert jnp.argmax(x).dtype == np.int32 and jnp.zeros(2).dtype == np.float32
    with enable_x64(True):
        assert jnp.argmax(x).dtype == np.int64 and jnp.zeros(2).dtype == np.float64
    assert not config.x64 and jnp.argmax(x).dtype == np.int32


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("left, right", [
    ((3, 4), (4, 2)), ((1, 4), (4, 1)), ((0, 4), (4, 3)), ((2, 0), (0, 3)), ((4,), (4, 2)), ((3, 4), (4,)), ((2, 3, 4), (4, 2)),
    ((3, 4), (3, 4)), ((), (2, 2)), ((40, 50), (50, 60))], ids=str)
def test_matrix_products(left: tuple[int, ...], right: tuple[int, ...], dtype: str) -> None:
    agree(operator.matmul, values(left, dtype), values(right, dtype))


def test_matrix_products_of_other_operands() -> None:
    x = values((2, 2), "float32")
    agree(operator.matmul, x, values((2, 2), "int32"))
    agree(operator.matmul, x, np.eye(2, dtype=np.float32))
    agree(operator.matmul, np.eye(2, dtype=np.float32), x)
    agree(operator.matmul, x, jnp.broadcast_to(2.0, (2, 2)))
    agree(operator.matmul, x, 2.0)
    assert nj.make_jaxpr(operator.matmul)(x, x).eqns[0].primitive.name == "dot_general"
    with debug_nans(True), pytest.raises(FloatingPointError):
        _ = (x * float("inf")) @ x
    gone = x + 0
    gone.delete()
    for args in ((gone, x), (x, gone)):
        with pytest.raises(RuntimeError, match="deleted"):
            operator.matmul(*args)
    with enable_x64(True):
        wide = jnp.asarray(np.arange(4.0).reshape(2, 2))
        assert (wide @ wide).dtype == np.float64 and (wide @ wide).tolist() == [[2.0, 3.0], [6.0, 11.0]]


def test_functions_and_programs_among_parameters_are_not_kept() -> None:
    op: Any = SimpleNamespace(abstract=object(), compiled=False, programs=False, effects=None, collective=None, multiple=False)
    kept = lambda: any(key[0] is op.abstract for key in eager._known)
    for value in (lambda: 0, nj.make_jaxpr(jnp.sin)(1.0), np.zeros(2)):
        eager._remember(op, [], {"value": value}, [], None)
        assert not kept()
    eager._remember(op, [], {"value": [1]}, [], None)   # under a copy of what the list holds now
    assert kept()


@pytest.mark.parametrize("limit", [1, 3])
def test_full_caches_start_again(limit: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(eager, "_KEPT", limit)
    for n in range(6):
        assert (jnp.sin(jnp.zeros(n)) + n).shape == (n,) and jnp.add(jnp.zeros(n), 0.5 + n).tolist() == [0.5 + n] * n
    assert len(eager._known) <= limit and len(eager._scalars) <= limit


def test_equal_parameters_of_other_types_are_told_apart() -> None:
    assert len({_native.exact_items({"y": y}) for y in (1, True, 1.0, np.int32(1))}) == 4
    assert _native.exact_items({"x": 1, "y": 2}) != _native.exact_items({"y": 1, "x": 2})
