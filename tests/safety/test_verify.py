"""Compiled code: programs that were compiled wrongly, and the checks that would have refused each of them."""
from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet.api import jit as jit_module
from numjet.core import hooks
from numjet.core.aval import ShapedArray
from numjet.cpu import compiler
from numjet.cpu.ir.nodes import INT64, Buffer, Call, Copy, Exprs, Fill, For, Function, If, Let, Store, SwapBuffers
from numjet.cpu.lowering import scalars
from numjet.cpu.lowering.arrays.values import LoweredArray
from numjet.cpu.lowering.context import LoweringContext
from numjet.cpu.lowering.loops.loop_nests import LoopNests
from numjet.cpu.lowering.reductions import cumulative
from numjet.cpu.verification import verifier
from numjet.cpu.verification.verifier import LoopIRError, verify
from numjet.foundation.config import config, enable_checks
from numjet.testing.verify import MiscompiledError
from numjet.transforms import simplify


@pytest.fixture(autouse=True)
def unchecked() -> Iterator[None]:
    """Also where the whole suite runs with checks: broken code has to get as far as each test says."""
    with enable_checks(False):
        yield


@pytest.fixture
def checked(unchecked: None) -> Iterator[None]:
    with enable_checks(True):
        yield


@pytest.fixture
def verified() -> Iterator[None]:
    config.update("numjet_verify", True)
    yield
    config.update("numjet_verify", False)


