"""JitFunction and Entry: what makes calls share a program, and how results are put together."""
from __future__ import annotations

import copy
import enum
import gc
import pickle
import weakref
from collections import namedtuple

import ml_dtypes
import numpy as np
import pytest

from numjet import _native

Point = namedtuple("Point", "x y")


class Recorder:
    """A slow path that notes its calls, and gives an entry that forwards all leaves as they are."""

    def __init__(self, aval):
        self.aval, self.calls, self.static = aval, [], ()

    def __call__(self, args, kwargs):
        self.calls.append((args, kwargs))
        dynamic = tuple(a for k, a in enumerate(args) if k not in self.static)
        leaves, treedef = _native.pytree_flatten((dynamic, {k: v for k, v in kwargs.items() if k not in self.static}))
        avals = tuple(self.aval_of(leaf) for leaf in leaves)
        plan = tuple(("in", k) for k in range(len(leaves)))
        return "traced", _native.Entry(None, (), (False,) * len(leaves), avals, treedef, plan, "device")

    def aval_of(self, leaf):
        if isinstance(leaf, _native.Array):
            return leaf.aval
        dtype = {bool: "bool", int: "int32", float: "float32", complex: "complex64"}.get(type(leaf)) or leaf.dtype
        narrow = {"float64": "float32", "int64": "int32"}
        return self.aval(np.shape(leaf), narrow.get(np.dtype(dtype).name, np.dtype(dtype).newbyteorder("=")))


@pytest.fixture
def recorder(aval):
    return Recorder(aval)


def jit(slow_path, argnums=(), argnames=()):
    return _native.JitFunction(slow_path, tuple(argnums), tuple(argnames), "f")


def misses(f, recorder, *calls) -> list[int]:
    """For each call (args, kwargs) how many slow calls there were after it."""
    counts = []
    for args, kwargs in calls:
        f(*args, **kwargs)
        counts.append(len(recorder.calls))
    return counts


def positional(*args):
    return args, {}


def test_second_call_does_not_ask_the_slow_path(recorder, array):
    f, x = jit(recorder), array([1.0, 2.0], "float32")
    assert f(x) == "traced" and f.cache_size() == 1
    ((out,), kwargs) = f(x)
    assert kwargs == {} and out.tolist() == [1.0, 2.0] and out is not x
    assert len(recorder.calls) == 1 and recorder.calls[0][0][0] is x
    f.clear_cache()
    assert f.cache_size() == 0 and f(x) == "traced"


def test_what_arrays_share_a_program(recorder, array):
    f = jit(recorder)
    calls = [array([1.0], "float32"), array([2.0], "float32"), array([1.0], "float64"), array([[1.0]], "float32"),
             array([1.0], "float32", weak_type=True), array([1.0], "float32", committed=True),
             array([1.0], "float32", device="other"), array([1.0], "float32")]
    sharded = array([1.0], "float32")
    sharded._sharding = object()
    assert misses(f, recorder, *map(positional, [*calls, sharded])) == [1, 1, 2, 3, 4, 5, 6, 6, 7]


def test_what_other_leaves_share_a_program(recorder):
    f = jit(recorder)
    same = [(1, 2), (1.0, 2.5), (True, False), (1j, 2j), (np.float32(1), np.array(2, np.float32)),
            (np.zeros(3), np.ones(3)), (np.zeros((2, 3), np.int8), np.ones((3, 2), np.int8).T),
            (np.bool_(True), np.bool_(False)), (ml_dtypes.bfloat16(1), np.zeros((), ml_dtypes.bfloat16)),
            (np.zeros(3, ">f4"), np.ones(3, ">f4")), (np.zeros((3, 1), np.int8), np.zeros((3, 1), np.int8))]
    for number, pair in enumerate(same, 1):
        assert misses(f, recorder, *map(positional, pair)) == [number, number]
    assert f.cache_size() == len(same)


def test_structure_counts(recorder, array):
    x = array([1.0], "float32")
    trees = [(x, x), [x, x], {"a": x}, {"b": x}, Point(x, x), None, {}, (), [[x], [x]], [[x, x], []], {"a": (x, None)}]
    different = [positional(), positional(x), positional(x, x), positional((x,), x), positional(x, None)]
    different += [((), {"a": x}), ((), {"b": x}), ((x,), {"a": x}), ((), {"a": x, "b": x}), *map(positional, trees)]
    f = jit(recorder)
    assert misses(f, recorder, *different) == list(range(1, len(different) + 1))
    assert misses(f, recorder, *different) == [len(different)] * len(different)


