"""`ufunc`: a function of numbers with NumPy's methods reduce, accumulate, at, outer and reduceat; and `frompyfunc`."""
from __future__ import annotations

import operator
from collections.abc import Callable
from math import prod
from typing import Any

import numpy as np

from numjet.control.loops.scan import scan
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, lazy_import
from numjet.lax.axes import as_axis
from numjet.lax.elementwise import compare
from numjet.lax.shape import create, join, rearrange
from numjet.numpy.core.promotion import array_arg, as_dtype, broadcast_to, check_out, operand, to_array
from numjet.numpy.indexing import selection
from numjet.numpy.indexing.subscript import getitem, scatter_update
from numjet.numpy.reduction.reductions import axes_of, put_back

vectorize = lazy_import.Module("numjet.numpy.ufuncs.vectorize")


class ufunc:
    """A function of `nin` numbers with `nout` results, applied elementwise, with NumPy's methods.

    Made by `frompyfunc`, or as add, multiply, maximum and others. Missing methods (call, reduce, accumulate, at, reduceat)
    are derived as sequential loops over the elements.

    >>> import numjet.numpy as jnp
    >>> isinstance(jnp.add, ufunc), int(jnp.add.reduce(jnp.arange(4)))
    (True, 6)
    """

    def __init__(self, func: Callable[..., Any], /, nin: int, nout: int, *, name: str | None = None,
                 nargs: int | None = None, identity: Any = None, call: Callable[..., Any] | None = None,
                 reduce: Callable[..., Any] | None = None, accumulate: Callable[..., Any] | None = None,
                 at: Callable[..., Any] | None = None, reduceat: Callable[..., Any] | None = None):
        self.__name__ = name or getattr(func, "__name__", "ufunc")
        self.__doc__ = func.__doc__
        self._made_of = (func, nin, nout, name, nargs, identity, call, reduce, accumulate, at, reduceat)
        self._nin, self._nout, self._identity = operator.index(nin), operator.index(nout), identity
        self._nargs = self._nin if nargs is None else operator.index(nargs)
        self._call = call or vectorize.vectorize(func)
        self._reduce, self._accumulate, self._at, self._reduceat = reduce, accumulate, at, reduceat

    nin = property(lambda self: self._nin, doc="How many arguments the function takes.")
    nout = property(lambda self: self._nout, doc="How many results it has.")
    nargs = property(lambda self: self._nargs, doc="How many arguments it takes.")
    identity = property(lambda self: self._identity, doc="The number that changes nothing, or None.")

    _func = property(lambda self: self._made_of[0], doc="The function of numbers.")

    def __hash__(self) -> int:
        return hash(self._made_of)

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, ufunc) and self._made_of == other._made_of

    def __repr__(self) -> str:
        return f"<jnp.ufunc '{self.__name__}'>"

    def __reduce__(self) -> str:
        return str(self.__name__)

    def __call__(self, *args: Any, out: None = None, where: None = None) -> Any:
        """The function of arrays that broadcast together. out, where: only None (NotImplementedError)."""
        if out is not None or where is not None:
            given = "out" if out is not None else "where"
            raise NotImplementedError(f"{given} argument of {self}: arrays are immutable; use jnp.where on the result")
        return self._call(*args)

    def _binary(self, method: str) -> None:
        if self._nin != 2:
            raise ValueError(f"{method} only supported for binary ufuncs; {self} takes {self._nin} arguments")
        if self._nout != 1:
            raise ValueError(f"{method} only supported for functions returning a single value; {self} has {self._nout}")

    # -- reduce, accumulate
    def reduce(self, a: Any, axis: Any = 0, dtype: Any = None, out: None = None, keepdims: bool = False,
               initial: Any = None, where: Any = None) -> Any:
        """Combines the elements along `axis` (an int, a tuple, None: all), one after the other.

        initial: the first operand; where: a bool array, elements where it does not hold are skipped (needs an identity or
        `initial`). ValueError for no elements without identity.

        >>> import numjet.numpy as jnp
        >>> jnp.add.reduce(jnp.array([1, 2, 3]))
        Array(6, dtype=int32)
        """
        self._binary("reduce")
        check_out(f"{self.__name__}.reduce", out)
        a = array_arg(f"{self.__name__}.reduce", a)
        if self._identity is None and initial is None and where is not None:
            raise ValueError(f"reduction operation {self.__name__} does not have an identity, so to use a where mask one has "
                             "to specify 'initial'.")
        if self._reduce is not None:
            return self._reduce(a, axis=axis, dtype=dtype, keepdims=keepdims, initial=initial, where=where)
        return _fold(self, a, axis, dtype, keepdims, initial, where)

    def accumulate(self, a: Any, axis: int | None = 0, dtype: Any = None, out: None = None) -> Any:
        """The results of combining the first 1, 2, ... elements along `axis`.

        None: of the flattened array, for add, multiply, maximum, minimum and logaddexp. ValueError for several axes.

        >>> import numjet.numpy as jnp
        >>> jnp.multiply.accumulate(jnp.array([1, 2, 3])).tolist()
        [1, 2, 6]
        """
        self._binary("accumulate")
        check_out(f"{self.__name__}.accumulate", out)
        a = array_arg(f"{self.__name__}.accumulate", a)
        if axis is None and self._accumulate is not None:
            return self._accumulate(a, axis=None, dtype=dtype)
        if axis is None or isinstance(axis, tuple):
            raise ValueError(f"accumulate does not allow multiple axes: {self}.accumulate(axis={axis})")
        if a.ndim == 0:
            raise ValueError(f"cannot accumulate on a scalar: {self}.accumulate needs an axis")
        at = as_axis(axis, a.ndim)
        if self._accumulate is not None:
            return self._accumulate(a, axis=at, dtype=dtype)
        wanted = self.result_dtype(a) if dtype is None else dtypes.check_user_dtype(dtype, "accumulate")
        rows = _axes_in_front(as_dtype(a, wanted), (at,))
        if not rows.shape[0]:
            return _axis_back(rows, at)
        first = getitem(rows, 0)
        _, rest = scan(lambda c, row: (as_dtype(self._call(c, row), wanted),) * 2, first, getitem(rows, slice(1, None)))
        return _axis_back(join.concatenate([rearrange.expand_dims(first, (0,)), rest], 0), at)

    def result_dtype(self, a: Any) -> np.dtype:
        """The dtype of the function of two elements."""
        return aval_of(self._call(*[create.full((), 1, a.dtype)] * 2)).dtype

    # -- at, outer, reduceat
    def at(self, a: Any, indices: Any, b: Any = None, /, *, inplace: bool = True) -> Any:
        """a with a[indices] replaced by the function of it (and b), once for each time an index appears.

        inplace must be False: the result is a new array. NotImplementedError otherwise.

        >>> import numjet.numpy as jnp
        >>> jnp.add.at(jnp.zeros(2), jnp.array([0, 0]), 1.0, inplace=False).tolist()
        [2.0, 0.0]
        """
        if inplace:
            raise NotImplementedError(f"Because arrays are immutable, {self}.at() cannot work in place like np.ufunc.at(). "
                                      "Pass inplace=False and use the result: a = jnp.add.at(a, indices, b, inplace=False).")
        a = array_arg(f"{self.__name__}.at", a)
        if (b is None) != (self._nin == 1):
            raise ValueError(f"{self}.at takes {self._nin + 1} arguments")
        if self._at is not None:
            return self._at(a, indices) if b is None else self._at(a, indices, b)
        return _one_by_one(self, a, indices, b)

    def outer(self, A: Any, B: Any, /) -> Any:
        """The function of every pair of elements; shape A.shape + B.shape.

        >>> import numjet.numpy as jnp
        >>> jnp.multiply.outer(jnp.array([1, 2]), jnp.array([3, 4])).tolist()
        [[3, 4], [6, 8]]
        """
        self._binary("outer")
        x, y = array_arg(f"{self.__name__}.outer", A), array_arg(f"{self.__name__}.outer", B, 1)
        return self._call(rearrange.reshape(x, (*x.shape, *(1,) * y.ndim)), rearrange.reshape(y, (*(1,) * x.ndim, *y.shape)))

    def reduceat(self, a: Any, indices: Any, axis: int = 0, dtype: Any = None, out: None = None) -> Any:
        """Reductions of the slices a[indices[i]:indices[i + 1]] along `axis` (the last to the end; a[indices[i]] alone where
        the next index is not larger). Out of bounds they are NaN, or the least integer.

        >>> import numjet.numpy as jnp
        >>> jnp.add.reduceat(jnp.arange(5), jnp.array([0, 3])).tolist()
        [3, 7]
        """
        self._binary("reduceat")
        check_out(f"{self.__name__}.reduceat", out)
        a, indices = array_arg(f"{self.__name__}.reduceat", a), array_arg(f"{self.__name__}.reduceat", indices, 1)
        if indices.ndim != 1 or not dtypes.issubdtype(indices.dtype, np.integer):
            raise ValueError(f"reduceat: indices must be one-dimensional and integer, got {indices.aval}")
        if self._reduceat is not None:
            return self._reduceat(a, indices, axis=axis, dtype=dtype)
        return _of_slices(self, a, indices, as_axis(axis, a.ndim), dtype)


