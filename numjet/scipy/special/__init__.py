"""SciPy's special functions, elementwise on floats, under JAX's names.
Imports `control`, `lax`, `nn` and `numpy`. Add a function to the file of its family, and its name here.
"""

from numjet.nn.normalization import logsumexp as logsumexp
from numjet.scipy.special.bessel import bessel_jn as bessel_jn
from numjet.scipy.special.complex_gamma import loggamma as loggamma
from numjet.scipy.special.elliptic import (
    ellipe as ellipe, ellipeinc as ellipeinc, ellipk as ellipk, ellipkinc as ellipkinc, ellipkm1 as ellipkm1,
    elliprd as elliprd, elliprf as elliprf,
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
from numjet.scipy.special.integrals import (
    exp1 as exp1, expi as expi, expn as expn, i0 as i0, i0e as i0e, i1 as i1, i1e as i1e, spence as spence,
)
from numjet.scipy.special.lambert import (
    cosm1 as cosm1, exprel as exprel, lambertw as lambertw, log_expit as log_expit, wrightomega as wrightomega,
)
from numjet.scipy.special.polynomials import (
    eval_chebyt as eval_chebyt, eval_chebyu as eval_chebyu, eval_gegenbauer as eval_gegenbauer,
    eval_genlaguerre as eval_genlaguerre, eval_hermite as eval_hermite, eval_hermitenorm as eval_hermitenorm,
    eval_laguerre as eval_laguerre, eval_legendre as eval_legendre,
)
from numjet.scipy.special.probability import (
    boxcox as boxcox, boxcox1p as boxcox1p, entr as entr, erf as erf, erfc as erfc, erfinv as erfinv, expit as expit,
    kl_div as kl_div, log_ndtr as log_ndtr, log_softmax as log_softmax, logit as logit, ndtr as ndtr, ndtri as ndtri,
    rel_entr as rel_entr, softmax as softmax, xlog1py as xlog1py, xlogy as xlogy,
)
from numjet.scipy.special.spherical import sph_harm_y as sph_harm_y
from numjet.scipy.special.trigonometric_integrals import owens_t as owens_t, sici as sici
