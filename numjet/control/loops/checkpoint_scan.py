"""`checkpoint_scan`: a scan whose reverse mode stores a given number of carries and computes the others again.

Partial evaluation keeps the inputs alone, and the transpose runs the sweep of `reverse` from them: the schedule of A. Griewank
and A. Walther, "Algorithm 799: revolve" (2000).
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from itertools import compress
from typing import Any

from numjet.control.call.jaxpr_transforms import (
    Derived,
    Flags,
    Split,
    cached_by_program,
    nonzero_flags,
    transpose_program,
    with_zeros,
)
from numjet.control.loops.carries import backwards, fixpoint
from numjet.control.loops.reverse import KnownSteps, check_repeatable, linear_only, put, reverse_steps, row, stepping_back
from numjet.control.loops.scan import scan_by
from numjet.control.loops.scan_op import scan_like
from numjet.control.loops.scan_partial import split_body
from numjet.control.loops.while_op import step_number
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Undefined
from numjet.core.stage import hoist_consts, trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.foundation.record import Record
from numjet.foundation.util import merge_lists, partition_list, split_list
from numjet.lax.elementwise.arithmetic import sub
from numjet.lax.tangent import add_any, instantiate, zeros_like_aval
from numjet.transforms.dce import dce_jaxpr


def checkpoint_scan(f: Callable[[Any, Any], tuple[Any, Any]], init: Any, xs: Any = None, length: int | None = None,
                    reverse: bool = False, *, budget: int) -> tuple[Any, Any]:
    """A scan whose reverse mode stores at most `budget` carries, whatever the length, and nothing else of its steps.

    The carries in front of the other steps are computed again from the stored ones, in the order that repeats as few steps as
    possible: with a budget of b, C(b + r, r) steps are reversed while none is computed more than r times again. So
    sqrt(2 * length) carries make each step be computed twice more at most. Results, and derivatives of all orders, are those of
    `lax.scan`.

    Args:
      f, init, xs, length, reverse: as of `lax.scan`.
      budget: number of stored carries, at least 1.

    Raises:
      ValueError: a budget below 1.
      NotImplementedError: in reverse mode, where the steps have side effects, such as prints: steps are computed again.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> last = lambda x: nj.checkpoint_scan(lambda c, _: (jnp.sin(c), None), x, length=1000, budget=10)[0]
    >>> nj.grad(last)(1.0)
    Array(7.67e-05, dtype=float32, weak_type=True)
    """
    stored = operator.index(budget)
    if stored < 1:
        raise ValueError(f"checkpoint_scan: expected a budget of at least 1 stored carry, got {budget}")
    return scan_by(lambda *args, **params: checkpoint_scan_p.bind(*args, **params, budget=stored), f, init, xs, length, reverse)


class _Parts(Record):
    """A split body: `known`, with its results only, maps (*consts, *known operands) to known results."""

    split: Split
    known: ClosedJaxpr
    consts: list[Any]
    carry_unknown: Flags


@cached_by_program
def _parts(closed: ClosedJaxpr, unknown_in: Flags, num_consts: int, num_carry: int) -> _Parts:
    split, carry_u = split_body(closed, unknown_in, num_consts, num_carry)
    known = split.known.jaxpr
    thin = dce_jaxpr(known.replace(outvars=known.outvars[: split.known_count]))[0].replace(invars=known.invars)
    return _Parts(split, ClosedJaxpr(thin), split.consts, carry_u)


def _partial_eval(trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    """Runs the scan of the known values now, which keeps nothing; the staged scan computes them again."""
    num_consts, num_carry = params["num_consts"], params["num_carry"]
    unknown_in = tuple(trace.is_unknown(a) for a in args)
    parts = _parts(params["jaxpr"], unknown_in, num_consts, num_carry)
    flags = (*unknown_in[:num_consts], *parts.carry_unknown, *unknown_in[num_consts + num_carry :])
    outs: list[Any] = []
    if parts.known.jaxpr.outvars or parts.known.effects:
        own = {"jaxpr": parts.known, "num_carry": parts.carry_unknown.count(False),
               "num_consts": len(parts.consts) + flags[:num_consts].count(False)}
        outs = trace.run_known(checkpoint_scan_p, [*parts.consts, *partition_list(flags, args)[0]], {**params, **own})
    staged = trace.stage(checkpoint_scan_p, args, params)
    return merge_lists(parts.split.flags, outs, list(compress(staged, parts.split.flags)))


def _transpose(cts: Sequence[Any], *args: Any, **params: Any) -> list[Any]:
    jaxpr, num_consts, num_carry = params["jaxpr"], params["num_consts"], params["num_carry"]
    check_repeatable("checkpoint_scan", jaxpr.effects)
    linear_in = tuple(isinstance(a, Undefined) for a in args)
    made = _reverse_program(jaxpr, linear_in, nonzero_flags(cts), num_consts, num_carry, params["length"], params["reverse"],
                            params["budget"])
    ct_carry, ct_ys = split_list(cts, [num_carry])
    carry = [instantiate(c) for c, f in zip(ct_carry, made.carry, strict=True) if f]
    ys = list(compress(ct_ys, made.ys))
    found = iter(eval_closed(made.jaxpr, *made.consts, *[a for a in args if not isinstance(a, Undefined)], *carry, *ys))
    spread = [next(found) if f else None for f in (*made.sums, *made.carry, *made.xs)]
    zeros = with_zeros([False] * len(args), [], [a.aval if isinstance(a, Undefined) else aval_of(a) for a in args])
    return [None if not lin else z if ct is None else ct for lin, ct, z in zip(linear_in, spread, zeros, strict=True)]


class _Reverse(Record):
    """(*consts, *known operands, *nonzero cotangents of the carry, *of results) -> cotangents of the operands whose flags in
    `sums`, `carry` and `xs` are true. ys: the results whose cotangents it reads."""

    jaxpr: ClosedJaxpr
    consts: list[Any]
    sums: Flags
    carry: Flags
    xs: Flags
    ys: Flags


@cached_by_program
def _reverse_program(closed: ClosedJaxpr, linear_in: Flags, ct_nz: Flags, num_consts: int, num_carry: int, length: int,
                     reverse: bool, budget: int) -> _Reverse:
    parts = _parts(closed, linear_in, num_consts, num_carry)
    consts_u, xs_u = linear_in[:num_consts], linear_in[num_consts + num_carry :]
    ys = tuple(nz and u for nz, u in zip(ct_nz[num_carry:], parts.split.flags[num_carry:], strict=True))
    made, carry_nz = _transposed_body(closed, parts, consts_u, ct_nz[:num_carry], ys, sum(xs_u))
    sum_nz, _, x_nz = split_list(made.flags, [sum(consts_u), sum(parts.carry_unknown)])
    sums = tuple(merge_lists(consts_u, [False] * consts_u.count(False), sum_nz))
    xs = tuple(merge_lists(xs_u, [False] * xs_u.count(False), x_nz))
    back = stepping_back(parts.split, made)
    first = len(parts.consts) + consts_u.count(False)
    read = dce_jaxpr(back.jaxpr)[1][len(back.consts) + first :]
    known = KnownSteps(parts.known, first, parts.carry_unknown.count(False), read)
    groups = [sum(sums), sum(carry_nz), sum(xs)]

    def run(*args: Any) -> list[Any]:
        operands, ct_carry, ct_ys = split_list(args, [linear_in.count(False), sum(carry_nz)])
        consts, init, slices = split_list(merge_lists(linear_in, operands, [None] * sum(linear_in)), [num_consts, num_carry])
        own = [*parts.consts, *partition_list(consts_u, consts)[0]]
        carry, inputs = partition_list(parts.carry_unknown, init)[0], partition_list(xs_u, slices)[0]
        at = (lambda k: sub(step_number(length - 1), k)) if reverse else lambda k: k
        zeros = [zeros_like_aval(a.to_ct_aval()) for a in compress(closed.in_avals[:num_consts], sums)]
        stacks = [zeros_like_aval(a.to_ct_aval().update(shape=(length, *a.shape)))
                  for a in compress(closed.in_avals[num_consts + num_carry :], xs)]

        if not length:  # there is no slice to read
            return [*zeros, *ct_carry, *stacks]

        def backward(k: Any, state: list[Any], totals: list[Any]) -> list[Any]:
            before, after, filled = split_list(totals, groups[:2])
            found = eval_closed(ClosedJaxpr(back.jaxpr), *back.consts, *own, *known.spread(state, carry),
                                *[row(x, at(k)) for x in inputs], *after, *[row(y, at(k)) for y in ct_ys])
            new, after, parts_of_xs = split_list(found, groups[:2])
            return [*[add_any(a, b) for a, b in zip(before, new, strict=True)], *after,
                    *[put(stack, x, at(k)) for stack, x in zip(filled, parts_of_xs, strict=True)]]

        def forward(k: Any, state: list[Any]) -> list[Any]:
            return known.step(own, known.spread(state, carry), [row(x, at(k)) for x in inputs])

        stored = list(compress(carry, known.stored))
        return reverse_steps(step_number(length), stored, [*zeros, *ct_carry, *stacks], forward, backward, budget)

    avals = [a.update(shape=(length, *a.shape)) if k >= num_consts + num_carry else a for k, a in enumerate(closed.in_avals)]
    outs = [a.to_ct_aval().strip_weak_type() for a in closed.out_avals]
    program = trace_to_closed(run, [*[a for a, u in zip(avals, linear_in, strict=True) if not u],
                                    *compress(outs[:num_carry], carry_nz),
                                    *[a.update(shape=(length, *a.shape)) for a in compress(outs[num_carry:], ys)]],
                              closed.jaxpr.debug)
    return _Reverse(ClosedJaxpr(hoist_consts(program.jaxpr)), program.consts, sums, carry_nz, xs, ys)


def _transposed_body(closed: ClosedJaxpr, parts: _Parts, consts_u: Flags, ct_nz: Flags, ys: Flags,
                     slices: int) -> tuple[Derived, Flags]:
    """The transposed linear part of the body, and which carries have a cotangent: a fixpoint."""
    carry_u, consts = parts.carry_unknown, sum(consts_u)
    ys_u = parts.split.flags[len(carry_u):]
    linear = (*(False,) * len(parts.split.residuals), *(True,) * (consts + sum(carry_u) + slices))

    def step(flags: Flags) -> tuple[Derived, Sequence[bool]]:
        nonzero = tuple(compress(flags, carry_u))
        made = transpose_program(parts.split.unknown, linear, (*nonzero, *compress(ys, ys_u)),
                                 (*(False,) * consts, *nonzero, *(False,) * slices))
        return made, merge_lists(carry_u, [False] * carry_u.count(False), made.flags[consts : consts + sum(carry_u)])

    start = [f and u for f, u in zip(ct_nz, carry_u, strict=True)]
    return fixpoint(step, start, linear_only(backwards(closed, len(consts_u), len(carry_u)), carry_u))


checkpoint_scan_p = scan_like("checkpoint_scan", ("budget",), _transpose,
                              lambda op, *args: _partial_eval(*args))
