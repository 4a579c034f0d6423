"""Lazy imports: a module is imported at its first use, so that `import numjet` stays fast."""

from __future__ import annotations

import sys
from collections.abc import Callable
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


class Facade(ModuleType):
    """A package that imports names when they are first asked for. Its `__dict__`, which `from package import *` and libraries
    that wrap all functions read, has them all."""

    @property
    def __dict__(self) -> dict[str, Any]:  # type: ignore[override]
        own = own_names(self)
        for name in _exported(_sources[self.__name__]) - own.keys():
            getattr(self, name)
        return own


own_names: Callable[[ModuleType], dict[str, Any]] = vars(ModuleType)["__dict__"].__get__   # those imported so far
_sources: dict[str, str] = {}  # by facade, the module whose names it exports


def _exported(module: str) -> set[str]:
    return {name for name in dir(locks.import_module(module)) if name[0] != "_"}


def names(facade: str, module: str, modules: frozenset[str] = frozenset(), only: frozenset[str] | None = None,
          instead: str | None = None) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` by which the package `facade` exports the public names of `module` and its own `modules`.

    Importing a module of a package asks for it as an attribute first. Where programs import them at once, the exported names
    are given as `only`, so that asking for another does not import `module`. `instead` names a module whose table INSTEAD says
    what to use for names that are not there on purpose.
    """
    more = Module(module)
    _sources[facade] = module
    sys.modules[facade].__class__ = Facade

    def __getattr__(name: str) -> Any:
        if name in modules:
            return locks.import_module(f"{facade}.{name}")
        unknown = name.startswith("_") or (only is not None and name not in only)
        found = None if unknown else getattr(more, name, None)
        if found is None:
            raise AttributeError(f"module {facade!r} has no attribute {name!r}{_remedy(name, instead)}")
        setattr(sys.modules[facade], name, found)
        return found

    def __dir__() -> list[str]:
        return sorted(_exported(module) | own_names(sys.modules[facade]).keys() | modules)
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
