"""One call of every function that computes, as text, for sweeps over all of them.

In the texts `np` is the array package (numjet.numpy, jax.numpy or numpy), `lax`, `nn`, `random`, `image`, and SciPy's modules
(`special`, `stats`, `linalg`, `signal`, `sfft`, `ndimage`, `interpolate`, `integrate`, `cluster`) are the libraries, and single
letters are the arrays of `Arrays`; `random` takes the words of a threefry key from `i`.
"""
from __future__ import annotations

import re
from typing import Any, NamedTuple

import numpy as np


class Arrays(NamedTuple):
    """Operands: vectors x, y of floats between 0 and 1, sorted g, integers i, j, bytes u, Booleans b, complex z; matrices a, c;
    a short vector s, a small definite matrix q with right side v."""

    x: Any
    y: Any
    g: Any
    i: Any
    j: Any
    u: Any
    b: Any
    z: Any
    a: Any
    c: Any
    s: Any
    q: Any
    v: Any


def arrays(elements: int, side: int, short: int, small: int) -> Arrays:
    """Vectors of `elements`, matrices of side x side, a short vector, a small matrix."""
    rng = np.random.default_rng(0)
    floats = lambda *shape: rng.uniform(0.05, 0.95, shape).astype(np.float32)
    integers = lambda: rng.integers(1, 100, elements).astype(np.int32)
    q = floats(small, small)
    return Arrays(floats(elements), floats(elements), np.sort(floats(elements)), integers(), integers(),
                  rng.integers(0, 256, elements).astype(np.uint8), rng.random(elements) < 0.5,
                  (floats(elements) + 1j * floats(elements)).astype(np.complex64), floats(side, side), floats(side, side),
                  floats(short), (q @ q.T + small * np.eye(small)).astype(np.float32), floats(small))


def _each(form: str, names: str) -> list[str]:
    return [form.replace("F", name) for name in names.split()]


