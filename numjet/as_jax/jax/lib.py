"""`jax.lib`: the version of jaxlib."""

from numjet.as_jax.names import VERSION_TEXT as __version__  # noqa: F401
