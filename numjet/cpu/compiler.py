"""The CPU backend: a closed jaxpr becomes one native function. PASSES, the list of passes over loop IR, reads top to bottom."""
from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from numjet import _native
from numjet.core.compile_report import CompileReport
from numjet.core.effects import FIRST_FAILURE, failures
from numjet.core.ir import ClosedJaxpr
from numjet.cpu import compile_report, threads
from numjet.cpu.analysis import cost
from numjet.cpu.codegen import llvm
from numjet.cpu.ir import printer
from numjet.cpu.ir.nodes import CALLBACK, KERNEL_STATUS, Call, Function
from numjet.cpu.ir.traversal import walk
from numjet.cpu.kernels import symbols, workspace
from numjet.cpu.lowering.lower import Lowered, lower
from numjet.cpu.native_code import jit, stored, tiers
from numjet.cpu.passes import (
    array_contraction,
    blocked_sums,
    borders,
    cancellation,
    chained_products,
    dead_calls,
    estimate,
    fusion,
    gemm_epilogues,
    in_place,
    legalize_math,
    limited_loops,
    limits,
    memory_plan,
    parallel_batches,
    parallelize,
    row_strips,
    short_buffers,
    single_elements,
)
from numjet.cpu.passes.manager import Context, Pass, Stages, run_passes
from numjet.cpu.probes import Probes
from numjet.cpu.remarks import Recorder
from numjet.cpu.target import Target
from numjet.foundation import events, lazy_import
from numjet.foundation.config import config
from numjet.foundation.decisions import Decisions, fixed_dividends, recorded
from numjet.foundation.record import Fields, default_factory

if TYPE_CHECKING:
    from numjet.cpu.generic import independence, unification
    from numjet.cpu.verification import verifier
else:
    independence = lazy_import.Module("numjet.cpu.generic.independence")
    unification = lazy_import.Module("numjet.cpu.generic.unification")
    verifier = lazy_import.Module("numjet.cpu.verification.verifier")

PASSES = (limits.FIND, dead_calls.PASS, in_place.PASS, fusion.PASS, single_elements.PASS, array_contraction.ELEMENTS,
          legalize_math.PASS, estimate.PASS, parallel_batches.PASS, chained_products.PASS, row_strips.PASS,
          gemm_epilogues.PASS, parallelize.PASS, blocked_sums.PASS, array_contraction.ROWS, borders.PASS, memory_plan.PASS,
          cancellation.PASS, limited_loops.PASS)
_KNOWN = PASSES.index(gemm_epilogues.PASS) + 1   # so many passes run with known sizes, see compile_generic
_DUMPED = {dead_calls.PASS.name: "loops", memory_plan.PASS.name: "planned"}   # after which passes a stage is dumped

_numbers = itertools.count()
threads.follow_flag()


class Program(Fields):
    """A compiled program, as runtime wants it: see numjet._native.Executable.

    on_second_call: what its executable is to tell before its second call, if anything; see `tiers`.
    """
    address: int
    scratch_bytes: int
    aliases: list[tuple[int, int]]
    cost_ns: float
    open_ended: bool
    mostly_python: bool
    on_error: Callable[[int, list[int]], BaseException]
    text: str
    compiled: jit.Compiled
    short: short_buffers.Short
    temporaries: int   # bytes of all temporaries, which share the scratch memory
    routines: list[tuple[Call, bool]]
    on_second_call: Callable[[Any], None] | None = None
    keepalive: list[Any] = default_factory(list)
    portable: stored.Portable | None = None   # what another process needs to run it; None where it calls Python functions

    def workspace_bytes(self) -> int:
        """What library routines take at most at a time, beside the scratch memory."""
        return workspace.largest(self.routines, _native.num_threads())


