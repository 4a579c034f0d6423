"""The table of times, and the page of the documentation that shows it with the picture."""
from __future__ import annotations

import re
from pathlib import Path

from benchmarks import plot
from benchmarks.goals import GOALS, show
from benchmarks.run import Times

BEGIN, END = "<!-- begin of what python -m benchmarks --page writes -->", "<!-- end -->"


def table(times: Times) -> str:
    """Rows of: measurement, numjet, JAX, NumPy, ratio, goal, verdict; as Markdown."""
    ours, jax, numpy = (times.get(p, {}) for p in ("numjet", "jax", "numpy"))
    rows = [("", "measurement", "numjet", "JAX", "NumPy", "JAX / numjet", "goal", "met")]
    group = ""
    for name, seconds in ours.items():
        other, goal = jax.get(name), GOALS[name]
        met = {True: "yes", False: "no", None: ""}[goal.met(seconds, other)]
        ratio = "" if other is None else f"{other / seconds:.3g}"
        rows.append((goal.group if goal.group != group else "", goal.title, show(seconds), _shown(other),
                     _shown(numpy.get(name)), ratio, goal.text(), met))
        group = goal.group
    widths = [max(len(r[k]) for r in rows) for k in range(len(rows[0]))]
    lines = ["| " + " | ".join(cell.ljust(w) for cell, w in zip(r, widths, strict=True)) + " |" for r in rows]
    return "\n".join([lines[0], "|" + "|".join("-" * (w + 2) for w in widths) + "|", *lines[1:]])


def _shown(seconds: float | None) -> str:
    return "" if seconds is None else show(seconds)


def renew_rows(path: Path, times: Times) -> None:
    """Writes numjet's and JAX's times into the rows `| measurement | numjet | JAX |` of a page that shows some of them."""
    ours, jax = times["numjet"], times.get("jax", {})
    rows = {GOALS[name].title: f"| {GOALS[name].title} | {show(seconds)} | {_shown(jax.get(name))} |"
            for name, seconds in ours.items()}
    lines = path.read_text(encoding="utf8").split("\n")
    path.write_text("\n".join(rows.get(_first_cell(line), line) for line in lines), encoding="utf8")


def _first_cell(line: str) -> str:
    return line.split("|")[1].strip() if line.startswith("|") else ""


def renew(path: Path, times: Times, machine: str) -> None:
    """Writes the table and where it was measured between the marks of a page, and the picture to images/ beside it.

    Raises ValueError when the page has no marks.
    """
    text = path.read_text(encoding="utf8")
    if BEGIN not in text or END not in text:
        raise ValueError(f"{path} has no lines {BEGIN!r} and {END!r} for the numbers to stand between")
    picture = path.parent / "images" / "benchmarks.png"
    picture.parent.mkdir(exist_ok=True)
    plot.save(times, picture)
    new = f"{BEGIN}\n\n![times of numjet, JAX and NumPy](images/{picture.name})\n\n{machine}.\n\n{table(times)}\n\n{END}"
    path.write_text(re.sub(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: new, text, flags=re.DOTALL), encoding="utf8")
