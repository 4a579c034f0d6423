"""The chi-square distribution with df degrees of freedom: gamma's with shape df / 2 and scale 2."""
from __future__ import annotations

from typing import Any

from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats import gamma


def _as_gamma(name: str, x: Any, df: Any, loc: Any, scale: Any) -> tuple[Any, Any, Any, Any]:
    """The arguments of the gamma distribution."""
    x, df, loc, scale = promote_args_inexact(name, x, df, loc, scale)
    return x, df / 2, loc, 2 * scale


def logpdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of the density.

    >>> round(float(logpdf(3.0, 2.0, 0.5, 2.0)), 3)
    -2.011
    """
    return gamma.logpdf(*_as_gamma("chi2.logpdf", x, df, loc, scale))


def pdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The density.

    >>> round(float(pdf(3.0, 2.0, 0.5, 2.0)), 3)
    0.134
    """
    return gamma.pdf(*_as_gamma("chi2.pdf", x, df, loc, scale))


def cdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values up to x.

    >>> round(float(cdf(3.0, 2.0, 0.5, 2.0)), 3)
    0.465
    """
    return gamma.cdf(*_as_gamma("chi2.cdf", x, df, loc, scale))


def logcdf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of cdf, accurate where cdf is close to 0 or 1.

    >>> round(float(logcdf(3.0, 2.0, 0.5, 2.0)), 3)
    -0.766
    """
    return gamma.logcdf(*_as_gamma("chi2.logcdf", x, df, loc, scale))


def sf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The probability of values above x, 1 - cdf.

    >>> round(float(sf(3.0, 2.0, 0.5, 2.0)), 3)
    0.535
    """
    return gamma.sf(*_as_gamma("chi2.sf", x, df, loc, scale))


def logsf(x: Any, df: Any, loc: Any = 0, scale: Any = 1) -> Any:
    """The logarithm of sf, accurate where sf is close to 0 or 1.

    >>> round(float(logsf(3.0, 2.0, 0.5, 2.0)), 3)
    -0.625
    """
    return gamma.logsf(*_as_gamma("chi2.logsf", x, df, loc, scale))
