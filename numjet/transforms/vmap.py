"""Vectorization: batch rules apply every operation to all elements of a batch axis at once."""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from numjet.core import batches, lanes, leaks, nan_checks
from numjet.core.aval import explicit, placements_in_use
from numjet.core.ir import ClosedJaxpr, Jaxpr, subjaxprs
from numjet.core.lanes import Lanes
from numjet.core.named_axes import batch_name, checked_axes, spmd_axes_of, varying_axes_of, with_dividing_axes, with_named_axes
from numjet.core.op import Expand, Missing, Op
from numjet.core.stage import DebugInfo, trace_to_closed
from numjet.core.trace import Trace, Tracer, aval_of, current_trace, set_trace, type_text
from numjet.core.walk import all_eqns, eval_jaxpr
from numjet.foundation.config import config
from numjet.lax.collective.varying import pvary_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p
from numjet.lax.templates import moveaxis, spread


class BatchTracer(Tracer):
    """An array whose axis `dim` is hidden from the function."""

    __slots__ = ("val", "dim")

    def __init__(self, trace: BatchTrace, val: Any, dim: int):
        self._trace, self.val, self.dim = trace, val, dim
        aval = aval_of(val)
        shape = aval.shape[:dim] + aval.shape[dim + 1:]
        if aval.placement is None:
            self.aval = aval.update(shape=shape)
        else:
            parts = aval.placement.parts
            rest = explicit.placement(aval.placement.mesh, parts[:dim] + parts[dim + 1:], memory=aval.memory_space)
            self.aval = aval.update(shape=shape, placement=rest)

    def __repr__(self) -> str:
        return f"VmapTracer(aval={type_text(self.aval)}, batched={type_text(aval_of(self.val))})"

    def lane_parts(self, lanes: Lanes) -> Sequence[tuple[Any, Lanes]]:
        own = ((self._trace.serial, self.dim),) if self._trace.serial else ()  # type: ignore[attr-defined]
        return ((self.val, (*own, *((serial, axis + (axis >= self.dim)) for serial, axis in lanes))),)

    def origin_text(self) -> str:
        head = "The value is batched by vmap: it differs from element to element."
        return f"{head} {self.val.origin_text()}" if isinstance(self.val, Tracer) else head

    def made_at(self) -> Any:
        return self.val.made_at() if isinstance(self.val, Tracer) else None


