"""Forward rules that dead code elimination can undo: `custom_vjp` with optimize_remat=True.

A forward rule that computes results and residuals together, in one callback say, would run in full under `checkpoint` although
the residuals are computed again later. The operation `remat_opt` holds the rule's program and the function's own; where no
residual is read, it becomes a call of the second.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.call import call_dce, jit_p
from numjet.control.call.jaxpr_transforms import (
    Derived,
    batch_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    reordered,
    union,
    with_zeros,
    without_consts,
)
from numjet.control.custom.custom_calls import UsersRule
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, JaxprEqn, Var
from numjet.core.op import Missing, Op
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import eval_closed
from numjet.lax.templates import in_front


class OptimizedForward(UsersRule):
    """A forward rule as an operation that knows the function which gives its first results."""

    __slots__ = ("fun", "fwd")

    def __init__(self, fun: Callable[..., list[Any]], fwd: Any):
        self.fun, self.fwd, self.rule = fun, fwd, fwd.rule

    def __call__(self, primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        avals = [aval_of(x) for x in primals]
        count = 0

        def flat(*xs: Any) -> list[Any]:
            nonlocal count
            outs, residuals = self.fwd(xs, perturbed)
            count = len(outs)
            return [*outs, *residuals]

        forward, own = trace_to_closed(flat, avals), trace_to_closed(self.fun, avals)
        _check_same(self.fwd, forward.out_avals[:count], own.out_avals)
        found = _bind(forward, forward.consts, own, own.consts, primals)
        return found[:count], found[count:]


def _check_same(fwd: Any, got: Sequence[ShapedArray], expected: Sequence[ShapedArray]) -> None:
    if [(a.shape, a.dtype) for a in got] != [(a.shape, a.dtype) for a in expected]:
        raise TypeError(f"Custom VJP fwd rule {fwd} must produce results of the types of the function's own, "
                        f"{', '.join(map(str, expected))}, but got {', '.join(map(str, got))}.")


def _bind(fwd: ClosedJaxpr, fwd_consts: Sequence[Any], fun: ClosedJaxpr, fun_consts: Sequence[Any],
          args: Sequence[Any]) -> list[Any]:
    """The operation; the programs take their own constants, given or as constvars, and then the operands."""
    fwd, fun = without_consts(fwd), without_consts(fun)
    return remat_opt_p.bind(
        *fwd_consts, *fun_consts, *args, fwd_jaxpr=_padded(fwd, len(fwd_consts), [], fun_consts),
        fun_jaxpr=_padded(fun, 0, fwd_consts, []), num_outs=len(fun.out_avals))


def _padded(closed: ClosedJaxpr, at: int, before: Sequence[Any], after: Sequence[Any]) -> ClosedJaxpr:
    """The program with inputs that it does not read: `before` in front, `after` behind the first `at`."""
    invars = closed.jaxpr.invars
    unread = lambda values: [Var(aval_of(x)) for x in values]
    return ClosedJaxpr(closed.jaxpr.replace(invars=[*unread(before), *invars[:at], *unread(after), *invars[at:]]))


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, fwd_jaxpr: ClosedJaxpr, fun_jaxpr: ClosedJaxpr,
         num_outs: int) -> tuple[list[Any], list[Any]]:
    nonzeros = nonzero_flags(tangents)
    fwd, fun = jvp_program(fwd_jaxpr, nonzeros, True), jvp_program(fun_jaxpr, nonzeros, True)
    count, outs_t = len(fwd_jaxpr.out_avals), sum(fun.flags)
    inputs = tuple(range(len(fwd.jaxpr.in_avals)))
    # results and their tangents, then residuals and theirs
    order = (*range(num_outs), *range(count, count + outs_t), *range(num_outs, count),
             *range(count + outs_t, count + sum(fwd.flags)))
    found = _bind(reordered(fwd.jaxpr, inputs, order), fwd.consts, fun.jaxpr, fun.consts,
                  [*primals, *only_nonzero(tangents)])
    placed = dict(zip(order, found, strict=True))
    values = [placed[i] for i in range(len(order))]
    return values[:count], with_zeros(fwd.flags, values[count:], fwd_jaxpr.out_avals)


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, fwd_jaxpr: ClosedJaxpr, fun_jaxpr: ClosedJaxpr,
           num_outs: int, axis_name: Any = None) -> tuple[list[Any], list[int | None]]:
    batched = tuple(d is not None for d in dims)
    of_fwd = batch_program(fwd_jaxpr, size, batched, False, axis_name).flags
    flags = union(of_fwd[:num_outs], batch_program(fun_jaxpr, size, batched, False, axis_name).flags)
    fwd: Derived = batch_program(fwd_jaxpr, size, batched, (*flags, *of_fwd[num_outs:]), axis_name)
    fun: Derived = batch_program(fun_jaxpr, size, batched, flags, axis_name)
    outs = _bind(fwd.jaxpr, fwd.consts, fun.jaxpr, fun.consts, in_front(args, dims))
    return outs, [0 if f else None for f in fwd.flags]


def _dce(eqn: JaxprEqn, used: list[bool]) -> JaxprEqn:
    """The function's own program where only its results are read."""
    count = eqn.params["num_outs"]
    if any(used[count:]):
        return eqn
    params = {"name": "remat_opt", "jaxpr": eqn.params["fun_jaxpr"], "inline": False, "keep_unused": False,
              "donated_invars": (False,) * len(eqn.invars)}
    return call_dce(eqn.replace(primitive=jit_p, params=params, outvars=eqn.outvars[:count]), used[:count])


remat_opt_p = Op(
    name="remat_opt",
    params=("fwd_jaxpr", "fun_jaxpr", "num_outs"),
    multiple=True,
    programs=True,
    abstract=lambda *avals, fwd_jaxpr, **_: fwd_jaxpr.out_avals,
    eager=lambda *args, fwd_jaxpr, **_: eval_closed(fwd_jaxpr, *args),
    jvp=_jvp,
    transpose=Missing("the forward rule of a custom_vjp function is not linear"),
    batch=_batch,
    partial_eval=lambda trace, args, params: eval_closed(params["fwd_jaxpr"], *args),
    dce=_dce,
    cpu=lambda b, *args, fwd_jaxpr, **_: b.inline(fwd_jaxpr, args),
    hlo=lambda b, *args, fwd_jaxpr, **_: b.inline(fwd_jaxpr, args),
    inline=lambda eqn: (eqn.params["fwd_jaxpr"], eqn.invars),
    effects=holds_effects,
    samples=Missing("holds programs"),
)
