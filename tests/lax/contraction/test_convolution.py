"""Convolutions against plain loops, values known from JAX, their errors and derivatives."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.core.op import lookup
from numjet.runtime import dispatch
from tests.lax.lax_gradients import vjp

A = np.arange(24, dtype=np.float32).reshape(4, 2, 3)
B = np.arange(12, dtype=np.float32).reshape(2, 2, 3)


def reference(x, w, strides, padding, lhs_dilation, rhs_dilation, features=1, batches=1):
    """By the definition, for layouts (batch, feature, ...) and (output, input, ...)."""
    n, outputs, inputs = x.shape[0] // batches, w.shape[0], w.shape[1]
    spread = [(m - 1) * d + 1 for m, d in zip(x.shape[2:], lhs_dilation, strict=True)]
    span = [(k - 1) * d + 1 for k, d in zip(w.shape[2:], rhs_dilation, strict=True)]
    sizes = [(m + low + high - k) // s + 1 for m, (low, high), k, s in zip(spread, padding, span, strides, strict=True)]
    out = np.zeros((n, outputs, *sizes), x.dtype)
    for place in np.ndindex(*out.shape):
        row, o, *i = place
        group = o * features // outputs
        row += n * (o * batches // outputs)
        for c, *k in np.ndindex(*w.shape[1:]):
            at = [p * s + q * d - low for p, s, q, d, (low, _) in zip(i, strides, k, rhs_dilation, padding, strict=True)]
            if all(0 <= a < m and a % d == 0 for a, m, d in zip(at, spread, lhs_dilation, strict=True)):
                at = [a // d for a, d in zip(at, lhs_dilation, strict=True)]
                out[place] += x[(row, group * inputs + c, *at)] * w[(o, c, *k)]
    return out


CASES = [
    ((2, 3, 6), (4, 3, 2), (1,), ((0, 0),), (1,), (1,), 1, 1),
    ((2, 3, 6), (4, 3, 2), (2,), ((1, 2),), (2,), (3,), 1, 1),
    ((2, 4, 6), (6, 2, 3), (2,), ((-1, 2),), (1,), (2,), 2, 1),
    ((4, 3, 5), (6, 3, 2), (1,), ((1, 0),), (2,), (1,), 1, 2),
    ((1, 2, 4, 5), (3, 2, 2, 3), (1, 2), ((1, 0), (-1, 3)), (2, 1), (1, 2), 1, 1),
    ((2, 3, 5, 4), (6, 1, 3, 3), (2, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 3, 1),
    ((1, 2, 3, 3, 3), (2, 2, 2, 2, 2), (1, 1, 2), ((0, 0), (1, 0), (0, 1)), (1, 1, 1), (1, 1, 1), 1, 1),
    ((2, 9, 6, 5), (16, 9, 3, 3), (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 1, 1),
]
LAYOUTS = {3: ("NHC", "HIO", "NHC"), 4: ("CNHW", "IHOW", "NHCW"), 5: ("NHWDC", "HWDOI", "NCHWD")}


@pytest.mark.parametrize("case", CASES, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.complex64, np.int32, ml_dtypes.bfloat16], ids=lambda d: np.dtype(d).name)
def test_values_match_loops(case, dtype, rng):
    x, w = (rng.integers(-2, 3, shape).astype(dtype) for shape in case[:2])
    out = lax.conv_general_dilated(x, w, *case[2:6], None, *case[6:])
    want = reference(x.astype(np.complex64), w.astype(np.complex64), *case[2:])
    assert out.dtype == np.dtype(dtype)
    np.testing.assert_array_equal(np.asarray(out).astype(np.complex64), want)


@pytest.mark.parametrize("case", CASES, ids=str)
def test_layouts_and_the_compiler_agree_with_loops(case, rng):
    x, w = (rng.integers(-2, 3, shape).astype(np.float32) for shape in case[:2])
    want = reference(x, w, *case[2:])
    names = ("NCHWD"[:x.ndim], "OIHWD"[:x.ndim], "NCHWD"[:x.ndim])
    for layout in (names, LAYOUTS[x.ndim]):
        move = [[names[n].index(c) for c in layout[n]] for n in range(3)]
        numbers = lax.conv_dimension_numbers(x.shape, w.shape, layout)
        params = dict(zip(("window_strides", "padding", "lhs_dilation", "rhs_dilation", "feature_group_count",
                           "batch_group_count"), case[2:], strict=True))
        params |= {"dimension_numbers": numbers, "precision": None, "preferred_element_type": None}
        out = dispatch.run_operation(lookup("conv_general_dilated"), [x.transpose(move[0]), w.transpose(move[1])], params)
        np.testing.assert_array_equal(np.asarray(out), want.transpose(move[2]))


def test_values_known_from_jax():
    grouped = lax.conv_general_dilated(A, B, (1,), [(1, 0)], batch_group_count=2)
    assert np.asarray(grouped).tolist() == [[[34, 55], [514, 757]], [[106, 145], [730, 1063]]]
    grouped = lax.conv_general_dilated(A, B[:, :1], (1,), [(1, 0)], feature_group_count=2)
    assert np.asarray(grouped)[:2].tolist() == [[[2, 5], [53, 86]], [[20, 23], [143, 212]]]
    patches = lax.conv_general_dilated_patches(A, (2,), (1,), "VALID")
    assert np.asarray(patches)[0].tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    kernels = np.arange(16, dtype=np.float32).reshape(2, 4, 2)
    local = lax.conv_general_dilated_local(A[:1], kernels, (1,), "VALID", (2,), precision="high")
    assert np.asarray(local).tolist() == [[[38, 62], [102, 158]]]


def test_local_convolution_in_other_layouts(rng):
    x = rng.standard_normal((2, 5, 4, 3)).astype(np.float32)
    w = rng.standard_normal((3, 2, 2, 2, 3, 5)).astype(np.float32)  # H W kh kw C O
    want = np.zeros((2, 3, 2, 5), np.float32)
    for i, j in np.ndindex(3, 2):
        want[:, i, j] = np.einsum("nhwc,hwco->no", x[:, 2 * i - 0:2 * i + 2][:, :2, j:j + 2] if i < 2 else
                                  np.pad(x, ((0, 0), (0, 1), (0, 0), (0, 0)))[:, 4:6, j:j + 2], w[i, j])
    kernels = w.transpose(0, 1, 4, 2, 3, 5).reshape(3, 2, 12, 5)
    out = lax.conv_general_dilated_local(x, kernels, (2, 1), [(0, 1), (0, -1)], (2, 2),
                                         dimension_numbers=("NHWC", "HWIO", "NHWC"))
    np.testing.assert_allclose(np.asarray(out), want, rtol=1e-5, atol=1e-5)


# kernel, stride, padding, dilation -> what JAX pads
TRANSPOSED = [(1, 3, "SAME", 1, (0, 2)), (2, 3, "SAME", 2, (2, 2)), (3, 2, "SAME", 1, (2, 1)), (4, 3, "SAME", 1, (3, 2)),
              (5, 4, "SAME", 2, (6, 5)), (3, 2, "VALID", 1, (2, 2)), (2, 4, "VALID", 2, (2, 3)), (5, 3, "VALID", 2, (8, 8))]


@pytest.mark.parametrize("kernel, stride, padding, dilation, pads", TRANSPOSED)
def test_transposed_convolution_pads_as_jax(kernel, stride, padding, dilation, pads, rng):
    x, w = rng.standard_normal((1, 7, 2)).astype(np.float32), rng.standard_normal((kernel, 2, 3)).astype(np.float32)
    out = lax.conv_transpose(x, w, (stride,), padding, (dilation,))
    want = reference(x.transpose(0, 2, 1), w.transpose(2, 1, 0), (1,), (pads,), (stride,), (dilation,))
    np.testing.assert_allclose(np.asarray(out), want.transpose(0, 2, 1), rtol=1e-5, atol=1e-5)


def test_transposed_kernel_undoes_a_convolution(rng):
    x, w = rng.standard_normal((2, 8, 6, 3)), rng.standard_normal((3, 3, 3, 4))
    x, w = x.astype(np.float32), w.astype(np.float32)
    names = ("NHWC", "HWIO", "NHWC")
    forward = lambda v: lax.conv_general_dilated(v, w, (2, 2), [(1, 0), (1, 0)], dimension_numbers=names)
    ct = rng.standard_normal(np.shape(forward(x))).astype(np.float32)
    back = lax.conv_transpose(ct, w, (2, 2), [(1, 1), (1, 1)], transpose_kernel=True)
    (want,) = vjp(forward, [x], ct)
    np.testing.assert_allclose(np.asarray(back), want[:, :back.shape[1], :back.shape[2]], rtol=1e-4, atol=1e-5)


def test_consistent_padding():
    x, w = np.ones((1, 7, 2), np.float32), np.ones((3, 2, 5), np.float32)
    assert lax.conv_transpose(x, w, (2,), [(1, 2)], use_consistent_padding=True).shape == (1, 12, 5)
    assert lax.conv_transpose(x, w, (2,), [(1, 2)]).shape == (1, 14, 5)


def test_dtypes():
    x, w = np.full((1, 3, 4), 100, np.int8), np.full((2, 3, 2), 2, np.int8)
    out = lax.conv_general_dilated(x, w, (1,), "VALID", preferred_element_type=np.int32)
    assert out.dtype == np.int32 and np.asarray(out)[0, 0, 0] == 1200
    flags = lax.conv(x > 0, w > 0, (1,), "VALID")
    assert flags.dtype == np.bool_ and np.asarray(flags).all()
    half = lax.conv(x.astype(np.float16), w.astype(np.float16), (1,), "SAME_LOWER", preferred_element_type=np.float32)
    assert half.dtype == np.float32 and half.shape == (1, 2, 4)


def test_shapes():
    names = ("NHWC", "HWIO", "NHWC")
    assert lax.conv_shape_tuple((2, 3, 8, 8), (4, 3, 3, 3), (1, 1), "SAME") == (2, 4, 8, 8)
    assert lax.conv_general_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (1, 1), "SAME", names) == (2, 8, 8, 4)
    assert lax.conv_transpose_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), "SAME", names) == (2, 16, 16, 4)
    assert lax.conv_transpose_shape_tuple((2, 8, 8, 3), (3, 3, 3, 4), (2, 2), "VALID", names) == (2, 17, 17, 4)


@pytest.mark.parametrize("numbers, text", [
    (("NHWC", "HWIO"), "list/tuple must be length 3"), (("NHXC", "HWIO", "NHWC"), "same set of spatial characters"),
    (("NHHC", "HWIO", "NHWC"), "cannot have duplicate characters"), (("NHC", "HWIO", "NHWC"), "must have len equal"),
    (("NHWC", "HWII", "NHWC"), "must contain the characters 'O' and 'I'"), (5, "must be tuple/list or None"),
    (((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2)), "elements must be strings")])
def test_errors_of_dimension_numbers(numbers, text):
    with pytest.raises(TypeError, match=text):
        lax.conv_dimension_numbers((1, 2, 3, 4), (1, 2, 3, 4), numbers)


@pytest.mark.parametrize("w, change, error, text", [
    ((4, 2, 3), {}, ValueError, "must equal the rhs input feature dimension size, but 3 // 1 != 2"),
    ((4, 3, 3, 3), {}, TypeError, "lhs and rhs ndim to be equal"),
    ((4, 3, 3), {"padding": "SAMEX"}, RuntimeError, "Unrecognized padding type"),
    ((4, 3, 3), {"padding": 2}, ValueError, "a string or a sequence of"),
    ((4, 3, 3), {"padding": [(0, 0)] * 2}, TypeError, "expected 1, got 2"),
    ((4, 3, 3), {"window_strides": (1, 1)}, ValueError, "same number of dimensions, but got 1 and 2"),
    ((4, 3, 3), {"window_strides": (0,), "padding": "VALID"}, TypeError, "window_strides must be positive"),
    ((4, 3, 3), {"lhs_dilation": (0,)}, TypeError, "dilations must be positive"),
    ((4, 3, 3), {"rhs_dilation": (1, 1)}, ValueError, "rhs_dilation must have the same number"),
    ((4, 3, 3), {"lhs_dilation": (2,), "padding": "SAME"}, ValueError, "String padding is not implemented"),
    ((4, 1, 3), {"feature_group_count": 3}, ValueError, "4 is not a multiple of 3"),
    ((3, 3, 3), {"batch_group_count": 2}, ValueError, "3 is not a multiple of 2"),
    ((4, 3, 3), {"batch_group_count": 3}, ValueError, "3 does not divide 2"),
    ((4, 3, 3), {"feature_group_count": 2}, ValueError, "2 does not divide 3"),
    ((4, 3, 3), {"feature_group_count": 0}, ValueError, "must be a positive integer, got 0"),
    ((6, 1, 3), {"feature_group_count": 3, "batch_group_count": 2}, ValueError, "At most one"),
])
def test_errors(w, change, error, text):
    arguments = {"window_strides": (1,), "padding": [(0, 0)]} | change
    with pytest.raises(error, match=text):
        lax.conv_general_dilated(np.ones((2, 3, 5), np.float32), np.ones(w, np.float32), **arguments)


def test_errors_of_dtypes_and_of_transposed_padding():
    x, w = np.ones((2, 3, 5), np.float32), np.ones((4, 3, 3), np.int32)
    with pytest.raises(TypeError, match="same dtypes, got float32, int32"):
        lax.conv(x, w, (1,), "SAME")
    with pytest.raises(TypeError, match="must not be narrower"):
        lax.conv(w, w, (1,), "SAME", preferred_element_type=np.int8)
    with pytest.raises(ValueError, match="conv_transpose: padding must be 'SAME' or 'VALID'"):
        lax.conv_transpose(x, np.ones((3, 5, 2), np.float32), (2,), "SAME_LOWER")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_gradients_agree_with_differences(case, rng, x64):
    x, w = (rng.standard_normal(shape) for shape in case[:2])
    fun = lambda a, k: lax.conv_general_dilated(a, k, *case[2:6], None, *case[6:])
    ct = rng.standard_normal(np.shape(fun(x, w)))
    value = lambda a, k: float((np.asarray(fun(a, k)) * ct).sum())
    dx, dw = rng.standard_normal(x.shape), rng.standard_normal(w.shape)
    gx, gw = vjp(fun, [x, w], ct)
    np.testing.assert_allclose((gx * dx).sum(), value(x + dx, w) - value(x, w), rtol=1e-8, atol=1e-8)
    np.testing.assert_allclose((gw * dw).sum(), value(x, w + dw) - value(x, w), rtol=1e-8, atol=1e-8)


def test_layouts_and_convolutions_of_the_default_one():
    assert lax.conv_general_permutations(("NHWC", "HWIO", "NHWC")) == ((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
    x, k = np.arange(24, dtype=np.float32).reshape(1, 2, 3, 4), np.ones((3, 2, 2, 2), np.float32)
    found = lax.conv_with_general_padding(x, k, (1, 2), [(1, 0), (0, 1)], (1, 1), (1, 2))
    np.testing.assert_array_equal(found, lax.conv_general_dilated(x, k, (1, 2), [(1, 0), (0, 1)], (1, 1), (1, 2)))


def test_zeros_like_array():
    zeros = lax.zeros_like_array(np.ones((2, 3), np.int16))
    assert zeros.dtype == np.int16 and zeros.tolist() == [[0] * 3] * 2


def test_an_empty_operand_gives_zeros_whatever_the_other_one_holds():
    window = np.full((1, 1, 1, 1), np.nan, np.float32)

    def padded(x, w):
        return lax.conv_general_dilated(x, w, (1, 1), ((0, 1), (0, 1)))
    for fun in (padded, nj.jit(padded)):
        np.testing.assert_array_equal(fun(np.zeros((1, 1, 1, 0), np.float32), window), np.zeros((1, 1, 2, 1), np.float32))
