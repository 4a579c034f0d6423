"""Sharding rules in the notation of einsum: which dimensions of an operation's operands and results are divided together.

`"b (h d), d k -> b h k"`: dimensions with the same name (*factor*) are divided along the same axes; names in brackets are
factors of one dimension, the major first; `...` are any further leading dimensions, alike in all that have them.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any

BATCHING = "…"
_KINDS = ("reduction_factors", "need_replication_factors", "permutation_factors")


class CompoundFactor(tuple):
    """The factors of one dimension, the major first. ValueError for fewer than two."""

    def __new__(cls, *factors: str) -> CompoundFactor:
        if len(factors) < 2:
            raise ValueError("A compound factor should contain at least two factors")
        for factor in factors:
            _check_name(factor)
        return super().__new__(cls, factors)


class ArrayMapping(tuple):
    """A factor, CompoundFactor, or leading dimensions (names that begin with BATCHING), for each dimension of an array."""

    def __new__(cls, *dim_mappings: Any) -> ArrayMapping:
        for dim in dim_mappings:
            if not isinstance(dim, (str, CompoundFactor)):
                raise ValueError(f"Each element of ArrayMapping must be a str or CompoundFactor, but got {type(dim)}")
            if isinstance(dim, str) and not dim.startswith(BATCHING):
                _check_name(dim)
        return super().__new__(cls, dim_mappings)


def _check_name(name: Any) -> None:
    if not isinstance(name, str) or not name or not (name[0].isalpha() or name[0] == "_"):
        raise ValueError(f"Factor names have to start with a letter, but got '{name}'")


class SdyShardingRule:
    """A sharding rule: an ArrayMapping for each operand and result.

    reduction_factors, need_replication_factors, permutation_factors: factors along which results are sums of the devices',
    which must not be divided, and along which devices exchange parts; all others pass through. factor_sizes: sizes of factors
    that occur in compound factors only. ValueError for a factor that has no size, or is of two kinds.

    >>> SdyShardingRule((ArrayMapping("i", "j"),), (ArrayMapping("i"),), reduction_factors=("j",))
    SdyShardingRule((('i', 'j'),), (('i',),), {} reduction_factors=('j',))
    """

    def __init__(
        self,
        operand_mappings: Sequence[ArrayMapping],
        result_mappings: Sequence[ArrayMapping],
        *,
        reduction_factors: Sequence[str] = (),
        need_replication_factors: Sequence[str] = (),
        permutation_factors: Sequence[str] = (),
        **factor_sizes: int,
    ):
        self.operand_mappings, self.result_mappings = tuple(operand_mappings), tuple(result_mappings)
        self.reduction_factors, self.need_replication_factors = tuple(reduction_factors), tuple(need_replication_factors)
        self.permutation_factors, self.factor_sizes = tuple(permutation_factors), dict(factor_sizes)
        self._check()

    def _check(self) -> None:
        dims = [d for mapping in (*self.operand_mappings, *self.result_mappings) for d in mapping]
        alone = {d for d in dims if isinstance(d, str)}
        inside = {f for d in dims if isinstance(d, CompoundFactor) for f in d}
        for factor in sorted(inside - alone):
            if factor not in self.factor_sizes:
                raise ValueError(f"Factor {factor} is only used in compound factors; must specify its size")
        for factor in self.factor_sizes:
            if factor not in inside | alone:
                raise ValueError(f"Factor {factor} is not used in the rule, but a size is given for it")
            if factor in alone:
                raise ValueError(f"Factor {factor} represents a whole dimension; do not specify its size")
        seen: set[str] = set()
        for kind in _KINDS:
            for factor in getattr(self, kind):
                if factor not in inside | alone:
                    raise ValueError(f"Factor {factor} in {kind} is not used in the rule")
                if factor in seen:
                    raise ValueError(
                        f"Factor {factor} can only be in one of the reduction, need replication, or permutation factor sets"
                    )
                seen.add(factor)

    def _key(self) -> tuple[Any, ...]:
        return (
            self.operand_mappings,
            self.result_mappings,
            *[getattr(self, k) for k in _KINDS],
            tuple(sorted(self.factor_sizes.items())),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SdyShardingRule) and self._key() == other._key()

    def __hash__(self) -> int:
        return hash(self._key())

    def __repr__(self) -> str:
        kinds = "".join(f" {kind}={getattr(self, kind)}" for kind in _KINDS if getattr(self, kind))
        return f"SdyShardingRule({self.operand_mappings}, {self.result_mappings}, {self.factor_sizes}{kinds})"

    def text(self, operands: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]) -> str:
        """The attribute's parameters for shapes. ValueError for shapes that the rule does not fit."""
        return _Writer(self).text(operands, results)


def parse(rule: str, **kinds: Any) -> SdyShardingRule:
    """The rule of a text. ValueError for one that is not well formed.

    >>> parse("i j -> j i")
    SdyShardingRule((('i', 'j'),), (('j', 'i'),), {})
    """
    if not isinstance(rule, str):
        raise TypeError(f"rule must be a str, but got {type(rule)}")
    sides = rule.split("->")
    if len(sides) != 2:
        raise ValueError(f"There is no -> in rule: '{rule}'")
    operands, results = [tuple(_mapping(part) for part in side.split(",")) for side in sides]
    return SdyShardingRule(operands, results, **kinds)


