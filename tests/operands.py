"""Operands of every kind for tables of functions, and the checks that every row of such a table passes.

A table says of each function of a module what it is compared with and how it is called (`Case`), or which file tests it in
another way (`Elsewhere`). The checks give it arrays of all dtypes, ranks, sizes and orders of memory, with special values, and
compare values, shapes and kinds of dtypes; results under `jit` and `vmap`; and derivatives. So a new function without a row,
or a row that leaves something out without a reason, fails.
"""
from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest

import numjet as nj

_RNG = np.random.default_rng(0)
_ODD = np.array([np.nan, np.inf, -np.inf, 0, -0.0, 1, -1, 2.5], np.float32)


def _normal(*shape: int) -> np.ndarray:
    return _RNG.normal(0, 2, shape)


# Arrays of 64 bits are used under x64. Some have their axes reversed or turned around.
KINDS: dict[str, np.ndarray] = {
    "float16": _normal(3, 4).astype(np.float16), "bfloat16": _normal(3, 4).astype(ml_dtypes.bfloat16),
    "float64 transposed": _normal(4, 1, 3).T, "int32 of rank 4": _RNG.integers(-4, 5, (2, 1, 3, 2)).astype(np.int32),
    "int64": _RNG.integers(-4, 5, 5), "uint8": _RNG.integers(0, 6, (2, 3)).astype(np.uint8), "bool": _normal(3, 4) > 0,
    "complex64": (_normal(4, 2) + 1j * _normal(4, 2)).astype(np.complex64),
    "complex128 transposed": (_normal(2, 3, 2) + 1j * _normal(2, 3, 2)).T,
    "rank 0": np.array(1.5, np.float32), "size 1": np.full(1, 0.5, np.float32),
    "size 1 of rank 3": np.full((1, 1, 1), 0.5, np.float32),
    "empty": np.zeros(0, np.float32), "empty of rank 3": np.zeros((2, 0, 3), np.float32),
    "special values": _ODD, "special values reversed": _ODD.reshape(2, 2, 2)[::-1, :, ::-1]}
# Positive definite matrices for the functions of linear algebra, beside the others, which most of them refuse.
MATRICES: dict[str, np.ndarray] = {
    "float64 matrices transposed": np.swapaxes([[[3, 0.5, 0.25], [0.5, 2, -1], [0.25, -1, 4]], np.diag([1.0, 2, 4])], 1, 2),
    "int32 matrix": np.array([[4, 1, 0], [1, 3, -1], [0, -1, 5]], np.int32),
    "complex64 matrices of rank 4": np.array([[[[3, 0.5 + 1j], [0.5 - 1j, 2]]]], np.complex64),
    "matrix of size 1": np.full((1, 1), 0.5, np.float32), "no matrices": np.zeros((0, 2, 2), np.float32)}
for _array in (*KINDS.values(), *MATRICES.values()):
    _array.setflags(write=False)
INTEGERS = ("int32 of rank 4", "int64", "uint8", "bool")
COMPLEX = ("complex64", "complex128 transposed")
HALVES = ("float16", "bfloat16")
SPECIAL = ("special values", "special values reversed")
EMPTY = ("empty", "empty of rank 3")
TOLERANCE = {"float16": 1e-2, "bfloat16": 6e-2, "float32": 2e-5, "complex64": 4e-5, "float64": 1e-11, "complex128": 1e-11}
ERRORS = (TypeError, ValueError, NotImplementedError, AssertionError, np.exceptions.AxisError)
Operand = Callable[[np.ndarray], Any]
Exempt = str | tuple[str, str]


def itself(x: np.ndarray) -> np.ndarray:
    """The array as an operand."""
    return x


def reversed_last(x: np.ndarray) -> np.ndarray:
    """The array turned around along its last axis: an operand of the same shape with other numbers."""
    return x[..., ::-1] if x.ndim else x


def extended(theirs: Callable[..., Any], definition: Callable[..., Any]) -> Callable[..., Any]:
    """Their function, and a definition for what it refuses."""
    def function(*arrays: np.ndarray, **options: Any) -> Any:
        try:
            return theirs(*arrays, **options)
        except Exception:  # whatever it is
            return definition(*arrays, **options)
    return function


def of_numbers(theirs: Callable[..., Any]) -> Callable[..., Any]:
    """Their function, of booleans and smaller floats as floats of 64 bits."""
    return lambda *arrays, **options: theirs(*[x * np.float64(1) for x in arrays], **options)


