"""Contexts of users: values that functions may read while they are traced, and that their traces depend on."""
from __future__ import annotations

import itertools
from typing import Any

from numjet.foundation.config import Setting, config
from numjet.foundation.flags import Flag

_numbers = itertools.count()


def make_user_context(default_value: Any = None) -> Setting:
    """A context whose value, a hashable object, jitted functions depend on: with another value they are traced again.

    Its attribute `value` is the value in this thread; `with context(value):` sets it for a block, set_global for the process.

    >>> import numjet as nj
    >>> scale = nj.make_user_context(1)
    >>> f = nj.jit(lambda x: x * scale.value)
    >>> with scale(3):
    ...     print(f(2))
    6
    >>> print(f(2))
    2
    """
    hash(default_value)
    flag = Flag(f"user_context_{next(_numbers)}", _hashable, default_value, "A context of the user's.", traces=True)
    config.add(flag)
    return Setting(flag.name)


def _hashable(value: Any) -> Any:
    try:
        hash(value)
    except TypeError:
        raise ValueError(f"a context holds hashable values, got {value!r} of type {type(value).__name__}") from None
    return value
