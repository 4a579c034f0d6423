"""Callbacks into Python: pure_callback for functions of their arguments alone, io_callback for all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.host.python_calls import (
    HostFunction,
    arguments_of,
    call_each,
    called,
    check_callable,
    lowered,
    results_of,
    run,
)
from numjet.core import effects
from numjet.core.aval import ShapedArray
from numjet.core.op import Missing, Op
from numjet.core.traits import EXACT, KEEPS_APART
from numjet.foundation.tree import PyTreeDef, tree_unflatten
from numjet.lax.indexing.slicing import index_in_dim
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import expand_dims
from numjet.lax.templates import broadcast_batch, moveaxis

METHODS = ("sequential", "sequential_unrolled", "expand_dims", "broadcast_all", "legacy_vectorized")


def _abstract(*avals: ShapedArray, callback: HostFunction, **_: Any) -> list[ShapedArray]:
    return list(callback.outs)


def _pure_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callback: HostFunction, **_: Any) -> Any:
    raise ValueError(
        f"Pure callbacks do not support JVP: {callback.where()} is a Python function whose derivative is not known. "
        "Give it one with `custom_jvp` or `custom_vjp` around the function that calls pure_callback, or wrap its "
        "operands in `lax.stop_gradient`."
    )


def _io_jvp(primals: Sequence[Any], tangents: Sequence[Any], *, callback: HostFunction, **_: Any) -> Any:
    raise ValueError(
        f"IO callbacks do not support JVP: {callback.where()} is a Python function whose derivative is not known. "
        "Wrap its operands in `lax.stop_gradient`, or define derivatives with `custom_jvp` or `custom_vjp` around it."
    )


def _pure_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, callback: HostFunction, sharding: Any,
                vmap_method: str | None) -> tuple[list[Any], list[int]]:
    if vmap_method is None:
        raise NotImplementedError(
            "vmap is only supported for pure_callback with a vmap_method, which says how "
            f"{callback.where()} takes a batch: pass one of "
            f"{', '.join(map(repr, METHODS))}. Got vmap_method=None. 'sequential' is right for every function."
        )
    return batch_by_method(pure_callback_p, size, args, dims, callback, vmap_method,
                           {"sharding": sharding, "vmap_method": vmap_method})


def batch_by_method(op: Op, size: int, args: Sequence[Any], dims: Sequence[int | None], callback: HostFunction, method: str,
                    params: dict[str, Any]) -> tuple[list[Any], list[int]]:
    """The batch rule of an operation that calls a host function, for one of METHODS."""
    count = len(callback.outs)
    if method == "sequential":
        return call_each(lambda *xs: op.bind(*xs, callback=callback, **params), size, args, dims), [0] * count
    if method == "sequential_unrolled":
        return _unrolled(op, size, args, dims, callback, params), [0] * count
    whole = [_whole(method, size, a, d) for a, d in zip(args, dims, strict=True)]
    outs = [a.update(shape=(size, *a.shape)) for a in callback.outs]
    return op.bind(*whole, callback=callback.promising(outs), **params), [0] * count


def _whole(method: str, size: int, x: Any, dim: int | None) -> Any:
    """An operand of a vectorized function, with the batch in front."""
    if dim is not None:
        return moveaxis(x, dim, 0)
    if method == "broadcast_all":
        return broadcast_batch(x, None, size)
    return expand_dims(x, (0,)) if method == "expand_dims" else x


def _unrolled(op: Op, size: int, args: Sequence[Any], dims: Sequence[int | None], callback: HostFunction,
              params: dict[str, Any]) -> list[Any]:
    """One call per element, written out."""
    if size == 0:
        return call_each(lambda *xs: op.bind(*xs, callback=callback, **params), 0, args, dims)
    rows = []
    for i in range(size):
        here = [a if d is None else index_in_dim(a, i, d, False) for a, d in zip(args, dims, strict=True)]
        rows.append(op.bind(*here, callback=callback, **params))
    return [concatenate([expand_dims(x, (0,)) for x in column], 0) for column in zip(*rows, strict=True)]


def _io_batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, callback: HostFunction, ordered: bool,
              sharding: Any) -> tuple[list[Any], list[int]]:
    if ordered:
        raise ValueError(
            f"Cannot `vmap` ordered IO callback ({callback.where()}): a batch has no order. Pass ordered=False, or "
            "loop with lax.map instead of vmap."
        )
    bind = lambda *xs: io_callback_p.bind(*xs, callback=callback, ordered=ordered, sharding=sharding)
    return call_each(bind, size, args, dims), [0] * len(callback.outs)


def _transpose(cts: Sequence[Any], *args: Any, callback: HostFunction, **_: Any) -> Any:
    kind = "Pure" if callback.kind == "pure_callback" else "IO"
    raise ValueError(f"{kind} callbacks do not support transpose. {callback.where()} is a Python function, which is not known "
                     "to be linear: define derivatives with custom_jvp or custom_vjp around it.")


pure_callback_p = Op(name="pure_callback", params=("callback", "sharding", "vmap_method"), multiple=True, abstract=_abstract,
                     eager=run, jvp=_pure_jvp, transpose=_transpose, batch=_pure_batch, cpu=lowered, hlo=called(),
                     traits=EXACT | KEEPS_APART, samples=Missing("calls Python"))

io_callback_p = Op(name="io_callback", params=("callback", "ordered", "sharding"), multiple=True, abstract=_abstract, eager=run,
                   jvp=_io_jvp, transpose=_transpose, batch=_io_batch, cpu=lowered,
                   hlo=called(ordered=lambda params: params["ordered"]), traits=EXACT, samples=Missing("calls Python"),
                   effects=lambda *, ordered, **_: frozenset({effects.ORDERED_IO if ordered else effects.IO}))


def _prepare(
    kind: str, fun: Callable[..., Any], described: Any, args: Sequence[Any], kwargs: dict[str, Any]
) -> tuple[HostFunction, list[Any], PyTreeDef]:
    check_callable(kind, fun)
    outs, out_tree = results_of(kind, described)
    arrays, statics, in_tree = arguments_of(args, kwargs)
    if statics:
        value = statics[0][1]
        raise TypeError(
            f"{kind} passes arrays and numbers to {HostFunction(kind, fun, in_tree, outs).where()}, got {value!r} of "
            f"type {type(value).__name__}. Bind other values beforehand: functools.partial(function, value)."
        )
    return HostFunction(kind, fun, in_tree, outs), arrays, out_tree


def pure_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None,
                  vmap_method: str | None = None, **kwargs: Any) -> Any:
    """Calls a Python function whose result depends on its arguments alone, from within compiled programs, too.

    The program may call it any number of times, or not at all when the result is unused.

    Args:
      callback: function of Arrays (in the structure of args and kwargs); returns arrays, NumPy's or others.
      result_shape_dtypes: types of the result, a pytree of objects with shape and dtype (ShapeDtypeStruct).
      args, kwargs: pytrees of arrays and numbers.
      sharding: a SingleDeviceSharding: which device of a program of several calls it; default: the first.
      vmap_method: how a batch is called. "sequential": element by element; "sequential_unrolled": so, written out;
        "expand_dims": once, with the batch in front and an axis of size 1 in front of what is not batched;
        "broadcast_all": once, with everything broadcast; None: not at all.

    Returns:
      Pytree of Arrays like result_shape_dtypes.

    Raises:
      ValueError: for 64-bit results while they are off, an unknown vmap_method, and under differentiation.
      JaxRuntimeError: when the results are waited for, if the function raised (its exception is the cause) or
        returned something else than promised.

    >>> import numpy as np, numjet as nj
    >>> shape = nj.ShapeDtypeStruct((3,), np.float32)
    >>> nj.jit(lambda x: nj.pure_callback(np.sort, shape, x))(np.float32([2, 3, 1])).tolist()
    [1.0, 2.0, 3.0]
    """
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"pure_callback: vmap_method must be None or one of {', '.join(map(repr, METHODS))}, "
                         f"got {vmap_method!r}")
    host, arrays, out_tree = _prepare("pure_callback", callback, result_shape_dtypes, args, kwargs)
    outs = pure_callback_p.bind(*arrays, callback=host, sharding=sharding, vmap_method=vmap_method)
    return tree_unflatten(out_tree, outs)


def io_callback(callback: Callable[..., Any], result_shape_dtypes: Any, *args: Any, sharding: Any = None, ordered: bool = False,
                **kwargs: Any) -> Any:
    """Calls a Python function with side effects, exactly once each time the program reaches the call.

    Args:
      callback: function of Arrays (in the structure of args and kwargs); returns arrays, NumPy's or others.
      result_shape_dtypes: types of the result, a pytree of objects with shape and dtype; None for nothing.
      args, kwargs: pytrees of arrays and numbers.
      sharding: a SingleDeviceSharding: which device of a program of several calls it; default: the first.
      ordered: promise that calls happen in the program's order. Here they always do; an ordered callback cannot be
        vmapped.

    Returns:
      Pytree of Arrays like result_shape_dtypes.

    Raises:
      ValueError: under differentiation, and for vmap of ordered callbacks.
      JaxRuntimeError: when results of the program are waited for or at effects_barrier(), if the function raised (its
        exception is the cause) or returned something else than promised.

    >>> import numpy as np, numjet as nj
    >>> seen = []
    >>> f = nj.jit(lambda x: nj.io_callback(lambda v: seen.append(float(v)), None, x * 2))
    >>> f(1.5); nj.effects_barrier()
    >>> seen
    [3.0]
    """
    host, arrays, out_tree = _prepare("io_callback", callback, result_shape_dtypes, args, kwargs)
    outs = io_callback_p.bind(*arrays, callback=host, ordered=bool(ordered), sharding=sharding)
    return tree_unflatten(out_tree, outs)
