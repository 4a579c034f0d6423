"""Sizes that a program computes: dimension variables with a bound, whose values are known when the program runs."""
from __future__ import annotations

from collections.abc import Callable

from numjet.foundation.errors import InconclusiveDimensionOperation
from numjet.foundation.symbolic.dims import Size, SymbolicDim, variable
from numjet.foundation.symbolic.scope import SymbolicScope


class ComputedScope(SymbolicScope):
    """The computed sizes of one program. A variable is from 0, or what else is known, to its bound.

    expect: is told of expressions that must be at least 0, which is checked when the program runs.
    """

    computed = True

    def __init__(self, expect: Callable[[Size], None]):
        super().__init__()
        self._expect = expect
        self.abouts: dict[str, str] = {}

    def __str__(self) -> str:
        return f"computed sizes{self._made_at}"

    __repr__ = __str__

    def expect(self, x: Size) -> None:
        self._expect(x)

    def new(self, bound: int, about: str, least: int = 0) -> Size:
        """A new variable, which is from `least` to `bound`. about: what it counts, and where."""
        name = f"size{len(self.abouts)}"
        self.abouts[name] = about
        self._bounds.variables[name] = (least, bound)
        return variable(name, self)

    def bound(self, size: Size) -> int:
        """The most that a size can be."""
        return int(self._bounds.upper(size)) if isinstance(size, SymbolicDim) else size

    def inconclusive(self, a: Size, b: Size, sign: str) -> InconclusiveDimensionOperation:
        """The error of a comparison whose result depends on values."""
        return InconclusiveDimensionOperation(
            f"'{a} {sign} {b}' is not known while the function is traced: sizes such as size0 are computed when the program "
            f"runs. {self.legend((a, b))}Compare arrays (jnp.asarray(x.shape[0]) {sign} ...) and choose with jnp.where, or "
            "make the size known: the size= of nonzero and unique, or a mask in the place of a selection.")

    def no_number(self, size: Size) -> InconclusiveDimensionOperation:
        """The error of a size that is asked for as a Python number."""
        return InconclusiveDimensionOperation(
            f"The size '{size}' is computed when the program runs, and is used where Python needs the number. "
            f"{self.legend((size,))}Compute with arrays: jnp.asarray(x.shape[0]) is the size as an integer of the program, and "
            "lax.fori_loop counts to it.")

    def legend(self, sizes: tuple[Size, ...]) -> str:
        """What the variables in sizes stand for."""
        names = [n for n in self.abouts if any(n in str(s) for s in sizes)]
        return "".join(f"{n} is {self.abouts[n]}. " for n in names)
