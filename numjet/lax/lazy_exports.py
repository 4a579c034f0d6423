"""Lazy exports: functions of numjet.lax that most programs do not need, imported when the first of them is named."""

from numjet.control.lazy_exports import (
    associative_scan as associative_scan, composite as composite, custom_linear_solve as custom_linear_solve,
    custom_root as custom_root, platform_dependent as platform_dependent,
)
from numjet.control.branches.cond_op import cond_p as cond_p
from numjet.control.custom.solve import linear_solve_p as linear_solve_p
from numjet.control.loops.scan_op import scan_p as scan_p
from numjet.control.loops.while_op import while_p as while_p
from numjet.lax import linalg as linalg
from numjet.lax.barrier import (
    after_all as after_all, after_all_p as after_all_p, create_token as create_token, dce_sink as dce_sink,
    dce_sink_p as dce_sink_p, optimization_barrier as optimization_barrier,
    optimization_barrier_p as optimization_barrier_p,
)
from numjet.lax.collective.functions import (
    all_gather as all_gather, all_to_all as all_to_all, pbroadcast as pbroadcast, ppermute as ppermute, precv as precv,
    psend as psend, pshuffle as pshuffle, psum_scatter as psum_scatter, pswapaxes as pswapaxes,
    ragged_all_to_all as ragged_all_to_all,
)
from numjet.lax.collective.moves import (
    all_gather_p as all_gather_p, all_to_all_p as all_to_all_p, pbroadcast_p as pbroadcast_p, ppermute_p as ppermute_p,
    reduce_scatter_p as reduce_scatter_p,
)
from numjet.lax.collective.varying import pcast as pcast, pvary as pvary
from numjet.lax.collective.reductions import (
    axis_index as axis_index, axis_index_p as axis_index_p, axis_size as axis_size, pmax as pmax, pmax_p as pmax_p,
    pmean as pmean, pmin as pmin, pmin_p as pmin_p, psum as psum, psum_p as psum_p,
)
from numjet.lax.contraction.conv_functions import (
    conv as conv, conv_general_dilated as conv_general_dilated, conv_transpose as conv_transpose,
    conv_with_general_padding as conv_with_general_padding,
)
from numjet.lax.contraction.conv_local import (
    conv_general_dilated_local as conv_general_dilated_local, conv_general_dilated_patches as conv_general_dilated_patches,
)
from numjet.lax.contraction.conv_shapes import (
    ConvDimensionNumbers as ConvDimensionNumbers, ConvGeneralDilatedDimensionNumbers as ConvGeneralDilatedDimensionNumbers,
    conv_dimension_numbers as conv_dimension_numbers, conv_general_permutations as conv_general_permutations,
    conv_general_shape_tuple as conv_general_shape_tuple, conv_shape_tuple as conv_shape_tuple,
    conv_transpose_shape_tuple as conv_transpose_shape_tuple,
)
from numjet.lax.contraction.dot_algorithms import (
    DotAlgorithm as DotAlgorithm, DotAlgorithmPreset as DotAlgorithmPreset, PrecisionLike as PrecisionLike,
)
from numjet.lax.contraction.convolution import conv_general_dilated_p as conv_general_dilated_p
from numjet.lax.contraction.ragged import (
    RaggedDotDimensionNumbers as RaggedDotDimensionNumbers, ragged_dot as ragged_dot, ragged_dot_general as ragged_dot_general,
    scaled_dot as scaled_dot,
)
from numjet.lax.elementwise.special import (
    bessel_i0e as bessel_i0e, bessel_i0e_p as bessel_i0e_p, bessel_i1e as bessel_i1e, bessel_i1e_p as bessel_i1e_p,
    betainc as betainc, digamma as digamma, digamma_p as digamma_p, erf as erf, erf_inv as erf_inv, erf_inv_p as erf_inv_p,
    erf_p as erf_p, erfc as erfc, erfc_p as erfc_p, igamma as igamma, igamma_grad_a as igamma_grad_a,
    igamma_grad_a_p as igamma_grad_a_p, igamma_p as igamma_p, igammac as igammac, igammac_p as igammac_p, lgamma as lgamma,
    lgamma_p as lgamma_p, polygamma as polygamma, polygamma_p as polygamma_p, random_gamma_grad as random_gamma_grad,
    random_gamma_grad_p as random_gamma_grad_p, regularized_incomplete_beta_p as regularized_incomplete_beta_p, zeta as zeta,
    zeta_p as zeta_p,
)
from numjet.lax.dtype_of import dtype as dtype
from numjet.lax.fourier import FftType as FftType, fft as fft, fft_p as fft_p
from numjet.lax.reduction.approximate import approx_max_k as approx_max_k, approx_min_k as approx_min_k
from numjet.lax.reduction.window import (
    reduce_window as reduce_window, reduce_window_max_p as reduce_window_max_p, reduce_window_min_p as reduce_window_min_p,
    reduce_window_p as reduce_window_p, reduce_window_sum_p as reduce_window_sum_p,
)
from numjet.lax.reduction.window_select import (
    select_and_gather_add_p as select_and_gather_add_p, select_and_scatter_add_p as select_and_scatter_add_p,
)
from numjet.lax.reduction.reduce_general import reduce as reduce, reduce_p as reduce_p
from numjet.lax.reduction.window_shapes import (
    padtype_to_pads as padtype_to_pads, reduce_window_shape_tuple as reduce_window_shape_tuple,
)
from numjet.lax.rng.bit_generator import (
    RandomAlgorithm as RandomAlgorithm, rng_bit_generator as rng_bit_generator, rng_bit_generator_p as rng_bit_generator_p,
    rng_uniform as rng_uniform, rng_uniform_p as rng_uniform_p,
)
from numjet.lax.shape.stacking import (
    broadcast_like as broadcast_like, shape_as_value as shape_as_value, stack as stack, stage as stage, unstack as unstack,
)
from numjet.lax.sharding import (
    sharding_constraint_p as sharding_constraint_p, with_sharding_constraint as with_sharding_constraint,
)
