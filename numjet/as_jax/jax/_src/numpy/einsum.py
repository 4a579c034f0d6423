"""Einsum by a plan that a library made."""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.lax.contraction.dot import dot_general
from numjet.numpy.contraction.einsum import einsum as _by_subscripts

Contraction = tuple[tuple[int, ...], frozenset[str], str]  # positions of the operands, the letters that are summed, subscripts


def _einsum(operands: Sequence[Any], contractions: Sequence[Contraction], precision: Any, preferred_element_type: Any,
            _dot_general: Any = dot_general, out_sharding: Any = None) -> Any:
    """The result of opt_einsum's contractions: each takes its operands from the list, and appends their product."""
    live = list(operands)
    for left, (positions, _, subscripts) in enumerate(contractions, 1 - len(contractions)):
        taken = [live.pop(i) for i in positions]
        live.append(_by_subscripts(subscripts, *taken, precision=precision, preferred_element_type=preferred_element_type,
                                   _dot_general=_dot_general, out_sharding=out_sharding if left == 0 else None))
    return live[0]
