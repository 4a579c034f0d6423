"""rng_bit_generator bit by bit, and rng_uniform."""
import numpy as np
import pytest

import numjet as nj
from numjet import lax

KEY = np.array([1, 2, 3, 4], np.uint32)
PHILOX, THREEFRY = lax.RandomAlgorithm.RNG_PHILOX, lax.RandomAlgorithm.RNG_THREE_FRY
WORDS = [0x1e8fe864, 0x4d5e0bd7, 0x4b87c9be, 0x2d689201, 0x5273487b, 0x61c05696, 0xa4486574, 0x806fd7ef]
FRY = [0x5df433ec, 0x8617198e, 0x2c24a8a8, 0x9094fa5e, 0x91386643, 0x59491919]


def philox(counter, key):
    """Philox4x32-10 as the paper writes it, on Python integers."""
    mask, c, k = 0xFFFFFFFF, list(counter), list(key)
    for _ in range(10):
        p, q = 0xD2511F53 * c[0], 0xCD9E8D57 * c[2]
        c = [(q >> 32) ^ c[1] ^ k[0], q & mask, (p >> 32) ^ c[3] ^ k[1], p & mask]
        k = [(k[0] + 0x9E3779B9) & mask, (k[1] + 0xBB67AE85) & mask]
    return c


def test_the_papers_known_answers():
    assert philox([0] * 4, [0] * 2) == [0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8]
    _, bits = lax.rng_bit_generator(np.zeros(4, np.uint32), (4,), algorithm=PHILOX)
    assert bits.tolist() == philox([0] * 4, [0] * 2)
    _, bits = lax.rng_bit_generator(np.zeros(4, np.uint32), (2,), algorithm=THREEFRY)
    assert bits.tolist() == [0x6b200159, 0x99ba4efe]


@pytest.mark.parametrize("jit", [False, True])
@pytest.mark.parametrize("algorithm, shape, dtype, used, first", [
    (PHILOX, (8,), np.uint32, 2, WORDS), (PHILOX, (5,), np.uint32, 2, WORDS[:5]), (PHILOX, (), np.uint32, 1, WORDS[:1]),
    (PHILOX, (2, 3), np.uint32, 2, WORDS[:6]), (PHILOX, (6,), np.uint8, 2, [0x64, 0xd7, 0xbe, 0x1, 0x7b, 0x96]),
    (PHILOX, (3,), np.uint16, 1, [0xe864, 0xbd7, 0xc9be]), (PHILOX, (0,), np.uint32, 0, []),
    (THREEFRY, (4,), np.uint32, 2, FRY[:4]), (THREEFRY, (5,), np.uint32, 3, FRY[:5]), (THREEFRY, (), np.uint32, 1, FRY[:1]),
    (THREEFRY, (2, 3), np.uint32, 3, [*FRY[::2], *FRY[1::2]]), (THREEFRY, (1, 3), np.uint32, 2, FRY[:3]),
    (THREEFRY, (0,), np.uint32, 0, []), (THREEFRY, (6,), np.uint16, 3, [0x33ec, 0x198e, 0xa8a8, 0xfa5e, 0x6643, 0x1919]),
])
def test_bits_are_those_of_xla(algorithm, shape, dtype, used, first, jit):
    f = lambda k: lax.rng_bit_generator(k, shape, dtype, algorithm)
    key, bits = (nj.jit(f) if jit else f)(KEY)
    assert bits.shape == shape and bits.dtype == dtype
    assert np.ravel(bits).tolist() == first
    assert key.tolist() == [1, 2, 3 + used, 4]


def test_64_bits_take_two_words_and_the_counter_carries():
    with nj.enable_x64(True):
        _, bits = lax.rng_bit_generator(KEY, (2,), np.uint64)
        assert bits.tolist() == [WORDS[0] | WORDS[1] << 32, WORDS[2] | WORDS[3] << 32]
        _, bits = lax.rng_bit_generator(KEY, (2,), np.uint64, THREEFRY)
        assert bits.tolist() == [FRY[0] | FRY[1] << 32, FRY[2] | FRY[3] << 32]
        wide = np.array([1 | 2 << 32, 3 | 4 << 32], np.uint64)
        key, bits = lax.rng_bit_generator(wide, (4,))
        assert bits.tolist() == WORDS[:4] and key.dtype == np.uint64 and key.tolist() == [1 | 2 << 32, 4 | 4 << 32]
    end = np.array([1, 2, 0xFFFFFFFF, 0], np.uint32)
    for f in (lax.rng_bit_generator, nj.jit(lax.rng_bit_generator, static_argnums=1)):
        key, bits = f(end, (10,))
        assert key.tolist() == [1, 2, 2, 1]
        assert bits.tolist()[:4] == philox([0xFFFFFFFF, 0, 1, 2], [1, 2])
        assert bits.tolist()[4:8] == philox([0, 1, 1, 2], [1, 2])


@pytest.mark.parametrize("algorithm", [PHILOX, THREEFRY])
def test_every_key_of_a_batch_gives_its_own_bits(algorithm):
    keys = np.arange(12, dtype=np.uint32).reshape(3, 4)
    f = lambda k: lax.rng_bit_generator(k, (2, 2), algorithm=algorithm)
    for many in (nj.vmap(f), nj.jit(nj.vmap(f))):
        after, bits = many(keys)
        for k in range(3):
            one_after, one = f(keys[k])
            assert after[k].tolist() == one_after.tolist() and bits[k].tolist() == one.tolist()


@pytest.mark.parametrize("key, options, error, message", [
    (KEY.astype(np.int32), {}, TypeError, r"rng_bit_generator: expected a key of shape \(4,\) and dtype uint32"),
    (KEY[:2], {}, TypeError, "rng_bit_generator: expected a key"), (KEY[None], {}, TypeError, "expected a key"),
    (KEY, {"dtype": np.int32}, TypeError, "rng_bit_generator: unsupported dtype int32"),
    (KEY, {"algorithm": 7}, ValueError, "7 is not a valid RandomAlgorithm"),
])
def test_errors(key, options, error, message):
    with pytest.raises(error, match=message):
        lax.rng_bit_generator(key, (2,), **options)


def test_rng_uniform_draws_anew():
    draw = lambda: lax.rng_uniform(np.float32(-1), np.float32(3), (500,))
    compiled = nj.jit(lambda: (draw(), draw()))
    found = [draw(), draw(), *compiled(), *compiled()]
    for n, x in enumerate(found):
        assert x.dtype == np.float32 and -1 <= x.min() < -0.5 and 2.5 < x.max() < 3
        assert all((x != y).any() for y in found[:n])
    whole = lax.rng_uniform(np.int32(2), np.int32(5), (200,))
    assert set(whole.tolist()) == {2, 3, 4} and whole.dtype == np.int32


def test_rng_uniform_errors():
    with pytest.raises(ValueError, match="identical dtypes, got float32 and int32"):
        lax.rng_uniform(np.float32(0), np.int32(1), (3,))
    with pytest.raises(ValueError, match="must be scalars; got shapes"):
        lax.rng_uniform(np.zeros(3, np.float32), np.ones(3, np.float32), (3,))
    with pytest.raises(TypeError, match="rng_uniform: expected bounds that are integers or floats"):
        lax.rng_uniform(1j, 2j, (3,))
    with pytest.raises(NotImplementedError, match="bounds of rng_uniform are scalars"):
        nj.vmap(lambda a: lax.rng_uniform(a, np.float32(1), (3,)))(np.zeros(2, np.float32))
