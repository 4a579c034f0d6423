"""Python numbers with a dtype of their own, and NumPy arrays that may be weakly typed. Programs of numjet hold plain numbers;
where a library gives one of these as an argument, its dtype counts."""
from __future__ import annotations

from typing import Any, ClassVar, Self

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_rules


class _Typed:
    """What Python numbers with a dtype share; `plain` is the type of the number alone."""

    plain: ClassVar[type]
    dtype: np.dtype[Any]

    def __new__(cls, value: Any, dtype: Any) -> Self:
        made = super().__new__(cls, value)   # type: ignore[call-arg]
        made.dtype = np.dtype(dtype)
        return made

    def __getnewargs__(self) -> tuple[Any, ...]:
        return self.plain(self), self.dtype

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.plain(self)}, dtype={self.dtype.name})"

    @property
    def aval(self) -> ShapedArray:
        return ShapedArray((), self.dtype, True)


class TypedInt(_Typed, int):
    """An int with a dtype.

    >>> TypedInt(3, np.dtype("int8"))
    TypedInt(3, dtype=int8)
    """

    plain = int


class TypedFloat(_Typed, float):
    """A float with a dtype."""

    plain = float

    def __str__(self) -> str:
        return str(float(self))


class TypedComplex(_Typed, complex):
    """A complex number with a dtype."""

    plain = complex


class TypedNdArray(np.ndarray):
    """A NumPy array with the aval that it has as an argument."""

    aval: ShapedArray

    def __new__(cls, value: Any, aval: ShapedArray) -> Self:
        made = np.asarray(value).view(cls)
        made.aval = aval
        return made

    @property
    def weak_type(self) -> bool:
        return self.aval.weak_type


typed_scalar_types = (TypedInt, TypedFloat, TypedComplex)
aval_rules.update(dict.fromkeys(typed_scalar_types, lambda x: x.aval))
