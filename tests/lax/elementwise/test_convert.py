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
