"""Stages as HTML: a traced, lowered or compiled function with its arguments, results, memory and program, for notebooks."""
from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numjet.core import notebook
from numjet.core.refs import AbstractRef
from numjet.foundation.tree import keystr, treedef_paths

if TYPE_CHECKING:
    from numjet.api.aot import Compiled, Lowered, Signature, Traced


def traced(stage: Traced) -> str:
    return notebook.shown(_head("Traced", stage.call), _types(stage.call), notebook.program(_text(stage.closed)))


def lowered(stage: Lowered) -> str:
    call = stage.signature
    head = _head(f"Lowered for {', '.join(stage.platforms)}", call)
    return notebook.shown(head, _types(call), "<h4>Simplified program</h4>", notebook.program(_text(stage.jaxpr)))


def compiled(stage: Compiled) -> str:
    call = stage.signature
    return notebook.shown(_head("Compiled", call), _types(call), _needs(stage),
                          notebook.folded("Simplified program", notebook.program(_text(stage.jaxpr))))


def _text(jaxpr: Any) -> str:
    return jaxpr.pretty_print(source_info=True)


def _head(what: str, call: Signature) -> str:
    return f"<p><b>{notebook.escaped(call.fun_name)}</b>: {notebook.escaped(what)}, {notebook.escaped(str(call.device))}</p>"


def _types(call: Signature) -> str:
    results = zip(treedef_paths(call.out_tree), call.out_avals, strict=True)
    rows = [_row("argument", name, aval, "donated" if donated else "")
            for name, aval, donated in zip(call.names, call.in_avals, call.donated, strict=True)]
    rows += [_row("result", f"result{keystr(path)}", aval, "") for path, aval in results]
    return notebook.table(("", "name", "type", "bytes", ""), rows, right="3")


def _row(kind: str, name: str, aval: Any, note: str) -> list[str]:
    size = "" if isinstance(aval, AbstractRef) or not hasattr(aval, "nbytes") else f"{aval.nbytes:,}"
    return [kind, f"<code>{notebook.escaped(name)}</code>", f"<code>{notebook.escaped(aval.str_short())}</code>", size, note]


_MEMORY = {"arguments": "argument_size_in_bytes", "results": "output_size_in_bytes", "results in donated memory":
           "alias_size_in_bytes", "temporaries": "temp_size_in_bytes", "machine code": "generated_code_size_in_bytes"}


def _needs(stage: Compiled) -> str:
    memory, cost = stage.memory_analysis(), stage.cost_analysis()
    rows = [[name, f"{getattr(memory, field):,}"] for name, field in _MEMORY.items()]
    about: dict[str, tuple[str, Callable[[float], str]]] = {
        "flops": ("floating-point operations", "{:,.0f}".format),
        "bytes accessed": ("bytes read and written", "{:,.0f}".format),
        "nanoseconds": ("estimated microseconds, one thread", lambda ns: f"{ns / 1000:,.1f}")}
    costs = [[text, show(cost[key])] for key, (text, show) in about.items() if key in cost]
    return (f"<h4>Memory of a run</h4>{notebook.table(('', 'bytes'), rows, right='1')}"
            f"<h4>Work</h4>{notebook.table(('', ''), costs, right='1')}")
