"""The threefry-2x32 block cipher: random bits from counters.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; 20 rounds.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.op import ZERO, Missing, Op, Samples
from numjet.core.traits import EXACT, LANES
from numjet.foundation import dtypes
from numjet.lax.templates import broadcast_shapes, full_rank_batch

UINT32 = np.dtype(np.uint32)
ROTATIONS = ((13, 15, 26, 6), (17, 29, 16, 24))   # of the paper, for even and odd groups of four rounds
PARITY = 0x1BD11BDA                                # of the key schedule
GROUPS = 5


def cipher(add: Any, xor: Any, rotate: Any, number: Any, keys: tuple[Any, Any], words: tuple[Any, Any]) -> tuple[Any, Any]:
    """The cipher, in terms of the arithmetic given."""
    ks = (*keys, xor(xor(keys[0], keys[1]), number(PARITY)))
    x, y = add(words[0], ks[0]), add(words[1], ks[1])
    for group in range(GROUPS):
        for distance in ROTATIONS[group % 2]:
            x = add(x, y)
            y = xor(rotate(y, distance), x)
        x = add(x, ks[(group + 1) % 3])
        y = add(add(y, ks[(group + 2) % 3]), number(group + 1))
    return x, y


def _abstract(*avals: ShapedArray) -> list[ShapedArray]:
    for a in avals:
        if a.dtype != UINT32:
            raise TypeError(f"threefry2x32: expected uint32 keys and counters, got {', '.join(map(str, avals))}")
    return [ShapedArray(broadcast_shapes("threefry2x32", [a.shape for a in avals]), UINT32)] * 2


def _eager(k1: np.ndarray, k2: np.ndarray, x1: np.ndarray, x2: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    rotate = lambda v, r: (v << np.uint32(r)) | (v >> np.uint32(32 - r))
    out = cipher(np.add, np.bitwise_xor, rotate, np.uint32, (k1, k2), (x1, x2))
    shape = np.broadcast_shapes(k1.shape, k2.shape, x1.shape, x2.shape)
    return tuple(np.broadcast_to(np.asarray(v), shape) for v in out)  # type: ignore[return-value]


def _cpu(b: Any, *arrays: Any) -> list[Any]:
    number = lambda n: b.const(n, UINT32)
    add, xor = (lambda x, y: b.prim("add", x, y)), (lambda x, y: b.prim("xor", x, y))
    rotate = lambda v, r: b.prim("rotl", v, number(r))

    def block(k1: Any, k2: Any, x1: Any, x2: Any) -> Any:
        return b.pair(*cipher(add, xor, rotate, number, (k1, k2), (x1, x2)), dtypes.key_dtype)
    both = b.elementwise(block, *arrays, dtype=dtypes.key_dtype, cost=80.0)
    return [b.elementwise(lambda p, n=n: p.parts[n], both, dtype=UINT32) for n in range(2)]


def _hlo(b: Any, *arrays: Any) -> list[Any]:
    shape = max((a.shape for a in arrays), key=len)
    k1, k2, x1, x2 = (b.broadcast(a, shape) for a in arrays)
    number = lambda n: b.full(shape, n, UINT32)
    shift = lambda name, v, r: b.binary(name, v, number(r))
    rotate = lambda v, r: b.binary("or", shift("shift_left", v, r), shift("shift_right_logical", v, 32 - r))
    add, xor = (lambda x, y: b.binary("add", x, y)), (lambda x, y: b.binary("xor", x, y))
    return list(cipher(add, xor, rotate, number, (k1, k2), (x1, x2)))


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None]) -> tuple[list[Any], list[int]]:
    return threefry2x32_p.bind(*full_rank_batch(size, args, dims)), [0, 0]


def _operands(rng: Any, shapes: Any, dtype: Any, params: Any) -> list[np.ndarray]:
    return [rng.integers(0, 2 ** 32, s, dtype=np.uint32) for s in shapes]


threefry2x32_p = Op(
    name="threefry2x32", multiple=True, abstract=_abstract, eager=_eager, jvp=ZERO,
    transpose=Missing("random bits are not linear"), batch=_batch, cpu=_cpu, hlo=_hlo, traits=EXACT | LANES, cost=80.0,
    samples=Samples(shapes=([()] * 4, [(5,)] * 4, [(), (), (2, 40), (2, 40)], [(0,)] * 4), dtypes=("uint32",), make=_operands))


def threefry_2x32(keypair: tuple[Any, Any], counts: tuple[Any, Any]) -> tuple[Any, Any]:
    """Two uint32 arrays of random bits from a pair of uint32 key words (scalars, or arrays of the counters' shape) and
    a pair of counter words.

    >>> import numpy as np
    >>> one, two = threefry_2x32((np.uint32(0), np.uint32(0)), (np.uint32(0), np.uint32(0)))
    >>> hex(int(one)), hex(int(two))
    ('0x6b200159', '0x99ba4efe')
    """
    first, second = threefry2x32_p.bind(*keypair, *counts)
    return first, second
