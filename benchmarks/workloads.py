"""What is timed. Every workload is written once, against names that numjet and JAX share, and returns seconds.

`J` is the top module of an implementation of that API (numjet, jax). Compilations are timed on functions that nobody
has seen before: each closes over another number.
"""
from __future__ import annotations

import functools
import itertools
import statistics
import time
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.arrays import CASES, seconds

Workload = Callable[[Any], float]
_fresh = itertools.count(1)


def first_calls(J: Any, make: Callable[[float], Callable[..., Any]], args: tuple[Any, ...], repeats: int) -> float:
    """Median time of the first call of functions made by `make`, results waited for."""
    times = []
    for _ in range(repeats):
        fun = make(1.0 + next(_fresh) / 1024)
        began = time.perf_counter()
        J.block_until_ready(fun(*args))
        times.append(time.perf_counter() - began)
    return statistics.median(times)


def per_call(J: Any, fun: Callable[[], Any], calls: int, rounds: int = 7) -> float:
    """Least mean time of a call over some rounds of many calls, waited for once a round."""
    J.block_until_ready(fun())
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        for _ in range(calls - 1):
            fun()
        J.block_until_ready(fun())
        best = min(best, (time.perf_counter() - began) / calls)
    return best


def first_call_small(J: Any) -> float:
    """First call of jit(lambda x: x + 1) in a process that has compiled before."""
    x = J.numpy.arange(8.0)
    J.block_until_ready(J.jit(lambda x: x - 1)(x))
    return first_calls(J, lambda k: J.jit(lambda x: x + k), (x,), 11)


def first_call_mlp_gradient(J: Any) -> float:
    """First call of jit(grad(loss)) of a perceptron with two hidden layers."""
    jnp, rng = J.numpy, np.random.default_rng(0)
    widths = (64, 128, 64, 10)
    pairs = itertools.pairwise(widths)
    params = [(jnp.array(rng.standard_normal((n, m)), jnp.float32), jnp.zeros(m)) for n, m in pairs]
    images = jnp.array(rng.standard_normal((64, 64)), jnp.float32)
    labels = jnp.array(rng.integers(0, 10, 64), jnp.int32)

    def make(k: float) -> Callable[..., Any]:
        def loss(params: Any, images: Any, labels: Any) -> Any:
            for w, b in params[:-1]:
                images = jnp.tanh(k * images @ w + b)
            scores = images @ params[-1][0] + params[-1][1]
            return -jnp.mean(jnp.sum(J.nn.one_hot(labels, 10) * J.nn.log_softmax(scores), axis=1))
        return J.jit(J.grad(loss))
    return first_calls(J, make, (params, images, labels), 5)


def cached_call(J: Any) -> float:
    """A call of a compiled function on one array of 8 elements."""
    x, fun = J.numpy.arange(8.0), J.jit(lambda x: x * 2 + 1)
    return per_call(J, lambda: fun(x), 20_000)


def eager_add(J: Any) -> float:
    """x + x on 8 elements, outside of jit."""
    x = J.numpy.arange(8.0)
    return per_call(J, lambda: x + x, 20_000)


def _lorenz(J: Any, steps: int, h: float = 0.005) -> Callable[[Any], Any]:
    """The path of the Lorenz equations by classical Runge-Kutta steps: (3,) to (steps, 3)."""
    jnp = J.numpy

    def velocity(s: Any) -> Any:
        x, y, z = s
        return jnp.array([10.0 * (y - x), x * (28.0 - z) - y, x * y - 8.0 / 3.0 * z])

    def step(s: Any, _: None) -> tuple[Any, Any]:
        k1 = velocity(s)
        k2 = velocity(s + h / 2 * k1)
        k3 = velocity(s + h / 2 * k2)
        k4 = velocity(s + h * k3)
        s = s + h / 6 * (k1 + 2 * k2 + 2 * k3 + k4)
        return s, s
    return lambda s: J.lax.scan(step, s, None, length=steps)[1]


def lorenz(J: Any) -> float:
    """Lorenz equations, 100,000 Runge-Kutta steps by scan, compiled; the whole path is kept."""
    fun, start = J.jit(_lorenz(J, 100_000)), J.numpy.array([1.0, 1.0, 1.0])
    return per_call(J, lambda: fun(start), 1, rounds=5)


def lorenz_gradient(J: Any) -> float:
    """Gradient of the last state's sum with respect to the first state, over 1,000 steps."""
    path = _lorenz(J, 1000)
    fun, start = J.jit(J.grad(lambda s: path(s)[-1].sum())), J.numpy.array([1.0, 1.0, 1.0])
    return per_call(J, lambda: fun(start), 10, rounds=5)


def trace_thousand(J: Any) -> float:
    """make_jaxpr of a function of 1,000 operations."""
    jnp, x = J.numpy, J.numpy.arange(8.0)

    def make(k: float) -> Callable[[Any], Any]:
        def fun(x: Any) -> Any:
            for _ in range(250):
                x = jnp.sin(x * k) - x + k
            return x
        return J.make_jaxpr(fun)
    times = []
    for _ in range(7):
        traced = make(1.0 + next(_fresh) / 1024)
        began = time.perf_counter()
        traced(x)
        times.append(time.perf_counter() - began)
    return min(times)


WORKLOADS: dict[str, Workload] = {f.__name__: f for f in (
    first_call_small, first_call_mlp_gradient, cached_call, eager_add, lorenz, lorenz_gradient, trace_thousand)}
WORKLOADS |= {name: functools.partial(seconds, case=case) for name, case in CASES.items()}
