"""Branches: control flow for scalar conditions, masks and selects for conditions that differ from lane to lane."""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.scopes import Code, Value
from numjet.cpu.codegen.types import phi, value_type, wide
from numjet.cpu.ir.nodes import Expr, If, Stmt, Switch

Branch = tuple[list[Stmt], Sequence[Expr]]   # a block and its results


def if_(emitter: FunctionEmitter, stmt: If) -> None:
    """Writes an `If` and binds its results."""
    cond = emitter.value(stmt.cond)
    branches = [(block, [result[1 + which] for result in stmt.results])
                for which, block in enumerate((stmt.then, stmt.orelse))]
    if cond.lanes > 1:
        _by_lane(emitter, stmt, branches, cond)
        return
    labels = [emitter.writer.name("then"), emitter.writer.name("else")]
    choice = f"br i1 {cond.text}, label %{labels[0]}, label %{labels[1]}{', !prof !0' * stmt.rare}"
    _branch(emitter, stmt, [out for out, _, _ in stmt.results], branches, labels, choice)


def switch(emitter: FunctionEmitter, stmt: Switch) -> None:
    """Writes a `Switch` and binds its results."""
    index = emitter.value(stmt.index)
    labels = [emitter.writer.name("case") for _ in stmt.branches]
    cases = " ".join(f"i64 {k}, label %{label}" for k, label in enumerate(labels[1:], 1))
    branches = [(block, [values[which] for _, values in stmt.results]) for which, block in enumerate(stmt.branches)]
    choice = f"switch i64 {index.text}, label %{labels[0]} [ {cases} ]"
    _branch(emitter, stmt, [out for out, _ in stmt.results], branches, labels, choice)


def _branch(emitter: FunctionEmitter, stmt: Stmt, outs: list[Expr], branches: Sequence[Branch], labels: list[str],
            choice: str) -> None:
    """Writes branches, of which the instruction `choice` takes one, and binds their results."""
    w = emitter.writer
    join, ends = w.name("join"), []
    for (block, results), label in zip(branches, labels, strict=True):
        scope = w.enter("branch", Code(label), {buffer for inner in block for buffer in w.writes(inner)}, False)
        emitter.block(block)
        ends.append((scope.code, [emitter.value(e) for e in results]))
        w.leave()
    w.here()
    w.line(choice)
    widths = [max(values[k].lanes for _, values in ends) for k in range(len(outs))]
    texts: list[list[str]] = []
    for label, (code, values) in zip(labels, ends, strict=True):
        w.scope.code.lines += [f"{label}:", *code.lines]
        texts.append([])
        for v, out, width in zip(values, outs, widths, strict=True):
            texts[-1].append(w.fit(v, out, width))
            w.known.pop(("splat", v.text, width), None)   # other branches do not see it
        w.line(f"br label %{join}")
    w.label(join)
    for k, (out, width) in enumerate(zip(outs, widths, strict=True)):
        incoming = [(text[k], code.block) for text, (code, _) in zip(texts, ends, strict=True)]
        w.bind(out, w.put(phi(value_type(out.dtype, width), *incoming)), width)
    w.values.invalidate(w.writes(stmt))  # what one branch has read in front of them, another one may have written


def _by_lane(emitter: FunctionEmitter, stmt: If, branches: Sequence[Branch], cond: Value) -> None:
    """If-conversion: computes both branches, with loads and stores masked, and selects by lane."""
    w, context, bits = emitter.writer, emitter.context, wide("i1", cond.lanes)
    w.here()
    opposite = w.put(f"xor {bits} {cond.text}, splat (i1 true)")
    outer, pairs = context.mask, []
    for (block, results), chosen in zip(branches, (cond.text, opposite), strict=True):
        w.enter_inline(w.writes(stmt), certain=False)
        if outer is not None:
            chosen = w.put(f"and {bits} {outer.text}, {chosen}")
        context.mask = Value(chosen, cond.lanes, w.scope.depth)
        emitter.block(block)
        pairs.append([emitter.value(result) for result in results])
        w.leave()
    context.mask = outer
    for (out, _, _), yes, no in zip(stmt.results, *pairs, strict=True):
        w.here()
        a, b = w.fit(yes, out, cond.lanes), w.fit(no, out, cond.lanes)
        w.bind(out, w.select(value_type(out.dtype, cond.lanes), cond.lanes, cond.text, a, b), cond.lanes)
