"""Pretty printer: lines break only where a group does not fit.

Documents in Lindig's strict formulation of Wadler's algebra (P. Wadler, "A prettier printer", 2003; C. Lindig, "Strictly
Pretty", 2000). A group that fits into the rest of the line is printed on it. Otherwise its own breaks become newlines, and
the groups inside it are laid out independently. Printing takes time linear in the size of the document.

>>> doc = bracket("f(", [text("first"), text("second")], ")")
>>> print(render(doc, 40))
f(first, second)
>>> print(render(doc, 10))
f(
  first,
  second
)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence


class Doc:
    """A document; `a + b` concatenates two."""

    __slots__ = ()

    def __add__(self, other: Doc) -> Doc:
        return concat((self, other))

    def __str__(self) -> str:
        return render(self)


class _Text(Doc):
    __slots__ = ("color", "string")
    __match_args__ = ("string",)

    def __init__(self, string: str, color: str = ""):
        self.string, self.color = string, color


class _Break(Doc):
    __slots__ = ("flat",)
    __match_args__ = ("flat",)

    def __init__(self, flat: str):
        self.flat = flat


class _Line(Doc):
    __slots__ = ()


class _Concat(Doc):
    __slots__ = ("parts",)
    __match_args__ = ("parts",)

    def __init__(self, parts: tuple[Doc, ...]):
        self.parts = parts


class _Nest(Doc):
    __slots__ = ("doc", "indent")
    __match_args__ = ("indent", "doc")

    def __init__(self, indent: int, doc: Doc):
        self.indent, self.doc = indent, doc


class _Group(Doc):
    __slots__ = ("doc",)
    __match_args__ = ("doc",)

    def __init__(self, doc: Doc):
        self.doc = doc


_NOTHING = _Concat(())
_HARD = _Line()


def nothing() -> Doc:
    """The empty document."""
    return _NOTHING


def text(string: str) -> Doc:
    """`string` unchanged; newlines in it become hard lines."""
    if "\n" not in string:
        return _Text(string)
    return join(_HARD, [_Text(line) for line in string.split("\n")])


KEYWORD, TYPE, COMMENT = "34;1", "35", "2"  # blue and bold, magenta, dim
_ENDS = {KEYWORD: "39;22", TYPE: "39", COMMENT: "22"}


def colored(string: str, color: str) -> Doc:
    """`string`, which has no newlines, in a color of a terminal; the color takes no columns."""
    return _Text(string, color)


def brk(flat: str = " ") -> Doc:
    """A possible break: `flat` where the group fits on the line, a newline otherwise."""
    return _Break(flat)


def line() -> Doc:
    """An unconditional newline; no group around it fits on one line."""
    return _HARD


def concat(docs: Iterable[Doc]) -> Doc:
    """Documents in sequence."""
    return _Concat(tuple(docs))


def nest(indent: int, doc: Doc) -> Doc:
    """`doc` with the newlines in it indented by `indent` more."""
    return _Nest(indent, doc)


def group(doc: Doc) -> Doc:
    """`doc` on one line if it fits."""
    return _Group(doc)


def join(separator: Doc, docs: Sequence[Doc]) -> Doc:
    """`docs` with `separator` between them."""
    parts: list[Doc] = []
    for index, doc in enumerate(docs):
        if index:
            parts.append(separator)
        parts.append(doc)
    return concat(parts)


def bracket(opening: str, docs: Sequence[Doc], closing: str, separator: str = ",", indent: int = 2) -> Doc:
    """`docs` between brackets: all on one line, or one line each."""
    body = join(concat((text(separator), brk())), docs)
    return group(concat((text(opening), nest(indent, concat((brk(""), body))), brk(""), text(closing))))


# Entry of the stack of pending documents: (indentation, flat?, document).
_Item = tuple[int, bool, Doc]


def _fits(width: int, todo: list[_Item], doc: Doc) -> bool:
    """Whether `doc` printed flat, and the rest up to the next newline, take at most `width` columns."""
    inner: list[_Item] = [(0, True, doc)]
    outer = len(todo)
    while width >= 0:
        if inner:
            indent, flat, now = inner.pop()
        elif outer:
            outer -= 1
            indent, flat, now = todo[outer]
        else:
            return True
        match now:
            case _Text(string):
                width -= len(string)
            case _Break(string):
                if not flat:
                    return True
                width -= len(string)
            case _Line():
                return not flat
            case _Concat(parts):
                inner.extend((indent, flat, part) for part in reversed(parts))
            case _Nest(more, body):
                inner.append((indent + more, flat, body))
            case _Group(body):
                inner.append((indent, flat, body))
    return False


def render(doc: Doc, width: int = 80) -> str:
    """The text of a document, in lines of at most `width` columns as far as its breaks allow."""
    out: list[str] = []
    column = 0
    todo: list[_Item] = [(0, False, doc)]
    while todo:
        indent, flat, now = todo.pop()
        match now:
            case _Text(string):
                out.append(f"\x1b[{now.color}m{string}\x1b[{_ENDS[now.color]}m" if now.color else string)
                column += len(string)
            case _Break(string) if flat:
                out.append(string)
                column += len(string)
            case _Break() | _Line():
                out.append("\n" + " " * indent)
                column = indent
            case _Concat(parts):
                todo.extend((indent, flat, part) for part in reversed(parts))
            case _Nest(more, body):
                todo.append((indent + more, flat, body))
            case _Group(body):
                todo.append((indent, flat or _fits(width - column, todo, body), body))
    return "\n".join(one.rstrip() for one in "".join(out).split("\n"))
