"""NumPy's functions on arrays that can be traced, differentiated, batched and compiled, under JAX's names."""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.core.trace import ArrayBase as _ArrayBase
from numjet.foundation import on_demand as _on_demand
from numjet.numpy import methods as _methods

# constants.py
from numjet.numpy.constants import e as e
from numjet.numpy.constants import euler_gamma as euler_gamma
from numjet.numpy.constants import inf as inf
from numjet.numpy.constants import nan as nan
from numjet.numpy.constants import newaxis as newaxis
from numjet.numpy.constants import pi as pi

# arrays.py
from numjet.numpy.arrays import array as array
from numjet.numpy.arrays import asarray as asarray
from numjet.numpy.arrays import astype as astype
from numjet.numpy.arrays import copy as copy
from numjet.numpy.arrays import from_dlpack as from_dlpack
from numjet.numpy.arrays import frombuffer as frombuffer
from numjet.numpy.arrays import fromfile as fromfile
from numjet.numpy.arrays import fromiter as fromiter
from numjet.numpy.arrays import fromstring as fromstring

# creation.py
from numjet.numpy.creation import arange as arange
from numjet.numpy.creation import empty as empty
from numjet.numpy.creation import empty_like as empty_like
from numjet.numpy.creation import full as full
from numjet.numpy.creation import full_like as full_like
from numjet.numpy.creation import geomspace as geomspace
from numjet.numpy.creation import linspace as linspace
from numjet.numpy.creation import logspace as logspace
from numjet.numpy.creation import ones as ones
from numjet.numpy.creation import ones_like as ones_like
from numjet.numpy.creation import zeros as zeros
from numjet.numpy.creation import zeros_like as zeros_like

# dtype_names.py
from numjet.numpy.dtype_names import ComplexWarning as ComplexWarning
from numjet.numpy.dtype_names import bfloat16 as bfloat16
from numjet.numpy.dtype_names import bool_ as bool, bool_ as bool_  # noqa: F401  (both names are public)
from numjet.numpy.dtype_names import can_cast as can_cast
from numjet.numpy.dtype_names import cdouble as cdouble
from numjet.numpy.dtype_names import character as character
from numjet.numpy.dtype_names import complex128 as complex128
from numjet.numpy.dtype_names import complex64 as complex64
from numjet.numpy.dtype_names import complex_ as complex_
from numjet.numpy.dtype_names import complexfloating as complexfloating
from numjet.numpy.dtype_names import csingle as csingle
from numjet.numpy.dtype_names import double as double
from numjet.numpy.dtype_names import dtype as dtype
from numjet.numpy.dtype_names import finfo as finfo
from numjet.numpy.dtype_names import flexible as flexible
from numjet.numpy.dtype_names import float16 as float16
from numjet.numpy.dtype_names import float32 as float32
from numjet.numpy.dtype_names import float4_e2m1fn as float4_e2m1fn
from numjet.numpy.dtype_names import float64 as float64
from numjet.numpy.dtype_names import float8_e3m4 as float8_e3m4
from numjet.numpy.dtype_names import float8_e4m3 as float8_e4m3
from numjet.numpy.dtype_names import float8_e4m3b11fnuz as float8_e4m3b11fnuz
from numjet.numpy.dtype_names import float8_e4m3fn as float8_e4m3fn
from numjet.numpy.dtype_names import float8_e4m3fnuz as float8_e4m3fnuz
from numjet.numpy.dtype_names import float8_e5m2 as float8_e5m2
from numjet.numpy.dtype_names import float8_e5m2fnuz as float8_e5m2fnuz
from numjet.numpy.dtype_names import float8_e8m0fnu as float8_e8m0fnu
from numjet.numpy.dtype_names import float_ as float_
from numjet.numpy.dtype_names import floating as floating
from numjet.numpy.dtype_names import generic as generic
from numjet.numpy.dtype_names import iinfo as iinfo
from numjet.numpy.dtype_names import inexact as inexact
from numjet.numpy.dtype_names import int16 as int16
from numjet.numpy.dtype_names import int2 as int2
from numjet.numpy.dtype_names import int32 as int32
from numjet.numpy.dtype_names import int4 as int4
from numjet.numpy.dtype_names import int64 as int64
from numjet.numpy.dtype_names import int8 as int8
from numjet.numpy.dtype_names import int_ as int_
from numjet.numpy.dtype_names import integer as integer
from numjet.numpy.dtype_names import isdtype as isdtype
from numjet.numpy.dtype_names import issubdtype as issubdtype
from numjet.numpy.dtype_names import number as number
from numjet.numpy.dtype_names import object_ as object_
from numjet.numpy.dtype_names import promote_types as promote_types
from numjet.numpy.dtype_names import result_type as result_type
from numjet.numpy.dtype_names import signedinteger as signedinteger
from numjet.numpy.dtype_names import single as single
from numjet.numpy.dtype_names import uint as uint
from numjet.numpy.dtype_names import uint16 as uint16
from numjet.numpy.dtype_names import uint2 as uint2
from numjet.numpy.dtype_names import uint32 as uint32
from numjet.numpy.dtype_names import uint4 as uint4
from numjet.numpy.dtype_names import uint64 as uint64
from numjet.numpy.dtype_names import uint8 as uint8
from numjet.numpy.dtype_names import unsignedinteger as unsignedinteger

