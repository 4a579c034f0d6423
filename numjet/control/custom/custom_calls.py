"""Common parts of custom_jvp and custom_vjp: arguments, symbolic zeros, calls under each trace, and the staged operation.

The current trace handles a call of a function with rules: evaluation calls the function (with Python control flow on
concrete values), differentiation calls the rules, vectorization vectorizes both, staging records an operation whose
jaxpr is evaluated, and whose rules are used when that program is differentiated.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from numjet.control.call.call import call_transpose
from numjet.control.call.jaxpr_transforms import batch_program, holds_effects, without_consts
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Literal
from numjet.core.op import Missing, Op, Zero
from numjet.core.printing_rules import PrintingRule
from numjet.core.stage import DebugInfo, StageTrace, trace_to_closed
from numjet.core.trace import EVAL, Trace, Tracer, aval_of, current_trace, set_trace
from numjet.core.traits import CALLS
from numjet.core.walk import eval_closed
from numjet.foundation import dtypes, errors, tree
from numjet.foundation.linear_util import WrappedFun
from numjet.foundation.util import function_name, wraps
from numjet.lax.axes import insert, without
from numjet.lax.elementwise.convert import constant
from numjet.lax.indexing.slicing import index_in_dim
from numjet.lax.tangent import zeros_like_aval
from numjet.lax.templates import in_front
from numjet.transforms.jvp import JVPTrace
from numjet.transforms.linearize import PartialTrace
from numjet.transforms.vmap import BatchTrace, batch_flat, move_to


class SymbolicZero:
    """A zero tangent or cotangent in the form for rules that are defined with symbolic_zeros=True."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    @staticmethod
    def from_primal_value(val: Any) -> SymbolicZero:
        """The zero tangent of a value."""
        return SymbolicZero(aval_of(val).to_tangent_aval())

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


def zero_from_primal(val: Any, symbolic_zeros: bool = False) -> Any:
    """The zero tangents of a pytree of values: arrays (of dtype float0 for integers), or SymbolicZeros.

    >>> float(zero_from_primal(2.0))
    0.0
    >>> zero_from_primal(2.0, symbolic_zeros=True)
    SymbolicZero(float32[])
    """
    make = SymbolicZero if symbolic_zeros else zeros_like_aval
    return tree.tree_map(lambda x: make(aval_of(x).to_tangent_aval()), val)


class FunctionWithRules:
    """Base of custom_jvp and custom_vjp: a user's function, and its rules once they are set."""

    rules: tuple[str, ...]

    def __init__(self, fun: Callable[..., Any], nondiff_argnums: Sequence[int] = (), nondiff_argnames: Sequence[str] = ()):
        wraps(fun)(self)
        self.fun = fun
        self.nondiff_argnums = nondiff_positions(fun, nondiff_argnums, nondiff_argnames)
        self.symbolic_zeros = False
        self.__dict__.update(dict.fromkeys(self.rules))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else functools.partial(self, instance)

    def __getattr__(self, name: str) -> Any:
        """The methods that set other rules are those of the function inside, so that decorators can be stacked."""
        if name in _SETTERS and isinstance(self.__dict__.get("fun"), FunctionWithRules):
            return getattr(self.fun, name)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}", name=name, obj=self)


_SETTERS = frozenset({"defjvp", "defjvps", "defvjp", "def_vmap"})


class UsersRule:
    """Base of wrappers of a user's rule, which have its name in messages and printed programs."""

    __slots__ = ("rule",)
    rule: Any

    @property
    def __name__(self) -> str:
        return function_name(self.rule)

    def __repr__(self) -> str:
        return self.__name__


def is_symbolic_zero(x: Any) -> bool:
    return type(x) is SymbolicZero


def for_user(x: Any) -> Any:
    """A value for a user's function or rule: a literal becomes an array."""
    return constant(x.val, x.aval.dtype, x.aval.weak_type) if type(x) is Literal else x


def typed(x: Any) -> Any:
    """A Python number as an array, which has a dtype, and a derivative; other values as they are."""
    if type(x) not in (int, float, complex):
        return x
    aval = aval_of(x)
    return constant(x, aval.dtype, aval.weak_type)


def for_rule(t: Any, symbolic: bool) -> Any:
    """A tangent or cotangent for the user's rule."""
    if type(t) is not Zero:
        return for_user(t)
    return SymbolicZero(t.aval) if symbolic else zeros_like_aval(t.aval)


