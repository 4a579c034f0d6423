"""The operation `shard_map`: a program that each device of a mesh runs on its parts of the operands.

Its program takes and gives parts; `in_specs` and `out_specs` say how these divide the whole. Derivatives and batches are
operations of the same kind, whose programs are derived from its program; values that a derivative keeps leave the shards
side by side along their first axis.
"""
from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.control.call.jaxpr_transforms import (
    Split,
    batch_program,
    cached_by_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    split_program,
    transpose_program,
    with_zeros,
    without_consts,
)
from numjet.core.aval import ShapedArray
from numjet.core.effects import ORDERED_DEBUG
from numjet.core.ir import ClosedJaxpr, JaxprEqn
from numjet.core.named_axes import (
    BatchAxis,
    batch_name,
    checked_axes,
    dividing_axes,
    spmd_axes_of,
    with_checked_axes,
    with_named_axes,
)
from numjet.core.op import Missing, Op, Undefined
from numjet.core.sharding import explicit
from numjet.core.sharding.mesh import AxisType, current_mesh, using
from numjet.core.sharding.partition_spec import PartitionSpec, axes_of, parts_of
from numjet.core.sharding.shardings import NamedSharding
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import all_eqns, eval_closed
from numjet.foundation.config import config
from numjet.foundation.util import merge_lists, partition_list
from numjet.lax.collective.reductions import psum_p
from numjet.lax.collective.sums import as_shards
from numjet.lax.collective.varying import CASTS, as_varying
from numjet.lax.elementwise.arithmetic import div_p
from numjet.lax.shape.rearrange import reshaped
from numjet.lax.sharding import resharded
from numjet.lax.templates import in_front
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.simplify import Rewritten, Simplify

Specs = tuple[PartitionSpec, ...]
_WHOLE = PartitionSpec()
_INT32 = np.dtype(np.int32)


# ------------------------------------------------------------------------------------------------ types of parts

@contextlib.contextmanager
def inside(mesh: Any, axes: frozenset[Any], check_vma: bool) -> Iterator[None]:
    """A block in which functions of shards are traced: collectives know the axes."""
    named = [(n, s) for n, s in mesh.shape_tuple if n in axes]
    checked = checked_axes() | (axes - explicit.left_out(mesh)) if check_vma else checked_axes() - axes
    with using(_within(mesh, axes)), with_named_axes(named), with_checked_axes(checked):
        yield


def _within(mesh: Any, axes: frozenset[Any]) -> Any:
    """The mesh in use in functions of shards: its axes that they have collectives over are Manual."""
    there = current_mesh()
    if mesh.is_abstract and not there.is_abstract and there.shape_tuple == mesh.shape_tuple:
        mesh = explicit.mesh_like(there, mesh.axis_types)
    return explicit.with_types(mesh, axes | set(there.manual_axes), AxisType.Manual)


def part_type(aval: ShapedArray, mesh: Any, spec: PartitionSpec, axes: frozenset[Any], check_vma: bool) -> ShapedArray:
    """The type of a shard's part of an operand."""
    shape = list(aval.shape)
    for d, part in enumerate(spec):
        shape[d] //= prod(mesh.shape[a] for a in parts_of(part))
    there = aval.placement
    if explicit.divides(aval) or spec.unreduced or spec.reduced:
        inner = explicit.with_types(there.mesh if explicit.divides(aval) else mesh.abstract_mesh, axes, AxisType.Manual)
        before = PartitionSpec(*explicit.parts(aval))
        sums = [(old - axes) | (own & axes if check_vma else frozenset())
                for old, own in zip(explicit.sums_of(aval), (spec.unreduced, spec.reduced), strict=True)]
        there = explicit.placement(inner, explicit.explicit_parts(inner, before, aval.ndim), *sums, memory=aval.memory_space)
    varies = aval.vma | (set(axes_of(spec)) - explicit.left_out(mesh)) if check_vma else aval.vma
    return aval.update(shape=tuple(shape), vma=varies, placement=there)


