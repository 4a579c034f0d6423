"""Library functions that run as one program outside of jit."""
from __future__ import annotations

import sys
from typing import Any

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import _native, nn
from numjet.api.jit_when_eager import jit_when_eager
from numjet.foundation import events
from numjet.foundation.config import debug_nans, disable_jit
from numjet.runtime.eager_compile import LARGE
from numjet.scipy.interpolate import RegularGridInterpolator

X = jnp.asarray(np.random.default_rng(0).normal(size=(7, 9)).astype(np.float32))
S = X @ X.T + jnp.eye(7)
CALLS = {
    "median": lambda: jnp.median(X, axis=1), "quantile": lambda: jnp.quantile(X, 0.3, axis=0, keepdims=True),
    "nanpercentile": lambda: jnp.nanpercentile(X, jnp.array([10.0, 50.0])),
    "softmax": lambda: nn.softmax(X, axis=0),
    "log_softmax": lambda: nn.log_softmax(X), "logsumexp": lambda: nn.logsumexp(X, axis=1),
    "one_hot": lambda: nn.one_hot(jnp.arange(4), 5),
    "isclose": lambda: jnp.isclose(X, X + 1e-7), "allclose": lambda: jnp.allclose(X, X), "hypot": lambda: jnp.hypot(X, 3.0),
    "linspace": lambda: jnp.linspace(0, X, 5, axis=1), "tril": lambda: jnp.tril(X, -1), "triu": lambda: jnp.triu(X, 1),
    "take": lambda: jnp.take(X, jnp.array([3, -1, 99]), axis=1), "norm": lambda: jnp.linalg.norm(X, axis=0),
    "diff": lambda: jnp.diff(X, 2), "round": lambda: jnp.round(X, 2), "nanmean": lambda: jnp.nanmean(X, axis=0),
    "nanstd": lambda: jnp.nanstd(X, 1, ddof=1), "gelu": lambda: nn.gelu(X, approximate=False), "silu": lambda: nn.silu(X),
    "elu": lambda: nn.elu(X, 0.5), "glu": lambda: nn.glu(X[:, :8]), "sinc": lambda: jnp.sinc(X),
    "logaddexp": lambda: jnp.logaddexp(X, 1.0),
    "standardize": lambda: nn.standardize(X, axis=0),
    "trace": lambda: jnp.trace(X, 1), "diagonal": lambda: jnp.diagonal(X, -1), "diag": lambda: jnp.diag(X[0], 2),
    "cross": lambda: jnp.cross(X[:, :3], X[0, 3:6]), "kron": lambda: jnp.kron(X[:2], X[0]), "inner": lambda: jnp.inner(X, X),
    "vdot": lambda: jnp.vdot(X, 1j * X), "convolve": lambda: jnp.convolve(X[0], X[1, :4], "same"),
    "correlate": lambda: jnp.correlate(X[0], X[1, :4]), "trapezoid": lambda: jnp.trapezoid(X, dx=0.5, axis=0),
    "polyval": lambda: jnp.polyval(X[0], X), "interp": lambda: jnp.interp(X, jnp.arange(9.0), X[0], left=-1.0),
    "unwrap": lambda: jnp.unwrap(4 * X, axis=0), "searchsorted": lambda: jnp.searchsorted(jnp.sort(X[0]), X, side="right"),
    "digitize": lambda: jnp.digitize(X, jnp.arange(3)),
    "take_along_axis": lambda: jnp.take_along_axis(X, jnp.array([[3], [99]] * 3 + [[-1]]), axis=1),
    "einsum": lambda: jnp.einsum("ij,kj,k", X, X, X[:, 0]), "einsum_lists": lambda: jnp.einsum(X, [0, 1], X, [2, 1], [2, 0]),
    "det": lambda: jnp.linalg.det(S), "slogdet": lambda: jnp.linalg.slogdet(S)[1], "inv": lambda: jnp.linalg.inv(S),
    "solve": lambda: jnp.linalg.solve(S, X), "cholesky": lambda: jnp.linalg.cholesky(S, upper=True),
    "eigvalsh": lambda: jnp.linalg.eigvalsh(S), "eigh": lambda: jnp.linalg.eigh(S, "U").eigenvalues,
    "svd": lambda: jnp.linalg.svd(X, compute_uv=False), "svdvals": lambda: jnp.linalg.svdvals(X),
    "qr": lambda: jnp.abs(jnp.linalg.qr(X, mode="r")), "mean": lambda: jnp.mean(X, axis=1, keepdims=True),
}


