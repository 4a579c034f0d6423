"""Value numbering of sizes: two sizes are one where equal expressions of a program compute them."""
from __future__ import annotations

from typing import Any

from numjet.core.ir import Atom, Literal, Var
from numjet.core.stage import StageTrace
from numjet.core.traits import KEEPS_APART
from numjet.transforms.value_numbering import atom_key, params_key


class SizeTable:
    """The sizes of one program that is being traced, by the numbers of their values and their bounds."""

    def __init__(self, stage: StageTrace):
        self.dims: dict[Any, Any] = {}
        self._stage = stage
        self._table: dict[Any, int] = {}
        self._numbers: dict[Var, int] = {}
        self._seen = 0

    def number(self, atom: Atom) -> Any:
        """A value number: equal for variables that equal expressions compute."""
        eqns = self._stage.eqns
        while self._seen < len(eqns):
            eqn = eqns[self._seen]
            self._seen += 1
            apart = eqn.effects or eqn.primitive.traits & KEEPS_APART
            key = id(eqn) if apart else (eqn.primitive, params_key(eqn.params), tuple(map(self._key, eqn.invars)))
            for k, v in enumerate(eqn.outvars):
                self._numbers[v] = self._table.setdefault((key, k), len(self._table))
        return self._key(atom)

    def _key(self, atom: Atom) -> Any:
        return atom_key(atom) if isinstance(atom, Literal) else self._numbers.get(atom, atom)
