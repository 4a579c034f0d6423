"""Transformations of functions of values above arrays: derivatives, batches, loops and branches.

Each is that of a function of arrays. What a transformation differentiates, maps over or carries is a `Parts` in the place of a
value: a pytree of its arrays and carriers, from which the function makes the value again.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.as_jax.hijax_flat import (
    array_types,
    arrays_of,
    carrier_types,
    flat,
    flat_types,
    plain,
    type_of,
    whole,
)
from numjet.control.call.body_tracing import cached_with
from numjet.core import hooks
from numjet.core.trace import aval_of
from numjet.foundation import tree
from numjet.foundation.tree.prefix import flatten_axes
from numjet.foundation.util import replace_at, wraps
from numjet.lax.tangent import zeros_like_aval
from numjet.lax.templates import moveaxis


class MappingSpec:
    """How values of a type are mapped over, as an entry of in_axes and out_axes; a base."""


class Parts:
    """A value in a program of arrays. moving: the arrays on which its derivatives depend: its carriers, if it has any. fixed:
    the others."""

    def __init__(self, kind: Any, moving: Sequence[Any], fixed: Sequence[Any] = ()):
        self.kind, self.moving, self.fixed = kind, list(moving), list(fixed)

    def held(self) -> list[Any]:
        return [*self.fixed, *self.moving]


tree.register_pytree_node(Parts, lambda x: ((x.moving, x.fixed), x.kind), lambda kind, parts: Parts(kind, *parts))


def _is_parts(x: Any) -> bool:
    return type(x) is Parts


def _apart(x: Any) -> Any:
    kind = type_of(x)
    if kind is None:
        return x
    held, moving = flat(x), len(carrier_types(kind)) or len(flat_types(kind))
    return Parts(kind, held[len(held) - moving:], held[:len(held) - moving])


def _together(x: Any) -> Any:
    return whole(x.kind, x.held()) if _is_parts(x) else x


def _all_apart(values: Any) -> Any:
    return tree.tree_map(_apart, values)


def _all_together(values: Any) -> Any:
    return tree.tree_map(_together, values, is_leaf=_is_parts)


def _of_parts(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function of values apart, with its result apart."""
    @wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _all_together((args, kwargs))
        return _all_apart(fun(*args, **kwargs))
    return cached_with(fun, call)


# -- derivatives


class _Fixed:
    """Arguments to differentiate: their moving parts are leaves, the others are kept here."""

    def __init__(self, primals: Any):
        apart = _all_apart(primals)
        leaves, self.tree = tree.tree_flatten(apart, is_leaf=_is_parts)
        self.parts = [x if _is_parts(x) else None for x in leaves]
        self.moving = tree.tree_unflatten(self.tree, [Parts(x.kind, x.moving) if _is_parts(x) else x for x in leaves])

    def values(self, moving: Any) -> Any:
        leaves = tree.tree_leaves(moving, is_leaf=_is_parts)
        return tree.tree_unflatten(self.tree, [
            x if p is None else whole(p.kind, [*p.fixed, *x.moving]) for p, x in zip(self.parts, leaves, strict=True)])


def _cotangent(x: Any) -> Any:
    """The cotangent of an argument."""
    if not _is_parts(x):
        return x
    kind = x.kind.to_ct_aval() if hasattr(x.kind, "to_ct_aval") else x.kind.to_tangent_aval()
    return plain(kind, x.moving)


def _cotangents(moving: Any) -> Any:
    return tree.tree_map(_cotangent, moving, is_leaf=_is_parts)


def _moving(values: Any) -> Any:
    """Tangents of arguments, as those of their moving parts."""
    return tree.tree_map(lambda t: t if type_of(t) is None else Parts(None, arrays_of(t)), values)


def _like(parts: Any, t: Any) -> Any:
    """The tangent or cotangent of a result, as one of its parts."""
    if not _is_parts(parts):
        return t
    return Parts(parts.kind, arrays_of(t), [zeros_like_aval(aval_of(x).to_tangent_aval()) for x in parts.fixed])


def _tangent_of(x: Any) -> Any:
    return plain(x.kind.to_tangent_aval(), x.moving) if _is_parts(x) else x


