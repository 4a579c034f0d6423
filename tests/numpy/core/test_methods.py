"""Operators and methods of arrays and tracers, printing, ufunc objects, vectorize."""
import contextlib
import copy
import operator

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation import dtypes
from tests.numpy.helpers import assert_same, check_grad

X = np.arange(6, dtype=np.float32).reshape(2, 3) - 2
INTS = np.array([-7, 3, 5], np.int32)
BINARY = [operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, divmod, operator.lt,
          operator.le, operator.eq, operator.ne, operator.gt, operator.ge]
BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("op", BINARY, ids=lambda f: f.__name__)
def test_operators(op):
    for other in (np.full((2, 3), 1.5, np.float32), np.float32(2), 3, 2.5):
        for left, right in ((X, other), (other, X)):
            if right is X and op in (operator.floordiv, operator.mod, divmod, operator.truediv):
                right = X + np.float32(2.5)
            want = op(left, right)
            wrap = lambda v: jnp.asarray(v) if isinstance(v, np.ndarray) else v
            assert_same(op(wrap(left), wrap(right)), want, dtype=False)
            assert_same(nj.jit(lambda a: op(a, wrap(right)) if left is X else op(wrap(left), a))(  # noqa: B023
                left if left is X else right), want, dtype=False)


@pytest.mark.parametrize("op", BITS, ids=lambda f: f.__name__)
def test_bit_operators(op):
    assert_same(op(jnp.asarray(INTS), 2), op(INTS, 2))
    assert_same(op(2, jnp.abs(INTS)), op(2, np.abs(INTS)))
    assert_same(nj.jit(lambda a: op(a, 2))(INTS), op(INTS, 2))


def test_unary_operators_and_powers():
    for run in (lambda f: f(jnp.asarray(X)), lambda f: nj.jit(f)(X)):
        assert_same(run(lambda x: -x), -X)
        assert_same(run(lambda x: +x), X)
        assert_same(run(abs), abs(X))
        assert_same(run(lambda x: round(x / 3, 1)), np.round(X / 3, 1))
        assert_same(run(lambda x: x ** 2), X ** 2)
        assert_same(run(lambda x: 2 ** x), 2 ** X)
        assert_same(run(lambda x: x @ x.T), X @ X.T)
    assert_same(~jnp.asarray(INTS), ~INTS)


def test_numpy_arrays_on_the_left():
    out = X + jnp.asarray(X)
    assert isinstance(out, nj.Array) and isinstance(np.float64(2) * jnp.asarray(X), nj.Array)
    assert_same(X * jnp.asarray(X), X * X)


def test_other_classes_get_their_turn():
    class Other:
        def __radd__(self, x):
            return "radd"

        def __eq__(self, x):
            return "eq"
    assert jnp.ones(2) + Other() == "radd" and (jnp.ones(2) == Other()) == "eq"
    assert (jnp.ones(2) == None) is False and (jnp.ones(2) != "a") is True  # noqa: E711
    for wrong in ([1, 2], "a", None):
        with pytest.raises(TypeError, match="unsupported operand"):
            jnp.ones(2) + wrong


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
@pytest.mark.parametrize("other", [[1, 2], (1, 2), {1, 2}, {1: 2}])
def test_containers_are_not_compared_by_identity(wrap, other):
    for symbol, compare in (("==", lambda x: x == other), ("!=", lambda x: x != other)):
        with pytest.raises(TypeError, match=rf"unsupported operand type\(s\) for {symbol}"):
            wrap(compare)(jnp.ones(2))


def test_reversed():
    assert [int(x) for x in reversed(jnp.arange(3))] == [2, 1, 0]
    assert nj.jit(lambda x: list(reversed(x)))(jnp.arange(2)) == [1, 0]
    with pytest.raises(TypeError):
        reversed(jnp.array(3))[0]


def test_arrays_are_immutable():
    x = jnp.zeros(3)
    with pytest.raises(TypeError, match=r"immutable.*\.at\["):
        x[0] = 1
    with pytest.raises(TypeError, match="immutable"):
        nj.jit(lambda a: a.__setitem__(0, 1))(x)
    assert x.at[0].set(5).tolist() == [5, 0, 0] and nj.jit(lambda a: a.at[1].add(2))(x).tolist() == [0, 2, 0]
    with pytest.raises(TypeError, match="unhashable"):
        hash(x)


