"""x[ds(start, size, stride)]: slices whose start may be traced, in reads and updates, of arrays and references."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import ds

M = np.arange(35.0, dtype=np.float32).reshape(5, 7)
COLUMNS = np.array([0, 2])


PLACES = {  # indices with a slice, and the axes of the slices
    "rows": lambda s: (s,), "columns": lambda s: (slice(None), s), "both": lambda s: (s, s), "array": lambda s: (COLUMNS, s),
    "new axes": lambda s: (None, s, None, 1), "`...`": lambda s: (..., s)}


@pytest.mark.parametrize(("start", "size", "stride"), [(0, 2, 1), (2, 0, 1), (-3, 2, 1), (1, 2, 2), (-2, 1, 3)])
@pytest.mark.parametrize("place", PLACES)
def test_slices_in_bounds(place, start, size, stride):
    index, axis = PLACES[place], int(place in ("columns", "array", "`...`"))
    x = M[:, :5] if place == "both" else M
    first = start % x.shape[axis]
    plain = index(slice(first, first + stride * size, stride))
    expected = x.copy()
    expected[plain] += 100
    for wrap in (lambda f: f, nj.jit):
        read = wrap(lambda s: jnp.asarray(x)[index(ds(s, size, stride))])
        update = wrap(lambda s: jnp.asarray(x).at[index(ds(s, size, stride))].add(100))
        np.testing.assert_array_equal(read(start), x[plain])
        np.testing.assert_array_equal(update(start), expected)


@pytest.mark.parametrize("start", [4, 9, jnp.int32(9)])
def test_slices_that_leave_the_array(start):
    x = jnp.arange(10)[:6]
    np.testing.assert_array_equal(x[ds(start, 3)], [3, 4, 5])
    np.testing.assert_array_equal(x.at[ds(start, 3)].set(7), x)
    np.testing.assert_array_equal(x.at[ds(start, 3)].get(mode="fill", fill_value=-1), [-1] * 3)
    np.testing.assert_array_equal(x[ds(start, 3, 2)], [min(int(start) + k, 5) for k in (0, 2, 4)])
    written = np.flatnonzero(np.asarray(x.at[ds(start, 3, 2)].set(-1)) == -1)
    np.testing.assert_array_equal(written, np.arange(int(start), 6, 2))


def test_transformations():
    x = jnp.arange(5.0)
    np.testing.assert_array_equal(nj.vmap(lambda s: x[ds(s, 2)])(jnp.arange(3)), [[0, 1], [1, 2], [2, 3]])
    np.testing.assert_array_equal(nj.grad(lambda x, s: jnp.sum(x[ds(s, 3)] ** 2))(x, 1), [0, 2, 4, 6, 0])
    swept = nj.lax.fori_loop(0, 4, lambda i, x: x.at[ds(i, 2)].add(1), jnp.zeros(5))
    np.testing.assert_array_equal(swept, [1, 2, 2, 2, 1])
    assert float(nj.jit(lambda s: x[s].sum())(ds(jnp.int32(2), 2))) == 5


def test_references():
    ref = nj.new_ref(jnp.asarray(M))
    np.testing.assert_array_equal(nj.jit(lambda r, s: r[ds(s, 2), 0])(ref, 1), M[1:3, 0])
    ref[1, ds(2, 3)] = jnp.zeros(3)
    assert float(ref[...].sum()) == M.sum() - M[1, 2:5].sum()
    with pytest.raises(ValueError, match="Out of bound slice: start=3, size=3, stride=1, dim=5"):
        ref[ds(3, 3)]


def test_slices_given_otherwise():
    assert ds(3) == ds(0, 3) and ds(slice(1, 9, 2)) == ds(1, 4, 2)
    assert ds(slice(3, 1)).size == 0 and ds(np.int64(1), 2).size == 2


@pytest.mark.parametrize(("args", "error", "text"), [
    ((1.5, 2), TypeError, "start must be an integer, got 1.5"), ((True, 2), TypeError, "start must be an integer"),
    ((jnp.arange(2), 2), TypeError, "start must be an integer"), ((0, 1.5), TypeError, "size must be a known integer"),
    ((0, -1), ValueError, "size of at least 0"), ((0, 1, 0), ValueError, "stride of at least 1"),
    ((slice(1, None),), TypeError, "a slice with a stop"),
])
def test_bad_slices(args, error, text):
    with pytest.raises(error, match=text):
        ds(*args)


def test_slices_longer_than_the_axis():
    with pytest.raises(TypeError, match=r"must be less than or equal to operand shape, got a slice of 8 elements along axis 1"):
        jnp.asarray(M)[:, ds(0, 8)]
    with pytest.raises(TypeError, match="only the start may be traced"):
        nj.jit(lambda n: jnp.asarray(M)[ds(0, n)])(2)
