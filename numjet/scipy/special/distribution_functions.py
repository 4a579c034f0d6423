"""Distribution functions under Cephes's names, from incomplete gamma and beta functions and their inverses."""
from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.control.loops.while_loop import fori_loop
from numjet.lax.elementwise import special
from numjet.lax.elementwise.beta_expansion import normal_correction
from numjet.scipy.special.fixed_orders import fixed_orders, wide
from numjet.scipy.special.gamma_family import betaln, floats
from numjet.scipy.special.horner import horner
from numjet.scipy.special.probability import log_ndtr, ndtr, ndtri
from numjet.scipy.special.quantiles import (
    beta_logit,
    betainccinv,
    betaincinv,
    gammainccinv,
    gammaincinv,
)
from numjet.scipy.special.student_degrees import slope_of_log_share, slope_of_quantile, slope_of_share
from numjet.scipy.special.wide_evaluation import smooth_in_64_bits


def _beta(a: Any, b: Any, x: Any, inside: Any) -> Any:
    """betainc where the parameters are in its domain, else NaN."""
    out = special.betainc(jnp.where(inside, a, 1), jnp.where(inside, b, 1), jnp.where(inside, x, 0.5))
    return jnp.where(inside, out, jnp.nan)


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """1 - betainc(a, b, x), precise where it is small.

    >>> float(betaincc(1.0, 1.0, 0.25))
    0.75
    """
    return special.betaincc(*floats("betaincc", a, b, x))


def _complement(a: Any, b: Any, x: Any, rest: Any) -> Any:
    """1 - I_x(a, b) for x + rest = 1: by rest where the difference would cancel."""
    below = special.betainc(a, b, x)
    return jnp.where(below < 0.9, 1 - below, special.betainc(b, a, rest))


# ------------------------------------------------------------------------------------------- counts

def bdtr(k: Any, n: Any, p: Any) -> Any:
    """The probability of at most floor(k) successes in n trials of probability p; NaN outside of 0 <= k <= n, 0 <= p <= 1.

    Derivatives to p.

    >>> float(bdtr(1, 2, 0.5))
    0.75
    """
    k, n, p = floats("bdtr", k, n, p)
    k = jnp.floor(k)
    inside = (k >= 0) & (n >= k) & (p >= 0) & (p <= 1)
    whole = inside & (k == n)
    return jnp.where(whole, 1, _beta(jnp.where(whole, 1, n - k), k + 1, 1 - p, inside))


def bdtrc(k: Any, n: Any, p: Any) -> Any:
    """The probability of more than floor(k) successes in n trials; as bdtr, 1 for negative k.

    >>> float(bdtrc(1, 2, 0.5))
    0.25
    """
    k, n, p = floats("bdtrc", k, n, p)
    k = jnp.floor(k)
    inside = (n >= k) & (p >= 0) & (p <= 1)
    whole, all_of = inside & (k == n), inside & (k < 0)
    found = _beta(jnp.where(whole | all_of, 1, k + 1), jnp.where(whole, 1, n - k), p, inside)
    return jnp.where(whole, 0, jnp.where(all_of, 1, found))


def bdtri(k: Any, n: Any, y: Any) -> Any:
    """The p with bdtr(k, n, p) = y.

    >>> round(float(bdtri(1, 2, 0.75)), 4)
    0.5
    """
    k, n, y = floats("bdtri", k, n, y)
    k = jnp.floor(k)
    inside = (k >= 0) & (n > k)
    return jnp.where(inside, betainccinv(jnp.where(inside, k + 1, 1), jnp.where(inside, n - k, 1), y), jnp.nan)


def nbdtr(k: Any, n: Any, p: Any) -> Any:
    """The probability of at most floor(k) failures before the n-th success; NaN outside of k >= 0, 0 <= p <= 1.

    >>> float(nbdtr(1, 1, 0.5))
    0.75
    """
    k, n, p = floats("nbdtr", k, n, p)
    k = jnp.floor(k)
    return _beta(n, k + 1, p, (k >= 0) & (n > 0) & (p >= 0) & (p <= 1))


