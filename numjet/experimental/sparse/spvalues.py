"""Sparse and dense arrays as references into one table of buffers, so that arrays can share buffers.

A function of such values is made by `transform.sparsify_raw`.
"""
from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numjet.numpy as jnp
from numjet.experimental.sparse.base import JAXSparse
from numjet.experimental.sparse.bcoo import BCOO
from numjet.experimental.sparse.bcsr import BCSR
from numjet.foundation import tree


class SparsifyValue(NamedTuple):
    """An array by its buffers' numbers in a SparsifyEnv: dense with data alone, BCOO with indices, BCSR with row pointers, too.

    >>> SparsifyValue((3,), 0).is_dense(), SparsifyValue((3,), 0, 1).is_bcoo()
    (True, True)
    """

    shape: tuple[int, ...]
    data_ref: int
    indices_ref: int | None = None
    indptr_ref: int | None = None
    indices_sorted: bool = False
    unique_indices: bool = False

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    def is_dense(self) -> bool:
        """Whether the array is dense."""
        return self.indices_ref is None

    def is_sparse(self) -> bool:
        """Whether the array is sparse."""
        return not self.is_dense()

    def is_bcsr(self) -> bool:
        """Whether the array is a BCSR one."""
        return self.indptr_ref is not None

    def is_bcoo(self) -> bool:
        """Whether the array is a BCOO one."""
        return self.is_sparse() and not self.is_bcsr()


class SparsifyEnv:
    """A table of buffers, which only grows.

    >>> import numjet.numpy as jnp
    >>> env = SparsifyEnv([jnp.array([[0], [2]]), jnp.array([1.0, 2.0])])
    >>> value = env.sparse((3,), data_ref=1, indices_ref=0)
    >>> spvalues_to_arrays(env, value).todense().tolist()
    [1.0, 0.0, 2.0]
    """

    def __init__(self, bufs: Iterable[Any] = ()):
        self._buffers = list(bufs)

    def _push(self, buffer: Any) -> int:
        self._buffers.append(jnp.asarray(buffer))
        return len(self._buffers) - 1

    def _known_or_pushed(self, buffer: Any) -> int:
        """The number of a buffer, a new one unless it is in the table."""
        known = next((k for k, x in enumerate(self._buffers) if x is buffer), None)
        return self._push(buffer) if known is None else known

    def _looked_up(self, value: SparsifyValue, name: str) -> Any:
        ref = getattr(value, f"{name}_ref")
        if ref is None:
            raise ValueError(f"expected a value with {name}, got {value}")
        return self._buffers[ref]

    def data(self, spvalue: SparsifyValue) -> Any:
        """The elements: all of a dense array, the stored ones of a sparse one."""
        return self._looked_up(spvalue, "data")

    def indices(self, spvalue: SparsifyValue) -> Any:
        """The indices of a sparse array. ValueError for a dense one."""
        return self._looked_up(spvalue, "indices")

    def indptr(self, spvalue: SparsifyValue) -> Any:
        """The row pointers of a BCSR array. ValueError for others."""
        return self._looked_up(spvalue, "indptr")

    def dense(self, data: Any) -> SparsifyValue:
        """A new dense array."""
        ref = self._push(data)
        return SparsifyValue(self._buffers[ref].shape, ref)

    def sparse(self, shape: Sequence[int], data: Any = None, indices: Any = None, indptr: Any = None, *,
               data_ref: int | None = None, indices_ref: int | None = None, indptr_ref: int | None = None,
               indices_sorted: bool = False, unique_indices: bool = False) -> SparsifyValue:
        """A new sparse array of buffers, or of their numbers in the table. ValueError for both of them, or none."""
        for name, buffer, ref in (("data", data, data_ref), ("indices", indices, indices_ref)):
            if (buffer is None) == (ref is None):
                raise ValueError(f"expected either {name} or {name}_ref, got {buffer!r} and {ref!r}")
        data_ref = self._push(data) if data_ref is None else data_ref
        indices_ref = self._push(indices) if indices_ref is None else indices_ref
        indptr_ref = self._push(indptr) if indptr is not None else indptr_ref
        return SparsifyValue(tuple(shape), data_ref, indices_ref, indptr_ref, indices_sorted, unique_indices)

    def shared(self, x: Any) -> SparsifyValue:
        """An array, with the buffers that the table has."""
        return self._value(x, self._known_or_pushed)

    def added(self, x: Any) -> SparsifyValue:
        """An array, with new buffers."""
        return self._value(x, self._push)

    def _value(self, x: Any, number: Any) -> SparsifyValue:
        if not isinstance(x, JAXSparse):
            array = jnp.asarray(x)
            return SparsifyValue(array.shape, number(array))
        if not isinstance(x, (BCOO, BCSR)):
            raise TypeError(f"expected BCOO or BCSR for a sparse array, got {type(x).__name__}")
        refs = {f"{name}_ref": number(buffer) for name, buffer in zip(x._buffers, x._bufs, strict=True)}
        return SparsifyValue(x.shape, **refs, indices_sorted=x.indices_sorted, unique_indices=x.unique_indices)

    def array(self, spvalue: SparsifyValue) -> Any:
        """The array that a value stands for."""
        if spvalue.is_dense():
            return self.data(spvalue)
        bufs = [self.data(spvalue), self.indices(spvalue), *([self.indptr(spvalue)] if spvalue.is_bcsr() else [])]
        kind = BCSR if spvalue.is_bcsr() else BCOO
        return kind(tuple(bufs), shape=spvalue.shape, indices_sorted=spvalue.indices_sorted,
                    unique_indices=spvalue.unique_indices)


def arrays_to_spvalues(spenv: SparsifyEnv, args: Any) -> Any:
    """A pytree of arrays, dense or sparse, as one of values with new buffers.

    >>> import numjet.numpy as jnp
    >>> arrays_to_spvalues(SparsifyEnv(), [jnp.ones(2)])[0].data_ref
    0
    """
    return tree.tree_map(spenv.added, args, is_leaf=lambda x: isinstance(x, JAXSparse))


def spvalues_to_arrays(spenv: SparsifyEnv, spvalues: Any) -> Any:
    """A pytree of values as one of arrays: the inverse of arrays_to_spvalues.

    >>> import numjet.numpy as jnp
    >>> env = SparsifyEnv()
    >>> spvalues_to_arrays(env, arrays_to_spvalues(env, jnp.ones(2))).tolist()
    [1.0, 1.0]
    """
    return tree.tree_map(spenv.array, spvalues, is_leaf=lambda x: isinstance(x, SparsifyValue))
