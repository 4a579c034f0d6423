"""Serialization of scopes of dimension variables, as the text of their constraints."""
from __future__ import annotations

from numjet.api.export.codec import Reader, Writer
from numjet.foundation.symbolic.scope import SymbolicScope


def write_scope(w: Writer, scope: SymbolicScope | None) -> None:
    """Appends a scope, or that there is none."""
    w.data.append(scope is not None)
    if scope is not None:
        w.count(len(scope.constraints))
        for constraint in scope.constraints:
            w.text(constraint.text)


def read_scope(r: Reader) -> SymbolicScope | None:
    """The scope at the reader's position: that of the function whose derivative is read, if it has the same constraints, else
    a new one."""
    if not r.flag():
        return None
    texts = r.several(r.text)
    same = r.scope is not None and texts == [c.text for c in r.scope.constraints]
    return r.scope if same else SymbolicScope(texts)
