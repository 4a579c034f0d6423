"""Stream compaction: the positions of true elements, as many as there are."""
from __future__ import annotations

from math import prod
from typing import Any

import numpy as np

from numjet.api.dynamic.trace import here
from numjet.core.trace import aval_of
from numjet.foundation.dimension import computed_sizes
from numjet.lax.elementwise.arithmetic import div_p, rem_p, sub_p
from numjet.lax.elementwise.compare import select_n_p
from numjet.lax.elementwise.convert import convert_element_type, size_constant
from numjet.lax.indexing.dimension_numbers import GatherScatterMode, ScatterDimensionNumbers
from numjet.lax.indexing.scatter import scatter
from numjet.lax.reduction.cumulative import cumsum
from numjet.lax.reduction.reduce import reduce_sum
from numjet.lax.shape.create import full, iota
from numjet.lax.shape.rearrange import expand_dims, reshape

_INT32 = np.dtype(np.int32)


def true_positions(mask: Any) -> tuple[Any, ...]:
    """The indices (int32) of the true elements of a traced mask in row-major order, one vector per axis."""
    shape = aval_of(mask).shape
    flat = reshape(mask, (prod(shape),))
    ones = convert_element_type(flat, _INT32)
    bound = computed_sizes.maker.bound(prod(shape))
    about = f"the number of true elements that is asked for{here()}"
    size = computed_sizes.maker.new_size(reduce_sum(ones, (0,)), about, bound)
    target = select_n_p.bind(flat, np.int32(-1), sub_p.bind(cumsum(ones, 0), np.int32(1)))
    numbers = ScatterDimensionNumbers((), (0,), (0,))
    found = scatter(full((size,), np.int32(0)), expand_dims(target, (1,)), iota(_INT32, prod(shape)), numbers,
                    mode=GatherScatterMode.ONE_HOT)
    return _unraveled(found, shape)


def _unraveled(flat: Any, shape: tuple[Any, ...]) -> tuple[Any, ...]:
    """Row-major positions as indices along each axis. Sizes of axes may be 0 only where there are no positions."""
    out: list[Any] = []
    for n in reversed(shape[1:]):
        size = size_constant(n, _INT32)
        out.append(rem_p.bind(flat, size))
        flat = div_p.bind(flat, size)
    return (flat, *reversed(out))
