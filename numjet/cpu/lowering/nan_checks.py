"""Checks of results, for programs compiled while jax_debug_nans or jax_debug_infs is on.

Every equation notes the first invalid element of its results in a register. At the end of an iteration whose results are
invalid the notes go to the table of the program (see `nan_records`); at the end of a program whose results are invalid a Python
function reads the table, and raises the error. With numjet_debug_masked_nans an equation leaves the program at once.
"""
from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial, reduce
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import JaxprEqn
from numjet.core.nan_checks import can_be_invalid, checked_kinds
from numjet.core.traits import MOVES
from numjet.cpu.ir.nodes import INT64, Fill, If, Stmt, Store
from numjet.cpu.lowering.arrays.values import LoweredArray, Storage
from numjet.cpu.lowering.index import Scalar
from numjet.cpu.lowering.nan_records import Argument, Carried, Node, Origin, Row, Scope, error_of
from numjet.foundation.config import config

NOTHING, TENTATIVE, FINAL = 0, 1, 2  # states of a scope
MOST_LOOPS = 6                        # of which the numbers fit beside the position
HIGH = np.iinfo(np.int64).max


def nan_recorder(b: Any, name: str) -> NanRecorder | None:
    """What checks a program while it is lowered; None while no flag asks for it."""
    return NanRecorder(b, name) if checked_kinds() else None


