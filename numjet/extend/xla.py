"""Transformations of XLA's programs while it compiles them: refused, as numjet's own compiler has no such programs."""
from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

_WHY = "programs are not compiled through XLA's passes: transform the jaxpr (numjet.extend.core.jaxpr_as_fun) instead"


class PipelineStage(enum.Enum):
    """The points of XLA's pipeline at which JAX calls transformations."""
    PRE_SCHEDULER = "PRE_SCHEDULER"
    POST_SCHEDULER = "POST_SCHEDULER"


def register_hlo_module_transformation(callback: Callable[..., Any], *, name: str, stage: Any = "PRE_SCHEDULER",
                                       platforms: Sequence[str] | None = None) -> NoReturn:
    """Refused."""
    raise NotImplementedError(_WHY)


def clear_hlo_module_transformation(name: str, stage: Any = "PRE_SCHEDULER",
                                    platforms: Sequence[str] | None = None) -> NoReturn:
    """Refused."""
    raise NotImplementedError(_WHY)
