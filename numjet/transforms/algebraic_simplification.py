"""Algebraic identities that hold exactly, bit for bit, for every value: NaN, infinities and -0.0 included.

`x + 0.0` is not among them (it turns -0.0 into 0.0), nor is `x * 0`, nor anything that reorders floats.
Each rule gets the equation, with its operands already replaced, and returns the atom that equals its result, a simpler
equation in its place, or None.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.ir import Atom, JaxprEqn, Literal
from numjet.foundation import dtypes

Producer = Callable[[Atom], JaxprEqn | None]
Rule = Callable[[JaxprEqn, Producer], "Atom | JaxprEqn | None"]


def identity(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn | None:
    """What may stand in place of an equation with one result; None when no rule applies."""
    rule = RULES.get(eqn.primitive.name)
    if rule is None:
        return None
    found = rule(eqn, producer)
    if isinstance(found, JaxprEqn) or found is None:
        return found
    # Weak types reach results and the types of loops, so they must not change.
    return found if found.aval is eqn.outvars[0].aval else None


def splat(a: Atom, producer: Producer) -> Any:
    """The number that all elements of an operand are; None when unknown."""
    eqn = producer(a)
    while eqn is not None and eqn.primitive.name == "broadcast_in_dim":
        a = eqn.invars[0]
        eqn = producer(a)
    return np.asarray(a.val, a.aval.dtype)[()] if isinstance(a, Literal) else None


def _is(value: Any, number: Any, dtype: np.dtype) -> bool:
    """Whether a value is that number, with its sign."""
    if value is None:
        return False
    return np.asarray(value).tobytes() == np.asarray(number, dtype).tobytes()


def _neutral(real: float | None, integer: int | None, *, both: bool = True) -> Rule:
    """op(x, e) = x, and op(e, x) = x when `both`, for a neutral element per kind of dtype (None: there is none)."""
    def rule(eqn: JaxprEqn, producer: Producer) -> Atom | None:
        x, y = eqn.invars
        dtype = eqn.outvars[0].aval.dtype
        kind = dtypes.kind(dtype)
        number = real if kind == "f" else integer if kind in "iu" else None
        if number is None:
            return None
        if _is(splat(y, producer), number, dtype):
            return x
        return y if both and _is(splat(x, producer), number, dtype) else None
    return rule


def _bitwise(ones: bool) -> Rule:
    """x & ~0 = x, x | 0 = x, x ^ 0 = x; also for bools."""
    def rule(eqn: JaxprEqn, producer: Producer) -> Atom | None:
        x, y = eqn.invars
        zero = np.zeros((), eqn.outvars[0].aval.dtype)
        number = np.invert(zero) if ones else zero
        if _is(splat(y, producer), number, zero.dtype):
            return x
        return y if _is(splat(x, producer), number, zero.dtype) else None
    return rule


def _itself(eqn: JaxprEqn, producer: Producer) -> Atom:
    return eqn.invars[0]


def _twice(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """op(op(x)) = x."""
    inner = producer(eqn.invars[0])
    same = inner is not None and inner.primitive is eqn.primitive and inner.params == eqn.params
    return inner.invars[0] if same else None  # type: ignore[union-attr]


def _inner(eqn: JaxprEqn, producer: Producer) -> JaxprEqn | None:
    """The equation of the same operation that made the operand."""
    found = producer(eqn.invars[0])
    return found if found is not None and found.primitive is eqn.primitive else None


def _transpose(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn | None:
    order = tuple(eqn.params["permutation"])
    if order == tuple(range(len(order))):
        return eqn.invars[0]
    inner = _inner(eqn, producer)
    if inner is None:
        return None
    whole = tuple(inner.params["permutation"][k] for k in order)
    if whole == tuple(range(len(whole))):
        return inner.invars[0]
    return eqn.replace(invars=inner.invars, params={"permutation": whole})


def _reshape(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn | None:
    if eqn.params.get("dimensions") is not None:
        return None
    if eqn.invars[0].aval.shape == eqn.outvars[0].aval.shape:
        return eqn.invars[0]
    inner = _inner(eqn, producer)
    if inner is None or inner.params.get("dimensions") is not None:
        return None
    if inner.invars[0].aval is eqn.outvars[0].aval:
        return inner.invars[0]
    return eqn.replace(invars=inner.invars)


def _broadcast(eqn: JaxprEqn, producer: Producer) -> Atom | JaxprEqn | None:
    if eqn.invars[0].aval.shape == eqn.outvars[0].aval.shape:
        return eqn.invars[0]
    inner = _inner(eqn, producer)
    if inner is None:
        return None
    outer = eqn.params["broadcast_dimensions"]
    dims = tuple(outer[d] for d in inner.params["broadcast_dimensions"])
    return eqn.replace(invars=inner.invars, params={**eqn.params, "broadcast_dimensions": dims})


def _same_aval(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    return eqn.invars[0] if eqn.invars[0].aval is eqn.outvars[0].aval else None


def _whole_slice(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    strides = eqn.params["strides"]
    return _same_aval(eqn, producer) if strides is None or all(s == 1 for s in strides) else None


def _no_axes(name: str) -> Rule:
    return lambda eqn, producer: None if eqn.params[name] else eqn.invars[0]


def _single(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    return eqn.invars[0] if len(eqn.invars) == 1 else None


def _no_padding(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    return eqn.invars[0] if all(p == (0, 0, 0) for p in map(tuple, eqn.params["padding_config"])) else None


def _power(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    return eqn.invars[0] if eqn.params["y"] == 1 else None


def _select(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """A choice that is known, or between one value and itself."""
    which, *cases = eqn.invars
    if all(c is cases[0] for c in cases):
        return cases[0]
    value = splat(which, producer)
    return None if value is None or not 0 <= int(value) < len(cases) else cases[int(value)]


def _times_one(eqn: JaxprEqn, producer: Producer) -> Atom | None:
    """A product that contracts nothing, with the number 1, as reverse mode begins with."""
    contract, batch = eqn.params["dimension_numbers"]
    for one, x in (eqn.invars, eqn.invars[::-1]):
        if not any((*contract, *batch)) and one.aval.ndim == 0 and _is(splat(one, producer), 1, eqn.outvars[0].aval.dtype):
            return x
    return None


RULES: dict[str, Rule] = {
    "mul": _neutral(1.0, 1), "div": _neutral(1.0, 1, both=False),
    "add": _neutral(-0.0, 0), "add_any": _neutral(-0.0, 0), "sub": _neutral(0.0, 0, both=False),
    "and": _bitwise(True), "or": _bitwise(False), "xor": _bitwise(False),
    "neg": _twice, "not": _twice, "rev": _twice, "transpose": _transpose, "reshape": _reshape,
    "broadcast_in_dim": _broadcast, "convert_element_type": _same_aval, "slice": _whole_slice,
    "dynamic_slice": _same_aval, "squeeze": _no_axes("dimensions"), "concatenate": _single, "pad": _no_padding,
    "dot_general": _times_one,
    "integer_pow": _power, "select_n": _select, "stop_gradient": _itself, "name": _itself,
    **{f"reduce_{kind}": _no_axes("axes") for kind in ("sum", "prod", "max", "min", "and", "or", "xor")},
}
"""Rules by operation. Compilation needs no derivatives any more, so `stop_gradient` and `name` are their operand."""
