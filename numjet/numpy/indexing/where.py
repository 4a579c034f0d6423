"""Elementwise selection: where, select, piecewise, clip."""
from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
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

    condlist: bool arrays; choicelist: as many arrays; all broadcast. ValueError for lists of other lengths.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(4)
    >>> jnp.select([x < 1, x > 2], [x + 10, x * 10], -1).tolist()
    [10, -1, -1, 30]
    """
    if len(condlist) != len(choicelist):
        raise ValueError(f"condlist must have length equal to choicelist ({len(condlist)} vs {len(choicelist)})")
    if len(condlist) == 0:
        raise ValueError("condlist must be non-empty")
    conditions = [array_arg("select", c, i) for i, c in enumerate(condlist)]
    for i, c in enumerate(conditions):
        if c.dtype != _BOOL:
            raise TypeError(f"select: expected bool conditions, got dtype {c.dtype.name} at condlist[{i}]")
    *choices, out = operand_list("select", *choicelist, default)
    for condition, choice in zip(reversed(conditions), reversed(choices), strict=True):
        out = choose_by("select", condition, choice, out)
    return out


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """For each element the function of the last condition that holds; results have the dtype of x.

    condlist: bool arrays of the shape of x, or one. funclist: functions f(x, *args, **kw) or constants, one per condition
    and possibly one more for where none holds (default 0). Every function is computed everywhere.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(-2.0, 3.0)
    >>> jnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: 10 * v]).tolist()
    [2.0, 1.0, 0.0, 10.0, 20.0]
    """
    x = array_arg("piecewise", x)
    conditions = _conditions(x, condlist)
    if not isinstance(funclist, Iterable):
        raise TypeError(f"piecewise: funclist must be a sequence of functions and numbers, got {reprlib.repr(funclist)}")
    functions = list(funclist)
    if len(functions) == len(conditions):
        functions.append(0)
    if len(functions) != len(conditions) + 1:
        count = len(conditions)
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected; "
                         f"got {len(functions)}")
    values = [_branch(f, x, args, kw) for f in functions]
    return select(conditions[::-1], values[-2::-1], values[-1])


def _conditions(x: Any, condlist: Any) -> list[Any]:
    if isinstance(condlist, (list, tuple)) and condlist and not isinstance(condlist[0], (bool, np.bool_)):
        given = list(condlist)
    else:
        found = array_arg("piecewise", np.asarray(condlist) if isinstance(condlist, (list, tuple)) else condlist, 1)
        if found.ndim == 0 < x.ndim:
            raise TypeError(f"piecewise: condlist must be a sequence of conditions, got {reprlib.repr(condlist)}")
        given = [found] if found.ndim == x.ndim else [found[i] for i in range(found.shape[0])]
    return [truth(array_arg("piecewise", c, 1)) for c in given]


def _branch(f: Any, x: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    value = f(x, *args, **kw) if isinstance(f, Callable) else f  # type: ignore[arg-type]
    promotion.check_arraylike("piecewise", value)
    return promotion.as_dtype(value, x.dtype)


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
