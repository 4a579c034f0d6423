"""Workloads of one compiled function on arrays: each is written once, and runs on NumPy, too, where NumPy can do it.

A case makes its function from the top module of an implementation (numjet, jax, or the stand-in for NumPy); inputs are
made by NumPy, the same for all. What is timed is one call, waited for.
"""
from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Function = Callable[..., Any]
SECONDS = 1.0     # to repeat a call for


class NumPy:
    """Stands for an implementation whose functions run at once, by NumPy."""

    numpy = np

    @staticmethod
    def jit(fun: Function) -> Function:
        return fun

    @staticmethod
    def block_until_ready(x: Any) -> Any:
        return x


@dataclass(frozen=True)
class Case:
    """make(J) is the function; numpy: whether J may be NumPy; x64: whether float64 has to be switched on."""

    make: Callable[[Any], Function]
    inputs: Callable[[], tuple[Any, ...]]
    numpy: bool = True
    x64: bool = False


def normal(*shape: int, seed: int = 0) -> np.ndarray:
    """Normally distributed float32."""
    return np.random.default_rng(seed).standard_normal(shape, np.float32)


def _places(below: int, count: int) -> np.ndarray:
    return np.random.default_rng(1).integers(0, below, count, np.int32)


def gelu(J: Any) -> Function:
    return J.jit(lambda x: 0.5 * x * (1 + J.numpy.tanh(0.7978846 * (x + 0.044715 * x * x * x))))


def gelu_gradient(J: Any) -> Function:
    return J.jit(J.grad(lambda x: gelu(J)(x).sum()))


def sines(J: Any) -> Function:
    return J.jit(lambda x: J.numpy.sin(x) * J.numpy.cos(x))


def normals(J: Any) -> Function:
    draw = J.jit(lambda key: J.random.normal(key, (4_000_000,)))
    key = J.random.key(0)
    return lambda: draw(key)


def softmax(J: Any) -> Function:
    def fun(x: Any) -> Any:
        e = J.numpy.exp(x - x.max(axis=1, keepdims=True))
        return e / e.sum(axis=1, keepdims=True)
    return J.jit(fun)


def heat(J: Any) -> Function:
    """Explicit steps on a grid that is closed to a ring in both directions."""
    def step(_: int, u: Any) -> Any:
        around = sum(J.numpy.roll(u, shift, axis) for shift in (1, -1) for axis in (0, 1))
        return u + 0.2 * (around - 4 * u)
    return J.jit(lambda u: J.lax.fori_loop(0, 100, step, u))


def rnn_gradient(J: Any) -> Function:
    def loss(w: Any, u: Any, xs: Any) -> Any:
        def step(h: Any, x: Any) -> tuple[Any, None]:
            return J.numpy.tanh(x @ w + h @ u), None
        return (J.lax.scan(step, J.numpy.zeros((xs.shape[1], u.shape[0])), xs)[0] ** 2).sum()
    return J.jit(J.grad(loss, (0, 1)))


def attention(J: Any) -> Function:
    def fun(q: Any, k: Any, v: Any) -> Any:
        scores = q @ J.numpy.swapaxes(k, -1, -2) / 8
        e = J.numpy.exp(scores - scores.max(axis=-1, keepdims=True))
        return (e / e.sum(axis=-1, keepdims=True)) @ v
    return J.jit(fun)


def _heads() -> tuple[Any, ...]:
    return tuple(normal(4, 8, 256, 64, seed=k) for k in range(3))


def _definite(n: int) -> np.ndarray:
    a = normal(n, n)
    return a @ a.T / np.float32(n) + np.eye(n, dtype=np.float32)


MATRIX = lambda: (normal(4000, 1000),)
CASES: dict[str, Case] = {
    "heat": Case(heat, lambda: (normal(512, 512),), numpy=False),
    "rnn_gradient": Case(rnn_gradient, lambda: (normal(64, 128) / 16, normal(128, 128) / 16, normal(100, 32, 64)), numpy=False),
    "gelu": Case(gelu, lambda: (normal(4_000_000),)),
    "gelu_gradient": Case(gelu_gradient, lambda: (normal(4_000_000),), numpy=False),
    "sines": Case(sines, lambda: (normal(1_000_000).astype(np.float64),), x64=True),
    "normals": Case(normals, tuple, numpy=False),
    "softmax": Case(softmax, MATRIX),
    "sum_columns": Case(lambda J: J.jit(lambda x: x.sum(axis=0)), MATRIX),
    "prefix_sums": Case(lambda J: J.jit(J.numpy.cumsum), lambda: (normal(4_000_000),)),
    "matmul": Case(lambda J: J.jit(lambda x, y: x @ y), lambda: (normal(1024, 1024), normal(1024, 1024, seed=1))),
    "attention": Case(attention, _heads),
    "small_systems": Case(lambda J: J.jit(J.numpy.linalg.solve), lambda: (
        normal(10_000, 4, 4) + 4 * np.eye(4, dtype=np.float32), normal(10_000, 4, 1, seed=1))),
    "cholesky": Case(lambda J: J.jit(J.numpy.linalg.cholesky), lambda: (_definite(500),)),
    "sort": Case(lambda J: J.jit(J.numpy.sort), lambda: (normal(1_000_000),)),
    "gather": Case(lambda J: J.jit(lambda x, i: x[i]), lambda: (normal(4_000_000), _places(4_000_000, 4_000_000))),
    "scatter_add": Case(lambda J: J.jit(lambda x, i, y: x.at[i].add(y)), lambda: (
        np.zeros(1000, np.float32), _places(1000, 4_000_000), normal(4_000_000)), numpy=False),
}


def seconds(J: Any, case: Case) -> float:
    """The least time of a call, after two that do not count."""
    if case.x64 and J is not NumPy:
        J.config.update("jax_enable_x64", True)
    fun = case.make(J)
    args = case.inputs() if J is NumPy else tuple(J.numpy.array(x) for x in case.inputs())
    call = lambda: J.block_until_ready(fun(*args))
    call(), call()
    best, until = float("inf"), time.perf_counter() + SECONDS
    while time.perf_counter() < until:
        began = time.perf_counter()
        call()
        best = min(best, time.perf_counter() - began)
    return best
