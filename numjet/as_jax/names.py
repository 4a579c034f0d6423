"""The table of JAX's public modules and names: what a program may import."""
from __future__ import annotations

import functools
from importlib import resources

VERSION = (0, 10, 2)  # the version of JAX whose names these are
VERSION_TEXT = ".".join(map(str, VERSION))
ANY = "*"  # stands for every name of a module


@functools.cache
def table() -> dict[str, frozenset[str]]:
    """Names by module. The file is written by tools/ecosystem/jax_names.py."""
    return {module: frozenset(names) for module, names in _read("names.txt").items()}


@functools.cache
def private() -> dict[str, list[str]]:
    """The public modules that show names of a private one, by private module; written by the same program."""
    return _read("private.txt")


def _read(file: str) -> dict[str, list[str]]:
    lines = resources.files("numjet.as_jax").joinpath(file).read_text(encoding="utf8").splitlines()
    return {module: names.split() for module, _, names in (line.partition(":") for line in lines)}


@functools.cache
def _packages() -> frozenset[str]:
    """The packages around private modules."""
    return frozenset(package for name in private() for package in _around(name))


def _around(name: str) -> list[str]:
    parts = name.split(".")
    return [".".join(parts[:n]) for n in range(2, len(parts))]


def is_module(name: str) -> bool:
    """Whether JAX has a module whose names are known: a public one, or one whose names public ones show."""
    return name in table() or name in private() or name in _packages()


def is_name(module: str, name: str) -> bool:
    """Whether JAX's module has a public name."""
    names = table().get(module, frozenset())
    return name in names or (ANY in names and not name.startswith("_"))
