"""`jit` under its former name."""

from numjet.api.jit import jit as pjit

__all__ = ["pjit"]
