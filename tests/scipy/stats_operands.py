"""The functions of scipy.stats on operands of every kind: how they are called, what is refused, and what is decided."""
from __future__ import annotations

import dataclasses
import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from types import SimpleNamespace
from typing import Any

import ml_dtypes
import numpy as np
from scipy import stats as theirs

from numjet.scipy import stats as ours
from tests.operands import COMPLEX, KINDS, Case, Elsewhere, Operand, extended, itself, of_numbers, reversed_last
from tests.scipy.kinds import COUNTED, POSITIVE, UNIT, Kinds, counts, of_few_shapes, of_fewest_shapes, values

_PROBABILITIES, _PAIRS = values(0.25, 0.5, 0.875), (values(0.5, 1, 3), values(2, 1, 0.75))
# Distributions: their parameters beside loc and scale, and in which domain their values are.
CONTINUOUS: dict[str, tuple[Sequence[Operand], Kinds]] = {
    **dict.fromkeys("norm cauchy laplace logistic gumbel_r gumbel_l".split(), ((), KINDS)), "expon": ((), POSITIVE),
    "uniform": ((), UNIT), "gamma": ((values(0.5, 1, 3),), POSITIVE), "beta": (_PAIRS, UNIT),
    "chi2": ((values(1, 2, 5),), POSITIVE), "t": ((values(1, 2.5, 8),), KINDS), "pareto": ((values(0.5, 1, 3),), POSITIVE),
    "gennorm": ((values(0.75, 2, 3),), KINDS), "vonmises": ((values(0.5, 1, 8),), KINDS),
    "wrapcauchy": ((values(0.25, 0.5, 0.75),), POSITIVE),
    "truncnorm": ((values(-1, 0.5, -np.inf), values(2, np.inf, 1.5)), KINDS)}
DISCRETE: dict[str, Sequence[Operand]] = {
    "bernoulli": (_PROBABILITIES,), "geom": (_PROBABILITIES,), "poisson": (values(0.5, 1, 4),),
    "binom": (counts(3, 5, 9), _PROBABILITIES), "nbinom": (counts(1, 2, 4), _PROBABILITIES),
    "betabinom": (counts(3, 5, 9), *_PAIRS)}
SLOW = ("truncnorm", "binom", "t", "nbinom", "poisson", "beta", "gennorm", "gamma", "betabinom", "chi2")     # to compile
QUANTILES, MOMENTS = ("ppf", "isf"), ("mean", "var", "std", "median", "entropy")
# What moments are functions of.
PARAMETERS: dict[str, tuple[Sequence[Operand], Kinds]] = {
    **dict.fromkeys("gamma chi2 t pareto gennorm poisson".split(), ((itself,), POSITIVE)),
    "beta": ((itself, reversed_last), POSITIVE), **dict.fromkeys("bernoulli geom".split(), ((itself,), UNIT)),
    "binom": ((counts(3, 5, 9), itself), UNIT), "nbinom": ((counts(1, 2, 4), itself), UNIT),
    "betabinom": ((counts(3, 5, 9), itself, reversed_last), POSITIVE)}
_PLACES: tuple[Sequence[Operand], Kinds] = ((itself, values(0.5, 1, 2)), KINDS)


def methods_of(distribution: str) -> SimpleNamespace:
    """The functions that the module of a distribution defines for its users."""
    module = getattr(ours, distribution)
    return SimpleNamespace(**{name: function for name, function in vars(module).items() if inspect.isfunction(function)
                              and function.__module__ == module.__name__ and hasattr(getattr(theirs, distribution), name)})


def _methods(distribution: str) -> Iterator[tuple[str, Case]]:
    placed = {"loc": 2} if distribution in DISCRETE else {"loc": 0.5, "scale": 2.0}
    for name, function in vars(methods_of(distribution)).items():
        if name != "rvs":
            operands, kinds = _operands(distribution, name)
            known = inspect.signature(function).parameters
            place = {key: value for key, value in placed.items() if key in known}
            takes_it = place and len(operands) + len(place) <= len(known) and (name, distribution in DISCRETE) != (
                "entropy", True)
            few = of_fewest_shapes(kinds) if distribution in SLOW else of_few_shapes(kinds)
            if distribution in SLOW and name in QUANTILES:     # numbers of rank 0 are in their docstrings
                few = {kind: x for kind, x in few.items() if kind not in ("int32", "rank 0")}
            options = ({}, place) if takes_it and distribution not in SLOW else (place if takes_it else {},)
            yield name, Case(function, getattr(getattr(theirs, distribution), name), operands, options, few)


