"""Builder protocols for lowering rules (`cpu` and `hlo` slots). The cpu and xla packages implement them; rules see
nothing else.

Elementwise records get scalars: `cpu=lambda b, x, y: b.add(x, y)`. All other records get arrays: `cpu=rule(b, *arrays,
**params)`, returning an array handle (a list for multiple results). An array handle has `.aval, .shape, .dtype, .ndim`.

Arrays made by `compute` are *deferred*: `fn(*index) -> Scalar` is written out wherever an element is read, so a chain of
deferred arrays becomes one loop. The compiler decides which arrays are stored.

Index values are Scalars of dtype int64 or Python ints; arithmetic on them is written with + - * // % and comparisons
(< <= > >=) directly; `//` and `%` take positive divisors and round towards minus infinity.
"""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr


class Scalar(Protocol):
    """One element during emission. Complex scalars are handles, too: add, mul, ... work on them."""
    dtype: np.dtype


Index = Any  # int | Scalar of dtype int64


class ScalarBuilder(Protocol):
    """Arithmetic on scalars. Operands must have equal dtypes; half-precision floats are computed in float32 and rounded."""

    def const(self, value: Any, dtype: Any) -> Scalar: ...
    # add sub mul div rem neg abs sign min max fma sqrt floor ceil trunc round_even round_away copysign
    # and_ or_ xor not_ shl shra shrl rotl popcount clz is_finite: as cpu.loop_ir.ARITHMETIC, by `prim`
    def prim(self, name: str, *args: Scalar) -> Scalar:
        """An operation of loop_ir.ARITHMETIC or loop_ir.MATH by name, e.g. prim("add", x, y), prim("select", c, x, y).
        For complex operands: add sub mul div neg eq ne select are defined; other functions by real and imag parts."""
        ...
    def math(self, name: str, *args: Scalar) -> Scalar:
        """As prim, for transcendental functions of real floats."""
        ...
    def add(self, x: Scalar, y: Scalar) -> Scalar: ...
    def sub(self, x: Scalar, y: Scalar) -> Scalar: ...
    def mul(self, x: Scalar, y: Scalar) -> Scalar: ...
    def div(self, x: Scalar, y: Scalar) -> Scalar: ...
    def neg(self, x: Scalar) -> Scalar: ...
    def compare(self, op: str, x: Scalar, y: Scalar) -> Scalar:
        """op: eq ne lt le gt ge. The result is a bool scalar."""
        ...
    def select(self, cond: Scalar, on_true: Scalar, on_false: Scalar) -> Scalar: ...
    def convert(self, x: Scalar, dtype: Any) -> Scalar:
        """Value conversion: float to int saturates and sends NaN to 0; to bool: != 0; from complex: the real part."""
        ...
    def bitcast(self, x: Scalar, dtype: Any) -> Scalar:
        """Same bits, another type of the same width."""
        ...
    def real(self, x: Scalar) -> Scalar: ...
    def imag(self, x: Scalar) -> Scalar: ...
    def complex(self, re: Scalar, im: Scalar) -> Scalar: ...
    def pair(self, first: Scalar, second: Scalar, dtype: Any) -> Scalar:
        """A compound element (complex number or PRNG key) of two words; `x.parts` are its words."""
        ...


class NamedArithmetic:
    """The methods of a ScalarBuilder for common operations, by the operation's name."""

    def prim(self, name: str, *args: Any) -> Any:
        raise NotImplementedError

    def math(self, name: str, *args: Any) -> Any:
        return self.prim(name, *args)

    def add(self, x: Any, y: Any) -> Any:
        return self.prim("add", x, y)

    def sub(self, x: Any, y: Any) -> Any:
        return self.prim("sub", x, y)

    def mul(self, x: Any, y: Any) -> Any:
        return self.prim("mul", x, y)

    def div(self, x: Any, y: Any) -> Any:
        return self.prim("div", x, y)

    def neg(self, x: Any) -> Any:
        return self.prim("neg", x)

    def compare(self, op: str, x: Any, y: Any) -> Any:
        return self.prim(op, x, y)


