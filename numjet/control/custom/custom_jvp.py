"""`custom_jvp`: functions with a forward-mode rule of their own.

The current trace handles such a call: evaluation calls the function (with Python control flow on concrete values),
differentiation calls the rule, vectorization vectorizes both, staging records the operation `custom_jvp_call`, whose
jaxpr is evaluated, and whose rule is used when that program is differentiated.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.jaxpr_transforms import without_consts
from numjet.control.custom.custom_calls import (
    UsersRule,
    custom_call_op,
    for_rule,
    for_user,
    from_rule,
    is_symbolic_zero,
    nondiff_positions,
    positional,
    split_nondiff,
    with_fixed,
)
from numjet.core.op import Zero
from numjet.core.snapshots import frozen, frozen_leaves
from numjet.core.stage import DebugInfo, StageTrace, trace_to_closed
from numjet.core.trace import aval_of, current_trace, set_trace
from numjet.foundation import source, tree
from numjet.foundation.util import function_name, split_list
from numjet.lax.elementwise.arithmetic import add
from numjet.lax.tangent import zeros_like_aval
from numjet.transforms.jvp import JVPTrace
from numjet.transforms.linearize import PartialTrace
from numjet.transforms.vmap import BatchTrace, batch_flat, move_to

Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


class JVPCall:
    """A function of flat arguments and its rule: rule(primals, tangents, maybe Zero) -> (results, tangents)."""

    __slots__ = ("fun", "name", "rule", "symbolic_zeros")

    def __init__(self, fun: Callable[..., list[Any]], rule: Rule, name: str, symbolic_zeros: bool):
        self.fun, self.rule, self.name, self.symbolic_zeros = fun, rule, name, symbolic_zeros


def apply_custom_jvp(call: JVPCall, args: Sequence[Any]) -> list[Any]:
    """Calls a function with a rule under the current trace."""
    trace = current_trace()
    if isinstance(trace, JVPTrace):
        return _differentiated(trace, call, args)
    if isinstance(trace, BatchTrace):
        return _vectorized(trace, call, args)
    if isinstance(trace, PartialTrace):
        unknown = any(trace.is_unknown(a) for a in args)
        with set_trace(trace.unknown if unknown else trace.parent):
            return apply_custom_jvp(call, args)
    if isinstance(trace, StageTrace):
        return _staged(call, args)
    return call.fun(*args)


def _differentiated(trace: JVPTrace, call: JVPCall, args: Sequence[Any]) -> list[Any]:
    pairs = [trace.unpack(a) for a in args]
    primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
    with set_trace(trace.parent):
        if all(type(t) is Zero for t in tangents):
            return apply_custom_jvp(call, primals)
        outs, outs_t = call.rule(primals, tangents)
    return [trace.pack(p, t) for p, t in zip(outs, outs_t, strict=True)]


def _vectorized(trace: BatchTrace, call: JVPCall, args: Sequence[Any]) -> list[Any]:
    pairs = [trace.unpack(a) for a in args]
    vals, dims = [v for v, _ in pairs], [d for _, d in pairs]
    with set_trace(trace.parent):
        if all(d is None for d in dims) and trace.axis_name is None:
            return apply_custom_jvp(call, vals)

        within = [trace]

        def fun(*xs: Any) -> list[Any]:
            return _over_batch(call.fun, trace.size, xs, dims, trace.axis_name, within)

        rule = batched_rule(call.rule, trace.size, dims, trace.axis_name, within)
        outs = apply_custom_jvp(JVPCall(fun, rule, call.name, call.symbolic_zeros), vals)
        within.clear()  # the staged operation outlives the trace
    return [trace.pack(o, 0) for o in outs]


def _over_batch(
    fun: Callable[..., Sequence[Any]],
    size: int,
    xs: Sequence[Any],
    dims: Sequence[int | None],
    axis_name: Any,
    within: Sequence[BatchTrace],
) -> list[Any]:
    """All results with the batch in axis 0, broadcast if they do not depend on it. within: the trace of the batch, while it
    runs."""
    outs, out_dims = batch_flat(fun, size, xs, dims, axis_name, within=within[0] if within else None)
    return [move_to(o, d, 0, size) for o, d in zip(outs, out_dims, strict=True)]


def batched_rule(
    rule: Rule, size: int, dims: Sequence[int | None], axis_name: Any, within: Sequence[BatchTrace] = ()
) -> Rule:
    """The rule of the function over a batch, with all results batched in axis 0."""

    def over_batch(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        zeros = [_slice_of(t, d) if type(t) is Zero else None for t, d in zip(tangents, dims, strict=True)]
        given = [(t, d) for t, d in zip(tangents, dims, strict=True) if type(t) is not Zero]
        out_zeros: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            ts = iter(xs[len(primals) :])
            outs, outs_t = rule(xs[: len(primals)], [next(ts) if z is None else z for z in zeros])
            out_zeros[:] = outs_t
            return [*outs, *[t for t in outs_t if type(t) is not Zero]]

        found = _over_batch(flat, size, [*primals, *[t for t, _ in given]], [*dims, *[d for _, d in given]], axis_name, within)
        outs, ts = split_list(found, [len(out_zeros)])
        rest = iter(ts)
        return outs, [_wide(t, size) if type(t) is Zero else next(rest) for t in out_zeros]

    return named_as(over_batch, rule)


def _wide(zero: Zero, size: int) -> Zero:
    return Zero(zero.aval.update(shape=(size, *zero.aval.shape)))


def _slice_of(zero: Zero, dim: int | None) -> Zero:
    if dim is None:
        return zero
    shape = zero.aval.shape
    return Zero(zero.aval.update(shape=shape[:dim] + shape[dim + 1 :]))


class _Named:
    """A function that prints in programs by the name of the user's rule."""

    __slots__ = ("__name__", "fun")

    def __init__(self, fun: Callable[..., Any], name: str):
        self.fun, self.__name__ = fun, name

    def __call__(self, *args: Any) -> Any:
        return self.fun(*args)

    def __repr__(self) -> str:
        return self.__name__


