"""Products of matrices in full precision, which methods need whose steps undo one another."""
from __future__ import annotations

from typing import Any

import numjet.numpy as jnp
from numjet.lax import Precision


def exact_product(a: Any, b: Any) -> Any:
    """a @ b in full precision on every device: accelerators round the operands of other products to fewer digits.

    >>> import numjet.numpy as jnp
    >>> exact_product(jnp.array([[1.0, 2.0]]), jnp.array([3.0, 4.0])).tolist()
    [11.0]
    """
    return jnp.matmul(a, b, precision=Precision.HIGHEST)
