"""Small libraries that show how others are built, under JAX's names, imported when they are first named.
Add a module, and its name to `_MODULES`.
"""
from numjet.foundation import locks as _locks

_MODULES = frozenset({"optimizers", "stax"})


def __getattr__(name: str) -> object:
    """Lazy import of the modules."""
    if name in _MODULES:
        return _locks.import_module(f"numjet.example_libraries.{name}")
    raise AttributeError(f"module 'numjet.example_libraries' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
