"""Special functions, elementwise: gamma, beta, error, Bessel and zeta functions."""
from __future__ import annotations

import functools
import math
from typing import Any

import numpy as np

from numjet.core.op import SCALARS, Missing, Op, Samples
from numjet.core.trace import aval_of
from numjet.core.traits import TRANSCENDENTAL
from numjet.foundation import dtypes
from numjet.lax.elementwise import gamma_slopes, incomplete_beta, incomplete_gamma, special_rules as rules
from numjet.lax.elementwise.arithmetic import add_p, div_p, mul_p, neg_p, sign_p, sqrt_p, square_p, sub_p
from numjet.lax.elementwise.compare import clamp_p, eq_p, gt_p, lt_p, min_p
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.elementwise.dual_numbers import derivative
from numjet.lax.elementwise.scipy_functions import (
    by_scipy,
    erfc_without_loss,
    gammaln_with_limits,
    odd,
    psi_by_reflection,
    scipy_special,
    zeta as zeta_by_scipy,
)
from numjet.lax.elementwise.special_loops import by_numpy, looped, looped_hlo
from numjet.lax.elementwise.transcendental import exp_p, log1p_p, log_p
from numjet.lax.operands import BINARY_SHAPES, FLOATS, UNARY_SHAPES, binary, ternary, where
from numjet.lax.templates import FLOAT, elementwise


def _builder_function(name: str, function: Any, jvp: Any, low: float, high: float) -> Op:
    """A record of a function of one operand that the scalar builder knows under the same name."""
    return elementwise(name, accepts=FLOAT, eager=by_scipy(function), jvp=jvp, cpu=lambda b, x: b.math(name, x),
                       hlo=SCALARS, function=name, traits=TRANSCENDENTAL,
                       samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, low=low, high=high, ulps=32))


def _looped_function(name: str, nargs: int, eager: Any, rule: Any, jvp: Any, low: float, high: float,
                     order: int = 1, wrt: Any = None, make: Any = None) -> Op:
    """A record whose cpu slot is a rule with loops (special_loops), so not one on scalars."""
    shapes = BINARY_SHAPES if nargs == 2 else tuple([s] * nargs for s in ((), (3,), (0, 2), (2, 3, 4)))
    return elementwise(name, nargs=nargs, accepts=FLOAT, eager=eager, jvp=jvp, cpu=looped(rule),
                       hlo=looped_hlo(rule), elementwise=False,
                       samples=Samples(shapes=shapes, dtypes=FLOATS, low=low, high=high, ulps=256, order=order, wrt=wrt,
                                       make=make))


def _refuse(message: str) -> Any:
    """A derivative that is not known."""
    def rule(*_: Any) -> Any:
        raise ValueError(message)
    return rule


# ------------------------------------------------------------------------------------------------ error functions

_ERF_END = 30.0   # exp(-x²) is 0 beyond in every dtype, and times x, which may be infinite, too


def _erf_slope(x: Any) -> Any:
    x = clamp_p(-_ERF_END, x, _ERF_END)
    return mul_p(exp_p.bind(neg_p.bind(square_p.bind(x))), 2 / math.sqrt(math.pi))


erf_p: Op = _builder_function("erf", "erf", lambda t, out, x: mul_p.bind(t, _erf_slope(x)), -3, 3)