def test_iteration_and_membership():
    x = jnp.asarray(X)
    assert [r.tolist() for r in x] == X.tolist() and len(x) == 2 and 3 in x[1] and 9 not in x[1]
    assert nj.jit(lambda a: sum(a))(x).tolist() == X.sum(0).tolist()
    for item, array, error in ((1, x, ValueError), (x[0], x[0], ValueError), ("a", x[0], TypeError)):
        with pytest.raises(error, match="__contains__"):
            item in array  # noqa: B015
    with pytest.raises(TypeError, match="0-d"):
        list(jnp.float32(1))


@pytest.mark.parametrize("name, args", [
    ("sum", (1,)), ("prod", (0,)), ("mean", (0,)), ("var", (1,)), ("std", ()), ("max", (1,)), ("min", ()), ("argmax", (1,)),
    ("argmin", ()), ("any", ()), ("all", (0,)), ("ptp", (1,)), ("cumsum", (1,)), ("cumprod", (0,)), ("clip", (-1, 2)),
    ("round", (1,)), ("conj", ()), ("copy", ()), ("reshape", (3, 2)), ("ravel", ()), ("transpose", ()), ("squeeze", ())])
def test_methods(name, args):
    if name == "ptp":
        want = np.ptp(X, *args)
    else:
        want = getattr(X, name)(*args)
    assert_same(getattr(jnp.asarray(X), name)(*args), want)
    assert_same(nj.jit(lambda a: getattr(a, name)(*args))(X), want)


def test_properties_and_conversions():
    x, z = jnp.asarray(X), jnp.asarray(X + 1j * X).astype("complex64")
    assert_same(z.real, X)
    assert_same(z.imag, X)
    assert_same(x.T, X.T)
    assert x.astype(int).dtype == "int32" and x.tobytes() == X.tobytes() and x.item(1) == -1.0
    assert x.to_device(nj.devices()[0]).tolist() == X.tolist() and x.addressable_data(0) is x
    assert x.__array_namespace__() is jnp and x.is_fully_addressable and x.platform() == "cpu"
    assert f"{x[0, 0]:.2f}" == "-2.00" and float(x[1, 2]) == 3 and bool(x[1, 2] > 0)
    with pytest.raises(NotImplementedError, match="ravel"):
        x.flat  # noqa: B018
    with pytest.raises(ValueError, match="API"):
        x.__array_namespace__(api_version="1999")


def test_views():
    x = np.array([[1.5, -2.0]], np.float32)
    for dtype in ("int32", "uint8", "int16", "float32"):
        assert_same(jnp.asarray(x).view(dtype), x.view(dtype))
    assert_same(jnp.asarray(x).view("complex64"), x.view(np.complex64))
    assert_same(jnp.asarray(x.view(np.complex64)).view("float32"), x)
    assert_same(jnp.asarray(x).byteswap().view("uint32"), x.byteswap().view(np.uint32))
    assert_same(nj.jit(lambda a: a.view("int32"))(x), x.view("int32"))
    with pytest.raises(ValueError, match="divisor"):
        jnp.ones(3, "int8").view("int16")


@pytest.mark.parametrize("value, text", [
    (jnp.array([1.0, 2.5]), "Array([1. , 2.5], dtype=float32)"), (jnp.asarray(1.0), "Array(1., dtype=float32, weak_type=True)"),
    (jnp.array([True]), "Array([ True], dtype=bool)"), (jnp.zeros((0, 3)), "Array([], shape=(0, 3), dtype=float32)"),
    (jnp.array([1 + 2j]), "Array([1.+2.j], dtype=complex64)"), (jnp.array(1, "bfloat16"), "Array(1, dtype=bfloat16)"),
    (jnp.arange(6).reshape(2, 3), "Array([[0, 1, 2],\n       [3, 4, 5]], dtype=int32)")])
def test_repr(value, text):
    assert repr(value) == text


@pytest.mark.parametrize("count, text", [
    (20, f"[{'0, ' * 19}0], dtype=int16"), (21, f"[{'0, ' * 20}0],      dtype=int16"),
    (22, f"[{'0, ' * 21}0],      dtype=int16"),
    (23, f"[{'0, ' * 21}0,\n       0], dtype=int16")])
def test_repr_breaks_lines_where_jax_does(count, text):
    assert repr(jnp.zeros(count, "int16")) == f"Array({text})"


def test_repr_of_keys():
    key = jnp.asarray(np.full(2, 7, np.uint32).view(dtypes.key_dtype))
    assert repr(key) == "Array((1,), dtype=key<fry>) overlaying:\n[[7 7]]"
    assert repr(key[0]) == "Array((), dtype=key<fry>) overlaying:\n[7 7]"


