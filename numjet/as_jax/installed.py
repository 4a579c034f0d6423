"""The installed JAX and jaxlib, beside the alias: each process has two sets of modules of these names.

`sys.modules` holds the aliased modules. Those of the installed packages are put in their place while one of them is imported,
or imports something itself: JAX's functions do so when they are called. numjet's own XLA backend gets the installed jaxlib.
Submodules of jaxlib that are not aliased stay in `sys.modules`, where its native code looks for them.
"""
from __future__ import annotations

import builtins
import contextlib
import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import Any

from numjet.as_jax.finder import AliasFinder, is_aliased
from numjet.foundation import locks

PACKAGES = ("jax", "jaxlib")


def _of_package(name: object) -> bool:
    return isinstance(name, str) and name.partition(".")[0] in PACKAGES


class InstalledPackages:
    """The modules of the installed JAX and jaxlib."""

    def __init__(self, finder: AliasFinder):
        self.finder = finder
        self.modules: dict[str, ModuleType] = {}
        self._lock = locks.lock()
        self._depth = 0
        self._jax: ModuleType | None = None

    def import_module(self, name: str) -> ModuleType:
        """importlib.import_module, for which JAX and jaxlib are the installed ones."""
        if not _of_package(name):
            return importlib.import_module(name)
        with self.visible():
            return importlib.import_module(name)

    @contextlib.contextmanager
    def visible(self) -> Iterator[None]:
        """`import jax` means the installed one."""
        with self._lock:
            if self._depth == 0:
                aliased = _exchange(self.modules)
                self.finder.paused = True
            self._depth += 1
            try:
                yield
            finally:
                self._depth -= 1
                if self._depth == 0:
                    self.finder.paused = False
                    self.modules = _exchange(aliased)

    @property
    def jax(self) -> ModuleType:
        """The installed JAX. Raises ModuleNotFoundError where there is none."""
        if self._jax is None:
            self._jax = self._import_jax()
        return self._jax

    def _import_jax(self) -> ModuleType:
        self._watch_imports()
        try:
            with self.visible():
                jax = importlib.import_module("jax")
                _finish_lazy_imports()
                jax.device_get(jax.jit(jax.numpy.negative)(jax.numpy.zeros(1)))  # now native code has imported what it needs
            return jax
        except ModuleNotFoundError as missing:
            if missing.name not in PACKAGES:
                raise
            raise ModuleNotFoundError("numjet.as_jax.real() needs JAX itself, which is not installed: pip install jax",
                                      name=missing.name) from None

    def _watch_imports(self) -> None:
        """From now on, what JAX's own modules import is looked for among the installed packages."""
        builtins.__import__ = self._by_importer(builtins.__import__)
        importlib.import_module = self._by_caller(importlib.import_module)

    def _by_importer(self, plain: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
        def __import__(name: str, globals: Mapping[str, Any] | None = None, locals: Mapping[str, Any] | None = None,
                       fromlist: Sequence[str] | None = (), level: int = 0) -> ModuleType:
            if globals is None or not _of_package(globals.get("__package__")):
                return plain(name, globals, locals, fromlist, level)
            with self.visible():
                return plain(name, globals, locals, fromlist, level)
        return __import__

    def _by_caller(self, plain: Callable[..., ModuleType]) -> Callable[..., ModuleType]:
        @functools.wraps(plain)
        def import_module(name: str, package: str | None = None) -> ModuleType:
            if not _of_package(sys._getframe(1).f_globals.get("__package__")):
                return plain(name, package)
            with self.visible():
                return plain(name, package)
        return import_module


def _finish_lazy_imports() -> None:
    """Imports what JAX's modules would import when one of their names is first used, and enter into sys.modules."""
    for module in [m for name, m in sys.modules.items() if is_aliased(name) and hasattr(m, "__getattr__")]:
        for name in getattr(module, "__all__", ()):
            getattr(module, name, None)


def _exchange(modules: dict[str, ModuleType]) -> dict[str, ModuleType]:
    """Puts modules into sys.modules in the place of all aliased ones, which it returns."""
    taken = {name: sys.modules.pop(name) for name in list(sys.modules) if is_aliased(name)}
    sys.modules.update(modules)
    return taken
