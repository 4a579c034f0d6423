"""Provenance of batch axes: which axes of a value are those of a vmap.

Batch rules turn elements into axes, and what they write does not tell the axes of the user from those of vmap. While
jax_debug_nans or jax_debug_infs is on, every variable of a program that vmap makes remembers them, so that an error can name
the lane. A variable with the same axes (a tangent, a cotangent, a copy) has the same lanes.
"""
from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any

from numjet.core.trace import Tracer

Lanes = tuple[tuple[int, int], ...]  # (number of the vmap, axis of the value), outermost first

serials = itertools.count(1)         # vmaps are numbered as they begin


def merged(known: Lanes | None, new: Lanes) -> Lanes:
    """Lanes that were known, and new ones inside them."""
    if not known:
        return new
    numbers = {serial for serial, _ in known}
    return (*known, *(one for one in new if one[0] not in numbers))


def note(x: Any, lanes: Lanes) -> None:
    """Says that a traced value has these lanes, which an operation just made."""
    for value, own in ends(x, lanes):
        if not own or not isinstance(value, Tracer) or not hasattr(value, "_var"):
            continue
        var = value._var
        var.lanes = merged(var.lanes, own)
        for other in _made_with(value):
            if other.lanes is None and other.aval.shape == var.aval.shape:
                other.lanes = var.lanes


def note_argument(x: Any, lanes: Lanes = ()) -> None:
    """Says which axes of a function's argument are those of a vmap that begins; those of an earlier one remain."""
    for value, own in ends(x, lanes):
        if own and isinstance(value, Tracer) and hasattr(value, "_var") and value._var.lanes is None:
            value._var.lanes = own


def note_steps(x: Any, like: Any) -> None:
    """Gives what was computed on the way to a value the lanes of a variable of the same shape."""
    for value, _ in ends(x):
        if isinstance(value, Tracer) and hasattr(value, "_var"):
            for other in _made_with(value):
                if other.lanes is None and other.aval.shape == like.aval.shape:
                    other.lanes = like.lanes


def _made_with(x: Any) -> Iterator[Any]:
    """The variables of the last equation of a tracer's program, and of those before it that belong to the same operation of
    the user's."""
    eqns = x._trace.eqns
    for eqn in reversed(eqns):
        if eqn.source != eqns[-1].source:
            return
        yield from eqn.outvars


def ends(x: Any, lanes: Lanes = ()) -> Iterator[tuple[Any, Lanes]]:
    """The values behind a traced value (primal and tangent, the whole batch), each with its lanes."""
    parts = x.lane_parts(lanes) if isinstance(x, Tracer) else ()
    if not parts:
        yield x, lanes
    for value, own in parts:
        yield from ends(value, own)


def keep(variables: Sequence[Any], values: Sequence[Any]) -> None:
    """Gives the values that an equation has now the lanes of the variables that it had in a program."""
    for v, x in zip(variables, values, strict=True):
        if v.lanes:
            note(x, v.lanes)
