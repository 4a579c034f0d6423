"""Attributes of operations for XLA."""

from numjet.api.xla_metadata import set_xla_metadata as set_xla_metadata
