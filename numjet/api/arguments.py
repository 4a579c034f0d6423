"""Arguments of a user's function: names, static ones, pytrees in and out."""
from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from types import FunctionType
from typing import Any

from numjet.core import hooks
from numjet.core.refs import Ref, returned_ref
from numjet.core.snapshots import frozen
from numjet.core.stage import DebugInfo, ResultTree, StageTrace
from numjet.core.trace import aval_of, current_trace, is_array_like
from numjet.core.user_functions import where
from numjet.foundation.config import config
from numjet.foundation.source import of_function
from numjet.foundation.tree import PyTreeDef, keystr, tree_flatten, tree_flatten_with_path, tree_structure, tree_unflatten
from numjet.foundation.util import function_name
from numjet.runtime.dispatch import as_array

_MOST_NAMES = 1024


def argument_numbers(argnums: int | Iterable[int]) -> tuple[int | tuple[int, ...], tuple[int, ...]]:
    """The numbers of positional arguments as ints, one or a tuple as they are given; and as a tuple. TypeError for others.

    >>> argument_numbers(1), argument_numbers([0, 2])
    ((1, (1,)), ((0, 2), (0, 2)))
    """
    try:
        one = operator.index(argnums)  # type: ignore[arg-type]
    except TypeError:
        several = tuple(map(operator.index, argnums))  # type: ignore[arg-type]
        return several, several
    return one, (one,)


def numbers_tuple(argnums: int | Iterable[int] | None) -> tuple[int, ...]:
    """None, one or several argument numbers as a tuple of ints. TypeError for what does not stand for an integer.

    >>> numbers_tuple(1), numbers_tuple(None)
    ((1,), ())
    """
    return () if argnums is None else argument_numbers(argnums)[1]


def names_tuple(argnames: str | Iterable[str] | None) -> tuple[str, ...]:
    """None, one or several argument names as a tuple. TypeError for what is no name."""
    names = () if argnames is None else (argnames,) if isinstance(argnames, str) else tuple(argnames)
    for name in names:
        if not isinstance(name, str):
            raise TypeError(f"Argument names must be strings, got {name!r}")
    return names


def signature(fun: Callable[..., Any]) -> inspect.Signature | None:
    """The signature, where Python knows it."""
    try:
        return inspect.signature(fun)
    except (ValueError, TypeError):
        return None


