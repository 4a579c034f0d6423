"""numjet.nn: values of JAX 0.10, derivatives at special points, errors."""
import math

import numpy as np
import pytest

import numjet as nj
import numjet.numpy as jnp
from numjet import nn, random
from numjet.nn import initializers, scaled_products

X = (-5.0, -1.0, -0.5, 0.0, 0.5, 2.0, 7.0)
# name: values at X, slopes at X, of JAX
ACTIVATIONS = {
    "celu": ([-0.9932621, -0.6321205, -0.3934693, 0, 0.5, 2, 7],
        [0.006737947, 0.3678795, 0.6065307, 1, 1, 1, 1]),
    "elu": ([-0.9932621, -0.6321205, -0.3934693, 0, 0.5, 2, 7],
        [0.006737947, 0.3678795, 0.6065307, 1, 1, 1, 1]),
    "gelu": ([-0, -0.158808, -0.154286, 0, 0.345714, 1.954598, 7],
        [0, -0.08296407, 0.1326301, 0.5, 0.8673699, 1.086099, 1]),
    "hard_sigmoid": ([0, 0.3333333, 0.4166667, 0.5, 0.5833334, 0.8333334, 1],
        [0, 0.1666667, 0.1666667, 0.1666667, 0.1666667, 0.1666667, 0]),
    "hard_silu": ([-0, -0.3333333, -0.2083333, 0, 0.2916667, 1.666667, 7],
        [0, 0.1666667, 0.3333333, 0.5, 0.6666667, 1.166667, 1]),
    "hard_tanh": ([-1, -1, -0.5, 0, 0.5, 1, 1],
        [0, 1, 1, 1, 1, 0, 0]),
    "leaky_relu": ([-0.05, -0.01, -0.005, 0, 0.5, 2, 7],
        [0.01, 0.01, 0.01, 1, 1, 1, 1]),
    "log_sigmoid": ([-5.006715, -1.313262, -0.974077, -0.6931472, -0.474077, -0.126928, -0.0009114665],
        [0.9933072, 0.7310585, 0.6224594, 0.5, 0.3775407, 0.1192029, 0.0009110514]),
    "mish": ([-0.03357624, -0.3034014, -0.2207438, 0, 0.3752452, 1.943959, 6.999989],
        [-0.0267475, 0.05921675, 0.2895107, 0.6, 0.8864244, 1.069318, 1.00002]),
    "relu": ([0, 0, 0, 0, 0.5, 2, 7],
        [0, 0, 0, 0, 1, 1, 1]),
    "relu6": ([0, 0, 0, 0, 0.5, 2, 6],
        [0, 0, 0, 0, 1, 1, 0]),
    "selu": ([-1.746253, -1.111331, -0.6917582, 0, 0.5253505, 2.101402, 7.354907],
        [0.01184598, 0.6467686, 1.066341, 1.758099, 1.050701, 1.050701, 1.050701]),
    "sigmoid": ([0.006692851, 0.2689414, 0.3775407, 0.5, 0.6224594, 0.880797, 0.999089],
        [0.006648057, 0.1966119, 0.2350037, 0.25, 0.2350037, 0.1049936, 0.0009101675]),
    "silu": ([-0.03346425, -0.2689414, -0.1887703, 0, 0.3112297, 1.761594, 6.993623],
        [-0.02654743, 0.07232949, 0.2600388, 0.5, 0.7399612, 1.090784, 1.00546]),
    "soft_sign": ([-0.8333333, -0.5, -0.3333333, 0, 0.3333333, 0.6666667, 0.875],
        [0.02777778, 0.25, 0.4444445, 1, 0.4444445, 0.1111111, 0.015625]),
    "softplus": ([0.006715348, 0.3132617, 0.474077, 0.6931472, 0.974077, 2.126928, 7.000911],
        [0.006692851, 0.2689414, 0.3775407, 0.5, 0.6224594, 0.880797, 0.9990892]),
    "sparse_plus": ([0, 0, 0.0625, 0.25, 0.5625, 2, 7],
        [0, 0, 0.25, 0.5, 0.75, 1, 1]),
    "sparse_sigmoid": ([0, 0, 0.25, 0.5, 0.75, 1, 1],
        [0, 0.25, 0.5, 0.5, 0.5, 0, 0]),
    "squareplus": ([0.1925824, 0.618034, 0.7807764, 1, 1.280776, 2.414214, 7.140055],
        [0.03576166, 0.2763932, 0.3787322, 0.5, 0.6212678, 0.8535534, 0.9807619]),
    "tanh": ([-0.9999092, -0.7615942, -0.4621172, 0, 0.4621172, 0.9640276, 0.9999983],
        [0.000181675, 0.4199743, 0.7864478, 1, 0.7864477, 0.07065082, 3.337857e-06]),
}


