"""References among the arguments of a compiled function, and those that it closes over: their values go in and come back."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.core.refs import Ref, check_distinct, read, write
from numjet.core.stage import Touched
from numjet.core.trace import EVAL
from numjet.foundation.record import Record


class RefArguments(Record):
    """What a traced function does with references. Arguments are known by position: `aliases` stood for them while it was
    traced. touched: in the order of the program's last inputs; the new values of the written ones are its last results."""
    aliases: tuple[Ref, ...]
    touched: list[Touched]

    @property
    def lasting(self) -> bool:
        """Whether all references that the function closes over live as long as the process may."""
        return all(t.ref in self.aliases or t.ref.home is EVAL for t in self.touched)

    def actual(self, given: Sequence[Ref]) -> list[Ref]:
        """The references touched by a call with these among its arguments."""
        by_alias = dict(zip(self.aliases, given, strict=True))
        return [by_alias.get(t.ref, t.ref) for t in self.touched]

    def check_closure(self, given: Sequence[Ref], names: Sequence[str], fun: str) -> None:
        """Raises ValueError where the function closes over a reference that is also passed to it."""
        for t in self.touched:
            if t.ref in given and t.ref not in self.aliases:
                raise ValueError(
                    f"when tracing {fun} for jit, a mutable array reference of type {t.ref.aval} was both closed over and "
                    f"passed as the argument {names[list(given).index(t.ref)]}. Use one of the two names.")

    def read(self, given: Sequence[Ref]) -> list[Any]:
        """The values of the touched references."""
        return [read(ref) for ref in self.actual(given)]

    def write(self, given: Sequence[Ref], values: Sequence[Any]) -> None:
        """The new values go to the references that the program writes."""
        written = [ref for ref, t in zip(self.actual(given), self.touched, strict=True) if t.written]
        for ref, value in zip(written, values, strict=True):
            write(ref, value)


NONE = RefArguments((), [])


def split_off(leaves: Sequence[Any], names: Callable[[], Sequence[str]], fun: str, kind: str
              ) -> tuple[list[Any], tuple[tuple[int, Ref], ...]]:
    """The leaves that are arrays, and the references with their positions. ValueError for one that comes twice."""
    refs = tuple((i, x) for i, x in enumerate(leaves) if isinstance(x, Ref))
    if not refs:
        return list(leaves), ()
    check_distinct(leaves, names, fun, kind)
    return [x for x in leaves if not isinstance(x, Ref)], refs


def joined(plain: Sequence[Any], refs: Sequence[tuple[int, Any]]) -> list[Any]:
    """All leaves again."""
    leaves = list(plain)
    for i, ref in refs:
        leaves.insert(i, ref)
    return leaves


def aliases_of(refs: Sequence[tuple[int, Ref]], names: Sequence[str]) -> tuple[Ref, ...]:
    """References that stand for those among the arguments while a function is traced."""
    return tuple(Ref(ref.aval.inner_aval, None, ref.aval.kind, made_at=f"passed in as the argument {names[i]}")
                 for i, ref in refs)
