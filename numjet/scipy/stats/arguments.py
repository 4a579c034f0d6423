"""Common parts of the distributions: arguments of one dtype, masks of the support, logarithms of complements."""
from __future__ import annotations

import math
from typing import Any

import numjet.numpy as jnp
from numjet.numpy.core.promotion import promote_args_inexact

LOG_2 = math.log(2.0)
LOG_2PI = math.log(2.0 * math.pi)


def standard(name: str, x: Any, *rest: Any) -> list[Any]:
    """[(x - loc) / scale, parameters..., loc, scale] of arguments (x, parameters..., loc, scale), in one float dtype.

    >>> [float(v) for v in standard("norm.pdf", 3, 1, 2)]
    [1.0, 1.0, 2.0]
    """
    x, *params, loc, scale = promote_args_inexact(name, x, *rest)
    return [(x - loc) / scale, *params, loc, scale]


def where_inside(outside: Any, inside_value: Any, x: Any, value: float) -> tuple[Any, Any]:
    """(x with `inside_value` outside of the support, a function that puts `value` there)."""
    return jnp.where(outside, inside_value, x), lambda out: jnp.where(outside, value, out)


def log1mexp(x: Any) -> Any:
    """log(1 - exp(-x)) for x >= 0; -inf at 0. The switch at log 2 keeps both formulas accurate (Maechler 2012).

    >>> round(float(log1mexp(40.0)), 20)
    -4.25e-18
    """
    x, = promote_args_inexact("log1mexp", x)
    near = x < LOG_2
    small, large = jnp.where(near, x, 0.5), jnp.where(near, 1.0, x)
    return jnp.where(near, jnp.log(-jnp.expm1(-small)), jnp.log1p(-jnp.exp(-large)))
