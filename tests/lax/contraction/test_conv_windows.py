"""Convolutions by the kernel that reads overlapping rows: the values, bit by bit, of integers in every dtype and layout."""
import ctypes

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.foundation.config import Override
from numjet.lax.contraction import conv_windows

NCHW, NHWC, HWNC = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC"), ("HWNC", "HWIO", "HWNC")
NWC, NCW, NDHWC = ("NWC", "WIO", "NWC"), ("NCW", "WIO", "NCW"), ("NDHWC", "DHWIO", "NDHWC")
# x, kernel, layout, other parameters
CASES = {
    "one panel": ((2, 9, 11, 8), (3, 3, 8, 16), NHWC, {}),
    "odd sizes": ((2, 9, 23, 8), (3, 5, 8, 19), NHWC, {"window_strides": (2, 3), "padding": ((2, 1), (3, -1))}),
    "dilated": ((2, 8, 9, 23), (33, 8, 3, 5), NCHW, {"window_strides": (2, 2), "rhs_dilation": (2, 3)}),
    "groups": ((2, 16, 9, 23), (32, 8, 3, 2), NCHW, {"feature_group_count": 2}),
    "groups of the batch": ((4, 8, 9, 23), (32, 8, 3, 2), NCHW, {"batch_group_count": 2}),
    "batch last": ((9, 11, 8, 8), (3, 3, 8, 16), HWNC, {}),
    "gaps": ((2, 9, 11, 8), (3, 3, 8, 16), NHWC, {"lhs_dilation": (2, 1), "padding": ((1, 1), (1, 1))}),
    "sequence": ((3, 200, 40), (5, 40, 9), NWC, {}),
    "sequence, channels first": ((3, 40, 200), (5, 40, 9), NCW, {}),
    "volume": ((2, 5, 6, 17, 8), (2, 3, 3, 8, 12), NDHWC, {"window_strides": (1, 2, 1)}),
    "long lines": ((1, 5, 700, 48), (3, 3, 48, 70), NHWC, {"padding": ((-1, 4), (7, 9))}),
    "long windows": ((2, 4, 3, 400), (3, 2, 400, 17), NHWC, {"padding": ((30, 4), (40, 9))}),
    "many weights": ((2, 7, 7, 300), (3, 3, 300, 200), NHWC, {}),
    "many weights, channels first": ((2, 300, 7, 7), (200, 300, 3, 3), NCHW, {}),
    "few features": ((2, 9, 11, 16), (3, 3, 16, 1), NHWC, {}),
    "few features of groups": ((2, 9, 11, 8), (3, 3, 4, 4), NHWC, {"feature_group_count": 2}),
    "interleaved": ((2, 19, 23, 3), (7, 7, 3, 16), NHWC, {"window_strides": (2, 2)}),
    "interleaved, dilated": ((2, 3, 19, 33), (20, 3, 5, 3), NCHW, {"window_strides": (1, 2), "rhs_dilation": (2, 1)}),
    "interleaved, cut": ((2, 1, 29, 33), (20, 1, 5, 3), NCHW, {"padding": ((3, -2), (0, 0))}),
    "interleaved groups": ((2, 4, 19, 33), (20, 2, 5, 3), NCHW, {"feature_group_count": 2}),
    "interleaved volume": ((2, 4, 9, 13, 2), (3, 3, 3, 2, 20), NDHWC, {"window_strides": (1, 2, 1)}),
}


def noted(monkeypatch, name):
    """A list of the calls of a function of conv_windows from now on."""
    made, fun = [], getattr(conv_windows, name)
    monkeypatch.setattr(conv_windows, name, lambda *args: made.append(args) or fun(*args))
    return made


@pytest.fixture
def calls(monkeypatch):
    """The convolutions that went to the kernel."""
    return noted(monkeypatch, "convolve")


def both(x, kernel, layout, options):
    """The convolution by the kernel, and by the reference implementation."""
    options = {"window_strides": (1,) * (x.ndim - 2), "padding": "SAME"} | options
    convolve = lambda x, kernel: nj.lax.conv_general_dilated(x, kernel, dimension_numbers=layout, **options)
    with Override("numjet_verify", True):
        found = nj.jit(convolve)(x, kernel)
    with nj.disable_jit():
        return found, convolve(x, kernel)


@pytest.mark.parametrize("case", CASES)
def test_values(case, rng, calls):
    shape, taps, layout, options = CASES[case]
    x, kernel = (jnp.asarray(rng.integers(-3, 4, s), jnp.float32) for s in (shape, taps))
    found, expected = both(x, kernel, layout, options)
    np.testing.assert_array_equal(found, expected)
    assert calls


@pytest.mark.parametrize("case", ["dilated", "interleaved"])
@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "complex64", "int8", "uint16", "int32", "int64"])
def test_dtypes(dtype, case, rng, x64, calls):
    shape, taps, layout, options = CASES[case]
    x, kernel = (jnp.asarray(rng.integers(0, 4, s)).astype(dtype) for s in (shape, taps))
    found, expected = both(x, kernel, layout, options)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, expected)
    assert calls


@pytest.fixture
def instructions():
    """Sets how new instructions may be; all of them again after the test."""
    choose = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_native.kernel_address("nj_gemm_level"))
    yield choose
    choose(5)


