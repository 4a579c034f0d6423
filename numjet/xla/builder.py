"""StableHLO builder, an implementation of core.emit.HloBuilder."""
from __future__ import annotations

import contextlib
import functools
import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.stage import trace_to_closed
from numjet.foundation import dtypes, xla_metadata
from numjet.xla import buffers, partitioners, text
from numjet.xla.scalars import Scalars
from numjet.xla.shardy import Partitions, Shards

_BOOL = np.dtype(np.bool_)
_TYPE = {"b": "UNSIGNED", "u": "UNSIGNED", "V": "UNSIGNED", "i": "SIGNED", "f": "FLOAT", "c": "FLOAT"}
_DIRECTION = {"eq": "EQ", "ne": "NE", "lt": "LT", "le": "LE", "gt": "GT", "ge": "GE"}
_REDUCERS = {"add": "stablehlo.add", "mul": "stablehlo.multiply", "max": "stablehlo.maximum", "min": "stablehlo.minimum",
             "and": "stablehlo.and", "or": "stablehlo.or", "xor": "stablehlo.xor"}


_NAMESPACED = re.compile(r"[a-zA-Z][a-zA-Z0-9_]*([.][a-zA-Z0-9_$]+)+")  # what StableHLO takes as names of composites
_ORDER_OF_DEVICES = ("The following ordered effects are not supported for more than 1 device: calls of a function by each "
                     "device for its part, as devices run when they can.")
_SHORT = frozenset({"stablehlo.optimization_barrier"})  # written without quotes, with the types of the operands


class Value:
    """A tensor of the program: its name in the text, its aval, and `known`, the value of a constant of rank 0.
    `counts`: whether it is 0, 1, 2, ..."""

    __slots__ = ("aval", "counts", "known", "name")

    def __init__(self, name: str, aval: ShapedArray, known: Any = None):
        self.name, self.aval, self.known, self.counts = name, aval, known, False

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)

    def __repr__(self) -> str:
        return f"{self.name}: {text.tensor(self.aval)}"


class _Operation:
    """The last line of an operation being written: `start`, its attributes given those for XLA's compiler, its types."""

    __slots__ = ("given", "index", "lines", "metadata", "start", "types")

    def __init__(self, start: str, given: Callable[[Mapping[str, Any]], str], types: str, metadata: Mapping[str, Any]):
        self.start, self.given, self.types, self.metadata = start, given, types, metadata
        self.lines: list[str] = []
        self.index = 0

    def text(self) -> str:
        """The line."""
        return f"{self.start}{self.given(self.metadata)}{self.types}"


