"""numjet.experimental.jet: derivatives up to the fourth against repeated forward mode, of every kind of operation."""
from __future__ import annotations

import warnings

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from numjet.experimental.jet import fact, jet, zero_series
from numjet.experimental.jet.recurrences import RECURRENCES
from numjet.foundation.config import enable_x64

ORDER = 4
RNG = np.random.default_rng(0)


@pytest.fixture(autouse=True)
def wide():
    with enable_x64():
        yield


def repeated(fun, primals, series):
    """Derivatives along the curve by nested jvp."""
    def along(t):
        point = []
        for x, terms in zip(primals, series, strict=True):
            value, weight = x, 1.0
            for k, term in enumerate(terms, 1):
                weight = weight * t / k
                value = value + weight * term
            point.append(value)
        return fun(*point)

    out, current = [], along
    for _ in range(ORDER + 1):
        out.append(current(0.0))
        current = (lambda f: lambda t: nj.jvp(f, (t,), (1.0,))[1])(current)
    return out


def check(fun, *primals, rtol=1e-8):
    series = [[0.3 * RNG.normal(size=np.shape(x)) for _ in range(ORDER)] for x in primals]
    value, terms = jet(fun, primals, series)
    for got, want in zip([value, *terms], repeated(fun, primals, series), strict=True):
        np.testing.assert_allclose(got, want, rtol=rtol, atol=1e-9)
    jitted, _ = nj.jit(lambda p, s: jet(fun, p, s))(primals, series)
    np.testing.assert_allclose(jitted, value, rtol=1e-12)


X = np.array([0.3, 0.7, -0.4])
POSITIVE = np.abs(X) + 0.2
UNARY = {
    "exp": X, "expm1": X, "log": POSITIVE, "log1p": X, "sin": X, "cos": X, "tan": X, "tanh": X, "sinh": X, "cosh": X,
    "logistic": X, "sqrt": POSITIVE, "square": X, "rsqrt": POSITIVE, "cbrt": POSITIVE, "asin": X, "acos": X, "atan": X,
    "asinh": X, "acosh": POSITIVE + 1, "atanh": X, "erf": X, "erfc": X, "erf_inv": X, "abs": X, "sign": X, "floor": X, "neg": X,
    "lgamma": POSITIVE, "exp2": X, "bessel_i1e": X,
}


@pytest.mark.parametrize("name", UNARY)
def test_functions_of_one_argument(name):
    check(getattr(lax, name), UNARY[name])


def test_every_recurrence_is_tested():
    assert {op.name for op in RECURRENCES} <= UNARY.keys()


