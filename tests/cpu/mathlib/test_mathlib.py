"""Mathematical functions: their error over all floats, special values, and the claims of the coefficient tables.

Expansions run as machine code, and for some operands in the interpreter too, which has to give the same bits.
`tools.fit.exhaustive` looks at every float32.
"""
from __future__ import annotations

import importlib
import pkgutil

import mpmath as mp
import numpy as np
import pytest

from numjet.cpu import mathlib
from numjet.cpu.ir.nodes import ARITHMETIC, EXPONENTS, MATH, Exprs
from numjet.cpu.ir.tables import TABLES
from numjet.cpu.mathlib.helpers import Poly
from numjet.cpu.mathlib.logarithm import LEAST_64
from numjet.cpu.native_code import jit
from tests.cpu.loops import F32, F64, agree, assert_same, execute
from tools.fit import pairs
from tools.fit.measure import LONG, bit_patterns, evaluate, expansion, reference, ulps, uniform
from tools.fit.remez import error_bits, fit

UNARY = [op for op, count in MATH.items() if count == 1]
FITTED = ["erf", "erfc", "erf_inv", "lgamma", "digamma"]  # float64 references of these are slow
DTYPES = pytest.mark.parametrize("dtype", [F32, F64], ids=str)
RANGES = [(-1, 1), (-2, 2), (0, 3), (-10, 10), (-100, 100), (-800, 800), (-1e5, 1e5), (0.5, 2), (0.99, 1.01),
          (-104, -86), (-746, -708), (-151, -125), (-1075, -1021)]


def _tables() -> list:
    found = {}
    for module in pkgutil.iter_modules(mathlib.__path__):
        members = vars(importlib.import_module(f"{mathlib.__name__}.{module.name}"))
        found |= {name: value for name, value in members.items() if isinstance(value, Poly)}
    return [pytest.param(table, id=name) for name, table in sorted(found.items())]


def _operands(op: str, dtype: np.dtype) -> np.ndarray:
    slow = op in FITTED and dtype == F64
    everywhere = 1 << (9 if slow else 20 if dtype == F32 else 16)
    count = 300 if slow else 20_000
    denormal = uniform(dtype, -1, 1, count) * np.finfo(dtype).tiny
    parts = [bit_patterns(dtype, everywhere), denormal, *[uniform(dtype, *r, count) for r in RANGES]]
    return np.concatenate(parts)


def _check(op: str, *args: np.ndarray) -> None:
    """The error is within what ACCURACY says."""
    if args[0].dtype == F64 and np.finfo(LONG).eps > 1e-18:
        pytest.skip("long double is no wider than float64 here")
    got, expected = evaluate(op, *args), reference(op, *args)
    error = ulps(got, expected)
    if op in ("lgamma", "digamma") and args[0].dtype == F64:
        unit = np.finfo(F64).eps / 2 * np.maximum(1, np.abs(expected))
        with np.errstate(invalid="ignore"):
            near_root = (args[0] < 0) & np.isfinite(got) & np.isfinite(expected)
            error = np.where(near_root, np.abs(got - expected) / unit / 4, error)
    worst = int(np.argmax(error))
    bound = mathlib.ACCURACY[op, args[0].dtype.name]
    assert error[worst] <= bound, (op, [a[worst] for a in args], got[worst], expected[worst])


@DTYPES
@pytest.mark.parametrize("op", UNARY)
def test_error(op, dtype):
    _check(op, _operands(op, dtype))


@DTYPES
@pytest.mark.parametrize("op", ["atan2", "hypot", "pow"])
def test_error_of_two_operands(op, dtype):
    _check(op, *pairs.samples(dtype, 1 << (17 if dtype == F32 else 14)))


