"""JAX's name for numjet: after `import numjet.as_jax`, `import jax` means numjet, whether or not JAX is installed.

    import numjet.as_jax              # the first line of a program
    NUMJET_AS_JAX=1 python ...        # or a variable: every Python process of this environment
    python -m numjet.as_jax program.py, python -m numjet.as_jax -m pytest ...

>>> import numjet.as_jax
>>> import jax, jax.numpy as jnp, numjet
>>> jax.__version__, jnp is numjet.numpy, isinstance(jnp.ones(2), jax.Array)
('0.10.2', True, True)

What JAX has and numjet lacks can be imported and raises NotImplementedError when it is used. `real()` is the installed JAX.
NumPy's functions give NumPy arrays, as with JAX: the flag numjet_numpy_dispatch is turned off.
"""
from __future__ import annotations

import sys
from types import ModuleType

from numjet import _native
from numjet.as_jax.finder import AliasFinder, is_aliased
from numjet.as_jax.installed import InstalledPackages
from numjet.foundation import events, locks
from numjet.foundation.config import config

_packages: InstalledPackages | None = None


def install() -> InstalledPackages:
    """Makes `import jax` and `import jaxlib` mean numjet, as the import of this module does; once, however often it is called.

    Raises ImportError if JAX itself was imported already: modules that hold its functions would mix both.
    """
    global _packages
    if _packages is None:
        _packages = _installed()
    return _packages


def _installed() -> InstalledPackages:
    if "jax" in sys.modules:
        raise ImportError("numjet.as_jax must come before the first import of jax: JAX itself is imported already. Make "
                          "`import numjet.as_jax` the first line of the program, or run it by `python -m numjet.as_jax`.")
    finder = AliasFinder()
    packages = InstalledPackages(finder)
    for name in filter(is_aliased, list(sys.modules)):  # jaxlib, if the XLA backend was used already
        packages.modules[name] = sys.modules.pop(name)
    locks.importer = packages.import_module
    _native.JitFunction.__qualname__ = "PjitFunction"  # the name by which libraries know compiled functions
    events.loggers.update({"": "jax", "starts": "jax._src.interpreters.pxla", "ends": "jax._src.dispatch",
                           "errors": "jax._src.callback"})  # by which programs listen to them, and silence them
    config.update("numjet_numpy_dispatch", False)  # programs for JAX write into what np.zeros_like(x) gives
    if config.index_checks == "eager":
        config.update("numjet_index_checks", "off")  # programs for JAX may rely on indices being clipped
    sys.meta_path.insert(0, finder)
    return packages


install()


def real() -> ModuleType:
    """The installed JAX, for comparisons in one process. Arrays go between both by DLPack: numpy.from_dlpack of either.

    Raises ModuleNotFoundError if JAX is not installed. JAX's first import must not happen while other threads import it.
    """
    return install().jax
