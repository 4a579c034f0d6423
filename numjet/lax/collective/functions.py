"""all_gather, all_to_all, ppermute and their kin: data exchanged along the axis that vmap(axis_name=...) maps over.

With one axis name each is one operation; with several, elements are numbered with the last name counting fastest, and
the exchange is made axis by axis.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, NoReturn

import numpy as np

from numjet.core.aval import placements_in_use
from numjet.core.named_axes import checked_axes, named_size
from numjet.core.trace import aval_of
from numjet.foundation import tree
from numjet.lax.axes import as_axis
from numjet.lax.collective.moves import (
    all_gather_invariant_p,
    all_gather_p,
    all_to_all_p,
    cut_axis,
    merge_axes,
    pbroadcast_p,
    ppermute_p,
    reduce_scatter_p,
    zero_unless,
)
from numjet.lax.collective.reductions import (
    INT32,
    Names,
    axis_index,
    axis_names,
    checked_groups,
    group_count,
    no_groups,
    psum,
    sizes_of,
)
from numjet.lax.elementwise.arithmetic import add_p, sub_p
from numjet.lax.elementwise.bitwise import and_p
from numjet.lax.elementwise.compare import eq_p, ge_p, lt_p, max_p, select_n_p
from numjet.lax.elementwise.convert import cast
from numjet.lax.indexing.gather import index_take
from numjet.lax.indexing.slicing import slice_along
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, filled, reshaped, squeeze_p
from numjet.lax.sharding_later import sums
from numjet.lax.templates import kind_of, moveaxis

_TARGETS = ("varying", "reduced", "invarying")


def _divided(op: str, what: str, x: Any, axis: int, count: int, tiled: bool) -> None:
    """ValueError unless an axis can be dealt out to `count` elements."""
    size = aval_of(x).shape[axis]
    if tiled and size % count:
        raise ValueError(f"{op}: the size of {what} ({size}, of shape {aval_of(x).shape}) has to be divisible by the size of "
                         f"the named axis or group ({count})")
    if not tiled and size != count:
        raise ValueError(f"{op} requires the size of the mapped axis axis_name to equal x.shape[{what}], but they are {count} "
                         f"and {size} respectively, with x of shape {aval_of(x).shape}. (axis_index_groups count for axes "
                         "by their size, and with tiled=True a multiple will do.)")


# ------------------------------------------------------------------------------------------------ all_gather

def all_gather(x: Any, axis_name: Names, *, axis_index_groups: Any = None, axis: int = 0, tiled: bool = False,
               to: str = "varying") -> Any:
    """The values of all elements along a named axis, stacked on a new axis `axis`, or joined along it when `tiled`.

    x: a pytree. axis_index_groups: lists of indices of equal length; each element gets the values of its group.
    to: what types inside of shard_map say of the result: 'varying', or 'invarying' as all have the same values, or 'reduced',
    which is the same, and sums of cotangents are made when these are scattered.

    NameError when no enclosing vmap has that name; ValueError for groups that are no partition and an axis out of bounds.

    >>> import numjet as nj
    >>> nj.vmap(lambda x: all_gather(x, "i"), axis_name="i")(np.float32([1, 2])).tolist()
    [[1.0, 2.0], [1.0, 2.0]]
    """
    if to not in _TARGETS:
        raise ValueError(f"all_gather: `to` must be one of {', '.join(map(repr, _TARGETS))}, got {to!r}")
    sizes = sizes_of(axis_name, "all_gather")
    groups, names = checked_groups("all_gather", axis_name, axis_index_groups, equal=True), axis_names(axis_name)
    checked = set(names) <= checked_axes()
    op = all_gather_p if to == "varying" or not checked else all_gather_invariant_p if to == "invarying" else \
        sums.all_gather_reduced_p
    if groups is not None and op is not all_gather_p:
        raise NotImplementedError(f"all_gather(to={to!r}): values gathered in axis_index_groups differ between groups: leave "
                                  "axis_index_groups out, or take to='varying'")

    def gather(leaf: Any) -> Any:
        ndim = aval_of(leaf).ndim
        d = as_axis(axis, ndim + (not tiled), "all_gather, axis")
        if len(sizes) == 1 or groups is not None:
            return op.bind(leaf, all_gather_dimension=d, axis_index_groups=groups, axis_name=names,
                           axis_size=group_count(prod(sizes), groups), tiled=bool(tiled))
        for name, size in zip(reversed(names), reversed(sizes), strict=True):
            leaf = op.bind(leaf, all_gather_dimension=0, axis_index_groups=None, axis_name=(name,), axis_size=size, tiled=False)
        shape = aval_of(leaf).shape[len(sizes):]
        out = moveaxis(reshaped(leaf, (prod(sizes), *shape)), 0, d)
        return merge_axes(out, d) if tiled else out
    return tree.tree_map(gather, x)


# ------------------------------------------------------------------------------------------------ psum_scatter

def psum_scatter(x: Any, axis_name: Names, *, scatter_dimension: int = 0, axis_index_groups: Any = None,
                 tiled: bool = False) -> Any:
    """The part of psum(x, axis_name) that belongs to this element: of the sum's axis `scatter_dimension`, entry i for
    element i; when `tiled`, the i-th of as many equal pieces as there are elements.

    axis_index_groups: lists of indices of equal length; sums and pieces are those of each group.

    NameError when no enclosing vmap has that name; ValueError when the axis can't be dealt out.

    >>> import numjet as nj
    >>> nj.vmap(lambda x: psum_scatter(x, "i"), axis_name="i")(np.float32([[1, 2], [3, 4]])).tolist()
    [4.0, 6.0]
    """
    names, sizes = axis_names(axis_name), sizes_of(axis_name, "psum_scatter")
    groups = checked_groups("psum_scatter", axis_name, axis_index_groups, equal=True)
    count = group_count(prod(sizes), groups)

    def scatter(leaf: Any) -> Any:
        d = as_axis(scatter_dimension, aval_of(leaf).ndim, "psum_scatter, scatter_dimension")
        _divided("psum_scatter", "scatter_dimension", leaf, d, count, tiled)
        delayed = bool(placements_in_use) and sums.unreduced_over(leaf, names)
        if delayed:
            no_groups("psum_scatter", groups)
        bind = lambda v, name, size, groups, tiled: (sums.unreduced_reduce_scatter_p if delayed else reduce_scatter_p).bind(
            v, scatter_dimension=d, axis_index_groups=groups, axis_name=name, axis_size=size, tiled=tiled)
        if len(names) == 1 or groups is not None:
            return bind(leaf, names, count, groups, bool(tiled))
        for k, (name, size) in enumerate(zip(names, sizes, strict=True)):  # the first name deals out the largest pieces
            leaf = bind(leaf, (name,), size, None, bool(tiled) or k + 1 < len(names))
        return leaf
    return tree.tree_map(scatter, x)


# ------------------------------------------------------------------------------------------------ all_to_all, pswapaxes

def all_to_all(x: Any, axis_name: Names, split_axis: int, concat_axis: int, *, axis_index_groups: Any = None,
               tiled: bool = False) -> Any:
    """Deals out axis split_axis to the elements along a named axis, and stacks what arrives on a new axis concat_axis.

    Element i gets entry i of every element's axis, which must be as long as the named axis. When `tiled`, the axis is cut
    into equal pieces, and those that arrive are joined along concat_axis. axis_index_groups: lists of indices of equal
    length; the exchange takes place within each group.

    NameError when no enclosing vmap has that name; ValueError when the axis can't be dealt out.

    >>> import numjet as nj
    >>> nj.vmap(lambda x: all_to_all(x, "i", 0, 0), axis_name="i")(np.float32([[1, 2], [3, 4]])).tolist()
    [[1.0, 3.0], [2.0, 4.0]]
    """
    names, sizes = axis_names(axis_name), sizes_of(axis_name, "all_to_all")
    groups = checked_groups("all_to_all", axis_name, axis_index_groups, equal=True)
    count = group_count(prod(sizes), groups)

    def exchange(leaf: Any) -> Any:
        ndim = aval_of(leaf).ndim
        start, to = as_axis(split_axis, ndim, "all_to_all, split_axis"), as_axis(concat_axis, ndim, "all_to_all, concat_axis")
        _divided("all_to_all", "split_axis", leaf, start, count, tiled)
        if len(names) == 1 or groups is not None:
            return all_to_all_p.bind(leaf, split_axis=start, concat_axis=to, axis_index_groups=groups,
                                     axis_name=names[0] if len(names) == 1 else names,
                                     axis_size=count, tiled=bool(tiled))
        leaf = moveaxis(cut_axis(leaf, start, count) if tiled else leaf, start, 0)
        leaf = moveaxis(_exchange_all(leaf, names, sizes), 0, to)
        return merge_axes(leaf, to) if tiled else leaf
    return tree.tree_map(exchange, x)


def _exchange_all(x: Any, names: Sequence[Names], sizes: Sequence[int]) -> Any:
    """Axis 0 dealt out over several named axes, one after the other."""
    shape = aval_of(x).shape
    x = reshaped(x, (*sizes, *shape[1:]))
    for d, (name, size) in enumerate(zip(names, sizes, strict=True)):
        x = all_to_all_p.bind(x, split_axis=d, concat_axis=d, axis_index_groups=None, axis_name=name, axis_size=size,
                              tiled=False)
    return reshaped(x, shape)


def pswapaxes(x: Any, axis_name: Names, axis: int, *, axis_index_groups: Any = None) -> Any:
    """Swaps a named axis with axis `axis`: all_to_all(x, axis_name, axis, axis)."""
    return all_to_all(x, axis_name, axis, axis, axis_index_groups=axis_index_groups)


# ------------------------------------------------------------------------------------------------ ppermute and kin

def _checked_perm(op: str, perm: Any, size: int) -> tuple[tuple[int, int], ...]:
    found = tuple((operator.index(a), operator.index(b)) for a, b in perm)
    if any(not 0 <= i < size for pair in found for i in pair):
        raise ValueError(f"{op}: perm holds pairs (source, destination) of indices from 0 to {size - 1}, got {list(found)}")
    for k, what in enumerate(("sources", "destinations")):
        if len({pair[k] for pair in found}) < len(found):
            raise ValueError(f"{op}: sources and destinations should be unique, got perm={list(found)} with {what} "
                             f"{[pair[k] for pair in found]}")
    return found


def ppermute(x: Any, axis_name: Names, perm: Any) -> Any:
    """Sends the value of element a to element b for every pair (a, b) in perm; elements that receive none get zeros.

    NameError when no enclosing vmap has that name; ValueError for indices that are out of bounds or occur twice.

    >>> import numjet as nj
    >>> nj.vmap(lambda x: ppermute(x, "i", [(0, 1)]), axis_name="i")(np.float32([1, 2])).tolist()
    [0.0, 1.0]
    """
    names, size = axis_names(axis_name), prod(sizes_of(axis_name, "ppermute"))
    pairs = _checked_perm("ppermute", perm, size)
    if len(names) == 1:
        return tree.tree_map(lambda leaf: ppermute_p.bind(leaf, axis_name=names, perm=pairs), x)
    source = np.full(size, -1, INT32)
    for start, to in pairs:
        source[to] = start
    mine = index_take(source, (axis_index(names),), (0,))

    def permute(leaf: Any) -> Any:
        value = index_take(all_gather(leaf, names), (mine,), (0,))
        return zero_unless(filled(ge_p.bind(mine, np.int32(0)), aval_of(value).shape), value)
    return tree.tree_map(permute, x)


def pshuffle(x: Any, axis_name: Names, perm: Sequence[int]) -> Any:
    """Gives element i the value of element perm[i]. ValueError unless perm is a permutation of all indices."""
    size = prod(sizes_of(axis_name, "pshuffle"))
    if sorted(perm) != list(range(size)):
        raise ValueError(f"pshuffle: `perm` does not represent a permutation: {perm} (of the indices 0 to {size - 1})")
    return ppermute(x, axis_name, [(start, to) for to, start in enumerate(perm)])


def pbroadcast(x: Any, axis_name: Names, source: int) -> Any:
    """Gives every element the value of element `source`. ValueError when there is no such element."""
    names, size = axis_names(axis_name), prod(sizes_of(axis_name, "pbroadcast"))
    source = operator.index(source)
    if not 0 <= source < size:
        raise ValueError(f"pbroadcast: source must be an index from 0 to {size - 1}, got {source}")
    if len(names) == 1:
        return tree.tree_map(lambda leaf: pbroadcast_p.bind(leaf, axis_name=names[0], source=source), x)
    here = eq_p.bind(axis_index(names), np.asarray(source, INT32)[()])
    return tree.tree_map(lambda leaf: psum(zero_unless(filled(here, aval_of(leaf).shape), leaf), names), x)


# ------------------------------------------------------------------------------------------------ ragged

def ragged_all_to_all(operand: Any, output: Any, input_offsets: Any, send_sizes: Any, output_offsets: Any, recv_sizes: Any,
                      *, axis_name: Names, axis_index_groups: Any = None) -> Any:
    """`output` with slices of other elements' operands written into it along axis 0.

    Slice i, operand[input_offsets[i] : input_offsets[i] + send_sizes[i]], goes to element i // (K / n) of the n elements
    along the named axis (or of the group), and starts there at output_offsets[i]. K is the length of the four integer
    vectors. recv_sizes: the sizes that arrive, from element i // (K / n) each; they must be those that are sent. Later
    slices overwrite earlier ones.

    TypeError or ValueError when shapes and dtypes don't fit; NameError when no enclosing vmap has that name.
    """
    vectors = {"input_offsets": input_offsets, "send_sizes": send_sizes, "output_offsets": output_offsets,
               "recv_sizes": recv_sizes}
    groups = checked_groups("ragged_all_to_all", axis_name, axis_index_groups, equal=True)
    count = group_count(prod(sizes_of(axis_name)), groups)
    _check_ragged(operand, output, vectors, count)
    length = aval_of(operand).shape[0]
    dtype = np.dtype(np.int64 if aval_of(input_offsets).dtype.itemsize == 8 else np.int32)
    signed = {k: cast(v, dtype) for k, v in vectors.items()}
    deal: Callable[[Any], Any] = lambda v: all_to_all(v, axis_name, 0, 0, axis_index_groups=groups, tiled=True)
    starts, targets, sizes = deal(signed["input_offsets"]), deal(signed["output_offsets"]), signed["recv_sizes"]
    everything = all_gather(operand, axis_name, axis_index_groups=groups, tiled=True)
    senders = np.repeat(np.arange(count, dtype=dtype), aval_of(starts).shape[0] // count)
    rows = iota_p.bind(dtype=dtype, shape=aval_of(output).shape[:1], dimension=0)
    source: Any = np.full(aval_of(output).shape[0], -1, dtype)
    for k in range(aval_of(starts).shape[0]):
        start, target, size = (_entry(v, k) for v in (starts, targets, sizes))
        within = and_p.bind(ge_p.bind(rows, target), lt_p.bind(rows, add_p.bind(target, size)))
        found = add_p.bind(sub_p.bind(rows, target), add_p.bind(start, senders[k] * dtype.type(length)))
        source = select_n_p.bind(within, source, found)
    arrives = ge_p.bind(source, np.zeros((), dtype)[()])
    safe = max_p.bind(source, np.zeros((), dtype)[()])
    taken = index_take(everything, (safe,), (0,)) if length else output
    replaced = broadcast_in_dim_p.bind(arrives, shape=aval_of(output).shape, broadcast_dimensions=(0,))
    return select_n_p.bind(replaced, output, taken)


def _entry(vector: Any, k: int) -> Any:
    return squeeze_p.bind(slice_along(vector, 0, k, k + 1, None), dimensions=(0,))


def _check_ragged(operand: Any, output: Any, vectors: dict[str, Any], count: int) -> None:
    x, y = aval_of(operand), aval_of(output)
    if x.ndim < 1 or x.shape[1:] != y.shape[1:] or y.ndim < 1 or x.dtype != y.dtype:
        raise ValueError("ragged_all_to_all: operand and output need a leading axis, and equal dtypes and shapes otherwise, "
                         f"got {x.str_short()} and {y.str_short()}")
    avals = {name: aval_of(v) for name, v in vectors.items()}
    for name, a in avals.items():
        if a.ndim != 1 or kind_of(a.dtype) not in "iu":
            raise ValueError(f"ragged_all_to_all: {name} must be a vector of integers, got {a.str_short()}")
    if len({(a.shape, a.dtype) for a in avals.values()}) > 1:
        raise ValueError("ragged_all_to_all: offsets and sizes must have one length and dtype, got "
                         + ", ".join(f"{name} {a.str_short()}" for name, a in avals.items()))
    if (length := avals["input_offsets"].shape[0]) % count:
        raise ValueError(f"ragged_all_to_all: the length of offsets and sizes ({length}) must be divisible by the size of the "
                         f"named axis or group ({count})")


# ------------------------------------------------------------------------------------------------ one-sided

def psend(x: Any, axis_name: Names, perm: Any) -> NoReturn:
    """Half of a ppermute between devices that run at the same time. There are none here: NotImplementedError."""
    _one_sided("psend", axis_name, perm)


def precv(token: Any, out_shape: Any, axis_name: Names, perm: Any) -> NoReturn:
    """The other half of psend. NotImplementedError, as there."""
    _one_sided("precv", axis_name, perm)


def _one_sided(op: str, axis_name: Names, perm: Any) -> NoReturn:
    _checked_perm(op, perm, named_size(axis_name))
    raise NotImplementedError(f"{op}: sending without receiving needs several devices that run at the same time, and axis "
                              f"{axis_name!r} is the batch of a vmap, on one device; use lax.ppermute(x, {axis_name!r}, perm)")
