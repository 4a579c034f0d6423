"""Rematerialization: `checkpoint` (or `remat`), a function whose intermediate values are recomputed in the backward pass.

Partial evaluation of the operation keeps its inputs and the values that the policy allows; the values in between are
recomputed from those in the staged program. The trade of time for memory of A. Griewank and A. Walther, "Algorithm 799:
revolve" (2000), with the checkpoints chosen by the user.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.body_tracing import cached_with, trace_body
from numjet.control.call.call import calling_op
from numjet.control.call.jaxpr_transforms import Flags, cached_by_program, split_program, substituted
from numjet.control.call.ref_threading import holds_refs, thread, without_refs
from numjet.control.custom.remat_slices import inlined, slice_of
from numjet.core import effects
from numjet.core.check import check_if_enabled
from numjet.core.ir import ClosedJaxpr, JaxprEqn
from numjet.core.op import Op
from numjet.core.trace import aval_of, set_trace
from numjet.core.traits import CALLS, KEEPS_APART
from numjet.core.walk import eval_closed
from numjet.foundation import events, source, tree
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.foundation.tree.prefix import flatten_axes
from numjet.foundation.util import function_name, merge_lists, partition_list, wraps
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.simplify import Rewritten, Simplify


class _Plan(Record):
    """known(*consts, *known inputs) -> (*known results, *kept values); unknown(*kept values, *inputs named by `read`,
    *unknown inputs) -> unknown results."""

    known: ClosedJaxpr
    consts: list[Any]
    unknown: ClosedJaxpr
    flags: Flags
    known_count: int
    read: list[int]
    recomputes: bool
    kept: list[tuple[Any, JaxprEqn]]  # types of the kept values, and what made them


@cached_by_program
def _plan(closed: ClosedJaxpr, unknown_in: Flags, policy: Any) -> _Plan:
    split = split_program(closed, unknown_in, False)
    known = inlined(split.known.jaxpr)
    wanted = [known.invars[r.at] if r.from_input else known.outvars[r.at] for r in split.residuals]
    sliced = slice_of(known, wanted, policy)
    recomputed, kept = sliced.recomputed, sliced.kept
    inputs = {v: i for i, v in enumerate(known.invars)}
    needed = {a for e in recomputed for a in e.invars} | set(wanted)
    read = [i for v, i in inputs.items() if v in needed]
    unknown = split.unknown.jaxpr
    count = len(wanted)
    env = dict(zip(unknown.invars[:count], wanted, strict=True))
    rest = substituted(unknown, env, [*kept, *[known.invars[i] for i in read], *unknown.invars[count:]])
    body = rest.replace(eqns=[*recomputed, *rest.eqns])
    first = known.replace(eqns=sliced.forward, outvars=[*known.outvars[: split.known_count], *kept])
    thin = dce_jaxpr(first)[0].replace(invars=known.invars)
    check_if_enabled(thin, body)
    makers = {v: e for e in sliced.forward for v in e.outvars}
    return _Plan(ClosedJaxpr(thin), split.consts, ClosedJaxpr(body), split.flags, split.known_count, read, bool(recomputed),
                 [(v.aval, makers[v]) for v in kept])


def _held_again(held: Any, unknown_in: Flags, plan: _Plan) -> Any:
    """prevent_cse of the second computation: what is kept is held back from the compiler, too."""
    if not isinstance(held, tuple):
        return held
    known, unknown = partition_list(unknown_in, held)
    inputs = [True] * len(plan.consts) + known
    return (*(True,) * len(plan.kept), *[inputs[i] for i in plan.read], *unknown)


def _saved(plan: _Plan, inputs: Sequence[Any]) -> str:
    """What a checkpointed function saves, for the log."""
    parts = []
    if plan.read:
        parts += ["saving inputs with shapes:", *[f"  {aval_of(inputs[i])}" for i in plan.read]]
    if plan.kept:
        made = [f"  {a} from output of {e.primitive.name} from {source.summarize(e.source)}" for a, e in plan.kept]
        parts += [f"{'and ' if parts else ''}saving these intermediates:", *made]
    return "\n".join(["remat-decorated function " + (parts[0] if parts else "saving nothing"), *parts[1:]])


def _partial_eval(trace: Any, args: Sequence[Any], params: dict[str, Any]) -> list[Any]:
    unknown_in = tuple(trace.is_unknown(a) for a in args)
    if params["jaxpr"].effects & {effects.IO, effects.ORDERED_IO}:
        raise NotImplementedError("Effects not supported in partial-eval of `checkpoint`/`remat`: it calls io_callback, "
                                  "which the backward pass would call again. Move the call out of the function, or use "
                                  "debug.callback for what only observes.")
    plan = _plan(params["jaxpr"], unknown_in, params["policy"])
    known, unknown = partition_list(unknown_in, args)
    inputs = [*plan.consts, *known]
    events.log_debug(lambda: _saved(plan, inputs), config.log_checkpoint_residuals)
    with set_trace(trace.parent):
        outs = eval_closed(plan.known, *inputs)
    operands = [*outs[plan.known_count :], *[inputs[i] for i in plan.read], *unknown]
    params = {**params, "prevent_cse": _held_again(params["prevent_cse"], unknown_in, plan)}
    if plan.recomputes or isinstance(params["prevent_cse"], tuple):  # the user names arguments to hold back
        found = trace.stage(checkpoint_p, operands, {**params, "jaxpr": plan.unknown, "differentiated": True})
    else:
        with set_trace(trace.unknown):
            found = eval_closed(plan.unknown, *operands)
    return merge_lists(plan.flags, outs[: plan.known_count], found)


def _simplify(eqn: JaxprEqn, simplify: Simplify) -> Rewritten:
    """Keeps the call: a deliberate recomputation must not be merged with the first computation."""
    body = simplify(eqn.params["jaxpr"], list(map(simplify.facts.interval, eqn.invars)))
    return Rewritten(eqn.replace(params={**eqn.params, "jaxpr": body}), eqn.outvars)


def _hlo(b: Any, *args: Any, jaxpr: ClosedJaxpr, prevent_cse: Any, differentiated: bool, **_: Any) -> list[Any]:
    """The program behind a barrier, if it computes values again: XLA would merge that with the first computation."""
    flags = prevent_cse if isinstance(prevent_cse, tuple) else (prevent_cse,) * len(args)
    held = [x for x, f in zip(args, flags, strict=True) if f and differentiated]
    if held:
        behind = iter(b.op("stablehlo.optimization_barrier", held, [x.aval for x in held]))
        args = tuple(next(behind) if f else x for x, f in zip(args, flags, strict=True))
    return b.inline(jaxpr, args)


def _holds(prevent_cse: Any) -> bool:
    """Whether anything is to be held back from the compiler."""
    return any(prevent_cse) if isinstance(prevent_cse, tuple) else prevent_cse


checkpoint_p: Op = calling_op("remat2", ("jaxpr", "prevent_cse", "differentiated", "policy"), lambda params: params,
                              partial_eval=_partial_eval,
                              inline=lambda e: None if _holds(e.params["prevent_cse"]) else (e.params["jaxpr"], e.invars),
                              simplify=_simplify, hlo=_hlo, traits=CALLS | KEEPS_APART, scope="checkpoint")


def checkpoint(fun: Callable[..., Any], *, prevent_cse: Any = True, policy: Callable[..., bool] | None = None,
               static_argnums: int | Sequence[int] = (), static_argnames: str | Sequence[str] = (),
               concrete: Any = None) -> Callable[..., Any]:
    """Makes a function whose intermediate values are recomputed in the backward pass instead of being kept.

    Args:
      fun: the function.
      prevent_cse: keeps the compiler from merging the second computation with the first. A tuple with an entry for each
        positional argument, a bool or a pytree of bools, says by which arguments.
      policy: which values may be kept nevertheless, see `checkpoint_policies`; None: only the inputs.
      static_argnums, static_argnames: arguments that are no arrays, such as flags; they are passed as they are.

    Returns:
      A function with the same results and derivatives.

    >>> from numjet import lax
    >>> from numjet.control import checkpoint
    >>> f = checkpoint(lambda x: lax.sin(lax.sin(x)))
    >>> float(f(0.0))
    0.0
    """
    if concrete is not None:
        raise NotImplementedError("The 'concrete' option of checkpoint is gone; mark arguments that Python control flow "
                                  "depends on as static, with static_argnums or static_argnames.")
    numbers = frozenset((static_argnums,) if isinstance(static_argnums, int) else static_argnums)
    names = frozenset((static_argnames,) if isinstance(static_argnames, str) else static_argnames)

    @wraps(fun)
    @source.api_boundary
    def checkpointed(*args: Any, **kwargs: Any) -> Any:
        if not all(-len(args) <= n < len(args) for n in numbers):
            raise ValueError("the `static_argnums` argument to `jax.checkpoint` / `jax.remat` can only take integer values "
                             "greater than or equal to `-len(args)` and less than `len(args)`, but got "
                             f"{tuple(sorted(numbers))}, while `len(args)` = {len(args)}")
        static = frozenset(n + len(args) if n < 0 else n for n in numbers)
        body_fun = _packed(fun) if not static and not names else _with_static(fun, args, kwargs, static, names)
        free = tuple(a for i, a in enumerate(args) if i not in static)
        operands: Sequence[Any] = (free, {k: v for k, v in kwargs.items() if k not in names})
        if holds_refs(operands):
            operands, (body_fun,) = without_refs(operands, [body_fun], "checkpoint")
        return thread(lambda refs: _called(body_fun, operands, prevent_cse, policy) if refs is None
                      else _called(refs.pure(body_fun), [refs.values, *operands], prevent_cse, policy))

    return cached_with(fun, checkpointed)


def _called(fun: Callable[..., Any], operands: Sequence[Any], prevent_cse: Any, policy: Any) -> Any:
    leaves, in_tree = tree.tree_flatten(tuple(operands))
    body = trace_body(fun, in_tree, [aval_of(x) for x in leaves], "checkpoint / remat", captures=True)
    held: Any = prevent_cse
    if isinstance(prevent_cse, (tuple, list)):
        args, kwargs = map(tree.tree_structure, operands[-2:])
        flags = flatten_axes("checkpoint prevent_cse", args, tuple(prevent_cse))
        before = len(body.consts) + len(leaves) - len(flags) - kwargs.num_leaves
        held = any(flags) and (*(True,) * before, *flags, *(True,) * kwargs.num_leaves)
    outs = checkpoint_p.bind(
        *body.consts, *leaves, jaxpr=body.jaxpr, prevent_cse=held, differentiated=False, policy=policy
    )
    return tree.tree_unflatten(body.out_tree, outs)


def _packed(fun: Callable[..., Any]) -> Callable[..., Any]:
    def call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return fun(*args, **kwargs)

    call.__name__ = function_name(fun)
    call.packed, call.hint = True, _HINT  # type: ignore[attr-defined]
    return cached_with(fun, call)


_HINT = ("Consider using the `static_argnums` parameter for `jax.remat` or `jax.checkpoint`: the values of arguments that it "
         "names are known while the function is traced.")


def _with_static(
    fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], numbers: frozenset[int], names: frozenset[str]
) -> Callable[..., Any]:
    """The function of the arguments that are not static."""
    held = tuple((i, a) for i, a in enumerate(args) if i in numbers)
    fixed = tuple((k, v) for k, v in kwargs.items() if k in names)
    count = len(args)

    def call(free: tuple[Any, ...], more: dict[str, Any]) -> Any:
        rest, at = iter(free), dict(held)
        return fun(*[at[i] if i in at else next(rest) for i in range(count)], **dict(fixed), **more)

    call.__name__ = function_name(fun)
    call.hint = _HINT  # type: ignore[attr-defined]
    return cached_with(fun, call)


remat = checkpoint
