"""Window functions: vectors of M weights that fall off towards both ends; and i0, for the Kaiser window."""
from __future__ import annotations

import math
import reprlib
from typing import Any

import numpy as np

from numjet.control.custom.custom_jvp import custom_jvp
from numjet.foundation import dtypes
from numjet.lax.elementwise import arithmetic, convert, special, transcendental
from numjet.lax.shape import create
from numjet.numpy.core.promotion import as_dtype, literal, operand_inexact, to_array
from numjet.numpy.ufuncs.arithmetic import sqrt, to_array_checked


def i0(x: Any) -> Any:
    """The modified Bessel function of the first kind of order 0. ValueError for complex numbers.

    >>> i0(0.0)
    Array(1., dtype=float32, weak_type=True)
    """
    x = operand_inexact("i0", x)
    if x.aval.dtype not in dtypes.FLOATING:
        raise ValueError(f"Unsupported input type to jax.numpy.i0: {x.aval.dtype.name}; expected real numbers")
    found = to_array_checked("i0", x)
    if found.dtype.itemsize > 2:
        return _i0(found)
    wide = convert.convert_element_type(found, np.float32)   # exp(|x|) overflows before I0 does
    return convert.convert_element_type(_i0(wide), found.dtype)


@custom_jvp
def _i0(x: Any) -> Any:
    half = transcendental.exp_p.bind(0.5 * arithmetic.abs_p.bind(x))  # exp(|x|) overflows before I0 does
    return half * special.bessel_i0e(x) * half


@_i0.defjvp
def _i0_jvp(primals: tuple[Any], tangents: tuple[Any]) -> tuple[Any, Any]:
    """The derivative is I1, without the terms that cancel in that of the product."""
    (x,), (t,) = primals, tangents
    size = arithmetic.mul_p.bind(x, arithmetic.sign_p.bind(x))  # |x|, of derivative 0 at 0
    half = transcendental.exp_p.bind(0.5 * size)
    return _i0(x), t * (half * special.bessel_i1e(x) * half)


def _count(M: Any) -> int:
    """The number of points, as int() takes it: libraries pass floats and arrays. TypeError for what is no number."""
    try:
        return int(M)
    except TypeError as error:
        if type(error) is not TypeError:  # a traced value says why it has no int()
            raise
        raise TypeError(f"M, the number of points, must be a number, got {reprlib.repr(M)}: {error}") from None


def _dtype() -> np.dtype:
    return dtypes.canonicalize_dtype(np.float64)


def _ones(count: int) -> Any:
    """The window of at most one element: 1."""
    return create.full((max(count, 0),), np.ones((), _dtype())[()])


def _turns(M: Any, harmonic: int) -> Any:
    """cos(2 pi k n / (M - 1)) for n = 0, ..., M - 1."""
    count = _count(M)
    step = literal(2 * math.pi * harmonic / max(count - 1, 1), _dtype())
    return transcendental.cos(arithmetic.mul(create.iota(_dtype(), max(count, 0)), step))


def _cosines(M: Any, *weights: float) -> Any:
    """weights[0] + weights[1] * cos(2 pi n / (M - 1)) + ...; a single 1 for M = 1."""
    count = _count(M)
    if count <= 1:
        return _ones(count)
    out: Any = literal(weights[0], _dtype())
    for k, w in enumerate(weights[1:], 1):
        out = arithmetic.add(arithmetic.mul(literal(w, _dtype()), _turns(count, k)), out)
    return out


def bartlett(M: int) -> Any:
    """The triangular window with zeros at its ends.

    >>> bartlett(3).tolist()
    [0.0, 1.0, 0.0]
    """
    count = _count(M)
    if count <= 1:
        return _ones(count)
    one = literal(1.0, _dtype())
    position = arithmetic.mul(create.iota(_dtype(), count), literal(2.0 / (count - 1), _dtype()))
    return arithmetic.sub(one, arithmetic.abs(arithmetic.sub(position, one)))


def blackman(M: int) -> Any:
    """The window 0.42 - 0.5 cos t + 0.08 cos 2t.

    >>> [round(x, 2) for x in blackman(3).tolist()]
    [-0.0, 1.0, -0.0]
    """
    return _cosines(M, 0.42, -0.5, 0.08)


def hamming(M: int) -> Any:
    """The window 0.54 - 0.46 cos t.

    >>> [round(x, 2) for x in hamming(3).tolist()]
    [0.08, 1.0, 0.08]
    """
    return _cosines(M, 0.54, -0.46)


def hanning(M: int) -> Any:
    """The window 0.5 - 0.5 cos t.

    >>> [round(x, 2) for x in hanning(3).tolist()]
    [0.0, 1.0, 0.0]
    """
    return _cosines(M, 0.5, -0.5)


def kaiser(M: int, beta: Any) -> Any:
    """The Kaiser window: I0(beta sqrt(1 - t**2)) / I0(beta) for t from -1 to 1.

    >>> [round(x, 2) for x in kaiser(3, 0.0).tolist()]
    [1.0, 1.0, 1.0]
    """
    count = _count(M)
    if count <= 1:
        return _ones(count)
    one = literal(1.0, _dtype())
    half = literal((count - 1) / 2, _dtype())
    t = arithmetic.div(arithmetic.sub(create.iota(_dtype(), count), half), half)
    b = as_dtype(to_array(beta), _dtype())
    return i0(b * sqrt(arithmetic.sub(one, arithmetic.mul(t, t)))) / i0(b)
