"""Loops and branches: their bodies are padded programs.

A loop over an axis of computed size has as many iterations as the bound, and skips those beyond the size. A size that a body
computes is another one in each iteration; arrays of such a size, which the reverse mode keeps for later, are stacked with their
padding and with their sizes.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.api.dynamic.arrays import below, steps
from numjet.api.dynamic.bodies import Staged, own_sizes, padded_avals, run, staged
from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.control.branches.cond_op import cond_p, with_common_consts
from numjet.control.loops.while_op import while_p
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Op
from numjet.core.trace import aval_of, set_trace
from numjet.foundation.dimension import Dimension, variables_in
from numjet.foundation.util import split_list
from numjet.lax.elementwise.compare import eq_p, select_n_p
from numjet.lax.elementwise.convert import convert_element_type
from numjet.lax.reduction.reduce import reduce_max_p
from numjet.lax.tangent import zeros_like_aval

INT32 = np.dtype(np.int32)
_CODE = ShapedArray((), INT32)


def _note(trace: PaddingTrace, code: Any) -> None:
    """Adds the code of a body's checks to those of the program around it."""
    trace.codes.append(code)


# ------------------------------------------------------------------------------------------------ scan

@rule("scan")
def _scan(trace: PaddingTrace, op: Op, args: Sequence[Any], *, jaxpr: ClosedJaxpr, length: Any, num_consts: int, num_carry: int,
          **params: Any) -> list[Any]:
    avals = jaxpr.in_avals
    fixed = num_consts + num_carry
    bound = trace.shape((length,))[0]
    ragged = sorted(n for n in set().union(*[variables_in(a.shape) for a in avals[fixed:]])
                    if n in trace.values and aval_of(trace.values[n]).shape)
    sliced = [trace.values[n] for n in ragged]
    size_avals = [ShapedArray(aval_of(x).shape[1:], INT32) for x in sliced]
    own: list[str] = []

    def body(inner: PaddingTrace, *xs: Any) -> list[Any]:
        operands, numbers, index = split_list(xs, [len(avals), len(ragged)])
        inner.values.update(zip(ragged, numbers, strict=True))
        if not index:
            return _iteration(inner, operands)
        held = below(index[0], inner.size(length))
        return _skipped(inner, held, operands, avals[num_consts:fixed], num_consts,
                        lambda innermost, *ys: _iteration(innermost, ys, inner))

    def _iteration(inner: PaddingTrace, operands: Sequence[Any], outer: PaddingTrace = trace) -> list[Any]:
        outs = run(inner, jaxpr, operands)
        own[:] = own_sizes(inner, outer, jaxpr.out_avals[num_carry:])
        with set_trace(inner.parent):
            return [*outs, *[inner.values[n] for n in own], inner.code()]

    counter = [_CODE] if trace.pads and isinstance(length, Dimension) else []
    made = staged(trace, body, [*padded_avals(trace, avals), *size_avals, *counter], jaxpr.jaxpr.debug)
    with set_trace(trace.parent):
        numbers = [steps(bound)] if counter else []
        outs = op.bind(*made.consts, *map(trace.unpack, args), *sliced, *numbers, jaxpr=made.jaxpr, length=bound,
                       num_consts=len(made.consts) + num_consts, num_carry=num_carry, **params)
        *found, codes = outs
        if bound and trace.program.messages:
            _note(trace, reduce_max_p.bind(codes, axes=(0,)))
    results = len(jaxpr.out_avals)
    trace.values.update(zip(own, found[results:], strict=True))
    wanted = [*jaxpr.out_avals[:num_carry], *[a.update(shape=(length, *a.shape)) for a in jaxpr.out_avals[num_carry:]]]
    return [trace.pack(x, a) for x, a in zip(found[:results], wanted, strict=True)]


def _skipped(trace: PaddingTrace, held: Any, operands: Sequence[Any], carries: Sequence[ShapedArray], first: int,
             iteration: Any) -> list[Any]:
    """The results of an iteration where `held`, else the carry as it is and zeros."""
    taken = staged(trace, iteration, [aval_of(x) for x in operands], None)
    outs = taken.jaxpr.out_avals

    def skip(inner: PaddingTrace, *xs: Any) -> list[Any]:
        with set_trace(inner.parent):
            return [*xs[first : first + len(carries)], *[zeros_like_aval(a) for a in outs[len(carries):]]]

    return _branch(trace, held, [staged(trace, skip, [aval_of(x) for x in operands], None), taken], operands)