def test_printing():
    assert str(jnp.array([1.0, 2.5])) == "[1.  2.5]"
    assert "..." in repr(jnp.arange(2000))
    assert jnp.array_repr(jnp.ones(1) / 3, precision=2) == "Array([0.33], dtype=float32)"
    assert jnp.array_str(jnp.ones(1) / 3, precision=2) == "[0.33]"
    with jnp.printoptions(precision=1):
        assert repr(jnp.ones(1) / 3) == "Array([0.3], dtype=float32)"
    x = jnp.ones(2)
    x.delete()
    with pytest.raises(RuntimeError, match=r"Array has been deleted with shape=float32\[2\]"):
        repr(x)


def shown(transform, *args):
    """What print shows of an argument inside of a transformed function."""
    seen: list[str] = []
    transform(lambda a: (seen.append(repr(a)), check_text(a), a.sum())[2])(*args)
    return seen[0]


def check_text(x):
    assert str(x) == repr(x) == f"{x}"


def test_tracers_show_what_is_known():
    x = jnp.arange(2.0)
    assert shown(nj.jit, 1.0) == "JitTracer(~float32[])" and shown(nj.jit, x) == "JitTracer(float32[2])"
    assert shown(nj.grad, x) == "GradTracer(primal=[0. 1.], typeof(tangent)=f32[2])"
    assert shown(lambda f: lambda a: nj.jvp(f, (a,), (a,)), x) == "JVPTracer(primal=[0. 1.], tangent=[0. 1.])"
    assert shown(nj.vmap, jnp.ones((2, 3))) == "VmapTracer(aval=float32[3], batched=float32[2,3])"
    assert shown(nj.vmap, jnp.full(2, 3)) == "VmapTracer(aval=~int32[], batched=~int32[2])"
    nested = shown(lambda f: nj.vmap(nj.grad(f)), x)
    assert nested == "GradTracer(primal=VmapTracer(aval=float32[], batched=float32[2]), typeof(tangent)=f32[])"


def test_format_of_tracers():
    seen: list[str] = []
    nj.grad(lambda a: (seen.append(f"{a:.3f}"), a)[1])(1.5)
    assert seen == ["1.500"]
    with pytest.raises(TypeError, match=r"format JitTracer\(~float32\[\]\) as '\.3f': .*debug\.print\('\{x:\.3f\}', x=x"):
        nj.jit(lambda a: f"{a:.3f}")(1.5)


def test_copying():
    x = jnp.ones(2)
    for other in (copy.copy(x), copy.deepcopy(x), x.copy()):
        assert other.tolist() == [1, 1]


# ------------------------------------------------------------------------------------------------ ufuncs

@pytest.mark.parametrize("name", "add multiply maximum minimum logaddexp subtract logaddexp2".split())
def test_reduce_and_accumulate(name):
    op, ref = getattr(jnp, name), getattr(np, name)
    for axis in (0, 1):
        assert_same(op.reduce(X, axis=axis), ref.reduce(X, axis=axis), rtol=1e-5)
        assert_same(op.accumulate(X, axis=axis), ref.accumulate(X, axis=axis), rtol=1e-5)
        assert_same(op.reduceat(X, np.array([0, 1, 0]), axis=axis), ref.reduceat(X, [0, 1, 0], axis=axis), rtol=1e-5)
    assert_same(op.outer(X[0], X[1]), ref.outer(X[0], X[1]), rtol=1e-5)
    assert_same(nj.jit(lambda x: op.reduce(x, keepdims=True))(X), ref.reduce(X, keepdims=True), rtol=1e-5)


@pytest.mark.parametrize("name", "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor".split())
def test_reductions_of_bits(name):
    op, ref = getattr(jnp, name), getattr(np, name)
    x = INTS > 0 if "logical" in name else INTS
    assert_same(op.reduce(x), ref.reduce(x))
    assert_same(op.accumulate(x), ref.accumulate(x))
    mask = np.array([True, False, True])
    assert_same(op.reduce(x, where=mask), ref.reduce(x, where=mask))


