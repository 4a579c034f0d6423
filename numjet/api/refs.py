"""Mutable references for users: `new_ref`, `get`, `set`, `swap`, `addupdate`, `freeze`, and the methods of `Ref`."""
from __future__ import annotations

import itertools
from typing import Any

import numpy as np

from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.core.refs import KINDS, Ref, is_local, read, write
from numjet.core.snapshots import frozen
from numjet.core.trace import Tracer, aval_of, is_array_like
from numjet.foundation import dtypes, source, tree
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.indexing.index_slices import Slice
from numjet.lax.tangent import zeros_like_aval
from numjet.runtime.dispatch import as_array


def new_ref(init_val: Any, *, memory_space: Any = None, kind: str | None = None) -> Ref:
    """Makes a mutable reference to an array.

    `ref[...]` reads it, `ref[i] = x` and `ref[i] += x` write; functions may close over it or take it as an argument, under jit,
    grad, vmap and in loops. Compiled programs update its memory in place.

    Args:
      init_val: the first value, an array or scalar; it is not changed by later writes.
      memory_space: None, or the kind of memory that the device has: on the CPU there is one.
      kind: "no_grad_no_remat": writes of differentiated values drop the derivative, where they would raise otherwise.

    Returns:
      The reference, of type `Ref`, which has shape and dtype.

    Raises:
      TypeError: the value is no array, or is a reference.

    >>> import numjet as nj
    >>> total = nj.new_ref(0.0)
    >>> @nj.jit
    ... def count(x):
    ...     total[...] += x
    >>> count(1.0), count(2.0)
    (None, None)
    >>> float(total[...])
    3.0
    """
    if isinstance(init_val, Ref):
        raise TypeError(f"new_ref: expected an array, got a reference of type {init_val.aval}. Read it first: ref[...].")
    if not is_array_like(init_val):
        raise TypeError(f"Error interpreting argument to new_ref as a JAX value. The problematic value is of type "
                        f"{type(init_val)}: expected an array or a scalar.")
    if kind not in KINDS:
        raise ValueError(f"new_ref: kind must be None or 'no_grad_no_remat', got {kind!r}")
    _check_memory(memory_space)
    value = frozen(init_val)
    return Ref(aval_of(value), _array(value), kind, made_at=_here())


def empty_ref(ty: Any, memory_space: Any = None) -> Ref:
    """Makes a mutable reference to an array whose elements are not said: write before you read. (They are zeros.)

    Args:
      ty: anything with shape and dtype, such as a ShapeDtypeStruct.
      memory_space: as for new_ref.

    >>> import numjet as nj
    >>> empty_ref(nj.ShapeDtypeStruct((2,), "float32")).shape
    (2,)
    """
    _check_memory(memory_space)
    if not hasattr(ty, "shape") or not hasattr(ty, "dtype"):
        raise TypeError(f"empty_ref: expected something with shape and dtype, such as a ShapeDtypeStruct, got {ty!r}")
    aval = ShapedArray(tuple(ty.shape), dtypes.canonicalize_dtype(dtypes.as_dtype(ty.dtype)), getattr(ty, "weak_type", False))
    return Ref(aval, _array(zeros_like_aval(aval)), made_at=_here())


def _check_memory(memory_space: Any) -> None:
    if memory_space is not None and str(memory_space) not in ("device", "MemorySpace.Device", "Device"):
        raise NotImplementedError(f"memory_space={memory_space!r} is not supported: references live in the memory of the "
                                  "device. Leave it out.")


def _here() -> str | None:
    frame = source.operation_frame()
    return None if frame is None else f"created on line {frame.file}:{frame.line} ({frame.function})"


def _array(value: Any) -> Any:
    return value if isinstance(value, Tracer) else as_array(value)


def get(ref: Ref | _Part, idx: Any = None) -> Any:
    """The value of a reference, or the part of it that an index names.

    Args:
      ref: the reference.
      idx: None (all of it), or an index as of an array.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.ref.get(nj.new_ref(jnp.arange(3)), slice(1, None)).tolist()
    [1, 2]
    """
    if isinstance(ref, _Part):
        return ref[idx]
    _check_ref("get", ref)
    value = read(ref)
    if _is_all(idx):
        return value
    _check_bounds(ref, idx)
    return value[idx]


