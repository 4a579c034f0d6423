"""Lowering: a closed jaxpr becomes a loop IR function."""
from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence

from numjet.core.ir import ClosedJaxpr
from numjet.cpu.ir.nodes import Buffer, Copy, Function
from numjet.cpu.ir.traversal import swapped, written
from numjet.cpu.kernels.callbacks import Trampoline
from numjet.cpu.lowering.arrays.materialization import Item
from numjet.cpu.lowering.arrays.values import LoweredArray, Storage, whole_buffer
from numjet.cpu.lowering.context import LoweringContext
from numjet.cpu.lowering.early_stores import LARGE_BUFFER
from numjet.cpu.lowering.nan_checks import nan_recorder
from numjet.cpu.remarks import Recorder
from numjet.foundation.record import Fields, default_factory


class Lowered(Fields):
    """A function and which result takes over the memory of which donated input: (output, input) pairs.

    trampolines: the Python functions that it calls, by symbol; they must live as long as its machine code.
    """
    function: Function
    aliases: list[tuple[int, int]]
    trampolines: dict[str, Trampoline] = default_factory(dict)


def lower(closed: ClosedJaxpr, name: str, donated: Sequence[bool] = (), notes: bool = True,
          recorder: Recorder | None = None) -> Lowered:
    """Lowers a whole program. notes: with the operations and the user's lines as comments; the recorder, if there is one,
    records why arrays are stored.

    Raises NotImplementedError naming an operation that has no native lowering.
    """
    b = LoweringContext(name, notes, recorder)
    memory, zero = b.ir.memory, b.ir.terms.index(0)
    flags = list(donated) or [False] * len(closed.in_avals)
    inputs = [memory.buffer(a.dtype, a.size if a.dtype.itemsize else 0, "input", "in") for a in closed.in_avals]
    args = [LoweredArray(a, Storage(buffer, zero, flag)) if a.dtype.itemsize else b.deferred.empty_elements(a)
            for a, buffer, flag in zip(closed.in_avals, inputs, flags, strict=True)]
    nans = b.walk.nans = nan_recorder(b, name)
    if nans is not None:
        nans.begin(args)
    outs = b.walk.run(closed, args)
    if nans is not None:
        nans.finish(outs)
        b.walk.nans = None
    aliases = _bind_outputs(b, outs, inputs, flags)
    _copy_written_inputs(b, aliases)
    b.ir.recorder = memory.recorder = None   # it keeps arrays, whose functions refer to the context: a cycle
    return Lowered(b.ir.function, aliases, b.calls.trampolines)


def _bind_outputs(b: LoweringContext, outs: Sequence[LoweredArray], inputs: Sequence[Buffer],
                  donated: Sequence[bool]) -> list[tuple[int, int]]:
    """Gives every result its output buffer: by renaming the temporary that holds it or that it is computed from, element
    by element, by taking over a donated input, or by writing it."""
    function, zero = b.ir.function, b.ir.terms.index(0)
    aliases: list[tuple[int, int]] = []
    outputs: list[Buffer] = []
    items: list[Item] = []
    taken = set(swapped(function.body))  # buffers that have other memory by now
    positions = {buffer: k for k, buffer in enumerate(inputs)}
    given = [b for b, flag in zip(inputs, donated, strict=True) if flag]
    readers = _Readers(outs, given)
    for k, out in enumerate(outs):
        buffer = (whole_buffer(out) or readers.written_over(out)) if out.dtype.itemsize else None
        if buffer is None and out.dtype.itemsize and out.lazy:
            buffer = readers.written_over(out, {b for b in given if b not in taken})
            if buffer is not None:
                taken.add(buffer)
                outputs.append(buffer)
                aliases.append((k, positions[buffer]))
                items.append((out, Storage(buffer, zero, True)))
                continue
        if buffer is not None and buffer not in taken and buffer.kind == "temp":
            taken.add(buffer)
            buffer.kind = "output"
            outputs.append(buffer)
            if out.lazy:
                items.append((out, Storage(buffer, zero, False)))
            continue
        made = b.ir.memory.buffer(out.dtype, out.size if out.dtype.itemsize else 0, "output", "out")
        outputs.append(made)
        if not out.dtype.itemsize:
            continue
        if buffer is not None and buffer not in taken and buffer in positions and out.storage.owned:
            taken.add(buffer)
            aliases.append((k, positions[buffer]))
        else:
            items.append((out, Storage(made, zero, False)))
    function.temps[:] = [t for t in function.temps if t.kind != "output"]
    b.materialization.store_arrays(items, "result")
    function.outputs[:] = outputs
    asked = {id(x): n for x, n in b.asked}
    for out, buffer in zip(outs, outputs, strict=True):
        if id(out) in asked and out.size:
            n, times, plus = asked[id(out)]
            row = buffer.size // out.shape[0]
            function.leading[buffer] = n, times * row, -plus * row
    return aliases


