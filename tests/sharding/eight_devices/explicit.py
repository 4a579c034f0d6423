"""Explicit axes: types that say how arrays are divided, compared with those that JAX gave."""
from pathlib import Path

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.op import all_ops
from numjet.errors import ShardingTypeError
from numjet.lax.sharding_rules import RULES
from numjet.sharding import AxisType, NamedSharding, PartitionSpec as P, auto_axes, explicit_axes, reshard

MESH = nj.make_mesh((4, 2), ("x", "y"))
ONE = nj.make_mesh((1, 1), ("x", "y"), devices=nj.devices()[:1])
CASES = [line for line in (Path(__file__).parent / "explicit_cases.txt").read_text().splitlines() if line[0] != "#"]
TYPED = [case.split(" -> ") for case in CASES if " -> " in case]
WRONG = [case.split(" !! ") for case in CASES if " !! " in case]
W = np.arange(64, dtype=np.float32).reshape(8, 8)


def run(texts, mesh, jitted):
    """The values of expressions over a mesh; those of a program with all of them, or operation by operation."""
    def a(*spec, shape=(8, 8), dtype=np.float32):
        value = (np.arange(np.prod(shape)) % 37 / 8 if dtype is np.float32 else np.arange(np.prod(shape)) % 4)
        return nj.device_put(value.reshape(shape).astype(dtype), NamedSharding(mesh, P(*spec)))
    names = {**globals(), "a": a, "mesh": mesh}

    def value(text):
        try:
            return eval(text, names)
        except Exception as error:
            error.add_note(text)
            raise
    with nj.set_mesh(mesh):
        return nj.jit(lambda: list(map(value, texts)))() if jitted else list(map(value, texts))


def types_of(values):
    return "; ".join(str(nj.typeof(v)) for v in nj.tree.leaves(values))


def sharding_of(x):
    """The sharding that a type promises."""
    there = nj.typeof(x).sharding
    return NamedSharding(MESH, there.spec)


def check(text, wanted, found, one):
    assert types_of(found) == wanted, text
    for x, y in zip(nj.tree.leaves(found), nj.tree.leaves(one), strict=True):
        assert not x.ndim or x.sharding.is_equivalent_to(sharding_of(x), x.ndim), (text, x.sharding, nj.typeof(x))
        np.testing.assert_allclose(np.asarray(x, np.complex64), np.asarray(y, np.complex64), rtol=2e-4, atol=2e-4, err_msg=text)


@pytest.mark.parametrize("block", [TYPED[k:k + 18] for k in range(0, len(TYPED), 18)], ids=lambda block: block[0][0])
def test_types_are_those_of_jax_and_values_those_of_one_device(block):
    """Many expressions are one program, as each takes XLA long. Training has derivatives operation by operation."""
    texts = [text for text, _ in block]
    one = run(texts, ONE, True)
    for (text, wanted), found, alone in zip(block, run(texts, MESH, True), one, strict=True):
        check(text, wanted, found, alone)
        if "grad(" not in text and "hessian(" not in text:
            check(text, wanted, *run([text], MESH, False), alone)


@pytest.mark.parametrize("text, wanted", WRONG)
def test_errors_are_those_of_jax(text, wanted):
    kind, message = wanted.split(":", 1)
    with pytest.raises(Exception) as caught:
        run([text], MESH, True)
    assert kind in {cls.__name__ for cls in type(caught.value).__mro__}
    assert message.strip() in " ".join(str(caught.value).split())


def test_every_operation_has_a_rule_or_types_of_its_own():
    own = lambda op: op.elementwise or op.programs or op.typed or op.places is not None
    known = {name for name, op in all_ops().items() if own(op) or name in RULES}
    missing = set(all_ops()) - known
    assert missing <= {"custom_partitioning"}  # which has no rule: users divide its functions themselves


def test_programs_without_explicit_axes_have_no_placements():
    auto = nj.make_mesh((4, 2), ("x", "y"), (AxisType.Auto,) * 2)
    x = nj.device_put(W, NamedSharding(auto, P("x")))
    assert nj.typeof(x).placement is None and str(nj.typeof(x)) == "float32[8,8]"
    closed = nj.make_jaxpr(lambda x: jnp.sin(x) @ x.T)(x)
    assert all(v.aval.placement is None for e in closed.jaxpr.eqns for v in e.outvars)


