"""Host functions, the wrappers by which programs call Python: flat lists of NumPy arrays in, arrays of known types out.

The user's function gets Arrays in the structure of the arguments; its results are checked against the promised types.
Its errors become JaxRuntimeError with the original text, and the original exception as their cause.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.control.loops.scan import scan
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.trace import EVAL, aval_of, is_array_like, is_masked, set_trace
from numjet.foundation import dtypes, events, source
from numjet.foundation.errors import JaxRuntimeError
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_leaves, tree_unflatten
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.shape.rearrange import reshape_p
from numjet.lax.templates import moveaxis


class HostFunction:
    """A Python function of flat NumPy arrays that returns a list of NumPy arrays of the avals `outs`.

    avals: the user's types of the operands (at the call, shapes may have batch axes in front).
    statics: leaves of the arguments that are no arrays, by position; `in_tree` is the structure of all of them.
    """

    def __init__(self, kind: str, fun: Callable[..., Any], in_tree: PyTreeDef, outs: Sequence[ShapedArray],
                 statics: Sequence[tuple[int, Any]] = (), weak: Sequence[bool] = ()):
        self.kind, self.fun, self.in_tree, self.outs = kind, fun, in_tree, tuple(outs)
        self.statics, self.weak = tuple(statics), tuple(weak)

    def promising(self, outs: Sequence[ShapedArray]) -> HostFunction:
        """The same function with other result types."""
        return HostFunction(self.kind, self.fun, self.in_tree, outs, self.statics, self.weak)

    def __call__(self, *operands: np.ndarray) -> list[np.ndarray]:
        try:
            with set_trace(EVAL):
                return self.accept(self.evaluate(operands))
        except JaxRuntimeError:
            raise
        except Exception as error:
            events.log_error(f"jax.{self.kind.replace('debug.', 'debug_')} failed", error)
            text = f"{type(error).__name__}: {error}"
            raise JaxRuntimeError(f"{self.kind} of {self.where()} failed: {text}") from error

    def evaluate(self, operands: Sequence[np.ndarray]) -> Any:
        """What the user's function returns."""
        args, kwargs = self._arguments(operands)
        return self.fun(*args, **kwargs)

    def accept(self, result: Any) -> list[np.ndarray]:
        """The results as NumPy arrays; JaxRuntimeError when they are not of the promised types."""
        return _checked(self, tree_leaves(result))

    def _arguments(self, operands: Sequence[np.ndarray]) -> Any:
        leaves = [_array(x, w) for x, w in zip(operands, self.weak or (False,) * len(operands), strict=True)]
        for position, value in self.statics:
            leaves.insert(position, value)
        return tree_unflatten(self.in_tree, leaves)

    def where(self) -> str:
        """`f at file.py:12`: for messages."""
        return source.of_function(self.fun)

    def __repr__(self) -> str:
        return f"{self.where()}"


def _array(x: np.ndarray, weak: bool) -> Any:
    """An Array of a NumPy array."""
    if x.dtype.names is not None:
        return reshape_p.bind(x, new_sizes=x.shape, dimensions=None)
    return convert_element_type_p.bind(x, new_dtype=x.dtype, weak_type=weak)


def _checked(host: HostFunction, results: Sequence[Any]) -> list[np.ndarray]:
    if len(results) != len(host.outs):
        raise JaxRuntimeError(f"{host.kind}: {host.where()} returned {len(results)} arrays, but result_shape_dtypes promises "
                              f"{len(host.outs)}. Return a pytree of the structure of result_shape_dtypes.")
    return [_as_promised(host, k, x, aval) for k, (x, aval) in enumerate(zip(results, host.outs, strict=True))]


def _as_promised(host: HostFunction, k: int, result: Any, aval: ShapedArray) -> np.ndarray:
    if is_masked(result):
        raise JaxRuntimeError(f"{host.kind}: {host.where()} returned a masked array as result {k}: arrays have no mask. Return "
                              "x.filled(value).")
    value = np.asarray(result)
    dtype = value.dtype if value.dtype.kind in "OSUMm" else dtypes.canonicalize_dtype(value.dtype)
    if dtype != aval.dtype or value.shape != aval.shape:
        got = f"{dtype}[{','.join(map(str, value.shape))}]"
        wanted = f"{aval.dtype}[{','.join(map(str, aval.shape))}]"
        remedy = (
            f"convert it, numpy.asarray(result, {str(aval.dtype)!r})" if value.shape == aval.shape else "return that shape"
        )
        raise JaxRuntimeError(
            f"{host.kind}: {host.where()} returned {got} as result {k}, but result_shape_dtypes promises {wanted}: "
            f"{remedy}, or promise what it returns."
        )
    return hooks.host_array(value, aval)._value  # a copy: the function may go on writing its array


