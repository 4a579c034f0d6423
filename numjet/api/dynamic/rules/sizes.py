"""Sizes and checks of sizes in the bodies of loops and the like: they belong to the iteration that computes them."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.api.dynamic.trace import PaddingTrace, rule
from numjet.control.checks.size_ops import Message
from numjet.core.op import Op


@rule("bind_size")
def _bind(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Any, outs: Any, *, dim: Any) -> list[Any]:
    trace.bind_size(dim, xs[0])
    return []


@rule("check_sizes")
def _check(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Any, outs: Any, *, message: Message) -> list[Any]:
    trace.check(xs[0], message.text)
    return []


@rule("expect_size")
def _expect(trace: PaddingTrace, op: Op, xs: Sequence[Any], avals: Any, outs: Any, *, dim: Any, message: Message) -> list[Any]:
    trace.expect(dim, message.text)
    return []
