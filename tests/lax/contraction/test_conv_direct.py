"""Convolutions written in regions: what is padded is multiplied, not left out, and no padded copy is made."""
from __future__ import annotations

import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.lax.contraction.conv_direct import MOST_TERMS, MOST_WRITTEN, regions, spans

RNG = np.random.default_rng(0)


def both(x, w, **params):
    """Compiled, and by the eager slot."""
    fun = lambda x, w: lax.conv_general_dilated(x, w, **params)
    with nj.disable_jit():
        expected = fun(x, w)
    return np.asarray(nj.jit(fun)(x, w)), np.asarray(expected)


@pytest.mark.parametrize("layout", [("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW"), ("NHWC", "OHWI", "NCHW")], ids=str)
@pytest.mark.parametrize("params", [
    {"padding": "SAME"}, {"padding": ((2, 3), (0, 1))}, {"padding": ((-1, 2), (4, -2))},
    {"padding": "SAME", "window_strides": (2, 3)},
    {"padding": "SAME", "rhs_dilation": (3, 2)}, {"padding": ((9, 9), (9, 9))}], ids=str)
def test_depthwise(layout, params):
    x, w = RNG.integers(-9, 9, (2, 7, 9, 5)).astype(np.float32), RNG.integers(-9, 9, (3, 2, 1, 5)).astype(np.float32)
    arrange = lambda a, source, target: a.transpose([source.index(c) for c in target])
    x, w = arrange(x, "NHWC", layout[0]), arrange(w, "HWIO", layout[1])
    params = {"window_strides": (1, 1), "dimension_numbers": layout, "feature_group_count": 5, **params}
    out, expected = both(x, w, **params)
    assert out.tolist() == expected.tolist()


def test_one_group_of_few_channels():
    x, w = RNG.integers(-9, 9, (2, 3, 8, 8)).astype(np.float32), RNG.integers(-9, 9, (4, 3, 3, 3)).astype(np.float32)
    out, expected = both(x, w, window_strides=(1, 1), padding="SAME")
    assert out.tolist() == expected.tolist()


@pytest.mark.parametrize("weight", [np.inf, np.nan])
def test_padding_times_what_is_not_finite_is_nan(weight):
    x, w = np.ones((1, 4, 4, 2), np.float32), np.ones((3, 3, 1, 2), np.float32)
    w[0, 0, 0, 1] = weight
    params = {"dimension_numbers": ("NHWC", "HWIO", "NHWC"), "feature_group_count": 2}
    out, expected = both(x, w, window_strides=(1, 1), padding="SAME", **params)
    np.testing.assert_array_equal(out, expected)
    assert np.isnan(out[0, 0, :, 1]).all() and np.isfinite(out[..., 0]).all()


def test_no_padded_copy_is_made():
    x, w = np.ones((1, 20, 20, 64), np.float32), np.ones((3, 3, 1, 64), np.float32)
    fun = nj.jit(lambda x, w: lax.conv_general_dilated(
        x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), feature_group_count=64))
    assert fun.lower(x, w).compile().memory_analysis().temp_size_in_bytes == 0


@pytest.mark.parametrize("sizes", [(5, 5, 3, 1, 1, 1), (10, 4, 3, 3, 1, 2), (1, 3, 3, 1, 2, 1), (8, 3, 2, 1, -3, 1)], ids=str)
def test_spans_cover_the_result(sizes):
    size, out, kernel, stride, low, dilation = sizes
    found = spans(*sizes)
    assert [i for s in found for i in range(s.start, s.stop)] == list(range(out))
    for span in found:
        for i in range(span.start, span.stop):
            assert span.inside == tuple(0 <= i * stride - low + k * dilation < size for k in range(kernel))


def test_too_many_regions_are_left_to_the_padded_copy():
    axis = (100, 100, 15, 1, 7, 1)
    assert len(spans(*axis)) == 15 and regions([axis, axis], 1) is None and regions([axis], 1) is not None
    flat = (100, 100, 6, 1, 3, 1)
    assert MOST_TERMS > 6 ** 2 and MOST_WRITTEN < 6 ** 4 and regions([flat, flat], 1) is None