def _special(dtype: np.dtype) -> np.ndarray:
    info = np.finfo(dtype)
    positive = [0.0, np.inf, info.smallest_subnormal, info.tiny, info.tiny / 3, info.max, 1, 0.5, 1.5, 2, 3, 4, 7, 0.25,
                1e-3, 1e-20, 1e20, 1 + info.eps, 1 - info.eps / 2, 2.0**info.nmant, 2.0**info.nmant + 1, 1e5, 2.0**28,
                2.0**60, 170.5, 88.72283, 88.72284, 103.97, 104.0, 709.7827128933840, 709.7827128933841, 745.13, 745.14]
    values = np.array(positive).astype(dtype)
    return np.concatenate([values, -values, np.array([np.nan], dtype)])


def _same_special(got: np.ndarray, expected: np.ndarray) -> None:
    """NaN, infinity and zero in the same places, zeros with the same sign."""
    with np.errstate(all="ignore"):
        expected = expected.astype(got.dtype)
    np.testing.assert_array_equal(np.isnan(got), np.isnan(expected))
    known = (np.isinf(expected) | (expected == 0) | np.isinf(got) | (got == 0)) & ~np.isnan(expected)
    np.testing.assert_array_equal(got[known], expected[known])
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))


@DTYPES
@pytest.mark.parametrize("op", UNARY)
def test_special_values(op, dtype):
    x = _special(dtype)
    expected = reference(op, x)
    got = evaluate(op, x)
    _same_special(got, expected)
    if op != "digamma" or dtype == F32:
        assert ulps(got, expected).max() <= max(4.0, mathlib.ACCURACY[op, dtype.name])


@DTYPES
@pytest.mark.parametrize("op", ["atan2", "hypot", "pow"])
def test_special_values_of_two_operands(op, dtype):
    x, y = (a.reshape(-1) for a in np.meshgrid(_special(dtype), _special(dtype)))
    got, expected = evaluate(op, x, y), reference(op, x, y)
    _same_special(got, expected)
    assert ulps(got, expected).max() <= mathlib.ACCURACY[op, dtype.name]


EXACT = [("exp", 0, 1), ("exp2", 10, 1024), ("exp2", -3, 0.125), ("expm1", 0, 0), ("log", 1, 0), ("log2", 8, 3),
         ("log2", 0.25, -2), ("log1p", 0, 0), ("cos", 0, 1), ("cosh", 0, 1), ("logistic", 0, 0.5), ("acos", 1, 0),
         ("acos", -1, np.pi), ("acos", 0, np.pi / 2), ("asin", 1, np.pi / 2), ("atan", np.inf, np.pi / 2),
         ("cbrt", -27, -3), ("cbrt", 1e-3, 0.1), ("rsqrt", 0.25, 2), ("erf", 9, 1), ("erfc", 0, 1), ("erfc", -9, 2),
         ("lgamma", 1, 0), ("lgamma", 2, 0), ("tanh", 30, 1), ("tanh", -30, -1), ("acosh", 1, 0)]


@DTYPES
@pytest.mark.parametrize("op,x,expected", EXACT)
def test_exact_values(op, x, expected, dtype):
    assert evaluate(op, np.array([x], dtype))[0] == dtype.type(expected)


@DTYPES
def test_whole_powers_are_exact(dtype):
    limit = 2 ** (np.finfo(dtype).nmant + 1)
    cases = [(b, k) for b in range(1, 200) for k in range(60) if b**k <= limit]
    base, exponent = np.array(cases, dtype).T
    expected = np.array([float(b**k) for b, k in cases], dtype)
    np.testing.assert_array_equal(evaluate("pow", base, exponent), expected)
    np.testing.assert_array_equal(evaluate("pow", -base, exponent), np.where(exponent % 2 == 1, -expected, expected))


@DTYPES
def test_fmod_is_exact(dtype):
    x, y = (a.reshape(-1) for a in np.meshgrid(_special(dtype), _special(dtype)))
    patterns, others = bit_patterns(dtype, 4096), bit_patterns(dtype, 4096, 1)[::-1]
    near = np.linspace(0.5, 3, 4096, dtype=dtype)
    multiples = near * np.arange(4096, dtype=dtype)  # rounded, so above or below the whole multiple
    x = np.concatenate([x, patterns, multiples, np.nextafter(multiples, dtype.type(-1)), patterns])
    with np.errstate(all="ignore"):
        y = np.concatenate([y, others, near, -near, patterns * dtype.type(0.3)])
        expected = np.fmod(x, y)
    got = evaluate("fmod", x, y)
    np.testing.assert_array_equal(got, expected)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.signbit(got[known]), np.signbit(expected[known]))