def alone(theirs: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    """Their function on a matrix, or on each of a stack, NaN for those that hold NaN or infinities."""
    def function(x: np.ndarray) -> np.ndarray:
        if x.ndim > 2:
            return np.stack([function(matrix) for matrix in x])
        return theirs(x) if x.ndim < 2 or np.isfinite(x).all() else np.nan * theirs(np.eye(*x.shape, dtype=x.dtype))
    return function


@dataclass(frozen=True)
class Of:
    """A keyword argument that is made of the array: a mask, weights or indices of its shape."""

    make: Operand


@dataclass(frozen=True)
class Case:
    """How a function is called with an array of any kind, and what it is compared with."""

    ours: Callable[..., Any]
    theirs: Callable[..., Any]                   # of NumPy's arrays: NumPy's, SciPy's, or the definition in a line
    operands: Sequence[Operand] = (itself,)      # what makes each operand out of the array
    options: Sequence[Mapping[str, Any]] = ({},)  # keyword arguments of both: axes, keepdims, modes, ...; `Of` the array
    kinds: Mapping[str, np.ndarray] = field(default_factory=lambda: KINDS)
    # Kinds that are errors here, as in JAX, and kinds with another result than theirs, with the reason; or pairs of a kind and
    # a keyword, if only calls with this keyword are.
    refused: Mapping[Exempt, str] = field(default_factory=dict)
    decided: Mapping[Exempt, str] = field(default_factory=dict)
    unanswered: Mapping[str, str] = field(default_factory=dict)  # kinds that only theirs refuse, with what ours answer
    decided_at: Callable[..., Any] | None = None  # where, by the operands, single values are other ones than theirs
    why: str = ""                                 # the reason for these values
    dtypes: str = ""        # why the kind of the dtype is another one
    tolerance: float = 1    # times TOLERANCE
    not_compiled: str = ""  # why it does not compile, for example because shapes depend on values
    not_batched: str = ""   # why it does not take a batch of arrays
    not_smooth: str = ""    # why it has no derivative that differences would show
    differentiated: str = "float64 transposed"  # the kind at which derivatives are compared

    def compared(self) -> dict[str, np.ndarray]:
        """The kinds whose results are to be theirs."""
        return {kind: x for kind, x in self.kinds.items() if kind not in self.refused and kind not in self.decided}

    def made(self, x: Any) -> list[Any]:
        """The operands made of an array."""
        return [make(x) for make in self.operands]

    def call(self, x: Any, options: Mapping[str, Any]) -> Any:
        """Our function on the operands made of an array."""
        return self.ours(*self.made(x), **keywords(options, x))

    def reference(self, x: np.ndarray, options: Mapping[str, Any]) -> list[np.ndarray] | None:
        """Their results, of halves in single precision; None where they refuse."""
        x = x.astype(np.float32) if x.dtype.itemsize == 2 else x
        try:
            found = leaves(self.theirs(*self.made(x), **keywords(options, x)))
        except Exception:  # LinAlgError, overflows of its own, ...
            return None
        return None if any(v.dtype == object for v in found) else found

    def wanted(self, x: np.ndarray, theirs: list[np.ndarray], got: list[np.ndarray]) -> list[np.ndarray]:
        """Their results, with ours where these are decided otherwise."""
        if self.decided_at is None:
            return theirs
        other = np.asarray(self.decided_at(*self.made(x)))
        return [np.where(other, plain(g), w).astype(w.dtype) if g.shape == w.shape else w
                for g, w in zip(got, theirs, strict=True)]

    def options_of(self, kind: str) -> list[Mapping[str, Any]]:
        """The options that are compared for a kind."""
        exempt = {keyword for name, keyword in _pairs({**self.refused, **self.decided}) if name == kind}
        return [options for options in self.options if not exempt & {*options}]

    def answered(self, kind: str, *arrays: np.ndarray) -> list[Mapping[str, Any]]:
        """The options that are compared for a kind and with which they take all of the arrays."""
        return [options for options in self.options_of(kind)
                if all(self.reference(x, options) is not None for x in arrays)]


def _pairs(exempt: Mapping[Exempt, str]) -> list[tuple[str, str]]:
    return [key for key in exempt if isinstance(key, tuple)]


def keywords(options: Mapping[str, Any], x: Any) -> dict[str, Any]:
    """The keyword arguments that go with an array."""
    return {name: value.make(x) if isinstance(value, Of) else value for name, value in options.items()}


@dataclass(frozen=True)
class Elsewhere:
    """Why a function has no row in a table of operands, and the file that tests it."""

    file: str
    reason: str


@contextmanager
def quietly() -> Iterator[None]:
    """Without the warnings of either side about special values."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        yield


def leaves(out: Any) -> list[np.ndarray]:
    """The arrays of a result."""
    if isinstance(out, (list, tuple)):
        return [x for part in out for x in leaves(part)]
    return [np.asarray(out)]


def plain(x: np.ndarray) -> np.ndarray:
    """bfloat16 as float32."""
    return x.astype(np.float32) if x.dtype.kind == "V" or x.dtype.name == "bfloat16" else x


def wide(x: np.ndarray) -> Any:
    """The switch of 64 bits, as the array needs it."""
    return nj.enable_x64(x.dtype in (np.int64, np.float64, np.complex128))


def assert_same(got: list[np.ndarray], want: list[np.ndarray], where: str, dtypes: bool = True, times: float = 1) -> None:
    """The same shapes, kinds of dtypes, and values up to the tolerance of the coarser dtype."""
    for g, w in zip(got, want, strict=True):
        assert g.shape == w.shape, (where, g.shape, w.shape)
        assert not dtypes or plain(g).dtype.kind == w.dtype.kind, (where, g.dtype, w.dtype)
        tolerance = times * max(TOLERANCE.get(x.dtype.name, 0) for x in (g, w))
        w = w.astype(np.float16) if g.dtype == np.float16 and w.dtype.kind == "f" else w  # for what is too large for halves
        for got_part, part in _parts(plain(g), w):
            np.testing.assert_allclose(got_part, part, rtol=tolerance, atol=tolerance, err_msg=where)


def _parts(g: np.ndarray, w: np.ndarray) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Finite complex numbers, and both parts of infinite ones, whose finite parts are rounded."""
    if w.dtype.kind != "c":
        yield g, w
        return
    infinite = np.isinf(w) & ~np.isnan(w)
    yield np.where(infinite, 0, g), np.where(infinite, 0, w)
    if infinite.any():
        yield g.real[infinite], w.real[infinite]
        yield g.imag[infinite], w.imag[infinite]


def check_values(case: Case) -> None:
    """Every kind with all options against theirs; what they refuse is refused here, too, or a reason is given."""
    compared, unanswered = set(), set()
    with quietly():
        for kind, x in case.compared().items():
            for options in case.options_of(kind):
                want = case.reference(x, options)
                if want is None:
                    unanswered |= {kind} if _answers(case, x, options) else set()
                    continue
                with wide(x):
                    got = leaves(case.call(x, options))
                assert_same(got, case.wanted(x, want, got), f"{kind} {options}", not case.dtypes, case.tolerance)
                compared.add(id(options))
    assert [options for options in case.options if id(options) not in compared] == [], "errors for every kind"
    assert unanswered == {*case.unanswered}, "kinds that only they refuse"


def _answers(case: Case, x: np.ndarray, options: Mapping[str, Any]) -> bool:
    made = case.made(x)  # errors of what makes operands are mistakes in the table
    try:
        with wide(x):
            leaves(case.ours(*made, **keywords(options, x)))
    except (*ERRORS, IndexError):
        return False
    return True


def check_refused(case: Case) -> None:
    """Kinds that are refused raise an error, and so do calls with keywords that are."""
    exempt = {**case.refused, **case.decided}
    assert {key[0] if isinstance(key, tuple) else key for key in exempt} <= {*case.kinds}, "no such kinds"
    assert {keyword for _, keyword in _pairs(exempt)} <= {name for o in case.options for name in o}, "no such keywords"
    calls = [(kind, case.options[0]) for kind in case.refused if isinstance(kind, str)]
    calls += [(kind, next(o for o in case.options if keyword in o)) for kind, keyword in _pairs(case.refused)]
    for kind, options in calls:
        with wide(case.kinds[kind]), pytest.raises(ERRORS), quietly():
            case.call(case.kinds[kind], options)


def check_compiled(case: Case, kinds: Sequence[str]) -> None:
    """Compiled against eager results, with all options in one program."""
    for kind in kinds if not case.not_compiled else ():
        x = case.compared().get(kind)
        if x is not None:
            with quietly(), wide(x):
                answered = case.answered(kind, x)
                want = [plain(v) for options in answered for v in leaves(case.call(x, options))]
                got = leaves(nj.jit(lambda v, answered=answered: [case.call(v, options) for options in answered])(x))
                assert_same(got, want, f"{kind} {answered}", times=case.tolerance)


def check_batched(case: Case, kinds: Sequence[str], compiled: bool = True) -> None:
    """Compiled over the leading axis of arrays of rank 2 and more, all options in one program, against theirs row by row.

    Not compiled again: functions that are programs themselves, which rows may share.
    """
    for kind in kinds if not case.not_batched and not case.not_compiled else ():
        x = case.compared().get(kind)
        if x is not None and x.ndim > 1 and len(x):
            with quietly(), wide(x):
                answered = case.answered(kind, *x)
                rows = [[v for options in answered for v in case.reference(row, options) or ()] for row in x]
                batched = nj.vmap(lambda v, answered=answered: [case.call(v, options) for options in answered])
                got = leaves((nj.jit(batched) if compiled else batched)(x))
                settled = [case.wanted(row, rows[k], [g[k] for g in got]) for k, row in enumerate(x)]
                want = [np.stack(out) for out in zip(*settled, strict=True)]
                assert_same(got, want, f"{kind} {answered}", not case.dtypes, case.tolerance)


def check_derivatives(case: Case) -> None:
    """Forward mode against central differences where these are numbers, reverse mode against forward mode."""
    x = case.compared().get(case.differentiated)
    if x is not None and not case.not_smooth:
        with quietly(), nj.enable_x64(True):
            answered = case.answered(case.differentiated, x)
            floats = lambda v: _floats([case.call(v, options) for options in answered])
            _check_derivatives_at(floats, x, bool(case.not_compiled))


def _floats(out: Any) -> list[Any]:
    """The results that have the digits for differences; a keyword `dtype` may have taken them."""
    return [v for v in nj.tree.leaves(out) if nj.dtypes.result_type(v) == np.float64]


def _check_derivatives_at(floats: Callable[[Any], list[Any]], x: np.ndarray, eager: bool) -> None:
    direction, step = np.random.default_rng(1).normal(0, 1, x.shape), 1e-6
    changes = nj.jvp(floats, (x,), (direction,))[1]
    ahead, behind = (floats(x + sign * step * direction) for sign in (1, -1))
    for change, a, b in zip(changes, ahead, behind, strict=True):
        slope = (np.asarray(a) - np.asarray(b)) / (2 * step)
        np.testing.assert_allclose(np.where(np.isfinite(slope), change, slope), slope, rtol=1e-5, atol=1e-5)
    if changes:
        def total(x: Any) -> Any:
            return sum(np.float64(k + 1) * v.sum() for k, v in enumerate(floats(x)))
        gradient = nj.grad(total) if eager else nj.jit(nj.grad(total))
        np.testing.assert_allclose((gradient(x) * direction).sum(), sum((k + 1) * np.sum(v) for k, v in enumerate(changes)),
                                   rtol=1e-9, atol=1e-9)


def check_holomorphic(case: Case, kind: str = "complex128 transposed") -> None:
    """Derivatives at complex numbers: forward mode against differences in a complex direction, reverse against forward mode."""
    x = case.compared()[kind]
    rng, step = np.random.default_rng(1), 1e-6
    direction = rng.normal(0, 1, x.shape) + 1j * rng.normal(0, 1, x.shape)
    with quietly(), nj.enable_x64(True):
        answered = case.answered(kind, x)
        assert answered, "SciPy takes no complex numbers"
        function = nj.jit(lambda v: [nj.numpy.asarray(out) for out in nj.tree.leaves([case.call(v, o) for o in answered])])
        changes = [np.asarray(v) for v in nj.jit(lambda v: nj.jvp(function, (v,), (direction,))[1])(x)]
        ahead, behind = (function(x + sign * step * direction) for sign in (1, -1))
        for change, a, b in zip(changes, ahead, behind, strict=True):
            np.testing.assert_allclose(change, (np.asarray(a) - np.asarray(b)) / (2 * step), rtol=1e-5, atol=1e-5)
        gradient, = nj.jit(lambda v: nj.vjp(function, v)[1]([np.ones_like(change) for change in changes]))(x)
        np.testing.assert_allclose((gradient * direction).sum(), sum(np.sum(v) for v in changes), rtol=1e-9, atol=1e-9)


def check_complete(module: Any, cases: Mapping[str, Case], elsewhere: Mapping[str, Elsewhere]) -> None:
    """Every public function of a module has a row, or a file that tests it otherwise; the file names it."""
    functions = {name for name in getattr(module, "__all__", dir(module)) if not name.startswith("_")
                 and callable(getattr(module, name)) and not isinstance(getattr(module, name), type)}
    assert functions - {*cases} - {*elsewhere} == set(), "functions without a row"
    assert {*elsewhere} - functions == set() == {*cases} & {*elsewhere}
    root = Path(__file__).parent
    assert [name for name, other in elsewhere.items() if name not in (root / other.file).read_text(encoding="utf8")] == []