@pytest.mark.parametrize("name", ACTIVATIONS)
def test_activations(name):
    values, slopes = ACTIVATIONS[name]
    fn, x = getattr(nn, name), jnp.array(X)
    np.testing.assert_allclose(fn(x), values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nj.jit(fn)(x), values, rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(nj.vmap(nj.grad(fn))(x), slopes, rtol=1e-4, atol=3e-6)
    with pytest.raises(TypeError, match="list"):
        fn([1.0])


def test_infinite_arguments():
    ends = jnp.array([-math.inf, math.inf])
    for fn, want in ((nn.softplus, [0, math.inf]), (nn.sigmoid, [0, 1]), (nn.log_sigmoid, [-math.inf, 0]), (nn.elu,
                                                                                                            [-1, math.inf])):
        assert fn(ends).tolist() == want


def test_exact_gelu_and_glu():
    np.testing.assert_allclose(nn.gelu(1.0, approximate=False), 0.8413447, rtol=1e-6)
    np.testing.assert_allclose(nn.glu(jnp.array([[1.0, 2.0, 0.0, 1.0]])), [[0.5, 2 / (1 + math.exp(-1))]], rtol=1e-6)
    with pytest.raises(AssertionError, match="divisible by 2"):
        nn.glu(jnp.ones(3))


@pytest.mark.parametrize("x, size, kwargs, want", [
    ([0, 2, 5, -1], 3, {}, [[1, 0, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]]),
    ([0, 1], 2, {"axis": 0, "dtype": "int8"}, [[1, 0], [0, 1]]), ([1], 300, {"dtype": bool}, [[n == 1 for n in range(300)]])])
def test_one_hot(x, size, kwargs, want):
    got = nn.one_hot(jnp.array(x), size, **kwargs)
    assert got.tolist() == want and got.dtype == kwargs.get("dtype", "float32")


# ---------------------------------------------------------------------------------------- sums of exponentials

INF = math.inf


def test_logsumexp():
    x = jnp.array([[1000.0, 1000.0], [-INF, -INF], [INF, 0.0], [0.0, math.log(3)]])
    np.testing.assert_allclose(nn.logsumexp(x, 1), [1000 + math.log(2), -INF, INF, math.log(4)], rtol=1e-6)
    assert nn.logsumexp(x, axis=(0, 1), keepdims=True).shape == (1, 1)
    value, sign = nn.logsumexp(x[3], b=jnp.array([1.0, -1.0]), return_sign=True)
    np.testing.assert_allclose([value, sign], [math.log(2), -1], rtol=1e-6)
    assert math.isnan(float(nn.logsumexp(x[3], b=jnp.array([1.0, -1.0]))))
    np.testing.assert_allclose(nn.logsumexp(x[0], b=jnp.array([0.0, 2.0])), 1000 + math.log(2), rtol=1e-6)
    np.testing.assert_allclose(nn.logsumexp(x[3], where=jnp.array([True, False])), 0.0, atol=1e-6)
    np.testing.assert_allclose(nn.logmeanexp(x[3]), math.log(2), rtol=1e-6)
    assert float(nn.logsumexp(jnp.zeros(0))) == -INF


def test_logsumexp_of_complex_numbers_under_strict_promotion():
    x, b = np.array([1 + 2j, 3 - 1j], np.complex64), np.array([1, 2 - 1j], np.complex64)
    total = np.sum(b * np.exp(x))
    with nj.numpy_dtype_promotion("strict"):
        np.testing.assert_allclose(nn.logsumexp(x, b=b), np.log(total), rtol=1e-6)
        np.testing.assert_allclose(nn.logsumexp(x, where=np.array([True, False])), x[0], rtol=1e-6)
        value, sign = nn.logsumexp(x, b=b, return_sign=True)
    assert value.dtype == np.float32 and sign.dtype == np.complex64
    np.testing.assert_allclose(sign * np.exp(value), total, rtol=1e-6)


def test_masked_integers_are_as_wide_as_beside_an_infinity():
    mask, expected = np.array([True, False]), {"int32": (8, 8, 4), "uint8": (8, 8, 4), "bool": (8, 8, 8), "float16": (2, 2, 2)}
    with nj.enable_x64(True):
        for dtype, sizes in expected.items():
            x = jnp.ones(2, dtype)
            assert tuple(f(x, where=mask).dtype.itemsize for f in (nn.softmax, nn.log_softmax, nn.logsumexp)) == sizes
            assert nn.logsumexp(x).dtype.itemsize == (2 if dtype == "float16" else 4)
        assert all(f(np.array([True])).aval.weak_type for f in (nn.softplus, nn.soft_sign, nn.mish))


def test_sigmoid_of_complex_numbers_far_left_is_zero():
    z = np.array([-INF, complex(-INF, 1), complex(-INF, INF), -200 + 1j, -1 - 2j, 200 + 1j, complex(INF, 1)], np.complex64)
    want = [0, 0, 0, 0, 1 / (1 + np.exp(1 + 2j)), 1, 1]
    for sigmoid in (nn.sigmoid, nj.jit(nn.sigmoid)):
        np.testing.assert_allclose(sigmoid(z), want, rtol=1e-6)
    np.testing.assert_array_equal(nj.vmap(nj.grad(nn.sigmoid, holomorphic=True))(z[:4]), [0] * 4)


def test_logsumexp_derivatives_are_softmax():
    x = jnp.array([0.3, -INF, 2.0])
    for grad in (nj.jacfwd(nn.logsumexp), nj.jacrev(nn.logsumexp)):
        np.testing.assert_allclose(grad(x), nn.softmax(x), rtol=1e-6)


def test_softmax():
    x = jnp.array([[1.0, 2.0, 3.0], [1000.0, 0.0, -1000.0]])
    weights = np.exp([1.0, 2.0, 3.0])
    np.testing.assert_allclose(nn.softmax(x), [weights / weights.sum(), [1, 0, 0]], rtol=1e-6)
    np.testing.assert_allclose(nn.log_softmax(x), [np.log(weights / weights.sum()), [0, -1000, -2000]], rtol=1e-6)
    masked = nn.softmax(x[0], where=jnp.array([True, False, True]))
    np.testing.assert_allclose(masked, np.array([weights[0], 0, weights[2]]) / (weights[0] + weights[2]), rtol=1e-6)
    assert nn.log_softmax(x[0], where=jnp.array([True, False, True])).tolist()[1] == -INF
    assert np.isnan(nn.softmax(jnp.array([-INF, -INF]))).all()
    assert nn.softmax(jnp.ones((2, 3), "bfloat16"), axis=(0, 1)).dtype == jnp.bfloat16


@pytest.mark.parametrize("first", [INF, -INF, np.nan])
def test_what_a_mask_leaves_out_of_softmax_has_slopes_of_0_beside_nan(first):
    mask, x = jnp.array([True, False]), jnp.array([first, 1.0])
    f = lambda x: nn.softmax(x, where=mask)
    g = nj.grad(lambda x: jnp.sum(f(x) * jnp.array([1.0, 3.0])))
    for slopes in (g(x), nj.jit(g)(x), nj.jvp(f, (x,), (x,))[1], nj.jvp(g, (x,), (x,))[1]):
        assert np.isnan(slopes[0]) and slopes[1] == 0


@pytest.mark.parametrize("fn", [nn.softmax, nn.log_softmax, nn.standardize])
def test_second_derivatives(fn):
    with nj.enable_x64(True):
        x, step = np.array([0.3, -1.2, 2.0]), 1e-6
        slope = lambda x: np.asarray(nj.grad(lambda x: (fn(x) ** 3).sum())(jnp.array(x)))
        want = [(slope(x + step * e) - slope(x - step * e)) / (2 * step) for e in np.eye(3)]
        np.testing.assert_allclose(nj.hessian(lambda x: (fn(x) ** 3).sum())(jnp.array(x)), want, rtol=1e-5, atol=1e-6)


def test_standardize():
    x = jnp.array([1.0, 2.0, 4.0])
    want = (np.asarray(x) - 7 / 3) / np.sqrt(np.var(x) + 1e-5)
    for algorithm in ("fast", "stable"):
        np.testing.assert_allclose(nn.standardize(x, algorithm=algorithm), want, rtol=1e-5)
    np.testing.assert_allclose(nn.standardize(x, mean=1.0, variance=4.0, epsilon=0.0), [0, 0.5, 1.5], rtol=1e-6)
    with pytest.raises(ValueError, match="algorithm"):
        nn.standardize(x, algorithm="slow")


# ---------------------------------------------------------------------------------------- attention

def _reference(q, k, v, counted):
    """One head after the other."""
    out = np.zeros(q.shape)
    for b in range(q.shape[0]):
        for n in range(q.shape[2]):
            head = n // (q.shape[2] // k.shape[2])
            scores = q[b, :, n] @ k[b, :, head].T / math.sqrt(q.shape[3])
            weights = np.exp(scores) * counted[b]
            out[b, :, n] = weights / weights.sum(1, keepdims=True) @ v[b, :, head]
    return out


def test_attention():
    q, k, v = (np.asarray(random.normal(random.key(i), s)) for i, s in enumerate([(2, 4, 6, 8), (2, 5, 3, 8), (2, 5, 3, 8)]))
    row, column = np.indices((4, 5))
    every = np.ones((2, 4, 5), bool)
    near = (row <= column + 1) & (row >= column - 2)
    short = np.stack([column < 3, column < 5])
    mask = np.ones((2, 1, 4, 5), bool)
    mask[1, 0, :, 2] = False
    bias = np.where(mask, 0.0, -1e9).astype("float32")
    for kwargs, counted in (({}, every), ({"is_causal": True}, every & (row >= column)), ({"local_window_size": (1,
                                                                                                                 2)},
                                                                                                                 every & near),
                            ({"key_value_seq_lengths": jnp.array([3, 5])}, short), ({"mask": mask}, mask[:, 0]),
                            ({"bias": bias}, mask[:, 0])):
        got = nn.dot_product_attention(q, k, v, **kwargs)
        np.testing.assert_allclose(got, _reference(q, k, v, counted), rtol=2e-4, atol=1e-5)
    one = nn.dot_product_attention(q[0], k[0], v[0])
    np.testing.assert_allclose(one, _reference(q, k, v, every)[0], rtol=2e-4, atol=1e-5)
    masked = nn.dot_product_attention(q, k, v, query_seq_lengths=jnp.array([1, 4]))
    assert not np.asarray(masked)[0, 1:].any()
    assert nn.dot_product_attention(q, k, v, return_residual=True)[1].shape == (2, 4, 6)


@pytest.mark.parametrize("change, text", [
    ({"key": np.ones((2, 5, 4, 8)), "value": np.ones((2, 5, 4, 8))}, "multiple"), ({"value": np.ones((2, 5, 2, 8))},
                                                                                   "value shape"),
    ({"mask": np.ones((2, 1, 4, 5))}, "bool"), ({"implementation": "x"}, "implementation"), ({"bias": np.ones((2, 2,
                                                                                                               4,
                                                                                                               5))}, "bias")])
def test_attention_errors(change, text):
    args = {"query": np.ones((2, 4, 6, 8)), "key": np.ones((2, 5, 3, 8)), "value": np.ones((2, 5, 3, 8)), **change}
    with pytest.raises(ValueError, match=text):
        nn.dot_product_attention(**args)


@pytest.mark.parametrize("odd", ["query", "value"])
def test_attention_has_the_keys_dtype_and_batch(odd):
    args = {name: jnp.ones((2, 4, 2, 8)) for name in ("query", "key", "value")}
    with pytest.raises(ValueError, match=f"{odd} dtype should be float32, but got float16"):
        nn.dot_product_attention(**{**args, odd: args[odd].astype("float16")})
    with pytest.raises(ValueError, match=f"{odd} shape should be"):
        nn.dot_product_attention(**{**args, odd: args[odd][:1]})
    with pytest.raises(ValueError, match=f"{odd}.* ndim should be"):
        nn.dot_product_attention(**args, query_seq_lengths=3) if odd == "query" else \
            nn.dot_product_attention(**{**args, odd: args[odd][None]})


def test_attention_of_operands_without_some_leading_axes():
    x = jnp.arange(16.0).reshape(2, 8) / 16
    assert nn.dot_product_attention(x, x, x).shape == (2, 8)
    y = jnp.ones((4, 2, 8))
    assert nn.dot_product_attention(y[None], y, y).shape == (1, 4, 2, 8)


# ---------------------------------------------------------------------------------------- initializers

INITIAL = {
    "glorot_normal": [[-0.9490191, 1.001663, 0.2619268], [1.211333, -0.4011219, 0.1436258]],
    "glorot_uniform": [[-0.9332041, 0.9599262, 0.3263485], [1.042033, -0.48555, 0.1817082]],
    "he_normal": [[-1.500531, 1.583768, 0.4141426], [1.915285, -0.6342295, 0.2270923]],
    "he_uniform": [[-1.475525, 1.517776, 0.5160022], [1.647599, -0.7677219, 0.2873059]],
    "lecun_normal": [[-1.061036, 1.119893, 0.292843], [1.354311, -0.448468, 0.1605785]],
    "lecun_uniform": [[-1.043354, 1.07323, 0.3648687], [1.165029, -0.5428614, 0.203156]],
    "normal": [[-0.01446257, 0.01539381, 0.003825062], [0.01970702, -0.005876674, 0.002094156]],
    "orthogonal": [[-0.8998209, 0.2379848, -0.3656303], [0.2803364, 0.9575866, -0.06662874]],
    "truncated_normal": [[-0.01319906, 0.01393123, 0.003642905], [0.01684734, -0.005578846, 0.001997562]],
    "uniform": [[0.0007405257, 0.009381443, 0.00648957], [0.009756209, 0.002783778, 0.005829381]],
}


@pytest.mark.parametrize("name", INITIAL)
def test_initializers_are_those_of_jax(name):
    np.testing.assert_allclose(getattr(initializers, name)()(random.key(3), (2, 3)), INITIAL[name], rtol=2e-5, atol=1e-6)


@pytest.mark.parametrize("distribution", ["normal", "uniform", "truncated_normal"])
@pytest.mark.parametrize("dtype", ["float32", "complex64"])
def test_variance(distribution, dtype):
    init = initializers.variance_scaling(2.0, "fan_avg", distribution, in_axis=0, out_axis=1, batch_axis=2)
    x = np.asarray(init(random.key(0), (40, 60, 30), dtype))
    assert x.dtype == dtype
    assert abs((abs(x) ** 2).mean() / (2 / 50) - 1) < 0.03


def test_orthogonal_initializers():
    q = np.asarray(initializers.orthogonal(2.0, 0)(random.key(0), (3, 2, 4)), np.float64).reshape(3, 8)
    np.testing.assert_allclose(q @ q.T, 4 * np.eye(3), atol=1e-5)
    d = np.asarray(initializers.delta_orthogonal()(random.key(0), (3, 3, 2, 4)), np.float64)
    np.testing.assert_allclose(d[1, 1] @ d[1, 1].T, np.eye(2), atol=1e-5)
    assert abs(d).sum() == abs(d[1, 1]).sum()


def test_constant_initializers():
    assert initializers.zeros(None, (2,)).tolist() == [0, 0]
    assert initializers.ones(None, (2,), "int32").dtype == "int32"
    assert initializers.constant(jnp.array([1.0, 2.0]))(None, (2,)).tolist() == [1, 2]


@pytest.mark.parametrize("make, shape, text", [
    (lambda: initializers.he_normal(), (3,), "at least 2D"), (lambda: initializers.orthogonal(), (3,), "2D"),
    (lambda: initializers.delta_orthogonal(), (3, 4, 2), "fan_out"),
    (lambda: initializers.variance_scaling(1.0, "x", "normal"), (2, 2), "mode"),
    (lambda: initializers.variance_scaling(1.0, "fan_in", "x"), (2, 2), "distribution")])
def test_initializer_errors(make, shape, text):
    with pytest.raises(ValueError, match=text):
        make()(random.key(0), shape)


def test_gradient_of_log_softmax_of_rows_without_elements():
    mask = jnp.array([[True, False], [False, False]])
    for y in (jnp.ones((2, 2)), jnp.array([[1., 500.], [-jnp.inf, 3.]])):
        assert nn.log_softmax(y, where=mask).tolist() == [[0, -np.inf], [-np.inf, -np.inf]]
        g = nj.grad(lambda y: jnp.where(mask, nn.log_softmax(y, where=mask), 0).sum())(y)
        assert g.tolist() == [[0, 0], [0, 0]]


# -------------------------------------------------------------------------------------------- block-scaled products

def test_scaled_matmul_multiplies_blocks_by_their_scales():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((2, n, 12)).astype(np.float32) for n in (3, 5))
    s, t = rng.uniform(1, 2, (2, 3, 4)).astype(np.float32), rng.uniform(1, 2, (2, 5, 2)).astype(np.float32)
    want = np.einsum("bmk,bnk->bmn", a * np.repeat(s, 3, -1), b * np.repeat(t, 6, -1))
    np.testing.assert_allclose(nj.jit(nn.scaled_matmul)(a, b, s, t), want, rtol=1e-5, atol=1e-5)
    assert nn.scaled_matmul(a, b, s, t, jnp.bfloat16).dtype == jnp.bfloat16


