"""grad, jvp, vjp, linearize, Jacobians, vmap: values, compositions, errors."""
import contextlib

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.testing.records import check_function


def test_orders_and_arguments():
    close = np.testing.assert_allclose
    close(nj.grad(nj.grad(nj.grad(jnp.tanh)))(1.0), 0.62162673, rtol=1e-4)
    close(nj.grad(lambda a, b: a * b ** 2, argnums=(0, 1))(3.0, 2.0), (4.0, 12.0))
    (value, aux), g = nj.value_and_grad(lambda x: (x ** 2, {"a": 2 * x}), has_aux=True)(3.0)
    close([value, aux["a"], g], [9, 6, 6])
    close(nj.grad(lambda x, *, k: x * k)(1.0, k=5.0), 5.0)
    assert nj.grad(lambda p: p["w"].sum() * p["b"])({"w": jnp.ones(3), "b": 2.0})["w"].tolist() == [2, 2, 2]


def test_python_control_flow_on_values_under_grad():
    f = lambda x: x ** 2 if x > 0 else -x
    assert float(nj.grad(f)(2.0)) == 4 and float(nj.grad(f)(-2.0)) == -1


def test_errors_of_grad():
    with pytest.raises(TypeError, match="real"):
        nj.grad(lambda x: x * 2)(3)
    with pytest.raises(TypeError, match=r"shape: \(3,\)"):
        nj.grad(lambda x: x * 2)(np.ones(3, np.float32))
    with pytest.raises(TypeError, match="complex"):
        nj.grad(lambda x: x * 1j)(1.0)
    for derivative in (nj.grad, nj.jacfwd, nj.jacrev, nj.hessian):
        with pytest.raises(ValueError, match="argnums is an empty"):
            derivative(lambda x: x, argnums=())(1.0)
    with pytest.raises(TypeError, match="argnums"):
        nj.grad(lambda x: x, argnums=2)(1.0)
    with pytest.raises(TypeError, match="callable"):
        nj.grad(3)
    with pytest.raises(TypeError, match="two-element"):
        nj.grad(lambda x: x, has_aux=True)(1.0)


def test_integer_arguments():
    g = nj.grad(lambda x, n: x * n, allow_int=True, argnums=(0, 1))(2.0, 3)
    assert float(g[0]) == 3.0 and g[1].dtype == nj.float0


def test_complex():
    g = nj.grad(lambda z: z ** 2, holomorphic=True)(1.0 + 2.0j)
    np.testing.assert_allclose(g, 2 + 4j)
    np.testing.assert_allclose(nj.grad(lambda z: jnp.abs(z) ** 2)(3.0 + 4.0j), 6 - 8j, rtol=1e-5)


def test_jvp_of_python_numbers_gives_rules_of_users_the_numbers():
    seen = []

    @nj.custom_jvp
    def double(x):
        return x * 2

    @double.defjvp
    def rule(primals, tangents):
        seen.append((*primals, *tangents))
        return double(*primals), tangents[0] ** 2

    assert nj.jvp(double, (2.0,), (3.0,)) == (4.0, 9.0) and list(map(type, seen[0])) == [float, float]
    assert list(map(type, nj.jvp(lambda x: x, (2.0,), (3.0,)))) == [float, float]
    for same in (jnp.asarray, jnp.positive, lambda x: +x, jnp.real, jnp.conj, lambda x: nj.jvp(jnp.asarray, (x,), (x,))[0]):
        assert all(isinstance(v, nj.Array) for v in nj.jvp(same, (2.0,), (3.0,)))   # functions of arrays return arrays
    value, tangent = nj.jvp(lambda x: x + 1, (2.0,), (3.0,))   # operations compute with arrays
    assert isinstance(tangent, nj.Array) and value.weak_type and tangent.weak_type
    thirds = nj.jvp(lambda x: x * x, (np.float32(1) / 3,), (np.float32(1),))
    assert nj.jvp(lambda x: x * x, (float(np.float32(1) / 3),), (1.0,))[0] == thirds[0]


