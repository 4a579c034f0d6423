"""A mesh of several devices in use: what no argument places is on all of them."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.experimental.pjit import pjit
from numjet.experimental.serialize_executable import deserialize_and_load, serialize
from numjet.interpreters.pxla import thread_resources
from numjet.sharding import AbstractMesh, Mesh, NamedSharding as NS, PartitionSpec as P

D = np.array(nj.devices())
M = Mesh(D.reshape(4, 2), ("x", "y"))
W = np.arange(8, dtype=np.float32)


@pytest.mark.parametrize("make", [
    lambda: jnp.arange(3), lambda: jnp.ones(2), lambda: jnp.asarray(W), lambda: jnp.array([1.0, 2.0]), lambda: jnp.float32(3),
    lambda: nj.device_put(W), lambda: nj.random.key(0), lambda: nj.random.normal(nj.random.key(0), (4,)),
    lambda: nj.jit(lambda: jnp.ones(3))(), lambda: nj.jit(lambda x: x + 1)(W), lambda: nj.vmap(jnp.sin)(W),
    lambda: nj.grad(lambda x: (x ** 2).sum())(W), lambda: nj.lax.scan(lambda c, x: (c + x, c), 0.0, W)[1]])
def test_new_arrays_and_results_are_on_all_devices(make):
    before = make()
    with nj.set_mesh(M):
        made = make()
    assert made.sharding == NS(M, P()) and made.committed and before.devices() == {D[0]} and not before.committed
    assert (jnp.asarray(nj.random.key_data(made) if jnp.issubdtype(made.dtype, nj.dtypes.prng_key) else made).shape
            == (nj.random.key_data(before) if jnp.issubdtype(before.dtype, nj.dtypes.prng_key) else before).shape)


def test_values_and_divided_operands_are_as_without_it():
    x, there = jnp.asarray(W), nj.device_put(W, NS(M, P("x")))
    with nj.set_mesh(M):
        assert jnp.sum(x).tolist() == 28 and (jnp.sin(x) == jnp.sin(W)).all()
        assert (there + x).sharding.spec == P("x") and (there + W == 2 * W).all()
    assert jnp.sin(x).devices() == {D[0]}, "as soon as it is not in use"


@pytest.mark.parametrize("place", [D[0], D[3], NS(Mesh(D[:4], ("x",)), P("x"))])
def test_jitted_calls_on_other_devices_are_refused(place):
    x = nj.device_put(W, place)
    with nj.set_mesh(M), pytest.raises(ValueError, match=r"argument a of f with device ids .* and jit's context mesh"):
        @nj.jit
        def f(a):
            return a
        f(x)
    with nj.set_mesh(M), pytest.raises(ValueError, match="context mesh"):
        nj.jit(lambda a: a, out_shardings=NS(Mesh(D[:2], ("x",)), P()))(W)


def test_a_mesh_of_one_device_changes_no_device():
    with nj.set_mesh(Mesh(D[:1], ("x",))):
        assert jnp.ones(2).devices() == {D[0]} and nj.jit(lambda x: x + 1)(nj.device_put(W, D[2])).devices() == {D[2]}


def test_a_block_of_a_mesh_says_what_specifications_mean_and_places_what_pjit_runs():
    f = lambda x: x * 2
    with M:
        assert thread_resources.env.physical_mesh is M and thread_resources.env.shape == {"x": 4, "y": 2}
        assert jnp.ones(8).devices() == nj.jit(f)(W).devices() == {D[0]}
        assert pjit(f)(W).sharding == NS(M, P())
        assert pjit(f, in_shardings=P("x"), out_shardings=P("y"))(jnp.ones(8)).sharding.spec == P("y")
        gathered = pjit(lambda x: (x, x), in_shardings=P("x"), out_shardings=(None, P("x")))
        assert [x.sharding.spec for x in gathered(jnp.ones(8))] == [P(), P("x")]   # None is undivided
        assert gathered.eval_shape(jnp.ones(8))[0].sharding.spec == P()
        assert nj.jit(lambda x: nj.lax.with_sharding_constraint(x, P("x")))(jnp.ones(8)).sharding.spec == P("x")
        assert pjit(f).lower(W).compile().input_shardings[0][0].mesh is M
        with nj.set_mesh(M):
            assert jnp.ones(8).sharding.mesh is M and thread_resources.env.physical_mesh.empty
        assert jnp.ones(8).devices() == {D[0]}
    assert pjit(f)(W).devices() == {D[0]} and thread_resources.env.physical_mesh.empty


def over_two(spec=("x",)):
    return NS(Mesh(np.array(nj.devices()[:2]), ("x",)), P(*spec))


@pytest.mark.parametrize("options", [{"out_shardings": over_two()}, {"in_shardings": over_two(())},
                                     {"in_shardings": ([over_two()],)}])
def test_wrappers_with_equal_shardings_share_traces(options):
    traced = []

    def f(x):
        traced.append(x)
        return nj.tree.map(lambda leaf: leaf * 2, x)
    x = np.arange(8.0) if options.get("in_shardings") != ([over_two()],) else [np.arange(8.0)]
    for _ in range(3):
        nj.jit(f, **options)(x)
    assert len(traced) == 1
    nj.jit(f)(x)
    nj.jit(f, out_shardings=over_two(()))(x)
    assert len(traced) == 3


def test_pjit_takes_shardings_by_position_and_traces_once_per_mesh():
    traced = []

    def f(x):
        traced.append(x)
        return x + 1
    for _ in range(2):
        with Mesh(np.array(nj.devices()[:2]), ("x",)):
            out = pjit(f, P("x"), P())(np.arange(8.0))
    assert out.sharding == over_two(()) and len(traced) == 1


def test_abstract_meshes_keep_the_number_of_devices():
    two, four = AbstractMesh((2,), ("x",)), AbstractMesh((4,), ("x",))
    with nj.sharding.use_abstract_mesh(two), pytest.raises(ValueError, match=r"cannot change the size of the mesh.*size=4"), \
            nj.sharding.use_abstract_mesh(four):
        pass
    with nj.sharding.use_abstract_mesh(two), nj.sharding.use_abstract_mesh(AbstractMesh((1, 2), ("a", "b"))) as inner:
        assert nj.sharding.get_abstract_mesh() == inner


def test_parts_of_a_pytree_are_donated():
    to = NS(Mesh(np.array(nj.devices()[2:4]), ("x",)), P("x"))
    x, y = (nj.device_put(np.arange(8.0), over_two()) for _ in range(2))
    moved = nj.device_put({"x": x, "y": y}, to, donate={"x": True, "y": False})
    assert (x.is_deleted(), y.is_deleted()) == (True, False) and moved["x"].sharding == to
    with pytest.raises(ValueError, match="may_alias and donate cannot be True"):
        nj.device_put((y, y), to, donate=(True, False), may_alias=True)


def test_errors_of_shardings_name_the_parameter_and_end_with_the_remedy():
    with nj.set_mesh(Mesh(np.array(nj.devices()[:2]), ("x",))), pytest.raises(ValueError, match="single out_shardings spec"):
        nj.jit(lambda x: x, out_shardings=P("x", "x"))(np.ones((2, 2)))
    with pytest.raises(ValueError, match=r"in_shardings is not a tuple: got <class 'dict'>.*wrapped in a singleton tuple"):
        nj.jit(lambda x: x, in_shardings={"a": over_two()})({"a": np.ones(2)})
    compiled = nj.jit(lambda x: x + 1, in_shardings=over_two()).lower(nj.ShapeDtypeStruct((8,), np.float32)).compile()
    with pytest.raises(ValueError, match=r"arguments passed to it\. Here are the 1 mismatches:(?s:.*)device_put"):
        compiled(nj.device_put(np.ones(8, np.float32), over_two(())))
    constrain = nj.jit(lambda x: nj.lax.with_sharding_constraint(x, over_two()))
    with pytest.raises(ValueError, match=r"sharding_constraint inside jit with device ids \[0, 1\]"):
        constrain(nj.device_put(np.ones(8), nj.devices()[0]))


def test_compiled_functions_of_several_devices_are_written_with_their_shardings():
    mesh = Mesh(np.array(nj.devices()[:4]), ("x",))
    s, t = NS(mesh, P("x")), NS(mesh, P(None, "x"))
    x = nj.device_put(np.arange(16.0, dtype=np.float32).reshape(4, 4), s)
    compiled = nj.jit(lambda unused, a: a * 2, in_shardings=(None, s), out_shardings=t).lower(x, x).compile()
    written = serialize(compiled)
    loaded = deserialize_and_load(*written)
    out = loaded(x, x)
    assert out.sharding == t and out.tolist() == compiled(x, x).tolist() and loaded.input_shardings == compiled.input_shardings
    there = deserialize_and_load(*written, execution_devices=nj.devices()[4:])
    moved = Mesh(np.array(nj.devices()[4:]), ("x",))
    assert there(*[nj.device_put(np.asarray(x), NS(moved, P("x")))] * 2).sharding == NS(moved, P(None, "x"))
    with pytest.raises(ValueError, match="compiled for 4 devices"):
        deserialize_and_load(*written, execution_devices=nj.devices()[:2])
