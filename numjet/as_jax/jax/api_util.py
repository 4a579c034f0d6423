"""`jax.api_util`: functions on flat arguments that libraries use."""

from numjet.as_jax.jax._src.util import safe_map as safe_map
from numjet.api.stages import abstract as shaped_abstractify  # noqa: F401
