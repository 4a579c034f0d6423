"""Implementations of random keys. There is one, threefry2x32; the others are refused when keys are made of them."""
from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from numjet import numpy as jnp, random
from numjet.api.vmap import vmap
from numjet.foundation.record import Record
from numjet.lax.rng.threefry import threefry2x32_p as threefry2x32_p, threefry_2x32 as _hash

__all__ = [
    "define_prng_impl", "random_seed", "rbg_prng_impl", "seed_with_impl", "threefry2x32_p", "threefry_2x32",
    "threefry_prng_impl", "unsafe_rbg_prng_impl",
]


class PRNGImpl(Record):
    """An implementation of random keys, by its name; key_shape: that of the key's words."""
    name: str
    tag: str
    key_shape: tuple[int, ...]

    def __repr__(self) -> str:
        return f"PRNGImpl({self.name})"


threefry_prng_impl = PRNGImpl("threefry2x32", "fry", (2,))
rbg_prng_impl = PRNGImpl("rbg", "rbg", (4,))
unsafe_rbg_prng_impl = PRNGImpl("unsafe_rbg", "urbg", (4,))


def define_prng_impl(*, key_shape: tuple[int, ...], seed: Any, split: Any, random_bits: Any, fold_in: Any,
                     name: str = "<unnamed>", tag: str = "?") -> NoReturn:
    """Refused: keys have threefry's 64 bits."""
    raise NotImplementedError(f"define_prng_impl(name={name!r}): keys are of numjet's implementations; call your generator on "
                              "arrays of words instead")


def random_seed(seeds: Any, impl: PRNGImpl) -> Any:
    """Keys of an implementation from integers, one for each.

    >>> random_seed(3, threefry_prng_impl).shape
    ()
    """
    make = lambda seed: random.key(seed, impl=impl.name)
    for _ in range(np.ndim(seeds)):
        make = vmap(make)
    return make(seeds)


def seed_with_impl(impl: PRNGImpl, seed: Any) -> Any:
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
