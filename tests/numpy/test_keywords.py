"""Keyword arguments of the functions of numpy, numpy.linalg and numpy.fft: each changes results as NumPy's does.

A keyword of a function stands in a row of the tables below, is one of those that change no results here, or is given by name in
a call in another test. What signatures have is read from them, so that a new keyword without a test fails.
"""
from __future__ import annotations

import ast
import dataclasses
import inspect
import operator
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numjet.numpy as jnp
from tests.numpy.operand_kinds import CASES
from tests.operands import KINDS, Case, Of, check_compiled, check_values, leaves


def _all(names: Iterable[str], value: Any) -> dict[str, Any]:
    """The same value for several names."""
    return {name: value for name in names}  # noqa: C420


MASK = Of(lambda x: np.arange(x.size).reshape(x.shape) % 3 != 1)
POSITIVE = Of(lambda x: np.abs(np.nan_to_num(x.real, posinf=3, neginf=2)) + 0.5)
_WHOLE = [{"axis": (0, 2), "keepdims": True}, {"axis": -1}]
_ALONG = [{"axis": 0, "keepdims": True}, {"axis": -1}]
_C64 = {"axis": 1, "dtype": np.complex64}
_QUANTILES = [*({"method": method, "axis": -1} for method in (
    "linear lower higher midpoint nearest inverted_cdf averaged_inverted_cdf closest_observation interpolated_inverted_cdf "
    "hazen weibull median_unbiased normal_unbiased").split()), {"axis": (0, 1), "keepdims": True},
    {"axis": 1, "weights": POSITIVE, "method": "inverted_cdf"}]
