"""Functions exported for symbolic shapes: traced once, serialized, and called with many sizes."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import export
from numjet.errors import InconclusiveDimensionOperation

AT_LEAST_TWO = ("a >= 2", "b >= 2")


def spec(shape, constraints=(), dtype=np.float32, scope=None):
    return nj.ShapeDtypeStruct(export.symbolic_shape(shape, constraints=constraints, scope=scope), dtype)


def numbers(*shape):
    return np.random.default_rng(0).standard_normal(shape).astype(np.float32)


def exported(f, *specs, vjp_order=0):
    """The function, exported and read back."""
    return export.deserialize(export.export(nj.jit(f))(*specs).serialize(vjp_order))


FUNCTIONS = {text: eval(f"lambda x: {text}") for text in """
jnp.mean(x)
jnp.var(x, axis=0)
jnp.average(x, axis=1)
jnp.argmax(x, 1)
x * x.shape[0] / x.shape[1]
x + jnp.arange(x.shape[1])
jnp.arange(1, x.shape[0], 2)
jnp.arange(x.shape[0], 0, -1)
jnp.linspace(0, 1, x.shape[0])
jnp.repeat(x, x.shape[1], axis=0)
jnp.repeat(x, x.shape[1])
jnp.roll(x, x.shape[0] // 2, axis=1)
jnp.pad(x, [(x.shape[1], 0), (0, 1)])
jnp.pad(x, [(0, x.shape[1]), (1, 0)], mode="edge")
jnp.einsum("ab,cb,cd->ad", x, x, x)
jnp.linalg.solve(jnp.eye(3) + x[:, :1, None] ** 2, jnp.ones((x.shape[0], 3, 1)))
nj.lax.top_k(x, x.shape[1] - 1)[0]
nj.lax.dynamic_slice(x, (x.shape[0] - 1, 0), (1, 2))
nj.lax.reduce_window(x, -jnp.inf, nj.lax.max, (3, 2), (2, 1), "VALID")
x.reshape(-1)
x.reshape(x.shape[1], x.shape[0])
x.reshape(x.shape[0], 1, -1)
x[0] + x[-1]
x[1:, :-1]
x[::2]
x[::-1, None]
x[:, :1]
x[-2:]
x[jnp.array([0, 1])]
x[jnp.arange(x.shape[0])]
x[jnp.array([0, 1]), jnp.array([-1, 0])]
jnp.take(x, -1, axis=1)
x.at[0].set(1.0)
x.at[1:].add(1.0)
x.at[:, jnp.array([0, 1])].mul(2.0)
jnp.concatenate([x, x[:1]], 0)
jnp.stack([x, x])
x @ x.T
jnp.einsum('ab,cb->ac', x, x)
jnp.tensordot(x, x, 2)
jnp.kron(x, jnp.ones((2, 2)))
jnp.broadcast_to(x[0], x.shape)
jnp.eye(x.shape[0], x.shape[1])
jnp.tril(x)
jnp.diagonal(x @ x.T)
jnp.where(x > 0, x, x[0])
jnp.cumsum(x, 0)
jnp.sort(x, 1)
jnp.roll(x, 1, 0)
jnp.pad(x, ((1, 0), (0, 2)))
jnp.pad(x, ((1, 0), (0, 2)), mode='edge')
jnp.pad(x, ((1, 1), (0, 1)), mode='wrap')
jnp.tile(x, (2, 3))
jnp.repeat(x, 2, axis=0)
jnp.take_along_axis(x, jnp.argsort(x, 1), 1)
jnp.median(x, 0)
jnp.cov(x)
jnp.diff(x, axis=0)
jnp.nonzero(x, size=3)[0]
jnp.indices(x.shape)
jnp.unravel_index(1, x.shape)[1]
jnp.fliplr(x)
jnp.size(x) + jnp.sum(x)
jnp.sqrt(x.shape[0])
jnp.maximum(x, x.shape[0])
nj.nn.softmax(x)
nj.nn.relu(x)
nj.nn.gelu(x)
nj.nn.one_hot(jnp.arange(3), x.shape[0])
nj.vmap(jnp.dot)(x, x)
nj.vmap(lambda row: row.sum(), in_axes=1)(x)
nj.grad(lambda x: jnp.mean(nj.nn.softmax(x) ** 2))(x)
nj.grad(lambda x: jnp.sum(x[1:] * x[:-1]))(x)
nj.grad(lambda x: jnp.sum((x @ x.T) ** 2))(x)
nj.grad(lambda x: jnp.sum(jnp.max(x, 0)))(x)
nj.jvp(jnp.tanh, (x,), (x,))[1]
nj.lax.scan(lambda c, row: (c + row, c.sum()), jnp.zeros(x.shape[1]), x)[1]
nj.lax.map(jnp.sum, x)
nj.lax.fori_loop(0, x.shape[0], lambda i, c: c + x[i].sum(), 0.0)
nj.lax.cond(x.sum() > 0, jnp.sin, jnp.cos, x)
nj.lax.conv_general_dilated(x[None, None], jnp.ones((1, 1, 3, 3)), (1, 1), 'SAME')
nj.lax.conv_general_dilated(x[None, None], jnp.ones((1, 1, 3, 3)), (2, 2), 'VALID')
nj.lax.reduce_window(x, -jnp.inf, nj.lax.max, (2, 2), (2, 1), "SAME")
nj.random.choice(nj.random.key(0), x, (3,))
nj.jacfwd(lambda x: x @ x.T)(x)
nj.jacrev(lambda x: x @ x.T)(x)
nj.hessian(lambda x: jnp.sum(x[:, 0] ** 3))(x)
nj.lax.broadcasted_iota(jnp.int32, x.shape, 1)
nj.random.normal(nj.random.key(0), x.shape)
jnp.unique(x, size=3)
jnp.extract(x > 0, x, size=2)
jnp.linalg.inv(x @ x.T + jnp.eye(x.shape[0]))
""".strip().splitlines()}


@pytest.mark.parametrize("text", FUNCTIONS)
def test_functions_traced_for_symbolic_shapes(text):
    f = FUNCTIONS[text]
    e = exported(f, spec("a, b", AT_LEAST_TWO))
    for shape in ((4, 3), (2, 2)):
        x = numbers(*shape)
        want, got = np.asarray(f(jnp.asarray(x))), np.asarray(e.call(x))
        assert got.shape == want.shape and got.dtype == want.dtype
        np.testing.assert_allclose(got, want, rtol=2e-5, atol=1e-5)


def test_shapes_of_results_are_expressions():
    scope = export.SymbolicScope()
    e = exported(lambda x, y: (jnp.concatenate([x, y]), x.reshape(-1), x[1:]), spec("2*w, h", scope=scope),
                 spec("w, h", scope=scope))
    assert [str(a.shape) for a in e.in_avals] == ["(2*w, h)", "(w, h)"]
    assert [str(a.shape) for a in e.out_avals] == ["(3*w, h)", "(2*h*w,)", "(2*w - 1, h)"]
    assert e.uses_global_constants


@pytest.mark.parametrize("text, shape, phrase", [
    ("3, 4, 12", (3, 4, 13), r"Shape mismatch for args\[0\].shape\[2\] \(expected same constant\)"),
    ("3, 4, a + 1", (3, 4, 1), "Expected value >= 1 for dimension variable 'a'"),
    ("3, 4, 6*a", (3, 4, 13), "Division had remainder 1 when computing the value of 'a'"),
    ("3, a, a + 8", (3, 4, 13), r"Found inconsistency between dimension size args\[0\].shape\[2\] \(= 13\)"),
    ("a, b, c", (3, 4), "Rank mismatch"),
])
def test_sizes_are_checked(text, shape, phrase):
    e = exported(lambda x: x + 1, spec(text))
    with pytest.raises(ValueError, match=phrase):
        e.call(numbers(*shape))


def test_constraints_are_used_and_checked():
    f = lambda x: x.reshape(x.shape[0] // 2, 2) if x.shape[0] >= 4 else x
    with pytest.raises(InconclusiveDimensionOperation, match="constraints=\\['a >= 4'\\]"):
        export.export(nj.jit(f))(spec("a"))
    e = exported(f, spec("a", ["mod(a, 2) == 0", "a >= 4"]))
    assert e.call(numbers(6)).shape == (3, 2)
    for n in (2, 5):
        with pytest.raises(ValueError, match="does not hold"):
            e.call(numbers(n))
    with pytest.raises(ValueError, match="Expected 'max\\(a, b\\) - b' to be equal to 0, but found 1: "):
        exported(jnp.sin, spec("a, b", ["max(a, b) == b"])).call(numbers(3, 2))


def test_derivatives_of_many_sizes():
    f = lambda x, y: jnp.sum(nj.nn.softmax(x @ y) ** 2)
    scope = export.SymbolicScope()
    e = exported(f, spec("a, b", scope=scope), spec("b, 3", scope=scope), vjp_order=2)
    for n in (2, 5):
        x, y = numbers(n, 4), numbers(4, 3)
        for wrap in (nj.grad, lambda g: nj.grad(lambda *xs: nj.grad(g)(*xs).sum())):
            np.testing.assert_allclose(wrap(e.call)(x, y), wrap(f)(x, y), rtol=1e-4, atol=1e-6)
    with pytest.raises(ValueError, match="No VJP"):
        e.vjp().vjp().vjp()


def test_derivatives_with_integers_of_symbolic_shape():
    f = lambda i, x: (2 * i.T, x * x)
    scope = export.SymbolicScope()
    e = exported(f, spec("2, a", dtype=np.int32, scope=scope), spec("a", scope=scope), vjp_order=1)
    i, x = np.arange(6, dtype=np.int32).reshape(2, 3), numbers(3)
    _, back = nj.vjp(e.call, i, x)
    zeros = np.zeros((3, 2), nj.dtypes.float0)
    got = back((zeros, np.ones(3, np.float32)))
    assert got[0].dtype == nj.dtypes.float0 and got[0].shape == (2, 3)
    np.testing.assert_allclose(got[1], 2 * x)


def test_under_transformations():
    e = exported(lambda x: jnp.cumsum(x) * x.shape[0], spec("n"))
    x = numbers(3, 5)
    np.testing.assert_allclose(nj.vmap(e.call)(x), np.cumsum(x, 1) * 5, rtol=1e-5)
    np.testing.assert_allclose(nj.jit(e.call)(x[0]), np.cumsum(x[0]) * 5, rtol=1e-5)


def test_exported_again_with_other_symbols():
    inner = exported(lambda x: x.reshape(-1, x.shape[1]), spec("3, a, a + 8"))
    outer = exported(lambda x: inner.call(x) + 1, spec("3, c + 2, c + 10"))
    x = numbers(3, 4, 12)
    np.testing.assert_allclose(outer.call(x), x.reshape(-1, 4) + 1)
    with pytest.raises(ValueError, match="Division had remainder mod"):
        export.export(nj.jit(exported(lambda x: x, spec("5*a")).call))(spec("c"))
    with pytest.raises(ValueError, match="'b' = c - 4 from specification 'b \\+ a'"):
        export.export(nj.jit(exported(lambda x: x, spec("a, a + b")).call))(spec("4, c"))
    fixed = exported(inner.call, nj.ShapeDtypeStruct((3, 4, 12), np.float32))
    assert fixed.uses_global_constants and fixed.scope is None


def test_dimensions_must_be_determined_by_the_arguments():
    with pytest.raises(ValueError, match=r"Cannot solve for values of dimension variables \{'a', 'b'\}"):
        export.export(nj.jit(jnp.sin))(spec("a*b"))
    with pytest.raises(ValueError, match=r"Expected current \(from args\[0\]\) scope .*\n?.*found for 'a' \(args\[1\]\)"):
        export.export(nj.jit(jnp.add))(spec("a"), spec("a"))


def test_specs_for_pytrees():
    args = ({"x": jnp.ones((2, 3)), "y": jnp.ones(3)}, 3)
    specs = export.symbolic_args_specs(args, ({"x": "a, _", "y": None}, "..."))
    assert str([s.shape for s in (specs[0]["x"], specs[0]["y"], specs[1])]) == "[(a, 3), (3,), ()]"
    with pytest.raises(ValueError, match="not both"):
        export.symbolic_args_specs(args, "...", ["a >= 2"], export.SymbolicScope())


@pytest.mark.parametrize("f", [lambda x: jnp.zeros(int(x.shape[0])), lambda x: [x for _ in range(x.shape[0])]])
def test_sizes_as_python_numbers_raise(f):
    with pytest.raises((TypeError, InconclusiveDimensionOperation)):
        export.export(nj.jit(f))(spec("a"))


def test_damaged_text_of_a_dimension_is_refused():
    data = bytes(export.export(nj.jit(jnp.sin))(spec("wide")).serialize())
    assert data.count(b"wide") > 1
    with pytest.raises(ValueError, match="damaged"):
        export.deserialize(data.replace(b"wide", b"w**e"))


def test_searches_bisect_whatever_the_size():
    table, wanted = np.array([0, 1, 1, 2, np.nan, np.nan], np.float32), np.array([[np.nan, 1, 0.5], [-1, 9, 0]], np.float32)
    specs = export.symbolic_args_specs([table, wanted], ["n", "m, 3"])
    f = exported(lambda a, v: [jnp.searchsorted(a, v, side) for side in ("left", "right")], *specs)
    assert "sort[" not in str(f.program)
    for n in (1, 2, 5, 6):
        for found, side in zip(f.call(table[:n], wanted), ("left", "right"), strict=True):
            np.testing.assert_array_equal(found, np.searchsorted(table[:n], wanted, side))


BOUNDS = [lambda b: None, lambda b: 0, lambda b: 4, lambda b: b, lambda b: 2 * b + 2, lambda b: -2, lambda b: -b,
          lambda b: -2 * b - 2]


@pytest.mark.parametrize("step", [lambda b: 1, lambda b: 2, lambda b: -1, lambda b: -2, lambda b: b, lambda b: -b])
def test_slices_whose_bounds_and_step_are_symbolic(step):
    cuts = lambda x, b: [x[start(b):stop(b):step(b)] for k, start in enumerate(BOUNDS) for stop in BOUNDS[k % 3::3]]
    f = export.export(nj.jit(lambda x, y: cuts(x, y.shape[0])))(*export.symbolic_args_specs(
        [np.zeros(1, np.int32)] * 2, ["c", "b"]))
    for size, b in [(7, 2), (4, 5)]:
        x = np.arange(size, dtype=np.int32)
        for found, wanted in zip(f.call(x, np.zeros(b, np.int32)), cuts(x, b), strict=True):
            np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("f", [
    lambda x: jnp.bincount(x % 4, length=x.shape[0]), lambda x: jnp.nonzero(x % 3, size=2 * x.shape[0], fill_value=9)[0],
    lambda x: jnp.split(x, (x.shape[0] - 2,))[1], lambda x: nj.lax.slice_in_dim(x, 0, None, 1 + x.shape[0] // 4),
    lambda x: jnp.unique(x, size=x.shape[0]), lambda x: nj.lax.approx_max_k(x.astype(np.float32), x.shape[0] - 1)[0],
    lambda x: nj.ops.segment_sum(x, x % 3, 3, bucket_size=2),
    lambda x: nj.ops.segment_max(x, x % 3, x.shape[0], bucket_size=x.shape[0] // 2)])
def test_sizes_of_results_and_of_parts_are_symbolic(f):
    exported_f = export.export(nj.jit(f))(spec("n", ("n >= 3",), np.int32))
    for n in (3, 13):
        x = np.random.default_rng(n).integers(0, 9, n).astype(np.int32)
        np.testing.assert_array_equal(exported_f.call(x), f(x))


@pytest.mark.parametrize("f, error, phrase", [
    (lambda x: jnp.arange(0, x.shape[0], 0.5), ValueError, "must be either dimension expressions or integers"),
    (lambda x: jnp.arange(0, x.shape[0], 0), ValueError, "has step == 0"),
    (lambda x: jnp.arange(0, 9, x.shape[0] - 2), InconclusiveDimensionOperation, "must be resolved statically if it is > 0"),
    (lambda x: jnp.repeat(x, x.shape[0], total_repeat_length=8), ValueError, "non-constant `repeats` is supported only when"),
    (lambda x: jnp.reshape(x, (-1, 3)), InconclusiveDimensionOperation, r"sizes of shapes \(a,\) and \(-1, 3\)"),
    (lambda x: jnp.split(x, x.shape[0] // 2), ValueError, "symbolic number of sections is not supported"),
    (lambda x: nj.lax.approx_max_k(x, 1, aggregate_to_topk=False), NotImplementedError, "aggregate_to_topk=False")])
def test_what_symbolic_sizes_cannot_be(f, error, phrase):
    with pytest.raises(error, match=phrase):
        export.export(nj.jit(f))(spec("a"))


def test_sizes_are_inferred_by_constraints_on_the_divisor_of_either_sign():
    for divisor in (2, -2):
        f = exported(lambda x: jnp.reshape(x, (2, -1)), spec("a", (f"mod(a, {divisor}) == 0",)))
        assert f.call(numbers(6)).shape == (2, 3)


def test_terms_with_operations_and_with_more_factors_stand_in_front():
    a, b, c = export.symbolic_shape("a, b, c")
    assert str(a * b + b * b + b * c + a * a * a) == "b*c + a*b + a^3 + b^2"
    assert str(a * b + a // 4 + b + c ** 4 + 2) == "floordiv(a, 4) + a*b + c^4 + b + 2"
    assert str((2 * a * b + b * b) // (a + b)) == "floordiv(2*a*b + b^2, b + a)"


def test_numpy_integers_without_axes_are_sizes_in_arithmetic():
    (b,) = export.symbolic_shape("b")
    assert b // np.array(4) == b // 4 and np.array(9) % b == 9 % b and b - np.array(2) == b - 2 and b >= np.array(1)
    f = exported(lambda x: x.shape[0] * np.array(2, np.int32), spec("b"))
    assert f.call(numbers(3)).weak_type and f.call(numbers(3)) == 6


def test_slopes_of_scatters_that_overwrite():
    def slope(x, i):
        return nj.grad(lambda x: jnp.sum(x.at[i].set(x[0])))(x)
    x, i = numbers(5), np.array([1, 1, 4], np.int32)
    f = export.export(nj.jit(slope))(*export.symbolic_args_specs([x, i], ["n", "m"]))
    np.testing.assert_allclose(f.call(x, i), slope(x, i))


@pytest.mark.parametrize("draw", [
    lambda key, n: nj.random.uniform(key, (n, 3)), lambda key, n: nj.random.bits(key, (n,), np.uint8),
    lambda key, n: nj.random.key_data(nj.random.split(key, n))])
def test_random_numbers_of_sequences_in_symbolic_shapes(draw):
    with nj.threefry_partitionable(False):
        f = exported(lambda data, x: draw(nj.random.wrap_key_data(data), x.shape[0]), spec("2", dtype=np.uint32), spec("n"))
        data = np.array([3, 4], np.uint32)
        for n in (1, 4, 5):
            np.testing.assert_array_equal(f.call(data, numbers(n)), draw(nj.random.wrap_key_data(data), n))
