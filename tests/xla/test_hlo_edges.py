"""hlo slots where the samples of records do not lead: NaN, infinities, signed zeros, empty arrays, rare dtypes, bad indices."""
import numpy as np
import pytest

import numjet as nj
from numjet.core.op import Samples, all_ops
from numjet.foundation import dtypes
from numjet.foundation.config import enable_x64
from numjet.lax.contraction.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from numjet.lax.contraction.precision import Precision
from numjet.lax.fourier import FftType
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers, GatherScatterMode, ScatterDimensionNumbers
from numjet.runtime.device import devices
from numjet.testing import records

NAN, INF = np.nan, np.inf
FLOATS = ("float32", "float64", "float16", "bfloat16", "float8_e4m3fn", "float8_e5m2")
INTS = ("int2", "int4", "uint4", "int8", "uint64", "bool")
MIXED = np.array([NAN, 1, -0.0, 0.0, -INF, INF, -1, NAN, 0.0, -0.0, 2])
KEYS = np.arange(10, dtype=np.uint32).view(dtypes.key_dtype)
MODES = (GatherScatterMode.CLIP, GatherScatterMode.FILL_OR_DROP, GatherScatterMode.ONE_HOT,
         GatherScatterMode.PROMISE_IN_BOUNDS)
INDICES = (np.uint8([[0], [255], [4]]), np.uint64([[2**64 - 1], [2], [2]]), np.int64([[-1], [9], [-2**63]]),
           np.uint32([[2**31], [1], [3]]), np.int8([[-7], [100], [1]]))


def case(name, *operands, ulps=4, **params):
    operands = [np.asarray(x) for x in operands]
    return records.Case(all_ops()[name], operands, params, Samples(ulps=ulps))


def as_dtype(values, name):
    return np.asarray(values).astype(dtypes.as_dtype(name))


def check(cases):
    with enable_x64(), np.errstate(all="ignore"):
        records.check_hlo(list(cases), devices("xla_cpu")[0])


@pytest.mark.parametrize("name", FLOATS)
def test_reductions_and_prefixes_of_special_floats(name):
    v = as_dtype(MIXED, name)
    check([case(op, x, axes=(0,)) for op in ("reduce_max", "reduce_min", "reduce_sum", "reduce_prod")
           for x in (v, v[:0], v[3:7])]
          + [case(op, v[1:], axis=0, reverse=r) for op in ("cummax", "cummin", "cumsum", "cumprod") for r in (True, False)]
          + [case(op, x, axes=(0,), index_dtype=np.dtype(t)) for op in ("argmax", "argmin")
             for x, t in ((v, "int32"), (v[1:7], "int8"))])


@pytest.mark.parametrize("name", INTS)
def test_reductions_and_sorts_of_rare_integers(name):
    v = as_dtype([1, 0, 1, -1, 3] if name != "bool" else [1, 0, 1], name)
    both = ["reduce_max", "reduce_min", "reduce_and", "reduce_or", "reduce_xor"]
    check([case(op, x, axes=(0,)) for op in both for x in (v, v[:0])]
          + [case(op, v, axes=(0,)) for op in ("reduce_sum", "reduce_prod") if name != "bool"]
          + [case("argmax", v, axes=(0,), index_dtype=np.dtype("int32")), case("top_k", v, k=2, axis=0),
             case("sort", v, dimension=0, is_stable=True, num_keys=1)])


@pytest.mark.parametrize("name", FLOATS)
def test_sorts_put_nan_last_and_keep_the_order_of_equal_zeros(name):
    v = as_dtype(MIXED, name)
    places = np.arange(v.size)
    check([case("sort", v, dimension=0, is_stable=True, num_keys=1), case("top_k", v, k=5, axis=0),
           case("sort", v, places, dimension=0, is_stable=True, num_keys=1),
           case("sort", v, v[::-1].copy(), places, dimension=0, is_stable=True, num_keys=2)])


def test_complex_numbers_with_nan_and_infinities():
    c = np.array([complex(a, b) for a in (NAN, 1, 0, -INF, INF) for b in (0, NAN, 2)]).astype("complex64")
    ties = np.array([1 + 2j, 1 + 3j, 9j])
    check([case(op, x, axes=(0,)) for op in ("reduce_max", "reduce_min") for x in (c, c[6:], c[:0], ties)]
          + [case("sort", c, np.arange(15), dimension=0, is_stable=True, num_keys=1)]
          + [case(op, c[3:], axis=0, reverse=False) for op in ("cummax", "cummin", "cumlogsumexp")]
          + [case("convert_element_type", np.array([1 + 2j, complex(0, NAN), 0]), new_dtype=np.dtype(t), weak_type=False)
             for t in ("bool", "complex64", "float32")])


def test_cumlogsumexp_of_infinities():
    check([case("cumlogsumexp", np.array([-INF, -INF, 1, INF, 2, NAN]), axis=0, reverse=False),
           case("cumlogsumexp", np.array([-INF, 1000, 1000, 2, -INF]), axis=0, reverse=True)])


