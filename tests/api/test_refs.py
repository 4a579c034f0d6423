"""Mutable references: values under every transformation and in every kind of program, and what misuse is told."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.ref import addupdate, get, swap

JITS = {"eager": lambda f: f, "jit": nj.jit, "jit of jit": lambda f: nj.jit(nj.jit(f)), "checkpoint": nj.checkpoint}


def ref(value=(1.0, 2.0, 3.0), **kwargs):
    return nj.new_ref(jnp.asarray(value), **kwargs)


@pytest.fixture(params=JITS)
def compiled(request):
    return JITS[request.param]


# ------------------------------------------------------------------------------------------------ reading and writing


def test_reads_and_writes():
    r = ref()
    start = r[...]
    r[0] = 5.0
    r[1:] += jnp.ones(2)
    addupdate(r, jnp.array([0, 0]), jnp.ones(2))
    assert r[...].tolist() == [7, 3, 4] and start.tolist() == [1, 2, 3]
    assert float(swap(r, 2, 0.0)) == 4 and get(r).tolist() == [7, 3, 0]
    assert (r.shape, r.dtype, r.ndim, r.size, len(r)) == ((3,), jnp.float32, 1, 3, 3)
    assert repr(r) == "Ref([7., 3., 0.], dtype=float32)" and str(nj.typeof(r)) == "Ref{float32[3]}"
    assert r.sharding == start.sharding
    assert isinstance(r, nj.Ref) and not isinstance(r, nj.Array) and not isinstance(start, nj.Ref)
    r.at[1:][0] += 1.0
    assert r.at[1:][...].tolist() == [4, 0]
    nj.ref.set(r.at[:2], 0, 1.0)
    assert nj.freeze(r).tolist() == [1, 4, 0]


@pytest.mark.parametrize("index", [1, slice(1, 3), (Ellipsis, 0), (slice(None), 1), (np.arange(2), np.arange(2)), -1, None,
                                   (np.arange(2), Ellipsis, np.arange(2)), np.array([True, False])])
def test_indices(index):
    x = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    if isinstance(index, int) or index is None:
        x = x[0]
    wanted = x if index is None else x[index]
    np.testing.assert_array_equal(ref(x)[index], wanted)


def test_weak_and_other_dtypes():
    half = nj.new_ref(jnp.array(0, jnp.bfloat16))
    half[...] += 1.0
    assert half.dtype == jnp.bfloat16
    weak = nj.new_ref(1)
    weak[...] = weak[...] + 1
    assert weak[...].weak_type and int(weak[...]) == 2
    key = nj.new_ref(nj.random.key(0))
    key[...] = nj.random.fold_in(key[...], 1)
    for dtype in ("int8", "float16", "complex64", "bool"):
        r = nj.new_ref(jnp.zeros(2, dtype))
        nj.jit(lambda r, dtype=dtype: r.__setitem__(0, jnp.ones((), dtype)))(r)
        assert r[...].tolist() == [1, 0]
    empty = nj.new_ref(jnp.zeros((0, 3)))
    nj.jit(lambda: empty.__setitem__(..., empty[...] + 1))()
    assert empty[...].shape == (0, 3)


# ---------------------------------------------------------------------------------------------------------- programs


def test_closed_over(compiled):
    r = ref()

    def f(x):
        r[...] += x
        r[0] += 1.0
        return r[1] * x

    g = compiled(f)
    assert float(g(2.0)) == 8 and r[...].tolist() == [4, 4, 5]
    assert float(g(1.0)) == 5 and r[...].tolist() == [6, 5, 6]


def test_arguments(compiled):
    r, s = ref(), ref()

    def f(d, x):
        d["a"][...] += x
        return d["b"][...].sum() + d["a"][0]

    g = compiled(f)
    assert float(g({"a": r, "b": s}, 1.0)) == 8 and r[...].tolist() == [2, 3, 4] and s[...].tolist() == [1, 2, 3]
    assert float(g({"a": s, "b": r}, 1.0)) == 11


def test_made_inside(compiled):
    def f(x):
        r = nj.new_ref(x)
        r[...] = r[...] * r[...]
        return nj.freeze(r)

    assert float(compiled(f)(3.0)) == 9
    assert float(nj.grad(compiled(f))(3.0)) == 6
    assert float(nj.grad(nj.grad(compiled(f)))(3.0)) == 2
    assert nj.vmap(compiled(f))(jnp.arange(3.0)).tolist() == [0, 1, 4]
    assert nj.vmap(nj.grad(compiled(f)))(jnp.arange(3.0)).tolist() == [0, 2, 4]


@pytest.mark.parametrize("hand", [
    lambda f, part: nj.jit(f)(part), lambda f, part: nj.checkpoint(f)(part),
    lambda f, part: lax.cond(True, f, lambda p: None, part),
    lambda f, part: nj.jit(lambda pair: f(pair["part"]))({"part": part})], ids=["jit", "checkpoint", "cond", "in a dict"])
@pytest.mark.parametrize("idx", [slice(1, 3), (Ellipsis, 1), np.array([2, 0])], ids=["slice", "tuple", "array"])
def test_a_part_is_an_argument(hand, idx):
    def double(part):
        part[...] = part[...] * 2

    r, want = ref(), np.array([1.0, 2.0, 3.0])
    hand(double, r.at[idx])
    want[idx] *= 2
    assert r[...].tolist() == want.tolist()


def test_an_index_of_a_part_may_be_traced():
    r = ref()
    nj.jit(lambda r, i: nj.jit(lambda part: swap(part, ..., 7.0))(r.at[i]))(r, 2)
    assert r[...].tolist() == [1, 2, 7]


def test_addupdate_of_a_part_counts_elements_named_twice():
    r = ref()
    addupdate(r.at[jnp.array([0, 0])], slice(0, 2), jnp.array([10.0, 20.0]))
    addupdate(r.at[1:].at[0], ..., 5.0)
    assert r[...].tolist() == [31, 7, 3]


@pytest.mark.parametrize("split", [lambda part: nj.vmap(lambda p: p[...])(part),
                                   lambda part: lax.scan(lambda c, p: (c, p[...]), 0.0, part)], ids=["vmap", "scan"])
def test_a_part_is_not_split(split):
    with pytest.raises(TypeError, match="TransformedRefs are not allowed"):
        split(ref([[1.0, 2.0], [3.0, 4.0]]).at[0])


def test_one_trace_serves_all_references():
    traced = []

    @nj.jit
    def f(r):
        traced.append(1)
        r[...] *= 2.0

    many = [ref() for _ in range(4)]
    for r in many:
        f(r)
    assert len(traced) == 1 and all(r[...].tolist() == [2, 4, 6] for r in many)


def test_compiled_programs_write_in_place():
    r = nj.new_ref(jnp.zeros(100_000))
    step = nj.jit(lambda: r.__setitem__(3, r[3] + 1.0))
    step()
    where = r.value.unsafe_buffer_pointer()
    for _ in range(5):
        step()
    assert r.value.unsafe_buffer_pointer() == where
    seen = r[...]
    step()
    assert float(seen[3]) == 6 and float(r[3]) == 7  # whoever has read it keeps what was read


def test_ahead_of_time():
    r = ref()
    compiled = nj.jit(lambda r, x: (r.__setitem__(..., r[...] + x), r[0])[1]).lower(r, 1.0).compile()
    assert float(compiled(r, 1.0)) == 2 and float(compiled(r, 2.0)) == 4
    closed = nj.jit(lambda: r.__setitem__(0, 0.0)).lower().compile()
    closed()
    assert float(r[0]) == 0
    assert nj.eval_shape(lambda r: r[1:], r).shape == (2,)


LOOPS = {
    "scan": lambda step, n: lax.scan(lambda c, x: (c, step(x)), 0, jnp.arange(n, dtype=jnp.float32)),
    "fori_loop": lambda step, n: lax.fori_loop(0, n, lambda i, c: (step(i * 1.0), c)[1], 0),
    "dynamic fori_loop": lambda step, n: lax.fori_loop(0, jnp.asarray(n), lambda i, c: (step(i * 1.0), c)[1], 0),
    "while_loop": lambda step, n: lax.while_loop(lambda i: i < n, lambda i: (step(i * 1.0), i + 1)[1], 0),
    "map": lambda step, n: lax.map(step, jnp.arange(n, dtype=jnp.float32)),
}


@pytest.mark.parametrize("loop", LOOPS)
def test_loops(loop, compiled):
    r, fixed = nj.new_ref(0.0), nj.new_ref(10.0)

    def step(x):
        r[...] += x + fixed[...]
        return r[...]

    def nested(x):
        LOOPS[loop](step, 2)
        return r[...]

    compiled(lambda: LOOPS[loop](step, 3))()
    assert float(r[...]) == 33
    compiled(lambda: LOOPS[loop](nested, 2))()
    assert float(r[...]) == 33 + 2 * 21 and float(fixed[...]) == 10


def test_the_condition_of_a_loop_may_read():
    r = nj.new_ref(1.0)
    steps = lax.while_loop(lambda i: r[...] < 10, lambda i: (r.__setitem__(..., r[...] * 2.0), i + 1)[1], 0)
    assert int(steps) == 4 and float(r[...]) == 16
    asked = nj.new_ref(0)
    ask = lambda i: (asked.__setitem__(..., asked[...] + 1), i < 3)[1]
    assert int(nj.jit(lambda: lax.while_loop(ask, lambda i: i + 1, 0))()) == 3 and int(asked[...]) == 4
    assert int(lax.while_loop(ask, lambda i: i + 1, 5)) == 5 and int(asked[...]) == 5
    count = lambda i: (asked.__setitem__(..., asked[...] + 10), i + 1)[1]
    assert int(nj.jit(lambda: lax.while_loop(ask, count, 0))()) == 3 and int(asked[...]) == 39  # condition and step write it


def test_scan_over_references(compiled):
    r, kept = ref(), ref((10.0, 20.0, 30.0))

    def run():
        def step(c, x):
            x[0][...] += x[1][...] + c
            return c + 1.0, x[0][...]
        return lax.scan(step, 0.0, (r, kept))

    _, ys = compiled(run)()
    assert ys.tolist() == r[...].tolist() == [11, 23, 35] and kept[...].tolist() == [10, 20, 30]


def test_branches(compiled):
    r, s = nj.new_ref(0.0), nj.new_ref(5.0)
    f = compiled(lambda p: lax.cond(p, lambda: r.__setitem__(..., s[...]), lambda: s.__setitem__(..., r[...] + 1.0)))
    f(True)
    assert (float(r[...]), float(s[...])) == (5, 5)
    f(False)
    assert (float(r[...]), float(s[...])) == (5, 6)
    g = compiled(lambda i: lax.switch(i, [lambda q: q[...], lambda q: (q.__setitem__(..., 9.0), q[...])[1]], s))
    assert float(g(0)) == 6 and float(g(1)) == 9 and float(s[...]) == 9


def test_python_runs_once_for_a_body():
    left, r = [1.0, 2.0], nj.new_ref(0.0)
    lax.scan(lambda c, _: (r.__setitem__(..., r[...] + left.pop()), c)[::-1], 0, None, length=3)
    assert float(r[...]) == 6 and left == [1.0]


# --------------------------------------------------------------------------------------------------- derivatives, vmap


def test_derivatives(compiled):
    def f(x):
        r = nj.new_ref(x)

        def inner():
            r[...] = jnp.sin(r[...]) * r[...]
        compiled(inner)()
        lax.scan(lambda c, s: (r.__setitem__(..., jnp.cos(r[...]) * s), c)[::-1], 0, jnp.array([2.0, 3.0]))
        return r[...]

    g = lambda x: jnp.cos(jnp.cos(jnp.sin(x) * x) * 2) * 3
    for transform in (nj.grad, lambda h: nj.grad(nj.grad(h)), lambda h: lambda x: nj.jvp(h, (x,), (x,))[1]):
        np.testing.assert_allclose(transform(f)(0.7), transform(g)(0.7), rtol=1e-5)
        np.testing.assert_allclose(nj.jit(nj.vmap(transform(f)))(jnp.array([0.7, 0.2])),
                                   nj.vmap(transform(g))(jnp.array([0.7, 0.2])), rtol=1e-5)


def test_closed_over_in_grad(compiled):
    r = nj.new_ref(0)

    def f(x):
        c, _ = lax.scan(lambda c, _: (r.__setitem__(..., r[...] + 1), (c * 2, ()))[1], x, (), length=3)
        return c * r[...]

    assert float(nj.grad(compiled(f))(1.0)) == 24 and int(r[...]) == 3


def test_writes_without_derivatives(compiled):
    r = nj.new_ref(0.0, kind="no_grad_no_remat")

    def f(x):
        r[...] += x * 2
        return x * x

    assert float(nj.grad(compiled(f))(3.0)) == 6 and float(r[...]) == 6


def test_vmap(compiled):
    r, read_only = ref(), nj.new_ref(10.0)

    def f(a, x):
        a[...] += x + read_only[...]
        return a[...] * 2

    assert nj.vmap(compiled(f))(r, jnp.arange(3.0)).tolist() == [22, 26, 30] and r[...].tolist() == [11, 13, 15]
    table = ref(np.zeros((2, 3), np.float32))
    nj.vmap(lambda row, x: row.__setitem__(0, x), (1, 0))(table, jnp.arange(3.0))
    assert table[...].tolist() == [[0, 1, 2], [0, 0, 0]]


@pytest.mark.parametrize("wrap", [lambda f: f, nj.jit, nj.checkpoint, lambda f: nj.jit(nj.checkpoint(f)), nj.vmap])
@pytest.mark.parametrize("in_scan", [False, True])
def test_rules_write_in_the_backward_pass(wrap, in_scan):
    stash = nj.custom_vjp(lambda r, x: x)
    stash.defvjp(lambda r, x: (x, r), lambda r, g: (r.__setitem__(..., r[...] + jnp.sum(g)), (None, g))[1])
    r = nj.new_ref(0.0)

    def f(x):
        if not in_scan:
            return jnp.sin(stash(r, jnp.sin(x)))
        return lax.scan(lambda c, _: (stash(r, c) * 2.0, ()), x, (), length=3)[0]

    total = lambda x: jnp.sum(wrap(f)(x))
    x = jnp.ones((1,)) if wrap is nj.vmap else jnp.float32(1.0)
    if wrap is nj.vmap:
        with pytest.raises(ValueError, match="unbatched array reference"):
            nj.grad(total)(x)
        return
    for g in (nj.grad(total), nj.jit(nj.grad(total))):
        r[...] = 0.0
        np.testing.assert_allclose(g(x), 8 if in_scan else np.cos(np.sin(1)) * np.cos(1), rtol=1e-6)
        np.testing.assert_allclose(r[...], 14 if in_scan else np.cos(np.sin(1)), rtol=1e-6)


def test_gradients_into_references():
    into = nj.new_ref(jnp.ones(3))
    _, pull = nj.vjp(lambda x, k: (x ** 2).sum() * k, jnp.arange(3.0), 2.0)
    assert pull.with_refs(into, None)(1.0) == (nj.ad.GradRef(), nj.ad.DidntWant())
    assert into[...].tolist() == [1, 5, 9]
    nj.jit(lambda: pull.with_refs(into, nj.ad.DontWant())(1.0))()
    assert into[...].tolist() == [1, 9, 17]
    with pytest.raises(TypeError, match="one entry per argument"):
        pull.with_refs(into)(1.0)
    value, pull = nj.vjp(lambda x, r: x * r[...], 3.0, nj.new_ref(2.0))
    assert float(value) == 6 and pull(1.0)[1] is None and float(pull(1.0)[0]) == 2


# -------------------------------------------------------------------------------------------------------------- errors


def outlives(run):
    kept = []
    run(lambda *_: kept.append(nj.new_ref(1.0)))
    return kept[0][...]


ESCAPED = nj.errors.UnexpectedTracerError
ERRORS = {
    "shape": (lambda r: r.__setitem__(..., jnp.ones(4)), ValueError, r"Invalid shape for `swap`. Ref shape: \(3,\)"),
    "no broadcast": (lambda r: r.__setitem__(..., 1.0), ValueError, "Values are not broadcast"),
    "dtype": (lambda r: r.__setitem__(..., jnp.ones(3, int)), ValueError, "Invalid dtype for `swap`"),
    "kind of dtype": (lambda r: nj.new_ref(jnp.zeros(3, int)).__setitem__(..., jnp.zeros(3, int) + 1.0), ValueError, "dtype"),
    "bounds": (lambda r: r[3], ValueError, "Out of bound indexer: idx=3, dim=3"),
    "no reference": (lambda r: get(jnp.ones(3)), ValueError, "must be called on `Ref` types"),
    "reference as value": (lambda r: r.__setitem__(..., r), TypeError, "Read it first"),
    "operand": (lambda r: jnp.sin(r), TypeError, "is not a valid JAX type|array"),
    "arithmetic": (lambda r: r + 1, TypeError, "unsupported operand"),
    "iteration": (lambda r: list(r), TypeError, "not iterable"),
    "reference to a reference": (nj.new_ref, TypeError, "Read it first"),
    "reference to a list": (lambda r: nj.new_ref([1.0]), TypeError, "expected an array or a scalar"),
    "kind": (lambda r: nj.new_ref(1.0, kind="x"), ValueError, "kind must be None or"),
    "memory": (lambda r: nj.new_ref(1.0, memory_space="vmem"), NotImplementedError, "memory_space='vmem' is not supported"),
    "empty_ref": (lambda r: nj.empty_ref(3), TypeError, "expected something with shape and dtype"),
    "returned": (lambda r: nj.jit(lambda: nj.new_ref(1.0))(), ValueError,
                 r"traced for jit returned a mutable array reference.*\n\n.*was created on line"),
    "returned argument": (lambda r: nj.jit(lambda q: q)(r), ValueError, r"(?s)returned.*was passed in as the argument q"),
    "returned from scan": (lambda r: lax.scan(lambda c, x: (nj.new_ref(c), x), 0, jnp.arange(3)), ValueError,
                           "traced for scan returned a mutable array reference of type"),
    "carried by scan": (lambda r: lax.scan(lambda c, x: (c, x), r, jnp.arange(3)), ValueError, "returned a mutable array"),
    "returned from cond": (lambda r: lax.cond(True, lambda: nj.new_ref(1.0), lambda: nj.new_ref(2.0)), ValueError,
                           "traced for cond returned a mutable array reference of type"),
    "twice in jit": (lambda r: nj.jit(lambda a, b: a[...] + b[...])(r, r), ValueError, "appeared at both a and b"),
    "twice in cond": (lambda r: lax.cond(True, lambda a, b: 0, lambda a, b: 1, r, r), ValueError, "for cond.*at both a and b"),
    "twice in vmap": (lambda r: nj.vmap(lambda a, b: 0)(r, r), ValueError, "only one reference to a mutable array"),
    "closed over and passed": (lambda r: nj.jit(lambda a: a[...] + r[...])(r), ValueError,
                               "closed over and passed as the argument a"),
    "written by vmap": (lambda r: nj.vmap(lambda x: r.__setitem__(0, x))(jnp.ones(2)), ValueError, "unbatched array reference"),
    "written by vmap of jit": (lambda r: nj.vmap(nj.jit(lambda x: r.__setitem__(0, x)))(jnp.ones(2)), ValueError, "unbatched"),
    "written by grad": (lambda r: nj.grad(lambda x: (r.__setitem__(0, x), x)[1])(1.0), ValueError, "Move the array reference"),
    "added by grad": (lambda r: nj.grad(lambda x: (addupdate(r, 0, x), x)[1])(1.0), ValueError, "an addupdate operation with"),
    "outlived jit": (lambda r: outlives(lambda f: nj.jit(f)()), ESCAPED, "outside the"),
    "outlived vmap": (lambda r: outlives(lambda f: nj.vmap(f)(jnp.ones(2))), ESCAPED, "outside the function that made it"),
    "after free_ref": (lambda r: (nj.free_ref(r), r[...]), ValueError, "ended by free_ref"),
    "after freeze": (lambda r: (nj.freeze(r), r.__setitem__(0, 1.0)), ValueError, "ended by freeze"),
    "freed twice": (
        nj.jit(lambda r: [nj.free_ref(q) for q in [nj.new_ref(1.0)] * 2] and r[0]), ValueError, "ended by free_ref"),
    "freed inside": (lambda r: nj.jit(lambda: nj.free_ref(r))(), ValueError, "made outside of the function being traced"),
    "custom_jvp": (lambda r: nj.jvp(lambda x: _jvp_with_ref()(x, r), (1.0,), (1.0,)), NotImplementedError, "no tangent for it"),
    "new residual": (lambda r: nj.vjp(_vjp_with_new_residual(), 1.0), ValueError, "custom_vjp fwd function"),
    "cotangent": (lambda r: nj.grad(_vjp_with_cotangent())(1.0, r), NotImplementedError, "a cotangent for a mutable reference"),
}


def _jvp_with_ref():
    f = nj.custom_jvp(lambda x, r: x)
    f.defjvp(lambda p, t: (p[0], t[0]))
    return f


def _vjp_with_new_residual():
    f = nj.custom_vjp(lambda x: x)
    f.defvjp(lambda x: (x, nj.new_ref(0.0)), lambda r, g: (g,))
    return f


def _vjp_with_cotangent():
    f = nj.custom_vjp(lambda x, r: x)
    f.defvjp(lambda x, r: (x, r), lambda r, g: (g, g))
    return f


@pytest.mark.parametrize("case", ERRORS)
def test_errors(case):
    fun, error, match = ERRORS[case]
    with pytest.raises(error, match=match):
        fun(ref())


def test_errors_say_where_in_a_result_a_reference_is():
    ref = nj.new_ref(jnp.arange(3))
    for f, args in ((lambda r: {"hi": r}, (ref,)), (lambda: {"hi": ref}, ())):
        with pytest.raises(ValueError, match=r"at output tree path result\['hi'\], but mutable array references"):
            nj.jit(f)(*args)
    with pytest.raises(ValueError, match=r"traced for scan returned .* at output tree path result\[0\]"):
        lax.scan(lambda c, x: (nj.new_ref(c), x), 0, jnp.arange(3))
    primal = nj.custom_vjp(lambda r: r)
    primal.defvjp(lambda r: (0.0, None), lambda *_: None)
    with pytest.raises(ValueError, match="traced for custom_vjp primal function returned"):
        primal(ref)