# printing.py
from numjet.numpy.printing import array_repr as array_repr
from numjet.numpy.printing import array_str as array_str
from numjet.numpy.printing import get_printoptions as get_printoptions
from numjet.numpy.printing import printoptions as printoptions
from numjet.numpy.printing import set_printoptions as set_printoptions

# questions.py
from numjet.numpy.questions import allclose as allclose
from numjet.numpy.questions import array_equal as array_equal
from numjet.numpy.questions import array_equiv as array_equiv
from numjet.numpy.questions import isclose as isclose
from numjet.numpy.questions import iscomplexobj as iscomplexobj
from numjet.numpy.questions import isrealobj as isrealobj
from numjet.numpy.questions import isscalar as isscalar
from numjet.numpy.questions import iterable as iterable
from numjet.numpy.questions import ndim as ndim
from numjet.numpy.questions import shape as shape
from numjet.numpy.questions import size as size

# reductions.py
from numjet.numpy.reductions import all as all
from numjet.numpy.reductions import amax as amax
from numjet.numpy.reductions import amin as amin
from numjet.numpy.reductions import any as any
from numjet.numpy.reductions import argmax as argmax
from numjet.numpy.reductions import argmin as argmin
from numjet.numpy.reductions import count_nonzero as count_nonzero
from numjet.numpy.reductions import max as max
from numjet.numpy.reductions import min as min
from numjet.numpy.reductions import prod as prod
from numjet.numpy.reductions import ptp as ptp
from numjet.numpy.reductions import sum as sum

# statistics.py
from numjet.numpy.statistics import average as average
from numjet.numpy.statistics import mean as mean
from numjet.numpy.statistics import std as std
from numjet.numpy.statistics import var as var

# cumulative.py
from numjet.numpy.cumulative import cumprod as cumprod
from numjet.numpy.cumulative import cumsum as cumsum
from numjet.numpy.cumulative import cumulative_prod as cumulative_prod
from numjet.numpy.cumulative import cumulative_sum as cumulative_sum
from numjet.numpy.cumulative import nancumprod as nancumprod
from numjet.numpy.cumulative import nancumsum as nancumsum

# ufuncs.py
from numjet.numpy.ufuncs import abs as abs
from numjet.numpy.ufuncs import absolute as absolute
from numjet.numpy.ufuncs import angle as angle
from numjet.numpy.ufuncs import around as around
from numjet.numpy.ufuncs import cbrt as cbrt
from numjet.numpy.ufuncs import ceil as ceil
from numjet.numpy.ufuncs import conj as conj
from numjet.numpy.ufuncs import conjugate as conjugate
from numjet.numpy.ufuncs import divide as divide
from numjet.numpy.ufuncs import divmod as divmod
from numjet.numpy.ufuncs import fabs as fabs
from numjet.numpy.ufuncs import fix as fix
from numjet.numpy.ufuncs import float_power as float_power
from numjet.numpy.ufuncs import floor as floor
from numjet.numpy.ufuncs import floor_divide as floor_divide
from numjet.numpy.ufuncs import fmod as fmod
from numjet.numpy.ufuncs import imag as imag
from numjet.numpy.ufuncs import mod as mod
from numjet.numpy.ufuncs import positive as positive
from numjet.numpy.ufuncs import pow as pow
from numjet.numpy.ufuncs import power as power
from numjet.numpy.ufuncs import real as real
from numjet.numpy.ufuncs import reciprocal as reciprocal
from numjet.numpy.ufuncs import remainder as remainder
from numjet.numpy.ufuncs import rint as rint
from numjet.numpy.ufuncs import round as round
from numjet.numpy.ufuncs import sign as sign
from numjet.numpy.ufuncs import sqrt as sqrt
from numjet.numpy.ufuncs import square as square
from numjet.numpy.ufuncs import true_divide as true_divide
from numjet.numpy.ufuncs import trunc as trunc

