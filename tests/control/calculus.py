"""Derivatives and batches of functions of flat arguments, and checks of them by differences and by loops."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.ir import ClosedJaxpr, Jaxpr, subjaxprs
from numjet.core.op import Zero
from numjet.core.stage import trace_to_closed
from numjet.core.trace import aval_of
from numjet.core.walk import all_eqns, eval_closed
from numjet.lax import add, reduce_sum
from numjet.lax.tangent import instantiate
from numjet.transforms.jvp import jvp_flat
from numjet.transforms.linearize import linearize_flat
from numjet.transforms.transpose import transpose_flat
from numjet.transforms.vmap import batch_flat, move_to

Fun = Callable[..., Any]


def flat(fun: Fun) -> Callable[..., list[Any]]:
    """fun with a list of results."""

    def call(*args: Any) -> list[Any]:
        out = fun(*args)
        return list(out) if isinstance(out, (list, tuple)) else [out]

    return call


def staged(fun: Fun, *args: Any) -> Fun:
    """fun as a program traced at arguments like `args`, evaluated equation by equation."""
    closed = program(fun, *args)
    return lambda *xs: eval_closed(closed, *xs)


def program(fun: Fun, *args: Any) -> ClosedJaxpr:
    """The program of fun."""
    return trace_to_closed(flat(fun), [aval_of(a) for a in args])


def names(jaxpr: ClosedJaxpr | Jaxpr, inner: bool = True) -> list[str]:
    """The operations of a program, those of inner programs included."""
    jaxpr = jaxpr.jaxpr if isinstance(jaxpr, ClosedJaxpr) else jaxpr
    return [e.primitive.name for e in (all_eqns(jaxpr) if inner else jaxpr.eqns)]


def equation(closed: ClosedJaxpr, name: str, which: int = 0) -> Any:
    """The equation of that name at the top of a program."""
    return [e for e in closed.jaxpr.eqns if e.primitive.name == name][which]


def inner_programs(closed: ClosedJaxpr) -> list[Jaxpr]:
    return [j for e in closed.jaxpr.eqns for j in subjaxprs(e.params)]


def jvp(fun: Fun, primals: Sequence[Any], tangents: Sequence[Any]) -> list[np.ndarray]:
    """Tangents of all results."""
    return [np.asarray(instantiate(t)) for t in jvp_flat(flat(fun), primals, tangents)[1]]


def vjp(fun: Fun, primals: Sequence[Any], cts: Sequence[Any]) -> list[Any]:
    """Cotangents of the arguments of inexact dtype. cts: one per result of inexact dtype; arrays or tracers."""
    _outs, linear = linearize_flat(flat(fun), primals)
    given = [c for c, nz in zip(cts, linear.out_nonzero, strict=True) if nz]
    return transpose_flat(linear.jaxpr, linear.consts, given)


def grad(fun: Fun) -> Callable[..., list[Any]]:
    """Gradients of the sum of all results with respect to all inexact arguments."""

    def gradient(*args: Any) -> list[Any]:
        return vjp(lambda *xs: total(flat(fun)(*xs)), args, [np.ones((), aval_of(args[0]).dtype)])

    return gradient


def total(outs: Sequence[Any]) -> Any:
    """The sum of all elements of all results."""
    sums = [reduce_sum(o, axes=tuple(range(aval_of(o).ndim))) for o in outs]
    out = sums[0]
    for s in sums[1:]:
        out = add(out, s)
    return out


def check_derivatives(fun: Fun, args: Sequence[Any], order: int = 2, rtol: float = 1e-5, reverse: bool = True) -> None:
    """Compares forward mode with central differences and reverse with forward mode; then so for the derivative.

    Needs 64-bit arguments, all of inexact dtype.
    """
    rng = np.random.default_rng(len(args))
    args = [np.asarray(a, np.float64) for a in args]
    tangents = [rng.uniform(-1, 1, a.shape) for a in args]
    eps = 1e-5
    moved = [[a + s * eps * t for a, t in zip(args, tangents, strict=True)] for s in (1, -1)]
    near = [[np.asarray(o) for o in flat(fun)(*xs)] for xs in moved]
    forward = jvp(fun, args, tangents)
    for up, down, t in zip(*near, forward, strict=True):
        np.testing.assert_allclose(t, (up - down) / (2 * eps), rtol=rtol, atol=1e-7)
    if reverse:
        cts = [rng.uniform(-1, 1, t.shape) for t in forward]
        back = vjp(fun, args, cts)
        want = sum(np.vdot(c, t) for c, t in zip(cts, forward, strict=True))
        got = sum(np.vdot(np.asarray(b), t) for b, t in zip(back, tangents, strict=True))
        np.testing.assert_allclose(got, want, rtol=1e-9, atol=1e-12)
    if order > 1:
        derivative = (lambda *xs: vjp(fun, xs, cts)) if reverse else (lambda *xs: _tangents(fun, xs, tangents))
        check_derivatives(derivative, args, order - 1, rtol, reverse)


def _tangents(fun: Fun, xs: Sequence[Any], tangents: Sequence[Any]) -> list[Any]:
    return [instantiate(t) for t in jvp_flat(flat(fun), xs, tangents)[1]]


def check_vmap(fun: Fun, args: Sequence[Any], size: int = 3, rtol: float = 1e-6) -> None:
    """Compares a batch with a loop, for every choice of batched arguments and for a batch in front and at the end.

    args: arguments with the batch in front.
    """
    for chosen in itertools.product([True, False], repeat=len(args)):
        if not any(chosen):
            continue
        own = [np.asarray(a) if c else np.asarray(a)[0] for a, c in zip(args, chosen, strict=True)]
        dims = [0 if c else None for c in chosen]
        _compare(fun, own, dims, size, rtol)
    last = [np.moveaxis(np.asarray(a), 0, -1) for a in args]
    _compare(fun, last, [a.ndim - 1 for a in last], size, rtol)


def _compare(fun: Fun, args: Sequence[Any], dims: Sequence[int | None], size: int, rtol: float) -> None:
    got = vmap(fun, args, dims, size)
    rows = [flat(fun)(*[a if d is None else np.take(a, i, d) for a, d in zip(args, dims, strict=True)]) for i in range(size)]
    for g, want in zip(got, zip(*rows, strict=True), strict=True):
        np.testing.assert_allclose(g, np.stack([np.asarray(w) for w in want]), rtol=rtol, atol=1e-12)


def vmap(fun: Fun, args: Sequence[Any], dims: Sequence[int | None], size: int) -> list[np.ndarray]:
    """Results over a batch, with the batch in front."""
    outs, out_dims = batch_flat(flat(fun), size, args, dims)
    return [np.asarray(move_to(o, d, 0, size)) for o, d in zip(outs, out_dims, strict=True)]


def zero_tangent(x: Any) -> Zero:
    return Zero(aval_of(x).to_tangent_aval())
