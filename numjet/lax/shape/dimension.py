"""Sizes as values: the operation that gives a symbolic dimension as an integer array."""
from __future__ import annotations

from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.intervals import largest
from numjet.core.op import ZERO, Missing, Op, Samples
from numjet.foundation import dtypes
from numjet.foundation.symbolic.dims import SymbolicDim, set_array_of


def _dtype() -> np.dtype:
    return dtypes.canonicalize_dtype(np.int64)


dim_as_value_p = Op(
    name="dim_as_value", params=("dim",), abstract=lambda *, dim: ShapedArray((), _dtype(), True),
    eager=lambda *, dim: np.asarray(int(dim), _dtype()), jvp=ZERO, transpose=Missing("it has no operands"),
    batch=Missing("it has no operands"), cpu=lambda b, *, dim: b.compute((), _dtype(), lambda: b.const(int(dim), _dtype())),
    hlo=lambda b, *, dim: b.constant(np.asarray(int(dim), _dtype())),
    interval=lambda eqn, known: (0, largest(eqn.params["dim"])),
    samples=Samples(shapes=([],), order=0, ulps=0, make=lambda rng, shapes, dtype, params: [],
                    params=({"dim": 3}, {"dim": 0})))


def as_array(dim: SymbolicDim) -> Any:
    """The size as a weakly typed integer of the program that is being traced."""
    return dim_as_value_p.bind(dim=dim)


set_array_of(as_array)
