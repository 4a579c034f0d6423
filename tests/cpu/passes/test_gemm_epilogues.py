"""What follows a matrix product is done for each part of its result: which programs, what they store, the same values."""
from __future__ import annotations

import ml_dtypes
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native
from numjet.cpu import compiler
from numjet.cpu.ir import parser
from numjet.cpu.ir.nodes import Call, Function, GemmWithEpilogue, Store
from numjet.cpu.ir.printer import show
from numjet.cpu.ir.traversal import walk
from numjet.cpu.kernels.products import GEMM, THEN
from numjet.cpu.native_code import jit
from numjet.cpu.verification import races, verifier
from numjet.cpu.verification.interpreter import interpret

BF16 = np.dtype(ml_dtypes.bfloat16)


def numbers(*shape: int, dtype=np.float32, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).integers(-4, 5, shape).astype(dtype)


def planned(f, *args) -> Function:
    function = compiler.planned(nj.make_jaxpr(f)(*args), "f")
    return verifier.check(function)


def tiles(function: Function) -> list[GemmWithEpilogue]:
    return [s for s in walk(function.body) if isinstance(s, GemmWithEpilogue)]


def products(function: Function) -> int:
    return sum(isinstance(s, Call) and s.symbol == GEMM for s in walk(function.body))


def outside(f, *args) -> np.ndarray:
    with nj.disable_jit():
        return np.asarray(f(*map(jnp.asarray, args)))


X, W, B = numbers(400, 70), numbers(70, 200, seed=1), numbers(200, seed=2)
LONG = numbers(5000, 128, seed=4)
Q, K = numbers(3, 5, 64, 32), numbers(3, 5, 96, 32, seed=1)

IN_PLACE = {
    "bias and activation": (lambda x, w, b: nj.nn.relu(x @ w + b), (X, W, B)),
    "activation alone": (lambda x, w: jnp.maximum(x @ w, 0), (X, W)),
    "scale and residual": (lambda x, w, r: 2.0 * (x @ w) + 0.5 * r, (X, W, numbers(400, 200, seed=3))),
    "per row": (lambda x, w, s: (x @ w) * s[:, None], (X, W, numbers(400, seed=3))),
    "few rows": (lambda x, w, b: x @ w + b, (numbers(3, 70), numbers(70, 6000, seed=1), numbers(6000))),
    "rows of several axes": (lambda x, w, b: x @ w + b, (numbers(7, 9, 11, 70), W, B)),
    "a batch": (lambda q, k: jnp.einsum("bhqd,bhkd->bhqk", q, k) * 0.125, (Q, K)),
    "a batch and a mask": (lambda q, k: jnp.einsum("bhqd,bhkd->bhqk", q, k) + jnp.tri(64, 96)[None, None], (Q, K)),
    "float64": (lambda x, w, b: x @ w - b, (X.astype(np.float64), W.astype(np.float64), B.astype(np.float64))),
    "integers": (lambda x, w, b: x @ w + b, (X.astype(np.int32), W.astype(np.int32), B.astype(np.int32))),
}
PASSING = {
    "a sum of rows": (lambda x, w, b: (x @ w + b).sum(1), (X, W, B)),
    "another dtype": (lambda x, w, b: (x @ w + b).astype(jnp.bfloat16), (X, W, B)),
    "halves": (lambda x, w, b: nj.nn.relu(x @ w + b), (X.astype(BF16), W.astype(BF16), B.astype(BF16))),
    "int8": (lambda x, w: nj.lax.dot(x, w, preferred_element_type=jnp.int32).astype(jnp.float32) * 0.25,
             (X.astype(np.int8), W.astype(np.int8))),
    "long sums": (lambda x, y: 2.0 * (x.T @ y) + 1.0, (LONG, LONG[:, ::-1])),
    "long sums reduced": (lambda x, y: (x.T @ y + 1.0).sum(1), (LONG, LONG[:, ::-1])),
    "a batch reduced": (lambda q, k: jnp.einsum("bhqd,bhkd->bhqk", q, k).max(-1), (Q, K)),
    "a sum over steps": (lambda x, w: nj.lax.fori_loop(0, 3, lambda i, c: c + x @ w, jnp.zeros((400, 200))), (X, W)),
}


