"""Native operators of Array: which cases have a native path, its results, and the hooks behind it."""
from __future__ import annotations

import operator
import threading

import ml_dtypes
import numpy as np
import pytest

from numjet import _native

BINARY = ["add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and_", "or_", "xor", "lshift", "rshift"]
COMPARE = ["lt", "le", "eq", "ne", "gt", "ge"]
FAST = ["add", "sub", "mul", *COMPARE]
FLOATS, INTEGERS = ["float32", "float64"], ["int32", "int64"]


class Hooked(Exception):
    """Raised by the hook `name`, to tell that it was called with these arguments."""


@pytest.fixture
def all_hooked():
    def raising(name):
        def hook(*args):
            raise Hooked(name, *args)

        return hook

    for name in _native.hook_names():
        if name != "aval":
            _native.set_hook(name, raising(name))


def hook_of(name: str) -> str:
    return f"__{name.strip('_')}__"


def data(dtype: str, seed: int = 0) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if dtype in FLOATS:
        return np.array([*rng.normal(size=5), np.nan, np.inf, -0.0, 0.0, 3.0], dtype)
    return np.array([*rng.integers(-9, 9, 6), np.iinfo(dtype).max, np.iinfo(dtype).min, 0, 3], dtype)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("name", [*FAST, "truediv"])
def test_arrays_of_one_aval(name, dtype, array, all_hooked):
    a, b, op = data(dtype), data(dtype, 1), getattr(operator, name)
    x, y = array(a), array(b)
    if name == "truediv" and dtype in INTEGERS:
        with pytest.raises(Hooked):
            op(x, y)
        return
    out, expected = op(x, y), op(a, b)
    assert out.dtype == expected.dtype and not out.weak_type
    np.testing.assert_array_equal(out._value, expected)
    assert name in COMPARE or out.aval is x.aval


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
@pytest.mark.parametrize("name", [*FAST, "truediv"])
@pytest.mark.parametrize("number", [2, -3, 0, 2.5, float("nan"), 1e300])
def test_array_and_python_number(name, number, dtype, array, all_hooked):
    a, op = data(dtype), getattr(operator, name)
    x = array(a)
    if dtype in INTEGERS and (isinstance(number, float) or name == "truediv"):
        for call in (lambda: op(x, number), lambda: op(number, x)):
            with pytest.raises(Hooked):
                call()
        return
    converted = np.array(number).astype(dtype)
    for out, expected in [(op(x, number), op(a, converted)), (op(number, x), op(converted, a))]:
        assert out.dtype == expected.dtype and not out.weak_type
        np.testing.assert_array_equal(out._value, expected)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", FLOATS + INTEGERS)
def test_negative(dtype, array, all_hooked):
    a = data(dtype)
    np.testing.assert_array_equal((-array(a))._value, -a)
    assert np.signbit((-array([0.0, -0.0], "float32"))._value).tolist() == [True, False]


@pytest.mark.parametrize("shape", [(), (0,), (1,), (3, 0), (2, 3), (32768,)])
def test_shapes(shape, array, all_hooked):
    x = array(np.ones(shape, np.float32))
    for out in (x + x, x * 2, 2 * x):
        np.testing.assert_array_equal(out._value, np.full(shape, 2, np.float32))
    assert (x < 2).shape == shape and (x < 2).dtype == bool


@pytest.mark.parametrize("name", ["add", "sub", "mul", "truediv", "lt", "eq"])
def test_cases_left_to_the_hook(name, array, all_hooked):
    op = getattr(operator, name)
    x = array([1.0, 2.0], "float32")
    big = array(np.ones(32769, np.float32))
    others = [array([1.0, 2.0], "float64"), array(1.0, "float32"), array([1.0, 2.0], "float32", weak_type=True),
              array([1.0, 2.0], "float32", device=object()), np.float32(2), np.ones(2), True, 2**31, 1j, "text", None]
    for other in others:
        with pytest.raises(Hooked) as caught:
            op(x, other)
        assert caught.value.args == (hook_of(name), x, other) or caught.value.args[1] is x
    for a in (big, array([1.0], "float32", weak_type=True), array([1.0], "float16"), array([1], "int8"),
              array([True]), array([1.0], ml_dtypes.bfloat16)):
        with pytest.raises(Hooked):
            op(a, a)
    deleted = array([1.0, 2.0], "float32")
    deleted.delete()
    with pytest.raises(Hooked):
        op(x, deleted)