# ufuncs_math.py
from numjet.numpy.ufuncs_math import acos as acos
from numjet.numpy.ufuncs_math import acosh as acosh
from numjet.numpy.ufuncs_math import arccos as arccos
from numjet.numpy.ufuncs_math import arccosh as arccosh
from numjet.numpy.ufuncs_math import arcsin as arcsin
from numjet.numpy.ufuncs_math import arcsinh as arcsinh
from numjet.numpy.ufuncs_math import arctan as arctan
from numjet.numpy.ufuncs_math import arctan2 as arctan2
from numjet.numpy.ufuncs_math import arctanh as arctanh
from numjet.numpy.ufuncs_math import asin as asin
from numjet.numpy.ufuncs_math import asinh as asinh
from numjet.numpy.ufuncs_math import atan as atan
from numjet.numpy.ufuncs_math import atan2 as atan2
from numjet.numpy.ufuncs_math import atanh as atanh
from numjet.numpy.ufuncs_math import cos as cos
from numjet.numpy.ufuncs_math import cosh as cosh
from numjet.numpy.ufuncs_math import deg2rad as deg2rad
from numjet.numpy.ufuncs_math import degrees as degrees
from numjet.numpy.ufuncs_math import exp as exp
from numjet.numpy.ufuncs_math import exp2 as exp2
from numjet.numpy.ufuncs_math import expm1 as expm1
from numjet.numpy.ufuncs_math import log as log
from numjet.numpy.ufuncs_math import log10 as log10
from numjet.numpy.ufuncs_math import log1p as log1p
from numjet.numpy.ufuncs_math import log2 as log2
from numjet.numpy.ufuncs_math import rad2deg as rad2deg
from numjet.numpy.ufuncs_math import radians as radians
from numjet.numpy.ufuncs_math import sin as sin
from numjet.numpy.ufuncs_math import sinh as sinh
from numjet.numpy.ufuncs_math import tan as tan
from numjet.numpy.ufuncs_math import tanh as tanh

# ufuncs_logic.py
from numjet.numpy.ufuncs_logic import bitwise_count as bitwise_count
from numjet.numpy.ufuncs_logic import bitwise_invert as bitwise_invert
from numjet.numpy.ufuncs_logic import bitwise_left_shift as bitwise_left_shift
from numjet.numpy.ufuncs_logic import bitwise_not as bitwise_not
from numjet.numpy.ufuncs_logic import bitwise_right_shift as bitwise_right_shift
from numjet.numpy.ufuncs_logic import equal as equal
from numjet.numpy.ufuncs_logic import fmax as fmax
from numjet.numpy.ufuncs_logic import fmin as fmin
from numjet.numpy.ufuncs_logic import greater as greater
from numjet.numpy.ufuncs_logic import greater_equal as greater_equal
from numjet.numpy.ufuncs_logic import invert as invert
from numjet.numpy.ufuncs_logic import iscomplex as iscomplex
from numjet.numpy.ufuncs_logic import isfinite as isfinite
from numjet.numpy.ufuncs_logic import isinf as isinf
from numjet.numpy.ufuncs_logic import isnan as isnan
from numjet.numpy.ufuncs_logic import isneginf as isneginf
from numjet.numpy.ufuncs_logic import isposinf as isposinf
from numjet.numpy.ufuncs_logic import isreal as isreal
from numjet.numpy.ufuncs_logic import left_shift as left_shift
from numjet.numpy.ufuncs_logic import less as less
from numjet.numpy.ufuncs_logic import less_equal as less_equal
from numjet.numpy.ufuncs_logic import logical_not as logical_not
from numjet.numpy.ufuncs_logic import not_equal as not_equal
from numjet.numpy.ufuncs_logic import right_shift as right_shift
from numjet.numpy.ufuncs_logic import signbit as signbit

