"""Elementwise selection: where, select, clip."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.api.jit_when_eager import jit_when_eager
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.lax.elementwise import compare
from numjet.numpy.core import promotion
from numjet.numpy.core.promotion import array_arg, operand_list, operands, typed_operands
from numjet.numpy.indexing.nonzero import nonzero

_BOOL = np.dtype(np.bool_)


def truth(x: Any) -> Any:
    """An operand as bool: `x != 0`."""
    return x if x.aval.dtype == _BOOL else compare.ne(x, promotion.literal(0, x.aval.dtype))


def choose_by(name: str, condition: Any, x: Any, y: Any) -> Any:
    """x where the bool operand `condition` holds, else y, broadcast together; x and y are any arrays."""
    x, y = typed_operands(name, x, y)
    shapes = (condition.aval.shape, x.aval.shape, y.aval.shape)
    full = {s for s in shapes if s}
    if len(full) > 1:
        target = promotion.common_shape(name, shapes, any_rank=True)
        condition, x, y = (promotion.broadcast_to(v, target) if v.aval.shape else v for v in (condition, x, y))
    return compare.select_n_p.bind(condition, y, x)


def where(condition: Any, x: Any = None, y: Any = None, /, *, size: int | None = None, fill_value: Any = None) -> Any:
    """x where `condition` is true (not 0), else y; the three broadcast, x and y promote.

    With the condition alone: the indices of its true elements, as `nonzero`; under jit that needs `size`, the number of
    indices in the result, and missing ones are `fill_value`. The derivative flows to the chosen element only: keep the
    argument of the other branch finite, too (`where(x > 0, log(where(x > 0, x, 1)), 0)`).

    >>> import numjet.numpy as jnp
    >>> jnp.where(jnp.array([True, False]), 1.0, jnp.array([2.0, 3.0])).tolist()
    [1.0, 3.0]
    """
    if x is None and y is None:
        return nonzero(condition, size=size, fill_value=fill_value)
    if size is not None or fill_value is not None:
        raise ValueError("jnp.where: size and fill_value go with the condition alone; x and y were given, too")
    promotion.check_arraylike("where", condition, x, y)
    return choose_by("where", truth(promotion.operand("where", condition)), x, y)


def select(condlist: Sequence[Any], choicelist: Sequence[Any], default: Any = 0) -> Any:
    """For each element the choice of the first condition that holds, else `default`.

    condlist: bool arrays, or numbers, of which those other than 0 hold; choicelist: as many arrays; all broadcast.
    ValueError for lists of other lengths.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.select([x < 1, x > 2], [x + 10, x * 10], -1).tolist()
    [10, -1, -1, 30]
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    conditions = [truth(array_arg("select", c, i)) for i, c in enumerate(condlist)]
    *choices, out = operand_list("select", *choicelist, default)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = choose_by("select", condition, choice, out)
    return out


@jit_when_eager(small=False)
def clip(arr: Any = None, /, min: Any = None, max: Any = None) -> Any:
    """arr limited to [min, max]; None: no limit. The three broadcast and promote; `max` wins where the limits cross.

    TypeError without arr; ValueError for complex numbers.

    >>> clip(2.5, 0, 1)
    Array(1., dtype=float32, weak_type=True)
    """
    if arr is None:
        raise TypeError("clip: expected an array as first argument, got none")
    given = [v for v in (arr, min, max) if v is not None]
    promotion.check_arraylike("clip", *given)
    if any(type(v) is not float and aval_of(v).dtype in dtypes.COMPLEX for v in given):
        raise ValueError("clip received a complex value. Complex values have no ordering and cannot be clipped. Clip "
                         "jnp.real(x) and jnp.imag(x) instead.")
    out = promotion.operand("clip", arr)
    if min is not None:
        low, out = operands("clip", min, out)
        out = compare.max_p.bind(low, out)
    if max is not None:
        high, out = operands("clip", max, out)
        out = compare.min_p.bind(high, out)
    return out if len(given) > 1 else promotion.to_array(out)
