"""Outcomes of JAX 0.10.2, kept as text (`python -m numjet.tools.jax_tables --write tests/jax_outcomes`): numjet agrees."""
import math
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from numjet import jit, lax
from numjet.tools import jax_diff_cases, jax_tables

TABLES = sorted((Path(__file__).parent / "jax_outcomes").glob("*.txt"))
FUNCTION_TABLES = sorted((Path(__file__).parent / "jax_outcomes").glob("*.txt.xz"))
FINDINGS = [  # text, JAX's dtype, shape and values
    ("jnp.full((2,), nan, jnp.int32)", "int32", (2,), [0, 0]),
    ("u8 != -1", "bool", (4,), [True] * 4), ("u8 < 300", "bool", (4,), [True] * 4),
    ("u8_s == -1", "bool", (7,), [False, True] + [False] * 5),
    ("u8 + 300", "uint8", (4,), [47, 45, 46, 49]), ("jnp.clip(u8, -1, 300)", "uint8", (4,), [44] * 4),
    ("jnp.where(m, u8, -1)", "uint8", (4,), [3, 255, 2, 255]), ("u8.at[0].set(-1)", "uint8", (4,), [255, 1, 2, 5]),
    ("u32.at[0].set(2**31)", "uint32", (4,), [2**31, 1, 2, 5]), ("jnp.hypot(u8, -1)[1]", "float32", (), math.sqrt(2)),
    ("jnp.gcd(u8, 300)", "uint8", (4,), [1, 1, 2, 1]), ("jnp.full((2,), 2**31, jnp.uint8)", "uint8", (2,), [0, 0]),
    ("jnp.arange(-1, 3, dtype=jnp.uint8)", "uint8", (4,), [255, 0, 1, 2]),
    ("f32.at[:].get(mode='wrap')", "float32", (4,), [0.75, -1.5, 2.0, 0.25]),
    ("b << b", "int32", (4,), [2, 0, 2, 2]), ("b >> b", "int32", (4,), [0, 0, 0, 0]),
    ("b // b", "int32", (4,), [1, -1, 1, 1]), ("b % b", "int32", (4,), [0, 0, 0, 0]),
    ("jnp.fmod(b, b)", "int32", (4,), [0, 0, 0, 0]),
    ("jnp.linalg.norm(jnp.zeros((0, 0)), 2)", "float32", (), 0.0), ("jnp.linalg.norm(f32_0, jnp.inf)", "float32", (), 0.0),
    ("jnp.linalg.norm(jnp.zeros((0, 3)), 1)", "float32", (), 0.0),
    ("jnp.take_along_axis(f32_0, jnp.array([0]), 0, mode='clip')", "float32", (1,), [0.0]),
    ("jnp.median(1., keepdims=True)", "float32", (1,), [1.0]), ("jnp.quantile(1., .5, keepdims=True)", "float32", (1,), [1.0]),
    ("grad(abs)(0.)", "float32", (), 1.0), ("grad(lambda x: jnp.sqrt(abs(x)))(0.)", "float32", (), math.inf),
    ("f32.at[:].apply(lambda v: v / v.sum())", "float32", (4,), [1.0] * 4),
    ("f32.at[f32 > 0].apply(lambda v: v - v.mean())", "float32", (4,), [0.0, -1.5, 0.0, 0.0]),
    ("i32.at[jnp.array([], int)].apply(jnp.sin)", "int32", (4,), [3, 1, 2, 5]),
    ("f32_0.at[:].set(7, mode='wrap')", "float32", (0,), []),
    ("jnp.logaddexp.accumulate(i32)[:2]", "float32", (2,), [3.0, 3.0 + math.log1p(math.exp(-2))]),
    ("jnp.logaddexp2.accumulate(i32)[:2]", "float32", (2,), [3.0, math.log2(10)]),
    ("jnp.logaddexp2.reduceat(b, jnp.array([0, 2]))", "float32", (2,), [math.log2(3), 2.0]),
    ("jnp.logical_xor.accumulate(i32)", "bool", (4,), [True, False, True, False]),
    ("jnp.minimum.accumulate(b)", "bool", (4,), [True, False, False, False]),
    ("jnp.frompyfunc(lambda a, b: a / b, 2, 1).reduce(i32)", "float32", (), 0.3),
    ("f32_s ** 0.5", "float32", (10,), [math.nan, math.inf, math.inf, 0.0, 0.0, 1.0, math.nan, 0.5**0.5, math.nan, 3**0.5]),
    ("(2.0 ** i32)[:2] * jnp.ones(2, jnp.float16)", "float32", (2,), [8.0, 2.0]),
    ("jnp.log2(jnp.complex64(complex('inf')))", "complex64", (), complex("inf")),
    ("jnp.logaddexp2(f32, c64)", "complex64", (4,), [1.75, -0.5, 3.0, 1.25]),
    ("lax.convert_element_type(jnp.array([1j, 1]), bool)", "bool", (2,), [False, True]),
    ("jnp.array([1j, 0]).astype(bool)", "bool", (2,), [True, False]), ("b.at[0].set(1j)[0]", "bool", (), False),
    ("jnp.bitwise_count(b)", "uint8", (4,), [1, 0, 1, 1]), ("jnp.ldexp(u8, b)", "float32", (4,), [6.0, 1.0, 4.0, 10.0]),
    ("jnp.polyval(b, b)", "bool", (4,), [True] * 4), ("jnp.array(2**70, jnp.float32)", "float32", (), 2.0**70),
    ("jnp.cov(f32_0)", "float32", (), math.nan), ("jnp.cov(f32_30)", "float32", (3, 3), [[math.nan] * 3] * 3),
    ("jnp.pad(f32_0, 1, mode='mean')", "float32", (2,), [math.nan] * 2), ("jnp.poly(f32_0)", "float32", (), 1.0),
    ("jnp.complex64(complex('inf')) ** jnp.complex64(complex('inf'))", "complex64", (), complex("inf")),
]


