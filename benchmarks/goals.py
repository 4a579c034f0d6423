"""What each measurement is called, what it belongs to, and what is asked of it."""
from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Goal:
    """A measurement's group and title, and what is asked: at most `seconds`, or at most `share` of JAX's time."""

    group: str
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
    "import_package": Goal("start", "import, over import numpy", seconds=60e-3),
    "trace_thousand": Goal("start", "make_jaxpr of 1,000 operations", share=0.5),
    "first_call_small": Goal("start", "first call of jit(lambda x: x + 1)", seconds=10e-3),
    "first_call_mlp_gradient": Goal("start", "first call of jit(grad(mlp))", share=1 / 3),
    "cached_call": Goal("dispatch", "cached jit call, one array of 8", share=0.5),
    "eager_add": Goal("dispatch", "x + x outside of jit, 8 elements", share=0.5),
    "lorenz": Goal("loops", "Lorenz RK4 by scan, 100,000 steps", share=1.0),
    "lorenz_gradient": Goal("loops", "its gradient, 1,000 steps", share=1.0),
    "heat": Goal("loops", "heat equation, 512 x 512, 100 steps", share=1.0),
    "rnn_gradient": Goal("loops", "gradient of a recurrent net, 100 steps", share=1.0),
    "gelu": Goal("elementwise", "gelu, 4 million", share=1.0),
    "gelu_gradient": Goal("elementwise", "gradient of gelu, 4 million", share=1.0),
    "sines": Goal("elementwise", "sin x cos x, 1 million float64", share=1.0),
    "normals": Goal("elementwise", "random.normal, 4 million", share=1.0),
    "softmax": Goal("reductions", "softmax of rows, 4,000 x 1,000", share=1.0),
    "sum_columns": Goal("reductions", "sums of columns, 4,000 x 1,000", share=1.0),
    "prefix_sums": Goal("reductions", "cumsum, 4 million", share=1.0),
    "matmul": Goal("matrices", "1,024 x 1,024 product", share=1.0),
    "attention": Goal("matrices", "attention, 4 x 8 x 256 x 64", share=1.0),
    "small_systems": Goal("matrices", "10,000 systems of 4 equations", share=1.0),
    "cholesky": Goal("matrices", "Cholesky, 500 x 500", share=1.0),
    "sort": Goal("data", "sort, 1 million", share=1.0),
    "gather": Goal("data", "x[i], 4 million at random", share=1.0),
    "scatter_add": Goal("data", ".at[i].add, 4 million to 1,000", share=1.0),
}


def show(seconds: float) -> str:
    """A time with a unit that suits it."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"