NUMPY = [
    *_each("np.F(x)", "abs arccos arcsin arctan arctanh arcsinh around cbrt ceil cos cosh deg2rad exp exp2 expm1 fabs floor "
                      "i0 isfinite isinf isnan isneginf isposinf log log10 log1p log2 nan_to_num negative positive rad2deg "
                      "reciprocal rint round sign signbit sin sinc sinh spacing sqrt square tan tanh trunc modf frexp"),
    "np.arccosh(x + 1)",
    *_each("np.F(z)", "abs angle conj exp imag log real sin sqrt square tanh cos sum prod mean isnan"),
    *_each("np.F(x, y)", "add arctan2 copysign divide divmod equal float_power floor_divide fmax fmin fmod greater "
                         "greater_equal heaviside hypot isclose allclose array_equal less logaddexp logaddexp2 maximum "
                         "minimum mod multiply nextafter not_equal power remainder subtract true_divide"),
    *_each("np.F(z, z)", "add multiply divide power"),
    "x ** 2", "x ** 3", "x ** 0.5", "np.ldexp(x, i)", "np.clip(x, 0.2, 0.8)",
    *_each("np.F(i, j)", "add bitwise_and bitwise_or bitwise_xor floor_divide gcd lcm maximum mod multiply power divide"),
    *_each("np.F(i, 3)", "left_shift right_shift floor_divide mod"),
    *_each("np.F(i)", "bitwise_count invert abs sign sum cumsum prod max sort"),
    *_each("np.F(b, b)", "logical_and logical_or logical_xor"),
    *_each("np.F(b)", "logical_not any all sum count_nonzero"),
    *_each("np.F(x)", "sum prod mean std var max min argmax argmin any all ptp median nansum nanprod nanmean nanstd nanvar "
                      "nanmax nanmin nanargmax nanargmin nanmedian count_nonzero average cumsum cumprod nancumsum "
                      "nancumprod"),
    *_each("np.F(a, axis=0)", "sum prod mean std var max min argmax argmin any ptp median cumsum cumprod nansum nanmean "
                              "nanstd nanmax sort argsort diff flip average nanmedian"),
    *_each("np.F(a, axis=1)", "sum prod mean std var max min argmax argmin all ptp median cumsum cumprod nansum nanvar "
                              "nanmin sort argsort diff flip average"),
    "np.percentile(x, 30)", "np.quantile(x, 0.3)", "np.nanquantile(x, 0.3)", "np.nanpercentile(a, 30, axis=0)",
    "np.quantile(a, 0.3, axis=1)", "np.sum(x, where=b)", "np.max(x, where=b, initial=0)", "np.cumulative_sum(x)",
    "np.cumulative_prod(x)",
    *_each("np.F(x)", "sort argsort flip diff ediff1d gradient trapezoid"),
    "np.sort_complex(x)", "np.lexsort((i, x))", "np.partition(x, 100 % x.size)", "np.argpartition(x, 100 % x.size)",
    "np.searchsorted(g, x)", "np.digitize(x, s)", "np.searchsorted(g, s)", "np.interp(x, g, y)",
    "np.interp(x, np.sort(s), s)", "np.histogram(x, 20)", "np.histogram(x, np.sort(s))", "np.histogram2d(x, y, 10)",
    "np.bincount(i, length=100)", "np.bincount(i, x, length=100)", "np.histogram_bin_edges(x, 20)", "np.unique(x, size=100)",
    "np.isin(i, j)", "np.isin(x, s)", "np.union1d(i, j, size=100)", "np.intersect1d(i, j, size=100)",
    "np.setdiff1d(i, j, size=100)", "np.setxor1d(i, j, size=100)", "np.nonzero(b, size=100)", "np.flatnonzero(b, size=100)",
    "np.argwhere(b, size=100)", "np.where(b, x, y)", "np.where(b, size=50)", "np.select([b, x > 0.3], [x, y], 0.5)",
    "np.choose(i % 2, [x, y], mode='clip')", "np.piecewise(x, [x < 0.3, x > 0.6], [0.1, 0.2, 0.3])",
    "np.compress(b, x, size=100)", "np.extract(b, x, size=100)", "np.take(x, i)", "np.take(a, i % 8, axis=0)",
    "np.take_along_axis(a, np.argsort(a, 1), 1)", "np.put_along_axis(x, i[:8], 1.0, 0, inplace=False)",
    "np.place(x, b, s, inplace=False)", "np.put(x, i[:8], s[:8], inplace=False)", "np.insert(x, 3, 1.0)", "np.delete(x, 3)",
    "np.append(x, y)", "x[::2]", "x[::-1]", "x[1:-1]", "x[i]", "a[:, ::-1]", "a[i % 8, i % 8]", "a[:, 3]",
    "np.concatenate([x, y])", "np.stack([x, y])", "np.stack([x, y], 1)", "np.hstack([x, y])", "np.vstack([x, y])",
    "np.dstack([x, y])", "np.column_stack([x, y])", "np.concatenate([a, c], 1)", "np.block([[a, c], [c, a]])",
    "np.split(x, 4)", "np.array_split(x, 3)", "np.transpose(a)", "np.swapaxes(a, 0, 1)", "np.rot90(a)", "np.fliplr(a)",
    "np.flipud(a)", "np.roll(x, 3)", "np.roll(a, 3, 1)", "np.roll(a, (2, 3), (0, 1))", "np.reshape(a.T, -1)", "np.ravel(a)",
    "np.tile(x, 3)", "np.tile(a, (2, 2))", "np.repeat(x, 3)", "np.repeat(a, 2, 1)", "np.pad(x, 3)",
    "np.pad(a, 2, mode='reflect')", "np.pad(a, 2, mode='edge')", "np.pad(a, 2, mode='wrap')", "np.resize(x, 2 * x.size)",
    "np.broadcast_to(s, (20, *s.shape))", "np.expand_dims(x, 0)", "np.atleast_2d(x)", "np.meshgrid(s, s)", "np.diag(s)",
    "np.diag(a)", "np.diagonal(a)", "np.diagflat(s)", "np.trace(a)", "np.tril(a)", "np.triu(a)", "np.tri(a.shape[0])",
    "np.eye(a.shape[0])", "np.identity(a.shape[0])", "np.vander(s, 10)", "np.tril_indices(a.shape[0])",
    "np.triu_indices(a.shape[0])", "np.fill_diagonal(a, 1.0, inplace=False)", "np.linspace(x[0], 1, x.size)",
    "np.arange(x.size) + x", "np.logspace(x[0], 1, x.size)", "np.geomspace(x[0], 1, x.size)", "np.zeros_like(x)",
    "np.full(x.shape, x[0])", "np.full_like(x, 2)", "np.copy(x)", "x.astype('int32')", "i.astype('float32')",
    "x.astype('float16')", "b.astype('float32')", "np.unpackbits(u)", "np.packbits(b)",
    "np.ravel_multi_index((i, j), (100, 100), mode='clip')", "np.unravel_index(i, (10, 10))", "np.dot(x, y)", "np.vdot(x, y)",
    "np.inner(x, y)", "np.outer(s, s)", "np.dot(a, c)", "np.matmul(a, c)", "np.kron(s, s)",
    "np.kron(q[:30, :30], q[:30, :30])", "np.cross(x.reshape(-1, 2), y.reshape(-1, 2))", "np.tensordot(a, c, 1)",
    "np.einsum('ij,jk->ik', a, c)", "np.einsum('ij,kj->i', a, c)", "np.einsum('ii->i', a)", "np.einsum('ij->ji', a)",
    "np.einsum('i,ij,j', s[:a.shape[0]], a, s[:a.shape[0]])", "np.einsum('ij,ij->i', a, c)", "np.vecdot(a, c)",
    "np.matvec(a, c[0])", "np.vecmat(c[0], a)", "a @ c[0]", "a.T @ c", "np.convolve(x, s[:16])", "np.convolve(s, s)",
    "np.correlate(x, s[:16])", "np.polyval(s[:6], x)", "np.poly(s[:8])", "np.polyadd(s, s)", "np.polymul(s, s)",
    "np.polyder(s)", "np.polyint(s)", "np.polydiv(s, s[:6])", "np.cov(a)", "np.corrcoef(a)", "np.cov(x, y)",
    "np.apply_along_axis(np.sum, 0, a)", "np.apply_over_axes(np.sum, a, (0, 1))", "np.bartlett(s.size) * s",
    "np.blackman(s.size) * s", "np.hamming(s.size) * s", "np.hanning(s.size) * s", "np.kaiser(s.size, 2.0) * s",
    "np.unwrap(x * 9)", "np.array_equiv(x, y)", "np.iscomplex(x)", "np.isreal(x)", "np.argmax(x > 0.9)",
    "np.unique(i, size=100)", "np.fft.fft(x)", "np.fft.ifft(z)", "np.fft.rfft(x)", "np.fft.irfft(z)", "np.fft.fft2(a)",
    "np.fft.rfft2(a)", "np.fft.fftn(a)", "np.fft.fftshift(x)", "np.fft.ifftshift(x)", "np.fft.fftfreq(x.size) + x",
    "np.fft.hfft(z)", "np.fft.ihfft(x)", "np.linalg.norm(x)", "np.linalg.norm(a, axis=1)", "np.linalg.norm(x, 1)",
    "np.linalg.det(q)", "np.linalg.inv(q)", "np.linalg.solve(q, v)", "np.linalg.cholesky(q)", "np.linalg.qr(q)",
    "np.linalg.svd(q)", "np.linalg.eigh(q)", "np.linalg.eigvalsh(q)", "np.linalg.eig(q)", "np.linalg.lstsq(q, v)",
    "np.linalg.pinv(q)", "np.linalg.slogdet(q)", "np.linalg.matrix_power(q, 5)", "np.linalg.matrix_rank(q)",
    "np.linalg.cond(q)", "np.linalg.multi_dot([q, q, v])", "np.linalg.tensorinv(q, ind=1)",
]

