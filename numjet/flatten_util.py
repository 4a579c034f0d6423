"""Conversion of pytrees to one vector and back."""
from __future__ import annotations

import itertools
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, tree
from numjet.foundation.record import Record
from numjet.lax.elementwise import convert
from numjet.lax.indexing import slicing
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import reshape

__all__ = ["ravel_pytree"]


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all leaves as one vector, in the dtype they promote to, and the inverse function.

    The inverse takes a vector of that size and gives a pytree like the first. If the leaves have one dtype, the vector may
    have any, which is that of the result; if they have several, it must have the one they promote to, and each leaf gets
    its own. Inverses of equal trees are equal, so jitted functions that take one as a static argument are traced once.
    ValueError for vectors of another shape; TypeError for another dtype.

    >>> import numjet.numpy as jnp
    >>> vector, unravel = ravel_pytree({"a": jnp.ones(2), "b": 3.0})
    >>> vector.tolist(), sorted(unravel(vector))
    ([1.0, 1.0, 3.0], ['a', 'b'])
    """
    leaves, structure = tree.tree_flatten(pytree)
    if not leaves:
        return jnp.zeros(0), _Unravel(structure, (), (), None)
    avals = [aval_of(x) for x in leaves]
    joint = dtypes.result_type(*leaves)
    parts = [reshape(convert.convert_element_type(x, joint), (a.size,)) for x, a in zip(leaves, avals, strict=True)]
    mixed = any(a.dtype != joint for a in avals)
    own = tuple(a.dtype for a in avals)
    return concatenate(parts, 0), _Unravel(structure, tuple(a.shape for a in avals), own, joint if mixed else None)


class _Unravel(Record):
    """Inverse of `ravel_pytree`: cuts a vector into leaves. `joint` is the dtype of vectors of leaves of several dtypes."""

    structure: Any
    shapes: tuple[tuple[Any, ...], ...]
    dtypes: tuple[np.dtype, ...]
    joint: np.dtype | None

    def __call__(self, vector: Any) -> Any:
        sizes = [math.prod(shape) for shape in self.shapes]
        _check(vector, sum(sizes), self.joint)
        ends = list(itertools.accumulate(sizes))
        pieces = [slicing.slice_in_dim(vector, end - size, end) for size, end in zip(sizes, ends, strict=True)]
        leaves = [reshape(piece, shape) for piece, shape in zip(pieces, self.shapes, strict=True)]
        return tree.tree_unflatten(self.structure, leaves if self.joint is None else self._in_own_dtypes(leaves))

    def _in_own_dtypes(self, leaves: list[Any]) -> list[Any]:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)   # real leaves beside complex ones
            return [convert.convert_element_type(leaf, own) for leaf, own in zip(leaves, self.dtypes, strict=True)]


def _check(vector: Any, size: int, dtype: np.dtype | None) -> None:
    aval = aval_of(vector)
    if aval.shape != (size,):
        raise ValueError(f"unravel function given array of shape {aval.shape}, but expected shape {(size,)}")
    if dtype is not None and aval.dtype != dtype:
        raise TypeError(f"unravel function given array of dtype {aval.dtype.name}, but expected dtype {dtype.name}")
