"""Fixpoints over the carries of loops: how many rounds they take, and that long chains of carries come out right."""
from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.control.loops.carries import EXACT_ROUNDS, backwards, fixpoint, forwards

CHAIN = 3 * EXACT_ROUNDS


@pytest.mark.parametrize("start", [0, 5, CHAIN - 1])
def test_long_chains_take_few_rounds(start):
    """Each flag follows from the one before."""
    rounds: list[int] = []

    def step(flags: Sequence[bool]) -> tuple[int, list[bool]]:
        rounds.append(sum(flags))
        return sum(flags), [flags[0], *flags[:-1]]
    flags, expected = (tuple(compare(k) for k in range(CHAIN)) for compare in (lambda k: k == start, lambda k: k >= start))
    assert fixpoint(step, flags) == (CHAIN - start, expected)
    assert len(rounds) == CHAIN - start
    rounds.clear()
    assert fixpoint(step, flags, lambda: [1 << k + 1 for k in range(CHAIN - 1)] + [0]) == (CHAIN - start, expected)
    assert len(rounds) <= EXACT_ROUNDS + 1


def test_short_chains_are_exact():
    """What may follow is not looked at before it pays."""
    step = lambda flags: (None, [True, flags[0], False])
    assert fixpoint(step, (False,) * 3, lambda: pytest.fail("not asked for"))[1] == (True, True, False)


def rotating(count: int):
    """Each carry becomes a product with the one before; the first stays. The last is an integer."""
    def body(carry, _):
        *xs, n = carry
        return ([xs[0], *(jnp.sin(a) * b for a, b in itertools.pairwise(xs)), n + 1], xs[-1])
    return body


def test_what_carries_depend_on():
    def body(*carry):
        return rotating(3)(list(carry), None)[0]
    closed = nj.make_jaxpr(body)(1.0, 2.0, 3.0, 4)
    assert backwards(closed, 0, 4)() == [0b0001, 0b0011, 0b0110, 0b1000]
    assert forwards(closed, 0, 4)() == [0b0011, 0b0110, 0b0100, 0b1000]
    assert forwards(closed, 0, 4, differentiated=True)() == [0b0011, 0b0110, 0b0100, 0]


def loss(first, rest, length=CHAIN + 3):
    carry, ys = lax.scan(rotating(CHAIN), [first, *rest, 0], None, length=length)
    return carry[-2] + ys.sum()


def unrolled(first, rest, length=CHAIN + 3):
    xs, total = [first, *rest], 0.0
    for _ in range(length):
        total = total + xs[-1]
        xs = [xs[0], *(jnp.sin(a) * b for a, b in itertools.pairwise(xs))]
    return xs[-1] + total


def arguments():
    return jnp.float32(0.9), [jnp.float32(1.0 + 0.1 * k) for k in range(CHAIN - 1)]


def test_derivatives_of_long_chains():
    first, rest = arguments()
    for argnums in (0, 1):
        got, want = (nj.grad(f, argnums)(first, rest) for f in (loss, unrolled))
        np.testing.assert_allclose(np.stack(nj.tree.leaves(got)), np.stack(nj.tree.leaves(want)), rtol=1e-4, atol=1e-6)
    tangents = jnp.float32(1.0), [jnp.float32(0.0)] * (CHAIN - 1)
    got, want = (nj.jvp(f, (first, rest), tangents) for f in (loss, unrolled))
    np.testing.assert_allclose(got, want, rtol=1e-4)


def test_batches_of_long_chains():
    _, rest = arguments()
    firsts = jnp.linspace(0.1, 0.9, 5)
    got = nj.vmap(lambda x: loss(x, rest))(firsts)
    np.testing.assert_allclose(got, [unrolled(x, rest) for x in firsts], rtol=1e-5)
    slopes = nj.vmap(nj.grad(lambda x: loss(x, rest)))(firsts)
    np.testing.assert_allclose(slopes, [nj.grad(unrolled)(x, rest) for x in firsts], rtol=1e-4)


def test_while_loops_with_long_chains():
    first, rest = arguments()

    def loop(first):
        carry = lax.while_loop(lambda c: c[-1] < CHAIN + 3, lambda c: rotating(CHAIN)(c, None)[0], [first, *rest, 0])
        return carry[-2]

    def long_way(first):
        carry = [first, *rest, 0]
        for _ in range(CHAIN + 3):
            carry = rotating(CHAIN)(carry, None)[0]
        return carry[-2]
    got, want = (nj.jvp(f, (first,), (jnp.float32(1.0),)) for f in (loop, long_way))
    np.testing.assert_allclose(got, want, rtol=1e-4)
    firsts = jnp.linspace(0.1, 0.9, 4)
    np.testing.assert_allclose(nj.vmap(loop)(firsts), [long_way(x) for x in firsts], rtol=1e-5)
