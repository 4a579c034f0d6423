"""Functions of SciPy on arrays that can be traced, differentiated, batched and compiled.
Imports `api`, `lax` and `numpy`; its modules are those of `jax.scipy`, imported when they are first named.
Add a module to `_MODULES`, a special function to the file of its family in `special`, a distribution as a module of `stats`.
"""
from numjet.foundation import locks as _locks

_MODULES = frozenset({
    "cluster", "fft", "integrate", "interpolate", "linalg", "ndimage", "optimize", "signal", "sparse", "spatial", "special",
    "stats",
})


def __getattr__(name: str) -> object:
    """Lazy import of the modules."""
    if name in _MODULES:
        return _locks.import_module(f"numjet.scipy.{name}")
    raise AttributeError(f"module 'numjet.scipy' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(_MODULES)
