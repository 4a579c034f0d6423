"""Conversions and arithmetic of dtypes that machines have no registers for."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp


@pytest.mark.parametrize("dtype", ["int2", "uint4", "int4", "float4_e2m1fn", "float8_e5m2", "float8_e4m3fn"])
def test_numbers_below_a_byte_in_compiled_programs(dtype):
    x = jnp.asarray(np.array([0, 1, 1, 0]), dtype)
    twice = nj.jit(lambda x: ((x + x).astype(np.float32), x.astype(np.int32), jnp.where(x == 1, x, x)))(x)
    with nj.disable_jit():
        want = (x + x).astype(np.float32), x.astype(np.int32), x
    for got, expected in zip(twice, want, strict=True):
        assert got.dtype == expected.dtype and (np.asarray(got, np.float32) == np.asarray(expected, np.float32)).all()


NARROW = ["int2", "uint4", "float4_e2m1fn", "float8_e5m2", "float8_e4m3fn", "float8_e8m0fnu"]


@pytest.mark.parametrize("dtype", NARROW)
@pytest.mark.parametrize("checks", [False, True])
@pytest.mark.parametrize("f", [
    lambda x, one: one, lambda x, one: x + one, lambda x, one: jnp.full((3, 2), one), lambda x, one: (one, x, x[0]),
    lambda x, one: jnp.where(x > one, x, one), lambda x, one: jnp.concatenate([x, jnp.full(2, one)]),
    lambda x, one: nj.lax.scan(lambda c, y: (c, (y, one)), one, x),
    lambda x, one: nj.lax.cond(x[0] > 0, lambda: one, lambda: x[0]),
    lambda x, one: x.at[0].set(one), lambda x, one: nj.vmap(lambda y: (y, one))(x)])
def test_constants_of_narrow_dtypes_in_programs(f, dtype, checks):
    """Constants are stored as their bits; loop IR does not look inside."""
    x, one = jnp.array([1, 1, 0], dtype), np.asarray(1, dtype)[()]
    with nj.enable_checks(checks):
        got, want = nj.tree.leaves(nj.jit(lambda x: f(x, one))(x)), nj.tree.leaves(f(x, one))
    for a, b in zip(got, want, strict=True):
        assert a.dtype == b.dtype
        np.testing.assert_array_equal(np.asarray(a).astype(np.float32), np.asarray(b).astype(np.float32))
