"""NumPy's functions of numbers as text and of dtypes as letters, for values that are known."""
from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from numjet.foundation.dimension import as_integer
from numjet.numpy.core.concrete import known
from numjet.numpy.core.promotion import check_arraylike


def _number(name: str, x: Any) -> Any:
    """A known number as NumPy's scalar. ConcretizationTypeError for others, TypeError for arrays of another size than 1 and for
    what is no number."""
    check_arraylike(name, x)
    value = known(name, x, "what the text shows")
    if value.size != 1:
        raise TypeError(f"{name}: expected one number, got an array of shape {value.shape}")
    return value.reshape(())[()]


def _integer(name: str, x: Any) -> int:
    """A known integer. TypeError for other numbers."""
    if isinstance(x, int):
        return x
    value = _number(name, x)
    if value.dtype.kind not in "iub":
        raise TypeError(f"{name}: expected an integer, got {value.dtype.name}")
    return int(value)


def base_repr(number: Any, base: int = 2, padding: int = 0) -> str:
    """An integer's digits in a base from 2 to 36, after `padding` zeros. The number must be known.

    >>> base_repr(5), base_repr(-10, base=16), base_repr(6, padding=3)
    ('101', '-A', '000110')
    """
    return np.base_repr(_integer("base_repr", number), as_integer(base, "base_repr: base"),
                        as_integer(padding, "base_repr: padding"))


def binary_repr(num: Any, width: int | None = None) -> str:
    """An integer's bits, of `width` digits: two's complement for negative numbers. The number must be known.

    >>> binary_repr(5, width=8), binary_repr(-3), binary_repr(-3, width=4)
    ('00000101', '-11', '1101')
    """
    digits = None if width is None else as_integer(width, "binary_repr: width")
    return np.binary_repr(_integer("binary_repr", num), digits)


def format_float_positional(x: Any, precision: int | None = None, unique: bool = True, fractional: bool = True, trim: Any = "k",
                            sign: bool = False, pad_left: int | None = None, pad_right: int | None = None,
                            min_digits: int | None = None) -> str:
    """A number in decimals without an exponent: the fewest digits that tell it from its neighbours. It must be known.

    >>> import numjet.numpy as jnp
    >>> format_float_positional(jnp.float32(0.1)), format_float_positional(1e10, trim="-")
    ('0.1', '10000000000')
    """
    return np.format_float_positional(_number("format_float_positional", x), precision, unique, fractional, trim, sign,
                                      pad_left, pad_right, min_digits)


def format_float_scientific(x: Any, precision: int | None = None, unique: bool = True, trim: Any = "k", sign: bool = False,
                            pad_left: int | None = None, exp_digits: int | None = None, min_digits: int | None = None) -> str:
    """A number in decimals with an exponent: the fewest digits that tell it from its neighbours. It must be known.

    >>> import numjet.numpy as jnp
    >>> format_float_scientific(jnp.float32(0.1))
    '1.e-01'
    """
    return np.format_float_scientific(_number("format_float_scientific", x), precision, unique, trim, sign, pad_left,
                                      exp_digits, min_digits)


def typename(char: Any) -> str:
    """What a dtype's letter stands for.

    >>> typename("f"), typename("i")
    ('single precision', 'integer')
    """
    return np.typename(char)


def mintypecode(typechars: Iterable[Any], typeset: Any = "GDFgdf", default: str = "d") -> str:
    """The letter of the smallest dtype of typeset to which all can be cast: letters, or arrays.

    >>> import numjet.numpy as jnp
    >>> mintypecode(["d", "f"]), mintypecode([jnp.ones(2, "complex64")])
    ('d', 'F')
    """
    letters = [t if isinstance(t, str) else np.dtype(t.dtype).char if hasattr(t, "dtype") else np.asarray(t).dtype.char
               for t in typechars]
    return np.mintypecode(letters, typeset, default)
