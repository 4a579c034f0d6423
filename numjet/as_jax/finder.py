"""The import of JAX's names: a finder that answers `import jax.X` by modules of numjet.

A module of JAX is one of these, in this order:
- a module of the compatibility package: `numjet.as_jax.jax.X`, with what only JAX's users know, or one of ELSEWHERE;
- numjet's module of the same name: `jax.X is numjet.X`, one object under both names, so classes and state are shared;
- for a private module, `jax._src.X`: names that JAX's public modules show, too, from numjet's modules;
- a placeholder, if JAX has the module and numjet does not: its names can be imported, and raise when they are used.

Modules get a fallback for names that JAX has and they lack: a submodule, or a placeholder. dir() of them shows JAX's names.
"""
from __future__ import annotations

import importlib
import importlib.machinery
import importlib.util
import sys
from collections.abc import Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from importlib.metadata import Distribution, DistributionFinder
from types import ModuleType
from typing import Any

from numjet.as_jax import distributions, names, unsupported
from numjet.as_jax.classes import place_classes
from numjet.foundation.config import config
from numjet.foundation.lazy_import import own_names

OWN = "numjet.as_jax."  # where the compatibility package has JAX's module X: OWN + X
ELSEWHERE = {"jax.experimental.hijax": "numjet.as_jax.hijax", "jax.experimental.pallas": "numjet.as_jax.pallas"}
_PRIMITIVES = "numjet.extend.core.primitives"
NAMES_ELSEWHERE = {  # names of numjet's modules that only JAX's users know
    "jax.experimental.cur_qdd": "numjet.as_jax.hijax",
    "jax.experimental.ode.api_util": "numjet.as_jax.ode",
    "jax.experimental.ode.ravel_first_arg": "numjet.as_jax.ode",
    **{f"jax.lax.{name}_p": _PRIMITIVES for name in (
        "create_token", "device_put", "ragged_all_to_all", "select_and_scatter")},
    "jax.random.random_gamma_p": _PRIMITIVES,
}
# Modules that `import jax` brings, as with JAX: libraries look in sys.modules for classes of arrays and for the version, and
# do not import. The version comes before the class of arrays, as libraries choose by it where to look for the class.
WITH_JAX = ("jax.core", "jax.numpy", "jax.version", "jaxlib._jax")
# The other modules of jaxlib are those that are installed.
OWN_JAXLIB = ("jaxlib", "jaxlib._jax", "jaxlib.version", "jaxlib.xla_client")


def is_aliased(name: str) -> bool:
    """Whether a module of this name means numjet."""
    return name == "jax" or name.startswith("jax.") or name in OWN_JAXLIB


def exists(name: str) -> bool:
    """Whether a module can be imported; imports the packages around it."""
    try:
        return importlib.util.find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def implementation(name: str) -> str | None:
    """The module of numjet that a module of JAX means. None: there is none."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if exists(OWN + name):
        return OWN + name
    shared = f"numjet{name.removeprefix('jax')}"
    return shared if name in names.table() and exists(shared) else None


class AliasLoader(Loader):
    """Loads a module of numjet under JAX's name."""

    def __init__(self, target: str | None):
        self.target = target

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return None

    def exec_module(self, module: ModuleType) -> None:
        """Puts numjet's module in the place of the new one, or makes the new one a placeholder."""
        name = module.__name__
        if name == "jax":
            config.read_environment()  # a program may set variables before it imports JAX
        if self.target is not None:
            module = importlib.import_module(self.target)
            sys.modules[name] = module
            own_names(module).setdefault("__path__", [])  # JAX's module may have submodules, if numjet's is a file
            module.__name__ = name  # programs and libraries ask a namespace for it: SciPy knows JAX's by `jax.numpy`
        else:
            module.__doc__ = f"{name}: names of numjet's modules for it; those that numjet lacks raise when they are used."
        add_fallback(module, name)
        add_listing(module, name)
        if name == "jax":
            for brought in WITH_JAX:
                importlib.import_module(brought)
            place_classes()


