"""jit(dynamic_axes=): one program for all sizes of the named axes, with the results of programs for one size."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import errors, lax
from numjet.api.dynamic import generic
from numjet.cpu import compiler
from numjet.cpu.passes import short_buffers
from numjet.cpu.verification.interpreter import interpret
from numjet.foundation import events
from numjet.runtime import stored_programs

BATCH = ({0: "batch"}, None)


def normal(*shape):
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def loss(w, x):
    return jnp.mean(jnp.tanh(x @ w) ** 2)


PROGRAMS = {
    "network": lambda x, w: nj.nn.softmax(jnp.tanh(x @ w), axis=-1),
    "gradient": lambda x, w: nj.value_and_grad(loss)(w, x),
    "per example": lambda x, w: nj.vmap(nj.grad(loss), (None, 0))(w, x),
    "reductions": lambda x, w: (x.sum(0), x.mean(), jnp.prod(x, 0), x.std(0) if x.ndim == 2 else 0, jnp.any(x > 2)),
    "order": lambda x, w: (jnp.sort(x, 0), jnp.argsort(x, 0), x[::-1], jnp.cumsum(x, 0), jnp.concatenate([x, x[:1]])),
    "gathers": lambda x, w: (x.at[jnp.array([0, -1])].add(1.0), x.T, x.reshape(-1), jnp.take(x, jnp.arange(2), 1)),
    "loop": lambda x, w: lax.scan(lambda c, r: (jnp.tanh(c + r), c.sum()), jnp.zeros(5), x),
    "carry": lambda x, w: lax.fori_loop(0, 3, lambda i, c: jnp.sin(c) + x, x),
    "softmax over the batch": lambda x, w: nj.nn.softmax(x, axis=0),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_are_those_of_one_size(name):
    run = PROGRAMS[name]
    made, w = nj.jit(run, dynamic_axes=BATCH), normal(5, 3)
    for n in (4, 1, 37):
        x = normal(n, 5)
        want, got = nj.jit(run)(x, w), made(x, w)
        assert nj.tree.structure(want) == nj.tree.structure(got)
        for a, b in zip(nj.tree.leaves(want), nj.tree.leaves(got), strict=True):
            assert a.shape == b.shape and a.dtype == b.dtype
            np.testing.assert_allclose(b, a, rtol=2e-5, atol=2e-6)


@pytest.mark.parametrize("sizes", [(2600, 1040, 1500, 40), (40, 1100, 2600)], ids=str)
def test_gradients_through_large_products(sizes):
    """Programs for one size go through strips of rows, of which others have other numbers."""
    def run(q, k, v):
        return nj.grad(lambda q: jnp.sum(jnp.sin(nj.nn.softmax(q @ k.T, axis=-1) @ v)))(q), (jnp.tanh(k) @ q.T).T @ v
    made, v = nj.jit(run, dynamic_axes=({0: "n"}, None, None)), normal(1030, 16)
    k = normal(1030, 17)[:, :16]
    for n in sizes:
        q = normal(n, 16)
        for a, b in zip(nj.jit(run)(q, k, v), made(q, k, v), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-3, atol=1e-4 * float(jnp.abs(a).max()))


def test_two_hundred_sizes_are_one_program():
    made, w = nj.jit(lambda x, w: jnp.tanh(x @ w).sum(1), dynamic_axes=BATCH), normal(5, 3)
    with events.counting() as grown:
        for n in range(1, 201):
            assert made(np.ones((n, 5), np.float32), w).shape == (n,)
    assert grown["compile"] == 1 and grown["trace"] == 1


def test_nothing_of_the_padding_is_seen():
    """Zeros behind the elements would be infinities, or the largest or first of all."""
    run = lambda x: (jnp.log(x).sum(), (1 / x).max(), x.min(), jnp.argmin(x), jnp.unique(x, size=2), (x ** -1).var())
    for x in (np.full(3, 2.0, np.float32), np.arange(1.0, 9.0, dtype=np.float32)):
        for a, b in zip(nj.jit(run)(x), nj.jit(run, dynamic_axes=({0: "n"},))(x), strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-6)
    slope = nj.jit(nj.grad(lambda x: jnp.sqrt(x).sum()), dynamic_axes=({0: "n"},))
    assert slope(np.full(3, 4.0, np.float32)).tolist() == [0.25] * 3


def test_axes_by_parameter_and_in_trees():
    run = lambda data, scale=1.0: data["x"] * scale + data["y"].sum(0, keepdims=True)
    made = nj.jit(run, dynamic_axes={"data": {"x": {0: "n", 1: "m"}, "y": {-1: "m"}}})
    with events.counting() as grown:
        for n, m in ((2, 3), (5, 4), (1, 1)):
            data = {"x": normal(n, m), "y": normal(3, m)}
            np.testing.assert_allclose(made(data, scale=2.0), run(data, 2.0), rtol=1e-5, atol=1e-6)
    assert grown["compile"] == 1


def test_capacities_and_bounds():
    grows = nj.jit(lambda x: x.sum(), dynamic_axes=({0: "n"},))
    with events.counting() as grown:
        for n in (1, 256, 257, 500, 1024):
            assert grows(np.ones(n, np.float32)) == n
    assert grown["compile"] == 2
    bounded = nj.jit(lambda x: x.sum(), dynamic_axes=({0: "n <= 10"},))
    assert bounded(np.ones(10)) == 10
    with pytest.raises(ValueError, match="'n' has 11 elements, more than 'n <= 10'"):
        bounded(np.ones(11))


def test_static_arguments_and_transformations():
    made = nj.jit(lambda x, kind: x.sum() if kind == "sum" else x.max(), static_argnums=1, dynamic_axes=({0: "n"},))
    x = normal(4)
    assert abs(made(x, "sum") - x.sum()) < 1e-6 and made(x, "max") == x.max()
    square = nj.jit(lambda x: (x ** 2).sum(), dynamic_axes=({0: "n"},))
    assert nj.grad(square)(x).tolist() == (2 * x).tolist()
    assert nj.vmap(square)(x[:, None]).tolist() == (x ** 2).tolist()
    assert square.lower(x).out_info.shape == () and square.eval_shape(x).shape == ()
    square.clear_cache()


@pytest.mark.parametrize(("axes", "args", "message"), [
    (({0: "n"}, {0: "n"}), (np.ones(2), np.ones(3)), "disagree about the dynamic axis 'n': it has 2 elements.*and 3"),
    (({1: "n"}, None), (np.ones(2), 1), r"names axis 1 of an argument of shape \(2,\)"),
    (({0: "n"},) * 3, (np.ones(2), 1), "has 3 entries, and the function was called with 2"),
    ({"z": {0: "n"}}, (np.ones(2), 1), "names the parameter 'z'"),
    (({0: "n"}, {0: "n"}), (np.ones(2), {"a": (1, [2])}), "names axis 0 of an argument of shape"),
    (([{0: "n"}], None), (np.ones(2), 1), "does not fit the argument"),
])
def test_arguments_that_do_not_fit(axes, args, message):
    with pytest.raises(ValueError, match=message):
        nj.jit(lambda x, y: x, dynamic_axes=axes)(*args)


@pytest.mark.parametrize(("axes", "message"), [
    (0, "a tuple with an entry for each positional argument"), (({0: "2 n"},), "names axes as 'batch'"),
    ((None,), "names no axis"), (("n",), "is {axis: name} or None"), (({0: "n <= 0"},), "names axes as")])
def test_specifications_that_are_none(axes, message):
    with pytest.raises(ValueError, match=message):
        nj.jit(lambda x: x, dynamic_axes=axes)
    with pytest.raises(ValueError, match="donate_argnums cannot be used beside it"):
        nj.jit(lambda x: x, dynamic_axes=({0: "n"},), donate_argnums=0)


def test_python_cannot_ask_for_the_size():
    with pytest.raises(errors.InconclusiveDimensionOperation, match="the dynamic axis 'n'"):
        nj.jit(lambda x: x if x.shape[0] > 3 else -x, dynamic_axes=({0: "n"},))(np.ones(2))


def test_arrays_in_the_padding_are_no_nans():
    run = lambda x: (jnp.log(x), jnp.sqrt(x - 1))
    for made in (nj.jit(run, dynamic_axes=({0: "n"},)), nj.jit(lambda x: run(x[x > 0]), dynamic_shapes=True)):
        with nj.debug_nans(True), nj.debug_infs(True):
            assert made(np.ones(3, np.float32))[1].tolist() == [0, 0, 0]
            with pytest.raises(FloatingPointError):
                made(np.full(3, 0.5, np.float32))


@pytest.mark.parametrize("n", [-3, 0, 2, 9, 99])
def test_masks_of_users_may_have_any_bound(n):
    """Sums and products over the first n rows are limited as those of padded programs are."""
    x, w = normal(9, 5), normal(9, 3)

    def run(x, w, n):
        rows = jnp.arange(9)[:, None] < n
        a, b = jnp.where(rows, x, 0), jnp.where(rows, w, 0)
        return a.T @ b, a.sum(), a.sum(0)

    for got, want in zip(nj.jit(run)(x, w, n), run(x, w, n), strict=True):
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-6)


SORTS = {
    "whole": jnp.sort,
    "rows": lambda x: jnp.sort(x, 0), "last": lambda x: jnp.sort(x, -1), "descending": lambda x: -jnp.sort(-x, 0),
    "two keys": lambda x: lax.sort((x.reshape(-1), x.reshape(-1)[::-1]), num_keys=2, dimension=0),
    "argsort": lambda x: jnp.argsort(x, 0)}


@pytest.mark.parametrize("name", SORTS)
def test_sorts_with_elements_that_equal_the_padding(name):
    made = nj.jit(SORTS[name], dynamic_axes=({0: "n"},))
    for n in (5, 0, 200):
        x = normal(n, 3)
        whole = (x * 100).astype(np.int32)
        x[::2, 1], x[1::3, 2], whole[::2, 1] = np.nan, np.inf, np.iinfo(np.int32).max
        for given in (x, whole):
            want = nj.jit(SORTS[name])(jnp.asarray(given))
            nj.tree.map(np.testing.assert_array_equal, made(jnp.asarray(given)), want)


def test_repeated_calls_see_what_changed():
    """Other shapes, dtypes, flags, kinds of arguments, and sizes that disagree, by a program that is known already."""
    made = nj.jit(lambda x, w: x @ w, dynamic_axes=({0: "n"}, {1: "m"}))
    for n, k, m in ((3, 2, 4), (5, 2, 4), (5, 3, 1), (300, 3, 600), (2, 2, 2)):
        x, w = jnp.ones((n, k)), jnp.full((k, m), 2.0)
        for args in ((x, w), (x, w), (np.asarray(x), w), (x.astype(jnp.float16), w)):
            out = made(*args)
            assert out.shape == (n, m) and out.dtype == jnp.result_type(*args) and (np.asarray(out) == 2 * k).all()
    both = nj.jit(lambda x, y: x + y, dynamic_axes=({0: "n"}, {0: "n"}))
    for _ in range(2):
        assert both(jnp.ones(3), jnp.ones(3)).shape == (3,)
    with pytest.raises(ValueError, match="disagree"):
        both(jnp.ones(3), jnp.ones(4))
    gone = jnp.ones(3)
    gone.delete()
    with pytest.raises(RuntimeError, match="deleted"):
        both(gone, jnp.ones(3))


FRONT = {   # programs that touch the elements of their arguments and results only
    "sums": lambda x: (x.sum(), x.sum(0), x.mean()), "largest": lambda x: (x.max(0), jnp.argmax(x, 0), jnp.argmin(x, 0)),
    "softmax": lambda x: nj.nn.softmax(x), "running sums": lambda x: (jnp.cumsum(x, 0), lax.cummax(x, 0)),
    "reversed": lambda x: x[::-1] * 2, "differences": lambda x: jnp.diff(x, axis=0),
    "gradient": lambda x: nj.grad(lambda y: (jnp.sin(y) ** 2).sum())(x), "vmap": lambda x: nj.vmap(lambda r: r * r.sum())(x),
}


@pytest.mark.parametrize("shape", [(300,), (20, 3), (300, 16)], ids=str)
@pytest.mark.parametrize("name", FRONT)
def test_no_memory_beyond_the_elements_is_touched(name, shape, monkeypatch):
    """The interpreter checks every access, with memory for what programs are said to touch."""
    programs, compile_program = [], compiler.compile_program
    monkeypatch.setattr(generic, "SPREADS", ())   # no programs but those on padded arrays
    monkeypatch.setattr(stored_programs, "enabled", False)
    monkeypatch.setattr(compiler, "compile_program",
                        lambda closed, *rest: (programs.append(closed), compile_program(closed, *rest))[1])
    made = nj.jit(FRONT[name], dynamic_axes=({0: "n"},))
    made(normal(*shape))
    closed = programs[-1]
    function = compiler.planned(closed, name)
    inputs, outputs = short_buffers.short(function)
    assert [k for k, a in enumerate(closed.in_avals) if a.shape] == list(inputs)
    sizes = {b: b.size for b in (*function.inputs, *function.outputs)}
    for n in (1, 2, 5, 19):
        for buffers, short in ((function.inputs, inputs), (function.outputs, outputs)):
            for k, (_, size, less) in short.items():
                assert n * size - less <= max(n * sizes[buffers[k]] // closed.in_avals[1].shape[0], 1)
                buffers[k].size = max(n * size - less, 0)
        given = [np.full(b.size, n if b.size == 1 and b.dtype.kind == "i" else 1, b.dtype) for b in function.inputs]
        assert interpret(function, given, {"nj_prefix": lambda *args: 0, "nj_prefix_in_place": lambda *args: 0}).status == 0


def test_sizes_that_were_met_are_called_natively():
    made = nj.jit(lambda x, k: (x * k, x.sum(0)), dynamic_axes=({0: "n"},), static_argnums=1)
    with events.counting() as grown:
        for _ in range(2):
            for n in (3, 200, 1, 64):
                x = normal(n, 4)
                double, total = made(jnp.asarray(x), 2)
                np.testing.assert_allclose(double, 2 * x)
                np.testing.assert_allclose(total, x.sum(0), rtol=1e-4, atol=1e-5)
    assert made.cache_size() == 4 and grown["compile"] == 1
    made.clear_cache()
    assert made.cache_size() == 0 and made(jnp.ones((2, 4)), 3)[0].tolist() == [[3.0] * 4] * 2


PLACES = [[2, 7, 7, 1], [7], [-3, -3], [np.nan, 1, np.nan], [1, np.inf, np.nan], [-np.inf] * 2]


@pytest.mark.parametrize("values", PLACES, ids=str)
@pytest.mark.parametrize("find", [jnp.argmax, jnp.argmin])
def test_the_first_place_is_found(find, values):
    made = nj.jit(find, dynamic_axes=({0: "n"},))
    for x in ([jnp.asarray(values, np.float32)] if np.isnan(values).any() or np.isinf(values).any() else
              [jnp.asarray(values, t) for t in (np.float32, np.int8, np.float16)]):
        got = made(x)
        assert got == find(x) and got.dtype == find(x).dtype


def test_no_elements():
    run = lambda x: (x.sum(0), jnp.sort(x, 0), x[::-1], jnp.diff(x, axis=0), jnp.cumsum(x, 0))
    made = nj.jit(run, dynamic_axes=({0: "n"},))
    for n in (3, 0, 1, 0):
        for a, b in zip(made(normal(n, 2)), nj.jit(run)(normal(n, 2)), strict=True):
            assert a.shape == b.shape and np.allclose(a, b)
    with pytest.raises(ValueError):
        nj.jit(lambda x: x.max(), dynamic_axes=({0: "n"},))(jnp.ones(0))


def test_batches_of_padded_programs():
    run = nj.jit(lambda x: (jnp.cumsum(x[x > 0][::-1]) ** 2).sum(), dynamic_shapes=True)
    rows = jnp.array([[1.0, -1, 2], [3, 4, 5], [-1, -1, -1]])
    assert nj.vmap(run)(rows).tolist() == [run(r) for r in rows] == nj.jit(nj.vmap(run, 1))(rows.T).tolist()


ANY_AXIS = {   # what rules of padding cost much for, or have no form of
    "elements": lambda x: jnp.tanh(x) * 2, "rows": lambda x: (x.sum(0), x.sum(1), x.mean(1), jnp.argmax(x, 0), x.var(1)),
    "products": lambda x: (x @ x.T, x.T @ x), "moves": lambda x: (x.T, jnp.roll(x, 2, 1), x[:, ::-1], x[:, ::2], x.reshape(-1)),
    "joined": lambda x: (jnp.concatenate([x, x[:, :1]], 1), jnp.pad(x, 1), jnp.tile(x, (1, 2))),
    "running sums": lambda x: (jnp.cumsum(x, 1), lax.cummax(x, axis=1, reverse=True)), "sorts": lambda x: jnp.sort(x, 1),
    "gathers": lambda x: (x[:, jnp.array([0, -1, 0])], x.at[:, jnp.array([-1, 1])].add(1.0)),
    "loop": lambda x: (lax.scan(lambda c, r: (c * 0.5 + r, c.sum()), x[:, 0], x.T), lax.fori_loop(
        0, x.shape[1], lambda i, c: c + x[:, i] * i, x[:, 0])),
    "derivatives": lambda x: nj.grad(lambda y: (nj.nn.softmax(y) * jnp.arange(y.shape[1])).sum() + jnp.tanh(y.T @ y).mean())(x),
    "images": lambda x: (lax.conv(x[None, None], jnp.ones((2, 1, 3, 3)), (1, 1), "SAME"), x[:, :-1] - x[:, 1:]),
    "factors": lambda x: jnp.linalg.cholesky(x.T @ x + 9 * jnp.eye(x.shape[1])),
    "numbers": lambda x: (x / x.shape[1], jnp.linspace(1, 2, x.shape[1]), jnp.arange(x.shape[1]) + x.size),
}


@pytest.mark.parametrize("name", ANY_AXIS)
def test_any_axis_needs_no_padding(name):
    run = ANY_AXIS[name]
    made, known = nj.jit(run, dynamic_axes=({1: "n"},)), nj.jit(run)
    with events.counting() as grown:
        found = {n: made(normal(6, n)) for n in (300, 3, 7, 8, 9, 16, 17, 65)}
    assert grown["compile"] == grown["trace"] == 1
    for n in (3, 9, 65):
        for got, want in zip(nj.tree.leaves(found[n]), nj.tree.leaves(known(normal(6, n))), strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["elements", "rows", "moves", "joined", "gathers", "images", "numbers"])
def test_programs_for_any_axis_stay_within_arrays(name, monkeypatch):
    """The interpreter checks every access, with memory for the elements only."""
    programs, generated = [], compiler._generated
    monkeypatch.setattr(compiler, "_generated", lambda lowered, *rest: (programs.append(lowered.function),
                                                                       generated(lowered, *rest))[1])
    nj.jit(ANY_AXIS[name], dynamic_axes=({1: "n"},))(normal(6, 70))
    function = programs[-1]
    for n in (4, 5, 33):
        x = jnp.asarray(normal(6, n))
        outs = nj.tree.leaves(nj.eval_shape(ANY_AXIS[name], x))
        for buffer, size in zip((*function.inputs[-1:], *function.outputs), (x.size, *(o.size for o in outs)), strict=True):
            buffer.size = size
        sizes = [np.full(1, n if k == 0 else (n + 1) // 2, np.int32) for k in range(len(function.inputs) - 1)]
        assert interpret(function, [*sizes, np.asarray(x).reshape(-1)]).status == 0


def test_sizes_below_those_of_the_program_have_one_of_their_own():
    run = lambda x: x[:, 1:-1] + x[:, 2:] - x[:, :-2]
    made = nj.jit(run, dynamic_axes=({1: "n"},))
    for n in (300, 5, 3, 2, 1, 3):
        np.testing.assert_allclose(made(normal(4, n)), run(normal(4, n)), rtol=1e-6, atol=1e-6)
    smooth = lambda x: lax.conv(x[None, None], jnp.ones((1, 1, 3, 3)), (1, 1), "SAME")
    made = nj.jit(smooth, dynamic_axes=({1: "n"},))
    for n in (300, 2, 1):   # of one column, both ends are the same
        np.testing.assert_allclose(made(normal(4, n)), smooth(normal(4, n)), rtol=1e-5, atol=1e-5)


def test_callbacks_are_refused_by_name():
    read = lambda x: x + nj.pure_callback(abs, nj.ShapeDtypeStruct(x.shape, x.dtype), x)
    with pytest.raises(NotImplementedError, match=r"operation 'pure_callback' cannot follow.*dynamic axis"):
        nj.jit(read, dynamic_axes=({0: "n"},))(np.ones(3, np.float32))


def test_gradients_of_loops_in_rules_of_their_own():
    """Loops in the program of a rule are differentiated for symbolic sizes."""
    def looped(x):
        step = lambda state: (state[0] + 1, state[1] + jnp.sin(x) / 2)
        return nj.lax.while_loop(lambda state: state[0] < 2, step, (0, jnp.zeros_like(x)))[1]

    @nj.custom_gradient
    def slope(x):
        y, back = nj.vjp(lambda x: nj.vjp(looped, x)[1](jnp.ones_like(x))[0], x)
        return y, back

    run = nj.jit(slope, dynamic_axes=({0: "n"},))
    for n in (3, 100):
        x = np.linspace(0, 1, n, dtype=np.float32)
        np.testing.assert_allclose(run(x), np.cos(x), rtol=1e-5)
