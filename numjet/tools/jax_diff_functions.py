"""Tables of expressions that `jax_tables.py` compares with JAX: every function of the libraries and of lax, with its kin.

Each text is evaluated on operands of several dtypes and ranks, under vmap with the batch in front and behind, and
differentiated twice where it can be. `total` weighs the elements of a result, so that no symmetry hides an error.
"""
from __future__ import annotations

from collections.abc import Iterator
from itertools import product

Case = tuple[str, str, bool]

_VECTORS = ("f32", "f16", "i32", "b", "c64", "f32_0", "f32_1", "f32_2")
_MATRICES = ("f32_2", "bf16_2", "i32_2", "c64_2", "f32_30", "f32_2[None]", "f32")

_ELEMENTWISE = """
    acos acosh around asin asinh atan atanh bitwise_invert bitwise_not conjugate copy isrealobj isscalar zeros_like ones_like
    atleast_1d atleast_3d matrix_transpose
""".split()
_OF_VECTORS = (
    *(f"jnp.{name}(X)" for name in _ELEMENTWISE), "jnp.bitwise_right_shift(X, 1)", "jnp.logical_or(X, X[::-1])",
    "jnp.concat([X, X[:2]])", "jnp.concat([X, X], axis=None)", "jnp.nanpercentile(X, jnp.array([10., 90.]))",
    "jnp.polydiv(X, X[:2])", "jnp.polysub(X, X[1:])", "jnp.rollaxis(X[None], 1)", "jnp.unique_inverse(X)",
    "jnp.hsplit(X, 2)", "jnp.diag_indices(3)", "jnp.triu_indices(3, k=1, m=4)", "jnp.histogramdd(X[:, None], bins=3)",
    "jnp.frompyfunc(lambda a, b: a + b, 2, 1)(X, X)", "jnp.fromfunction(lambda i, j: i + j, (2, 3))",
    "jnp.fft.ifft(X)", "jnp.fft.hfft(X)", "jnp.fft.ihfft(X)", "jnp.fft.ifftshift(X)", "jnp.fft.fftfreq(5, 0.1)",
    "jnp.fft.rfftfreq(6)", "jnp.fft.fft(X, 6, norm='ortho')", "jnp.fft.irfft(X, 5)", "jnp.fft.rfft(X, 3, norm='forward')",
    "jsp.linalg.circulant(X)", "jsp.linalg.companion(X)", "jsp.linalg.convolution_matrix(X, 3)", "jsp.linalg.fiedler(X)",
    "jsp.linalg.fiedler_companion(X)", "jsp.linalg.hankel(X, X[::-1])", "jsp.linalg.leslie(X, X[1:])",
    "jsp.linalg.toeplitz(X, X[::-1])", "jsp.fft.dct(X)", "jsp.fft.dct(X, norm='ortho')", "jsp.fft.idct(X)",
    "jsp.signal.fftconvolve(X, X[:2])", "jsp.signal.detrend(X)", "jsp.signal.detrend(X, type='constant')",
    "jsp.signal.convolve(X, X[:3], mode='same')", "jsp.signal.correlate(X, X[:2], mode='valid')",
    "jsp.signal.welch(X, nperseg=2)", "jsp.signal.csd(X, X[::-1], nperseg=2)", "jsp.signal.stft(X, nperseg=2)",
    "J.ops.segment_sum(X, jnp.array([0, 2, 0, 1]), 3)", "J.ops.segment_prod(X, jnp.array([0, 2, 0, 1]), 4)",
    "J.ops.segment_max(X, jnp.array([0, 2, 0, 5]), 4)", "J.ops.segment_min(X, jnp.array([-1, 2, 0, 1]), 4)",
    "nn.swish(X)", "nn.hard_swish(X)", "nn.one_hot(X, 3)", "nn.softmax(X, where=X > 0, initial=0.)",
    "J.image.resize(X, (7,), 'linear')", "J.image.resize(X, (3,), 'cubic', antialias=False)",
    "J.image.resize(X, (2,), 'lanczos3')", "J.image.resize(X, (9,), 'nearest')",
    "J.image.scale_and_translate(X, (6,), (0,), jnp.array([1.5]), jnp.array([0.25]), 'linear')",
    "jsp.ndimage.map_coordinates(X, [jnp.array([0.5, 2.25, -1.])], 1, mode='mirror')",
    "jsp.ndimage.map_coordinates(X, [jnp.array([0.5, 2.25, 7.])], 0, mode='wrap')",
    "jsp.ndimage.map_coordinates(X, [jnp.array([0.5, 2.25, 7.])], 1, cval=2.)",
    "jsp.special.boxcox(X, 0.5)", "jsp.special.boxcox1p(X, 0.)", "jsp.special.factorial(X)", "jsp.special.gammasgn(X)",
    "jsp.special.expn(2, X)", "jsp.special.polygamma(1, X)", "jsp.special.hyp1f1(1.5, 2.5, X)", "jsp.special.erfcx(X)",
    "jsp.special.hyp2f1(1.5, 0.5, 2.5, X / 4)", "jsp.special.fresnel(X)", "jsp.special.dawsn(X)", "jsp.special.wofz(X)",
    "jsp.special.loggamma(X)", "jsp.special.comb(5, X)", "jsp.special.owens_t(X, 0.5)", "jsp.special.bernoulli(4)",
    "jsp.special.betainc(X + 3, 2., 0.3)", "jsp.special.gammainc(X + 3, 2.)", "jsp.special.zeta(X + 3, 1.5)",
    "jsp.special.bessel_jn(X, v=2)", "jsp.special.sph_harm_y(jnp.array([1]), jnp.array([1]), X[:1], X[1:2], n_max=2)",
)
_DISTRIBUTIONS = (
    "bernoulli.pmf(X, 0.3)", "bernoulli.ppf(X, 0.3)", "beta.logpdf(X, 2., 3.)", "beta.cdf(X, 2., 3.)", "beta.sf(X, 2., 3.)",
    "betabinom.logpmf(X, 5, 2., 3.)", "binom.logpmf(X, 5, 0.3)", "cauchy.logpdf(X)", "cauchy.cdf(X)", "cauchy.ppf(X)",
    "cauchy.isf(X)", "chi2.logpdf(X, 3.)", "chi2.cdf(X, 3.)", "chi2.logsf(X, 3.)", "dirichlet.logpdf(nn.softmax(X), X * 0 + 2)",
    "expon.logpdf(X)", "expon.cdf(X, 0.5, 2.)", "expon.ppf(X)", "gamma.logpdf(X, 2.)", "gamma.cdf(X, 2.)", "gamma.sf(X, 2.)",
    "gennorm.logpdf(X, 1.5)", "gennorm.cdf(X, 1.5)", "geom.logpmf(X, 0.3)", "gumbel_l.logpdf(X)", "gumbel_r.cdf(X)",
    "gumbel_r.ppf(X)", "gumbel_l.sf(X)", "laplace.logpdf(X)", "laplace.cdf(X)", "logistic.logpdf(X)", "logistic.ppf(X)",
    "logistic.isf(X)", "multinomial.logpmf(X, 6, nn.softmax(X * 1.))", "multivariate_normal.logpdf(X, 0.5, 2.)",
    "nbinom.logpmf(X, 5, 0.3)", "norm.logpdf(X, 0.5, 2.)", "norm.logcdf(X)", "norm.ppf(X)", "norm.isf(X)", "norm.logsf(X)",
    "pareto.logpdf(X, 2.)", "pareto.cdf(X, 2.)", "pareto.ppf(X, 2.)", "poisson.logpmf(X, 2.5)", "poisson.cdf(X, 2.5)",
    "poisson.entropy(X)", "t.logpdf(X, 3.)", "truncnorm.logpdf(X, -1., 2.)", "truncnorm.cdf(X, -1., 2.)",
    "truncnorm.logsf(X, -1., 2.)", "uniform.pdf(X)", "uniform.ppf(X)", "vonmises.logpdf(X, 2.)", "wrapcauchy.logpdf(X, 0.3)",
    "gaussian_kde(X)(X)", "gaussian_kde(X).logpdf(X)", "mode(X)", "rankdata(X)", "rankdata(X, 'min')", "sem(X)",
)
_OF_MATRICES = (
    "jnp.linalg.matrix_transpose(X)", "jnp.dsplit(X[None, :, :2], 2)", "jnp.vsplit(X, 2)", "jnp.tril_indices_from(X)",
    "jnp.fft.fftn(X)", "jnp.fft.ifft2(X)", "jnp.fft.ifftn(X, axes=(0,))", "jnp.fft.rfft2(X)", "jnp.fft.rfftn(X, norm='ortho')",
    "jnp.fft.irfft2(X)", "jnp.fft.irfftn(X, (3, 4))", "jsp.fft.dctn(X)", "jsp.fft.idctn(X, norm='ortho')",
    "jsp.fft.dct(X, axis=0, n=5)", "jsp.signal.convolve2d(X, X)", "jsp.signal.correlate2d(X, X, mode='same')",
    "jsp.signal.convolve(X, X[:1])", "jsp.signal.istft(jnp.stack([X] * 2)[:, :2], nperseg=2)",
    "jsp.cluster.vq.vq(X, X + 1)", "J.image.resize(X, (4, 5), 'linear')", "J.image.resize(X, (1, 5), 'cubic')",
    "jsp.linalg.expm(X @ X.T / 8)", "jsp.linalg.expm_frechet(X @ X.T / 8, X[:, :2])", "jsp.linalg.cho_factor(X @ X.T)",
    "jsp.linalg.cho_solve((jnp.eye(2), True), X)", "jsp.linalg.lu_factor(X @ X.T)", "jsp.linalg.solve(X @ X.T, X)",
    "jsp.linalg.lu_solve((X[:, :2], jnp.array([0, 1])), X)", "jsp.linalg.qr_multiply(X.T, X.T @ X[:, :2])",
    "jsp.linalg.solve_sylvester(X @ X.T, X @ X.T, X[:, :2])", "jsp.linalg.solve_triangular(X[:, :2], X, lower=True)",
    "jsp.linalg.eigh_tridiagonal(X[0], X[0, 1:], eigvals_only=True)", "jnp.linalg.tensorsolve(X @ X.T, X[:, 0])",
    "jnp.linalg.cholesky(X @ X.T)", "jnp.linalg.inv(X @ X.T)", "jnp.linalg.det(X @ X.T)", "jnp.linalg.pinv(X)",
    "jnp.linalg.slogdet(X @ X.T)", "jnp.linalg.svdvals(X)", "jnp.linalg.lstsq(X, X)[0]", "jnp.linalg.eigvalsh(X @ X.T)",
    "jnp.sort(abs(jnp.linalg.eigvals(X @ X.T)))", "jnp.linalg.matrix_power(X @ X.T, 3)", "jnp.linalg.matrix_power(X @ X.T, -2)",
    "jnp.linalg.multi_dot([X, X.T, X])", "jnp.linalg.norm(X, 'nuc')", "jnp.linalg.cond(X)", "jnp.linalg.vector_norm(X, axis=0)",
    "jsp.linalg.block_diag(X, 2)", "jsp.linalg.sqrtm(X @ X.T)", "abs(jsp.linalg.rsf2csf(X @ X.T, jnp.eye(2))[0])",
    "jsp.sparse.linalg.cg(X @ X.T, X[:, 0])[0]", "jsp.sparse.linalg.gmres(X @ X.T, X[:, 0])[0]",
    "jsp.sparse.linalg.bicgstab(X @ X.T, X[:, 0])[0]", "nn.scaled_matmul(X[None], X[None], X[None], X[None])",
    "nn.dot_product_attention(X[None, :, None], X[None, :, None], X[None, :, None])",
    "nn.dot_product_attention(X[:, None], X[:, None], X[:, None], is_causal=True, scale=0.5)",
    "nn.softmax(X, axis=0)", "nn.logsumexp(X, axis=0, b=X)", "nn.glu(X[:, :2])", "jsp.integrate.trapezoid(X, axis=0)",
    "jsp.stats.multivariate_normal.logpdf(X, X[0], jnp.eye(3))", "jsp.stats.dirichlet.logpdf(X.T, jnp.ones(3))",
    "jsp.interpolate.RegularGridInterpolator((jnp.arange(2.), jnp.arange(3.)), X)(jnp.array([[0.5, 1.25], [0., 2.]]))",
    "jsp.interpolate.RegularGridInterpolator((jnp.arange(2.), jnp.arange(3.)), X, 'nearest')(jnp.array([[0.6, 1.25]]))",
    "jsp.spatial.transform.Rotation.from_rotvec(X).as_matrix()", "jsp.spatial.transform.Rotation.from_rotvec(X).as_quat()",
    "jsp.spatial.transform.Rotation.from_euler('xyz', X).as_rotvec()", "jsp.spatial.transform.Rotation.from_rotvec(X).apply(X)",
)
_LAX_OF_VECTORS = (
    "lax.acos(X / 8)", "lax.acosh(X)", "lax.asin(X / 8)", "lax.asinh(X)", "lax.atan(X)", "lax.atanh(X / 8)", "lax.neg(X)",
    "lax.bessel_i0e(X)", "lax.bessel_i1e(X)", "lax.bitwise_not(X)", "lax.broadcast(X, (2, 0))", "lax.sub(X, X[::-1])",
    "lax.broadcast_in_dim(X, (2, 4), (1,))", "lax.broadcast_to_rank(X, 3)", "lax.eq(X, X)", "lax.ge(X, X[::-1])",
    "lax.gt(X, X[::-1])", "lax.le(X, X)", "lax.lt(X, X[::-1])", "lax.ne(X, X)", "lax.rev(X, (0,))",
    "lax.slice(X, (1,), (4,), (2,))",
    "lax.slice_in_dim(X, 1, -1)", "lax.index_in_dim(X, -1, keepdims=False)", "lax.dynamic_slice(X, (9,), (2,))",
    "lax.dynamic_slice_in_dim(X, -1, 2)", "lax.dynamic_index_in_dim(X, 2)", "lax.dynamic_update_slice(X, X[:2], (3,))",
    "lax.dynamic_update_index_in_dim(X, X[0], 1, 0)", "lax.dynamic_update_slice_in_dim(X, X[:2], -9, 0)",
    "lax.index_take(X, (jnp.array([1, 9]),), (0,))", "lax.select_n(X > 0, X, X[::-1])", "lax.stop_gradient(X)",
    "lax.sort_key_val(X, X[::-1])", "lax.sort((X, X[::-1]), num_keys=2)", "lax.shift_left(X, X * 0 + 1)",
    "lax.shift_right_arithmetic(X, X * 0 + 1)", "lax.shift_right_logical(X, X * 0 + 1)", "lax.mulhi(X, X)",
    "lax.igamma(X + 2, 1.5 + X)", "lax.igammac(X + 2, 1.5 + X)", "lax.igamma_grad_a(X + 2, 1.5 + X)",
    "lax.random_gamma_grad(X + 2, 1.5 + X)", "lax.polygamma(X * 0 + 1, X)", "lax.collapse(X[None], 0)",
    "lax.reduce_and(X, (0,))", "lax.reduce_or(X, (0,))", "lax.reduce_xor(X, (0,))", "lax.reduce_prod(X, (0,))",
    "lax.reduce(X, X[0], lax.add, (0,))", "lax.reduce(X, X[0], lambda a, b: a + b + a * b, (0,))",
    "lax.reduce_window(X, 0., lax.add, (2,), (1,), 'SAME')", "lax.reduce_window(X, 1., lax.mul, (2,), (1,), 'VALID')",
    "lax.reduce_window(X, -inf, lax.max, (2,), (2,), ((1, 1),), (1,), (2,))", "lax.associative_scan(lax.mul, X)",
    "lax.associative_scan(lax.add, X, reverse=True)", "lax.map(lambda v: v * v, X)", "lax.approx_max_k(X, 2)",
    "lax.approx_min_k(X, 2)", "lax.bitcast_convert_type(X, jnp.int32)",
    "lax.conv_shape_tuple((1, 1, 8), (1, 1, 3), (2,), 'SAME')",
    "lax.iota(jnp.int32, 4)", "lax.broadcasted_iota(X.dtype, (2, 3), 1)", "lax.switch(1, [lax.neg, lambda v: v * v], X)",
    "lax.while_loop(lambda v: v[0] < 9, lambda v: v + v + 1, abs(X))", "lax.optimization_barrier(X)",
    "lax.gather(X, jnp.array([[1], [7]]), lax.GatherDimensionNumbers((), (0,), (0,)), (1,), mode='clip')",
    "lax.scatter(X, jnp.array([[1], [7]]), X[:2], lax.ScatterDimensionNumbers((), (0,), (0,)))",
    "lax.scatter_add(X, jnp.array([[1], [1]]), X[:2], lax.ScatterDimensionNumbers((), (0,), (0,)))",
    "lax.scatter_mul(X, jnp.array([[1], [2]]), X[:2], lax.ScatterDimensionNumbers((), (0,), (0,)), unique_indices=True)",
    "lax.scatter_min(X, jnp.array([[1], [2]]), X[:2], lax.ScatterDimensionNumbers((), (0,), (0,)))",
    "lax.scatter_max(X, jnp.array([[1], [3]]), X[:2], lax.ScatterDimensionNumbers((), (0,), (0,)))",
    "lax.scatter_sub(X, jnp.array([[1], [1]]), X[:2], lax.ScatterDimensionNumbers((), (0,), (0,)))",
    "lax.custom_root(lambda v: v - X, X * 0., lambda f, v: X, lambda f, v: v)", "lax.reduce_precision(X, 5, 3)",
    "lax.pad(X, X[0], ((1, -1, 2),))", "lax.integer_pow(X, 3)", "lax.integer_pow(X, -1)", "lax.rsqrt(X)", "lax.pow(X, X)",
    "lax.clamp(X[0], X, X[2])", "lax.cumlogsumexp(X, reverse=True)", "lax.cumprod(X)", "lax.cummax(X)",
    "lax.expand_dims(X, (0, 2))",
    "lax.complex(X, X)", "lax.conj(X)", "lax.atan2(X, X[::-1])", "lax.nextafter(X, X[::-1])", "lax.rem(X, X[::-1])",
    "lax.erf_inv(X / 8)", "lax.lgamma(X)", "lax.digamma(X)", "lax.betainc(abs(X), abs(X), abs(X) / 8)",
    "lax.zeta(2 + X, abs(X))",
    "lax.logistic(X)", "lax.cbrt(X)", "lax.tan(X)", "lax.sinh(X)", "lax.expm1(X)", "lax.log1p(X)", "lax.exp2(X)",
    "lax.square(X)",
    "lax.split(X, (1, 3))", "lax.tile(X, (2,))", "lax.top_k(X, 2)", "lax.argmin(X, 0, jnp.int32)", "lax.round(X * 2)",
    "lax.scan(lambda c, v: (c * v + 1, c), X[0], X, reverse=True)", "lax.fori_loop(0, 3, lambda i, v: v * v[i] / 2, X)",
    "lax.cond(X[0] > 0, lax.sin, lax.cos, X)", "lax.select(X > 0, X * X, X)", "lax.sort(X, is_stable=False)",
)
_LAX_OF_MATRICES = (
    "lax.dot_general(X, X, (((1,), (1,)), ((), ())))", "lax.dot_general(X, X, (((1,), (1,)), ((0,), (0,))))",
    "lax.dot_general(X, X, (((0,), (0,)), ((), ())), preferred_element_type=jnp.float32)",
    "lax.batch_matmul(X[None], X.T[None])",
    "lax.dot(X, X.T)", "lax.ragged_dot(X, jnp.stack([X.T, X.T + 1]), jnp.array([1, 1]))",
    "lax.conv(X[None], X[None, :, :2], (1,), 'VALID')", "lax.conv(X[None], X[:1, None, :2], (1,), 'SAME')",
    "lax.conv_general_dilated(X[None], X[:, None, :2], (2,), ((1, 2),), (2,), (1,), feature_group_count=2)",
    "lax.conv_general_dilated(X[:, None], X[:, None, :2], (1,), 'SAME', batch_group_count=2)",
    "lax.conv_transpose(X[None], X[None, :2], (2,), 'SAME', dimension_numbers=('NWC', 'WIO', 'NWC'))",
    "lax.conv_general_dilated_patches(X[None], (2,), (1,), 'VALID')",
    "lax.conv_with_general_padding(X[None], X[None, :, :2], (1,), "
    "((1, 1),), None, None)", "lax.transpose(X, (1, 0))", "lax.reshape(X, (3, 2), (1, 0))", "lax.squeeze(X[None], (0,))",
    "lax.reduce_sum(X, (0,))", "lax.reduce_max(X, (1,))", "lax.argmax(X, 1, jnp.int32)", "lax.cumsum(X, 1)",
    "lax.rev(X, (0, 1))",
    "lax.concatenate([X, X[:1]], 0)", "lax.reduce_window(X, 0., lax.add, (2, 2), (1, 1), 'SAME', (1, 1), (1, 2))",
    "lax.broadcast_in_dim(X[:1], (2, 3), (0, 1))", "lax.dynamic_slice(X, (0, jnp.array(7)), (2, 2))",
    "lax.gather(X, jnp.array([[0, 1], [1, 9]]), lax.GatherDimensionNumbers((1,), (0,), (0, 1)), (1, 2), mode='fill')",
    "lax.scatter_add(X, jnp.array([[1], [0]]), X, lax.ScatterDimensionNumbers((1,), (0,), (0,)))",
    "lax.sort(X, dimension=0)", "lax.linalg.cholesky(X @ X.T)", "lax.linalg.triangular_solve(X[:, :2], X, left_side=True)",
    "lax.linalg.triangular_solve(X[:, :2], X.T, lower=True, transpose_a=True)", "lax.linalg.lu(X @ X.T)[0]",
    "lax.linalg.symmetric_product(X, X[:, :2] + X[:, :2].T)", "lax.linalg.eigh(X @ X.T)[1]", "lax.linalg.qdwh(X.T)[0]",
    "lax.linalg.householder_product(X.T, X[0, :2])", "lax.linalg.cholesky_update(jnp.eye(3), X[0])",
    "lax.linalg.tridiagonal_solve(X[0], X[1] + 5, X[0], X.T)", "abs(lax.linalg.tridiagonal(X @ X.T)[1])",
    "abs(lax.linalg.qr(X.T, full_matrices=False)[1])", "lax.linalg.svd(X, compute_uv=False)",
    "lax.linalg.lu_pivots_to_permutation(jnp.array([1, 1]), 2)", "lax.reduce((X, X), (0., 1.), lambda a, b: (a[0] + b[0], "
    "a[1] * b[1]), (0,))", "lax.fft(X, 'fft', (3,))", "lax.map(jnp.sum, X)", "lax.scan(lambda c, v: (c + v, c @ v), X[0], X)",
)
_LISTS = {
    "functions": (_OF_VECTORS, _VECTORS), "distributions": (tuple(f"jsp.stats.{t}" for t in _DISTRIBUTIONS), _VECTORS),
    "matrices": (_OF_MATRICES, _MATRICES), "lax": (_LAX_OF_VECTORS, (*_VECTORS, "u8", "bf16")),
    "lax matrices": (_LAX_OF_MATRICES, (*_MATRICES, "f16_2", "u8_2", "b_2")),
}


def function_cases() -> Iterator[Case]:
    """Values on all operands; under vmap, and derivatives of the first and second order, on those of plain numbers."""
    for table, (texts, names) in _LISTS.items():
        for text, name in product(texts, names):
            yield table, text.replace("X", name), False
        for text in (t for t in texts if "X" in t):
            yield from _transformed(table, text, "f32" if names[0] == "f32" else "f32_2")


def _transformed(table: str, text: str, name: str) -> Iterator[Case]:
    yield table, f"vmap(lambda X: {text})(jnp.stack([{name}, {name} + 1]))", False
    yield table, f"vmap(lambda X: {text}, -1, -1)(jnp.stack([{name}, {name} * 2], -1))", False
    for wide, x64 in ((name, False), (name.replace("f32", "f64"), True), (name.replace("f32", "f16"), False)):
        yield table, f"grad(lambda X: total({text}))({wide})", x64
        yield table, f"jvp(grad(lambda X: total({text})), ({wide},), (jnp.cos({wide}),))[1]", x64
        yield table, f"jvp(lambda X: {text}, ({wide},), (jnp.cos({wide}),))[1]", x64
    yield table, f"vmap(grad(lambda X: total({text})), 0)(jnp.stack([{name}, {name} + 1]))", False
