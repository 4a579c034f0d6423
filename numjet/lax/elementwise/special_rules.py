"""Special functions written in scalar arithmetic, with loops of a fixed number of steps.

Rules are functions of a `Loops`: `iterate` runs a recurrence at every element, `combine` computes the result from the
operands and the loops' results. All is done in float64 and rounded once, so float32 results are correctly rounded
nearly always; `steps` is smaller for float32, which needs fewer terms.

Sources: DLMF (dlmf.nist.gov) chapters 8 and 25; N. M. Temme, "The asymptotic expansion of the incomplete gamma
functions", SIAM J. Math. Anal. 10 (1979); Didonato and Morris, "Algorithm 708", ACM TOMS 18 (1992), for the scaling of
the beta distribution's density.
"""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.lax.elementwise.numpy_scalars import NumpyScalars
from numjet.lax.elementwise.special_tables import BERNOULLI, I0E_LARGE, I0E_SMALL, I1E_LARGE, I1E_SMALL, STIRLING, TEMME

_F64 = np.dtype(np.float64)
S = Any
Step = Callable[..., Sequence[S]]
_TEMME_FROM = 60.0  # smallest a for which the table of Temme's expansion is made


# ------------------------------------------------------------------------------------------------ loops

class Loops:
    """Recurrences at every element of arrays of a LoopBuilder; `precise`: whether the result is float64."""

    def __init__(self, b: Any, arrays: Sequence[Any]):
        self.b, self.dtype = b, arrays[0].dtype
        self.precise = self.dtype == _F64
        self.shape = max((a.shape for a in arrays), key=len)
        self.arrays = [b.elementwise(lambda s: b.convert(s, _F64), a, dtype=_F64) for a in arrays]

    def _read(self, arrays: Sequence[Any], index: Sequence[Any]) -> list[S]:
        return [self.b.read(a, *index) if a.shape else self.b.read(a) for a in arrays]

    def iterate(self, steps: int, inits: Sequence[float], step: Step) -> list[Any]:
        """carry = step(b, n, carry, *operands) for n = 0 .. steps - 1 (a float), from constants."""
        b = self.b

        def body(i: Any, r: Any, *carry: S) -> Sequence[S]:
            return step(b, b.convert(r[0], _F64), carry, *self._read(self.arrays, i))

        return b.fold(self.shape, (steps,), [b.const(v, _F64) for v in inits], body)

    def combine(self, fn: Callable[..., S], *loops: Any) -> Any:
        """fn(b, *operands, *loop results), rounded to the dtype of the operands."""
        b = self.b

        def element(*index: Any) -> S:
            return b.convert(fn(b, *self._read([*self.arrays, *loops], index)), self.dtype)

        return b.compute(self.shape, self.dtype, element, reads=(*self.arrays, *loops))


class NumpyLoops:
    """The same over NumPy arrays."""

    def __init__(self, arrays: Sequence[np.ndarray]):
        self.b, self.dtype = NumpyScalars(), arrays[0].dtype
        self.precise = self.dtype == _F64
        self.arrays = [a.astype(_F64) for a in np.broadcast_arrays(*arrays)]

    def iterate(self, steps: int, inits: Sequence[float], step: Step) -> list[Any]:
        carry: Sequence[Any] = [np.full(self.arrays[0].shape, v) for v in inits]
        for n in range(steps):
            carry = step(self.b, np.asarray(float(n)), carry, *self.arrays)
        return list(carry)

    def combine(self, fn: Callable[..., S], *loops: Any) -> Any:
        return np.asarray(fn(self.b, *self.arrays, *loops)).astype(self.dtype)


