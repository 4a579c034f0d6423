#!/usr/bin/env python3
"""Writes the table of JAX's public modules and names, numjet/as_jax/names.txt. Run it in an environment with JAX:

    python tools/ecosystem/jax_names.py > numjet/as_jax/names.txt

Modules that need packages which are not installed are written with `*`: any name.
"""
import importlib
import pkgutil
import types
import typing
import warnings
from collections import abc
from types import ModuleType

import jax

PRIVATE = ("jax._src", "jax.tools", "jax.experimental.mosaic", "jax.experimental.pallas.ops", "jax.collect_profile")
ANY = ("jax.extend.mlir.dialects", "jax.extend.mlir.ir", "jax.extend.mlir.passmanager")  # thousands of names of MLIR
STANDARD = (abc, types, typing)


def modules() -> list[str]:
    """Names of JAX's public modules."""
    found = [m.name for m in pkgutil.walk_packages(jax.__path__, "jax.") if not m.name.startswith(PRIVATE)]
    return ["jax", *(name for name in found if not any(part.startswith("_") for part in name.split(".")))]


def _shows_jaxlib(module: ModuleType, name: str, value: ModuleType) -> bool:
    """Whether a module for writers of libraries shows a module of jaxlib."""
    return module.__name__.startswith("jax.extend.") and value.__name__.startswith("jaxlib.") and not name.startswith("_")


def is_public(module: ModuleType, name: str, public: set[str]) -> bool:
    """Whether a module shows a name that is not one of its imports."""
    value = getattr(module, name, None)
    if isinstance(value, ModuleType):
        return f"{module.__name__}.{name}" in public or _shows_jaxlib(module, name, value)
    return not name.startswith("_") and name != "annotations" and all(getattr(m, name, module) is not value for m in STANDARD)


def names(module: str, public: set[str]) -> list[str]:
    """The public names of a module."""
    if module.startswith(ANY) and module != ANY[0]:
        return ["*"]
    try:
        found = importlib.import_module(module)
    except ImportError:
        return ["*"]
    return [name for name in dir(found) if is_public(found, name, public)]


def main() -> None:
    """Prints a line for each module."""
    warnings.simplefilter("ignore")
    public = modules()
    for module in sorted(public):
        print(" ".join([f"{module}:", *names(module, set(public))]))


if __name__ == "__main__":
    main()
