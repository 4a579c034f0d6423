"""Dtypes: the ones NumPy lacks, classes for `issubdtype`, promotion with weak types."""

from numjet.foundation.dtype_table import bfloat16 as _bfloat16
from numjet.foundation.dtypes import TypePromotionError as TypePromotionError
from numjet.foundation.dtypes import canonicalize_dtype as canonicalize_dtype
from numjet.foundation.dtypes import extended as extended
from numjet.foundation.dtypes import finfo as finfo
from numjet.foundation.dtypes import float0 as float0
from numjet.foundation.dtypes import iinfo as iinfo
from numjet.foundation.dtypes import issubdtype as issubdtype
from numjet.foundation.dtypes import itemsize_bits as itemsize_bits
from numjet.foundation.dtypes import prng_key as prng_key
from numjet.foundation.dtypes import result_type as result_type
from numjet.foundation.dtypes import scalar_type_of as scalar_type_of

bfloat16 = _bfloat16.type
