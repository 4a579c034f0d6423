"""Taking and putting elements, padding, inserting, index grids and bits, compared with NumPy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from tests.numpy.helpers import assert_same, check, check_grad

RNG = np.random.default_rng(0)
A = RNG.normal(size=(2, 3)).astype(np.float32)
B = RNG.normal(size=(2, 3, 4)).astype(np.float32)
V = np.arange(10, 50, 10, dtype=np.int32)


@pytest.mark.parametrize("axis", [None, 0, 1, -1])
@pytest.mark.parametrize("indices", [np.array([0, 1, -1]), np.array([[1, 0]], np.uint8), np.int32(1)])
def test_take(axis: int | None, indices: Any) -> None:
    check(lambda x, i: jnp.take(x, i, axis), np.take(A, indices, axis), A, indices)
    check(lambda x, i: jnp.take(x, i, axis, mode="wrap"), np.take(A, indices, axis, mode="wrap"), A, indices)
    check(lambda x, i: jnp.take(x, i, axis, mode="clip"), np.take(A, indices, axis, mode="clip"), A, indices)


def test_take_out_of_bounds() -> None:
    places = np.array([0, 7, -9], np.int32)
    assert np.isnan(np.asarray(jnp.take(A, places))[1:]).all()
    assert nj.jit(lambda i: jnp.take(V, i, fill_value=5))(places).tolist() == [10, 5, 5]
    check_grad(lambda x: jnp.take(x, np.array([1, 1, 0]), 1), A)


@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_along_axis(axis: int) -> None:
    order = np.argsort(B, axis)
    check(lambda x, i: jnp.take_along_axis(x, i, axis), np.take_along_axis(B, order, axis), B, order)
    top = np.argmax(B, axis, keepdims=True)
    check(lambda x, i: jnp.take_along_axis(x, i, axis), np.take_along_axis(B, top, axis), B, top)
    want = B.copy()
    np.put_along_axis(want, top, 7, axis)
    check(lambda x, i: jnp.put_along_axis(x, i, 7, axis, inplace=False), want, B, top)
    check_grad(lambda x: jnp.take_along_axis(x, order, axis), B)


def test_along_flat_axis_and_bounds() -> None:
    check(lambda x, i: jnp.take_along_axis(x, i, None), A.ravel()[[0, 5]], A, np.array([0, 5]))
    assert np.isnan(float(jnp.take_along_axis(A, np.array([[9], [0]]), 1)[0, 0]))
    assert jnp.take_along_axis(A, np.array([[9], [0]]), 1, mode="clip")[0, 0] == A[0, 2]
    promised = nj.make_jaxpr(lambda x, i: jnp.take_along_axis(x, i, 1, mode="promise_in_bounds"))(A, np.array([[1], [0]]))
    assert " lt " not in str(promised)  # negative indices are out of bounds there


def test_by_mask_and_choice() -> None:
    mask = np.array([True, False, True])
    assert_same(jnp.compress(mask, A, 1), np.compress(mask, A, 1))
    out = nj.jit(lambda c, x: jnp.compress(c, x, 1, size=3, fill_value=9))(mask, A)
    assert_same(out, np.concatenate([A[:, ::2], np.full((2, 1), 9, np.float32)], 1))
    assert_same(jnp.extract(A > 0, A), np.extract(A > 0, A))
    which = np.array([0, 1, 0, 1])
    for mode in ("clip", "wrap"):
        check(lambda i, x, m=mode: jnp.choose(i, [x, -x], mode=m), np.choose(which, [V, -V], mode=mode), which, V)
    assert_same(jnp.choose(which, [V, -V]), np.choose(which, [V, -V]))


@pytest.mark.parametrize("count", [1, 2, 3, 16, 17, 40])
def test_choose_among_any_number(count):
    which = np.arange(3 * count).reshape(3, count) % (count + 2) - 1
    choices = [np.float32(i) + np.arange(count, dtype=np.float32) for i in range(count)]
    for mode in ("clip", "wrap"):
        check(lambda i, c, m=mode: jnp.choose(i, c, mode=m), np.choose(which, choices, mode=mode), which, choices)


def _changed(fn: Any, x: np.ndarray, *args: Any) -> np.ndarray:
    out = x.copy()
    fn(out, *args)
    return out


def test_puts() -> None:
    check(lambda x: jnp.put(x, np.array([0, 4]), np.array([1.0, 2.0]), inplace=False), _changed(np.put, A, [0, 4], [1, 2]), A)
    check(
        lambda x: jnp.put(x, np.array([0, 9]), 5.0, mode="wrap", inplace=False),
        _changed(lambda y: np.put(y, [0, 9], 5, mode="wrap"), A),
        A,
    )
    check(lambda x: jnp.place(x, x > 0, np.array([1, 2]), inplace=False), _changed(lambda y: np.place(y, y > 0, [1, 2]), A), A)
    check(lambda x: jnp.fill_diagonal(x, 7, inplace=False), _changed(np.fill_diagonal, A, 7), A)
    tall = np.zeros((5, 2), np.float32)
    check(
        lambda x: jnp.fill_diagonal(x, np.array([1, 2, 3]), True, inplace=False),
        _changed(np.fill_diagonal, tall, [1, 2, 3], True),
        tall,
    )


PADS: list[tuple[Any, str, dict[str, Any]]] = [
    (1, "constant", {}),
    (((1, 2), (0, 3)), "constant", {"constant_values": ((1, 2), (3, 4))}),
    ((1, 2), "constant", {"constant_values": 5}),
    (2, "edge", {}),
    (((0, 3), (3, 4)), "reflect", {}),
    (((0, 3), (3, 4)), "reflect", {"reflect_type": "odd"}),
    (((2, 3), (3, 7)), "symmetric", {}),
    (((2, 3), (3, 7)), "symmetric", {"reflect_type": "odd"}),
    (((2, 3), (3, 9)), "wrap", {}),
    (2, "linear_ramp", {"end_values": 1}),
    (2, "maximum", {}),
    (2, "minimum", {"stat_length": 1}),
    (2, "mean", {"stat_length": 2}),
    (2, "median", {}),
]


@pytest.mark.parametrize(("width", "mode", "kwargs"), PADS)
def test_pad(width: Any, mode: str, kwargs: dict[str, Any]) -> None:
    check(lambda x: jnp.pad(x, width, mode, **kwargs), np.pad(A, width, mode, **kwargs), A, rtol=1e-5)
    check_grad(lambda x: jnp.pad(x, width, mode, **kwargs), A, eps=1e-3)


def test_pad_widths_in_arrays_without_axes() -> None:
    for width in (np.array(1), jnp.array(1), np.int64(1)):
        np.testing.assert_array_equal(jnp.pad(A, width, constant_values=np.array(2)), np.pad(A, 1, constant_values=2))


def test_pad_by_function() -> None:
    fill = lambda v, w, a, k: v.at[: w[0]].set(9)
    assert jnp.pad(V, (2, 0), fill).tolist() == [9, 9, 10, 20, 30, 40]


@pytest.mark.parametrize(
    ("obj", "values", "axis"),
    [
        (1, 9.0, None),
        (np.array([0, 2]), np.array([7.0, 8.0], np.float32), None),
        (1, A[:, 0], 1),
        (1, 5.0, 0),
        (-1, A[0], 0),
        (np.array([0, -1]), np.array([[1.0, 2.0], [3.0, 4.0]], np.float32), 1),
        (np.array([2, 2, 0]), np.array([1.0, 2.0, 3.0], np.float32), None),
    ],
)
def test_insert(obj: Any, values: Any, axis: int | None) -> None:
    check(lambda x: jnp.insert(x, obj, values, axis), np.insert(A, obj, values, axis), A)


def test_delete_and_trim() -> None:
    for obj in (1, -1, slice(0, 3, 2), np.array([0, 2]), np.array([True, False, True, False])):
        check(lambda x, o=obj: jnp.delete(x, o), np.delete(V, obj), V)
    check(lambda x: jnp.delete(x, np.array([0]), 1), np.delete(A, [0], 1), A)
    assert nj.jit(lambda x, i: jnp.delete(x, i))(V, 2).tolist() == [10, 20, 40]
    assert nj.jit(lambda x, i: jnp.delete(x, i, assume_unique_indices=True))(V, np.array([-1, 0])).tolist() == [20, 30]
    for trim in ("fb", "f", "b"):
        for x in (np.array([0, 0, 1, 0, 2, 0]), np.array([0, 0])):
            assert_same(jnp.trim_zeros(x, trim), np.trim_zeros(x, trim))


def test_applying() -> None:
    check(lambda x: jnp.apply_along_axis(jnp.cumsum, 1, x), np.cumsum(B, 1), B, rtol=1e-5)
    check(
        lambda x: jnp.apply_along_axis(lambda v: jnp.outer(v, v), 1, x),
        np.apply_along_axis(lambda v: np.outer(v, v), 1, B),
        B,
        rtol=1e-5,
    )
    check(lambda x: jnp.apply_over_axes(jnp.sum, x, (0, 2)), np.apply_over_axes(np.sum, B, (0, 2)), B, rtol=1e-5)


def test_where_and_piecewise() -> None:
    mask, x = np.array([[True, False], [False, True]]), np.array([3, 4], np.uint8)
    last_wins = [x > 3, np.array([True, True]), x > 3]
    functions = [lambda v: v, 1, lambda v: v - 5, 7]
    assert_same(jnp.piecewise(x, last_wins, functions), np.piecewise(x, last_wins, functions))
    with nj.numpy_rank_promotion("raise"):
        assert_same(jnp.where(mask[0], V[:2], A[:2, :2]), np.where(mask[0], V[:2], A[:2, :2]))


def test_piecewise_computes_elements() -> None:
    """Functions are of single elements, as in JAX, and slopes of the functions that are not chosen do not count."""
    x = np.array([-1, 4, 0.5, -np.inf], np.float32)
    root = lambda x: jnp.piecewise(x, [x < 0, x > 1], [lambda v: jnp.log(-v), jnp.sqrt, 0.5])
    slope, second = nj.grad(lambda x: root(x).sum()), nj.grad(lambda x: nj.grad(lambda x: root(x).sum())(x).sum())
    for mode in (lambda f: f, nj.jit, lambda f: lambda x: nj.vmap(f)(x[None])[0]):
        assert_same(mode(root)(x), np.float32([0, 2, 0.5, np.inf]))
        assert_same(mode(slope)(x), np.float32([-1, 0.25, 0, 0]))
        assert_same(mode(second)(x), np.float32([-1, -0.03125, 0, 0]))
    assert_same(jnp.piecewise(x[None, :3], [x[:3] < 0], [lambda v: v - v.sum(), 1]), np.float32([[0, 1, 1]]))
    assert_same(jnp.piecewise(x[:3], [x[:3] < 0], [x[:3] * 2, lambda v, a: v * a], 3), np.float32([-2, 12, 1.5]))
    assert_same(jnp.piecewise(2.0, [True], [lambda v: v * 3]), np.float32(6))
    assert jnp.piecewise(np.zeros((0, 3), np.float32), [np.zeros((0, 3), bool)], [jnp.sin]).shape == (0, 3)


def test_select_takes_numbers_as_conditions() -> None:
    assert_same(jnp.select([np.array([0, 2, 0]), np.array([0.0, 1, 1])], [np.arange(3), np.arange(3) * 10], -1),
                np.array([-1, 1, 20]))


def test_weak_types_pass_padding() -> None:
    x = jnp.array(1.0)[None]
    for mode in ("constant", "edge", "linear_ramp", "mean", "wrap", "empty"):
        assert jnp.pad(x, 1, mode=mode).weak_type


def test_index_grids() -> None:
    assert_same(list(jnp.ix_(V, V[:2])), list(np.ix_(V, V[:2])))
    assert_same(list(jnp.diag_indices(3, 3)), list(np.diag_indices(3, 3)))
    assert_same(list(jnp.tril_indices(3, 1, 4)), list(np.tril_indices(3, 1, 4)))
    assert_same(list(jnp.triu_indices(3, -1)), list(np.triu_indices(3, -1)))
    assert_same(list(jnp.mask_indices(3, jnp.triu, 1)), list(np.mask_indices(3, np.triu, 1)))
    index = np.unravel_index(np.arange(0, 24, 5), (2, 3, 4))
    check(lambda i: list(jnp.unravel_index(i, (2, 3, 4))), list(index), np.arange(0, 24, 5, dtype=np.int32))
    check(
        lambda *i: jnp.ravel_multi_index(i, (2, 3, 4), mode="clip"), np.arange(0, 24, 5), *[i.astype(np.int32) for i in index]
    )
    assert_same(jnp.ravel_multi_index(index, (2, 3, 4), order="F"), np.ravel_multi_index(index, (2, 3, 4), order="F"))
    assert_same(list(nj.jit(jnp.unravel_index)(np.array([5, -1]), (2, 3))), [np.array([1, 1]), np.array([2, 2])], dtype=False)
    assert_same(jnp.unravel_index(np.uint8(250), (2, 300))[1], np.uint8(250))
    assert_same(list(jnp.unravel_index(np.array([4.5, -1.0], np.float16), (2, 3))),
                [np.array([1.0, 1.0], np.float16), np.array([1.5, 2.0], np.float16)])
    assert all(i.weak_type for i in (*jnp.unravel_index(5, (2, 3)), *jnp.unravel_index(np.array([True]), (2, 3))))
    assert_same(jnp.r_[1:4, 0, V], np.r_[1:4, 0, V])
    for text in ("0,4,-2", "0,4,-3", "0,4,1"):
        assert_same(jnp.r_[text, V, V], np.r_[text, V, V])
    assert_same(jnp.c_[V, V], np.c_[V, V])
    assert jnp.s_[1:2, ...] == np.s_[1:2, ...]


@pytest.mark.parametrize("order", ["big", "little"])
def test_bits(order: str) -> None:
    bits = RNG.integers(0, 2, (3, 11)).astype(np.int32)
    for axis in (None, 0, 1):
        packed = np.packbits(bits, axis, order)
        check(lambda x, a=axis: jnp.packbits(x, a, order), packed, bits)
        for count in (None, 5, -2, 30):
            check(lambda x, a=axis, c=count: jnp.unpackbits(x, a, c, order), np.unpackbits(packed, axis, count, order), packed)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jnp.take(A, [0]), TypeError, "requires ndarray"),
        (lambda: jnp.take(A, A), ValueError, "integer"),
        (lambda: jnp.take(A, 0, mode="raise"), NotImplementedError, "raise"),
        (lambda: jnp.take_along_axis(A, A, 0), TypeError, "integer"),
        (lambda: jnp.take_along_axis(A, V, 0), ValueError, "dimensions"),
        (lambda: jnp.put(A, 0, 1), ValueError, "inplace=False"),
        (lambda: jnp.choose(V, [V]), ValueError, "invalid entry"),
        (lambda: jnp.pad(A, 1, "x"), NotImplementedError, "mode"),
        (lambda: jnp.pad(A, -1), ValueError, "negative"),
        (lambda: jnp.pad(A, 1, "edge", end_values=1), ValueError, "unsupported"),
        (lambda: jnp.delete(V, 9), IndexError, "out of bounds"),
        (lambda: jnp.insert(V, 9, 1), IndexError, "out of bounds"),
        (lambda: nj.jit(jnp.trim_zeros)(V), nj.errors.ConcretizationTypeError, "trim_zeros"),
        (lambda: jnp.packbits(A), TypeError, "integer"),
        (lambda: nj.jit(jnp.compress)(V > 10, V), nj.errors.ConcretizationTypeError, "size="),
        (lambda: jnp.ravel_multi_index((V,), (3,)), ValueError, "invalid entry"),
        (lambda: jnp.unpackbits(V), TypeError, "byte"),
        (lambda: jnp.tril_indices_from(V), ValueError, "2-D"),
        (lambda: jnp.ix_(A), ValueError, "1-dimensional"),
    ],
)
def test_errors(call: Any, error: type[Exception], text: str) -> None:
    with pytest.raises(error, match=text):
        call()


def test_put_counts_negative_indices_from_the_end_unless_they_are_clipped():
    put = lambda mode: jnp.put(np.zeros(4, np.int32), np.array([-1, 9, -2]), np.array([1, 2, 3]), mode, inplace=False).tolist()
    assert put(None) == [0, 0, 3, 2] and put("clip") == [3, 0, 0, 2]


@pytest.mark.parametrize("evaluate", [nj.jit, lambda f: f], ids=["compiled", "eager"])
@pytest.mark.parametrize("places", [3, -1, [0, 6, 6, -2], [5, 1], slice(1, 4), np.arange(20) % 7, [7]], ids=str)
def test_insert_at_few_and_many_known_places(evaluate, places):
    x = np.arange(14.0, dtype=np.float32).reshape(2, 7)
    rows = np.arange(100.0, 100 + (3 if isinstance(places, slice) else np.size(places)), dtype=np.float32)
    insert = lambda x: jnp.insert(x, places, rows, 1)
    np.testing.assert_array_equal(evaluate(insert)(x), np.insert(x, places, rows, 1))
    assert ("sort" in str(nj.make_jaxpr(insert)(x))) == (rows.size > 16)   # a few parts are joined
    with pytest.raises(IndexError, match="out of bounds for an axis of size 7"):
        evaluate(lambda x: jnp.insert(x, [0, -8], 1, 1))(x)


def test_places_to_insert_at_and_to_delete_are_integers_or_masks() -> None:
    x, mask = jnp.arange(5.0), [True, False, True, False, False]
    for where in (mask, np.array(mask), jnp.array(mask), mask[:3]):
        np.testing.assert_array_equal(jnp.insert(x, where, 9.0), np.insert(np.arange(5.0), np.array(mask), 9.0))
    for call in (lambda where: jnp.insert(x, where, 9.0), lambda where: jnp.delete(x, where)):
        for where in ([1.5], 1.5, np.array(2.0), jnp.zeros(0), [1.0, 2.0]):
            with pytest.raises(TypeError, match="expected integers as indices, or a mask"):
                call(where)
    with pytest.raises(TypeError, match="expected integers as indices, or a mask"):
        nj.jit(lambda where: jnp.delete(x, where, assume_unique_indices=True))(1.5)
    with pytest.raises(nj.errors.ConcretizationTypeError, match="how many parts are inserted"):
        nj.jit(lambda where: jnp.insert(x, where, 9.0))(np.array(mask))


def test_positions_in_arrays_with_more_elements_than_positions():
    for side in (201_995, 500_000):
        rows, columns = jnp.unravel_index(jnp.array([0, side + 3, -1], np.int32), (side, side))
        assert rows.tolist() == [0, 1, side - 1] and columns.tolist() == [0, 3, side - 1]
    assert [int(i) for i in jnp.unravel_index(np.uint8(255), (10, 10, 10))] == [2, 5, 5]


def test_choose_broadcasts_whatever_the_flag_of_ranks_says():
    with nj.numpy_rank_promotion("raise"):
        found = jnp.choose(np.array([0, 1, 2, 0]), [np.ones((3, 4)), np.full(4, 2.0), np.full((3, 1), 3.0)])
    assert found.shape == (3, 4) and found[0].tolist() == [1, 2, 3, 1]


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32", "uint32"])
def test_flat_indices_have_the_dtype_of_the_indices_if_that_holds_them(dtype):
    i = np.array([0, 1], dtype)
    assert jnp.ravel_multi_index((i, i), (2, 3)).dtype == dtype
    if np.dtype(dtype).itemsize == 1:
        with pytest.raises(ValueError, match="not large enough to hold the flattened index"):
            jnp.ravel_multi_index((i, i), (100, 300))
        assert jnp.ravel_multi_index((i, i), (100, 300), dtype=np.int32).tolist() == [0, 301]


@pytest.mark.parametrize("fill, dtype", [(-1, "int32"), (2.7, "float32"), (np.nan, "float32"), (np.float32(1.5), "float32"),
                                         (np.int8(3), "int32"), (1 + 2j, "complex64")])
def test_fill_values_promote_the_indices_that_they_stand_beside(fill, dtype):
    """NaN marks what is missing (pgx); it was converted to the index 0."""
    x = np.array([0, 3, 0, 5])
    for f in (lambda x: jnp.nonzero(x, size=3, fill_value=fill)[0], lambda x: jnp.where(x > 0, size=3, fill_value=fill)[0],
              lambda x: jnp.flatnonzero(x, size=3, fill_value=fill), lambda x: jnp.argwhere(x, size=3, fill_value=fill)[:, 0]):
        for found in (f(x), nj.jit(f)(x), nj.vmap(f)(x[None])[0]):
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, np.array([1, 3, fill], dtype))
    empty = jnp.nonzero(np.zeros(0), size=2, fill_value=fill)[0]
    assert empty.dtype == dtype
    np.testing.assert_array_equal(empty, np.array([fill, fill], dtype))


def test_fill_values_of_each_axis():
    rows, columns = jnp.nonzero(np.eye(2), size=3, fill_value=(7, 2.5))
    assert rows.tolist() == [0, 1, 7] and columns.tolist() == [0, 1, 2.5]
    assert jnp.argwhere(np.eye(2), size=3, fill_value=(7, 2.5)).tolist() == [[0, 0], [1, 1], [7, 2.5]]


def test_linear_ramps_of_bools_are_true_where_the_step_is_not_0():
    x = np.array([[True, False], [False, True]])
    for end in (0, 3):
        np.testing.assert_array_equal(jnp.pad(x, 2, mode="linear_ramp", end_values=end),
                                      np.pad(x, 2, mode="linear_ramp", end_values=end))
