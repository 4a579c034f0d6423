"""Nodes of loop IR, the representation of a program between the jaxpr and LLVM.

A `Function` owns `Buffer`s (flat, contiguous memory) and a block of statements over them. Statements hold
scalar `Expr`essions: a hash-consed DAG, so equal expressions are the same object. `verification/interpreter` defines the
semantics of a function; `printer` writes it as text, which `parser` reads back; `traversal` knows the parts of each statement.

Rules:
- An expression is evaluated at the statement that uses it. A `load` sees the memory at that time; `Let` pins a value to a
  point in the program (needed if a later store overwrites the loaded element).
- Indices are flat element offsets of dtype int64.
- Only real scalar types occur (bool, ints, uints, float16, bfloat16, float32, float64). Complex numbers and PRNG keys
  are lowered to them by the builder. float16 and bfloat16 are only loaded, stored, selected, bitcast and converted.
- All operations are total: integer division by zero gives -1 (remainder: the dividend), INT_MIN / -1 wraps,
  shifts by at least the width give 0 (or the sign, for `shra`), float to int conversion saturates and sends NaN to 0.
- `min` and `max` return NaN when one operand is NaN.
- `scale(x, n)` is x * 2**floor(n), rounded once; n must not be infinite. `exponent(x)` is floor(log2 |x|) as a float, -inf for
  zeros, infinity for infinities. `significand(x)` is x / 2**exponent(x), 1 for zeros and infinity; NaN for negative numbers.
  Only some CPUs have these three (EXPONENTS).
"""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.cpu.ir.tables import TABLES
from numjet.cpu.ir.types import usual_dtype
from numjet.foundation.record import Fields, default_factory

INT64 = np.dtype(np.int64)
BOOL = np.dtype(np.bool_)

CALLBACK = "nj.callback."  # prefix of the symbols of calls into Python
RAISES = CALLBACK + "raises"  # begins the names of those that only raise an error
KERNEL_STATUS = 1 << 32   # added to the status of a failed kernel, to tell it from that of a check

# Operations that the code generator implements directly: name -> number of operands.
ARITHMETIC = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "rem": 2, "neg": 1, "abs": 1, "sign": 1, "min": 2, "max": 2,
    "fma": 3, "sqrt": 1, "floor": 1, "ceil": 1, "trunc": 1, "round_even": 1, "round_away": 1, "copysign": 2,
    "and": 2, "or": 2, "xor": 2, "not": 1, "shl": 2, "shra": 2, "shrl": 2, "rotl": 2, "popcount": 1, "clz": 1,
    "eq": 2, "ne": 2, "lt": 2, "le": 2, "gt": 2, "ge": 2, "is_finite": 1, "select": 3, "mulhi": 2,
    "scale": 2, "exponent": 1, "significand": 1,
}
EXPONENTS = ("scale", "exponent", "significand")   # those of ARITHMETIC that only Target.exponents have
# Expanded by mathlib into ARITHMETIC, or called from the C library, lane by lane, where mathlib has no expansion.
MATH = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log1p": 1, "log2": 1, "sin": 1, "cos": 1, "tan": 1, "asin": 1,
    "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1, "atan2": 2, "pow": 2,
    "hypot": 2, "cbrt": 1,
    "rsqrt": 1, "logistic": 1, "erf": 1, "erfc": 1, "erf_inv": 1, "lgamma": 1, "digamma": 1, "nextafter": 2,
    "fmod": 2,
}


class Buffer:
    """A flat array of `size` elements. `kind`: input, output, temp, const (`data` holds the values) or tile: the result of a
    product of which only one tile exists at a time, see `GemmWithEpilogue`.

    `cell`, for operands of `SwapBuffers`: a pseudo-buffer for the variable that holds the buffer's address. A swap writes the
    cell, which invalidates values computed from it like a store invalidates loads.
    """

    __slots__ = ("cell", "data", "dtype", "kind", "least", "name", "offset", "size")

    def __init__(self, name: str, dtype: np.dtype, size: int, kind: str, data: np.ndarray | None = None):
        self.name, self.dtype, self.size, self.kind, self.data = name, dtype, size, kind, data
        self.offset: int | None = None  # bytes into the scratch arena, set by the memory plan for temps
        self.cell: Buffer | None = None
        self.least: int | None = None   # where the size depends on that of an axis: the least that it is; `size` is the most

    @property
    def certain(self) -> int:
        """Elements that are there whatever the sizes are."""
        return self.size if self.least is None else self.least

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"%{self.name}"