def whole_type(aval: ShapedArray, mesh: Any, spec: PartitionSpec, axes: frozenset[Any]) -> ShapedArray:
    """The type of a result, of that of a shard's part."""
    shape = list(aval.shape)
    for d, part in enumerate(spec):
        shape[d] *= prod(mesh.shape[a] for a in parts_of(part))
    return aval.update(shape=tuple(shape), vma=aval.vma - axes, placement=_whole_placement(aval, mesh, spec))


def _whole_placement(aval: ShapedArray, mesh: Any, spec: PartitionSpec) -> Any:
    """How a result is divided along Explicit axes: those of the specification, and along others as the parts are."""
    if not mesh.explicit_axes:
        return explicit.in_memory(None, aval.ndim, aval.memory_space)
    outer = explicit.explicit_parts(mesh, spec, aval.ndim)
    joined = [(*parts_of(o), *parts_of(i)) for o, i in zip(outer, explicit.parts(aval), strict=True)]
    kept = set(mesh.explicit_axes)
    sums = [(own | of_part) & kept for own, of_part in zip((spec.unreduced, spec.reduced), explicit.sums_of(aval), strict=True)]
    return explicit.placement(mesh.abstract_mesh, explicit.explicit_parts(mesh, PartitionSpec(*joined), aval.ndim), *sums,
                              memory=aval.memory_space)


def _abstract(*avals: ShapedArray, jaxpr: ClosedJaxpr, mesh: Any, out_specs: Specs, manual_axes: frozenset[Any], **_: Any
              ) -> list[ShapedArray]:
    return [whole_type(a, mesh, s, manual_axes) for a, s in zip(jaxpr.out_avals, out_specs, strict=True)]


def varied_to(outs: Sequence[Any], specs: Sequence[PartitionSpec], axes: frozenset[Any]) -> list[Any]:
    """Results of a shard that vary over the axes that their specifications name."""
    found = []
    for x, spec in zip(outs, specs, strict=True):
        aval = aval_of(x)
        missing = (set(axes_of(spec)) & axes & checked_axes()) - aval.vma
        x = as_varying(x, tuple(sorted(missing, key=str))) if missing else x
        wanted = spec.unreduced | spec.reduced
        found.append(as_shards(x, _with_sums_of(aval, spec)) if wanted or explicit.has_sums(aval) else x)
    return found


def _with_sums_of(aval: ShapedArray, spec: PartitionSpec) -> ShapedArray:
    """The type of a shard's part of a result, whose sums are those that the specification leaves."""
    mesh = aval.placement.mesh if explicit.divides(aval) else current_mesh().abstract_mesh
    manual = set(mesh.manual_axes)
    given = zip((spec.unreduced, spec.reduced), explicit.sums_of(aval), strict=True)
    sums = [(own & manual) | (old - manual) for own, old in given]
    return aval.update(placement=explicit.placement(mesh, explicit.parts(aval), *sums, memory=aval.memory_space))


def dual(specs: Iterable[PartitionSpec]) -> list[PartitionSpec]:
    """The specifications of cotangents."""
    return [s.update(unreduced=s.reduced, reduced=s.unreduced) if s.unreduced or s.reduced else s for s in specs]


# ------------------------------------------------------------------------------------------------ derivatives

class _Call:
    """The parameters of one shard_map but for its program and specifications."""

    def __init__(self, params: dict[str, Any]):
        self.mesh, self.axes, self.check = params["mesh"], params["manual_axes"], params["check_vma"]

    def inside(self) -> Any:
        return inside(self.mesh, self.axes, self.check)

    def bind(self, jaxpr: ClosedJaxpr, args: Sequence[Any], ins: Sequence[Any], outs: Sequence[Any]) -> list[Any]:
        return shard_map_p.bind(*args, **self.params(jaxpr, ins, outs))

    def params(self, jaxpr: ClosedJaxpr, ins: Sequence[Any], outs: Sequence[Any]) -> dict[str, Any]:
        return {"jaxpr": jaxpr, "mesh": self.mesh, "in_specs": tuple(ins), "out_specs": tuple(outs), "manual_axes": self.axes,
                "check_vma": self.check}

    def traced(self, fun: Callable[..., Sequence[Any]], avals: Sequence[ShapedArray]) -> ClosedJaxpr:
        """A program of parts."""
        with self.inside():
            return without_consts(trace_to_closed(fun, avals))

    def side_by_side(self, aval: ShapedArray) -> PartitionSpec:
        """The specification of a value of the shards that leaves them: all that differ, along the first axis. Along the axes
        that divide the batch of a vmap around it, nothing differs in an element."""
        differs = self.axes & aval.vma if self.check else self.axes - dividing_axes()
        axes = tuple(a for a in self.mesh.axis_names if a in differs)
        unreduced, reduced = [s & self.axes for s in explicit.sums_of(aval)]
        return PartitionSpec(*[axes] if axes else [], unreduced=unreduced, reduced=reduced)


