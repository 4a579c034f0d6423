"""Foreign calls: the operation that calls a C function with the memory of arrays."""
from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import addressof, c_void_p
from typing import Any

import numpy as np

from numjet.api.ffi import c_api, host_api, targets
from numjet.api.ffi.frames import Memory
from numjet.control.host.foreign_call import check_method, ffi_call_p
from numjet.control.host.python_calls import HostFunction, results_of
from numjet.core.aval import ShapedArray
from numjet.core.trace import aval_of, is_array_like
from numjet.foundation import dtypes, locks
from numjet.foundation.errors import JaxRuntimeError
from numjet.foundation.record import Record
from numjet.foundation.tree import tree_structure
from numjet.lax.rng import key_words

_ALIGNMENT = 64
_HANDLER = ctypes.CFUNCTYPE(c_void_p, c_void_p)
_UNTYPED = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)
Layout = tuple[int, ...] | None


class _Call(Record):
    """What a foreign call says about its target. layouts: the axes from the slowest to the fastest; aliases: of operands, the
    results in whose memory they are passed."""
    name: str
    typed: bool
    attributes: dict[str, Any]
    in_layouts: tuple[Layout, ...]
    out_layouts: tuple[Layout, ...]
    aliases: dict[int, int]


class ForeignFunction(HostFunction):
    """A C function as a host function. Its state is made by the stage `instantiate`, once."""

    def __init__(self, call: _Call, outs: Sequence[ShapedArray], batch_axes: int = 0):
        super().__init__("ffi_call", self.__call__, tree_structure(()), outs)
        self.call, self.batch_axes = call, batch_axes
        self.memory = Memory()
        self.attributes = self.memory.attributes(call.attributes)
        self.context = self.memory.keep((c_void_p * len(c_api.STAGES))())  # the state of each stage
        self.lock, self.instantiated = locks.lock(), False

    def promising(self, outs: Sequence[ShapedArray]) -> ForeignFunction:
        return ForeignFunction(self.call, outs, self.batch_axes + 1)

    def where(self) -> str:
        return self.call.name

    def __call__(self, *operands: np.ndarray) -> list[np.ndarray]:
        call = self.call
        ins = [_laid_out(x, self._order(layout)) for x, layout in zip(operands, call.in_layouts, strict=True)]
        outs = [_result(aval, self._order(layout)) for aval, layout in zip(self.outs, call.out_layouts, strict=True)]
        places = [x.ctypes.data for x in ins]
        for i, k in call.aliases.items():
            outs[k][...] = ins[i]
            places[i] = outs[k].ctypes.data
        results = [x.ctypes.data for x in outs]
        target = targets.target(call.name)
        if call.typed != bool(target.api_version):
            raise JaxRuntimeError(f"ffi_call: {call.name} was registered with api_version {target.api_version}: it takes "
                                  f"custom_call_api_version={4 if target.api_version else 1}")
        if call.typed:
            self._run_stages(target, operands, places, results)
        else:
            _run_untyped(target, places, results)
        return [_logical(x, self._order(layout)) for x, layout in zip(outs, call.out_layouts, strict=True)]

    def _order(self, layout: Layout) -> Layout:
        """A layout with the axes of batches in front."""
        return None if layout is None else (*range(self.batch_axes), *(axis + self.batch_axes for axis in layout))

    def _run_stages(self, target: targets.Target, operands: Sequence[np.ndarray], places: Sequence[int],
                    results: Sequence[int]) -> None:
        memory = Memory()
        args = memory.buffers([(x.dtype, x.shape) for x in operands], places)
        rets = memory.buffers([(a.dtype, a.shape) for a in self.outs], results)
        frame = lambda stage: memory.frame(c_api.STAGES[stage], self.context, args, rets, self.attributes)
        with self.lock:
            if "instantiate" in target.stages and not self.instantiated:
                _handle(target, "instantiate", frame("instantiate"))
            self.instantiated = True
        for stage in ("prepare", "initialize", "execute"):
            if stage in target.stages:
                _handle(target, stage, frame(stage))


