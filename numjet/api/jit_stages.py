"""The stages of jitted functions: trace, lower, eval_shape and clear_cache as attributes of their class."""
from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numjet import _native
from numjet.foundation import lazy_import
from numjet.foundation.tree import tree_flatten, tree_unflatten

if TYPE_CHECKING:
    from numjet.api import aot
placement = lazy_import.Module("numjet.api.sharding.placement")

clear_native: Callable[[Any], None] = _native.JitFunction.clear_cache  # the entries of the native cache

# Functions that empty the caches of each living jitted function.
cache_clearers: weakref.WeakValueDictionary[int, Callable[[], None]] = weakref.WeakValueDictionary()


def add_stages(jitted: Any, state: Any) -> Any:
    """Gives a jitted function its stages: trace, lower, eval_shape, clear_cache."""
    def trace(*args: Any, **kwargs: Any) -> aot.Traced:
        """Traces the function for arguments, or for ShapeDtypeStructs in their place."""
        return state.traced(args, kwargs)

    def lower(*args: Any, **kwargs: Any) -> aot.Lowered:
        """trace(*args, **kwargs).lower()"""
        return trace(*args, **kwargs).lower()

    def shapes(*args: Any, **kwargs: Any) -> Any:
        """The shapes and dtypes of the result, and the shardings that jit's out_shardings name."""
        found = trace(*args, **kwargs).out_info
        outs = state.options.get("out_shardings")
        if outs is None:
            return found
        leaves, out_tree = tree_flatten(found)
        named = placement.Shardings(None, outs).of_results(out_tree)
        return tree_unflatten(out_tree, [x.update(sharding=s) for x, s in zip(leaves, named, strict=True)])

    def clear_cache() -> None:
        """Drops all traces and compiled programs of this function."""
        state.forget()
        alive = this()
        if alive is not None:
            clear_native(alive)
    this = state.native = weakref.ref(jitted)  # a function that held itself would stay until garbage is collected
    cache_clearers[id(jitted)] = clear_cache  # lives as long as the function, whose attribute it is
    jitted._jit_stages = {"trace": trace, "lower": lower, "eval_shape": shapes, "clear_cache": clear_cache}
    return jitted


class _Stage:
    """A stage of jitted functions as an attribute of their class. functools.wraps copies what instances have, and a wrapper
    that had the stages of the function that it wraps would lower another function than it calls."""

    def __init__(self, name: str, native: Any):
        self.name, self.native = name, native   # the class's own attribute, of functions that have no stages

    def __get__(self, jitted: Any, kind: type | None = None) -> Any:
        if jitted is None:
            return self if self.native is None else self.native
        try:
            return jitted._jit_stages[self.name]
        except AttributeError:
            if self.native is not None:
                return self.native.__get__(jitted, kind)
            raise AttributeError(f"{jitted!r} has no attribute {self.name!r}") from None


for _name in ("trace", "lower", "eval_shape", "clear_cache"):
    setattr(_native.JitFunction, _name, _Stage(_name, getattr(_native.JitFunction, _name, None)))
