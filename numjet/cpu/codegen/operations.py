"""Arithmetic of loop IR as LLVM instructions: one rule per operation and kind of operand.

A rule gets the writer (`put` adds an instruction and returns its name), the dtype of the first operand, the number of
lanes and the operands' texts, and returns the result's text. All rules are total, as `ir.semantics` promises.
"""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numjet.cpu.codegen.types import float_literal, scalar_type, splat_literal, suffix, value_type, wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.types import kind

Rule = Callable[..., str]
RULES: dict[tuple[str, str], Rule] = {}


def rule(op: str, kinds: str) -> Callable[[Rule], Rule]:
    """Registers a rule of `op` for each kind (see `ir.types.kind`)."""
    def register(function: Rule) -> Rule:
        for one in kinds:
            RULES[op, one] = function
        return function
    return register


def _binary(op: str, kinds: str, instruction: str) -> None:
    @rule(op, kinds)
    def emit(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
        return w.put(f"{instruction} {value_type(dtype, lanes)} {x}, {y}")


def _unary(op: str, kinds: str, name: str, *more: tuple[str, str]) -> None:
    @rule(op, kinds)
    def emit(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
        of = scalar_type(dtype)
        return w.intrinsic(f"{name}.{suffix(of, lanes)}", wide(of, lanes), (wide(of, lanes), x), *more)


for _op, _kinds, _instruction in (
        ("add", "iu", "add"), ("sub", "iu", "sub"), ("mul", "iu", "mul"),
        ("add", "f", "fadd"), ("sub", "f", "fsub"), ("mul", "f", "fmul"), ("div", "f", "fdiv"), ("rem", "f", "frem"),
        ("add", "b", "or"), ("mul", "b", "and"), ("min", "b", "and"), ("max", "b", "or"),
        ("and", "biu", "and"), ("or", "biu", "or"), ("xor", "biu", "xor"),
        ("eq", "biu", "icmp eq"), ("ne", "biu", "icmp ne"),
        ("lt", "i", "icmp slt"), ("le", "i", "icmp sle"), ("gt", "i", "icmp sgt"), ("ge", "i", "icmp sge"),
        ("lt", "bu", "icmp ult"), ("le", "bu", "icmp ule"), ("gt", "bu", "icmp ugt"), ("ge", "bu", "icmp uge"),
        ("eq", "f", "fcmp oeq"), ("ne", "f", "fcmp une"),
        ("lt", "f", "fcmp olt"), ("le", "f", "fcmp ole"), ("gt", "f", "fcmp ogt"), ("ge", "f", "fcmp oge")):
    _binary(_op, _kinds, _instruction)
for _op, _name in (("abs", "fabs"), ("sqrt", "sqrt"), ("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"),
                   ("round_even", "roundeven"), ("round_away", "round")):
    _unary(_op, "f", _name)
_unary("abs", "i", "abs", ("i1", "false"))
_unary("popcount", "iu", "ctpop")
_unary("clz", "iu", "ctlz", ("i1", "false"))
for _kinds, _prefix in (("i", "s"), ("u", "u")):
    for _op in ("min", "max"):
        @rule(_op, _kinds)
        def _integer_limit(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str, name: str = _prefix + _op) -> str:
            of = scalar_type(dtype)
            ty = wide(of, lanes)
            return w.intrinsic(f"{name}.{suffix(of, lanes)}", ty, (ty, x), (ty, y))


def _select(w: FunctionWriter, ty: str, cond_type: str, cond: str, yes: str, no: str) -> str:
    return w.put(f"select {cond_type} {cond}, {ty} {yes}, {ty} {no}")


def _limit(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str, relation: str) -> str:
    """x86's min returns y when either is NaN; a NaN in x has to be put back."""
    ty, mask = value_type(dtype, lanes), wide("i1", lanes)
    chosen = _select(w, ty, mask, w.put(f"fcmp {relation} {ty} {x}, {y}"), x, y)
    return _select(w, ty, mask, w.put(f"fcmp uno {ty} {x}, {x}"), x, chosen)


@rule("min", "f")
def _min(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    return _limit(w, dtype, lanes, x, y, "olt")


@rule("max", "f")
def _max(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    return _limit(w, dtype, lanes, x, y, "ogt")


@rule("neg", "f")
def _fneg(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    return w.put(f"fneg {value_type(dtype, lanes)} {x}")


@rule("neg", "iu")
def _neg(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    return w.put(f"sub {value_type(dtype, lanes)} {constant(dtype, lanes, 0)}, {x}")


@rule("abs", "bu")
def _abs_unsigned(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    return x


@rule("sign", "f")
def _fsign(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    """NaN and zeros are their own sign."""
    ty = value_type(dtype, lanes)
    one = _copysign(w, dtype, lanes, constant(dtype, lanes, 1.0), x)
    nonzero = w.put(f"fcmp one {ty} {x}, {constant(dtype, lanes, 0.0)}")
    return _select(w, ty, wide("i1", lanes), nonzero, one, x)


@rule("sign", "i")
def _sign(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    below = RULES["min", "i"](w, dtype, lanes, x, constant(dtype, lanes, 1))
    return RULES["max", "i"](w, dtype, lanes, below, constant(dtype, lanes, -1))


@rule("sign", "u")
def _sign_unsigned(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    return RULES["min", "u"](w, dtype, lanes, x, constant(dtype, lanes, 1))


@rule("copysign", "f")
def _copysign(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    of = scalar_type(dtype)
    ty = wide(of, lanes)
    return w.intrinsic(f"copysign.{suffix(of, lanes)}", ty, (ty, x), (ty, y))


@rule("fma", "f")
def _fma(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str, z: str) -> str:
    of = scalar_type(dtype)
    ty = wide(of, lanes)
    return w.intrinsic(f"fma.{suffix(of, lanes)}", ty, (ty, x), (ty, y), (ty, z))


@rule("fma", "iu")
def _fma_integer(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str, z: str) -> str:
    ty = value_type(dtype, lanes)
    return w.put(f"add {ty} {w.put(f'mul {ty} {x}, {y}')}, {z}")


@rule("not", "biu")
def _not(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    ones = "true" if kind(dtype) == "b" else "-1"
    return w.put(f"xor {value_type(dtype, lanes)} {x}, {splat_literal(scalar_type(dtype), ones, lanes)}")


@rule("is_finite", "f")
def _is_finite(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    size = RULES["abs", "f"](w, dtype, lanes, x)
    return w.put(f"fcmp one {value_type(dtype, lanes)} {size}, {constant(dtype, lanes, float('inf'))}")


@rule("mulhi", "iu")
def _mulhi(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    """The upper half of the product of twice the width."""
    bits = 8 * dtype.itemsize
    narrow, double = wide(f"i{bits}", lanes), wide(f"i{2 * bits}", lanes)
    extend, shift = ("sext", "ashr") if kind(dtype) == "i" else ("zext", "lshr")
    a, b = (w.put(f"{extend} {narrow} {operand} to {double}") for operand in (x, y))
    product = w.put(f"mul {double} {a}, {b}")
    high = w.put(f"{shift} {double} {product}, {splat_literal(f'i{2 * bits}', str(bits), lanes)}")
    return w.put(f"trunc {double} {high} to {narrow}")


def constant(dtype: np.dtype, lanes: int, value: float) -> str:
    """The text of a number in all lanes."""
    text = float_literal(value) if kind(dtype) == "f" else str(value)
    return splat_literal(scalar_type(dtype), text, lanes)


def known_integer(text: str) -> int | None:
    """The number that an operand's text says, if it is an integer constant."""
    if text.startswith("splat ("):
        text = text[7:-1].rpartition(" ")[2]
    return int(text) if text.lstrip("-").isdigit() else None


@rule("div", "u")
def _div_unsigned(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    ty = value_type(dtype, lanes)
    if known_integer(y):
        return w.put(f"udiv {ty} {x}, {y}")
    zero, safe = _guard_zero(w, dtype, lanes, y)
    return _select(w, ty, wide("i1", lanes), zero, constant(dtype, lanes, -1), _quotient(w, dtype, lanes, x, safe))


@rule("rem", "u")
def _rem_unsigned(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    ty = value_type(dtype, lanes)
    if known_integer(y):
        return w.put(f"urem {ty} {x}, {y}")
    zero, safe = _guard_zero(w, dtype, lanes, y)
    return _select(w, ty, wide("i1", lanes), zero, x, _remainder(w, dtype, lanes, x, safe))


def _guard_zero(w: FunctionWriter, dtype: np.dtype, lanes: int, y: str) -> tuple[str, str]:
    """(is y zero, y or 1)."""
    ty = value_type(dtype, lanes)
    zero = w.put(f"icmp eq {ty} {y}, {constant(dtype, lanes, 0)}")
    return zero, _select(w, ty, wide("i1", lanes), zero, constant(dtype, lanes, 1), y)


@rule("div", "i")
def _div(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    """Division by -1 is a negation, which wraps where the instruction would trap."""
    ty, mask = value_type(dtype, lanes), wide("i1", lanes)
    if known_integer(y) not in (None, 0, -1):
        return w.put(f"sdiv {ty} {x}, {y}")
    minus = w.put(f"icmp eq {ty} {y}, {constant(dtype, lanes, -1)}")
    zero, safe = _guard_zero(w, dtype, lanes, y)
    safe = _select(w, ty, mask, minus, constant(dtype, lanes, 1), safe)
    quotient = _quotient(w, dtype, lanes, x, safe)
    quotient = _select(w, ty, mask, minus, _neg(w, dtype, lanes, x), quotient)
    return _select(w, ty, mask, zero, constant(dtype, lanes, -1), quotient)


@rule("rem", "i")
def _rem(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    ty, mask = value_type(dtype, lanes), wide("i1", lanes)
    if known_integer(y) not in (None, 0, -1):
        return w.put(f"srem {ty} {x}, {y}")
    minus = w.put(f"icmp eq {ty} {y}, {constant(dtype, lanes, -1)}")
    zero, safe = _guard_zero(w, dtype, lanes, y)
    safe = _select(w, ty, mask, minus, constant(dtype, lanes, 1), safe)
    return _select(w, ty, mask, zero, x, _remainder(w, dtype, lanes, x, safe))


def _quotient(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    """x / y for safe y. Vectors have no integer division: a float with room for both operands divides exactly
    enough (the error of a quotient is below its distance to the next integer)."""
    ty, signed = value_type(dtype, lanes), kind(dtype) == "i"
    if lanes == 1 or dtype.itemsize == 8:
        return w.put(f"{'sdiv' if signed else 'udiv'} {ty} {x}, {y}")
    real = wide("double" if dtype.itemsize == 4 else "float", lanes)
    to_real, to_int = ("sitofp", "fptosi") if signed else ("uitofp", "fptoui")
    a, b = (w.put(f"{to_real} {ty} {operand} to {real}") for operand in (x, y))
    return w.put(f"{to_int} {real} {w.put(f'fdiv {real} {a}, {b}')} to {ty}")


def _remainder(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    ty = value_type(dtype, lanes)
    if lanes == 1 or dtype.itemsize == 8:
        return w.put(f"{'srem' if kind(dtype) == 'i' else 'urem'} {ty} {x}, {y}")
    product = w.put(f"mul {ty} {_quotient(w, dtype, lanes, x, y)}, {y}")
    return w.put(f"sub {ty} {x}, {product}")


def _shift(op: str, instruction: str) -> None:
    @rule(op, "iu")
    def emit(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
        """Amounts count as unsigned; LLVM leaves those beyond the width undefined."""
        ty, bits, amount = value_type(dtype, lanes), 8 * dtype.itemsize, known_integer(y)
        if amount is not None and 0 <= amount < bits:
            return w.put(f"{instruction} {ty} {x}, {y}")
        of = scalar_type(dtype)
        if op == "shra":
            last = splat_literal(of, str(bits - 1), lanes)
            inside = w.intrinsic(f"umin.{suffix(of, lanes)}", ty, (ty, y), (ty, last))
            return w.put(f"ashr {ty} {x}, {inside}")
        fits = w.put(f"icmp ult {ty} {y}, {splat_literal(of, str(bits), lanes)}")
        shifted = w.put(f"{instruction} {ty} {x}, {y}")
        return _select(w, ty, wide("i1", lanes), fits, shifted, constant(dtype, lanes, 0))


for _op, _instruction in (("shl", "shl"), ("shra", "ashr"), ("shrl", "lshr")):
    _shift(_op, _instruction)