class Builder:
    """One function being written. `platform`: cpu, cuda, rocm or tpu, for rules that choose library calls.
    `partitions`: the devices of a program of several.

    `equation(builder, eqn, args)` lowers one equation; `location` is the text of the source line being lowered.
    """

    def __init__(self, platform: str, equation: Callable[[Builder, Any, Sequence[Value]], list[Value]],
                 partitions: Partitions | None = None):
        self.platform, self._equation, self.partitions = platform, equation, partitions
        self.shards: Shards | None = None
        self.lines: list[str] = []
        self.callbacks: list[HostCall] = []
        self.kept: list[Any] = []  # what has to live while the program is compiled
        self.lower_part: Callable[[Any], str] = lambda closed: ""  # a program of one device as text
        self.functions: dict[str, list[str]] = {}  # the text of private ones, by symbol
        self._called: dict[Any, tuple[str, list[Any]]] = {}  # symbols and results of those that calls share
        self.token: Value | None = None
        self.location = ""
        self.names: tuple[str, ...] = ()  # of the scopes around the program being written
        self.compute_type: str | None = None  # the part of the device on which the operation being written runs
        self.metadata: Mapping[str, Any] = {}  # other attributes of it that XLA gets
        self._operations: dict[str, _Operation] = {}  # of values by name, once attributes are in use
        self._depth, self._count = 2, 0
        self._constants: list[dict[Any, Value]] = [{}]

    # -- text
    def fresh(self, aval: ShapedArray) -> Value:
        """A name for a new value."""
        self._count += 1
        return Value(f"%{self._count}", aval)

    def line(self, words: str) -> None:
        """Adds a line of text."""
        self.lines.append("  " * self._depth + words)

    def op(self, name: str, operands: Sequence[Value], out: Any, *, attrs: Mapping[str, Any] | None = None,
           regions: Sequence[Region] = ()) -> Any:
        """Adds an operation of the stablehlo or chlo dialect.

        out: the aval of its result, or a list of avals for several (then a list of values is returned).
        attrs: attributes by name, see text.attribute. regions: made by `region`.
        """
        several = isinstance(out, (list, tuple))
        outs = [self.fresh(a) for a in (out if several else [out])]
        head = ", ".join(v.name for v in outs) + " = " if outs else ""
        types = ", ".join(text.tensor(v.aval) for v in operands)
        results = ", ".join(text.tensor(v.aval) for v in outs)
        operation = _Operation("", self._given(attrs or {}), f" : ({types}) -> ({results}){self.location}", self.metadata)
        arguments = f"({', '.join(v.name for v in operands)})"
        if name in _SHORT and operands:
            self.line(f"{head}{name} {arguments[1:-1]} : {types}{self.location}")
            return outs if several else outs[0]
        operation.start = f'{head}"{name}"{arguments}'
        if regions:
            self.line(f"{operation.start} ({{")
            operation.start = "})"
        for k, r in enumerate(regions):
            self.lines += r.lines
            if k + 1 < len(regions):
                self.line("}, {")
        self._write(operation, outs)
        return outs if several else outs[0]

    def _given(self, attrs: Mapping[str, Any]) -> Callable[[Mapping[str, Any]], str]:
        """The attributes of an operation as text, with those that XLA's compiler gets."""
        part = text.compute_type(self.compute_type)

        def given(metadata: Mapping[str, Any]) -> str:
            if not part and not metadata:
                return text.attributes(attrs)
            words = [*part, *xla_metadata.words(metadata)]
            return text.attributes({"mhlo.frontend_attributes": text.attributes_of(words).strip(), **attrs})
        return given

    def _write(self, operation: _Operation, outs: Sequence[Value]) -> None:
        """Adds the last line of an operation, which `tag` may change."""
        self.line(operation.text())
        if xla_metadata.in_use:
            operation.lines, operation.index = self.lines, len(self.lines) - 1
            self._operations.update((v.name, operation) for v in outs)

    def tag(self, x: Value, metadata: Mapping[str, Any]) -> Value:
        """The value, whose operation gets attributes for XLA's compiler beside its own; nothing where it is an input."""
        operation = self._operations.get(x.name)
        if operation is not None:
            operation.metadata = {**metadata, **operation.metadata}
            line = operation.lines[operation.index]
            operation.lines[operation.index] = line[:len(line) - len(line.lstrip())] + operation.text()
        return x

    @contextlib.contextmanager
    def _block(self, isolated: bool) -> Iterator[list[str]]:
        """Collects the lines written inside of the block."""
        outer, self.lines = self.lines, []
        known, self._constants = self._constants, [{}] if isolated else [*self._constants, {}]
        self._depth += 1
        try:
            yield self.lines
        finally:
            self.lines, self._constants = outer, known
            self._depth -= 1

    def region(self, avals: Sequence[ShapedArray], fn: Callable[..., Any], *, isolated: bool = False,
               end: str = "stablehlo.return") -> Region:
        """A region whose block takes values of these avals and ends with what fn(*values) returns.

        isolated: the region may not use outer values (regions of reductions). end: the operation that gives the results.
        """
        arguments = [self.fresh(a) for a in avals]
        with self._block(isolated) as lines:
            outs = fn(*arguments)
            outs = list(outs) if isinstance(outs, (list, tuple)) else [outs]
            types = ", ".join(text.tensor(v.aval) for v in outs)
            self.line(f'"{end}"({", ".join(v.name for v in outs)}) : ({types}) -> (){self.location}')
        head = ", ".join(f"{a.name}: {text.tensor(a.aval)}" for a in arguments)
        if arguments:
            lines.insert(0, "  " * self._depth + f"^bb0({head}):")
        return Region(lines, [v.aval for v in outs])

    def function(self, name: str, avals: Sequence[ShapedArray], fn: Callable[..., Sequence[Value]]) -> tuple[str, list[Any]]:
        """A private function that gives what fn(*values) returns: its symbol and the avals of its results."""
        symbol = next(s for k in itertools.count() if (s := f"{name}_{k}" if k else name) not in self.functions)
        self.functions[symbol] = []  # inner functions get other symbols
        arguments = [Value(f"%arg{k}", a) for k, a in enumerate(avals)]
        with self._block(True) as lines:
            outs = list(fn(*arguments))
            types = ", ".join(text.tensor(v.aval) for v in outs)
            self.line(f'"func.return"({", ".join(v.name for v in outs)}) : ({types}) -> ()')
        taken = ", ".join(f"{a.name}: {text.tensor(a.aval)}" for a in arguments)
        self.functions[symbol] = [f"  func.func private @{symbol}({taken}) -> ({types}) {{", *lines, "  }"]
        return symbol, [v.aval for v in outs]

    def composite(self, name: str, version: int, attributes: Mapping[str, Any], jaxpr: ClosedJaxpr, args: Sequence[Value]
                  ) -> list[Value]:
        """An operation under a name of the user's, whose program is a function beside. attributes: strings, numbers, dtypes,
        NumPy arrays, and pytrees of them."""
        if not _NAMESPACED.fullmatch(name) or jaxpr.effects or self.partitions is not None:
            return self.inline(jaxpr, args)
        symbol, outs = self.function(name, [v.aval for v in args], lambda *values: self.inline(jaxpr, values))
        given = {"name": text.quoted(name), "decomposition": f"@{symbol}"}
        if attributes:
            words = ", ".join(f"{key} = {text.constant_attribute(v)}" for key, v in attributes.items())
            given["composite_attributes"] = f"{{{words}}}"
        if version:
            given["version"] = f"{int(version)} : i32"
        return self.op("stablehlo.composite", args, outs, attrs=given)

    def call(self, name: str, jaxpr: ClosedJaxpr, args: Sequence[Value], metadata: Mapping[str, Any]) -> list[Value]:
        """A call, with attributes for XLA, of a program that is a function beside: one for all of its calls."""
        if jaxpr.effects or self.partitions is not None:
            return self.inline(jaxpr, args)
        key = name, jaxpr, self.compute_type, frozenset(self.metadata.items())
        if key not in self._called:
            self._called[key] = self.function(name, [v.aval for v in args], lambda *values: self.inline(jaxpr, values))
        symbol, outs = self._called[key]
        outer, self.metadata = self.metadata, metadata
        called = self.op("func.call", args, outs, attrs={"callee": f"@{symbol}"})
        self.metadata = outer
        return called

    def placed(self, x: Value, mesh: Any, parts: Sequence[Any], unreduced: frozenset[Any] = frozenset()) -> Value:
        """x, divided along Explicit axes of a mesh, whose devices along axes `unreduced` have summands; along its Auto axes as
        the compiler likes."""
        assert self.partitions is not None
        if not mesh.explicit_axes:
            return x
        spec = PartitionSpec(*parts, unreduced=unreduced & set(mesh.explicit_axes))
        there = self.partitions.sharding(mesh, spec, text.rank(x.aval), bool(mesh.auto_axes))
        return self.op("sdy.sharding_constraint", [x], x.aval, attrs={"sharding": f"#sdy.sharding{there}"})

    # -- constants
    def constant(self, value: Any, dtype: Any = None) -> Value:
        """A constant array."""
        array = np.asarray(value, dtype=dtype)
        key = (array.shape, array.dtype, array.tobytes()) if array.size <= 16 else None
        for known in self._constants:
            if key in known:
                return known[key]
        out = self._constant(array)
        out.known = None if array.ndim else array[()]
        if key is not None:
            self._constants[-1][key] = out
        return out

    def _constant(self, array: np.ndarray) -> Value:
        dtype = array.dtype
        if dtype == dtypes.float0:
            return self._constant(np.zeros(array.shape, bool))
        if text.plain(dtype):
            aval = ShapedArray(array.shape, dtype)
            return self.op("stablehlo.constant", [], aval, attrs={"value": f"{text.dense(array)} : {text.tensor(aval)}"})
        if dtypes.is_extended(dtype):
            aval = ShapedArray(array.shape, dtype)
            return Value(self._constant(buffers.to_stored(array, aval)).name, aval)
        if dtype == _BOOL:
            return self.compare("ne", self.constant(array.astype(np.uint8)), self.full(array.shape, 0, np.uint8))
        if dtypes.kind(dtype) in "iu":
            return self.convert(self.constant(array.astype(np.int8 if dtypes.kind(dtype) == "i" else np.uint8)), dtype)
        if dtypes.itemsize_bits(dtype) == 8:
            return self.bitcast(self.constant(array.view(np.uint8)), dtype)
        return self.convert(self.constant(array.astype(np.float32)), dtype)

    def full(self, shape: Sequence[int], value: Any, dtype: Any) -> Value:
        """An array of one number."""
        return self.broadcast(self.constant(np.asarray(value).astype(dtype)), shape)

    # -- shorthands
    def unary(self, name: str, x: Value) -> Value:
        """stablehlo.<name> of one operand, which gives its shape and dtype."""
        return self.op(name if "." in name else f"stablehlo.{name}", [x], x.aval)

    def binary(self, name: str, x: Value, y: Value) -> Value:
        """stablehlo.<name> of two operands of one shape and dtype."""
        return self.op(name if "." in name else f"stablehlo.{name}", [x, y], x.aval)

    def divide(self, x: Value, y: Value) -> Value:
        """x / y; of integers by zero -1, without a division: XLA's constant folding would end the process by a signal."""
        return self._guarded("divide", x, y, lambda: self.full(x.shape, -1, x.dtype))

    def remainder(self, x: Value, y: Value) -> Value:
        """The remainder of x / y; of integers by zero x, without a division as in `divide`."""
        return self._guarded("remainder", x, y, lambda: x)

    def _guarded(self, name: str, x: Value, y: Value, by_zero: Callable[[], Value]) -> Value:
        if dtypes.kind(x.dtype) not in "iu" or y.known:
            return self.binary(name, x, y)
        is_zero = self.compare("eq", y, self.full(y.shape, 0, y.dtype))
        return self.select(is_zero, by_zero(), self.binary(name, x, self.select(is_zero, self.full(y.shape, 1, y.dtype), y)))

    def convert(self, x: Value, dtype: Any) -> Value:
        """Value conversion as in ScalarBuilder.convert: to bool: != 0; from complex: the real part."""
        dtype = np.dtype(dtype)
        if x.dtype == dtype:
            return x
        if dtype == _BOOL:
            return self.compare("ne", x, self.full(x.shape, 0, x.dtype))
        if dtypes.kind(x.dtype) == "c" and dtypes.kind(dtype) != "c":
            return self.convert(self.real(x), dtype)
        if dtypes.itemsize_bits(x.dtype) < 8 and dtypes.kind(x.dtype) == "f" and dtypes.kind(dtype) in "iu":
            x = self.convert(x, np.float32)  # XLA takes their largest number for infinite
        return self.op("stablehlo.convert", [x], ShapedArray(x.shape, dtype))

    def bitcast(self, x: Value, dtype: Any, shape: Sequence[int] | None = None) -> Value:
        """The same bits; a narrower dtype adds a last axis, a wider one takes it away (given by `shape`)."""
        if text.word_count(x.dtype) or text.word_count(np.dtype(dtype)):
            return Value(x.name, ShapedArray(tuple(x.shape if shape is None else shape), dtype))  # keys and their words
        return self.op("stablehlo.bitcast_convert", [x], ShapedArray(tuple(x.shape if shape is None else shape), dtype))

    def rank(self, x: Value | ShapedArray) -> int:
        """The number of dimensions that a value has in the program."""
        return text.rank(x)

    def words(self, x: Value) -> list[Value]:
        """The words of keys, each of the keys' shape."""
        count, shape = text.word_count(x.dtype), x.shape
        every = Value(x.name, ShapedArray((*shape, count), np.dtype(np.uint32)))
        return [self.reshape(self.slice(every, (*[0] * len(shape), k), (*shape, k + 1)), shape) for k in range(count)]

    def each_word(self, fn: Callable[..., Value], *xs: Value) -> Value:
        """fn(*xs); of keys whose words have an axis of their own, done to each of their words."""
        dtype = next((x.dtype for x in xs if text.word_count(x.dtype)), None)
        if dtype is None:
            return fn(*xs)
        parts = [self.words(x) if x.dtype == dtype else [x] * text.word_count(dtype) for x in xs]
        return self.of_words([fn(*words) for words in zip(*parts, strict=True)], dtype)

    def of_words(self, words: Sequence[Value], dtype: np.dtype) -> Value:
        """The keys of words, the inverse of `words`."""
        shape = words[0].shape
        every = self.concatenate([self.reshape(w, (*shape, 1)) for w in words], len(shape))
        return Value(every.name, ShapedArray(shape, dtype))

    def broadcast(self, x: Value, shape: Sequence[int], dims: Sequence[int] | None = None) -> Value:
        """dims: the axis of the result for each axis of x; default: the last ones."""
        shape = tuple(shape)
        dims = tuple(range(len(shape) - x.ndim, len(shape))) if dims is None else tuple(dims)
        if shape == x.shape and dims == tuple(range(x.ndim)):
            return x
        if text.word_count(x.dtype):
            return self.each_word(lambda w: self.broadcast(w, shape, dims), x)
        return self.op("stablehlo.broadcast_in_dim", [x], ShapedArray(shape, x.dtype), attrs={"broadcast_dimensions": dims})

    def reshape(self, x: Value, shape: Sequence[int]) -> Value:
        if tuple(shape) == x.shape:
            return x
        if text.word_count(x.dtype):
            return self.each_word(lambda w: self.reshape(w, shape), x)
        if x.counts and self.partitions is not None and len(shape) > 1:
            return self._positions(shape, x.dtype)
        return self.op("stablehlo.reshape", [x], ShapedArray(tuple(shape), x.dtype))

    def _positions(self, shape: Sequence[int], dtype: Any) -> Value:
        """The position of each element in row-major order, which XLA divides along any dimension, unlike a reshape."""
        total = self.iota(shape, len(shape) - 1, dtype)
        for axis in range(len(shape) - 1):
            if shape[axis] > 1:
                step = self.full(shape, prod(shape[axis + 1:]), dtype)
                total = self.binary("add", self.binary("multiply", self.iota(shape, axis, dtype), step), total)
        return total

    def transpose(self, x: Value, permutation: Sequence[int]) -> Value:
        """Axis d of the result is axis permutation[d] of x."""
        out = ShapedArray(tuple(x.shape[p] for p in permutation), x.dtype)
        return self.op("stablehlo.transpose", [x], out, attrs={"permutation": tuple(permutation)})

    def slice(self, x: Value, start: Sequence[int], limit: Sequence[int], strides: Sequence[int] | None = None) -> Value:
        steps = tuple(strides or (1,) * x.ndim)
        shape = tuple(-(-max(0, e - s) // k) for s, e, k in zip(start, limit, steps, strict=True))
        return self.op("stablehlo.slice", [x], ShapedArray(shape, x.dtype),
                       attrs={"start_indices": tuple(start), "limit_indices": tuple(limit), "strides": steps})

    def concatenate(self, xs: Sequence[Value], axis: int) -> Value:
        shape = list(xs[0].shape)
        shape[axis] = sum(x.shape[axis] for x in xs)
        return self.op("stablehlo.concatenate", xs, ShapedArray(tuple(shape), xs[0].dtype), attrs={"dimension": axis})

    def iota(self, shape: Sequence[int], axis: int, dtype: Any) -> Value:
        out = self.op("stablehlo.iota", [], ShapedArray(tuple(shape), dtype), attrs={"iota_dimension": axis})
        out.counts = len(shape) == 1 and out.dtype.kind in "iu" and shape[0] - 1 <= np.iinfo(out.dtype).max
        return out

    def pad(self, x: Value, value: Value, config: Sequence[tuple[int, int, int]]) -> Value:
        """config: (before, after, between) per axis; negative numbers cut off."""
        low, high, inner = zip(*config, strict=True) if config else ((), (), ())
        shape = tuple(max(0, lo + hi + n + max(0, n - 1) * between)
                      for n, (lo, hi, between) in zip(x.shape, config, strict=True))
        return self.op("stablehlo.pad", [x, value], ShapedArray(shape, x.dtype),
                       attrs={"edge_padding_low": low, "edge_padding_high": high, "interior_padding": inner})

    def compare(self, direction: str, x: Value, y: Value, *, total: bool = False) -> Value:
        """direction: eq ne lt le gt ge. total: floats in total order (-NaN < -inf < ... < -0 < 0 < ... < NaN)."""
        kind = "TOTALORDER" if total else _TYPE[dtypes.kind(x.dtype)]
        return self.op("stablehlo.compare", [x, y], ShapedArray(x.shape, _BOOL), attrs={
            "comparison_direction": f"#stablehlo<comparison_direction {_DIRECTION[direction]}>",
            "compare_type": f"#stablehlo<comparison_type {kind}>"})

    def select(self, cond: Value, on_true: Value, on_false: Value) -> Value:
        return self.op("stablehlo.select", [cond, on_true, on_false], on_true.aval)

    def real(self, x: Value) -> Value:
        return self.op("stablehlo.real", [x], ShapedArray(x.shape, dtypes.finfo(x.dtype).dtype))

    def imag(self, x: Value) -> Value:
        return self.op("stablehlo.imag", [x], ShapedArray(x.shape, dtypes.finfo(x.dtype).dtype))

    def complex(self, re: Value, im: Value) -> Value:
        return self.op("stablehlo.complex", [re, im], ShapedArray(re.shape, dtypes.to_complex_dtype(re.dtype)))

    def reduce(self, kind: str, x: Value, axes: Sequence[int], init: Any) -> Value:
        """kind: add mul max min and or xor; init: the neutral number."""
        shape = tuple(n for d, n in enumerate(x.shape) if d not in axes)
        return self.op("stablehlo.reduce", [x, self.constant(init, x.dtype)], ShapedArray(shape, x.dtype),
                       attrs={"dimensions": tuple(axes)}, regions=[self.reducer(kind, x.dtype)])

    def reducer(self, kind: str, dtype: Any) -> Region:
        """The region of a reduction, scatter or window by add, mul, max, min, and, or, xor."""
        scalar = ShapedArray((), np.dtype(dtype))
        return self.region([scalar, scalar], lambda a, b: self.binary(_REDUCERS[kind], a, b), isolated=True)

    def while_loop(self, cond: Callable[..., Value], body: Callable[..., Sequence[Value]], init: Sequence[Value], *,
                   ordered: bool = False) -> list[Value]:
        """cond and body take the state's values; cond gives a bool of rank 0. ordered: they make ordered calls."""
        if not ordered:
            avals = [v.aval for v in init]
            regions = [self.region(avals, cond), self.region(avals, body)]
            return self.op("stablehlo.while", init, avals, regions=regions)
        before = [self._ordering_token(), *init]
        avals = [v.aval for v in before]
        # Calls in the condition are ordered among themselves; its last token cannot leave it.
        regions = [self.region(avals, self._with_token(cond, gives=False)), self.region(avals, self._with_token(body))]
        self.token, *out = self.op("stablehlo.while", before, avals, regions=regions)
        return out

    def case(self, index: Value, branches: Sequence[Callable[[], Sequence[Value]]], outs: Sequence[ShapedArray], *,
             ordered: bool = False) -> list[Value]:
        """The branch numbered `index` (int32; out of range: the last one), and no other. Branches may use outer values."""
        if not ordered:
            return self.op("stablehlo.case", [index], list(outs), regions=[self.region([], b) for b in branches])
        token = self._ordering_token()
        regions = [self.region([], lambda b=b: self._with_token(b)(token)) for b in branches]
        self.token, *found = self.op("stablehlo.case", [index], [token.aval, *outs], regions=regions)
        return found

    def _with_token(self, fn: Callable[..., Any], gives: bool = True) -> Callable[..., Any]:
        """fn with the token as its first argument and, with `gives`, as its first result."""
        def with_token(token: Value, *args: Value) -> Any:
            outer, self.token = self.token, token
            try:
                outs = fn(*args)
                return [self.token, *outs] if gives else outs
            finally:
                self.token = outer
        return with_token

    def custom_call(self, target: str, operands: Sequence[Value], out: Any, *, config: Mapping[str, Any] | None = None,
                    attrs: Mapping[str, Any] | None = None) -> Any:
        """A call of a function that the backend knows by name (typed FFI); config: its attributes."""
        given = {"call_target_name": text.quoted(target), "api_version": "4 : i32", **(attrs or {})}
        if config is not None:
            given["backend_config"] = f"{{{', '.join(f'{k} = {text.attribute(v)}' for k, v in config.items())}}}"
        return self.op("stablehlo.custom_call", operands, out, attrs=given)

    def callback(self, fun: Callable[..., Sequence[np.ndarray]], args: Sequence[Value], outs: Sequence[ShapedArray], *,
                 ordered: bool = False, partitioned: bool = False, device: Any = None) -> list[Value]:
        """Calls fun(*ndarrays) -> ndarrays of the avals `outs`; ordered calls in the order of the program; partitioned: each
        device calls it with its part of the values. device: which calls it, of those of the program; default: the first."""
        if self.shards is not None and not self.shards.is_whole and not outs and not ordered:
            self._by_first(lambda *given: self.callback(fun, given, []), args)
            return []
        by_part = partitioned and self.partitions is not None and self.shards is None
        if by_part and ordered:
            raise ValueError(f"{_ORDER_OF_DEVICES} Leave out ordered=True or partitioned=True.")
        order = [self._ordering_token()] if ordered else []
        results = [ShapedArray(v.shape, v.dtype) for v in order] + list(outs)
        target = f"xla_ffi_{'partitioned_' if by_part else ''}python_{'cpu' if self.platform == 'cpu' else 'gpu'}_callback"
        operands = [*order, *args]
        attrs = {"has_side_effect": True, "operand_layouts": _layouts([v.aval for v in operands]),
                 "result_layouts": _layouts(results)}
        if self.partitions is not None and self.shards is None and not partitioned:  # shards call each for itself, others once
            attrs["sdy.sharding"] = self.partitions.on_one(max(1, len(results)), device)
        config = {"index": f"{len(self.callbacks)} : ui64"}
        self.callbacks.append(HostCall(fun, tuple(v.aval for v in args), tuple(outs), ordered, by_part))
        found = self.custom_call(target, operands, results, config=config, attrs=attrs)
        if ordered:
            self.token, *found = found
        return found

    def _by_first(self, effect: Callable[..., Any], args: Sequence[Value]) -> None:
        """What the first shard along the axes that XLA divides does for all of them, inside of a shard_map over others."""
        assert self.shards is not None and self.partitions is not None
        mesh, partitions = self.shards.mesh, self.partitions
        rest = [a for a in mesh.axis_names if a not in self.shards.manual]
        numbers = [self.iota((mesh.shape[a],), 0, np.int32) for a in rest]
        shards = self.make_shards(mesh, dict(self.shards.indices), frozenset(rest))

        def body(*given: Value) -> list[Value]:
            own = [self.reshape(v, ()) for v in given[:len(rest)]]
            total = functools.reduce(lambda a, b: self.binary("stablehlo.add", a, b), own)  # 0 for the first
            with self.inside(shards):
                self.case(total, [lambda: effect(*given[len(rest):]), list], [])
            return []

        one = ShapedArray((1,), np.dtype(np.int32))
        avals = [*[one] * len(rest), *[ShapedArray(x.shape, x.dtype) for x in args]]
        specs = [*[partitions.sharding(mesh, PartitionSpec(a), 1) for a in rest],
                 *[partitions.sharding(mesh, PartitionSpec(), text.rank(x.aval), True) for x in args]]
        names = ", ".join(map(partitions.axis, rest))
        region = self.region(avals, body, isolated=True, end="sdy.return")
        self.op("sdy.manual_computation", [*numbers, *args], [], regions=[region], attrs={
            "in_shardings": f"#sdy.sharding_per_value<[{', '.join(specs)}]>", "manual_axes": f"#sdy<manual_axes{{{names}}}>",
            "out_shardings": "#sdy.sharding_per_value<[]>"})

    def inspect(self, x: Value, callback: Callable[[Any], Any]) -> None:
        """Calls callback(sharding of x) when the program is compiled; with None for a program of one device."""
        if self.partitions is None or self.shards is not None:
            callback(None)
            return
        told = partitioners.Inspection(callback, x.ndim, self.partitions.devices, self.partitions.given_mesh)
        self.kept.append(told)
        self.op("stablehlo.custom_call", [x], x.aval, attrs={
            "call_target_name": text.quoted(partitioners.INSPECT), "has_side_effect": True,
            "backend_config": partitioners.escaped(told.config)})

    def partitioned_call(self, args: Sequence[Value], outs: list[ShapedArray], partitioner: Any, rule: str | None
                         ) -> list[Value]:
        """A call that `partitioner` divides (see control.shards.custom_partitioning); rule: parameters of its sharding rule."""
        assert self.partitions is not None
        call = partitioners.PartitionedCall(partitioner, self.partitions.devices, self.lower_part)
        self.kept.append(call)
        attrs = {"call_target_name": text.quoted(partitioners.TARGET), "api_version": "2 : i32",
                 "backend_config": text.quoted(call.key)}
        if rule is not None:
            attrs["sdy.sharding_rule"] = f"#sdy.op_sharding_rule{rule}"
        return self.op("stablehlo.custom_call", args, outs, attrs=attrs)

    def _ordering_token(self) -> Value:
        """The value by which ordered calls depend on one another."""
        if self.token is None:
            self.token = self.constant(0, np.int32)
        return self.token

    def make_shards(self, mesh: Any, indices: dict[Any, Value], manual: frozenset[Any]) -> Shards:
        """What the text of a shard_map over axes `manual` needs to know; indices: the shard's number along axes."""
        if self.partitions is None:
            raise NotImplementedError(f"shard_map over {mesh} in a program of one device: give it arrays of that mesh")
        return Shards(mesh, self.partitions, indices, manual if self.shards is None else manual | self.shards.manual)

    @contextlib.contextmanager
    def inside(self, shards: Shards) -> Iterator[None]:
        """A block of text that each shard of a shard_map runs."""
        outer, self.shards = self.shards, shards
        try:
            yield
        finally:
            self.shards = outer

    # -- scalar rules
    def scalars(self, shape: Sequence[int]) -> Scalars:
        """The arithmetic of scalar rules, element by element on tensors of one shape."""
        return Scalars(self, shape)

    # -- programs
    def inline(self, closed: ClosedJaxpr, args: Sequence[Value], scope: str = "") -> list[Value]:
        """The equations of a program, written out here; in locations, within a scope of this name."""
        outer = self.names
        self.names = (*outer, *scope.split("/")) if scope else outer
        try:
            return self._inline(closed, args)
        finally:
            self.names = outer

    def _inline(self, closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
        jaxpr = closed.jaxpr
        env: dict[Any, Value] = dict(zip(jaxpr.invars, args, strict=True))
        env.update(zip(jaxpr.constvars, [self.literal(c) for c in closed.consts], strict=True))
        read = lambda a: env[a] if a in env else self.literal(a)
        for eqn in jaxpr.eqns:
            outs = self._equation(self, eqn, [read(a) for a in eqn.invars])
            env.update(zip(eqn.outvars, outs, strict=True))
        return [read(a) for a in jaxpr.outvars]

    def trace(self, fn: Callable[..., Any], args: Sequence[Value], **params: Any) -> list[Value]:
        """The results of fn(*args, **params), a function of operations on arrays."""
        def flat(*xs: Any) -> list[Any]:
            out = fn(*xs, **params)
            return list(out) if isinstance(out, (list, tuple)) else [out]
        return self.inline(trace_to_closed(flat, [a.aval for a in args]), args)

    def literal(self, x: Any) -> Value:
        """A constant from a literal, array or number."""
        if isinstance(x, Value):
            return x
        aval = getattr(x, "aval", None)
        value = np.asarray(getattr(x, "val", x))
        return self.constant(value if aval is None else value.astype(aval.dtype, copy=False))


def _layouts(avals: Sequence[ShapedArray]) -> str:
    """Row-major layouts, for the arrays of host functions."""
    order = lambda n: ", ".join(str(d) for d in reversed(range(n)))
    each = [f"dense<[{order(n)}]> : tensor<{n}xindex>" if n else "dense<> : tensor<0xindex>" for n in map(text.rank, avals)]
    return f"[{', '.join(each)}]"


@dataclass
class HostCall:
    """A Python function that the program calls. An ordered one takes and gives a counter before all else, a partitioned one
    the parts of the values that a device has."""
    fun: Callable[..., Sequence[np.ndarray]]
    in_avals: tuple[ShapedArray, ...]
    out_avals: tuple[ShapedArray, ...]
    ordered: bool
    partitioned: bool = False


class Region:
    """Text of a region, and the results of its block."""

    __slots__ = ("lines", "out_avals")

    def __init__(self, lines: list[str], out_avals: list[ShapedArray]):
        self.lines, self.out_avals = lines, out_avals
