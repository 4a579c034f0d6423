"""Perf maps: the addresses of generated code under the names of functions, in /tmp/perf-PID.map, where `perf report` reads
them. Written while the flag `numjet_perf_map` is set.
"""
from __future__ import annotations

import os

import llvmlite.binding as binding


def add(address: int, code: bytes, name: str) -> None:
    """Appends a function to the map of this process. code: its object file, whose text section starts with it."""
    size = sum(s.size() for s in binding.ObjectFileRef.from_data(code).sections() if s.is_text())
    with open(f"/tmp/perf-{os.getpid()}.map", "a", encoding="utf8") as file:
        file.write(f"{address:x} {size:x} {name}\n")
