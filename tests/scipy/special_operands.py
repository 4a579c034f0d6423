"""The functions of scipy.special on operands of every kind: how they are called, what is refused, and what is decided."""
from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import special as theirs

from numjet.scipy import special as ours
from tests.operands import COMPLEX, EMPTY, HALVES, INTEGERS, KINDS, Case, Elsewhere, Of, Operand, itself, reversed_last
from tests.scipy.kinds import (
    INSIDE,
    POSITIVE,
    UNIT,
    Kinds,
    counts,
    of_few_shapes,
    of_fewest_shapes,
    of_one_shape,
    times,
    values,
)

CASES: dict[str, Case] = {}
# For functions whose compilation takes long.
FEW, FEW_POSITIVE = of_few_shapes(KINDS), of_few_shapes(POSITIVE)
FEWEST, FEWEST_UNIT, FEWEST_INSIDE = (of_fewest_shapes(kinds) for kinds in (KINDS, UNIT, INSIDE))
ONE, ONE_UNIT = of_one_shape(KINDS), of_one_shape(UNIT)
ONE_OR_REFUSED, ONE_COMPLEX = of_one_shape(KINDS, "complex64"), of_one_shape(KINDS, "complex128 transposed")
ONE_AND_ENDS = of_one_shape(KINDS, "rank 0", "empty of rank 3")
_MANY_REAL = values(0.5, 1, 3.5)
_OTHERS = values(2, 1, 0.75)


def _add(names: str, operands: Sequence[Operand] = (itself,), kinds: Kinds = KINDS,
         options: Sequence[Mapping[str, Any]] = ({},), definition: Callable[..., Any] | None = None, **more: Any) -> None:
    for name in names.split():
        CASES[name] = Case(getattr(ours, name), definition or getattr(theirs, name), operands, options, kinds, **more)


def _of_finite(function: Callable[..., Any], limit: Callable[..., Any] = lambda *operands: np.nan) -> Callable[..., Any]:
    """SciPy's function where it takes no infinities or NaN: it does not return, or crashes."""
    def call(*operands: np.ndarray) -> list[np.ndarray]:
        known = np.logical_and.reduce(np.broadcast_arrays(*map(np.isfinite, operands)))
        found = function(*[np.where(np.isfinite(x), x, 0).astype(x.dtype) for x in operands])
        return [np.where(known, v, limit(*operands)).astype(v.dtype) for v in (found if isinstance(found, tuple) else (found,))]
    return call


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
_add("nbdtri", [counts(0, 1, 3), counts(5, 4, 4), itself], ONE_UNIT)
_add("betaincinv betainccinv fdtri gdtrix", [_MANY_REAL, _OTHERS, itself], ONE_UNIT)
_add("elliprj", [itself, reversed_last, times(2), times(4)], of_one_shape(POSITIVE, "complex64"))
_add("diric", options=({"n": 4}, {"n": 5}))
_add("radian", [itself, reversed_last, times(2)])
_add("voigt_profile", [itself, values(0.5, 1, 0), values(0.5, 0, 1)])
_add("sph_harm_y", [counts(0, 1, 3), counts(0, 1, -2), itself, reversed_last])
_add("multigammaln", kinds=POSITIVE, options=({"d": 1}, {"d": 3}),
     definition=lambda a, d: d * (d - 1) / 4 * np.log(np.pi) + sum(theirs.gammaln(a - k / 2) for k in range(d)))
# Of an order or a degree.
_ORDERS, _WHOLE_ORDERS, _OF_DEGREES = values(0, 1, 2.5, -1.5, -2), counts(0, 1, 4, -1, -2), counts(0, 1, 4)
_add("eval_chebyt eval_legendre", [_WHOLE_ORDERS, itself], FEWEST)
_add("eval_chebyc eval_chebys eval_chebyu eval_hermite eval_hermitenorm eval_sh_chebyt eval_sh_chebyu eval_sh_legendre",
     [_WHOLE_ORDERS, itself], ONE_OR_REFUSED)
_add("eval_laguerre", [_OF_DEGREES, itself], ONE_OR_REFUSED)
_add("eval_gegenbauer eval_genlaguerre", [_OF_DEGREES, _MANY_REAL, itself], ONE_OR_REFUSED)
_add("eval_jacobi eval_sh_jacobi", [_OF_DEGREES, values(2.5, 3, 2.5), values(0.5, 2, 1.5), itself], ONE_OR_REFUSED)
_add("expn", [_WHOLE_ORDERS, itself], of_one_shape(POSITIVE, "rank 0", "empty of rank 3"))
_add("jv", [_ORDERS, itself], ONE_AND_ENDS)
_add("hankel1 kv", [_ORDERS, itself], ONE_COMPLEX)
_add("hankel1e hankel2 hankel2e iv ive jve kve yv yve", [_ORDERS, itself], ONE)
_add("ivp jvp yvp", [_ORDERS, itself], ONE)
_add("h1vp h2vp kvp", [_ORDERS, itself], ONE, ({"n": 2},))
_add("jn kn yn", [_WHOLE_ORDERS, itself], ONE)
_add("spherical_in spherical_jn spherical_kn spherical_yn", [_OF_DEGREES, itself], ONE, ({}, {"derivative": True}))
_add("bessel_jn", kinds=ONE_OR_REFUSED, options=({"v": 2}, {"v": 3, "n_iter": 40}),
     definition=lambda z, v, n_iter=50: np.stack([theirs.jv(k, z) for k in range(v + 1)]))
