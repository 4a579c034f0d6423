"""Random numbers from a generator with a state: its key changes with each draw, as in `numpy.random.default_rng`."""
from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

import numjet.random as random
from numjet.api.refs import new_ref
from numjet.core.trace import EVAL, aval_of, current_trace
from numjet.foundation import tree
from numjet.lax import broadcast_shapes
from numjet.numpy.core.creation import zeros


class StatefulPRNG:
    """A generator of random numbers with a state. Made by `stateful_rng`.

    Draw number n is that of the key `fold_in(key, n)`. Methods work under jit, vmap and in loops, as the counter is a mutable
    reference; so a generator can be an argument of a jitted function, but no result, and no carry of a loop.
    """

    def __init__(self, _base_key: Any, _counter: Any):
        self._base_key, self._counter = _base_key, _counter

    def __repr__(self) -> str:
        return f"StatefulPRNG(_base_key={self._base_key!r}, _counter={self._counter!r})"

    def key(self, shape: int | Sequence[int] = ()) -> Any:
        """A key, or an array of keys of that shape, for functions of numjet.random; the state goes on.

        >>> from numjet.experimental.random import stateful_rng
        >>> stateful_rng(0).key(3).shape
        (3,)
        """
        if self._base_key.shape:
            raise ValueError(f"this generator was split into the shape {self._base_key.shape}: map over it with vmap")
        key = random.fold_in(self._base_key, self._counter[...])
        self._counter[...] += 1
        shape = _shape_of(shape)
        return random.split(key, shape) if shape else key

    def random(self, size: int | Sequence[int] | None = None, dtype: Any = float) -> Any:
        """Uniform numbers between 0 and 1."""
        return self.uniform(size=size, dtype=dtype)

    def uniform(self, low: Any = 0, high: Any = 1, size: int | Sequence[int] | None = None, *, dtype: Any = float) -> Any:
        """Uniform numbers between low and high, of the shape `size`, default that of low and high broadcast."""
        return random.uniform(self.key(), _size(size, low, high), dtype=dtype, minval=low, maxval=high)

    def normal(self, loc: Any = 0, scale: Any = 1, size: int | Sequence[int] | None = None, *, dtype: Any = float) -> Any:
        """Normal numbers of that mean and standard deviation, of the shape `size`, default theirs broadcast."""
        return loc + scale * random.normal(self.key(), _size(size, loc, scale), dtype=dtype)

    def integers(self, low: Any, high: Any = None, size: int | Sequence[int] | None = None, *, dtype: Any = int) -> Any:
        """Uniform integers from low (default 0, where only one bound is given) up to, not including, high."""
        low, high = (0, low) if high is None else (low, high)
        return random.randint(self.key(), _size(size, low, high), low, high, dtype=dtype)

    def split(self, num: int | Sequence[int]) -> StatefulPRNG:
        """Generators of the shape `num` in one object, to be mapped over by vmap; the state goes on.

        >>> from numjet import vmap
        >>> from numjet.experimental.random import stateful_rng
        >>> vmap(lambda rng: rng.uniform())(stateful_rng(0).split(3)).shape
        (3,)
        """
        shape = _shape_of(num)
        return StatefulPRNG(self.key(shape), new_ref(zeros(shape, "int32")))

    def spawn(self, n_children: int) -> list[StatefulPRNG]:
        """Independent generators in a list; the state goes on."""
        keys = self.key(operator.index(n_children))
        return [StatefulPRNG(keys[i], new_ref(0)) for i in range(n_children)]


tree.register_pytree_node(StatefulPRNG, lambda g: ((g._base_key, g._counter), ()), lambda _, parts: StatefulPRNG(*parts))


def stateful_rng(seed: Any = None, *, impl: str | None = None) -> StatefulPRNG:
    """A generator of random numbers with a state, as `numpy.random.default_rng` makes one.

    Args:
      seed: integer, may be traced; outside of transformed functions it may be left out, and NumPy chooses one.
      impl: the kind of key, such as "threefry2x32" (default) or "rbg".

    Raises TypeError where the seed is no integer, or is left out inside of a transformed function.

    >>> from numjet.experimental.random import stateful_rng
    >>> rng = stateful_rng(42)
    >>> float(rng.uniform()) != float(rng.uniform())
    True
    """
    if seed is None:
        if current_trace() is not EVAL:
            raise TypeError("When used within transformed code, stateful_rng() requires an explicit seed to be set.")
        seed = int(np.random.default_rng().integers(0, 1 << 31))
    return StatefulPRNG(random.key(seed, impl=impl), new_ref(0))


def _shape_of(shape: int | Sequence[int]) -> tuple[int, ...]:
    return tuple(map(operator.index, shape)) if isinstance(shape, Sequence) else (operator.index(shape),)


def _size(size: int | Sequence[int] | None, *parameters: Any) -> tuple[int, ...]:
    return broadcast_shapes(*[aval_of(p).shape for p in parameters]) if size is None else _shape_of(size)