def _handle(target: targets.Target, stage: str, frame: int) -> None:
    """Calls a handler, without Python's lock. JaxRuntimeError for the error that it returns."""
    error = _HANDLER(target.stages[stage])(frame)
    if error:
        code, message = host_api.take_error(error)
        raise JaxRuntimeError(f"ffi_call: {target.name} failed in stage {stage} with code {code}: {message}")


def _run_untyped(target: targets.Target, places: Sequence[int], results: Sequence[int]) -> None:
    ins = (c_void_p * max(len(places), 1))(*places)
    several = (c_void_p * max(len(results), 1))(*results)
    _UNTYPED(target.stages["execute"])(results[0] if len(results) == 1 else addressof(several), addressof(ins))


# ------------------------------------------------------------------------------------------------ memory

def _aligned(shape: Sequence[int], dtype: np.dtype) -> np.ndarray:
    """A new array whose elements start at a multiple of 64 bytes, as handlers may expect."""
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    raw = np.empty(size + _ALIGNMENT, np.uint8)
    start = -raw.ctypes.data % _ALIGNMENT
    return raw[start:start + size].view(dtype).reshape(shape)


def _laid_out(x: np.ndarray, order: Layout) -> np.ndarray:
    """An operand with its axes in memory in that order."""
    x = x if order is None else x.transpose(order)
    if x.flags.c_contiguous and x.ctypes.data % _ALIGNMENT == 0:
        return x
    made = _aligned(x.shape, x.dtype)
    made[...] = x
    return made


def _result(aval: ShapedArray, order: Layout) -> np.ndarray:
    """Memory of a result, its axes in that order."""
    return _aligned(aval.shape if order is None else [aval.shape[d] for d in order], aval.dtype)


def _logical(x: np.ndarray, order: Layout) -> np.ndarray:
    """A result with its axes in the user's order."""
    return x if order is None else np.ascontiguousarray(x.transpose(np.argsort(order)))


# ------------------------------------------------------------------------------------------------ the user's call

def ffi_call(target_name: str, result_shape_dtypes: Any, *, has_side_effect: bool = False, vmap_method: str | None = None,
             input_layouts: Sequence[Any] | None = None, output_layouts: Any = None,
             input_output_aliases: Mapping[int, int] | None = None, custom_call_api_version: int = 4,
             legacy_backend_config: Any = None) -> Callable[..., Any]:
    """A function of arrays that calls a C function, registered with `register_ffi_target`, from within compiled programs, too.

    Args:
      target_name: the registered name.
      result_shape_dtypes: one object, or a sequence of objects, with shape and dtype.
      has_side_effect: whether the call happens even if its results are not used.
      vmap_method: how a batch is called, as for pure_callback; None: "sequential".
      input_layouts, output_layouts: for each array None (row-major), or its axes from the slowest to the fastest in memory.
      input_output_aliases: {operand: result}: operands that are passed in the memory of a result, of the same shape and dtype.
      custom_call_api_version: 4 for handlers of XLA's typed FFI; 1 for `void f(void* out, void** ins)`.

    Returns:
      function(*arrays, **attributes) that returns the array, or a list of arrays for a sequence of results. Attributes are
      numbers (Python's are 64 bits wide), text, NumPy arrays of rank 1, and dictionaries of such.

    Random keys are passed and returned as their words, uint32 with trailing axes, which layouts count.
    The call needs no header and no jaxlib; the handler runs without Python's lock, in the thread of the program.
    Raises ValueError under differentiation (define `custom_vjp` around it), for other versions, layouts and aliases, and for
    dtypes that C does not have; JaxRuntimeError for errors of the handler, and for names that are not registered.
    """
    if custom_call_api_version == 4 and legacy_backend_config is not None:
        raise ValueError("ffi_call: The use of the legacy_backend_config parameter requires custom_call_api_version < 4; got "
                         "4")
    if custom_call_api_version not in (1, 4) or legacy_backend_config is not None:
        raise ValueError("ffi_call: custom_call_api_version must be 4 (handlers of XLA's typed FFI) or 1 (void f(void* out, "
                         "void** ins)), and legacy_backend_config must be None: others need functions of XLA's library; got "
                         f"version {custom_call_api_version!r} and {legacy_backend_config!r}. The use of ffi_call attributes "
                         "requires version 4")
    _check_structs(result_shape_dtypes)
    method = "sequential" if vmap_method is None else vmap_method
    check_method(method)
    several = isinstance(result_shape_dtypes, Sequence)
    promised, _ = results_of("ffi_call", list(result_shape_dtypes) if several else [result_shape_dtypes])
    outs = [_in_words(aval) for aval in promised]
    given = output_layouts if several or output_layouts is None else [output_layouts]
    out_layouts = _layouts("output_layouts", given, [a.ndim for a in outs])

    def wrapped(*args: Any, **attributes: Any) -> Any:
        for x in args:
            if not is_array_like(x):
                raise TypeError(f"ffi_call of {target_name}: operands must be arrays or numbers, got {x!r} of type {type(x)}; "
                                "pass other values by name")
        if attributes and custom_call_api_version != 4:
            raise ValueError(f"ffi_call of {target_name}: The use of ffi_call attributes requires a custom call API version of "
                             f"at least 4; got api_version={custom_call_api_version}")
        words = [key_words.unwrap(x) if dtypes.is_key(aval_of(x).dtype) else x for x in args]
        avals = [aval_of(x) for x in words]
        for aval in (*avals, *outs):
            c_api.number_of(aval.dtype)
        in_layouts = _layouts("input_layouts", input_layouts, [a.ndim for a in avals])
        aliases = _aliases(input_output_aliases, avals, outs)
        call = _Call(str(target_name), custom_call_api_version == 4, attributes, in_layouts, out_layouts, aliases)
        made = ForeignFunction(call, outs)
        found = ffi_call_p.bind(*words, callback=made, vmap_method=method, has_side_effect=bool(has_side_effect))
        results = [key_words.wrap(x, a.dtype) if dtypes.is_key(a.dtype) else x for x, a in zip(found, promised, strict=True)]
        return list(results) if several else results[0]
    return wrapped


