"""Translation validation: a compiled program's results against those of the reference, and the wrong equation.

The reference runs the traced program equation by equation, by the records' eager slots. Where results differ by more than
rounding (see `verdict`), it also runs the simplified program, to tell the simplifier from the compiler. Bisection then
finds the first wrong equation: prefixes of the program, which return the values that later equations need, are compiled
and compared. So fused equations stay fused, as far as possible.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet import _native
from numjet.control.loops.while_op import while_p
from numjet.core import hooks
from numjet.core.ir import ClosedJaxpr, Jaxpr, JaxprEqn, Literal, Var
from numjet.core.traits import CALLS
from numjet.foundation import source
from numjet.runtime import dispatch
from numjet.testing.reference import Reference
from numjet.testing.verdict import SAMPLES, agree, outside

Values = Sequence[np.ndarray]
Run = Callable[[ClosedJaxpr, Values], list[np.ndarray]]   # a way to run a program


class MiscompiledError(RuntimeError):
    """A compiled program's results are not those of the reference implementation; raised with the flag numjet_verify only.

    The message names the first equation that differs. It is a bug of numjet: please report the message.
    """


class _Endless(Reference):
    """The reference without a limit of iterations. With noise loops may not end: then some iterations suffice."""

    def equation(self, eqn: JaxprEqn, args: list[Any]) -> list[Any]:
        if eqn.primitive is not while_p or self.noise:
            return super().equation(eqn, args)
        cond, body = eqn.params["cond_jaxpr"], eqn.params["body_jaxpr"]
        first, start = eqn.params["cond_nconsts"], eqn.params["cond_nconsts"] + eqn.params["body_nconsts"]
        carry = args[start:]
        while bool(self.closed(cond, [*args[:first], *carry])[0]):
            carry = self.closed(body, [*args[first:start], *carry])
        return carry


def compare(compiled: ClosedJaxpr, meant: ClosedJaxpr, name: str, args: Values, got: Values) -> None:
    """Raises MiscompiledError if `got` differs from the reference results of `meant`; `compiled`: its simplified form."""
    wrong = difference(meant, args, got)
    if wrong is None:
        return
    if compiled is not meant and difference(compiled, args, got) is None:
        raise MiscompiledError(f"{name}: {wrong} This comes from the simplification of the program: what it was simplified to "
                               f"gives the same interpreted and compiled.\n{_blame(meant, args, _simplified)}")
    raise MiscompiledError(f"{name}: {wrong}\n{_blame(compiled, args, _compiled)}")


def difference(closed: ClosedJaxpr, args: Values, got: Values) -> str | None:
    """The difference of results from the reference's beyond rounding, as text; None if there is none."""
    found = _differing(closed, args, _reference(closed, args), got)
    if found is None:
        return None
    k, at, value, expected = found
    where = f"[{', '.join(map(str, at))}]" if at else ""
    return f"result {k}{where} of the compiled program is {value!r}, but the reference gives {expected!r}."


def _reference(closed: ClosedJaxpr, args: Values, noise: float = 0.0, seed: int = 0) -> list[np.ndarray]:
    with np.errstate(all="ignore"):
        return _Endless(noise, seed).closed(closed, args)


def _differing(closed: ClosedJaxpr, args: Values, want: Values, got: Values) -> tuple[int, tuple[int, ...], Any, Any] | None:
    """The first result that differs, its index, its value, and the expected value."""
    suspects = [k for k, (g, w) in enumerate(zip(got, want, strict=True)) if not agree(g, _like(w, g)).all()]
    if not suspects:
        return None
    runs = [want, *(_reference(closed, args, 1.0, n) for n in range(1, SAMPLES + 1))]
    for k in suspects:
        bad = outside(got[k], np.stack([_like(run[k], got[k]) for run in runs]))
        if bad.any():
            at = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.shape else ()
            index = tuple(int(i) for i in at)
            return k, index, got[k][index], _like(want[k], got[k])[index]
    return None


