"""Programs for platforms that this machine need not have: which libraries they call, and what they refuse."""
import numpy as np
import pytest

import numjet as nj
from numjet import lax
from numjet.core.aval import ShapedArray
from numjet.core.op import all_ops
from numjet.lax.contraction.dot_algorithms import DotAlgorithm, DotAlgorithmPreset
from numjet.runtime import dispatch
from numjet.runtime.device import devices
from numjet.xla import backend

F32 = np.dtype(np.float32)
SVD = {"full_matrices": False, "compute_uv": True, "subset_by_index": None, "algorithm": None}
EIG = {"compute_left_eigenvectors": False, "compute_right_eigenvectors": True, "enable_eigvec_derivs": False,
       "implementation": None}
QR = {"full_matrices": True, "use_magma": None}
EIGH = {"lower": True, "sort_eigenvalues": True, "subset_by_index": None, "algorithm": None}


def program(name, *shapes, platform="cuda", dtype=F32, **params):
    avals = [ShapedArray(s, np.dtype(dtype)) for s in shapes]
    return backend.as_text(dispatch.one_equation(all_ops()[name], avals, params), name, platform)


@pytest.mark.parametrize("name, shapes, params, targets", [
    ("lu", [(2, 4, 3)], {}, ["cusolver_getrf_ffi", "cu_lu_pivots_to_permutation"]),
    ("qr", [(4, 3)], {"pivoting": False, **QR}, ["cusolver_geqrf_ffi", "cusolver_orgqr_ffi"]),
    ("qr", [(4, 3)], {"pivoting": True, **QR}, ["cuhybrid_geqp3", "cusolver_orgqr_ffi"]),
    ("eigh", [(3, 3)], EIGH, ["cusolver_syevd_ffi"]),
    ("eig", [(3, 3)], EIG, ["cuhybrid_eig_real"]),
    ("svd", [(4, 3)], SVD, ["cusolver_gesvdj_ffi"]),
    ("svd", [(1100, 1200)], SVD, ["cusolver_gesvd_ffi"]),
    ("tridiagonal_solve", [(4,), (4,), (4,), (4, 2)], {"perturb_singular": False}, ["cusparse_gtsv2_ffi"]),
    ("cholesky", [(3, 3)], {}, []),
])
def test_factorizations_on_gpus(name, shapes, params, targets):
    text = program(name, *shapes, **params)
    called = [line.split('call_target_name = "')[1].split('"')[0] for line in text.splitlines() if "call_target_name" in line]
    assert called == targets
    assert "lapack" not in text


def test_wide_matrices_are_handed_over_as_their_transposes():
    text = program("svd", (1100, 1200), **SVD)
    assert "transposed = true" in text
    results = text.split("cusolver_gesvd_ffi")[1].splitlines()[0].split(" -> ")[1]
    assert results.startswith("(tensor<1100x1200xf32>, tensor<1100xf32>, tensor<1100x1200xf32>, tensor<1100x1100xf32>")
    assert "transposed = false" in program("svd", (1200, 1100), **SVD)


@pytest.mark.parametrize("name, params", [
    ("hessenberg", {}), ("schur", {"compute_schur_vectors": True, "sort_eig_vals": False, "select_callable": None})])
def test_forms_without_a_library_say_where_to_compute(name, params):
    with pytest.raises(NotImplementedError, match="no counterpart on platform 'cuda': place the operand on a CPU"):
        program(name, (3, 3), **params)


def test_products_ask_for_algorithms_where_there_are_some():
    numbers = {"dimension_numbers": (((1,), (0,)), ((), ())), "preferred_element_type": None}
    text = program("dot_general", (2, 3), (3, 4), precision=DotAlgorithmPreset.TF32_TF32_F32_X3, **numbers)
    assert "lhs_precision_type = tf32" in text and "num_primitive_operations = 3" in text
    assert "dot_algorithm" not in program("dot_general", (2, 3), (3, 4), platform="cpu",
                                          precision=DotAlgorithmPreset.TF32_TF32_F32_X3, **numbers)
    precision = DotAlgorithm(np.int32, np.float32, np.float32)
    with pytest.raises(NotImplementedError, match=r"expected one of the dtypes float16, .* got int32"):
        program("dot_general", (2, 3), (3, 4), precision=precision, **numbers)


def test_small_collectives_are_gone_before_lowering():
    total = nj.vmap(lambda x: x / lax.psum(x, "i"), axis_name="i")
    with nj.default_device(devices("xla_cpu")[0]):
        np.testing.assert_allclose(nj.jit(total)(np.float32([1, 3])), [0.25, 0.75])
