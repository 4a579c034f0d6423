"""Which functions, methods and operators have tapes (`api/eager_plans.py`): those that programs call in loops without jit."""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from types import FunctionType
from typing import Any

from numjet import _native
from numjet.api.eager_plans import taped
from numjet.foundation import lazy_import, locks

# Functions of arrays, in which a number works as an array of rank 0 does.
_OF_NUMBERS = {
    "x y": "add subtract multiply maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or "
           "logical_xor bitwise_and bitwise_or bitwise_xor left_shift bitwise_left_shift",
    "x1 x2": "divide true_divide floor_divide mod remainder fmod arctan2 atan2 hypot logaddexp logaddexp2 copysign divmod fmax "
             "fmin heaviside ldexp right_shift bitwise_right_shift",
    "arr values": "insert", "fill_value": "full", "a fill_value": "full_like",
    "condition x y": "where", "arr min max": "clip"}
# Functions of arrays; numbers are left to the function.
_OF_ARRAYS = {
    "": "zeros ones empty arange linspace eye identity tri blackman hamming hanning bartlett kaiser",
    "A": "tile",
    "a where": "sum prod max min amax amin mean var std any all nanmax nanmin nanprod nansum",
    "a": "argmax argmin count_nonzero ptp cumsum cumprod reshape ravel transpose swapaxes moveaxis rollaxis expand_dims "
         "squeeze roll trace zeros_like ones_like asarray copy sort argsort sort_complex partition argpartition "
         "diff round around permute_dims repeat resize average nancumsum nancumprod nanargmax nanargmin packbits unpackbits",
    "a b": "dot matmul vdot inner outer tensordot cross",
    "a choices": "choose",
    "a indices": "take",
    "arr indices": "take_along_axis",
    "seq_of_zeros": "poly",
    "a mask values": "putmask",
    "a val": "fill_diagonal",
    "a1 a2": "array_equal array_equiv polyadd polysub polymul",
    "arr": "delete",
    "arr mask vals": "place",
    "arr values": "append",
    "array": "broadcast_to pad",
    "arys": "atleast_1d atleast_2d atleast_3d",
    "keys": "lexsort", "element test_elements": "isin",
    "arrays": "stack concatenate concat",
    "ary": "split array_split hsplit vsplit dsplit ediff1d",
    "condlist choicelist default": "select",
    "f": "gradient",
    "indices": "unravel_index",
    "m": "flip fliplr flipud tril triu rot90",
    "m y": "cov",
    "multi_index": "ravel_multi_index",
    "operands": "einsum",
    "p": "polyder polyint",
    "tup": "vstack hstack dstack column_stack",
    "v": "diag diagflat",
    "val": "real imag",
    "x": "sin cos tan arcsin arccos arctan asin acos atan sinh cosh tanh arcsinh arccosh arctanh exp exp2 expm1 log log2 log10 "
         "log1p sqrt cbrt square abs absolute fabs negative positive sign floor ceil rint trunc reciprocal isnan isinf "
         "isfinite isposinf isneginf iscomplex isreal logical_not invert bitwise_not bitwise_invert bitwise_count signbit "
         "deg2rad rad2deg degrees radians conj conjugate astype matrix_transpose nan_to_num sinc spacing frexp modf i0 vander "
         "cumulative_sum cumulative_prod unstack",
    "x y": "float_power nextafter",
    "x1": "power pow",
    "x1 x2": "vecdot matvec vecmat",
    "z": "angle"}
_PROPERTIES = frozenset(("T", "mT", "real", "imag"))
_METHODS = frozenset(("reshape", "transpose", "T", "astype", "clip", "copy", "flatten"))
_ARRAYS = ("Any", "Sequence[Any]")   # annotations of parameters that are arrays, or hold them
_OPTIONS = frozenset("axis axes dtype out device precision preferred_element_type lwork ord p random_state size".split())
_EXPONENTS = ("pow", "rpow")   # whose other operand decides by its value how powers are computed
_NATIVE = frozenset(("neg", "getitem", "setitem", "iter", "contains", "divmod", "rdivmod"))


_SIGNATURES = {name: (tuple(arrays.split()), numbers) for table, numbers in ((_OF_ARRAYS, False), (_OF_NUMBERS, True))
               for arrays, names in table.items() for name in names.split()}