def test_jvp_vjp_linearize():
    f = lambda x, y: (jnp.sin(x) * y, x + y)
    _, (da, db) = nj.jvp(f, (1.0, 2.0), (0.5, 0.25))
    np.testing.assert_allclose([da, db], [np.cos(1) * 2 * 0.5 + np.sin(1) * 0.25, 0.75], rtol=1e-6)
    _, pull = nj.vjp(f, 1.0, 2.0)
    np.testing.assert_allclose(pull((1.0, 0.0)), [np.cos(1) * 2, np.sin(1)], rtol=1e-6)
    _, push = nj.linearize(f, 1.0, 2.0)
    np.testing.assert_allclose(push(0.5, 0.25)[0], da, rtol=1e-6)
    np.testing.assert_allclose(nj.jit(lambda x: nj.vjp(jnp.sin, x)[1](1.0)[0])(0.3), np.cos(0.3), rtol=1e-6)
    _, pull = nj.jit(lambda x: nj.vjp(jnp.sin, x))(0.3)
    np.testing.assert_allclose(pull(1.0)[0], np.cos(0.3), rtol=1e-6)
    (transposed,) = nj.linear_transpose(lambda x: 3 * x, 1.0)(2.0)
    assert float(transposed) == 6


def test_errors_of_jvp_and_vjp():
    with pytest.raises(TypeError, match="tuples or lists"):
        nj.jvp(jnp.sin, 1.0, 1.0)
    with pytest.raises(TypeError, match="dtype"):
        nj.jvp(jnp.sin, (1.0,), (1,))
    with pytest.raises(ValueError, match="shape"):
        nj.jvp(jnp.sin, (jnp.ones(2),), (jnp.ones(3),))
    with pytest.raises(TypeError, match="tree structure"):
        nj.jvp(jnp.sin, (1.0,), (1.0, 2.0))
    _, pull = nj.vjp(lambda x: {"a": x}, jnp.ones(2))
    with pytest.raises(ValueError, match="tree structure"):
        pull(jnp.ones(2))
    with pytest.raises(ValueError, match="shape"):
        pull({"a": jnp.ones(3)})


def test_jacobians_of_trees():
    f = lambda p, x: {"y": p["w"] @ x, "s": x.sum()}
    p, x = {"w": jnp.arange(6.0).reshape(2, 3)}, jnp.arange(3.0)
    for jac in (nj.jacfwd, nj.jacrev):
        j = nj.jit(jac(f, argnums=(0, 1)))(p, x)
        assert j["y"][0]["w"].shape == (2, 2, 3) and j["s"][1].tolist() == [1, 1, 1]
        np.testing.assert_allclose(j["y"][1], p["w"])
    h = nj.hessian(lambda v: jnp.sum(v ** 3))(x)
    np.testing.assert_allclose(h, np.diag(6 * np.arange(3.0)))


@pytest.mark.parametrize("jit", [False, True])
def test_compositions_agree_with_differences(jit):
    wrap = nj.jit if jit else lambda f: f

    def program(x, w):
        def step(c, row):
            c = jnp.tanh(w @ c + row)
            return c, lax.cond(c[0] > 0, jnp.sin, jnp.cos, c)
        c, ys = lax.scan(step, x, jnp.stack([x, 2 * x, -x]))
        inner = nj.vmap(lambda r: nj.grad(lambda v: jnp.sum(jnp.sin(v) ** 2))(r))(ys)
        return [wrap(lambda a: jnp.cumsum(a, 0).sum(0) + lax.fori_loop(0, 3, lambda i, v: v * 0.5 + c, c))(inner)]
    with nj.enable_x64():
        rng = np.random.default_rng(0)
        check_function(lambda *a: wrap(program)(*a), [rng.normal(size=3), rng.normal(size=(3, 3))], 2, "composition")


def test_hessian_of_while_in_forward_mode():
    f = lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.sin(c[1]) * x), (0, x))[1]
    second = nj.jacfwd(nj.jacfwd(f))(0.7)
    step = 1e-2
    slope = nj.jacfwd(f)
    np.testing.assert_allclose(second, (slope(0.7 + step) - slope(0.7 - step)) / (2 * step), rtol=1e-2)
    np.testing.assert_allclose(nj.grad(f)(0.7), slope(0.7), rtol=1e-5)


