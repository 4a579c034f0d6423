"""Memory spaces in types and shardings, on one device: on the CPU they are names for the same memory."""
import operator
import pickle
import warnings

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.aval import ShapedArray
from numjet.memory import Space
from numjet.sharding import Mesh, NamedSharding, PartitionSpec as P, SingleDeviceSharding
from numjet.testing.derivatives import check_grads

CPU = nj.devices()[0]
W = np.arange(8, dtype=np.float32)
HOST, DEVICE = "float32<host>[8]", "float32[8]"


def on_host(x=W):
    return nj.device_put(x, Space.Host)


def kind(x):
    return x.sharding.memory_kind


def test_devices_name_their_memories():
    assert [m.kind for m in CPU.addressable_memories()] == ["device", "pinned_host", "unpinned_host"]
    assert CPU.default_memory().kind == "device" and CPU.memory("pinned_host").kind == "pinned_host"
    assert str(Space.Host) == repr(Space.Host) == "MemorySpace.Host" and [s.name for s in Space] == ["Device", "Host", "Any"]


def test_shardings_are_in_a_memory():
    mesh = Mesh([CPU], "x")
    for of in (lambda k: SingleDeviceSharding(CPU, memory_kind=k), lambda k: NamedSharding(mesh, P("x"), memory_kind=k)):
        own, host = of(None), of("pinned_host")
        assert own == of("device") and hash(own) == hash(of("device")) and own.memory_kind == "device"
        assert host != own and not host.is_equivalent_to(own, 1) and host.with_memory_kind("device") == own
        assert "memory_kind=pinned_host" in str(host) and own.with_memory_kind("unpinned_host").memory_kind == "unpinned_host"
        with pytest.raises(ValueError, match=r"addressable by device cpu. Device cpu can address the following memory kinds: "
                                             r"device, pinned_host, unpinned_host. Got memory kind: hbm"):
            of("hbm")
    with pytest.raises(ValueError, match=r"Got invalid memory kind: hbm. Valid memory kinds are: device, pinned_host"):
        NamedSharding(mesh.abstract_mesh, P("x"), memory_kind="hbm")


@pytest.mark.parametrize("target", [
    Space.Host, SingleDeviceSharding(CPU, memory_kind="pinned_host"),
    NamedSharding(Mesh([CPU], "x"), P("x"), memory_kind="pinned_host")], ids=["space", "device", "mesh"])
def test_moves_change_types_and_nothing_else(target):
    x = nj.device_put(W, target)
    assert str(nj.typeof(x)) == HOST and nj.typeof(x).memory_space is Space.Host and kind(x) == "pinned_host" and x.committed
    assert x.tolist() == W.tolist() and nj.device_put(x) is x and kind(x.copy()) == kind(jnp.array(x)) == "pinned_host"
    back = nj.device_put(x, Space.Device)
    assert str(nj.typeof(back)) == DEVICE and kind(back) == "device" and kind(nj.device_put(x, CPU)) == "device"
    assert str(pickle.loads(pickle.dumps(nj.typeof(x)))) == HOST
    assert kind(nj.device_put(W, SingleDeviceSharding(CPU, memory_kind="unpinned_host"))) == "unpinned_host"
    with pytest.raises(ValueError, match=r"MemorySpace.Any names no memory"):
        nj.device_put(W, Space.Any)


COMPUTED = {
    "number": (lambda x: x + 1, HOST), "of two": (lambda x: x * x, HOST), "negative": (operator.neg, HOST),
    "comparison": (lambda x: x > x, "bool<host>[8]"), "choice": (lambda x: jnp.where(x > 2, x, 0 * x), HOST),
    "part": (lambda x: x[2:], "float32<host>[6]"), "element": (lambda x: x[0], "float32<host>[]"),
    "matmul": (lambda x: x.reshape(2, 4) @ x.reshape(4, 2), "float32<host>[2,2]"),
    "sum": (jnp.sum, "float32<host>[]"), "kept axis": (lambda x: jnp.max(x, keepdims=True), "float32<host>[1]"),
    "of a scalar": (lambda x: jnp.sin(x.sum()), "float32[]"), "gather": (lambda x: x[np.array([1, 2])], "float32<host>[2]"),
    "scatter": (lambda x: x.at[np.array([1, 2])].add(x[:2]), HOST), "update": (lambda x: x.at[0].set(1.0), HOST),
    "dtype": (lambda x: x.astype(np.int32), "int32<host>[8]"), "prefix sums": (jnp.cumsum, HOST),
    "loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: c * 2, x), HOST),
    "callback": (lambda x: nj.pure_callback(lambda v: v, nj.ShapeDtypeStruct((8,), np.float32), x), DEVICE),
    "vmap": (nj.vmap(lambda a: a * 2), HOST), "branch": (lambda x: lax.cond(True, lambda x: x * 2, lambda x: x, x), HOST),
    "indices": (jnp.argsort, "int32[8]"), "new": (jnp.zeros_like, DEVICE),
}


