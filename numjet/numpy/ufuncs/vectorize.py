"""`vectorize`: broadcasting of functions of arrays of fixed ranks, by vmap."""
from __future__ import annotations

import functools
import re
from collections.abc import Callable, Collection
from typing import Any

from numjet.api.vmap import vmap
from numjet.lax.shape import rearrange
from numjet.numpy.core.arrays import asarray
from numjet.numpy.core.promotion import array_arg, check_arraylike, report_rank_promotion

_NAME = r"[\w]+"
_DIMS = rf"\((?:{_NAME}(?:,{_NAME})*)?\)"
_SIGNATURE = rf"^(?:{_DIMS}(?:,{_DIMS})*)?->{_DIMS}(?:,{_DIMS})*$"
Dims = tuple[str, ...]


def parse(signature: str) -> tuple[list[Dims], list[Dims]]:
    """Names of the axes of arguments and results in `(n,m),(m)->(n)`."""
    text = signature.replace(" ", "")
    if not re.match(_SIGNATURE, text):
        raise ValueError(f"not a valid gufunc signature: {signature}; expected one like '(n,m),(m)->(n)'")
    sides = [[tuple(d.split(",")) if d else () for d in re.findall(r"\((.*?)\)", side)] for side in text.split("->")]
    return sides[0], sides[1]


def bind_sizes(sizes: dict[str, int], found: tuple[int, ...], names: Dims, hint: str) -> None:
    if len(found) < len(names):
        raise ValueError(f"input with shape {found} does not have enough dimensions for all core dimensions {names} {hint}")
    for name, n in zip(names, found[len(found) - len(names):], strict=True):
        if name.isdigit() and int(name) != n:
            raise ValueError(f"size {n} of a core dimension does not match {name} in the signature {hint}")
        if sizes.setdefault(name, n) != n:
            raise ValueError(f"inconsistent size for core dimension {name!r}: {n} vs {sizes[name]} {hint}")


def checked(fn: Callable[..., Any], sizes: dict[str, int], names: list[Dims], hint: str) -> Callable[..., Any]:
    """fn, with the shapes of its results compared with the signature."""
    def wrapped(*args: Any) -> Any:
        out = fn(*args)
        outs = out if isinstance(out, tuple) else (out,)
        if len(names) > 1 and not isinstance(out, tuple):
            raise TypeError(f"output must be a tuple when multiple outputs are expected, got: {out!r} {hint}")
        if len(outs) != len(names):
            raise TypeError(f"wrong number of output arguments: expected {len(names)}, got {len(outs)} {hint}")
        known = dict(sizes)
        for x, dims in zip(outs, names, strict=True):
            x = array_arg("vectorize", x)
            if len(x.shape) != len(dims):
                raise ValueError(f"output shape {x.shape} does not match core dimensions {dims} {hint}")
            bind_sizes(known, x.shape, dims, hint)
        return out
    return wrapped


def _fix(pyfunc: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any],
         excluded: frozenset[Any]) -> tuple[Callable[..., Any], list[Any]]:
    """The function of the arguments that are vectorized, and these arguments."""
    free = [i for i in range(len(args)) if i not in excluded]
    names = [k for k in kwargs if k not in excluded]

    def fixed(*values: Any) -> Any:
        placed = list(args)
        for i, v in zip(free, values, strict=False):
            placed[i] = v
        named = dict(kwargs) | dict(zip(names, values[len(free):], strict=True))
        return pyfunc(*placed, **named)
    return fixed, [*(args[i] for i in free), *(kwargs[k] for k in names)]


