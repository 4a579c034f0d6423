"""`custom_vmap`: functions with a batching rule of their own, and `sequential_vmap`, whose rule is a loop.

A call is one operation, `custom_vmap_call`, which holds the function's program and its rule. Batching the operation calls the
rule; the operation's derivative holds the derivative of the program, with the derivative of the rule; its transpose, those of
both. Reverse mode computes the results once more with their tangents, as no rule says how to batch what a split would keep.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.call.body_tracing import cached_with, trace_body
from numjet.control.call.jaxpr_transforms import (
    batch_program,
    cached_by_program,
    holds_effects,
    jvp_program,
    nonzero_flags,
    only_nonzero,
    split_program,
    transpose_program,
    with_zeros,
)
from numjet.control.custom.custom_calls import FunctionWithRules, UsersRule, for_user, positional
from numjet.control.loops.map import map as lax_map
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Missing, Op, Undefined
from numjet.core.printing_rules import PrintingRule
from numjet.core.snapshots import frozen, frozen_leaves
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.traits import CALLS
from numjet.core.walk import eval_closed
from numjet.foundation import source, tree
from numjet.foundation.util import function_name, merge_lists, partition_list, split_list
from numjet.lax.indexing.dynamic_slicing import dynamic_index_in_dim
from numjet.lax.reduction.reduce import reduce_sum_p
from numjet.lax.shape.create import iota
from numjet.lax.tangent import instantiate, zero_tangent
from numjet.lax.templates import in_front
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.transpose import backward_pass
from numjet.transforms.vmap import batch_flat, move_to

# rule(batch size, which operands are batched in axis 0, operands) -> (results, which of them are batched in axis 0)
Rule = Callable[[int, Sequence[bool], Sequence[Any]], tuple[list[Any], list[bool]]]


class custom_vmap(FunctionWithRules):
    """Gives a function its own rule for batches: `vmap` of the function calls the rule.

    Without vmap the function is what it is. Derivatives are those of the function, and under vmap those of the rule.

    Args:
      fun: function of pytrees of arrays.

    >>> from numjet import lax, vmap
    >>> import numpy as np
    >>> @custom_vmap
    ... def f(x, y):
    ...     return lax.add(x, y)
    >>> @f.def_vmap
    ... def f_vmap(axis_size, in_batched, xs, ys):
    ...     return lax.mul(xs, ys), True
    >>> vmap(f)(np.arange(3), np.arange(1, 4)).tolist()
    [0, 2, 6]
    """

    rules = ("vmap_rule",)
    vmap_rule: Callable[..., Any] | None

    def def_vmap(self, vmap_rule: Callable[..., tuple[Any, Any]]) -> Callable[..., tuple[Any, Any]]:
        """Sets the rule: vmap_rule(axis_size, in_batched, *args) -> (result, out_batched).

        Args:
          vmap_rule: gets the size of the batch, for every argument a bool per array (in a pytree like the argument), and the
            arguments, with the batch in axis 0 where they have one. out_batched is a pytree of bools like the result.

        Returns:
          The rule.
        """
        self.vmap_rule = vmap_rule
        return vmap_rule

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        name = function_name(self.fun)
        if self.vmap_rule is None:
            raise AttributeError(f"No batching rule defined for custom_vmap function {name} using def_vmap.")
        args = self._by_position(name, args, kwargs)
        in_tree = tree.tree_structure(args)
        leaves = frozen_leaves(args)
        body = trace_body(_called(self.fun), in_tree, [aval_of(x) for x in leaves], "custom_vmap")
        rule = _FlatRule(self.vmap_rule, in_tree, body.out_tree, body.jaxpr.out_avals)
        outs = custom_vmap_call_p.bind(*body.consts, *leaves, name=name, call=body.jaxpr, rule=rule,
                                       num_consts=len(body.consts))
        return tree.tree_unflatten(body.out_tree, outs)

    def _by_position(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
        try:
            return positional("custom_vmap", self.fun, args, kwargs)
        except TypeError as error:
            raise TypeError(f"The input arguments to the custom_vmap-decorated function {name} could not be ordered by "
                            f"position, as the rule gets them:\n{error}") from None


def _called(fun: Callable[..., Any]) -> Callable[..., Any]:
    """A function, for tracing: also where `fun` is an object with rules of its own."""
    def call(*args: Any) -> Any:
        return fun(*args)

    call.__name__ = function_name(fun)
    return cached_with(fun, call)


def sequential_vmap(f: Callable[..., Any]) -> custom_vmap:
    """Makes a function whose vmap is a loop over the batch, one element at a time.

    Args:
      f: function of pytrees of arrays.

    Returns:
      The function, as a `custom_vmap` with its rule set.

    >>> from numjet import lax, vmap
    >>> import numpy as np
    >>> vmap(sequential_vmap(lambda x: lax.neg(x)))(np.arange(3)).tolist()
    [0, -1, -2]
    """
    wrapped = custom_vmap(f)

    @wrapped.def_vmap
    def rule(axis_size: int, in_batched: Any, *args: Any) -> tuple[Any, Any]:
        del axis_size
        flags, structure = tree.tree_flatten(tuple(in_batched))
        fixed, mapped = partition_list(flags, tree.tree_leaves(args))
        element = lambda xs: wrapped(*tree.tree_unflatten(structure, merge_lists(flags, fixed, xs)))
        out = lax_map(element, mapped)
        return out, tree.tree_map(lambda _: True, out)

    return wrapped


# --------------------------------------------------------------------------------------------- rules on flat operands


class _FlatRule(UsersRule):
    """The user's rule on flat operands, with its results checked. out_avals: those of one element."""

    __slots__ = ("in_tree", "out_avals", "out_tree")

    def __init__(self, rule: Any, in_tree: Any, out_tree: Any, out_avals: Sequence[ShapedArray]):
        self.rule, self.in_tree, self.out_tree, self.out_avals = rule, in_tree, out_tree, tuple(out_avals)

    def __call__(self, size: int, batched: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        given = tree.tree_unflatten(self.in_tree, map(for_user, args))
        with source.user_code():
            pair = self.rule(size, list(tree.tree_unflatten(self.in_tree, batched)), *given)
        if not isinstance(pair, (tuple, list)) or len(pair) != 2:
            raise ValueError(f"custom vmap rule ({self}) must return a pair (result, out_batched), got {pair!r}")
        outs, out_tree = tree.tree_flatten(pair[0])
        flags, flags_tree = tree.tree_flatten(pair[1])
        if out_tree != flags_tree:
            raise ValueError(
                "structure of output value and output batching specification returned by custom vmap rule "
                f"({self}) do not match.\nOutput values: {out_tree}\nBatching spec: {flags_tree}")
        if out_tree != self.out_tree:
            raise ValueError(
                f"structure of output returned by custom vmap rule ({self}) does not match that of original "
                f"custom-vmapped function.\nOriginal output: {self.out_tree}\nRule output: {out_tree}")
        if not any(batched):  # there are rules that say so of every result
            flags = [f and aval_of(o).ndim > a.ndim for o, f, a in zip(outs, flags, self.out_avals, strict=True)]
        for out, flag in zip(outs, flags, strict=True):
            self._check(size, aval_of(out), flag)
        return list(map(frozen, outs)), list(map(bool, flags))

    def _check(self, size: int, aval: ShapedArray, batched: Any) -> None:
        if batched and aval.shape[:1] != (size,):
            raise ValueError(f"custom vmap rule ({self}) says that a result is batched, but its axis 0 has not the batch size "
                             f"{size}: it returned {aval}")


class _RuleJvp(UsersRule):
    """The derivative of a rule: on (*primals, *nonzero tangents), with results and the tangents of `wanted`.

    const_tangents: how many of the call's constants, at their end, are tangents of constants, which the rule cannot see.
    """

    __slots__ = ("const_tangents", "inner", "nonzeros", "wanted")

    def __init__(self, inner: Any, const_tangents: int, nonzeros: Sequence[bool], wanted: Sequence[bool]):
        self.inner, self.const_tangents, self.nonzeros, self.wanted = inner, const_tangents, tuple(nonzeros), tuple(wanted)
        self.rule = inner.rule

    def tangents(self, num_consts: int) -> tuple[bool, ...]:
        """Which operands of the call are tangents."""
        own = num_consts - self.const_tangents
        return (False,) * own + (True,) * self.const_tangents + (False,) * len(self.nonzeros) + (True,) * sum(self.nonzeros)

    def __call__(self, size: int, batched: Sequence[bool], args: Sequence[Any],
                 repeats: bool = False) -> tuple[list[Any], list[bool]]:
        """repeats: the rule sees all primals that are batched so, as in a call without tangents."""
        if self.const_tangents:
            raise _closed_over(self)
        both, args, extra = self._matched(size, list(batched), list(args), repeats)
        if not any(extra):
            outs, found = self._derivative(size, both, args)
            return outs, [*found, *[f for f, w in zip(found, self.wanted, strict=True) if w]]

        def element(which: Any, *xs: Any) -> list[Any]:
            outs, found = self._derivative(size, both, xs)
            flags = [*found, *[f for f, w in zip(found, self.wanted, strict=True) if w]]
            return [dynamic_index_in_dim(o, which, 0, False) if f else o for o, f in zip(outs, flags, strict=True)]

        outs, dims = batch_flat(element, size, [iota(np.int32, size), *args], [0, *[0 if e else None for e in extra]])
        outs = [o if d is None else move_to(o, d, 0, size) for o, d in zip(outs, dims, strict=True)]
        return outs, [d is not None for d in dims]

    def _derivative(self, size: int, batched: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        """Results and the tangents of `wanted`; which of the results the rule says are batched."""
        count, found = len(self.nonzeros), list[bool]()
        ts = iter(args[count:])
        tangents = [next(ts) if f else zero_tangent(aval_of(p)) for p, f in zip(args[:count], self.nonzeros, strict=True)]

        def run(*primals: Any) -> list[Any]:
            outs, found[:] = self.inner(size, batched, primals)
            return outs

        outs, outs_t = jvp_flat(run, args[:count], tangents)
        return [*outs, *[instantiate(t) for t, w in zip(outs_t, self.wanted, strict=True) if w]], found

    def _matched(self, size: int, batched: list[bool], args: list[Any],
                 repeats: bool) -> tuple[list[bool], list[Any], list[bool]]:
        """Which primals the rule sees batched, the operands, and which of them have a batch that the rule does not see.

        A primal and its tangent go through the rule alike. Where only one is batched, and no pair is, the derivative is
        mapped over it, as JAX does; else the other is repeated.
        """
        count = len(self.nonzeros)
        of_tangent = iter(range(count, len(args)))
        pairs = [(i, next(of_tangent) if f else None) for i, f in enumerate(self.nonzeros)]
        both = [batched[i] and (t is None or batched[t]) for i, t in pairs]
        extra = list(batched)
        if any(both) or repeats and any(batched[:count]):
            for i, t in pairs:
                if t is not None and batched[i] != batched[t]:
                    lacking = t if batched[i] else i
                    args[lacking], both[i] = move_to(args[lacking], None, 0, size), True
            extra = [False] * len(args)
        return both, args, extra


class _RuleTangents(UsersRule):
    """The derivative of a rule, of which the tangents are the results."""

    __slots__ = ("inner",)

    def __init__(self, inner: _RuleJvp):
        self.inner, self.rule = inner, inner.rule

    def __call__(self, size: int, batched: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        outs, flags = self.inner(size, batched, args, repeats=True)
        first = len(outs) - sum(self.inner.wanted)
        return outs[first:], flags[first:]


class _RuleTranspose(UsersRule):
    """The transpose of a rule that is linear in some operands: on (*other operands, *nonzero cotangents).

    avals: of the linear operands of one element. linear: which operands they are. closed_over: there are more among the
    constants, which the rule cannot see.
    """

    __slots__ = ("avals", "closed_over", "inner", "linear", "nonzeros")

    def __init__(self, inner: Any, closed_over: bool, avals: Sequence[ShapedArray], linear: Sequence[bool],
                 nonzeros: Sequence[bool]):
        self.inner, self.closed_over, self.rule = inner, closed_over, inner.rule
        self.avals, self.linear, self.nonzeros = tuple(avals), tuple(linear), tuple(nonzeros)

    def __call__(self, size: int, batched: Sequence[bool], args: Sequence[Any]) -> tuple[list[Any], list[bool]]:
        if self.closed_over:
            raise _closed_over(self)
        count = self.linear.count(False)
        known, flags = args[:count], merge_lists(self.linear, batched[:count], [True] * len(self.avals))
        found: list[bool] = []

        def mapped(*linear: Any) -> list[Any]:
            outs, found[:] = self.inner(size, flags, merge_lists(self.linear, known, linear))
            return outs

        closed = trace_to_closed(mapped, [a.update(shape=(size, *a.shape)) for a in self.avals])
        given = iter(zip(args[count:], batched[count:], strict=True))
        cts = [self._matched(size, *next(given), to) if nonzero else zero_tangent(aval)
               for nonzero, to, aval in zip(self.nonzeros, found, closed.out_avals, strict=True)]
        outs = backward_pass(closed.jaxpr, closed.consts, [Undefined(v.aval) for v in closed.jaxpr.invars], cts)
        return [instantiate(c) for c in outs], [True] * len(outs)

    @staticmethod
    def _matched(size: int, ct: Any, batched: bool, to: bool) -> Any:
        """A cotangent with the batch that its result has: that of a result without one is the sum over the batch."""
        if batched == to:
            return ct
        return move_to(ct, None, 0, size) if to else reduce_sum_p.bind(ct, axes=(0,))


def _closed_over(rule: UsersRule) -> NotImplementedError:
    return NotImplementedError(
        f"vmap of the derivative of the custom_vmap function with the rule {rule}, with respect to a value that it closes "
        "over: its rule gets only the arguments. Pass the value as an argument.")


# ---------------------------------------------------------------------------------------------------------- the record


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], *, name: str, call: ClosedJaxpr, rule: Any,
         num_consts: int) -> tuple[list[Any], list[Any]]:
    nonzeros = nonzero_flags(tangents)
    params = {"name": name, "call": call, "rule": rule, "num_consts": num_consts}
    linear = _linear_operands(rule, num_consts, len(primals))
    if all(lin or not nz for lin, nz in zip(linear, nonzeros, strict=True)):
        given = [instantiate(t) if lin else p for p, t, lin in zip(primals, tangents, linear, strict=True)]
        return custom_vmap_call_p.bind(*primals, **params), custom_vmap_call_p.bind(*given, **params)
    made = jvp_program(call, nonzeros, False)
    consts = [*made.consts, *primals[:num_consts], *only_nonzero(tangents[:num_consts])]
    # The rule's operands come last: constants of all kinds in front.
    order = _constants_first(made.jaxpr, len(made.consts), len(primals), num_consts, nonzeros)
    derived = _RuleJvp(rule, sum(nonzeros[:num_consts]), nonzeros[num_consts:], made.flags)
    outs = custom_vmap_call_p.bind(*consts, *primals[num_consts:], *only_nonzero(tangents[num_consts:]), name=name,
                                   call=order, rule=derived, num_consts=len(consts))
    count = len(made.flags)
    return outs[:count], with_zeros(made.flags, outs[count:], call.out_avals)


def _linear_operands(rule: Any, num_consts: int, count: int) -> tuple[bool, ...]:
    """In which operands a call is linear, all of them together."""
    if type(rule) is _RuleTangents:
        return rule.inner.tangents(num_consts)
    cts = sum(rule.nonzeros) if type(rule) is _RuleTranspose else 0
    return (False,) * (count - cts) + (True,) * cts


def _constants_first(closed: ClosedJaxpr, made: int, count: int, num_consts: int, nonzeros: Sequence[bool]) -> ClosedJaxpr:
    """The derived program with the tangents of the constants moved to the constants."""
    moved = sum(nonzeros[:num_consts])
    if not moved:
        return closed
    consts, primals, const_ts, ts = split_list(closed.jaxpr.invars, [made + num_consts, count - num_consts, moved])
    return ClosedJaxpr(closed.jaxpr.replace(invars=[*consts, *const_ts, *primals, *ts]))


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, name: str, call: ClosedJaxpr, rule: Any,
           num_consts: int, axis_name: Any = None) -> tuple[list[Any], list[int | None]]:
    if any(d is not None for d in dims[:num_consts]):
        raise NotImplementedError(
            f"The custom_vmap function {name} closes over a value that an enclosing vmap maps over: its rule gets only the "
            "arguments. Pass the value as an argument.")
    if all(d is None for d in dims):  # for the collectives in the program
        made = batch_program(call, size, (False,) * len(dims), False, axis_name)
        return eval_closed(made.jaxpr, *made.consts, *args), [0 if f else None for f in made.flags]
    front = in_front(args, dims)[num_consts:]
    outs, flags = rule(size, [d is not None for d in dims[num_consts:]], front)
    return outs, [0 if f else None for f in flags]


