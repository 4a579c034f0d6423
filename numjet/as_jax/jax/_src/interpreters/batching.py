"""Names of `vmap` that libraries ask for."""
from typing import Any

from numjet.interpreters.batching import vmappable


def is_vmappable(x: Any) -> bool:
    """Whether a value is of a class that brings its own way to be mapped over (register_vmappable)."""
    return type(x) in vmappable
