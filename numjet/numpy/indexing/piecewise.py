"""Piecewise functions: for each element, one function of a list."""
from __future__ import annotations

import reprlib
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet.api.vmap import vmap
from numjet.control.branches.cond import switch
from numjet.core.trace import aval_of
from numjet.lax.shape.rearrange import reshape
from numjet.numpy.core import promotion
from numjet.numpy.core.promotion import array_arg
from numjet.numpy.indexing.where import select, truth
from numjet.numpy.shaping.manipulation import broadcast_to


def piecewise(x: Any, condlist: Any, funclist: Sequence[Any], *args: Any, **kw: Any) -> Any:
    """For each element the function of the last condition that holds; results have the dtype of x.

    condlist: bool arrays of the shape of x, or one. funclist: functions f(x, *args, **kw) or constants, one per condition
    and possibly one more for where none holds (default 0). Functions are of single elements. Each is computed everywhere,
    and its derivatives count only where it is chosen, so they may be NaN elsewhere.

    >>> import numjet.numpy as jnp
    >>> x = jnp.arange(-2.0, 3.0)
    >>> jnp.piecewise(x, [x < 0, x >= 0], [lambda v: -v, lambda v: 10 * v]).tolist()
    [2.0, 1.0, 0.0, 10.0, 20.0]
    """
    x = array_arg("piecewise", x)
    conditions = [broadcast_to(c, x.shape) for c in _conditions(x, condlist)]
    functions = _functions(funclist, len(conditions))
    if any(map(callable, functions)):
        chosen = select(conditions[::-1], [np.int32(k + 1) for k in reversed(range(len(conditions)))], np.int32(0))
        return _chosen([functions[-1], *functions[:-1]], chosen, x, args, kw)
    values = [_as(f, x) for f in functions]
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


def _functions(funclist: Any, count: int) -> list[Any]:
    """A function or constant for each condition, and the last for where none holds."""
    if not isinstance(funclist, Iterable):
        raise TypeError(f"piecewise: funclist must be a sequence of functions and numbers, got {reprlib.repr(funclist)}")
    functions = list(funclist)
    if len(functions) == count:
        functions.append(0)
    if len(functions) != count + 1:
        raise ValueError(f"with {count} condition(s), either {count} or {count + 1} functions are expected; "
                         f"got {len(functions)}")
    return functions


def _as(value: Any, x: Any) -> Any:
    promotion.check_arraylike("piecewise", value)
    return promotion.as_dtype(value, x.dtype)


def _chosen(functions: Sequence[Any], which: Any, x: Any, args: tuple[Any, ...], kw: dict[str, Any]) -> Any:
    """The function of each element that `which` counts, by a choice of programs, which derivatives choose among, too."""
    constants = [broadcast_to(_as(f, x), x.shape) for f in functions if not callable(f)]
    places = iter(range(len(constants)))

    def branch(f: Any) -> Callable[..., Any]:
        if not callable(f):
            at = next(places)
            return lambda element, *numbers: numbers[at]
        return lambda element, *numbers: _as(f(element, *args, **kw), x)
    branches = [branch(f) for f in functions]
    flat = [reshape(v, (x.size,)) for v in (which, x, *constants)]
    out = vmap(lambda k, element, *numbers: switch(k, branches, element, *numbers))(*flat)
    return reshape(out, (*x.shape, *aval_of(out).shape[1:]))
