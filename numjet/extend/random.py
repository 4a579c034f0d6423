"""Implementations of random keys: numjet's, and users' own."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet import numpy as jnp, random
from numjet.api.vmap import vmap
from numjet.foundation.dtypes import new_key_dtype
from numjet.lax.rng.threefry import threefry2x32_p as threefry2x32_p, threefry_2x32 as _hash
from numjet.random import generators
from numjet.random.block_generators import RBG, UNSAFE_RBG
from numjet.random.generators import Generator
from numjet.random.keys import THREEFRY

__all__ = [
    "define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p", "threefry_2x32",
    "threefry_prng_impl", "unsafe_rbg_prng_impl",
]


threefry_prng_impl, rbg_prng_impl, unsafe_rbg_prng_impl = THREEFRY, RBG, UNSAFE_RBG


def define_prng_impl(*, key_shape: tuple[int, ...], seed: Callable[[Any], Any], split: Callable[[Any, tuple[int, ...]], Any],
                     random_bits: Callable[[Any, int, tuple[int, ...]], Any], fold_in: Callable[[Any, Any], Any],
                     name: str = "<unnamed>", tag: str = "?") -> Generator:
    """A new implementation of random keys, to be given as `impl` to `numjet.random.key` and `wrap_key_data`.

    key_shape: the shape of a key's words, 2 or 4 of uint32 (else NotImplementedError). The functions are of one key's words,
    and are traced: seed(integer) -> uint32[*key_shape]; split(words, shape) -> uint32[*shape, *key_shape];
    random_bits(words, width, shape) -> unsigned integers of width bits; fold_in(words, uint32 scalar) -> uint32[*key_shape].
    tag: what the keys' dtype prints between its angle brackets.

    >>> same = define_prng_impl(
    ...     key_shape=(2,), seed=lambda s: jnp.stack([s, s]).astype("uint32"), fold_in=lambda words, n: words + n,
    ...     split=lambda words, shape: jnp.broadcast_to(words, (*shape, 2)),
    ...     random_bits=lambda words, width, shape: jnp.broadcast_to(words[1].astype(f"uint{width}"), shape))
    >>> random.bits(random.key(7, impl=same), (2,)).tolist()
    [7, 7]
    """
    made = Generator(name, tag, tuple(key_shape), new_key_dtype(tag, tuple(key_shape)), seed, split, random_bits, fold_in)
    return generators.register(made, named=False)


def random_seed(seeds: Any, impl: Generator) -> Any:
    """Keys of an implementation from integers, one for each.

    >>> random_seed(3, threefry_prng_impl).shape
    ()
    """
    make = lambda seed: random.key(seed, impl=impl)
    for _ in range(np.ndim(seeds)):
        make = vmap(make)
    return make(seeds)


def seed_with_impl(impl: Generator, seed: Any) -> Any:
    """As random_seed, with the arguments in another order."""
    return random_seed(seed, impl)


def threefry_2x32(keypair: Any, count: Any) -> Any:
    """uint32 random words from a key of two uint32 words, one for each of the words `count`, whose two halves are hashed in
    pairs.

    >>> threefry_2x32(jnp.zeros(2, jnp.uint32), jnp.arange(2, dtype=jnp.uint32)).dtype
    dtype('uint32')
    """
    words = jnp.ravel(count)
    if words.dtype != np.uint32 or jnp.asarray(keypair[0]).dtype != np.uint32:
        raise TypeError(f"threefry_2x32 takes uint32 words, got {jnp.asarray(keypair[0]).dtype} and {words.dtype}")
    odd = words.size % 2
    padded = jnp.concatenate([words, jnp.zeros(odd, np.uint32)])
    half = padded.size // 2
    hashed = jnp.concatenate(_hash((keypair[0], keypair[1]), (padded[:half], padded[half:])))
    return jnp.reshape(hashed[:words.size], jnp.shape(count))