def test_keyword_order_does_not_count(recorder, array):
    f, x, y = jit(recorder), array([1.0], "float32"), array([2.0, 3.0], "float32")
    assert misses(f, recorder, ((), {"b": y, "a": x}), ((), {"a": x, "b": y})) == [1, 1]
    ((), kwargs) = f(b=y, a=x)
    assert kwargs["a"].tolist() == [1.0] and kwargs["b"].tolist() == [2.0, 3.0]
    assert f(**{"".join(["a", ""]): x, "b": y})[1]["b"].tolist() == [2.0, 3.0]


def test_static_arguments(recorder, array):
    recorder.static = (1, -1, "mode")
    x = array([1.0], "float32")
    f = jit(recorder, (1,), ("mode",))
    calls = [positional(x, 1), positional(x, 1), positional(x, 2), positional(x, 1.0), positional(x, True),
             positional(x, "one"), positional(x, (1, 2)), positional(x, (1, 2)), ((x, 1), {"mode": "a"}),
             ((x, 1), {"mode": "a"}), ((x, 1), {"mode": "b"}), ((x,), {"mode": "a"}), positional(x, x.shape)]
    assert misses(f, recorder, *calls) == [1, 1, 2, 3, 4, 5, 6, 6, 7, 7, 8, 9, 10]


def test_negative_static_argnums_count_from_the_end(recorder, array):
    x, f = array([1.0], "float32"), jit(recorder, (-1,))
    recorder.static = (1,)
    assert misses(f, recorder, positional(x, "a"), positional(x, "b"), positional(x, "a")) == [1, 2, 2]


class Same:
    """Equal to all of its kind."""

    def __init__(self, log):
        self.log = log

    def __hash__(self):
        return 7

    def __eq__(self, other):
        self.log.append("eq")
        return isinstance(other, Same)


def test_static_values_are_compared_by_equality(recorder):
    log, f = [], jit(recorder, (0,))
    recorder.static = (0,)
    one = Same(log)
    assert misses(f, recorder, positional(one), positional(one)) == [1, 1] and not log
    assert misses(f, recorder, positional(Same(log))) == [1] and log == ["eq"]


def test_equality_that_clears_the_cache(recorder):
    f = jit(recorder, (0,))
    recorder.static = (0,)

    class Nasty:
        def __init__(self, answer):
            self.answer = answer

        def __hash__(self):
            return 7

        def __eq__(self, other):
            f.clear_cache()
            gc.collect()
            return self.answer

    for answer in (False, True):
        f.clear_cache()
        f(Nasty(answer))
        f(Nasty(answer))
    assert f.cache_size() <= 1


def test_equality_that_raises_goes_to_the_slow_path(recorder):
    class Bad:
        def __hash__(self):
            return 7

        def __eq__(self, other):
            raise ZeroDivisionError

    f = jit(recorder, (0,))
    recorder.static = (0,)
    f(Bad())
    f(Bad())
    assert len(recorder.calls) == 2 and f.cache_size() == 1


def test_calls_for_the_slow_path_only(recorder, array):
    class Number(enum.IntEnum):
        ONE = 1

    class Unknown:
        dtype, shape = np.dtype("float32"), ()

    def slow(args, kwargs):
        return "slow", recorder(args, kwargs)[1] if keep else None

    recorder.static, keep = (1,), False
    f = jit(slow, (1,))
    leaves = [Number.ONE, Unknown(), np.array(["text"]), np.array([object()]), np.zeros(2, "f4,i4"), "text",
              np.zeros(2, "M8[s]"), np.zeros(2).view(type("Subclass", (np.ndarray,), {}))]
    for leaf in leaves:
        assert f(leaf, 1) == "slow" and f([leaf], 1) == "slow"
    x = array([1.0], "float32")
    assert f(x, [1]) == "slow"  # does not hash
    assert f(x, 1) == "slow" and f.cache_size() == 0
    keep = True
    assert f(x, [1]) == "slow" and f.cache_size() == 0
    assert f(x, 1) == "slow" and f.cache_size() == 1


