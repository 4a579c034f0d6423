"""Split differentiation: the forward pass and the backward pass of a function as two functions, each compiled once."""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from numjet.api.arguments import argument_numbers, check_callable
from numjet.api.grad import vjp
from numjet.api.jit import jit
from numjet.foundation.util import replace_at, wraps


def fwd_and_bwd(fun: Callable[..., Any], argnums: int | Sequence[int], has_aux: bool = False, jitted: bool = True
                ) -> tuple[Callable[..., Any], Callable[..., Any]]:
    """The forward and the backward pass of `fun`: fwd(*args) gives the value and residuals, bwd(residuals, cotangent) the
    cotangents of the arguments in argnums.

    Residuals are a pytree of arrays, so that both may be jitted, as they are by default. The function that `vjp` returns
    belongs to one call, and is compiled again for each.

    Args:
      argnums: which positional argument, or arguments, to differentiate with respect to.
      has_aux: `fun` returns a pair of a value and auxiliary data, which fwd returns third.
      jitted: whether to compile both.

    >>> import numjet as nj
    >>> fwd, bwd = nj.fwd_and_bwd(lambda x, y: x * y, argnums=(0, 1))
    >>> value, residuals = fwd(2.0, 3.0)
    >>> print(value, *bwd(residuals, 1.0))
    6.0 3.0 2.0
    """
    check_callable(fun)
    argnums, nums = argument_numbers(argnums)

    def fwd(*args: Any, **kwargs: Any) -> Any:
        partial = wraps(fun)(lambda *xs: fun(*replace_at(args, nums, xs), **kwargs))
        return vjp(partial, *[args[n] for n in nums], has_aux=has_aux)

    def bwd(residuals: Callable[..., Any], cotangent: Any) -> Any:
        found = residuals(cotangent)
        return found[0] if isinstance(argnums, int) else found
    return (jit(fwd), jit(bwd)) if jitted else (fwd, bwd)