def nbdtrc(k: Any, n: Any, p: Any) -> Any:
    """1 - nbdtr(k, n, p), precise where it is small.

    >>> float(nbdtrc(1, 1, 0.5))
    0.25
    """
    k, n, p = floats("nbdtrc", k, n, p)
    k = jnp.floor(k)
    return _beta(k + 1, n, 1 - p, (k >= 0) & (n > 0) & (p >= 0) & (p <= 1))


def nbdtri(k: Any, n: Any, y: Any) -> Any:
    """The p with nbdtr(k, n, p) = y.

    >>> round(float(nbdtri(1, 1, 0.75)), 4)
    0.5
    """
    k, n, y = floats("nbdtri", k, n, y)
    k = jnp.floor(k)
    inside = (k >= 0) & (n > 0)
    return jnp.where(inside, betaincinv(jnp.where(inside, n, 1), jnp.where(inside, k + 1, 1), y), jnp.nan)


def pdtr(k: Any, m: Any) -> Any:
    """The probability of at most floor(k) events of a Poisson variable with mean m; NaN for negative k or m.

    >>> round(float(pdtr(1, 1.0)), 4)
    0.7358
    """
    k, m = floats("pdtr", k, m)
    return jnp.where((k < 0) | (m < 0), jnp.nan, special.igammac(jnp.floor(jnp.maximum(k, 0)) + 1, jnp.maximum(m, 0)))


def pdtrc(k: Any, m: Any) -> Any:
    """1 - pdtr(k, m), precise where it is small.

    >>> round(float(pdtrc(1, 1.0)), 4)
    0.2642
    """
    k, m = floats("pdtrc", k, m)
    return jnp.where((k < 0) | (m < 0), jnp.nan, special.igamma(jnp.floor(jnp.maximum(k, 0)) + 1, jnp.maximum(m, 0)))


def pdtri(k: Any, y: Any) -> Any:
    """The mean m with pdtr(k, m) = y.

    >>> round(float(pdtri(1, 0.5)), 4)
    1.6783
    """
    k, y = floats("pdtri", k, y)
    return jnp.where(k < 0, jnp.nan, gammainccinv(jnp.floor(jnp.maximum(k, 0)) + 1, y))


# ------------------------------------------------------------------------------------------- the gamma family

def chdtr(v: Any, x: Any) -> Any:
    """The chi-square distribution function with v degrees of freedom.

    >>> round(float(chdtr(2.0, 1.0)), 4)
    0.3935
    """
    v, x = floats("chdtr", v, x)
    return special.igamma(0.5 * v, 0.5 * x)


def chdtrc(v: Any, x: Any) -> Any:
    """1 - chdtr(v, x), precise where it is small; NaN for negative x.

    >>> round(float(chdtrc(2.0, 1.0)), 4)
    0.6065
    """
    v, x = floats("chdtrc", v, x)
    return special.igammac(0.5 * v, 0.5 * x)


def chdtri(v: Any, p: Any) -> Any:
    """The x with chdtrc(v, x) = p. At v = 0, where x = 0 has all probability: inf for p = 0, 0 for p = 1, else NaN.

    >>> round(float(chdtri(2.0, 0.5)), 4)
    1.3863
    """
    v, p = floats("chdtri", v, p)
    ends = (v == 0) & ((p == 0) | (p == 1))
    return jnp.where(ends, jnp.where(p == 0, jnp.inf, 0), 2 * gammainccinv(0.5 * jnp.where(ends, 1, v), p))


def gdtr(a: Any, b: Any, x: Any) -> Any:
    """The gamma distribution function with rate a and shape b; NaN for negative x.

    >>> round(float(gdtr(1.0, 2.0, 1.0)), 4)
    0.2642
    """
    a, b, x = floats("gdtr", a, b, x)
    return jnp.where(x < 0, jnp.nan, special.igamma(b, a * jnp.maximum(x, 0)))


