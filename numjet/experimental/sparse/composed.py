"""Primitives that are composed of other operations: one equation in jaxprs, the function's operations everywhere else.

Derivatives, batches and compiled code are those of the function, so each primitive is defined by what it computes.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.jit import jit
from numjet.control.call.call import call_transpose
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn
from numjet.core.op import Expand
from numjet.core.primitive import Primitive
from numjet.core.stage import DebugInfo, hoist_consts, trace_to_jaxpr
from numjet.core.trace import aval_of
from numjet.foundation.memo import memoized


class ComposedPrimitive(Primitive):
    """A primitive that is the function `fun(*arrays, **params)`; params are hashable."""

    def __init__(self, name: str, fun: Callable[..., Any], multiple: bool = False):
        super().__init__(name)
        self.fun, self.multiple = fun, multiple
        self.jvp = self.batch = Expand(fun)
        self.transpose = self._transpose
        self.inline = self._inline
        self.__doc__ = f"Primitive: {fun.__doc__}"
        self._compiled: dict[tuple[str, ...], Callable[..., Any]] = {}

    def impl(self, *args: Any, **params: Any) -> Any:
        """The function's result, compiled."""
        names = tuple(params)
        if names not in self._compiled:
            self._compiled[names] = jit(self.fun, static_argnames=names)
        return self._compiled[names](*args, **params)

    def abstract(self, *avals: Any, **params: Any) -> Any:
        """The types of the results."""
        outs = self._program(avals, params)[0].out_avals
        return outs if self.multiple else outs[0]

    def effects_of(self, avals: Sequence[Any], params: dict[str, Any]) -> frozenset[Any]:
        """None: arrays are computed from arrays."""
        return frozenset()

    def cpu(self, b: Any, *args: Any, **params: Any) -> Any:
        """The function's operations, written out."""
        outs = b.inline(self._written_out([a.aval for a in args], params), args)
        return outs if self.multiple else outs[0]

    hlo = cpu

    def _inline(self, eqn: JaxprEqn) -> tuple[ClosedJaxpr, Sequence[Any]]:
        return self._written_out([a.aval for a in eqn.invars], eqn.params), eqn.invars

    def _written_out(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> ClosedJaxpr:
        """The function's program, closed over its constants."""
        program, consts = self._program(avals, params)
        variables = program.jaxpr.invars
        return ClosedJaxpr(program.jaxpr.replace(constvars=variables[:len(consts)], invars=variables[len(consts):]), consts)

    def _transpose(self, cts: Any, *args: Any, **params: Any) -> list[Any]:
        jaxpr, consts = self._program([a.aval if hasattr(a, "aval") else aval_of(a) for a in args], params)
        call = {"name": self.name, "inline": False, "keep_unused": False}
        found = call_transpose(None, cts if self.multiple else [cts], [*consts, *args], jaxpr, call)
        return found[len(consts):]

    def _program(self, avals: Sequence[ShapedArray], params: dict[str, Any]) -> tuple[ClosedJaxpr, Sequence[Any]]:
        """The function's program, and the constants that are its first operands."""
        return _program(self.name, self.fun, self.multiple, tuple(avals), tuple(params.items()))


@memoized("experimental.sparse.composed.program", 1024)
def _program(name: str, fun: Callable[..., Any], multiple: bool, avals: tuple[ShapedArray, ...],
             params: tuple[tuple[str, Any], ...]) -> tuple[ClosedJaxpr, Sequence[Any]]:
    def flat(*args: Any) -> list[Any]:
        out = fun(*args, **dict(params))
        return list(out) if multiple else [out]

    jaxpr, consts = trace_to_jaxpr(flat, avals, DebugInfo(name, name))
    return ClosedJaxpr(hoist_consts(jaxpr)), consts


def composed(name: str, multiple: bool = False) -> Callable[[Callable[..., Any]], ComposedPrimitive]:
    """Decorator: the primitive of that name which is the function."""
    return lambda fun: ComposedPrimitive(name, fun, multiple)