def test_at():
    places, values = np.array([0, 0, 2]), np.array([1, 2, 3], np.float32)
    for name in ("add", "multiply", "maximum", "minimum", "subtract"):
        want = X[0].copy()
        getattr(np, name).at(want, places, values)
        assert_same(getattr(jnp, name).at(X[0], places, values, inplace=False), want)
    want = X[0].copy()
    np.logaddexp.at(want, places, values)
    assert_same(jnp.logaddexp.at(X[0], places, values, inplace=False), want)
    want = X[0].copy()
    np.negative.at(want, places)
    assert_same(jnp.negative.at(X[0], places, inplace=False), want)
    with pytest.raises(NotImplementedError, match="inplace=False"):
        jnp.add.at(X[0], places, values)


def test_slices_that_start_out_of_bounds():
    """JAX's values: NaN or the least integer; negative indices count from the end and are followed by all rows behind them."""
    x = jnp.arange(4.0)
    for call in (jnp.add.reduceat, nj.jit(jnp.add.reduceat)):
        np.testing.assert_array_equal(call(x, jnp.array([5, 0, 4, 1])), [np.nan, 6, np.nan, 6])
        np.testing.assert_array_equal(call(x, jnp.array([-1, -2])), [3, 8])
        assert call(jnp.arange(4), jnp.array([0, 5])).tolist() == [6, -2 ** 31]
    assert nj.grad(lambda x: jnp.add.reduceat(x, jnp.array([0, 2]))[1])(x).tolist() == [0, 0, 1, 1]


def test_frompyfunc():
    op = jnp.frompyfunc(lambda a, b: 2 * a + b, 2, 1)
    ref = np.frompyfunc(lambda a, b: 2 * a + b, 2, 1)
    assert_same(op(X, 1.0), 2 * X + 1)
    assert_same(op.reduce(X, axis=1), ref.reduce(X, axis=1).astype(np.float32))
    assert_same(op.accumulate(X, axis=1), ref.accumulate(X, axis=1).astype(np.float32))
    want = X[0].copy()
    for k in (0, 0):
        want[k] = 2 * want[k] + 3
    assert_same(op.at(X[0], np.array([0, 0]), 3.0, inplace=False), want)
    assert repr(op) == "<jnp.ufunc '<lambda>'>" and (op.nin, op.nout, op.nargs, op.identity) == (2, 1, 2, None)
    with_one = jnp.frompyfunc(jnp.multiply, 2, 1, identity=1)
    assert with_one.reduce(jnp.zeros(0)).tolist() == 1
    assert with_one.reduce(X[0], where=X[0] < 0).tolist() == 2
    with pytest.raises(ValueError, match="no identity"):
        op.reduce(jnp.zeros(0))
    with pytest.raises(ValueError, match="binary"):
        jnp.negative.reduce(X)
    assert jnp.add.identity == 0 and jnp.bitwise_and.identity == -1 and repr(jnp.add) == "<jnp.ufunc 'add'>"


def test_vectorize():
    rows = np.arange(6, dtype=np.float32).reshape(2, 3)
    assert_same(jnp.vectorize(jnp.sum, signature="(n)->()")(rows), rows.sum(1))
    outer = jnp.vectorize(lambda a, b: a[:, None] * b, signature="(n),(m)->(n,m)")
    assert_same(outer(rows, rows[0]), np.stack([np.outer(r, rows[0]) for r in rows]))
    assert_same(jnp.vectorize(lambda a, b: a + b, excluded={1})(rows, 2), rows + 2)
    assert_same(jnp.vectorize(lambda a, b: a + b)(rows[:, :1], rows[0]), rows[:, :1] + rows[0])
    two = jnp.vectorize(lambda a: (a, 2 * a))(rows)
    assert_same(two, (rows, 2 * rows))
    check_grad(jnp.vectorize(lambda a, b: (a * b).sum(), signature="(n),(n)->()"), rows, rows[0])
    for call, error, text in [
            (lambda: jnp.vectorize(jnp.sum, signature="(n"), ValueError, "not a valid gufunc signature"),
            (lambda: jnp.vectorize(jnp.add, signature="(n),(n)->(n)")(rows, rows[0, :2]), ValueError, "inconsistent size"),
            (lambda: jnp.vectorize(jnp.sum, signature="(n)->()")(rows, rows), TypeError, "expected 1, got 2"),
            (lambda: jnp.vectorize(jnp.sum, signature="(n,m)->()")(rows[0]), ValueError, "enough dimensions"),
            (lambda: jnp.vectorize(lambda a: a, signature="(n)->()")(rows), ValueError, "output shape"),
            (lambda: jnp.vectorize(lambda a: a[0], signature="(n)->(),()")(rows), TypeError,
             r"output must be a tuple when multiple outputs are expected.*excluded=frozenset\(\)"),
            (lambda: jnp.vectorize(jnp.sum, excluded={-1}), ValueError, "negative")]:
        with pytest.raises(error, match=text):
            call()