_SPREAD = [*_WHOLE, {"where": MASK}, {"axis": 1, "ddof": 1}, {"mean": Of(lambda x: x.mean())}, _C64]
_TRANSFORM = [{"n": 5}, {"axis": 0, "n": 2}, {"norm": "ortho"}, {"norm": "forward"}]
_TRANSFORMS = [{"s": (2, 4), "axes": (0, 1)}, {"norm": "ortho"}, {"axes": (2, 0), "norm": "forward"}]
OPTIONS: dict[str, list[dict[str, Any]]] = {
    **{name: [*_WHOLE, {"where": MASK}] for name in ("all", "any")},
    **{name: [*_WHOLE, {"initial": 0.5}, {"where": MASK, "initial": 1.0}]
       for name in "amax amin max min nanmax nanmin".split()},
    **{name: [*_WHOLE, {"where": MASK}, {"initial": 2.0, "axis": 1}, _C64] for name in "sum prod nansum nanprod".split()},
    **{name: [*_WHOLE, {"where": MASK}, _C64] for name in ("mean", "nanmean")},
    **{name: [*_SPREAD, {"correction": 1.5}] for name in ("std", "var")}, **_all(("nanstd", "nanvar"), _SPREAD),
    **_all("argmax argmin nanargmax nanargmin".split(), [*_ALONG, {"keepdims": True}]),
    **_all(("median", "nanmedian", "ptp", "count_nonzero"), _WHOLE),
    **_all("percentile quantile nanpercentile nanquantile".split(), _QUANTILES),
    **_all("cumsum cumprod nancumsum nancumprod".split(), [{"axis": 0}, _C64]),
    **_all(("cumulative_sum", "cumulative_prod"), [{"axis": 0, "include_initial": True}, _C64]),
    "average": [{"axis": 1, "weights": POSITIVE, "returned": True}, {"axis": (0, 1), "keepdims": True}],
    **_all(("sort", "argsort"), [{"axis": 0, "stable": True}, {"axis": None}]),
    "diff": [{"n": 2}, {"axis": 0, "prepend": 1.0, "append": 2.0}], "ediff1d": [{"to_begin": -1, "to_end": np.float32([3, 4])}],
    "flip": [{"axis": (0, 1)}], "rot90": [{"k": 2, "axes": (1, 2)}, {"k": -1}], "repeat": [{"axis": 1}],
    "trapezoid": [{"dx": 0.5, "axis": 0}, {"x": Of(lambda x: np.arange(x.shape[-1]) ** 2.0)}],
    "unwrap": [{"axis": 0, "discont": 4.0}, {"period": 4.0}], "nan_to_num": [{"nan": 1, "posinf": 2, "neginf": 3}],
    **_all(("isclose", "allclose"), [{"rtol": 0.5, "atol": 0.5}, {"equal_nan": True}]),
    "array_equal": [{"equal_nan": True}], **_all(("round", "around"), [{"decimals": 1}]), "angle": [{"deg": True}],
    "ravel": [{"order": "F"}],
    "trace": [{"offset": 1, "axis1": 1, "axis2": 2}, {"dtype": np.complex64}],
    "diagonal": [{"offset": -1, "axis1": 2, "axis2": 0}],
    **_all(("linalg.diagonal",), [{"offset": -1}]), "linalg.trace": [{"offset": 1, "dtype": np.complex64}],
    **_all(("tril", "triu"), [{"k": 1}, {"k": -1}]), "diag": [{"k": 1}], "diagflat": [{"k": -1}],
    **_all(("concatenate", "stack"), [{"axis": -1}, {"axis": 1, "dtype": np.complex64}]),
    **_all(("hstack", "vstack"), [{"dtype": np.complex64}]),
    "digitize": [{"right": True}], "searchsorted": [{"side": "right"}], "interp": [{"left": -1, "right": 9}, {"period": 3.0}],
    "isin": [{"invert": True}, {"assume_unique": True}], "cov": [{"rowvar": False, "bias": True}, {"ddof": 0}],
    "corrcoef": [{"rowvar": False}, {"dtype": np.complex64}],
    "linalg.norm": [{"axis": 1, "ord": 1}, {"axis": (0, 2), "ord": "fro", "keepdims": True}],
    "linalg.vector_norm": [{"axis": (0, 1), "ord": 3, "keepdims": True}],
    "linalg.matrix_norm": [{"ord": "nuc"}, {"ord": 1, "keepdims": True}],
    "histogram": [{"range": (-1, 2), "density": True}, {"bins": 4, "range": (-3, 3), "weights": POSITIVE}],
    **{f"fft.{name}": _TRANSFORM for name in "fft ifft rfft irfft hfft ihfft".split()},
    **{f"fft.{name}": _TRANSFORMS for name in "fft2 ifft2 fftn ifftn rfft2 irfft2 rfftn irfftn".split()},
    **_all(("append", "compress", "delete", "gradient", "lexsort", "vecdot", "linalg.vecdot"), [{"axis": 0}]),
    "size": [{"axis": 1}, {"axis": (0, 2)}], "squeeze": [{"axis": 1}], "transpose": [{"axes": (1, 2, 0)}],
    "cross": [{"axis": 0}, {"axisa": 0, "axisb": 0, "axisc": 1}], "unstack": [{"axis": 1}],
    **_all(("convolve", "correlate"), [{"mode": mode} for mode in ("full", "same", "valid")]),
    "polyder": [{"m": 2}], "polyint": [{"m": 2}, {"k": 3}], "vander": [{"N": 2, "increasing": True}],
    "trim_zeros": [{"trim": "f"}, {"trim": "b"}], "packbits": [{"axis": 1, "bitorder": "little"}],
    "unpackbits": [{"axis": 1, "bitorder": "little", "count": 5}],
    **_all(("zeros_like", "ones_like", "full_like"), [
        {"dtype": np.complex64, "shape": Of(lambda x: (2, *x.shape))}]),
    "histogram_bin_edges": [{"bins": 4, "range": (-3, 3)}, {"bins": 3, "range": (-3, 3), "weights": POSITIVE}],
    "linalg.tensordot": [{"axes": 1}], "tensordot": [{"axes": 1}],
    **{f"fft.{name}": [{"axes": (0, 2)}] for name in ("fftshift", "ifftshift")}}