@pytest.mark.parametrize("name", COMPUTED)
def test_results_are_where_operands_are(name):
    fun, expected = COMPUTED[name]
    for f in (fun, nj.jit(fun)):
        for _ in range(3):  # of later calls of library functions there are tapes
            out = f(on_host())
        assert str(nj.typeof(out)) == expected and kind(out) == ("pinned_host" if "<host>" in expected else "device")
        assert np.array_equal(np.asarray(out), np.asarray(fun(jnp.array(W))))


def test_operands_are_in_one_memory():
    x, y = on_host(), jnp.array(W)
    for f in (operator.add, nj.jit(operator.add), lambda x, y: nj.grad(lambda x: (x + y).sum())(x)):
        with pytest.raises(ValueError, match=r"memory_space of all inputs passed to `add` must be the same. Got one operand "
                                             r"with type: float32<host>\[8\] and another operand with type: float32\[8\]"):
            f(x, y)
    step = lambda c, a: (nj.device_put(c, Space.Host), a)
    with pytest.raises(TypeError, match=r"so the memory spaces do not match. .* device_put\(x, jax.memory.Space.Host\)"):
        lax.scan(step, jnp.zeros(4), jnp.ones((3, 4)))
    with pytest.raises(TypeError, match="so the memory spaces do not match"):
        lax.cond(True, lambda x: nj.device_put(x, Space.Device), lambda x: x, x)


def test_functions_of_numpy_take_arrays_from_any_memory():
    x = on_host()
    assert np.allclose(x, W) and np.allclose(W, x) and np.concatenate([x, W]).tolist() == [*W, *W]
    assert str(nj.typeof(np.sum(x))) == "float32[]" and nj.jit(lambda x: np.mean(x))(x).tolist() == W.mean()


def test_moves_in_programs():
    f = lambda x: nj.device_put(nj.device_put(x * 2, Space.Host), Space.Device) + 1
    text = str(nj.make_jaxpr(f)(W))
    assert "c:f32<host>[8] = device_put[sharding=MemorySpace.Host src=None] b" in text
    assert "d:f32[8] = device_put[sharding=MemorySpace.Device src=None] c" in text
    assert kind(nj.jit(f)(on_host())) == "device" and nj.jit(f)(W).tolist() == (2 * W + 1).tolist()
    moved = nj.jit(lambda x: nj.device_put(x * 2, Space.Host))
    assert str(nj.typeof(moved(W))) == HOST and kind(moved(moved(W))) == "pinned_host"
    assert kind(nj.jit(lambda x: nj.device_put(x, CPU))(on_host())) == "pinned_host"  # a device names no memory
    carry, ys = lax.scan(lambda c, a: (c + nj.device_put(a, Space.Device), a), jnp.zeros(4), on_host(np.ones((3, 4), "f")))
    assert kind(carry) == "device" and str(nj.typeof(ys)) == "float32<host>[3,4]"
    assert str(nj.typeof(nj.vmap(lambda x: nj.device_put(x * 2, Space.Host))(jnp.ones((3, 4))))) == "float32<host>[3,4]"
    assert str(nj.jit(lambda x: x * 2).trace(nj.ShapeDtypeStruct((8,), "f", sharding=on_host().sharding)).jaxpr.in_avals[0]
               ) == HOST


def test_derivatives_come_back_to_the_memory_of_arguments():
    there_and_back = lambda x: nj.device_put(nj.device_put(jnp.sin(x), Space.Host) ** 2, Space.Device).sum()
    for grad in (nj.grad(there_and_back), nj.jit(nj.grad(there_and_back))):
        assert kind(grad(jnp.array(W))) == "device" and np.allclose(np.asarray(grad(jnp.array(W))), np.sin(2 * W), atol=1e-6)
    for f in (lambda x: (jnp.sin(x) ** 2).sum(), lambda x: (jnp.sin(nj.device_put(x, Space.Device)) ** 2).sum()):
        found = nj.jit(nj.grad(f))(on_host())
        assert str(nj.typeof(found)) == HOST and np.allclose(np.asarray(found), np.sin(2 * W), atol=1e-6)
    out, tangent = nj.jvp(lambda x: nj.device_put(x, Space.Host) * 2, (jnp.array(W),), (jnp.ones(8),))
    assert str(nj.typeof(out)) == str(nj.typeof(tangent)) == HOST
    check_grads(there_and_back, (jnp.array(W),), order=2)
    transposed = nj.linear_transpose(lambda x: nj.device_put(x, Space.Host), jnp.ones(8))
    assert str(nj.typeof(transposed(on_host())[0])) == DEVICE


