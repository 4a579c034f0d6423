"""NumPy's functions on arrays that can be traced, differentiated, batched and compiled, under JAX's names.
Imports the public names of `lax`, `api` and `runtime`; this module is the facade.
Add a function to the package of its kind, and its name here, or to `lazy_exports` when most programs do without it.
"""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.core.trace import ArrayBase as _ArrayBase
from numjet.foundation import lazy_import as _lazy_import
from numjet.numpy.core import methods as _methods

# constants.py
from numjet.numpy.core.constants import e as e
from numjet.numpy.core.constants import euler_gamma as euler_gamma
from numjet.numpy.core.constants import inf as inf
from numjet.numpy.core.constants import nan as nan
from numjet.numpy.core.constants import newaxis as newaxis
from numjet.numpy.core.constants import pi as pi

# arrays.py
from numjet.numpy.core.arrays import array as array
from numjet.numpy.core.arrays import asarray as asarray
from numjet.numpy.core.arrays import astype as astype
from numjet.numpy.core.arrays import copy as copy
from numjet.numpy.core.arrays import from_dlpack as from_dlpack
from numjet.numpy.core.arrays import frombuffer as frombuffer
from numjet.numpy.core.arrays import fromfile as fromfile
from numjet.numpy.core.arrays import fromiter as fromiter
from numjet.numpy.core.arrays import fromstring as fromstring

# creation.py
from numjet.numpy.core.creation import arange as arange
from numjet.numpy.core.creation import empty as empty
from numjet.numpy.core.creation import empty_like as empty_like
from numjet.numpy.core.creation import full as full
from numjet.numpy.core.creation import full_like as full_like
from numjet.numpy.core.creation import geomspace as geomspace
from numjet.numpy.core.creation import linspace as linspace
from numjet.numpy.core.creation import logspace as logspace
from numjet.numpy.core.creation import ones as ones
from numjet.numpy.core.creation import ones_like as ones_like
from numjet.numpy.core.creation import zeros as zeros
from numjet.numpy.core.creation import zeros_like as zeros_like

# dtype_names.py
from numjet.numpy.core.dtype_names import ComplexWarning as ComplexWarning
from numjet.numpy.core.dtype_names import bfloat16 as bfloat16
from numjet.numpy.core.dtype_names import bool_ as bool, bool_ as bool_  # noqa: F401  (both names are public)
from numjet.numpy.core.dtype_names import can_cast as can_cast
from numjet.numpy.core.dtype_names import cdouble as cdouble
from numjet.numpy.core.dtype_names import character as character
from numjet.numpy.core.dtype_names import complex128 as complex128
from numjet.numpy.core.dtype_names import complex64 as complex64
from numjet.numpy.core.dtype_names import complex_ as complex_
from numjet.numpy.core.dtype_names import complexfloating as complexfloating
from numjet.numpy.core.dtype_names import csingle as csingle
from numjet.numpy.core.dtype_names import double as double
from numjet.numpy.core.dtype_names import dtype as dtype
from numjet.numpy.core.dtype_names import finfo as finfo
from numjet.numpy.core.dtype_names import flexible as flexible
from numjet.numpy.core.dtype_names import float16 as float16
from numjet.numpy.core.dtype_names import float32 as float32
from numjet.numpy.core.dtype_names import float4_e2m1fn as float4_e2m1fn
from numjet.numpy.core.dtype_names import float64 as float64
from numjet.numpy.core.dtype_names import float8_e3m4 as float8_e3m4
from numjet.numpy.core.dtype_names import float8_e4m3 as float8_e4m3
from numjet.numpy.core.dtype_names import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from numjet.numpy.core.dtype_names import float8_e4m3fn as float8_e4m3fn
from numjet.numpy.core.dtype_names import float8_e4m3fnuz as float8_e4m3fnuz
from numjet.numpy.core.dtype_names import float8_e5m2 as float8_e5m2
from numjet.numpy.core.dtype_names import float8_e5m2fnuz as float8_e5m2fnuz
from numjet.numpy.core.dtype_names import float8_e8m0fnu as float8_e8m0fnu
from numjet.numpy.core.dtype_names import float_ as float_
from numjet.numpy.core.dtype_names import floating as floating
from numjet.numpy.core.dtype_names import generic as generic
from numjet.numpy.core.dtype_names import iinfo as iinfo
from numjet.numpy.core.dtype_names import inexact as inexact
from numjet.numpy.core.dtype_names import int16 as int16
from numjet.numpy.core.dtype_names import int2 as int2
from numjet.numpy.core.dtype_names import int32 as int32
from numjet.numpy.core.dtype_names import int4 as int4
from numjet.numpy.core.dtype_names import int64 as int64
from numjet.numpy.core.dtype_names import int8 as int8
from numjet.numpy.core.dtype_names import int_ as int_
from numjet.numpy.core.dtype_names import integer as integer
from numjet.numpy.core.dtype_names import isdtype as isdtype
from numjet.numpy.core.dtype_names import issubdtype as issubdtype
from numjet.numpy.core.dtype_names import number as number
from numjet.numpy.core.dtype_names import object_ as object_
from numjet.numpy.core.dtype_names import promote_types as promote_types
from numjet.numpy.core.dtype_names import result_type as result_type
from numjet.numpy.core.dtype_names import signedinteger as signedinteger
from numjet.numpy.core.dtype_names import single as single
from numjet.numpy.core.dtype_names import uint as uint
from numjet.numpy.core.dtype_names import uint16 as uint16
from numjet.numpy.core.dtype_names import uint2 as uint2
from numjet.numpy.core.dtype_names import uint32 as uint32
from numjet.numpy.core.dtype_names import uint4 as uint4
from numjet.numpy.core.dtype_names import uint64 as uint64
from numjet.numpy.core.dtype_names import uint8 as uint8
from numjet.numpy.core.dtype_names import unsignedinteger as unsignedinteger