class BatchTrace(Trace):
    """Applies the batch rule of every operation that touches a batched value."""

    __slots__ = ("parent", "size", "axis", "axis_name", "serial", "within", "divided", "spmd")

    def __init__(self, parent: Trace, size: int, axis: Any = None, within: BatchTrace | None = None,
                 divided: Any = None):
        """axis: the batch's name, a BatchAxis, or None. divided: the mesh and its Explicit axes along which the batch is
        divided, or None."""
        super().__init__()
        self.divided = divided
        self.parent, self.size, self.axis, self.within = parent, size, axis, within
        self.axis_name, self.spmd = batch_name(axis), spmd_axes_of(axis)
        self.serial = next(lanes.serials) if config.debug_nans or config.debug_infs else 0  # with lanes: see core.lanes

    def unpack(self, x: Any) -> tuple[Any, int | None]:
        if type(x) is BatchTracer and (x._trace is self or self._is_within(x._trace)):
            return x.val, x.dim
        return x, None

    def _is_within(self, other: Any) -> bool:
        """Whether this trace continues the batch of another one that still runs: their values have the same batch."""
        outer = self.within
        while outer is not None and outer is not other:
            outer = outer.within
        return outer is not None and outer.valid

    def pack(self, val: Any, dim: int | None) -> Any:
        return val if dim is None else BatchTracer(self, val, dim)

    def argument(self, val: Any, dim: int | None) -> Any:
        """As pack, for an argument of the function over the batch."""
        made = self.pack(val, dim)
        if self.serial:
            lanes.note_argument(made)
        return made

    def process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if placements_in_use:
            return self._process_typed(op, args, params)
        if not self.serial:
            return self._process(op, args, params)
        return self._process_noted(op, args, params)

    def _process_typed(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """As process: users see the errors of the operation that they wrote, and its rule writes what it likes."""
        avals = [aval_of(a) for a in args]
        if explicit.in_types(avals) and not explicit.is_lenient():
            explicit.abstract(op, avals, params)
        with explicit.lenient(), explicit.mapping(self.divided):
            return self._process_noted(op, args, params) if self.serial else self._process(op, args, params)

    def _process_noted(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        """As _process, where invalid values are looked for."""
        with nan_checks.postponed() as outermost:
            out = self._process(op, args, params)
        for x in out if op.multiple else (out,):
            lanes.note(x, ())
            if outermost:
                nan_checks.check_parts(x, op.name)
        return out

    def _process(self, op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
        if isinstance(op.batch, Expand):
            return op.batch.fn(*args, **params)
        pairs = [self.unpack(a) for a in args]
        vals, dims = [v for v, _ in pairs], [d for _, d in pairs]
        if self.spmd != batches.current.spmd:
            with batches.along(self.spmd):
                return self._apply(op, vals, dims, params)
        return self._apply(op, vals, dims, params)

    def _apply(self, op: Op, vals: Sequence[Any], dims: Sequence[int | None], params: dict[str, Any]) -> Any:
        """The operation on operands over the batch, by its rule where one is batched."""
        with set_trace(self.parent):
            if op.collective is not None and self._names(params):
                outs, out_dims = op.collective(self, vals, dims, **params)
            elif all(d is None for d in dims) and not op.every_batch and not self._names_inside(op, params):
                return op.bind(*vals, **params)
            elif op.programs and type(op.batch) is FunctionType:   # without a frame, for calls of calls of calls
                outs, out_dims = op.batch(self.size, vals, dims, axis_name=self.axis, **params)
            else:
                outs, out_dims = apply_batch(op, self.size, vals, dims, params, self.axis)
        if op.multiple:
            return [self.pack(v, d) for v, d in zip(outs, out_dims, strict=True)]
        return self.pack(outs, out_dims)

    def _names(self, params: dict[str, Any]) -> bool:
        """Whether a collective's axes include this trace's."""
        names = params.get("axes", params.get("axis_name", ()))
        return self.axis_name is not None and self.axis_name in (names if isinstance(names, tuple) else (names,))

    def _names_inside(self, op: Op, params: dict[str, Any]) -> bool:
        """Whether a collective in the programs that an operation holds names this trace's axis."""
        return self.axis_name is not None and op.programs and any(
            eqn.primitive.collective is not None and self._names(eqn.params)
            for jaxpr in subjaxprs(params) for eqn in all_eqns(jaxpr))


def apply_batch(op: Op, size: int, vals: Sequence[Any], dims: Sequence[int | None], params: dict[str, Any],
                axis_name: Any = None, rule: Any = None) -> Any:
    """(results, dims) of one operation on batched operands. rule: by default the one in its slot."""
    rule = op.batch if rule is None else rule
    if isinstance(rule, Missing):
        raise NotImplementedError(f"Batching rule for '{op.name}' not implemented: {rule.why}")
    if op.programs:
        return rule(size, vals, dims, axis_name=axis_name, **params)
    return rule(size, vals, dims, **params)


def batch_flat(fun: Callable[..., Sequence[Any]], size: int, args: Sequence[Any], dims: Sequence[int | None],
               axis: Any = None, debug: DebugInfo | None = None,
               within: BatchTrace | None = None) -> tuple[list[Any], list[int | None]]:
    """Results of a function of flat arguments over a batch, and which axis of each is the batch (None: not batched).

    axis: the batch's name, a BatchAxis, or None. within: the trace of the same batch whose values the function may close over.
    """
    divided = divided_batch(args, dims) if placements_in_use else None
    trace = BatchTrace(current_trace(), size, axis, within, divided)
    axis_name = trace.axis_name
    part = () if divided is None else divided[1] if isinstance(divided[1], tuple) else divided[1:]
    if trace.spmd and divided is not None and trace.spmd != part:
        raise ValueError("Only one of spmd_axis_name or arrays sharded on `Explicit` mesh axis type is allowed. Got "
                         f"spmd_axis_name={trace.spmd} and a batch whose type says that it is divided along {part}: leave "
                         "spmd_axis_name out")
    along = trace.spmd or part
    try:
        with (set_trace(trace), with_named_axes([] if axis_name is None else [(axis_name, size)]),
              with_dividing_axes(along)):
            outs = fun(*[trace.argument(a, d) for a, d in zip(args, dims, strict=True)])
    finally:
        trace.valid = False
    pairs = [trace.unpack(o) for o in outs]
    if config.check_tracer_leaks:
        del outs
        leaks.check(trace, debug)
    return [v for v, _ in pairs], [d for _, d in pairs]


def divided_batch(args: Sequence[Any], dims: Sequence[int | None]) -> Any:
    """The mesh and its Explicit axes along which a batch is divided, or None. ValueError where arguments disagree."""
    mapped = [(aval_of(x), d) for x, d in zip(args, dims, strict=True) if d is not None]
    found = [(a.placement.mesh, a.placement.parts[d]) if a.placement is not None else (None, None) for a, d in mapped]
    parts = {p for _, p in found}
    if len(parts) > 1 and not explicit.is_lenient():
        first, second = sorted(parts, key=lambda p: (p is None, str(p)))[:2]
        raise ValueError("Mapped away dimension of inputs passed to vmap should be sharded the same. Got inconsistent axis "
                         "specs: "
                         f"{first} vs {second}")
    return next(((mesh, part) for mesh, part in found if part is not None), None)


def move_to(x: Any, dim: int | None, target: int, size: int) -> Any:
    """x with its batch axis at `target`, broadcast along it when it is not batched."""
    if dim is None:
        return spread(x, target, size)
    return moveaxis(x, dim, target)


def per_lane(x: Any, shape: tuple[int, ...]) -> Any:
    """A value per element of a batch in axis 0, broadcast to the shape of an array over that batch."""
    return x if aval_of(x).shape == shape else broadcast_in_dim_p.bind(x, shape=shape, broadcast_dimensions=(0,))


def _varied(x: Any, axes: tuple[Any, ...]) -> Any:
    """x, whose type says that it varies over axes along which a batch is divided."""
    missing = tuple(a for a in axes if a in checked_axes() and a not in aval_of(x).vma)
    return pvary_p.bind(x, axes=missing) if missing else x


def batch_jaxpr(jaxpr: Jaxpr, size: int, batched: Sequence[bool],
                instantiate: bool | Sequence[bool] = False, axis_name: Any = None) -> tuple[ClosedJaxpr, list[bool]]:
    """The jaxpr over a batch in axis 0 of the batched inputs, and which results are batched (in axis 0).

    `jaxpr` has no constvars. instantiate: results to be broadcast when they are not batched.
    """
    varying = varying_axes_of(axis_name)
    within = checked_axes().intersection(varying)
    force = [instantiate] * len(jaxpr.outvars) if isinstance(instantiate, bool) else list(instantiate)
    batched_out: list[bool] = []

    def fun(*args: Any) -> list[Any]:
        dims = [0 if b else None for b in batched]
        outs, out_dims = batch_flat(functools.partial(eval_jaxpr, jaxpr, ()), size, args, dims, axis_name)
        batched_out[:] = [d is not None or f for d, f in zip(out_dims, force, strict=True)]
        moved = [move_to(o, d, 0, size) if b else o for o, d, b in zip(outs, out_dims, batched_out, strict=True)]
        return [_varied(o, varying) if b else o for o, b in zip(moved, batched_out, strict=True)] if varying else moved

    avals = [_over_batch(v.aval, size, within) if b else v.aval for v, b in zip(jaxpr.invars, batched, strict=True)]
    return trace_to_closed(fun, avals, jaxpr.debug), batched_out


def _over_batch(aval: Any, size: int, within: frozenset[Any]) -> Any:
    """The type of a batch of values in axis 0, divided along the Explicit axes along which the innermost batch is."""
    found = aval.update(shape=(size, *aval.shape), vma=aval.vma | within)
    divided = explicit.mapped()
    return found if divided is None else found.update(placement=explicit.over_batch(aval, *divided))
