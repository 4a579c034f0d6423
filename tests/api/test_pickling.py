"""Pickling of jitted and exported functions and of arrays, and compiled functions as bytes."""
import copy
import copyreg
import operator
import pickle
import random

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import export, lax
from numjet.experimental import serialize_executable
from numjet.foundation.util import OF_JITTED


@nj.jit
def decorated(x):
    return x + 1


def plain(x, n):
    return x * n


class Holder:
    @nj.jit
    def method(self):
        return self


PAIR = nj.jit(plain, static_argnums=1)


def copied(x):
    return pickle.loads(pickle.dumps(x))


def test_jitted_functions():
    assert copied(decorated) is decorated and copied(Holder.method) is Holder.method
    assert copied(nj.jit(operator.neg))(jnp.ones(2)).tolist() == [-1, -1]
    again = copied(PAIR)
    assert again(2.0, 3) == 6 and again.trace(2.0, 3).in_tree == PAIR.trace(2.0, 3).in_tree
    donating = copied(nj.jit(plain, donate_argnums=0))
    x = jnp.ones(3)
    donating(x, 2.0)
    assert x.is_deleted()
    pair = copy.deepcopy({"f": PAIR, "g": decorated})
    assert pair["g"] is decorated and pair["f"](1.0, 2) == 2


@pytest.mark.parametrize("wrap", [nj.vmap, nj.grad, nj.value_and_grad, nj.checkpoint, nj.jacfwd, nj.named_call, nj.custom_jvp,
                                  nj.custom_vjp, lambda f: nj.shard_map(f, mesh=nj.make_mesh((1,), "x"),
                                                                                in_specs=(), out_specs=nj.P())])
def test_wrappers_of_jitted_functions_have_nothing_of_theirs(wrap):
    """Options and programs belong to the function itself; a wrapper that had them could not be pickled by value."""
    jitted = nj.jit(lambda x: x * x)
    jitted.note = "kept"
    wrapper = wrap(jitted)
    assert wrapper.note == "kept" and not vars(wrapper).keys() & OF_JITTED


def test_a_jitted_function_of_a_size_generic_one_is_pickled_with_its_own_options():
    outer = nj.jit(nj.jit(plain, dynamic_axes={"x": {0: "n"}}), static_argnums=1)
    kind, (_, options) = copyreg.dispatch_table[type(outer)](outer)
    assert kind is copyreg.dispatch_table[type(outer)](nj.jit(plain))[0] and options["static_argnums"] == 1


def test_objects_that_stand_for_the_process():
    """Programs pickled by value have these among their globals."""
    assert copied(nj.config) is nj.config and copy.deepcopy(nj.config) is nj.config
    assert copied(type(jnp.ones(2))) is type(jnp.ones(2))


def test_exported_functions():
    e = export.export(nj.jit(lambda x: jnp.sin(x)))(jnp.ones(3))
    assert copied(e).call(jnp.zeros(3)).tolist() == [0, 0, 0] and not copied(e).has_vjp()
    loaded = export.deserialize(e.serialize(vjp_order=2))
    assert copied(loaded).serialize(vjp_order=2) == loaded.serialize(vjp_order=2)


@pytest.mark.parametrize("make", [
    lambda: jnp.arange(6).reshape(2, 3), lambda: jnp.ones(3, jnp.bfloat16), lambda: jnp.zeros((0, 2)),
    lambda: 2 * jnp.asarray(1.0),
    lambda: nj.random.key(3), lambda: nj.random.split(nj.random.key(3)), lambda: jnp.ones(2, bool), lambda: 1j * jnp.ones(2)])
def test_arrays_keys_and_pytrees(make):
    x = make()
    tree = {"a": [x, None], "k": nj.tree.structure({"a": (1, [2])})}
    y = copied(tree)["a"][0]
    assert (y.shape, y.dtype, y.weak_type) == (x.shape, x.dtype, x.weak_type) and copied(tree)["k"] == tree["k"]
    raw = lambda v: np.asarray(nj.random.key_data(v) if nj.dtypes.issubdtype(v.dtype, nj.dtypes.prng_key) else v)
    assert (raw(x) == raw(y)).all()


