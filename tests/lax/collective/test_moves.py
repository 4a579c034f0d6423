"""all_gather, all_to_all, ppermute and their kin under vmap, against what they mean on the whole array."""
from functools import partial

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

N = 4
GROUPS = [[0, 2], [3, 1]]
X = np.arange(N * 4 * 3, dtype=np.float32).reshape(N, 4, 3) ** 1.5 / 20


def over(f, x=X, **options):
    return nj.vmap(f, axis_name="i", **options)(x)


def rows(x, groups=None):
    """For each element: the elements of its group, in order."""
    members = {i: g for g in (groups or [list(range(N))]) for i in g}
    return [[x[j] for j in members[i]] for i in range(N)], [members[i].index(i) for i in range(N)]


def gathered(x, axis, tiled, groups=None):
    join = np.concatenate if tiled else np.stack
    return np.stack([join(r, axis) for r in rows(x, groups)[0]])


def scattered(x, axis, tiled, groups=None):
    found = []
    for r, place in zip(*rows(x, groups), strict=True):
        parts = np.split(np.sum(r, 0), len(r), axis)
        found.append(parts[place] if tiled else np.squeeze(parts[place], axis))
    return np.stack(found)


def exchanged(x, split, concat, tiled, groups=None):
    found = []
    for r, place in zip(*rows(x, groups), strict=True):
        parts = [np.split(v, len(r), split)[place] for v in r]
        found.append(np.concatenate(parts, concat) if tiled else np.stack([np.squeeze(p, split) for p in parts], concat))
    return np.stack(found)


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_all_gather(axis, tiled, groups):
    f = partial(lax.all_gather, axis_name="i", axis=axis, tiled=tiled, axis_index_groups=groups)
    np.testing.assert_array_equal(over(f), gathered(X, axis, tiled, groups))
    np.testing.assert_array_equal(nj.jit(nj.vmap(nj.jit(f), axis_name="i"))(X), gathered(X, axis, tiled, groups))
    np.testing.assert_array_equal(over(f, in_axes=2, x=np.moveaxis(X, 0, 2)), gathered(X, axis, tiled, groups))


def test_all_gather_is_the_same_for_all_elements():
    assert over(lambda x: lax.all_gather(x, "i"), out_axes=None).shape == X.shape
    np.testing.assert_array_equal(over(lambda x: lax.all_gather(2.0, "i")), np.full((N, N), 2.0))


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("tiled", [False, True])
def test_psum_scatter(tiled, groups):
    x = X if groups is None or tiled else X[:, :2]
    f = partial(lax.psum_scatter, axis_name="i", tiled=tiled, axis_index_groups=groups)
    np.testing.assert_allclose(over(f, x), scattered(x, 0, tiled, groups), rtol=1e-6)
    g = partial(f, scatter_dimension=1)
    np.testing.assert_allclose(over(g, np.swapaxes(x, 1, 2)), scattered(np.swapaxes(x, 1, 2), 1, tiled, groups), rtol=1e-6)


@pytest.mark.parametrize("groups", [None, GROUPS])
@pytest.mark.parametrize("tiled", [False, True])
@pytest.mark.parametrize("split, concat", [(0, 0), (0, 1), (1, 0), (0, -1)])
def test_all_to_all(split, concat, tiled, groups):
    x = X if groups is None or tiled else X[:, :2]
    x = np.swapaxes(x, 1, 2) if split == 1 else x
    f = partial(lax.all_to_all, axis_name="i", split_axis=split, concat_axis=concat, tiled=tiled, axis_index_groups=groups)
    np.testing.assert_array_equal(over(f, x), exchanged(x, split, concat, tiled, groups))
    if split == concat and not tiled:
        swap = partial(lax.pswapaxes, axis_name="i", axis=split, axis_index_groups=groups)
        np.testing.assert_array_equal(over(swap, x), exchanged(x, split, concat, tiled, groups))


def test_ppermute_pshuffle_pbroadcast():
    np.testing.assert_array_equal(over(lambda x: lax.ppermute(x, "i", [(0, 2), (3, 0)])),
                                  np.stack([X[3], 0 * X[0], X[0], 0 * X[0]]))
    np.testing.assert_array_equal(over(lambda x: lax.pshuffle(x, "i", [3, 1, 0, 2])), X[[3, 1, 0, 2]])
    np.testing.assert_array_equal(over(lambda x: lax.pbroadcast(x, "i", 2)), X[[2] * N])
    nan = X.copy()
    nan[1] = np.nan
    assert np.isfinite(over(lambda x: lax.ppermute(x, "i", [(0, 0)]), nan)).all()
    assert np.isfinite(over(lambda x: lax.pbroadcast(x, "i", 0), nan)).all()
    tree = over(lambda x: lax.ppermute({"a": x, "b": x[0] > 1}, "i", [(1, 0)]))
    assert tree["b"].dtype == bool and tree["b"].shape == (N, 3)


