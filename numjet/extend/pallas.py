"""Kernels written in Pallas: refused, as numjet compiles programs of operations."""
from __future__ import annotations

from typing import Any, NoReturn

_WHY = "numjet has no Pallas: write the kernel with operations; its compiler fuses them into loops"


class GridMapping:
    """Refused."""

    def __init__(self, *args: Any, **kwargs: Any):
        raise NotImplementedError(_WHY)


def register_lowering_rule(params_cls: type, rule: Any, platform: str) -> NoReturn:
    """Refused."""
    raise NotImplementedError(_WHY)