@pytest.fixture
def unordered_prefixes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cumulative operations as they once were: a recurrence in a nest of loops without order."""
    nest = LoopNests.nest
    monkeypatch.setattr(cumulative, "SHORT_ROW", 0)
    monkeypatch.setattr(LoopNests, "nest", lambda self, shape, body, *, mode="vector", in_order=None, short=8: nest(
        self, shape, body, mode=mode, short=8))


def _cumulative(x):
    shifted = jnp.sin(x) + 1
    total = jnp.cumsum(shifted, axis=1)   # this line is to be named
    return total * 2


X = np.random.default_rng(0).uniform(0.5, 1.5, (2, 9, 8)).astype(np.float32)


# ------------------------------------------------------------------------------------------ definitions say what they read

def _rows_of_largest(n: int) -> tuple:
    def rows(x):
        u = jnp.sin(jnp.arange(3.0 * n)).reshape(n, 3)
        chosen = (jnp.argmax(u, 1)[:, None] == jnp.arange(3)).astype(jnp.float32)
        return jnp.mean(jnp.sum((u - x) ** 2, 1)[:, None] * chosen, 0)
    return rows, jnp.array([0.5, -0.2, 0.1]), jnp.array([0.0, 1.0, 0.0])


@pytest.mark.parametrize("n", (10_000, 100_000))
def test_residuals_computed_from_memory_that_another_one_takes_over(n: int) -> None:
    """One residual replaced an array element by element in its memory, while another read whole rows of that."""
    rows, x, cotangent = _rows_of_largest(n)
    expected = nj.vjp(rows, x)[1](cotangent)[0]
    for got in (nj.vjp(nj.jit(rows), x)[1](cotangent)[0], nj.jit(lambda x: nj.vjp(rows, x)[1](cotangent)[0])(x)):
        np.testing.assert_allclose(got, expected, 1e-4)


@pytest.mark.parametrize("reduction", (jnp.argmax, jnp.argmin))
def test_results_that_read_what_another_replaces(reduction) -> None:
    def both(x):
        u = jnp.sin(jnp.arange(300_000.0)).reshape(-1, 3) * x
        v = nj.lax.optimization_barrier(u)
        return v * 2, reduction(v, 1)
    for got, expected in zip(nj.jit(both)(1.5), both(jnp.float32(1.5)), strict=True):
        np.testing.assert_allclose(got, expected, 1e-5)


def test_hidden_reads_are_refused(checked: None) -> None:
    b = LoweringContext("f")
    aval = ShapedArray((50,), np.float32)
    x, y = (LoweredArray(aval, b.ir.allocation.temporary(aval)) for _ in range(2))
    honest = b.compute((50,), np.float32, lambda i: b.add(b.read(x, i), b.read(y, i)), reads=(x, y))
    b.materialize(honest)
    silent = b.compute((50,), np.float32, lambda i: b.add(b.read(x, i), b.read(y, i)), reads=(x,))
    with pytest.raises(AssertionError, match=rf"reads \['{y.storage.buffer.name}'\], which are not among"):
        b.materialize(silent)
    through = b.compute((50,), np.float32, lambda i: b.read(honest, i), reads=(x,))
    with pytest.raises(AssertionError, match=r"not among what its parents read"):
        b.materialize(through)


# ------------------------------------------------------------------------------------------ races

E = Exprs()
F32 = np.dtype(np.float32)
ONE = E.const(1, F32)


def _function(body: list, *temps: Buffer, out: Buffer, inputs: tuple[Buffer, ...] = ()) -> Function:
    return Function("f", list(inputs), [out], E, body, list(temps))


def _at(*terms) -> object:
    """The sum of index expressions and integers."""
    terms = [E.index(t) if isinstance(t, int) else t for t in terms]
    total = terms[0]
    for term in terms[1:]:
        total = E.prim("add", total, term)
    return total


def _loop(n: int, mode: str, body) -> For:
    i = E.var(INT64, "i")
    return For(i, E.index(0), E.index(n), body(i), mode=mode)


def _times(i, k: int) -> object:
    return E.prim("mul", i, E.index(k))


def _races(y: Buffer, x: Buffer, mode: str) -> dict[str, For]:
    load = E.load
    last = y.size - 1
    return {
        "recurrence": _loop(63, mode, lambda i: [Store(y, _at(i, 1), load(y, i))]),
        "backwards": _loop(63, mode, lambda i: [
            Store(y, E.prim("sub", E.index(62), i), load(y, E.prim("sub", E.index(63), i)))]),
        "far apart": _loop(32, mode, lambda i: [Store(y, i, ONE), Store(y, _at(i, 31), load(x, i))]),
        "one place": _loop(64, mode, lambda i: [Store(y, E.prim("div", i, E.index(2)), ONE)]),
        "in a loop": _loop(8, mode, lambda i: [_loop(9, "serial", lambda j: [Store(y, _at(_times(i, 7), j), ONE)])]),
        "of a row": _loop(7, mode, lambda i: [_loop(8, "serial", lambda j: [
            Store(y, _at(_times(i, 8), j, 8), load(y, _at(_times(i, 8), j)))])]),
        "sometimes": _loop(64, mode, lambda i: [If(E.prim("eq", i, E.index(5)), [Store(y, E.index(last), ONE)], []),
                                                Store(y, i, ONE)]),
        "where selected": _loop(64, mode, lambda i: [Store(y, i, E.prim("select", E.prim("gt", i, E.index(40)), load(
            y, E.prim("sub", i, E.index(40))), ONE))]),
        "copies": _loop(8, mode, lambda i: [Copy(y, _times(i, 8), x, E.index(0), E.index(9 - 1)),
                                            Fill(y, _times(i, 4), ONE, E.index(4))]),
        "beside": _loop(63, mode, lambda i: [Store(y, i, load(y, _at(i, 1)))]),
        "by a variable": _loop(31, mode, lambda i: [
            Let(v := E.var(INT64, "v"), _times(i, 2)), Store(y, _at(v, 2), load(y, v))]),
    }


def _no_races(y: Buffer, x: Buffer, mode: str) -> dict[str, For]:
    load = E.load
    return {
        "own": _loop(64, mode, lambda i: [Store(y, i, load(y, i))]),
        "rows": _loop(8, mode, lambda i: [_loop(7, "serial", lambda j: [
            Store(y, _at(_times(i, 8), j, 1), load(y, _at(_times(i, 8), j)))])]),
        "even and odd": _loop(32, mode, lambda i: [Store(y, _times(i, 2), load(y, _at(_times(i, 2), 1)))]),
        "halves": _loop(32, mode, lambda i: [Store(y, i, load(y, _at(i, 32)))]),
        "not selected": _loop(64, mode, lambda i: [Store(y, i, E.prim("select", E.prim("gt", i, E.index(63)), load(
            y, E.prim("sub", i, E.index(40))), ONE))]),
        "masked": _loop(64, mode, lambda i: [Store(y, i, E.make("load", F32, (
            E.prim("sub", i, E.index(40)), E.prim("lt", i, E.index(0))), y))]),
        "never both": _loop(64, mode, lambda i: [
            If(E.prim("lt", i, E.index(0)), [Store(y, E.index(3), ONE)], []), Store(y, i, ONE)]),
        "by data": _loop(64, mode, lambda i: [Store(y, E.convert(load(x, i), INT64), ONE)]),
    }


Y, XS = Buffer("y", F32, 64, "output"), Buffer("x", F32, 64, "input")


@pytest.mark.parametrize("mode", ("vector", "parallel"))
@pytest.mark.parametrize("name", _races(Y, XS, "serial"))
def test_loops_without_order_that_need_one_are_refused(name: str, mode: str) -> None:
    fill = Fill(Y, E.index(0), ONE, E.index(64))
    with pytest.raises(LoopIRError, match=r"need one: .* touch %y"):
        verify(_function([fill, _races(Y, XS, mode)[name]], out=Y, inputs=(XS,)))
    verify(_function([fill, _races(Y, XS, "serial")[name]], out=Y, inputs=(XS,)))
    inside = _loop(3, "serial", lambda k: [_races(Y, XS, mode)[name]])
    with pytest.raises(LoopIRError, match=r"need one"):
        verify(_function([fill, inside], out=Y, inputs=(XS,)))


@pytest.mark.parametrize("mode", ("vector", "parallel"))
@pytest.mark.parametrize("name", _no_races(Y, XS, "serial"))
def test_loops_whose_order_does_not_matter_pass(name: str, mode: str) -> None:
    fill = Fill(Y, E.index(0), ONE, E.index(64))
    verify(_function([fill, _no_races(Y, XS, mode)[name]], out=Y, inputs=(XS,)))


# ------------------------------------------------------------------------------------------ memory that nothing wrote

T, U = Buffer("t", F32, 64, "temp"), Buffer("u", F32, 64, "temp")


def _whole(target: Buffer, value) -> For:
    return _loop(64, "vector", lambda i: [Store(target, i, value(i))])


UNSET = {
    "never written": [_whole(Y, lambda i: E.load(T, i))],
    "written later": [_whole(Y, lambda i: E.load(T, i)), Fill(T, E.index(0), ONE, E.index(64))],
    "all but one": [Fill(T, E.index(1), ONE, E.index(63)), _whole(Y, lambda i: E.load(T, i))],
    "every other": [_loop(32, "vector", lambda i: [Store(T, _times(i, 2), ONE)]), _whole(Y, lambda i: E.load(T, i))],
    "first of a recurrence": [_loop(63, "serial", lambda i: [Store(T, _at(i, 1), E.load(T, i))]),
                              _whole(Y, lambda i: E.load(XS, i))],
    "later in the iteration": [_loop(64, "serial", lambda i: [Store(Y, i, E.load(T, E.index(0))), Store(T, E.index(0), ONE)])],
    "by the other branch": [If(E.prim("gt", E.load(XS, E.index(0)), ONE), [Store(T, E.index(0), ONE)], []),
                            _whole(Y, lambda i: E.load(T, E.index(1)))],
    "copied": [Copy(Y, E.index(0), T, E.index(0), E.index(64))],
    "by a library": [Call("nj_sort", [(T, E.index(0)), (Y, E.index(0))], (T,), (Y,))],
    "of another name": [Fill(T, E.index(0), ONE, E.index(10)), SwapBuffers((T, U), (U, T)), _whole(Y, lambda i: E.load(U, i))],
    "result": [_loop(63, "vector", lambda i: [Store(Y, i, ONE)])],
}
SET = {
    "whole": [Fill(T, E.index(0), ONE, E.index(64)), _whole(Y, lambda i: E.load(T, i))],
    "recurrence": [Store(T, E.index(0), ONE), _loop(63, "serial", lambda i: [Store(T, _at(i, 1), E.load(T, i))]),
                   _whole(Y, lambda i: E.load(T, i))],
    "rows": [_loop(8, "serial", lambda i: [_loop(8, "vector", lambda j: [Store(T, _at(_times(i, 8), j), ONE)])]),
             _whole(Y, lambda i: E.load(T, i))],
    "not selected": [_whole(Y, lambda i: E.prim("select", E.prim("lt", i, E.index(0)), E.load(T, i), ONE))],
    "by data": [_loop(64, "serial", lambda i: [Store(T, E.convert(E.load(XS, i), INT64), ONE)]),
                _whole(Y, lambda i: E.load(T, i))],
    "in a branch": [If(E.prim("gt", E.load(XS, E.index(0)), ONE), [_whole(Y, lambda i: E.load(T, i))], []),
                    _whole(Y, lambda i: ONE)],
    "of another name": [Fill(T, E.index(0), ONE, E.index(64)), SwapBuffers((T, U), (U, T)), _whole(Y, lambda i: E.load(U, i))],
}


@pytest.mark.parametrize("name", UNSET)
def test_reads_of_unset_memory_are_refused(name: str) -> None:
    with pytest.raises(LoopIRError, match=r"nothing|before anything"):
        verify(_function(UNSET[name], T, U, out=Y, inputs=(XS,)))


@pytest.mark.parametrize("name", SET)
def test_reads_of_what_may_be_set_pass(name: str) -> None:
    verify(_function(SET[name], T, U, out=Y, inputs=(XS,)))


# ------------------------------------------------------------------------------------------ after every pass

def test_a_recurrence_without_order_is_refused_when_it_is_lowered(checked: None, unordered_prefixes: None) -> None:
    with pytest.raises(LoopIRError, match=r"after the pass 'lower': .*need one"):
        nj.jit(_cumulative)(X)


@pytest.mark.parametrize("name,module,function", [
    ("dead_calls", "dead_calls", "remove"), ("in_place", "in_place", "replace"), ("fusion", "fusion", "fuse"),
    ("array_contraction", "array_contraction", "values"), ("legalize_math", "legalize_math", "expand_math"),
    ("parallelize", "parallelize", "share"), ("row_contraction", "array_contraction", "rows"),
    ("memory_plan", "memory_plan", "plan"), ("cancellation", "cancellation", "mark")])
def test_the_pass_that_breaks_a_program_is_named(checked: None, monkeypatch: pytest.MonkeyPatch, name: str, module: str,
                                                 function: str) -> None:
    made = getattr(compiler, module)
    honest = getattr(made, function)

    def broken(f: Function, *args):
        out = honest(f, *args)
        f.body.append(Store(f.outputs[0], f.exprs.index(0), f.exprs.var(F32, "nowhere")))
        return out
    monkeypatch.setattr(made, function, broken)
    with pytest.raises(LoopIRError, match=f"after the pass '{name}': variable nowhere.* is not bound here"):
        nj.jit(lambda x: jnp.sum(jnp.sin(x)) + x)(X)


def test_nothing_is_verified_without_the_flag(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verifier, "verify", lambda f: pytest.fail("verified"))
    nj.jit(lambda x: x * 3 + 1)(X)


def test_programs_pass(checked: None) -> None:
    """Loops, branches, updates, products, sorts, gradients: no false alarm."""
    def program(x, n):
        def step(carry, row):
            carry = nj.lax.cond(carry[0] > 0, lambda c: jnp.roll(c, 1) + row, lambda c: c - row, carry)
            return carry, jnp.cumsum(carry)
        rows = nj.lax.scan(step, x[0], x)[1]
        rows = rows.at[n].add(1.0).at[:, 0].set(2.0)
        found = nj.lax.fori_loop(0, 5, lambda _, s: s @ s.T @ s / 100, rows)
        inverse = jnp.linalg.inv(found[:4, :4] + 9 * jnp.eye(4))
        return jnp.sort(found, 1), jnp.argmax(found, 0), inverse, jnp.sum(jnp.tanh(found))
    for shape in ((9, 8), (70, 90)):
        x = np.random.default_rng(1).standard_normal(shape).astype(np.float32)
        nj.jit(program)(x, 2)
        nj.jit(nj.vmap(nj.grad(lambda x: program(x, 1)[3])))(np.stack([x, x]))


# ------------------------------------------------------------------------------------------ NUMJET_VERIFY

def test_a_miscompiled_program_is_found(verified: None, unordered_prefixes: None) -> None:
    with pytest.raises(MiscompiledError) as caught:
        nj.jit(_cumulative)(X)
    message = str(caught.value)
    assert message.startswith("_cumulative: result 0[") and "cumsum[" in message and "number 3 of 4" in message
    line = _cumulative.__code__.co_firstlineno + 2
    assert f"test_verify.py:{line}" in message and "Computed" in message and "expected" in message


def test_it_is_found_again_with_the_next_call(verified: None, unordered_prefixes: None) -> None:
    function = nj.jit(lambda x: jnp.cumsum(x, axis=1))
    for _ in range(2):
        with pytest.raises(MiscompiledError):
            function(X)


def test_in_programs_inside_of_programs(verified: None, unordered_prefixes: None) -> None:
    inner = nj.jit(_cumulative)
    for function, x in ((lambda x: inner(x) + 1, X), (nj.grad(lambda x: jnp.sum(inner(x) ** 2)), X),
                        (nj.vmap(inner), np.stack([X, X])),
                        (lambda x: nj.lax.scan(lambda c, _: (inner(c) / 99, None), x, None, 3)[0], np.concatenate([X, X]))):
        with pytest.raises(MiscompiledError, match=r"equation that differs|only the whole program"):
            nj.jit(function)(x)


def test_wrong_simplifications_are_told_from_wrong_code(verified: None, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = simplify.simplify

    def wrong(closed):
        closed = honest(closed)
        eqns = [e.replace(primitive=nj.lax.cos_p) if e.primitive.name == "sin" else e for e in closed.jaxpr.eqns]
        return type(closed)(closed.jaxpr.replace(eqns=eqns), closed.consts)
    monkeypatch.setattr(jit_module.simplify, "simplify", wrong)
    monkeypatch.setattr(hooks, "simplify", wrong)
    with pytest.raises(MiscompiledError, match=r"(?s)comes from the simplification.*sin"):
        nj.jit(lambda x: jnp.sin(x) * 2)(X)


def test_wrong_code_of_one_operation(verified: None, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = scalars.Scalars.sub
    monkeypatch.setattr(scalars.Scalars, "sub", lambda b, x, y: honest(b, y, x))
    with pytest.raises(MiscompiledError, match=r"(?s)number 2 of 3.*sub"):
        nj.jit(lambda x: jnp.tanh((x * 2) - 1))(X)


def _effects(seen: list):
    def effect(x):
        nj.debug.callback(lambda v: seen.append(float(v)), x[0])
        return x + nj.pure_callback(lambda v: seen.append(1) or np.asarray(v), nj.ShapeDtypeStruct(x.shape, x.dtype), x)
    return effect


def test_callbacks_run_once(verified: None) -> None:
    seen: list = []
    out = nj.jit(_effects(seen))(jnp.ones(3))
    nj.effects_barrier()
    np.testing.assert_array_equal(out, [2, 2, 2])
    assert len(seen) == 2


def test_right_programs_pass(verified: None) -> None:
    """Donation, random numbers, loops, gradients, NaN, infinities, integers, keys, sums that cancel, odd shapes."""
    donated = nj.jit(lambda x, y: (x + y, jnp.sum(x)), donate_argnums=0)
    np.testing.assert_array_equal(donated(jnp.ones((300, 300)), 2.0)[0], np.full((300, 300), 3.0))
    key = nj.random.key(3)
    nj.jit(lambda k: (nj.random.normal(k, (100,)), nj.random.split(k), nj.random.permutation(k, 50)))(key)
    assert int(nj.jit(lambda n: nj.lax.while_loop(lambda i: i < n, lambda i: i + 1, 0))(20_000)) == 20_000
    nan = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-45], np.float32)
    nj.jit(lambda x: (jnp.sqrt(x), jnp.log(x), x / x, jnp.sort(x), jnp.max(x), jnp.nanmax(x), jnp.cumsum(x)))(nan)
    noise = np.random.default_rng(0).standard_normal(100_000).astype(np.float32)
    nj.jit(lambda x: (jnp.sum(x), jnp.sum(x) - jnp.sum(x[::-1]), jnp.mean(x * 1e6) - 1e6 * jnp.mean(x), x @ x))(noise)
    nj.jit(nj.grad(lambda x: jnp.sum(jnp.tanh(x @ x.T) ** 2)))(noise[:2500].reshape(50, 50))
    nj.jit(nj.vmap(lambda a: jnp.linalg.eigh(a + a.T)[0]))(noise[:270].reshape(10, 3, 9)[:, :, :3])
    nj.jit(lambda x: (x.astype(jnp.int8), x.astype(jnp.float16) + 1, jnp.zeros((0, 3)) + x[:3]))(noise[:9])
    compiled = nj.jit(lambda x: x * 2).lower(noise).compile()
    np.testing.assert_array_equal(compiled(noise), noise * 2)


def test_errors_of_programs_are_theirs(verified: None) -> None:
    with pytest.raises(TypeError):
        nj.jit(lambda x: x + "a")(X)


def test_loops_without_iterations_touch_nothing():
    e = Exprs()
    out, i, j = Buffer("out", np.dtype(np.float32), 14, "output"), e.var(INT64, "i"), e.var(INT64, "j")
    place = e.prim("add", e.prim("mul", i, e.index(14)), j)
    inner = For(j, e.index(0), e.index(14), [Store(out, place, e.const(1, np.dtype(np.float32)))], mode="vector")
    fill = Fill(out, e.index(0), e.const(0, np.dtype(np.float32)), e.index(14))
    verify(Function("f", [], [out], e, [fill, For(i, e.index(0), e.index(0), [inner])]))