def _check_structs(given: Any) -> None:
    """ValueError for results that say no shape or dtype."""
    for k, struct in enumerate(given if isinstance(given, Sequence) else [given]):
        if not hasattr(struct, "shape") or not hasattr(struct, "dtype"):
            raise ValueError("ffi_call: All elements of result_shape_dtypes must have 'shape' and 'dtype' attributes. Got "
                             f"{struct!r} at position {k}")


def _in_words(aval: ShapedArray) -> ShapedArray:
    """What C sees of an array: the words of random keys."""
    return ShapedArray((*aval.shape, *dtypes.key_shape(aval.dtype)), dtypes.uint32) if dtypes.is_key(aval.dtype) else aval


def _layouts(what: str, given: Sequence[Any] | None, ranks: Sequence[int]) -> tuple[Layout, ...]:
    if given is None:
        return (None,) * len(ranks)
    if len(given) != len(ranks):
        raise ValueError(f"ffi_call: {what} must have one entry for each of {len(ranks)} arrays, got {len(given)}")
    return tuple(_layout(what, layout, rank) for layout, rank in zip(given, ranks, strict=True))


def _layout(what: str, given: Any, rank: int) -> Layout:
    if given is None:
        return None
    order = tuple(getattr(given, "major_to_minor", given))
    if sorted(order) != list(range(rank)):
        raise ValueError(f"ffi_call: {what} must hold each axis of an array of rank {rank} once, got {given!r}")
    return order


def _aliases(given: Mapping[int, int] | None, ins: Sequence[ShapedArray], outs: Sequence[ShapedArray]) -> dict[int, int]:
    for i, k in (given or {}).items():
        for side, at, count in (("input", i, len(ins)), ("output", k, len(outs))):
            if not 0 <= at < count:
                raise ValueError(f"ffi_call: input_output_aliases contains the mapping '{i}:{k}' with {side} index {at} "
                                 f"outside the range [0, {count})")
        if (ins[i].shape, ins[i].dtype) != (outs[k].shape, outs[k].dtype):
            raise ValueError(f"ffi_call: input_output_aliases contains the mapping '{i}:{k}' referring to an input with "
                             f"abstract value {ins[i]} and an output with a different abstract value {outs[k]}: both must "
                             "have the same shape and dtype")
    return dict(given or {})