def frompyfunc(func: Callable[..., Any], /, nin: int, nout: int, *, identity: Any = None) -> ufunc:
    """A `ufunc` of a function of numbers, which is traced once and vectorized.

    >>> import numjet.numpy as jnp
    >>> half_sum = jnp.frompyfunc(lambda x, y: (x + y) / 2, 2, 1)
    >>> half_sum(jnp.array([1.0, 2.0]), 3.0).tolist()
    [2.0, 2.5]
    """
    return ufunc(func, nin, nout, identity=identity)


# -------------------------------------------------------------------------------------------- loops

def _axes_in_front(x: Any, axes: tuple[int, ...]) -> Any:
    """x with the axes joined into one, the first."""
    kept = tuple(i for i in range(x.ndim) if i not in axes)
    moved = rearrange.transpose(x, (*axes, *kept)) if (*axes, *kept) != tuple(range(x.ndim)) else x
    return rearrange.reshape(moved, (prod(x.shape[i] for i in axes), *(x.shape[i] for i in kept)))


def _axis_back(x: Any, axis: int) -> Any:
    order = [*range(1, axis + 1), 0, *range(axis + 1, x.ndim)]
    return rearrange.transpose(x, order) if axis else x


def _fold(op: ufunc, a: Any, axis: Any, dtype: Any, keepdims: bool, initial: Any, where: Any) -> Any:
    wanted = op.result_dtype(a) if dtype is None else dtypes.check_user_dtype(dtype, "reduce")
    full, axes = a.shape, axes_of(axis, a.ndim)
    rows = _axes_in_front(as_dtype(a, wanted), axes)
    start = op.identity if initial is None else initial
    if start is None:
        if not rows.shape[0]:
            raise ValueError(f"zero-size array to reduction operation ufunc {op.__name__!r} which has no identity")
        first, rows = getitem(rows, 0), getitem(rows, slice(1, None))
    else:
        first = broadcast_to(to_array(as_dtype(operand("reduce", start), wanted)) if not hasattr(start, "shape")
                             else as_dtype(start, wanted), rows.shape[1:])
    if where is None:
        out, _ = scan(lambda c, row: (as_dtype(op._call(c, row), wanted), None), first, rows)
    else:
        chosen = _axes_in_front(broadcast_to(array_arg("reduce", where), full), axes)
        step = lambda c, pair: (compare.select(pair[1], as_dtype(op._call(c, pair[0]), wanted), c), None)
        out, _ = scan(step, first, (rows, chosen))
    return put_back(out, full, axes) if keepdims else out