def resolve_static(fun: Callable[..., Any], argnums: Any, argnames: Any, what: str = "static"
                   ) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Non-negative argument numbers and the names of the same arguments; either may be inferred from the other.

    Raises ValueError for numbers or names that the function does not have.
    """
    sig = signature(fun)
    nums, names = numbers_tuple(argnums), names_tuple(argnames)
    if sig is None:
        if names and not nums:
            raise ValueError(f"Getting the signature of function {fun} failed. Pass {what}_argnums instead of {what}_argnames.")
        return nums, names
    parameters = list(sig.parameters.values())
    positional = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    variadic = any(p.kind == p.VAR_POSITIONAL for p in parameters)
    keywords = any(p.kind == p.VAR_KEYWORD for p in parameters)
    nums = tuple(_check_argnum(n, len(positional), variadic, what, fun) for n in nums)
    known = {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    others = {p.name for p in parameters} - known  # which cannot be passed by name
    for name in names:
        if name in others or (name not in known and not keywords):
            raise ValueError(f"Jitted function has invalid argnames {{{name!r}}} in {what}_argnames. Function does not take "
                             f"these args. {function_name(fun)} takes {sorted(known)}.")
    if argnames is None:
        names = tuple(positional[n].name for n in nums if 0 <= n < len(positional)
                      and positional[n].kind == inspect.Parameter.POSITIONAL_OR_KEYWORD)
    elif argnums is None:
        by_name = {p.name: k for k, p in enumerate(positional)}
        nums = tuple(dict.fromkeys([*nums, *[by_name[n] for n in names if n in by_name]]))
    return nums, names


def _check_argnum(n: int, count: int, variadic: bool, what: str, fun: Callable[..., Any]) -> int:
    if variadic and n < 0:
        return n  # counts from the end of each call's arguments: see placed
    if variadic or -count <= n < count:
        return n if n >= 0 else n + count
    raise ValueError(f"Jitted function has {what}_argnums={(n,)}, but only accepts {count} positional arguments: "
                     f"{function_name(fun)}.")


def placed(nums: Sequence[int], count: int) -> tuple[int, ...]:
    """Argument numbers for a call with `count` positional arguments: those from the end, counted from the start.

    Raises ValueError for numbers from the end that reach beyond the start.

    >>> placed((0, -1), 3)
    (0, 2)
    """
    for n in nums:
        if n < -count:
            raise ValueError("Positional argument indices, e.g. for `static_argnums`, must have value greater than or equal to "
                             f"-len(args) and less than len(args), but got value {n} for len(args) == {count}.")
    return tuple(n + count if n < 0 else n for n in nums)


_names: dict[Any, tuple[str, ...]] = {}


def path_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any],
               skip: Sequence[int] = ()) -> tuple[str, ...]:
    """The expression of every leaf of the arguments, as a user would write it, such as "params['w'][0]".

    Those of a plain function depend on its code and on the structure of the arguments: a gradient outside of jit, which is
    traced at each call, finds them.
    """
    if type(fun) is not FunctionType or fun.__dict__:
        return _path_names(fun, args, kwargs, skip)
    key = fun.__code__, tree_structure((tuple(args), kwargs)), tuple(skip)
    try:
        found = _names.get(key)
    except TypeError:   # a structure without a hash
        return _path_names(fun, args, kwargs, skip)
    if found is None:
        if len(_names) >= _MOST_NAMES:
            _names.clear()
        found = _names[key] = _path_names(fun, args, kwargs, skip)
    return found


def _path_names(fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any], skip: Sequence[int]) -> tuple[str, ...]:
    sig = signature(fun)
    names = [p.name for p in sig.parameters.values()
             if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)] if sig else []
    rest = next((p.name for p in sig.parameters.values() if p.kind is p.VAR_POSITIONAL), "args") if sig else "args"
    found: list[str] = []
    for k, arg in enumerate(args):
        if k not in skip:
            name = names[k] if k < len(names) else f"{rest}[{k - len(names)}]"
            found += [name + keystr(path) for path, _ in tree_flatten_with_path(arg)[0]]
    more = next((p.name for p in sig.parameters.values() if p.kind is p.VAR_KEYWORD), "kwargs") if sig else "kwargs"
    for key in sorted(kwargs):
        key_name = key if sig and key in sig.parameters else f"{more}[{key!r}]"
        found += [key_name + keystr(path) for path, _ in tree_flatten_with_path(kwargs[key])[0]]
    return tuple(found)


def debug_info(kind: str, fun: Callable[..., Any], args: Sequence[Any], kwargs: dict[str, Any],
               skip: Sequence[int] = (), results: ResultTree | None = None) -> DebugInfo:
    """The function being traced, for error messages. results: where the structure of its result will be."""
    code = getattr(inspect.unwrap(fun, stop=lambda f: hasattr(f, "__code__")), "__code__", None)
    name = function_name(fun)
    if code is None:
        return DebugInfo(name, kind, arg_names=path_names(fun, args, kwargs, skip), results=results)
    return DebugInfo(name, kind, code.co_filename, code.co_firstlineno, path_names(fun, args, kwargs, skip), results=results)


def check_callable(fun: Any) -> None:
    if not callable(fun):
        raise TypeError(f"Expected a callable value, got {fun!r}")
    if isinstance(fun, staticmethod):
        raise TypeError(f"staticmethod arguments are not supported, got {fun!r}: put @staticmethod in front of the "
                        "decorator")
    if inspect.isgeneratorfunction(fun):
        raise TypeError(f"Expected a function, got a generator function: {of_function(fun)}. It runs when its items are asked "
                        "for, after tracing; return a list of them instead.")


def check_tracing(fun: Callable[..., Any], kind: str) -> None:
    """RuntimeError where the flag jax_no_tracing forbids to trace."""
    if config.no_tracing:
        raise RuntimeError(f"re-tracing function {where(fun)} for `{kind}`, but 'no_tracing' is set: it was not called with "
                           "arguments of these types before, or its trace was dropped")


def check_arrays(leaves: Sequence[Any], names: Callable[[], Sequence[str]], what: str) -> None:
    """Raises TypeError for leaves that are no arrays, OverflowError for ints that do not fit, naming the argument's path."""
    for k, leaf in enumerate(leaves):
        if not is_array_like(leaf):
            raise TypeError(f"Error interpreting argument to {what} as an abstract array. The problematic value is of type "
                            f"{type(leaf)} and was passed to the function at path {names()[k]}. Argument {leaf!r:.200} of type "
                            f"{type(leaf)} is not a valid JAX type: expected an array or a scalar. Mark what is neither as "
                            "static (static_argnums), or close over it.")
        try:
            aval_of(leaf)
        except OverflowError as error:
            raise OverflowError(f"An overflow was encountered while parsing an argument to {what}, whose argument path is "
                                f"{names()[k]}. Got {type(leaf)} with value {leaf}. {error}") from None