def from_rule(t: Any) -> Any:
    """A tangent or cotangent that the user's rule returned; float0 arrays are symbolic zeros, too."""
    if type(t) is SymbolicZero:
        return Zero(t.aval)
    aval = aval_of(t) if getattr(t, "dtype", None) != dtypes.float0 else ShapedArray(t.shape, dtypes.float0)
    return Zero(aval) if aval.dtype == dtypes.float0 else t


def positional(kind: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of a call by position, with the defaults of those that were left out.

    Raises TypeError for keyword-only parameters that the call names, as rules could not name them.
    """
    if not kwargs and _takes(fun, len(args)):
        return tuple(args)
    try:
        signature = inspect.signature(fun)
    except (ValueError, TypeError):
        if kwargs:
            raise TypeError(f"{fun} has no signature by which to order the keyword arguments {sorted(kwargs)}") from None
        return tuple(args)
    name = function_name(fun)
    try:
        bound = signature.bind(*args, **kwargs)
    except TypeError as error:
        raise TypeError(f"The input arguments to the {kind}-decorated function {name}{signature} could not be resolved to "
                        f"positions.\n{error}") from None
    bound.apply_defaults()
    if bound.kwargs.keys() & kwargs.keys():
        raise TypeError(f"The input arguments to the {kind}-decorated function {name}{signature} could not be resolved to "
                        "positions.\nThe following keyword arguments could not be resolved to positions: "
                        f"{', '.join(bound.kwargs)}")
    return bound.args


def _takes(fun: Callable[..., Any], count: int) -> bool:
    """Whether a plain function has exactly `count` positional parameters, so that its signature is not needed."""
    if type(fun) is not FunctionType or fun.__dict__:
        return False
    code = fun.__code__
    return code.co_argcount == count and not code.co_kwonlyargcount and not code.co_flags & _VARIADIC


_VARIADIC = inspect.CO_VARARGS | inspect.CO_VARKEYWORDS


def nondiff_positions(fun: Callable[..., Any], argnums: Any, argnames: Any) -> tuple[int, ...]:
    """The positions of the arguments that are not differentiated, given by position and by name."""
    found = [argnums] if isinstance(argnums, int) else list(argnums)
    names = [argnames] if isinstance(argnames, str) else list(argnames)
    if names:
        parameters = list(inspect.signature(fun).parameters)
        unknown = [n for n in names if n not in parameters]
        if unknown:
            raise ValueError(f"nondiff_argnames {unknown} are no parameters of {fun}: those are {parameters}")
        found += [parameters.index(n) for n in names]
    return tuple(sorted(set(found)))


def split_nondiff(kind: str, args: Sequence[Any], argnums: Sequence[int]) -> tuple[list[Any], list[Any], list[int]]:
    """(arguments that are not differentiated, those that are, positions of the latter)."""
    positions = sorted({n + len(args) if n < 0 else n for n in argnums})
    if any(not 0 <= n < len(args) for n in positions):
        raise ValueError(f"nondiff_argnums {tuple(argnums)} do not fit a call with {len(args)} positional arguments")
    fixed = [args[n] for n in positions]
    if kind == "custom_vjp" and any(isinstance(x, Tracer) for x in tree.tree_leaves(fixed)):
        raise errors.UnexpectedTracerError(
            "A traced value was passed to a custom_vjp function in a position that nondiff_argnums declares as not "
            "differentiable. Those are for values that cannot be traced, such as functions. Pass arrays as ordinary "
            "arguments, and return None for them from the bwd rule."
        )
    return (fixed, [a for i, a in enumerate(args) if i not in positions], [i for i in range(len(args)) if i not in positions])


def with_fixed(fun: Callable[..., Any], fixed: Sequence[Any], free: Sequence[int]) -> Callable[..., Any]:
    """fun as a function of its free arguments."""
    if not fixed:
        return fun
    count = len(fixed) + len(free)
    rest = [i for i in range(count) if i not in free]

    def partial(*args: Any) -> Any:
        given: list[Any] = [None] * count
        for i, a in [*zip(free, args, strict=True), *zip(rest, fixed, strict=True)]:
            given[i] = a
        return fun(*given)

    return partial


class _Shown:
    """A text that prints without quotes."""

    __slots__ = ("text",)

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def types_text(out_tree: Any, avals: Sequence[ShapedArray]) -> str:
    """The types of a pytree of values: `(float32[], int32[3])`."""
    return str(tree.tree_unflatten(out_tree, [_Shown(str(a.strip_weak_type())) for a in avals]))


def check_results(expects: Callable[[str], str], rule: str, function: str, own: tuple[Any, Any], got: tuple[Any, Any]) -> None:
    """Raises TypeError when the results of a rule have another structure, shapes or dtypes than those of the function.

    expects: the first part of the message, from what must be the same. own, got: (structure, avals) of the function's results,
    whose avals may be unknown (None), and of the rule's.
    """
    (own_tree, own_avals), (tree_now, avals) = own, got
    if own_tree is None:
        return
    if own_tree != tree_now:
        kind, same = "container/pytree structure", "of the same container/pytree structure"
    elif own_avals is not None and any((a.shape, a.dtype) != (b.shape, b.dtype) for a, b in zip(own_avals, avals, strict=True)):
        kind, same = "shapes/dtypes of", "with leaves of the same shape/dtype"
    else:
        return
    texts = [str(t) if a is None else types_text(t, a) for t, a in (got, own)]
    raise TypeError(f"{expects(same)}, but instead the {rule} output's first element had {kind}:\n    {texts[0]}\n"
                    f"while the {function} had output {kind}:\n    {texts[1]}.\n"
                    f"(got {rule.split()[0]} output type {texts[0]} which doesn't match {texts[1]})")


def closed_over_error(kind: str, name: str) -> Exception:
    """The error for derivatives with respect to values that a function with a rule closes over."""
    return errors.UnexpectedTracerError(
        f"Detected differentiation of the {kind} function {name} with respect to a value that it closes over. Its "
        "rule only says how to differentiate with respect to its arguments. Pass the value as an argument, and extend "
        "the rule."
    )


# ----------------------------------------------------------------------------------------- functions over a batch


class Batch:
    """Functions over a batch, whose results all have it in axis 0. within: the trace of the batch, while it runs.

    mapped: which results of the last function differ from element to element.
    """

    __slots__ = ("axis_name", "mapped", "size", "within")

    def __init__(self, size: int, axis_name: Any, within: BatchTrace | None = None):
        self.size, self.axis_name, self.within = size, axis_name, within
        self.mapped: list[bool] = []

    def run(self, fun: Callable[..., Sequence[Any]], xs: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
        """All results of a function, broadcast if they do not depend on the batch."""
        outs, out_dims = batch_flat(fun, self.size, xs, dims, self.axis_name, within=self.within)
        self.mapped = [d is not None for d in out_dims]
        return [move_to(o, d, 0, self.size) for o, d in zip(outs, out_dims, strict=True)]

    def wide(self, zero: Zero, dim: int | None) -> Zero:
        """The symbolic zero of all elements, with the batch at `dim`."""
        return zero if dim is None else Zero(zero.aval.update(shape=insert(zero.aval.shape, dim, self.size)))


def element_of(zero: Zero, dim: int | None) -> Zero:
    """The symbolic zero of one element of a batch."""
    return zero if dim is None else Zero(zero.aval.update(shape=without(zero.aval.shape, (dim,))))


def _first_rows(outs: Sequence[Any], mapped: Sequence[bool]) -> list[Any]:
    """Results over a batch; of those that are the same for all elements, one: an empty batch has none, and keeps them all."""
    return [o if m else index_in_dim(o, 0, 0, False) for o, m in zip(outs, mapped, strict=True)]


class _Named(UsersRule):
    """A function under the name of a user's rule."""

    __slots__ = ("fun",)

    def __init__(self, fun: Callable[..., Any], rule: Any):
        self.fun, self.rule = fun, rule

    def __call__(self, *args: Any) -> Any:
        return self.fun(*args)


def named_as(fun: Callable[..., Any], rule: Any) -> Callable[..., Any]:
    """`fun` under the name of the user's rule that it calls."""
    return _Named(fun, rule)


# ---------------------------------------------------------------------------------------------------------- calls


class Call:
    """A call of a function of flat arguments. rules: by the parameters that hold them in programs."""

    __slots__ = ("fun", "name", "rules", "symbolic_zeros")

    def __init__(self, fun: Callable[..., list[Any]], rules: dict[str, Any], name: str, symbolic_zeros: bool):
        self.fun, self.rules, self.name, self.symbolic_zeros = fun, rules, name, symbolic_zeros


def _flat_jvp(rule: Callable[..., Any]) -> Callable[..., list[Any]]:
    """A JVP rule as a function of flat primals, then tangents, to results, then tangents; zeros are SymbolicZeros."""
    def flat(*xs: Any) -> list[Any]:
        half = len(xs) // 2
        outs, outs_t = rule(xs[:half], [Zero(t.aval) if is_symbolic_zero(t) else t for t in xs[half:]])
        return [*outs, *[SymbolicZero(t.aval) if type(t) is Zero else t for t in outs_t]]
    return flat


def _jvp_of_flat(fun: Any, symbolic: bool) -> Callable[..., Any]:
    """The JVP rule of a function as `_flat_jvp` makes them."""
    def rule(primals: Sequence[Any], tangents: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        found = fun.call_wrapped(*map(for_user, primals), *[for_rule(t, symbolic) for t in tangents])
        half = len(found) // 2
        return list(found[:half]), [Zero(t.aval) if is_symbolic_zero(t) else t for t in found[half:]]
    return rule


class _RuledOp(Op):
    """The operation of calls in programs; a user may bind it with functions, and users' traces get functions from it."""
    calls: Any = None

    def bind(self, *args: Any, **params: Any) -> Any:
        return self.bind_with_trace(current_trace(), args, None, params)

    replay = bind

    def bind_with_trace(self, trace: Trace, args: Sequence[Any], avals: Any, params: dict[str, Any] | None = None) -> Any:
        """Applies the operation by its program, or by the functions in `subfuns`."""
        given = avals if params is None else params
        if "call_jaxpr" in given and type(trace).process is not Trace.process:
            return trace.process(self, args, self.known_params(given))
        with set_trace(trace):
            return self.calls.apply(self._call(given), args[given.get("num_consts", 0):])

    def _call(self, given: dict[str, Any]) -> Call:
        if "call_jaxpr" in given:
            if given["num_consts"]:
                raise NotImplementedError(f"{self.name}: a user's trace got a function that closes over traced values; pass "
                                          "them as arguments")
            rules = {rule: given[rule] for rule in self.calls.rules}
            return Call(functools.partial(eval_closed, given["call_jaxpr"]), rules, given["name"], given["symbolic_zeros"])
        if self.calls.kind != "custom_jvp":
            raise NotImplementedError(f"{self.name} cannot be bound with functions: call the custom_vjp function instead")
        fun, jvp = given["subfuns"]
        symbolic = given.get("symbolic_zeros", False)
        return Call(lambda *xs: list(fun.call_wrapped(*xs)), {"jvp": _jvp_of_flat(jvp, symbolic)}, fun.__name__, symbolic)


class CustomCalls:
    """Calls of functions that have rules of one kind.

    kind: "custom_jvp" or "custom_vjp". rules: the parameters that hold rules. differentiate(primals, tangents, name,
    **rules) gives results and tangents. batched(batch, dims, **rules): the rules of the function over a batch.
    """

    def __init__(self, kind: str, rules: tuple[str, ...], differentiate: Callable[..., Any],
                 batched: Callable[..., dict[str, Any]]):
        self.kind, self.rules, self.differentiate, self.batched = kind, rules, differentiate, batched
        self.op = self._staged_op()

    def apply(self, call: Call, args: Sequence[Any]) -> list[Any]:
        """Calls a function under the current trace."""
        trace = current_trace()
        if trace is EVAL:
            return call.fun(*args)
        if isinstance(trace, JVPTrace):
            return self._differentiated(trace, call, args)
        if isinstance(trace, BatchTrace):
            return self._vectorized(trace, call, args)
        if isinstance(trace, PartialTrace):
            unknown = any(trace.is_unknown(a) for a in args)
            with set_trace(trace.unknown if unknown else trace.parent):
                return self.apply(call, args)
        if isinstance(trace, StageTrace):
            return self._staged(call, args)
        chosen, operands = trace.handler(args)
        if chosen is trace:
            return self._by_users_trace(trace, call, args)
        with set_trace(chosen):
            return self.apply(call, operands)

    def _staged(self, call: Call, args: Sequence[Any]) -> list[Any]:
        """The call as an operation of the current trace."""
        closed = trace_to_closed(call.fun, [aval_of(a) for a in args], DebugInfo(call.name, self.kind))
        return self.op.bind(*closed.consts, *args, name=call.name, call_jaxpr=without_consts(closed), **call.rules,
                            num_consts=len(closed.consts), symbolic_zeros=call.symbolic_zeros)

    def _by_users_trace(self, trace: Trace, call: Call, args: Sequence[Any]) -> list[Any]:
        """Calls a function under a trace that a user defined, which gets functions of flat arguments."""
        rules = [call.rules[rule] for rule in self.rules]
        functions = [WrappedFun(call.fun), *(WrappedFun(_flat_jvp(r) if self.kind == "custom_jvp" else r) for r in rules)]
        named: dict[str, Any] = {"symbolic_zeros": call.symbolic_zeros}
        handle: Callable[..., Any] = trace.process_custom_jvp_call
        if self.kind == "custom_vjp":
            handle, named["out_trees"] = trace.process_custom_vjp_call, None
        return list(handle(self.op, *functions, [for_user(a) for a in args], **named))

    def _differentiated(self, trace: JVPTrace, call: Call, args: Sequence[Any]) -> list[Any]:
        pairs = [trace.unpack(a) for a in args]
        primals, tangents = [p for p, _ in pairs], [t for _, t in pairs]
        with set_trace(trace.parent):
            if all(type(t) is Zero for t in tangents):
                return self.apply(call, primals)
            outs, outs_t = self.differentiate(primals, tangents, call.name, **call.rules)
        return [trace.pack(p if trace.numbers else typed(p), t) for p, t in zip(outs, outs_t, strict=True)]

    def _vectorized(self, trace: BatchTrace, call: Call, args: Sequence[Any]) -> list[Any]:
        pairs = [trace.unpack(a) for a in args]
        vals, dims = [v for v, _ in pairs], [d for _, d in pairs]
        if all(d is None for d in dims) and trace.axis_name is None:
            if isinstance(trace.parent, StageTrace):
                return self._staged(call, args)
            try:
                with set_trace(trace.parent):
                    return self.apply(call, vals)
            except errors.UnexpectedTracerError:  # the function or a rule closes over values of the batch
                pass
        with set_trace(trace.parent):
            batch = Batch(trace.size, trace.axis, trace)
            rules = self.batched(batch, dims, **call.rules)
            outs = self.apply(Call(lambda *xs: batch.run(call.fun, xs, dims), rules, call.name, call.symbolic_zeros), vals)
            batch.within = None  # the staged operation outlives the trace
            # The cotangent of one result for all elements would reach the backward rule as that of the first element.
            alike = self.kind == "custom_jvp" or all(d is None for d in dims)
            mapped = (batch.mapped if alike and trace.size else [])[:len(outs)] or [True] * len(outs)
            outs = _first_rows(outs, mapped)
        return [trace.pack(o, 0 if m else None) for o, m in zip(outs, mapped, strict=True)]

    def _staged_op(self) -> Op:
        """The record of calls in programs."""
        def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, num_consts: int, name: str, **params: Any) -> Any:
            if any(type(t) is not Zero for t in tangents[:num_consts]):
                raise closed_over_error(self.kind, name)
            rules = {rule: params[rule] for rule in self.rules}
            return self.differentiate(primals[num_consts:], tangents[num_consts:], name, **rules)

        def transpose(cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, name: str, **_: Any) -> list[Any]:
            """The transpose of a function that is linear: by its program."""
            return call_transpose(None, cts, args, call_jaxpr, {"name": name, "inline": False, "keep_unused": False})

        def batch(size: int, args: Any, dims: Any, *, call_jaxpr: ClosedJaxpr, num_consts: int, axis_name: Any = None,
                  **params: Any) -> tuple[list[Any], list[int | None]]:
            made = batch_program(call_jaxpr, size, tuple(d is not None for d in dims), True, axis_name)
            front = [0 if d is not None else None for d in dims][num_consts:]
            rules = self.batched(Batch(size, axis_name), front, **{rule: params[rule] for rule in self.rules})
            outs = self.op.bind(*made.consts, *in_front(args, dims), call_jaxpr=made.jaxpr,
                                num_consts=len(made.consts) + num_consts, **{**params, **rules})
            mapped: Sequence[bool] = [True] * len(outs)
            if size and all(d is None for d in dims):  # only axis_index can make a result differ from element to element
                mapped = batch_program(call_jaxpr, size, (False,) * len(dims), False, axis_name).flags
            return _first_rows(outs, mapped), [0 if m else None for m in mapped]

        return _RuledOp(
            calls=self, name=f"{self.kind}_call", params=("name", "call_jaxpr", *self.rules, "num_consts", "symbolic_zeros"),
            multiple=True, programs=True, abstract=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
            eager=lambda *args, call_jaxpr, **_: eval_closed(call_jaxpr, *args), jvp=jvp, transpose=transpose, batch=batch,
            effects=holds_effects, traits=CALLS, cpu=lambda b, *args, call_jaxpr, **_: b.inline(call_jaxpr, args),
            hlo=lambda b, *args, call_jaxpr, **_: b.inline(call_jaxpr, args), samples=Missing("holds a program"),
            inline=lambda eqn: (eqn.params["call_jaxpr"], eqn.invars), functions=frozenset(self.rules),
            printing=PrintingRule(first=("name",), implied={"num_consts": 0}))