LAX = [
    *_each("lax.F(x)", "abs acos asin atan bessel_i0e bessel_i1e cbrt ceil cos cosh digamma erf erf_inv erfc exp exp2 expm1 "
                       "floor is_finite lgamma log log1p logistic neg reciprocal round rsqrt sign sin sinh sqrt square tan "
                       "tanh cumsum cumprod cummax cummin cumlogsumexp sort"),
    *_each("lax.F(x, y)", "add atan2 div eq ge gt igamma igammac le lt max min mul ne nextafter pow rem sub"),
    *_each("lax.F(i)", "bitwise_not clz population_count"),
    *_each("lax.F(i, j)", "mulhi shift_left shift_right_arithmetic"),
    "lax.betainc(x, y, x)", "lax.clamp(0.2, x, 0.8)", "lax.integer_pow(x, 3)", "lax.select(b, x, y)", "lax.rev(x, (0,))",
    "lax.top_k(x, 8)", "lax.top_k(a, 4)", "lax.sort_key_val(x, i)", "lax.sort((i, x), num_keys=1)",
    "lax.argmax(x, 0, 'int32')", "lax.dynamic_slice(x, (i[0],), (x.size // 2,))",
    "lax.dynamic_update_slice(x, s[:4], (i[0],))", "lax.pad(x, np.float32(0), ((1, 2, 1),))",
    "lax.reduce_precision(x, 8, 7)", "lax.reduce_window(a, 0.0, lax.add, (3, 3), (1, 1), 'SAME')",
    "lax.reduce_window(a, -np.inf, lax.max, (2, 2), (2, 2), 'VALID')", "lax.cumsum(a, 0)", "lax.cumsum(a, 1, reverse=True)",
    "lax.cummax(a, 0)", "lax.conv_general_dilated(a[None, None], q[None, None, :3, :3], (1, 1), 'SAME')",
    "lax.associative_scan(lambda p, r: p + r, x)", "lax.associative_scan(lambda p, r: np.maximum(p, r), a)",
    "lax.scan(lambda c, t: (c * 0.5 + t, c), np.float32(0), x)[1]", "lax.map(lambda t: t * 2, x)",
    "lax.fori_loop(0, 100, lambda k, c: c * 0.99 + 0.1, s)", "lax.bitcast_convert_type(x, 'int32')",
    "lax.dot_general(a, c, (((1,), (0,)), ((), ())))", "lax.population_count(u)",
    "lax.linalg.triangular_solve(q, q, lower=True)",
]

