"""Exchange of arrays with other libraries by DLPack."""

from numjet.numpy.core.dlpack import is_supported_dtype as is_supported_dtype
from numjet.numpy.core.external import from_dlpack as from_dlpack
