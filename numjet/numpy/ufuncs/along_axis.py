"""Application of functions along axes: apply_along_axis, apply_over_axes."""
from __future__ import annotations

import reprlib
from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.vmap import vmap
from numjet.lax.axes import as_axis
from numjet.lax.shape import rearrange
from numjet.numpy.core.promotion import array_arg, to_array


def _check_function(what: str, function: Any) -> None:
    if not callable(function):
        raise TypeError(f"{what} must be a function, got {reprlib.repr(function)}: '{type(function).__name__}' object is not "
                        "callable")


def apply_along_axis(func1d: Callable[..., Any], axis: int, arr: Any, *args: Any, **kwargs: Any) -> Any:
    """func1d(vector, *args, **kwargs) for each vector along `axis`; the axes of its results replace `axis`.

    >>> import numjet.numpy as jnp
    >>> apply_along_axis(lambda v: v[::-1], 1, jnp.array([[1, 2], [3, 4]])).tolist()
    [[2, 1], [4, 3]]
    """
    _check_function("apply_along_axis: func1d", func1d)
    arr = array_arg("apply_along_axis", arr, 2)
    dim = as_axis(axis, arr.ndim)
    fn: Callable[[Any], Any] = lambda v: func1d(v, *args, **kwargs)
    for later in range(1, arr.ndim - dim):  # the last axis by the outermost map, which puts it last
        fn = vmap(fn, in_axes=later, out_axes=-1)
    for _ in range(dim):
        fn = vmap(fn, in_axes=0, out_axes=0)
    return fn(arr)


def apply_over_axes(func: Callable[[Any, int], Any], a: Any, axes: Sequence[int] | int) -> Any:
    """func(a, axis) for one axis after the other; a result without the axis gets it back with size 1.

    >>> import numjet.numpy as jnp
    >>> apply_over_axes(jnp.sum, jnp.ones((2, 3)), [0, 1]).tolist()
    [[6.0]]
    """
    _check_function("apply_over_axes: func", func)
    a = array_arg("apply_over_axes", a, 1)
    rank = a.ndim
    for axis in axes if isinstance(axes, Sequence) else (axes,):
        dim = as_axis(axis, rank)
        out = to_array(func(a, dim))
        if out.ndim == rank - 1:
            out = rearrange.expand_dims(out, (dim,))
        if out.ndim != rank:
            raise ValueError(f"function is not returning an array of the correct shape: expected {rank} axes, got {out.ndim}")
        a = out
    return a