@pytest.mark.parametrize("name", CALLS)
def test_values_are_those_of_the_operations(name: str) -> None:
    with disable_jit():
        expected = CALLS[name]()
    out = CALLS[name]()
    assert out.aval == expected.aval
    np.testing.assert_allclose(np.asarray(out), np.asarray(expected), rtol=2e-5, atol=2e-6)


def counted(f: Any) -> tuple[int, int]:
    """How often f compiles, and how many programs it runs."""
    compiled, run = events.counters().get("compile", 0), _native.counters()["executions"]
    nj.block_until_ready(f())
    return events.counters().get("compile", 0) - compiled, _native.counters()["executions"] - run


def test_one_program_per_signature() -> None:
    x = jnp.ones((3, 17))
    assert counted(lambda: nn.softmax(x)) == (1, 1)
    assert counted(lambda: nn.softmax(x)) == (0, 1)
    assert counted(lambda: nn.softmax(x, axis=0)) == (1, 1)
    assert counted(lambda: nn.softmax(x + 1, 0)) == (1, 1) or counted(lambda: nn.softmax(x + 1, 0)) == (0, 1)


def python_calls(f: Any) -> int:
    """How many functions written in Python a call of f runs, f itself included."""
    seen = []
    sys.setprofile(lambda frame, event, arg: seen.append(frame) if event == "call" else None)
    try:
        f()
    finally:
        sys.setprofile(None)
    return len(seen)


@pytest.mark.usefixtures("one_platform")
def test_repeated_calls_need_no_python() -> None:
    x, y = jnp.ones((2, 23)), np.ones((2, 23), np.float32)
    calls = [lambda: jnp.hypot(x, x), lambda: jnp.hypot(x, y), lambda: nn.softmax(x, axis=0), lambda: jnp.sinc(x),
             lambda: jnp.median(x, axis=1)]
    for f in calls:
        f(), f()
        assert python_calls(f) == 1
        assert counted(f) == (0, 1)
    with pytest.raises(TypeError, match="list"):
        jnp.median([1.0, 2.0])


def test_flags_and_transformations_are_seen_by_repeated_calls() -> None:
    x = jnp.full((2, 29), -1.0)
    roots = jit_when_eager()(lambda x: jnp.sqrt(x) + 1)
    for _ in range(3):
        assert np.isnan(roots(x)).all()
    with debug_nans(True), pytest.raises(FloatingPointError):
        roots(x)
    with disable_jit():
        assert counted(lambda: roots(x)) == (0, 0)
    np.testing.assert_allclose(nj.grad(lambda x: roots(x).sum())(-x), 0.5)


def test_histograms_and_interpolators_are_one_program() -> None:
    x, edges = jnp.linspace(0.0, 3.0, 31), jnp.array([0.0, 1.0, 2.5, 3.5])
    grid = RegularGridInterpolator((edges,), edges ** 2)
    numbers = np.asarray(x)
    for f, expected in (
            (lambda: jnp.histogram(x, edges), np.histogram(numbers, np.asarray(edges))),
            (lambda: jnp.histogram(x, 7, (0.5, 2.0), density=True), np.histogram(numbers, 7, (0.5, 2.0), density=True)),
            (lambda: (grid(x),), (np.interp(numbers, np.asarray(edges), np.asarray(edges) ** 2),))):
        assert counted(f) == (1, 1)
        assert counted(f) == (0, 1)
        for found, want in zip(f(), expected, strict=True):
            np.testing.assert_allclose(found, want, rtol=1e-5, atol=1e-6)


