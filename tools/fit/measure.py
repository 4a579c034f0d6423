"""How many units in the last place a result is off, samples to look at, and references of higher precision."""
from __future__ import annotations

from collections.abc import Callable

import mpmath as mp
import numpy as np
from scipy import special

from numjet.cpu import mathlib
from numjet.cpu.ir.nodes import MATH, Function
from numjet.cpu.native_code import jit
from tests.cpu.loops import execute, loads, map_function, prepared

LONG = np.longdouble


def expansion(op: str, dtype: np.dtype, size: int, exponents: bool | None = None) -> Function:
    """A program that maps the expansion of `op` over arrays; exponents: see `mathlib.expand`, default: as this machine has."""
    exponents = jit.host().exponents if exponents is None else exponents
    count = MATH[op]
    return map_function(f"expansion_of_{op}", [(dtype, size)] * count, dtype, size,
                        lambda e, i, *xs: mathlib.expand(e, op, *loads(e, xs, i), exponents=exponents), modes=("vector",))


def compiled(op: str, dtype: np.dtype, size: int) -> Callable[..., np.ndarray]:
    """The expansion of `op` on arrays of one size, compiled once."""
    run = prepared(expansion(op, dtype, size))
    return lambda *args: run(args).outputs[0]


def evaluate(op: str, *args: np.ndarray) -> np.ndarray:
    """The expansion of `op` as machine code."""
    return execute(expansion(op, args[0].dtype, len(args[0])), args).outputs[0]