def public_name(private: str, name: str) -> Any:
    """What a name of a private module is, by the public modules that show it. None: none does, or numjet lacks it."""
    for module in names.private().get(private, ()):
        if names.is_name(module, name):
            found = getattr(importlib.import_module(module), name)
            if not isinstance(found, unsupported.PLACEHOLDERS):
                return found
    return None


def name_of_package(module: str, name: str) -> Any:
    """What a name of a module is, if the package around it shows it, too. None: it does not, or numjet lacks it."""
    package = module.rpartition(".")[0]
    if package in ("", "jax") or not (names.is_name(module, name) and names.is_name(package, name)):
        return None
    found = getattr(importlib.import_module(package), name)
    return None if isinstance(found, (*unsupported.PLACEHOLDERS, ModuleType)) else found


def add_fallback(module: ModuleType, name: str) -> None:
    """Gives a module what it lacks of JAX's module `name`: submodules, imported when first named, and placeholders."""
    own = own_names(module).get("__getattr__")
    if getattr(own, "falls_back", False):
        return

    def __getattr__(attribute: str) -> Any:
        if own is not None:
            try:
                return own(attribute)
            except AttributeError:
                pass
        full = f"{name}.{attribute}"
        if names.is_module(full) or (not attribute.startswith("__") and exists(OWN + full)):
            return importlib.import_module(full)
        if full in NAMES_ELSEWHERE:
            return getattr(importlib.import_module(NAMES_ELSEWHERE[full]), attribute)
        found = public_name(name, attribute)
        if found is None:
            found = name_of_package(name, attribute)
        if found is not None:
            return found
        if names.is_name(name, attribute):
            return unsupported.placeholder(full)
        # numjet's own `from numjet.lax import sharding`, where the package has JAX's name already
        behind = f"{module.__spec__.name}.{attribute}" if module.__spec__ else ""
        if behind.startswith("numjet.") and not attribute.startswith("__") and exists(behind):
            return importlib.import_module(behind)
        raise AttributeError(f"module {name!r} has no attribute {attribute!r}")
    vars(__getattr__)["falls_back"] = True
    own_names(module)["__getattr__"] = __getattr__


def add_listing(module: ModuleType, name: str) -> None:
    """Lets dir() of a module show JAX's names, as far as they are known, and JAX's submodules that are loaded: neither what
    numjet's module imports for itself nor what numjet adds."""
    known = names.table().get(name, frozenset())
    if not known or names.ANY in known:
        return

    def __dir__() -> list[str]:
        own = own_names(module).items()
        modules = {n for n, value in own if isinstance(value, ModuleType) and names.is_module(f"{name}.{n}")}
        return sorted(known | modules | {n for n, _ in own if n.startswith("__")})
    own_names(module)["__dir__"] = __dir__


class AliasFinder(MetaPathFinder):
    """Finds JAX's modules and distributions, unless it is paused: then the installed JAX is found."""

    def __init__(self) -> None:
        self.paused = False

    def find_spec(self, fullname: str, path: Sequence[str] | None = None,
                  target: ModuleType | None = None) -> ModuleSpec | None:
        if self.paused or not is_aliased(fullname):
            return None
        found = implementation(fullname)
        if found is None and not names.is_module(fullname):
            raise ModuleNotFoundError(f"No module named {fullname!r}: neither JAX {names.VERSION_TEXT}'s public modules nor "
                                      f"those that numjet.as_jax adds have it.", name=fullname)
        return ModuleSpec(fullname, AliasLoader(found), is_package=True)

    def find_distributions(self, context: DistributionFinder.Context = DistributionFinder.Context()) -> list[Distribution]:  # noqa: B008
        """JAX's distributions, so that programs that ask for the version of JAX get an answer."""
        return [] if self.paused else distributions.matching(context.name)
