"""The program that is being traced with data-dependent shapes: what the library asks for computed sizes."""
from __future__ import annotations

from typing import Any

from numjet.api.dynamic import selection
from numjet.api.dynamic.trace import PaddingTrace, here
from numjet.core.trace import Tracer
from numjet.foundation.symbolic.computed import ComputedScope
from numjet.foundation.symbolic.dims import Size


class Program:
    """What the traces of one program share: the scope of its sizes, the default bound, and its checks."""

    def __init__(self, default_bound: int | None):
        self.scope = ComputedScope(self.expect)
        self.default_bound = default_bound
        self.messages: list[str] = []
        self.trace: PaddingTrace | None = None

    def expect(self, x: Size) -> None:
        """Checks when the program runs that an expression of sizes is at least 0."""
        assert self.trace is not None
        self.trace.expect(x, f"Sizes of arrays do not fit{here()}")

    def bound(self, size: Any) -> int:
        """The most that a size can be."""
        return self.scope.bound(size)

    def size_of(self, n: Any) -> Any:
        """The size that a traced integer is; None for anything else."""
        if not isinstance(n, Tracer) or n.aval.shape or n.aval.dtype.kind not in "iu" or n.concrete() is not None:
            return None
        return self.new_size(n, f"the integer that is used as a size{here()}")

    def require(self, holds: Any, message: str) -> None:
        """Raises ValueError with the message, and the user's line, after the program ran, unless a bool scalar holds."""
        assert self.trace is not None
        self.trace.require(holds, f"{message}{here()}.")

    def true_positions(self, mask: Any) -> tuple[Any, ...]:
        """The indices of the true elements of a traced mask, one vector per axis."""
        return selection.true_positions(mask)

    def new_size(self, n: Any, about: str, bound: int | None = None) -> Any:
        """The size that a traced integer scalar is, at most `bound`."""
        assert self.trace is not None
        return self.trace.new_size(n, about, bound)
