"""Phase decomposition of dilated convolutions, such as transposed convolutions and gradients of strided ones.

With gaps of g - 1 zeros, the elements p = a, a + g, a + 2 g, ... of the result see the elements a', a' + g, ... of the
kernel and no others: each phase a is a convolution without gaps, of a part of the kernel. So no product with a gap is
computed, and g phases per axis cost as much as one of them with gaps would.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import product
from math import prod
from typing import Any

from numjet.core.op import lookup

Ints = tuple[int, ...]
MOST_PHASES = 64


def gaps_of(lhs_dilation: Ints, strides: Ints, dilation: Ints) -> Ints:
    """Per spatial axis how many phases there are: 1 where there are no gaps, or steps that mix the phases."""
    return tuple(g if s == d == 1 else 1 for g, s, d in zip(lhs_dilation, strides, dilation, strict=True))


def by_phases(b: Any, rhs: Any, gaps: Ints, sizes: Any, convolve: Callable[..., Any], dtype: Any) -> Any:
    """The result of a convolution with these gaps. sizes: its axes and what they hold; convolve(kernel, padding, lhs_dilation):
    one without; dtype: of the result."""
    counts = [-(-n // g) for n, g in zip(sizes.out, gaps, strict=True)]
    zero = lambda *_: b.const(0, dtype)

    def part(phases: Ints) -> Any:
        """One phase of each axis, in memory."""
        firsts = [(low - a) % g if g > 1 else 0 for a, g, (low, _) in zip(phases, gaps, sizes.padding, strict=True)]
        taps = [len(range(q, k, g)) for q, k, g in zip(firsts, sizes.kernel, gaps, strict=True)]
        if 0 in taps:
            return b.compute(_arranged(sizes, counts), dtype, zero)
        padding = []
        for d, (a, g, count) in enumerate(zip(phases, gaps, counts, strict=True)):
            low = (sizes.padding[d][0] - a - firsts[d]) // g
            padding.append((low, count - 1 + taps[d] - sizes.spatial[d] - low) if g > 1 else sizes.padding[d])
        dilation = tuple(1 if g > 1 else base for g, base in zip(gaps, sizes.lhs_dilation, strict=True))
        return b.materialize(convolve(_taps(b, rhs, sizes.numbers.rhs_spec[2:], firsts, taps, gaps), tuple(padding), dilation))

    return _joined(b, {phases: part(phases) for phases in product(*map(range, gaps))}, gaps, counts, sizes)


def _arranged(sizes: Any, spatial: Sequence[int]) -> Ints:
    """The shape of the result with other sizes of the spatial axes."""
    shape = list(sizes.out_shape)
    for d, n in zip(sizes.numbers.out_spec[2:], spatial, strict=True):
        shape[d] = n
    return tuple(shape)


def _taps(b: Any, rhs: Any, axes: Ints, firsts: Sequence[int], taps: Sequence[int], gaps: Ints) -> Any:
    """The elements of the kernel that one phase sees."""
    shape, begin, step = list(rhs.shape), [0] * rhs.ndim, [1] * rhs.ndim
    for axis, first, n, g in zip(axes, firsts, taps, gaps, strict=True):
        shape[axis], begin[axis], step[axis] = n, first, g
    return b.compute(shape, rhs.dtype, lambda *i: b.read(rhs, *[k * s + q for k, s, q in zip(i, step, begin, strict=True)]),
                     moves=True, reads=(rhs,))


def _joined(b: Any, parts: dict[Ints, Any], gaps: Ints, counts: Sequence[int], sizes: Any) -> Any:
    """The phases side by side, each as an axis behind that of its elements, without what goes beyond the result."""
    split: list[int] = []
    phase_axes: dict[int, int] = {}
    spatial = {axis: d for d, axis in enumerate(sizes.numbers.out_spec[2:])}
    for axis, n in enumerate(_arranged(sizes, counts)):
        split.append(n)
        if axis in spatial:
            phase_axes[spatial[axis]] = len(split)
            split.append(1)

    def join(phases: Ints) -> Any:
        if len(phases) == len(gaps):
            return b.reshape(parts[phases], split)
        d = len(phases)
        pieces = [join((*phases, a)) for a in range(gaps[d])]
        return pieces[0] if len(pieces) == 1 else lookup("concatenate").cpu(b, *pieces, dimension=phase_axes[d])

    full = _arranged(sizes, [n * g for n, g in zip(counts, gaps, strict=True)])
    out = b.reshape(join(()), full)
    if full == sizes.out_shape:
        return out
    return lookup("slice").cpu(b, out, start_indices=(0,) * len(full), limit_indices=sizes.out_shape, strides=None)


def worth(gaps: Ints) -> bool:
    """Whether there are gaps, and not more phases than code is written for."""
    return 1 < prod(gaps) <= MOST_PHASES
