"""Convolutions: the record conv_general_dilated.

With batch n, groups g, and positions i of the result:
    out[n, g*Og + o, i] = sum over c, k of lhs[n, g*Cg + c, i * stride + k * rhs_dilation] * rhs[g*Og + o, c, k]
where lhs is dilated and padded before. The compiler calls kernels that read the rows of lhs where they lie
(`conv_windows.py`). For the shapes and dtypes that it does not take, and in the reference, the patches lhs[n, g, c,
i * stride + k * dilation] are made and multiplied with the kernel as matrices (Chellapilla, Puri, Simard, "High performance
convolutional neural networks for document processing", 2006). Sums of few terms are written out in place, and convolutions
of arrays with gaps are cut into their phases (`conv_phases.py`).
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import Op, Samples, Undefined, lookup
from numjet.core.trace import aval_of
from numjet.core.traits import SUMS_PRODUCTS
from numjet.foundation import dtypes
from numjet.lax.axes import Ints
from numjet.lax.contraction import conv_phases, conv_windows
from numjet.lax.contraction.conv_direct import Span, regions, write
from numjet.lax.contraction.conv_shapes import ConvDimensionNumbers, arranged, positive, spatial_count
from numjet.lax.contraction.dot import computed_in, result_dtype
from numjet.lax.contraction.dot_algorithms import precision_attributes
from numjet.lax.contraction.precision import CanonicalPrecision
from numjet.lax.elementwise.convert import as_dtype
from numjet.lax.operands import converted
from numjet.lax.reduction.window_shapes import Pads, Windows, dilated
from numjet.lax.shape.rearrange import reshaped, rev_p, transpose_p
from numjet.lax.tangent import bilinear, zeros_like_aval
from numjet.lax.templates import kind_of, moveaxis

PARAMS = ("window_strides", "padding", "lhs_dilation", "rhs_dilation", "dimension_numbers", "feature_group_count",
          "batch_group_count", "precision", "preferred_element_type")
NARROW = 8  # rows or columns of a matrix for which the library's product does not pay
BLOCKED = 1 << 22     # bytes of patches that are made by blocks
BLOCK = 1 << 19       # bytes of a block: half of a core's second cache, of which the product reads the rest
WIDE = 96             # columns from which a block is worth a product of its own, if it is not larger than four such blocks


# -------------------------------------------------------------------------------------------- shapes

def _abstract(lhs: ShapedArray, rhs: ShapedArray, *, window_strides: Ints, padding: Pads, lhs_dilation: Ints,
              rhs_dilation: Ints, dimension_numbers: ConvDimensionNumbers, feature_group_count: int,
              batch_group_count: int, precision: CanonicalPrecision,
              preferred_element_type: np.dtype | None) -> ShapedArray:
    if lhs.dtype != rhs.dtype:
        raise TypeError("lax.conv_general_dilated requires arguments to have the same dtypes, got "
                        f"{lhs.dtype.name}, {rhs.dtype.name}.")
    if kind_of(lhs.dtype) not in "biufc":
        raise TypeError(f"conv_general_dilated requires numbers or bools, got dtype {dtypes.long_name(lhs.dtype)}.")
    numbers = dimension_numbers
    _check_groups(lhs, rhs, numbers, positive("feature_group_count", feature_group_count),
                  positive("batch_group_count", batch_group_count))
    kernel = tuple(rhs.shape[d] for d in numbers.rhs_spec[2:])
    for what, values in (("window_strides", window_strides), ("padding", padding), ("lhs_dilation", lhs_dilation),
                         ("rhs_dilation", rhs_dilation)):
        if len(values) != len(kernel):
            raise ValueError(f"conv_general_dilated window and {what} must have the same number of dimensions, "
                             f"but got {len(kernel)} and {len(values)}")
    if any(s <= 0 for s in window_strides):
        raise TypeError(f"All window_strides must be positive, got {window_strides}.")
    if any(d <= 0 for d in (*lhs_dilation, *rhs_dilation)):
        raise TypeError("All dilations must be positive, got "
                        f"{lhs_dilation if any(d <= 0 for d in lhs_dilation) else rhs_dilation}.")
    spatial = spatial_count([lhs.shape[d] for d in numbers.lhs_spec[2:]], kernel, window_strides, padding,
                            lhs_dilation, rhs_dilation)
    shape = (lhs.shape[numbers.lhs_spec[0]] // batch_group_count, rhs.shape[numbers.rhs_spec[0]], *spatial)
    return ShapedArray(arranged(shape, numbers.out_spec), result_dtype(lhs.dtype, rhs.dtype, preferred_element_type),
                       lhs.weak_type and rhs.weak_type)


def _check_groups(lhs: ShapedArray, rhs: ShapedArray, numbers: ConvDimensionNumbers, features: int, batches: int) -> None:
    if lhs.ndim != rhs.ndim:
        raise ValueError(f"conv_general_dilated lhs and rhs must have the same number of dimensions, got {lhs.ndim} and "
                         f"{rhs.ndim}.")
    if features > 1 and batches > 1:
        raise ValueError("At most one of batch_group_count and feature_group_count may be > 1, got "
                         f"{batches} and {features}.")
    batch, channels = (lhs.shape[d] for d in numbers.lhs_spec[:2])
    outputs, inputs = (rhs.shape[d] for d in numbers.rhs_spec[:2])
    if batch % batches:
        raise ValueError("conv_general_dilated batch_group_count must divide lhs batch dimension size, "
                         f"but {batches} does not divide {batch}.")
    if channels % features:
        raise ValueError("conv_general_dilated feature_group_count must divide lhs feature dimension size, "
                         f"but {features} does not divide {channels}.")
    for what, groups in (("feature", features), ("batch", batches)):
        if outputs % groups:
            raise ValueError("conv_general_dilated rhs output feature dimension size must be a multiple of "
                             f"{what}_group_count, but {outputs} is not a multiple of {groups}.")
    if channels // features != inputs:
        raise ValueError("conv_general_dilated lhs feature dimension size divided by feature_group_count must equal the "
                         f"rhs input feature dimension size, but {channels} // {features} != {inputs}.")


class _Sizes:
    """The sizes of one convolution, batch groups seen as feature groups: lhs is (g, n, c, *spatial)."""

    def __init__(self, lhs: Ints, rhs: Ints, params: dict[str, Any]):
        self.numbers: ConvDimensionNumbers = params["dimension_numbers"]
        self.batch_groups = params["batch_group_count"]
        self.groups = self.batch_groups * params["feature_group_count"]
        self.n = lhs[self.numbers.lhs_spec[0]] // self.batch_groups
        outputs, self.c, *kernel = (rhs[d] for d in self.numbers.rhs_spec)
        self.o = outputs // self.groups
        self.kernel = tuple(kernel)
        self.strides, self.dilation = params["window_strides"], params["rhs_dilation"]
        self.lhs_dilation, self.padding = params["lhs_dilation"], params["padding"]
        self.spatial = tuple(lhs[d] for d in self.numbers.lhs_spec[2:])
        self.out = spatial_count(self.spatial, self.kernel, self.strides, self.padding, self.lhs_dilation, self.dilation)
        self.channels_last = self.numbers.out_spec[1] == len(lhs) - 1

    @property
    def split_lhs(self) -> Ints:
        """lhs as (n, channels, *spatial), with the axis of the groups split off."""
        if self.batch_groups > 1:
            return (self.groups, self.n, self.c)
        return (self.n, self.groups, self.c)

    @property
    def out_shape(self) -> Ints:
        return arranged((self.n, self.groups * self.o, *self.out), self.numbers.out_spec)


# -------------------------------------------------------------------------------------------- evaluation

def _eager(lhs: np.ndarray, rhs: np.ndarray, *, precision: CanonicalPrecision, preferred_element_type: np.dtype | None,
           **params: Any) -> np.ndarray:
    z = _Sizes(lhs.shape, rhs.shape, params)
    if not lhs.size or not rhs.size:   # zeros, whatever the other one holds, as in XLA
        return np.zeros(z.out_shape, result_dtype(lhs.dtype, rhs.dtype, preferred_element_type))
    x = lhs.transpose(z.numbers.lhs_spec)
    windows = Windows(x.shape, (1, 1, *z.kernel), (1, 1, *z.strides), ((0, 0), (0, 0), *z.padding),
                      (1, 1, *z.lhs_dilation), (1, 1, *z.dilation))
    view = windows.view(x, np.zeros((), x.dtype)).reshape(*z.split_lhs, *z.out, *z.kernel)
    rank = len(z.kernel)
    group, batch = (0, 1) if z.batch_groups > 1 else (1, 0)
    spatial, offsets = range(3, 3 + rank), range(3 + rank, 3 + 2 * rank)
    patches = view.transpose(group, batch, *spatial, 2, *offsets).reshape(z.groups, z.n, *z.out, z.c, *z.kernel)
    kernel = rhs.transpose(z.numbers.rhs_spec).reshape(z.groups, z.o, z.c, *z.kernel)
    out = lookup("dot_general").eager(
        patches, kernel, dimension_numbers=_contraction(rank), precision=precision,
        preferred_element_type=preferred_element_type)  # (g, n, *out, o)
    out = out.transpose(1, 0, 2 + rank, *range(2, 2 + rank)).reshape(z.n, z.groups * z.o, *z.out)
    return np.ascontiguousarray(out.transpose(np.argsort(z.numbers.out_spec)))


def _contraction(rank: int) -> Any:
    """dot_general of patches (g, n, *out, c, *kernel) and kernel (g, o, c, *kernel)."""
    return (tuple(range(2 + rank, 3 + 2 * rank)), tuple(range(2, 3 + rank))), ((0,), (0,))


def _cpu(b: Any, lhs: Any, rhs: Any, *, precision: CanonicalPrecision, preferred_element_type: np.dtype | None,
         **params: Any) -> Any:
    z = _Sizes(lhs.shape, rhs.shape, params)
    wide = computed_in(lhs.dtype, rhs.dtype, preferred_element_type, precision)
    out_dtype = result_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
    terms = z.c * prod(z.kernel)
    if 0 in z.out_shape or terms == 0 or 0 in lhs.shape:
        return b.compute(z.out_shape, out_dtype, lambda *i: b.const(0, out_dtype))
    gaps = conv_phases.gaps_of(z.lhs_dilation, z.strides, z.dilation)
    if conv_phases.worth(gaps):
        stored = b.materialize(lhs)

        def convolve(kernel: Any, padding: Pads, lhs_dilation: Ints) -> Any:
            return _cpu(b, stored, kernel, precision=precision, preferred_element_type=preferred_element_type,
                        **{**params, "padding": padding, "lhs_dilation": lhs_dilation})
        return conv_phases.by_phases(b, b.materialize(rhs), gaps, z, convolve, out_dtype)
    narrow = wide.kind != "b" and (z.o < NARROW or terms < NARROW or z.n * prod(z.out) < NARROW)
    found = _regions(z) if narrow else None
    if found is not None:
        loops = [(z.n, z.groups * z.o, *(span.stop - span.start for span in region)) for region in found]
        if not b.may_write_out(terms * sum(map(b.copies, loops)), prod(z.out_shape)):
            found = None
    if conv_windows.suits(z, lhs.dtype, wide) and (not narrow or conv_windows.pays(z, found is not None)):
        return converted(b, _by_windows(b, lhs, rhs, z), out_dtype)
    if conv_windows.suits_long(z, lhs.dtype, wide) and not narrow:
        operand, low = _ungapped(b, lhs, z)
        return converted(b, conv_windows.convolve_long(b, operand, b.materialize(rhs), z, low), out_dtype)
    if found is not None:
        return converted(b, _by_regions(b, b.materialize(lhs), b.materialize(rhs), z, wide, found), out_dtype)
    padded = _padded(b, lhs, z)
    if narrow:
        return converted(b, _summed(b, padded, b.materialize(rhs), z, wide), out_dtype)
    product = _product(b, padded, rhs, z, {"precision": precision, "preferred_element_type": preferred_element_type})
    return b.reshape(product, z.out_shape)


def _by_windows(b: Any, lhs: Any, rhs: Any, z: _Sizes) -> Any:
    """By the kernel for windows that are read where they lie."""
    order = [*range(len(z.kernel))]
    if conv_windows.interleaved(z):
        order[-2:] = order[:-3:-1]
    read = lambda g, *r: b.read(rhs, *arranged((g * z.o + r[-1], r[-2], *(r[d] for d in order)), z.numbers.rhs_spec))
    weights = b.compute((z.groups, *(z.kernel[d] for d in order), z.c, z.o), rhs.dtype, read, moves=True, reads=(rhs,))
    operand, low = _ungapped(b, lhs, z)
    return conv_windows.convolve(b, operand, b.materialize(weights), z, low)


def _ungapped(b: Any, lhs: Any, z: _Sizes) -> tuple[Any, Ints]:
    """lhs in memory, and the zeros that are still missing in front of it: kernels pad as they read, but make no gaps."""
    if any(d != 1 for d in z.lhs_dilation):
        return _padded(b, lhs, z), (0,) * len(z.kernel)
    return b.materialize(lhs), tuple(low for low, _ in z.padding)


def _padded(b: Any, lhs: Any, z: _Sizes) -> Any:
    """lhs with its gaps and its padding, stored, so that patches are read without a condition."""
    config: list[Any] = [(0, 0, 0)] * lhs.ndim
    for d, (low, high), base in zip(z.numbers.lhs_spec[2:], z.padding, z.lhs_dilation, strict=True):
        config[d] = (low, high, base - 1)
    if any(c != (0, 0, 0) for c in config):
        zero = b.compute((), lhs.dtype, lambda: b.const(0, lhs.dtype))
        lhs = lookup("pad").cpu(b, lhs, zero, padding_config=tuple(config))
    return b.materialize(lhs)


def _lhs_index(z: _Sizes, g: Any, n: Any, c: Any, i: Sequence[Any], k: Sequence[Any]) -> tuple[Any, ...]:
    """The index in the padded lhs of a patch's element."""
    batch, channel = (g * z.n + n, c) if z.batch_groups > 1 else (n, g * z.c + c)
    spatial = [p * s + q * d for p, q, s, d in zip(i, k, z.strides, z.dilation, strict=True)]
    return arranged((batch, channel, *spatial), z.numbers.lhs_spec)


