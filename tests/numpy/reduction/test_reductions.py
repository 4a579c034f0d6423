"""Reductions, statistics, quantiles and running sums against NumPy; masks, initial values, dtypes, derivatives, errors."""
import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import lax
from tests.numpy.helpers import assert_same, check, check_grad

RNG = np.random.default_rng(1)
X = RNG.uniform(-2, 2, (3, 4, 2)).astype(np.float32)
HOLES = np.where(RNG.random((3, 4, 2)) < 0.3, np.nan, X).astype(np.float32)
INTS = RNG.integers(-5, 9, (3, 4)).astype(np.int32)
MASK = RNG.random((3, 4, 2)) < 0.6
COMPLEX = (X[0] + 1j * X[1]).astype(np.complex64)
AXES = [None, 0, -1, (0, 2), (2, 0, 1), ()]


@pytest.mark.parametrize("axis", AXES, ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", "sum prod max min mean var std any all amax amin ptp median count_nonzero".split())
def test_axes(name, axis, keepdims):
    if axis == () and name in ("median", "ptp"):
        return
    want = getattr(np, name)(X, axis=axis, keepdims=keepdims)
    check(lambda x: getattr(jnp, name)(x, axis=axis, keepdims=keepdims), want, X)


NAMED = "sum max min mean var std amax nansum nanmean nanvar nanstd count_nonzero ptp".split()


@pytest.mark.parametrize("axis", ["batch", ("batch", 1), [0, "batch"], ("batch", 0, 1)], ids=str)
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("name", NAMED)
def test_named_axes(name, axis, keepdims):
    """Over the axis of an enclosing vmap: each element gets the reduction over it and axes of its own."""
    own = tuple(a for a in ((axis,) if isinstance(axis, str) else axis) if a != "batch")
    want = getattr(np, name)(X, axis=(0, *[a + 1 for a in own]), keepdims=True)[0]
    if not keepdims:
        want = want.squeeze(own) if own else want
    run = lambda f: f(lambda x: getattr(jnp, name)(x, axis=axis, keepdims=keepdims))
    for f in (run(lambda g: nj.vmap(g, axis_name="batch")), run(lambda g: nj.jit(nj.vmap(g, axis_name="batch")))):
        got = f(X)
        assert got.shape == (3, *want.shape)
        np.testing.assert_allclose(got, np.broadcast_to(want, got.shape), rtol=2e-6, atol=1e-6)


def test_named_axes_with_masks_dtypes_and_initial_values():
    both = lambda f, *xs: np.asarray(nj.vmap(f, axis_name="i")(*xs))[0]
    where = np.mean(X, axis=(0, 2), where=MASK)
    np.testing.assert_allclose(both(lambda x, m: jnp.mean(x, axis=("i", 1), where=m), X, MASK), where, rtol=1e-5)
    np.testing.assert_allclose(both(lambda x, m: jnp.var(x, axis=("i", 1), where=m, ddof=1), X, MASK),
                               np.var(X, axis=(0, 2), where=MASK, ddof=1), rtol=1e-5)
    np.testing.assert_allclose(both(lambda x: jnp.sum(x, axis="i", initial=2), X), np.sum(X, 0) + 2, rtol=1e-5)
    assert both(lambda x: jnp.sum(x > 0, axis="i", dtype=bool), X).dtype == bool
    assert both(lambda x: jnp.mean(x, axis=("i", 0, 1), dtype=jnp.float16), X).dtype == jnp.float16
    assert nj.vmap(lambda x: jnp.sum(x, axis="i"), axis_name="i")(INTS).dtype == jnp.int32
    two = nj.vmap(nj.vmap(lambda x: jnp.max(x, axis=("i", "j")), axis_name="j"), axis_name="i")(X)
    np.testing.assert_array_equal(two, np.broadcast_to(X.max((0, 1)), X.shape))


def test_gradients_over_named_axes_are_those_over_numbered_ones():
    normal = lambda x, axis: (x - jnp.mean(x, axis)) / jnp.sqrt(jnp.var(x, axis) + 1e-3)
    got = nj.grad(lambda x: jnp.sum(nj.vmap(lambda r: normal(r, "i"), axis_name="i")(x) ** 3))(X)
    np.testing.assert_allclose(got, nj.grad(lambda x: jnp.sum(normal(x, 0) ** 3))(X), rtol=1e-4, atol=1e-5)


def test_named_axes_that_are_errors():
    with pytest.raises(NameError, match="unbound axis name: i"):
        jnp.sum(X, axis="i")
    with pytest.raises(NotImplementedError, match=r"Named reductions not implemented for jnp.prod\(\).*all_gather"):
        nj.vmap(lambda x: jnp.prod(x, axis=("i", 0)), axis_name="i")(X)
    with pytest.raises(ValueError, match="duplicate value in 'axis'"):
        nj.vmap(lambda x: jnp.sum(x, axis=("i", "i")), axis_name="i")(X)
    with pytest.raises(TypeError, match="cannot be interpreted as an integer"):
        jnp.sum(X, axis=(0, 1.5))


@pytest.mark.parametrize("axis", [None, 0, -1])
@pytest.mark.parametrize("name", "argmax argmin nanargmax nanargmin".split())
def test_positions(name, axis):
    for x in (X, INTS, INTS > 0) if "nan" not in name else (X,):
        check(lambda v: getattr(jnp, name)(v, axis=axis), getattr(np, name)(x, axis=axis), x)
        check(lambda v: getattr(jnp, name)(v, axis=axis, keepdims=True),
              getattr(np, name)(x, axis=axis, keepdims=True), x)
    assert jnp.nanargmax(jnp.array([jnp.nan])).tolist() == -1


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("axis", [None, 0, (0, 2)], ids=str)
@pytest.mark.parametrize("name", "nansum nanprod nanmax nanmin nanmean nanvar nanstd nanmedian".split())
def test_without_nan(name, axis):
    check(lambda x: getattr(jnp, name)(x, axis=axis), getattr(np, name)(HOLES, axis=axis), HOLES)
    nothing = np.full((2, 2), np.nan, np.float32)
    assert_same(getattr(jnp, name)(nothing, axis=0), getattr(np, name)(nothing, axis=0))


@pytest.mark.parametrize("name", "sum prod max min mean var std any all nansum nanmax nanmean".split())
def test_masks(name):
    first = {"initial": np.float32(-3)} if name in ("max", "min", "nanmax") else {}
    want = getattr(np, name)(X, axis=1, where=MASK, **first)
    check(lambda x, m: getattr(jnp, name)(x, axis=1, where=m, **first), want, X, MASK)


@pytest.mark.parametrize("dtype, result", [("int8", "int32"), ("uint8", "uint32"), ("bool", "int32"), ("float16", "float16"),
                                           ("bfloat16", "bfloat16"), ("int32", "int32"), ("complex64", "complex64")])
def test_dtypes_of_sums(dtype, result):
    x = jnp.array([1, 0, 1]).astype(dtype)
    assert jnp.sum(x).dtype == result and jnp.prod(x).dtype == result
    assert jnp.sum(x, promote_integers=False).dtype == ("int32" if dtype == "bool" else dtype)
    assert jnp.sum(x, dtype=float).dtype == "float32"
    assert jnp.max(x).dtype == dtype


def test_half_precision_is_summed_in_single():
    assert jnp.mean(jnp.full(100, 60000.0, "float16")).tolist() == 60000.0
    assert jnp.var(jnp.array([60000.0, 60008.0], "float16")).dtype == "float16"
    assert np.isinf(np.asarray(jnp.sum(jnp.full(4, 60000.0, "float16"))))


def test_results_are_not_weakly_typed():
    x = jnp.full(3, 1.0)
    assert x.weak_type
    for fn in (jnp.sum, jnp.max, jnp.mean, jnp.var, jnp.prod, jnp.cumsum):
        assert not fn(x).weak_type


def test_initial_and_complex():
    check(lambda x: jnp.sum(x, initial=5), np.sum(X, initial=5), X)
    check(lambda x: jnp.prod(x, axis=0, initial=2), np.prod(X, axis=0, initial=2), X)
    check(lambda x: jnp.max(x, axis=0, initial=0.5), np.max(X, axis=0, initial=0.5), X)
    for name in ("sum", "prod", "mean", "var", "std"):
        check(getattr(jnp, name), getattr(np, name)(COMPLEX), COMPLEX)
    check(lambda x: jnp.var(x, axis=0, ddof=1), np.var(X, axis=0, ddof=1), X)
    check(lambda x: jnp.std(x, correction=2), np.std(X, ddof=2), X)
    assert np.isnan(jnp.var(X, ddof=24)) and np.isnan(jnp.mean(jnp.zeros(0)))
    check(lambda x: jnp.var(x, axis=1, mean=jnp.mean(x, axis=1, keepdims=True)), np.var(X, axis=1), X)
    check(lambda x, d: jnp.var(x, axis=0, ddof=d), np.var(X, axis=0, ddof=1), X, np.int32(1))


@pytest.mark.parametrize("axis", [None, 0, 1])
@pytest.mark.parametrize("name", "cumsum cumprod nancumsum nancumprod".split())
def test_running(name, axis):
    for x in (X, INTS) if "nan" not in name else (HOLES,):
        check(lambda v: getattr(jnp, name)(v, axis=axis), getattr(np, name)(x, axis=axis), x, rtol=1e-4)


def test_cumulative_sum_and_prod():
    check(lambda x: jnp.cumulative_sum(x, axis=1, include_initial=True), np.cumulative_sum(X, axis=1, include_initial=True), X)
    check(lambda x: jnp.cumulative_prod(x, axis=0), np.cumulative_prod(X, axis=0), X)
    assert jnp.cumsum(jnp.array([True, True])).tolist() == [1, 2] and jnp.cumsum(3.0).tolist() == [3.0]
    assert jnp.cumulative_sum(jnp.array([0.0, 0.1, 0.0]), dtype=bool).tolist() == [False, True, True]
    with pytest.raises(ValueError, match="axis"):
        jnp.cumulative_sum(X)


def test_average():
    w = np.array([1, 2, 3, 4], np.float32)
    check(lambda x: jnp.average(x, axis=1, weights=w), np.average(X, axis=1, weights=w), X)
    got = jnp.average(X, axis=(0, 1), weights=X[..., 0], returned=True)
    for g, want in zip(got, np.average(X, axis=(0, 1), weights=X[..., 0], returned=True), strict=True):
        assert_same(g, want, rtol=1e-4)
    check(lambda x: jnp.average(x, axis=0, keepdims=True), np.average(X, axis=0, keepdims=True), X)
    with pytest.raises(ValueError, match="Axis must be specified"):
        jnp.average(X, weights=w)
    with pytest.raises(ValueError, match="consistent"):
        jnp.average(X, axis=0, weights=w)


METHODS = ("linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation "
           "interpolated_inverted_cdf hazen weibull median_unbiased normal_unbiased").split()


@pytest.mark.parametrize("method", METHODS)
def test_quantiles(method):
    for q in (0.3, np.array([0, 0.25, 0.5, 0.99, 1])):
        for axis in (None, 1, (0, 2)):
            want = np.quantile(X.astype(np.float64), q, axis=axis, method=method).astype(np.float32)
            check(lambda x, q=q, axis=axis: jnp.quantile(x, q, axis=axis, method=method), want, X, rtol=1e-5)
    want = np.nanquantile(HOLES.astype(np.float64), [0.2, 0.7], axis=1, method=method).astype(np.float32)
    check(lambda x: jnp.nanquantile(x, jnp.array([0.2, 0.7]), axis=1, method=method), want, HOLES, rtol=1e-5)


def test_percentiles_medians_and_weights():
    check(lambda x: jnp.percentile(x, 30, axis=1, keepdims=True), np.percentile(X, 30, axis=1, keepdims=True), X)
    check(lambda x: jnp.nanpercentile(x, np.array([10, 90])), np.nanpercentile(HOLES, [10, 90]), HOLES, dtype=False, rtol=1e-5)
    w = np.array([0, 3, 1, 2], np.float32)
    want = np.quantile(X, 0.4, axis=1, weights=w, method="inverted_cdf")
    check(lambda x: jnp.quantile(x, 0.4, axis=1, weights=w, method="inverted_cdf"), want, X)
    assert jnp.median(jnp.array([1.0, jnp.inf, jnp.inf])).tolist() == np.inf
    assert np.isnan(jnp.median(jnp.array([1.0, jnp.nan]))) and np.isnan(jnp.median(jnp.zeros(0)))
    assert jnp.median(jnp.array([4, 1, 3])).dtype == "float32"


@pytest.mark.parametrize("fn", [
    lambda x: jnp.sum(x, axis=1), lambda x: jnp.prod(x, axis=0), lambda x: jnp.max(x, axis=1),
    lambda x: jnp.mean(x, axis=(0, 2)), lambda x: jnp.var(x, axis=1), lambda x: jnp.std(x, ddof=1),
    lambda x: jnp.cumsum(x, axis=1), lambda x: jnp.cumprod(x, axis=2),
    lambda x: jnp.median(x, axis=1), lambda x: jnp.quantile(x, 0.3), lambda x: jnp.nanmean(x), lambda x: jnp.ptp(x, axis=1),
    lambda x: jnp.average(x, axis=1, weights=jnp.arange(1.0, 5.0)), lambda x: jnp.sum(x, where=MASK)])
def test_derivatives(fn):
    check_grad(fn, X, eps=1e-3)


def test_derivatives_at_special_points():
    np.testing.assert_allclose(nj.grad(jnp.max)(jnp.array([1.0, 2.0, 2.0])), [0, 0.5, 0.5])
    np.testing.assert_allclose(nj.grad(jnp.prod)(jnp.array([0.0, 2.0, 3.0])), [6, 0, 0])
    np.testing.assert_allclose(nj.grad(jnp.nansum)(jnp.array([1.0, jnp.nan])), [1, 0])


def test_means_in_integers_convert_the_elements_first():
    assert jnp.mean(jnp.array([0.5, 0.5, 2.0]), dtype=int).tolist() == np.mean([0.5, 0.5, 2.0], dtype=int) == 0
    assert jnp.mean(jnp.array([100, 101, -300]), dtype="int32").tolist() == -33


def test_vmap():
    assert_same(nj.vmap(lambda x: jnp.var(x, axis=0))(X), np.var(X, axis=1))
    assert_same(nj.vmap(lambda x: jnp.median(x), in_axes=2)(X), np.median(X, axis=(0, 1)))
    assert_same(nj.vmap(jnp.argmax, in_axes=1)(X), np.array([np.argmax(X[:, k]) for k in range(4)]))


@pytest.mark.parametrize("call, error, text", [
    (lambda: jnp.sum([1]), TypeError, "sum requires ndarray or scalar"),
    (lambda: jnp.sum(X, axis=3), ValueError, "axis 3 is out of bounds for array of dimension 3"),
    (lambda: jnp.sum(X, axis=(0, 0)), ValueError, "duplicate value in 'axis'"),
    (lambda: jnp.sum(X, axis=1.5), TypeError, "float"),
    (lambda: jnp.sum(X, out=X), NotImplementedError, "The 'out' argument to jnp.sum is not supported"),
    *[(lambda f=f: getattr(jnp, f)(X, where=INTS), ValueError, f"jnp.{f}: where must be None or a boolean array, got dtype int")
      for f in "sum prod mean var std nansum nanprod nanmean nanvar nanstd all any".split()],
    (lambda: jnp.nanmax(X, where=INTS, initial=0.0), ValueError, "jnp.nanmax: where must be None or a boolean array"),
    (lambda: jnp.sum(X, initial=X), ValueError, "initial value must be a scalar. Got array of shape"),
    (lambda: jnp.cov(X[0], dtype=int), ValueError, "cov: dtype must be a subclass of float or complex"),
    (lambda: jnp.cumulative_sum(3.0), ValueError, "The input must be non-scalar to take a cumulative sum"),
    (lambda: jnp.max(jnp.zeros(0)), ValueError, "zero-size array to reduction operation max which has no identity"),
    (lambda: jnp.max(X, where=MASK), ValueError, "initial"),
    (lambda: jnp.argmax(jnp.zeros((2, 0)), axis=1), ValueError, "attempt to get argmax of an empty sequence"),
    (lambda: jnp.var(X, ddof=1, correction=1), ValueError, "correction"),
    (lambda: jnp.quantile(X, 0.5, method="best"), ValueError, "method can only be"),
    (lambda: jnp.quantile(1j, 0.5), ValueError, "complex"),
    (lambda: jnp.quantile(X, np.ones((2, 2))), ValueError, "rank"),
    (lambda: jnp.quantile(X, 0.5, out=X), ValueError, "quantile does not support overwrite_input=True or out != None"),
    (lambda: jnp.median(X, overwrite_input=True), ValueError, "does not support overwrite_input=True or out != None"),
    (lambda: jnp.max(X, where=[True]), TypeError, "max requires ndarray or scalar"),
    (lambda: jnp.cov(np.ones((2, 2, 2))), ValueError, "m has more than 2 dimensions"),
    (lambda: jnp.cov(INTS[0], np.ones((2, 2, 2))), ValueError, "y has more than 2 dimensions"),
    (lambda: jnp.cov(INTS[0, 0], fweights=jnp.ones((1, 4), int)), RuntimeError, "cannot handle multidimensional fweights"),
    (lambda: jnp.cov(INTS[0, 0], aweights=jnp.ones(9)), RuntimeError, "incompatible numbers of samples and aweights"),
    (lambda: jnp.quantile(X, 0.5, weights=X), NotImplementedError, "inverted_cdf"),
])
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_programs_are_small():
    assert len(nj.make_jaxpr(jnp.sum)(X).eqns) == 1
    assert [e.primitive.name for e in nj.make_jaxpr(jnp.mean)(X).eqns] == ["reduce_sum", "div"]
    names = [e.primitive.name for e in nj.make_jaxpr(jnp.var)(X).eqns]
    assert names == ["reduce_sum", "div", "sub", "square", "reduce_sum", "div"]


def test_variances_without_degrees_of_freedom_have_no_slope():
    for x, options in ((np.float32([3]), {"ddof": 1}), (X[0, 0], {"ddof": 9}), (X[0, 0], {"where": np.zeros(2, bool)})):
        variance = lambda x, options=options: jnp.nanvar(x, **options)
        assert np.isnan(variance(x)) and not nj.grad(variance)(x).any() and not nj.jit(nj.grad(variance))(x).any()


@pytest.mark.parametrize("name", ["var", "std", "nanvar", "nanstd"])
def test_spreads_have_the_dtype_asked_for(name):
    spread, x = getattr(jnp, name), np.array([1.0, 2.0, 4.0], np.float32)
    found = spread(x, dtype=complex)
    np.testing.assert_allclose(found, getattr(np, name)(x), rtol=1e-6)
    assert found.dtype.kind == "c"
    with pytest.raises(ValueError, match="real dtypes for complex arrays"):
        spread(x + 1j, dtype=np.float32)


@pytest.mark.parametrize("x, want", [
    ([np.inf, 1], [1.75, 1]), ([1, np.inf], [1.75, 1]), ([0, np.inf], [1.75, 1]), ([5], [0]),
    ([np.inf, 1, 2, 3], [15.5, np.inf, np.inf, np.inf]), ([2, -np.inf, 3], [-np.inf, 6.5, -np.inf]),
    ([2, 0, 0, 3], [0, 9, 7.5, 0])])
def test_second_derivatives_of_products_with_zeros_and_infinities(x, want):
    x, direction = np.array(x, np.float32), np.linspace(1, 1.75, len(x), dtype=np.float32)
    slope = nj.grad(jnp.prod)
    forward = lambda x: nj.jvp(slope, (x,), (direction,))[1]
    reverse = nj.grad(lambda x: jnp.vdot(slope(x), direction))
    for call in (forward, reverse, nj.jit(lambda x: (forward(x), reverse(x)))):
        for found in np.reshape(call(x), (-1, len(x))):
            np.testing.assert_allclose(found, want, rtol=1e-6)


@pytest.mark.parametrize("x, want", [
    ([np.inf, 1], [3.0625, 1.75]), ([np.inf, np.inf], [3.0625, 1.75]), ([1, np.inf, 2], [np.inf, 7.9375, np.inf]),
    ([2, 1, np.inf], [np.inf, np.inf, 6.5625]), ([np.inf, 0, 2], [6.703125, np.inf, np.inf]),
    ([1, -np.inf, 2, 3], [-np.inf, 31, -np.inf, -np.inf]), ([2, 0, 3], [9.109375, 12.75, 4.8125]), ([5], [0])])
def test_second_derivatives_of_running_products_with_zeros_and_infinities(x, want):
    """What is constant at the ends of the scan is not multiplied by infinities."""
    x, direction = np.array(x, np.float32), np.linspace(1, 1.75, len(x), dtype=np.float32)
    for scan, turned in ((jnp.cumprod, slice(None)), (lambda x: lax.cumprod(x, reverse=True), slice(None, None, -1))):
        slope = nj.grad(lambda x, scan=scan, turned=turned: jnp.vdot(scan(x), direction[turned]))
        forward = lambda x, slope=slope, turned=turned: nj.jvp(slope, (x,), (direction[turned],))[1]
        for call in (forward, nj.jit(forward)):
            np.testing.assert_allclose(call(x[turned])[turned], want, rtol=1e-6)


def test_second_derivatives_of_products_of_symbolic_sizes():
    """Of any number of elements, also none; the ends are found without cutting the array."""
    slope = nj.grad(jnp.prod)
    second = lambda x: nj.jvp(slope, (x,), (jnp.ones_like(x),))[1]
    sizes = nj.ShapeDtypeStruct(nj.export.symbolic_shape("n - 1"), np.float32)
    exported = nj.export.export(nj.jit(second))(sizes)
    for x in ([np.inf, 1], [2, -np.inf, 3], [2, 0, 0, 3], [5], []):
        x = np.array(x, np.float32)
        np.testing.assert_array_equal(exported.call(x), second(x))
        assert np.isfinite(x).all() or not np.isnan(second(x)).any()