def vectorize(pyfunc: Callable[..., Any], *, excluded: Collection[int | str] = frozenset(),
              signature: str | None = None) -> Callable[..., Any]:
    """A function of numbers, or of arrays as `signature` says, applied over all other axes of its arguments, broadcast.

    signature: ranks of arguments and results, such as "(n),(n)->()". excluded: positions and names of arguments that are
    handed on as they are, as None is wherever the signature asks for a number; lists among the others become arrays. Raises
    ValueError or TypeError where arguments do not fit the signature.

    >>> import numjet.numpy as jnp
    >>> rowsum = vectorize(jnp.sum, signature="(n)->()")
    >>> rowsum(jnp.ones((2, 3))).tolist()
    [3.0, 3.0]
    """
    if any(not isinstance(e, (int, str)) for e in excluded):
        raise TypeError(f"jax.numpy.vectorize can only exclude integer or string arguments, but {excluded=}: expected "
                        "positions and names")
    if any(isinstance(e, int) and e < 0 for e in excluded):
        raise ValueError(f"jnp.vectorize: excluded={excluded!r} contains negative numbers")
    without = frozenset(excluded)
    hint = f"on vectorized function with excluded={without!r} and signature={signature!r}"
    parsed = None if signature is None else parse(signature)

    @functools.wraps(pyfunc, assigned=("__module__", "__name__", "__qualname__", "__doc__", "__annotations__"), updated=())
    def wrapped(*args: Any, **kwargs: Any) -> Any:
        fn, given = _fix(pyfunc, args, kwargs, without)
        fn, given, inputs = _without_nones(fn, given, parsed and parsed[0], signature)
        given = [asarray(x) if isinstance(x, (list, tuple)) else x for x in given]
        check_arraylike("vectorize", *given)
        arrays = [array_arg("vectorize", x, i) for i, x in enumerate(given)]
        if len(inputs) != len(arrays):
            raise TypeError(f"wrong number of positional arguments: expected {len(inputs)}, got {len(arrays)} {hint}")
        sizes: dict[str, int] = {}
        for x, dims in zip(arrays, inputs, strict=True):
            bind_sizes(sizes, x.shape, dims, hint)
        core = fn if parsed is None else checked(fn, sizes, parsed[1], hint)
        ranks = [len(d) for d in inputs]
        _check_leading_ranks(arrays, ranks, signature)
        return _over_batch(core, arrays, ranks)
    return wrapped


def _without_nones(fn: Callable[..., Any], args: list[Any], inputs: list[Dims] | None,
                   signature: str | None) -> tuple[Callable[..., Any], list[Any], list[Dims]]:
    """The function of the arguments other than None, these arguments, and the names of their axes."""
    dims: list[Dims] = [()] * len(args) if inputs is None else inputs
    nones = {i for i, x in enumerate(args) if x is None}
    if not nones or len(dims) != len(args):
        return fn, args, dims
    if any(dims[i] for i in nones):
        raise ValueError(f"Cannot pass None at locations {nones} with {signature=}: an array is needed there")
    fixed, given = _fix(fn, tuple(args), {}, frozenset(nones))
    return fixed, given, [d for i, d in enumerate(dims) if i not in nones]


def _check_leading_ranks(arrays: list[Any], ranks: list[int], signature: str | None) -> None:
    """Warns or raises, as jax_numpy_rank_promotion says, when arrays (not scalars) differ in the number of axes mapped over."""
    if len({x.ndim - r for x, r in zip(arrays, ranks, strict=True) if x.ndim}) > 1:
        text = (f"operands with shapes {[x.shape for x in arrays]} require rank promotion for jnp.vectorize function with "
                f"signature {signature}. ")
        report_rank_promotion(text + "Give them equally many axes before those of the signature, for example with x[None], or "
                              "set the jax_numpy_rank_promotion config option to 'allow'.",
                              text + "Set the jax_numpy_rank_promotion config option to 'allow' to silence this warning.")


def _over_batch(fn: Callable[..., Any], arrays: list[Any], ranks: list[int]) -> Any:
    """fn under one vmap for each axis before the core ones, the last first; axes of size 1 are dropped, not mapped."""
    leads = [x.shape[:x.ndim - r] for x, r in zip(arrays, ranks, strict=True)]
    target = rearrange.broadcast_shapes(*leads)
    rank = len(target)
    mapped = [[False] * (rank - len(s)) + [n != 1 or target[rank - len(s) + i] == 1 for i, n in enumerate(s)] for s in leads]
    kept = [rearrange.squeeze(x, [i for i in range(len(s)) if not m[rank - len(s) + i]]) if len(s) else x
            for x, s, m in zip(arrays, leads, mapped, strict=True)]
    for axis in reversed(range(rank)):
        fn = vmap(fn, in_axes=tuple(0 if m[axis] else None for m in mapped), axis_size=target[axis])
    return fn(*kept)