def with_states(fun: Callable[..., tuple[Sequence[Any], Sequence[Any]]], args: Sequence[Any], params: dict[str, Any]
                ) -> tuple[list[Any], list[Any]]:
    """A shard_map with another program on the same parts: (results, states). `fun` returns a shard's results and its states,
    which leave the shards side by side along a new first axis."""
    call, specs = _Call(params), params["out_specs"]
    axes = tuple(a for a in call.mesh.axis_names if a in call.axes - dividing_axes())
    counts: list[int] = []

    def parts(*xs: Any) -> list[Any]:
        outs, states = fun(*xs)
        counts[:] = [len(states)]
        grown = [reshaped(x, (1, *aval_of(x).shape)) for x in states]
        every = [*specs, *[PartitionSpec(axes)] * len(grown)]
        return varied_to([*outs, *grown], every, call.axes) if call.check else [*outs, *grown]
    program = call.traced(parts, params["jaxpr"].in_avals)
    found = call.bind(program, args, params["in_specs"], [*specs, *[PartitionSpec(axes)] * counts[0]])
    return found[:len(specs)], [_undivided(x, call.mesh) for x in found[len(specs):]]


def _undivided(x: Any, mesh: Any) -> Any:
    """A value that each device has as a whole, where its type says that it is divided."""
    return resharded(x, NamedSharding(mesh, _WHOLE)) if explicit.divides(aval_of(x)) else x


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, in_specs: Specs, out_specs: Specs,
         **params: Any) -> tuple[list[Any], list[Any]]:
    call, nonzeros = _Call(params), nonzero_flags(tangents)
    with call.inside():
        made = jvp_program(jaxpr, nonzeros, False)
        program = _spread(call, made.jaxpr, (*out_specs, *[s for s, f in zip(out_specs, made.flags, strict=True) if f]))
    ins = [*[_WHOLE] * len(made.consts), *in_specs, *[s for s, f in zip(in_specs, nonzeros, strict=True) if f]]
    outs = [*out_specs, *[s for s, f in zip(out_specs, made.flags, strict=True) if f]]
    found = call.bind(program, [*made.consts, *primals, *only_nonzero(tangents)], ins, outs)
    count = len(out_specs)
    return found[:count], with_zeros(made.flags, found[count:], _abstract(jaxpr=jaxpr, out_specs=out_specs, **params))


def _spread(call: _Call, jaxpr: ClosedJaxpr, specs: Sequence[PartitionSpec]) -> ClosedJaxpr:
    """The program whose results vary over the axes that their specifications name."""
    fits = lambda a, s: set(axes_of(s)) & call.axes <= a.vma and not (s.unreduced or s.reduced or explicit.has_sums(a))
    if not call.check or all(fits(a, s) for a, s in zip(jaxpr.out_avals, specs, strict=True)):
        return jaxpr
    return trace_to_closed(lambda *args: varied_to(eval_closed(jaxpr, *args), specs, call.axes), jaxpr.in_avals)


