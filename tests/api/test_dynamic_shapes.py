"""jit(dynamic_shapes=True): results are those of the function outside of jit, with true sizes; what no rule follows raises."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import errors, lax, ops
from numjet.foundation.config import Setting, index_checks

flag = Setting("numjet_dynamic_shapes")
INPUTS = {"some": [3.0, -1, 2, -5, 0, 1.5, -2], "all": [3.0, 1, 2, 5, 1, 1.5, 2], "none": [-3.0, -1, -2, -5, -1, -1.5, -2],
          "one": [-3.0, -1, -2, -5, -1, 1.5, -2]}
INPUTS = {name: np.float32(x) for name, x in INPUTS.items()}

# p: the positive elements of x, n: the negative ones, m: rows p[i] * x.
PROGRAMS = """
x[x < 0]
jnp.outer(x, x)[jnp.outer(x, x) > 0]
jnp.outer(x, x)[:, x > 0]
jnp.outer(x, x)[x > 0, 1]
jnp.outer(x, x)[x > 0][:, x < 0]
jnp.nonzero(jnp.outer(x, x) > 0)
jnp.where(x > 0)
jnp.flatnonzero(x > 0)
jnp.argwhere(jnp.outer(x, x) > 0)
jnp.compress(x > 0, x)
jnp.extract(x > 0, x)
jnp.unique(jnp.floor(x))
jnp.unique(jnp.floor(x), True, True, True)
jnp.unique(jnp.floor(p))
jnp.union1d(jnp.floor(x), x)
jnp.intersect1d(jnp.floor(x), x)
jnp.setdiff1d(x, jnp.floor(x))
jnp.setxor1d(x, jnp.floor(x))
jnp.repeat(x, jnp.clip(x, 0, 3).astype(int))
jnp.repeat(p, jnp.clip(p, 0, 3).astype(int))
jnp.arange(jnp.sum(x > 0))
jnp.arange(jnp.sum(x < 0), jnp.sum(x > 0) + 3)
jnp.arange(20, jnp.sum(x > 0), -3)
jnp.zeros(jnp.sum(x > 0)), jnp.ones((jnp.sum(x > 0), 2)), jnp.full((2, jnp.sum(x > 0)), x[0])
jnp.sin(p) * 2 + jnp.exp(-p), p > 1, jnp.where(p > 2, p, 0.0), jnp.clip(p, 1, 2)
p[:, None] * n[None, :], p[:, None] + x, p[:, None] - p, jnp.broadcast_to(p, (3, p.shape[0]))
p.sum(), p.prod(), p.mean(), p.var(), p.std(), (p > 2).any(), (p > 2).all(), jnp.count_nonzero(p > 1)
p.max(), p.argmax(), jnp.ptp(p)
n.min(), n.argmin()
jnp.max(p, initial=-3.0), jnp.nansum(p), jnp.nanmean(p), jnp.average(p, weights=p)
m.sum(0), m.sum(1), m.max(1), m.mean(1), p / p.sum(keepdims=True)
jnp.cumsum(p), jnp.cumprod(p), lax.cummax(p), lax.cumsum(p, reverse=True), lax.cumlogsumexp(p)
jnp.sort(n), jnp.sort(n, descending=True), jnp.sort(m, axis=0), jnp.sort(m, axis=1)
jnp.argsort(p), jnp.argsort(p, descending=True), jnp.lexsort((p, jnp.floor(p)))
jnp.sort(jnp.where(p > 2, jnp.nan, p)), jnp.sort(jnp.where(p > 2, jnp.inf, p))
p[jnp.argsort(p)], x[jnp.nonzero(x > 0)[0]]
p[0], p[-1], p[jnp.array([0, 1, 5, -1])], p.at[jnp.arange(9)].get(mode="clip")
jnp.take(p, jnp.arange(9), mode="fill")
p.size * 2, jnp.asarray(p.shape[0]), p / p.shape[0], jnp.arange(p.shape[0] // 2), m.size
jnp.concatenate([p, x, n]), jnp.hstack([n, p]), jnp.stack([p, p * 2]), jnp.stack([p, p * 2], axis=1), jnp.append(p, 3.0)
jnp.concatenate([m, n[:, None] * x]), jnp.concatenate([p[None], n[None]], axis=1)
nj.jacfwd(jnp.sin)(p), nj.jacrev(lambda v: jnp.outer(v, v).sum(0))(p), nj.hessian(lambda v: (v ** 3).sum())(p)
p @ p, jnp.vdot(p, p), m @ x, m.T @ m, jnp.outer(p, n), jnp.einsum("i,ij->j", p, m), jnp.linalg.norm(p)
ops.segment_sum(p, jnp.floor(p).astype(int), 5), ops.segment_max(p, jnp.floor(p).astype(int), 5)
ops.segment_sum(x, jnp.arange(x.size) % 3, jnp.sum(x > 0)), jnp.bincount(jnp.floor(p).astype(int), length=5)
jnp.searchsorted(jnp.sort(p), x), jnp.searchsorted(jnp.sort(p), p, side="right"), jnp.interp(x, jnp.arange(3.0), jnp.ones(3))
x.at[jnp.nonzero(x > 0)[0]].add(p), x.at[x > 0].set(p * 2), x.at[x > 0].set(5.0), x.at[x > 0].multiply(p)
p.at[p > 2].set(0.0), p.at[jnp.arange(2)].add(3.0), jnp.zeros((3, x.size)).at[:, x > 0].set(p)
p.reshape(-1, 1), m.reshape(-1), (x[:, None] * p).reshape(-1), jnp.outer(p, n).ravel(), jnp.outer(p, n).T
(x[:, None] * p).reshape(7, -1, 1), jnp.moveaxis(x[:, None, None] * p[:, None], 1, 0)
p[::-1], p[::2], p[1:], p[:-1], p[1:-1], p[:3], p[-2:], x[:p.shape[0]], x[n.shape[0]:]
jnp.diff(p), p[1:] - p[:-1], jnp.tile(p, 3), jnp.tile(p, (2, 2)), jnp.repeat(p, 2), jnp.flip(m), jnp.roll(p, 0)
jnp.pad(p, 2), jnp.pad(p, 2, mode="edge"), jnp.pad(m, ((0, 1), (2, 0)), mode="edge"), jnp.pad(p, 2, mode="linear_ramp")
jnp.insert(p, 0, 5.0)
jnp.pad(p, (9, 7), mode="reflect"), jnp.pad(p, 8, mode="wrap"), jnp.pad(p, (5, 9), mode="symmetric")
jnp.pad(p, 2, mode="reflect"), jnp.pad(p, (1, 2), mode="symmetric"), jnp.pad(p, (2, 1), mode="wrap"), jnp.pad(p, 1, mode="mean")
jnp.pad(p, 2), jnp.pad(p, (1, 3), constant_values=7.0), *jnp.split(p, [1]), jnp.expand_dims(p, 0), jnp.atleast_2d(p)
jnp.meshgrid(p, n), jnp.eye(p.shape[0]), jnp.tril(jnp.outer(p, p)), jnp.diag(p), jnp.trace(jnp.outer(p, p))
jnp.isin(x, p), jnp.isin(p, x), jnp.array_equal(p, p), jnp.maximum.accumulate(p)
jnp.median(p), jnp.quantile(p, 0.3)
nj.nn.relu(p), nj.nn.softmax(m, axis=1), nj.nn.logsumexp(p)
p[p > 1.5], m[m > 3], n[n < -1][::-1]
nj.vmap(lambda a: jnp.sin(a) * x.sum())(p), nj.vmap(lambda a: (a * p).sum())(x), nj.vmap(lambda r: r[::-1])(m)
nj.checkpoint(jnp.sin)(p), nj.jit(lambda y: y * 2)(p), nj.jit(jnp.sort)(p)
nj.random.uniform(nj.random.key(0), (p.shape[0],)), nj.random.normal(nj.random.key(0), p.shape)
nj.grad(lambda x: jnp.sum(jnp.log(x[x > 0]) * 2))(x), nj.grad(lambda x: jnp.std(x[x < 0]))(x)
nj.jvp(lambda x: jnp.sort(x[x > 0]), (x,), (x * 2,))[1], nj.grad(lambda x: jnp.cumprod(x[x > 0]).sum())(x)
nj.grad(lambda x: (x[x > 0] @ x[x > 0]) ** 2)(x), nj.hessian(lambda x: (x[x > 0] ** 3).sum())(x)
nj.grad(lambda x: jnp.concatenate([x[x > 0], x[x < 0]])[::2].sum())(x), nj.grad(lambda x: jnp.prod(x[x < 0]))(x)
nj.grad(lambda x: (x.at[jnp.nonzero(x > 0)[0]].add(x[x > 0]) ** 2).sum())(x), nj.grad(lambda x: jnp.sort(x[x > 0])[:2].sum())(x)
nj.grad(lambda x: ops.segment_sum(x[x > 0], jnp.arange(9)[: x[x > 0].size] % 2, 2).prod())(x)
nj.grad(lambda x: (jnp.outer(x[x > 0], x).reshape(-1) ** 2).sum())(x), nj.jacrev(lambda x: jnp.diff(x[x > 0]).sum() * x)(x)
nj.value_and_grad(lambda x: jnp.where(x[x > 0] > 1, jnp.sqrt(x[x > 0] - 1), 0).sum())(x)
""".strip().split("\n")


def program(text):
    body = compile(f"({text})", text, "eval")

    def run(x):
        p, n = x[x > 0], x[x < 0]
        scope = {"nj": nj, "jnp": jnp, "lax": lax, "ops": ops, "x": x, "p": p, "n": n, "m": p[:, None] * x}
        return eval(body, scope)
    return run


@pytest.mark.parametrize("text", PROGRAMS)
def test_results_are_those_outside_of_jit(text):
    run = program(text)
    compiled = nj.jit(run, dynamic_shapes=True)
    for x in INPUTS.values():
        try:
            with index_checks("off"):
                want = run(jnp.asarray(x))
        except (IndexError, ValueError, TypeError):  # what needs elements
            with pytest.raises(ValueError):
                compiled(x)
            continue
        try:
            got = compiled(x)
        except ValueError as error:  # a few compute something of nothing, which jit refuses
            assert "size" in str(error) and not ((x > 0).any() and (x < 0).any())
            continue
        assert nj.tree.structure(got) == nj.tree.structure(want)
        for a, b in zip(nj.tree.leaves(want), nj.tree.leaves(got), strict=True):
            assert np.shape(a) == b.shape and jnp.asarray(a).dtype == b.dtype
            np.testing.assert_allclose(b, a, rtol=2e-6, atol=1e-6)


def test_bounds_of_sizes_are_checked():
    run = nj.jit(lambda n: jnp.arange(n), dynamic_shapes=5)
    assert run(3).tolist() == [0, 1, 2] and run(-3).tolist() == [] and run(5).tolist() == [0, 1, 2, 3, 4]
    with pytest.raises(ValueError, match=r"above the bound 5.*test_dynamic_shapes.py"):
        run(6)
    with pytest.raises(ValueError, match="A size is negative"):
        nj.jit(lambda n: jnp.zeros(n), dynamic_shapes=5)(-1)
    with pytest.raises(ValueError, match=r"not bounded.*jnp.minimum\(n, 1000\)"):
        nj.jit(lambda n: jnp.arange(n), dynamic_shapes=True)(3)
    assert nj.jit(lambda n: jnp.zeros(jnp.minimum(n, 9) // 2 + 1), dynamic_shapes=True)(7).shape == (4,)
    with pytest.raises(ValueError, match="expected repeats >= 0"):
        nj.jit(lambda x, n: jnp.repeat(x, n), dynamic_shapes=9)(np.arange(2), np.array([1, -1]))


def test_it_is_an_option():
    select = lambda x: x[x > 0]
    x = INPUTS["some"]
    for run in (nj.jit(select), nj.jit(select, dynamic_shapes=False)):
        with pytest.raises(errors.NonConcreteBooleanIndexError):
            run(x)
    with flag(True):
        assert nj.jit(select)(x).tolist() == [3, 2, 1.5]
    with pytest.raises(ValueError, match="dynamic_shapes is True, False or a bound"):
        nj.jit(select, dynamic_shapes=0)
    made = nj.jit(select, dynamic_shapes=True)
    assert nj.jit(lambda x: made(x) * 2, dynamic_shapes=True)(x).tolist() == [6, 4, 3]


def test_equal_sizes_are_one():
    run = nj.jit(lambda x, y: x[x > 0] * y[x > 0] + jnp.flatnonzero(x > 0), dynamic_shapes=True)
    x = INPUTS["some"]
    assert run(x, x).tolist() == [9, 6, 2.25 + 5]
    with pytest.raises(TypeError, match=r"size0.*size1|incompatible"):
        nj.jit(lambda x: x[x > 0] + x[x < 0], dynamic_shapes=True)(x)


@pytest.mark.parametrize(("text", "error", "message"), [
    ("jnp.fft.fft(p)", NotImplementedError, "operation 'fft' cannot follow.*size0.*true elements.*size=.*where"),
    ("jnp.linalg.inv(m[:, :1] * p)", NotImplementedError, "operation 'lu"),
    ("p if p.shape[0] > 2 else x", errors.InconclusiveDimensionOperation, "'size0 > 2' is not known.*true elements"),
    ("sum(p[i] for i in range(int(p.shape[0])))", errors.InconclusiveDimensionOperation, "where Python needs the number"),
    ("sum(v for v in p)", errors.InconclusiveDimensionOperation, "where Python needs the number"),
    ("len(p)", errors.InconclusiveDimensionOperation, "where Python needs the number"),
    ("nj.lax.associative_scan(jnp.add, p)", errors.InconclusiveDimensionOperation, "known size along axis 0, .*Use lax.scan"),
    ("p.squeeze()", ValueError, "give the axes to remove"),
    ("nj.vmap(lambda r: r[r > 0].sum())(m)", NotImplementedError, "differ from element to element.*vmap.jit"),
    ("nj.debug.print('{}', p)", NotImplementedError, "operation 'debug_print' cannot follow"),
    ("nj.pure_callback(abs, p, p)", NotImplementedError, "operation 'pure_callback' cannot follow"),
])
def test_what_no_rule_follows(text, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        nj.jit(program(text), dynamic_shapes=True)(INPUTS["some"])


def test_in_other_transformations():
    total = nj.jit(lambda x: x[x > 0].sum(), dynamic_shapes=True)
    rows = np.stack(list(INPUTS.values()))
    assert nj.vmap(total)(rows).tolist() == [6.5, 15.5, 0, 1.5] == nj.jit(nj.vmap(total))(rows).tolist()
    for run in (nj.grad(total), nj.grad(nj.jit(lambda x: total(x) * 2)), nj.jit(nj.grad(total)), nj.jacfwd(total)):
        with pytest.raises(NotImplementedError, match=r"Differentiate inside of jit: jit\(grad\(f\)"):
            run(rows[0])
    assert nj.grad(nj.jit(lambda x: (x * 2).sum(), dynamic_shapes=True))(rows[0]).tolist() == [2] * 7
    with pytest.raises(NotImplementedError, match="returns an array whose size is computed"):
        nj.vmap(nj.jit(lambda x: x[x > 0], dynamic_shapes=True))(rows)
    with pytest.raises(NotImplementedError, match="checked when the program runs"):
        nj.vmap(nj.jit(lambda x: x[x > 0].max(), dynamic_shapes=True))(rows)


def test_searches_in_what_was_selected_also_where_that_is_nothing():
    search = nj.jit(lambda a, v: jnp.searchsorted(a[a > 0], v[v > 0], side="right"), dynamic_shapes=True)
    for a in ([-1.0, -2.0, -3.0], [-1.0, 2.0, 3.0], [1.0, 2.0, 2.0]):
        for v in ([-1.0, -2.0], [2.0, -2.0], [1.5, 4.0]):
            a, v = np.array(a, np.float32), np.array(v, np.float32)
            np.testing.assert_array_equal(search(a, v), np.searchsorted(a[a > 0], v[v > 0], "right"))
