"""One picture of both fits: digits and what the classifier says, its training, hares and lynxes over their record."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.gridspec import SubplotSpec

from numjet.demo.digits import Training
from numjet.demo.lotka_volterra import Fit

INK, MUTED, RIGHT, WRONG, HARE, LYNX = "#222222", "#777777", "#2a7f62", "#c8372d", "#c98a1b", "#2f5d8c"
ROWS, COLUMNS, MISTAKES = 4, 8, 6


def save(training: Training, fit: Fit, path: str | Path) -> Path:
    """Draws the picture into a PNG file; returns its path."""
    figure = Figure(figsize=(14, 9.4), facecolor="white", layout="constrained")
    FigureCanvasAgg(figure)
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.12, hspace=0.06, wspace=0.04)
    grid = figure.add_gridspec(2, 2, width_ratios=[1.55, 1], height_ratios=[1, 1])
    _digits(figure, grid[0, 0], training)
    _curves(figure.add_subplot(grid[0, 1]), training)
    _record(figure.add_subplot(grid[1, 0]), fit)
    _cycle(figure.add_subplot(grid[1, 1]), fit)
    figure.savefig(path, dpi=110)
    return Path(path)


def _plain(axes: Axes, title: str) -> None:
    axes.set_title(title, loc="left", color=INK, fontsize=12, fontweight="bold", pad=10)
    axes.spines[["top", "right"]].set_visible(False)
    axes.tick_params(colors=MUTED, labelcolor=INK)
    axes.grid(axis="y", color="#e8e8e8", linewidth=0.8)
    axes.set_axisbelow(True)


def _chosen(training: Training) -> list[int]:
    """Test images to show: the surest mistakes, spread among images classified rightly."""
    answers = training.probabilities.argmax(axis=1)
    mistakes = np.flatnonzero(answers != training.data.test_labels)
    surest = mistakes[np.argsort(-training.probabilities[mistakes].max(axis=1))][:MISTAKES]
    rng = np.random.default_rng(3)
    fine = rng.permutation(np.flatnonzero(answers == training.data.test_labels))[:ROWS * COLUMNS - len(surest)]
    return [int(i) for i in rng.permutation(np.concatenate([surest, fine]))]


def _digits(figure: Figure, place: SubplotSpec, training: Training) -> None:
    part = figure.add_subfigure(place)
    wrong = round((1 - training.accuracy) * len(training.data.test_labels))
    part.suptitle(f"Held-out digits: {training.accuracy:.1%} right, {wrong} of {len(training.data.test_labels)} wrong",
                  x=0.02, ha="left", color=INK, fontsize=12, fontweight="bold")
    for axes, i in zip(part.subplots(ROWS, COLUMNS).flat, _chosen(training), strict=True):
        shares = training.probabilities[i]
        answer, truth = int(shares.argmax()), int(training.data.test_labels[i])
        colour = RIGHT if answer == truth else WRONG
        axes.imshow(training.data.test_images[i].reshape(8, 8), cmap="gray_r", interpolation="nearest", vmin=0, vmax=1)
        axes.set(xticks=[], yticks=[])
        for spine in axes.spines.values():
            spine.set(color=colour, linewidth=1.0 if answer == truth else 2.5)
        text = f"{answer}   {shares[answer]:.0%}" if answer == truth else f"{answer}, is {truth}"
        axes.set_xlabel(text, color=colour, fontsize=9, labelpad=2, fontweight="normal" if answer == truth else "bold")


def _curves(axes: Axes, training: Training) -> None:
    _plain(axes, "Training")
    epochs = np.arange(1, len(training.losses) + 1)
    axes.semilogy(epochs, training.losses, color=LYNX, linewidth=2)
    axes.set_xlabel("epoch", color=INK)
    axes.set_ylabel("training loss (cross-entropy)", color=LYNX)
    other = axes.twinx()
    other.plot(epochs, 100 * (1 - np.array(training.accuracies)), color=WRONG, linewidth=2)
    other.set_ylabel("held-out images classified wrongly, %", color=WRONG)
    other.set_ylim(0, None)
    other.spines[["top", "left"]].set_visible(False)
    other.tick_params(colors=MUTED, labelcolor=INK)


def _record(axes: Axes, fit: Fit) -> None:
    _plain(axes, "Pelts of the Hudson's Bay Company and the fitted Lotka-Volterra equations")
    hares, lynxes = ("hare", fit.hare, fit.record.hare, HARE), ("lynx", fit.lynx, fit.record.lynx, LYNX)
    for name, curve, pelts, colour in (hares, lynxes):
        axes.plot(fit.years, curve, color=colour, linewidth=2.2)
        axes.plot(fit.record.year, pelts, "o", color=colour, markersize=6, markeredgecolor="white", markeredgewidth=0.8)
        top = int(curve[: len(curve) // 2].argmax())
        axes.annotate(name, (fit.years[top], curve[top]), (6, 8), textcoords="offset points", color=colour, fontsize=12,
                      fontweight="bold")
    axes.set_ylabel("thousands per year", color=INK)
    axes.set_ylim(0, None)
    axes.set_xticks(np.arange(1900, 1921, 2))
    axes.set_xlim(1899.5, 1920.5)


def _cycle(axes: Axes, fit: Fit) -> None:
    _plain(axes, f"The cycle: {fit.period:.1f} years")
    axes.grid(axis="x", color="#e8e8e8", linewidth=0.8)
    axes.loglog(fit.hare, fit.lynx, color=INK, linewidth=2)
    record = fit.record
    axes.plot(record.hare, record.lynx, color=MUTED, linewidth=0.7, alpha=0.6)
    dots = axes.scatter(record.hare, record.lynx, c=record.year, cmap="viridis", s=38, zorder=3, edgecolor="white")
    bar = axes.figure.colorbar(dots, ax=axes, ticks=[1900, 1910, 1920], pad=0.02, aspect=30)
    bar.outline.set_visible(False)
    ticks = [5, 10, 20, 40, 80]
    for axis, name in ((axes.xaxis, "hare, thousands"), (axes.yaxis, "lynx, thousands")):
        axis.set_ticks(ticks, [str(t) for t in ticks])
        axis.set_ticks([], minor=True)
        axis.set_label_text(name, color=INK)
