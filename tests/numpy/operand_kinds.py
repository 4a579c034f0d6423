"""The functions of numpy, numpy.linalg and numpy.fft on operands of every kind: which do not take some of them, and why."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

import numjet.numpy as jnp
from tests import operands
from tests.numpy.test_axes import OPERANDS as WITH_AXES
from tests.operands import HALVES, KINDS, MATRICES, SPECIAL, Case, Operand, reversed_last

# What makes a required operand out of an array, by the name of the parameter.
OPERANDS: dict[str, Operand] = {
    **WITH_AXES, **dict.fromkeys("v val z element ar a1 ar1 filt M".split(), lambda x: x),
    **dict.fromkeys("b x2 a2 ar2 values test_elements fill_value".split(), reversed_last),
    **dict.fromkeys(("arrays", "tup", "keys"), lambda x: [x, reversed_last(x)]),
    "x1": lambda x: x[::-1] if x.ndim else x,
    **dict.fromkeys("reps axis axis1 n destination pad_width deg".split(), lambda x: 1),
    **dict.fromkeys(("source", "axis2"), lambda x: 0), "q": lambda x: 0.3, "condition": lambda x: np.ones(1, bool),
    "axes": lambda x: tuple(range(x.ndim))[::-1], "shape": lambda x: (x.size,), "new_shape": lambda x: (3, 2),
    "dtype": lambda x: np.int32, "bins": lambda x: np.arange(3, dtype=np.float32),
    "xp": lambda x: np.arange(4, dtype=np.float32), "fp": lambda x: np.arange(4, dtype=np.float32) ** 2}
# Functions of *args.
COUNTS = {**dict.fromkeys("negative atleast_1d atleast_2d atleast_3d".split(), 1), **dict.fromkeys((
    "add bitwise_and bitwise_or bitwise_xor logaddexp logaddexp2 logical_and logical_or logical_xor maximum minimum multiply "
    "subtract broadcast_arrays meshgrid").split(), 2)}
# What is tested elsewhere: texts, files, memory, writers, no arrays, what is unique up to order, sign or phase.
ELSEWHERE = set("""bincount isscalar put_along_axis linalg.lstsq asarray_chkfinite asfortranarray asanyarray ascontiguousarray
require array_str array_repr array2string
may_share_memory shares_memory from_dlpack isfortran ndenumerate iterable min_scalar_type promote_types identity tri eye kaiser
diag_indices tril_indices triu_indices bartlett blackman hamming hanning fft.fftfreq fft.rfftfreq indices fill_diagonal
put place
putmask
argpartition partition unique_values poly roots format_float_positional format_float_scientific empty empty_like
linalg.eig linalg.eigh linalg.eigvals linalg.svd linalg.qr linalg.tensorinv linalg.tensorsolve linalg.multi_dot""".split())

_INTEGERS = (*operands.INTEGERS, "int32 matrix")
_COMPLEX = (*operands.COMPLEX, "complex64 matrices of rank 4")
_NO_LAPACK = (HALVES, "LAPACK has no halves; the error says which dtypes there are")
# Calls that are errors here and in JAX, but not in NumPy: kinds, and the reason.
REFUSED: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys("argmax argmin nanargmax nanargmin median nanmedian".split(), (_COMPLEX, "complex numbers have no order")),
    **dict.fromkeys("linalg.cond linalg.matrix_rank linalg.pinv linalg.svdvals".split(), _NO_LAPACK),
    **dict.fromkeys("fft.ihfft fft.rfft fft.rfft2 fft.rfftn".split(), (HALVES, "as in JAX, floats of 32 bits at least")),
    **dict.fromkeys("argsort convolve cumulative_prod cumulative_sum".split(), (("rank 0",), "there is no axis")),
    **dict.fromkeys(("around", "round", "polyadd"), (("bool",), "no numbers")),
    **dict.fromkeys(("tril", "triu"), (("int64", "size 1", "empty", "special values"), "no matrix")),
    **dict.fromkeys(("full", "insert", "polyder"), (("size 1 of rank 3",), "axes are not dropped")),
    "meshgrid": (tuple(k for k, x in {**KINDS, **MATRICES}.items() if x.ndim > 1), "no vectors")}
# Results that are other ones than NumPy's, as in JAX.
DECISIONS: dict[str, tuple[tuple[str, ...], str]] = {
    **dict.fromkeys(("divmod", "floor_divide"), (_INTEGERS, "integers divided by 0 are -1, rounded down; NumPy: 0")),
    "convolve": (("special values",), "by sums with zeros; NaN where NumPy has none"),
    **dict.fromkeys(("fft.fftn", "fft.ifftn"), (("rank 0",), "complex; NumPy: unchanged, as there is no axis")),
    "histogram": (_COMPLEX, "complex numbers have no order"),
    "nanpercentile": (SPECIAL, "an infinity next to a number; NumPy: inf - inf"),
    "spacing": (_INTEGERS, "of float32; NumPy: of float16"), "reciprocal": (_INTEGERS, "a float; NumPy: rounded to 0"),
    "trapezoid": (("bool",), "the sum of two is 2; NumPy: True"), "unwrap": (("uint8",), "as floats; NumPy: wraps around"),
    "astype": (SPECIAL, "the nearest integer, 0 for NaN; NumPy: undefined"),
    "searchsorted": (("special values",), "not sorted"),
    "linalg.eigvalsh": (("special values reversed",), "of (x + x.T) / 2; NumPy: of the lower triangle"),
    "linalg.slogdet": (("special values reversed",), "the sign of a NaN is NaN; NumPy: that of its bit"),
    **dict.fromkeys(("fft.hfft", "fft.irfft"), (("special values reversed",), "compiled, an infinity reaches its whole row")),
    "fft.ihfft": (("special values reversed",), "NaN in both parts")}

# What NumPy refuses as a whole, but is defined.
_QUANTILE = lambda x, q: np.quantile(x * np.float32(1), q) if x.size else np.float32(np.nan)
DEFINED: dict[str, Callable[..., Any]] = {
    **dict.fromkeys(("deg2rad", "radians"), lambda x: x * (np.pi / 180)),
    **dict.fromkeys(("rad2deg", "degrees"), lambda x: x * (180 / np.pi)),
    **dict.fromkeys(("arctan2", "atan2"), lambda y, x: -1j * np.log((x + 1j * y) / np.sqrt(x * x + y * y))),
    "logaddexp": lambda a, b: np.log(np.exp(a) + np.exp(b)), "logaddexp2": lambda a, b: np.log2(np.exp2(a) + np.exp2(b)),
    **dict.fromkeys(("quantile", "nanquantile"), _QUANTILE),
    **dict.fromkeys(("percentile", "nanpercentile"), lambda x, q: _QUANTILE(x, q / 100)),
    "gradient": lambda x: np.gradient(x.astype(np.float32)), "positive": lambda x: x,
    **{f"linalg.{name}": operands.alone(getattr(np.linalg, name)) for name in ("cond", "pinv", "svdvals")}}
_NO_NUMBERS = "transforms of no numbers have none"
# Kinds that only NumPy refuses.
UNANSWERED: dict[str, dict[str, str]] = {
    **dict.fromkeys(("histogram", "histogram_bin_edges"), dict.fromkeys(SPECIAL, "edges that are NaN, as in JAX")),
    "histogram2d": {"special values": "edges that are NaN, as in JAX"},
    "polyfit": {"special values": "NaN, as in JAX"},
    "linalg.cholesky": {"special values reversed": "NaN, as in JAX, of matrices that are not positive definite"},
    "linalg.matrix_rank": {"special values reversed": "no singular value is above NaN"},
    **{name: dict.fromkeys(("int32 of rank 4", "int64"), "integers to negative powers") for name in ("pow", "power")},
    "digitize": dict.fromkeys(operands.COMPLEX, "by real and then by imaginary parts, as in JAX"),
    "vsplit": dict.fromkeys(("special values", "empty", "int64", "size 1"), "along the first axis of vectors, as in JAX"),
    "take_along_axis": {"empty": "out of bounds"},
    "unravel_index": dict.fromkeys(operands.EMPTY, "no indices"),
    **{f"fft.{name}": {"empty": _NO_NUMBERS} for name in ("fft", "ifft", "rfft", "ihfft")},
    **{f"fft.{name}": dict.fromkeys(operands.EMPTY, _NO_NUMBERS) for name in ("fftn", "ifftn")},
    **{f"fft.{name}": {"empty of rank 3": _NO_NUMBERS} for name in ("fft2", "ifft2", "rfft2")},
    "fft.rfftn": dict.fromkeys(("rank 0", *operands.EMPTY), _NO_NUMBERS),
    **{f"fft.{name}": dict.fromkeys(("size 1", "size 1 of rank 3", "empty"), _NO_NUMBERS) for name in ("hfft", "irfft")},
    "fft.irfft2": dict.fromkeys(("size 1 of rank 3", "empty of rank 3"), _NO_NUMBERS),
    "fft.irfftn": dict.fromkeys(("rank 0", "size 1", "size 1 of rank 3", *operands.EMPTY), _NO_NUMBERS),
    **{f"fft.{name}": {"rank 0": "there is no axis to shift"} for name in ("fftshift", "ifftshift")}}

# Results whose values are NumPy's, with dtypes that are not.
DTYPES = {**dict.fromkeys("convolve correlate polymul polyder".split(), "floats"),
          **dict.fromkeys(("conj", "conjugate"), "bool"),
          **dict.fromkeys(("histogram", "histogram2d"), "counts have the dtype of the sample or of the weights")}

# Functions whose shapes depend on values or on the rank: they do not compile, or take no rows.
OF_VALUES = set("""argwhere flatnonzero nonzero compress extract intersect1d setdiff1d setxor1d union1d unique_all unique_counts
unique_inverse unique repeat trim_zeros isscalar astype reshape resize array_split split choose polydiv delete insert
interp polyder polyfit real_if_close tril triu""".split())
NOT_SMOOTH = {"nextafter": "constant here", "spacing": "constant here", "linalg.matrix_rank": "constant here"}
WITH_MATRICES = {"matmul", "dot", "trace", "corrcoef"}


def _functions() -> Iterator[tuple[str, Case]]:
    for room, ours, theirs in (("", jnp, np), ("linalg.", jnp.linalg, np.linalg), ("fft.", jnp.fft, np.fft)):
        for name in sorted(set(dir(ours)) & set(dir(theirs))):
            function = getattr(ours, name)
            if name.startswith("_") or not callable(function) or isinstance(function, type) or room + name in ELSEWHERE:
                continue
            required = _required(name, function)
            if required and OPERANDS.keys() >= {*required} and "func1d" not in required:
                yield room + name, _case(room + name, function, getattr(theirs, name), [OPERANDS[p] for p in required])


def _case(name: str, ours: Callable[..., Any], theirs: Callable[..., Any], makers: list[Operand]) -> Case:
    matrices = name.startswith("linalg.") or name in WITH_MATRICES
    kinds = {**KINDS, **MATRICES} if matrices else KINDS
    of_values = "shapes that depend on values" if name in OF_VALUES else ""

    def chosen(table: dict[str, tuple[tuple[str, ...], str]]) -> dict[str, str]:
        return {kind: table[name][1] for kind in table.get(name, ((),))[0] if kind in kinds}
    if name in DEFINED:
        theirs = operands.extended(theirs, DEFINED[name])
    return Case(ours, theirs, makers, kinds=kinds, refused=chosen(REFUSED), decided=chosen(DECISIONS),
                unanswered=UNANSWERED.get(name, {}), dtypes=DTYPES.get(name, ""), not_compiled=of_values,
                not_smooth=NOT_SMOOTH.get(name, of_values),
                differentiated="float64 matrices transposed" if matrices else "float64 transposed")


def _required(name: str, function: Callable[..., Any]) -> list[str]:
    if name in COUNTS:
        return ["x1", "x2"][:COUNTS[name]]
    parameters = inspect.signature(function).parameters.values()
    return [p.name for p in parameters if p.default is p.empty and p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]


CASES: dict[str, Case] = dict(_functions())
