"""nj.visualize: a program and what the compiler makes of it, as a page to look at."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

from numjet.api.jit import with_stages
from numjet.core.program_graph import Drawer
from numjet.core.program_page import ProgramPage
from numjet.foundation.util import wraps
from numjet.runtime import backends


def visualize(fun: Callable[..., Any]) -> Callable[..., ProgramPage]:
    """Decorator: a function that takes arguments of `fun` (or ShapeDtypeStructs) and returns a picture of the program.

    The graph has a box for every equation of the simplified program, below what it reads; loops and branches hold their bodies.
    Its colour says what became of the array: fused (never stored), in registers, stored, or in the memory of an operand. Beside
    it are the source lines, loops, copies and buffers of `explain`; the mouse on one shows its boxes. In notebooks the result
    shows itself; `save("program.html")` writes one self-contained page, with pan, zoom and search. Nothing is compiled or run.
    Raises what tracing or lowering `fun` raises.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> nj.visualize(lambda x: jnp.sum(jnp.sin(x) * 2))(jnp.ones(1000))
    <program <lambda>: 5 boxes; save('program.html') writes a page>
    """
    jitted = with_stages(fun)

    @wraps(fun, assigned=("__module__", "__name__", "__qualname__"), updated=())
    def visualized(*args: Any, **kwargs: Any) -> ProgramPage:
        traced = jitted.trace(*args, **kwargs)
        closed = traced.lower().jaxpr
        donated = [traced.call.donated[k] for k in traced.kept]
        report = backends.load_backend("cpu").explained(closed, traced.fun_name, donated)
        return ProgramPage(traced.fun_name, Drawer(report).draw(closed.jaxpr, traced.fun_name), report)

    return visualized
