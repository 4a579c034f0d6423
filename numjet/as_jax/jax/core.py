"""`jax.core`: the parts of programs that libraries name.

It imports them when they are first asked for, so that `import jax` can bring the module, as with JAX.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from numjet.foundation import lazy_import
from numjet.foundation.dimension import is_symbolic

if TYPE_CHECKING:
    from numjet.as_jax.core_names import *  # noqa: F403
else:
    __getattr__, __dir__ = lazy_import.names(__name__, "numjet.as_jax.core_names")


def is_constant_dim(d: Any) -> bool:
    """Whether a size is a number, not a symbolic dimension."""
    return not is_symbolic((d,))


def is_constant_shape(s: Sequence[Any]) -> bool:
    """Whether all sizes are numbers."""
    return not is_symbolic(s)
