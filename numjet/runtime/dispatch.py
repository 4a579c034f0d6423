"""Running programs: jaxpr -> executable, cached, and the call."""
from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.check import check_jaxpr
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.op import Op
from numjet.core.trace import Tracer, aval_of, escaped
from numjet.foundation import events
from numjet.foundation.config import config
from numjet.runtime import backends
from numjet.runtime.device import CPU, Device

_CACHE_SIZE = 4096
_operations: OrderedDict[Any, tuple[Executable, Any]] = OrderedDict()


class Executable:
    """A compiled program: takes Arrays for all inputs of its jaxpr, returns Arrays."""

    __slots__ = ("program", "native", "in_avals", "out_avals", "__weakref__")

    def __init__(self, program: Any, in_avals: Sequence[ShapedArray], out_avals: Sequence[ShapedArray],
                 device: Device, name: str):
        self.program, self.in_avals, self.out_avals = program, list(in_avals), list(out_avals)
        self.native = _native.Executable(program.address, tuple(in_avals), tuple(out_avals), program.scratch_bytes,
                                         tuple(program.aliases), program.cost_ns, program.on_error, program, device, name)

    def __call__(self, args: Sequence[Any], donated: Sequence[bool] | None = None) -> list[Any]:
        return self.native(list(args), donated)


def compile_closed(closed: ClosedJaxpr, name: str = "main", donated: Sequence[bool] = (),
                   device: Device = CPU) -> Executable:
    """Compiles a closed jaxpr for a device; constants are embedded."""
    if config.enable_checks:
        check_jaxpr(closed)
    events.count("compile")
    with events.span("compile", name=name):
        program = backends.machine(device.platform).compile_program(closed, name, tuple(donated))
    return Executable(program, closed.in_avals, closed.out_avals, device, name)


def as_array(x: Any, aval: ShapedArray | None = None, device: Device = CPU) -> Any:
    """An Array of anything that aval_of accepts; NumPy memory is copied."""
    if type(x) is _native.Array:
        return x
    if isinstance(x, Tracer):
        raise escaped(x)
    if hasattr(x, "__jax_array__"):
        return as_array(x.__jax_array__(), aval, device)
    aval = aval_of(x) if aval is None else aval
    value = np.array(x.val if isinstance(x, Literal) else x, dtype=aval.dtype, order="C", copy=True)
    return _native.from_numpy(value.reshape(aval.shape), aval, device)


def operation(op: Op, avals: Sequence[ShapedArray], params: dict[str, Any]) -> Executable:
    """The program of an operation, compiled once for its avals and parameters."""
    key = (op, config.token, tuple(avals), tuple((k, _key(v)) for k, v in sorted(params.items())))
    found = _operations.get(key)
    if found is None:
        found = _operations[key] = (compile_closed(one_equation(op, avals, params), op.name), params)
        if len(_operations) > _CACHE_SIZE:
            _operations.popitem(last=False)
    return found[0]


def run_operation(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Compiles an operation (once for its avals and parameters) and runs it."""
    avals = [aval_of(a) for a in args]
    out = operation(op, avals, params)([as_array(a, aval) for a, aval in zip(args, avals, strict=True)])
    return out if op.multiple else out[0]


def clear_operations() -> None:
    """Forgets the compiled programs of single operations."""
    _operations.clear()


def _key(value: Any) -> Any:
    """Programs and functions by identity (the cache keeps them alive), the rest by value where possible."""
    if isinstance(value, (tuple, list)):
        return tuple(_key(v) for v in value)
    if isinstance(value, (Jaxpr, ClosedJaxpr)):
        return id(value)
    try:
        hash(value)
    except TypeError:
        return id(value)
    return value


def one_equation(op: Op, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
    """The program of a single operation."""
    out = op.abstract(*avals, **params)
    outs = out if op.multiple else [out]
    invars, outvars = [Var(a) for a in avals], [Var(a) for a in outs]
    effects = op.effects(**params) if op.effects is not None else frozenset()
    return ClosedJaxpr(Jaxpr([], invars, outvars, [JaxprEqn(op, invars, outvars, params, None, effects)]))