def _partial_eval(trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """The known part runs as a shard_map of its own, whose results include what the unknown part needs of it."""
    call = _Call(params)
    unknown_in = tuple(trace.is_unknown(a) for a in args)
    in_specs, out_specs = params["in_specs"], params["out_specs"]
    with call.inside():
        split = split_program(params["jaxpr"], unknown_in, False)
        known, unknown = _with_first_axes(call, split)
    known_args, unknown_args = partition_list(unknown_in, args)
    known_ins, unknown_ins = partition_list(unknown_in, in_specs)
    inputs, ins = [*split.consts, *known_args], [*[_WHOLE] * len(split.consts), *known_ins]
    known_outs, unknown_outs = partition_list(split.flags, out_specs)
    kept = [call.side_by_side(a) for a in split.known.out_avals[split.known_count:]]
    from_results = [*known_outs, *kept]
    with_known = trace.run_known(shard_map_p, inputs, call.params(known, ins, from_results)) if known.out_avals else []
    residuals = split.pick(inputs, with_known)
    specs = [ins[r.at] if r.from_input else from_results[r.at] for r in split.residuals]
    found = trace.stage(shard_map_p, [*residuals, *unknown_args],
                        call.params(unknown, [*specs, *unknown_ins], unknown_outs))
    return merge_lists(split.flags, with_known[:split.known_count], found)


def _with_first_axes(call: _Call, split: Split) -> tuple[ClosedJaxpr, ClosedJaxpr]:
    """The programs of a split where values of rank 0 that go from the one to the other have an axis, along which the shards'
    stand side by side."""
    count = split.known_count
    scalar = [not a.shape for a in split.known.out_avals]

    def known(*args: Any) -> list[Any]:
        outs = eval_closed(split.known, *args)
        return [*outs[:count], *[reshaped(x, (1,)) if s else x for x, s in zip(outs[count:], scalar[count:], strict=True)]]

    grown = [not r.from_input and r.at >= count and scalar[r.at] for r in split.residuals]

    def unknown(*args: Any) -> list[Any]:
        given = [reshaped(x, ()) if g else x for x, g in zip(args, grown, strict=False)]
        return eval_closed(split.unknown, *given, *args[len(grown):])

    if not any(scalar[count:]):
        return split.known, split.unknown
    avals = [a.update(shape=(1,)) if g else a for a, g in zip(split.unknown.in_avals, grown, strict=False)]
    return (without_consts(trace_to_closed(known, split.known.in_avals)),
            without_consts(trace_to_closed(unknown, [*avals, *split.unknown.in_avals[len(grown):]])))


def _transpose(cts: Sequence[Any], *args: Any, jaxpr: ClosedJaxpr, in_specs: Specs, out_specs: Specs, **params: Any
               ) -> list[Any]:
    """Cotangents of the parts. Where types do not say what varies, each of the devices that have the same result gets its
    share of the cotangent, and those of the same operand are added up."""
    call = _Call(params)
    linear, nonzeros = tuple(isinstance(a, Undefined) for a in args), nonzero_flags(cts)
    with call.inside():
        made = transpose_program(jaxpr, linear, nonzeros, False)
    known, unknown = partition_list(linear, args)
    known_specs, linear_specs = partition_list(linear, in_specs)
    ct_specs = dual(s for s, f in zip(out_specs, nonzeros, strict=True) if f)
    outs = dual(s for s, f in zip(linear_specs, made.flags, strict=True) if f)
    before = len(made.consts) + len(known)
    with call.inside():
        program = _spread(call, made.jaxpr, outs) if call.check else _shared(call, made.jaxpr, before, ct_specs, outs)
    found = call.bind(program, [*made.consts, *known, *only_nonzero(cts)],
                      [*[_WHOLE] * len(made.consts), *known_specs, *ct_specs], outs)
    return merge_lists(linear, [None] * len(known), with_zeros(made.flags, found, [u.aval.to_ct_aval() for u in unknown]))


def _shared(call: _Call, jaxpr: ClosedJaxpr, before: int, ct_specs: Sequence[PartitionSpec], outs: Sequence[PartitionSpec]
            ) -> ClosedJaxpr:
    def left_out(spec: PartitionSpec) -> tuple[Any, ...]:
        named = {*axes_of(spec), *dividing_axes(), *spec.unreduced}
        return tuple(a for a in call.mesh.axis_names if a in call.axes - named)

    def share(ct: Any, axes: Iterable[Any]) -> Any:
        count = prod(call.mesh.shape[a] for a in axes)
        return ct if count == 1 else div_p.bind(ct, np.asarray(count, aval_of(ct).dtype)[()])

    def fun(*args: Any) -> list[Any]:
        cts = [share(ct, {*left_out(s)} - s.reduced) for ct, s in zip(args[before:], ct_specs, strict=True)]
        found = eval_closed(jaxpr, *args[:before], *cts)
        return [share(psum_p.bind(x, axes=left_out(s), axis_index_groups=None), s.reduced) if left_out(s) else x
                for x, s in zip(found, outs, strict=True)]
    return trace_to_closed(fun, jaxpr.in_avals)


# ------------------------------------------------------------------------------------------------ batches, dead code

def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ClosedJaxpr, in_specs: Specs,
           out_specs: Specs, axis_name: Any = None, **params: Any) -> tuple[list[Any], list[int | None]]:
    call, batched = _Call(params), tuple(d is not None for d in dims)
    divided = explicit.mapped()
    divides = spmd_axes_of(axis_name) or (() if divided is None else parts_of(divided[1]))
    along = tuple(a for a in divides if a in call.axes)
    if along:
        if not config.disable_vmap_shmap_error:
            _check_collectives(jaxpr, along)
        size, axis_name = _divided_batch(call, size, along, in_specs, out_specs), BatchAxis(batch_name(axis_name), along, True)
    with call.inside():
        made = batch_program(jaxpr, size, batched, False, axis_name)
    before = lambda spec, flag: spec.update(partitions=(along, *spec)) if flag else spec
    ins = [*[_WHOLE] * len(made.consts), *map(before, in_specs, batched)]
    outs = call.bind(made.jaxpr, [*made.consts, *in_front(args, dims)], ins, list(map(before, out_specs, made.flags)))
    return outs, [0 if f else None for f in made.flags]