def layer(x, weights):
    up, down = weights
    hidden = nj.nn.relu(jnp.einsum("bld,dh->blh", x, up))
    y = jnp.einsum("blh,hd->bld", hidden, down, out_sharding=P("x", None, None))
    return x + y, y.mean()


def loss(p, words):
    x = p["embed"].at[words].get(out_sharding=P("x", None, None))
    x, _ = lax.scan(nj.checkpoint(layer), x, (p["up"], p["down"]))
    x = x * lax.rsqrt((x ** 2).mean(-1, keepdims=True) + 1e-5)
    log = nj.nn.log_softmax(jnp.einsum("bld,vd->blv", x, p["embed"]))
    return -(log[:, :-1] * nj.nn.one_hot(words, 16)[:, 1:]).sum(-1).mean()


def trained(mesh, transform):
    """The losses of three steps, the parameters, and the types of the first step's results."""
    with nj.set_mesh(mesh):
        keys = nj.random.split(nj.random.key(0), 3)
        p = {"embed": nj.random.normal(keys[0], (16, 16)) * 0.3,
             "up": nj.random.normal(keys[1], (2, 16, 32), out_sharding=P(None, None, "y")) * 0.2,
             "down": reshard(nj.random.normal(keys[2], (2, 32, 16)) * 0.2, P(None, "y", None))}
        words = reshard(np.arange(64).reshape(8, 8) * 7 % 16, P("x"))

        @transform
        def step(p, words):
            value, slopes = nj.value_and_grad(loss)(p, words)
            return nj.tree.map(lambda x, g: x - 0.1 * g, p, slopes), value
        values = []
        for _ in range(3):
            p, value = step(p, words)
            values.append(float(value))
    return values, p


@pytest.mark.parametrize("transform", [nj.jit, lambda f: f], ids=["jit", "eager"])
def test_training_with_types_over_eight_devices_is_that_over_one(transform):
    (wanted, one), (found, p) = trained(ONE, nj.jit), trained(MESH, transform)
    np.testing.assert_allclose(found, wanted, rtol=1e-5)
    assert wanted[-1] < wanted[0]
    assert {name: str(nj.typeof(x)) for name, x in p.items()} == {
        "embed": "float32[16,16]", "up": "float32[2,16,32@y]", "down": "float32[2,32@y,16]"}
    for name, x in p.items():
        np.testing.assert_allclose(x, one[name], rtol=1e-3, atol=1e-5)


def test_edges_change_types():
    seen = []
    with nj.set_mesh(MESH):
        x = reshard(W, P("x", "y"))
        f = auto_axes(lambda v: seen.append((str(nj.typeof(v)), nj.sharding.get_abstract_mesh().axis_types)) or v * 2, axes="x",
                      out_sharding=P("x"))
        assert str(nj.typeof(f(x))) == str(nj.typeof(nj.jit(f)(x))) == "float32[8@x,8]"
        g = nj.shard_map(lambda v: seen.append((str(nj.typeof(v)), nj.sharding.get_abstract_mesh().axis_types)) or v,
                         out_specs=P("x"), axis_names={"x"})
        assert str(nj.typeof(g(x))) == "float32[8@x,8@y]"
        slope = nj.jit(nj.grad(lambda v: (g(v) * f(v)).sum()))(reshard(W, P("x")))
        np.testing.assert_allclose(slope, 4 * W)
    auto, explicit, manual = AxisType.Auto, AxisType.Explicit, AxisType.Manual
    assert seen[:2] == [("float32[8,8@y]", (auto, explicit))] * 2
    assert seen[2] == ("float32[2,8@y]{V:x}", (manual, explicit))


def test_without_a_mesh_in_use_arguments_say_it():
    x = nj.device_put(W, NamedSharding(MESH, P("x")))
    assert str(nj.typeof(x + x)) == "float32[8@x,8]" == str(nj.typeof(nj.jit(lambda v: v + jnp.zeros((8, 8)))(x)))
    assert nj.typeof(x).sharding.spec == P("x", None) and nj.typeof(x).sharding.mesh == MESH.abstract_mesh
    assert str(nj.typeof(auto_axes(lambda v: v.T, out_sharding=NamedSharding(MESH, P("y")))(x))) == "float32[8@y,8]"
    with pytest.raises(ValueError, match="not under a mesh context"):
        nj.jit(lambda v: reshard(v, P("y")))(x)


