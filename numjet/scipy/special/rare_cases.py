"""Formulas of rare cases, which are computed by calls that have such a case only."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numjet.numpy as jnp
from numjet import lax


def where_any(rare: Any, formula: Callable[..., Any], *xs: Any) -> Any:
    """formula(*xs) where `rare` holds for some element, else zeros: elements that are not rare get any number. Under vmap all
    calls compute it.

    >>> where_any(jnp.array([False, False]), jnp.cos, jnp.zeros(2)).tolist()
    [0.0, 0.0]
    """
    return lax.cond(jnp.any(rare), formula, lambda *xs: jnp.zeros_like(xs[0]), *xs)
