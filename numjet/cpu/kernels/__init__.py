"""Kernels that compiled programs call by address.

Native kernels are extern "C" functions of the native core (`native/kernels/`); `numjet._native.kernel_address(name)` gives
their addresses. They hold no Python state, may run in any thread without the GIL, and never raise: they return a status, 0
for success. Their workspace comes from the buffer pool. Its size (see `workspace`) is the result of
`nj_X_bytes(threads, arguments of nj_X)`, or is measured by a call of the kernel without rows or matrices (`outer` or `batch`
0), which allocates the memory of one thread.

`nj_sort`: stable sort of rows, lexicographic in several keys

    int64_t nj_sort(int64_t num_operands, int64_t num_keys, const int64_t* codes,
                    char* const* ins, char* const* outs, int64_t outer, int64_t axis, int64_t inner,
                    const int64_t* in_strides, const int64_t* out_strides)

  All operands have the shape (outer, axis, inner) and are permuted along the middle axis in the same way: in the order of
  the first num_keys operands, of which the first is the most significant. `codes` gives each operand's dtype (DTYPE_CODES
  below). Strides are three byte counts per operand, for outer, axis and inner; null: all operands are C-contiguous.
  An operand may be sorted in place (outs[k] == ins[k] with equal strides); other overlap is not allowed.
  Order: numbers ascending; -0.0 equals 0.0; NaNs are equal to one another and come last; complex numbers by real, then
  imaginary part. Equal rows keep their order, bits included.
  Status: 1 out of memory, 2 bad argument (a code, num_keys or a negative extent), 3 more than 2**32 - 1 elements along
  the axis (with several operands only).
  Cost: n log n; rows of one plain number type use NumPy's vectorized sort, all others sort 64-bit words of key and
  position.
  nj_sort1, nj_sort2, nj_sort3(num_keys, outer, axis, inner, code..., in..., out...): the same for 1, 2, 3 contiguous
  operands, with single pointers for arguments, as compiled programs pass them.

`nj_top_k`: the greatest elements of rows

    int64_t nj_top_k(int64_t code, int64_t k, int64_t outer, int64_t axis, int64_t inner, const void* in,
                     void* values, int32_t* positions)

  The k greatest elements of every row along the middle axis of the shape (outer, axis, inner), in descending order, and
  their positions; the results have the shape (outer, k, inner). `code` is one of DTYPE_CODES, bool to float64.
  Order: floats totally, that is NaN, inf, ..., 0.0, -0.0, ..., -inf, NaN with a sign; equal elements by position.
  Status: 1 out of memory, 2 bad argument, 3 more than 2**31 - 1 elements along the axis.
  Cost: each row is read once and compared with the least of its k greatest elements so far; rows are shared among threads.

`nj_prefix`: running sums, products, maxima and minima of rows

    int64_t nj_prefix(int64_t kind, int64_t code, int64_t backwards, int64_t rows, int64_t length, const void* in, void* out)
    int64_t nj_prefix_in_place(int64_t kind, int64_t code, int64_t backwards, int64_t rows, int64_t length, void* data)

  Contiguous rows of `length` elements, each scanned forwards or backwards. `kind` and `code`: PREFIX_KINDS and PREFIX_CODES
  below; for complex numbers only "add". Integers wrap; NaN propagates.
  Floats are added in runs of 32768 elements, and inside of these by a tree: the bits depend only on `length`.
  Status: 1 for an unknown kind or code. Cost: memory is read and written once; rows, and runs of long rows, are shared among
  threads.

`nj_convolution`: convolutions of up to three spatial axes

    int64_t nj_convolution(int64_t code, int64_t interleaved, int64_t images, int64_t groups, int64_t channels,
                           int64_t features, in[3], out[3], window[3], stride[3], dilation[3], low[3],
                           in_image, in_group, in_channel, in_step[3], out_image, out_group, out_feature, out_step[3],
                           const void* in, const void* weights, void* out)

  All numbers are int64_t, arrays of three are three arguments: sizes of the operand, the result and the window along each
  spatial axis (1 for axes that are not there), and zeros in front of the operand; then, in elements, the strides of both arrays
  by image, group, channel or feature, and spatial axis. Channels and features are those of one group.
  weights: (groups, *window, channels, features), contiguous; with `interleaved`, (groups, window0, window2, window1, channels,
  features), and the last dilation must be 1: for windows whose lines are short.
  The dtypes and sums are those of `nj_gemm` (see products.py). Padding is multiplied, too: 0 * inf is NaN. The order of each
  sum depends only on the sizes. Status: 1 out of memory.

    int64_t nj_convolution_long(... the same up to out_step ..., w_group, w_channel, w_feature, w_step[3],
                                const void* in, const void* weights, void* out)

  The same for long windows and few places, of floats and complex numbers: `interleaved` is not looked at, and the weights have
  any strides. It takes up to 16 times the memory of the result.
"""
from __future__ import annotations

PREFIX_KINDS: dict[str, int] = {name: code for code, name in enumerate(("add", "mul", "max", "min"))}
"""Kinds of `nj_prefix`, in the order of native/kernels/prefix.h."""

DTYPE_CODES: dict[str, int] = {
    name: code
    for code, name in enumerate(
        ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float16", "bfloat16", "float32",
         "float64", "complex64", "complex128", "float8_e4m3fn", "float8_e5m2", "float8_e4m3b11fnuz", "float8_e4m3fnuz",
         "float8_e5m2fnuz", "float8_e4m3", "float8_e3m4", "float8_e8m0fnu", "int4", "uint4", "int2", "uint2")
    )
}
"""Codes of dtypes by name, in the order of native/kernels/dtypes.h."""

PREFIX_CODES: dict[str, int] = {name: DTYPE_CODES[name] for name in (
    "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float32", "float64", "complex64",
    "complex128")}
"""Codes of the dtypes that `nj_prefix` knows."""
