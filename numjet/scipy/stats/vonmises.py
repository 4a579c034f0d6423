"""The von Mises distribution of angles, with concentration kappa around 0."""
from __future__ import annotations

import math
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax, random
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.scipy.special.integrals import i0e, i1e
from numjet.scipy.stats.arguments import LOG_2PI, float_args
from numjet.scipy.stats.publish import exp_of
from numjet.scipy.stats.variables import Variable


def logpdf(x: Any, kappa: Any) -> Any:
    """The logarithm of the density; NaN for negative kappa.

    >>> round(float(logpdf(1.0, 2.0)), 3)
    -1.581
    """
    x, kappa = float_args("vonmises.logpdf", x, kappa)
    # The slope of log(i0e) at 0 is the mean of both sides, that of kappa - |kappa| makes it the right one.
    out = kappa * _cosine_less_1(x) + kappa * (1 - jnp.sign(kappa)) - LOG_2PI - jnp.log(i0e(kappa))
    return jnp.where(kappa >= 0, out, jnp.nan)


@custom_jvp
def _cosine_less_1(x: Any) -> Any:
    return -2 * jnp.square(jnp.sin(0.5 * x))


_cosine_less_1.defjvps(lambda t, out, x: -t * jnp.sin(x))
pdf = exp_of(logpdf, 0.206)


_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(40)
_UNIFORM = 1e-6     # smaller concentrations make no difference


def _envelope(kappa: Any) -> tuple[Any, Any]:
    """(s - 1, kappa) of the wrapped Cauchy density around Best and Fisher's, without cancellation for any kappa."""
    kappa = jnp.clip(kappa, _UNIFORM, 0.125 * float(jnp.finfo(kappa.dtype).max))     # the widest angles are then below rounding
    q = jnp.hypot(1, 2 * kappa)
    root = jnp.sqrt(2 * (1 + q))
    rho = 2 * kappa / (1 + q + root)
    rest = (1 + 1 / (q + 2 * kappa) + root) / (1 + q + root)     # 1 - rho
    return jnp.square(rest) / (2 * rho), kappa


def _angles(key: Any, kappa: Any, shape: Any, dtype: Any) -> Any:
    """Rejection from a wrapped Cauchy distribution: D. J. Best and N. I. Fisher, Applied Statistics 28 (1979)."""
    excess, kappa = _envelope(kappa)
    known = ~jnp.isnan(kappa)
    kappa, excess = jnp.where(known, kappa, 1.0), jnp.where(known, excess, 1.0)

    def draw(state: Any) -> Any:
        key, angle, done = state
        key, *parts = random.split(key, 4)
        u, v, w = (random.uniform(part, shape, dtype) for part in parts)
        half = 0.5 * math.pi * u
        less = excess * 2 * jnp.square(jnp.sin(half)) / (excess + 2 * jnp.square(jnp.cos(half)))     # 1 - cos(angle)
        size = kappa * (excess + less)
        accepted = jnp.log1p(-v) <= jnp.log(size) + 1 - size
        found = 2 * jnp.arcsin(jnp.sqrt(jnp.minimum(0.5 * less, 1.0)))
        return key, jnp.where(accepted & ~done, jnp.where(w < 0.5, -found, found), angle), done | accepted

    start = key, jnp.zeros(shape, dtype), jnp.zeros(shape, bool)
    return jnp.where(known, lax.while_loop(lambda state: ~jnp.all(state[2]), draw, start)[1], jnp.nan)


def _slope(angle: Any, kappa: Any) -> Any:
    """The derivative of a sample to kappa, implicitly: minus that of cdf, divided by the density.

    The numerator is the integral of p(t) (cos(t) - I1(kappa) / I0(kappa)) from 0 to the angle, by Gauss's rule.
    """
    angle, kappa = angle[..., None], jnp.asarray(kappa)[..., None]
    nodes = jnp.asarray(0.5 * (1 + _NODES), angle.dtype) * angle
    # cos(t) - cos(angle), without cancellation
    rise = 2 * jnp.sin(0.5 * (angle + nodes)) * jnp.sin(0.5 * (angle - nodes))
    excess = (i0e(kappa) - i1e(kappa)) / i0e(kappa) - 2 * jnp.square(jnp.sin(0.5 * nodes))
    weights = jnp.asarray(0.5 * _WEIGHTS, angle.dtype)
    return -jnp.sum(weights * jnp.exp(kappa * rise) * excess, axis=-1) * angle[..., 0]


def _sample(key: Any, kappa: Any, shape: Any, dtype: Any) -> Any:
    @custom_jvp
    def sample(kappa: Any) -> Any:
        return _angles(key, kappa, shape, dtype)

    sample.defjvps(lambda t, out, kappa: t * _slope(out, jnp.broadcast_to(kappa, shape)))
    return sample(jnp.broadcast_to(kappa, shape))


_variable = Variable(__name__, ("kappa",), (2.0,), lambda kappa: kappa >= 0)
rvs = _variable.samples(_sample)
