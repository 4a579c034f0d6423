"""The version of JAX whose names numjet has."""

from numjet.as_jax.names import VERSION as __version_info__, VERSION_TEXT as __version__  # noqa: F401
