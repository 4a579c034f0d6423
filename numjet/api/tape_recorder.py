"""Recording of tapes: the program of a call of a small function becomes steps of native code; see `api/eager_plans.py`."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.jit import Call, Jitted, jit
from numjet.api.slot_arrays import SlotArray, converts, loop_number
from numjet.api.tape_steps import Steps, Unsuited, contiguous
from numjet.core.aval import ShapedArray
from numjet.core.ir import Jaxpr, JaxprEqn, Literal
from numjet.core.op import Missing, Op
from numjet.core.stage import as_evaluated
from numjet.core.trace import EVAL, current_trace
from numjet.core.traits import EXACT, PADS
from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.foundation.tree import tree_flatten
from numjet.lax.indexing.dimension_numbers import fills
from numjet.lax.indexing.gather import fill_of, gather_p
from numjet.lax.indexing.gather_elements import element_plan
from numjet.lax.reduction.argreduce import argmax_p, argmin_p
from numjet.lax.reduction.sort import KERNEL_DTYPES, sort_p
from numjet.runtime import dispatch
from numjet.runtime.device import CPU, elsewhere
from numjet.runtime.eager_compile import LARGE
from numjet.runtime.fp_errors import IGNORED, STATE
from numjet.runtime.settings import fast_paths_allowed
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.inline import write_out_calls

_MOST_EQUATIONS = 1024
_FIRST = 1 << 40   # of the numbers that stand for elements: larger than any value that an operation puts among them
_CONSTANT_BYTES = 1 << 13   # of results that depend on no argument: they are kept
_FEW = 1024   # elements up to which a plain loop over an axis is faster than the call of NumPy's
_COMPARED = frozenset(("float32", "float64", "int32", "int64", "uint32", "uint64"))
_EXACT = frozenset(map(np.dtype, ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")))
_MULTIPLIED = frozenset(("float32", "float64", "int32", "int64", "complex64", "complex128"))
_OPTIONS = {"static_argnums": (), "static_argnames": (), "donate_argnums": None, "donate_argnames": None, "keep_unused": True,
            "inline": False, "backend": None, "device": None, "shardings": None}

_native.set_error_state(STATE, IGNORED)


class Recorder:
    """Runs a function, and makes the tape of the call if there can be one."""

    def __init__(self, fun: Callable[..., Any], positions: tuple[int, ...], names: tuple[str, ...], numbers: bool):
        self.fun, self.positions, self.names, self.numbers = fun, positions, names, numbers
        self.programs: dict[tuple[int, ...], Callable[..., Any]] = {}   # by positions of static arguments

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        before = _native.counters()["executions"]
        result = self.fun(*args, **kwargs)
        compiled = before != _native.counters()["executions"]   # it ran compiled programs, whose bits are their own
        if current_trace() is not EVAL or not fast_paths_allowed() or elsewhere():
            return result, None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                call = _Recorded(self, args, kwargs, result)
                if call.is_large():
                    return result, self._program(call)
                return result, None if compiled else self._tape(call)
        except Exception:  # it depends on values, warns, or is refused when it is traced
            return result, None

    def _program(self, call: _Recorded) -> Callable[..., Any]:
        """The function as one program. Raises Unsuited."""
        jaxpr, _ = call.program()
        _check_numbers(call.leaves, jaxpr)
        if not _gives_same_bits_fused(jaxpr):
            raise Unsuited
        program = self.programs.get(call.static)
        if program is None:
            program = self.programs[call.static] = jit(self.fun, static_argnums=call.static, static_argnames=self.names)
        out, tree = tree_flatten(program(*call.args, **call.kwargs))
        if tree != call.out_tree:
            raise Unsuited
        _require_same(out, call.results)
        return program

    def _tape(self, call: _Recorded) -> Any:
        results = call.results
        treedef = None if call.single else call.out_tree
        if not call.leaves:
            if sum(x.nbytes for x in results) > _CONSTANT_BYTES:
                raise Unsuited
            kept = tuple(_native.rewrap(x) for x in results)
            return _native.Tape((), kept, (), tuple(range(len(kept))), tuple(x.aval for x in kept), (), treedef, CPU)
        jaxpr, consts = call.program()
        _check_numbers(call.leaves, jaxpr)
        tape = _Writer(jaxpr, consts, call.leaves, call.avals).tape(treedef, results)
        _require_same(tree_flatten(tape.run(tuple(call.leaves)))[0], results)
        return tape

    def is_known(self, leaf: Any) -> bool:
        """Whether a leaf is an array, or a number that is like one."""
        return _is_plain(leaf) or type(leaf) is np.ndarray or (self.numbers and type(leaf) in (bool, int, float))


class _Recorded:
    """A call that was made: its leaves and static arguments, and the leaves and structure of what it gave. Raises Unsuited if
    there are others than arrays."""

    def __init__(self, recorder: Recorder, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any):
        self.args, self.kwargs = args, kwargs
        self.static = tuple(n for n in recorder.positions if n < len(args))
        self.state = Jitted(recorder.fun, {**_OPTIONS, "static_argnums": self.static, "static_argnames": ()})
        self.state.static_names = recorder.names
        self.call: Call = self.state.take_apart(args, kwargs)
        self.leaves, self.avals = self.call.leaves, self.call.avals
        self.results, self.out_tree = tree_flatten(result)
        if self.call.refs or any(map(is_function, (*args, *kwargs.values()))):
            raise Unsuited
        if not all(map(recorder.is_known, self.leaves)) or not all(map(_is_plain, self.results)):
            raise Unsuited
        self.single = self.out_tree.num_leaves == 1 and result is self.results[0]

    def is_large(self) -> bool:
        """Whether some array is so large that operations on it are compiled."""
        return any(a.size >= LARGE for a in (*self.avals, *(x.aval for x in self.results)))

    def program(self) -> tuple[Jaxpr, Sequence[Any]]:
        """The function's program, all calls written out, and its constants. Raises Unsuited."""
        with as_evaluated():
            traced = self.state._trace_now(self.call, ())
        if traced.trimming is not None or traced.refs.touched or traced.out_tree != self.out_tree:
            raise Unsuited
        jaxpr, consts = write_out_calls(traced.jaxpr, traced.consts)
        return dce_jaxpr(jaxpr, keep_inputs=True)[0], consts


