"""Narrow updates: an update of a widened array that is narrowed again updates the array itself.

`x.at[i].set(v)` with a value of a wider dtype is defined as an update of all of x in that dtype, of which the result is
converted back. Written as

    convert(scatter(convert(x), i, v))  ->  scatter(x, i, convert(v))

it costs as much as the elements that change, and may be made in place. Exact where the wider dtype holds every value of x: the
elements that stay come back as they were, and the others are converted once, as before.
"""
from __future__ import annotations

from collections import Counter

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import Atom, Jaxpr, JaxprEqn, Var
from numjet.core.walk import use_counts
from numjet.foundation import dtypes
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.indexing.dynamic_slicing import dynamic_update_slice_p
from numjet.lax.indexing.scatter import scatter_p

_VALUE = {scatter_p: 2, dynamic_update_slice_p: 1}   # by operation that replaces elements: the operand that holds the new ones


def narrow_updates(jaxpr: Jaxpr) -> Jaxpr:
    """The program with updates that only a conversion back to the array's own dtype reads made in that dtype."""
    if not any(eqn.primitive in _VALUE for eqn in jaxpr.eqns):
        return jaxpr
    uses: Counter[Atom] = Counter()
    uses.update(use_counts(jaxpr))
    makers: dict[Var, JaxprEqn] = {}
    result: list[JaxprEqn] = []
    for eqn in jaxpr.eqns:
        narrow = _narrow(eqn, makers) if eqn.primitive is convert_element_type_p and uses[eqn.invars[0]] == 1 else [eqn]
        result += narrow
        makers.update((v, e) for e in narrow for v in e.outvars)
    return jaxpr.replace(eqns=result)


def _narrow(eqn: JaxprEqn, makers: dict[Var, JaxprEqn]) -> list[JaxprEqn]:
    """A conversion, or what takes its place; the update before it is left to dead code elimination."""
    update = _maker(eqn.invars[0], makers)
    if update is None or update.primitive not in _VALUE or update.params.get("update_jaxpr") is not None:
        return [eqn]
    widened = _maker(update.invars[0], makers)
    if widened is None or widened.primitive is not convert_element_type_p:
        return [eqn]
    array, result = widened.invars[0], eqn.outvars[0]
    if array.aval != result.aval or not holds_all(update.outvars[0].aval.dtype, array.aval.dtype):
        return [eqn]
    operands = [array, *update.invars[1:]]
    place = _VALUE[update.primitive]
    value = Var(ShapedArray(operands[place].aval.shape, array.aval.dtype))
    params = {"new_dtype": array.aval.dtype, "weak_type": False}
    converted = JaxprEqn([operands[place]], [value], convert_element_type_p, params, source_info=eqn.source)
    operands[place] = value
    return [converted, update.replace(invars=operands, outvars=[result])]


def _maker(a: Atom, makers: dict[Var, JaxprEqn]) -> JaxprEqn | None:
    return makers.get(a) if isinstance(a, Var) else None


def holds_all(wide: np.dtype, narrow: np.dtype) -> bool:
    """Whether a dtype holds every number of another one, so that a conversion there and back changes none.

    >>> holds_all(np.dtype(np.float64), np.dtype(np.int32)), holds_all(np.dtype(np.float32), np.dtype(np.int32))
    (True, False)
    """
    kind, held = dtypes.kind(wide), dtypes.kind(narrow)
    if wide == narrow or held == "b" and kind in "iufc":
        return True
    if kind == "c" and held in "iufc":
        return held == "c" and wide.itemsize >= narrow.itemsize or held != "c" and holds_all(_part(wide), narrow)
    if held in "iu" and kind in "iu":
        one, other = dtypes.iinfo(wide), dtypes.iinfo(narrow)
        return one.min <= other.min and other.max <= one.max
    if kind != "f" or held not in "iuf":
        return False
    real = dtypes.finfo(wide)
    if held in "iu":
        return bool(dtypes.iinfo(narrow).bits <= real.nmant + 1)
    one = dtypes.finfo(narrow)
    return bool(wide.itemsize > narrow.itemsize >= 2 and one.nmant <= real.nmant and float(one.max) <= float(real.max)
                and float(real.smallest_subnormal) <= float(one.smallest_subnormal))


def _part(dtype: np.dtype) -> np.dtype:
    return np.dtype(np.float32 if dtype.itemsize == 8 else np.float64)
