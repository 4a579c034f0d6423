"""Calls that the simplifier must not inline: checkpointed functions stay calls, all others are padded in place."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.api.dynamic.bodies import own_sizes, padded_avals, run, staged
from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Op
from numjet.core.trace import set_trace
from numjet.core.walk import eval_closed


@rule("jit")
def _call(trace: PaddingTrace, op: Op, args: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    return eval_closed(jaxpr, *args)


@rule("remat2")
def _checkpoint(trace: PaddingTrace, op: Op, args: Sequence[Any], *, jaxpr: ClosedJaxpr, prevent_cse: Any,
                **params: Any) -> list[Any]:
    """The call of a padded program, so that values are computed again where the user asked for that."""
    own: list[str] = []

    def body(inner: PaddingTrace, *xs: Any) -> list[Any]:
        outs = run(inner, jaxpr, xs)
        own[:] = own_sizes(inner, trace, jaxpr.out_avals)
        with set_trace(inner.parent):
            return [*outs, *[inner.values[n] for n in own], inner.code()]

    made = staged(trace, body, padded_avals(trace, jaxpr.in_avals), jaxpr.jaxpr.debug)
    held = prevent_cse if isinstance(prevent_cse, bool) else (*(True,) * len(made.consts), *prevent_cse)
    with set_trace(trace.parent):
        *found, code = op.bind(*made.consts, *map(trace.unpack, args), jaxpr=made.jaxpr, prevent_cse=held, **params)
    if trace.program.messages:
        trace.codes.append(code)
    results = len(jaxpr.out_avals)
    for name, number in zip(own, found[results:], strict=True):
        trace.values[name] = number
        trace.sizes.clear()
    return [trace.pack(x, a) for x, a in zip(found[:results], jaxpr.out_avals, strict=True)]
