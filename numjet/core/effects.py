"""Side effects of operations, and the errors of Python functions that programs call.

A compiled program cannot raise: it returns a status. The exception of a callback is kept here under a number, which is
that status, until somebody reads the program's results or waits for all effects.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterable

from numjet.foundation import locks
from numjet.foundation.record import Record

FIRST_FAILURE = 1 << 16   # smaller numbers are what kernels return
_LAST_FAILURE = 1 << 31
_MOST_FAILURES = 256      # kept for unread results; the oldest are dropped


class Effect:
    """A kind of side effect, a base for users' own. Operations that have one are not removed, merged or moved past each
    other. `ordered`: programs keep their order across loops and calls, too."""
    ordered: bool = False

    def __repr__(self) -> str:
        return type(self).__name__


class _NamedEffect(Record, Effect):
    """An effect of numjet's own operations."""
    name: str
    ordered: bool = False

    def __repr__(self) -> str:
        return self.name


IO = _NamedEffect("IO")
ORDERED_IO = _NamedEffect("OrderedIO", True)
DEBUG = _NamedEffect("Debug")
ORDERED_DEBUG = _NamedEffect("OrderedDebug", True)
SIZES = _NamedEffect("Sizes")  # of what names and checks computed sizes in the body of a loop: it may be repeated
PROGRESS = _NamedEffect("Progress")  # of what draws how far a loop is: steps that are computed again draw nothing
REPEATABLE = frozenset({SIZES, PROGRESS})


def ordered(effects: Iterable[Effect]) -> bool:
    """Whether some of the effects must happen in program order."""
    return any(e.ordered for e in effects)


class Failures:
    """Exceptions by number, in the order in which they happened."""

    def __init__(self) -> None:
        self._lock = locks.lock()
        self._numbers = itertools.count()
        self._waiting: dict[int, BaseException] = {}
        self._reported: set[int] = set()

    def record(self, error: BaseException) -> int:
        """Keeps an exception; its number, at least FIRST_FAILURE."""
        with self._lock:
            number = FIRST_FAILURE + next(self._numbers) % (_LAST_FAILURE - FIRST_FAILURE)
            self._waiting[number] = error
            while len(self._waiting) > _MOST_FAILURES:
                del self._waiting[next(iter(self._waiting))]
        return number

    def take(self, number: int) -> BaseException:
        """The exception of that number, which is then forgotten."""
        with self._lock:
            found = self._waiting.pop(number, None)
        if found is None:
            return RuntimeError("a Python callback failed; its error was already raised or is no longer kept")
        return found

    def unseen(self) -> list[BaseException]:
        """The unseen exceptions, oldest first; they count as seen from now on. Arrays still raise theirs."""
        with self._lock:
            found = [e for number, e in self._waiting.items() if number not in self._reported]
            self._reported = set(self._waiting)
        return found


failures = Failures()
