"""Functions of flat arguments with transformations around them, as writers of transformations compose them.

A transformation is a function `transform(f, *static, *args)` that calls f, or a generator that yields the arguments for the
function inside, gets its result, and yields the result. One with auxiliary output also gives a thunk, which holds that output
after the function ran.
"""
from __future__ import annotations

import functools
import weakref
from collections.abc import Callable as Function
from typing import Any


class StoreException(Exception):
    """Auxiliary output was read before the function ran, or written twice."""


class Store:
    """The auxiliary output of one run."""

    __slots__ = ("_value",)

    def __init__(self) -> None:
        self._value: list[Any] = []

    def store(self, value: Any) -> None:
        if self._value:
            raise StoreException("the auxiliary output is already there: wrap the function anew for every run")
        self._value.append(value)

    def reset(self) -> None:
        """Forgets the output, so that the function can run again."""
        self._value.clear()

    @property
    def val(self) -> Any:
        if not self._value:
            raise StoreException("the auxiliary output is not there: the function has not run")
        return self._value[0]

    def __call__(self) -> Any:
        return self.val

    def __bool__(self) -> bool:
        return bool(self._value)


class WrappedFun:
    """A function with transformations around it. `call_wrapped(*args)` runs the outermost one."""

    __slots__ = ("f", "f_transformed", "transforms", "stores", "params", "in_type", "debug_info", "__weakref__")

    def __init__(self, f: Function[..., Any], f_transformed: Function[..., Any] | None = None,
                 transforms: tuple[Any, ...] = (), stores: tuple[Any, ...] = (), params: tuple[Any, ...] = (),
                 in_type: Any = None, debug_info: Any = None):
        self.f = f
        self.f_transformed = functools.partial(f, **dict(params)) if f_transformed is None else f_transformed
        self.transforms, self.stores, self.params = transforms, stores, params
        self.in_type, self.debug_info = in_type, debug_info

    @property
    def __name__(self) -> str:
        return getattr(self.f, "__name__", type(self.f).__name__)

    def wrap(self, transform: Function[..., Any], static: tuple[Any, ...], store: Store | None,
             gen: Function[..., Any] | None = None) -> WrappedFun:
        """The function with one more transformation around it, outside of the others. gen: the user's function, by which
        wrapped functions are compared (default: transform)."""
        stored = () if store is None else (store,)
        inner = functools.partial(transform, self.f_transformed, *stored, *static)
        return WrappedFun(self.f, inner, ((gen or transform, static), *self.transforms), (store, *self.stores), self.params,
                          None, self.debug_info)

    def call_wrapped(self, *args: Any, **kwargs: Any) -> Any:
        """The result of the function with all transformations."""
        return self.f_transformed(*args, **kwargs)

    def with_unknown_names(self) -> WrappedFun:
        """The function itself: names of arguments are used in messages only."""
        return self

    def __repr__(self) -> str:
        return f"WrappedFun({self.__name__}, {len(self.transforms)} transformations)"

    def _key(self) -> tuple[Any, ...]:
        return self.f, self.transforms, self.params, self.in_type

    def __hash__(self) -> int:
        return hash(self._key())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, WrappedFun) and self._key() == other._key()


def wrap_init(f: Function[..., Any], params: dict[str, Any] | None = None, *, debug_info: Any = None) -> WrappedFun:
    """A function without transformations. params: keyword arguments of every call.

    >>> wrap_init(lambda x, y: x + y, {"y": 2}).call_wrapped(1)
    3
    """
    return WrappedFun(f, params=tuple(sorted((params or {}).items())), debug_info=debug_info)


def transformation2(gen: Function[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """`fun` inside of gen(f, *static, *args, **kwargs), which calls f. With `gen` alone: a decorator.

    >>> @transformation2
    ... def doubled(f, times, x):
    ...     return times * f(x)
    >>> doubled(wrap_init(abs), 2).call_wrapped(-3)
    6
    """
    if fun is None:
        return functools.partial(transformation2, gen)
    return fun.wrap(gen, gen_static_args, None)


def transformation_with_aux2(gen: Function[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any,
                             use_eq_store: bool = False, unk_names: bool = False) -> Any:
    """As transformation2; gen(f, store, *static, *args, **kwargs) calls store.store(aux). Gives (function, thunk of aux)."""
    if fun is None:
        return functools.partial(transformation_with_aux2, gen, use_eq_store=use_eq_store, unk_names=unk_names)
    store = EqualStore() if use_eq_store else Store()
    return fun.wrap(gen, gen_static_args, store), store


class EqualStore(Store):
    """The auxiliary output of runs that all give the same one."""

    __slots__ = ()

    def store(self, value: Any) -> None:
        if self._value and self._value[0] != value:
            raise StoreException(f"the auxiliary output of two runs differs: {self._value[0]} and {value}")
        self._value[:] = [value]


def transformation(gen: Function[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """`fun` inside of a generator gen(*static, *args) that yields (args, kwargs), gets the result, and yields the result."""
    if fun is None:
        return functools.partial(transformation, gen)

    def run(f: Function[..., Any], *args: Any, **kwargs: Any) -> Any:
        return _through(gen, f, args, kwargs)

    return fun.wrap(run, gen_static_args, None, gen)


def transformation_with_aux(gen: Function[..., Any], fun: WrappedFun | None = None, *gen_static_args: Any) -> Any:
    """As transformation, of a generator that yields (result, aux) at the end. Gives (function, thunk of aux)."""
    if fun is None:
        return functools.partial(transformation_with_aux, gen)

    def run(f: Function[..., Any], store: Store, *args: Any, **kwargs: Any) -> Any:
        result, aux = _through(gen, f, args, kwargs)
        store.store(aux)
        return result

    store = Store()
    return fun.wrap(run, gen_static_args, store, gen), store


def _through(gen: Function[..., Any], f: Function[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    running = gen(*args, **kwargs)
    inner_args, inner_kwargs = next(running)
    result = running.send(f(*inner_args, **inner_kwargs))
    running.close()
    return result


def merge_linear_aux(aux1: Function[[], Any], aux2: Function[[], Any]) -> tuple[bool, Any]:
    """The auxiliary output of the one of two functions that ran, after whether it was the first."""
    found = []
    for which, aux in ((True, aux1), (False, aux2)):
        try:
            found.append((which, aux()))
        except StoreException:
            pass
    if len(found) != 1:
        raise StoreException("neither function ran" if not found else "both functions ran")
    return found[0]


def cache(call: Function[..., Any], *, explain: Any = None) -> Function[..., Any]:
    """`call(fun, *args)` with its results kept as long as the function `fun.f` lives, by function and arguments.

    explain is for messages about misses, which are not made.
    """
    kept: weakref.WeakKeyDictionary[Any, dict[Any, Any]] = weakref.WeakKeyDictionary()

    @functools.wraps(call)
    def cached(fun: WrappedFun, *args: Any) -> Any:
        known = kept.setdefault(fun.f, {})
        key = (fun.transforms, fun.params, fun.in_type, args)
        if key not in known:
            known[key] = call(fun, *args), fun.stores
        result, stores = known[key]
        for mine, theirs in zip(fun.stores, stores, strict=True):
            if mine is not None and mine is not theirs and not mine:
                mine.store(theirs.val)
        return result

    cached.cache_clear = kept.clear  # type: ignore[attr-defined]
    return cached