def _one_by_one(op: ufunc, a: Any, indices: Any, b: Any) -> Any:
    """a.at[indices] with repeated indices in order; indices are positions in the flattened array. In the dtype of results."""
    b = None if b is None else array_arg("at", b, 2)
    element = create.full((), 1, a.dtype)
    result = op._call(element) if b is None else op._call(element, b if not b.ndim else create.full((), 1, b.dtype))
    a = as_dtype(a, aval_of(result).dtype)
    positions = getitem(rearrange.reshape(create.iota(dtypes.canonicalize_dtype(np.int64), a.size), a.shape), indices)
    if not positions.size:  # the body would index an axis of size 0
        return a
    flat, index_array = rearrange.reshape(a, (a.size,)), rearrange.reshape(positions, (positions.size,))

    def step(x: Any, item: Any) -> tuple[Any, None]:
        old = getitem(x, item[0])
        new = op._call(old) if b is None else op._call(old, item[1])
        return scatter_update(x, item[0], as_dtype(new, x.dtype), "set"), None

    values = None if b is None else rearrange.reshape(broadcast_to(b, positions.shape), (positions.size,))
    out, _ = scan(step, flat, (index_array, values))
    return rearrange.reshape(out, a.shape)


def _of_slices(op: ufunc, a: Any, indices: Any, axis: int, dtype: Any) -> Any:
    """Segmented reduction of all slices at once, row after row: a row continues a slice or is outside of it.

    As in JAX, a slice starts with the element that its index names, which counts from the end if it is negative and is NaN out
    of bounds (the least integer of integers); the rows behind the index, as a number, continue it.
    """
    mixed = dtypes.promote_types(a.dtype, op.result_dtype(a))  # single elements are not combined
    wanted = mixed if dtype is None else dtypes.check_user_dtype(dtype, "reduceat")
    rows = _axes_in_front(as_dtype(a, wanted), (axis,))
    n, k, rest = rows.shape[0], indices.shape[0], rows.shape[1:]
    start = as_dtype(indices, dtypes.int32)
    end = join.concatenate([getitem(start, slice(1, None)), to_array(np.full(1, n, np.int32))], 0)
    wide = lambda v: rearrange.broadcast_in_dim(v, (k, *rest), (0,))

    def step(sums: Any, item: Any) -> tuple[Any, None]:
        position, row = item
        row = broadcast_to(row, (k, *rest))
        inside = compare.gt(position, start) & compare.lt(position, end)
        return compare.select(wide(inside), as_dtype(op._call(sums, row), wanted), sums), None

    out, _ = scan(step, selection.take(rows, start, axis=0), (create.iota(dtypes.int32, n), rows))
    return _axis_back(out, axis)
