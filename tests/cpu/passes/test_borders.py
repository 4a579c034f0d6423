"""Index set splitting: stencils over arrays of many sizes, beside NumPy, and what their code has."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu.analysis.affine import AffineForms
from numjet.cpu.compiler import optimized
from numjet.cpu.ir.nodes import BOOL, INT64, Exprs, For
from numjet.cpu.ir.traversal import expressions, nodes, walk
from numjet.cpu.passes import borders
from numjet.cpu.target import from_features


def rolls(np, x):
    return x + np.roll(x, 1, -1) * 3 - np.roll(x, -2, -1) * 5 + np.roll(x, 1, 0) * 7


def pads(np, x):
    p = np.pad(x, [(2, 1)] * x.ndim)
    return p[tuple(slice(3, None) for _ in x.shape)] - p[tuple(slice(None, -3) for _ in x.shape)]


def joins(np, x):
    return np.concatenate([x[..., :1] * 2, x, x[..., -3:] * 4], -1) + 1


def edges(np, x):
    p = np.pad(x, [(1, 1)] * x.ndim, mode="edge")
    return p[..., 2:] * 2 - p[..., :-2]


def far(np, x):
    return np.roll(x, 70, -1) - np.roll(x, -65, -1)


@pytest.mark.parametrize("shape", [(3,), (255,), (256,), (257,), (1000,), (1024,), (5001,), (2, 256), (9, 319), (1, 512),
                                   (300, 40), (3, 4, 577)], ids=str)
@pytest.mark.parametrize("stencil", [rolls, pads, joins, edges, far])
@pytest.mark.parametrize("dtype", ["float32", "int8", "float64", "complex64"])
def test_values(stencil, shape, dtype):
    with nj.enable_x64(), nj.enable_checks():
        x = (np.arange(np.prod(shape)).reshape(shape) * 7 % 13).astype(dtype)
        np.testing.assert_array_equal(nj.jit(lambda x: stencil(jnp, x))(x), stencil(np, x))


def test_shared_loops():
    x = np.arange(3_000_001, dtype=np.float32)
    np.testing.assert_array_equal(nj.jit(lambda x: jnp.roll(x, 1) - jnp.roll(x, -1))(x), np.roll(x, 1) - np.roll(x, -1))


def test_in_loops_and_batches():
    x = np.random.default_rng(0).normal(size=(3, 20, 300)).astype(np.float32)
    step = lambda np: lambda u: u + np.float32(0.25) * (np.roll(u, 1, 0) + np.roll(u, -1, 1) - 2 * u)
    ours = nj.jit(nj.vmap(lambda u: nj.lax.fori_loop(0, 5, lambda _, u: step(jnp)(u), u)))(x)
    for mine, u in zip(ours, x, strict=True):
        for _ in range(5):
            u = step(np)(u)
        np.testing.assert_array_equal(mine, u)


MASKS = from_features("x86-64-v4", "+avx2,+fma,+avx512f,+avx512bw,+avx512vl,+avx512dq,+avx512cd", "x86_64")
NO_MASKS = from_features("x86-64-v3", "+avx2,+fma", "x86_64")


def code_of(f, shape, target=MASKS, dtype=np.float32):
    closed = nj.make_jaxpr(f)(nj.ShapeDtypeStruct(shape, dtype))
    return optimized(closed, "f", target)[0]


def trips_and_masks(function):
    """The numbers of iterations of all vector loops, and how many masked loads each has."""
    loops = [s for s in walk(function.body) if isinstance(s, For) and s.mode == "vector"]
    masked = [sum(e.op == "load" and len(e.args) == 2 for e in nodes(expressions(loop.body))) for loop in loops]
    return [loop.stop.attr - loop.start.attr for loop in loops], masked


def neighbours(u):
    return jnp.roll(u, 1, 0) + jnp.roll(u, -1, 0) + jnp.roll(u, 1, 1) + jnp.roll(u, -1, 1)


def diagonals(u):
    return sum(jnp.roll(u, shifts, axes) for shifts in ((1, 1), (1, -1), (-1, 1), (-1, -1)) for axes in ((0, 1), (1, 0)))


def test_the_interior_has_no_masks():
    assert trips_and_masks(code_of(neighbours, (1024, 1024))) == ([64, 896, 64], [2, 0, 2])
    trips, masked = trips_and_masks(code_of(diagonals, (1024, 1024)))
    assert trips == [64, 896, 64] and masked[1] == 0


@pytest.mark.parametrize("dtype", [np.uint8, np.float32])
@pytest.mark.parametrize("stencil", [neighbours, diagonals])
def test_no_part_has_masks_where_the_cpu_has_none(stencil, dtype):
    assert trips_and_masks(code_of(stencil, (1024, 1024), NO_MASKS, dtype)) == ([1, 1022, 1], [0, 0, 0])


def curl(np, u):
    """Components of a curl, each made of differences of two others, and padded: what a vector field's step is made of."""
    d = lambda x, axis: np.pad(np.diff(x, axis=axis), [(0, int(k == axis)) for k in range(3)])
    return np.stack([d(u[2], 1) - d(u[1], 2), d(u[0], 2) - d(u[2], 0), d(u[1], 0) - d(u[0], 1)])


