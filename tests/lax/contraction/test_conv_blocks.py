"""Convolutions by blocks of patches: the values are those of a sum over the taps, and no more than the blocks is in memory."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.foundation.config import Override
from numjet.lax.contraction import conv_windows, convolution

NCHW, NHWC = ("NCHW", "OIHW", "NCHW"), ("NHWC", "HWIO", "NHWC")


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of a few rows, for small arrays, whatever else could compute them."""
    monkeypatch.setattr(conv_windows, "suits", lambda *args: False)
    monkeypatch.setattr(convolution, "BLOCKED", 0)
    monkeypatch.setattr(convolution, "BLOCK", 1 << 13)
    monkeypatch.setattr(convolution, "WIDE", 2)
    nj.clear_caches()
    yield
    nj.clear_caches()


def by_taps(x, kernel, strides, padding, dilation, groups):
    """The convolution of (n, c, h, w) with (o, c / groups, p, q), one tap after the other."""
    x = np.pad(x, ((0, 0), (0, 0), *padding))
    n, (o, each, *taps) = x.shape[0], kernel.shape
    sizes = [(s - (k - 1) * d - 1) // t + 1 for s, k, d, t in zip(x.shape[2:], taps, dilation, strides, strict=True)]
    out = np.zeros((n, groups, o // groups, *sizes), np.result_type(x, kernel))
    kernel = kernel.reshape(groups, o // groups, each, *taps)
    for p, q in np.ndindex(*taps):
        (a, s), (b, t) = ((k * d, z) for k, d, z in zip((p, q), dilation, sizes, strict=True))
        part = x[:, :, a:a + (s - 1) * strides[0] + 1:strides[0], b:b + (t - 1) * strides[1] + 1:strides[1]]
        out += np.einsum("ngchw,goc->ngohw", part.reshape(n, groups, each, s, t), kernel[..., p, q])
    return out.reshape(n, o, *sizes)


CASES = {
    "plain": {}, "one_row": {"size": (1, 40)}, "prime": {"size": (13, 11)}, "strides": {"strides": (2, 3)},
    "dilation": {"dilation": (2, 1)}, "padding": {"padding": ((2, 0), (1, 3))}, "groups": {"groups": 2},
    "one_example": {"n": 1}, "more_than_pieces": {"n": 23},
}


@pytest.mark.parametrize("layout", [NCHW, NHWC])
@pytest.mark.parametrize("case", CASES)
def test_values(case, layout, small_blocks, rng):
    options = {"n": 3, "size": (16, 12), "strides": (1, 1), "padding": ((1, 1), (1, 1)), "dilation": (1, 1),
               "groups": 1} | CASES[case]
    x = rng.integers(-4, 5, (options.pop("n"), 16, *options.pop("size"))).astype(np.float32)
    kernel = rng.integers(-4, 5, (32, 16 // options["groups"], 3, 3)).astype(np.float32)
    expected = by_taps(x, kernel, **options)
    if layout is NHWC:
        x, kernel, expected = x.transpose(0, 2, 3, 1), kernel.transpose(2, 3, 1, 0), expected.transpose(0, 2, 3, 1)
    found = convolved(x, kernel, layout, options["strides"], options["padding"], options["dilation"], options["groups"])
    np.testing.assert_array_equal(found, expected)


def convolved(x, kernel, layout, strides=(1, 1), padding="SAME", dilation=(1, 1), groups=1):
    """The compiled convolution, whose loops are checked for races, and whose first call is compared with the reference."""
    convolve = lambda x, kernel: nj.lax.conv_general_dilated(x, kernel, strides, padding, rhs_dilation=dilation,
                                                             dimension_numbers=layout, feature_group_count=groups)
    with nj.enable_checks(True), Override("numjet_verify", True):
        return nj.jit(convolve)(x, kernel)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float64", "complex64", "int8", "int32", "uint8", "bool"])
def test_dtypes(dtype, small_blocks, rng, x64):
    x = jnp.asarray(rng.integers(0, 3, (2, 8, 8, 8))).astype(dtype)
    kernel = jnp.asarray(rng.integers(0, 2, (16, 8, 3, 3))).astype(dtype)
    wide = np.complex128 if dtype == "complex64" else np.float64
    expected = by_taps(np.asarray(x.astype(wide)), np.asarray(kernel.astype(wide)), (1, 1), ((1, 1), (1, 1)), (1, 1), 1)
    found = convolved(x, kernel, NCHW)
    assert found.dtype == dtype
    np.testing.assert_array_equal(found, np.asarray(jnp.asarray(expected).astype(dtype)))


def test_derivatives_and_batches(small_blocks, rng):
    x = rng.integers(-2, 3, (2, 2, 8, 8, 8)).astype(np.float32)
    kernel = rng.integers(-2, 3, (16, 8, 3, 3)).astype(np.float32)
    convolve = lambda x, k: nj.lax.conv_general_dilated(x, k, (1, 1), "SAME")
    batched = nj.jit(nj.vmap(convolve, (0, None)))(x, kernel)
    each = [by_taps(one, kernel, (1, 1), ((1, 1), (1, 1)), (1, 1), 1) for one in x]
    np.testing.assert_array_equal(batched, each)
    total = lambda x, k: jnp.sum(convolve(x, k) ** 2)
    found = nj.jit(nj.grad(total, (0, 1)))(x[0], kernel)
    with nj.disable_jit():
        expected = nj.grad(total, (0, 1))(x[0], kernel)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_array_equal(a, b)


def test_memory_is_that_of_the_blocks(monkeypatch):
    monkeypatch.setattr(conv_windows, "suits", lambda *args: False)
    x, kernel = jnp.ones((16, 32, 64, 64)), jnp.ones((32, 32, 3, 3))
    compiled = nj.jit(lambda x, k: nj.lax.conv_general_dilated(x, k, (1, 1), "SAME")).lower(x, kernel).compile()
    patches = 16 * 64 * 64 * 32 * 9 * 4
    assert compiled.memory_analysis().temp_size_in_bytes < patches / 3