FUNCTIONS = {
    "products": (lambda x, y: (x * y + 2 * x) / (1 + y * y), X, POSITIVE),
    "powers": (lambda x, y: x ** 3 + x ** -2 + y ** x + y ** 2.5, X, POSITIVE), "power of zero": (lambda x: x ** 3,
                                                                                                  np.zeros(2)),
    "extremes": (lambda x, y: jnp.maximum(x, y) + jnp.minimum(x, 0.1) + jnp.clip(x, -0.1, 0.5), X, POSITIVE),
    "atan2": (jnp.arctan2, X, POSITIVE), "logaddexp": (jnp.logaddexp, X, POSITIVE),
    "matrix product": (lambda x, y: jnp.tanh(jnp.outer(x, y) @ x) @ y, X, POSITIVE),
    "convolution": (lambda x, y: jnp.convolve(x, y), X, POSITIVE),
    "reductions": (lambda x: jnp.sum(x) * jnp.prod(x) + jnp.max(x) * jnp.var(x) + nj.nn.logsumexp(x), X),
    "softmax": (nj.nn.softmax, X), "prefix sums": (lambda x: jnp.cumsum(x) * jnp.cumprod(x), X),
    "indexing": (lambda x: x[::-1] * x[jnp.array([2, 0, 0])] + (1 * jnp.asarray(x)).at[1].set(x[0] ** 2).at[0].add(x[2]), X),
    "sort": (lambda x: jnp.sort(x) ** 2, X), "choice": (lambda x: jnp.where(x > 0, jnp.sin(x), x ** 2), X),
    "inverse": (lambda x: jnp.linalg.inv(jnp.outer(x, x) + jnp.eye(3)) @ x, X),
    "solution": (lambda x: jnp.linalg.solve(jnp.outer(x, x) + jnp.eye(3), x), X),
    "determinant": (lambda x: jnp.linalg.slogdet(jnp.outer(x, x) + jnp.eye(3))[1], X),
    "scan": (lambda x: lax.scan(lambda c, a: (jnp.sin(c) * a, c * a), x[0], x)[1], X),
    "fori_loop": (lambda x: lax.fori_loop(0, 3, lambda i, c: jnp.cos(c) * (i + 1.0), x), X),
    "while_loop": (lambda x: lax.while_loop(lambda c: c[0] < 3, lambda c: (c[0] + 1, jnp.exp(-c[1])), (0, x))[1], X),
    "cond": (lambda x: lax.cond(x[0] > 0, jnp.sin, lambda x: 2 * x, x), X), "jit": (nj.jit(lambda x: jnp.sin(x) ** 2), X),
    "checkpoint": (nj.checkpoint(lambda x: jnp.sin(x) ** 2), X), "vmap": (nj.vmap(lambda x: jnp.exp(x) * x), X),
    "gradient": (nj.grad(lambda x: jnp.sum(jnp.sin(x) ** 3)), X), "silu": (nj.nn.silu, X), "gelu": (nj.nn.gelu, X),
    "relu": (nj.nn.relu, X), "fft": (lambda x: jnp.abs(jnp.fft.fft(x + 1.0)) ** 2, X),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name):
    fun, *args = FUNCTIONS[name]
    check(fun, *args)


def test_custom_rules_are_followed():
    @nj.custom_jvp
    def f(x):
        return jnp.sin(x)
    f.defjvp(lambda primals, tangents: (f(*primals), 2 * jnp.cos(primals[0]) * tangents[0]))
    check(f, X)


def test_a_high_order_of_a_long_composition():
    f = lambda x: jnp.tanh(jnp.sin(lax.erf(lax.lgamma(x))))
    _, terms = jet(f, (1.7,), ([1.0] + [0.0] * 11,), factorial_scaled=False)
    t = 0.05
    series = float(f(1.7)) + sum(float(c) * t ** k for k, c in enumerate(terms, 1))
    np.testing.assert_allclose(series, f(1.7 + t), rtol=1e-13)


def test_transformations_of_jets():
    third = lambda x: jet(jnp.sin, (x,), ([1.0, 0.0, 0.0],))[1][2]
    np.testing.assert_allclose(third(0.5), -np.cos(0.5))
    np.testing.assert_allclose(nj.grad(third)(0.5), np.sin(0.5))
    np.testing.assert_allclose(nj.vmap(third)(X), -np.cos(X))


def test_an_argument_without_a_curve():
    f = lambda x, y: jnp.sin(x) * y
    told = jet(f, (1.0, 2.0), ([1.0, 0.5], [0.0, 0.0]))
    assert str(jet(f, (1.0, 2.0), ([1.0, 0.5], zero_series))) == str(told)
    assert jet(f, (1.0, 2.0), (zero_series, zero_series))[1] == []
    chosen = jet(jnp.where, (np.array([True, False]), np.ones(2), np.zeros(2)), ([np.ones(2)], [np.ones(2)], [np.full(2, 3)]))
    assert chosen[1][0].tolist() == [1, 3]
    assert [fact(n) for n in range(5)] == [1, 1, 2, 6, 24]


def test_structures_and_scales():
    value, terms = jet(lambda x, n: {"y": x ** 2, "n": n}, (3.0, 2), ([1.0, 0.0], [0, 0]))
    assert (float(value["y"]), [float(t) for t in terms["y"]]) == (9.0, [6.0, 2.0])
    assert int(value["n"]) == 2 and [float(t) for t in terms["n"]] == [0.0, 0.0]
    assert [float(t) for t in jet(lambda x: x ** 2, (3.0,), ([1.0, 0.0],), factorial_scaled=False)[1]] == [6.0, 1.0]
    assert jet(jnp.sin, (0.0,), ([],))[1] == []


