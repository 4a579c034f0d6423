"""Taylor mode: the truncated Taylor series of a function's result along a curve, by those of its operations.

The traced program is interpreted with series in place of arrays. An operation has a recurrence, or is linear, or its series
comes from its derivative: with y = f(x), coefficient k of y is coefficient k - 1 of the tangent f'(x) x', divided by k, and
that
tangent is a program, whose series is one term shorter. So every operation with a rule for forward derivatives has series.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import factorial
from typing import Any

import numjet.numpy as jnp
from numjet import lax
from numjet.control.branches.cond import switch
from numjet.control.branches.cond_op import cond_p
from numjet.control.call.call import jit_p
from numjet.control.call.composite import composite_p
from numjet.control.custom.checkpoint import checkpoint_p
from numjet.control.custom.custom_vjp_call import custom_vjp_call_p
from numjet.control.loops.scan import scan
from numjet.control.loops.scan_op import scan_p
from numjet.control.loops.while_loop import while_loop
from numjet.control.loops.while_op import while_p
from numjet.core import hooks
from numjet.core.ir import ClosedJaxpr, Jaxpr, Literal, Var
from numjet.core.op import LINEAR, ZERO, Zero
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.experimental.jet.recurrences import RECURRENCES, Series, cauchy, power, quotient, scaled
from numjet.foundation import dtypes, tree
from numjet.foundation.util import split_list
from numjet.lax.tangent import instantiate
from numjet.scipy.special import factorial as factorials
from numjet.transforms.dce import dce_jaxpr
from numjet.transforms.jvp import jvp_flat

Value = Any  # a series (a list), or an array that does not change along the curve
Rule = Callable[..., Any]
RULES: dict[Any, Rule] = {}  # (order, values, params) -> a value, or a list of them


class ZeroSeries:
    """The series of an argument that does not change along the curve, of any length."""

    def __repr__(self) -> str:
        return "zero_series"


zero_series = ZeroSeries()


def fact(n: Any) -> Any:
    """n!, by which coefficients of a Taylor series are derivatives: gamma(n + 1).

    >>> fact(3).item()
    6.0
    """
    return factorials(n)


def jet(fun: Callable[..., Any], primals: Sequence[Any], series: Sequence[Sequence[Any]], factorial_scaled: bool = True,
        **_: Any) -> tuple[Any, Any]:
    """Derivatives of any order along a curve, by truncated Taylor series.

    With the curves t -> primals + series[0] t + series[1] t^2 / 2 + ..., the result has the derivatives of fun of them.

    Args:
      fun: a function of arrays, which returns a pytree of arrays. It may have loops and branches.
      primals: its arguments.
      series: for each argument the list of its derivatives of order 1, 2, ...: all of one length, in the argument's shape;
        or zero_series. Those of a condition, an array of bools, have no effect.
      factorial_scaled: whether derivatives are given and returned; False: coefficients of the series, which are derivatives
        divided by factorials.

    Returns:
      (the results, a pytree of them with the list of derivatives in place of each).

    Raises:
      ValueError: lists of different lengths, arguments that are no arrays, shapes that differ.
      TypeError: derivatives of integers that are not zero.

    >>> import numjet.numpy as jnp
    >>> value, (first, second) = jet(jnp.sin, (0.0,), ([1.0, 0.0],))
    >>> float(value), float(first), float(second)
    (0.0, 1.0, 0.0)
    """
    if len(primals) != len(series):
        raise ValueError(f"jet: expected a list of terms per argument, got {len(series)} for {len(primals)} arguments")
    orders = {len(terms) for terms in series if terms is not zero_series}
    if len(orders) > 1:
        raise ValueError(f"jet terms have inconsistent lengths for different arguments: {sorted(orders)}")
    order = orders.pop() if orders else 0
    values = [_curve(i, x, terms, factorial_scaled) for i, (x, terms) in enumerate(zip(primals, series, strict=True))]
    out_tree: list[Any] = []

    def flat(*xs: Any) -> list[Any]:
        leaves, structure = tree.tree_flatten(fun(*xs))
        out_tree[:] = [structure]
        return [jnp.asarray(x) for x in leaves]

    closed = trace_to_closed(flat, [aval_of(_first(v)) for v in values])
    found = [v if _is_series(v) else [v, *([jnp.zeros(v.shape, dtypes.to_inexact_dtype(v.dtype))] * order)]
             for v in _closed(order, closed, values)]
    unscaled = [[c if not factorial_scaled or k < 2 else scaled(c, factorial(k)) for k, c in enumerate(v)] for v in found]
    rebuild = functools.partial(tree.tree_unflatten, out_tree[0])
    return rebuild([v[0] for v in found]), rebuild([v[1:] for v in unscaled])


def _curve(i: int, x: Any, terms: Sequence[Any], factorial_scaled: bool) -> Value:
    """An argument as a series."""
    terms = () if terms is zero_series else terms
    for what, leaf in (("primal value", x), *((f"term {j} of the series", t) for j, t in enumerate(terms))):
        if not tree.tree_structure(leaf) == tree.tree_structure(0):
            raise ValueError(f"jet: {what} at position {i} is not an array: {leaf!r}")
    x = jnp.asarray(x)
    coefficients = [jnp.asarray(t) for t in terms]
    if any(t.shape != x.shape for t in coefficients):
        raise ValueError(f"jet: terms of argument {i} must have its shape {x.shape}, got {[t.shape for t in coefficients]}")
    if not jnp.issubdtype(x.dtype, jnp.inexact) or not terms:
        if x.dtype != bool and any(bool((t != 0).any()) for t in coefficients):
            raise TypeError(f"jet: argument {i} has dtype {x.dtype}, so its derivatives must be zero; make it a float")
        return x
    alike = lambda t: t if x.weak_type and t.weak_type and t.dtype == x.dtype else t.astype(x.dtype)
    return [x, *(scaled(alike(t), 1 / factorial(k) if factorial_scaled else 1)
                 for k, t in enumerate(coefficients, 1))]


def _first(v: Value) -> Any:
    return v[0] if isinstance(v, list) else v


def _is_series(v: Value) -> bool:
    return isinstance(v, list)


def _instantiated(v: Value, order: int) -> Series:
    """The value as a series, with zeros where it does not change."""
    return v if isinstance(v, list) else [v, *([lax.full_like(v, 0)] * order)]


def evaluate(order: int, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Value]) -> list[Value]:
    """The results of a program, as series up to that order."""
    env: dict[Var, Value] = {**dict(zip(jaxpr.constvars, consts, strict=True)), **dict(zip(jaxpr.invars, args, strict=True))}
    read = lambda a: a if isinstance(a, Literal) else env[a]
    for eqn in jaxpr.eqns:
        operands = [read(a) for a in eqn.invars]
        if any(map(_is_series, operands)):
            operands = [hooks.user_value(x) for x in operands]
            outs = _apply(order, eqn.primitive, operands, eqn.params)
        else:
            outs = eqn.primitive.replay(*operands, **eqn.params)
        env.update(zip(eqn.outvars, outs if eqn.primitive.multiple else [outs], strict=True))
    return [hooks.literal_array(a) if isinstance(a, Literal) else env[a] for a in jaxpr.outvars]


def _closed(order: int, closed: ClosedJaxpr, args: Sequence[Value]) -> list[Value]:
    return evaluate(order, closed.jaxpr, closed.consts, args)


def _apply(order: int, op: Any, operands: Sequence[Value], params: dict[str, Any]) -> Any:
    if op in RULES:
        return RULES[op](order, operands, params)
    firsts = [_first(v) for v in operands]
    if order == 0:
        outs = op.bind(*firsts, **params)
        return [_constant_series(o) for o in outs] if op.multiple else _constant_series(outs)
    if op in RECURRENCES:
        return RECURRENCES[op](operands[0])
    if op.jvp is ZERO:
        return op.bind(*firsts, **params)
    if op.jvp is LINEAR:
        return _linear(order, op, operands, params)
    return _by_derivative(order, op, operands, params)


def _constant_series(x: Any) -> Value:
    """A result of order 0."""
    return [x] if jnp.issubdtype(x.dtype, jnp.inexact) else x


def _linear(order: int, op: Any, operands: Sequence[Value], params: dict[str, Any]) -> Any:
    """The operation of every coefficient."""
    series = [_instantiated(v, order) for v in operands]
    rows = [op.bind(*[s[k] for s in series], **params) for k in range(order + 1)]
    return [list(column) for column in zip(*rows, strict=True)] if op.multiple else rows


def _by_derivative(order: int, op: Any, operands: Sequence[Value], params: dict[str, Any]) -> Any:
    """The series whose slope is that of the tangent."""
    moving = [n for n, v in enumerate(operands) if _is_series(v)]
    avals = [aval_of(_first(v)) for v in operands]
    differentiable: list[bool] = []

    def tangents(*args: Any) -> list[Any]:
        primals, given = args[:len(avals)], dict(zip(moving, args[len(avals):], strict=True))
        zero = [given.get(n, Zero(a.to_tangent_aval())) for n, a in enumerate(avals)]
        apply = lambda *xs: op.bind(*xs, **params) if op.multiple else [op.bind(*xs, **params)]
        _, outs = jvp_flat(apply, primals, zero)
        differentiable[:] = [t.aval.dtype != dtypes.float0 if type(t) is Zero else True for t in outs]
        return [instantiate(t) for t, d in zip(outs, differentiable, strict=True) if d]

    slope = trace_to_closed(tangents, [*avals, *(avals[n] for n in moving)])
    shorter = [v[:order] if isinstance(v, list) else v for v in operands]
    slopes = [[scaled(v[k], k) for k in range(1, order + 1)] for v in operands if isinstance(v, list)]
    needed, _ = dce_jaxpr(slope.jaxpr, keep_inputs=True)  # rules compute the result as well, which tangents may not read
    found = iter(evaluate(order - 1, needed, slope.consts, [*shorter, *slopes]))
    firsts = op.bind(*[_first(v) for v in operands], **params)
    outs = [_integral(y, next(found), order) if d else y
            for y, d in zip(firsts if op.multiple else [firsts], differentiable, strict=True)]
    return outs if op.multiple else outs[0]


def _integral(start: Any, slope: Value, order: int) -> Series:
    return [start, *(scaled(c, 1 / k) for k, c in enumerate(_instantiated(slope, order - 1), 1))]


# ------------------------------------------------------------------------------------------------ products

def _rule(*ops: Any) -> Callable[[Rule], Rule]:
    """Decorator: the rule of these operations."""
    def decorate(rule: Rule) -> Rule:
        RULES.update(dict.fromkeys(ops, rule))
        return rule
    return decorate


def _bilinear(op: Any) -> None:
    def rule(order: int, operands: Sequence[Value], params: dict[str, Any]) -> Series:
        x, y = operands
        product = lambda a, b: op.bind(a, b, **params)
        if not _is_series(x):
            return [product(x, c) for c in y]
        return cauchy(x, y, product) if _is_series(y) else [product(c, y) for c in x]
    RULES[op] = rule


for _op in (lax.mul_p, lax.dot_general_p, lax.conv_general_dilated_p):
    _bilinear(_op)


@_rule(lax.div_p)
def _div(order: int, operands: Sequence[Value], params: dict[str, Any]) -> Series:
    x, y = operands
    return quotient(_instantiated(x, order), y) if _is_series(y) else [lax.div_p.bind(c, y) for c in x]


@_rule(lax.integer_pow_p)
def _integer_pow(order: int, operands: Sequence[Value], params: dict[str, Any]) -> Series:
    x, n = operands[0], params["y"]
    ones = _instantiated(lax.full_like(x[0], 1), order)
    positive = power(x, abs(n)) if n else ones
    return positive if n >= 0 else quotient(ones, positive)


# ------------------------------------------------------------------------------------------------ operations that hold programs

@_rule(jit_p, checkpoint_p, composite_p)
def _call(order: int, operands: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    return _closed(order, params["jaxpr"], operands)


@_rule(custom_vjp_call_p)
def _custom_vjp(order: int, operands: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    return _closed(order, params["call_jaxpr"], operands)


def _full(values: Sequence[Value], order: int) -> list[Value]:
    """All that is differentiable as series, so that every turn of a loop, and every branch, has the same structure."""
    return [v if _is_series(v) or not jnp.issubdtype(v.dtype, jnp.inexact) else _instantiated(v, order) for v in values]


def _branch(order: int, closed: ClosedJaxpr, values: Sequence[Value]) -> list[Value]:
    return _full(_closed(order, closed, values), order)


@_rule(cond_p)
def _cond(order: int, operands: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    index, *values = operands
    return switch(index, [functools.partial(_branch, order, b) for b in params["branches"]], values)


@_rule(scan_p)
def _scan(order: int, operands: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    consts, init, xs = split_list(operands, [params["num_consts"], params["num_carry"]])

    def body(carry: list[Value], x: list[Value]) -> tuple[list[Value], list[Value]]:
        outs = _full(_closed(order, params["jaxpr"], [*consts, *carry, *x]), order)
        carry, ys = split_list(outs, [params["num_carry"]])
        return carry, ys

    carry, ys = scan(body, _full(init, order), xs, length=params["length"], reverse=params["reverse"], unroll=params["unroll"])
    return [*carry, *ys]


@_rule(while_p)
def _while(order: int, operands: Sequence[Value], params: dict[str, Any]) -> list[Value]:
    test_consts, body_consts, init = split_list(operands, [params["cond_nconsts"], params["body_nconsts"]])
    test = lambda c: _closed(0, params["cond_jaxpr"], [*map(_first, test_consts), *map(_first, c)])[0]
    body = lambda c: _full(_closed(order, params["body_jaxpr"], [*body_consts, *c]), order)
    return while_loop(test, body, _full(init, order))
