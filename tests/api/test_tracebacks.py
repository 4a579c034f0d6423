"""Tracebacks of errors in functions that are traced hold the user's frames only."""
import traceback

import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.foundation.config import traceback_filtering


def fail(*_):
    raise ValueError("no")


@nj.custom_jvp
def rule(x):
    return x


rule.defjvp(fail)

CALLS = {
    "jit": lambda: nj.jit(fail)(1.0),
    "nested": lambda: nj.jit(lambda x: nj.vmap(nj.jit(fail))(x) + 1)(jnp.ones(2)),
    "grad": lambda: nj.grad(fail)(1.0),
    "jvp": lambda: nj.jvp(rule, (1.0,), (1.0,)),
    "vjp": lambda: nj.vjp(fail, 1.0),
    "linearize": lambda: nj.linearize(fail, 1.0),
    "jacobian": lambda: nj.jacrev(fail)(1.0),
    "checkpoint": lambda: nj.checkpoint(fail)(1.0),
    "cond": lambda: lax.cond(True, fail, lambda: 1),
    "switch": lambda: lax.switch(1, [lambda: 1, fail]),
    "scan": lambda: lax.scan(fail, 0, None, 3),
    "while": lambda: lax.while_loop(lambda _: False, fail, 0),
    "fori": lambda: lax.fori_loop(0, 3, fail, 0),
    "map": lambda: lax.map(fail, jnp.ones(3)),
    "associative": lambda: lax.associative_scan(fail, jnp.ones(3)),
    "root": lambda: lax.custom_root(fail, 0.0, lambda f, x: x, lambda f, y: y),
    "eval_shape": lambda: nj.eval_shape(fail, 1.0),
    "make_jaxpr": lambda: nj.make_jaxpr(fail)(1.0),
}


def files(call):
    with pytest.raises(ValueError, match="no") as info:
        call()
    frames = traceback.walk_tb(info.value.__traceback__)
    return [frame.f_code.co_filename for frame, _ in frames if "pytest" not in frame.f_code.co_filename], info.value


@pytest.mark.parametrize("name", CALLS)
def test_only_the_user_s_frames_are_left(name):
    with traceback_filtering("quiet_remove_frames"):
        found, error = files(CALLS[name])
    assert set(found) == {__file__}
    assert sum("For simplicity" in note for note in error.__notes__) == 1


def test_off_keeps_all_frames():
    with traceback_filtering("off"):
        found, _ = files(CALLS["nested"])
    assert any("numjet" in file and "tests" not in file for file in found)