def test_conversions_saturate_and_round_once():
    convert = lambda values, new: case("convert_element_type", values, new_dtype=dtypes.as_dtype(new), weak_type=False, ulps=0)
    wide = np.array([2.0**63, -2.0**63, 2.0**64, 1e30, -1e30, 300, -1, 2.7, -2.7, NAN, INF])
    narrow = np.array([1e5, -1e5, 1.2345678901, 65519.9, 65520, 1e-8, 448, 464, 480, NAN])
    check([convert(wide, t) for t in ("int64", "uint32", "uint8", "int8", "bool")]
          + [convert(narrow, t) for t in FLOATS]
          + [convert(np.array([300, -1, 70000]), t) for t in ("uint8", "int4", "float16")]
          + [convert(as_dtype([-6, 6, 0.5, 1.5], "float4_e2m1fn"), t) for t in ("int8", "uint8", "float32")])


def test_bits_of_integers_at_the_ends_of_their_range():
    cases = []
    for name in ("int8", "uint8", "int32", "uint32", "int64", "uint64"):
        info = np.iinfo(name)
        values = np.array([info.min, info.min + 1, 0, 1, 3, info.max - 1, info.max], dtype=name)
        x, y = (v.ravel() for v in np.meshgrid(values, values))
        cases += [case(op, x, y) for op in ("mulhi", "div", "rem", "shift_left", "shift_right_logical",
                                            "shift_right_arithmetic", "max", "min")]
        cases += [case(op, values) for op in ("clz", "population_count", "sign", "not")]
    check(cases)


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_elementary_functions_of_special_floats(name):
    v = as_dtype([0.0, -0.0, INF, -INF, NAN, 1, -1, 0.5, -2.5, 100], name)
    x, y = (a.ravel() for a in np.meshgrid(v, v))
    one = ("exp", "exp2", "expm1", "log", "log1p", "sin", "cos", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh",
           "acosh", "atanh", "sqrt", "rsqrt", "cbrt", "logistic", "sign", "abs", "erf", "erfc", "erf_inv", "digamma", "floor")
    unary = [case(op, v[:-1], ulps=64) for op in one]
    two = ("atan2", "pow", "max", "min", "rem", "div", "nextafter", "eq_to", "lt_to")
    check(unary + [case(op, x, y, ulps=64) for op in two])


def test_signs_of_zero():
    zeros = np.array([0.0, -0.0])
    for name in ("sign", "sqrt", "sin", "floor", "tanh", "asinh", "cbrt"):
        (got,) = _run(name, zeros)
        assert np.signbit(got).tolist() == [False, True], name
    for name in ("cumsum", "cummax"):
        (got,) = _run(name, -np.zeros(5), axis=0, reverse=False)
        assert np.signbit(got).all(), name


def _run(name, *operands, **params):
    with nj.default_device(devices("xla_cpu")[0]):
        out = nj.jit(lambda *xs: all_ops()[name].bind(*xs, **params))(*operands)
    return [np.asarray(o) for o in (out if isinstance(out, (list, tuple)) else [out])]


@pytest.mark.parametrize("mode", MODES)
def test_gathers_at_indices_out_of_bounds(mode):
    params = {"dimension_numbers": GatherDimensionNumbers((), (0,), (0,)), "slice_sizes": (1,), "mode": mode, "fill_value": 7,
              "indices_are_sorted": False, "unique_indices": False}
    x = np.arange(5.0)
    check([case("gather", operand, i, **params) for i in INDICES for operand in (x, x.astype(np.int8), KEYS, x > 2)])


@pytest.mark.parametrize("mode", MODES)
def test_scatters_at_indices_out_of_bounds(mode):
    params = {"dimension_numbers": ScatterDimensionNumbers((), (0,), (0,)), "mode": mode, "indices_are_sorted": False,
              "unique_indices": False, "update_jaxpr": None, "update_consts": ()}
    x, new = np.arange(5.0), np.array([10.0, NAN, 30])
    check([case(op, x, i, new, **params) for i in INDICES for op in ("scatter", "scatter-add", "scatter-max", "scatter-min")]
          + [case("scatter", KEYS, np.array([[1], [2], [9]]), KEYS[2:], **params)])


@pytest.mark.parametrize("name", ["uint8", "int8", "uint32", "uint64"])
def test_slices_at_places_of_narrow_dtypes(name):
    place = np.asarray(127 if name == "int8" else 200).astype(name)
    check([case("dynamic_slice", np.arange(300.0), place, slice_sizes=(290,)),
           case("dynamic_update_slice", np.arange(300.0), np.ones(100), place)])


def test_random_keys_are_data():
    flipped = KEYS[::-1].copy()
    check([case("bitcast_convert_type", KEYS, new_dtype=np.dtype(np.uint32)),
           case("bitcast_convert_type", np.arange(6, dtype=np.uint32).reshape(3, 2), new_dtype=dtypes.key_dtype),
           case("broadcast_in_dim", KEYS, shape=(2, 5), broadcast_dimensions=(1,)), case("rev", KEYS, dimensions=(0,)),
           case("eq", KEYS, flipped), case("select_n", KEYS == flipped, KEYS, flipped)])