@pytest.mark.parametrize("mode,error", [("mxfp8", 0.1), ("nvfp4", 0.25)])
def test_scaled_dot_general_is_near_the_exact_product_and_so_are_its_gradients(mode, error):
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal(s).astype(np.float32) for s in ((2, 70, 4), (5, 2, 70)))
    configs = [nn.get_scaled_dot_general_config(mode)] * 3
    dims = (((1,), (2,)), ((0,), (1,)))
    f = lambda a, b: nn.scaled_dot_general(a, b, dims, configs=configs)
    exact = lambda a, b: nj.lax.dot_general(a, b, dims)
    loss = lambda f: lambda a, b: jnp.sum(jnp.square(f(a, b)))
    pairs = [(f(a, b), exact(a, b)), *zip(*(nj.jit(nj.grad(loss(g), (0, 1)))(a, b) for g in (f, exact)), strict=True)]
    for got, want in pairs:
        assert got.shape == want.shape and jnp.linalg.norm(got - want) < error * jnp.linalg.norm(want)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "float4_e2m1fn"])
def test_rounding_to_small_floats_is_that_of_their_dtypes(name):
    dtype = getattr(jnp, name)
    x = np.linspace(-1, 1, 4001, dtype=np.float32) * np.float32(jnp.finfo(dtype).max)
    x = np.concatenate([x, x / 64, x / 8192])
    np.testing.assert_array_equal(scaled_products._rounded(jnp.array(x), dtype), x.astype(dtype).astype(np.float32))