# ------------------------------------------------------------------------------------------------ compiled functions

@pytest.fixture(scope="module")
def data():
    fun = nj.jit(lambda p, *, s: {"r": p["x"] @ p["y"] + s}, donate_argnums=0)
    return serialize_executable.serialize(fun.lower({"x": jnp.ones((2, 3)), "y": jnp.ones((3, 2))}, s=1.0).compile())


def test_compiled_functions(data):
    blob, in_tree, out_tree = copied(data)
    for more in ({}, {"backend": "cpu"}, {"execution_devices": nj.devices("cpu")[:1]}):
        f = serialize_executable.deserialize_and_load(blob, in_tree, out_tree, **more)
        x = jnp.ones((2, 3))
        assert f({"x": x, "y": jnp.ones((3, 2))}, s=2.0)["r"].tolist() == [[5, 5], [5, 5]]
        assert f.donate_argnums == (0, 1) and f.out_info["r"].shape == (2, 2)
        with pytest.raises(TypeError, match=r"Argument \"p\['x'\]\" compiled with float32\[2,3\]"):
            f({"x": jnp.ones(3), "y": jnp.ones((3, 2))}, s=2.0)
    assert serialize_executable.serialize(f)[0] == blob


def test_wrong_use_of_compiled_functions(data):
    blob, in_tree, out_tree = data
    load = serialize_executable.deserialize_and_load
    for args, message in [((blob, out_tree, out_tree), "in_tree has 1 leaves, the function has 3"),
                          ((blob, in_tree, in_tree), "out_tree has 3 leaves"),
                          ((blob, in_tree, out_tree, None, []), "must hold one"), ((b"", in_tree, out_tree), "are no"),
                          ((blob[:-1], in_tree, out_tree), "damaged"),
                          ((bytes(export.export(decorated)(1.0).serialize()), in_tree, out_tree), "are no")]:
        with pytest.raises(ValueError, match=message):
            load(*args)
    with pytest.raises(TypeError, match="takes what"):
        serialize_executable.serialize(decorated)
    with pytest.raises(ValueError, match="cannot serialize the operation"):
        serialize_executable.serialize(nj.jit(lambda x: nj.pure_callback(np.sin, x, x)).lower(jnp.ones(3)).compile())
    rng = random.Random(0)
    for _ in range(100):
        damaged = bytearray(blob)
        damaged[rng.randrange(len(blob))] ^= 1 << rng.randrange(8)
        with pytest.raises(ValueError, match="deserialize_and_load"):
            load(bytes(damaged), in_tree, out_tree)


def test_traced_values_are_not_pickled():
    for transform in (nj.jit, nj.grad):
        with pytest.raises(nj.errors.ConcretizationTypeError, match="__reduce__"):
            transform(pickle.dumps)(1.0)


def test_arrays_of_64_bits_are_narrowed_where_they_are_not_enabled():
    with nj.enable_x64(True):
        data = pickle.dumps(jnp.array([1.0, 2.0]))
        assert pickle.loads(data).dtype == np.float64
    with nj.enable_x64(False):
        y = pickle.loads(data)
    assert (y.dtype, y.aval.dtype, y.tolist()) == (np.float32, np.float32, [1.0, 2.0])


def test_functions_that_close_over_references_are_not_serialized():
    ref = nj.new_ref(0)

    @nj.jit
    def add(x):
        ref[...] += x

    with pytest.raises(ValueError, match="can't serialize with a closed-over mutable array ref: add closes over 1"):
        serialize_executable.serialize(add.lower(1).compile())


def test_operations_are_pickled_by_name():
    for op in (lax.sin_p, lax.psum_p, lax.scan_p, lax.while_p, lax.cond_p):
        assert copied(op) is op
    renamed = copy.copy(lax.sin_p)
    renamed.name = "cos"
    assert renamed.__reduce_ex__(2)[1] != ("cos",)
