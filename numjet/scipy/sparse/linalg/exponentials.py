"""The product of a matrix exponential with vectors, without the exponential itself."""
from __future__ import annotations

import operator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.control.loops.scan import scan
from numjet.control.loops.while_loop import fori_loop
from numjet.core.trace import Tracer
from numjet.foundation import dtypes
from numjet.lax import stop_gradient
from numjet.numpy.core.promotion import array_arg, promote_dtypes_inexact
from numjet.scipy.sparse.linalg.operators import LinearOperator, aslinearoperator

# Degree of the Taylor polynomial, and the largest 1-norm for which it has the dtype's accuracy: Al-Mohy and Higham, table 3.1.
_DEGREE = 40
_REACH = {4: 9.5, 8: 6.0}
_PROBES = 2


def _norm_bound(A: Any, operator_: LinearOperator) -> Any:
    """The 1-norm of a matrix; of an operator, 1-norms of products with signs and with powers of -1 (Higham's estimate),
    doubled."""
    if not isinstance(A, LinearOperator) and hasattr(A, "ndim"):
        return jnp.max(jnp.sum(jnp.abs(A), 0), initial=0)
    n = operator_.shape[0]
    x = jnp.stack([jnp.ones(n), (-1.0) ** jnp.arange(n) * (1 + jnp.arange(n) / max(n - 1, 1))], 1).astype(operator_.dtype)
    x = x / jnp.sum(jnp.abs(x), 0)
    for _ in range(_PROBES):
        image = operator_.matmat(x)
        signs = jnp.where(image == 0, 1, image / jnp.where(image == 0, 1, jnp.abs(image)))
        back = jnp.abs(operator_.H.matmat(signs))
        x = (jnp.arange(n)[:, None] == jnp.argmax(back, 0)[None]).astype(x.dtype)
    return 2 * jnp.max(jnp.sum(jnp.abs(operator_.matmat(x)), 0))


def _taylor(operator_: LinearOperator, b: Any, share: Any) -> Any:
    """The Taylor polynomial of exp(share A) b."""
    def step(state: tuple[Any, Any], j: Any) -> tuple[tuple[Any, Any], None]:
        term, total = state
        term = operator_.matmat(term).astype(b.dtype) * (share / j).astype(b.dtype)
        return (term, total + term), None
    counted = jnp.arange(1, _DEGREE + 1).astype(jnp.finfo(b.dtype).dtype)
    return scan(step, (b, b), counted)[0][1]


def expm_multiply(A: Any, B: Any, start: Any = None, stop: Any = None, num: int | None = None, endpoint: bool | None = None,
                  *, steps: int | None = None) -> Any:
    """exp(A) B, or exp(t A) B at times t, by Taylor polynomials of short steps (A. Al-Mohy and N. Higham, 2011).

    A: a square matrix or a LinearOperator [n, n]. B: a vector [n] or matrix [n, m]. start, stop, num, endpoint: times
    as of jnp.linspace (50 of them, with the last one, by default); the result then has them as its first axis. steps: static
    number of steps of each product, the 1-norm of A (times the time) over 6; by default it is found from A, and then reverse
    mode with traced A needs it: pass it. Derivatives are those of the polynomials. ValueError for shapes that do not fit.

    >>> import numjet.numpy as jnp
    >>> [round(float(v), 4) for v in expm_multiply(jnp.array([[0.0, 1.0], [-1.0, 0.0]]), jnp.array([1.0, 0.0]))]
    [0.5403, -0.8415]
    """
    op = aslinearoperator(A)
    (b,) = promote_dtypes_inexact(array_arg("expm_multiply", B))
    if op.shape[0] != op.shape[1] or b.ndim not in (1, 2) or b.shape[0] != op.shape[0]:
        raise ValueError(f"expm_multiply: expected A [n, n] and B [n] or [n, m], got {op.shape} and {b.shape}")
    dtype = dtypes.common_dtype(op.dtype, b.dtype)
    wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
    columns = b.astype(wide).reshape(b.shape[0], -1)
    op = op if isinstance(A, LinearOperator) or not hasattr(A, "ndim") else aslinearoperator(jnp.asarray(A).astype(wide))
    norm = None if steps is not None else stop_gradient(_norm_bound(A, op))
    if all(v is None for v in (start, stop, num, endpoint)):
        return _exponential(op, columns, jnp.ones(()), norm, steps).astype(dtype).reshape(b.shape)
    if start is None or stop is None:
        raise ValueError("expm_multiply: expected both start and stop, got one of them")
    real = jnp.finfo(wide).dtype
    times = jnp.linspace(start, stop, 50 if num is None else operator.index(num), endpoint=endpoint is not False, dtype=real)
    first = _exponential(op, columns, jnp.asarray(start, real), norm, steps)
    gap = times[1] - times[0] if times.size > 1 else jnp.zeros((), real)

    def step(state: Any, _: Any) -> tuple[Any, Any]:
        return _exponential(op, state, gap, norm, steps), state
    out = scan(step, first, None, length=times.size)[1]
    return out.astype(dtype).reshape(times.size, *b.shape)


def _exponential(op: LinearOperator, b: Any, time: Any, norm: Any, steps: int | None) -> Any:
    """exp(time A) b in `steps` steps, or as many as the norm asks for."""
    time = time.astype(jnp.finfo(b.dtype).dtype)
    if steps is not None:
        count = operator.index(steps)
        return scan(lambda v, _: (_taylor(op, v, time / count), None), b, None, length=count)[0]
    reach = _REACH[jnp.finfo(b.dtype).dtype.itemsize]
    wanted = jnp.maximum(jnp.ceil(norm.astype(time.dtype) * jnp.abs(time) / reach), 1).astype(jnp.int32)
    if not isinstance(wanted, Tracer):
        return _exponential(op, b, time, None, int(wanted))
    step = time / jnp.asarray(wanted, time.dtype)
    return fori_loop(0, wanted, lambda _, v: _taylor(op, v, step), b)
