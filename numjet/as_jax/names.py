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
    lines = resources.files("numjet.as_jax").joinpath("names.txt").read_text(encoding="utf8").splitlines()
    return {module: frozenset(names.split()) for module, _, names in (line.partition(":") for line in lines)}


def is_name(module: str, name: str) -> bool:
    """Whether JAX's module has a public name."""
    names = table().get(module, frozenset())
    return name in names or (ANY in names and not name.startswith("_"))
