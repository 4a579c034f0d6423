"""The built library: tables of addresses that nobody can write once it is loaded, no executable stack, guarded frames."""

from __future__ import annotations

import os
import struct
import sys
from collections.abc import Iterator

import pytest

from numjet import _native

PT_DYNAMIC, PT_GNU_STACK, PT_GNU_RELRO = 2, 0x6474E551, 0x6474E552
DT_NULL, DT_FLAGS, DT_FLAGS_1 = 0, 30, 0x6FFFFFFB
DF_BIND_NOW, DF_1_NOW, PF_X, PF_W = 8, 1, 1, 2

pytestmark = [pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads ELF files"),
              pytest.mark.skipif("NUMJET_SANITIZE" in os.environ, reason="instrumented builds are not hardened")]


@pytest.fixture(scope="module")
def library() -> bytes:
    with open(_native.__file__, "rb") as file:
        return file.read()


def headers(library: bytes) -> Iterator[tuple[int, int, int, int]]:
    """Type, flags, place and size of each program header of a 64-bit file."""
    assert library[:5] == b"\x7fELF\x02"
    (start,) = struct.unpack_from("<Q", library, 32)
    size, count = struct.unpack_from("<HH", library, 54)
    for k in range(count):
        kind, flags, offset, _, _, length = struct.unpack_from("<IIQQQQ", library, start + k * size)
        yield kind, flags, offset, length


def dynamic_flags(library: bytes) -> dict[int, int]:
    (offset, length), = ((o, n) for kind, _, o, n in headers(library) if kind == PT_DYNAMIC)
    return dict(struct.unpack_from("<QQ", library, offset + k) for k in range(0, length, 16))


def test_tables_are_read_only(library: bytes) -> None:
    flags = dynamic_flags(library)
    assert any(kind == PT_GNU_RELRO for kind, *_ in headers(library))
    assert flags.get(DT_FLAGS, 0) & DF_BIND_NOW or flags.get(DT_FLAGS_1, 0) & DF_1_NOW


def test_stack_is_not_executable(library: bytes) -> None:
    assert [flags & PF_X for kind, flags, *_ in headers(library) if kind == PT_GNU_STACK] == [0]


def test_nothing_is_both_written_and_executed(library: bytes) -> None:
    assert not any(flags & PF_X and flags & PF_W for _, flags, *_ in headers(library))


def test_frames_are_guarded(library: bytes) -> None:
    assert b"__stack_chk_fail" in library