def test_powers_of_two_survive_block_quantization():
    x = jnp.exp2(jnp.arange(-4.0, 4.0)).reshape(1, 1, 8)
    one_hot = jnp.eye(8).reshape(1, 8, 8)
    configs = [nn.get_scaled_dot_general_config("mxfp8")] * 3
    np.testing.assert_array_equal(nn.scaled_dot_general(x, one_hot, (((2,), (2,)), ((0,), (0,))), configs=configs), x)
    assert not jnp.any(nn.scaled_dot_general(x * 0, one_hot, (((2,), (2,)), ((0,), (0,))), configs=configs))


@pytest.mark.parametrize("call,match", [
    (lambda x: nn.get_scaled_dot_general_config("fp2"), "Unsupported mode"),
    (lambda x: nn.scaled_matmul(x[0], x, x, x), "3-dimensional"),
    (lambda x: nn.scaled_matmul(x, x[:, :, :2], x, x), "matching batch"),
    (lambda x: nn.scaled_matmul(x, x, x[:, :, :3], x), "lhs_scales"),
    (lambda x: nn.scaled_dot_general(x, x, (((2,), (2,)), ((0,), (0,))), np.int32), "preferred_element_type"),
])
def test_scaled_product_errors(call, match):
    with pytest.raises(ValueError, match=match):
        call(jnp.ones((2, 3, 4)))