def swap(ref: Ref | _Part, idx: Any, value: Any, _function_name: str = "ref_swap") -> Any:
    """Writes a part of a reference and returns what was there.

    Args:
      ref: the reference.
      idx: None or ... (all of it), or an index as of an array.
      value: an array of the shape of the part and the dtype of the reference (weakly typed values adapt).

    Raises:
      ValueError: another shape or dtype.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> int(nj.ref.swap(nj.new_ref(jnp.arange(3)), 1, 5))
    1
    """
    if isinstance(ref, _Part):
        old = ref[idx]
        ref[idx] = value
        return old
    _check_ref(_function_name, ref)
    old = get(ref, idx)
    value = _fitting(ref, value, aval_of(old).shape, "swap")
    write(ref, _typed(value if _is_all(idx) else read(ref).at[idx].set(value), ref.aval.inner_aval))
    return old


def set(ref: Ref | _Part, idx: Any, value: Any) -> None:
    """Writes a part of a reference: `ref[idx] = value`. As swap, without a result.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> ref = nj.new_ref(jnp.arange(3))
    >>> nj.ref.set(ref, 1, 5)
    >>> ref[...].tolist()
    [0, 5, 2]
    """
    swap(ref, idx, value, "ref_set")


def addupdate(ref: Ref | _Part, idx: Any, x: Any) -> None:
    """Adds to a part of a reference: `ref[idx] += x`, in which an element that the index names twice gets both terms.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> ref = nj.new_ref(jnp.zeros(2))
    >>> nj.ref.addupdate(ref, jnp.array([0, 0]), jnp.ones(2))
    >>> ref[...].tolist()
    [2.0, 0.0]
    """
    if isinstance(ref, _Part):
        return addupdate(ref.of, ref.idx, x if _is_all(idx) else zeros_like_aval(aval_of(ref[...])).at[idx].add(x))
    _check_ref("addupdate", ref)
    old = get(ref, idx)
    x = _fitting(ref, x, aval_of(old).shape, "addupdate")
    write(ref, _typed(old + x if _is_all(idx) else read(ref).at[idx].add(x), ref.aval.inner_aval), "an addupdate")


def freeze(ref: Ref) -> Any:
    """Ends the life of a reference and returns its last value.

    Raises:
      ValueError: the reference was made outside of the program that is being traced, where it lives on; or it has ended.

    >>> import numjet as nj
    >>> float(nj.freeze(nj.new_ref(2.0)))
    2.0
    """
    _check_ref("freeze", ref)
    value = read(ref)
    _end(ref, "freeze")
    return value


def free_ref(ref: Ref) -> None:
    """Ends the life of a reference, and drops its value. Raises ValueError as freeze does."""
    _check_ref("free_ref", ref)
    read(ref)
    _end(ref, "free_ref")


def _end(ref: Ref, what: str) -> None:
    if not is_local(ref):
        raise ValueError(f"{what} of a reference of type {ref.aval} that was made outside of the function being traced: the "
                         "program may run more than once. Make the reference inside, or end it outside.")
    ref.ended, ref.value = what, None


def _check_ref(what: str, ref: Any) -> None:
    if not isinstance(ref, Ref):
        raise ValueError(f"`{what}` must be called on `Ref` types: got {ref!r} of type {type(ref)}. Make one by new_ref.")


def _is_all(idx: Any) -> bool:
    return idx is None or idx is Ellipsis or (isinstance(idx, tuple) and (not idx or (len(idx) == 1 and idx[0] is Ellipsis)))


def _check_bounds(ref: Ref, idx: Any) -> None:
    """Raises ValueError for a known index out of bounds: a write there would be lost."""
    entries = idx if isinstance(idx, tuple) else (idx,)
    for axis, i in enumerate(itertools.takewhile(lambda e: e is not Ellipsis, entries)):
        if isinstance(i, Slice) and isinstance(i.start, int) and axis < ref.ndim and i.start + i.span > ref.shape[axis]:
            raise ValueError(f"Out of bound slice: start={i.start}, size={i.size}, stride={i.stride}, dim={ref.shape[axis]}, "
                             f"in axis {axis} of a reference of type {ref.aval}.")
        if isinstance(i, (bool, np.bool_)) or i is None or not isinstance(i, (int, np.integer, slice, Slice)):
            return
        if isinstance(i, (slice, Slice)) or axis >= ref.ndim:
            continue
        if not -ref.shape[axis] <= i < ref.shape[axis]:
            raise ValueError(f"Out of bound indexer: idx={int(i)}, dim={ref.shape[axis]}, in axis {axis} of a reference of "
                             f"type {ref.aval}.")


