"""Intervals of integers: each record's rule holds on its samples; indices that are in bounds are known to be."""
from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.core.aval import ShapedArray
from numjet.core.intervals import Facts, counts, limits
from numjet.core.ir import JaxprEqn, Var
from numjet.core.op import Op, all_ops
from numjet.core.walk import all_eqns
from numjet.experimental import checkify
from numjet.foundation.config import index_checks
from numjet.testing import records
from numjet.transforms.simplify import simplify

WITH_RULES = sorted(name for name, op in all_ops().items() if op.interval is not None)
I = jnp.arange(9, dtype=jnp.int32)
X = jnp.linspace(0.0, 1.0, 50)
KEY = nj.random.key(3)


def _cases(op: Op) -> Iterator[tuple[list[np.ndarray], dict[str, Any]]]:
    """Operands of a record's samples, and of the same shapes with no negative floats, and with integers in place of floats."""
    for case in records.cases(op, 12):
        yield case.operands, case.params
        if any(x.dtype.kind == "f" for x in case.operands):
            yield [np.abs(x) if x.dtype.kind == "f" else x for x in case.operands], case.params
            yield [np.rint(8 * x).astype(np.int32) if x.dtype.kind == "f" else x for x in case.operands], case.params


@pytest.mark.parametrize("name", WITH_RULES)
def test_results_are_within_the_interval_of_the_operands(name):
    op, asked = all_ops()[name], 0
    for args, params in _cases(op):
        outs = op.eager(*args, **params)
        outs = list(outs) if op.multiple else [outs]
        facts = Facts(lambda _: None)
        invars = [Var(ShapedArray(x.shape, x.dtype)) for x in args]
        for v, x in zip(invars, args, strict=True):
            if counts(x.dtype) and x.size:
                facts.bind(v, (int(x.min()), int(x.max())))
            elif x.dtype.kind == "f" and x.size and not np.isnan(x).any():
                facts.bind(v, (float(x.min()), float(x.max())))
        eqn = JaxprEqn(invars, [Var(ShapedArray(np.shape(y), y.dtype)) for y in outs], op, params)
        for y, (low, high) in zip(outs, facts.of_equation(eqn), strict=True):
            if counts(y.dtype) and y.size:
                asked += 1
                assert low <= int(y.min()) and int(y.max()) <= high, (args, params, y, (low, high))
                assert limits(y.dtype)[0] <= low <= high <= limits(y.dtype)[1]
    assert asked


def _checks(fun: Callable[..., Any], *args: Any) -> int:
    """The index checks in the simplified program of a function."""
    with index_checks("all"):
        program = simplify(nj.make_jaxpr(fun)(*args))
    return sum(eqn.primitive.name == "check_index" for eqn in all_eqns(program.jaxpr))


