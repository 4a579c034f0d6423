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


def _intrinsic(op: str, kinds: str, name: str, *more: tuple[str, str]) -> None:
    @rule(op, kinds)
    def emit(w: FunctionWriter, dtype: np.dtype, lanes: int, *operands: str) -> str:
        of = scalar_type(dtype)
        ty = wide(of, lanes)
        return w.intrinsic(f"{name}.{suffix(of, lanes)}", ty, *((ty, x) for x in operands), *more)


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
for _op, _kinds, _name in (
        ("abs", "f", "fabs"), ("sqrt", "f", "sqrt"), ("floor", "f", "floor"), ("ceil", "f", "ceil"), ("trunc", "f", "trunc"),
        ("round_even", "f", "roundeven"), ("round_away", "f", "round"), ("copysign", "f", "copysign"), ("fma", "f", "fma"),
        ("min", "i", "smin"), ("max", "i", "smax"), ("min", "u", "umin"), ("max", "u", "umax"), ("popcount", "iu", "ctpop")):
    _intrinsic(_op, _kinds, _name)
_intrinsic("abs", "i", "abs", ("i1", "false"))
_intrinsic("clz", "iu", "ctlz", ("i1", "false"))


for _op, _relation in (("min", "olt"), ("max", "ogt")):
    @rule(_op, "f")
    def _limit(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str, relation: str = _relation) -> str:
        """x86's min returns y when either is NaN; a NaN in x has to be put back."""
        ty = value_type(dtype, lanes)
        chosen = w.select(ty, lanes, w.put(f"fcmp {relation} {ty} {x}, {y}"), x, y)
        return w.select(ty, lanes, w.put(f"fcmp uno {ty} {x}, {x}"), x, chosen)


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
    one = RULES["copysign", "f"](w, dtype, lanes, constant(dtype, lanes, 1.0), x)
    nonzero = w.put(f"fcmp one {ty} {x}, {constant(dtype, lanes, 0.0)}")
    return w.select(ty, lanes, nonzero, one, x)


@rule("sign", "iu")
def _sign(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str) -> str:
    below = RULES["min", kind(dtype)](w, dtype, lanes, x, constant(dtype, lanes, 1))
    return RULES["max", "i"](w, dtype, lanes, below, constant(dtype, lanes, -1)) if kind(dtype) == "i" else below


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


@rule("rotl", "iu")
def _rotl(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str) -> str:
    """A shift of x next to itself."""
    of = scalar_type(dtype)
    ty = wide(of, lanes)
    return w.intrinsic(f"fshl.{suffix(of, lanes)}", ty, (ty, x), (ty, x), (ty, y))


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


for _op in ("div", "rem"):
    @rule(_op, "iu")
    def _divide(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str, op: str = _op) -> str:
        """Division by -1 is a negation, which wraps where the instruction would trap."""
        ty, signed, divisor = value_type(dtype, lanes), kind(dtype) == "i", known_integer(y)
        if divisor not in ((None, 0, -1) if signed else (None, 0)):
            return w.put(f"{'s' if signed else 'u'}{op} {ty} {x}, {y}")
        minus = w.put(f"icmp eq {ty} {y}, {constant(dtype, lanes, -1)}") if signed else None
        zero = w.put(f"icmp eq {ty} {y}, {constant(dtype, lanes, 0)}")
        safe = w.select(ty, lanes, zero, constant(dtype, lanes, 1), y)
        if minus:
            safe = w.select(ty, lanes, minus, constant(dtype, lanes, 1), safe)
        if op == "rem":
            return w.select(ty, lanes, zero, x, _remainder(w, dtype, lanes, x, safe))
        quotient = _quotient(w, dtype, lanes, x, safe)
        if minus:
            quotient = w.select(ty, lanes, minus, _neg(w, dtype, lanes, x), quotient)
        return w.select(ty, lanes, zero, constant(dtype, lanes, -1), quotient)


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


for _op, _instruction in (("shl", "shl"), ("shra", "ashr"), ("shrl", "lshr")):
    @rule(_op, "iu")
    def _shift(w: FunctionWriter, dtype: np.dtype, lanes: int, x: str, y: str, instruction: str = _instruction) -> str:
        """Amounts count as unsigned; LLVM leaves those beyond the width undefined."""
        ty, bits, amount = value_type(dtype, lanes), 8 * dtype.itemsize, known_integer(y)
        if amount is not None and 0 <= amount < bits:
            return w.put(f"{instruction} {ty} {x}, {y}")
        of = scalar_type(dtype)
        if instruction == "ashr":
            last = splat_literal(of, str(bits - 1), lanes)
            return w.put(f"ashr {ty} {x}, {w.intrinsic(f'umin.{suffix(of, lanes)}', ty, (ty, y), (ty, last))}")
        fits = w.put(f"icmp ult {ty} {y}, {splat_literal(of, str(bits), lanes)}")
        return w.select(ty, lanes, fits, w.put(f"{instruction} {ty} {x}, {y}"), constant(dtype, lanes, 0))
