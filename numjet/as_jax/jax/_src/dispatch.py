"""Evaluation of primitives, and waiting for effects."""

from numjet.api.transfer import effects_barrier as wait_for_tokens  # noqa: F401
from numjet.interpreters.xla import apply_primitive as apply_primitive
