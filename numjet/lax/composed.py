"""Composition: a record of an operation that is computed by others. Programs show one equation; its derivative, its batch and
what is compiled are those of a function that is written with other operations."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.core.ir import ClosedJaxpr
from numjet.core.op import Expand, Missing, Op
from numjet.core.stage import DebugInfo, trace_to_closed


def composed(name: str, fn: Callable[..., Any], *, multiple: bool = False, **fields: Any) -> Op:
    """The record of the operation fn(*arrays, **params). fields: of the record, or in place of those made here."""
    def cpu(b: Any, *args: Any, **params: Any) -> Any:
        outs = b.inline(_program(name, fn, multiple, [a.aval for a in args], params), args)
        return outs if multiple else outs[0]
    made: dict[str, Any] = {"jvp": Expand(fn), "batch": Expand(fn), "hlo": Expand(fn), "cpu": cpu,
                            "transpose": Missing(f"{name} is not linear")}
    return Op(name=name, multiple=multiple, **(made | fields))


def _program(name: str, fn: Callable[..., Any], multiple: bool, avals: list[Any], params: dict[str, Any]) -> ClosedJaxpr:
    def flat(*args: Any) -> list[Any]:
        out = fn(*args, **params)
        return list(out) if multiple else [out]
    return trace_to_closed(flat, avals, DebugInfo(name, name))