def test_operands_of_any_number() -> None:
    x = jnp.ones((3, 19))
    assert counted(lambda: jnp.einsum("ij,ij", x, x)) == (1, 1)
    assert counted(lambda: jnp.einsum("ij,ij", x, x)) == (0, 1)
    assert counted(lambda: jnp.einsum("ij,ij,ij", x, x, x, precision="highest"))[1] == 1


def test_inside_of_transformations_there_is_no_trace_of_it() -> None:
    names = [e.primitive.name for e in nj.make_jaxpr(jnp.isclose)(X, X).jaxpr.eqns]
    assert "jit" not in names and "is_finite" in names
    grads = nj.grad(lambda x: jnp.median(x) + nn.logsumexp(x))(X)
    np.testing.assert_allclose(float(grads.sum()), 2.0, rtol=1e-5)
    np.testing.assert_allclose(nj.vmap(jnp.median)(X), np.median(np.asarray(X), axis=1), rtol=1e-6)


def test_errors_are_those_of_the_function() -> None:
    with pytest.raises(TypeError, match="list"):
        jnp.median([1.0, 2.0])
    with pytest.raises(ValueError, match="non-negative"):
        jnp.linspace(0, 1, -1)
    with pytest.raises(ValueError, match="parameters"):
        jit_when_eager("nothing")(lambda x: x)


def test_arrays_and_lists_in_the_place_of_static_arguments() -> None:
    assert jnp.tril(X, jnp.int32(1)).tolist() == np.tril(np.asarray(X), 1).tolist()
    assert jnp.quantile(X, 0.5, axis=[0, 1]) == np.float32(np.median(np.asarray(X)))


@pytest.mark.parametrize("fun", [jnp.var, jnp.std, lambda x: jnp.clip(x, 0.1, 0.6),
                                 lambda x: jnp.roll(x, 3), lambda x: jnp.tile(x, 2)])
def test_some_only_for_large_arrays(fun: Any) -> None:
    small, large = (jnp.asarray(np.random.default_rng(1).random(n, np.float32)) for n in (LARGE // 3, LARGE))
    assert counted(lambda: fun(small)) == (0, 0)
    assert counted(lambda: fun(large)) == (1, 1)
    with disable_jit():
        expected = fun(large)
    np.testing.assert_allclose(fun(large), expected, rtol=1e-5)


def test_products_with_large_results_are_one_program() -> None:
    a = jnp.arange(float(LARGE // 128))
    assert counted(lambda: jnp.outer(a, a)) == (1, 1)
    assert jnp.outer(a, a)[3, 5] == 15


@pytest.mark.parametrize("axis", [jnp.array(0), (jnp.array(0),), (np.array(0), 1)], ids=["array", "tuple", "NumPy"])
def test_axes_that_are_arrays(axis):
    x = jnp.arange(6.0).reshape(2, 3)
    plain = tuple(map(int, axis)) if isinstance(axis, tuple) else int(axis)
    for f in (nj.nn.logsumexp, nj.nn.softmax, jnp.mean, jnp.std):
        np.testing.assert_allclose(f(x, axis=axis), f(x, axis=plain), rtol=1e-6, atol=1e-7)
        np.testing.assert_allclose(f(x, axis), f(x, plain), rtol=1e-6, atol=1e-7)


def test_objects_with_an_array_are_no_static_values():
    """Where a parameter takes text or an operand: `einsum` with lists of axes in place of subscripts."""
    class Wrapped:
        __hash__ = None

        def __init__(self, x):
            self.x = x

        def __jax_array__(self):
            return self.x

    x, y = np.ones((5, 3), np.float32), np.ones(3, np.float32)
    assert jnp.einsum(Wrapped(x), (0, 1), Wrapped(y), (1,), (0,)).tolist() == [3] * 5
