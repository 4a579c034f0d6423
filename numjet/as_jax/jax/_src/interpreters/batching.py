"""Names of `vmap` that libraries ask for."""
from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.core.trace import aval_of
from numjet.interpreters.batching import BatchTrace as BatchTrace, BatchTracer as BatchTracer, vmappable
from numjet.lax import iota


def is_vmappable(x: Any) -> bool:
    """Whether a value is of a class that brings its own way to be mapped over (register_vmappable)."""
    return type(x) in vmappable


def make_iota(axis_size: int) -> Any:
    """The number of each element of a batch."""
    return iota(np.int32, axis_size)


def to_elt(trace: BatchTrace, get_idx: Callable[[], Any], x: Any, spec: int | None) -> Any:
    """What a mapped function sees of an array: a tracer without the axis `spec`, or the array itself if that is None.

    get_idx: called for types that bring their own way to be mapped over, of which vmap takes none.
    """
    return trace.pack(x, None if spec is None else spec % len(aval_of(x).shape))
