"""Loops of a fixed number of steps at every element, for special functions written in scalar arithmetic.

Rules are functions of a `Loops`: `iterate` runs a recurrence at every element, `combine` computes the result from the
operands and the loops' results. All is done in float64 and rounded once, so float32 results are correctly rounded
nearly always; `precise` says whether the result is float64, which needs more terms.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.lax.elementwise.numpy_scalars import NumpyScalars

F64 = np.dtype(np.float64)
S = Any
Step = Callable[..., Sequence[S]]


class Loops:
    """Recurrences at every element of arrays of a LoopBuilder; `precise`: whether the result is float64."""

    def __init__(self, b: Any, arrays: Sequence[Any]):
        self.b, self.dtype = b, arrays[0].dtype
        self.precise = self.dtype == F64
        self.shape = max((a.shape for a in arrays), key=len)
        self.arrays = [b.elementwise(lambda s: b.convert(s, F64), a, dtype=F64) for a in arrays]

    def _read(self, arrays: Sequence[Any], index: Sequence[Any]) -> list[S]:
        return [self.b.read(a, *index) if a.shape else self.b.read(a) for a in arrays]

    def prepare(self, fn: Callable[..., S]) -> Any:
        """fn(b, *operands), to be read by loops: computed once for all steps."""
        b = self.b
        return b.materialize(b.compute(self.shape, F64, lambda *index: fn(b, *self._read(self.arrays, index)),
                                       reads=self.arrays))

    def iterate(self, steps: int, inits: Sequence[float], step: Step, *prepared: Any) -> list[Any]:
        """carry = step(b, n, carry, *operands, *prepared) for n = 0 .. steps - 1 (a float), from constants."""
        b = self.b

        def body(i: Any, r: Any, *carry: S) -> Sequence[S]:
            return step(b, b.convert(r[0], F64), carry, *self._read([*self.arrays, *prepared], i))

        return b.fold(self.shape, (steps,), [b.const(v, F64) for v in inits], body)

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
        self.precise = self.dtype == F64
        self.arrays = [a.astype(F64) for a in np.broadcast_arrays(*arrays)]

    def prepare(self, fn: Callable[..., S]) -> Any:
        return fn(self.b, *self.arrays)

    def iterate(self, steps: int, inits: Sequence[float], step: Step, *prepared: Any) -> list[Any]:
        carry: Sequence[Any] = [np.full(self.arrays[0].shape, v) for v in inits]
        for n in range(steps):
            carry = step(self.b, np.asarray(float(n)), carry, *self.arrays, *prepared)
        return list(carry)

    def combine(self, fn: Callable[..., S], *loops: Any) -> Any:
        return np.asarray(fn(self.b, *self.arrays, *loops)).astype(self.dtype)


class HloLoops:
    """The same over tensors of an HloBuilder."""

    def __init__(self, b: Any, arrays: Sequence[Any]):
        self.b, self.dtype = b, arrays[0].dtype
        self.precise = self.dtype == F64
        self.shape = max((a.shape for a in arrays), key=len)
        self.arrays = [b.convert(b.broadcast(a, self.shape), F64) for a in arrays]

    def prepare(self, fn: Callable[..., S]) -> Any:
        return fn(self.b.scalars(self.shape), *self.arrays)

    def iterate(self, steps: int, inits: Sequence[float], step: Step, *prepared: Any) -> list[Any]:
        b, scalars = self.b, self.b.scalars(self.shape)
        count = lambda n: b.constant(float(n), F64)

        def body(n: Any, *carry: Any) -> list[Any]:
            return [b.binary("add", n, count(1)), *step(scalars, b.broadcast(n, self.shape), carry, *self.arrays, *prepared)]
        init = [b.full(self.shape, v, F64) for v in inits]
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

def const(b: Any, value: float) -> S:
    return b.const(value, F64)


def polynomial(b: Any, x: S, coefficients: Sequence[float]) -> S:
    """Horner's rule, lowest power first."""
    total = b.const(coefficients[-1], x.dtype)
    for c in reversed(coefficients[:-1]):
        total = b.add(b.mul(total, x), b.const(c, x.dtype))
    return total


