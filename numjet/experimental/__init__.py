"""JAX's experimental modules, imported when they are first named.
Add a module, or a package when it is large, and its name to `_MODULES`.
"""
from numjet.foundation import locks as _locks

_MODULES = frozenset({"checkify", "ode", "rnn"})


def __getattr__(name: str) -> object:
    """Lazy import of the modules."""
    if name in _MODULES:
        return _locks.import_module(f"numjet.experimental.{name}")
    raise AttributeError(f"module 'numjet.experimental' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
