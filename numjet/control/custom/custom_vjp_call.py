"""Calls of custom_vjp functions under each trace, and their staged operations.

Differentiation runs the forward rule and stages `custom_lin`, a linear operation known only by its transpose, the
backward rule. Reverse mode transposes it, so that it calls the rule; forward mode evaluates it, as the transpose of the
rule. That asks of the rule to be linear in the cotangent, which is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import (
    jvp_program,
    nonzero_flags,
    only_nonzero,
    transpose_program,
    with_zeros,
    without_consts,
)
from numjet.control.custom.custom_calls import Batch, Call, CustomCalls, element_of, named_as
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr
from numjet.core.op import Expand, Missing, Op, Zero
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.traits import USERS_TRANSPOSE
from numjet.core.walk import eval_closed
from numjet.foundation import source
from numjet.lax.reduction.reduce import reduce_sum_p
from numjet.lax.tangent import instantiate
from numjet.lax.templates import moveaxis
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.vmap import move_to

# fwd(primals, perturbed) -> (results, residuals); bwd(residuals, cotangents, perhaps Zero) -> cotangents, perhaps Zero
Forward = Callable[[Sequence[Any], Sequence[bool]], tuple[list[Any], list[Any]]]
Backward = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def linearized(primals: Sequence[Any], tangents: Sequence[Any], name: str, *, fwd: Forward,
                bwd: Backward) -> tuple[list[Any], list[Any]]:
    """Results by the forward rule, and their tangents as a `custom_lin` of the residuals and nonzero tangents."""
    nonzeros = nonzero_flags(tangents)
    outs, residuals = fwd(primals, nonzeros)
    avals = [aval_of(o).to_tangent_aval() for o in outs]
    wanted = tuple(a.dtype.names is None for a in avals)
    found = custom_lin_p.bind(*residuals, *only_nonzero(tangents), name=name, bwd=bwd, num_res=len(residuals),
                              nonzeros=nonzeros, out_nonzeros=wanted, out_avals=tuple(avals))
    return outs, with_zeros(wanted, found, [aval_of(o) for o in outs])


def _batched(batch: Batch, dims: Sequence[int | None], *, fwd: Forward, bwd: Backward) -> dict[str, Any]:
    return {"fwd": batched_forward(batch, fwd, dims), "bwd": batched_backward(batch, bwd, dims)}


def batched_forward(batch: Batch, fwd: Forward, dims: Sequence[int | None]) -> Forward:
    def over_batch(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
        count = 0

        def flat(*xs: Any) -> list[Any]:
            nonlocal count
            outs, residuals = fwd(xs, perturbed)
            count = len(outs)
            return [*outs, *residuals]

        found = batch.run(flat, primals, dims)
        return found[:count], found[count:]

    return named_as(over_batch, fwd)


def batched_backward(batch: Batch, bwd: Backward, dims: Sequence[int | None]) -> Backward:
    """The backward rule over a batch; cotangents of arguments without the batch are summed over it."""
    def over_batch(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
        zeros = [element_of(c, 0) if type(c) is Zero else None for c in cts]
        found: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            rest = iter(xs[len(residuals):])
            found[:] = bwd(xs[:len(residuals)], [next(rest) if z is None else z for z in zeros])
            return only_nonzero(found)

        given = [*residuals, *only_nonzero(cts)]
        made = iter(batch.run(flat, given, [0] * len(given)))
        return [batch.wide(c, d) if type(c) is Zero else reduce_sum_p.bind(next(made), axes=(0,)) if d is None
                else moveaxis(next(made), 0, d) for c, d in zip(found, dims, strict=True)]

    return named_as(over_batch, bwd)


_calls = CustomCalls("custom_vjp", ("fwd", "bwd"), linearized, _batched)
custom_vjp_call_p = _calls.op


def apply_custom_vjp(fun: Callable[..., list[Any]], fwd: Forward, bwd: Backward, name: str, symbolic_zeros: bool,
                     args: Sequence[Any]) -> list[Any]:
    """Calls a function of flat arguments with a reverse-mode rule under the current trace."""
    return _calls.apply(Call(fun, {"fwd": fwd, "bwd": bwd}, name, symbolic_zeros), args)


def _not_linear(name: str, bwd: Backward, why: str) -> TypeError:
    return TypeError(
        f"can't apply forward-mode autodiff (jvp) to a custom_vjp function: {name} has a rule for reverse mode only, and its "
        f"bwd rule {bwd} cannot be transposed, as it {why}. Use grad or vjp, or give the function a custom_jvp rule, which "
        "serves both modes.")


def _lin_program(avals: Sequence[ShapedArray], *, name: str, bwd: Backward, num_res: int, nonzeros: Sequence[bool],
                 out_nonzeros: Sequence[bool], out_avals: Sequence[ShapedArray]) -> ClosedJaxpr:
    """(*residuals, *tangents) -> tangents of the results: the transpose of the backward rule.

    The derivative of the rule in the direction of the cotangents is what is transposed. Where it depends on the cotangents,
    the rule is not linear in them.
    """
    def rule(*xs: Any) -> list[Any]:
        found = bwd(xs[:num_res], with_zeros(out_nonzeros, xs[num_res:], out_avals))
        return [instantiate(c) for c, nz in zip(found, nonzeros, strict=True) if nz]

    cts = [a for a, nz in zip(out_avals, out_nonzeros, strict=True) if nz]
    with source.user_code():
        closed = trace_to_closed(rule, [*avals[:num_res], *cts])
    backward, known = without_consts(closed), len(closed.consts) + num_res
    try:
        derivative = jvp_program(backward, (False,) * known + (True,) * len(cts), True)
        first = len(derivative.consts) + known
        linear, reads = _without(derivative.jaxpr.jaxpr, range(first, first + len(cts)), len(backward.out_avals))
        if reads:
            raise _not_linear(name, bwd, "is not linear in the cotangent")
        flags = (False,) * first + (True,) * len(cts)
        made = transpose_program(ClosedJaxpr(linear), flags, (True,) * len(avals[num_res:]), True)
    except (NotImplementedError, ValueError) as error:
        raise _not_linear(name, bwd, f"holds an operation without a derivative or a transpose: {error}") from error
    return _with_consts(made.jaxpr, [*made.consts, *derivative.consts, *closed.consts])


def _without(jaxpr: Jaxpr, inputs: range, results: int) -> tuple[Jaxpr, bool]:
    """The program without some inputs and its first results, and whether the others read one of those inputs."""
    thin, used = dce_jaxpr(jaxpr, [i >= results for i in range(len(jaxpr.outvars))])
    kept = [v for i, v in enumerate(jaxpr.invars) if i not in inputs]
    return thin.replace(invars=kept), any(used[i] for i in inputs)


def _with_consts(closed: ClosedJaxpr, consts: Sequence[Any]) -> ClosedJaxpr:
    """The program whose first inputs became its constants."""
    jaxpr, count = closed.jaxpr, len(consts)
    return ClosedJaxpr(jaxpr.replace(constvars=jaxpr.invars[:count], invars=jaxpr.invars[count:]), consts)


def _lin_evaluated(*args: Any, **params: Any) -> list[Any]:
    return eval_closed(_lin_program([aval_of(x) for x in args], **params), *args)


def _lin_lowered(b: Any, *args: Any, **params: Any) -> Any:
    return b.inline(_lin_program([x.aval for x in args], **params), args)


def _lin_abstract(*avals: ShapedArray, out_avals: tuple[ShapedArray, ...], out_nonzeros: tuple[bool, ...],
                  **_: Any) -> list[ShapedArray]:
    return [a for a, nz in zip(out_avals, out_nonzeros, strict=True) if nz]


def _lin_transpose(cts: Sequence[Any], *args: Any, bwd: Backward, num_res: int, nonzeros: tuple[bool, ...],
                   out_nonzeros: tuple[bool, ...], out_avals: tuple[ShapedArray, ...], **_: Any) -> list[Any]:
    given = iter(cts)
    full = [next(given) if nz else Zero(a) for nz, a in zip(out_nonzeros, out_avals, strict=True)]
    with source.user_code():
        found = bwd(args[:num_res], full)
    return [*[None] * num_res, *[c for c, nz in zip(found, nonzeros, strict=True) if nz]]


def _lin_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, bwd: Backward, nonzeros: tuple[bool, ...],
               out_avals: tuple[ShapedArray, ...], axis_name: Any = None, **params: Any) -> tuple[list[Any], list[int]]:
    full = [move_to(a, d, 0, size) for a, d in zip(args, dims, strict=True)]
    wide = tuple(a.update(shape=(size, *a.shape)) for a in out_avals)
    outs = custom_lin_p.bind(*full, bwd=batched_backward(Batch(size, axis_name), bwd, [0] * len(nonzeros)),
                             nonzeros=nonzeros, out_avals=wide, **params)
    return outs, [0] * len(outs)


custom_lin_p = Op(
    name="custom_lin", params=("name", "bwd", "num_res", "nonzeros", "out_nonzeros", "out_avals"), multiple=True,
    programs=True, abstract=_lin_abstract, eager=_lin_evaluated, jvp=Expand(_lin_evaluated), transpose=_lin_transpose,
    batch=_lin_batch, cpu=_lin_lowered, hlo=_lin_lowered,
    inline=lambda eqn: (_lin_program([a.aval for a in eqn.invars], **eqn.params), eqn.invars),
    samples=Missing("known only by its transpose"), functions=frozenset({"bwd"}), traits=USERS_TRANSPOSE)