def test_two_meshes_and_another_mesh_in_use():
    other = nj.make_mesh((2, 4), ("x", "y"))
    x, y = (nj.device_put(W, NamedSharding(m, P("x"))) for m in (MESH, other))
    for f in (lambda v, w: v + w, nj.jit(lambda v, w: v + w)):
        with pytest.raises(ValueError, match="Mesh for all inputs should be equal"):
            f(x, y)
    with nj.set_mesh(other), pytest.raises(ValueError, match=r"context mesh AbstractMesh.* should match the aval mesh"):
        x * 2


def test_axes_of_other_types_are_refused_where_only_explicit_ones_are_meant():
    mixed = nj.make_mesh((4, 2), ("x", "y"), (AxisType.Explicit, AxisType.Auto))
    with nj.set_mesh(mixed):
        x = nj.device_put(W, NamedSharding(mixed, P("x", "y")))
        assert str(nj.typeof(x)) == "float32[8@x,8]" and (x + 1).sharding.spec == P("x", "y")
        assert nj.jit(lambda v: lax.with_sharding_constraint(v, P(None, "y")))(x).sharding.spec == P("x", "y")
        with pytest.raises(ValueError, match="can only refer to Auto axes"):
            lax.with_sharding_constraint(x, P("x", "y"))
        with pytest.raises(ValueError, match=r"axis name: y of type: AxisType\.Auto"):
            reshard(x, P("y"))


def test_arguments_that_are_divided_otherwise_are_refused_by_shard_map():
    with nj.set_mesh(MESH):
        x = reshard(W, P("x", "y"))
        with pytest.raises(ValueError, match=r"in_specs passed to shard_map: P\('x', None\) does not match the specs"):
            nj.shard_map(lambda v: v, in_specs=P("x"), out_specs=P("x"))(x)
        assert nj.shard_map(lambda v: v, in_specs=P("x"), out_specs=P("x"))(W).sharding.spec == P("x")


def test_batches_stay_divided():
    with nj.set_mesh(MESH):
        x = reshard(W, P("x"))
        per = nj.vmap(nj.grad(lambda w, v: (jnp.tanh(v @ w) ** 2).sum()), in_axes=(None, 0))(reshard(W, P(None, "y")), x)
        assert str(nj.typeof(per)) == "float32[8@x,8,8@y]"
        plain = nj.vmap(nj.grad(lambda w, v: (jnp.tanh(v @ w) ** 2).sum()), in_axes=(None, 0))(W, W)
        np.testing.assert_allclose(per, plain, rtol=1e-4, atol=1e-5)
        assert str(nj.typeof(nj.vmap(lambda v: reshard(v, P("y")), out_axes=1)(x))) == "float32[8@y,8@x]"


def test_types_of_structs():
    struct = nj.ShapeDtypeStruct((8, 8), np.float32, sharding=NamedSharding(MESH, P("x")))
    found = nj.eval_shape(lambda v: v.T, struct)
    assert found.sharding.spec == P(None, "x") and "spec=P(None, 'x')" in repr(found)
    text = nj.jit(lambda v: v.T * 2).lower(struct).as_text()
    assert text.count("sdy.sharding_constraint") >= 1


def test_vmap_passes_what_is_no_array_where_types_have_shardings():
    assert nj.vmap(lambda x, how: x * 2 if how == "twice" else x, (0, None))(jnp.arange(3), "twice").tolist() == [0, 2, 4]


@pytest.mark.parametrize("name, is_known", [("slicing", True), ("dynamic_slice", False)])
def test_errors_of_indexing_along_divided_dimensions_name_the_way_out(name, is_known):
    with nj.set_mesh(nj.make_mesh((4, 2), ("x", "y"))):
        a = nj.device_put(np.arange(64, dtype=np.float32).reshape(8, 8), P("x", "y"))
        with pytest.raises(ShardingTypeError, match=rf"{name} on sharded dims .*`x\.at\[\.\.\.\]\.get\(out_sharding=\)`"):
            nj.jit(lambda a, at: a[at], static_argnums=1 if is_known else ())(a, 3)
        row = nj.jit(lambda a: a.at[0].get(out_sharding=P("y")))(a)
        assert row.tolist() == list(range(8)) and str(nj.typeof(row)) == "float32[8@y]"


# ------------------------------------------------------------------------------------------------ sums still to be made