def compile_program(closed: ClosedJaxpr, name: str, donated: Sequence[bool] = (), probes: Probes | None = None) -> Program:
    """Compiles a program for this CPU.

    donated: inputs whose memory the program may overwrite. probes: to be put in. Raises NotImplementedError naming the
    operation that has no native lowering. With NUMJET_DUMP=dir every stage is written there.
    """
    dump = _Dump(name)
    dump("jaxpr", lambda: str(closed))
    recorder = None if probes is None else probes.recorder
    with events.logged(lambda: f"jaxpr to loop IR conversion jit({name})"):
        lowered = lower(closed, _symbol(name), donated, notes=bool(config.dump) or probes is not None, recorder=recorder)
    function, stages = lowered.function, Stages(lowered.function) if config.dump else None

    def after(one: Pass, context: Context) -> None:
        if stages is not None:
            stages.add(one, context)
        if one.name in _DUMPED:
            dump(_DUMPED[one.name], lambda: printer.show(function))
    context = _run_passes(lowered, recorder, after)
    if probes is not None:
        probes.insert(function, context.target)
    dump("passes", lambda: str(stages))
    return _generated(lowered, context, dump)


def _generated(lowered: Lowered, context: Context, dump: _Dump) -> Program:
    """The program of a function after all passes."""
    function = lowered.function
    text = llvm.emit(function, context.target)
    dump("ll", lambda: text)
    constants, keepalive = llvm.constant_symbols(function)
    addresses = {**call_symbols(function), **{n: t.address for n, t in lowered.trampolines.items()}, **constants}
    kept: list[Any] = [lowered.trampolines, *keepalive]
    open_ended, short = cancellation.open_ended(function), short_buffers.short(function)
    portable = None if lowered.trampolines else stored.Portable(
        function.name, function.scratch_bytes, lowered.aliases, context.nanoseconds, open_ended,
        len(function.errors), dict(zip(constants, keepalive, strict=True)), *short)
    compiled, on_second_call = tiers.compile_tiers(text, addresses, function, context.nanoseconds, kept, portable)
    dump("s", lambda: jit.disassembly(compiled))
    return Program(compiled.address, function.scratch_bytes, lowered.aliases, context.nanoseconds,
                   open_ended, cost.mostly_python(function, context.target), _errors(function.name, function.errors), text,
                   compiled, short, sum(t.nbytes for t in function.temps),
                   workspace.routines(function), on_second_call, kept, portable)


def compile_generic(samples: Sequence[ClosedJaxpr], name: str, points: Sequence[Sequence[int]], least: Sequence[int],
                    most: Sequence[int], names: int) -> tuple[Program, list[int]]:
    """Compiles one program for all sizes from `least` to `most`, out of programs for some, `points`; and says for which least
    sizes it is in fact. The first inputs of each sample are the sizes, as int32, of which the first `names` are independent.
    Raises NotImplementedError where no such program is found."""
    dump, domain = _Dump(name), unification.Domain(list(least), list(most), names)
    with events.logged(lambda: f"jaxpr to loop IR conversion jit({name})"):
        first = [_sample(closed, name) for closed in samples[:2]]
        fixed = fixed_dividends(*(decisions for _, decisions, _ in first))
        made = [*([] if fixed else first), *(_sample(c, name, fixed) for c in samples[0 if fixed else 2:])]
        (lowered, _, context), *_ = made
        unification.unify([one.function for one, _, _ in made], [one for _, one, _ in made], points, domain)
    context = _run_passes(lowered, passes=PASSES[_KNOWN:], context=context)
    dump("planned", lambda: printer.show(lowered.function))
    return _generated(lowered, context, dump), domain.low[:names]


def _sample(closed: ClosedJaxpr, name: str, fixed: frozenset[int] = frozenset()) -> tuple[Lowered, Decisions, Context]:
    """One of the functions from which one for many sizes is made, and what was decided by its sizes."""
    with recorded(fixed) as decisions:
        lowered = lower(closed, _symbol(name), notes=False)
        if lowered.trampolines:
            raise unification.Different("calls of Python functions")
        return lowered, decisions, _run_passes(lowered, passes=(*PASSES[:_KNOWN], independence.PASS))


def optimized(closed: ClosedJaxpr, name: str, target: Target) -> tuple[Function, Target]:
    """The loop IR of a program for a CPU, ready for code generation."""
    lowered = lower(closed, _symbol(name), notes=False)
    context = _run_passes(lowered, target=target)
    return lowered.function, context.target


