"""NumPy's dispatch protocols: functions (NEP 18, `__array_function__`) and ufuncs (NEP 13, `__array_ufunc__`) of arrays.

np.sin(x), np.concatenate([x, y]) and np.linalg.norm(x) of arrays and tracers are numjet's functions of the same name. Where
there is none, or the call writes into a NumPy array, NumPy works with the arrays' values, which tracers do not have. An
augmented assignment, `a += x`, binds `a` to the sum (see `augmented`). With the flag numjet_numpy_dispatch off functions get
values, as in JAX; operators of NumPy arrays and ours are ours always.
Functions called by NumPy's names promote dtypes and ranks whatever the flags for numjet.numpy forbid.
"""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import lru_cache
from types import ModuleType
from typing import Any

import numpy as np

from numjet.core.aval import placements_in_use
from numjet.core.sharding.memory import Space
from numjet.core.trace import Array, Tracer, is_array_like
from numjet.foundation.config import config, numpy_dtype_promotion, numpy_rank_promotion
from numjet.foundation.tree import tree_map
from numjet.lax.sharding_later import sharding
from numjet.numpy.core.arrays import asarray
from numjet.numpy.core.augmented import is_augmented

_WRITERS = frozenset((np.copyto, np.put, np.place, np.putmask, np.put_along_axis, np.fill_diagonal))
_SORTS = frozenset((np.sort, np.argsort))  # their `kind` names an algorithm; ours is stable
_HINTS = frozenset(("order", "subok"))
_NOT_GIVEN: dict[str, Any] = {"casting": "same_kind", "where": True, "out": None, "dtype": None, "signature": None}

_REFLECTED: dict[np.ufunc, str] = {
    np.add: "__radd__", np.subtract: "__rsub__", np.multiply: "__rmul__", np.true_divide: "__rtruediv__",
    np.floor_divide: "__rfloordiv__", np.remainder: "__rmod__", np.divmod: "__rdivmod__", np.power: "__rpow__",
    np.matmul: "__rmatmul__", np.bitwise_and: "__rand__", np.bitwise_or: "__ror__", np.bitwise_xor: "__rxor__",
    np.left_shift: "__rlshift__", np.right_shift: "__rrshift__",
}


# -------------------------------------------------------------------------------------------- arguments

def _is_ours(x: Any) -> bool:
    return isinstance(x, (Array, Tracer))


def _is_tracer(x: Any) -> bool:
    return isinstance(x, Tracer)


def _leaves(x: Any) -> Iterable[Any]:
    """Values in nested lists, tuples and dicts of arguments."""
    if isinstance(x, (list, tuple)):
        for item in x:
            yield from _leaves(item)
    elif isinstance(x, dict):
        yield from _leaves(list(x.values()))
    else:
        yield x


def _on_host(x: Any) -> Any:
    """Arguments with our arrays replaced by their NumPy values."""
    if _is_ours(x):
        return np.asarray(x)
    if type(x) in (list, tuple):
        return type(x)(map(_on_host, x))
    return {k: _on_host(v) for k, v in x.items()} if type(x) is dict else x