def test_vmap_axes_and_trees():
    x = jnp.arange(24.0).reshape(2, 3, 4)
    out = nj.vmap(lambda a, b: (a + b, a), in_axes=(1, None), out_axes=(0, 2))(x, 1.0)
    assert out[0].shape == (3, 2, 4) and out[1].shape == (2, 4, 3)
    np.testing.assert_array_equal(out[1], np.moveaxis(np.asarray(x), 1, 2))
    assert nj.vmap(lambda d, k: d["a"] * k, in_axes=({"a": 0}, None))({"a": jnp.arange(3.0)}, 2.0).tolist() == [0, 2, 4]
    assert nj.vmap(lambda x, *, y: x + y)(jnp.ones(2), y=jnp.arange(2.0)).tolist() == [1, 2]
    assert nj.vmap(lambda: 1.0, axis_size=3)().shape == (3,)
    assert nj.vmap(lambda a: 7.0, out_axes=None)(jnp.ones(2)) == 7.0
    assert nj.vmap(nj.vmap(jnp.dot, (None, 0)), (0, None))(jnp.eye(3), jnp.eye(3)).tolist() == np.eye(3).tolist()


def test_errors_of_vmap():
    with pytest.raises(ValueError, match="inconsistent") as info:
        nj.vmap(lambda a, b: a)(np.ones(3), {"k": np.ones(4)})
    assert "b['k']" in str(info.value)
    with pytest.raises(ValueError, match="rank"):
        nj.vmap(lambda a: a, in_axes=2)(np.ones(3))
    with pytest.raises(ValueError, match="at least one"):
        nj.vmap(lambda a: a, in_axes=None)(1.0)
    with pytest.raises(ValueError, match=r"at vmap out_axes, got axis spec None but output was batched on axis 0"):
        nj.vmap(lambda a: a, out_axes=None)(np.ones(3))
    with pytest.raises(ValueError, match=r"\(axis_name=i\).*at vmap out_axes\[1\]\['k'\], got axis spec None"):
        nj.vmap(lambda a: (a, {"k": a}), out_axes=(0, None), axis_name="i")(np.ones(3))
    with pytest.raises(ValueError, match="in_axes"):
        nj.vmap(lambda a: a, in_axes=(0, 0))(np.ones(3))
    with pytest.raises(TypeError, match="in_axes"):
        nj.vmap(lambda a: a, in_axes="0")(np.ones(3))


def test_random_perturbations_do_not_confuse():
    """The classic test of nested differentiation: d/dx (x * d/dy (x + y)) = 1."""
    assert float(nj.grad(lambda x: x * nj.grad(lambda y: x + y)(2.0))(1.0)) == 1.0
    assert float(nj.jvp(lambda x: x * nj.jvp(lambda y: x * y, (2.0,), (1.0,))[1], (3.0,), (1.0,))[1]) == 6.0


@pytest.mark.parametrize("how", ["eager", "jit", "vmap"])
def test_gradients_are_weakly_typed_where_the_parameter_is(how):
    y = jnp.ones(3)
    grad = nj.grad(lambda p: jnp.sum(nj.lax.scan(lambda c, _: (c + p["a"] * y, c), y * p["b"], None, length=3)[1]))
    mapped = lambda p: nj.vmap(grad)(nj.tree.map(lambda x: jnp.stack([x, x]), p))
    f = {"eager": grad, "jit": nj.jit(grad), "vmap": mapped}[how]
    g = f({"a": jnp.asarray(2.0), "b": jnp.float32(3.0)})
    assert (g["a"].weak_type, g["b"].weak_type) == (True, False)


@pytest.mark.parametrize("how", [nj.disable_jit, contextlib.nullcontext])
def test_derivatives_that_are_constants_are_arrays(how):
    """Of a jvp rule that gives a tangent of zero which it computed: a literal is the result of the linear program."""
    @nj.custom_jvp
    def two(x):
        return jnp.float32(2)

    two.defjvp(lambda primals, tangents: (two(*primals), jnp.float32(0)))
    with how():
        _, push = nj.linearize(lambda x: (two(x), x), 1.5)
        for found in (push(1.0)[0], nj.jit(push)(1.0)[0], nj.jvp(two, (1.5,), (1.0,))[1]):
            assert isinstance(found, nj.Array) and found.dtype == np.float32 and found == 0
        assert nj.grad(two)(1.5) == 0


@pytest.mark.parametrize("how", [
    lambda f: nj.grad(f, has_aux=True)(1.0)[1], lambda f: nj.value_and_grad(f, has_aux=True)(1.0)[0][1],
    lambda f: nj.vjp(f, 1.0, has_aux=True)[2], lambda f: nj.jvp(f, (1.0,), (1.0,), has_aux=True)[2],
    lambda f: nj.linearize(f, 1.0, has_aux=True)[2], lambda f: nj.jacrev(f, has_aux=True)(1.0)[1]])
