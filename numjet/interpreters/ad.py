"""Differentiation of primitives that users define: JVP rules and transposes, and the symbolic zeros that rules see.

A rule of `primitive_jvps` maps (primals, tangents, **params) to the result and its tangent; tangents may be `Zero`, and those
that a rule returns None for, as libraries do for results of their own use, are zero. A rule of
`primitive_transposes` maps (cotangent, *operands, **params) to a cotangent for every operand: those in which the primitive is
linear are `UndefinedPrimal`, the others get None. The functions def... make rules of simple forms.
"""
from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op, Undefined as UndefinedPrimal, Zero as Zero
from numjet.core.primitive import Primitive
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.interpreters.rules import RuleTable, checked_primitive, listed, values
from numjet.lax.tangent import (
    add_any as add_tangents,
    add_any_p as add_jaxvals_p,
    instantiate as instantiate_zeros,
    no_tangent,
    zeros_like_aval as zeros_like_aval,
)
from numjet.transforms.jvp import JVPTrace as JVPTrace, JVPTracer as JVPTracer, apply_jvp, jvp_flat
from numjet.transforms.transpose import apply_transpose

__all__ = [
    "JVPTrace", "JVPTracer", "UndefinedPrimal", "Zero", "add_jaxvals", "add_jaxvals_p", "add_tangents", "defbilinear", "defjvp",
    "defjvp2", "deflinear", "deflinear2", "get_primitive_transpose", "instantiate_zeros", "is_undefined_primal", "jvp",
    "linearize", "primitive_jvps", "primitive_transposes", "zeros_like_aval",
]


def is_undefined_primal(x: Any) -> bool:
    """Whether an operand of a transpose rule is linear, so that only its type is known."""
    return type(x) is UndefinedPrimal


def add_jaxvals(x: Any, y: Any) -> Any:
    """The sum of two tangents or cotangents of the same value.

    >>> add_jaxvals(1.0, 2.0)
    Array(3., dtype=float32, weak_type=True)
    """
    return add_jaxvals_p.bind(x, y)


# ------------------------------------------------------------------------------------------------ JVP rules

def _tangent(primitive: Primitive, out: Any, tangent: Any) -> Any:
    """A result's tangent in the form of slots: Zero where it or the rule has none; TypeError for one of another type."""
    want = aval_of(out).to_tangent_aval()
    if tangent is None or want.dtype == dtypes.float0:
        return no_tangent(out)
    got = tangent.aval if type(tangent) is Zero else aval_of(tangent)
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        raise TypeError(f"the JVP rule of primitive '{primitive.name}' gives a tangent of type {got.str_short()} for a result "
                        f"of type {aval_of(out).str_short()}; the tangent's type must be {want.str_short()}")
    return tangent


def _jvp_slot(rule: Callable[..., Any], primitive: Primitive, primals: Sequence[Any], tangents: Sequence[Any],
              **params: Any) -> tuple[Any, Any]:
    pair = listed(primitive, "JVP rule", rule(values(primals), values(tangents), **params), 2)
    if not primitive.multiple:
        return pair[0], _tangent(primitive, *pair)
    outs = listed(primitive, "JVP rule", pair[0], None)
    outs_t = listed(primitive, "JVP rule", pair[1], len(outs))
    return outs, [_tangent(primitive, o, t) for o, t in zip(outs, outs_t, strict=True)]