def test_a_tree_that_does_not_flatten_is_for_the_slow_path():
    class Broken:
        pass

    def flatten(tree):
        raise ZeroDivisionError

    _native.pytree_register_node(Broken, flatten, lambda aux, children: None, None)
    assert jit(lambda args, kwargs: ("slow", None))(Broken()) == "slow"


def test_slow_path_while_tracing_and_when_switched_off(recorder, array):
    f, x = jit(recorder), array([1.0], "float32")
    f(x)
    with _native.Scope(_native.thread, "trace", object()):
        assert f(x) == "traced"
    _native.set_config_reader(lambda: (0, False))
    assert f(x) == "traced"
    _native.set_config_reader(None)
    assert f(x)[0][0].tolist() == [1.0] and len(recorder.calls) == 3


def test_the_configuration_is_part_of_the_key(recorder, array):
    f, x = jit(recorder), array([1.0], "float32")
    for serial in (0, 1, 0, 1):
        _native.set_config_reader(lambda serial=serial: (serial, True))
        f(x)
    assert len(recorder.calls) == 2


@pytest.mark.parametrize("back", [False, True])
def test_what_was_traced_while_the_configuration_changed_is_not_kept(recorder, array, back):
    serial = [1]
    _native.set_config_reader(lambda: (serial[0], True))

    def changing(args, kwargs):
        if not recorder.calls:
            for serial[0] in (2, 1)[:1 + back]:
                _native.config_changed()
        return recorder(args, kwargs)

    f, x = jit(changing), array([1.0], "float32")
    f(x)
    assert f.cache_size() == 0
    f(x)
    f(x)
    assert f.cache_size() == 1 and len(recorder.calls) == 2


def test_errors_of_the_slow_path(array):
    def broken(args, kwargs):
        raise ZeroDivisionError("from the slow path")

    with pytest.raises(ZeroDivisionError, match="from the slow path"):
        jit(broken)(1)
    for answer in (None, 3, (1,), (1, 2, 3), [1, None]):
        with pytest.raises(TypeError, match=r"must return \(result, Entry or None\)"):
            jit(lambda args, kwargs, answer=answer: answer)(1)
    with pytest.raises(TypeError, match="must return an Entry or None, got 3"):
        jit(lambda args, kwargs: (1, 3))(1)


def test_an_entry_has_to_fit_its_call(aval, array):
    def entry(avals):
        return _native.Entry(None, (), (False,) * len(avals), avals, None, (("const", 0),))

    x = array([1.0], "float32")
    with pytest.raises(TypeError, match="in_avals has 2 avals for a call with 1 dynamic leaves"):
        jit(lambda args, kwargs: (0, entry((x.aval, x.aval))))(x)
    with pytest.raises(TypeError, match=r"in_avals\[0\] is float32\[2\] for an argument of float32\[1\]"):
        jit(lambda args, kwargs: (0, entry((aval((2,), "float32"),))))(x)


@pytest.fixture
def compiled(executable, aval):
    """jit of a program on its first two leaves, with a given result."""

    def make(program, n_leaves, kept, treedef=None, plan=(("out", 0),), donated=(), **kwargs):
        vector = aval((4,), "float32")

        def slow(args, kw):
            avals = (vector,) * n_leaves
            mask = tuple(k in donated for k in range(n_leaves))
            return None, _native.Entry(executable(program, **kwargs), kept, mask, avals, treedef, plan)

        return jit(slow)

    return make


def test_runs_the_executable_on_the_kept_leaves(compiled, array):
    f = compiled("add", 3, (2, 0))
    x, y, unused = (array(np.full(4, k), "float32") for k in (1, 20, 300))
    f(x, unused, y)
    assert f(x, unused, y).tolist() == [21.0] * 4


def treedef_of(tree):
    return _native.pytree_flatten(tree)[1]


@pytest.mark.parametrize("tree", [0, (0,), (0, 0), [0, 0], {"a": 0, "b": (0, None)}, Point(0, 0), ((0, 0),), (), None])
def test_result_structures(tree, compiled, array):
    treedef, x = treedef_of(tree), array(np.ones(4), "float32")
    f = compiled("add_one", 1, (0,), treedef, (("out", 0),) * treedef.num_leaves)
    f(x)
    result = f(x)
    leaves, got = _native.pytree_flatten(result)
    assert got == treedef and type(result) is (_native.Array if tree == 0 else type(tree))
    assert [leaf.tolist() for leaf in leaves] == [[2.0] * 4] * len(leaves)
    assert len({id(leaf) for leaf in leaves}) == len(leaves)


