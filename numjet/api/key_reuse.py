"""Linear use of random keys: the check that a program uses every key at most once, when jax_debug_key_reuse is on.

A walk over a jaxpr keeps, for each key, whether it was used: for arrays of keys a mask. What an operation does to keys is its
signature: a Sink uses an operand, a Source makes a result that may be used, a Forward gives an operand on. Results that are
neither are used already, so that an operation that nobody knows uses its keys and gives no new ones.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.api.stages import make_jaxpr
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var, subjaxprs
from numjet.core.op import Op
from numjet.core.trace import Array, aval_of
from numjet.foundation import dtypes
from numjet.foundation.config import Override
from numjet.foundation.errors import KeyReuseError
from numjet.lax.elementwise.bits import bitcast_convert_type_p
from numjet.lax.elementwise.compare import eq_p, ne_p
from numjet.lax.elementwise.convert import convert_element_type_p, copy_p
from numjet.lax.indexing.dynamic_slicing import dynamic_slice_p, dynamic_update_slice_p
from numjet.lax.indexing.gather import gather_p
from numjet.lax.rng import key_marks
from numjet.lax.rng.key_marks import random_mark_p
from numjet.lax.shape.rearrange import broadcast_in_dim_p, reshape_p, rev_p, squeeze_p, transpose_p

Mask = bool | np.ndarray


# ------------------------------------------------------------------------------------------------ signatures

class _Part:
    """One statement about an operand or a result. Immutable."""

    __slots__ = ("_fields",)
    _fields: tuple[Any, ...]

    def __init__(self, *fields: Any):
        object.__setattr__(self, "_fields", fields)

    def __setattr__(self, name: str, value: Any) -> None:
        raise ValueError(f"{type(self).__name__} is immutable")

    def _key(self) -> tuple[Any, ...]:
        return (type(self).__name__, *(f.tobytes() + bytes(f.shape) if isinstance(f, np.ndarray) else f for f in self._fields))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Part) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        shown = [f for n, f in enumerate(self._fields) if not (n == 1 and f is True)]
        return f"{type(self).__name__}({', '.join(map(str, shown))})"


class _Masked(_Part):
    __slots__ = ()

    def __init__(self, idx: int, mask: Any = True):
        mask = np.array(mask, bool)
        mask.flags.writeable = False
        super().__init__(idx, bool(mask.flat[0]) if mask.size and (mask == mask.flat[0]).all() else mask)

    @property
    def idx(self) -> int:
        return int(self._fields[0])

    @property
    def mask(self) -> Any:
        return self._fields[1]


class Sink(_Masked):
    """Operand `idx` is used, where the mask holds."""

    __slots__ = ()


class Source(_Masked):
    """Result `idx` may be used, where the mask holds."""

    __slots__ = ()


class Forward(_Part):
    """Result `out_idx` is operand `in_idx`: using one uses the other."""

    __slots__ = ()

    def __init__(self, in_idx: int, out_idx: int):
        super().__init__(in_idx, out_idx)

    in_idx = property(lambda self: self._fields[0])
    out_idx = property(lambda self: self._fields[1])


class KeyReuseSignature:
    """What an operation or a program does to its keys: a set of Sink, Source and Forward."""

    def __init__(self, *parts: _Part):
        self.parts = frozenset(parts)

    def of(self, kind: type) -> list[Any]:
        """The parts of one kind, in order."""
        return sorted((p for p in self.parts if isinstance(p, kind)), key=lambda p: str(p._fields))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, KeyReuseSignature) and self.parts == other.parts

    def __hash__(self) -> int:
        return hash(self.parts)

    def __repr__(self) -> str:
        return f"KeyReuseSignature({', '.join(sorted(map(repr, self.parts)))})"


_FORWARD = KeyReuseSignature(Forward(0, 0))
key_reuse_signatures: dict[Op, KeyReuseSignature] = {
    **dict.fromkeys((broadcast_in_dim_p, convert_element_type_p, reshape_p, squeeze_p, transpose_p, rev_p, dynamic_slice_p,
                     gather_p, copy_p), _FORWARD),
    dynamic_update_slice_p: KeyReuseSignature(Sink(1), Forward(0, 0)),
    bitcast_convert_type_p: KeyReuseSignature(Source(0)),  # words to keys; keys to words use nothing
    eq_p: KeyReuseSignature(), ne_p: KeyReuseSignature(),
    random_mark_p: KeyReuseSignature(Sink(0), Forward(0, 0)),
}


def _is_key(a: Any) -> bool:
    return dtypes.is_key(getattr(a.aval, "dtype", None))


def _of_slice(eqn: JaxprEqn) -> KeyReuseSignature:
    """The elements that a slice takes are used, and those of the result are new."""
    strides = eqn.params["strides"] or (1,) * len(eqn.params["start_indices"])
    mask = np.zeros(eqn.invars[0].aval.shape, bool)
    mask[tuple(map(slice, eqn.params["start_indices"], eqn.params["limit_indices"], strides))] = True
    return KeyReuseSignature(Sink(0, mask), Source(0))


def _of_joining(eqn: JaxprEqn) -> KeyReuseSignature:
    return KeyReuseSignature(*(Sink(i) for i, a in enumerate(eqn.invars) if _is_key(a)), Source(0))


def _of_mark(eqn: JaxprEqn) -> KeyReuseSignature:
    kind = eqn.params["kind"]
    if kind == key_marks.CLONE:
        return KeyReuseSignature(Source(0))
    return _FORWARD if kind.startswith("assert") else key_reuse_signatures[random_mark_p]


def _of_cond(eqn: JaxprEqn) -> KeyReuseSignature:
    """A key is used if one branch uses it; a result is new if it is so in all branches."""
    each = [jaxpr_type_signature(b.jaxpr) for b in eqn.params["branches"]]
    sinks = [Sink(s.idx + 1, s.mask) for one in each for s in one.of(Sink)]
    shared = frozenset.intersection(*(one.parts for one in each))
    kept = [Forward(p.in_idx + 1, p.out_idx) if isinstance(p, Forward) else p for p in shared if not isinstance(p, Sink)]
    return KeyReuseSignature(*sinks, *kept)


def _of_scan(eqn: JaxprEqn) -> KeyReuseSignature:
    body, consts, carries = eqn.params["jaxpr"].jaxpr, eqn.params["num_consts"], eqn.params["num_carry"]
    return _of_loop("scan body", body, consts, carries)


def _of_while(eqn: JaxprEqn) -> KeyReuseSignature:
    p = eqn.params
    test = jaxpr_type_signature(p["cond_jaxpr"].jaxpr).of(Sink)
    if test:
        raise KeyReuseError(_in_loop("while_loop cond", test[0].idx))
    found = _of_loop("while_loop body", p["body_jaxpr"].jaxpr, p["body_nconsts"], len(eqn.outvars))
    skip = p["cond_nconsts"]
    return KeyReuseSignature(*(Sink(s.idx + skip, s.mask) for s in found.of(Sink)), *found.of(Source),
                             *(Forward(f.in_idx + skip, f.out_idx) for f in found.of(Forward)))


def _in_loop(what: str, index: int) -> str:
    return (f"{what} function leads to key reuse: argument {index} is used in every turn. Carry a key and split it in the "
            "loop, or fold the counter into it.")


def _of_loop(what: str, body: Jaxpr, consts: int, carries: int) -> KeyReuseSignature:
    """A body runs again with what it carries, until it is known which of these keys are used at the beginning of a turn."""
    used: list[Mask] = [False] * len(body.invars)
    sinks: dict[int, Any] = {}
    while True:
        walk = _Walk(body)
        walk.start(used)
        try:
            walk.run()
        except KeyReuseError as error:
            if not sinks:
                raise
            raise KeyReuseError(_in_loop(what, next(iter(sinks)))) from error
        for s in walk.signature().of(Sink):
            sinks.setdefault(s.idx, s.mask)
            if s.idx < consts:
                raise KeyReuseError(_in_loop(what, s.idx))
        after = [used[i] if not consts <= i < consts + carries else _joined(used[i], walk.state(body.outvars[i - consts]))
                 for i in range(len(used))]
        if all(np.array_equal(a, b) for a, b in zip(after, used, strict=True)):
            break
        used = after
    inside = walk.signature()
    unmoved = [Forward(i, i - consts) for i in range(consts, consts + carries) if Forward(i, i - consts) in inside.parts]
    used_up = [Sink(i, m if i < consts + carries else True) for i, m in sinks.items()]  # every turn has an x of its own
    return KeyReuseSignature(*used_up, *unmoved, *inside.of(Source))


def _joined(x: Mask, y: Mask) -> Mask:
    return np.logical_or(x, y) if np.shape(x) == np.shape(y) or not np.shape(x) or not np.shape(y) else True


_RULES: dict[str, Callable[[JaxprEqn], KeyReuseSignature]] = {
    "slice": _of_slice, "concatenate": _of_joining, "select_n": _of_joining, "random_mark": _of_mark, "cond": _of_cond,
    "scan": _of_scan, "while": _of_while,
}


def _of_equation(eqn: JaxprEqn) -> KeyReuseSignature:
    rule = _RULES.get(eqn.primitive.name)
    if rule is not None:
        return rule(eqn)
    if eqn.primitive in key_reuse_signatures:
        return key_reuse_signatures[eqn.primitive]
    if eqn.params.get("differentiated"):  # computes again what was computed before
        return KeyReuseSignature(*(Source(i) for i, v in enumerate(eqn.outvars) if _is_key(v)))
    inner = [j for j in subjaxprs(eqn.params) if len(j.invars) == len(eqn.invars) and len(j.outvars) == len(eqn.outvars)]
    if inner:
        return jaxpr_type_signature(inner[0])
    return KeyReuseSignature(*(Sink(i) for i, a in enumerate(eqn.invars) if _is_key(a)))


# ------------------------------------------------------------------------------------------------ the walk

class _Walk:
    """The keys of a jaxpr, and which of them are used."""

    def __init__(self, jaxpr: Jaxpr):
        self.jaxpr = jaxpr
        self.same: dict[Var, Var] = {}
        self.used: dict[Var, Mask] = {}
        self.inputs = [*jaxpr.invars, *jaxpr.constvars]
        self.start([])

    def start(self, used: Sequence[Mask]) -> None:
        """The state of the inputs at the beginning."""
        self.before = dict(zip(self.inputs, used, strict=False))
        self.used.update({v: self.before.get(v, False) for v in self.inputs if _is_key(v)})

    def root(self, v: Var) -> Var:
        while v in self.same:
            v = self.same[v]
        return v

    def state(self, a: Any) -> Mask:
        """Where a key is used; literals and values that are no keys never are."""
        return self.used.get(self.root(a), False) if isinstance(a, Var) else False

    def run(self) -> None:
        for eqn in self.jaxpr.eqns:
            if any(map(_is_key, eqn.invars)) or any(map(_is_key, eqn.outvars)):
                self._apply(eqn)

    def _apply(self, eqn: JaxprEqn) -> None:
        kind = eqn.params.get("kind") if eqn.primitive is random_mark_p else None
        if kind in (key_marks.ASSERT_CONSUMED, key_marks.ASSERT_UNCONSUMED):
            self._check(eqn, kind)
        signature = _of_equation(eqn)
        for sink in signature.of(Sink):
            self._use(eqn, sink, eqn.primitive.name if kind is None else kind)
        for forward in signature.of(Forward):
            origin = eqn.invars[forward.in_idx]
            if isinstance(origin, Var) and _is_key(origin):
                self.same[eqn.outvars[forward.out_idx]] = origin
        sources = {s.idx: s.mask for s in signature.of(Source)}
        for i, v in enumerate(eqn.outvars):
            if _is_key(v) and v not in self.same:
                self.used[v] = np.logical_not(sources[i]) if i in sources else True

    def _use(self, eqn: JaxprEqn, sink: Sink, name: str) -> None:
        a = eqn.invars[sink.idx]
        if not isinstance(a, Var) or not _is_key(a) or 0 in a.aval.shape:
            return
        root = self.root(a)
        mask = sink.mask if root.aval.shape == a.aval.shape else bool(np.any(sink.mask))
        before = self.used.get(root, False)
        if np.any(np.logical_and(before, mask)):
            raise KeyReuseError(f"In {name}, argument {sink.idx} is already consumed. Split the key, and use each part once.")
        self.used[root] = np.logical_or(before, mask)

    def _check(self, eqn: JaxprEqn, kind: str) -> None:
        (a,), mask = eqn.invars, eqn.params["mask"]
        expected = kind == key_marks.ASSERT_CONSUMED if mask is None else np.array(mask)
        found = self.state(a)
        if not np.all(np.broadcast_to(found, a.aval.shape) == expected):
            raise AssertionError(f"{kind}: expected the consumption of the key to be {expected}, got {found}")

    def signature(self) -> KeyReuseSignature:
        """What the whole jaxpr does, operands being its inputs and then its constants."""
        fresh = lambda v: np.logical_and(self.used[v], np.logical_not(self.before.get(v, False)))
        sinks = [Sink(i, fresh(v)) for i, v in enumerate(self.inputs) if v in self.used and np.any(fresh(v))]
        place = {v: i for i, v in enumerate(self.inputs)}
        parts: list[_Part] = []
        for k, v in enumerate(self.jaxpr.outvars):
            if not _is_key(v):
                continue
            root = None if isinstance(v, Literal) else self.root(v)
            if root in place:
                parts.append(Forward(place[root], k))
            elif not np.all(self.state(v)):
                parts.append(Source(k, np.logical_not(self.state(v))))
        return KeyReuseSignature(*sinks, *parts)


def jaxpr_type_signature(jaxpr: Jaxpr) -> KeyReuseSignature:
    """What a program does to its keys. KeyReuseError if it uses one twice."""
    walk = _Walk(jaxpr)
    walk.run()
    return walk.signature()


def function_type_signature(fun: Callable[..., Any], *args: Any) -> KeyReuseSignature:
    """What a function does to the keys among its arguments. KeyReuseError if it uses one twice."""
    with Override("jax_debug_key_reuse", True):
        closed: ClosedJaxpr = make_jaxpr(fun)(*args)
    return jaxpr_type_signature(closed.jaxpr)


def check_key_reuse(fun: Callable[..., Any], /, *args: Any) -> None:
    """KeyReuseError if a function of these arguments uses a random key twice; it is traced, not run."""
    function_type_signature(fun, *args)


# ------------------------------------------------------------------------------------------------ calls of programs

def use_arguments(signature: KeyReuseSignature, values: Sequence[Any], what: str = "jit-compiled function") -> None:
    """Marks the arrays, or their elements, that a compiled program uses. KeyReuseError if one was used before."""
    for sink in signature.of(Sink):
        value = values[sink.idx]
        if isinstance(value, Array) and value.size:
            key_marks.consume_array(value, f"{what} at index {sink.idx}", sink.mask)


def use_by_operation(op: Op, args: Sequence[Any], params: dict[str, Any]) -> Callable[[Sequence[Any]], None]:
    """Marks the arrays that an operation with programs uses, as it runs outside of programs; returns what marks its results.
    KeyReuseError if one was used before, or if the programs use one twice."""
    if key_marks.is_silent():
        return lambda outs: None
    operands = [Var(aval_of(x)) for x in args]
    out = op.abstract(*[v.aval for v in operands], **params)
    signature = _of_equation(JaxprEqn(operands, [Var(a) for a in (out if op.multiple else [out])], op, params))
    use_arguments(signature, args, "jit-compiled function" if op.programs else op.name)
    return lambda outs: mark_results(signature, args, outs)


def mark_results(signature: KeyReuseSignature, values: Sequence[Any], outs: Sequence[Any]) -> None:
    """Marks the results of a compiled program that are used keys."""
    new = {s.idx for s in signature.of(Source)}
    given = {f.out_idx: f.in_idx for f in signature.of(Forward)}
    for k, out in enumerate(outs):
        used = key_marks.is_consumed(values[given[k]]) if k in given else k not in new
        if dtypes.is_key(out.dtype) and used:
            key_marks.mark_array(out)


# ------------------------------------------------------------------------------------------------ statements of tests

def consume(key: Any) -> Any:
    """The key, used."""
    return random_mark_p.bind(key, kind=key_marks.CONSUME, mask=None)


def assert_consumed(key: Any, value: Any = True) -> None:
    """In a function that `check_key_reuse` looks at: AssertionError unless the key is used (where `value` holds)."""
    mask = tuple(np.asarray(value).tolist()) if np.ndim(value) else None if value else (False,)
    random_mark_p.bind(key, kind=key_marks.ASSERT_CONSUMED, mask=mask)


def assert_unconsumed(key: Any) -> None:
    """In a function that `check_key_reuse` looks at: AssertionError if the key is used."""
    random_mark_p.bind(key, kind=key_marks.ASSERT_UNCONSUMED, mask=None)
