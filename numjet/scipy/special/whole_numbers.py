"""Which floats are odd, and which are poles of the gamma function."""
from typing import Any

import numjet.numpy as jnp


def whole_below_1(x: Any) -> Any:
    """Whether a real number is 0, -1, -2, ..., where the gamma function has its poles, or -inf.

    >>> bool(whole_below_1(jnp.float32(-2.0))), bool(whole_below_1(jnp.float32(1.0)))
    (True, False)
    """
    return (x <= 0) & (x == jnp.round(x))


def is_odd(x: Any) -> Any:
    """Whether a real number is odd.

    >>> bool(is_odd(jnp.float32(-3.0))), bool(is_odd(jnp.float32(0.5)))
    (True, False)
    """
    return x - 2 * jnp.floor(x / 2) == 1
