"""Calls of custom_vjp functions under each trace, and their staged operations.

Differentiation runs the forward rule and stages `custom_lin`, a linear operation known only by its transpose, the
backward rule. It can be transposed, but not evaluated, so forward mode raises.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import nonzero_flags, with_zeros, without_consts
from numjet.control.custom.custom_calls import custom_call_op
from numjet.control.custom.custom_jvp import named_as
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Zero
from numjet.core.stage import DebugInfo, StageTrace, trace_to_closed
from numjet.core.trace import aval_of, current_trace, set_trace
from numjet.foundation import source
from numjet.lax.templates import call as apply_op, moveaxis
from numjet.transforms.jvp import JVPTrace
from numjet.transforms.linearize import PartialTrace
from numjet.transforms.vmap import BatchTrace, batch_flat, move_to

# fwd(primals, perturbed) -> (results, residuals); bwd(residuals, cotangents, perhaps Zero) -> cotangents, perhaps Zero
Forward = Callable[[Sequence[Any], Sequence[bool]], tuple[list[Any], list[Any]]]
Backward = Callable[[Sequence[Any], Sequence[Any]], list[Any]]


class VJPCall:
    """A function of flat arguments with its two rules."""

    __slots__ = ("bwd", "fun", "fwd", "name", "symbolic_zeros")

    def __init__(self, fun: Callable[..., list[Any]], fwd: Forward, bwd: Backward, name: str, symbolic_zeros: bool):
        self.fun, self.fwd, self.bwd, self.name, self.symbolic_zeros = fun, fwd, bwd, name, symbolic_zeros


def apply_custom_vjp(call: VJPCall, args: Sequence[Any]) -> list[Any]:
    """Calls a function with a reverse-mode rule under the current trace."""
    trace = current_trace()
    if isinstance(trace, JVPTrace):
        pairs = [trace.unpack(a) for a in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        with set_trace(trace.parent):
            if all(type(t) is Zero for t in tangents):
                return apply_custom_vjp(call, primals)
            outs, outs_t = _linearized(call.fwd, call.bwd, primals, tangents, call.name)
        return [trace.pack(p, t) for p, t in zip(outs, outs_t, strict=True)]
    if isinstance(trace, BatchTrace):
        return _vectorized(trace, call, args)
    if isinstance(trace, PartialTrace):
        unknown = any(trace.is_unknown(a) for a in args)
        with set_trace(trace.unknown if unknown else trace.parent):
            return apply_custom_vjp(call, args)
    if isinstance(trace, StageTrace):
        closed = trace_to_closed(call.fun, [aval_of(a) for a in args], DebugInfo(call.name, "custom_vjp"))
        return custom_vjp_call_p.bind(
            *closed.consts,
            *args,
            name=call.name,
            call_jaxpr=without_consts(closed),
            fwd=call.fwd,
            bwd=call.bwd,
            num_consts=len(closed.consts),
            symbolic_zeros=call.symbolic_zeros,
        )
    return call.fun(*args)


def _linearized(
    fwd: Forward, bwd: Backward, primals: Sequence[Any], tangents: Sequence[Any], name: str
) -> tuple[list[Any], list[Any]]:
    """Results by the forward rule, and their tangents as a `custom_lin` of the residuals and nonzero tangents."""
    nonzeros = nonzero_flags(tangents)
    outs, residuals = fwd(primals, nonzeros)
    avals = [aval_of(o).to_tangent_aval() for o in outs]
    wanted = tuple(a.dtype.names is None for a in avals)
    found = custom_lin_p.bind(
        *residuals,
        *[t for t in tangents if type(t) is not Zero],
        name=name,
        bwd=bwd,
        num_res=len(residuals),
        nonzeros=nonzeros,
        out_nonzeros=wanted,
        out_avals=tuple(avals),
    )
    return outs, with_zeros(wanted, found, [aval_of(o) for o in outs])


def _vectorized(trace: BatchTrace, call: VJPCall, args: Sequence[Any]) -> list[Any]:
    pairs = [trace.unpack(a) for a in args]
    vals, dims = [v for v, _ in pairs], [d for _, d in pairs]
    with set_trace(trace.parent):
        if all(d is None for d in dims) and trace.axis_name is None:
            return apply_custom_vjp(call, vals)
        batch = _Batch(trace.size, trace.axis_name, trace)

        def fun(*xs: Any) -> list[Any]:
            return batch.run(call.fun, xs, dims)

        outs = apply_custom_vjp(
            VJPCall(fun, batch.forward(call.fwd, dims), batch.backward(call.bwd, dims), call.name, call.symbolic_zeros),
            vals,
        )
        batch.within = None  # the staged operation outlives the trace
    return [trace.pack(o, 0) for o in outs]


class _Batch:
    """Functions and rules over a batch; all results and residuals have it in axis 0."""

    __slots__ = ("axis_name", "size", "within")

    def __init__(self, size: int, axis_name: Any, within: BatchTrace | None = None):
        self.size, self.axis_name, self.within = size, axis_name, within

    def run(self, fun: Callable[..., Sequence[Any]], xs: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
        outs, out_dims = batch_flat(fun, self.size, xs, dims, self.axis_name, within=self.within)
        return [move_to(o, d, 0, self.size) for o, d in zip(outs, out_dims, strict=True)]

    def forward(self, fwd: Forward, dims: Sequence[int | None]) -> Forward:
        def over_batch(primals: Sequence[Any], perturbed: Sequence[bool]) -> tuple[list[Any], list[Any]]:
            count = 0

            def flat(*xs: Any) -> list[Any]:
                nonlocal count
                outs, residuals = fwd(xs, perturbed)
                count = len(outs)
                return [*outs, *residuals]

            found = self.run(flat, primals, dims)
            return found[:count], found[count:]

        return named_as(over_batch, fwd)

    def backward(self, bwd: Backward, dims: Sequence[int | None]) -> Backward:
        """Cotangents of arguments without the batch are summed over it."""

        def over_batch(residuals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
            narrow = [Zero(c.aval.update(shape=c.aval.shape[1:])) if type(c) is Zero else None for c in cts]
            found: list[Any] = []

            def flat(*xs: Any) -> list[Any]:
                rest = iter(xs[len(residuals) :])
                found[:] = bwd(xs[: len(residuals)], [next(rest) if z is None else z for z in narrow])
                return [c for c in found if type(c) is not Zero]

            given = [*residuals, *[c for c in cts if type(c) is not Zero]]
            made = iter(self.run(flat, given, [0] * len(given)))
            return [
                self._zero(c, d) if type(c) is Zero else self._placed(next(made), d) for c, d in zip(found, dims, strict=True)
            ]

        return named_as(over_batch, bwd)

    def _zero(self, zero: Zero, dim: int | None) -> Zero:
        shape = zero.aval.shape
        return zero if dim is None else Zero(zero.aval.update(shape=(*shape[:dim], self.size, *shape[dim:])))

    def _placed(self, ct: Any, dim: int | None) -> Any:
        return apply_op("reduce_sum", ct, axes=(0,)) if dim is None else moveaxis(ct, 0, dim)


# ------------------------------------------------------------------------------------------------ staged operations


def _batched(size: int, dims: Sequence[int | None], axis_name: Any, *, fwd: Forward, bwd: Backward) -> dict[str, Any]:
    batch = _Batch(size, axis_name)
    return {"fwd": batch.forward(fwd, dims), "bwd": batch.backward(bwd, dims)}


custom_vjp_call_p = custom_call_op(
    "custom_vjp",
    ("fwd", "bwd"),
    lambda primals, tangents, *, fwd, bwd, name, **_: _linearized(fwd, bwd, primals, tangents, name),
    _batched,
)


def _forward_mode_error(*_: Any, name: str = "", **params: Any) -> Any:
    raise TypeError(
        f"can't apply forward-mode autodiff (jvp) to a custom_vjp function: {name or 'it'} has a rule for reverse "
        "mode only. Use grad or vjp, or give it a custom_jvp rule, which serves both modes."
    )


def _lin_abstract(
    *avals: ShapedArray, out_avals: tuple[ShapedArray, ...], out_nonzeros: tuple[bool, ...], **_: Any
) -> list[ShapedArray]:
    return [a for a, nz in zip(out_avals, out_nonzeros, strict=True) if nz]


def _lin_transpose(
    cts: Sequence[Any],
    *args: Any,
    bwd: Backward,
    num_res: int,
    nonzeros: tuple[bool, ...],
    out_nonzeros: tuple[bool, ...],
    out_avals: tuple[ShapedArray, ...],
    **_: Any,
) -> list[Any]:
    given = iter(cts)
    full = [next(given) if nz else Zero(a) for nz, a in zip(out_nonzeros, out_avals, strict=True)]
    with source.user_code():
        found = bwd(args[:num_res], full)
    return [*[None] * num_res, *[c for c, nz in zip(found, nonzeros, strict=True) if nz]]


def _lin_batch(
    size: int,
    args: Sequence[Any],
    dims: Sequence[int | None],
    *,
    bwd: Backward,
    num_res: int,
    nonzeros: tuple[bool, ...],
    out_avals: tuple[ShapedArray, ...],
    axis_name: Any = None,
    **params: Any,
) -> tuple[list[Any], list[int]]:
    full = [move_to(a, d, 0, size) for a, d in zip(args, dims, strict=True)]
    batch = _Batch(size, axis_name)
    wide = tuple(a.update(shape=(size, *a.shape)) for a in out_avals)
    outs = custom_lin_p.bind(
        *full,
        bwd=batch.backward(bwd, [0] * len(nonzeros)),
        num_res=num_res,
        nonzeros=nonzeros,
        out_avals=wide,
        **params,
    )
    return outs, [0] * len(outs)


custom_lin_p = Op(
    name="custom_lin",
    params=("name", "bwd", "num_res", "nonzeros", "out_nonzeros", "out_avals"),
    multiple=True,
    programs=True,
    abstract=_lin_abstract,
    eager=_forward_mode_error,
    jvp=lambda primals, tangents, **params: _forward_mode_error(**params),
    transpose=_lin_transpose,
    batch=_lin_batch,
    cpu=_forward_mode_error,
    hlo=_forward_mode_error,
    samples=Missing("known only by its transpose"),
)
