"""shard_map and collectives over eight devices: against the whole, and against vmap's collectives on one device."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.sharding import AxisType, Mesh, NamedSharding, PartitionSpec as P

MESH = Mesh(np.array(nj.devices()).reshape(4, 2), ("x", "y"))
WHOLE = np.arange(64, dtype=np.float32).reshape(8, 8)
SMALL = WHOLE / 64


def over(f, ins, outs, **options):
    return nj.shard_map(f, mesh=MESH, in_specs=ins, out_specs=outs, **options)


COLLECTIVES = {
    "psum": lambda a: lax.psum(a, "x"),
    "pmean": lambda a: lax.pmean(a, "x"),
    "pmax": lambda a: lax.pmax(a, "x"),
    "pmin": lambda a: lax.pmin(a, "x"),
    "groups": lambda a: lax.psum(a, "x", axis_index_groups=[[0, 3], [1, 2]]),
    "uneven groups": lambda a: lax.psum(a, "x", axis_index_groups=[[0, 3, 1], [2]]),
    "all_gather": lambda a: lax.all_gather(a, "x"),
    "all_gather tiled": lambda a: lax.all_gather(a, "x", axis=1, tiled=True),
    "all_gather groups": lambda a: lax.all_gather(a, "x", axis=1, axis_index_groups=[[2, 1], [0, 3]]),
    "psum_scatter": lambda a: lax.psum_scatter(a, "x", scatter_dimension=0),
    "psum_scatter tiled": lambda a: lax.psum_scatter(a, "x", scatter_dimension=1, tiled=True),
    "all_to_all": lambda a: lax.all_to_all(a, "x", 0, 1),
    "all_to_all tiled": lambda a: lax.all_to_all(a, "x", 1, 0, tiled=True),
    "ppermute": lambda a: lax.ppermute(a, "x", [(0, 1), (2, 0), (3, 3)]),
    "pshuffle": lambda a: lax.pshuffle(a, "x", [1, 3, 0, 2]),
    "pbroadcast": lambda a: lax.pbroadcast(a, "x", 2),
    "axis_index": lambda a: a * lax.axis_index("x").astype(a.dtype),
    "axis_size": lambda a: a * lax.axis_size("x"),
}


def every(names, then=lambda x: x):
    """A function that gives the results of many collectives, so that one program is compiled for all."""
    return lambda a: {name: then(COLLECTIVES[name](a)) for name in names}


def of_shards(fun, **options):
    return over(lambda a: nj.tree.map(lambda x: x[None], fun(a[0])), P("x"), P("x"), **options)


@pytest.mark.parametrize("dtype", ["float32", "int32"])
def test_collectives_are_those_of_vmap(dtype):
    x = np.arange(4 * 4 * 8).reshape(4, 4, 8).astype(dtype)
    fun = every(COLLECTIVES)
    expected = nj.vmap(fun, axis_name="x")(x)
    found = (nj.jit if dtype == "int32" else lambda f: f)(of_shards(fun, check_vma=False))(x)
    for name in COLLECTIVES:
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("check", [True, False])
def test_derivatives_of_collectives_are_those_of_vmap(check):
    fun = every([n for n in COLLECTIVES if n not in ("pmax", "pmin")], jnp.sin)
    x = np.arange(4 * 4 * 8, dtype=np.float32).reshape(4, 4, 8) / 100
    each = lambda f: nj.jit(nj.jacrev(lambda x: {k: v.sum() for k, v in f(x).items()}))(x)
    expected, found = each(nj.vmap(fun, axis_name="x")), each(of_shards(fun, check_vma=check))
    for name, value in found.items():
        np.testing.assert_allclose(value, expected[name], rtol=1e-4, atol=1e-5, err_msg=name)


def test_collectives_over_two_axes():
    f = over(lambda a: (lax.psum(a, ("x", "y")), lax.all_gather(a, ("x", "y"), tiled=True), lax.axis_index(("x", "y"))[None]),
             P(("x", "y")), (P(), P(("x", "y")), P(("x", "y"))))
    total, every, number = f(WHOLE)
    assert total.tolist() == WHOLE.sum(0, keepdims=True).tolist() and number.tolist() == list(range(8))
    assert (np.asarray(every).reshape(8, 8, 8) == WHOLE).all()
    ragged = over(lambda a: lax.ppermute(a, ("x", "y"), [(i, 7 - i) for i in range(8)]), P(("x", "y")), P(("x", "y")))
    assert (ragged(WHOLE) == WHOLE[::-1]).all()


def test_parts_and_results_are_divided_as_the_specifications_say():
    f = nj.jit(over(lambda a, b: (a.sum(1, keepdims=True) * b, a.T), (P("x"), P()), (P("x"), P(None, "x"))))
    sums, turned = f(nj.device_put(WHOLE, NamedSharding(MESH, P("y"))), 2.0)
    assert (sums == 2 * WHOLE.sum(1, keepdims=True)).all() and (turned == WHOLE.T).all()
    assert turned.sharding.spec == P(None, "x")


@pytest.mark.parametrize("check", [True, False])
def test_derivatives_of_the_whole(check):
    def loss(w, x):
        def shard(w, x):
            hidden = lax.psum(jnp.tanh(x @ w), "y")
            return lax.pmean((hidden ** 2).sum(), "x")
        return over(shard, (P("y"), P("x", "y")), P(), check_vma=check)(w, x)

    def plain(w, x):
        halves = jnp.tanh(x[:, :4] @ w[:4]) + jnp.tanh(x[:, 4:] @ w[4:])
        return (halves ** 2).sum() / 4
    np.testing.assert_allclose(loss(SMALL, SMALL), plain(SMALL, SMALL), rtol=1e-5)
    first = lambda f: nj.jit(nj.grad(f, (0, 1)))(SMALL, SMALL)
    second = lambda f: nj.jit(nj.grad(lambda *a: nj.grad(f, 0)(*a).sum(), (0, 1)))(SMALL, SMALL)
    for derivative in (first, second):
        for found, expected in zip(derivative(loss), derivative(plain), strict=True):
            np.testing.assert_allclose(found, expected, rtol=1e-3, atol=1e-4)
    tangents = nj.jvp(loss, (SMALL, SMALL), (SMALL, SMALL))[1]
    np.testing.assert_allclose(tangents, nj.jvp(plain, (SMALL, SMALL), (SMALL, SMALL))[1], rtol=1e-4)


def test_derivatives_inside_of_shards_are_those_of_the_whole():
    def plain(w):
        return (jnp.tanh(SMALL @ w) ** 2).sum() / 4
    inner = over(lambda w, x: nj.value_and_grad(lambda w: lax.pmean((jnp.tanh(x @ w) ** 2).sum(), "x"))(w), (P(), P("x")),
                 (P(), P()))
    value, gradient = nj.jit(inner)(SMALL, SMALL)
    np.testing.assert_allclose(value, plain(SMALL), rtol=1e-5)
    np.testing.assert_allclose(gradient, nj.grad(plain)(SMALL), rtol=1e-4, atol=1e-5)


def test_loops_branches_checkpoints_and_batches_in_and_around_shards():
    def shard(x):
        def step(c, _):
            return jnp.sin(c) + lax.pmean(c, "x"), None
        c, _ = lax.scan(nj.checkpoint(step), x, None, length=3)
        c = lax.fori_loop(0, 2, lambda i, c: c * 1.5, c)
        return lax.cond(x.sum() > 0, lambda c: c * 2, lambda c: c, c)
    f = over(shard, P("x"), P("x"))

    def plain(x):
        for _ in range(3):
            x = jnp.sin(x) + jnp.broadcast_to(x.reshape(4, 2, 8).mean(0), (4, 2, 8)).reshape(8, 8)
        return x * 1.5 ** 2 * 2
    start = SMALL + 0.1
    np.testing.assert_allclose(nj.jit(f)(start), plain(start), rtol=1e-5)
    loss = lambda f: nj.jit(nj.grad(lambda x: (f(x) ** 2).sum()))(start)
    np.testing.assert_allclose(loss(over(lambda x: lax.scan(lambda c, _: (jnp.sin(c) + lax.pmean(c, "x"), None), x, None,
                                                            length=3)[0] * 4.5, P("x"), P("x"))), loss(plain), rtol=1e-4)
    batch = np.stack([start, start * 2])
    np.testing.assert_allclose(nj.jit(nj.vmap(f))(batch), np.stack([f(start), f(start * 2)]), rtol=1e-5)
    np.testing.assert_allclose(nj.vmap(f, in_axes=2, out_axes=1)(np.stack([start] * 3, 2))[:, 1], f(start), rtol=1e-5)


def test_some_axes_only():
    f = nj.jit(over(lambda x: lax.psum(x, "x") @ jnp.ones((8, 8)), P("x"), P(), axis_names={"x"}))
    x = nj.device_put(WHOLE, NamedSharding(MESH, P("x", "y")))
    np.testing.assert_allclose(f(x), WHOLE.reshape(4, 2, 8).sum(0) @ np.ones((8, 8)))
    inner = lambda mesh: nj.shard_map(lambda a: lax.psum(a, "y") + lax.axis_index("x"), mesh=mesh, in_specs=P(None, "y"),
                                      out_specs=P(), axis_names={"y"})
    nested = nj.jit(over(inner(None), P("x"), P("x"), axis_names={"x"}))
    with pytest.raises(ValueError, match=r"context mesh .*Manual, Auto.* should match the mesh passed to shard_map"):
        over(inner(MESH), P("x"), P("x"), axis_names={"x"})(WHOLE)
    np.testing.assert_allclose(nested(WHOLE), WHOLE[:, :4] + WHOLE[:, 4:] + np.repeat(np.arange(4), 2)[:, None])


@pytest.mark.parametrize("size", [4, 8])
def test_batches_are_divided_along_spmd_axis_name(size):
    def f(a, w):
        def shard(a, w):
            c, _ = lax.scan(lambda c, r: (c * lax.psum(r, "y").mean() + jnp.tanh(w).sum() * 0.01, None), a * w, a)
            return c + lax.psum(w, "y")
        return over(shard, (P("y"), P("y")), P("y"))(a, w)
    batch = np.stack([SMALL * k for k in range(1, size + 1)])
    loss = lambda **options: lambda b, w: ((out := nj.vmap(f, (0, None), **options)(b, w)) ** 2).mean() + 0 * out.sum()
    divided, plain = (nj.jit(nj.grad(loss(**o), (0, 1)))(batch, SMALL + 1) for o in ({"spmd_axis_name": "x"}, {}))
    for found, expected in zip(divided, plain, strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-3)
    out = nj.vmap(f, (0, None), spmd_axis_name="x")(batch, SMALL)
    assert out.sharding.spec == P("x", "y") and out.addressable_data(0).shape == (size // 4, 4, 8)
    constrained = nj.jit(nj.vmap(lambda a: lax.with_sharding_constraint(a, NamedSharding(MESH, P("y"))), in_axes=1,
                                 spmd_axis_name=("x",)))(np.moveaxis(batch, 0, 1))
    assert constrained.sharding.spec == P("x", "y") and (constrained == batch).all()
    with pytest.raises(ValueError, match="into 4 parts, which cannot be equal, as its size is 3"):
        nj.vmap(f, (0, None), spmd_axis_name="x")(batch[:3], SMALL)


def test_in_specs_of_the_arguments_and_the_mesh_in_use():
    with nj.set_mesh(MESH):
        f = nj.shard_map(lambda a: lax.psum(a.sum(), ("x", "y")), in_specs=P("x", "y"), out_specs=P())
        assert float(f(WHOLE)) == WHOLE.sum()
        g = nj.smap(lambda a: lax.psum(a, "x"), in_axes=0, out_axes=None, axis_name="x")
        assert (g(WHOLE) == WHOLE.reshape(4, 2, 8).sum(0)).all()


@pytest.mark.parametrize(("error", "text", "make"), [
    (ValueError, r"(?s)not evenly divisible.*args\[0\] of shape f32\[6,8\].*axis 0 \(of size 6\).*total size 4",
     lambda: over(lambda a: a, P("x"), P("x"))(WHOLE[:6])),
    (ValueError, "which has length 1, but the output has shape .*, which has rank 0",
     lambda: over(lambda a: a.sum(), P("x"), P("x"))(WHOLE)),
    (ValueError, "consider using an in_specs entry of `P", lambda: over(lambda a: a, P("x"), P())(1.0)),
    (ValueError, r"(?s)can't be statically inferred.*replicated across mesh axes.*varying over \{x\}",
     lambda: over(lambda a: a, P("x"), P())(WHOLE)),
    (ValueError, "Resource axis: z", lambda: over(lambda a: a, P("z"), P())(WHOLE)),
    (NameError, "unbound axis name: z", lambda: over(lambda a: lax.psum(a, "z"), P("x"), P())(WHOLE)),
    (NameError, "unbound axis name: x", lambda: nj.jit(lambda a: lax.psum(a, "x"))(WHOLE)),
    (ValueError, "subset of mesh.axis_names", lambda: over(lambda a: a, P("x"), P("x"), axis_names={"q"})(WHOLE)),
    (ValueError, "which is not among the axis_names", lambda: over(lambda a: a, P("y"), P(), axis_names={"x"})(WHOLE)),
    (ValueError, "cannot be empty", lambda: nj.shard_map(lambda a: a, in_specs=P("x"), out_specs=P("x"))(WHOLE)),
    (ValueError, r"shard_map in_specs\[0\]", lambda: over(lambda a: a, ({"a": P("x")},), P("x"))(WHOLE)),
    (TypeError, "must be a tuple or a str", lambda: over(lambda a: lax.pcast(a, {"x"}, to="varying"), P(), P("x"))(WHOLE)),
    (ValueError, "Received incompatible devices",
     lambda: over(lambda a: a, P("x"), P("x"))(nj.device_put(WHOLE, nj.devices()[1]))),
])
def test_errors(error, text, make):
    with pytest.raises(error, match=text):
        make()


def test_carries_that_vary_from_the_start():
    start = lambda: lax.pcast(jnp.zeros(8), "x", to="varying")
    f = over(lambda a: lax.scan(lambda c, x: ((c[1], c[0] + x), None), (start(), start()), a)[0][1][None], P("x"), P("x"))
    np.testing.assert_allclose(f(WHOLE), WHOLE.reshape(4, 2, 8)[:, 1])
    g = over(lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + a.sum(0)), (0, start()))[1][None], P("x"),
             P("x"))
    np.testing.assert_allclose(g(WHOLE), 3 * WHOLE.reshape(4, 2, 8).sum(1))


PART = np.ones((2, 8), np.float32)
CARRY = r"by applying `jax.lax.pcast\(\.\.\., \('x',\), to='varying'\)` to the initial carry value .*"


@pytest.mark.parametrize("text, loop", [
    (CARRY + r"input carry component c\[1\]\.",
     lambda a: lax.scan(lambda c, x: ((c[0], c[1] + x), None), (0, 0.0), a[0])[0][1]),
    (CARRY + "input carry c", lambda a: lax.scan(lambda c, x: (c + x, None), np.float32(0), a[0])[0]),
    (CARRY + r"component loop_carry\[1\]", lambda a: lax.fori_loop(0, 3, lambda i, c: c + a, PART)),
    (CARRY + r"component loop_carry\[2\]", lambda a: lax.fori_loop(0, a[0, 0].astype(int), lambda i, c: c + a, PART)),
    (CARRY + r"component c\[1\]", lambda a: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, c[1] + a), (0, PART))),
    (CARRY + "input carry c", nj.vmap(nj.vmap(lambda w: lax.scan(lambda c, _: (c * w, None), 1.0, None, length=2)[0]))),
    (r"fixed by:\n  \* applying .*\('x',\), .* c\[0\];\n  \* applying .*\('x',\), .*c\[1\]\.",
     lambda a: lax.scan(lambda c, x: ((c[1] + x, c[0] * x), None), (0.0, 1.0), a[0])[0]),
    (r"fixed by applying .*\('x',\), to='varying'\)` to the output of false_fun\.",
     lambda a: lax.cond(a.sum() > 0, lambda: a, lambda: PART)),
    (r"\('y',\), to='varying'\)` to the output of true_fun at path \['k'\];\n  \* .*\('x',\), .* to the output of false_fun at",
     lambda a: lax.cond(True, lambda b, c: {"k": b}, lambda b, c: {"k": c}, lax.axis_index("x"), lax.axis_index("y"))),
    (r"\('x',\), to='varying'\)` to the output of branch1", lambda a: lax.switch(2, [lambda: a, lambda: PART, lambda: a])),
])
def test_carries_and_branches_that_vary_over_other_axes_are_refused_with_the_cast_to_write(text, loop):
    with pytest.raises(TypeError, match=text):
        over(loop, P("x"), P("x"))(WHOLE)


def test_what_a_branch_says_holds_whatever_its_predicate_varies_over():
    chosen = over(lambda a: lax.cond(a.sum() > 0, lambda: 1.0, lambda: 0.0), P("x"), P())
    assert chosen(WHOLE + 1) == 1.0
    slope = over(lambda a, w: nj.grad(lambda w: lax.pmean(lax.cond(a.sum() > 0, lambda: a * w, lambda: a).sum(), "x"))(w),
                 (P("x"), P()), P())(WHOLE, 2.0)
    np.testing.assert_allclose(slope, WHOLE.sum() / 4)


def _chosen(x):
    if x.sum() > 8:
        return -x
    return jnp.ones((2, 8))


@pytest.mark.parametrize("f", [
    lambda a: nj.scipy.special.betainc(a + 1, 2.0, 0.5), lambda a: nj.scipy.special.hyp1f1(a + 1, 0.5, 0.5),
    lambda a: nj.scipy.sparse.linalg.gmres(lambda v: v * 2, a)[0],
    nj.grad(lambda a: nj.experimental.ode.odeint(lambda y, t: -y, a, jnp.array([0.0, 1.0])).sum()),
    lambda a: nj.autograph(_chosen)(a),
])
def test_loops_and_branches_of_the_libraries_are_joined(f):
    each = lambda a: over(f, P("x"), P("x"))(a)
    parts = [f(part) for part in np.split(SMALL, 4)]
    np.testing.assert_allclose(each(SMALL), np.concatenate(parts), rtol=1e-5)


def _with_rule(backward):
    f = nj.custom_vjp(lambda x, w: x * w)
    f.defvjp(lambda x, w: (x * w, (x, w)), backward)
    return over(lambda x, w: nj.grad(lambda x, w: f(x, w).sum(), (0, 1))(x, w), (P("x"), P()), (P("x"), P()))


def test_cotangents_of_rules_vary_as_their_arguments():
    slopes = _with_rule(lambda kept, g: (g * kept[1], lax.psum((g * kept[0]).sum(), "x")))(WHOLE, 2.0)
    np.testing.assert_allclose(slopes[0], np.full((8, 8), 2))
    assert slopes[1] == WHOLE.sum()
    for text, backward in [
        (r"type float32\[\]\{V:x\} corresponding .* do not match. In the rule, return the sum .*psum\(\.\.\., \('x',\)\)",
         lambda kept, g: (g * kept[1], (g * kept[0]).sum())),
        (r"output\[0\] .*apply jax.lax.pcast\(\.\.\., \('x',\), to='varying'\)", lambda kept, g: (lax.psum(g, "x"), None)),
    ]:
        with pytest.raises(ValueError, match="Custom VJP bwd rule must produce an output with the same type.*" + text):
            _with_rule(backward)(WHOLE, 2.0)


def test_tangents_and_cotangents_of_linear_functions_vary_as_their_arguments():
    def push(p, t):
        return nj.linearize(lambda x: (x ** 2).mean(0), p)[1](t)[None]
    with pytest.raises(ValueError, match=r"by applying `jax.lax.pcast\(..., \('x',\), .* to the primal value passed to"):
        over(push, (P(), P("x")), P("x"))(WHOLE[:2], WHOLE)
    with pytest.raises(ValueError, match=r"\('x',\), .* to the tangent value passed to the function"):
        over(push, (P("x"), P()), P("x"))(WHOLE, WHOLE[:2])
    slope = over(push, (P("x"), P("x")), P("x"))(WHOLE, WHOLE)
    np.testing.assert_allclose(slope, 2 * (WHOLE ** 2).reshape(4, 2, 8).mean(1))
    pull = lambda p, ct: nj.linear_transpose(lambda x: 2 * x, p)(ct)[0]
    np.testing.assert_allclose(over(pull, (P("x"), P("x")), P("x"))(WHOLE, WHOLE), 2 * WHOLE)
    with pytest.raises(TypeError, match=r"cotangent type does not match function output, .* vary over different axes"):
        over(pull, (P(), P("x")), P("x"))(WHOLE[:2], WHOLE)
    solve = lambda a: nj.scipy.sparse.linalg.LinearOperator((2, 2), matvec=lambda v: v * a[:, 0]).rmatvec(a[:, 1])
    np.testing.assert_allclose(over(solve, P("x"), P("x"))(WHOLE), WHOLE[:, 0] * WHOLE[:, 1])


def test_without_auto_pcast_operands_vary_over_the_same_axes():
    scaled = over(lambda a, w: a * w, (P("x"), P()), P("x"))
    text = r"mul requires varying manual axes to match.*\('x',\).* operand 1"
    with nj.auto_pcast(False), pytest.raises(ValueError, match=text):
        scaled(WHOLE, 2.0)
    np.testing.assert_allclose(scaled(WHOLE, 2.0), 2 * WHOLE)


def test_axes_of_size_one_can_be_left_out_of_types():
    mesh, seen = nj.make_mesh((8, 1), ("x", "y"), axis_types=(AxisType.Explicit,) * 2), []

    def shard(a):
        seen.append(nj.typeof(a).vma)
        return lax.psum(lax.pcast(a, "y", to="varying"), "x")
    with nj.set_mesh(mesh):
        whole = nj.device_put(WHOLE, P("x", "y"))
        for flag, vma, kept in ((False, {"x", "y"}, P(None, "y")), (True, {"x"}, P())):
            with nj.remove_size_one_mesh_axis_from_type(flag):
                f = nj.jit(nj.shard_map(shard if flag else lambda a: seen.append(nj.typeof(a).vma) or lax.psum(a, "x"),
                                        in_specs=P("x", "y"), out_specs=kept))
                np.testing.assert_allclose(f(whole), WHOLE.sum(0, keepdims=True))
                assert seen.pop() == vma and not seen
        with nj.remove_size_one_mesh_axis_from_type(True):
            assert "pvary" not in str(nj.make_jaxpr(lambda a: lax.pcast(a, "y", to="varying"))(WHOLE))


def test_the_error_for_collectives_along_a_divided_batch_can_be_left_out():
    summed = over(lambda a, b: a + lax.all_gather(b, "x", tiled=True), (P(), P("x")), P(), check_vma=False)
    batch = nj.vmap(summed, in_axes=(0, None), spmd_axis_name="x")
    rows = np.stack([WHOLE] * 4)
    with pytest.raises(ValueError, match="vmap spmd_axis_name cannot appear in"):
        batch(rows, WHOLE)
    nj.config.update("jax_disable_vmap_shmap_error", True)
    try:
        np.testing.assert_allclose(batch(rows, WHOLE), 2 * rows)
    finally:
        nj.config.update("jax_disable_vmap_shmap_error", False)


@pytest.mark.parametrize("ordered", [False, True])
def test_callbacks_are_called_by_the_device_of_their_sharding(ordered):
    seen, last = [], nj.devices()[-1]

    def f(x):
        nj.experimental.io_callback(lambda v: seen.append(v.tolist()), None, x,
                                    ordered=ordered, sharding=nj.sharding.SingleDeviceSharding(last))
        return x + 1
    step = nj.jit(f, in_shardings=NamedSharding(MESH, P(("x", "y"))))
    np.testing.assert_array_equal(step(np.arange(8)), np.arange(8) + 1)
    nj.effects_barrier()
    assert seen == [list(range(8))]
    assert "sdy.mesh @maximal_mesh_7 = <[], device_ids=[7]>" in step.lower(np.arange(8)).as_text()


def test_pmap_is_over_the_first_devices():
    x = np.arange(12, dtype=np.float32).reshape(4, 3) + 1
    f = nj.pmap(lambda a, b: (a / lax.psum(a, "i") * b, a.sum()), axis_name="i", in_axes=(0, None), out_axes=(1, 0))
    share, total = f(x, 2.0)
    np.testing.assert_allclose(share, (x / x.sum(0) * 2).T, rtol=1e-6)
    assert total.tolist() == x.sum(1).tolist() and total.devices() == set(nj.devices()[:4]) and total.sharding.spec == P("i")
    slope = nj.grad(lambda x: f(x, 2.0)[1].sum())(x)
    assert slope.tolist() == np.ones((4, 3)).tolist()
    with pytest.raises(ValueError, match=r"there are 8: axis 0 of argument a of shape \(9, 1\) has size 9"):
        f(np.ones((9, 1)), 1.0)
    with pytest.raises(ValueError, match="pmap got inconsistent sizes"):
        nj.pmap(lambda a, b: a + b)(np.ones(2), np.ones(3))


def test_checks_of_types_leave_out_what_varies():
    with nj.enable_checks(True):
        body = lambda x: lax.axis_index("x") * 1.0 + x + lax.psum(x, "x")
        f = nj.jit(nj.shard_map(body, mesh=nj.make_mesh((8,), ("x",)), in_specs=P("x"), out_specs=P("x")))
        np.testing.assert_array_equal(f(np.ones(8, np.float32)), np.arange(8) + 9.0)


def test_programs_without_results_and_ordered_prints_of_shards(capfd):
    nj.pmap(lambda x: nj.debug.print("{}", x))(np.arange(8))
    nj.effects_barrier()
    assert sorted(capfd.readouterr().out.split()) == [*"01234567"]
    with pytest.raises(ValueError, match=r"ordered effects are not supported for more than 1 device.*leave out ordered"):
        nj.pmap(lambda x: nj.debug.print("{}", x, ordered=True))(np.arange(8))


def test_partitioned_prints_and_callbacks_get_parts(capfd):
    sharding, seen = NamedSharding(nj.make_mesh((2,), ("x",), (AxisType.Auto,)), P("x")), []
    x, y = nj.device_put(np.arange(4).reshape(2, 2), sharding), nj.device_put(np.arange(6, 10).reshape(2, 2), sharding)
    nj.jit(nj.vmap(lambda x, y: nj.debug.print("{} {}", x, y, partitioned=True), (0, 1)))(x, y)
    nj.debug.callback(lambda v: seen.append(v.tolist()), x * 2, partitioned=True)
    nj.effects_barrier()
    assert sorted(capfd.readouterr().out.splitlines()) == ["[0 1] [6]", "[0 1] [8]", "[2 3] [7]", "[2 3] [9]"]
    assert sorted(seen) == [[[0, 2]], [[4, 6]]]
    with pytest.raises(ValueError, match=r"ordered effects are not supported.*Leave out ordered"):
        nj.jit(lambda x: nj.debug.print("{}", x, ordered=True, partitioned=True))(x)


@pytest.mark.parametrize("spec", [P(), P(None), P(None, None), P("x"), P("x", None), P(None, "y")])
def test_results_show_their_specifications_as_given(spec):
    out = over(lambda a: a, spec, spec)(WHOLE)
    assert out.sharding.spec == spec and out.sharding.mesh == MESH
    np.testing.assert_array_equal(out, WHOLE)


def test_results_divided_by_an_abstract_mesh_are_over_the_mesh_in_use():
    mesh = nj.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
    with nj.set_mesh(mesh):
        abstract = NamedSharding(mesh.abstract_mesh, P("x", "y"))
        out = nj.jit(lambda: lax.with_sharding_constraint(jnp.ones((8, 8)), abstract))()
    assert out.sharding.is_equivalent_to(NamedSharding(mesh, P("x", "y")), 2)


LIKE = {
    "zeros_like": jnp.zeros_like, "ones_like": jnp.ones_like, "empty_like": jnp.empty_like,
    "full_like": lambda a: jnp.full_like(a, 3), "lax.full_like": lambda a: lax.full_like(a, 3),
    "of another shape": lambda a: jnp.zeros_like(a, shape=(3,)),
    "of another dtype": lambda a: jnp.zeros_like(a, dtype=np.int32)}


@pytest.mark.parametrize("name", LIKE)
def test_arrays_made_like_others_vary_as_they_do(name):
    found = []
    over(lambda a: found.append(nj.typeof(LIKE[name](a)).vma) or a, P("x"), P("x"))(WHOLE)
    assert found == [{"x"}]


def test_arrays_made_like_others_are_first_values_of_loops_and_results_of_branches():
    sums = over(lambda a: lax.scan(lambda c, row: (c + row, None), jnp.zeros_like(a[0]), a)[0], P("x"), P("x"))(WHOLE)
    np.testing.assert_array_equal(sums.reshape(4, 8), WHOLE.reshape(4, 2, 8).sum(1))
    chosen = over(lambda a: lax.cond(a[0, 0] > 20, lambda: a, lambda: jnp.zeros_like(a)), P("x"), P("x"))(WHOLE)
    np.testing.assert_array_equal(chosen, np.where(np.arange(8)[:, None] // 2 * 16 > 20, WHOLE, 0))


def test_types_tell_over_which_axes_values_vary_under_jaxs_name():
    found = []
    over(lambda a: found.append([nj.typeof(a), nj.eval_shape(jnp.sin, a)]) or a, P("x"), P("x"))(WHOLE)
    assert [x.manual_axis_type.varying for x in found[0]] == [{"x"}] * 2
    out = over(lambda a: nj.pure_callback(np.sin, nj.eval_shape(jnp.sin, a), a), P("x"), P("x"))(WHOLE)
    np.testing.assert_array_equal(out, np.sin(WHOLE))
    with pytest.raises(ValueError, match="Got unexpected `to` value"):
        over(lambda a: lax.pcast(a, "y", to="different"), P("x"), P("x"))(WHOLE)


def test_references_among_the_arguments():
    ref = nj.new_ref(jnp.zeros(8))

    @nj.jit
    @nj.shard_map(mesh=MESH, in_specs=(P("x"), P("x")), out_specs=None)
    def add(ref, x):
        ref[...] += x * lax.axis_index("x")
    for _ in range(2):
        add(ref, np.arange(8, dtype=np.float32))
    assert ref[...].tolist() == [0, 0, 4, 6, 16, 20, 36, 42]


def test_prints_of_shards_over_some_axes_come_once(capfd):
    nj.jit(over(lambda a: nj.debug.print("{}", a[0, 0]) or a, P("x"), P("x"), axis_names={"x"}))(WHOLE)
    nj.effects_barrier()
    assert sorted(capfd.readouterr().out.split()) == sorted(map(str, WHOLE[::2, 0]))


def test_values_gathered_for_all_do_not_vary():
    f = over(lambda a: lax.all_gather(a, "x", tiled=True, to="invarying"), P("x"), P())
    assert (f(WHOLE) == WHOLE).all() and (nj.grad(lambda a: (f(a) ** 2).sum())(WHOLE) == 2 * WHOLE).all()
    g = over(lambda a: lax.all_gather(a, ("x", "y"), axis=1, axis_index_groups=[[0, 1, 2, 3], [4, 5, 6, 7]], tiled=True),
             P(None, ("x", "y")), P(None, ("x", "y")))
    assert (g(WHOLE) == np.concatenate([*[WHOLE[:, :4]] * 4, *[WHOLE[:, 4:]] * 4], 1)).all()


def test_derivatives_of_a_batch_that_is_divided():
    f = over(lambda a: jnp.sin(a).sum(), P("y"), P(), check_vma=False)
    divided = nj.device_put(WHOLE, NamedSharding(MESH, P("x")))
    np.testing.assert_allclose(nj.vmap(nj.grad(f), spmd_axis_name="x")(divided), nj.vmap(nj.grad(f))(WHOLE), rtol=1e-6)
    before = nj.jit(nj.grad(lambda a: f(a * 2)))
    np.testing.assert_allclose(nj.vmap(before, spmd_axis_name="x")(divided), nj.vmap(before)(WHOLE), rtol=1e-6)
    summed = over(lambda a: lax.psum(a, "x"), P("y"), P("y"), check_vma=False)
    with pytest.raises(ValueError, match="psum in the shard_map is over"):
        nj.vmap(summed, spmd_axis_name="x")(divided)


def test_batches_are_divided_along_explicit_axes():
    mesh = nj.make_mesh((4, 2), ("x", "y"))
    x = nj.device_put(WHOLE, NamedSharding(mesh, P("x", "y")))
    with nj.set_mesh(mesh):
        total = nj.shard_map(lambda a: lax.psum(a, "y"), in_specs=P("y"), out_specs=P())
        out = nj.jit(nj.vmap(total))(x)
        assert out.sharding.spec == P("x", None) and (out == WHOLE[:, :4] + WHOLE[:, 4:]).all()
        assert nj.smap(lambda a: a * 2, in_axes=0, out_axes=0, axis_name="y")(x).tolist() == (2 * WHOLE).tolist()
    with pytest.raises(ValueError, match="along which the batch of the vmap around it is divided"):
        nj.vmap(nj.shard_map(lambda a: a, mesh=mesh, in_specs=P("x"), out_specs=P("x"), axis_names={"x"}))(x)
    with nj.set_mesh(MESH), pytest.raises(TypeError, match="in_axes was not specified"):
        nj.smap(lambda a: a, out_axes=0, axis_name="x")(WHOLE)
    with pytest.raises(ValueError, match="Only one of spmd_axis_name or arrays sharded on"):
        nj.vmap(lambda a: a, spmd_axis_name="y")(x)


def test_one_argument_says_where_an_abstract_mesh_is():
    f = nj.shard_map(lambda a, b: (a, b * 2), mesh=MESH.abstract_mesh, in_specs=P("x"), out_specs=P("x"))
    there = nj.device_put(WHOLE, NamedSharding(MESH, P("x", "y")))
    out, twice = f(WHOLE, there)
    assert out.sharding == NamedSharding(MESH, P("x")) and (twice == 2 * WHOLE).all()
    with pytest.raises(ValueError, match=r"Please pass .* with a `NamedSharding`"):
        f(WHOLE, WHOLE)
    with pytest.raises(ValueError, match="does not match the mesh shape passed to shard_map"):
        f(WHOLE, nj.device_put(WHOLE, NamedSharding(nj.make_mesh((8,), ("z",)), P("z"))))


@pytest.mark.parametrize("shape", [(0, 4), (4, 0)])
def test_collectives_exchange_nothing(shape):
    calls = {"all_gather": lambda v, axis: lax.all_gather(v, "x", axis=axis, tiled=True),
             "psum_scatter": lambda v, axis: lax.psum_scatter(v, "x", scatter_dimension=axis, tiled=True),
             "all_to_all": lambda v, axis: lax.all_to_all(v, "x", axis, axis, tiled=True)}
    mesh = nj.make_mesh((4,), ("x",), (AxisType.Auto,), devices=nj.devices()[:4])

    def every(v):
        return [call(v, axis) for call in calls.values() for axis in (0, 1)]
    found = nj.jit(nj.shard_map(every, mesh=mesh, in_specs=P(), out_specs=P(), check_vma=False))(np.zeros(shape, np.float32))
    grow, shrink = [(4 * shape[0], shape[1]), (shape[0], 4 * shape[1])], [(shape[0] // 4, shape[1]), (shape[0], shape[1] // 4)]
    assert [x.shape for x in found] == [*grow, *shrink, shape, shape]


@pytest.mark.parametrize("mapped", [
    lambda f: nj.pmap(f), lambda f: nj.shard_map(f, mesh=nj.make_mesh((8,), ("i",)), in_specs=P("i"), out_specs=P("i"))])
def test_errors_of_shards_name_the_function(mapped):
    def mine(first):
        return 1 if first.sum() > 0 else first
    with pytest.raises(nj.errors.TracerBoolConversionError, match=r"the function mine at .*shards\.py:\d+ for shard_map"):
        mapped(mine)(np.arange(8.0))


def test_programs_of_shards_have_the_names_of_arguments():
    mesh = nj.make_mesh((8,), ("i",))
    f = nj.shard_map(lambda a, b: a["k"] + b, mesh=mesh, in_specs=P("i"), out_specs=P("i"))
    body = nj.make_jaxpr(f)({"k": np.arange(8.0)}, np.arange(8.0)).eqns[0].params["jaxpr"]
    assert body.debug_info.arg_names == ("a['k']", "b") and body.debug_info.result_paths == ("result",)
