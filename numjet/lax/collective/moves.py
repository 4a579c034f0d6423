"""Records of collectives that move data along a named axis: all_gather, reduce_scatter, all_to_all, ppermute, pbroadcast.

Their rule for the axis they name (`collective`) gets all elements as one array with the axis in front. Parameters hold all
sizes, so that a program can be transformed where the axis is no longer in scope.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.named_axes import checked_axes
from numjet.core.op import LINEAR, Op
from numjet.core.stage import Varying
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, NONE, Traits
from numjet.lax.collective import hlo
from numjet.lax.collective.reductions import (
    INT32,
    NO_SAMPLES,
    OUTSIDE,
    Groups,
    Names,
    axis_index_p,
    axis_names,
    group_count,
    group_of,
    one_axis,
    outside,
    psum_p,
    take_rows,
)
from numjet.lax.elementwise.compare import eq_p, select_n_p
from numjet.lax.indexing.gather import index_take
from numjet.lax.indexing.slicing import slice_along
from numjet.lax.reduction.reduce import reduce_sum_p
from numjet.lax.shape.rearrange import filled, reshaped, squeeze_p
from numjet.lax.templates import broadcast_batch, leading_batch, moveaxis

Rule = Callable[..., tuple[Any, int | None]]


def _moving(name: str, params: tuple[str, ...], abstract: Callable[..., ShapedArray], along: Rule,
            transpose: Callable[..., Any], hlo_rule: Any, axes: tuple[str, ...] = (), traits: Traits = NONE,
            same: bool = False) -> Op:
    """A record. along(x, size, **params): (result, dim) for x with the named axis in front; axes: the parameters that
    number axes of the operand, for other batch axes. same: all elements get the same."""
    def collective(trace: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, int | None]:
        if params.get("axis_index_groups") is not None:
            one_axis(name, axis_names(params["axis_name"]))
        return along(broadcast_batch(args[0], dims[0], trace.size), trace.size, **params)

    op: Op = Op(name=name, params=params, abstract=abstract, eager=outside, jvp=LINEAR, cpu=OUTSIDE,
            batch=leading_batch(lambda: op, *axes),
            transpose=lambda ct, x, **params: [transpose(ct, x, **params)],
            hlo=hlo_rule, samples=NO_SAMPLES, collective=collective, linear_in=(0,), traits=traits,
            varying=lambda found, **params: _varying(op, found, params, same))
    return op


def _varying(op: Op, found: frozenset[Any], params: dict[str, Any], same: bool) -> Varying:
    """What is exchanged along axes varies over them, and so does what arrives, unless it is the same for all."""
    along = set(axis_names(params["axis_name"])) & checked_axes()
    return Varying(op, params, found | along, found - along if same else found | along)


def cut_axis(x: Any, axis: int, count: int) -> Any:
    """Axis `axis` of size count * m as two axes of sizes count and m."""
    shape = aval_of(x).shape
    return reshaped(x, (*shape[:axis], count, shape[axis] // count, *shape[axis + 1:]))


def merge_axes(x: Any, axis: int) -> Any:
    """Axes `axis` and `axis + 1` as one."""
    shape = aval_of(x).shape
    return reshaped(x, (*shape[:axis], shape[axis] * shape[axis + 1], *shape[axis + 2:]))


# ------------------------------------------------------------------------------------------------ all_gather

def gather_abstract(x: ShapedArray, *, all_gather_dimension: int, axis_size: int, tiled: bool, **_: Any) -> ShapedArray:
    d, shape = all_gather_dimension, x.shape
    if tiled:
        return x.update(shape=(*shape[:d], shape[d] * axis_size, *shape[d + 1:]))
    return x.update(shape=(*shape[:d], axis_size, *shape[d:]))


def _gather_along(x: Any, size: int, *, all_gather_dimension: int, axis_index_groups: Groups, tiled: bool,
                  **_: Any) -> tuple[Any, int | None]:
    d = all_gather_dimension
    if axis_index_groups is None:
        out = moveaxis(x, 0, d)
        return merge_axes(out, d) if tiled else out, None
    members = [axis_index_groups[k] for k in group_of(axis_index_groups)]
    out = moveaxis(take_rows(x, members), 1, d + 1)
    return merge_axes(out, d + 1) if tiled else out, 0


GATHER = ("all_gather_dimension", "axis_index_groups", "axis_name", "axis_size", "tiled")
all_gather_p: Op = _moving(
    "all_gather", GATHER, gather_abstract, _gather_along, hlo_rule=hlo.all_gather, axes=("all_gather_dimension",),
    traits=EXACT, transpose=lambda ct, x, *, all_gather_dimension, **params: reduce_scatter_p.bind(
        ct, scatter_dimension=all_gather_dimension, **params))


def _own_part(ct: Any, x: Any, *, all_gather_dimension: int, axis_index_groups: Groups, axis_name: Names, axis_size: int,
              tiled: bool) -> Any:
    """The cotangent of an element's part, where all have the same cotangent of the whole."""
    d, (name,) = all_gather_dimension, axis_name
    parts = cut_axis(ct, d, axis_size) if tiled else ct
    return index_take(parts, (axis_index_p.bind(axis_name=name),), (d,))


all_gather_invariant_p: Op = _moving(
    "all_gather_invariant", GATHER, gather_abstract, _gather_along, hlo_rule=hlo.all_gather,
    axes=("all_gather_dimension",), traits=EXACT, transpose=_own_part, same=True)