class LoopBuilder(ScalarBuilder, Protocol):
    """Arrays: deferred arrays, reductions, updates, kernels and control flow."""

    # -- deferred arrays
    def read(self, x: Any, *index: Index) -> Scalar:
        """Element of an array. The index must be in bounds wherever it is evaluated."""
        ...
    def compute(self, shape: Sequence[int], dtype: Any, fn: Callable[..., Scalar], *, moves: bool = False, finds: float = 0.0,
                pieces: tuple[Sequence[Any], int] | None = None, row: Any = None) -> Any:
        """The array out[i, j, ...] = fn(i, j, ...). `moves=True`: fn only moves data (no arithmetic worth saving), which it
        finds in about `finds` operations.
        pieces=(arrays, axis): it is these arrays, joined along an axis. row: it repeats this array of its last axes."""
        ...
    def pieces(self, x: Any) -> tuple[Sequence[Any], int] | None:
        """The arrays that were joined to x, and along which axis, while it is not stored; None for any other array."""
        ...
    def elementwise(self, fn: Callable[..., Scalar], *arrays: Any, dtype: Any = None) -> Any:
        """out[i] = fn(*[x[i]]); arrays of rank 0 are read everywhere."""
        ...
    def materialize(self, x: Any) -> Any:
        """The same array, stored in memory (or registers) once."""
        ...
    def let(self, x: Scalar) -> Scalar:
        """The same scalar, computed here and once. Inside loop."""
        ...
    def bounded(self, x: Scalar, low: int, high: int) -> Scalar:
        """The same integer scalar, known to be within low ... high whatever the program's values are, so that as an index it
        needs not be moved there."""
        ...
    def constant(self, value: np.ndarray) -> Any: ...
    def reshape(self, x: Any, shape: Sequence[int]) -> Any:
        """Same elements in row-major order."""
        ...
    def transpose(self, x: Any, permutation: Sequence[int]) -> Any:
        """out axis d is axis permutation[d] of x."""
        ...
    def if_(self, cond: Scalar, then: Callable[[], Scalar], orelse: Callable[[], Scalar]) -> Scalar:
        """Lazy selection: each side may read at indices that are only valid under its condition."""
        ...

    # -- reductions
    def reduce(self, kind: str, x: Any, axes: Sequence[int], dtype: Any = None) -> Any:
        """kind: add mul max min and or xor, over axes. float16 and bfloat16 accumulate in float32."""
        ...
    def fold(self, shape: Sequence[int], over: Sequence[int], inits: Sequence[Scalar],
             step: Callable[..., Sequence[Scalar]]) -> list[Any]:
        """One array per init: out[i] = carry after carry = step(i: tuple, r: tuple, *carry) for r in range(over), in order."""
        ...
    def prefix(self, kind: str, x: Any, axis: int, reverse: bool = False) -> Any:
        """Inclusive cumulative add, mul, max, min or logaddexp."""
        ...
    def dot(self, x: Any, y: Any, contract: tuple[Sequence[int], Sequence[int]],
            batch: tuple[Sequence[int], Sequence[int]], dtype: Any) -> Any:
        """dot_general: batch dims first, then free dims of x, then of y; accumulates in dtype (float32 for halves)."""
        ...

    # -- updates
    def own(self, x: Any) -> Any:
        """A writable array with the elements of x: x itself when x is not read later, else a copy."""
        ...
    def own_around(self, x: Any, starts: Sequence[Scalar], sizes: Sequence[int], new: Any) -> Any:
        """A new writable array with the elements of x around a window; those inside are undefined. For a window that covers
        most of x, all of which `new` replaces. None where `own` is better, as x can be updated in place."""
        ...
    def empty(self, shape: Sequence[int], dtype: Any) -> Any:
        """A writable array with undefined elements."""
        ...
    def loop(self, shape: Sequence[int], body: Callable[..., None], *, ordered: bool = False) -> None:
        """body(i, j, ...) for every index. ordered=False promises that iterations don't depend on each other."""
        ...
    def copies(self, shape: Sequence[int]) -> int:
        """How often `loop` writes its body out: once, unless the loop is short."""
        ...
    def may_write_out(self, operations: int, times: int) -> bool:
        """Whether to write so many scalar operations out, which run `times` in one go, and not to call or loop: programs with
        very many of such operations would take long to compile. Counts those that it allows."""
        ...
    def chunks(self, count: int, body: Callable[[Index], None]) -> None:
        """body(c) for c < count, on several threads. Bodies must write to disjoint locations, and be worth a thread."""
        ...
    def store(self, x: Any, index: Sequence[Index], value: Scalar) -> None:
        """x[index] = value, for an array from own or empty, inside loop or when."""
        ...
    def when(self, cond: Scalar, then: Callable[[], None]) -> None:
        """Runs `then` (stores) only where cond holds. Inside loop."""
        ...

    # -- libraries, errors, sizes
    def kernel(self, symbol: str, args: Sequence[Any], outs: Sequence[ShapedArray], *, checked: bool = False) -> list[Any]:
        """Calls a C function: int64 args (Python ints), arrays as pointers (stored first), then pointers to the results.
        An argument `("own", x)` is a fresh writable copy that is returned as a result before `outs`."""
        ...
    def callback(self, fun: Callable[..., Sequence[np.ndarray]], args: Sequence[Any],
                 outs: Sequence[ShapedArray]) -> list[Any]:
        """Calls the Python function fun(*ndarrays) -> ndarrays of exactly the avals `outs`, at this point of the program.
        Its exception is raised where the program's results are read."""
        ...
    def leading(self, x: Any, n: Any, times: int, plus: int) -> Any:
        """The array, of which a result shows the first n * times + plus rows only (n: an int32 array of rank 0)."""
        ...
    def inside(self, n: Any, shape: Sequence[int], axis: int) -> Any:
        """The bools index[axis] < n (n: an int32 array of rank 0)."""
        ...
    def check(self, ok: Scalar, error: Callable[..., Exception], *values: Index, deferrable: bool = False,
              found: Callable[[], Sequence[Index]] | None = None, value: Scalar | None = None) -> Any:
        """Leaves the program with error(*values) when ok is false. deferrable: what follows may run before the check. found:
        more values, computed where the check fails only. value: the result is this scalar, or 0 where the check fails."""
        ...

    # -- control flow; operands and results are arrays
    def inline(self, jaxpr: ClosedJaxpr, args: Sequence[Any]) -> list[Any]: ...
    def while_loop(self, cond: ClosedJaxpr, cond_consts: Sequence[Any], body: ClosedJaxpr, body_consts: Sequence[Any],
                   init: Sequence[Any]) -> list[Any]: ...
    def scan(self, jaxpr: ClosedJaxpr, consts: Sequence[Any], init: Sequence[Any], xs: Sequence[Any], length: int,
             reverse: bool) -> list[Any]:
        """jaxpr(*consts, *carry, *x) -> (*carry, *y); results: carries, then stacked ys."""
        ...
    def cond(self, index: Any, branches: Sequence[ClosedJaxpr], operands: Sequence[Any], rare: bool = False) -> list[Any]:
        """index: int32 array of rank 0, clamped here to the number of branches. rare: of two, the second one is hardly ever
        taken."""
        ...


