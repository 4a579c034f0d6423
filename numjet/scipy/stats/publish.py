"""Public functions of distributions made from formulas: location-scale families and exponentials of logarithms.

The functions of a distribution differ only in a formula. What surrounds it (promotion, standardization, name, docstring with an
example) is added here, so that the module of a distribution is a list of its formulas.
"""
from __future__ import annotations

import inspect
import math
import re
from collections.abc import Callable
from typing import Any, ParamSpec, Protocol

import numjet.numpy as jnp
from numjet.scipy.stats.arguments import float_args, standard, standard_from_loc, valid_scale, where_inside

P = ParamSpec("P")
Formula = Callable[[Any], Any]


class OfValue(Protocol):
    """A public function of a value of the distribution."""

    def __call__(self, x: Any, loc: Any = 0, scale: Any = 1) -> Any: ...


class OfCount(Protocol):
    """A public function of a count, of distributions with a number n and a probability p."""

    def __call__(self, k: Any, n: Any, p: Any, loc: Any = 0) -> Any: ...


class OfProbability(Protocol):
    """A public function of a probability."""

    def __call__(self, q: Any, loc: Any = 0, scale: Any = 1) -> Any: ...


_DOCS = {
    "logpdf": "The logarithm of the density.",
    "pdf": "The density.",
    "pmf": "The probability of k.",
    "cdf": "The probability of values up to x.",
    "logcdf": "The logarithm of cdf, accurate where cdf is close to 0 or 1.",
    "sf": "The probability of values above x, 1 - cdf.",
    "logsf": "The logarithm of sf, accurate where sf is close to 0 or 1.",
    "ppf": "The quantile function, the inverse of cdf; NaN for q outside [0, 1].",
    "isf": "The inverse of sf; NaN for q outside [0, 1].",
}
_OF_COUNTS = {"cdf": "The probability of counts up to k.", "sf": "The probability of counts above k, 1 - cdf."}
ENDS = {"pdf": (0.0, 0.0), "cdf": (0.0, 1.0), "logcdf": (-math.inf, 0.0), "sf": (1.0, 0.0), "logsf": (0.0, -math.inf)}
_EXAMPLE = re.compile(r">>> round\(float\(\w+(\(.*\))\), 3\)")


def publish(function: Callable[P, Any], module: str, name: str, arguments: str, value: float,
            doc: str | None = None) -> Callable[P, Any]:
    """Gives a function the name of a public one, and its docstring: `value` is its result for `arguments`, to 3 places."""
    function.__module__, function.__name__, function.__qualname__ = module, name, name
    function.__doc__ = f"{doc or _DOCS[name]}\n\n    >>> round(float({name}{arguments}), 3)\n    {value}\n    "
    return function


def exp_of(log: Callable[P, Any], value: float) -> Callable[P, Any]:
    """The exponential of a public function: pdf of logpdf, pmf of logpmf. `value`: its result in the example of `log`.

    >>> from numjet.scipy.stats import t
    >>> round(float(exp_of(t.logpdf, 0.176)(1.0, 3.0, 0.5, 2.0)), 3)
    0.176
    """
    def function(*args: P.args, **kwargs: P.kwargs) -> Any:
        return jnp.exp(log(*args, **kwargs))
    function.__signature__ = inspect.signature(log)    # type: ignore[attr-defined]
    return publish(function, log.__module__, log.__name__.removeprefix("log"), example_of(log), value)


def example_of(function: Callable[..., Any]) -> str:
    """The arguments in the example of a public function.

    >>> from numjet.scipy.stats import t
    >>> example_of(t.logpdf)
    '(1.0, 3.0, 0.5, 2.0)'
    """
    found = _EXAMPLE.search(function.__doc__ or "")
    assert found, f"{function.__name__} has no example"
    return found[1]


def on_probabilities(formula: Formula) -> Formula:
    """A quantile function that is NaN outside of [0, 1], where its formula is not evaluated; complex q have no outside.

    >>> float(on_probabilities(lambda q: 2 * q)(0.25)), float(on_probabilities(lambda q: 2 * q)(2.0))
    (0.5, nan)
    """
    def checked(q: Any) -> Any:
        if jnp.iscomplexobj(q):
            return formula(q)
        outside = (q < 0) | (q > 1)
        return jnp.where(outside, math.nan, formula(jnp.where(outside, 0.5, q)))
    return checked


class LocationScale:
    """A family of distributions with the parameters loc and scale alone: formulas in z = (x - loc) / scale.

    `module` is that of the distribution; every method makes one of its functions. `value` is the function's result at
    x = 1 (for quantiles: q = 0.75), loc = 0.5, scale = 2. `from_loc`: the distribution has no values below loc, where z is -1.
    """

    def __init__(self, module: str, from_loc: bool = False) -> None:
        self._module, self._standard = module, standard_from_loc if from_loc else standard

    def _title(self, name: str) -> str:
        return f"{self._module.rpartition('.')[2]}.{name}"

    def densities(self, formula: Callable[[Any, Any], Any], log_value: float, value: float) -> tuple[OfValue, OfValue]:
        """logpdf by a formula of z and scale, and pdf, which vanishes at infinity."""
        title, standardize = self._title("logpdf"), self._standard

        def log(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
            z, _, scale = standardize(title, x, loc, scale)
            return formula(z, scale)

        def density(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
            z, _, scale = standardize(title, x, loc, scale, ends=ENDS["pdf"])
            z, set_far = where_inside(jnp.abs(z) == math.inf, 1.0, z, 0.0)
            return set_far(jnp.exp(formula(z, scale)))
        return (publish(log, self._module, "logpdf", "(1.0, 0.5, 2.0)", log_value),
                publish(density, self._module, "pdf", "(1.0, 0.5, 2.0)", value))

    def probability(self, name: str, formula: Formula, value: float) -> OfValue:
        """cdf, logcdf, sf or logsf by a formula of z."""
        title, standardize, ends = self._title(name), self._standard, ENDS[name]

        def function(x: Any, loc: Any = 0, scale: Any = 1) -> Any:
            return formula(standardize(title, x, loc, scale, ends=ends)[0])
        return publish(function, self._module, name, "(1.0, 0.5, 2.0)", value)

    def quantile(self, name: str, formula: Formula, value: float) -> OfProbability:
        """ppf or isf by the formula of the standard distribution (loc = 0, scale = 1)."""
        title = self._title(name)

        def function(q: Any, loc: Any = 0, scale: Any = 1) -> Any:
            q, loc, scale = float_args(title, q, loc, scale)
            return loc + valid_scale(scale) * formula(q)
        return publish(function, self._module, name, "(0.75, 0.5, 2.0)", value)


class Counts:
    """cdf, logcdf, sf and logsf of a distribution of counts with the parameters n and p.

    within(title, k, n, p, loc, below, above): the formulas' arguments, and last a function that puts `below` below the support
    and `above` above it. `example`: the arguments (k, n, p) of which `value` is the function's result.
    """

    def __init__(self, module: str, within: Callable[..., tuple[Any, ...]], example: str) -> None:
        self._module, self._within, self._example = module, within, example

    def probability(self, name: str, formula: Callable[..., Any], value: float) -> OfCount:
        """One of the four, by a formula of what `within` gives."""
        title, within, (below, above) = f"{self._module.rpartition('.')[2]}.{name}", self._within, ENDS[name]

        def function(k: Any, n: Any, p: Any, loc: Any = 0) -> Any:
            *args, set_outside = within(title, k, n, p, loc, below, above)
            return set_outside(formula(*args))
        return publish(function, self._module, name, self._example, value, _OF_COUNTS.get(name))
