"""Arrays that write down the NumPy functions applied to them: eager slots become steps of tapes.

An eager slot made of ufuncs, selections and conversions is called once with such arrays, and each of these becomes a step; what
it computes of dtypes, shapes and constants is known. Whether any element is true is asked again by each run of the tape; where
the answer is another, the function runs itself. All else that a slot may do with an array, such as a test of a single value,
ends the recording with an exception, and the slot is called as a whole.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from numjet.api.tape_steps import Steps, Unsuited

_CONVERTED = frozenset(np.dtype(t) for t in "?bBhHiIlLqQefdFD")
_WEAK = (int, float, complex)


def converts(old: np.dtype, new: np.dtype) -> bool:
    """Whether there is a step that converts these dtypes."""
    return {old, new} <= _CONVERTED and (new.kind == "c" or old.kind != "c")


class SlotArray(NDArrayOperatorsMixin):
    """An operand or result of a function in an eager slot, by its number among the values of a tape."""

    __slots__ = ("number", "steps")

    def __init__(self, steps: Steps, number: int):
        self.steps, self.number = steps, number

    @property
    def value(self) -> np.ndarray:
        """The value that it has in the call that is recorded."""
        return self.steps.values[self.number]

    @property
    def dtype(self) -> np.dtype:
        return self.value.dtype

    @property
    def shape(self) -> tuple[int, ...]:
        return self.value.shape

    @property
    def ndim(self) -> int:
        return self.value.ndim

    @property
    def size(self) -> int:
        return self.value.size

    @property
    def real(self) -> Any:
        return self._part(0) if self.dtype.kind == "c" else self

    @property
    def imag(self) -> Any:
        return self._part(1) if self.dtype.kind == "c" else np.zeros_like(self.value)

    def _part(self, which: int) -> SlotArray:
        """The real or the imaginary part."""
        out = np.ascontiguousarray(self.value.imag if which else self.value.real).reshape(self.shape)
        flat = out.dtype.itemsize * 2
        strides = [flat * int(np.prod(self.shape[d + 1:])) for d in range(self.ndim)]
        return self._made("part", (which * out.dtype.itemsize, tuple(strides)), out)

    def astype(self, dtype: Any, copy: bool = True) -> SlotArray:
        """Converted: floats to integers, which NumPy does not define out of bounds, are left to the slot."""
        old, new = self.dtype, np.dtype(dtype)
        if new == old:
            return self
        if not converts(old, new) or (old.kind == "f" and new.kind in "iu"):
            raise Unsuited
        return self._made("convert", None, self.value.astype(new))

    def view(self, dtype: Any) -> SlotArray:
        """The same bits in another dtype of that size."""
        new = np.dtype(dtype)
        if new.itemsize != self.dtype.itemsize:
            raise Unsuited
        return self if new == self.dtype else self._made("share", None, self.value.view(new))

    def spread(self, shape: tuple[int, ...]) -> SlotArray:
        """Of that shape: itself, or a number repeated."""
        if self.shape == shape:
            return self
        if self.ndim:
            raise Unsuited
        return self._made("part", (0, (0,) * len(shape)), np.broadcast_to(self.value, shape).copy())

    def any(self) -> bool:
        """Whether an element is true, in the recorded call and all that the tape runs for."""
        found = bool(self.value.any())
        if self.dtype != bool:
            raise Unsuited
        self.steps.write("guard", (self.number,), found, np.asarray(found))
        return found

    def _made(self, kind: str, more: Any, out: np.ndarray) -> SlotArray:
        return SlotArray(self.steps, self.steps.write(kind, (self.number,), more, out))

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> SlotArray:
        if method != "__call__" or kwargs or ufunc.nout != 1:
            raise Unsuited
        dtypes = ufunc.resolve_dtypes((*map(_type_of, inputs), None))
        number = loop_number(ufunc, dtypes)
        operands = [_converted(self.steps, x, t) for x, t in zip(inputs, dtypes, strict=False)]
        if number is None:
            raise Unsuited
        return SlotArray(self.steps, self.steps.write(
            "loop", tuple(operands), (ufunc, number), ufunc(*[self.steps.values[n] for n in operands])))

    def __array_function__(self, function: Any, types: Any, args: Sequence[Any], kwargs: dict[str, Any]) -> Any:
        if kwargs or function not in _FUNCTIONS:
            raise Unsuited
        return _FUNCTIONS[function](self.steps, *args)

    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray:
        raise Unsuited

    def __bool__(self) -> bool:
        raise Unsuited

    def __pow__(self, other: Any) -> Any:
        raise Unsuited   # NumPy's operator chooses between ufuncs

    __rpow__ = __pow__


class NewComplex(SlotArray):
    """A complex array whose parts are set one after the other."""

    __slots__ = ("parts", "size_of_parts", "type")

    def __init__(self, steps: Steps, shape: tuple[int, ...], dtype: np.dtype):
        self.steps, self.size_of_parts, self.type = steps, shape, dtype
        self.parts: dict[int, SlotArray] = {}

    def _set(self, which: int, x: Any) -> None:
        part = np.dtype(f"f{self.type.itemsize // 2}")
        made = SlotArray(self.steps, _converted(self.steps, x, part)).spread(self.size_of_parts)
        self.parts[which] = made
        if len(self.parts) < 2:
            return
        re, im = self.parts[0], self.parts[1]
        both = np.stack([re.value, im.value], -1)
        number = self.steps.write("join", (re.number, im.number), re.value.size, both)
        self.number = self.steps.write("share", (number,), None, both.view(self.type).reshape(self.size_of_parts))

    real = property(SlotArray.real.fget, lambda self, x: self._set(0, x))   # type: ignore[attr-defined]
    imag = property(SlotArray.imag.fget, lambda self, x: self._set(1, x))   # type: ignore[attr-defined]


def loop_number(ufunc: np.ufunc, dtypes: Sequence[np.dtype]) -> int | None:
    """The number of a ufunc's inner loop for operands of these dtypes, the result last; None: it has none."""
    *ins, out = (t.char for t in dtypes)
    types = f"{''.join(ins)}->{out}"
    return ufunc.types.index(types) if types in ufunc.types else None