@pytest.mark.parametrize("groups", [GROUPS, [[0], [1, 2, 3]], [[3], [2], [1], [0]]])
def test_reductions_in_groups(groups):
    members = {i: g for g in groups for i in g}
    for f, reduce in ((lax.psum, np.sum), (lax.pmean, np.mean), (lax.pmax, np.max), (lax.pmin, np.min)):
        want = np.stack([reduce(X[members[i]], 0) for i in range(N)])
        np.testing.assert_allclose(over(lambda x, f=f: f(x, "i", axis_index_groups=groups)), want, rtol=1e-6)
    assert over(lambda x: lax.psum(1, "i", axis_index_groups=groups)).tolist() == [len(members[i]) for i in range(N)]


def test_sizes_are_known_while_tracing():
    seen = []

    def f(x):
        seen.append((lax.axis_size("i"), lax.psum(1, "i"), lax.psum(0.5, "i"), lax.psum(1, ("i", "j"))))
        return x
    inner = nj.jit(f)
    nj.vmap(nj.vmap(inner, axis_name="j"), axis_name="i")(X)
    nj.vmap(nj.vmap(inner, axis_name="i"), axis_name="j")(X)
    assert seen == [(4, 4, 2.0, 16), (4, 4, 2.0, 16)]
    nj.vmap(nj.vmap(inner, axis_name="j"), axis_name="i")(X[:3])
    assert seen[2:] == [(3, 3, 1.5, 12)], "a function remembered for another size was traced again"
    g = nj.vmap(lambda x: lax.scan(lambda c, _: (c + lax.axis_size("i"), None), x, None, length=2)[0], axis_name="i")
    assert g(X[:2, 0, 0]).tolist() == (X[:2, 0, 0] + 4).tolist()
    assert g(X[:3, 0, 0]).tolist() == (X[:3, 0, 0] + 6).tolist()


