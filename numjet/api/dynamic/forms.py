"""Forms of programs: what is alike in programs for different sizes, and the numbers in which they differ.

The simplifier looks at sizes: it takes a slice that a large array has for granted, and an axis of one element for none. What
it did for large sizes is right for small ones if it does the same for these. So the program for small sizes is compared with
the one that follows from those for large ones.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core.aval import ShapedArray
from numjet.core.ir import ClosedJaxpr, Jaxpr, Literal, Var
from numjet.foundation.polynomials import Interpolation

SMALL = (1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 24, 32, 48, 64)   # least sizes that are tried


class Form:
    """The structure of a program as a flat list, and all integers in it."""

    def __init__(self, closed: ClosedJaxpr):
        self.structure: list[Any] = []
        self.numbers: list[int] = []
        self._variables: dict[Var, int] = {}
        self._jaxpr(closed.jaxpr)

    def _jaxpr(self, jaxpr: Jaxpr) -> None:
        self.structure += (len(jaxpr.constvars), len(jaxpr.invars), len(jaxpr.eqns), len(jaxpr.outvars))
        for var in (*jaxpr.constvars, *jaxpr.invars):
            self._bound(var)
        for eqn in jaxpr.eqns:
            self.structure += (eqn.primitive.name, len(eqn.invars), len(eqn.outvars))
            for atom in eqn.invars:
                self._atom(atom)
            for name, value in sorted(eqn.params.items()):
                self.structure.append(name)
                self._value(value)
            for var in eqn.outvars:
                self._bound(var)
        for atom in jaxpr.outvars:
            self._atom(atom)

    def _bound(self, var: Var) -> None:
        self._variables[var] = len(self._variables)
        self._value(var.aval)

    def _atom(self, atom: Any) -> None:
        if isinstance(atom, Literal):
            self._value(atom.aval)
            self._value(atom.val)
        else:
            self.structure.append(self._variables[atom])

    def _value(self, value: Any) -> None:
        """Parameters, avals and literals."""
        if isinstance(value, ClosedJaxpr):
            self._jaxpr(value.jaxpr)
        elif isinstance(value, Jaxpr):
            self._jaxpr(value)
        elif isinstance(value, ShapedArray):
            self.structure += (value.dtype, value.weak_type, len(value.shape))
            self.numbers += value.shape
        elif isinstance(value, (tuple, list)):
            self.structure.append((type(value), len(value)))
            for item in value:
                self._value(item)
        elif isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.bool_)):
            self.structure.append(type(value))
            self.numbers.append(int(value))
        elif isinstance(value, (np.ndarray, np.generic)):
            self.structure.append((value.dtype, value.shape, value.tobytes()))
        else:
            self.structure.append(value if _comparable(value) else id(value))


def _comparable(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def least_sizes(samples: Sequence[ClosedJaxpr], points: Sequence[Sequence[int]], names: int, most: Sequence[int],
                program: Callable[[Sequence[int]], tuple[ClosedJaxpr, Sequence[int]]]) -> list[int]:
    """The least sizes for which programs are of the form of those for large ones. NotImplementedError if there are none.

    program: makes the program for some of the first `names` sizes, with all sizes.
    """
    fit = Interpolation(points, names)
    forms = [Form(closed) for closed in samples]
    if any(form.structure != forms[0].structure or len(form.numbers) != len(forms[0].numbers) for form in forms):
        raise NotImplementedError("programs for large sizes that differ in more than numbers")
    wanted = [fit(numbers) for numbers in zip(*(form.numbers for form in forms), strict=True)]
    if None in wanted:
        raise NotImplementedError("numbers that do not follow from the sizes")
    for n in SMALL:
        sizes = [min(n, high) for high in most]
        made, numbers = program(sizes)
        form = Form(made)
        if form.structure == forms[0].structure and form.numbers == [p.at(numbers) for p in wanted if p is not None]:
            return sizes
    raise NotImplementedError("programs for small sizes that are others than those for large ones")