KNOWN = {
    "arange": lambda: X[jnp.arange(25) * 2],
    "arange from the end": lambda: X[-1 - jnp.arange(50)],
    "half": lambda: X[jnp.arange(100) // 2],
    "remainder": lambda: X[I * 7 % 50],
    "clip": lambda: X[jnp.clip(I, 0, 49)],
    "minimum": lambda: X[jnp.minimum(I.astype(jnp.uint32), 49)],
    "argmax": lambda: X[jnp.argmax(X)],
    "argsort": lambda: X[jnp.argsort(X)],
    "top_k": lambda: X[lax.top_k(X, 3)[1]],
    "nonzero": lambda: X[jnp.nonzero(X, size=5)[0]],
    "count": lambda: X[jnp.sum(I > 2)],
    "cumulative count": lambda: X[jnp.cumsum(I > 2)],
    "bits": lambda: X[I & 31],
    "shift": lambda: X[I.astype(jnp.uint32) >> 27],
    "truth": lambda: X[(I > 3).astype(int)],
    "narrow": lambda: jnp.zeros(256)[I.astype(jnp.uint8)],
    "random": lambda: X[nj.random.randint(KEY, (9,), 0, 50)],
    "permutation": lambda: X[nj.random.permutation(KEY, 50)],
    "chosen": lambda: X[jnp.where(I > 40, 3, 49)],
    "constants": lambda: jnp.zeros((5, 5))[jnp.tril_indices(5)],
    "two axes": lambda: jnp.zeros((5, 6))[jnp.arange(5)[:, None], jnp.arange(6)],
    "loop": lambda: lax.fori_loop(0, 50, lambda k, s: s + X[k], 0.0),
    "loop from the end": lambda: lax.fori_loop(0, 50, lambda k, s: s + X[49 - k] + X[k - 50], 0.0),
    "neighbours": lambda: lax.fori_loop(1, 49, lambda k, s: s + X[k - 1] + X[k + 1], 0.0),
    "two loops": lambda: lax.fori_loop(0, 5, lambda i, s: s + lax.fori_loop(0, 10, lambda j, t: t + X[i * 10 + j], 0.0), 0.0),
    "ring": lambda: lax.fori_loop(0, 500, lambda k, s: ((s[0] + 3) % 50, s[1] + X[s[0]]), (0, 0.0)),
    "scan over a range": lambda: lax.scan(lambda s, k: (s + X[k], X[k]), 0.0, jnp.arange(50)),
    "while": lambda: lax.while_loop(lambda s: s[0] < 50, lambda s: (s[0] + 1, s[1] + X[s[0]]), (0, 0.0)),
    "while, downwards": lambda: lax.while_loop(lambda s: s[0] >= 0, lambda s: (s[0] - 2, s[1] + X[s[0]]), (49, 0.0)),
    "while with another end": lambda: lax.while_loop(lambda s: (s[0] < 50) & (s[1] < 3), lambda s: (s[0] + 2, s[1] + X[s[0]]),
                                                     (0, 0.0)),
    "mapped": lambda: nj.vmap(lambda k: lax.fori_loop(0, 50, lambda i, s: s + X[i] * k, 0.0))(X),
    "gradient": lambda: nj.grad(lambda x: lax.fori_loop(0, 50, lambda i, s: s + x[i] ** 2, 0.0))(X),
    "branch": lambda: lax.cond(X[0] > 1, lambda i: X[i], lambda i: X[i + 1], jnp.argmax(X[:49])),
    "counted by a call": lambda: lax.fori_loop(0, 50, lambda k, s: s + nj.jit(lambda i: X[i])(k), 0.0),
}
UNKNOWN: dict[str, tuple[int, Callable[[Any], Any]]] = {
    "argument": (1, lambda i: X[i]),
    "twice": (1, lambda i: X[i] + (2 * X)[i]),
    "two lengths": (2, lambda i: X[i] + X[:20][i]),
    "below": (1, lambda i: X[jnp.minimum(i, 49)]),
    "too many": (1, lambda i: X[jnp.arange(51)]),
    "too far": (1, lambda i: lax.fori_loop(0, 51, lambda k, s: s + X[k], 0.0)),
    "wraps": (1, lambda i: lax.fori_loop(0, 50, lambda k, s: (s[0] * 3, s[1] + X[s[0]]), (1, 0.0))),
    "no bound": (1, lambda i: lax.while_loop(lambda s: s[1] < 3, lambda s: (s[0] + 1, s[1] + X[s[0]]), (0, 0.0))),
    "one too far": (1, lambda i: lax.while_loop(lambda s: s[0] <= 50, lambda s: (s[0] + 1, s[1] + X[s[0]]), (0, 0.0))),
    "tested after": (1, lambda i: lax.while_loop(lambda s: s[0] < 50, lambda s: (s[0] + 1, s[1] + X[s[0] + 1]), (0, 0.0))),
    "a traced number of steps": (1, lambda i: lax.fori_loop(0, i[0], lambda k, s: s + X[k], 0.0)),
    "elements": (1, lambda i: lax.scan(lambda s, k: (s + X[k], None), 0.0, i)),
}


@pytest.mark.parametrize("name", KNOWN)
def test_indices_known_to_be_in_bounds_are_not_checked(name):
    fun = lambda _: KNOWN[name]()
    assert _checks(fun, X) == 0
    plain = nj.jit(fun)(X)
    with index_checks("all"):
        nj.tree.map(np.testing.assert_array_equal, nj.jit(fun)(X), plain)


@pytest.mark.parametrize("name", UNKNOWN)
def test_others_are_checked_once(name):
    count, fun = UNKNOWN[name]
    assert _checks(fun, I) == count


def _notes(fun: Callable[..., Any], *args: Any) -> int:
    program = simplify(nj.make_jaxpr(checkify.checkify(fun, errors=checkify.index_checks))(*args))
    return sum(eqn.primitive.name == "note_index" for eqn in all_eqns(program.jaxpr))


def test_checkify_looks_at_unknown_indices_only_and_once():
    assert _notes(lambda x: lax.fori_loop(0, 50, lambda k, x: x.at[k].set(x[k] * 2 + x[k - 1]), x), X) == 0
    assert _notes(lambda x: x[jnp.argsort(x)] + lax.dynamic_slice(x, (7,), (3,)).sum(), X) == 0
    assert _notes(lambda i: X.at[i].set(X[i] + (2 * X)[i]), I) == 1
    assert _notes(lambda i: X[i & 63] + X[:20][i & 63], I) == 2
    assert _notes(lambda i: jnp.zeros((50, 4))[i & 31, 3], I) == 0
    assert _notes(lambda i: jnp.zeros((50, 4))[i & 63, 3], I) == 1
    assert _notes(nj.vmap(lambda i: X[i]), I) == 1


def test_an_index_is_counted_from_the_end_only_where_it_may_be_negative():
    program = simplify(nj.make_jaxpr(lambda: lax.fori_loop(0, 50, lambda k, s: s + X[k], 0.0))())
    names = {eqn.primitive.name for eqn in all_eqns(program.jaxpr)}
    assert "dynamic_slice" in names and not names & {"select_n", "lt"}


@pytest.mark.parametrize("x", [np.float32(1), np.float32(-0.0), np.float16(1.5), np.uint32(7), np.int8(-1)])
def test_bits_of_known_numbers(x):
    for to in {"f": "ui", "i": "u", "u": "if"}[x.dtype.kind]:
        dtype = np.dtype(f"{to}{x.dtype.itemsize}")
        assert np.array_equal(nj.jit(lambda d=dtype: lax.bitcast_convert_type(x, d))(), x.view(dtype))


def test_decided_numbers_are_constants():
    program = simplify(nj.make_jaxpr(lambda i: (jnp.minimum(i & 7, 9), (i & 7)[0] > 7, lax.rem(i & 7, 20)))(I))
    assert [eqn.primitive.name for eqn in program.jaxpr.eqns] == ["and"]