def ulps(got: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Distance of `got` from a reference of higher precision, in units of the last place of got's type there.

    NaN against NaN is 0, NaN against a number infinite; infinity stands for the power of two beyond the largest number.
    """
    info = np.finfo(got.dtype)
    limit = np.ldexp(reference.dtype.type(1), info.maxexp)
    with np.errstate(all="ignore"):
        clipped = np.clip(reference, -limit, limit)
        wide = np.clip(got.astype(reference.dtype), -limit, limit)
        _, exponent = np.frexp(clipped)
        exponent = np.clip(exponent, info.minexp + 1, info.maxexp)
        distance = np.ldexp(np.abs(wide - clipped), info.nmant + 1 - exponent).astype(np.float64)
    both = np.isnan(got) & np.isnan(reference)
    either = np.isnan(got) | np.isnan(reference)
    return np.where(both, 0.0, np.where(either, np.inf, distance))


def bit_patterns(dtype: np.dtype, count: int, seed: int = 0) -> np.ndarray:
    """`count` floats spread evenly over all bit patterns, one at random from each of `count` strata."""
    dtype = np.dtype(dtype)
    bits = 8 * dtype.itemsize
    stratum = 2**bits // count
    random = np.random.default_rng(seed)
    starts = np.arange(count, dtype=np.uint64) * np.uint64(stratum)
    picked = starts + random.integers(0, stratum, count, dtype=np.uint64)
    return picked.astype(f"uint{bits}").view(dtype)


def uniform(dtype: np.dtype, lo: float, hi: float, count: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).uniform(lo, hi, count).astype(dtype)


def _logistic(x: np.ndarray) -> np.ndarray:
    e = np.exp(-np.abs(x))
    return np.where(x < 0, e, 1) / (1 + e)


def _atanh(x: np.ndarray) -> np.ndarray:
    return np.copysign(np.log1p(2 * np.abs(x) / (1 - np.abs(x))) / 2, x)


WIDE: dict[str, Callable[..., np.ndarray]] = {
    "exp": np.exp, "exp2": np.exp2, "expm1": np.expm1, "log": np.log, "log1p": np.log1p, "log2": np.log2, "sin": np.sin,
    "cos": np.cos, "tan": np.tan, "asin": np.arcsin, "acos": np.arccos, "atan": np.arctan, "sinh": np.sinh,
    "cosh": np.cosh, "tanh": np.tanh, "asinh": np.arcsinh, "acosh": np.arccosh, "atanh": np.arctanh,
    "atan2": np.arctan2, "pow": np.power, "hypot": np.hypot, "cbrt": np.cbrt, "rsqrt": lambda x: 1 / np.sqrt(x),
    "logistic": _logistic,
}
SPECIAL: dict[str, Callable[..., np.ndarray]] = {
    "erf": special.erf, "erfc": special.erfc, "erf_inv": special.erfinv, "digamma": special.psi,
    "lgamma": special.gammaln,
}
EXACT: dict[str, Callable[..., mp.mpf]] = {
    "erf": mp.erf, "erf_inv": mp.erfinv, "digamma": mp.digamma,
    "erfc": lambda x: mp.erfc(min(x, 200)),  # beyond, 0 in every float; mpmath without gmpy2 overflows there
    "lgamma": lambda x: mp.re(mp.loggamma(x)),
}


_ALL: dict[str, Callable[..., mp.mpf]] = {
    **EXACT, **{op: getattr(mp, op) for op in (
        "exp", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh",
        "atanh")},
    "exp2": lambda x: mp.power(2, x), "log2": lambda x: mp.log(x) / mp.ln2, "rsqrt": lambda x: 1 / mp.sqrt(x),
    "cbrt": lambda x: mp.sign(x) * mp.cbrt(abs(x)), "logistic": lambda x: 1 / (1 + mp.exp(-x)),
}


def errors(op: str, x: np.ndarray, got: np.ndarray, exact: bool = False) -> np.ndarray:
    """The errors of results in units of the last place, against a quick reference or one by mpmath.

    Where float64 lgamma and digamma of negative operands have roots between the poles, a unit is 2**-51 of a result of 1.
    """
    expected = reference(op, x)
    if exact:
        expected = np.array([_exactly(op, float(v), e) for v, e in zip(x, expected, strict=True)], LONG)
    error = ulps(got, expected)
    if op in ("lgamma", "digamma") and x.dtype == np.float64:
        unit = np.finfo(np.float64).eps * 2 * np.maximum(1, np.abs(expected))
        with np.errstate(invalid="ignore"):
            rooted = (x < 0) & np.isfinite(got) & np.isfinite(expected)
            error = np.where(rooted, (np.abs(got - expected) / unit).astype(np.float64), error)
    return error


def _exactly(op: str, x: float, quick: np.floating) -> np.longdouble:
    """f(x) by mpmath, in long double; the quick reference where it is no ordinary number or mpmath has no value."""
    if not np.isfinite(x) or not np.isfinite(quick) or quick == 0:
        return LONG(quick)
    with mp.workprec(200):
        try:
            value = _ALL[op](mp.mpf(x))
        except (ValueError, ZeroDivisionError):
            return LONG(quick)
    high = float(value)
    return LONG(high) + LONG(float(value - mp.mpf(high))) if np.isfinite(high) and high else LONG(quick)


def reference(op: str, *args: np.ndarray) -> np.ndarray:
    """The function in float64 for float32 operands, in long double or by mpmath for float64 operands."""
    with np.errstate(all="ignore"):
        if op in SPECIAL:
            return _special(op, args[0])
        wide = np.float64 if args[0].dtype == np.float32 else LONG
        return WIDE[op](*[a.astype(wide) for a in args])


TINY, HUGE = 1e-10, 1e5   # of operands whose gamma functions have a formula that is right to more than float64


def _quick_special(op: str, x: np.ndarray) -> np.ndarray:
    """The library's function; for operands of lgamma and digamma that are all tiny, all huge, or all poles what is quicker:
    the first terms of a series (M. Abramowitz and I. Stegun, 6.1.33, 6.1.41, 6.3.14, 6.3.18)."""
    first = op == "lgamma"
    if (first or op == "digamma") and np.all((x != 0) & np.isfinite(x)):
        if np.abs(x).max() < TINY:
            return -np.log(np.abs(x)) - np.euler_gamma * x if first else -1 / x - np.euler_gamma
        if x.min() > HUGE:
            log, inverse = np.log(x), 1 / x
            return (x - 0.5) * log - x + np.log(2 * np.pi) / 2 + inverse / 12 if first else log - inverse * (0.5 + inverse / 12)
        if x.max() <= -2.0**53 or (x.max() <= -2.0**23 and np.all(x == np.rint(x))):
            return np.full_like(x, np.inf if first else np.nan)
    return SPECIAL[op](x)


def _special(op: str, x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    value = _quick_special(op, wide) if x.dtype == np.float32 else np.array([_exact(op, v) for v in wide.tolist()], LONG)
    if op == "lgamma":
        return np.where(x == -np.inf, np.inf, value)  # C99; SciPy says -inf
    if op == "digamma":
        return np.where(x == 0, np.nan, value)  # zero is a pole like the negative integers, as in JAX
    return np.where(x == 0, x, value) if op in ("erf", "erf_inv") else value  # the libraries drop the sign of zero


def _exact(op: str, x: float) -> np.longdouble:
    if not np.isfinite(x):
        return LONG(SPECIAL[op](x))
    with mp.workprec(160):
        try:
            value = EXACT[op](mp.mpf(x))
        except ValueError:  # a pole
            return LONG(SPECIAL[op](x))
    high = float(value)
    return LONG(high) if not np.isfinite(high) else LONG(high) + LONG(float(value - mp.mpf(high)))
