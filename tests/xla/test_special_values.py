"""Infinities, NaN, zeros of both signs, extreme integers: the three meanings of an operation agree on them.

What is left open is written down in docs/xla.md, "Where the backends may differ".
"""
import itertools

import numpy as np
import pytest

import numjet as nj
from numjet.core.op import Missing, all_ops
from numjet.core.trace import aval_of
from numjet.foundation import dtypes
from numjet.foundation.config import enable_x64
from numjet.testing import records
from numjet.testing.close import RTOL, assert_close

LOOPED = ("igamma", "igamma_grad_a", "igamma_grad_a_a", "igamma_grad_a_x", "igammac", "polygamma", "random_gamma_grad",
          "random_gamma_grad_a", "random_gamma_grad_x", "regularized_incomplete_beta", "zeta")
ELEMENTWISE = sorted(n for n, op in all_ops().items() if (op.elementwise or n in LOOPED) and not isinstance(op.samples, Missing)
                     and not isinstance(op.eager, Missing) and not isinstance(op.hlo, Missing))
REDUCTIONS = {name: {"axes": (1,)} for name in ("reduce_sum", "reduce_prod", "reduce_max", "reduce_min", "reduce_and",
                                                "reduce_or", "reduce_xor")}
REDUCTIONS |= {name: {"axis": 1, "reverse": False} for name in ("cumsum", "cumprod", "cummax", "cummin", "cumlogsumexp")}
REDUCTIONS |= {name: {"axes": (1,), "index_dtype": np.dtype(np.int32)} for name in ("argmax", "argmin")}
ZERO_SIGN_OPEN = ("max", "min", "clamp", "reduce_max", "reduce_min", "cummax", "cummin",
                  "reduce_sum")
# Where results are what large terms leave of each other; a second derivative at (30, 30) of 7e-6 of terms of the size of 1.
ABSOLUTE = {"lgamma": 1e-6, "atan2": 1e-6, "igamma_grad_a_a": 1e-15}
POLES = ("atan2", "pow", "div", "integer_pow", "rsqrt")  # of complex numbers: which infinity, or NaN, is open
DTYPES = ("bool", "int8", "uint8", "int32", "uint32", "int64", "uint64", "float16", "bfloat16", "float32", "float64",
          "complex64")


def special(dtype, looped=False):
    """The values of a dtype that go wrong easily, and a few that do not."""
    kind = dtypes.kind(dtype)
    if kind == "b":
        return np.array([False, True])
    if kind in "iu":
        info = dtypes.iinfo(dtype)
        low, high = int(info.min), int(info.max)
        return np.array([v for v in (low, low + 1, high, high - 1, high // 2, -2, -1, 0, 1, 2, 7, 8, 31, 32, 63, 64)
                         if low <= v <= high], object).astype(dtype)
    if kind == "c":
        finite = [0.0, -0.0, 1.0, -1.0, 0.5, -2.0, 30.0]
        return np.array([complex(*parts) for parts in itertools.product([*finite, np.inf, -np.inf], repeat=2)
                         if sum(map(np.isinf, parts)) < 2]).astype(dtype)
    if looped:
        return np.array([np.nan, 0.0, -0.0, 0.5, 1.0, 2.0, 3.5, 7.0, 30.0, -1.0, np.inf]).astype(dtype)
    info = dtypes.finfo(dtype)
    largest, tiny = float(info.max), float(info.tiny)
    return np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 2.0, -2.0, 2.5, -3.5, 30.0, -30.0, 1e3, -7.0,
                     largest, -largest, largest / 4, tiny, -tiny, 0.1]).astype(dtype)


def operands(op, case):
    """All combinations for one or two operands, random ones of more."""
    values = [special(x.dtype, op.name in LOOPED) for x in case.operands]
    if op.name in ("pow", "atan2") and values[0].dtype.kind == "c":
        values = [v[np.isfinite(v) & ((v.real > 0) | (op.name == "pow"))] for v in values]
    if len(values) == 2:
        return [v.ravel() for v in np.meshgrid(*values)]
    rng = np.random.default_rng(0)
    return values if len(values) == 1 else [rng.choice(v, 500) for v in values]


