"""Transfers between devices in traced functions, and placements that results, constants and new arrays take over."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.sharding import Mesh, NamedSharding as NS, PartitionSpec as P, SingleDeviceSharding

D = np.array(nj.devices())
M = Mesh(D.reshape(4, 2), ("x", "y"))
FIRST, SECOND, PAIR = Mesh(D[:4], ("x",)), Mesh(D[4:], ("x",)), Mesh(D[:2], ("x",))
W = np.arange(64, dtype=np.float32).reshape(8, 8)


def put(*spec, mesh=M):
    return nj.device_put(W, NS(mesh, P(*spec)))


def test_gradients_go_back_from_the_devices_of_another_mesh():
    square, triple = nj.jit(lambda x: x ** 2), nj.jit(lambda x: x * 3)

    def loss(x, src=None):
        return jnp.sum(triple(nj.device_put(square(x), NS(SECOND, P("x")), src=src)))
    x = nj.device_put(np.arange(4.0), NS(FIRST, P("x")))
    assert loss(x).devices() == set(D[4:])
    for f in (loss, lambda x: loss(x, NS(FIRST, P("x")))):
        found = nj.grad(f)(x)
        assert found.sharding == NS(FIRST, P("x")) and found.tolist() == [0, 6, 12, 18]
    assert nj.hessian(loss)(x).tolist() == np.diag([6.0] * 4).tolist()


def test_gradients_go_back_from_another_device():
    x = nj.device_put(W, D[0])
    assert nj.grad(lambda x: (nj.device_put(x, D[1]) ** 2).sum())(x).devices() == {D[0]}
    moved = nj.vmap(lambda x: nj.device_put(x, D[1]) * 2)(W)
    assert moved.devices() == {D[1]} and (moved == 2 * W).all()
    out, push = nj.vjp(lambda x: nj.device_put(x, NS(PAIR, P("x"))) * 2, put("x"))
    assert out.sharding == NS(PAIR, P("x")) and push(out)[0].sharding == NS(M, P("x"))


def test_programs_run_where_their_arguments_are():
    assert nj.jit(lambda x: nj.device_put(x, D[1]) * 2)(nj.device_put(W, D[0])).devices() == {D[0]}
    assert nj.jit(lambda x: nj.device_put(x, NS(PAIR, P("x"))))(W).sharding.spec == P("x")
    with pytest.raises(ValueError, match="Received incompatible devices for jitted computation"):
        nj.jit(lambda x: nj.device_put(x, NS(PAIR, P("x"))))(put("x"))


def test_known_values_are_divided_as_programs_say():
    two = NS(M, P("x", "y"))
    small = np.ones((4, 2), np.float32)
    assert nj.jit(lambda: lax.with_sharding_constraint(small, two))().sharding == two
    assert nj.jit(lambda: jnp.array(small, device=two))().sharding == two


def test_results_have_the_sharding_of_an_input_that_is_divided_alike():
    mesh = nj.make_mesh((1, 8, 1), ("x", "y", "z"), (nj.sharding.AxisType.Auto,) * 3)
    x = nj.device_put(np.arange(32).reshape(1, 32, 1), NS(mesh, P("x", "y", "z")))
    assert (x + 1).sharding == x.sharding
    compiled = nj.jit(lambda x, y: (x * 2, y)).lower(put("x"), W).compile()
    assert compiled.input_shardings[0][1].mesh == M and compiled.out_info[0].sharding == NS(M, P("x"))


def test_constraints_outside_of_programs_place_arrays():
    x = nj.device_put(np.arange(8), NS(PAIR, P()))
    turned = NS(Mesh(D[1::-1], ("x",)), P("x"))
    assert lax.with_sharding_constraint(x, turned).sharding == turned
    open_one = NS(M, P(P.UNCONSTRAINED, "y"))
    assert lax.with_sharding_constraint(put("x"), open_one).sharding.spec == P("x", "y")
    assert lax.with_sharding_constraint(jnp.arange(8), SingleDeviceSharding(D[0])).committed
    abstract = NS(M.abstract_mesh, P("x"))
    assert lax.with_sharding_constraint(put("y"), abstract).sharding == NS(M, P("x"))
    for wrong, error in ((W, ValueError), (jnp.ones(8), TypeError), (put("x", mesh=PAIR), ValueError)):
        with pytest.raises(error, match="sharding"):
            lax.with_sharding_constraint(wrong, abstract)


def test_moves_among_the_same_devices_are_no_guarded_transfers():
    x = put("x", mesh=FIRST)
    with nj.transfer_guard("disallow_explicit"):
        y = nj.device_put(x, NS(Mesh(D[3::-1].reshape(2, 2), ("x", "y")), P("y")))
    assert (y == W).all()


def test_edges_leave_nothing_to_the_compiler():
    free = NS(M, P(P.UNCONSTRAINED, "y"))
    for call in (lambda: nj.jit(lambda x: x, in_shardings=free), lambda: nj.jit(lambda x: x, out_shardings=free),
                 lambda: nj.device_put(W, free)):
        with pytest.raises(ValueError, match="Unconstrained dims are not allowed"):
            call()


def test_new_arrays_are_divided_as_structs_say_and_as_arrays_of_their_shape():
    struct = nj.ShapeDtypeStruct((8, 8), np.float32, sharding=NS(M, P("x", "y")))
    assert jnp.zeros_like(struct).sharding == struct.sharding
    assert jnp.ones_like(put("x")).sharding == NS(M, P("x"))
    assert jnp.zeros_like(put("x"), shape=(3,)).shape == (3,)


@pytest.mark.parametrize("draw", [
    lambda k: nj.random.gamma(k, 2.0), lambda k: nj.random.poisson(k, 30.0), lambda k: nj.random.binomial(k, 4.0, 0.4)])
def test_samples_of_rejection_loops_are_drawn_inside_of_shard_map(draw):
    keys = nj.random.split(nj.random.key(0), 4)
    parts = nj.shard_map(nj.vmap(draw), mesh=FIRST, in_specs=P("x"), out_specs=P("x"))
    np.testing.assert_allclose(parts(keys), nj.vmap(draw)(keys), rtol=1e-5)


def test_errors_name_arguments_as_functions_do():
    with pytest.raises(ValueError, match=r"argument x\[0\] of .* and argument x\[1\] of"):
        nj.jit(lambda *x: x)(nj.device_put(W, D[0]), nj.device_put(W, D[1]))
    with pytest.raises(ValueError, match="should be a sequence of ints"):
        nj.make_mesh(((4,), 2), ("x", "y"))
    assert jnp.ones(2).sharding.memory_kind == "device"


@pytest.mark.parametrize("threads", [1, 2])
def test_large_arrays_are_brought_to_other_shardings_by_all_threads(threads):
    big = np.arange(1 << 21, dtype=np.float32).reshape(1024, 2048)
    before = nj.config.numjet_num_threads
    nj.config.update("numjet_num_threads", threads)
    try:
        x = nj.device_put(big, NS(M, P("x", "y")))
        for spec in (P("y", "x"), P(None, ("x", "y")), P(), P("x")):
            x = nj.device_put(x, NS(M, spec))
            assert (np.asarray(x) == big).all() and all((s.data == big[s.index]).all() for s in x.addressable_shards)
    finally:
        nj.config.update("numjet_num_threads", before)


def test_from_dlpack_without_a_copy_stays_on_the_device():
    x, there = jnp.arange(3.0), nj.devices()[1]
    for device in (None, x.device, x.sharding):
        assert jnp.from_dlpack(x, device=device, copy=False).tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match="which requires a copy since the source device is"):
        jnp.from_dlpack(x, device=there, copy=False)
    assert jnp.from_dlpack(x, device=there).devices() == {there}