def gdtrc(a: Any, b: Any, x: Any) -> Any:
    """1 - gdtr(a, b, x), precise where it is small.

    >>> round(float(gdtrc(1.0, 2.0, 1.0)), 4)
    0.7358
    """
    a, b, x = floats("gdtrc", a, b, x)
    return jnp.where(x < 0, jnp.nan, special.igammac(b, a * jnp.maximum(x, 0)))


def gdtrix(a: Any, b: Any, p: Any) -> Any:
    """The x with gdtr(a, b, x) = p.

    >>> round(float(gdtrix(1.0, 2.0, 0.5)), 4)
    1.6783
    """
    a, b, p = floats("gdtrix", a, b, p)
    return gammaincinv(b, p) / a


def gdtria(p: Any, b: Any, x: Any) -> Any:
    """The rate a with gdtr(a, b, x) = p.

    >>> round(float(gdtria(0.5, 2.0, 1.0)), 4)
    1.6783
    """
    p, b, x = floats("gdtria", p, b, x)
    return gammaincinv(b, p) / x


# ------------------------------------------------------------------------------------------- F and Student's t

_MANY_OF_F = {4: 3e4, 8: 1e7}      # size of the float: least half of dfn dfd / (dfn + dfd) for the expansion
_NOTHING_BEYOND = 40.0              # the normal deviate from which on a tail is 0 in 64 bits
_PHI = [(-1) ** k / (k + 2) for k in range(9)]      # of (u - log(1 + u)) / u**2


def _f_by_normal(dfn: Any, dfd: Any, x: Any, side: int) -> Any:
    """The share of F below x (side 1) or above (-1) by the expansion of the incomplete beta function around the normal
    distribution. The deviate z comes from x - 1, which is exact next to 1, where the share dfn x / (dfd + dfn x) has been
    rounded: z is right to some units in the last place, a tail to z² of them. The deviate is an analytic function of x - 1, and
    so are the derivatives."""
    swapped, least = dfn > dfd, jnp.minimum(dfn, dfd)
    ratio = least / jnp.maximum(dfn, dfd)
    limit = _NOTHING_BEYOND * jnp.sqrt(2 / least / (1 + ratio))
    held = jnp.minimum(x, 4)                                  # above, beyond the limit in any case
    u = jnp.clip((x - 1) / jnp.where(swapped, -ratio - held, 1 + held * ratio), -limit, limit)
    size = u * jnp.sqrt(least * (horner(_PHI, u) + ratio * horner(_PHI, -u * ratio)))
    z = jnp.where(swapped, -size, size)
    correction = normal_correction(z, 0.5 * dfn, 0.5 * dfd, jnp.sqrt(2 / dfn + 2 / dfd))
    return ndtr(side * z) - side * correction * jnp.exp(-0.5 * z * z) * (1 / math.sqrt(2 * math.pi))


def _f_share(side: int, of_few: Callable[[Any, Any, Any], Any], dfn: Any, dfd: Any, x: Any) -> Any:
    """By the expansion for many degrees of freedom, else by `of_few`; NaN outside of the domain."""
    inside = (dfn > 0) & (dfd > 0) & jnp.isfinite(dfn + dfd) & (x >= 0)
    few_n, few_d, x = jnp.where(inside, dfn, 1), jnp.where(inside, dfd, 1), jnp.where(inside, x, 1)
    many = few_d >= 2 * _MANY_OF_F.get(x.dtype.itemsize, math.inf) * (1 + few_d / few_n)
    found = jnp.where(many, _f_by_normal(jnp.where(many, few_n, 1e8), jnp.where(many, few_d, 1e8), x, side),
                      of_few(jnp.where(many, 1, few_n), jnp.where(many, 1, few_d), x))
    return jnp.where(inside, found, jnp.nan)