# -------------------------------------------------------------------------------------------- arguments of all shapes

@pytest.mark.parametrize("fun,expected", [(nn.softmax, [1.0, 0.0]), (nn.log_softmax, [0.0, -np.inf])])
def test_what_the_mask_leaves_out_may_be_huge(fun, expected):
    x = jnp.array([36.0, 10000.0])
    f = lambda x: fun(x, where=jnp.array([True, False]))
    assert f(x).tolist() == expected and nj.grad(lambda x: f(x)[0])(x).tolist() == [0.0, 0.0]


def test_attention_masks_of_any_rank_and_residuals_of_the_dtype():
    x = random.normal(random.key(0), (2, 3, 4, 5), jnp.bfloat16)
    mask = jnp.array([True, True, False])
    want = nn.dot_product_attention(x, x, x, mask=jnp.broadcast_to(mask, (2, 4, 3, 3)))
    for shape in ((3,), (1, 3), (1, 1, 3)):
        got, residual = nn.dot_product_attention(x, x, x, mask=mask.reshape(shape), return_residual=True)
        assert jnp.array_equal(got, want) and residual.dtype == jnp.bfloat16


def test_variance_scaling_of_few_axes():
    key = random.key(0)
    for shape, axes in (((5,), {"in_axis": 0}), ((), {"in_axis": (), "out_axis": ()})):
        assert initializers.variance_scaling(1.0, "fan_in", "normal", **axes)(key, shape).shape == shape
    with pytest.raises(ValueError, match="specify in_axis explicitly"):
        initializers.variance_scaling(1.0, "fan_in", "normal", out_axis=0)(key, (5,))
    with nj.numpy_dtype_promotion("strict"):
        assert initializers.he_normal()(key, (3, 2), jnp.complex64).dtype == jnp.complex64


