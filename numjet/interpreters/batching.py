"""Vectorization of primitives that users define.

A rule of `primitive_batchers` maps (operands, their batch axes, **params) to the result and its batch axis; `not_mapped` is the
axis of what is the same for all elements. Rules of the other tables get the axis of the enclosing vmap, too, and are called
when no operand is batched: `fancy_primitive_batchers` in front, as an `AxisData`; `axis_primitive_batchers` as size, name and
None.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, NoReturn

from numjet.api.vmap import register_mapped, unregister_mapped
from numjet.core.op import Op
from numjet.core.primitive import Primitive
from numjet.core.trace import aval_of
from numjet.interpreters.rules import RefusedTable, RuleTable, checked_primitive, listed, values
from numjet.lax.templates import broadcast_batch, moveaxis as _moveaxis
from numjet.transforms.vmap import BatchTrace as BatchTrace, BatchTracer as BatchTracer, apply_batch, move_to

__all__ = [
    "AxisData", "BatchTrace", "BatchTracer", "axis_primitive_batchers", "bdim_at_front", "broadcast", "defbroadcasting",
    "defreducer", "defvectorized", "fancy_primitive_batchers", "moveaxis", "not_mapped", "primitive_batchers",
    "register_vmappable", "spmd_axis_primitive_batchers", "unregister_vmappable",
]

not_mapped = None


class AxisData(NamedTuple):
    """The axis that a vmap maps over."""
    name: Any
    size: int
    spmd_name: Any = None
    explicit_mesh_axis: Any = None


def _checked_dim(primitive: Primitive, out: Any, dim: Any) -> int | None:
    """A result's batch axis; TypeError or ValueError for what is none."""
    if dim is None:
        return None
    if not isinstance(dim, int):
        raise TypeError(f"the batching rule of primitive '{primitive.name}' gives the batch axis {dim!r}: it must be an int, "
                        "or None (batching.not_mapped)")
    rank = len(aval_of(out).shape)
    if not -rank <= dim < rank:
        raise ValueError(f"the batching rule of primitive '{primitive.name}' gives the batch axis {dim} of a result of type "
                         f"{aval_of(out).str_short()}, which has {rank} axes")
    return dim % rank


def _checked(primitive: Primitive, found: Any) -> tuple[Any, Any]:
    outs, dims = listed(primitive, "batching rule", found, 2)
    if not primitive.multiple:
        return outs, _checked_dim(primitive, outs, dims)
    many = listed(primitive, "batching rule", outs, None)
    same = [dims] * len(many) if dims is None or isinstance(dims, int) else listed(primitive, "batching rule", dims, len(many))
    return many, [_checked_dim(primitive, o, d) for o, d in zip(many, same, strict=True)]


def _plain(rule: Callable[..., Any], primitive: Primitive, size: int, vals: Sequence[Any], dims: Sequence[int | None], *,
           axis_name: Any = None, **params: Any) -> tuple[Any, Any]:
    return _checked(primitive, rule(values(vals), tuple(dims), **params))


def _with_axis(rule: Callable[..., Any], primitive: Primitive, size: int, vals: Sequence[Any], dims: Sequence[int | None], *,
               axis_name: Any = None, **params: Any) -> tuple[Any, Any]:
    return _checked(primitive, rule(size, axis_name, None, values(vals), tuple(dims), **params))


def _fancy(rule: Callable[..., Any], primitive: Primitive, size: int, vals: Sequence[Any], dims: Sequence[int | None], *,
           axis_name: Any = None, **params: Any) -> tuple[Any, Any]:
    return _checked(primitive, rule(AxisData(axis_name, size), values(vals), tuple(dims), **params))