# printing.py
from numjet.numpy.core.printing import array_repr as array_repr
from numjet.numpy.core.printing import array_str as array_str
from numjet.numpy.core.printing import get_printoptions as get_printoptions
from numjet.numpy.core.printing import printoptions as printoptions
from numjet.numpy.core.printing import set_printoptions as set_printoptions

# predicates.py
from numjet.numpy.core.predicates import allclose as allclose
from numjet.numpy.core.predicates import array_equal as array_equal
from numjet.numpy.core.predicates import array_equiv as array_equiv
from numjet.numpy.core.predicates import isclose as isclose
from numjet.numpy.core.predicates import iscomplexobj as iscomplexobj
from numjet.numpy.core.predicates import isrealobj as isrealobj
from numjet.numpy.core.predicates import isscalar as isscalar
from numjet.numpy.core.predicates import iterable as iterable
from numjet.numpy.core.predicates import ndim as ndim
from numjet.numpy.core.predicates import shape as shape
from numjet.numpy.core.predicates import size as size

# reductions.py
from numjet.numpy.reduction.reductions import all as all
from numjet.numpy.reduction.reductions import amax as amax
from numjet.numpy.reduction.reductions import amin as amin
from numjet.numpy.reduction.reductions import any as any
from numjet.numpy.reduction.reductions import argmax as argmax
from numjet.numpy.reduction.reductions import argmin as argmin
from numjet.numpy.reduction.reductions import count_nonzero as count_nonzero
from numjet.numpy.reduction.reductions import max as max
from numjet.numpy.reduction.reductions import min as min
from numjet.numpy.reduction.reductions import prod as prod
from numjet.numpy.reduction.reductions import ptp as ptp
from numjet.numpy.reduction.reductions import sum as sum

# statistics.py
from numjet.numpy.reduction.statistics import average as average
from numjet.numpy.reduction.statistics import mean as mean
from numjet.numpy.reduction.statistics import std as std
from numjet.numpy.reduction.statistics import var as var

