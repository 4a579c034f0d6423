"""Verdicts on programs: compiled against eager results, with rounding judged by Monte Carlo arithmetic.

Results that are equal to some ulps agree. For others, the reference is run with varied roundings: a difference counts
where the compiled result lies outside of the reference's variation; integers, booleans, NaN and infinities must be equal
where the reference does not vary at all.
"""
from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

import numjet as nj
from numjet.core.ir import ClosedJaxpr
from numjet.core.walk import all_eqns
from numjet.foundation import dtypes
from numjet.foundation.config import index_checks
from numjet.testing import programs
from numjet.testing.reference import Reference

ULPS = 16  # differences that need no reference
SAMPLES = 8  # runs of the reference with other roundings
FACTOR = 8.0  # allowed multiple of their variation


@dataclass
class Verdict:
    """The verdict on a program. wrong: the difference. undecided: results that rounding decides. refused: a legitimate
    error."""

    wrong: str | None = None
    undecided: int = 0
    refused: str | None = None
    operations: Counter[str] = field(default_factory=Counter)
    types: Counter[str] = field(default_factory=Counter)

    @property
    def kind(self) -> str:
        """The kind of failure, for grouping: more words for errors."""
        if self.wrong is None:
            return ""
        return self.wrong.split("(")[0][:60] if self.wrong.startswith(("eager:", "compiled:")) else self.wrong.split()[0]


def judge(p: programs.Program, backend: str = "cpu", jax: Any = None, coverage: bool = True) -> Verdict:
    """Runs a program operation by operation, compiled twice, and compares. jax: a JAX process to compare with."""
    verdict = Verdict()
    with p.context():
        ran = _run(lambda: programs.load(p), programs.arguments(p), p.donated, backend, verdict, coverage)
        if ran is not None and verdict.wrong is None and jax is not None and p.portable:
            verdict.wrong = _by_jax(jax.run(p), *ran, verdict)
    return verdict


def judge_function(fun: Callable[..., Any], arguments: Callable[[], Sequence[Any]], x64: bool = False,
                   donated: Sequence[int] = ()) -> Verdict:
    """The same for a function that returns a tuple, and the function that makes its arguments."""
    verdict = Verdict()
    with programs.configured(x64):
        drawn = [x.item() if getattr(x, "weak_type", False) else np.asarray(x) for x in arguments()]  # arrays may be donated
        _run(lambda: fun, drawn, donated, "cpu", verdict, False)
    return verdict


def _run(load: Callable[[], Callable[..., Any]], drawn: Sequence[Any], donated: Sequence[int], backend: str, verdict: Verdict,
         coverage: bool) -> tuple[list[np.ndarray], ClosedJaxpr, Sequence[Any]] | None:
    """Fills the verdict; returns the compiled results, the program and its arguments, for further comparisons."""
    try:
        fun = load()
        with nj.disable_jit(), index_checks("off"):   # compiled programs clip indices
            want = [_plain(x) for x in fun(*map(_given, drawn))]
        closed = nj.make_jaxpr(fun)(*map(_given, drawn))
    except NotImplementedError as error:  # eager evaluation alone refuses: for example indexing by a mask
        verdict.refused = f"eager: {described(error)}"
        return None
    except Exception as error:
        verdict.wrong = f"eager: {described(error)}"
        return None
    if coverage:
        _count(closed, verdict)
    try:
        compiled = nj.jit(fun, backend=backend, donate_argnums=tuple(donated))
        got = [_plain(x) for x in compiled(*map(_given, drawn))]
        given = [_given(x) for x in drawn]
        again = [_plain(x) for x in compiled(*given)]
    except Exception as error:
        verdict.wrong = f"compiled: {described(error)}"
        return None
    verdict.wrong = _repeats(got, again) or _kept(donated, drawn, given) or compare(got, want, closed, drawn, verdict)
    return got, closed, drawn


def _by_jax(found: Any, got: Sequence[np.ndarray], closed: ClosedJaxpr, drawn: Sequence[Any], verdict: Verdict) -> str | None:
    """What differs from another implementation's results; what it refuses is counted."""
    if isinstance(found, str):
        verdict.refused = f"jax: {found}"
        return None
    difference = compare(got, found, closed, drawn, verdict)
    return f"jax-{difference}" if difference else None


def _given(x: Any) -> Any:
    return nj.numpy.asarray(x)


def _plain(x: Any) -> np.ndarray:
    return np.array(nj.random.key_data(x) if nj.dtypes.issubdtype(x.dtype, nj.dtypes.prng_key) else x)


def _count(closed: ClosedJaxpr, verdict: Verdict) -> None:
    for eqn in all_eqns(closed.jaxpr):
        verdict.operations[eqn.primitive.name] += 1
        verdict.types.update(str(v.aval.dtype) for v in eqn.outvars)


def described(error: BaseException) -> str:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if "numjet" in f.filename]
    last = (frames or traceback.extract_tb(error.__traceback__))[-1]
    return f"{type(error).__name__}: {' '.join(str(error)[:300].split())} ({last.filename}:{last.lineno})"


