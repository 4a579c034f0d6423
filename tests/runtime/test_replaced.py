"""Operations that a user's function evaluates, and blocks in which nothing runs."""

from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def test_a_user_may_evaluate_an_operation():
    calls = []
    sin, add = lax.sin_p.impl, lax.add_p.impl
    x = jnp.ones(3)
    try:
        lax.sin_p.def_impl(lambda x: calls.append("sin") or sin(x))
        lax.add_p.def_impl(lambda x, y: calls.append("add") or add(x, y))
        np.testing.assert_allclose(jnp.sin(x) + x, np.sin(np.ones(3)) + 1, rtol=1e-6)
        assert calls == ["sin", "add"]
        nj.jit(lambda x: jnp.sin(x) + x)(x)
        assert calls == ["sin", "add"]
    finally:
        lax.sin_p.def_impl(sin)
        lax.add_p.def_impl(add)
    assert (jnp.sin(x) + x).shape == (3,) and len(calls) == 2 and lax.sin_p.impl == sin


def test_other_rules_of_operations_stay():
    with pytest.raises(TypeError, match="'sin' is numjet's own operation, whose rules do not change"):
        lax.sin_p.def_abstract_eval(lambda x: x)


def test_no_execution():
    x = jnp.ones(3)
    f = nj.jit(lambda x: x * 2)
    f(x)
    compiled = f.lower(x).compile()
    with nj.no_execution():
        for call in (lambda: f(x), lambda: x + x, lambda: jnp.sin(x), lambda: compiled(x), lambda: jnp.asarray(2) * x):
            with pytest.raises(RuntimeError, match="but the no_execution config option is set"):
                call()
        assert nj.make_jaxpr(f)(x).eqns and np.asarray(x).sum() == 3
    assert f(x).tolist() == [2, 2, 2]
