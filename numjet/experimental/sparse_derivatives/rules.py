"""Rules of dependence: which elements of its operands an element of an operation's result depends on.

A rule takes the equation and its values, of which at least one depends on the input, and returns those of its results. Programs
are linear in the input, so what an operation does to other operands does not matter.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import lax
from numjet.core.ir import JaxprEqn
from numjet.core.op import ZERO, lookup
from numjet.core.traits import MOVES
from numjet.experimental.sparse_derivatives.values import (
    Rows,
    Value,
    below,
    blurred,
    chosen,
    depends,
    joined,
    masked,
    product,
)
from numjet.foundation import dtypes
from numjet.lax.indexing.dimension_numbers import as_gather, window_sizes
from numjet.lax.indexing.gather import gather_p
from numjet.lax.reduction.window_shapes import Windows

Rule = Callable[[JaxprEqn, Sequence[Value]], list[Value]]
RULES: dict[Any, Rule] = {}


def _rule(*ops: Any) -> Callable[[Rule], Rule]:
    """Decorator: the rule of these operations."""
    def decorate(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, rule))
        return rule
    return decorate


def apply(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """The results of an equation without programs. Without a rule each element depends on all that its operands depend on."""
    op = eqn.primitive
    if op.jvp is ZERO:
        return [None] * len(eqn.outvars)
    if op in RULES:
        return RULES[op](eqn, values)
    if op.elementwise:
        return _elementwise(eqn, values)
    return _moved(eqn, values) if MOVES <= op.traits else whole(eqn, values)


def whole(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """Every element depends on all that the operands depend on."""
    tables = [v.table for v in values if isinstance(v, Rows)]
    smooth = lambda aval: aval.dtype in (*dtypes.FLOATING, *dtypes.COMPLEX)
    return [Rows(blurred(tables, v.aval.size)) if smooth(v.aval) else None for v in eqn.outvars]


def _ids(shape: Sequence[int]) -> np.ndarray:
    return np.arange(prod(shape)).reshape(tuple(shape))


# ------------------------------------------------------------------------------------------------ element by element

def _spread(eqn: JaxprEqn, i: int, value: Rows) -> Any:
    """The table of an operand in the shape of the result: operands may be scalars."""
    size = eqn.outvars[0].aval.size
    return value.table if eqn.invars[i].aval.size == size else chosen(value.table, np.zeros(size, np.int64))


def _elementwise(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    return [Rows(joined([_spread(eqn, i, v) for i, v in enumerate(values) if isinstance(v, Rows)]))]


@_rule(lax.mul_p)
def _mul(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    (out,) = _elementwise(eqn, values)
    factors = [v for v in values if isinstance(v, np.ndarray)]
    if not factors or not isinstance(out, Rows):
        return [out]
    return [Rows(masked(out.table, np.broadcast_to(factors[0] != 0, eqn.outvars[0].aval.shape).reshape(-1)))]


@_rule(lax.select_n_p)
def _select_n(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    which, *cases = values
    if not isinstance(which, np.ndarray):
        return _elementwise(eqn, values)
    which = np.broadcast_to(which, eqn.outvars[0].aval.shape).reshape(-1)
    parts = [masked(_spread(eqn, i + 1, v), which == i) for i, v in enumerate(cases) if isinstance(v, Rows)]
    return [Rows(joined(parts))]


@_rule(lax.optimization_barrier_p)
def _passed(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    return list(values)


# ------------------------------------------------------------------------------------------------ data movement

@_rule(lax.gather_p, lax.dynamic_slice_p)
def _moved(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """The operation, applied to numbers of elements in place of the elements."""
    operands, tables, start = [], [], 1
    for value, atom in zip(values, eqn.invars, strict=True):
        aval = atom.aval
        if isinstance(value, Rows):
            operands.append(_ids(aval.shape) + start)
            tables.append(value.table)
            start += aval.size
        elif aval.dtype in (*dtypes.FLOATING, *dtypes.COMPLEX):
            operands.append(np.zeros(aval.shape, np.int64))
        elif value is None:
            return whole(eqn, values)
        else:
            operands.append(value)
    params = {k: 0 if k == "fill_value" else v for k, v in eqn.params.items()}
    found = eqn.primitive.eager(*operands, **params)
    table = below(tables)
    return [Rows(chosen(table, np.where((ids > 0) & (ids < start), ids, 0) - 1))
            for ids in map(np.asarray, found if eqn.primitive.multiple else [found])]


@_rule(lax.dynamic_update_slice_p, lookup("scatter"))
def _written(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    indices = values[1:2] if eqn.primitive is lookup("scatter") else values[2:]
    if any(i is None for i in indices):
        return _written_anywhere(eqn, values, 2 if eqn.primitive is lookup("scatter") else 1)
    return _moved(eqn, values)


def _written_anywhere(eqn: JaxprEqn, values: Sequence[Value], updates: int) -> list[Value]:
    """Updates at unknown places: each element depends on its operand's, and may depend on any update."""
    operand, new = values[0], values[updates]
    tables = [operand.table] if isinstance(operand, Rows) else []
    if isinstance(new, Rows):
        tables.append(blurred([new.table], eqn.outvars[0].aval.size))
    return [Rows(joined(tables))]