WIDE = [  # with 64 bits
    ("jnp.linalg.matrix_rank(f32)", "int32", (), 1), ("jnp.linalg.matrix_rank(f32_2)", "int64", (), 2),
    *[(text, "int32", (4,), [1, 1, 1, 1]) for text in ("b ** b", "(b // b) ** 2")],
    *[(text, "int32", (4,), [0, 0, 0, 0]) for text in ("b % b", "jnp.fmod(b, b)", "b >> b")],
    ("jnp.argpartition(f32, 0)[0]", "int32", (), 1),
    ("jnp.rint(u8)", "float64", (4,), [3.0, 1.0, 2.0, 5.0]),
    ("jnp.power(i32, u64)", "float64", (4,), [27.0, 1.0, 4.0, 3125.0]),
    ("jnp.unique(f32_2, size=3, return_counts=True)[1]", "int64", (3,), [1, 3, 1]),
]


@pytest.mark.parametrize("text, dtype, shape, values", WIDE, ids=[f[0] for f in WIDE])
def test_findings_with_64_bits(text, dtype, shape, values):
    for got in jax_tables.evaluate("numjet", [("findings", text, True)], jax_diff_cases.OPERANDS)[0]:
        assert jax_tables.difference([(dtype, False, shape, values)], got) in (None, "weak type"), (text, got)


@pytest.mark.parametrize("text, dtype, shape, values", FINDINGS, ids=[f[0] for f in FINDINGS])
def test_findings(text, dtype, shape, values):
    want = [[(dtype, False, shape, values)]]
    for got in jax_tables.evaluate("numjet", [("findings", text, False)], jax_diff_cases.OPERANDS)[0]:
        assert jax_tables.difference(want[0], got) in (None, "weak type"), (text, got)


def test_whether_integers_wrap_follows_the_flag():
    cases = [("", "u8 + 2**31", x64) for x64 in (True, False, True)]
    wide, narrow, again = jax_tables.evaluate("numjet", cases, jax_diff_cases.OPERANDS)
    assert wide == again == [[("uint8", False, (4,), [3, 1, 2, 5])]] * 2 and all("OverflowError" in got for got in narrow)


def test_unique_of_nothing_needs_a_filler():
    for got in jax_tables.evaluate("numjet", [("", "jnp.unique(f32_0, size=3, return_counts=True)", False)],
                                    jax_diff_cases.OPERANDS)[0]:
        assert "ValueError" in got


_VAGUE = "jnp.broadcast_to(1., 3)"
_SQUARE = "jnp.broadcast_to(1., (3, 3))"


@pytest.mark.parametrize("text, weak", [
    *[(text.replace("X", _VAGUE), True) for text in ("jnp.interp(X, X, X)", "jnp.convolve(X, X[:1])", "jnp.diag(X)",
      "jnp.polysub(X, X[1:])", "jnp.insert(X, 0, 1.)", "jnp.cross(X[:2], X[:2])", "jnp.correlate(X, X[:1])")],
    *[(text.replace("X", _SQUARE), True) for text in ("jnp.diagonal(X)", "jnp.diag(X, 1)")],
    *[(text, True) for text in ("jnp.sinc(0.5)", "jnp.hypot(3, 4)", "jnp.heaviside(0.5, 2)", "jnp.round(0.55, 1)")],
    *[(text.replace("X", _VAGUE), False) for text in ("jnp.cross(X, X)", "jnp.sinc(X)", "jnp.hypot(X, 2)", "nn.gelu(X)",
      "jnp.heaviside(X, 2.)", "jnp.round(X, 1)", "jnp.polyval(X, 2.)", "jnp.diagflat(X)", "jnp.interp(X, f32, f32)")],
    ("nn.gelu(0.5)", False), ("jnp.choose(0, [1, 2])", False), (f"jnp.linalg.inv({_SQUARE}[:1, :1])", False),
    (f"jnp.linalg.diagonal({_SQUARE})", False)])
