"""Counts of what a block of code caused: traces, compilations, executions, copies and allocations."""
from __future__ import annotations

import contextlib
from collections.abc import Iterator

from numjet import _native
from numjet.foundation import events

NAMES = ("traces", "compiles", "executions", "copies", "copied_bytes", "allocations")
_REASONS = 3  # of traces in a message


class Counts:
    """What happened since the block began; after the block, what happened in it.

    traces: functions traced by jit, grad of jit and the like, each nested one too. compiles: programs compiled; also
    operations outside of jit compile small programs when they first meet a shape. executions: runs of compiled programs.
    copies, copied_bytes: NumPy arrays copied into arrays, and donated or updated inputs that had to be copied.
    allocations: blocks of memory taken for results and temporaries.
    """

    def __init__(self) -> None:
        self._start = _now()
        self._end: dict[str, int] | None = None
        self.reasons: list[str] = []

    def _of(self, name: str) -> int:
        end = _now() if self._end is None else self._end
        return end[name] - self._start[name]

    traces = property(lambda self: self._of("traces"))
    compiles = property(lambda self: self._of("compiles"))
    executions = property(lambda self: self._of("executions"))
    copies = property(lambda self: self._of("copies"))
    copied_bytes = property(lambda self: self._of("copied_bytes"))
    allocations = property(lambda self: self._of("allocations"))

    def close(self) -> None:
        """Ends the count."""
        self._end = _now()

    def __repr__(self) -> str:
        return f"Counts({', '.join(f'{name}={self._of(name)}' for name in NAMES)})"


def _now() -> dict[str, int]:
    """All counters, when everything called so far has run."""
    _native.synchronize()
    known, native = events.counters(), _native.counters()
    return {"traces": known.get("trace", 0), "compiles": known.get("compile", 0), "executions": native["executions"],
            "copies": native["copies"], "copied_bytes": native["copied_bytes"], "allocations": native["allocations"]}


@contextlib.contextmanager
def counting() -> Iterator[Counts]:
    """A block whose traces, compilations, executions, copies and allocations are counted: yields the Counts.

    Counts are those of the whole process, of all threads.

    >>> import numjet as nj
    >>> f = nj.jit(lambda x: x * 2)
    >>> with counting() as counts:
    ...     _ = f(1.0), f(2.0)
    >>> counts.traces, counts.compiles
    (1, 1)
    """
    counts = Counts()

    def note(event: events.Event) -> None:
        if event.kind == "miss":
            counts.reasons.append(f"{event.name}: {event.data}")

    with events.subscribe(note):
        try:
            yield counts
        finally:
            counts.close()


@contextlib.contextmanager
def assert_counts(**expected: int) -> Iterator[Counts]:
    """A block that must cause the given numbers of events: traces, compiles, executions, copies, copied_bytes or allocations.

    AssertionError where a number is another one, with reasons of traces; TypeError for unknown names. An exception of the
    block itself goes on.

    >>> import numjet as nj
    >>> f = nj.jit(lambda x: x * 2)
    >>> _ = f(1.0)
    >>> with assert_counts(traces=0, compiles=0):
    ...     _ = f(2.0)
    """
    unknown = expected.keys() - set(NAMES)
    if unknown:
        raise TypeError(f"assert_counts: expected names among {', '.join(NAMES)}, got {', '.join(sorted(unknown))}")
    with counting() as counts:
        yield counts
    found = {name: getattr(counts, name) for name in expected}
    wrong = [f"expected {name}={n}, got {found[name]}" for name, n in expected.items() if found[name] != n]
    if wrong:
        reasons = [f"  traced: {reason}" for reason in counts.reasons[:_REASONS]]
        raise AssertionError("\n".join([*wrong, f"  all counts: {counts}", *reasons]))
