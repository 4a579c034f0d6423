"""Every sampler as draw(key, parameters, shape, dtype), with parameters inside of their domain, at its ends and beyond."""
from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import ml_dtypes
import numpy as np

from numjet import random

HALVES = {"float16": np.float16, "bfloat16": ml_dtypes.bfloat16}
FLOATS = {**HALVES, "float32": np.float32, "float64": np.float64}
INEXACT = {**FLOATS, "complex64": np.complex64, "complex128": np.complex128}
UNSIGNED = {"uint8": np.uint8, "uint16": np.uint16, "uint32": np.uint32, "uint64": np.uint64}
INTEGERS = {**UNSIGNED, "int8": np.int8, "int16": np.int16, "int32": np.int32, "int64": np.int64}
NUMBERS = {**INTEGERS, **FLOATS}
NONE = {"bool": np.bool_}
NAN, INF = float("nan"), float("inf")


@dataclass(frozen=True)
class Sampler:
    """A function that draws numbers."""

    draw: Callable[[Any, tuple[Any, ...], Any, Any], Any]  # of key, parameters, shape and dtype
    parameters: tuple[float, ...] = ()
    dtypes: Any = None                                     # the dtypes of its numbers; None: those of floats
    # Parameters at and beyond the ends of the domain, and what all numbers are then; None: different ones, no NaN.
    special: Mapping[tuple[float, ...], float | None] = field(default_factory=dict)
    vectors: bool = False                                  # each draw has axes of its own

    @property
    def floats(self) -> dict[str, Any]:
        """The dtypes by name."""
        return FLOATS if self.dtypes is None else self.dtypes


def _plain(function: Callable[..., Any], dtypes: Any = None) -> Sampler:
    return Sampler(lambda k, p, s, d: function(k, s, d), (), dtypes)


def _of(function: Callable[..., Any], *parameters: float, special: Any = (), dtypes: Any = None) -> Sampler:
    return Sampler(lambda k, p, s, d: function(k, *p, s, d), parameters, dtypes, dict(special))


def _ends(zero: float | None, negative: float | None, infinite: float | None) -> Any:
    """What the numbers are for one parameter of 0, -1, infinity and NaN."""
    return {(0.0,): zero, (-1.0,): negative, (INF,): infinite, (NAN,): NAN}


_NAN_OF_TWO = {(NAN, 1.0): NAN, (1.0, NAN): NAN}

SAMPLERS: dict[str, Sampler] = {
    "bits": _plain(random.bits, UNSIGNED),
    "cauchy": _plain(random.cauchy), "exponential": _plain(random.exponential), "gumbel": _plain(random.gumbel),
    "gumbel of two numbers": _plain(lambda k, s, d: random.gumbel(k, s, d, mode="high")),
    "laplace": _plain(random.laplace), "logistic": _plain(random.logistic), "maxwell": _plain(random.maxwell),
    "normal": _plain(random.normal, INEXACT), "rademacher": _plain(random.rademacher, NUMBERS),
    "ball": Sampler(lambda k, p, s, d: random.ball(k, 3, 2, s, d), vectors=True),
    "orthogonal": Sampler(lambda k, p, s, d: random.orthogonal(k, 3, s, d), (), INEXACT, vectors=True),
    "bernoulli": Sampler(lambda k, p, s, d: random.bernoulli(k, *p, s), (0.3,), NONE, {
        (0.0,): 0, (1.0,): 1, (-1.0,): 0, (2.0,): 1, (NAN,): 0}),
    "beta": _of(random.beta, 0.7, 2.5, special={
        **_NAN_OF_TWO, (0.0, 1.0): 0, (1.0, 0.0): 1, (-1.0, 1.0): NAN, (1.0, -1.0): NAN}),
    "binomial": _of(random.binomial, 12.0, 0.3, special={
        (0.0, 0.5): 0, (5.0, 0.0): 0, (5.0, 1.0): 5, (-1.0, 0.5): NAN, (5.0, -0.5): NAN, (5.0, 1.5): NAN, (NAN, 0.5): NAN,
        (5.0, NAN): NAN, (INF, 0.5): INF}),
    "chisquare": _of(random.chisquare, 3.0, special={(0.0,): 0, (NAN,): NAN, (INF,): INF}),
    "double_sided_maxwell": _of(random.double_sided_maxwell, 0.0, 1.0, special={
        (0.5, 0.0): 0.5, (0.5, -1.0): None, (NAN, 1.0): NAN, (0.5, NAN): NAN, (INF, 1.0): INF}),
    "f": _of(random.f, 4.0, 7.0, special=_NAN_OF_TWO),
    "gamma": _of(random.gamma, 0.6, special=_ends(0, NAN, INF)), "gamma of a large shape": _of(random.gamma, 40.0),
    "generalized_normal": _of(random.generalized_normal, 1.5, special={(-1.0,): NAN, (NAN,): NAN}),
    "geometric": _of(random.geometric, 0.25, special={(1.0,): 1}, dtypes=INTEGERS),
    "loggamma": _of(random.loggamma, 0.3, special=_ends(-INF, NAN, INF)),
    "lognormal": _of(random.lognormal, 0.5, special=_ends(1, None, None), dtypes=INEXACT),
    "pareto": _of(random.pareto, 2.5, special=_ends(INF, None, 1)),
    "poisson": _of(random.poisson, 3.5, special={(0.0,): 0, (-1.0,): -1, (NAN,): -1}, dtypes=INTEGERS),
    "poisson of a large mean": _of(random.poisson, 50.0, dtypes=INTEGERS),
    "rayleigh": _of(random.rayleigh, 2.0, special=_ends(0, None, INF)),
    "t": _of(random.t, 4.0, special={(-1.0,): NAN, (NAN,): NAN}),
    "triangular": _of(random.triangular, -1.0, 0.5, 2.0, special={
        (0.0, 0.0, 1.0): None, (0.0, 1.0, 1.0): None, (1.0, 1.0, 1.0): 1, (NAN, 0.0, 1.0): NAN, (0.0, NAN, 1.0): NAN}),
    "truncated_normal": _of(random.truncated_normal, -1.0, 2.0, special={
        (-INF, INF): None, (NAN, 1.0): NAN, (0.0, NAN): NAN, (1.0, 1.0): np.nextafter(np.float32(1), np.float32(0))}),
    "uniform": Sampler(lambda k, p, s, d: random.uniform(k, s, d, *p), (-1.0, 3.0), None, {
        (1.0, 1.0): 1, (3.0, -1.0): 3, (NAN, 1.0): NAN, (0.0, NAN): NAN, (-INF, INF): NAN}),
    "wald": _of(random.wald, 1.5, special=_ends(NAN, NAN, NAN)),
    "weibull_min": _of(random.weibull_min, 2.0, 1.5, special={
        **_NAN_OF_TWO, (0.0, 1.0): 0, (1.0, INF): 1, (INF, 1.0): INF, (-1.0, 1.0): None, (1.0, -1.0): None}),
    "randint": Sampler(lambda k, p, s, d: random.randint(k, s, *p, d), (0, 7), INTEGERS),
}
