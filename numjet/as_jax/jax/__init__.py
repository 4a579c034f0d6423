"""The module `jax`: numjet's names that JAX has too. Submodules and placeholders come by the fallback of the finder."""
from types import ModuleType
from typing import Any

import numjet
from numjet.as_jax import names
from numjet.as_jax.names import VERSION as __version_info__, VERSION_TEXT as __version__  # noqa: F401


def host_id(backend: str | None = None) -> int:
    """The older name of process_index."""
    return numjet.process_index(backend)


def host_count(backend: str | None = None) -> int:
    """The older name of process_count."""
    return numjet.process_count(backend)


def host_ids(backend: str | None = None) -> list[int]:
    """The older name of process_indices."""
    return list(range(numjet.process_count(backend)))


def __getattr__(name: str) -> Any:
    """What numjet has of JAX's names, those of JAX's modules aside."""
    found = getattr(numjet, name) if names.is_name("jax", name) else None
    if found is None or isinstance(found, ModuleType) and names.is_module(f"jax.{name}"):
        raise AttributeError(f"module 'jax' has no attribute {name!r}")
    globals()[name] = found
    return found