# cumulative.py
from numjet.numpy.reduction.cumulative import cumprod as cumprod
from numjet.numpy.reduction.cumulative import cumsum as cumsum
from numjet.numpy.reduction.cumulative import cumulative_prod as cumulative_prod
from numjet.numpy.reduction.cumulative import cumulative_sum as cumulative_sum
from numjet.numpy.reduction.cumulative import nancumprod as nancumprod
from numjet.numpy.reduction.cumulative import nancumsum as nancumsum

# arithmetic.py
from numjet.numpy.ufuncs.arithmetic import abs as abs
from numjet.numpy.ufuncs.arithmetic import absolute as absolute
from numjet.numpy.ufuncs.arithmetic import angle as angle
from numjet.numpy.ufuncs.arithmetic import around as around
from numjet.numpy.ufuncs.arithmetic import cbrt as cbrt
from numjet.numpy.ufuncs.arithmetic import ceil as ceil
from numjet.numpy.ufuncs.arithmetic import conj as conj
from numjet.numpy.ufuncs.arithmetic import conjugate as conjugate
from numjet.numpy.ufuncs.arithmetic import divide as divide
from numjet.numpy.ufuncs.arithmetic import divmod as divmod
from numjet.numpy.ufuncs.arithmetic import fabs as fabs
from numjet.numpy.ufuncs.arithmetic import fix as fix
from numjet.numpy.ufuncs.arithmetic import float_power as float_power
from numjet.numpy.ufuncs.arithmetic import floor as floor
from numjet.numpy.ufuncs.arithmetic import floor_divide as floor_divide
from numjet.numpy.ufuncs.arithmetic import fmod as fmod
from numjet.numpy.ufuncs.arithmetic import imag as imag
from numjet.numpy.ufuncs.arithmetic import mod as mod
from numjet.numpy.ufuncs.arithmetic import positive as positive
from numjet.numpy.ufuncs.arithmetic import pow as pow
from numjet.numpy.ufuncs.arithmetic import power as power
from numjet.numpy.ufuncs.arithmetic import real as real
from numjet.numpy.ufuncs.arithmetic import reciprocal as reciprocal
from numjet.numpy.ufuncs.arithmetic import remainder as remainder
from numjet.numpy.ufuncs.arithmetic import rint as rint
from numjet.numpy.ufuncs.arithmetic import round as round
from numjet.numpy.ufuncs.arithmetic import sign as sign
from numjet.numpy.ufuncs.arithmetic import sqrt as sqrt
from numjet.numpy.ufuncs.arithmetic import square as square
from numjet.numpy.ufuncs.arithmetic import true_divide as true_divide
from numjet.numpy.ufuncs.arithmetic import trunc as trunc

# transcendental.py
from numjet.numpy.ufuncs.transcendental import acos as acos
from numjet.numpy.ufuncs.transcendental import acosh as acosh
from numjet.numpy.ufuncs.transcendental import arccos as arccos
from numjet.numpy.ufuncs.transcendental import arccosh as arccosh
from numjet.numpy.ufuncs.transcendental import arcsin as arcsin
from numjet.numpy.ufuncs.transcendental import arcsinh as arcsinh
from numjet.numpy.ufuncs.transcendental import arctan as arctan
from numjet.numpy.ufuncs.transcendental import arctan2 as arctan2
from numjet.numpy.ufuncs.transcendental import arctanh as arctanh
from numjet.numpy.ufuncs.transcendental import asin as asin
from numjet.numpy.ufuncs.transcendental import asinh as asinh
from numjet.numpy.ufuncs.transcendental import atan as atan
from numjet.numpy.ufuncs.transcendental import atan2 as atan2
from numjet.numpy.ufuncs.transcendental import atanh as atanh
from numjet.numpy.ufuncs.transcendental import cos as cos
from numjet.numpy.ufuncs.transcendental import cosh as cosh
from numjet.numpy.ufuncs.transcendental import deg2rad as deg2rad
from numjet.numpy.ufuncs.transcendental import degrees as degrees
from numjet.numpy.ufuncs.transcendental import exp as exp
from numjet.numpy.ufuncs.transcendental import exp2 as exp2
from numjet.numpy.ufuncs.transcendental import expm1 as expm1
from numjet.numpy.ufuncs.transcendental import log as log
from numjet.numpy.ufuncs.transcendental import log10 as log10
from numjet.numpy.ufuncs.transcendental import log1p as log1p
from numjet.numpy.ufuncs.transcendental import log2 as log2
from numjet.numpy.ufuncs.transcendental import rad2deg as rad2deg
from numjet.numpy.ufuncs.transcendental import radians as radians
from numjet.numpy.ufuncs.transcendental import sin as sin
from numjet.numpy.ufuncs.transcendental import sinh as sinh
from numjet.numpy.ufuncs.transcendental import tan as tan
from numjet.numpy.ufuncs.transcendental import tanh as tanh