def _type_of(x: Any) -> Any:
    """What decides, of an operand, about the dtype of a result: Python's numbers give way."""
    if type(x) in _WEAK:
        return type(x)
    return x.dtype if isinstance(x, SlotArray) else np.asarray(x).dtype


def _converted(steps: Steps, x: Any, dtype: np.dtype) -> int:
    """The number of an operand in a dtype."""
    return x.astype(dtype).number if isinstance(x, SlotArray) else steps.constant(np.asarray(x, dtype))


def _where(steps: Steps, mask: Any, x: Any, y: Any) -> SlotArray:
    dtype = np.result_type(*[v.dtype if isinstance(v, SlotArray) else v for v in (x, y)])
    which, *chosen = _converted(steps, mask, np.dtype(bool)), _converted(steps, x, dtype), _converted(steps, y, dtype)
    out = np.where(*[steps.values[n] for n in (which, *chosen)])
    return SlotArray(steps, steps.write("select", (which, *chosen[::-1]), None, out))


def _new(steps: Steps, like: SlotArray, dtype: Any) -> NewComplex:
    if np.dtype(dtype).kind != "c" or not like.size:
        raise Unsuited
    return NewComplex(steps, like.shape, np.dtype(dtype))


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.where: _where, np.any: lambda _, x: x.any(), np.empty_like: _new, np.zeros_like: lambda _, x: np.zeros_like(x.value),
    np.ones_like: lambda _, x: np.ones_like(x.value), np.real: lambda _, x: x.real, np.imag: lambda _, x: x.imag}