# ufuncs_special.py
from numjet.numpy.ufuncs_special import copysign as copysign
from numjet.numpy.ufuncs_special import frexp as frexp
from numjet.numpy.ufuncs_special import gcd as gcd
from numjet.numpy.ufuncs_special import heaviside as heaviside
from numjet.numpy.ufuncs_special import hypot as hypot
from numjet.numpy.ufuncs_special import lcm as lcm
from numjet.numpy.ufuncs_special import ldexp as ldexp
from numjet.numpy.ufuncs_special import modf as modf
from numjet.numpy.ufuncs_special import nan_to_num as nan_to_num
from numjet.numpy.ufuncs_special import nextafter as nextafter
from numjet.numpy.ufuncs_special import sinc as sinc
from numjet.numpy.ufuncs_special import spacing as spacing

# choosing.py
from numjet.numpy.choosing import clip as clip
from numjet.numpy.choosing import piecewise as piecewise
from numjet.numpy.choosing import select as select
from numjet.numpy.choosing import where as where

# matrices.py
from numjet.numpy.matrices import diag as diag
from numjet.numpy.matrices import diagflat as diagflat
from numjet.numpy.matrices import eye as eye
from numjet.numpy.matrices import identity as identity
from numjet.numpy.matrices import tri as tri
from numjet.numpy.matrices import tril as tril
from numjet.numpy.matrices import triu as triu

# ufunc_class.py
from numjet.numpy.ufunc_class import frompyfunc as frompyfunc
from numjet.numpy.ufunc_class import ufunc as ufunc

# vectorize.py
from numjet.numpy.vectorize import vectorize as vectorize

# ufunc_objects.py
from numjet.numpy.ufunc_objects import add as add
from numjet.numpy.ufunc_objects import bitwise_and as bitwise_and
from numjet.numpy.ufunc_objects import bitwise_or as bitwise_or
from numjet.numpy.ufunc_objects import bitwise_xor as bitwise_xor
from numjet.numpy.ufunc_objects import logaddexp as logaddexp
from numjet.numpy.ufunc_objects import logaddexp2 as logaddexp2
from numjet.numpy.ufunc_objects import logical_and as logical_and
from numjet.numpy.ufunc_objects import logical_or as logical_or
from numjet.numpy.ufunc_objects import logical_xor as logical_xor
from numjet.numpy.ufunc_objects import maximum as maximum
from numjet.numpy.ufunc_objects import minimum as minimum
from numjet.numpy.ufunc_objects import multiply as multiply
from numjet.numpy.ufunc_objects import negative as negative
from numjet.numpy.ufunc_objects import subtract as subtract

# shapes, joining, products, sorting, selection
from numjet.numpy.manipulation import (
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
from numjet.numpy.joining import (
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
from numjet.numpy.splitting import (
    array_split as array_split,
    dsplit as dsplit,
    hsplit as hsplit,
    split as split,
    unstack as unstack,
    vsplit as vsplit,
)
from numjet.numpy.repeating import (
    flip as flip,
    fliplr as fliplr,
    flipud as flipud,
    repeat as repeat,
    resize as resize,
    roll as roll,
    rot90 as rot90,
    tile as tile,
)
from numjet.numpy.linear import (
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
from numjet.numpy.products import (
    cross as cross,
    diagonal as diagonal,
    kron as kron,
    trace as trace,
)
from numjet.numpy.einsum import (
    einsum as einsum,
    einsum_path as einsum_path,
)
from numjet.numpy.sorting import (
    argpartition as argpartition,
    argsort as argsort,
    lexsort as lexsort,
    partition as partition,
    sort as sort,
    sort_complex as sort_complex,
)
from numjet.numpy.searching import (
    digitize as digitize,
    searchsorted as searchsorted,
)
from numjet.numpy.selection import (
    choose as choose,
    compress as compress,
    extract as extract,
    take as take,
    take_along_axis as take_along_axis,
)
from numjet.numpy.nonzero import (
    argwhere as argwhere,
    flatnonzero as flatnonzero,
    nonzero as nonzero,
)
from numjet.numpy.poly import (
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
    from numjet.numpy.more import *  # noqa: F403
else:
    __getattr__, __dir__ = _on_demand.names(__name__, "numjet.numpy.more")
