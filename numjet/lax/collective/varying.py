"""What varies over axes of a mesh inside of shard_map, in types: `pvary`, `pcast`, and sums that are the same everywhere.

The types of values inside of a shard_map with check_vma name the axes over which the devices may have different values.
Operations on values that vary over different axes begin with `pvary`, whose transpose is a sum over these axes; the sum
over axes is the same on them, and its transpose is `pvary`. So derivatives taken inside of shard_map are those of the whole.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core import hooks
from numjet.core.aval import explicit, placements_in_use
from numjet.core.named_axes import checked_axes, named_axes
from numjet.core.op import LINEAR, Op, lookup
from numjet.core.sharding.mesh import current_mesh
from numjet.core.stage import Varying
from numjet.core.trace import Tracer, aval_of
from numjet.core.traits import EXACT
from numjet.foundation import tree
from numjet.lax.collective import hlo
from numjet.lax.collective.reductions import NO_SAMPLES, OUTSIDE, Names, axis_names, outside, psum_p, sizes_of
from numjet.lax.sharding_later import sums
from numjet.lax.templates import aligned_batch


def _vary(found: frozenset[Any], *, axes: tuple[Names, ...]) -> Varying:
    return Varying(pvary_p, {"axes": axes}, frozenset(), found | set(axes))


CASTS = frozenset({"pvary", "preduced", "reduced_vary_cast", "vary_unreduced_cast"})  # they change types alone


def cast_of_batch(op: Callable[[], Op]) -> Callable[..., tuple[Any, int | None]]:
    """The rule in a vmap of a cast, which says nothing of the axes of batches."""
    def rule(trace: Any, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[Names, ...]) -> Any:
        rest = tuple(a for a in axes if a != trace.axis_name)
        return (op().bind(args[0], axes=rest) if rest else args[0]), dims[0]
    return rule


def _sum_of_batch(trace: Any, args: Sequence[Any], dims: Sequence[int | None], *, axes: tuple[Names, ...]) -> Any:
    return psum_p.collective(trace, args, dims, axes=axes, axis_index_groups=None)


def _sum(found: frozenset[Any], *, axes: tuple[Names, ...]) -> Varying:
    return Varying(psum_invariant_p, {"axes": axes}, found | set(axes), found - set(axes))


pvary_p: Op = Op(
    name="pvary", params=("axes",), abstract=lambda x, *, axes: x, eager=lambda x, *, axes: x, jvp=LINEAR, linear_in=(0,),
    transpose=lambda ct, x, *, axes: [psum_invariant_p.bind(ct, axes=axes)], batch=aligned_batch(lambda: pvary_p),
    cpu=lambda b, x, *, axes: x, hlo=lambda b, x, *, axes: x, traits=EXACT, samples=NO_SAMPLES, varying=_vary,
    collective=cast_of_batch(lambda: pvary_p))
psum_invariant_p: Op = Op(
    name="psum_invariant", params=("axes",), abstract=lambda x, *, axes: x, eager=outside, jvp=LINEAR, linear_in=(0,),
    transpose=lambda ct, x, *, axes: [pvary_p.bind(ct, axes=axes)], batch=aligned_batch(lambda: psum_invariant_p),
    cpu=OUTSIDE, hlo=hlo.all_reduce("add"), samples=NO_SAMPLES, varying=_sum, collective=_sum_of_batch)
_CASTS = {"varying": "pvary", "reduced": "preduced", "reduced to varying": "reduced_vary_cast"}
hooks.set_cast(lambda to: lookup(_CASTS[to]))


def _typed_axes(names: Names) -> tuple[Any, ...]:
    """Names of axes of the mesh, without those that types leave out."""
    left_out = explicit.left_out(current_mesh())
    return tuple(a for a in axis_names(names) if a not in left_out)


def pvary(x: Any, axis_name: Names) -> Any:
    """A pytree of values that are the same along axes of a mesh, as values that may vary: their types change.

    Its transpose is a sum over the axes. NameError for axes that no enclosing shard_map has.
    """
    axes = _typed_axes(axis_name)
    _check_inside(x, axes, "pvary")
    return tree.tree_map(lambda leaf: _varied(leaf, axes), x)


def _check_inside(x: Any, axes: Sequence[Any], what: str) -> None:
    """NameError in a traced function, ValueError outside of one, for axes that no enclosing shard_map has."""
    traced = any(isinstance(leaf, Tracer) for leaf in tree.tree_leaves(x))
    if not traced and not {n for n, _ in named_axes()}.issuperset(axes):
        raise ValueError(f"{what} should be called under jax.shard_map, over a mesh with axes {tuple(axes)}")
    sizes_of(axes, what)


def as_varying(x: Any, axes: tuple[Any, ...]) -> Any:
    """A value whose type says that it varies over axes over which nothing was said, or which was reduced."""
    reduced = explicit.sums_of(aval_of(x))[1] & set(axes) if placements_in_use else ()
    if reduced:
        x = sums.reduced_vary_cast_p.bind(x, axes=tuple(a for a in axes if a in reduced))
    rest = tuple(a for a in axes if a not in reduced)
    return pvary_p.bind(x, axes=rest) if rest else x


def _varied(x: Any, axes: Sequence[Any]) -> Any:
    wanted = tuple(a for a in axes if a in checked_axes() and a not in aval_of(x).vma)
    return as_varying(x, wanted) if wanted else x


def pcast(x: Any, axis_name: Names | None = None, *, to: str) -> Any:
    """A pytree of values of shards whose types say something else of axes of the mesh; nothing is computed.

    to: "varying", of values that are the same on all devices or reduced; "unreduced", of values that vary: they are summands
    from now on; "reduced", of values that are the same on all devices: cotangents are summands.

    TypeError for names that are neither a str nor a tuple, ValueError for another `to`, for values that no such cast exists
    of, and outside of shard_map.
    """
    if not isinstance(axis_name, (str, tuple)):
        raise TypeError(f"pcast: axis_name must be a tuple or a str. Got {axis_name!r} of type {type(axis_name).__name__}")
    if to not in ("varying", "reduced", "unreduced"):
        raise ValueError(f"Got unexpected `to` value {to!r}. Allowed `to` values are: 'varying', 'reduced' and 'unreduced'")
    axes = _typed_axes(axis_name)
    _check_inside(x, axes, "pvary" if to == "varying" else "preduced")
    return tree.tree_map(lambda leaf: sums.cast_to(leaf, axes, to), x)
