"""The methods and properties of arrays and tracers: x.sum(), x.at, x.real, ..."""
from __future__ import annotations

import operator
import warnings
from types import ModuleType
from typing import Any

import numpy as np

from numjet import _native
from numjet.api.transfer import device_put
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.sharding.layouts import Format, Layout
from numjet.core.trace import Array, ArrayBase, Tracer
from numjet.core.user_functions import without_tapes
from numjet.foundation import dtypes, lazy_import, source
from numjet.numpy.core import arrays, shape_methods, taped, traced, views
from numjet.numpy.core.operators import OPERATORS, SEQUENCES, read_laid_out
from numjet.numpy.indexing import where
from numjet.numpy.indexing.update import IndexUpdateHelper
from numjet.numpy.reduction import reductions
from numjet.numpy.ufuncs import arithmetic
from numjet.runtime import dispatch

namespace_info = lazy_import.Module("numjet.numpy.core.namespace_info")
numpy_protocols = lazy_import.Module("numjet.numpy.core.numpy_protocols")
printing = lazy_import.Module("numjet.numpy.core.printing")
shards = lazy_import.Module("numjet.api.sharding.shards")


def _flat(self: Any) -> None:
    raise NotImplementedError("arrays do not have the arr.flat property, whose elements could be set: use arr.ravel()")


def _clip(self: Any, min: Any = None, max: Any = None) -> Any:
    """As numjet.numpy.clip."""
    return where.clip(self, min, max)


def _astype(self: Any, dtype: Any, copy: bool = False, device: Any = None) -> Any:
    """As numjet.numpy.astype."""
    return arrays.astype(self, dtype, copy=copy, device=device)


def _format(self: Any) -> Format:
    return Format(Layout.of_rank(self.ndim), shards.sharding_of(self))


def _copy(self: Any) -> Any:
    """As numjet.numpy.copy."""
    return arrays.copy(self)


def _to_device(self: Any, device: Any, *, stream: None = None) -> Any:
    """The array on a device. NotImplementedError for streams."""
    if stream is not None:
        raise NotImplementedError("stream argument of array.to_device(): devices have one queue")
    return device_put(self, device)


def _tobytes(self: Any, order: str = "C") -> bytes:
    """The elements' bytes, row by row."""
    return np.asarray(self).tobytes(order)  # type: ignore[arg-type]


def _namespace(module: ModuleType) -> Any:
    def __array_namespace__(self: Any, *, api_version: str | None = None) -> ModuleType:
        """numjet.numpy, for the array API standard."""
        if api_version not in (None, "2021.12", "2022.12", "2023.12", "2024.12"):
            raise ValueError(f"array API version {api_version!r} is not available: expected '2024.12' or before")
        return module
    return __array_namespace__


def array_namespace_info() -> Any:
    """The inspection functions of the array API standard, as `__array_namespace_info__`.

    >>> array_namespace_info().default_dtypes()["integral"].name
    'int32'
    """
    return namespace_info.ArrayNamespaceInfo()


def _addressable_data(self: Any, index: int) -> Any:
    """The part of the array on this process's device number `index`."""
    parts = shards.parts_of(self)
    if not -len(parts) <= index < len(parts):
        raise IndexError(f"addressable_data: the array has parts on {len(parts)} devices of this process, got index {index}")
    return parts[index]


def _item(self: Any, *args: Any) -> Any:
    """An element as a Python number: the only one, or the one at an index."""
    return self.item(*args)


def _numpy_dtype(self: Any) -> Any:
    """What NumPy asks when an array stands where a dtype belongs: the dtype, of arrays with a DeprecationWarning, as in JAX."""
    if isinstance(self, Tracer):
        return self.dtype
    warnings.warn("Implicit conversion of an array to a dtype is deprecated; rather than dtype=arr use dtype=arr.dtype. In the "
                  "future this will result in an error.", DeprecationWarning, stacklevel=source.user_stacklevel())
    return self.dtype


METHODS: dict[str, Any] = {
    **SEQUENCES,
    "at": property(IndexUpdateHelper, doc="Updates: x.at[idx].set(y), .add(y), ..., each a new array."),
    "sum": reductions.sum, "prod": reductions.prod, "max": reductions.max, "min": reductions.min, "any": reductions.any,
    "all": reductions.all, "argmax": reductions.argmax, "argmin": reductions.argmin, "ptp": reductions.ptp,
    "astype": _astype, "copy": _copy, "clip": _clip, "round": arithmetic.round,
    "conj": arithmetic.conjugate, "conjugate": arithmetic.conjugate,
    "real": property(arithmetic.real), "imag": property(arithmetic.imag),
    "view": views.view, "byteswap": views.byteswap, "flat": property(_flat), "to_device": _to_device,
    "__numpy_dtype__": property(_numpy_dtype),
}
METHODS |= shape_methods.METHODS
# Functions of numjet.numpy that most programs do without, imported when the method is first read.
DEFERRED = ("argpartition argsort choose cumprod cumsum diagonal mean nonzero repeat searchsorted sort std take trace "
            "var").split()
