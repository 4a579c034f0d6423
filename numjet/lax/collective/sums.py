"""Sums that are still to be made, in types inside of shard_map: what devices have along an axis of the mesh is the same
(nothing said), may differ (varying), is a summand of the value (unreduced), or is the same and gets summands as its cotangent
(reduced). The last two are each other's cotangents, so that sums of cotangents can be made late, and together.

Each operation here leads from one of these to another one, and its transpose leads back:

    reduced <- nothing  (preduced)                 nothing <- unreduced  (unreduced_psum)
    varying <- reduced  (reduced_vary_cast)        unreduced <- varying  (vary_unreduced_cast)
    reduced <- varying  (all_gather_reduced)       varying <- unreduced  (unreduced_reduce_scatter)

Over the only device of a mesh a function of shards runs as that of a batch, which has no such types: there they are the
collectives of the same values.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.named_axes import checked_axes
from numjet.core.op import LINEAR, Op
from numjet.core.sharding import explicit
from numjet.core.sharding.mesh import AxisType, current_mesh
from numjet.core.stage import Varying
from numjet.core.trace import aval_of
from numjet.core.traits import EXACT, NONE
from numjet.lax.collective import hlo
from numjet.lax.collective.moves import GATHER, SCATTER, all_gather_p, gather_abstract, reduce_scatter_p, scatter_abstract
from numjet.lax.collective.reductions import NO_SAMPLES, OUTSIDE, Names, axis_names, outside
from numjet.lax.collective.varying import cast_of_batch, psum_invariant_p, pvary_p
from numjet.lax.templates import aligned_batch, leading_batch

Change = Callable[[frozenset[Any]], frozenset[Any]]
_same: Change = lambda axes: axes


def _op(name: str, back: Callable[[], Op], unreduced: Any = None, reduced: Any = None, varying: Any = None, rule: Any = None
        ) -> Op:
    """A record with parameter `axes`. unreduced, reduced, varying: what becomes of these sets of axes, given the own ones."""
    def abstract(x: ShapedArray, *, axes: tuple[Names, ...]) -> ShapedArray:
        return _with_sums(x, set(axes), unreduced, reduced)

    def itself(b: Any, x: Any, **_: Any) -> Any:
        return x

    def vary(found: frozenset[Any], *, axes: tuple[Names, ...]) -> Varying:
        return Varying(op, {"axes": axes}, found, found if varying is None else varying(found, frozenset(axes)))

    op: Op = Op(name=name, params=("axes",), abstract=abstract, eager=outside, jvp=LINEAR, linear_in=(0,),
                transpose=lambda ct, x, *, axes: [back().bind(ct, axes=axes)], batch=aligned_batch(lambda: op),
                cpu=OUTSIDE if rule else itself, hlo=rule or itself, traits=NONE if rule else EXACT, samples=NO_SAMPLES,
                varying=vary, typed=True, collective=psum_invariant_p.collective if rule else cast_of_batch(lambda: op))
    return op


def _with_sums(x: ShapedArray, axes: set[Any], unreduced: Any, reduced: Any, parts: Any = None) -> ShapedArray:
    """The type with other sums. unreduced, reduced: change(axes before, own axes), or None for no change."""
    there = x.placement if explicit.divides(x) else None
    before = explicit.sums_of(x)
    after = [old if change is None else change(old, axes) for old, change in zip(before, (unreduced, reduced), strict=True)]
    mesh = there.mesh if there is not None else explicit.with_types(current_mesh().abstract_mesh, axes, AxisType.Manual)
    divided = explicit.parts(x) if parts is None else parts
    return x.update(placement=explicit.placement(mesh, divided, *map(frozenset, after), memory=x.memory_space))


_without = lambda old, axes: frozenset(old) - axes
_with = lambda old, axes: frozenset(old) | axes

preduced_p: Op = _op("preduced", lambda: unreduced_psum_p, reduced=_with)
unreduced_psum_p: Op = _op("unreduced_psum", lambda: preduced_p, unreduced=_without, rule=hlo.all_reduce("add"))
reduced_vary_cast_p: Op = _op("reduced_vary_cast", lambda: vary_unreduced_cast_p, reduced=_without, varying=_with)
vary_unreduced_cast_p: Op = _op("vary_unreduced_cast", lambda: reduced_vary_cast_p, unreduced=_with, varying=_without)


def _moving(name: str, params: tuple[str, ...], dimension: str, shape: Callable[..., ShapedArray], rule: Any,
            of_batch: Op, back: Callable[..., Any], unreduced: Any, reduced: Any, varying: Any) -> Op:
    """A record that gathers or scatters along one axis, as `of_batch` does in a vmap."""
    def abstract(x: ShapedArray, *, axis_name: Names, **rest: Any) -> ShapedArray:
        out = shape(x.update(placement=None), axis_name=axis_name, **rest)
        parts = list(explicit.parts(x))
        d = rest[dimension]
        if out.ndim > x.ndim:
            parts.insert(d, None)
        elif out.ndim < x.ndim:
            del parts[d]
        given = _with_sums(x, set(axis_names(axis_name)), unreduced, reduced)
        there = given.placement
        return out if there is None else out.update(placement=there.with_parts(parts))

    def vary(found: frozenset[Any], **given: Any) -> Varying:
        return Varying(op, given, found, varying(found, frozenset(axis_names(given["axis_name"]))))

    op: Op = Op(name=name, params=params, abstract=abstract, eager=outside, jvp=LINEAR, linear_in=(0,), cpu=OUTSIDE,
                batch=leading_batch(lambda: op, dimension), transpose=lambda ct, x, **given: [back(ct, **given)], hlo=rule,
                samples=NO_SAMPLES, varying=vary, typed=True, collective=of_batch.collective)
    return op


all_gather_reduced_p: Op = _moving(
    "all_gather_reduced", GATHER, "all_gather_dimension", gather_abstract, hlo.all_gather, all_gather_p,
    lambda ct, *, all_gather_dimension, **given: unreduced_reduce_scatter_p.bind(
        ct, scatter_dimension=all_gather_dimension, **given), None, _with, _without)
unreduced_reduce_scatter_p: Op = _moving(
    "unreduced_reduce_scatter", SCATTER, "scatter_dimension", scatter_abstract, hlo.reduce_scatter, reduce_scatter_p,
    lambda ct, *, scatter_dimension, **given: all_gather_reduced_p.bind(
        ct, all_gather_dimension=scatter_dimension, **given), _without, None, _with)


def unreduced_over(x: Any, axes: Sequence[Any]) -> bool:
    """Whether devices along all of some axes have summands of a value. ValueError where they do along some of them only."""
    mine = explicit.sums_of(aval_of(x))[0] & set(axes)
    if mine and mine != set(axes):
        raise ValueError(f"a sum over axes {tuple(axes)} of {aval_of(x).str_short()}, of which devices along "
                         f"{sorted(map(str, mine))} have summands: sum over these first, and then over the others")
    return bool(mine)


def cast_to(x: Any, axes: Sequence[Any], to: str) -> Any:
    """A value as `pcast` gives it. ValueError for what no cast gives."""
    aval, own = aval_of(x), frozenset(axes) & checked_axes()
    unreduced, reduced = explicit.sums_of(aval)
    known = {"varying": aval.vma, "unreduced": unreduced, "reduced": reduced}
    states = {next((state for state, of in known.items() if a in of), "invarying") for a in own}
    if len(states) > 1:
        raise ValueError("jax.lax.pcast can only accept axis_name which corresponds to one of varying, unreduced, reduced or "
                         f"invarying state of the input: {aval.str_short()} is {', '.join(sorted(states))} over {tuple(axes)}")
    if not own:
        return x
    (source,) = states
    if (source, to) not in _CASTS:
        raise ValueError(f"Unsupported pcast from={source}, to={to!r} of {aval.str_short()} over {tuple(axes)}")
    return _CASTS[source, to].bind(x, axes=tuple(axes))


_CASTS: dict[tuple[str, str], Op] = {
    ("invarying", "varying"): pvary_p, ("invarying", "reduced"): preduced_p, ("reduced", "varying"): reduced_vary_cast_p,
    ("varying", "unreduced"): vary_unreduced_cast_p}


def as_shards(x: Any, aval: ShapedArray) -> Any:
    """A value whose type says of sums over Manual axes what another one says: casts that change no value on any device.
    ValueError where there is none."""
    have, want = explicit.sums_of(aval_of(x)), explicit.sums_of(aval)
    to_unreduced, to_reduced = want[0] - have[0], want[1] - have[1]
    if have[0] - want[0]:
        raise ValueError(f"{aval_of(x).str_short()} where {aval.str_short()} is expected: sums over {set(have[0] - want[0])} "
                         "are still to be made, by lax.psum or lax.psum_scatter")
    for axes, to in ((to_unreduced & aval_of(x).vma, "unreduced"), (to_reduced - aval_of(x).vma, "reduced")):
        if axes:
            x = cast_to(x, tuple(sorted(axes, key=str)), to)
    left = to_unreduced - explicit.sums_of(aval_of(x))[0]
    if left or to_reduced & aval_of(x).vma:
        raise ValueError("vary_unreduced_cast is a Varying->Unreduced collective, and preduced one from what is the same for "
                         f"all: {aval_of(x).str_short()} cannot become {aval.str_short()}")
    return x