def _like(x: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Random keys as words, as the other array has them."""
    return x if x.dtype == other.dtype else np.ascontiguousarray(x).view(other.dtype).reshape(other.shape)


# ------------------------------------------------------------------------------------------------ which equation

def _compiled(closed: ClosedJaxpr, args: Values) -> list[np.ndarray]:
    """The results of a program, compiled."""
    program = dispatch.compile_closed(closed, "verify")
    arrays = [_native.from_numpy(np.array(x, order="C"), aval, dispatch.CPU)
              for x, aval in zip(args, closed.in_avals, strict=True)]
    return [np.asarray(o._value) for o in program(arrays)]


def _simplified(closed: ClosedJaxpr, args: Values) -> list[np.ndarray]:
    """The results of a program, simplified and interpreted."""
    return _reference(hooks.simplify(closed), args)


def _blame(closed: ClosedJaxpr, args: Values, run: Run) -> str:
    """A text about the equation that makes the first wrong values."""
    count = len(closed.jaxpr.eqns)
    low, high = 0, count   # the results of the first `low` equations are right, those of the first `high` may not be
    known: dict[int, Any] = {}
    while high - low > 1:
        middle = (low + high) // 2
        found = known[middle] = _check(prefix(closed, middle), args, run)
        low, high = (middle, high) if found is None else (low, middle)
    found = known.get(high) or _check(prefix(closed, high), args, run)
    if found is None:
        return "No equation differs where programs end after it: only the whole program shows it."
    eqn = closed.jaxpr.eqns[high - 1]
    inner = _inner(closed, high - 1, args, run)
    if inner is not None:
        return inner
    at, value, expected = found[1:]
    index = f" at [{', '.join(map(str, at))}]" if at else ""
    return (f"The first equation that differs is number {high} of {count}:\n{_alone(eqn)}\n"
            f"{_where(eqn)}Computed {value!r}{index}, expected {expected!r}.")


def _check(closed: ClosedJaxpr, args: Values, run: Run) -> Any:
    return _differing(closed, args, _reference(closed, args), run(closed, args))


def prefix(closed: ClosedJaxpr, count: int) -> ClosedJaxpr:
    """The program of the first equations, which returns the values that later ones read."""
    jaxpr = closed.jaxpr
    made = dict.fromkeys(v for eqn in jaxpr.eqns[:count] for v in eqn.outvars)
    later = {a for eqn in jaxpr.eqns[count:] for a in eqn.invars if isinstance(a, Var)}
    later |= {a for a in jaxpr.outvars if isinstance(a, Var)}
    outvars = [v for v in made if v in later]
    return ClosedJaxpr(jaxpr.replace(eqns=jaxpr.eqns[:count], outvars=outvars), closed.consts)


def _inner(closed: ClosedJaxpr, position: int, args: Values, run: Run) -> str | None:
    """The wrong equation in the program of a call, if it shows the difference by itself."""
    eqn = closed.jaxpr.eqns[position]
    program = eqn.params.get("jaxpr", eqn.params.get("call_jaxpr"))
    if not CALLS <= eqn.primitive.traits or program is None:
        return None
    program = ClosedJaxpr(program, []) if isinstance(program, Jaxpr) else program
    reads = [a for a in eqn.invars if isinstance(a, Var)]
    before = ClosedJaxpr(closed.jaxpr.replace(eqns=closed.jaxpr.eqns[:position], outvars=reads), closed.consts)
    values = dict(zip(reads, _reference(before, args), strict=True))
    given = [np.asarray(a.val, a.aval.dtype) if isinstance(a, Literal) else values[a] for a in eqn.invars]
    return None if _check(program, given, run) is None else _blame(program, given, run)


def _alone(eqn: JaxprEqn) -> str:
    """An equation as a program of its own."""
    reads = list(dict.fromkeys(a for a in eqn.invars if isinstance(a, Var)))
    return str(Jaxpr([], reads, list(eqn.outvars), [eqn]))


def _where(eqn: JaxprEqn) -> str:
    """The user's line, if it is known."""
    frame = eqn.source.frame if isinstance(eqn.source, source.Source) else eqn.source
    return "" if frame is None else f"It was made at {source.summarize(frame)}\n"

