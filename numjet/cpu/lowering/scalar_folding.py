"""Constant folding and exact identities of scalar expressions, applied where lowering makes them.

Every simplification is exact, signed zeros and NaN included. So indices, masks and the constants of a program cost nothing
at run time, and equal expressions are one object before any pass runs.
"""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.cpu.ir.nodes import BOOL, Expr, Exprs
from numjet.foundation.decisions import negative, sampling

SIGN_DEPTH = 8   # levels of operands in which the sign of a value is sought
_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))


def convert_constant(value: Any, dtype: np.dtype) -> Any:
    """The conversion of a constant, as the convert operation: saturating, NaN to 0."""
    if dtype.kind not in "iu" or value.dtype.kind not in "fV":
        return value.astype(dtype) if dtype != BOOL else bool(value != 0)
    value = float(value)
    info = np.iinfo(dtype)
    return 0 if value != value else int(min(max(value, info.min), info.max)) if abs(value) != float("inf") else (
        info.max if value > 0 else info.min)


def never_negative(x: Expr, depth: int = SIGN_DEPTH) -> bool:
    """Whether the sign bit of a float is known to be clear: it is 0.0, positive or NaN."""
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
    """The operation, simplified where operands are constants."""
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
            _note(op, args[0].attr, args[1].attr)
            with np.errstate(all="ignore"):
                value = _EXACT[op](args[0].attr, args[1].attr)
            return table.const(value, BOOL if op in _COMPARISONS else args[0].dtype)
    if op == "not" and args[0].op == "const" and args[0].dtype == BOOL:
        return table.const(not args[0].attr, BOOL)
    return table.prim(op, *args)


def _note(op: str, x: Any, y: Any) -> None:
    """Notes how two constants compare, if that decides."""
    if sampling() and (op in _COMPARISONS or op in ("min", "max")) and x != y:
        negative(min(int(x) - int(y), int(y) - int(x)))


_EXACT = {"add": np.add, "sub": np.subtract, "mul": np.multiply, "eq": np.equal, "ne": np.not_equal, "lt": np.less,
          "le": np.less_equal, "gt": np.greater, "ge": np.greater_equal, "min": np.minimum, "max": np.maximum,
          "and": np.bitwise_and, "or": np.bitwise_or, "xor": np.bitwise_xor}


def _identity(op: str, x: Expr, y: Expr) -> Expr | None:
    """x op y where one operand is a neutral or absorbing constant; None elsewhere."""
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
    if op == "add" and value == 0 and _adds_zero(x):
        return x
    return None


def _adds_zero(x: Expr) -> bool:
    """Whether a float has had +0.0 added, and so is no -0.0 that another zero would change."""
    return x.op == "add" and x.dtype.kind == "f" and any(a.op == "const" and str(a.attr) == "0.0" for a in x.args)
