"""NumPy's functions on arrays that can be traced, differentiated, batched and compiled, under JAX's names."""

import sys as _sys

from numjet.core.trace import ArrayBase as _ArrayBase
from numjet.numpy import methods as _methods

# arrays.py
from numjet.numpy.arrays import (
    array as array,
    asarray as asarray,
    astype as astype,
    copy as copy,
    from_dlpack as from_dlpack,
    frombuffer as frombuffer,
    fromfile as fromfile,
    fromiter as fromiter,
    fromstring as fromstring,
)

# choosing.py
from numjet.numpy.choosing import clip as clip, piecewise as piecewise, select as select, where as where

# constants.py
from numjet.numpy.constants import e as e, euler_gamma as euler_gamma, inf as inf, nan as nan, newaxis as newaxis, pi as pi

# creation.py
from numjet.numpy.creation import (
    arange as arange,
    empty as empty,
    empty_like as empty_like,
    full as full,
    full_like as full_like,
    geomspace as geomspace,
    linspace as linspace,
    logspace as logspace,
    ones as ones,
    ones_like as ones_like,
    zeros as zeros,
    zeros_like as zeros_like,
)

# cumulative.py
from numjet.numpy.cumulative import (
    cumprod as cumprod,
    cumsum as cumsum,
    cumulative_prod as cumulative_prod,
    cumulative_sum as cumulative_sum,
    nancumprod as nancumprod,
    nancumsum as nancumsum,
)

# dtype_names.py
from numjet.numpy.dtype_names import (
    ComplexWarning as ComplexWarning,
    bfloat16 as bfloat16,
    bool as bool,
    bool_ as bool_,
    can_cast as can_cast,
    cdouble as cdouble,
    character as character,
    complex64 as complex64,
    complex128 as complex128,
    complex_ as complex_,
    complexfloating as complexfloating,
    csingle as csingle,
    double as double,
    dtype as dtype,
    finfo as finfo,
    flexible as flexible,
    float4_e2m1fn as float4_e2m1fn,
    float8_e3m4 as float8_e3m4,
    float8_e4m3 as float8_e4m3,
    float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn,
    float8_e4m3fnuz as float8_e4m3fnuz,
    float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz,
    float8_e8m0fnu as float8_e8m0fnu,
    float16 as float16,
    float32 as float32,
    float64 as float64,
    float_ as float_,
    floating as floating,
    generic as generic,
    iinfo as iinfo,
    inexact as inexact,
    int2 as int2,
    int4 as int4,
    int8 as int8,
    int16 as int16,
    int32 as int32,
    int64 as int64,
    int_ as int_,
    integer as integer,
    isdtype as isdtype,
    issubdtype as issubdtype,
    number as number,
    object_ as object_,
    promote_types as promote_types,
    result_type as result_type,
    signedinteger as signedinteger,
    single as single,
    uint as uint,
    uint2 as uint2,
    uint4 as uint4,
    uint8 as uint8,
    uint16 as uint16,
    uint32 as uint32,
    uint64 as uint64,
    unsignedinteger as unsignedinteger,
)

# files.py
from numjet.numpy.files import load as load, save as save, savez as savez

# grids.py
from numjet.numpy.grids import (
    fromfunction as fromfunction,
    indices as indices,
    meshgrid as meshgrid,
    mgrid as mgrid,
    ogrid as ogrid,
)

# interpolation.py
from numjet.numpy.interpolation import interp as interp, unwrap as unwrap

# matrices.py
from numjet.numpy.matrices import (
    diag as diag,
    diagflat as diagflat,
    eye as eye,
    identity as identity,
    tri as tri,
    tril as tril,
    triu as triu,
)

# nan_reductions.py
from numjet.numpy.nan_reductions import (
    nanargmax as nanargmax,
    nanargmin as nanargmin,
    nanmax as nanmax,
    nanmean as nanmean,
    nanmin as nanmin,
    nanprod as nanprod,
    nanstd as nanstd,
    nansum as nansum,
    nanvar as nanvar,
)

# printing.py
from numjet.numpy.printing import (
    array_repr as array_repr,
    array_str as array_str,
    get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)

# quantiles.py
from numjet.numpy.quantiles import (
    median as median,
    nanmedian as nanmedian,
    nanpercentile as nanpercentile,
    nanquantile as nanquantile,
    percentile as percentile,
    quantile as quantile,
)

# questions.py
from numjet.numpy.questions import (
    allclose as allclose,
    array_equal as array_equal,
    array_equiv as array_equiv,
    isclose as isclose,
    iscomplexobj as iscomplexobj,
    isrealobj as isrealobj,
    isscalar as isscalar,
    iterable as iterable,
    ndim as ndim,
    shape as shape,
    size as size,
)

# reductions.py
from numjet.numpy.reductions import (
    all as all,
    amax as amax,
    amin as amin,
    any as any,
    argmax as argmax,
    argmin as argmin,
    count_nonzero as count_nonzero,
    max as max,
    min as min,
    prod as prod,
    ptp as ptp,
    sum as sum,
)