_add("struve modstruve", [_ORDERS, itself], ONE)
_add("pbdv pbvv pbwa", [_ORDERS, itself], ONE)
_add("mathieu_a mathieu_b", [counts(1, 2, 4), itself], FEWEST)
_add("mathieu_cem", [counts(1, 2, 4), itself, times(8)], ONE, definition=_of_finite(theirs.mathieu_cem))
_add("mathieu_sem", [counts(1, 2, 4), itself, times(8)], ONE, definition=_of_finite(theirs.mathieu_sem))
_add("lpmn_values", [lambda x: 2, lambda x: 2, lambda x: x.reshape(-1)], of_few_shapes(INSIDE),
     options=({"is_normalized": True}, {"is_normalized": False}), definition=lambda m, n, z, is_normalized: np.swapaxes(
         theirs.assoc_legendre_p_all(n, m, z, norm=is_normalized)[0][:, :m + 1], 0, 1) / (2 * np.pi) ** (0.5 * is_normalized))
# Hypergeometric functions.
_add("hyp0f1", [values(0.5, 1, -1.5), itself], ONE_OR_REFUSED)
_add("hyp1f1", [_MANY_REAL, values(1.5, 2, 3.25), itself], ONE_OR_REFUSED, definition=_of_finite(
    theirs.hyp1f1, lambda a, b, x: np.where(np.isnan(x), x, np.where(x > 0, np.inf, 0))))
_add("hyp2f1", [_MANY_REAL, values(1.5, 2, 3.25), values(4.5, 2, 3.25), itself], of_one_shape(INSIDE, "complex64"))
# Along axes.
_AXES = ({}, {"axis": -1}, {"axis": (0, 2)})
_NO_AXES = {("rank 0", "axis"): "no axes, as in JAX"}
_add("logsumexp", kinds=of_one_shape(KINDS, "complex64", "rank 0", "empty of rank 3"), refused=_NO_AXES, options=(
    *_AXES, {"axis": 0, "keepdims": True}, {"axis": -1, "b": Of(reversed_last), "return_sign": True}))
_NOT_WRAPPED = lambda f: lambda x, axis=None: f(x.astype(np.result_type(x, np.float32)), axis)  # SciPy subtracts integers
_add("softmax", kinds=ONE_AND_ENDS, options=_AXES, refused=_NO_AXES, definition=_NOT_WRAPPED(theirs.softmax))
_add("log_softmax", kinds=ONE_AND_ENDS, options=_AXES, refused=_NO_AXES, definition=_NOT_WRAPPED(theirs.log_softmax),
     decided={("special values reversed", "axis"): "NaN beside an infinity, as in JAX; SciPy: -inf"})
# Functions of a number of zeros or terms, and others that have no row.
ELSEWHERE: dict[str, Elsewhere] = {
    "lpmn": Elsewhere("scipy/test_special_legendre.py", "SciPy has it no more"),
    "bernoulli": Elsewhere("scipy/test_special.py", "of a number of terms"),
    **{name: Elsewhere("scipy/test_special_sequences.py", "of a number of zeros or nodes")
       for name in dir(ours) if name.endswith("_zeros") or name.startswith("roots_")},
    **{name: Elsewhere("scipy/test_special_mathieu.py", "of a number of zeros")
       for name in ("jn_zeros", "jnp_zeros", "yn_zeros", "ynp_zeros")}}

_OF_REAL = (COMPLEX, "of real numbers only")
# Kinds that are errors here, but not in SciPy.
REFUSED: dict[str, tuple[Sequence[str], str]] = dict.fromkeys(
    "bessel_jn".split(), _OF_REAL)
REFUSED["lpmn_values"] = ((*HALVES, *INTEGERS, "int32", *COMPLEX), "of float32 and float64 only, as in JAX")


def _infinite(*operands: Any) -> Any:
    return np.isinf(operands[-1])


def _not_finite(*operands: Any) -> Any:
    return ~np.isfinite(operands[-1])


def _nearest(*operands: Any) -> Any:
    return np.isinf(operands[-1]) | ((operands[-1] == 0) & (operands[0] < 0))


def _end(*operands: Any) -> Any:
    return np.isinf(operands[-1]) | (operands[-1] == 0)


def _zero(*operands: Any) -> Any:
    return operands[-1] == 0