def test_committed_results(array):
    x, y = array([1.0], "float32"), array([1.0], "float32", committed=True)
    assert [(x + x).committed, (x + y).committed, (y + x).committed, (y * 2).committed, (-y).committed] == [
        False, True, True, True, True]


def test_sharding_is_handed_on(array, all_hooked):
    x, y = array([1.0], "float32"), array([1.0], "float32")
    x._sharding = where = object()
    assert (x * 2)._sharding is where and (-x)._sharding is where
    with pytest.raises(Hooked):
        x + y


@pytest.mark.parametrize("name", BINARY + COMPARE + ["divmod"])
def test_every_binary_operator_has_a_hook(name, array, all_hooked):
    op = divmod if name == "divmod" else getattr(operator, name)
    x, other = array([1], "int8"), object()
    with pytest.raises(Hooked) as caught:
        op(x, other)
    assert caught.value.args == (hook_of(name), x, other) or caught.value.args[:1] == (hook_of(name),)
    assert caught.value.args[1] is x and caught.value.args[2] is other
    with pytest.raises(Hooked) as caught:
        op(other, x)
    mirrored = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
    assert caught.value.args[0] == hook_of(mirrored.get(name, "r" + name.strip("_")))
    assert caught.value.args[1] is x and caught.value.args[2] is other


def test_operators_without_hooks_are_not_implemented(array):
    x = array([1], "int8")
    for name in BINARY:
        with pytest.raises(TypeError, match="unsupported operand"):
            getattr(operator, name)(x, object())
    with pytest.raises(TypeError, match="not supported between"):
        operator.lt(x, object())
    assert (x == object()) is False
    with pytest.raises(TypeError, match="have no __abs__"):
        abs(x)
    with pytest.raises(TypeError, match="have no __getitem__"):
        x["no basic index"]
    assert repr(x) == "<numjet.Array int8[1]>" and str(x) == repr(x)


def test_not_implemented_from_a_hook_gives_the_other_side_a_chance(array):
    class Other:
        def __radd__(self, left):
            return "reflected", left

    _native.set_hook("__add__", lambda a, b: NotImplemented)
    x = array([1.0])
    assert (x + Other())[0] == "reflected"
    with pytest.raises(TypeError, match="unsupported operand"):
        x + "text"


def test_numpy_operands_leave_the_work_to_ours(array, all_hooked):
    x = array([1.0, 2.0], "float32")
    for left in (np.ones(2, np.float32), np.float32(1)):
        for name in ("add", "truediv", "matmul"):
            with pytest.raises(Hooked) as caught:
                getattr(operator, name)(left, x)
            assert caught.value.args[0] == f"__r{name}__" and caught.value.args[1] is x


def test_other_slots(array):
    x = array([1.0, 2.0])
    uses = {"__pos__": operator.pos, "__abs__": abs, "__invert__": operator.invert}
    uses |= {"__round__": round, "__repr__": repr, "__str__": str}
    for hook, use in uses.items():
        _native.set_hook(hook, lambda a, *rest: f"seen {len(rest)}")
        assert use(x) == "seen 0"
    assert round(x, 2) == "seen 1"
    _native.set_hook("__neg__", lambda a: "negative")
    assert -array([True]) == "negative"
    _native.set_hook("__getitem__", lambda a, index: (a, index))
    assert x["no basic index"][1] == "no basic index"
    assert x[1:].shape == (1,)   # which needs no hook
    _native.set_hook("__iter__", lambda a: iter([7, 8]))
    assert list(x) == [7, 8]

    def immutable(a, index, value):
        raise TypeError(f"immutable {index} {value}")

    _native.set_hook("__setitem__", immutable)
    with pytest.raises(TypeError, match="immutable 0 5"):
        x[0] = 5
    with pytest.raises(TypeError, match="cannot be deleted"):
        del x[0]
    with pytest.raises(TypeError, match="no third argument"):
        pow(x, 2, 3)


