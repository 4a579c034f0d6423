"""The program that is being traced with data-dependent shapes: what the library asks for computed sizes."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.api.dynamic import selection
from numjet.api.dynamic.size_table import SizeTable
from numjet.api.dynamic.trace import PaddingTrace, here, spread_like
from numjet.control.checks.size_ops import Message, bind_size_p, check_sizes_p, expect_size_p
from numjet.core.intervals import Facts
from numjet.core.stage import StageTrace, StageTracer
from numjet.core.trace import Tracer, current_trace, set_trace
from numjet.foundation.dimension import variables_in
from numjet.foundation.symbolic.computed import ComputedScope
from numjet.foundation.symbolic.dims import Size
from numjet.lax.elementwise.compare import ge_p, le_p
from numjet.transforms.jvp import JVPTracer
from numjet.transforms.vmap import BatchTracer

_MOST = 2 ** 31 - 1


class Program:
    """What the traces of one program share: the scope of its sizes, the default bound, and its checks.

    trace: the innermost PaddingTrace whose rules run. Bodies of loops and the like are first traced to programs with sizes in
    them; there, sizes and checks are operations (`control/checks/size_ops.py`).
    """

    def __init__(self, default_bound: int | None):
        self.scope = ComputedScope(self.expect)
        self.default_bound = default_bound
        self.messages: list[str] = []
        self.trace: PaddingTrace | None = None
        self.outermost: PaddingTrace | None = None
        self.inputs: list[str] = []  # the variables whose numbers are arguments, in their order
        self.given_checks: list[tuple[Any, str]] = []  # sizes of those that must be at least 0, and messages
        self._tables: dict[StageTrace, SizeTable] = {}
        self._facts: dict[StageTrace, Facts] = {}

    def expect(self, x: Size) -> None:
        """Checks when the program runs that an expression of sizes is at least 0."""
        assert self.trace is not None
        what = f"Sizes of arrays do not fit{here()}"
        trace = current_trace()
        while not isinstance(trace, (StageTrace, PaddingTrace)):
            trace = trace.parent  # type: ignore[attr-defined]
        if trace is self.trace or trace is self.trace.parent:
            self.trace.expect(x, what)
        else:
            with set_trace(trace):
                expect_size_p.bind(dim=x, message=Message(what))

    def is_given(self, size: Any) -> bool:
        """Whether the arguments tell a size."""
        return variables_in((size,)) <= set(self.inputs)

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
        value, stage = self._staged(holds, message)
        self._check(stage)(value, f"{message}{here()}.")

    def input_size(self, n: Any, most: int, name: str) -> Size:
        """The size that an argument of the program is, at least 1."""
        assert self.trace is not None
        dim = self.scope.new(most, f"the dynamic axis '{name}'", 1)
        self.inputs.append(str(dim))
        with set_trace(self.trace.parent):
            self.trace.bind_size(dim, n)
        return dim

    def true_positions(self, mask: Any) -> tuple[Any, ...]:
        """The indices of the true elements of a traced mask, one vector per axis."""
        return selection.true_positions(mask)

    def new_size(self, n: Any, about: str, bound: int | None = None) -> Any:
        """The size that a traced integer scalar is, at most `bound`."""
        value, stage = self._staged(n, about)
        if not isinstance(value, Tracer):
            return int(value)
        assert isinstance(value, StageTracer)
        low, high = self._facts.setdefault(stage, Facts(stage.producer)).interval(stage.atom(value))
        bound = int(high) if bound is None else min(bound, int(high))
        with set_trace(stage):
            return self._size(stage, value, low, bound, about)

    def _size(self, stage: StageTrace, value: StageTracer, low: float, bound: int, about: str) -> Any:
        unbounded = bound >= _MOST
        if unbounded and self.default_bound is None:
            raise ValueError(f"The size is not bounded: {about}. Memory is reserved for the largest array, so bound the "
                             "number, jnp.minimum(n, 1000), or give all such sizes a bound that is checked when the program "
                             "runs: jit(f, dynamic_shapes=1000).")
        most = self.default_bound if unbounded and self.default_bound is not None else bound
        table = self._tables.setdefault(stage, SizeTable(stage))
        key = table.number(stage.atom(value)), most
        if key not in table.dims:
            check = self._check(stage)
            if low < 0:
                check(ge_p.bind(value, spread_like(0, value)), f"A size is negative: {about}.")
            if unbounded:
                check(le_p.bind(value, spread_like(most, value)),
                      f"A size is above the bound {most} of jit(..., dynamic_shapes={most}): {about}.")
            table.dims[key] = made = self.scope.new(most, about) if most else 0
            if most:
                self._bind(stage, made, value)
        return table.dims[key]

    def _bind(self, stage: StageTrace, dim: Size, value: StageTracer) -> None:
        assert self.trace is not None
        if stage is self.trace.parent:
            self.trace.bind_size(dim, value)
        else:
            bind_size_p.bind(value, dim=dim)

    def _check(self, stage: StageTrace) -> Callable[[Any, str], None]:
        """What adds a check at this place of the program."""
        assert self.trace is not None
        if stage is self.trace.parent:
            trace = self.trace

            def now(holds: Any, message: str) -> None:
                with set_trace(stage):
                    trace.check(holds, message)
            return now

        def later(holds: Any, message: str) -> None:
            with set_trace(stage):
                check_sizes_p.bind(holds, message=Message(message))
        return later

    def _staged(self, n: Any, about: str) -> tuple[Any, StageTrace]:
        """A number without the tangents of transformations within the function, and the trace of the program it is in."""
        assert self.trace is not None
        while type(n) is JVPTracer:
            n = n.primal
        if type(n) is BatchTracer:
            raise NotImplementedError(
                f"Under vmap a size would differ from element to element: {about}. Apply vmap to the function with dynamic "
                "shapes, vmap(jit(f, dynamic_shapes=True)), where f's results have known shapes.")
        if not isinstance(n, Tracer):
            return n, self.trace.parent
        if type(n) is not StageTracer or not n._trace.valid:
            raise NotImplementedError(
                f"A size is computed in a transformation that does not know its number: {about}. Compute it in front of that, "
                "or make the function jit(f, dynamic_shapes=True), if its results have known shapes.")
        return n, n._trace