class Expr:
    """One scalar value. op: `const` (attr: value), `var` (attr: name), `load` (attr: Buffer, args: index), `convert`,
    `bitcast`, `select_rare`, `lookup` (attr: name of one of TABLES, args: int64 index, modulo the length of the table),
    `libm` (attr: name of a C function such as "sinf", args: operands), or a name of ARITHMETIC or MATH.

    A load with a second operand, a bool mask, is a masked load: it accesses memory only where the mask holds, so its index
    may be out of bounds elsewhere, where the value is 0.

    select_rare(cond, rare, usual) is a select that evaluates `rare` only if cond is true in some lane, so that it may be a
    slow `libm` call.
    """

    __slots__ = ("args", "attr", "dtype", "id", "op")

    def __init__(self, op: str, dtype: np.dtype, args: tuple[Expr, ...], attr: Any, id: int):
        self.op, self.dtype, self.args, self.attr, self.id = op, dtype, args, attr, id

    def __repr__(self) -> str:
        if self.op in ("const", "var"):
            return f"{self.attr}"
        head = f"{self.attr}" if self.op == "load" else self.op
        return f"{head}({', '.join(map(repr, self.args))})"


class Exprs:
    """Hash-consing table of expressions. `make` does not simplify; lowering/scalars folds constants on top of it."""

    def __init__(self) -> None:
        self.table: dict[tuple, Expr] = {}
        self.indices: dict[int, Expr] = {}
        self.counter = 0

    def make(self, op: str, dtype: np.dtype, args: tuple[Expr, ...] = (), attr: Any = None) -> Expr:
        key = (op, dtype, attr if attr is None else _attr_key(attr), *[a.id for a in args])
        found = self.table.get(key)
        if found is None:
            found = self.table[key] = Expr(op, dtype, args, attr, len(self.table))
        return found

    def const(self, value: Any, dtype: np.dtype) -> Expr:
        """A constant; `value` is stored as a NumPy scalar of `dtype`."""
        return self.make("const", dtype, (), np.asarray(value).astype(dtype)[()])

    def index(self, value: int) -> Expr:
        found = self.indices.get(value)
        if found is None:
            found = self.indices[value] = self.const(value, INT64)
        return found

    def var(self, dtype: np.dtype, hint: str = "v") -> Expr:
        """A new variable, to be bound by exactly one statement."""
        self.counter += 1
        return self.make("var", dtype, (), f"{hint}{self.counter}")

    def load(self, buffer: Buffer, index: Expr) -> Expr:
        return self.make("load", buffer.dtype, (index,), buffer)

    def lookup(self, table: str, index: Expr) -> Expr:
        """An element of one of TABLES."""
        return self.make("lookup", TABLES[table].dtype, (index,), table)

    def prim(self, op: str, *args: Expr) -> Expr:
        """An operation of ARITHMETIC or MATH with its usual result type (comparisons: bool)."""
        return self.make(op, usual_dtype(op, args), args)

    def convert(self, x: Expr, dtype: np.dtype) -> Expr:
        return x if x.dtype == dtype else self.make("convert", dtype, (x,))

    def bitcast(self, x: Expr, dtype: np.dtype) -> Expr:
        return x if x.dtype == dtype else self.make("bitcast", dtype, (x,))


def _attr_key(attr: Any) -> Any:
    """Hashable identity of an attribute; constants are keyed by their bits, which keeps -0.0 and NaN distinct."""
    return (attr.dtype, attr.tobytes()) if isinstance(attr, np.generic) else attr


class Carry(Fields):
    """A loop-carried value: `var` is bound inside the loop, `next` is its value in the next iteration, `out` is bound after it.

    `combine` (add, mul, min, max, and, or, xor) marks a reduction, next == combine(var, term), which may be split into
    partial results.
    """
    var: Expr
    init: Expr
    next: Expr
    out: Expr
    combine: str | None = None
    term: Expr | None = None


class Let(Fields):
    """Evaluates `value` now and binds it to `var` for the rest of the block."""
    var: Expr
    value: Expr


class Store(Fields):
    buffer: Buffer
    index: Expr
    value: Expr


class For(Fields):
    """for var in range(start, stop). `mode`:
    serial: in order; vector: iterations are independent apart from reductions, codegen chooses the lanes;
    parallel: iterations are independent and shared among threads, each of which runs its own in order (with carries, or
    inside of another parallel loop: as vector); unroll: a short loop with constant bounds, to be unrolled.

    Annotations of passes for later ones: `fused`: the result of loop fusion; `cancellation_point`: the number of iterations
    before the first check for cancellation; `limit`: iterations from here on have no effect that matters (passes/limits.py);
    `independent`: iterations may run at the same time, as was shown for known bounds (generic/independence.py)."""
    var: Expr
    start: Expr
    stop: Expr
    body: list[Stmt]
    carries: list[Carry] = default_factory(list)
    mode: str = "serial"
    fused: bool = False
    cancellation_point: int | None = None
    limit: Expr | None = None
    independent: bool = False

    def replace(self, **changes: Any) -> For:
        """A copy with some fields changed, which shares the others."""
        return For(**{**self.__dict__, **changes})


