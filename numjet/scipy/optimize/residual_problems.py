"""Residuals and their losses, and when their minimization ends: what all methods of least squares share."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.api.grad import jacfwd
from numjet.scipy.optimize.implicit import Function

Loss = Callable[[Any], tuple[Any, Any, Any]] | None


def norm(x: Any) -> Any:
    return jnp.sqrt(jnp.sum(x * x))


def safe(x: Any) -> Any:
    return jnp.where(x == 0, 1, x)


# -------------------------------------------------------------------------------------------- trust regions in bounds

class RegionState(NamedTuple):
    """Where a method stands whose steps stay in a trust region of a radius, in variables times `scale`."""

    x: Any
    value: Any
    jacobian: Any
    cost: Any
    radius: Any
    scale: Any
    evaluations: Any
    jacobians: Any
    status: Any


def room_along(x: Any, direction: Any, lower: Any, upper: Any) -> tuple[Any, Any]:
    """The largest t with x + t direction within the bounds, and which variables meet one there."""
    distance = jnp.where(direction > 0, upper - x, lower - x)
    each = jnp.where(direction == 0, jnp.inf, distance / safe(direction))
    least = jnp.min(each, initial=jnp.inf)
    return least, (each == least) & (direction != 0)


# -------------------------------------------------------------------------------------------- losses

def _soft_l1(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z
    return 2 * (jnp.sqrt(t) - 1), t ** -0.5, -0.5 * t ** -1.5


def _huber(z: Any) -> tuple[Any, Any, Any]:
    inner, root = z <= 1, jnp.sqrt(jnp.maximum(z, 1))
    return jnp.where(inner, z, 2 * root - 1), jnp.where(inner, 1, 1 / root), jnp.where(inner, 0, -0.5 / root ** 3)


def _cauchy(z: Any) -> tuple[Any, Any, Any]:
    return jnp.log1p(z), 1 / (1 + z), -1 / (1 + z) ** 2


def _arctan(z: Any) -> tuple[Any, Any, Any]:
    t = 1 + z * z
    return jnp.arctan(z), 1 / t, -2 * z / (t * t)


LOSSES: Mapping[str, Loss] = {"linear": None, "soft_l1": _soft_l1, "huber": _huber, "cauchy": _cauchy, "arctan": _arctan}


class Problem(NamedTuple):
    """Residuals f, and the cost f^2 / 2 or s^2 / 2 rho((f / s)^2), of which rho and its derivatives are given."""

    fun: Function
    loss: Loss
    size: float

    def cost(self, value: Any) -> Any:
        """Half the sum of the losses of these residuals."""
        if self.loss is None:
            return 0.5 * jnp.sum(value * value)
        return 0.5 * self.size ** 2 * jnp.sum(self.loss((value / self.size) ** 2)[0])

    def linearized(self, x: Any) -> tuple[Any, Any, Any]:
        """Residuals; residuals and Jacobian, so scaled that Gauss's and Newton's matrix and gradient are those of the cost
        (B. Triggs et al., "Bundle adjustment" (2000), section 4.3)."""
        value, jacobian = self.fun(x), jacfwd(self.fun)(x)
        if self.loss is None:
            return value, value, jacobian
        z = (value / self.size) ** 2
        _, first, second = self.loss(z)
        weight = jnp.sqrt(jnp.maximum(first + 2 * second * z, jnp.finfo(x.dtype).eps))
        return value, value * first / weight, jacobian * weight[:, None]


def status_of(reduction: Any, cost: Any, gain: Any, change: Any, x: Any, slope: Any, ftol: float, xtol: float,
            gtol: float) -> Any:
    """Why to end: 1 gtol, 2 ftol, 3 xtol, 4 both; -1 to go on."""
    by_cost = (reduction <= ftol * cost) & (gain > 0.25) & (reduction >= 0)
    by_change = change <= xtol * (xtol + norm(x))
    reason = jnp.where(by_cost & by_change, 4, jnp.where(by_cost, 2, jnp.where(by_change, 3, -1)))
    return jnp.where(slope <= gtol, 1, reason)
