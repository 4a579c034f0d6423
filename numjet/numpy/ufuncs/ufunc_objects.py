"""NumPy's ufuncs with their methods: add, multiply, maximum, logical_and, ..."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.lax.elementwise import transcendental
from numjet.lax.elementwise.arithmetic import add_p, mul_p, sub_p
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.reduction import cumulative
from numjet.lax.reduction.reduce import reduce_and_p, reduce_or_p, reduce_xor_p
from numjet.numpy.core.promotion import as_dtype, literal, operand, operand_inexact, operands, strong_array, typed_operands
from numjet.numpy.indexing.subscript import scatter_update
from numjet.numpy.indexing.where import choose_by, truth
from numjet.numpy.reduction import cumulative as running, reductions
from numjet.numpy.reduction.reductions import axes_of, mask, put_back
from numjet.numpy.ufuncs import arithmetic, logic, special
from numjet.numpy.ufuncs.logic import isfinite
from numjet.numpy.ufuncs.ufunc_class import ufunc

_LN2 = float(np.log(2.0))


def _update(kind: str) -> Any:
    of_bools = {"add": "max", "mul": "min"}.get(kind, kind)

    def at(a: Any, indices: Any, b: Any) -> Any:
        truths = a.dtype == operand("at", b).aval.dtype == np.bool_
        return scatter_update(a, indices, b, of_bools if truths else kind)
    return at


def _update_extremum(kind: str) -> Any:
    """In the common dtype of array and values: there is no cut value that an extremum would be right for."""
    def at(a: Any, indices: Any, b: Any) -> Any:
        return scatter_update(strong_array(typed_operands(kind, a, b)[0]), indices, b, kind)
    return at


def _accumulating(name: str, fn: Any, result: Callable[[np.dtype], np.dtype] = dtypes.to_numeric_dtype) -> Any:
    def accumulate(a: Any, *, axis: int | None, dtype: Any) -> Any:
        return running.run_along(name, a, axis, result(a.dtype) if dtype is None else dtype, fn)
    return accumulate


def _extremum(fn: Any) -> Any:
    def reduce(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        a = a if dtype is None else as_dtype(a, dtypes.check_user_dtype(dtype, "reduce"))
        return fn(a, axis, None, keepdims, initial, where)
    return reduce


def _bits(op: Any, identity: int, combine: Any) -> Any:
    """Reductions of integers and bools by their bits."""
    def reduce(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        x = a if dtype is None else as_dtype(a, dtypes.check_user_dtype(dtype, "reduce"))
        if where is not None:
            x = mask("bitwise", where, x, bool(identity) if x.dtype == np.bool_ else _all_bits(identity, x.dtype))
        axes = axes_of(axis, x.ndim)
        out = op.bind(x, axes=axes)
        if initial is not None:
            out = combine(as_dtype(operand("bitwise", initial), out.dtype), out)
        return put_back(out, x.shape, axes) if keepdims else out
    return reduce


def _all_bits(identity: int, dtype: np.dtype) -> Any:
    return int(np.asarray(identity, np.int64).astype(dtype))


def _logical(fn: Any, combine: Any) -> Any:
    def reduce(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        out = fn(a, axis, None, keepdims, where=where)
        out = out if initial is None else combine(out, initial)
        return out if dtype is None else as_dtype(out, dtypes.check_user_dtype(dtype, "reduce"))
    return reduce


def _odd(a: Any, axis: Any, out: None, keepdims: bool, *, where: Any) -> Any:
    x = truth(a)
    x = x if where is None else mask("logical_xor", where, x, False)
    axes = axes_of(axis, x.ndim)
    found = reduce_xor_p.bind(x, axes=axes)
    return put_back(found, x.shape, axes) if keepdims else found


def _log_of_sum(base: float) -> Any:
    """log(sum(exp(x))) in the base e or 2, with the largest element taken out of the sum."""
    def reduce(a: Any, *, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
        x = operand_inexact("logaddexp", a if dtype is None else as_dtype(a, dtypes.check_user_dtype(dtype, "reduce")))
        x = x if where is None else mask("logaddexp", where, x, float("-inf"))
        top = stop_gradient(reductions.max(x, axis, None, True, float("-inf")))
        top = choose_by("logaddexp", isfinite(top), top, literal(0.0, top.dtype))
        scaled = mul_p.bind(sub_p.bind(*operands("logaddexp", x, top)), literal(base, x.dtype))
        total = reductions.sum(transcendental.exp_p.bind(scaled), axis, None, None, True)
        out = add_p.bind(mul_p.bind(transcendental.log_p.bind(total), literal(1 / base, x.dtype)), top)
        out = out if initial is None else (special.logaddexp if base == 1.0 else special.logaddexp2)(out, initial)
        return out if keepdims else reductions.sum(out, axis)
    return reduce


def _made(fn: Any, nin: int, **methods: Any) -> ufunc:
    made = ufunc(fn, nin, 1, call=fn, **methods)
    made.__module__ = "numjet.numpy"   # where pickle looks for it
    return made


add = _made(arithmetic.add, 2, identity=0, reduce=reductions.sum, at=_update("add"),
            accumulate=_accumulating("add", cumulative.cumsum))
subtract = _made(arithmetic.subtract, 2, at=_update("subtract"))
multiply = _made(arithmetic.multiply, 2, identity=1, reduce=reductions.prod,
                 accumulate=_accumulating("multiply", cumulative.cumprod), at=_update("mul"))
negative = _made(arithmetic.negative, 1)
maximum = _made(logic.maximum, 2, reduce=_extremum(reductions.max), at=_update_extremum("max"),
                accumulate=_accumulating("maximum", cumulative.cummax, np.dtype))
minimum = _made(logic.minimum, 2, reduce=_extremum(reductions.min), at=_update_extremum("min"),
                accumulate=_accumulating("minimum", cumulative.cummin, np.dtype))
logaddexp = _made(special.logaddexp, 2, identity=-np.inf, reduce=_log_of_sum(1.0),
                  accumulate=_accumulating("logaddexp", cumulative.cumlogsumexp, dtypes.to_inexact_dtype))
logaddexp2 = _made(special.logaddexp2, 2, identity=-np.inf, reduce=_log_of_sum(_LN2))
logical_and = _made(logic.logical_and, 2, identity=True,
                    reduce=_logical(reductions.all, logic.logical_and))
logical_or = _made(logic.logical_or, 2, identity=False,
                   reduce=_logical(reductions.any, logic.logical_or))
logical_xor = _made(logic.logical_xor, 2, identity=False,
                    reduce=_logical(_odd, logic.logical_xor))
bitwise_and = _made(logic.bitwise_and, 2, identity=-1,
                    reduce=_bits(reduce_and_p, -1, logic.bitwise_and))
bitwise_or = _made(logic.bitwise_or, 2, identity=0,
                   reduce=_bits(reduce_or_p, 0, logic.bitwise_or))
bitwise_xor = _made(logic.bitwise_xor, 2, identity=0,
                    reduce=_bits(reduce_xor_p, 0, logic.bitwise_xor))
