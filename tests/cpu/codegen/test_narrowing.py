"""Conversions of floats to integers: cut at the bounds, NaN to 0, many at once."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import disable_jit
from numjet.tools.show import forms

EDGES = np.array([0.0, -0.0, 0.99, -0.99, 1.5, -1.5, np.inf, -np.inf, np.nan, 1e30, -1e30, *(
    sign * (2.0 ** bits + step) for bits in (7, 8, 15, 16, 31, 32, 63, 64) for sign in (1, -1)
    for step in (-1, -0.5, 0, 0.5, 1))])


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("source", ["float32", "float64", "bfloat16", "float16"])
@pytest.mark.parametrize("target", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"])
def test_values(source: str, target: str) -> None:
    with nj.enable_x64(True):
        for x in (jnp.asarray(np.resize(EDGES, 301)).astype(source), jnp.asarray(EDGES[:3]).astype(source)):
            with disable_jit():
                want = x.astype(target)
            np.testing.assert_array_equal(nj.jit(lambda x: x.astype(target))(x), want)


def test_lanes_are_converted_together() -> None:
    for target in ("uint8", "int32"):
        text = forms(lambda x, target=target: x.astype(target), [jnp.ones(1024)], ["llvm"])["llvm"]
        assert ".sat." not in text and "fptosi <" in text