DOTS = (("int8", "int8", "int32", None), ("bfloat16", "bfloat16", "float32", None), ("float32", "float32", "float64", None),
        ("float16", "float32", None, None), ("int8", "float32", None, None), ("int4", "int4", None, None),
        ("float8_e4m3fn", "float8_e4m3fn", None, None), ("bool", "int8", None, None), ("complex64", "float32", None, None),
        ("uint8", "int8", "int32", None), ("float32", "float32", None, (Precision.HIGHEST, Precision.DEFAULT)),
        ("float32", "float32", None, DotAlgorithmPreset.TF32_TF32_F32),
        ("float32", "float32", None, DotAlgorithm(np.float32, np.float32, np.float64)))


def test_products_of_mixed_and_preferred_dtypes():
    a = np.arange(6).reshape(2, 3)
    numbers = (((1,), (0,)), ((), ()))
    wanted = lambda name: None if name is None else np.dtype(name)
    check(case("dot_general", as_dtype(a, x), as_dtype(a.T, y), dimension_numbers=numbers, precision=precision,
               preferred_element_type=wanted(preferred)) for x, y, preferred, precision in DOTS)


def test_windows_over_special_floats():
    windows = {"window_dimensions": (3,), "window_strides": (1,), "padding": ((1, 1),)}
    dilations = {"base_dilation": (1,), "window_dilation": (1,)}
    halves = MIXED.astype("float16")
    check([case(op, x, **windows, **dilations) for op in ("reduce_window_sum", "reduce_window_max", "reduce_window_min")
           for x in (MIXED, halves)]
          + [case("select_and_gather_add", np.arange(11.0), MIXED, select_prim=p, **windows, **dilations) for p in ("ge", "le")]
          + [case("select_and_scatter_add", np.arange(11.0), MIXED, select_prim=p, **windows) for p in ("ge", "le")])


def test_transforms_over_more_axes_than_stablehlo_has():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(2, 3, 2, 4)) + 3
    half = x[..., :3] + 0j
    transform = lambda values, kind: case("fft", values, fft_type=kind, fft_lengths=(2, 3, 2, 4), ulps=2**24)
    check([transform(x + 1j, FftType.FFT), transform(x + 1j, FftType.IFFT), transform(x, FftType.RFFT),
           transform(half, FftType.IRFFT)])


@pytest.mark.parametrize("name", ["float32", "complex128"])
def test_linear_algebra_of_bad_and_empty_matrices(name):
    bad = np.array([[[1, 2], [2, 1]], [[NAN, 0], [0, 1]], [[2, 1], [1, 2]], [[0, 0], [0, 0]]]).astype(name)
    zeros = lambda *shape: np.zeros(shape, name)
    subset = {"subset_by_index": None, "algorithm": None}
    qr = {"use_magma": None}
    check([case("cholesky", bad), case("cholesky", zeros(0, 0)), case("lu", bad[2:]), case("lu", zeros(3, 0)),
           case("eigh", bad[:3], lower=True, sort_eigenvalues=True, ulps=64, **subset),
           case("svd", bad, full_matrices=True, compute_uv=False, ulps=64, **subset),
           case("svd", zeros(3, 0), full_matrices=True, compute_uv=True, **subset),
           case("eig", bad[1:2], compute_left_eigenvectors=True, compute_right_eigenvectors=True, enable_eigvec_derivs=False,
                implementation=None),
           case("schur", bad[1:2], compute_schur_vectors=True, sort_eig_vals=False, select_callable=None),
           case("triangular_solve", bad[3], bad[2], left_side=True, lower=True, transpose_a=False, conjugate_a=False,
                unit_diagonal=False),
           case("tridiagonal_solve", zeros(2, 3), np.array([[1, 2, 3], [0, 0, 0]], name), zeros(2, 3), zeros(2, 3, 1) + 1,
                perturb_singular=False),
           case("qr", zeros(0, 3), pivoting=False, full_matrices=True, **qr),
           case("qr", zeros(3, 0), pivoting=True, full_matrices=True, **qr),
           case("householder_product", zeros(3, 2), zeros(0))])


@pytest.mark.parametrize("name", ["div", "rem"])
@pytest.mark.parametrize("dtype", [np.int32, np.uint8, np.int64])
def test_division_of_constants_by_zero(name, dtype):
    """XLA divides constants while it compiles, by an instruction that ends the process by SIGFPE."""
    with enable_x64():
        function = lambda v: all_ops()[name].bind(v - v, v - v)
        v = np.array(5, dtype)
        assert nj.jit(function, backend="xla_cpu")(v) == nj.jit(function)(v) == (0 if name == "rem" else ~dtype(0))
        assert nj.jit(lambda v: all_ops()[name].bind(v, v - v), backend="xla_cpu")(v) == (5 if name == "rem" else ~dtype(0))
