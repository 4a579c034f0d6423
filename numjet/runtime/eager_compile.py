"""Eager compilation: single operations on large arrays run compiled, on several threads, asynchronously, on warm memory.

The choice depends on the operation and its avals only, so that the same call always gives the same bits.
"""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.core.op import Missing, Op
from numjet.core.traits import ARRAY_VIEW, CONTRACTS, MATRIX_BY_MATRIX
from numjet.foundation import dtypes
from numjet.runtime import dispatch

LARGE = 65536  # elements from which compiling pays: NumPy takes some 20 us or more for them
MANY = 64  # matrices of a batch from which compiling pays: a call of LAPACK from Python takes some 5 us or more
_OTHER_NUMBERS = frozenset(("bfloat16",))
_KEPT = 4096

Array = _native.Array
_scalars: dict[Literal, Any] = {}


def is_large(op: Op, avals: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> bool:
    """Whether the operation is to be compiled for these operands and results."""
    if ARRAY_VIEW <= op.traits or isinstance(op.cpu, Missing) or op.programs or op.effects is not None:
        return False
    moves_nothing = getattr(op.eager, "moves_nothing", None)   # for some operands
    if moves_nothing is not None and moves_nothing(avals, outs):
        return False
    every = (*avals, *outs)
    many = MATRIX_BY_MATRIX <= op.traits and any(prod(a.shape[:-2]) >= MANY for a in avals)
    return (many or any(a.size >= LARGE for a in every)) and all(_compilable(a.dtype) for a in every)


def _compilable(dtype: np.dtype) -> bool:
    return dtypes.is_numpys(dtype) or dtype.name in _OTHER_NUMBERS


class Compiled:
    """The program of one operation for certain avals."""

    __slots__ = ("native", "multiple", "product", "params")

    def __init__(self, op: Op, avals: Sequence[ShapedArray], params: dict[str, Any]):
        """Raises NotImplementedError where the backend has no code for these operands."""
        made = dispatch.operation(op, avals, params)
        self.native = made.native if made.unverified is None else made
        self.multiple = op.multiple
        self.product = op if CONTRACTS <= op.traits else None
        self.params = params

    def __call__(self, args: Sequence[Any]) -> Any:
        """The result for Arrays, Literals, and all else that aval_of accepts."""
        if self.product is not None and any(type(x) is Array and x._lazy_transpose is not None for x in args):
            seen = see_through(args, self.params["dimension_numbers"])
            if seen is not None:
                return self.product.bind(*seen[0], **{**self.params, "dimension_numbers": seen[1]})
        out = self.native([x if type(x) is Array else _as_array(x) for x in args])
        return out if self.multiple else out[0]


def see_through(args: Sequence[Any], numbers: Any) -> tuple[list[Any], Any] | None:
    """Operands and dimension numbers of the same product without pending transposes; None where the axes of the result
    would come in another order."""
    operands, axes = [], []
    for side, x in enumerate(args):
        contract, batch = numbers[0][side], numbers[1][side]
        view = x._lazy_transpose if type(x) is Array else None
        order: Sequence[int] = range(len(x.aval.shape)) if view is None else sorted(
            range(view.ndim), key=lambda d: (-view.strides[d], d))
        free = [d for d in order if d not in (*contract, *batch)]
        if free != sorted(free):
            return None
        operands.append(x if view is None else _native.from_numpy(
            view.transpose(order), ShapedArray(tuple(view.shape[d] for d in order), view.dtype), x.device))
        axes.append([tuple(list(order).index(d) for d in dims) for dims in (contract, batch)])
    (left_contract, left_batch), (right_contract, right_batch) = axes
    return operands, ((left_contract, right_contract), (left_batch, right_batch))


def _as_array(x: Any) -> Any:
    if type(x) is not Literal:
        return dispatch.as_array(x)
    found = _scalars.get(x)
    if found is None:
        if len(_scalars) >= _KEPT:
            _scalars.clear()
        found = _scalars[x] = dispatch.as_array(x)
    return found
