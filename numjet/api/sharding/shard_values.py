"""Values in functions of shards: what Python gets to know of them where `shard_map` runs outside of `jit`.

The function is traced as a whole. Where Python asks for a value, to branch on it or to print it, the operations that it depends
on and that have not run yet run on all devices; what they give stays there, for later questions.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import DropVar, Jaxpr, JaxprEqn, Var
from numjet.core.named_axes import named_axes, without_named_axes
from numjet.core.sharding import explicit
from numjet.core.sharding.mesh import Mesh, current_mesh, mesh_in_use, using
from numjet.core.sharding.partition_spec import PartitionSpec
from numjet.core.stage import StageTrace
from numjet.core.trace import EVAL, current_trace, set_trace
from numjet.core.trace_state import to_concrete_value, unsafe_am_i_under_a_jit_DO_NOT_USE
from numjet.core.walk import eval_jaxpr
from numjet.lax.shape.rearrange import reshaped

Specs = Sequence[PartitionSpec]
HINT = ("Devices may have different values of it. Make it the same on all, by lax.psum or lax.pmax, with check_vma=True, or "
        "choose by lax.cond or jnp.where.")
Run = Callable[[Callable[..., list[Any]], Sequence[Any], Specs, Specs], list[Any]]


def are_evaluated(operands: Sequence[Any]) -> bool:
    """Whether a function of shards runs now, on operands whose values are known, and not as a part of a program."""
    return (not unsafe_am_i_under_a_jit_DO_NOT_USE() and not named_axes()
            and all(to_concrete_value(x) is not None for x in operands))


class ShardValues:
    """The values that shards have while their function is traced, computed when Python asks for them.

    Python gets a value that is the same on all devices, as its type says. run(function of parts, operands, in_specs, out_specs)
    runs a function on the shards.
    """

    def __init__(self, mesh: Mesh, axes: frozenset[Any], check_vma: bool, run: Run):
        self._mesh, self._axes, self._check, self._run = mesh, axes, check_vma, run
        self._around = current_mesh()
        self._operands: dict[Var, tuple[Any, PartitionSpec]] = {}
        self._made: dict[Var, Any] = {}  # side by side along a new first axis, where devices differ

    def known_in(self, fun: Callable[..., Any], operands: Sequence[Any], specs: Specs) -> Callable[..., Any]:
        """The function, which can ask for values while it is traced."""
        def asking(*args: Any) -> Any:
            trace = current_trace()
            assert isinstance(trace, StageTrace)
            self._operands.update(zip(trace.invars, zip(map(to_concrete_value, operands), specs, strict=True), strict=True))
            trace.shards = self
            try:
                return fun(*args)
            finally:
                trace.shards = None
        asking.__name__ = fun.__name__
        return asking

    def value(self, trace: StageTrace, var: Var) -> np.ndarray | None:
        """The value of a variable that is the same on all devices; None for others, and for what cannot be computed now."""
        if self._mesh.size > 1 and (not self._check or self._differs(var.aval)):
            return None
        parts = self._parts(trace, var)
        return None if parts is None else np.asarray(parts)[0]

    def text(self, trace: StageTrace, var: Var) -> str | None:
        """Each device's value, as it prints. None where it cannot be computed now, or where devices have parts of it only."""
        parts = self._parts(trace, var) if self._axes == frozenset(self._mesh.axis_names) else None
        if parts is None:
            return None
        names = " ".join(f"{n}," for n in self._mesh.axis_names)
        with self._outside(), mesh_in_use(None):  # the parts are arrays of one device each
            return "".join(f"On {device.platform}:{device.id} at mesh coordinates ({names}) = {place}:\n{part[0]}\n\n"
                           for device, place, part in self._of_each_device(parts))

    def _of_each_device(self, parts: Any) -> Iterator[tuple[Any, tuple[int, ...], Any]]:
        """(device, coordinates, part) for the devices of this process."""
        one = self._mesh.size == 1
        shards = {} if one else {shard.device: shard.data for shard in parts.addressable_shards}
        for place, device in np.ndenumerate(self._mesh.devices):
            if one or device in shards:
                yield device, place, parts if one else shards[device]

    @contextmanager
    def _outside(self) -> Iterator[None]:
        """A block outside of the function, where operations are evaluated."""
        with set_trace(EVAL), using(self._around), without_named_axes():
            yield

    def _differs(self, aval: ShapedArray) -> tuple[Any, ...]:
        """The axes along which devices may have different values."""
        over = self._axes & aval.vma if self._check else self._axes
        return tuple(a for a in self._mesh.axis_names if a in over)

    def _parts(self, trace: StageTrace, var: Var) -> Any:
        """The values that the devices have, side by side. None if they depend on an effect or on what is not known."""
        if var not in self._made:
            eqns = self._needed(trace, var)
            if eqns is None:
                return None
            self._make(var, eqns)
        return self._made[var]

    def _needed(self, trace: StageTrace, var: Var) -> list[JaxprEqn] | None:
        """The equations that have to run for a variable, in order; None if they cannot."""
        needed: dict[int, JaxprEqn] = {}
        stack: list[tuple[Any, bool]] = [(var, False)]
        while stack:
            v, ready = stack.pop()
            if not isinstance(v, Var) or v in self._made or v in self._operands:
                continue
            eqn = trace.producer(v)
            if eqn is None:
                value = to_concrete_value(trace.constant(v))
                if value is None:
                    return None
                self._operands[v] = value, PartitionSpec()
            elif ready:
                needed[id(eqn)] = eqn
            elif eqn.effects or any(explicit.has_sums(o.aval) for o in eqn.outvars):
                return None
            elif id(eqn) not in needed:
                stack += [(v, True), *[(a, False) for a in eqn.invars]]
        return list(needed.values())

    def _make(self, var: Var, eqns: list[JaxprEqn]) -> None:
        """Runs equations on all devices."""
        outs = [v for e in eqns for v in e.outvars if not isinstance(v, DropVar)] or [var]
        made = set(outs) if eqns else set()
        ins = list(dict.fromkeys(a for e in eqns for a in e.invars if isinstance(a, Var) and a not in made)) or \
            ([] if eqns else [var])
        jaxpr = Jaxpr([], ins, outs, eqns)
        grown = [v in self._made for v in ins]

        def parts(*given: Any) -> list[Any]:
            own = [reshaped(x, v.aval.shape) if g else x for x, v, g in zip(given, ins, grown, strict=True)]
            return [reshaped(x, (1, *v.aval.shape)) for x, v in zip(eval_jaxpr(jaxpr, [], *own), outs, strict=True)]
        given = [(self._made[v], self._side_by_side(v)) if g else self._operands[v] for v, g in zip(ins, grown, strict=True)]
        with self._outside():
            found = self._run(parts, [x for x, _ in given], [s for _, s in given], list(map(self._side_by_side, outs)))
        self._made.update(zip(outs, found, strict=True))

    def _side_by_side(self, var: Var) -> PartitionSpec:
        axes = self._differs(var.aval)
        return PartitionSpec(axes) if axes else PartitionSpec()
