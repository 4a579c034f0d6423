"""Every function on operands of every kind against NumPy: eager, compiled, over a batch, and its derivatives."""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numjet as nj
from tests.numpy.operand_kinds import DECISIONS, DTYPES, KINDS, MATRICES, REFUSED, WIDE, functions

CASES = {name: case for name, *case in functions()}
TOLERANCE = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 2e-5, "complex64": 4e-5, "float64": 1e-11, "complex128": 1e-11}
ERRORS = (TypeError, ValueError, NotImplementedError, np.exceptions.AxisError)
EVERY_FUNCTION = pytest.mark.parametrize("name", CASES)


@pytest.fixture(autouse=True)
def quiet() -> Iterator[None]:
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def leaves(out: Any) -> list[np.ndarray]:
    if isinstance(out, (list, tuple)):
        return [x for part in out for x in leaves(part)]
    return [np.asarray(out)]


def plain(x: np.ndarray) -> np.ndarray:
    """bfloat16 as float32."""
    return x.astype(np.float32) if x.dtype.kind == "V" or x.dtype.name == "bfloat16" else x


def assert_same(got: list[np.ndarray], want: list[np.ndarray], where: str, dtypes: bool = True) -> None:
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape, where
        assert not dtypes or plain(g).dtype.kind == w.dtype.kind, (where, g.dtype, w.dtype)
        tolerance = max(TOLERANCE.get(x.dtype.name, 0) for x in (g, w))
        np.testing.assert_allclose(plain(g), w, rtol=tolerance, atol=tolerance, err_msg=where)


def reference(function: Callable[..., Any], operands: list[Callable[[np.ndarray], Any]],
              x: np.ndarray) -> list[np.ndarray] | None:
    """NumPy's results, of halves in single precision; None where it refuses."""
    x = x.astype(np.float32) if x.dtype.itemsize == 2 else x
    try:
        found = leaves(function(*[make(x) for make in operands]))
    except Exception:  # LinAlgError, overflows of its own, ...
        return None
    return None if any(v.dtype == object for v in found) else found


def kinds_of(name: str) -> dict[str, np.ndarray]:
    chosen = {*DECISIONS.get(name, ((),))[0], *REFUSED.get(name, ((),))[0]}
    kinds = {**KINDS, **MATRICES} if name.startswith("linalg.") or name in ("matmul", "dot", "trace", "corrcoef") else KINDS
    return {kind: x for kind, x in kinds.items() if kind not in chosen}


def test_functions_are_found():
    assert {"sin", "add", "sum", "concatenate", "linalg.det", "fft.rfft", "pad"} <= {*CASES} and len(CASES) > 250
    assert {*DECISIONS} | {*REFUSED} | {*DTYPES} <= {*CASES}


@EVERY_FUNCTION
def test_values(name):
    ours, theirs, operands = CASES[name]
    compared = 0
    for kind, x in kinds_of(name).items():
        want = reference(theirs, operands, x)
        if want is not None:
            with nj.enable_x64(kind in WIDE):
                assert_same(leaves(ours(*[make(x) for make in operands])), want, kind, name not in DTYPES)
            compared += 1
    assert compared >= 1


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused(name):
    ours, _, operands = CASES[name]
    for kind in REFUSED[name][0]:
        if kind in KINDS:
            with nj.enable_x64(kind in WIDE), pytest.raises(ERRORS):
                ours(*[make(KINDS[kind]) for make in operands])


# Functions whose shapes depend on values or on the rank: they do not compile, or take no rows.
OF_VALUES = set("""argwhere flatnonzero nonzero compress extract intersect1d setdiff1d setxor1d union1d unique_all unique_counts
unique_inverse unique repeat trim_zeros isscalar astype reshape resize array_split split choose polydiv delete insert
interp polyder polyfit real_if_close tril triu""".split())


def tried(name: str, kind: str) -> tuple[Callable[..., Any], list[np.ndarray]] | None:
    """The function of one array, and NumPy's results over the leading axis of an array; None where it has none."""
    ours, theirs, operands = CASES[name]
    kinds = kinds_of(name)
    if name in OF_VALUES or kind not in kinds or kinds[kind].ndim < 2:
        return None
    rows = [reference(theirs, operands, row) for row in kinds[kind]]
    if not rows or any(row is None for row in rows):
        return None
    return lambda x: ours(*[make(x) for make in operands]), [np.stack(out) for out in zip(*rows, strict=True)]


@pytest.mark.parametrize("kind", ["bfloat16", "complex128 transposed", "special values reversed",
                                  "float64 matrices transposed"])
@EVERY_FUNCTION
def test_over_a_batch_and_compiled(name, kind):
    found = tried(name, kind)
    if found is None:
        return
    function, want = found
    x = {**KINDS, **MATRICES}[kind]
    with nj.enable_x64(kind in WIDE):
        assert_same(leaves(nj.jit(nj.vmap(function))(x)), want, kind, name not in DTYPES)


NOT_SMOOTH = {"nextafter": "constant here", "spacing": "constant here", "linalg.matrix_rank": "constant here"}


@EVERY_FUNCTION
def test_derivatives(name):
    """Forward mode against central differences where these are numbers, reverse mode against forward mode."""
    ours, theirs, operands = CASES[name]
    kinds = kinds_of(name)
    kind = "float64 matrices transposed" if "float64 matrices transposed" in kinds else "float64 transposed"
    if kind not in kinds or name in OF_VALUES or name in NOT_SMOOTH or reference(theirs, operands, kinds[kind]) is None:
        return
    x, direction = kinds[kind], np.random.default_rng(1).normal(0, 1, kinds[kind].shape)

    def floats(x: Any) -> list[Any]:
        out = ours(*[make(x) for make in operands])
        return [v for v in nj.tree.leaves(out) if np.issubdtype(nj.dtypes.result_type(v), np.floating)]
    with nj.enable_x64(True):
        changes, step = nj.jvp(floats, (x,), (direction,))[1], 1e-6
        ahead, behind = (floats(x + sign * step * direction) for sign in (1, -1))
        for change, a, b in zip(changes, ahead, behind, strict=True):
            slope = (np.asarray(a) - np.asarray(b)) / (2 * step)
            np.testing.assert_allclose(np.where(np.isfinite(slope), change, slope), slope, rtol=1e-5, atol=1e-5)
        if changes:
            total = lambda x: sum(np.float64(k + 1) * v.sum() for k, v in enumerate(floats(x)))
            np.testing.assert_allclose((nj.jit(nj.grad(total))(x) * direction).sum(),
                                       sum((k + 1) * np.sum(v) for k, v in enumerate(changes)), rtol=1e-9, atol=1e-9)