def _repeats(got: Sequence[np.ndarray], again: Sequence[np.ndarray]) -> str | None:
    for k, (a, b) in enumerate(zip(got, again, strict=True)):
        if a.tobytes() != b.tobytes() and not _same_but_nan(a, b):
            return f"unsteady result {k}: two runs of the same code gave {_few(a)} and {_few(b)}"
    return None


def _same_but_nan(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(dtypes.kind(a.dtype) in "fc" and np.all((a == b) | ((a != a) & (b != b))))


def _kept(donated: Sequence[int], drawn: Sequence[Any], given: Sequence[Any]) -> str | None:
    """Checks that arguments that were not donated are unchanged."""
    for k, (x, y) in enumerate(zip(drawn, given, strict=True)):
        if k not in donated and isinstance(x, np.ndarray) and _plain(y).tobytes() != x.tobytes():
            return f"changed argument {k}"
    return None


def _few(x: np.ndarray) -> str:
    return str(x.reshape(-1)[:6]) if x.dtype.kind != "V" or "bfloat16" in str(x.dtype) else "words"


# ------------------------------------------------------------------------------------------------ comparison

def compare(got: Sequence[np.ndarray], want: Sequence[np.ndarray], closed: ClosedJaxpr, drawn: Sequence[Any],
            verdict: Verdict) -> str | None:
    """The difference beyond rounding, or None."""
    if len(got) != len(want):
        return f"result count: {len(got)} compiled, {len(want)} expected"
    suspects = []
    for k, (g, w) in enumerate(zip(got, want, strict=True)):
        if g.shape != w.shape or g.dtype != w.dtype:
            return f"type of result {k}: {g.dtype}{g.shape} compiled, {w.dtype}{w.shape} expected"
        if not agree(g, w).all():
            suspects.append(k)
    return _by_variation(suspects, got, want, closed, drawn, verdict) if suspects else None


def agree(g: np.ndarray, w: np.ndarray) -> np.ndarray:
    """Elements that are equal to some ulps."""
    if dtypes.kind(w.dtype) not in "fc":
        return np.asarray(g == w)
    g, w, eps, tiny = *_wide(g, w), float(dtypes.finfo(w.dtype).eps), float(dtypes.finfo(w.dtype).tiny)
    with np.errstate(all="ignore"):
        return np.asarray((g == w) | ((g != g) & (w != w)) | (np.abs(g - w) <= ULPS * eps * np.abs(w) + 4 * tiny))


def _wide(*xs: np.ndarray) -> list[np.ndarray]:
    return [x.astype(np.complex128 if dtypes.kind(x.dtype) == "c" else np.float64) for x in xs]


def _by_variation(suspects: Sequence[int], got: Sequence[np.ndarray], want: Sequence[np.ndarray], closed: ClosedJaxpr,
                  drawn: Sequence[Any], verdict: Verdict) -> str | None:
    """The first result outside of the reference's variation, as text; the others are undecided."""
    runs = [list(want)]
    args = [np.asarray(x, v.aval.dtype) for x, v in zip(drawn, closed.jaxpr.invars, strict=True)]
    for n in range(SAMPLES + 1):
        runs.append(Reference(0.0 if n == 0 else 1.0, n).closed(closed, args))
    for k in suspects:
        samples = np.stack([_plain_like(r[k], want[k]) for r in runs])
        bad = outside(got[k], samples)
        if bad.any():
            at = np.unravel_index(int(np.argmax(bad)), bad.shape) if bad.shape else ()
            return (f"result {k}: {int(bad.sum())} of {bad.size} differ, first at {tuple(map(int, at))}: compiled "
                    f"{got[k][at]!r}, expected {want[k][at]!r}, which varies by {_spread(samples)[at]!r}")
        verdict.undecided += 1
    return None


def _plain_like(x: np.ndarray, like: np.ndarray) -> np.ndarray:
    return x if x.dtype == like.dtype else np.ascontiguousarray(x).view(like.dtype).reshape(like.shape)


def _spread(samples: np.ndarray) -> np.ndarray:
    """The variation of samples: the largest distance from the first."""
    if dtypes.kind(samples.dtype) not in "fc":
        return np.asarray((samples != samples[:1]).any(0))
    (wide,) = _wide(samples)
    with np.errstate(all="ignore"):
        same = (wide == wide[:1]) | ((wide != wide) & (wide[:1] != wide[:1]))
        return np.asarray(np.max(np.where(same, 0.0, np.abs(wide - wide[:1])), 0))


def outside(g: np.ndarray, samples: np.ndarray) -> np.ndarray:
    """Elements beyond the variation by rounding. Where only some samples are NaN or infinite, anything is allowed."""
    spread = _spread(samples)
    if dtypes.kind(g.dtype) not in "fc":
        return np.asarray((g != samples[0]) & ~spread)
    got, first = _wide(g, samples[0])
    eps, tiny = float(dtypes.finfo(g.dtype).eps), float(dtypes.finfo(g.dtype).tiny)
    with np.errstate(all="ignore"):
        stable = np.isfinite(spread)
        usual = float(np.median(spread[stable])) if stable.any() else 0.0
        allowed = FACTOR * spread + 2 * usual + 2 * ULPS * eps * np.abs(first) + 8 * tiny
        near = (got == first) | ((got != got) & (first != first)) | (np.abs(got - first) <= allowed)
    return np.asarray(stable & ~near)
