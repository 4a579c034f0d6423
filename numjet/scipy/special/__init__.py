"""SciPy's special functions, elementwise on floats, under JAX's names.
Imports `control`, `lax`, `nn` and `numpy`. Add a function to the file of its family, and its name here.
"""

from numjet.numpy.core import taped as _taped
from numjet.nn.normalization import logsumexp as logsumexp
from numjet.scipy.special.bessel import bessel_jn as bessel_jn
from numjet.scipy.special.airy import airy as airy, airye as airye
from numjet.scipy.special.ordinary_bessel import (
    hankel1 as hankel1, hankel1e as hankel1e, hankel2 as hankel2, hankel2e as hankel2e, j0 as j0, j1 as j1, jn as jn, jv as jv,
    jve as jve, spherical_in as spherical_in, spherical_jn as spherical_jn, spherical_kn as spherical_kn,
    spherical_yn as spherical_yn, y0 as y0, y1 as y1, yn as yn, yv as yv, yve as yve,
)
from numjet.scipy.special.bessel_k import k0 as k0, k0e as k0e, k1 as k1, k1e as k1e
from numjet.scipy.special.complex_gamma import loggamma as loggamma
from numjet.scipy.special.distribution_functions import (
    bdtr as bdtr, bdtrc as bdtrc, bdtri as bdtri, betaincc as betaincc, chdtr as chdtr, chdtrc as chdtrc, chdtri as chdtri,
    erfcinv as erfcinv, fdtr as fdtr, fdtrc as fdtrc, fdtri as fdtri, gdtr as gdtr, gdtrc as gdtrc, gdtria as gdtria,
    gdtrix as gdtrix, kolmogorov as kolmogorov, nbdtr as nbdtr, nbdtrc as nbdtrc, nbdtri as nbdtri, ndtri_exp as ndtri_exp,
    nrdtrimn as nrdtrimn, nrdtrisd as nrdtrisd, pdtr as pdtr, pdtrc as pdtrc, pdtri as pdtri, stdtr as stdtr,
    stdtrit as stdtrit,
)
from numjet.scipy.special.elementary import (
    agm as agm, binom as binom, cbrt as cbrt, cosdg as cosdg, cotdg as cotdg, diric as diric, erfi as erfi, exp10 as exp10,
    exp2 as exp2, expm1 as expm1, factorial2 as factorial2, huber as huber, inv_boxcox as inv_boxcox,
    inv_boxcox1p as inv_boxcox1p, log1p as log1p, perm as perm, powm1 as powm1, pseudo_huber as pseudo_huber,
    psi as psi, radian as radian, rgamma as rgamma, shichi as shichi, sinc as sinc, sindg as sindg, softplus as softplus,
    stirling2 as stirling2, tandg as tandg, zetac as zetac,
)
from numjet.scipy.special.elliptic import (
    ellipe as ellipe, ellipeinc as ellipeinc, ellipk as ellipk, ellipkinc as ellipkinc, ellipkm1 as ellipkm1,
    elliprd as elliprd, elliprf as elliprf,
)
from numjet.scipy.special.elliptic_functions import (
    ellipj as ellipj, elliprc as elliprc, elliprg as elliprg, elliprj as elliprj,
)
from numjet.scipy.special.error_functions import (
    dawsn as dawsn, erfcx as erfcx, fresnel as fresnel, voigt_profile as voigt_profile, wofz as wofz,
)
from numjet.scipy.special.gamma_family import (
    bernoulli as bernoulli, beta as beta, betainc as betainc, betaln as betaln, comb as comb, digamma as digamma,
    factorial as factorial, gamma as gamma, gammainc as gammainc, gammaincc as gammaincc, gammaln as gammaln,
    gammasgn as gammasgn, multigammaln as multigammaln, poch as poch, polygamma as polygamma, zeta as zeta,
)
from numjet.scipy.special.hypergeometric import hyp1f1 as hyp1f1, hyp2f1 as hyp2f1
from numjet.scipy.special.hypergeometric_limits import hyp0f1 as hyp0f1
from numjet.scipy.special.exponential_integrals import exp1 as exp1, expi as expi, expn as expn
from numjet.scipy.special.integrals import i0 as i0, i0e as i0e, i1 as i1, i1e as i1e, spence as spence
from numjet.scipy.special.kelvin import (
    bei as bei, beip as beip, ber as ber, berp as berp, kei as kei, keip as keip, kelvin as kelvin, ker as ker, kerp as kerp,
)
from numjet.scipy.special.lambert import (
    cosm1 as cosm1, exprel as exprel, lambertw as lambertw, log_expit as log_expit, wrightomega as wrightomega,
)
from numjet.scipy.special.legendre import lpmn as lpmn, lpmn_values as lpmn_values
from numjet.scipy.special.mathieu import (
    mathieu_a as mathieu_a, mathieu_b as mathieu_b, mathieu_cem as mathieu_cem, mathieu_sem as mathieu_sem,
)
from numjet.scipy.special.modified_bessel import (
    h1vp as h1vp, h2vp as h2vp, iv as iv, ive as ive, ivp as ivp, jvp as jvp, kn as kn, kv as kv, kve as kve, kvp as kvp,
    yvp as yvp,
)
from numjet.scipy.special.parabolic import pbdv as pbdv, pbvv as pbvv, pbwa as pbwa
from numjet.scipy.special.polynomials import (
    eval_chebyc as eval_chebyc, eval_chebys as eval_chebys, eval_jacobi as eval_jacobi, eval_sh_chebyt as eval_sh_chebyt,
    eval_sh_chebyu as eval_sh_chebyu, eval_sh_jacobi as eval_sh_jacobi, eval_sh_legendre as eval_sh_legendre,
    eval_chebyt as eval_chebyt, eval_chebyu as eval_chebyu, eval_gegenbauer as eval_gegenbauer,
    eval_genlaguerre as eval_genlaguerre, eval_hermite as eval_hermite, eval_hermitenorm as eval_hermitenorm,
    eval_laguerre as eval_laguerre, eval_legendre as eval_legendre,
)
from numjet.scipy.special.probability import (
    boxcox as boxcox, boxcox1p as boxcox1p, entr as entr, erf as erf, erfc as erfc, erfinv as erfinv, expit as expit,
    log_ndtr as log_ndtr, log_softmax as log_softmax, logit as logit, ndtr as ndtr, ndtri as ndtri,
    softmax as softmax, xlog1py as xlog1py, xlogy as xlogy,
)
from numjet.scipy.special.quadrature_nodes import (
    roots_chebyc as roots_chebyc, roots_chebys as roots_chebys, roots_chebyt as roots_chebyt, roots_chebyu as roots_chebyu,
    roots_gegenbauer as roots_gegenbauer, roots_genlaguerre as roots_genlaguerre, roots_hermite as roots_hermite,
    roots_hermitenorm as roots_hermitenorm, roots_jacobi as roots_jacobi, roots_laguerre as roots_laguerre,
    roots_legendre as roots_legendre, roots_sh_chebyt as roots_sh_chebyt, roots_sh_chebyu as roots_sh_chebyu,
    roots_sh_jacobi as roots_sh_jacobi, roots_sh_legendre as roots_sh_legendre,
)
from numjet.scipy.special.quantiles import (
    betainccinv as betainccinv, betaincinv as betaincinv, gammainccinv as gammainccinv, gammaincinv as gammaincinv,
)
from numjet.scipy.special.relative_entropy import kl_div as kl_div, rel_entr as rel_entr
from numjet.scipy.special.spherical import sph_harm_y as sph_harm_y
from numjet.scipy.special.struve import modstruve as modstruve, struve as struve
from numjet.scipy.special.trigonometric_integrals import owens_t as owens_t, sici as sici
from numjet.scipy.special.zeros import (
    ai_zeros as ai_zeros, bei_zeros as bei_zeros, beip_zeros as beip_zeros, ber_zeros as ber_zeros, berp_zeros as berp_zeros,
    bi_zeros as bi_zeros, erf_zeros as erf_zeros, fresnel_zeros as fresnel_zeros, fresnelc_zeros as fresnelc_zeros,
    fresnels_zeros as fresnels_zeros, jn_zeros as jn_zeros, jnp_zeros as jnp_zeros, kei_zeros as kei_zeros,
    keip_zeros as keip_zeros, ker_zeros as ker_zeros, kerp_zeros as kerp_zeros, y0_zeros as y0_zeros, y1_zeros as y1_zeros,
    y1p_zeros as y1p_zeros, yn_zeros as yn_zeros, ynp_zeros as ynp_zeros,
)
from numjet.scipy.special.elementary import nearest as round  # noqa: F401

_taped.library(vars(), numbers=True)
