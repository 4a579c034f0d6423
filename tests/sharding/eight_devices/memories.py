"""Memories of several devices: arrays in the host's memory, and programs that take, move and give them."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.memory import Space
from numjet.sharding import AxisType, Mesh, NamedSharding as NS, PartitionSpec as P, reshard

D = np.array(nj.devices())
M = Mesh(D.reshape(4, 2), ("x", "y"))
W = np.arange(8, dtype=np.float32)
OWN, HOST, UNPINNED = (NS(M, P("x"), memory_kind=k) for k in ("device", "pinned_host", "unpinned_host"))


def test_parts_are_in_the_memory_that_the_sharding_names():
    for sharding in (OWN, HOST, UNPINNED):
        x = nj.device_put(W, sharding)
        assert x.sharding == sharding and x.tolist() == W.tolist()
        assert {s.data.sharding.memory_kind for s in x.addressable_shards} == {sharding.memory_kind}
        assert str(nj.typeof(x)) == ("float32<host>[8]" if sharding is HOST else "float32[8]")
        assert (x._remote.buffer._sharding.memory_kind or "device") == sharding.memory_kind
        for other in (OWN, HOST, UNPINNED, NS(M, P("y"), memory_kind="pinned_host")):
            moved = nj.device_put(x, other)
            assert moved.sharding == other and moved.tolist() == W.tolist()
        assert nj.device_put(x, Space.Host).sharding == HOST and nj.device_put(x, Space.Device).sharding == OWN
    made = nj.make_array_from_callback((8,), HOST, lambda index: W[index])
    assert made.sharding == HOST and made.tolist() == W.tolist()


def test_results_are_where_operands_are():
    x = nj.device_put(W, HOST)
    for out in (x + 1, nj.jit(lambda x: x + 1)(x), nj.jit(lambda x: x + 1, in_shardings=HOST)(x)):
        assert out.sharding == HOST and out.tolist() == (W + 1).tolist()
    assert x.sum().sharding == NS(M, P(), memory_kind="pinned_host")
    assert (nj.device_put(W, UNPINNED) + 1).sharding == OWN
    with pytest.raises(ValueError, match="memory_space of all inputs passed to `mul` must be the same"):
        nj.jit(lambda x, y: x * y)(x, nj.device_put(W, OWN))
    with pytest.raises(ValueError, match="Got jit memory kind: device, arg memory kind: pinned_host"):
        nj.jit(lambda x: x, in_shardings=OWN)(x)


def test_programs_move():
    x, y = nj.device_put(W, HOST), nj.device_put(W, OWN)
    assert nj.jit(lambda x: x, out_shardings=OWN)(x).sharding == OWN
    out = nj.jit(lambda x: x * 2, out_shardings=HOST)(y)
    assert out.sharding == HOST and str(nj.typeof(out)) == "float32<host>[8]" and out.tolist() == (W * 2).tolist()
    assert nj.jit(lambda x: nj.device_put(x, OWN) * 2)(x).sharding == OWN
    assert nj.jit(lambda x: nj.device_put(x * 2, Space.Host))(y).sharding == HOST
    assert nj.jit(nj.grad(lambda x: (nj.device_put(x, Space.Device) ** 2).sum()))(x).sharding == HOST
    assert lax.with_sharding_constraint(y, HOST).sharding == HOST
    shards = nj.shard_map(lambda x: nj.device_put(x * 2, Space.Host), mesh=M, in_specs=P("x"), out_specs=P("x"))
    assert nj.jit(shards)(y).sharding == HOST
    text = nj.jit(lambda x: nj.device_put(x, OWN)).trace(x).lower(lowering_platforms=("cuda",)).as_text()
    assert 'mhlo.memory_kind = "pinned_host"' in text and '_xla_buffer_placement = "device"' in text
    compiled = nj.jit(lambda x: x * 2).lower(x).compile()
    assert compiled.output_shardings == HOST


def test_types_name_memories_beside_explicit_axes():
    mesh = nj.make_mesh((4, 2), ("x", "y"), axis_types=(AxisType.Explicit,) * 2)
    x = nj.device_put(W, NS(mesh, P("x"), memory_kind="pinned_host"))
    assert str(nj.typeof(x)) == "float32<host>[8@x]" and (x * 2).sharding == x.sharding
    moved = nj.jit(lambda x: nj.device_put(x, Space.Device))(x)
    assert str(nj.typeof(moved)) == "float32[8@x]" and moved.sharding == NS(mesh, P("x"))
    assert str(nj.typeof(reshard(x, NS(mesh, P("y"))))) == "float32<host>[8@y]"
    assert str(nj.typeof(nj.jit(lambda x: reshard(x, NS(mesh, P("y"))))(x))) == "float32<host>[8@y]"
    assert str(nj.typeof(jnp.sum(x))) == "float32<host>[]"