def _summed(b: Any, lhs: Any, rhs: Any, z: _Sizes, wide: np.dtype) -> Any:
    """Each element of the result by a sum of its own."""
    spec = z.numbers.out_spec

    def step(index: Sequence[Any], r: Sequence[Any], total: Any) -> list[Any]:
        n, feature, *i = (index[d] for d in spec)
        c, *k = r
        g = 0 if z.groups == 1 else feature if z.o == 1 else feature // z.o
        x = b.convert(b.read(lhs, *_lhs_index(z, g, n, c, i, k)), wide)
        y = b.convert(b.read(rhs, *arranged((feature, c, *k), z.numbers.rhs_spec)), wide)
        return [b.prim("fma", x, y, total) if wide.kind == "f" else b.add(total, b.mul(x, y))]
    return b.fold(z.out_shape, (z.c, *z.kernel), [b.const(0, wide)], step)[0]


def _regions(z: _Sizes) -> list[tuple[Span, ...]] | None:
    """The regions of a padded convolution of few terms per element, one group or one output per group."""
    unpadded = all(low <= 0 and high <= 0 for low, high in z.padding)
    if unpadded or any(d != 1 for d in z.lhs_dilation) or 1 not in (z.groups, z.o):
        return None
    lows = [low for low, _ in z.padding]
    return regions(list(zip(z.spatial, z.out, z.kernel, z.strides, lows, z.dilation, strict=True)), z.c)