def _gives_same_bits_fused(jaxpr: Jaxpr) -> bool:
    """Whether several operations give, as one program, what they give one by one."""
    return 2 <= len(jaxpr.eqns) <= _MOST_EQUATIONS and bool(jaxpr.invars) and all(map(_rounds_alike, jaxpr.eqns))


def _rounds_alike(eqn: JaxprEqn) -> bool:
    """Whether an operation rounds each element by itself, or nothing. Powers by constants are computed in other ways."""
    op = eqn.primitive
    if type(op) is not Op or op.programs or op.effects is not None or op.collective is not None or op.mesh is not None:
        return False
    if op.elementwise:
        return op.function != "pow"
    whole = all(v.aval.dtype.kind in "biu" for v in (*eqn.invars, *eqn.outvars))
    return op.samples.ulps == 0 or (op.reduces is not None and whole)


def is_function(x: Any) -> bool:
    """Whether an argument is a user's function, which may give something else next time."""
    return callable(x) and not isinstance(x, type) and not hasattr(x, "dtype")


def _is_plain(x: Any) -> bool:
    return (type(x) is _native.Array and not x.committed and x._sharding is None and x._remote is None
            and x.device is CPU and x.aval.placement is None)


def _check_numbers(leaves: Sequence[Any], jaxpr: Jaxpr) -> None:
    """Numbers become float32, float64 or int32 in a tape, and the dtype of an operand by the function. Where that has fewer
    bits, to be rounded twice is another result, and to be out of bounds an error."""
    if any(type(leaf) in (bool, int, float) for leaf in leaves):
        avals = (*jaxpr.in_avals, *[v.aval for eqn in jaxpr.eqns for v in eqn.outvars])
        if not all(a.dtype in _EXACT for a in avals):
            raise Unsuited