def _own_jvp(op: Op, rule: Any, primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
    return apply_jvp(op, primals, tangents, op.known_params(params), rule)


primitive_jvps = RuleTable("ad.primitive_jvps", "jvp", _jvp_slot, _own_jvp)


def defjvp(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """One derivative per operand: jvprules[i](tangent, *primals, **params) is the tangent of the result; None: no derivative.

    >>> import numjet as nj
    >>> cube = Primitive("cube")
    >>> _ = cube.def_impl(lambda x: x ** 3)
    >>> defjvp(cube, lambda t, x: 3 * x ** 2 * t)
    >>> nj.jvp(cube.bind, (2.0,), (1.0,))[1]
    Array(12., dtype=float32, weak_type=True)
    """
    defjvp2(primitive, *[None if rule is None else functools.partial(_without_result, rule) for rule in jvprules])


def _without_result(rule: Callable[..., Any], tangent: Any, result: Any, *primals: Any, **params: Any) -> Any:
    return rule(tangent, *primals, **params)


def defjvp2(primitive: Primitive, *jvprules: Callable[..., Any] | None) -> None:
    """As defjvp; the rules get the result, too: jvprules[i](tangent, result, *primals, **params)."""
    _check_single(primitive, "defjvp")

    def rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        if len(jvprules) != len(primals):
            raise TypeError(f"primitive '{primitive.name}' has {len(primals)} operands, but {len(jvprules)} derivatives were "
                            "given to defjvp")
        out = primitive.bind(*primals, **params)
        terms = [f(t, out, *primals, **params) for f, t in zip(jvprules, tangents, strict=True)
                 if f is not None and type(t) is not Zero]
        return out, functools.reduce(add_tangents, terms, no_tangent(out))

    primitive_jvps[primitive] = rule


def _check_single(primitive: Any, what: str) -> None:
    if checked_primitive(primitive, f"ad.{what}").multiple:
        raise TypeError(f"ad.{what} is for primitives with one result; '{primitive.name}' has multiple_results: use "
                        "ad.primitive_jvps and ad.primitive_transposes")


# ------------------------------------------------------------------------------------------------ transposes

def _transpose_slot(rule: Callable[..., Any], primitive: Primitive, ct: Any, *args: Any, **params: Any) -> list[Any]:
    cts = list(map(_given, ct)) if primitive.multiple else _given(ct)
    found = rule(cts, *values(args), **params)
    cotangents = [None] * len(args) if found is None else listed(primitive, "transpose rule", found, len(args))
    for k, (c, a) in enumerate(zip(cotangents, args, strict=True)):
        if c is not None and type(a) is UndefinedPrimal:
            _check_cotangent(primitive, k, c, a.aval)
    return cotangents


def _given(ct: Any) -> Any:
    return values((ct,))[0]


def _check_cotangent(primitive: Primitive, k: int, ct: Any, operand: ShapedArray) -> None:
    got, want = (ct.aval if type(ct) is Zero else aval_of(ct)), operand.to_tangent_aval()
    if (got.shape, got.dtype) != (want.shape, want.dtype):
        raise TypeError(f"the transpose rule of primitive '{primitive.name}' gives a cotangent of type {got.str_short()} for "
                        f"operand {k} of type {want.str_short()}")


def _own_transpose(op: Op, rule: Any, ct: Any, *args: Any, **params: Any) -> Sequence[Any]:
    return apply_transpose(op, ct, args, op.known_params(params), rule)


primitive_transposes = RuleTable("ad.primitive_transposes", "transpose", _transpose_slot, _own_transpose)


def get_primitive_transpose(p: Primitive) -> Callable[..., Any]:
    """The transpose rule of a primitive. NotImplementedError where there is none."""
    try:
        return primitive_transposes[p]
    except KeyError:
        why = f": {p.transpose.why}" if isinstance(getattr(p, "transpose", None), Missing) else ""
        raise NotImplementedError(f"Transpose rule (for reverse-mode differentiation) for '{p}' not implemented{why}") from None


def deflinear(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """A primitive that is linear in all operands together: transpose_rule(cotangent, **params) gives all cotangents."""
    deflinear2(primitive, lambda ct, *args, **params: transpose_rule(ct, **params))


def deflinear2(primitive: Primitive, transpose_rule: Callable[..., Any]) -> None:
    """As deflinear; the rule gets the operands, too: transpose_rule(cotangent, *operands, **params)."""
    def jvp_rule(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[Any, Any]:
        out = primitive.bind(*primals, **params)
        if all(type(t) is Zero for t in tangents):
            return out, list(map(no_tangent, out)) if primitive.multiple else no_tangent(out)
        return out, primitive.bind(*map(instantiate_zeros, tangents), **params)

    def transpose(ct: Any, *args: Any, **params: Any) -> Any:
        if not primitive.multiple and type(ct) is Zero:
            return [Zero(a.aval) if is_undefined_primal(a) else None for a in args]
        return transpose_rule(ct, *args, **params)

    primitive_jvps[primitive] = jvp_rule
    primitive_transposes[primitive] = transpose


def defbilinear(prim: Primitive, lhs_rule: Callable[..., Any], rhs_rule: Callable[..., Any]) -> None:
    """A primitive that is linear in each of two operands: lhs_rule(cotangent, x, y, **params) is the cotangent of the first,
    rhs_rule that of the second; the linear operand is an UndefinedPrimal."""
    defjvp(prim, lambda t, x, y, **params: prim.bind(t, y, **params), lambda t, x, y, **params: prim.bind(x, t, **params))

    def transpose(ct: Any, x: Any, y: Any, **params: Any) -> tuple[Any, Any]:
        if is_undefined_primal(x) == is_undefined_primal(y):
            raise TypeError(f"primitive '{prim.name}' is linear in each operand, not in both together")
        if type(ct) is Zero:
            return (Zero(x.aval), None) if is_undefined_primal(x) else (None, Zero(y.aval))
        if is_undefined_primal(x):
            return lhs_rule(ct, x, y, **params), None
        return None, rhs_rule(ct, x, y, **params)

    primitive_transposes[prim] = transpose


# ------------------------------------------------------------------------------------------------ functions

def jvp(fun: Any, primals: Sequence[Any], tangents: Sequence[Any], has_aux: bool = False, instantiate: bool = True,
        transform_stack: bool = True) -> tuple[list[Any], list[Any]]:
    """(results, tangents) of a function of flat arguments that gives a list; tangents may be `Zero` on both sides.

    instantiate=True makes arrays of zero tangents of results. transform_stack is a hint.

    Raises:
      NotImplementedError: with has_aux; numjet.jvp has it.
    """
    if has_aux:
        raise NotImplementedError("interpreters.ad.jvp(has_aux=True) is not supported: use numjet.jvp(..., has_aux=True)")
    call = getattr(fun, "call_wrapped", fun)
    outs, outs_t = jvp_flat(lambda *xs: list(call(*xs)), primals, tangents)
    return outs, list(map(instantiate_zeros, outs_t)) if instantiate else outs_t


def linearize(traceable: Any, primals_ft: Any, has_aux: bool = False, is_vjp: bool = False) -> Any:
    """Refused: it takes containers of JAX's own. numjet.linearize and numjet.vjp do the same for functions of pytrees."""
    raise NotImplementedError("interpreters.ad.linearize is not supported: use numjet.linearize or numjet.vjp")
