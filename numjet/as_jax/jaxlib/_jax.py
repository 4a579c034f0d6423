"""The native module of jaxlib: the classes that programs ask isinstance about or register functions for are numjet's.

Other names are those of the installed jaxlib, if there is one.
"""
from typing import Any

from numjet._native import JitFunction as PjitFunction  # noqa: F401
from numjet.core.trace import Array as ArrayImpl, ArrayBase as Array  # noqa: F401
from numjet.foundation import locks
from numjet.foundation.errors import JaxRuntimeError as JaxRuntimeError
from numjet.foundation.tree import PyTreeDef as PyTreeDef
from numjet.runtime.device import Device as Device


def __getattr__(name: str) -> Any:
    """What the installed module has under a name. AttributeError where it has none, or none is installed."""
    try:
        return getattr(locks.importer(__name__.removeprefix("numjet.as_jax.")), name)
    except (ImportError, AttributeError):
        raise AttributeError(f"module 'jaxlib._jax' has no attribute {name!r}") from None
