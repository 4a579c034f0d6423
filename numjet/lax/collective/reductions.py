"""Reductions over the axis that an enclosing vmap(axis_name=...) maps over (psum, pmean, pmax, pmin), and indices along it.

Under vmap a collective is an operation along the mapped axis. With axis_index_groups it acts within each group of
elements by itself.
"""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray, placements_in_use
from numjet.core.named_axes import checked_axes, named_axes, named_size, unbound
from numjet.core.op import LINEAR, ZERO, Missing, Op, lookup
from numjet.core.stage import Varying
from numjet.core.trace import Tracer, aval_of
from numjet.core.traits import EXACT
from numjet.foundation import dtypes, tree
from numjet.lax.axes import as_axes
from numjet.lax.collective import hlo
from numjet.lax.elementwise.arithmetic import add_p, div_p, mul_p
from numjet.lax.elementwise.convert import cast
from numjet.lax.indexing.gather import index_take
from numjet.lax.shape.create import iota_p
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import filled, reshaped
from numjet.lax.sharding_later import sums
from numjet.lax.templates import aligned_batch, broadcast_batch, call, kind_of

INT32 = np.dtype(np.int32)
OUTSIDE = Missing("it needs an enclosing vmap with that axis_name, which takes its place before programs are lowered")
NO_SAMPLES = Missing("needs a named axis; tests/lax/collective/test_reductions.py compares with loops")
Names = Any
Groups = tuple[tuple[int, ...], ...] | None


# ------------------------------------------------------------------------------------------------ names and groups

def axis_names(axis_name: Names) -> tuple[Names, ...]:
    """One name or several, as a tuple."""
    return tuple(axis_name) if isinstance(axis_name, (tuple, list)) else (axis_name,)


def sizes_of(axis_name: Names, what: str = "collectives") -> list[int]:
    """The sizes of named axes; NameError, for a call of `what`, for a name that no enclosing vmap has."""
    return [named_size(n, what) for n in axis_names(axis_name)]


def checked_groups(op: str, axis_name: Names, groups: Any, *, equal: bool) -> Groups:
    """axis_index_groups as tuples; ValueError unless every index is in one group (all of one size, when `equal`)."""
    if groups is None:
        return None
    names, sizes = axis_names(axis_name), sizes_of(axis_name, op)
    found, size = tuple(tuple(map(operator.index, g)) for g in groups), prod(sizes)
    if sorted(i for g in found for i in g) != list(range(size)):
        raise ValueError(f"{op}: axis_index_groups must cover all indices exactly once: 0 to {size - 1} for axis "
                         f"{names[0] if len(names) == 1 else names!r}, got {found}")
    if equal and len({len(g) for g in found}) > 1:
        raise ValueError(f"{op}: axis_index_groups must all have the same size, got {found}")
    return found


def no_groups(op: str, groups: Groups) -> None:
    """NotImplementedError for groups, of values of which all devices along the axes have summands."""
    if groups is not None:
        raise NotImplementedError(f"{op}: axis_index_groups of values whose sums over all devices are still to be made: leave "
                                  "them out, or make the values vary")


def one_axis(op: str, axes: Sequence[Names]) -> None:
    """NotImplementedError for groups of elements along several axes of which one is the batch of a vmap."""
    if len(axes) > 1:
        raise NotImplementedError(f"{op}: axis_index_groups over axes {tuple(axes)}, of which vmap has one: name one axis")


def group_count(size: int, groups: Groups) -> int:
    """How many elements take part in one exchange."""
    return size if groups is None else len(groups[0])


def group_of(groups: tuple[tuple[int, ...], ...]) -> list[int]:
    """The group that each element is in."""
    return [k for _, k in sorted((i, k) for k, g in enumerate(groups) for i in g)]


def take_rows(x: Any, rows: Any) -> Any:
    """x[rows] for known row numbers, an array of any rank."""
    known = np.asarray(rows, INT32)
    if known.size == 0:
        return filled(np.zeros((), aval_of(x).dtype), (*known.shape, *aval_of(x).shape[1:]))
    return index_take(x, (known,), (0,))


def outside(*_: Any, axes: Any = None, axis_name: Any = None, **__: Any) -> Any:
    """The eager rule of collectives: there is no axis."""
    raise unbound(axis_names(axis_name if axes is None else axes)[0])


