#!/usr/bin/env python3
"""Writes the table of JAX's public modules and names, numjet/as_jax/names.txt. Run it in an environment with JAX:

    python tools/ecosystem/jax_names.py > numjet/as_jax/names.txt
    python tools/ecosystem/jax_names.py --private > numjet/as_jax/private.txt

Modules that need packages which are not installed are written with `*`: any name. The table of private modules has, for each,
the public modules that show some of its names: the same object under the same name.
"""

import contextlib
import importlib
import io
import pkgutil
import sys
import types
import typing
import warnings
from collections import abc
from types import ModuleType

import jax

PRIVATE = ("jax._src", "jax.tools", "jax.collect_profile")
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
    return sorted({*(name for name in dir(found) if is_public(found, name, public)), *deprecated(found)})


def deprecated(module: ModuleType) -> list[str]:
    """The names that a module still gives to those who ask, with a warning."""
    return [name for name, (_, value) in getattr(module, "_deprecations", {}).items() if value is not None]


def private_modules() -> list[ModuleType]:
    """JAX's private modules that can be imported here."""
    found = []
    for module in pkgutil.walk_packages(jax._src.__path__, "jax._src."):
        if not any(part in module.name for part in ("pallas", "mosaic", "test", "tpu", "triton")):
            with contextlib.suppress(Exception), contextlib.redirect_stdout(io.StringIO()):
                found.append(importlib.import_module(module.name))
    return found


def shown_by(module: ModuleType, public: dict[str, dict[str, int]]) -> list[str]:
    """The public modules that show names of a private one: few that together show all, stable ones before experimental ones."""
    own = {n: id(v) for n, v in vars(module).items() if (getattr(v, "__module__", "") or "").startswith("jax") and n[0] != "_"}
    found = {name: {n for n, value in own.items() if shown.get(n) == value} for name, shown in public.items()}
    chosen: list[str] = []
    seen: set[str] = set()
    for name in sorted(found, key=lambda name: (name.startswith(("jax.ex", "jax.core")), -len(found[name]), name)):
        if found[name] - seen:
            chosen.append(name)
            seen |= found[name]
    return chosen


def print_private() -> None:
    """Prints a line for each private module that public ones show names of."""
    public = modules()
    shown = {}
    for name in public:
        with contextlib.suppress(ImportError):
            found = importlib.import_module(name)
            shown[name] = {n: id(getattr(found, n, None)) for n in names(name, set(public))}
    for module in sorted(private_modules(), key=lambda m: m.__name__):
        found = shown_by(module, shown)
        if found:
            print(" ".join([f"{module.__name__}:", *found]))


def main() -> None:
    """Prints a line for each module."""
    warnings.simplefilter("ignore")
    if "--private" in sys.argv:
        print_private()
        return
    public = modules()
    for module in sorted(public):
        print(" ".join([f"{module}:", *names(module, set(public))]))


if __name__ == "__main__":
    main()