def _require_same(found: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raises Unsuited unless results are what the function gave, to the bit."""
    for x, y in zip(found, expected, strict=True):
        if x.aval != y.aval or not _same(x._value, y._value):
            raise Unsuited


def _same(x: np.ndarray, y: np.ndarray) -> bool:
    """Whether two arrays have the same bits, dtypes and shapes."""
    return x.dtype == y.dtype and x.shape == y.shape and x.tobytes() == y.tobytes()


class _Writer:
    """Writes the steps of a program, which it evaluates while it does."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any], leaves: Sequence[Any], avals: Sequence[ShapedArray]):
        self.jaxpr, self.consts, self.leaves, self.avals = jaxpr, consts, leaves, avals
        self.steps = Steps()
        self.numbers: dict[Any, int] = {var: self.steps.input(contiguous(dispatch.as_array(leaf, aval)._value))
                                        for var, leaf, aval in zip(jaxpr.invars, leaves, avals, strict=True)}

    def tape(self, treedef: Any, results: Sequence[Any]) -> Any:
        """The tape of a call that gave `results`. Raises Unsuited."""
        jaxpr = self.jaxpr
        everything = (*jaxpr.in_avals, *[v.aval for eqn in jaxpr.eqns for v in eqn.outvars])
        if len(jaxpr.eqns) > _MOST_EQUATIONS or not all(_is_small(a) for a in everything):
            raise Unsuited
        for var, value in zip(jaxpr.constvars, self.consts, strict=True):
            self.numbers[var] = self.constant(value)
        before = STATE.get()
        try:
            STATE.set(IGNORED)
            for eqn in jaxpr.eqns:
                self.equation(eqn)
        finally:
            STATE.set(before)
        outs = tuple(map(self.number, jaxpr.outvars))
        return self.steps.tape(self.avals, outs, jaxpr.out_avals, self.handed_back(outs, results), treedef)

    def handed_back(self, outs: Sequence[int], results: Sequence[Any]) -> tuple[int, ...]:
        """The positions of results that are an argument itself: deleting one deletes the other. Raises Unsuited."""
        found = tuple(k for k, x in enumerate(results) if any(x is leaf for leaf in self.leaves))
        if any(outs[k] >= len(self.leaves) or self.leaves[outs[k]] is not results[k] for k in found):
            raise Unsuited
        return found

    def constant(self, value: Any) -> int:
        array = dispatch.as_array(value)
        if not _is_small(array.aval):
            raise Unsuited
        return self.steps.constant(array._value)

    def number(self, atom: Any) -> int:
        return self.constant(atom) if isinstance(atom, Literal) else self.numbers[atom]

    def equation(self, eqn: JaxprEqn) -> None:
        op = eqn.primitive
        if type(op) is not Op or op.compiled or op.programs or op.effects is not None or op.collective is not None:
            raise Unsuited
        if op.mesh is not None or isinstance(op.eager, Missing):
            raise Unsuited
        ins = tuple(map(self.number, eqn.invars))
        values = [self.steps.values[k] for k in ins]
        found = op.eager(*values, **eqn.params)
        outs = [np.asarray(x) for x in (found if op.multiple else [found])]
        avals = tuple(v.aval for v in eqn.outvars)
        if [(x.dtype, x.shape) for x in outs] != [(a.dtype, a.shape) for a in avals]:
            raise Unsuited
        numbers = (self.folded(ins, outs) or self.composed(op, eqn.params, ins, outs)
                   or self.single(op, eqn.params, ins, values, outs, avals))
        self.numbers.update(zip(eqn.outvars, numbers, strict=True))

    def folded(self, ins: tuple[int, ...], outs: list[np.ndarray]) -> tuple[int, ...] | None:
        """Keeps the results of an operation on known values; None: they are not known, or much memory."""
        known = all(k in self.steps.constants for k in ins) and sum(x.nbytes for x in outs) <= _CONSTANT_BYTES
        return tuple(map(self.steps.constant, outs)) if known else None

    def composed(self, op: Op, params: dict[str, Any], ins: tuple[int, ...], outs: list[np.ndarray]) -> tuple[int, ...] | None:
        """Writes an operation whose eager slot consists of ufuncs, selections and conversions; None: it does not."""
        if op.multiple or not all(self.steps.values[k].shape in (outs[0].shape, ()) for k in ins):
            return None
        values = [self.steps.values[k] for k in ins]
        mark = self.steps.mark()
        try:
            found = op.eager(*[values[n] if k in self.steps.constants and not values[n].ndim else SlotArray(self.steps, k)
                               for n, k in enumerate(ins)], **params)
        except Exception:  # it asks more of an array than these have: it is called as a whole
            found = None
        if isinstance(found, SlotArray) and _same(found.value, outs[0]):
            return (found.number,)
        self.steps.back(mark)
        return None

    def single(self, op: Op, params: dict[str, Any], ins: tuple[int, ...], values: list[np.ndarray], outs: list[np.ndarray],
               avals: tuple[ShapedArray, ...]) -> tuple[int, ...]:
        """Writes an operation as one step."""
        kind, ins, avals, more = self.step(op, params, ins, values, outs, avals)
        return self.steps.append(kind, ins, avals, more, outs)

    def taken(self, op: Op, params: dict[str, Any], ins: tuple[int, ...], values: list[np.ndarray],
              out: np.ndarray) -> tuple[int, bytes] | None:
        """Elements of an operand at known places: the number of the value elsewhere, and the places. None: not so."""
        if op.elementwise or op.linear_in is None or 0 not in op.linear_in or not EXACT <= op.traits:
            return None
        if not values[0].size or not out.size or not all(k in self.steps.constants for k in ins[1:]):
            return None
        found = _table_of(op, params, values, out)
        return None if found is None else (self.steps.constant(found[1]), found[0].astype(np.int64).tobytes())

    def step(self, op: Op, params: dict[str, Any], ins: tuple[int, ...], values: list[np.ndarray], outs: list[np.ndarray],
             avals: tuple[ShapedArray, ...]) -> tuple[Any, ...]:
        if op is sort_p and 0 < values[0].size <= _FEW:
            return "sort", ins, avals, (params["num_keys"], _codes(values), *_rows(values[0], params["dimension"]))
        if op in (argmax_p, argmin_p) and 0 < values[0].size <= _FEW and values[0].dtype.name in _COMPARED:
            return "extreme", ins, avals, (op is argmax_p, *_rows(values[0], params["axes"][0]))
        if len(outs) == 1 and not op.multiple:
            out = outs[0]
            reduction = _reduction(op, params, values[0], out) if op.reduces is not None else None
            if reduction is not None:
                return "reduce", ins, avals, reduction
            product = _product(op, params, values, out) if op.name == "dot_general" else None
            if product is not None:
                return "product", ins, avals, product
            if op.name == "convert_element_type" and converts(values[0].dtype, out.dtype):
                return "convert", ins, avals, None
            if op.name == "bitcast_convert_type" and values[0].dtype.itemsize == out.dtype.itemsize:
                return "share", ins, avals, None
            if op.name == "copy":
                return "part", ins, avals, (0, out.strides)
            if op.name == "broadcast_in_dim" and out.size > values[0].size:
                return "part", ins, avals, (0, _broadcast_strides(values[0], out, params["broadcast_dimensions"]))
            part = _part_of(values, out)
            if part is not None:
                which, offset = part
                if out.flags.c_contiguous and out.nbytes == values[which].nbytes:
                    return "share", (ins[which],), avals, None
                return "part", (ins[which],), avals, (offset, out.strides)
            taken = self.taken(op, params, ins, values, out)
            if taken is not None:
                fill, table = taken
                return "take", (ins[0], fill), avals, table
            if op is gather_p and values[0].size and out.size and values[1].dtype.char in "ilq" and values[1].shape[-1]:
                outside, plan = _gather(params, values)
                return "gather", (*ins, self.steps.constant(outside)), avals, plan
            if op.name == "concatenate" and out.size and all(v.dtype == out.dtype for v in values):
                return "join", ins, avals, prod(out.shape[:params["dimension"]])
            if op.name == "select_n" and len(values) == 3 and values[0].dtype == bool and all(
                    v.shape == out.shape or not v.ndim for v in values):
                return "select", ins, avals, None
        return "call", ins, avals, (op.eager, params, op.multiple)


def _rows(value: np.ndarray, axis: int) -> tuple[int, int, int]:
    """How many elements there are before, along and after an axis."""
    return prod(value.shape[:axis]), value.shape[axis], prod(value.shape[axis + 1:])


def _codes(values: Sequence[np.ndarray]) -> bytes:
    """The sorting kernel's codes of the dtypes."""
    return np.array([KERNEL_DTYPES.index(x.dtype.name) for x in values], np.int64).tobytes()


def _gather(params: dict[str, Any], values: list[np.ndarray]) -> tuple[np.ndarray, tuple[Any, ...]]:
    """The value of elements out of bounds, and where the others are."""
    operand, indices = values
    plan = element_plan(operand.shape, indices.shape, params["slice_sizes"], params["dimension_numbers"])
    out_of_bounds = fills(params["mode"])
    fill = fill_of(operand.dtype, params["mode"], params["fill_value"]) if out_of_bounds else 0
    return np.asarray(fill).astype(operand.dtype), (*(np.asarray(x, np.int64).tobytes() for x in plan), out_of_bounds)


def _table_of(op: Op, params: dict[str, Any], values: list[np.ndarray],
              out: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Which element of its first operand each element of a result is, -1 for a value from elsewhere, and that value.

    An operation that is linear in the operand and rounds nothing places elements, as it does numbers of elements.
    """
    numbers = np.arange(_FIRST, _FIRST + values[0].size).reshape(values[0].shape)
    rest = [np.asarray(0)] if PADS <= op.traits else values[1:]
    places = np.asarray(op.eager(numbers, *rest, **params)) - _FIRST
    if places.dtype != numbers.dtype or places.shape != out.shape:
        return None
    table = np.where((places >= 0) & (places < values[0].size), places, -1)
    outside = out[table < 0]
    fill = outside[0] if outside.size else np.zeros((), out.dtype)
    found = np.where(table < 0, fill, values[0].reshape(-1)[table]).astype(out.dtype)
    return (table, np.asarray(fill)) if _same(found, out) else None


def _is_small(aval: Any) -> bool:
    return (type(aval) is ShapedArray and aval.size < LARGE and aval.dtype.kind in "biufcV" and aval.dtype.fields is None
            and (dtypes.is_numpys(aval.dtype) or aval.dtype.name == "bfloat16"))


def _reduction(op: Op, params: dict[str, Any], value: np.ndarray, out: np.ndarray) -> tuple[Any, ...] | None:
    """The ufunc that reduces an array along neighbouring axes: the number of its inner loop, the bytes of the value that it
    begins with (None: the first element), and how many parts, of how many rows, of how many elements there are."""
    plan = getattr(op.eager, "reduction", None)
    found = plan(value.dtype) if plan and set(params) == {"axes"} and value.size and value.flags.c_contiguous else None
    axes = sorted(params["axes"]) if found else []
    if found is None or not axes or axes != list(range(axes[0], axes[0] + len(axes))) or out.dtype != value.dtype:
        return None
    ufunc, initial = found
    number = loop_number(ufunc, [value.dtype] * 3)
    if number is None:
        return None
    first = None if initial is None else np.asarray(initial).astype(value.dtype).tobytes()
    shape = value.shape
    return ufunc, number, first, prod(shape[:axes[0]]), prod(shape[a] for a in axes), prod(shape[axes[-1] + 1:])


def _broadcast_strides(value: np.ndarray, out: np.ndarray, dimensions: Sequence[int]) -> tuple[int, ...]:
    """The steps in the memory of a contiguous operand along the axes of what it is broadcast to."""
    strides = [0] * out.ndim
    for axis, size, stride in zip(dimensions, value.shape, value.strides, strict=True):
        strides[axis] = stride if size == out.shape[axis] else 0
    return tuple(strides)


def _product(op: Op, params: dict[str, Any], values: list[np.ndarray], out: np.ndarray) -> tuple[Any, ...] | None:
    """Sizes and strides of products of matrices, or vectors, that are summed in their own dtype; else None."""
    (lc, rc), (lb, rb) = params["dimension_numbers"]
    x, y = values
    if x.dtype != y.dtype or out.dtype != x.dtype or x.dtype.name not in _MULTIPLIED or config.matmul_precision:
        return None
    if params.get("precision") is not None or params.get("preferred_element_type") not in (None, x.dtype):
        return None
    lfree = [d for d in range(x.ndim) if d not in (*lc, *lb)]
    rfree = [d for d in range(y.ndim) if d not in (*rc, *rb)]
    batch, k = prod(x.shape[d] for d in lb), prod(x.shape[d] for d in lc)
    left = x.transpose(*lb, *lfree, *lc).reshape(batch, prod(x.shape[d] for d in lfree), k)
    right = y.transpose(*rb, *rc, *rfree).reshape(batch, k, prod(y.shape[d] for d in rfree))
    if not (x.size and y.size and np.may_share_memory(left, x) and np.may_share_memory(right, y)):
        return None
    item = x.itemsize
    sizes = batch, left.shape[1], right.shape[2], k
    return *sizes, tuple(s // item for s in left.strides), tuple(s // item for s in right.strides)


def _part_of(values: list[np.ndarray], out: np.ndarray) -> tuple[int, int] | None:
    """Which operand's memory the result shows, and from which byte on."""
    if not out.size:
        return None
    for k, value in enumerate(values):
        if value.dtype == out.dtype and np.may_share_memory(value, out):
            return k, out.__array_interface__["data"][0] - value.__array_interface__["data"][0]
    return None
