"""Wrong operands and parameters are refused before anything runs, by a message with the operation's name and the rule."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax


def ones(*shape):
    return np.ones(shape, np.float32)


X, KERNEL, ROWS = ones(1, 3, 8, 8), ones(4, 3, 3, 3), np.zeros((2, 1), np.int32)
TAKE = lax.GatherDimensionNumbers((1,), (0,), (0,))
PUT = lax.ScatterDimensionNumbers((1,), (0,), (0,))


def conv(strides=(1, 1), padding="SAME", **options):
    return lax.conv_general_dilated(X, KERNEL, strides, padding, **options)


CASES = [
    (lambda: lax.broadcast_in_dim(ones(2, 2), (2, 2), (0, 0)), TypeError, "broadcast_dimensions must not contain duplicates"),
    (lambda: lax.conv_general_dilated(ones(1, 1, 1), KERNEL, (1,), ((0, 0),), (1,), (1,), lax.ConvDimensionNumbers(
        (0, 1, 2), (0, 1, 2), (0, 1, 2))), ValueError, "lhs and rhs must have the same number of dimensions"),
    (lambda: lax.reduce_window(ones(1), 0.0, lambda x, y: [x + y], (1,)), ValueError, "must have the same tree structure"),
    (lambda: lax.reduce(ones(1), 0.0, lambda x, y: [x + y], (0,)), ValueError, "output must have the same tree structure"),
    (lambda: nj.eval_shape(lambda x: lax.top_k(x, 1), nj.ShapeDtypeStruct((2**31,), "int8")), ValueError, "will overflow"),
    (lambda: lax.dynamic_slice(ones(3, 4), (np.int32(1), np.int16(2)), (2, 2)), TypeError, "integers of the same type, got"),
    (lambda: lax.dynamic_update_slice(ones(3, 4), ones(2, 2), (np.int32(1), np.int16(2))), TypeError, "of the same type"),
    (lambda: lax.gather(ones(5, 3), ones(2, 1), TAKE, (1, 3)), ValueError, "gather: indices must have an integer type, got"),
    (lambda: lax.scatter(ones(5, 3), ones(2, 1), ones(2, 3), PUT), ValueError, "scatter: indices must have an integer type"),
    (lambda: lax.scatter(ones(5, 3), ROWS, ones(2, 4), PUT), TypeError, "scatter: Bounds of the window .* operand bound is 3"),
    (lambda: lax.scatter(ones(5, 3), ROWS, ones(3, 3), PUT), TypeError, "scatter: Bounds of the scatter dimensions"),
    (lambda: lax.scatter(ones(5, 3), ROWS, ones(2), PUT), TypeError, "Updates tensor must be of rank 2; got 1"),
    (lambda: lax.scatter_apply(ones(5, 3), ROWS, 3, PUT, update_shape=(2, 3)), TypeError, "scatter_apply: func must be"),
    (lambda: conv((0, 1)), TypeError, r"conv_general_dilated: All window_strides must be positive, got \(0, 1\)"),
    (lambda: conv((-1, 1), "VALID"), TypeError, "conv_general_dilated: All window_strides must be positive"),
    (lambda: conv((1,)), ValueError, "conv_general_dilated window and window_strides must have the same number"),
    (lambda: conv(padding="FULL"), RuntimeError, "conv_general_dilated: Unrecognized padding type"),
    (lambda: conv(padding=[(0, 0, 0), (0, 0)]), ValueError, "padding argument to conv_general_dilated should be"),
    (lambda: conv(padding=[(0, 0)]), TypeError, "conv_general_dilated: Wrong number of explicit pads: expected 2, got 1"),
    (lambda: conv(dimension_numbers=("NCH", "OIHW", "NCHW")), TypeError, r"conv_general_dilated dimension_numbers\[0\]"),
    (lambda: lax.conv_general_dilated(X, ones(4, 3, 3), (1,), "SAME"), TypeError, "conv_general_dilated requires lhs and rhs"),
    (lambda: lax.reduce_window(ones(4, 4), 0.0, lax.add, (2, 2), (1, 1), "FOO"), RuntimeError, "reduce_window: Unrecognized"),
    (lambda: lax.dot_general(ones(3, 3), ones(3, 3), ((1,), (0,))), TypeError, "dot_general: dimension_numbers must be"),
    (lambda: lax.dot_general(np.ones(3, np.int32), np.ones(3, np.int32), (((0,), (0,)), ((), ())),
                             preferred_element_type=np.int8), TypeError, "dot_general: `preferred_element_type` must not"),
    (lambda: lax.concatenate([ones(2, 3), ones(3, 3)], 1), TypeError, "concatenate: Cannot concatenate"),
    (lambda: lax.split(ones(5), (2, 2)), ValueError, "split: Sum of sizes 4"),
    (lambda: lax.split(ones(5), (5,), 2), ValueError, "split: axis 2 is out of bounds"),
    (lambda: lax.pad(ones(2, 3), np.float32(0), [(0, 0, 0)]), ValueError, "pad: length of padding_config"),
    (lambda: lax.tile(ones(2), (2, 2)), TypeError, "tile: reps length"),
    (lambda: lax.sort(ones(3), dimension=2), ValueError, "sort: axis 2 is out of bounds"),
    (lambda: lax.top_k(ones(3), 1, axis=2), ValueError, "top_k: axis 2 is out of bounds"),
    (lambda: lax.squeeze(ones(2, 1), (5,)), ValueError, "squeeze: axis 5 is out of bounds"),
    (lambda: lax.expand_dims(ones(2), (5,)), ValueError, "expand_dims: axis 5 is out of bounds"),
    (lambda: lax.fft(ones(4), "FFTX", (4,)), ValueError, "fft: Unknown FFT type"),
    (lambda: lax.dynamic_slice(ones(4), (0,), (5,)), TypeError, "dynamic_slice slice_sizes must be less"),
    (lambda: jnp.flip(ones(2), "x"), TypeError, "axis must be an integer, got 'x' of type str"),
    (lambda: jnp.argmax(ones(2), "x"), TypeError, "argmax: axis must be an integer, got 'x' of type str"),
    (lambda: jnp.transpose(ones(2, 3), -1), TypeError, "axes must be a sequence of integers, got -1"),
    (lambda: jnp.linspace(0, 1, "x"), TypeError, "a size must be an integer, got 'x' of type str"),
    (lambda: jnp.split(ones(4), None), TypeError, "jnp.split: a number of parts or a border must be an integer, got None"),
    (lambda: jnp.zeros(4, "x"), TypeError, "expected a dtype, its name, or a class of numbers, got 'x': data type 'x'"),
    (lambda: lax.linalg.cholesky(ones(2, 3)), ValueError, "cholesky must be a square matrix.*there are qr"),
]


@pytest.mark.parametrize("call, error, message", CASES)
def test_the_message_names_the_operation_and_the_rule(call, error, message):
    with pytest.raises(error, match=message):
        call()
    with pytest.raises(error, match=message):
        nj.eval_shape(call)
