"""Random sparse arrays."""
from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from math import ceil, prod
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import random
from numjet.api.vmap import vmap
from numjet.experimental.sparse.bcoo import BCOO
from numjet.experimental.sparse.bcoo_buffers import unravelled
from numjet.experimental.sparse.util import check_layout, split_shape
from numjet.foundation.dtypes import canonicalize_dtype


def random_bcoo(key: Any, shape: Sequence[int], *, dtype: Any = np.float64, indices_dtype: Any = None, nse: float = 0.2,
                n_batch: int = 0, n_dense: int = 0, unique_indices: bool = True, sorted_indices: bool = False,
                generator: Callable[..., Any] = random.uniform, **kwds: Any) -> BCOO:
    """A BCOO array with random elements at random places.

    Args:
      key: of the random numbers.
      shape, dtype: of the array.
      indices_dtype: of the indices; default: the default integer.
      nse: the number of elements per batch; below 1, as a part of the number of places, rounded up.
      n_batch, n_dense: numbers of batch and dense axes.
      unique_indices: whether places are different.
      sorted_indices: whether they are in order.
      generator: generator(key, shape, dtype, **kwds) makes the elements.

    Raises:
      ValueError: nse is negative, or larger than the number of places.

    >>> import numjet as nj
    >>> random_bcoo(nj.random.key(0), (10, 10), nse=0.05)
    BCOO(float32[10, 10], nse=5)
    """
    shape = tuple(map(operator.index, shape))
    check_layout("random_bcoo", len(shape), n_batch, n_dense)
    batch, sparse, dense = split_shape(shape, n_batch, n_dense)
    places = prod(sparse)
    if not 0 <= nse <= (places if places >= 1 else 1):
        raise ValueError(f"got {nse=}, expected to be between 0 and {places}, the number of places")
    count = operator.index(ceil(nse * places)) if nse < 1 else int(nse)
    index_key, data_key = random.split(key)
    dtype, index_dtype = canonicalize_dtype(dtype), canonicalize_dtype(indices_dtype or int)

    def draw(k: Any) -> Any:
        if unique_indices:
            return random.choice(k, max(places, 1), (count,), replace=False)
        return random.randint(k, (count,), 0, max(places, 1))
    position = vmap(draw)(random.split(index_key, prod(batch))) if prod(batch) else jnp.zeros((0, count), int)
    position = position.reshape(*batch, count)
    position = jnp.sort(position, -1) if sorted_indices else position
    columns = unravelled(position, sparse)
    indices = jnp.stack(columns, -1).astype(index_dtype) if columns else jnp.zeros((*batch, count, 0), index_dtype)
    data = generator(data_key, (*batch, count, *dense), dtype, **kwds)
    return BCOO((data, indices), shape=shape, indices_sorted=sorted_indices, unique_indices=unique_indices)
