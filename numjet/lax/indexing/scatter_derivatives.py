"""Derivatives of the scatter family."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.op import Undefined, Zero
from numjet.core.trace import aval_of
from numjet.lax.elementwise.arithmetic import add_p, div_p, mul_p, neg_p, sub_p
from numjet.lax.elementwise.compare import eq_p, max_p, select_n_p
from numjet.lax.indexing.dimension_numbers import (
    GatherScatterMode,
    ScatterDimensionNumbers,
    as_gather,
    drops,
    window_sizes,
)
from numjet.lax.indexing.gather import gather_p
from numjet.lax.scalar_programs import update_program
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, filled, reshaped
from numjet.lax.tangent import instantiate, no_tangent, zeros_like_aval
from numjet.lax.templates import call

_CLIP, _FILL = GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP


def read_back(x: Any, indices: Any, updates_shape: Sequence[int], numbers: ScatterDimensionNumbers,
              mode: GatherScatterMode = _CLIP) -> Any:
    """The windows of x that a scatter with these indices writes; zeros where `mode` drops them, others in their place if it is
    CLIP. No window lies in an empty x, and a gather would refuse it."""
    aval = aval_of(x)
    if 0 in aval.shape:
        return filled(np.zeros((), aval.dtype)[()], tuple(updates_shape))
    how, fill = (_FILL, 0) if drops(mode) else (mode, None)
    return gather_p.bind(x, indices, dimension_numbers=as_gather(numbers), mode=how, fill_value=fill,
                         slice_sizes=window_sizes(aval.shape, updates_shape, numbers), indices_are_sorted=False,
                         unique_indices=False)


def _scatter(name: str, operand: Any, indices: Any, updates: Any, params: dict[str, Any]) -> Any:
    program = {"scatter": None, "scatter-add": "add", "scatter-mul": "mul"}[name]
    jaxpr = None if program is None else update_program(program, aval_of(operand).dtype)
    return call(name, operand, indices, updates, **{**params, "update_jaxpr": jaxpr, "update_consts": ()})


def _full(like: Any, value: float, dtype: Any = None) -> Any:
    aval = aval_of(like)
    scalar = np.asarray(value, dtype or aval.dtype)[()]
    return filled(scalar, aval.shape)


def _zeros(like: Any) -> Any:
    return zeros_like_aval(aval_of(like).strip_weak_type())


# ------------------------------------------------------------------------------------------------ add and sub

def linear_jvp(name: str) -> Callable[..., tuple[Any, Any]]:
    """scatter-add and scatter-sub are linear in operand and updates together."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        out = call(name, operand, indices, updates, **params)
        if type(tangents[0]) is Zero and type(tangents[2]) is Zero:
            return out, no_tangent(out)
        return out, call(name, instantiate(tangents[0]), indices, instantiate(tangents[2]), **params)
    return jvp


def linear_transpose(name: str) -> Callable[..., list[Any]]:
    """The operand's cotangent is the result's; the updates' is read back at the indices."""
    def transpose(ct: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
                  mode: GatherScatterMode, **_: Any) -> list[Any]:
        of_operand = ct if isinstance(operand, Undefined) else None
        of_updates = None
        if isinstance(updates, Undefined):
            of_updates = read_back(ct, indices, updates.shape, dimension_numbers, mode)
            of_updates = neg_p.bind(of_updates) if name == "scatter-sub" else of_updates
        return [of_operand, None, of_updates]
    return transpose


# ------------------------------------------------------------------------------------------------ set

def set_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """With unique indices the tangent is scattered as the value is. Otherwise every update gets a number and a scatter
    of the numbers shows which update won each element; the tangents of all others are masked and the rest added."""
    operand, indices, updates = primals
    if params["update_jaxpr"] is not None:
        raise NotImplementedError("scatter_apply JVP not implemented: differentiate x.at[i].set(func(x[i])) instead")
    out = call("scatter", operand, indices, updates, **params)
    if all(type(tangents[i]) is Zero for i in (0, 2)):
        return out, no_tangent(out)
    t_operand, t_updates = instantiate(tangents[0]), instantiate(tangents[2])
    if params["unique_indices"]:
        return out, call("scatter", t_operand, indices, t_updates, **params)
    untouched, won = _winners(operand, indices, updates, params)
    base = select_n_p.bind(untouched, _zeros(t_operand), t_operand)
    kept = select_n_p.bind(won, _zeros(t_updates), t_updates)
    return out, _scatter("scatter-add", base, indices, kept, params)


