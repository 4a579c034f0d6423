"""nj.explain: the compile report of a function."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.api.jit import with_stages
from numjet.core.compile_report import CompileReport
from numjet.foundation.util import wraps
from numjet.runtime import backends, prologue


def explain(fun: Callable[..., Any]) -> Callable[..., CompileReport]:
    """Decorator: a function that takes arguments of `fun` (or ShapeDtypeStructs) and returns a compile report.

    The result lists, each with the user's line: the loops of the machine code and what is fused into them, why an array
    is stored or not, calls of libraries, copies, and the memory of all larger arrays. It prints as text; its fields
    `loops`, `warnings`, `operations`, `calls`, `copies`, `allocations` hold the same as records. Nothing is compiled or run;
    work on constants that is done once, when the program is compiled, is left out.
    Raises what tracing or lowering `fun` raises.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> report = nj.explain(lambda x: jnp.sum(jnp.sin(x) * 2))(jnp.ones(1000))
    >>> [loop.fuses for loop in report.loops], [o.fate for o in report.operations]
    ([('sin', 'mul')], ['fused', 'fused', 'registers'])
    """
    jitted = with_stages(fun)

    @wraps(fun, assigned=("__module__", "__name__", "__qualname__"), updated=())
    def explained(*args: Any, **kwargs: Any) -> CompileReport:
        traced = jitted.trace(*args, **kwargs)
        closed = traced.lower().jaxpr
        parts = prologue.split(closed)
        if parts is not None:   # the rest is what a call executes; values make no difference to what is decided
            closed = parts.joined([np.zeros(v.aval.shape, v.aval.dtype) for v in parts.kept])
        return backends.load_backend("cpu").explained(closed, traced.fun_name, [traced.call.donated[k] for k in traced.kept])
    return explained