def _operands(distribution: str, name: str) -> tuple[Sequence[Operand], Kinds]:
    if name in MOMENTS:
        return PARAMETERS.get(distribution, _PLACES)
    parameters, kinds = (DISCRETE[distribution], COUNTED) if distribution in DISCRETE else CONTINUOUS[distribution]
    return (itself, *parameters), UNIT if name in QUANTILES else kinds


CASES: dict[str, Case] = {f"{distribution}.{name}": case for distribution in (*CONTINUOUS, *DISCRETE)
                          for name, case in _methods(distribution)}

# ------------------------------------------------------------------------------------------- vectors

_POINTS = np.array([[0.25, 0.5, 0.125, 0.25], [0.5, 0.25, 0.125, 0.625]])     # all but one coordinate
_COUNTS = np.array([[1, 0, 3], [2, 2, 0], [0, 0, 0], [5, 1, 1]])
_SIMPLEX: Kinds = {
    "float16": _POINTS.astype(np.float16), "float32 of rank 3": _POINTS.reshape(2, 2, 2).astype(np.float32),
    "float64 transposed": np.array(_POINTS.T).T, "all coordinates": np.array([[0.25, 0.5], [0.5, 0.25], [0.25, 0.25]]),
    "rank 1": _POINTS[:, 0].astype(np.float32), "empty": np.zeros((2, 0), np.float32),
    "complex64": _POINTS.astype(np.complex64)}
_OUTCOMES: Kinds = {
    **{name: _COUNTS.astype(name) for name in ("float16", "int32", "int64", "uint8", "float32", "complex64")},
    "rank 1": _COUNTS[0].astype(np.int32), "rank 4": _COUNTS.reshape(2, 1, 2, 3).astype(np.int32),
    "float64 transposed": np.array(_COUNTS.T, float).T, "empty": np.zeros((0, 3), np.int32)}


def _mean(x: Any) -> Any:
    return np.arange(x.shape[-1], dtype=np.float32) if x.ndim else np.float32(0.5)


def _cov(x: Any) -> Any:
    return np.eye(x.shape[-1], dtype=np.float32) + 0.5 if x.ndim else np.float32(2)


def _of_vectors(name: str) -> Callable[..., Any]:
    """SciPy's function, without its dropping of axes of size 1."""
    def function(x: np.ndarray, mean: Any, cov: Any) -> np.ndarray:
        return np.reshape(getattr(theirs.multivariate_normal, name)(x, mean, cov), x.shape[:-1])
    return function


for _name in ("logpdf", "pdf"):
    CASES[f"multivariate_normal.{_name}"] = Case(
        getattr(ours.multivariate_normal, _name), _of_vectors(_name), (itself, _mean, _cov), kinds=of_few_shapes(KINDS))
    CASES[f"dirichlet.{_name}"] = Case(getattr(ours.dirichlet, _name), getattr(theirs.dirichlet, _name),
                                       (itself, lambda x: values(0.5, 1, 3)(x).ravel()), kinds=_SIMPLEX)
for _name in ("logpmf", "pmf"):
    CASES[f"multinomial.{_name}"] = Case(
        getattr(ours.multinomial, _name), getattr(theirs.multinomial, _name),
        (itself, lambda x: x.sum(-1), lambda x: np.array([0.25, 0.5, 0.25], np.float32)), kinds=_OUTCOMES,
        not_smooth="of counts that add up to n")

# ------------------------------------------------------------------------------------------- statistics

