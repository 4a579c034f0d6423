"""The operation `scan`: a loop of known length that carries values, reads slices and stacks results.

The program `jaxpr` maps (*consts, *carry, *slices) to (*carry, *results). The rules keep that order, so a rule derives
a program for one step and puts its inputs and outputs in order again. Which carries are nonzero, unknown or batched
is a fixpoint, as the carry of one step is the next one's input.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.call.jaxpr_transforms import (
    Flags,
    batch_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    reordered,
    with_zeros,
    without_consts_cached,
)
from numjet.control.loops.carries import backwards, fixpoint, forwards
from numjet.control.loops.scan_partial import run_known_scan, scan_partial_eval
from numjet.control.loops.scan_transpose import transposed
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn
from numjet.core.op import Missing, Op, Undefined
from numjet.core.trace import aval_of
from numjet.core.traits import Carries, carried
from numjet.core.walk import eval_closed
from numjet.foundation import lazy_import
from numjet.foundation.util import split_list
from numjet.lax.tangent import instantiate
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.vmap import move_to

loops = lazy_import.Module("numjet.control.simplify.loops")


def _abstract(
    *avals: ShapedArray, jaxpr: ClosedJaxpr, length: int, num_consts: int, num_carry: int, **options: Any
) -> list[ShapedArray]:
    _check_params(num_consts=num_consts, num_carry=num_carry, length=length, **options)
    if len(avals) != len(jaxpr.in_avals):
        raise TypeError(f"scan: the body takes {len(jaxpr.in_avals)} values, got {len(avals)} operands")
    steps = num_consts + num_carry
    for i, (got, want) in enumerate(zip(avals, jaxpr.in_avals, strict=True)):
        shape = want.shape if i < steps else (length, *want.shape)
        if got.shape != shape or got.dtype != want.dtype:
            raise TypeError(f"scan: operand {i} is {got}, the body needs {want.update(shape=shape)}")
    outs = jaxpr.out_avals
    return [*outs[:num_carry], *[a.update(shape=(length, *a.shape)) for a in outs[num_carry:]]]


def _check_params(**params: Any) -> None:
    """TypeError for parameters of wrong types, in a program that was changed by hand."""
    for name, value in params.items():
        if name == "reverse":
            if type(value) is not bool:
                raise TypeError(f"invalid scan param reverse of type {type(value).__name__}, bool required: {value}")
        elif name in ("num_consts", "num_carry", "unroll") and (type(value) is not int or value < 0):
            raise TypeError(f"invalid scan param {name} of type {type(value).__name__}, non-negative int required: {value}")


def _eager(*args: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, num_consts: int, num_carry: int, **_: Any) -> list[Any]:
    consts, carry, xs = split_list(args, [num_consts, num_carry])
    avals = jaxpr.out_avals[num_carry:]
    stacks = [np.empty((length, *a.shape), a.dtype) for a in avals]
    for i in reversed(range(length)) if reverse else range(length):
        outs = eval_closed(jaxpr, *consts, *carry, *[x[i] for x in xs])
        carry = outs[:num_carry]
        for stack, y, a in zip(stacks, outs[num_carry:], avals, strict=True):
            stack[i] = np.asarray(getattr(y, "_value", y), a.dtype)  # keys have no other conversion
    return [*carry, *stacks]


def _jvp(op: Op, primals: Sequence[Any], tangents: Sequence[Any], *, jaxpr: ClosedJaxpr, num_consts: int, num_carry: int,
         **params: Any) -> tuple[list[Any], list[Any]]:
    consts_nz, init_nz, xs_nz = split_list(nonzero_flags(tangents), [num_consts, num_carry])
    ys = len(jaxpr.out_avals) - num_carry

    def step(carry_nz: Flags) -> tuple[Any, Sequence[bool]]:
        made = jvp_program(jaxpr, (*consts_nz, *carry_nz, *xs_nz), (*carry_nz, *(False,) * ys))
        return made, made.flags[:num_carry]

    made, carry_nz = fixpoint(step, init_nz, forwards(jaxpr, num_consts, num_carry, differentiated=True))
    ts = split_list(tangents, [num_consts, num_carry])
    ts_carry = [instantiate(t) for t, nz in zip(ts[1], carry_nz, strict=True) if nz]
    groups = [len(made.consts), num_consts, num_carry, len(xs_nz), sum(consts_nz), sum(carry_nz), sum(xs_nz)]
    h, c, i, x, ct, it, xt = _ranges(groups)
    o, oy, ot, oyt = _ranges([num_carry, ys, sum(carry_nz), sum(made.flags[num_carry:])])
    body = reordered(made.jaxpr, (*h, *c, *ct, *i, *it, *x, *xt), (*o, *ot, *oy, *oyt))
    ps = split_list(primals, [num_consts, num_carry])
    operands = [*made.consts, *ps[0], *only_nonzero(ts[0]), *ps[1], *ts_carry, *ps[2], *only_nonzero(ts[2])]
    outs = op.bind(*operands, **params, jaxpr=body, num_consts=len(h) + len(c) + len(ct), num_carry=len(i) + len(it))
    out_c, out_ct, out_y, out_yt = split_list(outs, [len(i), len(it), ys])
    primal_outs = [*out_c, *out_y]
    return primal_outs, with_zeros(made.flags, [*out_ct, *out_yt], [aval_of(p) for p in primal_outs])


def _ranges(sizes: Sequence[int]) -> list[range]:
    """Consecutive ranges of the given sizes."""
    out, start = [], 0
    for n in sizes:
        out.append(range(start, start + n))
        start += n
    return out


def _batch(op: Op, size: int, args: Sequence[Any], dims: Sequence[int | None], *, jaxpr: ClosedJaxpr, num_consts: int,
           num_carry: int, axis_name: Any = None, **params: Any) -> tuple[list[Any], list[int | None]]:
    consts_b, init_b, xs_b = split_list([d is not None for d in dims], [num_consts, num_carry])
    ys = len(jaxpr.out_avals) - num_carry

    def step(carry_b: Flags) -> tuple[Any, Sequence[bool]]:
        made = batch_program(jaxpr, size, (*consts_b, *carry_b, *xs_b), (*carry_b, *(False,) * ys), axis_name)
        return made, made.flags[:num_carry]

    made, carry_b = fixpoint(step, init_b, forwards(jaxpr, num_consts, num_carry))
    flags = [*consts_b, *carry_b, *xs_b]
    operands = [
        move_to(a, d, 0 if k < num_consts + num_carry else 1, size) if f else a
        for k, (a, d, f) in enumerate(zip(args, dims, flags, strict=True))
    ]
    outs = op.bind(*made.consts, *operands, **params, jaxpr=made.jaxpr, num_consts=len(made.consts) + num_consts,
                   num_carry=num_carry)
    return outs, [(0 if k < num_carry else 1) if f else None for k, f in enumerate(made.flags)]


def _transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    """The transpose rule. A carry that is not linear (a counter) is computed first, by splitting the scan."""
    linear = tuple(isinstance(a, Undefined) for a in args)
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    if all(linear[num_consts : num_consts + num_carry]):
        return transposed(scan_p, cts, args, params)
    _, _, rest = run_known_scan(scan_p, linear, args, params)
    return rest.spread(transposed(scan_p, [cts[i] for i in rest.results], rest.operands, rest.params), len(args))


def _dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    params = eqn.params
    jaxpr, num_consts, num_carry = params["jaxpr"].jaxpr, params["num_consts"], params["num_carry"]
    used_ys = used[num_carry:]

    def step(carry: Flags) -> tuple[Any, Sequence[bool]]:
        thin, used_in = dce_jaxpr(jaxpr, [*carry, *used_ys])
        return (thin, used_in), used_in[num_consts : num_consts + num_carry]

    (thin, used_in), carry = fixpoint(step, used[:num_carry], backwards(params["jaxpr"], num_consts, num_carry))
    # A carry that is only an output of the step still comes in: the loop needs its initial value.
    used_in = [*used_in[:num_consts], *carry, *used_in[num_consts + num_carry :]]
    thin = thin.replace(invars=[v for v, u in zip(jaxpr.invars, used_in, strict=True) if u])
    kept = [*carry, *used_ys]
    return eqn.replace(
        params={**params, "jaxpr": ClosedJaxpr(thin), "num_consts": sum(used_in[:num_consts]), "num_carry": sum(carry)},
        invars=[a for a, u in zip(eqn.invars, used_in, strict=True) if u],
        outvars=[v for v, u in zip(eqn.outvars, kept, strict=True) if u],
        effects=thin.effects,
    )


def _cpu(
    b: Any, *args: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, num_consts: int, num_carry: int, **_: Any
) -> list[Any]:
    consts, init, xs = split_list(args, [num_consts, num_carry])
    return b.scan(jaxpr, consts, init, xs, length, reverse)


def _hlo(b: Any, *args: Any, jaxpr: ClosedJaxpr, length: int, reverse: bool, num_consts: int, num_carry: int, unroll: int = 1,
         **_: Any) -> list[Any]:
    """A while loop over (counter, carry, stacked results) with `unroll` steps per turn; all else is read from outside of its
    regions. The steps that are left over follow the loop. A loop of one turn is written out."""
    consts, init, xs = split_list(args, [num_consts, num_carry])
    stacks = [b.full((length, *a.shape), np.zeros((), a.dtype), a.dtype) for a in jaxpr.out_avals[num_carry:]]
    last = b.constant(length - 1, np.int32)

    def row(x: Any, i: Any) -> Any:
        start = [i, *[b.constant(0, np.int32)] * (x.ndim - 1)]
        part = lambda x: b.op("stablehlo.dynamic_slice", [x, *start], x.aval.update(shape=(1, *x.shape[1:])),
                              attrs={"slice_sizes": (1, *x.shape[1:])})
        return b.reshape(b.each_word(part, x), x.shape[1:])

    def put(stack: Any, y: Any, i: Any) -> Any:
        start = [i, *[b.constant(0, np.int32)] * y.ndim]
        update = lambda stack, y: b.op("stablehlo.dynamic_update_slice", [stack, y, *start], stack.aval)
        return b.each_word(update, stack, b.reshape(y, (1, *y.shape)))

    def step(count: Any, state: Sequence[Any]) -> list[Any]:
        carry, filled = split_list(state, [num_carry])
        i = b.binary("subtract", last, count) if reverse else count
        outs = b.inline(jaxpr, [*consts, *carry, *[row(x, i) for x in xs]], "while/body/closed_call")
        after = [put(stack, y, i) for stack, y in zip(filled, outs[num_carry:], strict=True)]
        return [*outs[:num_carry], *after]

    def body(count: Any, *state: Any) -> list[Any]:
        values: Sequence[Any] = state
        for _ in range(unroll):
            values, count = step(count, values), b.binary("add", count, b.constant(1, np.int32))
        return [count, *values]

    state, done = [*init, *stacks], 0
    if length > unroll:
        done = length // unroll * unroll
        more = lambda count, *_: b.compare("lt", count, b.constant(done, np.int32))
        state = b.while_loop(more, body, [b.constant(0, np.int32), *state], ordered=effects.ordered(jaxpr.effects))[1:]
    for k in range(done, length):
        state = step(b.constant(k, np.int32), state)
    return state


def _carries(eqn: JaxprEqn) -> Carries:
    consts, count = eqn.params["num_consts"], eqn.params["num_carry"]
    return Carries(eqn.params["jaxpr"].jaxpr, consts, consts, count)


def scan_like(name: str, more: tuple[str, ...], transpose: Callable[..., list[Any]],
              partial_eval: Callable[..., list[Any]]) -> Op:
    """A record of scans with its own rules of reverse mode, partial_eval(op, trace, args, params), and more parameters."""
    op: Op = Op(name=name, params=("reverse", "length", "num_consts", "num_carry", "jaxpr", "unroll", *more), multiple=True,
                compiled=True, programs=True, abstract=_abstract, eager=_eager, transpose=transpose,
                jvp=lambda *args, **params: _jvp(op, *args, **params),
                batch=lambda *args, **params: _batch(op, *args, **params),
                partial_eval=lambda *args: partial_eval(op, *args), dce=_dce,
                simplify=lambda eqn, simplify: loops.simplify_scan(eqn, simplify), effects=holds_effects, cpu=_cpu, hlo=_hlo,
                in_place=carried, carries=_carries, take_consts=_take_consts, samples=Missing("holds a program"))
    return op


def _take_consts(args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    consts = params["jaxpr"].consts
    if not consts:
        return args, params
    return [*consts, *args], {**params, "jaxpr": without_consts_cached(params["jaxpr"]),
                              "num_consts": len(consts) + params["num_consts"]}


scan_p = scan_like("scan", (), _transpose, scan_partial_eval)
