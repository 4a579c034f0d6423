"""NumPy's functions on arrays that can be traced, differentiated, batched and compiled, under JAX's names.
Imports the public names of `lax`, `api` and `runtime`; this module is the facade.
Add a function to the package of its kind, and its name to `lazy_exports`.
"""

import sys as _sys
from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.core.trace import ArrayBase as _ArrayBase
from numjet.foundation import lazy_import as _lazy_import
from numjet.numpy.core import methods as _methods, taped as _taped

ndarray = _ArrayBase
__array_api_version__, __array_namespace_info__ = "2024.12", _methods.array_namespace_info
_methods.install(_sys.modules[__name__])

if _TYPE_CHECKING:
    from numjet.numpy.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.numpy.lazy_exports", frozenset({"fft", "linalg"}),
                                                instead="numjet.numpy.absent", finish=_taped.exported)
