"""`checkify`: a function's errors as a value that it returns.

Abstract interpretation of the traced program: every equation is evaluated, and those that may fail are followed by a test of
their values. The first failure stands in a mutable reference (`core/refs.py`), so loops and branches thread it as they thread
any state, and what is compiled is a pure program.
"""
from __future__ import annotations

import copy
import functools
from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet import _native
from numjet.api import checkify_indices as indexing
from numjet.api.arguments import check_callable, debug_info, flatten_result
from numjet.api.jit import jit
from numjet.control.branches.cond import switch
from numjet.control.branches.cond_op import cond_p
from numjet.control.checks.check_op import CHECK, FailedCheckError, JaxException, JaxRuntimeError, Site, check_p
from numjet.control.checks.index_op import note_index_p
from numjet.control.custom.checkpoint import checkpoint, checkpoint_p
from numjet.control.loops.checkpoint_scan import checkpoint_scan_p
from numjet.control.loops.scan import scan_by
from numjet.control.loops.scan_op import scan_p
from numjet.control.loops.while_loop import while_loop
from numjet.control.loops.while_op import while_p
from numjet.control.shards.shard_map_op import shard_map_p, with_states
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.named_axes import checked_axes
from numjet.core.refs import Ref, read, write
from numjet.core.stage import trace_to_closed
from numjet.core.trace import Tracer, aval_of
from numjet.core.trace_state import valid_jaxtype
from numjet.core.traits import CALLS, EXACT
from numjet.core.walk import all_eqns
from numjet.foundation import dtypes, source, tree
from numjet.foundation.dimension import computed_sizes, is_symbolic, may_exceed
from numjet.foundation.record import Record
from numjet.foundation.util import merge_lists, partition_list, split_list, wraps
from numjet.lax.collective.varying import as_varying
from numjet.lax.elementwise.bits import stop_gradient
from numjet.lax.elementwise.bitwise import and_p, not_p, or_p
from numjet.lax.elementwise.compare import eq_p, gt_p, lt_p, ne_p, select_n_p
from numjet.lax.elementwise.convert import cast
from numjet.lax.indexing.dynamic_slicing import dynamic_index_in_dim
from numjet.lax.reduction.argreduce import argmax, argmin
from numjet.lax.reduction.reduce import reduce_or_p
from numjet.lax.shape.rearrange import broadcast_in_dim, reshape
from numjet.lax.tangent import zeros_like_aval


class NaNError(JaxException):
    """An operation made a NaN."""


class DivisionByZeroError(JaxException):
    """A division by zero."""


class OOBError(JaxException):
    """An index out of bounds."""


class BatchedError(JaxException):
    """Errors of several elements of a batch."""


def _element(x: Any, index: tuple[int, ...]) -> Any:
    """The part of a value of a message that belongs to one element of a batch: random keys stay keys."""
    return x[index] if dtypes.issubdtype(aval_of(x).dtype, dtypes.extended) else np.asarray(x)[index]


ErrorCategory = type[JaxException]
user_checks: frozenset[ErrorCategory] = frozenset({FailedCheckError})
nan_checks: frozenset[ErrorCategory] = frozenset({NaNError})
index_checks: frozenset[ErrorCategory] = frozenset({OOBError})
div_checks: frozenset[ErrorCategory] = frozenset({DivisionByZeroError})
float_checks = nan_checks | div_checks
automatic_checks = float_checks | index_checks
all_checks = automatic_checks | user_checks


