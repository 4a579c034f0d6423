"""Tapes of eager calls: library functions of small arrays, called again with the same types, run without Python.

The second call of a signature is recorded: the function is traced, every equation of its program becomes a step, and the tape
is run and compared, bit by bit, with what the function returned. Steps are the inner loops of the NumPy ufuncs that evaluate
operations, copies of parts of an operand, selections, and for the rest the operations' eager slots, so a tape gives the same
bits as the function. No tape is made of what depends on values, holds programs or effects, works on large arrays (these are
compiled), or warns. `native/dispatch/eager/eager_function.cpp` has the call.
"""
from __future__ import annotations

import functools
import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from math import prod
from typing import Any, TypeVar

import numpy as np

from numjet import _native
from numjet.api.jit import Jitted
from numjet.core.aval import ShapedArray
from numjet.core.ir import Jaxpr, JaxprEqn, Literal
from numjet.core.op import Missing, Op
from numjet.core.trace import EVAL, current_trace
from numjet.foundation.config import config
from numjet.foundation.tree import tree_flatten
from numjet.runtime import dispatch
from numjet.runtime.device import CPU, elsewhere
from numjet.runtime.eager_compile import LARGE
from numjet.runtime.fp_errors import IGNORED, STATE
from numjet.runtime.settings import fast_paths_allowed
from numjet.transforms.dce import dce_jaxpr

F = TypeVar("F", bound=Callable[..., Any])

_MOST_STEPS = 24
_CONSTANT_BYTES = 1 << 13   # of results that depend on no argument: they are kept
_MOST_AXES = 8   # that are given one by one
_EXACT = frozenset(map(np.dtype, ("bool", "int32", "int64", "float32", "float64", "complex64", "complex128")))
_MULTIPLIED = frozenset(("float32", "float64", "int32", "int64", "complex64", "complex128"))
_SQUARED = frozenset(map(np.dtype, ("float32", "float64")))   # x ** 2 is x * x
_OPTIONS = {"static_argnums": (), "static_argnames": (), "donate_argnums": None, "donate_argnames": None, "keep_unused": True,
            "inline": False, "backend": None, "device": None, "shardings": None}
_functions: list[_native.EagerFunction] = []

_native.set_error_state(STATE, IGNORED)


def clear_tapes() -> None:
    """Drops all tapes."""
    for function in _functions:
        function._clear_cache()


def taped(fun: F, arrays: Iterable[str], numbers: bool = False) -> F:
    """The function with tapes for its calls. A function that runs as one program (`jit_when_eager`) is given back as it is.

    arrays: the parameters that are arrays, or pytrees of them; all others are part of a call's signature, by value.
    numbers: whether Python numbers are like arrays there; they must not decide, by their value, which operations are applied.
    """
    if getattr(fun, "runs_programs", False):
        return fun
    code = inspect.unwrap(fun).__code__
    count = code.co_argcount + code.co_kwonlyargcount
    names = code.co_varnames[:count]
    positions = tuple(n for n, name in enumerate(names[:code.co_argcount]) if name not in arrays)
    if code.co_flags & inspect.CO_VARARGS and code.co_varnames[count] not in arrays:
        positions += tuple(range(code.co_argcount, code.co_argcount + _MOST_AXES))
    by_name = tuple(name for name in names if name not in arrays)
    made = _native.EagerFunction(fun, _Recorder(fun, positions, by_name, numbers), positions, by_name)
    functools.update_wrapper(made, fun)
    _functions.append(made)
    return made  # type: ignore[return-value]


class _Unsuited(Exception):
    """A call that has no tape."""


class _Recorder:
    """Runs a function, and makes the tape of the call if there can be one."""

    def __init__(self, fun: Callable[..., Any], positions: tuple[int, ...], names: tuple[str, ...], numbers: bool):
        self.fun, self.positions, self.names, self.numbers = fun, positions, names, numbers

    def __call__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, Any]:
        before = _native.counters()["executions"]
        result = self.fun(*args, **kwargs)
        if before != _native.counters()["executions"]:  # of a compiled program, whose bits are its own
            return result, None
        if current_trace() is not EVAL or not fast_paths_allowed() or elsewhere():
            return result, None
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                return result, self._tape(args, kwargs, result)
        except Exception:  # it depends on values, warns, or is refused when it is traced
            return result, None

    def _tape(self, args: tuple[Any, ...], kwargs: dict[str, Any], result: Any) -> Any:
        static = tuple(n for n in self.positions if n < len(args))
        state = Jitted(self.fun, {**_OPTIONS, "static_argnums": static, "static_argnames": ()})
        state.static_names = self.names
        call = state.take_apart(args, kwargs)
        results, out_tree = tree_flatten(result)
        if call.refs or not all(map(self._is_known, call.leaves)) or not all(map(_is_plain, results)):
            raise _Unsuited
        single = out_tree.num_leaves == 1 and result is results[0]
        treedef = None if single else out_tree
        if not call.leaves:
            if sum(x.nbytes for x in results) > _CONSTANT_BYTES:
                raise _Unsuited
            kept = tuple(_native.rewrap(x) for x in results)
            return _native.Tape((), kept, (), tuple(range(len(kept))), tuple(x.aval for x in kept), treedef, CPU)
        traced = state._trace_now(call, ())
        if traced.trimming is not None or traced.refs.touched or traced.out_tree != out_tree:
            raise _Unsuited
        jaxpr, _ = dce_jaxpr(traced.jaxpr, keep_inputs=True)
        _check_numbers(call.leaves, jaxpr)
        tape = _Writer(jaxpr, traced.consts, call.leaves, call.avals).tape(treedef)
        _compare(tape, call.leaves, results)
        return tape

    def _is_known(self, leaf: Any) -> bool:
        return _is_plain(leaf) or type(leaf) is np.ndarray or (self.numbers and type(leaf) in (bool, int, float))


