"""First-order operations: one record each, and the functions of `jax.lax` that apply them."""

from typing import TYPE_CHECKING as _TYPE_CHECKING

from numjet.core.op import later as _later
from numjet.foundation import lazy_import as _lazy_import

if _TYPE_CHECKING:
    from numjet.lax.lazy_exports import *  # noqa: F403
else:
    __getattr__, __dir__ = _lazy_import.names(__name__, "numjet.lax.lazy_exports", frozenset({"linalg"}))
_later += ["numjet.lax.lazy_exports", "numjet.lax.elementwise.normal_distribution", "numjet.lax.shape.dimension",
           "numjet.lax.tagged", "numjet.control.host.foreign_call", "numjet.control.host.buffer_op"]