def _f_below(dfn: Any, dfd: Any, x: Any) -> Any:
    share = dfn * x
    finite = jnp.where(jnp.isinf(share), 1, share)
    return special.betainc(0.5 * dfn, 0.5 * dfd, jnp.where(jnp.isinf(share), 1, finite / (dfd + finite)))


def _f_above(dfn: Any, dfd: Any, x: Any) -> Any:
    share = dfn * x
    finite = jnp.where(jnp.isinf(share), 1, share)
    found = _complement(0.5 * dfn, 0.5 * dfd, finite / (dfd + finite), dfd / (dfd + finite))
    return jnp.where(jnp.isinf(share), 0, found)


def fdtr(dfn: Any, dfd: Any, x: Any) -> Any:
    """The F distribution function with dfn and dfd degrees of freedom; NaN for negative x and infinite degrees.

    >>> round(float(fdtr(2.0, 3.0, 1.0)), 4)
    0.5352
    """
    return _f_share(1, _f_below, *floats("fdtr", dfn, dfd, x))


def fdtrc(dfn: Any, dfd: Any, x: Any) -> Any:
    """1 - fdtr(dfn, dfd, x), precise where it is small.

    >>> round(float(fdtrc(2.0, 3.0, 1.0)), 4)
    0.4648
    """
    return _f_share(-1, _f_above, *floats("fdtrc", dfn, dfd, x))


def fdtri(dfn: Any, dfd: Any, p: Any) -> Any:
    """The x with fdtr(dfn, dfd, x) = p.

    >>> round(float(fdtri(2.0, 3.0, 0.5)), 4)
    0.8811
    """
    dfn, dfd, p = floats("fdtri", dfn, dfd, p)
    return (dfd / dfn * jnp.exp(beta_logit(*wide(0.5 * dfn, 0.5 * dfd, p)))).astype(p.dtype)


_MANY = 1e5            # degrees of freedom from which on the expansions in their inverse are exact to the last places
_LIKE_NORMAL = 1e30    # beyond, the expansions' further terms vanish
_FAR = 1e30            # arguments whose power law is exact to the last places for fewer degrees of freedom


def _t_as_normal(df: Any, t: Any) -> Any:
    """The normal deviate of Student's distribution for df >= _MANY: an expansion in 1 / df. The next term is below 1e-17
    of it for sizes up to 100 (G. W. Hill, "Student's t-distribution", Communications of the ACM 13, 1970, algorithm 395)."""
    df = jnp.clip(df, _MANY, _LIKE_NORMAL)
    a = df - 0.5
    b = 48 * a * a
    y = a * jnp.log1p(jnp.square(jnp.minimum(jnp.abs(t), _FAR)) / df)
    z = (((((-0.4 * y - 3.3) * y - 24) * y - 85.5) / (0.8 * y * y + 100 + b) + y + 3) / b + 1) * jnp.sqrt(y)
    return jnp.where(t < 0, -z, z)


def _t_power_law(df: Any) -> Any:
    """The logarithm of c in the tail of Student's distribution, c * exp(-df * log(t)), for large t."""
    return 0.5 * df * jnp.log(df) - jnp.log(df) - betaln(0.5 * df, jnp.full_like(df, 0.5))


def _log_where(far: Any, t: Any) -> Any:
    return jnp.log(jnp.where(far, jnp.abs(t), 1))


def _t_of_few(df: Any, t: Any) -> Any:
    far = jnp.abs(t) > _FAR                               # their squares overflow
    square = jnp.square(jnp.where(far, 1, t))
    tail = 0.5 * special.betainc(0.5 * df, jnp.full_like(df, 0.5), df / (df + square))
    tail = jnp.where(far, jnp.exp(_t_power_law(df) - df * _log_where(far, t)), tail)
    near = (square < df) & ~far
    middle = 0.5 * special.betainc(jnp.full_like(df, 0.5), 0.5 * df, jnp.where(near, square / (df + square), 0.5))
    out = jnp.where(near, 0.5 + jnp.sign(t) * middle, jnp.where(t < 0, tail, 1 - tail))
    return jnp.where((t < 0) & near & (middle > 0.4), tail, out)


