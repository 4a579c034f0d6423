"""Expressions: every one is evaluated once per scope, operands first, without recursion over deep graphs."""
from __future__ import annotations

from collections.abc import Callable

import numpy as np

from numjet.cpu.codegen.avx512 import lookup
from numjet.cpu.codegen.conversions import bitcast, convert
from numjet.cpu.codegen.operations import RULES
from numjet.cpu.codegen.prefetch import PrefetchEmitter
from numjet.cpu.codegen.scopes import NO_READS, Code, Scope, Value
from numjet.cpu.codegen.types import literal, scalar_type, suffix, value_type, wide
from numjet.cpu.ir.nodes import INT64, MATH, Expr
from numjet.cpu.ir.types import kind
from numjet.cpu.passes.legalize_math import expanded

INT32 = np.dtype(np.int32)


class ExprEmitter(PrefetchEmitter):
    """Writes expressions."""

    def value(self, expr: Expr) -> Value:
        """The value of an expression, computed at most once per scope."""
        known = self.known
        found = known.get(expr.id)
        if found is not None:
            return found
        stack = [expr]
        while stack:
            top = stack[-1]
            if top.id in known:
                stack.pop()
                continue
            missing = [a for a in self._operands(top) if a.id not in known]
            if missing:
                stack.extend(missing)
                continue
            stack.pop()
            _EMIT.get(top.op, ExprEmitter._operation)(self, top)
        return known[expr.id]

    def _operands(self, expr: Expr) -> tuple[Expr, ...] | list[Expr]:
        """What has to be known before `expr` is emitted."""
        if expr.op == "load" or (expr.op == "convert" and self._counts_lanes(expr)):
            return [*self._terms(expr.args[0]), *expr.args[1:]]
        if expr.op == "select_rare":
            return (expr.args[0], expr.args[2])
        if expr.op in _NARROWED and self._narrows(expr):
            return [part for a in expr.args for part in (self._terms(a) if self._moves(a) else (a,))]
        return expr.args

    def _terms(self, index: Expr) -> list[Expr]:
        """The terms of an index other than the lane variable."""
        lane = self.lane.var if self.lane else None
        return [term for term, _ in self.sums.split(index).terms if term is not lane]

    def _moves(self, index: Expr) -> bool:
        """Has this sum the lane variable as a term?"""
        return self.lane is not None and any(term is self.lane.var for term, _ in self.sums.split(index).terms)

    def _counts_lanes(self, expr: Expr) -> bool:
        """Is this the conversion of an index that grows with the lane? Then it need not be computed in int64."""
        if self.lane is None or expr.args[0].dtype != INT64 or expr.dtype.itemsize > 4 or kind(expr.dtype) not in "iu":
            return False
        return self._moves(expr.args[0])

    # --- leaves ---

    def _constant(self, expr: Expr) -> Value:
        # Constants stay known to the end; close() of the root never comes.
        value = self.known[expr.id] = Value(literal(expr.attr), literal=True)
        return value

    def _variable(self, expr: Expr) -> Value:
        """Only the lane variable is bound late: as a vector it is seldom needed."""
        lane = self.lane
        if lane is None or expr is not lane.var:
            raise KeyError(f"variable {expr.attr} is used outside the statement that binds it")
        home = self.place(lane.first.depth)
        return self.memory.define(expr.id, Value(self.count(lane.first, 1, "i64"), lane.lanes, home.depth), home)

    def count(self, first: Value, step: int, name: str) -> str:
        """The vector first, first + step, ... of the integer type `name`, written into the scope `out`."""
        lanes = self.width
        ty = wide(name, lanes)
        start = self.splat(first, name, lanes)
        bits = int(name[1:])
        numbers = ((step * lane + 2**(bits - 1)) % 2**bits - 2**(bits - 1) for lane in range(lanes))
        return self.put(f"add {ty} {start}, <{', '.join(f'{name} {number}' for number in numbers)}>")

    def _load(self, expr: Expr) -> Value:
        return self.load(expr)

    # --- operations ---

    def arguments(self, args: tuple[Expr, ...]) -> tuple[list[Value], int, int, frozenset]:
        """The known values of operands, the number of lanes of the result, its depth, and what they have read."""
        values = [self.known[a.id] for a in args]
        lanes, depth, reads = 1, 0, NO_READS
        for value in values:
            lanes = max(lanes, value.lanes)
            depth = max(depth, value.depth)
            if value.reads:
                reads = reads | value.reads
        return values, lanes, depth, reads

    def _operation(self, expr: Expr) -> Value:
        if expr.op in _NARROWED and self._narrows(expr):
            return self._narrow_operation(expr)
        values, lanes, depth, reads = self.arguments(expr.args)
        home = self.place(depth)
        first = expr.args[0].dtype
        emit = RULES.get((expr.op, kind(first)))
        if emit is None:
            raise NotImplementedError(f"no machine code for operation '{expr.op}' of {first}")
        texts = [v.text if v.lanes == lanes else self.fit(v, a, lanes) for v, a in zip(values, expr.args, strict=True)]
        text = emit(self, first, lanes, *texts)
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def _select(self, expr: Expr) -> Value:
        (cond, yes, no), lanes, depth, reads = self.arguments(expr.args)
        home = self.place(depth)
        ty = value_type(expr.dtype, lanes)
        a, b = self.fit(yes, expr, lanes), self.fit(no, expr, lanes)
        text = self.put(f"select {wide('i1', cond.lanes)} {cond.text}, {ty} {a}, {ty} {b}")
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def _convert(self, expr: Expr) -> Value:
        if self._counts_lanes(expr):
            return self._convert_count(expr)
        if self._narrows(expr):
            return self._narrow_operation(expr)
        (value,), lanes, depth, reads = self.arguments(expr.args)
        home = self.place(depth)
        text = convert(self, value.text, expr.args[0].dtype, expr.dtype, lanes, self.target.half)
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def _narrows(self, expr: Expr) -> bool:
        """Is this about positions that fit into 32 bits? Vectors of int64 are slow to compare, divide and convert."""
        if self.lane is None or not expr.args or expr.args[0].dtype != INT64:
            return False
        if expr.op == "convert" and kind(expr.dtype) != "f":
            return False
        if expr.dtype == INT64 and not self.ranges.within(expr, -2**31, 2**31 - 1):
            return False
        return all(self.ranges.within(a, -2**31, 2**31 - 1) for a in expr.args)

    def _narrow_operation(self, expr: Expr) -> Value:
        """The operation in int32, which gives the same."""
        values = [self._as_int32(a) for a in expr.args]
        lanes, depth = max(v.lanes for v in values), max(v.depth for v in values)
        reads = NO_READS.union(*(v.reads for v in values))
        home = self.place(depth)
        texts = [v.text if v.lanes == lanes else self.splat(v, "i32", lanes) for v in values]
        if expr.op == "convert":
            text = convert(self, texts[0], INT32, expr.dtype, lanes, self.target.half)
        else:
            text = RULES[expr.op, "i"](self, INT32, lanes, *texts)
            if expr.dtype == INT64:
                text = self.put(f"sext {wide('i32', lanes)} {text} to {wide('i64', lanes)}")
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def _as_int32(self, index: Expr) -> Value:
        """An index as int32."""
        key = ("narrow", index.id)
        found = self.known.get(key)
        if found is not None:
            return found
        step = self.stride(index) if self._moves(index) else None
        first = self.value(index) if step is None else self.first_of(index)
        home = self.place(first.depth)
        lanes = first.lanes
        text = first.text
        if not first.literal:
            text = self.put(f"trunc {wide('i64', lanes)} {text} to {wide('i32', lanes)}")
        if step is not None:
            text = self.count(Value(text, 1, first.depth, literal=first.literal), step, "i32")
            lanes = self.width
        return self.memory.define(key, Value(text, lanes, home.depth, first.reads, first.literal and lanes == 1), home)

    def _convert_count(self, expr: Expr) -> Value:
        """An index modulo 2^32 or less: cut to size as a scalar, then counted up in vectors of the narrow type."""
        index = expr.args[0]
        step = self.stride(index)
        if step is None:
            self.value(index)
            (value,), lanes, depth, reads = self.arguments(expr.args)
            home = self.place(depth)
            text = convert(self, value.text, INT64, expr.dtype, lanes, self.target.half)
            return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)
        first, name = self.first_of(index), scalar_type(expr.dtype)
        home = self.place(first.depth)
        narrow = Value(self.put(f"trunc i64 {first.text} to {name}"), 1, first.depth)
        text = self.count(narrow, step, name)
        return self.memory.define(expr.id, Value(text, self.width, home.depth, first.reads), home)

    def first_of(self, index: Expr) -> Value:
        """The scalar value of an index in lane 0."""
        total = self.sums.split(index)
        values = [(self.first_lane(term), c) for term, c in total.terms]
        depth = max(value.depth for value, _ in values)
        reads = NO_READS.union(*(value.reads for value, _ in values))
        home = self.place(depth)
        text = self._sum([(value.text, c) for value, c in values], depth)
        self.out = home
        if total.constant:
            text = self.put(f"add i64 {text}, {total.constant}")
        return Value(text, 1, home.depth, reads)

    def _bitcast(self, expr: Expr) -> Value:
        (value,), lanes, depth, reads = self.arguments(expr.args)
        home = self.place(depth)
        text = bitcast(self, value.text, expr.args[0].dtype, expr.dtype, lanes)
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def _lookup(self, expr: Expr) -> Value:
        (index,), lanes, depth, reads = self.arguments(expr.args)
        home = self.place(depth)
        return self.memory.define(expr.id, Value(lookup(self, expr.attr, lanes, index.text), lanes, home.depth, reads), home)

    # --- library functions and rare values ---

    def _libm(self, expr: Expr) -> Value:
        values, lanes, depth, reads = self.arguments(expr.args)
        home = self.place(depth)
        of = scalar_type(expr.dtype)
        name, count = expr.attr, len(values)
        self.declare(name, of, [of] * count)
        self.symbols.add(name)
        target = name if lanes == 1 else self._by_lane(name, of, count, lanes)
        ty = wide(of, lanes)
        operands = ", ".join(f"{ty} {self.fit(v, expr, lanes)}" for v in values)
        text = self.put(f"call {ty} @{target}({operands})")
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def _mathlib(self, expr: Expr) -> Value:
        """An operation that is used often: a call of a function for it and this number of lanes."""
        values, lanes, depth, reads = self.arguments(expr.args)
        home = self.place(depth)
        ty = value_type(expr.dtype, lanes)
        name = f"math.{expr.op}.{suffix(scalar_type(expr.dtype), lanes)}"
        if name not in self.helpers:
            self.helpers[name] = self.another(set()).mathlib_function(name, expr, lanes)
        operands = ", ".join(f"{ty} {self.fit(v, expr, lanes)}" for v in values)
        text = self.put(f"call {ty} @{name}({operands})")
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def mathlib_function(self, name: str, expr: Expr, lanes: int) -> str:
        """The text of a function for an operation of MATH."""
        exprs, ty = self.function.exprs, value_type(expr.dtype, lanes)
        arguments = [exprs.var(a.dtype, "x") for a in expr.args]
        for k, argument in enumerate(arguments):
            self.bind(argument, f"%x{k}", lanes)
        result = self.value(expanded(exprs, exprs.make(expr.op, expr.dtype, tuple(arguments)), self.target.exponents))
        self.here()
        head = f"define internal {ty} @{name}({', '.join(f'{ty} %x{k}' for k in range(len(arguments)))}) nounwind noinline {{"
        return "\n".join([head, "entry:", *self.scope.code.lines, f"  ret {ty} {self.fit(result, expr, lanes)}", "}"])

    def _by_lane(self, name: str, of: str, count: int, lanes: int) -> str:
        """An internal function that calls a C function for each lane."""
        helper = f"lanes.{name}.{lanes}"
        if helper not in self.helpers:
            self.helpers[helper] = _lane_loop(helper, name, of, count, lanes)
        return helper

    def _select_rare(self, expr: Expr) -> Value:
        """Branches around the rare value unless some lane asks for it."""
        cond, usual = self.known[expr.args[0].id], self.known[expr.args[2].id]
        outer_scope = self.scope
        home = self._home_of_rare(expr)
        rare_label, join = self.name("rare"), self.name("join")
        self.scope = home
        branch = self.enter("branch", Code(rare_label), set(), False)
        rare = self.value(expr.args[1])
        lanes = max(cond.lanes, usual.lanes, rare.lanes)
        ty = value_type(expr.dtype, lanes)
        self.here()
        chosen = self.put(f"select {wide('i1', cond.lanes)} {cond.text}, {ty} {self.fit(rare, expr, lanes)}, "
                          f"{ty} {self.fit(usual, expr, lanes)}")
        self.leave()
        self.out = home
        kept, any_lane = self.fit(usual, expr, lanes), self.any_lane(cond)
        before = home.code.block
        self.line(f"br i1 {any_lane}, label %{rare_label}, label %{join}, !prof !0")
        home.code.lines += [f"{rare_label}:", *branch.code.lines, f"  br label %{join}"]
        self.label(join)
        text = self.put(f"phi {ty} [ {kept}, %{before} ], [ {chosen}, %{branch.code.block} ]")
        self.scope = outer_scope
        reads = cond.reads | usual.reads | rare.reads
        return self.memory.define(expr.id, Value(text, lanes, home.depth, reads), home)

    def _home_of_rare(self, expr: Expr) -> Scope:
        """The outermost scope where the operands of all three parts are known; here, if the rare part loads."""
        cond, usual = self.known[expr.args[0].id], self.known[expr.args[2].id]
        depth, stack, seen = max(cond.depth, usual.depth), [expr.args[1]], set()
        while stack:
            top = stack.pop()
            found = self.known.get(top.id)
            if found is not None:
                depth = max(depth, found.depth)
            elif top.op == "load" and (self.mask is not None or top.attr in self.mutable):
                return self.here()
            elif top.id not in seen:
                seen.add(top.id)
                stack.extend(top.args)
                if self.lane is not None and top is self.lane.var:
                    depth = max(depth, self.lane.first.depth)
        return self.place(depth)


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

_EMIT: dict[str, Callable[[ExprEmitter, Expr], Value]] = {
    "const": ExprEmitter._constant, "var": ExprEmitter._variable, "load": ExprEmitter._load,
    "select": ExprEmitter._select, "convert": ExprEmitter._convert, "bitcast": ExprEmitter._bitcast,
    "lookup": ExprEmitter._lookup,
    "libm": ExprEmitter._libm, "select_rare": ExprEmitter._select_rare, **dict.fromkeys(MATH, ExprEmitter._mathlib),
}
