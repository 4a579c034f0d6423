"""Vector quantization: observations by their nearest codes."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.api.jit_when_eager import jit_when_eager
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact

__all__ = ["vq"]


@jit_when_eager()
def _nearest(obs: Any, code_book: Any) -> tuple[Any, Any]:
    differences = jnp.expand_dims(obs, 1) - jnp.expand_dims(code_book, 0)
    distances = jnp.linalg.norm(differences, axis=-1)
    codes = jnp.argmin(distances, axis=1)
    return codes, jnp.min(distances, axis=1)


def vq(obs: Any, code_book: Any, check_finite: bool = True) -> tuple[Any, Any]:
    """Assignment of observations to the nearest codes: indices int[M] and Euclidean distances [M].

    obs: (M, N); code_book: (K, N), K > 0. Vectors stand for columns of size 1. check_finite: accepted for SciPy's sake;
    values are never checked. ValueError for shapes that do not fit.

    >>> import numjet.numpy as jnp
    >>> codes, distances = vq(jnp.array([[0.0, 1.0], [5.0, 5.0]]), jnp.array([[0.0, 0.0], [5.0, 4.0]]))
    >>> codes.tolist(), distances.tolist()
    ([0, 1], [1.0, 1.0])
    """
    obs, code_book = promote_dtypes_inexact(*(array_arg("scipy.cluster.vq.vq", x, i) for i, x in enumerate((obs, code_book))))
    if obs.ndim != code_book.ndim:
        raise ValueError(f"Observation and code_book should have the same rank, got {obs.shape} and {code_book.shape}")
    if obs.ndim not in (1, 2):
        raise ValueError(f"ndim different than 1 or 2 are not supported, got {obs.ndim}")
    if obs.ndim == 1:
        obs, code_book = jnp.expand_dims(obs, 1), jnp.expand_dims(code_book, 1)
    if obs.shape[1] != code_book.shape[1] or not code_book.shape[0]:
        raise ValueError(f"vq: expected obs (M, N) and code_book (K, N) with K > 0, got {obs.shape} and {code_book.shape}")
    return _nearest(obs, code_book)