def as_values(leaves: Sequence[Any], names: Callable[[], Sequence[str]], what: str) -> list[Any]:
    """The leaves as immutable values, Python scalars as (weakly typed) arrays: derivative rules compute with them."""
    check_arrays(leaves, names, what)
    return [as_array(x) if type(x) in (bool, int, float, complex) else frozen(x) for x in leaves]


def flat_function(fun: Callable[..., Any], in_tree: PyTreeDef) -> tuple[Callable[..., list[Any]], list[PyTreeDef]]:
    """`fun(*args)` as a function of the leaves of args, and the list that will hold the tree of its result."""
    from_leaves: list[PyTreeDef] = []

    def flat(*leaves: Any) -> list[Any]:
        out = fun(*tree_unflatten(in_tree, leaves))
        return flatten_result(out, from_leaves, fun)
    return flat, from_leaves


class Auxiliary:
    """Auxiliary results of a function: any pytree, in which leaves that are no arrays stay as they are."""

    def __init__(self) -> None:
        self.tree: PyTreeDef | None = None
        self.leaves: list[Any] = []
        self.arrays: list[int] = []

    def take_apart(self, aux: Any) -> list[Any]:
        """The arrays in `aux`; the rest is kept here."""
        self.leaves, self.tree = tree_flatten(aux)
        self.arrays = [k for k, leaf in enumerate(self.leaves) if is_array_like(leaf)]
        found = [frozen(self.leaves[k]) for k in self.arrays]
        for k in self.arrays:
            self.leaves[k] = None  # tracers must not outlive their trace
        return found

    def rejoin(self, values: Sequence[Any]) -> Any:
        """The pytree with these values in place of its arrays."""
        leaves = list(self.leaves)
        for k, value in zip(self.arrays, values, strict=True):
            leaves[k] = value
        assert self.tree is not None
        return tree_unflatten(self.tree, leaves)


def flatten_result(out: Any, store: list[PyTreeDef], fun: Callable[..., Any], kind: str = "jit") -> list[Any]:
    """The leaves of a function's result; its tree goes to `store`. Raises TypeError for leaves that are no arrays."""
    paths, tree = tree_flatten_with_path(out)
    store[:] = [tree]
    for path, leaf in paths:
        if isinstance(leaf, Ref):
            raise returned_ref(leaf, where(fun), kind, keystr(path))
        if not is_array_like(leaf):
            at = f" at output component {keystr(path)}" if path else ""
            error = hooks.ResultAbove if type(leaf) in hooks.types_above else TypeError
            said = f"Output from batched function {leaf!r} is not a valid JAX type: " if kind == "vmap" else ""
            if getattr(type(leaf), "_stands_for_array", False):
                said += "A ShapeDtypeStruct does not have a value and cannot be used as a constant in a JAX function: "
            raise error(f"{said}function {of_function(fun)} returned a value of type {type(leaf)}{at}, which is not a "
                        "valid JAX type: expected arrays, scalars or pytrees of them.")
    if isinstance(current_trace(), StageTrace):  # which takes snapshots, one for each array
        return [leaf for _, leaf in paths]
    return [frozen(leaf) for _, leaf in paths]
