"""x.at[idx]: updated copies of arrays."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import _native, lax
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, lazy_import
from numjet.lax import GatherScatterMode
from numjet.lax.scalar_programs import wrong_type
from numjet.numpy.indexing.guarded import check_index
from numjet.numpy.indexing.plan import plan_index
from numjet.numpy.indexing.subscript import getitem, scatter_update, traced_mask, update_by_mask, write

batching = lazy_import.Module("numjet.api.vmap")


class IndexUpdateHelper:
    """The property `x.at`: `x.at[idx]` refers to a part of x, and its methods give updated copies of x."""

    __slots__ = ("array",)

    def __init__(self, array: Any):
        self.array = array

    def __getitem__(self, index: Any) -> IndexUpdateRef:
        return IndexUpdateRef(self.array, index)

    def __repr__(self) -> str:
        return f"_IndexUpdateHelper({self.array!r})"


_CHANGES = {"set": 0, "add": 1, "subtract": 2, "mul": 3}   # as the native core numbers them


def _update_method(name: str, doc: str, op: str | None = None) -> Callable[..., Any]:
    """The method `name` of IndexUpdateRef, which updates by the operation `op` (default: of that name)."""
    change = _CHANGES.get(op or name, -1)

    def method(self: IndexUpdateRef, values: Any, *, indices_are_sorted: bool = False, unique_indices: bool = False,
               mode: str | GatherScatterMode | None = None, out_sharding: Any = None,
               wrap_negative_indices: bool = True) -> Any:
        if change >= 0 and mode is None and wrap_negative_indices and out_sharding is None:
            quick = _native.updated_part(self.array, self.index, values, change)
            if quick is not None:
                return quick
        check_index(self.array, self.index)
        update = _COMPOSED.get(name, scatter_update)
        return update(self.array, self.index, values, op or name, indices_are_sorted=indices_are_sorted,
                      unique_indices=unique_indices, mode=mode, wrap_negative_indices=wrap_negative_indices,
                      out_sharding=out_sharding)
    method.__name__, method.__qualname__, method.__doc__ = name, f"IndexUpdateRef.{name}", doc
    return method


def _divided(x: Any, idx: Any, values: Any, op: str, **options: Any) -> Any:
    divisors, dtype = _factors(x, idx, values, options), dtypes.to_inexact_dtype(aval_of(x).dtype)
    return lax.div(_as_dtype(x, dtype), _as_dtype(divisors, dtype))


def _raised(x: Any, idx: Any, values: Any, op: str, **options: Any) -> Any:
    return x ** _factors(x, idx, values, options)


def _factors(x: Any, idx: Any, values: Any, options: dict[str, Any]) -> Any:
    """Ones, multiplied by the values at the part."""
    return scatter_update(lax.full_like(x, 1), idx, values, "mul", **options)


_COMPOSED: dict[str, Callable[..., Any]] = {"divide": _divided, "power": _raised}


class IndexUpdateRef:
    """A part of an array. Each method gives a copy of the whole array in which the part is changed.

    Options of all methods:
      indices_are_sorted, unique_indices: promises about arrays of integers, for faster code.
      mode: what happens out of bounds. Updates: "drop" (default), "clip", "promise_in_bounds"; reads: also "fill".
      wrap_negative_indices: whether negative integers count from the end (default).
      out_sharding: how the result is divided along Explicit axes of a mesh.

    Elements at repeated indices are updated repeatedly (by `set`: the last value wins). Errors are those of indexing; a
    mask may be traced where the values don't depend on the number of selected elements.
    """

    __slots__ = ("array", "index")

    def __init__(self, array: Any, index: Any):
        self.array, self.index = array, index

    def __repr__(self) -> str:
        return f"_IndexUpdateRef({self.array!r}, {self.index!r})"

    def get(self, *, indices_are_sorted: bool = False, unique_indices: bool = False,
            mode: str | GatherScatterMode | None = None, fill_value: Any = None, out_sharding: Any = None,
            wrap_negative_indices: bool = True) -> Any:
        """x[idx], with a choice of what happens out of bounds: `x.at[9].get(mode="fill", fill_value=0)`."""
        check_index(self.array, self.index)
        return getitem(self.array, self.index, mode=mode, fill_value=fill_value, indices_are_sorted=indices_are_sorted,
                       unique_indices=unique_indices, wrap_negative_indices=wrap_negative_indices,
                       out_sharding=out_sharding)

    set = _update_method("set", "As `x[idx] = values`.")
    add = _update_method("add", "As `x[idx] += values`, accumulating at repeated indices.")
    subtract = _update_method("subtract", "As `x[idx] -= values`, accumulating at repeated indices.")
    multiply = mul = _update_method("multiply", "As `x[idx] *= values`, accumulating at repeated indices.", "mul")
    divide = _update_method("divide", "As `x[idx] /= values`; integers become floats, the whole array.")
    power = _update_method("power", "As `x[idx] **= values`.")
    min = _update_method("min", "As `x[idx] = minimum(x[idx], values)`.")
    max = _update_method("max", "As `x[idx] = maximum(x[idx], values)`.")

    def apply(self, func: Callable[[Any], Any], *, indices_are_sorted: bool = False, unique_indices: bool = False,
              mode: str | GatherScatterMode | None = None, wrap_negative_indices: bool = True) -> Any:
        """As `x[idx] = func(x[idx])` for a function from a scalar of the array's dtype to one.

        With arrays of integers that are not promised to be unique, func is applied once per repetition of an index; that
        form cannot be differentiated. ValueError when func gives another shape or dtype.
        """
        x, idx = self.array, self.index
        check_index(x, idx)
        masked = traced_mask(idx, aval_of(x).shape)
        if masked is not None:
            nothing = np.zeros((), aval_of(x).dtype)
            return update_by_mask(x, masked, nothing, lambda old, _: _of_each(func, old), mode, wrap_negative_indices)
        plan = plan_index(aval_of(x).shape, idx)
        if 0 in plan.result_shape:
            return x
        if plan.scalar or plan.masked or unique_indices:
            part = getitem(x, idx, mode="clip", wrap_negative_indices=wrap_negative_indices)
            return scatter_update(x, idx, _of_each(func, part), "set", mode=mode, indices_are_sorted=indices_are_sorted,
                                  unique_indices=True, wrap_negative_indices=wrap_negative_indices)

        def scatter(x: Any, indices: Any, values: Any, numbers: Any, **options: Any) -> Any:
            return lax.scatter_apply(x, indices, func, numbers, update_shape=values.shape, **options)

        nothing = np.zeros(plan.result_shape, aval_of(x).dtype)
        return write(x, plan, nothing, scatter, GatherScatterMode.from_any(mode), indices_are_sorted, unique_indices,
                     wrap_negative_indices)


def _of_each(func: Callable[[Any], Any], part: Any) -> Any:
    """func of each element by itself, so that operations on whole arrays in func (a sum, a shape) see one element."""
    aval = aval_of(part)
    if not aval.size:
        return part
    one: Callable[[Any], Any] = lambda v: _checked(func(v), aval.dtype)
    return batching.vmap(one)(lax.reshape(part, (aval.size,))).reshape(aval.shape) if aval.shape else one(part)


def _checked(out: Any, dtype: np.dtype) -> Any:
    found = aval_of(out)
    if found.shape or found.dtype != dtype:
        raise ValueError(wrong_type("x.at[...].apply", dtype, found))
    return out


def _as_dtype(x: Any, dtype: np.dtype) -> Any:
    return x if aval_of(x).dtype == dtype else lax.convert_element_type(x, dtype)
