"""Signatures of wrapped functions, found when they are first asked for."""
from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any


class SignatureOf(inspect.Signature):
    """The signature of a function, for `__signature__` of what is called in its place.

    `inspect.getfullargspec` looks there and does not follow `__wrapped__`. To find a signature takes longer than all else
    that a decorator does, and few are ever asked for.

    >>> def f(x, *, axis=None):
    ...     return x
    >>> SignatureOf(f)
    <SignatureOf (x, *, axis=None)>
    """

    __slots__ = ("_function",)

    def __init__(self, function: Callable[..., Any]):
        self._function = function

    def __getattr__(self, name: str) -> Any:  # of a slot that is not set yet
        if name not in ("_parameters", "_return_annotation"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        found = inspect.signature(self._function)
        self._parameters, self._return_annotation = found.parameters, found.return_annotation
        return getattr(self, name)

    def replace(self, **changes: Any) -> inspect.Signature:  # type: ignore[override]
        """A plain signature with other parameters or another return annotation."""
        return inspect.signature(self._function).replace(**changes)

    def __reduce__(self) -> Any:
        return inspect.signature(self._function).__reduce__()