_SEVERAL = {kind: KINDS[kind] for kind in ("float64 transposed", "int32 of rank 4", "special values reversed")}
_FINITE = {kind: KINDS[kind] for kind in ("float64 transposed", "int32 of rank 4")}
_OTHER_KINDS: dict[str, dict[str, np.ndarray]] = {
    **_all("percentile quantile nanpercentile nanquantile".split(), {  # of integers they are floats here
        "float64 transposed": KINDS["float64 transposed"], "NaN": np.where(np.arange(24) % 7 == 1, np.nan, np.float32(
            np.arange(24) ** 1.5 % 5)).astype(np.float32).reshape(2, 3, 4)}),
    **_all(("argsort", "ediff1d"), {kind: KINDS[kind] for kind in ("float64 transposed", "special values reversed")}),
    **_all(("diag", "cov", "corrcoef"), {"float16": KINDS["float16"], "float64": KINDS["float64 transposed"][:, 0]}),
    "searchsorted": {"sorted": np.float32([-2, 0, 0, 1]), "sorted int64": np.array([-1, 0, 3])},
    **_all(("linalg.matrix_norm", *(name for name in OPTIONS if name.startswith("fft."))), _FINITE),
    **_all(("transpose", "cross", "squeeze"), {"float64": KINDS["float64 transposed"][..., :3]}),
    **_all(("convolve", "correlate", "polyder", "polyint", "vander", "trim_zeros", "unpackbits", "packbits"), {
        "int64": KINDS["int64"], "float32": np.float32([0, 1, 2, 0])}), **_all(("packbits", "unpackbits"), {
            "uint8": KINDS["uint8"]})}
_OF_ARRAYS = {
    "clip": Case(jnp.clip, np.clip), "bincount": Case(lambda x, **o: jnp.bincount(x, **o), np.bincount),
    "squeeze": Case(jnp.squeeze, np.squeeze), "polyint": Case(jnp.polyint, np.polyint), "polyder": CASES["polyder"]}
ROWS: dict[str, Case] = {name: dataclasses.replace(
    CASES.get(name) or _OF_ARRAYS[name], options=options, kinds=_OTHER_KINDS.get(name, _SEVERAL), refused={}, decided={},
    unanswered={})
    for name, options in OPTIONS.items()}
_LONG_TO_COMPILE = ("histogram", "digitize", "searchsorted")
# Keywords that change no results: of places, memory and speed, and `out`, which is refused. The order of memory changes those
# of functions that lay elements out in a row.
_CHANGES_NOTHING = set("out device out_sharding precision copy order optimize overwrite_input unroll".split())
_OF_ORDER = ("ravel", "reshape")


def _keywords():
    for room, module in (("", jnp), ("linalg.", jnp.linalg), ("fft.", jnp.fft)):
        for name in sorted(getattr(module, "__all__", dir(module))):
            function = getattr(module, name)
            if not name.startswith("_") and callable(function) and not isinstance(function, type):
                for p in inspect.signature(function).parameters.values():
                    if p.default is not p.empty and not p.name.startswith("_") and p.kind is not p.POSITIONAL_ONLY and (
                            p.name not in _CHANGES_NOTHING or p.name == "order" and name in _OF_ORDER):
                        yield room, name, p.name


@pytest.mark.parametrize("name", ROWS)
def test_values(name):
    check_values(ROWS[name])


@pytest.mark.parametrize("name", [name for name in ROWS if name not in _LONG_TO_COMPILE])
def test_compiled(name):
    few = dataclasses.replace(ROWS[name], options=ROWS[name].options[:2])
    check_compiled(few, [[*ROWS[name].kinds][-1]])


