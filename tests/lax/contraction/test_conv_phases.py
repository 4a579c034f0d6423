"""Convolutions of arrays with gaps: transposed convolutions, gradients of strided ones."""
from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import disable_jit

RNG = np.random.default_rng(0)
LAYOUTS = [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("NHWC", "OIHW", "HWNC")]


def operands(layout: tuple[str, ...], taps: int, groups: int) -> tuple[Any, Any]:
    x = RNG.normal(size=(2, 5, 6, 4) if layout[0] == "NHWC" else (2, 4, 5, 6))
    w = RNG.normal(size=(taps, 3, 4 // groups, 8) if layout[1] == "HWIO" else (8, 4 // groups, taps, 3))
    return jnp.asarray(x.astype(np.float32)), jnp.asarray(w.astype(np.float32))


@pytest.mark.parametrize("layout", LAYOUTS, ids="-".join)
@pytest.mark.parametrize("gaps", [(2, 2), (3, 1), (1, 2)], ids=str)
@pytest.mark.parametrize(("taps", "groups"), [(1, 1), (2, 2), (4, 1)])
def test_values(layout: tuple[str, ...], gaps: tuple[int, int], taps: int, groups: int) -> None:
    x, w = operands(layout, taps, groups)
    for padding in (((0, 0), (0, 0)), ((2, 1), (0, 3)), ((-1, 0), (1, -1))):
        def f(x: Any, w: Any, padding: Any = padding) -> Any:
            return nj.lax.conv_general_dilated(x, w, (1, 1), padding, lhs_dilation=gaps, dimension_numbers=layout,
                                               feature_group_count=groups)
        with disable_jit():
            want = f(x, w)
        np.testing.assert_allclose(nj.jit(f)(x, w), want, rtol=1e-4, atol=1e-5)


def test_other_steps_keep_the_gaps() -> None:
    x, w = operands(LAYOUTS[0], 2, 1)
    for steps, dilation in (((2, 1), (1, 1)), ((1, 1), (2, 2))):
        def f(x: Any, w: Any, steps: Any = steps, dilation: Any = dilation) -> Any:
            return nj.lax.conv_general_dilated(x, w, steps, ((0, 0), (1, 0)), (3, 2), dilation, LAYOUTS[0])
        with disable_jit():
            want = f(x, w)
        np.testing.assert_allclose(nj.jit(f)(x, w), want, rtol=1e-4, atol=1e-5)


def test_products_with_gaps_are_not_computed() -> None:
    """The matrix of all patches, gaps included, would be of 16 times as many elements as the result has pixels and channels."""
    def f(x: Any, w: Any) -> Any:
        return nj.lax.conv_transpose(x, w, (2, 2), "SAME")
    x, w = jnp.ones((1, 16, 16, 32)), jnp.ones((4, 4, 32, 32))
    out = nj.eval_shape(f, x, w)
    memory = nj.jit(f).lower(x, w).compile().memory_analysis()
    assert memory.temp_size_in_bytes < 16 * out.size * 4 / 2
    np.testing.assert_allclose(nj.jit(f)(x, w)[0, 5, 7], 4 * 32)
