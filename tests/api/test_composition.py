"""Every transformation around every other, three deep.

Each entry takes a function that works element by element on a vector and gives such a function back: the same one, or its
derivative. So the value of any composition of entries around the sine is known: a derivative of it, whose order is the number
of entries that differentiate.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.experimental import checkify

Function = Callable[[Any], Any]


def of_jit(f: Function) -> Function:
    return nj.jit(f)


def of_grad(f: Function) -> Function:
    return nj.grad(lambda x: jnp.sum(f(x)))


def of_jvp(f: Function) -> Function:
    return lambda x: nj.jvp(f, (x,), (jnp.ones_like(x),))[1]


def of_linearize(f: Function) -> Function:
    return lambda x: nj.linearize(f, x)[1](jnp.ones_like(x))


def of_vmap(f: Function) -> Function:
    return lambda x: nj.vmap(f)(jnp.stack([x, x + 1]))[0]


def of_checkpoint(f: Function) -> Function:
    return nj.checkpoint(f)


def of_custom_jvp(f: Function) -> Function:
    wrapped = nj.custom_jvp(lambda x: f(x))
    wrapped.defjvp(lambda primals, tangents: nj.jvp(f, primals, tangents))
    return wrapped


def of_custom_vjp(f: Function) -> Function:
    wrapped = nj.custom_vjp(lambda x: f(x))
    wrapped.defvjp(lambda x: (f(x), x), lambda x, cotangent: nj.vjp(f, x)[1](cotangent))
    return wrapped


def of_custom_vmap(f: Function) -> Function:
    wrapped = nj.custom_batching.custom_vmap(lambda x: f(x))

    @wrapped.def_vmap
    def rows(size: int, batched: Any, x: Any) -> Any:
        return (nj.vmap(f)(x) if batched[0] else f(x)), batched[0]

    return wrapped


def of_checkify(f: Function) -> Function:
    def checked(x: Any) -> Any:
        error, y = checkify.checkify(with_check)(x)
        return jnp.where(error.get() is None, y, jnp.nan) if not isinstance(x, nj.core.Tracer) else y

    def with_check(x: Any) -> Any:
        checkify.check(jnp.all(x > -9), "small")
        return f(x)

    return checked


def of_scan(f: Function) -> Function:
    def scanned(x: Any) -> Any:
        halves, whole = lax.scan(lambda half, shift: (half + f(x) / 2, f(x + shift)), jnp.zeros_like(x), jnp.arange(2.0))
        return halves / 2 + whole[0] / 2

    return scanned


def of_while(f: Function) -> Function:
    def looped(x: Any) -> Any:
        step = lambda state: (state[0] + 1, state[1] + f(x) / 2)
        return lax.while_loop(lambda state: state[0] < 2, step, (0, jnp.zeros_like(x)))[1]

    return looped


def of_cond(f: Function) -> Function:
    return lambda x: lax.cond(x[0] > -9, f, lambda x: x * 0, x)


ENTRIES = {name.removeprefix("of_"): entry for name, entry in list(globals().items()) if name.startswith("of_")}
DIFFERENTIATING = {"grad", "jvp", "linearize"}
POINT = jnp.array([0.3, -1.2, 2.0])
DERIVATIVES = [jnp.sin, jnp.cos, lambda x: -jnp.sin(x), lambda x: -jnp.cos(x)]


@pytest.mark.parametrize("outermost", ENTRIES)
@pytest.mark.parametrize("middle", ENTRIES)
def test_compositions(outermost, middle):
    for names in [(outermost, middle), *itertools.product([outermost], [middle], ENTRIES)]:
        f = functools.reduce(lambda f, name: ENTRIES[name](f), reversed(names), jnp.sin)
        expected = DERIVATIVES[sum(name in DIFFERENTIATING for name in names)](POINT)
        np.testing.assert_allclose(f(POINT), expected, rtol=1e-5, atol=1e-6, err_msg=" of ".join(names))