_M = [[4.0, 1.0], [1.0, 3.0]]
# Calls with numbers, and with lists that become arrays.
CONSTANTS: list[tuple[str, tuple[Any, ...], dict[str, Any]]] = [
    ("eye", (3,), {"M": 4, "k": 1, "dtype": np.int32}), ("tri", (3,), {"M": 4, "k": -1, "dtype": np.int32}),
    ("identity", (3,), {"dtype": np.int32}), ("tril_indices", (3,), {"k": 1, "m": 4}),
    ("triu_indices", (3,), {"k": -1, "m": 4}), ("indices", ((2, 3),), {"dtype": np.float32}),
    ("indices", ((2, 3),), {"sparse": True}), ("diag_indices", (3,), {"ndim": 3}),
    ("linspace", (0, 1), {"num": 5, "endpoint": False}), ("logspace", (0, 1), {"num": 5, "endpoint": False, "base": 3.0}),
    ("geomspace", (1, 9), {"num": 5, "endpoint": False, "dtype": np.float32}), ("arange", (1,), {"stop": 7, "step": 2}),
    ("logspace", ([0, 1], [1, 2]), {"num": 3, "axis": 1}), ("geomspace", ([1, 2], [4, 8]), {"num": 3, "axis": 1}),
    ("meshgrid", ([1, 2], [3, 4, 5]), {"sparse": True, "indexing": "ij"}), ("ones", (3,), {"dtype": np.int32}),
    ("base_repr", (9,), {"base": 3, "padding": 2}), ("binary_repr", (5,), {"width": 6}), ("fft.rfftfreq", (5,), {"d": 0.5}),
    ("bincount", ([0, 2, 2],), {"weights": [0.5, 1, 2]}),
    ("clip", ([1.0, -3, 7],), {"min": 0, "max": [1, 2, 3]}), ("concat", (([[1]], [[2]]),), {"axis": 1}),
    ("array_split", (_M,), {"indices_or_sections": 2, "axis": 1}), ("cov", ([1.0, 2, 4],), {"y": [0.0, 1, 7]}),
    ("corrcoef", ([1.0, 2, 4],), {"y": [0.0, 1, 7]}), ("trim_zeros", ([[0, 0], [1, 2]],), {"axis": 0}),
    ("histogram2d", ([0.0, 1, 3], [1.0, 2, 2]), {"bins": 3, "range": [[0, 4], [0, 2]], "weights": [1.0, 2, 3]}),
    ("histogramdd", (_M,), {"bins": 3, "range": [[0, 4], [0, 5]], "weights": [1.0, 2], "density": True}),
    ("intersect1d", ([3, 1, 2], [2, 3]), {"assume_unique": True, "return_indices": True}),
    ("setdiff1d", ([3, 1, 2], [2, 3]), {"assume_unique": True}), ("setxor1d", ([3, 1, 2], [2, 3]), {"assume_unique": True}),
    ("polyfit", ([0.0, 1, 2, 3], [1.0, 3, 2, 0]), {"deg": 1, "w": [1.0, 2, 1, 1]}),
    ("polyfit", ([0.0, 1, 2, 3], [1.0, 3, 2, 0], 1), {"rcond": 1e-3, "full": True}),
    ("linalg.svd", ([[4.0, 1], [1, -3]],), {"hermitian": True, "compute_uv": False}),
    ("linalg.lstsq", ([[4.0, 1], [1, 3], [0, 1]], [6.0, 5, 1]), {"rcond": 0.3}),
    ("linalg.tensorsolve", ([[[4.0, 1], [1, 3]]], [2.0, 5]), {"axes": (0,)}),
    ("rollaxis", ([[[1, 2]]],), {"axis": 2, "start": 1}), ("searchsorted", ([3, 1, 2], [2, 3]), {"sorter": [1, 2, 0]}),
    ("select", ([[True, False]], [[1, 2]]), {"default": 7}), ("tril_indices_from", (_M,), {"k": -1}),
    ("triu_indices_from", (_M,), {"k": 1}), ("unique", ([3, 1, 3],), {"return_index": True, "return_inverse": True}),
    ("linalg.matrix_rank", (_M,), {"tol": 3.0}), ("linalg.matrix_rank", (_M,), {"rtol": 0.9, "hermitian": True}),
    ("linalg.cholesky", (_M,), {"upper": True}), ("linalg.eigvalsh", (_M,), {"UPLO": "U"}),
    ("linalg.cross", ([[1.0, 2, 3]], [[2.0, 0, 1]]), {"axis": 1}), ("choose", ([0, 3], [[1, 2], [3, 4]]), {"mode": "clip"}),
    ("choose", ([0, 3], [[1, 2], [3, 4]]), {"mode": "wrap"}), ("can_cast", (np.float64, np.float32), {"casting": "same_kind"}),
    ("asanyarray", ([1, 2],), {"dtype": np.float32}), ("ascontiguousarray", ([1, 2],), {"dtype": np.float32}),
    ("asarray_chkfinite", ([1, 2],), {"dtype": np.float32}),
    ("require", ([1, 2],), {"dtype": np.float32}), ("mintypecode", ("f",), {"typeset": "fd", "default": "d"}),
    ("real_if_close", (np.complex64([1 + 1e-4j]),), {"tol": 10000}), ("mask_indices", (3, np.triu), {"k": 1}),
    ("format_float_positional", (1.25,), {"precision": 3, "unique": False, "fractional": False, "trim": "0", "sign": True,
                                          "pad_left": 4, "pad_right": 3, "min_digits": 2}),
    ("format_float_scientific", (1.25,), {"precision": 3, "unique": False, "trim": "0", "sign": True, "pad_left": 4,
                                          "exp_digits": 3, "min_digits": 2}),
    ("frombuffer", (b"abcd",), {"dtype": np.uint8, "count": 2, "offset": 1}),
    ("fromstring", ("1 2 3",), {"dtype": np.int32, "sep": " ", "count": 2}),
    ("fromfunction", (lambda i, j: i + j, (2, 2)), {"dtype": np.int32})]