def test_programs_take_and_give_memories():
    host, own = (SingleDeviceSharding(CPU, memory_kind=k) for k in ("pinned_host", "device"))
    to_host = nj.jit(lambda x: x * 2, out_shardings=host)
    assert str(nj.typeof(to_host(W))) == HOST and kind(to_host(W)) == "pinned_host"
    assert str(nj.typeof(nj.jit(lambda x: x * 2, out_shardings=own)(on_host()))) == DEVICE
    mesh = NamedSharding(Mesh([CPU], "x"), P("x"), memory_kind="pinned_host")
    assert nj.jit(lambda x: x, out_shardings=mesh)(W).sharding == mesh
    assert kind(nj.jit(lambda x: x * 2, in_shardings=host)(on_host())) == "pinned_host"
    with pytest.raises(ValueError, match=r"Memory kinds passed to jax.jit does not match memory kind on the respective arg. "
                                         r"Got jit memory kind: pinned_host, arg memory kind: device for arg type: float32"):
        nj.jit(lambda x: x * 2, in_shardings=host)(jnp.array(W))


def test_memory_is_donated_within_a_memory():
    x = jnp.array(W) + 0
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        nj.jit(lambda x: nj.device_put(x * 2, Space.Host), donate_argnums=0)(x)
    assert not x.is_deleted() and "Some donated buffers were not usable: float32[8]" in str(caught[0].message)


def test_programs_for_other_platforms_move():
    f = nj.jit(lambda x: nj.device_put(nj.device_put(x * 3, Space.Host), Space.Device) * 2)
    text = f.trace(W).lower(lowering_platforms=("cuda",)).as_text()
    assert text.count("annotate_device_placement") == 2
    assert text.index('_xla_buffer_placement = "pinned_host"') < text.index('_xla_buffer_placement = "device"')
    text = nj.jit(lambda x: x * 2).lower(on_host()).as_text()
    assert text.count('mhlo.memory_kind = "pinned_host"') == 2 and "annotate_device_placement" not in text


def test_types_say_the_memory():
    host = ShapedArray((2,), np.dtype("float32"), memory_space=Space.Host)
    assert str(host) == "float32<host>[2]" and str(host.update(shape=(3,))) == "float32<host>[3]"
    assert host.update(memory_space=Space.Device) is ShapedArray((2,), np.dtype("float32"))


def test_offloaded_residuals_wait_in_the_memory_of_the_host():
    offload = lambda op, *avals, **params: nj.ad_checkpoint.Offloadable("device", "pinned_host")
    chain = lambda x: jnp.sum(jnp.sin(jnp.sin(jnp.sin(x))))
    f = nj.checkpoint(chain, policy=offload)
    forward = nj.make_jaxpr(lambda x: nj.vjp(f, x))(W)
    assert list(map(str, forward.out_avals)) == ["float32[]", HOST, HOST, HOST]
    assert nj.grad(f)(W).tolist() == nj.grad(chain)(W).tolist() and kind(nj.jit(nj.grad(f))(W)) == "device"
    names = nj.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=["y"], names_which_can_be_offloaded=["z"], offload_src="device", offload_dst="pinned_host")
    name = nj.ad_checkpoint.checkpoint_name

    def loop(x):
        def step(y, _):
            z = name(jnp.sin(name(jnp.sin(y), "y")), "z")
            return jnp.sin(z), None
        return lax.scan(step, x, jnp.arange(3.0))[0].sum()
    g = nj.checkpoint(loop, policy=names)
    types = [str(a) for a in nj.make_jaxpr(lambda x: nj.vjp(g, x))(W).out_avals]
    assert types.count("float32<host>[3,8]") == types.count("float32[3,8]") == 1
    assert np.allclose(np.asarray(nj.grad(g)(W)), np.asarray(nj.grad(loop)(W)), atol=1e-6)
    unknown = nj.checkpoint_policies.offload_dot_with_no_batch_dims("device", "hbm")
    with pytest.raises(ValueError, match="Got invalid memory kind: hbm"):
        nj.grad(nj.checkpoint(lambda x: (x @ x).sum() ** 2, policy=unknown))(jnp.ones((2, 2)))