def _run_passes(lowered: Lowered, recorder: Recorder | None = None,
                after: Callable[[Pass, Context], object] = lambda one, context: None, target: Target | None = None,
                passes: Sequence[Pass] = PASSES, context: Context | None = None) -> Context:
    """Runs passes over a lowered function, for this CPU or a given one. context: of those that ran before.

    With jax_enable_checks it is verified before the first pass and after each.
    """
    function = lowered.function
    verify = verifier.Verified(function).after if config.enable_checks else lambda name: None

    def observe(one: Pass, context: Context) -> None:
        verify(one.name)
        after(one, context)
    verify("lower")
    context = context or Context(target or jit.host(), lowered.aliases, recorder)
    run_passes(function, passes, context, observe)
    return context


def planned(closed: ClosedJaxpr, name: str, donated: Sequence[bool] = ()) -> Function:
    """The loop IR from which compile_program makes machine code: with threads and memory planned."""
    lowered = lower(closed, _symbol(name), donated)
    _run_passes(lowered)
    return lowered.function


def explained(closed: ClosedJaxpr, name: str, donated: Sequence[bool] = ()) -> CompileReport:
    """What compile_program decides for a program, and why."""
    recorder = Recorder()
    lowered = lower(closed, _symbol(name), donated, recorder=recorder)
    context = _run_passes(lowered, recorder)
    return compile_report.explain(lowered.function, recorder, name, context.target, context.nanoseconds)


def stages(closed: ClosedJaxpr, name: str) -> str:
    """The loop IR of a program as it is lowered, and after each pass that changes it."""
    lowered = lower(closed, _symbol(name))
    found = Stages(lowered.function)
    _run_passes(lowered, after=found.add)
    return str(found)


def loop_ir(closed: ClosedJaxpr, name: str) -> Function:
    """The loop IR of a program, before any pass."""
    return lower(closed, _symbol(name)).function


def as_text(closed: ClosedJaxpr, name: str) -> str:
    """The loop IR of a program as text."""
    return printer.show(loop_ir(closed, name))


def call_symbols(function: Function) -> dict[str, int]:
    """The addresses of the library functions that a program calls."""
    names = {s.symbol for s in walk(function.body) if isinstance(s, Call) and not s.symbol.startswith(CALLBACK)}
    return {n: symbols.kernel(n) for n in names}


def errors_of(closed: ClosedJaxpr | None, name: str, donated: Sequence[bool]) -> Callable[[int, list[int]], BaseException]:
    """What turns the status codes of a stored program into exceptions; None: for one that has no checks of its own."""
    return _errors(_symbol(name), [] if closed is None else planned(closed, name, donated).errors)


def _errors(name: str, errors: list[Any]) -> Callable[[int, list[int]], BaseException]:
    def on_error(status: int, info: list[int]) -> BaseException:
        if status & KERNEL_STATUS:
            code = status - KERNEL_STATUS
            if code >= FIRST_FAILURE:
                return failures.take(code)
            kind = MemoryError if code == 1 else RuntimeError
            return kind(f"{name}: a kernel failed with status {code} (1: out of memory, 3: too large for the library; see "
                        "numjet.cpu.kernels)")
        return errors[status - 1](*info[1:])
    return on_error


def _symbol(name: str) -> str:
    """A name for machine code made from a user's function name; no C function is called so."""
    return "nj." + "".join(c if c.isalnum() or c == "_" else "_" for c in name)


class _Dump:
    """Writes the stages of one compilation to the folder that NUMJET_DUMP names."""

    def __init__(self, name: str):
        self.folder = config.dump
        self.stem = f"{next(_numbers):04d}_{_symbol(name)}"

    def __call__(self, stage: str, text: Callable[[], str]) -> None:
        if self.folder:
            os.makedirs(self.folder, exist_ok=True)
            with open(os.path.join(self.folder, f"{self.stem}.{stage}"), "w", encoding="utf8") as file:
                file.write(text())
