"""core.leaks: traced values that outlive their trace are reported with function, line and holder; off, nothing is done."""
from __future__ import annotations

import gc

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.core import leaks
from numjet.errors import UnexpectedTracerError

X = np.ones(3, np.float32)
LOG: list = []


@pytest.fixture(autouse=True)
def _empty():
    LOG.clear()
    yield
    LOG.clear()
    gc.collect()


def leaky(x):
    y = lax.sin(x)
    LOG.append(y)
    return lax.reduce_sum(y * 2, axes=(0,))


def clean(x):
    def body(c, t):
        return c + lax.cos(t), {"t": t}
    c, ys = lax.scan(body, 0.0, x)
    return lax.cond(c > 0, lambda: c, lambda: lax.reduce_sum(ys["t"], axes=(0,)))


TRANSFORMS = {"jit": nj.jit, "grad": nj.grad, "vjp": lambda f: lambda x: nj.vjp(f, x), "linearize": lambda f: lambda x:
              nj.linearize(f, x), "jvp": lambda f: lambda x: nj.jvp(f, (x,), (x,)), "make_jaxpr": nj.make_jaxpr,
              "vmap": lambda f: lambda x: nj.vmap(f)(x[None]), "jit of grad": lambda f: nj.jit(nj.grad(f)),
              "vmap of jit": lambda f: lambda x: nj.vmap(nj.jit(f))(x[None]), "grad of jit": lambda f: nj.grad(nj.jit(f))}


@pytest.mark.parametrize("name", TRANSFORMS)
def test_leaks_are_found(name):
    with nj.checking_leaks(), pytest.raises(UnexpectedTracerError) as info:
        TRANSFORMS[name](leaky)(X)
    text = str(info.value)
    assert "outlived the function leaky at " in text
    assert "Tracer(" in text
    assert "is referred to by a list called 'LOG'" in text and "Leaked tracer(s): " in text


@pytest.mark.parametrize("name", TRANSFORMS)
def test_clean_functions_pass(name):
    with nj.checking_leaks():
        TRANSFORMS[name](clean)(X)
        if name in ("jit", "grad"):
            TRANSFORMS[name](nj.checkpoint(clean))(X)


def test_the_line_that_made_the_value():
    line = leaky.__code__.co_firstlineno + 1
    made = rf"was created on line:\n  test_leaks.py:{line} \(leaky\)"
    with nj.checking_leaks(), pytest.raises(UnexpectedTracerError, match=made):
        nj.jit(leaky)(X)


def test_attributes_and_closures_are_named():
    class Box:
        pass
    box = Box()

    def attribute(x):
        box.value = x * 2
        return x

    kept = None

    def closure(x):
        nonlocal kept
        kept = x * 2
        return x
    with nj.checking_leaks():
        with pytest.raises(UnexpectedTracerError, match="attribute at"):
            nj.jit(attribute)(X)
        with pytest.raises(UnexpectedTracerError, match="is referred to by a variable of an enclosing function"):
            nj.jit(closure)(X)
    assert kept is not None


def test_inside_loops():
    def f(x):
        def body(c, t):
            LOG.append(t)
            return c + t, None
        return lax.scan(body, 0.0, x)[0]
    with nj.checking_leaks(), pytest.raises(UnexpectedTracerError, match=r"outlived the function .*body"):
        nj.jit(f)(X)


def test_many_are_counted():
    def many(x):
        LOG.extend(x * k for k in range(9))
        return x
    with nj.checking_leaks(), pytest.raises(UnexpectedTracerError, match=r"9 traced values .*(?s:.*)and 4 more"):
        nj.jit(many)(X)


def test_off_nothing_is_looked_for(monkeypatch):
    def no(*_):
        raise AssertionError("looked for leaks")
    monkeypatch.setattr(leaks, "check", no)
    nj.jit(leaky)(X)
    nj.vmap(nj.grad(leaky))(X[None])
    assert LOG
