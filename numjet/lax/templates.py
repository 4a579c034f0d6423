"""Templates of records and batch rules. A template fills the slots that a family of operations has in common.

Rules here name other operations by `call("broadcast_in_dim", ...)`, looked up when they run, because the records of all
families are made from these templates.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray, placements_in_use
from numjet.core.ir import Literal
from numjet.core.op import Missing, Op, PerArg, Samples, Undefined, lookup
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.errors import ShapeMismatchError
from numjet.foundation.record import Record
from numjet.lax.axes import shift
from numjet.lax.sharding_later import sharding

BOOL, INT, UINT, FLOAT, COMPLEX = "b", "i", "u", "f", "c"
INTEGER = "iu"
REAL = "iuf"
NUMBER = "iufc"
INEXACT = "fc"
ANY = "biufcV"
_KIND_NAMES = {"b": "bool", "i": "signed integer", "u": "unsigned integer", "f": "floating", "c": "complex", "V": "key"}
_BOOL_DTYPE = np.dtype(np.bool_)


def call(name: str, *args: Any, **params: Any) -> Any:
    """Applies the operation of that name."""
    return lookup(name).bind(*args, **params)


def kind_of(dtype: np.dtype) -> str:
    """b, i, u, f, c or V (keys, float0); the ml_dtypes floats count as f, their ints as i and u."""
    return dtype.kind if dtype.kind != "V" or dtype.names is not None else dtypes.kind(dtype)


def moveaxis(x: Any, source: int, target: int) -> Any:
    """x with one axis moved."""
    if source == target:
        return x
    order = [i for i in range(aval_of(x).ndim) if i != source]
    order.insert(target, source)
    return call("transpose", x, permutation=tuple(order))


def broadcast_batch(x: Any, dim: int | None, size: int) -> Any:
    """x with a batch axis of `size` in front, broadcast when it has none."""
    return spread(x, 0, size) if dim is None else moveaxis(x, dim, 0)


def spread(x: Any, dim: int, size: int) -> Any:
    """x, which is the same for the whole batch, with a batch axis of `size` at `dim`."""
    shape = aval_of(x).shape
    out = call("broadcast_in_dim", x, shape=(*shape[:dim], size, *shape[dim:]),
               broadcast_dimensions=tuple(d + (d >= dim) for d in range(len(shape))))
    return out if not placements_in_use else sharding.divided_like_batch(out, x, dim)


def in_front(args: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Operands with their batch axis in front; those without one as they are."""
    return [x if d is None else moveaxis(x, d, 0) for x, d in zip(args, dims, strict=True)]


# ------------------------------------------------------------------------------------------------ batch rules

Batch = Callable[..., tuple[Any, Any]]


