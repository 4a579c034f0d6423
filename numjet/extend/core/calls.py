"""Primitives that call a function of flat arguments: their equations hold its program."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.control.call.call import call_transpose
from numjet.control.call.jaxpr_transforms import without_consts
from numjet.core.ir import ClosedJaxpr, Jaxpr
from numjet.core.primitive import Primitive
from numjet.core.stage import StageTrace, trace_to_closed
from numjet.core.trace import Trace, aval_of, current_trace
from numjet.core.traits import CALLS
from numjet.core.walk import eval_closed
from numjet.foundation.linear_util import WrappedFun, wrap_init


def call_impl(f: WrappedFun, *args: Any, **params: Any) -> Any:
    """The `impl` of call primitives: calls the function."""
    del params
    return f.call_wrapped(*args)


class CallPrimitive(Primitive):
    """A primitive whose first argument is a function of flat arguments (linear_util.WrappedFun) that gives a list.

    Functions that are staged get an equation with the function's program in the parameter `call_jaxpr`; all other
    transformations see the function's operations.

    >>> import numjet as nj
    >>> mark = CallPrimitive("mark")
    >>> fun = wrap_init(lambda x: [x + 1])
    >>> nj.make_jaxpr(lambda x: mark.bind(fun, x))(1.0).eqns[0].primitive
    mark
    """

    multiple = True
    call_primitive = True
    traits = CALLS

    def __init__(self, name: str):
        super().__init__(name)
        self.def_impl(call_impl)
        self.effects = True
        self.inline = lambda eqn: (_closed(eqn.params["call_jaxpr"]), eqn.invars)

    def bind(self, *args: Any, subfuns: Sequence[Any] = (), **params: Any) -> Any:
        """Calls the function, the first argument or the one of `subfuns`, on the operands; or a program `call_jaxpr`."""
        if "call_jaxpr" in params and not subfuns:
            params = self.get_bind_params(params)
            subfuns = params.pop("subfuns")
        (fun, *operands) = (*subfuns, *args)
        trace = current_trace()
        if type(trace) is StageTrace:
            closed = trace_to_closed(lambda *xs: list(fun.call_wrapped(*xs)), [aval_of(a) for a in operands])
            return trace.process(self, [*closed.consts, *operands], {**params, "call_jaxpr": without_consts(closed)})
        handle = getattr(type(trace), "process_call", None)
        if handle is not None and handle is not Trace.process_call:
            return handle(trace, self, fun, operands, params)
        return self.impl(fun, *operands, **params)

    def get_bind_params(self, params: dict[str, Any]) -> dict[str, Any]:
        """The parameters with `subfuns`, the function of the program that an equation holds, in place of the program."""
        rest = dict(params)
        closed = _closed(rest.pop("call_jaxpr"))
        return {**rest, "subfuns": (wrap_init(lambda *xs: eval_closed(closed, *xs)),)}

    def abstract(self, *avals: Any, call_jaxpr: Any, **params: Any) -> Any:
        return _closed(call_jaxpr).out_avals

    def effects_of(self, avals: Sequence[Any], params: dict[str, Any]) -> frozenset[Any]:
        """The effects of the program."""
        return _closed(params["call_jaxpr"]).effects

    def transpose(self, cts: Sequence[Any], *args: Any, call_jaxpr: Any, **params: Any) -> list[Any]:
        plain = {"name": self.name, "inline": False, "keep_unused": False}
        return call_transpose(None, cts, args, _closed(call_jaxpr), plain)

    def cpu(self, b: Any, *args: Any, call_jaxpr: Any, **params: Any) -> Any:
        return b.inline(_closed(call_jaxpr), args)

    hlo = cpu


def _closed(program: Any) -> ClosedJaxpr:
    return ClosedJaxpr(program) if isinstance(program, Jaxpr) else program


call_p, closed_call_p = CallPrimitive("call"), CallPrimitive("core_closed_call")
