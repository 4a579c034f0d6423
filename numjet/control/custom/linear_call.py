"""`linear_call`: a linear function together with its transpose, which reverse mode then calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.body_tracing import Body, trace_body
from numjet.control.call.jaxpr_transforms import batch_program, holds_effects, jvp_program, nonzero_flags, only_nonzero
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Missing, Op, Undefined, Zero
from numjet.core.snapshots import frozen_leaves
from numjet.core.trace import aval_of
from numjet.core.traits import CALLS
from numjet.core.walk import eval_closed
from numjet.foundation import tree
from numjet.foundation.util import split_list
from numjet.lax.tangent import add_any, instantiate, zero_tangent
from numjet.transforms.vmap import move_to


def linear_call(fun: Callable[..., Any], fun_transpose: Callable[..., Any], residual_args: Any, linear_args: Any) -> Any:
    """Calls a linear function whose transpose is given.

    The result is fun(residual_args, linear_args). Reverse mode calls fun_transpose instead of transposing fun's operations.

    Args:
      fun: (residuals, x) -> y, linear in x.
      fun_transpose: (residuals, ct) -> cotangent of x, for a cotangent of y; the transpose of fun with the same residuals.
      residual_args: pytree of arrays.
      linear_args: pytree of arrays.

    Raises:
      TypeError: the transpose's result has not the structure, shapes and dtypes of linear_args.

    >>> from numjet import lax, linear_transpose
    >>> div_add = lambda x, denom: lax.add(x, linear_call(lax_div, lax_div_transpose, denom, x))
    >>> lax_div = lambda denom, x: lax.div(x, denom)
    >>> lax_div_transpose = lambda denom, t: lax.div(t, denom)
    >>> float(linear_transpose(lambda x: div_add(x, 2.0), 1.0)(24.0)[0])
    36.0
    """
    res, res_tree = tree.tree_flatten(residual_args)
    lin, lin_tree = tree.tree_flatten(linear_args)
    res, lin = frozen_leaves(res), frozen_leaves(lin)
    res_avals, lin_avals = [aval_of(x) for x in res], [aval_of(x) for x in lin]
    callee = trace_body(fun, tree.treedef_tuple([res_tree, lin_tree]), [*res_avals, *lin_avals], "linear_call")
    out_avals = [a.strip_weak_type() for a in callee.jaxpr.out_avals]
    transpose = trace_body(fun_transpose, tree.treedef_tuple([res_tree, callee.out_tree]), [*res_avals, *out_avals],
                           "linear_call")
    _check_transpose(transpose, lin_tree, lin_avals)
    outs = linear_call_p.bind(*callee.consts, *transpose.consts, *res, *lin, callee=callee.jaxpr, transpose=transpose.jaxpr,
                              num_callee_consts=len(callee.consts), num_transpose_consts=len(transpose.consts),
                              num_res=len(res))
    return tree.tree_unflatten(callee.out_tree, outs)


def _check_transpose(transpose: Body, lin_tree: Any, lin_avals: Sequence[ShapedArray]) -> None:
    if transpose.out_tree != lin_tree:
        raise TypeError("transpose output pytree structure must match that of linear inputs, "
                        f"got output structure {transpose.out_tree} and input structure {lin_tree}.")
    got = transpose.jaxpr.out_avals
    if [(a.shape, a.dtype) for a in got] != [(a.shape, a.dtype) for a in lin_avals]:
        raise TypeError("transpose output types must match those of linear inputs, "
                        f"got {', '.join(map(str, got))} and inputs {', '.join(map(str, lin_avals))}.")


def _parts(args: Sequence[Any], num_callee_consts: int, num_transpose_consts: int, num_res: int) -> list[list[Any]]:
    """Constants of the function, constants of the transpose, residuals, linear operands."""
    return split_list(args, [num_callee_consts, num_transpose_consts, num_res])


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callee: ClosedJaxpr, **params: Any) -> Any:
    """Linear in the last operands; in the others, the derivative of the function's program."""
    counts = {k: v for k, v in params.items() if k != "transpose"}
    outs = linear_call_p.bind(*primals, callee=callee, **params)
    outs_t: list[Any] = [zero_tangent(aval_of(o)) for o in outs]
    consts_t, _, res_t, lin_t = _parts(tangents, **counts)
    if any(type(t) is not Zero for t in lin_t):
        outs_t = linear_call_p.bind(*primals[: len(primals) - len(lin_t)], *map(instantiate, lin_t), callee=callee, **params)
    if any(type(t) is not Zero for t in (*consts_t, *res_t)):
        consts, _, res, lin = _parts(primals, **counts)
        given = [*consts_t, *res_t, *[zero_tangent(aval_of(x)) for x in lin]]
        made = jvp_program(callee, nonzero_flags(given), False)
        found = iter(eval_closed(made.jaxpr, *made.consts, *consts, *res, *lin, *only_nonzero(given))[len(outs):])
        outs_t = [_sum(t, next(found)) if f else t for t, f in zip(outs_t, made.flags, strict=True)]
    return outs, outs_t