def leading_batch(record: Callable[[], Op], *axes: str) -> Batch:
    """The batch rule of operations that treat leading axes alike: all operands get the batch axis in front.

    axes: the parameters that number axes, which count the batch axis, too.
    """
    def rule(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        return _batched(record(), [broadcast_batch(x, d, size) for x, d in zip(args, dims, strict=True)], 0, axes, params)
    return rule


def aligned_batch(record: Callable[[], Op], *axes: str) -> Batch:
    """The batch rule of operations on operands of one rank: a batch axis that all operands have at one position stays there,
    otherwise all get it in front. axes: the parameters that number axes."""
    def rule(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, Any]:
        dim = dims[0]
        if dim is None or any(d != dim for d in dims):
            return leading_batch(record, *axes)(size, args, dims, **params)
        return _batched(record(), args, dim, axes, params)
    return rule


def _batched(op: Op, args: Sequence[Any], dim: int, axes: Sequence[str], params: dict[str, Any]) -> tuple[Any, Any]:
    moved = {k: shift(v, dim) if isinstance(v := params[k], tuple) else v + (v >= dim) for k in axes}
    out = op.bind(*args, **{**params, **moved})
    return out, [dim] * len(out) if op.multiple else dim


def full_rank_batch(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """Operands of equal shape or rank 0 with the batch axis in front, of equal shape or rank 0 again."""
    ranks = [aval_of(x).ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
    full = [x if d is None and r == 0 else broadcast_batch(x, d, size) for x, d, r in zip(args, dims, ranks, strict=True)]
    shape = max((aval_of(x).shape for x in full), key=len)
    return [x if d is None or aval_of(x).shape == shape else call("broadcast_in_dim", x, shape=shape, broadcast_dimensions=(0,))
            for x, d in zip(full, dims, strict=True)]


# ------------------------------------------------------------------------------------------------ elementwise

class Joint(Record):
    """A jvp rule for all operands together, as in the record."""
    rule: Callable[..., Any]


def elementwise(name: str, *, accepts: str, eager: Callable, jvp: Any, cpu: Any, hlo: Any, samples: Samples | Missing,
                transpose: Any = None, result: Any = None, same_dtype: bool = True, check: Callable[..., None] | None = None,
                **fields: Any) -> Op:
    """A record of out[i] = f(x[i], y[i], ...). Operands have equal shapes, or rank 0.

    accepts: kinds of dtypes (see BOOL ... ANY). result: dtype of the result, or a function of the operand dtypes and
    params; default: the dtype of the operands. jvp: one rule, or a tuple of one per operand: f(t, out, *primals); or Joint.
    transpose: as in the record; cotangents of rank-0 operands are summed here. check(*avals, **params) raises errors before
    others are looked for. fields: further fields of the record, or in place of those made here.
    """
    rules = jvp if not callable(jvp) else (jvp,)
    made: dict[str, Any] = {
        "abstract": _elementwise_abstract(name, accepts, result, same_dtype, check), "elementwise": True,
        "prepare": promote_scalars if fields.get("nargs", 1) > 1 and same_dtype else None,
        "jvp": PerArg(*rules) if isinstance(rules, tuple) else rules.rule if isinstance(rules, Joint) else rules,
        "transpose": _unbroadcasting(transpose) if callable(transpose) else transpose or _not_linear(name)}
    op = Op(name=name, eager=eager, cpu=cpu, hlo=hlo, samples=samples, batch=_elementwise_batch(lambda: op), **(made | fields))
    return op


def _not_linear(name: str) -> Any:
    def transpose(ct: Any, *args: Any, **params: Any) -> Any:
        raise NotImplementedError(f"Transpose rule (for reverse-mode differentiation) for '{name}' not implemented: "
                                  "it is not linear")
    return transpose


def _elementwise_abstract(name: str, accepts: str, result: Any, same_dtype: bool,
                          check: Callable[..., None] | None) -> Callable[..., ShapedArray]:
    def abstract(*avals: ShapedArray, **params: Any) -> ShapedArray:
        first = avals[0]
        if check is not None:
            check(*avals, **params)
        if result is None and first.dtype != _BOOL_DTYPE and kind_of(first.dtype) in accepts and all(a is first for a in avals):
            return first
        if len(avals) > 1:
            _check_operands(name, avals, same_dtype)
        for a in avals:
            if kind_of(a.dtype) not in accepts:
                _check_operands(name, avals, False)
                raise TypeError(f"{name} does not accept dtype {dtypes.long_name(a.dtype)} at position {avals.index(a)}. "
                                f"Accepted dtypes are {', '.join(_KIND_NAMES[k] for k in accepts)}.")
        dtype = first.dtype if result is None else result(*[a.dtype for a in avals], **params) if callable(result) else result
        return ShapedArray(broadcast_shapes(name, [a.shape for a in avals]), dtype,
                           all(a.weak_type for a in avals) and dtype != _BOOL_DTYPE)
    return abstract


def _check_operands(name: str, avals: Sequence[ShapedArray], same_dtype: bool) -> None:
    for k, a in enumerate(avals):
        if a.dtype == dtypes.float0:
            raise TypeError(f"Called {name} with a float0 at position {k}. {dtypes.NO_FLOAT0}")
    if same_dtype and any(a.dtype != avals[0].dtype for a in avals):
        names = ", ".join(dtypes.long_name(a.dtype) for a in avals)
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {names}. "
                        f"(Tip: the numjet.numpy function of that name promotes its arguments.)")


def broadcast_shapes(name: str, shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The common shape of operands of equal shapes or rank 0; TypeError otherwise."""
    shape = max(shapes, key=len)
    for s in shapes:
        if s and s != shape:
            raise ShapeMismatchError(f"{name} got incompatible shapes for broadcasting: {', '.join(map(str, shapes))}. "
                            "lax functions take operands of equal shapes (or scalars); numjet.numpy broadcasts.")
    return shape


def promote_scalars(op: Op, args: Sequence[Any], params: dict[str, Any]) -> tuple[Sequence[Any], dict[str, Any]]:
    """Gives Python scalars the dtype of the other operands (when that loses nothing of their kind)."""
    scalars = [type(a) in (bool, int, float, complex) for a in args]
    if not any(scalars):
        return args, params
    if all(scalars):
        _check_operands(op.name, [aval_of(a) for a in args], True)
        dtype = dtypes.result_type(*args)
    else:
        dtype = next(aval_of(a).dtype for a, s in zip(args, scalars, strict=True) if not s)
    return [_typed_literal(op.name, a, dtype) if s else a for a, s in zip(args, scalars, strict=True)], params


def _typed_literal(name: str, value: Any, dtype: np.dtype) -> Literal:
    if dtype == dtypes.float0:
        raise TypeError(f"Called {name} with a float0. {dtypes.NO_FLOAT0}")
    kind = {bool: "b", int: "i", float: "f", complex: "c"}[type(value)]
    fits = "biufc".index(kind) <= "biufc".index(kind_of(dtype)) or (kind == "i" and kind_of(dtype) == "u")
    if not fits:
        raise TypeError(f"lax.{name} requires arguments to have the same dtypes, got {dtype.name} and the Python "
                        f"{type(value).__name__} {value!r}. (Tip: the numjet.numpy function promotes its arguments.)")
    if type(value) is int:
        dtypes.check_int_fits(value, dtype if kind_of(dtype) in "iu" else dtypes.python_scalar_dtype(int))
    return Literal(np.asarray(value, dtype)[()], ShapedArray((), dtype, True))


def _elementwise_batch(record: Callable[[], Op]) -> Batch:
    """A batch axis that all batched operands of full rank have at one position stays there: a matrix times a batch of vectors
    leaves it behind, and the next product wants it there."""
    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[Any, int]:
        ranks = [aval_of(x).ndim - (d is not None) for x, d in zip(args, dims, strict=True)]
        rank = max(ranks)
        batched = {d for d in dims if d is not None}
        if len(batched) == 1 and all(r == rank for r, d in zip(ranks, dims, strict=True) if d is not None) \
                and all(r in (0, rank) for r in ranks):
            dim = batched.pop()
            full = [x if d is not None or r == 0 else spread(x, dim, size) for x, d, r in zip(args, dims, ranks, strict=True)]
            return record().bind(*full, **params), dim
        return record().bind(*full_rank_batch(size, args, dims), **params), 0
    return batch


def _unbroadcasting(rule: Callable[..., Any]) -> Callable[..., Any]:
    """Sums the cotangents of operands of rank 0."""
    def transpose(ct: Any, *args: Any, **params: Any) -> Any:
        cts = rule(ct, *args, **params)
        cts = cts if isinstance(cts, (tuple, list)) else (cts,)
        return [unbroadcast(c, a.aval) if isinstance(a, Undefined) and c is not None else None
                for c, a in zip(cts, args, strict=True)]
    return transpose


def unbroadcast(ct: Any, aval: ShapedArray) -> Any:
    """Sums a cotangent over all axes when its operand is a scalar."""
    ndim = aval_of(ct).ndim
    if aval.ndim == ndim:
        return ct
    return call("reduce_sum", ct, axes=tuple(range(ndim)))