def named_as(fun: Callable[..., Any], like: Any) -> _Named:
    """`fun` under the name of another function."""
    return _Named(fun, function_name(like))


def _staged(call: JVPCall, args: Sequence[Any]) -> list[Any]:
    closed = trace_to_closed(call.fun, [aval_of(a) for a in args], DebugInfo(call.name, "custom_jvp"))
    return custom_jvp_call_p.bind(
        *closed.consts,
        *args,
        name=call.name,
        call_jaxpr=without_consts(closed),
        jvp=call.rule,
        num_consts=len(closed.consts),
        symbolic_zeros=call.symbolic_zeros,
    )


# ---------------------------------------------------------------------------------------------- the staged operation


custom_jvp_call_p = custom_call_op(
    "custom_jvp",
    ("jvp",),
    lambda primals, tangents, *, jvp, **_: jvp(primals, tangents),
    lambda size, dims, axis_name, *, jvp: {"jvp": batched_rule(jvp, size, dims, axis_name)},
)


# ------------------------------------------------------------------------------------------------- the user's side


class custom_jvp:
    """Gives a function its own rule for derivatives (in both modes, as reverse mode transposes the rule).

    Args:
      fun: the function; outside of traces it is called with Python control flow on concrete values.
      nondiff_argnums, nondiff_argnames: arguments that are not differentiated, such as functions; the rule gets them
        first, before primals and tangents.

    >>> from numjet import lax
    >>> from numjet.control import custom_jvp
    >>> @custom_jvp
    ... def f(x):
    ...     return lax.sin(x)
    >>> @f.defjvp
    ... def f_jvp(primals, tangents):
    ...     (x,), (t,) = primals, tangents
    ...     return f(x), lax.cos(x) * t
    >>> float(f(0.0))
    0.0
    """

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()):
        functools.update_wrapper(self, fun)
        self.fun = fun
        self.nondiff_argnums = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.jvp: Callable[..., Any] | None = None
        self.symbolic_zeros = False

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def defjvp(self, jvp: Callable[..., tuple[Any, Any]], symbolic_zeros: bool = False) -> Callable[..., tuple[Any, Any]]:
        """Sets the rule: jvp(*nondiff_args, primals, tangents) -> (result, tangent of the result).

        The tangent must be linear in the tangents. With symbolic_zeros, tangents that are zero come as SymbolicZero.
        """
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets one rule per argument, f(tangent, result, *primals), or None where there is no derivative."""
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out = self(*primals)
            terms = [f(t, out, *primals) for f, t in zip(jvps, tangents, strict=False) if f is not None]
            if not terms:
                return out, tree.tree_map(lambda x: zeros_like_aval(aval_of(x).to_tangent_aval()), out)
            return out, functools.reduce(lambda a, b: tree.tree_map(add, a, b), terms)

        self.defjvp(jvp)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name} using defjvp.")
        args = positional(self.fun, args, kwargs)
        fixed, free, positions = split_nondiff("custom_jvp", args, self.nondiff_argnums)
        flat_fun = FlatFunction(with_fixed(self.fun, fixed, positions), tree.tree_structure(tuple(free)))
        rule = _FlatRule(self, fixed, flat_fun)
        outs = apply_custom_jvp(JVPCall(flat_fun, rule, name, self.symbolic_zeros), frozen_leaves(tuple(free)))
        return tree.tree_unflatten(flat_fun.out_tree, outs)


class FlatFunction:
    """A function of flat arguments with flat results, which records the structure of its result."""

    __slots__ = ("fun", "in_tree", "out_tree")

    def __init__(self, fun: Callable[..., Any], in_tree: Any):
        self.fun, self.in_tree = fun, in_tree
        self.out_tree: Any = None

    def __call__(self, *leaves: Any) -> list[Any]:
        outs, self.out_tree = tree.tree_flatten(self.fun(*tree.tree_unflatten(self.in_tree, map(for_user, leaves))))
        return list(map(frozen, outs))


class _FlatRule(UsersRule):
    """The user's rule on flat primals and tangents, with its results checked."""

    __slots__ = ("fixed", "flat", "owner", "symbolic")

    def __init__(self, owner: custom_jvp, fixed: Sequence[Any], flat: FlatFunction):
        self.owner, self.fixed, self.flat = owner, fixed, flat
        self.symbolic = owner.symbolic_zeros
        self.rule: Any = owner.jvp

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        ts = [for_rule(t, self.symbolic) for t in tangents]
        in_tree = self.flat.in_tree
        given = tree.tree_unflatten(in_tree, map(for_user, primals))
        with source.user_code():
            pair = self.rule(*self.fixed, given, tree.tree_unflatten(in_tree, ts))
        name = function_name(self.owner.fun)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(
                f"Custom JVP rule {self} for function {name} must produce a pair (list or tuple of length two) "
                f"representing primal and tangent outputs, but got {pair}."
            )
        outs, out_tree = tree.tree_flatten(pair[0])
        outs_t, out_tree_t = tree.tree_flatten(pair[1], is_leaf=is_symbolic_zero)
        self._check_trees(name, out_tree, out_tree_t)
        self.flat.out_tree = out_tree
        return list(map(frozen, outs)), [frozen(self._checked(p, t)) for p, t in zip(outs, outs_t, strict=True)]

    def _check_trees(self, name: str, out_tree: Any, out_tree_t: Any) -> None:
        if out_tree != out_tree_t:
            raise TypeError(
                f"Custom JVP rule {self} for function {name} must produce primal and tangent outputs with equal "
                f"container (pytree) structures, but got {out_tree} and {out_tree_t} respectively."
            )
        if self.flat.out_tree is not None and self.flat.out_tree != out_tree:
            raise TypeError(
                f"Custom JVP rule {self} for function {name} must produce a pair whose first element has the "
                f"structure of the function's own result, {self.flat.out_tree}, but got {out_tree}."
            )

    def _checked(self, primal: Any, tangent: Any) -> Any:
        aval = aval_of(primal)
        expected = aval.to_tangent_aval()
        tangent = from_rule(tangent)
        got = tangent.aval if type(tangent) is Zero else aval_of(tangent)
        if (got.shape, got.dtype) != (expected.shape, expected.dtype):
            raise TypeError(
                f"Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. "
                f"Expected {expected} (tangent type of {aval}) but got {got}."
            )
        return tangent