def _partial_eval(trace: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
    """Results of the primals, which are known, and a call for the tangents, which computes the primals again."""
    rule, num_consts = params["rule"], params["num_consts"]
    flags = rule.tangents(num_consts) if type(rule) is _RuleJvp else (False,) * len(args)
    if any(trace.is_unknown(a) and not t for a, t in zip(args, flags, strict=True)):
        return trace.stage(custom_vmap_call_p, args, params)
    consts, known, tangent = _parts(params["call"], flags, sum(rule.wanted))
    outs = trace.run_known(custom_vmap_call_p, [*consts, *partition_list(flags, args)[0]], {
        **params, "call": known, "rule": rule.inner, "num_consts": len(consts) + num_consts - rule.const_tangents})
    return [*outs, *trace.stage(custom_vmap_call_p, [*consts, *args], {
        **params, "call": tangent, "rule": _RuleTangents(rule), "num_consts": len(consts) + num_consts})]


def _parts(call: ClosedJaxpr, tangents: tuple[bool, ...], wanted: int) -> tuple[Sequence[Any], ClosedJaxpr, ClosedJaxpr]:
    """The constants of both programs: that of the results, without the operands that are tangents, and that of the tangents."""
    count = len(call.out_avals) - wanted
    split = split_program(call, tangents, (False,) * count + (True,) * wanted)
    return split.consts, _results(split.known, 0, count), _tangents(call, tangents, wanted)


@cached_by_program
def _tangents(call: ClosedJaxpr, tangents: tuple[bool, ...], wanted: int) -> ClosedJaxpr:
    """The program of the tangents: (*constants, *operands) -> tangents. No equation, such as a branch, computes results along
    with their tangents, or what reads those results could not be transposed."""
    count = len(call.out_avals) - wanted
    split = split_program(call, tangents, (False,) * count + (True,) * wanted)
    avals = [*map(aval_of, split.consts), *call.in_avals]

    def run(*args: Any) -> list[Any]:
        consts, operands = args[:len(split.consts)], args[len(split.consts):]
        known, unknown = partition_list(tangents, operands)
        ins = [*consts, *known]
        residuals = split.pick(ins, eval_closed(split.known, *ins))
        outs = list(eval_closed(split.unknown, *residuals, *unknown))
        return outs[len(outs) - wanted:]
    return trace_to_closed(run, avals)


@cached_by_program
def _results(call: ClosedJaxpr, first: int, count: int) -> ClosedJaxpr:
    """The program of some of the results, of the same operands."""
    outvars = call.jaxpr.outvars[first:first + count]
    return ClosedJaxpr(dce_jaxpr(call.jaxpr.replace(outvars=outvars), keep_inputs=True)[0])


def _transpose(cts: Sequence[Any], *args: Any, name: str, call: ClosedJaxpr, rule: Any, num_consts: int) -> list[Any]:
    linear, nonzeros = tuple(type(a) is Undefined for a in args), nonzero_flags(cts)
    made = transpose_program(call, linear, nonzeros, True)
    derived = _RuleTranspose(rule, any(linear[:num_consts]), [a.aval for a in args[num_consts:] if type(a) is Undefined],
                             linear[num_consts:], nonzeros)
    known = partition_list(linear, args)[0]
    found = iter(custom_vmap_call_p.bind(*made.consts, *known, *only_nonzero(cts), name=name, call=made.jaxpr, rule=derived,
                                         num_consts=len(made.consts) + linear[:num_consts].count(False)))
    return [next(found) if f else None for f in linear]


custom_vmap_call_p = Op(
    name="custom_vmap_call",
    params=("name", "call", "rule", "num_consts"),
    multiple=True,
    programs=True,
    abstract=lambda *avals, call, **_: call.out_avals,
    eager=lambda *args, call, **_: eval_closed(call, *args),
    jvp=_jvp,
    transpose=_transpose,
    batch=_batch,
    partial_eval=_partial_eval,
    cpu=lambda b, *args, call, **_: b.inline(call, args),
    hlo=lambda b, *args, call, **_: b.inline(call, args),
    inline=lambda eqn: (eqn.params["call"], eqn.invars),
    effects=holds_effects,
    functions=frozenset({"rule"}),
    traits=CALLS,
    printing=PrintingRule(first=("name", "call"), implied={"num_consts": 0}),
    samples=Missing("holds a program"),
)
