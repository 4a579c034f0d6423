"""The version of jaxlib that belongs to JAX's."""

from numjet.as_jax.names import VERSION_TEXT as __version__  # noqa: F401
