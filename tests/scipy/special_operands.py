"""The functions of scipy.special on operands of every kind: how they are called, what is refused, and what is decided."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special as theirs

from numjet.scipy import special as ours
from tests.operands import COMPLEX, INTEGERS, KINDS, Case, Elsewhere, Operand, itself, reversed_last
from tests.scipy.kinds import INSIDE, POSITIVE, UNIT, Kinds, counts, of_few_shapes, of_fewest_shapes, times, values

CASES: dict[str, Case] = {}
# For functions whose compilation takes long.
FEW, FEW_POSITIVE = of_few_shapes(KINDS), of_few_shapes(POSITIVE)
FEWEST, FEWEST_UNIT, FEWEST_INSIDE = (of_fewest_shapes(kinds) for kinds in (KINDS, UNIT, INSIDE))
_MANY_REAL = values(0.5, 1, 3.5)
_OTHERS = values(2, 1, 0.75)


def _add(names: str, operands: Sequence[Operand] = (itself,), kinds: Kinds = KINDS,
         options: Sequence[Mapping[str, Any]] = ({},), **more: Any) -> None:
    for name in names.split():
        CASES[name] = Case(getattr(ours, name), getattr(theirs, name, None), operands, options, kinds, **more)


# Of one array.
_add("cbrt cosdg cosm1 cotdg dawsn digamma entr erf erfc erfcx erfi exp10 exp2 expit expm1 exprel "
     "fresnel gamma gammaln gammasgn i0 i0e i1 i1e log1p log_ndtr loggamma ndtr psi rgamma sindg softplus spence tandg "
     "wrightomega zetac")
_add("airy airye bei beip ber berp ellipe ellipk ellipkm1 exp1 expi k0 k0e k1 k1e kei keip ker kerp kelvin log_expit",
     kinds=FEW)
_add("round factorial2", not_smooth="constant, or of whole numbers")
_add("factorial", kinds=POSITIVE)
_add("erfinv", kinds=INSIDE)
_add("erfcinv logit ndtri kolmogorov", kinds=UNIT)
_add("ndtri_exp lambertw wofz y0 y1 j0 j1 shichi sici sinc", kinds=FEWEST)
# Of two and more numbers.
_add("beta", [itself, reversed_last], FEW)
_add("agm betaln binom boxcox boxcox1p huber inv_boxcox inv_boxcox1p kl_div poch powm1 pseudo_huber rel_entr "
     "xlog1py xlogy", [itself, reversed_last])
_add("ellipeinc owens_t", [itself, reversed_last], FEWEST)
_add("elliprc", [itself, reversed_last], POSITIVE)
_add("ellipkinc ellipj", [itself, reversed_last], FEWEST_INSIDE)
_add("chdtr chdtrc gammainc gammaincc", [reversed_last, itself], POSITIVE)
_add("zeta perm", [itself, reversed_last], POSITIVE)
_add("comb", [itself, reversed_last], POSITIVE, ({}, {"repetition": True}), not_smooth="whole numbers are rounded")
_add("stirling2", [lambda x: np.arange(5).reshape(5, *(1,) * x.ndim), itself],
     {kind: x for kind, x in KINDS.items() if kind in INTEGERS or kind.startswith("empty")},
     not_smooth="of whole numbers", not_compiled="as many terms as values say")
_add("chdtri gammaincinv gammainccinv stdtrit", [_MANY_REAL, itself], FEWEST_UNIT)
_add("stdtr", [_MANY_REAL, itself], FEWEST)
_add("polygamma pdtr pdtrc", [counts(0, 1, 3), itself], POSITIVE)
_add("pdtri", [counts(0, 1, 3), itself], FEWEST_UNIT)
_add("bdtr bdtrc nbdtr nbdtrc", [counts(0, 1, 3), counts(5, 4, 4), itself], UNIT)
_add("bdtri", [counts(0, 1, 3), counts(5, 4, 4), itself], FEWEST_UNIT)
_add("betainc betaincc", [_MANY_REAL, _OTHERS, itself], UNIT)
_add("fdtr fdtrc gdtr gdtrc", [_MANY_REAL, _OTHERS, itself], POSITIVE)
_add("gdtria nrdtrimn", [itself, _OTHERS, _MANY_REAL], FEWEST_UNIT)
_add("nrdtrisd", [_MANY_REAL, itself, _OTHERS], UNIT)
_add("elliprd elliprf elliprg", [itself, reversed_last, times(2)], FEW_POSITIVE)
# Of an order or a degree.
_OF_DEGREES = counts(0, 1, 4)
_add("eval_chebyc eval_chebys eval_chebyt eval_chebyu", [_OF_DEGREES, itself], FEWEST)
# Functions without a row as yet, by the files that test them on other operands.
_NO_ROW: dict[str, str] = {
    "test_special.py": "multigammaln expn logsumexp softmax log_softmax",
    "test_special_accuracy.py": "betaincinv hyp0f1 hyp1f1 iv jv struve modstruve",
    "test_special_bessel.py": "hankel1 hankel1e hankel2e ive kv kve yv h1vp h2vp ivp jvp kvp yvp jn kn yn spherical_jn",
    "test_special_bessel_complex.py": "hankel2 yve",
    "test_special_distribution_functions.py": "nbdtri betainccinv fdtri gdtrix elliprj diric radian voigt_profile eval_jacobi",
    "test_special_hypergeometric.py": "hyp2f1 bessel_jn",
    "test_special_legendre.py": "sph_harm_y eval_legendre lpmn_values",
    "test_special_mathieu.py": "mathieu_a mathieu_b mathieu_cem mathieu_sem",
    "test_special_parabolic.py": "pbdv pbvv pbwa",
    "test_special_polynomials.py": "eval_hermite eval_hermitenorm eval_laguerre eval_gegenbauer eval_genlaguerre",
    "test_special_sequences.py":
        "eval_sh_chebyt eval_sh_chebyu eval_sh_legendre eval_sh_jacobi jve spherical_in spherical_kn spherical_yn"}
# Functions of a number of zeros or terms, and others that have no row.
ELSEWHERE: dict[str, Elsewhere] = {
    "lpmn": Elsewhere("scipy/test_special_legendre.py", "SciPy has it no more"),
    "bernoulli": Elsewhere("scipy/test_special.py", "of a number of terms"),
    **{name: Elsewhere(f"scipy/{file}", "no row as yet") for file, names in _NO_ROW.items() for name in names.split()},
    **{name: Elsewhere("scipy/test_special_sequences.py", "of a number of zeros or nodes")
       for name in dir(ours) if name.endswith("_zeros") or name.startswith("roots_")},
    **{name: Elsewhere("scipy/test_special_mathieu.py", "of a number of zeros")
       for name in ("jn_zeros", "jnp_zeros", "yn_zeros", "ynp_zeros")}}

_OF_REAL = (COMPLEX, "of real numbers only")
# Kinds that are errors here, but not in SciPy.
REFUSED: dict[str, tuple[Sequence[str], str]] = dict.fromkeys(
    ("airy airye dawsn digamma erf erfc erfi exp1 expi fresnel log_ndtr ndtr psi rgamma shichi sici spence "
     "wrightomega elliprc elliprd elliprf elliprg eval_chebyc eval_chebys eval_chebyt eval_chebyu").split(), _OF_REAL)


def _infinite(*operands: Any) -> Any:
    return np.isinf(operands[-1])


def _not_finite(*operands: Any) -> Any:
    return ~np.isfinite(operands[-1])


def _zero(*operands: Any) -> Any:
    return operands[-1] == 0


_LIMITS = (_infinite, "the limits at infinities; SciPy: NaN")
_TURNS = (_infinite, "NaN, as the sine of an infinity; SciPy: 0")
_POLE = (_zero, "the limits at 0 differ from both sides: NaN as in JAX; SciPy: -inf or inf")
_CONSTANTS = (_not_finite, "constants are constant at NaN, too, and polynomials infinite at infinities; SciPy: NaN for some")
# Points at which values are decided: by the operands, with the reason.
AT: dict[str, tuple[Callable[..., Any], str]] = {
    **dict.fromkeys(("airy airye j0 j1 y0 y1 kei keip ker kerp kelvin spence").split(), _LIMITS),
    **dict.fromkeys("cosdg cotdg sindg tandg".split(), _TURNS),
    **dict.fromkeys("digamma psi polygamma".split(), _POLE),
    **dict.fromkeys([name for name in CASES if name.startswith("eval_")], _CONSTANTS),
    "gammaln": (_infinite, "inf for both infinities, as in JAX; SciPy: -inf"),
    "beta": (lambda a, b: np.isinf(a + b) | (a * b == 0), "NaN for -inf and inf at poles, as in JAX; SciPy: a sign"),
    "betaln": (lambda a, b: np.isinf(a + b), "NaN for -inf, as in JAX; SciPy: inf"),
    "ellipeinc": (lambda phi, m: (m > 1) | np.isinf(m), "real as long as the integrand is; SciPy: NaN for m > 1"),
    "ellipj": (lambda u, m: np.isinf(u), "the limit for m = 1; SciPy: NaN"),
    "elliprc": (lambda x, y: np.isinf(x), "0, and NaN next to NaN"),
    "powm1": (lambda x, y: np.isinf(y), "(-1) ** inf is 1, as of NumPy; SciPy: NaN"),
    "comb": (lambda N, k: (k != np.floor(k)) | ~np.isfinite(N + k) | (np.asarray(N).dtype == bool),
             "of whole numbers, 0 for others that are no choice and for NaN, as in JAX; SciPy: with repetition of any numbers"),
    "poch": (lambda z, m: z == -np.inf, "no limit; SciPy: -inf"),
    "stdtrit": (lambda df, p: p == 0, "-inf, the end of the support; SciPy: inf"),
    "pdtri": (lambda k, y: y == 1, "0, of which the probability is 1; SciPy: NaN"),
    "nrdtrisd": (lambda mean, p, x: (p == 0) | (p == 1), "0, the limit; SciPy: NaN")}
# Kinds whose values are decided, with the reason.
DECIDED: dict[str, tuple[Sequence[str], str]] = {}

for _name, (_kinds, _reason) in REFUSED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], refused={kind: _reason for kind in _kinds if kind in CASES[_name].kinds})
for _name, (_kinds, _reason) in DECIDED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], decided={kind: _reason for kind in _kinds if kind in CASES[_name].kinds})
for _name, (_test, _reason) in AT.items():
    CASES[_name] = dataclasses.replace(CASES[_name], decided_at=_test, why=_reason)

# Rows whose derivatives are compared: those of the others are tested in files of their own.
DIFFERENTIATED = (
    "airy airye bei beip ber berp cbrt cosdg cosm1 cotdg dawsn digamma ellipe ellipk ellipkm1 entr erf erfc erfcx erfi "
    "exp1 exp10 exp2 expi expit expm1 exprel fresnel gamma gammaln gammasgn i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e kei keip "
    "kelvin ker kerp lambertw log1p log_expit log_ndtr loggamma ndtr psi rgamma shichi sici sinc sindg softplus spence "
    "tandg wofz wrightomega zetac").split()
