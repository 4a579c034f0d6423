"""A program of four processes with two devices each; each checks what it sees."""
import sys

import numpy as np

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.experimental import multihost_utils as hosts
from numjet.sharding import Mesh, NamedSharding, PartitionSpec as P

nj.distributed.initialize()
HERE, COUNT = nj.process_index(), nj.process_count()
MESH = Mesh(np.array(nj.devices()).reshape(4, 2), ("hosts", "x"))
WHOLE = np.arange(64, dtype=np.float32).reshape(8, 8)


def raises(kind, text, call):
    try:
        call()
    except kind as error:
        assert text in str(error), error
    else:
        raise AssertionError(f"no {kind.__name__}")


def devices():
    assert COUNT == 4 == len({d.process_index for d in nj.devices()}) and nj.process_indices() == [0, 1, 2, 3]
    assert nj.device_count() == 8 and nj.local_device_count() == 2 and nj.local_devices()[0].process_index == HERE
    assert nj.local_devices(2) == [d for d in nj.devices() if d.process_index == 2]
    assert jnp.ones(3).devices() == {nj.local_devices()[0]}
    assert MESH.is_multi_process and MESH.local_mesh.shape == {"hosts": 1, "x": 2}
    assert MESH.local_devices == nj.local_devices()
    raises(ValueError, "belongs to process", lambda: nj.device_put(1.0, nj.local_devices((HERE + 1) % 4)[0]))


def arrays():
    x = nj.device_put(WHOLE, NamedSharding(MESH, P("hosts", "x")))
    assert not x.is_fully_addressable and len(x.addressable_shards) == 2 and len(x.global_shards) == 8
    for shard in x.addressable_shards:
        np.testing.assert_array_equal(shard.data, WHOLE[shard.index])
    raises(RuntimeError, "non-addressable", lambda: np.asarray(x))
    assert repr(x) == "Array(shape=(8, 8), dtype=float32)"
    turned = nj.device_put(x, NamedSharding(MESH, P("x", "hosts")))
    for shard in turned.addressable_shards:
        np.testing.assert_array_equal(shard.data, WHOLE[shard.index])
    rows = NamedSharding(MESH, P("hosts"))
    mine = nj.make_array_from_process_local_data(rows, WHOLE[2 * HERE:2 * HERE + 2])
    whole = nj.make_array_from_process_local_data(rows, WHOLE, (8, 8))
    assert mine.shape == (8, 8) and bool((mine == whole).all()) and bool((mine == x).all())
    raises(ValueError, "each dimension should match", lambda: nj.make_array_from_process_local_data(rows, WHOLE[:3], (8, 8)))
    raises(AssertionError, "not the same on each process",
           lambda: nj.device_put(np.ones(4) + HERE, NamedSharding(MESH, P())))


def programs():
    x = nj.device_put(WHOLE, NamedSharding(MESH, P("hosts", "x")))
    total, product = nj.jit(lambda x: (x.sum(), x @ x.T))(x)
    assert float(total) == WHOLE.sum()
    np.testing.assert_allclose(hosts.process_allgather(product, tiled=True), WHOLE @ WHOLE.T)
    parts = nj.shard_map(lambda a: lax.psum(a, "hosts") + lax.axis_index("x"), mesh=MESH, in_specs=P("hosts", "x"),
                         out_specs=P(None, "x"))(x)
    expected = WHOLE.reshape(4, 2, 8).sum(0) + np.repeat([0, 1], 4)
    np.testing.assert_allclose(hosts.process_allgather(parts, tiled=True), expected)
    step = nj.jit(lambda w, x: w - 0.01 * nj.grad(lambda w: (jnp.tanh(x @ w) ** 2).mean())(w))
    w = step(nj.device_put(WHOLE / 64, NamedSharding(MESH, P())), nj.device_put(WHOLE / 64, NamedSharding(MESH, P("hosts"))))
    np.testing.assert_allclose(w, step(WHOLE / 64, WHOLE / 64), rtol=1e-5)


def helpers():
    assert hosts.process_allgather(np.array([HERE, HERE])).tolist() == [[k, k] for k in range(4)]
    assert hosts.process_allgather({"a": np.array([HERE])}, tiled=True)["a"].tolist() == [0, 1, 2, 3]
    assert hosts.broadcast_one_to_all(np.array([HERE])).tolist() == [0]
    assert hosts.broadcast_one_to_all(np.array([HERE]), is_source=HERE == 2).tolist() == [2]
    raises(ValueError, "expected one source", lambda: hosts.broadcast_one_to_all(1, is_source=True))
    hosts.assert_equal(WHOLE, "the same")
    raises(AssertionError, "they differ. Expected", lambda: hosts.assert_equal(np.array(HERE), "they differ"))
    specs = {"a": P("hosts"), "b": P(None, "x")}
    both = hosts.host_local_array_to_global_array({"a": WHOLE[:2] + HERE, "b": WHOLE}, MESH, specs)
    assert both["a"].shape == (8, 8) == both["b"].shape
    back = hosts.global_array_to_host_local_array(both, MESH, specs)
    assert (back["a"] == WHOLE[:2] + HERE).all() and (back["b"] == WHOLE).all()
    raises(AssertionError, "name mismatch", lambda: hosts.sync_global_devices(f"process {HERE}"))
    hosts.sync_global_devices("the end")


def together():
    with hosts.live_devices(nj.devices()) as alive:
        assert alive == nj.devices()

    def failing():
        with hosts.live_devices(nj.devices()):
            assert HERE != 2, "I failed"
    if HERE == 2:
        raises(AssertionError, "I failed", failing)
    else:
        try:
            failing()
        except hosts.ProcessFailureError as error:
            assert error.failed_devices == set(nj.local_devices(2))
        else:
            raise AssertionError("no ProcessFailureError")
    raises(NotImplementedError, "of all processes", lambda: hosts.live_devices(nj.local_devices()).__enter__())
    raises(ValueError, "none of the devices", lambda: hosts.live_devices([]).__enter__())


if __name__ == "__main__":
    for check in (devices, arrays, programs, helpers, together):
        check()
    nj.distributed.shutdown()
    sys.stdout.write(f"process {HERE} is done\n")
