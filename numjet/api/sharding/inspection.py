"""Inspection of placements: which device has which part of an array, told to a function, or drawn as a table."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

from numjet.control.shards.inspect_sharding import inspect_sharding_p
from numjet.core.sharding.shardings import Sharding, SingleDeviceSharding
from numjet.core.trace import Tracer
from numjet.foundation.tree import tree_leaves
from numjet.runtime.device import default_device

Color = tuple[float, float, float]  # red, green, blue from 0 to 1
_LINES_PER_ARRAY = 10
_WIDTH_OF_A_LINE = 2.5  # a character is that many times higher than wide
_COLORS = (
    (0.22, 0.23, 0.47),
    (0.45, 0.55, 0.16),
    (0.55, 0.43, 0.19),
    (0.52, 0.24, 0.22),
    (0.48, 0.25, 0.45),
    (0.22, 0.45, 0.45),
    (0.35, 0.35, 0.35),
    (0.25, 0.50, 0.30),
)


def inspect_array_sharding(value: Any, *, callback: Callable[[Sharding], Any]) -> None:
    """Calls `callback` with the sharding of each array of a pytree: at once, or for traced values when the program is compiled.

    >>> import numjet as nj, numjet.numpy as jnp
    >>> inspect_array_sharding(jnp.ones(2), callback=lambda s: print(len(s.device_set)))
    1
    """
    for leaf in tree_leaves(value):
        if isinstance(leaf, Tracer):
            inspect_sharding_p.bind(leaf, callback=_Told(callback, SingleDeviceSharding(default_device())))
        else:
            callback(leaf.sharding)


class _Told:
    """Calls a user's function with a sharding; None stands for the one device of the program."""

    def __init__(self, callback: Callable[[Sharding], Any], alone: Sharding):
        self.callback, self.alone = callback, alone

    def __call__(self, sharding: Sharding | None) -> None:
        self.callback(self.alone if sharding is None else sharding)


def visualize_array_sharding(arr: Any, **options: Any) -> None:
    """Prints which device has which part of an array of rank 1 or 2; of a traced one, when the program is compiled.

    options: those of visualize_sharding.

    >>> import numjet.numpy as jnp
    >>> visualize_array_sharding(jnp.ones(4))
    ┌───────┐
    │ CPU 0 │
    └───────┘
    """
    inspect_array_sharding(arr, callback=lambda sharding: visualize_sharding(arr.shape, sharding, **options))


def visualize_sharding(
    shape: Sequence[int],
    sharding: Sharding,
    *,
    use_color: bool = True,
    scale: float = 1.0,
    min_width: int = 9,
    max_width: int = 80,
    color_map: Callable[[float], Color] | None = None,
) -> None:
    """Prints which device has which part of an array of a shape, of rank 1 or 2.

    use_color: on a terminal, each part has a background of its own, color_map(number from 0 to 1) if that is given.
    scale: of the picture; min_width, max_width: bounds of its parts and of the whole, in characters.
    Raises ValueError for arrays of another rank.

    >>> import numjet as nj
    >>> visualize_sharding((2, 2), nj.NamedSharding(nj.make_mesh((1, 1), ("x", "y")), nj.P("x", "y")))
    ┌───────────────────────┐
    │                       │
    │                       │
    │                       │
    │                       │
    │         CPU 0         │
    │                       │
    │                       │
    │                       │
    │                       │
    └───────────────────────┘
    """
    if len(shape) not in (1, 2):
        raise ValueError(
            f"`visualize_sharding` only works for shapes with 1 and 2 dimensions, got an array of shape {tuple(shape)}"
        )
    rows = _table(shape, sharding)
    color = (color_map or _default_color) if use_color and sys.stdout.isatty() else None
    height, width = _size(shape, scale, max_width)
    cells = [[_Cell(text, width // len(row), min_width) for text in row] for row in rows]
    widths = [max(row[k].width for row in cells) for k in range(len(cells[0]))]
    print(_drawn(cells, widths, max(1, height // len(rows)), color))


def _size(shape: Sequence[int], scale: float, max_width: int) -> tuple[int, int]:
    """The height and width of the picture, in characters."""
    if len(shape) == 1:
        return 1, min(int(shape[0] * scale), max_width)
    height = int(_LINES_PER_ARRAY * scale)
    ratio = shape[1] / shape[0] if shape[0] else 1.0
    return height, min(int(height * _WIDTH_OF_A_LINE * ratio), max_width)


def _table(shape: Sequence[int], sharding: Sharding) -> list[list[str]]:
    """The devices of each part, by rows."""
    devices: dict[tuple[int, int], list[Any]] = {}
    for device, index in sharding.devices_indices_map(tuple(shape)).items():
        starts = [part.start or 0 for part in index]
        at = (0, starts[0]) if len(starts) == 1 else (starts[0], starts[1])
        devices.setdefault(at, []).append(device)
    downwards, across = (sorted({at[k] for at in devices}) for k in (0, 1))
    return [[_names(devices[i, j]) for j in across] for i in downwards]


def _names(devices: Sequence[Any]) -> str:
    return f"{devices[0].platform.upper()} {','.join(str(n) for n in sorted(d.id for d in devices))}"


class _Cell:
    """One part: its text, and the least width inside of its frame."""

    def __init__(self, text: str, width: int, min_width: int):
        self.text, self.width = text, max(len(text), max(width, min_width) - 2)


def _drawn(cells: list[list[_Cell]], widths: list[int], height: int, color: Callable[[float], Color] | None) -> str:
    """The table as text."""
    count = len(cells) * len(widths)
    margin = max(0, (height - 2) // 2)
    rule = lambda left, middle, right: left + middle.join("─" * w for w in widths) + right
    lines = [rule("┌", "┬", "┐")]
    for k, row in enumerate(cells):
        paint = [_painter(color, (k * len(widths) + n) / count) for n in range(len(widths))]
        for line in range(2 * margin + 1):
            words = [cell.text if line == margin else "" for cell in row]
            lines.append(
                "│"
                + "│".join(
                    p(" " * ((w - len(t)) // 2) + t + " " * (w - len(t) - (w - len(t)) // 2))
                    for p, t, w in zip(paint, words, widths, strict=True)
                )
                + "│"
            )
        lines.append(rule("├", "┼", "┤") if k + 1 < len(cells) else rule("└", "┴", "┘"))
    return "\n".join(lines)


def _default_color(number: float) -> Color:
    return _COLORS[int(number * 97) % len(_COLORS)]


def _painter(color: Callable[[float], Color] | None, number: float) -> Callable[[str], str]:
    if color is None:
        return lambda text: text
    red, green, blue = (int(255 * c) for c in tuple(color(number))[:3])
    return lambda text: f"\x1b[48;2;{red};{green};{blue}m{text}\x1b[0m"
