"""Which functions, methods and operators have tapes (`api/eager_plans.py`): those that programs call in loops without jit."""
from __future__ import annotations

import inspect
import sys
from collections.abc import Callable
from typing import Any

from numjet.api.eager_plans import taped

# Functions of arrays, in which a number works as an array of rank 0 does.
_OF_NUMBERS = {
    "x y": "add subtract multiply maximum minimum equal not_equal less less_equal greater greater_equal logical_and logical_or "
           "logical_xor bitwise_and bitwise_or bitwise_xor",
    "x1 x2": "divide true_divide floor_divide mod remainder fmod arctan2 atan2 hypot logaddexp logaddexp2 copysign divmod fmax "
             "fmin heaviside",
    "condition x y": "where", "arr min max": "clip"}
# Functions of arrays; numbers are left to the function.
_OF_ARRAYS = {
    "": "zeros ones full empty arange linspace eye identity",
    "A": "tile",
    "a": "sum prod max min amax amin mean var std any all argmax argmin count_nonzero ptp cumsum cumprod reshape ravel "
         "transpose swapaxes moveaxis rollaxis expand_dims squeeze roll trace zeros_like ones_like full_like asarray copy sort "
         "argsort sort_complex partition argpartition diff round around permute_dims repeat resize average nancumsum "
         "nancumprod nanmax nanmin nanargmax nanargmin nanprod nansum packbits unpackbits",
    "a b": "dot matmul vdot inner outer tensordot cross",
    "a indices": "take",
    "a mask values": "putmask",
    "a val": "fill_diagonal",
    "a1 a2": "array_equal array_equiv polyadd polysub polymul",
    "arr": "delete",
    "arr mask vals": "place",
    "arr values": "append",
    "array": "broadcast_to pad",
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
    "x y": "float_power nextafter left_shift bitwise_left_shift",
    "x1": "power pow",
    "x1 x2": "vecdot matvec vecmat ldexp right_shift bitwise_right_shift",
    "z": "angle"}
_PROPERTIES = frozenset(("T", "mT", "real", "imag"))
_METHODS = frozenset(("reshape", "transpose", "T", "astype", "clip", "copy", "flatten"))
_EXPONENTS = ("pow", "rpow")   # whose other operand decides by its value how powers are computed
_NATIVE = frozenset(("neg", "getitem", "setitem", "iter", "contains", "divmod", "rdivmod"))


def functions(namespace: dict[str, Any]) -> dict[int, Any]:
    """Puts tapes in front of the functions of numjet.numpy, and gives what stands for each, by the function's identity."""
    found: dict[int, Any] = {}
    for table, numbers in ((_OF_NUMBERS, True), (_OF_ARRAYS, False)):
        for arrays, names in table.items():
            for name in names.split():
                _replace(namespace, name, tuple(arrays.split()), numbers, found)
    return found


def elementwise(namespace: dict[str, Any]) -> None:
    """Puts tapes in front of a library's functions of arrays: all parameters without default, if none is said to be a number.

    Functions that no parameter is an array of are left as they are.
    """
    found: dict[int, Any] = {}
    for name, function in list(namespace.items()):
        if name[0] == "_" or not inspect.isfunction(function):
            continue
        needed = [p for p in inspect.signature(function).parameters.values() if p.default is p.empty]
        if needed and all(p.annotation == "Any" and p.kind is p.POSITIONAL_OR_KEYWORD for p in needed):
            _replace(namespace, name, tuple(p.name for p in needed), True, found)


def _replace(namespace: dict[str, Any], name: str, arrays: tuple[str, ...], numbers: bool, found: dict[int, Any]) -> None:
    if name not in namespace:   # imported when it is first named
        return
    old: Any = namespace[name]
    if hasattr(old, "_call"):  # a ufunc object
        old._call = found.setdefault(id(old._call), taped(old._call, arrays, numbers))
        return
    if id(old) not in found:
        found[id(old)] = made = taped(old, arrays, numbers)
        home, own = vars(sys.modules[old.__module__]), old.__name__
        if home.get(own) is old:
            home[own] = made   # where pickle looks for it
    namespace[name] = found[id(old)]


def method(name: str, fun: Any, found: dict[int, Any]) -> Any:
    """What stands for a method of arrays: the function with tapes, or tapes of its own."""
    if isinstance(fun, property):
        return property(method(name, fun.fget, found), doc=fun.__doc__) if name in _PROPERTIES else fun
    if id(fun) in found:
        return found[id(fun)]
    return taped(fun, ("self",)) if name in _METHODS else fun


def operator(name: str, fun: Callable[..., Any], found: dict[int, Any]) -> Callable[..., Any]:
    """An operator of arrays with tapes; without, where its native path comes first, or it gives no array."""
    bare = name.strip("_")
    if id(fun) in found:
        return found[id(fun)]
    if bare in _NATIVE or getattr(fun, "__code__", None) is None:
        return fun
    parameters = fun.__code__.co_varnames[:fun.__code__.co_argcount]
    if parameters == ("self", "other"):
        return taped(fun, ("self",) if bare in _EXPONENTS else ("self", "other"), bare not in _EXPONENTS)
    return fun
