"""Derivatives and batches of functions of arrays, straight from the transformations' flat forms."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.op import Undefined, Zero
from numjet.core.stage import trace_to_jaxpr
from numjet.core.trace import aval_of
from numjet.lax.tangent import instantiate
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.transpose import backward_pass
from numjet.transforms.vmap import batch_flat, move_to


def jvp(fun: Callable[..., Any], primals: list[Any], tangents: list[Any]) -> np.ndarray:
    """The tangent of fun, a function to one array."""
    _, (tangent,) = jvp_flat(lambda *xs: [fun(*xs)], primals, tangents)
    return np.asarray(instantiate(tangent))


def vjp(fun: Callable[..., Any], primals: list[Any], ct: Any) -> list[np.ndarray]:
    """Cotangents of all operands of fun, a function to one array."""
    def linear(*tangents: Any) -> list[Any]:
        _, (tangent,) = jvp_flat(lambda *xs: [fun(*xs)], primals, tangents)
        return [instantiate(tangent)]

    jaxpr, consts = trace_to_jaxpr(linear, [aval_of(p) for p in primals])
    cts = backward_pass(jaxpr, consts, [Undefined(v.aval) for v in jaxpr.invars], [ct])
    return [np.asarray(instantiate(c)) for c in cts]


def grad(fun: Callable[[Any], Any], x: Any) -> np.ndarray:
    """The gradient of the sum of fun(x)."""
    x = np.asarray(x)
    out = aval_of(jvp_flat(lambda v: [fun(v)], [x], [Zero(aval_of(x))])[0][0])
    return vjp(fun, [x], np.ones(out.shape, out.dtype))[0]


def vmap(fun: Callable[..., Any], args: list[Any], dims: list[int | None]) -> np.ndarray:
    """fun over a batch, its result's batch axis in front."""
    size = next(np.shape(a)[d] for a, d in zip(args, dims, strict=True) if d is not None)
    (out,), (dim,) = batch_flat(lambda *xs: [fun(*xs)], size, args, dims)
    return np.asarray(move_to(out, dim, 0, size))


def by_loop(fun: Callable[..., Any], args: list[Any], dims: list[int | None]) -> np.ndarray:
    """What vmap must give."""
    size = next(np.shape(a)[d] for a, d in zip(args, dims, strict=True) if d is not None)
    pick = lambda a, d, i: a if d is None else np.take(a, i, d)
    return np.stack([np.asarray(fun(*[pick(a, d, i) for a, d in zip(args, dims, strict=True)])) for i in range(size)])