def test_components_have_their_own_terms():
    gradient = nj.grad(lambda u: jnp.sum(curl(jnp, u) ** 2))
    u = np.random.default_rng(0).normal(size=(3, 5, 6, 40)).astype(np.float32)
    with nj.enable_checks():
        given = nj.jit(gradient)(u)
    places = np.arange(0, u.size, 97)
    steps = [np.where(np.arange(u.size).reshape(u.shape) == at, 1.0, 0.0) for at in places]
    energy = lambda u: (curl(np, u) ** 2).sum()
    slopes = [(energy(u + step) - energy(u - step)) / 2 for step in steps]
    np.testing.assert_allclose(np.ravel(given)[places], slopes, rtol=1e-4, atol=1e-4)


def test_no_component_asks_which_one_it_is():
    field = lambda u: jnp.pad(u[:1], [(0, 2), (0, 0), (0, 0)]) + jnp.pad(u[1:] * 2, [(1, 0), (0, 0), (0, 0)])
    function = code_of(field, (3, 40, 600))
    loads = [e for e in nodes(expressions(function.body)) if e.op == "load"]
    assert len(loads) == 2 and all(len(e.args) == 1 for e in loads)


def test_short_rows_are_cut_too():
    edge = lambda u: jnp.pad(u, [(0, 0), (1, 1)], mode="edge")[:, 2:] + u
    trips, masked = trips_and_masks(code_of(edge, (20, 20), NO_MASKS))
    assert trips == [19, 1] and masked == [0, 0]


def test_parts_between_distant_comparisons():
    far = lambda u: jnp.roll(u, 70) - jnp.roll(u, -65)
    assert trips_and_masks(code_of(far, (1024,), NO_MASKS)) == ([70, 889, 65], [0, 0, 0])
    small = trips_and_masks(code_of(far, (80,), NO_MASKS))
    assert small == ([15, 55, 10], [0, 0, 0])


def test_code_grows_at_most_threefold():
    def many(u):
        return sum(jnp.roll(u, k) * k for k in range(1, 200))
    for target in (MASKS, NO_MASKS):
        loops = [s for s in walk(code_of(many, (4096,), target).body) if isinstance(s, For) and s.mode == "vector"]
        assert sum(len(nodes(expressions(loop.body))) for loop in loops) <= borders.MOST_COPIED or len(loops) == 1


@pytest.mark.parametrize("op", ["lt", "le", "gt", "ge"])
@pytest.mark.parametrize("swapped", [False, True])
@pytest.mark.parametrize("offset", [-3, 0, 2])
def test_thresholds(op, swapped, offset):
    exprs = Exprs()
    var, number = exprs.var(INT64, "i"), exprs.index(10)
    moved = exprs.prim("add", var, exprs.index(offset))
    e = exprs.prim(op, *((number, moved) if swapped else (moved, number)))
    at, below = borders._threshold(e, var, AffineForms())
    holds = {"lt": np.less, "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal}[op]
    i = np.arange(-20, 40)
    expected = holds(10, i + offset) if swapped else holds(i + offset, 10)
    np.testing.assert_array_equal((i < at) == below, expected)


def test_what_has_no_threshold():
    exprs = Exprs()
    var, other = exprs.var(INT64, "i"), exprs.var(INT64, "j")
    forms = AffineForms()
    for e in (exprs.prim("lt", exprs.prim("mul", var, exprs.index(2)), exprs.index(7)), exprs.prim("lt", var, other),
              exprs.prim("lt", exprs.prim("neg", var), exprs.index(7)), exprs.prim("eq", var, exprs.index(7)),
              exprs.prim("lt", exprs.prim("add", var, exprs.index(2**62)), exprs.index(7)), exprs.const(True, BOOL)):
        assert borders._threshold(e, var, forms) is None