@pytest.mark.parametrize("case", ["odd sizes", "many weights, channels first", "interleaved"])
def test_instruction_sets(case, rng, instructions):
    shape, taps, layout, options = CASES[case]
    x, kernel = (jnp.asarray(rng.integers(-3, 4, s), jnp.float32) for s in (shape, taps))
    for level in range(6):
        instructions(level)
        found, expected = both(x, kernel, layout, options)
        np.testing.assert_array_equal(found, expected)


def test_padding_is_multiplied():
    x, kernel = jnp.ones((1, 8, 8, 8)), jnp.ones((3, 3, 8, 8)).at[0, 0].set(jnp.inf)
    found = nj.jit(lambda x, k: nj.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=NHWC))(x, kernel)
    assert np.isnan(found[0, 0]).all() and np.isnan(found[0, :, 0]).all() and np.isinf(found[0, 1:, 1:]).all()


def test_the_same_bits_whatever_the_threads(rng):
    x, kernel = (jnp.asarray(rng.standard_normal(s), jnp.float32) for s in ((3, 40, 40, 24), (3, 3, 24, 40)))
    convolve = nj.jit(lambda x, k: nj.lax.conv_general_dilated(x, k, (1, 1), "SAME", dimension_numbers=NHWC))
    alone = [np.asarray(convolve(x[n:n + 1], kernel)) for n in range(3)]
    np.testing.assert_array_equal(convolve(x, kernel), np.concatenate(alone))


def test_memory_is_that_of_a_few_lines():
    x, kernel = jnp.ones((16, 32, 64, 64)), jnp.ones((32, 32, 3, 3))
    compiled = nj.jit(lambda x, k: nj.lax.conv_general_dilated(x, k, (1, 1), "SAME")).lower(x, kernel).compile()
    assert compiled.memory_analysis().temp_size_in_bytes < x.nbytes / 2


# Convolutions whose derivatives by the kernel have long windows: x, kernel, layout, other parameters
LONG = {
    "plain": ((3, 13, 31, 8), (3, 3, 8, 16), NHWC, {}),
    "odd sizes": ((3, 9, 31, 9), (3, 5, 9, 19), NHWC, {"window_strides": (2, 2), "padding": ((2, 1), (3, -1))}),
    "dilated": ((3, 9, 14, 61), (19, 9, 3, 5), NCHW, {"window_strides": (1, 2), "rhs_dilation": (2, 3)}),
    "groups": ((3, 8, 13, 31), (16, 4, 3, 3), NCHW, {"feature_group_count": 2}),
    "groups of the batch": ((4, 8, 13, 31), (16, 8, 3, 3), NCHW, {"batch_group_count": 2}),
    "sequence": ((3, 600, 9), (7, 9, 20), NWC, {}),
    "sequence, channels first": ((3, 9, 600), (7, 9, 20), NCW, {"window_strides": (2,)}),
    "volume": ((2, 5, 12, 20, 8), (3, 2, 3, 8, 10), NDHWC, {"window_strides": (2, 1, 1), "rhs_dilation": (1, 2, 1)}),
    "long lines": ((2, 9, 300, 10), (3, 3, 10, 9), NHWC, {"padding": ((-1, 3), (-2, 5))}),
    "joined lines": ((2, 16, 20, 10), (1, 1, 10, 9), NHWC, {}),
}


def derivatives(x, kernel, layout, options, rng):
    """Those by both operands, by the kernels and by the reference implementation."""
    options = {"window_strides": (1,) * (x.ndim - 2), "padding": "SAME"} | options
    convolve = lambda x, kernel: nj.lax.conv_general_dilated(x, kernel, dimension_numbers=layout, **options)
    ct = jnp.asarray(rng.integers(-1, 2, nj.eval_shape(convolve, x, kernel).shape)).astype(x.dtype)
    with nj.disable_jit():
        expected = nj.vjp(convolve, x, kernel)[1](ct)
    with Override("numjet_verify", True):
        return nj.jit(lambda *args: nj.vjp(convolve, *args)[1](ct))(x, kernel), expected


@pytest.fixture
def long_calls(monkeypatch):
    """The convolutions of long windows that went to their kernel."""
    return noted(monkeypatch, "convolve_long")


@pytest.mark.parametrize("case", LONG)
def test_derivatives(case, rng, long_calls):
    shape, taps, layout, options = LONG[case]
    x, kernel = (jnp.asarray(rng.integers(-2, 3, s), jnp.float32) for s in (shape, taps))
    for found, expected in zip(*derivatives(x, kernel, layout, options, rng), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert long_calls


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "complex64", "complex128"])
def test_derivatives_of_dtypes(dtype, rng, x64, long_calls):
    shape, taps, layout, options = LONG["odd sizes"]
    x, kernel = (jnp.asarray(rng.integers(-1, 2, s)).astype(dtype) for s in (shape, taps))
    for found, expected in zip(*derivatives(x, kernel, layout, options, rng), strict=True):
        np.testing.assert_array_equal(found, expected)
    assert long_calls


def test_derivatives_by_instruction_sets(rng, instructions):
    shape, taps, layout, options = LONG["odd sizes"]
    x, kernel = (jnp.asarray(rng.integers(-2, 3, s), jnp.float32) for s in (shape, taps))
    for level in range(6):
        instructions(level)
        for found, expected in zip(*derivatives(x, kernel, layout, options, rng), strict=True):
            np.testing.assert_array_equal(found, expected)
