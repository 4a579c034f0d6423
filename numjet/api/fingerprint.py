"""Fingerprints of functions: text that stays the same, in other processes too, as long as tracing would give the same program.

A function is read like a compiler does: its code with all constants, its defaults, the values that it captured, and the globals
that its code names, functions among them in the same way, modules by the attributes that the code reads of them. Everything is
written down by value. Where that proves nothing (a list that somebody may change, an object with methods of its own, code with
side effects or one that reads the clock), `Unproven` says why, and the function is traced.
"""
from __future__ import annotations

import builtins
import functools
import math
import opcode
import sys
import types
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from numjet import _native
from numjet.foundation import disk_cache, dtypes, source
from numjet.foundation.tree import Partial

_MOST_ITEMS = 5000         # functions, values and constants: more would take longer to read than to trace
_MOST_BYTES = 1 << 22      # of arrays
_OPS = opcode.opmap
_LOAD_GLOBAL, _EXTENDED = _OPS["LOAD_GLOBAL"], _OPS["EXTENDED_ARG"]
_ATTRIBUTES = {_OPS[name]: shift for name, shift in (("LOAD_ATTR", int(sys.version_info >= (3, 12))), ("LOAD_METHOD", 0))
               if name in _OPS}
# What a function does beside computing its result, or by which it reads what nobody sees.
_EFFECTS = {_OPS[name]: why for name, why in (
    ("STORE_GLOBAL", "writes a global variable"), ("DELETE_GLOBAL", "deletes a global variable"),
    ("IMPORT_NAME", "imports a module"), ("LOAD_BUILD_CLASS", "defines a class"),
    ("STORE_ATTR", "writes an attribute"), ("DELETE_ATTR", "deletes an attribute")) if name in _OPS}
_STORE_DEREF = _OPS["STORE_DEREF"]
_UNSEEN = frozenset(("open", "input", "print", "eval", "exec", "compile", "globals", "locals", "vars", "getattr", "setattr",
                     "delattr", "id", "hash", "__import__", "breakpoint", "super"))
_UNSEEN_IN_NUMPY = frozenset(("random", "load", "loadtxt", "genfromtxt", "fromfile", "memmap", "geterr", "seterr", "errstate",
                              "get_printoptions", "set_printoptions", "printoptions", "save", "savez", "savetxt", "test",
                              "empty", "empty_like", "seterrcall", "geterrcall", "fromregex", "nested_iters", "nditer"))
# Names by which numjet tells about files, devices, processes and flags, which may be others in another process.
_TELLING = frozenset(("load", "loadtxt", "genfromtxt", "fromfile", "config", "devices", "local_devices", "device_count",
                      "local_device_count", "default_backend", "process_index", "process_count", "process_indices",
                      "live_arrays", "memory_stats", "print_environment_info", "clear_caches", "multihost_utils", "distributed",
                      "process_id", "deserialize", "explain", "profile", "visualize", "make_mesh", "get_default_device"))
_PURE_MODULES = frozenset(("math", "cmath", "operator", "functools"))
_NUMBERS = frozenset((type(None), bool, int, float, complex, str, bytes, type(Ellipsis)))
_OWN_ATTRIBUTES = frozenset(("__wrapped__", "__signature__", "_jit_options", "trace", "lower", "eval_shape", "clear_cache"))


class Unproven(Exception):
    """Why nothing says that a function is the same as before."""


def fingerprint(fun: Any, *values: Any) -> str:
    """Text for a function and values that shape its program. Raises Unproven."""
    reader = _Reader()
    reader.value(fun, "the function")
    for value in values:
        reader.value(value, "a static argument")
    return "\n".join(reader.parts)