class NanRecorder:
    """Writes the checks of one program. b: the builder.

    origins: by identity of an array, the places that it has its elements from. found: by identity, whether it is invalid, and
    the block that computes that.
    """

    def __init__(self, b: Any, name: str):
        self.b, self.name, self.kinds, self.at_once = b, name, checked_kinds(), config.debug_masked_nans
        self.slots = 0
        self.buffer = b.ir.memory.buffer(INT64, 1, "temp", "invalid")
        self.scope = Scope("program", None, -1, -1)
        self.variables: list[tuple[Scope, Scalar | None]] = []  # of the loops and branches around, outermost first
        self.origins: dict[int, tuple[LoweredArray, Origin]] = {}
        self.found: dict[int, tuple[LoweredArray, Any, list[Stmt]]] = {}
        self.arguments: list[tuple[Argument, LoweredArray, Any]] = []

    # ------------------------------------------------------------------------------------------ origins
    def origin(self, x: LoweredArray) -> Origin:
        known = self.origins.get(id(x))
        return known[1] if known is not None else ()

    def set_origin(self, x: LoweredArray, origin: Origin) -> None:
        self.origins[id(x)] = (x, origin)

    def _slot(self) -> int:
        self.slots += 1
        return self.slots - 1

    # ------------------------------------------------------------------------------------------ equations
    def equation(self, eqn: JaxprEqn, args: Sequence[LoweredArray], outs: Sequence[LoweredArray]) -> None:
        """Notes which results of an equation are invalid. Calls were written out: their equations have been seen."""
        children, self.scope.finished = self.scope.finished, []
        inputs = tuple(dict.fromkeys(p for a in args for p in self.origin(a)))
        for k, out in enumerate(outs):
            if id(out) in self.origins or not can_be_invalid(out.aval):
                continue
            if len(args) == 1 and eqn.primitive.traits >= MOVES and args[0].size <= out.size and inputs:  # keeps all elements
                self.set_origin(out, inputs)
                continue
            self.b.materialize(out)
            node = Node(self._slot(), eqn, k, self.scope, inputs, children)
            self.set_origin(out, (node,))
            if self.at_once:
                self._leave(node, out)
            else:
                self.scope.nodes.append((node, self._first(out)))

    def _leave(self, node: Node, out: LoweredArray) -> None:
        """Leaves the program if a result is invalid."""
        loops = [(scope, number) for scope, number in self.variables if number is not None][:MOST_LOOPS]

        def error(*info: int) -> Exception:
            position, kind = divmod(info[0], 2)
            found = [scope.iteration_of(step) for (scope, _), step in zip(loops, info[1:], strict=False)]
            return node.error(("nan", "inf")[kind], position, found)

        with self._if(self._is_found(out)):
            first = self._search(out)
            self.b.check(self.b.const(False, np.bool_), error, first, *[number for _, number in loops])

    # ------------------------------------------------------------------------------------------ scopes
    def begin(self, args: Sequence[LoweredArray]) -> None:
        """Begins the program. Arguments that it may overwrite are looked at now, the others at its end if need be."""
        for k, x in enumerate(args):
            if can_be_invalid(x.aval):
                argument = Argument(self._slot(), k, x.shape)
                self.set_origin(x, (argument,))
                owned = not self.at_once and x.storage is not None and x.storage.owned
                self.arguments.append((argument, x, self._first(x) if owned else None))

    def finish(self, outs: Sequence[LoweredArray]) -> None:
        """Ends the program: with an error if its results are invalid."""
        bad = self._any(outs)
        self.scope.results = tuple(dict.fromkeys(p for o in outs for p in self.origin(o)))
        results, kind, name = self.scope.results, self.kinds[0], self.name
        if bad is not None and not self.at_once:
            with self._if(bad):
                self._record(self.scope)
                for argument, x, first in self.arguments:
                    self._store(argument.slot, self._search(x) if first is None else first)
                self.buffer.size = self.slots
                table = LoweredArray(ShapedArray((self.slots,), INT64), Storage(self.buffer, self.b.ir.terms.index(0), False))

                def report(values: np.ndarray) -> Sequence[np.ndarray]:
                    raise error_of(results, values, name, kind)
                self.b.callback(report, [table], [], raises=True)
        self.buffer.size = max(self.slots, 1)
        table_ir = self.b.ir.table
        fill = Fill(self.buffer, table_ir.index(0), self.b.const(-1, INT64).expr, table_ir.index(self.buffer.size))
        self.b.ir.function.body.insert(0, fill)

    @contextmanager
    def inside(self, scope: Scope, number: Scalar | None = None) -> Iterator[None]:
        """While the body of a loop or a branch is lowered. number: of the iteration."""
        self.scope = scope
        self.variables.append((scope, number))
        yield
        self.variables.pop()
        assert scope.parent is not None
        self.scope = scope.parent
        self.scope.finished.append(scope)

    def new_scope(self, kind: str, length: int | None = None, reverse: bool = False) -> Scope:
        """A loop or branch that begins, with nothing recorded."""
        scope = Scope(kind, self.scope, self._slot(), self._slot(), length, reverse)
        if not self.at_once:
            with self._if(self._is_open(self.scope)):
                self._store(scope.state, self.b.const(NOTHING, INT64))
        return scope

    def carried(self, scope: Scope, x: LoweredArray, init: LoweredArray) -> LoweredArray:
        """Says that an array is a loop's state, and what it was in front of the loop."""
        self.set_origin(x, (Carried(scope, self.origin(init)),))
        return x

    def row(self, scope: Scope, x: LoweredArray, rows: LoweredArray) -> LoweredArray:
        """Says that an array is a row of another one, which a scan reads."""
        if can_be_invalid(x.aval):
            made = Row(self._slot(), self.origin(rows))
            self.set_origin(x, (made,))
            scope.rows.append((made, x))
        return x

    def end_iteration(self, scope: Scope, number: Scalar, carried: Sequence[LoweredArray],
                      stacked: Sequence[LoweredArray] = ()) -> None:
        """Records an iteration whose results are invalid, and forgets one whose invalid values are gone again."""
        scope.results = tuple(dict.fromkeys(p for o in (*carried, *stacked) for p in self.origin(o)))
        b, never = self.b, self.b.const(False, np.bool_)
        carry_bad, stack_bad = self._any(carried) or never, self._any(stacked) or never
        if self.at_once:
            return
        assert scope.parent is not None
        state = b.let(self._load(scope.state))
        is_open = b.let(self._is_open(scope.parent))
        both = lambda *xs: reduce(partial(b.prim, "and"), xs)
        kept = b.select(stack_bad, b.const(FINAL, INT64), b.const(TENTATIVE, INT64))
        with self._if(both(is_open, b.compare("eq", state, b.const(TENTATIVE, INT64)))):
            self._store(scope.state, b.select(b.prim("or", carry_bad, stack_bad), kept, b.const(NOTHING, INT64)))
        fresh = b.compare("eq", state, b.const(NOTHING, INT64))
        with self._if(both(is_open, fresh, b.prim("or", carry_bad, stack_bad))):
            self._record(scope)
            self._store(scope.iteration, number)
            self._store(scope.state, kept)

    def end_branch(self, scope: Scope, outs: Sequence[LoweredArray]) -> None:
        """Records a branch whose results are invalid."""
        scope.results = tuple(dict.fromkeys(p for o in outs for p in self.origin(o)))
        bad = self._any(outs)
        if bad is not None and not self.at_once:
            assert scope.parent is not None
            with self._if(self.b.prim("and", self._is_open(scope.parent), bad)):
                self._record(scope)
                self._store(scope.state, self.b.const(FINAL, INT64))

    def _record(self, scope: Scope) -> None:
        for node, first in scope.nodes:
            self._store(node.slot, first)
        for row, x in scope.rows:
            self._store(row.slot, self._search(x))

    def _is_open(self, scope: Scope) -> Any:
        """Whether no scope from here outwards has recorded anything: what is recorded inside belongs to that."""
        states = [self.b.compare("eq", self._load(s.state), self.b.const(NOTHING, INT64)) for s in scope.around()]
        return reduce(partial(self.b.prim, "and"), states, self.b.const(True, np.bool_))

    # ------------------------------------------------------------------------------------------ code
    def _load(self, slot: int) -> Any:
        return self.b.read(LoweredArray(ShapedArray((), INT64), Storage(self.buffer, self.b.ir.terms.index(slot), False)))

    def _store(self, slot: int, value: Any) -> None:
        self.b.ir.emit(Store(self.buffer, self.b.ir.table.index(slot), self.b.scalar(value).expr))

    @contextmanager
    def _if(self, cond: Any) -> Iterator[None]:
        block: list[Stmt] = []
        with self.b.ir.inside(block):
            yield
        self.b.ir.emit(If(cond.expr, block, []))

    def _any(self, arrays: Sequence[LoweredArray]) -> Any:
        """Whether any of some arrays is invalid; None if none can be."""
        found = [self._is_found(x) for x in arrays if can_be_invalid(x.aval)]
        return self.b.let(reduce(partial(self.b.prim, "or"), found)) if found else None

    def _is_found(self, x: LoweredArray) -> Any:
        """Whether an array is invalid."""
        known = self.found.get(id(x))
        if known is not None and any(known[2] is block for block in self.b.ir.blocks):
            return known[1]
        b = self.b
        bad = b.elementwise(partial(_is_invalid, b, self.kinds), x, dtype=np.bool_)
        found = b.let(b.read(b.reduce("or", bad, tuple(range(bad.ndim))) if bad.ndim else bad))
        self.found[id(x)] = (x, found, b.ir.block)
        return found

    def _first(self, x: LoweredArray) -> Any:
        """2 * position + kind of the first invalid element, or -1."""
        b = self.b
        block: list[Stmt] = []
        with b.ir.inside(block):
            first = self._search(x)
        var = b.ir.table.var(INT64, "first")
        b.ir.emit(If(self._is_found(x).expr, block, [], [(var, first.expr, b.const(-1, INT64).expr)]))
        return b.scalars.wrap(var)

    def _search(self, x: LoweredArray) -> Any:
        b = self.b
        flat = b.reshape(x, (x.size,))

        def mark(k: Any) -> Any:
            value = b.read(flat, k)
            number = b.prim("mul", b.convert(b.scalar(k), INT64), b.const(2, INT64))
            is_nan = _is_invalid(b, ("nan",), value)
            number = b.add(number, b.select(is_nan, b.const(0, INT64), b.const(1, INT64)))
            return b.select(_is_invalid(b, self.kinds, value), number, b.const(HIGH, INT64))
        marks = b.compute((x.size,), INT64, mark)
        b.deferred.set_reads(marks, [flat])
        found = b.let(b.read(b.reduce("min", marks, (0,))))
        return b.select(b.compare("eq", found, b.const(HIGH, INT64)), b.const(-1, INT64), found)


def _is_invalid(b: Any, kinds: Sequence[str], x: Any) -> Any:
    if x.dtype.kind == "c":
        return b.prim("or", _is_invalid(b, kinds, b.real(x)), _is_invalid(b, kinds, b.imag(x)))
    if x.dtype.itemsize < 4:
        x = b.convert(x, np.dtype(np.float32))
    tests: dict[str, Callable[[], Any]] = {
        "nan": lambda: b.compare("ne", x, x),
        "inf": lambda: b.compare("eq", b.prim("abs", x), b.const(np.inf, x.dtype))}
    return reduce(partial(b.prim, "or"), [tests[kind]() for kind in kinds])