# ------------------------------------------------------------------------------------------------ reduce_scatter

def scatter_abstract(x: ShapedArray, *, scatter_dimension: int, axis_size: int, tiled: bool, **_: Any) -> ShapedArray:
    d, shape = scatter_dimension, x.shape
    return x.update(shape=(*shape[:d], *((shape[d] // axis_size,) if tiled else ()), *shape[d + 1:]))


def _scatter_along(x: Any, size: int, *, scatter_dimension: int, axis_index_groups: Groups, axis_size: int, tiled: bool,
                   **_: Any) -> tuple[Any, int]:
    if tiled:
        x = cut_axis(x, scatter_dimension + 1, axis_size)
    if axis_index_groups is None:
        return reduce_sum_p.bind(x, axes=(0,)), scatter_dimension
    members = take_rows(x, axis_index_groups)                                     # groups, members, ...
    sums = moveaxis(reduce_sum_p.bind(members, axes=(1,)), scatter_dimension + 1, 1)  # groups, parts, ...
    return take_rows(merge_axes(sums, 0), _positions(axis_index_groups)), 0


def _positions(groups: tuple[tuple[int, ...], ...]) -> np.ndarray:
    """The position of each element in the concatenated groups."""
    return np.argsort([i for g in groups for i in g])


SCATTER = ("axis_index_groups", "axis_name", "axis_size", "scatter_dimension", "tiled")
reduce_scatter_p: Op = _moving(
    "reduce_scatter", SCATTER, scatter_abstract,
    _scatter_along, hlo_rule=hlo.reduce_scatter, axes=("scatter_dimension",),
    transpose=lambda ct, x, *, scatter_dimension, **params: all_gather_p.bind(
        ct, all_gather_dimension=scatter_dimension, **params))


# ------------------------------------------------------------------------------------------------ all_to_all

def _exchange_abstract(x: ShapedArray, *, split_axis: int, concat_axis: int, axis_size: int, tiled: bool,
                       **_: Any) -> ShapedArray:
    shape = list(x.shape)
    if tiled:
        shape[split_axis] //= axis_size
        shape[concat_axis] *= axis_size
    else:
        del shape[split_axis]
        shape.insert(concat_axis, axis_size)
    return x.update(shape=tuple(shape))


def _exchange_along(x: Any, size: int, *, split_axis: int, concat_axis: int, axis_index_groups: Groups, tiled: bool,
                    **_: Any) -> tuple[Any, int]:
    count = group_count(size, axis_index_groups)
    if tiled:
        x = cut_axis(x, split_axis + 1, count)
    x = moveaxis(x, split_axis + 1, 1)  # senders, receivers, ...
    if axis_index_groups is None:
        out = moveaxis(x, 1, 0)
    else:
        member = _positions(axis_index_groups) % count
        rows = [[j * count + member[i] for j in axis_index_groups[k]] for i, k in enumerate(group_of(axis_index_groups))]
        out = take_rows(merge_axes(x, 0), rows)
    out = moveaxis(out, 1, concat_axis + 1)  # receivers, ..., senders, ...
    return merge_axes(out, concat_axis + 1) if tiled else out, 0


all_to_all_p: Op = _moving(
    "all_to_all", ("axis_index_groups", "axis_name", "axis_size", "concat_axis", "split_axis", "tiled"), _exchange_abstract,
    _exchange_along, hlo_rule=hlo.all_to_all, axes=("split_axis", "concat_axis"),
    transpose=lambda ct, x, *, split_axis, concat_axis, **params: all_to_all_p.bind(
        ct, split_axis=concat_axis, concat_axis=split_axis, **params))


# ------------------------------------------------------------------------------------------------ ppermute, pbroadcast

def _permute_along(x: Any, size: int, *, axis_name: Names, perm: tuple[tuple[int, int], ...]) -> tuple[Any, int]:
    source = {to: start for start, to in perm}
    out = take_rows(x, [source.get(i, 0) for i in range(size)])
    if len(source) == size:
        return out, 0
    shape = aval_of(x).shape
    receives = np.broadcast_to(np.reshape([i in source for i in range(size)], (size,) + (1,) * (len(shape) - 1)), shape)
    return zero_unless(receives, out), 0


def zero_unless(mask: Any, x: Any) -> Any:
    """x where a mask of its shape holds, else zeros."""
    return select_n_p.bind(mask, filled(np.zeros((), aval_of(x).dtype), aval_of(x).shape), x)


ppermute_p: Op = _moving(
    "ppermute", ("axis_name", "perm"), lambda x, **_: x, _permute_along, hlo_rule=hlo.permute,
    transpose=lambda ct, x, *, axis_name, perm: ppermute_p.bind(
        ct, axis_name=axis_name, perm=tuple((to, start) for start, to in perm)))


def _broadcast_transpose(ct: Any, x: Any, *, axis_name: Names, source: int) -> Any:
    total = psum_p.bind(ct, axes=axis_names(axis_name), axis_index_groups=None)
    here = eq_p.bind(axis_index_p.bind(axis_name=axis_name), np.asarray(source, INT32)[()])
    return zero_unless(filled(here, aval_of(ct).shape), total)


pbroadcast_p: Op = _moving(
    "pbroadcast", ("axis_name", "source"), lambda x, **_: x,
    lambda x, size, *, axis_name, source: (squeeze_p.bind(
        slice_along(x, 0, source, source + 1, None), dimensions=(0,)), None), _broadcast_transpose, hlo_rule=hlo.from_source)
