"""Distributions of counts: Poisson, binomial, multinomial, geometric."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.control.loops.scan import scan
from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, compare, convert, special, transcendental
from numjet.lax.indexing.gather import index_take
from numjet.lax.reduction.cumulative import cumsum
from numjet.lax.shape import create, rearrange as shapes
from numjet.numpy.core.promotion import broadcast_to, promote_args_inexact
from numjet.random import samplers
from numjet.random.arguments import as_float, draw_floats, fit, int_dtype, placed, shape_of
from numjet.random.compiled import compiled
from numjet.random.key_bits import Shape, Words, single, split_array, split_words, words

_log = transcendental.log
_SMALL = 10      # means below are counted one by one


def _is_nan(x: Any) -> Any:
    return x != x


def _choose(mask: Any, x: Any, y: Any) -> Any:
    """x where mask holds, else y; one of them may be a number."""
    x = create.full_like(y, x) if isinstance(x, (int, float)) else x
    y = create.full_like(x, y) if isinstance(y, (int, float)) else y
    return compare.select(mask, x, y)


def _rejection(pair: Words, wanted: Any, dtype: np.dtype, propose: Callable[[Any, Any], tuple[Any, Any]]) -> Any:
    """Rejection sampling: draws u in [-1/2, 1/2) and v in [0, 1) until propose(u, v) -> (value, accepted) accepts for all.

    wanted: the elements whose values are used. Draws are for all elements as long as there is one of them: an element takes the
    last value that was accepted, so that the number of draws is part of the result, which is JAX's.
    """
    shape = wanted.shape

    def draw(state: Any) -> Any:
        here, out, done = state
        rest, for_u, for_v = split_words(here, 3)
        value, accepted = propose(samplers.unit(for_u, shape, dtype) - 0.5, samplers.unit(for_v, shape, dtype))
        return rest, compare.select(accepted, value, out), done | accepted

    start = (pair, create.full(shape, dtype.type(-1)), broadcast_to(~samplers.anywhere(wanted), shape))
    return samplers.draw_while(lambda s: samplers.anywhere(~s[2]), draw, start)[1]


# -------------------------------------------------------------------------------------------- Poisson

def _poisson_counting(pair: Words, lam: Any) -> Any:
    """For small means: the number of uniform factors whose product stays above exp(-lam) (Knuth), as floats."""
    def draw(state: Any) -> Any:
        last, count, product = state
        rest, here = split_words(last, 2)
        count = _choose(product > -lam, count + 1, count)
        return rest, count, product + _log(samplers.unit(here, lam.shape, lam.dtype))

    zero = create.full_like(lam, 0)
    return samplers.draw_while(lambda s: samplers.anywhere(s[2] > -lam), draw, (pair, zero, zero), lam)[1] - 1


def _poisson_rejection(pair: Words, lam: Any, wanted: Any) -> Any:
    """For large means: PTRS of Hörmann, "The transformed rejection method for generating Poisson random variables", 1993."""
    log_lam = _log(lam)
    b = 0.931 + 2.53 * arithmetic.sqrt(lam)
    a = -0.059 + 0.02483 * b
    inverse_alpha = 1.1239 + 1.1328 / (b - 3.4)
    v_r = 0.9277 - 3.6224 / (b - 2)

    def propose(u: Any, v: Any) -> tuple[Any, Any]:
        us = 0.5 - abs(u)
        k = arithmetic.floor((2 * a / us + b) * u + lam + 0.43)
        s = _log(v * inverse_alpha / (a / (us * us) + b))
        bound = k * log_lam - lam - special.lgamma(k + 1)
        outside = (k < 0) | ((us < 0.013) & (v > us))
        return k, ((us >= 0.07) & (v <= v_r)) | (~outside & (s <= bound))

    return _rejection(pair, wanted, lam.dtype, propose)


@compiled
def _poisson(key: Any, lam: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    lam = broadcast_to(as_float(lam, dtypes.float32), shape)
    small = _is_nan(lam) | (lam < _SMALL)
    counted = _poisson_counting(words(key), _choose(small, lam, 0.0))
    drawn = _poisson_rejection(words(key), _choose(small, 1e5, lam), ~small)
    out = convert.convert_dtype(compare.select(small, counted, drawn), dtype)
    return _choose(lam == 0, 0, out)


def poisson(key: Any, lam: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """Poisson counts of mean lam; dtype: an integer one; shape: default that of lam. -1 where lam is NaN.

    ValueError for dtypes that are no integer.

    >>> from numjet import random
    >>> poisson(random.key(0), 3.0, (4,)).shape
    (4,)
    """
    found = int_dtype("poisson", dtype)
    return placed(_poisson(single("poisson", key), lam, shape=fit("poisson", shape, lam), dtype=found), out_sharding)


# -------------------------------------------------------------------------------------------- binomial

def _stirling_error(k: int) -> float:
    """log(k!) less Stirling's formula for it."""
    return math.lgamma(k + 1) - ((k + 0.5) * math.log(k + 1) - (k + 1) + 0.5 * math.log(2 * math.pi))