OF_ARRAYS: dict[str, Any] = {
    "addressable_data": _addressable_data, "devices": lambda self: set(shards.sharding_of(self).device_set),
    "copy_to_host_async": lambda self: None,
    "tobytes": _tobytes, "is_fully_addressable": property(lambda self: shards.sharding_of(self).is_fully_addressable),
    "is_fully_replicated": property(lambda self: shards.sharding_of(self).is_fully_replicated),
    "sharding": property(lambda self: shards.sharding_of(self)), "format": property(_format),
    "addressable_shards": property(lambda self: shards.shards_of(self)),
    "global_shards": property(lambda self: shards.global_shards_of(self)), "_committed": property(lambda self: self.committed),
    "_arrays": property(lambda self: None if self.is_deleted() else shards.parts_of(self)),
    "_check_if_deleted": lambda self: shards.check_not_deleted(self),
    "_fully_replicated_shard": lambda self: shards.parts_of(self)[0],
    "_npy_value": None,  # the memory is the host's, or a read brings it there and keeps it
    "platform": lambda self: next(iter(self.devices())).platform, "clone": _copy,
}


def _reduce(self: Any) -> tuple[Any, ...]:
    """Pickling of an array: its values on the host, which go to the default device when they are loaded."""
    return unpickled, (np.asarray(self._value), self.aval)


def unpickled(value: np.ndarray, aval: ShapedArray) -> Any:
    """The array that a pickle holds; 64 bits become 32 unless `jax_enable_x64` is set, as for every array made from NumPy's."""
    dtype = dtypes.canonicalize_dtype(aval.dtype)
    return dispatch.as_array(value if dtype == aval.dtype else value.astype(dtype), aval.update(dtype=dtype))


def _protocols(namespace: ModuleType) -> dict[str, Any]:
    """The methods of NumPy's dispatch protocols."""
    def __array_function__(self: Any, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
        return numpy_protocols.array_function(namespace, func, types, args, kwargs)

    def __array_ufunc__(self: Any, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
        return numpy_protocols.array_ufunc(namespace, ufunc, method, *inputs, **kwargs)
    return {"__array_function__": __array_function__, "__array_ufunc__": __array_ufunc__}


def _class_attributes(methods: dict[str, Any]) -> dict[str, Any]:
    """What libraries read from the class `numjet.Array`, which all arrays and tracers are instances of by isinstance: methods
    and properties that work on any of them."""
    properties = {name: value for name, value in vars(Tracer).items()
                  if isinstance(value, property) and name not in traced.ATTRIBUTES}
    named = {name: property(operator.attrgetter(name)) for name in ("committed", "device")}
    return {name: value for name, value in (named | properties | methods | {"item": _item}).items()
            if name == "at" or callable(value) or isinstance(value, property)}


def install(namespace: ModuleType) -> None:
    """Gives arrays and tracers their operators and methods; `namespace` is numjet.numpy."""
    operators = OPERATORS | shape_methods.OPERATORS
    with_tapes = {name: taped.operator(name, fn) for name, fn in operators.items()}
    for name, fn in with_tapes.items():
        _native.set_hook(name, fn)
    _native.set_hook("__repr__", lambda x: printing.repr_array(x))
    _native.set_hook("__str__", lambda x: printing.str_array(x))
    _native.set_hook("aval", ShapedArray)
    _native.set_hook("reduce", _reduce)
    named = {**METHODS, **shape_methods.METHODS, **_protocols(namespace),
             "__array_namespace__": _namespace(namespace)}
    methods = {name: taped.method(name, fn) for name, fn in named.items()}
    hooks.set_methods(methods | {name: taped.method(name, fn) for name, fn in OF_ARRAYS.items()}, Array)
    _native.set_hook("__new__", lambda *args, **kwargs: shards.array_of_parts(*args, **kwargs))
    hooks.set_methods(traced.ATTRIBUTES | operators | named, Tracer)
    hooks.with_tapes.update(with_tapes | methods | {"__getitem__": read_laid_out})
    hooks.set_methods(_class_attributes(operators | named | OF_ARRAYS), ArrayBase)
    for name in DEFERRED:
        method = lazy_import.Method(namespace.__name__, name)
        method.put(Array, name, lambda shown: shown)
        for kind in (Tracer, ArrayBase):
            method.put(kind, name, without_tapes)