_WHERE = ("add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum "
          "multiply negative subtract")


@pytest.mark.parametrize("name", _WHERE.split())
def test_elementwise_functions_take_no_where(name):
    """NumPy leaves elements of its results unset there."""
    operands = [np.ones(2, np.int32)] * (1 if name == "negative" else 2)
    with pytest.raises(NotImplementedError, match="where"):
        getattr(jnp, name)(*operands, where=np.ones(2, bool))


@pytest.mark.parametrize("name", sorted(f"{room}{name}" for room, name, keyword in _keywords()
                                        if keyword == "preferred_element_type"))
def test_products_are_added_up_in_the_dtype_that_is_asked_for(name):
    """Sums of halves that a half cannot hold."""
    x = np.full((4, 4) if "mat" in name or "multi" in name else 4, 160, np.float16)
    call = operator.attrgetter(name)
    args = {"einsum": ("...i,...i", x, x), "linalg.multi_dot": ([x, x],)}.get(name, (x, x))
    options = {"axes": 1} if "tensordot" in name else {}
    got = call(jnp)(*args, preferred_element_type=np.float32, **options)
    assert got.dtype == np.float32
    wide = [np.float32(a) if isinstance(a, np.ndarray) else [np.float32(x), np.float32(x)] if isinstance(a, list) else a
            for a in args]
    np.testing.assert_array_equal(got, call(np)(*wide, **options))


@pytest.mark.parametrize("name, args, keywords", CONSTANTS)
def test_calls_without_arrays(name, args, keywords):
    made = {key: _array(value) for key, value in keywords.items()}
    got, want = ((operator.attrgetter(name)(module)(*map(_array, args), **made)) for module in (jnp, np))
    assert not isinstance(want, str) or got == want
    for g, w in zip(leaves(got), leaves(want), strict=True):
        assert g.shape == w.shape and g.dtype.kind == w.dtype.kind
        if not isinstance(want, str):
            np.testing.assert_allclose(g, w, rtol=1e-6)


def _array(x: Any) -> Any:
    return np.array(x) if isinstance(x, list) else tuple(map(_array, x)) if isinstance(x, tuple) else x


def test_every_keyword_is_in_a_row_or_in_a_call():
    """Calls with names of keywords are looked for in the text of all tests."""
    tests = "\n".join(path.read_text(encoding="utf8") for path in Path(__file__).parent.parent.rglob("*.py"))
    calls: dict[str, set[str]] = {}
    for called, arguments in re.findall(r"\b(\w+)[(,](.{0,300})", tests):
        calls.setdefault(called, set()).update(re.findall(r"(\w+)=", arguments))
    for node in ast.walk(ast.parse((Path(__file__).parent / "test_other_keywords.py").read_text(encoding="utf8"))):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            calls.setdefault(node.func.attr, set()).update(k.arg for k in node.keywords if k.arg)
    rows = {(name, keyword) for name, options in OPTIONS.items() for row in options for keyword in row}
    rows |= {(name, "where") for name in _WHERE.split()}
    rows |= {(room + name, keyword) for room, name, keyword in _keywords() if keyword == "preferred_element_type"}
    rows |= {(name, keyword) for name, _, keywords in CONSTANTS for keyword in keywords}
    missing: dict[str, list[str]] = {}
    for room, name, keyword in _keywords():
        if (room + name, keyword) not in rows and keyword not in calls.get(name, ()):
            missing.setdefault(room + name, []).append(keyword)
    assert missing == {}