def _mapping(text: str) -> ArrayMapping:
    """The mapping of one array."""
    dims: list[Any] = []
    group: list[str] | None = None
    for token in re.findall(r"\.\.\.\w*|[()]|[^\s()]+", text.replace(BATCHING, "...")):
        if token == "(" and group is None:
            group = []
        elif token == ")" and group is not None:
            dims.append(group[0] if len(group) == 1 else CompoundFactor(*group))
            group = None
        elif token in "()":
            raise ValueError(f"Brackets are not balanced in rule: '{text.strip()}'")
        elif token.startswith("..."):
            if group is not None or dims:
                raise ValueError("Ellipsis can only be used at the beginning of a dimension")
            dims.append(BATCHING + (token[3:] or "0"))
        else:
            _check_name(token)
            (dims if group is None else group).append(token)
    if group is not None:
        raise ValueError(f"Brackets are not balanced in rule: '{text.strip()}'")
    return ArrayMapping(*dims)


class _Writer:
    """Writes a rule for shapes: every factor gets a symbol and a size."""

    def __init__(self, rule: SdyShardingRule):
        self.rule, self.sizes = rule, dict(rule.factor_sizes)
        self.symbols: dict[str, str] = {}
        self.leading: dict[str, int] = {}  # how many dimensions an ellipsis stands for

    def text(self, operands: Sequence[tuple[int, ...]], results: Sequence[tuple[int, ...]]) -> str:
        given = (*self.rule.operand_mappings, *self.rule.result_mappings)
        shapes = (*operands, *results)
        if len(operands) != len(self.rule.operand_mappings) or len(results) != len(self.rule.result_mappings):
            raise ValueError(
                f"Sharding rule has {len(self.rule.operand_mappings)} operands and "
                f"{len(self.rule.result_mappings)} results, but the operation has {len(operands)} operands and "
                f"{len(results)} results"
            )
        dims = [self._dimensions(k, m, s) for k, (m, s) in enumerate(zip(given, shapes, strict=True))]
        for each, shape in zip(dims, shapes, strict=True):
            self._sizes(each, shape)
        text = [f"[{', '.join(''.join(map(self._symbol, factors)) for factors in each)}]" for each in dims]
        count = len(operands)
        sizes = ", ".join(f"{s}={self.sizes[f]}" for f, s in self.symbols.items())
        kinds = "".join(
            f" {name}={{{', '.join(self.symbols[f] for f in factors)}}}"
            for name, factors in (
                ("reduction", self.rule.reduction_factors),
                ("need_replication", self.rule.need_replication_factors),
                ("permutation", self.rule.permutation_factors),
            )
            if factors
        )
        return f"<({', '.join(text[:count])})->({', '.join(text[count:])}) {{{sizes}}}{kinds}, custom>"

    def _dimensions(self, k: int, mapping: ArrayMapping, shape: tuple[int, ...]) -> list[tuple[str, ...]]:
        """The factors of each dimension of an array."""
        found: list[tuple[str, ...]] = []
        for dim in mapping:
            if isinstance(dim, str) and dim.startswith(BATCHING):
                rank = len(shape) - len(mapping) + 1
                if self.leading.setdefault(dim, rank) != rank or rank < 0:
                    raise ValueError(
                        f"Ellipsis represents different number of leading dimensions {self.leading[dim]} and {rank}"
                    )
                found += [(f"{dim}_{n}",) for n in range(rank)]
            else:
                found.append(tuple(dim) if isinstance(dim, CompoundFactor) else (dim,))
        if len(found) != len(shape):
            what = (
                f"{k}th operand" if k < len(self.rule.operand_mappings) else (f"{k - len(self.rule.operand_mappings)}th result")
            )
            raise ValueError(f"Sharding rule {what} has rank {len(found)}, but the operation has rank {len(shape)}")
        return found

    def _sizes(self, dims: Sequence[tuple[str, ...]], shape: tuple[int, ...]) -> None:
        for factors, size in zip(dims, shape, strict=True):
            if len(factors) == 1 and self.sizes.setdefault(factors[0], size) != size:
                raise ValueError(f"Sharding rule factor {factors[0]} has sizes {self.sizes[factors[0]]} and {size}")
        for factors, size in zip(dims, shape, strict=True):
            if len(factors) > 1 and prod(self.sizes.get(f, 1) for f in factors) != size:
                raise ValueError(
                    f"Sharding rule factor {factors} has size {prod(self.sizes.get(f, 1) for f in factors)}, but the "
                    f"dimension has size {size}"
                )

    def _symbol(self, factor: str) -> str:
        """The symbol of a factor: i, j, ..., z, z_1, z_2, ..."""
        if factor not in self.symbols:
            number = len(self.symbols)
            self.symbols[factor] = chr(ord("i") + number) if number < 18 else f"z_{number - 17}"
        return self.symbols[factor]
