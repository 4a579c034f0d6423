"""Random loop IR functions, valid by construction: independent loops, indices in range, no inexact reductions."""
from __future__ import annotations

import numpy as np

from numjet.cpu.codegen.operations import RULES
from numjet.cpu.ir.nodes import (
    BOOL,
    EXPONENTS,
    INT64,
    Buffer,
    Carry,
    Check,
    Comment,
    Copy,
    Expr,
    Exprs,
    Fill,
    For,
    Function,
    If,
    Let,
    Stmt,
    Store,
    SwapBuffers,
    Switch,
    While,
)
from numjet.cpu.ir.types import kind
from tests.cpu.loops import BF16, F32, F64

DTYPES = [F32, F32, F64, np.dtype(np.int32), INT64, np.dtype(np.uint8), np.dtype(np.int16), BOOL]
# The sign of a NaN is not part of the definition, and only some machines have EXPONENTS.
SKIPPED = ("copysign", "select", *EXPONENTS)


class Generator:
    """Makes one function. `scalars` are variables in scope; `loops` pairs of loop variable and number of iterations."""

    def __init__(self, seed: int):
        self.random = np.random.default_rng(seed)
        self.e = Exprs()
        self.size = int(self.random.choice([1, 5, 16, 40, 64, 67, 130]))
        kinds = [*DTYPES, BF16]
        self.inputs = [Buffer(f"x{k}", d, self.size, "input") for k, d in enumerate(kinds)]
        self.outputs = [Buffer(f"y{k}", d, self.size, "output") for k, d in enumerate(kinds)]
        self.temps = [Buffer(f"t{k}", d, self.size, "temp") for k, d in enumerate(DTYPES)]
        self.scalars: list[Expr] = []
        self.loops: list[tuple[Expr, int]] = []
        self.frozen: set[Buffer] = set()
        self.hidden: set[Buffer] = set()

    def pick(self, items):
        return items[int(self.random.integers(len(items)))]

    def chance(self, p: float) -> bool:
        return self.random.random() < p

    def function(self) -> Function:
        body = self.block(3, 4)
        return Function("f", self.inputs, self.outputs, self.e, body, self.temps)

    # --- expressions ---

    def const(self, dtype: np.dtype) -> Expr:
        if kind(dtype) == "b":
            return self.e.const(self.chance(0.5), dtype)
        if kind(dtype) in "iu":
            return self.e.const(int(self.random.integers(0, 9)), dtype)
        return self.e.const(self.pick([0.0, -0.0, 1.5, -2.25, 3e4, np.inf, 0.1]), dtype)

    def index(self) -> Expr:
        """In range of every buffer: a constant, a loop variable in some direction, or anything clamped."""
        e, short = self.e, [(v, n) for v, n in self.loops if n <= self.size]
        if short and self.chance(0.7):
            var, n = self.pick(short)
            if self.chance(0.3):
                return e.prim("sub", e.index(n - 1), var)
            if self.chance(0.3) and (2 * n <= self.size):
                return e.prim("add", e.prim("mul", var, e.index(2)), e.index(int(self.random.integers(0, 2))))
            return e.prim("add", var, e.index(int(self.random.integers(0, self.size - n + 1))))
        if self.chance(0.5):
            return e.index(int(self.random.integers(self.size)))
        return e.prim("max", e.index(0), e.prim("min", self.expr(INT64, 1), e.index(self.size - 1)))

    def expr(self, dtype: np.dtype, depth: int) -> Expr:
        if depth == 0 or self.chance(0.15):
            return self.leaf(dtype)
        e = self.e
        if self.chance(0.2):
            return e.convert(self.expr(self.pick([*DTYPES, BF16]), depth - 1), dtype)
        if self.chance(0.15) or kind(dtype) == "h":
            return e.prim("select", *(self.expr(d, depth - 1) for d in (BOOL, dtype, dtype)))
        if dtype == BOOL and self.chance(0.6):
            of = self.pick(DTYPES)
            op = self.pick(["lt", "le", "eq", "ne", "gt", "ge"])
            return e.prim(op, self.expr(of, depth - 1), self.expr(of, depth - 1))
        ops = [op for op, of in RULES if of == kind(dtype) and op not in SKIPPED and
               op not in ("eq", "ne", "lt", "le", "gt", "ge", "is_finite")]
        op = self.pick(ops)
        count = {"fma": 3}.get(op) or (1 if op in ("neg", "abs", "sign", "sqrt", "floor", "ceil", "trunc", "round_even",
                                                  "round_away", "not", "popcount", "clz") else 2)
        return e.prim(op, *(self.expr(dtype, depth - 1) for _ in range(count)))

    def leaf(self, dtype: np.dtype) -> Expr:
        variables = [v for v in [*self.scalars, *(v for v, _ in self.loops)] if v.dtype == dtype]
        if variables and self.chance(0.5):
            return self.pick(variables)
        buffers = [b for b in [*self.inputs, *self.outputs, *self.temps] if b.dtype == dtype and b not in self.hidden]
        if buffers and self.chance(0.8):
            buffer = self.pick(buffers)
            if self.chance(0.2):
                index = self.expr(INT64, 1)
                low, high = self.e.prim("ge", index, self.e.index(0)), self.e.prim("lt", index, self.e.index(self.size))
                return self.e.make("load", dtype, (index, self.e.prim("and", low, high)), buffer)
            return self.e.load(buffer, self.index())
        return self.const(dtype) if kind(dtype) != "h" else self.e.convert(self.const(F32), dtype)

    # --- statements ---

    def writable(self) -> list[Buffer]:
        return [b for b in [*self.outputs, *self.temps] if b not in self.frozen]

    def block(self, depth: int, most: int) -> list[Stmt]:
        saved = len(self.scalars)
        body = [s for _ in range(int(self.random.integers(1, most + 1))) for s in self.stmt(depth)]
        self.inside = list(self.scalars)
        del self.scalars[saved:]
        return body

    def stmt(self, depth: int) -> list[Stmt]:
        makers = [self.store, self.let]
        if depth > 0:
            makers += [self.serial, self.vector, self.vector, self.reduction, self.branch, self.switch, self.repeat]
        if depth == 3:
            makers += [self.whole]
        if not self.frozen:
            makers += [self.swap]
        return self.pick(makers)(depth)

    def store(self, depth: int) -> list[Stmt]:
        if not self.writable():
            return [Comment("nothing to write")]
        target = self.pick(self.writable())
        return [Store(target, self.index(), self.expr(target.dtype, 3))]

    def let(self, depth: int) -> list[Stmt]:
        value = self.expr(self.pick(DTYPES), 3)
        var = self.e.var(value.dtype)
        self.scalars.append(var)
        return [Let(var, value)]

    def whole(self, depth: int) -> list[Stmt]:
        target, e = self.pick(self.writable()), self.e
        source = self.pick([b for b in self.inputs if b.dtype == target.dtype])
        count = e.index(int(self.random.integers(self.size + 1)))
        if self.chance(0.5):
            return [Copy(target, e.index(0), source, e.index(0), count)]
        if self.chance(0.2):
            ok = self.expr(BOOL, 2)
            return [Check(e.prim("or", ok, self.expr(BOOL, 1)), 4, (self.expr(INT64, 1),))]
        return [Fill(target, e.index(0), self.expr(target.dtype, 1), count)]

    def swap(self, depth: int) -> list[Stmt]:
        """The two temporaries of one dtype, or all of that one dtype as they are."""
        pair = [t for t in self.temps if t.dtype == F32]
        return [SwapBuffers(tuple(pair), tuple(pair[::-1] if self.chance(0.9) else pair))]

    def carries(self, dtypes: list[np.dtype]) -> list[Carry]:
        return [Carry(self.e.var(d, "c"), self.expr(d, 1), self.e.const(0, d), self.e.var(d, "r")) for d in dtypes]

    def serial(self, depth: int) -> list[Stmt]:
        e = self.e
        trips = int(self.random.integers(0, 5))
        carries = self.carries([self.pick(DTYPES) for _ in range(int(self.random.integers(0, 3)))])
        mode = self.pick(["serial", "serial", "unroll"])
        var = e.var(INT64, "i")
        stop = e.index(trips)
        if mode == "serial" and self.chance(0.4):
            stop = e.prim("max", e.index(-1), e.prim("min", self.expr(INT64, 1), e.index(trips)))
        saved = len(self.scalars)
        self.scalars += [c.var for c in carries]
        self.loops.append((var, max(trips, 1)))
        body = self.block(depth - 1, 3)
        kept = self.inside
        outer, self.scalars = self.scalars, kept
        for c in carries:
            c.next = self.expr(c.var.dtype, 2)
        self.scalars = outer
        del self.scalars[saved:]
        self.loops.pop()
        self.scalars += [c.out for c in carries]
        return [For(var, e.index(0), stop, body, carries, mode)]

    def vector(self, depth: int) -> list[Stmt]:
        """Writes one buffer at its own place and reads it nowhere; all others are frozen."""
        e = self.e
        if not self.writable():
            return self.let(depth)
        target, n = self.pick(self.writable()), int(self.random.integers(1, self.size + 1))
        frozen, hidden, saved = set(self.frozen), set(self.hidden), len(self.scalars)
        self.frozen = {*self.outputs, *self.temps}
        self.hidden = self.hidden | {target}
        var = e.var(INT64, "j")
        self.loops.append((var, n))
        body = self.block(depth - 1, 2) if self.chance(0.6) else []
        inside, outer = (self.inside if body else self.scalars), self.scalars
        self.scalars = inside
        place = e.prim("sub", e.index(n - 1), var) if self.chance(0.2) else var
        body.append(Store(target, place, self.expr(target.dtype, 4)))
        if self.chance(0.3):
            body.append(If(self.expr(BOOL, 2), [Store(target, place, self.expr(target.dtype, 2))], []))
        self.scalars = outer
        del self.scalars[saved:]
        self.loops.pop()
        self.frozen, self.hidden = frozen, hidden
        stop = e.index(n)
        if self.chance(0.4):
            stop = e.prim("max", e.index(-3), e.prim("min", self.expr(INT64, 1), e.index(n)))
        return [For(var, e.index(0), stop, body, [], self.pick(["vector", "parallel"]))]

    def reduction(self, depth: int) -> list[Stmt]:
        """Exact ones only; maxima of sizes, as the order of zeros is open."""
        e, n = self.e, int(self.random.integers(0, self.size + 1))
        var = e.var(INT64, "k")
        self.loops.append((var, max(n, 1)))
        carries = []
        for _ in range(int(self.random.integers(1, 3))):
            dtype = self.pick(DTYPES)
            op = self.pick(["max"] if kind(dtype) == "f" else ["add", "mul", "min", "max", "and", "or", "xor"])
            term = self.expr(dtype, 3)
            term = e.prim("abs", term) if kind(dtype) == "f" else term
            init = self.const(dtype) if kind(dtype) != "f" else e.const(0.5, dtype)
            c = e.var(dtype, "c")
            if kind(dtype) == "b" and op in ("xor",):
                op = "or"
            carries.append(Carry(c, init, e.prim(op, c, term), e.var(dtype, "r"), op, term))
        self.loops.pop()
        self.scalars += [c.out for c in carries]
        return [For(var, e.index(0), e.index(n), [], carries, "vector")]

    def branch(self, depth: int) -> list[Stmt]:
        cond = self.expr(BOOL, 2)
        bodies, values = [], []
        dtypes = [self.pick(DTYPES) for _ in range(int(self.random.integers(0, 3)))]
        for _ in range(2):
            bodies.append(self.block(depth - 1, 2))
            values.append(self._results(dtypes))
        outs = [self.e.var(d, "o") for d in dtypes]
        self.scalars += outs
        return [If(cond, *bodies, list(zip(outs, *values, strict=True)))]

    def _results(self, dtypes: list[np.dtype]) -> list[Expr]:
        outer, self.scalars = self.scalars, self.inside
        values = [self.expr(d, 2) for d in dtypes]
        self.scalars = outer
        return values

    def switch(self, depth: int) -> list[Stmt]:
        e, dtype, count = self.e, self.pick(DTYPES), int(self.random.integers(1, 4))
        index = e.prim("max", e.index(0), e.prim("min", self.expr(INT64, 2), e.index(count - 1)))
        branches, values = [], []
        for _ in range(count):
            branches.append(self.block(depth - 1, 2))
            values += self._results([dtype])
        out = e.var(dtype, "o")
        self.scalars.append(out)
        return [Switch(index, branches, [(out, tuple(values))])]

    def repeat(self, depth: int) -> list[Stmt]:
        """Counts down, so that it ends."""
        e = self.e
        count, dtype = e.var(INT64, "n"), self.pick(DTYPES)
        other = self.carries([dtype])[0]
        counter = Carry(count, e.index(int(self.random.integers(0, 4))), e.prim("sub", count, e.index(1)), e.var(INT64))
        saved = len(self.scalars)
        self.scalars += [count, other.var]
        test = e.var(BOOL, "t")
        cond_body: list[Stmt] = [Let(test, e.prim("gt", count, e.index(0))), *self.store(0)]
        body = self.block(depth - 1, 2)
        other.next = self._results([dtype])[0]
        cond = e.prim("and", test, e.prim("or", self.expr(BOOL, 1), test))
        del self.scalars[saved:]
        self.scalars += [counter.out, other.out]
        return [While([counter, other], cond_body, cond, body)]