def test_one_hot_takes_lists_and_says_what_it_does_not_take():
    assert nn.one_hot([[0], [1]], 2).tolist() == [[[1.0, 0.0]], [[0.0, 1.0]]]
    with pytest.warns(DeprecationWarning, match="integer-typed"):
        nn.one_hot(jnp.array([1.0]), 3)
    with pytest.raises(TypeError, match=r"num_classes >= 0, .* nonnegative, got -1"):
        nn.one_hot(jnp.arange(3), -1)
    with pytest.raises(nj.errors.ConcretizationTypeError, match=r"in jax\.nn\.one_hot argument `num_classes`"):
        nj.jit(nn.one_hot)(3, 5)


@pytest.mark.parametrize("name", [n for n in ACTIVATIONS if hasattr(nn, n)])
def test_derivatives_far_out(name):
    """Slopes at huge arguments are those of the straight lines that activations approach."""
    function = getattr(nn, name)
    for x in (1e30, -1e30, 3e38):
        slope = nj.grad(lambda v: jnp.sum(function(v)))(jnp.float32(x))
        near = nj.grad(lambda v: jnp.sum(function(v)))(jnp.float32(np.copysign(5e3, x)))
        np.testing.assert_allclose(slope, near, atol=1e-5)
    for approximate in (True, False):
        np.testing.assert_allclose(nj.grad(lambda v, a=approximate: nn.gelu(v, a))(jnp.float32(3e38)), 1)