@pytest.mark.parametrize("name", IN_PLACE)
def test_joined_with_what_follows(name):
    f, args = IN_PLACE[name]
    function = planned(f, *args)
    (found, *_) = tiles(function)
    assert found.symbol == THEN and found.result.kind != "tile"
    np.testing.assert_allclose(nj.jit(f)(*args), outside(f, *args), rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("name", PASSING)
def test_a_result_that_is_only_read_once_is_never_stored(name):
    f, args = PASSING[name]
    function = planned(f, *args)
    (found,) = tiles(function)
    assert found.result.kind == "tile" and found.whole and products(function) == 0
    assert found.result not in function.temps
    np.testing.assert_array_equal(nj.jit(f)(*args), outside(f, *args))


def test_memory_analysis_has_no_place_for_it():
    args = numbers(2000, 64), numbers(64, 1000, seed=1)
    found = nj.jit(lambda x, w: jnp.tanh(x @ w).sum(1)).lower(*args).compile().memory_analysis()
    assert found.temp_size_in_bytes < 2000 * 1000  # a quarter of the product; panels of w are packed


@pytest.mark.parametrize("f", [
    lambda x, w: (x @ w).sum(0),                        # down the columns
    lambda x, w: (x @ w).T + 1,                         # other rows
    lambda x, w: jnp.cumsum(x @ w, axis=0),             # one row after the other
    lambda x, w: (x @ w)[::-1] * 2,
    lambda x, w: (x @ w).argmax(1),
    lambda x, w: jnp.abs((y := x @ w) + 1) @ y.T,
    lambda x, w: jnp.roll(x @ w, 1, axis=1)[:, :199] + (x @ w)[:, 1:],
], ids=["columns", "transposed", "prefix", "reversed", "argmax", "read again", "shifted"])
def test_what_reads_other_places_has_the_values(f):
    np.testing.assert_allclose(nj.jit(f)(X, W), outside(f, X, W), rtol=1e-5, atol=1e-4)


def test_what_overwrites_an_operand_comes_afterwards():
    def f(x, w):
        return x.at[:].set(jnp.sin(x @ w)), x.sum()
    x, w = numbers(200, 200), numbers(200, 200, seed=1)
    want = outside(lambda x, w: f(x, w)[0], x, w)
    np.testing.assert_allclose(nj.jit(f, donate_argnums=0)(jnp.array(x), w)[0], want, rtol=1e-6, atol=1e-6)


def test_zero_times_infinity_is_nan():
    x, w = np.zeros((200, 64), np.float32), np.ones((64, 200), np.float32)
    w[3, 5] = np.inf
    got = np.asarray(nj.jit(lambda x, w: jnp.exp(x @ w) + 1)(x, w))
    assert np.isnan(got[:, 5]).all() and (np.delete(got, 5, axis=1) == 2).all()


@pytest.mark.parametrize("name", [*IN_PLACE, *PASSING])
def test_the_number_of_threads_changes_nothing(name):
    f, args = {**IN_PLACE, **PASSING}[name]
    run = nj.jit(f)
    before = _native.num_threads()
    try:
        results = []
        for count in (1, 2):
            _native.set_num_threads(count)
            results.append(np.asarray(run(*args)))
    finally:
        _native.set_num_threads(before)
    np.testing.assert_array_equal(*results)


@pytest.mark.parametrize("level", range(6))
def test_all_instructions(level):
    import ctypes
    choose = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(_native.kernel_address("nj_gemm_level"))
    try:
        if choose(level) != level:
            pytest.skip("this CPU has less")
        for f, args in [*IN_PLACE.values(), *PASSING.values()]:
            np.testing.assert_allclose(np.asarray(nj.jit(f)(*args)).astype(np.float64), outside(f, *args).astype(np.float64),
                                       rtol=1e-5, atol=1e-4)
    finally:
        choose(5)


def test_shown_and_read_back_and_interpreted():
    f, args = PASSING["a sum of rows"]
    function = planned(f, *args)
    text = show(function)
    again = verifier.check(parser.parse(text))
    assert show(again) == text

    def product(code, batch, m, n, k, a, *rest):
        c = rest[-2]
        c[:m * n] = (a[:m * k].reshape(m, k) @ rest[3][:k * n].reshape(k, n)).ravel()
        return 0
    x, w, b = args
    result = interpret(again, [x.ravel(), w.ravel(), b.ravel()], {THEN: product})
    np.testing.assert_array_equal(result.outputs[0], (x @ w + b).sum(1))


def test_tiles_break_no_rules():
    f, args = IN_PLACE["bias and activation"]
    function = planned(f, *args)
    (found,) = tiles(function)
    found.bounds = found.bounds[:2]
    with pytest.raises(verifier.LoopIRError, match="four bounds and one loop"):
        verifier.check(function)


def test_rows_of_an_epilogue_have_temporaries_of_their_own(rng):
    """Threads compute parts of the product side by side: a row that all of them wrote to mixed up their numbers."""
    a, b, p = (rng.standard_normal(s).astype(np.float32) for s in ((1000, 64), (64, 64), (1000, 4)))

    def interpolated(a, b, p):
        return jnp.einsum("nijk,ni,nj,nk->n", jnp.transpose((a @ b).reshape(-1, 4, 4, 4), (0, 3, 2, 1)), p, p, p)
    function, _ = compiler.optimized(nj.make_jaxpr(interpolated)(a, b, p), "f", jit.host())
    assert tiles(function) and races.find(function) is None
    cubes = (a.astype(np.float64) @ b).reshape(-1, 4, 4, 4).transpose(0, 3, 2, 1)
    found, expected = nj.jit(interpolated), np.einsum("nijk,ni,nj,nk->n", cubes, p, p, p)
    for _ in range(20):
        np.testing.assert_allclose(found(a, b, p), expected, rtol=1e-3, atol=1e-2)


def test_races_between_rows_of_an_epilogue_are_found():
    """The verifier refuses a program whose rows of a product share one element."""
    function, _ = compiler.optimized(nj.make_jaxpr(lambda x, w: jnp.tanh(x @ w) * 2)(X, W.astype(np.float32)), "f", jit.host())
    assert races.find(function) is None
    store = next(s for s in walk(tiles(function)[0].body) if isinstance(s, Store))
    store.index = function.exprs.index(0)
    race = races.find(function)
    assert race is not None and "both touch" in str(race)