def _winners(operand: Any, indices: Any, updates: Any, params: dict[str, Any]) -> tuple[Any, Any]:
    """Masks: which elements of the operand no update reaches; which elements of the updates are in the result."""
    numbers = params["dimension_numbers"]
    shape, window = aval_of(updates).shape, numbers.update_window_dims
    batch = tuple(n for d, n in enumerate(shape) if d not in window)
    count = prod(batch)
    order = iota_p.bind(dtype=np.dtype(np.uint32), shape=(count,), dimension=0)
    order = add_p.bind(order, np.uint32(1))
    order = reshaped(order, batch)
    order = broadcast_in_dim_p.bind(order, shape=shape,
                                    broadcast_dimensions=tuple(d for d in range(len(shape)) if d not in window))
    last = _scatter("scatter", _full(operand, 0, np.uint32), indices, order, params)
    won = eq_p.bind(order, read_back(last, indices, shape, numbers))
    return eq_p.bind(last, _full(last, 0)), won


def set_transpose(ct: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
                  mode: GatherScatterMode, unique_indices: bool, **params: Any) -> list[Any]:
    """The operand's cotangent is zero where updates went; the updates' is read back."""
    if not unique_indices:
        raise NotImplementedError("scatter transpose is only implemented where unique_indices=True")
    of_operand = of_updates = None
    if isinstance(operand, Undefined):
        blank = zeros_like_aval(updates.aval if isinstance(updates, Undefined) else aval_of(updates))
        of_operand = call("scatter", ct, indices, blank, dimension_numbers=dimension_numbers, mode=mode,
                          unique_indices=unique_indices, **params)
    if isinstance(updates, Undefined):
        of_updates = read_back(ct, indices, updates.shape, dimension_numbers, mode)
    return [of_operand, None, of_updates]


# ------------------------------------------------------------------------------------------------ mul

_UNIQUE_MUL = "scatter_mul gradients are only implemented if `unique_indices=True`"


def mul_jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    """d(x u) = dx u + x du, for updates that meet no other."""
    operand, indices, updates = primals
    out = call("scatter-mul", operand, indices, updates, **params)
    total: Any = no_tangent(out)
    if type(tangents[0]) is not Zero:
        total = call("scatter-mul", tangents[0], indices, updates, **params)
    if type(tangents[2]) is not Zero:
        if not params["unique_indices"]:
            raise NotImplementedError(_UNIQUE_MUL)
        old = read_back(operand, indices, aval_of(updates).shape, params["dimension_numbers"], params["mode"])
        total = _scatter("scatter-add", instantiate(total), indices, mul_p.bind(old, tangents[2]), params)
    return out, total


def mul_transpose(ct: Any, operand: Any, indices: Any, updates: Any, *, dimension_numbers: ScatterDimensionNumbers,
                  mode: GatherScatterMode, unique_indices: bool, **params: Any) -> list[Any]:
    """scatter-mul is linear in the operand, and in updates that meet no other."""
    if isinstance(operand, Undefined):
        scaled = call("scatter-mul", ct, indices, updates, dimension_numbers=dimension_numbers, mode=mode,
                      unique_indices=unique_indices, **params)
        return [scaled, None, None]
    if not unique_indices:
        raise NotImplementedError(_UNIQUE_MUL)
    return [None, None, read_back(mul_p.bind(ct, operand), indices, updates.shape, dimension_numbers, mode)]


# ------------------------------------------------------------------------------------------------ min and max

def _at_least_one(count: Any) -> Any:
    """Counts of 0 belong to updates that are dropped; 1 keeps their (unused) quotients finite."""
    return max_p.bind(count, _full(count, 1))


def extremum_jvp(name: str) -> Callable[..., tuple[Any, Any]]:
    """The tangent of an element is the mean of the tangents of those that are equal to the result: of the winning
    updates, and of the operand when it is as good. Written as the operand's tangent plus scattered corrections."""
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        operand, indices, updates = primals
        out = call(name, operand, indices, updates, **params)
        if type(tangents[0]) is Zero and type(tangents[2]) is Zero:
            return out, no_tangent(out)
        t_operand, t_updates = instantiate(tangents[0]), instantiate(tangents[2])
        shape, numbers = aval_of(updates).shape, params["dimension_numbers"]
        back = lambda x: read_back(x, indices, shape, numbers)
        alone = params["unique_indices"]
        count = lambda marks: marks if alone else back(_scatter("scatter-add", _zeros(operand), indices, marks, params))
        one, zero = _full(updates, 1), _zeros(updates)
        winning = eq_p.bind(updates, back(out))
        kept = eq_p.bind(back(operand), back(out))
        winners, references = count(select_n_p.bind(winning, zero, one)), count(one)
        share_of_all = div_p.bind(one, add_p.bind(winners, one))
        share = select_n_p.bind(kept, div_p.bind(one, _at_least_one(winners)), share_of_all)
        of_updates = select_n_p.bind(winning, zero, share)
        of_operand = select_n_p.bind(kept, zero, share_of_all)
        correction = div_p.bind(sub_p.bind(of_operand, one), _at_least_one(references))
        change = add_p.bind(mul_p.bind(back(t_operand), correction), mul_p.bind(t_updates, of_updates))
        return out, _scatter("scatter-add", t_operand, indices, change, params)
    return jvp
