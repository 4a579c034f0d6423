"""Functions of SciPy on arrays that can be traced, differentiated, batched and compiled.
Imports `api`, `lax` and `numpy`; its modules are those of `jax.scipy`, imported when they are first named.
Add a module to `_MODULES`, a special function to the file of its family in `special`, a distribution as a module of `stats`.
"""
from numjet.foundation import lazy_import as _lazy_import

_MODULES = frozenset({
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
    "stats",
})
__getattr__, __dir__ = _lazy_import.submodules(__name__, _MODULES)