_ALONG: Sequence[Mapping[str, Any]] = ({}, {"axis": None}, {"axis": -1}, {"axis": 0, "keepdims": True})
CASES["mode"] = Case(ours.mode, theirs.mode, options=_ALONG, dtypes="counts are those of arange")
CASES["sem"] = Case(ours.sem, theirs.sem, options=(*_ALONG, {"ddof": 0}, {"axis": -1, "nan_policy": "omit"}))
CASES["rankdata"] = Case(ours.rankdata, theirs.rankdata, not_smooth="ranks are constant", dtypes="floats, as in JAX", options=(
    *({"method": method} for method in ("average", "min", "max", "dense", "ordinal")), {"axis": -1}, {"axis": 0}))

ELSEWHERE: dict[str, Elsewhere] = {"rvs": Elsewhere("scipy/test_stats_variables.py", "random")}

# ------------------------------------------------------------------------------------------- what is decided

# Formulas that complex numbers are put into, as in JAX. Other distributions are of real numbers; parameters are always.
_OF_COMPLEX = ("norm.logpdf", "norm.pdf", "multivariate_normal.logpdf", "multivariate_normal.pdf",
               *(name for name in CASES if name.startswith(("cauchy.", "logistic.")) and not name.endswith(MOMENTS)))
REFUSED: dict[str, tuple[Sequence[str], str]] = {
    **{name: (COMPLEX, "of real numbers") for name in CASES if "." in name and name not in _OF_COMPLEX},
    **{f"multinomial.{name}": (("float16", "float32", "float64 transposed", "complex64"), "counts are integers")
       for name in ("logpmf", "pmf")},
    "sem": (("rank 0",), "there is no axis 0, as in JAX")}
DECIDED: dict[str, tuple[Sequence[str], str]] = {
    **{name: (COMPLEX, "the formula of real numbers, as in JAX; SciPy refuses them") for name in _OF_COMPLEX
       if not name.endswith("pdf")},
    "cauchy.logpdf": (COMPLEX, "on the branch of JAX's formula, which is another one than SciPy's"),
    **{f"logistic.{name}": (COMPLEX, "the formula of real numbers, as in JAX; SciPy's takes the absolute value")
       for name in ("logpdf", "pdf")},
    **{f"multivariate_normal.{name}": (COMPLEX, "the formula of real numbers, as in JAX; SciPy drops imaginary parts")
       for name in ("logpdf", "pdf")},
    **dict.fromkeys(("beta.entropy", "betabinom.mean", "betabinom.var", "betabinom.std"),
                    (("bool",), "of the numbers 0 and 1; SciPy adds and subtracts booleans")),
    "sem": (COMPLEX, "complex without an imaginary part, as in JAX; SciPy: real")}


def _of_points(function: Callable[..., Any]) -> Callable[..., Any]:
    """A density of the coordinates along the first axis of an array with more axes than SciPy takes."""
    return lambda x, alpha: function(x.reshape(len(x), -1), alpha).reshape(x.shape[1:])


def _between(k: Any, *parameters: Any) -> Any:
    return k != np.floor(k)


_MASSES = (_between, "the formula between counts, as in JAX; SciPy: 0")
_ENDS = (lambda q, p: (q == 0) | (q == 1), "0 or 1, as in JAX; SciPy: -1 for the end of probability 0")


def _tied(distribution: str, name: str) -> Callable[..., Any]:
    """Where the count below has the probability q, but for the rounding of q's dtype."""
    def at(q: np.ndarray, *parameters: Any) -> Any:
        own, eps = getattr(theirs, distribution), ml_dtypes.finfo(np.float32 if q.dtype.kind in "iub" else q.dtype).eps
        q = q.astype(np.float64)
        return np.isclose(getattr(own, {"ppf": "cdf", "isf": "sf"}[name])(getattr(own, name)(q, *parameters) - 1, *parameters),
                          q, rtol=float(eps), atol=0)
    return at


