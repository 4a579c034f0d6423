"""Gather and scatter against loops over every element, their derivatives, batches and errors."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.core.op import Op, Undefined, Zero
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.transpose import backward_pass
from numjet.transforms.vmap import batch_flat, move_to

SCATTERS = {
    "scatter": lambda old, new: new,
    "scatter-add": lambda old, new: old + new,
    "scatter-sub": lambda old, new: old - new,
    "scatter-mul": lambda old, new: old * new,
    "scatter-min": np.minimum,
    "scatter-max": np.maximum,
}
RECORDS = [lax.scatter_p, lax.scatter_add_p, lax.scatter_sub_p, lax.scatter_mul_p, lax.scatter_min_p, lax.scatter_max_p]
FLAT = GatherDimensionNumbers((), (0,), (0,))
FLAT_S = ScatterDimensionNumbers((), (0,), (0,))
ROWS = GatherDimensionNumbers((1,), (0,), (0,))
ROWS_S = ScatterDimensionNumbers((1,), (0,), (0,))
FILLS = (GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT)


def places(operand, sizes, numbers, indices, shape):
    """For every element of the windows: whether its window is inside, and its (clipped) place in the operand."""
    window, collapsed, index_map, operand_batch, index_batch = numbers
    batch_dims = [d for d in range(len(shape)) if d not in window]
    axes = [d for d in range(len(operand)) if d not in (*collapsed, *operand_batch)]
    for element in np.ndindex(*shape):
        batch = [element[d] for d in batch_dims]
        start = [0] * len(operand)
        for k, axis in enumerate(index_map):
            start[axis] = int(indices[(*batch, k)])
        inside = all(0 <= start[d] <= operand[d] - sizes[d] for d in index_map)
        place = [min(max(s, 0), n - k) for s, n, k in zip(start, operand, sizes, strict=True)]
        for axis, d in zip(operand_batch, index_batch, strict=True):
            place[axis] = batch[d]
        for axis, d in zip(axes, window, strict=True):
            place[axis] += element[d]
        yield element, inside, tuple(place)


def cases(op: Op):
    return list(zip(op.samples.shapes, op.samples.params, strict=True))


def slice_sizes(operand, updates, numbers):
    window = iter(numbers[0])
    return [1 if d in (*numbers[1], *numbers[3]) else updates[next(window)] for d in range(len(operand))]


@pytest.mark.parametrize("dtype", [*lax.gather_p.samples.dtypes, dtypes.key_dtype], ids=str)
def test_gather(dtype, rng, x64):
    for shapes, params in cases(lax.gather_p):
        x, indices = lax.gather_p.samples.make(rng, shapes, dtype, params)
        got = lax.gather_p.bind(x, indices, **params)._value
        assert got.dtype == x.dtype
        one = (
            np.full(2, 1, np.uint32).view(dtypes.key_dtype)[0]
            if dtype == dtypes.key_dtype
            else np.ones((), x.dtype)[()]
        )
        for element, inside, place in places(
            x.shape, params["slice_sizes"], params["dimension_numbers"], indices, got.shape
        ):
            fill = params["mode"] in FILLS and not inside
            assert got[element].tobytes() == (one if fill else x[place]).tobytes(), (shapes, params, element)


@pytest.mark.parametrize("op", RECORDS, ids=str)
def test_scatter(op, rng, x64):
    for dtype in op.samples.dtypes:
        for shapes, params in cases(op):
            x, indices, updates = op.samples.make(rng, shapes, dtype, params)
            got = np.asarray(op.bind(x, indices, updates, **params))
            want = x.copy()
            sizes = slice_sizes(x.shape, updates.shape, params["dimension_numbers"])
            with np.errstate(all="ignore"):
                for element, inside, place in places(
                    x.shape, sizes, params["dimension_numbers"], indices, updates.shape
                ):
                    if inside or params["mode"] is GatherScatterMode.CLIP:
                        want[place] = SCATTERS[op.name](want[place], updates[element])
            np.testing.assert_allclose(got.astype(np.complex128), want.astype(np.complex128), rtol=2e-6, atol=0)


@pytest.mark.parametrize("op", [lax.gather_p, *RECORDS], ids=str)
def test_derivatives(op, rng, x64):
    for shapes, params in cases(op):
        args = op.samples.make(rng, shapes, "float64", params)
        tangents = [
            rng.standard_normal(a.shape) if a.dtype == np.float64 else Zero(aval_of(a).to_tangent_aval()) for a in args
        ]
        varied = [i for i, a in enumerate(args) if a.dtype == np.float64]
        fun = lambda *xs, params=params: [op.bind(*xs, **params)]
        moved = lambda h, args=args, tangents=tangents: [
            a + h * t if not isinstance(t, Zero) else a for a, t in zip(args, tangents, strict=True)
        ]
        _, (t,) = jvp_flat(fun, args, tangents)
        numeric = (np.asarray(fun(*moved(1e-6))[0]) - np.asarray(fun(*moved(-1e-6))[0])) / 2e-6
        np.testing.assert_allclose(np.asarray(t), numeric, rtol=1e-5, atol=1e-6)

        def linear(*ts, args=args, tangents=tangents, varied=varied, fun=fun):
            full = list(tangents)
            for i, t in zip(varied, ts, strict=True):
                full[i] = t
            return [jvp_flat(fun, args, full)[1][0]]

        closed = trace_to_closed(linear, [aval_of(tangents[i]) for i in varied])
        ct = rng.standard_normal(numeric.shape)
        cts = backward_pass(closed.jaxpr, closed.consts, [Undefined(a) for a in closed.in_avals], [ct])
        pulled = sum(
            np.sum(np.asarray(c) * tangents[i]) for c, i in zip(cts, varied, strict=True) if not isinstance(c, Zero)
        )
        np.testing.assert_allclose(np.sum(ct * np.asarray(t)), pulled, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("op", [lax.gather_p, *RECORDS], ids=str)
def test_batches(op, rng):
    for shapes, params in cases(op):
        examples = [op.samples.make(rng, shapes, "float32", params) for _ in range(3)]
        for _ in range(3):
            dims = [None if rng.random() < 0.4 else int(rng.integers(a.ndim + 1)) for a in examples[0]]
            if all(d is None for d in dims):
                continue
            args = [examples[0][i] if d is None else np.stack([e[i] for e in examples], d) for i, d in enumerate(dims)]
            (out,), (dim,) = batch_flat(lambda *xs, params=params: [op.bind(*xs, **params)], 3, args, dims)
            got = np.asarray(move_to(out, dim, 0, 3))
            for k in range(3):
                one = [a if d is None else np.take(a, k, d) for a, d in zip(args, dims, strict=True)]
                np.testing.assert_array_equal(got[k], np.asarray(op.bind(*one, **params)))


def test_modes_out_of_bounds():
    x, where = np.arange(4, dtype=np.float32), np.array([[-1], [9], [2]])
    read = lambda mode, **kw: np.asarray(lax.gather(x, where, FLAT, (1,), mode=mode, **kw)).tolist()
    assert read("clip") == read(None) == read("promise_in_bounds") == [0, 3, 2]
    assert np.isnan(read("fill")[:2]).all() and read("fill", fill_value=7) == [7, 7, 2] and read("one_hot") == [0, 0, 2]
    write = lambda mode: np.asarray(lax.scatter(x, where, x[:3] + 10, FLAT_S, mode=mode)).tolist()
    assert write(None) == write("drop") == write("one_hot") == [0, 1, 12, 3] and write("clip") == [10, 1, 12, 11]
    assert write("promise_in_bounds") == [0, 1, 12, 3]
    window = lax.scatter(np.arange(5), np.array([3]), np.array([7, 8, 9]), ScatterDimensionNumbers((0,), (), (0,)))
    assert np.asarray(window).tolist() == [0, 1, 2, 3, 4]  # a window that is not wholly inside is dropped


@pytest.mark.parametrize("mode, slopes", [("clip", [2, 4, 6]), ("fill", [0, 4, 0]), ("promise_in_bounds", [0, 4, 0])])
@pytest.mark.parametrize("transform", [lambda f: f, nj.jit, lambda f: lambda x: nj.vmap(f)(x[None])[0]])
def test_the_derivative_of_a_gather_is_a_scatter_of_its_mode(mode, slopes, transform):
    read = lambda x: lax.gather(x, np.array([[5], [-1], [1]]), FLAT, (1,), mode=mode)
    assert transform(nj.grad(lambda x: (read(x) ** 2).sum()))(np.float32([1, 2, 3])).tolist() == slopes


def test_padding_of_index_arrays_gets_no_gradient():
    x, pairs = np.float32([1, 2, 3]), np.array([[0, 1], [2, 3], [3, 3]])  # 3: no element
    lengths = lambda x: ((x[pairs[:, 0]] - x[pairs[:, 1]]) ** 2).sum()
    assert nj.grad(lengths)(x).tolist() == nj.jit(nj.grad(lengths))(x).tolist() == [-2, 2, 0]


@pytest.mark.parametrize("dtype, fill", [("int32", -(2**31)), ("uint8", 255), ("bool", True)])
def test_default_fill(dtype, fill):
    assert np.asarray(lax.gather(np.zeros(2, dtype), np.array([[5]]), FLAT, (1,), mode="fill")).tolist() == [fill]


def test_default_fill_of_keys_is_all_ones():
    keys = np.zeros(2, dtypes.key_dtype)
    assert lax.gather(keys, np.array([[5]]), FLAT, (1,), mode="fill")._value.tobytes() == b"\xff" * 8


def test_duplicates():
    x, twice = np.zeros(3, np.float32), np.array([[1], [1], [1]])
    updates = np.array([5, 7, 3], np.float32)
    results = {
        f: np.asarray(getattr(lax, f)(x, twice, updates, FLAT_S)).tolist()[1]
        for f in ("scatter", "scatter_add", "scatter_sub", "scatter_max", "scatter_min")
    }
    assert results == {"scatter": 3, "scatter_add": 15, "scatter_sub": -15, "scatter_max": 7, "scatter_min": 0}
    assert np.asarray(lax.scatter_mul(x + 1, twice, updates, FLAT_S)).tolist() == [1, 105, 1]


def test_scatter_min_and_max_keep_nan():
    x = np.array([1, np.nan, 2], np.float32)
    out = np.asarray(lax.scatter_min(x, np.array([[0], [1], [2]]), np.array([np.nan, 1, 3], np.float32), FLAT_S))
    np.testing.assert_array_equal(out, [np.nan, np.nan, 2])


def test_ties_share_the_derivative():
    x, u, i = np.arange(4.0, dtype=np.float32), np.ones(2, np.float32), np.array([[1], [1]])
    zeros = [np.zeros(4, np.float32), np.zeros(2, np.float32)]
    slopes = []
    for k, at in ((0, 1), (1, 0), (1, 1)):
        tangents = [z.copy() for z in zeros]
        tangents[k][at] = 1
        _, (t,) = jvp_flat(lambda x, u: [lax.scatter_max(x, i, u, FLAT_S)], [x, u], tangents)
        slopes.append(float(np.asarray(t)[1]))
    np.testing.assert_allclose(slopes, [1 / 3] * 3, rtol=1e-6)


def test_large_unsigned_indices_are_out_of_bounds(x64):
    top = np.full((1, 1), 2**64 - 1, np.uint64)
    assert np.asarray(lax.gather(np.arange(3), top, FLAT, (1,), mode="clip")).tolist() == [2]
    assert np.asarray(lax.scatter_add(np.zeros(3), top, np.ones(1), FLAT_S)).tolist() == [0, 0, 0]


def test_apply():
    x, i = np.arange(4, dtype=np.float32), np.array([[1], [1], [9]])
    triple = lambda v: lax.mul(v, np.float32(3))
    assert np.asarray(lax.scatter_apply(x, i, triple, FLAT_S, update_shape=(3,))).tolist() == [0, 9, 2, 3]
    picky = lambda v: lax.squeeze(lax.expand_dims(triple(v), (0,)), (0,))  # not elementwise: one element at a time
    assert np.asarray(lax.scatter_apply(x, i, picky, FLAT_S, update_shape=(3,))).tolist() == [0, 9, 2, 3]
    with pytest.raises(NotImplementedError, match="scatter_apply JVP not implemented"):
        jvp_flat(lambda x: [lax.scatter_apply(x, i, triple, FLAT_S, update_shape=(3,))], [x], [x])
    with pytest.raises(NotImplementedError, match="close over traced values"):
        trace_to_closed(
            lambda y: [lax.scatter_apply(x, i, lambda v: lax.mul(v, y), FLAT_S, update_shape=(3,))],
            [aval_of(np.float32(1))],
        )
    with pytest.raises(ValueError, match="scalar of the array's dtype float32"):
        lax.scatter_apply(x, i, lambda v: lax.convert_element_type(v, "int32"), FLAT_S, update_shape=(3,))


def test_index_take_wraps():
    x = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(np.asarray(lax.index_take(x, (np.array([-1, 9]),), (0,))), x[[-1, 0]])
    np.testing.assert_array_equal(
        np.asarray(lax.index_take(x, (np.array([-1, 9]), np.array([1, -5])), (0, 1))), x[[2, 0], [1, 3]]
    )


def test_derivatives_that_are_not_defined():
    x, u, i = np.ones(4, np.float32), np.ones(2, np.float32), np.array([[1], [1]])
    with pytest.raises(NotImplementedError, match="unique_indices=True"):
        jvp_flat(lambda u: [lax.scatter_mul(x, i, u, FLAT_S)], [u], [u])


def test_modes_and_numbers():
    assert GatherScatterMode.from_any(None) is GatherScatterMode.from_any("fill") is GatherScatterMode.FILL_OR_DROP
    assert str(GatherScatterMode.from_any("clip")) == "GatherScatterMode.CLIP"
    with pytest.raises(ValueError, match='Unknown gather mode "foo"'):
        GatherScatterMode.from_any("foo")
    assert repr(ROWS) == (
        "GatherDimensionNumbers(offset_dims=(1,), collapsed_slice_dims=(0,), start_index_map=(0,), "
        "operand_batching_dims=(), start_indices_batching_dims=())"
    )


X, I2 = np.arange(12, dtype=np.float32).reshape(3, 4), np.array([[0], [1]])


@pytest.mark.parametrize(
    "numbers, sizes, indices, error, text",
    [
        (
            ROWS,
            (1, 5),
            I2,
            TypeError,
            r"Slice size at index 1 in gather op is out of range, must be within \[0, 4 \+ 1\), got 5",
        ),
        (GatherDimensionNumbers((1,), (0,), (0, 1)), (1, 4), I2, TypeError, "2 elements in start_index_map"),
        (GatherDimensionNumbers((3,), (0,), (0,)), (1, 4), I2, TypeError, "Offset dimension 0 in gather op is out of bounds"),
        (GatherDimensionNumbers((1, 0), (0,), (0,)), (1, 4), I2, TypeError, "offset_dims in gather op must be sorted"),
        (
            GatherDimensionNumbers((1,), (0,), (5,)),
            (1, 4),
            I2,
            TypeError,
            r"Invalid start_index_map; domain is \[0, 2\), got: 0->5",
        ),
        (ROWS, (2, 4), I2, TypeError, "can only collapse slice dims with bound 1"),
        (GatherDimensionNumbers((1,), (), (0,)), (1, 4), I2, TypeError, "must either be a offset dimension"),
        (ROWS, (1,), I2, TypeError, "one slice size for every input dimension"),
        (ROWS, (1, 4), I2 * 1.0, ValueError, "indices must have an integer type"),
        (GatherDimensionNumbers((1,), (0, 0), (0,)), (1, 4), I2, TypeError, "must not repeat"),
        (GatherDimensionNumbers((1,), (0,), (0,), (0,), (0,)), (1, 4), I2, TypeError, "must be disjoint"),
        (ROWS, (1, 4), np.int32(0), TypeError, "rank 1 or more"),
    ],
)
def test_gather_errors(numbers, sizes, indices, error, text):
    with pytest.raises(error, match=text):
        lax.gather(X, indices, numbers, sizes)


@pytest.mark.parametrize(
    "updates, numbers, indices, error, text",
    [
        (np.ones((2, 5), np.float32), ROWS_S, I2, TypeError, "updates bound is 5, operand bound is 4"),
        (np.ones((3, 4), np.float32), ROWS_S, I2, TypeError, "updates bound is 3, indices bound is 2"),
        (np.ones(2, np.float32), ROWS_S, I2, TypeError, "Updates tensor must be of rank 2; got 1"),
        (np.ones((2, 4), int), ROWS_S, I2, TypeError, "same dtypes, got float32, int32"),
        (np.ones((2, 4), np.float32), ROWS_S, I2 * 1.0, ValueError, "integer type"),
        (
            np.ones((2, 4), np.float32),
            ScatterDimensionNumbers((1,), (0,), (0, 1)),
            I2,
            TypeError,
            "2 elements in scatter_dims",
        ),
        (
            np.ones((2, 4), np.float32),
            ScatterDimensionNumbers((1,), (), (0,)),
            I2,
            TypeError,
            "window of size 1; doesn't match",
        ),
        (np.ones((2, 4), np.float32), ScatterDimensionNumbers((5,), (0,), (0,)), I2, TypeError, "update_window_dims"),
        (
            np.ones((2, 4), np.float32),
            ScatterDimensionNumbers((1,), (0,), (7,)),
            I2,
            TypeError,
            "scatter_dims_to_operand_dims",
        ),
    ],
)
def test_scatter_errors(updates, numbers, indices, error, text):
    with pytest.raises(error, match=text):
        lax.scatter(X, indices, updates, numbers)


def test_booleans_cannot_be_added():
    with pytest.raises(TypeError, match="add does not accept dtype bool"):
        lax.scatter_add(X > 0, I2, X[:2] > 0, ROWS_S)


def test_a_gather_of_no_slices_may_take_them_of_an_empty_axis():
    empty = np.zeros((0, 2), np.float32)
    for call in (lax.gather, nj.jit(lax.gather, static_argnums=(2, 3))):
        assert call(empty, np.zeros((0, 1), np.int32), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 2)).shape == (0, 2)
    with pytest.raises(TypeError, match="out of range"):
        lax.gather(empty, np.zeros((1, 1), np.int32), lax.GatherDimensionNumbers((1,), (0,), (0,)), (1, 2))


def test_batches_of_indices_into_one_array_promise_nothing():
    table, keys = np.zeros((3, 4), np.float32), np.random.default_rng(0).integers(0, 4, (40, 3), np.int32)

    def total(table):
        return nj.vmap(nj.vmap(lambda row, i: row[i]), (None, 0))(nj.numpy.asarray(table), keys).sum()
    counts = np.zeros((3, 4), np.float32)
    np.add.at(counts, (np.arange(3)[None], keys), 1)
    for grad in (nj.grad(total), nj.jit(nj.grad(total))):
        np.testing.assert_array_equal(grad(table), counts)


def test_index_take_counts_axes_from_the_end_and_says_which_are_not_there():
    x = np.arange(6.0, dtype=np.float32).reshape(2, 3)
    np.testing.assert_array_equal(lax.index_take(x, [np.array([-1, 0])], [-1]), x[:, [-1, 0]].T)
    with pytest.raises(np.exceptions.AxisError, match="index_take: axis 0 is out of bounds for array of dimension 0"):
        lax.index_take(np.float32(1), [np.array([0])], [0])
