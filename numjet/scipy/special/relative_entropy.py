"""Relative entropies, by the quotient of the larger argument to the smaller one."""
from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special.gamma_family import floats
from numjet.scipy.special.horner import ATANH_REST, horner


def _halves_in_float32(function: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(function)
    def wide(p: Any, q: Any) -> Any:
        if p.dtype.itemsize > 2:
            return function(p, q)
        return jnp.astype(function(jnp.astype(p, np.float32), jnp.astype(q, np.float32)), p.dtype)
    return wide


def _quotient_in_range(p: Any, q: Any) -> tuple[Any, Any, Any]:
    """The larger of two positive numbers times a power of two, the smaller one, and minus the logarithm of the power.

    Their quotient does not overflow: the power is 4**-s beyond 2**(e - 2) and 16**-s beyond 2**(e + 2s - 4), where e is the
    range's exponent and 4s what the largest quotient, by the smallest subnormal number, has too much.
    """
    info = jnp.finfo(p.dtype)
    step = (info.nmant + 4 - info.minexp) // 4 + 1
    guard = info.nmant + 3                        # keeps the compared numbers normal, so that the comparison is exact
    large, small = jnp.maximum(p, q), jnp.minimum(p, q)
    tiny = large * 2.0 ** (guard + 2 - info.maxexp)
    far = tiny > small * 2.0 ** guard
    farthest = tiny > small * 2.0 ** (2 * step - 2 + guard)
    factor = jnp.where(farthest, 4.0 ** -step, jnp.where(far, 2.0 ** -step, 1))
    scale = jnp.where(farthest, 4 * step * math.log(2), jnp.where(far, 2 * step * math.log(2), 0))
    return large * factor * factor, small, scale


@custom_jvp
def _log_of_quotient(p: Any, q: Any) -> Any:
    """log(p / q) of positive numbers as that of the larger to the smaller one, log(1 + (large - small) / small).

    The difference is exact up to a quotient of 2, and its rounding matters less and less beyond.
    """
    large, small, scale = _quotient_in_range(p, q)
    log = jnp.log1p((large - small) / small) + scale
    return jnp.where(p < q, -log, log)


def _log_of_far_quotient(p: Any, q: Any) -> Any:
    """log(p / q) of positive numbers that differ by a factor of 3 at least."""
    large, small, scale = _quotient_in_range(p, q)
    log = jnp.log(large / small) + scale
    return jnp.where(p < q, -log, log)


_log_of_quotient.defjvps(lambda t, out, p, q: t / p, lambda t, out, p, q: -t / q)


def _cases(p: Any, q: Any) -> tuple[Any, Any, Any, Any]:
    """Where both are positive; where p is 0 and q no less; both, replaced by 1 elsewhere."""
    both = (p > 0) & (q > 0)
    return both, (p == 0) & (q >= 0), jnp.where(both, p, 1), jnp.where(both, q, 1)


def _numbers(p: Any, q: Any, found: Any) -> Any:
    return jnp.where(jnp.isnan(p) | jnp.isnan(q), np.nan, found)


@custom_jvp
def _rel_entr(p: Any, q: Any) -> Any:
    both, none, safe_p, safe_q = _cases(p, q)
    return _numbers(p, q, jnp.where(both, safe_p * _log_of_quotient(safe_p, safe_q), jnp.where(none, 0, np.inf)))


def _rel_entr_slopes(p: Any, q: Any) -> tuple[Any, Any]:
    both, _, safe_p, safe_q = _cases(p, q)
    return jnp.where(both, _log_of_quotient(safe_p, safe_q) + 1, 0), jnp.where(both, -safe_p / safe_q, 0)


_rel_entr.defjvps(lambda t, out, p, q: _rel_entr_slopes(p, q)[0] * t, lambda t, out, p, q: _rel_entr_slopes(p, q)[1] * t)


@custom_jvp
def _kl_div(p: Any, q: Any) -> Any:
    both, none, safe_p, safe_q = _cases(p, q)
    gap = safe_q - safe_p
    share = gap / safe_p
    t = jnp.where(jnp.abs(gap) < safe_p * 2, share / (2 + share), 1)    # (q - p) / (q + p), without overflow
    near = jnp.abs(t) <= 0.5
    close = jnp.where(near, t, 0)
    series = close * (gap - 2 * safe_p * (close * close * horner(ATANH_REST[p.dtype], close * close)))
    plain = safe_p * (_log_of_far_quotient(safe_p, safe_q) - 1) + safe_q
    found = jnp.where(jnp.maximum(safe_p, safe_q) == np.inf, np.inf, jnp.where(near, series, plain))
    return _numbers(p, q, jnp.where(both, found, jnp.where(none, q - p, np.inf)))


@custom_jvp
def _relative_gap(p: Any, q: Any) -> Any:
    """(q - p) / q. The derivatives are those of p / q: the quotient's own cancel where p is small beside q."""
    return (q - p) / q


_relative_gap.defjvps(lambda t, out, p, q: -t / q, lambda t, out, p, q: p / q * t / q)


def _kl_div_slopes(p: Any, q: Any) -> tuple[Any, Any]:
    both, none, safe_p, safe_q = _cases(p, q)
    end = (safe_q == np.inf) & (safe_p < np.inf)
    finite_p, finite_q = jnp.where(end, 0, safe_p), jnp.where(end, 1, safe_q)
    by_p = jnp.where(both, _log_of_quotient(safe_p, safe_q), jnp.where(none, -1, 0))
    return by_p, jnp.where(both, _relative_gap(finite_p, finite_q), jnp.where(none, 1, 0))


_kl_div.defjvps(lambda t, out, p, q: _kl_div_slopes(p, q)[0] * t, lambda t, out, p, q: _kl_div_slopes(p, q)[1] * t)


@jit_when_eager()
def rel_entr(p: Any, q: Any) -> Any:
    """p log(p / q) for positive p and q, 0 for p = 0 and q >= 0, else infinite; right to 3 units in the last place.

    >>> float(rel_entr(1.0, 1.0))
    0.0
    """
    return _halves_in_float32(_rel_entr)(*floats("rel_entr", p, q))


@jit_when_eager()
def kl_div(p: Any, q: Any) -> Any:
    """p log(p / q) - p + q, with the special values of rel_entr; right to 6 units in the last place, next to p = q, too.

    >>> float(kl_div(1.0, 1.0))
    0.0
    """
    return _halves_in_float32(_kl_div)(*floats("kl_div", p, q))
