"""Values above arrays in programs of arrays.

A call of a program takes its arguments apart (`lowered`), and its function puts them together again (`raised`): inside, a value
is an object of the user's class around traced arrays. What the function does to those that change is a result of the program,
with which the caller's objects are updated.

A value that changes has a home, the trace in which it was made. Where a function that is traced further inside uses it, mutable
references take the place of its arrays from then on: `core.refs` carries these into and out of programs.
"""
from __future__ import annotations

import contextlib
import functools
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from numjet.as_jax.hijax_flat import flat, flat_tangent, plain, tangent, type_of, typed, values, whole
from numjet.control.custom.custom_jvp import custom_jvp
from numjet.core import hooks
from numjet.core.refs import Ref, read, write
from numjet.core.trace import EVAL, Trace, aval_of, current_trace
from numjet.foundation import tree
from numjet.lax.elementwise.convert import convert_element_type_p
from numjet.lax.tangent import instantiate

_mutable: list[type] = []  # the base of types of values that change


class _State:
    """Where a value that changes was made, and the references that hold its arrays, once it was used further inside."""

    __slots__ = ("home", "refs")

    def __init__(self, home: Trace):
        self.home = home
        self.refs: list[Ref] | None = None


class _Local(threading.local):
    inside = 0  # how many primitives are being applied: these have the values that they need
    most = 64  # states in the table, before those of values are dropped that are gone


_local = _Local()
_states: dict[int, tuple[Any, _State]] = {}  # with the value, by its identity
_OWN_REFERENCES = 3  # Python's, to a value that nobody else holds: a pair of the table, a variable, an argument


def set_mutable(base: type) -> None:
    """Says what the base of types of values that change is."""
    _mutable.append(base)


def any_mutable(values: Sequence[Any]) -> bool:
    """Whether a value is above arrays and may change."""
    return any(_changes(type_of(x)) for x in values)


def _changes(kind: Any) -> bool:
    return isinstance(kind, tuple(_mutable))


def note_home(out: Any) -> None:
    """Notes where the results of a primitive were made, if they are values that change."""
    if current_trace() is not EVAL:
        for x in out if isinstance(out, (list, tuple)) else (out,):
            if _changes(type_of(x)):
                _state(x, current_trace())


def _state(x: Any, home: Trace) -> _State:
    """The state of a value, which is made in `home` if it is not known."""
    found = _states.get(id(x))
    if found is None:
        if len(_states) >= _local.most:
            _forget_unused()
        found = _states[id(x)] = x, _State(home)
    return found[1]


def _forget_unused() -> None:
    """Drops the states of values that nobody holds any more: classes need not allow weak references."""
    for key in list(_states):
        value = _states[key][0]
        if sys.getrefcount(value) <= _OWN_REFERENCES:
            del _states[key]
    _local.most = max(64, 2 * len(_states))


@contextlib.contextmanager
def opened(values: Sequence[Any]) -> Iterator[list[Any]]:
    """The values as they are in the current trace; what is done to them is done to the values themselves when this ends."""
    if _local.inside:
        yield list(values)
        return
    _local.inside += 1
    try:
        found = [_open(x, type_of(x)) for x in values]
        yield found
        for x, own in zip(values, found, strict=True):
            if _changes(type_of(x)):
                _close(x, own)
    finally:
        _local.inside -= 1


def _open(x: Any, kind: Any) -> Any:
    if not _changes(kind):
        return x
    trace, data = current_trace(), x.cur_qdd()
    known = _states.get(id(x))
    if known is None and trace is EVAL:
        return x
    state = _state(x, EVAL)
    if state.home is trace:
        if state.refs is not None:
            kind.update_from_loval(data, x, *map(read, state.refs))
        return x
    if state.refs is None:
        held = kind.read_loval(data, x)
        if held and all(isinstance(v, Ref) for v in held):
            return x  # whose arrays are in references already
        state.refs = [Ref(aval_of(v), v, home=state.home) for v in held]
    return kind.new_from_loval(data, *map(read, state.refs))


def _close(x: Any, own: Any) -> None:
    """Writes what a value holds now to the references that others read."""
    known = _states.get(id(x))
    refs = None if known is None else known[1].refs
    if known is None or refs is None:
        return
    kind, data = type_of(own), own.cur_qdd()
    held = kind.read_loval(data, own)
    if own is not x and not _same_structure(kind, x.cur_qdd(), data, refs, held):
        raise NotImplementedError(f"a {type(x).__name__} that a traced function closes over changes what it holds, from "
                                  f"{x.cur_qdd()} to {data}. Give it to the function as an argument.")
    if not _same_structure(kind, data, data, refs, held):
        for ref in refs:
            ref.ended = "a change of what the value above it holds"
        known[1].refs = None
        return
    for ref, value in zip(refs, held, strict=True):
        if value is not read(ref):
            write(ref, _with_type(value, ref.aval.inner_aval))


def _same_structure(kind: Any, before: Any, after: Any, refs: Sequence[Ref], held: Sequence[Any]) -> bool:
    """Whether arrays fit into the references, and are all in which a value now differs from what it was."""
    if [(aval_of(v).shape, aval_of(v).dtype) for v in held] != [(r.shape, r.dtype) for r in refs]:
        return False
    return before is after or kind.new_from_loval(before, *held).cur_qdd() == after


