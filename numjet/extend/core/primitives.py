"""All primitives under JAX's names, to be compared with `eqn.primitive`. Those of operations that numjet does not have raise
when they are applied, and stand in no program."""
from __future__ import annotations

from typing import Any, NoReturn

from numjet.control.branches.cond_op import cond_p as cond_p
from numjet.control.call.call import jit_p as jit_p
from numjet.control.custom.checkpoint import checkpoint_p
from numjet.control.custom.checkpoint_policies import name_p as name_p
from numjet.control.custom.custom_jvp import custom_jvp_call_p as custom_jvp_call_p
from numjet.control.custom.custom_vjp_call import custom_lin_p as custom_lin_p, custom_vjp_call_p as custom_vjp_call_p
from numjet.control.custom.solve import linear_solve_p as linear_solve_p
from numjet.control.loops.scan_op import scan_p as scan_p
from numjet.control.loops.while_op import while_p as while_p
from numjet.core.primitive import Primitive
from numjet.extend.core.calls import call_p as call_p, closed_call_p as closed_call_p
from numjet.lax import (
    abs_p as abs_p,
    acos_p as acos_p,
    acosh_p as acosh_p,
    add_p as add_p,
    after_all_p as after_all_p,
    all_gather_p as all_gather_p,
    all_to_all_p as all_to_all_p,
    and_p as and_p,
    approx_top_k_p as approx_top_k_p,
    argmax_p as argmax_p,
    argmin_p as argmin_p,
    asin_p as asin_p,
    asinh_p as asinh_p,
    atan2_p as atan2_p,
    atan_p as atan_p,
    atanh_p as atanh_p,
    axis_index_p as axis_index_p,
    bessel_i0e_p as bessel_i0e_p,
    bessel_i1e_p as bessel_i1e_p,
    bitcast_convert_type_p as bitcast_convert_type_p,
    broadcast_in_dim_p as broadcast_in_dim_p,
    cbrt_p as cbrt_p,
    ceil_p as ceil_p,
    clamp_p as clamp_p,
    clz_p as clz_p,
    complex_p as complex_p,
    concatenate_p as concatenate_p,
    conj_p as conj_p,
    conv_general_dilated_p as conv_general_dilated_p,
    convert_element_type_p as convert_element_type_p,
    copy_p as copy_p,
    cos_p as cos_p,
    cosh_p as cosh_p,
    cumlogsumexp_p as cumlogsumexp_p,
    cummax_p as cummax_p,
    cummin_p as cummin_p,
    cumprod_p as cumprod_p,
    cumsum_p as cumsum_p,
    digamma_p as digamma_p,
    div_p as div_p,
    dot_general_p as dot_general_p,
    dynamic_slice_p as dynamic_slice_p,
    dynamic_update_slice_p as dynamic_update_slice_p,
    eq_p as eq_p,
    eq_to_p as eq_to_p,
    erf_inv_p as erf_inv_p,
    erf_p as erf_p,
    erfc_p as erfc_p,
    exp2_p as exp2_p,
    exp_p as exp_p,
    expm1_p as expm1_p,
    fft_p as fft_p,
    floor_p as floor_p,
    gather_p as gather_p,
    ge_p as ge_p,
    gt_p as gt_p,
    igamma_grad_a_p as igamma_grad_a_p,
    igamma_p as igamma_p,
    igammac_p as igammac_p,
    imag_p as imag_p,
    integer_pow_p as integer_pow_p,
    iota_p as iota_p,
    is_finite_p as is_finite_p,
    le_p as le_p,
    le_to_p as le_to_p,
    lgamma_p as lgamma_p,
    log1p_p as log1p_p,
    log_p as log_p,
    logistic_p as logistic_p,
    lt_p as lt_p,
    lt_to_p as lt_to_p,
    max_p as max_p,
    min_p as min_p,
    mul_p as mul_p,
    ne_p as ne_p,
    neg_p as neg_p,
    nextafter_p as nextafter_p,
    not_p as not_p,
    or_p as or_p,
    pad_p as pad_p,
    pmax_p as pmax_p,
    pmin_p as pmin_p,
    polygamma_p as polygamma_p,
    population_count_p as population_count_p,
    pow_p as pow_p,
    ppermute_p as ppermute_p,
    psum_p as psum_p,
    real_p as real_p,
    reduce_and_p as reduce_and_p,
    reduce_max_p as reduce_max_p,
    reduce_min_p as reduce_min_p,
    reduce_or_p as reduce_or_p,
    reduce_p as reduce_p,
    reduce_precision_p as reduce_precision_p,
    reduce_prod_p as reduce_prod_p,
    reduce_sum_p as reduce_sum_p,
    reduce_window_max_p as reduce_window_max_p,
    reduce_window_min_p as reduce_window_min_p,
    reduce_window_p as reduce_window_p,
    reduce_window_sum_p as reduce_window_sum_p,
    reduce_xor_p as reduce_xor_p,
    regularized_incomplete_beta_p as regularized_incomplete_beta_p,
    rem_p as rem_p,
    reshape_p as reshape_p,
    rev_p as rev_p,
    rng_bit_generator_p as rng_bit_generator_p,
    rng_uniform_p as rng_uniform_p,
    round_p as round_p,
    rsqrt_p as rsqrt_p,
    scatter_add_p as scatter_add_p,
    scatter_max_p as scatter_max_p,
    scatter_min_p as scatter_min_p,
    scatter_mul_p as scatter_mul_p,
    scatter_p as scatter_p,
    select_and_gather_add_p as select_and_gather_add_p,
    select_and_scatter_add_p as select_and_scatter_add_p,
    select_n_p as select_n_p,
    shift_left_p as shift_left_p,
    shift_right_arithmetic_p as shift_right_arithmetic_p,
    shift_right_logical_p as shift_right_logical_p,
    sign_p as sign_p,
    sin_p as sin_p,
    sinh_p as sinh_p,
    slice_p as slice_p,
    sort_p as sort_p,
    sqrt_p as sqrt_p,
    square_p as square_p,
    squeeze_p as squeeze_p,
    stop_gradient_p as stop_gradient_p,
    sub_p as sub_p,
    tan_p as tan_p,
    tanh_p as tanh_p,
    top_k_p as top_k_p,
    transpose_p as transpose_p,
    xor_p as xor_p,
    zeta_p as zeta_p,
)
from numjet.lax.device_put import device_put_p as device_put_p
from numjet.lax.linalg import (
    cholesky_p as cholesky_p,
    eig_p as eig_p,
    eigh_p as eigh_p,
    hessenberg_p as hessenberg_p,
    householder_product_p as householder_product_p,
    lu_p as lu_p,
    qr_p as qr_p,
    schur_p as schur_p,
    svd_p as svd_p,
    triangular_solve_p as triangular_solve_p,
    tridiagonal_p as tridiagonal_p,
    tridiagonal_solve_p as tridiagonal_solve_p,
)
from numjet.lax.rng.threefry import threefry2x32_p as threefry2x32_p
from numjet.lax.sharding import sharding_constraint_p as sharding_constraint_p
from numjet.lax.tangent import add_any_p


