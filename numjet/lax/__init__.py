"""First-order operations: one record each, and the functions of `jax.lax` that apply them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.core.op import later as _later
from numjet.foundation import lazy_import as _lazy_import

# arithmetic.py
from numjet.lax.elementwise.arithmetic import RoundingMethod as RoundingMethod
from numjet.lax.elementwise.arithmetic import abs as abs
from numjet.lax.elementwise.arithmetic import abs_p as abs_p
from numjet.lax.elementwise.arithmetic import add as add
from numjet.lax.elementwise.arithmetic import add_p as add_p
from numjet.lax.elementwise.arithmetic import cbrt as cbrt
from numjet.lax.elementwise.arithmetic import cbrt_p as cbrt_p
from numjet.lax.elementwise.arithmetic import ceil as ceil
from numjet.lax.elementwise.arithmetic import ceil_p as ceil_p
from numjet.lax.elementwise.arithmetic import div as div
from numjet.lax.elementwise.arithmetic import div_p as div_p
from numjet.lax.elementwise.arithmetic import floor as floor
from numjet.lax.elementwise.arithmetic import floor_p as floor_p
from numjet.lax.elementwise.arithmetic import integer_pow as integer_pow
from numjet.lax.elementwise.arithmetic import integer_pow_p as integer_pow_p
from numjet.lax.elementwise.arithmetic import mul as mul
from numjet.lax.elementwise.arithmetic import mul_p as mul_p
from numjet.lax.elementwise.arithmetic import mulhi as mulhi
from numjet.lax.elementwise.arithmetic import mulhi_p as mulhi_p
from numjet.lax.elementwise.arithmetic import neg as neg
from numjet.lax.elementwise.arithmetic import neg_p as neg_p
from numjet.lax.elementwise.arithmetic import pow as pow
from numjet.lax.elementwise.arithmetic import pow_p as pow_p
from numjet.lax.elementwise.arithmetic import reciprocal as reciprocal
from numjet.lax.elementwise.arithmetic import rem as rem
from numjet.lax.elementwise.arithmetic import rem_p as rem_p
from numjet.lax.elementwise.arithmetic import round as round
from numjet.lax.elementwise.arithmetic import round_p as round_p
from numjet.lax.elementwise.arithmetic import rsqrt as rsqrt
from numjet.lax.elementwise.arithmetic import rsqrt_p as rsqrt_p
from numjet.lax.elementwise.arithmetic import sign as sign
from numjet.lax.elementwise.arithmetic import sign_p as sign_p
from numjet.lax.elementwise.arithmetic import sqrt as sqrt
from numjet.lax.elementwise.arithmetic import sqrt_p as sqrt_p
from numjet.lax.elementwise.arithmetic import square as square
from numjet.lax.elementwise.arithmetic import square_p as square_p
from numjet.lax.elementwise.arithmetic import sub as sub
from numjet.lax.elementwise.arithmetic import sub_p as sub_p

# transcendental.py
from numjet.lax.elementwise.transcendental import acos as acos
from numjet.lax.elementwise.transcendental import acos_p as acos_p
from numjet.lax.elementwise.transcendental import acosh as acosh
from numjet.lax.elementwise.transcendental import acosh_p as acosh_p
from numjet.lax.elementwise.transcendental import asin as asin
from numjet.lax.elementwise.transcendental import asin_p as asin_p
from numjet.lax.elementwise.transcendental import asinh as asinh
from numjet.lax.elementwise.transcendental import asinh_p as asinh_p
from numjet.lax.elementwise.transcendental import atan as atan
from numjet.lax.elementwise.transcendental import atan2 as atan2
from numjet.lax.elementwise.transcendental import atan2_p as atan2_p
from numjet.lax.elementwise.transcendental import atan_p as atan_p
from numjet.lax.elementwise.transcendental import atanh as atanh
from numjet.lax.elementwise.transcendental import atanh_p as atanh_p
from numjet.lax.elementwise.transcendental import cos as cos
from numjet.lax.elementwise.transcendental import cos_p as cos_p
from numjet.lax.elementwise.transcendental import cosh as cosh
from numjet.lax.elementwise.transcendental import cosh_p as cosh_p
from numjet.lax.elementwise.transcendental import exp as exp
from numjet.lax.elementwise.transcendental import exp2 as exp2
from numjet.lax.elementwise.transcendental import exp2_p as exp2_p
from numjet.lax.elementwise.transcendental import exp_p as exp_p
from numjet.lax.elementwise.transcendental import expm1 as expm1
from numjet.lax.elementwise.transcendental import expm1_p as expm1_p
from numjet.lax.elementwise.transcendental import log as log
from numjet.lax.elementwise.transcendental import log1p as log1p
from numjet.lax.elementwise.transcendental import log1p_p as log1p_p
from numjet.lax.elementwise.transcendental import log_p as log_p
from numjet.lax.elementwise.transcendental import logistic as logistic
from numjet.lax.elementwise.transcendental import logistic_p as logistic_p
from numjet.lax.elementwise.transcendental import sin as sin
from numjet.lax.elementwise.transcendental import sin_p as sin_p
from numjet.lax.elementwise.transcendental import sinh as sinh
from numjet.lax.elementwise.transcendental import sinh_p as sinh_p
from numjet.lax.elementwise.transcendental import tan as tan
from numjet.lax.elementwise.transcendental import tan_p as tan_p
from numjet.lax.elementwise.transcendental import tanh as tanh
from numjet.lax.elementwise.transcendental import tanh_p as tanh_p

# compare.py
from numjet.lax.elementwise.compare import clamp as clamp
from numjet.lax.elementwise.compare import clamp_p as clamp_p
from numjet.lax.elementwise.compare import eq as eq
from numjet.lax.elementwise.compare import eq_p as eq_p
from numjet.lax.elementwise.compare import eq_to_p as eq_to_p
from numjet.lax.elementwise.compare import ge as ge
from numjet.lax.elementwise.compare import ge_p as ge_p
from numjet.lax.elementwise.compare import gt as gt
from numjet.lax.elementwise.compare import gt_p as gt_p
from numjet.lax.elementwise.compare import is_finite as is_finite
from numjet.lax.elementwise.compare import is_finite_p as is_finite_p
from numjet.lax.elementwise.compare import le as le
from numjet.lax.elementwise.compare import le_p as le_p
from numjet.lax.elementwise.compare import le_to_p as le_to_p
from numjet.lax.elementwise.compare import lt as lt
from numjet.lax.elementwise.compare import lt_p as lt_p
from numjet.lax.elementwise.compare import lt_to_p as lt_to_p
from numjet.lax.elementwise.compare import max as max
from numjet.lax.elementwise.compare import max_p as max_p
from numjet.lax.elementwise.compare import min as min
from numjet.lax.elementwise.compare import min_p as min_p
from numjet.lax.elementwise.compare import ne as ne
from numjet.lax.elementwise.compare import ne_p as ne_p
from numjet.lax.elementwise.compare import nextafter as nextafter
from numjet.lax.elementwise.compare import nextafter_p as nextafter_p
from numjet.lax.elementwise.compare import select as select
from numjet.lax.elementwise.compare import select_n as select_n
from numjet.lax.elementwise.compare import select_n_p as select_n_p

# bitwise.py
from numjet.lax.elementwise.bitwise import and_p as and_p
from numjet.lax.elementwise.bitwise import bitwise_and as bitwise_and
from numjet.lax.elementwise.bitwise import bitwise_not as bitwise_not
from numjet.lax.elementwise.bitwise import bitwise_or as bitwise_or
from numjet.lax.elementwise.bitwise import bitwise_xor as bitwise_xor
from numjet.lax.elementwise.bitwise import clz as clz
from numjet.lax.elementwise.bitwise import clz_p as clz_p
from numjet.lax.elementwise.bitwise import not_p as not_p
from numjet.lax.elementwise.bitwise import or_p as or_p
from numjet.lax.elementwise.bitwise import population_count as population_count
from numjet.lax.elementwise.bitwise import population_count_p as population_count_p
from numjet.lax.elementwise.bitwise import shift_left as shift_left
from numjet.lax.elementwise.bitwise import shift_left_p as shift_left_p
from numjet.lax.elementwise.bitwise import shift_right_arithmetic as shift_right_arithmetic
from numjet.lax.elementwise.bitwise import shift_right_arithmetic_p as shift_right_arithmetic_p
from numjet.lax.elementwise.bitwise import shift_right_logical as shift_right_logical
from numjet.lax.elementwise.bitwise import shift_right_logical_p as shift_right_logical_p
from numjet.lax.elementwise.bitwise import xor_p as xor_p

# convert.py
from numjet.lax.elementwise.convert import complex as complex
from numjet.lax.elementwise.convert import complex_p as complex_p
from numjet.lax.elementwise.convert import conj as conj
from numjet.lax.elementwise.convert import conj_p as conj_p
from numjet.lax.elementwise.convert import convert_element_type as convert_element_type
from numjet.lax.elementwise.convert import convert_element_type_p as convert_element_type_p
from numjet.lax.elementwise.convert import imag as imag
from numjet.lax.elementwise.convert import imag_p as imag_p
from numjet.lax.elementwise.convert import real as real
from numjet.lax.elementwise.convert import real_p as real_p

# bits.py
from numjet.lax.elementwise.bits import bitcast_convert_type as bitcast_convert_type
from numjet.lax.elementwise.bits import bitcast_convert_type_p as bitcast_convert_type_p
from numjet.lax.elementwise.bits import reduce_precision as reduce_precision
from numjet.lax.elementwise.bits import reduce_precision_p as reduce_precision_p
from numjet.lax.elementwise.bits import stop_gradient as stop_gradient
from numjet.lax.elementwise.bits import stop_gradient_p as stop_gradient_p

# create.py
from numjet.lax.shape.create import broadcasted_iota as broadcasted_iota
from numjet.lax.shape.create import empty as empty
from numjet.lax.shape.create import full as full
from numjet.lax.shape.create import full_like as full_like
from numjet.lax.shape.create import iota as iota
from numjet.lax.shape.create import iota_p as iota_p
from numjet.lax.shape.create import zeros_like_array as zeros_like_array

# rearrange.py
from numjet.lax.shape.rearrange import broadcast as broadcast
from numjet.lax.shape.rearrange import broadcast_in_dim as broadcast_in_dim
from numjet.lax.shape.rearrange import broadcast_in_dim_p as broadcast_in_dim_p
from numjet.lax.shape.rearrange import broadcast_shapes as broadcast_shapes
from numjet.lax.shape.rearrange import broadcast_to_rank as broadcast_to_rank
from numjet.lax.shape.rearrange import collapse as collapse
from numjet.lax.shape.rearrange import expand_dims as expand_dims
from numjet.lax.shape.rearrange import reshape as reshape
from numjet.lax.shape.rearrange import reshape_p as reshape_p
from numjet.lax.shape.rearrange import rev as rev
from numjet.lax.shape.rearrange import rev_p as rev_p
from numjet.lax.shape.rearrange import squeeze as squeeze
from numjet.lax.shape.rearrange import squeeze_p as squeeze_p
from numjet.lax.shape.rearrange import transpose as transpose
from numjet.lax.shape.rearrange import transpose_p as transpose_p

# join.py
from numjet.lax.shape.join import concatenate as concatenate
from numjet.lax.shape.join import concatenate_p as concatenate_p
from numjet.lax.shape.join import pad as pad
from numjet.lax.shape.join import pad_p as pad_p
from numjet.lax.shape.join import split as split
from numjet.lax.shape.join import split_p as split_p
from numjet.lax.shape.join import tile as tile
from numjet.lax.shape.join import tile_p as tile_p

# reduce.py
from numjet.lax.reduction.reduce import reduce_and as reduce_and
from numjet.lax.reduction.reduce import reduce_and_p as reduce_and_p
from numjet.lax.reduction.reduce import reduce_max as reduce_max
from numjet.lax.reduction.reduce import reduce_max_p as reduce_max_p
from numjet.lax.reduction.reduce import reduce_min as reduce_min
from numjet.lax.reduction.reduce import reduce_min_p as reduce_min_p
from numjet.lax.reduction.reduce import reduce_or as reduce_or
from numjet.lax.reduction.reduce import reduce_or_p as reduce_or_p
from numjet.lax.reduction.reduce import reduce_prod as reduce_prod
from numjet.lax.reduction.reduce import reduce_prod_p as reduce_prod_p
from numjet.lax.reduction.reduce import reduce_sum as reduce_sum
from numjet.lax.reduction.reduce import reduce_sum_p as reduce_sum_p
from numjet.lax.reduction.reduce import reduce_xor as reduce_xor
from numjet.lax.reduction.reduce import reduce_xor_p as reduce_xor_p

# reduce_general.py
from numjet.lax.reduction.reduce_general import reduce as reduce
from numjet.lax.reduction.reduce_general import reduce_p as reduce_p

# argreduce.py
from numjet.lax.reduction.argreduce import argmax as argmax
from numjet.lax.reduction.argreduce import argmax_p as argmax_p
from numjet.lax.reduction.argreduce import argmin as argmin
from numjet.lax.reduction.argreduce import argmin_p as argmin_p

# window.py, window_select.py, window_shapes.py

# cumulative.py
from numjet.lax.reduction.cumulative import cumlogsumexp as cumlogsumexp
from numjet.lax.reduction.cumulative import cumlogsumexp_p as cumlogsumexp_p
from numjet.lax.reduction.cumulative import cummax as cummax
from numjet.lax.reduction.cumulative import cummax_p as cummax_p
from numjet.lax.reduction.cumulative import cummin as cummin
from numjet.lax.reduction.cumulative import cummin_p as cummin_p
from numjet.lax.reduction.cumulative import cumprod as cumprod
from numjet.lax.reduction.cumulative import cumprod_p as cumprod_p
from numjet.lax.reduction.cumulative import cumsum as cumsum
from numjet.lax.reduction.cumulative import cumsum_p as cumsum_p

# recurrence.py
from numjet.lax.reduction.recurrence import linear_recurrence_p as linear_recurrence_p

# precision.py
from numjet.lax.contraction.precision import DotAlgorithm as DotAlgorithm
from numjet.lax.contraction.precision import DotAlgorithmPreset as DotAlgorithmPreset
from numjet.lax.contraction.precision import Precision as Precision
from numjet.lax.contraction.precision import PrecisionLike as PrecisionLike

# dot.py
from numjet.lax.contraction.dot import DotDimensionNumbers as DotDimensionNumbers
from numjet.lax.contraction.dot import batch_matmul as batch_matmul
from numjet.lax.contraction.dot import dot as dot
from numjet.lax.contraction.dot import dot_general as dot_general
from numjet.lax.contraction.dot import dot_general_p as dot_general_p

# sort.py
from numjet.lax.reduction.sort import sort as sort
from numjet.lax.reduction.sort import sort_key_val as sort_key_val
from numjet.lax.reduction.sort import sort_p as sort_p
from numjet.lax.reduction.sort import top_k as top_k
from numjet.lax.reduction.sort import top_k_p as top_k_p

# slicing.py, dynamic_slicing.py
from numjet.lax.indexing.dynamic_slicing import dynamic_index_in_dim as dynamic_index_in_dim
from numjet.lax.indexing.dynamic_slicing import dynamic_slice as dynamic_slice
from numjet.lax.indexing.dynamic_slicing import dynamic_slice_in_dim as dynamic_slice_in_dim
from numjet.lax.indexing.dynamic_slicing import dynamic_slice_p as dynamic_slice_p
from numjet.lax.indexing.dynamic_slicing import dynamic_update_index_in_dim as dynamic_update_index_in_dim
from numjet.lax.indexing.dynamic_slicing import dynamic_update_slice as dynamic_update_slice
from numjet.lax.indexing.dynamic_slicing import dynamic_update_slice_in_dim as dynamic_update_slice_in_dim
from numjet.lax.indexing.dynamic_slicing import dynamic_update_slice_p as dynamic_update_slice_p
from numjet.lax.indexing.slicing import index_in_dim as index_in_dim
from numjet.lax.indexing.slicing import slice as slice
from numjet.lax.indexing.slicing import slice_in_dim as slice_in_dim
from numjet.lax.indexing.slicing import slice_p as slice_p

# gather.py, scatter.py, dimension_numbers.py
from numjet.lax.indexing.dimension_numbers import GatherDimensionNumbers as GatherDimensionNumbers
from numjet.lax.indexing.dimension_numbers import GatherScatterMode as GatherScatterMode
from numjet.lax.indexing.dimension_numbers import ScatterDimensionNumbers as ScatterDimensionNumbers
from numjet.lax.indexing.gather import gather as gather
from numjet.lax.indexing.gather import gather_p as gather_p
from numjet.lax.indexing.gather import index_take as index_take
from numjet.lax.indexing.scatter import scatter as scatter
from numjet.lax.indexing.scatter import scatter_add as scatter_add
from numjet.lax.indexing.scatter import scatter_add_p as scatter_add_p
from numjet.lax.indexing.scatter import scatter_apply as scatter_apply
from numjet.lax.indexing.scatter import scatter_max as scatter_max
from numjet.lax.indexing.scatter import scatter_max_p as scatter_max_p
from numjet.lax.indexing.scatter import scatter_min as scatter_min
from numjet.lax.indexing.scatter import scatter_min_p as scatter_min_p
from numjet.lax.indexing.scatter import scatter_mul as scatter_mul
from numjet.lax.indexing.scatter import scatter_mul_p as scatter_mul_p
from numjet.lax.indexing.scatter import scatter_p as scatter_p
from numjet.lax.indexing.scatter import scatter_sub as scatter_sub
from numjet.lax.indexing.scatter import scatter_sub_p as scatter_sub_p

# accuracy.py
from numjet.lax.elementwise.accuracy import AccuracyMode as AccuracyMode
from numjet.lax.elementwise.accuracy import Tolerance as Tolerance

# control flow and functions with derivatives of their own: this facade gives them public names (see docs/architecture.md)
from numjet.control import associative_scan as associative_scan
from numjet.control import composite as composite
from numjet.control import cond as cond
from numjet.control import custom_linear_solve as custom_linear_solve
from numjet.control import custom_root as custom_root
from numjet.control import fori_loop as fori_loop
from numjet.control import map as map
from numjet.control import platform_dependent as platform_dependent
from numjet.control import scan as scan
from numjet.control import switch as switch
from numjet.control import while_loop as while_loop

if _TYPE_CHECKING:
    from numjet.lax.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.lax.lazy_exports")
_later.append("numjet.lax.lazy_exports")