class _Readers:
    """How many results read which buffers, counted once for all of them."""

    def __init__(self, outs: Sequence[LoweredArray], given: Collection[Buffer]):
        self.times = Counter(map(id, outs))   # how many results are the same array, by its identity
        different = {id(o): o for o in outs}.values() if given or any(_replaces(o) for o in outs) else ()
        self.counts = Counter(buffer for o in different for buffer in _buffers(o.reachable()))

    def written_over(self, out: LoweredArray, given: Collection[Buffer] = ()) -> Buffer | None:
        """A large temporary, or one of the `given` buffers, that a result replaces element by element: nothing else is read
        from it, by no other result."""
        if not (out.pointwise if given else _replaces(out)) or self.times[id(out)] > 1:
            return None
        here: list[LoweredArray] = []
        elsewhere: set[Buffer] = set()
        seen, stack = {id(out)}, [out]
        while stack:
            for p in stack.pop().parents:
                if id(p) in seen:
                    continue
                seen.add(id(p))
                if p.shape != out.shape or p.lazy and not p.pointwise:
                    elsewhere |= _buffers(p.reachable())
                else:
                    (stack if p.lazy else here).append(p)
        found = (whole_buffer(p) for p in here if p.dtype == out.dtype)
        wanted = lambda buffer: buffer in given if given else buffer.kind == "temp"
        return next((buffer for buffer in found if buffer is not None and wanted(buffer) and buffer not in elsewhere
                     and self.counts[buffer] == 1), None)


def _replaces(out: LoweredArray) -> bool:
    """Whether a result is so large that it should be stored over a temporary."""
    return out.pointwise and out.aval.nbytes >= LARGE_BUFFER


def _buffers(arrays: Iterable[LoweredArray]) -> set[Buffer]:
    return {a.storage.buffer for a in arrays if a.storage is not None}


def _copy_written_inputs(b: LoweringContext, aliases: list[tuple[int, int]]) -> None:
    """Gives inputs that the program overwrites other buffers, as it never writes its inputs: the output that takes over the
    input's memory (then the copy between the two does nothing where they are the same), or a temporary."""
    function, table = b.ir.function, b.ir.table
    dirty = written(function.body)
    outputs = {i: o for o, i in aliases}
    for i, buffer in enumerate(function.inputs):
        if buffer not in dirty and i not in outputs:
            continue
        fresh = Buffer(f"{buffer.name}_given", buffer.dtype, buffer.size, "input")
        function.inputs[i] = fresh
        if i in outputs:
            buffer.kind = "output"
            function.outputs[outputs[i]] = buffer
        else:
            buffer.kind = "temp"
            function.temps.append(buffer)
        zero = table.index(0)
        copy = Copy(buffer, zero, fresh, zero, table.index(buffer.size))
        if b.ir.recorder is not None and i not in outputs:
            b.ir.recorder.copied(copy, None, "a donated argument whose memory no result can take over")
        function.body.insert(0, copy)