def _with_type(value: Any, aval: Any) -> Any:
    """A value with the weak type that a reference has."""
    if aval_of(value).weak_type == aval.weak_type:
        return value
    return convert_element_type_p.bind(value, new_dtype=aval.dtype, weak_type=aval.weak_type)


# -- calls of programs


class Lowered:
    """The arrays of a value above arrays. data: what its type says of its content, if it changes."""

    def __init__(self, kind: Any, data: Any, held: Sequence[Any]):
        self.kind, self.data, self.held = kind, data, list(held)


class Again:
    """The argument that is the k-th of the values that change."""

    def __init__(self, which: int):
        self.which = which


tree.register_pytree_node(Lowered, lambda x: (x.held, (x.kind, x.data)), lambda aux, held: Lowered(aux[0], aux[1], held))
tree.register_pytree_node(Again, lambda x: ((), x.which), lambda which, _: Again(which))


def _lower(x: Any) -> Any:
    kind = type_of(x)
    if kind is None:
        return x
    if not _changes(kind):
        return Lowered(kind, None, flat(x))
    with opened([x]) as (own,):
        data = own.cur_qdd()
        return Lowered(kind, data, kind.read_loval(data, own))


def _raise(x: Any) -> Any:
    if not isinstance(x, Lowered):
        return x
    if x.data is None:
        return whole(x.kind, x.held)
    value = x.kind.new_from_loval(x.data, *x.held)
    note_home([value])
    return value


def _is_lowered(x: Any) -> bool:
    return isinstance(x, (Lowered, Again))


def lowered_call(run: Callable[[Any, Any], Any], args: Any, kwargs: Any, always: bool = False) -> tuple[Any] | None:
    """The result of a call with values above arrays among its arguments; None where there are none, unless `always`.

    run(args, kwargs): calls the program of a function that `raised` made, with arguments taken apart.
    """
    leaves, structure = tree.tree_flatten((args, kwargs))
    if not always and not any(type(x) in hooks.types_above for x in leaves):
        return None
    changing: list[Any] = []

    def lower(x: Any) -> Any:
        if not _changes(type_of(x)):
            return _lower(x)
        which = next((i for i, other in enumerate(changing) if other is x), None)
        if which is not None:
            return Again(which)
        changing.append(x)
        return _lower(x)

    given_args, given_kwargs = tree.tree_unflatten(structure, list(map(lower, leaves)))
    out, states = run(given_args, given_kwargs)
    for x, state in zip(changing, states, strict=True):
        if state is not None:
            with opened([x]) as (own,):
                state.kind.update_from_loval(state.data, own, *state.held)
    again = lambda x: changing[x.which] if isinstance(x, Again) else _raise(x)
    return (tree.tree_map(again, out, is_leaf=_is_lowered),)


def raised(fun: Callable[..., Any]) -> Callable[..., Any]:
    """The function of arguments that were taken apart: its result, and what those that change hold in the end, or None for
    those that did not."""

    @functools.wraps(fun)
    def call(*args: Any, **kwargs: Any) -> Any:
        changing: list[tuple[Any, Lowered]] = []

        def put_together(x: Any) -> Any:
            if isinstance(x, Again):
                return changing[x.which][0]
            value = _raise(x)
            if isinstance(x, Lowered) and x.data is not None:
                changing.append((value, x))
            return value

        args, kwargs = tree.tree_map(put_together, (args, kwargs), is_leaf=_is_lowered)
        out = fun(*args, **kwargs)

        def take_apart(x: Any) -> Any:
            which = next((i for i, (value, _) in enumerate(changing) if value is x), None)
            return _lower(x) if which is None else Again(which)

        return tree.tree_map(take_apart, out), [_changed(_lower(value), before) for value, before in changing]

    return call


def _changed(now: Lowered, before: Lowered) -> Lowered | None:
    same = now.data == before.data and all(a is b for a, b in zip(now.held, before.held, strict=True))
    return None if same else now


hooks.set_values_above(lowered_call, raised)


# -- derivatives


def apply_with_jvp(primitive: Any, given: Sequence[Any], params: dict[str, Any]) -> Any:
    """The results of a primitive that says its derivative itself."""
    kinds = [typed(x) for x in given]
    out_kinds: list[Any] = []

    def apart(found: Any) -> list[Any]:
        results = list(found) if primitive.multiple_results else [found]
        if not out_kinds:
            out_kinds[:] = map(typed, results)
        return [x for result in results for x in flat(result)]

    @custom_jvp
    def run(*held: Any) -> list[Any]:
        return apart(primitive.to_lojax(*values(kinds, held, plain), **params))

    @run.defjvp
    def rule(primals: Any, tangents: Any) -> Any:
        out, dots = primitive.jvp(values(kinds, primals, whole), values(kinds, tangents, tangent), **params)
        held = apart(out)
        dots = dots if primitive.multiple_results else [dots]
        return held, [instantiate(t) for k, dot in zip(out_kinds, dots, strict=True) for t in flat_tangent(k, dot)]

    results = values(out_kinds, run(*[x for value in given for x in flat(value)]), whole)
    return results if primitive.multiple_results else results[0]