def _fitting(ref: Ref, value: Any, shape: tuple[int, ...], what: str) -> Any:
    """A value to write, cast to the reference's dtype where it may be."""
    if isinstance(value, Ref):
        raise TypeError(f"`{what}`: expected an array, got a reference of type {value.aval}. Read it first: ref[...].")
    value = frozen(value)
    aval = aval_of(value)
    if aval.shape != shape:
        raise ValueError(f"Invalid shape for `{what}`. Ref shape: {ref.shape}. Expected shape: {shape}. Value shape: "
                         f"{aval.shape}. Values are not broadcast: use jnp.broadcast_to or jnp.full.")
    if aval.dtype != ref.dtype and not (aval.weak_type and dtypes.result_type(aval, ref.aval.inner_aval) == ref.dtype):
        raise ValueError(f"Invalid dtype for `{what}`. Ref dtype: {ref.dtype}. Value dtype: {aval.dtype}. Convert the value: "
                         "x.astype(ref.dtype).")
    return value if aval.dtype == ref.dtype else _typed(value, aval.update(dtype=ref.dtype))


def _typed(value: Any, aval: ShapedArray) -> Any:
    got = aval_of(value)
    if (got.dtype, got.weak_type) == (aval.dtype, aval.weak_type):
        return _array(value)
    return convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type)


class _Part:
    """The part of a reference that an index names: `ref.at[1:][0] = x`.

    A pytree of the reference and the arrays of its index, so it is an argument wherever the reference is one.
    """

    __slots__ = ("idx", "of")

    def __init__(self, of: Ref | _Part, idx: Any):
        self.of, self.idx = of, idx

    def _value(self) -> Any:
        return self.of[self.idx]  # type: ignore[index]

    shape = property(lambda self: self._value().shape)
    dtype = property(lambda self: self.of.dtype)
    at = property(lambda self: _At(self))

    def __getitem__(self, idx: Any) -> Any:
        value = self._value()
        return value if _is_all(idx) else value[idx]

    def __repr__(self) -> str:
        return f"{self.of!r}.at[{self.idx!r}]"

    def __setitem__(self, idx: Any, value: Any) -> None:
        self.of[self.idx] = value if _is_all(idx) else self._value().at[idx].set(value)  # type: ignore[index]


class _At:
    """`ref.at`, to be indexed."""

    __slots__ = ("of",)

    def __init__(self, of: Ref | _Part):
        self.of = of

    def __getitem__(self, idx: Any) -> _Part:
        return _Part(self.of, idx)


class _Fixed:
    """What is known of a part while it is traced: the shape of the reference, and its index without the arrays."""

    __slots__ = ("entries", "is_tuple", "key", "shape")

    def __init__(self, shape: Any, entries: list[Any], is_tuple: bool):
        self.shape, self.entries, self.is_tuple = shape, entries, is_tuple
        self.key = (shape, is_tuple, tuple((e.start, e.stop, e.step) if isinstance(e, slice) else e for e in entries))

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Fixed) and self.key == other.key

    def __hash__(self) -> int:
        return hash(self.key)


_MOVING = "an array of the index"


def _flat_part(part: _Part) -> tuple[tuple[Any, list[Any]], _Fixed]:
    entries = list(part.idx) if isinstance(part.idx, tuple) else [part.idx]
    moving = [not (e is None or e is Ellipsis or isinstance(e, (int, np.generic, slice))) for e in entries]
    fixed = [_MOVING if m else e for m, e in zip(moving, entries, strict=True)]
    arrays = [e for m, e in zip(moving, entries, strict=True) if m]
    return (part.of, arrays), _Fixed(getattr(part.of, "shape", None), fixed, isinstance(part.idx, tuple))


def _part_of(fixed: _Fixed, kids: Any) -> _Part:
    of, arrays = kids
    if isinstance(of, (Ref, _Part)) and of.shape != fixed.shape:
        raise TypeError(f"TransformedRefs are not allowed here: the part ref.at[...] of a reference of shape {fixed.shape} "
                        "can't be split along an axis, by vmap or as scan's xs. Pass the reference and index it inside.")
    rest = iter(arrays)
    entries = [next(rest) if e is _MOVING else e for e in fixed.entries]
    return _Part(of, tuple(entries) if fixed.is_tuple else entries[0])


tree.register_pytree_node(_Part, _flat_part, _part_of)
hooks.set_methods({
    "__getitem__": get, "__setitem__": set, "at": property(_At),
    "addupdate": lambda self, x, idx=None: addupdate(self, idx, x),
}, Ref)
