"""Elementwise operations and broadcasts: the padding is computed with, and stays padding."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.api.dynamic.arrays import positions
from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.core.aval import ShapedArray
from numjet.core.op import Op
from numjet.lax.elementwise.convert import convert_element_type

Avals = Sequence[ShapedArray]


@rule("elementwise", "bitcast_convert_type", "igamma", "igamma_grad_a", "igamma_grad_a_a", "igamma_grad_a_x", "igammac",
      "log_igamma", "log_igammac", "optimization_barrier", "polygamma", "random_gamma_grad", "random_gamma_grad_a",
      "random_gamma_grad_x", "squeeze", "threefry2x32", "transpose", "zeta")
def _same(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, outs: Any, **params: Any) -> Any:
    return op.bind(*xs, **params)


@rule("broadcast_in_dim")
def _broadcast(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, shape: Any,
               broadcast_dimensions: Any) -> Any:
    return op.bind(xs[0], shape=trace.shape(shape), broadcast_dimensions=broadcast_dimensions)


@rule("iota")
def _iota(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Avals, out: ShapedArray, *, dtype: Any, shape: Any,
          dimension: int) -> Any:
    return convert_element_type(positions(trace.shape(shape), dimension), dtype)
