"""The operation `check`: a user's assertion on values of a program.

Outside of programs it raises. In a program it has an effect, which `checkify` replaces by an error value; a program that still
holds one does not compile, or raises while it runs where the flag jax_experimental_unsafe_xla_runtime_errors is on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from numjet.core import effects
from numjet.core.op import Missing, Op
from numjet.core.snapshots import snapshot
from numjet.core.trace import aval_of, is_array_like
from numjet.core.traits import EXACT
from numjet.foundation import dtypes, errors, tree
from numjet.foundation.config import config
from numjet.foundation.record import Record
from numjet.lax.indexing.dynamic_slicing import dynamic_index_in_dim
from numjet.lax.reduction.argreduce import argmin
from numjet.lax.reduction.reduce import reduce_and_p
from numjet.lax.templates import moveaxis


class CheckEffect(effects.Effect):
    """A check that nobody looks at yet."""


CHECK = CheckEffect()
NOT_FUNCTIONALIZED = (
    "Cannot abstractly evaluate a checkify.check which was not functionalized. This probably means you tried to stage "
    "(jit/scan/...) a `check` without functionalizing it through `checkify.checkify`: call checkify(f), and look at the error "
    "that it returns with the result. The check says: ")


class JaxException(Exception):
    """Base of the errors that checkify finds."""


class FailedCheckError(JaxException):
    """A `check` failed."""


class JaxRuntimeError(ValueError):
    """An error that was found, raised: by check_error, or by a check outside of programs."""


class Site(Record):
    """A place in a program where an error may be found: its kind, and its message, given the values kept with it.

    shares: the number of the place whose values it shares, as only the first error has any; None: it has its own.
    """

    category: type[JaxException]
    describe: Callable[[Sequence[Any]], str]
    shares: int | None = None

    def exception(self, payload: Sequence[Any]) -> JaxException:
        """The error, with these values."""
        return self.category(self.describe(payload))


class Message(Record):
    """The text of a user's check, with places for values."""

    text: str
    in_tree: Any

    def __call__(self, payload: Sequence[Any]) -> str:
        args, kwargs = tree.tree_unflatten(self.in_tree, list(map(_printed, payload)))
        return f"{self.text.format(*args, **kwargs)} (`check` failed)"


def _printed(x: Any) -> Any:
    """A value for a message; random keys are no numbers."""
    return x if dtypes.issubdtype(aval_of(x).dtype, dtypes.extended) else snapshot(np.asarray(x))


def check(pred: Any, msg: str, *fmt_args: Any, debug: bool = False, **fmt_kwargs: Any) -> None:
    """Checks a condition on values, in functions that `checkify` transforms.

    Args:
      pred: boolean scalar that should hold.
      msg: the error's text; `{}` and `{name}` stand for values.
      fmt_args, fmt_kwargs: the values, pytrees of arrays.
      debug: ignore the check where the function is not transformed by checkify.

    Raises:
      JaxRuntimeError: outside of programs, where the condition does not hold.
      TypeError: the condition is no boolean scalar; values are no arrays.
      ValueError: when a program is compiled that holds the check, as nobody transformed it.

    >>> check(True, "never")
    """
    if not is_array_like(pred) or aval_of(pred).shape or aval_of(pred).dtype != np.bool_:
        raise TypeError(f"{'debug_' * debug}check takes a scalar pred as argument, got {pred!r}. Expected a boolean scalar; "
                        "use jnp.all(...) for arrays.")
    if not isinstance(msg, str):
        raise TypeError(f"check takes a string as message, got {msg!r}")
    leaves, in_tree = tree.tree_flatten((fmt_args, fmt_kwargs))
    for leaf in leaves:
        if not is_array_like(leaf):
            raise TypeError("Formatting arguments to checkify.check need to be PyTrees of arrays, but got "
                            f"{leaf!r} of type {type(leaf)}.")
    check_p.bind(pred, *leaves, site=Site(FailedCheckError, Message(msg, in_tree)), debug=bool(debug))


def debug_check(pred: Any, msg: str, *fmt_args: Any, **fmt_kwargs: Any) -> None:
    """As `check`, for functions that are also called without checkify: there it does nothing.

    >>> debug_check(False, "only under checkify")
    """
    check(pred, msg, *fmt_args, debug=True, **fmt_kwargs)


def _eager(pred: Any, *payload: Any, site: Site, debug: bool) -> list[Any]:
    if not debug and not bool(pred):
        raise JaxRuntimeError(str(site.exception(payload)))
    return []


def _lowered(b: Any, pred: Any, *payload: Any, site: Site, debug: bool) -> list[Any]:
    if debug:
        return []
    if not config.experimental_unsafe_xla_runtime_errors:
        text = site.describe.text if isinstance(site.describe, Message) else site.category.__name__
        raise ValueError(NOT_FUNCTIONALIZED + text)

    def look(holds: Any, *values: Any) -> list[Any]:
        if not holds:
            raise errors.JaxRuntimeError(str(site.exception(values)))
        return []
    return b.callback(look, [pred, *payload], [])


def _batch(size: int, args: Sequence[Any], dims: Sequence[int | None], **params: Any) -> tuple[list[Any], list[Any]]:
    """The condition for all elements, with the values of the first that fails."""
    pred, *payload = [a if d is None else moveaxis(a, d, 0) for a, d in zip(args, dims, strict=True)]
    which: Any = 0
    if dims[0] is not None:
        which = argmin(pred, 0, np.int32)
        pred = reduce_and_p.bind(pred, axes=(0,))
    values = [x if d is None else dynamic_index_in_dim(x, which, 0, keepdims=False)
              for x, d in zip(payload, dims[1:], strict=True)]
    check_p.bind(pred, *values, **params)
    return [], []


def _jvp(primals: Sequence[Any], tangents: Sequence[Any], **params: Any) -> tuple[list[Any], list[Any]]:
    check_p.bind(*primals, **params)
    return [], []


check_p = Op(
    name="check",
    params=("site", "debug"),
    multiple=True,
    abstract=lambda *avals, **_: [],
    eager=_eager,
    jvp=_jvp,
    transpose=lambda cts, *args, **_: [None] * len(args),
    batch=_batch,
    cpu=_lowered,
    hlo=_lowered,
    effects=lambda site, debug: frozenset({CHECK}),
    traits=EXACT,
    functions=frozenset({"site"}),
    samples=Missing("has no results; tests/api/test_checkify.py"),
)
