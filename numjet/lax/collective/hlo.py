"""Collectives in programs of several devices: rules that write StableHLO inside of shard_map.

`b.shards` describes the shard_map around: the numbers of the partitions that take part in an exchange along axes of its mesh.
"""
from __future__ import annotations

from collections.abc import Sequence
from itertools import count
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.named_axes import unbound

Groups = tuple[tuple[int, ...], ...] | None
_handles = count(1)


def axes_of(axis_name: Any) -> tuple[Any, ...]:
    """One name or several, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def participants(b: Any, axes: Sequence[Any], groups: Groups) -> np.ndarray:
    """The partitions of each exchange: one row for each group; -1 stands for none. NameError outside of a shard_map."""
    if b.shards is None:
        raise unbound(axes[0])
    rows = b.shards.along(axes)
    if groups is None:
        return rows
    longest = max(map(len, groups))
    picked = [[row[i] for i in g] + [-1] * (longest - len(g)) for row in rows for g in groups]
    return np.array(picked)


def _attrs(rows: np.ndarray, ids: bool = True) -> dict[str, Any]:
    """The attributes that say who exchanges with whom."""
    found = {"channel_handle": f"#stablehlo.channel_handle<handle = {next(_handles)}, type = 1>",
             "replica_groups": [tuple(map(int, row)) for row in rows]}
    return {**found, "use_global_device_ids": "unit"} if ids else found


def all_reduce(kind: str) -> Any:
    """The rule of a reduction over axes. kind: add, max, min."""
    def rule(b: Any, x: Any, *, axes: tuple[Any, ...], axis_index_groups: Groups = None) -> Any:
        rows = participants(b, axes, axis_index_groups)
        return b.op("stablehlo.all_reduce", [x], [x.aval], attrs=_attrs(rows), regions=[b.reducer(kind, x.dtype)])[0]
    return rule


def all_gather(b: Any, x: Any, *, all_gather_dimension: int, axis_index_groups: Groups, axis_name: Any, axis_size: int,
               tiled: bool) -> Any:
    d = all_gather_dimension
    if not tiled:
        x = b.reshape(x, (*x.shape[:d], 1, *x.shape[d:]))
    rows = participants(b, axes_of(axis_name), axis_index_groups)
    out = ShapedArray((*x.shape[:d], x.shape[d] * axis_size, *x.shape[d + 1:]), x.dtype)
    if not out.size:  # StableHLO does not exchange nothing
        return b.full(out.shape, 0, x.dtype)
    return b.op("stablehlo.all_gather", [x], [out], attrs={"all_gather_dim": d, **_attrs(rows)})[0]


def reduce_scatter(b: Any, x: Any, *, scatter_dimension: int, axis_index_groups: Groups, axis_name: Any, axis_size: int,
                   tiled: bool) -> Any:
    d = scatter_dimension
    rows = participants(b, axes_of(axis_name), axis_index_groups)
    part = ShapedArray((*x.shape[:d], x.shape[d] // axis_size, *x.shape[d + 1:]), x.dtype)
    out = b.op("stablehlo.reduce_scatter", [x], part, attrs={"scatter_dimension": d, **_attrs(rows)},
               regions=[b.reducer("add", x.dtype)]) if part.size else b.full(part.shape, 0, x.dtype)
    return out if tiled else b.reshape(out, (*x.shape[:d], *x.shape[d + 1:]))


def all_to_all(b: Any, x: Any, *, split_axis: int, concat_axis: int, axis_index_groups: Groups, axis_name: Any, axis_size: int,
               tiled: bool) -> Any:
    rows = participants(b, axes_of(axis_name), axis_index_groups)
    to = concat_axis if tiled else split_axis
    shape = list(x.shape)
    shape[split_axis] //= axis_size
    shape[to] *= axis_size
    out = b.op("stablehlo.all_to_all", [x], [ShapedArray(tuple(shape), x.dtype)], attrs={
        "split_dimension": split_axis, "concat_dimension": to, "split_count": axis_size, **_attrs(rows, ids=False)})[0]
    if tiled or split_axis == concat_axis:
        return out
    order = [d for d in range(x.ndim) if d != split_axis]
    order.insert(concat_axis, split_axis)
    return b.transpose(out, order)


def permute(b: Any, x: Any, *, axis_name: Any, perm: tuple[tuple[int, int], ...]) -> Any:
    rows = participants(b, axes_of(axis_name), None)
    pairs = [(int(row[start]), int(row[to])) for row in rows for start, to in perm]
    attrs = _attrs(rows, ids=False)
    return b.op("stablehlo.collective_permute", [x], x.aval, attrs={
        "channel_handle": attrs["channel_handle"], "source_target_pairs": _pairs(pairs)})


def _pairs(pairs: Sequence[tuple[int, int]]) -> Any:
    return pairs or "dense<> : tensor<0x2xi64>"


def from_source(b: Any, x: Any, *, axis_name: Any, source: int) -> Any:
    """Every element gets the value of one: all are gathered, and one is kept."""
    rows = participants(b, axes_of(axis_name), None)
    every = all_gather(b, x, all_gather_dimension=0, axis_index_groups=None, axis_name=axis_name, axis_size=rows.shape[1],
                       tiled=False)
    one = b.slice(every, (source, *[0] * x.ndim), (source + 1, *x.shape))
    return b.reshape(one, x.shape)


def index(b: Any, *, axis_name: Any) -> Any:
    """The number of the element, which the shard_map hands to its shards."""
    if b.shards is None:
        raise unbound(axis_name)
    return b.shards.index(axis_name)