NN = [
    *_each("nn.F(x)", "celu elu gelu glu hard_sigmoid hard_silu hard_tanh leaky_relu log_sigmoid mish relu relu6 selu "
                      "sigmoid silu soft_sign softmax log_softmax softplus sparse_plus sparse_sigmoid squareplus "
                      "standardize logsumexp"),
    *_each("nn.F(a)", "softmax log_softmax logsumexp standardize"),
    *_each("nn.F(a, axis=0)", "softmax logsumexp standardize"),
    "nn.gelu(x, approximate=False)", "nn.one_hot(i % 8, 8)", "nn.log1mexp(x)",
    "nn.softmax(a, where=a > 0.3, initial=-np.inf)",
    "nn.dot_product_attention(a[None, :, None], a[None, :, None], c[None, :, None])",
]

SPECIAL = [
    *_each("special.F(x)", "dawsn digamma entr erf erfc erfcx erfinv exp1 expi expit factorial fresnel gamma gammaln i0 i0e "
                           "i1 i1e log_ndtr log_softmax loggamma logit logsumexp ndtr ndtri sici softmax spence"),
    *_each("special.F(x, y)", "beta betaln boxcox boxcox1p gammainc gammaincc kl_div owens_t poch rel_entr xlog1py xlogy"),
    "special.betainc(x, y, x)", "special.zeta(x + 1.5, y)", "special.polygamma(2, x)", "special.expn(2, x)",
    "special.wofz(z)", "special.multigammaln(x + 3, 3)", "special.hyp1f1(x, y, x)", "special.hyp2f1(x, y, y + 1, x)",
    "special.bessel_jn(x, v=3)", "special.comb(i, 3)", "special.sph_harm_y(i % 4, i % 3, x, y, n_max=4)",
]

LINALG = [
    *_each("linalg.F(q)", "cholesky det expm inv lu qr schur sqrtm svd eigh hessenberg polar lu_factor cho_factor"),
    "linalg.solve(q, v)", "linalg.solve(q, v, assume_a='pos')", "linalg.solve_triangular(q, v)", "linalg.toeplitz(s)",
    "linalg.block_diag(a, c)", "linalg.circulant(s)", "linalg.hilbert(8)",
    "linalg.eigh_tridiagonal(v, v[1:], eigvals_only=True)", "linalg.solve_sylvester(q, q, q)", "linalg.hankel(s)",
]

SIGNAL = [
    "signal.convolve(x, s[:32], 'same')", "signal.fftconvolve(x, s)", "signal.convolve2d(a, q[:3, :3])",
    "signal.correlate(x, s[:32])", "signal.detrend(x)", "signal.stft(x)", "signal.welch(x)", "signal.csd(x, y)",
    "signal.correlate2d(a, q[:3, :3])",
]

_KEY = "random.wrap_key_data(i[:2].astype('uint32'))"
_DRAWS = """bernoulli(K, 0.3, S) | bernoulli(K, x) | beta(K, x, y) | beta(K, 2.0, 3.0, S) | binomial(K, 20.0, x) | bits(K, S)
binomial(K, 5.0, 0.3, S) | categorical(K, a) | cauchy(K, S) | chisquare(K, 3.0, S) | choice(K, x, S) | choice(K, x, S, p=y)
choice(K, x, (x.size // 2,), replace=False) | dirichlet(K, s[:8], (x.size // 8,)) | double_sided_maxwell(K, 0.0, 1.0, S)
exponential(K, S) | f(K, 3.0, 4.0, S) | gamma(K, 2.0, S) | gamma(K, x) | generalized_normal(K, 1.5, S) | geometric(K, 0.3, S)
gumbel(K, S) | laplace(K, S) | loggamma(K, x) | logistic(K, S) | lognormal(K, 1.0, S) | maxwell(K, S) | normal(K, S)
multinomial(K, 10.0, s[:8] / s[:8].sum()) | multivariate_normal(K, v, q) | orthogonal(K, q.shape[0]) | pareto(K, 2.0, S)
permutation(K, x) | permutation(K, a, independent=True) | poisson(K, 3.0, S) | poisson(K, 40.0, S) | rademacher(K, S)
randint(K, S, 0, 100) | randint(K, S, 0, 64) | rayleigh(K, 1.0, S) | split(K, x.size // 8) | t(K, 3.0, S) | uniform(K, S)
triangular(K, 0.0, 0.5, 1.0, S) | truncated_normal(K, -1.0, 1.0, S) | wald(K, 1.0, S) | weibull_min(K, 1.0, 2.0, S)
ball(K, 3, 2.0, (x.size // 8,)) | normal(K, S, np.float16) | uniform(K, S, np.bfloat16)"""
RANDOM = [f"random.{text.strip()}".replace("K", _KEY).replace("S", "x.shape") for text in re.split(r"[|\n]", _DRAWS)]

