"""Encoder of memory profiles in pprof's format: a compressed protocol buffer, written by hand.

The messages and numbers of their fields are those of profile.proto, see https://github.com/google/pprof.
"""
from __future__ import annotations

import gzip
from collections.abc import Iterable, Sequence

# Fields of Profile, and of the messages inside.
_SAMPLE_TYPE, _SAMPLE, _LOCATION, _FUNCTION, _STRING = 1, 2, 4, 5, 6
_VARINT, _BYTES = 0, 2


def profile(sizes: Iterable[tuple[str, int]]) -> bytes:
    """A profile of objects, given as (kind, bytes): their number and bytes by kind."""
    totals: dict[str, tuple[int, int]] = {}
    for kind, nbytes in sizes:
        count, total = totals.get(kind, (0, 0))
        totals[kind] = count + 1, total + nbytes
    strings = ["", "allocations", "count", "space", "bytes", *totals]
    parts = [_message(_SAMPLE_TYPE, _number(1, 1) + _number(2, 2)), _message(_SAMPLE_TYPE, _number(1, 3) + _number(2, 4))]
    for n, values in enumerate(totals.values(), 1):
        parts.append(_message(_SAMPLE, _packed(1, [n]) + _packed(2, values)))
        parts.append(_message(_LOCATION, _number(1, n) + _message(4, _number(1, n))))
        parts.append(_message(_FUNCTION, _number(1, n) + _number(2, 4 + n)))
    parts += [_message(_STRING, s.encode()) for s in strings]
    return gzip.compress(b"".join(parts))


def _varint(n: int) -> bytes:
    out = bytearray()
    while n >= 0x80:
        out.append(n & 0x7F | 0x80)
        n >>= 7
    return bytes([*out, n])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3 | _VARINT) + _varint(value)


def _message(field: int, content: bytes) -> bytes:
    return _varint(field << 3 | _BYTES) + _varint(len(content)) + content


def _packed(field: int, values: Sequence[int]) -> bytes:
    return _message(field, b"".join(map(_varint, values)))