def test_set_hook_checks_its_arguments():
    with pytest.raises(ValueError, match="no hook named nothing"):
        _native.set_hook("nothing", print)
    with pytest.raises(TypeError, match="expected a function"):
        _native.set_hook("__add__", 3)
    assert _native.set_hook("__add__", max) is None
    assert _native.set_hook("__add__", None) is max


def test_comparisons_ask_for_the_bool_aval_once(array, aval):
    asked = []

    def hook(shape, dtype, weak):
        asked.append((shape, dtype, weak))
        return aval(shape, dtype, weak)

    _native.set_hook("aval", hook)
    x = array(np.ones(123, np.float32))
    for _ in range(3):
        assert (x < x).aval is aval((123,), "bool")
    assert asked == [((123,), np.dtype(bool), False)]


def test_comparisons_check_the_bool_aval(array, aval):
    _native.set_hook("aval", lambda shape, dtype, weak: aval((1,), dtype, weak))
    with pytest.raises(TypeError, match="expected a bool aval"):
        operator.lt(array(np.ones(124, np.float32)), 1)

    def broken(shape, dtype, weak):
        raise Hooked("aval")

    _native.set_hook("aval", broken)
    with pytest.raises(Hooked):
        operator.lt(array(np.ones(125, np.float32)), 1)


def test_no_native_path_while_tracing_or_switched_off(array, all_hooked):
    x = array([1.0], "float32")
    trace = object()
    with _native.Scope(_native.thread, "trace", trace):
        assert _native.current_trace() is trace
        for use in (lambda: x + x, lambda: -x, lambda: x < x):
            with pytest.raises(Hooked):
                use()
    assert (x + x).tolist() == [2.0]
    _native.set_config_reader(lambda: (0, False))
    for _ in range(2):
        with pytest.raises(Hooked):
            x + x
    _native.set_config_reader(None)
    assert (x + x).tolist() == [2.0]


def test_trace_state_belongs_to_the_thread():
    before, default, mine, seen = _native.current_trace(), object(), object(), []
    _native.set_eval_trace(default)
    with _native.Scope(_native.thread, "trace", mine):
        thread = threading.Thread(target=lambda: seen.append(_native.current_trace()))
        thread.start()
        thread.join()
        assert seen == [default]
        assert _native.current_trace() is mine
    assert _native.current_trace() is before


def test_the_configuration_is_read_once_per_thread_and_change(array):
    x, read = array([1.0], "float32"), []
    _native.set_config_reader(lambda: (read.append(threading.get_ident()), (7, True))[1])

    def use():
        assert (x + x).tolist() == (x - -x).tolist() == [2.0]
        return threading.get_ident()

    def elsewhere():
        found = []
        thread = threading.Thread(target=lambda: found.append(use()))
        thread.start()
        thread.join()
        return found[0]

    here = use()
    use()
    assert read == [here]
    _native.config_changed()
    use()
    assert read == [here, here]
    there = elsewhere()
    assert read == [here, here, there]
    _native.config_changed_here()
    use()
    assert read == [here, here, there, here]


@pytest.mark.parametrize("answer", [None, 3, (1,), ("a", True), (-1, True), (1 << 64, True)])
def test_a_reader_that_answers_nonsense_is_told(array, answer):
    x = array([1.0], "float32")
    _native.set_config_reader(lambda: answer)
    for use in (lambda: x + x, lambda: -x, lambda: x < x, lambda: x @ x):
        with pytest.raises((TypeError, OverflowError)):
            use()


def test_a_reader_that_raises_is_heard_and_asked_again(array):
    x, errors = array([1.0], "float32"), [KeyboardInterrupt, ZeroDivisionError]

    def reader():
        if errors:
            raise errors.pop()
        return 0, True

    _native.set_config_reader(reader)
    for expected in (ZeroDivisionError, KeyboardInterrupt):
        with pytest.raises(expected):
            x + x
    assert (x + x).tolist() == [2.0]


def test_a_change_while_the_configuration_is_read_is_read_again(array):
    x, read = array([1.0], "float32"), []

    def reader():
        if len(read) < 3:
            _native.config_changed()
        read.append(None)
        return 0, True

    _native.set_config_reader(reader)
    assert (x + x).tolist() == [2.0]
    assert len(read) == 4
