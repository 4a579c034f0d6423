"""Lazy exports: functions of numjet.numpy that most programs do without, imported when the first of them is named."""

from numjet.numpy.core import taped as _taped
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

_taped.functions(vars())