def _t_value(df: Any, t: Any) -> Any:
    many = df >= _MANY
    out = jnp.where(many, ndtr(_t_as_normal(df, t)), _t_of_few(jnp.where(many, 1, df), t))
    return jnp.where((df > 0) & ~jnp.isnan(t), out, jnp.nan)


def _t_density(df: Any, t: Any) -> Any:
    df = jnp.minimum(df, _LIKE_NORMAL)
    far = (jnp.abs(t) > _FAR) & (df < _MANY)
    near = jnp.exp(-0.5 * (df + 1) * jnp.log1p(jnp.square(jnp.where(far, 1, t)) / df)
                   - 0.5 * jnp.log(df) - betaln(0.5 * df, jnp.full_like(df, 0.5)))
    few = jnp.where(far, df, 1)
    return jnp.where(far, jnp.exp(_t_power_law(few) + jnp.log(few) - (few + 1) * _log_where(far, t)), near)


_stdtr = fixed_orders("stdtr", _t_value, lambda out, df, t: _t_density(df, t), slope_of_share)


def stdtr(df: Any, t: Any) -> Any:
    """Student's t distribution function with df > 0 degrees of freedom (NaN for others).

    Derivatives of any order to both.

    >>> float(stdtr(3.0, 0.0))
    0.5
    """
    df, t = floats("stdtr", df, t)
    return _stdtr(*wide(df, t)).astype(t.dtype)


def _log_t_tail(df: Any, t: Any) -> Any:
    """The logarithm of Student's distribution function for t < 0, of many degrees of freedom by the normal one."""
    many = (df >= _MANY) & ((t > -100) | (df > 1e9))
    few = jnp.where(many, 1, df)
    far = jnp.abs(t) > _FAR
    square = jnp.square(jnp.where(far, 1, t))
    tail = special.log_betainc(0.5 * few, jnp.full_like(few, 0.5), few / (few + square)) - math.log(2)
    tail = jnp.where(far, _t_power_law(few) - few * _log_where(far, t), tail)
    return jnp.where(t == -jnp.inf, t, jnp.where(many, log_ndtr(_t_as_normal(df, t)), tail))


def _log_t_value(df: Any, t: Any) -> Any:
    tail = t < -1
    out = jnp.where(tail, _log_t_tail(df, jnp.where(tail, t, -1)), jnp.log1p(-_t_value(df, jnp.where(tail, 1, -t))))
    return jnp.where((df > 0) & ~jnp.isnan(t), out, jnp.nan)


def _log_t_slope(out: Any, df: Any, t: Any) -> Any:
    """The density divided by the distribution function; where the difference of logarithms would cancel, the leading term:
    df / |t| in the power law of the far tail, and for many degrees of freedom the slope of the density's logarithm."""
    df = jnp.minimum(df, _LIKE_NORMAL)
    steep, power = (t < -1e4) & (df > 1e8), (t < -_FAR) & (df <= 1e8)
    inner = jnp.where(steep | power, -1, jnp.clip(t, -_FAR, _FAR))
    log_density = (-0.5 * (df + 1) * jnp.log1p(jnp.square(inner) / df)
                   - 0.5 * jnp.log(df) - betaln(0.5 * df, jnp.full_like(df, 0.5)))
    slope = jnp.exp(log_density - jnp.where(steep | power, 0, out))
    size = jnp.where(steep | power, jnp.abs(t), 1)
    return jnp.where(power, df / size, jnp.where(steep, (df + 1) / (df / size + size), slope))


_log_stdtr = fixed_orders("log_stdtr", _log_t_value, _log_t_slope, slope_of_log_share)


def log_stdtr(df: Any, t: Any) -> Any:
    """The logarithm of stdtr, also where stdtr underflows or is next to 1; derivatives as there.

    >>> round(float(log_stdtr(3.0, -1e20)), 3)
    -138.057
    """
    df, t = floats("log_stdtr", df, t)
    return _log_stdtr(*wide(df, t)).astype(t.dtype)


