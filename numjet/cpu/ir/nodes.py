"""Loop IR: what a program is between the jaxpr and LLVM.

A `Function` owns `Buffer`s (flat, contiguous memory) and a block of statements over them. Statements hold
scalar `Expr`essions: a hash-consed DAG, so equal expressions are the same object. The meaning of a function is
defined by `verification/interpreter`; `printer` writes it as text, which `parser` reads back; `traversal` knows what each
statement consists of.

Rules:
- An expression is evaluated where the statement that uses it stands. A `load` sees the memory of that moment;
  `Let` pins a value to a point in time (needed when a later store overwrites what the load read).
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

CALLBACK = "nj.callback."  # begins the symbols of calls into Python
KERNEL_STATUS = 1 << 32   # added to the status of a failed kernel, so that it is no check's

# name -> number of operands; what the code generator implements directly
ARITHMETIC = {
    "add": 2, "sub": 2, "mul": 2, "div": 2, "rem": 2, "neg": 1, "abs": 1, "sign": 1, "min": 2, "max": 2,
    "fma": 3, "sqrt": 1, "floor": 1, "ceil": 1, "trunc": 1, "round_even": 1, "round_away": 1, "copysign": 2,
    "and": 2, "or": 2, "xor": 2, "not": 1, "shl": 2, "shra": 2, "shrl": 2, "popcount": 1, "clz": 1,
    "eq": 2, "ne": 2, "lt": 2, "le": 2, "gt": 2, "ge": 2, "is_finite": 1, "select": 3, "mulhi": 2,
    "scale": 2, "exponent": 1, "significand": 1,
}
EXPONENTS = ("scale", "exponent", "significand")   # those of ARITHMETIC that only Target.exponents have
# Expanded by mathlib into ARITHMETIC, or called by lane from the C library where mathlib has no expansion yet.
MATH = {
    "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log1p": 1, "log2": 1, "sin": 1, "cos": 1, "tan": 1, "asin": 1,
    "acos": 1, "atan": 1, "sinh": 1, "cosh": 1, "tanh": 1, "asinh": 1, "acosh": 1, "atanh": 1, "atan2": 2, "pow": 2,
    "hypot": 2, "cbrt": 1,
    "rsqrt": 1, "logistic": 1, "erf": 1, "erfc": 1, "erf_inv": 1, "lgamma": 1, "digamma": 1, "nextafter": 2,
    "fmod": 2,
}


class Buffer:
    """A flat array of `size` elements; `kind` is input, output, temp, const (then `data` holds the values) or tile: the
    result of a product of which only a tile is there at a time, see `GemmWithEpilogue`.


    `cell`: of a buffer that an `SwapBuffers` names, what stands for the place where the program notes its address: values
    that have read a cell are not valid any more once it is written, as those that have read a buffer.
    """

    __slots__ = ("cell", "data", "dtype", "kind", "name", "offset", "size")

    def __init__(self, name: str, dtype: np.dtype, size: int, kind: str, data: np.ndarray | None = None):
        self.name, self.dtype, self.size, self.kind, self.data = name, dtype, size, kind, data
        self.offset: int | None = None  # bytes into the scratch arena, set by the memory plan for temps
        self.cell: Buffer | None = None

    @property
    def nbytes(self) -> int:
        return self.size * self.dtype.itemsize

    def __repr__(self) -> str:
        return f"%{self.name}"


class Expr:
    """One scalar value. op is `const` (attr: value), `var` (attr: name), `load` (attr: Buffer, args: index),
    `convert`, `bitcast`, `select_rare`, `lookup` (attr: name of one of TABLES, args: int64 index, which counts
    modulo the table's length), or a name of ARITHMETIC or MATH.

    A load with a second operand, a bool mask, touches memory only where the mask holds (elsewhere the value is 0): its
    index may then be out of bounds. In vector code it is a masked load.

    select_rare(cond, rare, usual): as select, but `rare` is only evaluated where some lane's cond is true, so it may
    be a slow `libm` call (op "libm", attr: C function name such as "sinf"; args: operands).
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
    """Makes expressions, each distinct one once. `make` is raw; lowering/scalars folds constants on top of it."""

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
        """A fresh variable, to be bound by exactly one statement."""
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
    """Hashable identity of an attribute; constants by their bits, so that -0.0 and NaN keep apart."""
    return (attr.dtype, attr.tobytes()) if isinstance(attr, np.generic) else attr


class Carry(Fields):
    """A value that a loop hands from one iteration to the next.

    `var` is bound inside the loop, `next` is its value for the next iteration, `out` is bound after the loop.
    `combine` (add, mul, min, max, and, or, xor) says that next == combine(var, term): such a carry may be split
    into partial results; `term` is that term.
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
    serial: in order; vector: iterations are independent apart from combining carries, codegen chooses lanes;
    parallel: iterations are independent and shared among threads, each going through its own in order (with carries, or
    inside of another parallel loop: as vector); unroll: static and short, to be repeated in line.

    Annotations that passes leave for later ones: `fused`: others were joined with this loop; `polls`: after so many iterations
    it asks for the first time whether it is still wanted."""
    var: Expr
    start: Expr
    stop: Expr
    body: list[Stmt]
    carries: list[Carry] = default_factory(list)
    mode: str = "serial"
    fused: bool = False
    polls: int | None = None

    def replace(self, **changes: Any) -> For:
        """A loop with some fields changed, which shares all others."""
        return For(**{**self.__dict__, **changes})


class While(Fields):
    """Repeats `body` as long as `cond` (evaluated after the statements of `cond_body`) holds. `idempotent_after_exit`: once
    the condition is false, further repetitions change nothing, so lanes of vector code may go on until the last one has
    finished. `polls`: as of a For."""
    carries: list[Carry]
    cond_body: list[Stmt]
    cond: Expr
    body: list[Stmt]
    idempotent_after_exit: bool = False
    polls: int | None = None


class If(Fields):
    """`results`: (out variable, value in then, value in else), bound after the statement."""
    cond: Expr
    then: list[Stmt]
    orelse: list[Stmt]
    results: list[tuple[Expr, Expr, Expr]] = default_factory(list)


class Switch(Fields):
    """Several branches on an int64 `index`, which is already clamped to range(len(branches))."""
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
    """Buffers take each other's memory, and nothing is copied: from here on, targets[k] is what sources[k] was.

    Both name the same buffers, each once: distinct temporaries of one dtype and size. What different buffers name is
    therefore different memory at any time. An iteration of a parallel loop ends with the names it began with.
    """
    targets: tuple[Buffer, ...]
    sources: tuple[Buffer, ...]

    def __post_init__(self) -> None:
        for buffer in self.targets:
            buffer.cell = buffer.cell or Buffer(f"{buffer.name}.cell", INT64, 1, "cell")


class Call(Fields):
    """Calls the C function `symbol`, void or returning an int64 status when `checked`.

    An argument is an Expr (int64, float64 ...: passed by value) or a pair (Buffer, offset Expr): a pointer.
    `writes` names the buffers that the call may write, `reads` those it may read. A status other than 0 leaves the
    function with KERNEL_STATUS | status.
    """
    symbol: str
    args: list[Expr | tuple[Buffer, Expr]]
    reads: tuple[Buffer, ...] = ()
    writes: tuple[Buffer, ...] = ()
    checked: bool = False


class GemmWithEpilogue(Call):
    """A call of the matrix product `nj_gemm_epilogue` (see kernels/products.py; `args` as of `nj_gemm`), and what is done with
    each part of its result as soon as it is there: `body`, one loop, for the rows and columns of the result between
    `bounds`, variables that hold the first row, the end of the rows, the first column and the end of the columns.

    Parts come in any order and are shared among threads; `whole` says that rows are not cut. A result of kind `tile` is
    there only while the body reads it.
    """
    bounds: tuple[Expr, ...] = ()
    body: list[Stmt] = default_factory(list)
    whole: bool = False

    @property
    def result(self) -> Buffer:
        """What the product writes."""
        return self.writes[0]


class Check(Fields):
    """Leaves the function with status `code` when `ok` is false; `values` (int64, at most 7) go into info[1:]."""
    ok: Expr
    code: int
    values: tuple[Expr, ...] = ()


class Comment(Fields):
    """Where the following statements come from: the operation and the user's line."""
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
    errors: list[Any] = default_factory(list)  # what status code k + 1 means
