"""`platform_dependent`: branches by platform, chosen when a program is compiled for a backend.

The program holds all of them: a `cond` whose index is the operation `platform_index`, which each backend lowers to a
constant of its own. The others are not compiled.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from numjet.control.branches.cond import branch
from numjet.core.aval import ShapedArray
from numjet.core.op import ZERO, Missing, Op
from numjet.core.traits import EXACT, KEEPS_APART

Platforms = tuple[tuple[str, ...] | None, ...]
_INDEX = ShapedArray((), np.dtype(np.int32))


def index_for(platforms: Platforms, *names: str) -> int:
    """The position of the branch for a backend with these names, the most specific one first; None stands for all.

    NotImplementedError when there is none.
    """
    for name in names:
        for k, group in enumerate(platforms):
            if group is not None and name in group:
                return k
    if None in platforms:
        return platforms.index(None)
    known = ", ".join(n for group in platforms for n in group or ())
    raise NotImplementedError(
        f"MLIR translation rule for primitive 'platform_index' not found for platform {names[0]}: platform_dependent has "
        f"functions for {known or 'none'} only. Pass {names[0]}=..., or default=... for all platforms that are not named."
    )


# Other names of XLA's platforms, the most specific one first.
_NAMES = {"cpu": ("xla_cpu", "cpu"), "cuda": ("cuda", "gpu"), "rocm": ("rocm", "gpu")}

platform_index_p = Op(
    name="platform_index",
    params=("platforms",),
    abstract=lambda *, platforms: _INDEX,
    eager=lambda *, platforms: np.asarray(index_for(platforms, "cpu"), np.int32),
    jvp=ZERO,
    transpose=Missing("it has no operands"),
    batch=Missing("it has no operands"),
    cpu=lambda b, *, platforms: b.constant(np.asarray(index_for(platforms, "cpu"), np.int32)),
    hlo=lambda b, *, platforms: b.constant(index_for(platforms, *_NAMES.get(b.platform, (b.platform,))), np.int32),
    traits=EXACT | KEEPS_APART,
    samples=Missing("it has no operands; tests/control/branches/test_platform.py"),
)


def platform_dependent(*args: Any, default: Callable[..., Any] | None = None, **per_platform: Callable[..., Any]) -> Any:
    """per_platform[p](*args), where p is the platform on which the program runs.

    All functions are traced and must give results of equal structure and types; a backend compiles its own only.

    Args:
      args: pytrees of arrays.
      default: the function for platforms that are not named.
      per_platform: a function by the platform's name: cpu=f, gpu=g, tpu=h. numjet's own backend is "cpu".

    Raises:
      TypeError: something is not callable; the functions disagree on the structure or types of their results.
      NotImplementedError: when compiled for a platform that has no function.

    >>> float(platform_dependent(2.0, cpu=lambda x: x + 1, default=lambda x: x))
    3.0
    """
    functions = {**per_platform, **({"default": default} if default is not None else {})}
    for name, fun in functions.items():
        if not callable(fun):
            raise TypeError(f"lax.platform_dependent: the '{name}' branch must be a callable, got {fun!r}")
    platforms: Platforms = tuple((name,) for name in per_platform) + ((None,) if default is not None else ())
    if not platforms:
        raise TypeError("lax.platform_dependent: expected at least one function, as default=... or by a platform's name")
    index = platform_index_p.bind(platforms=platforms)
    return branch("platform_dependent", index, list(functions.values()), [f"the function for {n}" for n in functions], args)
