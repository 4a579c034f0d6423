"""Programs on several devices: all names of JAX's module are refused when used, as programs run on one device."""
from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    raise AttributeError(f"numjet.interpreters.pxla.{name}: programs run on one device, so there is nothing of this module")