_EXPORTS = "numjet.numpy.lazy_exports"
_UFUNCS = "numjet.numpy.ufuncs.ufunc_objects"   # where the functions of other modules get methods
_tapes: dict[int, Any] = {}   # what stands for a function, by the identity of the function, which it holds
_lock = locks.lock()


def exported(name: str, value: Any) -> Any:
    """What numjet.numpy shows under a name: a function of the tables with tapes in front of it."""
    found = _SIGNATURES.get(name)
    return value if found is None else _with_tapes(value, *found)


def library(namespace: dict[str, Any], numbers: bool = False) -> None:
    """Puts tapes in front of a library's functions, those in `__all__`, or that its package defines.

    Arrays are the parameters annotated as Any that have no default, or None if they do not have the name of an option. numbers:
    whether a number works as an array of rank 0 does there, so that parameters with a number as default are arrays, too.
    """
    package, public = namespace["__name__"], namespace.get("__all__")
    for name, function in list(namespace.items()):
        if name[0] == "_" or type(function) is not FunctionType:
            continue
        if name in public if public else function.__module__.startswith(package):
            namespace[name] = _with_tapes(function, _arrays_of(function, numbers), numbers)


def _arrays_of(function: FunctionType, numbers: bool) -> tuple[str, ...]:
    """The names of the parameters that are arrays, and of those that collect further ones."""
    def is_array(p: inspect.Parameter) -> bool:
        if p.annotation not in _ARRAYS or p.kind is p.VAR_KEYWORD:
            return False
        by_default = p.default is None or (numbers and type(p.default) in (int, float))
        return p.default is p.empty or (by_default and p.name not in _OPTIONS)

    found = [p.name for p in inspect.signature(function).parameters.values() if is_array(p)]
    code = inspect.unwrap(function).__code__
    if found and code.co_flags & inspect.CO_VARARGS:
        found.append(code.co_varnames[code.co_argcount + code.co_kwonlyargcount])
    return tuple(dict.fromkeys(found))


def _with_tapes(old: Any, arrays: tuple[str, ...], numbers: bool) -> Any:
    """A function with tapes, one for all its names; a ufunc object whose function has tapes."""
    with _lock:
        if hasattr(old, "_call"):
            if type(old._call) is not _native.EagerFunction:
                old._call = _tape(old._call, arrays, numbers)
            return old
        return old if type(old) is _native.EagerFunction else _tape(old, arrays, numbers)


def _tape(old: Any, arrays: tuple[str, ...], numbers: bool) -> Any:
    if id(old) not in _tapes:
        _tapes[id(old)] = made = taped(old, arrays, numbers)
        home, own = vars(sys.modules[old.__module__]), old.__name__
        if home.get(own) is old:
            home[own] = made   # where pickle looks for it
    return _tapes[id(old)]


def _public(fun: Any) -> Any:
    """The function with tapes that numjet.numpy shows, of a function that it has under its own name; None of others."""
    name = getattr(fun, "__name__", "")
    if name not in _SIGNATURES or type(fun) is not FunctionType:
        return None
    home = lazy_import.sources(_EXPORTS)[name].module
    return exported(name, fun) if home in (fun.__module__, _UFUNCS) else None


def method(name: str, fun: Any) -> Any:
    """What stands for a method of arrays: the function with tapes, or tapes of its own."""
    if isinstance(fun, property):
        return property(method(name, fun.fget), doc=fun.__doc__) if name in _PROPERTIES else fun
    public = _public(fun)
    if public is not None:
        return public
    return taped(fun, ("self",)) if name in _METHODS else fun


def operator(name: str, fun: Callable[..., Any]) -> Callable[..., Any]:
    """An operator of arrays with tapes; without, where its native path comes first, or it gives no array."""
    bare = name.strip("_")
    public = _public(fun)
    if public is not None:
        return public
    if bare in _NATIVE or getattr(fun, "__code__", None) is None:
        return fun
    parameters = fun.__code__.co_varnames[:fun.__code__.co_argcount]
    if parameters == ("self", "other"):
        return taped(fun, ("self",) if bare in _EXPONENTS else ("self", "other"), bare not in _EXPONENTS)
    return fun
