"""Elementwise arithmetic: records."""
from __future__ import annotations

import numpy as np

from numjet.core.op import Undefined, Samples
from numjet.lax.templates import FLOAT, NUMBER, elementwise, INEXACT

neg_p = elementwise(
    "neg", accepts=NUMBER, eager=np.negative,
    jvp=lambda t, out, x: neg_p.bind(t),
    transpose=lambda ct, x: neg_p.bind(ct),
    cpu=lambda b, x: b.neg(x), hlo="stablehlo.negate",
    samples=Samples(dtypes=("float32", "float64", "int32", "uint8", "complex64"), ulps=0))


def _add_transpose(ct, x, y):
    return tuple(ct if isinstance(a, Undefined) else None for a in (x, y))


add_p = elementwise(
    "add", nargs=2, accepts="biufc", eager=np.add,
    jvp=(lambda t, out, x, y: t, lambda t, out, x, y: t),
    transpose=_add_transpose, cpu=lambda b, x, y: b.add(x, y), hlo="stablehlo.add",
    samples=Samples(dtypes=("float32", "float64", "int32", "uint8", "complex64"), ulps=0))


def _mul_transpose(ct, x, y):
    return (mul_p.bind(ct, y), None) if isinstance(x, Undefined) else (None, mul_p.bind(ct, x))


mul_p = elementwise(
    "mul", nargs=2, accepts="biufc", eager=np.multiply,
    jvp=(lambda t, out, x, y: mul_p.bind(t, y), lambda t, out, x, y: mul_p.bind(x, t)),
    transpose=_mul_transpose, cpu=lambda b, x, y: b.mul(x, y), hlo="stablehlo.multiply",
    samples=Samples(dtypes=("float32", "float64", "int32", "uint8", "complex64"), ulps=0))

sin_p = elementwise(
    "sin", accepts=INEXACT, eager=np.sin,
    jvp=lambda t, out, x: mul_p.bind(t, cos_p.bind(x)),
    cpu=lambda b, x: b.math("sin", x), hlo="stablehlo.sine",
    samples=Samples(dtypes=("float32", "float64", "complex64"), low=-10, high=10, ulps=4))

cos_p = elementwise(
    "cos", accepts=INEXACT, eager=np.cos,
    jvp=lambda t, out, x: neg_p.bind(mul_p.bind(t, sin_p.bind(x))),
    cpu=lambda b, x: b.math("cos", x), hlo="stablehlo.cosine",
    samples=Samples(dtypes=("float32", "float64", "complex64"), low=-10, high=10, ulps=4))