def agree(cases, device):
    """Compares the results of a backend with the eager ones, as docs/xla.md says. All cases are one program."""
    for case, got, want in records.results(cases, device):
        note = f"{device} {case}"
        assert got.dtype == want.dtype and got.shape == want.shape, note
        if dtypes.kind(want.dtype) not in "fc":
            assert_close(got, want, note=note)
            continue
        got, want = defined_results(case, got, want)
        for g, w in [(got.real, want.real), (got.imag, want.imag)] if want.dtype.kind == "c" else [(got, want)]:
            assert_same_kind(g, w, case, note)
        finite = np.isfinite(want)
        assert_close(got[finite], want[finite], ulps=max(case.samples.ulps, 32), rtol=RTOL[want.dtype.name],
                     atol=ABSOLUTE.get(case.op.name, float(dtypes.finfo(want.dtype).tiny)), note=note)


def defined_results(case, got, want):
    """The results of complex operations that are defined: where neither has a NaN; near poles, where all is finite."""
    if not any(x.dtype.kind == "c" for x in case.operands):
        return got, want
    defined = np.isfinite(want) if case.op.name in POLES else ~(np.isnan(got) | np.isnan(want))
    return got[defined], want[defined]


def assert_same_kind(got, want, case, note):
    """The same NaN, infinities and signs; results below the smallest normal number may be zero."""
    assert (np.isnan(got) == np.isnan(want)).all(), f"{note}: NaN at {first(np.isnan(got) != np.isnan(want), case)}"
    infinite = np.isinf(got) | np.isinf(want)
    assert (got[infinite] == want[infinite]).all(), f"{note}: {got[infinite]} against {want[infinite]}"
    if case.op.name in ZERO_SIGN_OPEN or any(x.dtype.kind == "c" for x in case.operands):
        return
    wrong = ~np.isnan(want) & (np.signbit(got) != np.signbit(want))
    assert not wrong.any(), f"{note}: sign at {first(wrong, case)}"


def first(wrong, case):
    place = tuple(np.argwhere(wrong)[0])
    return [x[place] if x.shape == wrong.shape else x[place[0]] for x in case.operands]


@pytest.mark.parametrize("name", ELEMENTWISE)
@pytest.mark.parametrize("platform", ["cpu", "xla_cpu"])
def test_elementwise(name, platform):
    op, seen, cases = all_ops()[name], set(), []
    device = nj.devices(platform)[0]
    most = 2 if name in LOOPED and platform == "xla_cpu" else 6   # XLA takes seconds for one of these
    with enable_x64():
        for case in records.cases(op, 200):
            key = (*[x.dtype.name for x in case.operands], str(case.params))
            extended = any(x.dtype.kind == "V" and dtypes.is_extended(x.dtype) for x in case.operands)
            if key in seen or len(seen) == most or extended:
                continue
            seen.add(key)
            cases.append(records.Case(op, operands(op, case), case.params, op.samples))
        agree(cases, device)


def rows(dtype):
    """Rows of three: all triples of a few special values."""
    kind = dtypes.kind(dtype)
    if kind == "f":
        values = [np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0]
    elif kind == "c":
        values = [0.0, -0.0, 1.5, -2j, 1 - 1j]
    else:
        values = special(dtype).tolist()[:7]
    return np.array(list(itertools.product(values, repeat=3)), object).astype(dtype)


@pytest.mark.parametrize("name", sorted(REDUCTIONS))
@pytest.mark.parametrize("platform", ["cpu", "xla_cpu"])
def test_reductions(name, platform):
    op, accepted = all_ops()[name], []
    with enable_x64():
        for dtype in map(dtypes.as_dtype, DTYPES):
            case = records.Case(op, [rows(dtype)], REDUCTIONS[name], op.samples)
            try:
                op.abstract(aval_of(case.operands[0]), **case.params)
            except TypeError:
                continue
            accepted.append(case)
        agree(accepted, nj.devices(platform)[0])
    assert len(accepted) >= 4
