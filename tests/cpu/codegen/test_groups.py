"""Groups of a few elements that lie apart are loaded as short vectors, wherever they are sure to lie in the buffer."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.cpu.codegen import llvm
from numjet.cpu.ir.nodes import INT64, Store
from numjet.cpu.native_code import jit
from tests.cpu.codegen.test_statements import Build, floats
from tests.cpu.loops import F32, F64, agree, special

I16, U8 = np.dtype(np.int16), np.dtype(np.uint8)


def far_groups(dtype, n, size, step, members):
    """Elements `members` of groups that are `step` apart, next to each other; with room for no element more than needed."""
    length = (n - 1) * abs(step) + size
    b = Build([(dtype, length)], [(dtype, n * len(members))])
    i, e = b.index(), b.e
    start = 0 if step > 0 else (n - 1) * -step
    body = [Store(b.y[0], b.add(b.mul(i, len(members)), k), e.load(b.x[0], b.add(b.mul(i, step), start + member)))
            for k, member in enumerate(members)]
    x = special(dtype, length)
    f = b.function(b.loop(i, n, body))
    got = agree(f, [x], every=True).outputs[0]
    expected = x[start + step * np.arange(n)[:, None] + np.array(members)].ravel()
    assert got.tobytes() == expected.tobytes()
    return llvm.emit(f, jit.host())


@pytest.mark.parametrize("dtype, size", [
    *((F32, k) for k in range(2, 9)), (F64, 3), (F64, 8), (I16, 3), (I16, 4), (U8, 7)], ids=str)
@pytest.mark.parametrize("step", [11, -3])
def test_groups_of_every_size(dtype, size, step):
    text = far_groups(dtype, 67, size, step, range(size))
    lanes = jit.host().vector_bytes // dtype.itemsize
    if lanes >= size:
        assert f"load <{1 << (size.bit_length() - 1)} x " in text


def test_members_in_any_order_with_gaps_and_further_groups():
    far_groups(F32, 64, 7, 100, (5, 0, 6))
    far_groups(F32, 64, 40, 100, (0, 1, 20, 22, 39))
    assert "gather" in far_groups(F32, 64, 40, 100, (0, 39))


def test_groups_by_index():
    """Rows of three, anywhere, clamped to the buffer."""
    b = Build([(F32, 300), (INT64, 64)], [(F32, 192)])
    i, e = b.index(), b.e
    row = e.prim("max", e.prim("min", e.load(b.x[1], i), e.index(99)), e.index(0))
    body = [Store(b.y[0], b.add(b.mul(i, 3), k), e.load(b.x[0], b.add(b.mul(row, 3), k))) for k in range(3)]
    f = b.function(b.loop(i, 64, body))
    x, places = floats(300), np.random.default_rng(0).integers(-5, 110, 64)
    got = agree(f, [x, places], every=True).outputs[0]
    np.testing.assert_array_equal(got, x.reshape(100, 3)[places.clip(0, 99)].ravel())
    assert "load <2 x float>" in llvm.emit(f, jit.host())


def test_elements_under_a_guard_are_no_neighbours():
    """Of a row of two, the second element may be outside of the buffer where its guard does not hold."""
    b = Build([(F32, 10 * 63 + 1)], [(F32, 64), (F32, 64)])
    i, e = b.index(), b.e
    guard = e.prim("lt", i, e.index(63))
    first = e.load(b.x[0], b.mul(i, 10))
    second = e.make("load", F32, (b.add(b.mul(i, 10), 1), guard), b.x[0])
    f = b.function(b.loop(i, 64, [Store(b.y[0], i, first), Store(b.y[1], i, second)]))
    agree(f, [floats(10 * 63 + 1)], every=True)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int16", "uint8", "bool", "complex64"])
@pytest.mark.parametrize("shape", [
    (33, 17, 3), (64, 64, 4), (40, 41, 2), (9, 70, 7), (3, 65, 8), (5, 5, 5, 3), (1, 130, 3), (0, 4, 3)])
def test_pictures(dtype, shape, x64):
    """Turned, mirrored and transposed, with arithmetic and as copies."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2 if dtype == "bool" else 100, shape).astype(dtype)
    one = np.ones((), dtype)[()]
    moves = (lambda x: x.swapaxes(0, 1), lambda x: x[:, ::-1], lambda x: x[::-1, ::-1], lambda x: x.swapaxes(0, 1)[::-1],
             lambda x: x[:, ::2], lambda x: x[:, ::-3, ::-1])
    groups = [[m] for m in moves] if dtype == "complex64" else [moves]  # moves in one program would share its two planes
    for change in (lambda x: x.copy(), lambda x: x ^ one if dtype == "bool" else x + one):
        for group in groups:
            all_of = lambda x: [change(move(x)) for move in group]  # noqa: B023
            for move, (found, want) in enumerate(zip(nj.jit(all_of)(jnp.asarray(x)), all_of(x), strict=True)):
                np.testing.assert_array_equal(found, want, err_msg=f"move {move} of {len(group)}")


def test_rows_by_index(rng):
    """Positions of neighbours in a simulation: rows of three, some indices out of bounds."""
    x = rng.standard_normal((50, 3)).astype(np.float32)
    places = rng.integers(-60, 70, 333)
    found = nj.jit(lambda x, i: jnp.sum(jnp.sin(x[i]) * x[i], axis=1))(x, places)
    rows = x[np.where(places < 0, places + 50, places).clip(0, 49)]
    np.testing.assert_allclose(found, np.sum(np.sin(rows) * rows, axis=1), rtol=1e-5, atol=1e-5)
