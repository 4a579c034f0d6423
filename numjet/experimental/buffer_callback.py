"""JAX's `buffer_callback`: calls of Python functions that read and write the memory of arrays in place."""
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from numjet.control.host.buffer_op import (
    Buffer as Buffer,
    BufferFunction,
    ExecutionContext as ExecutionContext,
    ExecutionStage as ExecutionStage,
    buffer_callback_p,
)
from numjet.control.host.callback import METHODS
from numjet.control.host.python_calls import check_callable, results_of
from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of
from numjet.foundation.tree import tree_flatten, tree_unflatten

__all__ = ("Buffer", "ExecutionContext", "ExecutionStage", "buffer_callback")


def buffer_callback(callback: Callable[..., None], result_shape_dtypes: Any, *, has_side_effect: bool = False,
                    vmap_method: str | None = None, input_output_aliases: Mapping[int, int] | None = None,
                    command_buffer_compatible: bool = False) -> Callable[..., Any]:
    """A function of arrays that calls `callback(context, out, *args, **kwargs)`, which writes its results into `out`.

    Args:
      callback: gets a pytree `out` of `Buffer`s to write, and one `Buffer` per array to read; what it returns is ignored.
      result_shape_dtypes: pytree of objects with shape and dtype.
      has_side_effect: whether the call happens even if its results are not used.
      vmap_method: how a batch is called, as for pure_callback; None: vmap raises.
      input_output_aliases: {operand: result}: operands that are passed in the memory of a result of the same shape and dtype.
      command_buffer_compatible: whether a GPU may record the call; without effect.

    Raises ValueError under differentiation (define `custom_jvp` around it), for unknown methods and for aliases that do not
    fit; JaxRuntimeError where the callback raises.

    >>> import numpy as np
    >>> from numjet import ShapeDtypeStruct
    >>> def double(context, out, x):
    ...     np.multiply(x, 2, out=np.asarray(out))
    >>> buffer_callback(double, ShapeDtypeStruct((3,), np.float32))(np.arange(3, dtype=np.float32)).tolist()
    [0.0, 2.0, 4.0]
    """
    check_callable("buffer_callback", callback)
    if vmap_method is not None and vmap_method not in METHODS:
        raise ValueError(f"buffer_callback: vmap_method must be None or one of {', '.join(map(repr, METHODS))}, got "
                         f"{vmap_method!r}")
    outs, out_tree = results_of("buffer_callback", result_shape_dtypes)

    def wrapped(*args: Any, **kwargs: Any) -> Any:
        leaves, in_tree = tree_flatten((args, kwargs))
        aliases = _aliases(input_output_aliases or {}, [aval_of(x) for x in leaves], outs)
        host = BufferFunction(callback, in_tree, outs, out_tree, aliases)
        results = buffer_callback_p.bind(*leaves, callback=host, vmap_method=vmap_method, has_side_effect=bool(has_side_effect))
        return tree_unflatten(out_tree, results)
    return wrapped


def _aliases(given: Mapping[int, int], ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> dict[int, int]:
    for i, k in given.items():
        for what, index, count in (("input", i, len(ins)), ("output", k, len(outs))):
            if not 0 <= index < count:
                raise ValueError(f"input_output_aliases contains the mapping '{i}:{k}' with {what} index {index} outside the "
                                 f"range [0, {count}).")
        if (ins[i].shape, ins[i].dtype) != (outs[k].shape, outs[k].dtype):
            raise ValueError(f"input_output_aliases contains the mapping '{i}:{k}' referring to an input with abstract value "
                             f"{ins[i]} and an output with a different abstract value {outs[k]}.")
    return dict(given)
