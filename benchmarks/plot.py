"""The table as a picture: one row per measurement, times on a log scale."""
from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.goals import GOALS, show

OURS, JAX, LINE = "#2a7f62", "#c98a1b", "#dddddd"


def save(ours: dict[str, float], jax: dict[str, float], path: str | Path) -> None:
    """Writes a PNG; `jax` may be empty."""
    figure = Figure(figsize=(10, 0.62 * len(ours) + 1.4), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for row, name in enumerate(ours):
        pair = [ours[name], *([jax[name]] if name in jax else [])]
        axes.plot(pair, [row] * len(pair), color=LINE, linewidth=4, zorder=1, solid_capstyle="round")
        for value, colour in zip(pair, (OURS, JAX), strict=False):
            axes.plot(value, row, "o", color=colour, markersize=9)
            left = value == min(pair)
            axes.annotate(show(value), (value, row), (-9 if left else 9, 0), textcoords="offset points", color=colour,
                          ha="right" if left else "left", va="center", fontsize=9)
    axes.set_yticks(range(len(ours)), [GOALS[name].title for name in ours])
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="seconds")
    low, high = min([*ours.values(), *jax.values()]), max([*ours.values(), *jax.values()])
    axes.set_xlim(low / 12, high * 12)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)
    axes.plot([], [], "o", color=OURS, label="numjet")
    if jax:
        axes.plot([], [], "o", color=JAX, label="JAX")
    axes.legend(loc="upper left", bbox_to_anchor=(0, 1.1), ncols=2, frameon=False)
    figure.savefig(path, dpi=120)
