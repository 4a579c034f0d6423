"""SciPy's special functions, elementwise on floats, under JAX's names."""

from numjet.nn.normalization import logsumexp as logsumexp

# special_gamma.py
from numjet.scipy.special_gamma import bernoulli as bernoulli
from numjet.scipy.special_gamma import beta as beta
from numjet.scipy.special_gamma import betainc as betainc
from numjet.scipy.special_gamma import betaln as betaln
from numjet.scipy.special_gamma import comb as comb
from numjet.scipy.special_gamma import digamma as digamma
from numjet.scipy.special_gamma import factorial as factorial
from numjet.scipy.special_gamma import gamma as gamma
from numjet.scipy.special_gamma import gammainc as gammainc
from numjet.scipy.special_gamma import gammaincc as gammaincc
from numjet.scipy.special_gamma import gammaln as gammaln
from numjet.scipy.special_gamma import gammasgn as gammasgn
from numjet.scipy.special_gamma import multigammaln as multigammaln
from numjet.scipy.special_gamma import poch as poch
from numjet.scipy.special_gamma import polygamma as polygamma
from numjet.scipy.special_gamma import zeta as zeta

# special_integrals.py
from numjet.scipy.special_integrals import exp1 as exp1
from numjet.scipy.special_integrals import expi as expi
from numjet.scipy.special_integrals import expn as expn
from numjet.scipy.special_integrals import i0 as i0
from numjet.scipy.special_integrals import i0e as i0e
from numjet.scipy.special_integrals import i1 as i1
from numjet.scipy.special_integrals import i1e as i1e
from numjet.scipy.special_integrals import spence as spence

# special_probability.py
from numjet.scipy.special_probability import boxcox as boxcox
from numjet.scipy.special_probability import boxcox1p as boxcox1p
from numjet.scipy.special_probability import entr as entr
from numjet.scipy.special_probability import erf as erf
from numjet.scipy.special_probability import erfc as erfc
from numjet.scipy.special_probability import erfinv as erfinv
from numjet.scipy.special_probability import expit as expit
from numjet.scipy.special_probability import kl_div as kl_div
from numjet.scipy.special_probability import log_ndtr as log_ndtr
from numjet.scipy.special_probability import log_softmax as log_softmax
from numjet.scipy.special_probability import logit as logit
from numjet.scipy.special_probability import ndtr as ndtr
from numjet.scipy.special_probability import ndtri as ndtri
from numjet.scipy.special_probability import rel_entr as rel_entr
from numjet.scipy.special_probability import softmax as softmax
from numjet.scipy.special_probability import xlog1py as xlog1py
from numjet.scipy.special_probability import xlogy as xlogy
