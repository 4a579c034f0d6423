"""Fingerprints of functions: text that stays the same, in other processes too, as long as tracing would give the same program.

A function is read like a compiler does: its code with all constants, its defaults, the values that it captured, and the globals
that its code names, functions among them in the same way, modules by the attributes that the code reads of them. Everything is
written down by value, but for what belongs to Python, NumPy and numjet, which have versions: that by its own name, where its
library has it under that name (`sin`, though the program calls it `cos`). What is accepted by name is listed in
`api/pure_names.py`. Where that proves nothing (a list that somebody may change, an object with methods of its own, code with
side effects or one that reads the clock), `Unproven` says why, and the function is traced.

What is read becomes a graph (`api/read_graph.py`), in which every object stands once. So one reading says of each jitted
function that is called within, too, whether it is what it was when it was traced.
"""
from __future__ import annotations

import functools
import math
import struct
import sys
import types
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.api import library_state, pure_names
from numjet.api.bytecode import codes, facts
from numjet.api.read_graph import Graph, Leaf, Node, Parts
from numjet.core.trace import EVAL, current_trace
from numjet.foundation import disk_cache, dtypes, source
from numjet.foundation.lazy_import import Facade, own_names
from numjet.foundation.tree import Partial
from numjet.foundation.util import OF_JITTED

_MOST_ITEMS = 5000         # functions, values and constants: more would take longer to read than to trace
_MOST_BYTES = 1 << 22      # of arrays
_SINGLE = frozenset((type(None), bool, type(Ellipsis), type(NotImplemented)))   # of each value there is one object
_NUMBERS = frozenset((type(None), bool, int, float, complex, str, bytes, type(Ellipsis), type(NotImplemented)))
_OWN_ATTRIBUTES = frozenset(("__wrapped__", "__signature__")) | OF_JITTED - {"_dynamic_axes"}
_BUILTINS = sys.modules["builtins"]


class Unproven(Exception):
    """Why nothing says that a function is the same as before."""


class Reading:
    """What was read of a function, with values that shape its program. unproven: why nothing is proven of it, or None."""

    def __init__(self, fun: Any, static: Sequence[Any] = (), traces: Iterable[Any] = (),
                 made: Iterable[Any] | None = None) -> None:
        """traces: those that were made of the function before. made: those made since the same was read, which are compared
        with that reading; then the libraries are not looked at, which no trace of a proven function changes."""
        self.fun, self.static = fun, tuple(static)
        self.unproven: str | None = None
        self._reader = _Reader(frozenset(map(id, made or ())))
        self._root: Node = ()
        try:
            self._read(traces, made is None)
        except Unproven as why:
            self.unproven = str(why)
        except RecursionError:
            self.unproven = "it holds values in values in values, too deep to be looked at"
        except (TypeError, AttributeError, ValueError, LookupError) as error:   # of a user's class that is looked at
            self.unproven = f"looking at it raises {type(error).__name__}: {error}"
        self._known = frozenset(self._reader.graph.nodes)   # before anything is traced
        self._refused = self._reader.graph.reaching(self._reader.reading) if self.unproven is not None else frozenset()

    def _read(self, traces: Iterable[Any], is_first: bool) -> None:
        if is_first and current_trace() is EVAL and (changed := library_state.changed()) is not None:
            raise Unproven(changed)
        self._reader.check_traces(self.fun, "the function", traces)
        self._root = self._reader.call(self.fun, self.static)
        self._reader.check_pending()

    def text(self) -> str:
        """The fingerprint, the same in every process that reads the same."""
        return "\n".join((*library_state.settings(), *self._reader.graph.text(self._root)))

    def proof(self, fun: Any, static: Sequence[Any]) -> str:
        """What says of a function that was read that it is the same as another time, in this process."""
        return self._reader.proof(fun, tuple(static))

    def covers(self, fun: Any, static: Sequence[Any]) -> bool:
        """Whether a function and static arguments were there before, and read. Tracing a proven function changes none of it."""
        return self.unproven is None and id(fun) in self._known and all(map(self._holds, static))

    def refuses(self, fun: Any) -> bool:
        """Whether the reading ended within a function, so that nothing is proven of it either."""
        return id(fun) in self._refused

    def _holds(self, x: Any) -> bool:
        return type(x) in _NUMBERS or (all(map(self._holds, x)) if type(x) is tuple else id(x) in self._known)