def test_sums_over_a_divided_dimension_wait_for_reshard():
    with nj.set_mesh(nj.make_mesh((4, 2), ("x", "y"))):
        a = nj.device_put(np.arange(64, dtype=np.float32).reshape(8, 8), P("x", "y"))
        b = nj.device_put(np.arange(64, dtype=np.float32).reshape(8, 8)[::-1], P("y"))
        product = lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x", unreduced={"y"}))
        for f in (product, nj.jit(product)):
            u = f(a, b)
            assert str(nj.typeof(u)) == "float32[8@x,8]{U:y}" and u.sharding.spec == P("x", None, unreduced={"y"})
            for g in (lambda u: u, lambda u: nj.reshard(u, P("x", "y")), lambda u: nj.reshard(u + u, P()) / 2,
                      nj.jit(lambda u: nj.reshard(u.T, P("y")).T), nj.jit(lambda u: -nj.reshard(-u, P("x")))):
                np.testing.assert_allclose(g(u), np.asarray(a) @ np.asarray(b))
        loss = lambda a, b, f: (nj.reshard(f(a, b), P("x")) ** 2).sum()
        for f in (nj.grad(loss, (0, 1)), nj.jit(nj.grad(loss, (0, 1)), static_argnums=2)):
            for found, plain in zip(f(a, b, product), f(a, b, lambda a, b: jnp.einsum("ij,jk->ik", a, b, out_sharding=P("x"))),
                                    strict=True):
                assert nj.typeof(found) is nj.typeof(plain)
                np.testing.assert_allclose(found, plain, rtol=1e-6)
        scattered = nj.reshard(nj.device_put(np.ones(8), P()), P(unreduced={"x"}))
        assert (np.asarray(scattered) == 1).all() and [s.data.sum() for s in scattered.addressable_shards] == [8, 8] + 6 * [0]
        assert "unreduced={" in nj.jit(product).lower(a, b).as_text()


def test_sums_still_to_be_made_print_their_sharding_not_a_value():
    with nj.set_mesh(nj.make_mesh((8,), ("x",))):
        total = nj.lax.reduce_sum(nj.device_put(np.arange(8, dtype=np.float32), P("x")), [0], out_sharding=P(unreduced={"x"}))
        for text in (repr(total), str(total)):
            assert text == f"Array(shape=(), dtype=float32, sharding={total.sharding})" and "unreduced={'x'}" in text
        assert repr(nj.reshard(total, P())) == "Array(28., dtype=float32)"


def test_cotangents_of_what_is_reduced_are_summands():
    with nj.set_mesh(nj.make_mesh((4, 2), ("x", "y"))):
        w = nj.device_put(np.arange(16, dtype=np.float32).reshape(4, 4), P(None, None, reduced={"x"}))
        x = nj.device_put(np.arange(32, dtype=np.float32).reshape(8, 4), P("x"))
        loss = lambda w, x: (jnp.sin(w * 2) + w.T).T.astype(jnp.float32) @ x.T
        total = lambda w, x: nj.lax.reduce_sum(loss(w, x), axes=(0, 1))
        dw, dx = nj.jit(nj.grad(total, (0, 1)))(w, x)
        plain = nj.grad(total, (0, 1))(nj.reshard(w, P()), x)
        assert str(nj.typeof(w)) == "float32[4,4]{R:x}" and str(nj.typeof(dw)) == "float32[4,4]{U:x}"
        np.testing.assert_allclose(nj.reshard(dw, P()), plain[0], rtol=1e-5)
        np.testing.assert_allclose(dx, plain[1], rtol=1e-5)


@pytest.mark.parametrize(("error", "text", "f"), [
    (NotImplementedError, "unreduced rule for sin is not implemented", lambda u, r, a: jnp.sin(u)),
    (ShardingTypeError, "cannot be unreduced since mul is bilinear", lambda u, r, a: u * u),
    (ShardingTypeError, "should be reduced along the same axes", lambda u, r, a: u * a),
    (ShardingTypeError, "please reduce the first via `reshard`", lambda u, r, a: u + a),
    (ShardingTypeError, "cannot be replicated on the same axes", lambda u, r, a: r + a),
    (ShardingTypeError, "cannot be sharded/varying on the same axes", lambda u, r, a: r + nj.reshard(a, P("x"))),
])
def test_operations_that_would_change_sums(error, text, f):
    with nj.set_mesh(nj.make_mesh((4, 2), ("x", "y"))):
        one = np.ones((8, 8), np.float32)
        u, r, a = (nj.reshard(jnp.asarray(one), s) for s in (P(unreduced={"x"}), P(reduced={"x"}), P()))
        assert (nj.reshard(u * r, P()) == one).all()
        with pytest.raises(error, match=text):
            nj.jit(f)(u, r, a)


