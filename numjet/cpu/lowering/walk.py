"""The walk over a jaxpr: each equation's operands come from the environment, and its record's cpu rule lowers it."""
from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.check import check_constant
from numjet.core.emit import LoopBuilder
from numjet.core.ir import Atom, ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Expand, Missing, Op
from numjet.cpu.ir.types import narrow
from numjet.cpu.lowering.arrays.array_updates import ArrayUpdates
from numjet.cpu.lowering.arrays.deferred_arrays import DeferredArrays
from numjet.cpu.lowering.arrays.values import LoweredArray, Registers
from numjet.cpu.lowering.early_stores import EarlyStores, cost_of
from numjet.cpu.lowering.liveness import Frame
from numjet.cpu.lowering.loops.ring_buffers import RingBuffers
from numjet.cpu.lowering.memory_scheduling import minimize_peak_memory
from numjet.cpu.lowering.nan_checks import NanRecorder
from numjet.cpu.lowering.reductions.cumulative import CumulativeReductions
from numjet.foundation import source

_MOST_ELEMENTS = 2 ** 63 - 1


class ArrayStrategy(Protocol):
    """How equations get and update arrays: as whole arrays, or as the elements of one lane of a vector."""

    def own(self, x: LoweredArray) -> LoweredArray: ...
    def empty(self, shape: Sequence[int], dtype: Any) -> LoweredArray: ...
    def store(self, x: LoweredArray, index: Sequence[Any], value: Any) -> None: ...
    def loop(self, shape: Sequence[int], body: Callable[..., None], *, ordered: bool = False) -> None: ...
    def copies(self, shape: Sequence[int]) -> int: ...
    def prefix(self, kind: str, x: LoweredArray, axis: int, reverse: bool = False) -> LoweredArray: ...
    def before_equation(self, frame: Frame, eqn: JaxprEqn, args: Sequence[LoweredArray]) -> None: ...
    def after_equation(self, frame: Frame, eqn: JaxprEqn) -> None: ...


class WholeArrays:
    """The strategy outside of lanes."""

    def __init__(self, updates: ArrayUpdates, cumulative: CumulativeReductions, stores: EarlyStores):
        self.own, self.empty, self.store = updates.own, updates.empty, updates.store
        self.loop, self.copies, self.prefix = updates.loop, updates.copies, cumulative.prefix
        self.before_equation = stores.store_operands

    def after_equation(self, frame: Frame, eqn: JaxprEqn) -> None:
        pass


def _by_numpy(op: Op, params: dict[str, Any]) -> Callable[..., Sequence[np.ndarray]]:
    """An operation as a function of NumPy arrays, by its eager rule: for numbers that machines have no registers for."""
    def call(*values: np.ndarray) -> Sequence[np.ndarray]:
        with np.errstate(all="ignore"):
            found = op.eager(*values, **params)
        return list(found) if op.multiple else [found]
    return call