_LIMITS = (_infinite, "the limits at infinities; SciPy: NaN")
_SIGNED_LIMITS = (_nearest, "the limits at infinities, and at 0 for negative orders; SciPy: NaN or inf")
_ALL_LIMITS = (_end, "the limits at infinities and 0; SciPy: NaN, from differences of infinities, or inf")
_TURNS = (_infinite, "NaN, as the sine of an infinity; SciPy: 0")
_POLE = (_zero, "the limits at 0 differ from both sides: NaN as in JAX; SciPy: -inf or inf")
_CONSTANTS = (_not_finite, "constants are constant at NaN, too, and polynomials infinite at infinities; SciPy: NaN for some")
# Points at which values are decided: by the operands, with the reason.
AT: dict[str, tuple[Callable[..., Any], str]] = {
    **dict.fromkeys(("airy airye j0 j1 y0 y1 kei keip ker kerp kelvin spence hyp0f1 hyp2f1 bessel_jn jn jv yn multigammaln "
                     "hankel1 hankel1e hankel2 hankel2e kve spherical_in").split(), _LIMITS),
    **dict.fromkeys("iv ive yv struve modstruve".split(), _SIGNED_LIMITS),
    **dict.fromkeys("h1vp h2vp ivp jve jvp yve yvp spherical_kn spherical_yn".split(), _ALL_LIMITS),
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
    "pseudo_huber": (lambda delta, r: np.isinf(delta), "r^2 / 2 for infinite delta; SciPy: NaN"),
    "stdtrit": (lambda df, p: p == 0, "-inf, the end of the support; SciPy: inf"),
    "pdtri": (lambda k, y: y == 1, "0, of which the probability is 1; SciPy: NaN"),
    "pbdv": (lambda v, x: np.isinf(x) | np.isnan(theirs.pbdv(v, x)[0]), "limits, and values where SciPy has NaN"),
    "pbvv": (lambda v, x: np.isinf(x) | np.isnan(theirs.pbvv(v, x)[0]), "limits, and values where SciPy has NaN"),
    "lpmn_values": (lambda m, n, z: ~(np.abs(z) < 1), "NaN beyond 1, as in JAX; SciPy: infinities, and no norm at 1"),
    "nrdtrisd": (lambda mean, p, x: (p == 0) | (p == 1), "0, the limit; SciPy: NaN")}
# Kinds that only SciPy refuses.
UNANSWERED: dict[str, dict[str, str]] = {
    **{name: dict.fromkeys(COMPLEX, "the formula of real numbers") for name in ("expit", "logit", "boxcox", "boxcox1p")},
    "factorial2": {kind: "the formula between integers" for kind, x in CASES["factorial2"].kinds.items()
                   if x.dtype.kind not in "iuc"},
    **{name: {"bool": "0 and 1"} for name in "factorial perm diric spherical_in spherical_jn spherical_yn".split()},
    **{name: {"empty of rank 3": "what JAX has of no numbers"} for name in ("logsumexp", "softmax", "log_softmax")},
    **{name: {"complex64": "the same recurrence"} for name in ("eval_hermite", "eval_hermitenorm")},
    "stirling2": dict.fromkeys(("bool", *EMPTY), "0 and 1, or no numbers")}

for _name, (_kinds, _reason) in REFUSED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], refused={kind: _reason for kind in _kinds if kind in CASES[_name].kinds})
for _name, _reasons in UNANSWERED.items():
    CASES[_name] = dataclasses.replace(CASES[_name], unanswered=_reasons)
for _name, (_test, _reason) in AT.items():
    CASES[_name] = dataclasses.replace(CASES[_name], decided_at=_test, why=_reason)

# Rows of functions that are programs, which those of a family share.
PROGRAMS = (
    "h1vp h2vp hankel1 hankel1e hankel2 hankel2e iv ive ivp jn jv jve jvp kn kv kve kvp spherical_in spherical_jn spherical_kn "
    "spherical_yn yn yv yve yvp").split()
# Rows whose derivatives are compared at complex numbers.
HOLOMORPHIC = ("dawsn digamma erf erfc exp1 fresnel log_ndtr rgamma spence wrightomega "
               "eval_legendre").split()
# Rows whose derivatives are compared: those of the others are tested in files of their own.
DIFFERENTIATED = (
    "airy airye bei beip ber berp cbrt cosdg cosm1 cotdg dawsn digamma ellipe ellipk ellipkm1 entr erf erfc erfcx erfi "
    "exp1 exp10 exp2 expi expit expm1 exprel fresnel gamma gammaln gammasgn i0 i0e i1 i1e j0 j1 k0 k0e k1 k1e kei keip "
    "kelvin ker kerp lambertw log1p log_expit log_ndtr loggamma ndtr psi rgamma shichi sici sinc sindg softplus spence "
    "tandg wofz wrightomega zetac diric expn log_softmax logsumexp lpmn_values multigammaln radian softmax "
    "voigt_profile").split() + [name for name in CASES if name.startswith("eval_")]
