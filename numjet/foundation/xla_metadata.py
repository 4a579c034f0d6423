"""Attributes of operations for XLA, as names of scopes, which programs carry through transformations and calls. Those of inner
scopes are added to those of outer ones; None takes one away."""
from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from numjet.foundation import lazy_import

json = lazy_import.Module("json")
_HEAD = "xla_metadata("
in_use: list[bool] = []  # not empty once a scope has some


def check(attributes: Mapping[str, Any]) -> None:
    """Programs have attributes from now on. TypeError for values that are no text, number or None."""
    for name, value in attributes.items():
        if value is not None and not isinstance(value, (str, bool, int, float)):
            raise TypeError(f"set_xla_metadata: {name} must be text, a number or None, got {value!r} of type "
                            f"{type(value).__name__}")
    if not in_use:
        in_use.append(True)


def scope_name(attributes: Mapping[str, Any]) -> str:
    """The name of the scope of attributes. TypeError for values that are no text, number or None."""
    check(attributes)
    return f"{_HEAD}{json.dumps(dict(attributes))})"


def of_scopes(names: Iterable[str], outer: Mapping[str, Any]) -> Mapping[str, Any]:
    """The attributes of an operation in scopes of these names, outermost first, around which there are others."""
    found = dict(outer)
    for name in names:
        if name.startswith(_HEAD):
            found.update(json.loads(name[len(_HEAD):-1]))
    return {name: value for name, value in found.items() if value is not None}


def words(attributes: Mapping[str, Any]) -> list[str]:
    """Attributes as XLA gets them: text."""
    return [f"{name} = {json.dumps(_text(attributes[name]))}" for name in sorted(attributes)]


def _text(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