def _is_plain(x: Any) -> bool:
    return (type(x) is _native.Array and not x.committed and x._sharding is None and x._remote is None
            and x.device is CPU)


def _check_numbers(leaves: Sequence[Any], jaxpr: Jaxpr) -> None:
    """Numbers become float32, float64 or int32 in a tape, and the dtype of an operand by the function. Where that has fewer
    bits, to be rounded twice is another result, and to be out of bounds an error."""
    if any(type(leaf) in (bool, int, float) for leaf in leaves):
        avals = (*jaxpr.in_avals, *[v.aval for eqn in jaxpr.eqns for v in eqn.outvars])
        if not all(a.dtype in _EXACT for a in avals):
            raise _Unsuited


def _compare(tape: Any, leaves: Sequence[Any], expected: Sequence[Any]) -> None:
    """Raises _Unsuited unless the tape gives what the function gave, to the bit."""
    found = tree_flatten(tape.run(tuple(leaves)))[0]
    for x, y in zip(found, expected, strict=True):
        if x.aval != y.aval or x._value.tobytes() != y._value.tobytes():
            raise _Unsuited


class _Writer:
    """Writes the steps of a program, which it evaluates while it does."""

    def __init__(self, jaxpr: Jaxpr, consts: Sequence[Any], leaves: Sequence[Any], avals: Sequence[ShapedArray]):
        self.jaxpr, self.avals = jaxpr, avals
        self.constants: list[Any] = []
        self.steps: list[tuple[Any, ...]] = []
        self.numbers: dict[Any, int] = {}
        self.values: list[np.ndarray] = []   # by number; constants are numbered behind the inputs
        self.pending: list[tuple[Any, Any]] = list(zip(jaxpr.constvars, consts, strict=True))
        for var, leaf, aval in zip(jaxpr.invars, leaves, avals, strict=True):
            self.add(var, _contiguous(dispatch.as_array(leaf, aval)._value))

    def add(self, var: Any, value: np.ndarray) -> None:
        self.numbers[var] = len(self.values)
        self.values.append(value)

    def tape(self, treedef: Any) -> Any:
        """The tape. Raises _Unsuited."""
        jaxpr = self.jaxpr
        everything = (*jaxpr.in_avals, *[v.aval for eqn in jaxpr.eqns for v in eqn.outvars])
        if len(jaxpr.eqns) > _MOST_STEPS or not all(_is_small(a) for a in everything):
            raise _Unsuited
        literals = {id(a): a for eqn in jaxpr.eqns for a in eqn.invars if isinstance(a, Literal)}
        literals |= {id(a): a for a in jaxpr.outvars if isinstance(a, Literal)}
        for key, literal in (*self.pending, *literals.items()):
            array = dispatch.as_array(literal)
            if not _is_small(array.aval):
                raise _Unsuited
            self.constants.append(_native.rewrap(array))
            self.add(key, _contiguous(array._value))
        before = STATE.get()
        try:
            STATE.set(IGNORED)
            for eqn in jaxpr.eqns:
                self.equation(eqn)
        finally:
            STATE.set(before)
        outs = tuple(self.number(a) for a in jaxpr.outvars)
        return _native.Tape(tuple(self.avals), tuple(self.constants), tuple(self.steps), outs, tuple(jaxpr.out_avals), treedef,
                            CPU)

    def number(self, atom: Any) -> int:
        return self.numbers[id(atom) if isinstance(atom, Literal) else atom]

    def equation(self, eqn: JaxprEqn) -> None:
        op = eqn.primitive
        if type(op) is not Op or op.compiled or op.programs or op.effects is not None or op.collective is not None:
            raise _Unsuited
        if op.mesh is not None or isinstance(op.eager, Missing):
            raise _Unsuited
        ins = tuple(self.number(a) for a in eqn.invars)
        values = [self.values[k] for k in ins]
        found = op.eager(*values, **eqn.params)
        outs = [np.asarray(x) for x in (found if op.multiple else [found])]
        avals = tuple(v.aval for v in eqn.outvars)
        if [(x.dtype, x.shape) for x in outs] != [(a.dtype, a.shape) for a in avals]:
            raise _Unsuited
        self.steps.append(self.step(op, eqn.params, ins, values, outs, avals))
        for var, out in zip(eqn.outvars, outs, strict=True):
            self.add(var, _contiguous(out))

    def step(self, op: Op, params: dict[str, Any], ins: tuple[int, ...], values: list[np.ndarray], outs: list[np.ndarray],
             avals: tuple[ShapedArray, ...]) -> tuple[Any, ...]:
        if len(outs) == 1 and not op.multiple:
            out = outs[0]
            loop = _inner_loop(op, params, values, out)
            if loop is not None:
                return "loop", ins, avals, loop
            product = _product(op, params, values, out) if op.name == "dot_general" else None
            if product is not None:
                return "product", ins, avals, product
            part = _part_of(values, out)
            if part is not None:
                which, offset = part
                if out.flags.c_contiguous and out.nbytes == values[which].nbytes:
                    return "share", (ins[which],), avals, None
                return "part", (ins[which],), avals, (offset, out.strides)
            if op.name == "concatenate" and out.size and all(v.dtype == out.dtype for v in values):
                return "join", ins, avals, prod(out.shape[:params["dimension"]])
            if op.name == "select_n" and len(values) == 3 and values[0].dtype == bool and all(
                    v.shape == out.shape or not v.ndim for v in values):
                return "select", ins, avals, None
        return "call", ins, avals, (op.eager, params, op.multiple)