def test_outputs_inputs_and_constants(compiled, array):
    constant, other = array([7.0]), object()
    plan = (("in", 1), ("out", 0), ("const", constant), ("const", other), ("in", 0), ("out", 0))
    f = compiled("add_one", 2, (0,), treedef_of([0] * 6), plan)
    x, y = array(np.ones(4), "float32"), array(np.zeros(4), "float32", committed=True)
    f(x, y)
    results = f(x, y)
    assert [r.tolist() for r in results[:3]] == [[0.0] * 4, [2.0] * 4, [7.0]]
    assert results[3] is other and results[4].tolist() == [1.0] * 4 and results[5].tolist() == [2.0] * 4
    assert [r.committed for r in (results[0], results[1], results[4])] == [True, True, False]
    for result in (*results[:3], *results[4:]):
        result.delete()
    again = f(x, y)
    assert [r.tolist() for r in again[:3]] == [[0.0] * 4, [2.0] * 4, [7.0]]


def test_leaves_are_converted(recorder, array):
    f = jit(recorder)
    data = np.arange(6.0).reshape(2, 3)
    args = (True, 3, 2.5, 1j, np.float64(0.5), np.int8(7), data, data.T, np.arange(3, dtype=">i2"))
    f(*args)
    outs = f(*args)[0]
    expected = "bool int32 float32 complex64 float32 int8 float32 float32 int16"
    assert [str(o.dtype) for o in outs] == expected.split()
    for out, arg in zip(outs, args, strict=True):
        np.testing.assert_array_equal(out._value, arg)
    assert outs[0].device == "device" and not outs[0].committed
    data[:] = -1
    np.testing.assert_array_equal(outs[6]._value, np.arange(6.0).reshape(2, 3))


def test_conversion_feeds_the_executable(compiled, array):
    f = compiled("add", 2, (0, 1))
    x = array(np.ones(4), "float32")
    f(x, np.ones(4))
    assert f(x, np.full(4, 2.5)).tolist() == [3.5] * 4


def test_an_int_that_does_not_fit_goes_to_the_slow_path(recorder):
    f = jit(recorder)
    f(1)
    calls = len(recorder.calls)
    f(3_000_000_000)
    assert len(recorder.calls) == calls + 1
    assert f(2)[0][0].tolist() == 2 and len(recorder.calls) == calls + 1


def test_donation(compiled, aval, device):
    f = compiled("add_one", 2, (0,), treedef_of((0, 0)), (("out", 0), ("in", 1)), donated=(0,), aliases=((0, 0),))
    x, y = (_native.to_array(np.zeros(4, np.float32), aval((4,), "float32"), device) for _ in range(2))
    f(x, y)
    address = x.unsafe_buffer_pointer()
    out, forwarded = f(x, y)
    assert x.is_deleted() and not y.is_deleted() and out.unsafe_buffer_pointer() == address
    assert out.tolist() == [1.0] * 4 and forwarded.tolist() == [0.0] * 4
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[4\]"):
        f(x, y)


def test_a_donated_input_that_is_also_a_result_survives_there(compiled, aval, device):
    f = compiled("add_one", 1, (0,), treedef_of((0, 0)), (("out", 0), ("in", 0)), donated=(0,), aliases=((0, 0),))
    vector = aval((4,), "float32")
    f(_native.to_array(np.zeros(4), vector, device))
    x = _native.to_array(np.zeros(4), vector, device)
    out, forwarded = f(x)
    assert x.is_deleted() and out.tolist() == [1.0] * 4 and forwarded.tolist() == [0.0] * 4


def test_errors_of_the_program_arise(compiled, array):
    f = compiled("fail", 1, (0,), on_error=lambda status, info: FloatingPointError(status))
    x = array(np.ones(4), "float32")
    f(x)
    with pytest.raises(FloatingPointError, match="3"):
        f(x)