class HloBuilder(Protocol):
    """Tensors of a StableHLO program, for `hlo` slots: rule(b, *values, **params) -> value, a list for multiple results.

    A value has `.aval, .shape, .dtype, .ndim`, and `.known`, the number that a constant of rank 0 is. Rules of elementwise
    records get operands of one shape; a rule that is the name of an operation ("stablehlo.add", "chlo.erf") has its operands
    and result; `SCALARS` runs the record's scalar rule on tensors; `Expand(fn)` traces fn, which is written with other
    operations. Keys (dtype `key<fry>`) are tensors of 64-bit words, whose lower half is the first word: data movement needs
    no care.
    """
    platform: str  # cpu, cuda, rocm or tpu: for rules that choose library calls

    def op(self, name: str, operands: Sequence[Any], out: Any, *, attrs: Mapping[str, Any] | None = None,
           regions: Sequence[Any] = ()) -> Any:
        """An operation of the stablehlo or chlo dialect, in its generic form.

        out: the aval of its result, or a list of avals (then a list of values is returned). attrs: MLIR text, or a bool,
        an int (i64), a sequence of ints or bools (dense arrays), or of pairs of ints.
        """
        ...
    def region(self, avals: Sequence[ShapedArray], fn: Callable[..., Any], *, isolated: bool = False) -> Any:
        """A region: fn gets values of the avals and returns the region's results. isolated: it uses no outer values."""
        ...
    def reducer(self, kind: str, dtype: Any) -> Any:
        """The region of two scalars that adds them, or mul, max, min, and, or, xor."""
        ...
    def constant(self, value: Any, dtype: Any = None) -> Any: ...
    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> Any: ...
    def unary(self, name: str, x: Any) -> Any:
        """stablehlo.<name> of one operand, with its aval."""
        ...
    def binary(self, name: str, x: Any, y: Any) -> Any:
        """stablehlo.<name> of two operands of one aval."""
        ...
    def divide(self, x: Any, y: Any) -> Any:
        """x / y; integers: -1 by zero."""
        ...
    def remainder(self, x: Any, y: Any) -> Any:
        """The remainder of x / y, of x's sign; integers: x by zero."""
        ...
    def convert(self, x: Any, dtype: Any) -> Any: ...
    def bitcast(self, x: Any, dtype: Any, shape: Sequence[int] | None = None) -> Any: ...
    def broadcast(self, x: Any, shape: Sequence[int], dims: Sequence[int] | None = None) -> Any: ...
    def reshape(self, x: Any, shape: Sequence[int]) -> Any: ...
    def transpose(self, x: Any, permutation: Sequence[int]) -> Any: ...
    def slice(self, x: Any, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None) -> Any: ...
    def concatenate(self, xs: Sequence[Any], axis: int) -> Any: ...
    def iota(self, shape: Sequence[int], axis: int, dtype: Any) -> Any: ...
    def pad(self, x: Any, value: Any, config: Sequence[tuple[int, int, int]]) -> Any: ...
    def compare(self, direction: str, x: Any, y: Any, *, total: bool = False) -> Any: ...
    def select(self, cond: Any, on_true: Any, on_false: Any) -> Any: ...
    def real(self, x: Any) -> Any: ...
    def imag(self, x: Any) -> Any: ...
    def complex(self, re: Any, im: Any) -> Any: ...
    def reduce(self, kind: str, x: Any, axes: Sequence[int], init: Any) -> Any: ...
    def while_loop(self, cond: Callable[..., Any], body: Callable[..., Sequence[Any]], init: Sequence[Any], *,
                   ordered: bool = False) -> list[Any]:
        """cond and body get the state's values and may use values from around; cond gives a bool of rank 0.
        ordered: they hold ordered callbacks."""
        ...
    def case(self, index: Any, branches: Sequence[Callable[[], Sequence[Any]]], outs: Sequence[ShapedArray], *,
             ordered: bool = False) -> list[Any]:
        """The branch of that number (int32; out of range: the last one), and no other."""
        ...
    def custom_call(self, target: str, operands: Sequence[Any], out: Any, *, config: Mapping[str, Any] | None = None,
                    attrs: Mapping[str, Any] | None = None) -> Any:
        """A call of a function that the backend knows by name (typed FFI); config: the attributes it takes."""
        ...
    def callback(self, fun: Callable[..., Sequence[np.ndarray]], args: Sequence[Any], outs: Sequence[ShapedArray], *,
                 ordered: bool = False, partitioned: bool = False, device: Any = None) -> list[Any]:
        """Calls the Python function fun(*ndarrays) -> ndarrays of exactly the avals `outs`, or of parts of them."""
        ...
    def composite(self, name: str, version: int, attributes: Mapping[str, Any], jaxpr: ClosedJaxpr, args: Sequence[Any]
                  ) -> list[Any]:
        """A program as one operation, under a name by which a backend may have an implementation."""
        ...
    def scalars(self, shape: Sequence[int]) -> Any:
        """A ScalarBuilder that works element by element on tensors of that shape; its constants have the shape, too."""
        ...
    def tag(self, x: Any, metadata: Mapping[str, Any]) -> Any:
        """The array, whose operation gets attributes for the compiler, beside those that it has."""
        ...
    def inline(self, closed: ClosedJaxpr, args: Sequence[Any], scope: str = "") -> list[Any]:
        """The equations of a program, written out here; in locations, within a scope of this name."""
        ...
    def trace(self, fn: Callable[..., Any], args: Sequence[Any], **params: Any) -> list[Any]:
        """The results of fn(*args, **params), a function of operations on arrays: traced for these avals and written out."""
        ...
