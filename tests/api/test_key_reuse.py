"""The check of key reuse: programs, loops and branches, arrays outside of programs, signatures."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax, random
from numjet.api.key_reuse import (
    Forward,
    KeyReuseSignature,
    Sink,
    Source,
    assert_consumed,
    assert_unconsumed,
    check_key_reuse,
    function_type_signature,
)
from numjet.errors import KeyReuseError

KEY = random.key(0)


def loop(body, n=3):
    return lambda k: lax.scan(body, k, jnp.arange(n))


def turned(k):
    return lax.while_loop(lambda c: c[1] < 3, lambda c: (random.split(c[0])[0], c[1] + random.uniform(c[0])), (k, 0.0))


GOOD = [
    lambda k: random.uniform(random.split(k)[0]),
    lambda k: [random.bits(x) for x in random.split(k, 3)],
    lambda k: [random.bits(random.fold_in(k, i)) for i in range(3)],
    lambda k: (random.bits(k), random.bits(random.clone(k))),
    lambda k: (random.key_data(k), k == k, random.normal(k)),
    lambda k: lax.cond(True, random.uniform, random.normal, k),
    loop(lambda k, _: tuple(random.split(k))),
    lambda k: lax.map(random.bits, random.split(k, 3)),
    lambda k: nj.jit(lambda a, b: random.bits(a))(k, k),
    lambda k: nj.vmap(random.bits)(random.split(k, 3)),
    lambda k: nj.grad(nj.checkpoint(lambda x: x * random.uniform(k)))(1.0),
    lambda k: random.multivariate_normal(k, jnp.zeros(2), jnp.eye(2)),
    lambda k: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, random.split(c[1])[1]), (0, k)),
]
BAD = [
    (lambda k: (random.bits(k), random.bits(k)), "In random_bits, argument 0 is already consumed"),
    (lambda k: (random.uniform(k), random.normal(k)), "In jit, argument 0"),
    (lambda k: (random.split(k), random.split(k)), "In random_split"),
    (lambda k: (random.bits(k), random.bits(k[None][0])), "already consumed"),
    (lambda k: (lax.cond(True, random.uniform, lambda k: 1.0, k), random.normal(k)), "In jit"),
    (lambda k: (lambda ks: (nj.vmap(random.bits)(ks), random.bits(ks[1])))(random.split(k)), "already consumed"),
    (lambda k: nj.jit(lambda a, b: random.bits(a) + random.bits(b))(k, k), "In jit, argument 1"),
    (loop(lambda k, _: (k, random.bits(k))), "scan body function leads to key reuse"),
    (lambda k: lax.scan(lambda c, _: (c, random.bits(k)), 0, jnp.arange(3)), "scan body function leads to key reuse"),
    (lambda k: lax.scan(lambda c, _: ((c[1], c[0]), random.bits(c[0])), tuple(random.split(k)), jnp.arange(3)), "scan body"),
    (lambda k: lax.while_loop(lambda c: random.uniform(k) < c, lambda c: c + 1, 0.0), "while_loop cond"),
    (lambda k: lax.fori_loop(0, 3, lambda i, c: c + random.uniform(k), 0.0), "leads to key reuse"),
    (turned, "already consumed"),
    (lambda k: nj.value_and_grad(nj.checkpoint(lambda x: x * random.uniform(k) + random.uniform(k)))(1.0), "In jit"),
]


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_programs_that_use_keys_once(number):
    check_key_reuse(GOOD[number], KEY)
    with nj.debug_key_reuse(True):
        nj.jit(GOOD[number])(random.key(number))


@pytest.mark.parametrize("number", range(len(BAD)))
def test_programs_that_use_keys_twice(number):
    program, text = BAD[number]
    with pytest.raises(KeyReuseError, match=text):
        check_key_reuse(program, KEY)
    nj.jit(program)(KEY)  # nothing is checked by default
    with nj.debug_key_reuse(True), pytest.raises(KeyReuseError, match=text):
        nj.jit(program)(random.key(number))


def test_parts_of_arrays_of_keys():
    def program(keys):
        assert_unconsumed(keys)
        random.bits(keys[0])
        assert_consumed(keys, np.array([True, False]))
        random.bits(keys[1])
        assert_consumed(keys)
    check_key_reuse(program, random.split(KEY))
    with pytest.raises(AssertionError, match="expected the consumption"):
        check_key_reuse(assert_consumed, KEY)


@pytest.mark.parametrize("draw", [
    random.bits, random.split, random.uniform, lambda k: random.gamma(k, 1.0), lambda k: random.permutation(k, 5),
    lambda k: random.choice(k, 5, (2,)), lambda k: random.categorical(k, jnp.ones(3)), lambda k: random.t(k, 2.0),
    lambda k: random.dirichlet(k, jnp.ones(3)), lambda k: random.ball(k, 3), lambda k: random.orthogonal(k, 3),
    lambda k: random.multinomial(k, 3.0, jnp.ones(3) / 3), lambda k: random.poisson(k, 3.0), lambda k: random.rademacher(k),
    lambda k: random.choice(k, 5, (2,), replace=False), lambda k: random.truncated_normal(k, -1.0, 1.0),
    lambda k: random.randint(k, (), 0, 9), nj.jit(random.bits), nj.jit(lambda k: random.bits(k[None][0]))])
def test_keys_outside_of_programs_are_used_once(draw):
    with nj.debug_key_reuse(True):
        key = random.key(0)
        again = random.clone(key)
        draw(key)
        with pytest.raises(KeyReuseError, match="Previously-consumed key passed to jit-compiled function at index 0"):
            draw(key)
        draw(again)
        check_key_reuse(draw, again)
    draw(key)


def test_keys_that_programs_close_over_and_return():
    with nj.debug_key_reuse(True):
        key = random.key(0)
        draw = nj.jit(lambda: random.uniform(key))
        draw()
        with pytest.raises(KeyReuseError, match="Previously-consumed"):
            draw()
        _, used = nj.jit(lambda k: (random.bits(k), k))(random.key(1))
        with pytest.raises(KeyReuseError, match="Previously-consumed"):
            random.bits(used)
        with nj.disable_jit(), pytest.raises(KeyReuseError, match="passed to random_bits at index 0"):
            random.bits(key)


def test_signatures():
    assert function_type_signature(random.bits, KEY) == KeyReuseSignature(Sink(0))
    assert function_type_signature(random.split, KEY) == KeyReuseSignature(Sink(0), Source(0))
    assert function_type_signature(lambda k: k[None], KEY) == KeyReuseSignature(Forward(0, 0))
    assert repr(KeyReuseSignature(Sink(1), Source(0))) == "KeyReuseSignature(Sink(1), Source(0))"
    assert Sink(0) == Sink(0, np.array([True, True])) != Sink(0, np.array([True, False]))
    assert hash(Sink(0)) == hash(Sink(0, True))
    with pytest.raises(ValueError, match="immutable"):
        Sink(0).idx = 1


@pytest.mark.parametrize("number", range(len(GOOD)))
def test_keys_used_once_operation_by_operation(number):
    with nj.debug_key_reuse(True):
        nj.block_until_ready(GOOD[number](random.key(number)))


@pytest.mark.parametrize("number", range(len(BAD)))
def test_keys_used_twice_operation_by_operation(number):
    with nj.debug_key_reuse(True), pytest.raises(KeyReuseError):
        BAD[number][0](random.key(number))


@pytest.mark.parametrize("wrap", [nj.vmap, lambda f: nj.vmap(nj.jit(f)), lambda f: lambda ks: lax.map(f, ks),
                                  lambda f: nj.vmap(lambda k: nj.grad(lambda x, k: x * f(k))(1.0, k))])
def test_batches_of_keys_outside_of_jit(wrap):
    once = lambda k: random.normal(k)
    twice = lambda k: random.normal(k) + random.uniform(k)
    with nj.debug_key_reuse(True):
        wrap(once)(random.split(random.key(0), 3))
        with pytest.raises(KeyReuseError):
            wrap(twice)(random.split(random.key(1), 3))
        with pytest.raises(KeyReuseError):
            keys = random.split(random.key(2), 3)
            wrap(once)(keys), wrap(once)(keys)


@pytest.mark.parametrize("again", [
    lambda keys: keys[0], lambda keys: nj.vmap(random.normal)(keys), lambda keys: lax.index_in_dim(keys, 0),
    lambda keys: keys[:2]])
def test_arrays_outside_of_programs_remember_which_of_their_keys_were_used(again):
    with nj.debug_key_reuse(True):
        keys = random.split(random.key(0), 3)
        random.normal(keys[0])
        random.normal(keys[1])
        with pytest.raises(KeyReuseError, match="Previously-consumed key passed to"):
            again(keys)
        random.normal(keys[2])
