"""Weak types of elementwise functions: Python scalars beside arrays, per function, as JAX has them."""
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp

STRONG = [
    ("copysign", 2.0, jnp.ones(3), "float32"),
    ("copysign", 2, jnp.ones(3, "float16"), "float16"),
    ("copysign", jnp.asarray(2.0), np.float32(1), "float32"),
    ("copysign", jnp.ones(3), 2.0, "float32"),
    ("gcd", jnp.ones(3, bool), 2, "int32"),
    ("gcd", 2, jnp.ones(3, bool), "int32"),
    ("lcm", jnp.ones(3, bool), 2, "int32"),
    ("lcm", jnp.asarray(2), jnp.ones(3, bool), "int32"),
    ("logaddexp", jnp.ones(3, "int8"), 2j, "complex64"),
    ("logaddexp", 2j, jnp.ones(3, bool), "complex64"),
    ("logaddexp2", jnp.ones(3, "int8"), 2j, "complex64"),
    ("logaddexp2", jnp.ones(3, "int32"), 2.0, "float32"),
    ("power", 2, jnp.ones(3, bool), "int32"),
    ("power", 2, np.bool_(True), "int32"),
    ("power", jnp.asarray(2), jnp.asarray(True), "int32"),
]

WEAK = [
    ("copysign", 2.0, 1.0, "float32"),
    ("copysign", 2.0, jnp.ones(3, "int32"), "float32"),
    ("gcd", 4, 6, "int32"),
    ("gcd", jnp.asarray(True), 2, "int32"),
    ("lcm", 4, 6, "int32"),
    ("logaddexp", jnp.int32(1), 2j, "complex64"),
    ("logaddexp", jnp.ones(3, "int32"), 2.0, "float32"),
    ("logaddexp2", 1.0, jnp.int8(2), "float32"),
    ("power", 2, True, "int32"),
]


@pytest.mark.parametrize("name, x, y, dtype", STRONG)
def test_strong_results(name, x, y, dtype):
    out = getattr(jnp, name)(x, y)
    assert out.dtype == dtype and not out.weak_type


@pytest.mark.parametrize("name, x, y, dtype", WEAK)
def test_weak_results(name, x, y, dtype):
    out = getattr(jnp, name)(x, y)
    assert out.dtype == dtype and out.weak_type


@pytest.mark.parametrize("deg", [False, True])
@pytest.mark.parametrize("x, weak", [(2, False), (-2.0, False), (True, False), (jnp.asarray(2.0), False),
                                     (jnp.float16(-1), False), (2j, True)])
def test_angles_of_scalars(x, weak, deg):
    """Angles of real scalars are strong, of the default float dtype; complex ones keep their weak type."""
    out = jnp.angle(x, deg)
    assert out.dtype == "float32" and out.weak_type == weak
    assert np.allclose(out, np.angle(complex(x), deg))
    assert jnp.angle(jnp.ones(2, "float16"), deg).dtype == "float16"


@pytest.mark.parametrize("decimals", [-1, 0, 1])
def test_booleans_are_not_rounded(decimals):
    with pytest.raises(ValueError, match="expected numbers, got dtype bool"):
        jnp.round(jnp.ones(3, bool), decimals)


def test_strong_results_of_transformed_functions():
    """The sign comes from y, in grad, vmap and jit."""
    y = jnp.array([-1.0, 2.0])
    assert nj.jit(lambda v: jnp.copysign(3.0, v))(y).tolist() == [-3.0, 3.0]
    assert nj.vmap(lambda v: jnp.copysign(3.0, v))(y).tolist() == [-3.0, 3.0]
    assert nj.grad(lambda v: jnp.copysign(v, y).sum())(jnp.array([1.0, -2.0])).tolist() == [-1.0, -1.0]
    assert nj.vmap(jnp.angle)(y).tolist() == pytest.approx([np.pi, 0.0])


@pytest.mark.parametrize("fn", [jnp.log2, jnp.log10, jnp.spacing])
def test_functions_of_a_base_give_strong_types(fn: Any) -> None:
    for x in (2, 2.0, jnp.asarray(2.0)):
        assert not fn(x).weak_type and not nj.jit(fn)(x).weak_type
