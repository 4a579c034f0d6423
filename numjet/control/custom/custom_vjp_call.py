"""Calls of custom_vjp functions under each trace, and their staged operations.

Differentiation runs the forward rule and stages `custom_lin`, a linear operation known only by its transpose, the
backward rule. It can be transposed, but not evaluated, so forward mode raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import nonzero_flags, only_nonzero, with_zeros
from numjet.control.custom.custom_calls import Batch, Call, CustomCalls, element_of, named_as
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Zero
from numjet.core.trace import aval_of
from numjet.foundation import source
from numjet.lax.reduction.reduce import reduce_sum_p
from numjet.lax.templates import moveaxis
from numjet.transforms.vmap import move_to

# fwd(primals, perturbed) -> (results, residuals); bwd(residuals, cotangents, perhaps Zero) -> cotangents, perhaps Zero
Forward = Callable[[Sequence[Any], Sequence[bool]], tuple[list[Any], list[Any]]]
Backward = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


def _linearized(primals: Sequence[Any], tangents: Sequence[Any], name: str, *, fwd: Forward,
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
    return {"fwd": _batched_forward(batch, fwd, dims), "bwd": _batched_backward(batch, bwd, dims)}


def _batched_forward(batch: Batch, fwd: Forward, dims: Sequence[int | None]) -> Forward:
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


def _batched_backward(batch: Batch, bwd: Backward, dims: Sequence[int | None]) -> Backward:
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


_calls = CustomCalls("custom_vjp", ("fwd", "bwd"), _linearized, _batched)
custom_vjp_call_p = _calls.op


def apply_custom_vjp(fun: Callable[..., list[Any]], fwd: Forward, bwd: Backward, name: str, symbolic_zeros: bool,
                     args: Sequence[Any]) -> list[Any]:
    """Calls a function of flat arguments with a reverse-mode rule under the current trace."""
    return _calls.apply(Call(fun, {"fwd": fwd, "bwd": bwd}, name, symbolic_zeros), args)


def _forward_mode_error(*_: Any, name: str = "", **params: Any) -> Any:
    raise TypeError(f"can't apply forward-mode autodiff (jvp) to a custom_vjp function: {name or 'it'} has a rule for reverse "
                    "mode only. Use grad or vjp, or give it a custom_jvp rule, which serves both modes.")


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
    outs = custom_lin_p.bind(*full, bwd=_batched_backward(Batch(size, axis_name), bwd, [0] * len(nonzeros)),
                             nonzeros=nonzeros, out_avals=wide, **params)
    return outs, [0] * len(outs)


custom_lin_p = Op(
    name="custom_lin", params=("name", "bwd", "num_res", "nonzeros", "out_nonzeros", "out_avals"), multiple=True,
    programs=True, abstract=_lin_abstract, eager=_forward_mode_error,
    jvp=lambda primals, tangents, **params: _forward_mode_error(**params), transpose=_lin_transpose, batch=_lin_batch,
    cpu=_forward_mode_error, hlo=_forward_mode_error, samples=Missing("known only by its transpose"),
    functions=frozenset({"bwd"}))