FUNCTIONS = {
    "all_gather": lambda x, i: lax.all_gather(x, i, axis=1), "all_gather tiled": lambda x, i: lax.all_gather(x, i, tiled=True),
    "psum_scatter": lambda x, i: lax.psum_scatter(x, i, tiled=True), "all_to_all": lambda x, i: lax.all_to_all(x, i, 0, 1),
    "all_to_all tiled": lambda x, i: lax.all_to_all(x, i, 0, 1, tiled=True),
    "ppermute": lambda x, i: lax.ppermute(x, i, [(1, 0), (0, 2), (3, 3)]), "pbroadcast": lambda x, i: lax.pbroadcast(x, i, 1),
    "psum": lax.psum, "pmean": lax.pmean, "index": lambda x, i: x * lax.axis_index(i),
    "groups": lambda x, i: lax.all_gather(x, i, axis_index_groups=GROUPS) if i == "i" else lax.all_gather(x, i),
    "groups 2": lambda x, i: lax.psum_scatter(x, i, axis_index_groups=GROUPS, tiled=True) if i == "i" else x,
    "groups 3": lambda x, i: lax.all_to_all(x, i, 0, 0, axis_index_groups=GROUPS, tiled=True) if i == "i" else x,
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_several_names_number_all_elements(name):
    """An exchange over (a, b) is one over a single axis of all their elements."""
    y = X.reshape(2, 2, 4, 3)
    two = nj.vmap(nj.vmap(lambda x: FUNCTIONS[name](x, ("a", "b")), axis_name="b"), axis_name="a")(y)
    one = over(lambda x: FUNCTIONS[name](x, "i")) if "groups" not in name else None
    if one is not None:
        np.testing.assert_allclose(two.reshape(one.shape), one, rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inside_another_vmap(name):
    f = nj.vmap(lambda x: FUNCTIONS[name](x, "i"), axis_name="i")
    y = np.stack([X, 2 - X], 1)
    for g in (nj.vmap(f, in_axes=1), nj.vmap(f, in_axes=1, axis_name="o"), nj.jit(nj.vmap(nj.jit(f), in_axes=1))):
        np.testing.assert_allclose(g(y), np.stack([f(X), f(2 - X)]), rtol=1e-6)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_derivatives_are_those_of_the_linear_map(name):
    x = X[:, :, :2]
    f = lambda x: nj.vmap(lambda v: FUNCTIONS[name](v, "i") ** 2, axis_name="i")(x)
    linear = lambda x: nj.vmap(lambda v: FUNCTIONS[name](v, "i"), axis_name="i")(x)
    matrix = np.stack([np.asarray(linear(e)).ravel() for e in np.eye(x.size, dtype=np.float32).reshape(-1, *x.shape)], 1)
    want = 2 * (matrix @ x.ravel())[:, None] * matrix
    for jacobian in (nj.jacfwd(f), nj.jacrev(f), nj.jit(nj.jacrev(f))):
        np.testing.assert_allclose(np.asarray(jacobian(x)).reshape(matrix.shape), want, rtol=1e-4, atol=1e-4)
    hessian = nj.hessian(lambda x: jnp.sum(f(x)))(x)
    np.testing.assert_allclose(np.asarray(hessian).reshape(x.size, x.size), 2 * matrix.T @ matrix, rtol=1e-4, atol=1e-4)


def test_gradient_inside_of_vmap():
    loss = lambda x: jnp.sum(lax.all_gather(x, "i") ** 2)
    np.testing.assert_allclose(over(nj.grad(loss)), 2 * N * X, rtol=1e-6)


def test_inside_of_loops_branches_checkpoints_and_own_derivatives():
    x = X[:3, 0, :2]
    turn = lambda v: lax.ppermute(v, "i", [(0, 1), (1, 2), (2, 0)])
    scan = lambda v: lax.scan(lambda c, _: (jnp.sin(turn(c)), None), v, None, length=3)[0]
    np.testing.assert_allclose(nj.jit(nj.vmap(scan, axis_name="i"))(x), np.sin(np.sin(np.sin(x))), rtol=1e-6)
    cond = lambda v: lax.cond(lax.axis_index("i") > 0, turn, lambda v: -turn(v), v)
    np.testing.assert_array_equal(nj.vmap(cond, axis_name="i")(x), np.stack([-x[2], x[0], x[1]]))
    loop = lambda v: lax.while_loop(lambda c: jnp.sum(lax.all_gather(c, "i")) < 100, lambda c: 2 * c + 1, v)
    want = x
    while want.sum() < 100:
        want = 2 * want + 1
    np.testing.assert_allclose(nj.jit(nj.vmap(loop, axis_name="i"))(x), want, rtol=1e-6)
    again = nj.checkpoint(lambda v: jnp.sin(lax.all_gather(v, "i")))
    slope = nj.grad(lambda x: jnp.sum(nj.vmap(again, axis_name="i")(x)))(x)
    np.testing.assert_allclose(slope, 3 * np.cos(x), rtol=1e-5)

    @nj.custom_vjp
    def total(v):
        return lax.psum(v, "i")
    total.defvjp(lambda v: (total(v), None), lambda _, ct: (lax.axis_size("i") * ct,))
    for f in (total, nj.jit(total)):
        slope = nj.grad(lambda x, f=f: jnp.sum(nj.vmap(f, axis_name="i")(x)))(x)
        np.testing.assert_array_equal(slope, np.full_like(x, 3))


def test_the_innermost_axis_of_a_name_counts_and_no_axes_change_nothing():
    twice = nj.vmap(nj.vmap(lambda v: lax.all_gather(v, "i"), axis_name="i"), axis_name="i")(X[:, :, 0])
    np.testing.assert_array_equal(twice, np.broadcast_to(X[:, None, :, 0], (4, 4, 4)))
    for f in (lax.psum, lax.pmax, lax.pmin, lax.pmean):
        np.testing.assert_array_equal(nj.jit(lambda x, f=f: f(x, ()))(X), X)
    found = nj.vmap(lambda: lax.all_gather(2.0, "i") + lax.axis_index("i"), axis_name="i", axis_size=3)()
    assert found.tolist() == [[2, 2, 2], [3, 3, 3], [4, 4, 4]]


# ------------------------------------------------------------------------------------------------ ragged

def ragged_by_loop(operand, output, starts, sizes, targets, per):
    out = output.copy()
    for sender in range(len(operand)):
        for i in range(starts.shape[1]):
            s, n, t = starts[sender, i], sizes[sender, i], targets[sender, i]
            out[i // per, t:t + n] = operand[sender, s:s + n]
    return out


def ragged(operand, output, starts, sizes, targets, received):
    f = lambda *xs: lax.ragged_all_to_all(*xs, axis_name="i")
    return nj.vmap(f, axis_name="i")(operand, output, starts, sizes, targets, received)


def test_ragged_all_to_all():
    operand = np.array([[1, 2, 2], [3, 4, 0]], np.float32)
    output, starts = np.zeros((2, 4), np.float32), np.array([[0, 1], [0, 1]], np.int32)
    sizes, targets = np.array([[1, 2], [1, 1]], np.int32), np.array([[0, 0], [1, 2]], np.int32)
    received = np.array([[1, 1], [2, 1]], np.int32)
    got = ragged(operand, output, starts, sizes, targets, received)
    assert got.tolist() == [[1, 3, 0, 0], [2, 2, 4, 0]]


def test_ragged_all_to_all_with_several_slices_and_derivatives():
    rng = np.random.default_rng(0)
    n, per = 3, 2
    operand = rng.normal(size=(n, 9, 2)).astype(np.float32)
    output = rng.normal(size=(n, 12, 2)).astype(np.float32)
    sizes = rng.integers(0, 3, (n, n * per)).astype(np.int32)
    starts = rng.integers(0, 7, (n, n * per)).astype(np.int32)
    received = sizes.reshape(n, n, per).swapaxes(0, 1).reshape(n, n * per)
    targets = (np.cumsum(received, 1) - received).reshape(n, n, per).swapaxes(0, 1).reshape(n, n * per).astype(np.int32)
    want = ragged_by_loop(operand, output, starts, sizes, targets, per)
    np.testing.assert_array_equal(ragged(operand, output, starts, sizes, targets, received), want)
    weight = rng.normal(size=want.shape).astype(np.float32)
    f = lambda x, y: jnp.sum(ragged(x, y, starts, sizes, targets, received) * weight)
    gx, gy = nj.grad(f, (0, 1))(operand, output)
    assert np.isclose(np.sum(gx * operand) + np.sum(gy * output), np.sum(want * weight), rtol=1e-4)


# ------------------------------------------------------------------------------------------------ errors

@pytest.mark.parametrize("f, error, message", [
    (lambda x: lax.all_gather(x, "k"), NameError, "unbound axis name: k"),
    (lambda x: lax.axis_size("k"), NameError, "unbound axis name: k"),
    (lambda x: lax.all_gather(x, "i", axis=3), ValueError, "all_gather, axis: axis 3 is out of bounds"),
    (lambda x: lax.all_gather(x, "i", to="up"), ValueError, "all_gather: `to` must be one of"),
    (lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1], [2]]), ValueError, "must cover all indices exactly once"),
    (lambda x: lax.all_gather(x, "i", axis_index_groups=[[0, 1, 2], [3]]), ValueError, "must all have the same size"),
    (lambda x: lax.psum(x, "i", axis_index_groups=[[0, 1], [1, 2, 3]]), ValueError, "psum: axis_index_groups must cover"),
    (lambda x: lax.psum_scatter(x, "i", scatter_dimension=1), ValueError, "psum_scatter requires the size .* 4 and 3"),
    (lambda x: lax.psum_scatter(x, "i", scatter_dimension=1, tiled=True), ValueError, "has to be divisible"),
    (lambda x: lax.all_to_all(x, "i", 1, 0), ValueError,
     r"all_to_all requires the size of the mapped axis axis_name to equal x\.shape\[split_axis\], but they are 4 and 3"),
    (lambda x: lax.all_to_all(x, "i", 0, 2), ValueError, "all_to_all, concat_axis: axis 2 is out of bounds"),
    (lambda x: lax.ppermute(x, "i", [(0, 1), (1, 4)]), ValueError, "ppermute: perm holds pairs .* from 0 to 3"),
    (lambda x: lax.ppermute(x, "i", [(0, 1), (0, 2)]), ValueError, "sources and destinations should be unique"),
    (lambda x: lax.pshuffle(x, "i", [0, 0, 1, 2]), ValueError, r"`perm` does not represent a permutation: \[0, 0, 1, 2\]"),
    (lambda x: lax.pbroadcast(x, "i", 4), ValueError, "pbroadcast: source must be an index from 0 to 3"),
    (lambda x: lax.psend(x, "i", [(0, 1)]), NotImplementedError, "psend: .* several devices .* lax.ppermute"),
    (lambda x: lax.precv(None, x, "i", [(0, 1)]), NotImplementedError, "precv: .* several devices"),
    (lambda x: lax.psum(x, ("i", "i"), axis_index_groups=[[*range(16)]]), NotImplementedError, "name one axis"),
    (lambda x: lax.ragged_all_to_all(x, x, *[np.arange(3)] * 4, axis_name="i"), ValueError, "must be divisible"),
    (lambda x: lax.ragged_all_to_all(x, x, *[np.ones(4)] * 4, axis_name="i"), ValueError, "input_offsets must be a vector"),
    (lambda x: lax.ragged_all_to_all(x, x[:, 0], *[np.arange(4)] * 4, axis_name="i"), ValueError, "operand and output need"),
])
def test_errors(f, error, message):
    with pytest.raises(error, match=message):
        over(f)


def test_programs_show_collectives_as_jax_does():
    text = str(nj.make_jaxpr(lambda x: lax.all_gather(x, "i", tiled=True), axis_env=[("i", 3)])(X[0]))
    assert "f32[12,3] = all_gather[" in text and "axis_size=3" in text and "axis_name=('i',)" in text
    text = str(nj.make_jaxpr(lambda x: lax.psum(x, "i"), axis_env=[("i", 3)])(X[0]))
    assert "psum[axes=('i',) axis_index_groups=None] a" in text
