"""The table as a picture: one row per measurement, in groups, times on a log scale, and how many times as fast as JAX."""
from __future__ import annotations

from pathlib import Path
from typing import Any

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

from benchmarks.goals import GOALS, show
from benchmarks.run import Times

STYLES = {"numjet": ("numjet", "#1f7a5c", "o", 8.5), "jax": ("JAX", "#d08a1d", "o", 8.5),
          "numpy": ("NumPy", "#8a8a8a", "D", 5.0)}
LINE, BAND, GOOD, BAD = "#d9d9d9", "#f5f5f2", "#1f7a5c", "#b04a2f"
GAP = 1.0   # rows between groups


def rows_of(names: list[str]) -> tuple[dict[str, float], dict[str, tuple[float, float]]]:
    """The height of every row, and first and last of each group."""
    places: dict[str, float] = {}
    groups: dict[str, tuple[float, float]] = {}
    y = 0.0
    for k, name in enumerate(names):
        group = GOALS[name].group
        if k and group != GOALS[names[k - 1]].group:
            y += GAP
        places[name] = y
        groups[group] = (groups.get(group, (y, y))[0], y)
        y += 1
    return places, groups


def save(times: Times, path: str | Path) -> None:
    """Writes a picture, its kind chosen by the suffix; packages other than numjet may be missing."""
    names = list(times["numjet"])
    places, groups = rows_of(names)
    figure = Figure(figsize=(11, 0.33 * (max(places.values()) + 1) + 1.5), layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    for first, last in groups.values():
        axes.axhspan(first - 0.55, last + 0.55, color=BAND, zorder=0, linewidth=0)
    for name, y in places.items():
        _row(axes, {p: t[name] for p, t in times.items() if name in t}, y)
    _frame(axes, places, groups)
    _limits(axes, [t for by in times.values() for t in by.values()])
    for label, colour, marker, size in (STYLES[p] for p in STYLES if times.get(p)):
        axes.plot([], [], marker, color=colour, markersize=size, label=label)
    axes.legend(loc="lower left", bbox_to_anchor=(0, 1.0), ncols=3, frameon=False, handletextpad=0.2)
    if times.get("jax"):
        axes.text(1.01, 1.012, "times as fast\nas JAX", transform=axes.transAxes, fontsize=9, va="bottom")
    figure.savefig(path, dpi=130)


def _row(axes: Any, found: dict[str, float], y: float) -> None:
    axes.plot([min(found.values()), max(found.values())], [y, y], color=LINE, linewidth=3.5, zorder=1, solid_capstyle="round")
    for package in reversed([p for p in STYLES if p in found]):
        _, colour, marker, size = STYLES[package]
        axes.plot(found[package], y, marker, color=colour, markersize=size, zorder=3)
    ours = found["numjet"]
    axes.annotate(show(ours), (min(found.values()), y), (-9, 0), textcoords="offset points", color=STYLES["numjet"][1],
                  ha="right", va="center", fontsize=8.5)
    if "jax" in found:
        ratio = found["jax"] / ours
        axes.text(1.01, y, f"{ratio:.0f}" if ratio >= 10 else f"{ratio:.2g}", transform=axes.get_yaxis_transform(), va="center",
                  fontsize=9.5, fontweight="bold", color=GOOD if ratio >= 1 else BAD)


def _frame(axes: Any, places: dict[str, float], groups: dict[str, tuple[float, float]]) -> None:
    axes.set_yticks(list(places.values()), [GOALS[name].title for name in places], fontsize=9.5)
    for group, (first, _) in groups.items():
        axes.text(-0.006, first - 0.78, group, transform=axes.get_yaxis_transform(), ha="right", va="center", fontsize=9.5,
                  fontweight="bold", color="#777777")
    axes.set_ylim(max(places.values()) + 0.7, -1.15)
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.tick_params(axis="y", length=0)


def _limits(axes: Any, seconds: list[float]) -> None:
    axes.set(xscale="log", xlabel="time (less is better)")
    axes.set_xlim(min(seconds) / 8, max(seconds) * 2)
    low, high = axes.get_xlim()
    ticks = [10.0 ** k for k in range(-9, 3) if low <= 10.0 ** k <= high]
    axes.set_xticks(ticks, [show(t) for t in ticks])
    axes.minorticks_off()
    axes.grid(axis="x", color="#e4e4e0", linewidth=0.7, zorder=0.5)
    axes.set_axisbelow(True)
