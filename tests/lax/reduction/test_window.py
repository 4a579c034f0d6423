"""Reductions of windows against plain loops, values known from JAX, their errors and derivatives."""
import itertools

import numpy as np
import pytest

import numjet
from numjet import lax
from tests.lax.lax_gradients import grad, jvp, vmap


def reference(x, init, combine, sizes, strides, padding, base=None, dilation=None):
    """By the definition, element by element."""
    base, dilation = base or (1,) * x.ndim, dilation or (1,) * x.ndim
    spread = [(n - 1) * d + 1 for n, d in zip(x.shape, base, strict=True)]
    span = [(n - 1) * d + 1 for n, d in zip(sizes, dilation, strict=True)]
    shape = [(n + low + high - w) // s + 1 for n, (low, high), w, s in zip(spread, padding, span, strides, strict=True)]
    out = np.full(shape, init, x.dtype)
    for i in np.ndindex(*shape):
        for r in np.ndindex(*sizes):
            place = [k * s + q * d - low for k, s, q, d, (low, _) in zip(i, strides, r, dilation, padding, strict=True)]
            if all(0 <= p < n and p % d == 0 for p, n, d in zip(place, spread, base, strict=True)):
                out[i] = combine(out[i], x[tuple(p // d for p, d in zip(place, base, strict=True))])
    return out


CASES = [((2, 3), (1, 1), ((0, 0), (0, 0))), ((2, 2), (2, 1), ((1, 0), (0, 2))), ((3, 1), (1, 2), ((-1, 2), (0, 0)))]
DILATIONS = [(None, None), ((2, 1), None), (None, (1, 2)), ((3, 2), (2, 1))]


@pytest.mark.parametrize("case, dilations", list(itertools.product(CASES, DILATIONS)))
def test_sum_max_min_and_product_match_loops(case, dilations, rng):
    x = rng.standard_normal((6, 7)).astype(np.float32)
    for fun, init, combine in ((lax.add, 0.0, np.add), (lax.max, -np.inf, np.maximum), (lax.min, np.inf, np.minimum),
                               (lax.mul, 1.0, np.multiply)):
        got = np.asarray(lax.reduce_window(x, init, fun, *case, *dilations))
        np.testing.assert_allclose(got, reference(x, init, combine, *case, *dilations), rtol=1e-5, atol=1e-6)


def test_values_known_from_jax():
    x = np.arange(6, dtype=np.float32)
    got = lax.reduce_window(x, 0.0, lax.add, (2,), (1,), "SAME", (2,), (3,))
    assert np.asarray(got).tolist() == [1, 0, 2, 1, 3, 2, 4, 3, 5, 4, 0]
    ones = np.ones(3, np.float32)
    assert np.asarray(lax.reduce_window(ones, 0.0, lax.add, (5,), (2,), "SAME_LOWER")).tolist() == [3, 3]
    assert np.asarray(lax.reduce_window(ones, 0.0, lax.add, (5,))).shape == (0,)
    assert np.asarray(lax.reduce_window(ones > 0, False, lax.bitwise_or, (2,))).tolist() == [True, True]


def test_shapes():
    assert lax.reduce_window_shape_tuple((8, 8), (2, 2), (2, 1), ((0, 0), (1, 0))) == (4, 8)
    assert lax.reduce_window_shape_tuple((6,), (2,), (1,), "SAME", (2,), (3,)) == (11,)


def test_names_of_padding():
    assert lax.padtype_to_pads((5, 6), (2, 3), (2, 2), "SAME_LOWER") == [(1, 0), (1, 0)]
    assert lax.padtype_to_pads((5, 6), (2, 3), (2, 2), "same") == [(0, 1), (0, 1)]
    assert lax.padtype_to_pads((5, 6), (2, 3), (2, 2), "VALID") == [(0, 0), (0, 0)]
    with pytest.raises(RuntimeError, match="Unrecognized padding type"):
        lax.padtype_to_pads((5,), (2,), (1,), "FOO")
    with pytest.raises(TypeError, match="Unknown padding type"):
        lax.padtype_to_pads((5,), (2,), (1,), 3)


def test_records_are_chosen_by_the_function_and_its_identity():
    x = np.ones(4, np.float32)
    names = lambda fun, init: [str(e.primitive) for e in numjet.make_jaxpr(
        lambda v: lax.reduce_window(v, init, fun, (2,)))(x).jaxpr.eqns]
    assert names(lax.add, 0.0) == ["reduce_window_sum"]
    assert names(lax.max, -np.inf) == ["reduce_window_max"]
    assert names(lax.min, np.inf) == ["reduce_window_min"]
    assert names(lax.add, 2.0) == names(lax.mul, 1.0) == ["reduce_window"]


def test_trees_are_reduced_together():
    x = np.array([1, 2, 3, 4], np.float32)
    add, mul = lax.reduce_window((x, x), (0.0, 1.0), lambda a, b: (a[0] + b[0], a[1] * b[1]), (2,))
    assert np.asarray(add).tolist() == [3, 5, 7] and np.asarray(mul).tolist() == [2, 6, 12]


@pytest.mark.parametrize("change, error, text", [
    ({"window_dimensions": (2, 2)}, TypeError, "wrong number of window_dimensions"),
    ({"window_dimensions": (0,)}, TypeError, "strictly positive"),
    ({"window_strides": (0,)}, TypeError, "window_strides must have every element be strictly positive"),
    ({"base_dilation": (0,)}, TypeError, "base_dilation must have"),
    ({"window_dilation": (-1,)}, TypeError, "window_dilation must have"),
    ({"padding": "FOO"}, RuntimeError, "Unrecognized padding type"),
    ({"padding": ((0, 0),) * 2}, ValueError, "one \\(low, high\\) pair"),
    ({"padding": 3}, ValueError, "sequence of \\(low, high\\) pairs"),
    ({"init_value": np.zeros(2, np.float32)}, TypeError, "to be scalars"),
    ({"init_value": (0.0, 1.0)}, ValueError, "same tree structure"),
])
def test_errors(change, error, text):
    arguments = {"init_value": 0.0, "computation": lax.add, "window_dimensions": (2,)} | change
    with pytest.raises(error, match=text):
        lax.reduce_window(np.ones(4, np.float32), **arguments)


def test_sums_of_bools_are_no_sums():
    with pytest.raises(TypeError):
        lax.reduce_window(np.ones(3, bool), False, lax.add, (2,))


def test_ties_give_their_derivative_to_the_first():
    pool = lambda v: lax.reduce_window(v, -np.inf, lax.max, (3, 3))
    x = np.zeros((4, 4), np.float32)
    expected = np.zeros((4, 4))
    expected[:2, :2] = 1
    np.testing.assert_array_equal(grad(pool, x), expected)
    tangent = jvp(pool, [x], [np.arange(16, dtype=np.float32).reshape(4, 4)])
    assert tangent.tolist() == [[0, 1], [4, 5]]


@pytest.mark.parametrize("dilations", DILATIONS)
@pytest.mark.parametrize("fun, init", [(lax.add, 0.0), (lax.max, -np.inf), (lax.min, np.inf), (lax.mul, 1.0)])
def test_gradients_agree_with_differences(fun, init, dilations, rng, x64):
    x, step = rng.permutation(42).reshape(6, 7) / 7.0, 1e-5
    pool = lambda v: lax.reduce_window(v, init, fun, (2, 3), (2, 1), ((1, 0), (0, 1)), *dilations)
    finite = lambda out: float(out[np.isfinite(out)].sum())  # windows of padding alone are infinite
    value = lambda v: finite(np.asarray(pool(v)))
    expected = [(value(x + step * d) - value(x - step * d)) / (2 * step) for d in np.eye(42).reshape(42, 6, 7)]
    np.testing.assert_allclose(grad(pool, x).reshape(-1), expected, rtol=1e-4, atol=1e-4)


def test_nan_stays_in_its_windows():
    x = np.array([1, np.nan, 3, 4], np.float32)
    got = np.asarray(lax.reduce_window(x, -np.inf, lax.max, (2,)))
    np.testing.assert_array_equal(got, [np.nan, np.nan, 4])


def test_batched_initial_value():
    x, inits = np.array([1, 2, 3], np.float32), np.array([0, 10], np.float32)
    got = vmap(lambda i: lax.reduce_window(x, i, lax.add, (2,)), [inits], [0])
    assert got.tolist() == [[3, 5], [13, 15]]


def test_pads_are_python_integers():
    pads = lax.padtype_to_pads(np.array([5, 6]), np.array([2, 3]), np.array([2, 2]), "SAME")
    assert pads == [(0, 1), (0, 1)] and all(type(n) is int for pair in pads for n in pair)


@pytest.mark.parametrize("extent", [0, 1, 2])
def test_batched_initial_values_where_no_window_fits(extent):
    x, inits = np.ones(extent, np.float32), np.array([0, 10], np.float32)
    assert vmap(lambda i: lax.reduce_window(x, i, lax.add, (3,), (2,)), [inits], [0]).shape == (2, 0)
