"""Traces, which handle operations, and tracers, which stand for values while a function is traced.

The current trace (thread-local) sees every operation. A transformation makes its trace current while the user's
function runs; its rules run with the parent trace current. Values of other traces are constants to it, so nested
transformations, closures and recursion cannot be confused.
"""
from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any, TypeAlias, Union

import numpy as np

from numjet import _native
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.ir import Literal
from numjet.foundation import dtypes, errors, source, types

Array = _native.Array


class Trace:
    """Base of all traces. `process` handles one operation; `valid` ends with the transformation.

    A user's trace defines `process_primitive` instead, and perhaps what a function with rules of its own means to it.
    """

    __slots__ = ("valid", "__weakref__")
    valid: bool

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        made = object.__new__(cls)
        made.valid = True
        return made

    def process(self, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        whole = getattr(op, "whole", None)
        return self.process_primitive(op, [hooks.user_value(a) for a in (args if whole is None else whole(args))], params)

    def process_primitive(self, primitive: Any, tracers: Sequence[Any], params: dict[str, Any], /) -> Any:
        """Handles one operation."""
        if type(self).process is Trace.process:
            raise NotImplementedError(f"{type(self).__name__} must define process_primitive(primitive, tracers, params)")
        return self.process(primitive, tracers, params)

    def process_call(self, call_primitive: Any, f: Any, tracers: Sequence[Any], params: dict[str, Any], /) -> Any:
        """Handles a call of a function by a call primitive; users' traces may override it."""
        return f.call_wrapped(*tracers)

    def process_custom_jvp_call(self, primitive: Any, fun: Any, jvp: Any, tracers: Sequence[Any], /, *,
                                symbolic_zeros: bool) -> Any:
        """Handles a call of a custom_jvp function; users' traces may override it."""
        raise NotImplementedError(f"{type(self).__name__} must define process_custom_jvp_call to handle {primitive.name}")

    def process_custom_vjp_call(self, primitive: Any, fun: Any, fwd: Any, bwd: Any, tracers: Sequence[Any], /, *,
                                out_trees: Any, symbolic_zeros: bool) -> Any:
        """Handles a call of a custom_vjp function; users' traces may override it."""
        raise NotImplementedError(f"{type(self).__name__} must define process_custom_vjp_call to handle {primitive.name}")

    def handler(self, args: Sequence[Any]) -> tuple[Trace, Sequence[Any]]:
        """The trace that handles a call of a function with rules of its own, and the operands that it gets."""
        return self, args

    @property
    def known_as(self) -> str:
        """The name of such traces in messages, which people search for."""
        return type(self).__name__

    def hold(self, x: Any) -> Any:
        """An array that a function made of known values while it is traced, as the outermost program holds it: a tracer of a
        constant where there is a program, else the array itself."""
        parent = getattr(self, "parent", None)
        return x if parent is None else parent.hold(x)

    def full_raise(self, x: Any) -> Any:
        """The value itself: what a trace makes of values of others is its own matter."""
        return x

    @property
    def main(self) -> Any:
        """What the traces of one transformation share: a user's `tag`, or the trace."""
        return getattr(self, "tag", self)

    def is_valid(self) -> bool:
        """Whether the transformation still runs."""
        return self.valid

    def invalidate(self) -> None:
        """Ends the trace: its tracers can no longer be used."""
        self.valid = False


class EvalTrace(Trace):
    """Runs operations now."""

    __slots__ = ()

    def process(self, op: Any, args: Sequence[Any], params: dict[str, Any]) -> Any:
        return hooks.evaluate(op, args, params)


EVAL = EvalTrace()
_native.set_eval_trace(EVAL)
current_trace: Callable[[], Trace] = _native.current_trace


def set_trace(trace: Trace) -> _native.Scope:
    """A block in which a trace is the current one of this thread."""
    return _native.Scope(_native.thread, "trace", trace)


def held(x: Any) -> Any:
    """A new array as the function that is being traced holds it: its numbers are part of the program, and tracers as in JAX,
    by which libraries find out whether a function is traced."""
    return x if type(x) is not Array or current_trace() is EVAL else current_trace().hold(x)


class ArrayMeta(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, (_native.Array, Tracer))

    def __subclasscheck__(cls, subclass: type) -> bool:
        return subclass is _native.Array or type.__subclasscheck__(cls, subclass)


class ArrayBase(metaclass=ArrayMeta):
    """`numjet.Array`: for annotations and isinstance; true for arrays and for tracers.

    >>> import numjet as nj
    >>> isinstance(nj.numpy.ones(2), nj.Array), isinstance(1.0, nj.Array)
    (True, False)
    """


ArrayLike: TypeAlias = Union[ArrayBase, types.ArrayLike]  # noqa: UP007


def type_text(aval: ShapedArray | None) -> str:
    """`~float32[2]`: dtype and shape, after a tilde where the type is weak; None for a user's tracer without one."""
    return f"{'~' if aval is not None and aval.weak_type else ''}{aval}"


class Tracer:
    """Stands for an array while a function is traced. Its methods come from hooks.set_methods."""

    __slots__ = ("_trace", "aval", "__weakref__")
    __array_priority__ = 1000
    __hash__ = None  # type: ignore[assignment]
    _trace: Trace
    aval: ShapedArray

    def __init__(self, trace: Trace, aval: ShapedArray):
        self._trace, self.aval = trace, aval

    shape = property(lambda self: self.aval.shape)
    mat = property(lambda self: self.aval.mat, doc="What types of shards say of axes of the mesh.")
    dtype = property(lambda self: self.aval.dtype)
    ndim = property(lambda self: self.aval.ndim)
    size = property(lambda self: self.aval.size)
    weak_type = property(lambda self: self.aval.weak_type)
    nbytes = property(lambda self: self.aval.nbytes)
    itemsize = property(lambda self: self.aval.dtype.itemsize)

    @property
    def sharding(self) -> Any:
        raise AttributeError(f"The 'sharding' attribute is not available on traced array with shape {self.aval.str_short()}. "
                             "To query sharding information on tracers, use `jax.typeof(x)`.")

    def __len__(self) -> int:
        return len(self.aval)

    def as_array(self) -> Any:
        """The same value; a number of Python that a derivative is taken of becomes an array."""
        return self

    def concrete(self) -> Any:
        """The value, where it can be known while tracing; else None."""
        return None

    def numbers(self) -> Any:
        """The value for what computes outside of the trace (NumPy, `float`), where nothing is lost by that; else None."""
        return self.concrete()

    def given(self) -> Any:
        """The value, where the traced function made it of known values and nothing was computed; else None."""
        return None

    def origin_text(self) -> str:
        """The argument that the value depends on, and the location of that argument's function."""
        return ""

    def made_at(self) -> Any:
        """The user's frame (foundation.source.Frame) that made the value, or None."""
        return None

    _origin_text = property(lambda self: self.origin_text)

    def full_lower(self) -> Any:
        """The value itself: tracers are unwrapped by their traces only."""
        return self

    def to_concrete_value(self) -> Any:
        """The value, where operations are evaluated, as in derivatives outside of `jit`; else None.

        In a program that is being written no value counts as known, not even a constant's, which `concrete` has: libraries ask
        this to find out whether they are inside of `jit`.
        """
        return None

    def __bool__(self) -> bool:
        if self.aval.shape != () and (self.aval.size != 1 or self.concrete() is None):
            raise _size_error(self.aval)
        return bool(_known(self, errors.TracerBoolConversionError))

    def __int__(self) -> int:
        return int(_known(self, _by_conversion(self, "int")))   # a step function, so no derivative is lost

    def __float__(self) -> float:
        return float(_numbers(self, _by_conversion(self, "float")))

    def __complex__(self) -> complex:
        return complex(_numbers(self, _by_conversion(self, "complex")))

    def __index__(self) -> int:
        if self.aval.shape != () or self.aval.dtype.kind not in "iu":
            raise TypeError(f"Only integer scalar arrays can be converted to a scalar index. Got {self.aval}.")
        return int(_known(self, errors.TracerIntegerConversionError))

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.asarray(_numbers(self, errors.TracerArrayConversionError), dtype)

    def tolist(self) -> Any:
        return _numbers(self, _by_method("tolist")).tolist()

    def tobytes(self, order: str = "C") -> bytes:
        return _numbers(self, _by_method("tobytes")).tobytes(order)  # type: ignore[arg-type]

    def item(self, *index: int) -> Any:
        return _known(self, _by_method("item")).item(*index)

    def block_until_ready(self) -> Any:
        return self

    def lane_parts(self, lanes: Any) -> Sequence[tuple[Any, Any]]:
        """The values that it consists of, with their lanes (see core.lanes), given those of this one."""
        return ()

    def _type_repr(self) -> str:
        """Its kind and its type, as messages name it."""
        return f"{type(self).__name__}({type_text(self.aval)})"

    def __repr__(self) -> str:
        return self._type_repr()

    def __format__(self, spec: str) -> str:
        value = self.concrete() if spec else self
        if value is None:
            raise TypeError(f"cannot format {self._type_repr()} as {spec!r}: it is traced, and its value is not known yet. "
                            f"Use jax.debug.print('{{x:{spec}}}', x=x), which prints the value when the program runs.")
        return str(self) if value is self else format(np.asarray(value)[()], spec)

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise errors.ConcretizationTypeError(
            self, "The error occurred in the __reduce__ method, which may indicate an attempt to serialize/pickle a traced "
            "value.")


def _by_conversion(tracer: Tracer, name: str) -> Callable[[Tracer], Exception]:
    """The error of the conversion `name` to a Python scalar; TypeError for what is no scalar."""
    if tracer.aval.shape:
        raise TypeError(f"Only scalar arrays can be converted to Python scalars. Got {tracer.aval}.")
    context = f"The problem arose with the `{name}` function. Try using `x.astype({name})`, which works on traced arrays."
    return lambda t: errors.ConcretizationTypeError(t, context)


def _size_error(aval: ShapedArray) -> Exception:
    if not aval.size:
        return ValueError(f"The truth value of an empty array is ambiguous. Got {aval}; use `x.size > 0` to ask whether an "
                          "array is empty.")
    return ValueError(f"The truth value of an array with {'more than one' if aval.size > 1 else 'one'} element is ambiguous. "
                      f"Got {aval}; use a.any() or a.all().")


def _by_method(name: str) -> Callable[[Tracer], Exception]:
    """The error of a method that needs numbers."""
    return lambda tracer: errors.ConcretizationTypeError(
        tracer, f"The {name}() method was called on traced array with shape {tracer.aval.str_short()}.")


def _known(tracer: Tracer, error: Callable[[Tracer], Exception]) -> np.ndarray:
    """The NumPy value of a tracer that depends on no input; raises `error` otherwise."""
    value = tracer.concrete()
    if value is None:
        raise error(tracer)
    if isinstance(value, Tracer):
        return _known(value, error)
    return np.asarray(value)


def _numbers(tracer: Tracer, error: Callable[[Tracer], Exception]) -> np.ndarray:
    """As _known, and raises `error` for a tracer that a derivative is taken of, which would be lost without a word."""
    value = tracer.numbers()
    if value is None:
        raise error(tracer)
    return _numbers(value, error) if isinstance(value, Tracer) else np.asarray(value)


def _scalar_aval(x: Any) -> ShapedArray:
    dtype = dtypes.python_scalar_dtype(type(x))
    if type(x) is int:
        dtypes.check_int_fits(x, dtype)
    return ShapedArray((), dtype, type(x) is not bool)


def _numpy_aval(x: Any) -> ShapedArray:
    dtype = dtypes.canonicalize_dtype(x.dtype)
    if not dtypes.is_array_dtype(dtype):
        raise TypeError(f"Cannot interpret value of dtype {x.dtype} as an array: it is not a valid JAX type. Numbers and "
                        "booleans are supported.")
    return ShapedArray(x.shape, dtype)


def is_masked(x: Any) -> bool:
    """Whether x is a masked array of NumPy, whose module is imported wherever there are any (perhaps just now)."""
    kind = getattr(sys.modules.get("numpy.ma"), "MaskedArray", None)
    return kind is not None and isinstance(x, kind)


def _subclass_aval(x: Any) -> ShapedArray:
    if is_masked(x):
        raise ValueError("numpy masked arrays are not supported as direct inputs to JAX functions: arrays have no mask. Use "
                         "arr.filled() to convert the value to a standard numpy array.")
    return _numpy_aval(x)


aval_rules: dict[type, Callable[[Any], ShapedArray]] = {
    bool: _scalar_aval, int: _scalar_aval, float: _scalar_aval, complex: _scalar_aval,
    np.ndarray: _numpy_aval, Array: lambda x: x.aval, Literal: lambda x: x.aval,
}


def is_users(trace: Trace) -> bool:
    """Whether a user defined the trace: it gets operations by process_primitive."""
    return type(trace).process is Trace.process


def aval_of(x: Any) -> ShapedArray:
    """The aval of an array, tracer, NumPy value or Python scalar.

    Raises TypeError, with the value and its type, for anything else.
    """
    rule = aval_rules.get(type(x))
    if rule is not None:
        return rule(x)
    if isinstance(x, Tracer):
        return x.aval
    if isinstance(x, (np.ndarray, np.generic)):
        return _subclass_aval(x)
    for base in (bool, int, float, complex):
        if isinstance(x, base):
            return _scalar_aval(base(x))  # type: ignore[arg-type]
    if hasattr(x, "__jax_array__"):
        return aval_of(x.__jax_array__())
    raise TypeError(f"Value {x!r} with type {type(x)} is not a valid JAX type: expected an array, a NumPy array "
                    f"or a Python scalar. Pass static data through static_argnums or a closure.")


def is_array_like(x: Any) -> bool:
    """Whether aval_of accepts x."""
    return (type(x) in aval_rules or isinstance(x, (Tracer, np.ndarray, np.generic, bool, int, float, complex))
            or hasattr(x, "__jax_array__"))


def escaped(tracer: Tracer) -> Exception:
    """The error for a tracer used outside the function that made it."""
    frame, debug = tracer.made_at(), getattr(tracer._trace, "debug", None)
    return errors.UnexpectedTracerError(tracer, source.on_line(frame) if frame is not None else "",
                                        f"{debug.where()} traced for {debug.kind}" if debug is not None else "")
