"""Dtypes: the ones NumPy lacks, classes for `issubdtype`, promotion with weak types."""

from numjet.foundation.dtypes import (
    TypePromotionError as TypePromotionError, canonicalize_dtype as canonicalize_dtype, extended as extended, finfo as finfo,
    float0 as float0, iinfo as iinfo, issubdtype as issubdtype, itemsize_bits as itemsize_bits, prng_key as prng_key,
    result_type as result_type, scalar_type_of as scalar_type_of,
)
from numjet.foundation.dtypes.table import bfloat16 as _bfloat16

bfloat16 = _bfloat16.type