def test_results_without_divided_operands_say_every_dimension():
    with nj.set_mesh(MESH):
        assert jnp.eye(3).sharding == (jnp.arange(9.0).reshape(3, 3) + 1).sharding == NamedSharding(MESH, P(None, None))
        assert jnp.array(W).sharding == NamedSharding(MESH, P())


def test_out_sharding_may_name_more_dimensions_that_are_not_divided():
    rows = nj.device_put(W, NamedSharding(MESH, P("x")))
    with nj.set_mesh(MESH):
        found = nj.vmap(lambda x, k: x.at[k].get(out_sharding=P(None)))(rows, nj.device_put(np.arange(8), rows.sharding))
        assert str(nj.typeof(found)) == "float32[8@x]" and found.tolist() == np.diagonal(W).tolist()
        with pytest.raises(ValueError, match="rank at least 2"):
            jnp.ones(4, out_sharding=P(None, "x"))


@pytest.mark.parametrize("left, right, unreduced, message", [
    (P("x", "y"), P("y"), {"x"}, "unreduced axes should be equal to the contracting specs"),
    (P("x", "y"), P(), {"y"}, "lhs and rhs contracting dims should be sharded identically"),
    (P("x"), P(), {"y"}, "unreduced axes should be equal to the contracting specs")])
def test_sums_left_to_be_made_are_over_contracted_axes(left, right, unreduced, message):
    x, y = (nj.device_put(W, NamedSharding(MESH, spec)) for spec in (left, right))
    with nj.set_mesh(MESH):
        for f in (lambda x, y, to: jnp.einsum("ij,jk->ik", x, y, out_sharding=to),
                  lambda x, y, to: lax.dot(x, y, out_sharding=to)):
            with pytest.raises(ShardingTypeError, match=message):
                nj.jit(lambda x, y, f=f: f(x, y, P(None, unreduced=unreduced))).trace(x, y)


def test_sums_along_other_axes_do_not_add():
    x, y = nj.device_put(W, NamedSharding(MESH, P(None, "x"))), nj.device_put(W, NamedSharding(MESH, P("x")))
    u, v = nj.device_put(W, NamedSharding(MESH, P(None, "y"))), nj.device_put(W, NamedSharding(MESH, P("y")))
    def product(x, y, *axes):
        return jnp.einsum("ij,jk->ik", x, y, out_sharding=P(None, unreduced=set(axes)))
    with nj.set_mesh(MESH):
        with pytest.raises(ShardingTypeError, match="lhs and rhs to `add` must be unreduced along the same mesh axes"):
            nj.make_jaxpr(lambda *a: product(*a[:2], "x") + product(*a[2:], "y"))(x, y, u, v)
        with pytest.raises(ShardingTypeError, match="lhs is unreduced while rhs is not"):
            nj.make_jaxpr(lambda *a: product(*a[:2], "x") + product(*a[2:]))(x, y, u, v)


def test_axes_that_the_compiler_has_already_are_left_as_they_are():
    with nj.set_mesh(nj.make_mesh((4, 2), ("x", "y"), (AxisType.Auto, AxisType.Auto))):
        f = auto_axes(lambda x: x * 2, out_sharding=P("x"))
        assert nj.jit(f)(np.arange(8)).tolist() == list(range(0, 16, 2))
        assert "reshard" not in str(nj.make_jaxpr(f)(np.arange(8)))
    with pytest.raises(ValueError, match="contains manual axes"):
        nj.set_mesh(nj.make_mesh((8,), ("x",), (AxisType.Manual,)))


def spec_of(x):
    return x.sharding.spec


