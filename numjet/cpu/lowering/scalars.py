"""Scalar arithmetic for lowering rules: an implementation of core.emit.ScalarBuilder over loop IR expressions."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.emit import NamedArithmetic
from numjet.cpu.ir.nodes import ARITHMETIC, BOOL, INT64, MATH, Expr
from numjet.cpu.lowering.arrays.values import Pair, parts_dtype
from numjet.cpu.lowering.index import Index, IndexTerms, Scalar
from numjet.cpu.lowering.scalar_folding import convert_constant, fold, never_negative
from numjet.foundation import dtypes

FLOAT32 = np.dtype(np.float32)
_BY_BOUNDS = {"min": "le", "max": "ge", "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}   # what decides an operation
HALVES = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))


class Scalars(NamedArithmetic):
    """Makes scalars. Operands of an operation have equal dtypes; halves are computed in float32 and rounded."""

    def __init__(self, terms: IndexTerms):
        self.terms, self.table = terms, terms.table

    # -- leaves
    def wrap(self, expr: Expr) -> Scalar:
        return Scalar(self.terms, expr)

    def const(self, value: Any, dtype: Any) -> Any:
        """A constant of any dtype."""
        dtype = np.dtype(dtype)
        part = parts_dtype(dtype)
        if part is None:
            return Scalar(self.terms, self.table.const(value, dtype))
        if dtype.names is not None:
            halves = np.asarray(value, dtype).reshape(1).view(part) if dtype.itemsize else (0, 0)  # float0 has no bits
            return Pair(self.const(halves[0], part), self.const(halves[1], part), dtype)
        value = complex(value)
        return Pair(self.const(value.real, part), self.const(value.imag, part), dtype)

    def scalar(self, x: Any) -> Any:
        """A scalar handle of an int, Index or handle."""
        if isinstance(x, Index):
            return Scalar(self.terms, x.expr)
        if isinstance(x, int):
            return Scalar(self.terms, self.table.index(x))
        return x

    def index(self, x: Any) -> Any:
        """An int where the value is known, else an Index."""
        if isinstance(x, int):
            return x
        if isinstance(x, Scalar) and x.dtype != INT64:
            x = self.convert(x, INT64)
        found = self.terms.index(x)
        return found if found.terms else found.const

    # -- operations
    def prim(self, name: str, *args: Any) -> Any:
        """An operation of ARITHMETIC or MATH in cpu/ir/nodes.py, by name."""
        args = tuple(self.scalar(a) for a in args)
        first = args[-1]
        if isinstance(first, Pair):
            return self._pair(name, args)
        if name not in ARITHMETIC and name not in MATH:
            raise ValueError(f"unknown scalar operation {name!r}")
        if first.dtype in HALVES and name != "select":
            return self._half(name, args)
        if name == "pow" and first.expr.op == "const":
            found = self._power(args[0], float(first.expr.attr))
            if found is not None:
                return found
        if name in _BY_BOUNDS and first.dtype == INT64:
            found = self._decided(name, *args)
            if found is not None:
                return found
        return Scalar(self.terms, fold(self.table, name, [a.expr for a in args]))

    def _decided(self, name: str, x: Scalar, limit: Scalar) -> Scalar | None:
        """A comparison of an index with a constant, or the lesser or greater of both, if its bounds decide it, else None."""
        if limit.expr.op != "const" or x.expr not in self.terms.bounds:
            return None
        holds = self.terms.decided(_BY_BOUNDS[name], self.terms.index(x), self.terms.index(limit))
        if holds is None or name not in ("min", "max"):
            return None if holds is None else self.const(holds, BOOL)
        return x if holds else limit

    def bounded(self, x: Any, low: int, high: int) -> Any:
        """The same integer scalar, known to be within low ... high."""
        self.terms.bound(x.expr, (low, high))
        return x

    def _half(self, name: str, args: tuple[Scalar, ...]) -> Scalar:
        wide = [self.convert(a, FLOAT32) for a in args]
        out = self.prim(name, *wide)
        return out if out.dtype == BOOL else self.convert(out, args[0].dtype)

    def _power(self, x: Scalar, exponent: float) -> Any:
        """x ** exponent for exponents that multiplication and square roots reach; None for others.

        C99: pow(-0.0, y) and pow(-inf, y) are positive for y that is no odd integer.
        """
        size = abs(exponent)
        if size not in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0):
            return None
        whole, odd = int(size), size % 1 == 0.5
        out = None
        for _ in range(whole):
            out = x if out is None else self.mul(out, x)
        if odd:
            base = x
            if not never_negative(x.expr):
                minus_inf = self.compare("eq", x, self.const(-np.inf, x.dtype))
                base = self.select(minus_inf, self.const(np.inf, x.dtype), self.add(x, self.const(0, x.dtype)))
            out = self.prim("sqrt", base) if out is None else self.mul(self.prim("abs", out), self.prim("sqrt", base))
        return self.div(self.const(1, x.dtype), out) if exponent < 0 else out

    def combine(self, kind: str, x: Any, y: Any) -> Any:
        """One step of a reduction."""
        if kind == "logaddexp":
            top, low = self.prim("max", x, y), self.prim("min", x, y)
            gap = self.sub(low, top)
            gap = self.select(self.compare("eq", top, low), self.const(0, gap.dtype), gap)
            return self.add(top, self.math("log1p", self.math("exp", gap)))
        return self.prim(reduction_of(kind, x.dtype), x, y)

    def fused(self, x: Any, y: Any, total: Any) -> Any:
        """x * y + total, rounded once for floats."""
        if isinstance(x, Scalar) and x.dtype.kind == "f":
            return self.prim("fma", x, y, total)
        return self.add(self.mul(x, y), total)

    def variable(self, dtype: np.dtype) -> Any:
        """A fresh variable of any dtype, compound ones by their halves."""
        part = parts_dtype(dtype)
        if part is None:
            return self.wrap(self.table.var(dtype, "c"))
        return self.pair(self.wrap(self.table.var(part, "c")), self.wrap(self.table.var(part, "c")), dtype)

    def select(self, cond: Any, on_true: Any, on_false: Any) -> Any:
        return self.prim("select", cond, on_true, on_false)

    def convert(self, x: Any, dtype: Any) -> Any:
        """Value conversion; complex to real takes the real part, anything to bool compares with zero."""
        x, dtype = self.scalar(x), np.dtype(dtype)
        if x.dtype == dtype:
            return x
        part = parts_dtype(dtype)
        if isinstance(x, Pair):
            if part is not None:
                return Pair(self.convert(x.parts[0], part), self.convert(x.parts[1], part), dtype)
            if dtype == BOOL:
                return self.prim("or", *[self.convert(p, BOOL) for p in x.parts])
            return self.convert(x.parts[0], dtype)
        if part is not None:
            return Pair(self.convert(x, part), self.const(0, part), dtype)
        if x.expr.op == "const":
            return self.const(convert_constant(x.expr.attr, dtype), dtype)
        if dtype == INT64 and x.expr in self.terms.equal:
            return self.scalar(self.terms.equal[x.expr])
        if dtype == BOOL:
            return self.compare("ne", x, self.const(0, x.dtype))
        return Scalar(self.terms, self._convert_expr(x.expr, dtype))

    def _convert_expr(self, x: Expr, dtype: np.dtype) -> Expr:
        """Halves convert through float32, so that codegen needs no other pairs; only from float64 to float16 that would round
        twice."""
        if (dtype in HALVES or x.dtype in HALVES) and FLOAT32 not in (dtype, x.dtype) \
                and (x.dtype.name, dtype.name) != ("float64", "float16"):
            x = self.table.convert(x, FLOAT32)
        return self.table.convert(x, dtype)

    def bitcast(self, x: Any, dtype: Any) -> Any:
        return Scalar(self.terms, self.table.bitcast(self.scalar(x).expr, np.dtype(dtype)))

    # -- compound elements
    def real(self, x: Any) -> Any:
        return x.parts[0] if isinstance(x, Pair) else x

    def imag(self, x: Any) -> Any:
        return x.parts[1] if isinstance(x, Pair) else self.const(0, x.dtype)

    def complex(self, re: Any, im: Any) -> Pair:
        return Pair(re, im, np.dtype(np.complex64 if re.dtype == FLOAT32 else np.complex128))

    def pair(self, first: Any, second: Any, dtype: np.dtype) -> Pair:
        return Pair(first, second, np.dtype(dtype))

    def _pair(self, name: str, args: tuple[Any, ...]) -> Any:
        dtype = args[-1].dtype
        if name == "select":
            cond, x, y = args
            first, second = (self.prim("select", cond, a, c) for a, c in zip(x.parts, y.parts, strict=True))
            return Pair(first, second, dtype)
        if name in ("add", "sub", "neg"):
            first, second = (self.prim(name, *ps) for ps in zip(*[a.parts for a in args], strict=True))
            return Pair(first, second, dtype)
        if name in ("eq", "ne"):
            halves = [self.prim(name, *ps) for ps in zip(*[a.parts for a in args], strict=True)]
            return self.prim("and" if name == "eq" else "or", *halves)
        if name == "mul":
            (a, b), (c, d) = args[0].parts, args[1].parts
            return Pair(self.sub(self.mul(a, c), self.mul(b, d)), self.add(self.mul(a, d), self.mul(b, c)), dtype)
        if name == "div":
            return self._complex_div(*args)
        if name == "is_finite":
            return self.prim("and", *[self.prim("is_finite", p) for p in args[0].parts])
        raise NotImplementedError(f"scalar operation {name!r} on {dtype}: write it with real and imag parts")

    def _complex_div(self, x: Pair, y: Pair) -> Pair:
        """Smith's method: scales by the larger half of the divisor (Smith 1962, CACM algorithm 116)."""
        (a, b), (c, d) = x.parts, y.parts
        wide = self.compare("ge", self.prim("abs", c), self.prim("abs", d))
        big, small = self.select(wide, c, d), self.select(wide, d, c)
        ratio = self.div(small, big)
        ratio = self.select(self.compare("eq", big, self.const(0, big.dtype)), self.const(0, big.dtype), ratio)
        scale = self.add(big, self.mul(small, ratio))
        p, q = self.select(wide, a, b), self.select(wide, b, a)
        re = self.div(self.add(p, self.mul(q, ratio)), scale)
        first, second = self.select(wide, b, self.mul(b, ratio)), self.select(wide, self.mul(a, ratio), a)
        return Pair(re, self.div(self.sub(first, second), scale), x.dtype)


def reduction_of(kind: str, dtype: np.dtype) -> str:
    """The operation by which a reduction combines elements of a dtype: bools have no order and no sum."""
    return {"min": "and", "mul": "and", "max": "or", "add": "or"}.get(kind, kind) if dtype.kind == "b" else kind


def words(x: Any) -> tuple[Any, ...]:
    """The real parts of a scalar: itself, or the halves of a compound element."""
    return (x,) if isinstance(x, Scalar) else x.parts