def test_vectorize_hands_none_on():
    add = lambda a, b: a if b is None else a + b
    x = np.arange(3)
    assert_same(jnp.vectorize(add)(x, None), x)
    assert_same(jnp.vectorize(add, signature="(k),()->(k)")(x, None), x)
    assert_same(jnp.vectorize(lambda a, b, c: a + c)(x, None, x), x + x)
    with pytest.raises(ValueError, match=r"Cannot pass None at locations \{1\} with signature='\(k\),\(k\)->\(k\)'"):
        jnp.vectorize(add, signature="(k),(k)->(k)")(x, None)


@pytest.mark.parametrize("signature, shapes, promotes", [
    ("(),()->()", [(3, 3), (3,)], True), ("(),()->()", [(3, 3), ()], False), ("(n),()->(n)", [(3, 3), (3,)], False),
    ("(n),()->(n)", [(3,), (3,)], True), ("(n),()->(n)", [(3, 3), ()], False), ("(n),(n)->(n)", [(3,), (1, 3)], True)])
def test_vectorize_heeds_the_rank_promotion_flag(signature, shapes, promotes):
    f, args = jnp.vectorize(jnp.add, signature=signature), [jnp.zeros(s) for s in shapes]
    for mode, expects in (("raise", pytest.raises(ValueError, match="require rank promotion")),
                          ("warn", pytest.warns(UserWarning, match="require rank promotion"))):
        with nj.numpy_rank_promotion(mode), expects if promotes else contextlib.nullcontext():
            f(*args)



def test_the_class_of_arrays_has_the_methods():
    """Libraries copy them from the class: `getattr(jax.Array, name)`."""
    x = jnp.array([3.0, 1.0, 2.0])
    assert nj.Array.sum(x) == 6 and nj.Array.__add__(x, 1).tolist() == [4, 2, 3] and nj.Array.shape.fget(x) == (3,)
    assert nj.Array.astype(x, int).dtype == jnp.int32 and nj.Array.at.fget(x)[0].set(1)[0] == 1
    assert nj.jit(lambda x: nj.Array.max(x) + nj.Array.real.fget(x)[0])(x) == 6
    missing = {name for name in dir(type(x)) if not name.startswith("_") and not hasattr(nj.Array, name)}
    assert "all" not in missing and hash(nj.Array) and not isinstance(1, nj.Array)


@pytest.mark.parametrize("transformation", [nj.jit, nj.grad, lambda f: lambda x: nj.vmap(f)(jnp.ones(2))])
def test_traced_values_refuse_what_arrays_tell_of_their_place(transformation):
    """By the error that libraries catch where they ask."""
    def f(x):
        for ask in (lambda: x.devices(), lambda: x.is_deleted(), lambda: x.committed, lambda: x.is_fully_addressable,
                    lambda: x.addressable_shards, lambda: x.__dlpack__()):
            with pytest.raises(nj.errors.ConcretizationTypeError, match="on traced array with shape f32"):
                ask()
        assert not hasattr(x, "device") and not hasattr(x, "sharding")
        return x
    transformation(f)(1.0)


@pytest.mark.parametrize("sequence", [[1, 2], (1, 2)])
def test_lists_and_tuples_are_no_operands(sequence):
    x, name = jnp.array(2), type(sequence).__name__
    right, left = f"'ArrayImpl' and '{name}'", f"'{name}' and 'ArrayImpl'"
    for call, text in [(lambda: x * sequence, f"for [*]: {right}"), (lambda: sequence * x, f"for [*]: {left}"),
                       (lambda: x + sequence, f"for [+]: {right}"), (lambda: sequence + x, f"for [+]: {left}"),
                       (lambda: nj.jit(lambda y: sequence * y)(x), left)]:
        with pytest.raises(TypeError, match=f"unsupported operand type.* {text}"):
            call()


def test_equality_with_containers_of_other_classes_is_theirs():
    class Names(dict):
        def __eq__(self, other):
            return "mine"
        __hash__ = None

    assert (jnp.array(2) == Names()) == "mine"
    with pytest.raises(TypeError, match="'ArrayImpl' and 'dict'"):
        _ = jnp.array(2) == {}
