"""The context of lowering rules; see numjet.interpreters.mlir."""
from __future__ import annotations

from typing import Any

from numjet.interpreters.lowering import Context as LoweringRuleContext, WritesMlir

__all__ = ["JaxIrContext", "LoweringRuleContext", "upstream_dialects"]


class JaxIrContext:
    """Refused: numjet has no MLIR."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise WritesMlir("numjet.extend.lowering.JaxIrContext is a context of MLIR")


upstream_dialects: tuple[Any, ...] = ()
