"""Pytrees as vectors."""

from numjet.flatten_util import ravel_pytree as ravel_pytree
