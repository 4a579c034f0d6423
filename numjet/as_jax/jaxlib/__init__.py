"""The module `jaxlib`: its version, and a few names of its client. Other modules are those of the installed one, if any."""
from importlib.machinery import PathFinder

from numjet.as_jax.names import VERSION_TEXT as __version__  # noqa: F401

_installed = PathFinder.find_spec("jaxlib")
__path__ = [*__path__, *(_installed.submodule_search_locations or () if _installed is not None else ())]