@_rule(lookup("scatter-add"), lookup("scatter-sub"))
def _scatter_add(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    operand, indices, updates = values
    if not isinstance(indices, np.ndarray):
        return _written_anywhere(eqn, values, 2)
    tables = [operand.table] if isinstance(operand, Rows) else []
    if isinstance(updates, Rows):
        shape, numbers = eqn.invars[0].aval.shape, eqn.params["dimension_numbers"]
        sizes = window_sizes(shape, eqn.invars[2].aval.shape, numbers)
        places = gather_p.eager(_ids(shape) + 1, indices, dimension_numbers=as_gather(numbers), mode=eqn.params["mode"],
                                fill_value=0, slice_sizes=sizes, indices_are_sorted=False, unique_indices=False)
        tables.append(product(prod(shape), places - 1, np.arange(places.size), updates.table))
    return [Rows(joined(tables))]


@_rule(lookup("scatter-mul"))
def _scatter_mul(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """Its tangents multiply those of the operand by updates that do not depend on the input."""
    return whole(eqn, values) if depends(values[2]) else [values[0]]


# ------------------------------------------------------------------------------------------------ sums

@_rule(lax.reduce_sum_p)
def _reduce_sum(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    shape, axes = eqn.invars[0].aval.shape, eqn.params["axes"]
    kept = [1 if d in axes else n for d, n in enumerate(shape)]
    return [_product(eqn, np.broadcast_to(_ids(kept), shape), _ids(shape), values[0])]


def _product(eqn: JaxprEqn, targets: np.ndarray, sources: np.ndarray, value: Value) -> Value:
    if not isinstance(value, Rows):
        raise AssertionError("a rule for one operand needs one that depends on the input")
    targets, sources = np.broadcast_arrays(targets, sources)
    return Rows(product(eqn.outvars[0].aval.size, targets, sources, value.table))


def _along(eqn: JaxprEqn, operand: int, values: Sequence[Value], axis: int, links: np.ndarray) -> list[Value]:
    """Elements that depend on those along one axis: links[i, k] says whether element i depends on element k."""
    if any(depends(v) for i, v in enumerate(values) if i != operand):
        return whole(eqn, values)
    out, source = (np.moveaxis(_ids(a.aval.shape), axis, -1) for a in (eqn.outvars[0], eqn.invars[operand]))
    i, k = np.nonzero(links)
    return [_product(eqn, out[..., i], source[..., k], values[operand])]


@_rule(lax.cumsum_p, lax.linear_recurrence_p)
def _cumulative(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    axis, reverse = eqn.params["axis"], eqn.params["reverse"]
    terms = len(values) - 1
    lower = np.tri(eqn.invars[terms].aval.shape[axis], dtype=bool)
    return _along(eqn, terms, values, axis, lower.T if reverse else lower)


@_rule(lookup("triangular_solve"))
def _triangular_solve(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    shape = eqn.outvars[0].aval.shape
    axis = len(shape) - (2 if eqn.params["left_side"] else 1)
    return _along(eqn, 1, values, axis, np.ones((shape[axis],) * 2, bool))


@_rule(lookup("tridiagonal_solve"))
def _tridiagonal_solve(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    shape = eqn.outvars[0].aval.shape
    return _along(eqn, 3, values, len(shape) - 2, np.ones((shape[-2],) * 2, bool))


@_rule(lax.fft_p)
def _fft(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    count = len(eqn.params["fft_lengths"])
    rows = lambda a: _ids(a.aval.shape).reshape(prod(a.aval.shape[:len(a.aval.shape) - count]), -1)
    out, source = rows(eqn.outvars[0]), rows(eqn.invars[0])
    return [_product(eqn, out[:, :, None], source[:, None, :], values[0])]


# ------------------------------------------------------------------------------------------------ windows

@_rule(lax.reduce_window_sum_p)
def _window_sum(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    params = eqn.params
    windows = Windows(eqn.invars[0].aval.shape, params["window_dimensions"], params["window_strides"], params["padding"],
                      params["base_dilation"], params["window_dilation"])
    return [_product(eqn, _numbers(windows), windows.view(_ids(windows.shape), -1), values[0])]


def _numbers(windows: Windows) -> np.ndarray:
    """The number of each window, to be broadcast over its elements."""
    return _ids(windows.counts).reshape(*windows.counts, *[1] * len(windows.shape))


@_rule(lookup("select_and_gather_add"))
def _window_select(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    return whole(eqn, values) if depends(values[1]) else _window_sum(eqn, values)


@_rule(lookup("select_and_scatter_add"))
def _window_scatter(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """Each window's source goes to one of its elements."""
    if depends(values[1]):
        return whole(eqn, values)
    shape, params = eqn.invars[1].aval.shape, eqn.params
    ones = (1,) * len(shape)
    windows = Windows(shape, params["window_dimensions"], params["window_strides"], params["padding"], ones, ones)
    return [_product(eqn, windows.view(_ids(shape), -1), _numbers(windows), values[0])]


# ------------------------------------------------------------------------------------------------ products

def _nonzero(value: Value, shape: Sequence[int]) -> np.ndarray:
    return value != 0 if isinstance(value, np.ndarray) else np.ones(tuple(shape), bool)


def _matrices(x: np.ndarray, batch: Sequence[int], contracted: Sequence[int]) -> np.ndarray:
    """x as [batch, free, contracted]."""
    free = [d for d in range(x.ndim) if d not in (*batch, *contracted)]
    size = lambda axes: prod(x.shape[d] for d in axes)
    return x.transpose((*batch, *free, *contracted)).reshape(size(batch), size(free), size(contracted))


@_rule(lax.dot_general_p)
def _dot_general(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    (left, right), (left_batch, right_batch) = eqn.params["dimension_numbers"]
    shapes = [a.aval.shape for a in eqn.invars]
    a, b = _matrices(_ids(shapes[0]), left_batch, left), _matrices(_ids(shapes[1]), right_batch, right)
    out = _ids((a.shape[0], a.shape[1], b.shape[1]))
    tables = []
    if depends(values[0]):
        known = _matrices(_nonzero(values[1], shapes[1]), right_batch, right)
        tables.append(_contracted(eqn, a, out, known, values[0]))
    if depends(values[1]):
        known = _matrices(_nonzero(values[0], shapes[0]), left_batch, left)
        tables.append(_contracted(eqn, b, out.swapaxes(1, 2), known, values[1]))
    return [Rows(joined(tables))]


def _contracted(eqn: JaxprEqn, ids: np.ndarray, out: np.ndarray, other: np.ndarray, value: Value) -> Any:
    """The table of products: ids[b, m, k] with other[b, n, k], to out[b, m, n]."""
    if not isinstance(value, Rows):
        raise AssertionError("expected a value that depends on the input")
    if other.all():  # all columns are alike: sum once
        sums = product(ids.shape[0] * ids.shape[1], np.broadcast_to(_ids((*ids.shape[:2], 1)), ids.shape), ids, value.table)
        places = np.broadcast_to(_ids((*ids.shape[:2], 1)), out.shape)
        return product(out.size, out, places, sums)
    batch, n, k = np.nonzero(other)
    return product(out.size, out[batch, :, n], ids[batch, :, k], value.table)


@_rule(lax.conv_general_dilated_p)
def _conv(eqn: JaxprEqn, values: Sequence[Value]) -> list[Value]:
    """Ids of the windows of lhs as [group, n, *positions, channel, *offsets], of rhs as [group, output, channel, *offsets]."""
    numbers, params = eqn.params["dimension_numbers"], eqn.params
    lhs, rhs = (a.aval.shape for a in eqn.invars)
    x = _ids(lhs).transpose(numbers.lhs_spec)
    kernel = _ids(rhs).transpose(numbers.rhs_spec)
    windows = Windows(x.shape, (1, 1, *kernel.shape[2:]), (1, 1, *params["window_strides"]),
                      ((0, 0), (0, 0), *params["padding"]), (1, 1, *params["lhs_dilation"]), (1, 1, *params["rhs_dilation"]))
    patches, out = _grouped(windows.view(x, -1), _ids(eqn.outvars[0].aval.shape).transpose(numbers.out_spec), params)
    groups, count = patches.shape[0], prod(kernel.shape[1:])
    patches = patches.reshape(groups, -1, count)                       # [group, position, element of the kernel]
    kernel = kernel.reshape(groups, -1, count)                         # [group, output, element of the kernel]
    out = out.reshape(groups, -1, kernel.shape[1])                     # [group, position, output]
    tables = []
    if isinstance(values[0], Rows):
        g, o, k = np.nonzero(_nonzero(values[1], rhs).transpose(numbers.rhs_spec).reshape(kernel.shape))
        tables.append(product(out.size, out[g, :, o], patches[g, :, k], values[0].table))
    if isinstance(values[1], Rows):
        everywhere = np.broadcast_to(out[..., None], (*out.shape, count))
        seen = np.broadcast_to(patches[:, :, None, :], everywhere.shape)
        sources = np.broadcast_to(kernel[:, None], everywhere.shape)
        tables.append(product(out.size, everywhere, np.where(seen >= 0, sources, -1), values[1].table))
    return [Rows(joined(tables))]


def _grouped(view: np.ndarray, out: np.ndarray, params: dict[str, Any]) -> tuple[np.ndarray, np.ndarray]:
    """Windows [n, channels, *positions, 1, 1, *offsets] and results [n, outputs, *positions], with groups in front, channels
    behind the positions and outputs last."""
    rank = (view.ndim - 4) // 2
    view = view.reshape(*view.shape[:2 + rank], *view.shape[4 + rank:])
    batches, features = params["batch_group_count"], params["feature_group_count"]
    groups = batches * features
    n, c = view.shape[0] // batches, view.shape[1] // features
    split = view.reshape(batches, n, features, c, *view.shape[2:])
    positions, offsets = range(4, 4 + rank), range(4 + rank, 4 + 2 * rank)
    places, kernel = view.shape[2:2 + rank], view.shape[2 + rank:]
    patches = split.transpose(0, 2, 1, *positions, 3, *offsets).reshape(groups, n, *places, c, *kernel)
    results = out.reshape(n, groups, -1, *out.shape[2:])
    return patches, np.moveaxis(np.moveaxis(results, 1, 0), 2, -1)