def _by_numpy(function: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    return function(*_on_host(args), **_on_host(dict(kwargs)))


# -------------------------------------------------------------------------------------------- counterparts

@lru_cache(maxsize=1024)
def _counterpart(namespace: ModuleType, function: Any) -> Any:
    """The function of the same name and module below numjet.numpy, or None."""
    module: str = "numpy" if isinstance(function, np.ufunc) else function.__module__
    name: str = function.__name__
    if module.partition(".")[0] != "numpy" or getattr(sys.modules.get(module), name, None) is not function:
        return None
    found: Any = namespace
    for part in module.split(".")[1:]:
        found = getattr(found, part, None)
    return getattr(found, name, None)


def _name(function: Any) -> str:
    return f"ufunc {function.__name__}" if isinstance(function, np.ufunc) else f"{function.__module__}.{function.__name__}"


def _refuse_tracers(function: Any, args: Any, kwargs: Mapping[str, Any], why: str) -> None:
    """TypeError when a traced value is among the arguments."""
    for x in _leaves([args, dict(kwargs)]):
        if _is_tracer(x):
            raise TypeError(f"NumPy's {_name(function)} {why}, and the argument {x} is traced: NumPy needs the numbers, and "
                            "there are none yet. Use functions of numjet.numpy (numjet.scipy) instead, or call NumPy through "
                            "numjet.pure_callback.")


def _refuse_writing(function: Any, target: Any) -> None:
    if any(map(_is_ours, _leaves(target))):
        raise TypeError(f"NumPy's {_name(function)} would write into an array of numjet: arrays are immutable. Use the result "
                        "of the function without out=, or x.at[index].set(values).")


@lru_cache(maxsize=1024)
def _parameters(function: Any) -> Mapping[str, inspect.Parameter]:
    return inspect.signature(function).parameters


def _understood(func: Any, own: Any, kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """The keywords that our function has. Hints about memory and algorithms are left out; TypeError for others."""
    ours = _parameters(own)
    if any(p.kind is p.VAR_KEYWORD for p in ours.values()):
        return dict(kwargs)
    dropped = ("out", "kind") if func in _SORTS else ("out",)
    given = {k: v for k, v in kwargs.items() if k not in dropped}
    wrong = [k for k in given if k not in ours and k not in _HINTS and not _is_default(_NOT_GIVEN, k, given[k])]
    if wrong:
        raise TypeError(f"NumPy's {_name(func)} of arrays of numjet: expected no {', '.join(wrong)}=, which {own.__name__} of "
                        f"numjet does not have; its parameters are {', '.join(ours)}")
    return {k: v for k, v in given.items() if k in ours}


def _called(own: Callable[..., Any], args: Any, kwargs: Mapping[str, Any]) -> Any:
    """Our function, which promotes and broadcasts as NumPy's does: the flags that forbid it are about numjet.numpy."""
    if config.dtype_promotion == "standard" and config.rank_promotion == "allow":
        return own(*args, **kwargs)
    with numpy_dtype_promotion("standard"), numpy_rank_promotion("allow"):
        return own(*args, **kwargs)


def _in_own_memory(given: Any) -> Any:
    """Arguments of a function of NumPy, which takes arrays from any memory: all in the device's own."""
    return tree_map(_of_the_device, given) if placements_in_use else given


def _of_the_device(x: Any) -> Any:
    return sharding.in_space(x, Space.Device) if isinstance(x, (Array, Tracer)) else x


def _first_as_array(args: Any) -> Any:
    """The arguments, the first one an array where it is a sequence of numbers: NumPy takes them everywhere."""
    first = args[0] if args else None
    if type(first) in (list, tuple) and first and all(type(x) in (bool, int, float, complex) for x in first):
        return np.asarray(first), *args[1:]
    return args


# -------------------------------------------------------------------------------------------- functions

def array_function(namespace: ModuleType, func: Any, types: Iterable[type], args: Any, kwargs: Mapping[str, Any]
                   ) -> Any:
    """NumPy's functions of arrays: numjet's function of the same name, where there is one."""
    if not all(issubclass(t, (Array, Tracer, np.ndarray)) for t in types):
        return NotImplemented
    writes = kwargs.get("out") if func not in _WRITERS else args[0] if args else next(iter(kwargs.values()))
    if writes is not None:
        _refuse_writing(func, writes)
        _refuse_tracers(func, args, kwargs, "writes into a NumPy array")
        return _by_numpy(func, args, kwargs)
    if not config.numpy_dispatch:
        return func._implementation(*args, **kwargs)
    own = _counterpart(namespace, func)
    if own is not None:
        args, kwargs = _in_own_memory((args, dict(kwargs)))
        return _called(own, _first_as_array(args), _understood(func, own, kwargs))
    _refuse_tracers(func, args, kwargs, "has no counterpart in numjet")
    return _by_numpy(func, args, kwargs)


# -------------------------------------------------------------------------------------------- ufuncs

def array_ufunc(namespace: ModuleType, ufunc: np.ufunc, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """NumPy's ufuncs of arrays: numjet's function of the same name, where there is one."""
    if ufunc in _REFLECTED and _is_operator(method, inputs) and _is_ours(inputs[1]):
        if not kwargs or is_augmented(inputs, kwargs, depth=2):
            return getattr(inputs[1], _REFLECTED[ufunc])(inputs[0])
    if not all(map(_is_known, inputs)):
        return NotImplemented
    apply = getattr(ufunc, method)
    writes = inputs[0] if method == "at" else kwargs.get("out")
    if writes is not None:
        _refuse_writing(ufunc, writes)
        _refuse_tracers(ufunc, inputs, kwargs, "writes into a NumPy array")
        return _by_numpy(apply, inputs, kwargs)
    own = _counterpart(namespace, ufunc) if config.numpy_dispatch or _is_operator(method, inputs) else None
    own = own if method == "__call__" else getattr(own, method, None)
    if own is None:
        if config.numpy_dispatch:
            _refuse_tracers(ufunc, inputs, kwargs, "has no counterpart in numjet")
        return _by_numpy(apply, inputs, kwargs)
    given = {k: v for k, v in kwargs.items() if k not in _HINTS and not _is_default(_NOT_GIVEN, k, v)}
    inputs = tuple(x if is_array_like(x) else np.asarray(x) for x in inputs)
    return _call(ufunc, own, inputs, given) if method == "__call__" else _called(own, inputs, given)


def _is_known(x: Any) -> bool:
    """Whether an argument leaves the call to us: it has no __array_ufunc__ of its own."""
    return _is_ours(x) or isinstance(x, (np.ndarray, np.generic)) or not hasattr(type(x), "__array_ufunc__")


def _is_operator(method: str, inputs: tuple[Any, ...]) -> bool:
    """Whether a call may come from an operator of a NumPy array, `a + x`."""
    return method == "__call__" and len(inputs) == 2 and isinstance(inputs[0], (np.ndarray, np.generic))


def _is_default(defaults: Mapping[str, Any], name: str, value: Any) -> bool:
    return name in defaults and (value is defaults[name] or type(value) is str and value == defaults[name])


def _call(ufunc: np.ufunc, own: Callable[..., Any], inputs: tuple[Any, ...], given: dict[str, Any]) -> Any:
    """The function of arrays; with dtype=, of arguments of this dtype unless the result has it anyway."""
    dtype = given.pop("dtype", None)
    if given:
        raise TypeError(f"NumPy's {_name(ufunc)} of arrays of numjet: expected no {sorted(given)}; for where= use jnp.where "
                        "on the result, for other dtypes cast with x.astype")
    out = _called(own, inputs, {})
    if dtype is None or all(x.dtype == dtype for x in _leaves(out)):
        return out
    return _called(own, [asarray(x, dtype=dtype) for x in inputs], {})
