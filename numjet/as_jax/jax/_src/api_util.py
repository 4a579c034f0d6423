"""Functions on flat arguments."""
import inspect
from collections.abc import Iterable

from numjet.api.arguments import names_tuple, numbers_tuple

from numjet.as_jax.jax.api_util import (
    argnums_partial as argnums_partial, debug_info as debug_info, donation_vector as donation_vector,
    flatten_axes as flatten_axes, flatten_fun as flatten_fun, flatten_fun_nokwargs as flatten_fun_nokwargs,
    rebase_donate_argnums as rebase_donate_argnums, shaped_abstractify as shaped_abstractify,
)


def infer_argnums_and_argnames(sig: inspect.Signature, argnums: int | Iterable[int] | None, argnames: str | Iterable[str] | None
                               ) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Numbers and names of the same parameters: where one is None, it is found by the other. Both as given, if both are."""
    nums, names = numbers_tuple(argnums), names_tuple(argnames)
    by_name = [(n, p.name) for n, p in enumerate(sig.parameters.values()) if p.kind is p.POSITIONAL_OR_KEYWORD]
    if argnames is None:
        names = tuple(name for n, name in by_name if n in nums)
    elif argnums is None:
        nums = tuple(n for n, name in by_name if name in names)
    return nums, names
