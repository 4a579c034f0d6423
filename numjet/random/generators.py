"""Counter-based generators: what makes keys, splits them, and draws bits, by name and by dtype of keys.

A generator is four functions of one key's words, uint32 of its `key_shape`. Those of threefry are written out in `key_bits`, as
most programs use them; `key_bits` calls the others through this table.
"""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.foundation import dtypes
from numjet.foundation.config import config
from numjet.foundation.record import Record


class Generator(Record):
    """A generator of random bits.

    seed(integer) -> words; split(words, shape) -> words of a trailing key_shape; random_bits(words, width, shape) -> unsigned
    integers of 8, 16, 32 or 64 bits; fold_in(words, uint32) -> words.
    """
    name: str
    tag: str
    key_shape: tuple[int, ...]
    dtype: np.dtype
    seed: Callable[[Any], Any]
    split: Callable[[Any, tuple[int, ...]], Any]
    random_bits: Callable[[Any, int, tuple[int, ...]], Any]
    fold_in: Callable[[Any, Any], Any]

    def __repr__(self) -> str:
        return f"PRNGImpl({self.name})"

    def __hash__(self) -> int:
        return hash(self.dtype)


_BY_NAME: dict[str, Generator] = {}
_BY_DTYPE: dict[np.dtype, Generator] = {}
_ONLY_IN_JAX = ("philox2x32", "philox4x32", "threefry4x32")


def register(generator: Generator, *, named: bool = True) -> Generator:
    """The generator, known by the dtype of its keys, and with `named` by its name."""
    _BY_DTYPE[generator.dtype] = generator
    if named:
        _BY_NAME[generator.name] = generator
    return generator


def of_dtype(dtype: np.dtype) -> Generator:
    """The generator of keys of a dtype."""
    return _BY_DTYPE[dtype]


def default() -> Generator:
    """The generator of keys that name none: that of the option jax_default_prng_impl."""
    return _BY_NAME[config.default_prng_impl]


def is_named(generator: Generator) -> bool:
    """Whether a generator is known by its name."""
    return _BY_NAME.get(generator.name) is generator


def find(impl: Any) -> Generator:
    """The generator that a user means by a name, a dtype of keys, or a generator. ValueError for unknown names,
    NotImplementedError for those that only JAX has, TypeError for other objects.

    >>> find("threefry2x32").key_shape
    (2,)
    """
    if isinstance(impl, Generator):
        return impl
    if isinstance(impl, np.dtype) and impl in _BY_DTYPE:
        return _BY_DTYPE[impl]
    if not isinstance(impl, str):
        raise TypeError(f"unrecognized type {type(impl)} for specifying PRNG implementation: expected a name such as "
                        f"'threefry2x32', a dtype of keys or what define_prng_impl returned, got {impl!r}")
    if impl in _BY_NAME:
        return _BY_NAME[impl]
    known = f"expected one of {', '.join(map(repr, _BY_NAME))}"
    if impl in _ONLY_IN_JAX:
        raise NotImplementedError(f"random keys of impl {impl!r}: {known}; define_prng_impl makes others")
    raise ValueError(f"unrecognized PRNG implementation {impl!r}: {known}")


def requested(impl: Any, dtype: Any) -> Generator:
    """The generator named by arguments `impl` and `dtype`, of which at most one may be given; else the default one."""
    if impl is not None and dtype is not None:
        raise ValueError("Cannot specify both `impl` and `dtype`: expected at most one of them; leave one out")
    if dtype is dtypes.prng_key or (impl is None and dtype is None):
        return default()
    if dtype is not None and not isinstance(dtype, str) and not dtypes.is_key(dtype):
        raise TypeError(f"expected a dtype of random keys, got {dtype!r}; see random.key_dtype()")
    return find(impl if dtype is None else dtype)