def _contiguous(value: np.ndarray) -> np.ndarray:
    return value if value.flags.c_contiguous else np.ascontiguousarray(value)


def _is_small(aval: Any) -> bool:
    return (type(aval) is ShapedArray and aval.size < LARGE and aval.dtype.kind in "biufcV" and aval.dtype.fields is None
            and (aval.dtype.isbuiltin == 1 or aval.dtype.name == "bfloat16"))


def _inner_loop(op: Op, params: dict[str, Any], values: list[np.ndarray], out: np.ndarray) -> tuple[np.ufunc, int] | None:
    """The ufunc that evaluates the operation, and the number of its inner loop for these dtypes."""
    ufunc = op.eager if isinstance(op.eager, np.ufunc) else getattr(op.eager, "ufunc", None)
    if isinstance(ufunc, dict):
        ufunc = ufunc.get(values[0].dtype.kind)
    if op.name == "integer_pow" and params["y"] == 2 and values[0].dtype in _SQUARED:
        ufunc, params = np.square, {}
    if ufunc is None or params or not all(v.shape == out.shape or not v.ndim for v in values):
        return None
    types = f"{''.join(v.dtype.char for v in values)}->{out.dtype.char}"
    return (ufunc, ufunc.types.index(types)) if types in ufunc.types else None


def _product(op: Op, params: dict[str, Any], values: list[np.ndarray], out: np.ndarray) -> tuple[Any, ...] | None:
    """Sizes and strides of a product of two matrices, or vectors, that is summed in its own dtype; else None."""
    (lc, rc), (lb, rb) = params["dimension_numbers"]
    x, y = values
    if lb or rb or x.dtype != y.dtype or out.dtype != x.dtype or x.dtype.name not in _MULTIPLIED or config.matmul_precision:
        return None
    if params.get("precision") is not None or params.get("preferred_element_type") not in (None, x.dtype):
        return None
    lfree = [d for d in range(x.ndim) if d not in lc]
    rfree = [d for d in range(y.ndim) if d not in rc]
    k = prod(x.shape[d] for d in lc)
    left = x.transpose(*lfree, *lc).reshape(prod(x.shape[d] for d in lfree), k)
    right = y.transpose(*rc, *rfree).reshape(k, prod(y.shape[d] for d in rfree))
    if not (x.size and y.size and np.may_share_memory(left, x) and np.may_share_memory(right, y)):
        return None
    item = x.itemsize
    return left.shape[0], right.shape[1], k, tuple(s // item for s in left.strides), tuple(s // item for s in right.strides)


def _part_of(values: list[np.ndarray], out: np.ndarray) -> tuple[int, int] | None:
    """Which operand's memory the result shows, and from which byte on."""
    if not out.size:
        return None
    for k, value in enumerate(values):
        if value.dtype == out.dtype and np.may_share_memory(value, out):
            return k, out.__array_interface__["data"][0] - value.__array_interface__["data"][0]
    return None
