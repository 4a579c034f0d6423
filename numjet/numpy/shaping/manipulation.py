"""Shapes of arrays: reshape, transpose, broadcast, and functions that move, add or drop axes."""
from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from numjet.core.trace import Tracer, is_array_like
from numjet.foundation.dimension import as_integer, as_size, computed_sizes, exceeds, is_symbolic
from numjet.foundation.errors import InconclusiveDimensionOperation, ShapeMismatchError
from numjet.lax.axes import as_axes, as_axis, as_shape, listed
from numjet.lax.shape import rearrange as lax_shape
from numjet.numpy.core.promotion import array_arg, check_arraylike, to_array

Axes = Any


# -------------------------------------------------------------------------------------------- reshape

def _wanted_shape(name: str, shape: Any, old: tuple[int, ...]) -> tuple[int, ...]:
    """A shape that the user gave, for the elements of an array of shape `old`, with -1 inferred."""
    try:
        given: tuple[int, ...] = (as_size(shape),)
    except TypeError:
        if isinstance(shape, Tracer) and shape.given() is None:
            raise
        given = as_shape(shape)
    unknown = [i for i, n in enumerate(given) if n == -1]
    if not unknown:
        return given
    if len(unknown) > 1:
        raise TypeError(f"jnp.{name}: can only specify one unknown axis size with a `-1` value, got {given}")
    size, rest = prod(old), prod(n for n in given if n != -1)
    if is_symbolic((rest, size)):
        found = _symbolic_quotient(size, rest, f"{_shown(old)} and {_shown(given)}")
        return tuple(found if n == -1 else n for n in given)
    if exceeds(1, rest) or size % rest:
        raise ShapeMismatchError(f"cannot reshape array of size {size} into shape {given} because the product of specified "
                                 f"axis sizes ({rest}) does not evenly divide {size}")
    return tuple(size // rest if n == -1 else n for n in given)


def _symbolic_quotient(size: Any, rest: Any, shapes: str) -> Any:
    """size / rest. InconclusiveDimensionOperation that names the shapes where the remainder may not be 0, by what constraints
    say for the divisor of either sign."""
    for divisor in (rest, -rest):
        quotient, remainder = divmod(size, divisor)
        if isinstance(remainder, int) and remainder == 0:
            return quotient if divisor is rest else -quotient
    raise InconclusiveDimensionOperation(
        f"Cannot divide evenly the sizes of shapes {shapes}. The remainder {size % rest} should be 0. If it is for all sizes "
        f"that you use, say so: symbolic_shape(..., constraints=['{size % rest} == 0'])")


def _shown(shape: tuple[Any, ...]) -> str:
    return f"({', '.join(map(str, shape))}{',' * (len(shape) == 1)})"


def _check_order(name: str, order: str) -> bool:
    """Whether the order is by columns ("F"). NotImplementedError for "A", ValueError for unknown orders."""
    if order == "A":
        raise NotImplementedError(f"jnp.{name}: order='A' is not implemented; use 'C' or 'F'")
    if order not in ("C", "F", "K"):
        raise ValueError(f"jnp.{name}: expected order 'C' or 'F', got {order!r}")
    return order == "F"


def _by_columns(a: Any, shape: tuple[int, ...]) -> Any:
    reverse = range(a.ndim)[::-1]
    flipped = lax_shape.reshape(lax_shape.transpose(a, reverse), shape[::-1])
    return lax_shape.transpose(flipped, range(len(shape))[::-1])


def reshape(a: Any, shape: Any, order: str = "C", *, copy: bool | None = None, out_sharding: Any = None) -> Any:
    """The elements of a in another shape.

    shape: an int or ints, one of which may be -1: it is inferred. order: "C" (rows first) or "F" (columns first).
    copy: only None or True. TypeError when the number of elements differs.

    >>> import numjet.numpy as jnp
    >>> reshape(jnp.arange(6), (2, -1)).tolist()
    [[0, 1, 2], [3, 4, 5]]
    """
    a = array_arg("reshape", a)
    if copy is False:
        raise NotImplementedError("jnp.reshape: copy=False is not supported: arrays are immutable, leave copy=None")
    wanted = _wanted_shape("reshape", shape, a.aval.shape)
    if prod(wanted) != a.aval.size:
        raise ShapeMismatchError(f"cannot reshape array of shape {a.aval.shape} (size {a.aval.size}) into shape {wanted} "
                        f"(size {prod(wanted)})")
    if _check_order("reshape", order):
        return _by_columns(a, wanted)
    return lax_shape.reshape(a, wanted, out_sharding=out_sharding)


def ravel(a: Any, order: str = "C", *, out_sharding: Any = None) -> Any:
    """The elements of a in one axis. order: "C" or "F", as in reshape.

    >>> import numjet.numpy as jnp
    >>> ravel(jnp.array([[1, 2], [3, 4]])).tolist()
    [1, 2, 3, 4]
    """
    a = array_arg("ravel", a)
    if order == "K":
        raise NotImplementedError("jnp.ravel: order='K' is not implemented; use 'C' or 'F'")
    if _check_order("ravel", order):
        return _by_columns(a, (a.aval.size,))
    return lax_shape.reshape(a, (a.aval.size,), out_sharding=out_sharding)


def flattened(name: str, a: Any, axis: int | None) -> tuple[Any, int]:
    """An array argument and its axis, counted from the front; axis=None: the array in one axis, and 0."""
    a = array_arg(name, a)
    return (ravel(a), 0) if axis is None else (a, as_axis(axis, a.ndim))


def broadcast_to(array: Any, shape: Any, *, out_sharding: Any = None) -> Any:
    """The array repeated along axes of size 1 and new leading axes until it has `shape`. ValueError when it does not fit.

    >>> import numjet.numpy as jnp
    >>> broadcast_to(jnp.arange(2), (3, 2)).tolist()
    [[0, 1], [0, 1], [0, 1]]
    """
    array = array_arg("broadcast_to", array)
    try:
        target: tuple[int, ...] = (as_size(shape),)
    except TypeError:
        target = as_shape(shape)
    old = array.aval.shape
    if old == target:
        return array
    if len(old) > len(target):
        raise ValueError(f"Cannot broadcast to shape with fewer dimensions: arr_shape={old} shape={target}")
    if any(m not in (1, n) for m, n in zip(reversed(old), reversed(target), strict=False)):
        raise ValueError(f"Incompatible shapes for broadcasting: {old} and requested shape {target}")
    dims = range(len(target) - len(old), len(target))
    return lax_shape.broadcast_in_dim(array, target, dims, out_sharding=out_sharding)


def broadcast_arrays(*args: Any) -> list[Any]:
    """The arrays broadcast to their common shape; dtypes stay. ValueError when they don't fit.

    >>> import numjet.numpy as jnp
    >>> [x.shape for x in broadcast_arrays(jnp.ones((2, 1)), jnp.ones(3))]
    [(2, 3), (2, 3)]
    """
    arrays = [array_arg("broadcast_arrays", x, i) for i, x in enumerate(args)]
    shapes = [x.aval.shape for x in arrays]
    if len(set(shapes)) < 2:
        return arrays
    target = lax_shape.broadcast_shapes(*shapes)
    return [broadcast_to(x, target) for x in arrays]


def broadcast_shapes(*shapes: Any) -> tuple[int, ...]:
    """The shape that arrays of these shapes (ints or tuples of ints) broadcast to. ValueError when they don't.

    >>> broadcast_shapes((2, 1), 3)
    (2, 3)
    """
    return lax_shape.broadcast_shapes(*[s if hasattr(s, "__iter__") else (s,) for s in shapes])


# -------------------------------------------------------------------------------------------- order of axes

def transpose(a: Any, axes: Sequence[int] | None = None) -> Any:
    """The array with its axes in another order: axis i of the result is axis axes[i] of a. None: reversed.

    TypeError when `axes` is no permutation.

    >>> import numjet.numpy as jnp
    >>> transpose(jnp.ones((2, 3, 4)), (1, 0, 2)).shape
    (3, 2, 4)
    """
    a = array_arg("transpose", a)
    ndim = a.aval.ndim
    if axes is None:
        return lax_shape.transpose(a, range(ndim)[::-1]) if ndim > 1 else a
    order = as_axes(axes, ndim)
    if sorted(order) != list(range(ndim)):
        raise TypeError(f"jnp.transpose: expected a permutation of the {ndim} axes, got axes={tuple(axes)}")
    return lax_shape.transpose(a, order) if order != tuple(range(ndim)) else a


def permute_dims(a: Any, /, axes: Sequence[int]) -> Any:
    """The array with its axes in the order `axes`, as transpose.

    >>> import numjet.numpy as jnp
    >>> permute_dims(jnp.ones((2, 3, 4)), (2, 0, 1)).shape
    (4, 2, 3)
    """
    return transpose(array_arg("permute_dims", a), axes)


def matrix_transpose(x: Any, /) -> Any:
    """The array with its last two axes exchanged. ValueError for less than two axes.

    >>> import numjet.numpy as jnp
    >>> matrix_transpose(jnp.ones((2, 3, 4))).shape
    (2, 4, 3)
    """
    x = array_arg("matrix_transpose", x)
    if x.aval.ndim < 2:
        raise ValueError(f"x must be at least two-dimensional for matrix_transpose; got ndim={x.aval.ndim}")
    return swapaxes(x, -1, -2)


def swapaxes(a: Any, axis1: int, axis2: int) -> Any:
    """The array with two axes exchanged.

    >>> import numjet.numpy as jnp
    >>> swapaxes(jnp.ones((2, 3, 4)), 0, 2).shape
    (4, 3, 2)
    """
    a = array_arg("swapaxes", a)
    order = list(range(a.aval.ndim))
    i, j = as_axis(axis1, len(order)), as_axis(axis2, len(order))
    if i == j:
        return a
    order[i], order[j] = j, i
    return lax_shape.transpose(a, order)


def moveaxis(a: Any, source: Axes, destination: Axes) -> Any:
    """The array with the axes `source` (an int or ints) at the positions `destination`; the others keep their order.

    >>> import numjet.numpy as jnp
    >>> moveaxis(jnp.ones((2, 3, 4)), 0, -1).shape
    (3, 4, 2)
    """
    a = array_arg("moveaxis", a)
    ndim = a.aval.ndim
    origin, target = as_axes(listed(source), ndim), as_axes(listed(destination), ndim)
    if len(origin) != len(target):
        raise ValueError(f"Inconsistent number of elements: {len(origin)} vs {len(target)}")
    if len(set(origin)) != len(origin) or len(set(target)) != len(target):
        raise ValueError(f"jnp.moveaxis: repeated axis in source={source} or destination={destination}")
    if origin == target:
        return a
    order = [d for d in range(ndim) if d not in origin]
    for position, axis in sorted(zip(target, origin, strict=True)):
        order.insert(position, axis)
    return lax_shape.transpose(a, order)


def rollaxis(a: Any, axis: int, start: int = 0) -> Any:
    """The array with `axis` moved until it lies before the axis `start`. moveaxis is easier to read.

    >>> import numjet.numpy as jnp
    >>> rollaxis(jnp.ones((2, 3, 4)), 2).shape
    (4, 2, 3)
    """
    a = array_arg("rollaxis", a)
    ndim = a.aval.ndim
    start = as_integer(start, "jnp.rollaxis: start")
    if not -ndim <= start <= ndim:
        raise ValueError(f"start={start} must satisfy {-ndim}<=start<={ndim}")
    i, start = as_axis(axis, ndim), start + ndim if start < 0 else start
    return moveaxis(a, i, start - 1 if start > i else start)


# -------------------------------------------------------------------------------------------- axes of size 1

def squeeze(a: Any, axis: Axes = None) -> Any:
    """The array without the axes of size 1, or without those in `axis`. ValueError when one has another size.

    >>> import numjet.numpy as jnp
    >>> squeeze(jnp.ones((1, 2, 1)), axis=0).shape
    (2, 1)
    """
    a = array_arg("squeeze", a)
    sizes = a.aval.shape
    if axis is None and computed_sizes.maker is not None and is_symbolic(sizes):
        raise ValueError(f"jnp.squeeze: give the axes to remove, as computed sizes may be 1 or not, got shape {sizes}")
    if axis is None:
        dims = tuple(i for i, n in enumerate(sizes) if n == 1)
    else:
        dims = as_axes(listed(axis), len(sizes))
    return lax_shape.squeeze(a, dims) if dims else a


def expand_dims(a: Any, axis: Axes) -> Any:
    """The array with new axes of size 1, which lie at `axis` (an int or ints) of the result.

    >>> import numjet.numpy as jnp
    >>> expand_dims(jnp.ones(3), (0, -1)).shape
    (1, 3, 1)
    """
    return lax_shape.expand_dims(array_arg("expand_dims", a), listed(axis))


def _at_least(name: str, arys: tuple[Any, ...], widen: Any) -> Any:
    out = [widen(array_arg(name, x, i)) for i, x in enumerate(arys)]
    return out[0] if len(out) == 1 else out


def _rank_1(x: Any) -> Any:
    return lax_shape.reshape(x, (1,)) if x.aval.ndim == 0 else x


def _rank_2(x: Any) -> Any:
    return lax_shape.expand_dims(x, range(2 - x.aval.ndim)) if x.aval.ndim < 2 else x


def _rank_3(x: Any) -> Any:
    new = {0: (0, 1, 2), 1: (0, 2), 2: (2,)}.get(x.aval.ndim)
    return lax_shape.expand_dims(x, new) if new else x


def atleast_1d(*arys: Any) -> Any:
    """The array with at least one axis; of several arrays a list.

    >>> import numjet.numpy as jnp
    >>> atleast_1d(jnp.float32(1)).shape
    (1,)
    """
    return _at_least("atleast_1d", arys, _rank_1)


def atleast_2d(*arys: Any) -> Any:
    """The array with at least two axes (new ones in front); of several arrays a list.

    >>> import numjet.numpy as jnp
    >>> atleast_2d(jnp.ones(3)).shape
    (1, 3)
    """
    return _at_least("atleast_2d", arys, _rank_2)


def atleast_3d(*arys: Any) -> Any:
    """The array with at least three axes: (N,) becomes (1, N, 1), (M, N) becomes (M, N, 1); of several arrays a list.

    >>> import numjet.numpy as jnp
    >>> atleast_3d(jnp.ones(3)).shape
    (1, 3, 1)
    """
    return _at_least("atleast_3d", arys, _rank_3)


def as_list(name: str, arrays: Any) -> list[Any]:
    """A sequence of arrays, or the parts of one array along its first axis, as a list of arrays."""
    if is_array_like(arrays):   # not by its attributes: sequences may have those of their parts
        whole = to_array(arrays)
        if whole.ndim == 0:
            raise TypeError(f"jnp.{name}: expected a sequence of arrays, got one array without axes")
        return list(whole)
    if isinstance(arrays, (str, bytes)) or not (hasattr(arrays, "__iter__") or hasattr(arrays, "__getitem__")):
        raise TypeError(f"jnp.{name}: expected a sequence of arrays, got {type(arrays)}")
    items = list(arrays)
    check_arraylike(name, *items)
    return items
