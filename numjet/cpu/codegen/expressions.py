"""Expressions: common-subexpression elimination by value numbering; each is evaluated once per scope, operands first,
without recursion over deep graphs."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numjet.cpu.codegen.avx512 import lookup
from numjet.cpu.codegen.conversions import bitcast, convert
from numjet.cpu.codegen.memory.addresses import Addresses
from numjet.cpu.codegen.memory.loads import load
from numjet.cpu.codegen.operations import RULES
from numjet.cpu.codegen.scopes import NO_READS, Code, Scope, Value
from numjet.cpu.codegen.types import literal, phi, scalar_type, suffix, value_type, wide
from numjet.cpu.codegen.writer import FunctionWriter, parameter
from numjet.cpu.ir.nodes import INT64, MATH, Expr
from numjet.cpu.ir.types import kind
from numjet.cpu.passes.legalize_math import expanded

INT32 = np.dtype(np.int32)


def evaluate(addresses: Addresses, expr: Expr) -> Value:
    """The value of an expression that is not known, computed at most once per scope."""
    known, stack = addresses.writer.known, [expr]
    while stack:
        top = stack[-1]
        if top.id in known:
            stack.pop()
            continue
        missing = [a for a in _operands(addresses, top) if a.id not in known]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        _EMIT.get(top.op, _operation)(addresses, top)
    return known[expr.id]


def _operands(addresses: Addresses, expr: Expr) -> tuple[Expr, ...] | list[Expr]:
    """What has to be known before `expr` is emitted."""
    if expr.op == "load" or (expr.op == "convert" and _converts_lane_index(addresses, expr)):
        return [*addresses.context.invariant_terms(expr.args[0]), *expr.args[1:]]
    if expr.op == "select_rare":
        return (expr.args[0], expr.args[2])
    if expr.op in _NARROWED and _narrows(addresses, expr):
        context = addresses.context
        return [part for a in expr.args for part in (context.invariant_terms(a) if context.follows_lanes(a) else (a,))]
    return expr.args


def _constant(addresses: Addresses, expr: Expr) -> Value:
    # Constants stay known to the end; close() of the root never comes.
    value = addresses.writer.known[expr.id] = Value(literal(expr.attr), literal=True)
    return value


def _variable(addresses: Addresses, expr: Expr) -> Value:
    """Only the variable of the vector loop is bound late: as a vector it is seldom needed."""
    vector = addresses.context.vector
    if vector is None or expr is not vector.var:
        raise KeyError(f"variable {expr.attr} is used outside the statement that binds it")
    addresses.writer.hoist(vector.first.depth)
    return addresses.writer.define(expr.id, addresses.context.iota(vector.first, 1, "i64"), vector.lanes)


def _arguments(addresses: Addresses, expr: Expr) -> tuple[list[Value], int, frozenset]:
    """The known values of operands, the number of lanes of the result, and what they have read; points the writer to the
    outermost scope where all are known."""
    known = addresses.writer.known
    values = [known[a.id] for a in expr.args]
    lanes, depth, reads = 1, 0, NO_READS
    for value in values:
        lanes = max(lanes, value.lanes)
        depth = max(depth, value.depth)
        if value.reads:
            reads = reads | value.reads
    addresses.writer.hoist(depth)
    return values, lanes, reads


def _operation(addresses: Addresses, expr: Expr) -> Value:
    if expr.op in _NARROWED and _narrows(addresses, expr):
        return _narrow_operation(addresses, expr)
    w, first = addresses.writer, expr.args[0].dtype
    values, lanes, reads = _arguments(addresses, expr)
    emit = RULES.get((expr.op, kind(first)))
    if emit is None:
        raise NotImplementedError(f"no machine code for operation '{expr.op}' of {first}")
    texts = [v.text if v.lanes == lanes else w.fit(v, a, lanes) for v, a in zip(values, expr.args, strict=True)]
    return w.define(expr.id, emit(w, first, lanes, *texts), lanes, reads)


def _select(addresses: Addresses, expr: Expr) -> Value:
    w = addresses.writer
    (cond, yes, no), lanes, reads = _arguments(addresses, expr)
    a, b = w.fit(yes, expr, lanes), w.fit(no, expr, lanes)
    return w.define(expr.id, w.select(value_type(expr.dtype, lanes), cond.lanes, cond.text, a, b), lanes, reads)


def _convert(addresses: Addresses, expr: Expr) -> Value:
    if _converts_lane_index(addresses, expr):
        return _convert_lane_index(addresses, expr)
    return _narrow_operation(addresses, expr) if _narrows(addresses, expr) else _convert_value(addresses, expr)


def _convert_value(addresses: Addresses, expr: Expr) -> Value:
    (value,), lanes, reads = _arguments(addresses, expr)
    text = convert(addresses.writer, value.text, expr.args[0].dtype, expr.dtype, lanes)
    return addresses.writer.define(expr.id, text, lanes, reads)


def _bitcast(addresses: Addresses, expr: Expr) -> Value:
    (value,), lanes, reads = _arguments(addresses, expr)
    text = bitcast(addresses.writer, value.text, expr.args[0].dtype, expr.dtype, lanes)
    return addresses.writer.define(expr.id, text, lanes, reads)


def _lookup(addresses: Addresses, expr: Expr) -> Value:
    (index,), lanes, reads = _arguments(addresses, expr)
    return addresses.writer.define(expr.id, lookup(addresses.writer, expr.attr, lanes, index.text), lanes, reads)


def _converts_lane_index(addresses: Addresses, expr: Expr) -> bool:
    """Whether this is the conversion of an index that grows with the lane, which need not be computed in int64."""
    index, dtype = expr.args[0], expr.dtype
    return (addresses.context.vector is not None and index.dtype == INT64 and dtype.itemsize <= 4 and kind(dtype) in "iu"
            and addresses.context.follows_lanes(index))


def _narrows(addresses: Addresses, expr: Expr) -> bool:
    """Whether this is about indices that fit into 32 bits: vectors of int64 are slow to compare, divide and convert."""
    if addresses.context.vector is None or not expr.args or expr.args[0].dtype != INT64:
        return False
    if expr.op == "convert" and kind(expr.dtype) != "f":
        return False
    within = addresses.context.ranges.within
    if expr.dtype == INT64 and not within(expr, -2**31, 2**31 - 1):
        return False
    return all(within(a, -2**31, 2**31 - 1) for a in expr.args)


def _narrow_operation(addresses: Addresses, expr: Expr) -> Value:
    """The operation in int32, which gives the same."""
    w = addresses.writer
    values = [_as_int32(addresses, a) for a in expr.args]
    lanes = max(v.lanes for v in values)
    w.hoist(max(v.depth for v in values))
    texts = [v.text if v.lanes == lanes else w.splat(v, "i32", lanes) for v in values]
    if expr.op == "convert":
        text = convert(w, texts[0], INT32, expr.dtype, lanes)
    else:
        text = RULES[expr.op, "i"](w, INT32, lanes, *texts)
        if expr.dtype == INT64:
            text = w.put(f"sext {wide('i32', lanes)} {text} to {wide('i64', lanes)}")
    return w.define(expr.id, text, lanes, NO_READS.union(*(v.reads for v in values)))


def _as_int32(addresses: Addresses, index: Expr) -> Value:
    """An index as int32."""
    w, key = addresses.writer, ("narrow", index.id)
    found = w.known.get(key)
    if found is not None:
        return found
    step = addresses.context.stride(index) if addresses.context.follows_lanes(index) else None
    first = addresses.value(index) if step is None else _in_first_lane(addresses, index)
    w.hoist(first.depth)
    lanes, text = first.lanes, first.text
    if not first.literal:
        text = w.put(f"trunc {wide('i64', lanes)} {text} to {wide('i32', lanes)}")
    if step is not None:
        text = addresses.context.iota(Value(text, 1, first.depth, literal=first.literal), step, "i32")
        lanes = addresses.context.lanes
    return w.define(key, text, lanes, first.reads, first.literal and lanes == 1)


def _convert_lane_index(addresses: Addresses, expr: Expr) -> Value:
    """An index modulo 2^32 or less: truncated as a scalar, then counted up in vectors of the narrow type."""
    w, index = addresses.writer, expr.args[0]
    step = addresses.context.stride(index)
    if step is None:
        addresses.value(index)
        return _convert_value(addresses, expr)
    first, name = _in_first_lane(addresses, index), scalar_type(expr.dtype)
    w.hoist(first.depth)
    narrow = Value(w.put(f"trunc i64 {first.text} to {name}"), 1, first.depth)
    return w.define(expr.id, addresses.context.iota(narrow, step, name), addresses.context.lanes, first.reads)


def _in_first_lane(addresses: Addresses, index: Expr) -> Value:
    """The scalar value of an index in lane 0."""
    total = addresses.context.affine.split(index)
    values = [(addresses.first_lane(term), c) for term, c in total.terms]
    depth = max(value.depth for value, _ in values)
    scope = addresses.writer.hoist(depth)
    text = addresses.sum([(value.text, c) for value, c in values], depth)
    addresses.writer.insertion = scope
    if total.constant:
        text = addresses.writer.put(f"add i64 {text}, {total.constant}")
    return Value(text, 1, scope.depth, NO_READS.union(*(value.reads for value, _ in values)))


def _libm(addresses: Addresses, expr: Expr) -> Value:
    """A function of the C library, called for each lane."""
    w, name, of = addresses.writer, expr.attr, scalar_type(expr.dtype)
    values, lanes, reads = _arguments(addresses, expr)
    w.declare(name, of, [of] * len(values))
    helper = name if lanes == 1 else f"lanes.{name}.{lanes}"
    if lanes > 1 and helper not in w.module.helpers:
        w.module.helpers[helper] = _lane_loop(helper, name, of, len(values), lanes)
    return _call(addresses, expr, helper, values, lanes, reads)


def _mathlib(addresses: Addresses, expr: Expr) -> Value:
    """An operation that is used often: a call of a function for it and this number of lanes."""
    helpers = addresses.writer.module.helpers
    values, lanes, reads = _arguments(addresses, expr)
    name = f"math.{expr.op}.{suffix(scalar_type(expr.dtype), lanes)}"
    if name not in helpers:
        helpers[name] = _mathlib_function(addresses, name, expr, lanes)
    return _call(addresses, expr, name, values, lanes, reads)


def _call(addresses: Addresses, expr: Expr, name: str, values: list[Value], lanes: int, reads: frozenset) -> Value:
    w, ty = addresses.writer, value_type(expr.dtype, lanes)
    operands = ", ".join(f"{ty} {w.fit(v, expr, lanes)}" for v in values)
    return w.define(expr.id, w.put(f"call {ty} @{name}({operands})"), lanes, reads)


def _mathlib_function(addresses: Addresses, name: str, expr: Expr, lanes: int) -> str:
    """The text of a function for an operation of MATH."""
    module, ty = addresses.writer.module, value_type(expr.dtype, lanes)
    nested = Addresses(FunctionWriter(module, set()), evaluate)
    variables = [module.exprs.var(a.dtype, "x") for a in expr.args]
    for k, var in enumerate(variables):
        nested.writer.bind(var, "%" + parameter("x", k), lanes)
    operation = module.exprs.make(expr.op, expr.dtype, tuple(variables))
    result = nested.value(expanded(module.exprs, operation, module.target.exponents))
    nested.writer.here()
    parameters = ", ".join(f"{ty} %{parameter('x', k)}" for k in range(len(variables)))
    return nested.writer.text(f"internal {ty} @{name}({parameters}) nounwind noinline",
                              f"ret {ty} {nested.writer.fit(result, expr, lanes)}", name)


def _select_rare(addresses: Addresses, expr: Expr) -> Value:
    """Branches around the rare value unless some lane needs it."""
    w = addresses.writer
    cond, usual = w.known[expr.args[0].id], w.known[expr.args[2].id]
    current = w.scope
    scope = _scope_of_rare(addresses, expr)
    rare_label, join = w.name("rare"), w.name("join")
    w.scope = scope
    branch = w.enter("branch", Code(rare_label), set(), False)
    rare = addresses.value(expr.args[1])
    lanes = max(cond.lanes, usual.lanes, rare.lanes)
    ty = value_type(expr.dtype, lanes)
    w.here()
    chosen = w.select(ty, cond.lanes, cond.text, w.fit(rare, expr, lanes), w.fit(usual, expr, lanes))
    w.leave()
    kept, any_lane = w.fit(usual, expr, lanes), addresses.context.any_lane(cond)
    before = scope.code.block
    w.line(f"br i1 {any_lane}, label %{rare_label}, label %{join}, !prof !0")
    scope.code.lines += [f"{rare_label}:", *branch.code.lines, f"  br label %{join}"]
    w.label(join)
    text = w.put(phi(ty, (kept, before), (chosen, branch.code.block)))
    w.scope = current
    return w.define(expr.id, text, lanes, cond.reads | usual.reads | rare.reads)


def _scope_of_rare(addresses: Addresses, expr: Expr) -> Scope:
    """The outermost scope where the operands of all three parts are known; the current one, if the rare part loads."""
    w, context = addresses.writer, addresses.context
    cond, usual = w.known[expr.args[0].id], w.known[expr.args[2].id]
    depth, stack, seen = max(cond.depth, usual.depth), [expr.args[1]], set()
    while stack:
        top = stack.pop()
        found = w.known.get(top.id)
        if found is not None:
            depth = max(depth, found.depth)
        elif top.op == "load" and (context.mask is not None or top.attr in w.mutable):
            return w.here()
        elif top.id not in seen:
            seen.add(top.id)
            stack.extend(top.args)
            if context.vector is not None and top is context.vector.var:
                depth = max(depth, context.vector.first.depth)
    return w.hoist(depth)


def _lane_loop(helper: str, name: str, of: str, count: int, lanes: int) -> str:
    """The text of a function that applies a C function lane by lane."""
    ty = wide(of, lanes)
    head = ", ".join(f"{ty} %x{k}" for k in range(count))
    lines = [f"define internal {ty} @{helper}({head}) nounwind noinline {{", "entry:", "  br label %next", "next:",
             "  %lane = phi i64 [ 0, %entry ], [ %after, %next ]",
             f"  %sofar = phi {ty} [ poison, %entry ], [ %result, %next ]"]
    lines += [f"  %a{k} = extractelement {ty} %x{k}, i64 %lane" for k in range(count)]
    operands = ", ".join(f"{of} %a{k}" for k in range(count))
    lines += [f"  %one = call {of} @{name}({operands})",
              f"  %result = insertelement {ty} %sofar, {of} %one, i64 %lane", "  %after = add i64 %lane, 1",
              f"  %more = icmp ult i64 %after, {lanes}", "  br i1 %more, label %next, label %done", "done:",
              f"  ret {ty} %result", "}"]
    return "\n".join(lines)


# Operations on int64 that are done in int32 where the operands fit.
_NARROWED = frozenset(("eq", "ne", "lt", "le", "gt", "ge", "div", "rem", "min", "max"))

_EMIT: dict[str, Callable[[Addresses, Expr], Value]] = {
    "const": _constant, "var": _variable,
    "load": load,
    "select": _select, "convert": _convert, "bitcast": _bitcast,
    "lookup": _lookup, "libm": _libm, "select_rare": _select_rare,
    **dict.fromkeys(MATH, _mathlib),
}