def _t_quantile(df: Any, p: Any) -> Any:
    fine = (df > 0) & (p > 0) & (p < 1)
    df, p = jnp.where(fine, df, 1), jnp.where(fine, p, 0.25)
    small = jnp.minimum(p, 1 - p)
    tail = small < 0.25
    half, both = jnp.full_like(df, 0.5), 0.5 * df
    logit = beta_logit(jnp.where(tail, both, half), jnp.where(tail, half, both), jnp.where(tail, 2 * small, jnp.abs(1 - 2 * p)))
    out = jnp.sqrt(df) * jnp.exp(jnp.where(tail, -0.5, 0.5) * logit)
    power = (_t_power_law(df) - jnp.log(small)) / df
    out = jnp.where(power > math.log(_FAR), jnp.exp(power), out)
    return jnp.where(fine, jnp.where(p < 0.5, -out, out), jnp.nan)


def _t_quantile_by_normal(df: Any, p: Any) -> Any:
    """Student's quantile for df >= _MANY: the normal one, z, and the Cornish-Fisher expansion in 1 / df (Abramowitz and Stegun,
    26.7.5). The next term is below 1e-13 of the result."""
    z, n = ndtri(jnp.clip(p, 1e-300, 1)), 4 * jnp.clip(df, _MANY, _LIKE_NORMAL)
    y = z * z
    terms = ((79 * y + 776) * y + 1482) * y * y - (1920 * y + 945)
    terms = ((3 * y + 19) * y + 17) * y - 15 + terms / (60 * n)
    terms = (5 * y + 16) * y + 3 + terms / n
    return z + z * (y + 1 + terms / (6 * n)) / n


def _stdtrit_value(df: Any, p: Any) -> Any:
    many = df >= _MANY
    inner = jnp.where((p > 0) & (p < 1), p, 0.5)
    found = jnp.where(p == inner, _t_quantile_by_normal(df, inner), jnp.nan)
    out = jnp.where(many, found, _t_quantile(jnp.where(many, 1, df), p))
    return jnp.where((p == 0) & (df > 0), -jnp.inf, jnp.where((p == 1) & (df > 0), jnp.inf, out))


_stdtrit = fixed_orders("stdtrit", _stdtrit_value, lambda out, df, p: 1 / _t_density(df, out), slope_of_quantile)


def stdtrit(df: Any, p: Any) -> Any:
    """The t with stdtr(df, t) = p: Student's quantile function. Derivatives to both.

    >>> round(float(stdtrit(3.0, 0.975)), 4)
    3.1824
    """
    df, p = floats("stdtrit", df, p)
    return _stdtrit(*wide(df, p)).astype(p.dtype)


# ------------------------------------------------------------------------------------------- the normal family

def nrdtrimn(p: Any, std: Any, x: Any) -> Any:
    """The mean of a normal distribution of which x is the p-quantile; NaN for std <= 0.

    >>> float(nrdtrimn(0.5, 2.0, 1.0))
    1.0
    """
    p, std, x = floats("nrdtrimn", p, std, x)
    return jnp.where((std > 0) & (p > 0) & (p < 1), x - std * ndtri(p), jnp.nan)


def nrdtrisd(mn: Any, p: Any, x: Any) -> Any:
    """The standard deviation of a normal distribution with mean mn of which x is the p-quantile.

    >>> round(float(nrdtrisd(0.0, 0.975, 1.96)), 3)
    1.0
    """
    mn, p, x = floats("nrdtrisd", mn, p, x)
    return (x - mn) / ndtri(p)


_LAST_LOG = 1e20       # from here on log(-y) / y is below eps


