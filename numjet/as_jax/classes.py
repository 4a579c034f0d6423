"""The classes of arrays and tracers in JAX's packages: libraries for several array packages choose functions by the first part
of `type(x).__module__`."""
from numjet.core.trace import Array, Tracer
from numjet.foundation import locks


def place_classes() -> None:
    """Moves the classes when JAX is imported, not before: what pickles a class looks for its module in sys.modules."""
    Array.__module__ = "jaxlib._jax"
    for module in ("jvp", "vmap"):   # which define classes of tracers
        locks.import_module(f"numjet.transforms.{module}")
    for kind in Tracer.__subclasses__():
        kind.__module__ = "jax._src.core"
