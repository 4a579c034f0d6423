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
    (lambda: lax.reduce(ones(1), 0.0, lambda x, y: [x + y, x], (0,)), ValueError, "output must have as many leaves"),
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
    (lambda: jnp.split(ones(4), None), TypeError, "jnp.split: a number of parts must be an integer, got None"),
    (lambda: jnp.zeros(4, "x"), TypeError, "expected a dtype, its name, or a class of numbers, got 'x': data type 'x'"),
    (lambda: lax.linalg.cholesky(ones(2, 3)), ValueError, "cholesky must be a square matrix.*there are qr"),
    (lambda: jnp.piecewise(ones(3), -1, [1.0]), TypeError, "piecewise: condlist must be a sequence of conditions, got -1"),
    (lambda: jnp.piecewise(ones(3), [ones(3) > 1], None), TypeError, "piecewise: funclist must be a sequence of functions"),
    (lambda: jnp.polyval(7, ones(3)), IndexError, "jnp.polyval: p must have an axis"),
    (lambda: jnp.polyval(ones(3), 2.0, unroll="x"), TypeError, "jnp.polyval: unroll must be an integer, got 'x'"),
    (lambda: jnp.base_repr(object()), TypeError, "base_repr requires ndarray or scalar arguments, got <class 'object'>"),
    (lambda: jnp.base_repr(7, "x"), TypeError, "base_repr: base must be an integer, got 'x'"),
    (lambda: jnp.binary_repr(7, "x"), TypeError, "binary_repr: width must be an integer, got 'x'"),
    (lambda: jnp.diagonal(ones(2, 3), "x"), TypeError, "diagonal: offset must be an integer, got 'x'"),
    (lambda: jnp.diagonal(ones(2, 3), 1.5), TypeError, "diagonal: offset must be an integer, got 1.5"),
    (lambda: jnp.trace(ones(2, 3), [1, 2]), TypeError, r"trace: offset must be an integer, got \[1, 2\]"),
    (lambda: jnp.einsum(ones(2), jnp.ones(2)), TypeError, "einsum: expected subscripts, as in "),
    (lambda: jnp.einsum(7, jnp.ones(2)), TypeError, "einsum: expected subscripts, as in "),
    (lambda: jnp.convolve(ones(2), ones(2), jnp.ones(2)), ValueError, "convolve: mode must be one of .* got "),
    (lambda: jnp.correlate(ones(2), ones(2), [1]), ValueError, r"correlate: mode must be one of .* got \[1\]"),
    (lambda: jnp.apply_along_axis(-1, 0, ones(2)), TypeError, "apply_along_axis: func1d must be a function, got -1"),
    (lambda: jnp.apply_over_axes(None, ones(2), 0), TypeError, "apply_over_axes: func must be a function, got None"),
    (lambda: lax.round(ones(2), ones(2)), ValueError, "lax.round: rounding_method: array.* is not a valid RoundingMethod"),
    (lambda: jnp.repeat(ones(3), ones(3)), TypeError, "jnp.repeat: repeats must be integers, got float32"),
    (lambda: jnp.repeat(ones(3), 1.5), TypeError, "jnp.repeat: repeats must be integers, got float64"),
    (lambda: jnp.repeat(ones(3), [1, 2]), ValueError, r"repeat: operands could not be broadcast together with shapes \(3,\)"),
    (lambda: jnp.repeat(ones(3), 2, total_repeat_length=-1), ValueError, "jnp.repeat: expected total_repeat_length >= 0"),
]


@pytest.mark.parametrize("call, error, message", CASES)
def test_the_message_names_the_operation_and_the_rule(call, error, message):
    with pytest.raises(error, match=message):
        call()
    with pytest.raises(error, match=message):
        nj.eval_shape(call)


@pytest.mark.parametrize("powers", [lambda x: jnp.vander(x, 10**12), lambda x: jnp.polyfit(x, x, 10**12)])
def test_more_powers_than_memory_holds_are_refused_at_once(powers):
    with pytest.raises(MemoryError, match=r"could not allocate|Unable to allocate"):
        powers(ones(2))


def test_many_powers_are_those_of_numpy():
    x = np.array([-1, 2, 0], np.int32)
    known = np.vander(x, 60, increasing=True).astype(np.int32)
    np.testing.assert_array_equal(jnp.vander(x, 70, increasing=True)[:, :60], known)
    assert nj.eval_shape(lambda x: jnp.vander(x, 10**9), x).shape == (3, 10**9)


def test_a_trace_takes_a_traced_offset():
    a = np.arange(24.0, dtype=np.float32).reshape(2, 3, 4)
    offsets = np.arange(-4, 5)
    got = nj.vmap(lambda k: nj.jit(jnp.trace, static_argnums=(2, 3))(a, k, 2, 1))(offsets)
    np.testing.assert_array_equal(got, [np.trace(a, k, 2, 1) for k in offsets])
