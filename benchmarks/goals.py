"""What each measurement is called and what is asked of it."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A measurement's title, and what is asked: at most `seconds`, or at most `share` of JAX's time."""

    title: str
    seconds: float | None = None
    share: float | None = None

    def text(self) -> str:
        """The goal in words."""
        if self.seconds is not None:
            return f"at most {show(self.seconds)}"
        return "" if self.share is None else f"at most {self.share:.2g} of JAX"

    def met(self, ours: float, jax: float | None) -> bool | None:
        """Whether it is met; None when JAX's time is needed and not there."""
        if self.seconds is not None:
            return ours <= self.seconds
        return None if self.share is None or jax is None else ours <= self.share * jax


GOALS: dict[str, Goal] = {
    "first_call_small": Goal("first call of jit(lambda x: x + 1)", seconds=10e-3),
    "first_call_mlp_gradient": Goal("first call of jit(grad(mlp))", share=1 / 3),
    "cached_call": Goal("cached jit call, one array of 8", share=0.5),
    "eager_add": Goal("eager x + x, 8 elements", share=0.5),
    "lorenz": Goal("Lorenz RK4 by scan, 100,000 steps", share=1.0),
    "lorenz_gradient": Goal("gradient of Lorenz RK4, 1,000 steps", share=1.0),
    "trace_thousand": Goal("make_jaxpr of 1,000 operations", share=0.5),
    "import_package": Goal("import, over import numpy", seconds=60e-3),
}


def show(seconds: float) -> str:
    """A time with a unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