_STIRLING_ERRORS = np.array([_stirling_error(k) for k in range(_SMALL)])


def _stirling_errors(k: Any) -> Any:
    """log(k!) less Stirling's formula: a table for small k, the series for others."""
    index = convert.convert_dtype(compare.clamp(k.dtype.type(0), k, k.dtype.type(_SMALL - 1)), dtypes.int32)
    table = convert.constant(_STIRLING_ERRORS, k.dtype)
    exact = shapes.reshape(index_take(table, [shapes.reshape(index, (index.size,))], [0]), index.shape)
    square = (k + 1) * (k + 1)
    series = (1 / 12 - (1 / 360 - 1 / 1260 / square) / square) / (k + 1)
    return compare.select(k < _SMALL, exact, series)


def _binomial_counting(pair: Words, n: Any, p: Any) -> Any:
    """For small means: the successes before the waiting times between them (geometric) exceed n."""
    log_q = transcendental.log1p(-p)

    def draw(state: Any) -> Any:
        last, count, waited = state
        here, rest = split_words(last, 2)
        count = _choose(waited <= n, count + 1, count)
        return rest, count, waited + arithmetic.ceil(_log(samplers.unit(here, n.shape, n.dtype)) / log_q)

    zero = create.full_like(n, 0)
    return samplers.draw_while(lambda s: samplers.anywhere(s[2] <= n), draw, (pair, zero, zero), n, p)[1] - 1


def _binomial_rejection(pair: Words, n: Any, p: Any, wanted: Any) -> Any:
    """For large means: BTRS of Hörmann, "The generation of binomial random variates", 1993."""
    spread = arithmetic.sqrt(n * p * (1 - p))
    b = 1.15 + 2.53 * spread
    a = -0.0873 + 0.0248 * b + 0.01 * p
    c = n * p + 0.5
    v_r = 0.92 - 4.2 / b
    odds = p / (1 - p)
    alpha = (2.83 + 5.1 / b) * spread
    mode = arithmetic.floor((n + 1) * p)

    def propose(u: Any, v: Any) -> tuple[Any, Any]:
        us = 0.5 - abs(u)
        k = arithmetic.floor((2 * a / us + b) * u + c)
        s = _log(v * alpha / (a / (us * us) + b))
        bound = ((mode + 0.5) * _log((mode + 1) / (odds * (n - mode + 1)))
                 + (n + 1) * _log((n - mode + 1) / (n - k + 1))
                 + (k + 0.5) * _log(odds * (n - k + 1) / (k + 1))
                 + _stirling_errors(mode) + _stirling_errors(n - mode) - _stirling_errors(k) - _stirling_errors(n - k))
        outside = (k < 0) | (k > n)
        return k, ((us >= 0.07) & (v <= v_r)) | (~outside & (s <= bound))

    return _rejection(pair, wanted, n.dtype, propose)


def binomial_counts(pair: Words, n: Any, p: Any) -> Any:
    """Binomial counts as floats, for floats n and p of one shape. NaN for bad parameters, infinity for infinite n."""
    if n.dtype.itemsize == 2:  # uniform numbers of halves are too coarse
        wide = np.dtype(np.float32)
        return as_float(binomial_counts(pair, as_float(n, wide), as_float(p, wide)), n.dtype)
    below_half = p < 0.5
    q = compare.select(below_half, p, 1 - p)
    bad_n, bad_q = _is_nan(n) | (n < 0), _is_nan(q) | (q < 0)
    infinite = abs(n) == math.inf
    q = _choose(bad_q, 0.01, q)
    small = bad_n | (n * q <= _SMALL)
    whole = arithmetic.floor(n)
    counted = _binomial_counting(pair, _choose(small & ~bad_n, whole, 0.0), q)
    other = small | infinite
    drawn = _binomial_rejection(pair, _choose(other, 10000.0, whole), _choose(other, 0.5, q), ~other)
    out = compare.select(small, counted, drawn)
    out = _choose(bad_n | bad_q, math.nan, _choose(infinite, math.inf, out))
    return compare.select(below_half | bad_n | bad_q | infinite, out, whole - out)


