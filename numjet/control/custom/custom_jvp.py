"""`custom_jvp`: functions with a forward-mode rule of their own; see `custom_calls`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numjet.control.custom.custom_calls import (
    Batch,
    Call,
    CustomCalls,
    FunctionWithRules,
    UsersRule,
    check_results,
    element_of,
    for_rule,
    for_user,
    from_rule,
    is_symbolic_zero,
    named_as,
    positional,
    split_nondiff,
    typed,
    with_fixed,
)
from numjet.core.op import Zero
from numjet.core.refs import Ref, check_distinct, returned_ref
from numjet.core.snapshots import frozen, frozen_leaves
from numjet.core.trace import EVAL, Tracer, aval_of, current_trace
from numjet.core.user_functions import argument_names, where
from numjet.foundation import source, tree
from numjet.foundation.util import function_name, split_list
from numjet.lax.elementwise.arithmetic import add
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.tangent import zeros_like_aval

Rule = Callable[[Sequence[Any], Sequence[Any]], tuple[list[Any], list[Any]]]


def batched_jvp(batch: Batch, dims: Sequence[int | None], *, jvp: Rule) -> dict[str, Any]:
    """The rule of a function over a batch, with all results batched in axis 0."""
    def over_batch(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        zeros = [element_of(t, d) if type(t) is Zero else None for t, d in zip(tangents, dims, strict=True)]
        given = [(t, d) for t, d in zip(tangents, dims, strict=True) if type(t) is not Zero]
        out_zeros: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            ts = iter(xs[len(primals):])
            outs, outs_t = jvp(xs[:len(primals)], [next(ts) if z is None else z for z in zeros])
            out_zeros[:] = outs_t
            return [*outs, *[t for t in outs_t if type(t) is not Zero]]

        found = batch.run(flat, [*primals, *[t for t, _ in given]], [*dims, *[d for _, d in given]])
        outs, ts = split_list(found, [len(out_zeros)])
        perturbed = iter(batch.mapped[len(outs):])
        batch.mapped = [m | (type(t) is not Zero and next(perturbed))
                        for m, t in zip(batch.mapped[:len(outs)], out_zeros, strict=True)]
        rest = iter(ts)
        return outs, [batch.wide(t, 0) if type(t) is Zero else next(rest) for t in out_zeros]

    return {"jvp": named_as(over_batch, jvp)}


_calls = CustomCalls("custom_jvp", ("jvp",), lambda primals, tangents, name, jvp: jvp(primals, tangents), batched_jvp)
custom_jvp_call_p = _calls.op


def apply_custom_jvp(fun: Callable[..., list[Any]], rule: Rule, name: str, symbolic_zeros: bool,
                     args: Sequence[Any]) -> list[Any]:
    """Calls a function of flat arguments with a forward-mode rule under the current trace."""
    return _calls.apply(Call(fun, {"jvp": rule}, name, symbolic_zeros), args)


# ------------------------------------------------------------------------------------------------- the user's side


class custom_jvp(FunctionWithRules):
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

    rules = ("jvp",)
    jvp: Callable[..., Any] | None

    def defjvp(self, jvp: Callable[..., tuple[Any, Any]], symbolic_zeros: bool = False) -> Callable[..., tuple[Any, Any]]:
        """Sets the rule: jvp(*nondiff_args, primals, tangents) -> (result, tangent of the result).

        The tangent must be linear in the tangents. With symbolic_zeros, tangents that are zero come as SymbolicZero.
        """
        self.jvp, self.symbolic_zeros = jvp, symbolic_zeros
        return jvp

    def defjvps(self, *jvps: Callable[..., Any] | None) -> None:
        """Sets one rule per argument, f(tangent, result, *primals), or None where there is no derivative.

        Rules of arguments whose tangents are zero are not called: an infinite slope times their zero would be NaN.
        """
        if self.nondiff_argnums:
            raise TypeError("Can't use ``defjvps`` with ``nondiff_argnums``.")

        def jvp(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[Any, Any]:
            out = self(*primals)
            terms = [f(_filled(t), out, *primals) for f, t in zip(jvps, tangents, strict=False)
                     if f is not None and not _is_zero(t)]
            if not terms:
                return out, tree.tree_map(lambda x: zeros_like_aval(aval_of(x).to_tangent_aval()), out)
            return out, functools.reduce(lambda a, b: tree.tree_map(add, a, b), terms)

        self.defjvp(jvp, symbolic_zeros=True)

    @source.api_boundary
    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.jvp is None:
            raise AttributeError(f"No JVP defined for custom_jvp function {name} using defjvp.")
        args = positional("custom_jvp", self.fun, args, kwargs)
        fixed, free, positions = split_nondiff("custom_jvp", args, self.nondiff_argnums)
        fixed = [_constant(x) for x in fixed]
        flat_fun = FlatFunction(with_fixed(self.fun, fixed, positions), free, "custom_jvp")
        rule = _FlatRule(self, fixed, flat_fun)
        outs = apply_custom_jvp(flat_fun, rule, name, self.symbolic_zeros, operands(free))
        return tree.tree_unflatten(flat_fun.out_tree, outs)


def _is_zero(tangents: Any) -> bool:
    return all(map(is_symbolic_zero, tree.tree_leaves(tangents, is_leaf=is_symbolic_zero)))


def _filled(tangents: Any) -> Any:
    """A pytree of tangents with arrays in place of those that are zero."""
    return tree.tree_map(lambda t: zeros_like_aval(t.aval) if is_symbolic_zero(t) else t, tangents, is_leaf=is_symbolic_zero)


def _constant(x: Any) -> Any:
    """An argument that is not differentiated: where it is traced, it has no derivative."""
    traced = any(isinstance(leaf, Tracer) for leaf in tree.tree_leaves(x))
    return tree.tree_map(lambda leaf: stop_gradient(leaf) if isinstance(leaf, Tracer) else leaf, x) if traced else x


class FlatFunction:
    """A function of flat arguments with flat results, which records the structure of its result, and its types while tracing.

    refs: mutable references among the leaves of the arguments, with their positions; they are no operands.
    """

    __slots__ = ("fun", "in_tree", "kind", "out_avals", "out_tree", "refs")

    def __init__(self, fun: Callable[..., Any], args: Sequence[Any], kind: str):
        leaves, self.in_tree = tree.tree_flatten(tuple(args))
        check_distinct(leaves, lambda: argument_names(fun, self.in_tree), where(fun), kind)
        self.fun, self.kind = fun, kind
        self.refs = tuple((i, x) for i, x in enumerate(leaves) if isinstance(x, Ref))
        self.out_tree: Any = None
        self.out_avals: Any = None

    def arguments(self, values: Iterable[Any]) -> Any:
        """The arguments with these leaves, and the references as they are."""
        leaves = list(values)
        for i, ref in self.refs:
            leaves.insert(i, ref)
        return tree.tree_unflatten(self.in_tree, leaves)

    def __call__(self, *leaves: Any) -> list[Any]:
        given = [typed(for_user(x)) for x in leaves]  # the function, unlike a rule, may ask a number for its dtype
        outs, self.out_tree = tree.tree_flatten(self.fun(*self.arguments(given)))
        for x in outs:
            if isinstance(x, Ref):
                raise returned_ref(x, where(self.fun), f"{self.kind} primal function")
        self.out_avals = None if current_trace() is EVAL else [aval_of(x) for x in outs]
        return list(map(frozen, outs))


def operands(args: Sequence[Any]) -> list[Any]:
    """The arrays among arguments, as immutable values."""
    return [x for x in frozen_leaves(tuple(args)) if not isinstance(x, Ref)]


class _FlatRule(UsersRule):
    """The user's rule on flat primals and tangents, with its results checked."""

    __slots__ = ("fixed", "flat", "owner", "symbolic")

    def __init__(self, owner: custom_jvp, fixed: Sequence[Any], flat: FlatFunction):
        self.owner, self.fixed, self.flat = owner, fixed, flat
        self.symbolic = owner.symbolic_zeros
        self.rule: Any = owner.jvp

    def __call__(self, primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        ts = [for_rule(t, self.symbolic) for t in tangents]
        if self.flat.refs:
            raise NotImplementedError(f"differentiation of the custom_jvp function {function_name(self.owner.fun)}, which "
                                      "takes a mutable reference: there is no tangent for it. Pass its value, ref[...].")
        in_tree = self.flat.in_tree
        given = tree.tree_unflatten(in_tree, map(for_user, primals))
        with source.user_code():
            pair = self.rule(*self.fixed, given, tree.tree_unflatten(in_tree, ts))
        name = function_name(self.owner.fun)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise TypeError(f"Custom JVP rule {self} for function {name} must produce a pair (list or tuple of length two) "
                            f"representing primal and tangent outputs, but got {pair}.")
        outs, out_tree = tree.tree_flatten(pair[0])
        outs_t, out_tree_t = tree.tree_flatten(pair[1], is_leaf=is_symbolic_zero)
        self._check_trees(name, out_tree, out_tree_t)
        check_results(
            lambda same: f"Custom JVP rule {self} for function {name} must produce a pair (list or tuple of length two) where "
            "the first element represents the primal output (equal in value to the output of the custom_jvp-decorated function "
            f"{name}, and in particular {same})", "JVP rule", f"custom_jvp-decorated function {name}",
            (self.flat.out_tree, self.flat.out_avals), (out_tree, [aval_of(x) for x in outs]))
        self.flat.out_tree = out_tree
        return list(map(frozen, outs)), [frozen(self._checked(p, t)) for p, t in zip(outs, outs_t, strict=True)]

    def _check_trees(self, name: str, out_tree: Any, out_tree_t: Any) -> None:
        if out_tree != out_tree_t:
            raise TypeError(f"Custom JVP rule {self} for function {name} must produce primal and tangent outputs with equal "
                            f"container (pytree) structures, but got {out_tree} and {out_tree_t} respectively.")

    def _checked(self, primal: Any, tangent: Any) -> Any:
        aval = aval_of(primal)
        expected = aval.to_tangent_aval()
        tangent = from_rule(tangent)
        got = tangent.aval if type(tangent) is Zero else aval_of(tangent)
        if (got.shape, got.dtype) != (expected.shape, expected.dtype):
            raise TypeError(f"Custom JVP rule must produce primal and tangent outputs with corresponding shapes and dtypes. "
                            f"Expected {expected} (tangent type of {aval}) but got {got}.")
        return tangent