def erf(x: Any) -> Any:
    """The error function 2 / sqrt(pi) times the integral of exp(-t²) from 0 to x, for floats.

    >>> erf(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return erf_p(x)


erfc_p: Op = _builder_function("erfc", erfc_without_loss, lambda t, out, x: neg_p.bind(mul_p.bind(t, _erf_slope(x))), -3, 3)


def erfc(x: Any) -> Any:
    """1 - erf(x), accurate where it is small.

    >>> erfc(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return erfc_p(x)


erf_inv_p: Op = _builder_function(
    "erf_inv", odd("erfinv"),
    lambda t, out, x: mul_p.bind(t, mul_p(exp_p.bind(square_p.bind(out)), math.sqrt(math.pi) / 2)), -0.9, 0.9)


def erf_inv(x: Any) -> Any:
    """The number whose erf is x; infinite at -1 and 1, NaN beyond.

    >>> erf_inv(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return erf_inv_p(x)


# ------------------------------------------------------------------------------------------------ gamma functions

lgamma_p: Op = _builder_function("lgamma", gammaln_with_limits, lambda t, out, x: mul_p.bind(t, digamma_p.bind(x)), 0.5, 9)


def lgamma(x: Any) -> Any:
    """log |Gamma(x)|; infinite at 0, -1, -2, ...

    >>> lgamma(1.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return lgamma_p(x)


digamma_p: Op = _builder_function("digamma", psi_by_reflection, lambda t, out, x: mul_p.bind(t, polygamma_p(1.0, x)), 0.5, 9)


def digamma(x: Any) -> Any:
    """The derivative of lgamma; NaN at 0, -1, -2, ...

    >>> digamma(1.0)
    Array(-0.5772157, dtype=float32, weak_type=True)
    """
    return digamma_p(x)


def _polygamma_orders(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    shapes = shapes if isinstance(shapes, list) else [shapes] * 2
    return [np.asarray(rng.integers(0, 4, shapes[0])).astype(dtype),
            np.asarray(rng.uniform(0.5, 5, shapes[1])).astype(dtype)]


def _polygamma_eager(n: np.ndarray, x: np.ndarray) -> np.ndarray:
    whole = (n == np.floor(n)) & (n >= 0) & (n < np.inf)
    wide = x.astype(np.float64)
    order = np.where(whole, n, 1).astype(np.float64)
    with np.errstate(all="ignore"):
        size = scipy_special.gamma(order + 1) * zeta_by_scipy(order + 1, wide)
    value = np.where(n == 0, psi_by_reflection(wide), np.where(order % 2 == 0, -size, size))
    return np.where(whole, value, np.nan).astype(x.dtype)


polygamma_p: Op = _looped_function(
    "polygamma", 2, _polygamma_eager, rules.polygamma,
    (_refuse("polygamma gradient with respect to m is not supported"),
     lambda t, out, m, x: mul_p.bind(t, polygamma_p.bind(add_p(m, 1.0), x))), 0.5, 5, order=2, wrt=(1,),
    make=_polygamma_orders)


def polygamma(m: Any, x: Any) -> Any:
    """The m-th derivative of digamma at x, for whole numbers m >= 0 given as floats; NaN for other m.

    Not differentiable with respect to m (ValueError).

    >>> polygamma(0.0, 1.0)
    Array(-0.5772157, dtype=float32, weak_type=True)
    """
    return binary(polygamma_p, m, x)


zeta_p: Op = _looped_function(
    "zeta", 2, by_scipy(zeta_by_scipy), rules.zeta,
    (_refuse("zeta gradient with respect to its first argument is not supported"),
     lambda t, out, s, q: neg_p.bind(mul_p.bind(t, mul_p.bind(s, zeta_p.bind(add_p(s, 1.0), q))))), 1.5, 6, order=2,
    wrt=(1,))


def zeta(x: Any, q: Any) -> Any:
    """Hurwitz's zeta function: the sum of (q + n)**-x over n = 0, 1, ..., for x > 1.

    Not differentiable with respect to x (ValueError).

    >>> zeta(2.0, 1.0)
    Array(1.644934, dtype=float32, weak_type=True)
    """
    return binary(zeta_p, x, q)


def _in_float32(slope: Any) -> Any:
    """A slope that of halves is computed in float32: logarithms of gamma functions overflow in them, and cancel."""
    @functools.wraps(slope)
    def wide(*xs: Any) -> Any:
        dtype = aval_of(xs[0]).dtype
        if dtype.itemsize > 2:
            return slope(*xs)
        out = slope(*(convert_element_type_p.bind(x, new_dtype=np.dtype(np.float32), weak_type=False) for x in xs))
        return convert_element_type_p.bind(out, new_dtype=dtype, weak_type=aval_of(xs[0]).weak_type)
    return wide


def _log_gamma_slope(a: Any, x: Any) -> Any:
    """The logarithm of x^(a - 1) e^-x / Gamma(a), which is -inf at infinity; x^0 is 1 at 0, too."""
    base = where(eq_p(x, math.inf), 1.0, where(eq_p(a, 1.0), where(eq_p(x, 0.0), 1.0, x), x))
    log = sub_p.bind(sub_p.bind(mul_p.bind(sub_p(a, 1.0), log_p.bind(base)), x), lgamma_p.bind(a))
    return where(eq_p(x, math.inf), -math.inf, log)


def _power_of_zero(z: Any, exponent: Any) -> Any:
    """z**exponent where z is 0, and exponent is not, with its first derivative to z there: as powers by 2 and 1, by a half and
    by -1, which need no logarithm."""
    root = where(gt_p(exponent, 0.0), where(lt_p(exponent, 1.0), z, 1.0), 1.0)
    small = where(gt_p(exponent, 0.0), sqrt_p.bind(root), math.inf)
    return where(gt_p(exponent, 1.0), 0.0, where(eq_p(exponent, 1.0), z, small))


@_in_float32
def _igamma_slope(a: Any, x: Any) -> Any:
    """The derivative by x; a power at 0, where its logarithm has no derivative."""
    at_0 = where(eq_p(a, 1.0), False, eq_p(x, 0.0))
    inside = exp_p.bind(_log_gamma_slope(a, where(at_0, 1.0, x)))
    power = _power_of_zero(where(at_0, x, 1.0), sub_p(where(at_0, a, 3.0), 1.0))
    return where(at_0, power, inside)    # for a = 2, too, where gamma(a) is 1


_MANY = 1e5    # SciPy's gammainc far below such parameters subtracts from 1: for 1e8, a fifth of it is wrong
_TINY = 1e-15  # parameters below which SciPy's gammainc loses log(a) units in the last place, also beyond 1
_FEWEST, _HUGE = 1e-300, 1e60   # between these parameters SciPy's quotients do not overflow


def _by_rule_where(wrong: Any, function: str, rule: Any) -> Any:
    """An eager rule: SciPy's function; where `wrong` of the operands says so, the rule of compiled programs."""
    by_rule = by_numpy(rule)

    def eager(*xs: np.ndarray) -> np.ndarray:
        here, out = wrong(*xs), getattr(scipy_special, function)(*xs)
        return np.where(here, by_rule(*(np.where(here, x, 0.5) for x in xs)), out) if np.any(here) else out
    return by_scipy(eager)


def _wrong_igamma(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    return (a > _MANY) & np.isfinite(a) & (x < a) | (a > 0) & (a < _TINY)


def _wrong_betainc(a: np.ndarray, b: np.ndarray, x: np.ndarray) -> np.ndarray:
    least, most = np.minimum(a, b), np.maximum(a, b)
    return (least > 0) & (most < np.inf) & ((least < _FEWEST) | (most > _HUGE))


igamma_p: Op = _looped_function(
    "igamma", 2, _by_rule_where(_wrong_igamma, "gammainc", incomplete_gamma.igamma), incomplete_gamma.igamma,
    (lambda t, out, a, x: mul_p.bind(t, igamma_grad_a_p.bind(a, x)),
     lambda t, out, a, x: mul_p.bind(t, _igamma_slope(a, x))), 0.3, 6)


def igamma(a: Any, x: Any) -> Any:
    """The regularized lower incomplete gamma function P(a, x), for a >= 0 and x >= 0, else NaN.

    >>> igamma(1.0, 0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return binary(igamma_p, a, x)


igammac_p: Op = _looped_function(
    "igammac", 2, _by_rule_where(lambda a, x: (a > 0) & (a < _FEWEST), "gammaincc", incomplete_gamma.igammac),
    incomplete_gamma.igammac,
    (lambda t, out, a, x: neg_p.bind(mul_p.bind(t, igamma_grad_a_p.bind(a, x))),
     lambda t, out, a, x: neg_p.bind(mul_p.bind(t, _igamma_slope(a, x)))), 0.3, 6)


def igammac(a: Any, x: Any) -> Any:
    """The regularized upper incomplete gamma function Q(a, x) = 1 - P(a, x), accurate where it is small.

    >>> igammac(1.0, 0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return binary(igammac_p, a, x)


def _slopes(name: str, rule: Any) -> tuple[Any, Any]:
    """The derivatives of a record by a and x, as records `name`_a and `name`_x."""
    def slope(position: int) -> Any:
        by = derivative(rule, position)
        op = _looped_function(f"{name}_{'ax'[position]}", 2, by_numpy(by), by,
                              Missing(f"second derivatives of {name}, third ones of igamma"), 0.3, 6, order=0)
        return lambda t, out, a, x: mul_p.bind(t, op.bind(a, x))
    return slope(0), slope(1)


igamma_grad_a_p: Op = _looped_function(
    "igamma_grad_a", 2, by_numpy(gamma_slopes.igamma_grad_a), gamma_slopes.igamma_grad_a,
    _slopes("igamma_grad_a", gamma_slopes.igamma_grad_a), 0.3, 6)


def igamma_grad_a(a: Any, x: Any) -> Any:
    """The derivative of igamma(a, x) with respect to a.

    >>> igamma_grad_a(1.0, 0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return binary(igamma_grad_a_p, a, x)


random_gamma_grad_p: Op = _looped_function(
    "random_gamma_grad", 2, by_numpy(gamma_slopes.random_gamma_grad), gamma_slopes.random_gamma_grad,
    _slopes("random_gamma_grad", gamma_slopes.random_gamma_grad), 0.3, 6)


def random_gamma_grad(a: Any, x: Any) -> Any:
    """How a sample x of the gamma distribution of shape a moves with a at fixed igamma(a, x): dx / da.

    (Figurnov, Mohamed, Mnih: Implicit reparameterization gradients, 2018.)

    >>> random_gamma_grad(1.0, 0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return binary(random_gamma_grad_p, a, x)


def _log_igamma_slope(a: Any, x: Any, out: Any, at_0: float, at_infinity: float) -> Any:
    """The size of the derivative of log(P) or log(Q) by x: the density divided by the function, which may both underflow."""
    log = sub_p.bind(_log_gamma_slope(a, x), where(eq_p(out, -math.inf), 0.0, out))
    return where(eq_p(x, 0.0), at_0, where(eq_p(x, math.inf), at_infinity, exp_p.bind(log)))


@_in_float32
def _slope_of_log_p(a: Any, x: Any, out: Any) -> Any:
    return _log_igamma_slope(a, x, out, math.inf, 0.0)


@_in_float32
def _slope_of_log_q(a: Any, x: Any, out: Any) -> Any:
    start = eq_p(x, 0.0)
    at_0 = mul_p.bind(_igamma_slope(a, x), exp_p.bind(neg_p.bind(where(start, out, 0.0))))
    return where(start, at_0, _log_igamma_slope(a, where(start, 1.0, x), out, 0.0, 1.0))


def _moved(slope: Any, t: Any, a: Any, x: Any, out: Any) -> Any:
    """The tangent by a: x moves by random_gamma_grad, where the function stays."""
    def by_a(a: Any, x: Any, out: Any) -> Any:
        return mul_p.bind(where(eq_p(x, 0.0), 0.0, slope(a, x, out)), random_gamma_grad_p.bind(a, x))
    return mul_p.bind(t, _in_float32(by_a)(a, x, out))


log_igamma_p: Op = _looped_function(
    "log_igamma", 2, by_numpy(incomplete_gamma.log_igamma), incomplete_gamma.log_igamma,
    (lambda t, out, a, x: neg_p.bind(_moved(_slope_of_log_p, t, a, x, out)),
     lambda t, out, a, x: mul_p.bind(t, _slope_of_log_p(a, x, out))), 0.3, 6)


def log_igamma(a: Any, x: Any) -> Any:
    """log(igamma(a, x)), also where igamma underflows.

    >>> log_igamma(1.0, 1e-30)
    Array(-69.07755, dtype=float32, weak_type=True)
    """
    return binary(log_igamma_p, a, x)


log_igammac_p: Op = _looped_function(
    "log_igammac", 2, by_numpy(incomplete_gamma.log_igammac), incomplete_gamma.log_igammac,
    (lambda t, out, a, x: _moved(_slope_of_log_q, t, a, x, out),
     lambda t, out, a, x: neg_p.bind(mul_p.bind(t, _slope_of_log_q(a, x, out)))), 0.3, 6)


def log_igammac(a: Any, x: Any) -> Any:
    """log(igammac(a, x)), also where igammac underflows.

    >>> log_igammac(1.0, 200.0)
    Array(-200., dtype=float32, weak_type=True)
    """
    return binary(log_igammac_p, a, x)


# ------------------------------------------------------------------------------------------------ incomplete beta

_NO_BETA_GRADIENT = _refuse("Betainc gradient with respect to a and b not supported.")


def _log_beta_slope(a: Any, b: Any, x: Any) -> Any:
    """The logarithm of x^(a - 1) (1 - x)^(b - 1) / B(a, b); powers of exponent 0 are 1 at the ends, too."""
    from_0, from_1 = where(eq_p(a, 1.0), 1.0, x), where(eq_p(b, 1.0), 0.0, x)
    other = mul_p.bind(sub_p(b, 1.0), log1p_p.bind(neg_p.bind(from_1)))
    powers = add_p.bind(mul_p.bind(sub_p(a, 1.0), log_p.bind(from_0)), other)
    return sub_p.bind(powers, _log_beta(a, b))


def _log_beta(a: Any, b: Any) -> Any:
    return sub_p.bind(add_p.bind(lgamma_p.bind(a), lgamma_p.bind(b)), lgamma_p.bind(add_p.bind(a, b)))


@_in_float32
def _beta_density(a: Any, b: Any, x: Any, log_whole: Any = None) -> Any:
    """The density, divided by exp(log_whole); a product of powers at the ends, where its logarithm has no derivative."""
    less = (lambda log: log) if log_whole is None else (lambda log: sub_p.bind(log, log_whole))
    at_0, at_1 = where(eq_p(a, 1.0), False, eq_p(x, 0.0)), where(eq_p(b, 1.0), False, eq_p(x, 1.0))
    at_end = where(at_0, True, at_1)
    vanishing = where(at_0, x, where(at_1, sub_p(1.0, x), 1.0))
    exponent = sub_p(where(at_0, a, where(at_1, b, 3.0)), 1.0)
    power = _power_of_zero(vanishing, exponent)
    inside = exp_p.bind(less(_log_beta_slope(a, b, where(at_end, 0.5, x))))
    largest = math.log(float(dtypes.finfo(aval_of(x).dtype).max)) * (1 - 2.0 ** -9)     # an infinite factor makes NaN of 0
    factor = min_p(less(neg_p.bind(_log_beta(a, b))), largest)
    return where(at_end, mul_p.bind(power, exp_p.bind(factor)), inside)


def _beta_slope(t: Any, out: Any, a: Any, b: Any, x: Any) -> Any:
    return mul_p.bind(t, _beta_density(a, b, x))


def _slope_of_log_beta(a: Any, b: Any, x: Any, out: Any) -> Any:
    """The density divided by the function, whose logarithm `out` is; infinite where that is -inf."""
    zero = eq_p(out, -math.inf)
    return where(zero, math.inf, _beta_density(a, b, x, where(zero, 0.0, out)))


regularized_incomplete_beta_p: Op = _looped_function(
    "regularized_incomplete_beta", 3, _by_rule_where(_wrong_betainc, "betainc", incomplete_beta.betainc),
    incomplete_beta.betainc,
    (_NO_BETA_GRADIENT, _NO_BETA_GRADIENT, _beta_slope), 0.1, 0.9, order=2, wrt=(2,))


def betainc(a: Any, b: Any, x: Any) -> Any:
    """The regularized incomplete beta function I_x(a, b) for a, b >= 0 and 0 <= x <= 1, else NaN.

    Operands of equal shape (scalars and axes of size 1 broadcast). Not differentiable with respect to a and b (ValueError).

    >>> betainc(1.0, 1.0, 0.5)
    Array(0.5, dtype=float32, weak_type=True)
    """
    return ternary(regularized_incomplete_beta_p, a, b, x)


betaincc_p: Op = _looped_function(
    "betaincc", 3, _by_rule_where(_wrong_betainc, "betaincc", incomplete_beta.betaincc), incomplete_beta.betaincc,
    (_NO_BETA_GRADIENT, _NO_BETA_GRADIENT, lambda t, out, a, b, x: neg_p.bind(_beta_slope(t, out, a, b, x))), 0.1, 0.9, order=2,
    wrt=(2,))


def betaincc(a: Any, b: Any, x: Any) -> Any:
    """1 - betainc(a, b, x), also where that is small, and x, too.

    >>> betaincc(1.0, 1.0, 0.25)
    Array(0.75, dtype=float32, weak_type=True)
    """
    return ternary(betaincc_p, a, b, x)


log_betainc_p: Op = _looped_function(
    "log_betainc", 3, by_numpy(incomplete_beta.log_betainc), incomplete_beta.log_betainc,
    (_NO_BETA_GRADIENT, _NO_BETA_GRADIENT,
     lambda t, out, a, b, x: mul_p.bind(t, _slope_of_log_beta(a, b, x, out))), 0.1, 0.9, order=2, wrt=(2,))


def log_betainc(a: Any, b: Any, x: Any) -> Any:
    """log(betainc(a, b, x)), also where betainc underflows.

    >>> log_betainc(1.0, 1.0, 1e-30)
    Array(-69.07755, dtype=float32, weak_type=True)
    """
    return ternary(log_betainc_p, a, b, x)


log_betaincc_p: Op = _looped_function(
    "log_betaincc", 3, by_numpy(incomplete_beta.log_betaincc), incomplete_beta.log_betaincc,
    (_NO_BETA_GRADIENT, _NO_BETA_GRADIENT,
     lambda t, out, a, b, x: neg_p.bind(mul_p.bind(t, _slope_of_log_beta(a, b, x, out)))), 0.1, 0.9, order=2, wrt=(2,))


def log_betaincc(a: Any, b: Any, x: Any) -> Any:
    """log(1 - betainc(a, b, x)), also where that underflows.

    >>> log_betaincc(1.0, 1.0, 0.5)
    Array(-0.6931472, dtype=float32, weak_type=True)
    """
    return log_betaincc_p(a, b, x)


# ------------------------------------------------------------------------------------------------ Bessel functions

bessel_i0e_p: Op = elementwise(
    "bessel_i0e", accepts=FLOAT, eager=by_scipy("i0e"), cpu=rules.bessel_i0e, hlo=SCALARS,
    jvp=lambda t, out, x: mul_p.bind(t, sub_p.bind(bessel_i1e_p.bind(x), mul_p.bind(sign_p.bind(x), out))), cost=40.0,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, low=0.1, high=20, ulps=32))


def bessel_i0e(x: Any) -> Any:
    """exp(-|x|) I0(x), the exponentially scaled modified Bessel function of order 0.

    >>> bessel_i0e(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    return bessel_i0e_p(x)


def _i1e_jvp(t: Any, out: Any, x: Any) -> Any:
    """I0e - I1e (sign x + 1 / x). The quotient is a power series (DLMF 10.25.2) for small x, where its derivatives cancel."""
    size = mul_p.bind(x, sign_p.bind(x))
    small = lt_p(size, 1.0)
    square = square_p.bind(where(small, x, 0.0))
    series = mul_p(square, 0.0)
    for k in reversed(range(10)):
        series = add_p(mul_p.bind(series, square), 0.5 / (4 ** k * math.factorial(k) * math.factorial(k + 1)))
    quotient = where(small, mul_p.bind(exp_p.bind(neg_p.bind(size)), series), div_p.bind(out, where(small, 1.0, x)))
    slope = sub_p.bind(bessel_i0e_p.bind(x), add_p.bind(mul_p.bind(out, sign_p.bind(x)), quotient))
    return mul_p.bind(t, slope)


bessel_i1e_p: Op = elementwise(
    "bessel_i1e", accepts=FLOAT, eager=by_scipy(odd("i1e")), cpu=rules.bessel_i1e, hlo=SCALARS, jvp=_i1e_jvp, cost=40.0,
    samples=Samples(shapes=UNARY_SHAPES, dtypes=FLOATS, low=0.1, high=20, ulps=32))


def bessel_i1e(x: Any) -> Any:
    """exp(-|x|) I1(x), the exponentially scaled modified Bessel function of order 1.

    >>> bessel_i1e(0.0)
    Array(0., dtype=float32, weak_type=True)
    """
    return bessel_i1e_p(x)
