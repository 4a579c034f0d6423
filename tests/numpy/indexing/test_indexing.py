"""x[idx] and x.at[idx] against NumPy, eagerly and staged; what JAX does out of bounds; errors."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import numjet as nj
from numjet import lax, numpy as jnp
from numjet.core.op import Undefined, Zero
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation import dtypes
from numjet.foundation.errors import NonConcreteBooleanIndexError
from numjet.numpy.indexing.subscript import getitem, scatter_update
from numjet.numpy.indexing.update import IndexUpdateHelper
from numjet.runtime import eager  # noqa: F401  (evaluates operations)
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.transpose import backward_pass
from numjet.transforms.vmap import batch_flat, move_to

X = np.arange(60, dtype=np.float32).reshape(3, 4, 5)
V, W, S_ = np.array([0, -1], np.int32), np.array([[1], [0]], np.int32), np.s_
M, M2 = np.array([True, False, True]), np.arange(12).reshape(3, 4) % 3 == 0
UPDATES = {
    "set": None,
    "add": np.add,
    "subtract": np.subtract,
    "mul": np.multiply,
    "min": np.minimum,
    "max": np.maximum,
}

TABLE = [
    S_[()],
    S_[...],
    S_[:],
    S_[1],
    S_[-1],
    S_[1, 2, 3],
    S_[-3, -4, -5],
    S_[1:3],
    S_[5:2],
    S_[1:99],
    S_[::2],
    S_[::-1],
    S_[::-2, 1],
    S_[2:0:-1, ::2, None],
    S_[:, ::3, 4:0:-3],
    S_[10:-10:-1],
    S_[None],
    S_[:, None],
    S_[1, None, ::2],
    S_[..., 0],
    S_[..., None, 0],
    S_[None, ..., 1, None],
    S_[0, ...],
    S_[0, ..., 0],
    S_[np.int64(1)],
    S_[np.array(1), 2],
    S_[V],
    S_[V, W],
    S_[:, V],
    S_[..., V],
    S_[V, :, V],
    S_[:, V, V],
    S_[V, None, V],
    S_[0, :, V],
    S_[V, :, 0],
    S_[:, 0, V],
    S_[V, 0],
    S_[V, ::2],
    S_[V, 1:3],
    S_[V, ::-1],
    S_[V, 3:2],
    S_[1:, V, ::-2],
    S_[V, W, 1:4],
    S_[:, V, ..., V],
    S_[V, ..., V, 0],
    S_[W, V, W],
    S_[V.astype(np.int8)],
    S_[np.zeros((0,), int)],
    S_[np.zeros((2, 0), int), 1],
    S_[np.array([[2]]), ..., None],
    S_[M],
    S_[M2],
    S_[M2, 1:],
    S_[M, :, None],
    S_[:, M2[0]],
    S_[M, V],
    S_[V, M2[0][:4] & False],
    S_[np.zeros(3, bool)],
    S_[X > 7],
    S_[True],
    S_[False],
    S_[True, 0],
    S_[0, False],
    S_[V, True],
    S_[:, True, V],
    S_[V, None, True],
    S_[[0, 1], 0],
    S_[[[0, 1]], 0],
    S_[[], 0],
    S_[[0, 1], [1, 2]],
    S_[(0, 1), (0, 1)],
    S_[np.ix_([0, 2], [1, 3])],
]


def random_index(rng, shape):
    """An index that NumPy accepts: every kind of entry, arrays that broadcast together."""
    entries, axis, dots = [], 0, False
    block = tuple(rng.integers(1, 4, rng.integers(0, 3)).tolist())
    while axis < len(shape) and rng.random() > 0.15:
        n = shape[axis]
        kind = rng.choice(["int", "slice", "slice", "none", "array", "array", "mask", "dots", "whole"])
        if kind == "int" and n:
            entries.append(int(rng.integers(-n, n)))
            axis += 1
        elif kind == "slice":
            bound = lambda n=n: None if rng.random() < 0.3 else int(rng.integers(-n - 2, n + 3))
            step = rng.choice([1, 1, 2, 3, -1, -2])
            entries.append(slice(bound(), bound(), int(step)))
            axis += 1
        elif kind == "whole":
            entries.append(slice(None))
            axis += 1
        elif kind == "none":
            entries.append(None)
        elif kind == "array" and n:
            part = tuple(1 if rng.random() < 0.2 else k for k in block[rng.integers(len(block) + 1) :])
            entries.append(rng.integers(-n, n, part).astype(rng.choice(["int32", "int64", "int8"])))
            axis += 1
        elif kind == "mask":
            rank = int(rng.integers(1, min(2, len(shape) - axis) + 1))
            entries.append(rng.random(shape[axis : axis + rank]) < 0.5)
            axis += rank
        elif kind == "dots" and not dots:
            dots = True
            entries.append(Ellipsis)
            axis += int(rng.integers(len(shape) - axis + 1))
    return tuple(entries)


def accepted(x, idx):
    try:
        return x[idx]
    except IndexError:  # masks whose counts do not broadcast
        return None


def random_cases(count, seed):
    rng = np.random.default_rng(seed)
    while count:
        shape = tuple(rng.integers(0 if rng.random() < 0.1 else 1, 6, rng.integers(0, 5)).tolist())
        x, idx = rng.standard_normal(shape).astype(np.float32), random_index(rng, shape)
        want = accepted(x, idx)
        if want is not None:
            count -= 1
            yield rng, x, idx, want


def traced(idx):
    """The integers of an index, to be passed as arguments, and what puts arguments in their place."""
    entries = list(idx) if isinstance(idx, tuple) else [idx]
    places, values = [], []
    for k, e in enumerate(entries):
        value = np.asarray(e) if isinstance(e, (int, np.integer, np.ndarray)) and not isinstance(e, bool) else None
        if value is not None and value.dtype != np.bool_:
            places.append(k)
            values.append(value.astype(np.int32))

    def put(args):
        new = list(entries)
        for k, a in zip(places, args, strict=True):
            new[k] = a
        return tuple(new)

    return values, put


def staged(fun, *args):
    return np.asarray(eval_closed(trace_to_closed(lambda *xs: [fun(*xs)], [aval_of(a) for a in args]), *args)[0])


def check_read(x, idx, want):
    values, put = traced(idx)
    for got in (
        getitem(x, idx),
        getitem(x, idx, mode="fill"),
        getitem(x, idx, mode="clip"),
        staged(lambda x, *ints: getitem(x, put(ints)), x, *values),
    ):
        assert got.shape == want.shape, (x.shape, idx)
        np.testing.assert_array_equal(np.asarray(got), want)


def check_updates(rng, x, idx, want):
    values, put = traced(idx)
    shape = [1 if rng.random() < 0.2 else n for n in want.shape]
    new = rng.integers(-3, 4, shape[rng.integers(len(shape) + 1) :]).astype(np.float32)
    counts = np.zeros(x.shape)
    np.add.at(counts, idx, np.ones(want.shape))
    for op, ufunc in UPDATES.items():
        expected = x.copy()
        if ufunc is None:
            if (counts > 1).any():
                continue  # NumPy does not say which of several values is kept
            expected[idx] = new
        else:
            ufunc.at(expected, idx, np.broadcast_to(new, want.shape).copy())
        for got in (
            scatter_update(x, idx, new, op),
            staged(lambda x, new, *ints, op=op: scatter_update(x, put(ints), new, op), x, new, *values),
        ):
            np.testing.assert_allclose(np.asarray(got), expected, rtol=1e-5, err_msg=f"{op} {x.shape} {idx}")


@pytest.mark.parametrize("idx", TABLE, ids=lambda idx: str(idx)[:60].replace("\n", ""))
def test_table(idx):
    want = accepted(X, idx)
    if want is None:
        with pytest.raises((ValueError, IndexError)):
            getitem(X, idx)
        return
    check_read(X, idx, want)
    check_updates(np.random.default_rng(0), X, idx, want)


@pytest.mark.parametrize("seed", range(4))
def test_random_indices(seed):
    for rng, x, idx, want in random_cases(150, seed):
        check_read(x, idx, want)
        check_updates(rng, x, idx, want)


def test_derivatives_and_batches_of_random_indices():
    for rng, x, idx, want in random_cases(60, 9):
        ct = rng.standard_normal(want.shape).astype(np.float32)
        closed = trace_to_closed(lambda x, idx=idx: [getitem(x, idx)], [aval_of(x)])
        (got,) = backward_pass(closed.jaxpr, closed.consts, [Undefined(aval_of(x))], [ct])
        expected = np.zeros_like(x)
        np.add.at(expected, idx, ct)
        got = np.zeros_like(x) if isinstance(got, Zero) else np.asarray(got)  # nothing is read
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)
        values, put = traced(idx)
        rows = [np.stack([v, np.roll(v, 1)]) for v in values]
        new = rng.standard_normal((2, *want.shape)).astype(np.float32)
        fun = lambda new, *ints, x=x, put=put: [getitem(x, put(ints)), scatter_update(x, put(ints), new, "set")]
        outs, dims = batch_flat(fun, 2, [new, *rows], [0] * (1 + len(rows)))
        for k, (out, dim) in enumerate(zip(outs, dims, strict=True)):
            batch = np.asarray(move_to(out, dim, 0, 2))
            for i in range(2):
                np.testing.assert_array_equal(batch[i], np.asarray(fun(new[i], *[r[i] for r in rows])[k]))


def test_what_lowers_to_what():
    def names(fun, *args):
        return [e.primitive.name for e in trace_to_closed(lambda *xs: [fun(*xs)], [aval_of(a) for a in args]).eqns]

    wrap = ["lt", "add", "select_n"]
    i = np.int32(0)
    assert names(lambda x: getitem(x, S_[:])) == [] if False else names(lambda x: getitem(x, S_[:]), X) == []
    assert names(lambda x: getitem(x, 1), X) == ["slice", "squeeze"]
    assert names(lambda x: getitem(x, S_[::-1]), X) == ["rev"]
    assert names(lambda x: getitem(x, S_[::-2, 1]), X) == ["slice", "rev", "squeeze"]
    assert names(lambda x: getitem(x, None), X) == ["broadcast_in_dim"]
    assert names(lambda x, i: getitem(x, i), X, i) == [*wrap, "dynamic_slice", "squeeze"]
    assert names(lambda x, i: getitem(x, S_[i, 1:3]), X, i) == [*wrap, "dynamic_slice", "squeeze"]
    assert names(lambda x, v: getitem(x, v), X, V) == [*wrap, "broadcast_in_dim", "gather"]
    assert names(lambda x: getitem(x, V), X) == ["gather"]
    assert names(lambda x: IndexUpdateHelper(x)[1].set(0.0), X)[-1] == "scatter"
    assert names(lambda x, v: IndexUpdateHelper(x)[v].add(1), X, V)[-1] == "scatter-add"


def at(x):
    return IndexUpdateHelper(x)


def test_out_of_bounds_reads():
    x = lax.convert_element_type(np.arange(4), np.int32)
    far = np.array([9, -9, -1, -5])
    assert getitem(x, 9).item() == 3 and getitem(x, -9).item() == 0
    assert np.asarray(getitem(x, far)).tolist() == [3, 0, 3, 0]
    assert staged(lambda x, i: getitem(x, i), x, np.int32(9)).item() == 3
    low = -(2**31)
    assert np.asarray(at(x)[far].get(mode="fill")).tolist() == [low, low, 3, low]
    assert at(x)[9].get(mode="fill", fill_value=-1).item() == -1 and at(x)[-5].get(mode="drop").item() == low
    assert np.asarray(at(x)[far].get(mode="clip", wrap_negative_indices=False)).tolist() == [3, 0, 0, 0]
    assert np.isnan(at(np.float32([1, 2]))[5].get(mode="fill").item())


def test_out_of_bounds_writes():
    x = np.arange(4)
    far = np.array([4, 9, -5, -9, -1])
    assert np.asarray(at(x)[far].set(7)).tolist() == [0, 1, 2, 7] and np.asarray(at(x)[9].set(7)).tolist() == [
        0,
        1,
        2,
        3,
    ]
    assert np.asarray(at(x)[far].set(7, mode="clip")).tolist() == [7, 1, 2, 7]
    assert np.asarray(at(x)[np.array([-1, 1])].set(7, wrap_negative_indices=False)).tolist() == [0, 7, 2, 3]
    with pytest.raises(ValueError, match='Unknown gather mode "wrap"'):
        at(x)[0].set(1, mode="wrap")


def test_indices_of_every_integer_dtype():
    x = np.arange(300, dtype=np.int32)
    for dtype in ("int8", "int16", "int32", "int64"):
        assert staged(lambda x, i: getitem(x, i), x, np.array([-1, 5], dtype)).tolist() == [299, 5]
    for dtype in ("uint8", "uint32", "uint64"):
        assert staged(lambda x, i: getitem(x, i), x, np.array([200], dtype)).tolist() == [200]
    top = np.array([2**32 - 1], np.uint32)
    assert staged(lambda x, i: getitem(x, i, mode="fill", fill_value=-7), x, top).tolist() == [-7]
    assert np.asarray(getitem(x, top, mode="fill", fill_value=-7)).tolist() == [-7]


def test_methods_of_at():
    x, twice = np.float32([0, 1, 2, 3]), np.array([1, 1])
    assert np.asarray(at(x)[twice].divide(2)).tolist() == [0, 0.25, 2, 3]
    assert np.asarray(at(x)[twice].add(np.float32([5, 7]))).tolist() == [0, 13, 2, 3]
    assert np.asarray(at(x)[twice].mul(2)).tolist() == np.asarray(at(x)[twice].multiply(2)).tolist() == [0, 4, 2, 3]
    assert np.asarray(at(x)[twice].subtract(1)).tolist() == [0, -1, 2, 3]
    assert np.asarray(at(x)[1:].min(2)).tolist() == [0, 1, 2, 2] and np.asarray(at(x)[:2].max(1)).tolist() == [
        1,
        1,
        2,
        3,
    ]
    assert np.asarray(at(x)[3].get()).item() == 3
    halves = at(np.arange(3))[0].divide(2)
    assert halves.dtype == np.float32 and np.asarray(halves).tolist() == [0, 1, 2]
    assert np.asarray(at(x)[1:].set([9, 8, 7])).tolist() == [0, 9, 8, 7]
    assert repr(at(1)) == "_IndexUpdateHelper(1)" and repr(at(1)[0:1]) == "_IndexUpdateRef(1, slice(0, 1, None))"


def test_apply():
    x, triple = np.float32([0, 1, 2]), lambda v: lax.mul(v, np.float32(3))
    assert np.asarray(at(x)[np.array([1, 1, 2, 9])].apply(triple)).tolist() == [0, 9, 6]
    assert np.asarray(at(x)[-1].apply(triple)).tolist() == [0, 1, 6] and np.asarray(
        at(x)[x > 0].apply(triple)
    ).tolist() == [0, 3, 6]
    assert np.asarray(at(x)[7].apply(triple)).tolist() == [0, 1, 2]
    assert staged(lambda x, m: at(x)[m].apply(triple), x, x > 1).tolist() == [0, 1, 6]
    (_,), (t,) = jvp_flat(lambda x: [at(x)[1:].apply(triple)], [x], [np.ones(3, np.float32)])
    assert np.asarray(t).tolist() == [1, 3, 3]


@pytest.mark.parametrize("op", UPDATES)
@pytest.mark.parametrize(
    "idx, mask, shape",
    [
        (lambda m: m, M2, ()),
        (lambda m: m, M2, (5,)),
        (lambda m: m, M2, (1, 5)),
        (lambda m: (m, ...), M, (4, 1)),
        (lambda m: S_[:, m], M2[0], ()),
        (lambda m: S_[..., m], np.arange(5) > 2, (3, 4, 1)),
        (lambda m: m, X > 7, ()),
        (lambda m: m, X > 7, (1,)),
        (lambda m: m, np.array(True), (4, 5)),
        (lambda m: (m, 0), M, (5,)),
        (lambda m: (m, None), M, ()),
        (lambda m: S_[m, 1:, ::-2], M, (3, 3)),
        (lambda m: S_[1, m], M2[0], (1, 5)),
        (lambda m: S_[1:, 2, m], np.arange(5) > 2, (2, 1)),
        (lambda m: S_[-1, :, m], np.arange(5) > 2, ()),
        (lambda m: S_[m, -1], M2, ()),
        (lambda m: S_[m, 99], M2, ()),
    ],
)
def test_updates_by_traced_masks(op, idx, mask, shape):
    new = np.random.default_rng(0).integers(-3, 4, shape).astype(np.float32)
    got = staged(lambda x, m, new: scatter_update(x, idx(m), new, op), X, mask, new)
    np.testing.assert_allclose(got, np.asarray(scatter_update(X, idx(mask), new, op)))
    again, _ = batch_flat(lambda m: [scatter_update(X, idx(m), new, op)], 2, [np.stack([mask, ~mask])], [0])
    np.testing.assert_allclose(np.asarray(again[0])[0], got)


@pytest.mark.parametrize(
    "use",
    [
        lambda x, m: getitem(x, m),
        lambda x, m: at(x)[m, np.array([0, 1])].set(0),
        lambda x, m: at(x)[0, :, (m & m)[:1].repeat(5)].set(np.ones((1, 4), np.float32)),
        lambda x, m: at(x)[m].set(np.ones((2, 4, 5), np.float32)),
    ],
)
def test_masks_that_must_be_known(use):
    with pytest.raises(NonConcreteBooleanIndexError, match=r"bool\[[35]\]"):
        staged(use, X, M)


def test_a_mask_that_depends_on_no_input_is_known_while_staging():
    assert staged(lambda x: getitem(x, lax.gt(lax.iota(np.int32, 3), np.int32(0))), X).shape == (2, 4, 5)


def test_masks_of_differentiated_values_are_known():
    (_,), (t,) = jvp_flat(
        lambda x: [getitem(x, lax.gt(x, np.float32(1)))], [np.float32([0, 2, 3])], [np.float32([5, 6, 7])]
    )
    assert np.asarray(t).tolist() == [6, 7]


def test_keys():
    keys = np.arange(8, dtype=np.uint32).reshape(4, 2).view(dtypes.key_dtype)[:, 0]
    for idx in (2, S_[1:], S_[::-2], V, M2[0], None):
        assert getitem(keys, idx)._value.tobytes() == keys[idx].tobytes()
    want = keys.copy()
    want[V] = keys[2]
    assert at(keys)[V].set(keys[2])._value.tobytes() == want.tobytes()
    with pytest.raises(TypeError, match="random keys are not numbers"):
        at(keys)[0].set(1)


def test_values_of_other_dtypes():
    ints = np.arange(4, dtype=np.int8)
    assert at(ints)[0].set(1).dtype == np.int8 and at(ints)[0].add(True).dtype == np.int8
    with pytest.warns(FutureWarning, match="cannot safely cast value from dtype=float32 to dtype=int8"):
        assert np.asarray(at(ints)[np.array([2, 2])].multiply(1.5)).tolist() == [0, 1, 4, 3]
    with pytest.warns(FutureWarning, match="from dtype=int32 to dtype=bool"):
        assert np.asarray(at(M)[1].set(5)).tolist() == [True, True, True]
    with pytest.raises(TypeError, match="add does not accept dtype bool"):
        at(M)[0].add(True)


@pytest.mark.parametrize(
    "idx, error, text",
    [
        ([0, 1], TypeError, r"use `arr\[array\(seq\)\]` instead of `arr\[seq\]`"),
        ([], TypeError, "non-tuple sequence"),
        (range(2), TypeError, "non-tuple sequence"),
        (b"a", TypeError, "non-tuple sequence"),
        ([np.array(0), True, 1], TypeError, r"arr\[array\(seq\)\]"),
        ([slice(0, 1)], TypeError, r"arr\[tuple\(seq\)\]"),
        ([[0, 0]], TypeError, r"arr\[tuple\(seq\)\]"),
        ([0, (0, 1)], TypeError, r"arr\[tuple\(seq\)\]"),
        ([0, np.arange(2)], TypeError, r"arr\[tuple\(seq\)\]"),
        ("a", TypeError, "JAX does not support string indexing; got idx='a'"),
        (S_[0, "a"], TypeError, "got idx='a'"),
        (1.0, TypeError, "Indexer must have integer or boolean type"),
        (np.array([1.0]), TypeError, "Indexer must have integer or boolean type, got indexer with type float64"),
        (1j, TypeError, "Indexer must have integer or boolean type"),
        (np.array(["a"]), TypeError, "<U1"),
        (np.array([]), TypeError, "float64"),
        (S_[0, 0, 0, 0], IndexError, "Too many indices: array is 3-dimensional, but 4 were indexed"),
        (S_[:, :, :, :], IndexError, "Too many indices"),
        (np.ones((3, 4, 5, 1), bool), IndexError, "Too many indices"),
        (S_[..., ...], IndexError, "single ellipsis"),
        ({}, IndexError, r"only integers, slices \(`:`\).* Got \{\}"),
        (S_[1.0:], TypeError, "integer"),
        (S_["a":], TypeError, "integer"),
        (S_[::0], ValueError, "slice step cannot be zero"),
        (S_[np.array([1, 2]) :], TypeError, "integer"),
        (S_[V, np.arange(3)], ValueError, "Incompatible shapes for broadcasting"),
        (
            np.ones((2, 4), bool),
            IndexError,
            r"boolean index did not match shape of indexed array in index 0: got \(2, 4\), expected \[3, 4\]",
        ),
    ],
)
def test_errors(idx, error, text):
    for use in (lambda: getitem(X, idx), lambda: at(X)[idx].set(0.0), lambda: staged(lambda x: getitem(x, idx), X)):
        with pytest.raises(error, match=text):
            use()


def test_slices_with_traced_bounds_name_the_remedy():
    for bounds in (lambda i: slice(i, None), lambda i: slice(None, None, i)):
        with pytest.raises(
            IndexError, match=r"Slice entries must be static integers.*position 0[\s\S]*lax.dynamic_slice"
        ):
            staged(lambda x, i, bounds=bounds: getitem(x, bounds(i)), X, np.int32(1))


@pytest.mark.parametrize(
    "values, error, text",
    [
        (np.ones(3, np.float32), ValueError, r"the indexed part has shape \(4, 5\), the values have shape \(3,\)"),
        (np.ones((1, 4, 5), np.float32), ValueError, "Incompatible shapes"),
        (None, ValueError, "None"),
        ("a", TypeError, "'a'"),
    ],
)
def test_values_that_do_not_fit(values, error, text):
    with pytest.raises(error, match=text):
        at(X)[0].set(values)


def test_arrays_are_immutable():
    with pytest.raises(TypeError, match=r"x = x.at\[idx\].set\(y\)"):
        jnp.asarray(X)[0] = 1


def test_empty_axes():
    empty = np.zeros((0, 3), np.float32)
    assert getitem(empty, np.zeros(0, int)).shape == (0, 3) and getitem(empty, S_[::-1, 1]).shape == (0,)
    with pytest.raises(IndexError, match="index 0 is out of bounds for axis 0 with size 0"):
        getitem(empty, 0)
    assert np.asarray(at(X)[3:1].set(1.0)).tolist() == X.tolist()


@pytest.mark.parametrize("jit", [False, True])
def test_updates_keep_weak_types_and_digits(jit, x64):
    x = jnp.full(3, 2**40)
    update = lambda x: x.at[0].set(jnp.int32(3))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = (nj.jit(update) if jit else update)(x)
    assert out.weak_type and out.dtype == np.int64 and out.tolist() == [3, 2**40, 2**40]


@pytest.mark.parametrize("index", [1_300_000_000, -200_000_001, 0])
def test_64_bit_indices_along_axes_that_32_bits_hold(index, x64):
    """Indices are narrowed to 32 bits there: only such as are out of bounds may change. The numbers are not stored."""
    n = 1_500_000_000
    read = nj.jit(lambda i: jnp.arange(n, dtype=jnp.int32).at[i].get(mode="fill", fill_value=-1))
    assert int(read(np.int64(index))) == index % n
    assert read(np.array([index, index + 2 ** 40, n, -n - 1, 2 ** 62, -2 ** 62])).tolist() == [index % n] + 5 * [-1]


def test_integers_beyond_the_index_dtype_are_refused_each_time() -> None:
    for _ in range(3):   # the second call compiles
        with pytest.raises(OverflowError, match="too large to convert to int32"):
            jnp.arange(3)[2**33]


def test_fill_values_are_scalars() -> None:
    with pytest.raises(ValueError, match=r"fill_value argument to indexed get\(\) must be a scalar"):
        jnp.arange(3).at[jnp.array([5])].get(mode="fill", fill_value=jnp.arange(3))


def test_new_numbers_are_literals_of_jaxprs() -> None:
    for fn in (lambda x: jnp.zeros(2) + x, lambda x: lax.full((2,), 1.5) + x, lambda x: lax.full_like(x, 2) + x,
               lambda x: x + lax.convert_element_type(2, np.float32), lambda x: x.at[np.array([0])].set(3)):
        jaxpr = nj.make_jaxpr(fn)(jnp.ones(2))
        assert all(np.ndim(c) for c in jaxpr.consts), jaxpr