@pytest.mark.parametrize("arguments, message", [
    (((1.0, 2.0), ([1.0],)), "a list of terms per argument"), (((1.0, 2.0), ([1.0], [])), "inconsistent lengths"),
    ((({"a": 1.0},), ([1.0],)), "is not an array"), ((((1.0,),), ([1.0],)), "is not an array"),
    (((np.ones(3),), ([np.ones(2)],)), "must have its shape")])
def test_errors(arguments, message):
    with pytest.raises(ValueError, match=message):
        jet(lambda *xs: xs[0], *arguments)
    with pytest.raises(TypeError, match="must be zero"):
        jet(lambda n: n, (1,), ([1],))


def stretched(x):
    return jnp.sin(x) * x + jnp.exp(-x) / (2 + x * x)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float32", "float64", "complex64", "complex128"])
@pytest.mark.parametrize("shape", [(), (0,), (1,), (9,), (2, 3), (2, 0, 3)])
def test_dtypes_and_shapes(dtype, shape):
    draw = lambda: jnp.asarray(RNG.uniform(-0.5, 0.5, shape) + (0.3j if "complex" in dtype else 0), dtype)
    x, series = draw(), [draw(), draw(), draw()]
    call = lambda x, *series: jet(stretched, (x,), (list(series),))
    value, terms = call(x, *series)
    assert all(t.dtype == x.dtype and t.shape == shape for t in [value, *terms])
    wide = "complex128" if "complex" in dtype else "float64"
    exact, exact_terms = call(*(jnp.asarray(a, wide) for a in (x, *series)))
    tolerance = 40 * float(jnp.finfo(dtype).eps)
    for got, want in zip([value, *terms], [exact, *exact_terms], strict=True):
        np.testing.assert_allclose(np.asarray(got, wide), want, rtol=tolerance, atol=tolerance)
    jitted = nj.tree.leaves(nj.jit(call)(x, *series))
    rows = nj.tree.leaves(nj.vmap(call)(*(jnp.stack([a, a + 0.25]) for a in (x, *series))))
    first, second = (nj.tree.leaves(call(*(a + step for a in (x, *series)))) for step in (0, 0.25))
    for k, got in enumerate(rows):
        np.testing.assert_allclose(np.asarray(jitted[k], wide), np.asarray(first[k], wide), rtol=tolerance, atol=tolerance)
        for row, want in zip(got, (first[k], second[k]), strict=True):
            np.testing.assert_allclose(np.asarray(row, wide), np.asarray(want, wide), rtol=tolerance, atol=tolerance)


def test_gradients_of_every_term():
    terms = lambda x: jnp.stack(jet(stretched, (x,), ([1.0, 0.0, 0.0],))[1])
    fourth = nj.grad(nj.grad(nj.grad(nj.grad(stretched))))(0.3)
    slopes = nj.jacrev(terms)(0.3)
    np.testing.assert_allclose(slopes, nj.jacfwd(terms)(0.3), rtol=1e-12)
    np.testing.assert_allclose(slopes[2], fourth, rtol=1e-10)


@pytest.mark.parametrize("transformed", [lambda f: f, nj.jit])
@pytest.mark.parametrize("fun", [jnp.sin, lambda x: x * x, lambda x: 1 / x, lambda x: x**3])
def test_series_of_python_numbers_are_weakly_typed_as_their_argument(fun, transformed):
    weakly = lambda x: [c.weak_type for c in nj.tree.leaves(transformed(lambda x: jet(fun, (x,), ((1.0, 0.0),)))(x))]
    assert weakly(0.3) == [True] * 3
    assert weakly(np.float32(0.3)) == [False] * 3


def test_results_that_are_integers_have_terms_in_the_default_float():
    with enable_x64(False), warnings.catch_warnings():
        warnings.simplefilter("error")
        _, terms = jet(lambda x: (x, 3), (1.0,), ([1.0, 0.0],))
    assert [t.dtype for t in terms[1]] == [jnp.float32] * 2
