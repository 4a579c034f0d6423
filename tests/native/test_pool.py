"""The memory pool: classes, alignment, reuse, limits, threads."""
from __future__ import annotations

import gc
import itertools
import threading

import numpy as np
import pytest

from numjet import _native

MIB = 1 << 20


@pytest.fixture
def empty(aval, device):
    return lambda nbytes: _native.empty(aval((nbytes,), "uint8"), device)


@pytest.fixture(autouse=True)
def trimmed():
    gc.collect()
    _native.pool_trim()


def stats():
    return _native.pool_stats()


def capacity(empty, nbytes: int) -> int:
    before = stats()["live_bytes"]
    x = empty(nbytes)
    taken = stats()["live_bytes"] - before
    assert x.nbytes == nbytes
    return taken


def test_stats_follow_allocations(empty):
    before = stats()
    x = empty(1000)
    during = stats()
    assert during["live_bytes"] == before["live_bytes"] + 1024
    assert during["allocations"] == before["allocations"] + 1
    assert during["peak_bytes"] >= during["live_bytes"]
    del x
    after = stats()
    assert after["live_bytes"] == before["live_bytes"] and after["cached_bytes"] == 1024
    _native.pool_trim()
    assert stats()["cached_bytes"] == 0


def test_memory_is_reused(empty):
    x = empty(100_000)
    address, reuses = x.unsafe_buffer_pointer(), stats()["reuses"]
    x.delete()
    y = empty(99_000)
    assert y.unsafe_buffer_pointer() == address
    assert stats()["reuses"] == reuses + 1


@pytest.mark.parametrize("nbytes", [0, 1, 63, 64, 65, 256, 257, 320, 321, 1000, 4096, 5000, 10**5, 10**6, 3 * MIB])
def test_classes_waste_at_most_a_quarter(nbytes, empty):
    taken = capacity(empty, nbytes)
    assert taken >= max(nbytes, 64) and taken % 64 == 0
    assert taken <= max(64, nbytes * 1.25 + 64)


def test_every_size_gets_at_least_what_it_asked_for(empty):
    for power in range(6, 24):
        for quarter in (4, 5, 6, 7):
            for delta in (-1, 0, 1):
                nbytes = (1 << power) * quarter // 4 + delta
                assert nbytes <= capacity(empty, nbytes) <= nbytes * 1.26 + 64 + (2 * MIB if nbytes >= 4 * MIB else 0)


@pytest.mark.parametrize("nbytes", [4 * MIB, 4 * MIB + 1, 9 * MIB, 33 * MIB])
def test_large_blocks_are_aligned_to_huge_pages(nbytes, empty):
    x = empty(nbytes)
    assert x.unsafe_buffer_pointer() % (2 * MIB) == 0
    assert capacity(empty, nbytes) % (2 * MIB) == 0
    view = np.frombuffer(memoryview(x), np.uint8)
    assert view[0] == 0 and view[-1] == 0  # fresh pages, all of them mapped


def test_the_cache_is_bounded_and_drops_the_oldest(empty):
    limit = _native.set_pool_limit(3 * MIB)
    try:
        blocks = [empty(MIB) for _ in range(5)]
        addresses = [b.unsafe_buffer_pointer() for b in blocks]
        while blocks:
            blocks.pop(0)
        assert stats()["cached_bytes"] <= 3 * MIB
        kept = [empty(MIB) for _ in range(3)]
        assert {b.unsafe_buffer_pointer() for b in kept} == set(addresses[2:])
        del kept
        assert _native.set_pool_limit(0) == 3 * MIB
        assert stats()["cached_bytes"] == 0
        del blocks
        empty(MIB)
        assert stats()["cached_bytes"] == 0
    finally:
        _native.set_pool_limit(limit)
    assert stats()["cache_limit"] == limit


def test_limits_are_checked():
    with pytest.raises(ValueError, match="got -1"):
        _native.set_pool_limit(-1)
    with pytest.raises(TypeError):
        _native.set_pool_limit("much")


def test_running_out_of_memory_is_an_error_that_helps(empty):
    with pytest.raises(MemoryError, match=r"could not allocate 2251799813685248 bytes.*live_arrays"):
        empty(1 << 51)


def test_threads_get_memory_of_their_own(empty):
    failures = []

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        held = []
        for _ in range(300):
            x = empty(int(rng.integers(1, 100_000)))
            np.frombuffer(memoryview(x), np.uint8)
            held.append(x)
            if len(held) > 5:
                held.pop(int(rng.integers(5)))
            spans = sorted((h.unsafe_buffer_pointer(), h.nbytes) for h in held)
            if any(a + n > b for (a, n), (b, _) in itertools.pairwise(spans)):
                failures.append(number)

    before = stats()["live_bytes"]
    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert stats()["live_bytes"] == before
