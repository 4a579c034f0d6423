"""Common parts of custom_jvp and custom_vjp: arguments of calls, symbolic zeros, and the staged operation."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from types import FunctionType
from typing import Any

from numjet.control.call.call import call_transpose
from numjet.control.call.jaxpr_transforms import batch_program, holds_effects
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Literal
from numjet.core.op import Missing, Op, Zero
from numjet.core.trace import Tracer, aval_of
from numjet.core.traits import CALLS
from numjet.core.walk import eval_closed
from numjet.foundation import dtypes, errors, tree
from numjet.foundation.util import function_name
from numjet.lax.elementwise.convert import constant
from numjet.lax.tangent import zeros_like_aval
from numjet.lax.templates import moveaxis


class SymbolicZero:
    """A zero tangent or cotangent, as rules defined with symbolic_zeros=True get it."""

    __slots__ = ("aval",)

    def __init__(self, aval: ShapedArray):
        self.aval = aval

    shape = property(lambda self: self.aval.shape)
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)

    def __repr__(self) -> str:
        return f"SymbolicZero({self.aval})"


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
    """A value for a user's function: a literal becomes an array."""
    return constant(x.val, x.aval.dtype, x.aval.weak_type) if type(x) is Literal else x


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


def positional(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """All arguments of a call by position, with the defaults of those that were left out.

    Raises TypeError for keyword-only parameters, which rules could not name.
    """
    if not kwargs and _takes(fun, len(args)):
        return tuple(args)
    try:
        signature = inspect.signature(fun)
    except (ValueError, TypeError):
        if kwargs:
            raise TypeError(f"{fun} has no signature by which to order the keyword arguments {sorted(kwargs)}") from None
        return tuple(args)
    bound = signature.bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(f"The following keyword arguments could not be resolved to positions: {', '.join(bound.kwargs)}")
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
    return (
        fixed,
        [a for i, a in enumerate(args) if i not in positions],
        [i for i in range(len(args)) if i not in positions],
    )


def with_fixed(fun: Callable[..., Any], fixed: Sequence[Any], free: Sequence[int]) -> Callable[..., Any]:
    """fun as a function of its free arguments."""
    if not fixed:
        return fun
    count = len(fixed) + len(free)
    rest = [i for i in range(count) if i not in free]

    def partial(*args: Any) -> Any:
        whole: list[Any] = [None] * count
        for i, a in [*zip(free, args, strict=True), *zip(rest, fixed, strict=True)]:
            whole[i] = a
        return fun(*whole)

    return partial


def closed_over_error(kind: str, name: str) -> Exception:
    """The error for derivatives with respect to values that a function with a rule closes over."""
    return errors.UnexpectedTracerError(
        f"Detected differentiation of the {kind} function {name} with respect to a value that it closes over. Its "
        "rule only says how to differentiate with respect to its arguments. Pass the value as an argument, and extend "
        "the rule."
    )


def custom_call_op(
    kind: str,
    rules: tuple[str, ...],
    differentiate: Callable[..., Any],
    batched: Callable[..., dict[str, Any]],
) -> Op:
    """The record of calls, in programs, of functions that have rules of their own.

    kind: "custom_jvp" or "custom_vjp". rules: the parameters that hold rules. differentiate(primals, tangents, **params) is
    the jvp rule. batched(size, dims, axis_name, **rules): the rules of the function mapped over axes 0 or none.
    """

    def jvp(primals: Sequence[Any], tangents: Sequence[Any], *, num_consts: int, name: str, **params: Any) -> Any:
        if any(type(t) is not Zero for t in tangents[:num_consts]):
            raise closed_over_error(kind, name)
        return differentiate(primals[num_consts:], tangents[num_consts:], name=name, **params)

    def transpose(cts: Sequence[Any], *args: Any, call_jaxpr: ClosedJaxpr, name: str, **_: Any) -> list[Any]:
        """The transpose of a function that is linear: by its program."""
        return call_transpose(None, cts, args, call_jaxpr, {"name": name, "inline": False, "keep_unused": False})

    def batch(
        size: int, args: Any, dims: Any, *, call_jaxpr: ClosedJaxpr, num_consts: int, axis_name: Any = None, **params: Any
    ) -> tuple[list[Any], list[int]]:
        made = batch_program(call_jaxpr, size, tuple(d is not None for d in dims), True, axis_name)
        front = [0 if d is not None else None for d in dims][num_consts:]
        changed = batched(size, front, axis_name, **{rule: params[rule] for rule in rules})
        args = [a if d is None else moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True)]
        consts = len(made.consts) + num_consts
        outs = record.bind(*made.consts, *args, call_jaxpr=made.jaxpr, num_consts=consts, **{**params, **changed})
        return outs, [0] * len(outs)

    record = Op(
        name=f"{kind}_call",
        params=("name", "call_jaxpr", *rules, "num_consts", "symbolic_zeros"),
        multiple=True,
        programs=True,
        abstract=lambda *avals, call_jaxpr, **_: call_jaxpr.out_avals,
        eager=lambda *args, call_jaxpr, **_: eval_closed(call_jaxpr, *args),
        jvp=jvp,
        transpose=transpose,
        batch=batch,
        effects=holds_effects,
        traits=CALLS,
        cpu=lambda b, *args, call_jaxpr, **_: b.inline(call_jaxpr, args),
        hlo=lambda b, *args, call_jaxpr, **_: b.inline(call_jaxpr, args),
        samples=Missing("holds a program"),
    )
    return record