def test_entry_checks(executable, aval):
    v, program = aval((4,), "float32"), executable("add_one")
    good = {"executable": program, "kept": (0,), "donated": (False,), "in_avals": (v,), "out_treedef": None,
            "out_plan": (("out", 0),)}
    entry = _native.Entry(**good)
    assert entry.executable is program and entry.out_treedef is None
    cases = [
        ({"kept": (1,)}, IndexError, "kept leaf 1 is not below 1"),
        ({"kept": (-1,)}, IndexError, "kept leaf -1"),
        ({"kept": ()}, ValueError, "0 leaves are kept for an executable of 1 inputs"),
        ({"donated": ()}, ValueError, "donated has 0 flags for 1 leaves"),
        ({"in_avals": (aval((5,), "float32"),)}, TypeError, r"input 0 of add_one is .*\[4\], but leaf 0 is .*\[5\]"),
        ({"out_plan": (("out", 1),)}, IndexError, "output 1 is not below 1"),
        ({"out_plan": (("in", 1),)}, IndexError, "input leaf 1 is not below 1"),
        ({"out_plan": (("other", 1),)}, ValueError, "out_plan items are"),
        ({"out_plan": (3,)}, TypeError, "out_plan items are"),
        ({"out_plan": ()}, ValueError, "stands for one leaf"),
        ({"out_treedef": 3}, TypeError, "expected a treedef"),
        ({"out_treedef": treedef_of((0, 0))}, ValueError, "2 leaves, out_plan 1"),
        ({"executable": None}, ValueError, "1 leaves are kept for an executable of 0 inputs"),
        ({"executable": 3}, TypeError, "expected an Executable"),
    ]
    for change, error, message in cases:
        with pytest.raises(error, match=message):
            _native.Entry(**{**good, **change})


def test_constructor_checks():
    with pytest.raises(TypeError, match="slow_path must be callable"):
        jit(3)
    with pytest.raises(TypeError, match="must be strings, got 1"):
        jit(print, (), (1,))
    with pytest.raises(TypeError):
        jit(print, ("a",))
    with pytest.raises(TypeError):
        _native.JitFunction(print, [1], (), "f")


class Model:
    method = jit(lambda args, kwargs: (args, None))
    method.__doc__ = "A method."


def module_function(x):
    return x


module_function = jit(module_function)
module_function.__module__, module_function.__qualname__ = __name__, "module_function"


def test_behaves_like_a_function():
    model = Model()
    assert model.method(1) == (model, 1) and Model.method(2) == (2,)
    bound = model.method
    assert bound.__self__ is model and bound(3) == (model, 3)
    assert Model.method.__doc__ == "A method." and repr(Model.method).startswith("<PjitFunction")
    f = jit(print)
    f.__wrapped__, f.__name__, f.anything = print, "name", 5
    assert f.__wrapped__ is print and f.__name__ == "name" and f.anything == 5 and vars(f)["anything"] == 5
    assert weakref.ref(f)() is f and copy.copy(f) is f and copy.deepcopy(f) is f and hash(f) == hash(f) and callable(f)
    with pytest.raises(AttributeError):
        _ = f.nothing
    _native.JitFunction.extra = lambda self: ("extra", self)
    try:
        assert f.extra() == ("extra", f)
    finally:
        del _native.JitFunction.extra


def test_pickles_by_name():
    with pytest.raises(AttributeError, match="__qualname__"):
        pickle.dumps(jit(print))
    function = Model.method
    function.__module__, function.__qualname__ = "operator", "add"
    assert function.__reduce__() == "add"
    with pytest.raises(pickle.PicklingError, match="not the same object"):
        pickle.dumps(function)


def test_no_leaks(recorder, array):
    class Static:
        pass

    recorder.static = (1,)
    static, x = Static(), array(np.ones(100), "float32")
    ref, f = weakref.ref(static), jit(recorder, (1,))
    f.itself = f  # a cycle through the dict
    f.cycle = [f]
    f(x, static)
    f(x, static)
    recorder.calls.clear()
    function = weakref.ref(f)
    del static, f
    gc.collect()
    assert ref() is None and function() is None


def test_a_function_that_calls_itself(aval, array):
    def slow(args, kwargs):
        if args[0].shape[0] > 1:
            f(array(np.ones(args[0].shape[0] - 1), "float32"))
        return "slow", _native.Entry(None, (), (False,), (args[0].aval,), None, (("in", 0),))

    f = jit(slow)
    f(array(np.ones(5), "float32"))
    assert f.cache_size() == 5


def test_the_cache_is_bounded(recorder, array):
    recorder.static, f, x = (1,), jit(recorder, (1,)), array([1.0], "float32")
    for k in range(4100):
        f(x, k)
    assert 0 < f.cache_size() <= 4096