def _check_collectives(jaxpr: ClosedJaxpr, along: tuple[Any, ...]) -> None:
    """ValueError for collectives over axes that divide the batch: they would exchange between its elements."""
    for eqn in all_eqns(jaxpr.jaxpr):
        exchanges = eqn.primitive.collective is not None and eqn.primitive.name not in CASTS
        names = eqn.params.get("axes", eqn.params.get("axis_name", ())) if exchanges else ()
        if set(along) & set(names if isinstance(names, tuple) else (names,)):
            raise ValueError(f"vmap spmd_axis_name cannot appear in shard_map's collectives: {along} divides the batch, and "
                             f"{eqn.primitive.name} in the shard_map is over {names}. If it is one of a derivative that was "
                             "taken before, take it in the function that vmap gets.")


def _divided_batch(call: _Call, size: int, along: tuple[Any, ...], in_specs: Specs, out_specs: Specs) -> int:
    """The size of each device's part of a batch that vmap divides along axes. ValueError where these divide arguments or
    results, too, or cannot divide the batch evenly."""
    for side, what, specs in (("in_specs", "an argument", in_specs), ("out_specs", "a result", out_specs)):
        if any(set(along) & set(axes_of(s)) for s in specs) and not config.disable_vmap_shmap_error:
            if explicit.mapped() is not None:
                raise ValueError(f"jax.shard_map requires axis_names={set(call.axes)} to be a subset of those that do not "
                                 f"divide the batch of vmap: {along} do, and {what} by {side} {specs}.")
            raise ValueError(f"vmap spmd_axis_name cannot appear in shard_map {side}: {along} divides the batch, and {what} by "
                             f"{side} {specs}. Values that derivatives keep are divided along all axes: take derivatives of "
                             "vmap, not vmap of derivatives.")
    count = prod(call.mesh.shape[a] for a in along)
    if size % count:
        raise ValueError(f"vmap spmd_axis_name {along} divides the batch of a shard_map into {count} parts, which cannot be "
                         f"equal, as its size is {size}")
    return size // count


def _dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    jaxpr, used_in = dce_jaxpr(eqn.params["jaxpr"].jaxpr, used)
    kept = lambda items, flags: tuple(x for x, f in zip(items, flags, strict=True) if f)
    params = {**eqn.params, "jaxpr": ClosedJaxpr(jaxpr), "in_specs": kept(eqn.params["in_specs"], used_in),
              "out_specs": kept(eqn.params["out_specs"], used)}
    return eqn.replace(params=params, invars=list(kept(eqn.invars, used_in)), outvars=list(kept(eqn.outvars, used)),
                       effects=jaxpr.effects)


