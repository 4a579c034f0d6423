"""buffer_callback: memory that Python functions read and write, batches, aliases, effects and errors."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.errors import JaxRuntimeError
from numjet.experimental.buffer_callback import Buffer, ExecutionStage, buffer_callback

THREE = nj.ShapeDtypeStruct((3,), np.float32)
X = np.arange(3, dtype=np.float32)


def double(context, out, x):
    np.multiply(x, 2, out=np.asarray(out))


@pytest.mark.parametrize("dtype", [np.float32, np.int8, np.bool_, np.complex64, jnp.bfloat16])
@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit])
def test_memory(dtype, wrap):
    def copy(context, out, x):
        assert context.stage == ExecutionStage.EXECUTE
        with pytest.raises(JaxRuntimeError, match="XLA FFI GPU context is not available"):
            _ = context.stream
        for b, writeable in ((x, False), (out, True)):
            assert (b.shape, b.ndim, b.dtype, b.writeable) == ((2, 3), 2, dtype, writeable)
            assert np.asarray(b).flags.writeable is writeable
        if dtype is np.float32:
            assert np.from_dlpack(x).tolist() == np.asarray(x).tolist()
        np.asarray(out)[...] = np.asarray(x)

    x = np.ones((2, 3), dtype)
    found = wrap(buffer_callback(copy, nj.ShapeDtypeStruct((2, 3), dtype)))(x)
    assert found.dtype == dtype and (np.asarray(found) == x).all()


def test_trees_of_operands_and_results():
    def both(context, out, x, *, y):
        assert isinstance(y["z"], Buffer)
        np.asarray(out["sum"])[...] = np.asarray(x) + np.asarray(y["z"])
        np.asarray(out["pair"][0])[...] = np.asarray(x)

    f = buffer_callback(both, {"sum": THREE, "pair": (THREE,)})
    found = nj.jit(lambda x: f(x, y={"z": x}))(X)
    assert found["sum"].tolist() == [0, 2, 4] and found["pair"][0].tolist() == [0, 1, 2]


@pytest.mark.parametrize("method", ["sequential", "sequential_unrolled", "expand_dims", "broadcast_all"])
def test_batches(method):
    f = buffer_callback(double, nj.ShapeDtypeStruct((), np.float32), vmap_method=method)
    assert nj.vmap(f)(X).tolist() == [0, 2, 4]


def test_operands_in_the_memory_of_results():
    def add_one(context, out, x):
        assert np.shares_memory(np.asarray(out), np.asarray(x))
        np.asarray(out)[...] += 1

    mine = X.copy()
    assert buffer_callback(add_one, THREE, input_output_aliases={0: 0})(mine).tolist() == [1, 2, 3]
    assert mine.tolist() == X.tolist()


def test_results_do_not_change_after_the_call():
    kept = []
    found = buffer_callback(lambda context, out: kept.append(np.asarray(out)), THREE)()
    kept[0][...] = 7
    assert found.tolist() == [0, 0, 0]


def test_side_effects_happen_without_use_of_the_results():
    calls = []
    f = buffer_callback(lambda *_: calls.append(1), THREE, has_side_effect=True)
    nj.jit(lambda: (f(), 1.0)[1])()
    nj.effects_barrier()
    assert calls == [1]


@pytest.mark.parametrize(("run", "error", "text"), [
    (lambda f: nj.jvp(f, (X,), (X,)), ValueError, "Buffer callbacks do not support JVP"),
    (lambda f: nj.vmap(f)(X[None]), NotImplementedError, "vmap is only supported for the buffer_callback primitive when"),
    (lambda f: buffer_callback(3, THREE), TypeError, "callable|function"),
    (lambda f: buffer_callback(double, THREE, vmap_method="?"), ValueError, "vmap_method must be None or one of"),
    (lambda f: buffer_callback(double, THREE, input_output_aliases={1: 0})(X), ValueError, r"'1:0' with input index 1 outside"),
    (lambda f: buffer_callback(double, THREE, input_output_aliases={0: 0})(X[:2]), ValueError, "different abstract value"),
    (lambda f: buffer_callback(lambda *_: 1 / 0, THREE)(X), JaxRuntimeError, "ZeroDivisionError")])
def test_errors(run, error, text):
    with pytest.raises(error, match=text):
        run(buffer_callback(double, THREE))