@compiled
def _binomial(key: Any, n: Any, p: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    n, p = (broadcast_to(x, shape) for x in promote_args_inexact("binomial", n, p))
    if n.dtype.itemsize == 2:  # uniform numbers of halves are too coarse
        n, p = (as_float(x, np.dtype(np.float32)) for x in (n, p))
    return as_float(binomial_counts(words(key), n, p), dtype)


def binomial(key: Any, n: Any, p: Any, shape: Any = None, dtype: Any = None) -> Any:
    """Binomial counts of n trials of probability p, as floats; n and p broadcast to `shape` (the default).

    They are drawn in the dtype that n and p promote to, and returned in `dtype`. Those of halves are drawn in float32, unlike
    JAX's: a uniform half is too coarse for waiting times. NaN for negative or NaN parameters.

    For n * min(p, 1 - p) > 10 a sample in some thousands differs from JAX's for the same key: the acceptance bound here uses
    Stirling's series at its true arguments.

    >>> from numjet import random
    >>> x = binomial(random.key(0), 10.0, 0.3, (100,))
    >>> bool(((x >= 0) & (x <= 10)).all())
    True
    """
    return draw_floats("binomial", _binomial, key, shape, dtype, None, n, p)


@compiled
def _multinomial(key: Any, n: Any, p: Any, *, shape: Shape, dtype: np.dtype, unroll: int) -> Any:
    """Conditional method: class after class, a binomial count of the remaining trials."""
    n, p = promote_args_inexact("multinomial", n, p)
    if p.dtype.itemsize == 2:  # as for binomial counts
        n, p = (as_float(x, np.dtype(np.float32)) for x in (n, p))
    p = broadcast_to(p, shape)
    last = len(shape) - 1
    rest = cumsum(p, last, reverse=True)
    share = shapes.transpose(p / _choose(rest == 0, 1.0, rest), (last, *range(last)))
    left = broadcast_to(n, shape[:-1])

    def take(left: Any, x: Any) -> tuple[Any, Any]:
        count = binomial_counts(x[0], left, compare.clamp(p.dtype.type(0), x[1], p.dtype.type(1)))
        return left - count, count

    keys = split_array(words(key), (shape[-1],))
    _, counts = scan(take, left, (keys, share), unroll=unroll)
    return convert.convert_dtype(shapes.transpose(counts, (*range(1, len(shape)), 0)), dtype)


def multinomial(key: Any, n: Any, p: Any, *, shape: Any = None, dtype: Any = None, unroll: int | bool = 1) -> Any:
    """Counts of n trials in classes of probabilities p[..., k]; shape: default that of p; dtype: any of numbers, default float.

    They are drawn in the dtype that n and p promote to, for halves in float32.

    >>> import numjet.numpy as jnp
    >>> from numjet import random
    >>> float(multinomial(random.key(0), 10.0, jnp.array([0.2, 0.3, 0.5])).sum())
    10.0
    """
    found = dtypes.check_user_dtype(float if dtype is None else dtype, "multinomial")
    target = shapes.broadcast_shapes(np.shape(p), (*np.shape(n), 1)) if shape is None else shape_of("multinomial", shape)
    return _multinomial(single("multinomial", key), n, p, shape=target, dtype=found, unroll=unroll)


# -------------------------------------------------------------------------------------------- geometric

@compiled
def _geometric(key: Any, p: Any, *, shape: Shape, dtype: np.dtype) -> Any:
    wide = dtypes.python_scalar_dtype(float)
    u = samplers.unit(words(key), shape, wide)
    u = _choose(u == 0, 1.0, u)
    trials = arithmetic.floor(_log(u) / broadcast_to(transcendental.log1p(-as_float(p, wide)), shape)) + 1
    return convert.convert_dtype(trials, dtype)


def geometric(key: Any, p: Any, shape: Any = None, dtype: Any = None, *, out_sharding: Any = None) -> Any:
    """The number of trials to the first success of probability p; dtype: an integer one; shape: default that of p.

    >>> from numjet import random
    >>> bool((geometric(random.key(0), 0.3, (10,)) >= 1).all())
    True
    """
    found = int_dtype("geometric", dtype)
    return placed(_geometric(single("geometric", key), p, shape=fit("geometric", shape, p), dtype=found), out_sharding)