def _simplify(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    body = simplify(eqn.params["jaxpr"], list(map(simplify.facts.interval, eqn.invars)))
    return Rewritten(eqn.replace(params={**eqn.params, "jaxpr": body}), eqn.outvars)


# ------------------------------------------------------------------------------------------------ StableHLO

@cached_by_program
def _counted_axes(jaxpr: ClosedJaxpr) -> tuple[Any, ...]:
    """The axes along which shards ask for their number."""
    return tuple({eqn.params["axis_name"]: None for eqn in all_eqns(jaxpr.jaxpr) if eqn.primitive.name == "axis_index"})


def _check_order(jaxpr: ClosedJaxpr, mesh: Any) -> None:
    """ValueError where the prints of shards shall have an order, as nothing orders what devices do."""
    if mesh.size > 1 and ORDERED_DEBUG in jaxpr.effects:
        raise ValueError("The following ordered effects are not supported for more than 1 device: "
                         f"[{ORDERED_DEBUG}]. Each of the {mesh.size} devices of a shard_map or pmap runs its part when it "
                         "can: leave out ordered=True, or print outside of the mapped function.")


def _hlo(b: Any, *args: Any, jaxpr: ClosedJaxpr, mesh: Any, in_specs: Specs, out_specs: Specs, manual_axes: frozenset[Any],
         check_vma: bool) -> list[Any]:
    """A manual computation of the dialect sdy. A shard's number along an axis is its part of 0, 1, 2, ..."""
    _check_order(jaxpr, mesh)
    partitions, outer = b.partitions, b.shards
    counted = _counted_axes(jaxpr)
    own = [a for a in counted if a in manual_axes]
    passed = [a for a in counted if a not in manual_axes and outer is not None and a in outer.indices]
    numbers = [b.iota((mesh.shape[a],), 0, _INT32) for a in own] + [b.reshape(outer.indices[a], (1,)) for a in passed]
    specs = [*[PartitionSpec(a) for a in own], *[_WHOLE] * len(passed)]
    parts = [ShapedArray(part_type(x.aval, mesh, s, manual_axes, False).shape, x.dtype)
             for x, s in zip(args, in_specs, strict=True)]
    whole = [a.update(vma=frozenset()) for a in _abstract(jaxpr=jaxpr, mesh=mesh, out_specs=out_specs, manual_axes=manual_axes)]

    def body(*values: Any) -> list[Any]:
        indices = {a: b.reshape(v, ()) for a, v in zip([*own, *passed], values, strict=False)}
        with b.inside(b.make_shards(mesh, indices, manual_axes)):
            return b.inline(jaxpr, values[len(indices):])
    one = ShapedArray((1,), _INT32)
    region = b.region([*[one] * len(numbers), *parts], body, isolated=True, end="sdy.return")
    is_open = len(manual_axes) < len(mesh.axis_names)
    text = lambda specs, avals: ", ".join(partitions.sharding(mesh, s, b.rank(a), is_open) for s, a in zip(specs, avals,
                                                                                                   strict=True))
    operands = [*numbers, *args]
    names = ", ".join(partitions.axis(a) for a in mesh.axis_names if a in manual_axes)
    attrs = {"in_shardings": f"#sdy.sharding_per_value<[{text([*specs, *in_specs], operands)}]>",
             "manual_axes": f"#sdy<manual_axes{{{names}}}>",
             "out_shardings": f"#sdy.sharding_per_value<[{text(out_specs, whole)}]>"}
    return b.op("sdy.manual_computation", operands, whole, attrs=attrs, regions=[region])


shard_map_p: Op = Op(
    name="shard_map", params=("jaxpr", "mesh", "in_specs", "out_specs", "manual_axes", "check_vma"), multiple=True,
    programs=True, compiled=True, abstract=_abstract, eager=Missing("its program runs on several devices"), jvp=_jvp,
    transpose=_transpose, batch=_batch, partial_eval=_partial_eval, dce=_dce, simplify=_simplify, effects=holds_effects,
    cpu=Missing("its program runs on several devices"), hlo=_hlo, mesh=lambda *, mesh, **_: mesh,
    samples=Missing("holds a program"))
