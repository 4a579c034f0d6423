"""Evaluating one operation now: through the record's eager slot, or by compiling it when it holds a program."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.invalid import check_value
from numjet.core.ir import Literal
from numjet.core.op import Missing, Op
from numjet.core.trace import Tracer, aval_of, escaped
from numjet.foundation.config import config
from numjet.runtime import dispatch
from numjet.runtime.device import CPU


def evaluate(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """The result of one operation: an Array, or a list of them. Raises what the record's abstract slot raises."""
    if op.compiled and not config.disable_jit:
        return dispatch.run_operation(op, args, params)
    return interpret(op, args, params)


def interpret(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """As evaluate, always by the eager slot."""
    avals = [aval_of(a) for a in args]
    out = op.abstract(*avals, **params)
    if isinstance(op.eager, Missing):
        raise NotImplementedError(f"'{op.name}' cannot be evaluated outside of a program: {op.eager.why}")
    values = [to_numpy(a, aval) for a, aval in zip(args, avals, strict=True)]
    with np.errstate(all="ignore"):
        result = op.eager(*values, **params)
    foreign = [v for v, a in zip(values, args, strict=True) if isinstance(a, np.ndarray)]
    if op.multiple:
        return [_wrap(op, r, aval, foreign) for r, aval in zip(result, out, strict=True)]
    return _wrap(op, result, out, foreign)


def _literal(x: Literal, aval: ShapedArray) -> np.ndarray:
    return np.asarray(x.val, aval.dtype)


_converters: dict[type, Callable[[Any, ShapedArray], np.ndarray]] = {
    _native.Array: lambda x, aval: x._value, Literal: _literal,
}


def to_numpy(x: Any, aval: ShapedArray) -> np.ndarray:
    """The value of anything that aval_of accepts, in its aval's dtype."""
    convert = _converters.get(type(x))
    if convert is not None:
        return convert(x, aval)
    if isinstance(x, Tracer):
        raise escaped(x)
    if hasattr(x, "__jax_array__"):
        return to_numpy(x.__jax_array__(), aval)
    return np.asarray(x).astype(aval.dtype, copy=False)


def _wrap(op: Op, result: Any, aval: ShapedArray, foreign: Sequence[np.ndarray]) -> Any:
    """An Array of a fresh NumPy result; copies what shares memory that a caller can write."""
    value = np.asarray(result)
    if value.dtype != aval.dtype or value.shape != aval.shape:
        raise AssertionError(f"{op.name}: eager gave {value.dtype}{value.shape}, abstract says {aval}")
    if config.debug_nans or config.debug_infs:
        check_value(value, aval, op.name)
    if any(np.may_share_memory(value, f) for f in foreign):
        value = value.copy()
    return _native.from_numpy(np.ascontiguousarray(value).reshape(aval.shape), aval, CPU)


hooks.set_evaluate(evaluate)