class HloLoops:
    """The same over tensors of an HloBuilder."""

    def __init__(self, b: Any, arrays: Sequence[Any]):
        self.b, self.dtype = b, arrays[0].dtype
        self.precise = self.dtype == _F64
        self.shape = max((a.shape for a in arrays), key=len)
        self.arrays = [b.convert(b.broadcast(a, self.shape), _F64) for a in arrays]

    def iterate(self, steps: int, inits: Sequence[float], step: Step) -> list[Any]:
        b, scalars = self.b, self.b.scalars(self.shape)
        count = lambda n: b.constant(float(n), _F64)

        def body(n: Any, *carry: Any) -> list[Any]:
            return [b.binary("add", n, count(1)), *step(scalars, b.broadcast(n, self.shape), carry, *self.arrays)]
        init = [b.full(self.shape, v, _F64) for v in inits]
        return b.while_loop(lambda n, *_: b.compare("lt", n, count(steps)), body, [count(0), *init])[1:]

    def combine(self, fn: Callable[..., S], *loops: Any) -> Any:
        return self.b.convert(fn(self.b.scalars(self.shape), *self.arrays, *loops), self.dtype)


def looped(rule: Callable[[Any], Any]) -> Callable[..., Any]:
    """The cpu slot of a rule."""
    return lambda b, *arrays: rule(Loops(b, arrays))


def looped_hlo(rule: Callable[[Any], Any]) -> Callable[..., Any]:
    """The hlo slot of a rule."""
    return lambda b, *arrays: rule(HloLoops(b, arrays))


def by_numpy(rule: Callable[[Any], Any]) -> Callable[..., np.ndarray]:
    """The eager slot of a rule."""
    return lambda *arrays: rule(NumpyLoops(arrays))


# ------------------------------------------------------------------------------------------------ small pieces

def _c(b: Any, value: float) -> S:
    return b.const(value, _F64)


