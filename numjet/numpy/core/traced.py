"""What arrays tell of their place and memory: traced values have these attributes, too, and refuse them by errors that say why.

Libraries ask `try: x.devices() except ConcretizationTypeError`; an AttributeError would end such a program.
"""
from __future__ import annotations

from typing import Any

from numjet.core.trace import Tracer
from numjet.foundation.errors import ConcretizationTypeError

_METHODS = ("__dlpack__", "addressable_data", "delete", "devices", "is_deleted", "on_device_size_in_bytes",
            "unsafe_buffer_pointer")
_PROPERTIES = ("addressable_shards", "committed", "global_shards", "is_fully_addressable", "is_fully_replicated", "traceback")


def _refusing_method(name: str) -> Any:
    def method(self: Tracer, *args: Any, **kwargs: Any) -> Any:
        raise ConcretizationTypeError(self, f"The {name}() method was called on {_described(self)}.")
    method.__name__, method.__qualname__ = name, f"Tracer.{name}"
    return method


def _refusing_property(name: str) -> Any:
    def get(self: Tracer) -> Any:
        raise ConcretizationTypeError(self, f"The {name!r} attribute is not available on {_described(self)}.")
    return property(get)


def _described(tracer: Tracer) -> str:
    return f"traced array with shape {tracer.aval.str_short()}"


ATTRIBUTES: dict[str, Any] = {**{name: _refusing_method(name) for name in _METHODS},
                              **{name: _refusing_property(name) for name in _PROPERTIES}}
