"""Splitting arrays into parts: split, array_split, hsplit, vsplit, dsplit, unstack."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.dimension import Dimension, as_integer, as_static_size, is_symbolic, largest, smallest
from numjet.lax.axes import as_axis
from numjet.lax.indexing import slicing
from numjet.lax.shape import join, rearrange
from numjet.numpy.core.concrete import known
from numjet.numpy.core.promotion import array_arg


def _borders(name: str, sections: Any, size: int, even: bool) -> list[int]:
    """The boundaries of the parts, from a number of parts or from the boundaries themselves."""
    if isinstance(sections, (list, tuple)) or np.ndim(sections if not hasattr(sections, "aval")
                                                      else np.empty(sections.aval.shape, bool)):
        positions = [as_static_size(_value(name, i), f"jnp.{name}: a border") for i in _value(name, sections)]
        clipped = [smallest(largest(i + size if i < 0 else i, 0), size) for i in positions]
        return [*clipped, size]
    count = _count(name, sections)
    if count <= 0:
        raise ValueError(f"jnp.{name}: number sections must be larger than 0, got {count}")
    if even and size % count:
        raise ValueError(f"jnp.{name}: array split does not result in an equal division: rest is {size % count}: "
                         f"{size} elements in {count} parts. array_split allows unequal parts.")
    part, larger = divmod(size, count)
    sizes = [part + 1] * larger + [part] * (count - larger)
    return np.cumsum(sizes).tolist()


def _value(name: str, sections: Any) -> Any:
    return known(name, sections, "where the parts lie") if hasattr(sections, "aval") else sections


def _count(name: str, sections: Any) -> int:
    """A number of parts; floats are cut, as by int()."""
    value = _value(name, sections)
    if isinstance(value, Dimension):
        raise ValueError(f"jax.numpy.{name} with a symbolic number of sections is not supported, got {value}: the number of "
                         "arrays in the result would depend on it. Reshape the array to have them along an axis.")
    is_float = dtypes.issubdtype(getattr(value, "dtype", type(value)), np.floating)
    return int(value) if is_float else as_integer(value, f"jnp.{name}: a number of parts")


def _split(name: str, ary: Any, sections: Any, axis: int, even: bool) -> list[Any]:
    ary = array_arg(name, ary)
    dim = as_axis(axis, ary.ndim)
    ends = _borders(name, sections, ary.shape[dim], even)
    starts = [0, *ends[:-1]]
    if not is_symbolic(ends) and all(b >= a for a, b in zip(starts, ends, strict=True)):
        return list(join.split(ary, [b - a for a, b in zip(starts, ends, strict=True)], dim))
    return [slicing.slice_in_dim(ary, a, largest(a, b), axis=dim) for a, b in zip(starts, ends, strict=True)]


def split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """The array in parts along `axis`: a given number of parts of equal size, or cut at given indices.

    ValueError when the size is no multiple of the number of parts.

    >>> import numjet.numpy as jnp
    >>> [x.tolist() for x in split(jnp.arange(4), [1, 3])]
    [[0], [1, 2], [3]]
    """
    return _split("split", ary, indices_or_sections, axis, True)


def array_split(ary: Any, indices_or_sections: Any, axis: int = 0) -> list[Any]:
    """As split; the first parts are larger by one where the size is no multiple of the number of parts.

    >>> import numjet.numpy as jnp
    >>> [x.tolist() for x in array_split(jnp.arange(4), 3)]
    [[0, 1], [2], [3]]
    """
    return _split("array_split", ary, indices_or_sections, axis, False)


def vsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """split along the first axis.

    >>> import numjet.numpy as jnp
    >>> len(vsplit(jnp.ones((4, 2)), 2))
    2
    """
    return _split("vsplit", ary, indices_or_sections, 0, True)


def hsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """split along the second axis, of vectors along their only one.

    >>> import numjet.numpy as jnp
    >>> hsplit(jnp.ones((4, 2)), 2)[0].shape
    (4, 1)
    """
    ary = array_arg("hsplit", ary)
    return _split("hsplit", ary, indices_or_sections, 0 if ary.ndim == 1 else 1, True)


def dsplit(ary: Any, indices_or_sections: Any) -> list[Any]:
    """split along the third axis.

    >>> import numjet.numpy as jnp
    >>> dsplit(jnp.ones((4, 2, 2)), 2)[0].shape
    (4, 2, 1)
    """
    return _split("dsplit", ary, indices_or_sections, 2, True)


def unstack(x: Any, /, *, axis: int = 0) -> tuple[Any, ...]:
    """The parts of x along `axis`, without that axis. ValueError for an array without axes.

    >>> import numjet.numpy as jnp
    >>> [part.tolist() for part in unstack(jnp.array([[1, 2], [3, 4]]), axis=1)]
    [[1, 3], [2, 4]]
    """
    x = array_arg("unstack", x)
    if x.ndim == 0:
        raise ValueError("Unstack requires arrays with rank > 0, however a scalar array was passed.")
    dim = as_axis(axis, x.ndim)
    if x.shape[dim] == 0:
        return ()
    return tuple(rearrange.squeeze(part, (dim,)) for part in join.split(x, [1] * x.shape[dim], dim))