def _branch(trace: PaddingTrace, index: Any, made: Sequence[Staged], operands: Sequence[Any]) -> list[Any]:
    branches, consts = with_common_consts([(m.jaxpr, m.consts) for m in made])
    with set_trace(trace.parent):
        return cond_p.bind(convert_element_type(index, INT32), *consts, *operands, branches=branches)


# ------------------------------------------------------------------------------------------------ cond

@rule("cond")
def _cond(trace: PaddingTrace, op: Op, args: Sequence[Any], *, branches: Sequence[ClosedJaxpr]) -> list[Any]:
    index, *operands = map(trace.unpack, args)
    own = sorted(set().union(*[_sizes_of(trace, b) for b in branches]))
    made = [staged(trace, _branch_body(trace, b, own), [aval_of(x) for x in operands], b.jaxpr.debug) for b in branches]
    outs = _branch(trace, index, made, operands)
    *found, code = outs
    if trace.program.messages:
        _note(trace, code)
    results = len(branches[0].out_avals)
    for name, number in zip(own, found[results:], strict=True):
        trace.values[name] = number
        trace.sizes.clear()
    return [trace.pack(x, a) for x, a in zip(found[:results], branches[0].out_avals, strict=True)]


def _branch_body(trace: PaddingTrace, branch: ClosedJaxpr, own: Sequence[str]) -> Any:
    def body(inner: PaddingTrace, *xs: Any) -> list[Any]:
        outs = run(inner, branch, xs)
        with set_trace(inner.parent):
            numbers = [inner.values.get(n, np.int32(0)) for n in own]
            return [*outs, *numbers, inner.code()]
    return body


def _sizes_of(trace: PaddingTrace, branch: ClosedJaxpr) -> list[str]:
    """The variables in shapes of a branch's results that it computes itself, found by padding it once for nothing."""
    if not any(variables_in(a.shape) - set(trace.values) for a in branch.out_avals):
        return []
    found: list[str] = []

    def body(inner: PaddingTrace, *xs: Any) -> list[Any]:
        run(inner, branch, xs)
        found[:] = own_sizes(inner, trace, branch.out_avals)
        return []

    staged(trace, body, padded_avals(trace, branch.in_avals), None)
    return found


# ------------------------------------------------------------------------------------------------ while

@rule("while")
def _while(trace: PaddingTrace, op: Op, args: Sequence[Any], *, cond_jaxpr: ClosedJaxpr, cond_nconsts: int,
           body_jaxpr: ClosedJaxpr, body_nconsts: int) -> list[Any]:
    """The condition is computed in front of the loop and at the end of its body, so that its checks are seen."""
    cond_consts, body_consts, init = split_list([trace.unpack(a) for a in args], [cond_nconsts, body_nconsts])
    carried = body_jaxpr.in_avals[body_nconsts:]
    none = len(init)

    def condition(inner: PaddingTrace, consts: Sequence[Any], carry: Sequence[Any]) -> Any:
        return run(inner, cond_jaxpr, [*consts, *carry])[0]

    def body(inner: PaddingTrace, *xs: Any) -> list[Any]:
        own_cond, own_body, carry, (_, code) = split_list(xs, [cond_nconsts, body_nconsts, none])
        outs = run(inner, body_jaxpr, [*own_body, *carry])
        again = condition(inner, own_cond, outs)
        with set_trace(inner.parent):
            first = select_n_p.bind(eq_p.bind(code, np.int32(0)), code, inner.code())
            return [*outs, again, first]

    def go_on(inner: PaddingTrace, *xs: Any) -> list[Any]:
        return [xs[-2]]

    with set_trace(trace):
        start = condition(trace, cond_consts, init)
    inputs = [*cond_jaxpr.in_avals[:cond_nconsts], *body_jaxpr.in_avals[:body_nconsts], *carried]
    held = aval_of(start).update(weak_type=False)
    made = staged(trace, body, [*padded_avals(trace, inputs), held, _CODE], body_jaxpr.jaxpr.debug)
    test = staged(trace, go_on, [*padded_avals(trace, carried), held, _CODE], None)
    with set_trace(trace.parent):
        outs = while_p.bind(*made.consts, *cond_consts, *body_consts, *init, start, np.int32(0), cond_jaxpr=test.jaxpr,
                            cond_nconsts=0, body_jaxpr=made.jaxpr,
                            body_nconsts=len(made.consts) + cond_nconsts + body_nconsts)
    *found, _, code = outs
    if trace.program.messages:
        _note(trace, code)
    return [trace.pack(x, a) for x, a in zip(found, body_jaxpr.out_avals, strict=True)]
