"""Errors about values that Python needs too early name the user's function, what traced it, and the arguments."""

from __future__ import annotations

import functools

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def choose(x):
    return 1.0 if x > 0 else 2.0


def positive(x):
    return choose(x) == 1.0




LINE = f"{choose.__code__.co_filename}:"
CASES = {
    "jit": (lambda: nj.jit(choose)(1.0), "choose", "jit", "value of the argument x"),
    "while body": (lambda: lax.while_loop(lambda c: c < 8, choose, 1.0), "choose", "while_body", "value of the argument x"),
    "while condition": (lambda: lax.while_loop(positive, jnp.sin, 1.0), "positive", "while_cond", "value of the argument x"),
    "fori": (lambda: lax.fori_loop(0, 3, lambda i, x: choose(x), 1.0), "<lambda>", "fori_loop",
             "value of the argument loop_carry[1]"),
    "scan": (lambda: lax.scan(lambda c, x: (choose(c), x), 1.0, jnp.arange(3)), "<lambda>", "scan", "value of the argument c"),
    "map": (lambda: lax.map(choose, jnp.arange(3.0)), "choose", "scan", "value of the argument"),
    "switch": (lambda: lax.switch(0, [choose, choose], 1.0), "choose", "switch", "value of the argument x"),
    "checkpoint": (lambda: nj.checkpoint(choose)(1.0), "choose", "checkpoint / remat", "value of the argument x"),
    "checkpoint by name": (lambda: nj.checkpoint(choose)(x=1.0), "choose", "checkpoint / remat", "value of the argument x"),
    "two": (lambda: nj.jit(lambda a, b: 1 if a > b else 2)(1, 2), "<lambda>", "jit", "values of the arguments a and b"),
    "three": (lambda: nj.jit(lambda *t: 1 if t[0] + t[1] > t[2] else 2)(1, 2, 3), "<lambda>", "jit",
              "values of the arguments t[0], t[1] and t[2]"),
    "keywords": (lambda: nj.jit(lambda **k: 1 if k["a"] > k["b"] else 2)(a=1, b=2), "<lambda>", "jit",
                 "values of the arguments k['a'] and k['b']"),
}


@pytest.mark.parametrize("case", CASES)
def test_the_message_names_function_transformation_and_arguments(case):
    call, name, kind, what = CASES[case]
    with pytest.raises(nj.errors.ConcretizationTypeError) as info:
        call()
    text = str(info.value)
    assert f"while tracing the function {name} at {LINE}" in text
    assert f"for {kind}. This concrete value" in text
    assert f"depends on the {what}" in text


def test_checkpoint_says_what_makes_an_argument_known():
    with pytest.raises(nj.errors.ConcretizationTypeError, match=r"`static_argnums` parameter for `jax\.remat`"):
        nj.checkpoint(choose)(1.0)
    assert functools.partial(nj.checkpoint, static_argnums=0)(choose)(1.0) == 1.0


def test_a_leaked_value_names_the_function_that_was_traced():
    kept = []
    nj.jit(kept.append)(1.0)
    with pytest.raises(nj.errors.UnexpectedTracerError, match="function being traced when the value leaked was append"):
        kept[0] + 1
    lax.while_loop(lambda c: c < 2, lambda c: kept.append(c) or c + 1, 0)
    with pytest.raises(nj.errors.UnexpectedTracerError, match=r"leaked was <lambda> at .*traced for while_body"):
        kept[1] + 1