def test_auxiliary_data_may_be_anything(how):
    aux = how(lambda x: (x ** 2, {"label": "hi", "type": dict, "value": x * 3, "list": [None, len]}))
    assert aux["label"] == "hi" and aux["type"] is dict and aux["list"] == [None, len] and float(aux["value"]) == 3


@pytest.mark.parametrize("transform", [nj.grad, nj.value_and_grad, nj.jacfwd, nj.jacrev, nj.vmap, nj.jit, nj.checkpoint])
def test_transformed_functions_keep_attributes(transform):
    def noted(x):
        return x
    noted.note = "kept"
    assert transform(noted).note == "kept" and transform(noted).__wrapped__ is noted


def test_vmap_passes_what_it_does_not_map():
    def scaled(x, how, by):
        return by(x) if how == "by" else x
    scaled.note = "kept"
    mapped = nj.vmap(scaled, in_axes=(0, None, None))
    assert mapped(jnp.arange(3), "by", lambda x: x * 2).tolist() == [0, 2, 4] and mapped.note == "kept"
    assert "Original documentation" in nj.vmap(jnp.dot).__doc__


@pytest.mark.parametrize("axes, message", [
    ({"in_axes": False}, "must be an int"), ({"in_axes": {"a": 0}}, "tuple of entries"),
    ({"out_axes": "x"}, "vmap out_axes must be an int"),
    ({"in_axes": (1.5,)}, "vmap in_axes must be an int")])
def test_axes_of_other_types(axes, message):
    with pytest.raises(TypeError, match=message):
        nj.vmap(lambda x: x, **axes)(jnp.ones((2, 2)))


def test_sizes_that_do_not_fit_are_listed():
    with pytest.raises(ValueError) as info:
        nj.vmap(lambda x, y, z, k: None, in_axes=(0, 1, 0))(np.ones((10, 4)), np.ones((10, 2)), np.ones(10), k=np.ones(3))
    assert str(info.value).splitlines() == [
        "vmap got inconsistent sizes for array axes to be mapped:",
        "  * most axes (2 of them) had size 10, e.g. axis 0 of argument x of type float32[10,4];",
        "  * one axis had size 2: axis 1 of argument y of type float32[10,2];",
        "  * one axis had size 3: axis 0 of kwargs['k'] of type float32[3]"]
    with pytest.raises(ValueError, match=r"the `axis_size` argument was 2;\n  \* one axis had size 8"):
        nj.vmap(lambda x: x, axis_size=2)(np.ones(8))
    with pytest.raises(ValueError, match=r"at least one argument .*got empty \*args=\(\{\},\)"):
        nj.vmap(lambda x: x)({})


def test_gradient_with_a_mask_of_a_constant_made_inside():
    def g(x, n=100_000):
        u = jnp.sin(jnp.arange(3.0 * n)).reshape(n, 3)
        return jnp.mean(jnp.sum((u - x) ** 2, 1)[:, None] * (jnp.argmax(u, 1)[:, None] == jnp.arange(3)).astype(jnp.float32), 0)
    x, ct = jnp.array([0.5, -0.2, 0.1]), jnp.array([0.0, 1.0, 0.0])
    for pulled in (nj.vjp(nj.jit(g), x)[1](ct)[0], nj.vjp(g, x)[1](ct)[0], nj.jit(lambda x: nj.vjp(g, x)[1](ct)[0])(x)):
        np.testing.assert_allclose(pulled, [-0.00571571, -0.368863, -0.13310805], rtol=1e-5)


@pytest.mark.parametrize("f", [
    lambda x: np.linspace(1., 2, 64).reshape(8, 8), lambda x: np.arange(5), lambda x: lax.scan(
        lambda c, v: (c + v, v), np.zeros(()), np.linspace(1., 2, 4)),
    lambda x: lax.while_loop(lambda c: c.sum() < 20, lambda c: c * 2, np.linspace(1., 2, 4)),
    lambda x: lax.cond(x > 0, lambda a: a * 2, lambda a: a, np.ones(3, complex))])
def test_constants_of_64_bits(f):
    wide = [a.dtype for h in (nj.jit(f), nj.vmap(f, axis_size=2, in_axes=None)) for a in nj.tree.leaves(h(1.0))]
    assert not {np.dtype("float64"), np.dtype("int64"), np.dtype("complex128")} & set(wide)


