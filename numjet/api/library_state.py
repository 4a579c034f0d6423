"""The state of libraries: what a trace reads of Python, NumPy and numjet beside the objects that a function names.

Fingerprints accept functions of libraries by name, as versions stand for them (`api/fingerprint.py`). That holds while nobody
put functions of his own in their modules and classes. Settings that change what a trace does are part of the text.
"""
from __future__ import annotations

import _locale
import operator
import os
import re
import sys
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

from numjet import _native
from numjet.api import pure_names
from numjet.core.op import overridden
from numjet.core.trace import Tracer
from numjet.core.user_functions import without_tapes
from numjet.foundation import source
from numjet.foundation.lazy_import import Method, own_names
from numjet.foundation.tree.register import library_types

_LIBRARIES = ("numjet", "numpy")
_PUBLIC_PACKAGES = ("numjet.numpy", "numjet.nn", "numjet.scipy", "numjet.experimental")
_DISPATCHING = (_native.JitFunction, _native.EagerFunction)
# Libraries whose functions may stand in modules of numjet and NumPy.
_TRUSTED = frozenset(("numpy", "ml_dtypes", "llvmlite", "scipy", "opt_einsum", "jaxlib", *sys.stdlib_module_names))


def changed() -> str | None:
    """What somebody changed in the libraries that are accepted by name, if anything."""
    if overridden:
        return "a user's rule stands in place of one of numjet's"
    if np.geterrcall() is not None:
        return "somebody gave NumPy a function to call at floating-point errors"
    if library_types:
        return f"somebody registered the class {library_types[0].__name__} as a pytree"
    replaced = _replaced()
    if replaced is not None:
        return f"somebody put a function of his own in place of {replaced}"
    for kind in (Tracer, _native.Array):
        if (name := _methods(kind)[1]) is not None:
            return f"somebody put the attribute '{name}' into the class of arrays"
    return None


def settings() -> Iterator[str]:
    """Settings of Python and NumPy that shape what a trace computes, as text."""
    yield repr(sorted(np.geterr().items()))
    yield repr(sorted(np.get_printoptions().items(), key=str))
    yield f"{np.getbufsize()} {sys.get_int_max_str_digits()}"
    yield _locale.setlocale(_locale.LC_NUMERIC)
    yield repr([_filter(*one) for one in warnings.filters])
    yield from _methods(Tracer)[0]
    yield from _methods(_native.Array)[0]


def _filter(action: str, message: Any, category: Any, module: Any, line: int) -> tuple[Any, ...]:
    """A warning filter: which warnings are raised as errors."""
    texts = [x.pattern if isinstance(x, re.Pattern) else x for x in (message, module)]
    kinds = category if isinstance(category, tuple) else (category,)
    return action, *texts, [f"{kind.__module__}.{kind.__qualname__}" for kind in kinds], line


def is_plain(function: Any) -> bool:
    """Whether a function has no attributes but those that Python and numjet give it."""
    return all(name in _ATTRIBUTES or (name.startswith("__") and name.endswith("__"))
               for name in getattr(function, "__dict__", ()))


_ATTRIBUTES = frozenset(("runs_programs", "moves_nothing"))


# -- functions in modules and classes
def _replaced() -> str | None:
    """A function of somebody else in numjet's or NumPy's public modules and the classes that they define, and where."""
    for library in _LIBRARIES:
        folder = os.path.dirname(str(sys.modules[library].__file__)) + os.sep
        for name in filter(sys.modules.__contains__, _public(library)):
            for function in _functions(name, own_names(sys.modules[name])):
                if not function.__code__.co_filename.startswith(folder) and not _is_trusted(function, folder):
                    return f"{name}: {function.__name__}"
    return None


def _public(library: str) -> Iterator[str]:
    """The modules of a library whose functions programs name; the paths of all others are internal."""
    for name in list(sys.modules):
        if name.startswith(library):
            package = name.rpartition(".")[0]
            if package in ("", library) or (package in _PUBLIC_PACKAGES and package.startswith(library)):
                yield name


