"""Functions of StableHLO programs as text or bytes: refused, as numjet has no MLIR."""
from __future__ import annotations

from types import SimpleNamespace
from typing import Any, NoReturn

from numjet.interpreters.lowering import WritesMlir


class _Dialects(SimpleNamespace):
    """A namespace without dialects."""

    def __getattr__(self, name: str) -> NoReturn:
        if name.startswith("__"):
            raise AttributeError(name)
        raise WritesMlir(f"numjet.extend.mlir.dialects.{name} is a dialect of MLIR")


dialects = _Dialects()


def _refused(name: str) -> Any:
    def refuse(*args: Any, **kwargs: Any) -> NoReturn:
        raise WritesMlir(f"numjet.extend.mlir.{name} works on programs of MLIR")
    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = "Refused: numjet has no MLIR. jit(f).lower(x).as_text() shows the program."
    return refuse


deserialize_portable_artifact, hlo_to_stablehlo, lower_with_sharding_in_types, refine_polymorphic_shapes, \
    serialize_portable_artifact = map(_refused, (
        "deserialize_portable_artifact", "hlo_to_stablehlo", "lower_with_sharding_in_types", "refine_polymorphic_shapes",
        "serialize_portable_artifact"))