@DTYPES
def test_nextafter(dtype):
    x, y = (a.reshape(-1) for a in np.meshgrid(_special(dtype), _special(dtype)))
    x, y = np.concatenate([x, bit_patterns(dtype, 4096)]), np.concatenate([y, bit_patterns(dtype, 4096, 1)[::-1]])
    with np.errstate(all="ignore"):
        expected = np.nextafter(x, y)
    got = evaluate("nextafter", x, y)
    known = ~np.isnan(expected)
    np.testing.assert_array_equal(np.isnan(got), ~known)
    bits = f"uint{8 * dtype.itemsize}"
    np.testing.assert_array_equal(got[known].view(bits), expected[known].view(bits))


@DTYPES
def test_sine_and_cosine_stay_within_one(dtype):
    x = np.concatenate([uniform(dtype, -8, 8, 200_000), np.arange(-200, 200, dtype=dtype) * dtype.type(np.pi / 2)])
    assert np.abs(evaluate("sin", x)).max() <= 1
    assert np.abs(evaluate("cos", x)).max() <= 1


@DTYPES
@pytest.mark.parametrize("op", ["sin", "cos", "tan"])
def test_near_the_zeros_of_sine_and_cosine(op, dtype):
    """Where the reduction cancels most, up to and beyond its limit."""
    quarters = np.unique(np.exp(uniform(F64, 0, 22, 3000)).astype(np.int64))
    x = (quarters * (LONG(np.pi) / 2)).astype(dtype)
    _check(op, np.concatenate([x, -x, np.nextafter(x, dtype.type(0)), np.nextafter(x, dtype.type(np.inf))]))


@DTYPES
@pytest.mark.parametrize("op", ["exp", "expm1", "tanh", "logistic", "erf", "atan", "log", "cbrt"])
def test_monotone_on_neighbours(op, dtype):
    """Steps back between neighbouring floats are at most the error of both."""
    start = uniform(dtype, 0.01, 3, 4000)
    after = np.nextafter(start, dtype.type(9))
    low, high = evaluate(op, start), evaluate(op, after)
    assert ((low - high) / np.abs(np.spacing(high))).max() <= 2 * mathlib.ACCURACY[op, dtype.name]


@DTYPES
@pytest.mark.parametrize("op", list(MATH))
def test_interpreter_agrees(op, dtype):
    count = 40
    args = [np.concatenate([bit_patterns(dtype, count, k), uniform(dtype, -3, 3, count, k), _special(dtype)[k:][:60]])
            for k in range(MATH[op])]
    agree(expansion(op, dtype, len(args[0]), exponents=False), args, every=True)
    if jit.host().exponents:
        agree(expansion(op, dtype, len(args[0]), exponents=True), args)


@pytest.mark.skipif(not jit.host().exponents, reason="this machine has no instructions for exponents")
@DTYPES
@pytest.mark.parametrize("op", list(MATH))
def test_instructions_for_exponents_change_no_result(op, dtype):
    count = 1 << 12
    args = [np.concatenate([bit_patterns(dtype, count, k), uniform(dtype, -3, 3, count, k), uniform(dtype, -760, 760, count, k),
                            np.resize(np.roll(_special(dtype), 7 * k), count)]) for k in range(MATH[op])]
    quick, general = (execute(expansion(op, dtype, len(args[0]), exponents), args).outputs[0] for exponents in (True, False))
    assert_same(quick, general)


@pytest.mark.parametrize("exponents", [False, True])
@pytest.mark.parametrize("op", list(MATH))
def test_only_arithmetic(op, exponents):
    e = Exprs()
    mathlib.expand(e, op, *[e.var(F32) for _ in range(MATH[op])], exponents=exponents)
    allowed = {*ARITHMETIC, "const", "var", "convert", "bitcast", "select_rare", "libm", "lookup"}
    assert {expr.op for expr in e.table.values()} <= (allowed if exponents else allowed - {*EXPONENTS})


