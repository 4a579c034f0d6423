"""State threading: mutable references that the functions of a loop, a branch or a call close over become operands and results.

The functions are traced; where that captures references (`core.refs`), they become functions that take the values of those
which are written, and return the new ones. The operation itself holds pure programs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.call.body_tracing import Captures, Replay, cached_with
from numjet.core.refs import Ref, check_distinct, read, write, written
from numjet.core.stage import StageTrace, Touched
from numjet.core.trace import aval_of, current_trace
from numjet.core.user_functions import argument_names, where
from numjet.core.walk import eval_closed
from numjet.foundation import tree


class Threaded:
    """The references that some functions use, while an operation with these functions is made.

    values: of the references that are written, in the current trace. replays: the functions as traced so far.
    """

    __slots__ = ("consts", "refs", "replays", "values")

    def __init__(self, touched: dict[Ref, bool], replays: Sequence[Replay]):
        self.refs = tuple(ref for ref, is_written in touched.items() if is_written)
        self.consts = tuple((ref, read(ref)) for ref, is_written in touched.items() if not is_written)
        self.values = tuple(map(read, self.refs))
        self.replays = tuple(replays)

    def pure(self, fun: Callable[..., Any]) -> Callable[..., Any]:
        """(values, *args) -> (result, new values)."""
        def call(values: Sequence[Any], *args: Any) -> tuple[Any, tuple[Any, ...]]:
            replay = self._traced(fun, args)
            state = dict(zip(self.refs, values, strict=True))
            if replay is not None:
                return self._replayed(replay, state, args)
            return self._run(fun, state, args)

        call.__name__ = getattr(fun, "__name__", "call")
        return cached_with(fun, call)

    def _traced(self, fun: Callable[..., Any], args: Sequence[Any]) -> Replay | None:
        leaves, in_tree = tree.tree_flatten(tuple(args))
        avals = tuple(map(aval_of, leaves))
        return next((r for r in self.replays if r.fun is fun and r.in_tree == in_tree and r.in_avals == avals), None)

    def _replayed(self, replay: Replay, state: dict[Ref, Any], args: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        """By the program of the function, so that Python runs once."""
        known = {**dict(self.consts), **state}
        outs = eval_closed(replay.jaxpr, *tree.tree_leaves(tuple(args)), *[known[t.ref] for t in replay.touched])
        count = replay.out_tree.num_leaves
        state.update(zip(written(replay.touched), outs[count:], strict=True))
        return tree.tree_unflatten(replay.out_tree, outs[:count]), tuple(state.values())

    def _run(self, fun: Callable[..., Any], state: dict[Ref, Any], args: Sequence[Any]) -> tuple[Any, tuple[Any, ...]]:
        """By the function, in whose trace the references have these values."""
        trace = current_trace()
        assert isinstance(trace, StageTrace)
        for ref, value in (*state.items(), *self.consts):
            trace.lend(ref, value)
        out = fun(*args)
        states = [trace.refs.pop(ref) for ref in self.refs]
        late = [Touched(ref, True) for ref, _ in self.consts if trace.refs.pop(ref).written]
        if late:  # one function reads what another one writes
            raise Captures(late)
        return out, tuple(s.value for s in states)


def thread(make: Callable[[Threaded | None], Any]) -> Any:
    """The result of an operation with functions that may use references.

    make(None) makes it for functions that use none; make(threaded) -> (result, new values) for others.
    """
    touched: dict[Ref, bool] = {}
    replays: list[Replay] = []
    threaded: Threaded | None = None
    while True:
        try:
            made = make(threaded)
        except Captures as found:
            touched |= {t.ref: t.written or touched.get(t.ref, False) for t in found.touched}
            replays += [found.replay] if found.replay is not None else []
            threaded = Threaded(touched, replays)
            continue
        if threaded is None:
            return made
        out, values = made
        for ref, value in zip(threaded.refs, values, strict=True):
            write(ref, value)
        return out


def holds_refs(values: Any) -> bool:
    """Whether a pytree has references among its leaves."""
    return any(isinstance(x, Ref) for x in tree.tree_leaves(values))


def without_refs(args: Sequence[Any], funs: Sequence[Callable[..., Any]], kind: str
                 ) -> tuple[list[Any], list[Callable[..., Any]]]:
    """The arrays among arguments, and the functions as functions of those; the references come to them as they are."""
    leaves, in_tree = tree.tree_flatten(tuple(args))
    check_distinct(leaves, lambda: argument_names(funs[0], in_tree), where(funs[0]), kind)
    plain = [x for x in leaves if not isinstance(x, Ref)]
    refs = tuple(x if isinstance(x, Ref) else None for x in leaves)

    def wrap(fun: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            rest = iter(values)
            return fun(*tree.tree_unflatten(in_tree, [next(rest) if ref is None else ref for ref in refs]))

        call.__name__ = getattr(fun, "__name__", "call")
        return cached_with(fun, call)

    return plain, [wrap(fun) for fun in funs]