def _by_regions(b: Any, lhs: Any, rhs: Any, z: _Sizes, wide: np.dtype, found: Sequence[Sequence[Span]]) -> Any:
    """Each element of the result by a sum of its own, terms written out, of an operand that is not padded."""
    out, zero = b.empty(z.out_shape, wide), b.const(0, wide)

    def term(index: Sequence[Any], r: Sequence[int], inside: bool, total: Any) -> Any:
        n, feature, *i = index
        c, *k = r
        source = [p * s - low + q * d for p, q, s, d, (low, _) in zip(i, k, z.strides, z.dilation, z.padding, strict=True)]
        g = 0 if z.groups == 1 else feature
        batch, channel = (g * z.n + n, c) if z.batch_groups > 1 else (n, g * z.c + c)
        x = b.convert(b.read(lhs, *arranged((batch, channel, *source), z.numbers.lhs_spec)), wide) if inside else zero
        y = b.convert(b.read(rhs, *arranged((feature, c, *k), z.numbers.rhs_spec)), wide)
        return b.prim("fma", x, y, total) if wide.kind == "f" else b.add(total, b.mul(x, y))
    locate = lambda index: arranged(index, z.numbers.out_spec)
    for region in found:
        write(b, out, region, (z.n, z.groups * z.o), locate, term, z.c, zero)
    return out