STATS = [
    *(f"stats.{name}.{function}(x)" for name in "cauchy expon gumbel_l gumbel_r laplace logistic norm uniform".split()
      for function in "logpdf pdf cdf logcdf sf logsf ppf isf".split()),
    *(f"stats.{name}.{function}({arguments})" for name, arguments, functions in (
        ("beta", "x, 2.0, 3.0", "logpdf pdf cdf logcdf sf logsf"), ("beta", "x, y, y", "logpdf cdf"),
        ("chi2", "x, 3.0", "logpdf pdf cdf logcdf sf logsf"), ("gamma", "x, 2.0", "logpdf pdf cdf logcdf sf logsf"),
        ("gamma", "x, y", "logpdf cdf"), ("pareto", "x + 1, 2.0", "logpdf pdf cdf logcdf sf logsf ppf isf"),
        ("t", "x, 3.0", "logpdf pdf logcdf logsf"), ("gennorm", "x, 1.5", "logpdf cdf logcdf sf logsf ppf"),
        ("vonmises", "x, 2.0", "logpdf pdf"),
        ("truncnorm", "x, -1.0, 2.0", "logpdf pdf cdf logcdf sf logsf"), ("wrapcauchy", "x, 0.3", "logpdf pdf"),
        ("bernoulli", "b, x", "logpmf pmf cdf logcdf sf logsf"),
        ("bernoulli", "x, y", "ppf"), ("binom", "i, 100, x", "logpmf pmf cdf logcdf sf logsf"),
        ("betabinom", "i, 100, x, y", "logpmf pmf"), ("geom", "i, x", "logpmf pmf cdf logcdf sf logsf"),
        ("nbinom", "i, 5, x", "logpmf pmf cdf logcdf sf logsf"),
        ("poisson", "i, x", "logpmf pmf cdf logcdf sf logsf")) for function in functions.split()),
    "stats.multivariate_normal.logpdf(q, v, q)", "stats.gaussian_kde(s).evaluate(s)", "stats.rankdata(x)",
    "stats.rankdata(i)", "stats.mode(i[:1000])", "stats.sem(x)", "stats.dirichlet.logpdf(s[:8] / s[:8].sum(), s[:8])",
    "stats.multinomial.logpmf(i[:8], i[:8].sum(), s[:8] / s[:8].sum())",
]

IMAGE = [
    *(f"image.resize(a, ({rows}), {method!r})" for rows in ("a.shape[0] // 2, a.shape[1] // 3", "2 * a.shape[0], 300")
      for method in ("nearest", "linear", "cubic", "lanczos3", "lanczos5")),
    "image.resize(a, (a.shape[0] // 2, 200), 'linear', antialias=False)",
    "image.scale_and_translate(a, a.shape, (0, 1), np.array([0.7, 1.3]), np.array([3.5, -2.5]), 'linear')",
]

SCIPY = [
    "sfft.dct(x)", "sfft.idct(x)", "sfft.dctn(a)", "sfft.idctn(a)", "ndimage.map_coordinates(a, [x * 9, y * 9], 1)",
    "ndimage.map_coordinates(a, [x * 9, y * 9], 0)", "integrate.trapezoid(x)", "integrate.trapezoid(a, axis=0)",
    "interpolate.RegularGridInterpolator((s[:5].cumsum(),), s[:5])(x + 0.5)", "cluster.vq(a, c[:16])",
]

ALL = (*NUMPY, *LAX, *NN, *SPECIAL, *LINALG, *SIGNAL, *RANDOM, *STATS, *IMAGE, *SCIPY)