class _Absent(Primitive):
    """A primitive of JAX whose operation numjet does not have, or makes of others."""

    def __init__(self, name: str, instead: str):
        super().__init__(name)
        self.instead = instead

    def bind(self, *args: Any, **params: Any) -> NoReturn:
        """Raises NotImplementedError with the function to use."""
        raise NotImplementedError(f"numjet has no primitive '{self.name}': {self.instead}")

add_jaxvals_p, remat_p = add_any_p, checkpoint_p
create_token_p = _Absent("create_token", "use numjet.lax.create_token")
empty2_p = _Absent("empty2", "use numjet.numpy.empty")
get_p = _Absent("get", "references are read by ref[index], or numjet.ref.get")
ragged_all_to_all_p = _Absent("ragged_all_to_all", "numjet.lax.ragged_all_to_all is made of others")
random_bits_p = _Absent("random_bits", "use numjet.random.bits")
random_fold_in_p = _Absent("random_fold_in", "use numjet.random.fold_in")
random_gamma_p = _Absent("random_gamma", "use numjet.random.gamma")
random_seed_p = _Absent("random_seed", "use numjet.random.key")
random_split_p = _Absent("random_split", "use numjet.random.split")
select_and_scatter_p = _Absent("select_and_scatter", "use the gradient of numjet.lax.reduce_window")
swap_p = _Absent("swap", "references are written by ref[index] = value, or numjet.ref.swap")
