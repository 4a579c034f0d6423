"""Horizontal reductions: the partial results in the lanes of a vector loop's carries, combined by halves."""
from __future__ import annotations

from numjet.cpu.codegen.operations import RULES
from numjet.cpu.codegen.scopes import Value
from numjet.cpu.codegen.types import literal, scalar_type, splat_literal, suffix, wide
from numjet.cpu.codegen.writer import FunctionWriter
from numjet.cpu.ir.nodes import Carry
from numjet.cpu.ir.types import identity, kind


def neutral(carry: Carry, lanes: int) -> Value:
    """The neutral element of a combination, in all lanes."""
    dtype = carry.var.dtype
    return Value(splat_literal(scalar_type(dtype), literal(identity(str(carry.combine), dtype)), lanes), lanes)


def combine(w: FunctionWriter, carry: Carry, a: str, b: str, lanes: int = 1) -> str:
    """Two partial results as one."""
    dtype = carry.var.dtype
    return RULES[str(carry.combine), kind(dtype)](w, dtype, lanes, a, b)


def reduce_lanes(w: FunctionWriter, carry: Carry, value: Value, lanes: int) -> Value:
    """Combines the lanes of a partial result until `lanes` are left."""
    dtype = carry.var.dtype
    scope = w.here()
    if kind(dtype) == "b" and lanes == 1 and value.lanes > 1:
        return _reduce_bool(w, carry, value)
    of, text, width = scalar_type(dtype), value.text, value.lanes
    while width > max(lanes, 2):
        half = width // 2
        low, high = (w.shuffle(of, width, text, "poison", range(first, first + half)) for first in (0, half))
        text, width = combine(w, carry, low, high, half), half
    if lanes == 1 and width == 2:
        low, high = (w.put(f"extractelement {wide(of, 2)} {text}, i64 {lane}") for lane in range(2))
        text = combine(w, carry, low, high)
    return Value(text, lanes, scope.depth)


def _reduce_bool(w: FunctionWriter, carry: Carry, value: Value) -> Value:
    name = {"add": "or", "max": "or", "mul": "and", "min": "and"}.get(str(carry.combine), carry.combine)
    ty = wide("i1", value.lanes)
    text = w.intrinsic(f"vector.reduce.{name}.{suffix('i1', value.lanes)}", "i1", (ty, value.text))
    return Value(text, 1, w.scope.depth)