# statistics.py
from numjet.numpy.statistics import average as average, mean as mean, std as std, var as var

# ufunc_class.py
from numjet.numpy.ufunc_class import frompyfunc as frompyfunc, ufunc as ufunc

# ufunc_objects.py
from numjet.numpy.ufunc_objects import (
    add as add,
    bitwise_and as bitwise_and,
    bitwise_or as bitwise_or,
    bitwise_xor as bitwise_xor,
    logaddexp as logaddexp,
    logaddexp2 as logaddexp2,
    logical_and as logical_and,
    logical_or as logical_or,
    logical_xor as logical_xor,
    maximum as maximum,
    minimum as minimum,
    multiply as multiply,
    negative as negative,
    subtract as subtract,
)

# ufuncs.py
from numjet.numpy.ufuncs import (
    abs as abs,
    absolute as absolute,
    angle as angle,
    around as around,
    cbrt as cbrt,
    ceil as ceil,
    conj as conj,
    conjugate as conjugate,
    divide as divide,
    divmod as divmod,
    fabs as fabs,
    fix as fix,
    float_power as float_power,
    floor as floor,
    floor_divide as floor_divide,
    fmod as fmod,
    imag as imag,
    mod as mod,
    positive as positive,
    pow as pow,
    power as power,
    real as real,
    reciprocal as reciprocal,
    remainder as remainder,
    rint as rint,
    round as round,
    sign as sign,
    sqrt as sqrt,
    square as square,
    true_divide as true_divide,
    trunc as trunc,
)

# ufuncs_logic.py
from numjet.numpy.ufuncs_logic import (
    bitwise_count as bitwise_count,
    bitwise_invert as bitwise_invert,
    bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not,
    bitwise_right_shift as bitwise_right_shift,
    equal as equal,
    fmax as fmax,
    fmin as fmin,
    greater as greater,
    greater_equal as greater_equal,
    invert as invert,
    iscomplex as iscomplex,
    isfinite as isfinite,
    isinf as isinf,
    isnan as isnan,
    isneginf as isneginf,
    isposinf as isposinf,
    isreal as isreal,
    left_shift as left_shift,
    less as less,
    less_equal as less_equal,
    logical_not as logical_not,
    not_equal as not_equal,
    right_shift as right_shift,
    signbit as signbit,
)

# ufuncs_math.py
from numjet.numpy.ufuncs_math import (
    acos as acos,
    acosh as acosh,
    arccos as arccos,
    arccosh as arccosh,
    arcsin as arcsin,
    arcsinh as arcsinh,
    arctan as arctan,
    arctan2 as arctan2,
    arctanh as arctanh,
    asin as asin,
    asinh as asinh,
    atan as atan,
    atan2 as atan2,
    atanh as atanh,
    cos as cos,
    cosh as cosh,
    deg2rad as deg2rad,
    degrees as degrees,
    exp as exp,
    exp2 as exp2,
    expm1 as expm1,
    log as log,
    log1p as log1p,
    log2 as log2,
    log10 as log10,
    rad2deg as rad2deg,
    radians as radians,
    sin as sin,
    sinh as sinh,
    tan as tan,
    tanh as tanh,
)

# ufuncs_special.py
from numjet.numpy.ufuncs_special import (
    copysign as copysign,
    frexp as frexp,
    gcd as gcd,
    heaviside as heaviside,
    hypot as hypot,
    i0 as i0,
    lcm as lcm,
    ldexp as ldexp,
    modf as modf,
    nan_to_num as nan_to_num,
    nextafter as nextafter,
    sinc as sinc,
    spacing as spacing,
)

# vectorize.py
from numjet.numpy.vectorize import vectorize as vectorize

# ---- helper B block: manipulation.py, joining.py, linear.py, ... (keep) ----
from numjet.numpy.joining import (
    append as append, array_split as array_split, atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d,
    column_stack as column_stack, concat as concat, concatenate as concatenate, dsplit as dsplit, dstack as dstack,
    hsplit as hsplit, hstack as hstack, split as split, stack as stack, unstack as unstack, vsplit as vsplit, vstack as vstack,
)
from numjet.numpy.linear import (
    diagonal as diagonal, dot as dot, inner as inner, matmul as matmul, outer as outer, tensordot as tensordot, trace as trace,
    vdot as vdot, vecdot as vecdot,
)
from numjet.numpy.manipulation import (
    broadcast_arrays as broadcast_arrays, broadcast_to as broadcast_to, expand_dims as expand_dims, flip as flip,
    fliplr as fliplr, flipud as flipud, matrix_transpose as matrix_transpose, moveaxis as moveaxis, permute_dims as permute_dims,
    ravel as ravel, reshape as reshape, roll as roll, rollaxis as rollaxis, squeeze as squeeze, swapaxes as swapaxes,
    tile as tile, transpose as transpose,
)

ndarray = _ArrayBase
_methods.install(_sys.modules[__name__])
