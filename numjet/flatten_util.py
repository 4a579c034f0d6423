"""Conversion of pytrees to one vector and back."""
from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import aval_of
from numjet.foundation import dtypes, tree
from numjet.lax.elementwise import convert
from numjet.lax.indexing import slicing
from numjet.lax.shape.join import concatenate
from numjet.lax.shape.rearrange import reshape


def ravel_pytree(pytree: Any) -> tuple[Any, Callable[[Any], Any]]:
    """The elements of all leaves as one vector, in the dtype they promote to, and the inverse function.

    The inverse takes a vector of that size and dtype and gives a pytree like the first, in the leaves' own dtypes.
    ValueError for vectors of another shape; TypeError for another dtype, where the leaves have one dtype.

    >>> import numjet.numpy as jnp
    >>> vector, unravel = ravel_pytree({"a": jnp.ones(2), "b": 3.0})
    >>> vector.tolist(), sorted(unravel(vector))
    ([1.0, 1.0, 3.0], ['a', 'b'])
    """
    leaves, structure = tree.tree_flatten(pytree)
    flat, unravel = _ravel(leaves)
    return flat, lambda vector: tree.tree_unflatten(structure, unravel(vector))


def _ravel(leaves: list[Any]) -> tuple[Any, Callable[[Any], list[Any]]]:
    if not leaves:
        return jnp.zeros(0), lambda vector: []
    avals = [aval_of(x) for x in leaves]
    joint = dtypes.result_type(*leaves)
    parts = [reshape(convert.convert_element_type(x, joint), (a.size,)) for x, a in zip(leaves, avals, strict=True)]
    ends = np.cumsum([a.size for a in avals]).tolist()
    mixed = any(a.dtype != joint for a in avals)

    def unravel(vector: Any) -> list[Any]:
        _check(vector, ends[-1], None if mixed else joint)
        starts = [0, *ends[:-1]]
        pieces = [slicing.slice_in_dim(vector, s, e) for s, e in zip(starts, ends, strict=True)]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", np.exceptions.ComplexWarning)   # real leaves beside complex ones
            return [convert.convert_element_type(reshape(p, a.shape), a.dtype) for p, a in zip(pieces, avals, strict=True)]

    return concatenate(parts, 0), unravel


def _check(vector: Any, size: int, dtype: np.dtype | None) -> None:
    aval = aval_of(vector)
    if aval.shape != (size,):
        raise ValueError(f"unravel function given array of shape {aval.shape}, but expected shape {(size,)}")
    if dtype is not None and aval.dtype != dtype:
        raise TypeError(f"unravel function given array of dtype {aval.dtype.name}, but expected dtype {dtype.name}")
