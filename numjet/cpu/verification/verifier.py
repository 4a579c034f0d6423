"""Verifier of loop IR, run between passes: types, scopes, buffers, bounds of constants."""
from __future__ import annotations

from numjet.cpu.ir.nodes import (
    ARITHMETIC,
    BOOL,
    EXPONENTS,
    INT64,
    MATH,
    Buffer,
    Call,
    Carry,
    Check,
    Copy,
    Expr,
    Fill,
    For,
    Function,
    GemmWithEpilogue,
    If,
    Let,
    Stmt,
    Store,
    SwapBuffers,
    Switch,
    While,
)
from numjet.cpu.ir.printer import show_expr, show_statement
from numjet.cpu.ir.tables import TABLES
from numjet.cpu.ir.traversal import expressions, postorder
from numjet.cpu.ir.types import kind, narrow, usual_dtype
from numjet.cpu.verification import races, unset_reads

_COMBINE = ("add", "mul", "min", "max", "and", "or", "xor")
_MODES = ("serial", "vector", "parallel", "unroll")
_OTHER = {"load": 1, "convert": 1, "bitcast": 1, "select_rare": 3}
# Operations on single bits or truth values, and on integers alone.
_BITS = ("and", "or", "xor", "not")
_INTEGER = ("shl", "shra", "shrl", "rotl", "popcount", "clz", "mulhi")
_REAL = ("sqrt", "floor", "ceil", "trunc", "round_even", "round_away", "copysign", "is_finite", *EXPONENTS)
_FOR_BOOL = (*_BITS, "eq", "ne", "lt", "le", "gt", "ge", "add", "mul", "min", "max", "select", "abs")


class LoopIRError(ValueError):
    """A function that breaks a rule of loop IR; the message names the rule and shows the statement."""


def check(function: Function) -> Function:
    """Raises LoopIRError if the function breaks a rule of loop IR; returns it otherwise.

    Rules: each variable is bound once and used only where it is bound; operands have fitting dtypes; indices are int64;
    buffers belong to the function, inputs and constants are not written, constant indices are in range; carries and
    results agree in dtype; a swap permutes temporaries of one dtype and size; a combining carry is used for nothing
    but its own next value.
    """
    _Check(function).run()
    return function


def verify(function: Function) -> Function:
    """As `check`; also raises LoopIRError for provable data races between iterations of an unordered loop and provable reads
    of memory that nothing wrote."""
    check(function)
    race = races.find(function)
    if race is not None:
        raise LoopIRError(f"{race}\nin function '{function.name}', statement:\n{show_statement(race.loop)}")
    unset = unset_reads.find(function)
    if unset is not None:
        where = "" if unset.stmt is None else f", statement:\n{show_statement(unset.stmt)}"
        raise LoopIRError(f"{unset}\nin function '{function.name}'{where}")
    return function


class Verified:
    """Verifies a function after each pass over it."""

    def __init__(self, function: Function):
        self.function = function

    def after(self, name: str) -> None:
        """Raises LoopIRError, with the name of the pass, if the function breaks a rule."""
        try:
            verify(self.function)
        except LoopIRError as error:
            raise LoopIRError(f"after the pass '{name}': {error}") from None


