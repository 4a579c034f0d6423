"""The picture of both fits: digits with the classifier's answers, its training, hares and lynxes over their record."""
from __future__ import annotations

from pathlib import Path

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.patches import Rectangle

from numjet.demo.digits import Training
from numjet.demo.lotka_volterra import Fit

INK, MUTED, RIGHT, WRONG, HARE, LYNX = "#222222", "#777777", "#2a7f62", "#c8372d", "#c98a1b", "#2f5d8c"
ROWS, COLUMNS, MISTAKES = 4, 8, 6


def save(training: Training, fit: Fit, path: str | Path) -> Path:
    """Draws the picture into a PNG file; returns its path."""
    layout = ConstrainedLayoutEngine(w_pad=0.12, h_pad=0.12, hspace=0.06, wspace=0.04)
    figure = Figure(figsize=(15, 9.6), facecolor="white", layout=layout)
    FigureCanvasAgg(figure)
    grid = figure.add_gridspec(2, 2, width_ratios=[1.6, 1], height_ratios=[1, 1])
    _digits(figure.add_subplot(grid[0, 0]), training)
    _curves(figure.add_subplot(grid[0, 1]), training)
    _record(figure.add_subplot(grid[1, 0]), fit)
    _cycle(figure.add_subplot(grid[1, 1]), fit)
    figure.savefig(path, dpi=100)
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


def _digits(axes: Axes, training: Training) -> None:
    wrong = round((1 - training.accuracy) * len(training.data.test_labels))
    _plain(axes, f"Held-out digits: {training.accuracy:.1%} right, {wrong} of {len(training.data.test_labels)} wrong")
    for place, i in enumerate(_chosen(training)):
        _digit(axes, place % COLUMNS, ROWS - 1 - place // COLUMNS, training, i)
    axes.set(xlim=(-0.05, COLUMNS - 0.15), ylim=(-0.3, ROWS - 0.1), xticks=[], yticks=[], aspect="equal")
    axes.spines[["left", "bottom"]].set_visible(False)


def _digit(axes: Axes, x: int, y: int, training: Training, i: int) -> None:
    """One image, framed, with the answer and its probability below; mistakes name the truth."""
    shares = training.probabilities[i]
    answer, truth = int(shares.argmax()), int(training.data.test_labels[i])
    right = answer == truth
    colour, size = RIGHT if right else WRONG, 0.78
    image = training.data.test_images[i].reshape(8, 8)
    axes.imshow(image, cmap="gray_r", vmin=0, vmax=1, extent=(x, x + size, y, y + size))
    axes.add_patch(Rectangle((x, y), size, size, fill=False, color=colour, linewidth=1.2 if right else 3))
    text = f"{answer}  ({shares[answer]:.0%})" if right else f"{answer}, but is {truth}"
    weight = "normal" if right else "bold"
    axes.text(x + size / 2, y - 0.03, text, ha="center", va="top", color=colour, fontsize=9, fontweight=weight)


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
    _plain(axes, f"The cycle: {fit.period:.1f} years round")
    axes.grid(axis="x", color="#e8e8e8", linewidth=0.8)
    axes.loglog(fit.hare, fit.lynx, color=INK, linewidth=2)
    record = fit.record
    axes.plot(record.hare, record.lynx, color=MUTED, linewidth=0.7, alpha=0.6)
    axes.scatter(record.hare, record.lynx, c=record.year, cmap="viridis_r", s=42, zorder=3, edgecolor="white")
    for k in (0, 4, 12, 16, 20):
        axes.annotate(f"{record.year[k]:.0f}", (record.hare[k], record.lynx[k]), (7, -3), textcoords="offset points",
                      color=MUTED, fontsize=9)
    ticks = [5, 10, 20, 40, 80]
    for axis, name in ((axes.xaxis, "hare, thousands"), (axes.yaxis, "lynx, thousands")):
        axis.set_ticks(ticks, [str(t) for t in ticks])
        axis.set_ticks([], minor=True)
        axis.set_label_text(name, color=INK)