def value_and_grad_above(value_and_grad: Any, fun: Any, nums: tuple[int, ...], args: Sequence[Any], kwargs: Any,
                         options: dict[str, Any]) -> tuple[Any, Any]:
    """As value_and_grad(fun, nums, **options)(*args, **kwargs), of values above arrays; gradients are a tuple."""
    picked = _Fixed(tuple(args[n] for n in nums))

    def call(moving: Any) -> Any:
        return _all_apart(fun(*replace_at(args, nums, picked.values(moving)), **kwargs))
    value, grads = value_and_grad(call, 0, **options)(picked.moving)
    return _all_together(value), _cotangents(grads)


def vjp_above(vjp: Any, fun: Any, primals: Sequence[Any], has_aux: bool) -> Any:
    """As vjp(fun, *primals, has_aux=), of values above arrays."""
    taken = _Fixed(tuple(primals))
    value, pull, *aux = vjp(lambda moving: _all_apart(fun(*taken.values(moving))), taken.moving, has_aux=has_aux)
    parts, structure = tree.tree_flatten(value, is_leaf=_is_parts)

    def pulled(ct: Any) -> Any:
        leaves = [_like(p, t) for p, t in zip(parts, structure.flatten_up_to(ct), strict=True)]
        return _cotangents(pull(tree.tree_unflatten(structure, leaves))[0])
    return (_all_together(value), pulled, *_all_together(aux))


def jvp_above(jvp: Any, fun: Any, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool) -> Any:
    """As jvp(fun, primals, tangents, has_aux=), of values above arrays."""
    taken = _Fixed(tuple(primals))
    value, out_t, *aux = jvp(lambda moving: _all_apart(fun(*taken.values(moving))), (taken.moving,),
                             (_as(taken.moving, tangents),), has_aux=has_aux)
    return (_all_together(value), tree.tree_map(_tangent_of, out_t, is_leaf=_is_parts), *_all_together(aux))


def _as(moving: Any, tangents: Any) -> Any:
    """Tangents in the structure of moving parts."""
    leaves, structure = tree.tree_flatten(moving, is_leaf=_is_parts)
    given = structure.flatten_up_to(_moving(tuple(tangents)))
    return tree.tree_unflatten(structure, [Parts(p.kind, t.moving if _is_parts(t) else [t]) if _is_parts(p) else t
                                           for p, t in zip(leaves, given, strict=True)])


def linearize_above(linearize: Any, fun: Any, primals: Sequence[Any], has_aux: bool) -> Any:
    """As linearize(fun, *primals, has_aux=), of values above arrays."""
    taken = _Fixed(tuple(primals))
    value, push, *aux = linearize(lambda moving: _all_apart(fun(*taken.values(moving))), taken.moving, has_aux=has_aux)

    def pushed(*tangents: Any) -> Any:
        return tree.tree_map(_tangent_of, push(_as(taken.moving, tangents)), is_leaf=_is_parts)
    return (_all_together(value), pushed, *_all_together(aux))


# -- batches


_PROBE = 1_000_003  # a size of batches that no array has otherwise


def _axes(element: Any, spec: Any) -> list[int | None]:
    """The batch axes of the arrays of a value, found from the type of a batch of a size that stands out."""
    if spec is None:
        return [None] * len(flat_types(element))
    many = flat_types(element.inc_rank(_PROBE, spec))
    return [t.shape.index(_PROBE) if _PROBE in t.shape else None for t in many]


def has_specs(*axes: Any) -> bool:
    """Whether there is a mapping spec among axes."""
    return any(not isinstance(x, int) and x is not None for x in tree.tree_leaves(axes))


