"""Quantiles of distributions of counts: the smallest count whose distribution function reaches a probability."""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet import lax
from numjet.api.jit import jit
from numjet.control.loops.while_loop import while_loop
from numjet.scipy.stats.arguments import float_args
from numjet.scipy.stats.publish import publish

_ULPS = 2     # by which a distribution function may miss the probability it was asked for


def smallest_count(reached: Callable[[Any], Any], first: Any, last: Any) -> Any:
    """The smallest whole number from `first` to `last` at which `reached`, which stays true once it is; `last` if none is.

    By doubled steps from `first` on, then by halving.

    >>> float(smallest_count(lambda k: k * k >= 50, jnp.float32(0), jnp.float32(jnp.inf)))
    8.0
    """
    def ahead(bracket: Any) -> Any:
        return ~reached(bracket[1]) & (bracket[1] < last)

    def double(bracket: Any) -> Any:
        low, high = bracket
        more = ahead(bracket)
        return jnp.where(more, high, low), jnp.where(more, jnp.minimum(2 * high - first + 1, last), high)

    def middle(bracket: Any) -> Any:
        return bracket[0] + jnp.floor(0.5 * (bracket[1] - bracket[0]))

    def halve(bracket: Any) -> Any:
        low, high = bracket
        mid = middle(bracket)
        above = reached(mid)
        return jnp.where(above, low, jnp.maximum(low, mid)), jnp.where(above, jnp.minimum(mid, high), high)

    start = (first - 1, first)
    bracket = while_loop(lambda b: jnp.any(ahead(b)), double, start)
    inside = lambda b: (middle(b) > b[0]) & (middle(b) < b[1])
    return while_loop(lambda b: jnp.any(inside(b)), halve, bracket)[1]


def _at_least_single(x: Any) -> Any:
    return x.astype(np.float32) if x.dtype.itemsize == 2 else x


class CountQuantiles:
    """ppf and isf of a distribution of counts by its cdf and sf.

    shapes: names of its parameters. example: values of them, with which `value` is the result for q = 0.75. valid: whether
    parameters are valid. last, first: the largest and the smallest count.
    """

    def __init__(self, module: str, shapes: Sequence[str], example: str, valid: Callable[..., Any],
                 last: Callable[..., Any] = lambda *shapes: math.inf, first: float = 0.0) -> None:
        self._module, self._shapes, self._example = module, tuple(shapes), example
        self._valid, self._first, self._last = valid, first, last

    def inverse(self, name: str, function: Callable[..., Any], value: float) -> Callable[..., Any]:
        """ppf by cdf, or isf by sf."""
        upper, title = name == "isf", f"{self._module.rpartition('.')[2]}.{name}"
        nothing, certain = (1, 0) if upper else (0, 1)

        def search(q: Any, *shapes: Any) -> Any:
            dtype = q.dtype     # in halves, whose steps are wider than those between counts, only cdf is rounded
            q, shapes = _at_least_single(q), tuple(_at_least_single(v) for v in shapes)
            inside = (q > 0) & (q < 1) & self._valid(*shapes)
            first = jnp.full_like(q, self._first)
            last = jnp.broadcast_to(self._last(*shapes), q.shape).astype(q.dtype)
            rounding = _ULPS * float(jnp.finfo(q.dtype).eps)    # ppf(cdf(k)) is k, compiled or not
            if upper:
                reached = lambda k: (function(k, *shapes) * (1 - rounding)).astype(dtype) <= q
            else:
                reached = lambda k: (function(k, *shapes) * (1 + rounding)).astype(dtype) >= q
            found = smallest_count(lambda k: reached(k) | ~inside, first, last)
            at_end = jnp.where(q == nothing, first - 1, last)
            fine = (q >= 0) & (q <= 1) & self._valid(*shapes)
            return jnp.where(fine, jnp.where(inside, found, at_end), jnp.nan).astype(dtype)
        compiled = jit(search)

        def quantile(*args: Any, **kwargs: Any) -> Any:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            q, *shapes, loc = float_args(title, *bound.arguments.values())
            return compiled(*(lax.stop_gradient(v) for v in jnp.broadcast_arrays(q, *shapes))) + loc
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        listed = [inspect.Parameter(s, kind) for s in ("q", *self._shapes)]
        signature = inspect.Signature([*listed, inspect.Parameter("loc", kind, default=0)])
        quantile.__signature__ = signature    # type: ignore[attr-defined]
        what = "The smallest count whose sf is at most q" if upper else "The smallest count whose cdf is at least q"
        doc = (f"{what}; one below the first count for q = {nothing}, the last one for q = {certain}.\n\n"
               "    NaN for q outside [0, 1] and invalid parameters. It is a step function: derivatives to q and the\n"
               "    parameters are 0.")
        return publish(quantile, self._module, name, f"(0.75, {self._example})", value, doc)
