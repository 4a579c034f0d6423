"""Library functions of large arrays: called again with the same types, each runs as one program, with the same bits."""
from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.runtime.eager_compile import LARGE

RNG = np.random.default_rng(0)
F = RNG.normal(size=LARGE + 5).astype(np.float32) * 5
SPECIAL = np.resize(np.array([0.0, -0.0, 1.5, -7.5, np.inf, -np.inf, np.nan, 1e-40], np.float32), F.size)
G = np.where(np.arange(F.size) % 7 == 0, np.roll(SPECIAL, 3), RNG.normal(size=F.size).astype(np.float32))
I = RNG.integers(-50, 50, F.size).astype(np.int32)
J = RNG.integers(1, 9, F.size).astype(np.int32)

ONE_PROGRAM: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "floor_divide": (jnp.floor_divide, (F, G)), "remainder": (jnp.remainder, (F, G)), "divmod": (jnp.divmod, (F, G)),
    "floor_divide of ints": (jnp.floor_divide, (I, J)), "remainder by a number": (jnp.remainder, (F, 2.5)),
    "nan_to_num": (jnp.nan_to_num, (G,)), "frexp": (jnp.frexp, (G,)), "modf": (jnp.modf, (G,)),
    "copysign": (jnp.copysign, (F, G)), "heaviside": (jnp.heaviside, (G, F)), "any": (jnp.any, (I,)),
    "nanmax": (jnp.nanmax, (G,)), "count_nonzero": (jnp.count_nonzero, (I,)), "operator": (lambda x, y: x % y, (F, G))}
ONE_BY_ONE: dict[str, tuple[Callable[..., Any], tuple[Any, ...]]] = {
    "one operation": (jnp.add, (F, G)), "a sum of floats": (jnp.nansum, (G,)), "a power": (lambda x: x ** 2.5, (F,)),
    "a product": (jnp.outer, (F[:300], G[:300]))}


def _calls(function: Callable[..., Any], arguments: tuple[Any, ...], count: int) -> tuple[list[list[bytes]], list[int]]:
    """The bits of the results of calls, and how many programs each call ran."""
    given = [jnp.asarray(a) if isinstance(a, np.ndarray) else a for a in arguments]
    bits, programs = [], []
    for _ in range(count):
        before = _native.counters()["executions"]
        out = nj.block_until_ready(function(*given))
        programs.append(_native.counters()["executions"] - before)
        bits.append([np.asarray(x).tobytes() for x in nj.tree.leaves(out)])
    return bits, programs


@pytest.mark.parametrize("name", ONE_PROGRAM)
def test_one_program_with_the_same_bits(name):
    bits, programs = _calls(*ONE_PROGRAM[name], 4)
    assert bits[0] == bits[1] == bits[2] == bits[3]
    assert programs[2] == programs[3] == 1


@pytest.mark.parametrize("name", ONE_BY_ONE)
def test_what_might_round_otherwise_runs_as_before(name):
    bits, programs = _calls(*ONE_BY_ONE[name], 4)
    assert bits[0] == bits[1] == bits[2] == bits[3] and programs[0] == programs[2] == programs[3]


def test_other_values_and_numbers_run_the_same_program():
    x, y = jnp.asarray(F), jnp.asarray(G)
    for _ in range(3):
        jnp.remainder(x, 2.5)
    for divisor in (-1.5, 0.0, np.inf):
        parts = [jnp.remainder(x[k:k + 9000], divisor) for k in range(0, x.size, 9000)]
        np.testing.assert_array_equal(jnp.remainder(x, divisor), np.concatenate(parts))
    for _ in range(3):
        jnp.floor_divide(x, x)
    parts = [jnp.floor_divide(y[k:k + 9000], x[k:k + 9000]) for k in range(0, x.size, 9000)]
    np.testing.assert_array_equal(jnp.floor_divide(y, x), np.concatenate(parts))


def test_numbers_beyond_int32_raise_as_before():
    x = jnp.asarray(F)
    for _ in range(4):
        jnp.remainder(x, 7)
    with pytest.raises(OverflowError, match="Python integer 1099511627776 out of bounds for int32"):
        jnp.remainder(x, 2 ** 40)
    u = jnp.asarray(J.astype(np.uint32))
    for _ in range(4):
        found = jnp.remainder(u + np.uint32(3_000_000_000), 3_000_000_000)
    np.testing.assert_array_equal(found, J.astype(np.uint32))


def test_transformations_see_the_function():
    x = jnp.asarray(np.abs(F) + 1)
    for _ in range(3):
        jnp.remainder(x, 2.5)
    np.testing.assert_array_equal(nj.grad(lambda x: jnp.remainder(x, 2.5).sum())(x), np.ones_like(F))
    assert nj.make_jaxpr(lambda x: jnp.remainder(x, 2.5))(x).eqns[0].primitive.name == "rem"


def test_errors_are_those_of_the_function():
    x = jnp.asarray(F)
    for _ in range(3):
        jnp.remainder(x, x)
    with pytest.raises(TypeError, match="complex64"):
        jnp.remainder(x, x * 1j)
    with pytest.raises(TypeError, match=r"shapes|broadcast"):
        jnp.remainder(x, x[1:])
