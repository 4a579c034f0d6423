"""The operations that computed sizes need within the bodies of loops, branches and functions with rules of their own.

There the number that is a size belongs to an iteration. `bind_size` says which number a variable of sizes is from here on,
`check_sizes` and `expect_size` are checks at this place of the program. All have an effect, so that no transformation drops or
moves them; they may be repeated. The rules of padding (`api/dynamic/rules/sizes.py`) replace them, so none is ever compiled.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.core import effects
from numjet.core.ir import Jaxpr, JaxprEqn, subjaxprs
from numjet.core.op import Missing, Op
from numjet.core.walk import all_eqns
from numjet.foundation.dimension import variables_in
from numjet.foundation.record import Record

_WHY = "only within functions with dynamic_shapes; tests/api/test_dynamic_loops.py"


class Message(Record):
    """The text of an error."""

    text: str


def _impossible(*args: Any, **params: Any) -> Any:
    raise AssertionError("computed sizes are replaced before a program runs")


def _jvp_of(find: Any) -> Any:
    def jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
        find().bind(*primals, **params)
        return [], []
    return jvp


def _batch_of(find: Any) -> Any:
    def batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[list[Any], list[Any]]:
        if any(d is not None for d in dims):
            raise NotImplementedError(
                "Under vmap a size would differ from element to element, as it is computed within the body of a loop or a "
                "branch from what is mapped. Apply vmap to the function with dynamic shapes, "
                "vmap(jit(f, dynamic_shapes=True)), where f's results have known shapes.")
        find().bind(*args, **params)
        return [], []
    return batch


def _op(name: str, params: tuple[str, ...], find: Any) -> Op:
    return Op(name=name, params=params, multiple=True, abstract=lambda *avals, **_: [], eager=_impossible, jvp=_jvp_of(find),
              transpose=lambda cts, *args, **_: [None] * len(args), batch=_batch_of(find), cpu=_impossible, hlo=_impossible,
              effects=lambda **_: frozenset({effects.SIZES}), samples=Missing(_WHY))


bind_size_p: Op = _op("bind_size", ("dim",), lambda: bind_size_p)
check_sizes_p: Op = _op("check_sizes", ("message",), lambda: check_sizes_p)
expect_size_p: Op = _op("expect_size", ("dim", "message"), lambda: expect_size_p)


def sizes_bound(jaxpr: Jaxpr) -> set[str]:
    """The variables of sizes whose numbers a program computes."""
    if not any(effects.SIZES in e.effects for e in jaxpr.eqns):
        return set()
    return set().union(*[variables_in(e.params["dim"]) for e in all_eqns(jaxpr) if e.primitive is bind_size_p])


def sizes_named(eqn: JaxprEqn) -> set[str]:
    """The variables of sizes in an equation: in its parameters, its results and the programs that it holds."""
    inner = [e for j in subjaxprs(eqn.params) for e in all_eqns(j)]
    return set().union(*[variables_in([*e.params.values(), *(v.aval.shape for v in e.outvars)]) for e in (eqn, *inner)])