def results_of(kind: str, described: Any) -> tuple[list[ShapedArray], PyTreeDef]:
    """The avals of a pytree of things with shape and dtype, and its structure.

    Raises TypeError for leaves without them, ValueError for 64-bit dtypes while they are off.
    """
    leaves, tree = tree_flatten(described)
    avals = []
    for leaf in leaves:
        if not hasattr(leaf, "shape") or not hasattr(leaf, "dtype"):
            raise TypeError(f"{kind}: result_shape_dtypes must be a pytree of objects with shape and dtype, such as "
                            f"ShapeDtypeStruct((3,), float32); got {leaf!r} of type {type(leaf).__name__}")
        dtype = dtypes.as_dtype(leaf.dtype)
        if dtypes.canonicalize_dtype(dtype) != dtype:
            raise ValueError(f"{kind}: result_shape_dtypes cannot specify 64-bit types while jax_enable_x64 is off, got "
                             f"{dtype}. Promise the 32-bit type, or switch 64 bits on: config.update('jax_enable_x64', True).")
        avals.append(ShapedArray(tuple(leaf.shape), dtype))
    return avals, tree


def arguments_of(args: Sequence[Any], kwargs: dict[str, Any]) -> tuple[list[Any], list[tuple[int, Any]], PyTreeDef]:
    """(arrays, leaves that are no arrays by position, structure) of a call's arguments."""
    leaves, tree = tree_flatten((tuple(args), kwargs))
    arrays = [x for x in leaves if is_array_like(x)]
    statics = [(k, x) for k, x in enumerate(leaves) if not is_array_like(x)]
    return arrays, statics, tree


def weak_flags(arrays: Sequence[Any]) -> list[bool]:
    """Which operands are weakly typed."""
    return [aval_of(x).weak_type for x in arrays]


def call_each(bind: Callable[..., Sequence[Any]], size: int, args: Sequence[Any], dims: Sequence[int | None]) -> list[Any]:
    """`bind` for every element of the batch in order; results stacked along axis 0."""
    batched = [moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True) if d is not None]

    def step(carry: tuple[()], slices: Sequence[Any]) -> tuple[tuple[()], list[Any]]:
        here = iter(slices)
        return carry, list(bind(*[a if d is None else next(here) for a, d in zip(args, dims, strict=True)]))

    return list(scan(step, (), batched, length=size)[1])


def run(*operands: np.ndarray, callback: HostFunction, **_: Any) -> list[np.ndarray]:
    """The eager slot: the function called now."""
    return callback(*[np.array(x) for x in operands])


def lowered(b: Any, *operands: Any, callback: HostFunction, **_: Any) -> list[Any]:
    """The cpu slot."""
    return list(b.callback(callback, operands, callback.outs))


def called(*, ordered: bool | Callable[[dict[str, Any]], bool] = False) -> Callable[..., list[Any]]:
    """The hlo slot; ordered: whether the record's calls keep their order, or a function of its parameters. The parameter
    `partitioned`, where there is one, says whether each device calls the function with its part; `sharding`, which device."""
    def rule(b: Any, *operands: Any, callback: HostFunction, partitioned: bool = False, sharding: Any = None, **params: Any
             ) -> list[Any]:
        keeps = ordered(params) if callable(ordered) else ordered
        return b.callback(callback, operands, callback.outs, ordered=keeps, partitioned=partitioned,
                          device=getattr(sharding, "device", None))
    return rule


def check_callable(kind: str, fun: Any) -> None:
    """TypeError when a callback is no function."""
    if not callable(fun):
        raise TypeError(f"{kind} expects a function to call, a callable, got {fun!r} of type {type(fun).__name__}")
