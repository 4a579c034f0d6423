"""jaxlib's modules as libraries name them, for the classes that they catch or ask isinstance about."""

from numjet.as_jax.jaxlib import version as version, xla_client as xla_client