def digest(text: str) -> str:
    """A short name of a fingerprint."""
    return str(disk_cache.blake2.blake2b(text.encode(), digest_size=24).hexdigest())


class _Reader:
    def __init__(self, trusted: frozenset[int]) -> None:
        self.trusted = trusted   # traces
        self.graph = Graph(digest)
        self.parts: Parts = []       # of the node that is read
        self.count = 0
        self.alive: list[Any] = []   # what the graph knows by identity
        self.reading: Node = ()
        self.unread: list[tuple[Node, Callable[[], None]]] = []
        self.bytes = 0
        self.pending: list[tuple[str, str, Any, tuple[Any, ...]]] = []
        self.settings = digest("\n".join(library_state.settings()))

    def call(self, fun: Any, static: tuple[Any, ...]) -> Node:
        """The node of a function with static arguments, and all that it reads."""
        key = (id(fun), *map(id, static))
        self.alive.append((fun, static))

        def write() -> None:
            self.value(fun, "the function")
            for value in static:
                self.value(value, "a static argument")
        unread: list[tuple[Node, Callable[[], None]]] = [(key, write)] if key not in self.graph.nodes else []
        while unread:
            self.reading, write = unread.pop()
            self.parts = self.graph.nodes[self.reading] = []
            write()
            unread += reversed(self.unread)
            self.unread.clear()
        return key

    def proof(self, fun: Any, static: tuple[Any, ...]) -> str:
        return digest(self.settings + self.graph.digest(self.call(fun, static)))

    def node(self, key: Node, write: Callable[[], None]) -> None:
        """Refers to a node, which is read later, once."""
        if key not in self.graph.nodes:
            self.graph.nodes[key] = []   # until it is read
            self.unread.append((key, write))
        self.parts.append(key)

    def leaf(self, x: Any, *parts: Any, address: int | None = None) -> None:
        """Writes down an object that holds no others. Which names stand for one object counts, as `is` compares them."""
        self.alive.append(x)
        self.add(*parts)
        self.parts.append(Leaf(id(x), address))

    def object(self, x: Any, write: Callable[[Any, str], None], where: str) -> None:
        """A node for an object."""
        self.alive.append(x)
        self.node(id(x), lambda: write(x, where))

    def add(self, *parts: Any) -> None:
        self.count += 1
        if self.count > _MOST_ITEMS:
            raise Unproven("it reads too much to be looked at")
        self.parts.append(" ".join(map(str, parts)))

    # -- values
    def value(self, x: Any, where: str) -> None:
        """Writes a value down, or what it stands for."""
        kind = type(x)
        if kind in _SINGLE:
            self.add(_constant(x))
        elif kind in _NUMBERS:
            self.leaf(x, _constant(x))
        elif kind is tuple:
            self.object(x, self.items, where)
        elif kind is slice:
            self.object(x, lambda x, where: self.items((x.start, x.stop, x.step), where), where)
        elif kind is np.ndarray or kind is _native.Array or isinstance(x, np.generic):
            self.object(x, self.array, where)
        elif isinstance(x, np.dtype):
            self.dtype(x, where)
        elif kind in _MODULES:
            self.module(x, (), where)
        else:
            self.callable(x, where)

    def items(self, values: Sequence[Any], where: str) -> None:
        """Several values."""
        self.add("tuple", len(values))
        for k, item in enumerate(values):
            self.value(item, f"{where}[{k}]")

    def array(self, x: Any, where: str) -> None:
        layout: tuple[Any, ...] = ()
        if type(x) is _native.Array:
            if x.is_deleted() or x.committed or x._remote is not None or x._sharding is not None:
                raise Unproven(f"{where} is an array that was deleted, or put on a device")
            value, more = x._value, x.aval.weak_type
        else:
            value, more = np.asarray(x), type(x).__name__
            if isinstance(x, np.generic) and type(x) is not value.dtype.type:
                raise Unproven(f"{where} is of a class derived from NumPy's numbers")
            layout = value.strides, value.flags.num
            if value is x:
                self.memory(value)
        if not dtypes.is_array_dtype(value.dtype):
            raise Unproven(f"{where} is an array of {value.dtype}")
        self.bytes += value.nbytes
        if self.bytes > _MOST_BYTES:
            raise Unproven(f"{where} is a large array")
        content = disk_cache.blake2.blake2b(np.ascontiguousarray(value).tobytes(), digest_size=24)
        self.dtype(value.dtype, where)
        self.add("array", value.shape, *layout, more, content.hexdigest())

    def memory(self, x: np.ndarray) -> None:
        """Whose memory an array is part of, and where it begins there: writes into one array show in others of that memory."""
        owner: Any = x
        while type(owner) is np.ndarray and owner.base is not None:
            owner = owner.base
        self.leaf(owner, "memory", address=x.__array_interface__["data"][0])

    def dtype(self, x: np.dtype, where: str) -> None:
        if x.metadata is not None or (x.isbuiltin != 1 and not (x.isbuiltin == 0 and x.byteorder in "<>") and x.isbuiltin != 2):
            raise Unproven(f"{where} is a dtype with fields or data of its own")
        if not dtypes.is_array_dtype(x) and x.isbuiltin != 1:
            raise Unproven(f"{where} is a dtype of another library")
        self.add("dtype", x.str, x.char, x.name if x.isbuiltin == 2 else "")

    def callable(self, x: Any, where: str) -> None:
        kind = type(x)
        if kind is types.FunctionType:
            self.function(x, where)
        elif kind is _native.EagerFunction:
            self.check_plain(x, where)
            self.callable(x.__wrapped__, where)
        elif kind is _native.JitFunction:
            self.object(x, self.jitted, where)
        elif kind is functools.partial or kind is Partial:
            self.object(x, self.partial, where)
        elif kind is types.BuiltinFunctionType:
            self.builtin(x, where)
        elif isinstance(x, np.ufunc) or kind is _DISPATCHER:
            self.numpy(x, "numpy" if isinstance(x, np.ufunc) else x.__module__, where)
        elif isinstance(x, type):
            self.type(x, where)
        elif _top(kind) == "numjet" and _resolved(kind.__module__, kind.__qualname__) is kind:
            self.own_object(x, where)
        else:
            raise Unproven(f"{where} is of type {kind.__qualname__}, which may change")

    def partial(self, x: Any, where: str) -> None:
        if vars(x):
            raise Unproven(f"{where} is a partial function with attributes")
        self.add("partial", len(x.keywords))
        self.value(x.func, where)
        self.value(x.args, where)
        for name in sorted(x.keywords):
            self.add(repr(name))
            self.value(x.keywords[name], where)

    # -- what has a name in a library
    def builtin(self, x: Any, where: str) -> None:
        owner: Any = x.__self__
        if owner is _native and hasattr(_native, x.__name__):
            self.add("native", x.__name__)
        elif owner is _BUILTINS:
            if x.__name__ not in pure_names.BUILTINS:
                raise Unproven(f"{where} calls {x.__name__}")
            self.add("builtin", x.__name__)
        elif isinstance(owner, types.ModuleType) and owner.__name__ in pure_names.MODULES \
                and x.__name__ not in pure_names.MODULES_EXCEPT:
            self.add("function", owner.__name__, x.__name__)
        elif isinstance(owner, types.ModuleType) and owner.__name__.startswith("numpy."):
            self.numpy(x, x.__module__, where)
        else:
            raise Unproven(f"{where} is a function of which nothing is known")

    def numpy(self, x: Any, module: str | None, where: str) -> None:
        """A function, ufunc or class of NumPy's."""
        name = x.__name__
        if _resolved(module, name) is not x:
            raise Unproven(f"{where} is not what NumPy has under the name {name}")
        if not isinstance(x, np.ufunc) and name not in pure_names.NUMPY.get(str(module), ()):
            raise Unproven(f"{where} is a function of which nothing is known")
        if not isinstance(x, np.ufunc | type):
            self.check_plain(x, where)
        self.add("numpy", module, name)

    def check_plain(self, x: Any, where: str) -> None:
        if not library_state.is_plain(x):
            raise Unproven(f"{where} is a function to which somebody gave attributes")

    def type(self, x: type, where: str) -> None:
        top, name = _top(x), x.__name__
        if type(x).__name__ == "ScalarType" and _top(type(x)) == "numjet":
            self.add("scalar type", name)
            self.dtype(x.dtype, where)  # type: ignore[attr-defined]
            return
        if _resolved(x.__module__, x.__qualname__) is not x:
            raise Unproven(f"{where} is a class of another library or program")
        if top == "builtins":
            if name not in pure_names.BUILTINS and not issubclass(x, BaseException):
                raise Unproven(f"{where} calls {name}")
        elif top == "numpy":
            if issubclass(x, np.generic) and not issubclass(x, (np.datetime64, np.timedelta64)):
                pass
            elif name not in pure_names.NUMPY.get(x.__module__, ()):
                raise Unproven(f"{where} is a class of which nothing is known")
        elif top not in ("numjet", "ml_dtypes") and (x.__module__ not in pure_names.MODULES
                                                     or name in pure_names.MODULES_EXCEPT):
            raise Unproven(f"{where} is a class of another library or program")
        self.add("class", x.__module__, x.__qualname__)

    def own_object(self, x: Any, where: str) -> None:
        """An object that numjet made and named, such as the ufunc `jnp.add` or the operation `lax.add_p`, or one that holds
        numbers only, such as `jnp.r_`."""
        if hasattr(x, "__dict__") and all(type(value) in _NUMBERS for value in vars(x).values()) and not _holds_more(type(x)):
            self.add("own", type(x).__module__, type(x).__qualname__)
            for attribute, value in vars(x).items():
                self.add(attribute, _constant(value))
            return
        name = getattr(x, "__name__", None) or getattr(x, "name", None)
        module = sys.modules.get(type(x).__module__)
        if not isinstance(name, str) or type(x).__name__ not in ("ufunc", "Op") or module is None:
            raise Unproven(f"{where} is of type {type(x).__qualname__}, which may change")
        self.add("own", type(x).__module__, type(x).__qualname__, name)
        if type(x).__name__ == "ufunc":
            for part in ("_call", "_reduce", "_accumulate", "_at", "_reduceat"):
                self.value(getattr(x, part), where)
            self.items((x.nin, x.nout, x.nargs, x.identity), where)

    # -- functions
    def jitted(self, x: Any, where: str) -> None:
        if not hasattr(x, "_jit_options") or not vars(x).keys() <= _dunder(x) | _OWN_ATTRIBUTES:
            raise Unproven(f"{where} is a jitted function with more attributes")
        self.add("jit")
        for name, option in sorted(x._jit_options.items()):
            self.add(name)
            (self.items if isinstance(option, list) else self.value)(option, f"an option of {where}")
        state = getattr(x, "_jit_state", None)
        if state is not None:
            self.check_traces(state.fun, where, state.traces.values())
        self.value(x.__wrapped__, where)

    def check_traces(self, fun: Any, where: str, traces: Iterable[Any]) -> None:
        """Refuses a function of which there are traces that may differ from what tracing it now would give: they are used
        again for arguments of their types."""
        for traced in traces:
            static = () if traced.described is None else traced.described.static
            if id(traced) in self.trusted:
                continue
            if traced.proof is None:
                raise _traced_before(where)
            self.pending.append((where, traced.proof, fun, tuple(value for _, value in static)))

    def check_pending(self) -> None:
        """What `check_traces` refuses, when all is read."""
        while self.pending:
            where, proof, fun, static = self.pending.pop()
            if proof != self.proof(fun, static):
                raise _traced_before(where)

    def function(self, f: Any, where: str) -> None:
        self.object(f, self.what_it_is, where)

    def what_it_is(self, f: Any, where: str) -> None:
        """Reads a function."""
        if source.is_own(f.__code__) and _is_vars(f.__globals__.get("__name__"), f.__globals__):
            self.own_function(f, where)
            return
        library = f.__globals__.get("__name__")
        if library in pure_names.MODULES and _resolved(library, f.__qualname__) is f:
            self.add("function", library, f.__qualname__)
            return
        if str(library).split(".")[0] == "numpy" and _is_vars(library, f.__globals__):
            self.numpy(f, f.__module__, where)
            return
        if not vars(f).keys() <= {"__wrapped__"}:
            raise Unproven(f"{where} is a function with attributes")
        if "__wrapped__" in vars(f):   # whose signature counts
            self.value(f.__wrapped__, where)
        if type(f.__globals__) is not dict or type(f.__builtins__) is not dict:
            raise Unproven(f"{where} has globals with methods of their own")
        self.add("function", repr(f.__name__))
        self.code(f.__code__, where)
        self.captured(f, where)
        for inner in codes(f.__code__):
            self.globals(inner, f)
        for inner in codes(f.__code__):
            self.attributes(facts(inner).attributes, where)

    def own_function(self, f: Any, where: str) -> None:
        """A function of numjet's: by its name, where it is what its module has under that name; else with what it captured."""
        module, name, code = str(f.__module__), f.__qualname__, f.__code__
        self.check_plain(f, where)
        if f.__name__ in pure_names.OWN_EXCEPT:
            raise Unproven(f"{where} tells of what may differ in another process")
        numbers = [_constant(default) for default in f.__defaults__ or () if type(default) in _NUMBERS]
        found = _resolved(module, name)
        if found is f or getattr(found, "__wrapped__", None) is f:
            if not any(module == one or module.startswith(one + ".") for one in pure_names.OWN_PACKAGES):
                raise Unproven(f"{where} may tell of what differs in another process")
            self.add("own", module, name, code.co_firstlineno, numbers)
            if type(wrapped := vars(f).get("__wrapped__")) is types.FunctionType:
                self.function(wrapped, where)
            return
        self.add("own", module, name, code.co_firstlineno, code.co_code.hex(), code.co_names,
                 [_constant(c) for c in code.co_consts if type(c) in _NUMBERS])
        self.captured(f, where)

    def captured(self, f: Any, where: str) -> None:
        """The values of the scopes around a function, and its defaults."""
        for name, cell in zip(f.__code__.co_freevars, f.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                self.add("empty")
                continue
            self.value(content, f"'{name}' of {where}")
        self.value(f.__defaults__ or (), f"a default of {where}")
        for name, value in sorted((f.__kwdefaults__ or {}).items()):
            self.add(repr(name))
            self.value(value, f"the default of '{name}' of {where}")

    def code(self, code: types.CodeType, where: str) -> None:
        """Everything of a code object but its place in a file."""
        constants = [c for c in code.co_consts if not isinstance(c, types.CodeType)]
        self.add("code", repr(code.co_name), code.co_code.hex(), code.co_flags, code.co_argcount, code.co_posonlyargcount,
                 code.co_kwonlyargcount, code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars,
                 getattr(code, "co_exceptiontable", b"").hex(), list(map(_constant, constants)))
        self.check(code, where)
        for c in code.co_consts:
            if isinstance(c, types.CodeType):
                self.code(c, where)

    def check(self, code: types.CodeType, where: str) -> None:
        """Refuses code that does more than compute, or sees what a fingerprint does not hold."""
        refused = facts(code).refused
        if refused is not None:
            raise Unproven(f"{where} {refused}")

    def attributes(self, names: Iterable[str], where: str) -> None:
        """Refuses attributes of which nothing is known."""
        for name in names:
            if name not in pure_names.ATTRIBUTES and name not in pure_names.SPECIAL:
                raise Unproven(f"{where} reads the attribute '{name}', which may show what changes")

    def globals(self, code: types.CodeType, f: Any) -> None:
        """The globals that a code object reads, and what it reads of modules among them."""
        scope, builtins = f.__globals__, f.__builtins__
        for name, attributes in facts(code).globals:
            where = f"'{name}', which '{code.co_name}' reads,"
            self.add("global", repr(name), attributes)
            found = scope.get(name, builtins.get(name, _ABSENT))
            if type(found) in _MODULES:
                self.module(found, attributes, where)
            elif found is not _ABSENT:
                self.value(found, where)
                self.attributes(attributes, where)

    # -- modules
    def module(self, module: types.ModuleType, attributes: tuple[str, ...], where: str) -> None:
        """What code reads of a module."""
        name = module.__name__
        top = name.split(".")[0]
        known = name in pure_names.MODULES or top in ("numjet", "numpy", "jax")
        if known and not _is_vars(name, own_names(module)):
            raise Unproven(f"{where} is a module that took the name of another")
        if not attributes:
            raise Unproven(f"{where} is {'NumPy' if top == 'numpy' else 'a module'}, of which it may read what nobody sees")
        first, rest = attributes[0], attributes[1:]
        if top in ("numjet", "jax"):
            if first in pure_names.OWN_EXCEPT:
                raise Unproven(f"{where} reads '{first}', which may differ in another process")
            found = getattr(module, first, _ABSENT)   # which may import it
        else:
            found = own_names(module).get(first, _ABSENT)
        if name in pure_names.MODULES and first in pure_names.MODULES_EXCEPT:
            raise Unproven(f"{where} reads '{first}', which reads attributes by their names")
        self.add("module", name if known else "", first)
        if found is _ABSENT:
            raise Unproven(f"{where} has no attribute {first} yet")
        if type(found) is types.ModuleType:
            self.module(found, rest, f"{where} {first}")
        else:
            self.value(found, f"{where} {first}")
            self.attributes(rest, where)


_ABSENT = object()
_MODULES = (types.ModuleType, Facade)
_DISPATCHER = type(np.sum)   # of functions that other arrays may implement


def _traced_before(where: str) -> Unproven:
    return Unproven(f"{where} was traced before, and nothing proves that it is the same now")


def _top(kind: type) -> str:
    return kind.__module__.split(".")[0]


def _is_vars(name: Any, scope: dict[str, Any]) -> bool:
    """Whether these are the globals of the imported module of that name."""
    module = sys.modules.get(name)
    return module is not None and own_names(module) is scope


def _resolved(module: str | None, name: str) -> Any:
    """What a module has under a qualified name; None for nothing."""
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None) if found is not None else None
    return found


def _holds_more(kind: type) -> bool:
    """Whether objects of a class hold more than their dictionary: in slots, or as one of Python's types that is a base."""
    return any(set(vars(one).get("__slots__", ())) - {"__dict__", "__weakref__"} or _top(one) != "numjet"
               for one in kind.__mro__ if one is not object)


def _dunder(x: Any) -> set[str]:
    return {name for name in vars(x) if name.startswith("__") and name.endswith("__")}


def _constant(x: Any) -> str:
    """A number or text as text: numbers of one value and different types, zeros of different signs, and NaNs of different bits
    differ."""
    if type(x) is tuple:
        return f"({','.join(map(_constant, x))})"
    if type(x) is frozenset:
        return f"{{{','.join(sorted(map(_constant, x)))}}}"
    if type(x) is int:
        return f"int:{x:#x}"
    if type(x) is float and math.isnan(x):
        return f"float:{struct.pack('d', x).hex()}"
    if type(x) is complex and (math.isnan(x.real) or math.isnan(x.imag)):
        return f"complex:{struct.pack('dd', x.real, x.imag).hex()}"
    if type(x) not in _NUMBERS:
        raise Unproven(f"a {type(x).__name__} is among its constants")
    return f"{type(x).__name__}:{x!r}"
