"""Branches: control flow for scalar conditions, masks and selects for conditions that differ from lane to lane."""
from __future__ import annotations

from collections.abc import Sequence

from numjet.cpu.codegen.function import FunctionEmitter
from numjet.cpu.codegen.scopes import Code, Value
from numjet.cpu.codegen.types import phi, value_type, wide
from numjet.cpu.ir.nodes import Expr, If, Stmt, Switch

Branch = tuple[list[Stmt], Sequence[Expr]]   # a block and its results
End = tuple[Code, list[Value]]


class BranchEmitter:
    """Writes `If` and `Switch`."""

    def __init__(self, emitter: FunctionEmitter):
        self.emitter = emitter
        self.writer, self.context, self.value = emitter.writer, emitter.context, emitter.value

    def if_(self, stmt: If) -> None:
        """Writes an `If` and binds its results."""
        cond = self.value(stmt.cond)
        branches = [(block, [result[1 + which] for result in stmt.results])
                    for which, block in enumerate((stmt.then, stmt.orelse))]
        if cond.lanes > 1:
            self._by_lane(stmt, branches, cond)
            return
        labels = [self.writer.name("then"), self.writer.name("else")]
        choice = f"br i1 {cond.text}, label %{labels[0]}, label %{labels[1]}"
        self._branch(stmt, [out for out, _, _ in stmt.results], branches, labels, choice)

    def switch(self, stmt: Switch) -> None:
        """Writes a `Switch` and binds its results."""
        index = self.value(stmt.index)
        labels = [self.writer.name("case") for _ in stmt.branches]
        cases = " ".join(f"i64 {k}, label %{label}" for k, label in enumerate(labels[1:], 1))
        branches = [(block, [values[which] for _, values in stmt.results]) for which, block in enumerate(stmt.branches)]
        self._branch(stmt, [out for out, _ in stmt.results], branches, labels,
                     f"switch i64 {index.text}, label %{labels[0]} [ {cases} ]")

    def _branch(self, stmt: Stmt, outs: list[Expr], branches: Sequence[Branch], labels: list[str], choice: str) -> None:
        """Writes branches, of which the instruction `choice` takes one, and binds their results."""
        w = self.writer
        join = w.name("join")
        ends = [self._one(branch, label) for branch, label in zip(branches, labels, strict=True)]
        w.here()
        w.line(choice)
        self._join(outs, labels, ends, join)
        w.values.invalidate(w.writes(stmt))  # what one branch has read in front of them, another one may have written

    def _one(self, branch: Branch, label: str) -> End:
        block, results = branch
        w = self.writer
        scope = w.enter("branch", Code(label), {buffer for stmt in block for buffer in w.writes(stmt)}, False)
        self.emitter.block(block)
        values = [self.value(e) for e in results]
        w.leave()
        return scope.code, values

    def _join(self, outs: list[Expr], labels: list[str], ends: list[End], join: str) -> None:
        """Ends branches and binds what they result in."""
        w = self.writer
        lines = w.scope.code.lines
        widths = [max(values[k].lanes for _, values in ends) for k in range(len(outs))]
        texts: list[list[str]] = []
        for label, (code, values) in zip(labels, ends, strict=True):
            lines.append(f"{label}:")
            lines += code.lines
            texts.append([self._fit(v, out, width) for v, out, width in zip(values, outs, widths, strict=True)])
            lines.append(f"  br label %{join}")
        w.here()
        w.label(join)
        for k, (out, width) in enumerate(zip(outs, widths, strict=True)):
            incoming = [(text[k], code.block) for text, (code, _) in zip(texts, ends, strict=True)]
            w.bind(out, w.put(phi(value_type(out.dtype, width), *incoming)), width)

    def _fit(self, value: Value, expr: Expr, lanes: int) -> str:
        """As the writer's `fit`, but forgets the splat, which other branches do not see."""
        self.writer.here()
        text = self.writer.fit(value, expr, lanes)
        self.writer.known.pop(("splat", value.text, lanes), None)
        return text

    def _by_lane(self, stmt: If, branches: Sequence[Branch], cond: Value) -> None:
        """If-conversion: computes both branches, with loads and stores masked, and selects by lane."""
        w, context, bits = self.writer, self.context, wide("i1", cond.lanes)
        w.here()
        opposite = w.put(f"xor {bits} {cond.text}, splat (i1 true)")
        outer, pairs = context.mask, []
        for (block, results), chosen in zip(branches, (cond.text, opposite), strict=True):
            w.enter_inline(w.writes(stmt), certain=False)
            if outer is not None:
                chosen = w.put(f"and {bits} {outer.text}, {chosen}")
            context.mask = Value(chosen, cond.lanes, w.scope.depth)
            self.emitter.block(block)
            pairs.append([self.value(result) for result in results])
            w.leave()
        context.mask = outer
        for (out, _, _), yes, no in zip(stmt.results, *pairs, strict=True):
            w.here()
            a, b = w.fit(yes, out, cond.lanes), w.fit(no, out, cond.lanes)
            w.bind(out, w.select(value_type(out.dtype, cond.lanes), cond.lanes, cond.text, a, b), cond.lanes)
