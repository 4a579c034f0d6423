"""NumPy's own functions and ufuncs of arrays and tracers."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import Override
from tests.numpy.helpers import assert_same, check_grad

X, Y = np.array([1.0, 2.0, 4.0], np.float32), np.array([3.0, 0.5, -1.0], np.float32)
M = np.array([[2.0, 1.0], [0.5, 3.0]], np.float32)
CALLS = {
    "sin": lambda x: np.sin(x), "add": lambda x: np.add(x, Y), "numpy first": lambda x: Y - x,
    "scalar": lambda x: np.float32(2) * x,
    "list": lambda x: np.add(x, [1, 2, 3]), "sum": lambda x: np.sum(x), "mean": lambda x: np.mean(x, keepdims=True),
    "concatenate": lambda x: np.concatenate([x, Y]), "stack": lambda x: np.stack([x, x]), "norm": lambda x: np.linalg.norm(x),
    "where": lambda x: np.where(x > 1, x, Y), "reduce": lambda x: np.add.reduce(x), "outer": lambda x: np.multiply.outer(x, Y),
    "clip": lambda x: np.clip(x, 1.5, 3), "einsum": lambda x: np.einsum("i,i->", x, Y), "matmul": lambda x: Y @ x,
    "fft": lambda x: np.fft.fft(x), "zeros_like": lambda x: np.zeros_like(x), "accumulate": lambda x: np.add.accumulate(x),
    "divmod": lambda x: np.divmod(x, 2), "equal": lambda x: x[::-1] == X, "power": lambda x: X ** x,
    "cumsum": lambda x: np.cumsum(x),
}


@pytest.mark.parametrize("call", CALLS.values(), ids=CALLS)
def test_functions_are_numjets(call):
    want = call(X)
    for got in (call(jnp.asarray(X)), nj.jit(call)(X), nj.vmap(call)(X[None])):
        for a, b in zip(nj.tree.leaves(got), nj.tree.leaves(want), strict=True):
            assert isinstance(a, nj.Array)
            assert_same(a if a.ndim == np.ndim(b) else a[0], np.asarray(b, a.dtype), rtol=1e-5)


def test_derivatives():
    check_grad(lambda x: np.sum(np.sin(x) * np.linalg.norm(x)) + np.max(np.stack([x, 2 * x])), [0.5, 1.5, 0.2])
    assert_same(nj.grad(lambda m: np.linalg.det(m))(M), np.array([[3.0, -0.5], [-1.0, 2.0]], np.float32), rtol=1e-5)


def test_dtype_argument():
    x = jnp.asarray(X)
    assert np.add(x, 1, dtype=np.int32).dtype == "int32" and np.less(x, 2, dtype=bool).tolist() == [True, False, False]
    assert np.copy(x, subok=True).tolist() == np.concatenate([x], casting="same_kind").tolist() == X.tolist()
    assert np.add.reduceat(x, [0, 1]).tolist() == [1, 6]
    with pytest.raises(TypeError, match="expected no casting="):
        np.concatenate([x], casting="unsafe")
    with pytest.raises(TypeError, match="where"):
        np.add(x, 1, where=X > 1)


def test_values_go_to_numpy_where_numpy_needs_them():
    x, buffer = jnp.asarray(X), np.zeros(3, np.float32)
    assert type(np.asarray(x)) is np.ndarray and type(np.array([x, x])) is np.ndarray
    np.testing.assert_allclose(x, X)
    np.testing.assert_array_equal(X, x)
    assert np.sqrt(x, out=buffer) is buffer and buffer.tolist() == np.sqrt(X).tolist()
    np.copyto(buffer, x)
    assert np.add(buffer, x, buffer) is buffer
    np.add.at(buffer, jnp.array([0, 0]), jnp.array([1.0, 1.0]))
    assert buffer.tolist() == [4.0, 4.0, 8.0]
    assert np.array2string(x) == "[1. 2. 4.]" and type(np.float_power(x, 2)) is not np.float32
    np.random.default_rng(0).shuffle(np.array(x))


def _assign(a, x):
    a += x
    return a


def _assign_slice(a, x):
    a[1:] -= x[1:]
    return a


def _assign_product(a, x):
    a @= x
    return a


def test_augmented_assignments_bind_the_name_to_our_array():
    x, numbers, matrix = jnp.asarray(X), np.arange(3), np.eye(2, dtype=np.float32)
    for assign in (_assign, nj.jit(_assign), lambda a, x: nj.jit(lambda x: _assign(a, x))(x)):
        out = assign(numbers, x)
        assert isinstance(out, nj.Array) and out.dtype == "float32" and out.tolist() == [1.0, 3.0, 6.0]
    assert numbers.tolist() == [0, 1, 2] and _assign(np.ones(3), jnp.ones((2, 3))).shape == (2, 3)
    assert nj.grad(lambda x: _assign(numbers, x).sum())(x).tolist() == [1.0, 1.0, 1.0]
    assert isinstance(_assign_product(matrix, jnp.asarray(M)), nj.Array) and matrix.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert _assign_slice(np.ones(3), x).tolist() == [1.0, -1.0, -3.0]
    with pytest.raises(TypeError, match="writes into a NumPy array"):
        nj.jit(lambda x: np.add(numbers, x, out=numbers))(x)


@pytest.mark.parametrize("call, text", [
    (lambda x: np.sqrt(x, out=np.zeros(3)), "writes into a NumPy array"), (lambda x: np.copyto(np.zeros(3), x), "writes"),
    (lambda x: np.nancumsum(x, out=x), "immutable"), (lambda x: np.put(x, 0, 1), "immutable"),
    (lambda x: np.add(x, x, out=x), "immutable"), (lambda x: np.add.at(x, 0, 1), "immutable"),
    (lambda x: np.lib.stride_tricks.sliding_window_view(x, 2), "no counterpart"),
    (lambda x: np.frompyfunc(float, 1, 1)(x), "no counterpart")])
def test_refusals(call, text):
    with pytest.raises(TypeError, match=text):
        nj.jit(call)(X)


def test_other_classes_have_their_say():
    class Other:
        def __array_ufunc__(self, ufunc, method, *inputs, **kwargs):
            return "other"

        def __array_function__(self, func, types, args, kwargs):
            return "other"

    x = jnp.asarray(X)
    assert np.add(x, Other()) == np.add(Other(), x) == np.concatenate([x, Other()]) == "other"


def test_flags_of_numjet_numpy_do_not_concern_functions_of_numpy():
    x = jnp.asarray(X)
    with nj.numpy_dtype_promotion("strict"), nj.numpy_rank_promotion("raise"):
        assert np.add(x, np.arange(3)).dtype == "float32" and np.add(x, M[:, :1]).shape == (2, 3)
        assert np.concatenate([x, np.arange(3)]).shape == (6,)
        with pytest.raises(nj.dtypes.TypePromotionError):
            np.arange(3) + x  # an operator of our array, as x + np.arange(3)


def test_flag_gives_numpy_values_as_jax_does():
    x = jnp.asarray(X)
    with Override("numjet_numpy_dispatch", False):
        assert type(np.sin(x)) is np.ndarray and type(np.zeros_like(x)) is np.ndarray
        assert type(np.concatenate([x, x])) is np.ndarray and isinstance(np.sum(x), nj.Array)
        nj.jit(lambda x: x * (np.size(x) + np.ndim(x) + len(np.shape(x)) + np.sum(x)))(X)
        assert isinstance(Y + x, nj.Array) and isinstance(np.float32(2) * x, nj.Array)
        with pytest.raises(nj.errors.TracerArrayConversionError):
            nj.jit(np.sin)(X)


def test_numpy_s_functions_take_sequences_first():
    index = jnp.array([0, 2])
    assert np.delete((10, 20, 30), index).tolist() == [20]
    assert np.take([1.5, 2.5, 3.5], index).tolist() == [1.5, 3.5]


def test_arrays_are_sequences_for_functions_in_c():
    with Override("numjet_numpy_dispatch", False):
        assert np.lexsort(jnp.array([[3, 1, 2], [0, 0, 0]])).tolist() == [1, 2, 0]
        with pytest.raises(TypeError):
            np.lexsort(jnp.array(1))