def test_values_and_tangents_that_are_computed_are_arrays():
    value, tangent = nj.jvp(lambda x: -x, (1.0,), (2.0,))
    assert type(value) is type(tangent) is type(jnp.ones(())) and tangent.weak_type and tangent.dtype == np.float32


@pytest.mark.parametrize("call, error, message", [
    (lambda: nj.vjp(jnp.sin, 1.0)[1](1.0, 2.0), TypeError, "applied to sin was called with 2 arguments"),
    (lambda: nj.linearize(jnp.sum, jnp.ones(3))[1](jnp.ones((3, 2))), ValueError, "inconsistent with the original primal"),
    (lambda: nj.linear_transpose(lambda x: 2. * x, 1), TypeError, "linear_transpose only supports"),
    (lambda: nj.linear_transpose(lambda x: x, 1.0)(1j), TypeError, "cotangent type does not match"),
    (lambda: nj.linear_transpose(lambda x: x * x, 1.0)(1.0), TypeError, "Only linear functions can be transposed"),
    (lambda: nj.linear_transpose(lambda x: 1 / x, 1.0)(1.0), TypeError, "Only linear functions can be transposed"),
    (lambda: nj.jvp(jnp.sin, 1.0, (1.0,)), TypeError, "found float and tuple"),
    (lambda: nj.jvp(jnp.sin, (1.0,), [1.0]), TypeError, "same tree structure"),
    (lambda: nj.grad(jnp.sin)("foo"), TypeError, "'foo' of type <class 'str'> is not a valid JAX type"),
    (lambda: nj.jit(lambda x: float(x))(1.0), TypeError, r"Try using `x.astype\(float\)`"),
    (lambda: nj.jit(lambda x: bool(x))(1.0), TypeError, "Attempted boolean conversion"),
    (lambda: nj.jit(lambda x: [1, 2][x])(1), TypeError, r"The __index__\(\) method was called on traced array"),
    (lambda: nj.jit(lambda x: int(x))(jnp.ones(3)), TypeError, "Only scalar arrays can be converted to Python scalars")])
def test_phrases_that_people_search_for(call, error, message):
    with pytest.raises(error, match=message):
        call()


def test_cotangents_of_integer_results_are_not_read():
    _, pull = nj.vjp(lambda x: (x * 2, jnp.arange(3)), 1.0)
    for ct in (np.ones(3, np.int32), np.ones(3, np.float32), np.zeros(3, nj.float0)):
        assert float(pull((1.0, ct))[0]) == 2
    with pytest.raises(ValueError, match="unexpected JAX type"):
        pull((1.0, np.ones(2, np.int32)))


def test_residuals_that_are_arguments_may_be_taken_out_and_put_back():
    w = jnp.full((2, 2), 3.0)
    _, pull = nj.vjp(lambda d, w: 2 * (d["x"] @ w) + jnp.sin(d["y"]), {"x": jnp.ones((2, 2)), "y": jnp.ones(2)}, w)
    assert pull.args_res[1] is w and len(pull.opaque_residuals) == 1
    assert repr(nj.vjp(jnp.sin, 1.0)[1].args_res) == "[NotNeeded()]" and nj.vjp(jnp.sin, 1.0)[1].opaque_residuals
    first = pull.args_res[0]
    pull.args_res = [None, None]
    with pytest.raises(ValueError, match="reads 2 arrays of the arguments, and its args_res hold 0"):
        pull(jnp.ones((2, 2)))
    pull.args_res = [first, None]
    pull.args_res[1] = 2 * w
    assert pull(jnp.ones((2, 2)))[0]["x"].tolist() == nj.jit(pull)(jnp.ones((2, 2)))[0]["x"].tolist() == [[24.0, 24.0]] * 2


def test_cotangents_that_nobody_wants_are_not_computed():
    x = jnp.arange(3.0)
    _, pull = nj.vjp(lambda x, d: x * d["a"], x, {"a": x + 1})
    into, ones = nj.new_ref(jnp.ones(3)), jnp.ones(3)
    found = pull.with_refs(nj.ad.DontWant(), {"a": nj.ad.GradValue()})
    assert found(jnp.ones(3))[0] == nj.ad.DidntWant() and found(jnp.ones(3))[1]["a"].tolist() == [0, 1, 2]
    assert len(nj.jit(lambda: found(ones)).trace().jaxpr.eqns) == 1
    assert pull.with_refs(into, {"a": nj.ad.DontWant()})(jnp.ones(3)) == (nj.ad.GradRef(), {"a": nj.ad.DidntWant()})
    assert into[...].tolist() == [2, 3, 4]
    with pytest.raises(TypeError, match="in the structure of the argument"):
        pull.with_refs(into, into)(jnp.ones(3))


