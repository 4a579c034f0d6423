"""Format check of `debug.print`: a format string against its arguments; imported by the first call."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from typing import Any

_F_STRING = (
    'You may be passing an f-string. Its values are formatted while the function is traced, when there are none yet: write '
    'debug.print("x: {x}", x=x), not debug.print(f"x: {x}").'
)


class Checker(string.Formatter):
    """A formatter that only checks that every field has an argument, and every argument a field."""

    def get_value(self, key: int | str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        if isinstance(key, int):
            if key >= len(args):
                raise IndexError(f"debug.print: the format string asks for positional argument {key}, but {len(args)} were "
                                 "given. Pass a value for each {}, and write {{ and }} for braces themselves.")
            return args[key]
        if key not in kwargs:
            raise KeyError(f"debug.print: the format string asks for {key!r}, which is not among the keyword arguments "
                           f"{sorted(kwargs)}. Pass it: debug.print(fmt, {key}=value).")
        return kwargs[key]

    def format_field(self, value: Any, format_spec: str) -> str:
        return ""

    def convert_field(self, value: Any, conversion: str | None) -> Any:
        if conversion not in (None, "r", "s", "a"):
            raise ValueError(f"debug.print: unknown conversion !{conversion}: expected !r, !s or !a")
        return value

    def check_unused_args(self, used_args: set[int | str], args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
        unused = [a for k, a in enumerate(args) if k not in used_args]
        if unused:
            raise ValueError(f"Unused positional arguments to `jax.debug.print`: {unused}. Give each a place, {{}}, in the "
                             f"format string. {_F_STRING}")
        left = [k for k in kwargs if k not in used_args]
        if left:
            raise ValueError(f"Unused keyword arguments to `jax.debug.print`: {left}. Name each in the format string. "
                             f"{_F_STRING}")
