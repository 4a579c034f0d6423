"""Trampolines from machine code into Python: one C function per call site, made by ctypes, which acquires the GIL.

The function gets pointers to the operands, then to the results. It returns 0, or the number by which core.effects keeps the
exception.
"""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from math import prod

import numpy as np

from numjet import _native
from numjet.core.aval import ShapedArray
from numjet.core.effects import failures
from numjet.foundation.config import config, enable_x64

MOST_POINTERS = 1000   # ctypes takes 1024 arguments


class Trampoline:
    """C function that calls `fun(*ndarrays) -> ndarrays` with the avals' shapes and dtypes; lives as long as this object."""

    def __init__(self, fun: Callable[..., Sequence[np.ndarray]], ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]):
        if len(ins) + len(outs) > MOST_POINTERS:
            raise ValueError(f"a Python callback in a compiled program takes at most {MOST_POINTERS} arrays, operands and "
                             f"results together; got {len(ins) + len(outs)}. Concatenate some of them.")
        self._fun, self._ins, self._outs = fun, list(ins), list(outs)
        self._x64 = config.x64  # the calling thread may have other settings
        kind = ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_void_p] * (len(ins) + len(outs)))
        self._function = kind(_native.callback(self._call, failures.record))
        self.address: int = ctypes.cast(self._function, ctypes.c_void_p).value or 0

    def _call(self, *pointers: int | None) -> int:
        count = len(self._ins)
        operands = [_view(p, a).copy() for p, a in zip(pointers[:count], self._ins, strict=True)]
        with nullcontext() if config.x64 == self._x64 else enable_x64(self._x64):
            results = self._fun(*operands)
        for p, a, result in zip(pointers[count:], self._outs, results, strict=True):
            _view(p, a)[...] = result
        return 0


def _view(pointer: int | None, aval: ShapedArray) -> np.ndarray:
    """The memory at an address as an array."""
    size = prod(aval.shape)
    if size == 0 or pointer is None:
        return np.empty(aval.shape, aval.dtype)
    memory = (ctypes.c_char * (size * aval.dtype.itemsize)).from_address(pointer)
    return np.frombuffer(memoryview(memory), np.uint8).view(aval.dtype).reshape(aval.shape)
