"""Floating-point error state of NumPy, switched off around one call at less than the cost of np.errstate.

NumPy keeps its error state in a context variable. The state that ignores everything is made once; a call sets the
variable to it, and back. Threads and coroutines have contexts of their own, so none sees another's state.

Callers read the state before `try` and set it inside: an exception of a signal handler, which Python raises when a call
returns, would leave a state that was set before `try` as it is.
"""
from __future__ import annotations

from contextvars import ContextVar, copy_context
from typing import Any

import numpy as np


def _ignoring() -> tuple[ContextVar[Any], Any]:
    """NumPy's variable, and its value when everything is ignored, found as the change by np.seterr in a context."""
    context = copy_context()
    for mode in ("raise", "ignore"):  # two different states, so that one of them is a change
        before = dict(context.items())
        context.run(np.seterr, all=mode)
    changed = [(var, value) for var, value in context.items() if before.get(var) is not value]
    if len(changed) != 1:
        raise ImportError(f"expected NumPy {np.__version__} to keep its error state in one context variable (NumPy 2 does), "
                          f"found {len(changed)} that np.seterr changes")
    return changed[0]


STATE, IGNORED = _ignoring()