# logic.py
from numjet.numpy.ufuncs.logic import bitwise_count as bitwise_count
from numjet.numpy.ufuncs.logic import bitwise_invert as bitwise_invert
from numjet.numpy.ufuncs.logic import bitwise_left_shift as bitwise_left_shift
from numjet.numpy.ufuncs.logic import bitwise_not as bitwise_not
from numjet.numpy.ufuncs.logic import bitwise_right_shift as bitwise_right_shift
from numjet.numpy.ufuncs.logic import equal as equal
from numjet.numpy.ufuncs.logic import fmax as fmax
from numjet.numpy.ufuncs.logic import fmin as fmin
from numjet.numpy.ufuncs.logic import greater as greater
from numjet.numpy.ufuncs.logic import greater_equal as greater_equal
from numjet.numpy.ufuncs.logic import invert as invert
from numjet.numpy.ufuncs.logic import iscomplex as iscomplex
from numjet.numpy.ufuncs.logic import isfinite as isfinite
from numjet.numpy.ufuncs.logic import isinf as isinf
from numjet.numpy.ufuncs.logic import isnan as isnan
from numjet.numpy.ufuncs.logic import isneginf as isneginf
from numjet.numpy.ufuncs.logic import isposinf as isposinf
from numjet.numpy.ufuncs.logic import isreal as isreal
from numjet.numpy.ufuncs.logic import left_shift as left_shift
from numjet.numpy.ufuncs.logic import less as less
from numjet.numpy.ufuncs.logic import less_equal as less_equal
from numjet.numpy.ufuncs.logic import logical_not as logical_not
from numjet.numpy.ufuncs.logic import not_equal as not_equal
from numjet.numpy.ufuncs.logic import right_shift as right_shift
from numjet.numpy.ufuncs.logic import signbit as signbit

# special.py
from numjet.numpy.ufuncs.special import copysign as copysign
from numjet.numpy.ufuncs.special import frexp as frexp
from numjet.numpy.ufuncs.special import gcd as gcd
from numjet.numpy.ufuncs.special import heaviside as heaviside
from numjet.numpy.ufuncs.special import hypot as hypot
from numjet.numpy.ufuncs.special import lcm as lcm
from numjet.numpy.ufuncs.special import ldexp as ldexp
from numjet.numpy.ufuncs.special import modf as modf
from numjet.numpy.ufuncs.special import nan_to_num as nan_to_num
from numjet.numpy.ufuncs.special import nextafter as nextafter
from numjet.numpy.ufuncs.special import sinc as sinc
from numjet.numpy.ufuncs.special import spacing as spacing

# where.py
from numjet.numpy.indexing.where import clip as clip
from numjet.numpy.indexing.where import piecewise as piecewise
from numjet.numpy.indexing.where import select as select
from numjet.numpy.indexing.where import where as where

# matrices.py
from numjet.numpy.shaping.matrices import diag as diag
from numjet.numpy.shaping.matrices import diagflat as diagflat
from numjet.numpy.shaping.matrices import eye as eye
from numjet.numpy.shaping.matrices import identity as identity
from numjet.numpy.shaping.matrices import tri as tri
from numjet.numpy.shaping.matrices import tril as tril
from numjet.numpy.shaping.matrices import triu as triu

# ufunc_class.py
from numjet.numpy.ufuncs.ufunc_class import frompyfunc as frompyfunc
from numjet.numpy.ufuncs.ufunc_class import ufunc as ufunc