def less(b: Any, x: S, y: float) -> S:
    return b.compare("lt", x, b.const(y, x.dtype))


def equals(b: Any, x: S, y: float) -> S:
    return b.compare("eq", x, b.const(y, x.dtype))


class Number:
    """A float scalar of a builder with Python's operators; the other operand may be a number."""

    __slots__ = ("b", "s")

    def __init__(self, b: Any, s: S):
        self.b, self.s = b, s

    def _other(self, y: Number | float) -> S:
        return y.s if isinstance(y, Number) else self.b.const(y, self.s.dtype)

    def _of(self, name: str, *args: S) -> Number:
        return Number(self.b, self.b.prim(name, *args))

    def __add__(self, y: Number | float) -> Number:
        return self._of("add", self.s, self._other(y))

    def __radd__(self, y: float) -> Number:
        return self + y

    def __sub__(self, y: Number | float) -> Number:
        return self._of("sub", self.s, self._other(y))

    def __rsub__(self, y: float) -> Number:
        return self._of("sub", self._other(y), self.s)

    def __mul__(self, y: Number | float) -> Number:
        return self._of("mul", self.s, self._other(y))

    def __rmul__(self, y: float) -> Number:
        return self * y

    def __truediv__(self, y: Number | float) -> Number:
        return self._of("div", self.s, self._other(y))

    def __rtruediv__(self, y: float) -> Number:
        return self._of("div", self._other(y), self.s)

    def __neg__(self) -> Number:
        return self._of("neg", self.s)

    def __abs__(self) -> Number:
        return self._of("abs", self.s)

    def __lt__(self, y: Number | float) -> S:
        return self.b.compare("lt", self.s, self._other(y))

    def __le__(self, y: Number | float) -> S:
        return self.b.compare("le", self.s, self._other(y))

    def __gt__(self, y: Number | float) -> S:
        return self.b.compare("gt", self.s, self._other(y))

    def __ge__(self, y: Number | float) -> S:
        return self.b.compare("ge", self.s, self._other(y))

    def constant(self, value: float) -> Number:
        """A number of the same builder."""
        return Number(self.b, self.b.const(value, self.s.dtype))

    def fma(self, y: Number | float, z: Number | float) -> Number:
        """self * y + z, rounded once."""
        return self._of("fma", self.s, self._other(y), self._other(z))

    def math(self, name: str, *args: Number | float) -> Number:
        """A transcendental function of self and other operands."""
        return Number(self.b, self.b.math(name, self.s, *(self._other(y) for y in args)))

    def sqrt(self) -> Number:
        return self._of("sqrt", self.s)

    def where(self, cond: S, y: Number | float) -> Number:
        """self where the condition holds, else y."""
        return Number(self.b, self.b.select(cond, self.s, self._other(y)))

    def at_least(self, y: float) -> Number:
        return self.where(self > y, y)

    def at_most(self, y: float) -> Number:
        return self.where(self < y, y)

    def polynomial(self, coefficients: Sequence[float]) -> Number:
        """The sum of c_k self**k by Horner's rule."""
        total = self.constant(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            total = total.fma(self, c)
        return total


def numbers(function: Callable[..., Any]) -> Step:
    """A step or an element of a loop, written on Numbers."""
    def wrapped(b: Any, *args: Any) -> Any:
        wrap = lambda x: [Number(b, s) for s in x] if isinstance(x, (tuple, list)) else Number(b, x)
        out = function(*map(wrap, args))
        return [x.s for x in out] if isinstance(out, (tuple, list)) else out.s
    wrapped.on_numbers = function  # type: ignore[attr-defined]
    return wrapped
