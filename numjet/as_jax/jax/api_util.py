"""`jax.api_util`: functions on flat arguments that libraries use."""
from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from numjet.api.arguments import debug_info as _debug_info, numbers_tuple
from numjet.api.stages import abstract as shaped_abstractify  # noqa: F401
from numjet.as_jax.jax._src.util import safe_map as safe_map
from numjet.core.stage import DebugInfo
from numjet.foundation.linear_util import Store, WrappedFun, transformation2, transformation_with_aux2
from numjet.foundation.tree import PyTreeDef, tree_flatten, tree_unflatten
from numjet.foundation.tree.prefix import flatten_axes as _flatten_axes


def debug_info(traced_for: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], *,
               static_argnums: Sequence[int] = (), static_argnames: Sequence[str] = (), result_paths_thunk: Any = None,
               sourceinfo: str | None = None, signature: inspect.Signature | None = None) -> DebugInfo:
    """The function being traced, for messages: its name and place, and an expression for each leaf of its arguments.

    What else JAX is told about the function is for its messages, and makes none here.
    """
    dynamic = {name: value for name, value in kwargs.items() if name not in static_argnames}
    return _debug_info(traced_for, fun, args, dynamic, static_argnums)


@transformation_with_aux2
def flatten_fun(f: Callable[..., Any], store: Store, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """The function of the leaves of (args, kwargs), which gives the leaves of its result; and the tree of the result."""
    args, kwargs = tree_unflatten(in_tree, leaves)
    out, tree = tree_flatten(f(*args, **kwargs))
    store.store(tree)
    return out


@transformation_with_aux2
def flatten_fun_nokwargs(f: Callable[..., Any], store: Store, in_tree: PyTreeDef, *leaves: Any) -> list[Any]:
    """As flatten_fun, for the leaves of args."""
    out, tree = tree_flatten(f(*tree_unflatten(in_tree, leaves)))
    store.store(tree)
    return out


def flatten_axes(name: str, treedef: PyTreeDef, axis_tree: Any, *, kws: bool = False, tupled_args: bool = False) -> list[Any]:
    """An entry of axis_tree, which is a prefix of the tree, for each leaf. kws, tupled_args: what the tree is, for messages."""
    return _flatten_axes(name, treedef, axis_tree)


@transformation2
def _with_fixed(f: Callable[..., Any], positions: tuple[int, ...], fixed: tuple[Any, ...], *dynamic: Any, **kwargs: Any) -> Any:
    given, rest = iter(dynamic), iter(fixed)
    return f(*[next(given) if n in positions else next(rest) for n in range(len(positions) + len(fixed))], **kwargs)


def argnums_partial(f: WrappedFun, dyn_argnums: int | Sequence[int], args: Sequence[Any],
                    require_static_args_hashable: bool = True) -> tuple[WrappedFun, tuple[Any, ...]]:
    """The function of some of its positional arguments, and these. Raises ValueError if one of the others is not hashable."""
    positions = tuple(n % len(args) for n in numbers_tuple(dyn_argnums))
    fixed = tuple(a for n, a in enumerate(args) if n not in positions)
    for value in fixed if require_static_args_hashable else ():
        try:
            hash(value)
        except TypeError:
            raise ValueError(f"Non-hashable static arguments are not supported: {value!r} of type {type(value).__name__}. Pass "
                             "a tuple in place of a list, or make the argument dynamic.") from None
    return _with_fixed(f, positions, fixed), tuple(args[n] for n in sorted(positions))


def donation_vector(donate_argnums: Iterable[int], donate_argnames: Iterable[str], in_tree: PyTreeDef, kws: bool = True
                    ) -> tuple[bool, ...]:
    """Whether each leaf of the arguments, (args, kwargs), or args without kws, is donated."""
    numbers, names = set(donate_argnums), set(donate_argnames)
    args, named = in_tree.children() if kws else (in_tree, None)
    found = [n in numbers for n, arg in enumerate(args.children()) for _ in range(arg.num_leaves)]
    if named is not None:
        given = zip(named.child_keys(), named.children(), strict=True)
        found += [key.key in names for key, arg in given for _ in range(arg.num_leaves)]
    return tuple(found)


def rebase_donate_argnums(donate_argnums: Iterable[int], static_argnums: Iterable[int]) -> tuple[int, ...]:
    """The positions of donated arguments among those that are not static. Raises ValueError for one that is both."""
    donated, static = sorted(donate_argnums), sorted(static_argnums)
    both = sorted(set(donated) & set(static))
    if both:
        raise ValueError(f"donate_argnums={tuple(donated)} and static_argnums={tuple(static)} cannot intersect: both have "
                         f"{both}")
    return tuple(n - sum(s < n for s in static) for n in sorted(set(donated)))
