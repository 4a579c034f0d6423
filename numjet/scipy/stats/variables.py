"""Random variables of distributions, and their moments: made from formulas of the standard distribution."""
from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

import numjet.numpy as jnp
from numjet.foundation import dtypes
from numjet.numpy.core.promotion import promote_args_inexact
from numjet.scipy.stats.arguments import where_valid

_TITLES = {
    "mean": "The mean.", "var": "The variance.", "std": "The standard deviation.", "median": "The median.",
    "entropy": "The differential entropy, in nats.",
}


class Variable:
    """What samples and moments of one distribution are made from.

    module: that of the distribution. shapes: names of its shape parameters. example: their values in examples. valid: whether
    shape parameters are valid. scaled: whether there is a scale; counts have loc alone.
    """

    def __init__(self, module: str, shapes: Sequence[str] = (), example: Sequence[float] = (),
                 valid: Callable[..., Any] = lambda *shapes: True, scaled: bool = True) -> None:
        self._module, self._shapes, self._example = module, tuple(shapes), tuple(example)
        self._valid, self._scaled = valid, scaled
        self._title = module.rpartition(".")[2]

    def _arguments(self, name: str, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[list[Any], Any, Any]:
        """(shape parameters, loc, scale), NaN where they are not valid; TypeError for complex ones."""
        bound = self._signature().bind(*args, **kwargs)
        bound.apply_defaults()
        found = promote_args_inexact(f"{self._title}.{name}", *bound.arguments.values())
        if found[0].dtype in dtypes.COMPLEX:
            raise TypeError(f"{self._title}.{name} does not accept dtype {found[0].dtype}: parameters are real numbers")
        count = len(self._shapes)
        loc, scale = found[count], found[count + 1] if self._scaled else jnp.ones((), found[0].dtype)
        fine = (scale > 0) & self._valid(*found[:count])
        return list(found[:count]), where_valid(fine, loc), where_valid(fine, scale)

    def _signature(self, more: Sequence[inspect.Parameter] = ()) -> inspect.Signature:
        kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
        listed = [inspect.Parameter(s, kind) for s in self._shapes] + [inspect.Parameter("loc", kind, default=0)]
        listed += [inspect.Parameter("scale", kind, default=1)] if self._scaled else []
        return inspect.Signature([*listed, *more])

    def _published(self, name: str, function: Callable[..., Any], doc: str, more: Sequence[inspect.Parameter] = ()) -> Any:
        function.__module__, function.__name__, function.__qualname__ = self._module, name, name
        function.__doc__, function.__signature__ = doc, self._signature(more)  # type: ignore[attr-defined]
        return function

    def moment(self, name: str, formula: Callable[..., Any], value: float, root: bool = False) -> Callable[..., Any]:
        """A moment, median or entropy by the formula of shape parameters for loc = 0, scale = 1; `root`: std by that of var.

        value: the result for the example's parameters, loc = 0.5 and scale = 2.
        """
        def function(*args: Any, **kwargs: Any) -> Any:
            shapes, loc, scale = self._arguments(name, args, kwargs)
            standard = formula(*shapes)
            if name in ("mean", "median"):
                return loc + scale * standard
            if name == "entropy":
                return jnp.where(jnp.isnan(loc), loc, standard + jnp.log(scale))
            deviation = jnp.sqrt(standard) if root else standard
            return jnp.where(jnp.isnan(loc), loc, deviation * scale if name == "std" else standard * scale * scale)
        given = [*self._example, 0.5, *([2.0] if self._scaled else [])]
        call = f"{name}({', '.join(map(str, given))})"
        title = "The entropy, in nats." if name == "entropy" and not self._scaled else _TITLES[name]
        return self._published(name, function, f"{title} NaN for invalid parameters.\n\n"
                               f"    >>> round(float({call}), 3)\n    {value}\n    ")

    def samples(self, sampler: Callable[..., Any]) -> Callable[..., Any]:
        """rvs by sampler(key, *shape parameters, shape, dtype) of the standard distribution."""
        def function(*args: Any, size: Any = None, random_state: Any = None, **kwargs: Any) -> Any:
            name, random_state = f"{self._title}.rvs", key_of(f"{self._title}.rvs", random_state)
            shapes, loc, scale = self._arguments("rvs", args, kwargs)
            natural = np.broadcast_shapes(*(v.shape for v in (*shapes, loc, scale)))
            shape = natural if size is None else shape_of(size)
            fits = len(natural) <= len(shape) and all(
                n in (1, m) for n, m in zip(reversed(natural), reversed(shape), strict=False))
            if not fits:
                raise ValueError(f"{name}: size {shape} does not fit parameters of the shape {natural}")
            dtype = loc.dtype
            wide = np.dtype(np.float32) if dtype.itemsize == 2 else dtype
            found = sampler(random_state, *(jnp.astype(s, wide) for s in shapes), shape, wide)
            if not self._scaled:
                return jnp.astype(found, dtype) + loc
            return jnp.astype(found, dtype) * scale + loc
        example = "".join(f"{v}, " for v in self._example)
        more = [inspect.Parameter(n, inspect.Parameter.KEYWORD_ONLY, default=None) for n in ("size", "random_state")]
        return self._published("rvs", function, f"""Independent samples, floats.

    size: the shape of the result, static; default: that of the parameters, which broadcast to it. random_state: a key, as of
    numjet.random.key (TypeError for others: there is no global state). ValueError for a size that does not fit. NaN for
    invalid parameters.

    >>> from numjet import random
    >>> rvs({example}size=(3,), random_state=random.key(0)).shape
    (3,)
    """, more)


def key_of(name: str, random_state: Any) -> Any:
    """The argument random_state of rvs, which is a key; TypeError for seeds and NumPy's generators.

    >>> from numjet import random
    >>> key_of("norm.rvs", random.key(0)).shape
    ()
    """
    if random_state is None or isinstance(random_state, (int, np.integer, np.random.Generator, np.random.RandomState)):
        raise TypeError(f"{name}: expected a key as random_state, such as numjet.random.key(0), got {random_state!r}")
    return random_state


def shape_of(size: Any) -> tuple[int, ...]:
    """The argument size of rvs as a shape.

    >>> shape_of(3), shape_of((2, 3))
    ((3,), (2, 3))
    """
    return (int(size),) if isinstance(size, (int, np.integer)) else tuple(size)


EULER = 0.57721566490153286061
INFINITE = math.inf


def positive(*shapes: Any) -> Any:
    """Whether all parameters are positive.

    >>> bool(positive(jnp.ones(()), jnp.ones(())))
    True
    """
    out: Any = True
    for v in shapes:
        out = out & (v > 0)
    return out


def probability(p: Any) -> Any:
    """Whether p is within [0, 1].

    >>> bool(probability(jnp.ones(())))
    True
    """
    return (p >= 0) & (p <= 1)


def counts(sampler: Callable[..., Any]) -> Callable[..., Any]:
    """A sampler of numjet.random that returns integers, as a sampler of floats.

    >>> from numjet import random
    >>> counts(lambda key, p, shape: random.bernoulli(key, p, shape))(random.key(0), 1.0, (), np.dtype("float32")).dtype
    dtype('float32')
    """
    def sample(key: Any, *args: Any) -> Any:
        *shapes, shape, dtype = args
        found = sampler(key, *shapes, shape)
        return found if found.dtype in dtypes.FLOATING else jnp.astype(found, dtype)
    return sample
