"""Traits: what an operation is like, as its record says it, so that passes ask records and keep no lists of names.

A trait is a set of words; `MOVES | READS_ONCE` joins two, and `MOVES <= op.traits` asks for one. A trait that implies another
contains its word. What needs a number or a function instead of a word (cost, operands that results may replace, parts and
shifts, carries) is a field of the record, see `core/op.py`.

>>> STRIDED >= MOVES >= EXACT
True
>>> words(STRIDED | READS_ONCE)
['reads once', 'strided']
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.foundation.record import Record

Traits = frozenset[str]
NONE: Traits = frozenset()
DESCRIPTIONS: dict[str, str] = {}
_IMPLIED: dict[str, Traits] = {}


def _trait(word: str, description: str, *implied: Traits) -> Traits:
    DESCRIPTIONS[word], _IMPLIED[word] = description, NONE.union(*implied)
    return _IMPLIED[word] | {word}


# -- rounding
EXACT = _trait("exact", "does not round: it moves, chooses, compares, counts or changes bits")
NORMWISE = _trait("normwise", "its error is small beside the largest element of a result, not beside each element")

# -- data movement
MOVES = _trait("moves", "places elements and computes none: free inside a fused loop", EXACT)
STRIDED = _trait("strided", "an element of the result is the element of the operand at an affine index", MOVES)
ARRAY_VIEW = _trait("array view", "costs nothing outside of programs: the array is looked at in another way", MOVES)
COMPACT = _trait("compact", "is made of fewer numbers than it has elements: better made where it is read than stored", MOVES)
BROADCASTS = _trait("broadcasts", "repeats its operand along new or short axes; parameters shape, broadcast_dimensions",
                    COMPACT, STRIDED)
PADS = _trait("pads", "places its operand among copies of another value; parameter padding_config", MOVES)
RECODES = _trait("recodes", "represents numbers in another way, by no arithmetic", EXACT)
FREE = _trait("free", "changes the format of an element while it is read: free inside a fused loop", RECODES)

# -- cost
CHEAP = _trait("cheap", "takes one or two instructions per element: large results are not worth keeping")
TRANSCENDENTAL = _trait("transcendental", "counts as a transcendental function, as XLA's cost analysis counts")
SCANS_OPERAND = _trait("scans operand", "takes one operation per element of its operand, not of its result")
MATRIX_BY_MATRIX = _trait("matrix by matrix", "its eager function calls a library for each matrix of a batch", NORMWISE)
READS_ONCE = _trait("reads once", "reads no element of its operands more than once")

# -- what loops and memory make of it
LANES = _trait("lanes", "may run in one lane of a vector for each of many systems: calls no library, holds no program")
SCATTERS = _trait("scatters", "writes elements of operand 2 to places that operand 1 gives; parameter unique_indices")
SUMS_PRODUCTS = _trait("sums products", "is a product of matrices or a convolution: worth keeping for the reverse pass")
CONTRACTS = _trait("contracts", "sums products along axes: dot_general's dimension_numbers", SUMS_PRODUCTS)
CALLS = _trait("calls", "is the program that it holds, applied to its operands")
NAMED_CALL = _trait("named call", "is a program under a name by which a backend may know a better one", CALLS)
BRANCHES = _trait("branches", "operand 0 chooses one of the programs `branches`, which get the other operands")
KEEPS_APART = _trait("keeps apart", "neither merged with an equal equation nor computed before the program runs")
CHECKS = _trait("checks", "leaves the program with an error, or is its operand: an equal check behind it finds nothing",
                KEEPS_APART)
USERS_TRANSPOSE = _trait("user's transpose", "its transpose calls a user's function, even where no cotangent comes")


class Carries(Record):
    """The state of a loop: `count` inputs of `body` from number `inside` on, whose first values are operands from number
    `outside` on, and whose next values are the first results of the body."""
    body: Any
    inside: int
    outside: int
    count: int


def carried(eqn: Any) -> Sequence[int]:
    """The `in_place` rule of loops: their results may take over the memory of the carries' first values."""
    carries = eqn.primitive.carries(eqn)
    return range(carries.outside, carries.outside + carries.count)


def words(traits: Traits) -> list[str]:
    """The traits as words in alphabetical order, without what others imply."""
    return sorted(traits.difference(*(_IMPLIED[word] for word in traits)))