class Error:
    """The first error of a function, or none: a pytree, which jit, vmap and scan may return.

    `get()` is its message, or None; `throw()` raises it; `get_exception()` is the exception. After vmap it holds one
    per element.
    """

    __slots__ = ("_code", "_metadata", "_payload", "_pred")

    def __init__(self, _pred: Any, _code: Any, _metadata: dict[int, Site], _payload: Mapping[int, Sequence[Any]]):
        self._pred, self._code, self._metadata, self._payload = _pred, _code, _metadata, _payload

    def get(self) -> str | None:
        """The message of the first error, or None."""
        found = self.get_exception()
        return None if found is None else str(found)

    def get_exception(self) -> JaxException | None:
        """The first error, or None; a BatchedError after vmap."""
        pred = np.asarray(self._pred)
        if not pred.any():
            return None
        if not pred.shape:
            return self._at(())
        return BatchedError("\n".join(f"at mapped index {', '.join(map(str, index))}: {self._at(index)}"
                                      for index in np.ndindex(pred.shape) if pred[index]))

    def _at(self, index: tuple[int, ...]) -> JaxException:
        code = int(np.asarray(self._code)[index])
        site = self._metadata[code]
        return site.exception([_element(x, index) for x in self._values(code)])

    def _values(self, code: int) -> Sequence[Any]:
        """What was kept for the message of an error."""
        shares = self._metadata[code].shares
        return self._payload.get(code if shares is None else shares, ())

    def throw(self) -> None:
        """Raises JaxRuntimeError if there is an error."""
        check_error(self)

    def tree_flatten(self) -> tuple[tuple[Any, ...], Any]:
        """(arrays, metadata)"""
        return (self._pred, self._code, self._payload), _Metadata(self._metadata)

    @classmethod
    def tree_unflatten(cls, metadata: Any, data: Any) -> Error:
        """The inverse of tree_flatten."""
        pred, code, payload = data
        return cls(pred, code, metadata.sites, payload)

    def __repr__(self) -> str:
        return "Error(<traced>)" if isinstance(self._pred, Tracer) else f"Error({self.get()})"


class _Metadata(Record):
    """The static part of an Error."""
    sites: dict[int, Site]

    def __hash__(self) -> int:
        return hash(tuple(self.sites.items()))


tree.register_pytree_node(Error, Error.tree_flatten, Error.tree_unflatten)
init_error = Error(np.bool_(False), np.int32(-1), {}, {})


def check_error(error: Error) -> None:
    """Raises JaxRuntimeError if there is an error. Within a function that checkify transforms, it becomes an error of that.

    >>> check_error(init_error)
    """
    if not isinstance(error, Error):
        raise TypeError(f"check_error takes an Error as argument, got type {type(error)} instead.")
    if not isinstance(error._pred, Tracer):
        found = error.get_exception()
        if found is not None:
            raise JaxRuntimeError(str(found)) from None
        return
    if batch := aval_of(error._pred).shape:
        if 0 in batch:
            return
        error = _first_error(error, batch)
    for code, site in error._metadata.items():
        failed = and_p.bind(error._pred, eq_p.bind(error._code, np.int32(code)))
        check_p.bind(not_p.bind(failed), *error._values(code), site=site.replace(shares=None), debug=False)


def _first_error(error: Error, batch: tuple[int, ...]) -> Error:
    """The error of the first element of a batch that has one."""
    one_axis = lambda x: reshape(x, (prod(batch), *aval_of(x).shape[len(batch):]))
    which = argmax(one_axis(error._pred), 0, np.int32)
    chosen = lambda x: dynamic_index_in_dim(one_axis(x), which, 0, keepdims=False)
    return Error(_any(error._pred), chosen(error._code), error._metadata,
                 {code: list(map(chosen, payload)) for code, payload in error._payload.items()})