# ------------------------------------------------------------------------------------------------ reductions

def _reduction(name: str, over: str, once: Callable[[Any, int], Any], **slots: Any) -> Op:
    """A reduction over the named axes; `once(x, size)` is the result for a value that all elements share."""
    def grouped(x: Any, groups: tuple[tuple[int, ...], ...]) -> Any:
        parts = [call(over, take_rows(x, g), axes=(0,)) for g in groups]
        rows = concatenate([reshaped(p, (1, *aval_of(p).shape)) for p in parts], 0)
        return take_rows(rows, group_of(groups))

    def collective(trace: Any, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[Names, ...],
                   axis_index_groups: Groups) -> tuple[Any, int | None]:
        (x,), (d,) = args, dims
        if axis_index_groups is not None:
            one_axis(name, axes)
            return grouped(broadcast_batch(x, d, trace.size), axis_index_groups), 0
        x = once(x, trace.size) if d is None else call(over, x, axes=(d,))
        rest = tuple(a for a in axes if a != trace.axis_name)
        return (op.bind(x, axes=rest, axis_index_groups=None) if rest else x), None
    op: Op = Op(name=name, params=("axes", "axis_index_groups"), abstract=lambda x, **_: x, eager=outside,
            batch=aligned_batch(lambda: op), cpu=OUTSIDE, samples=NO_SAMPLES, collective=collective,
            hlo=hlo.all_reduce(over.removeprefix("reduce_").replace("sum", "add")),
            varying=lambda found, **params: _varying(op, found, params), **slots)
    return op


def _varying(op: Op, found: frozenset[Any], params: dict[str, Any]) -> Varying:
    """The reduction over axes is the same along them, but for that within groups."""
    axes = set(params["axes"]) & checked_axes()
    if not axes or params["axis_index_groups"] is not None:
        return Varying(op, params, found | axes, found | axes)
    if op is psum_p and axes == set(params["axes"]):
        return Varying(lookup("psum_invariant"), {"axes": params["axes"]}, found | axes, found - axes)
    return Varying(op, params, found | axes, found - axes)


def _times(x: Any, size: int) -> Any:
    return mul_p.bind(x, np.asarray(size, aval_of(x).dtype)[()])


psum_p: Op = _reduction("psum", "reduce_sum", _times, jvp=LINEAR, linear_in=(0,),
                        transpose=lambda ct, x, **params: [psum_p.bind(ct, **params)])
pmax_p: Op = _reduction("pmax", "reduce_max", lambda x, size: x, jvp=Missing("pmax has no derivative, as in JAX"),
                        transpose=Missing("not linear"))
pmin_p: Op = _reduction("pmin", "reduce_min", lambda x, size: x, jvp=Missing("pmin has no derivative, as in JAX"),
                        transpose=Missing("not linear"))


def _index_collective(trace: Any, args: Sequence[Any], dims: Sequence[int | None], *, axis_name: Names) -> tuple[Any, int]:
    return iota_p.bind(dtype=INT32, shape=(trace.size,), dimension=0), 0


axis_index_p: Op = Op(
    name="axis_index", params=("axis_name",), abstract=lambda *, axis_name: ShapedArray((), INT32), eager=outside, jvp=ZERO,
    transpose=Missing("no operands"), batch=Missing("no operands"), cpu=OUTSIDE, hlo=hlo.index, traits=EXACT,
    samples=NO_SAMPLES, collective=_index_collective,
    varying=lambda found, *, axis_name: Varying(axis_index_p, {"axis_name": axis_name}, frozenset(),
                                                checked_axes() & {axis_name}))


# ------------------------------------------------------------------------------------------------ public

