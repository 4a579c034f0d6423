"""Verification of compiled programs: the first call is compared with the reference when the flag numjet_verify is on.

The reference, `numjet.testing.verify`, is only imported then.
"""
from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.core.ir import ClosedJaxpr
from numjet.core.walk import all_eqns
from numjet.foundation.config import config


class _State(threading.local):
    busy = False  # while programs are compiled by the comparison itself, which are not verified


_state = _State()


class FirstCall:
    """The first call to verify: `compiled` is the compiled jaxpr, `meant` the jaxpr before simplification."""

    __slots__ = ("compiled", "meant", "name")

    def __init__(self, compiled: ClosedJaxpr, meant: ClosedJaxpr, name: str):
        self.compiled, self.meant, self.name = compiled, meant, name

    def run(self, call: Any, args: Sequence[Any]) -> list[Any]:
        """The results of call(), which may overwrite arguments. Raises testing.verify.MiscompiledError if they are wrong."""
        given = [np.array(a._value) for a in args]
        outs: list[Any] = call()
        with _native.Scope(_state, "busy", True):
            importlib.import_module("numjet.testing.verify").compare(self.compiled, self.meant, self.name, given,
                                                                     [np.asarray(o._value) for o in outs])
        return outs


def first_call(compiled: ClosedJaxpr, meant: ClosedJaxpr | None, name: str) -> FirstCall | None:
    """The verification of a newly compiled program's first call, if there is one.

    Programs with effects or callbacks have none: these would run a second time.
    """
    if not config.verify or _state.busy:
        return None
    meant = compiled if meant is None else meant
    if any(eqn.effects or "callback" in eqn.primitive.name for closed in (compiled, meant) for eqn in all_eqns(closed.jaxpr)):
        return None
    return FirstCall(compiled, meant, name)
