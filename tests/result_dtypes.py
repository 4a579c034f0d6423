"""The dtypes of results that JAX 0.10.2 has, as data: calls with an array `x` (and `y`, of the same kind) of every dtype.

A row is the shape of the array (V: 4, M: 3 by 3, N: 3 by 4, S: 12), the dtypes for operands of the dtypes `KINDS` and, under
x64, of `KINDS_X64`, as NumPy's characters (E: bfloat16), and the calls. Several results have several characters, with spaces
between kinds. "-": one of both refuses this kind, or the result is decided otherwise.
"""
from __future__ import annotations

import ml_dtypes
import numpy as np

KINDS = (bool, np.int8, np.uint8, np.int32, np.uint32, np.float16, ml_dtypes.bfloat16, np.float32, np.complex64)
KINDS_X64 = (bool, np.int32, np.int64, np.float64, np.complex128)
SHAPES = {"V": (4,), "M": (3, 3), "N": (3, 4), "S": (12,)}

ROWS: list[tuple[str, str, str, str]] = [
    ("V", "?bBiIeEfF", "?ildD",
     """sla.circulant(x); sla.convolution_matrix(x, 3); sla.hankel(x); sla.leslie(x, x[1:]); nn.identity(x);
     ops.segment_max(x, I4, 3); ops.segment_min(x, I4, 3); jnp.asarray(x); jnp.atleast_1d(x); jnp.atleast_2d(x);
     jnp.atleast_3d(x); jnp.column_stack((x, x)); jnp.copy(x); jnp.diag(x); jnp.diagflat(x); jnp.diff(x); jnp.flipud(x);
     jnp.flip(x); jnp.nan_to_num(x); jnp.ones_like(x); jnp.zeros_like(x); jnp.ravel(x); jnp.sort(x); jnp.squeeze(x);
     jnp.transpose(x); jnp.max(x); jnp.min(x); jnp.positive(x); jnp.conj(x); jnp.concatenate((x, x)); jnp.hstack((x, x));
     jnp.vstack((x, x)); jnp.dstack((x, x)); jnp.stack((x, x)); jnp.nanmax(x); jnp.nanmin(x); jnp.append(x, y);
     jnp.insert(x, 1, 2); jnp.insert(x, 1, 2.5); jnp.delete(x, 1); jnp.dot(x, y); jnp.einsum('i,i', x, y);
     jnp.fill_diagonal(jnp.outer(x, x), 1, inplace=False); jnp.full_like(x, 2); jnp.full_like(x, 2.5); jnp.full((2,),
     x[0]); jnp.inner(x, y); jnp.intersect1d(x, y, size=2); jnp.matmul(x, y); jnp.vecdot(x, y); jnp.vdot(x, y);
     jnp.tensordot(x, y, 1); jnp.nan_to_num(x, nan=1.5); jnp.outer(x, y); jnp.pad(x, 1); jnp.pad(x, 1,
     constant_values=1.5); jnp.piecewise(x, [x > 1], [1, 2]); jnp.piecewise(x, [x > 1], [1.5, 2]); jnp.put(x, 0, 5,
     inplace=False); jnp.put(x, 0, 2.5, inplace=False); jnp.place(x, x > 1, y, inplace=False); jnp.repeat(x, 2);
     jnp.resize(x, (2, 3)); jnp.roll(x, 1); jnp.union1d(x, y, size=3); jnp.setdiff1d(x, y, size=3); jnp.take(x,
     np.array([0, 1])); jnp.take_along_axis(x, np.array([0, 1]), 0); jnp.tile(x, 2); jnp.block([x, y]); jnp.tri(3,
     dtype=x.dtype); jnp.eye(3, dtype=x.dtype); jnp.max(x, initial=2.5); jnp.max(x, initial=0, where=x > 1); jnp.unique(x,
     size=3); jnp.unique(x, size=2, fill_value=1.5); jnp.matvec(jnp.outer(x, x), x); jnp.vecmat(x, jnp.outer(x, x));
     jnp.fmin(x, y); jnp.broadcast_to(x, (2, 4)); jnp.moveaxis(x, 0, 0); jnp.rollaxis(x, 0)"""),
    ("V", "fffffeEfF", "ddddD",
     """nn.celu(x); nn.elu(x); nn.hard_sigmoid(x); nn.hard_silu(x); nn.hard_swish(x); nn.leaky_relu(x); nn.relu6(x);
     nn.selu(x); nn.sparse_plus(x); jnp.rint(x); jnp.append(x, 1.5); jnp.polyval(x, 2.5); jnp.polyint(x, k=1.5);
     jnp.select([x > 1], [x], 1.5); jnp.where(x > 1, x, 1.5); jnp.diff(x, prepend=1.5); jnp.gradient(x, 0.5); jnp.block([x,
     1.5]); jnp.array([x[0], 1.5]); jnp.power(x, 2.5)"""),
    ("V", "fffffeEf-", "ffdd-",
     """st.multinomial.pmf(np.ones(4, int), 4, x); nn.standardize(x); jnp.i0(x); jnp.median(x); jnp.nanmedian(x);
     jnp.spacing(x); jnp.cbrt(x); jnp.fabs(x); jnp.quantile(x, 0.5); jnp.percentile(x, 50); jnp.nanquantile(x, 0.5);
     jnp.nanpercentile(x, 50); jnp.quantile(x, np.float16(0.5)); jnp.quantile(x, np.array([0.5], np.float32));
     jnp.quantile(x, 0.5, method='nearest'); jnp.quantile(x, 0.5, method='lower'); jnp.ldexp(x, 2); jnp.heaviside(x, y);
     jnp.nextafter(x, y); jnp.copysign(x, y); jnp.hypot(x, y)"""),
    ("V", "fffffeEf-", "dfdd-",
     """st.beta.cdf(x, 2, 3); st.beta.logcdf(x, 2, 3); st.beta.logpdf(x, 2, 3); st.beta.logsf(x, 2, 3); st.beta.pdf(x, 2, 3);
     st.beta.sf(x, 2, 3); st.betabinom.logpmf(x, 5, 2, 3); st.betabinom.pmf(x, 5, 2, 3); st.chi2.cdf(x, 2);
     st.chi2.logcdf(x, 2); st.chi2.logpdf(x, 2); st.chi2.logsf(x, 2); st.chi2.pdf(x, 2); st.chi2.sf(x, 2); st.expon.cdf(x);
     st.expon.logcdf(x); st.expon.logpdf(x); st.expon.logsf(x); st.expon.pdf(x); st.expon.ppf(x); st.expon.sf(x);
     st.gamma.cdf(x, 2); st.gamma.logcdf(x, 2); st.gamma.logpdf(x, 2); st.gamma.logsf(x, 2); st.gamma.pdf(x, 2);
     st.gamma.sf(x, 2); st.gennorm.cdf(x, 2); st.gennorm.logpdf(x, 2); st.gennorm.pdf(x, 2); st.gumbel_l.cdf(x);
     st.gumbel_l.logcdf(x); st.gumbel_l.logpdf(x); st.gumbel_l.logsf(x); st.gumbel_l.pdf(x); st.gumbel_l.ppf(x);
     st.gumbel_l.sf(x); st.gumbel_r.cdf(x); st.gumbel_r.logcdf(x); st.gumbel_r.logpdf(x); st.gumbel_r.logsf(x);
     st.gumbel_r.pdf(x); st.gumbel_r.ppf(x); st.gumbel_r.sf(x); st.laplace.cdf(x); st.laplace.logpdf(x); st.laplace.pdf(x);
     st.pareto.cdf(x, 2); st.pareto.logcdf(x, 2); st.pareto.logpdf(x, 2); st.pareto.logsf(x, 2); st.pareto.pdf(x, 2);
     st.pareto.ppf(x, 2); st.pareto.sf(x, 2); st.poisson.cdf(x, 2); st.poisson.logpmf(x, 2); st.poisson.pmf(x, 2);
     st.t.logpdf(x, 2); st.t.pdf(x, 2); st.uniform.cdf(x); st.uniform.logpdf(x); st.uniform.pdf(x); st.uniform.ppf(x);
     st.vonmises.logpdf(x, 2); st.vonmises.pdf(x, 2); st.poisson.entropy(x)"""),
    ("V", "fffffeEfF", "ffddD",
     """special.logsumexp(x); rot.Rotation.from_quat(x).quat; sla.companion(x); sla.fiedler_companion(x); nn.gelu(x);
     nn.logmeanexp(x); nn.logsumexp(x); nn.squareplus(x); nn.tanh(x); jnp.average(x); jnp.corrcoef(x); jnp.cov(x);
     jnp.gradient(x); jnp.histogram_bin_edges(x); jnp.nanmean(x); jnp.poly(x); jnp.polyder(x); jnp.sinc(x);
     jnp.trapezoid(x); jnp.mean(x); jnp.exp2(x); jnp.reciprocal(x); jnp.deg2rad(x); jnp.exp(x); jnp.convolve(x, y);
     jnp.correlate(x, y); jnp.linspace(x[0], y[1], 3); jnp.polymul(x, y); jnp.trapezoid(x, dx=0.5); jnp.average(x,
     weights=y); jnp.cov(x, fweights=np.array([1, 1, 2, 1])); jnp.cov(x, aweights=x); jnp.logaddexp(x, y);
     jnp.true_divide(x, y)"""),
    ("V", "iiIiIeEfF", "llldD",
     """jnp.cumulative_sum(x); jnp.sum(x); jnp.prod(x); jnp.nansum(x); jnp.nanprod(x); jnp.sum(x, initial=1.5); jnp.prod(x,
     initial=2); jnp.nansum(x, initial=1.5); jnp.cumulative_sum(x, include_initial=True)"""),
    ("V", "-bBiIeEfF", "-ildD",
     """ops.segment_sum(x, I4, 3); ops.segment_prod(x, I4, 3); jnp.around(x); jnp.ediff1d(x); jnp.ptp(x); jnp.round(x);
     jnp.vander(x); jnp.sign(x); jnp.cross(x[:3], y[:3]); jnp.kron(x, y); jnp.polyadd(x, y); jnp.polysub(x, y);
     jnp.bincount(np.arange(4), weights=x, length=5); jnp.ediff1d(x, to_end=1.5); jnp.arange(3, dtype=x.dtype)"""),
    ("V", "fffffeEf-", "dddd-",
     """st.bernoulli.cdf(x, 0.5); st.bernoulli.logpmf(x, 0.5); st.bernoulli.pmf(x, 0.5); st.bernoulli.ppf(x, 0.5);
     st.binom.logpmf(x, 5, 0.5); st.binom.pmf(x, 5, 0.5); st.geom.logpmf(x, 0.5); st.geom.pmf(x, 0.5); st.nbinom.logpmf(x,
     5, 0.5); st.nbinom.pmf(x, 5, 0.5); st.wrapcauchy.logpdf(x, 0.5); st.wrapcauchy.pdf(x, 0.5); nn.sparse_sigmoid(x);
     jnp.unwrap(x); jnp.clip(x, 0.5, 1); jnp.unwrap(x, period=2.5)"""),
    ("V", "ff ff ff ff ff ee EE ff FF", "ff ff dd dd DD",
     """jnp.histogram(x); jnp.histogram(x, weights=y); jnp.histogram(x, density=True, weights=x); jnp.polydiv(x, y[:2]);
     jnp.average(x, weights=y, returned=True)"""),
    ("V", "eeeeeeeee", "eeeee",
     "jnp.sum(x, dtype=np.float16); jnp.cumsum(x, dtype=np.float16); jnp.array(x, dtype=np.float16)"),
    ("V", "fffffeEfF", "dfddD",
     """st.cauchy.cdf(x); st.cauchy.isf(x); st.cauchy.logcdf(x); st.cauchy.logpdf(x); st.cauchy.logsf(x); st.cauchy.pdf(x);
     st.cauchy.ppf(x); st.cauchy.sf(x); st.logistic.cdf(x); st.logistic.isf(x); st.logistic.logpdf(x); st.logistic.pdf(x);
     st.logistic.ppf(x); st.logistic.sf(x); st.norm.logpdf(x); st.norm.pdf(x); nn.mish(x); nn.soft_sign(x); nn.softplus(x);
     jnp.polyint(x); jnp.geomspace(1, x[0], 3); jnp.logspace(x[0], 2, 3); jnp.float_power(x, 2)"""),
    ("M", "?bBiIeEfF", "?ildD",
     """sla.block_diag(x, x); sla.toeplitz(x); jnp.linalg.matrix_transpose(x); jnp.linalg.diagonal(x);
     jnp.linalg.matrix_power(x, 2); jnp.linalg.multi_dot([x, x, x]); jnp.linalg.tensordot(x, x); jnp.linalg.vecdot(x, x);
     jnp.linalg.outer(x[0], x[0]); jnp.linalg.matmul(x, x); bcoo(x).data; sparse.bcoo_extract(bcoo(x), x).data;
     sparse.BCSR.fromdense(x, nse=9).data; sparse.CSR.fromdense(x, nse=9).data; sparse.COO.fromdense(x, nse=9).todense();
     sparse.CSC.fromdense(x, nse=9).todense(); sparse.bcoo_dot_general(bcoo(x), x, dimension_numbers=(((1,), (0,)), ((),
     ()))); sparse.bcoo_dot_general_sampled(x, x, bcoo(x).indices, dimension_numbers=(((1,), (0,)), ((), ())));
     sparse.todense(bcoo(x)); sparse.bcoo_concatenate([bcoo(x), bcoo(x)], dimension=0).data;
     sparse.bcoo_update_layout(bcoo(x), n_dense=1, on_inefficient=None).data"""),
    ("V", "iiiiiiiii", "iiiii",
     """jnp.digitize(x, np.array([1., 2])); jnp.searchsorted(x, y); jnp.searchsorted(x, 1.5); jnp.mean(x, dtype=np.int32);
     jnp.astype(x, np.int32)"""),
    ("V", "ibBiIeEfF", "lildD",
     """nn.hard_tanh(x); nn.relu(x); jnp.cumprod(x); jnp.cumsum(x); jnp.cumulative_prod(x); jnp.nancumprod(x);
     jnp.nancumsum(x); jnp.polyval(x, 2); jnp.select([x > 1, x > 2], [x, y]); jnp.where(x > 1, x, 1); jnp.diff(x,
     prepend=1); jnp.array([x[0], 1])"""),
    ("M", "fffff--fF", "ffddD",
     """sla.cho_factor(x)[0]; sla.cholesky(x); sla.expm(x); sla.lu_solve(sla.lu_factor(x), x); sla.solve(x, x);
     jnp.linalg.cholesky(x); jnp.linalg.inv(x); jnp.linalg.pinv(x); jnp.linalg.solve(x, x); jnp.linalg.tensorinv(x, ind=1);
     jnp.linalg.tensorsolve(x, x[0])"""),
    ("V", "fffff--f-", "dfdd-",
     """st.norm.cdf(x); st.norm.logcdf(x); st.norm.logsf(x); st.norm.sf(x); st.truncnorm.cdf(x, -1, 1); st.truncnorm.logcdf(x,
     -1, 1); st.truncnorm.logpdf(x, -1, 1); st.truncnorm.logsf(x, -1, 1); st.truncnorm.pdf(x, -1, 1); st.truncnorm.sf(x,
     -1, 1)"""),
    ("N", "?bBiIeEfF", "?ildD",
     """jnp.fft.fftshift(x); jnp.fft.ifftshift(x); image.resize(x, (5, 6), 'nearest'); jnp.diagonal(x); jnp.fliplr(x);
     jnp.matrix_transpose(x); jnp.rot90(x); jnp.tril(x); jnp.triu(x)"""),
    ("V", "fffff--f-", "--dd-",
     "jnp.quantile(x, 0.5, method='inverted_cdf')"),
    ("V", "fff fff fff fff fff eee EEE fff FFF", "fff fff ddd ddd DDD",
     "jnp.histogram2d(x, y, bins=2, weights=x)"),
    ("V", "fffffe-f-", "ffdd-",
     "jnp.interp(1.5, x, y)"),
    ("V", "fffffffff", "ddddd",
     "jnp.where(x > 1, 1, 2.5)"),
    ("V", "ffffffffF", "fffdD",
     "jnp.average(x, weights=F4)"),
    ("V", "eeeeeeffF", "eeedD",
     "jnp.average(np.ones(4, np.float16), weights=x)"),
    ("V", "-ffff----", "-fd--",
     "jnp.cov(x, fweights=x)"),
    ("V", "eeeeeeee-", "eeee-",
     "jnp.var(x, dtype=np.float16)"),
    ("V", "fffff----", "ddd--",
     "jnp.ldexp(1.5, x)"),
    ("V", "?????????", "?????",
     """jnp.iscomplex(x); jnp.isreal(x); jnp.all(x); jnp.any(x); jnp.isfinite(x); jnp.isclose(x, y); jnp.allclose(x, y);
     jnp.isin(x, y)"""),
    ("N", "FFFFFFFFF", "FFDDD",
     "jnp.fft.fft(x); jnp.fft.ifft(x); jnp.fft.fft2(x); jnp.fft.ifft2(x); jnp.fft.fftn(x); jnp.fft.ifftn(x)"),
    ("V", "iiiiiiiii", "lllll",
     """jnp.argsort(x); jnp.lexsort((x, x)); jnp.count_nonzero(x); jnp.nonzero(x, size=3); jnp.flatnonzero(x, size=2,
     fill_value=-1); jnp.argwhere(x, size=2)"""),
    ("N", "fffffeEfF", "ffddD",
     """st.sem(x); sig.convolve(x, x); sig.correlate(x, x); integ.trapezoid(x, axis=0); image.scale_and_translate(x, (5, 6),
     (0, 1), np.ones(2, np.float32), np.zeros(2, np.float32), 'linear')"""),
    ("M", "fffffeEfF", "ffddD",
     """sla.cho_solve((x, True), x); sla.det(x); sla.solve_triangular(x, x); jnp.linalg.det(x);
     sparse.sparsify(jnp.sin)(bcoo(x)).data"""),
    ("N", "ffffffffF", "ffddD",
     "sfft.dct(x); sfft.idct(x); sfft.dctn(x); sfft.idctn(x)"),
    ("N", "FFFFF--F-", "FFDD-",
     "jnp.fft.rfft(x); jnp.fft.ihfft(x); jnp.fft.rfft2(x); jnp.fft.rfftn(x)"),
    ("N", "fffffffff", "ffddd",
     "jnp.fft.irfft(x); jnp.fft.hfft(x); jnp.fft.irfft2(x); jnp.fft.irfftn(x)"),
    ("V", "-----eEfF", "---dD",
     "nn.glu(x); nn.sigmoid(x); nn.silu(x); nn.swish(x)"),
    ("V", "-ffffeEfF", "-fddD",
     "nn.log1mexp(x); nn.log_sigmoid(x); nn.log_softmax(x); nn.softmax(x)"),
    ("V", "fffffeEff", "ffddd",
     "jnp.nanstd(x); jnp.nanvar(x); jnp.std(x); jnp.var(x)"),
    ("V", "iiiiiiii-", "llll-",
     "jnp.nanargmax(x); jnp.nanargmin(x); jnp.argmax(x); jnp.argmin(x)"),
    ("S", "ff ff ff ff ff - - ff ff", "ff ff dd dd dd",
     "sig.welch(x); sig.csd(x, None); sig.istft(sig.stft(x, nperseg=6)[2], nperseg=6)"),
    ("M", "- - - - - - - ff FF", "- - - dd DD",
     "sla.expm_frechet(x, x); sla.polar(x); sla.schur(x)"),
    ("M", "ff ff ff ff ff - - ff FF", "ff ff dd dd DD",
     "sla.qr(x); sla.qr_multiply(x, x); jnp.linalg.qr(x)"),
    ("M", "fffff--ff", "ffddd",
     "jnp.linalg.cond(x); jnp.linalg.eigvalsh(x); jnp.linalg.svdvals(x)"),
    ("V", "?bBiIeEff", "?ildd",
     "jnp.absolute(x); jnp.imag(x); jnp.real(x)"),
    ("V", "-bBiI----", "-il--",
     "jnp.ravel_multi_index((x[:2], x[:2]), (5, 5), mode='wrap'); jnp.gcd(x, y); jnp.lcm(x, y)"),
    ("V", "-------f-", "---d-",
     "st.norm.isf(x); st.norm.ppf(x)"),
    ("V", "ffffffff-", "fffd-",
     "st.dirichlet.pdf(x, F4); st.dirichlet.logpdf(np.full(4, 0.25, np.float32), x)"),
    ("M", "ff ff ff ff ff - - ff fF", "ff ff dd dd dD",
     "sla.eigh(x); jnp.linalg.eigh(x)"),
    ("M", "fff fff fff fff fff - - fff FfF", "fff fff ddd ddd DdD",
     "sla.svd(x); jnp.linalg.svd(x)"),
    ("M", "iiIiIeEfF", "llldD",
     "jnp.linalg.trace(x); sparse.bcoo_reduce_sum(bcoo(x), axes=(0,)).data"),
    ("M", "fffffeEff", "ffddd",
     "jnp.linalg.matrix_norm(x); jnp.linalg.norm(x, None)"),
    ("M", "-bBiIeEfF", "-ildD",
     "jnp.linalg.cross(x, x); sparse.bcoo_multiply_dense(bcoo(x), x)"),
    ("V", "BBBBB----", "BBB--",
     "jnp.bitwise_count(x); jnp.packbits(x)"),
    ("V", "ibBiIeEfF", "iildD",
     "jnp.square(x); jnp.power(x, 2)"),
    ("N", "ii ii ii ii ii ii ii ii ii", "ll ll ll ll ll",
     "jnp.tril_indices_from(x); jnp.triu_indices_from(x)"),
    ("V", "?? bb BB ii II ee EE ff FF", "?? ii ll dd DD",
     "jnp.meshgrid(x, y); jnp.split(x, 2)"),
    ("V", "ibBiI----", "lil--",
     "jnp.right_shift(x, 1); jnp.bitwise_left_shift(x, 1)"),
    ("N", "?i bi Bi ii Ii ei Ei fi Fi", "?l il ll dl Dl",
     "st.mode(x)"),
    ("N", "fffffffff", "ddddd",
     "st.rankdata(x)"),
    ("N", "fffff--fF", "ffddD",
     "sig.fftconvolve(x, x)"),
    ("S", "ffF ffF ffF ffF ffF - - ffF ffF", "ffF ffF ddD ddD ddD",
     "sig.stft(x)"),
    ("S", "fffffeEfF", "ffddD",
     "sig.detrend(x)"),
    ("M", "-ffffeEf-", "-fdd-",
     "rot.Rotation.from_matrix(x).quat"),
    ("M", "- - - - - - - Ff Ff", "- - - Dd Dd",
     "sla.funm(x, jnp.exp, disp=False)"),
    ("M", "-------fF", "---dD",
     "sla.hessenberg(x)"),
    ("M", "fff fff fff fff fff - - fff fFF", "fff fff ddd ddd dDD",
     "sla.lu(x)"),
    ("M", "fi fi fi fi fi - - fi Fi", "fi fi di di Di",
     "sla.lu_factor(x)"),
    ("M", "FF FF FF FF FF FF FF FF FF", "FF FF DD DD DD",
     "sla.rsf2csf(x, x)"),
    ("M", "ffffffffF", "ffddD",
     "sla.solve_sylvester(x, x, x)"),
    ("M", "FFFFFFFFF", "FFDDD",
     "sla.sqrtm(x)"),
    ("M", "-------ff", "---dd",
     "sla.eigh_tridiagonal(x[0], x[0, 1:], eigvals_only=True)"),
    ("V", "-bBiIeEff", "-ildd",
     "sla.fiedler(x)"),
    ("M", "FF FF FF FF FF - - FF FF", "FF FF DD DD DD",
     "jnp.linalg.eig(x)"),
    ("M", "FFFFF--FF", "FFDDD",
     "jnp.linalg.eigvals(x)"),
    ("M", "iiiii--ii", "lllll",
     "jnp.linalg.matrix_rank(x)"),
    ("M", "ff ff ff ff ff - - ff Ff", "ff ff dd dd Dd",
     "jnp.linalg.slogdet(x)"),
    ("V", "fffffeEff", "--ddd",
     "jnp.linalg.vector_norm(x, ord=None)"),
    ("M", "ffif ffif ffif ffif ffif - - ffif Ffif", "fflf fflf ddld ddld Ddld",
     "jnp.linalg.lstsq(x, x)"),
    ("V", "-ffffffff", "-dddd",
     "nn.one_hot(x, 3)"),
    ("M", "?bBiIeEff", "?ildd",
     "abs(bcoo(x)).data"),
    ("M", "-----eEfF", "---dD",
     """spsl.spsolve(sparse.BCSR.fromdense(x, nse=9).data, sparse.BCSR.fromdense(x, nse=9).indices, sparse.BCSR.fromdense(x,
     nse=9).indptr, x[0])"""),
    ("M", "- - - - - - - ffi -", "-----",
     "spsl.lobpcg_standard(np.eye(10, dtype=np.float32), jnp.ones((10, 1)).astype(x.dtype))"),
    ("V", "fffffeEff", "ddddd",
     "jnp.angle(x)"),
    ("V", "fi fi fi fi fi ei Ei fi -", "fi fi di di -",
     "jnp.frexp(x)"),
    ("V", "ff ff ff ff ff ee EE ff -", "ff ff dd dd -",
     "jnp.modf(x)"),
    ("V", "FFFFFFFFF", "FFDDD",
     "jnp.sort_complex(x)"),
    ("N", "iiIiIeEfF", "llldD",
     "jnp.trace(x)"),
    ("V", "????????-", "????-",
     "jnp.signbit(x)"),
    ("V", "???? bbbb BBBB iiii IIII eeee EEEE ffff FFFF", "???? iiii llll dddd DDDD",
     "jnp.unstack(x)"),
    ("V", "?bBiIeEf-", "?ild-",
     "jnp.trunc(x)"),
    ("V", "ibBiIeEf-", "lild-",
     "jnp.clip(x, 0, 1)"),
    ("V", "ii bb BB ii II ee EE ff -", "ii ii ll dd -",
     "jnp.divmod(x, y)"),
    ("V", "iff iff iff iff iff iee iEE iff iFF", "lff lff ldd ldd lDD",
     "jnp.histogram2d(x, y, bins=2)"),
    ("V", "ffffffff-", "dddd-",
     "jnp.interp(x, A3, A3)"),
    ("V", "-bBiIeEf-", "-ild-",
     "jnp.partition(x, 1)"),
    ("V", "-iiiiiii-", "-iii-",
     "jnp.argpartition(x, 1)"),
    ("V", "-------fF", "---dD",
     "jnp.polyfit(x, y, 1)"),
    ("V", "ii bb BB ii II ee EE ff -", "- ii ll dd -",
     "jnp.unravel_index(x, (2, 3))"),
    ("V", "iiiii----", "lll--",
     "jnp.bincount(x, length=4)"),
    ("V", "??? bbb BBB iii III eee EEE fff FFF", "??? iii lll ddd DDD",
     "jnp.array_split(x, 3)"),
    ("V", "--B------", "-----",
     "jnp.unpackbits(x)"),
    ("V", "ibBiIeEf-", "iild-",
     "jnp.fmod(x, y)"),
    ("V", "ibBiI----", "iil--",
     "jnp.left_shift(x, y)"),
    ("V", "- bb BB ii II ee EE ff FF", "- ii ll dd DD",
     "jnp.ix_(x, y)"),
    ("V", "?i bi Bi ii Ii ei Ei fi Fi", "?l il ll dl Dl",
     "jnp.broadcast_arrays(x, 1)"),
]