@custom_jvp
def _ndtri_exp(y: Any) -> Any:
    """Newton's method on log_ndtr from the first terms of its expansion; far out -sqrt(-2 y) alone."""
    far_out = (y < -_LAST_LOG) & (y > -jnp.inf)
    fine = (y < 0) & (y >= -_LAST_LOG)
    safe = jnp.where(fine, y, -1)
    tail = safe < -2
    root = jnp.sqrt(-2 * jnp.where(tail, safe, -2))
    near = ndtri(jnp.exp(jnp.where(tail, -1, safe)))
    far = -root + jnp.log(root * math.sqrt(2 * math.pi)) / root
    # x as the quantile of 1 - exp(y) where exp(y) is nearly 1
    high = safe > -0.1
    near = jnp.where(high, -ndtri(-jnp.expm1(jnp.where(high, safe, -1))), near)

    def step(_: Any, x: Any) -> Any:
        log = log_ndtr(x)
        slope = jnp.exp(-0.5 * x * x - 0.5 * math.log(2 * math.pi) - log)
        return x - (log - safe) / slope

    polished = fori_loop(0, 6, step, jnp.where(tail, far, -2))
    out = jnp.where(tail, polished, near)
    out = jnp.where(far_out, -math.sqrt(2) * jnp.sqrt(jnp.where(far_out, -y, 1)), out)
    return jnp.where(fine | far_out, out, jnp.where(y == 0, jnp.inf, jnp.where(y == -jnp.inf, -jnp.inf, jnp.nan)))


def _ndtri_exp_slope(y: Any, out: Any) -> Any:
    far = y < -_LAST_LOG
    near = jnp.where(far, 0, out)
    inside = jnp.exp(jnp.where(far, 0, y) + 0.5 * near * near + 0.5 * math.log(2 * math.pi))
    return jnp.where(far, -1 / jnp.where(far, out, 1), inside)


_ndtri_exp.defjvps(lambda t, out, y: t * _ndtri_exp_slope(y, out))


@jit_when_eager()
def ndtri_exp(y: Any) -> Any:
    """The inverse of log_ndtr: the x with log_ndtr(x) = y; NaN for y > 0.

    >>> round(float(ndtri_exp(-1000.0)), 3)
    -44.616
    """
    (y,) = floats("ndtri_exp", y)
    return smooth_in_64_bits(_ndtri_exp)(y)


@custom_jvp
def _erfcinv(y: Any) -> Any:
    return -math.sqrt(0.5) * ndtri(0.5 * y)


_erfcinv.defjvps(lambda t, out, y: -t * 0.5 * math.sqrt(math.pi) * jnp.exp(out * out))


def erfcinv(y: Any) -> Any:
    """The inverse of erfc on [0, 2]; NaN outside.

    >>> round(float(erfcinv(0.5)), 4)
    0.4769
    """
    (y,) = floats("erfcinv", y)
    return _erfcinv(*wide(y)).astype(y.dtype)


_KOLMOGOROV_TERMS = 8


def kolmogorov(y: Any) -> Any:
    """Kolmogorov's distribution: the limit of the probability that sqrt(n) times the largest deviation exceeds y.

    Two theta series, one for each side of 1. Derivatives of any order.

    >>> round(float(kolmogorov(1.0)), 4)
    0.27
    """
    return _kolmogorov(floats("kolmogorov", y)[0])


@smooth_in_64_bits
def _kolmogorov(y: Any) -> Any:
    near = y < 1
    small, large = jnp.where(near & (y > 0.04), y, 0.5), jnp.where(near, 2, y)
    terms = [jnp.exp(-((2 * k - 1) * math.pi) ** 2 / (8 * small * small)) for k in range(1, _KOLMOGOROV_TERMS)]
    below = 1 - math.sqrt(2 * math.pi) / small * sum(terms)
    above = 2 * sum((-1) ** (k - 1) * jnp.exp(-2 * k * k * large * large) for k in range(1, _KOLMOGOROV_TERMS))
    out = jnp.where(near, jnp.where(y > 0.04, below, 1), above)
    return jnp.where(jnp.isnan(y), jnp.nan, out)
