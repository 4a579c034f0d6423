"""Progress bars of the demo: those of tqdm, or none where it is not installed."""
from __future__ import annotations

from collections.abc import Iterator
from typing import Any

try:
    from tqdm import tqdm
except ModuleNotFoundError:
    tqdm = None


class Silent:
    """Steps without a bar."""

    def __init__(self, steps: range):
        self.steps = steps

    def __iter__(self) -> Iterator[int]:
        return iter(self.steps)

    def set_postfix_str(self, text: str) -> None:
        """What stands behind the bar: there is none."""


def bar(steps: range, **options: Any) -> Any:
    """Goes through steps, with a bar by tqdm and its options if that is installed."""
    return Silent(steps) if tqdm is None else tqdm(steps, **options)