def checkify(f: Callable[..., Any], errors: Iterable[ErrorCategory] = user_checks) -> Callable[..., tuple[Error, Any]]:
    """Makes a function that returns (error, result) from one that calls `check`, or may make NaNs, divide by zero, or index
    out of bounds.

    The first error wins. All transformations apply, on both sides: vmap of the function gives an error per element, checkify of
    a gradient checks the backward pass, too.

    Args:
      f: function of pytrees; it is traced and compiled as by jit, with data-dependent shapes if it is a
        `jit(..., dynamic_shapes=True)`. Leaves that are no arrays, strings or functions for example, are passed on as they
        are; with such, every call traces f.
      errors: which errors to look for: user_checks, nan_checks, div_checks, index_checks, or unions of these: float_checks,
        automatic_checks, all_checks.

    >>> import numjet.numpy as jnp
    >>> error, _ = checkify(lambda x: jnp.log(x), errors=nan_checks)(-1.0)
    >>> error.get().partition(".")[0]
    'nan generated by primitive: log'
    """
    check_callable(f)
    enabled = frozenset(errors)
    if unknown := enabled - all_checks:
        raise ValueError(f"checkify: unknown errors {unknown}: expected a union of user_checks, nan_checks, div_checks and "
                         "index_checks")

    @wraps(f)
    def checked(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, in_tree = tree.tree_flatten((args, kwargs))
        out_tree: list[Any] = []

        def flat(*xs: Any) -> list[Any]:
            a, k = tree.tree_unflatten(in_tree, xs)
            return flatten_result(f(*a, **k), out_tree, f, "checkify")
        with _native.Scope(computed_sizes, "padding_tested", bool(enabled - user_checks)):
            closed = trace_to_closed(flat, [aval_of(x) for x in leaves], debug_info("checkify", f, args, kwargs))
        interpreter = _Interpreter(enabled, closed.jaxpr)
        outs = interpreter.run(closed.jaxpr, closed.consts, leaves)
        return interpreter.error(), tree.tree_unflatten(out_tree[0], outs)
    compiled = jit(checked, dynamic_shapes=getattr(f, "_jit_options", {}).get("dynamic_shapes"))

    @wraps(f)
    def run(*args: Any, **kwargs: Any) -> tuple[Error, Any]:
        leaves, structure = tree.tree_flatten((args, kwargs))
        other = [not valid_jaxtype(x) for x in leaves]
        if not any(other):
            return compiled(*args, **kwargs)
        arrays, others = partition_list(other, leaves)

        def closed(*xs: Any) -> Any:
            a, k = tree.tree_unflatten(structure, merge_lists(other, xs, others))
            return f(*a, **k)
        return checkify(closed, enabled)(*arrays)
    return run


class _Interpreter:
    """Evaluates a program and keeps its first error. Every equation that may fail has a number, in program order."""

    def __init__(self, enabled: frozenset[ErrorCategory], jaxpr: Jaxpr):
        self.enabled = enabled
        self.sites: dict[int, Site] = {}
        self.payloads: dict[int, list[Ref]] = {}
        self.numbers: dict[tuple[int, ErrorCategory], int] = {}  # by the identity of the equation, which the program keeps
        self.code = _state(ShapedArray((), np.dtype(np.int32)))
        write(self.code, np.int32(-1))
        self.place: list[Ref] = []   # of the first index out of bounds: the index, its axis
        self.first_index: int | None = None   # the number of the first place with indices, which keeps those
        for eqn in all_eqns(jaxpr):
            for site, avals in _sites(eqn):
                if site.category in enabled and (id(eqn), site.category) not in self.numbers:
                    number = self.numbers[id(eqn), site.category] = len(self.sites)
                    self._add(number, site, avals)

    def _add(self, number: int, site: Site, avals: Sequence[ShapedArray]) -> None:
        """Adds a place; those of indices share their values, but for those among computed sizes."""
        if isinstance(site.describe, indexing.OutOfBounds):
            self.sites[number] = site.replace(shares=self.first_index)
            if self.first_index is None:
                self.first_index, self.place = number, [_state(_of_all_shards(a)) for a in avals]
                self.payloads[number] = self.place
        elif sizes := [a for a in avals if is_symbolic(a.shape)]:
            raise NotImplementedError(f"checkify: the message of a check shows an array of computed size, {sizes[0]}, which "
                                      "would have to be kept as long as the error. Show numbers of it, such as x.max(), "
                                      "x.sum() or jnp.asarray(x.shape[0]).")
        else:
            self.sites[number], self.payloads[number] = site, [_state(_of_all_shards(a)) for a in avals]

    def error(self) -> Error:
        """The first error so far."""
        code = read(self.code)
        payload = {k: tuple(map(read, refs)) for k, refs in self.payloads.items() if refs}
        return Error(gt_p.bind(code, np.int32(-1)), code, self.sites, payload)

    def run(self, jaxpr: Jaxpr, consts: Sequence[Any], args: Sequence[Any]) -> list[Any]:
        """The results of a program."""
        env: dict[Var, Any] = dict(zip(jaxpr.constvars, consts, strict=True))
        env.update(zip(jaxpr.invars, args, strict=True))
        with source.replaying() as outer:
            for eqn in jaxpr.eqns:
                source.replay(eqn.source, outer)
                ins = [a if isinstance(a, Literal) else env[a] for a in eqn.invars]
                env.update(zip(eqn.outvars, self._apply(eqn, ins), strict=True))
        return [hooks.literal_array(a) if isinstance(a, Literal) else env[a] for a in jaxpr.outvars]

    def _apply(self, eqn: JaxprEqn, ins: list[Any]) -> list[Any]:
        if eqn.primitive is check_p:
            self._record(eqn, FailedCheckError, not_p.bind(ins[0]), ins[1:])
            return []
        if eqn.primitive.programs and any((id(e), c) in self.numbers for p in _programs(eqn) for e in all_eqns(p.jaxpr)
                                          for c in self.enabled):
            return self._apply_programs(eqn, ins)
        if (id(eqn), OOBError) in self.numbers:
            ins = self._note_index(eqn, ins)
        out = eqn.primitive.bind(*ins, **eqn.params)
        outs = list(out) if eqn.primitive.multiple else [out]
        if (id(eqn), DivisionByZeroError) in self.numbers:
            self._record(eqn, DivisionByZeroError, _any(eq_p.bind(ins[1], np.zeros((), aval_of(ins[1]).dtype))), [])
        if (id(eqn), NaNError) in self.numbers:
            self._record(eqn, NaNError, _any(*[ne_p.bind(x, x) for x in outs if _inexact(aval_of(x))]), [])
        return outs

    def _note_index(self, eqn: JaxprEqn, ins: list[Any]) -> list[Any]:
        """Notes an index out of bounds. The operands: of operations that would move one index into bounds, with that done."""
        axes, limits = indexing.window_limits(eqn)  # type: ignore[misc]
        if not axes:
            return ins
        indices = indexing.indices_of(eqn, ins)
        if indexing.is_computed(eqn, limits):
            self._record(eqn, OOBError, *indexing.search_computed(indices, axes, limits, eqn.invars[0].aval.shape))
            return ins
        most = tuple(min(n, np.iinfo(aval_of(indices).dtype).max) for n in limits)
        state = [self.code, *self.place]
        *news, inside = note_index_p.bind(*map(read, state), indices, number=self.numbers[id(eqn), OOBError], limits=most,
                                          axes=tuple(axes))
        for ref, value in zip(state, news, strict=True):
            write(ref, value)
        return indexing.with_indices(eqn, ins, inside) if aval_of(inside).ndim == 1 else ins

    def _record(self, eqn: JaxprEqn, category: ErrorCategory, failed: Any, payload: Sequence[Any]) -> None:
        """Keeps an error, unless there is one."""
        number = self.numbers.get((id(eqn), category))
        if number is None:
            return
        old = read(self.code)
        first = and_p.bind(failed, lt_p.bind(old, np.int32(0)))
        write(self.code, select_n_p.bind(first, old, np.int32(number)))
        for ref, value in zip(self.payloads[number], payload, strict=True):
            aval = ref.aval.inner_aval
            value = cast(stop_gradient(value), aval.dtype)
            write(ref, select_n_p.bind(broadcast_in_dim(first, aval.shape, ()), read(ref), value))

    # -- operations that hold programs
    def _apply_programs(self, eqn: JaxprEqn, ins: list[Any]) -> list[Any]:
        rules = {scan_p: self._scan, checkpoint_scan_p: self._checkpoint_scan, while_p: self._while, cond_p: self._cond,
                 checkpoint_p: self._checkpoint, shard_map_p: self._shards}
        if eqn.primitive in rules:
            return rules[eqn.primitive](eqn.params, ins)
        called = [p for p in _programs(eqn) if len(p.in_avals) == len(ins)]
        if len(called) != 1 or not eqn.primitive.traits >= CALLS:
            raise NotImplementedError(f"checkify: the checks inside of the operation {eqn.primitive.name} are not supported. "
                                      "Move them out of the function that it holds.")
        if not eqn.primitive.functions:
            return self.run(called[0].jaxpr, called[0].consts, ins)
        # A function with rules of its own keeps them; its program runs beside it for the checks alone.
        outs = eqn.primitive.bind(*ins, **{k: _without_checks(v) for k, v in eqn.params.items()})
        self.run(called[0].jaxpr, called[0].consts, list(map(stop_gradient, ins)))
        return list(outs)

    def _closed(self, closed: ClosedJaxpr) -> Callable[..., list[Any]]:
        return lambda *xs: self.run(closed.jaxpr, closed.consts, xs)

    def _checkpoint_scan(self, params: dict[str, Any], ins: list[Any]) -> list[Any]:
        return self._scan(params, ins, lambda *args, **own: checkpoint_scan_p.bind(*args, **own, budget=params["budget"]))

    def _scan(self, params: dict[str, Any], ins: list[Any], bind: Callable[..., Any] = scan_p.bind) -> list[Any]:
        consts, init, xs = split_list(ins, [params["num_consts"], params["num_carry"]])
        step = self._closed(params["jaxpr"])

        def body(carry: list[Any], x: list[Any]) -> tuple[list[Any], list[Any]]:
            new, ys = split_list(step(*consts, *carry, *x), [len(init)])
            return new, ys
        carry, ys = scan_by(bind, body, _typed(init), xs, params["length"], params["reverse"], params["unroll"])
        return [*carry, *ys]

    def _while(self, params: dict[str, Any], ins: list[Any]) -> list[Any]:
        cond_consts, body_consts, init = split_list(ins, [params["cond_nconsts"], params["body_nconsts"]])
        cond, body = self._closed(params["cond_jaxpr"]), self._closed(params["body_jaxpr"])
        return list(while_loop(lambda c: cond(*cond_consts, *c)[0], lambda c: body(*body_consts, *c), _typed(init)))

    def _cond(self, params: dict[str, Any], ins: list[Any]) -> list[Any]:
        return list(switch(ins[0], [self._closed(b) for b in params["branches"]], *_typed(ins[1:])))

    def _shards(self, params: dict[str, Any], ins: list[Any]) -> list[Any]:
        """Each shard keeps its own first error; of these, the first in program order counts."""
        closed = params["jaxpr"]
        kept = self._kept_in(closed.jaxpr)

        def run(*xs: Any) -> tuple[list[Any], list[Any]]:
            inner = self._fresh(kept, params["manual_axes"] & checked_axes())
            outs = inner.run(closed.jaxpr, closed.consts, xs)
            return outs, [read(ref) for ref in (inner.code, *inner._refs_of(kept))]
        outs, (codes, *states) = with_states(run, _typed(ins), params)
        last = np.int32(len(self.sites))
        none = lt_p.bind(codes, np.int32(0))
        which = argmin(select_n_p.bind(none, codes, broadcast_in_dim(last, aval_of(codes).shape, ())), 0, np.int32)
        code, *values = [dynamic_index_in_dim(x, which, 0, keepdims=False) for x in (codes, *states)]
        old = read(self.code)
        first = and_p.bind(gt_p.bind(code, np.int32(-1)), lt_p.bind(old, np.int32(0)))
        for ref, value in zip((self.code, *self._refs_of(kept)), (code, *values), strict=True):
            write(ref, select_n_p.bind(broadcast_in_dim(first, ref.shape, ()), read(ref), value))
        return outs

    def _kept_in(self, jaxpr: Jaxpr) -> list[int]:
        """The numbers under which the places of a program keep values."""
        inside = set(map(id, all_eqns(jaxpr)))
        numbers = {n for (eqn, _), n in self.numbers.items() if eqn in inside}
        shared = {self.sites[n].shares for n in numbers}
        return [n for n in self.payloads if n in numbers | shared]

    def _refs_of(self, kept: Sequence[int]) -> list[Ref]:
        return [ref for n in kept for ref in self.payloads[n]]

    def _fresh(self, kept: Sequence[int], varying: frozenset[Any]) -> _Interpreter:
        """An interpreter of a part of the program that has no error yet; its state varies over axes of a mesh."""
        made = copy.copy(self)
        again = lambda ref: _state(ref.aval.inner_aval, varying)
        made.code = again(self.code)
        write(made.code, as_varying(np.int32(-1), tuple(made.code.aval.inner_aval.vma)))
        made.payloads = {n: list(map(again, self.payloads[n])) for n in kept}
        made.place = made.payloads.get(-1 if self.first_index is None else self.first_index, [])
        return made

    def _checkpoint(self, params: dict[str, Any], ins: list[Any]) -> list[Any]:
        fun = checkpoint(self._closed(params["jaxpr"]), prevent_cse=params["prevent_cse"], policy=params["policy"])
        return list(fun(*_typed(ins)))


def _typed(values: Sequence[Any]) -> list[Any]:
    """Literals as arrays."""
    return [hooks.literal_array(x) if isinstance(x, Literal) else x for x in values]


def _state(aval: ShapedArray, varying: frozenset[Any] = frozenset()) -> Ref:
    """A reference to zeros, which may differ along axes of a mesh."""
    aval = aval.strip_weak_type()
    aval = aval.update(vma=aval.vma | varying)
    return Ref(aval, as_varying(zeros_like_aval(aval), tuple(aval.vma)))


def _of_all_shards(aval: ShapedArray) -> ShapedArray:
    """The type, outside of shards, of a value that one of them keeps."""
    manual = aval.placement is not None and aval.placement.mesh.manual_axes
    return ShapedArray(aval.shape, aval.dtype) if manual or aval.vma else aval


def _programs(eqn: JaxprEqn) -> list[ClosedJaxpr]:
    values = [x for v in eqn.params.values() for x in (v if isinstance(v, (tuple, list)) else (v,))]
    return [x for x in values if isinstance(x, ClosedJaxpr)]


def _without_checks(value: Any) -> Any:
    """A parameter of an equation without the checks in its programs, which ran elsewhere."""
    if isinstance(value, tuple):
        return tuple(map(_without_checks, value)) if any(isinstance(v, ClosedJaxpr) for v in value) else value
    if not isinstance(value, ClosedJaxpr) or CHECK not in value.effects:
        return value
    eqns = [e.replace(params={k: _without_checks(v) for k, v in e.params.items()}, effects=e.effects - {CHECK})
            for e in value.jaxpr.eqns if e.primitive is not check_p]
    return value.replace(value.jaxpr.replace(eqns=eqns))


# ------------------------------------------------------------------------------------------------- what may fail, and how


class _Text(Record):
    """A message without values."""
    text: str

    def __call__(self, payload: Sequence[Any]) -> str:
        return self.text


def _sites(eqn: JaxprEqn) -> Iterable[tuple[Site, list[ShapedArray]]]:
    """The errors that an equation may have, and the avals of the values that their messages need."""
    op, where = eqn.primitive, _where(eqn)
    if op is check_p:
        yield eqn.params["site"], [a.aval for a in eqn.invars[1:]]
        return
    if op.name == "div":
        yield Site(DivisionByZeroError, _Text(f"division by zero {where}".strip())), []
    if not op.programs and not op.traits >= EXACT and any(_inexact(v.aval) for v in eqn.outvars):
        yield Site(NaNError, _Text(f"nan generated by primitive: {op.name}. {where}".strip())), []
    if (found := indexing.site_of(eqn, where)) is not None:
        yield Site(OOBError, found[0]), found[1]


def _where(eqn: JaxprEqn) -> str:
    frame = eqn.source
    return "" if frame is None else f"({frame.file}:{frame.line} in {frame.function})"


def _inexact(aval: ShapedArray) -> bool:
    return all(may_exceed(n, 0) for n in aval.shape) and aval.dtype.names is None and dtypes.issubdtype(aval.dtype, np.inexact)


def _any(*flags: Any) -> Any:
    """Whether any element of any array is true."""
    found = [reduce_or_p.bind(f, axes=tuple(range(aval_of(f).ndim))) if aval_of(f).ndim else f for f in flags]
    return functools.reduce(or_p.bind, found)