# Points at which values are decided: by the operands, with the reason.
AT: dict[str, tuple[Callable[..., Any], str]] = {
    **{f"{family}.{name}": _MASSES for family in {*DISCRETE} - {"poisson"} for name in ("logpmf", "pmf")},
    **{f"nbinom.{name}": (lambda k, n, p: _between(k) | (k == np.inf), f"{_MASSES[1]}, and the limit at infinity; SciPy: NaN")
       for name in ("logpmf", "pmf")},
    **{f"poisson.{name}": (lambda k, mu: k == np.inf, "the limit, 0; SciPy: NaN") for name in ("logpmf", "pmf")},
    **{f"gumbel_r.{name}": (lambda x: x == -np.inf, "the limit, 0; SciPy: NaN") for name in ("logpdf", "pdf")},
    **{f"gumbel_l.{name}": (lambda x: x == np.inf, "the limit, 0; SciPy: NaN") for name in ("logpdf", "pdf")},
    **{f"{family}.{name}": (_tied(family, name), "the count of the rounded probability, so that ppf(cdf(k)) is k")
       for family in ("geom", "binom", "nbinom", "poisson") for name in QUANTILES},
    "bernoulli.ppf": _ENDS, "bernoulli.isf": _ENDS,
    "sem": (lambda x: x.size == 1, "of one number 0 with ddof=0, as its deviation; SciPy: NaN"),
    "geom.entropy": (lambda p: p == 1, "0 of what is certain; SciPy: NaN"),
    "poisson.entropy": (lambda mu: mu == np.inf, "the limit; SciPy: 0")}

for _name, (_kinds, _reason) in REFUSED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], refused={kind: _reason for kind in _kinds if kind in CASES[_name].kinds})
for _name, (_kinds, _reason) in DECIDED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], decided={kind: _reason for kind in _kinds if kind in CASES[_name].kinds})
for _name in ("mode", "geom.entropy", *(f"{family}.{name}" for family in ("beta", "t") for name in ("mean", "var", "std"))):
    CASES[_name] = dataclasses.replace(CASES[_name], theirs=extended(CASES[_name].theirs, of_numbers(CASES[_name].theirs)))
for _name in ("bernoulli.entropy", "geom.entropy", "poisson.entropy"):
    CASES[_name] = dataclasses.replace(CASES[_name], unanswered={"empty of rank 3": "no parameters"})
for _name in ("dirichlet.logpdf", "dirichlet.pdf"):
    CASES[_name] = dataclasses.replace(CASES[_name], unanswered={"empty": "no points"},
                                       theirs=extended(CASES[_name].theirs, _of_points(CASES[_name].theirs)))
for _name, (_test, _reason) in AT.items():
    CASES[_name] = dataclasses.replace(CASES[_name], decided_at=_test, why=_reason)

# ------------------------------------------------------------------------------------------- compiled together


def _together(names: Sequence[str]) -> Case:
    """Methods of one distribution and the same operands as one function, which is compiled once."""
    cases = [CASES[name] for name in names]
    tests = [case.decided_at for case in cases if case.decided_at is not None]

    def at(*operands: Any) -> Any:
        return functools.reduce(np.logical_or, [test(*operands) for test in tests])
    return dataclasses.replace(
        cases[0], ours=lambda *operands, **options: [case.ours(*operands, **options) for case in cases],
        theirs=lambda *operands, **options: [case.theirs(*operands, **options) for case in cases],
        options=cases[0].options[-1:], decided_at=at if tests else None)


def _groups() -> Iterator[tuple[str, Case]]:
    for distribution in (*CONTINUOUS, *DISCRETE):
        found: dict[str, list[str]] = {}
        for name in vars(methods_of(distribution)):
            if name != "rvs":
                of = "quantiles" if name in QUANTILES else "moments" if name in MOMENTS else "values"
                same = f"{distribution} {of}{' without a place' if not CASES[f'{distribution}.{name}'].options[-1] else ''}"
                found.setdefault(same, []).append(f"{distribution}.{name}")
        yield from ((title, _together(names)) for title, names in found.items())
    yield from ((name, case) for name, case in CASES.items() if name.partition(".")[0] not in (*CONTINUOUS, *DISCRETE))


GROUPS: dict[str, Case] = dict(_groups())
for _name in ("t moments", "pareto moments"):     # where they are finite
    GROUPS[_name] = dataclasses.replace(GROUPS[_name], operands=(lambda x: x + 2,))
# Not to counts. Derivatives of quantiles and of functions whose compilation takes long are those in test_special_points.py.
DIFFERENTIATED = [name for name in GROUPS if "moments" in name
                  or name.partition(" ")[0] not in (*DISCRETE, *SLOW) and "quantiles" not in name]
