"""Small libraries that show how others are built, under JAX's names, imported when they are first named.
Add a module, and its name to `_MODULES`.
"""
from numjet.foundation import lazy_import as _lazy_import

_MODULES = frozenset({"optimizers", "stax"})
__getattr__, __dir__ = _lazy_import.submodules(__name__, _MODULES)