@pytest.mark.parametrize("name", ["relu6", "hard_silu", "sparse_plus", "elu", "celu", "selu"])
def test_integers_become_weakly_typed(name):
    activation = getattr(nn, name)
    assert activation(np.arange(3)).weak_type and not activation(np.arange(3, dtype=np.float16)).weak_type
    assert activation(np.arange(3, dtype=np.float16)).dtype == np.float16


def test_attention_of_empty_vectors():
    none = np.zeros((1, 3, 1, 0), np.float32)
    assert nn.dot_product_attention(none, none, none).shape == none.shape


def test_activations_of_complex_numbers_and_of_no_slope():
    z = np.array([1 + 2j, -0.5j], np.complex64)
    np.testing.assert_allclose(nn.gelu(z), [1.5206308 + 3.7001545j, -0.10407616 - 0.25j], rtol=1e-6)
    np.testing.assert_allclose(nn.squareplus(z), (z + np.sqrt(z * z + 4)) / 2, rtol=1e-6)
    np.testing.assert_allclose(nn.softplus(z), np.log1p(np.exp(z)), rtol=1e-6)
    np.testing.assert_allclose(nn.log_sigmoid(z), -np.log1p(np.exp(-z)), rtol=1e-6)
    np.testing.assert_allclose(nn.mish(z), z * np.tanh(np.log1p(np.exp(z))), rtol=1e-6)
    np.testing.assert_array_equal(nn.celu(np.float32([-2, 0.5, 2]), 0.0), [0, 0.5, 2])
    np.testing.assert_allclose([nj.grad(nn.celu)(x) for x in (-0.5, 0.0, 2.0)], [np.exp(-0.5), 1, 1], rtol=1e-6)


def test_softplus_of_python_numbers_in_transformations():
    for f, slope in ((nn.softplus, 0.5), (nn.mish, 0.6), (nn.log_sigmoid, 0.5)):
        np.testing.assert_allclose(nj.grad(f)(0.0), slope, rtol=1e-6)
        np.testing.assert_allclose(nj.jit(lambda f=f: f(0.5))(), f(0.5), rtol=1e-6)
    nj.test_util.check_grads(nn.softplus, (1e-8,), order=4, modes=["fwd", "rev"])


