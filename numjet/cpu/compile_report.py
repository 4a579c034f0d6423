"""The CompileReport of a lowered and planned function, from what the recorder saw."""
from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from numjet.core.compile_report import LARGE, Allocation, Call, Caution, CompileReport, Copy, Location, Loop, Operation
from numjet.core.ir import JaxprEqn, Literal
from numjet.core.traits import FREE
from numjet.cpu.analysis.cost import block_ns
from numjet.cpu.ir import nodes
from numjet.cpu.ir.nodes import CALLBACK, Buffer, For, Function, GemmWithEpilogue, Stmt, While
from numjet.cpu.ir.traversal import blocks, static_trips, walk
from numjet.cpu.kernels import workspace
from numjet.cpu.lowering.early_stores import operations
from numjet.cpu.lowering.rematerialization import RECOMPUTED
from numjet.cpu.lowering.walk import location
from numjet.cpu.remarks import Made, Recorder
from numjet.cpu.target import Target

CONVERTED = 1 << 12   # bytes from which a conversion in every iteration is worth a warning


def explain(function: Function, recorder: Recorder, name: str, target: Target, nanoseconds: float) -> CompileReport:
    """What was decided for a function; nanoseconds: the estimate of its run time."""
    return CompileReport(
        name, tuple(_operation(m, recorder) for m in recorder.made), tuple(loops_of(function.body, recorder, target)),
        tuple(_calls(function, recorder, target)), tuple(_copies(function, recorder)), tuple(_allocations(function, recorder)),
        tuple(_warnings(recorder)), function.scratch_bytes, sum(t.nbytes for t in function.temps), nanoseconds)


def location_of(eqn: JaxprEqn | None) -> Location:
    """The user's line of an equation."""
    return Location(None, 0) if eqn is None or eqn.source is None else Location(*location(eqn.source))


def _operation(made: Made, recorder: Recorder) -> Operation:
    fate, why = _fate(made, recorder)
    return Operation(made.eqn.primitive.name, made.var.aval.str_short(), location_of(made.eqn), fate, why)


def _fate(made: Made, recorder: Recorder) -> tuple[str, str]:
    """What became of an array in the end, and why."""
    x, reason = made.array, recorder.reasons.get(id(made.array))
    if x.lazy:
        return "fused", _readers(made, recorder)
    if x.storage is not None and x.storage.buffer in recorder.kept:
        return "fused", recorder.kept[x.storage.buffer]
    if reason is not None:
        return ("stored" if x.storage is not None else "registers"), reason
    if x.storage is None:
        return "registers", "a few elements"
    if made.own or made.lazy:
        return "stored", f"{made.eqn.primitive.name} writes it"
    return "shared", "the memory of an operand"


def _readers(made: Made, recorder: Recorder) -> str:
    """The operations that compute the elements of a deferred array that was never stored."""
    readers = recorder.consumers.get(made.var, [])
    if not readers:
        return "stored as a part of something else"
    names = ", ".join(dict.fromkeys(f"{e.primitive.name} ({location_of(e)})" for e in readers))
    count = sum(a is made.var for e in readers for a in e.invars if not isinstance(a, Literal))
    reads = "read once" if count == 1 else f"read {count} times"
    finds = made.array.content.finds
    return f"into {names}: {reads}, and it " + (
        f"costs {operations(made.cost)} per element" if made.cost else
        f"takes {operations(finds)} to find an element" if finds else "only moves data")


def _warnings(recorder: Recorder) -> Iterator[Caution]:
    for made in recorder.made:
        again, aval = _computed_again(made, recorder), made.var.aval
        if again is not None:
            times, each = again
            yield Caution(location_of(made.eqn), f"{made.eqn.primitive.name} {aval.str_short()} is computed {times} times, at "
                          f"{operations(each)} per element: it is fused into each of its readers")
        if made.loop is not None and aval.nbytes >= CONVERTED and _converts_whole(made.eqn, made.loop):
            old = made.eqn.invars[0].aval
            yield Caution(location_of(made.eqn), f"every iteration of {made.loop.primitive.name} converts all of "
                          f"{old.str_short()} to {aval.str_short()}, which the loop around it keeps: convert it before the "
                          "loop, or convert the values that are stored in it")


def _computed_again(made: Made, recorder: Recorder) -> tuple[int, float] | None:
    """How often a fused array is computed at different elements, and for how many operations, if that takes long. Elementwise
    readers in one loop share the elements."""
    if not made.array.lazy:
        return None
    readers = [e for e in recorder.consumers.get(made.var, []) if not e.primitive.elementwise]
    each = made.array.cost + made.array.content.finds
    return (len(readers), each) if (len(readers) - 1) * each > RECOMPUTED else None


