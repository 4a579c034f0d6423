"""Lazy imports: a module is imported at its first use, so that `import numjet` stays fast."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from importlib.machinery import PathFinder
from types import ModuleType
from typing import Any

from numjet.foundation import locks


class Module:
    """Proxy of the module `name`, which the first access to an attribute imports.

    >>> math = Module("math")
    >>> math.floor(1.5)
    1
    """

    def __init__(self, name: str):
        self._name = name

    def __getattr__(self, attribute: str) -> Any:
        found = getattr(locks.import_module(self._name), attribute)
        setattr(self, attribute, found)
        return found


class Functions:
    """Proxy of the module `name`, whose functions can be named without importing it: that is done by the first call of one.

    >>> Functions("math").floor(1.5)
    1
    """

    def __init__(self, name: str):
        self._module = Module(name)

    def __getattr__(self, name: str) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            return getattr(self._module, name)(*args, **kwargs)
        return call


class Method:
    """A deferred method: the function `name` of the package `facade`, imported when the attribute is first read, of an array or
    of the class; it then takes this object's place in all classes that have it."""

    def __init__(self, facade: str, name: str):
        self.facade, self.name = facade, name
        self.places: list[tuple[type, str, Callable[[Any], Any]]] = []

    def put(self, kind: type, name: str, finish: Callable[[Any], Any]) -> None:
        """Makes it the attribute `name` of a class, where finish(function) will stand."""
        self.places.append((kind, name, finish))
        setattr(kind, name, self)

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        function = getattr(locks.import_module(self.facade), self.name)
        for kind, name, finish in self.places:
            if vars(kind).get(name) is self:
                setattr(kind, name, finish(function))
        found = next(finish(function) for kind, _, finish in self.places if owner is None or issubclass(owner, kind))
        return found.__get__(instance, owner)

    @property
    def source(self) -> str:
        """The function's module and name."""
        found = sources(_exports[self.facade])[self.name]
        return f"{found.module} {found.attribute}"


class Facade(ModuleType):
    """A package that imports names when they are first asked for. Its `__dict__`, which `from package import *` and libraries
    that wrap all functions read, has them all."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        own = own_names(self)
        for name in sources(_exports[_own_name(self)]).keys() - own.keys():
            getattr(self, name)
        return own

    def __reduce__(self) -> tuple[Callable[[str], ModuleType], tuple[str]]:
        """Pickled by its name. Libraries that pickle functions by value know modules by their type, which is another here."""
        return import_module, (_own_name(self),)


def _own_name(module: ModuleType) -> str:
    """Under which a module was imported: its `__name__` may be that of JAX's module in whose place it is."""
    assert module.__spec__ is not None
    return module.__spec__.name


own_names: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__   # those imported so far
_exports: dict[str, str] = {}  # by facade, the module whose names it exports


class _Source:
    """What an import statement stands for: an attribute of a module."""

    __slots__ = ("attribute", "module")

    def __init__(self, module: str, attribute: str):
        self.module, self.attribute = module, attribute

    def load(self) -> Any:
        return getattr(locks.import_module(self.module), self.attribute)


class _Noted:
    """In place of an imported module: its attributes are notes."""

    __slots__ = ("_name",)

    def __init__(self, name: str, *args: Any):
        self._name = name

    def __getattr__(self, attribute: str) -> _Source:
        return _Source(self._name, attribute)


@cache
def sources(module: str) -> dict[str, _Source]:
    """Deferred import statements: the public names that `module`, which holds nothing else, would import, and where from.

    Its code runs with an importer that only notes what it is asked for. So each name can be imported by itself, and the
    statements, which type checkers read, are the only list.
    """
    spec = PathFinder.find_spec(module, sys.modules[module.rpartition(".")[0]].__path__)
    scope: dict[str, Any] = {"__name__": module, "__builtins__": {"__import__": _Noted}}
    exec(spec.loader.get_code(module), scope)  # type: ignore[union-attr]
    return {name: found for name, found in scope.items() if name[0] != "_"}


def names(facade: str, module: str, modules: frozenset[str] = frozenset(), instead: str | None = None,
          finish: Callable[[str, Any], Any] | None = None) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` by which the package `facade` exports the names that `module` would import, each imported
    when it is first asked for, and its own `modules`.

    `instead` names a module whose table INSTEAD says what to use for names that are not there on purpose. The package shows
    finish(name, value) where that is given.
    """
    _exports[facade] = module
    sys.modules[facade].__class__ = Facade

    def __getattr__(name: str) -> Any:
        if name in modules:
            return locks.import_module(f"{facade}.{name}")
        source = None if name.startswith("_") else sources(module).get(name)
        if source is None:
            raise AttributeError(f"module {facade!r} has no attribute {name!r}{_remedy(name, instead)}")
        found = source.load() if finish is None else finish(name, source.load())
        setattr(sys.modules[facade], name, found)
        return found

    def __dir__() -> list[str]:
        return sorted(sources(module).keys() | own_names(sys.modules[facade]).keys() | modules)
    return __getattr__, __dir__


def _remedy(name: str, module: str | None) -> str:
    text = None if module is None or name.startswith("_") else locks.import_module(module).INSTEAD.get(name)
    return f": {text}" if text else ""


def submodules(package: str, modules: frozenset[str]) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that imports its modules when they are first named."""

    def __getattr__(name: str) -> Any:
        if name in modules:
            return locks.import_module(f"{package}.{name}")
        raise AttributeError(f"module {package!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted(modules)
    return __getattr__, __dir__