def test_weak_types(text, weak):
    """As JAX has them: of `where` only for scalars, of pads and products of weakly typed arrays always."""
    for got in jax_tables.evaluate("numjet", [("", text, False)], jax_diff_cases.OPERANDS)[0]:
        assert got[0][1] is weak, got


@pytest.mark.parametrize("text, dtype", [
    ("jsp.stats.norm.logpdf(f32, 0., c64)[1].real * 1j", "complex64"), ("jsp.stats.sem(c64)", "complex64"),
    ("jsp.stats.cauchy.ppf(c64)[2].real", "float32"),
    ("jsp.interpolate.RegularGridInterpolator((jnp.arange(4.),), f16, 'nearest')(jnp.array([0.5]))", "float16"),
    ("jsp.interpolate.RegularGridInterpolator((jnp.arange(4, dtype='i8'),), f32)(f32[:1])", "float32"),
    ("jsp.spatial.transform.Rotation.from_rotvec(f32_2[None]).as_matrix()[0, 1]", "float32"),
    ("jsp.spatial.transform.Rotation.from_euler('x', f32[:1]).as_quat()", "float32")])
def test_dtypes_of_libraries(text, dtype):
    for got in jax_tables.evaluate("numjet", [("", text, True)], jax_diff_cases.OPERANDS)[0]:
        assert got[0][0] == dtype and np.isfinite(np.array(got[0][3])).all(), got


@pytest.mark.parametrize("text, shape", [
    ("jsp.fft.idct(f32_30, axis=0)", (3, 0)), ("jsp.fft.idctn(f32_30, axes=0, norm='ortho')", (3, 0)),
    ("jsp.stats.mode(f32_1, keepdims=True).mode", (1,))])
def test_shapes_of_little(text, shape):
    for got in jax_tables.evaluate("numjet", [("", text, False)], jax_diff_cases.OPERANDS)[0]:
        assert got[0][2] == shape


@pytest.mark.parametrize("text, values", [
    ("lax.linalg.triangular_solve(bf16_2[:, :2], bf16_2, left_side=True)", [[1.0, 0.0, 2.0], [3.0, 1.0, 1.0]]),
    ("jsp.linalg.solve_triangular(f16_2[:, :2], f16_2, lower=True)", [[1.0, 0.0, 2.0], [0.0, 1.0, -5.0]]),
    ("jsp.linalg.lu_solve((f16_2[:, :2], jnp.array([0, 1])), f16_2)", [[1.0, 0.0, 2.0], [0.0, 1.0, -5.0]])])
def test_halves_are_solved(text, values):
    for got in jax_tables.evaluate("numjet", [("", text, False)], jax_diff_cases.OPERANDS)[0]:
        assert got[0][0] in ("bfloat16", "float16") and got[0][3] == values


@pytest.mark.parametrize("text, error", [
    *[(f"jsp.stats.{name}(c64)", "TypeError") for name in ("expon.logpdf", "laplace.cdf", "uniform.pdf", "gumbel_r.ppf",
      "gumbel_l.sf")], ("jsp.stats.gaussian_kde(f32)(c64)", "NotImplementedError"), ("nn.one_hot(i32, 3.0)", "TypeError"),
    ("f32.at[0].apply(lambda v: v > 1)", "ValueError"), ("i32.at[:].apply(lambda v: v + 0.5)", "ValueError"),
    ("f32.at[jnp.array([0, 0])].apply(lambda v: v[None])", "ValueError"), ("f32_0.at[0].get(mode='fill')", "IndexError"),
    ("f32_0.at[0].set(7, mode='wrap')", "IndexError"), ("jnp.zeros((0, 0))[0]", "IndexError")])
def test_errors(text, error):
    for got in jax_tables.evaluate("numjet", [("", text, False)], jax_diff_cases.OPERANDS)[0]:
        assert error in got, (text, got)


