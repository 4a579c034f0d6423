"""Calls that the simplifier must not inline: their programs are padded in place."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Op
from numjet.core.walk import eval_closed


@rule("checkpoint", "jit")
def _call(trace: PaddingTrace, op: Op, args: Sequence[Any], *, jaxpr: ClosedJaxpr, **params: Any) -> list[Any]:
    return eval_closed(jaxpr, *args)
