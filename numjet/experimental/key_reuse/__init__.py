"""The check that random keys are used once: turn it on by the option jax_debug_key_reuse; see `numjet.debug_key_reuse`."""
from numjet.api.key_reuse import check_key_reuse as check_key_reuse
from numjet.foundation.errors import KeyReuseError as KeyReuseError