def _differs_by_mode(eager, jit):
    """Whether programs answer otherwise, but for signs of zeros and complex numbers with infinite parts or NaN."""
    if jax_tables.needs_values(jit):
        return False
    if isinstance(eager, tuple) or isinstance(jit, tuple):
        return jax_tables.difference(eager, jit) is not None
    if [leaf[:3] for leaf in eager] != [leaf[:3] for leaf in jit]:
        return True
    for (dtype, _, _, a), (_, _, _, b) in zip(eager, jit, strict=True):
        a, b = np.array(a), np.array(b)
        known = np.isfinite(a) & np.isfinite(b) if dtype.startswith("complex") else np.ones(a.shape, bool)
        if jax_tables.values_differ(dtype, a[known], b[known]) not in (None, "sign of zero"):
            return True
    return False


@pytest.mark.parametrize("table, step", [("specials", 3), ("dtypes", 6), ("updates", 6), ("reductions", 6)])
def test_programs_answer_as_eager_evaluation(table, step, request):
    """Of one case in `step`; of all with --full."""
    step = 1 if request.config.getoption("--full") else step
    cases = sorted((case for case in jax_diff_cases.all_cases() if case[0] == table), key=lambda case: case[2])[::step]
    branches = "jnp.arctan2(c64_s"  # whose sign follows those of zeros
    found = jax_tables.evaluate("numjet", cases, jax_diff_cases.OPERANDS)
    wrong = [(text, *each) for (_, text, _), each in zip(cases, found, strict=True)
             if not text.startswith(branches) and _differs_by_mode(*each)]
    assert len(cases) > 200 and not wrong, wrong[:3]


def test_programs_of_updates_end(request):
    """Empty arrays, places out of bounds and unknown modes once ended the process, in one of the programs."""
    step = 1 if request.config.getoption("--full") else 3
    cases = [case for case in jax_diff_cases.all_cases() if case[0] == "updates"][::step]
    found = jax_tables.evaluate("numjet", cases, jax_diff_cases.OPERANDS)
    assert len(cases) > 500 and all(len(each) == len(jax_tables.MODES) for each in found)


def _differs(want, got):
    kind = jax_tables.difference(want, got)
    # Python writes complex numbers as sums, which have no negative zero.
    return kind and not (kind == "sign of zero" and want[0][0].startswith("complex"))


@pytest.mark.parametrize("path", TABLES, ids=lambda p: p.stem)
def test_outcomes_of_jax(path):
    cases = jax_tables.kept_cases(path)
    assert len(cases) >= 100
    _check(path.stem, cases)


def _check(table, cases):
    found = jax_tables.evaluate("numjet", [(table, text, x64) for text, x64, _ in cases], jax_diff_cases.OPERANDS)
    wrong = [(text, want, got) for (text, _, want), each in zip(cases, found, strict=True) for got in each
             if not jax_tables.needs_values(got) and _differs(want, got)]
    assert not wrong, wrong[:3]


@pytest.mark.parametrize("path", FUNCTION_TABLES, ids=lambda p: p.stem)
def test_outcomes_of_functions(path, request):
    """Of every function of the libraries and of lax: one case in 60, all with --full."""
    cases = jax_tables.kept_cases(path)
    assert len(cases) >= 200
    _check(path.stem, cases[::1 if request.config.getoption("--full") else 60])


def test_differences_are_seen():
    want = [("float32", False, (2,), [0.0, math.nan])]
    changes = {"sign of zero": [-0.0, math.nan], "NaN": [0.0, 1.0], "value": [1.0, math.nan], None: [0.0, math.nan]}
    for kind, values in changes.items():
        assert jax_tables.difference(want, [("float32", False, (2,), values)]) == kind
    assert jax_tables.difference(want, [("float16", False, (2,), [0.0, math.nan])]) == "dtype or shape"
    assert jax_tables.difference(want, ("TypeError",)) == "should not raise"
    assert jax_tables.difference(("ValueError",), want) == "should raise"


@pytest.mark.parametrize("name", ["cummax", "cummin"])
def test_nan_of_complex_numbers_wins_from_its_place_on(name):
    """As in NumPy, wherever it stands, in either part; programs answer alike."""
    parts = (complex(math.nan, 1), complex(1, math.nan), complex(math.nan, math.nan))
    for part, at, size in product(parts, (0, 1, 8), (9, 70)):
        x = np.arange(size * 8, dtype=np.float32).reshape(size, 8)[:, ::-1].astype(np.complex64) * 1j
        x[at] = part
        for reverse in (False, True):
            run = partial(getattr(lax, name), axis=0, reverse=reverse)
            eager, jitted = np.asarray(run(x)), np.asarray(jit(run)(x))
            np.testing.assert_array_equal(np.isnan(eager), np.isnan(jitted))
            inside = np.arange(size) <= at if reverse else np.arange(size) >= at
            assert (np.isnan(eager).all(1) == inside).all()
            np.testing.assert_array_equal(eager[~inside], jitted[~inside])