def _sum(t: Any, other: Any) -> Any:
    return other if type(t) is Zero else add_any(t, other)


def _transpose(cts: Sequence[Any], *args: Any, callee: ClosedJaxpr, transpose: ClosedJaxpr, num_callee_consts: int,
               num_transpose_consts: int, num_res: int) -> list[Any]:
    consts, transpose_consts, res, lin = _parts(args, num_callee_consts, num_transpose_consts, num_res)
    found = linear_call_p.bind(
        *transpose_consts, *consts, *res, *map(instantiate, cts), callee=transpose, transpose=callee,
        num_callee_consts=num_transpose_consts, num_transpose_consts=num_callee_consts, num_res=num_res)
    known = len(args) - len(lin)
    return [*[None] * known, *[ct if isinstance(x, Undefined) else None for ct, x in zip(found, lin, strict=True)]]


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, callee: ClosedJaxpr, transpose: ClosedJaxpr,
           num_callee_consts: int, num_transpose_consts: int, num_res: int, axis_name: Any = None) -> Any:
    """Both programs over the batch, with all residuals, linear operands and results batched: so each stays the transpose
    of the other."""
    moved = [move_to(a, d, 0, size) for a, d in zip(args, dims, strict=True)]
    flags = lambda closed: (True,) * len(closed.in_avals)
    forward = batch_program(callee, size, flags(callee), True, axis_name)
    backward = batch_program(transpose, size, flags(transpose), True, axis_name)
    consts, transpose_consts, *rest = _parts(moved, num_callee_consts, num_transpose_consts, num_res)
    outs = linear_call_p.bind(
        *forward.consts, *consts, *backward.consts, *transpose_consts, *rest[0], *rest[1], callee=forward.jaxpr,
        transpose=backward.jaxpr, num_callee_consts=len(forward.consts) + num_callee_consts,
        num_transpose_consts=len(backward.consts) + num_transpose_consts, num_res=num_res)
    return outs, [0] * len(outs)


def _callee_operands(args: Sequence[Any], num_callee_consts: int, num_transpose_consts: int) -> list[Any]:
    return [*args[:num_callee_consts], *args[num_callee_consts + num_transpose_consts :]]


def _inlined(b: Any, *args: Any, callee: ClosedJaxpr, num_callee_consts: int, num_transpose_consts: int, **_: Any) -> Any:
    return b.inline(callee, _callee_operands(args, num_callee_consts, num_transpose_consts))


linear_call_p = Op(
    name="linear_call",
    params=("callee", "transpose", "num_callee_consts", "num_transpose_consts", "num_res"),
    multiple=True,
    programs=True,
    abstract=lambda *avals, callee, **_: callee.out_avals,
    eager=lambda *args, callee, num_callee_consts, num_transpose_consts, **_: eval_closed(
        callee, *_callee_operands(args, num_callee_consts, num_transpose_consts)),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    cpu=_inlined,
    hlo=_inlined,
    inline=lambda eqn: (eqn.params["callee"], _callee_operands(eqn.invars, eqn.params["num_callee_consts"],
                                                              eqn.params["num_transpose_consts"])),
    effects=holds_effects,
    traits=CALLS,
    samples=Missing("holds programs"),
)
