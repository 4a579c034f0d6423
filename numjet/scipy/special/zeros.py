"""Zeros of Bessel functions and their kin, as arrays.

Orders and numbers of zeros are static, so zeros are tables: SciPy computes them in double precision, by Newton's steps from
asymptotic estimates. They are constants of programs, without derivatives.
"""
from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.core.trace import Tracer
from numjet.foundation import tree
from numjet.foundation.errors import ConcretizationTypeError
from numjet.lax.elementwise.scipy_functions import scipy_special


def _static(name: str, label: str, value: Any) -> int:
    if isinstance(value, Tracer):
        raise ConcretizationTypeError(value, f"{name}: zeros are computed while tracing, so {label} has to be static")
    return operator.index(value)


def _array(found: Any) -> Any:
    """Numbers in the default dtype of their kind, integers as integers."""
    kind = {"c": complex, "f": float}.get(np.asarray(found).dtype.kind, int)
    return jnp.asarray(found, dtype=kind)


def _make(name: str, what: str, results: str, value: float) -> Callable[..., Any]:
    """The function `name(nt)`, with docstring. value: the size of the first zero, to 3 digits."""
    def function(nt: Any) -> Any:
        return tree.tree_map(_array, getattr(scipy_special, name)(_static(name, "nt", nt)))
    return _named(function, name, what, "", results, f"{name}(2)", value)


def _make_of_order(name: str, what: str, results: str, value: float) -> Callable[..., Any]:
    """The function `name(n, nt)`, with docstring. value: as of _make, for n = 1."""
    def function(n: Any, nt: Any) -> Any:
        return tree.tree_map(_array, getattr(scipy_special, name)(_static(name, "n", n), _static(name, "nt", nt)))
    return _named(function, name, what, "n: the order, a static integer. ", results, f"{name}(1, 2)", value)


def _named(function: Callable[..., Any], name: str, what: str, order: str, results: str, call: str, value: float
           ) -> Callable[..., Any]:
    function.__name__ = function.__qualname__ = name
    picked = f"{call}[0]" if results.startswith("(") else call
    function.__doc__ = f"""The first nt zeros of {what}.

    {order}nt: how many, a static integer >= 1 (ValueError below). Returns {results}, of the default dtype of their kind.

    >>> round(abs(complex({picked}[0])), 3)
    {value}
    """
    return function


_ONE = "an array [nt]"
_PAIR = "(zeros, values of the derivative there)"
jn_zeros = _make_of_order("jn_zeros", "the Bessel function Jn", _ONE, 3.832)
jnp_zeros = _make_of_order("jnp_zeros", "the derivative of Jn", _ONE, 1.841)
yn_zeros = _make_of_order("yn_zeros", "the Bessel function Yn", _ONE, 2.197)
ynp_zeros = _make_of_order("ynp_zeros", "the derivative of Yn", _ONE, 3.683)
y0_zeros = _make("y0_zeros", "Y0", _PAIR, 0.894)
y1_zeros = _make("y1_zeros", "Y1", _PAIR, 2.197)
y1p_zeros = _make("y1p_zeros", "the derivative of Y1", "(zeros, values of Y1 there)", 3.683)
ai_zeros = _make("ai_zeros", "the Airy function Ai, and of its derivative",
                 "(zeros of Ai, zeros of Ai', Ai at the latter, Ai' at the former)", 2.338)
bi_zeros = _make("bi_zeros", "the Airy function Bi, and of its derivative",
                 "(zeros of Bi, zeros of Bi', Bi at the latter, Bi' at the former)", 1.174)
erf_zeros = _make("erf_zeros", "erf in the first quadrant", _ONE, 2.375)
fresnel_zeros = _make("fresnel_zeros", "Fresnel's integrals S and C", "(zeros of S, zeros of C)",
                      2.03)
fresnelc_zeros = _make("fresnelc_zeros", "Fresnel's integral C", _ONE, 1.77)
fresnels_zeros = _make("fresnels_zeros", "Fresnel's integral S", _ONE, 2.03)
ber_zeros = _make("ber_zeros", "the Kelvin function ber", _ONE, 2.849)
bei_zeros = _make("bei_zeros", "the Kelvin function bei", _ONE, 5.026)
ker_zeros = _make("ker_zeros", "the Kelvin function ker", _ONE, 1.719)
kei_zeros = _make("kei_zeros", "the Kelvin function kei", _ONE, 3.915)
berp_zeros = _make("berp_zeros", "the derivative of ber", _ONE, 6.039)
beip_zeros = _make("beip_zeros", "the derivative of bei", _ONE, 3.773)
kerp_zeros = _make("kerp_zeros", "the derivative of ker", _ONE, 2.666)
keip_zeros = _make("keip_zeros", "the derivative of kei", _ONE, 4.932)
