"""nj.memory_stats: arrays, the pool, and the limits."""
from __future__ import annotations

import gc

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.api.memory_stats import MemoryStats

MIB = 1 << 20


def test_arrays_count_while_they_live():
    gc.collect()
    before = nj.memory_stats()
    x = jnp.arange(2 * MIB, dtype="float32").block_until_ready()
    y = x.reshape(2, -1)   # the same memory
    held = nj.memory_stats()
    assert held.arrays >= before.arrays + 2 and 8 * MIB <= held.in_use - before.in_use < 12 * MIB
    assert held.peak >= held.in_use and (held.process is None or held.process > held.in_use)
    x.delete()
    y.delete()
    after = nj.memory_stats()
    assert after.in_use <= held.in_use - 8 * MIB and after.peak >= held.in_use


def test_free_memory_is_cached_up_to_the_limit():
    x = jnp.zeros(MIB) + 1
    x.block_until_ready()
    x.delete()
    old = _native.set_pool_limit(0)
    try:
        found = nj.memory_stats()
        assert found.cached == 0 == found.cache_limit
    finally:
        _native.set_pool_limit(old)
    assert nj.memory_stats().cache_limit == old


def test_the_table():
    text = str(MemoryStats(3, 5 * MIB, 7 << 30, 100, 4 << 30, None, 1536))
    assert text.splitlines() == [
        "in use        5 MiB  by 3 arrays and running programs", "peak          7 GiB  so far",
        "cached        100 B  for reuse, at most 4 GiB", "process     1.5 KiB  resident, with code and other libraries"]
    assert "of the control group" in str(MemoryStats(0, 0, 0, 0, 0, MIB, None))
