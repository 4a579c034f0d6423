"""Scalar arithmetic for lowering rules: implements core.emit.ScalarBuilder over loop IR expressions."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.cpu.ir.nodes import ARITHMETIC, BOOL, INT64, MATH, Expr, Exprs
from numjet.cpu.lowering.index import Index, IndexTerms
from numjet.cpu.lowering.values import Pair, Scalar, parts_dtype
from numjet.foundation import dtypes

FLOAT32 = np.dtype(np.float32)
_HALVES = (np.dtype(np.float16), np.dtype(dtypes.bfloat16))
_MOVES = {"select"}
SIGN_DEPTH = 8   # how far the sign of a value is looked for in its operands
_COMPARE = {"eq": "ne", "ne": "eq", "lt": "ge", "le": "gt", "gt": "le", "ge": "lt"}


class Scalars:
    """Makes scalars. Operands of an operation have equal dtypes; halves are computed in float32 and rounded."""

    def __init__(self, table: Exprs):
        self.table = table
        self.terms = IndexTerms(table)
        self.terms.compare = self.index_compare

    # -- leaves
    def wrap(self, expr: Expr) -> Scalar:
        return Scalar(self, expr)

    def const(self, value: Any, dtype: Any) -> Any:
        """A constant of any dtype."""
        dtype = np.dtype(dtype)
        part = parts_dtype(dtype)
        if part is None:
            return Scalar(self, self.table.const(value, dtype))
        if dtype.names is not None:
            words = np.asarray(value, dtype).reshape(1).view(np.uint32) if dtype.itemsize else (0, 0)  # float0 has no bits
            return Pair(self, self.const(words[0], part), self.const(words[1], part), dtype)
        value = complex(value)
        return Pair(self, self.const(value.real, part), self.const(value.imag, part), dtype)

    def scalar(self, x: Any) -> Any:
        """A scalar handle of an int, Index or handle."""
        if isinstance(x, Index):
            return Scalar(self, x.expr)
        if isinstance(x, int):
            return Scalar(self, self.table.index(x))
        return x

    def index(self, x: Any) -> Any:
        """An int where the value is known, else an Index."""
        if isinstance(x, int):
            return x
        if isinstance(x, Scalar) and x.dtype != INT64:
            x = self.convert(x, INT64)
        found = self.terms.index(x)
        return found if found.terms else found.const

    def index_compare(self, op: str, x: Any, y: Any) -> Scalar:
        """Comparison of indices, decided at once where their bounds allow."""
        lo, hi = (self.terms.index(x) - self.terms.index(y)).bounds
        known = {"lt": (hi < 0, lo >= 0), "le": (hi <= 0, lo > 0), "gt": (lo > 0, hi <= 0), "ge": (lo >= 0, hi < 0),
                 "eq": (lo == hi == 0, lo > 0 or hi < 0), "ne": (lo > 0 or hi < 0, lo == hi == 0)}[op]
        if known[0] or known[1]:
            return self.const(known[0], BOOL)
        return self.compare(op, self.scalar(x), self.scalar(y))

    # -- operations
    def prim(self, name: str, *args: Any) -> Any:
        """An operation of loop_ir.ARITHMETIC or MATH by name."""
        args = tuple(self.scalar(a) for a in args)
        first = args[-1]
        if isinstance(first, Pair):
            return self._pair(name, args)
        if name not in ARITHMETIC and name not in MATH:
            raise ValueError(f"unknown scalar operation {name!r}")
        if first.dtype in _HALVES and name not in _MOVES:
            return self._half(name, args)
        if name == "pow" and first.expr.op == "const":
            found = self._power(args[0], float(first.expr.attr))
            if found is not None:
                return found
        return Scalar(self, fold(self.table, name, [a.expr for a in args]))

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

    def math(self, name: str, *args: Any) -> Any:
        return self.prim(name, *args)

    def add(self, x: Any, y: Any) -> Any:
        return self.prim("add", x, y)

    def sub(self, x: Any, y: Any) -> Any:
        return self.prim("sub", x, y)

    def mul(self, x: Any, y: Any) -> Any:
        return self.prim("mul", x, y)

    def div(self, x: Any, y: Any) -> Any:
        return self.prim("div", x, y)

    def neg(self, x: Any) -> Any:
        return self.prim("neg", x)

    def compare(self, op: str, x: Any, y: Any) -> Any:
        return self.prim(op, x, y)

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
                return Pair(self, self.convert(x.parts[0], part), self.convert(x.parts[1], part), dtype)
            if dtype == BOOL:
                return self.prim("or", *[self.convert(p, BOOL) for p in x.parts])
            return self.convert(x.parts[0], dtype)
        if part is not None:
            return Pair(self, self.convert(x, part), self.const(0, part), dtype)
        if x.expr.op == "const":
            return self.const(_convert_const(x.expr.attr, dtype), dtype)
        if dtype == BOOL:
            return self.compare("ne", x, self.const(0, x.dtype))
        return Scalar(self, self._convert_expr(x.expr, dtype))

    def _convert_expr(self, x: Expr, dtype: np.dtype) -> Expr:
        """Halves convert through float32, so that codegen needs no other pairs; only from float64 to float16 that would round
        twice."""
        if (dtype in _HALVES or x.dtype in _HALVES) and FLOAT32 not in (dtype, x.dtype) \
                and (x.dtype.name, dtype.name) != ("float64", "float16"):
            x = self.table.convert(x, FLOAT32)
        return self.table.convert(x, dtype)

    def bitcast(self, x: Any, dtype: Any) -> Any:
        return Scalar(self, self.table.bitcast(self.scalar(x).expr, np.dtype(dtype)))

    # -- compound elements
    def real(self, x: Any) -> Any:
        return x.parts[0] if isinstance(x, Pair) else x

    def imag(self, x: Any) -> Any:
        return x.parts[1] if isinstance(x, Pair) else self.const(0, x.dtype)

    def complex(self, re: Any, im: Any) -> Pair:
        return Pair(self, re, im, np.dtype(np.complex64 if re.dtype == FLOAT32 else np.complex128))

    def pair(self, first: Any, second: Any, dtype: np.dtype) -> Pair:
        return Pair(self, first, second, np.dtype(dtype))

    def _pair(self, name: str, args: tuple[Any, ...]) -> Any:
        dtype = args[-1].dtype
        if name == "select":
            cond, x, y = args
            first, second = (self.prim("select", cond, a, c) for a, c in zip(x.parts, y.parts, strict=True))
            return Pair(self, first, second, dtype)
        if name in ("add", "sub", "neg"):
            first, second = (self.prim(name, *ps) for ps in zip(*[a.parts for a in args], strict=True))
            return Pair(self, first, second, dtype)
        if name in ("eq", "ne"):
            halves = [self.prim(name, *ps) for ps in zip(*[a.parts for a in args], strict=True)]
            return self.prim("and" if name == "eq" else "or", *halves)
        if name == "mul":
            (a, b), (c, d) = args[0].parts, args[1].parts
            return Pair(self, self.sub(self.mul(a, c), self.mul(b, d)), self.add(self.mul(a, d), self.mul(b, c)), dtype)
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
        return Pair(self, re, self.div(self.sub(first, second), scale), x.dtype)


def _convert_const(value: Any, dtype: np.dtype) -> Any:
    """As the convert operation: saturating, NaN to 0."""
    if dtype.kind not in "iu" or value.dtype.kind not in "fV":
        return value.astype(dtype) if dtype != BOOL else bool(value != 0)
    value = float(value)
    info = np.iinfo(dtype)
    return 0 if value != value else int(min(max(value, info.min), info.max)) if abs(value) != float("inf") else (
        info.max if value > 0 else info.min)


def never_negative(x: Expr, depth: int = SIGN_DEPTH) -> bool:
    """Whether a float is known to have no sign: it is 0.0 and not -0.0, positive, or NaN."""
    if depth == 0:
        return False
    below = lambda: all(never_negative(a, depth - 1) for a in x.args)
    if x.op == "const":
        return x.dtype.kind == "f" and not np.signbit(x.attr)
    if x.op in ("exp", "exp2", "abs", "logistic"):
        return True
    if x.op == "mul":
        return x.args[0] is x.args[1] or below()
    return x.op in ("add", "sqrt", "min", "max", "div", "fma") and below()


def fold(table: Exprs, op: str, args: list[Expr]) -> Expr:
    """The operation, simplified where an operand is a telling constant."""
    if op == "abs" and args[0].dtype.kind == "f":
        if never_negative(args[0]):
            return args[0]
        args = [args[0].args[0]] if args[0].op == "neg" else args
    if op == "select":
        cond, x, y = args
        if cond.op == "const":
            return x if cond.attr else y
        return x if x is y else table.prim(op, *args)
    if len(args) == 2 and (args[0].op == "const" or args[1].op == "const"):
        found = _identity(op, args[0], args[1])
        if found is not None:
            return found
        if args[0].op == args[1].op == "const" and args[0].dtype.kind in "biu" and op in _EXACT:
            with np.errstate(all="ignore"):
                value = _EXACT[op](args[0].attr, args[1].attr)
            return table.const(value, BOOL if op in _COMPARE else args[0].dtype)
    if op == "not" and args[0].op == "const" and args[0].dtype == BOOL:
        return table.const(not args[0].attr, BOOL)
    return table.prim(op, *args)


_EXACT = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
          "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "min": np.minimum, "max": np.maximum,
          "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _identity(op: str, x: Expr, y: Expr) -> Expr | None:
    """x op y where one of them is a neutral or absorbing constant."""
    if x.op == "const" and op in ("add", "mul", "and", "or", "xor"):
        x, y = y, x
    if y.op != "const":
        return None
    integral, value = y.dtype.kind in "biu", y.attr
    if op == "mul" and value == 1 or op == "div" and value == 1:
        return x
    if op in ("add", "sub", "or", "xor", "shl", "shra", "shrl") and integral and value == 0:
        return x
    if op in ("mul", "and") and integral and value == 0:
        return y
    if y.dtype == BOOL and op in ("and", "or"):
        return (x if value else y) if op == "and" else (y if value else x)
    return None
