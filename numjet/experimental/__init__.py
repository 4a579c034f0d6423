"""JAX's experimental modules, imported when they are first named.
Add a module, or a package when it is large, and its name to `_MODULES`; a function of another room to `lazy_exports`.
"""
from numjet.foundation import lazy_import as _lazy_import

_MODULES = frozenset({"buffer_callback", "checkify", "compute_on", "jet", "key_reuse", "layout", "mesh_utils",
                      "multihost_utils", "ode", "pjit", "rnn", "scheduling_groups", "sparse"})
__getattr__, __dir__ = _lazy_import.names(__name__, "numjet.experimental.lazy_exports", _MODULES)