def _functions(module: str, scope: dict[str, Any]) -> list[types.FunctionType]:
    """The functions in a module, and in the classes that it defines."""
    values = list(scope.values())
    for kind in [x for x in values if isinstance(x, type) and x.__module__ == module]:
        values += vars(kind).values()
    values = [x.__wrapped__ if type(x) in _DISPATCHING else x for x in values]
    return [x for x in values if type(x) is types.FunctionType]


def _is_trusted(function: types.FunctionType, folder: str) -> bool:
    """Whether a function is of a library that is trusted: it uses the globals of one of its modules. Generated functions of
    classes use those of the module around, or a dictionary for each named tuple."""
    file, scope = function.__code__.co_filename, function.__globals__
    name = str(scope.get("__name__"))
    wrapped = getattr(function, "__wrapped__", None)
    if type(wrapped) is types.FunctionType and not (wrapped.__code__.co_filename.startswith(folder)
                                                    or _is_trusted(wrapped, folder)):
        return False
    if file.startswith("<") and name.startswith("namedtuple_"):
        return True
    module = sys.modules.get(name)
    top = name.split(".")[0]
    return (top in _TRUSTED or top == "numjet") and module is not None and own_names(module) is scope


# -- methods of arrays
def _methods(kind: type) -> tuple[tuple[str, ...], str | None]:
    """Which function stands behind each attribute of a class that proven code may read, one line each, and the first that is
    not numjet's. Others come with modules of numjet that are imported later."""
    values = tuple(vars(kind).values())
    known = _described.get(kind)
    if known is None or not all(map(operator.is_, known[0], values)) or len(known[0]) != len(values):
        named = vars(kind).items()
        foreign = next((name for name, value in named if not _is_numjets(name, value)), None)
        lines = tuple(f"{name} {_behind(value)}" for name, value in named if name in _READ)
        known = _described[kind] = values, lines, foreign
    return known[1:]


_described: dict[type, tuple[tuple[Any, ...], tuple[str, ...], str | None]] = {}
_READ = pure_names.ATTRIBUTES | pure_names.SPECIAL
_SLOTS = (types.WrapperDescriptorType, types.MethodDescriptorType, types.GetSetDescriptorType, types.MemberDescriptorType,
          _native.ArrayProperty)
_DATA = frozenset(("__doc__", "__module__", "__slots__", "__annotations__", "__hash__", "__array_priority__", "_npy_value",
                   "__annotate__", "__annotate_func__", "__annotations_cache__", "__static_attributes__",
                   "__firstlineno__", "__new__", "__reduce__", "__class_getitem__"))


def _function(value: Any) -> Any:
    """The function of an attribute of a class, if it has one, or what it will be imported by."""
    found: Any = value.fget if isinstance(value, property) and not isinstance(value, _native.ArrayProperty) else value
    return without_tapes(found)


def _is_numjets(name: str, value: Any) -> bool:
    function = _function(value)
    if type(function) is Method:
        return True
    if type(function) is types.FunctionType:
        return source.is_own(function.__code__)
    if isinstance(function, type):
        module = function.__module__
        return module.startswith("numjet.") and vars(sys.modules[module]).get(function.__name__) is function
    return isinstance(function, (*_SLOTS, types.BuiltinFunctionType)) or name in _DATA


def _behind(value: Any) -> str:
    function = _function(value)
    if type(function) is Method:   # as when it has been imported
        return f"{function.source} []"
    if type(function) is types.FunctionType:
        cells = (cell.cell_contents for cell in function.__closure__ or ())   # of one that was made for this name
        captured = [getattr(x, "__name__", str(x) if isinstance(x, (str, int)) else type(x).__name__) for x in cells]
        return f"{function.__module__} {function.__qualname__} {captured}"
    return f"{type(value).__name__} {getattr(function, '__name__', '')}"