class _Matrices:
    """The operands of a convolution as a product of matrices, of which the left one has the rows that come first in the
    result. lhs: padded, in memory."""

    def __init__(self, b: Any, lhs: Any, rhs: Any, z: _Sizes, options: dict[str, Any]):
        self.b, self.lhs, self.z = b, lhs, z
        self.rank = len(z.kernel)
        order = z.numbers.rhs_spec[2:]  # the kernel's own order of axes, so that it need not be rearranged
        self.kernel_first = z.numbers.rhs_spec[1] > min(order, default=-1)
        self.inner = (*z.kernel, z.c) if self.kernel_first else (z.c, *z.kernel)
        self.options = options
        if z.channels_last:
            weights = b.compute((z.groups, *self.inner, z.o), rhs.dtype, lambda g, *r: self._weight(rhs, g, r[-1], r[:-1]),
                                moves=True, reads=(rhs,))
        else:
            weights = b.compute((z.groups, z.o, *self.inner), rhs.dtype, lambda g, o, *r: self._weight(rhs, g, o, r),
                                moves=True, reads=(rhs,))
        self.weights = b.materialize(weights)

    def _split(self, r: Sequence[Any]) -> tuple[Any, Sequence[Any]]:
        """Channel and tap of an index of `inner`."""
        return (r[-1], r[:-1]) if self.kernel_first else (r[0], r[1:])

    def _weight(self, rhs: Any, g: Any, o: Any, r: Sequence[Any]) -> Any:
        c, k = self._split(r)
        return self.b.read(rhs, *arranged((g * self.z.o + o, c, *k), self.z.numbers.rhs_spec))

    def _patch(self, g: Any, n: Any, i: Sequence[Any], r: Sequence[Any]) -> Any:
        c, k = self._split(r)
        return self.b.read(self.lhs, *_lhs_index(self.z, g, n, c, i, k))

    def product(self, size: Ints, position: Callable[[Sequence[Any]], tuple[Any, Sequence[Any]]]) -> Any:
        """The part of the result of shape (groups, outputs, *size), or (groups, *size, outputs) with channels last; an index
        of `size` means the example and the place that `position` gives."""
        rank, inner = len(size), self.inner
        dot = lookup("dot_general").cpu
        if self.z.channels_last:
            patches = self.b.compute((self.z.groups, *size, *inner), self.lhs.dtype,
                                     lambda g, *r: self._patch(g, *position(r[:rank]), r[rank:]), moves=True, reads=(self.lhs,))
            numbers = ((tuple(range(1 + rank, 1 + rank + len(inner))), tuple(range(1, 1 + len(inner)))), ((0,), (0,)))
            return dot(self.b, self.b.materialize(patches), self.weights, dimension_numbers=numbers, **self.options)
        patches = self.b.compute((self.z.groups, *inner, *size), self.lhs.dtype,
                                 lambda g, *r: self._patch(g, *position(r[len(inner):]), r[:len(inner)]), moves=True,
                                 reads=(self.lhs,))
        numbers = ((tuple(range(2, 2 + len(inner))), tuple(range(1, 1 + len(inner)))), ((0,), (0,)))
        return dot(self.b, self.weights, self.b.materialize(patches), dimension_numbers=numbers, **self.options)