def vmap_above(vmap: Any, fun: Any, in_axes: Any, out_axes: Any, options: dict[str, Any]) -> Callable[..., Any]:
    """As vmap(fun, in_axes, out_axes, **options), of values above arrays."""
    @wraps(fun)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        leaves, structure = tree.tree_flatten((args, kwargs))
        axes = flatten_axes("vmap in_axes", structure, (in_axes, 0))
        size = options["axis_size"]
        if size is None:
            size = next((aval_of(x).shape[d] for x, d in zip(leaves, axes, strict=True) if isinstance(d, int)), None)
        if size is None:
            raise ValueError("vmap over values above arrays needs axis_size, where no array is mapped over")
        kinds = [k if k is None or d is None else k.dec_rank(size, d)
                 for k, d in zip(map(type_of, leaves), axes, strict=True)]
        dims = [d if k is None else _axes(k, d) for k, d in zip(kinds, axes, strict=True)]
        out_tree: list[Any] = []
        targets: list[Any] = []

        def element(given: Any) -> list[Any]:
            values = [x if k is None else whole(k, x) for k, x in zip(kinds, given, strict=True)]
            a, k = tree.tree_unflatten(structure, values)
            outs, found = tree.tree_flatten(fun(*a, **k))
            specs = flatten_axes("vmap out_axes", found, out_axes)
            targets[:] = [s if type_of(x) is None else _axes(type_of(x), s) for x, s in zip(outs, specs, strict=True)]
            out_tree[:] = [found, [(type_of(x), s) for x, s in zip(outs, specs, strict=True)]]
            return [x if type_of(x) is None else flat(x) for x in outs]

        given = [x if k is None else flat(x) for k, x in zip(kinds, leaves, strict=True)]
        outs = vmap(element, (dims,), targets, **{**options, "axis_size": size})(given)
        found, types = out_tree
        return tree.tree_unflatten(found, [
            x if k is None else whole(k if s is None else k.inc_rank(size, s), x)
            for x, (k, s) in zip(outs, types, strict=True)])
    return mapped


# -- loops and branches


def _leading(x: Any, length: int | None) -> Any:
    """A value to scan over: the type of one step's, and its arrays with the steps in front."""
    kind = type_of(x)
    if kind is None:
        return x
    spec, size = kind.leading_axis_spec(), _steps(x) if length is None else length
    element = kind.dec_rank(size, spec)
    return Parts(element, [a if d is None else moveaxis(a, d, 0) for a, d in zip(flat(x), _axes(element, spec), strict=True)])


def _steps(x: Any) -> int:
    """How many values of one step a value holds, found from the type whose batches are as large."""
    kind = type_of(x)
    spec = kind.leading_axis_spec()
    for size in sorted({n for a in array_types(kind) for n in a.shape}):
        try:
            if kind.dec_rank(size, spec).inc_rank(size, spec) == kind:
                return size
        except (AssertionError, ValueError):
            continue
    raise ValueError(f"scan over a value of type {kind}: no size of its arrays is that of its leading axis")


def _stacked(x: Any) -> Any:
    """The values of all steps, from arrays with the steps in front."""
    if not _is_parts(x):
        return x
    held, spec = x.held(), x.kind.leading_axis_spec()
    many = x.kind.inc_rank(aval_of(held[0]).shape[0], spec)
    return whole(many, [a if d is None else moveaxis(a, 0, d) for a, d in zip(held, _axes(x.kind, spec), strict=True)])


def scan_above(scan: Any, f: Any, init: Any, xs: Any, options: dict[str, Any]) -> Any:
    """As scan(f, init, xs, **options), of values above arrays."""
    steps = tree.tree_map(lambda x: _leading(x, options["length"]), xs)
    carry, ys = scan(_of_parts(f), _all_apart(init), steps, **options)
    return _all_together(carry), tree.tree_map(_stacked, ys, is_leaf=_is_parts)


def while_above(while_loop: Any, cond: Any, body: Any, init: Any) -> Any:
    """As while_loop(cond, body, init), of values above arrays."""
    return _all_together(while_loop(_of_parts(cond), _of_parts(body), _all_apart(init)))


def fori_above(fori_loop: Any, lower: Any, upper: Any, body: Any, init: Any, options: dict[str, Any]) -> Any:
    """As fori_loop(lower, upper, body, init, **options), of values above arrays."""
    return _all_together(fori_loop(lower, upper, _of_parts(body), _all_apart(init), **options))


def branch_above(branch: Any, kind: str, index: Any, functions: Sequence[Any], names: Any, operands: Any) -> Any:
    """As branch(kind, index, functions, names, operands), of values above arrays."""
    return _all_together(branch(kind, index, list(map(_of_parts, functions)), names, _all_apart(tuple(operands))))


hooks.above.update({
    "value_and_grad": value_and_grad_above, "vjp": vjp_above, "jvp": jvp_above, "linearize": linearize_above,
    "vmap": vmap_above, "has_specs": has_specs, "scan": scan_above, "while_loop": while_above, "fori_loop": fori_above,
    "branch": branch_above,
})