def psum(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The sum of a pytree over the elements that vmap(axis_name=...) maps over; every element gets it.

    axis_name: a name, or a tuple of names for the sum over several axes; numbers that are no names are axes of the arrays
    themselves, which are summed and dropped. axis_index_groups: lists of indices, each index
    in one of them; then each element gets the sum over its group. Leaves that are no tracers are multiplied by the size:
    psum(1, name) is the size of the axis, an int. Bools are counted.

    NameError when no enclosing vmap has that name, ValueError for groups that are no partition.

    >>> import numjet as nj
    >>> nj.vmap(lambda x: psum(x, "i"), axis_name="i")(np.float32([1, 2])).tolist()
    [3.0, 3.0]
    """
    positions, axis_name = _positions(axis_name)
    size, groups = prod(sizes_of(axis_name, "psum")), checked_groups("psum", axis_name, axis_index_groups, equal=False)
    if groups is not None and len({len(g) for g in groups}) == 1:
        size = len(groups[0])
    same = groups is None or len({len(g) for g in groups}) == 1

    def total(leaf: Any) -> Any:
        if kind_of(aval_of(leaf).dtype) == "b":
            leaf = cast(leaf, INT32)
        leaf = _reduced("reduce_sum", leaf, positions)
        if same and not isinstance(leaf, Tracer):
            return leaf * size
        if placements_in_use and sums.unreduced_over(leaf, axis_names(axis_name)):
            no_groups("psum", groups)
            return sums.unreduced_psum_p.bind(leaf, axes=axis_names(axis_name))
        return _bound(psum_p, leaf, axis_name, groups)
    return tree.tree_map(total, x)


def pmean(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The mean over the elements that vmap(axis_name=...) maps over; integers become floats. See psum."""
    total = psum(x, axis_name, axis_index_groups=axis_index_groups)
    count = psum(1, axis_name, axis_index_groups=axis_index_groups)

    def mean(leaf: Any) -> Any:
        if isinstance(leaf, (int, float, complex)) and not isinstance(count, Tracer):
            return leaf / count  # of a Python number, which stays one
        dtype = dtypes.to_inexact_dtype(aval_of(leaf).dtype)
        as_dtype = lambda v: cast(v, dtype)
        divisor = as_dtype(count) if isinstance(count, Tracer) else np.asarray(count, dtype)[()]
        return div_p.bind(leaf if aval_of(leaf).dtype == dtype else as_dtype(leaf), divisor)
    return tree.tree_map(mean, total)


def _extreme(op: Op, x: Any, axis_name: Names, axis_index_groups: Any) -> Any:
    positions, axis_name = _positions(axis_name)
    sizes_of(axis_name, op.name)
    groups = checked_groups(op.name, axis_name, axis_index_groups, equal=False)
    reduction = op.name.replace("p", "reduce_", 1)
    return tree.tree_map(lambda leaf: _bound(op, _reduced(reduction, leaf, positions), axis_name, groups), x)


def _positions(axis_name: Names) -> tuple[tuple[int, ...], Names]:
    """(numbers of axes of the arrays themselves, names of mapped axes) among the axes of a reduction."""
    named = {name for name, _ in named_axes()}
    found = tuple(n for n in axis_names(axis_name) if isinstance(n, int) and n not in named)
    return found, tuple(n for n in axis_names(axis_name) if n not in found) if found else axis_name


def _reduced(reduction: str, x: Any, positions: Sequence[int]) -> Any:
    return call(reduction, x, axes=as_axes(positions, aval_of(x).ndim, reduction)) if positions else x


def _bound(op: Op, x: Any, axis_name: Names, groups: Groups) -> Any:
    """The reduction of one array; over no axes it is the array."""
    return op.bind(x, axes=axis_names(axis_name), axis_index_groups=groups) if axis_names(axis_name) else x


def pmax(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The largest value among the elements that vmap(axis_name=...) maps over. See psum."""
    return _extreme(pmax_p, x, axis_name, axis_index_groups)


def pmin(x: Any, axis_name: Names, *, axis_index_groups: Any = None) -> Any:
    """The smallest value among the elements that vmap(axis_name=...) maps over. See psum."""
    return _extreme(pmin_p, x, axis_name, axis_index_groups)


def axis_index(axis_name: Names) -> Any:
    """The number of this element along the axis that vmap(axis_name=...) maps over, int32.

    Of several axes: the number among all their elements, the last name counting fastest.
    """
    index: Any = None
    for name, size in zip(axis_names(axis_name), sizes_of(axis_name, "axis_index"), strict=True):
        here = axis_index_p.bind(axis_name=name)
        index = here if index is None else add_p.bind(mul_p.bind(index, np.int32(size)), here)
    return np.int32(0) if index is None else index


def axis_size(axis_name: Names) -> int:
    """How many elements vmap(axis_name=...) maps over: an int, of several axes the product."""
    return prod(sizes_of(axis_name, "axis_size"))
