"""Forward-mode differentiation of rules with loops, by dual numbers: the loops carry the derivatives of what they carry."""
from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from numjet.lax.elementwise.special_loops import Number, S, Step, numbers

_SHIFT = 10     # from here on the asymptotic series of trigamma has no larger error than 1e-16
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6)


def trigamma(x: Number) -> Number:
    """The derivative of digamma for x > 0, by recurrence (DLMF 5.15.5) and asymptotic series (DLMF 5.15.8)."""
    total = x.constant(0.0)
    for k in range(_SHIFT):
        inverse = 1.0 / (x + float(k))
        total = inverse.fma(inverse, total)
    inverse = 1.0 / (x + float(_SHIFT))
    square = inverse * inverse
    return total + inverse + 0.5 * square + inverse * square * square.polynomial(_BERNOULLI)


_SLOPES: dict[str, Callable[[Number, Number], Number]] = {     # of the operand and the value
    "exp": lambda x, value: value,
    "log": lambda x, value: 1.0 / x,
    "log1p": lambda x, value: 1.0 / (x + 1.0),
    "lgamma": lambda x, value: x.math("digamma"),
    "digamma": lambda x, value: trigamma(x),
}


class Dual(Number):
    """A Number with its derivative."""

    __slots__ = ("slope",)

    def __init__(self, value: Number, slope: Number | None = None):
        super().__init__(value.b, value.s)
        self.slope = value.constant(0.0) if slope is None else slope

    @property
    def value(self) -> Number:
        return Number(self.b, self.s)

    def _dual(self, y: Number | float) -> Dual:
        """Constants don't change; NaN, a result for operands that are not allowed, has no derivative."""
        if isinstance(y, Dual):
            return y
        if isinstance(y, Number):
            return Dual(y)
        return Dual(self.value.constant(y), self.value.constant(math.nan if math.isnan(y) else 0.0))

    def __add__(self, y: Number | float) -> Dual:
        y = self._dual(y)
        return Dual(self.value + y.value, self.slope + y.slope)

    def __sub__(self, y: Number | float) -> Dual:
        y = self._dual(y)
        return Dual(self.value - y.value, self.slope - y.slope)

    def __rsub__(self, y: float) -> Dual:
        return self._dual(y) - self

    def __mul__(self, y: Number | float) -> Dual:
        y = self._dual(y)
        return Dual(self.value * y.value, self.slope * y.value + self.value * y.slope)

    def __truediv__(self, y: Number | float) -> Dual:
        y = self._dual(y)
        value = self.value / y.value
        return Dual(value, (self.slope - value * y.slope) / y.value)

    def __rtruediv__(self, y: float) -> Dual:
        return self._dual(y) / self

    def __neg__(self) -> Dual:
        return Dual(-self.value, -self.slope)

    def __abs__(self) -> Dual:
        return (-self).where(self < 0.0, self)

    def constant(self, value: float) -> Dual:
        return Dual(self.value.constant(value))

    def fma(self, y: Number | float, z: Number | float) -> Dual:
        y, z = self._dual(y), self._dual(z)
        return Dual(self.value.fma(y.value, z.value), self.slope * y.value + self.value * y.slope + z.slope)

    def math(self, name: str, *args: Number | float) -> Dual:
        value = self.value.math(name, *args)
        return Dual(value, self.slope * _SLOPES[name](self.value, value))

    def sqrt(self) -> Dual:
        value = self.value.sqrt()
        return Dual(value, 0.5 * self.slope / value)

    def where(self, cond: S, y: Number | float) -> Dual:
        y = self._dual(y)
        return Dual(self.value.where(cond, y.value), self.slope.where(cond, y.slope))


class _DualLoops:
    """The loops of a rule with derivatives by one of the operands; what `iterate` returns are pairs of arrays."""

    def __init__(self, loops: Any, position: int):
        self.loops, self.position = loops, position
        self.precise = loops.precise

    def _operands(self, values: Sequence[Number]) -> list[Dual]:
        return [Dual(v, v.constant(float(k == self.position))) for k, v in enumerate(values)]

    def iterate(self, steps: int, inits: Sequence[float], step: Step) -> list[Any]:
        count = len(inits)

        def both(n: Number, carry: Sequence[Number], *operands: Number) -> list[Number]:
            duals = [Dual(*pair) for pair in zip(carry[:count], carry[count:], strict=True)]
            out = step.on_numbers(Dual(n), duals, *self._operands(operands))  # type: ignore[attr-defined]
            return [*(v.value for v in out), *(v.slope for v in out)]

        out = self.loops.iterate(steps, (*inits, *(0.0,) * count), numbers(both))
        return list(zip(out[:count], out[count:], strict=True))

    def combine(self, fn: Step, *loops: Any) -> Any:
        def slope(*values: Number) -> Number:
            size = len(values) - 2 * len(loops)
            pairs = zip(values[size::2], values[size + 1::2], strict=True)
            return fn.on_numbers(*self._operands(values[:size]), *(Dual(*p) for p in pairs)).slope  # type: ignore[attr-defined]
        return self.loops.combine(numbers(slope), *(array for pair in loops for array in pair))


def derivative(rule: Callable[[Any], Any], position: int) -> Callable[[Any], Any]:
    """The rule of the derivative of a rule by the operand at that position."""
    return lambda loops: rule(_DualLoops(loops, position))