def _product(b: Any, lhs: Any, rhs: Any, z: _Sizes, options: dict[str, Any]) -> Any:
    """By a product of matrices; where the matrix of patches is large, by one for each of its blocks, which stays in a core's
    cache between its making and its use."""
    matrices = _Matrices(b, lhs, rhs, z, options)
    rows = _rows_of_blocks(z, lhs.dtype.itemsize)
    if rows is not None:
        return _by_blocks(b, matrices, z, rows)
    rank = len(z.kernel)
    out = matrices.product((z.n, *z.out), lambda index: (index[0], index[1:]))
    if z.channels_last:
        roles = (1, (0, 2 + rank), *range(2, 2 + rank))  # out is (g, n, *out, o)
    else:
        roles = (2, (0, 1), *range(3, 3 + rank))  # out is (g, o, n, *out)
    flat = [a for role in arranged(roles, z.numbers.out_spec) for a in (role if isinstance(role, tuple) else (role,))]
    return out if flat == sorted(flat) else b.transpose(out, flat)


def _rows_of_blocks(z: _Sizes, itemsize: int) -> int | None:
    """How many rows of the result, along its first spatial axis, a block of patches has; None where blocks don't pay: where all
    patches fit into a cache, or a block would be narrow."""
    row = z.groups * z.c * prod(z.kernel) * prod(z.out[1:]) * itemsize
    if not z.out or z.n * z.out[0] * row <= BLOCKED:
        return None
    wanted = max(1, BLOCK // row, -(-WIDE // prod(z.out[1:])))
    rows = min((r for r in range(1, z.out[0] + 1) if z.out[0] % r == 0), key=lambda r: abs(r - wanted))
    return rows if rows * prod(z.out[1:]) >= WIDE // 2 and rows * row <= 4 * BLOCK else None


def _by_blocks(b: Any, matrices: _Matrices, z: _Sizes, rows: int) -> Any:
    """The result block by block, in any order."""
    out = b.empty(z.out_shape, result_dtype(matrices.lhs.dtype, matrices.weights.dtype,
                                            matrices.options["preferred_element_type"]))
    size = (rows, *z.out[1:])
    blocks = z.out[0] // rows

    def block(count: Any) -> None:
        n, first = count // blocks, (count % blocks) * rows
        found = matrices.product(size, lambda index: (n, (first + index[0], *index[1:])))

        def store(g: Any, o: Any, *index: Any) -> None:
            value = b.read(found, g, *index, o) if z.channels_last else b.read(found, g, o, *index)
            b.store(out, arranged((n, g * z.o + o, first + index[0], *index[1:]), z.numbers.out_spec), value)
        if z.channels_last:
            b.loop((z.groups, *size, z.o), lambda g, *r: store(g, r[-1], *r[:-1]))
        else:
            b.loop((z.groups, z.o, *size), store)
    b.chunks(z.n * blocks, block)
    return out


def _hlo(b: Any, lhs: Any, rhs: Any, *, precision: CanonicalPrecision, preferred_element_type: np.dtype | None,
         **params: Any) -> Any:
    z = _Sizes(lhs.shape, rhs.shape, params)
    out_dtype = result_dtype(lhs.dtype, rhs.dtype, preferred_element_type)
    wide = computed_in(lhs.dtype, rhs.dtype, preferred_element_type, precision)
    if 0 in z.out_shape or 0 in lhs.shape or 0 in rhs.shape:
        return b.full(z.out_shape, 0, out_dtype)
    if b.platform != "cpu" and out_dtype == lhs.dtype and kind_of(wide) == "f":
        wide = out_dtype  # accelerators sum halves in float32 themselves
    elif wide.kind == "b" or not dtypes.is_numpys(wide):
        wide = np.dtype(np.int32)
    asked = precision if type(precision) is tuple else None
    attrs = {"window_strides": z.strides, "padding": z.padding or "dense<> : tensor<0x2xi64>",
             "lhs_dilation": z.lhs_dilation, "rhs_dilation": z.dilation, "dimension_numbers": _numbers(z.numbers),
             "feature_group_count": params["feature_group_count"], "batch_group_count": z.batch_groups,
             **precision_attributes(asked, wide, b.platform)}
    operands = [b.convert(lhs, wide), b.convert(rhs, wide)]
    out = b.op("stablehlo.convolution", operands, ShapedArray(z.out_shape, wide), attrs=attrs)
    return b.convert(out, out_dtype)


def _numbers(numbers: ConvDimensionNumbers) -> str:
    """As StableHLO writes them."""
    parts = []
    for side, spec, first, second in (("input", numbers.lhs_spec, "batch", "feature"),
                                      ("kernel", numbers.rhs_spec, "output_feature", "input_feature"),
                                      ("output", numbers.out_spec, "batch", "feature")):
        parts += [f"{side}_{first}_dimension = {spec[0]}", f"{side}_{second}_dimension = {spec[1]}",
                  f"{side}_spatial_dimensions = {list(spec[2:])}"]
    return f"#stablehlo.conv<raw {', '.join(parts)}>"


# -------------------------------------------------------------------------------------------- derivatives

def _transpose(ct: Any, lhs: Any, rhs: Any, **params: Any) -> list[Any]:
    unknown = lhs if isinstance(lhs, Undefined) else rhs
    known = rhs if unknown is lhs else lhs
    if 0 in aval_of(ct).shape or 0 in unknown.shape or 0 in aval_of(known).shape:
        out = zeros_like_aval(unknown.aval)
    else:
        rule = _transpose_lhs if unknown is lhs else _transpose_rhs
        dtype = aval_of(ct).dtype
        out = as_dtype(rule(ct, as_dtype(known, dtype), unknown.shape, **params), unknown.aval.dtype)
    return [out, None] if unknown is lhs else [None, out]


def _geometry(lhs: Ints, rhs: Ints, out: Ints, numbers: ConvDimensionNumbers, params: dict[str, Any]) -> list[tuple]:
    """Per spatial axis: sizes of lhs (dilated), kernel, result, then stride, low padding, both dilations."""
    lhs_spec, rhs_spec, out_spec = (s[2:] for s in numbers)
    return [(dilated(lhs[p], base), rhs[q], out[r], s, low, base, d) for p, q, r, s, (low, _), base, d in zip(
        lhs_spec, rhs_spec, out_spec, params["window_strides"], params["padding"], params["lhs_dilation"],
        params["rhs_dilation"], strict=True)]


def _transpose_lhs(ct: Any, rhs: Any, shape: Ints, *, dimension_numbers: ConvDimensionNumbers,
                   feature_group_count: int, batch_group_count: int, **params: Any) -> Any:
    """A convolution of the cotangent with the reversed kernel, whose input and output features are exchanged."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = feature_group_count * batch_group_count
    pads = []
    for n, k, m, s, low, _, d in _geometry(shape, aval_of(rhs).shape, aval_of(ct).shape, dimension_numbers, params):
        span = dilated(k, d)
        before = span - 1 - low
        pads.append((before, n + span - 1 - dilated(m, s) - before))
    kernel = rev_p.bind(rhs, dimensions=tuple(rhs_spec[2:]))
    if groups > 1:
        kernel = _regrouped(kernel, rhs_spec[0], rhs_spec[1], groups)
    out = conv_general_dilated_p.bind(
        ct, kernel, window_strides=params["lhs_dilation"], padding=tuple(pads), lhs_dilation=params["window_strides"],
        rhs_dilation=params["rhs_dilation"], feature_group_count=groups, batch_group_count=1,
        dimension_numbers=ConvDimensionNumbers(out_spec, (rhs_spec[1], rhs_spec[0], *rhs_spec[2:]), lhs_spec),
        precision=params["precision"], preferred_element_type=params["preferred_element_type"])
    return _regrouped(out, lhs_spec[1], lhs_spec[0], batch_group_count) if batch_group_count > 1 else out


def _regrouped(x: Any, source: int, target: int, groups: int) -> Any:
    """Moves the groups, the outer part of one axis, to be the outer part of another."""
    shape = aval_of(x).shape
    split = reshaped(x, (*shape[:source], groups, shape[source] // groups, *shape[source + 1:]))
    order = [d for d in range(len(shape) + 1) if d != source]
    order.insert(order.index(target + (target > source)), source)
    merged = [n // groups if d == source else n * groups if d == target else n for d, n in enumerate(shape)]
    return reshaped(transpose_p.bind(split, permutation=tuple(order)), tuple(merged))


def _transpose_rhs(ct: Any, lhs: Any, shape: Ints, *, dimension_numbers: ConvDimensionNumbers,
                   feature_group_count: int, batch_group_count: int, **params: Any) -> Any:
    """A convolution of lhs with the cotangent, batch and features exchanged, strides for dilations."""
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    pads = []
    for n, k, m, s, low, _, d in _geometry(aval_of(lhs).shape, shape, aval_of(ct).shape, dimension_numbers, params):
        pads.append((low, dilated(k, d) - 1 + dilated(m, s) - n - low))
    swapped = lambda spec: (spec[1], spec[0], *spec[2:])
    return conv_general_dilated_p.bind(
        lhs, ct, window_strides=params["rhs_dilation"], padding=tuple(pads), lhs_dilation=params["lhs_dilation"],
        rhs_dilation=params["window_strides"], feature_group_count=batch_group_count,
        batch_group_count=feature_group_count,
        dimension_numbers=ConvDimensionNumbers(swapped(lhs_spec), swapped(out_spec), swapped(rhs_spec)),
        precision=params["precision"], preferred_element_type=params["preferred_element_type"])


# -------------------------------------------------------------------------------------------- batches

def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], *, dimension_numbers: ConvDimensionNumbers,
           feature_group_count: int, batch_group_count: int, **params: Any) -> tuple[Any, int]:
    (lhs, rhs), (dl, dr) = args, dims
    lhs_spec, rhs_spec, out_spec = dimension_numbers
    groups = feature_group_count * batch_group_count
    if size == 0:     # sizes that are multiples of zero tell nothing of their other factor
        out = _abstract(_element(lhs, dl), _element(rhs, dr), dimension_numbers=dimension_numbers,
                        feature_group_count=feature_group_count, batch_group_count=batch_group_count, **params)
        return zeros_like_aval(out.update(shape=(0, *out.shape))), 0
    if dr is None:    # more elements of the batch, within its groups
        lhs, out_axis, outer = _merged(lhs, dl, lhs_spec[0], batch_group_count), out_spec[0], 1
    elif dl is None:  # more output features, within their groups
        rhs, out_axis, outer = _merged(rhs, dr, rhs_spec[0], groups), out_spec[1], groups
    else:             # more groups
        if batch_group_count > 1:
            lhs = _merged(lhs, dl, lhs_spec[0], 1)
            batch_group_count *= size
        else:
            lhs = _merged(lhs, dl, lhs_spec[1], 1)
            feature_group_count *= size
        rhs, out_axis, outer = _merged(rhs, dr, rhs_spec[0], 1), out_spec[1], 1
    out = conv_general_dilated_p.bind(
        lhs, rhs, dimension_numbers=dimension_numbers, feature_group_count=feature_group_count,
        batch_group_count=batch_group_count, **params)
    return _unmerged(out, out_axis, size, outer), 0


def _element(x: Any, dim: int | None) -> ShapedArray:
    """The type of one element of a batch, and of what is not batched."""
    aval = aval_of(x)
    return aval if dim is None else aval.update(shape=(*aval.shape[:dim], *aval.shape[dim + 1:]))


def _merged(x: Any, dim: Any, axis: int, groups: int) -> Any:
    """x with its batch axis made part of `axis` (counted without it), inside of that axis's groups."""
    x = moveaxis(x, dim, 0)
    size, *shape = aval_of(x).shape
    split = (size, *shape[:axis], groups, shape[axis] // groups, *shape[axis + 1:])
    order = [*range(1, axis + 2), 0, *range(axis + 2, len(split))]
    x = transpose_p.bind(reshaped(x, split), permutation=tuple(order))
    merged = (*shape[:axis], shape[axis] * size, *shape[axis + 1:])
    return reshaped(x, merged)


def _unmerged(x: Any, axis: int, size: int, groups: int) -> Any:
    """The inverse of _merged: the batch axis in front."""
    shape = aval_of(x).shape
    inner = shape[axis] // (groups * size)
    split = (*shape[:axis], groups, size, inner, *shape[axis + 1:])
    order = [axis + 1, *(d for d in range(len(split)) if d != axis + 1)]
    x = transpose_p.bind(reshaped(x, split), permutation=tuple(order))
    return reshaped(x, (size, *shape[:axis], groups * inner, *shape[axis + 1:]))


# -------------------------------------------------------------------------------------------- the record

_NCHW = ConvDimensionNumbers(*[(0, 1, 2, 3)] * 3)
_NHWC = ConvDimensionNumbers((0, 3, 1, 2), (3, 2, 0, 1), (0, 3, 1, 2))
_NCW, _MIXED = ConvDimensionNumbers(*[(0, 1, 2)] * 3), ConvDimensionNumbers((2, 0, 1), (0, 2, 1), (1, 2, 0))
_PLAIN = ConvDimensionNumbers(*[(0, 1)] * 3)
# lhs, rhs, layouts, strides, padding, dilations of lhs and rhs, groups of features and of the batch
_CASES: Any = [
    ((2, 3, 5), (4, 3, 2), _NCW, (1,), ((0, 0),), (1,), (1,), 1, 1),
    ((3, 5, 2), (4, 2, 3), _MIXED, (2,), ((1, 2),), (2,), (1,), 1, 1),
    ((2, 4, 6), (6, 2, 3), _NCW, (1,), ((-1, 2),), (1,), (2,), 2, 1),
    ((4, 3, 5), (6, 3, 2), _NCW, (2,), ((1, 0),), (1,), (1,), 1, 2),
    ((2, 3), (4, 3), _PLAIN, (), (), (), (), 1, 1),
    ((2, 6, 5, 3), (3, 2, 3, 9), _NHWC, (1, 2), ((1, 1), (0, 1)), (1, 2), (2, 1), 1, 1),
    ((2, 6, 5, 3), (3, 2, 1, 6), _NHWC, (2, 1), ((1, 0), (1, 1)), (1, 1), (1, 1), 3, 1),
    ((2, 9, 5, 6), (12, 9, 3, 3), _NCHW, (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 1, 1),
    ((2, 6, 5, 9), (3, 3, 9, 10), _NHWC, (1, 1), ((1, 1), (1, 1)), (1, 1), (1, 1), 1, 1),
    ((2, 8, 6, 6), (16, 4, 3, 3), _NCHW, (2, 2), ((1, 1), (0, 1)), (1, 1), (1, 1), 2, 1),
    ((2, 0, 5), (4, 0, 2), _NCW, (1,), ((0, 0),), (1,), (1,), 1, 1),
    ((2, 3, 1), (4, 3, 2), _NCW, (1,), ((0, 0),), (1,), (1,), 1, 1),
    ((0, 3, 4), (4, 3, 2), _NCW, (1,), ((0, 0),), (1,), (1,), 1, 1),
]


def _samples() -> Samples:
    params = [dict(zip(PARAMS, (s, p, dl, dr, numbers, g, bg, None, None), strict=True))
              for _, _, numbers, s, p, dl, dr, g, bg in _CASES]
    return Samples(shapes=[[lhs, rhs] for lhs, rhs, *_ in _CASES], params=params, low=0, high=3, ulps=64,
                   dtypes=("float32", "float64", "float16", "bfloat16", "int8", "uint32", "bool", "complex64"))


conv_general_dilated_p: Op = Op(
    name="conv_general_dilated", params=PARAMS, nargs=2, abstract=_abstract, eager=_eager,
    jvp=bilinear(lambda: conv_general_dilated_p), transpose=_transpose, batch=_batch, cpu=_cpu, hlo=_hlo,
    linear_in=((0,), (1,)), traits=SUMS_PRODUCTS, samples=_samples())