@pytest.mark.parametrize("jitted", [True, False])
def test_fwd_and_bwd(jitted):
    fwd, bwd = nj.fwd_and_bwd(lambda x, n, w: (x @ w, {"n": n}), (0, -1), has_aux=True, jitted=jitted)
    w = jnp.ones((2, 2))
    for _ in range(2):
        y, residuals, aux = fwd(w, 5, 2 * w)
        dx, dw = bwd(residuals, w)
    assert y.tolist() == dx.tolist() == [[4, 4], [4, 4]] and dw.tolist() == [[2, 2], [2, 2]] and int(aux["n"]) == 5
    if jitted:
        with nj.no_tracing():
            bwd(fwd(w, 5, 2 * w)[1], w)


def test_transposes_are_pytrees():
    transposed = nj.jit(lambda f, x: nj.linear_transpose(f, x), static_argnums=0)(lambda x: x * jnp.arange(2.0), jnp.ones(2))
    assert nj.jit(lambda f, x: f(x))(transposed, jnp.ones(2))[0].tolist() == [0, 1]


def test_jacobians_of_python_scalars_are_weakly_typed():
    assert nj.jacfwd(lambda x: x * 2)(1.0).weak_type and not nj.jacfwd(lambda x: x * 2)(np.float32(1)).weak_type


def test_no_leak_is_found_in_vjp_of_checkpoint():
    with nj.checking_leaks():
        y, pull = nj.jit(lambda x: nj.vjp(nj.checkpoint(lambda x: nj.nn.relu(1.0 * x)), x))(2.0)
    assert y == 2 and pull(1.0)[0] == 1


def test_jacobians_by_and_of_integers_are_zeros_of_their_dtype():
    of = nj.jacfwd(lambda x: (x.astype(int), x))(jnp.arange(2.0))[0]
    assert of.dtype == np.int32 and of.tolist() == [[0, 0], [0, 0]]
    by, rows = nj.jacrev(lambda n, x: n * x, (0, 1), allow_int=True)(jnp.arange(2), 3.0)
    assert by.dtype == np.int32 and by.shape == (2, 2) and not by.any() and rows.tolist() == [0, 1]


def test_zeros_like_tangents_of_integers():
    tangents = nj.grad(lambda n, x: n * x, (0, 1), allow_int=True)(2, 3.0)
    for zeros in (jnp.zeros_like, lambda x: lax.full_like(x, 0), lambda x: lax.full(np.shape(x), 0, x.dtype)):
        found = nj.tree.map(zeros, tangents)
        assert [x.dtype for x in found] == [nj.float0, np.float32]


def test_out_axes_have_the_classes_of_the_result():
    assert nj.vmap(lambda x: [x, x], out_axes=[0, 1])(jnp.ones((2, 3)))[1].shape == (3, 2)
    with pytest.raises(ValueError, match="vmap out_axes"):
        nj.vmap(lambda x: (x, x), out_axes=[0, 1])(jnp.ones((2, 3)))
def test_the_batch_axis_of_a_product_stays_behind_through_elementwise_operations():
    """Moving it to the front and back would read every product of a chain of layers across its rows."""
    w, v, bias = jnp.ones((5, 4)), jnp.ones((3, 5)), jnp.arange(5.0)
    layers = lambda x: v @ (jnp.tanh(w @ x) * bias + jnp.where(bias > 2, w @ x, bias))
    xs = jnp.arange(8.0).reshape(2, 4)
    text = str(nj.make_jaxpr(nj.vmap(layers, out_axes=1))(xs))
    assert "transpose" not in text and text.count("dot_general") == 3
    np.testing.assert_allclose(nj.vmap(layers, out_axes=1)(xs), np.stack([layers(x) for x in xs], 1), rtol=1e-6)
    jacobian = str(nj.make_jaxpr(nj.jacfwd(layers))(xs[0]))
    assert "transpose" not in jacobian