def _converts_whole(eqn: JaxprEqn, loop: JaxprEqn) -> bool:
    """Whether an equation converts an array that a loop carries, or that none of its iterations changes."""
    if not FREE <= eqn.primitive.traits or eqn.invars[0].aval.dtype == eqn.outvars[0].aval.dtype:
        return False
    carries = loop.primitive.carries(loop)
    kept = carries.body.invars[:carries.inside + carries.count]
    return any(v is eqn.invars[0] for v in kept)


def _key(stmt: For | While) -> Any:
    return stmt.var if isinstance(stmt, For) else stmt.cond


def loops_of(block: list[Stmt], recorder: Recorder, target: Target, pieces: int = 1) -> list[Loop]:
    """The loops of a block that the program asks for; pieces: those of the loop around that shares them among threads."""
    found: list[Loop] = []
    for stmt in block:
        if isinstance(stmt, (For, While)) and _key(stmt) in recorder.loops:
            found.append(_loop(stmt, recorder, target, pieces))
        elif not isinstance(stmt, GemmWithEpilogue):  # whose loop is reported with the call
            inside = (static_trips(stmt) or 1) if isinstance(stmt, For) and stmt.mode == "parallel" else pieces
            found += [loop for inner in blocks(stmt) for loop in loops_of(inner, recorder, target, inside)]
    return found


def _loop(stmt: For | While, recorder: Recorder, target: Target, pieces: int) -> Loop:
    """A loop, with those inside as further levels as long as there is nothing else in it."""
    nest: list[For | While] = [stmt]
    while isinstance(stmt, For):
        inner = [s for s in stmt.body if isinstance(s, (For, While)) or blocks(s)]
        if len(inner) != 1 or not isinstance(inner[0], For) or inner[0].var not in recorder.loops:
            break
        stmt = inner[0]
        nest.append(stmt)
    trips = tuple(recorder.loops[_key(s)][0] for s in nest)
    modes = [s.mode for s in nest if isinstance(s, For)]
    if "parallel" in modes:
        pieces = trips[modes.index("parallel")] or 1
    written = recorder.loops[_key(stmt)][1]
    fused = [e for e in recorder.computed.get(id(stmt.body), ([], []))[1] if not any(e is w for w in written)]
    writes, fuses = ((tuple(e.primitive.name for e in _distinct(eqns))) for eqns in (written, fused))
    locations = tuple(dict.fromkeys(location_of(e) for e in (*written, *fused)))
    return Loop(trips, "vector" if "vector" in modes else "serial", pieces, writes, fuses, locations,
                block_ns([nest[0]], target), tuple(loops_of(stmt.body, recorder, target)))


def _distinct(eqns: Sequence[JaxprEqn]) -> list[JaxprEqn]:
    return list({id(e): e for e in eqns}.values())


def _calls(function: Function, recorder: Recorder, target: Target) -> list[Call]:
    return [Call("a Python callback" if s.symbol.startswith(CALLBACK) else s.symbol, location_of(writer_of(s.writes, recorder)),
                 workspace.of(s), tuple(loops_of(s.body, recorder, target)) if isinstance(s, GemmWithEpilogue) else ())
            for s in walk(function.body) if isinstance(s, nodes.Call)]


def writer_of(buffers: Sequence[Buffer], recorder: Recorder) -> JaxprEqn | None:
    """The equation for whose result one of the buffers is there."""
    return next((recorder.buffers[b][0] for b in buffers if b in recorder.buffers), None)


def _copies(function: Function, recorder: Recorder) -> list[Copy]:
    found = []
    for stmt in walk(function.body):
        if isinstance(stmt, nodes.Copy) and id(stmt) in recorder.copies:
            _, eqn, why = recorder.copies[id(stmt)]
            count = int(stmt.count.attr) * stmt.target.dtype.itemsize if stmt.count.op == "const" else None
            found.append(Copy(count, location_of(eqn), why))
    return found


def _allocations(function: Function, recorder: Recorder) -> list[Allocation]:
    found = []
    for kind, buffers in (("temporary", function.temps), ("result", function.outputs), ("constant", function.consts)):
        for b in buffers:
            if b.nbytes >= LARGE:
                eqn, why = recorder.buffers.get(b, (None, "partial results of a loop that threads share"))
                found.append(Allocation(kind, b.nbytes, location_of(eqn), why, b.offset))
    return found
