"""nj.memory_stats: what the arrays and the pool of the process hold now."""
from __future__ import annotations

import sys
from pathlib import Path

from numjet import _native
from numjet.foundation.record import Record


class MemoryStats(Record):
    """Bytes of memory, as numjet counts them on the host; prints as a table.

    arrays: how many arrays are alive (`live_arrays`). in_use: of the pool's blocks, which hold what programs make and need,
    several arrays of one block once; what operations outside of jit and NumPy made may have memory of its own. peak: the most
    that `in_use` has been. cached: of free blocks, which are kept for the next results.
    cache_limit: how many of these are kept at most: a quarter of the machine's memory, or of the control group's limits
    (memory.max, memory.high), and 4 GiB at most. limit: of the control group; None without one. process: all memory of the
    process that is resident; None where the system does not tell.
    """
    arrays: int
    in_use: int
    peak: int
    cached: int
    cache_limit: int
    limit: int | None
    process: int | None

    def __str__(self) -> str:
        rows = [("in use", self.in_use, f"by {self.arrays:,} arrays and running programs"), ("peak", self.peak, "so far"),
                ("cached", self.cached, f"for reuse, at most {_bytes(self.cache_limit)}"),
                ("process", self.process, "resident, with code and other libraries"),
                ("limit", self.limit, "of the control group")]
        return "\n".join(f"{what:8} {_bytes(n):>10}  {means}" for what, n, means in rows if n is not None)


def memory_stats() -> MemoryStats:
    """What the arrays and the pool of this process hold now, in bytes, beside the limits.

    Memory of arrays on other devices does not count. `clear_caches()` frees compiled programs, `x.delete()` an array's memory.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> x = nj.jit(lambda: jnp.arange(1e6))().block_until_ready()
    >>> nj.memory_stats().in_use >= x.nbytes
    True
    """
    pool, (_, limit) = _native.pool_stats(), _native.cgroup_limits("")
    return MemoryStats(arrays=len(_native.live_arrays()), in_use=pool["live_bytes"], peak=pool["peak_bytes"],
                       cached=pool["cached_bytes"], cache_limit=pool["cache_limit"],
                       limit=limit if limit < sys.maxsize else None, process=_resident())


def _resident() -> int | None:
    try:
        lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    found = next((line for line in lines if line.startswith("VmRSS:")), None)
    return None if found is None else 1024 * int(found.split()[1])


def _bytes(count: int) -> str:
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if count >= size:
            return f"{count / size:.4g} {unit}"
    return f"{count} B"
