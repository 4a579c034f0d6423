"""pmap over the one device: results, axes, collectives, compositions, errors."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax

X = np.arange(3.0, dtype=np.float32)[None]

MAPPED = {  # function with its arguments, options, result
    "plain": (lambda x: x * 2, (X,), {}, X * 2),
    "psum": (lambda x: lax.psum(x, "i"), (X,), {"axis_name": "i"}, X),
    "pmean of a gradient": (lambda x: lax.pmean(nj.grad(lambda x: jnp.sum(x ** 2))(x), "i"), (X,), {"axis_name": "i"}, 2 * X),
    "gather": (lambda x: lax.all_gather(x, "i"), (X,), {"axis_name": "i"}, X[None]),
    "exchange": (lambda x: lax.ppermute(x, "i", [(0, 0)]), (X,), {"axis_name": "i"}, X),
    "nothing sent": (lambda x: lax.ppermute(x, "i", []), (X,), {"axis_name": "i"}, 0 * X),
    "index": (lambda x: lax.axis_index("i"), (X,), {"axis_name": "i"}, np.zeros(1)),
    "index in one result": (lambda x: lax.axis_index("i"), (X,), {"axis_name": "i", "out_axes": None}, np.zeros(())),
    "branches": (lambda x: lax.cond(x[1] > 0, lambda: lax.psum(x, "i"), lambda: x + 1), (X,), {"axis_name": "i"}, X),
    "not mapped": (lambda x, y: x + y, (X, 3.0), {"in_axes": (0, None)}, X + 3),
    "other axes": (lambda x: x, (X.T,), {"in_axes": 1, "out_axes": -1}, X.T),
    "one result": (lambda x: x, (X,), {"out_axes": None}, X[0]),
    "trees": (lambda d: d["a"] * d["b"], ({"a": X, "b": 3},), {"in_axes": ({"a": 0, "b": None},)}, 3 * X),
    "static": (lambda x, n: x * len(n), (X, "ab"), {"static_broadcasted_argnums": 1}, 2 * X),
    "static with an axis": (lambda n, x: x * len(n), ("ab", X), {"static_broadcasted_argnums": 0, "in_axes": (None, 0)}, 2 * X),
    "static without axis": (lambda n, x: x * len(n), ("ab", X), {"static_broadcasted_argnums": 0, "in_axes": (0,)}, 2 * X),
    "constant": (lambda x: 3, (X,), {}, np.array([3])),
    "device": (lambda x: x, (X,), {"devices": nj.devices(), "axis_size": 1}, X),
    "in vmap": (nj.vmap(lambda x: lax.psum(x, ("i", "j")), axis_name="j"), (X,), {"axis_name": "i"}, np.full((1, 3), 3.0)),
}


@pytest.mark.parametrize("case", MAPPED)
def test_results(case):
    fun, args, options, expected = MAPPED[case]
    mapped = nj.pmap(fun, **options)
    with nj.disable_jit():
        np.testing.assert_array_equal(mapped(*args), expected)
    assert mapped(*args).shape == expected.shape
    np.testing.assert_array_equal(mapped(*args), expected)


def test_keywords_transformations_and_stages():
    f = nj.pmap(lambda x, y=1.0: x ** 2 * y)
    assert f(X, y=X).tolist() == (X ** 3).tolist()
    assert nj.grad(lambda x: f(x).sum())(X).tolist() == (2 * X).tolist()
    assert nj.vmap(f)(np.stack([X, X])).shape == (2, 1, 3) and nj.jit(f)(X).tolist() == (X ** 2).tolist()
    assert f.lower(X).compile()(X).tolist() == (X ** 2).tolist()


ERRORS = {
    "size": (lambda: nj.pmap(lambda x: x)(np.ones((2, 3))), ValueError, r"axis 0 of argument x of shape \(2, 3\) has size 2"),
    "scalar": (lambda: nj.pmap(lambda x: x)(1.0), ValueError, r"argument x, which has shape \(\) and no such axis"),
    "nothing mapped": (lambda: nj.pmap(lambda x: x, in_axes=None)(X), ValueError, "at least one argument with a mapped axis"),
    "axis_size": (lambda: nj.pmap(lambda x: x, axis_size=2)(X), ValueError, "pmap got inconsistent sizes for array axes"),
    "devices": (lambda: nj.pmap(lambda x: x, devices=[]), ValueError, "must be non-empty, or None"),
    "in_axes": (lambda: nj.pmap(lambda x: x, in_axes="a"), TypeError, "pmap in_axes must be an int, None, or"),
    "count": (lambda: nj.pmap(lambda x: x, in_axes=(0, 0))(X), ValueError, "it has 2, and 1 arguments were passed"),
    "out_axes": (lambda: nj.pmap(lambda x: x[0], out_axes=1)(X), ValueError, "out of range for a result of rank 1"),
    "tree": (lambda: nj.pmap(lambda x: (x, x), out_axes=(0, 0, 0))(X), ValueError, "pmap out_axes specification"),
    "donated and static": (lambda: nj.pmap(jnp.sin, static_broadcasted_argnums=0, donate_argnums=0), ValueError, "intersect"),
    "no function": (lambda: nj.pmap(3), TypeError, "callable"),
}


@pytest.mark.parametrize("case", ERRORS)
def test_misuse(case):
    run, error, match = ERRORS[case]
    with pytest.raises(error, match=match):
        run()
