"""Layouts and formats: the order in which an array's elements lie in memory, alone and beside a sharding.

Arrays have one layout, that of C: the last dimension is the dense one. Formats say so, and are taken where shardings are.
"""
from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numjet.foundation import lazy_import
from numjet.foundation.record import Record

shardings = lazy_import.Module("numjet.core.sharding.shardings")


class AutoLayout:
    """A layout that the compiler chooses."""

    def __repr__(self) -> str:
        return "AUTO"


class Layout(Record):
    """The order of an array's dimensions in memory, from the slowest to the dense one.

    >>> Layout((0, 1)).major_to_minor
    (0, 1)
    """

    major_to_minor: tuple[int, ...]
    tiling: tuple[tuple[int, ...], ...] | None = None
    sub_byte_element_size_in_bits: int = 0

    AUTO = AutoLayout()

    @staticmethod
    def of_rank(ndim: int) -> Layout:
        """The layout of every array with so many dimensions."""
        return Layout(tuple(range(ndim)), ())

    def check_compatible_aval(self, shape: Sequence[int]) -> None:
        """ValueError for another number of dimensions."""
        if len(self.major_to_minor) != len(shape):
            raise ValueError("Length of major_to_minor and the rank of the value should match. Got major_to_minor="
                             f"{self.major_to_minor} and shape={tuple(shape)}")

    def check_supported(self) -> None:
        """NotImplementedError for tiles, and for dimensions in another order than that of C."""
        if self.tiling or tuple(self.major_to_minor) != tuple(range(len(self.major_to_minor))):
            raise NotImplementedError(f"{self} is not supported: arrays lie in memory with their last dimension dense and "
                                      "without tiles. Leave the layout out, or transpose the array")


class Format(Record):
    """A layout and a sharding: where an array is, and how it lies in memory there. None: as it comes.

    TypeError for what is no layout or no sharding; ValueError for a layout without a sharding.

    >>> import numjet.numpy as jnp
    >>> jnp.ones((2, 3)).format.layout.major_to_minor
    (0, 1)
    """

    layout: Layout | AutoLayout | None = None
    sharding: Any = None

    def __init__(self, layout: Any = None, sharding: Any = None):
        if not (layout is None or isinstance(layout, (Layout, AutoLayout))):
            raise TypeError("Invalid value received for the layout argument. Expected values are `None`, `Layout.AUTO` or an "
                            f"instance of `Layout`. Got {layout} of type {type(layout)}")
        if not (sharding is None or isinstance(sharding, shardings.Sharding)):
            raise TypeError("Invalid value received for the sharding argument. Expected values are `None` or an instance of "
                            f"`jax.Sharding`. Got {sharding} of type {type(sharding)}")
        if isinstance(layout, Layout) and sharding is None:
            raise ValueError(f"Sharding has to be concrete when layout is of type {Layout}. Please pass a "
                             "`jax.sharding.NamedSharding` or `jax.sharding.SingleDeviceSharding` to the sharding argument. "
                             "Got sharding None")
        super().__init__(layout, sharding)


def sharding_of(given: Any) -> Any:
    """What a user gave as placement, without a layout. NotImplementedError for layouts that arrays do not have."""
    if not isinstance(given, Format):
        return given
    if isinstance(given.layout, Layout):
        given.layout.check_supported()
    return given.sharding


def check_concrete(where: str, given: Any) -> None:
    """TypeError for a format whose layout the compiler would choose: no program does so `where` it is given."""
    if isinstance(given, Format) and isinstance(given.layout, AutoLayout):
        raise TypeError(f"`Layout.AUTO` cannot be used in place of a device-local layout {where}. Got {given}")


def check_placed(given: Any, shape: Sequence[int]) -> None:
    """ValueError for a format that does not say how an array of a shape is to lie in memory, or where."""
    if not isinstance(given, Format):
        return
    if isinstance(given.layout, AutoLayout):
        raise ValueError(f"sharding and layout in `Layout` instance should be concrete. Got layout: {given} for input of shape "
                         f"{tuple(shape)}")
    if given.layout is not None:
        try:
            given.layout.check_compatible_aval(shape)
        except ValueError as error:
            raise ValueError(f"One of device_put args is incompatible with its layout annotation {given.layout}: {error}"
                             ) from None


def without_layout(given: Any) -> Any:
    """As `sharding_of`, of what jit was given. ValueError for a layout alone."""
    if isinstance(given, (Layout, AutoLayout)):
        raise ValueError("`jax.jit` does not accept device-local layouts directly. Create a `Format` instance wrapping this "
                         f"device-local layout and pass that to `jit` instead. Got {given}")
    return sharding_of(given)