@pytest.mark.parametrize("jitted", [lambda f: f, nj.jit])
def test_batches_of_programs_stay_divided(jitted):
    with nj.set_mesh(MESH):
        x = nj.device_put(W, P("x", "y"))
        f = nj.vmap(jitted(lambda row: row * 2))
        assert spec_of(f(x)) == spec_of(nj.jit(f)(x)) == P("x", "y")
        g = nj.vmap(jitted(lambda m, n: jnp.einsum("ij,jk->ik", m, n, out_sharding=P(None, "y"))), in_axes=(0, 1), out_axes=2)
        m, n = nj.device_put(W.reshape(4, 4, 4), P("x", None, "y")), nj.device_put(W.reshape(4, 4, 4), P(None, "x", "y"))
        assert spec_of(g(m, n)) == P(None, "y", "x")
        np.testing.assert_allclose(g(m, n), np.einsum("bij,jbk->ikb", m, n))
        h = nj.vmap(jitted(lambda row: reshard(row, P(None))))
        assert spec_of(h(x)) == P("x", None)


def test_results_that_do_not_depend_on_a_divided_batch_are_divided_along_out_axes():
    with nj.set_mesh(MESH):
        out = nj.vmap(lambda x: jnp.zeros(4), out_axes=-1)(nj.device_put(W[0], P("x")))
    assert out.shape == (4, 8)
    assert spec_of(out) == P(None, "x")


def test_functions_with_auto_axes_get_arrays():
    def f(x):
        assert x.aval.sharding.mesh.are_all_axes_auto
        return x * 2
    with nj.set_mesh(MESH):
        out = auto_axes(f)(np.arange(8), out_sharding=P("x"))
    assert spec_of(out) == P("x")
    assert out.tolist() == list(range(0, 16, 2))


def test_another_mesh_over_the_same_devices():
    with nj.set_mesh(MESH):
        with nj.sharding.use_abstract_mesh(nj.sharding.AbstractMesh((8,), ("z",))):
            assert jnp.arange(8).sharding == NamedSharding(nj.make_mesh((8,), ("z",), (AxisType.Auto,)), P())
        x = nj.device_put(W, P("x", "y"))

        def f(x):
            with nj.sharding.use_abstract_mesh(MESH.abstract_mesh.update(axis_sizes=(8, 1), axis_names=("a", "b"))):
                return reshard(x * 1, P(("a", "b"), None)) * 2
        for out in (nj.jit(lambda x: f(reshard(x, P())))(x), f(reshard(x, P()))):
            assert spec_of(out) == P(("a", "b"), None)
            np.testing.assert_array_equal(out, W * 2)


def test_values_of_explicit_axes_are_not_computed_with_where_the_compiler_has_the_axes():
    with nj.set_mesh(MESH):
        x = nj.device_put(W, P("x", "y"))
        with nj.sharding.use_abstract_mesh(MESH.abstract_mesh.update_axis_types({"x": AxisType.Auto})):
            with pytest.raises(ValueError, match=r"For primitive dot_general, context mesh.*should match the aval mesh"):
                nj.jit(lambda x: x @ x)(x)


def test_messages_of_divided_selections_splits_and_free_dimensions():
    with nj.set_mesh(MESH):
        x, y = nj.device_put(W, P("x", "y")), nj.device_put(W, P("y", "x"))
        with pytest.raises(ShardingTypeError, match="select cases must have the same shardings"):
            lax.select(x == x, x, y)
        with pytest.raises(ShardingTypeError, match="select `which` must be scalar or have the same sharding as cases"):
            lax.select(y == y, x, x)
        with pytest.raises(ShardingTypeError, match="split on sharded dims"):
            lax.split(x, (1, 7), axis=1)
    with pytest.raises(ValueError, match=r"cannot contain `P\.UNCONSTRAINED` when no mesh axis_types are `Auto`"):
        NamedSharding(MESH, P(P.UNCONSTRAINED))
    with pytest.raises(ValueError, match="Context mesh cannot be empty"):
        explicit_axes(lambda x: x, in_sharding=P())(W)


def test_manual_axes_become_neither_auto_nor_explicit():
    mesh = nj.make_mesh((4, 2), ("x", "y"), (AxisType.Auto, AxisType.Auto))
    with nj.set_mesh(mesh):
        for change in (auto_axes(lambda a: a * 2, axes="x", out_sharding=P("x")),
                       explicit_axes(lambda a: a * 2, in_sharding=P("x"))):
            with pytest.raises(NotImplementedError, match="Going from `Manual` AxisType to `Auto` or `Explicit` AxisType"):
                nj.jit(nj.shard_map(change, in_specs=P("x"), out_specs=P("x")))(np.arange(8))