def test_lengths_of_narrow_dtypes_and_of_floats():
    x = jnp.ones((2, 300, 1, 4))
    narrow, wide = (nn.dot_product_attention(x, x, x, query_seq_lengths=jnp.array([100, 3], d)) for d in ("int8", "int32"))
    np.testing.assert_array_equal(narrow, wide)
    with pytest.raises(ValueError, match="lengths dtype should be int32, but got float32"):
        nn.dot_product_attention(x, x, x, key_value_seq_lengths=jnp.array([1.0, 2.0]))


MASK = jnp.array([[True, False, True], [False, True, False]])


WEIGHTS = jnp.arange(1.0, 7.0).reshape(2, 3)


@pytest.mark.parametrize("axis", [None, 0, 1, -1, (0, 1)])
@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("fn, beside", [(nn.logsumexp, {"b": WEIGHTS}), (nn.logsumexp, {"where": MASK}),
                                        (nn.logmeanexp, {"where": MASK}), (nn.logsumexp, {"b": WEIGHTS, "where": MASK})])
def test_logsumexp_of_larger_masks_and_weights(fn, beside, axis, keepdims):
    """Axes are those of the values together with weights and masks, which may have more of them."""
    x = jnp.arange(3.0)
    whole = jnp.broadcast_to(x, (2, 3))
    want, got = (fn(v, axis=axis, keepdims=keepdims, **beside) for v in (whole, x))
    assert got.shape == want.shape
    np.testing.assert_allclose(got, want, rtol=1e-6)

    def summed(v):
        return jnp.sum(jnp.where(jnp.isfinite(want), fn(v, axis=axis, keepdims=keepdims, **beside), 0))
    np.testing.assert_allclose(nj.grad(summed)(x), nj.grad(summed)(whole).sum(0), rtol=1e-6)
    assert fn(2.0, **beside).shape == ()


@pytest.mark.parametrize("fn", [nn.softmax, nn.log_softmax])
def test_softmax_of_larger_masks_and_single_ones(fn):
    x = jnp.arange(3.0)
    np.testing.assert_allclose(fn(x, where=MASK), fn(jnp.broadcast_to(x, (2, 3)), where=MASK), rtol=1e-6)
    np.testing.assert_allclose(fn(x, where=True), fn(x), rtol=1e-6)
    np.testing.assert_allclose(nj.grad(lambda x: fn(x, where=True)[0])(x), nj.grad(lambda x: fn(x)[0])(x), rtol=1e-6)


def test_squareplus_promotes_its_parameter():
    whole = jnp.arange(3)
    assert nn.squareplus(whole, jnp.float16(0.5)).dtype == np.float16
    assert nn.squareplus(whole, 2.0).weak_type and not nn.squareplus(whole, 2).weak_type
    assert nn.squareplus(jnp.ones(2, "float16"), jnp.float32(2)).dtype == np.float32
    with nj.enable_x64(True):
        plain, of_float = nn.squareplus(jnp.array([True])), nn.squareplus(jnp.array([True]), 4.0)
    assert (plain.dtype, plain.weak_type, of_float.dtype, of_float.weak_type) == (np.float32, False, np.float64, True)


def test_log1mexp_is_accurate_everywhere():
    x = np.array([0.0, 1e-30, 1e-6, 0.3, np.log(2), 1.0, 50.0, np.inf, -1.0, np.nan])
    with np.errstate(all="ignore"):
        expected = np.where(x < 0.7, np.log(-np.expm1(-x)), np.log1p(-np.exp(-x)))
    np.testing.assert_allclose(nn.log1mexp(x.astype(np.float32)), expected, rtol=2e-6)
    np.testing.assert_allclose(nj.vmap(nj.grad(nn.log1mexp))(x[1:7].astype(np.float32)), 1 / np.expm1(x[1:7]), rtol=2e-6)


def test_other_names_are_the_same_functions():
    assert nn.swish is nn.silu and nn.hard_swish is nn.hard_silu
    for one, other in (
            (initializers.glorot_normal, initializers.xavier_normal),
            (initializers.glorot_uniform, initializers.xavier_uniform),
            (initializers.he_normal, initializers.kaiming_normal), (initializers.he_uniform, initializers.kaiming_uniform)):
        np.testing.assert_array_equal(one()(random.key(0), (3, 4)), other()(random.key(0), (3, 4)))
