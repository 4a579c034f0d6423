"""Public names of numjet.numpy, each imported when it is first asked for: import statements only."""

from numjet.numpy.core.constants import e as e, euler_gamma as euler_gamma, inf as inf, nan as nan, newaxis as newaxis, pi as pi
from numjet.numpy.core.arrays import (
    array as array, asarray as asarray, astype as astype, copy as copy, from_dlpack as from_dlpack, frombuffer as frombuffer,
    fromfile as fromfile, fromiter as fromiter, fromstring as fromstring,
)
from numjet.numpy.core.creation import (
    arange as arange, empty as empty, empty_like as empty_like, full as full, full_like as full_like, geomspace as geomspace,
    linspace as linspace, logspace as logspace, ones as ones, ones_like as ones_like, zeros as zeros, zeros_like as zeros_like,
)
from numjet.numpy.core.dtype_names import (  # noqa: F401  (both names are public)
    ComplexWarning as ComplexWarning, bfloat16 as bfloat16, bool_ as bool, bool_ as bool_, can_cast as can_cast,
    cdouble as cdouble, character as character, complex128 as complex128, complex64 as complex64, complex_ as complex_,
    complexfloating as complexfloating, csingle as csingle, double as double, dtype as dtype, finfo as finfo,
    flexible as flexible, float16 as float16, float32 as float32, float4_e2m1fn as float4_e2m1fn, float64 as float64,
    float8_e3m4 as float8_e3m4, float8_e4m3 as float8_e4m3, float8_e4m3b11fnuz as float8_e4m3b11fnuz,
    float8_e4m3fn as float8_e4m3fn, float8_e4m3fnuz as float8_e4m3fnuz, float8_e5m2 as float8_e5m2,
    float8_e5m2fnuz as float8_e5m2fnuz, float8_e8m0fnu as float8_e8m0fnu, float_ as float_, floating as floating,
    generic as generic, iinfo as iinfo, inexact as inexact, int16 as int16, int2 as int2, int32 as int32, int4 as int4,
    int64 as int64, int8 as int8, int_ as int_, integer as integer, isdtype as isdtype, issubdtype as issubdtype,
    number as number, object_ as object_, promote_types as promote_types, result_type as result_type,
    signedinteger as signedinteger, single as single, uint as uint, uint16 as uint16, uint2 as uint2, uint32 as uint32,
    uint4 as uint4, uint64 as uint64, uint8 as uint8, unsignedinteger as unsignedinteger,
)
from numjet.numpy.core.predicates import (
    allclose as allclose, array_equal as array_equal, array_equiv as array_equiv, isclose as isclose,
    iscomplexobj as iscomplexobj, isrealobj as isrealobj, isscalar as isscalar, iterable as iterable, ndim as ndim,
    shape as shape, size as size,
)
from numjet.numpy.reduction.reductions import (
    all as all, amax as amax, amin as amin, any as any, argmax as argmax, argmin as argmin, count_nonzero as count_nonzero,
    max as max, min as min, prod as prod, ptp as ptp, sum as sum,
)
from numjet.numpy.reduction.statistics import average as average, mean as mean, std as std, var as var
from numjet.numpy.reduction.cumulative import (
    cumprod as cumprod, cumsum as cumsum, cumulative_prod as cumulative_prod, cumulative_sum as cumulative_sum,
    nancumprod as nancumprod, nancumsum as nancumsum,
)
from numjet.numpy.ufuncs.arithmetic import (
    abs as abs, absolute as absolute, angle as angle, around as around, cbrt as cbrt, ceil as ceil, conj as conj,
    conjugate as conjugate, divide as divide, divmod as divmod, fabs as fabs, fix as fix, float_power as float_power,
    floor as floor, floor_divide as floor_divide, fmod as fmod, imag as imag, mod as mod, positive as positive, pow as pow,
    power as power, real as real, reciprocal as reciprocal, remainder as remainder, rint as rint, round as round, sign as sign,
    sqrt as sqrt, square as square, true_divide as true_divide, trunc as trunc,
)
from numjet.numpy.ufuncs.transcendental import (
    acos as acos, acosh as acosh, arccos as arccos, arccosh as arccosh, arcsin as arcsin, arcsinh as arcsinh, arctan as arctan,
    arctan2 as arctan2, arctanh as arctanh, asin as asin, asinh as asinh, atan as atan, atan2 as atan2, atanh as atanh,
    cos as cos, cosh as cosh, deg2rad as deg2rad, degrees as degrees, exp as exp, exp2 as exp2, expm1 as expm1, log as log,
    log10 as log10, log1p as log1p, log2 as log2, rad2deg as rad2deg, radians as radians, sin as sin, sinh as sinh, tan as tan,
    tanh as tanh,
)
from numjet.numpy.ufuncs.logic import (
    bitwise_count as bitwise_count, bitwise_invert as bitwise_invert, bitwise_left_shift as bitwise_left_shift,
    bitwise_not as bitwise_not, bitwise_right_shift as bitwise_right_shift, equal as equal, fmax as fmax, fmin as fmin,
    greater as greater, greater_equal as greater_equal, invert as invert, iscomplex as iscomplex, isfinite as isfinite,
    isinf as isinf, isnan as isnan, isneginf as isneginf, isposinf as isposinf, isreal as isreal, left_shift as left_shift,
    less as less, less_equal as less_equal, logical_not as logical_not, not_equal as not_equal, right_shift as right_shift,
    signbit as signbit,
)
from numjet.numpy.ufuncs.special import (
    copysign as copysign, frexp as frexp, gcd as gcd, heaviside as heaviside, hypot as hypot, lcm as lcm, ldexp as ldexp,
    modf as modf, nan_to_num as nan_to_num, nextafter as nextafter, sinc as sinc, spacing as spacing,
)
from numjet.numpy.indexing.piecewise import piecewise as piecewise
from numjet.numpy.indexing.where import clip as clip, select as select, where as where
from numjet.numpy.shaping.matrices import (
    diag as diag, diagflat as diagflat, eye as eye, identity as identity, tri as tri, tril as tril, triu as triu,
)
from numjet.numpy.ufuncs.ufunc_class import frompyfunc as frompyfunc, ufunc as ufunc
from numjet.numpy.ufuncs.ufunc_objects import (
    add as add, bitwise_and as bitwise_and, bitwise_or as bitwise_or, bitwise_xor as bitwise_xor, logaddexp as logaddexp,
    logaddexp2 as logaddexp2, logical_and as logical_and, logical_or as logical_or, logical_xor as logical_xor,
    maximum as maximum, minimum as minimum, multiply as multiply, negative as negative, subtract as subtract,
)
from numjet.numpy.shaping.manipulation import (
    atleast_1d as atleast_1d, atleast_2d as atleast_2d, atleast_3d as atleast_3d, broadcast_arrays as broadcast_arrays,
    broadcast_shapes as broadcast_shapes, broadcast_to as broadcast_to, expand_dims as expand_dims,
    matrix_transpose as matrix_transpose, moveaxis as moveaxis, permute_dims as permute_dims, ravel as ravel,
    reshape as reshape, rollaxis as rollaxis, squeeze as squeeze, swapaxes as swapaxes, transpose as transpose,
)
from numjet.numpy.shaping.joining import (
    append as append, block as block, column_stack as column_stack, concat as concat, concatenate as concatenate,
    dstack as dstack, hstack as hstack, stack as stack, vstack as vstack,
)
from numjet.numpy.shaping.splitting import (
    array_split as array_split, dsplit as dsplit, hsplit as hsplit, split as split, unstack as unstack, vsplit as vsplit,
)
from numjet.numpy.shaping.repeating import (
    flip as flip, fliplr as fliplr, flipud as flipud, repeat as repeat, resize as resize, roll as roll, rot90 as rot90,
    tile as tile,
)
from numjet.numpy.contraction.dot import (
    dot as dot, inner as inner, matmul as matmul, matvec as matvec, outer as outer, tensordot as tensordot, vdot as vdot,
    vecdot as vecdot, vecmat as vecmat,
)
from numjet.numpy.contraction.products import cross as cross, diagonal as diagonal, kron as kron, trace as trace
from numjet.numpy.contraction.einsum import einsum as einsum, einsum_path as einsum_path
from numjet.numpy.reduction.sorting import (
    argpartition as argpartition, argsort as argsort, lexsort as lexsort, partition as partition, sort as sort,
    sort_complex as sort_complex,
)
from numjet.numpy.reduction.searching import digitize as digitize, searchsorted as searchsorted
from numjet.numpy.indexing.selection import (
    choose as choose, compress as compress, extract as extract, take as take, take_along_axis as take_along_axis,
)
from numjet.numpy.indexing.nonzero import argwhere as argwhere, flatnonzero as flatnonzero, nonzero as nonzero
from numjet.numpy import fft as fft, linalg as linalg
from numjet.numpy.core.bitpacking import packbits as packbits, unpackbits as unpackbits
from numjet.numpy.core.conversions import (
    asanyarray as asanyarray, asarray_chkfinite as asarray_chkfinite, ascontiguousarray as ascontiguousarray,
    asfortranarray as asfortranarray, copyto as copyto, ndindex as ndindex,
    common_type as common_type, isfortran as isfortran, may_share_memory as may_share_memory,
    min_scalar_type as min_scalar_type, ndenumerate as ndenumerate, real_if_close as real_if_close, require as require,
    shares_memory as shares_memory,
)
from numjet.numpy.core.dtype_names import (
    byte as byte, half as half, intc as intc, intp as intp, long as long, longlong as longlong, short as short, ubyte as ubyte,
    uintc as uintc, uintp as uintp, ulong as ulong, ulonglong as ulonglong, ushort as ushort,
)
from numjet.numpy.core.files import (
    genfromtxt as genfromtxt, load as load, loadtxt as loadtxt, save as save, savetxt as savetxt, savez as savez,
    savez_compressed as savez_compressed,
)
from numjet.numpy.core.printing import (
    array2string as array2string, array_repr as array_repr, array_str as array_str, get_printoptions as get_printoptions,
    printoptions as printoptions,
    set_printoptions as set_printoptions,
)
from numjet.numpy.core.texts import (
    base_repr as base_repr, binary_repr as binary_repr, format_float_positional as format_float_positional,
    format_float_scientific as format_float_scientific, mintypecode as mintypecode, typename as typename,
)
from numjet.numpy.indexing.index_grids import (
    c_ as c_, diag_indices as diag_indices, diag_indices_from as diag_indices_from, index_exp as index_exp, ix_ as ix_,
    mask_indices as mask_indices, r_ as r_, ravel_multi_index as ravel_multi_index, s_ as s_, tril_indices as tril_indices,
    tril_indices_from as tril_indices_from, triu_indices as triu_indices, triu_indices_from as triu_indices_from,
    unravel_index as unravel_index,
)
from numjet.numpy.indexing.insert_delete import delete as delete, insert as insert, trim_zeros as trim_zeros
from numjet.numpy.indexing.put import (
    fill_diagonal as fill_diagonal, place as place, put as put, put_along_axis as put_along_axis, putmask as putmask,
)
from numjet.numpy.reduction.histogram import (
    bincount as bincount, histogram as histogram, histogram2d as histogram2d, histogram_bin_edges as histogram_bin_edges,
    histogramdd as histogramdd,
)
from numjet.numpy.reduction.moments import corrcoef as corrcoef, cov as cov
from numjet.numpy.reduction.nan_reductions import (
    nanargmax as nanargmax, nanargmin as nanargmin, nanmax as nanmax, nanmean as nanmean, nanmin as nanmin, nanprod as nanprod,
    nanstd as nanstd, nansum as nansum, nanvar as nanvar,
)
from numjet.numpy.reduction.quantiles import (
    median as median, nanmedian as nanmedian, nanpercentile as nanpercentile, nanquantile as nanquantile,
    percentile as percentile, quantile as quantile,
)
from numjet.numpy.reduction.sets import (
    intersect1d as intersect1d, isin as isin, setdiff1d as setdiff1d, setxor1d as setxor1d, union1d as union1d,
    unique as unique, unique_all as unique_all, unique_counts as unique_counts, unique_inverse as unique_inverse,
    unique_values as unique_values,
)
from numjet.numpy.shaping.grids import (
    fromfunction as fromfunction, indices as indices, meshgrid as meshgrid, mgrid as mgrid, ogrid as ogrid,
)
from numjet.numpy.shaping.joining import row_stack as row_stack
from numjet.numpy.shaping.padding import pad as pad
from numjet.numpy.signal.calculus import (
    convolve as convolve, correlate as correlate, diff as diff, ediff1d as ediff1d, gradient as gradient,
    trapezoid as trapezoid, vander as vander,
)
from numjet.numpy.signal.interpolation import interp as interp, unwrap as unwrap
from numjet.numpy.signal.poly import (
    poly as poly, polyadd as polyadd, polyder as polyder, polydiv as polydiv, polyint as polyint, polymul as polymul,
    polysub as polysub, polyval as polyval,
)
from numjet.numpy.signal.poly_fit import polyfit as polyfit, roots as roots
from numjet.numpy.signal.windows import (
    bartlett as bartlett, blackman as blackman, hamming as hamming, hanning as hanning, i0 as i0, kaiser as kaiser,
)
from numjet.numpy.ufuncs.along_axis import apply_along_axis as apply_along_axis, apply_over_axes as apply_over_axes
from numjet.numpy.ufuncs.vectorize import vectorize as vectorize