@pytest.mark.parametrize("op,most,few", [("exp", 24, 17), ("tanh", 32, 29), ("log", 31, 21), ("sin", 24, 24),
                                         ("logistic", 31, 27)])
def test_expansions_stay_small(op, most, few):
    """few: with instructions for exponents."""
    for exponents in (False, True):
        e = Exprs()
        mathlib.expand(e, op, e.var(F32), exponents=exponents)
        assert sum(expr.op not in ("const", "var", "bitcast") for expr in e.table.values()) <= (few if exponents else most)


def test_normal_numbers_are_split_by_their_bits():
    """erf_inv's logarithm needs none of what the instructions for exponents do with zeros, infinities and denormals."""
    e = Exprs()
    mathlib.expand(e, "erf_inv", e.var(F32), exponents=True)
    assert not {expr.op for expr in e.table.values()} & {*EXPONENTS}


def test_tables():
    """The powers are rounded to nearest, and their errors are given to half an ulp of float64."""
    with mp.workprec(200):
        for k, (power, miss) in enumerate(zip(TABLES["exp2_16"], TABLES["exp2_16_miss"], strict=True)):
            exact = mp.mpf(2) ** (mp.mpf(k) / 16)
            assert power == float(exact) and abs(miss) < 2.0**-53
            assert miss == float(exact / mp.mpf(float(power)) - 1)


@pytest.mark.parametrize("name,size,base", [("log_16", 16, mp.e), ("log2_16", 16, 2), ("log_64", 64, mp.e)])
def test_tables_of_logarithms(name, size, base):
    """Numbers of so few bits that r = m c - 1 is exact, logarithms in two parts, of which the first is added without error."""
    inverses = TABLES[f"log_{size}_inverse"].tolist()
    edges = (LEAST_64 + (np.arange(size + 1) << (52 - size.bit_length() + 1))).view(np.float64).tolist()
    largest = {16: 0.043, 64: 0.0111}[size]
    with mp.workprec(200):
        for k, (c, high, rest) in enumerate(zip(inverses, TABLES[name].tolist(), TABLES[f"{name}_rest"].tolist(), strict=True)):
            exact = -mp.log(c) / mp.log(base)
            assert (high * 2**42).is_integer() and rest == float(exact - mp.mpf(high))
            r = max(abs(edge * mp.mpf(c) - 1) for edge in edges[k:k + 2])
            assert r <= largest and (high == 0 or abs(high) >= r / mp.log(base))
            last = 2.0**-53 if edges[k] < 1 and c != 1 else 2.0**-52   # of the significands that it multiplies
            assert r / (last / c.as_integer_ratio()[1]) <= 2**53   # the place of the last bit of a product


def test_unknown_operation_has_no_expansion():
    e = Exprs()
    assert mathlib.expand(e, "bessel_j0", e.var(F32)) is None


@pytest.mark.parametrize("dtype", ["float16", "int32"])
def test_other_types_are_refused(dtype):
    e = Exprs()
    with pytest.raises(TypeError, match=rf"'exp' takes float32 or float64 operands, got {dtype}; convert"):
        mathlib.expand(e, "exp", e.var(np.dtype(dtype)))


@pytest.mark.parametrize("table", _tables())
def test_table_keeps_its_promise(table):
    terms = [float(np.dtype(table.dtype).type(t)) for t in table.terms]
    assert error_bits(terms, table.of, table.weight, table.lo, table.hi, 120) >= table.bits - 0.05


@pytest.mark.parametrize("table", [p for p in _tables() if len(p.values[0].terms) <= 5 and p.values[0].lo == 0])
def test_short_tables_are_minimax(table):
    """The fit that made a table finds nothing better."""
    _, best = fit(table.of, table.weight, table.lo, table.hi, len(table.terms), table.dtype)
    assert table.bits >= best - 0.2
