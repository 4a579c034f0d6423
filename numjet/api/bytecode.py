"""Facts of a code object that a fingerprint needs: the globals and attributes that it reads, and why nothing may be proven.

Read from its instructions, without the places that the interpreter keeps behind them.
"""
from __future__ import annotations

import functools
import opcode
import sys
import types
from collections.abc import Iterator

from numjet.api import pure_names
from numjet.foundation.record import Record

_NAMES = opcode.opname
_OPS = opcode.opmap
_LOAD_GLOBAL, _LOAD_CONST, _EXTENDED = _OPS["LOAD_GLOBAL"], _OPS["LOAD_CONST"], _OPS["EXTENDED_ARG"]
_ATTRIBUTES = {_OPS[name]: shift for name, shift in (("LOAD_ATTR", int(sys.version_info >= (3, 12))), ("LOAD_METHOD", 0))
               if name in _OPS}
_CALLS = frozenset(_OPS[name] for name in ("CALL", "PRECALL") if name in _OPS)
_SKIPPED = frozenset(_OPS[name] for name in ("CACHE", "PRECALL", "PUSH_NULL", "NOP", "NOT_TAKEN") if name in _OPS)
_MAKE_SETS = frozenset(("BUILD_SET", "SET_ADD", "SET_UPDATE"))
_TAKE_IN_ORDER = frozenset(("sorted", "list", "tuple", "len", "enumerate", "iter", "dict", "max", "min", "sum"))
# Why code is refused that holds one of these instructions. Others that are not listed are refused without a reason.
_REFUSED = {
    "STORE_GLOBAL": "writes a global variable", "DELETE_GLOBAL": "deletes a global variable", "IMPORT_NAME": "imports a module",
    "LOAD_BUILD_CLASS": "defines a class", "STORE_ATTR": "writes an attribute", "DELETE_ATTR": "deletes an attribute"}
_OF_SETS = "depends on the order of a set, which may differ in another process"

Step = tuple[int, int]   # an instruction and its argument


class Facts(Record):
    """What a code object reads. globals: names, with the chain of attributes read of each at once; attributes: those that are
    read of anything else; refused: why nothing may be proven of it, or None."""

    globals: tuple[tuple[str, tuple[str, ...]], ...]
    attributes: frozenset[str]
    refused: str | None


@functools.lru_cache(maxsize=4096)
def facts(code: types.CodeType) -> Facts:
    """The facts of a code object, without those of the functions within it."""
    steps = list(_steps(code.co_code))
    chains, of_chains = _chains(code, steps)
    loose = {code.co_names[argument >> _ATTRIBUTES[op]] for at, (op, argument) in enumerate(steps)
             if op in _ATTRIBUTES and at not in of_chains}
    loose.update(*(_names_matched(code, steps, at) for at, (op, _) in enumerate(steps) if _NAMES[op] == "MATCH_CLASS"))
    return Facts(tuple(sorted(chains)), frozenset(loose), _why_refused(code, steps))


def codes(code: types.CodeType) -> Iterator[types.CodeType]:
    """A code object and those of the functions within it."""
    yield code
    for c in code.co_consts:
        if isinstance(c, types.CodeType):
            yield from codes(c)


def _steps(text: bytes) -> Iterator[Step]:
    """The instructions that matter, with the arguments that their prefixes belong to."""
    high = 0
    for op, low in zip(text[::2], text[1::2], strict=True):
        if op == _EXTENDED:
            high = (high | low) << 8
            continue
        if op not in _SKIPPED:
            yield op, high | low
        high = 0


def _chains(code: types.CodeType, steps: list[Step]) -> tuple[set[tuple[str, tuple[str, ...]]], set[int]]:
    """The globals that are read with the attributes right behind them, and where these attributes stand."""
    found, places = set(), set()
    for at, (op, argument) in enumerate(steps):
        if op == _LOAD_GLOBAL:
            end = at + 1
            while end < len(steps) and steps[end][0] in _ATTRIBUTES:
                places.add(end)
                end += 1
            chain = tuple(code.co_names[a >> _ATTRIBUTES[o]] for o, a in steps[at + 1:end])
            found.add((code.co_names[argument >> 1], chain))
    return found, places


def _names_matched(code: types.CodeType, steps: list[Step], at: int) -> tuple[str, ...]:
    """The attributes that a class pattern reads: they stand in the constant before it."""
    op, argument = steps[at - 1]
    return code.co_consts[argument] if op == _LOAD_CONST else ("__match_args__",)


def _why_refused(code: types.CodeType, steps: list[Step]) -> str | None:
    if hidden := pure_names.OWN_EXCEPT.intersection(code.co_names):
        return f"reads '{min(hidden)}', which may differ in another process"
    for op, _ in steps:
        if op not in pure_names.INSTRUCTIONS:
            return _REFUSED.get(_NAMES[op], f"holds the instruction {_NAMES[op]}")
    if any(_NAMES[op] == "STORE_DEREF" and _cell(code, argument) in code.co_freevars for op, argument in steps):
        return "writes a variable of the function around it"
    return _OF_SETS if any(_sees_order(code, steps, at) for at in range(len(steps))) else None


def _cell(code: types.CodeType, argument: int) -> str:
    return code._varname_from_oparg(argument)  # type: ignore[attr-defined]


def _sees_order(code: types.CodeType, steps: list[Step], at: int) -> bool:
    """Whether an instruction makes a set, whose order depends on hashes and addresses: but for constants that are asked what
    they contain. The keys of a dict are in order, and their unions are sets."""
    op, argument = steps[at]
    name = _NAMES[op]
    if name in _MAKE_SETS:
        return True
    if op == _LOAD_GLOBAL:
        return code.co_names[argument >> 1] in ("set", "frozenset")
    if op == _LOAD_CONST and type(code.co_consts[argument]) is frozenset:
        return _NAMES[steps[at + 1][0]] != "CONTAINS_OP"
    if op in _ATTRIBUTES and code.co_names[argument >> _ATTRIBUTES[op]] in ("keys", "items"):
        return not _is_taken_in_order(code, steps, at)
    return False


def _is_taken_in_order(code: types.CodeType, steps: list[Step], at: int) -> bool:
    """Whether what a method without arguments returns is iterated over, or given to a function that does that."""
    if [_NAMES[op] for op, _ in steps[at + 1:at + 2]] != ["CALL"] or len(steps) <= at + 2:
        return False
    after, count = steps[at + 2]
    if _NAMES[after] == "GET_ITER":
        return True
    before, name = steps[at - 2]
    return after in _CALLS and count == 1 and before == _LOAD_GLOBAL and code.co_names[name >> 1] in _TAKE_IN_ORDER
