"""Keys of any length over devices: those of four words have an axis of words in XLA's programs."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

P = nj.P
MESH = nj.sharding.Mesh(np.array(nj.devices()[:4]), ("x",))
DIVIDED = nj.NamedSharding(MESH, P("x"))
LINE = nj.make_mesh((4,), ("x",), devices=nj.devices()[:4])   # Explicit
each = nj.vmap

MOVES = {
    "split": each(nj.random.split), "fold_in": lambda k: each(nj.random.fold_in)(k, jnp.arange(8)),
    "index": lambda k: k[2], "take": lambda k: k[jnp.array([1, 5])], "reverse": lambda k: k[::-1],
    "slice": lambda k: lax.dynamic_slice(k, (jnp.argmax(nj.random.bits(k[0], (4,))),), (2,)),
    "update": lambda k: k.at[3].set(k[0]), "reshape": lambda k: k.reshape(4, 2), "transpose": lambda k: k.reshape(4, 2).T,
    "broadcast": lambda k: jnp.broadcast_to(k[0], (2, 3)), "concatenate": lambda k: jnp.concatenate([k, k]),
    "where": lambda k: jnp.where(jnp.arange(8) > 3, k, k[::-1]), "nothing": lambda k: k[:0], "itself": lambda k: k,
    "scan": lambda k: lax.scan(lambda c, k: (c + nj.random.bits(k), nj.random.split(k)[0]), jnp.uint32(0), k),
    "loop": lambda k: lax.fori_loop(0, 3, lambda i, k: each(lambda k: nj.random.split(k)[1])(k), k),
    "branch": lambda k: lax.cond(nj.random.bits(k[0]) % 2 == 0, lambda k: k, lambda k: k[::-1], k),
    "constant": lambda k: jnp.concatenate([k, nj.random.split(nj.random.key(3, impl=nj.random.key_impl(k)), 2)]),
    "bits": each(lambda k: nj.random.bits(k, (3,))), "uniform": each(nj.random.uniform), "data": nj.random.key_data,
    "constraint": lambda k: lax.with_sharding_constraint(k, nj.NamedSharding(MESH, P())),
    "part": nj.shard_map(lambda k: nj.random.bits(k[1], (4,), jnp.uint8), mesh=MESH, in_specs=P("x"), out_specs=P("x")),
}
IMPLS = pytest.mark.parametrize("impl", ["threefry2x32", "rbg", "unsafe_rbg"])


def keys_of(impl):
    return nj.random.split(nj.random.key(0, impl=impl), 8)


def same(a, b):
    data = lambda x: np.asarray(nj.random.key_data(x) if jnp.issubdtype(x.dtype, nj.dtypes.prng_key) else x)
    assert a.dtype == b.dtype
    np.testing.assert_array_equal(data(a), data(b))


@IMPLS
@pytest.mark.parametrize("move", MOVES)
def test_programs_over_devices_move_keys_and_draw_from_them(impl, move):
    keys, f = keys_of(impl), MOVES[move]
    divided = nj.device_put(keys, DIVIDED)
    assert divided.sharding == DIVIDED and {s.data.shape for s in divided.addressable_shards} == {(2,)}
    wanted = keys_of(impl) if move == "itself" else nj.jit(f)(keys) if move != "part" else jnp.concatenate(
        [nj.random.bits(keys[2 * k + 1], (4,), jnp.uint8) for k in range(4)])
    for call in (f, nj.jit(f)):
        nj.tree.map(same, call(divided), wanted)


@IMPLS
def test_keys_go_from_device_to_device(impl):
    keys = keys_of(impl)
    divided = nj.device_put(keys, DIVIDED)
    over_all = nj.NamedSharding(nj.sharding.Mesh(nj.devices(), ("y",)), P("y"))
    for there in (nj.devices()[2], nj.NamedSharding(MESH, P()), over_all):
        moved = nj.device_put(divided, there)
        same(moved, keys)
        same(nj.device_put(moved, DIVIDED), keys)
        same(nj.random.split(moved[3]), nj.random.split(keys[3]))
    same(nj.jit(lambda k: k, donate_argnums=0)(nj.device_put(keys, DIVIDED)), keys)


@IMPLS
def test_types_say_how_keys_are_divided(impl):
    with nj.set_mesh(LINE):
        keys = nj.device_put(keys_of(impl), P("x"))
        data = nj.jit(nj.random.key_data)(keys)
        assert nj.typeof(keys).sharding.spec == P("x") and data.sharding.spec == P("x", None)
        split = nj.jit(lambda k: nj.sharding.reshard(k, P())[1])(keys)
    same(split, keys_of(impl)[1])


@IMPLS
def test_python_gets_keys_and_not_their_words(impl, capfd):
    keys, seen = nj.device_put(keys_of(impl), DIVIDED), []

    def data_of(keys):
        seen.append(keys.dtype)
        return np.asarray(nj.random.key_data(keys))

    shape = nj.random.key_data(keys).shape
    same(nj.jit(lambda k: nj.pure_callback(data_of, nj.ShapeDtypeStruct(shape, np.uint32), k))(keys), nj.random.key_data(keys))
    assert set(seen) == {keys.dtype}
    nj.jit(lambda k: (nj.debug.print("k: {k}", k=k), k)[1])(keys)
    nj.effects_barrier()
    assert capfd.readouterr().out.count("k: ") == 1
