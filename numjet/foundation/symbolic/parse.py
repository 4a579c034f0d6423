"""Symbolic shapes and constraints as text, read by recursive descent.

    shape: ["("] [size {"," size} [","]] [")"]      size: "_" | "..." | expression
    expression: ["+" | "-"] term {("+" | "-") term}       term: power {"*" power}      power: atom ["^" number]
    atom: number | name | operation "(" expression "," expression ")"
"""
from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numjet.foundation.symbolic.dims import OPERATIONS, Size, variable

if TYPE_CHECKING:
    from numjet.foundation.symbolic.scope import SymbolicScope

_TOKEN = re.compile(r"\s*(\.\.\.|[A-Za-z_]\w*|\d+|\S)")
_COMPARISON = re.compile(r"==|>=|<=")
_END = ""


class _Text:
    """A position in the tokens of a text."""

    def __init__(self, text: str, what: str, scope: SymbolicScope):
        self.text, self.what, self.scope = text, what, scope
        self.tokens = [(m.group(1), m.start(1)) for m in _TOKEN.finditer(text)]
        self.at = 0

    @property
    def next(self) -> str:
        return self.tokens[self.at][0] if self.at < len(self.tokens) else _END

    def take(self) -> str:
        token = self.next
        self.at += 1
        return token

    def took(self, token: str) -> bool:
        found = self.next == token
        self.at += found
        return found

    def expect(self, token: str) -> None:
        if not self.took(token):
            raise self.error(f"expecting {token!r} but found {self.next or 'the end'!r}")

    def error(self, why: str) -> ValueError:
        position = self.tokens[self.at][1] if self.at < len(self.tokens) else len(self.text)
        return ValueError(f"syntax error in {self.what}: {why}. Parsed '{self.text[:position]}', remaining "
                          f"'{self.text[position:]}'.")

    # -- expressions
    def expression(self) -> Size:
        negative = self.took("-")
        if not negative:
            self.took("+")
        total = -self.term() if negative else self.term()
        while self.next in ("+", "-"):
            total = total + self.term() if self.take() == "+" else total - self.term()
        return total

    def term(self) -> Size:
        total = self.power()
        while self.took("*"):
            total = total * self.power()
        return total

    def power(self) -> Size:
        base = self.atom()
        if not self.took("^"):
            return base
        if not self.next.isdigit():
            raise self.error(f"expecting a number but found {self.next or 'the end'!r}")
        return base ** int(self.take())

    def atom(self) -> Size:
        if self.next == "-":  # of an operand
            self.take()
            return -self.atom()
        if self.next.isdigit():
            return int(self.take())
        if not self.next.isidentifier():
            raise self.error(f"expecting a name or a number but found {self.next or 'the end'!r}")
        name = self.take()
        if name not in OPERATIONS or self.next != "(":
            return variable(name, self.scope)
        self.expect("(")
        left = self.expression()
        self.expect(",")
        right = self.expression()
        self.expect(")")
        return OPERATIONS[name](left, right)


def parse_size(text: str, scope: SymbolicScope) -> Size:
    """One size. ValueError for other text."""
    reader = _Text(text, f"symbolic dimension {text!r}", scope)
    found = reader.expression()
    if reader.next != _END:
        raise reader.error(f"expecting the end but found {reader.next!r}")
    return found


def parse_constraint(text: str, scope: SymbolicScope) -> tuple[Size, str, Size]:
    """The sides of a constraint and the comparison between them. ValueError for other text."""
    found = _COMPARISON.findall(text)
    if len(found) != 1:
        raise ValueError(f"Constraint parsing error: must contain one of '==' or '>=' or '<=', got {text!r}")
    left, right = text.split(found[0])
    return parse_size(left, scope), found[0], parse_size(right, scope)


def parse_shape(text: str, scope: SymbolicScope, like: Sequence[Any] | None) -> tuple[Size, ...]:
    """A shape. like: the shape that `_` and `...` take sizes from."""
    reader = _Text(text, "", scope)
    sizes: list[Size] = []
    in_parentheses = reader.took("(")
    closed = lambda: reader.next == (")" if in_parentheses else _END)
    while not closed():
        reader.what = f"symbolic shape {text!r} in dimension {len(sizes)}"
        if reader.next == "...":
            sizes += _others(reader, sizes, like)
            break
        sizes.append(_size(reader, len(sizes), like))
        if not reader.took(","):
            break
    if in_parentheses:
        reader.expect(")")
    if reader.next != _END:
        raise reader.error(f"expecting ',' but found {reader.next!r}")
    if like is not None and len(like) != len(sizes):
        raise ValueError(f"symbolic shape {text!r} has {len(sizes)} dimensions, the shape {tuple(like)} has {len(like)}: give "
                         "one for each, or end with '...'")
    return tuple(sizes)


def _others(reader: _Text, sizes: list[Size], like: Sequence[Any] | None) -> list[Size]:
    """The sizes that `...` stands for."""
    if like is None:
        raise reader.error("spec contains ... but no 'like' shape was given")
    _check_like(reader, len(sizes), len(like) + 1, like)
    reader.take()
    reader.took(",")
    return list(like[len(sizes):])


def _check_like(reader: _Text, axis: int, count: int, like: Sequence[Any]) -> None:
    """Raises where the shape has nothing that a placeholder may stand for."""
    if axis >= count:
        raise reader.error(f"cannot resolve placeholder '{reader.next}' because we parsed {axis} already and 'like' shape has "
                           f"only {len(like)} dimensions: {tuple(like)}")


def _size(reader: _Text, axis: int, like: Sequence[Any] | None) -> Size:
    if reader.next == "_":
        if like is None:
            raise reader.error("spec contains ... but no 'like' shape was given")
        _check_like(reader, axis, len(like), like)
        reader.take()
        return like[axis]
    size = reader.expression()
    if like is not None and axis < len(like) and isinstance(size, int) and size != like[axis]:
        raise reader.error(f"different size {size} for known dimension; like={tuple(like)}")
    return size