class _Reader:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.seen: dict[int, int] = {}
        self.alive: list[Any] = []   # what `seen` knows by identity
        self.bytes = 0

    def add(self, *parts: Any) -> None:
        if len(self.parts) > _MOST_ITEMS:
            raise Unproven("it reads too much to be looked at")
        self.parts.append(" ".join(map(str, parts)))

    # -- values
    def value(self, x: Any, where: str) -> None:
        """Writes a value down, or what it stands for."""
        kind = type(x)
        if kind in _NUMBERS:
            self.add(kind.__name__, repr(x))
        elif kind is tuple:
            self.add("tuple", len(x))
            for k, item in enumerate(x):
                self.value(item, f"{where}[{k}]")
        elif kind is frozenset:
            self.add("frozenset", sorted(map(_constant, x)))
        elif kind is slice:
            self.value((x.start, x.stop, x.step), where)
        elif kind is np.ndarray or kind is _native.Array or isinstance(x, np.generic):
            self.array(x, where)
        elif isinstance(x, np.dtype):
            self.add("dtype", x.str if x.isbuiltin == 1 else x.name)
        else:
            self.callable(x, where)

    def array(self, x: Any, where: str) -> None:
        if type(x) is _native.Array:
            if x.committed or x._sharding is not None:
                raise Unproven(f"{where} is an array that was put on a device")
            value, more = x._value, x.aval.weak_type
        else:
            value, more = np.asarray(x), type(x).__name__
        if not dtypes.is_array_dtype(value.dtype):
            raise Unproven(f"{where} is an array of {value.dtype}")
        self.bytes += value.nbytes
        if self.bytes > _MOST_BYTES:
            raise Unproven(f"{where} is a large array")
        digest = disk_cache.blake2.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=24)
        self.add("array", value.dtype.name, value.dtype.str, value.shape, more, digest.hexdigest())

    def callable(self, x: Any, where: str) -> None:
        kind = type(x)
        if kind is types.FunctionType:
            self.function(x, where)
        elif kind is _native.EagerFunction:
            self.callable(x.__wrapped__, where)
        elif kind is _native.JitFunction:
            self.jitted(x, where)
        elif kind is functools.partial or kind is Partial:
            self.add("partial", len(x.keywords))
            self.value(x.func, where)
            self.value(x.args, where)
            for name in sorted(x.keywords):
                self.add(name)
                self.value(x.keywords[name], where)
        elif kind is types.ModuleType:
            self.module(x, (), where)
        elif kind is types.BuiltinFunctionType:
            self.builtin(x, where)
        elif isinstance(x, np.ufunc):
            self.add("ufunc", x.__name__)
        elif isinstance(x, type):
            if x.__module__.split(".")[0] not in ("numjet", "numpy", "builtins", "ml_dtypes"):
                raise Unproven(f"{where} is a class of another library or program")
            self.add("class", x.__module__, x.__qualname__)
        else:
            raise Unproven(f"{where} is of type {kind.__qualname__}, which may change")

    def builtin(self, x: Any, where: str) -> None:
        owner = x.__self__
        if owner is _native:
            self.add("native", x.__name__)
            return
        if not isinstance(owner, types.ModuleType) or owner.__name__ not in (*_PURE_MODULES, "builtins"):
            raise Unproven(f"{where} is a function of which nothing is known")
        self.named(builtins if owner.__name__ == "builtins" else owner, x.__name__, where)

    def named(self, module: types.ModuleType, name: str, where: str) -> None:
        if module is builtins and name in _UNSEEN:
            raise Unproven(f"{where} calls {name}")
        self.add("builtin", module.__name__, name)

    # -- functions
    def jitted(self, x: Any, where: str) -> None:
        if not hasattr(x, "_jit_options") or not vars(x).keys() <= _dunder(x) | _OWN_ATTRIBUTES:
            raise Unproven(f"{where} is a jitted function with more attributes")
        self.add("jit")
        for name, option in sorted(x._jit_options.items()):
            self.add(name)
            self.value(option if not isinstance(option, list) else tuple(option), f"an option of {where}")
        self.value(x.__wrapped__, where)

    def function(self, f: Any, where: str) -> None:
        if id(f) in self.seen:
            self.add("seen", self.seen[id(f)])
            return
        self.seen[id(f)] = len(self.seen)
        self.alive.append(f)
        code, own = f.__code__, source.is_own(f.__code__)
        if not own and not vars(f).keys() <= {"__wrapped__", "__signature__"}:
            raise Unproven(f"{where} is a function with attributes")
        if own and f.__name__ in _TELLING:
            raise Unproven(f"{where} tells of what may differ in another process")
        if own:
            self.add("own", f.__module__, f.__qualname__, code.co_firstlineno)
        else:
            self.code(code, where)
        for name, cell in zip(code.co_freevars, f.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                self.add("empty")
                continue
            self.value(content, f"'{name}' of {where}")
        self.value(f.__defaults__ or (), f"a default of {where}")
        for name, value in sorted((f.__kwdefaults__ or {}).items()):
            self.add(name)
            self.value(value, f"the default of '{name}' of {where}")
        if not own:
            for inner in _codes(code):
                self.globals(inner, f.__globals__)

    def code(self, code: types.CodeType, where: str) -> None:
        """Everything of a code object but its place in a file."""
        constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
        self.add("code", code.co_name, code.co_code.hex(), code.co_flags, code.co_argcount, code.co_posonlyargcount,
                 code.co_kwonlyargcount, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
                 getattr(code, "co_exceptiontable", b"").hex(), list(map(_constant, constants)))
        operations = code.co_code[::2]
        if telling := _TELLING.intersection(code.co_names):
            raise Unproven(f"{where} reads '{min(telling)}', which may differ in another process")
        for operation, why in _EFFECTS.items():
            if operation in operations and _occurs(code, operation):
                raise Unproven(f"{where} {why}")
        if _STORE_DEREF in operations and any(name in code.co_freevars for name in _stored(code)):
            raise Unproven(f"{where} writes a variable of the function around it")
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                self.code(c, where)

    def globals(self, code: types.CodeType, scope: dict[str, Any]) -> None:
        """The globals that a code object reads, and what it reads of modules among them."""
        for name, attributes in sorted(_globals_read(code)):
            where = f"'{name}', which '{code.co_name}' reads,"
            self.add("global", name, attributes)
            if name in scope:
                found = scope[name]
                if type(found) is types.ModuleType:
                    self.module(found, attributes, where)
                else:
                    self.value(found, where)
            elif hasattr(builtins, name):
                self.named(builtins, name, where)

    def module(self, module: types.ModuleType, attributes: tuple[str, ...], where: str) -> None:
        """What code reads of a module."""
        top = module.__name__.split(".")[0]
        if module.__name__ in _PURE_MODULES:
            self.add("module", module.__name__)
        elif top in ("numjet", "jax"):
            self.add("module", module.__name__)
            found = _found(module, attributes)
            if type(found) is types.FunctionType and not source.is_own(found.__code__):
                self.function(found, where)
        elif top == "numpy":
            unseen = [name for name in (*module.__name__.split("."), *attributes) if name in _UNSEEN_IN_NUMPY]
            if not attributes or unseen:
                raise Unproven(f"{where} is NumPy, of which it reads {'.'.join(attributes) or 'what nobody sees'}")
            self.add("module", module.__name__)
        elif not attributes:
            raise Unproven(f"{where} is a module, of which it may read anything")
        else:
            self.attribute(module, attributes, where)

    def attribute(self, module: types.ModuleType, attributes: tuple[str, ...], where: str) -> None:
        name, rest = attributes[0], attributes[1:]
        if name not in vars(module):
            raise Unproven(f"{where} has no attribute {name} yet")
        found = vars(module)[name]
        if type(found) is types.ModuleType:
            self.module(found, rest, f"{where} {name}")
        else:
            self.value(found, f"{where} {name}")


def _found(module: types.ModuleType, attributes: tuple[str, ...]) -> Any:
    found: Any = module
    for name in attributes:
        if type(found) is not types.ModuleType:
            break
        found = getattr(found, name, None)
    return found


def _dunder(x: Any) -> set[str]:
    return {name for name in vars(x) if name.startswith("__") and name.endswith("__")}


def _constant(x: Any) -> str:
    """A constant of code as text: numbers of one value and different types, and zeros of different signs, differ."""
    if isinstance(x, tuple):
        return f"({','.join(map(_constant, x))})"
    if isinstance(x, frozenset):
        return f"{{{','.join(sorted(map(_constant, x)))}}}"
    if isinstance(x, float) and math.isnan(x):
        raise Unproven("a NaN is among its constants")
    if type(x) not in _NUMBERS:
        raise Unproven(f"a {type(x).__name__} is among its constants")
    return f"{type(x).__name__}:{x!r}"


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions within it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from _codes(c)


def _argument(code: bytes, at: int) -> int:
    """The argument of the instruction at a position, with the prefixes in front of it."""
    value, shift = code[at + 1], 8
    while at >= 2 and code[at - 2] == _EXTENDED:
        at -= 2
        value |= code[at + 1] << shift
        shift += 8
    return value


def _positions(code: types.CodeType, operation: int) -> Iterator[int]:
    """Where an instruction stands in a code object. What the interpreter keeps behind instructions is 0 in `co_code`."""
    at, text = -1, code.co_code[::2]
    while (at := text.find(operation, at + 1)) >= 0:
        yield 2 * at


def _occurs(code: types.CodeType, operation: int) -> bool:
    return next(_positions(code, operation), None) is not None


def _stored(code: types.CodeType) -> Iterator[str]:
    """The names of the cells that a code object writes."""
    names: Callable[[int], str] = code._varname_from_oparg  # type: ignore[attr-defined]
    for at in _positions(code, _STORE_DEREF):
        yield names(_argument(code.co_code, at))


def _globals_read(code: types.CodeType) -> set[tuple[str, tuple[str, ...]]]:
    """The globals that a code object reads, and the chain of attributes that it reads of each at once."""
    found, text = set(), code.co_code
    for at in _positions(code, _LOAD_GLOBAL):
        name = code.co_names[_argument(text, at) >> 1]
        attributes, at = [], at + 2
        while at < len(text):
            if text[at] == 0 or text[at] == _EXTENDED:
                at += 2
            elif text[at] in _ATTRIBUTES:
                attributes.append(code.co_names[_argument(text, at) >> _ATTRIBUTES[text[at]]])
                at += 2
            else:
                break
        found.add((name, tuple(attributes)))
    return found