# vectorize.py
from numjet.numpy.ufuncs.vectorize import vectorize as vectorize

# ufunc_objects.py
from numjet.numpy.ufuncs.ufunc_objects import add as add
from numjet.numpy.ufuncs.ufunc_objects import bitwise_and as bitwise_and
from numjet.numpy.ufuncs.ufunc_objects import bitwise_or as bitwise_or
from numjet.numpy.ufuncs.ufunc_objects import bitwise_xor as bitwise_xor
from numjet.numpy.ufuncs.ufunc_objects import logaddexp as logaddexp
from numjet.numpy.ufuncs.ufunc_objects import logaddexp2 as logaddexp2
from numjet.numpy.ufuncs.ufunc_objects import logical_and as logical_and
from numjet.numpy.ufuncs.ufunc_objects import logical_or as logical_or
from numjet.numpy.ufuncs.ufunc_objects import logical_xor as logical_xor
from numjet.numpy.ufuncs.ufunc_objects import maximum as maximum
from numjet.numpy.ufuncs.ufunc_objects import minimum as minimum
from numjet.numpy.ufuncs.ufunc_objects import multiply as multiply
from numjet.numpy.ufuncs.ufunc_objects import negative as negative
from numjet.numpy.ufuncs.ufunc_objects import subtract as subtract

# shapes, joining, products, sorting, selection
from numjet.numpy.shaping.manipulation import (
    atleast_1d as atleast_1d,
    atleast_2d as atleast_2d,
    atleast_3d as atleast_3d,
    broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes,
    broadcast_to as broadcast_to,
    expand_dims as expand_dims,
    matrix_transpose as matrix_transpose,
    moveaxis as moveaxis,
    permute_dims as permute_dims,
    ravel as ravel,
    reshape as reshape,
    rollaxis as rollaxis,
    squeeze as squeeze,
    swapaxes as swapaxes,
    transpose as transpose,
)
from numjet.numpy.shaping.joining import (
    append as append,
    block as block,
    column_stack as column_stack,
    concat as concat,
    concatenate as concatenate,
    dstack as dstack,
    hstack as hstack,
    stack as stack,
    vstack as vstack,
)
from numjet.numpy.shaping.splitting import (
    array_split as array_split,
    dsplit as dsplit,
    hsplit as hsplit,
    split as split,
    unstack as unstack,
    vsplit as vsplit,
)
from numjet.numpy.shaping.repeating import (
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    repeat as repeat,
    resize as resize,
    roll as roll,
    rot90 as rot90,
    tile as tile,
)
from numjet.numpy.contraction.dot import (
    dot as dot,
    inner as inner,
    matmul as matmul,
    matvec as matvec,
    outer as outer,
    tensordot as tensordot,
    vdot as vdot,
    vecdot as vecdot,
    vecmat as vecmat,
)
from numjet.numpy.contraction.products import cross as cross, diagonal as diagonal, kron as kron, trace as trace
from numjet.numpy.contraction.einsum import einsum as einsum, einsum_path as einsum_path
from numjet.numpy.reduction.sorting import (
    argpartition as argpartition,
    argsort as argsort,
    lexsort as lexsort,
    partition as partition,
    sort as sort,
    sort_complex as sort_complex,
)
from numjet.numpy.reduction.searching import digitize as digitize, searchsorted as searchsorted
from numjet.numpy.indexing.selection import (
    choose as choose,
    compress as compress,
    extract as extract,
    take as take,
    take_along_axis as take_along_axis,
)
from numjet.numpy.indexing.nonzero import argwhere as argwhere, flatnonzero as flatnonzero, nonzero as nonzero
from numjet.numpy.signal.poly import (
    poly as poly,
    polyadd as polyadd,
    polyder as polyder,
    polydiv as polydiv,
    polyint as polyint,
    polymul as polymul,
    polysub as polysub,
    polyval as polyval,
)

ndarray = _ArrayBase
_methods.install(_sys.modules[__name__])

if _TYPE_CHECKING:
    from numjet.numpy.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.numpy.lazy_exports")