class _Check:
    """Walks statements with the variables in scope."""

    def __init__(self, function: Function):
        self.function = function
        self.buffers = {*function.inputs, *function.outputs, *function.temps, *function.consts}
        self.bound: set[int] = set()
        self.stmt: Stmt | None = None
        # The free variables of the expressions checked so far.
        self.needs: dict[int, frozenset[int]] = {}
        self.variables: dict[int, Expr] = {}

    def run(self) -> None:
        for buffer in self.buffers:
            if not narrow(buffer.dtype):  # which calls of Python and copies move, and nothing reads as numbers
                kind(buffer.dtype)
            if buffer.kind == "const" and (buffer.data is None or buffer.data.size != buffer.size
                                           or buffer.data.dtype != buffer.dtype):
                raise LoopIRError(f"constant {buffer!r} needs data of {buffer.dtype}[{buffer.size}]")
        names = [b.name for b in self.buffers]
        if len(set(names)) != len(names):
            raise LoopIRError(f"two buffers of '{self.function.name}' have one name: {sorted(names)}")
        self.block(self.function.body, set())

    def fail(self, why: str) -> None:
        assert self.stmt is not None
        raise LoopIRError(f"{why}\nin function '{self.function.name}', statement:\n{show_statement(self.stmt)}")

    # --- expressions ---

    def expr(self, expr: Expr, scope: set[int], dtype: object = None, what: str = "value") -> None:
        """Checks an expression, the variables in it, and its dtype."""
        for top in postorder([expr], self.needs):
            self._node(top)
        for var in self.needs[expr.id] - scope:
            self.fail(f"variable {self.variables[var].attr} is not bound here (used in {show_expr(expr)})")
        if dtype is not None and expr.dtype != dtype:
            self.fail(f"{what} must be {dtype}, got {expr.dtype}: {show_expr(expr)}")

    def _node(self, expr: Expr) -> None:
        needs: frozenset[int] = frozenset().union(*(self.needs[a.id] for a in expr.args))
        match expr.op:
            case "const":
                if expr.attr.dtype != expr.dtype:
                    self.fail(f"constant {expr.attr!r} is stored as {expr.attr.dtype}, its type is {expr.dtype}")
            case "var":
                self.variables[expr.id] = expr
                needs = frozenset([expr.id])
            case "libm":
                if not all(a.dtype == expr.dtype for a in expr.args):
                    self.fail(f"'{expr.attr}' mixes dtypes: {show_expr(expr)}")
            case "lookup":
                self._lookup(expr)
            case _:
                self._operation(expr)
        self.needs[expr.id] = needs

    def _lookup(self, expr: Expr) -> None:
        index = expr.args[0].dtype
        if expr.attr not in TABLES or expr.dtype != TABLES[expr.attr].dtype or index != INT64:
            self.fail(f"lookup of {expr.dtype} in '{expr.attr}' by {index}; tables (ir/tables.py) are indexed by int64")

    def _operation(self, expr: Expr) -> None:
        count = {**ARITHMETIC, **MATH, **_OTHER}.get(expr.op)
        if count is None:
            self.fail(f"loop IR has no operation '{expr.op}'")
        if len(expr.args) != count and not (expr.op == "load" and len(expr.args) == 2):
            self.fail(f"'{expr.op}' takes {count} operands, got {len(expr.args)}: {show_expr(expr)}")
        first = expr.args[0]
        if expr.op == "load":
            self._load(expr)
        elif expr.op == "bitcast" and first.dtype.itemsize != expr.dtype.itemsize:
            self.fail(f"bitcast from {first.dtype} to {expr.dtype}, which differ in size")
        elif expr.op in ("select", "select_rare"):
            if first.dtype != BOOL or {expr.args[1].dtype, expr.args[2].dtype} != {expr.dtype}:
                self.fail(f"select needs (bool, T, T), got ({', '.join(str(a.dtype) for a in expr.args)})")
        elif expr.op not in ("convert", "bitcast"):
            self._computed(expr)

    def _computed(self, expr: Expr) -> None:
        dtypes = {a.dtype for a in expr.args}
        of = kind(expr.args[0].dtype)
        fits = len(dtypes) == 1 and expr.dtype == usual_dtype(expr.op, expr.args)
        if of == "h" or (of == "b" and expr.op not in _FOR_BOOL) or (of in "iu" and expr.op in (*_REAL, *MATH)):
            fits = False
        if of == "f" and expr.op in (*_BITS, *_INTEGER):
            fits = False
        if not fits:
            operands = ", ".join(str(a.dtype) for a in expr.args)
            self.fail(f"'{expr.op}' does not take ({operands}) to {expr.dtype}: {show_expr(expr)}")

    def _load(self, expr: Expr) -> None:
        self._known(expr.attr)
        if expr.dtype != expr.attr.dtype:
            self.fail(f"load of {expr.attr!r} must be {expr.attr.dtype}, got {expr.dtype}")
        if len(expr.args) == 2 and expr.args[1].dtype != BOOL:
            self.fail(f"the mask of a load must be bool, got {expr.args[1].dtype}")
        self._index(expr.attr, expr.args[0], len(expr.args) == 2)

    def _known(self, buffer: Buffer) -> None:
        if buffer not in self.buffers:
            self.fail(f"buffer {buffer!r} does not belong to the function")

    def _index(self, buffer: Buffer, index: Expr, masked: bool = False) -> None:
        if index.dtype != INT64:
            self.fail(f"an index must be int64, got {index.dtype}: {show_expr(index)}")
        if index.op == "const" and buffer.size and not masked and not 0 <= int(index.attr) < buffer.size:
            self.fail(f"index {index.attr} is outside of {buffer!r} with {buffer.size} elements")

    # --- statements ---

    def block(self, block: list[Stmt], scope: set[int]) -> set[int]:
        """Checks statements in order; returns the scope after them."""
        scope = set(scope)
        for stmt in block:
            self.stmt = stmt
            self._stmt(stmt, scope)
        return scope

    def bind(self, var: Expr, scope: set[int], dtype: object = None) -> None:
        if var.op != "var":
            self.fail(f"only variables can be bound, got {show_expr(var)}")
        if var.id in self.bound:
            self.fail(f"variable {var.attr} is bound twice")
        if dtype is not None and var.dtype != dtype:
            self.fail(f"variable {var.attr} is {var.dtype}, its value {dtype}")
        self.bound.add(var.id)
        scope.add(var.id)

    def _stmt(self, stmt: Stmt, scope: set[int]) -> None:
        match stmt:
            case Let(var=var, value=value):
                self.expr(value, scope)
                self.bind(var, scope, value.dtype)
            case For():
                self._for(stmt, scope)
            case While():
                self._while(stmt, scope)
            case If():
                self._if(stmt, scope)
            case Switch():
                self._switch(stmt, scope)
            case Check():
                self._check(stmt, scope)
            case GemmWithEpilogue():
                self._gemm_with_epilogue(stmt, scope)
            case _:
                self._memory(stmt, scope)

    def _memory(self, stmt: Stmt, scope: set[int]) -> None:
        match stmt:
            case Store():
                self._written(stmt.buffer)
                self.expr(stmt.index, scope, INT64, "an index")
                self._index(stmt.buffer, stmt.index)
                self.expr(stmt.value, scope, stmt.buffer.dtype, f"what is stored to {stmt.buffer!r}")
            case Copy():
                self._written(stmt.target)
                self._known(stmt.source)
                if stmt.target.dtype != stmt.source.dtype:
                    self.fail(f"copy from {stmt.source.dtype} to {stmt.target.dtype}")
                for index in (stmt.target_start, stmt.source_start, stmt.count):
                    self.expr(index, scope, INT64, "an index")
            case Fill():
                self._written(stmt.target)
                self.expr(stmt.value, scope, stmt.target.dtype, f"what fills {stmt.target!r}")
                for index in (stmt.start, stmt.count):
                    self.expr(index, scope, INT64, "an index")
            case SwapBuffers():
                self._swap(stmt)
            case Call():
                self._call(stmt, scope)

    def _swap(self, stmt: SwapBuffers) -> None:
        for buffer in stmt.targets:
            self._known(buffer)
        if len(set(stmt.targets)) != len(stmt.targets) or {*stmt.targets} != {*stmt.sources}:
            self.fail("a swap names the same buffers on both sides, each once")
        if len({(b.kind, b.dtype, b.size) for b in stmt.targets}) > 1 or stmt.targets[0].kind != "temp":
            self.fail("a swap is among temporaries of one dtype and size")

    def _written(self, buffer: Buffer) -> None:
        self._known(buffer)
        if buffer.kind in ("input", "const"):
            self.fail(f"{buffer.kind} buffer {buffer!r} must not be written")

    def _call(self, stmt: Call, scope: set[int]) -> None:
        named = {*stmt.reads, *stmt.writes}
        for buffer in stmt.writes:
            self._written(buffer)
        for arg in stmt.args:
            if isinstance(arg, tuple):
                self._known(arg[0])
                self.expr(arg[1], scope, INT64, "an offset")
                if arg[0] not in named:
                    self.fail(f"{arg[0]!r} is passed to '{stmt.symbol}', but neither among its reads nor its writes")
            else:
                self.expr(arg, scope)
                if kind(arg.dtype) == "h":
                    self.fail(f"'{stmt.symbol}' gets a {arg.dtype} by value, which C does not know")

    def _gemm_with_epilogue(self, stmt: GemmWithEpilogue, scope: set[int]) -> None:
        if stmt.result.kind == "tile":
            self.buffers.add(stmt.result)
        self._call(stmt, scope)
        if len(stmt.bounds) != 4 or len(stmt.body) != 1 or not isinstance(stmt.body[0], For):
            self.fail("tiles need four bounds and one loop")
        inside = set(scope)
        for var in stmt.bounds:
            self.bind(var, inside, INT64)
        self.block(stmt.body, inside)
        if stmt.result.kind == "tile":
            self.buffers.discard(stmt.result)   # gone with its part

    def _check(self, stmt: Check, scope: set[int]) -> None:
        self.expr(stmt.ok, scope, BOOL, "a condition")
        if stmt.code == 0 or len(stmt.values) > 7:
            self.fail("a check needs a code other than 0 and at most 7 values")
        for value in stmt.values:
            self.expr(value, scope, INT64, "a value of a check")

    # --- loops and branches ---

    def _for(self, stmt: For, scope: set[int]) -> None:
        if stmt.mode not in _MODES:
            self.fail(f"a loop's mode is one of {', '.join(_MODES)}, got '{stmt.mode}'")
        self.expr(stmt.start, scope, INT64, "a bound")
        self.expr(stmt.stop, scope, INT64, "a bound")
        if stmt.limit is not None:
            self.expr(stmt.limit, scope, INT64, "a bound")
        if stmt.mode == "unroll" and not stmt.start.op == stmt.stop.op == "const":
            self.fail("a loop to be unrolled needs constant bounds")
        inside = self._carried(stmt.carries, scope)
        self.bind(stmt.var, inside, INT64)
        inside = self.block(stmt.body, inside)
        self._next(stmt, stmt.carries, inside)
        self._combining(stmt)
        self._out(stmt.carries, scope)

    def _while(self, stmt: While, scope: set[int]) -> None:
        inside = self._carried(stmt.carries, scope)
        inside = self.block(stmt.cond_body, inside)
        self.stmt = stmt
        self.expr(stmt.cond, inside, BOOL, "a condition")
        self._next(stmt, stmt.carries, self.block(stmt.body, inside))
        self._out(stmt.carries, scope)

    def _carried(self, carries: list[Carry], scope: set[int]) -> set[int]:
        inside = set(scope)
        for carry in carries:
            self.expr(carry.init, scope, carry.var.dtype, "what a carry starts with")
            self.bind(carry.var, inside)
        return inside

    def _next(self, stmt: Stmt, carries: list[Carry], inside: set[int]) -> None:
        self.stmt = stmt
        for carry in carries:
            self.expr(carry.next, inside, carry.var.dtype, "the next value of a carry")
            if carry.combine is not None and (carry.combine not in _COMBINE or carry.term is None):
                self.fail(f"a carry combines by one of {', '.join(_COMBINE)} with a term, got '{carry.combine}'")

    def _out(self, carries: list[Carry], scope: set[int]) -> None:
        for carry in carries:
            self.bind(carry.out, scope, carry.var.dtype)

    def _combining(self, stmt: For) -> None:
        """Checks that the carries of an independent loop are reductions that nothing else in the loop uses."""
        if stmt.mode not in ("vector", "parallel"):
            return
        own = {c.var.id: c for c in stmt.carries if c.combine}
        for carry in stmt.carries:
            if carry.combine is None and stmt.mode == "parallel":
                self.fail(f"carry {carry.var.attr} of a parallel loop does not combine")
            for var in self.needs[carry.next.id] & own.keys():
                if own[var] is not carry:
                    self.fail(f"combining carry {own[var].var.attr} is used by another carry")
        for inner in expressions(stmt.body):
            if found := self.needs.get(inner.id, frozenset()) & own.keys():
                self.fail(f"combining carry {self.variables[min(found)].attr} is used in the loop's body")

    def _if(self, stmt: If, scope: set[int]) -> None:
        self.expr(stmt.cond, scope, BOOL, "a condition")
        then, orelse = self.block(stmt.then, scope), self.block(stmt.orelse, scope)
        self.stmt = stmt
        for out, yes, no in stmt.results:
            self.expr(yes, then, out.dtype, "a result")
            self.expr(no, orelse, out.dtype, "a result")
            self.bind(out, scope)

    def _switch(self, stmt: Switch, scope: set[int]) -> None:
        self.expr(stmt.index, scope, INT64, "the index of a switch")
        if not stmt.branches:
            self.fail("a switch needs a branch")
        scopes = [self.block(branch, scope) for branch in stmt.branches]
        self.stmt = stmt
        for out, values in stmt.results:
            if len(values) != len(stmt.branches):
                self.fail(f"{len(values)} results for {len(stmt.branches)} branches")
            for value, inside in zip(values, scopes, strict=True):
                self.expr(value, inside, out.dtype, "a result")
            self.bind(out, scope)