def _own_batch(op: Op, rule: Any, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
    sizes = {aval_of(a).shape[d] for a, d in zip(args, dims, strict=True) if d is not None}
    if len(sizes) != 1:
        raise ValueError(f"operands of '{op.name}' must have one batch size, got {sorted(sizes)}")
    return apply_batch(op, sizes.pop(), args, dims, op.known_params(params), rule=rule)


primitive_batchers = RuleTable("batching.primitive_batchers", "batch", _plain, _own_batch, every_batch=False)
axis_primitive_batchers = RuleTable("batching.axis_primitive_batchers", "batch", _with_axis, every_batch=True)
fancy_primitive_batchers = RuleTable("batching.fancy_primitive_batchers", "batch", _fancy, every_batch=True)
spmd_axis_primitive_batchers = RefusedTable(
    "batching.spmd_axis_primitive_batchers",
    "programs run on one device, so vmap has no spmd_axis_name; use axis_primitive_batchers or fancy_primitive_batchers")


# ------------------------------------------------------------------------------------------------ rules of simple forms

def defvectorized(prim: Primitive) -> None:
    """A primitive that maps arrays element by element: batched operands must have their batch in the same axis, or they are
    moved there.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> double = Primitive("double")
    >>> _ = double.def_impl(lambda x: 2 * x)
    >>> defvectorized(double)
    >>> nj.vmap(double.bind)(jnp.arange(3))
    Array([0, 2, 4], dtype=int32)
    """
    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        batched = [(a, d) for a, d in zip(args, dims, strict=True) if d is not None]
        first, dim = batched[0]
        size = aval_of(first).shape[dim]
        aligned = [a if d is None and not aval_of(a).shape else move_to(a, d, dim, size)
                   for a, d in zip(args, dims, strict=True)]
        outs = prim.bind(*aligned, **params)
        return outs, [dim] * len(outs) if prim.multiple else dim

    primitive_batchers[prim] = rule


def defbroadcasting(prim: Primitive) -> None:
    """A primitive whose operands broadcast as NumPy's do: batches move to the front, in front of axes of size 1."""
    def rule(args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        avals = [aval_of(a) for a in args]
        rank = max(len(a.shape) - (d is not None) for a, d in zip(avals, dims, strict=True))
        fronted = [a if d is None else _stretched(_moveaxis(a, d, 0), rank + 1) for a, d in zip(args, dims, strict=True)]
        outs = prim.bind(*fronted, **params)
        return outs, [0] * len(outs) if prim.multiple else 0

    primitive_batchers[prim] = rule


def _stretched(x: Any, rank: int) -> Any:
    """An array with its batch in front and axes of size 1 behind it, up to a rank."""
    shape = aval_of(x).shape
    return x if len(shape) == rank else x.reshape(shape[0], *[1] * (rank - len(shape)), *shape[1:])


def defreducer(prim: Primitive, *_: Any) -> None:
    """A primitive that reduces the axes in its parameter `axes` of one operand."""
    def rule(args: Sequence[Any], dims: Sequence[int | None], *, axes: Sequence[int], **params: Any) -> tuple[Any, Any]:
        (x,), (dim,) = args, dims
        assert dim is not None
        moved = tuple(a + (a >= dim) for a in axes)
        outs = prim.bind(x, axes=moved, **params)
        out_dim = dim - sum(a < dim for a in moved)
        return outs, [out_dim] * len(outs) if prim.multiple else out_dim

    primitive_batchers[checked_primitive(prim, "batching.defreducer")] = rule


# ------------------------------------------------------------------------------------------------ axes

def moveaxis(x: Any, src: int | None, dst: int) -> Any:
    """x with one axis at another place; x itself when src is not_mapped.

    >>> import numjet.numpy as jnp
    >>> moveaxis(jnp.ones((2, 3)), 1, 0).shape
    (3, 2)
    """
    if src is None:
        return x
    rank = len(aval_of(x).shape)
    return _moveaxis(x, src % rank, dst % rank)


def broadcast(x: Any, sz: int, axis: int | None, mesh_axis: Any = None) -> Any:
    """x repeated along a new axis of that size."""
    _no_mesh(mesh_axis)
    rank = len(aval_of(x).shape) + 1
    return _moveaxis(broadcast_batch(x, None, sz), 0, (axis or 0) % rank)


def bdim_at_front(x: Any, bdim: int | None, size: int, mesh_axis: Any = None) -> Any:
    """x with its batch axis in front; repeated along a new one when it is not mapped."""
    return broadcast(x, size, 0, mesh_axis) if bdim is None else moveaxis(x, bdim, 0)


def _no_mesh(mesh_axis: Any) -> None:
    if mesh_axis is not None:
        raise NotImplementedError(f"mesh_axis={mesh_axis!r}: programs run on one device; leave it out")


def register_vmappable(data_type: type, spec_type: type, axis_size_type: type, to_elt: Any, from_elt: Any,
                       make_iota: Any) -> None:
    """Declares a type that brings its own way to be mapped over, as libraries do when they are imported. vmap maps over axes
    of arrays only, and raises NotImplementedError where it is to map over a value of the type."""
    def refuse(x: Any, *axes: Any) -> NoReturn:
        raise NotImplementedError(f"vmap over a value of {data_type}, which is registered by register_vmappable: vmap maps "
                                  "over axes of arrays only; register the type as a pytree "
                                  "(numjet.tree_util.register_pytree_node) and nothing else")
    vmappable.add(data_type)
    register_mapped(data_type, refuse, refuse, refuse)


def unregister_vmappable(data_type: type) -> None:
    """Takes the declaration back. Raises KeyError without one."""
    vmappable.remove(data_type)
    unregister_mapped(data_type)


vmappable: set[type] = set()