def _polynomial(b: Any, x: S, coefficients: Sequence[float]) -> S:
    """Horner's rule, lowest power first."""
    total = b.const(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        total = b.add(b.mul(total, x), b.const(c, x.dtype))
    return total


def _less(b: Any, x: S, y: float) -> S:
    return b.compare("lt", x, b.const(y, x.dtype))


def _is(b: Any, x: S, y: float) -> S:
    return b.compare("eq", x, b.const(y, x.dtype))


def _phi_over_square(b: Any, mu: S) -> S:
    """(mu - log(1 + mu)) / mu², by its series near 0."""
    near = _less(b, b.prim("abs", mu), 0.1)
    safe = b.select(near, _c(b, 1.0), mu)
    far = b.div(b.sub(safe, b.math("log1p", safe)), b.mul(safe, safe))
    series = _polynomial(b, b.select(near, mu, _c(b, 0.0)), [(-1) ** k / (k + 2) for k in range(17)])
    return b.select(near, series, far)


def _phi(b: Any, mu: S, ratio: S) -> S:
    """mu - log(1 + mu) for 1 + mu = ratio, without cancellation near 0."""
    near = _less(b, b.prim("abs", mu), 0.1)
    return b.select(near, b.mul(b.mul(mu, mu), _phi_over_square(b, mu)), b.sub(mu, b.math("log", ratio)))


def _log_gamma_star(b: Any, a: S) -> S:
    """log of Gamma(a) e^a a^-a sqrt(a / 2 pi): by Stirling's series from 10 on (DLMF 5.11.1)."""
    large = b.compare("ge", a, _c(b, 10.0))
    inverse = b.div(_c(b, 1.0), b.select(large, a, _c(b, 10.0)))
    series = b.mul(inverse, _polynomial(b, b.mul(inverse, inverse), STIRLING))
    stirling = b.sub(b.mul(b.sub(a, _c(b, 0.5)), b.math("log", a)), a)
    small = b.sub(b.sub(b.math("lgamma", a), stirling), _c(b, 0.5 * math.log(2 * math.pi)))
    return b.select(large, series, small)


# ------------------------------------------------------------------------------------------------ Bessel functions

def _clenshaw(b: Any, y: S, coefficients: Sequence[float]) -> S:
    """The sum of c_k T_k(y) (Clenshaw, Math. Tables Other Aids Comput. 9, 1955)."""
    twice = b.add(y, y)
    after, last = b.const(0, y.dtype), b.const(coefficients[-1], y.dtype)
    for c in reversed(coefficients[1:-1]):
        after, last = last, b.add(b.sub(b.mul(twice, last), after), b.const(c, y.dtype))
    return b.add(b.sub(b.mul(y, last), after), b.const(coefficients[0], y.dtype))


def _enough(coefficients: Sequence[float], dtype: np.dtype) -> Sequence[float]:
    limit = abs(coefficients[0]) * np.finfo(dtype).eps / 16
    return coefficients[:max(k for k, c in enumerate(coefficients) if abs(c) > limit) + 1]


def _bessel(b: Any, x: S, small: Sequence[float], large: Sequence[float], odd: bool) -> S:
    if x.dtype.itemsize < 4:
        return b.convert(_bessel(b, b.convert(x, np.dtype(np.float32)), small, large, odd), x.dtype)
    size = b.prim("abs", x)
    is_small = _less(b, size, 8.0)
    inner, outer = b.select(is_small, size, b.const(8, x.dtype)), b.select(is_small, b.const(8, x.dtype), size)
    near = _clenshaw(b, b.sub(b.mul(inner, b.const(0.25, x.dtype)), b.const(1, x.dtype)), _enough(small, x.dtype))
    far = _clenshaw(b, b.sub(b.div(b.const(16, x.dtype), outer), b.const(1, x.dtype)), _enough(large, x.dtype))
    far = b.div(far, b.prim("sqrt", outer))
    if not odd:
        return b.select(is_small, near, far)
    shifted = b.add(inner, b.const(2, x.dtype))
    near = b.div(b.mul(near, x), b.mul(shifted, b.prim("sqrt", shifted)))
    return b.select(is_small, near, b.select(_less(b, x, 0.0), b.neg(far), far))


def bessel_i0e(b: Any, x: S) -> S:
    """e^-|x| I0(x) by two Chebyshev series."""
    return _bessel(b, x, I0E_SMALL, I0E_LARGE, odd=False)


def bessel_i1e(b: Any, x: S) -> S:
    """e^-|x| I1(x) by two Chebyshev series."""
    return _bessel(b, x, I1E_SMALL, I1E_LARGE, odd=True)


# ------------------------------------------------------------------------------------------------ incomplete gamma

def _series_step(b: Any, n: S, carry: Sequence[S], a: S, x: S) -> Sequence[S]:
    """Terms and sum of 1 + x / (a + 1) + x² / (a + 1)(a + 2) + ... (DLMF 8.7.1), and their derivatives by a."""
    term, total, term_a, total_a = carry
    inverse = b.div(_c(b, 1.0), b.add(a, b.add(n, _c(b, 1.0))))
    ratio = b.mul(x, inverse)
    term = b.mul(term, ratio)
    term_a = b.sub(b.mul(term_a, ratio), b.mul(term, inverse))
    return term, b.add(total, term), term_a, b.add(total_a, term_a)


def _fraction_step(steps: int) -> Step:
    """f = -k (k - a) / (x + 2k + 1 - a + f) for k = steps .. 1 (DLMF 8.9.2, contracted), and its derivative by a."""
    def step(b: Any, n: S, carry: Sequence[S], a: S, x: S) -> Sequence[S]:
        f, f_a = carry
        k = b.sub(_c(b, float(steps)), n)
        inverse = b.div(_c(b, 1.0), b.add(b.add(b.sub(x, a), b.add(b.add(k, k), _c(b, 1.0))), f))
        f = b.mul(b.mul(k, b.sub(a, k)), inverse)
        return f, b.mul(b.sub(k, b.mul(f, b.sub(f_a, _c(b, 1.0)))), inverse)
    return step


def _incomplete_gamma(m: Any, fn: Callable[..., S]) -> Any:
    """fn(b, a, x, sum, sum_a, fraction, fraction_a) from the two loops."""
    steps = 160 if m.precise else 64
    series = m.iterate(steps, (1.0, 1.0, 0.0, 0.0), _series_step)
    fraction = m.iterate(steps, (0.0, 0.0), _fraction_step(steps))

    def finish(b: Any, a: S, x: S, _: S, total: S, __: S, total_a: S, f: S, f_a: S) -> S:
        head = b.div(_c(b, 1.0), b.add(b.add(b.sub(x, a), _c(b, 1.0)), f))
        head_a = b.mul(b.mul(head, head), b.sub(_c(b, 1.0), f_a))
        return fn(b, a, x, total, total_a, head, head_a)

    return m.combine(finish, *series, *fraction)


def _density(b: Any, a: S, x: S) -> S:
    """x^a e^-x / Gamma(a) = sqrt(a / 2 pi) exp(-a phi((x - a) / a)) / Gamma*(a)."""
    mu = b.div(b.sub(x, a), a)
    log = b.sub(b.neg(b.mul(a, _phi(b, mu, b.div(x, a)))), _log_gamma_star(b, a))
    scaled = b.mul(b.prim("sqrt", b.mul(a, _c(b, 1 / (2 * math.pi)))), b.math("exp", log))
    direct = b.sub(b.sub(b.mul(a, b.math("log", x)), x), b.math("lgamma", a))
    return b.select(_less(b, a, 10.0), b.math("exp", direct), scaled)


def _uses_series(b: Any, a: S, x: S) -> S:
    return b.compare("le", x, b.select(_less(b, a, _TEMME_FROM), b.add(a, _c(b, 1.0)), a))


def _uses_temme(b: Any, a: S, x: S) -> S:
    near = b.compare("lt", b.prim("abs", b.sub(x, a)), b.mul(a, _c(b, 0.45)))
    return b.prim("and", b.compare("ge", a, _c(b, _TEMME_FROM)), near)


def _temme_variables(b: Any, a: S, x: S) -> tuple[S, S, S, S]:
    """1 / a, eta, sqrt(2 h) = eta / mu, and whether the expansion holds; harmless values where it does not."""
    holds = _uses_temme(b, a, x)
    a = b.select(holds, a, _c(b, _TEMME_FROM))
    mu = b.select(holds, b.div(b.sub(x, a), a), _c(b, 0.0))
    slope = b.prim("sqrt", b.mul(_c(b, 2.0), _phi_over_square(b, mu)))
    return b.div(_c(b, 1.0), a), b.mul(mu, slope), slope, holds


def _temme_sum(b: Any, inverse: S, eta: S) -> S:
    total = _c(b, 0.0)
    for row in reversed(TEMME):
        total = b.add(b.mul(total, inverse), _polynomial(b, eta, row))
    return total


def _temme_sum_by_a(b: Any, inverse: S, eta: S, eta_a: S) -> S:
    """The derivative of the sum of c_k(eta) a^-k by a at fixed x."""
    total = _c(b, 0.0)
    for k in reversed(range(len(TEMME))):
        slopes = [n * c for n, c in enumerate(TEMME[k])][1:] or [0.0]
        row = b.sub(b.mul(_polynomial(b, eta, slopes), eta_a),
                    b.mul(b.mul(_c(b, float(k)), inverse), _polynomial(b, eta, TEMME[k])))
        total = b.add(b.mul(total, inverse), row)
    return total


def _temme(b: Any, a: S, x: S, upper: bool) -> S:
    """Q = erfc(eta sqrt(a / 2)) / 2 + R and P = erfc(-eta sqrt(a / 2)) / 2 - R (DLMF 8.12.3, 8.12.4, 8.12.7)."""
    inverse, eta, _, holds = _temme_variables(b, a, x)
    a = b.select(holds, a, _c(b, _TEMME_FROM))
    half = b.mul(eta, b.prim("sqrt", b.mul(a, _c(b, 0.5))))
    rest = b.mul(b.math("exp", b.neg(b.mul(half, half))), _temme_sum(b, inverse, eta))
    rest = b.mul(rest, b.prim("sqrt", b.mul(inverse, _c(b, 1 / (2 * math.pi)))))
    main = b.mul(_c(b, 0.5), b.math("erfc", half if upper else b.neg(half)))
    return b.add(main, rest) if upper else b.sub(main, rest)


def _gamma_edges(b: Any, a: S, x: S, value: S, upper: bool) -> S:
    """NaN for negative operands and for a = x = 0; the limits at 0 and infinity."""
    zero, one = (_c(b, 1.0), _c(b, 0.0)) if upper else (_c(b, 0.0), _c(b, 1.0))
    value = b.select(_is(b, x, 0.0), zero, value)
    value = b.select(_is(b, a, math.inf), zero, value)
    value = b.select(_is(b, x, math.inf), one, value)
    value = b.select(_is(b, a, 0.0), one, value)
    zeros = b.prim("and", _is(b, a, 0.0), _is(b, x, 0.0))
    both = b.prim("or", zeros, b.prim("and", _is(b, a, math.inf), _is(b, x, math.inf)))
    wrong = b.prim("or", b.prim("or", _less(b, a, 0.0), _less(b, x, 0.0)), both)
    wrong = b.prim("or", wrong, b.prim("or", b.compare("ne", a, a), b.compare("ne", x, x)))
    return b.select(wrong, _c(b, math.nan), value)


def _gamma_part(upper: bool) -> Callable[[Any], Any]:
    def fn(b: Any, a: S, x: S, total: S, _: S, fraction: S, __: S) -> S:
        density, one = _density(b, a, x), _c(b, 1.0)
        p, q = b.mul(b.div(density, a), total), b.mul(density, fraction)
        small = _uses_series(b, a, x)
        value = b.select(small, b.sub(one, p), q) if upper else b.select(small, p, b.sub(one, q))
        value = b.select(_uses_temme(b, a, x), _temme(b, a, x, upper), value)
        return _gamma_edges(b, a, x, value, upper)
    return lambda m: _incomplete_gamma(m, fn)


igamma = _gamma_part(upper=False)
igammac = _gamma_part(upper=True)


def _implicit(b: Any, a: S, x: S, total: S, total_a: S, fraction: S, fraction_a: S) -> S:
    """-(dP/da) / (dP/dx): how the quantile x of the gamma distribution moves with a. No factor can underflow."""
    log = b.math("log", x)
    by_series = b.mul(b.sub(b.math("digamma", b.add(a, _c(b, 1.0))), log), total)
    by_series = b.mul(b.div(x, a), b.sub(by_series, total_a))
    by_fraction = b.mul(x, b.add(b.mul(b.sub(log, b.math("digamma", a)), fraction), fraction_a))
    value = b.select(_uses_series(b, a, x), by_series, by_fraction)
    return b.select(_uses_temme(b, a, x), _implicit_temme(b, a, x), value)


def _implicit_temme(b: Any, a: S, x: S) -> S:
    """Both derivatives of Temme's form in units of exp(-a eta² / 2) / sqrt(2 pi a); eta' = -1 / (a sqrt(2 h))."""
    inverse, eta, slope, holds = _temme_variables(b, a, x)
    eta_a = b.neg(b.div(inverse, slope))
    a = b.select(holds, a, _c(b, _TEMME_FROM))
    half = _c(b, 0.5)
    scale_a = b.neg(b.add(b.add(b.mul(half, b.mul(eta, eta)), b.mul(a, b.mul(eta, eta_a))), b.mul(half, inverse)))
    rest = b.add(b.mul(_temme_sum(b, inverse, eta), scale_a), _temme_sum_by_a(b, inverse, eta, eta_a))
    by_a = b.sub(b.add(b.mul(a, eta_a), b.mul(half, eta)), rest)
    return b.neg(b.mul(b.mul(by_a, b.mul(x, inverse)), b.math("exp", _log_gamma_star(b, a))))


def _valid(b: Any, a: S, x: S, value: S) -> S:
    """0 at x = 0, NaN outside of a > 0, x >= 0."""
    value = b.select(b.compare("eq", x, _c(b, 0.0)), _c(b, 0.0), value)
    right = b.prim("and", b.compare("gt", a, _c(b, 0.0)), b.compare("ge", x, _c(b, 0.0)))
    return b.select(right, value, _c(b, math.nan))


def random_gamma_grad(m: Any) -> Any:
    """dx/da at fixed P(a, x)."""
    return _incomplete_gamma(m, lambda b, a, x, *loops: _valid(b, a, x, _implicit(b, a, x, *loops)))


def igamma_grad_a(m: Any) -> Any:
    """dP(a, x)/da."""
    def fn(b: Any, a: S, x: S, *loops: S) -> S:
        slope = b.div(_density(b, a, x), b.select(b.compare("eq", x, _c(b, 0.0)), _c(b, 1.0), x))
        value = b.neg(b.mul(_implicit(b, a, x, *loops), slope))
        value = b.select(_is(b, slope, 0.0), _c(b, 0.0), value)
        return _valid(b, a, x, value)
    return _incomplete_gamma(m, fn)


# ------------------------------------------------------------------------------------------------ incomplete beta

def _swapped(b: Any, p: S, q: S, x: S) -> tuple[S, S, S, S, S]:
    """(swapped, a, b, x, 1 - x) on the side of the mean where the continued fraction converges fast."""
    swap = b.compare("gt", x, b.div(b.add(p, _c(b, 1.0)), b.add(b.add(p, q), _c(b, 2.0))))
    other = b.sub(_c(b, 1.0), x)
    return swap, b.select(swap, q, p), b.select(swap, p, q), b.select(swap, other, x), b.select(swap, x, other)


def _beta_step(steps: int) -> Step:
    """Two levels of the continued fraction DLMF 8.17.22 from the innermost one on."""
    def step(b: Any, n: S, carry: Sequence[S], p: S, q: S, x: S) -> Sequence[S]:
        _, p, q, x, _ = _swapped(b, p, q, x)
        k, one = b.sub(_c(b, float(steps)), n), _c(b, 1.0)
        middle = b.add(p, b.add(k, k))
        odd = b.div(b.mul(b.mul(b.add(p, k), b.add(b.add(p, q), k)), x), b.mul(middle, b.add(middle, one)))
        even = b.div(b.mul(b.mul(k, b.sub(q, k)), x), b.mul(b.sub(middle, one), middle))
        inner = b.sub(one, b.div(odd, b.add(one, carry[0])))
        return (b.div(even, inner),)
    return step


def _beta_density(b: Any, p: S, q: S, x: S, other: S) -> S:
    """x^p (1 - x)^q / B(p, q) = sqrt(p q / (2 pi (p + q))) exp(-p phi(u) - q phi(v)) G*(p + q) / (G*(p) G*(q))."""
    total = b.add(p, q)
    excess = b.sub(b.mul(x, q), b.mul(p, other))
    u, v = b.div(excess, p), b.neg(b.div(excess, q))
    p_part = b.mul(p, _phi(b, u, b.mul(x, b.div(total, p))))
    q_part = b.mul(q, _phi(b, v, b.mul(other, b.div(total, q))))
    exponent = b.neg(b.add(p_part, q_part))
    stars = b.sub(_log_gamma_star(b, total), b.add(_log_gamma_star(b, p), _log_gamma_star(b, q)))
    root = b.prim("sqrt", b.mul(b.div(p, total), b.mul(q, _c(b, 1 / (2 * math.pi)))))
    return b.mul(root, b.math("exp", b.add(exponent, stars)))


def _beta_edges(b: Any, p: S, q: S, x: S, value: S) -> S:
    zero, one = _c(b, 0.0), _c(b, 1.0)
    value = b.select(b.prim("or", _is(b, q, 0.0), _is(b, p, math.inf)), zero, value)
    value = b.select(b.prim("or", _is(b, p, 0.0), _is(b, q, math.inf)), one, value)
    both = b.prim("and", _is(b, p, math.inf), _is(b, q, math.inf))
    value = b.select(_is(b, x, 0.0), zero, b.select(_is(b, x, 1.0), one, value))
    value = b.select(both, _c(b, math.nan), value)
    inside = b.prim("and", b.compare("ge", x, zero), b.compare("le", x, one))
    positive = b.prim("and", b.compare("ge", p, zero), b.compare("ge", q, zero))
    some = b.compare("gt", b.add(p, q), zero)
    return b.select(b.prim("and", some, b.prim("and", inside, positive)), value, _c(b, math.nan))


def betainc(m: Any) -> Any:
    """The regularized incomplete beta function, accurate for parameters up to about 1e5."""
    steps = 256 if m.precise else 128
    (f,) = m.iterate(steps, (0.0,), _beta_step(steps))

    def finish(b: Any, p0: S, q0: S, x0: S, f: S) -> S:
        swap, p, q, x, other = _swapped(b, p0, q0, x0)
        one, total = _c(b, 1.0), b.add(p, q)
        first = b.div(b.mul(total, x), b.add(p, one))
        fraction = b.div(one, b.sub(one, b.div(first, b.add(one, f))))
        value = b.mul(b.div(_beta_density(b, p, q, x, other), p), fraction)
        return _beta_edges(b, p0, q0, x0, b.select(swap, b.sub(one, value), value))

    return m.combine(finish, f)


# ------------------------------------------------------------------------------------------------ zeta, polygamma

_ZETA_TERMS = 24


def _zeta_step(b: Any, n: S, carry: Sequence[S], s: S, q: S) -> Sequence[S]:
    return (b.add(carry[0], b.math("pow", b.add(q, n), b.neg(s))),)


def _zeta_rest(b: Any, s: S, q: S, head: S) -> S:
    """Euler-Maclaurin behind the first terms (DLMF 25.11.5); right for q > 10 - 24 and integer s also where q < 0."""
    a, one = b.add(q, _c(b, float(_ZETA_TERMS))), _c(b, 1.0)
    power = b.math("pow", a, b.neg(s))
    total = b.add(b.add(head, b.div(b.mul(power, a), b.sub(s, one))), b.mul(_c(b, 0.5), power))
    inverse = b.div(one, a)
    factor = b.mul(b.mul(power, inverse), s)
    for k, coefficient in enumerate(BERNOULLI[:8], 1):
        total = b.add(total, b.mul(factor, _c(b, coefficient)))
        rising = b.mul(b.add(s, _c(b, 2.0 * k - 1)), b.add(s, _c(b, 2.0 * k)))
        factor = b.mul(b.mul(factor, rising), b.mul(inverse, inverse))
    head_only = b.compare("eq", power, _c(b, 0.0))
    total = b.select(head_only, head, total)
    total = b.select(b.compare("eq", b.prim("abs", head), _c(b, math.inf)), _c(b, math.inf), total)
    pole = b.prim("and", b.compare("le", q, _c(b, 0.0)), b.compare("eq", q, b.prim("floor", q)))
    total = b.select(b.prim("or", pole, b.compare("eq", s, one)), _c(b, math.inf), total)
    known = b.prim("and", b.compare("ge", s, one), b.compare("gt", q, _c(b, 10.0 - _ZETA_TERMS)))
    harmonic = b.prim("and", b.compare("eq", s, one), b.compare("eq", q, q))
    known = b.prim("or", known, b.prim("or", harmonic, b.prim("and", pole, b.compare("gt", s, one))))
    return b.select(known, total, _c(b, math.nan))


def zeta(m: Any) -> Any:
    """Hurwitz's zeta function: the sum of (q + n)^-s over n >= 0. NaN for q <= -14 (save the poles) and for s < 1."""
    (head,) = m.iterate(_ZETA_TERMS, (0.0,), _zeta_step)
    return m.combine(_zeta_rest, head)


def polygamma(m: Any) -> Any:
    """(-1)^(n+1) n! zeta(n + 1, x), and digamma for n = 0."""
    def step(b: Any, k: S, carry: Sequence[S], n: S, x: S) -> Sequence[S]:
        return _zeta_step(b, k, carry, b.add(n, _c(b, 1.0)), x)

    (head,) = m.iterate(_ZETA_TERMS, (0.0,), step)

    def finish(b: Any, n: S, x: S, head: S) -> S:
        order = b.add(n, _c(b, 1.0))
        size = b.mul(b.math("exp", b.math("lgamma", order)), _zeta_rest(b, order, x, head))
        half = b.mul(order, _c(b, 0.5))
        even = b.compare("eq", half, b.prim("floor", half))
        signed = b.select(even, size, b.neg(size))
        whole = b.prim("and", b.compare("eq", n, b.prim("floor", n)), b.compare("ge", n, _c(b, 0.0)))
        whole = b.prim("and", whole, b.compare("lt", n, _c(b, math.inf)))
        value = b.select(whole, signed, _c(b, math.nan))
        return b.select(b.compare("eq", n, _c(b, 0.0)), b.math("digamma", x), value)

    return m.combine(finish, head)