class JaxprWalk:
    """Lowers the equations of programs. arrays: the strategy in force. nans: what checks results for invalid values.

    Rules are called with the whole builder, as core/emit.py says. It is held by a weak reference, so that lowering leaves no
    cycle behind.
    """

    def __init__(self, builder: LoopBuilder, deferred: DeferredArrays, stores: EarlyStores, rings: RingBuffers,
                 arrays: ArrayStrategy, notes: bool):
        self._builder = weakref.ref(builder)
        self.deferred, self.stores, self.rings, self.arrays, self.notes = deferred, stores, rings, arrays, notes
        self.ir, self.liveness, self.reads = deferred.ir, deferred.liveness, deferred.reads
        self.nans: NanRecorder | None = None

    def run(self, closed: ClosedJaxpr, args: Sequence[LoweredArray], barrier: bool = False) -> list[LoweredArray]:
        """Lowers the equations of a program; returns its results, perhaps deferred. barrier: it is the body of a loop or a
        branch, so what it stores says nothing about the arrays outside."""
        jaxpr = minimize_peak_memory(closed.jaxpr)
        needed = needed_eqns(jaxpr)
        frame = Frame(jaxpr, needed, barrier)
        for v, c in zip(jaxpr.constvars, closed.consts, strict=True):
            check_constant(c, v.aval)
            frame.bind(v, self.deferred.embedded(c))
        for v, a in zip(jaxpr.invars, args, strict=True):
            x = self.reads.alias(a) if barrier else a
            frame.bind(v, x)
            if self.nans is not None and x is not a:
                self.nans.set_origin(x, self.nans.origin(a))
        self.liveness.frames.append(frame)
        try:
            for k, (eqn, keep) in enumerate(zip(jaxpr.eqns, needed, strict=True)):
                if keep:
                    frame.position = k
                    self._equation(frame, eqn)
            return [self._operand(frame, a) for a in jaxpr.outvars]
        finally:
            self.liveness.frames.pop()

    def _operand(self, frame: Frame, atom: Atom) -> LoweredArray:
        if isinstance(atom, Literal):
            value = np.asarray(atom.val).astype(atom.aval.dtype)[()]
            return LoweredArray(atom.aval, Registers([self.reads.scalars.const(value, atom.aval.dtype)], self.ir.function.body))
        return frame.environment[atom]

    def _equation(self, frame: Frame, eqn: JaxprEqn) -> None:
        op, ir = eqn.primitive, self.ir
        for v in eqn.outvars:
            if v.aval.size > _MOST_ELEMENTS:
                raise OverflowError(f"{op.name} makes an array of shape {v.aval.shape}: more elements than can be counted")
        args = [self._operand(frame, a) for a in eqn.invars]
        frame.operands, frame.eqn = args, eqn
        if self.notes and eqn.source is not None:
            ir.comment(op.name, *location(eqn.source))
        if op.elementwise and self._stays_in_registers(args, eqn.outvars[0].aval):
            self._in_registers(frame, eqn, args)
            return
        if ir.recorder is not None:
            ir.recorder.begin(eqn)
        self.arrays.before_equation(frame, eqn, args)
        opened = list(ir.open_registers)
        outs = self._apply(op, args, eqn.params, [v.aval for v in eqn.outvars])
        ir.finish_registers(opened)
        frame.operands = ()
        before = set(map(id, args))
        for v, out in zip(eqn.outvars, outs, strict=True):
            if out.shape != v.aval.shape or out.dtype != v.aval.dtype:
                raise AssertionError(f"cpu rule of {op.name} gave {out.aval}, expected {v.aval}")
            frame.bind(v, out)
            if out.block is None and id(out) not in before:
                out.block = ir.block
        if ir.recorder is not None:
            ir.recorder.results(eqn, outs)
        self.stores.store_results(outs)
        if self.nans is not None:
            self.nans.equation(eqn, args, outs)
        if ir.recorder is not None:
            ir.recorder.end()
        self.stores.release_operands(args, outs, [frame.drop(v) for v in frame.dead_after(eqn)])
        self.arrays.after_equation(frame, eqn)

    def _stays_in_registers(self, args: Sequence[LoweredArray], out: ShapedArray) -> bool:
        """Whether an elementwise equation is a few scalar operations on values in registers, and nobody watches it. Then no
        rule of storing applies: programs unrolled to thousands of such equations go this way."""
        ir = self.ir
        return (ir.recorder is None and ir.checker is None and self.nans is None and out.size <= ir.small
                and ir.allocation.may_store(out.size) and not narrow(out.dtype)
                and all(type(a.content) is Registers and not narrow(a.aval.dtype) for a in args))

    def _in_registers(self, frame: Frame, eqn: JaxprEqn, args: Sequence[LoweredArray]) -> None:
        op, builder, params = eqn.primitive, self._builder(), eqn.params
        rule = self._rule(op)
        out = self.deferred.in_registers(lambda *xs: rule(builder, *xs, **params), args, eqn.outvars[0].aval)
        frame.operands = ()
        frame.bind(eqn.outvars[0], out)
        for v in frame.dead_after(eqn):
            frame.drop(v)
        self.arrays.after_equation(frame, eqn)

    def _rule(self, op: Op) -> Callable[..., Any]:
        """The cpu rule of an operation."""
        if isinstance(op.cpu, Missing):
            raise NotImplementedError(f"'{op.name}' has no native lowering on the CPU backend yet: {op.cpu.why}")
        if isinstance(op.cpu, Expand):
            raise NotImplementedError(f"'{op.name}': Expand must be resolved before lowering")
        return op.cpu

    def _apply(self, op: Op, args: Sequence[LoweredArray], params: dict[str, Any],
               out_avals: Sequence[ShapedArray]) -> list[LoweredArray]:
        """Calls the cpu rule of an operation, unless a ring buffer has its result already."""
        builder = self._builder()
        if op.shift is not None:
            shifted = self.rings.shifted(args, out_avals[0])
            if shifted is not None:
                return [shifted]
        rule = self._rule(op)
        dtypes = [*[a.dtype for a in args], *[a.dtype for a in out_avals]]
        if builder is not None and not op.programs and not isinstance(op.eager, Missing) and any(map(narrow, dtypes)):
            return builder.callback(_by_numpy(op, params), args, out_avals)
        if op.elementwise:
            return [self.deferred.elementwise(lambda *xs: rule(builder, *xs, **params), *args, dtype=out_avals[0].dtype,
                                              cost=cost_of(op))]
        out = rule(builder, *args, **params)
        outs = list(out) if op.multiple else [out]
        for o in outs:
            if o.lazy and not o.parents:
                self.deferred.set_reads(o, args)
        return outs


def needed_eqns(jaxpr: Jaxpr) -> list[bool]:
    """Which equations the results (or effects) need."""
    live = {v for v in jaxpr.outvars if isinstance(v, Var)}
    flags = []
    for eqn in reversed(jaxpr.eqns):
        keep = bool(eqn.effects) or any(v in live for v in eqn.outvars)
        flags.append(keep)
        if keep:
            live.update(a for a in eqn.invars if isinstance(a, Var))
    return flags[::-1]


def location(frame: Any) -> tuple[str | None, int]:
    """File and line of a source frame."""
    shown = frame.frame if isinstance(frame, source.Source) else frame
    return (shown.file, shown.line) if shown is not None else (None, 0)