class While(Fields):
    """Repeats `body` as long as `cond` (evaluated after the statements of `cond_body`) holds. `idempotent_after_exit`: once
    the condition is false, further iterations change nothing, so the lanes of vector code may continue until the last one
    has finished. `cancellation_point`: see For."""
    carries: list[Carry]
    cond_body: list[Stmt]
    cond: Expr
    body: list[Stmt]
    idempotent_after_exit: bool = False
    cancellation_point: int | None = None


class If(Fields):
    """`results`: (out variable, value in then, value in else), bound after the statement. rare: `then` is hardly ever run."""
    cond: Expr
    then: list[Stmt]
    orelse: list[Stmt]
    results: list[tuple[Expr, Expr, Expr]] = default_factory(list)
    rare: bool = False


class Switch(Fields):
    """Runs the branch number `index`, an int64 already clamped to range(len(branches))."""
    index: Expr
    branches: list[list[Stmt]]
    results: list[tuple[Expr, tuple[Expr, ...]]] = default_factory(list)


class Copy(Fields):
    """memmove of `count` elements between buffers of one dtype."""
    target: Buffer
    target_start: Expr
    source: Buffer
    source_start: Expr
    count: Expr


class Fill(Fields):
    target: Buffer
    start: Expr
    value: Expr
    count: Expr


class SwapBuffers(Fields):
    """Permutes the memory of buffers without copying: from here on, targets[k] names the memory that sources[k] named.

    Both sides name the same buffers, each once: distinct temporaries of one dtype and size. So different buffers never
    alias. At the end of an iteration of a parallel loop, every buffer names the same memory as at its start.
    """
    targets: tuple[Buffer, ...]
    sources: tuple[Buffer, ...]

    def __post_init__(self) -> None:
        for buffer in self.targets:
            buffer.cell = buffer.cell or Buffer(f"{buffer.name}.cell", INT64, 1, "cell")


class Call(Fields):
    """Calls the C function `symbol`, void or returning an int64 status when `checked`.

    An argument is an Expr (int64, float64 ...: passed by value) or a pair (Buffer, offset Expr): a pointer.
    `writes` names the buffers that the call may write, `reads` those that it may read. On a status other than 0 the function
    returns KERNEL_STATUS | status. `limits`: places of sizes among the arguments, each with an expression; what a size beyond
    it would add does not matter (passes/limits.py).
    """
    symbol: str
    args: list[Expr | tuple[Buffer, Expr]]
    reads: tuple[Buffer, ...] = ()
    writes: tuple[Buffer, ...] = ()
    checked: bool = False
    limits: tuple[tuple[int, Expr], ...] = ()


class GemmWithEpilogue(Call):
    """A matrix product with a fused epilogue: a call of `nj_gemm_epilogue` (see kernels/products.py; `args` as for `nj_gemm`).

    `body`, one loop, runs on each part of the result as soon as that is computed. `bounds` are variables for the part: its
    first row, end of rows, first column and end of columns. Parts come in any order and are shared among threads; with
    `whole`, rows are not split. A result of kind `tile` exists only while the body runs, which may change it.
    """
    bounds: tuple[Expr, ...] = ()
    body: list[Stmt] = default_factory(list)
    whole: bool = False

    @property
    def result(self) -> Buffer:
        """The buffer of the product."""
        return self.writes[0]


class Check(Fields):
    """Returns from the function with status `code` if `ok` is false; `values` (int64, at most 7) go into info[1:].

    `deferrable`: nothing behind it relies on it, so loops may move in front of it.
    """
    ok: Expr
    code: int
    values: tuple[Expr, ...] = ()
    deferrable: bool = False


class Comment(Fields):
    """Origin of the following statements: the operation and the user's line."""
    text: str
    file: str | None = None
    line: int = 0


Stmt = Let | Store | For | While | If | Switch | Copy | Fill | SwapBuffers | Call | GemmWithEpilogue | Check | Comment


class Function(Fields):
    """A whole program. Machine code: int64 name(char** ins, char** outs, char* scratch, int64* info)."""
    name: str
    inputs: list[Buffer]
    outputs: list[Buffer]
    exprs: Exprs
    body: list[Stmt] = default_factory(list)
    temps: list[Buffer] = default_factory(list)
    consts: list[Buffer] = default_factory(list)
    scratch_bytes: int = 0
    errors: list[Any] = default_factory(list)  # errors[k] explains status code k + 1
    leading: dict[Buffer, tuple[Expr, int, int]] = default_factory(dict)  # outputs of whose elements the first n * size - less
    # count, by (n, size, less)
    within: dict[Expr, tuple[Expr, int]] = default_factory(dict)     # loads known to be of one of the first n * size elements
