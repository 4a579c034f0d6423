"""associative_scan: all prefixes, for every length, axis and direction."""

from __future__ import annotations

import collections

import numpy as np
import pytest

from numjet import lax
from numjet.control import associative_scan
from tests.control.calculus import check_derivatives, check_vmap, names, program


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5, 7, 8, 13])
@pytest.mark.parametrize("reverse", [False, True])
def test_sums(n, reverse):
    x = np.arange(n, dtype=np.float32) + 1
    want = np.cumsum(x[::-1])[::-1] if reverse else np.cumsum(x)
    np.testing.assert_array_equal(np.asarray(associative_scan(lax.add, x, reverse=reverse)), want)


@pytest.mark.parametrize("axis", [0, 1, -1])
def test_axes(axis):
    x = np.arange(30, dtype=np.float32).reshape(2, 5, 3)
    np.testing.assert_array_equal(np.asarray(associative_scan(lax.add, x, axis=axis)), np.cumsum(x, axis))


def test_an_operation_that_does_not_commute(x64):
    # Composition of x -> a x + b, which solves a linear recurrence.
    def compose(f, g):
        return {"a": lax.mul(f["a"], g["a"]), "b": lax.add(lax.mul(f["b"], g["a"]), g["b"])}

    rng = np.random.default_rng(0)
    a, b = rng.uniform(size=(2, 11))
    out = np.asarray(associative_scan(compose, {"a": a, "b": b})["b"])
    state, want = 0.0, []
    for p, q in zip(a, b, strict=True):
        state = p * state + q
        want.append(state)
    np.testing.assert_allclose(out, want, rtol=1e-12)
    check_derivatives(lambda a, b: associative_scan(compose, {"a": a, "b": b})["b"], [a[:5], b[:5]])


def test_batches(rng):
    check_vmap(lambda x: associative_scan(lax.mul, x), [rng.uniform(size=(3, 6))])


def test_the_number_of_combinations_grows_with_the_logarithm():
    count = lambda n: names(program(lambda x: associative_scan(lax.add, x), np.ones(n, np.float32))).count("add")
    assert count(1024) - count(512) == 2


def test_the_operation_may_return_another_structure():
    Pair = collections.namedtuple("Pair", "product total")
    x, y = np.arange(1, 6, dtype=np.float32), np.arange(5, dtype=np.float32)
    out = associative_scan(lambda a, b: [a[0] * b[0], None, (a[1] + b[1],)], Pair(x, y))
    assert isinstance(out, Pair)
    np.testing.assert_array_equal(out.product, np.cumprod(x))
    np.testing.assert_array_equal(out.total, np.cumsum(y))


@pytest.mark.parametrize(("fn", "elems", "error", "text"), [
    (3, np.ones(3), TypeError, "fn argument should be callable"),
    (lax.add, (np.ones(3), np.ones(2)), ValueError, r"same first dimension. \(saw: \[\(3,\), \(2,\)\]"),
    (lax.add, 1.0, ValueError, "an axis to scan over"),
    (lax.add, (), ValueError, "no arrays"),
    (lambda a, b: (a, b), np.ones(3), ValueError, "must return as many arrays as it takes")])
def test_errors(fn, elems, error, text):
    with pytest.raises(error, match=text):
        associative_scan(fn, elems)
