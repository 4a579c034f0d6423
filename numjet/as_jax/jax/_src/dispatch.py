"""Waiting for effects."""

from numjet.api.transfer import effects_barrier as wait_for_tokens  # noqa: F401
