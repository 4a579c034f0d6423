"""Attribute uses: what a function reads of the modules, classes and objects that it closes over.

An object may change, but a function that names it only to read attributes `config.width` depends on these alone. So a traced
function is cached with the attributes instead.
"""
from __future__ import annotations

import dis
import functools
import sys
import types
from collections.abc import Iterator
from typing import Any

_READS = frozenset({"LOAD_ATTR", "LOAD_METHOD"})


@functools.lru_cache(maxsize=4096)
def attribute_uses(code: types.CodeType) -> dict[str, frozenset[str] | None]:
    """The attributes that a function, and the functions within it, read of each name from outside; None where the name is used
    in another way, too."""
    uses: dict[str, frozenset[str] | None] = {}
    for name, attribute in _mentions(code):
        before = uses.get(name, frozenset())
        uses[name] = None if attribute is None or before is None else before | {attribute}
    return uses


def _mentions(code: types.CodeType) -> Iterator[tuple[str, str | None]]:
    """Every name from outside that the code mentions, with the attribute that is read of it there, if one is."""
    steps = list(dis.get_instructions(code))
    for step, after in zip(steps, [*steps[1:], steps[-1]], strict=True):
        if "CLOSURE" in step.opname or step.opname == "MAKE_CELL":
            continue  # for a function within it
        if "GLOBAL" in step.opname or "DEREF" in step.opname or step.opname.endswith("_NAME"):
            reads = step.opname.startswith("LOAD") and after.opname in _READS
            yield step.argval, after.argval if reads else None
    for inner in code.co_consts:
        if isinstance(inner, types.CodeType):
            yield from _mentions(inner)


def attributes(x: Any, names: frozenset[str]) -> list[Any] | None:
    """The attributes of a module, class or object. None where one is computed, or is the user's own method, which may read
    anything."""
    found = [_attribute(x, name) for name in sorted(names)]
    return None if any(value is _COMPUTED for value in found) else found


_COMPUTED = object()


def _attribute(x: Any, name: str) -> Any:
    if isinstance(x, types.ModuleType):
        return vars(x).get(name, _COMPUTED)
    if isinstance(x, type):
        value = _of_class(x, name) if type(x) is type else _COMPUTED
        return _COMPUTED if hasattr(value, "__get__") else value
    kind = type(x)
    if kind.__getattribute__ is not object.__getattribute__:
        return _COMPUTED
    value = _of_class(kind, name)
    if hasattr(type(value), "__get__"):
        return value if isinstance(value, types.FunctionType) and _is_pythons(value) else _COMPUTED
    return getattr(x, "__dict__", {}).get(name, value)


def _of_class(kind: type, name: str) -> Any:
    return next((vars(base)[name] for base in kind.__mro__ if name in vars(base)), _COMPUTED)


def _is_pythons(fun: types.FunctionType) -> bool:
    """Whether a function is of Python's own library, as a test's `assertEqual`."""
    return (fun.__module__ or "").split(".")[0] in sys.stdlib_module_names
